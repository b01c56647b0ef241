"""The methods of universal functions on tensors: reduce, accumulate, reduceat, outer, at."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, bounds
from lanewise.ir.graph import Signature
from lanewise.ir.location import here
from lanewise.ir.types import ArrayType
from lanewise.ops.elementwise import loop_dtypes, where
from lanewise.ops.reduction import CHOICES, accumulate, reduce, reduceat, reduction_dtype
from lanewise.ops.shapes import broadcast_shapes, normalize_axis
from lanewise.trace.indexing import setitem
from lanewise.trace.sizes import not_empty
from lanewise.trace.tensor import Tensor, as_tensor, emit, implement, read
from lanewise.trace.trace import require_trace, state
from lanewise.trace.ufuncs import NO_VALUE, apply, call_with_keywords, matmul, write_out
from lanewise.trace.views import as_out, as_stored


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction as a sorted tuple of non-negative ints."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = [normalize_axis(operator.index(a), ndim) for a in given]
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def reduce_method(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """``ufunc.reduce`` with all its keywords."""
    x = as_tensor(array)
    is_usual = axis is dtype is out is None and where is True and initial is NO_VALUE
    if is_usual and not keepdims and state.floating is state.attempt is None:
        known = _reduce_all(ufunc, x._type)  # the usual case, looked up at once
        if known is not None:
            value, trace = read(x), require_trace(ufunc.__name__)
            trace.location = here()
            return Tensor(trace, trace.append(known, (value,))[0])
    out = out[0] if isinstance(out, tuple) else out
    if x.ndim == 0 and axis in (0, -1):
        axis = ()
    axes = _axes(axis, x.ndim)
    if len(axes) > 1 and not _reorderable(ufunc):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, "
            "so at most one axis may be specified"
        )
    dtype = _accumulator(ufunc, x, dtype, out)
    if where is True and initial is NO_VALUE:
        if ufunc.identity is None:
            of_none = "zero-size array to reduction operation {} which has no identity"
            x = not_empty(x, axes, of_none.format(ufunc.__name__))
        result = emit(reduce, x, fn=ufunc, axes=axes, dtype=dtype)
    else:
        result = _reduce_from(ufunc, x, axes, dtype, initial, where)
    if keepdims:
        result = np.expand_dims(result, axes)
    return result if out is None else _store_reduction(ufunc, result, out)


@lru_cache(maxsize=4096)
def _reduce_all(ufunc: np.ufunc, type: ArrayType) -> Signature | None:
    """Return the signature of a reduction over all axes, None where it takes a closer look."""
    if type.ndim > 1 and not _reorderable(ufunc):
        return None
    params = {"fn": ufunc, "axes": tuple(range(type.ndim)), "dtype": None}
    try:
        return reduce.signature((type,), params)
    except (TypeError, ValueError):
        return None


def _accumulator(ufunc: np.ufunc, x: Tensor, dtype: Any, out: Any) -> np.dtype | None:
    """Return the dtype that a reduction accumulates in where that is not ufunc's own choice."""
    if dtype is not None:
        return np.dtype(dtype)
    if isinstance(out, Tensor) and out.dtype != x.dtype and out.dtype.kind != "b":
        return loop_dtypes(ufunc, (out.dtype, x.dtype), None)[-1]
    return None


def _store_reduction(ufunc: np.ufunc, result: Tensor, out: Any) -> Tensor:
    """Write the result of a reduction to ``out=``, which must have just its shape."""
    out = as_out(out)
    if out.ndim != result.ndim:
        raise ValueError(
            f"output parameter for reduction operation {ufunc.__name__} has the wrong number of "
            f"dimensions: Found {out.ndim} but expected {result.ndim}"
        )
    return write_out(ufunc, result, out, True, "unsafe")


def _reduce_from(
    ufunc: np.ufunc,
    x: Tensor,
    axes: tuple[int, ...],
    dtype: np.dtype | None,
    initial: Any,
    mask: Any,
) -> Any:
    """Reduce from a first value on, taking only the elements where the mask holds."""
    is_empty = any(x.shape[axis] == 0 for axis in axes)
    result_dtype = reduction_dtype(ufunc, "reduce", x.dtype, dtype)
    first = None
    if initial is not NO_VALUE and initial is not None:
        first = as_stored(initial, result_dtype, set_alone=True).astype(result_dtype)
    if first is None and is_empty and initial is None:
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    if mask is not True:
        if first is None and (ufunc.identity is None or initial is None):
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, "
                "so to use a where mask one has to specify 'initial'"
            )
        mask = _reduction_mask(mask, x)
    if ufunc.identity is None and ufunc not in CHOICES:
        return _fold(ufunc, x, axes, result_dtype, first, mask)
    if mask is not True:
        x = emit(where, mask, x, _neutral(ufunc, x, dtype, first))
    if is_empty and first is not None:
        kept = tuple(d for axis, d in enumerate(x.shape) if axis not in axes)
        return np.broadcast_to(first, kept).copy()
    if ufunc in CHOICES and first is not None:
        x = _with_an_element(x, axes, first)
    result = emit(reduce, x, fn=ufunc, axes=axes, dtype=dtype)
    return result if first is None else apply(ufunc, first, result)


def _with_an_element(x: Tensor, axes: tuple[int, ...], first: Tensor) -> Tensor:
    """Return x with `first` behind its elements, along axes that may have none."""
    for axis in axes:
        if isinstance(x.shape[axis], Dim) and bounds(x.shape[axis])[0] == 0:
            x = x.astype(first.dtype)
            shape = tuple([1 if i == axis else size for i, size in enumerate(x.shape)])
            x = np.concatenate([x, np.broadcast_to(first, shape)], axis)
    return x


def _reduction_mask(mask: Any, x: Tensor) -> Tensor:
    mask = as_tensor(mask)
    if mask.dtype.kind != "b":
        raise TypeError(
            f"Cannot cast array data from {mask.dtype!r} to {np.dtype(bool)!r} "
            "according to the rule 'safe'"
        )
    if broadcast_shapes(x.shape, mask.shape) != x.shape:
        raise ValueError(
            f"non-broadcastable where mask: its shape {mask.shape} must broadcast to that of the "
            f"array, {x.shape}"
        )
    return mask


def _neutral(ufunc: np.ufunc, x: Tensor, dtype: np.dtype | None, first: Tensor | None) -> Tensor:
    """Return what a reduction does not notice among its elements, in the dtype of the elements."""
    if ufunc.identity is None:
        assert first is not None
        return first.astype(x.dtype)
    if isinstance(ufunc.identity, float) and x.dtype.kind in "biu":  # -inf, of logaddexp
        return as_stored(ufunc.identity, reduction_dtype(ufunc, "reduce", x.dtype, dtype))
    return as_tensor(np.asarray(ufunc.identity).astype(x.dtype))


def _fold(
    ufunc: np.ufunc,
    x: Tensor,
    axes: tuple[int, ...],
    dtype: np.dtype,
    first: Tensor | None,
    mask: Any,
) -> Tensor:
    """Reduce along one axis element by element: for subtraction, division and their like."""
    if not axes:
        return apply(ufunc, first, x, dtype=dtype) if first is not None else x.astype(dtype)
    (axis,) = axes
    rows = list(np.moveaxis(x.astype(dtype), axis, 0))
    masks = list(np.moveaxis(np.broadcast_to(mask, x.shape), axis, 0)) if mask is not True else None
    kept = tuple(d for i, d in enumerate(x.shape) if i != axis)
    total: Any = np.broadcast_to(first, kept).copy() if first is not None else rows.pop(0)
    for index, row in enumerate(rows):
        result = apply(ufunc, total, row, dtype=dtype)
        total = result if masks is None else emit(where, masks[index], result, total)
    return total


@lru_cache(maxsize=256)
def _reorderable(ufunc: np.ufunc) -> bool:
    try:
        ufunc.reduce(np.ones((1, 1)), axis=(0, 1))
    except (ValueError, TypeError) as error:
        return "not reorderable" not in str(error)
    return True


def accumulate_method(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``ufunc.accumulate``."""
    x = as_tensor(array)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    out = out[0] if isinstance(out, tuple) else out
    axis = normalize_axis(operator.index(axis), x.ndim)
    dtype = _accumulator(ufunc, x, dtype, out)
    result = emit(accumulate, x, fn=ufunc, axis=axis, dtype=dtype)
    return result if out is None else _store_reduction(ufunc, result, out)


#: Gives what `reduceat` does where the data say where runs start (`lanewise.api.along_axis`).
RUNS: list[Callable[..., Tensor]] = []


def _reduceat_method(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    x = as_tensor(array)
    out = out[0] if isinstance(out, tuple) else out
    axis = normalize_axis(operator.index(axis), x.ndim)
    dtype = _accumulator(ufunc, x, dtype, out)
    if isinstance(indices, Tensor):
        result = RUNS[0](ufunc, x, indices, axis, dtype)
    else:
        starts = tuple(int(i) for i in np.asarray(indices).ravel())
        result = emit(reduceat, x, fn=ufunc, indices=starts, axis=axis, dtype=dtype)
    return result if out is None else _store_reduction(ufunc, result, out)


def _outer_method(ufunc: np.ufunc, x: Any, y: Any, **kwargs: Any) -> Any:
    x, y = as_tensor(x), as_tensor(y)
    x = np.reshape(x, (*x.shape, *(1,) * y.ndim))
    return call(ufunc, "__call__", (x, y), kwargs)


def _at_method(ufunc: np.ufunc, array: Any, indices: Any, values: Any = None) -> None:
    if not isinstance(array, Tensor):
        raise UnsupportedError(
            f"{ufunc.__name__}.at writes to an array that is not traced{at(here())}. Make it with "
            "np.zeros_like(t, shape=...) first"
        )
    setitem(array, indices, values, fn=ufunc)


_METHODS = {
    "reduce": reduce_method,
    "accumulate": accumulate_method,
    "reduceat": _reduceat_method,
    "outer": _outer_method,
}


def call(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out ``ufunc(*inputs, **kwargs)`` or one of its methods on tensors."""
    if method == "at":
        return _at_method(ufunc, *inputs, **kwargs)
    if method == "__call__" and ufunc.signature is None:
        if not kwargs:
            return apply(ufunc, *inputs)
        function = partial(call_with_keywords, ufunc, inputs, kwargs)
    else:
        function = partial(implement, ufunc, partial(_call, ufunc, method), inputs, kwargs)
    if state.floating is not None and kwargs.get("out") is not None:
        return state.floating.after_writing(function)
    return function()


def _call(ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
    if method != "__call__":
        return _METHODS[method](ufunc, *inputs, **kwargs)
    if not kwargs and ufunc is np.matmul:
        return matmul(*inputs)
    return call_with_keywords(ufunc, inputs, kwargs)
