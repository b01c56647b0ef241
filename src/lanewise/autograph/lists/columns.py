"""Lists of a length that is known in its trace, as arrays: one for each number of an element.

A loop that appends in each iteration hands on a list as an array, of which each iteration sees as
much as it has filled (`Stepped` in `lanewise.trace.packed`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from lanewise.autograph.aliases import REPEATS, Shared, all_roots, repeating, settle, watch
from lanewise.autograph.instances import (
    Opening,
    freeze,
    is_new,
    kept_by_value,
    new_classes,
    objects_of,
    opened,
)
from lanewise.autograph.optional import (
    OptionalValue,
    alike_but_for_none,
    apart_from_none,
    as_returned,
    is_missing,
)
from lanewise.autograph.state import DONT_CARE, FLAG, Kind, kind_among, union_of, values_of
from lanewise.autograph.tables import plain_table
from lanewise.autograph.values import require
from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, bounds
from lanewise.ir.location import here
from lanewise.ir.types import has_dim
from lanewise.ops.movement import broadcast_to
from lanewise.trace import tree
from lanewise.trace.attributes import held_by
from lanewise.trace.contents import Contents
from lanewise.trace.lending import are_elsewhere, lend
from lanewise.trace.mixed import CODE, note_mixed
from lanewise.trace.regions import Region, all_born, is_made_here
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, emit, weak
from lanewise.trace.trace import require_trace, state
from lanewise.trace.variants import TAG, Variant

#: What messages call a list to which arrays are appended.
OF_ARRAYS = "a list of arrays"
#: What they call an element that is a list itself.
OF_LISTS = "an element of a list"


class Holder(NamedTuple):
    """What a list is in plain Python: a list, or a deque of so many elements at most."""

    kind: type = list
    most: int | None = None

    def made(self, items: Iterable[Any]) -> Any:
        """Return some elements as such."""
        return list(items) if self.kind is list else deque(items, self.most)


#: Of what kind a number is that was None in all elements so far.
NOTHING = Kind(np.dtype(bool), (), None, ())


class _Place:
    """Stands for one of the leaves of an element."""

    def __init__(self, index: int) -> None:
        self.index = index


class Element(NamedTuple):
    """What all elements of a list are: a tree of numbers or arrays of these kinds.

    What is None in some is an `OptionalValue` in the tree, with the truth value that says so.
    """

    structure: Any
    kinds: tuple[Kind, ...]
    holder: Holder = Holder()
    #: Of objects of these classes in it, what they hold is in its structure; so it is of those of
    #: dataclasses, which are containers.
    classes: frozenset[type] = frozenset()

    def __str__(self) -> str:
        return str(self.kinds[0]) if len(self.kinds) == 1 else f"{len(self.kinds)} numbers"

    @property
    def types(self) -> list[tuple[np.dtype, tuple[Any, ...]]]:
        """The dtype and shape of each number, and of the code of one of which the class varies."""
        found = []
        for kind in self.kinds:
            found += [(kind.dtype, kind.shape), *([(CODE, ())] if kind.mixed else [])]
        return found

    @property
    def has_arrays(self) -> bool:
        """Whether it consists of arrays, which others may hold too."""
        return any([kind.shape for kind in self.kinds])

    @property
    def has_sizes(self) -> bool:
        """Whether arrays are of sizes that mean something outside of branches and turns, too."""
        return not has_dim(tuple([kind.shape for kind in self.kinds]))

    @property
    def may_be_none(self) -> bool:
        """Whether it, or a part of it, may be None."""
        whole = tree.unflatten(self.structure, [0] * len(self.kinds))
        return any(map(is_missing, tree.flatten(whole, is_missing)[0]))

    def _model(self, leaf: Callable[[int], Any] = lambda index: 0) -> Any:
        """Return an element with such leaves; what all have been None for is that."""
        leaves = [DONT_CARE if x is NOTHING else leaf(i) for i, x in enumerate(self.kinds)]
        return _without_nothing(tree.unflatten(self.structure, leaves))

    def _with_nones_of(self, other: Element) -> Element:
        """Return it with None in places where another has that; of another structure if it can."""
        model = alike_but_for_none([self._model(), other._model()])[0]
        leaves, structure = self._in_form(tree.map_leaves(lambda leaf: 0, model))
        kinds = [NOTHING if x is DONT_CARE else FLAG for x in leaves]
        for i, x in enumerate(leaves):
            if type(x) is _Place:
                kinds[i] = self.kinds[x.index]
        return self._replace(structure=structure, kinds=tuple(kinds))

    def _in_form(self, model: Any) -> tuple[list[Any], Any]:
        """Return the leaves of an element in the form of another, `_Place`s, and the structure."""
        return tree.flatten(_with_nothing(alike_but_for_none([model, self._model(_Place)])[1]))

    def joined(self, other: Element | None) -> Element | None:
        """Return what elements are that are this or another; None where they have no like form."""
        if other is None:
            return None
        if other.structure != self.structure:
            own, others = self._by_value(other), other._by_value(self)
            if own is not None:
                return own.joined(other)
            if others is not None:
                return self.joined(others)
            if self.classes or other.classes:
                return None
            own, others = self._with_nones_of(other), other._with_nones_of(self)
            return own.joined(others) if own.structure == others.structure else None
        joined = [_joined(*pair) for pair in zip(self.kinds, other.kinds, strict=True)]
        kinds = tuple([kind for kind in joined if kind is not None])
        if len(kinds) < len(joined):
            return None
        return self._replace(kinds=kinds, classes=self.classes | other.classes)

    def _by_value(self, other: Element) -> Element | None:
        """Return what objects hold that it is one of, if `other` is what such an object holds."""
        kind = self.kinds[0] if self.kinds else NOTHING
        if self.classes or not kind.is_tag or not optree.treespec_is_leaf(self.structure):
            return None
        objects = list(kind.weak)
        if len(other.classes) != 1 or not other.classes.issuperset(map(type, objects)):
            return None
        found: Element | None = element_of(objects[0], other.classes)
        for x in objects[1:]:
            found = None if found is None else found.joined(element_of(x, other.classes))
        if found is None or found.structure != other.structure:
            return None
        return found._replace(holder=self.holder)

    def _held_by_objects(self, columns: Sequence[Tensor], own: Element) -> list[Tensor]:
        """Return what the objects hold that elements are, which stay as they are from now on."""
        by_tag = self.kinds[0].weak.by_tag
        rows = [own.numbers(x) for x in by_tag.values()]
        places = np.searchsorted(as_tensor(np.array(list(by_tag), TAG)), columns[0])
        return [as_tensor(np.stack(column))[places] for column in zip(*rows, strict=True)]

    def leaves(self, value: Any) -> list[Any]:
        """Return the leaves of an element that is of its form, but for what may be None."""
        if self.classes:
            return tree.flatten(opened(value, Opening(self.classes)))[0]
        value = as_returned(value)
        return tree.flatten(_with_nothing(alike_but_for_none([self._model(), value])[1]))[0]

    def numbers(self, value: Any) -> list[Tensor]:
        """Return the numbers of `types` of an element that is of its form."""
        trace, leaves = require_trace("a list"), self.leaves(value)
        freeze(kept_by_value(value, Opening(self.classes)))  # which the list knows as they are now
        return [
            Tensor(trace, number)
            for leaf, kind in zip(leaves, self.kinds, strict=True)
            for number in values_of(leaf, kind)
        ]

    def apart(self, columns: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Return the column of each of the kinds, and that of its codes, None where it has none."""
        left = iter(columns)
        return [(next(left), next(left) if kind.mixed else None) for kind in self.kinds]

    def whole(self, numbers: Sequence[Tensor]) -> list[Tensor]:
        """Return the leaves of an element, or of all, of the numbers of `types`."""
        left, leaves = iter(numbers), []
        for kind in self.kinds:
            leaf = next(left)
            if kind is NOTHING:
                leaves.append(DONT_CARE)
                continue
            if kind.is_tag:
                leaves.append(Variant(leaf, kind.weak))
                continue
            leaves.append(leaf if kind.weak is None else weak(leaf, kind.weak))
            if kind.mixed:
                note_mixed(leaves[-1], kind.mixed, next(left))
        return leaves

    def made(self, numbers: Sequence[Tensor]) -> Any:
        """Return the element of the numbers of `types`; nobody may change a list in it."""
        found = _without_nothing(tree.unflatten(self.structure, self.whole(numbers)))
        freeze(objects_of(found, Opening(self.classes)))
        lend_lists(found if type(found) is Tensor else all_born(found))
        return found

    def converted(self, columns: Sequence[Tensor], new: Element) -> list[Tensor]:
        """Return the numbers of all elements as those of others, which hold them too."""
        if new.structure != self.structure and (held := self._by_value(new)) is not None:
            return held.converted(self._held_by_objects(columns, held), new)
        own, found = self.apart(columns), list[Tensor]()
        leaves: list[Any] = [_Place(i) for i in range(len(own))]
        if new.structure != self.structure:
            leaves = self._in_form(new._model())[0]
        for leaf, after in zip(leaves, new.kinds, strict=True):
            if type(leaf) is not _Place:  # surely there, or surely None
                known = np.full(after.shape, leaf is True, after.dtype)
                size = columns[0].shape[:1]
                data = emit(broadcast_to, as_tensor(known), shape=(*size, *after.shape))
                codes, before = None, after
            else:
                (data, codes), before = own[leaf.index], self.kinds[leaf.index]
            found.append(data if data.dtype == after.dtype else as_tensor(data.astype(after.dtype)))
            if after.mixed:
                classes = after.mixed[:1] if type(leaf) is not _Place else before.classes
                places = np.array([after.mixed.index(each) for each in classes], CODE)
                if codes is None:
                    zero = as_tensor(np.zeros((), CODE))
                    codes = emit(broadcast_to, zero, shape=data.shape[:1])
                found.append(as_tensor(as_tensor(places)[as_tensor(codes)]))
        return found

    def without_none(
        self, columns: Sequence[Tensor], error: Exception
    ) -> tuple[Element, list[Tensor]]:
        """Return what elements are that are there, and their numbers; raise where one is None."""
        own, checked = self.apart(columns), list[Any]()

        def present(value: Any) -> Any:
            leaves, structure = tree.flatten(value, is_missing)
            for i, leaf in enumerate(leaves):
                if is_missing(leaf):
                    flag, held = apart_from_none(leaf)
                    checked.append(flag)
                    leaves[i] = present(held)
            return tree.unflatten(structure, leaves)

        places = [_Place(i) for i in range(len(self.kinds))]
        leaves, structure = tree.flatten(present(tree.unflatten(self.structure, places)))
        for flag in checked:
            require(own[flag.index][0].all(), error)
        kept = [leaf.index for leaf in leaves]
        numbers = [x for i in kept for x in own[i] if x is not None]
        return self._replace(
            structure=structure, kinds=tuple([self.kinds[i] for i in kept])
        ), numbers


def _joined(first: Kind, second: Kind) -> Kind | None:
    """Return of what kind a number is that is of one of two; None if it can be of none."""
    if first is second:
        return first
    if NOTHING in (first, second):
        known = second if first is NOTHING else first
        return None if known.shape or known.is_tag else known
    if first.shape != second.shape or first.is_tag is not second.is_tag:
        return None
    return union_of(first, second)


def lend_lists(element: Any) -> Sequence[Any]:
    """Have nobody change the lists that an element of a list consists of: that keeps numbers.

    Returns these.
    """
    found = () if type(element) is Tensor else tree.containers(element)
    if found:
        lend(found, OF_LISTS)
    return found


def put_in(value: Any) -> Any:
    """Return an element as a list keeps it: what it holds now."""
    value = settle(as_returned(value))
    lend_lists(value)
    return value


def _parts(value: Any) -> list[Any]:
    return tree.flatten(value, lambda x: type(x) is Contents)[0]


def element_of(value: Any, classes: Collection[type] = (), by_value: bool = True) -> Element | None:
    """Return what a value is as an element; None if no array can hold such.

    Objects of some classes that were made in what is traced are what they hold, as are those that
    were made in branches and turns. Those of dataclasses are, if all are taken `by_value`.
    """
    if state.has_contents and any([type(x) is Contents for x in _parts(value)]):
        return None

    def is_held(x: Any) -> bool:
        return is_new(x) or (type(x) in classes and is_made_here(x))

    classes = new_classes(value, which=is_held)
    containers = tree.containers(value)
    made = {type(each) for each in containers} - {list, dict}
    if classes or made:  # None in the place of one is not followed
        leaves, structure = tree.flatten(opened(value, Opening(classes)), is_missing)
        kinds = [_kind_of_part(leaf) for leaf in leaves]
    else:
        whole = _with_nothing(as_returned(value))
        kinds, structure = _kinds_of(whole), tree.flatten(whole)[1]
    if not all(map(_is_record, containers)):
        return None
    if made and not by_value:
        return None
    if not kinds or any([kind is None for kind in kinds]):
        return None
    if are_elsewhere([*containers, *objects_of(value, Opening(classes))]):
        return None
    return Element(structure, tuple(kinds), classes=classes | made)  # ty: ignore[invalid-argument-type]


def _with_nothing(value: Any) -> Any:
    """Return an element with what may be something else in the place of None."""
    leaves, structure = tree.flatten(value, lambda x: x is None)
    if not any([leaf is None for leaf in leaves]):
        return value
    nothing = OptionalValue(DONT_CARE, False)
    return tree.unflatten(structure, [nothing if leaf is None else leaf for leaf in leaves])


def _without_nothing(value: Any) -> Any:
    """Return an element with None in the place of what stands for that."""
    leaves, structure = tree.flatten(value, is_missing)
    if not any(map(is_missing, leaves)):
        return value
    for i, leaf in enumerate(leaves):
        if is_missing(leaf):
            flag, held = apart_from_none(leaf)
            is_nothing = all([x is DONT_CARE for x in tree.flatten(held)[0]])
            leaves[i] = None if is_nothing else OptionalValue(_without_nothing(held), flag)
    return tree.unflatten(structure, leaves)


def _kinds_of(value: Any) -> list[Kind | None]:
    """Return of what kinds the leaves of an element are; None of what cannot be in an array."""
    kinds: list[Kind | None] = []
    for leaf in tree.flatten(value, is_missing)[0]:
        if is_missing(leaf):
            kinds += [*_kinds_of(apart_from_none(leaf)[1]), FLAG]
        else:
            kinds.append(NOTHING if leaf is DONT_CARE else _kind_of_part(leaf))
    return kinds


def _is_record(container: Any) -> bool:
    """Whether a list or dict, or an object of a dataclass, can be made anew of its parts."""
    kind = type(container)
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is None:
        return kind in (list, dict)
    return held_by(container).keys() <= fields.keys()


def _kind_of_part(leaf: Any) -> Kind | None:
    """Return of what kind a number in a list is, or an object that was there before."""
    kind = kind_among(leaf)
    is_of_turn = kind is not None and kind.is_tag and any(map(is_new, kind.weak))
    return None if is_of_turn else kind


class Columns:
    """A list as an array for each number of an element, of as many rows as it has elements."""

    __slots__ = ("arrays", "element")

    def __init__(self, element: Element, arrays: Sequence[Any]) -> None:
        self.element, self.arrays = element, tuple(arrays)

    @property
    def length(self) -> Any:
        """How many elements there are."""
        return number_of(self.arrays[0].shape[0])

    @property
    def columns(self) -> tuple[Any, ...]:
        """The numbers of all elements, an array for each of the element's types."""
        return self.arrays

    def at(self, place: Any) -> Any:
        """Return the element at a place that surely is one."""
        return self.element.made([column[place] for column in self.arrays])

    def as_columns(self) -> Columns:
        """Return the list as arrays."""
        return self

    def part(self, key: slice) -> Columns:
        """Return the list of some of the elements."""
        arrays = [column[key] for column in self.arrays]
        return Columns(self.element, [x.copy() if x.ndim == 1 else x for x in arrays])

    def as_elements(self, element: Element) -> Columns:
        """Return the list with elements that hold its own, too."""
        if element == self.element:
            return self
        return sharing(Columns(element, self.element.converted(self.arrays, element)), self.arrays)

    def with_last(self, value: Any) -> Columns:
        """Return the list with an element more, which is one of its element's form."""
        value = put_in(value)
        numbers = self.element.numbers(value)
        arrays: list[Any] = [
            np.concatenate([column, number[None]])
            for column, number in zip(self.arrays, numbers, strict=True)
        ]
        return sharing(Columns(self.element, arrays), self.arrays, [value])

    def with_one(self, place: Any, value: Any) -> Columns:
        """Return the list with another element at a place that surely is one."""
        value = put_in(value)
        numbers = self.element.numbers(value)
        arrays: list[Any] = [as_tensor(column).copy() for column in self.arrays]
        for array, number in zip(arrays, numbers, strict=True):
            array[place] = number
        return sharing(Columns(self.element, arrays), self.arrays, [value])

    def taken(self, places: Any) -> Columns:
        """Return the list of the elements at places that surely are such."""
        arrays = [as_tensor(column)[places] for column in self.arrays]
        return sharing(Columns(self.element, arrays), self.arrays)

    def without_last(self, one: Any) -> Columns:
        """Return the list without its last element; `one` is 1, of lists that have elements."""
        return Columns(self.element, [column[: self.length - one] for column in self.arrays])

    def without_first(self, one: Any) -> Columns:
        """Return the list without its first element; `one` is 1, of lists that have elements."""
        return Columns(self.element, [column[one:] for column in self.arrays])

    @property
    def has_surely(self) -> bool:
        """Whether it is known to have elements."""
        size = self.arrays[0].shape[0]
        return (bounds(size)[0] or 0) > 0 if isinstance(size, Dim) else size > 0

    def __repr__(self) -> str:
        size = self.arrays[0].shape[0]
        return f"a list of {size}" if isinstance(size, int) else "a list"


def present(items: Any, use: str = "") -> Any:
    """Return a list of which no element may be None: where one is, that is an error.

    Python's own, or one that says that a use of the list is not followed then.
    """
    if not items.element.may_be_none:
        return items
    error: Exception = TypeError(f"None is used where a number is needed{at(here())}")
    if use:
        error = UnsupportedError(
            f"{use} of a list with None in it{at(here())}. Use numbers, or NaN"
        )
    return Columns(*items.element.without_none(items.columns, error))


def chained(lists: Sequence[Columns]) -> Columns:
    """Return the list of the elements of several, one behind the other, which are of one form."""
    columns = zip(*[each.arrays for each in lists], strict=True)
    arrays: list[Any] = [np.concatenate(pieces) for pieces in columns]
    before = [array for each in lists for array in each.arrays]
    return sharing(Columns(lists[0].element, arrays), before)


def columns_of(items: Any, element: Element) -> Columns:
    """Return a list with elements of a form as arrays."""
    if type(items) is Columns:
        return items.as_elements(element)
    if not items:
        empty = [np.zeros((0, *shape), dtype) for dtype, shape in element.types]
        return Columns(element, [as_tensor(column) for column in empty])
    if not optree.treespec_is_leaf(element.structure):
        for item in items:
            lend_lists(item)
    if (plain := _plain_columns(items, element)) is not None:
        return Columns(element, plain)
    items = [settle(as_returned(item)) for item in items]
    rows = [element.numbers(item) for item in items]
    arrays = [as_tensor(np.stack(column)) for column in zip(*rows, strict=True)]
    return sharing(Columns(element, arrays), (), items)


def _plain_columns(items: Any, element: Element) -> list[Tensor] | None:
    """Return Python's numbers as arrays of the graph; None for others."""
    leaves = list(map(element.leaves, items))
    is_plain = all([type(leaf) in WEAK_DTYPES for row in leaves for leaf in row])
    if not is_plain or any([kind.mixed for kind in element.kinds]):
        return None
    freeze(kept_by_value(items, Opening(element.classes)))
    pairs = zip(zip(*leaves, strict=True), element.kinds, strict=True)
    return [as_tensor(plain_table(column, kind.dtype)) for column, kind in pairs]


def sharing(columns: Columns, before: Sequence[Tensor], added: Sequence[Any] = ()) -> Columns:
    """Note that elements which are arrays may be known elsewhere, too, or be one array.

    Parameters
    ----------
    before
        The arrays of the list that it was.
    added
        The elements that it has now, too.
    """
    if not columns.element.has_arrays:
        return columns
    leaves = [x for item in added for x in columns.element.leaves(item)]
    given = [x for x in leaves if type(x) is Tensor and x.shape]
    known = {id(root) for root in all_roots(before)}
    must_not = repeating(before)
    for array in given:
        roots = all_roots([array])
        if not known.isdisjoint(map(id, roots)) or any(map(_is_of_all_turns, roots)):
            must_not = REPEATS
        known.update(map(id, roots))
    for array in columns.arrays:
        watch(array, Shared(OF_ARRAYS, [*before, *given], must_not=must_not))
    return columns


def _is_of_all_turns(array: Tensor) -> bool:
    """Whether an array is there in each turn of the loop that is recorded."""
    trace = state.trace
    while isinstance(trace, Region):
        if trace is array._trace:
            return False
        if trace.is_turn:
            return True
        trace = trace.parent
    return False


optree.register_pytree_node(
    Columns,  # ty: ignore[invalid-argument-type]
    lambda columns: (columns.arrays, columns.element, None),
    Columns,  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)
