"""Lists that grow while the graph runs, each example's to its own length.

All lists that began as one live in an `Arena`. A list is a number: its last entry. An entry knows
the one before it, and never changes, so a list may go on in several ways (in branches, in examples
that are copied) and nothing is moved when examples are gathered or scattered: their lists are but
integers. What was appended for a whole batch is written at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, Shape
from lanewise.ir.types import array_type
from lanewise.ops.derivatives import flat
from lanewise.ops.facts import Held, Kind
from lanewise.ops.movement import repeat_unmapped
from lanewise.ops.registry import Batch, absent, op
from lanewise.ops.tables import (
    INTP,
    Store,
    Tables,
    check_lists,
    flattened,
    for_each_list,
    like_lists,
    longer,
    of_lists,
    table_get,
    table_of,
    table_put,
    table_rows,
    tangents_of,
)

#: How the names of arenas begin whose lists nobody vouches for, as in a graph that was read from a
#: file: kernels, in which a list is but a length, look whether it can be one before they use it.
UNTRUSTED = "untrusted "
#: So many entries are rather gone through one by one than all ancestors looked up at once.
_FEW = 16


class Arena(Store):
    """Entries of lists: entry 0 is no entry, the list without elements.

    Beside the entry before it, an entry knows one far before it, so that any entry of a list is
    found in logarithmic time (a skew-binary list).
    """

    __slots__ = ("before", "count", "depth", "far", "tangents", "values")

    def __init__(self) -> None:
        self.count = 1
        self.before = np.zeros(16, INTP)
        self.far = np.zeros(16, INTP)
        #: The length of the list that ends with the entry.
        self.depth = np.zeros(16, INTP)
        self.values: np.ndarray | None = None
        self.tangents: dict[int, Tables] = {}

    def fork(self) -> Arena:
        """Return an arena with the same lists, which go on apart from those here."""
        other = Arena()
        other.count, other.values = self.count, None if self.values is None else self.values.copy()
        other.before, other.far = self.before.copy(), self.far.copy()
        other.depth = self.depth.copy()
        return other

    def append(self, lists: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the lists with one element more each."""
        first, last = self.count, self.count + len(lists)
        stored = self._reserve(last, values)
        far, depth = self.far[lists], self.depth[lists]
        further = self.far[far]
        # Two jumps of one length become one jump, as in adding one to a skew-binary number.
        equal = depth - self.depth[far] == self.depth[far] - self.depth[further]
        self.before[first:last] = lists
        self.far[first:last] = np.where(equal, further, lists)
        self.depth[first:last] = depth + 1
        stored[first:last] = values
        self.count = last
        return np.arange(first, last)

    def read(self, lists: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return the element of each list at an index, which counts from the end when negative."""
        size = self.depth[lists]
        place = index + (index < 0) * size
        outside = (place < 0) | (place >= size)
        if outside.any():
            raise _first_out_of_range(index, size, outside)
        assert self.values is not None or not len(lists)
        return self._values_at(self._found(lists, place + 1))

    def write(self, lists: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the lists with one element replaced, or added beyond the end after zeros.

        The elements behind it are appended again.
        """
        size = self.depth[lists]
        place = index + (index < 0) * size
        if (place < 0).any():
            raise _first_out_of_range(index, size, place < 0)
        result = self._found(lists, np.minimum(place, size))
        missing = np.maximum(place - size, 0)
        if missing.any():
            zeros = np.zeros((int(missing.sum()), *values.shape[1:]), values.dtype)
            result = self._extend(result, zeros, missing)
        result = self.append(result, values)
        behind = np.maximum(size - 1 - place, 0)
        if behind.any():
            most = int(behind.max())
            entries = self._entries(lists, most)[np.arange(most) >= most - behind[:, None]]
            result = self._extend(result, self._values_at(entries), behind)
        return result

    def _extend(self, lists: np.ndarray, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the lists with `counts` elements more each, of values list after list."""
        first, last = self.count, self.count + len(values)
        stored = self._reserve(last, values)
        starts = first + np.cumsum(counts) - counts
        rows = np.repeat(np.arange(len(lists)), counts)
        entries = np.arange(first, last)
        size = self.depth[lists][rows]
        depth = size + entries - starts[rows] + 1
        far = _far_depth(int(depth.max()))[depth]
        is_new = far > size
        self.far[first:last] = np.where(is_new, starts[rows] + far - size - 1, 0)
        self.far[entries[~is_new]] = self._found(lists[rows[~is_new]], far[~is_new])
        self.before[first:last] = np.where(depth == size + 1, lists[rows], entries - 1)
        self.depth[first:last] = depth
        stored[first:last] = values
        self.count = last
        return np.where(counts > 0, starts + counts - 1, lists)

    def cut(self, lists: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the lists of the first elements, of each list so many, which it has at least."""
        return self._found(lists, np.maximum(size, 0))

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return a list for each row of elements."""
        count, size = rows.shape[:2]
        values = rows.reshape(count * size, *rows.shape[2:])
        if not len(values):
            return np.zeros(count, INTP)
        return self._extend(np.zeros(count, INTP), values, np.full(count, size))

    def elements(self, last: int) -> np.ndarray:
        """Return the elements of one list."""
        size = int(self.depth[last])
        entries = np.arange(last - size + 1, last + 1)
        if not (self.before[entries[1:]] == entries[:-1]).all():
            for place in range(size - 1, -1, -1):
                entries[place], last = last, int(self.before[last])
        return self._values_at(entries)

    def stack(
        self, lists: np.ndarray, most: int | None = None, least: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the elements of all lists, and which places of the lists' rows they take.

        The rows have `most` places, or as many as the longest list has elements, but one at least.
        """
        sizes = self.depth[lists]
        if most is None:
            most = max(int(sizes.max(initial=0)), 1)
        assert ((least <= sizes) & (sizes <= most)).all(), "a length is not what was worked out"
        places = np.arange(most)
        taken = places < sizes[:, None]
        entries = self._entries(lists, most)[places >= most - sizes[:, None]]
        return self._values_at(entries), taken

    def _entries(self, lists: np.ndarray, count: int) -> np.ndarray:
        """Return the last `count` entries of each list in order; 0 where there are not as many."""
        entries = np.zeros((len(lists), count), INTP)
        if not count:
            return entries
        entries[:, -1] = lists
        if count < _FEW or count * len(lists) * _FEW < self.count:
            for place in range(count - 1, 0, -1):
                entries[:, place - 1] = self.before[entries[:, place]]
            return entries
        known, ancestors = 1, self.before[: self.count]  # those `known` entries before
        while known < count:
            more = min(known, count - known)
            start = count - known - more
            entries[:, start : start + more] = ancestors[entries[:, count - more :]]
            known += more
            if known < count:
                ancestors = ancestors[ancestors]
        return entries

    def _found(self, lists: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Return the entry of each list with which it had a certain length."""
        found = lists.copy()
        while True:
            rows = np.nonzero(self.depth[found] > depth)[0]
            if not rows.size:
                return found
            entries = found[rows]
            far = self.far[entries]
            is_behind = self.depth[far] >= depth[rows]
            found[rows] = np.where(is_behind, far, self.before[entries])

    def _values_at(self, entries: np.ndarray) -> np.ndarray:
        return np.zeros(len(entries)) if self.values is None else self.values[entries]

    def _reserve(self, count: int, like: np.ndarray) -> np.ndarray:
        """Make room for `count` entries of values like these; return the values' array."""
        values, shape = self.values, like.shape[1:]
        if values is None:
            values = np.zeros((len(self.before), *shape), like.dtype)
        dtype = np.result_type(values.dtype, like.dtype)
        size = max(count, 2 * len(self.before)) if count > len(self.before) else len(self.before)
        if size > len(self.before):
            self.before, self.far, self.depth = (
                longer(x, size, INTP) for x in (self.before, self.far, self.depth)
            )
        if size > len(values) or dtype != values.dtype:
            values = longer(values, size, dtype)
        self.values = values
        return values


_far_depths = np.zeros(1, INTP)


def _far_depth(depth: int) -> np.ndarray:
    """Return, for each depth up to one, that of the far entry: it depends on nothing else."""
    global _far_depths
    known = _far_depths
    if len(known) <= depth:
        far = known.tolist()
        for last in range(len(far) - 1, 2 * depth):
            step = far[last]
            far.append(far[step] if last - step == step - far[step] else last)
        known = _far_depths = np.array(far, INTP)
    return known


def out_of_range(index: Any, size: Any) -> IndexError:
    """Return the error for an index that a list of `size` elements does not have."""
    return IndexError(f"index {index} is out of range for a TensorArray of length {size}")


def _first_out_of_range(index: np.ndarray, size: np.ndarray, outside: np.ndarray) -> IndexError:
    first = int(np.argmax(outside))
    return out_of_range(index[first], size[first])


def _counted(d: Any, arena: Any, lists: Any, index: Any) -> Any:
    """Return an index counted from the front."""
    return np.where(index < 0, index + d.emit(list_length, arena, lists), index)


@op
class list_arena:
    """An arena without lists. Another `name` is another arena, though all else is the same."""

    kind, held, conditions = Kind.STORE, Held.NUMBERS, ""
    may_fail = False

    def type(*, name: str):
        return array_type(np.dtype(object), ())

    def numpy(*, name):
        return Arena()

    batch = absent("it has no operand that could be mapped")

    def lanes(k, types, *, name):
        return k.list_arena(name.startswith(UNTRUSTED))

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_append:
    """Lists of an arena with a value appended to each."""

    kind, conditions = Kind.LISTS, ""
    continues = tangent_of_last = True
    may_fail = False

    type = like_lists

    def numpy(arena, lists, value):
        return for_each_list(arena.append, lists, value)

    batch = of_lists

    def lanes(k, types, arena, lists, value):
        return arena.append(lists, value)

    def jvp(d, tangents, results, arena, lists, value):
        known = d.zeros(lists) if tangents[1] is None else tangents[1]
        t = d.zeros(value) if tangents[2] is None else tangents[2]
        place = d.emit(list_length, arena, lists)
        return d.emit(table_put, tangents_of(d, arena), known, place, t)

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_cut:
    """The first elements of lists, `size` of each, which has as many at least."""

    kind, conditions = Kind.LISTS, ""
    continues = overwrites = tangent_of_last = True
    may_fail = False

    type = like_lists

    def numpy(arena, lists, size):
        return for_each_list(arena.cut, lists, size)

    batch = of_lists

    def lanes(k, types, arena, lists, size):
        return arena.cut(lists, size)

    def jvp(d, tangents, results, arena, lists, size):
        return tangents[1]  # what is behind the end of a list is put there before it is read

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_of:
    """A list of the elements along the first axis of an array; for each of `lead` axes in front."""

    kind, conditions = Kind.LISTS, ""
    continues = tangent_of_last = True
    may_fail = repeats = False
    any_size = True

    def type(arena, values, *, lead: int = 0):
        return array_type(INTP, values.shape[:lead])

    def numpy(arena, values, *, lead):
        shape = values.shape[:lead]
        rows = values.reshape(math.prod(shape), *values.shape[lead:])
        return arena.of(rows).reshape(shape)[()]

    def batch(b: Batch, arena, values, *, lead):
        return list_of(arena, *repeat_unmapped(Batch(b.size, b.mapped[1:]), values), lead=lead + 1)

    def lanes(k, types, arena, values, *, lead):
        return arena.begun_with(values)

    def jvp(d, tangents, results, arena, values, *, lead):
        return d.emit(table_of, tangents_of(d, arena), tangents[1], values, rank=lead)

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_copy:
    """A list of an arena with the elements of one of another: what it began with is no list more.

    A kernel has each list go on in one way (`lanewise.passes.apart`).
    """

    kind, conditions = Kind.LISTS, ""
    continues = True
    may_fail = False

    def type(arena, lists, other, *, dtype: np.dtype, shape: Shape):
        check_lists(lists)
        return lists

    def numpy(arena, lists, other, *, dtype, shape):
        found = [arena.of(other.elements(int(last))[None])[0] for last in np.ravel(lists)]
        return np.array(found, INTP).reshape(np.shape(lists))[()]

    batch = absent("it is put in where a kernel is written")

    def lanes(k, types, arena, lists, other, *, dtype, shape):
        return arena.copied(lists, other, dtype, shape)

    jvp = absent("it is put in where a kernel is written")
    samples = absent("an arena is no array; tests/passes/test_apart.py runs it")


@op
class list_array:
    """The elements of one list as an array, of which the shape says how many there are."""

    conditions = ""
    may_fail = False
    any_size = True

    def type(arena, lists, *, dtype: np.dtype, shape: Shape):
        check_lists(lists)
        if lists.shape:
            raise ValueError(f"{lists} are several lists")
        return array_type(dtype, shape)

    def numpy(arena, lists, *, dtype, shape):
        return arena.elements(int(lists)).astype(dtype, copy=False).reshape(shape)

    batch = absent("each example takes an array of its own size out")

    def lanes(k, types, arena, lists, *, dtype, shape):
        return arena.items(lists, dtype, shape)

    def jvp(d, tangents, results, arena, lists, **params):
        return d.emit(table_rows, tangents_of(d, arena), tangents[1], results)

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_length:
    """The numbers of elements of lists."""

    held, conditions = Held.NUMBERS, ""
    may_fail = False

    type = like_lists

    def numpy(arena, lists):
        return arena.depth[lists]

    batch = of_lists

    def lanes(k, types, arena, lists):
        return lists

    jvp = flat
    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_write:
    """Lists of an arena with the element at an index replaced; beyond the end, zeros come first."""

    kind, conditions = Kind.LISTS, ""
    continues = overwrites = tangent_of_last = True

    type = like_lists

    def numpy(arena, lists, index, value):
        return for_each_list(arena.write, lists, index, value)

    batch = of_lists

    def lanes(k, types, arena, lists, index, value):
        return arena.changed(lists, index, value, adding=False)

    def jvp(d, tangents, results, arena, lists, index, value):
        known = d.zeros(lists) if tangents[1] is None else tangents[1]
        t = d.zeros(value) if tangents[3] is None else tangents[3]
        place = _counted(d, arena, lists, index)
        return d.emit(table_put, tangents_of(d, arena), known, place, t)

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_read:
    """The elements of lists at indices; an index out of range raises `IndexError`."""

    conditions = ""

    def type(arena, lists, index, *, dtype: np.dtype, shape: Shape):
        check_lists(lists, index)
        return array_type(dtype, (*lists.shape, *shape))

    def numpy(arena, lists, index, *, dtype, shape):
        values = arena.read(*flattened(lists, index))
        return values.astype(dtype, copy=False).reshape((*np.shape(lists), *shape))[()]

    batch = of_lists

    def lanes(k, types, arena, lists, index, *, dtype, shape):
        return arena.item(lists, index, dtype, shape)

    def jvp(d, tangents, results, arena, lists, index, *, dtype, shape):
        place = _counted(d, arena, lists, index)
        store = tangents_of(d, arena)
        return d.emit(table_get, store, tangents[1], place, dtype=dtype, shape=shape)

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")


@op
class list_stack:
    """The elements of lists, each in the front of a row; zeros fill the rows up.

    No list has fewer elements than `least`. The rows have `most` places, or where that is None as
    many as the longest list has elements, but one at least; this number is the symbolic dimension
    that `size` names.
    """

    conditions = ""

    def type(
        arena, lists, *, dtype: np.dtype, shape: Shape, least: int, most: int | None, size: str
    ):
        check_lists(lists)
        row = Dim.symbol(size) if most is None else most
        return array_type(dtype, (*lists.shape, row, *shape))

    def numpy(arena, lists, *, dtype, shape, least, most, size):
        values, taken = arena.stack(*flattened(lists), most, least)
        result = np.zeros((*taken.shape, *shape), dtype)
        if len(values):
            result[taken] = values
        return result.reshape((*np.shape(lists), *result.shape[1:]))

    batch = of_lists

    lanes = absent("a list that is stacked has no native form")

    def jvp(d, tangents, results, arena, lists, **params):
        return d.emit(table_rows, tangents_of(d, arena), tangents[1], results)

    samples = absent("an arena is no array; tests/ops/test_lists.py runs it")
