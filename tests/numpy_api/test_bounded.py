"""Lengths that are data: ``a[:n]``, ``x[mask]`` and their like, as far as they do not escape."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, DataDependentShapeError
from support.oracle import assert_maps, assert_maps_everywhere, loop

RNG = np.random.default_rng(7)
A = RNG.normal(size=(6, 7))
B = RNG.normal(size=(6, 7))
M = RNG.normal(size=(6, 5, 4))
INTS = RNG.integers(-5, 9, size=(6, 7))
#: Empty, full, in between, beyond both ends, and from the end.
N = np.array([0, 7, 3, 9, -2, -11])
#: As long as that there are elements.
SOME = np.array([1, 7, 3, 9, -2, 4])

#: NumPy warns of no elements in Python code, which is not run here.
pytestmark = pytest.mark.filterwarnings("ignore:(Mean of empty|Degrees of|All-NaN)")

# --- reductions -----------------------------------------------------------------------------------

#: What takes the elements of ``a[:n]``, and gives a number for none as well.
TAKES = {
    "head": lambda a, n: a[:n],
    "tail": lambda a, n: a[n:],
    "steps": lambda a, n: a[:n:2],
    "steps from": lambda a, n: a[n::3],
    "reversed head": lambda a, n: a[:n][::-1],
    "head of reversed": lambda a, n: a[::-1][:n],
    "backward": lambda a, n: a[n::-1],
    "backward to": lambda a, n: a[:n:-2],
    "between": lambda a, n: a[1:n],
    "from the end": lambda a, n: a[-n:],
    "without the end": lambda a, n: a[:-n],
    "both ends": lambda a, n: a[n - 2 : n * 2],
    "head of tail": lambda a, n: a[n:][:2],
    "tail of head": lambda a, n: a[:n][1:],
    "inner": lambda a, n: a[:n][1:-1],
    "twice": lambda a, n: a[:n][: n - 1],
    "mask": lambda a, n: a[a > n / 10],
    "mask of nothing": lambda a, n: a[a > 100 + n],
    "mask, sliced": lambda a, n: a[a > n / 10][1:],
    "mask of head": lambda a, n: a[:n][a[:n] > 0],
    "mask of reversed head": lambda a, n: a[:n][::-1][a[:n][::-1] > 0],
    "mask of mask": lambda a, n: a[a > -1][a[a > -1] < n],
    "not of mask": lambda a, n: a[~(a > n / 10)],
    "by places": lambda a, n: a[np.flatnonzero(a > n / 10)],
    "by nonzero": lambda a, n: a[np.nonzero(a > n / 10)[0]],
    "expression": lambda a, n: a[:n] * 2 + 1 - a[:n] / 3,
    "sorted": lambda a, n: np.sort(a[:n]),
    "differences": lambda a, n: np.diff(a[:n]),
    "running": lambda a, n: np.cumsum(a[n:])[1:],
}
SUMS = {
    "sum": lambda r: r.sum(),
    "prod": lambda r: np.prod(r),
    "mean": lambda r: r.mean(),
    "std": lambda r: r.std(),
    "var": lambda r: np.var(r, ddof=1),
    "any": lambda r: (r > 1).any(),
    "all": lambda r: np.all(r > -1),
    "count_nonzero": lambda r: np.count_nonzero(r > 0),
    "size": lambda r: r.size * 2 + r.shape[0] + 0 * r.sum(),
    "median": lambda r: np.median(r),
    "initial": lambda r: r.max(initial=-50.0) + np.sum(r, initial=3),
    "keepdims": lambda r: r.sum(keepdims=True),
    "where": lambda r: r.sum(where=r > 0) + np.mean(r, where=r > -9),
    "norm": lambda r: np.linalg.norm(r) + np.linalg.norm(r, 1),
    "dot": lambda r: r @ r + np.dot(r, r) + np.inner(r, r) + np.vdot(r, r),
    "unique": lambda r: np.unique(np.round(r)).sum(),
    "running": lambda r: np.cumsum(r).sum() + np.cumprod(r)[1:].sum(),
    "trapezoid": lambda r: np.trapezoid(r) + np.trapezoid(r, np.sort(r), dx=1),
    "order": lambda r: (np.cumsum(r) * np.sort(r)).sum(),
    "weighted order": lambda r: (np.argsort(r) * r).sum(),
    "searchsorted": lambda r: np.searchsorted(np.sort(r), np.array([-0.5, 0.0, 0.5])),
    "nan functions": lambda r: np.nansum(r) + np.nanstd(r),
    "clipped": lambda r: np.clip(r, -0.5, 0.5).sum() + np.where(r > 0, r, 1).sum(),
    "absolute": lambda r: np.sqrt(np.abs(r)).sum() + abs(r).sum(),
    "integers": lambda r: r.astype(int).sum() + (r > 0).sum(),
    "flipped": lambda r: (r * np.flip(r)).sum(),
}


@pytest.mark.parametrize("take", TAKES)
def test_sums(take):
    def func(a, n):
        return [reduction(TAKES[take](a, n)) for reduction in SUMS.values()]

    assert_maps(func, A, N)
    batch, in_dims = [
        ((A, N[:, None][:, 0].astype(np.int16)), 0),
        ((A[0], N), (None, 0)),
        ((A, N[2]), (0, None)),
    ][list(TAKES).index(take) % 3]
    third = list(SUMS.values())[list(TAKES).index(take) // 3 % 3 :: 3]
    assert_maps(lambda a, n: [f(TAKES[take](a, n)) for f in third], *batch, in_dims=in_dims)


@pytest.mark.parametrize("take", ["head", "steps", "mask", "backward", "mask of head"])
def test_sums_of_integers(take):
    def func(a, n):
        r = TAKES[take](a, n)
        return [SUMS[name](r) for name in SUMS if name != "weighted order"]

    assert_maps(func, INTS, N)


EXTREMA = {
    "max": lambda r: r.max(),
    "min": lambda r: np.min(r),
    "ptp": lambda r: np.ptp(r),
    "argmax": lambda r: r.argmax(),
    "argmin": lambda r: np.argmin(r),
    "first": lambda r: r[0],
    "last": lambda r: r[-1],
    "sorted": lambda r: np.sort(r)[-1] - np.sort(r)[0],
    "average": lambda r: np.average(r, weights=r * r),
    "quantiles": lambda r: (np.quantile(r, 0.3), np.percentile(r, [10, 75])),
    "nan extrema": lambda r: np.nanmax(r) - np.nanmin(r),
    "last place": lambda r: r[r.shape[0] - 1],
    "running maximum": lambda r: np.maximum.accumulate(r)[-1],
    "infinity norm": lambda r: np.linalg.norm(r, np.inf),
}


@pytest.mark.parametrize("take", ["head", "reversed head", "steps", "by places"])
def test_extrema(take):
    n = SOME if "mask" not in take else SOME / 10
    rows = np.abs(A)

    def func(a, n):
        return [reduction(TAKES[take](a, n)) for reduction in EXTREMA.values()]

    assert_maps(func, rows, np.minimum(n, 3) if take == "by places" else n, rtol=1e-11)
    some = rows[:4], np.array([0, 2, 1, 4])
    if take != "by places":
        assert_maps(lambda a, n: [r(a[n:]) for r in EXTREMA.values()], *some, rtol=1e-11)
        assert_maps(lambda a, n: [r(a[a > 0][n:]) for r in EXTREMA.values()], *some, rtol=1e-11)
        assert_maps(lambda a, n: [r(a[n::-1]) for r in EXTREMA.values()], *some, rtol=1e-11)


@pytest.mark.parametrize("name", [n for n in EXTREMA if n not in ("average", "infinity norm")])
def test_extrema_of_no_elements_raise(name):
    with pytest.raises((ValueError, IndexError)) as expected:
        EXTREMA[name](np.zeros(0))
    with pytest.raises(type(expected.value)):
        lw.vmap(lambda a, n: EXTREMA[name](a[:n]))(A[:3], np.array([1, 2, 0]))


def test_not_a_number():
    a = A.copy()
    a[:, 2] = np.nan
    a[1] = np.nan

    def func(a, n):
        r = a[:n]
        return (r.sum(), r.max(), np.median(r), np.nanmax(r), np.nanmean(r), r.argmax(),
                np.sort(r)[-1], np.quantile(r, 0.5), np.unique(r).size)  # fmt: skip

    assert_maps(func, a, SOME)


@pytest.mark.parametrize("dtype", ["f4", "f2", "c16", "?", "u1", "i8"])
def test_dtypes(dtype):
    a = (np.abs(A) * 3).astype(dtype)

    def func(a, n):
        r = a[:n]
        results = [r.sum(), r.prod(), r.mean(), r.any(), np.sort(r).sum(), (r * r)[1:].sum(),
                   r.max(), r.min(), r.astype("f4").sum(), np.cumsum(r)[0]]  # fmt: skip
        return results

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        assert_maps(func, a, SOME, rtol=1e-2 if dtype == "f2" else None)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8, np.int32])
def test_dtypes_of_lengths(dtype):
    n = np.array([0, 7, 3, 9, 120, 1]).astype(dtype)
    assert_maps(lambda a, n: (a[:n].sum(), a[n:].sum(), a[n::-1].sum(), a[:n:-1].sum()), A, n)


def test_everywhere():
    def func(a, b, n):
        y = a.copy()
        y[:n] += b[:n]
        y[y > 1] = 0
        return y, np.dot(a[:n], b[:n]), a[a > 0].mean(), (a[:n] - b[:n]).std()

    assert_maps_everywhere(func, A, B, N)


def test_chosen_lengths_of_captured_arrays():
    table = np.arange(10.0)

    def func(a, n):
        t = np.asarray(table, like=a)
        return t[:n].sum() + a[0]

    assert_maps(func, A, N)


# --- two arrays -----------------------------------------------------------------------------------

PAIRS = {
    "dot": lambda a, b, n: np.dot(a[:n], b[:n]),
    "matmul": lambda a, b, n: a[n:] @ b[n:],
    "product": lambda a, b, n: (a[:n] * b[:n]).sum(),
    "same mask": lambda a, b, n: (a[a > 0] - b[a > 0]).mean(),
    "mask by name": lambda a, b, n: ((mask := b > 0), (a[mask] * b[mask]).sum())[1],
    "other ends": lambda a, b, n: (a[: n + 1 - 1] * b[:n]).sum(),
    "head and tail": lambda a, b, n: (a[:-2][:n] - b[2:][:n]).sum(),
    "head and reversed": lambda a, b, n: (a[:n] * b[:n][::-1]).sum(),
    "neighbours": lambda a, b, n: (a[:n][1:] * b[:n][:-1]).sum(),
    "sorted": lambda a, b, n: np.abs(np.sort(a[:n]) - np.sort(b[:n])).max(initial=0),
    "places": lambda a, b, n: (np.arange(7)[: len(a)] * a)[:n].sum(),
    "average": lambda a, b, n: np.average(a[: abs(n) + 1], weights=np.abs(b)[: abs(n) + 1]),
    "equal": lambda a, b, n: (np.array_equal(a[:n], b[:n]), np.allclose(a[:n], a[:n])),
    "interp": lambda a, b, n: np.interp(b, np.sort(a[: abs(n) + 1]), b[: abs(n) + 1]),
    "norm": lambda a, b, n: np.linalg.norm(a[:n] - b[:n]),
    "covariance": lambda a, b, n: ((a[:n] - a[:n].mean()) * (b[:n] - b[:n].mean())).mean(),
    "scalar": lambda a, b, n: (a[:n] * b[0] + n).sum(),
    "trapezoid": lambda a, b, n: np.trapezoid(a[:n], np.sort(b[:n])),
    "correlation": lambda a, b, n: (a[b > a] * b[b > a]).sum() / np.sqrt((a[b > a] ** 2).sum()),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    assert_maps(PAIRS[name], A, B, N)


def test_lengths_must_agree():
    def func(a, b, n, k):
        return (a[:n] + b[:k]).sum()

    n = np.array([2, 3, 0, 7, 5, 4])
    assert_maps(func, A, B, n, n.copy())
    assert_maps(lambda a, b, n, k: a[n:] @ b[:k], A, B, n, 7 - n)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        lw.vmap(func)(A, B, n, n + 1)
    with pytest.raises(ValueError, match="could not be broadcast"):
        lw.vmap(lambda a, b: (a[a > 0] + b[b > 0]).sum())(A, B)


def test_a_length_that_is_known_after_all():
    def func(a, v):
        top = a >= np.sort(a)[-3]
        return a[top] + v, a[top] @ v

    assert_maps(func, A, B[:, :3])
    with pytest.raises(ValueError, match="could not be broadcast together"):
        lw.vmap(lambda a, n, v: (a[:n] * v).sum())(A, N, B[:, :3])
    with pytest.raises(ValueError, match="could not be broadcast"):
        lw.vmap(lambda a, n, v: (a[:n] * v).sum())(A[:, :2], N, B)


# --- writing --------------------------------------------------------------------------------------

WRITES = {
    "head": lambda a, b, n: a.__setitem__(slice(n), 3),
    "tail of zeros": lambda a, b, n: a.__setitem__(slice(n, None), 0),
    "traced value": lambda a, b, n: a.__setitem__(slice(n), b[0]),
    "other's head": lambda a, b, n: a.__setitem__(slice(n), b[:n]),
    "other's reversed head": lambda a, b, n: a.__setitem__(slice(n), b[:n][::-1]),
    "own tail": lambda a, b, n: a.__setitem__(slice(1, n), a[:n][:-1]),
    "steps": lambda a, b, n: a.__setitem__(slice(None, n, 2), b[:n:2]),
    "backward": lambda a, b, n: a.__setitem__(slice(None, n, -1), 2 * a[:n:-1]),
    "mask": lambda a, b, n: a.__setitem__(a > 0, n),
    "mask of mask": lambda a, b, n: a.__setitem__(a > 0, b[a > 0]),
    "sorted": lambda a, b, n: a.__setitem__(slice(n), np.sort(a[:n])),
    "sorted mask": lambda a, b, n: a.__setitem__(a > 0, np.sort(a[a > 0])),
    "row of one": lambda a, b, n: a.__setitem__(slice(n), b[None, :1]),
    "places": lambda a, b, n: a.__setitem__(np.flatnonzero(a > 0), b[np.flatnonzero(a > 0)]),
    "places of one": lambda a, b, n: a.__setitem__(np.flatnonzero(a > 0), -7),
    "repeated places": lambda a, b, n: a.__setitem__(np.flatnonzero(a > 0) // 2, a[a > 0]),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing(name):
    def write(a, b, n):
        a = a.copy()
        kept = a[2:]
        WRITES[name](a, b, n)
        return a, kept

    n = np.array([1, 7, 3, 6, -2, 4]) if name == "own tail" else N
    assert_maps(write, A, B, n)
    assert_maps(write, A[0], B, n, in_dims=(None, 0, 0))


def in_place(a, b, n):
    a = a.copy()
    a[:n] += 1
    a[n:] -= b[n:]
    a[a > 1] *= 2
    a[a < 0] += b[a < 0]
    a[1:n] **= 2
    a[::-1][:n] -= 3
    part = a[:n]
    part *= 2
    part[:2] = 9
    part[1:][b[:n][1:] > 0] = 1
    a[6] = 4
    return a, part.sum(), a[:n][:2].sum()


def test_writing_in_place():
    assert_maps(in_place, A, B, N)
    assert_maps(in_place, A[1], B, N, in_dims=(None, 0, 0))
    assert_maps(in_place, A, B[0], N[2], in_dims=(0, None, None))


def test_writing_shows_where_it_should():
    def func(a, n):
        y = a.copy()
        head, chosen = y[:n], y[y > 0]
        y[0] = 50
        head[-1] = 7  # writes to y
        chosen[...] = -1  # does not
        chosen += 2
        doubled = head * 2
        y[:] = 0
        return y, head.sum(), chosen.sum(), doubled.sum()

    assert_maps(func, np.abs(A), SOME)


def test_writing_values_of_a_static_length():
    def func(a, v, n):
        y = a.copy()
        y[n:][:2] = v[0]
        top = a >= np.sort(a)[-3]
        y[top] = v
        return y

    assert_maps(func, A, B[:, :3], np.array([0, 1, 2, 3, 4, 5]))
    with pytest.raises(ValueError, match="could not be broadcast"):
        lw.vmap(lambda a, n, v: a.__setitem__(slice(n), v) or a)(A.copy(), N, B[:, :3])


def test_results_into_arrays_of_the_length():
    def func(a, b, n):
        part, other = a[:n] * 1.0, b[: len(a[:n])]
        np.add(part, other, part)
        np.multiply(part, 2, out=part)
        return part.sum()

    assert_maps(func, A, B, N)
    with pytest.raises(ValueError, match="broadcast"):
        lw.vmap(lambda a, n: np.add(a[:n], a[:n], out=np.zeros(n + 1)[: n + 1]).sum())(A, SOME)


def test_dtypes_when_writing():
    def func(a, b, n):
        y = a.copy()
        y[:n] = b[:n]
        y[y > 3] = 2.7
        return y

    with np.errstate(all="raise"):
        b = B.copy()
        b[:, 5:] = np.nan
        got = lw.vmap(func)(INTS, b, np.array([0, 1, 2, 3, 4, 5]))
    np.testing.assert_array_equal(got, loop(func, (INTS, b, np.arange(6)), (0, 0, 0)))
    with pytest.raises(TypeError, match="same_kind"):
        lw.vmap(lambda a, n: a[:n].__iadd__(0.5).sum())(INTS.copy(), N)


# --- several axes ---------------------------------------------------------------------------------

PLANES = {
    "rows": lambda m, n, k: m[:n].sum(),
    "along": lambda m, n, k: m[:n].sum(axis=0),
    "block": lambda m, n, k: m[:n, :k].sum() + m[n:, k].sum(),
    "mean of block": lambda m, n, k: (m[:n, :k].mean(), m[:n, :k].std()),
    "rows, then along": lambda m, n, k: m[:n].sum(axis=1).sum(),
    "along with dims": lambda m, n, k: m[:n].mean(axis=0, keepdims=True),
    "columns": lambda m, n, k: m[:, :k].sum(axis=1),
    "columns of a row": lambda m, n, k: m[1, :k].sum() + m[k - k, :k].sum(),
    "rows of a column": lambda m, n, k: m[:n, 1].sum() + m[:n, k - k].sum(),
    "static columns": lambda m, n, k: m[:n, 1:3].sum(axis=0),
    "new axis": lambda m, n, k: (m[:n, None] * m[:n, :, None]).sum(axis=0),
    "times vector": lambda m, n, k: (m[:n] @ m[0]).sum(),
    "vector times": lambda m, n, k: m[:n, 0] @ m[:n],
    "transposed times": lambda m, n, k: m[:n].T @ m[:n],
    "times transposed": lambda m, n, k: (m[:n] @ m[:n].T).sum(),
    "block times vector": lambda m, n, k: (m[:n, :k] @ m[0, :k]).sum(),
    "outer": lambda m, n, k: (m[:n, 0][:, None] * m[0, :k]).sum(),
    "centred": lambda m, n, k: ((m[:n] - m[:n].mean(axis=0)) ** 2).sum(axis=0),
    "mask of rows": lambda m, n, k: m[m[:, 0] > 0].sum(axis=0),
    "mask of columns": lambda m, n, k: m[:, m[0] > 0].sum(axis=1),
    "mask of both": lambda m, n, k: m[m > 0].sum(),
    "mask and column": lambda m, n, k: m[m[:, 0] > 0, 1].sum(),
    "row and mask": lambda m, n, k: m[1, m[0] > 0].mean(),
    "mask and slice": lambda m, n, k: m[m[:, 0] > 0, :k].sum(),
    "mask and column apart": lambda m, n, k: m[None][:, m[:, 0] > 0, :][0].sum(axis=0),
    "norms": lambda m, n, k: np.linalg.norm(m[:n], axis=1).sum() + np.linalg.norm(m[:n, :k]),
    "medians": lambda m, n, k: np.median(m[:n], axis=0),
    "sorted": lambda m, n, k: np.sort(m[:n], axis=0).sum() + np.sort(m[:n], axis=1)[..., 0].sum(),
    "running": lambda m, n, k: np.cumsum(m[:n], axis=0).sum(axis=0),
    "any": lambda m, n, k: ((m[:n] > 0).any(axis=0), (m[:n] > 0).all(axis=1).sum()),
    "last row": lambda m, n, k: m[: abs(n) + 1][-1] + m[: abs(n) + 1][0, 1],
    "swapped": lambda m, n, k: m[:n].swapaxes(0, 1).sum(axis=1) + np.transpose(m[:n]).sum(axis=1),
    "counted": lambda m, n, k: np.count_nonzero(m[:n] > 0, axis=0),
    "greatest": lambda m, n, k: m[: abs(n) + 1].max(axis=0),
    "greatest along": lambda m, n, k: m[:n].max(axis=1).sum(),
    "where it is greatest": lambda m, n, k: m[: abs(n) + 1].argmax(axis=0),
    "a row of a mask": lambda m, n, k: m[m[:, 0] > -9][1],
    "places in rows": lambda m, n, k: m[np.flatnonzero(m[:, 0] > 0)].sum(axis=0),
}


@pytest.mark.parametrize("name", PLANES)
def test_planes(name):
    k = np.array([0, 4, 2, 3, -1, 1])
    n = np.array([0, 5, 3, 7, -2, 1])
    assert_maps(PLANES[name], M, n, np.minimum(k, 3) if name == "block" else k)
    assert_maps(PLANES[name], M[0], n, np.minimum(k, 3), in_dims=(None, 0, 0))


def write_planes(m, n, k):
    m = m.copy()
    m[:n, :k] += 1
    m[:n] *= 2
    m[:, :k] = 0
    m[:n, 1] = m[:n, 2]
    m[m[:, 0] > 0, 3] = 5
    m[m[:, 1] > 0] += m[0]
    m[m > 8] = 1
    m[:n][m[:n, 3] > 0] = -1
    m.T[:k] -= 4
    m[None][:, :n, ::2] = 6
    for row in (m[:n][1:2], m[0][:k]):
        row += 1
    return m


def test_writing_planes():
    assert_maps(write_planes, M, np.array([0, 5, 3, 7, -2, 1]), np.array([0, 4, 2, 3, -1, 1]))


def test_mask_that_stands_apart():
    cube = RNG.normal(size=(3, 2, 4, 5))

    def func(c):
        mask = c[0, 0, :] > 0 if c.ndim == 3 else c[0] > 0
        rows = c[:, :, mask[:5]] if mask.shape[0] == 5 else c[:, mask]
        return rows.sum(axis=-1), c[0, :, mask].sum(axis=0), c[0, :, mask][:, 1].sum()

    assert_maps(func, cube)


# --- nothing shows of the padding -----------------------------------------------------------------


def test_padding_gives_no_warnings():
    a = np.array([[4.0, 1.0, 0.0, -1.0], [9.0, 0.0, 0.0, np.inf], [1.0, 2.0, 3.0, 0.0]])
    n = np.array([2, 1, 3])

    def func(a, n):
        r = a[:n]
        chosen = a[a > 0.5]
        inverse = (1 / r).sum() + np.log(r).mean() + np.sqrt(chosen - 0.5).sum()
        whole = (10 // r.astype(int)).sum() + (7 % chosen[:1].astype(int)).sum()
        y = a.copy()
        y[:n] /= a[:n]
        y[a > 0.5] **= -1
        return (
            inverse,
            whole,
            (1 / (r - 100)).max(),
            y[:n].std(),
            np.exp(r * 2).sum(),
            (r - r[0]).sum(),
        )

    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        got = lw.vmap(func)(a, n)
        expected = loop_raising(func, a, n)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e)

    def of_none(a, n):
        r = a[:n]
        return (1 / (r - 1)).sum(), np.log(r - 1).sum(), (r * 1e300 * 1e300).sum(), (
            (1 // (a.astype(int)[:n] - 1)).sum()
        ), r.astype(int).sum(), np.sqrt(-(r**2)).sum()  # fmt: skip

    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        got = lw.vmap(of_none)(a[:, :3], np.zeros(3, int))
    for g in got:
        np.testing.assert_array_equal(g, 0)


def loop_raising(func, *args):
    rows = [func(*[a[i] for a in args]) for i in range(len(args[0]))]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def test_warnings_of_the_elements_are_kept(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # kernels give no warnings
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        lw.vmap(lambda a, n: (1 / a[:n]).sum())(np.zeros((2, 3)), np.array([0, 1]))


# --- nested maps ----------------------------------------------------------------------------------


def test_nested_maps():
    n = np.array([[0, 2, 7], [1, -1, 3]])

    def outer(a, ns):
        return lw.vmap(lambda n: (a[:n].sum(), a[a > n / 10].mean(), a[:n] @ a[:n]))(ns)

    with np.errstate(all="ignore"):
        got = lw.vmap(outer)(A[:2], n)
        expected = loop(lambda a, ns: [np.stack(c) for c in zip(*[
            (a[:n].sum(), a[a > n / 10].mean(), a[:n] @ a[:n]) for n in ns], strict=True)],
            (A[:2], n), (0, 0))  # fmt: skip
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e)

    def captured(m, n):  # the length belongs to the map around
        head = m[:n]
        return lw.vmap(lambda row, s: (row[:n] * s).sum() + head.sum())(m, m[:, 0])

    assert_maps_captured(captured, M, np.array([0, 5, 3, 1, -2, 4]))


def assert_maps_captured(func, m, n):
    got = lw.vmap(func)(m, n)
    for g, rows, k in zip(got, m, n, strict=True):
        np.testing.assert_allclose(
            g, [(row[:k] * row[0]).sum() + rows[:k].sum() for row in rows], atol=1e-12
        )


def test_in_dims():
    assert_maps(lambda a, n: (a[:n].sum(), a[a > 0].sum()), A.T.copy(), N, in_dims=(1, 0))


# --- what escapes is refused ----------------------------------------------------------------------

ESCAPES = {
    "returned": lambda a, n: a[:n],
    "returned in a dict": lambda a, n: {"x": a[a > 0]},
    "returned, larger": lambda a, n: np.concatenate([a[:n], a]),
    "iteration": lambda a, n: list(a[:n]),
    "unpacking": lambda a, n: (lambda *x: x)(*a[:n]),
    "tolist": lambda a, n: a[:n].tolist(),
    "appended": lambda a, n: lw.TensorArray().append(a[:n]),
    "mapped over": lambda a, n: lw.vmap(lambda x: x)(a[:n]),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_escapes(name):
    with pytest.raises(DataDependentShapeError, match=r"(?s)np\.where\(") as info:
        lw.vmap(ESCAPES[name], autograph=False)(A.copy(), N)
    assert "test_bounded.py:" in str(info.value)
    assert isinstance(info.value, TypeError)


def test_messages_name_the_line_that_made_it():
    def func(a, n):
        head = a[:n]
        tail = head * 2
        return tuple(tail)

    with pytest.raises(DataDependentShapeError) as info:
        lw.vmap(func)(A, N)
    assert "head = a[:n]" in str(info.value) and "return tuple(tail)" in str(info.value)


def test_truth_and_membership():
    with pytest.raises(ConcretizationError, match=r"bool\(\)"):  # there may be one element
        lw.vmap(lambda a, n: 1 if a[:n] else 2, autograph=False)(A, N)
    with pytest.raises(ValueError, match="ambiguous"):
        lw.vmap(lambda a, n: 1 if a[:n] else 2)(A, N)
    with pytest.raises(ConcretizationError, match=r"np\.any"):
        lw.vmap(lambda a, n: (1.0 in a[:n]) and 1, autograph=False)(A, N)


def test_bad_indices():
    with pytest.raises(IndexError, match="out of bounds for axis 0"):
        lw.vmap(lambda a, n: a[:n][3])(A, np.array([4, 4, 4, 3, 4, 4]))
    with pytest.raises(IndexError, match="out of bounds for axis 0"):
        lw.vmap(lambda a, n: a[:n][-4])(A, np.array([4, 4, 4, 3, 4, 4]))
    with pytest.raises(IndexError, match="too many"):
        lw.vmap(lambda a, n: a[:n, 0])(A, N)
    with pytest.raises(IndexError, match="boolean index did not match"):
        lw.vmap(lambda a, n: a[a[:3] > 0].sum())(A, N)
    with pytest.raises(TypeError, match="slice indices must be integers"):
        lw.vmap(lambda a, n: a[:n].sum())(A, N * 0.5)
