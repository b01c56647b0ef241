"""Discrete Fourier transforms along one axis; transforms of several axes are several of these."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, bounds, dim_max
from lanewise.ir.graph import Operation
from lanewise.ir.types import array_type
from lanewise.ops.creation import iota
from lanewise.ops.derivatives import linear
from lanewise.ops.facts import Kind, usual, usual_size
from lanewise.ops.numpy_loops import own_gufunc, same
from lanewise.ops.registry import along_axis, op, sample


def _check(n: int, norm: str | None) -> None:
    most = bounds(n)[1]
    if most is not None and most < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    swapped(norm)


#: The normalization with which a transform of the other direction has the same factor.
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def swapped(norm: Any) -> str:
    """Return the normalization that makes a transform of the other direction."""
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return _SWAPPED[norm]


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


# --- NumPy's loops ------------------------------------------------------------------------------

#: What a transform takes, in nanoseconds: whatever n is, and for each factor of n that is computed
#: with, a number of it; and a call that makes the table of n roots of unity, which it does for its
#: rows.
_ROW_NS, _FACTOR_NS, _SETUP_NS, _ROOT_NS = 20.0, 0.13, 150.0, 8.0

#: Rows of more points are transformed one by one only where NumPy would do so as well.
LONG = 1 << 10
#: Where there is one example, NumPy writes a result of more numbers to its place at once.
LARGE = 1 << 16


def _transform_ns(n: Any) -> float:
    """Return what a complex transform of n points takes, about, given the roots."""
    n = left = usual_size(n)
    total = 0
    for factor in (2, 3, 5, 7, 11):
        while left % factor == 0 and left > 1:
            total, left = total + factor, left // factor
    # One of a large prime is two of more than twice as many points (Bluestein).
    each = min(total + left, 16 * math.log2(2 * n)) if left > 1 else total
    return _FACTOR_NS * 2 * n * each


def _call_ns(op: Operation) -> float:
    """Return what the transforms of an example take in NumPy's loop."""
    shape, axis = op.results[0].type.shape, op.params["axis"]
    rows = math.prod([usual_size(size) for i, size in enumerate(shape) if i != axis])
    return rows * (_ROW_NS + _transform_ns(op.params["n"]) / _halves(op))


def _setup_ns(op: Operation) -> float:
    """Return what a call takes beside its transforms."""
    n = usual_size(op.params["n"])
    roots = n if _transform_ns(n) < 20 * n else 8 * n
    return _SETUP_NS + _ROOT_NS * roots / _halves(op)


def _halves(op: Operation) -> int:
    """Return which part of a complex transform one is."""
    return 1 if op.primitive.name == "fft" else 2


@lru_cache(maxsize=8)
def _gufunc(name: str) -> np.ufunc | None:
    """Return the generalized ufunc of NumPy's that a transform is; None if it is no more."""
    public, sizes = getattr(np.fft, name.partition("_")[0]), (3, 4)
    if name[0] == "r":
        sizes = (3,) if name.endswith("odd") else (4,)

    def agrees(fn: np.ufunc) -> bool:
        x = np.array([1.0, -2.5, 3.25]) * (1 if name[0] == "r" else 1 - 0.5j)
        wanted = [public(x, n, norm="backward" if name[0] == "i" else "forward") for n in sizes]
        found = [
            fn(x, np.reciprocal(float(n)), out=np.empty_like(w))
            for n, w in zip(sizes, wanted, strict=True)
        ]
        return same(tuple(found), tuple(wanted))

    signature = "(m),()->(n)" if name[0] == "i" else "(n),()->(m)"
    return own_gufunc("numpy.fft._pocketfft_umath", name, signature, agrees)


def _transformed(
    k: Any, type_: Any, x: Any, n: Any, axis: int, norm: str | None, names: tuple[str, ...]
) -> Any:
    """Call the loop of NumPy's that a transform is; of two, the second for odd n."""
    fns, which = [_gufunc(name) for name in names], None
    if None in fns:
        k.leave("NumPy's transforms are not where they were")
    is_one_by_one = k.has_batch and k.is_batched and not k.in_lanes
    if is_one_by_one and not isinstance(n, Dim) and n > LONG:
        k.leave("NumPy transforms all rows in one call, which prepares long ones once")
    if not k.has_batch and k.is_batched and usual(type_.shape) > LARGE:
        k.leave("of one large array NumPy makes as much in one call")
    if len(fns) == 2 and isinstance(n, Dim):
        which = (k.index(n) & 1).ne(0)
    elif len(fns) == 2:
        fns = fns[n % 2 : n % 2 + 1]
    is_inverse = names[0][0] == "i"
    real = np.result_type(x.dtype.type(0).real.dtype, 1.0)
    where = {None: "backward"}.get(norm, norm)
    if is_inverse:
        where = _SWAPPED[where]
    if where == "backward":
        factor = k.constant(real, 1)
    else:
        size = k.convert(k.index(n), real)
        size = k.ufunc(np.sqrt, size) if where == "ortho" else size
        factor = k.ufunc(np.reciprocal, size)
    given = (x.dtype, int if where == "backward" else real, type_.dtype)  # as NumPy gives them
    dtypes = fns[0].resolve_dtypes(given)
    return k.calls.gufunc(
        [type_],
        fns,
        dtypes,
        (x, k.scalar(factor)),
        ((axis,), (), (axis,)),
        _transform_ns(n),
        which=which,
    )[0]


# --- operations ---------------------------------------------------------------------------------


@op
class fft:
    """The complex transform of n points (the axis is cut or zero-padded to n), or its inverse."""

    kind, along, any_size, along_rows = Kind.ALONG, "axis", True, True
    call_ns, setup_ns = _call_ns, _setup_ns

    def type(x, *, n: int, axis: int, norm: str | None, inverse: bool):
        _check(n, norm)
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        return array_type(np.fft.fft(np.ones(1, x.dtype)).dtype, shape)

    def numpy(x, *, n, axis, norm, inverse):
        return (np.fft.ifft if inverse else np.fft.fft)(x, n, axis, norm)

    batch = along_axis

    def lanes(k, types, x, *, n, axis, norm, inverse):
        return _transformed(k, types[0], x, n, axis, norm, ("ifft" if inverse else "fft",))

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

    kind, along, any_size, along_rows = Kind.ALONG, "axis", True, True
    call_ns, setup_ns = _call_ns, _setup_ns

    def type(x, *, n: int, axis: int, norm: str | None):
        _check(n, norm)
        if x.dtype.kind == "c":
            raise TypeError("rfft takes real input; use fft for complex numbers")
        shape = (*x.shape[:axis], n // 2 + 1, *x.shape[axis + 1 :])
        return array_type(np.fft.rfft(np.ones(1, x.dtype)).dtype, shape)

    def numpy(x, *, n, axis, norm):
        return np.fft.rfft(x, n, axis, norm)

    batch = along_axis

    def lanes(k, types, x, *, n, axis, norm):
        return _transformed(k, types[0], x, n, axis, norm, ("rfft_n_even", "rfft_n_odd"))

    jvp = linear(0)

    def transposed(d, ct, x, *, n, axis, norm):
        terms = np.conjugate(ct) * _weights(d, n, ct, axis, 0.5)
        back = d.emit(irfft, terms, n=n, axis=axis, norm=_SWAPPED[norm])
        return _resized(back, x.shape[axis], axis)

    samples = (sample((2, 5), n=5, axis=1, norm=None), sample((4,), n=6, axis=0, norm="ortho"))


@op
class irfft:
    """The inverse of `rfft`: n real points."""

    kind, along, any_size, along_rows = Kind.ALONG, "axis", True, True
    call_ns, setup_ns = _call_ns, _setup_ns

    def type(x, *, n: int, axis: int, norm: str | None):
        _check(n, norm)
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        return array_type(np.fft.irfft(np.ones(2, x.dtype)).dtype, shape)

    def numpy(x, *, n, axis, norm):
        return np.fft.irfft(x, n, axis, norm)

    batch = along_axis

    def lanes(k, types, x, *, n, axis, norm):
        return _transformed(k, types[0], x, n, axis, norm, ("irfft",))

    jvp = linear(0)

    def transposed(d, ct, x, *, n, axis, norm):
        terms = np.conjugate(d.emit(rfft, ct, n=n, axis=axis, norm=_SWAPPED[norm]))
        return _resized(terms * _weights(d, n, terms, axis, 2.0), x.shape[axis], axis)

    samples = (sample((2, 5), n=8, axis=1, norm=None), sample((4,), n=5, axis=0, norm="backward"))
