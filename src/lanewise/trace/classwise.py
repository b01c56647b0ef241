"""NumPy's functions on arrays of which the data choose the dtype (`lanewise.trace.mixed`).

A function is carried out for each dtype, in a branch of its own: what it gives, and of which dtype,
depends on that in too many ways. What gives a view is carried out once, as the view has to show
the array that is written to; so is what writes, as views know how to write for each dtype.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.mixed import by_class, is_mixed, joined, mixed_among
from lanewise.trace.tensor import ANY_MIXED, CLASSWISE, TABLE

F = TypeVar("F", bound=Callable[..., Any])

#: Functions whose results are views of their arguments, where they can be.
_SHOWING = frozenset((
    np.reshape, np.ravel, np.transpose, np.permute_dims, np.matrix_transpose,
    np.linalg.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze,
    np.broadcast_to, np.broadcast_arrays, np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal,
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.array_split, np.split, np.hsplit, np.vsplit,
    np.dsplit, np.unstack,
))  # fmt: skip
#: Functions that make one array of a list of them, of the dtype that holds all.
_JOINING = frozenset((
    np.array, np.stack, np.concatenate, np.hstack, np.vstack, np.dstack, np.column_stack, np.block,
))  # fmt: skip

#: Functions that write to their first argument, with its name.
WRITING_TO_FIRST = {
    np.copyto: "dst", np.put: "a", np.place: "arr", np.putmask: "a", np.fill_diagonal: "a",
    np.put_along_axis: "arr",
}  # fmt: skip


@cache
def _out_position(func: Any) -> int | None:
    """Return where a function of the table takes ``out``, None where it does not."""
    if func not in TABLE:
        return None
    parameters = inspect.signature(TABLE[func]).parameters.values()
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [each.name for each in parameters if each.kind in places]
    return names.index("out") if "out" in names else None


def written_by(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """Return what a NumPy function is about to write to; some of it may be None."""
    out = kwargs.get("out")
    arrays = [*out] if type(out) is tuple else [out]
    if func in WRITING_TO_FIRST:
        arrays.append(args[0] if args else kwargs[WRITING_TO_FIRST[func]])
    elif func is np.nan_to_num and not (args[1] if len(args) > 1 else kwargs.get("copy", True)):
        arrays.append(args[0] if args else kwargs["x"])
    position = _out_position(func)
    if position is not None and position < len(args):
        arrays.append(args[position])
    return arrays


def each_class(function: F) -> F:
    """Make a function one that is called for each class that an argument has (`by_class`)."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if ANY_MIXED[0]:
            return by_class(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call  # ty: ignore[invalid-explicit-return]


def _carry_out(func: Any, implementation: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if func in _SHOWING or next(mixed_among((args, kwargs)), None) is None:
        return implementation(*args, **kwargs)
    written = [x for x in written_by(func, args, kwargs) if is_mixed(x)]
    if written:
        return _write(func, implementation, args, kwargs, written)
    if func in _JOINING and args and type(args[0]) in (tuple, list):
        has_dtype = kwargs.get("dtype") is not None or (func is np.array and len(args) > 1)
        if not has_dtype:
            return joined(lambda parts: implementation(parts, *args[1:], **kwargs), args[0])
    args = [_as_array(x) if type(x) in (tuple, list) else x for x in args]
    return by_class(implementation, *args, **kwargs)


def _as_array(numbers: Any) -> Any:
    """Return an array of numbers in nested lists, if the data choose the class of several."""
    found = list(mixed_among(numbers))
    return _stacked(numbers) if len(found) > 1 and not any([x.shape for x in found]) else numbers


def _stacked(numbers: Any) -> Any:
    return np.stack([_stacked(x) if type(x) in (tuple, list) else x for x in numbers])


def _write(
    func: Any, implementation: Callable[..., Any], args: Any, kwargs: Any, written: list[Any]
) -> Any:
    """Carry out what writes to arrays, whose views know how to be written to."""
    if any([all([x is not target for target in written]) for x in mixed_among((args, kwargs))]):
        raise UnsupportedError(
            f"the data choose the dtypes of what {func.__name__} computes with, and of an array "
            f"that it writes to{at(here())}. Write a[...] = result instead"
        )
    return implementation(*args, **kwargs)


CLASSWISE.append(_carry_out)
