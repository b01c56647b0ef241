"""Where boxes stand in a drawing: what must hold of every graph, and small ones by hand."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.inspect.layout import GAP, RISE, WIDTH, layered
from support.searching import searching

sizes = st.tuples(st.floats(10, 300), st.floats(10, 200))


@st.composite
def graphs(draw):
    boxes = draw(st.lists(sizes, max_size=14))
    n = len(boxes)
    pairs = st.tuples(st.integers(0, max(n - 2, 0)), st.integers(1, max(n - 1, 1)))
    edges = draw(st.lists(pairs, max_size=25, unique=True)) if n > 1 else []
    return boxes, [(a, b) for a, b in edges if a < b]


@given(graphs())
@searching(150)
def test_boxes_are_apart_and_lines_lead_down(graph):
    boxes, edges = graph
    found = layered(boxes, edges)
    assert len(found.corners) == len(boxes) and len(found.lines) == len(edges)
    spans = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(found.corners, boxes, strict=True)]
    slack = 0.21  # coordinates are rounded to a tenth
    for (a, b, c, d), (e, f, g, h) in combinations(spans, 2):
        side_by_side = c + GAP <= e + slack or g + GAP <= a + slack
        assert side_by_side or d + RISE <= f + slack or h + RISE <= b + slack
    for left, top, right, bottom in spans:
        assert left >= -slack and top >= 0
        assert right <= found.width + slack and bottom <= found.height + slack
    for (a, b), points in zip(edges, found.lines, strict=True):
        assert points[0][1] == pytest.approx(spans[a][3], abs=slack)
        assert points[-1][1] == pytest.approx(spans[b][1], abs=slack)
        assert spans[a][0] <= points[0][0] <= spans[a][2]
        assert spans[b][0] <= points[-1][0] <= spans[b][2]
        heights = [y for _, y in points]
        assert heights == sorted(heights)
        # Where it goes straight down beside boxes, it does not go through one.
        for (x, y), (to_x, to_y) in pairwise(points):
            if x == to_x:
                for i, (left, top, right, bottom) in enumerate(spans):
                    if i not in (a, b):
                        assert not (left + 1 < x < right - 1 and y < bottom - 1 and top + 1 < to_y)


def test_a_chain_is_straight():
    found = layered([(50, 20), (80, 20), (30, 20)], [(0, 1), (1, 2)])
    middles = {x + w / 2 for (x, _), w in zip(found.corners, (50, 80, 30), strict=True)}
    assert len(middles) == 1 and found.width == 80


def test_lines_that_need_not_cross_do_not():
    # Two chains, the boxes of which come in turns; and a pair that is swapped.
    boxes = [(40.0, 20.0)] * 6
    found = layered(boxes, [(0, 3), (1, 2), (2, 4), (3, 5)])
    x = [corner[0] for corner in found.corners]
    assert (x[0] < x[1]) == (x[3] < x[2]) == (x[5] < x[4])


def test_wide_layers_are_broken():
    found = layered([(200.0, 20.0)] * 20, [])
    assert found.width <= WIDTH and len({y for _, y in found.corners}) == 5


def test_nothing():
    found = layered([], [])
    assert (found.width, found.height, found.corners, found.lines) == (0, 0, [], [])
    with pytest.raises(AssertionError, match="an edge leads to a later box"):
        layered([(1, 1), (1, 1)], [(1, 0)])
