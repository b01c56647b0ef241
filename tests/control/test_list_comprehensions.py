"""List comprehensions of which all uses are known: loops that append."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(0).random((2, 60))
PROGRAMS = []


def program(func):
    """Note a function that is compared with the loop."""
    PROGRAMS.append(func)
    return func


class Smooth:
    def __init__(self, rate):
        self.rate, self.y = rate, None

    def __call__(self, x):
        self.y = x if self.y is None else self.y + self.rate * (x - self.y)
        return self.y


@program
def tables(x):
    return np.array([[a * b for a in x] for b in x])


@program
def rows_of_lists(x):
    return np.array([[a, 2 * a] for a in x])


@program
def rows_of_tuples(x):
    return np.array([(a, 2 * a) for a in x])


@program
def sums_of_windows(x):
    return np.array([x[i : i + 3].sum() for i in range(len(x) - 3)])


@program
def windows(x):
    return np.array([x[i : i + 3] for i in range(len(x) - 3)])


@program
def joined(x):
    return np.concatenate([x[i : i + 2] * i for i in range(40)])


@program
def pairs_that_are_kept(x):
    p = [(i, v) for i, v in enumerate(x) if v > 0.5]
    return (len(p), p[0][1], sum([v for i, v in p]), [i for i, v in p][-1])


@program
def given_to_functions(x):
    return (
        np.max([abs(v) for v in x]),
        sorted([v * 2 for v in x])[3],
        np.linalg.norm([v for v in x]),
    )


@program
def zipped(x):
    a = [v for v in x]
    b = [v * v for v in x]
    return (
        sum([p * q for p, q in zip(a, b, strict=False)]),
        np.dot(a, b),
        [p + q for p, q in zip(a[1:], b[:-1], strict=False)][2],
    )


@program
def returned(x):
    return [v * 2 for v in x]


@program
def as_a_tuple(x):
    return tuple([v * 2 for v in x])


@program
def arrays_that_are_written(x):
    h = [np.zeros(3) for _ in range(30)]
    for i in range(30):
        h[i][i % 3] = x[i]
    return np.array(h)


@program
def lists_that_are_written(x):
    d = [[0.0] * 5 for _ in range(6)]
    for i in range(6):
        for j in range(5):
            d[i][j] = x[i] * x[j]
    return np.array(d)


@program
def functions(x):
    f = [lambda t, i=i: t * i for i in range(3)]
    return sum([g(x[0]) for g in f])


@program
def reduced(x):
    large = np.mean([v for v in x if v > 0.5]), np.median([v for v in x if v > 0.5])
    return np.prod([v + 1 for v in x if v < 0.1]), large, np.std([v for v in x if v > 0.2])


@program
def in_a_dict(x):
    return {"a": next(v * 2 for v in x), "b": np.array([v for v in x])}


@program
def gone_through(x):
    s = 0.0
    for v in [w * w for w in x]:
        s = s * 0.5 + v
    return s


@program
def parts_of_any_size(x):
    return np.array([max(x[: i + 1]) for i in range(len(x))])


@program
def places(x):
    return np.array([i for i in range(len(x)) if x[i] > 0.5], dtype=int).sum()


@program
def extremes(x):
    return (max([v for v in x if v < 0.9], default=0.0), min((v for v in x), key=lambda v: -v))


@program
def choices(x):
    return np.array([x[i] if i % 2 else -x[i] for i in range(len(x))])


@program
def taken_by_places(x):
    keep = [i for i in range(1, len(x) - 1) if x[i] > x[i - 1] and x[i] > x[i + 1]]
    return len(keep), x[keep].sum()


@program
def with_state(x):
    class_ = Smooth(0.1)
    return np.array([class_(v) for v in x])


@program
def kept_and_grown(x):
    found = [v for v in x if v > 0.5]
    for v in x[:5]:
        found.append(-v)
    return len(found), sum(found), found[0], found[-1], np.mean(found), np.median(found)


@program
def of_itself(x):
    x = [v * 2 for v in x]
    x = [v + 1 for v in x]
    return np.array(x)


@program
def variables_of_its_own(x):
    v = 3.0
    y = np.array([v * 2 for v in x])
    return v, y


@program
def sees_later_changes(x):
    scale = 1.0
    total = 0.0
    for i in range(20):
        total += np.array([scale * v for v in x])[i]
        scale = scale * 0.9
    return total


@program
def several_loops(x):
    return np.array([a - b for a in x[:5] for b in x[5:9]])


#: Those in which iterations are written out one by one.
ONE_BY_ONE = frozenset((
    "returned", "as_a_tuple", "lists_that_are_written", "given_to_functions", "gone_through",
    "functions", "arrays_that_are_written", "of_itself",
))  # fmt: skip


@pytest.mark.parametrize("func", PROGRAMS)
def test_is_like_the_loop(func):
    assert_like_the_loop(func, X)


@pytest.mark.parametrize("func", [f for f in PROGRAMS if f.__name__ not in ONE_BY_ONE])
def test_is_recorded_once(func):
    graph = lw.function(func).get_concrete_function(X[0]).graph
    assert len(graph.operations) < 100
