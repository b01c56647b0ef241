"""What stands in a list of Python's where the data say how many elements it has."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import optree

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.lending import Refusing, Unknown
from lanewise.trace.trace import state

#: What a list is while it is one of Python's.
LISTS = (list, deque)
#: By what is done with a list, what does it with one that holds `Contents`
#: (`lanewise.autograph.lists.holding`).
ON_CONTENTS: dict[str, Callable[..., Any]] = {}


class Contents(Refusing):
    """Stands, alone or among elements, for elements of which the data say how many there are.

    So a list of Python's keeps its identity, whoever has it, and what Python does with all of its
    elements it does with those, too: ``[*items, x]``, ``items + others``. As an element it is used
    by nobody but code that is not converted, and is of no use to that.
    """

    __slots__ = ("items", "owner", "place")

    def __init__(self, items: Any, owner: Any = None) -> None:
        self.items = items
        #: The list that is one of several, which the data choose: no other one is.
        self.owner = owner
        #: The user's line since which it is known that the data say how many there are.
        self.place = here()

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Say what can be done with the list."""
        if isinstance(self.items, Unknown):
            self.items.refuse()
        raise UnsupportedError(
            f"a list whose length is data is used{at(here())} where its elements are asked for one "
            "by one. What can be done with it: append, insert, pop, remove, sort, index, slice, +, "
            "in, len, sum, max, min, sorted, a for loop, and NumPy's functions"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Contents:
        if isinstance(self.items, Chosen):
            Unknown("an element of a list of lists").refuse()
        return self

    def __copy__(self) -> Contents:
        return self


optree.register_pytree_node(
    Contents,
    lambda contents: ((contents.items,), None, None),
    lambda _, children: Contents(*children),
    namespace=tree.NAMESPACE,
)


class _Keyed:
    """The key of the only entry of a dict whose keys are data."""

    __slots__ = ()

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Say that what is done with the dict is not followed."""
        raise UnsupportedError(
            f"a dict or set whose keys are data is used{at(here())} where its entries are asked "
            "for one by one. What can be done with it: look up, assign, in, get, pop, setdefault, "
            "del, len, keys, values and items"
        )

    def _same(self, *args: Any) -> _Keyed:
        return self

    __copy__ = __deepcopy__ = _same
    __repr__ = __str__ = __format__ = __bool__ = __len__ = __iter__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = refuse


_KEYED = _Keyed()


class Entries:
    """What a dict or set holds whose keys are data: lists of the keys, and of the values."""

    __slots__ = ("keys", "values")

    def __init__(self, keys: list[Any], values: list[Any]) -> None:
        self.keys, self.values = keys, values

    @property
    def lists(self) -> tuple[list[Any], list[Any]]:
        """Both."""
        return self.keys, self.values

    __repr__ = __str__ = __format__ = __bool__ = __len__ = __iter__ = _Keyed.refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _Keyed.refuse


optree.register_pytree_node(
    Entries,  # ty: ignore[invalid-argument-type]
    lambda entries: (entries.lists, None, None),
    lambda _, children: Entries(*children),  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)


class Heap:
    """Lists that grow by themselves: their elements lie in `cells`, those of one side by side.

    Of each, `heads` has where it begins, how many it has, and for how many there is room. Both are
    lists, which grow as any do.
    """

    __slots__ = ("cells", "heads")

    def __init__(self, heads: list[Any], cells: list[Any]) -> None:
        self.heads, self.cells = heads, cells


class Nested:
    """What a list holds whose elements are lists, or tuples with lists, of lengths that are data.

    In `items` a number stands for each of these lists: its place in a heap. `form` is what an
    element is: True a list, False anything else, or a tuple of such; for each list there is a heap.
    """

    __slots__ = ("form", "heaps", "items")

    def __init__(self, form: Any, items: list[Any], heaps: Sequence[Heap]) -> None:
        self.form, self.items, self.heaps = form, items, tuple(heaps)

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Say that what is done with the list is not followed."""
        raise UnsupportedError(
            f"a list of lists whose lengths are data is used{at(here())} where these are asked for "
            "one by one. What can be done with it: append, extend, insert, pop, sort with a key, "
            "index, slice, len, max and min with a key, sorted with a key, and a for loop"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Nested:
        return ON_CONTENTS["deepcopied"](self, memo)

    __repr__ = __str__ = __format__ = __bool__ = __len__ = __iter__ = __copy__ = refuse
    __getitem__ = __setitem__ = __contains__ = __array__ = __add__ = __radd__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = refuse


optree.register_pytree_node(
    Heap,  # ty: ignore[invalid-argument-type]
    lambda heap: ((heap.heads, heap.cells), None, ("heads", "cells")),
    lambda _, children: Heap(*children),  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)
optree.register_pytree_node(
    Nested,
    lambda nested: (
        (nested.items, *nested.heaps),
        nested.form,
        ("items", *[f"heap {i}" for i in range(len(nested.heaps))]),
    ),
    lambda form, children: Nested(form, children[0], children[1:]),
    namespace=tree.NAMESPACE,
)


def is_nested(x: Any) -> bool:
    """Whether it is a list of lists of lengths that are data."""
    return state.has_contents and type(x) is list and len(x) == 1 and type(x[0]) is Nested


def is_keyed(x: Any) -> bool:
    """Whether it is a dict or set whose keys are data."""
    if not state.has_contents:
        return False
    if isinstance(x, dict):
        return dict.__contains__(x, _KEYED)
    return type(x) is set and any([type(each) in (Entries, Unknown) for each in x])


def entries_of(owner: Any) -> Entries:
    """Return what a dict or set holds whose keys are data."""
    found = contents_of(owner)
    if isinstance(found, Unknown):
        found.refuse()
    return found


def contents_of(owner: Any) -> Entries | Unknown:
    """Return what a dict or set holds whose keys are data, or unknown."""
    if isinstance(owner, dict):
        return dict.__getitem__(owner, _KEYED)
    return next(each for each in owner if type(each) in (Entries, Unknown))


def enter(owner: Any, entries: Entries | Unknown) -> None:
    """Have a dict or set hold entries whose keys are data, or unknown."""
    state.has_contents = True
    owner.clear()
    if isinstance(owner, dict):
        dict.__setitem__(owner, _KEYED, entries)
    else:
        owner.add(entries)


def chosen_by(owner: Any) -> Any:
    """Return which one of several lists a list is, that the data choose; or the list itself."""
    if state.has_contents and type(owner) is list and len(owner) == 1:
        held = owner[0]
        return held.items if type(held) is Contents and held.owner is owner else owner
    return owner


class Chosen:
    """Stands for one of several lists, as the data choose."""

    __slots__ = ()

    @property
    def is_holding(self) -> bool:
        """Whether the data say how many elements there are."""
        raise NotImplementedError

    @property
    def lists(self) -> Sequence[list[Any]]:
        """What it may be."""
        raise NotImplementedError


def holds(x: Any) -> bool:
    """Whether it is a list with elements of which the data say how many there are."""
    if not state.has_contents:
        return False
    if type(x) in LISTS:
        return Contents in map(type, x)
    return isinstance(x, Chosen) and x.is_holding


def concerns(x: Any) -> bool:
    """Whether what is done with it is done here: a list, dict or set that the data say much of."""
    return state.has_contents and (holds(x) or is_keyed(x) or is_nested(x))


def fill(owner: Any, items: Any) -> None:
    """Have a list hold what a traced list, or another one of Python's, holds.

    A dict or set holds what is unknown.
    """
    if type(owner) not in LISTS:
        enter(owner, items)
        return
    if type(items) not in LISTS:
        state.has_contents = True
        is_chosen = isinstance(items, Chosen)
        items = [items if type(items) is Nested else Contents(items, owner if is_chosen else None)]
    owner.clear()
    owner.extend(items)


def taken_off(owner: Any) -> Any:
    """Return what a list holds: the traced list that is all of it, or a copy."""
    if len(owner) == 1 and type(owner[0]) in (Contents, Nested):
        return owner[0].items if type(owner[0]) is Contents else owner[0]
    return owner.copy()
