"""State that branches and loops change: attributes, items, globals, lists."""

from __future__ import annotations

import dataclasses
import types

import numpy as np
import pytest

import lanewise as lw
from support.control_flow_oracle import assert_follows

N = np.array([0, 3, 1, 6, 2, 4])
X = np.array([0.5, -1.0, 2.0, -0.25, 0.0, 4.0])
ROWS = (np.arange(30.0).reshape(6, 5) * 7) % 11 - 4


# --- attributes and items -------------------------------------------------------------------------


class Account:
    fee = 0.5

    def __init__(self, balance):
        self.balance = balance
        self.rejected = 0
        self.history = np.zeros(4)

    def withdraw(self, amount):
        if amount > self.balance:
            self.rejected += 1
            return False
        self.balance -= amount + self.fee
        self.history[0] += amount
        return True

    @property
    def state(self):
        if self.rejected > 1:
            return -1.0
        return self.balance

    def __add__(self, other):
        return self.balance + (other if other > 0 else 0)


def attributes(x, n):
    account = Account(x + 2)
    for k in range(n):
        if not account.withdraw(k):
            account.balance += 1
    return account.balance, account.rejected, account.history, account.state, account + x


def attribute_made_in_branch(x, n):
    box = types.SimpleNamespace(v=x)
    if x > 0:
        box.w = x * 2
        box.v = -x
    else:
        box.w = 0.0
    return box.v, box.w


def attribute_of_a_class(x, n):
    class Settings:
        level = 1

    if x > 0:
        Settings.level = 3
    return Settings.level


def attribute_deleted(x, n):
    box = types.SimpleNamespace(a=x, b=1)
    if x > 0:
        box.b = 2
        del box.a
        box.a = x + 1
    return box.a, box.b


@dataclasses.dataclass
class Particle:
    position: float
    speed: float = 1.0


def dataclass_in_loop(x, n):
    p = Particle(x)
    turns = 0
    while p.position < 3 and turns < n:
        p.position += p.speed
        p.speed *= 1.5 if p.position > 0 else 1.0
        turns += 1
    return p, turns


def setattr_and_getattr(x, n):
    p = Particle(x)
    for name in ("position", "speed"):
        if getattr(p, name) > 0:
            setattr(p, name, n)
    return p.position, p.speed


def dictionaries(x, n):
    d = {"a": x, "n": 0}
    for k in range(n):
        if k % 2:
            d["a"] += k
        else:
            d["n"] = d["n"] + 1
    if "a" in d and d["a"] > 2:
        d.update(n=-1)
    return d


def dictionary_of_traced_keys(x, n):
    names = {0: 10.0, 1: 20.0, 2: 30.0}
    total = 0.0
    for key, value in names.items():
        if key == n:
            total += value
    return total


def lists(x, n):
    q = [x, n, 0]
    if x > 0:
        q[0] = -x
        q[2] += 5
    q[1], q[2] = q[2], q[1]
    return q


def lists_of_lists(x, n):
    board = [[0, 0], [0, x]]
    for i in range(2):
        for j in range(2):
            if i * 2 + j == n:
                board[i][j] += 1
    return board


def append_in_unrolled_loop(x, n):
    out = []
    for k in range(4):
        out.append(x * k if k < n else -1.0)
    return np.array(out)


def append_in_recorded_loop(x, n):
    out = []
    for k in range(30):
        x = x * 0.5 if x > k else x + 1
        out.append(x)
    return np.array(out)


def extend_and_pop(x, n):
    stack = [x]
    stack.extend([x + 1, x + 2])
    if n > 1:
        top = stack.pop()
        stack.append(top * 2)
    return np.array(stack)


def list_as_running_window(x, n):
    window = [0.0, 0.0, 0.0]
    for k in range(n):
        window = [*window[1:], x * k]
        if window[0] > 1:
            window[0] = 1.0
    return sum(window)


def tuples_as_state(x, n):
    state = (x, 0)
    while state[1] < n:
        a, k = state
        state = (a + k if a < 3 else a - 4, k + 1)
    return state


def table_lookup(x, n):
    return [10, 20, 30, 40, 50, 60, 70][n], (1.5, 2.5, 3.5)[n % 3]


STATES = [attributes, attribute_made_in_branch, attribute_of_a_class, attribute_deleted,
          dataclass_in_loop, setattr_and_getattr, dictionaries, dictionary_of_traced_keys, lists,
          lists_of_lists, append_in_unrolled_loop, append_in_recorded_loop, extend_and_pop,
          list_as_running_window, tuples_as_state, table_lookup]  # fmt: skip


@pytest.mark.parametrize("func", STATES)
def test_objects(func):
    def flat(x, n):
        result = func(x, n)
        if isinstance(result, tuple) and isinstance(result[0], Particle):
            return result[0].position, result[0].speed, result[1]
        return result

    assert_follows(flat, X, N)


def test_objects_of_outside_are_put_back_or_kept_but_never_hold_tensors():
    box = types.SimpleNamespace(v=1.0)

    def func(x):
        box.v = 1.0
        if x > 0:
            box.v += x
        return box.v

    assert_follows(func, X)
    box.v = 0.0


# --- globals and nonlocals ------------------------------------------------------------------------

TOTAL = 0
LIMIT = 2.0


def add_to_total(x):
    global TOTAL
    if x > 0:
        TOTAL += x
    return TOTAL


def with_global(x, n):
    global TOTAL
    TOTAL = 0
    for k in range(n):
        add_to_total(x - k)
    return TOTAL


def with_nonlocal(x, n):
    count = 0
    seen = x

    def visit(v):
        nonlocal count, seen
        count += 1
        if v > seen:
            seen = v

    for k in range(n):
        visit(k / 2)
        if count > 3:
            break
    return count, seen


def counter(x, n):
    def make():
        value = 0

        def increment(by):
            nonlocal value
            value += by if by > 0 else 1
            return value

        return increment

    first, second = make(), make()
    for _ in range(n):
        first(x)
    return first(1), second(x)


@pytest.mark.parametrize("func", [with_global, with_nonlocal, counter])
def test_variables_of_other_scopes(func):
    before = dict(globals())
    try:
        assert_follows(func, X, N)
        changed = {k for k, v in before.items() if globals()[k] is not v}
        assert changed <= {"TOTAL"}
    finally:
        globals().update(before)


def test_a_global_read_in_a_branch_is_read_anew():
    global LIMIT

    def func(x):
        return 1 if x > LIMIT else 0

    assert_follows(func, X)
    LIMIT = 0.0
    assert_follows(func, X)
    LIMIT = 2.0


# --- what is done outside -------------------------------------------------------------------------


def test_writing_to_an_array_of_outside_is_refused():
    outside = np.zeros(5)

    def func(x):
        if x > 0:
            outside[0] = 1.0
        return x

    with pytest.raises(TypeError, match=r"copy(?s:.)*|test_constructs_state.py:"):
        lw.vmap(func)(X)
    np.testing.assert_array_equal(outside, 0)


def test_appending_to_a_list_where_data_decide_is_refused_by_name():
    def func(x):
        found = []
        if x > 0:
            found.append(x)
        return len(str(found))

    with pytest.raises(TypeError, match=r"(?s)(list|found|structure).*test_constructs_state.py:"):
        lw.vmap(func)(X)

    def loop(n):
        found = []
        while n > 0:
            found.append(n)
            n -= 1
        return len(str(found))

    with pytest.raises(TypeError, match=r"(?s)(list|found|structure).*test_constructs_state.py:"):
        lw.vmap(loop)(N)


def test_callbacks_in_branches_see_the_right_examples_in_order():
    seen = []

    def note(kind):
        def call(v, n):
            seen.append((kind, float(v), int(n)))
            return v * 2

        return call

    def func(x, n):
        if x > 0:
            x = lw.py_func(note("a"), [x, n], lw.TensorSpec((), float))
        elif n > 2:
            x = lw.py_func(note("b"), [x, n], lw.TensorSpec((), float))
        for k in range(n % 3):
            x = lw.py_func(note("c"), [x, k], lw.TensorSpec((), float))
        return x

    got = lw.vmap(func)(X, N)
    mapped, seen = seen, []
    want = [func(x, n) for x, n in zip(X, N, strict=True)]
    np.testing.assert_array_equal(got, want)
    assert mapped == seen


SHARED = np.ones(3)


def test_lists_extended_by_an_operator_in_a_branch():
    def func(x, n):
        items = [x]
        if x > 0:
            items += [x * 2]
        else:
            items += [n]
        box = {"k": [x]}
        if n > 1:
            box["k"] += [1.0]
        else:
            box["k"] += [x]
        return items, box["k"]

    assert_follows(func, X, N)


def test_an_array_of_somebody_elses_is_not_changed_in_a_branch():
    def func(x):
        shared = SHARED
        if x > 0:
            shared += 1
        return x + shared[0]

    with pytest.raises(lw.UnsupportedError, match=r"a \+= v.*shared \+= 1.*a\.copy\(\)"):
        lw.vmap(func)(X)
    assert SHARED.tolist() == [1, 1, 1]

    def copies(x):
        shared = SHARED.copy()
        if x > 0:
            shared += 1
        return x + shared[0]

    assert_follows(copies, X)
