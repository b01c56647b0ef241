"""Discrete Fourier transforms along one axis; transforms of several axes are several of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.dims import bounds, dim_max
from lanewise.ir.types import array_type
from lanewise.ops.creation import iota
from lanewise.ops.derivatives import linear
from lanewise.ops.registry import Batch, absent, op, sample


def _check(n: int, norm: str | None) -> None:
    most = bounds(n)[1]
    if most is not None and most < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


#: The normalization with which the transpose of a transform has the same factor.
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _resized(x: Any, n: int, axis: int) -> Any:
    """Return x with its axis cut or zero-padded to n elements."""
    size = x.shape[axis]
    x = x[(*(slice(None),) * axis, slice(0, n))]
    missing = dim_max(n - size, 0)
    if missing == 0:
        return x
    return np.pad(x, [(0, missing if other == axis else 0) for other in range(x.ndim)])


def _weights(d: Any, n: int, like: Any, axis: int, inner: float) -> Any:
    """Return 1 for the terms of a real transform of n points that stand for themselves alone.

    The other terms, that stand for one of negative frequency too, get `inner`.
    """
    k = d.emit(iota, length=n // 2 + 1, dtype=np.dtype(np.intp))
    one, other = np.ones((), like.real.dtype), np.full((), inner, like.real.dtype)
    weights = np.where((k == 0) | (2 * k == n), one, other)
    return np.reshape(weights, (-1, *(1,) * (like.ndim - axis - 1)))


@op
class fft:
    """The complex transform of n points (the axis is cut or zero-padded to n), or its inverse."""

    one_call = True
    may_fail = False

    def type(x, *, n: int, axis: int, norm: str | None, inverse: bool):
        _check(n, norm)
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        return array_type(np.fft.fft(np.ones(1, x.dtype)).dtype, shape)

    def numpy(x, *, n, axis, norm, inverse):
        return (np.fft.ifft if inverse else np.fft.fft)(x, n, axis, norm)

    def batch(b: Batch, x, *, axis, **params):
        return fft(x, axis=axis + 1, **params)

    lanes = absent("NumPy's library transforms all rows in one call")

    jvp = linear(0)

    def transposed(d, ct, x, *, n, axis, norm, inverse):
        # The matrix of a transform is symmetric.
        back = d.emit(fft, ct, n=n, axis=axis, norm=norm, inverse=inverse)
        return _resized(back, x.shape[axis], axis)

    samples = (
        sample((2, 5), n=5, axis=1, norm=None, inverse=False),
        sample((4,), n=6, axis=0, norm="ortho", inverse=True),
        sample((1, 2), n=1, axis=0, norm="forward", inverse=False),
    )


@op
class rfft:
    """The transform of n real points: the n // 2 + 1 terms of non-negative frequency."""

    one_call = True
    may_fail = False

    def type(x, *, n: int, axis: int, norm: str | None):
        _check(n, norm)
        if x.dtype.kind == "c":
            raise TypeError("rfft takes real input; use fft for complex numbers")
        shape = (*x.shape[:axis], n // 2 + 1, *x.shape[axis + 1 :])
        return array_type(np.fft.rfft(np.ones(1, x.dtype)).dtype, shape)

    def numpy(x, *, n, axis, norm):
        return np.fft.rfft(x, n, axis, norm)

    def batch(b: Batch, x, *, axis, **params):
        return rfft(x, axis=axis + 1, **params)

    lanes = absent("NumPy's library transforms all rows in one call")

    jvp = linear(0)

    def transposed(d, ct, x, *, n, axis, norm):
        terms = np.conjugate(ct) * _weights(d, n, ct, axis, 0.5)
        back = d.emit(irfft, terms, n=n, axis=axis, norm=_SWAPPED[norm])
        return _resized(back, x.shape[axis], axis)

    samples = (
        sample((2, 5), n=5, axis=1, norm=None),
        sample((4,), n=6, axis=0, norm="ortho"),
    )


@op
class irfft:
    """The inverse of `rfft`: n real points."""

    one_call = True
    may_fail = False

    def type(x, *, n: int, axis: int, norm: str | None):
        _check(n, norm)
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        return array_type(np.fft.irfft(np.ones(2, x.dtype)).dtype, shape)

    def numpy(x, *, n, axis, norm):
        return np.fft.irfft(x, n, axis, norm)

    def batch(b: Batch, x, *, axis, **params):
        return irfft(x, axis=axis + 1, **params)

    lanes = absent("NumPy's library transforms all rows in one call")

    jvp = linear(0)

    def transposed(d, ct, x, *, n, axis, norm):
        terms = np.conjugate(d.emit(rfft, ct, n=n, axis=axis, norm=_SWAPPED[norm]))
        return _resized(terms * _weights(d, n, terms, axis, 2.0), x.shape[axis], axis)

    samples = (
        sample((2, 5), n=8, axis=1, norm=None),
        sample((4,), n=5, axis=0, norm="backward"),
    )
