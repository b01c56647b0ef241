"""Arrays that are memory of their own: which ones are, and results that are made so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

_ndarray = np.ndarray


def root_of(x: Any) -> Any:
    """Return the object that owns the memory of an array."""
    while isinstance(x, _ndarray) and x.base is not None:
        x = x.base
    return x


def is_own(x: Any, others: Iterable[Any]) -> bool:
    """Whether something is an array with memory that no other has, or is a view of."""
    return (
        type(x) is _ndarray
        and x.base is None
        and x.flags.writeable
        and not any(x is root_of(y) for y in others)
    )


def is_apart(x: np.ndarray, arguments: Iterable[Any]) -> bool:
    """Whether an array is surely its own: it is no view, nor is any argument, nor is it one."""
    if x.base is not None or not x.flags.writeable:
        return False
    return not any([y is x or getattr(y, "base", None) is not None for y in arguments])


def own(
    outputs: Sequence[Any], arguments: Sequence[Any], lent: Collection[int] = ()
) -> list[np.ndarray]:
    """Return the outputs as writable arrays that share memory with no argument and each other.

    Nor does an output keep more memory alive than its own: a part of a larger array is copied.
    Those at the positions `lent` stay as they are.
    """
    if len(outputs) == len(lent):
        return list(outputs)
    taken = set(map(id, arguments))
    for x in arguments:
        if getattr(x, "base", None) is not None:
            taken.add(id(root_of(x)))
    owned = []
    for position, output in enumerate(outputs):
        if lent and position in lent:
            owned.append(output)
            continue
        array = root = output if type(output) is _ndarray else np.asarray(output)
        if array.base is not None:
            root = root_of(array)
            if type(root) is not _ndarray or root.nbytes != array.nbytes:
                array = root = array.copy()
        if id(root) in taken or not array.flags.writeable:
            array = root = array.copy()
        taken.add(id(root))
        owned.append(array)
    return owned
