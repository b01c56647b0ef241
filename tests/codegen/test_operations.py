"""Every primitive with a `lanes` rule, on all its samples and many dtypes: kernels against NumPy.

Nothing here names a primitive but those that have their own tolerance: a new rule is tested as soon
as it is defined. All uses of one are compiled together, so that it takes seconds.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.numbers import is_supported
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph, building
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.regions import batched_type, map_
from lanewise.ops.registry import REGISTRY, Absent, Primitive, Sample
from lanewise.runtime.dispatch import compile
from lanewise.runtime.failed import KernelFailed
from ops.test_registry import samples_of, type_of, varied
from support.backends import assert_close, assert_equal, backend, watched

BATCH = Dim.symbol("batch")
SIZES = (9, 1, 0)
DTYPES = [np.dtype(code) for code in "? i1 i4 u8 f2 f4 c8 c16".split()]
#: How many uses of an operation are compiled together.
TOGETHER = 12
#: Relative to the largest number of a result, by the bytes of its parts: for what adds and
#: multiplies in an order of its own, or goes by an algorithm of its own.
TOLERANCE = {2: 1e-2, 4: 1e-5, 8: 1e-12}
ROUNDED = ("lanewise.ops.contraction", "lanewise.ops.linalg", "lanewise.ops.reduction")
#: They leave to NumPy what is close to going wrong.
CAUTIOUS = ("lanewise.ops.linalg", "lanewise.ops.python")
#: They leave the order of the rest open.
PARTED = ("partition", "argpartition")
#: They take tables that ascend.
ORDERED = ("searchsorted", "interp")


@dataclass(frozen=True, slots=True)
class Use:
    """An operation on operands of some dtypes, of which some are mapped."""

    primitive: Primitive
    case: Sample
    mapped: tuple[bool, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the result must be NumPy's to the bit, or to a few units in the last place."""
        return self.primitive.type.__module__ not in ROUNDED

    def __str__(self) -> str:
        types = ", ".join([str(type_of(x)) for x in self.case.operands])
        return f"{self.primitive.name}({types}; {self.case.params}), mapped {self.mapped}"


NATIVE = sorted(
    name for name, primitive in REGISTRY.items() if not isinstance(primitive.lanes, Absent)
)


def is_valid(primitive: Primitive, case: Sample) -> bool:
    """Whether the type rule takes a sample, and kernels have numbers of all its dtypes."""
    types = [type_of(x) for x in case.operands]
    try:
        found = primitive.infer(types, primitive.complete(case.params))
    except (TypeError, ValueError, IndexError):
        return False
    return all(isinstance(t, ArrayType) and is_supported(t.dtype) for t in (*types, *found))


def converted(case: Sample, dtype: np.dtype) -> Sample:
    """Return a sample whose floating-point operands are of another dtype."""

    def convert(x: np.ndarray) -> np.ndarray:
        if x.dtype.kind not in "fc":
            return x
        if x.dtype.kind == "c":
            return x.astype(dtype) if dtype.kind == "c" else x
        # Ascending tables stay so, and nothing is negative.
        return (x > 0) if dtype.kind == "b" else (x - x.min(initial=0.0)).astype(dtype)

    return Sample(tuple([convert(x) for x in case.operands]), case.params)


def uses_of(primitive: Primitive) -> Iterator[Use]:
    """Yield each sample with all operands mapped; dealt out to them, other maps and dtypes.

    Maps of one operand, and of all but one, are there once for each number of operands; each dtype
    once. Of a primitive that takes functions, each has every other dtype.
    """
    cases = [
        case
        for case in samples_of(primitive)
        if case.operands
        and is_valid(primitive, case)
        # `varied` does not keep the order of tables that are no floats.
        and (primitive.name not in ORDERED or case.operands[0].dtype.kind == "f")
    ]
    for case in cases:
        yield from _first([Use(primitive, case, (True,) * len(case.operands))])
    for count in sorted({len(case.operands) for case in cases}):
        alike = [case for case in cases if len(case.operands) == count]
        ways = product([True, False], repeat=count)
        some = [way for way in ways if sum(way) in {1, count - 1} - {0, count}]
        for i, way in enumerate(some):
            yield from _first(Use(primitive, case, way) for case in _from(i, alike))
    if primitive.ufunc is not None:
        return  # all loops of ufuncs have tests of their own
    floats = [case for case in cases if any(x.dtype.kind in "fc" for x in case.operands)]
    functions = list(dict.fromkeys(str(case.params.get("fn")) for case in floats))
    for number, fn in enumerate(functions):
        alike = [case for case in floats if str(case.params.get("fn")) == fn]
        for i, dtype in enumerate(DTYPES):
            if len(functions) > 1 and (i + number) % 2:
                continue
            if primitive.name in ORDERED and dtype.kind != "f":
                continue
            others = [converted(case, dtype) for case in _from(i, alike)]
            yield from _first(
                Use(primitive, case, (True,) * len(case.operands))
                for case in others
                if is_valid(primitive, case)
            )


def _from(start: int, cases: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples in turn, beginning with one of them."""
    start %= len(cases)
    return [*cases[start:], *cases[:start]]


def _first(uses: Iterable[Use]) -> Iterator[Use]:
    """Yield the first that NumPy takes, if there is one."""
    return itertools.islice((use for use in uses if not _raises(use)), 1)


def _raises(use: Use) -> bool:
    """Whether NumPy raises on some example that `varied` makes."""
    try:
        reference(use, examples(use, max(SIZES)), max(SIZES))
    except (ArithmeticError, TypeError, ValueError, IndexError):
        return True
    return False


def examples(use: Use, size: int) -> list[np.ndarray]:
    """Return operands of so many examples."""
    pairs = zip(use.case.operands, use.mapped, strict=True)
    return [varied(x, size) if flag else x for x, flag in pairs]


def program(uses: Sequence[Use]) -> Graph:
    """Return a graph that maps all of them over one batch."""
    builder = Builder()
    types = [type_of(x) for use in uses for x in use.case.operands]
    mapped = [flag for use in uses for flag in use.mapped]
    operands = [
        builder.input(batched_type(type_, BATCH) if flag else type_)
        for type_, flag in zip(types, mapped, strict=True)
    ]
    with building(Builder()) as inner:
        inputs = iter([inner.input(type_) for type_ in types])
        outputs = []
        for use in uses:
            given = tuple([next(inputs) for _ in use.case.operands])
            params = use.primitive.complete(use.case.params)
            outputs += inner.emit(use.primitive, given, params)
        region = inner.finish(outputs)
    params = {
        "size": BATCH, "in_dims": tuple([0 if flag else None for flag in mapped]),
        "out_mapped": (True,) * len(outputs), "order": "parallel",
    }  # fmt: skip
    results = builder.emit(map_, tuple(operands), map_.complete(params), (region,))
    return builder.finish(results)


def reference(use: Use, operands: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
    """Return what NumPy gives on one example after the other."""
    params = use.primitive.complete(use.case.params)
    rows = []
    meaning = use.primitive.numpy
    assert not isinstance(meaning, Absent)
    for i in range(size):
        given = [x[i] if flag else x for x, flag in zip(operands, use.mapped, strict=True)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = meaning(*given, **params)
        rows.append(found if isinstance(found, (tuple, list)) else (found,))
    return [np.stack(column) for column in zip(*rows, strict=True)]


def assert_parted(use: Use, operands: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> None:
    """Assert what NumPy says of partitions: what is less stands before, what is greater behind."""
    (x,), (found,) = operands, got
    axis = use.case.params["axis"] + 1
    if use.primitive.name == "argpartition":
        found = np.take_along_axis(x, found, axis)
    np.testing.assert_array_equal(np.sort(found, axis), np.sort(x, axis))
    for place in use.case.params["kth"]:
        at = np.take(found, [place], axis)
        before, behind = np.split(found, [place], axis)
        assert (before <= at).all(), use
        assert (behind >= at).all(), use


def check(uses: Sequence[Use]) -> set[str]:
    """Assert that operations compiled together give what NumPy does; return which were compiled."""
    executable = compile(program(uses))
    compiled: set[str] = set()
    for size in SIZES:
        groups = [examples(use, size) for use in uses]
        arguments = [x for group in groups for x in group]
        try:
            with watched() as seen:
                results = iter(executable(*arguments))
            compiled |= seen.primitives
        except KernelFailed:  # something is left to NumPy as it may go wrong; not all else
            if len(uses) > 1:
                half = len(uses) // 2
                return check(uses[:half]) | check(uses[half:])
            assert uses[0].primitive.type.__module__ in CAUTIOUS, uses[0]
            compiled.add(uses[0].primitive.name)
            with backend("interpret"):
                results = iter(executable(*arguments))
        for use, group in zip(uses, groups, strict=True):
            types = use.primitive.infer(
                [type_of(x) for x in use.case.operands], use.primitive.complete(use.case.params)
            )
            got = [next(results) for _ in types]
            for g, t in zip(got, types, strict=True):
                assert type_of(g) == array_type(t.dtype, (size, *t.shape)), use
            if not size:
                continue
            want = reference(use, group, size)
            if use.primitive.name in PARTED:
                assert_parted(use, group, got)
                continue
            try:
                if use.is_exact:
                    assert_equal(got, want, exact=False)
                else:
                    size_ = min(w.real.dtype.itemsize for w in want)
                    assert_close(got, want, TOLERANCE.get(size_, 0.0))
            except AssertionError as error:
                raise AssertionError(f"{use}: {error}") from error
    return compiled


@pytest.mark.parametrize("name", NATIVE)
def test_samples(name, monkeypatch):
    """They give what NumPy does; and what says that it has a native form has one, for some."""
    uses = list(uses_of(REGISTRY[name]))
    if NATIVE.index(name) % 2 or len(uses) > TOGETHER:
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight, or several
    compiled: set[str] = set()
    for i in range(0, len(uses), TOGETHER):
        compiled |= check(uses[i : i + TOGETHER])
    assert not uses or name in compiled


def test_sums_begin_with_a_positive_zero(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    for count in (1, 2, 9, 300):
        x = np.full((3, count), -0.0)
        found = lw.vmap(lambda v: v.sum())(x)
        np.testing.assert_array_equal(np.signbit(found), np.signbit([v.sum() for v in x]))


def test_sums_of_half_precision_are_taken_in_single(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = np.full((2, 3000), 0.1, np.float16)
    np.testing.assert_array_equal(lw.vmap(lambda v: v.sum())(x), [v.sum() for v in x])
