"""What converted code does for ``x.insert(i, v)``, ``v in x`` and ``sorted(x)``: lists as a whole.

Lists whose length is data are arrays for that. So is one of Python's with which data do it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

import numpy as np
import optree

from lanewise.autograph.aliases import settle
from lanewise.autograph.builtins import index_
from lanewise.autograph.calls import fn
from lanewise.autograph.containers import in_
from lanewise.autograph.lists.columns import (
    NOTHING,
    Columns,
    Element,
    Holder,
    chained,
    columns_of,
    element_of,
    present,
    sharing,
)
from lanewise.autograph.lists.grown import element_of_all, holder_of, is_own, whole
from lanewise.autograph.lists.hooks import (
    TRACED,
    appended,
    fitting,
    listed,
    plain,
    put_in,
    taken_out,
)
from lanewise.autograph.optional import OptionalValue, apart_from_none, as_returned
from lanewise.autograph.pulled import follows
from lanewise.autograph.sequences import length_of
from lanewise.autograph.sorting import ranked
from lanewise.autograph.state import DONT_CARE, Kind, kind_of
from lanewise.autograph.subscripts import delitem
from lanewise.autograph.values import ensure, equal, require, traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import LISTS
from lanewise.trace.scratch import is_traced
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import Tensor, as_tensor, weak
from lanewise.trace.variants import Variant

# --- several lists --------------------------------------------------------------------------------


def added(items: Any, elements: Any) -> Any:
    """``items += elements``; returns what it gives."""
    if type(items) not in (*LISTS, *TRACED):
        items += listed(elements)
        return items
    elements = whole(fn(list)(elements) if follows(elements) else elements)
    if type(elements) in TRACED or type(length_of(elements)) not in (int, NoneType):
        return joined(items, _held_as(_rows(elements), holder_of(items)))
    for element in list(elements):
        items = appended(items, element)
    return items


def _held_as(items: Any, holder: Holder) -> Any:
    """Return the elements of a list that is no longer Python's as another kind of list has them."""
    if type(items) not in TRACED or items.element.holder == holder:
        return items
    return Columns(items.element._replace(holder=holder), items.as_columns().arrays)


def joined(first: Any, second: Any) -> Any:
    """``first + second``, of lists."""
    if type(first) not in TRACED and type(second) not in TRACED:
        return first + second
    both = first, second = whole(first), whole(second)
    if not all([type(each) in (*LISTS, *TRACED) for each in both]):
        return plain(first) + plain(second)
    element = element_of_all(both)
    if element is None:
        return listed(first) + listed(second)
    _refuse_full(element.holder)
    one, other = [columns_of(_as_columns(each), element) for each in both]
    return chained([one, other])


def copied(items: Any) -> Any:
    """``items.copy()``."""
    return items if type(items) in TRACED else fn(items.copy)()


def _as_columns(items: Any) -> Any:
    """Return a list that is no longer Python's as arrays."""
    return items.as_columns() if type(items) in TRACED else items


def _rows(x: Any) -> Any:
    """Return an array of a length that is data as the list of its rows."""
    array = traced(x)
    if array is None:
        return x
    kind = Kind(array.dtype, array.shape[1:], None)
    return sharing(Columns(Element(tree.flatten(0)[1], (kind,)), [array.copy()]), [array])


# --- one element ----------------------------------------------------------------------------------


def _changeable(items: Any, *given: Any) -> Any:
    """Return a traced list, also for one of Python's that is changed by what is given, if data."""
    if type(items) in TRACED:
        return items
    if type(items) not in LISTS or not is_own(items) or not is_traced(given):
        return None
    element = element_of_all([items])
    return None if element is None else columns_of(items, element)


def _refuse_full(holder: Holder) -> None:
    """Raise for a deque that may be full, where that is an error of Python's or drops elements."""
    if holder.most is not None:
        raise UnsupportedError(
            f"a deque with maxlen= takes elements{at(here())} elsewhere than at its ends, or as "
            "many as the data say. Append them one by one"
        )


def inserted(items: Any, place: Any, value: Any) -> Any:
    """``items.insert(place, value)``; returns the list."""
    if type(items) in LISTS and not items:
        return appended(items, value)
    changed = _changeable(items, place)
    if changed is None:
        fn(items.insert)(place, value)
        return items
    _refuse_full(changed.element.holder)
    place, size = index_(place), changed.length
    place = np.clip(np.where(place < 0, place + size, place), 0, size)
    place = weak(place, int) if isinstance(place, Tensor) else int(place)
    return put_in(fitting(changed, value, "inserted"), place, value)


def without(items: Any, key: Any) -> Any:
    """``del items[key]``; returns what is left."""
    changed = _changeable(items, key)
    if changed is None:
        delitem(items, key)
        return items
    return taken_out(changed, key, "list assignment index out of range")[0]


def removed(items: Any, value: Any) -> Any:
    """``items.remove(value)``; returns what is left."""
    changed = _changeable(items, (items, value))
    if changed is None:
        fn(items.remove)(value)
        return items
    place = _first(_as_columns(changed), value, "list.remove(x): x not in list")
    return taken_out(changed, place, "")[0]


# --- what is found --------------------------------------------------------------------------------


def found(items: Any, how: str, value: Any) -> Any:
    """``value in items``, ``items.index(value)`` or ``items.count(value)``."""
    columns = _changeable(items, (items, value)) if how != "in" or type(items) in TRACED else None
    if columns is None:
        return in_(value, items) if how == "in" else fn(getattr(items, how))(value)
    columns = _as_columns(columns)
    if how == "index":
        return _first(columns, value, "the value of index() is not in list")
    are_equal = _equal(columns, value)
    return weak(are_equal.any(), bool) if how == "in" else weak(are_equal.sum(), int)


def _first(columns: Columns, value: Any, message: str) -> Any:
    """Return the place of the first element that is equal to a value."""
    are_equal = _equal(columns, value)
    require(are_equal.any(), ValueError(message))  # first: there may be no place
    return weak(ensure(are_equal, are_equal.any(), ValueError(message)).argmax(), int)


def _equal(columns: Columns, value: Any) -> Any:
    """Return which elements are equal to a value."""
    element = element_of(settle(value), columns.element.classes)
    if columns.element.classes or (element is not None and element.classes):
        raise UnsupportedError(
            f"an object is looked for{at(here())} in a list whose length is data, of objects that "
            "were made where the data steer. Compare what they hold in a loop"
        )
    if element is not None and (element.may_be_none or columns.element.may_be_none):
        return _equal_or_none(columns, element, value)
    if element is None or element.structure != columns.element.structure:
        leaves = [each is not None and _is_leaf(each) for each in (element, columns.element)]
        if element is None or all(leaves) or not any(leaves):
            raise UnsupportedError(
                f"a value is looked for{at(here())} in a list whose length is data, of which the "
                "elements have another form: use numbers, or tuples of as many"
            )
        return as_tensor(np.zeros(1, bool))
    if element.has_arrays or columns.element.has_arrays:
        raise UnsupportedError(
            f"a value is looked for in a list of arrays{at(here())}. Compare them in a loop, with "
            "np.array_equal"
        )
    found: Any = True
    kinds, apart = columns.element.kinds, columns.element.apart(columns.arrays)
    for leaf, kind, (column, _) in zip(tree.flatten(value)[0], kinds, apart, strict=True):
        own = traced(leaf)
        if kind.is_tag or type(leaf) is Variant:
            found = np.logical_and(found, _are_object(column, kind, leaf))
            continue
        if kind.weak in (float, complex) and own is not None and own._weak is None:
            column = column.astype(np.result_type(own.dtype, kind.weak(0)))
        found = np.logical_and(found, column == leaf)
        if column.dtype.kind in "fc":
            _refuse_nan(np.logical_and(np.isnan(leaf), np.isnan(column).any()), "a search for NaN")
    return found


def _equal_or_none(columns: Columns, element: Element, value: Any) -> Any:
    """Return which elements are equal to a value, where some of them, or that, may be None."""
    joined = columns.element.joined(element)
    if joined is None or joined.structure.type is not OptionalValue:
        raise UnsupportedError(
            f"a value is looked for{at(here())} in a list whose length is data, of tuples with "
            "None in them, or of another form. Compare them in a loop"
        )
    *numbers, flags = columns.as_elements(joined).arrays
    are_there, held = apart_from_none(as_returned(value))
    if held is DONT_CARE:
        return np.logical_not(flags)
    whole = joined._replace(structure=joined.structure.children()[0], kinds=joined.kinds[:-1])
    if NOTHING in whole.kinds:
        return as_tensor(np.zeros(1, bool))
    are_equal = np.logical_and(_equal(Columns(whole, numbers), held), are_there)
    return np.where(flags, are_equal, np.logical_not(are_there))


def _are_object(column: Any, kind: Kind, value: Any) -> Any:
    """Return which of a column, of tags or not, stand for what is equal to an object or text."""
    if not kind.is_tag or (isinstance(kind_of(value), Kind) and type(value) is not Variant):
        return as_tensor(np.zeros(1, bool))  # a number is none
    found: Any = as_tensor(np.zeros(1, bool))
    for tag, own in kind.weak.by_tag.items():
        same = equal(own, value)
        found = np.logical_or(found, np.logical_and(np.equal(column, tag), same))
    return found


def _ranks(column: Any, kind: Kind) -> Any:
    """Return the places of texts in their order, in place of their tags."""
    if not all([isinstance(x, (str, bytes)) for x in kind.weak]):
        raise UnsupportedError(
            f"a list whose length is data is sorted by objects{at(here())}. Sort it by numbers"
        )
    order = sorted(kind.weak)
    table = np.zeros(max(kind.weak.by_tag) + 1, int)
    for tag, own in kind.weak.by_tag.items():
        table[tag] = order.index(own)
    return as_tensor(table)[column]


def _is_leaf(element: Any) -> bool:
    return optree.treespec_is_leaf(element.structure)


# --- in order -------------------------------------------------------------------------------------


def in_order(function: Any, items: Any, each: Callable[..., Any], **options: Any) -> Any:
    """``list(items)`` or ``sorted(items)``, or what ``items.sort()`` leaves.

    Parameters
    ----------
    each
        Makes the list of what a function returns for each element.
    """
    if function not in (list, builtins.sorted, "sort"):
        return fn(function)(plain(items), **options)
    if type(items) not in TRACED and type(length_of(items)) in (int, NoneType):
        if function != "sort":
            return fn(function)(items, **options)
        fn(items.sort)(**options)
        return items
    items = _rows(items)
    if type(items) not in TRACED:
        items = each(items, lambda element: element)
    if type(items) not in TRACED:
        return items if function is list else fn(sorted)(items, **options)
    if items.element.holder.kind is not list:
        if function == "sort":
            raise AttributeError("'collections.deque' object has no attribute 'sort'")
        items = _held_as(items, Holder())
    return items if function is list else _sorted(_as_columns(items), each, **options)


def _sorted(items: Columns, each: Callable[..., Any], key: Any = None, reverse: Any = False) -> Any:
    if traced(reverse) is not None:
        return fn(sorted)(listed(items), key=key, reverse=reverse)  # which is refused
    keys = items if key is None else each(items, key)
    if type(keys) not in TRACED or keys.element.has_arrays:
        return fn(sorted)(listed(items), key=key, reverse=reverse)
    keys = present(keys)
    items = keys if key is None else items
    numbers = _numbers(_as_columns(keys))
    for column in numbers:
        if column.dtype.kind == "f":
            _refuse_nan(np.isnan(column).any(), "sorted()")
    is_of_numbers = not any([kind.is_tag for kind in items.element.kinds])
    if key is None and is_of_numbers and _is_leaf(items.element) and len(items.arrays) == 1:
        result = Columns(items.element, [as_tensor(np.sort(items.arrays[0]))])
        return result.part(slice(None, None, -1)) if reverse else result
    if not reverse:
        return items.taken(ranked(numbers))
    # Equal ones keep their order, so it is turned before and after.
    order = ranked([column[::-1] for column in numbers])[::-1]
    return items.taken(number_of(order.shape[0]) - 1 - order)


def _numbers(keys: Columns) -> Sequence[Any]:
    """Return the numbers of elements, without the codes of those of which the class varies."""
    pairs = zip(keys.element.apart(keys.arrays), keys.element.kinds, strict=True)
    found = [_ranks(column, kind) if kind.is_tag else column for (column, _), kind in pairs]
    if any([each.dtype.kind == "c" for each in found]):
        raise TypeError("'<' not supported between instances of 'complex' and 'complex'")
    return found


def _refuse_nan(is_nan: Any, use: str) -> None:
    """Raise where NaN is among numbers: what Python does depends on which object it is."""
    problem = UnsupportedError(f"{use} of a list that holds NaN{at(here())}. Use np.sort, np.isnan")
    require(np.logical_not(is_nan), problem)
