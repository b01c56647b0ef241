"""Graphs as matrices of weights or lists of edges: searches, shortest ways, components."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse.csgraph as csgraph

from programs.corpus.case import Case

RNG = np.random.default_rng(17)


def breadth_first_distance(adjacency, start, goal):
    n = len(adjacency)
    distance = np.full(n, -1)
    distance[start] = 0
    queue = np.zeros(n, dtype=int)
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        if node == goal:
            return distance[node]
        for other in range(n):
            if adjacency[node, other] and distance[other] < 0:
                distance[other] = distance[node] + 1
                queue[tail] = other
                tail += 1
    return -1


def depth_first_order(adjacency, start):
    n = len(adjacency)
    order = np.full(n, -1)
    seen = np.zeros(n, dtype=bool)
    stack = np.zeros(n * n + 1, dtype=int)
    stack[0] = start
    top, count = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        if seen[node]:
            continue
        seen[node] = True
        order[count] = node
        count += 1
        for other in range(n - 1, -1, -1):
            if adjacency[node, other] and not seen[other]:
                stack[top] = other
                top += 1
    return order, count


def dijkstra(weights, start):
    n = len(weights)
    distance = np.full(n, np.inf)
    distance[start] = 0.0
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        nearest = -1
        for node in range(n):
            if not done[node] and (nearest < 0 or distance[node] < distance[nearest]):
                nearest = node
        if np.isinf(distance[nearest]):
            break
        done[nearest] = True
        for other in range(n):
            if weights[nearest, other] > 0:
                through = distance[nearest] + weights[nearest, other]
                if through < distance[other]:
                    distance[other] = through
    return distance


class NegativeCycleError(Exception):
    pass


def bellman_ford(edges, weights, start):
    distance = np.full(5, np.inf)
    distance[start] = 0
    for _ in range(4):
        changed = False
        for (u, v), w in zip(edges, weights):  # noqa: B905
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                changed = True
        if not changed:
            break
    for (u, v), w in zip(edges, weights):  # noqa: B905
        if distance[u] + w < distance[v]:
            raise NegativeCycleError(f"a negative cycle through {u} and {v}")
    return distance


def has_negative_cycle(weights):
    d = weights.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            if d[i, k] == np.inf:
                continue
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
        if any(d[i, i] < 0 for i in range(n)):
            return True, k
    return False, n


def count_components(adjacency):
    n = len(adjacency)
    label = np.zeros(n, dtype=int)
    components = 0
    for start in range(n):
        if label[start]:
            continue
        components += 1
        label[start] = components
        grew = True
        while grew:
            grew = False
            for i in range(n):
                if label[i] == components:
                    fresh = (adjacency[i] != 0) & (label == 0)
                    if fresh.any():
                        label[fresh] = components
                        grew = True
    return components, label


class UnionFind:
    def __init__(self, n):
        self.parent = np.arange(n)
        self.sets = n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, x, y):
        x, y = self.find(x), self.find(y)
        if x == y:
            return False
        self.parent[y] = x
        self.sets -= 1
        return True


def redundant_edges(edges):
    forest = UnionFind(6)
    redundant = 0
    for u, v in edges:
        if not forest.union(u, v):
            redundant += 1
    return redundant, forest.sets


def kruskal(edges, weights):
    order = np.argsort(weights, kind="stable")
    parent = np.arange(6)

    def find(x):
        while parent[x] != x:
            x = parent[x]
        return x

    total, taken = 0.0, 0
    for k in order:
        a, b = find(edges[k, 0]), find(edges[k, 1])
        if a != b:
            parent[b] = a
            total += weights[k]
            taken += 1
            if taken == 5:
                break
    return total, taken


def topological_order(adjacency):
    """Kahn's algorithm; -1 where there is a cycle."""
    n = len(adjacency)
    waiting = adjacency.sum(axis=0)
    order = np.full(n, -1)
    count = 0
    for _ in range(n):
        node = -1
        for candidate in range(n):
            if waiting[candidate] == 0:
                node = candidate
                break
        if node == -1:
            break
        order[count] = node
        count += 1
        waiting[node] = -1
        for other in range(n):
            if adjacency[node, other]:
                waiting[other] -= 1
    return order, count == n


def two_colorable(adjacency):
    n = len(adjacency)
    color = np.zeros(n, dtype=int)
    for start in range(n):
        if color[start] == 0:
            color[start] = 1
            changed = True
            while changed:
                changed = False
                for i in range(n):
                    for j in range(n):
                        if not adjacency[i, j] or color[i] == 0:
                            continue
                        if color[j] == color[i]:
                            return False
                        if color[j] == 0:
                            color[j] = -color[i]
                            changed = True
    return True


def flood_fill(image, row, column, value):
    """Paint what hangs together, through a stack of places."""
    old = image[row, column]
    if old == value:
        return image, 0
    h, w = image.shape
    stack = np.zeros((4 * h * w, 2), dtype=int)
    stack[0] = row, column
    top, painted = 1, 0
    while top:
        top -= 1
        i, j = stack[top]
        if not (0 <= i < h and 0 <= j < w) or image[i, j] != old:
            continue
        image[i, j] = value
        painted += 1
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            stack[top] = i + di, j + dj
            top += 1
    return image, painted


def cheapest_path_down(cost):
    best = cost[0].copy()
    for row in cost[1:]:
        below = np.empty_like(best)
        for j in range(len(best)):
            low = best[j]
            if j > 0 and best[j - 1] < low:
                low = best[j - 1]
            if j + 1 < len(best) and best[j + 1] < low:
                low = best[j + 1]
            below[j] = low + row[j]
        best = below
    return min(best)


def _distance(adjacency, start, goal):
    d = csgraph.shortest_path(adjacency, unweighted=True)[start, goal]
    return -1 if np.isinf(d) else d


def _depth_first(adjacency, start):
    order = []

    def visit(node):
        order.append(node)
        for other in np.flatnonzero(adjacency[node]):
            if other not in order:
                visit(other)

    visit(int(start))
    return np.array(order + [-1] * (len(adjacency) - len(order))), len(order)


def _bellman_ford(edges, weights, start):
    d = np.where(np.arange(5) == start, 0, np.inf)
    for _ in range(10):
        for (u, v), w in zip(edges, weights, strict=True):
            d[v] = min(d[v], d[u] + w)
    return d


def _negative_cycle(weights):
    n = len(weights)
    for k in range(n):
        nodes = range(k + 1)
        for size in range(1, k + 2):
            for cycle in itertools.permutations(nodes, size):
                if (
                    sum(weights[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
                    < 0
                ):
                    # Cycles through at most k are known once k has been gone through.
                    return True, has_negative_cycle(weights)[1]
    return False, n


def _components(adjacency):
    count, label = csgraph.connected_components(adjacency)
    return count, label + 1


def _redundant(edges):
    matrix = np.zeros((6, 6))
    matrix[edges[:, 0], edges[:, 1]] = 1
    sets = csgraph.connected_components(matrix, directed=False)[0]
    return len(edges) - (6 - sets), sets


def _spanning(edges, weights):
    matrix = np.full((6, 6), np.inf)
    for (u, v), w in zip(edges, weights, strict=True):
        if u != v:
            low, high = sorted((u, v))
            matrix[low, high] = min(matrix[low, high], w)
    tree = csgraph.minimum_spanning_tree(np.where(np.isinf(matrix), 0, matrix))
    return tree.sum(), tree.nnz


def _topological(adjacency):
    reach = np.linalg.matrix_power(adjacency + np.eye(len(adjacency), dtype=int), 5) > 0
    acyclic = not (reach & reach.T & ~np.eye(len(adjacency), dtype=bool)).any()
    order, ok = topological_order(adjacency)
    assert ok == acyclic
    if ok:
        rank = np.argsort(order)
        assert all(rank[i] < rank[j] for i, j in np.argwhere(adjacency))
    return order, acyclic


def _two_colorable(adjacency):
    n = len(adjacency)
    return any(
        all(c[i] != c[j] for i, j in np.argwhere(adjacency))
        for c in itertools.product([0, 1], repeat=n)
    )


def _flood(image, row, column, value):
    seen = {(int(row), int(column))}
    while True:
        more = {
            (i + di, j + dj)
            for i, j in seen
            for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0))
            if 0 <= i + di < image.shape[0] and 0 <= j + dj < image.shape[1]
        }
        more = {p for p in more if image[p] == image[row, column]} - seen
        if not more:
            break
        seen |= more
    if image[row, column] == value:
        return image, 0
    out = image.copy()
    for p in seen:
        out[p] = value
    return out, len(seen)


def _cheapest(cost):
    h, w = cost.shape
    paths = itertools.product(range(w), repeat=h)
    smooth = [p for p in paths if all(abs(a - b) <= 1 for a, b in itertools.pairwise(p))]
    return min(sum(cost[i, j] for i, j in enumerate(p)) for p in smooth)


DIRECTED = (RNG.random((12, 6, 6)) < 0.25) & ~np.eye(6, dtype=bool)
UNDIRECTED = np.tril(RNG.random((12, 6, 6)) < 0.25, -1)
UNDIRECTED = (UNDIRECTED | UNDIRECTED.transpose(0, 2, 1)).astype(np.int64)
NODES = RNG.integers(0, 6, 12)
LAYERED = np.triu(RNG.random((12, 5, 5)) < 0.5, 1).astype(np.int64)
LAYERED[::3, 4, 0] = 1
EDGES = RNG.integers(0, 6, (14, 7, 2))
WALK = np.where(
    np.eye(4), 0, np.where(RNG.random((12, 4, 4)) < 0.6, RNG.integers(-1, 6, (12, 4, 4)), np.inf)
)

CASES = [
    Case(breadth_first_distance, [DIRECTED, NODES, NODES[::-1].copy()], _distance),
    Case(depth_first_order, [DIRECTED, NODES], _depth_first),
    Case(
        dijkstra,
        [DIRECTED * RNG.uniform(0.1, 5, (12, 6, 6)), NODES],
        lambda w, s: csgraph.dijkstra(w, indices=s),
    ),
    Case(
        bellman_ford,
        [RNG.integers(0, 5, (12, 7, 2)), RNG.integers(0, 9, (12, 7)).astype(float), NODES % 5],
        _bellman_ford,
        bad=(np.array([[0, 1], [1, 0]] + [[2, 2]] * 5), np.array([-1.0] + [0.0] * 6), 0),
        error=NegativeCycleError,
    ),
    Case(has_negative_cycle, [WALK], _negative_cycle),
    Case(count_components, [UNDIRECTED], _components),
    Case(redundant_edges, [EDGES], _redundant),
    Case(kruskal, [EDGES, RNG.uniform(1, 9, (14, 7))], _spanning),
    Case(topological_order, [LAYERED], _topological),
    Case(two_colorable, [UNDIRECTED[:, :4, :4].astype(bool)], _two_colorable),
    Case(
        flood_fill,
        [RNG.integers(0, 2, (12, 4, 4)), NODES % 4, NODES[::-1] % 4, RNG.integers(0, 3, 12)],
        _flood,
    ),
    Case(cheapest_path_down, [RNG.integers(0, 20, (12, 5, 4))], _cheapest),
]
