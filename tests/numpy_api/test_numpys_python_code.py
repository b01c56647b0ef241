"""What NumPy writes in Python, and does not dispatch: followed in traced functions."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial
from numpy.polynomial import chebyshev as cheb
from numpy.polynomial import hermite as herm
from numpy.polynomial import hermite_e as herme
from numpy.polynomial import laguerre as lag
from numpy.polynomial import legendre as leg
from numpy.polynomial import polynomial as poly

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.oracle import assert_maps

XS = np.random.default_rng(7).normal(size=(3, 5))
C = [1.0, 2.0, 3.0]


def weighted_places(x):
    total = 0.0
    for (i, j), v in np.ndenumerate(x.reshape(1, 5)):
        if v > 0:
            total += v * (i + j)
    return total


def indices(x):
    total = 0.0
    for i in np.ndindex(x.shape):
        total += x[i]
    return total


@np.vectorize
def relu(a):
    if a < 0:
        return 0.0
    return a


scaled = np.vectorize(lambda a, b: a * b if a > 0 else -a)
both = np.vectorize(lambda a: (a + 1, a > 0))
dots = np.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")
narrow = np.vectorize(lambda a: a / 3, otypes=[np.float32])
powers = np.vectorize(lambda a, n: a**n, excluded={1})

FOLLOWED = {
    "polyval": lambda x: poly.polyval(x, C),
    "polyval, coefficients": lambda x: poly.polyval(0.5, x),
    "polyval, both": lambda x: poly.polyval(x, x),
    "polyval2d": lambda x: poly.polyval2d(x, x, np.ones((2, 3))),
    "polygrid2d": lambda x: poly.polygrid2d(x, x, np.ones((2, 3))),
    "polyder": lambda x: poly.polyder(x),
    "polyint": lambda x: poly.polyint(x, 2),
    "polyadd": lambda x: poly.polyadd(x, [1.0, 2.0]),
    "polysub": lambda x: poly.polysub(x[:2], x),
    "polymul": lambda x: poly.polymul(x, [1.0, 2.0]),
    "polydiv": lambda x: poly.polydiv(x, [1.0, 2.0])[0],
    "polypow": lambda x: poly.polypow(x, 2),
    "polymulx": lambda x: poly.polymulx(x),
    "polyfromroots": lambda x: poly.polyfromroots(x),
    "polyvalfromroots": lambda x: poly.polyvalfromroots(0.5, x),
    "polyvander": lambda x: poly.polyvander(x, 3),
    "polycompanion": lambda x: poly.polycompanion(x),
    "polyfit": lambda x: poly.polyfit(np.arange(5.0), x, 2),
    "chebval": lambda x: cheb.chebval(x, C),
    "chebval, coefficients": lambda x: cheb.chebval(0.3, x),
    "chebder": lambda x: cheb.chebder(x),
    "chebmul": lambda x: cheb.chebmul(x, x),
    "legval": lambda x: leg.legval(0.3, x),
    "legint": lambda x: leg.legint(x),
    "hermval": lambda x: herm.hermval(x, C),
    "hermeval": lambda x: herme.hermeval(x, C),
    "lagval": lambda x: lag.lagval(x, C),
    "Polynomial": lambda x: Polynomial(C)(x),
    "Polynomial of data": lambda x: Polynomial(x)(0.5),
    "Polynomial, derivative": lambda x: Polynomial(C).deriv()(x),
    "Chebyshev": lambda x: Chebyshev(C)(x),
    "r_": lambda x: np.r_[x, x, 0.0],
    "r_, slices": lambda x: np.r_[0.0, x[1:], 1:3, 0:1:3j],
    "r_, scalars": lambda x: np.r_[x[0], x[1]],
    "r_, float32": lambda x: np.r_[x.astype(np.float32), 1.0, 2],
    "r_, directive": lambda x: np.r_["0,2", x, x],
    "c_": lambda x: np.c_[np.ones(5), x],
    "extract": lambda x: np.extract(x > 0, x).sum(),
    "extract, known": lambda x: np.extract([True, False, True, False, False], x),
    "ndenumerate": weighted_places,
    "ndindex": indices,
    "vectorize": lambda x: relu(x),
    "vectorize, two": lambda x: scaled(x[:, None], x),
    "vectorize, by name": lambda x: scaled(x, b=2.0),
    "vectorize, tuple": lambda x: both(x)[0] * both(x)[1],
    "vectorize, signature": lambda x: dots(x, x),
    "vectorize, made inside": lambda x: np.vectorize(lambda t: t * x[0])(x),
    "vectorize, otypes": lambda x: narrow(x),
    "vectorize, excluded": lambda x: powers(x, 3),
    "vectorize, ints": lambda x: scaled(x.astype(int), 2),
    "vectorize, of known": lambda x: relu([-1.0, 2.0])[1] * x,
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_it_is_followed(name):
    f = FOLLOWED[name]
    assert_maps(f, XS, rtol=1e-12, atol=1e-12)
    want, got = f(XS[0]), lw.function(f)(XS[0])
    assert type(got) is type(want)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_coefficients_that_would_be_cut_off_are_refused():
    with pytest.raises(ValueError, match="cuts off coefficients at the end that are 0"):
        lw.vmap(lambda x: poly.polymul(x, x))(np.array([[1.0, 2.0], [1.0, 0.0]]))


def test_dtypes_that_numpy_takes_from_the_first_element_are_refused():
    with pytest.raises(UnsupportedError, match=r"np\.vectorize of an array of float32"):
        lw.vmap(lambda x: relu(x))(XS.astype(np.float32))


def test_a_scalar_gives_an_array_without_dimensions():
    f = lambda x: relu(x[0])  # noqa: E731
    assert type(f(XS[0])) is type(lw.function(f)(XS[0]))


def test_a_dtype_that_the_data_decide_is_refused():
    mixed = np.vectorize(lambda a: 0 if a < 0 else a)
    with pytest.raises(UnsupportedError, match="gives the dtype that the first element has"):
        lw.vmap(lambda x: mixed(x))(XS)
    told = np.vectorize(lambda a: 0 if a < 0 else a, otypes=[float])
    assert_maps(lambda x: told(x), XS)


def test_it_is_called_where_the_data_decide():
    assert_maps(lambda x: scaled(x, 2.0) if x[0] > 0 else relu(x), XS)


GRIDS = {
    "r_": lambda n: np.r_[0:n, n].sum(),
    "mgrid": lambda n: [np.prod(np.mgrid[0:n, 0:n], axis=0).sum()],
    "ogrid": lambda n: [(a * b).sum() + a.sum() for a, b in [np.ogrid[1:n, : n + 2]]],
    "one axis": lambda n: (np.ogrid[0:n].sum(), np.mgrid[n:0:-1].sum()),
    "steps": lambda n: np.mgrid[1 : 2 * n : 2, 0:3].sum(),
    "a step of data": lambda n: np.mgrid[0 : 6 : n + 1, 0:2].sum(),
    "around": lambda n: sum([a**2 + b**2 <= n for a, b in [np.ogrid[-n : n + 1, -2:3]]]).sum(),
    "floats": lambda n: np.mgrid[0 : n * 0.5, 0:2].sum(),
    "numbers of points": lambda n: np.mgrid[0:n:5j, 1:n:3j],
    "open, points": lambda n: np.ogrid[0:n:5j],
    "the shape of an array": lambda n: [
        (i * j + m[i, j]).sum()
        for m in [np.ones((n + 1, n + 2))]
        for i, j in [np.ogrid[0 : m.shape[0], : m.shape[1]]]
    ],
    "where the data steer": lambda n: (
        np.mgrid[0:n, 0:2].sum() if n > 2 else np.mgrid[0:2, 0:n].sum()
    ),
}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("dtype", [int, np.int8])
def test_grids_between_bounds_that_are_data(name, dtype):
    assert_maps(GRIDS[name], np.array([2, 5, 0, 1], dtype))


def test_grids_of_any_size():
    def f(x):
        i, j = np.ogrid[0 : x.shape[0], 0 : x.shape[1]]
        return ((i + 2 * j) * x).sum() + np.mgrid[: len(x), : len(x)].sum()

    g = lw.function(f, input_signature=[lw.TensorSpec([None, None])])
    for shape in ((3, 4), (1, 5), (2, 2)):
        x = np.ones(shape)
        assert g(x) == f(x)


def test_a_grid_of_fewer_than_no_points_raises():
    with pytest.raises(ValueError, match="negative dimensions"):
        lw.vmap(lambda n: np.mgrid[0:n, 5:n].sum())(np.array([7, 2]))
