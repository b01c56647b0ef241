"""Frames: a region records what it takes from outside once, and hands it through its parents."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from lanewise.ir.graph import Builder, Graph, building
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import array_type
from lanewise.ops.elementwise import elementwise
from lanewise.ops.registry import REGISTRY
from lanewise.passes.frames import Dependent, Frame, Own, Part, Running, Same, Turn

ROW = array_type(np.dtype(float), (3,))
OUTSIDE = Builder().input(ROW)
BRANCH = """
graph(%0: bool[], %1: f64[3]) {
  %2 = cond(%0, %1) graph(%0: f64[3]) { return %0 } graph(%0: f64[3]) { return %0 }
  return %2
}
"""
WRITTEN = Part(0, (0,), ("carry", 0), None)


def _frame() -> Frame:
    """Return a frame of two carried rows; the elements of the second are the iterations' own."""
    return Frame([ROW, ROW], [{}, {0: ("turn", 1, 0)}])


def test_a_source_is_an_input_once():
    frame = _frame()
    first = frame.value(Same(OUTSIDE))
    assert frame.value(Same(OUTSIDE)) is first
    assert frame.value(Turn(2, 1)) is frame.value(Turn(2, 1)) is not frame.value(Turn(2, 0))
    assert frame.value(WRITTEN) is frame.cell(WRITTEN)
    assert list(frame.taken) == [("same", OUTSIDE), ("turn", 2, 1), ("turn", 2, 0), ("cell", 0)]


def test_a_number_of_no_iteration_is_a_constant():
    frame = _frame()
    value = frame.value(Turn(0, 7))
    assert not frame.taken and frame.builder.operations[0].results == (value,)


@pytest.mark.parametrize("kind", [Running(0), Part(1, (0,), ("carry", 1), None)])
def test_what_an_iteration_does_not_have_has_no_value(kind):
    with pytest.raises(Dependent):
        _frame().value(kind)


def test_a_region_within_takes_from_the_region_around():
    frame = _frame()
    chosen, own = frame.builder.input(array_type(np.dtype(bool), ())), frame.builder.input(ROW)
    (op,) = parse_graph(BRANCH, REGISTRY).operations
    frames = [frame.within(), frame.within()]
    with building(frames[0].builder):
        value = frames[0].value(frames[0].bind(Own(own)))
        result = elementwise(np.add)(value, frames[0].value(Same(OUTSIDE)))
    outputs = [[result], [frames[1].value(Same(OUTSIDE))]]
    found = frame.record(op, frames, [(), ()], outputs, before=[chosen])
    assert list(frame.taken) == [("same", OUTSIDE)]
    taken = frame.value(Same(OUTSIDE))
    graph = Graph([chosen, own, taken], frame.builder.operations, found)
    assert format_graph(graph) == textwrap.dedent("""\
        graph(%0: bool[], %1: f64[3], %2: f64[3]) {
          %3: f64[3] = cond(%0, %1, %2)
            graph(%0: f64[3], %1: f64[3]) {
              %2: f64[3] = add(%0, %1)
              return %2
            }
            graph(%1: f64[3], %0: f64[3]) {
              return %0
            }
          return %3
        }""")


def test_what_changes_on_the_way_starts_anew_in_a_region():
    frame = _frame()
    term = frame.builder.input(ROW)
    inner = frame.within()
    assert inner.bind(Running(0, np.add, (term,))) == Running(0, np.add)
    assert inner.bind(Turn(1, 0)) == Turn(1, 0)
    bound = inner.bind(Part(0, (0,), ("carry", 0), term))
    assert isinstance(bound, Part) and list(inner.taken) == [("own", term)]
    assert bound.cell is inner.taken["own", term]
