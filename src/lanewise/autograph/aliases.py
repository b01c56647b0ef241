"""Arrays that may share memory after branches and loops that follow the data.

``row = a[0] if c else a[1]`` is a view of one place or of another, which a graph of values cannot
follow. Reading such an array is right as long as nobody writes; writing to it, or to what it may
show, is refused by name rather than lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from lanewise.autograph.state import Absent, Maybe, kind_of
from lanewise.errors import ControlFlowError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.ragged import Ragged
from lanewise.trace.regions import Region, Slot, StateSlot, TensorSlot, set_guard
from lanewise.trace.scratch import Scratch, settled
from lanewise.trace.tensor import Tensor
from lanewise.trace.views import root_of


class Alias:
    """Guards an array that may be (a view of) others, each with what it held when it was joined.

    Once it is written to, nobody knows what those others hold. Where it shares memory with another
    joined variable (`frozen`), it cannot be written to.
    """

    __slots__ = ("frozen", "name", "shown")

    def __init__(self, name: str, shown: Iterable[Tensor], frozen: bool) -> None:
        self.name = name
        self.shown = [(root, root._value, root._guard) for root in shown]
        for root, _, _ in list(self.shown):
            guard = root._guard.beneath if isinstance(root._guard, Absent) else root._guard
            self.shown += guard.shown if isinstance(guard, Alias) else ()
        self.frozen = frozen

    def reading(self) -> None:
        """Raise if one of the arrays that may be shown has changed since."""
        for root, seen, guard in self.shown:
            if isinstance(root._guard, Stale) and root._guard is not guard:
                root._guard.reading()
            if root._value is not seen:
                raise ControlFlowError(
                    f"{self.name} may be (a view of) an array that was written to since"
                    f"{at(here())}: which one depends on the data. Assign a copy, with .copy()"
                )

    def writing(self, tensor: Tensor) -> None:
        """Give up the arrays that may be shown; raise where that is not possible."""
        if self.frozen:
            raise ControlFlowError(
                f"{self.name} is written to{at(here())}, and may be (a view of) another array: "
                "which one depends on the data. Assign a copy, with .copy()"
            )
        self.reading()
        for root, _, _ in self.shown:
            make_stale(root, self.name)
        set_guard(tensor, None)


class Stale:
    """Guards an array that was written to under another name, for some examples or turns only."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def reading(self) -> NoReturn:
        """Raise: nobody knows what the array holds."""
        raise ControlFlowError(
            f"an array that {self.name} was once is used{at(here())} after it was written to "
            "under that name, for some examples or turns of a loop only. Assign a copy there, with "
            ".copy()"
        )

    def writing(self, tensor: Tensor) -> NoReturn:
        """Raise, as for reading."""
        self.reading()


def watch(tensor: Tensor, alias: Alias) -> None:
    """Guard a tensor made just now, which may be None for some examples already."""
    if isinstance(tensor._guard, Absent):
        tensor._guard.beneath = alias
    else:
        tensor._guard = alias


def make_stale(root: Tensor, name: str) -> None:
    """Let every further use of an array raise, since nobody knows what it holds."""
    set_guard(root, Stale(name))


def join_guards(regions: Iterable[Region]) -> None:
    """Guard tensors after branches or turns as one of these left them guarded."""
    for region in regions:
        for tensor, _, guard in region.guards.values():
            if not isinstance(tensor._guard, Stale):
                set_guard(tensor, guard)


def settle(value: Any) -> Any:
    """Return what a variable holds, arrays made in the function as tensors.

    For a variable that becomes one of several: what shares memory with it must be known.
    """
    if isinstance(value, Scratch):
        return settled(value)
    if isinstance(value, Maybe):
        return Maybe(value.name, settle(value.value), value.flag)
    if isinstance(value, Ragged):
        return value.in_front()
    if kind_of(value) is None:
        leaves, structure = tree.flatten(value)
        if any(leaf is not value and isinstance(leaf, (Scratch, Ragged)) for leaf in leaves):
            return tree.unflatten(structure, [settle(leaf) for leaf in leaves])
    return value


def arrays_in(value: Any) -> list[Tensor]:
    """Return the tensors with dimensions in what a variable holds."""
    if type(value) is Tensor:
        return [value] if value.shape else []
    if isinstance(value, Maybe):
        return arrays_in(value.value)
    if isinstance(value, Ragged):
        return [value.data] if value.origin is None else [value.data, value.origin]
    if kind_of(value) is not None:
        return []
    leaves = tree.flatten(value)[0]
    if len(leaves) == 1 and leaves[0] is value:
        return []
    return [x for leaf in leaves for x in arrays_in(leaf)]


def is_place(slot: Slot) -> bool:
    """Whether a slot is a place that holds objects, such as an entry of a list."""
    return not isinstance(slot, (TensorSlot, StateSlot))


def left_by(region: Region) -> dict[Any, tuple[Slot, Any]]:
    """Return what the open region has changed, and what is there now, settled."""
    found = {key: (slot, slot.get()) for key, (slot, _) in region.changes.items()}
    return {
        key: (slot, settle(value) if is_place(slot) else value)
        for key, (slot, value) in found.items()
    }


def mark_aliases(
    names: Sequence[str],
    regions: Sequence[Any],
    ends: Sequence[Sequence[Any] | None],
    state: Sequence[Any],
    origins: Mapping[int, Tensor] = MappingProxyType({}),
) -> None:
    """Mark joined variables that may share memory with each other, or with what is outside.

    Parameters
    ----------
    names, state
        The variables, and what they hold after having been joined.
    regions, ends
        The branches, and what the variables held at the end of each (None: it never ended).
    origins
        By the id of a tensor that a branch was given, what it stood for outside.
    """
    users: dict[int, set[int]] = {}
    roots: list[dict[int, Tensor]] = []
    for position in range(len(state)):
        own: dict[int, Tensor] = {}
        for end in ends:
            for array in arrays_in(end[position]) if end is not None else ():
                root = root_of(array)
                root = origins.get(id(root), root)
                own[id(root)] = root
                users.setdefault(id(root), set()).add(position)
        roots.append(own)
    for position, (name, value) in enumerate(zip(names, state, strict=True)):
        before = [array for end in ends if end is not None for array in arrays_in(end[position])]
        fresh = [t for t in arrays_in(value) if not any(t is old for old in before)]
        if not fresh:
            continue
        inner = [r for r in roots[position].values() if any(r._trace is g for g in regions)]
        outer = [r for r in roots[position].values() if not any(r._trace is g for g in regions)]
        frozen = any(len(users[id(root)]) > 1 for root in (*inner, *outer))
        if outer or frozen:
            for tensor in fresh:
                watch(tensor, Alias(name, outer, frozen))
