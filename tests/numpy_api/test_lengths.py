"""Arrays of lengths that are data where their shapes are needed, and in random programs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError, DataDependentShapeError
from support import random_lengths
from support.backends import backend
from support.comparing import define
from support.draws import seeds

RNG = np.random.default_rng(7)
A = RNG.normal(size=(6, 7))
#: Empty, full, in between, beyond both ends, and from the end.
N = np.array([0, 7, 3, 9, -2, -11])

# --- shapes that depend on the length ---------------------------------------------------------

FOLLOWED = {
    "concatenate": lambda a, n: np.concatenate([a[:n], a])[-8:].sum(),
    "stack": lambda a, n: np.stack([a[:n], a[:n] * 2]).sum(axis=0).max(),
    "array": lambda a, n: np.array([a[:n], a[:n]]).sum(),
    "asarray": lambda a, n: np.asarray(a[:n]).sum(),
    "reshape": lambda a, n: a[:n].reshape(1, -1)[0, 0],
    "two rows": lambda a, n: a[: n // 2 * 2].reshape(2, -1).sum(axis=1),
    "len": lambda a, n: len(a[:n]) + a[n:].size,
    "repeat": lambda a, n: np.repeat(a[:n], 2).sum(),
    "repeat each": lambda a, n: (a[:4].repeat(n + np.arange(4)) * 2).sum(),
    "repeat places": lambda a, n: np.cumsum(
        np.repeat(a[a > n / 4], (a > n / 4)[a > n / 4] * n)
    ).sum(),
    "repeat an axis": lambda a, n: np.repeat(a[:4].reshape(2, 2), np.array([n, 1]), 1).sum(axis=1),
    "tile": lambda a, n: np.tile(a[:n], 3).sum(),
    "convolve": lambda a, n: np.convolve(a, a[:n]).sum(),
    "fft": lambda a, n: np.abs(np.fft.fft(a[:n])).sum(),
    "outer method": lambda a, n: np.add.outer(a[:n], a[:n]).sum(),
    "at": lambda a, n: (np.add.at(a, a > 0, 1), a)[1],
    "solve": lambda a, n: np.linalg.solve(np.diag(a[:n] + 9), a[:n]).sum(),
    "least squares": lambda a, n: np.linalg.lstsq(
        np.vander(a, 3)[a > n / 9], np.exp(a)[a > n / 9], rcond=None
    )[0],
    "rank of least squares": lambda a, n: np.linalg.lstsq(np.vander(a, 3)[:n], a[:n])[2],
    "residuals": lambda a, n: np.array(
        [part.size + part.sum() for part in np.linalg.lstsq(np.vander(a, 3)[:n], a[:n] ** 4)]
    ),
    "rank": lambda a, n: np.linalg.matrix_rank(np.vander(a, 3)[:n]),
    "rank by tolerance": lambda a, n: np.linalg.matrix_rank(np.vander(a, 3)[:n], rtol=0.5),
    "polynomial": lambda a, n: np.polyfit(a[: abs(n) + 3], np.exp(a[: abs(n) + 3]), 2),
    "polynomial of few": lambda a, n: np.polyfit(a[: n + 1], np.exp(a[: n + 1]), 1),
    "covariance": lambda a, n: np.polyfit(a[: n + 3], np.exp(a[: n + 3]), 1, cov=True)[1],
    "determinant": lambda a, n: np.linalg.det(np.outer(a[:n], a[:n]) + np.diag(a[:n])),
    "mapped over": lambda a, n: lw.vmap(lambda x: x * n)(a[:n]).sum(),
    "two masks": lambda a, n: (a[:, None] * a)[a > 0, a > 0].sum(),
    "mask and places": lambda a, n: (a[:, None] * a)[a > 0, np.flatnonzero(a > 0)].sum(),
    "einsum": lambda a, n: np.einsum("i,i", a[:n], a[:n]),
    "like it": lambda a, n: (np.ones_like(a[:n]) + np.zeros(len(a[:n]))).sum(),
    "padded": lambda a, n: np.pad(a[:n], 2).size,
}
#: From one element up, within the axis.
INSIDE = np.array([1, 7, 3, 5, 2, 4])


@pytest.mark.parametrize("name", FOLLOWED)
def test_shapes_that_depend_on_the_length(name):
    rows = np.abs(A) + 0.5

    def plain(a, n):
        if name != "mapped over":
            return FOLLOWED[name](a, n)
        return (a[:n] * n).sum()

    got = lw.vmap(FOLLOWED[name])(rows.copy(), INSIDE)
    np.testing.assert_allclose(got, [plain(a.copy(), n) for a, n in zip(rows, INSIDE, strict=True)])
    for a, n in zip(rows[:3], INSIDE, strict=False):
        got = lw.function(FOLLOWED[name])(a.copy(), n)
        np.testing.assert_allclose(got, plain(a.copy(), n))


def test_repeats_that_numpy_refuses():
    func = lambda a, n: np.repeat(a, n)  # noqa: E731
    for counts in (np.array([1, -1, 0, 2]), np.array([1, 2]), np.array([1.5, 2, 1, 1])):
        with pytest.raises((TypeError, ValueError)) as plain:
            func(A[0, :4], counts)
        with pytest.raises(plain.type):
            lw.function(func)(A[0, :4], counts)


@pytest.mark.parametrize(
    ("func", "error"),
    [
        (lambda a, n: np.polyfit(a[:n], a[:n], 1), TypeError),
        (lambda a, n: np.polyfit(a[:n], a[:n], 1, cov=True)[1], ValueError),
    ],
)
def test_fits_that_numpy_refuses(func, error):
    n = 0 if error is TypeError else 2
    for called in (func, lw.function(func)):
        with pytest.raises(error, match=r"non-empty|must exceed order"):
            called(A[0].copy(), n)
    with pytest.raises(error, match=r"non-empty|must exceed order"):
        lw.vmap(func)(A[:2], np.array([5, n]))


def test_functions_return_arrays_of_the_length():
    def func(a, n):
        return a[:n], {"chosen": a[a > 0], "both": np.outer(a[:n], a[a > 0])}

    f = lw.function(func)
    for a, n in zip(A, N, strict=True):
        (head, more), (want, others) = f(a, n), func(a, n)
        np.testing.assert_array_equal(head, want)
        for key, value in others.items():
            np.testing.assert_array_equal(more[key], value)
            assert more[key].shape == value.shape


def test_functions_that_are_called_have_sizes_of_their_own():
    head = lw.function(lambda a, n: a[:n])

    def func(a, n):
        return head(a, n).sum() + head(a, n // 2).sum() * 10 + head(a, n)[: n - 1].sum() * 100

    plain = [(a[:n].sum() + a[: n // 2].sum() * 10 + a[:n][: n - 1].sum() * 100)
             for a, n in zip(A, N, strict=True)]  # fmt: skip
    np.testing.assert_allclose(lw.vmap(func)(A, N), plain)
    np.testing.assert_allclose([lw.function(func)(a, n) for a, n in zip(A, N, strict=True)], plain)
    with pytest.raises(DataDependentShapeError, match="returning it"):
        lw.vmap(head)(A, N)


# --- branches and loops ---------------------------------------------------------------------------


def narrowed(x, n):
    part, turns = x[: max(n, 1)], 0
    while part.size > 1:
        half = part.size // 2
        if part[half] > 0:
            part = part[:half]
        else:
            part = part[half:]
            turns += 1
    return part[0], turns


def quickly_selected(x, n):
    k = min(max(n, 0), len(x) - 1)
    while True:
        pivot = x[len(x) // 2]
        below, above = x[x < pivot], x[x > pivot]
        if k < len(below):
            x = below
        elif k >= len(x) - len(above):
            k -= len(x) - len(above)
            x = above
        else:
            return pivot


def filtered(x, n):
    while len(x) > 2:
        x = x[x > x.mean()]
        n = n + 1
    return x.sum(), n


def shifted(x, n):
    total, part = 0.0, x
    for i in range(4):
        total += part.sum() * (i + 1)
        part = part[:n]
        n = n - 1
    return total, part.sum()


def of_branches(x, n):
    y = x[:n] if n > 3 else x[n:] * 2
    z = x
    if x[0] > 0:
        z = x[x > 0]
    return y.sum() + z.sum(), len(y) - len(z)


def of_two_dtypes(x, n):
    y = x[:n]
    if n > 3:
        y = np.arange(9)[n:]
    return y.sum() * 1.0, y.size


def raised_in_a_try(x, n):
    try:
        return x[:n].max() + x[:n].argmin()
    except ValueError:
        return -1.0


def rows_of_a_sparse_matrix(x, n):
    starts, total = np.array([0, 2, 2, 5, 7]), np.zeros(4)
    for i in range(4):
        s, e = starts[i], starts[i + 1]
        total[i] = x[s:e] @ x[::-1][s:e] + x[s : e + n % 2].sum()
    return total


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize(
    "func",
    [narrowed, quickly_selected, filtered, shifted, of_branches, of_two_dtypes, raised_in_a_try,
     rows_of_a_sparse_matrix],
)  # fmt: skip
def test_branches_and_loops(func, name):
    wants = [func(a.copy(), n) for a, n in zip(A, N, strict=True)]
    with backend(name):
        mapped = lw.vmap(func)(A, N)
        each = [lw.function(func)(a.copy(), n) for a, n in zip(A, N, strict=True)]
    columns = mapped if isinstance(mapped, tuple) else (mapped,)
    for found in (list(zip(*columns, strict=True)), each):
        for got, want in zip(found, wants, strict=True):
            got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
            for x, y in zip(got, want, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("func", [shifted, of_branches, rows_of_a_sparse_matrix, filtered])
def test_derivatives_through_them(func):
    def value(x):
        found = func(x, 3)
        return np.sum(found[0] if isinstance(found, tuple) else found)

    for x in A[:4]:
        moved = lw.grad(value)(x.copy())
        step = 1e-6
        differences = [
            (value(x + step * e) - value(x - step * e)) / (2 * step) for e in np.eye(len(x))
        ]
        np.testing.assert_allclose(moved, differences, rtol=1e-5, atol=1e-7)
        _, tangent = lw.jvp(value, (x.copy(),), (np.ones_like(x),))
        np.testing.assert_allclose(tangent, np.sum(moved), rtol=1e-9)


# --- programs that nobody wrote ------------------------------------------------------------------


def interpolated_where_it_is_high(a, n):
    out = a.copy()
    if n > -5:
        high = a > 0.1 * n
        out[high] = np.interp(np.flatnonzero(high), np.arange(7), a)
    return out


def of_two_masks(a, n):
    out, first, second = a.copy(), a > 0.1 * n, np.abs(a) > 0.1 * np.abs(a[0])
    third = a[::-1] > 0.1 * n
    out[first] = np.where(out[first] > 0.5, a[::-1][third], 2 * a[first])
    return out, a[first].sum() + a[second].sum(), (a[first] * a[::-1][third]).sum()


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize("func", [interpolated_where_it_is_high, of_two_masks])
def test_as_many_elements_by_another_mask(func, name):
    with backend(name):
        made = lw.function(lw.vmap(func))
        got = [made(A, N) for _ in range(3)][-1]
    want = [func(a, n) for a, n in zip(A, N, strict=True)]
    columns = zip(*want, strict=True) if isinstance(got, tuple) else [want]
    for x, column in zip(got if isinstance(got, tuple) else (got,), columns, strict=True):
        np.testing.assert_allclose(x, np.stack(column), rtol=1e-12)


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize("seed", seeds(24))
def test_random_programs(seed, name):
    f = define(random_lengths.draw(seed), np=np)
    batch = random_lengths.arguments(seed, 5)
    rows, wants = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in zip(*batch, strict=True):
            try:
                wants.append(f(*[np.copy(x) for x in row]))
            except (ValueError, IndexError):  # as parts of other lengths are added
                continue
            rows.append(row)
        if not rows:
            return
        with backend(name):
            try:
                got = lw.vmap(f)(*[np.stack(column) for column in zip(*rows, strict=True)])
            except (DataDependentShapeError, ControlFlowError):
                return  # how long it may be is not known, or differs from branch to branch
    for part, want in zip(got, zip(*wants, strict=True), strict=True):
        want = np.stack(want)
        np.testing.assert_allclose(part, want, rtol=1e-9, atol=1e-9)
        assert part.dtype == want.dtype
