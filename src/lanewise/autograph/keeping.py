"""What lists, dicts, attributes and variables hold for the examples that raised.

Where a part of the examples has raised what a `try` catches, the others go on: they may make a list
longer, or put another kind of thing in its place. So what a place holds behind a join is what it
holds for those that go on. What it held for the others, when they raised, is kept by the attempt
until their handler runs, under a number for each structure that it has been met with. The number
is a part of the kind of exception (`lanewise.autograph.attempts.Kind`), so that each handler is
run for examples in which all has one structure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from lanewise.autograph.aliases import all_roots, arrays_in, settle, sharing
from lanewise.autograph.instances import is_new, is_plain
from lanewise.autograph.sequences import Items
from lanewise.autograph.state import (
    DONT_CARE,
    Maybe,
    Undefined,
    flatten,
    is_same,
    kind_of,
    present,
)
from lanewise.trace import tree
from lanewise.trace.attributes import held_by
from lanewise.trace.regions import Region, Watched
from lanewise.trace.slots import (
    AttributeSlot,
    CellSlot,
    ContainerSlot,
    HeldSlot,
    ItemSlot,
    Slot,
)
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state

#: By the name of a variable, or the number of a place: the number of its structure, if not 0.
Shapes = tuple[tuple[str, int], ...]
#: What holds no containers.
_SIMPLE = (str, bytes, range, slice, type, type(DONT_CARE), Undefined, ModuleType, np.ndarray)


class Keeper:
    """What is kept for the examples that raised: a part of an attempt.

    Attributes
    ----------
    slots : dict of key to (str, Slot)
        The places that are kept, and what each is called here.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.slots: dict[Any, tuple[str, Slot]] = {}
        self._models: dict[str, list[Any]] = {}
        self._titles: dict[str, str] = {}

    def enter(self, label: str, title: str) -> None:
        """Begin to keep a variable, or a place."""
        self._models[label] = [DONT_CARE]
        self._titles[label] = title
        setattr(self.owner, _name(label, 0), DONT_CARE)

    def number(self, label: str, value: Any) -> int:
        """Return the number of a structure."""
        models = self._models[label]
        for number, model in enumerate(models):
            if are_alike(model, value):
                if _is_open(model):
                    models[number] = value
                return number
        models.append(value)
        setattr(self.owner, _name(label, len(models) - 1), DONT_CARE)
        return len(models) - 1

    def slot(self, label: str, number: int) -> HeldSlot:
        """Return the place where a value of a structure is kept."""
        return HeldSlot(self.owner, _name(label, number), self._titles[label])

    def kept(self, label: str, shapes: Shapes) -> Any:
        """Return what is kept for a kind of exception."""
        return getattr(self.owner, _name(label, dict(shapes).get(label, 0)))

    def track(self, slot: Slot, before: Any) -> str:
        """Keep a place from now on, if it is not yet; ``before`` is what it held until now."""
        if slot.key not in self.slots:
            label = f"place {len(self.slots)}"
            self.slots[slot.key] = label, slot
            self.enter(label, slot.name)
            self._models[label] = [before]
        return self.slots[slot.key][0]

    def track_changed(self, base: Any) -> None:
        """Keep the places that the regions have changed which are open within `base`."""
        chain = []
        trace = state.trace
        while trace is not None and trace is not base:
            chain.append(trace)
            trace = trace.parent
        for region in reversed(chain):
            if isinstance(region, Region):
                for slot, _ in region.changes.values():
                    if is_kept(slot):
                        whole = whole_of(slot)
                        known = region.changes.get(whole.key)
                        self.track(whole, whole.get() if known is None else known[1])

    def restore(self, shapes: Shapes) -> None:
        """Let places hold what they held when a kind of exception was raised."""
        region = state.trace
        assert isinstance(region, Region)
        for label, slot in self.slots.values():
            value = self.kept(label, shapes)
            if value is not DONT_CARE:
                region.log(slot)
                slot.set(value)

    def keep(self, fork: Any, raised: list[list[Shapes]]) -> None:
        """Keep what branches leave for the examples that raised in them.

        ``raised`` are for each branch the structures that go with what may have been raised there.
        """
        changed = [slot for changes in fork.changes for slot, _ in changes.values()]
        slots = {
            whole.key: whole for slot in changed if is_kept(slot) for whole in [whole_of(slot)]
        }
        for key, slot in slots.items():
            before = living(settle(slot.get()))
            label = self.track(slot, before)
            for branch, kinds in enumerate(raised):
                changes = fork.changes[branch]
                end = changes[key][1] if key in changes else before
                for number in {dict(shapes).get(label, 0) for shapes in kinds}:
                    held = self.slot(label, number)
                    if _left(changes, held) is DONT_CARE:
                        changes[held.key] = held, end
                        if key not in changes:
                            _hold(fork.regions[branch], changes, before)


def _name(label: str, number: int) -> str:
    return f"held {label} {number}"


def _left(changes: dict[Any, tuple[Slot, Any]], slot: Slot) -> Any:
    """Return what a branch leaves in a place."""
    return changes[slot.key][1] if slot.key in changes else slot.get()


def _hold(region: Region, changes: dict[Any, tuple[Slot, Any]], value: Any) -> None:
    arrays = arrays_in(value)
    if any(("tensor", id(root)) in changes for root in all_roots(arrays)):
        region.hold(changes, arrays, present)


def is_kept(slot: Slot) -> bool:
    """Whether what a place holds may be another thing for the examples that raised."""
    kinds = (ContainerSlot, ItemSlot, AttributeSlot, CellSlot)
    return isinstance(slot, kinds) and not isinstance(slot, HeldSlot)


def whole_of(slot: Slot) -> Slot:
    """Return what is kept of a place: of an entry, all that its list or dict holds."""
    if isinstance(slot, ItemSlot) and isinstance(slot.owner, (list, dict, deque)):
        return ContainerSlot(slot.owner)
    return slot


def keep(fork: Any) -> None:
    """Keep what branches that are about to be joined leave for the examples that raised in them.

    What goes on behind the join holds nothing of branches in which all examples have raised.
    """
    slots = {key: slot for changes in fork.changes for key, (slot, _) in changes.items()}
    owners = {id(s.owner): s.owner for s in slots.values() if isinstance(s, HeldSlot)}
    for attempt in owners.values():
        attempt.joins(fork)
    gone = {key: (s, DONT_CARE) for key, s in slots.items() if is_kept(s)} if owners else {}
    for is_over, changes in zip(fork.is_over, fork.changes, strict=True):
        if is_over:
            changes.update(gone)


def unreachable(region: Region, base: Any, count: int, ends: Any) -> list[Slot]:
    """Return what the open region changed of containers and objects that nobody has behind it.

    Of those made in `base`, all but the first `count`, since that many were made when the statement
    began that ends with the region. It leaves `ends` in variables: nothing else can hold them but
    what was made before, and what else was changed.
    """
    own = list(base.made()) if isinstance(base, Watched) else []
    older, ids = own[:count], set(map(id, own[count:]))
    slots = [slot for slot, _ in region.changes.values() if is_kept(slot)]
    places = (ContainerSlot, AttributeSlot)
    asked = [
        s
        for s in slots
        if isinstance(s, places) and (id(s.owner) in ids or _is_made_within(s.owner, base))
    ]
    if not asked:
        return []
    outer = [slot for slot, _ in base.changes.values() if is_kept(slot)]
    rest = [ends, *older, *[s.get() for s in (*slots, *outer) if id(s.owner) not in ids]]
    reached: set[int] = set()
    while rest:
        node = rest.pop()
        if id(node) in reached:
            continue
        reached.add(id(node))
        if isinstance(node, Maybe):
            rest.append(node.value)
        elif isinstance(node, dict):
            rest += node.values()
        elif isinstance(node, (list, tuple, set, frozenset, deque)):
            rest += node
        elif isinstance(node, (FunctionType, MethodType)):
            return []  # which has variables
        elif is_plain(node) or isinstance(node, Items):
            rest += held_by(node).values()
        elif kind_of(node) is None and node is not None and not isinstance(node, _SIMPLE):
            return []  # an object, which may hold whatever it likes
    return [slot for slot in asked if id(slot.owner) not in reached]


def _is_made_within(x: Any, base: Any) -> bool:
    """Whether an object was made in a branch or turn within what is traced."""
    around = base
    while around is not None:
        if isinstance(around, Watched) and around.has_born(x):
            return False
        around = around.parent
    return is_new(x)


def living(value: Any) -> Any:
    """Return what a place holds, unless it is of a region that was left: then nobody has it."""
    if type(value) is not Tensor and kind_of(value) is not None:
        return value
    chain = set()
    trace = state.trace
    while trace is not None:
        chain.add(id(trace))
        trace = trace.parent
    leaves = tree.flatten(value)[0]
    is_gone = any([type(x) is Tensor and not chain.issuperset(_traces(x)) for x in leaves])
    return DONT_CARE if is_gone else value


def _traces(tensor: Tensor) -> Iterator[int]:
    """Yield the ids of the traces that a tensor is of, not of those where it was read last."""
    while tensor._view is not None:
        yield id(tensor._view.home)
        tensor = tensor._view.base
    guard = sharing(tensor)
    yield id(tensor._trace if guard is None or not guard.is_copy else guard.home)


def _is_open(value: Any) -> bool:
    return value is DONT_CARE or value is None or isinstance(value, Undefined)


def are_alike(first: Any, second: Any) -> bool:
    """Whether a variable can hold one of two values as the data decide."""
    first = first.value if isinstance(first, Maybe) else first
    second = second.value if isinstance(second, Maybe) else second
    if first is second or _is_open(first) or _is_open(second):
        return True
    sealed = tree.lists_in_place([first, second])
    (leaves, structure), (others, other) = flatten(first, sealed), flatten(second, sealed)
    return structure == other and all(map(_are_leaves_alike, leaves, others))


def _are_leaves_alike(first: Any, second: Any) -> bool:
    kind, other = kind_of(first), kind_of(second)
    if kind is None or other is None:
        return first is second or is_same(first, second)
    return kind.shape == other.shape
