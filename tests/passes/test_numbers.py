"""Numbers that passes write into graphs."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, building
from lanewise.ir.text import format_graph
from lanewise.passes.numbers import NEUTRAL, integer, neutral, number


@pytest.mark.parametrize("fn", NEUTRAL, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("dtype", "? i1 u1 i8 u8 f2 f8".split())
def test_what_is_neutral_changes_nothing(fn, dtype):
    values = np.array([0.0, -0.0, 1, 2, 5, np.inf] if dtype[0] == "f" else [0, 1, 5], dtype)
    with building(Builder()) as builder:
        made = number(neutral(fn, values.dtype), values.dtype)
    (op,) = builder.operations
    assert op.results == (made,)
    try:
        found = fn(values, op.primitive.numpy(**op.params))
    except TypeError:  # of bits of floats
        return
    wanted = values != 0 if found.dtype == bool else values
    assert found.tobytes() == wanted.astype(found.dtype).tobytes()


def test_a_complex_zero_keeps_its_signs():
    zero = neutral(np.add, np.dtype(complex))
    assert str(complex(-0.0, -0.0) + zero) == "(-0-0j)"


def test_of_other_functions_nothing_is_known():
    assert neutral(np.hypot, np.dtype(float)) is None
    assert neutral(np.maximum, np.dtype(complex)) is None


def test_a_size_is_an_integer():
    with building(Builder()) as builder:
        graph = builder.finish([integer(Dim.symbol("n") + 1), integer(-3)])
    assert "dimension[size=n+1]" in format_graph(graph) and "constant(-3)" in format_graph(graph)
