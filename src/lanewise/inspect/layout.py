"""Where boxes stand in a drawing of a graph: in layers, each below all that it takes from.

The steps are those of K. Sugiyama, S. Tagawa and M. Toda, "Methods for Visual Understanding of
Hierarchical System Structures" (IEEE Transactions on Systems, Man, and Cybernetics 11, 1981):
layers, an order within each layer that crosses few lines (barycentres, up and down), and places. A
layer's places are those nearest to the middle of each box's neighbours that keep boxes apart in
their order; after subtracting the widths, that is isotonic regression, which pooling adjacent
violators solves (R. Barlow, D. Bartholomew, J. Bremner, H. Brunk, "Statistical Inference under
Order Restrictions", 1972).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Between boxes side by side, between layers, and what a line that passes a layer takes.
GAP, RISE, LANE = 22.0, 34.0, 14.0
#: A layer is not made wider than this if its boxes can stand in later ones.
WIDTH = 900.0
#: How much more a line that passes a layer counts than a box.
PASSING = 8.0
#: Odd: the last one goes down, which leaves fewer lines that cross.
_SWEEPS = 7

Point = tuple[float, float]
#: Boxes that a box has lines from, or to.
Neighbours = defaultdict[int, list[int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing's geometry.

    Attributes
    ----------
    width, height
        Of the whole.
    corners
        The upper left corner of each box.
    lines
        For each edge the points that it goes through, from the lower side of one box to the upper
        side of another.
    """

    width: float
    height: float
    corners: list[Point]
    lines: list[list[Point]]


def layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Lay boxes out.

    Parameters
    ----------
    sizes
        Width and height of each box; a box comes after all that have an edge to it.
    edges
        Pairs of boxes, each from an earlier to a later one.

    Examples
    --------
    >>> found = layered([(50, 20), (50, 20), (50, 20)], [(0, 1), (0, 2)])
    >>> found.corners
    [(36.0, 0.0), (0.0, 54.0), (72.0, 54.0)]
    >>> found.lines[0]
    [(61.0, 20.0), (25.0, 54.0)]
    """
    if not sizes:
        return Layout(0.0, 0.0, [], [])
    layer = _layers(sizes, edges)
    widths = [size[0] for size in sizes]
    heights = [size[1] for size in sizes]
    # An edge over several layers passes through a narrow box of its own in each between.
    chains: list[list[int]] = []
    places = list(layer)
    for a, b in edges:
        chain = [a]
        for level in range(layer[a] + 1, layer[b]):
            chain.append(len(places))
            places.append(level)
            widths.append(LANE)
            heights.append(0.0)
        chains.append([*chain, b])
    steps = [(a, b) for chain in chains for a, b in pairwise(chain)]
    above, below = _neighbours(steps)
    levels, middles = _placed(places, widths, above, below)
    left = min([middles[i] - widths[i] / 2 for i in range(len(widths))])
    tops: list[float] = []
    y = 0.0
    for level in levels:
        tops.append(y)
        y += max([heights[i] for i in level]) + RISE
    corners = [
        (round(middles[i] - widths[i] / 2 - left, 1), round(tops[layer[i]], 1))
        for i in range(len(sizes))
    ]
    lines = []
    for chain in chains:
        points: list[Point] = []
        for i in chain:
            x = round(middles[i] - left, 1)
            top, height = tops[places[i]], max([heights[j] for j in levels[places[i]]])
            if i == chain[0]:
                points.append((x, round(top + heights[i], 1)))
                if heights[i] < height:  # past taller boxes beside it
                    points.append((x, round(top + height, 1)))
            elif i == chain[-1]:
                points.append((x, round(top, 1)))
            else:  # straight past the boxes of the layer
                points += [(x, round(top, 1)), (x, round(top + height, 1))]
        lines.append(points)
    right = max([middles[i] + widths[i] / 2 for i in range(len(widths))])
    return Layout(round(right - left, 1), round(y - RISE, 1), corners, lines)


def _layers(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: below all that it takes from, in one that has room."""
    assert all([a < b for a, b in edges]), "an edge leads to a later box"
    before, after = _neighbours(edges)
    layer = [0] * len(sizes)
    taken: dict[int, float] = {}
    for i, (own, _) in enumerate(sizes):
        level = max([layer[j] + 1 for j in before[i]], default=0)
        while taken.get(level, 0.0) and taken[level] + own > WIDTH:
            level += 1
        layer[i] = level
        taken[level] = taken.get(level, 0.0) + own + GAP
    # What takes from nothing stands just above the first that takes from it, if there is room.
    for i in reversed(range(len(sizes))):
        if not before[i] and after[i]:
            level = min([layer[j] for j in after[i]]) - 1
            if level > layer[i] and taken.get(level, 0.0) + sizes[i][0] <= WIDTH:
                taken[layer[i]] -= sizes[i][0] + GAP
                taken[level] = taken.get(level, 0.0) + sizes[i][0] + GAP
                layer[i] = level
    known = {level: k for k, level in enumerate(sorted(set(layer)))}
    return [known[level] for level in layer]


def _neighbours(edges: Sequence[tuple[int, int]]) -> tuple[Neighbours, Neighbours]:
    """Return from which boxes lines lead to each, and to which they lead from it."""
    before: Neighbours = defaultdict(list)
    after: Neighbours = defaultdict(list)
    for a, b in edges:
        before[b].append(a)
        after[a].append(b)
    return before, after


def _placed(
    places: Sequence[int], widths: Sequence[float], above: Neighbours, below: Neighbours
) -> tuple[list[list[int]], list[float]]:
    """Return the boxes of each layer in their order, and the middle of each box.

    Down and up in turns, each layer is put in the order of the middles of what its boxes have lines
    to on that side, and each box as near to that middle as the others let it.
    """
    levels = [[i for i, own in enumerate(places) if own == k] for k in range(max(places) + 1)]
    middles = [float(i) for i in range(len(widths))]  # in the order in which they are given
    for sweep in range(_SWEEPS):
        goes_down = sweep % 2 == 0
        for level in levels if goes_down else levels[::-1]:
            wanted = {}
            for i in level:
                near = (above if goes_down else below)[i]
                if sweep and not near:
                    near = above[i] + below[i]
                wanted[i] = sum([middles[j] for j in near]) / len(near) if near else middles[i]
            level.sort(key=wanted.__getitem__)
            # Lines that pass should be straight more than boxes should be in the middle.
            weights = [PASSING if widths[i] == LANE else 1.0 for i in level]
            goals = [wanted[i] for i in level]
            row = _apart(goals, [widths[i] for i in level], weights)
            for i, x in zip(level, row, strict=True):
                middles[i] = x
    return levels, middles


def _apart(
    wanted: Sequence[float], widths: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Return the middles nearest to those wanted, by least squares, that keep boxes apart.

    Examples
    --------
    >>> _apart([0.0, 0.0], [10.0, 10.0], [1.0, 1.0])
    [-16.0, 16.0]
    >>> _apart([0.0, 0.0], [10.0, 10.0], [1.0, 3.0])
    [-24.0, 8.0]
    """
    offsets, x = [], 0.0
    for k, width in enumerate(widths):
        x += (widths[k - 1] + width) / 2 + GAP if k else 0.0
        offsets.append(x)
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of what is pushed together
    for goal, offset, weight in zip(wanted, offsets, weights, strict=True):
        pools.append((goal - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, v, n), (b, w, m) = pools[-2:]
            pools[-2:] = [((a * v + b * w) / (v + w), v + w, n + m)]
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
