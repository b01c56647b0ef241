"""Tuples, lists and dicts that are None in some examples."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

X = np.concatenate([np.random.default_rng(3).normal(size=(5, 9)), np.full((1, 9), -2.0)])
#: Programs that return something for every example.
PROGRAMS = []
#: Programs that return None for some, or raise.
OTHERS = []
Hit = namedtuple("Hit", "index value")


def program(func):
    """Note a function that is compared with the loop."""
    PROGRAMS.append(func)
    return func


def other(func):
    """Note a function that is compared with the loop, call by call."""
    OTHERS.append(func)
    return func


@program
def nearest_pair(x):
    best = None
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = abs(x[i] - x[j])
            if d > 0.4 and (best is None or d < best[0]):
                best = (d, i, j)
    if best is None:
        return -1.0, -1, -1
    d, i, j = best
    return d, i, j


def above(v):
    if v < 0:
        return None
    return 1 if v <= 1 else 2


@program
def none_in_a_dict_or_list(x):
    a, b = above(x[0]), above(x[1])
    if a == 1:
        made, row = {"a": a, "v": [x[0], None]}, [None, b, 3.0]
    else:
        made, row = {"a": 3, "v": [2.0, b]}, [x[2], 0, 1.0]
    other = row
    row[2] = 7.0
    known = [-1 if v is None else v for v in (made["v"][1], row[0], row[1])]
    return made["a"], made["v"][0], known, other[2]


@program
def one_list_of_two_names(x):
    row = [None, x[1]]
    other = row
    if x[0] > 0:
        row = [x[2], 1.0]
    return -1.0 if row[0] is None else row[0], row[1], other[1]


@program
def by_order_of_tuples(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0 and (best is None or (x[i], i) < best):
            best = (x[i], i)
    return 0.0 if best is None else best[0] + best[1]


@program
def by_truth_in_a_while_loop(x):
    best = None
    i = 0
    while i < len(x) and x[i] > -1.0:
        if not best or x[i] < best[1]:
            best = [i, x[i]]
        i += 1
    return best[0] + best[1] if best else -1.0


@program
def holds_arrays(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0.5:
            best = (i, x * x[i])
    x[0] = 7.0
    return x.sum() if best is None else best[1].sum() + best[0]


@program
def holds_the_argument(x):
    best = None
    if x[1] > 0:
        best = (x, 2.0)
    x[0] = 7.0
    return x if best is None else best[0] * best[1]


@program
def a_dict(x):
    found = None
    for i in range(len(x)):
        if x[i] > 0:
            found = {"at": i, "value": x[i]}
    return found["value"] + found["at"] if found is not None else 0.0


@program
def a_named_tuple(x):
    hit = None
    for i, v in enumerate(x):
        if v > 0 and (hit is None or v > hit.value):
            hit = Hit(i, v)
    return hit.value * hit.index if hit is not None else -1.0


@program
def or_a_default(x):
    pair = (0, 1.0) if x[0] > 0 else None
    first, second = pair or (5, x[1])
    return first + second


@program
def compared_with_none(x):
    pair = None
    if x[0] > 0:
        pair = (x[0], x[1])
    if pair == None:  # noqa: E711
        return 0.0
    return pair[0] - pair[1]


@program
def compared_with_another(x):
    pair = None
    if x[0] > 0:
        pair = (1, 2 if x[1] > 0 else 3)
    return (1.0 if pair == (1, 2) else 0.0) + (2.0 if pair != (1, 3) else 0.0)


@program
def within_another(x):
    state = (None, 0)
    for i in range(len(x)):
        if x[i] > 0.3:
            state = ((x[i], i), state[1] + 1)
    best, count = state
    return float(count) if best is None else best[0] + best[1] + count


@program
def is_asked_for_its_class(x):
    pair = None
    if x[0] > 0:
        pair = (1, x[1])
    return 1.0 if isinstance(pair, tuple) else 2.0


class Search:
    def __init__(self):
        self.best = None

    def offer(self, value, i):
        if value > 0 and (self.best is None or value < self.best[0]):
            self.best = (value, i)


@program
def an_attribute(x):
    search = Search()
    for i in range(len(x)):
        search.offer(x[i], i)
    return -1.0 if search.best is None else search.best[0] + search.best[1]


@program
def a_function_returns_it(x):
    def crossing(x):
        for i in range(len(x) - 1):
            if x[i] < 0 <= x[i + 1]:
                return i, x[i + 1] - x[i]
        return None

    found = crossing(x)
    if found is None:
        return 0.0
    i, step = found
    return i + step


@program
def a_number_within_a_tuple_in_a_loop(x):
    best = None
    if x[0] > 0:
        best = x[0]
    state = (best, 1)
    for i in range(20):
        if x[1] > i - 2:
            state = (best, i)
    return -5.0 if state[0] is None else state[0] + state[1]


@program
def a_number_within_a_dict_in_a_loop(x):
    best = None
    if x[0] > 0:
        best = x[0]
    kept = {"best": best}
    for i in range(20):
        if x[1] > i - 2:
            kept["best"] = best
    return -5.0 if kept["best"] is None else kept["best"]


@program
def an_array_within_a_tuple(x):
    scaled = None
    if x[0] > 0:
        scaled = x * 2
    state = (scaled, 1)
    for i in range(20):
        if x[1] > i - 2:
            state = (scaled, i)
    x[0] = 3.0
    if state[0] is None:
        return x.sum()
    return (state[0] - 1).sum() + np.sum(state[0]) + state[0][2] + (2 ** -state[0]).max()


@program
def results_of_several_returns(x):
    def first(x):
        for i in range(len(x)):
            if x[i] > 0.5:
                return (i, x[i]), 1
            if x[i] < -2:
                return None, i
        return None, -1

    found, code = first(x)
    return float(code) if found is None else found[0] + found[1] + code


@program
def a_list_of_numbers_or_none(x):
    found = []
    for v in x:
        best = None
        if v > 0:
            best = v
        found.append(best)
    return sum([0.0 if v is None else v for v in found])


@program
def picked_by_data(x):
    best = None
    if x[0] > 0:
        best = x[0]
    i = int(x[1] > 0)
    return [best, 1.0][i] if best is not None else -1.0


@program
def entries_that_are_none(x):
    table = [None, 2.0, None, 3.0]
    found = table[int(abs(x[0])) % 4]
    pairs = [None, (1, x[1]), (2, x[2])]
    pair = pairs[int(abs(x[3])) % 3]
    return (-1.0 if found is None else found) + (-2.0 if pair is None else pair[0] * pair[1])


@program
def asked_by_all_and_any(x):
    pairs = [(i, v) if v > 0 else None for i, v in enumerate(x[:4])]
    return float(all(pairs)) + 2 * any(pairs) + 4 * bool(pairs[0])


@other
def the_largest_of_numbers_or_none(x):
    found = []
    for v in x[:3]:
        best = None
        if v > -1:
            best = v
        found.append(best)
    return max(found)


@other
def returns_it(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0 and (best is None or x[i] > best[1]):
            best = (i, x[i])
    return best


@other
def returns_a_number_or_none(x):
    best = None
    for v in x:
        if v > 0 and (best is None or v < best):
            best = v
    return best


@other
def returns_it_within_a_tuple(x):
    best, count = None, 0
    for i in range(len(x)):
        if x[i] > 0:
            best, count = {"at": i, "value": x[i]}, count + 1
    return best, count


@other
def unpacks_it(x):
    pair = None
    for i in range(len(x)):
        if x[i] > 0:
            pair = (i, x[i])
    i, v = pair
    return i + v


@other
def asks_for_its_length(x):
    pair = None
    for i in range(len(x)):
        if x[i] > 0:
            pair = (i, x[i])
    return len(pair) + sum(pair)


@other
def takes_an_element(x):
    pair = None
    for i in range(len(x)):
        if x[i] > 0:
            pair = (i, x[i])
    pair[0]
    return 1.0


@program
def places_that_are_filled(x):
    first = [None] * 3
    for i in range(3):
        if x[i] > 0:
            first[i] = i
    last = {k: None for k in range(3)}
    for i in range(len(x)):
        if x[i] > 0.5:
            last[i % 3] = x[i]
    found = [-1 if p is None else p for p in first]
    return found[0], found[2], sum(1 for p in last.values() if p is None)


@program
def shortest_paths(x):
    lengths, previous, done = [9.0] * 9, [None] * 9, [False] * 9
    lengths[4] = 0.0
    for _ in range(9):
        u = min((i for i in range(9) if not done[i]), key=lambda i: lengths[i])
        done[u] = True
        for v in range(9):
            length = lengths[u] + abs(x[u] - x[v]) ** 2
            if length < lengths[v]:
                lengths[v] = length
                previous[v] = u
    path, u = [], 0
    while u is not None:
        path.append(u)
        u = previous[u]
    return len(path), sum(path), lengths[0], path[-1]


@program
def none_takes_the_place_of_a_number(x):
    slots = [1.0, None, x[0]]
    for i in range(6):
        k = int(abs(x[i]) * 3) % 3
        slots[k] = None if x[i] > 0 else x[i]
    return sum(v is None for v in slots), sum(v for v in slots if v is not None)


@pytest.mark.parametrize("func", PROGRAMS)
def test_like_the_loop(func, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(func, X)


@pytest.mark.parametrize("func", OTHERS)
def test_what_is_returned_and_raised(func):
    assert_like_the_loop(func, X, maps=False)


@pytest.mark.parametrize("func", [returns_it, returns_a_number_or_none])
def test_a_map_cannot_return_none(func):
    with pytest.raises(TypeError, match=r"None is used where a \w+ is needed(.|\n)*in example 5"):
        lw.vmap(func)(X)


def test_it_is_printed_as_what_it_is(capsys):
    def func(x):
        pair = None
        if x > 0:
            pair = (1, x)
        print(pair, f"{pair}")
        return x

    for run in (lambda xs: [func(x) for x in xs], lw.vmap(func)):
        run(np.array([1.5, -1.0]))
        out = capsys.readouterr().out
        assert out == "(1, np.float64(1.5)) (1, np.float64(1.5))\nNone None\n"


def test_derivatives():
    def func(x):
        best = None
        for i in range(len(x)):
            if x[i] > 0 and (best is None or x[i] > best[1]):
                best = (i, x[i])
        return x.sum() if best is None else best[1] ** 2

    got = lw.vmap(lw.grad(func))(X)
    for row, gradient in zip(X, got, strict=True):
        want = np.ones(9) if row.max() <= 0 else 2 * row * (row == row.max())
        np.testing.assert_allclose(gradient, want)


def test_traced_functions_call_each_other():
    inner = lw.function(returns_it)

    def outer(x):
        found = inner(x)
        return -1.0 if found is None else found[0] + found[1]

    got = lw.vmap(outer)(X)
    want = [-1.0 if (found := returns_it(x)) is None else found[0] + found[1] for x in X]
    np.testing.assert_array_equal(got, want)


def test_a_text_or_none():
    def func(x):
        name = None
        if x > 0:
            name = "positive"
        return 1.0 if name is None else 2.0

    np.testing.assert_array_equal(lw.vmap(func)(X[0]), [func(x) for x in X[0]])


def test_a_plain_truth_is_refused():
    def func(x):
        pair = None
        if x > 0:
            pair = (x, 1)
        return float(bool.__call__(pair))

    with pytest.raises(lw.errors.ConcretizationError, match="is None depends on the data"):
        lw.vmap(func)(X[0])


def test_a_list_that_may_be_another_is_not_written_to():
    def func(x):
        seen = None
        for v in x:
            if v > 0:
                if seen is None:
                    seen = [0, 0.0]
                seen[0] += 1
        return 0.0 if seen is None else seen[0]

    with pytest.raises(lw.errors.ControlFlowError, match="a list is changed"):
        lw.vmap(func)(X)
