"""What data look up: entries of dicts, bytes, places in sorted lists."""

from __future__ import annotations

import bisect
from collections import OrderedDict, defaultdict
from enum import Enum

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError, UnsupportedError
from support.control_flow_oracle import assert_follows
from support.everywhere import assert_like_the_loop

N = np.array([3, 1, 7, 3, 0])
X = np.array([0.5, -1.0, 2.0, 9.0, 1.0])

FLAT = {3: 10, 1: 20.5, 7: 30, 0: 40}
LISTS = {0: [1, 2], 1: [3, 4], 3: [5, 6], 7: [7, 8]}
NAMES = {"a": 1, 3: 2.0, None: 3, 7: 4.0}


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "f8"])
def test_a_dict_by_numbers(dtype):
    assert_follows(lambda n: FLAT[n] * 2, N.astype(dtype))
    assert_follows(lambda n: OrderedDict(FLAT)[n], N.astype(dtype))


def test_a_dict_of_lists_and_of_data():
    assert_follows(lambda n: LISTS[n][1], N)
    assert_follows(lambda n, x: {0: x, 1: x + 1, 3: x * x, 7: -x}[n], N, X)


def test_keys_that_are_no_numbers_are_none_of_the_data():
    assert_follows(lambda n: NAMES.get(n, -1.0), N)
    with pytest.raises(UnsupportedError, match="no numbers among its keys"):
        lw.vmap(lambda n: {"a": 1}[n])(N)


def test_a_key_that_is_not_there_is_an_error_of_its_example():
    with pytest.raises(KeyError, match="example 2"):
        lw.vmap(lambda n: {0: 1, 1: 2, 3: 3}[n])(N)

    def unused(n):
        {0: 1, 1: 2, 3: 3}[n]
        return n

    with pytest.raises(KeyError, match="example 2"):
        lw.vmap(unused)(N)
    assert_follows(lambda n: {0: 1, 1: 2, 3: 3}[n] if n < 5 else -1, N)


def test_get_with_and_without_a_default():
    def or_none(n):
        value = FLAT.get(n - 1)
        return -1.0 if value is None else value * 2.0

    assert_follows(or_none, N)
    assert_follows(lambda n, x: {1: x}.get(n, 0.0), N, X)
    assert_follows(lambda n: n + FLAT.get(3, 0), N)


def test_a_dict_that_makes_what_is_missing():
    assert_follows(lambda n: defaultdict(int, {1: 2})[n], N)

    class Squares(dict):
        def __missing__(self, key):
            return key * key

    with pytest.raises(UnsupportedError, match="a Squares is looked up"):
        lw.vmap(lambda n: Squares({1: 2})[n])(N)


def test_a_number_among_bytes():
    assert_follows(lambda n: n in b"\x01\x03\x09", N)
    assert_follows(lambda n: n not in b"\x01\x03\x09", N.astype("u1"))
    with pytest.raises(UnsupportedError, match="no traced text"):
        lw.vmap(lambda n: chr(n) in "ab")(N)


@pytest.mark.parametrize("search", [bisect.bisect, bisect.bisect_left, bisect.bisect_right])
def test_bisect(search):
    assert_follows(lambda x: search([-1.0, 0.5, 2.0], x), X)
    assert_follows(lambda x: search([-1.0, 0.5, 0.7, 2.0], x, 1, 3), X)
    assert_follows(lambda x: search(np.array([1.0, 2.0]), x), X)
    assert_follows(lambda x: search([x - 1, x, x + 1], 1.0), X)
    with pytest.raises(UnsupportedError, match=r"np\.searchsorted"):
        lw.vmap(lambda x: search([1, 2], x, key=abs))(X)


def test_methods_of_entries_and_displays():
    def append(x):
        d = {"k": [1.0], "m": ([4.0],)}
        if x > 0:
            d["k"].append(2.0)
            d["k"].pop(0)
            d["m"][0].insert(0, 3.0)
            d["m"][0].pop()
        return d["k"][0], d["m"][0][0]

    assert_follows(append, X)
    assert_follows(lambda n: [3, 1, 7, 0].index(n), N)
    assert_follows(lambda n: (1, 3, 3).count(n), N)


def test_a_binding_in_the_second_operand_of_a_loops_test():
    def leading(row):
        total = i = 0
        while i < len(row) and (c := row[i]) > 0 and c < 9:
            total = 10 * total + c
            i += 1
        else:
            total += 0.5
        return total, i

    assert_follows(leading, np.array([[1, 2, 3], [0, 1, 2], [4, 9, 1], [5, 0, 1]]))


def test_recursion_by_a_global_name():
    assert_follows(halvings, X)


def halvings(x, depth=4):
    if depth == 0 or abs(x) < 1:
        return x
    return halvings(x / 2, depth - 1) + 1


def test_messages_say_what_results_hold():
    def solve(x):
        if x < 0:
            return None, 0
        return np.sqrt(x), 1

    assert [lw.function(solve)(x) for x in X] == [solve(x) for x in X]
    with pytest.raises(TypeError, match=r"None is used where a number is needed(.|\n)*example 1"):
        lw.vmap(solve)(X)

    def named(x):
        return ("none", 0) if x < 0 else (np.sqrt(x), 1)

    with pytest.raises(ControlFlowError, match="'none' in one branch and float64"):
        lw.vmap(named)(X)

    class Mode(Enum):
        OFF = 0
        ON = 1

    def switched(x):
        mode = Mode.OFF
        if x > 0:
            mode = Mode.ON
        return 1.0 if mode is Mode.ON else 0.0

    np.testing.assert_array_equal(lw.vmap(switched)(X), [switched(x) for x in X])


# --- dicts that are compared ----------------------------------------------------------------------

ROWS = np.random.default_rng(0).integers(0, 3, size=(6, 4)).astype(float)


def removed(x):
    bids = [{"bid": b, "id": i} for i, b in enumerate(x)]
    rest = list(bids)
    rest.remove(bids[1])
    return sum(b["bid"] for b in rest), rest[0]["id"], bids.index(rest[2])


def compared(x):
    a, b = {"u": x[0], "v": (x[1], 2)}, {"v": (x[1], 2), "u": x[2]}
    same = a == b, a != b, a == {"u": x[0]}, {"k": x[0]} == 3, a == dict(a)
    return same, a in [b, 1], [b, a].index(a), [b, a].count(a)


def asked(x):
    n, a = 0, {"u": x[0]}
    if a == {"u": 1.0}:
        n += 1
    if a not in ({"u": 0.0}, {"w": 0.0}):
        n += 2
    return n


def within_others(x):
    a, b = [{"u": x[0]}, 1], [{"u": x[1]}, 1]
    return a == b, (a, x[2]) == (b, x[3]), {"a": a} == {"a": b}


def with_an_order(x):
    a, b = OrderedDict(u=1, v=2), OrderedDict(v=2, u=1)
    return a == b, {"u": x[0], "v": 2} == defaultdict(int, v=2, u=x[1])


@pytest.mark.parametrize("func", [removed, compared, asked, within_others, with_an_order])
def test_dicts_are_compared(func, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(func, ROWS)


# --- lists and dicts that are chosen --------------------------------------------------------------


def removed_by_value(x):
    rest = [{"bid": b, "of": (b, [i])} for i, b in enumerate(x)]
    rest.remove(min(rest, key=lambda bid: bid["bid"]))
    return [(bid["bid"], bid["of"]) for bid in rest]


def taken_one_by_one(x):
    rest = [{"bid": b, "id": i} for i, b in enumerate(x)]
    n = 0
    while len(rest) > 1:
        low = min(rest, key=lambda bid: bid["bid"])
        rest.remove(low)
        n += low["id"] * len(rest)
    return n


def changed_and_read_itself(x):
    low = min([{"bid": b} for b in x], key=lambda bid: bid["bid"])
    low["bid"] += 9.0
    return low["bid"]


@pytest.mark.parametrize("func", [removed_by_value, taken_one_by_one, changed_and_read_itself])
def test_dicts_are_chosen(func, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(func, ROWS)


def items_of(kind, x):
    return [[b, [i]] if kind is list else {0: b, 1: [i]} for i, b in enumerate(x)]


def the_chosen_one_changes(x, kind):
    rest = items_of(kind, x)
    min(rest, key=lambda item: item[0])[0] = 9.0
    return rest[0][0]


def one_of_them_changes(x, kind):
    rest = items_of(kind, x)
    low = min(rest, key=lambda item: item[0])
    rest[0][0] = 9.0
    return low[0]


def another_choice_changes(x, kind):
    rest = items_of(kind, x)
    low, high = (of(rest, key=lambda item: item[0]) for of in (min, max))
    high[1][0] = 7
    return low[1][0]


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize(
    "func", [the_chosen_one_changes, one_of_them_changes, another_choice_changes]
)
def test_what_one_of_several_holds_is_unknown_once_another_changes(func, kind, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    with pytest.raises(ControlFlowError, match="was, or may have been, changed"):
        lw.vmap(lambda x: func(x, kind))(ROWS)


def test_dicts_with_other_keys_are_not_chosen(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    with pytest.raises(ConcretizationError, match="would be a dict or a dict"):
        lw.vmap(lambda x: min([{"u": x[0]}, {"v": 1}], key=lambda d: x[len(d)])["u"])(ROWS)
