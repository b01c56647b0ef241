"""List comprehensions of which all uses are known: loops that append."""

from __future__ import annotations

import math as maths

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


@program
def in_comprehensions(x):
    return np.array([np.array([v * k for v in x]).sum() for k in range(20)])


@program
def in_comprehensions_that_filter(x):
    return np.array([[v * k for v in x if v > k * 0.01][0] for k in range(20)])  # noqa: RUF015


@program
def in_lambdas(x):
    def g(k, m=2.0):
        return [np.array([v * k * m + j for v in x]) for j in range(3)]

    return (g(1.0)[1], sum([np.max([v * k for v in x]) for k in range(5)]))


@program
def in_lambdas_of_lists(x):
    h = [lambda t: np.array([v * t for v in x]).sum() for _ in range(2)]
    return h[0](x[0])


@program
def in_functions(x):

    def f(k):
        return np.stack([np.array([v * k, v]) for v in x])

    return (
        np.array([f(k).sum() for k in range(3)]),
        np.array([w for w in [v + 1 for v in x] if w > 1.5]).size,
    )


@program
def in_dicts_and_generators(x):
    rows = {k: np.array([v * k for v in x]) for k in range(3)}
    return rows[2], sum(np.array([v * k for v in x]).sum() for k in range(3))


@program
def over_other_objects(x):
    d = {"a": 1.0, "b": 2.0}
    k = [k for k in d]
    c = [ord(ch) for ch in "abc"]
    g = [v * 2 for v in (u + 1 for u in x)]
    return (x[0] * len(k) + sum(c), np.array(g), np.array([d[n] * x[i] for i, n in enumerate(d)]))


@program
def bound_late(x):
    fs = [lambda: i for i in range(3)]  # noqa: B023
    return sum([f() for f in fs]) * x[0], fs[0]()


@program
def taken_apart(x):
    a = [v * 2 for v in x]
    return (max(*a), np.array([*a, 1.0]), (lambda *q: q[1])(*a))


@program
def added_to(x):
    a = [v for v in x[:5]]
    a += [1.0]
    a += list(x[:2])
    b = [*a, 2.0]
    c = [0.0] * 3 + a
    return (np.array(a), np.array(b), len(c), a == b)


@program
def changed_otherwise(x):
    a = [v for v in x[:5]]
    del a[0]
    a.insert(0, 3.0)
    a.remove(3.0)
    i = a.index(a[1])
    return (np.array(a), i, 5 in a)


@program
def under_two_names(x):
    a = [v for v in x]
    b = a
    b.append(1.0)
    return (len(a), len(b), a is b)


@program
def best_of_pairs(x):
    p = [(i, x[i]) for i in range(1, len(x) - 1) if x[i] > x[i - 1] and x[i] > x[i + 1]]
    best = max(p, key=lambda q: q[1])
    worst = min(p[1:], key=lambda q: q[1])
    return (best[0], best[1], worst[0])


@program
def of_nothing(x):
    v = [u for u in x if u > 0.99]
    return (
        max(v, default=-1.0),
        min(v, key=lambda t: -t, default=-2.0),
        sum(v, 1.0),
        any([u > 0.995 for u in v]),
    )


@program
def truths(x):
    f = []
    for u in x:
        f.append(u > 0.5)
    g = []
    for u in x:
        if u > 0.3:
            g.append(u > 0.9)
    return (any(f), all(f), any(g), all(g), max([u for u in x], key=lambda t: abs(t - 0.5)))


@program
def best_of_tuples(x):
    r = []
    for i, u in enumerate(x):
        r.append((u, i))
    return (max(r)[1], max(r, key=lambda t: t[0])[1], min(r, key=lambda t: t[0])[0])


@program
def an_array_from_then_on(x):
    a = [v for v in x]
    a[2] += 1.0
    a = np.array(a)
    a[np.array([0, 2])] += 1
    a[1] += 5
    a[a > 0.5] *= 2
    a += [1.0]
    return a


@program
def a_dict_from_then_on(x):
    a = [v for v in x]
    a[2] += 1.0
    a = {0: a[2], 1: x[1]}
    a[0] += 1
    return a[0], a[1]


@program
def a_number_from_then_on(x):
    a = [v for v in x]
    a = a[3]
    return max(a, 0.5), min(0.1, a)


#: Those in which iterations are written out one by one.
ONE_BY_ONE = frozenset((
    "returned", "as_a_tuple", "lists_that_are_written", "given_to_functions", "gone_through",
    "functions", "arrays_that_are_written", "of_itself", "changed_otherwise", "taken_apart",
    "added_to", "in_functions", "in_lambdas", "over_other_objects", "under_two_names",
    "best_of_tuples",
))  # fmt: skip


@pytest.mark.parametrize("func", PROGRAMS)
def test_is_like_the_loop(func):
    assert_like_the_loop(func, X)


@pytest.mark.parametrize("func", [f for f in PROGRAMS if f.__name__ not in ONE_BY_ONE])
def test_is_recorded_once(func):
    graph = lw.function(func).get_concrete_function(X[0]).graph
    assert len(graph.operations) < 100


#: What NumPy's functions make of lists of arrays, numbers and rows: NaN and axes included.
OF_LISTS = (
    lambda x: np.sum([x[i : i + 3] for i in range(4)]),
    lambda x: np.sum([x[i : i + 3] for i in range(4)], axis=0),
    lambda x: np.sum([x[i : i + 3] for i in range(4)], 1),
    lambda x: np.sum([x[i] for i in range(4)], dtype=np.float32),
    lambda x: np.sum([(x[i], x[i + 1]) for i in range(4)]),
    lambda x: np.sum([a * b for a, b in zip(x[:6], x[6:], strict=True) if a > b]),
    lambda x: np.prod([x[i : i + 2] for i in range(3)], axis=-1, keepdims=True),
    lambda x: np.prod([v for v in x if v > 0]),
    lambda x: maths.prod([v for v in x if v > 0]) + maths.prod(v for v in x if v < 0),
    lambda x: maths.fsum(v for v in x if v > 0),
    lambda x: np.mean([x[i : i + 3] for i in range(4)]),
    lambda x: np.mean([x[i : i + 3] for i in range(4)], axis=1),
    lambda x: np.mean([x[i] for i in range(12) if x[i] > 0]),
    lambda x: np.min([x[i] for i in range(8)]),
    lambda x: np.min([x[i : i + 3] for i in range(4)], axis=0),
    lambda x: np.max([x[i] for i in range(8) if x[i] > 0 or x[i] != x[i]]),
    lambda x: np.max([abs(x[i]) for i in range(4)], initial=1.0),
    lambda x: np.max([abs(a - b) for a in x[:5] for b in x[:5]]),
    lambda x: np.any([x[i : i + 3] > 1 for i in range(4)]),
    lambda x: np.all([[x[i] > -1, x[i] < 2] for i in range(4)]),
    lambda x: np.all([x[i] < 2 for i in range(12) if x[i] > 0]),
)


@pytest.mark.parametrize("func", OF_LISTS)
def test_functions_of_numpy_make_arrays_of_lists(func):
    x = np.random.default_rng(1).normal(size=(6, 12))
    x[:, 10] = 0.5  # none is empty
    x[0, 3] = np.nan
    assert_like_the_loop(func, x)


def opposite(x):
    k = next((i for i, v in enumerate(x) if v > 1), None)
    return 0.0 if k is None else -x[k]


def following(x):
    total = 0
    for k in range(5):
        total += next((i for i in range(k, 12) if x[i] > 0), k)
    return total


FIRST = (
    lambda x: next((i for i in range(12) if x[i] > 1), -1),
    lambda x: next((v for v in x if v > 1), 0.0),
    lambda x: next(i for i in range(12) if x[i] > -1),
    lambda x: next(i for i in range(12) if x[i] > 1.5),  # raises StopIteration in some examples
    lambda x: next((i * j for i in range(12) for j in range(i) if x[i] > x[j] + 1), -1),
    lambda x: next((a, b) for a, b in zip(x[:6], x[6:], strict=True) if a > b),
    lambda x: next((i for i in range(12) if x[i] > 9), len(x)),
    opposite,
    following,
)


@pytest.mark.parametrize("func", FIRST)
def test_next_takes_the_first_that_the_data_let_through(func):
    assert_like_the_loop(func, np.random.default_rng(1).normal(size=(8, 12)))


class Model:
    def __init__(self):
        self.__w = 2.0
        self.b = [1.0, 2.0]

    def __f(self, v):
        return v * self.__w

    def run(self, x):
        a = [self.__f(v) for v in x]
        b = [self.__w * v + c for v in x for c in self.b]
        return np.array(a), np.array(b), np.array([self.__f(v) if v > 0.5 else v for v in x])


def test_private_names():
    assert_like_the_loop(Model().run, X)
