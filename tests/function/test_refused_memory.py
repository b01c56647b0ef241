"""Code that reads the memory of arrays: what is traced is refused there, made arrays as arguments.

An array that the function makes, and writes data to, is one of NumPy's in Python's eyes: C code
would read what the memory held before.
"""

from __future__ import annotations

import array
import base64
import binascii
import hashlib
import struct
import warnings
import zlib

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.spatial.distance
import scipy.stats

import lanewise as lw
from lanewise import PlainLoopWarning
from lanewise.errors import ConcretizationError, UnsupportedError
from support.oracle import assert_same, loop

XS = np.array([[4.0, 1.0, 2.0, 3.0], [1.0, 0.5, -2.0, 8.0]])


def as_it_is(x):
    return x


def made(x):
    z = np.zeros(4)
    z[:] = x
    return z


def made_before(x):
    """Return the same, of which there was a view when data were written."""
    z = np.empty((2, 4))
    row = z[1]
    z[:] = x
    return row


def digest(x):
    hashed = hashlib.sha256(b"salt")
    hashed.update(x)
    return int(hashed.hexdigest()[:6], 16)


READING = [
    lambda make, x: np.frombuffer(make(x)) + 1,
    lambda make, x: np.frombuffer(make(x), np.uint8, 8, 8),
    lambda make, x: np.array(memoryview(make(x))),
    lambda make, x: np.array(make(x).data),
    lambda make, x: np.frombuffer(bytes(make(x)), np.uint8),
    lambda make, x: len(bytearray(make(x))),
    lambda make, x: zlib.crc32(make(x)) + zlib.adler32(make(x)),
    lambda make, x: digest(make(x)),
    lambda make, x: int(hashlib.md5(make(x)).hexdigest()[:6], 16),
    lambda make, x: binascii.crc32(make(x)),
    lambda make, x: len(base64.b64encode(make(x))),
    lambda make, x: np.array(struct.unpack("4d", make(x))),
    lambda make, x: struct.unpack("d", make(x)[1])[0],
    lambda make, x: zlib.crc32(b"-".join([make(x), make(x)])),
    lambda make, x: int.from_bytes(make(x), "little") % 10007,
    lambda make, x: np.array(array.array("d", make(x))),
    lambda make, x: np.ndarray((4,), buffer=make(x)),
]

COMPUTING = [
    lambda make, x: scipy.linalg.inv(make(x).reshape(2, 2)),
    lambda make, x: scipy.linalg.expm(make(x).reshape(2, 2)),
    lambda make, x: scipy.linalg.block_diag(*[make(x), make(x)]),
    lambda make, x: scipy.linalg.solve_triangular(make(x).reshape(2, 2), b=make(x)[:2]),
    lambda make, x: scipy.ndimage.gaussian_filter(make(x), sigma=1.0),
    lambda make, x: scipy.signal.convolve2d(make(x).reshape(2, 2), np.ones((2, 2))),
    lambda make, x: scipy.spatial.distance.cdist(make(x).reshape(2, 2), np.eye(2)),
    lambda make, x: scipy.sparse.csr_matrix(make(x).reshape(2, 2)).toarray(),
    lambda make, x: scipy.sparse.diags([make(x)], [0]).toarray(),
    lambda make, x: scipy.stats.norm.cdf(make(x)),
    lambda make, x: scipy.stats.norm.cdf(make(x), loc=make(x)[0]),
    lambda make, x: scipy.interpolate.interp1d(np.arange(4.0), make(x))(0.5),
]


@pytest.mark.parametrize("make", [as_it_is, made, made_before])
@pytest.mark.parametrize("compute", [*READING, *COMPUTING])
def test_what_reads_memory_is_refused_and_runs_as_plain_python(compute, make, monkeypatch):
    def func(x):
        return compute(make, x)

    with pytest.raises((ConcretizationError, UnsupportedError)):
        lw.vmap(func)(XS)
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlainLoopWarning)
        np.testing.assert_array_equal(lw.function(func)(XS[0]), func(XS[0]))
        np.testing.assert_array_equal(lw.vmap(func)(XS), np.stack([func(x) for x in XS]))


def test_the_refusal_of_a_made_array_says_what_that_of_an_argument_says():
    def of_argument(A):
        return scipy.linalg.inv(A)

    def of_made(x):
        A = np.zeros((2, 2))
        A[:, :] = x
        return scipy.linalg.inv(A)

    for func in (of_argument, of_made):
        with pytest.raises(ConcretizationError, match=r"Write lw\.py_func\(lambda A: .*\[A\]"):
            lw.vmap(func)(XS.reshape(2, 2, 2))


def test_compiled_functions_of_others_are_refused_with_what_to_write():
    numba = pytest.importorskip("numba")

    @numba.njit
    def total(values):
        return values.sum()

    for make in (as_it_is, made):
        with pytest.raises(ConcretizationError, match=r"total\(\) computes with .* lw\.py_func"):
            lw.vmap(lambda x, make=make: total(make(x)))(XS)


# --- memory that is read before data are written to it --------------------------------------------


def _of_buffer(x):
    z = np.zeros(4)
    y = np.frombuffer(z)
    z[:] = x
    y[0] += 1
    return y.sum(), z


def _of_bytes(x):
    z = np.zeros(4)
    y = np.frombuffer(z, np.int64, 2, 8)
    z[:] = x
    return y


def _of_view(x):
    z = np.zeros(4)
    y = z.view(np.ndarray)
    z[:] = x
    y[0] += 1
    return y.sum(), z


@pytest.mark.parametrize("func", [_of_buffer, _of_bytes, _of_view])
def test_views_of_memory_show_what_is_written_later(func):
    assert_same(lw.vmap(func)(XS), loop(func, (XS,), (0,)))


@pytest.mark.parametrize("lend", [memoryview, lambda z: z.data, lambda z: z.view(np.recarray)])
def test_memory_is_not_lent_to_who_does_not_follow_what_is_written(lend):
    def func(x):
        z = np.zeros(4)
        y = lend(z)
        z[:] = x
        return np.asarray(y).sum()

    with pytest.raises(UnsupportedError, match="test_refused_memory"):
        lw.vmap(func)(XS)


def test_what_is_not_written_to_is_read_as_it_is():
    def func(x):
        weights = np.arange(4.0)
        return x * np.frombuffer(weights) + zlib.crc32(weights) + len(bytes(weights))

    np.testing.assert_array_equal(lw.vmap(func)(XS), np.stack([func(x) for x in XS]))


# --- views as an array ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [as_it_is, made, made_before, lambda x: x * 1.0])
@pytest.mark.parametrize(
    "view",
    [
        lambda z: z.view(np.ndarray),
        lambda z: z.view(type=np.ndarray),
        lambda z: z.view(np.int64, np.ndarray),
    ],
)
def test_a_view_as_an_ndarray_is_a_view(view, make):
    def func(x):
        z = make(x.copy())
        y = view(z)
        y[1] = 7
        return y, z

    assert_same(lw.vmap(func)(XS), loop(func, (XS,), (0,)))


def test_a_view_as_another_class_is_refused():
    with pytest.raises(UnsupportedError, match="recarray"):
        lw.vmap(lambda x: x.view(np.recarray))(XS)
