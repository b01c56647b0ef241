"""Elements chosen and written by index: take, put, choose, select, diagonals, multi-indices."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import DataDependentShapeError, UnsupportedError
from lanewise.ir.types import NUMPY
from support.oracle import assert_maps, assert_maps_everywhere

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4, 5))
I = rng.integers(-4, 4, (3, 4))  # noqa: E741
SQUARE = rng.normal(size=(3, 4, 4))

TAKE = {
    "flat": lambda x, i: np.take(x, i),
    "axis": lambda x, i: (np.take(x, i, axis=0), np.take(x, i, axis=-1), x.take(i, 1)),
    "scalar": lambda x, i: (np.take(x, i[0]), np.take(x, i[0], axis=1), np.take(x, 2)),
    "constant": lambda x, i: (np.take(x, [[0, -1], [2, 3]], 0), np.take(x, [], 1)),
    "wrap": lambda x, i: np.take(x, i * 7, axis=1, mode="wrap"),
    "clip": lambda x, i: np.take(x, i * 7, axis=1, mode="clip"),
    "bool": lambda x, i: np.take(x, i > 0, axis=1),
    "list of floats": lambda x, i: np.take(x, [1.0, 2.0]),
    "out": lambda x, i: taken_into(x, i),
    "take_along_axis": lambda x, i: (
        np.take_along_axis(x, i[:, None], 1), np.take_along_axis(x, i[:, None] % 4, 0),
        np.take_along_axis(x, np.argsort(x, 1), 1), np.take_along_axis(x, i, None),
        np.take_along_axis(x, np.array([[0], [1], [0], [2]]), 1),
    ),
    "of a table": lambda x, i: np.take_along_axis(np.arange(9.0), i[:2], 0),
    "choose": lambda x, i: (
        np.choose(i % 3, [x[:, 0], 7, x[0, :4]]), np.choose(i, x[:, :4], mode="clip"),
        np.choose(i, [1, 2, 3], mode="wrap"), np.choose(i > 0, [0.5, 1]),
        np.choose([0, 1], [1, i[0]]),
    ),
}  # fmt: skip


if NUMPY >= (2, 3):
    TAKE["the last axis"] = lambda x, i: np.take_along_axis(x, i[:, None])


def taken_into(x, i):
    out = np.zeros_like(x, dtype=int, shape=4)
    assert np.take(x, i, out=out) is out
    return out


@pytest.mark.filterwarnings("ignore:Implicit casting of output:DeprecationWarning")
@pytest.mark.parametrize("func", TAKE.values(), ids=TAKE.keys())
def test_take(func):
    assert_maps_everywhere(func, X, I)
    if func is not TAKE["out"]:
        assert_maps(func, X.astype(np.float16), I.astype(np.int8))


def put(x, i):
    a, b, c, d = x.copy(), x.copy(), x.copy(), x.copy()
    np.put(a, i, [7, 8, 9])
    b.put(i * 9, 5, mode="wrap")
    np.put(c.T, i * 9, x[0], mode="clip")
    np.put(d, [0, -1], [1.5])
    np.put(d, [1], [])
    return a, b, c, d


def put_along_axis(x, i):
    a, b, c = x.copy(), x.copy(), x.copy()
    np.put_along_axis(a, i[:, None], 7, axis=1)
    np.put_along_axis(b, np.argmax(x, 0)[None], x[:1] * 2, axis=0)
    np.put_along_axis(c.T, i[None], x[:1, 0], axis=0)
    return a, b, c


def place_and_putmask(x, i):
    a, b, c, d, e = x.copy(), x.copy(), x.copy(), x.astype(int), x.copy()
    np.place(a, x > 0, [1, 2, 3])
    np.putmask(b, x > 0, [1, 2, 3])
    np.putmask(c, x > 0, -x)
    np.place(d, [[True, False, True, False, True]] * 4, [1.5, 2.5])
    np.place(e, x > 9, [])
    np.putmask(e, x > 0, [])
    return a, b, c, d, e


def fill_diagonal(x, i):
    a, b, c, d, e = x.copy(), x.copy(), x[:2, :2, None] + np.zeros(2), x.T.copy(), x.copy()
    np.fill_diagonal(a, 3)
    np.fill_diagonal(b.T, [1, 2])
    np.fill_diagonal(c, i[:2])
    np.fill_diagonal(d, x[0, 0], wrap=True)
    np.fill_diagonal(e, [])
    tall = np.concatenate([x, x, x])
    np.fill_diagonal(tall, 5, wrap=True)
    return a, b, c, d, e, tall


@pytest.mark.parametrize("func", [put, put_along_axis, place_and_putmask, fill_diagonal])
def test_writing(func):
    assert_maps_everywhere(func, X, I)


CHOICES = {
    "select": lambda x, i: (
        np.select([x > 1, x > 0], [x, -x]), np.select([x > 1, x > 0], [1, 2], default=0.5),
        np.select([i > 0], [x[:, :4]], -1), np.select([np.True_], [i]), np.select([i > 0], [1]),
    ),
    "piecewise": lambda x, i: (
        np.piecewise(x, [x < 0, x >= 0], [-1, 1]),
        np.piecewise(x, [x < 0], [lambda t: -t, lambda t: t * 2]),
        np.piecewise(x, [x < -0.5, x > 0.5], [np.sin, 3, lambda t: t]),
        np.piecewise(x[0], x[0] < 0, [np.negative, np.sqrt]),
        np.piecewise(x[0, 0], [x[0, 0] < 0], [-1, lambda t: t + 1]),
        np.piecewise(i, [i > 1], [1.7, lambda t: t * 1.5]),
        np.piecewise(x, [x < 0], [lambda t, a, b=1: t * a + b, 0], 3, b=2),
        np.piecewise(x[0], [np.array([True, False, True, True, False])], [np.mean, np.cumsum]),
    ),
    "diag": lambda x, i: (
        [np.diag(x[0], k) for k in (-2, 0, 3)], [np.diag(x, k) for k in (-3, -1, 0, 2)],
        np.diagflat(x[:2, :2], 1), np.diagflat(i[0]), np.diag(i),
    ),
    "diagonal": lambda x, i: (
        np.diagonal(x), x.diagonal(1), np.diagonal(np.stack([x, x]), -1, 2, 0),
        np.diagonal(np.stack([x, x]), axis1=-1, axis2=-2), np.diagonal(x, 9),
    ),
    "trace": lambda x, i: (
        np.trace(x), x.trace(-1), np.trace(np.stack([x, x]), axis1=1, axis2=2),
        np.trace(i.reshape(2, 2).astype(np.int8)), np.trace(x, dtype=np.float32), np.trace(x > 0),
    ),
    "tri": lambda x, i: (
        [f(x, k) for f in (np.tril, np.triu) for k in (-2, 0, 3)], np.tril(x[0]), np.triu(i > 0),
        np.tril(np.stack([x, x])), x[np.triu_indices_from(x)], x[np.tril_indices_from(x, -1)],
        x[:, :4][np.diag_indices_from(x[:, :4])],
    ),
    "ix": lambda x, i: (x[np.ix_([0, 2], i)], x[np.ix_(i, [True, False, True, False, True])],
                        x[np.ix_(i, [])], np.ix_(i, i)),
    "unravel_index": lambda x, i: (
        np.unravel_index(i % 4, (2, 3)), np.unravel_index(np.argmax(x), x.shape),
        np.unravel_index(abs(i), (2, 2, 3), order="F"), np.unravel_index(abs(i), 7),
    ),
    "ravel_multi_index": lambda x, i: (
        np.ravel_multi_index((i % 3, i % 4), (3, 4)), np.ravel_multi_index((i, i), (3, 4), "wrap"),
        np.ravel_multi_index((i, i * 3), (3, 4), mode=("clip", "wrap")),
        np.ravel_multi_index((i % 3, 1, i % 2), (3, 4, 2), order="F"),
    ),
    "apply_along_axis": lambda x, i: (
        np.apply_along_axis(np.sum, 0, x), np.apply_along_axis(lambda r: r[::-1] * 2, 1, x),
        np.apply_along_axis(np.diag, -1, x), np.apply_along_axis(lambda r: [r[0], r.max()], 0, x),
        np.apply_along_axis(lambda r, s, t=1: r * s + t, 0, x, i[0], t=x[0, 0]),
        np.apply_along_axis(np.sort, 0, x[0]),
    ),
    "apply_over_axes": lambda x, i: (
        np.apply_over_axes(np.sum, x, (0, 1)), np.apply_over_axes(np.max, x, -1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("func", CHOICES.values(), ids=CHOICES.keys())
def test_choices(func):
    assert_maps_everywhere(func, X, I)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, complex])
def test_dtypes(dtype):
    x = (X * 3).astype(dtype)

    def func(x):
        return (np.tril(x), np.diag(x), np.diag(x[0]), np.trace(x), np.select([x != 0], [x]),
                np.choose([0, 1], [x[0, :2], 3]), np.take(x, [0, 1], 0),
                np.diagonal(x))  # fmt: skip

    assert_maps(func, x)
    assert_maps(lambda x: (np.tril(x), np.diag(x), np.diagonal(x), np.take(x, [], 0)), x[:, :, :0])


def test_values_of_sums_that_are_not_finite():
    x = SQUARE.copy()
    x[0, 0, 0], x[1, 1, 1], x[2, 0, 1] = np.nan, np.inf, -0.0
    assert_maps(lambda x: (np.trace(x), np.tril(x), np.diag(x), np.select([x > 0], [x], np.nan)), x)


def test_a_diagonal_shows_what_its_base_holds():
    def func(x):
        y = x.copy()
        d, e = np.diagonal(y), np.diag(y)
        y[...] = y + 1
        return d, e, np.diagonal(y, 1)[1:]

    assert_maps_everywhere(func, X)


def placed(x, mask, values):
    np.place(x, mask, values)
    return x


BAD = {
    "take": lambda x: np.take(x, 4, axis=0),
    "take flat": lambda x: np.take(x, [0, 20]),
    "take of floats": lambda x: np.take(x, np.array([0.5])),
    "take mode": lambda x: np.take(x, [0], mode="bounce"),
    "take out": lambda x: np.take(x, [0], out=x[0]),
    "take from nothing": lambda x: np.take(x[:0], [0], 0),
    "take axis": lambda x: np.take(x, [0], axis=2),
    "put": lambda x: np.put(x.copy(), [0, 20], 1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([0]), 0),
    "take_along_axis of floats": lambda x: np.take_along_axis(x, np.zeros((1, 1)), 0),
    "take_along_axis beyond": lambda x: np.take_along_axis(x, np.array([[9]]), 0),
    "take_along_axis shapes": lambda x: np.take_along_axis(x, np.zeros((1, 3), int), 0),
    "take_along_axis flat": lambda x: np.take_along_axis(x, np.zeros((1, 3), int), None),
    "choose": lambda x: np.choose([0, 3], [x[0, :2], x[1, :2]]),
    "choose negative": lambda x: np.choose([0, -1], [x[0, :2], x[1, :2]]),
    "choose of floats": lambda x: np.choose(x, [1, 2]),
    "choose shapes": lambda x: np.choose([0, 1], [x, x]),
    "select": lambda x: np.select([x > 0], [x, x]),
    "select nothing": lambda x: np.select([], []) if x is None else np.select([x], [x]),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [1, 2, 3]),
    "diag": lambda x: np.diag(x[None]),
    "diagonal": lambda x: np.diagonal(x[0]),
    "diagonal axes": lambda x: np.diagonal(x, 0, 1, 1),
    "diagonal axis": lambda x: np.diagonal(x, 0, 0, 2),
    "trace": lambda x: np.trace(x[0]),
    "fill_diagonal": lambda x: np.fill_diagonal(x[0], 1),
    "fill_diagonal shape": lambda x: np.fill_diagonal(x[None].copy(), 1),
    "tril": lambda x: np.tril(x[0, 0, ...]),
    "ix": lambda x: np.ix_(x),
    "place": lambda x: np.place(x.copy(), [True], [1]),
    "place nothing": lambda x: placed(x.copy(), x == x, []),
    "putmask": lambda x: np.putmask(x.copy(), [True], [1]),
    "unravel_index": lambda x: np.unravel_index((x * 0 + 12).astype(int), (3, 4)),
    "unravel_index negative": lambda x: np.unravel_index((x * 0 - 1).astype(int), (3, 4)),
    "unravel_index of floats": lambda x: np.unravel_index(x, (3, 4)),
    "ravel_multi_index": lambda x: np.ravel_multi_index(((x * 0 + 3).astype(int), 1), (3, 4)),
    "ravel_multi_index count": lambda x: np.ravel_multi_index((x.astype(int),), (3, 4)),
    "apply_along_axis": lambda x: np.apply_along_axis(np.sum, 2, x),
    "apply_along_axis nothing": lambda x: np.apply_along_axis(np.sum, 0, x[:, :0]),
    "apply_over_axes": lambda x: np.apply_over_axes(lambda a, axis: a.sum(), x, 0),
    "diag_indices_from": lambda x: np.diag_indices_from(x),
}


@pytest.mark.parametrize("func", BAD.values(), ids=BAD.keys())
def test_errors_are_those_of_numpy(func):
    kinds = (np.exceptions.AxisError, IndexError, ValueError, TypeError)

    def returning(x):
        result = func(x)
        return x if result is None else result

    with pytest.raises(kinds) as eager:
        func(X[0])
    kind = next(k for k in kinds if isinstance(eager.value, k))
    with pytest.raises(kind):
        lw.vmap(lambda x: (returning(x), x))(X)


def test_errors_of_data():
    i = np.array([[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        lw.vmap(lambda i: np.choose(i, [1, 2, 3]))(i)
    with pytest.raises(ValueError, match="out of bounds"):
        lw.vmap(lambda i: np.unravel_index(i, 3))(i)
    with pytest.raises(ValueError, match="invalid entry"):
        lw.vmap(lambda i: np.ravel_multi_index((i, i), (4, 3)))(i)
    with pytest.raises(IndexError):
        lw.vmap(lambda x, i: np.take(x, i, 0))(X[:2], i + 1)
    with pytest.raises(IndexError):
        lw.vmap(lambda x, i: np.put(x, i, 0) or x)(X[:2].copy(), i + 18)
    for func in (np.put, lambda a, i, v: np.place(a, i, v), lambda a, i, v: np.putmask(a, i, v)):
        with pytest.raises(UnsupportedError, match=r"not traced|NumPy array"):
            lw.vmap(lambda i: func(np.zeros(4), i, i), autograph=False)(i)  # noqa: B023
    with pytest.raises(DataDependentShapeError):
        lw.vmap(lambda x: np.ix_(x > 0))(X[:, 0])
