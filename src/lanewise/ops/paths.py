"""Writing through views, and arrays with an end that is data, as operations of their own.

While a function is traced, ``a[i, 1:-1] = v`` is recorded as what its views are: a part is taken,
changed and put back. A kernel that would do so one by one copies whole arrays to write a row. Here
are the operations that such chains become before a kernel is written (passes/paths.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.ir.types import array_type
from lanewise.ops.creation import iota
from lanewise.ops.elementwise import elementwise, where
from lanewise.ops.facts import Kind
from lanewise.ops.movement import align, python_slices, reshape, sliced_shape
from lanewise.ops.registry import Batch, absent, op, sample
from lanewise.ops.shapes import shape_of

#: A step from an array to a view of it: its kind, and what is known of it.
#:
#: ``("slice", index)``, ``("transpose", axes)``, ``("reshape", shape)`` (by axes of size 1 alone),
#: ``("place", axis, count)``: at `count` integers, and ``("window", axis, step, length)``: between
#: two, where `length` elements are.
Step = tuple[Any, ...]
Path = tuple[Step, ...]

_PLACES = {"place": lambda step: step[2], "window": lambda step: 2}


def integers_of(step: Step) -> int:
    """Return how many integers that are data a step takes.

    Examples
    --------
    >>> integers_of(("place", 0, 2)), integers_of(("transpose", (1, 0)))
    (2, 0)
    """
    return _PLACES[step[0]](step) if step[0] in _PLACES else 0


def step_shape(shape: Any, step: Step) -> Any:
    """Return the shape of a view.

    Examples
    --------
    >>> step_shape((4, 5), ("place", 0, 1)), step_shape((4, 5), ("window", 1, 1, 3))
    ((5,), (4, 3))
    """
    kind, *rest = step
    if kind == "slice":
        return sliced_shape(shape, rest[0])
    if kind == "transpose":
        return tuple([shape[axis] for axis in rest[0]])
    if kind == "reshape":
        return rest[0]
    if kind == "place":
        axis, count = rest
        return (*shape[:axis], *shape[axis + count :])
    axis, _, length = rest
    return (*shape[:axis], length, *shape[axis + 1 :])


def view_of(x: np.ndarray, path: Path, integers: Any) -> np.ndarray:
    """Return the view of an array that a path leads to."""
    numbers = iter(integers)
    for kind, *rest in path:
        if kind == "slice":
            x = x[python_slices(rest[0])]
        elif kind == "transpose":
            x = x.transpose(rest[0])
        elif kind == "reshape":
            x = x.reshape(rest[0])
        elif kind == "place":
            axis, count = rest
            x = x[(*(slice(None),) * axis, *[int(next(numbers)) for _ in range(count)], ...)]
        else:
            axis, step, length = rest
            start, stop = int(next(numbers)), int(next(numbers))
            x = x[(*(slice(None),) * axis, slice(start, stop, step))]
            if x.shape[axis] != length:
                raise IndexError(f"a slice has {x.shape[axis]} elements, not {length}")
    return x


def view_into(
    x: np.ndarray, values: np.ndarray, *integers: Any, path: Path, span: int | None
) -> None:
    """Write values into a view of an array; see `update_view`."""
    ends, integers = integers[: 2 * (span is not None)], integers[2 * (span is not None) :]
    part = view_of(x[...], path, integers)
    if span is not None:
        low, high = max(int(ends[0]), 0), max(int(ends[1]), 0)
        within = (*(slice(None),) * span, slice(low, high))
        part, values = part[within], values[within]
    part[...] = values


@op
class update_view:
    """A copy of x in which `values` are what a view of it holds.

    The operands are x, the values, with `span` the two ends within which that axis of the view is
    written, and the integers of the path.
    """

    kind, into, reads_at_data = Kind.UPDATE, view_into, (0,)
    along_rows = any_size = True
    repeats = False

    def type(x, values, *integers, path: Path, span: int | None):
        shape = x.shape
        for step in path:
            shape = step_shape(shape, step)
        count = sum(map(integers_of, path)) + 2 * (span is not None)
        if values.shape != shape or values.dtype != x.dtype or len(integers) != count:
            raise ValueError(f"{values} written to a view of shape {shape} of {x}")
        if any(v.ndim or v.dtype.kind not in "iu" for v in integers):
            raise TypeError("the places of a path are integers")
        return x

    def numpy(x, values, *integers, path, span):
        result = np.array(x)
        view_into(result, values, *integers, path=path, span=span)
        return result

    batch = absent("it is made for kernels, of operations that have rules")

    def lanes(k, types, x, values, *integers, path, span):
        numbers = [number.at() for number in integers]
        ends, numbers = numbers[: 2 * (span is not None)], numbers[2 * (span is not None) :]
        return k.updates.view_written(x, values, path, numbers, span, ends)

    jvp = absent("no derivative is taken of what a kernel is written of")
    samples = (
        sample(
            (4, 5), (3,), np.array(2),
            path=(("place", 0, 1), ("slice", ((1, 4, 1),))), span=None,
        ),
        sample(
            (4, 5), (2, 2), np.array(-4), np.array(9),
            path=(("transpose", (1, 0)), ("slice", ((4, 0, -2), None)), ("window", 1, 1, 4),
                  ("slice", (None, (0, 3, 2)))),
            span=None,
        ),
        sample(
            (3, 4, 5), (4,), np.array(1), np.array(3), np.array(-1),
            path=(("place", 0, 1), ("slice", (None, (3, 4, 1))), ("reshape", (4,)),), span=0,
        ),
    )  # fmt: skip


@op
class between:
    """x where ``low <= i < high`` for the index i along an axis, and elsewhere a number."""

    along_rows = True
    may_fail = False

    def type(x, low, high, fill, *, axis: int):
        if low.ndim or high.ndim or fill.ndim or fill.dtype != x.dtype:
            raise TypeError(f"{x} between {low} and {high}, else {fill}")
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{x} has no axis {axis}")
        return array_type(x.dtype, x.shape)

    def numpy(x, low, high, fill, *, axis):
        places = np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - 1 - axis))
        return np.where((places >= low) & (places < high), x, fill)

    def batch(b: Batch, x, low, high, fill, *, axis):
        x, low, high, fill = align(b, x, low, high, fill)
        size, rank = shape_of(x)[axis + b.mapped[0]], len(shape_of(x)) - b.mapped[0]
        places = iota(length=size, dtype=np.dtype(np.intp))
        places = reshape(places, shape=(size, *(1,) * (rank - 1 - axis)))
        above = elementwise(np.greater_equal)(places, low)
        return where(
            elementwise(np.logical_and)(above, elementwise(np.less)(places, high)), x, fill
        )

    def lanes(k, types, x, low, high, fill, *, axis):
        return k.views.between(x, axis, low.at(), high.at(), fill.at())

    jvp = absent("no derivative is taken of what a kernel is written of")
    samples = (
        sample((5,), np.array(1), np.array(3), np.array(0.5), axis=0),
        sample((3, 4), np.array(-2), np.array(9), np.array(0.0), axis=1),
        sample((3, 4), np.array(2), np.array(1), np.array(0.0), axis=0),
    )
