"""Looking values up in sorted tables: where they belong, and what lies between."""

from __future__ import annotations

import math

import numpy as np

from lanewise.ir.dims import DimLike, dim_max, product
from lanewise.ir.graph import Operation, Value
from lanewise.ir.types import array_type
from lanewise.ops.creation import dimension, number
from lanewise.ops.elementwise import elementwise, imag, real, where
from lanewise.ops.facts import count
from lanewise.ops.indexing import gather, take_along_axis
from lanewise.ops.movement import broadcast_to, cast, pad, reshape
from lanewise.ops.registry import Batch, absent, op, sample
from lanewise.ops.shapes import may_agree, shape_of


def _searching(op: Operation, table: Value) -> float:
    return count(op.results[0]) * 4 * math.log2(max(count(table), 2))


@op
class flatnonzero:
    """The places of an array of one axis where a mask holds, of which there are `length`."""

    any_size = True
    repeats = False

    def flops(op):
        return 2.0 * count(op.operands[0])

    def type(mask, *, length: DimLike):
        if mask.ndim != 1 or mask.dtype != np.bool_:
            raise TypeError(f"a mask of one axis, not {mask}")
        return array_type(np.dtype(np.intp), (length,))

    def numpy(mask, *, length):
        found = np.flatnonzero(mask)
        assert len(found) == length, "as many as were counted"
        return found

    batch = absent("how many places there are differs from example to example")

    def lanes(k, types, mask, *, length):
        return k.sorting.places_of(mask, length)

    samples = (sample(np.array([True, False, True]), length=2), sample(np.zeros(0, bool), length=0))


@op
class searchsorted:
    """Where to insert `values` into sorted `x` (one axis each example), by bisection."""

    reads_at_data, numpy_ns = (0,), 6.0

    any_size = True
    repeats = False

    def flops(op):
        return _searching(op, op.operands[0])

    conditions = ""

    def type(x, values, *, side: str):
        if x.ndim != 1:
            raise ValueError("object too deep for desired array")
        if side not in ("left", "right"):
            raise ValueError(f"search side must be one of 'left' or 'right' (got '{side}')")
        return array_type(np.dtype(np.intp), values.shape)

    def numpy(x, values, *, side):
        return np.asarray(np.searchsorted(x, values, side))

    def batch(b: Batch, x, values, *, side):
        if not b.mapped[0]:
            return searchsorted(x, values, side=side)
        # NumPy searches one table at a time; a table for each example is bisected here.
        lead = shape_of(values)[: b.mapped[1]]
        inner = shape_of(values)[b.mapped[1] :]
        values = reshape(values, shape=(*(lead or (1,)), product(inner)))
        return reshape(_bisect(x, values, side), shape=(b.size, *inner))

    def lanes(k, types, x, values, *, side):
        return k.sorting.searchsorted(types[0], x, values, side)

    samples = (
        sample(np.arange(5.0), (2, 3), side="left"),
        sample(np.arange(3), np.array([1, 5]), side="right"),
        sample(np.array([0.0, 1.0, np.nan]), np.array([np.nan, 0.5, 2.0]), side="left"),
        sample(np.zeros(0), (2,), side="right"),
    )


#: Bits that the size of a table has at most, where it is not known.
MOST_BITS = 40


def _bisect(tables: Value, values: Value, side: str) -> Value:
    """Return where each row of values goes into its row of tables: the largest of the fitting.

    The place is found bit by bit from the highest: a bit is kept when the element before the place
    that it leads to still belongs before the value.
    """
    batch, length = shape_of(tables)
    bits = MOST_BITS
    if isinstance(length, int):
        bits = length.bit_length()
        size = number(length)
    else:  # with one more element, so that there is one
        size = dimension(size=length)
        tables = pad(tables, number(0, tables.type.dtype), widths=((0, 0), (0, 1)))
    at = broadcast_to(number(0), shape=(batch, shape_of(values)[1]))
    if not bits:
        return at
    dtype = np.result_type(tables.type.dtype, values.type.dtype)
    tables, values = cast(tables, dtype=dtype), cast(values, dtype=dtype)
    add, less_equal, minimum = map(elementwise, (np.add, np.less_equal, np.minimum))
    for bit in reversed(range(bits)):
        further = add(at, number(1 << bit))
        last = add(minimum(further, size), number(-1))
        found = take_along_axis(tables, last, axis=1)
        if side == "left":
            fits = _sorts_before(found, values)
        else:
            fits = elementwise(np.logical_not)(_sorts_before(values, found))
        inside = less_equal(further, size)
        at = where(elementwise(np.logical_and)(inside, fits), further, at)
    return at


def _sorts_before(x: Value, y: Value) -> Value:
    """Return whether x sorts before y: NaNs go last, complex numbers by real, then imaginary part.

    A complex number with a NaN sorts by which of its parts are NaN first, and then by the other.
    """
    less, equal, isnan = map(elementwise, (np.less, np.equal, np.isnan))
    both, either, no = map(elementwise, (np.logical_and, np.logical_or, np.logical_not))
    kind = x.type.dtype.kind
    if kind in "biu":
        return less(x, y)
    if kind == "f":
        return either(less(x, y), both(isnan(y), no(isnan(x))))
    (a, b), (c, d) = (real(x), imag(x)), (real(y), imag(y))
    b_holds, d_is_nan = no(isnan(b)), isnan(d)
    same = either(equal(a, c), both(isnan(a), isnan(c)))
    by_imag = either(less(b, d), both(d_is_nan, b_holds))
    above = both(less(c, a), both(d_is_nan, b_holds))
    below = both(less(a, c), either(b_holds, d_is_nan))
    ordered = either(below, either(above, both(same, by_imag)))
    return either(ordered, both(both(isnan(c), no(isnan(a))), no(same)))


@op
class interp:
    """Piecewise linear interpolation at x in a table of points xp (ascending) and values fp.

    ``left`` and ``right`` are the values outside of the table.
    """

    reads_at_data = (1, 2)

    any_size = True
    repeats = False

    def alike(op):
        return [(op.operands[1].type.shape[0], op.operands[2].type.shape[0])]

    def flops(op):
        return _searching(op, op.operands[1])

    conditions = ""

    def type(x, xp, fp, left, right):
        if xp.ndim != 1 or not may_agree(xp.shape, fp.shape) or left.ndim or right.ndim:
            raise ValueError(f"interp takes a table of one axis and two scalars, not {xp}, {fp}")
        return array_type(np.result_type(fp.dtype, np.float64), x.shape)

    def numpy(x, xp, fp, left, right):
        return np.interp(x, xp, fp, left, right)

    def batch(b: Batch, x, xp, fp, left, right):
        if any(b.mapped[1:]):
            return absent("NumPy interpolates in one table at a time")
        return interp(x, xp, fp, left, right)

    def lanes(k, types, x, xp, fp, left, right):
        return k.sorting.interp(types[0], x, xp, fp, left, right)

    def jvp(d, tangents, y, x, xp, fp, left, right):
        t, t_xp, t_fp, *outside = tangents
        last = xp.shape[0] - 1
        at = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, dim_max(last - 1, 0))
        ends = (at, np.minimum(at + 1, last))

        def of(table):
            return [d.emit(gather, table, end, axis=0) for end in ends]

        (x0, x1), (f0, f1) = of(xp), of(fp)
        width = np.where(x1 == x0, np.ones((), xp.dtype), x1 - x0)
        way, slope = (x - x0) / width, (f1 - f0) / width
        inside = d.zeros(y)
        if t is not None:
            inside = inside + slope * t
        if t_xp is not None:
            u0, u1 = of(t_xp)
            inside = inside - slope * ((1 - way) * u0 + way * u1)
        if t_fp is not None:
            u0, u1 = of(t_fp)
            inside = inside + ((1 - way) * u0 + way * u1)
        below, above = (np.zeros((), y.dtype) if u is None else u for u in outside)
        return np.where(x < xp[0], below, np.where(x > xp[last], above, inside))

    samples = (
        sample((2, 3), np.arange(4.0), (4,), np.array(-1.0), np.array(1.0)),
        sample((), np.array([0.5]), (1,), np.array(0.0), np.array(9.0)),
    )
