"""Operations that move elements without computing: shapes, axes, slices, joins, types."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ir.dims import Dim, DimLike, Shape, bounds, differ, dim_max, dim_min, product
from lanewise.ir.graph import Value
from lanewise.ir.types import array_type
from lanewise.ops.creation import iota
from lanewise.ops.derivatives import is_linear, linear
from lanewise.ops.facts import Held, Kind
from lanewise.ops.registry import Batch, Family, Primitive, leading_axes, op, sample
from lanewise.ops.shapes import broadcasts_to, may_agree, rank_of, shape_of

#: How one axis is sliced: (start, stop, step) as in ``range``, or None for the whole axis.
AxisSlice = tuple[DimLike, DimLike, int] | None


@op
class reshape:
    """The same elements in row-major order under another shape; the sizes must agree."""

    kind = Kind.VIEW
    shares = along_rows = any_size = True

    def step(params, count):
        return "reshape", params["shape"]

    def type(x, *, shape: Shape):
        if differ(product(x.shape), product(shape)):
            text = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
            raise ValueError(f"cannot reshape array of size {product(x.shape)} into shape {text}")
        return array_type(x.dtype, shape)

    def numpy(x, *, shape):
        return x.reshape(shape)

    def batch(b: Batch, x, *, shape):
        return reshape(x, shape=(b.size, *shape))

    def lanes(k, types, x, *, shape):
        return k.views.reshaped(x, shape)

    jvp = linear(0)

    def transposed(d, ct, x, *, shape):
        return np.reshape(ct, x.shape)

    samples = (sample((2, 6), shape=(3, 4)), sample((0, 3), shape=(3, 0)), sample((1,), shape=()))


@op
class transpose:
    """Axes in another order: axis i of the result is axis ``axes[i]`` of x."""

    kind = Kind.VIEW
    shares = any_size = True

    def step(params, count):
        return "transpose", params["axes"]

    def type(x, *, axes: tuple[int, ...]):
        if sorted(axes) != list(range(x.ndim)):
            raise ValueError("axes don't match array")
        return array_type(x.dtype, tuple(x.shape[axis] for axis in axes))

    def numpy(x, *, axes):
        return x.transpose(axes)

    def batch(b: Batch, x, *, axes):
        return transpose(x, axes=(0, *(axis + 1 for axis in axes)))

    def lanes(k, types, x, *, axes):
        where = [axes.index(axis) for axis in range(len(axes))]
        return k.view(x, types[0].shape, lambda *i: [i[axis] for axis in where])

    jvp = linear(0)

    def transposed(d, ct, x, *, axes):
        return np.transpose(ct, np.argsort(axes).tolist())

    samples = (sample((2, 3, 4), axes=(2, 0, 1)), sample((), axes=()), sample((0, 2), axes=(1, 0)))


@op
class broadcast_to:
    """Elements repeated along new and along size-1 axes."""

    kind = Kind.VIEW
    repeats = along_rows = any_size = True

    def type(x, *, shape: Shape):
        if not broadcasts_to(x.shape, shape):
            raise ValueError(
                "operands could not be broadcast together with remapped shapes "
                f"[original->remapped]: {x.shape} and requested shape {shape}"
            )
        return array_type(x.dtype, shape)

    def numpy(x, *, shape):
        return np.broadcast_to(x, shape)

    def batch(b: Batch, x, *, shape):
        return broadcast_to(pad_rank(x, len(shape)), shape=(b.size, *shape))

    def lanes(k, types, x, *, shape):
        x = k.ready(x)
        missing = len(shape) - x.ndim
        return k.view(
            x,
            shape,
            lambda *i: [0 if d == 1 else j for d, j in zip(x.shape, i[missing:], strict=True)],
        )

    jvp = linear(0)

    def transposed(d, ct, x, *, shape):
        return ct  # summed to the shape of x, as every cotangent is

    samples = (
        sample((3, 1), shape=(2, 3, 4)),
        sample((), shape=(2,)),
        sample((1, 2), shape=(0, 2)),
    )


@op
class slice_:
    """A basic slice: of each axis the elements that ``range(start, stop, step)`` names."""

    kind = Kind.VIEW
    shares = along_rows = any_size = True

    def step(params, count):
        return "slice", params["index"]

    def type(x, *, index: tuple[AxisSlice, ...]):
        if len(index) != x.ndim:
            raise ValueError(f"{len(index)} slices given for an array of {x.ndim} dimensions")
        return array_type(x.dtype, sliced_shape(x.shape, index))

    def numpy(x, *, index):
        return x[python_slices(index)]

    def batch(b: Batch, x, *, index):
        return slice_(x, index=(None, *index))

    def lanes(k, types, x, *, index):
        return k.view(x, types[0].shape, lambda *i: k.views.sliced_at(index, i))

    jvp = linear(0)

    def transposed(d, ct, x, *, index):
        d.is_masked = True
        return d.emit(update_slice, d.zeros(x), ct, index=index)

    samples = (
        sample((5, 4), index=((1, 5, 2), None)),
        sample((5, 4), index=((4, -1, -1), (0, 0, 1))),
        sample((1,), index=((0, 1, 1),)),
    )


@op
class update_slice:
    """A copy of x in which the elements that a basic slice names are those of `values`."""

    kind, takes, held = Kind.UPDATE, slice_, Held.NUMBERS
    along_rows = any_size = True
    may_fail = repeats = False

    def type(x, values, *, index: tuple[AxisSlice, ...]):
        if not may_agree(values.shape, sliced_shape(x.shape, index)):
            raise ValueError(
                f"could not broadcast input array from shape {values.shape} "
                f"into shape {sliced_shape(x.shape, index)}"
            )
        return x

    def numpy(x, values, *, index):
        result = np.array(x)  # a copy, also of a NumPy scalar
        result[python_slices(index)] = values
        return result

    def batch(b: Batch, x, values, *, index):
        x, values = repeat_unmapped(b, x, values)
        return update_slice(x, values, index=(None, *index))

    def lanes(k, types, x, values, *, index):
        is_known = all([part is None or type(part[0]) is int for part in index])
        place = partial(k.views.sliced_at, index)
        return k.updates.written(x, values, place, is_known=is_known)

    jvp = linear(0, 1)

    def transposed(d, ct, x, values, *, index):
        kept = d.emit(update_slice, ct, d.zeros(values), index=index) if is_linear(x) else None
        d.is_masked |= is_linear(x)
        return kept, d.emit(slice_, ct, index=index) if is_linear(values) else None

    samples = (
        sample((5, 4), (2, 4), index=((1, 5, 2), None)),
        sample((3,), (0,), index=((0, 0, 1),)),
    )


@op
class concatenate:
    """Arrays joined along an existing axis; dtypes promote."""

    kind, along, held = Kind.COPY, "axis", Held.NUMBERS
    any_size = True

    def type(*operands, axis: int):
        first = operands[0]
        total: DimLike = 0
        for position, operand in enumerate(operands):
            if operand.ndim != first.ndim:
                raise ValueError(
                    "all the input array dimensions must match exactly, but along dimension 0 the "
                    f"array at index 0 has {first.ndim} dimension(s) and the array at index "
                    f"{position} has {operand.ndim} dimension(s)"
                )
            for other in range(first.ndim):
                if other != axis and differ(operand.shape[other], first.shape[other]):
                    raise ValueError(
                        "all the input array dimensions except for the concatenation axis must "
                        f"match exactly, but along dimension {other}, the array at index 0 has "
                        f"size {first.shape[other]} and the array at index {position} has size "
                        f"{operand.shape[other]}"
                    )
            total = operand.shape[axis] + total
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        return array_type(np.result_type(*[operand.dtype for operand in operands]), shape)

    def numpy(*operands, axis):
        return np.concatenate(operands, axis)

    def batch(b: Batch, *operands, axis):
        return concatenate(*repeat_unmapped(b, *operands), axis=axis + 1)

    def lanes(k, types, *operands, axis):
        return k.views.concatenated(types[0], operands, axis)

    jvp = linear()

    def transposed(d, ct, *operands, axis):
        parts, start = [], 0
        for x in operands:
            stop = x.shape[axis] + start
            key = (slice(None),) * axis + (slice(start, stop),)
            parts.append(ct[key] if is_linear(x) else None)
            start = stop
        return parts

    samples = (sample((2, 3), (2, 1), axis=1), sample((0,), (2,), axis=0), sample((1,), axis=0))


@op
class pad:
    """Constant padding: `value` before and after the elements, ``widths[i]`` for axis i."""

    kind = Kind.COPY
    any_size = True

    def type(x, value, *, widths: tuple[tuple[DimLike, DimLike], ...]):
        if value.ndim or value.dtype != x.dtype:
            raise ValueError(f"the padding value must be a scalar of dtype {x.dtype}, not {value}")
        mosts = [bounds(width)[1] for pair in widths for width in pair]
        if any(most is not None and most < 0 for most in mosts):
            raise ValueError("index can't contain negative values")
        shape = tuple(
            d + before + after for d, (before, after) in zip(x.shape, widths, strict=True)
        )
        return array_type(x.dtype, shape)

    def numpy(x, value, *, widths):
        if min((width for pair in widths for width in pair), default=0) < 0:
            raise ValueError("index can't contain negative values")
        result = np.empty([d + sum(w) for d, w in zip(x.shape, widths, strict=True)], x.dtype)
        result[...] = value
        result[tuple(slice(w[0], w[0] + d) for d, w in zip(x.shape, widths, strict=True))] = x
        return result

    def batch(b: Batch, x, value, *, widths):
        if not b.mapped[1]:
            return pad(x, value, widths=((0, 0), *widths))
        # A border that differs between examples: repeat it, then write the examples inside.
        x, value = repeat_unmapped(b, x, value)
        _, *inner = shape_of(x)
        outer = tuple(d + sum(w) for d, w in zip(inner, widths, strict=True))
        value = reshape(value, shape=(b.size, *(1,) * len(inner)))
        border = broadcast_to(value, shape=(b.size, *outer))
        index = tuple(
            None if w == (0, 0) else (w[0], w[0] + d, 1) for d, w in zip(inner, widths, strict=True)
        )
        return update_slice(border, x, index=(None, *index))

    def lanes(k, types, x, value, *, widths):
        return k.views.padded(types[0], x, value.at(), [before for before, _ in widths])

    jvp = linear(0, 1)

    def transposed(d, ct, x, value, *, widths):
        sizes = zip(x.shape, widths, strict=True)
        inner = ct[tuple([slice(before, before + size) for size, (before, _) in sizes])]
        return (
            inner if is_linear(x) else None,
            ct.sum() - inner.sum() if is_linear(value) else None,
        )

    samples = (
        sample((2, 3), (), widths=((1, 0), (2, 1))),
        sample((0,), (), widths=((1, 1),)),
        sample((), (), widths=()),
    )


@op
class diagonal:
    """The diagonal of the last two axes, shifted by `offset`, as the last axis."""

    kind = Kind.VIEW
    any_size = True

    def type(x, *, offset: int):
        *lead, rows, columns = x.shape
        length = dim_min(rows, columns - offset) if offset >= 0 else dim_min(rows + offset, columns)
        return array_type(x.dtype, (*lead, dim_max(length, 0)))

    def numpy(x, *, offset):
        return np.diagonal(x, offset, -2, -1)

    batch = leading_axes

    def lanes(k, types, x, *, offset):
        apart = max(-offset, 0), max(offset, 0)
        return k.view(
            x, types[0].shape, lambda *i: [*i[:-1], *[i[-1] + by if by else i[-1] for by in apart]]
        )

    jvp = linear(0)

    def transposed(d, ct, x, *, offset):
        d.is_masked = True
        rows, columns = (
            d.emit(iota, length=size, dtype=np.dtype(np.intp)) for size in x.shape[-2:]
        )
        down = max(-offset, 0)
        widths = [(0, 0)] * (ct.ndim - 1) + [(down, x.shape[-2] - down - ct.shape[-1])]
        ct = np.pad(ct, widths)[..., None]
        return np.where(columns - rows[:, None] == offset, ct, np.zeros((), ct.dtype))

    samples = (sample((3, 4), offset=1), sample((2, 3, 2), offset=-1), sample((2, 2), offset=5))


@op
class cast:
    """Elements converted to another dtype, unsafely, as ``ndarray.astype`` does."""

    kind, recompute, conditions = Kind.ELEMENTWISE, 0, "cast"
    allocates = any_size = True
    repeats = False

    def quiet(op):  # of floats not even to more bits: a signaling NaN is reported
        new = op.params["dtype"]
        return "biu" if new.kind in "biu" or new.itemsize >= 4 else ""

    def type(x, *, dtype: np.dtype):
        return array_type(dtype, x.shape)

    def numpy(x, *, dtype):
        return x.astype(dtype)

    batch = leading_axes

    def lanes(k, types, x, *, dtype):
        return k.lazy(dtype, x.shape, lambda *i: k.convert(x.at(*i), dtype), (x,))

    jvp = linear(0)

    def transposed(d, ct, x, *, dtype):
        return ct  # converted to the dtype of x, as every cotangent is

    samples = (sample((3,), dtype=np.dtype("i4")), sample((), dtype=np.dtype("c16")))


@op
class bitcast:
    """The bits of the elements read as another dtype (``ndarray.view``).

    Where the sizes differ, the last axis is longer or shorter for it.
    """

    held = Held.NUMBERS
    flops, conditions = 0, ""
    may_fail = False

    def type(x, *, dtype: np.dtype):
        old, new = x.dtype.itemsize, dtype.itemsize
        if old == new:
            return array_type(dtype, x.shape)
        if not x.ndim:
            raise ValueError(
                "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
            )
        *lead, last = x.shape
        if (last * old) % new != 0:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in "
                "bytes of the last axis of the array."
            )
        return array_type(dtype, (*lead, last * old // new))

    def numpy(x, *, dtype):
        return (x if x.dtype.itemsize == dtype.itemsize else np.ascontiguousarray(x)).view(dtype)

    batch = leading_axes

    def lanes(k, types, x, *, dtype):
        return k.lazy(dtype, types[0].shape, lambda *i: k.functions.bitcast(x.at(*i), dtype), (x,))

    def jvp(d, tangents, y, x, *, dtype):
        # Linear where complex numbers are read as their parts, or parts as complex numbers.
        if x.dtype.type(0).real.dtype != dtype.type(0).real.dtype:
            raise UnsupportedError(
                f"{x.dtype} read as {dtype} by .view() is differentiated, but the bits of a number "
                "have no derivative. Convert numbers by .astype()"
            )
        return d.emit(bitcast, tangents[0], dtype=dtype)

    def transposed(d, ct, x, *, dtype):
        if x.dtype == dtype:
            return ct
        # Cotangents are paired by the real part of their product, in which i i = -1.
        if dtype.kind == "c":
            return d.emit(bitcast, np.conjugate(ct), dtype=x.dtype)
        return np.conjugate(d.emit(bitcast, ct, dtype=x.dtype))

    samples = (
        sample((3,), dtype=np.dtype("i8")),
        sample((), dtype=np.dtype("u8")),
        sample((2, 4), dtype=np.dtype("c16")),
        sample(np.array([1 - 2j, 3j]), dtype=np.dtype("f8")),
        sample((2, 0), dtype=np.dtype("f4")),
    )


def repeat_unmapped(b: Batch, *operands):
    """Repeat the operands that are not mapped along the batch, as axis 0."""
    return [
        value if mapped else broadcast_to(value, shape=(b.size, *shape_of(value)))
        for value, mapped in zip(operands, b.mapped, strict=True)
    ]


def pad_rank(value, rank: int):
    """Give a mapped value size-1 axes behind the batch, until its examples have `rank` axes."""
    size, *rest = shape_of(value)
    missing = rank - len(rest)
    return reshape(value, shape=(size, *(1,) * missing, *rest)) if missing > 0 else value


def align(b: Batch, *operands):
    """Line up the axes of the examples of operands that broadcast against each other."""
    rows = list(zip(operands, b.mapped, strict=True))
    rank = max(rank_of(value) - mapped for value, mapped in rows)
    return [pad_rank(value, rank) if mapped else value for value, mapped in rows]


@Family
def broadcasting(primitive: Primitive, b: Batch, *operands: Value, **params: Any) -> Any:
    """Record an operation on operands of which the axes are lined up."""
    return primitive(*align(b, *operands), **params)


def sliced_shape(shape: Shape, index: tuple[AxisSlice, ...]) -> Shape:
    """Return the shape of a basic slice of an array of shape `shape`."""
    return tuple(d if s is None else _sliced(d, s) for d, s in zip(shape, index, strict=True))


def _sliced(size: DimLike, part: tuple[DimLike, DimLike, int]) -> DimLike:
    """Return the length of a slice of an axis, or raise if it reaches beyond the ends."""
    start, stop, step = part
    if not any(isinstance(x, Dim) for x in (size, start, stop)):
        places = range(start, stop, step)
        if places and not (0 <= places[0] < size and 0 <= places[-1] < size):
            raise IndexError(f"{part} is no slice of an axis of {size}")
    return slice_length(part)


def slice_length(part: tuple[DimLike, DimLike, int]) -> DimLike:
    """Return how many numbers ``range(*part)`` has."""
    start, stop, step = part
    if not isinstance(start, Dim) and not isinstance(stop, Dim):
        return len(range(start, stop, step))
    span = stop - start if step > 0 else start - stop
    return dim_max((span + (abs(step) - 1)) // abs(step), 0)


def python_slices(index: tuple[AxisSlice, ...]) -> tuple[slice, ...]:
    """Return the slices to index an array with; a stop before the start of an axis is None."""
    return tuple(slice(None) if s is None else python_slice(*s) for s in index)


def python_slice(start: int, stop: int, step: int) -> slice:
    """Return the slice to index an axis with, for ends as in ``range``."""
    if not len(range(start, stop, step)):
        return slice(0, 0)  # a start before the array would count from its end
    return slice(start, stop if stop >= 0 else None, step)
