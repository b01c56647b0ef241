"""Running sums and products, differences between neighbours, and areas under samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ops.shapes import normalize_axis
from lanewise.trace.table.registry import implements
from lanewise.trace.table.sorting import array
from lanewise.trace.tensor import as_tensor
from lanewise.trace.ufunc_methods import accumulate_method
from lanewise.trace.ufuncs import NO_VALUE


def _running(ufunc: np.ufunc) -> Any:
    """Return the function that accumulates by a ufunc, over the flat array by default."""

    def function(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        x = as_tensor(a)
        if axis is None:
            x, axis = np.reshape(x, -1), 0
        return accumulate_method(ufunc, x, axis, dtype, out)

    return function


cumsum = implements(np.cumsum)(_running(np.add))
cumprod = implements(np.cumprod)(_running(np.multiply))


def _cumulative(ufunc: np.ufunc) -> Any:
    """Return the array API's form, which can begin with the value of no elements."""

    def function(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None,
        include_initial: bool = False,
    ) -> Any:  # fmt: skip
        x = as_tensor(x)
        x = np.reshape(x, (1,)) if x.ndim == 0 else x
        np.cumulative_sum(np.ones((1,) * x.ndim), axis=axis)  # raises where there must be an axis
        axis = 0 if axis is None else axis
        if not include_initial:
            return accumulate_method(ufunc, x, axis, dtype, out)
        axis = normalize_axis(axis, x.ndim)
        lead = (slice(None),) * axis
        if out is not None:
            accumulate_method(ufunc, x, axis, dtype, out[(*lead, slice(1, None))])
            out[(*lead, 0)] = ufunc.identity
            return out
        result = accumulate_method(ufunc, x, axis, dtype)
        shape = tuple(1 if a == axis else d for a, d in enumerate(x.shape))
        initial = np.full(shape, ufunc.identity, result.dtype)
        return np.concatenate([initial, result], axis=axis)

    return function


cumulative_sum = implements(np.cumulative_sum)(_cumulative(np.add))
cumulative_prod = implements(np.cumulative_prod)(_cumulative(np.multiply))


@implements(np.diff)
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE
) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    x = array(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, x.ndim)
    edge = tuple(1 if i == axis else d for i, d in enumerate(x.shape))
    parts = [x]
    if prepend is not NO_VALUE:
        prepend = array(prepend)
        parts.insert(0, prepend if prepend.ndim else np.broadcast_to(prepend, edge))
    if append is not NO_VALUE:
        append = array(append)
        parts.append(append if append.ndim else np.broadcast_to(append, edge))
    if len(parts) > 1:
        x = np.concatenate(parts, axis)
    lead = (slice(None),) * axis
    step = np.not_equal if x.dtype == np.bool_ else np.subtract
    for _ in range(n):
        x = step(x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))])
    return x


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.reshape(as_tensor(ary), -1)
    parts = [x[1:] - x[:-1]]
    for name, part in (("to_begin", to_begin), ("to_end", to_end)):
        if part is None:
            continue
        part = array(part)
        if not np.can_cast(part.dtype, x.dtype, casting="same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        part = np.ravel(part).astype(x.dtype)
        parts = [part, *parts] if name == "to_begin" else [*parts, part]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = array(y)
    step = dx
    if x is not None:
        x = array(x)
        if x.ndim == 1:
            step = np.diff(x)
            shape = [1] * y.ndim
            shape[axis] = step.shape[0]
            step = np.reshape(step, shape)
        else:
            step = np.diff(x, axis=axis)
    lead = (slice(None),) * normalize_axis(axis, y.ndim)
    pairs = y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]
    return np.sum(step * pairs / 2.0, axis)
