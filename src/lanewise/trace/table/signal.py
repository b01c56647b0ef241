"""Sliding products, finite differences with spacing, sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, dim_max
from lanewise.ir.location import here
from lanewise.ops.contraction import correlate as correlate_op
from lanewise.ops.indexing import gather
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.ends import axis_places
from lanewise.trace.sizes import has_sizes, number_of
from lanewise.trace.table.checks import of_shape, required
from lanewise.trace.table.creation import array_like, number_or_array
from lanewise.trace.table.registry import implements
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.views import read_only_view, transpose_view

_MODES = {"valid": 0, "same": 1, "full": 2, 0: 0, 1: 1, 2: 2}


def _sliding(x: Tensor, v: Tensor, mode: Any) -> tuple[Tensor, bool]:
    """Return the products of x with v at every shift, no conjugate, and whether they swapped."""
    if mode not in _MODES:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    for name, operand in (("first", x), ("second", v)):
        if operand.ndim > 1:
            raise ValueError("object too deep for desired array")
        problem = ValueError(f"{name} array argument cannot be empty")
        required(number_of(operand.size) > 0, problem)
    if mode != "full" and (isinstance(x.size, Dim) or isinstance(v.size, Dim)):
        problem = ValueError(
            f"the first array is shorter than the second in mode {mode!r}, which NumPy exchanges "
            "then; that is not followed where sizes are not known while tracing"
        )
        required(number_of(x.size) >= number_of(v.size), problem)
        swapped = False
    else:
        swapped = mode != "full" and v.size > x.size
    if swapped:
        x, v = v, x
    dtype = np.result_type(x.dtype, v.dtype)
    size = v.size
    before = (0, size // 2, size - 1)[_MODES[mode]]
    behind = (0, size - size // 2 - 1, size - 1)[_MODES[mode]]
    operands = [np.astype(t, dtype, copy=False) for t in (x, v)]
    return emit(correlate_op, *operands, before=before, behind=behind), swapped


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Tensor:
    x, v = (np.atleast_1d(as_tensor(t)) for t in (a, v))
    result, swapped = _sliding(x, np.conj(v) if v.dtype.kind == "c" else v, mode)
    return result[::-1] if swapped else result


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Tensor:
    x, v = (np.atleast_1d(as_tensor(t)) for t in (a, v))
    for name, operand in (("a", x), ("v", v)):
        required(number_of(operand.shape[0]) > 0, ValueError(f"{name} cannot be empty"))
    sizes = x.shape[0], v.shape[0]
    if mode != "full" and not has_sizes(sizes) and sizes[1] > sizes[0]:
        x, v = v, x
    return _sliding(x, v[::-1], mode)[0]


# --- finite differences -------------------------------------------------------------------------


def _spacings(varargs: tuple[Any, ...], shape: Any, axes: tuple[int, ...]) -> list[Any]:
    """Return for each axis a number, or the distances between the coordinates along it."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        return [varargs[0]] * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    spacings = []
    for axis, distances in zip(axes, varargs, strict=True):
        if np.ndim(distances) == 0:
            spacings.append(distances)
            continue
        if distances.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        distances = of_shape(distances, (shape[axis],), ValueError(
            "when 1d, distances must match the length of the corresponding dimension"
        ))  # fmt: skip
        if distances.dtype.kind in "iu":
            distances = np.astype(distances, np.float64)
        steps = np.diff(distances)
        # Traced coordinates take the general formula, which gives the same where they are even.
        is_even = not isinstance(steps, Tensor) and steps.size and (steps == steps[0]).all()
        spacings.append(steps[0] if is_even else steps)
    return spacings


def _weights(h: Any, edge: int | None, order: int) -> tuple[Any, ...]:
    """Return the three weights of a second-order difference: inside, or at an edge (0 or -1)."""
    if edge is None:
        before, behind = h[:-1], h[1:]
        return (
            -behind / (before * (before + behind)),
            (behind - before) / (before * behind),
            before / (behind * (before + behind)),
        )
    if np.ndim(h) == 0:
        weights = (-1.5 / h, 2.0 / h, -0.5 / h)
        return weights if edge == 0 else tuple([-w for w in weights[::-1]])
    first, second = (h[0], h[1]) if edge == 0 else (h[-2], h[-1])
    both = first + second
    if edge == 0:
        return (
            -(2.0 * first + second) / (first * both),
            both / (first * second),
            -first / (second * both),
        )
    return (
        second / (first * both),
        -both / (first * second),
        (2.0 * second + first) / (second * both),
    )


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = as_tensor(f)
    varargs = tuple(map(number_or_array, varargs))
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    spacings = _spacings(varargs, x.shape, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    dtype = x.dtype if x.dtype.kind in "fc" else np.dtype(float)
    if x.dtype.kind in "iu":
        x = x.astype(np.float64)
    results = []
    for place, h in zip(axes, spacings, strict=True):
        problem = ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
        required(number_of(x.shape[place]) >= edge_order + 1, problem)
        results.append(_gradient(np.moveaxis(x, place, -1), h, edge_order, dtype, place))
    return results[0] if len(axes) == 1 else tuple(results)


def _gradient(x: Tensor, h: Any, edge_order: int, dtype: np.dtype, axis: int) -> Tensor:
    """Return the differences along the last axis, moved to `axis`."""
    is_even = np.ndim(h) == 0
    if is_even:
        inside = (x[..., 2:] - x[..., :-2]) / (2.0 * h)
    else:
        a, b, c = _weights(h, None, edge_order)
        inside = a * x[..., :-2] + b * x[..., 1:-1] + c * x[..., 2:]
    if edge_order == 1:
        first = (x[..., 1:2] - x[..., 0:1]) / (h if is_even else h[0])
        last = (x[..., -1:] - x[..., -2:-1]) / (h if is_even else h[-1])
    else:
        a, b, c = _weights(h, 0, edge_order)
        first = a * x[..., 0:1] + b * x[..., 1:2] + c * x[..., 2:3]
        a, b, c = _weights(h, -1, edge_order)
        last = a * x[..., -3:-2] + b * x[..., -2:-1] + c * x[..., -1:]
    parts = [np.astype(part, dtype, copy=False) for part in (first, inside, last)]
    return np.moveaxis(np.concatenate(parts, -1), -1, axis)


# --- windows ------------------------------------------------------------------------------------


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tensor:
    if writeable:
        raise UnsupportedError(
            f"a sliding window view of a traced value cannot be written to{at(here())}: its "
            "elements overlap. Write to the array itself"
        )
    windows = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    result = as_tensor(array_like(x))
    if any(window < 0 for window in windows):
        raise ValueError("`window_shape` cannot contain negative values")
    given = range(result.ndim) if axis is None else axis if np.iterable(axis) else (axis,)
    axes = tuple(normalize_axis(i, result.ndim) for i in given)
    if len(windows) != len(axes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(windows)} window_shape "
            f"elements and {len(axes)} axes elements."
        )
    for place, window in zip(axes, windows, strict=True):
        count = result.shape[place] - window + 1
        problem = ValueError("window shape cannot be larger than input array shape")
        required(number_of(count) > 0, problem)
        index = as_tensor(axis_places(dim_max(count, 0))[:, None] + np.arange(window))
        wide = read_only_view(result, gather, index, axis=place)
        order = [i for i in range(wide.ndim) if i != place + 1]
        result = transpose_view(wide, (*order, place + 1))
    return result
