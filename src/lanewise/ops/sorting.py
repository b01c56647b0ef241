"""Sorting and partitioning along one axis, and packing of bits along one."""

from __future__ import annotations

import math

import numpy as np

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Operation
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.facts import Kind, count, usual_size
from lanewise.ops.registry import absent, along_axis, op, sample

#: Rows of at most so many numbers are sorted by networks, one in each lane where examples have the
#: lanes, and longer ones each by itself; those of complex numbers by NumPy.
LONGEST_IN_LANES = 64
#: ... and where elements have the lanes, as a row lies there as it is to be sorted.
LONGEST_ACROSS = 32


def _levels(op: Operation) -> float:
    """Return how often a row can be halved."""
    return math.log2(max(usual_size(op.operands[0].type.shape[op.params["axis"]]), 2))


def _comparisons(op: Operation) -> float:
    """Return how many comparisons sorting takes, about."""
    return count(op.operands[0]) * 2 * _levels(op)


def _instructions(op: Operation) -> float:
    """Return about how many instructions sorting takes in a kernel, for an element.

    An element of a long row takes 0.2 to 0.4 ns for each level on one thread, as measured; in the
    lanes of a network it is a comparison for each level and those below, and two instructions each.
    """
    return 5 * _levels(op)


@op
class sort:
    """Elements in ascending order; NaNs go last. ``kind`` as for ``np.sort``."""

    kind, along, along_rows = Kind.ALONG, "axis", True
    flops, instructions, conditions, numpy_ns = _comparisons, _instructions, "", 5.0
    any_size = True

    def type(x, *, axis: int, kind: str | None):
        return x

    def numpy(x, *, axis, kind):
        return np.sort(x, axis, kind)

    batch = along_axis

    def lanes(k, types, x, *, axis, kind):
        return k.sorting.sorted_along(types[0], x, axis)

    def jvp(d, tangents, y, x, *, axis, kind):
        return np.take_along_axis(tangents[0], np.argsort(x, axis, kind=kind), axis)

    samples = (sample((2, 5), axis=1, kind=None), sample((0, 2), axis=0, kind="stable"))


@op
class argsort:
    """The indices that would sort."""

    kind, along, along_rows = Kind.ALONG, "axis", True
    flops, instructions, conditions, numpy_ns = _comparisons, _instructions, "", 14.0
    any_size = True

    def type(x, *, axis: int, kind: str | None):
        return array_type(np.dtype(np.intp), x.shape)

    def numpy(x, *, axis, kind):
        return np.argsort(x, axis, kind)

    batch = along_axis

    def lanes(k, types, x, *, axis, kind):
        return k.sorting.sorted_along(types[0], x, axis, places=True)

    samples = (sample((2, 5), axis=1, kind="stable"), sample((3,), axis=0, kind=None))


@op
class partition:
    """Elements arranged so that those at `kth` are where sorting would put them."""

    kind, along, along_rows = Kind.ALONG, "axis", True
    flops, instructions, conditions, numpy_ns = _comparisons, _instructions, "", 14.0
    any_size = True

    def type(x, *, kth: tuple[DimLike, ...], axis: int):
        _check_kth(kth, x, axis)
        return x

    def numpy(x, *, kth, axis):
        return np.partition(x, kth, axis)

    batch = along_axis

    def lanes(k, types, x, *, kth, axis):
        return k.sorting.sorted_along(types[0], x, axis, kth=kth)

    def jvp(d, tangents, y, x, *, kth, axis):
        # What partitioning gives between the kth elements is in no order that another one finds
        # again, so elements are found by where they stand in both when sorted.
        place = np.argsort(np.argsort(y, axis, kind="stable"), axis)
        order = np.take_along_axis(np.argsort(x, axis, kind="stable"), place, axis)
        return np.take_along_axis(tangents[0], order, axis)

    samples = (sample((2, 5), kth=(2,), axis=1), sample((4, 3), kth=(0, 2), axis=0))


@op
class argpartition:
    """The indices that would partition."""

    kind, along, along_rows = Kind.ALONG, "axis", True
    flops, instructions, conditions, numpy_ns = _comparisons, _instructions, "", 16.0
    any_size = True

    def type(x, *, kth: tuple[DimLike, ...], axis: int):
        _check_kth(kth, x, axis)
        return array_type(np.dtype(np.intp), x.shape)

    def numpy(x, *, kth, axis):
        return np.argpartition(x, kth, axis)

    batch = along_axis

    def lanes(k, types, x, *, kth, axis):
        return k.sorting.sorted_along(types[0], x, axis, places=True, kth=kth)

    samples = (sample((2, 5), kth=(2,), axis=1), sample((4,), kth=(1,), axis=0))


def _check_kth(kth: tuple[DimLike, ...], x: ArrayType, axis: int) -> None:
    if 0 in x.shape:
        return  # nothing is moved, so NumPy does not look
    size = x.shape[axis]
    for k in kth:
        if isinstance(size, int) and isinstance(k, int) and not -size <= k < size:
            raise ValueError(f"kth(={k + size if k < 0 else k}) out of bounds ({size})")


@op
class packbits:
    """Eight truth values to a byte along one axis, zero-padded at the end."""

    conditions = ""

    def type(x, *, axis: int, bitorder: str):
        if x.dtype.kind not in "biu":
            raise TypeError("Expected an input array of integer or boolean data type")
        shape = (*x.shape[:axis], (x.shape[axis] + 7) // 8, *x.shape[axis + 1 :])
        return array_type(np.dtype(np.uint8), shape)

    def numpy(x, *, axis, bitorder):
        return np.packbits(x, axis, bitorder)

    batch = along_axis

    lanes = absent("NumPy does eight bits at a time")

    samples = (
        sample(np.arange(20).reshape(2, 10) % 3, axis=1, bitorder="big"),
        sample(np.array([True, False]), axis=0, bitorder="little"),
    )


@op
class unpackbits:
    """The bits of bytes along one axis; `count` of them are kept."""

    conditions = ""

    def type(x, *, axis: int, count: int, bitorder: str):
        if x.dtype != np.uint8:
            raise TypeError("Expected an input array of unsigned byte data type")
        return array_type(x.dtype, (*x.shape[:axis], count, *x.shape[axis + 1 :]))

    def numpy(x, *, axis, count, bitorder):
        return np.unpackbits(x, axis, count, bitorder)

    batch = along_axis

    lanes = absent("NumPy does eight bits at a time")

    samples = (
        sample(np.array([[3], [128]], np.uint8), axis=1, count=8, bitorder="big"),
        sample(np.array([7, 1], np.uint8), axis=0, count=11, bitorder="little"),
    )
