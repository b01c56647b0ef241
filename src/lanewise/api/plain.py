"""The plain loop in place of a map: for debugging, and as what `check` compares with.

`LANEWISE_DISABLE=1` runs every map so, and every traced function as plain Python;
``lw.vmap(f, plain=True)`` one map and those in it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lanewise.errors import annotate
from lanewise.trace import tree
from lanewise.trace.limits import Pace
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state


class _Depth(threading.local):
    plain = 0


_depth = _Depth()


def is_disabled() -> bool:
    """Whether the environment asks for plain Python everywhere."""
    return os.environ.get("LANEWISE_DISABLE", "") not in ("", "0")


def is_plain() -> bool:
    """Whether a map that is called now runs the plain loop."""
    return state.trace is None and (_depth.plain > 0 or is_disabled())


@contextmanager
def plainly() -> Generator[None]:
    """Run the maps in a ``with`` block as plain loops."""
    _depth.plain += 1
    try:
        yield
    finally:
        _depth.plain -= 1


def loop(
    operands: Sequence[Any],
    in_dims: Sequence[int | None],
    size: int,
    call: Callable[[list[Any]], Any],
    out_dims: Callable[[Any, int], list[int | None]],
) -> Any:
    """Return what a map gives, by calling its function on one example after the other.

    The arguments are those of `lanewise.api.mapping.run_map`.
    """
    examples = _Examples(operands, in_dims, size)
    pace = Pace(size)
    first: Any = None
    structure: Any = None
    rows: list[Sequence[Any]] = []
    for index, example in enumerate(examples):
        pace.check(index)
        try:
            try:
                result = call(example)
            except ValueError as error:
                if not examples.are_lent or "read-only" not in str(error):
                    raise
                result = call(examples.again(index))
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
        column[0] if dim is None else np.moveaxis(_stacked(column), 0, dim)
        for dim, column in zip(dims, columns, strict=True)
    ]
    return tree.unflatten(tree.flatten(first)[1], found)


class NoBatchError(ValueError):
    """What examples return is not of one structure and shape, so that no array holds it."""


class _Examples:
    """The arguments of one example after the other, which may be written to.

    Large arrays that all examples get are lent them, so that writing to one raises; then each
    example gets a copy.
    """

    def __init__(self, operands: Sequence[Any], in_dims: Sequence[int | None], size: int) -> None:
        self._size = size
        self._all = [
            (x, False) if dim is None else (np.moveaxis(x, dim, 0), True)
            for x, dim in zip(operands, in_dims, strict=True)
        ]
        #: Whether the next example gets what must not be written to.
        self.are_lent = any([not mapped and _is_large(x) for x, mapped in self._all])

    def __iter__(self) -> Iterator[list[Any]]:
        widest = max([x[:1].nbytes for x, mapped in self._all if mapped], default=0)
        step = max(1, _COPIED // max(1, widest))
        for start in range(0, self._size, step):
            count = min(step, self._size - start)
            parts = [
                _copied(x[start : start + count]) if mapped else self._whole(x, count)
                for x, mapped in self._all
            ]
            yield from map(list, zip(*parts, strict=True)) if parts else ([] for _ in range(count))

    def _whole(self, x: Any, count: int) -> Iterator[Any]:
        for _ in range(count):
            yield _lent(x) if self.are_lent and _is_large(x) else _copied(x)

    def again(self, index: int) -> list[Any]:
        """Return the arguments of an example again, after which each gets copies."""
        self.are_lent = False
        return [_copied(x[index] if mapped else x) for x, mapped in self._all]


#: Bytes of an argument that are copied at a time; from which on one is rather lent than copied.
_COPIED, _LARGE = 1 << 18, 1 << 12


def _is_large(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.nbytes > _LARGE


def _lent(x: np.ndarray) -> np.ndarray:
    x = x.view()
    x.flags.writeable = False
    return x


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
