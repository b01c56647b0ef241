"""Arrays that have one size on a side of a branch, or before an iteration, and another after."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, UnsupportedError
from support.everywhere import assert_like_the_loop

RNG = np.random.default_rng(0)
A = RNG.normal(size=(5, 8))
N = np.array([0, 8, 3, 5, 1])

# --- sizes that are known ------------------------------------------------------------------------


def of_an_expression(x, n):
    y = x[:2] if n > 2 else x
    return y.sum(), len(y)


def of_an_empty_array(x, n):
    y = np.zeros(0)
    if n > 2:
        y = x[n % 3 :][:4]
    return y.sum(), y.max(initial=-9), y.size


def of_three_statements(x, n):
    if x[0] > 0:
        y = x[:2]
    elif x[1] > 0:
        y = np.zeros(3)
    else:
        y = x * 2
    y = y + 1
    return y.sum(), y.max(), y.size, (y + y[:1]).sum()


def of_two_axes(x, n):
    m = x.reshape(2, 4)
    y = m[:, :2] if x[0] > 0 else m[:1]
    return y.sum(), y.shape[0], y.shape[1], y.sum(axis=1).max()


def of_two_dtypes(x, n):
    y = np.arange(3) if x[0] > 0 else x
    return (y * 1.0).sum(), y.size


def of_containers(x, n):
    state = {"rows": [x, x[:3]], "count": 0}
    if n > 2:
        state["rows"][0] = x[1:]
        state["count"] = 1
    for _ in range(n):
        state["rows"][1] = state["rows"][0][:2]
    return state["rows"][0].sum(), state["rows"][1].sum(), len(state["rows"][1])


def of_a_match(x, n):
    match n % 3:
        case 0:
            y = x
        case 1:
            y = x[1:]
        case _:
            y = x[:1]
    return y.sum(), len(y)


def dropped_at_the_front(x, n):
    while x.size > 0 and x[0] < 0.5:
        x = x[1:]
    return x.sum(), len(x)


def halved(x, n):
    while len(x) > 1 and x.sum() < 3:
        x = x[::2] + x[1::2] if len(x) % 2 == 0 else x[1:]
    return x.sum(), len(x)


def transformed(x, n):
    out = 0.0
    while len(x) > 1:
        out += np.abs(x[::2] - x[1::2]).max()
        x = (x[::2] + x[1::2]) / 2
        if out > 3:
            break
    return x.sum(), out


def exchanged(x, n):
    a, b, c = x[:3], x[:5], x
    while n > 0:
        a, b, c = b, c, a
        n -= 1
    return a.sum(), len(a), b.sum() - c.sum()


def left_early(x, n):
    for _ in range(20):
        if len(x) == n:
            break
        x = x[1:]
    return x.sum(), len(x)


KNOWN = [of_an_expression, of_an_empty_array, of_three_statements, of_two_axes, of_two_dtypes,
         of_containers, of_a_match, dropped_at_the_front, halved, transformed, exchanged,
         left_early]  # fmt: skip


@pytest.mark.parametrize("func", KNOWN)
def test_sizes_that_are_known(func):
    assert_like_the_loop(func, A, N)


def test_functions_return_either():
    def func(x, n):
        if n > 2:
            return x[:3]
        return x if n else np.zeros(0)

    assert_like_the_loop(func, A, N, maps=False)


@pytest.mark.parametrize("func", [of_an_expression, of_three_statements, halved, transformed])
def test_derivatives(func):
    def value(x):
        return func(x, 3)[0]

    for x in A[:3]:
        moved = lw.grad(value)(x.copy())
        step = 1e-6
        differences = [
            (value(x + step * e) - value(x - step * e)) / (2 * step) for e in np.eye(len(x))
        ]
        np.testing.assert_allclose(moved, differences, rtol=1e-5, atol=1e-7)


# --- sizes of which no bound is known ------------------------------------------------------------


def made_in_branches(x, n):
    y = np.zeros(n + 1) if n > 2 else np.ones(2 * n)
    y[:1] += x[0]
    return y.sum(), len(y), (y * np.arange(len(y))).max(initial=0)


def made_in_iterations(x, n):
    y = np.arange(0)
    while x[n % 8] > -0.5 and n < 20:
        y = np.arange(n) * 3
        n += 3
    return y.sum(), len(y), np.sort(y)[::-1][:2].sum()


def repeated(x, n):
    y = x
    if n > 2:
        y = np.repeat(x, n)
    return y.sum(), y.size, y[y > 0].sum()


def appended(x, n):
    out, v = np.array([]), x[0]
    while v < 3 and len(out) < 10:
        out = np.append(out, v)
        v = v + abs(x[1]) + 0.2
    return out.sum(), len(out), out.max(initial=0)


def concatenated(x, n):
    out, v = np.array([x[0]]), x[0]
    while v < 3:
        v = v + abs(x[1]) + 0.2
        out = np.concatenate([out, [v]])
    return np.sort(out)[::-1][:2].sum(), out[-1], out[len(out) // 2], out[1:3].sum()


def grown_and_cut(x, n):
    queue, total = x[:1] + 4, 0.0
    while len(queue) > 0 and total < 50:
        first, queue = queue[0], queue[1:]
        total += abs(first)
        if first > 1:
            queue = np.concatenate([queue, [first / 2, first / 3]])
    return total, len(queue)


def doubled(x, n):
    while np.abs(x).sum() < 100:
        x = np.concatenate([x, x])
    return x.sum(), len(x)


def rows_stacked(x, n):
    rows = x.reshape(2, 4)[:1]
    while len(rows) < n:
        rows = np.vstack([rows, rows[-1] * 0.5 + 1])
    return rows.sum(axis=0), len(rows), rows[:, 0].max()


def outer_products(x, n):
    m = np.eye(2)
    while m.size < 40 * n:
        m = np.kron(m, x[:2][:, None])
        m = np.concatenate([m, m], axis=1)
    return m.sum(), m.shape[0], m.shape[1]


def written_as_it_grows(x, n):
    out = np.zeros(1)
    while len(out) < n:
        out[len(out) // 2] += 1.5
        out = np.append(out, out[-1] + x[0])
        out[0] = len(out)
    out *= 2
    return out.sum(), out[-1]


def nested(x, n):
    total = 0.0
    for i in range(n):
        part = np.zeros(0, int)
        while len(part) < i % 4:
            part = np.append(part, i)
        total += part.sum()
    return total


def of_a_call(x, n):
    def primes(limit):
        found = np.zeros(0, int)
        k = 2
        while len(found) < limit:
            if not (k % found[: len(found)] == 0).any():
                found = np.append(found, k)
            k += 1
        return found

    return primes(n).sum(), primes(n + 1)[-1]


def not_always_there(x, n):
    for i in range(n):
        if x[i % 8] > 0.5:
            out = np.full(n, x[i % 8])
    return out.sum()


UNKNOWN = [made_in_branches, made_in_iterations, repeated, appended, concatenated, grown_and_cut,
           doubled, rows_stacked, outer_products, written_as_it_grows, nested, of_a_call,
           not_always_there]  # fmt: skip


@pytest.mark.parametrize("func", UNKNOWN)
def test_sizes_of_which_no_bound_is_known(func):
    assert_like_the_loop(func, A, N)


def test_functions_return_what_has_grown():
    def func(x, n):
        out = np.array([x[0]])
        while out[-1] < n:
            out = np.append(out, out[-1] + 1)
        return out, out[::2]

    assert_like_the_loop(func, A, N, maps=False)


def test_derivatives_of_what_has_no_bound_are_refused():
    def value(x):
        y = np.zeros(0)
        while y.sum() < 3:
            y = np.append(y, x[0] * x[0])
        return y.sum()

    with pytest.raises(UnsupportedError, match="how long it may be is not known"):
        lw.grad(value)(A[0])


def test_dtypes_that_data_choose_need_a_bound():
    def func(n):
        y = np.zeros(n) if n > 2 else np.arange(n)
        return y.sum() * 1.0

    with pytest.raises(ControlFlowError, match=r"float64\[.*int64\[.*dtype"):
        lw.vmap(func)(N)


# --- writes --------------------------------------------------------------------------------------


def written_in_a_branch(x, n):
    y = x
    if n > 2:
        x[0] = 500.0
        y = x[:n]
    return y.sum() + 0 * x.sum()


def written_through_a_part(x, n):
    y = x[:n]
    if n > 2:
        y[0] = 500.0
        y = y[: n - 1]
    return y.sum(), x.sum()


def written_in_a_loop(x, n):
    y = x * 1
    while n > 2:
        y[0] = 500.0 + n
        n -= 1
        y = y[:n]
    return y.sum(), x.sum()


def mandelbrot(x, n):
    rows, columns = np.mgrid[0:4, 0:5]
    c = np.linspace(-2.0, x[0], 4)[rows] + np.linspace(-1.5, 1.5, 5)[columns] * 1j
    count, last = np.zeros(c.shape, int), np.zeros(c.shape, complex)
    rows, columns, c = rows.reshape(-1), columns.reshape(-1), c.reshape(-1)
    z = np.zeros(c.shape, complex)
    for i in range(20):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        is_out = abs(z) > 2.0
        count[rows[is_out], columns[is_out]] = i + 1
        last[rows[is_out], columns[is_out]] = z[is_out]
        np.logical_not(is_out, is_out)
        z = z[is_out]
        rows, columns = rows[is_out], columns[is_out]
        c = c[is_out]
    return last.T, count.T


@pytest.mark.parametrize(
    "func", [written_in_a_branch, written_through_a_part, written_in_a_loop, mandelbrot]
)
def test_writes_before_a_part_is_handed_on(func):
    assert_like_the_loop(func, A, N)


def as_many_as_there_are(x, n):
    mask = x > x[0] - 1e-9
    x[mask] = x[x < x[0] + 1e-9][: np.count_nonzero(mask)].sum()
    y = np.zeros(len(x))
    y[np.arange(9)[1:n]] = np.sort(x)[np.arange(8) < n - 1]
    return (x[x > 100.0 - n * 1000] + np.arange(8)).sum(), y


def test_parts_of_masks_beside_arrays_of_another_length():
    assert_like_the_loop(as_many_as_there_are, A, N)


# --- what may be a view of an array that is written to -------------------------------------------


def written_before_it_is_read(x, n):
    y = x
    while n > 2:
        n -= 1
        y = x[:n]
    x[0] = 100
    return y.sum()


def read_after_it_was_written(x, n):
    y = x
    while n > 2:
        n -= 1
        y = x[:n]
    y[:1] = 100
    return x.sum()


def written_under_the_name_of_another(x, n):
    y, z = x[:n], x[1:]
    while n > 2:
        n -= 1
        y, z = z, y[1:]
    y[:1] = 100
    return z.sum()


def of_branches(x, n):
    y = x if n > 2 else x[:3]
    x[0] = 100
    return y.sum()


@pytest.mark.parametrize(
    "func",
    [written_before_it_is_read, read_after_it_was_written, written_under_the_name_of_another,
     of_branches],
)  # fmt: skip
def test_writes_that_are_not_followed_are_refused(func):
    with pytest.raises(ControlFlowError, match=r"\.copy\(\)"):
        lw.vmap(func)(A, N)
    with pytest.raises(ControlFlowError, match=r"\.copy\(\)"):
        lw.function(func)(A[0].copy(), N[2])


# --- files ---------------------------------------------------------------------------------------


def test_functions_are_saved(tmp_path):
    def func(v):
        out = np.array([v])
        while out[-1] > 1:
            out = np.append(out, out[-1] / 2)
        return out

    path = tmp_path / "grows.lw"
    lw.save(lw.function(func).get_concrete_function(np.float64(5.0)), path)
    np.testing.assert_array_equal(lw.load(path)(np.float64(77.0)), func(77.0))
