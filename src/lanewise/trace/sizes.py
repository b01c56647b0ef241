"""Sizes that are not known while tracing, as numbers that Python code can compute with.

``x.shape[0]`` of an array of any size is data: a tensor that stands for a Python int. What is
computed of such numbers by ``+``, ``-``, ``*``, ``//``, ``%``, ``min`` and ``max`` is a size too,
and the trace remembers which dimension it is: so ``np.zeros(n + 1)`` and ``x[:n // 2]`` have shapes
that are known as polynomials, and ``n - 1 < n`` is known altogether.

What is data otherwise becomes a size where something is made of it: ``a[:n]``, ``x[mask]`` and
``np.zeros(n)`` have shapes that differ from example to example. Their elements are counted first,
and `define_size` says that a symbol of shapes is that number: from there on such an array is one
of a size that is not known while tracing, like others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lanewise.errors import DataDependentShapeError, at
from lanewise.ir.dims import Dim, DimLike, bounds, differ, dim_max, dim_min
from lanewise.ir.location import here
from lanewise.ops.checks import checked
from lanewise.ops.creation import define_size, dimension
from lanewise.trace.origins import INSTEAD, Origin
from lanewise.trace.provenance import (
    COMPARISONS,
    compared,
    counters_around,
    same,
    size_of_counters,
    use_size,
)
from lanewise.trace.tensor import Tensor, emit, read
from lanewise.trace.trace import Trace, require_trace, state


def number_of(size: DimLike) -> Any:
    """Return a size as a number: an int if it is one, or a tensor that stands for it."""
    if not isinstance(size, Dim):
        return size
    trace = require_trace("a size")
    counted = _count_of(size, trace)
    if counted is not None:
        return counted
    (value,) = trace.record(dimension, (), {"size": size})
    trace.sizes[value] = size
    return Tensor(trace, value, None, int)


def same_sizes(sizes: Sequence[DimLike], others: Sequence[DimLike]) -> Any:
    """Return whether sizes are as many and the same: a bool, or a tensor where data decide."""
    if len(sizes) != len(others):
        return False
    found: Any = True
    for size, other in zip(sizes, others, strict=True):
        differs = size - other
        if isinstance(differs, Dim) and not differ(size, other):
            same = number_of(size) == number_of(other)
            found = same if found is True else np.logical_and(found, same)
        elif differs:
            return False
    return found


def _count_of(size: Dim, trace: Trace) -> Tensor | None:
    """Return the number that a size was defined to be, if it is that alone."""
    name = str(size)
    home, _, count = trace.outermost().origins.get(name, (None, None, None))
    around: Trace | None = trace
    while around is not None and around is not home:
        around = around.parent
    if around is None or count is None:
        return None
    return Tensor(around, count, None, int)


def sizes(found: Any) -> Any:
    """Return what an attribute (``x.shape``, ``x.size``) gave, with sizes as numbers."""
    kind = type(found)
    if kind is Dim:
        return number_of(found)
    if kind is tuple and any([type(part) is Dim for part in found]):
        return tuple([number_of(part) if type(part) is Dim else part for part in found])
    return found


# --- sizes that are data --------------------------------------------------------------------------

#: So many of the sizes that were defined last are compared with a new one.
_RECENT = 32


def size_of(count: Tensor, most: DimLike | None, what: str, instead: str = INSTEAD) -> DimLike:
    """Return the size that an integer is, which surely lies between 0 and `most`.

    It is the same one for the same integer, so that arrays of it are seen to be equally long.
    """
    found = size_of_counters(count)
    found = _known(count) if found is None else found
    return _defined(count, most, what, instead) if found is None else found


def _known(count: Tensor) -> DimLike | None:
    """Return the size that was defined of a number that is surely the same."""
    trace: Trace | None = require_trace("a size")
    while trace is not None:
        for value, size in list(trace.sizes.items())[-_RECENT:]:
            if same(Tensor(trace, value), count):
                return size
        trace = trace.parent
    return None


def _defined(count: Tensor, most: DimLike | None, what: str, instead: str) -> DimLike:
    trace = require_trace("a size")
    root = trace.outermost()
    end = None if most is None else bounds(most)[1]
    root.sized += 1
    name = f"d.n{root.sized}"
    size: Any = Dim.symbol(name) if end is None else Dim.bounded(name, max(end, 1))
    root.origins[str(size)] = trace, Origin(what, here(), instead), read(count)
    trace.record(define_size, (read(count),), {"size": size, "least": 0, "most": most})
    trace.sizes[read(count)] = size
    return size


def counted(mask: Tensor, what: str, instead: str = INSTEAD) -> DimLike:
    """Return how many places of a mask hold, as a size."""
    count: Any = np.count_nonzero(mask)
    return size_of(count, mask.size, what, instead)


def defined_sizes(given: Any, what: str) -> Any:
    """Return arguments with dimensions in place of all integers, also of such that are data.

    They become shapes, so they must not be negative.
    """
    kind = type(given)
    if kind is tuple or kind is list:
        return kind([defined_sizes(part, what) for part in given])
    found = known_sizes(given)
    if type(found) is not Tensor or found.ndim or found.dtype.kind not in "iu":
        return found
    message = "negative dimensions are not allowed"
    number = emit(checked, found, found >= 0, error="ValueError", message=message)
    return size_of(number.astype(np.intp), None, what)


def not_empty(x: Tensor, axes: Iterable[int], message: str) -> Tensor:
    """Return an array; where a `try` around is to know, it is checked that some axes have elements.

    Without one, the operation that needs some raises itself.
    """
    for axis in axes if state.attempt is not None else ():
        if isinstance(size := x.shape[axis], Dim):
            x = emit(checked, x, number_of(size) > 0, error="ValueError", message=message)
    return x


# --- what is known --------------------------------------------------------------------------------


def in_use() -> bool:
    """Whether any number of the current trace, or of one around it, may be a dimension."""
    trace = state.trace
    while trace is not None:
        if trace.sizes:
            return True
        trace = trace.parent
    return any(counters_around())


def dim_of(number: Any) -> DimLike | None:
    """Return the size that a number is; None for anything else."""
    size = _known_or_counted(number)
    if size is not None:
        use_size(size)
    return size


def _known_or_counted(number: Any) -> DimLike | None:
    size = _dim_of(number)
    if size is None and type(number) is Tensor and number._weak is int:
        return size_of_counters(number)
    return size


def _dim_of(number: Any) -> DimLike | None:
    """Return the size that a number stands for, not one that a loop's counter is."""
    kind = type(number)
    if kind is int or kind is Dim:
        return number
    if kind is Tensor:
        return number._trace.sizes.get(number._value) if number._weak is int else None
    return int(number) if isinstance(number, np.integer) else None


def known_sizes(given: Any) -> Any:
    """Return arguments with dimensions in place of the numbers that stand for them."""
    kind = type(given)
    if kind is Tensor and given._weak is int:
        size = dim_of(given)
        return given if size is None else size
    if kind is tuple or kind is list:
        return kind([known_sizes(part) for part in given])
    if kind is slice:
        return slice(*map(known_sizes, (given.start, given.stop, given.step)))
    if kind is dict:
        return {name: known_sizes(part) for name, part in given.items()}
    return given


def key_of_sizes(key: Any) -> Any:
    """Return an index with dimensions in place of the numbers that stand for them.

    Of loops' counters these are ends of slices of which the length depends on the counter.
    """
    if type(key) is tuple:
        return tuple([key_of_sizes(part) for part in key])
    if type(key) is slice:
        return _slice_of_sizes(key.start, key.stop, known_sizes(key.step))
    size = _dim_of(key) if type(key) is Tensor else None
    return key if size is None else size


def _slice_of_sizes(start: Any, stop: Any, step: Any) -> slice:
    """Return a slice of which the ends are dimensions, if both are sizes and it needs that."""
    given = [end for end in (start, stop) if end is not None]
    sizes = [size for end in given if (size := _known_or_counted(end)) is not None]
    if len(sizes) < len(given) or Tensor not in map(type, given):
        return slice(start, stop, step)
    is_counted = None in map(_dim_of, given)
    if is_counted and len(sizes) == 2 and type(sizes[1] - sizes[0]) is int:
        return slice(start, stop, step)  # as long in each iteration: a part of known length
    found = iter(sizes)
    for size in sizes:
        use_size(size)
    return slice(*[None if end is None else next(found) for end in (start, stop)], step)


def has_sizes(given: Any) -> bool:
    """Whether a dimension stands anywhere in nested tuples and lists."""
    if isinstance(given, (list, tuple)):
        return any(map(has_sizes, given))
    return isinstance(given, Dim)


def size_from(number: Any, what: str = "a size") -> DimLike:
    """Return an argument that is a size, as ``operator.index`` does for ints.

    Raises
    ------
    DataDependentShapeError
        If it is data, but not computed of sizes alone.
    """
    size = dim_of(number)
    if size is not None:
        return size
    if isinstance(number, Tensor) and number.dtype.kind in "iu" and not number.ndim:
        raise DataDependentShapeError(
            f"{what} is data{at(here())}: how many elements there are would depend on it. Make as "
            "many as there can be, and mask those that are not used"
        )
    return operator.index(number)


def shape_from(shape: Any) -> tuple[DimLike, ...]:
    """Return an argument that is a shape, in any sequence or array, or one size, as a tuple."""
    if isinstance(shape, Sequence) or getattr(shape, "ndim", 0):
        return tuple([size_from(part) for part in shape])
    return (size_from(shape),)


_ARITHMETIC: dict[Any, Callable[..., DimLike]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.negative: operator.neg, np.positive: lambda size: size,
    np.maximum: dim_max, np.minimum: dim_min,
}  # fmt: skip
_DIVISIONS: dict[Any, Callable[..., DimLike]] = {
    np.floor_divide: operator.floordiv, np.remainder: operator.mod,
}  # fmt: skip


def of_sizes(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """Return what an operator gives for sizes: a size again, or what is known of it; else None."""
    dims: list[Any] = [_dim_of(x) for x in operands]
    if None in dims or not any([isinstance(dim, Dim) for dim in dims]):
        return None
    if ufunc in _ARITHMETIC:
        return number_of(_ARITHMETIC[ufunc](*dims))
    if ufunc in _DIVISIONS and type(dims[1]) is int and dims[1] > 0:
        return number_of(_DIVISIONS[ufunc](*dims))
    return compared(ufunc, dims[0] - dims[1]) if ufunc in COMPARISONS else None
