"""Python lists, tuples and dicts read and written at an index that is data.

Numbers and arrays that are alike are put side by side and gathered from. A list of lists gives a
`Picked`: the list that the index chose, which reads and writes whichever it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial, partialmethod
from typing import Any, NoReturn

import numpy as np

from lanewise.autograph.aliases import (
    MAY_BE_ANOTHER,
    Shared,
    as_left,
    one_of,
    settle,
    watch,
)
from lanewise.autograph.describe import STANDING
from lanewise.autograph.optional import apart_from_none, may_be_none, optional
from lanewise.autograph.state import (
    DONT_CARE,
    Kind,
    bare,
    is_optional,
    is_same,
    join_kinds,
    kind_among,
    kind_of,
    value_of,
)
from lanewise.autograph.values import (
    choose,
    compare,
    ensure,
    negated,
    rebuilt,
    require,
    stand_in,
    traced,
)
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import ON_CONTENTS, Chosen, concerns, holds, is_nested
from lanewise.trace.lending import lend_like
from lanewise.trace.mixed import Class, as_integer, code_among, note_mixed
from lanewise.trace.packed import Packed, packed, packing
from lanewise.trace.regions import Region, born, note_container, note_twins, twins
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, read, weak
from lanewise.trace.trace import Trace, require_trace, state
from lanewise.trace.variants import ON_VARIANTS, TAG, Variant, can_be_one, tag_of

_OUTSIDE = "list index out of range"
#: Lists of more elements that are written to at data become arrays: one is written then, where
#: else each element is chosen anew.
FEW = 8
_ITEMS = ("in one place", "in another")


def refuse(what: str, why: str) -> NoReturn:
    """Raise `UnsupportedError` for what cannot be indexed by data."""
    raise UnsupportedError(f"{what} is indexed by a traced value{at(here())}, {why}")


def list_index(index: Any, what: str = "list") -> Tensor:
    """Return an index as a list takes it, or raise the `TypeError` that the list raises."""
    problem = f"{what} indices must be integers or slices, not float"
    tensor = as_integer(traced(index), TypeError(problem))
    assert tensor is not None
    if tensor.ndim or (tensor.dtype.kind not in "iu" and tensor._weak is not bool):
        [0, 1][stand_in(index)]  # raises
        raise TypeError(f"{what} indices must be integers or slices")
    return weak(tensor, int) if tensor.dtype.kind == "b" else tensor


class Table:
    """Items side by side, to be picked by an index that is data."""

    __slots__ = (
        "_array", "_classes", "_codes", "_flags", "_items", "_kind", "_packed", "_parts", "_step",
        "_weak",
    )  # fmt: skip

    def __init__(self, items: Sequence[Any], what: str = "a list") -> None:
        first = items[0]
        self._array: Any = None
        #: The first of arrays of which the data say how long they are; the parts say all of them.
        self._packed: Packed | None = None
        self._parts: list[Table] | None = None
        self._weak: Any = None
        #: By how much each is more than the one before it, of Python's integers if that is so.
        self._step: int | None = None
        #: Of what kind each is, if they are data or one of several objects.
        self._kind: Kind | None = None
        #: Which of the items are not None, if some may be.
        self._flags: Any = None
        #: The classes of the items and which each has, if they differ (`lanewise.trace.mixed`).
        self._classes: tuple[Class, ...] | None = None
        self._codes: Any = None
        if set(map(type, items)) == {int}:
            self._items = items
            self._step = _step_of(items)
            if self._step is None:
                self._kind = Kind(np.dtype(int), (), int)
                self._array, self._weak = plain_table(items, self._kind.dtype), int
            return
        self._items = items = [settle(item) for item in items]
        kinds = [kind_of(_held(x)) for x in items]
        if None in kinds and not all([is_same(x, first) for x in items[1:]]):
            kinds = [kind_among(x) if type(x) is Variant or can_be_one(x) else None for x in items]
        if may_be_none(items):
            flags, values = zip(*map(apart_from_none, items), strict=True)
            some = next(value for value in values if value is not DONT_CARE)
            held = [some if x is DONT_CARE else bare(x) if is_optional(x) else x for x in values]
            self._flags, self._parts = Table(flags, what), [Table(held, what)]
        elif None not in kinds:
            self._stack(items, kinds)  # type: ignore[arg-type]
        elif all([is_same(x, first) for x in items]):
            return
        elif all(isinstance(x, tuple) and type(x) is type(first) for x in items):
            if len({len(x) for x in items}) > 1:
                refuse(what, "but its tuples have different lengths: fill them up")
            self._parts = [Table(column, what) for column in zip(*items, strict=True)]
        elif not all(type(x) is list for x in items):
            names = sorted({type(x).__name__ for x in items})
            refuse(
                what,
                f"but holds {' and '.join(names)}. Only numbers, arrays of one shape, and tuples "
                "and lists of these can be picked by data; else choose by if and elif",
            )

    def _stack(self, items: Sequence[Any], kinds: list[Kind]) -> None:
        if len({kind.shape for kind in kinds}) > 1 and self._pack(items):
            return
        kind = kinds[0]
        for each in kinds[1:]:
            if each != kind:
                kind = join_kinds("a list indexed by a traced value", kind, each, _ITEMS)
        self._kind, self._weak, self._classes = kind, kind.weak, kind.mixed
        if kind.mixed is not None:
            codes = [code_among(x, kind.mixed) for x in map(_held, items)]
            trace = require_trace("a list")
            self._codes = np.stack([Tensor(trace, code) for code in codes])
        if kind.is_tag and not any([type(x) is Variant for x in items]):
            self._array = plain_table(list(map(tag_of, items)), TAG)
            return
        if kind.weak is not None and all(type(x) in WEAK_DTYPES for x in items):
            self._array = plain_table(items, kind.dtype)
            return
        trace = require_trace("a list")
        self._array = np.stack([Tensor(trace, value_of(x, kind)) for x in map(_held, items)])

    def _pack(self, items: Sequence[Any]) -> bool:
        """Put arrays side by side of which the data say how long they are; whether that can be."""
        traces = [require_trace("a list")] * len(items)
        found = packing(items, traces, only_data=True)
        if not found or any([most is None for axes in found.values() for most in axes.values()]):
            return False
        rows = [packed(item, found, trace) for item, trace in zip(items, traces, strict=True)]
        self._parts = [Table(x) for x in zip(*[row.state_leaves() for row in rows], strict=True)]
        self._packed = rows[0]
        return True

    @property
    def column(self) -> Any:
        """The items as an array, if they are numbers or arrays."""
        if self._flags is not None:
            if any([item is None for item in self._items]):
                raise TypeError(f"None is used where a number is needed{at(here())}")
            return np.stack([as_tensor(item) for item in self._items])
        return self._array if self._step is None else np.array(self._items)

    def at(self, index: Any, is_place: bool = False) -> Any:
        """Return the item at an index that is data; `IndexError` at run time if there is none.

        Where it `is_place`, there surely is one.
        """
        if self._step:
            place = index if is_place else in_range(index, len(self._items), _OUTSIDE)
            return self._items[0] + weak(as_tensor(place), int) * self._step
        if self._array is not None:
            found = as_tensor(self._array)[index]
            if found.shape:  # it is written to, or one of them is
                found = one_of(found, self._items, index, "an element of a list")
            return self._with_class(found, index)
        if self._flags is not None and self._parts is not None:
            return optional(self._parts[0].at(index), self._flags.at(index))
        if self._packed is not None and self._parts is not None:
            held = self._packed.from_leaves([part.at(index, is_place) for part in self._parts])
            found = Tensor(require_trace("a list"), read(held))
            arrays = [item for item in self._items if type(item) is Tensor]
            watch(found, Shared("an element of a list", arrays, must_not=MAY_BE_ANOTHER))
            return found
        if self._parts is not None:
            return rebuilt(self._items[0], [part.at(index, is_place) for part in self._parts])
        if type(self._items[0]) is list:
            return Picked(self._items, in_range(index, len(self._items), _OUTSIDE))
        if not is_place:
            _require_range(index, len(self._items), _OUTSIDE)
        return self._items[0]

    def reordered(self, order: Tensor) -> list[Any]:
        """Return all items in another order, given as a tensor of their positions."""
        if self._array is not None:
            found = as_tensor(self._array)[order]
            if self._items and getattr(self._items[0], "shape", ()):
                places = range(len(self._items))
                return [one_of(found[i], self._items, order[i], "an item") for i in places]
            return [self._with_class(found[i], order[i]) for i in range(len(self._items))]
        return [self.at(order[i]) for i in range(len(self._items))]

    def _with_class(self, found: Tensor, index: Any) -> Any:
        if self._kind is not None and self._kind.is_tag:
            return Variant(found, self._kind.weak)
        result = found if self._weak is None else weak(found, self._weak)
        if self._classes is None:
            return result
        return note_mixed(result, self._classes, self._codes[index])


def _step_of(items: Sequence[int]) -> int | None:
    """Return by how much each is more than the one before it, if that is so."""
    first, last, size = items[0], items[-1], len(items)
    step = items[1] - first if size > 1 else 0
    if max(abs(first), abs(last)) >= 1 << 63 or last != first + step * (size - 1):
        return None
    progression = range(first, last + step, step) if step else [first] * size
    return step if list(items) == list(progression) else None


def _held(x: Any) -> Any:
    tensor = traced(x)
    return x if tensor is None else tensor


def plain_table(items: Sequence[Any], dtype: np.dtype) -> np.ndarray:
    """Return Python numbers as an array: the same array for the same numbers."""
    try:
        array = np.array(items, dtype)
    except OverflowError:
        raise OverflowError(
            f"a list indexed by a traced value holds an int of more than 64 bits{at(here())}"
        ) from None
    return _interned(array.tobytes(), dtype, array.shape)


@lru_cache(maxsize=256)
def _interned(data: bytes, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(data, dtype).reshape(shape)


def pick(items: Sequence[Any], index: Any) -> Any:
    """Return ``items[index]`` of a list, tuple or text at an index that is data."""
    kind = {str: "string", bytes: "byte"}.get(type(items), type(items).__name__)
    what = f"a {kind}"
    index = list_index(index, kind)
    if not items:
        raise IndexError(f"{kind} index out of range")
    return _of_owner(Table(items, what).at(index), items)


def _of_owner(found: Any, owner: Any) -> Any:
    """Return what is read of a list or dict: of lists whose lengths are data, one of these."""
    if type(found) is not Picked:
        return found
    found.owner = owner
    row = found.row() if found.is_holding else None
    return found if row is None else row


def look_up(mapping: Mapping[Any, Any], key: Any) -> Any:
    """Return ``mapping[key]`` for a key that is data, or raise `KeyError` at run time."""
    if not mapping:
        raise KeyError(key)
    value, found = _entry(mapping, key)
    require(found, KeyError("there is no entry for this number"))
    return _of_owner(value, mapping)


def look_up_or(mapping: Mapping[Any, Any], key: Any, default: Any = None) -> Any:
    """Return ``mapping.get(key, default)`` for a key that is data."""
    if type(key) is Variant:
        return ON_VARIANTS["get"](key, mapping, default)
    if not mapping:
        return default
    value, found = _entry(mapping, key)
    if default is None and kind_of(value) is not None:
        return optional(value, found)
    return choose(found, value, default, "an entry of a dict")


def _entry(mapping: Mapping[Any, Any], key: Any) -> tuple[Any, Tensor]:
    """Return the entry of a number, or any where there is none, and whether there is one."""
    tensor = traced(key)
    if is_optional(tensor) and None in mapping:
        flag, held = apart_from_none(tensor)
        others = {own: entry for own, entry in mapping.items() if own is not None}
        value, found = _entry(others, bare(held))
        return choose(flag, value, mapping[None], "a dict"), np.logical_or(found, negated(flag))
    keys = [own for own in mapping if type(own) in WEAK_DTYPES or isinstance(own, np.number)]
    if tensor is None or tensor.ndim or not keys:
        refuse("a dict", "but has no numbers among its keys. Use if and elif")
    same = as_tensor(np.array(keys)) == tensor
    entry = Table([mapping[own] for own in keys], "a dict").at(np.argmax(same))
    return entry, np.any(same)


def put_entry(mapping: dict[Any, Any], key: Variant, value: Any) -> None:
    """Carry out ``mapping[key] = value`` for a key that data choose, of which all have entries."""
    note_container(mapping)
    for tag, own in key._lw_among.by_tag.items():
        is_it = weak(np.equal(key._lw_tag, tag), bool)
        mapping[own] = one_or_other(is_it, value, mapping[own], "an entry of a dict")


def in_range(index: Any, length: Any, message: str) -> Any:
    """Return an index counted from the front; `IndexError` at run time where it has no element."""
    inside = np.logical_and(index >= -length, index < length)
    index = ensure(index, inside, IndexError(message))
    return choose(index < 0, index + length, index)


def _require_range(index: Any, length: int, message: str) -> None:
    require(np.logical_and(index >= -length, index < length), IndexError(message))


def put(items: list[Any], index: Any, value: Any) -> None:
    """Carry out ``items[index] = value`` of a list at an index that is data."""
    index = list_index(index)
    if not items:
        raise IndexError("list assignment index out of range")
    if type(value) is list and ON_CONTENTS["nest"](items, value):
        ON_CONTENTS["setitem"](items, index, value)
        return
    if len(items) > FEW and ON_CONTENTS["side_by_side"](items):
        ON_CONTENTS["setitem"](items, index, value)
        return
    message = "list assignment index out of range"
    _require_range(index, len(items), message)
    index = in_range(index, len(items), message)
    new = [
        one_or_other(index == i, value, old, "an element of a list") for i, old in enumerate(items)
    ]
    note_container(items)
    items[:] = new


def one_or_other(is_new: Any, new: Any, old: Any, name: str) -> Any:
    """Return one of two values, of which either may be None."""
    if not may_be_none([new, old]):
        return choose(is_new, new, old, name)
    flags, values = zip(apart_from_none(new), apart_from_none(old), strict=True)
    held = [bare(x) if is_optional(x) else x for x in values if x is not DONT_CARE]
    if not held:
        return None
    value = held[0] if len(held) == 1 else choose(is_new, *held, name)
    return optional(value, choose(is_new, *flags))


class OneOf(Sequence, Chosen):
    """One of several lists, as the data choose: what is read and written is it."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> list[Any]:
        """Return a list of the elements as they are now."""
        raise NotImplementedError

    def _compared(self, symbol: str, other: Any) -> Any:
        return compare(symbol, self, other)

    __eq__ = partialmethod(_compared, "==")  # type: ignore[assignment]
    __ne__ = partialmethod(_compared, "!=")  # type: ignore[assignment]
    __lt__, __le__ = partialmethod(_compared, "<"), partialmethod(_compared, "<=")
    __gt__, __ge__ = partialmethod(_compared, ">"), partialmethod(_compared, ">=")

    def index(self, *args: Any) -> Any:
        return ON_CONTENTS["looked_at"](self.copy(), "index", *args)

    def count(self, value: Any) -> Any:
        return ON_CONTENTS["looked_at"](self.copy(), "count", value)

    def __add__(self, other: Any) -> list[Any]:
        return born(self.copy() + list(other))

    def __radd__(self, other: Any) -> list[Any]:
        return born(list(other) + self.copy())

    def __mul__(self, count: int) -> list[Any]:
        return born(self.copy() * count)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        return partial(ON_CONTENTS["method"], self, name)


class Picked(OneOf):
    """The one of several lists that an index picked, which is data: what is read and written is it.

    Where the lists differ in length, it is one whose length is data.
    """

    __slots__ = ("_lists", "owner", "place")

    def __init__(self, lists: Sequence[list[Any]], index: Any) -> None:
        self._lists = lists
        self.place = index
        #: The list or dict that it was read of.
        self.owner: Any = None
        state.has_contents = True

    @property
    def is_holding(self) -> bool:
        """Whether the data say how many elements there are."""
        return len({len(x) for x in self._lists}) > 1 or any(map(holds, self._lists))

    @property
    def lists(self) -> Sequence[list[Any]]:
        """What it may be."""
        return self._lists

    @property
    def nests(self) -> bool:
        """Whether it is a list of lists that lie on a heap."""
        return any(map(is_nested, self._lists))

    def row(self) -> Any:
        """Return it as one of a list of lists whose lengths are data; None if it cannot be."""
        is_there = self.owner is not None and ON_CONTENTS["nest"](self.owner, [])
        return ON_CONTENTS["one_of"](self._lists, self.place) if is_there else None

    def __len__(self) -> int:
        if self.is_holding or self.nests:
            refuse("a list of lists", "and the length of the one that it picks is needed")
        return len(self._lists[0])

    def __getitem__(self, key: Any) -> Any:
        if self.is_holding or self.nests:
            return ON_CONTENTS["getitem"](self, key)
        if isinstance(key, slice):
            return born([self[i] for i in range(*key.indices(len(self)))])
        if traced(key) is None:
            return pick([x[key] for x in self._lists], self.place)
        size = len(self)
        key = in_range(list_index(key), size, "list index out of range")
        return Table([x[i] for x in self._lists for i in range(size)]).at(self.place * size + key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_holding:
            ON_CONTENTS["setitem"](self, key, value)
            return
        is_table = len(self._lists) * len(self) > FEW and not isinstance(value, (list, OneOf))
        if is_table or isinstance(key, slice):
            row = ON_CONTENTS["in_table"](self.owner, self._lists, self.place)
            if row is not None:
                row[key] = value
                return
        if isinstance(key, slice):
            values, places = list(value), range(len(self))[key]
            if len(values) != len(places):
                refuse("a list of lists", "and a slice of another length is assigned to")
            for place, each in zip(places, values, strict=True):
                self[place] = each
            return
        if traced(key) is not None:
            key = in_range(list_index(key), len(self), "list assignment index out of range")
        else:
            key = range(len(self))[key]
        rows = list(self._lists)
        for i, row in enumerate(rows):
            if any(row is other for other in rows[:i]):
                continue  # one list in several places
            places = [j for j, other in enumerate(rows) if other is row]
            chosen = self.place == places[0]
            for j in places[1:]:
                chosen = np.logical_or(chosen, self.place == j)
            old = pick(row, key) if isinstance(key, Tensor) else row[key]
            new = one_or_other(chosen, value, old, "an element of a list")
            if isinstance(key, Tensor):
                put(row, key, new)
            else:
                note_container(row)
                row[key] = new

    def __iter__(self) -> Iterator[Any]:
        if self.is_holding:
            return iter(self.copy())
        return map(self.__getitem__, range(len(self)))

    def copy(self) -> list[Any]:
        """Return a list of the elements as they are now."""
        return ON_CONTENTS["copied"](self) if self.is_holding else born(list(self))

    def __repr__(self) -> str:
        return repr(list(self))


STANDING[Picked] = "a list that the data choose"


def as_lists(x: Any, name: str = "", region: Trace | None = None) -> Any:
    """Return a tree with lists in place of those that the data choose, where lengths are known.

    They hold what these hold now, or held at the end of a region: for whoever changes neither,
    unless what to call them is given. Then each is another one that may be any of those.
    """
    leaves, structure = tree.flatten(x, concerns)
    if Picked not in map(type, leaves):
        return x
    found, standing = [], []
    for leaf in leaves:
        if type(leaf) is not Picked or leaf.is_holding:
            found.append(leaf)
            continue
        lists = leaf.lists
        if isinstance(region, Region) and region.left:
            lists = [as_left(own, region, region.left, (), {}) for own in lists]
        found.append(as_lists(Picked(lists, leaf.place).copy(), name, region))
        standing.append((found[-1], [twin for own in leaf.lists for twin in (own, *twins(own))]))
    # What they may be was known before: those made here are no twins of each other for that.
    for each, others in standing if name else ():
        for other in others:
            note_twins(each, other, name)
        lend_like([each], others)
    made = tree.unflatten(structure, found)
    for container in tree.containers(made):
        born(container)
    return made


__all__ = ["OneOf", "Picked", "Table", "as_lists", "in_range", "pick", "plain_table", "put"]
