"""Numbers of lanes: Python's operators on them are NumPy's functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.vector import Vec, is_float, is_signed, known_span, select, span_of
from support.driver import compile_all

FLOATS = np.array([1.5, -2.5, 0.0, -0.0, np.inf, -np.inf, np.nan, 7.0])
OTHERS = np.array([2.0, -2.5, -0.0, 3.0, np.inf, 1.0, 0.5, np.nan])
INTS = np.array([5, -7, 0, 1, -1, 100, 2**40, -(2**62)])
#: What is computed of two floats, in kernels and by NumPy.
ON_FLOATS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (operator.add, np.add),
    "subtract": (operator.sub, np.subtract),
    "multiply": (operator.mul, np.multiply),
    "divide": (operator.truediv, np.divide),
    "number before": (lambda x, y: 1.0 - x + 2.0 * y + 3.0 / y, lambda x, y: 1 - x + 2 * y + 3 / y),
    "negative": (lambda x, y: -x, lambda x, y: -x),
    "abs": (lambda x, y: x.abs(), lambda x, y: np.abs(x)),
    "sqrt": (lambda x, y: x.sqrt(), lambda x, y: np.sqrt(x)),
    "floor": (lambda x, y: x.floor(), lambda x, y: np.floor(x)),
    "ceil": (lambda x, y: x.ceil(), lambda x, y: np.ceil(x)),
    "trunc": (lambda x, y: x.trunc(), lambda x, y: np.trunc(x)),
    "rint": (lambda x, y: x.rint(), lambda x, y: np.rint(x)),
    "copysign": (lambda x, y: x.copysign(y), np.copysign),
    "less": (operator.lt, np.less),
    "less or equal": (operator.le, np.less_equal),
    "greater": (operator.gt, np.greater),
    "greater or equal": (operator.ge, np.greater_equal),
    "equal": (lambda x, y: x.eq(y), np.equal),
    "not equal": (lambda x, y: x.ne(y), np.not_equal),
    "isnan": (lambda x, y: x.isnan(), lambda x, y: np.isnan(x)),
    "select": (lambda x, y: select(x < y, x, y), lambda x, y: np.where(x < y, x, y)),
    "float32": (lambda x, y: x.to("f32"), lambda x, y: x.astype(np.float32)),
}
ON_INTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (operator.add, np.add),
    "wraps around": (lambda x, y: x * y, np.multiply),
    "and": (operator.and_, np.bitwise_and),
    "or": (operator.or_, np.bitwise_or),
    "xor": (operator.xor, np.bitwise_xor),
    "invert": (lambda x, y: ~x, lambda x, y: ~x),
    "shift left": (lambda x, y: x << 3, lambda x, y: x << 3),
    "shift right": (lambda x, y: x >> 3, lambda x, y: x >> 3),
    "least": (lambda x, y: x.least(y), np.minimum),
    "greatest": (lambda x, y: x.greatest(y), np.maximum),
    "abs": (lambda x, y: x.abs(), lambda x, y: np.abs(x)),
    "float": (lambda x, y: x.to("f64"), lambda x, y: x.astype(float)),
    "int8": (lambda x, y: x.to("i8"), lambda x, y: x.astype(np.int8)),
    "less": (operator.lt, np.less),
}


@pytest.mark.parametrize("group", [8, 0], ids=["lanes", "scalar"])
@pytest.mark.parametrize("table", [ON_FLOATS, ON_INTS], ids=["floats", "ints"])
def test_operators(table, group):
    x, y = (FLOATS, OTHERS) if table is ON_FLOATS else (INTS, INTS[::-1].copy())
    dtypes = (x.dtype, y.dtype)
    compiled = compile_all({name: (ours, dtypes) for name, (ours, _) in table.items()}, group)
    for name, (_, numpy) in table.items():
        with np.errstate(all="ignore"):
            wanted = numpy(x, y)
        found = compiled[name](x, y)
        assert found.dtype == wanted.dtype or wanted.dtype == bool, name
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        if wanted.dtype.kind == "f":
            same = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(found[same]), np.signbit(wanted[same]), name)


def test_what_does_not_vary_is_scalar():
    e = Emitter(Module(), 8, 2)
    uniform, lanes = e.uniform("f64", "%x"), Vec(e, "f64", True, ("%a", "%b"))
    assert not (uniform + 1.0).varying and len((uniform + 1.0).parts) == 1
    assert (uniform * lanes).varying and len((uniform * lanes).parts) == 2
    assert (uniform < 2.0).kind == "b"
    assert uniform.spread().varying and uniform.spread_if(False) is uniform


def test_kinds():
    assert [is_float(kind) for kind in ("f16", "f64", "i8", "b")] == [True, True, False, False]
    assert [is_signed(kind) for kind in ("i8", "u8", "b")] == [True, False, False]


def test_the_span_of_an_index_is_known():
    e = Emitter(Module(), 8, 1)
    place = e.uniform("i64", "%i")
    place.span = (0, 9)
    assert known_span(e.constant("i64", 3)) == (3, 3)
    assert known_span(place) == (0, 9)
    assert known_span(e.uniform("i64", "%j")) is None
    assert span_of("add", place, place) == (0, 18)
    assert known_span(place + 5) == (5, 14)
    assert known_span(place * 2 - 1) == (-1, 17)
