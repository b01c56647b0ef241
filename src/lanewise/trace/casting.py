"""What becomes of numbers that are data where they are written as elements of a dtype.

NumPy casts arrays, whatever they hold. But a Python number must fit: NaN, an infinity, or an
integer out of bounds raises. Where elements are set one by one (by a basic index, in a list), it
makes Python numbers of its own scalars too, if the dtype is one of signed integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.ops.checks import checked
from lanewise.ops.movement import cast
from lanewise.trace.tensor import Tensor, as_tensor, contains_tensor, emit


def is_scalar(x: Any) -> bool:
    """Whether a tensor stands for a scalar of NumPy's, or a Python number, not for an array."""
    return type(x) is Tensor and not x.shape and x._view is None


def must_fit(x: Tensor, dtype: np.dtype, *, set_alone: bool) -> bool:
    """Whether NumPy makes a Python number of x before it makes an element of a dtype of it."""
    if dtype.kind not in "iu" or x.dtype.kind not in "iuf":
        return False
    return x._weak is not None or (set_alone and dtype.kind == "i" and is_scalar(x))


def as_element(x: Tensor, dtype: np.dtype, *, set_alone: bool) -> Tensor:
    """Return what is written of x: x itself, or what fits into the dtype.

    `set_alone`: whether elements are set one by one, as ``a[i] = x`` does, or in an array.
    """
    if x._weak is complex and dtype.kind not in "bc":
        raise TypeError(
            f"float() argument must be a string or a real number, not 'complex'{at(here())}"
        )
    return fitting(x, dtype) if must_fit(x, dtype, set_alone=set_alone) else x


def fitting(x: Any, dtype: np.dtype) -> Tensor:
    """Return a real number as an integer of a dtype; raise where ``int(x)`` or the dtype does."""
    result = x.copy() if x.dtype == dtype else emit(cast, x, dtype=dtype)
    bounds = np.iinfo(dtype)
    out_of_range = f"Python integer out of bounds for {dtype}"
    if x.dtype.kind == "f":
        if dtype.itemsize == 8:
            out_of_range = "Python int too large to convert to C long"
        result = _checked(result, ~np.isnan(x), ValueError, "cannot convert float NaN to integer")
        result = _checked(
            result, ~np.isinf(x), OverflowError, "cannot convert float infinity to integer"
        )
        whole = np.trunc(x).astype(float)  # both bounds are powers of two there
        fits = np.logical_and(whole >= bounds.min, whole < float(bounds.max + 1))
        return _checked(result, fits, OverflowError, out_of_range)
    own = np.iinfo(x.dtype)
    if own.min < bounds.min:
        result = _checked(result, x >= int(bounds.min), OverflowError, out_of_range)
    if own.max > bounds.max:
        result = _checked(result, x <= int(bounds.max), OverflowError, out_of_range)
    return result


def _checked(x: Any, ok: Any, error: type[Exception], message: str) -> Any:
    return emit(checked, x, ok, error=error.__name__, message=message)


def elements(values: Any, dtype: np.dtype) -> Any:
    """Return nested lists that hold tensors as the array that is written to elements of a dtype."""
    if not contains_tensor(values):
        return as_tensor(np.array(values, dtype))
    if isinstance(values, (list, tuple)):
        parts: Any = [elements(part, dtype) for part in values]
        common = np.result_type(*[part.dtype for part in parts])
        return np.stack([part.astype(common) for part in parts])
    return as_element(as_tensor(values), dtype, set_alone=True)


__all__ = ["as_element", "elements", "fitting", "is_scalar", "must_fit"]
