"""Hooks for lists that may be arrays: what converted code does for ``path.append(v)``."""

from __future__ import annotations

import bisect
import functools
import math
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import optree

from lanewise.autograph.aliases import settle
from lanewise.autograph.calls import fn
from lanewise.autograph.iterators import taking
from lanewise.autograph.lists.columns import Columns, Element, element_of, present
from lanewise.autograph.lists.grown import (
    WIDE,
    Grown,
    Store,
    as_grown,
    disowned,
    held,
    is_own,
    owned,
    whole,
)
from lanewise.autograph.lists.loops import closed, opened
from lanewise.autograph.optional import asked
from lanewise.autograph.pulled import follows, is_of_data
from lanewise.autograph.sequences import Items, has_data_length
from lanewise.autograph.state import Kind
from lanewise.autograph.subscripts import getitem, setitem
from lanewise.autograph.tables import in_range, list_index
from lanewise.autograph.values import ensure, require, traced
from lanewise.errors import ControlFlowError, UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import LISTS, Chosen, Contents, holds, is_nested
from lanewise.trace.lending import unlend
from lanewise.trace.mixed import CODE, Class, note_mixed, union
from lanewise.trace.regions import born, in_region
from lanewise.trace.scratch import is_around
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, read, weak
from lanewise.trace.trace import require_trace, state
from lanewise.trace.variants import Variant

#: What lists are that are no longer Python's.
TRACED = (Columns, Grown)


def appended(items: Any, value: Any) -> Any:
    """``items.append(value)``; returns the list."""
    if type(items) not in TRACED:
        # Where branches meet, a list that holds arrays made here would be taken for another.
        fn(items.append)(settle(value) if in_region() and is_own(items) else value)
        return items
    return _within(fitting(items, value, "appended").with_last(value))


def _within(items: Any) -> Any:
    """Return a list, of a deque that is too long by an element all but its first."""
    most = items.element.holder.most
    if most is None:
        return items
    over = items.length > most
    return items.without_first(weak(over.astype(int), int) if type(over) is Tensor else int(over))


def appended_left(items: Any, value: Any) -> Any:
    """``items.appendleft(value)``; returns the deque."""
    if type(items) not in TRACED:
        fn(items.appendleft)(value)
        return items
    if items.element.holder.kind is list:
        raise AttributeError("'list' object has no attribute 'appendleft'")
    longer = put_in(fitting(items, value, "appended"), 0, value)
    most = items.element.holder.most
    return longer if most is None else longer.part(slice(most))


def put_in(items: Any, place: Any, value: Any) -> Any:
    """Return a list with one element more, which goes to a place, or to its end."""
    if type(items) is Grown and items.start is None:
        opened(box := held(items), place, value)
        return whole(box)
    size = items.length
    longer = items.as_columns().with_last(value)
    places: Any = fn(np.arange)(longer.length)
    return longer.taken(np.where(places == place, size, places - (places > place)))


def fitting(items: Any, value: Any, done: str) -> Any:
    """Return a list with elements of which a value may be one."""
    element = element_of(settle(value), items.element.classes)
    joined = items.element.joined(element)
    if joined is None or (type(items) is Grown and not joined.has_sizes):
        raise ControlFlowError(
            f"a list that grows where the data steer holds {items.element}, and "
            f"{'something else' if element is None else element} is {done}{at(here())}: its "
            "elements must be numbers or arrays of one shape, or tuples of as many"
        )
    if joined == items.element:
        return items
    if type(items) is Columns:
        return items.as_elements(joined)
    return as_grown(items, Store(joined, items.store.is_queue))  # branches and loops hand that on


def popped(items: Any, *given: Any) -> tuple[Any, Any]:
    """``items.pop(place)``; returns the list, and the element."""
    if type(items) not in TRACED:
        return items, fn(items.pop)(*given)
    if given and items.element.holder.kind is deque:
        raise TypeError(f"deque.pop() takes no arguments ({len(given)} given)")
    return _without_end(items, *given)


def popped_left(items: Any) -> tuple[Any, Any]:
    """``items.popleft()``; returns the deque, and the element."""
    if type(items) not in TRACED:
        return items, fn(items.popleft)()
    if items.element.holder.kind is list:
        raise AttributeError("'list' object has no attribute 'popleft'")
    return _without_end(items, 0)


def _without_end(items: Any, place: Any = -1) -> tuple[Any, Any]:
    if not (_is(place, -1) or _is(place, 0)):
        return taken_out(items, place, "pop index out of range")
    size, one = items.length, 1
    if not items.has_surely:
        # What is left depends on it, so it is seen to though nobody uses the element.
        one = ensure(1, size > 0, IndexError(f"pop from {_NOTHING[items.element.holder.kind]}"))
    value = items.at(one - 1 if place == 0 else size - one)
    return items.without_first(one) if place == 0 else items.without_last(one), value


#: What messages of Python's call a list without elements.
_NOTHING = {list: "empty list", deque: "an empty deque"}


def taken_out(items: Any, key: Any, message: str) -> tuple[Any, Any]:
    """Return a list without one of its elements, and that."""
    place, size = place_in(items, key, message), items.length
    # What is left depends on it, so it is seen to though nobody uses the element.
    is_place = np.logical_and(key >= -size, key < size)
    require(bool(is_place) if traced(is_place) is None else is_place, IndexError(message))
    value = items.at(place)
    if type(items) is Grown and items.start is None:
        closed(box := held(items), place)
        return whole(box), value
    places: Any = fn(np.arange)(items.length - 1)
    return items.as_columns().taken(places + (places >= place)), value


def _is(x: Any, number: int) -> bool:
    return type(x) is int and x == number


def entry_of(items: Any, key: Any) -> Any:
    """``items[key]``."""
    if type(items) not in TRACED:
        return getitem(items, key)
    name = items.element.holder.kind.__name__
    return items.at(place_in(items, key, f"{name} index out of range"))


def place_in(items: Any, key: Any, message: str) -> Any:
    """Return an index into a list counted from the front, which surely is a place."""
    return counted(key, items.length, message)


def counted(key: Any, size: Any, message: str) -> Any:
    """Return an index into so many elements counted from the front; see `place_in`."""
    place = traced(key)
    if place is None:
        place = operator.index(key)
        if type(size) is int and -size <= place < size:
            return place % size
    else:
        place = weak(list_index(key), int)
    return in_range(place, size, message)


def with_entry(items: Any, key: Any, value: Any, before: Any = None) -> Any:
    """``items[key] = value``; returns the list.

    Of ``items[key] += 1``, `before` is what stood there: an array that was written to in place.
    """
    if type(items) in (*LISTS, *TRACED) and type(value) is Tensor and value is before:
        return items
    if type(items) not in TRACED:
        setitem(items, key, value)
        return items
    place = place_in(items, key, "list assignment index out of range")
    return fitting(items, value, "put there").with_one(place, value)


def again(items: Any, method: str) -> Any:
    """``items.clear()`` or ``items.reverse()``; returns the list."""
    if type(items) not in TRACED:
        fn(getattr(items, method))()
        return items
    return (
        owned(born(items.element.holder.made(())))
        if method == "clear"
        else items.part(slice(None, None, -1))
    )


def part(items: Any, *ends: Any) -> Any:
    """``items[start:stop:step]``."""
    if type(items) not in TRACED:
        return getitem(items, slice(*ends))
    if items.element.holder.kind is deque:
        raise TypeError("sequence index must be integer, not 'slice'")
    return items.part(slice(*ends))


def unpacked(items: Any, count: int, last: int | None = None) -> Any:
    """A list of which each element is assigned to a target of its own.

    Of ``a, *b, c = items`` so many are first, and so many last.
    """
    if holds(items):
        items = whole(items)
    if type(items) not in TRACED or type(items.length) is int:
        if not hasattr(type(items), "__next__"):
            return listed(items)
        if not follows(items):
            taking(items)
            return listed(items)
        return unpacked(fn(list)(items), count, last)
    size, least = items.length, count + (last or 0)
    require(size >= least, ValueError(f"not enough values to unpack (expected {least})"))
    if last is None:
        require(size <= count, ValueError(f"too many values to unpack (expected {count})"))
        return [items.at(i) for i in range(count)]
    rest = Contents(items.part(slice(count, size - last)))
    return [
        *[items.at(i) for i in range(count)], rest,
        *[items.at(size - last + i) for i in range(last)],
    ]  # fmt: skip


def matched(value: Any, is_by_class: bool) -> Any:
    """What a ``match`` statement looks into, where patterns have lengths or parts of a class."""
    if is_by_class and any([type(leaf) is Variant for leaf in tree.flatten(value)[0]]):
        raise UnsupportedError(
            f"a match statement asks for parts of a class{at(here())}, while the data decide which "
            "object it is. Write isinstance() and the attributes"
        )
    if state.has_contents and any(map(holds, tree.flatten(value, holds)[0])):
        raise UnsupportedError(
            f"a match statement asks how long a list is whose length is data{at(here())}. Write if "
            "and elif, with len()"
        )
    return value


def plain(items: Any, are_new: bool = False) -> Any:
    """A list where nobody knows what is done with it: one of Python's from there on.

    `are_new` says that nobody else has its elements, which are lists.
    """
    if type(items) in TRACED and type(items.length) is not int:
        return held(items)
    if type(items) not in (*LISTS, *TRACED):
        return items
    found = disowned(listed(items))
    if type(items) in TRACED and are_new:
        unlend(found)
    return found


def listed(items: Any) -> Any:
    """A list where its elements are taken out, as a list of Python's."""
    if type(items) not in TRACED:
        return items
    if type(size := items.length) is not int:
        Contents(items).refuse()
    return born(items.element.holder.made([items.at(i) for i in range(size)]))


def grows(iterable: Any, is_known: bool = True, has_tests: bool = False) -> bool:
    """Whether a comprehension over an iterable becomes a loop that appends.

    Where not all uses of its list are known, it does so if the data may decide how many elements
    there are: by its tests, or as many as there are.
    """
    if state.trace is None or is_known or has_tests:
        return state.trace is not None
    may_follow = is_of_data(iterable) or has_data_length(iterable)
    return may_follow or holds(iterable) or is_nested(iterable)


def kept(items: Any) -> Any:
    """The list of a comprehension, of which all uses are known."""
    return items


def has_any(items: Any) -> Any:
    """``items`` as a condition, to be compared with False: whether there are elements."""
    if type(items) in TRACED:
        return items.length > 0
    found = asked(items)
    return found if type(found) is Tensor else bool(found)


def _one_kind(items: Any, use: str) -> Kind:
    """Return what the elements of a list of numbers are, which are numbers or arrays."""
    element = items.element
    if not optree.treespec_is_leaf(element.structure):
        raise UnsupportedError(
            f"{use} of a list of tuples whose length is data{at(here())}. Keep a list for each of "
            "their numbers"
        )
    return _joining(element.kinds, use)


def _joining(kinds: Sequence[Kind], use: str) -> Kind:
    """Return the first of several kinds; raise where the dtype of all would be data."""
    if any([kind.is_tag for kind in kinds]):
        raise UnsupportedError(
            f"{use} of a list whose length is data, of texts or objects{at(here())}. Append numbers"
        )
    dtypes = {each.dtype for kind in kinds for each in kind.classes}
    if len(dtypes) > 1 and not dtypes <= WIDE and any([kind.mixed for kind in kinds]):
        raise UnsupportedError(
            f"{use} of a list whose length is data, of {' and '.join(map(str, dtypes))}{at(here())}"
            ": what they are together would be data. Append numbers of one dtype, float(x)"
        )
    return kinds[0]


def _classed(
    value: Any, columns: Sequence[Any], kind: Kind, rule: Callable[[Sequence[Class]], Class]
) -> Any:
    """Return a value of the class that a rule gives for the classes that a list's elements have."""
    classes = kind.classes
    has_any = [(columns[1] == i).any() for i in range(len(classes))] if kind.mixed else [
        number_of(columns[0].shape[0]) > 0
    ]  # fmt: skip
    present = sum([has * (1 << i) for i, has in enumerate(has_any)])
    table = [
        rule([each for i, each in enumerate(classes) if bits >> i & 1])
        for bits in range(1 << len(classes))
    ]
    found = union(table)
    dtype = np.result_type(*[each.dtype for each in found])
    result = Tensor(require_trace("a list"), read(as_tensor(value.astype(dtype))))
    weaks = [each.weak for each in found if each.weak is not None]
    if len(weaks) == len(found):
        result = weak(result, max(weaks, key=(bool, int, float, complex).index))
    return note_mixed(result, found, as_tensor(np.array([*map(found.index, table)], CODE))[present])


def _class_of_array(classes: Sequence[Class]) -> Class:
    return Class(np.result_type(*[each.dtype for each in classes] or [float]))


def _class_of_sum(classes: Sequence[Class]) -> Class:
    kinds = [int, *[each.weak for each in classes if each.weak is not None]]
    kind = max(kinds, key=(bool, int, float, complex).index)
    dtypes = [each.dtype for each in classes if each.weak is None]
    return Class(np.result_type(*dtypes, kind(0))) if dtypes else Class(WEAK_DTYPES[kind], kind)


def _refuse(function: Any) -> NoReturn:
    name = getattr(function, "__name__", "a function")
    raise UnsupportedError(
        f"{name}() of a list whose length is data{at(here())}. Give it np.array(items)"
    )


#: Builtins that look at the elements of a list and do not keep it.
_LOOKING = frozenset((
    sorted, tuple, list, set, frozenset, any, all, dict, map, filter, functools.reduce,
    bisect.bisect_left, bisect.bisect_right,
))  # fmt: skip
#: Functions that take an array for a list.
_TAKING_ARRAYS = frozenset((math.fsum, math.prod))
#: Functions of NumPy's for which a list is not what an array of its elements is.
_NOT_ARRAYS = frozenset((np.block,))


def given(function: Any, items: Any, has_dtype: bool = False) -> tuple[Any, Any]:
    """A list as the argument of a function.

    Returns what the variable that holds the list is from there on, and what the function is given.
    """
    if type(items) in LISTS and (function in _LOOKING | _TAKING_ARRAYS or _is_numpy(function)):
        return items, items if type(items) is list else list(items)
    if type(items) not in TRACED:
        return (found := plain(items)), found
    if _is_numpy(function) or function in _TAKING_ARRAYS:
        return items, seen(function, items, has_dtype)
    if function in _LOOKING:
        return items, listed(items) if type(items.length) is int else held(items)
    return (found := plain(items)), found


def seen(function: Any, items: Any, has_dtype: bool) -> Any:
    """What a function that keeps nothing of it is given for a traced list."""
    if _is_numpy(function) or function in _TAKING_ARRAYS:
        return _array(function, items, has_dtype)
    if function not in _LOOKING:
        _refuse(function)
    return listed(items)


def is_seen(function: Any) -> bool:
    """Whether a function looks at a list and keeps nothing of it: it may be given a copy."""
    is_drawing = str(getattr(function, "__module__", "")).startswith("numpy.random")
    if function in _TAKING_ARRAYS or function in _LOOKING:
        return True
    return _is_numpy(function) and not is_drawing  # which may shuffle it


def row_of(function: Any, items: Any) -> Any:
    """A list that is an element of a comprehension, which is a function's argument."""
    if _is_numpy(function):
        return fn(np.array)(given(np.array, items)[1])
    return plain(items)


def as_index(items: Any) -> Any:
    """A list as an index of something else."""
    return _array(np.array, items, True) if type(items) in TRACED else items


def _is_numpy(function: Any) -> bool:
    module = getattr(function, "__module__", None) or type(function).__module__
    return str(module).partition(".")[0] == "numpy" and function not in _NOT_ARRAYS


def _array(function: Any, items: Any, has_dtype: bool) -> Any:
    """Return the array that a function of NumPy's makes of a list; of no elements it has floats."""
    name = f"np.{getattr(function, '__name__', 'array')}()"
    try:
        return _array_of(items, name, has_dtype)
    except UnsupportedError:
        if type(items.length) is not int:
            raise
        return listed(items)


def _array_of(items: Any, use: str, has_dtype: bool) -> Any:
    items = present(items, use)
    columns, kinds = items.columns, items.element.kinds
    dtypes = {each.dtype for kind in kinds for each in kind.classes}
    if _is_row(items.element):
        _joining(kinds, use)
        if any([kind.mixed for kind in kinds]) and len(dtypes) > 1:
            raise UnsupportedError(
                f"{use} of a list of tuples of which the data choose the dtype{at(here())}. Append "
                "numbers of one dtype, float(x)"
            )
        numbers = np.stack([column for column, _ in items.element.apart(columns)], 1)
        kind = kinds[0]
    else:
        kind = _one_kind(items, use)
        numbers = columns[0]
    numbers: Any = numbers
    if not items.element.has_arrays and (has_dtype or dtypes == {np.dtype(float)}):
        return numbers
    if kind.mixed and len(dtypes) > 1:
        return _classed(numbers, columns, kind, _class_of_array)
    if items.has_surely:
        return numbers
    problem = UnsupportedError(
        f"{use} of a list whose length is data, and which is empty{at(here())}: that gives "
        "floats, where others have another dtype. Give the dtype, np.array(items, dtype=int)"
    )
    if items.element.has_arrays:
        problem = UnsupportedError(
            f"{use} of a list of arrays whose length is data, and which is empty{at(here())}: that "
            "has another shape than those of others. Ask for its length first"
        )
    require(items.length > 0, problem)
    return numbers


def _is_row(element: Element) -> bool:
    """Whether elements are tuples of numbers, so that a list of them is a matrix."""
    whole = tree.unflatten(element.structure, list(element.kinds))
    return type(whole) in (list, tuple) and len(whole) == len(element.kinds) and (
        len({kind.shape for kind in element.kinds}) == 1
    )  # fmt: skip


def total_of(function: Callable[..., Any], items: Any) -> Any:
    """``len(items)``, ``sum(items)``, ``max(items)`` or ``min(items)``."""
    if type(items) not in TRACED:
        return fn(function)(items)
    if function is len:
        return items.length
    if function not in (sum, max, min):
        _refuse(function)
    items = present(items)
    if function in (max, min) and not optree.treespec_is_leaf(items.element.structure):
        given = listed(items) if type(items.length) is int else held(items)
        return fn(function)(given)
    if type(items) is Columns and (
        not optree.treespec_is_leaf(items.element.structure) or items.element.has_arrays
    ):
        return fn(function)(listed(items))
    name = getattr(function, "__name__", "")
    kind = _one_kind(items, f"{name}()")
    columns = items.columns
    numbers: Any = columns[0]
    if items.element.has_arrays:
        if function is not sum:
            _refuse(function)
        problem = f"sum() of a list of arrays that is empty{at(here())} is 0, which has no shape"
        require(items.length > 0, UnsupportedError(problem))
        return fn(sum)(numbers)
    if function is not sum:
        problem = ValueError(f"{name}() arg is an empty sequence")
        found = fn(function)(ensure(numbers, items.length > 0, problem))
        if kind.mixed:  # of the class of the first that is so
            return items.at((numbers == found).argmax())
        return found if kind.weak is None else weak(found, kind.weak)
    numbers = numbers.astype(int) if numbers.dtype == bool else numbers
    found = fn(sum)(numbers)
    if {each.weak for each in kind.classes} <= {bool, int}:
        size = np.abs(numbers.astype(float)).sum()
        problem = OverflowError("sum() of more than 63 bits while it is traced")
        found = ensure(found, size < 2.0**62, problem)
    return _classed(found, columns, kind, _class_of_sum)


class _Elements(Items):
    """The elements of a list that is no longer Python's, as they are when each is its turn."""

    __slots__ = ("_home", "_seen", "items", "owner")
    stands_for = "list"

    def __init__(self, items: Any, owner: Any = None) -> None:
        #: What it is, and of one that a list of Python's holds what that held then, and where.
        self.items, self.owner = items, owner
        self._seen, self._home = self._held(), state.trace

    def _held(self) -> list[Any]:
        lists = self.owner.lists if isinstance(self.owner, Chosen) else [self.owner or ()]
        return [part for each in lists for part in each]

    @property
    def _now(self) -> Any:
        """The list as it is at present."""
        now = self._held()
        is_same = len(now) == len(self._seen) and all(map(operator.is_, now, self._seen))
        if not is_same or not is_around(self._home):
            self.items, self._seen, self._home = whole(self.owner), now, state.trace
        return self.items

    @property
    def length(self) -> Any:  # ty: ignore[incompatible-property-override]
        """The present length."""
        if self.owner is None:
            return self.items.length
        return self._now.length if type(self._now) in TRACED else len(self._now)

    def at(self, position: Any) -> Any:
        if self.owner is None:
            return self.items.at(position)
        now = self._now
        return now.at(position) if type(now) in TRACED else getitem(now, position)


def items_of(items: Any, owner: Any = None) -> Any:
    """What a ``for`` loop over a list goes through; `owner` is one of Python's that holds it."""
    return _Elements(items, owner) if type(items) in TRACED else items


def has_objects(items: Any) -> bool:
    """Whether the elements of a list are chosen by their places: objects, and lists that grow."""
    if type(items) in TRACED:
        return bool(items.element.classes)
    return type(items) in LISTS and (is_nested(items) or any(map(holds, items)))


#: Builtins that go through a list as a ``for`` loop does.
_PASSING = frozenset((enumerate, zip, reversed))


def items_for(function: Any, items: Any) -> Any:
    """What ``zip(items, ...)`` and its like go through."""
    if type(items) in TRACED and function not in _PASSING:
        _refuse(function)
    return items_of(items)
