"""Lists, dicts and objects that branches or iterations leave, joined to new ones: which may be one.

A variable is joined of what each branch left in it, by value. Which objects that were says which of
the joined ones may be one object, and which may be an object that others have as well
(`lanewise.trace.lending`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from lanewise.autograph.carried import Variable
from lanewise.autograph.instances import parts_of
from lanewise.autograph.lists.grown import is_own, with_sources
from lanewise.autograph.state import DONT_CARE, NUMBERS, Maybe, kind_of
from lanewise.trace import tree
from lanewise.trace.lending import keep, keeper_of, kept_from_outside, lend, lend_like
from lanewise.trace.regions import Region, born, is_made_here, note_twins, twins

#: For each joined container those that it may be in one branch, or turn.
Sources = Mapping[Any, Collection[Any]]


def objects_in(value: Any, sealed: Collection[int] = (), is_place: bool = True) -> list[Any]:
    """Return the containers in what a variable holds, without those that are always the same.

    Of all that a container holds, which is no `is_place`, those within; and of a list that nobody
    else can have.
    """
    value = value.value if isinstance(value, Maybe) else value
    if type(value) in NUMBERS or kind_of(value) is not None:
        return []
    found = tree.containers(value, sealed)
    is_within = found and found[0] is value and (not is_place or is_own(value))
    return found[1:] if is_within else found


def _held(variable: Variable, value: Any) -> list[Any]:
    """Return the containers in what a variable holds, and the objects that are joined as such."""
    found = objects_in(value, variable.sealed, variable.is_object)
    value = value.value if isinstance(value, Maybe) else value
    return found + parts_of(value, variable.opened, variable.sealed)


def together(sources: Sources, region: Region | None = None) -> set[frozenset[Any]]:
    """Return pairs of joined containers that may be one."""
    users: dict[int, set[Any]] = {}
    for key, containers in sources.items():
        for each in containers:
            users.setdefault(id(each), set()).add(key)
    return {
        frozenset((key, other))
        for key, containers in sources.items()
        for each in containers
        for own in (each, *twins(each, region))
        for other in users.get(id(own), ())
        if other != key
    }


def outer(containers: Iterable[Any], region: Region) -> dict[int, Any]:
    """Return what containers may be that was not made in a region, by id."""
    found = [own for each in containers for own in (each, *twins(each, region))]
    return {id(own): own for own in found if not region.has_born(own)}


class _Objects:
    """Containers that are joined of others.

    Some of these are in the place of others, as these were at the end of a region: `origins`.
    """

    def __init__(self) -> None:
        self.origins: dict[int, tuple[Any, Any]] = {}

    def replace(self, old: Sequence[Any], new: Sequence[Any]) -> None:
        """Note values that stand for others, in another form."""
        for one, other in zip(old, new, strict=True):
            for container, each in tree.replaced(one, other):
                self.origins[id(container)] = container, self.originals([each])[0]

    def in_place_of(self, containers: Iterable[Any]) -> list[Any]:
        """Return the objects that containers are, or are in the place of."""
        return [self.origins.get(id(each), (each, each))[1] for each in containers]

    def originals(self, containers: Iterable[Any]) -> list[Any]:
        """Return the objects that containers are, or are in the place of, and what is in them."""
        known = self.in_place_of(containers)
        found = with_sources(known)
        if len(found) == len(known):
            return known
        return self.in_place_of(found)


class JoinedObjects(_Objects):
    """Containers that a merge of branches makes, with what they may be in each branch."""

    def __init__(self, regions: Sequence[Region]) -> None:
        super().__init__()
        self._regions = regions
        self._made: list[tuple[Any, str, list[list[Any]]]] = []
        self._known: dict[tuple[int, ...], tuple[Any, Sequence[Any]]] = {}

    def known(self, ends: Sequence[Any]) -> Any:
        """Return the value of another variable in which all branches left the same; or None."""
        return self._known.get(tuple(map(id, ends)), (None,))[0]

    def add(
        self, name: str, value: Any, ends: Sequence[Any], seen: Sequence[Any],
        sealed: Collection[int], is_place: bool,
    ) -> None:  # fmt: skip
        """Note a value that was made of what branches left in a variable, `ends`.

        They are as in `seen` at the ends of the branches.
        """
        self._known[tuple(map(id, ends))] = value, ends
        found = objects_in(value, sealed, is_place)
        sources: list[list[list[Any]]] = [[] for _ in found]
        for end in seen if found else ():
            held = objects_in(end, sealed, is_place)
            is_aligned = len(held) == len(found)
            for k, each in enumerate(sources):
                each.append(self.originals(held[k : k + 1] if is_aligned else held))
        self._made += [(made, name, each) for made, each in zip(found, sources, strict=True)]

    def note(self) -> None:
        """Note which of them may be one, now that all are made."""
        pairs = []
        for branch, region in enumerate(self._regions):
            sources = {key: made[2][branch] for key, made in enumerate(self._made)}
            for (made, name, _), own in zip(self._made, sources.values(), strict=True):
                pairs += [(made, each, name) for each in outer(own, region).values()]
                lend_like([made], own, region)
            for first, second in map(sorted, together(sources, region)):
                made, name, _ = self._made[first]
                pairs.append((made, self._made[second][0], name))
        for pair in pairs:
            note_twins(*pair)


class CarriedObjects(_Objects):
    """Containers that a loop hands on, with what they may be at the beginning of a turn."""

    def __init__(self) -> None:
        super().__init__()
        self._together: set[frozenset[Any]] = set()
        self._outer: dict[Any, dict[int, Any]] = {}
        #: By the ids of those at the beginning of the turn, which they are.
        self._begun: dict[int, Any] = {}
        #: Objects that the last turn left of which nobody noted where they were made, by their ids.
        self._unknown: dict[Any, set[int]] = {}
        #: Who keeps what some of them hold.
        self._keepers: dict[Any, str] = {}
        #: By their ids, containers from outside that somebody keeps after a turn.
        self._kept: dict[int, Any] = {}
        self._foreign: dict[int, Any] = {}

    def begin(self, held: Sequence[tuple[Variable, Any]]) -> None:
        """Begin to record a turn, in which variables hold some values; see `note`."""
        self.note(held)
        keep(self._kept)

    def note(self, held: Sequence[tuple[Variable, Any]]) -> None:
        """Note which of the containers that variables hold now may be one, or what others have."""
        made: dict[Any, tuple[Any, str]] = {}
        self._begun = {}
        entries: dict[Any, list[Any]] = {}
        for variable, value in held:
            found = _held(variable, value)
            first = _held(variable, variable.entry)
            first = [variable.origins.get(id(x), (x, x))[1] for x in first]
            for k, each in enumerate(found):
                made[variable, k] = each, variable.name
                self._begun[id(each)] = variable, k
                own = first[k : k + 1] if len(first) == len(found) else first
                entries[variable, k] = with_sources(own)
                born(each) if variable.is_carried else each
        self._together |= together(entries)
        others = {key: [y for x in own for y in (x, *twins(x))] for key, own in entries.items()}
        for key, (each, name) in made.items():
            for other in (*others[key], *self._outer.get(key, {}).values()):
                note_twins(each, other, name)
            keeper = self._keepers.get(key) or keeper_of(entries[key])
            if keeper is not None:
                lend([each], keeper)
        for first, second in self._together:
            if first in made and second in made:
                note_twins(made[first][0], made[second][0], made[first][1])

    def meet(self, region: Region, ends: Sequence[tuple[Variable, Any]]) -> bool:
        """Widen what containers may be by what a turn left; return whether that was known."""
        sources: dict[Any, list[Any]] = {}
        for variable, end in ends:
            count = len(_held(variable, variable.begun))
            end = end if variable.ended is DONT_CARE else variable.ended
            found = _held(variable, end)
            found = [variable.origins.get(id(x), (x, x))[1] for x in found]
            for k in range(count):
                own = found[k : k + 1] if len(found) == count else found
                sources[variable, k] = self.originals(own)
        before = self._known()
        self._together |= together(sources, region)
        held: dict[Any, set[Any]] = {}
        for key, containers in sources.items():
            may_be = [y for x in containers for y in (x, *twins(x, region))]
            held[key] = {self._begun[id(x)] for x in may_be if id(x) in self._begun}
            self._outer.setdefault(key, {}).update(self._from_outside(key, containers, region))
            keeper = keeper_of(containers, region)
            if keeper is not None:
                self._keepers.setdefault(key, keeper)
        own, foreign = kept_from_outside(region)
        self._kept |= own
        # What library code makes is another object whenever the turn is recorded.
        self._kept |= {key: x for key, x in foreign.items() if key in self._foreign}
        self._foreign = foreign
        while True:  # what turns like this one make of that
            known = self._known()
            self._go_on(held)
            if known == self._known():
                return before == known

    def _from_outside(self, key: Any, containers: Iterable[Any], region: Region) -> dict[int, Any]:
        """Return what containers may be that was not made in the turn, by id.

        What library code makes is not noted. It is another object whenever the turn is recorded,
        which what was there before is not.
        """
        found, known = outer(containers, region), self._outer.get(key, {})
        unknown = {i: x for i, x in found.items() if i not in known and not is_made_here(x)}
        if unknown and key in self._unknown and self._unknown[key].isdisjoint(found):
            found = {i: x for i, x in found.items() if i not in unknown}
        self._unknown[key] = set(unknown)
        return found

    def _known(self) -> tuple[int, ...]:
        outer = sum(map(len, self._outer.values()))
        return len(self._together), outer, len(self._keepers), len(self._kept)

    def _go_on(self, held: Mapping[Any, set[Any]]) -> None:
        """Widen what containers may be by a turn that hands on those it began with, as `held`."""
        users: dict[Any, set[Any]] = {}
        for key, begun in held.items():
            for each in begun:
                users.setdefault(each, set()).add(key)
                self._outer[key].update(self._outer.get(each, {}))
                if each in self._keepers:
                    self._keepers.setdefault(key, self._keepers[each])
        for first, second in map(tuple, list(self._together)):
            pairs = product(users.get(first, ()), users.get(second, ()))
            self._together |= {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
