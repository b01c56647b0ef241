"""The checks of the data: which error is raised, for which example, and that none is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lanewise  # noqa: F401  (fills the registry)
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph
from lanewise.ir.text import format_graph
from lanewise.ir.types import array_type
from lanewise.ir.verify import verify
from lanewise.ops.checks import check
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import lower
from lanewise.runtime.interpret import interpret

BOOL, FLOAT = np.dtype(bool), np.dtype(float)
BATCH, OUTER = Dim.symbol("batch"), Dim.symbol("outer")


@dataclass(frozen=True)
class Bad:
    """Makes the error of a test."""

    text: str

    def __call__(self, *numbers: Any) -> Exception:
        return ValueError(self.text, *numbers)


def checking(make: Any = Bad("bad"), shape: Any = ()) -> Graph:
    builder = Builder()
    ok = builder.input(array_type(BOOL, ()))
    x = builder.input(array_type(FLOAT, shape))
    builder.emit(check, (ok, x), {"make": make})
    return builder.finish([x])


def mapped(region: Graph, size: Any, in_dims: Any, types: Any) -> Graph:
    builder = Builder()
    operands = tuple(builder.input(type) for type in types)
    params = {"size": size, "in_dims": in_dims, "out_mapped": (True,) * len(region.outputs)}
    return builder.finish(builder.emit(map_, operands, map_.complete(params), (region,)))


def test_a_check_that_holds_gives_nothing():
    graph = checking()
    verify(graph)
    assert graph.operations[0].results == ()
    assert "check[make=<host Bad>](%0, %1)" in format_graph(graph)
    assert interpret(graph, np.bool_(True), np.float64(3.0)) == [3.0]


def test_a_check_that_does_not_hold_raises_with_the_numbers():
    with pytest.raises(ValueError) as caught:
        interpret(checking(), np.bool_(False), np.float64(3.0))
    assert caught.value.args == ("bad", 3.0)
    assert type(caught.value.args[1]) is np.float64


def test_a_check_is_kept_though_nobody_uses_it():
    assert [op.primitive for op in lower(checking()).operations] == [check]


def test_checks_are_never_merged():
    builder = Builder()
    ok = builder.input(array_type(BOOL, ()))
    for _ in range(2):
        builder.emit(check, (ok,), {"make": Bad("bad")})
    assert len(lower(builder.finish([])).operations) == 2


def test_the_first_example_that_fails_is_told():
    graph = mapped(
        checking(shape=(2,)),
        BATCH,
        (0, 0),
        [array_type(BOOL, (BATCH,)), array_type(FLOAT, (BATCH, 2))],
    )
    x = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(interpret(graph, np.ones(4, bool), x)[0], x)
    with pytest.raises(ValueError) as caught:
        interpret(graph, np.array([True, True, False, False]), x)
    np.testing.assert_array_equal(caught.value.args[1], [4.0, 5.0])
    assert caught.value.args[1].base is None, "the error must not keep the batch alive"


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0)])
def test_operands_that_are_the_same_for_all_examples(in_dims):
    types = [
        array_type(dtype, () if axis is None else (BATCH,))
        for dtype, axis in zip((BOOL, FLOAT), in_dims, strict=True)
    ]
    graph = mapped(checking(), BATCH, in_dims, types)
    ok = np.array([True, False]) if in_dims[0] == 0 else np.bool_(False)
    x = np.float64(7.0) if in_dims[1] is None else np.array([7.0, 8.0])
    with pytest.raises(ValueError) as caught:
        interpret(graph, ok, x)
    assert caught.value.args[1] == 7.0


def test_nested_maps():
    inner = mapped(checking(), BATCH, (0, 0), [array_type(d, (BATCH,)) for d in (BOOL, FLOAT)])
    types = [array_type(d, (OUTER, BATCH)) for d in (BOOL, FLOAT)]
    graph = mapped(inner, OUTER, (0, 0), types)
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(ValueError) as caught:
        interpret(graph, x < 4, x)
    assert caught.value.args[1] == 4.0


def test_no_example_fails_where_there_is_none():
    types = [array_type(d, (BATCH,)) for d in (BOOL, FLOAT)]
    graph = mapped(checking(), BATCH, (0, 0), types)
    assert interpret(graph, np.zeros(0, bool), np.zeros(0))[0].shape == (0,)


def test_equal_messages_make_equal_graphs():
    assert checking(Bad("one")).key == checking(Bad("one")).key
    assert checking(Bad("one")).key != checking(Bad("two")).key


def test_the_type_rule():
    with pytest.raises(TypeError, match="a check takes truth values"):
        check.infer([array_type(FLOAT, ())], {"make": Bad("")})
    with pytest.raises(ValueError, match="has no entry for each of the truth values"):
        check.infer([array_type(BOOL, (3,)), array_type(FLOAT, (2,))], {"make": Bad("")})
