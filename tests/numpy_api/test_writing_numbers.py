"""Numbers that do not fit, written to arrays of integers: what raises, and what NumPy casts."""

import warnings

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_maps

WAYS = {
    "element": lambda a, b: a.__setitem__(0, b),
    "slice": lambda a, b: a.__setitem__(slice(1, None), b),
    "row": lambda a, b: a.reshape(2, 2).__setitem__(1, b),
    "all": lambda a, b: a.__setitem__(..., b),
    "no elements": lambda a, b: a.__setitem__(slice(0, 0), b),
    "at data": lambda a, b: a.__setitem__(np.argmax(np.array([b, 1.0])), b),
    "a slice to data": lambda a, b: a.__setitem__(slice(0, np.argmax(np.array([b, 1.0]))), b),
    "list": lambda a, b: a.__setitem__(slice(None), [b, 1, 2, 3]),
    "fill": lambda a, b: a.fill(b),
    "put a list": lambda a, b: a.put([0, 1], [b, 1]),
    "array of a list": lambda a, b: a.__setitem__(0, np.array([b, 1], a.dtype)[0]),
    "array of a number": lambda a, b: a.__setitem__(0, np.array(b, a.dtype)),
    "its dtype": lambda a, b: a.__setitem__(0, a.dtype.type(b)),
    "integers": lambda a, b: a.__setitem__([0, 2], b),
    "mask": lambda a, b: a.__setitem__(np.array([True, False, True, False]), b),
    "mask of data": lambda a, b: a.__setitem__(a == 0, b),
    "array of no axes": lambda a, b: a.__setitem__(slice(None), np.asarray(b)),
    "array": lambda a, b: a.__setitem__(slice(2), np.array([b, 1.0])),
    "put": lambda a, b: np.put(a, [0, 1], b),
    "place": lambda a, b: np.place(a, np.array([True, False, True, False]), b),
    "putmask": lambda a, b: np.putmask(a, np.array([True, False, True, False]), b),
    "put_along_axis": lambda a, b: np.put_along_axis(a, np.array([0]), b, 0),
    "fill_diagonal": lambda a, b: np.fill_diagonal(a.reshape(2, 2), b),
    "flat": lambda a, b: setattr(a, "flat", b),
    "insert": lambda a, b: a.__setitem__(..., np.insert(a[:3], 1, b)),
    "full": lambda a, b: a.__setitem__(..., np.full(4, b, a.dtype)),
    "full_like": lambda a, b: a.__setitem__(..., np.full_like(a, b)),
    "copyto": lambda a, b: np.copyto(a, b, casting="unsafe"),
    "astype": lambda a, b: a.__setitem__(slice(2), np.array([b, 1.0]).astype(a.dtype)),
    "in place": lambda a, b: a.__setitem__(0, a[0] + b),
    "pad": lambda a, b: a.__setitem__(..., np.pad(a[:2], 1, constant_values=b)),
    "initial": lambda a, b: a.__setitem__(0, np.sum(a, initial=b)),
}
NAN, LARGE = np.array([1.5, np.nan]), np.array([1, 300])
CASES = {
    "NumPy's NaN": (NAN, lambda b: b),
    "Python's NaN": (NAN, lambda b: b.item()),
    "infinity": (np.array([1.5, -np.inf], np.float32), lambda b: b),
    "a large float": (np.array([1.5, 300.5]), lambda b: b.item()),
    "NumPy's large integer": (LARGE, lambda b: b),
    "Python's large integer": (LARGE, int),
    "a small integer": (-LARGE.astype(np.int16), lambda b: b),
}


DTYPES = [np.int64, np.int8, np.uint8]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_what_does_not_fit(way, dtype):
    """Half of the cases for each way and dtype, the other half for the next of either."""
    write = WAYS[way]
    first = list(WAYS).index(way) + DTYPES.index(dtype)
    for case, (batch, convert) in list(CASES.items())[first % 2 :: 2]:

        def f(b, convert=convert):
            a = np.zeros(4, dtype)
            write(a, convert(b))
            return a

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            errors = [_error(f, b) for b in batch]
            for error in filter(None, errors):
                with pytest.raises(type(error)):
                    lw.vmap(f)(batch)
                break
            else:
                found = lw.vmap(f)(batch)
                # Of the second example the number is undefined in C: NumPy's own loops differ.
                np.testing.assert_array_equal(found[0], f(batch[0]), case, strict=True)


def _error(f, b):
    try:
        f(b)
    except (ValueError, OverflowError) as error:
        return error
    return None


def test_only_examples_that_write_raise():
    def f(b, k):
        a = np.zeros(3, int)
        if k > 0:
            a[k - 1] = b
        return a

    bs, ks = np.array([1.5, np.nan, 2.5]), np.array([1, 0, 3])
    assert_maps(f, bs, ks)
    with pytest.raises(ValueError, match="cannot convert float NaN to integer") as raised:
        lw.vmap(f)(bs, np.array([1, 2, 0]))
    assert "in example 1" in str(raised.value)


def test_of_a_traced_function():
    def f(a, b):
        a = a.copy()
        a[1] = b
        return a

    a = np.zeros(3, np.int16)
    np.testing.assert_array_equal(lw.function(f)(a, 2.5), f(a, 2.5))
    with pytest.raises(OverflowError, match="cannot convert float infinity to integer"):
        lw.function(f)(a, np.float64("inf"))


@pytest.mark.filterwarnings("ignore:Conversion of an array")
@pytest.mark.parametrize("dtype", [bool, float, int, complex])
def test_an_array_of_one_element_for_an_element(dtype):
    def f(x):
        v = x.astype(dtype)
        w = np.zeros((2, 2), dtype)
        w[0, 1] = v
        return w

    xs = np.array([[1.0], [-2.0]])
    try:  # for bools always, for numbers by the older NumPys
        f(xs[0])
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            lw.vmap(f)(xs)
    else:
        assert_maps(f, xs)
    with pytest.raises((TypeError, ValueError)):
        lw.vmap(f)(np.ones((2, 3)))
