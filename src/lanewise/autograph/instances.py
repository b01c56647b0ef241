"""Objects of users' classes that are made where the data steer: joined by what they hold.

``total = total + Vector(x, y)`` in a branch leaves another object than there was. Where one of
those that are joined was made in a branch or turn, the variable becomes a new object of the class,
with attributes that are joined as variables are. It may be one of those (`lanewise.trace.lending`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from types import FunctionType, NoneType
from typing import Any, NamedTuple

import optree

from lanewise.autograph.aliases import MAY_BE_ANOTHER, Shared, watch
from lanewise.autograph.state import NUMBERS
from lanewise.trace import tree
from lanewise.trace.attributes import has_attributes, held_by, hold
from lanewise.trace.lending import lend, lend_like
from lanewise.trace.regions import (
    Region,
    born,
    in_region,
    is_made_here,
    note_twins,
    resumed,
    twins,
)
from lanewise.trace.slots import AttributeSlot, Missing
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import require_trace
from lanewise.trace.variants import ON_VARIANTS, Alternatives, Variant, can_be_chosen

#: What messages call such an object.
NAME = "another object of its class"


class Opening(NamedTuple):
    """Which objects are containers of their attributes where values are joined.

    Those of some classes, but for those that are one object in the same place of all values,
    `in_place`, by their ids. Attributes that a region changed have the values of `left`, by the
    ids of their owners: the changes are undone by then.
    """

    classes: frozenset[type] = frozenset()
    in_place: frozenset[int] = frozenset()
    left: Mapping[int, Mapping[str, Any]] = {}
    #: Whether a region has left them, and is closed.
    is_left: bool = False

    def opens(self, x: Any) -> bool:
        """Whether an object is such a container."""
        return type(x) in self.classes and id(x) not in self.in_place

    def held(self, x: Any) -> dict[str, Any]:
        """Return the attributes of an object."""
        found = {**held_by(x), **self.left.get(id(x), {})} if self.left else held_by(x)
        return {name: value for name, value in found.items() if value is not Missing}

    def at_end(self, region: Region) -> Opening:
        """Return what opens objects as a region has left them."""
        if not self.classes:
            return self
        left: dict[int, dict[str, Any]] = {}
        for slot, value in region.left.values():
            if isinstance(slot, AttributeSlot):
                left.setdefault(id(slot.owner), {})[slot.attribute] = value
        return self._replace(left=left, is_left=True)


class Instance:
    """Stands for an object in a tree: a container of its attributes.

    So do others that are opened with it among these.
    """

    __slots__ = ("held", "object", "opening")

    def __init__(self, x: Any, opening: Opening) -> None:
        self.object, self.opening = x, opening
        # Here, in whose trace objects in it are chosen: it is looked into elsewhere.
        self.held = {name: opened(value, opening) for name, value in opening.held(x).items()}

    def with_children(self, children: dict[str, Any]) -> Instance:
        """Return what stands for the object with other attributes."""
        made = copy(self)
        made.held = dict(children)
        return made


def _flatten(instance: Instance) -> tuple[list[Any], Any, tuple[str, ...]]:
    names = tuple(instance.held)
    return list(instance.held.values()), (type(instance.object), names), names


def note_made(x: Any) -> Any:
    """Return an object that was made just now, noted if that is in a branch or turn."""
    if in_region():
        require_trace("an object").outermost().copies.setdefault(id(x), [x])
    return x


def _unflatten(form: tuple[type, tuple[str, ...]], children: Any) -> Any:
    """Return an object of the class that holds what is given."""
    kind, names = form
    made = object.__new__(kind)
    hold(made, zip(names, children, strict=True))
    return note_made(born(made))


optree.register_pytree_node(
    Instance,  # ty: ignore[invalid-argument-type]
    _flatten,  # ty: ignore[invalid-argument-type]
    _unflatten,  # ty: ignore[invalid-argument-type]
    namespace=tree.NAMESPACE,
)


def is_plain(x: Any) -> bool:
    """Whether an object is what its attributes are."""
    kind = type(x)
    if not can_be_chosen(x) or isinstance(x, type) or not has_attributes(x):
        return False
    own = kind.__setattr__, kind.__getattribute__, getattr(kind, "__getattr__", None)
    return not any([isinstance(each, FunctionType) for each in own])


def _is_instance(x: Any) -> bool:
    return type(x) is Instance


def is_new(x: Any) -> bool:
    """Whether an object was made in a branch or turn, where it is another one each time."""
    return type(x) not in NUMBERS and id(x) in require_trace("an object").outermost().copies


def new_classes(
    value: Any, regions: Sequence[Region] = (), which: Callable[[Any], bool] | None = None
) -> frozenset[type]:
    """Return the classes of the objects in a value that were made in one of some regions.

    Or of those that ``which`` says. Of objects that hold themselves, by way of others, there are
    none.
    """
    found: set[type] = set()
    variants: list[Variant] = []

    def is_tree(held: Any, around: tuple[Any, ...]) -> bool:
        for leaf in tree.flatten(held, _is_instance)[0]:
            if type(leaf) in NUMBERS:
                continue
            if type(leaf) is Variant:
                variants.append(leaf)
                kinds = _kinds_of(leaf)
                if len(kinds) == 1 and new_classes(list(leaf._lw_among), regions, which) >= kinds:
                    found.update(kinds)
                continue
            x = leaf.object if type(leaf) is Instance else leaf
            if which(x) if which else any([region.has_born(x) for region in regions]):
                if not is_plain(x):
                    continue
                if any([x is other for other in around]):
                    return False
                found.add(type(x))
                if not is_tree(list(held_by(x).values()), (*around, x)):
                    return False
        return True

    if not is_tree(value, ()):
        return frozenset()
    opened = [x for each in variants if _kinds_of(each) <= found for x in each._lw_among]
    return frozenset() if opened and _hold_themselves(opened) else frozenset(found)


def _hold_themselves(objects: Sequence[Any]) -> bool:
    """Whether one of some objects, or what they hold, holds itself by way of others."""
    path: set[int] = set()
    done: set[int] = set()
    stack = [(x, False) for x in objects]
    while stack:
        x, is_left = stack.pop()
        if is_left:
            path.discard(id(x))
            done.add(id(x))
        elif id(x) in path:
            return True
        elif id(x) not in done and type(x) not in NUMBERS and is_plain(x):
            path.add(id(x))
            held = tree.flatten(list(held_by(x).values()))[0]
            stack += [(x, True), *[(each, False) for each in held]]
    return False


def opened(value: Any, opening: Opening) -> Any:
    """Return a value with some objects as containers of their attributes."""
    if not opening.classes:
        return value
    leaves, structure = tree.flatten(value)
    found = [_opened_leaf(leaf, opening) for leaf in leaves]
    if all([x is leaf for x, leaf in zip(found, leaves, strict=True)]):
        return value
    return tree.unflatten(structure, found)


def _opened_leaf(leaf: Any, opening: Opening) -> Any:
    if opening.opens(leaf):
        return Instance(leaf, opening)
    if type(leaf) is not Variant or _kinds_of(leaf) - opening.classes or not _kinds_of(leaf):
        return leaf
    objects = [x for x in leaf._lw_among if x is not None]
    if len({(type(x), tuple(held_by(x))) for x in objects}) > 1:
        return leaf
    whole = Instance(_one_of(leaf, objects, opening), opening)
    if len(objects) == len(leaf._lw_among):
        return whole
    return ON_VARIANTS["optional"](whole, ON_VARIANTS["is not none"](leaf))


def _kinds_of(variant: Variant) -> frozenset[type]:
    return frozenset(map(type, variant._lw_among)) - {NoneType}


def _one_of(variant: Variant, objects: Sequence[Any], opening: Opening) -> Any:
    """Return an object that holds what the one of a variant holds."""
    kind = type(objects[0])
    made = note_made(born(object.__new__(kind)))
    tags = {id(x): tag for tag, x in variant._lw_among.by_tag.items()}
    own = Variant(variant._lw_tag, Alternatives({tags[id(x)]: x for x in objects}))
    held = {tags[id(x)]: opening.held(x) for x in objects}
    for name in held[tags[id(objects[0])]]:
        values = [held[tag][name] for tag in own._lw_among.by_tag]
        value = ON_VARIANTS["chosen"](own, values, f"the attribute {name!r}")
        hold(made, [(name, as_it_is(value, values) if opening.is_left else value)])
    freeze_parts([made, *objects])
    _note_copy(made, objects)
    return made


def as_it_is(value: Any, values: Sequence[Any]) -> Any:
    """Return an array that was chosen, with what it holds at the end of a region.

    The region is closed, and what it changed undone: nothing can say any more where the array is.
    """
    if type(value) is not Tensor or not value.shape:
        return value
    found = Tensor(require_trace("an array"), read(value))
    arrays = [each for each in values if type(each) is Tensor]
    watch(found, Shared(NAME, arrays, must_not=MAY_BE_ANOTHER))
    return found


def _note_copy(made: Any, objects: Sequence[Any], region: Region | None = None) -> None:
    """Note that an object, or a container that one holds, may be one of others."""
    for x in objects:
        known = require_trace("an object").outermost().copies.setdefault(id(x), [x])
        visible = [] if region is not None and region.has_born(x) else [x]
        # Of those in regions that are closed, nobody has any but what they were joined to.
        copies = [c for c in known[1:] if is_made_here(c) or (region and region.has_born(c))]
        for twin in (*visible, *twins(x, region), *copies):
            note_twins(made, twin, NAME)
        lend_like([made], (x, *twins(x, region), *copies), region)
        known.append(made)


def objects_of(value: Any, opening: Opening) -> list[Any]:
    """Return the objects in a value that are opened, or would be, in the order of its tree."""
    found = []
    for leaf in tree.flatten(value, _is_instance)[0] if opening.classes else ():
        is_opened = type(leaf) is Instance
        x, own = (leaf.object, leaf.opening) if is_opened else (leaf, opening)
        if is_opened or opening.opens(x):
            held = leaf.held if is_opened else own.held(x)
            found += [x, *objects_of(list(held.values()), own)]
    return found


def held_as_left(value: Any, as_left: Callable[..., Any], sealed: set[int]) -> set[int]:
    """Let opened objects in a value hold what a region left in the containers that they hold.

    Returns the ids of what stands for them. ``as_left`` says of a container what was left in it,
    without what is `sealed`.
    """
    instances = [leaf for leaf in tree.flatten(value, _is_instance)[0] if type(leaf) is Instance]
    for instance in instances:
        for name, held in instance.held.items():
            within = held_as_left(held, as_left, sealed)
            instance.held[name] = as_left(held, sealed=sealed | within)
    return set(map(id, instances))


def parts_of(value: Any, opening: Opening, sealed: Collection[int] = ()) -> list[Any]:
    """Return the objects in a value as `objects_of` does, each with the containers it holds.

    Without those, by their ids, that are always the same.
    """
    found = []
    for leaf in tree.flatten(value, _is_instance)[0] if opening.classes else ():
        is_opened = type(leaf) is Instance
        x, own = (leaf.object, leaf.opening) if is_opened else (leaf, opening)
        if is_opened or opening.opens(x):
            held = list((leaf.held if is_opened else own.held(x)).values())
            found += [x, *tree.containers(held, sealed)[1:], *parts_of(held, own, sealed)]
    return found


def in_place(
    values: Sequence[Any], classes: frozenset[type], regions: Sequence[Region | None]
) -> Opening:
    """Return what opens the objects of some classes in values that branches or turns left.

    One of no region is from before a loop. Where there is but one value, those stay what they are
    that were there before its region.
    """
    kept: dict[int, Any] = {}
    others: set[int] = set()

    def look(ways: Sequence[Any], openings: Sequence[Opening]) -> None:
        first = ways[0]
        if all([each is first for each in ways[1:]]):
            found = [x for x in tree.flatten(first)[0] if type(x) in classes]
            for x in found:
                is_new = any([region is not None and region.has_born(x) for region in regions])
                if len(ways) > 1 or not is_new:
                    kept[id(x)] = x
                else:
                    others.add(id(x))
                    look([list(opening.held(x).values()) for opening in openings], openings)
            return
        if all([type(each) in classes for each in ways]):
            others.update(map(id, ways))
            parts: list[Any] = [o.held(x) for x, o in zip(ways, openings, strict=True)]
        else:
            parts = [tree.children_of(each) or {} for each in ways]
        if not parts[0] or any([each.keys() != parts[0].keys() for each in parts]):
            others.update([id(x) for each in ways for x in tree.flatten(each)[0]])
            return
        for name in parts[0]:
            look([each[name] for each in parts], openings)

    whole = Opening(classes)
    look(values, [whole if region is None else whole.at_end(region) for region in regions])
    return whole._replace(in_place=frozenset(kept.keys() - others))


def freeze(objects: Sequence[Any]) -> None:
    """See to it that objects, and the lists and dicts that they hold, stay as they are."""
    for x in objects:
        lend([x, *tree.containers(list(held_by(x).values()))[1:]], NAME)


def freeze_parts(objects: Sequence[Any]) -> None:
    """See to it that the lists and dicts that objects hold stay as they are."""
    for x in objects:
        lend(tree.containers(list(held_by(x).values()))[1:], NAME)


def objects_as_left(value: Any, region: Region, classes: frozenset[type]) -> Any:
    """Return a value with objects of some classes that a region has changed as it has left them.

    Its changes are undone by then. These are others, and those from before stay as they are.
    """
    opening = Opening(classes).at_end(region)
    if not opening.left:
        return value
    found = objects_of(value, opening)
    for leaf in tree.flatten(value)[0]:
        found += leaf._lw_among if type(leaf) is Variant else ()
    if opening.left.keys().isdisjoint(map(id, found)):
        return value
    with resumed(region):
        leaves, structure = tree.flatten(opened(value, opening))
        freeze([x for x in found if opening.opens(x)])
        return tree.unflatten(structure, leaves)


def note_joined(made: Sequence[Any], sources: Sequence[Sequence[Any]], regions: Any) -> None:
    """Note for each object that branches were joined to what it may be.

    Those of a branch that are not as many, as a list there is an array, may each be any of them.
    """
    for source, region in zip(sources, regions, strict=True):
        for k, x in enumerate(made):
            _note_copy(x, source[k : k + 1] if len(source) == len(made) else source, region)


def with_held(value: Any, region: Region) -> Any:
    """Return a value with what is held by the objects in it that were made in what is traced."""
    if type(value) in NUMBERS:
        return value
    found: dict[int, Any] = {}
    stack = list(tree.flatten(value)[0])
    while stack:
        x = stack.pop()
        if type(x) in NUMBERS or id(x) in found:
            continue
        if (region.has_born(x) or is_made_here(x)) and is_plain(x):
            found[id(x)] = x
            stack += tree.flatten(list(held_by(x).values()))[0]
    return [value, *[list(held_by(x).values()) for x in found.values()]] if found else value


def kept_by_value(value: Any, opening: Opening) -> list[Any]:
    """Return the objects of which what they hold is kept: those opened, and all that one may be."""
    found: dict[int, Any] = {}
    stack = [value] if opening.classes else []
    while stack:
        for leaf in tree.flatten(stack.pop(), _is_instance)[0]:
            objects: list[Any] = []
            if type(leaf) is Instance:
                objects = [leaf.object]
                stack.append(list(leaf.held.values()))
            elif type(leaf) is Variant:
                is_opened = not _kinds_of(leaf) - opening.classes
                objects = [x for x in leaf._lw_among if is_opened and x is not None]
            elif opening.opens(leaf):
                objects = [leaf]
            new = {id(x): x for x in objects if id(x) not in found}
            found |= new
            stack += [list(held_by(x).values()) for x in new.values()]
    return list(found.values())


def may_be_one_of_joined(first: Any, second: Any) -> bool:
    """Whether two objects may be one, as one of them was joined of several."""
    lent = require_trace("an object").lent
    known = [lent[id(x)] for x in (first, second) if id(x) in lent]
    return any([each.is_kept for each in known]) or any(
        [x is y for x in twins(first) for y in (second, *twins(second))]
    )


ON_VARIANTS["made"] = note_made
