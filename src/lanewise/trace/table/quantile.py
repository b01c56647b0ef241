"""Medians and quantiles, by every method that NumPy has, with weights and without, NaNs or not.

A quantile is looked up at a place between the sorted elements. Where the place does not depend on
the data it is worked out while tracing, by the same code that records it where it does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lanewise.ir.dims import Dim, dim_max, product
from lanewise.ops.creation import dimension
from lanewise.ops.elementwise import where
from lanewise.ops.sorting import partition
from lanewise.trace.sizes import number_of
from lanewise.trace.table.checks import checked, required
from lanewise.trace.table.reductions import broadcast_weights
from lanewise.trace.table.registry import implements
from lanewise.trace.table.sorting import array
from lanewise.trace.tensor import Tensor, as_tensor, emit
from lanewise.trace.views import as_stored, store, writable

# --- the axes of an order statistic -------------------------------------------------------------


def axes_first(x: Any, axes: tuple[int, ...] | None) -> Any:
    """Return x with the axes to reduce (all of them for None) merged into one, the first."""
    if axes is None:
        return np.reshape(x, -1)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    x = np.transpose(x, (*sorted(axes), *kept))
    return np.reshape(x, (product(x.shape[: len(axes)]), *x.shape[len(axes) :]))


def finish(
    result: Tensor,
    ndim: int,
    axes: tuple[int, ...] | None,
    keepdims: bool,
    out: Any,
    casting: str = "same_kind",
) -> Any:
    """Put the reduced axes back where ``keepdims`` asks for them, and write to ``out``."""
    if keepdims:
        lead = result.ndim - ndim + (ndim if axes is None else len(axes))
        result = np.expand_dims(
            result, tuple(a + lead for a in (range(ndim) if axes is None else axes))
        )
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError(f"out has the shape {out.shape}, the result {result.shape}")
    store(out, result, casting)
    return out


def choose(condition: Any, x: Any, y: Tensor) -> Tensor:
    """Return x where the condition holds, in the dtype of y, and y elsewhere."""
    x = as_stored(x, y.dtype)
    return emit(where, condition, x if x.dtype == y.dtype else x.astype(y.dtype), y)


# --- median -------------------------------------------------------------------------------------


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    x = as_tensor(a)
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim)
    result = _median(axes_first(x, axes), None if out is None else out.dtype)
    return finish(result, x.ndim, axes, keepdims, out)


def _median(x: Tensor, dtype: np.dtype | None) -> Tensor:
    """Return the medians along the first axis: NaN where there is one."""
    size = x.shape[0]
    # The mean is taken in the dtype of an ``out=``, as if written there.
    out = None
    if dtype is not None:
        out = writable(as_tensor(np.zeros_like(x, shape=x.shape[1:], dtype=dtype)))
    if isinstance(size, Dim):
        result = _sized_median(x, size)
        return result if out is None else np.add(result, 0, out)
    if not size:
        return np.mean(x, axis=0, out=out)
    low, high = (size - 1) // 2, size // 2
    if x.dtype.kind not in "fc":
        return np.mean(np.partition(x, (low, high), axis=0)[low : high + 1], axis=0, out=out)
    ordered = np.partition(x, (low, high, -1), axis=0)
    result = np.mean(ordered[low : high + 1], axis=0, out=out)
    return choose(np.isnan(ordered[-1]), ordered[-1], result)  # NaNs sort last


def _sized_median(x: Tensor, size: Dim) -> Tensor:
    """Return medians of so many elements; a NaN sorts behind them, for where there are none."""
    x = x if x.dtype.kind in "fc" else x.astype(float)
    nothing = np.full_like(x, np.nan, shape=(1, *x.shape[1:]))
    last = dim_max(size - 1, 0)
    x = np.concatenate([x, nothing])
    ordered = emit(partition, x, kth=(last // 2, size // 2, last), axis=0)
    result = np.mean(np.stack([ordered[last // 2], ordered[size // 2]]), axis=0)
    return choose(np.isnan(ordered[last]), ordered[last], result)


# --- methods of quantiles -----------------------------------------------------------------------


def _continuous(n: Any, q: Any, alpha: float, beta: float) -> Any:
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def _discrete(index: Any, goes_down: Callable[[Any, Any], Any]) -> Any:
    """Return the integer place: the one below where `goes_down`, else the one above."""
    before = np.floor(index)
    place = before + 1 - goes_down(index - before, index)
    return np.maximum(place.astype(np.intp), 0)


#: By method: where a quantile q of n elements lies, and how the place between two of them weighs
#: (None where it is always at one of them). Hyndman and Fan (1996), then NumPy's own.
METHODS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any] | None]] = {
    "inverted_cdf": (lambda n, q: _discrete(n * q - 1, lambda gamma, _: gamma == 0), None),
    "averaged_inverted_cdf": (lambda n, q: n * q - 1, lambda gamma, _: 1.0 - 0.5 * (gamma == 0)),
    "closest_observation": (
        lambda n, q: _discrete(
            n * q - 1 - 0.5,
            lambda gamma, index: np.logical_and(gamma == 0, np.floor(index) % 2 == 1),
        ),
        None,
    ),
    "interpolated_inverted_cdf": (partial(_continuous, alpha=0, beta=1), lambda gamma, _: gamma),
    "hazen": (partial(_continuous, alpha=0.5, beta=0.5), lambda gamma, _: gamma),
    "weibull": (partial(_continuous, alpha=0, beta=0), lambda gamma, _: gamma),
    "linear": (lambda n, q: (n - 1) * q, lambda gamma, _: gamma),
    "median_unbiased": (partial(_continuous, alpha=1 / 3, beta=1 / 3), lambda gamma, _: gamma),
    "normal_unbiased": (partial(_continuous, alpha=3 / 8, beta=3 / 8), lambda gamma, _: gamma),
    "lower": (lambda n, q: np.floor((n - 1) * q).astype(np.intp), None),
    "higher": (lambda n, q: np.ceil((n - 1) * q).astype(np.intp), None),
    "midpoint": (
        lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda _, index: 0.5 * (index % 1 != 0),
    ),
    "nearest": (lambda n, q: np.rint((n - 1) * q).astype(np.intp), None),
}


# --- quantiles ----------------------------------------------------------------------------------


def of_quantiles(compute: Callable[..., Any], most: int) -> Any:
    """Return the function that computes so, whose q goes up to 1 or to 100."""

    def function(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: bool = False, *, weights: Any = None,
    ) -> Any:  # fmt: skip
        return compute(a, q, axis, out, method, keepdims, weights, most)

    function.__module__ = compute.__module__
    return function


def _quantiles(
    a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any, most: int
) -> Any:
    x, places, axes, weights = arguments(a, q, axis, method, weights, most)
    result = _quantile(axes_first(x, axes), places, method, weights, is_weak(q), out)
    return finish(result, x.ndim, axes, keepdims, out)


quantile = implements(np.quantile)(of_quantiles(_quantiles, 1))
percentile = implements(np.percentile)(of_quantiles(_quantiles, 100))


def is_weak(q: Any) -> bool:
    """Whether q is a Python number, which leaves the dtype of the result to the data."""
    return type(q) in (int, float)


def arguments(
    a: Any, q: Any, axis: Any, method: str, weights: Any, most: int
) -> tuple[Tensor, Any, tuple[int, ...] | None, Any]:
    """Check the arguments of a quantile (``most`` 1) or percentile (100).

    Returns the array, q as a quantile, the axes, and the weights with the axes first.
    """
    x = as_tensor(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    q = array(q)
    if most == 100:
        q = np.true_divide(q, 100)
        q = q if isinstance(q, Tensor) else np.asarray(q)
    name = "Quantiles" if most == 1 else "Percentiles"
    inside = np.logical_and(q >= 0, q <= 1)
    q = checked(q, inside, ValueError(f"{name} must be in the range [0, {most}]"))
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if weights is None and method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {METHODS.keys()}")
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim, argname="axis")
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        weights = broadcast_weights(weights, x, axes)
        negative = ValueError("Weights must be non-negative.")
        weights = checked(weights, np.logical_not(weights < 0), negative)
        weights = axes_first(np.broadcast_to(weights, x.shape), axes)
    return x, q, axes, weights


def _quantile(x: Tensor, q: Any, method: str, weights: Any, weak: bool, out: Any) -> Tensor:
    """Return the quantiles along the first axis, q's axes in its place: NaN where there is one."""
    size = x.shape[0]
    if isinstance(size, Dim) and weights is None:
        problem = IndexError("index -1 is out of bounds for axis 0 with size 0")
        required(number_of(size) > 0, problem)
        ordered = np.sort(x, axis=0)
        count = np.broadcast_to(emit(dimension, size=size), x.shape[1:])
        result = between(ordered, count, as_tensor(q), method, weak, out)
        if x.dtype.kind != "f":
            return result
        last = ordered[size - 1]
        return choose(np.isnan(last), last, result)
    if not size and 0 not in x.shape[1:]:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if not size or not q.size:
        return np.mean(x, axis=0) + np.zeros((*q.shape, *(1,) * (x.ndim - 1)))
    if weights is not None:
        ordered, result = by_weights(x, size, q, weights)
    elif isinstance(q, Tensor):
        ordered = np.sort(x, axis=0)
        result = between(ordered, size, q, method, weak, out)
    else:
        index = np.asarray(METHODS[method][0](size, q))
        before, after = _neighbours(index, size)
        known = np.unique(np.concatenate([[0, size - 1], before.ravel(), after.ravel()]))
        ordered = np.partition(x, known, axis=0)
        result = between(ordered, size, q, method, weak, out)
    if x.dtype.kind != "f":
        return result
    return choose(np.isnan(ordered[-1]), ordered[-1], result)  # NaNs sort last


def between(ordered: Tensor, n: Any, q: Any, method: str, weak: bool, out: Any = None) -> Tensor:
    """Look the quantiles up in `ordered`, of which the first n along the first axis count.

    n is a number, or a tensor with one for each of the other axes' elements.
    """
    place, weigh = METHODS[method]
    rest = (1,) * (ordered.ndim - 1)
    each = isinstance(n, Tensor)
    if each:
        n = n.astype(q.dtype) if q.dtype.kind == "f" else n
        q = np.reshape(q, (*q.shape, *rest))
    index = _array(place(n, q))
    if weigh is None or (method == "linear" and index.dtype.kind in "iu"):
        return pick(ordered, index, each)
    before, after = _neighbours(index, n)
    low, high = pick(ordered, before, each), pick(ordered, after, each)
    gamma = _array(weigh(index - before, index)).astype(index.dtype)
    if weak and not each:
        gamma = float(gamma)
        return _interpolate(low, high, gamma, 1 - gamma, gamma >= 0.5, out)
    if not each:
        gamma = np.reshape(gamma, (*gamma.shape, *rest))
    other, is_high = 1 - gamma, gamma >= 0.5
    if weak:  # as a Python number would be, rounded only where it meets the elements
        dtype = low.dtype if low.dtype.kind == "f" else np.dtype(float)
        gamma, other = gamma.astype(dtype), other.astype(dtype)
    return _interpolate(low, high, gamma, other, is_high, out)


def _array(x: Any) -> Any:
    return x if isinstance(x, Tensor) else np.asarray(x)


def _interpolate(
    low: Tensor, high: Tensor, gamma: Any, other: Any, is_high: Any, out: Any
) -> Tensor:
    """Return the point between, worked out from the nearer end."""
    step = np.subtract(high, low)
    near_low = low + step * gamma
    dtype = near_low.dtype if out is None else out.dtype  # an ``out=`` lends its precision
    if not np.can_cast(near_low.dtype, dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc 'add' output from {near_low.dtype!r} to {dtype!r} with casting "
            "rule 'same_kind'"
        )
    near_high = np.subtract(high, step * other, dtype=dtype, casting="unsafe")
    if isinstance(is_high, bool):
        return near_high if is_high else near_low
    return emit(where, is_high, near_high, near_low)


def _neighbours(index: Any, n: Any) -> tuple[Any, Any]:
    """Return the places before and after a place between elements, within the n that count."""
    if index.dtype.kind in "iu":
        return index, index
    before = np.floor(index)
    last = n - 1
    before, after = (np.maximum(np.minimum(at, last), 0) for at in (before, before + 1))
    return before.astype(np.intp), after.astype(np.intp)


def pick(ordered: Tensor, index: Any, each: bool) -> Tensor:
    """Return the elements at places along the first axis; its axes come first.

    With `each` there are places for each of the other axes' elements, which stand last.
    """
    if not each:
        return ordered[index]
    others = ordered.shape[1:]
    lead = index.shape[: index.ndim - len(others)]
    flat = np.reshape(index, (product(lead), *others))
    return np.reshape(np.take_along_axis(ordered, flat, axis=0), (*lead, *others))


def by_weights(x: Tensor, n: Any, q: Any, weights: Any) -> tuple[Tensor, Tensor]:
    """Return the sorted elements, and of the first n the one where the weights reach q."""
    order = np.argsort(x, axis=0)
    ordered = np.take_along_axis(x, order, axis=0)
    weights = np.take_along_axis(as_tensor(weights), order, axis=0)
    if isinstance(n, Tensor):
        weights = choose(np.isnan(ordered), 0, weights)
    reached = np.cumsum(weights, axis=0, dtype=np.float64)
    total = reached[-1]
    reached = reached / total
    valid = np.logical_not(np.isnan(reached[-1]))
    if isinstance(n, Tensor):
        valid = np.logical_or(valid, n == 0)
    reached = checked(reached, valid, ValueError("Weights included NaN, inf or were all zero."))
    reached = reached.astype(q.dtype) if q.dtype.kind == "f" else reached
    # Leading weights of zero: the first element that counts is the least quantile.
    reached = choose(reached == 0, -1, reached)
    at = np.reshape(q, (*q.shape, *(1,) * x.ndim))
    index = np.sum(reached < at, axis=q.ndim)
    return ordered, pick(ordered, np.maximum(np.minimum(index, n - 1), 0), True)
