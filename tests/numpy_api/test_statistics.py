"""Medians, quantiles by every method, covariance, correlation, interpolation in a table."""

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_maps, assert_maps_everywhere
from support.pairing import in_turn

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Mean of empty slice|Degrees of freedom|All-NaN|invalid value)"
)

RNG = np.random.default_rng(0)
FINITE = RNG.normal(size=(3, 4, 5))
X = FINITE.copy()
X[0, 1, 2], X[1, 0, 0], X[2, 3, 4], X[0, 0, 0] = np.nan, np.inf, -0.0, -np.inf
ARRAYS = {
    "f8": X,
    "f4": FINITE.astype(np.float32),
    "f2": FINITE.astype(np.float16),
    "i1": RNG.integers(-100, 100, (3, 4, 5)).astype(np.int8),
    "i8": RNG.integers(-9, 9, (3, 4, 5)),
    "u1": RNG.integers(0, 200, (3, 4, 5)).astype(np.uint8),
}
METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation",
           "interpolated_inverted_cdf", "hazen", "weibull", "linear", "median_unbiased",
           "normal_unbiased", "lower", "higher", "midpoint", "nearest"]  # fmt: skip
Q = [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]


def _into(shape, write, dtype=float):
    def func(x):
        out = np.zeros_like(x, shape=shape, dtype=dtype)
        result = write(x, out)
        assert result is out
        return out

    return func


MEDIAN = {
    "all": np.median,
    "axis": lambda x: np.median(x, axis=0),
    "odd": lambda x: np.median(x, axis=1),
    "tuple": lambda x: np.median(x, axis=(1, 0), keepdims=True),
    "keepdims": lambda x: np.median(x, -1, keepdims=True),
    "of-row": lambda x: np.median(x[0], overwrite_input=True),
    "scalar": lambda x: np.median(x[0, 0]),
    "one": lambda x: np.median(x[:1], axis=0),
    "out": _into((5,), lambda x, o: np.median(x, axis=0, out=o)),
    "out-keepdims": _into((1, 1), lambda x, o: np.median(x, out=o, keepdims=True)),
    "empty": lambda x: np.median(x[:0], axis=0),
    "nothing": lambda x: np.median(x[:0], axis=1),
}


@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("name", MEDIAN)
def test_median(name, dtype):
    assert_maps(MEDIAN[name], ARRAYS[dtype])


def test_median_of_other_dtypes():
    assert_maps(lambda x: np.median(x, axis=0), X > 0)
    assert_maps(lambda x: np.median(x, axis=1), X + 1j * X[::-1])


@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("method", METHODS)
def test_quantile_methods(method, dtype):
    x = ARRAYS[dtype]
    assert_maps(lambda x: np.quantile(x, 0.3, axis=0, method=method), x)
    assert_maps(lambda x: np.quantile(x, Q, axis=1, method=method), x)
    assert_maps(lambda x: np.percentile(x, np.float32([20, 50]), method=method), x)


QUANTILE = {
    "int": lambda x: np.quantile(x, 1),
    "ints": lambda x: np.quantile(x, [0, 1], axis=0),
    "int-hazen": lambda x: np.quantile(x, [0, 1], axis=0, method="hazen"),
    "percentile-int": lambda x: np.percentile(x, 30, axis=1),
    "strong": lambda x: np.quantile(x, np.float64(0.3), axis=0),
    "half": lambda x: np.quantile(x, np.float16([0.3, 0.9]), axis=0),
    "matrix": lambda x: np.quantile(x, [[0.1, 0.2, 0.3], [0.7, 0.8, 0.9]], axis=0),
    "many": lambda x: np.quantile(x, np.linspace(0, 1, 13), axis=(0, 1)),
    "none": lambda x: np.quantile(x, [], axis=0),
    "keepdims": lambda x: np.quantile(x, [0.2, 0.4], axis=1, keepdims=True),
    "keepdims-all": lambda x: np.percentile(x, [20, 40], keepdims=True),
    "tuple": lambda x: np.percentile(x, 35, axis=(0, -1), keepdims=True, overwrite_input=True),
    "scalar": lambda x: np.quantile(x[0, 0], 0.4),
    "size-one": lambda x: np.quantile(x[:1], [0.1, 0.9], axis=0),
    "empty-rest": lambda x: np.quantile(x[:0], 0.5, axis=1),
    "out": _into((2, 5), lambda x, o: np.quantile(x, [0.3, 0.6], 0, o)),
    "out-keepdims": _into((1, 5), lambda x, o: np.quantile(x, 0.3, 0, o, keepdims=True)),
    "out-lower": lambda x: _into(
        (5,), lambda x, o: np.quantile(x, 0.3, 0, o, method="lower"), x.dtype
    )(x),
    "weights": lambda x: np.quantile(
        x, Q, axis=0, weights=[1, 0, 2, 3], method="inverted_cdf"
    ),
    "weights-zero-first": lambda x: np.quantile(
        x, 0, axis=0, weights=[0, 0, 0, 3], method="inverted_cdf"
    ),
    "weights-full": lambda x: np.percentile(
        x, Q, weights=np.arange(20).reshape(4, 5) % 7, method="inverted_cdf"
    ),
    "weights-axes": lambda x: np.quantile(
        x, 0.4, axis=(1, 0), weights=np.arange(20).reshape(5, 4) % 7, method="inverted_cdf"
    ),
    "weights-traced": lambda x: np.quantile(
        x, Q, axis=1, weights=(x * 1.0) ** 2 * 0 + 1, method="inverted_cdf", keepdims=True
    ),
    "weights-float": lambda x: np.quantile(
        x, np.float32(Q), axis=1, weights=[0.2, 0.1, 0.4, 0.2, 0.1], method="inverted_cdf"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), in_turn(QUANTILE, ARRAYS))
def test_quantile(name, dtype):
    x = ARRAYS[dtype]
    if name == "weights-traced":
        x = np.where(np.isfinite(x), x, 1).astype(x.dtype)
    assert_maps(QUANTILE[name], x)


def test_quantile_traced_places():
    q = RNG.random((3, 5))
    for method in METHODS:
        assert_maps(lambda x, q, m=method: np.quantile(x, q, axis=0, method=m), X, q)
        assert_maps(lambda x, q, m=method: np.quantile(x, q[0], method=m), X, q)
    assert_maps(lambda x, q: np.percentile(x, 100 * q, axis=(0, 1)), X, q)
    assert_maps(lambda q: np.quantile([3.0, 1.0, 2.0, 5.0], q), q)
    assert_maps(
        lambda x, q: np.quantile(x, q, 0, weights=[1, 2, 3, 4], method="inverted_cdf"), X, q
    )


def test_bool_quantile():
    for method in ("lower", "nearest", "inverted_cdf"):
        assert_maps(lambda x, m=method: np.quantile(x, 0.3, axis=0, method=m), X > 0)


@pytest.mark.parametrize("name", ["matrix", "tuple", "weights-full"])
def test_quantile_everywhere(name):
    assert_maps_everywhere(QUANTILE[name], FINITE)
    assert_maps_everywhere(MEDIAN["tuple"], FINITE)


C = FINITE + 1j * FINITE[::-1]
COV = {
    "cov": np.cov,
    "columns": lambda x: np.cov(x, rowvar=False),
    "row": lambda x: np.cov(x[0]),
    "row-columns": lambda x: np.cov(x[0], rowvar=False),
    "y": lambda x: np.cov(x, x[::-1] ** 2),
    "y-row": lambda x: np.cov(x[0], x[1]),
    "y-columns": lambda x: np.cov(x, x[:, :2], rowvar=False),
    "y-static": lambda x: np.cov(x, np.arange(5)),
    "bias": lambda x: np.cov(x, bias=True),
    "ddof": lambda x: np.cov(x, ddof=2),
    "ddof-too-many": lambda x: np.cov(x, ddof=9),
    "dtype": lambda x: np.cov(x, dtype=np.complex64),
    "fweights": lambda x: np.cov(x, fweights=[1, 0, 2, 1, 3]),
    "fweights-ddof": lambda x: np.cov(x, fweights=np.array([1, 0, 2, 1, 3]), ddof=0),
    "aweights": lambda x: np.cov(x, aweights=[0.5, 1, 2, 0.25, 1]),
    "both": lambda x: np.cov(x, fweights=[1, 2, 2, 1, 3], aweights=[0.5, 1, 2, 0.25, 1], ddof=1),
    "traced-weights": lambda x: np.cov(x, aweights=np.abs(x[0])),
    "traced-fweights": lambda x: np.cov(x, fweights=np.rint(np.abs(x[0])) + 1, bias=True),
    "scalar": lambda x: np.cov(x[0, 0]),
    "none": lambda x: np.cov(x[:0]),
    "corrcoef": np.corrcoef,
    "corrcoef-columns": lambda x: np.corrcoef(x, rowvar=False),
    "corrcoef-row": lambda x: np.corrcoef(x[0]),
    "corrcoef-y": lambda x: np.corrcoef(x, x[::-1]),
    "corrcoef-pair": lambda x: np.corrcoef(x[0], x[1]),
    "corrcoef-none": lambda x: np.corrcoef(x[:0]),
    "corrcoef-dtype": lambda x: np.corrcoef(x, dtype=np.complex64),
}


@pytest.mark.parametrize(
    "x", [FINITE, C, ARRAYS["i8"], ARRAYS["f4"]], ids=["f8", "c16", "i8", "f4"]
)
@pytest.mark.parametrize("name", COV)
def test_cov(name, x):
    rtol = 1e-5 if "dtype" in name else 1e-11
    if name == "ddof-too-many" and x is C:
        x = x * 0 + 1j  # else imaginary parts are rounding errors, or zeros, divided by zero
    assert_maps(COV[name], x, rtol=rtol)


@pytest.mark.parametrize("name", ["cov", "corrcoef-y", "traced-weights"])
def test_cov_everywhere(name):
    assert_maps_everywhere(COV[name], FINITE, rtol=1e-11)


def test_cov_of_single_precision():
    assert_maps(lambda x: np.cov(x, dtype=np.float32), ARRAYS["f4"])
    assert_maps(lambda x: np.corrcoef(x, dtype=np.float32), ARRAYS["f4"], rtol=1e-5)


XP = np.sort(RNG.normal(size=(3, 6)), axis=1)
FP = RNG.normal(size=(3, 6))
AT = np.concatenate([RNG.normal(size=(3, 5)) * 2, XP[:, ::3], [[np.nan], [np.inf], [-np.inf]]], 1)
COMPLEX = FP + 1j * FP[::-1]
INTERP = {
    "plain": np.interp,
    "ends": lambda x, xp, fp: np.interp(x, xp, fp, left=-9, right=9.5),
    "traced-ends": lambda x, xp, fp: np.interp(x, xp, fp, left=fp[3], right=fp[2]),
    "left": lambda x, xp, fp: np.interp(x, xp, fp, left=np.nan),
    "scalar": lambda x, xp, fp: np.interp(x[0], xp, fp),
    "matrix": lambda x, xp, fp: np.interp(np.stack([x, x[::-1]]), xp, fp),
    "period": lambda x, xp, fp: np.interp(x, xp, fp, period=1.5),
    "period-negative": lambda x, xp, fp: np.interp(x, xp * 5, fp, left=3, period=-4),
    "two": lambda x, xp, fp: np.interp(x, xp[:2], fp[:2]),
    "one": lambda x, xp, fp: np.interp(x, xp[:1], fp[:1], left=1, right=2),
    "nothing": lambda x, xp, fp: np.interp(x[:0], xp, fp),
    "static-table": lambda x, xp, fp: np.interp(x, [-1.0, 0, 2], [3, 1, 2]),
    "static-x": lambda x, xp, fp: np.interp([-9.0, 0, 0.5], xp, fp),
    "static-xp": lambda x, xp, fp: np.interp(x, np.arange(6) - 3, fp),
    "static-period": lambda x, xp, fp: np.interp(x, [10, -5, 2], [3, 1, 2], period=7),
}


@pytest.mark.parametrize("fp", [FP, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("name", INTERP)
def test_interp(name, fp):
    assert_maps(INTERP[name], AT, XP, fp)


def test_interp_everywhere():
    assert_maps_everywhere(np.interp, AT[:, :7], XP, FP)


def test_interp_dtypes_and_values_that_are_not_finite():
    x = np.tile(np.linspace(-1, 7, 33), (3, 1))
    xp = np.tile(np.arange(6.0), (3, 1))
    fp = RNG.choice([0.0, 1.0, np.inf, -np.inf, np.nan], (3, 6))
    assert_maps(np.interp, x, xp, fp)
    assert_maps(np.interp, x, xp, fp + 1j * fp[::-1])
    assert_maps(np.interp, x.astype(np.float32), xp.astype(np.int8), FP.astype(np.float16))
    xp[:, 4:] = np.inf
    assert_maps(np.interp, x, xp, FP)


ERRORS = {
    "median-axis": (lambda x: np.median(x, axis=2), np.exceptions.AxisError),
    "quantile-range": (lambda x: np.quantile(x, 1.1), ValueError),
    "quantile-nan": (lambda x: np.quantile(x, np.nan), ValueError),
    "quantile-traced-range": (lambda x: np.quantile(x, np.abs(x[0]) + 1.5), ValueError),
    "percentile-range": (lambda x: np.percentile(x, [-1, 3]), ValueError),
    "quantile-method": (lambda x: np.quantile(x, 0.1, method="cubic"), ValueError),
    "quantile-deep": (lambda x: np.quantile(x, np.zeros((1, 1, 1))), ValueError),
    "quantile-complex": (lambda x: np.quantile(x + 1j, 0.1), TypeError),
    "quantile-bool": (lambda x: np.quantile(x > 0, 0.1), TypeError),
    "quantile-empty": (lambda x: np.quantile(x[:0], 0.1, axis=0), IndexError),
    "weights-method": (lambda x: np.quantile(x, 0.1, weights=x * x), ValueError),
    "weights-negative": (
        lambda x: np.quantile(x, 0.1, weights=x, method="inverted_cdf"), ValueError,
    ),
    "weights-zero": (
        lambda x: np.quantile(x, 0.1, weights=x * 0, method="inverted_cdf"), ValueError,
    ),
    "weights-shape": (
        lambda x: np.quantile(x, 0.1, 0, weights=[1, 2], method="inverted_cdf"), ValueError,
    ),
    "weights-axis": (
        lambda x: np.quantile(x, 0.1, weights=[1, 2], method="inverted_cdf"), TypeError,
    ),
    "cov-deep": (lambda x: np.cov(x[None]), ValueError),
    "cov-y-deep": (lambda x: np.cov(x, x[None]), ValueError),
    "cov-ddof": (lambda x: np.cov(x, ddof=1.5), ValueError),
    "cov-fweights": (lambda x: np.cov(x, fweights=[0.5] * 5), TypeError),
    "cov-fweights-traced": (lambda x: np.cov(x, fweights=np.abs(x[0])), TypeError),
    "cov-fweights-negative": (lambda x: np.cov(x, fweights=[-1] * 5), ValueError),
    "cov-fweights-deep": (lambda x: np.cov(x, fweights=[[1] * 5]), RuntimeError),
    "cov-aweights-size": (lambda x: np.cov(x, aweights=[1] * 4), RuntimeError),
    "cov-aweights-negative": (lambda x: np.cov(x, aweights=-np.abs(x[0])), ValueError),
    "cov-sizes": (lambda x: np.cov(x, x[:, :3]), ValueError),
    "interp-none": (lambda x: np.interp(x, x[0, :0], x[0, :0]), ValueError),
    "interp-sizes": (lambda x: np.interp(x, x[0], x[0, :2]), ValueError),
    "interp-deep": (lambda x: np.interp(x, x, x), ValueError),
    "interp-complex": (lambda x: np.interp(x + 1j, x[0], x[0]), TypeError),
    "interp-left": (lambda x: np.interp(x, x[0], x[0], left=1j), TypeError),
    "interp-period": (lambda x: np.interp(x, x[0], x[0], period=0), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(FINITE[0].copy())
    with pytest.raises(error):
        lw.vmap(func)(FINITE)


def test_interp_in_a_table_that_is_not_traced_is_numpys_own():
    xp, fp = np.linspace(-1, 1, 9), np.cos(np.arange(9.0))
    x = np.array([[-5, -1, np.nan, 0.3], [np.inf, 1, -0.0, -np.inf]])
    seen = lw.explain(lw.vmap(lambda v: np.interp(v, xp, fp, left=7)), x)
    assert [row.operation for row in seen.rows if row.operation == "interp"] == ["interp"]
    np.testing.assert_array_equal(
        lw.vmap(lambda v: np.interp(v, xp, fp, left=7))(x), np.interp(x, xp, fp, left=7)
    )
    ends = np.array([0.5, 2.5])  # a value beyond the table that differs from example to example
    assert_maps(lambda v, end: np.interp(v, xp, fp, right=end), x, ends)


def test_interp_gives_no_warning_of_its_own():
    xp = np.array([[0.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    fp = np.array([[0.0, 3.0, 5.0, 7.0], [1.0, 2.0, 3.0, 4.0]])
    x = np.array([[0.5, 1.0, 1.5], [0.0, 1.0, 2.0]])
    with np.errstate(all="raise"):
        got = lw.vmap(np.interp)(x, xp, fp)
    expected = np.stack([np.interp(*row) for row in zip(x, xp, fp, strict=True)])
    np.testing.assert_array_equal(got, expected)
