"""Numbers that are Python's in some examples and NumPy's in others: where the two divide apart.

``0.0`` that data may have added to is Python's in an example that added nothing: divided by zero it
raises there, where NumPy's gives nan or inf.
"""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

ROWS = np.array([[1.0, -2.0, 0.0], [-1.0, -2.0, -3.0], [3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])


def mean_of_positive(x):
    s = 0.0
    c = 0
    for v in x:
        if v > 0:
            s += v
            c += 1
    return s / c


def by_index(x):
    s, c = 0.0, 0
    for i in range(len(x)):
        if x[i] > 0:
            s, c = s + x[i], c + 1
    return s / c


def is_handled(x):
    s, c = 0.0, 0
    for v in x:
        if v > 0:
            s, c = s + v, c + 1
    try:
        return s / c
    except ZeroDivisionError:
        return -1.0


def changes_in_a_loop(x):
    d, n, y = x[0], 0, 0.0
    while n < 3 and x[1] > 0:
        y = 1.0 / d
        d = 0.0
        n += 1
    return y


def chosen(x):
    d = 0.0 if x[0] > 0 else x[1]
    return 1.0 / d


def floor_division(x):
    d = 0.0
    if x[0] > 0:
        d = x[1]
    return 3 // d


def remainder(x):
    a = 1.0
    for v in x:
        if v > 0:
            a = v
    return a % 0.0


def divided_by_the_literal(x):
    a = 1
    if x[0] > 0:
        a = x[0]
    return a / 0


def of_an_array(x):
    m = 0
    for v in x:
        if v > m:
            m = v
    return x / m


def extremes(x):
    m = 0.0
    for v in x:
        m = max(m, v)
    return 1.0 / m


def all_of_numpy(x):
    t = 0.0
    for v in x:
        t += v
    return t / 0.0


def computed_with(x):
    s, c = 0.0, 0
    for v in x:
        if v > 0:
            s, c = s + v, c + 1
    s = -(s * 2.0) + 1
    return abs(s) / c


def in_a_nested_branch(x):
    s = 0.0
    if x[0] > 0:
        if x[1] > 0:
            s = x[0]
    else:
        s = 0.0
    return 1 / s


def in_a_list(x):
    sums = [0.0, 0.0]
    for v in x:
        if v > 0:
            sums[0] += v
    return sums[1] / sums[0]


def by_a_function(x):
    s = 0.0
    if x[0] > 0:
        s = x[1]
    return np.divide(1.0, s)


PROGRAMS = [
    mean_of_positive,
    by_index,
    is_handled,
    changes_in_a_loop,
    chosen,
    floor_division,
    remainder,
    divided_by_the_literal,
    of_an_array,
    extremes,
    all_of_numpy,
    computed_with,
    in_a_nested_branch,
    in_a_list,
    by_a_function,
]


def outcome(func, *args):
    """Return a result, or the exception's class and the first of what it says."""
    try:
        return np.asarray(func(*args)).tolist()
    except ZeroDivisionError as error:
        return "ZeroDivisionError", str(error).split("\n")[0].split(" (")[0]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_divides_as_the_loop(program, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    with np.errstate(all="ignore"):
        want = [outcome(program, row.copy()) for row in ROWS]
        mapped, traced = lw.vmap(program), lw.function(program)
        for row, expected in zip(ROWS, want, strict=True):
            single = outcome(lambda row=row: mapped(row[None])[0])
            assert repr(single) == repr(expected)
            assert repr(outcome(traced, row.copy())) == repr(expected)
        got, failures = lw.vmap(program, on_error="collect", fill_value=-7.0)(ROWS)
    assert [n for n, w in enumerate(want) if isinstance(w, tuple)] == sorted(failures)
    for n, expected in enumerate(want):
        if n not in failures:
            np.testing.assert_array_equal(got[n], expected)


def test_gradients_where_nothing_is_divided_by_zero():
    def loss(x):
        return mean_of_positive(x) * 2

    np.testing.assert_allclose(lw.grad(loss)(np.array([1.0, -1.0, 3.0])), [1.0, 0.0, 1.0])
    both = lw.vmap(lambda row: lw.vmap(mean_of_positive)(np.stack([row, row + 1])))(ROWS[2:3])
    np.testing.assert_allclose(both, [[2.0, 3.0]])


def test_what_is_not_divided_carries_no_flag():
    def total(x):
        s = 0.0
        for v in x:
            if v > 0:
                s += v
        return s

    seen = str(lw.explain(lw.vmap(total), ROWS))
    assert "bool" not in seen.replace("bool[", "", seen.count("greater"))


def filled(x):
    """Return a list of numbers that are Python's until they are written."""
    row = [0.0] * len(x)
    for i in range(len(x)):
        row[i] = x[i] * 2
    return row


def filled_in_part(x):
    row = [0.0] * len(x)
    for i in range(len(x)):
        if x[i] > 0:
            row[i] = x[i]
    return row


def chosen_each(x):
    return [v if v > 0 else 0.0 for v in x]


TAKES = {
    "sum": sum,
    "max": max,
    "min": min,
    "mean": lambda row: sum(row) / len(row),
    "sum from": lambda row: sum(row, 1.5),
    "np.sum": np.sum,
    "np.array": np.array,
    "sums of parts": lambda row: sum(sum(part) for part in (row, row[::2])),
    "sorted": lambda row: sorted(row)[1],
    "elements": lambda row: [v * 2 for v in row][3] + row[0] * row[1] - row[2] * row[3],
}


@pytest.mark.parametrize(
    ("make", "count"),
    [(filled, 4), (filled, 40), (filled_in_part, 20), (filled_in_part, 40), (chosen_each, 4),
     (chosen_each, 20)],
)  # fmt: skip
def test_any_number_of_them(make, count):
    def f(x):
        return {name: take(make(x)) for name, take in TAKES.items()}

    xs = np.random.default_rng(0).normal(size=(3, count))
    mapped = lw.vmap(f)(xs)
    for name, take in TAKES.items():
        got, want = mapped[name], np.stack([take(make(x)) for x in xs])
        np.testing.assert_allclose(got, want, rtol=1e-14, err_msg=name)
        assert got.dtype == want.dtype, name
