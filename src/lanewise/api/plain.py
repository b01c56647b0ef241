"""The plain loop in place of a map: for debugging, and as what `check` compares with.

`LANEWISE_DISABLE=1` runs every map so, and every traced function as plain Python;
``lw.vmap(f, plain=True)`` one map and those in it.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lanewise.errors import annotate
from lanewise.trace import tree
from lanewise.trace.limits import Pace
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import same_bits, state

_ndarray = np.ndarray


class _Depth(threading.local):
    plain = 0
    repeatable = tells = False


_depth = _Depth()


def is_disabled() -> bool:
    """Whether the environment asks for plain Python everywhere."""
    return os.environ.get("LANEWISE_DISABLE", "") not in ("", "0")


def is_plain() -> bool:
    """Whether a map that is called now runs the plain loop."""
    return state.trace is None and (_depth.plain > 0 or is_disabled())


class plainly:  # noqa: N801  (as context managers are called)
    """Run the maps in a ``with`` block as plain loops.

    Nobody sees it if their functions are called again on an example, if they ``may_repeat``, unless
    what is around ``tells`` something then.
    """

    __slots__ = ("_before", "_may_repeat", "_tells")

    def __init__(self, may_repeat: bool = False, tells: bool = False) -> None:
        self._may_repeat, self._tells = may_repeat, tells

    def __enter__(self) -> None:
        self._before = _depth.repeatable, _depth.tells
        _depth.plain += 1
        _depth.repeatable |= self._may_repeat
        _depth.tells |= self._tells

    def __exit__(self, *error: object) -> None:
        _depth.plain -= 1
        _depth.repeatable, _depth.tells = self._before


def may_repeat() -> bool:
    """Whether nobody sees it if the function of a map is called again on an example."""
    return _depth.repeatable and not _depth.tells


def loop(
    operands: Sequence[Any],
    in_dims: Sequence[int | None],
    size: int,
    call: Callable[[Any], Any],
    out_dims: Callable[[Any, int], list[int | None]],
    may_repeat: bool = False,
) -> Any:
    """Return what a map gives, by calling its function on one example after the other.

    Parameters
    ----------
    operands, in_dims, size, call, out_dims
        Those of `lanewise.api.mapping.MapCall`.
    may_repeat
        Whether nobody sees it if the function is called again on an example.
    """
    pace = None if state.until == math.inf else Pace(size)
    lent = _lent(operands, in_dims) if may_repeat and None in in_dims else None
    rows, start = _Rows(size, out_dims), 0
    while start < size:
        examples = _examples(operands, in_dims, size, start, lent)
        for index, example in enumerate(examples, start):
            if pace is not None:
                pace.check(index)
            try:
                result = call(example)
            except Exception as error:
                if lent is not None and not lent.is_same():
                    break
                annotate(error, f"in example {index}")
                raise
            rows.add(index, result)
            if rows.rooms:
                del result
                rows.keep_shared()
            count = index + 1
            if lent is not None and (count == size or not count & index):  # a power of two
                if not lent.is_same():
                    break
                start = count
        else:
            break
        # One was written to: each example gets a copy, from the last that was right on.
        assert lent is not None
        lent.put_back()
        lent = None
        del rows.leaves[start:]
    return rows.stacked()


class _Rows:
    """What so many examples return.

    Large arrays are put into one for all examples at once, so that all take memory once. That
    stands only while nobody else has them: what is written to one later, each of its rows has.
    """

    def __init__(self, size: int, out_dims: Callable[[Any, int], list[int | None]]) -> None:
        self._size, self._out_dims = size, out_dims
        self._dims: list[int | None] = []
        self.structure: Any = None
        self.leaves: list[Sequence[Any]] = []
        #: By places among the leaves, the arrays for all; and those of the last example.
        self.rooms: dict[int, np.ndarray] = {}
        self._last: dict[int, weakref.ref[np.ndarray]] = {}

    def add(self, index: int, result: Any) -> None:
        """Add what the next example returns."""
        leaves, own = _flat(result)
        if not index:
            self.structure = own
            self._dims = self._out_dims(result, len(leaves))
            large = [place for place, leaf in enumerate(leaves) if _is_large(leaf)]
            self.rooms = (
                {
                    place: np.empty((self._size, *leaves[place].shape), leaves[place].dtype)
                    for place in large
                    if self._dims[place] is not None
                }
                if large
                else {}
            )
        elif own != self.structure:
            now, before = _spec(own), _spec(self.structure)
            if now != before:
                raise NoBatchError(
                    f"example {index} returned {now}, but example 0 returned {before}"
                )
        if self.rooms:
            leaves = [self._put(index, place, leaf) for place, leaf in enumerate(leaves)]
        self.leaves.append(leaves)

    def _put(self, index: int, place: int, leaf: Any) -> Any:
        """Return what stands for a leaf: where it was put, if there is room for it."""
        room = self.rooms.get(place)
        if room is None:
            return leaf
        is_alike = type(leaf) is np.ndarray and (leaf.dtype, leaf.shape) == (
            room.dtype,
            room.shape[1:],
        )
        if not is_alike or not leaf.flags.owndata or leaf.dtype.hasobject:
            del self.rooms[place]
            return leaf
        room[index] = leaf
        self._last[place] = weakref.ref(leaf)
        return room[index]

    def keep_shared(self) -> None:
        """Have arrays of the last example stand for themselves that somebody has but its caller."""
        for place, reference in self._last.items():
            leaf = reference()
            if leaf is not None:
                self.leaves[-1] = [*self.leaves[-1][:place], leaf, *self.leaves[-1][place + 1 :]]
                del self.rooms[place]
        self._last.clear()

    def stacked(self) -> Any:
        """Return what the map gives."""
        found = []
        for place, (dim, column) in enumerate(
            zip(self._dims, zip(*self.leaves, strict=True), strict=True)
        ):
            if dim is None:
                found.append(_one(column, place))
            else:
                room = self.rooms.get(place)
                found.append(_moved(_stacked(column) if room is None else room, 0, dim))
        if self.structure is None:
            return found[0]
        is_tuple = type(self.structure) is int
        return tuple(found) if is_tuple else tree.unflatten(self.structure, found)


class _Lent:
    """Large arguments that all examples get: one copy of each for all, until it is written to."""

    def __init__(self, whole: Sequence[Any]) -> None:
        self.copies = [x.copy() if _is_large(x) else None for x in whole]
        self._pairs = [(x, y) for x, y in zip(whole, self.copies, strict=True) if y is not None]

    def is_same(self) -> bool:
        """Whether nobody has written to one."""
        return all([same_bits(x, copy) and copy.flags.writeable for x, copy in self._pairs])

    def put_back(self) -> None:
        """Undo what was written, as results may be views of them."""
        for x, copy in self._pairs:
            copy.flags.writeable = True
            if copy.shape == x.shape:
                copy[...] = x


def _lent(operands: Sequence[Any], in_dims: Sequence[int | None]) -> _Lent | None:
    """Return what holds the large arguments that all examples get, if there are any."""
    whole = [x if dim is None else None for x, dim in zip(operands, in_dims, strict=True)]
    return _Lent(whole) if any([_is_large(x) for x in whole]) else None


def _is_large(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.nbytes > _LARGE


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


def conformed(result: Any, dtypes: Sequence[np.dtype]) -> Any:
    """Return what the plain loop of a map gives, in the dtypes of the map's trace.

    They differ where data choose the dtype of what an example returns: a trace has that which holds
    all, whatever the examples of a batch return.

    Raises
    ------
    NoBatchError
        If it cannot be converted.
    """
    leaves, structure = _flat(result)
    if [getattr(x, "dtype", None) for x in leaves] == dtypes or len(leaves) != len(dtypes):
        return result
    for x, dtype in zip(leaves, dtypes, strict=True):
        if not np.can_cast(x.dtype, dtype, "same_kind"):
            raise NoBatchError(f"it gives {x.dtype}, but its trace {dtype}")
    pairs = zip(leaves, dtypes, strict=True)
    return tree.unflatten(_spec(structure), [x.astype(dtype, copy=False) for x, dtype in pairs])


def _examples(
    operands: Sequence[Any],
    in_dims: Sequence[int | None],
    size: int,
    first: int,
    lent: _Lent | None,
) -> Iterator[Sequence[Any]]:
    """Return the arguments of one example after the other, which may be written to."""
    is_small = operands and sum([x.nbytes for x in operands]) <= _COPIED
    if is_small and not first and in_dims.count(0) == len(in_dims):
        return zip(*[_copied(x) for x in operands], strict=True)
    return _in_parts(operands, in_dims, size, first, lent)


def _in_parts(
    operands: Sequence[Any],
    in_dims: Sequence[int | None],
    size: int,
    first: int,
    lent: _Lent | None,
) -> Iterator[Sequence[Any]]:
    mapped = [
        None if dim is None else _moved(x, dim, 0) for x, dim in zip(operands, in_dims, strict=True)
    ]
    shared = [None] * len(operands) if lent is None else lent.copies
    total = sum([x.nbytes for x in mapped if x is not None])
    step = max(1, _COPIED * size // max(1, total))
    for start in range(first, size, step):
        count = min(step, size - start)
        parts = [
            _copies(whole, one, count) if x is None else _copied(x[start : start + count])
            for x, whole, one in zip(mapped, operands, shared, strict=True)
        ]
        yield from zip(*parts, strict=True) if parts else [()] * count


def _copies(x: Any, shared: Any, count: int) -> Iterator[Any]:
    for _ in range(count):
        yield _copied(x) if shared is None else shared


#: Bytes of arguments that are copied at a time; from which on one is not copied for each example.
_COPIED, _LARGE = 1 << 18, 1 << 12


def _moved(x: Any, source: int, destination: int) -> Any:
    return x if source == destination else np.moveaxis(x, source, destination)


def _copied(x: Any) -> Any:
    return x.copy() if type(x) is _ndarray or isinstance(x, (_ndarray, Tensor)) else x


#: Types of what is a leaf of a result, without being asked.
NUMBERS = frozenset((bool, int, float, complex, *np.sctypeDict.values())) - {np.object_}
_LEAVES = NUMBERS | {np.ndarray}


def _flat(result: Any) -> tuple[Sequence[Any], Any]:
    """Return the leaves of a result, and what tells its structure."""
    if type(result) in _LEAVES:
        return (result,), None
    if type(result) is tuple and _LEAVES.issuperset(map(type, result)):
        return result, len(result)
    return tree.flatten(result)


def _spec(structure: Any) -> Any:
    """Return optree's description of a structure that `_flat` tells."""
    if structure is None or type(structure) is int:
        return tree.flatten(0 if structure is None else (0,) * structure)[1]
    return structure


def _stacked(column: Sequence[Any]) -> Any:
    """Return what examples return as one array."""
    kinds = set(map(type, column))
    kind = kinds.pop() if len(kinds) == 1 else None
    try:
        if kind in NUMBERS:
            found = np.array(column)
            if kind is not int or found.dtype == int:
                return found
        elif kind is _ndarray and len({(x.dtype, x.shape) for x in column}) == 1:
            return np.array(column)
        return np.stack([x if isinstance(x, Tensor) else np.asarray(x) for x in column])
    except ValueError as error:
        raise NoBatchError(*error.args) from None
