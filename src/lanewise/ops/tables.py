"""Derivatives of lists: tables, in which every place holds zero until something is added there.

The tangent of a list is a table of the tangents of its elements, and so is its cotangent: appending
adds to the place behind the last element, reading takes from a place. These operations are linear
in the table, and transposes of each other, so derivatives of any order and mode are made of them.

Where the elements lie in memory a table is a number: a version. The newest version of a table has
its elements in one piece and is changed in place. A version that was changed keeps what was
different in it, and where the next one is (H. Baker, "Shallow binding makes functional arrays
fast", 1991): going back is possible but slow, and a loop never does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np

from lanewise.ir.dims import DimLike, Shape
from lanewise.ir.graph import Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.derivatives import flat, is_linear
from lanewise.ops.facts import Held, Kind
from lanewise.ops.movement import repeat_unmapped
from lanewise.ops.registry import Batch, Family, Primitive, absent, leading_axes, op

INTP = np.dtype(np.intp)

_NO_SAMPLES = "a table is no array; tests/derivatives/test_lists.py runs it"


class Store:
    """What the elements of lists or tables lie in: it is handed on like a scalar."""

    __slots__ = ()

    shape = ()

    def __getitem__(self, key: tuple[()]) -> Self:
        """Return itself."""
        return self


class Tables(Store):
    """Tables of elements of one shape. Version 0 is the table of zeros."""

    __slots__ = ("base", "count", "following", "old", "place", "room", "tangents", "used", "values")

    def __init__(self) -> None:
        self.count = 1  # versions
        self.used = 0  # of the values
        self.base = np.zeros(16, INTP)
        self.room = np.zeros(16, INTP)
        #: The version that came after it (0 for none), where that differs, and what was there.
        self.following = np.zeros(16, INTP)
        self.place = np.zeros(16, INTP)
        self.old: np.ndarray | None = None
        self.values: np.ndarray | None = None
        self.tangents: dict[int, Tables] = {}

    def get(self, tables: np.ndarray, places: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Return the elements at places, in the dtype and shape of the rows of `like`."""
        result = np.zeros((len(tables), *like.shape[1:]), like.dtype)
        if self.values is None:
            return result
        assert self.old is not None
        rows = np.nonzero(places < self.room[tables])[0]
        versions, wanted = tables[rows], places[rows]
        while True:
            following = self.following[versions]
            was_changed = following > 0
            is_there = ~was_changed
            result[rows[is_there]] = self.values[self.base[versions[is_there]] + wanted[is_there]]
            if is_there.all():
                return result
            is_old = was_changed & (self.place[versions] == wanted)
            result[rows[is_old]] = self.old[versions[is_old]]
            further = was_changed & ~is_old
            rows, wanted, versions = rows[further], wanted[further], following[further]

    def change(
        self, tables: np.ndarray, places: np.ndarray, values: np.ndarray, adding: bool
    ) -> np.ndarray:
        """Return tables with values added at places, or put there."""
        if not len(tables):
            return tables
        room = self.room[tables]
        _, firsts = np.unique(tables, return_index=True)
        is_moved = np.ones(len(tables), bool)
        is_moved[firsts] = False
        is_moved |= (self.following[tables] > 0) | (places >= room)
        rows = np.nonzero(is_moved)[0]
        wanted = np.where(places >= room, np.maximum(places + 1, 2 * room), room)[rows]
        first = self.used
        stored, old = self._reserve(len(tables), first + int(wanted.sum()), values)
        bases = first + np.cumsum(wanted) - wanted
        self.used = first + int(wanted.sum())
        for row, base in zip(rows.tolist(), bases.tolist(), strict=True):
            if room[row]:
                stored[base : base + room[row]] = self._contents(int(tables[row]))
        made = np.arange(self.count, self.count + len(tables))
        self.count += len(tables)
        self.base[made], self.room[made] = self.base[tables], room
        self.base[made[rows]], self.room[made[rows]] = bases, wanted
        kept = np.nonzero(~is_moved)[0]
        at = self.base[made] + places
        self.following[tables[kept]] = made[kept]
        self.place[tables[kept]] = places[kept]
        old[tables[kept]] = stored[at[kept]]
        stored[at] = stored[at] + values if adding else values
        return made

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return a table for each row of elements."""
        count, room = rows.shape[:2]
        if not count or not room:
            return np.zeros(count, INTP)
        first = self.used
        stored, _ = self._reserve(count, first + count * room, rows[:, 0])
        self.used = first + count * room
        made = np.arange(self.count, self.count + count)
        self.count += count
        self.base[made] = first + np.arange(count) * room
        self.room[made] = room
        stored[first : self.used] = rows.reshape(count * room, *rows.shape[2:])
        return made

    def rows(self, tables: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Return the elements at the first places, as many as the rows of `like` have."""
        count, room = like.shape[:2]
        places = np.tile(np.arange(room), count)
        flat_like = like.reshape(count * room, *like.shape[2:])
        return self.get(np.repeat(tables, room), places, flat_like).reshape(like.shape)

    def total(self, tables: np.ndarray) -> np.ndarray:
        """Return the sum of the tables of each row."""
        count, terms = tables.shape
        room = int(self.room[tables].max(initial=0))
        if self.values is None or not room:
            return np.zeros(count, INTP)
        shape = (count * terms, room, *self.values.shape[1:])
        like = np.broadcast_to(np.zeros((), self.values.dtype), shape)
        rows = self.rows(tables.reshape(-1), like)
        return self.of(rows.reshape(count, terms, *shape[1:]).sum(axis=1))

    def _contents(self, version: int) -> np.ndarray:
        """Return all elements of a version."""
        assert self.values is not None and self.old is not None
        later = []
        while self.following[version]:
            later.append(version)
            version = int(self.following[version])
        base = self.base[version]
        found = self.values[base : base + self.room[version]].copy()
        for changed in reversed(later):
            found[self.place[changed]] = self.old[changed]
        return found

    def _reserve(self, versions: int, size: int, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make room for more versions, and for values up to a size; return the values' arrays."""
        shape = like.shape[1:]
        if self.values is None or self.old is None:
            self.values = np.zeros((16, *shape), like.dtype)
            self.old = np.zeros((len(self.base), *shape), like.dtype)
        dtype = np.result_type(self.values.dtype, like.dtype)
        if size > len(self.values) or dtype != self.values.dtype:
            most = max(size, 2 * len(self.values)) if size > len(self.values) else len(self.values)
            self.values = longer(self.values, most, dtype)
        count = self.count + versions
        if count > len(self.base):
            count = max(count, 2 * len(self.base))
            self.base, self.room, self.following, self.place = (
                longer(x, count, INTP) for x in (self.base, self.room, self.following, self.place)
            )
        if len(self.base) > len(self.old) or dtype != self.old.dtype:
            self.old = longer(self.old, len(self.base), dtype)
        return self.values, self.old


def longer(x: np.ndarray, size: int, dtype: np.dtype) -> np.ndarray:
    result = np.zeros((size, *x.shape[1:]), dtype)
    result[: len(x)] = x
    return result


def flattened(lists: Any, *others: Any) -> tuple[np.ndarray, ...]:
    """Return lists, and what there is for each, with the axes of the lists made one."""
    lists = np.asarray(lists)
    count = math.prod(lists.shape)
    rest = [np.asarray(x) for x in others]
    return (lists.reshape(count), *[x.reshape(count, *x.shape[lists.ndim :]) for x in rest])


def for_each_list(run: Callable[..., np.ndarray], lists: Any, *others: Any) -> Any:
    """Return what `run` gives for lists, and for what there is for each, with their axes."""
    return run(*flattened(lists, *others)).reshape(np.shape(lists))[()]


def check_lists(lists: ArrayType, *others: ArrayType) -> None:
    if lists.dtype != INTP:
        raise TypeError(f"lists are entries of an arena, not {lists}")
    for other in others:
        if other.shape[: lists.ndim] != lists.shape:
            raise ValueError(f"{other} has not one entry for each of the lists {lists}")


def like_lists(store: ArrayType, lists: ArrayType, *others: ArrayType) -> ArrayType:
    """Return the type of lists, of which operands have an entry each."""
    check_lists(lists, *others)
    return lists


def repeated_lists(b: Batch, *operands: Any) -> list[Any]:
    """Repeat what is not mapped along the batch; the arena is that of all examples."""
    assert not b.mapped[0]
    return repeat_unmapped(Batch(b.size, b.mapped[1:]), *operands)


@Family
def of_lists(primitive: Primitive, b: Batch, store: Value, *operands: Value, **params: Any) -> Any:
    """Record an operation on operands that have an entry for each list."""
    return primitive(store, *repeated_lists(b, *operands), **params)


def _zero(d: Any, operand: Any, tangent: Any) -> Any:
    return d.zeros(operand) if tangent is None else tangent


def tangents_of(d: Any, arena: Any) -> Any:
    """Return the tables of the tangents of the lists of an arena, or of other tables."""
    return d.emit(list_tangents, arena, order=d.order)


def kept_table(d: Any, ct: Any, store: Any, tables: Any) -> Any:
    """Return the cotangent of an operand with what was found of it before."""
    if not is_linear(tables):
        return None
    return ct if tables.so_far is None else d.emit(table_sum, store, ct, tables.so_far)


def _element(d: Any, ct: Any, store: Any, tables: Any, place: Any, value: Any) -> Any:
    """Return the cotangent of a value that stands at a place."""
    if not is_linear(value):
        return None
    shape = value.shape[tables.ndim :]
    return d.emit(table_get, store, ct, place, dtype=value.dtype, shape=shape)


@op
class list_tangents:
    """The tables of the tangents of an arena's lists, or of other tables.

    It is the same store wherever it is asked for, and another one for another `order`.
    """

    kind, held = Kind.STORE, Held.NUMBERS
    may_fail = False

    def type(arena, *, order: int):
        return arena

    def numpy(arena, *, order):
        known = arena.tangents.get(order)
        return arena.tangents.setdefault(order, Tables()) if known is None else known

    batch = absent("an arena is never mapped")

    def lanes(k, types, arena, *, order):
        return arena.tangents(order)

    jvp = flat
    samples = absent(_NO_SAMPLES)


@op
class table_get:
    """The elements of tables at places, which are not negative."""

    may_fail = False

    def type(store, tables, place, *, dtype: np.dtype, shape: Shape):
        check_lists(tables, place)
        return array_type(dtype, (*tables.shape, *shape))

    def numpy(store, tables, place, *, dtype, shape):
        tables, place = np.asarray(tables), np.asarray(place)
        ones = flattened(tables, place)
        like = np.broadcast_to(np.zeros((), dtype), (len(ones[0]), *shape))
        return store.get(*ones, like).reshape((*tables.shape, *shape))[()]

    batch = of_lists

    def lanes(k, types, store, tables, place, *, dtype, shape):
        return store.table_item(tables, place, dtype, shape)

    def jvp(d, tangents, results, store, tables, place, **params):
        return d.emit(table_get, tangents_of(d, store), tangents[1], place, **params)

    def transposed(d, ct, store, tables, place, **params):
        known = d.zeros(tables) if tables.so_far is None else tables.so_far
        return None, d.emit(table_add, store, known, place, ct), None

    samples = absent(_NO_SAMPLES)


@op
class table_add:
    """Tables with a value added to the element at a place."""

    kind = Kind.LISTS
    continues = tangent_of_last = overwrites = True
    may_fail = False

    type = like_lists

    def numpy(store, tables, place, value):
        return for_each_list(partial(store.change, adding=True), tables, place, value)

    batch = of_lists

    def lanes(k, types, store, tables, place, value):
        return store.changed(tables, place, value, adding=True)

    def jvp(d, tangents, results, store, tables, place, value):
        if tangents[3] is None:
            return tangents[1]
        return d.emit(
            table_add, tangents_of(d, store), _zero(d, tables, tangents[1]), place, tangents[3]
        )

    def transposed(d, ct, store, tables, place, value):
        return (
            None,
            kept_table(d, ct, store, tables),
            None,
            _element(d, ct, store, tables, place, value),
        )

    samples = absent(_NO_SAMPLES)


@op
class table_put:
    """Tables with the element at a place replaced."""

    kind = Kind.LISTS
    continues = tangent_of_last = overwrites = True
    may_fail = False

    type = like_lists

    def numpy(store, tables, place, value):
        return for_each_list(partial(store.change, adding=False), tables, place, value)

    batch = of_lists

    def lanes(k, types, store, tables, place, value):
        return store.changed(tables, place, value, adding=False)

    def jvp(d, tangents, results, store, tables, place, value):
        given = _zero(d, tables, tangents[1]), place, _zero(d, value, tangents[3])
        return d.emit(table_put, tangents_of(d, store), *given)

    def transposed(d, ct, store, tables, place, value):
        part = _element(d, ct, store, tables, place, value)
        rest = d.emit(table_put, store, ct, place, d.zeros(value)) if is_linear(tables) else None
        return None, kept_table(d, rest, store, tables), None, part

    samples = absent(_NO_SAMPLES)


@op
class table_sum:
    """The sums of tables and other tables."""

    kind = Kind.LISTS
    tangent_of_last = True
    may_fail = False

    type = like_lists

    def numpy(store, tables, others):
        return store.total(np.stack(flattened(tables, others), -1)).reshape(np.shape(tables))[()]

    batch = of_lists

    lanes = absent("tables that are added as a whole have no native form")

    def jvp(d, tangents, results, store, tables, others):
        given = _zero(d, tables, tangents[1]), _zero(d, others, tangents[2])
        return d.emit(table_sum, tangents_of(d, store), *given)

    def transposed(d, ct, store, tables, others):
        return None, kept_table(d, ct, store, tables), kept_table(d, ct, store, others)

    samples = absent(_NO_SAMPLES)


@op
class table_total:
    """The sums of tables along the last axis."""

    kind = Kind.LISTS
    tangent_of_last = True
    may_fail = False

    def type(store, tables):
        check_lists(tables)
        return array_type(INTP, tables.shape[:-1])

    def numpy(store, tables):
        rows = tables.reshape(math.prod(tables.shape[:-1]), tables.shape[-1])
        return store.total(rows).reshape(tables.shape[:-1])[()]

    batch = leading_axes

    lanes = absent("tables that are added as a whole have no native form")

    def jvp(d, tangents, results, store, tables):
        return d.emit(table_total, tangents_of(d, store), tangents[1])

    def transposed(d, ct, store, tables):
        whole = d.emit(table_repeat, store, ct, count=tables.shape[-1])
        return None, kept_table(d, whole, store, tables)

    samples = absent(_NO_SAMPLES)


@op
class table_repeat:
    """Each table so many times, along a new last axis."""

    may_fail = False

    def type(store, tables, *, count: DimLike):
        check_lists(tables)
        return array_type(INTP, (*tables.shape, count))

    def numpy(store, tables, *, count):
        return np.broadcast_to(np.asarray(tables)[..., None], (*np.shape(tables), count))

    batch = leading_axes

    lanes = absent("tables that are added as a whole have no native form")

    def jvp(d, tangents, results, store, tables, *, count):
        return d.emit(table_repeat, tangents_of(d, store), tangents[1], count=count)

    def transposed(d, ct, store, tables, *, count):
        return None, kept_table(d, d.emit(table_total, store, ct), store, tables)

    samples = absent(_NO_SAMPLES)


@op
class table_rows:
    """The first elements of tables in rows, which are of the type of `like` and as many."""

    may_fail = False

    def type(store, tables, like):
        check_lists(tables, like)
        return like

    def numpy(store, tables, like):
        tables, rows = flattened(tables, like)
        return store.rows(tables, rows).reshape(like.shape)

    batch = of_lists

    lanes = absent("a list that is stacked has no native form")

    def jvp(d, tangents, results, store, tables, like):
        if tangents[1] is None:
            return None
        return d.emit(table_rows, tangents_of(d, store), tangents[1], like)

    def transposed(d, ct, store, tables, like):
        return (
            None,
            kept_table(d, d.emit(table_of, store, ct, like, rank=tables.ndim), store, tables),
            None,
        )

    samples = absent(_NO_SAMPLES)


@op
class table_of:
    """Tables that begin with the elements of rows, which have the type of `like`.

    The first `rank` axes are those of the tables.
    """

    kind = Kind.LISTS
    tangent_of_last = True
    may_fail = False

    def type(store, rows, like, *, rank: int = 0):
        if rows != like:
            raise ValueError(f"{rows} is not like {like}")
        return array_type(INTP, rows.shape[:rank])

    def numpy(store, rows, like, *, rank):
        shape = rows.shape[:rank]
        return store.of(rows.reshape(math.prod(shape), *rows.shape[rank:])).reshape(shape)[()]

    def batch(b: Batch, store, rows, like, *, rank):
        return table_of(store, *repeated_lists(b, rows, like), rank=rank + 1)

    lanes = absent("a list that is stacked has no native form")

    def jvp(d, tangents, results, store, rows, like, *, rank):
        if tangents[1] is None:
            return None
        return d.emit(table_of, tangents_of(d, store), tangents[1], like, rank=rank)

    def transposed(d, ct, store, rows, like, *, rank):
        return None, d.emit(table_rows, store, ct, like), None

    samples = absent(_NO_SAMPLES)


#: Operations on a store and tables in it.
TABLES = (
    table_get, table_add, table_put, table_sum, table_total, table_repeat, table_rows, table_of,
)  # fmt: skip
