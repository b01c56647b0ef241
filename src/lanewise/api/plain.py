"""The plain loop in place of a map: for debugging, and as what `check` compares with.

`LANEWISE_DISABLE=1` runs every map so, and every traced function as plain Python;
``lw.vmap(f, plain=True)`` one map and those in it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
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


class plainly:  # noqa: N801  (as context managers are called)
    """Run the maps in a ``with`` block as plain loops."""

    __slots__ = ()

    def __enter__(self) -> None:
        _depth.plain += 1

    def __exit__(self, *error: object) -> None:
        _depth.plain -= 1


def loop(
    func: Any,
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
    lender: _Examples | None = None
    if is_small and in_dims.count(0) == len(in_dims):
        examples: Iterable[Sequence[Any]] = zip(*map(_copied, operands), strict=True)
    else:
        examples = lender = _Examples(func, operands, in_dims, size)
    pace = None if state.until == math.inf else Pace(size)
    first: Any = None
    structure: Any = None
    rows: list[Sequence[Any]] = []
    for index, example in enumerate(examples):
        if pace is not None:
            pace.check(index)
        try:
            try:
                result = call(example)
            except ValueError as error:
                if lender is None or not lender.are_lent or "read-only" not in str(error):
                    raise
                result = call(lender.again(index))
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
        column[0] if dim is None else _moved(_stacked(column), 0, dim)
        for dim, column in zip(dims, columns, strict=True)
    ]
    if structure is None:
        return found[0]
    return tuple(found) if type(structure) is int else tree.unflatten(structure, found)


class NoBatchError(ValueError):
    """What examples return is not of one structure and shape, so that no array holds it."""


class _Examples:
    """The arguments of one example after the other, which may be written to.

    Large arrays that all examples get are lent them, so that writing to one raises; then each
    example gets a copy.
    """

    def __init__(
        self, func: Any, operands: Sequence[Any], in_dims: Sequence[int | None], size: int
    ) -> None:
        self._size = size
        self._mapped = [
            None if dim is None else _moved(x, dim, 0)
            for x, dim in zip(operands, in_dims, strict=True)
        ]
        #: What all examples get, with what is mapped.
        self._whole: Sequence[Any] = operands if None in in_dims else ()
        #: Whether the next example gets what must not be written to.
        self.are_lent = bool(
            self._whole
            and any(
                [dim is None and _is_large(x) for x, dim in zip(operands, in_dims, strict=True)]
            )
            and not _may_catch(func)
        )

    def __iter__(self) -> Iterator[Sequence[Any]]:
        size = sum([x.nbytes for x in self._mapped if x is not None])
        step = max(1, _COPIED * self._size // max(1, size))
        for start in range(0, self._size, step):
            count = min(step, self._size - start)
            parts = [
                self._given(i, count) if x is None else _copied(x[start : start + count])
                for i, x in enumerate(self._mapped)
            ]
            yield from zip(*parts, strict=True) if parts else [()] * count

    def _given(self, position: int, count: int) -> Iterator[Any]:
        x = self._whole[position]
        for _ in range(count):
            yield _lent(x) if self.are_lent and _is_large(x) else _copied(x)

    def again(self, index: int) -> Sequence[Any]:
        """Return the arguments of an example again, after which each gets copies."""
        self.are_lent = False
        return [
            _copied(self._whole[i] if x is None else x[index]) for i, x in enumerate(self._mapped)
        ]


#: Bytes of an argument that are copied at a time; from which on one is rather lent than copied.
_COPIED, _LARGE = 1 << 18, 1 << 12


def _may_catch(func: Any) -> bool:
    """Whether a function, or one that it calls by its name, may end an exception."""
    codes, seen, names = [getattr(func, "__code__", None)], set(), getattr(func, "__globals__", {})
    while codes:
        code = codes.pop()
        if code is None or code.co_exceptiontable:
            return True
        if code not in seen:
            seen.add(code)
            codes += [part for part in code.co_consts if isinstance(part, CodeType)]
            called = [names.get(name) for name in code.co_names]
            codes += [each.__code__ for each in called if isinstance(each, FunctionType)]
    return False


def _moved(x: Any, source: int, destination: int) -> Any:
    return x if source == destination else np.moveaxis(x, source, destination)


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
