"""The functions that leave NaNs out."""

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
X = np.where(RNG.random(FINITE.shape) < 0.3, np.nan, FINITE)
X[1, :, 2] = np.nan  # a whole column, a whole row
X[2, 3, :] = np.nan
X[0, 0, :2] = np.inf, -np.inf
MASK = RNG.random((3, 4, 5)) < 0.6
ARRAYS = {
    "f8": X,
    "f4": X.astype(np.float32),
    "f2": X.astype(np.float16),
    "c16": X + 1j * FINITE,
    "i8": RNG.integers(-9, 9, (3, 4, 5)),
    "u1": RNG.integers(0, 200, (3, 4, 5)).astype(np.uint8),
    "bool": RNG.random((3, 4, 5)) < 0.5,
}
REDUCTIONS = {
    "nansum": np.nansum,
    "nansum-axis": lambda x: np.nansum(x, axis=0, initial=3),
    "nansum-dtype": lambda x: np.nansum(x, 1, np.complex64, keepdims=True),
    "nanprod": np.nanprod,
    "nanprod-axis": lambda x: np.nanprod(x, axis=(0, 1), keepdims=True),
    "nanmin": np.nanmin,
    "nanmin-axis": lambda x: np.nanmin(x, axis=0),
    "nanmax-axis": lambda x: np.nanmax(x, axis=1, keepdims=True),
    "nanmax-initial": lambda x: np.nanmax(x, axis=(0, 1), initial=1),
    "nanmean": np.nanmean,
    "nanmean-axis": lambda x: np.nanmean(x, axis=0),
    "nanmean-keepdims": lambda x: np.nanmean(x, axis=(0, -1), keepdims=True),
    "nanmean-dtype": lambda x: np.nanmean(x, axis=1, dtype=np.complex64),
    "nanvar": np.nanvar,
    "nanvar-axis": lambda x: np.nanvar(x, axis=0, ddof=1),
    "nanvar-keepdims": lambda x: np.nanvar(x, axis=1, keepdims=True, correction=2),
    "nanvar-mean": lambda x: np.nanvar(x, 0, mean=np.nanmean(x, axis=0, keepdims=True)),
    "nanstd": lambda x: np.nanstd(x, axis=(0, 1)),
    "nanstd-ddof": lambda x: np.nanstd(x, axis=0, ddof=2),
    "nancumsum": np.nancumsum,
    "nancumsum-axis": lambda x: np.nancumsum(x, axis=0),
    "nancumprod": lambda x: np.nancumprod(x, axis=-1, dtype=np.complex64),
    "nanmedian": np.nanmedian,
    "nanmedian-axis": lambda x: np.nanmedian(x, axis=0),
    "nanmedian-odd": lambda x: np.nanmedian(x, axis=1, keepdims=True),
    "nanmedian-tuple": lambda x: np.nanmedian(x, axis=(1, 0), overwrite_input=True),
    "nanmedian-row": lambda x: np.nanmedian(x[3]),
    "nanmedian-scalar": lambda x: np.nanmedian(x[0, 0]),
}


@pytest.mark.parametrize(("name", "dtype"), in_turn(REDUCTIONS, ARRAYS))
def test_reductions(name, dtype):
    assert_maps(REDUCTIONS[name], ARRAYS[dtype])


PLACES = {
    "nanargmin": np.nanargmin,
    "nanargmin-axis": lambda x: np.nanargmin(x, axis=0),
    "nanargmax-axis": lambda x: np.nanargmax(x, axis=1),
    "nanargmax": lambda x: np.nanargmax(x, keepdims=True),
}


@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("name", PLACES)
def test_places(name, dtype):
    x = ARRAYS[dtype].copy()
    x[:, 0, :] = x[:, :, 0] = 1
    assert_maps(PLACES[name], x)
    assert_maps(PLACES[name], x[:, :0]) if name == "nanargmax-axis" else None


def test_no_place_among_nans_names_the_example():
    assert_maps(lambda x: np.nanargmax(x, axis=0), X[:1])
    for func in (np.nanargmin, np.nanargmax):
        with pytest.raises(ValueError, match="All-NaN slice encountered"):
            func(X[1], axis=0)
        with pytest.raises(ValueError, match=r"(?s)All-NaN slice encountered.*in example 1"):
            lw.vmap(lambda x, f=func: f(x, axis=0))(X)


def _into(shape, write, dtype=float):
    def func(x, m):
        out = np.zeros_like(x, shape=shape, dtype=dtype)
        result = write(x, m, out)
        assert result is out
        return out

    return func


WITH_MASK = {
    "nansum": lambda x, m: np.nansum(x, axis=0, where=m),
    "nanprod": lambda x, m: np.nanprod(x, where=m, initial=2),
    "nanmin": lambda x, m: np.nanmin(x, axis=1, where=m, initial=9),
    "nanmax": lambda x, m: np.nanmax(x, axis=1, where=m, initial=-9),
    "nanmean": lambda x, m: np.nanmean(x, axis=0, where=m),
    "nanvar": lambda x, m: np.nanvar(x, axis=0, where=m, keepdims=True),
    "nanstd": lambda x, m: np.nanstd(x, where=m),
    "sum-out": _into((5,), lambda x, m, o: np.nansum(x, axis=0, out=o)),
    "min-out": _into((5,), lambda x, m, o: np.nanmin(x, axis=0, out=o)),
    "mean-out": _into((5,), lambda x, m, o: np.nanmean(x, axis=0, out=o)),
    "var-out": _into((5,), lambda x, m, o: np.nanvar(x, axis=0, out=o)),
    "std-out": _into((5,), lambda x, m, o: np.nanstd(x, axis=0, out=o)),
    "median-out": _into((5,), lambda x, m, o: np.nanmedian(x, axis=0, out=o)),
    "quantile-out": _into((2, 5), lambda x, m, o: np.nanquantile(x, [0.1, 0.9], 0, o)),
    "cumsum-out": _into((4, 5), lambda x, m, o: np.nancumsum(x, axis=0, out=o)),
}


@pytest.mark.parametrize("name", WITH_MASK)
def test_where_and_out(name):
    assert_maps(WITH_MASK[name], X, MASK)


METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation",
           "interpolated_inverted_cdf", "hazen", "weibull", "linear", "median_unbiased",
           "normal_unbiased", "lower", "higher", "midpoint", "nearest"]  # fmt: skip
Q = [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8"])
@pytest.mark.parametrize("method", METHODS)
def test_quantile_methods(method, dtype):
    x = ARRAYS[dtype]
    assert_maps(lambda x: np.nanquantile(x, 0.3, axis=0, method=method), x)
    assert_maps(lambda x: np.nanquantile(x, Q, axis=1, method=method), x)
    assert_maps(lambda x: np.nanpercentile(x, np.float32([20, 50]), method=method), x)


QUANTILE = {
    "int": lambda x: np.nanquantile(x, 1),
    "ints": lambda x: np.nanquantile(x, [0, 1], axis=0),
    "percentile-int": lambda x: np.nanpercentile(x, 30, axis=1),
    "matrix": lambda x: np.nanquantile(x, [[0.1, 0.2, 0.3], [0.7, 0.8, 0.9]], axis=0),
    "keepdims": lambda x: np.nanquantile(x, [0.2, 0.4], axis=1, keepdims=True),
    "keepdims-all": lambda x: np.nanpercentile(x, [20, 40], keepdims=True),
    "tuple": lambda x: np.nanpercentile(x, 35, axis=(0, -1), keepdims=True),
    "scalar": lambda x: np.nanquantile(x[0, 0], 0.4),
    "empty": lambda x: np.nanquantile(x[:0], 0.4, axis=0),
    "weights": lambda x: np.nanquantile(
        x, Q, axis=0, weights=np.arange(20).reshape(4, 5) % 7 + 1, method="inverted_cdf"
    ),
    "weights-traced": lambda x: np.nanpercentile(
        x, Q, weights=np.arange(20).reshape(4, 5) + (x != x), method="inverted_cdf"
    ),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8"])
@pytest.mark.parametrize("name", QUANTILE)
def test_quantile(name, dtype):
    assert_maps(QUANTILE[name], ARRAYS[dtype])


def test_quantile_traced_places():
    q = RNG.random((3, 5))
    for method in METHODS:
        assert_maps(lambda x, q, m=method: np.nanquantile(x, q, axis=0, method=m), X, q)


@pytest.mark.parametrize("name", ["nansum-axis", "nanvar-axis", "nanmedian-odd", "nanmax-axis"])
def test_everywhere(name):
    assert_maps_everywhere(REDUCTIONS[name], X)


def test_quantile_everywhere():
    assert_maps_everywhere(QUANTILE["matrix"], X)
    assert_maps_everywhere(PLACES["nanargmin"], X)


EMPTY = ["nansum-axis", "nanprod", "nanmean-axis", "nanvar-axis", "nanmedian-axis", "nancumsum"]


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    assert_maps(REDUCTIONS[name], np.zeros((3, 0, 2)))


ERRORS = {
    "nanmin-empty": (lambda x: np.nanmin(x[:0]), ValueError),
    "nanargmin-empty": (lambda x: np.nanargmin(x[:0]), ValueError),
    "nanmean-dtype": (lambda x: np.nanmean(x, dtype=int), TypeError),
    "nanvar-dtype": (lambda x: np.nanvar(x, dtype=int), TypeError),
    "nanvar-both": (lambda x: np.nanvar(x, ddof=1, correction=1), ValueError),
    "nanmedian-axis": (lambda x: np.nanmedian(x, axis=2), np.exceptions.AxisError),
    "nanquantile-range": (lambda x: np.nanquantile(x, 1.1), ValueError),
    "nanpercentile-range": (lambda x: np.nanpercentile(x, 101), ValueError),
    "nanquantile-method": (lambda x: np.nanquantile(x, 0.1, method="cubic"), ValueError),
    "nanquantile-complex": (lambda x: np.nanquantile(x + 1j, 0.1), TypeError),
    "weights-method": (lambda x: np.nanquantile(x, 0.1, weights=np.ones((4, 5))), ValueError),
    "weights-negative": (
        lambda x: np.nanquantile(x, 0.1, weights=-(x * x), method="inverted_cdf"), ValueError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(FINITE[0].copy())
    with pytest.raises(error):
        lw.vmap(func)(FINITE)
