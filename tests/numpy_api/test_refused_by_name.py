"""What is not followed says so by name, at the user's line, before anything happens."""

import datetime

import numpy as np
import pytest

import lanewise as lw

XS = np.array([0.5, 1.5, 2.5])

REFUSED = [
    lambda x: sum(np.nditer(np.array([x, 2 * x]))),
    lambda x: np.nditer([np.array([x]), None]).operands[1],
    lambda x: np.poly1d([x, 1, 2])(3.0),
    lambda x: np.poly1d([x, 1.0]).roots,
    lambda x: np.matrix([[x, 1], [2, 3]]) * 2,
    lambda x: np.asmatrix(np.array([[x]]))[0, 0],
    lambda x: np.bmat([[np.array([[x]]), np.array([[1.0]])]]),
    lambda x: np.ma.array([x, 2.0], mask=[0, 1]).sum(),
    lambda x: np.ma.masked_invalid(np.array([x, np.nan])).sum(),
    lambda x: np.ma.masked_where(np.array([x, 2]) > 1, np.array([x, 2])).filled(0),
    lambda x: np.lib.stride_tricks.as_strided(np.array([x, 2]), (2, 2), (8, 0)),
    lambda x: np.broadcast(np.array([x, 2]), 1.0).size + x,
    lambda x: np.timedelta64(int(x), "D") / np.timedelta64(1, "h"),
    lambda x: np.datetime64(int(x), "D").astype(int),
]
#: Dtypes that are no numbers'.
DTYPES = ["timedelta64[D]", "M8[s]", object, str, "S3", [("a", int)]]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused_by_name(number):
    f = REFUSED[number]
    for call in (lambda: lw.vmap(f)(XS), lambda: lw.function(f)(XS[0])):
        with pytest.raises(
            lw.UnsupportedError, match=r"^numpy[^ ]* is not followed .*test_refused"
        ):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_dtype_of_numbers(dtype):
    def f(x):
        return x.astype(dtype)

    for call in (lambda: lw.vmap(f)(XS), lambda: lw.function(f)(XS)):
        with pytest.raises(lw.UnsupportedError, match=r"^x.astype.* not followed .*test_refused"):
            call()


def test_the_dates_of_the_standard_library():
    def f(x):
        return (datetime.date(2020, 1, 1) + datetime.timedelta(days=int(x))).month

    with pytest.raises(lw.UnsupportedError, match=r"datetime.timedelta is not followed .*integers"):
        lw.vmap(f)(XS)


def test_what_holds_no_data_is_as_it_was():
    def f(x):
        line = np.poly1d([1, 2, 3])
        mask = np.ma.masked_less(np.arange(3.0), 1).sum()
        total = sum(int(i) for i in np.nditer(np.arange(4)))
        return line(x) + mask + total

    np.testing.assert_allclose(lw.vmap(f)(XS), [f(x) for x in XS])


def test_an_index_that_is_a_float():
    def f(x):
        try:
            return np.arange(6.0)[x]
        except IndexError:
            return -1.0

    np.testing.assert_array_equal(lw.vmap(f)(XS), [-1.0, -1.0, -1.0])
