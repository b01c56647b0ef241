"""Reductions of the NumPy table, with all their keywords."""

import numpy as np
import pytest

import lanewise as lw
from support.oracle import TOLERANCE, assert_maps, assert_maps_everywhere
from support.pairing import in_turn

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Mean of empty slice|Degrees of freedom|All-NaN)", "ignore:Casting complex"
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
X[0, 1, 2], X[1, 0, 0], X[2, 3, 4] = np.nan, np.inf, -0.0
FINITE = RNG.normal(size=(3, 4, 5))
ARRAYS = {
    "f8": X,
    "f4": FINITE.astype(np.float32),
    "f2": FINITE.astype(np.float16),
    "i1": RNG.integers(-100, 100, (3, 4, 5)).astype(np.int8),
    "i8": RNG.integers(-9, 9, (3, 4, 5)),
    "u1": RNG.integers(0, 200, (3, 4, 5)).astype(np.uint8),
    "bool": RNG.random((3, 4, 5)) < 0.5,
    "c16": X + 1j * RNG.normal(size=X.shape),
    "c8": (FINITE + 1j * FINITE[::-1]).astype(np.complex64),
}
MASK = RNG.random((3, 4, 5)) < 0.6
MASK[0, :, 0] = False

PLAIN = {
    "sum": np.sum,
    "sum-axis": lambda x: np.sum(x, axis=0),
    "sum-all": lambda x: np.sum(x, axis=(0, 1), keepdims=True),
    "sum-dtype": lambda x: np.sum(x, 1, np.complex64),
    "sum-initial": lambda x: x.sum(initial=4),
    "prod": lambda x: np.prod(x, axis=-1),
    "max": np.max,
    "amax": lambda x: np.amax(x, axis=(0, 1)),
    "max-initial": lambda x: np.max(x, axis=0, initial=1),
    "min": lambda x: x.min(axis=1, keepdims=True),
    "amin": np.amin,
    "any": np.any,
    "any-axis": lambda x: x.any(axis=0, keepdims=True),
    "all": lambda x: np.all(x, axis=(0, -1)),
    "mean": np.mean,
    "mean-axis": lambda x: np.mean(x, axis=0),
    "mean-tuple": lambda x: x.mean((0, 1), keepdims=True),
    "mean-single": lambda x: np.mean(x, 1, np.complex64),
    "var": np.var,
    "var-axis": lambda x: np.var(x, axis=0, ddof=1),
    "var-keepdims": lambda x: x.var(axis=-1, keepdims=True),
    "var-correction": lambda x: np.var(x, 1, correction=1.5),
    "var-mean": lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)),
    "var-too-few": lambda x: np.var(x, axis=0, ddof=9),
    "std": np.std,
    "std-tuple": lambda x: np.std(x, axis=(0, 1), ddof=1),
    "average": np.average,
    "average-axis": lambda x: np.average(x, axis=(0, 1), keepdims=True),
    "average-returned": lambda x: np.average(x, axis=0, returned=True),
    "average-weights": lambda x: np.average(x, axis=1, weights=np.arange(1.0, 6)),
    "average-lists": lambda x: np.average(x, 0, [1, 2, 3, 4], returned=True),
    "argmax": np.argmax,
    "argmax-axis": lambda x: np.argmax(x, axis=0),
    "argmax-keepdims": lambda x: np.argmax(x, axis=-1, keepdims=True),
    "argmin": lambda x: x.argmin(),
    "argmin-keepdims": lambda x: np.argmin(x, keepdims=True),
    "argmin-axis": lambda x: x.argmin(1),
    "count_nonzero": np.count_nonzero,
    "count_nonzero-axis": lambda x: np.count_nonzero(x, axis=(0, 1), keepdims=True),
    "cumsum": np.cumsum,
    "cumsum-axis": lambda x: x.cumsum(axis=1),
    "cumprod": lambda x: np.cumprod(x, axis=0),
    "cumprod-dtype": lambda x: np.cumprod(x, axis=0, dtype=np.complex64),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1),
    "cumulative_sum-row": lambda x: np.cumulative_sum(x[0]),
    "cumulative_sum-initial": lambda x: np.cumulative_sum(x, axis=-2, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0, include_initial=True),
    "cumulative-scalar": lambda x: np.cumulative_prod(x[0, 0], include_initial=True),
    "cumulative-dtype": lambda x: np.cumulative_sum(x[0], dtype=complex, include_initial=True),
    "diff": np.diff,
    "diff-0": lambda x: np.diff(x, n=0),
    "diff-2": lambda x: np.diff(x, n=2, axis=0),
    "diff-all": lambda x: np.diff(x, n=5),
    "diff-prepend": lambda x: np.diff(x, prepend=0),
    "diff-append": lambda x: np.diff(x, axis=0, append=x[:1], prepend=[[1, 2, 3, 4, 5]]),
    "ediff1d": lambda x: np.ediff1d(x) if x.dtype != bool else x,
    "ediff1d-ends": lambda x: (
        np.ediff1d(x, to_end=x[0, :2], to_begin=np.array([1, 0], x.dtype)) if x.dtype != bool else x
    ),
    "trapezoid": np.trapezoid,
    "trapezoid-dx": lambda x: np.trapezoid(x, dx=0.5, axis=0),
    "trapezoid-x": lambda x: np.trapezoid(x, [0.0, 1.0, 3.0, 4.0, 7.0]),
    "trapezoid-nd": lambda x: np.trapezoid(x, x=np.abs(x * 1.0), axis=0),
    "of-row": lambda x: (np.sum(x[0]), np.max(x[0]), np.argmax(x[0, 0]), np.mean(x[0, 0])),
}
NEEDS_NUMBERS = {"ptp": np.ptp, "ptp-axis": lambda x: np.ptp(x, axis=(0, 1), keepdims=True)}


@pytest.mark.parametrize(("name", "dtype"), in_turn(PLAIN, ARRAYS))
def test_plain(name, dtype):
    # Variances of close numbers differ in their last digits by the order of summing.
    assert_maps(PLAIN[name], ARRAYS[dtype])


@pytest.mark.parametrize("dtype", [name for name in ARRAYS if name != "bool"])
@pytest.mark.parametrize("name", NEEDS_NUMBERS)
def test_ptp(name, dtype):
    assert_maps(NEEDS_NUMBERS[name], ARRAYS[dtype])


@pytest.mark.parametrize(
    "name",
    ["sum-all", "mean-axis", "var-axis", "average-axis", "argmax-axis", "count_nonzero", "cumsum",
     "cumulative_sum-initial", "diff-append", "ediff1d-ends", "trapezoid-nd"],
)  # fmt: skip
def test_everywhere(name):
    assert_maps_everywhere(PLAIN[name], FINITE)


def _into(dtype, shape, write):
    def func(x, m):
        out = np.zeros_like(x, shape=shape, dtype=dtype)
        result = write(x, m, out)
        assert result is out
        return out

    return func


WITH_MASK = {
    "sum": lambda x, m: np.sum(x, axis=0, where=m),
    "prod": lambda x, m: np.prod(x, where=m, initial=2),
    "max": lambda x, m: np.max(x, axis=1, where=m, initial=0),
    "min": lambda x, m: x.min(where=m, initial=100),
    "any": lambda x, m: np.any(x, axis=0, where=m),
    "all": lambda x, m: x.all(axis=1, where=m, keepdims=True),
    "mean": lambda x, m: np.mean(x, axis=0, where=m),
    "mean-keepdims": lambda x, m: np.mean(x, axis=(0, 1), where=m, keepdims=True),
    "mean-broadcast": lambda x, m: x.mean(axis=1, where=m[0]),
    "mean-nothing": lambda x, m: np.mean(x, axis=0, where=False),
    "var": lambda x, m: np.var(x, axis=0, where=m),
    "var-ddof": lambda x, m: np.var(x, axis=1, where=m, ddof=1, keepdims=True),
    "std": lambda x, m: np.std(x, where=m),
    "std-mean": lambda x, m: np.std(x, 0, where=m, mean=np.mean(x, 0, where=m, keepdims=True)),
    "average": lambda x, m: np.average(x, weights=m + 1.0),
    "average-axis": lambda x, m: np.average(x, 0, weights=m[:, 0] + 1, returned=True),
    "average-pair": lambda x, m: np.average(x, (1, 0), weights=m.T + 1.0),
    "sum-out": _into(complex, (5,), lambda x, m, o: np.sum(x, axis=0, out=o)),
    "max-out": _into(complex, (5,), lambda x, m, o: np.max(x, axis=0, out=o)),
    "any-out": _into(int, (), lambda x, m, o: np.any(x, out=o)),
    "mean-out": _into(complex, (5,), lambda x, m, o: np.mean(x, axis=0, out=o)),
    "var-out": _into(complex, (1, 5), lambda x, m, o: x.var(axis=0, out=o, keepdims=True)),
    "std-out": _into(complex, (4,), lambda x, m, o: np.std(x, axis=1, where=m, out=o)),
    "argmax-out": _into(np.intp, (5,), lambda x, m, o: np.argmax(x, axis=0, out=o)),
    "cumsum-out": _into(complex, (4, 5), lambda x, m, o: np.cumsum(x, axis=0, out=o)),
    "cumulative-out": _into(
        complex, (4, 6), lambda x, m, o: np.cumulative_sum(x, axis=1, out=o, include_initial=True)
    ),
}


@pytest.mark.parametrize(("name", "dtype"), in_turn(WITH_MASK, ARRAYS))
def test_where_and_out(name, dtype):
    # NumPy rounds a masked sum to half precision at each gap, though the result has more.
    is_half = dtype == "f2" and name in ("std-out", "var-out")
    rtol = TOLERANCE["e"] if is_half else None
    assert_maps(WITH_MASK[name], ARRAYS[dtype], MASK, rtol=rtol)


def test_ptp_out():
    assert_maps(_into(float, (5,), lambda x, m, o: np.ptp(x, axis=0, out=o)), X, MASK)


@pytest.mark.parametrize("name", ["mean", "var-ddof", "average-axis", "max"])
def test_where_everywhere(name):
    mask = MASK | (np.arange(5) > 2)
    assert_maps_everywhere(WITH_MASK[name], FINITE, mask)


EMPTY = {
    "sum": lambda x: np.sum(x, axis=0),
    "prod": np.prod,
    "any": lambda x: np.any(x, axis=1),
    "max": lambda x: np.max(x, axis=1),
    "mean": lambda x: np.mean(x, axis=0),
    "mean-all": np.mean,
    "var": lambda x: np.var(x, axis=0),
    "argmax": lambda x: np.argmax(x, axis=1),
    "count": lambda x: np.count_nonzero(x, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "cumulative": lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    "diff": lambda x: np.diff(x, axis=0),
    "ediff1d": lambda x: np.ediff1d(x, to_end=1),
    "trapezoid": lambda x: np.trapezoid(x, axis=0),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    assert_maps(EMPTY[name], np.zeros((3, 0, 2)))
    assert_maps(EMPTY[name], np.zeros((3, 0, 2), np.float16))


@pytest.mark.parametrize("name", [name for name in PLAIN if "lists" not in name])
def test_size_one(name):
    if name not in ("average-weights", "diff-append", "ediff1d-ends", "trapezoid-x"):
        assert_maps(PLAIN[name], FINITE[:, :1, :1])


ERRORS = {
    "max-empty": (lambda x: np.max(x[:0]), ValueError),
    "argmax-empty": (lambda x: np.argmax(x[:0]), ValueError),
    "argmax-axis": (lambda x: np.argmax(x, axis=3), np.exceptions.AxisError),
    "argmax-out": (lambda x: np.argmax(x, axis=0, out=np.zeros_like(x, dtype=int)), ValueError),
    "mean-axis": (lambda x: np.mean(x, axis=2), np.exceptions.AxisError),
    "mean-where": (lambda x: np.mean(x, where=np.ones((9, 4, 5), bool)), ValueError),
    "var-both": (lambda x: np.var(x, ddof=1, correction=1), ValueError),
    "ptp-bool": (lambda x: np.ptp(x > 0), TypeError),
    "average-no-axis": (lambda x: np.average(x, weights=[1.0, 2.0]), TypeError),
    "average-shape": (lambda x: np.average(x, 0, weights=[1.0, 2.0]), ValueError),
    "average-zero": (lambda x: np.average(x, 0, weights=np.zeros(4)), ZeroDivisionError),
    "average-zero-traced": (lambda x: np.average(x, 0, weights=x[:, 0] * 0), ZeroDivisionError),
    "cumsum-axis": (lambda x: np.cumsum(x, axis=2), np.exceptions.AxisError),
    "cumulative-no-axis": (np.cumulative_sum, ValueError),
    "diff-negative": (lambda x: np.diff(x, n=-1), ValueError),
    "diff-scalar": (lambda x: np.diff(x[0, 0]), ValueError),
    "diff-shape": (lambda x: np.diff(x, prepend=np.zeros((1, 1))), ValueError),
    "ediff1d-cast": (lambda x: np.ediff1d(x.astype(int), to_end=1.5), TypeError),
    "ediff1d-bool": (lambda x: np.ediff1d(x > 0), TypeError),
    "sum-where": (lambda x: np.sum(x, where=np.ones(5)), TypeError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(FINITE[0].copy())
    with pytest.raises(error):
        lw.vmap(func)(FINITE)


def test_the_example_that_fails_is_named():
    weights = np.ones((3, 4))
    weights[1] = 0
    with pytest.raises(ZeroDivisionError, match="in example 1"):
        lw.vmap(lambda w: np.average(np.arange(4.0), weights=w))(weights)
