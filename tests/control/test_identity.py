"""`is` and `id()`: of objects that the data choose they are refused, as nobody knows."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError

X = np.array([[1.0, 2.0], [3.0, -1.0], [-1.0, 0.0]])


def of_list(x):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    low = rows[0] if x[0] > 0 else rows[1]
    return low is rows[0]


def of_branch(x):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    low = rows[1]
    if x[0] > 0:
        low = rows[0]
    return 1.0 if low is not rows[0] else 2.0


def of_array(x):
    a, b = x * 2, x * 3
    low = a if x[0] > 0 else b
    return low is a


def of_loop(x):
    a, b = x * 2, x * 3
    low = b
    for row in (a, b):
        if row.sum() < low.sum():
            low = row
    return low is a


def of_while(x):
    i, best, other = 0, x + 0, x + 0
    while i < x[0]:
        other = best if i % 2 else x + 1
        i += 1
    return other is best


def of_minimum(x):
    rows = [[x[0], 2.0], [x[1], 4.0]]
    return min(rows) is rows[0]


def of_minimum_by_key(x):
    rows = [[x[0], 2.0], [x[1], 4.0]]
    return min(rows, key=lambda r: r[0]) is rows[1]


def of_sorted(x):
    rows = [[x[0], 1.0], [x[1], 2.0]]
    return sorted(rows)[0] is rows[0]


def of_index(x):
    rows = [[x[0], 1.0], [x[1], 2.0]]
    i = int(np.argmin([r[0] for r in rows]))
    return sum([1 for r in rows if r is rows[i]])


def of_array_by_index(x):
    rows = [x * 2, x * 3]
    return rows[int(x[0] > 0)] is rows[1]


def of_dict(x):
    a, b = {"v": x[0]}, {"v": x[1]}
    low = a if x[0] < x[1] else b
    return low is b


def of_tuple(x):
    a, b = (x[0], 1), (x[1], 1)
    low = a if x[0] < x[1] else b
    return low is b


def of_float(x):
    a, b = float(x[0]), float(x[1])
    low = a if a < b else b
    return low is a


def of_small_integer(x):
    zero = 0
    k = zero if x[0] > 0 else 1
    return k is zero


def by_id(x):
    rows = [[x[0], 1.0], [x[1], 2.0]]
    return id(min(rows)) == id(rows[0])


def by_id_of_array(x):
    a, b = x * 2, x * 3
    return id(a if x[0] > 0 else b) == id(a)


def of_pairs_in_loops(x):
    rows, total = [x * k for k in range(30)], 0.0
    for a in rows:
        for b in rows:
            if a is not b:
                total += a[0] * b[1]
    return total


CHOSEN = [
    of_pairs_in_loops,
    of_list, of_branch, of_array, of_loop, of_while, of_minimum, of_minimum_by_key, of_sorted,
    of_index, of_array_by_index, of_dict, of_tuple, of_float, of_small_integer, by_id,
    by_id_of_array,
]  # fmt: skip


@pytest.mark.parametrize("f", CHOSEN)
def test_nobody_knows_which_object_the_data_choose(f):
    with pytest.raises(ConcretizationError, match=r"which object it is|one object"):
        lw.vmap(f)(X)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("f", CHOSEN)
def test_the_plain_loop_runs_then(f, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    np.testing.assert_array_equal(lw.vmap(f)(X), [f(x) for x in X])


def another_name(x):
    a = x * 2
    b = a
    b += 1
    return a is b


def different(x):
    a, b = x * 2, x * 3
    return a is b or a is x or [a] == [a] or id(a) == id(b)


def by_out(x):
    a = x * 2
    return np.add(a, 1, out=a) is a


def as_it_is(x):
    a = x * 2
    return np.asarray(a) is a and a.astype(float, copy=False) is a


def none(x):
    found = None
    if x[0] > 0:
        found = x * 2
    return found is None


def none_or_another(x):
    a = x * 2
    found = a if x[0] > 0 else None
    return found is not None and a is not None


def truth(x):
    return (x[0] > 0) is True, bool(x[0] > 0) is True, bool(x[0] > 0) is not False


def other_rows(x):
    rows = [[x[0], 1.0], [x[1], 2.0]]
    return sum([r[0] for r in rows if r is not rows[1]])


KNOWN = [another_name, different, by_out, as_it_is, none, none_or_another, truth, other_rows]


@pytest.mark.parametrize("f", KNOWN)
def test_what_is_known_is_told(f):
    found = np.stack(np.broadcast_arrays(*np.atleast_1d(lw.vmap(f)(X))), -1)
    wanted = np.stack([np.atleast_1d(f(x)) for x in X])
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)


KEPT = np.array([1.0, 2.0])


def same(a, b):
    return a[0] + b[0] if a is b else a[0] - b[0]


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (same, (KEPT, KEPT)),
        (same, ([KEPT],) * 2),
        (lambda d: d["a"] is d["b"], ({"a": KEPT, "b": KEPT},)),
        (lambda d: d["a"] is d["b"], ({"a": [KEPT], "b": [KEPT]},)),
        (lambda a: a is KEPT, (KEPT,)),
        (lambda a, b: id(a) == id(b), ([KEPT], [KEPT])),
    ],
)
def test_arguments_may_be_one_object(f, args, monkeypatch):
    with pytest.raises(ConcretizationError, match=r"which object it is|one object"):
        lw.function(f)(*args)
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    for _ in range(3):
        np.testing.assert_array_equal(lw.function(f)(*args), f(*args))
