"""Numbers that are integers in some examples and floats in others: where the two part ways.

``max(n, 1.5)`` is an index where n is the greater; elsewhere plain Python raises, for that example.
"""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.backends import backend

A = np.arange(8.0)
PLACES = np.array([3, 0, 7, -2])


def as_an_index(a, n):
    return a[max(n, 1.5)]


def of_a_conditional_expression(a, n):
    k = n if n > 1 else 1.5
    return a[k]


def of_a_branch(a, n):
    k = 1.5
    if n > 1:
        k = int(n)
    return a[k]


def of_a_loop(a, n):
    k = 1.5
    for _ in range(3):
        if n > 1:
            k = n
    return a[k]


def halved_in_a_loop(a, n):
    k = int(n)
    while k > 2:
        k = k / 2 if k % 2 == 1 else k // 2
    return a[k]


def in_range(a, n):
    s = 0
    for i in range(max(n, 1.5)):
        s += i
    return s


def in_range_with_a_step(a, n):
    return sum(i for i in range(0, max(int(n), 1.5), 2))


def end_of_a_slice(a, n):
    return a[: max(int(n), 1.5)].sum()


def both_ends_of_a_slice(a, n):
    k = max(int(n), 1.5)
    return a[k : k + 2].sum()


def computed_with(a, n):
    k = max(int(n), 1.5)
    return a[abs(-k) * 2 // 2 + 1 - 1]


def of_a_list(a, n):
    return [1, 2, 3, 4, 5, 6, 7, 8][max(int(n), 1.5)]


def of_bits(a, n):
    k = max(int(n), 1.5)
    return (k & 1) + (k << 2)


def is_handled(a, n):
    k = max(int(n), 1.5)
    try:
        return a[k]
    except IndexError:
        return -1.0


def range_is_handled(a, n):
    s = 0
    try:
        for i in range(max(int(n), 1.5)):
            s += i
    except TypeError:
        s = -5
    return s


def written_to(a, n):
    a[max(int(n), 1.5)] = 9.0
    return a.sum()


def of_two_axes(a, n):
    return a.reshape(2, 4)[0, min(max(n, 1.5), 3)]


def in_a_helper(a, n):
    def pick(k):
        return a[k]

    return pick(max(n, 1.5)) + pick(0)


def is_asked_for(a, n):
    k = max(int(n), 1.5)
    if not isinstance(k, int):
        k = int(k)
    return a[k]


def is_asked_for_by_numpys_class(a, n):
    k = max(n, 1.5)
    return 1 if isinstance(k, np.integer) else 2 if isinstance(k, float) else 3


def python_or_numpy(a, n):
    m = 0.0
    for i in range(8):
        if i < n:
            m = max(m, a[i])
    return 1 if isinstance(m, np.floating) else 2


def printed(a, n):
    k = max(n, 1.5)
    print(k, f"{k}", [k])
    return k


def printed_of_python(a, n):
    k = max(int(n), 1.5)
    print(k, f"{k!r} {k:4}", [k], (k + 1,))
    return k


PROGRAMS = [
    as_an_index, of_a_conditional_expression, of_a_branch, of_a_loop, halved_in_a_loop, in_range,
    in_range_with_a_step, end_of_a_slice, both_ends_of_a_slice, computed_with, of_a_list, of_bits,
    is_handled, range_is_handled, written_to, of_two_axes, in_a_helper, is_asked_for,
    is_asked_for_by_numpys_class, python_or_numpy, printed, printed_of_python,
]  # fmt: skip


def outcome(func, *args):
    """Return a result, or the exception's class and the first of what it says."""
    try:
        return np.asarray(func(*args)).tolist()
    except (IndexError, TypeError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_is_as_in_the_loop(program, backend, monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    want = [outcome(program, A.copy(), n) for n in PLACES]
    text = capsys.readouterr().out
    mapped, traced = lw.vmap(program, in_dims=(None, 0)), lw.function(program)
    nested = lw.vmap(lw.vmap(program, in_dims=(None, 0)), in_dims=(None, 0))
    calls = [lambda n: mapped(A, np.array([n]))[0], lambda n: traced(A.copy(), n)]
    if backend == "interpret":
        calls.append(lambda n: nested(A, np.array([[n]]))[0, 0])
    for call in calls:
        got = [outcome(call, n) for n in PLACES]
        assert got == want
        assert capsys.readouterr().out == text
    collecting = lw.vmap(program, in_dims=(None, 0), on_error="collect", fill_value=-7)
    got, failures = collecting(A, PLACES)
    assert capsys.readouterr().out == text
    assert [i for i, w in enumerate(want) if isinstance(w, tuple)] == sorted(failures)
    for i, expected in enumerate(want):
        if i not in failures:
            np.testing.assert_array_equal(got[i], expected)


def test_a_shape_is_refused_as_for_an_integer():
    with pytest.raises(lw.ConcretizationError, match="as a length"):
        lw.vmap(lambda n: np.zeros(max(n, 1.5)).sum())(PLACES)
    with pytest.raises(lw.ConcretizationError, match="isinstance"):
        lw.vmap(lambda n: type(max(n, 1.5))(2))(PLACES)


def test_what_is_no_index_carries_no_flag():
    seen = str(lw.explain(lw.vmap(lambda n: max(n, 1.5) * 2), PLACES))
    assert "logical_and" not in seen


# --- signed and unsigned --------------------------------------------------------------------------

PARENTS = np.array([0, 0, 1, 2], np.uint64)


def root(label, parents):
    j = int(label)
    while parents[j] != 0:
        j = parents[j]
    return j


def chosen_of_both(x, u):
    h = int(x)
    for i in range(3):
        if x > i:
            h = u
    table = np.arange(8.0)
    return table[h % 5], h, h // 3, h == u, h & 0xFF, h ^ 5, float(h), int(h) % 1000, max(h, 3)


def arrays_of_both(x, u):
    h = np.zeros(3, np.int64) + x
    if x > 0:
        h = np.zeros(3, np.uint64) + u
    return h, h.sum(), h + 1, h * 2.0, np.concatenate([h, h]), h[::-1], np.array([h[0], 1.5])


def test_unsigned_integers_are_indices_where_data_make_them_signed():
    labels = np.array([2, 3, 0], np.int32)
    for name in ("interpret", "native"):
        with backend(name):
            for label in labels:
                got = lw.function(root)(label, PARENTS)
                assert got == root(label, PARENTS) and type(got) is type(root(label, PARENTS))
            got = lw.vmap(root, in_dims=(0, None))(labels, PARENTS)
            np.testing.assert_array_equal(got, [root(x, PARENTS) for x in labels])


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("func", [chosen_of_both, arrays_of_both])
@pytest.mark.parametrize("most", [7, 2**54 + 1, 2**63 - 1, 2**63 + 12345])
def test_signed_or_unsigned_integers_keep_their_values(func, most, monkeypatch):
    """Those that int64 does not hold have the function run as it stands."""
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    xs, us = np.array([-3, 0, 4, 2]), np.array([7, most, most, most], np.uint64)
    wants = [func(x, u) for x, u in zip(xs, us, strict=True)]
    for want, x, u in zip(wants, xs, us, strict=True):
        for one, other in zip(want, lw.function(func)(x, u), strict=True):
            assert type(one) is type(other)
            np.testing.assert_array_equal(one, other, strict=True)
    for one, other in zip(zip(*wants, strict=True), lw.vmap(func)(xs, us), strict=True):
        np.testing.assert_array_equal(np.stack(one), other, strict=True)
