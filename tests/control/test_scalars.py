"""Operators on NumPy scalars, in plans, give what the ufuncs give: on all dtypes, bit by bit."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from lanewise.ir.graph import Builder, building
from lanewise.ir.types import array_type
from lanewise.ops.elementwise import elementwise, where
from lanewise.ops.exact import exact
from lanewise.ops.movement import cast
from lanewise.ops.ufuncs import ROWS
from lanewise.runtime.interpret import Plan

DTYPES = [np.dtype(char) for char in "?bBhHiIlLefdgFD"]


pytestmark = [pytest.mark.usefixtures("quiet"), pytest.mark.any_backend]


@pytest.fixture
def quiet():
    with np.errstate(all="ignore"):
        yield


@cache
def values(dtype):
    rng = np.random.default_rng(0)
    if dtype.kind == "b":
        return [np.False_, np.True_]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = [0, 1, 2, 3, 7, 8, 31, 63, 64, 100, -1, -2, -7]
        ends = [info.max, info.max - 1, info.min, info.min + 1]
        kept = [dtype.type(v) for v in small + ends if info.min <= v <= info.max]
        return kept + list(rng.integers(info.min, info.max, 4, dtype=dtype))
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1 / 3]
            return [dtype.type(complex(a, b)) for a in parts for b in parts]
        floats = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1 / 3, -7.3, np.inf, -np.inf, np.nan]
        floats += [60000.0, 2.0**63, 2.0**64, 1e300, 1e-310, *rng.normal(size=4)]
        return [dtype.type(v) for v in floats]


def outcome(call, *operands):
    try:
        return call(*operands)
    except Exception as error:
        return type(error)


def same(x, y):
    if isinstance(x, type) or isinstance(y, type):
        return x is y
    if type(x) is not type(y):
        return False
    if x.tobytes() == y.tobytes():
        return True
    nans = [np.isnan(x.real) & np.isnan(y.real), np.isnan(x.imag) & np.isnan(y.imag)]
    return all(
        is_nan or (a == b and np.signbit(a) == np.signbit(b))
        for is_nan, a, b in zip(nans, (x.real, x.imag), (y.real, y.imag), strict=True)
    )


def plan_of(primitive, dtypes, **params):
    builder = Builder()
    inputs = [builder.input(array_type(dtype, ())) for dtype in dtypes]
    with building(builder):
        result = primitive(*inputs, **params)
    return Plan(builder.finish([result]))


def compare(primitive, reference, dtypes, part=slice(None), **params):
    """Compare what an operation gives of all values, or a part, with what the reference gives."""
    try:
        plan = plan_of(primitive, dtypes, **params)
    except TypeError:
        return
    for operands in list(itertools.product(*map(values, dtypes)))[part]:
        found = outcome(lambda *a: plan(*a)[0], *operands)
        wanted = outcome(reference, *operands)
        assert same(found, wanted), (primitive, operands, found, wanted)


@pytest.mark.parametrize("row", [row for row in ROWS if row.scalar], ids=lambda row: row.name)
def test_operators(row):
    """Of two numbers a third of the pairs, another third for each pair of dtypes."""
    fn = getattr(np, row.name)
    kinds = "".join([kinds for _, kinds in row.scalar])  # others go to the ufunc
    dtypes = itertools.product([d for d in DTYPES if d.kind in kinds], repeat=fn.nin)
    for count, pair in enumerate(dtypes):
        part = slice(count % 3, None, 3) if fn.nin == 2 else slice(None)
        compare(elementwise(fn), fn, pair, part)


def test_casts():
    for old, new in itertools.product(DTYPES, repeat=2):
        compare(cast, lambda x, dtype=new: x.astype(dtype), [old], dtype=new)


def test_where():
    kinds = [np.dtype(c) for c in "?bldF"]
    for dtypes in itertools.product([np.dtype(bool)], kinds, kinds):
        compare(where, lambda *a: np.where(*a)[()], dtypes)


INT64 = np.dtype(np.int64)
EDGES = [
    np.int64(x)
    for k in (31, 32, 62, 63)
    for x in (0, 1, -3, 2**k - 1, 2 ** min(k, 62), -(2**k), -(2**k) + 1)
]


@pytest.mark.parametrize("fn", [np.add, np.subtract, np.multiply, np.negative, np.absolute])
def test_exact_integers(fn):
    plan = plan_of(exact, [INT64] * fn.nin, fn=fn)
    for operands in itertools.product(
        map(np.int64, [*EDGES, -(2**63), -(2**63) + 1]), repeat=fn.nin
    ):
        found = outcome(lambda *a: plan(*a)[0], *operands)
        wanted = outcome(lambda *a: exact.numpy(*a, fn=fn), *operands)
        assert same(found, wanted)


def test_constants_and_arguments_that_are_arrays_without_dimensions():
    plan = plan_of(elementwise(np.add), [np.dtype(float), np.dtype(np.int8)])
    (result,) = plan(np.array(1.5), np.array(2, np.int8))
    assert type(result) is np.float64 and result == 3.5
