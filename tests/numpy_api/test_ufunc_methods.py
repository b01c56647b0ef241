"""Methods of ufuncs: reduce, accumulate, reduceat, outer, at, with all their keywords."""

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop
from support.oracle import assert_maps, assert_maps_everywhere

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
X[0, 1, 2], X[1, 0, 0], X[2, 3, 4] = np.nan, np.inf, -0.0
I8 = RNG.integers(-100, 100, (3, 4, 5)).astype(np.int8)
U8 = RNG.integers(0, 9, (3, 4, 5)).astype(np.uint8)
BOOL = RNG.random((3, 4, 5)) < 0.5
C16 = X + 1j * RNG.normal(size=X.shape)
HALF = RNG.normal(size=(3, 4, 5)).astype(np.float16)
SINGLE = RNG.normal(size=(3, 4, 5)).astype(np.float32)
MASK = RNG.random((3, 4, 5)) < 0.6
EMPTY = np.zeros((3, 0, 5))

ARRAYS = {"f8": X, "i1": I8, "u1": U8, "bool": BOOL, "c16": C16, "f2": HALF, "f4": SINGLE}

REDUCE = {
    "add-all": lambda x: np.add.reduce(x, axis=None),
    "add-axis0": np.add.reduce,
    "add-tuple": lambda x: np.add.reduce(x, axis=(0, -1)),
    "add-none": lambda x: np.add.reduce(x, axis=()),
    "add-keepdims": lambda x: np.add.reduce(x, axis=1, keepdims=True),
    "add-keepdims-all": lambda x: np.add.reduce(x, axis=None, keepdims=True),
    "add-dtype": lambda x: np.add.reduce(x, dtype=np.complex64),
    "add-initial": lambda x: np.add.reduce(x, initial=3),
    "multiply": lambda x: np.multiply.reduce(x, axis=-1),
    "maximum": lambda x: np.maximum.reduce(x, axis=(0, 1)),
    "maximum-initial": lambda x: np.maximum.reduce(x, initial=1),
    "minimum": lambda x: np.minimum.reduce(x, axis=1),
    "fmax": lambda x: np.fmax.reduce(x, axis=1),
    "fmin": lambda x: np.fmin.reduce(x, axis=1),
    "logical_and": lambda x: np.logical_and.reduce(x, axis=0),
    "logical_or": lambda x: np.logical_or.reduce(x, axis=None),
    "logical_xor": lambda x: np.logical_xor.reduce(x, axis=1),
}


@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("name", REDUCE)
def test_reduce(name, dtype):
    assert_maps(REDUCE[name], ARRAYS[dtype])


@pytest.mark.parametrize("name", ["add-tuple", "maximum", "add-keepdims", "logical_xor"])
def test_reduce_everywhere(name):
    assert_maps_everywhere(REDUCE[name], X)


WHERE = {
    "add": lambda x, m: np.add.reduce(x, where=m),
    "add-initial": lambda x, m: np.add.reduce(x, where=m, initial=10),
    "multiply-initial": lambda x, m: np.multiply.reduce(x, axis=None, where=m, initial=2),
    "maximum": lambda x, m: np.maximum.reduce(x, axis=1, where=m, initial=0),
    "minimum-tuple": lambda x, m: np.minimum.reduce(x, axis=(0, 1), where=m, initial=9),
    "logical_and": lambda x, m: np.logical_and.reduce(x, where=m),
    "logical_or-initial": lambda x, m: np.logical_or.reduce(x, where=m, initial=True),
    "broadcast": lambda x, m: np.add.reduce(x, axis=0, where=m[0]),
    "keepdims": lambda x, m: np.add.reduce(x, axis=1, where=m, keepdims=True),
    "static": lambda x, m: np.add.reduce(x, axis=1, where=[True, False, True, True, False]),
}


@pytest.mark.parametrize("dtype", ["f8", "i1", "bool", "f2"])
@pytest.mark.parametrize("name", WHERE)
def test_reduce_where(name, dtype):
    assert_maps(WHERE[name], ARRAYS[dtype], MASK)


def test_reduce_where_everywhere():
    assert_maps_everywhere(WHERE["maximum"], X, MASK)


NOT_REORDERABLE = {
    "subtract": lambda x, m: np.subtract.reduce(x),
    "subtract-initial": lambda x, m: np.subtract.reduce(x, initial=10),
    "subtract-axis": lambda x, m: np.subtract.reduce(x, axis=-1, initial=10),
    "subtract-where": lambda x, m: np.subtract.reduce(x, initial=10, where=m),
    "divide": lambda x, m: np.divide.reduce(x, axis=1),
    "divide-initial": lambda x, m: np.divide.reduce(x, axis=1, initial=2.5),
    "power": lambda x, m: np.power.reduce(np.abs(x), axis=0),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("name", NOT_REORDERABLE)
def test_reduce_in_order(name, dtype):
    assert_maps(NOT_REORDERABLE[name], ARRAYS[dtype], MASK)


INTEGER = {
    "and": lambda x: np.bitwise_and.reduce(x, axis=0),
    "or": lambda x: np.bitwise_or.reduce(x, axis=None),
    "xor": lambda x: np.bitwise_xor.reduce(x, axis=1),
    "and-where": lambda x: np.bitwise_and.reduce(x, axis=0, where=x > 2),
    "gcd": lambda x: np.gcd.reduce(x, axis=0),
    "lcm": lambda x: np.lcm.reduce(x, axis=0),
    "subtract": lambda x: np.subtract.reduce(x, axis=0, initial=1),
    "add-small": lambda x: np.add.reduce(x, dtype=x.dtype),
    "add-fraction": lambda x: np.add.reduce(x, initial=2.5),
    "maximum-fraction": lambda x: np.maximum.reduce(x, initial=np.float64(2.5)),
    "logaddexp-where": lambda x: np.logaddexp.reduce(x, where=x > 2),
}


@pytest.mark.parametrize("dtype", ["i1", "u1"])
@pytest.mark.parametrize("name", INTEGER)
def test_reduce_integers(name, dtype):
    assert_maps(INTEGER[name], ARRAYS[dtype])


# arctan2 along axis 0: along the last, NumPy with AVX-512 takes the first and the last only.
FLOATS = {
    "hypot": lambda x: np.hypot.reduce(x, axis=0),
    "logaddexp": lambda x: np.logaddexp.reduce(x, axis=1),
    "logaddexp-where": lambda x: np.logaddexp.reduce(x, axis=1, where=x > 0),
    "arctan2": lambda x: np.arctan2.reduce(x, axis=0),
    "traced-initial": lambda x: np.add.reduce(x, initial=x[0, 0]),
    "of-scalar": lambda x: np.add.reduce(x[0, 0], axis=0),
    "of-scalar-all": lambda x: np.maximum.reduce(x[0, 0], axis=None),
}


@pytest.mark.parametrize("name", FLOATS)
def test_reduce_floats(name):
    assert_maps(FLOATS[name], X)


EMPTIES = {
    "add": lambda x: np.add.reduce(x),
    "multiply-all": lambda x: np.multiply.reduce(x, axis=None),
    "maximum-initial": lambda x: np.maximum.reduce(x, initial=-3),
    "maximum-kept": lambda x: np.maximum.reduce(x, axis=1),
    "subtract-initial": lambda x: np.subtract.reduce(x, initial=4.0),
    "and": lambda x: np.logical_and.reduce(x, keepdims=True),
    "add-initial": lambda x: np.add.reduce(x, initial=2),
}


@pytest.mark.parametrize("name", EMPTIES)
def test_reduce_empty(name):
    assert_maps(EMPTIES[name], EMPTY)


def _into(dtype, shape, write):
    def func(x):
        out = np.zeros_like(x, shape=shape, dtype=dtype)
        result = write(x, out)
        assert result is out
        return out, result

    return func


OUT = {
    "add": _into(float, (5,), lambda x, o: np.add.reduce(x, out=o)),
    "add-single": _into(np.float32, (5,), lambda x, o: np.add.reduce(x, out=o)),
    "add-complex": _into(complex, (4,), lambda x, o: np.add.reduce(x, axis=1, out=(o,))),
    "add-int": _into(int, (5,), lambda x, o: np.add.reduce(x, out=o)),
    "keepdims": _into(float, (1, 5), lambda x, o: np.add.reduce(x, out=o, keepdims=True)),
    "any": _into(int, (5,), lambda x, o: np.logical_or.reduce(x, out=o)),
    "accumulate": _into(float, (4, 5), lambda x, o: np.add.accumulate(x, out=o)),
    "reduceat": _into(float, (2, 5), lambda x, o: np.add.reduceat(x, [0, 2], out=o)),
    "outer": _into(float, (4, 5), lambda x, o: np.multiply.outer(x[:, 0], x[0], out=o)),
}


@pytest.mark.parametrize("name", OUT)
def test_out(name):
    assert_maps(OUT[name], np.where(np.isfinite(X), X, 0))


OTHERS = {
    "accumulate": np.add.accumulate,
    "accumulate-axis": lambda x: np.multiply.accumulate(x, axis=-1),
    "accumulate-max": lambda x: np.maximum.accumulate(x, axis=1),
    "accumulate-dtype": lambda x: np.add.accumulate(x, dtype=np.complex64),
    "reduceat": lambda x: np.add.reduceat(x, [0, 3, 1]),
    "reduceat-axis": lambda x: np.maximum.reduceat(x, np.array([1, 4]), axis=1),
    "reduceat-dtype": lambda x: np.add.reduceat(x, [0, 2], dtype=np.complex64),
    "outer": lambda x: np.multiply.outer(x, x[0]),
    "outer-number": lambda x: np.add.outer(x, 2),
    "outer-float": lambda x: np.add.outer(x[0], 2.5),
    "outer-array": lambda x: np.maximum.outer(np.arange(2, dtype=np.int8), x),
    "outer-dtype": lambda x: np.add.outer(x[0], x[1], dtype=np.complex128),
    "outer-compare": lambda x: np.less_equal.outer(x[:, 0], x[0]),
}


@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("name", OTHERS)
def test_accumulate_reduceat_outer(name, dtype):
    assert_maps(OTHERS[name], ARRAYS[dtype])


@pytest.mark.parametrize("name", ["accumulate-axis", "reduceat-axis", "outer", "outer-array"])
def test_others_everywhere(name):
    assert_maps_everywhere(OTHERS[name], X)


def _at(ufunc, *arguments):
    def func(x, i):
        y = x.copy()
        ufunc.at(y, *[a(x, i) if callable(a) else a for a in arguments])
        return y

    return func


INDEX = np.array([[0, 1, 1], [3, 3, 3], [2, -1, 0]])
AT = {
    "add": _at(np.add, lambda x, i: i, 1),
    "add-repeated": _at(np.add, [1, 1, 2], 3),
    "add-fraction": _at(np.add, lambda x, i: i, 0.7),
    "add-rows": _at(np.add, lambda x, i: i, lambda x, i: x[0]),
    "multiply-pairs": _at(np.multiply, (np.array([0, 0]), np.array([1, 1])), 2.5),
    "maximum-traced": _at(np.maximum, lambda x, i: (i, i), lambda x, i: x[3, :3]),
    "slice": _at(np.add, slice(1, 3), 0.3),
    "integer": _at(np.subtract, 2, 1),
    "mixed": _at(np.add, (slice(None), [0, 0, 2]), 2),
    "square": _at(np.square, [0, 0, 1]),
    "negative-traced": _at(np.positive, lambda x, i: i),
    "square-slice": _at(np.square, slice(0, 2)),
    "equal": _at(np.equal, [0, 1], 1),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "c16", "f2"])
@pytest.mark.parametrize("name", AT)
def test_at(name, dtype):
    assert_maps(AT[name], ARRAYS[dtype], INDEX)


def test_at_everywhere():
    assert_maps_everywhere(AT["add-rows"], X, INDEX)


def test_at_a_view():
    def func(x):
        y = x.copy()
        np.add.at(y[1], [0, 0], 1.0)
        return y

    assert_maps(func, X)


ERRORS = {
    "zero-size": (lambda x: np.maximum.reduce(x[:0]), ValueError),
    "zero-size-no-initial": (lambda x: np.add.reduce(x[:0], initial=None), ValueError),
    "axis": (lambda x: np.add.reduce(x, axis=2), np.exceptions.AxisError),
    "axis-list": (lambda x: np.add.reduce(x, axis=[0]), TypeError),
    "axis-twice": (lambda x: np.add.reduce(x, axis=(0, 0)), ValueError),
    "not-reorderable": (lambda x: np.subtract.reduce(x, axis=None), ValueError),
    "no-identity": (lambda x: np.maximum.reduce(x, where=x > 0), ValueError),
    "initial-range": (lambda x: np.maximum.reduce(x.astype(np.int8), initial=300), OverflowError),
    "initial-inf": (lambda x: np.maximum.reduce(x.astype(int), initial=np.inf), OverflowError),
    "initial-complex": (lambda x: np.add.reduce(x, initial=1j), TypeError),
    "where-dtype": (lambda x: np.add.reduce(x, where=np.ones(5, int)), TypeError),
    "where-shape": (lambda x: np.add.reduce(x, where=np.ones((2, 4, 5), bool)), ValueError),
    "out-ndim": (lambda x: np.add.reduce(x, out=np.zeros_like(x)), ValueError),
    "out-size": (lambda x: np.add.reduce(x, out=np.zeros_like(x[0, :2])), ValueError),
    "no-loop": (lambda x: np.bitwise_or.reduce(x), TypeError),
    "unary": (np.sqrt.reduce, ValueError),
    "accumulate-scalar": (lambda x: np.add.accumulate(x[0, 0]), TypeError),
    "accumulate-axis": (lambda x: np.add.accumulate(x, axis=5), np.exceptions.AxisError),
    "accumulate-unary": (np.sqrt.accumulate, ValueError),
    "reduceat-range": (lambda x: np.add.reduceat(x, [0, 4]), IndexError),
    "at-range": (lambda x: np.add.at(x.copy(), [4], 1), IndexError),
    "at-no-loop": (lambda x: np.bitwise_or.at(x.copy(), [0], 1), TypeError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    func, error = ERRORS[name]
    with pytest.raises(error):
        func(X[0].copy())
    with pytest.raises(error):
        lw.vmap(func)(X)


RUNS = {
    "add": lambda x, i: np.add.reduceat(x, i),
    "maximum": lambda x, i: np.maximum.reduceat(x, i),
    "axis": lambda x, i: np.add.reduceat(x.reshape(2, 4), i % 4, axis=1),
    "dtype": lambda x, i: np.add.reduceat(x.astype(int), i, dtype=float),
    "truth": lambda x, i: np.logical_or.reduceat(x > 1, i),
    "numbers of truths": lambda x, i: np.add.reduceat(x > 0, i),
    "as many as the data say": lambda x, i: np.add.reduceat(x, i[i > 1]).sum(),
    "out": lambda x, i: np.add.reduceat(x, i, out=np.zeros(3)),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_that_begin_where_the_data_say(name):
    x = np.random.default_rng(0).normal(size=(3, 8))
    assert_like_the_loop(RUNS[name], x, np.array([[0, 3, 5], [2, 2, 1], [7, 0, 4]]))


def test_runs_that_begin_outside_are_refused():
    x = np.ones(8)
    for places in ([0, 8, 1], [-1, 2, 3]):
        with pytest.raises(IndexError, match=r"out-of-bounds in add.reduceat"):
            lw.function(RUNS["add"])(x, np.array(places))
