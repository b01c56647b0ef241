"""State that branches and loops change: attributes, items, globals, lists, arrays and views."""

from __future__ import annotations

import dataclasses
import types

import numpy as np
import pytest

import lanewise as lw
from control_flow_oracle import assert_follows

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


# --- arrays in place ------------------------------------------------------------------------------


def write_in_branch(a, n):
    if n > 1:
        a[0] = 100.0
        a[1:3] += n
    else:
        a[-1] *= 2
    return a


def write_at_data(a, n):
    if n < 5:
        a[n] = -1.0
        a[n % 3] += 1
    return a


def write_in_loop(a, n):
    for i in range(n):
        if i >= len(a):
            break
        a[i] = a[i - 1] + i
    return a


def swaps(a, n):
    i, j = 0, len(a) - 1
    while i < j and i < n:
        a[i], a[j] = a[j], a[i]
        i += 1
        j -= 1
    return a


def scratch_array(a, n):
    out = np.zeros(5)
    count = 0
    for v in a:
        if v > 0:
            out[count] = v
            count += 1
    return out, count


def scratch_table(a, n):
    table = np.zeros((3, 4), dtype=int)
    for i in range(3):
        for j in range(4):
            if a[i] > j:
                table[i, j] = i + j + n
            elif i and j:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table


def scratch_like(a, n):
    b = np.empty_like(a)
    c = np.full(len(a), n)
    for i in range(len(a)):
        b[i] = a[i] if a[i] > 0 else c[i]
        if b[i] == n:
            c[i] = -1
    return b, c


def views(a, n):
    tail, back = a[2:], a[::-1]
    if n > 2:
        tail[0] = 50.0
        back[0] += n
    for i in range(n):
        if i < 3:
            tail[i] -= 1
    return a, tail.sum(), back


def view_of_a_row(a, n):
    m = np.zeros((2, 5))
    row = m[1]
    for i in range(5):
        if a[i] > n:
            row[i] = a[i]
    m[0] = row * 2
    return m


def view_made_in_branch(a, n):
    if n > 1:
        part = a[1:4]
        part *= 2
        part[0] = n
    return a


def augmented_array(a, n):
    b = a
    if n % 2:
        b += 1
    b *= 2
    return a, b


def masked_writes(a, n):
    if n > 1:
        a[a < 0] = n
        a[a > 5] -= 1
    return a


def slices_of_data(a, n):
    k = min(n, 5)
    total = a[:k].sum() + a[k:].sum() * 2
    if k > 0:
        total += a[:k].max()
    a[:k] = 0
    return total, a


def argument_of_a_helper(a, n):
    def clear(v, i):
        if v[i] > 0:
            v[i] = 0.0

    for i in range(3):
        clear(a, i)
    clear(a[3:], n % 2)
    return a


def rebound_in_branch(a, n):
    if n > 2:  # noqa: SIM108
        a = a + 1
    else:
        a = a.copy()
    a[0] = n
    return a


def rebound_or_written(a, n):
    if n > 1:
        a = a + 1
    else:
        a[0] = 7
    if n > 2:
        a[1] = 3
    return a


def rebound_or_written_deeper(a, n):
    if n > 2:
        if n > 3:
            a *= 0.5
            return a[0]
        else:
            a = a.copy()
    else:
        a *= 2.0
    return a[1]


def rebound_or_written_in_a_loop(a, n):
    for i in range(3):
        if n > i:
            a = a + 1
        else:
            a[:] = a[::-1]
            return a[0]
    return a[1]


def view_or_written(a, n):
    if a[0] > n:
        return a[::-1]
    a[0] = 99.0
    return a


def rebound_then_written_with_return(a, n):
    if n > 1:
        a = a.copy()
    else:
        a *= 2.0
        return n * 1.0
    return a[0]


def written_then_rebound(a, n):
    if n > 2:
        a[:] = a[::-1]
        if n > 3:
            return a
    if n > 1:
        if a[0] > 0:
            a = np.abs(a) + 1
        else:
            a += 2.0
    return a


def rebound_within_a_branch(a, n):
    if n > 1:
        if n > 2:
            a = a[::-1] * 1.0
        a[0] = 5.0
    elif n > 0:
        a[1] += 1
    return a[0]


def rebound_in_some_turns(a, n):
    while n > 0:
        if n % 2:
            a = a + 1
        a[0] = n
        n -= 1
    return a


def power_steps(a, n):
    v, turns = np.ones(5), 0
    while turns < n:
        w = a * v
        norm = np.abs(w).max()
        if norm == 0:
            return v, turns
        w /= norm
        v = w
        turns += 1
    return v, turns


def out_and_methods(a, n):
    if n > 1:
        np.multiply(a, 2, out=a)
        a.sort()
    else:
        a.fill(n)
    return a


def sorted_in_branch(a, n):
    b = np.sort(a) if n > 2 else a[::-1]
    return b[0], b


def matrix_rows_swapped(a, n):
    m = np.outer(a, a)[:3, :3]
    if n > 2:
        m[[0, 2]] = m[[2, 0]]
    for i in range(3):
        if m[i, i] < 0:
            m[i] *= -1
            m[:, i] += 1
    return m


ARRAYS = [write_in_branch, write_at_data, write_in_loop, swaps, scratch_array, scratch_table,
          scratch_like, views, view_of_a_row, view_made_in_branch, augmented_array, masked_writes,
          slices_of_data, argument_of_a_helper, rebound_in_branch, out_and_methods,
          sorted_in_branch, matrix_rows_swapped, rebound_or_written, rebound_or_written_deeper,
          rebound_or_written_in_a_loop, view_or_written, rebound_then_written_with_return,
          written_then_rebound, rebound_within_a_branch, rebound_in_some_turns,
          power_steps]  # fmt: skip


@pytest.mark.parametrize("func", ARRAYS)
def test_arrays_in_place(func):
    assert_follows(func, ROWS, N)
    assert_follows(func, ROWS, N[3], in_dims=(0, None))
    assert_follows(func, ROWS[1], N, in_dims=(None, 0))


@pytest.mark.parametrize("func", [write_in_branch, write_in_loop, views, scratch_array])
def test_arrays_in_place_in_nested_maps(func):
    expected = [[func(row.copy(), n) for n in N] for row in ROWS]
    got = lw.vmap(lw.vmap(func, (None, 0)), (0, None))(ROWS, N)
    for k, leaf in enumerate(got if isinstance(got, tuple) else (got,)):
        want = [[e[k] if isinstance(e, tuple) else e for e in row] for row in expected]
        np.testing.assert_array_equal(leaf, want)


def alias_or_copy(a, n):
    b = a if n > 2 else a.copy()
    b[0] = 77.0
    return a, b


def test_an_alias_that_depends_on_the_data_is_followed_or_refused():
    try:
        got = lw.vmap(alias_or_copy)(ROWS, N)
    except lw.UnsupportedError as error:
        assert "copy" in str(error) and "test_constructs_state.py:" in str(error)
    else:
        want = [alias_or_copy(row.copy(), n) for row, n in zip(ROWS, N, strict=True)]
        for k in (0, 1):
            np.testing.assert_array_equal(got[k], [w[k] for w in want])


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
        return len(found)

    with pytest.raises(TypeError, match=r"(?s)(list|found|structure).*test_constructs_state.py:"):
        lw.vmap(func)(X)

    def loop(n):
        found = []
        while n > 0:
            found.append(n)
            n -= 1
        return len(found)

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
