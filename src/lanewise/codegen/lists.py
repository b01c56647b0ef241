"""Memory that grows while a kernel runs: lists, and arrays of which no bound is known.

In general a list may go on in several ways (`lanewise.ops.lists`). In a kernel each goes on in one:
then a list is its length, and all the lists of an arena lie in one piece of memory, element after
element, a place for each lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.codegen.addresses import linear
from lanewise.codegen.arrays import Array, Stored
from lanewise.codegen.builder import Builder
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.numbers import choose, convert, vecs
from lanewise.codegen.storage import Heap
from lanewise.codegen.uniformity import is_small
from lanewise.codegen.vector import Vec, select
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.control import BRANCHES, LOOPS
from lanewise.ops.lists import INTP, list_arena
from lanewise.ops.tables import list_tangents
from lanewise.passes.apart import NotSeparatedError, separated


class Arena(Array):
    """The memory of the lists that began as one.

    With `is_checked` numbers are looked at before they are used as lists and places.
    """

    __slots__ = ("_heap", "_is_checked", "_k", "_tangents", "_wide", "element")

    varies = False

    def __init__(self, k: Builder, is_checked: bool) -> None:
        self._is_checked = is_checked
        self.dtype, self.shape = np.dtype(object), ()
        self._k, self._wide = k, k.in_lanes
        #: The dtype and shape of an element, once there was one.
        self.element: tuple[np.dtype, tuple[int, ...]] | None = None
        self._heap: Heap | None = None
        self._tangents: dict[int, Arena] = {}

    def tangents(self, order: int) -> Arena:
        """Return the memory of the tables of tangents of one order."""
        return self._tangents.setdefault(order, Arena(self._k, self._is_checked))

    def whole(self, dtype: np.dtype, shape: Sequence[int]) -> Stored:
        """Return all elements as one array, as they lie now."""
        k = self._k
        if self._heap is None:
            self.element = dtype, tuple(shape)
            self._heap = Heap(k.storage, dtype, self._wide)
        if self.element != (dtype, tuple(shape)):
            raise CannotCompile("elements of a list differ in dtype or shape")
        return Stored(k.loops, dtype, (1 << 62, *shape), self._heap.buffer())

    def _check(self, size: Vec, place: Vec | None = None) -> None:
        """Fail where a number cannot be a list of this arena's, or a place in one."""
        if self._is_checked:
            k, e = self._k, self._k.e
            where = None if self._heap is None else self._heap.capacity
            capacity = e.uniform("i64", e.write(f"load i64, ptr {where}") if where else "0")
            k.fail((size < 0) | (size > capacity))
            if place is not None:
                k.fail(place < 0)

    def _reserved(self, size: Vec, dtype: np.dtype, shape: Sequence[int]) -> Stored:
        """Return all elements, with room for so many in the lanes that are active."""
        self.whole(dtype, shape)
        assert self._heap is not None
        self._heap.reserve(size, shape)
        return self.whole(dtype, shape)

    # --- lists --------------------------------------------------------------------------------

    def append(self, lists: Array, value: Array) -> Array:
        """Return lists with a value appended."""
        k, value = self._k, self._k.ready(value)
        (size,) = vecs(lists.at())
        self._check(size)
        whole = self._reserved(size + 1, value.dtype, value.shape)
        k.loops.each(value.shape, lambda *i: whole.put((size, *i), value.at(*i), k.mask))
        return k.scalar(size + 1)

    def item(self, lists: Array, index: Array, dtype: np.dtype, shape: Sequence[int]) -> Array:
        """Return the elements of lists at an index, which is checked."""
        k = self._k
        (size,), (place,) = vecs(lists.at()), vecs(convert(index.at(), INTP))
        self._check(size)
        place = select(place < 0, place + size, place)
        k.fail((place < 0) | (place >= size))
        whole = self.whole(dtype, shape)
        found = k.lazy(dtype, tuple(shape), lambda *i: whole.at(place, *i))
        return k.ready(found)  # now, as the memory may move

    def cut(self, lists: Array, size: Array) -> Array:
        """Return the first elements of lists."""
        (length,), (kept,) = vecs(lists.at()), vecs(convert(size.at(), INTP))
        self._check(length, kept)
        self._check(kept)
        return self._k.scalar(kept)

    def begun_with(self, values: Array) -> Array:
        """Return lists of the elements of an array, in the place of all others."""
        k, values = self._k, self._k.ready(values)
        size = k.index(values.shape[0])
        whole = self._reserved(size, values.dtype, values.shape[1:])
        k.loops.each(values.shape, lambda *i: whole.put(i, values.at(*i), k.mask))
        return k.scalar(size)

    def copied(self, lists: Array, other: Arena, dtype: np.dtype, shape: Sequence[int]) -> Array:
        """Return lists of the elements of those of another arena, in the place of all others."""
        k = self._k
        (size,) = vecs(lists.at())
        other._check(size)
        whole, source = self._reserved(size, dtype, shape), other.whole(dtype, shape)
        every: tuple[Any, ...] = (k.storage.counted(size), *shape)
        k.loops.each(every, lambda *i: whole.put(i, source.at(*i), k.mask))
        return k.scalar(size)

    def items(self, lists: Array, dtype: np.dtype, shape: Sequence[Any]) -> Array:
        """Return the elements of lists as an array: a copy, as the memory may change and move."""
        k = self._k
        (size,) = vecs(lists.at())
        self._check(size)
        self._check(size - k.index(shape[0]))
        return k.storage.materialized(k.lazy(dtype, tuple(shape), self.whole(dtype, shape[1:]).at))

    def changed(self, lists: Array, place: Array, value: Array, adding: bool) -> Array:
        """Return lists with a value added at a place, or put there; in front of it, zeros come."""
        k, e, value = self._k, self._k.e, self._k.ready(value)
        (size,), (place_,) = vecs(lists.at()), vecs(convert(place.at(), INTP))
        self._check(size, place_)
        zero = k.constant(value.dtype, 0)
        length = e.slot("i64", size.varying or place_.varying, size)

        def is_short() -> Vec:
            short = length.get() <= place_
            return k.loops.both(short) if short.varying else short

        def extend() -> None:
            short, known = is_short(), length.get()
            with k.loops.masked(short if short.varying else k.mask):
                into = self._reserved(known + 1, value.dtype, value.shape)
                k.loops.each(value.shape, lambda *i: into.put((known, *i), zero, k.mask))
            length.set(select(short, known + 1, known) if short.varying else known + 1)

        e.repeat(is_short, extend)
        into = self.whole(value.dtype, value.shape)

        def change(*i: Any) -> None:
            new = value.at(*i)
            if adding:
                new = k.ufunc(np.add, into.at(place_, *i), new)
            into.put((place_, *i), new, k.mask)

        k.loops.each(value.shape, change)
        return k.scalar(length.get())

    # --- tables, which are their lengths, too -------------------------------------------------

    def table_item(
        self, tables: Array, place: Array, dtype: np.dtype, shape: Sequence[int]
    ) -> Array:
        """Return the elements of tables at a place; zero behind their length."""
        k, e, shape = self._k, self._k.e, tuple(shape)
        (size,), (place_,) = vecs(tables.at()), vecs(convert(place.at(), INTP))
        self._check(size, place_)
        whole = self.whole(dtype, shape)
        inside = place_ < size
        there = k.loops.both(inside) if inside.varying else inside
        mask = there if inside.varying else k.mask
        zero = k.constant(dtype, 0)
        if is_small(shape):
            found = [k.loops.variable(dtype, first=zero) for _ in np.ndindex(*shape)]
            with e.when(e.any(there)), k.loops.masked(mask):
                for one, i in zip(found, np.ndindex(*shape), strict=True):
                    new = whole.at(place_, *i)
                    one.set(choose(inside, new, zero) if inside.varying else new)
            return k.elements(dtype, shape, [one.get() for one in found])
        result = k.storage.local(dtype, shape)
        k.loops.each(shape, lambda *i: k.storage.write(result, linear(i, result.strides), zero))
        with e.when(e.any(there)), k.loops.masked(mask):
            k.loops.each(shape, lambda *i: result.put(i, whole.at(place_, *i), k.mask))
        return result


def release(k: Builder) -> None:
    """Write what gives back all memory of lists, where the kernel ends."""
    for name in k.storage.arenas:
        k.e.external("void", "free", ("ptr", k.e.write(f"load ptr, ptr {name}")))


def each_in_one_way(graph: Graph) -> Graph:
    """Return the graph with lists copied so that each goes on in one way, and none is used when it
    was changed; raise `CannotCompile` if that is not possible.
    """
    if not any(op.primitive is list_arena for op in graph.walk()):
        return graph
    try:
        _advanced(graph)
    except CannotCompile:
        try:
            return separated(graph)
        except NotSeparatedError:
            pass
        raise
    return graph


class _Advance(NamedTuple):
    """That a list goes on: of which store, which list, and whether it changes.

    A store is a value and the orders of tangents that are asked of it. The list is None for one
    that begins here, in a store that is from outside.
    """

    base: Value
    orders: tuple[int, ...]
    whole: Value | None
    changes: bool


def _advanced(graph: Graph) -> list[_Advance]:
    """Return the lists of stores from outside that go on in a graph."""
    stores: dict[Value, tuple[Value, tuple[int, ...]]] = {}
    constants = {v for op in graph.operations if not op.operands for v in op.results}
    #: Of each store, the list that the others come of, those that may go on, whether they change.
    roots: dict[tuple[Value, tuple[int, ...]], Any] = {}
    latest: dict[tuple[Value, tuple[int, ...]], set[Value]] = {}
    changing: set[tuple[Value, tuple[int, ...]]] = set()
    gone: set[Value] = set()
    for op in graph.operations:
        if not gone.isdisjoint(op.operands):
            raise CannotCompile("a table is used after it was changed")
        for one in _advances(op, stores):
            store = one.base, one.orders
            begun = None if one.whole in constants else one.whole
            known = latest.setdefault(store, set())
            if begun in known:
                known.remove(begun)
            elif store in roots:
                raise CannotCompile("a list goes on in more than one way")
            else:
                roots[store] = begun
            if one.changes:
                changing.add(store)
                if begun is not None:
                    gone.add(begun)
            known.update(op.results)
        if op.primitive is list_tangents:
            base, orders = stores.get(op.operands[0], (op.operands[0], ()))
            stores[op.results[0]] = base, (*orders, op.params["order"])
    if not gone.isdisjoint(graph.outputs):
        raise CannotCompile("a table is used after it was changed")
    inputs = set(graph.inputs)
    return [
        _Advance(*store, whole if whole in inputs else None, store in changing)
        for store, whole in roots.items()
        if store[0] in inputs
    ]


def _advances(op: Operation, stores: dict[Value, Any]) -> list[_Advance]:
    """Return the lists that go on in an operation, as its own operands."""
    if op.primitive.continues:
        store = stores.get(op.operands[0], (op.operands[0], ()))
        whole = op.operands[1] if not op.operands[1].type.shape else None  # elements of a new one
        return [_Advance(*store, whole, op.primitive.overwrites)]
    shift = 1 if op.primitive in BRANCHES else 0
    #: Of branches each example takes one, in which a list goes on: as it is, or changed.
    found: dict[tuple[Value, tuple[int, ...], Value | None], bool] = {}
    for region in op.regions:
        places = {value: n for n, value in enumerate(region.inputs)}
        for one in _advanced(region):
            given = op.operands[places[one.base] + shift]
            base, orders = stores.get(given, (given, ()))
            whole = None if one.whole is None else op.operands[places[one.whole] + shift]
            # In a loop it must be the carry, or each turn would begin with the same list.
            is_carry = one.whole is not None and places[one.whole] >= op.params.get("captures", 0)
            if op.primitive in LOOPS and not is_carry:
                raise CannotCompile("each turn of a loop appends to the same list")
            key = base, (*orders, *one.orders), whole
            found[key] = found.get(key, False) or one.changes
    return [_Advance(*key, changes) for key, changes in found.items()]
