"""Element by element: where, clip, round, isclose, parts of complex numbers, bits."""

import re
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import DataDependentShapeError, UnsupportedError
from support.oracle import assert_maps, assert_maps_everywhere

pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4, 5)) * 3
X[0, 0] = [np.nan, np.inf, -np.inf, -0.0, 0.0]
Y = rng.normal(size=(3, 5))
Z = X + 1j * X[:, ::-1]
INTEGERS = [np.int8, np.uint8, np.int64, np.uint64]
EVERY = [bool, *INTEGERS, np.float16, np.float32, np.float64, np.complex64, np.complex128]

ONE = {
    "round": lambda x: (np.round(x), np.around(x, 2), x.round(1), np.round(x, -1), np.round(x, 0)),
    "fix": lambda x: np.fix(x),
    "nan_to_num": lambda x: (
        np.nan_to_num(x), np.nan_to_num(x, nan=1.5), np.nan_to_num(x, posinf=9, neginf=-9)
    ),
    "nan_to_num in place": lambda x: nan_to_num_in_place(x.copy()),
    "real and imag": lambda x: (np.real(x), np.imag(x), x.real, x.imag),
    "angle": lambda x: (np.angle(x), np.angle(x, deg=True)),
    "conj": lambda x: (np.conj(x), np.conjugate(x), x.conj(), x.conjugate()),
    "iscomplex": lambda x: (np.iscomplex(x), np.isreal(x)),
    "isinf": lambda x: (np.isneginf(x), np.isposinf(x)),
    "sinc": lambda x: np.sinc(x),
    "i0": lambda x: np.i0(x),
    "clip": lambda x: (
        np.clip(x, -1, 1), np.clip(x, None, 1.5), np.clip(x, 0, None), x.clip(-1, 2), x.clip(0),
        np.clip(x, min=0), np.clip(x, max=0.5), np.clip(x, min=-1, max=1), x.clip(max=1),
        np.clip(x, x[0], 2), np.clip(x, 2, 1), np.clip(x, None, None), np.clip(x, [1], 3),
    ),
    "where": lambda x: (
        np.where(x > 0, x, 0), np.where(x > 0, 1, x), np.where(x, x, -x), np.where(x > 0, 1, 2),
        np.where(x[0] > 0, x, 1.5), np.where([True, False, True, False, True], x, x * 2),
        np.where(x > 0, True, False), np.where(True, x, 1),
    ),
    "isclose": lambda x: (
        np.isclose(x, x + 1e-9), np.isclose(x, 0.0), np.isclose(x, x, equal_nan=True),
        np.isclose(0, x), np.isclose(x, x * 1.01, rtol=0.1), np.isclose(x, x + 1e-3, atol=1e-2),
        np.allclose(x, x), np.allclose(x[1], x[1]), np.allclose(x, x, equal_nan=True),
    ),
    "array_equal": lambda x: (
        np.array_equal(x, x), np.array_equal(x[1], x[1]), np.array_equal(x, x[0]),
        np.array_equal(x, x, equal_nan=True), np.array_equal(x, -x, equal_nan=True),
        np.array_equiv(x, x[0]), np.array_equiv(x[1], x[1]), np.array_equiv(x, x[:, :2]),
    ),
}  # fmt: skip
ORDERED = ("i0", "fix", "isinf")


def nan_to_num_in_place(x):
    row = x[0]
    np.nan_to_num(row, copy=False)
    return x


@pytest.mark.parametrize("func", ONE.values(), ids=ONE.keys())
def test_of_floats(func):
    assert_maps_everywhere(func, X)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("name", ONE)
def test_dtypes(name, dtype):
    if (np.dtype(dtype).kind == "c" and name in ORDERED) or (dtype is bool and name == "round"):
        return
    source = Z if np.dtype(dtype).kind == "c" else X
    with np.errstate(all="ignore"):
        x = (source if np.dtype(dtype).kind in "fc" else np.nan_to_num(source, posinf=9)).astype(
            dtype
        )
    try:
        with np.errstate(all="ignore"):
            ONE[name](x[0])
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(type(error).__mro__[-4 if isinstance(error, TypeError) else 0]):
            lw.vmap(ONE[name])(x)
        return
    assert_maps(ONE[name], x)
    assert_maps(ONE[name], x[:, :, :1])


@pytest.mark.parametrize("name", [n for n in ONE if n not in ("where", "clip")])
def test_empty(name):
    assert_maps(ONE[name], np.zeros((3, 2, 0)))


def test_of_scalars():
    def func(x):
        return (np.round(x, 1), np.nan_to_num(x), np.angle(x), np.sinc(x), np.clip(x, 0, 1),
                np.where(x > 0, x, -x), np.isclose(x, 1), np.i0(x), np.fix(x),
                round(x, 1))  # fmt: skip

    assert_maps(func, Y[:, 0].copy())


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_rounding_integers_to_tens(dtype):
    x = np.arange(-128, 127, 5).astype(dtype).reshape(3, -1)
    assert_maps(lambda x: (np.round(x, -1), np.round(x, -2), np.round(x, 1)), x)


TWO = {
    "where": lambda x, y: (np.where(y > 0, x, y), np.where(x > 0, y, 1), np.where(x > y, x, y)),
    "clip": lambda x, y: (
        np.clip(x, y, y + 1),
        np.clip(x, -1, y),
        x.clip(max=y),
        np.clip(0.5, y, 1),
    ),
    "clip dtype": lambda x, y: np.clip(x, 0, y, dtype=np.float64),
    "isclose": lambda x, y: (np.isclose(x, y, 0.5), np.isclose(x, 1.0, rtol=0, atol=abs(y))),
    "allclose": lambda x, y: np.allclose(x[1], y, atol=9),
    "array_equal": lambda x, y: (np.array_equal(x[1], y), np.array_equiv(x, y)),
    "out": lambda x, y: into(x, y),
}


def into(x, y):
    a, b, c, d, e = (np.zeros_like(x) for _ in range(5))
    np.clip(x, -1, 1, out=a)
    np.round(x, 1, out=b)
    np.fix(x, out=c)
    np.clip(x, y, None, out=d[...])
    np.clip(x, 0, 1, e, where=x > y)
    flags = np.zeros_like(x, dtype=bool)
    np.isposinf(x, out=flags)
    return a, b, c, d, e, flags


@pytest.mark.parametrize("func", TWO.values(), ids=TWO.keys())
def test_two_arguments(func):
    assert_maps_everywhere(func, X, Y)
    if func is not TWO["out"]:
        assert_maps(func, X.astype(np.float32), Y)
        assert_maps(func, X[1:].astype(np.int16), Y[1:].astype(np.float32))


def test_weak_numbers():
    def func(x):
        return (np.where(x > 0, x, 1), np.where(x > 0, x, 1.5),
                np.clip(x, 0, 3), np.clip(x, -1000, 1000), np.isclose(x, 3))  # fmt: skip

    def beyond(x):
        return np.where(x > 0, 300, x)

    for dtype in (np.int8, np.uint8, np.float16, np.float32):
        x = np.arange(12).reshape(3, 4).astype(dtype)
        assert_maps(func, x)
        try:
            beyond(x[0])
        except OverflowError as error:  # since NumPy 2.5
            with pytest.raises(OverflowError, match=re.escape(str(error))):
                lw.vmap(beyond)(x)
        else:
            assert_maps(beyond, x)


def test_what_numpy_deprecates_warns_where_numpy_warns():
    def fixed(x):
        return np.fix(x)

    def warned(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        return {(w.category, str(w.message), w.filename, w.lineno) for w in found}

    assert warned(lambda: lw.vmap(fixed)(X[0])) == warned(lambda: fixed(X[0]))


@pytest.mark.parametrize("discont", [None, 4.0])
def test_unwrap(discont):
    p = np.cumsum(rng.normal(size=(3, 2, 9)) * 3, -1)
    p[0, 0, 3:5] = [0, np.pi]
    assert_maps_everywhere(lambda p: np.unwrap(p, discont), p)
    assert_maps(lambda p: (np.unwrap(p, discont, axis=0), np.unwrap(p, period=5.0)), p)
    assert_maps(lambda p: (np.unwrap(p, period=8), np.unwrap(p, period=7)), p.astype(int))
    assert_maps(lambda p: np.unwrap(p, period=6.0), p.astype(np.float32))


def test_bits():
    x = rng.integers(0, 2, (3, 4, 11))
    for dtype in (bool, np.uint8, np.int64):
        assert_maps(
            lambda x: (np.packbits(x), np.packbits(x, axis=0), np.packbits(x, -1, "little")),
            x.astype(dtype),
        )
    b = rng.integers(0, 256, (3, 2, 4)).astype(np.uint8)
    assert_maps_everywhere(
        lambda b: (np.unpackbits(b), np.unpackbits(b, axis=0), np.unpackbits(b, 1, count=5),
                   np.unpackbits(b, axis=1, count=-3), np.unpackbits(b, 1, 40),
                   np.unpackbits(b, axis=-1, bitorder="little")), b,
    )  # fmt: skip


BAD = {
    "clip missing": lambda x: np.clip(x, 1),
    "clip twice": lambda x: np.clip(x, 0, 1, max=2),
    "clip shape": lambda x: np.clip(x, np.ones(3), None),
    "where shape": lambda x: np.where(x > 0, np.ones(3), x),
    "where two": lambda x: np.where(x > 0, x),
    "isposinf": lambda x: np.isposinf(x * 1j),
    "i0": lambda x: np.i0(x * 1j),
    "round": lambda x: np.round(x > 0, 1),
    "round out": lambda x: np.round(x, out=np.zeros_like(x, dtype=int)),
    "packbits": lambda x: np.packbits(x),
    "packbits order": lambda x: np.packbits(x > 0, bitorder="middle"),
    "packbits axis": lambda x: np.packbits(x > 0, axis=2),
    "unpackbits": lambda x: np.unpackbits(x),
    "unpackbits count": lambda x: np.unpackbits(x.astype(np.uint8), axis=0, count=-99),
    "isclose": lambda x: np.isclose(x, np.ones(3)),
    "unwrap": lambda x: np.unwrap(x, axis=2),
}


@pytest.mark.parametrize("func", BAD.values(), ids=BAD.keys())
def test_errors_are_those_of_numpy(func):
    kinds = (np.exceptions.AxisError, IndexError, ValueError, TypeError)
    with pytest.raises(kinds) as eager:
        func(X[1])
    kind = next(k for k in kinds if isinstance(eager.value, k))
    with pytest.raises(kind):
        lw.vmap(func)(X[1:])


def test_refusals():
    with pytest.raises(DataDependentShapeError, match=r"np\.where\(|mask"):
        lw.vmap(lambda x: np.where(x > 0))(X)
    with pytest.raises(UnsupportedError, match=r"x\.real"):
        lw.vmap(np.real_if_close)(Z)


@pytest.mark.parametrize("other", [np.inf, -np.inf, np.nan, 2.0])
def test_closeness_of_infinities_gives_no_warning(other):
    x = np.array([[np.inf, -np.inf, np.nan, 2.0], [np.inf, 1.0, -0.0, 0.0]])
    y = np.array([[np.inf, np.inf, np.nan, 2.0], [1.0, np.inf, 0.0, 1e-9]])
    for func, *args in (
        (np.isclose, x, y),
        (lambda a: np.isclose(a, other), x),
        (lambda a: np.isclose(other, a), x),
        (lambda a: np.allclose(a, a, equal_nan=True), x),
    ):
        with np.errstate(all="raise"):
            got = lw.vmap(func)(*args)
        np.testing.assert_array_equal(got, [func(*row) for row in zip(*args, strict=True)])
