"""Discrete Fourier transforms: those of several axes are one along each, as in NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lanewise.ir.dims import DimLike
from lanewise.ir.types import NUMPY
from lanewise.ops import fft as ops
from lanewise.ops.registry import Primitive
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.sizes import dim_of
from lanewise.trace.table.checks import deprecated
from lanewise.trace.table.contraction import write_out
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit


def _length(n: Any) -> DimLike:
    size = dim_of(n)
    return operator.index(n) if size is None else size


def _transform(
    primitive: Primitive, x: Tensor, n: int, axis: int, norm: Any, out: Any, **params: Any
) -> Any:
    result = emit(
        primitive, x, n=_length(n), axis=normalize_axis(axis, x.ndim), norm=norm, **params
    )
    if out is None:
        return result
    if isinstance(out, Tensor) and out.shape != result.shape:
        raise ValueError("output array has wrong shape.")
    return write_out(out, result)


def _heeded(out: Any) -> Any:
    """Return ``out`` of a function that leaves it alone before NumPy 2.5."""
    return out if NUMPY >= (2, 5) else None


def _complex(inverse: bool) -> Any:
    """Return the complex transform along one axis, or its inverse."""

    def function(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        x: Any = as_tensor(a)
        points = x.shape[axis] if n is None else n
        return _transform(ops.fft, x, points, axis, norm, out, inverse=inverse)

    return function


fft = implements(np.fft.fft)(_complex(False))
ifft = implements(np.fft.ifft)(_complex(True))


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    x: Any = as_tensor(a)
    return _transform(ops.rfft, x, x.shape[axis] if n is None else n, axis, norm, out)


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    x: Any = as_tensor(a)
    points = 2 * (x.shape[axis] - 1) if n is None else n
    return _transform(ops.irfft, x, points, axis, norm, out)


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return irfft(np.conjugate(as_tensor(a)), n, axis, ops.swapped(norm), _heeded(out))


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    result = np.conjugate(rfft(a, n, axis, ops.swapped(norm)))
    return result if out is None else write_out(out, result)


def _lengths(x: Tensor, s: Any, axes: Any, *, real: bool = False) -> tuple[list[Any], list[int]]:
    """Return the number of points along each axis, and the axes."""
    shapeless = s is None
    if axes is None:
        if not shapeless:
            deprecated(
                "`axes` should not be `None` if `s` is not `None` (deprecated in NumPy 2.0): pass "
                "a sequence [0, ..., k-1] to `axes` for an array of dimension k."
            )
        axes = list(range(-len(x.shape if shapeless else s), 0))
    s = [x.shape[axis] for axis in axes] if shapeless else list(s)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if real and shapeless:
        s[-1] = 2 * (x.shape[axes[-1]] - 1)
    if None in s:
        deprecated(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0 and will "
            "raise an error in a future version of NumPy."
        )
    points = [x.shape[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)]
    return points, list(axes)


def _along_each(
    transform: Callable[..., Tensor], a: Any, s: Any, axes: Any, norm: Any, out: Any
) -> Any:
    """Transform along each axis, the last one first."""
    x: Any = as_tensor(a)
    points, axes = _lengths(x, s, axes)
    for n, axis in zip(reversed(points), reversed(axes), strict=True):
        x = transform(x, n, axis, norm)
    return x if out is None else write_out(out, x)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x: Any = as_tensor(a)
    points, axes = _lengths(x, s, axes)
    x = rfft(x, points[-1], axes[-1], norm)
    for n, axis in zip(points[-2::-1], axes[-2::-1], strict=True):
        x = fft(x, n, axis, norm)
    return x if out is None else write_out(out, x)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x: Any = as_tensor(a)
    points, axes = _lengths(x, s, axes, real=True)
    for n, axis in zip(points[:-1], axes[:-1], strict=True):
        x = ifft(x, n, axis, norm)
    return irfft(x, points[-1], axes[-1], norm, out)


def _of_axes(transform: Callable[..., Any], axes: Any = None, heeds_out: bool = True) -> Any:
    """Return the function that transforms along several axes, these if none are given."""

    def function(a: Any, s: Any = None, axes: Any = axes, norm: Any = None, out: Any = None) -> Any:
        return transform(a, s, axes, norm, out if heeds_out else _heeded(out))

    return function


fftn = implements(np.fft.fftn)(_of_axes(partial(_along_each, fft)))
ifftn = implements(np.fft.ifftn)(_of_axes(partial(_along_each, ifft)))
fft2 = implements(np.fft.fft2)(_of_axes(partial(_along_each, fft), (-2, -1)))
ifft2 = implements(np.fft.ifft2)(_of_axes(partial(_along_each, ifft), (-2, -1), heeds_out=False))
rfft2 = implements(np.fft.rfft2)(_of_axes(rfftn, (-2, -1)))
irfft2 = implements(np.fft.irfft2)(_of_axes(irfftn, (-2, -1), heeds_out=False))


def _shift(x: Tensor, axes: Any, sign: int) -> Any:
    if axes is None:
        axes = tuple(range(x.ndim))
    axes = (operator.index(axes),) if np.ndim(axes) == 0 else tuple(axes)
    return np.roll(x, [sign * (x.shape[axis] // 2) for axis in axes], axes)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shift(as_tensor(x), axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shift(as_tensor(x), axes, -1)
