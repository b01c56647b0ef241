"""The plain loop in place of a map: for debugging, and as what `check` compares with.

`LANEWISE_DISABLE=1` runs every map so, and every traced function as plain Python;
``lw.vmap(f, plain=True)`` one map and those in it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.errors import annotate
from lanewise.trace import tree
from lanewise.trace.limits import Pace
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import same_bits, state


class _Depth(threading.local):
    plain = 0


_depth = _Depth()


def is_disabled() -> bool:
    """Whether the environment asks for plain Python everywhere."""
    return os.environ.get("LANEWISE_DISABLE", "") not in ("", "0")


def is_plain() -> bool:
    """Whether a map that is called now runs the plain loop."""
    return state.trace is None and (_depth.plain > 0 or is_disabled())


class plainly:  # noqa: N801  (as context managers are called)
    """Run the maps in a ``with`` block as plain loops."""

    __slots__ = ()

    def __enter__(self) -> None:
        _depth.plain += 1

    def __exit__(self, *error: object) -> None:
        _depth.plain -= 1


def loop(
    operands: Sequence[Any],
    in_dims: Sequence[int | None],
    size: int,
    call: Callable[[Any], Any],
    out_dims: Callable[[Any, int], list[int | None]],
) -> Any:
    """Return what a map gives, by calling its function on one example after the other.

    The arguments are those of `lanewise.api.mapping.run_map`.
    """
    is_small = operands and sum([x.nbytes for x in operands]) <= _COPIED
    if is_small and in_dims.count(0) == len(in_dims):
        examples: Iterable[Sequence[Any]] = zip(*map(_copied, operands), strict=True)
    else:
        examples = _examples(operands, in_dims, size)
    pace = None if state.until == math.inf else Pace(size)
    first: Any = None
    structure: Any = None
    rows: list[Sequence[Any]] = []
    for index, example in enumerate(examples):
        if pace is not None:
            pace.check(index)
        try:
            result = call(example)
        except Exception as error:
            annotate(error, f"in example {index}")
            raise
        leaves, own = _flat(result)
        if not index:
            first, structure = result, own
        elif own != structure:
            now, before = tree.flatten(result)[1], tree.flatten(first)[1]
            if now != before:
                raise NoBatchError(
                    f"example {index} returned {now}, but example 0 returned {before}"
                )
        rows.append(leaves)
    dims = out_dims(first, len(rows[0]))
    columns = zip(*rows, strict=True)
    found = [
        _one(column, place) if dim is None else _moved(_stacked(column), 0, dim)
        for place, (dim, column) in enumerate(zip(dims, columns, strict=True))
    ]
    if structure is None:
        return found[0]
    return tuple(found) if type(structure) is int else tree.unflatten(structure, found)


def _one(column: Sequence[Any], place: int) -> Any:
    """Return what is one for all examples, which share nothing with it."""
    first = np.array(column[0])
    for x in column[1:]:
        other = np.asarray(x)
        if (other.dtype, other.shape) != (first.dtype, first.shape) or not same_bits(first, other):
            raise ValueError(
                f"result {place} differs from example to example, so its out_dims cannot be None"
            )
    return first if isinstance(column[0], np.ndarray) else column[0]


class NoBatchError(ValueError):
    """What examples return is not of one structure and shape, so that no array holds it."""


def _examples(
    operands: Sequence[Any], in_dims: Sequence[int | None], size: int
) -> Iterator[Sequence[Any]]:
    """Yield the arguments of one example after the other, which may be written to."""
    mapped = [
        None if dim is None else _moved(x, dim, 0) for x, dim in zip(operands, in_dims, strict=True)
    ]
    total = sum([x.nbytes for x in mapped if x is not None])
    step = max(1, _COPIED * size // max(1, total))
    for start in range(0, size, step):
        count = min(step, size - start)
        parts = [
            _copies(whole, count) if x is None else _copied(x[start : start + count])
            for x, whole in zip(mapped, operands, strict=True)
        ]
        yield from zip(*parts, strict=True) if parts else [()] * count


def _copies(x: Any, count: int) -> Iterator[Any]:
    for _ in range(count):
        yield _copied(x)


#: Bytes of arguments that are copied at a time.
_COPIED = 1 << 18


def _moved(x: Any, source: int, destination: int) -> Any:
    return x if source == destination else np.moveaxis(x, source, destination)


def _copied(x: Any) -> Any:
    return x.copy() if isinstance(x, (np.ndarray, Tensor)) else x


#: What is a leaf of a result, without being asked.
_NUMBERS = frozenset((bool, int, float, complex, *np.sctypeDict.values())) - {np.object_}
_LEAVES = _NUMBERS | {np.ndarray}


def _flat(result: Any) -> tuple[Sequence[Any], Any]:
    """Return the leaves of a result, and what tells its structure."""
    if type(result) in _LEAVES:
        return (result,), None
    if type(result) is tuple and _LEAVES.issuperset(map(type, result)):
        return result, len(result)
    return tree.flatten(result)


def _stacked(column: Sequence[Any]) -> Any:
    """Return what examples return as one array."""
    kinds = set(map(type, column))
    try:
        if len(kinds) == 1 and kinds <= _NUMBERS:
            found = np.array(column)
            if found.dtype.kind != "O" and (int not in kinds or found.dtype == int):
                return found
        if kinds == {np.ndarray} and len({(x.dtype, x.shape) for x in column}) == 1:
            return np.array(column)
        return np.stack([x if isinstance(x, Tensor) else np.asarray(x) for x in column])
    except ValueError as error:
        raise NoBatchError(*error.args) from None
