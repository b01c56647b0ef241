"""Walking graphs, and recording them anew by a rule for an operation."""

from __future__ import annotations

import numpy as np

import lanewise as lw
from lanewise.ops.elementwise import elementwise
from lanewise.ops.regions import map_

X = np.arange(3.0)


def recorded():
    """Return the graph of a map, within which there is a sum, and a square behind it."""
    f = lw.function(lambda x: lw.vmap(lambda y: y + 1)(x) * 2)
    return f.get_concrete_function(X).graph


def names(graph):
    return [op.primitive.name for op in graph.walk()]


def test_a_walk_gives_operations_before_those_in_their_regions():
    graph = recorded()
    (outer,) = [op for op in graph.operations if op.primitive is map_]
    found = list(graph.walk())
    start = found.index(outer)
    inner = outer.regions[0].operations
    assert len(inner) > 0
    assert tuple(found[start + 1 : start + 1 + len(inner)]) == inner
    assert len(found) == len(graph.operations) + len(inner)


def test_a_rule_that_says_nothing_leaves_a_graph_as_it_is():
    graph = recorded()
    assert graph.rewritten(lambda op, values: None).key == graph.key


def test_a_rule_gives_results_or_an_operation_in_place_of_one():
    graph = recorded()

    def negated(op, values):
        if op.primitive is not map_:
            return None
        return [elementwise(np.negative)(values[op.operands[0]], dtype=None)]

    assert map_.name not in names(graph.rewritten(negated))

    def empty(op, values):
        return op.map_regions(lambda region: region.rewritten(lambda op, values: None))

    assert graph.rewritten(empty).key == graph.key


def test_an_operation_without_regions_stays_the_same():
    (first, *_) = [op for op in recorded().walk() if not op.regions]
    assert first.map_regions(lambda region: region) is first
