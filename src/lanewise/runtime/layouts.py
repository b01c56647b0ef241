"""How operands lie in memory, and how kernels take them.

A kernel takes each mapped operand in one of two layouts. In *rows* the examples come first, one
after the other, without gaps. In *columns* they stand side by side: a step along the mapped axis is
a step to the next number in memory, whatever the others are. An array of shape (3, N), one row for
each component, is in columns if it is mapped along axis 1, and so is one in Fortran's order that is
mapped along axis 0. Whatever is neither is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def is_rows(x: np.ndarray, axis: int | None) -> bool:
    """Whether the examples of an aligned array follow each other without gaps.

    Examples
    --------
    >>> x = np.zeros((5, 3))
    >>> is_rows(x, 0), is_rows(x.T, 1), is_rows(x, 1), is_rows(x[:, 1:], 0)
    (True, True, False, False)
    """
    first = np.moveaxis(x, axis, 0) if axis else x
    return first.flags.c_contiguous and first.flags.aligned


def is_columns(x: np.ndarray, axis: int | None) -> bool:
    """Whether the examples of an aligned array stand side by side.

    Examples
    --------
    >>> x = np.zeros((3, 5))
    >>> is_columns(x, 1), is_columns(x.T, 0), is_columns(x, 0), is_columns(x[:, 1:], 1)
    (True, True, False, True)
    """
    return axis is not None and x.strides[axis] == x.itemsize and x.flags.aligned


def prefers_columns(x: np.ndarray, axis: int | None) -> bool:
    """Whether columns are what a mapped array is, or sooner copied to than rows.

    Examples
    --------
    >>> x = np.zeros((3, 10))
    >>> prefers_columns(x, 1), prefers_columns(x[:, ::2], 1), prefers_columns(x[:, ::2], 0)
    (True, True, False)
    """
    if axis is None or is_rows(x, axis):
        return False
    if is_columns(x, axis):
        return True
    apart = abs(x.strides[axis])
    others = [abs(s) for i, s in enumerate(x.strides) if i != axis and x.shape[i] > 1]
    return 0 < apart < min(others, default=0)


def rows(x: Any, axis: int | None, dtype: np.dtype) -> np.ndarray:
    """Return an operand with its batch first, of this very dtype, aligned and without gaps."""
    array = np.asarray(x, dtype)
    array = np.require(np.moveaxis(array, axis, 0) if axis else array, dtype, ("C", "A"))
    return array if array.dtype is dtype else array.view(dtype)  # of several that are equal


def columns(x: Any, axis: int | None, dtype: np.dtype) -> np.ndarray:
    """Return an operand whose examples stand side by side, of this very dtype, and aligned."""
    array = np.asarray(x, dtype)
    if axis is not None and not is_columns(array, axis):
        array = np.moveaxis(np.require(np.moveaxis(array, axis, -1), dtype, ("C", "A")), -1, axis)
    return array if array.dtype is dtype else array.view(dtype)


def canonical(dtype: np.dtype) -> np.dtype:
    """Return the object that most arrays of a dtype of numbers have.

    Examples
    --------
    >>> other = np.dtype(float).newbyteorder("=")
    >>> other is np.dtype(float), canonical(other) is np.dtype(float)
    (False, True)
    """
    return dtype if dtype.isbuiltin == 2 else np.dtype(dtype.str)  # 2: of another package
