"""NumPy's own Python code on data: `numpy.polynomial`, ``np.r_``, ``np.ndenumerate``, and joins.

It is made of functions that are followed, but does not dispatch: it asks for arrays, and Python's
control flow stands in it. So it is converted like a user's, where it is given data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import polyutils

from lanewise.autograph import calls
from lanewise.autograph.advice import without_data
from lanewise.autograph.calls import ROWS, replaces
from lanewise.autograph.convert import convert
from lanewise.errors import at
from lanewise.ir.dims import Dim
from lanewise.ir.location import here
from lanewise.ops.shapes import normalize_axis
from lanewise.trace.scratch import is_traced
from lanewise.trace.sizes import number_of
from lanewise.trace.table.checks import checked, required
from lanewise.trace.tensor import Tensor, as_tensor


def _on_data(function: Any) -> Callable[..., Any]:
    """Return a function of NumPy's that is converted where it is given data."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_traced(args) and not is_traced(kwargs):
            return function(*args, **kwargs)
        return convert(function, calls.HOOKS[0])(*args, **kwargs)

    call.__name__ = function.__name__
    return call


_CONCATENATE = type(np.r_).__getitem__
ROWS[_CONCATENATE] = _on_data(_CONCATENATE)


@replaces(np.ndenumerate)
def ndenumerate(arr: Any) -> Iterator[Any]:
    """``np.ndenumerate``, of data too: pairs of the index and the element."""
    if not is_traced(arr):
        return np.ndenumerate(arr)
    x = as_tensor(arr)
    return iter([(index, x[index]) for index in np.ndindex(x.shape)])


def _of_rows(function: Any, joined: Callable[..., Any]) -> None:
    """Have arrays joined that are the rows of one, also of a length that is data.

    NumPy would ask how many there are, to see of which classes they are.
    """

    otherwise = ROWS.get(function, function)

    def call(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        is_long = type(arrays) is Tensor and arrays.ndim and isinstance(arrays.shape[0], Dim)
        has_axis = len(args) < 2 and kwargs.keys() <= {"axis"} and joined in _ALONG
        if not is_long or ((args or kwargs) and not has_axis):
            return otherwise(arrays, *args, **kwargs)
        done = "stack" if joined is _stacked else "concatenate"
        problem = ValueError(f"need at least one array to {done}")
        required(number_of(arrays.shape[0]) > 0, problem)
        return joined(arrays, *args, **kwargs)

    call.__name__ = function.__name__
    replaces(function)(call)


def _stacked(rows: Any, axis: int = 0) -> Any:
    return np.moveaxis(rows, 0, axis)


def _concatenated(rows: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return np.ravel(rows)
    if rows.ndim < 2:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, rows.ndim - 1)
    moved = np.moveaxis(rows, 0, axis)
    return np.reshape(moved, (*moved.shape[:axis], -1, *moved.shape[axis + 2 :]))


def _vertically(rows: Any) -> Any:
    missing = max(3 - rows.ndim, 0)
    return _concatenated(rows[(slice(None), *(None,) * missing)])


def _horizontally(rows: Any) -> Any:
    return _concatenated(rows if rows.ndim > 1 else rows[:, None], int(rows.ndim > 2))


def _as_columns(rows: Any) -> Any:
    missing = max(3 - rows.ndim, 0)
    return _concatenated(rows[(..., *(None,) * missing)], 1)


#: Those that take an axis.
_ALONG = (_stacked, _concatenated)
for _function, _joined in {
    np.stack: _stacked, np.concatenate: _concatenated, np.vstack: _vertically,
    np.hstack: _horizontally, np.column_stack: _as_columns,
}.items():  # fmt: skip
    _of_rows(_function, _joined)


@replaces(polyutils.trimseq)
def trimseq(seq: Any) -> Any:
    """``trimseq``, which cuts off zeros: of data there must be none to cut off."""
    if not is_traced(seq):
        return polyutils.trimseq(seq)
    if len(seq) < 2:
        return seq
    message = (
        f"numpy.polynomial cuts off coefficients at the end that are 0{at(here())}: how many are "
        "left would depend on the data. Use np.convolve, and + and - of arrays of one length"
    )
    return checked(seq, as_tensor(seq)[-1] != 0, ValueError(message))


#: What computes with the numbers themselves, each with what to write instead.
_REFUSED: dict[Any, str] = {
    np.nditer: "Write a loop over np.ravel(x), or over np.ndindex(x.shape)",
    np.broadcast: "Use np.broadcast_arrays, or np.broadcast_shapes",
    np.poly1d: "Use np.polyval(coefficients, x), np.polymul, np.polyadd",
    np.matrix: "Use arrays of two axes, and @",
    np.asmatrix: "Use arrays of two axes, and @",
    np.bmat: "Use np.block",
    np.lib.stride_tricks.as_strided: "Use np.lib.stride_tricks.sliding_window_view, or an index",
}


for _function, _instead in _REFUSED.items():
    if _function not in ROWS:
        ROWS[_function] = without_data(_function, _instead)
