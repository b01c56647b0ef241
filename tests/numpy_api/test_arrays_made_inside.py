"""NumPy's functions on arrays that a traced function makes, before and after data are written.

`out=` may be such an array, a view of one, or the operand itself.
"""

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.oracle import assert_maps

XS = np.array([1.5, 2.0, -3.0])

#: What is computed of v, of shape (2, 3), the shape of `out` and its dtype.
WITH_OUT = {
    "cumsum": (lambda v, o: np.cumsum(v, axis=0, out=o), (2, 3), float),
    "cumsum, method": (lambda v, o: v.cumsum(axis=1, out=o), (2, 3), float),
    "cumprod, flat": (lambda v, o: np.cumprod(v, out=o), (6,), float),
    "round": (lambda v, o: np.round(v, 1, out=o), (2, 3), float),
    "round, method": (lambda v, o: v.round(1, o), (2, 3), float),
    "take": (lambda v, o: np.take(v, [0, 2], axis=1, out=o), (2, 2), float),
    "take, method": (lambda v, o: v.take([0, 2], 1, o), (2, 2), float),
    "choose": (lambda v, o: np.choose([1, 0, 1], v, out=o), (3,), float),
    "compress": (lambda v, o: np.compress([True, False, True], v, 1, o), (2, 2), float),
    "compress, method": (lambda v, o: v.compress([True, False], axis=0, out=o), (1, 3), float),
    "argmax": (lambda v, o: np.argmax(v, axis=0, out=o), (3,), int),
    "argmin, method": (lambda v, o: v.argmin(1, o), (2,), int),
    "trace": (lambda v, o: np.trace(v, out=o), (), float),
    "dot": (lambda v, o: v.dot(v.T, o), (2, 2), float),
    "mean, method": (lambda v, o: v.mean(axis=1, out=o), (2,), float),
    "std, method": (lambda v, o: v.std(axis=1, out=o), (2,), float),
    "var": (lambda v, o: np.var(v, axis=0, out=o), (3,), float),
    "median": (lambda v, o: np.median(v, axis=0, out=o), (3,), float),
    "median of all": (lambda v, o: np.median(v, out=o), (), float),
    "any, method": (lambda v, o: v.any(axis=0, out=o), (3,), bool),
    "sum, method": (lambda v, o: v.sum(axis=0, out=o), (3,), float),
    "max, method": (lambda v, o: v.max(1, o), (2,), float),
    "clip, method": (lambda v, o: v.clip(2, 4, o), (2, 3), float),
    "quantile": (lambda v, o: np.quantile(v, 0.4, axis=0, out=o), (3,), float),
    "concatenate": (lambda v, o: np.concatenate([v, v], out=o), (4, 3), float),
    "einsum": (lambda v, o: np.einsum("ij,kj->ik", v, v, out=o), (2, 2), float),
    "accumulate": (lambda v, o: np.maximum.accumulate(v, axis=1, out=o), (2, 3), float),
    "sqrt": (lambda v, o: np.sqrt(v, o), (2, 3), float),
    "into itself": (lambda v, o: np.cumsum(v, axis=0, out=v), (), float),
    "into a view of itself": (lambda v, o: np.round(v.T / 3, 1, out=v.T), (), float),
    "into a row of itself": (lambda v, o: np.sum(v, axis=0, out=v[1]), (), float),
}


def _data():
    v = np.zeros((2, 3))
    v[...] = [[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]
    return v


def _untouched(compute, shape, dtype):
    def f(x):
        v, o = _data(), np.zeros(shape, dtype)
        r = compute(v, o)
        return r + x, v + x, o + x, r is o, r is v

    return f


def _written(compute, shape, dtype):
    def f(x):
        v, o = _data(), np.zeros(shape, dtype)
        v[0, 1] = x
        r = compute(v, o)
        return r + x, v + x, o + x, r is o

    return f


def _out_written(compute, shape, dtype):
    def f(x):
        v, several = _data(), np.zeros((2, *shape), dtype)
        several[...] = x > 0
        o = several[1, ...]
        r = compute(v, o)
        return r + x, v + x, several + x, r is o

    return f


@pytest.mark.parametrize("make", [_untouched, _written, _out_written])
@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name, make):
    assert_maps(make(*WITH_OUT[name]), XS)


@pytest.mark.parametrize("function", [np.sum, np.mean, np.median, np.argmax, np.trace])
def test_a_scalar_is_no_out(function):
    def f(x):
        v, o = _data(), np.zeros(3)
        o[0] = x
        return function(v, out=o[0])

    with pytest.raises(TypeError, match="must be"):
        f(1.0)
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        lw.vmap(f)(XS)


def test_an_array_made_outside_is_no_out():
    outside = np.zeros(3, int)

    def f(x):
        return np.argmax(np.array([[x, 1.0, 2.0]]), axis=0, out=outside)

    with pytest.raises(UnsupportedError, match="out= is an array that is not traced"):
        lw.vmap(f)(XS)


SEARCHES = {
    "searchsorted": lambda v: np.searchsorted(v, v),
    "searchsorted, method": lambda v: v.searchsorted(v[:2], "right"),
    "searchsorted with sorter": lambda v: np.searchsorted(v, v, sorter=np.array([0, 1, 2])),
    "repeat": lambda v: v.repeat(np.array([1, 2, 1])),
    "digitize": lambda v: np.digitize(v, v),
    "interp": lambda v: np.interp(v, v, v),
    "choose": lambda v: np.array([0, 1, 0]).choose([v, v]),
    "lists in a ufunc": lambda v: np.sqrt([v, v]) + np.hypot((v, v), v),
    "lists in its methods": lambda v: np.add.reduce([v, v]) + np.add.outer([v[0], 1], [1])[0],
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name):
    compute = SEARCHES[name]

    def plain(x):
        v = np.arange(3.0)
        return compute(v) + x

    def written(x):
        v = np.arange(3.0)
        v[2] = 5 + x
        return compute(v) + x

    assert_maps(plain, XS)
    assert_maps(written, XS)


def test_resizing_in_place_is_refused():
    def f(x):
        v = np.zeros(3)
        v.resize(4)
        return v + x

    with pytest.raises(UnsupportedError, match=r"\.resize\(\) of a traced value is not followed"):
        lw.vmap(f)(XS)


def test_mapping_over_an_array_that_data_are_written_to():
    def f(x):
        q = np.zeros((3, 2))
        q[:, 1] = x
        rows = lw.vmap(lambda row: row.sum())(q)
        columns = lw.vmap(np.sum, in_dims=1)(q)
        whole = lw.vmap(lambda k, q: q[k, 1] * k, in_dims=(0, None))(np.arange(3), q)
        return rows, columns, whole

    expected = [(np.full(3, x), np.array([0, 3 * x]), np.arange(3) * x) for x in XS]
    for found in (lw.vmap(f)(XS), [lw.function(f)(x) for x in XS]):
        rows = zip(*found, strict=True) if isinstance(found, tuple) else found
        for one, other in zip(rows, expected, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


class Metres(np.ndarray):
    """Lengths, which multiply to areas."""

    def __rmul__(self, other):
        return 100 * np.asarray(self) * np.asarray(other)

    def __gt__(self, other):
        return np.asarray(self) < np.asarray(other)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "other",
    [
        np.eye(2)[::-1].view(np.matrix),
        np.ma.masked_array(np.eye(2) + 1, [[True, False], [False, False]]),
        np.full((2, 2), 3.0).view(Metres),
    ],
    ids=["matrix", "masked", "units"],
)
def test_other_classes_of_arrays_have_the_first_word(other, monkeypatch):
    """As Python asks the operators of a subclass before an ndarray's own."""

    def func(a):
        made = np.array([[a, 1.0], [0.0, a]])
        known = np.array([[2.0, 1.0], [0.0, 5.0]])
        return np.asarray(made * other), np.asarray(known * other), np.asarray(known < other)

    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    for given in (3.0, np.float64(0.5), np.array(2.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.PlainLoopWarning)
            found = lw.function(func)(given)
        for one, wanted in zip(found, func(given), strict=True):
            np.testing.assert_array_equal(one, wanted)


def test_traced_values_do_not_meet_other_classes_of_arrays():
    lengths = np.ones(2).view(Metres)
    with pytest.raises(
        lw.UnsupportedError, match=r"another class, Metres, whose operators .*np\.asarray"
    ):
        lw.vmap(lambda x: x * lengths)(np.ones((3, 2)))
    with pytest.raises(lw.UnsupportedError, match="another class, Metres"):
        lw.vmap(lambda x: x + 1)(lengths)
