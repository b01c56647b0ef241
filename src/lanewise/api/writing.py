"""What a traced function writes to its arguments, and how that reaches the caller's arrays.

A graph never changes what it takes: the last values of the arguments that are written to are among
its results. A plan computes them where the caller's arrays lie, if it can (`Memory.lent`); what it
has computed elsewhere is copied there when the call is done. That is what plain Python leaves only
where each of these arrays is memory of its own and can be written to. Otherwise the function itself
has to be called (`PlainCall`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

#: How much `np.shares_memory` may search before two arrays count as overlapping.
MAX_OVERLAP_WORK = 10_000


class PlainCall(BaseException):
    """Ends a call, before anything is done, that the plain function gives the results of.

    It is the only one that does, or the faster one.

    Attributes
    ----------
    position
        Among the arrays, which is written to.
    other
        The array that it overlaps with: a position, or None for a captured one. The position itself
        if the array overlaps with itself, -1 if it cannot be written to.
    """

    def __init__(self, position: int, other: int | None) -> None:
        super().__init__(position, other)
        self.position = position
        self.other = other


class OnlyPlain(PlainCall):
    """Ends a call that no trace gives the results of, so that none is looked for."""

    def __init__(self) -> None:
        super().__init__(-1, None)


class Writes(NamedTuple):
    """Which arguments a trace writes to.

    Attributes
    ----------
    positions
        Theirs among the arrays, in order.
    captured
        Arrays that the function met elsewhere, which one of the arguments may share memory with.
    """

    positions: tuple[int, ...]
    captured: tuple[ref[np.ndarray], ...] = ()

    def check(self, arrays: Sequence[np.ndarray]) -> None:
        """Raise `PlainCall` unless results can be copied into those arrays."""
        for position in self.positions:
            array = arrays[position]
            flags = array.flags
            if not flags.writeable:
                raise PlainCall(position, -1)
            if not flags.forc and _overlaps_itself(array):
                raise PlainCall(position, position)
            for other, x in enumerate(arrays):
                if other != position and overlap(array, x):
                    raise PlainCall(position, other)
            for reference in self.captured:
                owner = reference()
                if owner is not None and overlap(array, owner):
                    raise PlainCall(position, None)

    def store(self, arrays: Sequence[np.ndarray], values: Sequence[Any]) -> None:
        """Copy what a call gave into the caller's arrays, where it does not lie there already."""
        elsewhere = []
        for position, value in zip(self.positions, values, strict=True):
            array = arrays[position]
            if value is array or _is_same_memory(value, array):
                continue
            for other in self.positions:
                if other != position and np.may_share_memory(value, arrays[other]):
                    value = np.array(value)  # or what is copied there first would change it
            elsewhere.append((array, value))
        for array, value in elsewhere:
            np.copyto(array, value)


def overlap(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays share an element, as far as can be told quickly; if not, True.

    Examples
    --------
    >>> x = np.arange(6)
    >>> overlap(x[:3], x[2:]), overlap(x[:3], x[3:]), overlap(x[::2], x[1::2])
    (True, False, False)
    """
    if not np.may_share_memory(first, second):
        return False
    if first is second:
        return True
    try:
        return np.shares_memory(first, second, max_work=MAX_OVERLAP_WORK)  # ty: ignore
    except np.exceptions.TooHardError:
        return True


def _is_same_memory(value: Any, array: np.ndarray) -> bool:
    """Whether a result, an array of that shape, lies just where an array does."""
    return value.strides == array.strides and _address(value) == _address(array)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements of an array may lie in one place, as those of a sliding window do."""
    reach = array.itemsize
    for stride, size in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if size > 1:
            if stride < reach:
                return True
            reach = stride * (size - 1) + reach
    return False


def is_written_through(given: Any, array: np.ndarray) -> bool:
    """Whether writing to the array that was made of an argument writes to that argument."""
    return given is array or (isinstance(given, np.ndarray) and np.may_share_memory(given, array))
