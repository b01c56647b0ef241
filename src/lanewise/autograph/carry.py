"""What passes from one turn of a recorded loop to the next: the carry, found as a fixed point.

The body is recorded with a guess of what each variable is. If the body leaves something else (a
float where there was an int, a value where there was none, an array that it changed), the guess
is widened, and the body is recorded again, until what comes out is what went in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanewise.autograph.aliases import (
    Shared,
    Stale,
    all_roots,
    arrays_in,
    as_left,
    is_place,
    join_guards,
    make_stale,
    mark_aliases,
    pairs_together,
    repeating,
    set_apart,
    settle,
    watch,
)
from lanewise.autograph.carried import Variable
from lanewise.autograph.history import History
from lanewise.autograph.lists.grown import (
    is_growing,
    is_held,
    list_of_slot,
    owned,
)
from lanewise.autograph.state import (
    DONT_CARE,
)
from lanewise.autograph.twins import CarriedObjects
from lanewise.errors import ControlFlowError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import LISTS
from lanewise.trace.lending import join_kept
from lanewise.trace.packed import (
    TurnsMade,
)
from lanewise.trace.regions import Region, resumed, set_guard, set_slot
from lanewise.trace.slots import CellSlot, ContainerSlot, Slot, TensorSlot
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import require_trace
from lanewise.trace.views import root_of


class Carry:
    """The variables of a loop, and the places that its body changes."""

    def __init__(
        self, names: Sequence[str], state: Sequence[Any], history: History, can_unroll: bool = False
    ) -> None:
        self._can_unroll = can_unroll
        self.variables = [
            Variable(name, entry, False, can_unroll)
            for name, entry in zip(names, state, strict=True)
        ]
        #: What was seen of the loop before: the first turn begins with that.
        self._history = history
        self.slots: dict[Any, tuple[Slot, Variable]] = {
            slot.key: (slot, self._place(slot, held, False)) for slot, held in history.changed()
        }
        self._guessed = list(self.slots)
        #: Which holders may share memory at the beginning of a turn, by their positions.
        self.together: set[frozenset[int]] = set()
        #: Which lists and dicts may be one.
        self._containers = CarriedObjects()
        #: What had another form after the last turn than before.
        self.unsettled = "what lists and dicts a variable may be"
        #: How many turns there were before the one that is recorded.
        self.turns = TurnsMade()
        #: What was written to under another name in the turns before.
        self.stale: dict[int, tuple[Tensor, Stale]] = {}

    def has_lost(self) -> bool:
        """Whether variables hold what only the turn knows that made it."""
        return any([variable.is_lost for variable in self.variables])

    @property
    def is_exact(self) -> bool:
        """Whether iterations leave what was there before them, of the same classes."""
        return all([variable.is_exact for variable in self._all()])

    def step(self, before: Sequence[Any], turns: int) -> None:
        """Have variables hold arrays that each turn makes longer, or shorter, by as much.

        Those are such that did so in the turn in front of which they held `before`.
        """
        for variable, value in zip(self.variables, before, strict=False):
            variable.step(value, turns, self.turns)

    def begin(
        self, count: Callable[[Region], Any] = lambda region: 0
    ) -> tuple[Region, list[Value], tuple[Any, ...]]:
        """Open a region for a turn; return it, its inputs, and what the variables hold.

        ``count`` says how many turns there were before.
        """
        region = Region(require_trace("a loop").function)
        region.is_turn, region.history = True, self._history
        self._history.begin()
        inputs: list[Value] = []
        region.open()
        self.turns.made = count(region)
        held = tuple([variable.begin(region, inputs) for variable in self.variables])
        for slot, variable in self.slots.values():
            region.log(slot)
            region.begun.add(slot.key)
            slot.set(variable.begin(region, inputs))
        for root, stale in self.stale.values():
            set_guard(root, stale)
        holders = self._holders()
        self._containers.begin([(variable, variable.begun) for variable in holders])
        self.together |= pairs_together([arrays_in(variable.entry) for variable in holders])
        for variable in holders:  # in the first turn they are what they were outside
            for tensor, _, entry in variable.fresh:
                if tensor.shape:
                    entries = [entry] if type(entry) is Tensor else []
                    shown = [*entries, *variable.shown, *variable.later.values()]
                    watch(tensor, Shared(variable.name, shown, must_not=variable.must_not))
        set_apart([variable.given() for variable in holders], self.together)
        return region, inputs, held

    def as_left(
        self, region: Region, left: dict[Any, tuple[Slot, Any]], ends: Sequence[Any] | None
    ) -> tuple[tuple[Any, ...] | None, dict[Any, tuple[Slot, Any]]]:
        """Return what variables and places hold after a turn, lists and dicts as it left them.

        Those that stay the same objects are places of their own, which the turn changed.
        """
        origins = self._containers.origins
        if ends is not None:
            pairs = zip(self.variables, ends, strict=True)
            ends = tuple([
                each if each is v.begun else as_left(each, region, left, v.sealed, origins)
                for v, each in pairs
            ])  # fmt: skip
        found = {}
        for key, (slot, value) in left.items():
            variable = self.slots[key][1] if key in self.slots else None
            before = region.changes[key][1] if variable is None else variable.begun
            sealed = tree.lists_within(before) if variable is None else variable.sealed
            is_same = value is before or not is_place(slot)
            found[key] = slot, value if is_same else as_left(value, region, left, sealed, origins)
        return ends, found

    def meet(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> bool:
        """Widen the carry to what a turn left; return whether it could hold that already.

        ``end`` is what the variables hold after the turn, None for a turn that never ends.
        """
        stable = self._drop_unchanged(left)
        if end is not None:
            for variable, value in zip(self.variables, end, strict=True):
                stable &= self._meets(variable, region, value)
        for key, (slot, value) in left.items():
            if key in self.slots:
                stable &= self._meets(self.slots[key][1], region, value)
            elif self._takes_list(region, slot, value):
                stable = False
            else:
                first = before = region.changes[key][1]
                if isinstance(slot, CellSlot):  # which may be a variable of the loop, too
                    first = next((v.entry for v in self.variables if v.begun is before), before)
                self.slots[key] = slot, self._place(slot, first, value is before)
                self._history.note(slot)
                stable = False
        return stable and self._meet_sharing(region, left, end)

    def _drop_unchanged(self, left: dict[Any, tuple[Slot, Any]]) -> bool:
        """Forget places that a turn has not changed after all; return whether there are none."""
        dropped = [
            key
            for key in self._guessed
            if key not in left or _is_left(left[key][1], self.slots[key][1].begun)
        ]
        for key in dropped:
            del self.slots[key]
            self._history.drop(key)
            left.pop(key, None)
        self._guessed = []
        return not dropped

    def _place(self, slot: Slot, before: Any, stays: bool) -> Variable:
        """Return what a place is from turn to turn; it ``stays`` if a turn left the same object."""
        is_object = is_place(slot) and not isinstance(slot, ContainerSlot)
        can_unroll = self._can_unroll and not is_growing(slot)
        place = Variable(slot.name, before, True, can_unroll, is_object)
        place.is_held = is_held(slot)
        place.stays &= stays and is_object
        return place

    def _meets(self, variable: Variable, region: Region, value: Any) -> bool:
        is_stable = variable.meet(region, value)
        self.unsettled = self.unsettled if is_stable else variable.name
        return is_stable

    def _takes_list(self, region: Region, slot: Slot, value: Any) -> bool:
        """Whether a list that a turn made longer or shorter is a variable that holds it alone."""
        items = list_of_slot(slot)
        if items is None or self._can_unroll:
            return False
        if type(value) in LISTS and len(value) == len(items):
            return False
        own = [variable for variable in self.variables if variable.entry is items]
        return len(own) == 1 and own[0].become_array(region, owned(value))

    def _meet_sharing(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> bool:
        """Widen what is known of memory that is shared; return whether that held already."""
        ends = self._ends(left, end)
        together = pairs_together([arrays_in(value) for _, value in ends])
        stable = together <= self.together
        self.together |= together
        stable &= self._containers.meet(region, ends)
        for variable, value in ends:
            if variable.is_carried:
                known = {id(root) for root in all_roots(arrays_in(variable.entry))}
                known |= variable.later.keys()
                for root in all_roots(arrays_in(value)):
                    if root._trace is not region and id(root) not in known:
                        variable.later[id(root)] = root
                        stable = False
                must_not = repeating(arrays_in(value))
                stable &= must_not == variable.must_not
                variable.must_not = must_not or variable.must_not
        for key, (tensor, _, guard) in region.guards.items():
            is_new = key not in self.stale and tensor._trace is not region
            if is_new and isinstance(guard, Stale):
                self.stale[key] = tensor, guard
                stable = False
        return stable

    def entry(self) -> list[Value]:
        """Return what the first turn is given, as values of the current trace."""
        given: list[Value] = []
        for variable in self._all():
            given += variable.give(variable.entry)
        return given

    def give(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> list[Value]:
        """Return what a turn hands to the next, as values of its region."""
        ends = [DONT_CARE] * len(self.variables) if end is None else list(end)
        for key, (_, variable) in self.slots.items():
            ends.append(left[key][1] if key in left else variable.entry)
        given: list[Value] = []
        with resumed(region):
            for variable, value in zip(self._all(), ends, strict=True):
                given += variable.give(value)
        return given

    def finish(
        self,
        region: Region,
        left: dict[Any, tuple[Slot, Any]],
        end: Any,
        values: Sequence[Value],
        turns: int | None = None,
        has_turns: bool = False,
    ) -> tuple[Any, ...]:
        """Carry out what the loop changed; return what the variables hold after it.

        There were so many ``turns``, if that is known. ``has_turns`` says that what they held
        before it is certainly gone.
        """
        given = iter(values)
        state = [variable.result(given) for variable in self.variables]
        held = []
        for slot, variable in self.slots.values():
            value = variable.result(given)
            set_slot(slot, value)
            held += [value] * is_place(slot)
        held = [*state, *held]
        cycles = [] if turns is None else self._cycles(end, left)
        trace = require_trace("a loop")
        results = {n: Tensor(trace, read(state[n])) for cycle in cycles for n in cycle}
        holders = self._holders()
        self._containers.note(list(zip(holders, held, strict=True)))
        join_kept([region])
        entries = [v.entry if not v.is_carried else settle(v.entry) for v in holders]
        names = [variable.name for variable in holders]
        join_guards([region])
        origins = {}
        swapped = {id(self.variables[n]) for n in results}
        for variable in holders:
            for tensor, first, entry in variable.fresh:
                if type(entry) is Tensor:
                    origins[id(tensor)] = all_roots([entry])
                    if id(variable) in swapped:
                        continue
                    if isinstance(tensor._guard, Stale) or _is_written(tensor, first):
                        for root in origins[id(tensor)]:
                            make_stale(root, variable.name)
        ends = None if end is None else [value for _, value in self._ends(left, end)]
        joined = [ends] if has_turns else [entries, ends]
        mark_aliases(names, region, joined, held, origins, self.together)
        for cycle in cycles:
            assert turns is not None
            arrays = [settle(self.variables[n].entry) for n in cycle]
            for place, n in enumerate(cycle):
                state[n] = array = arrays[(place + turns) % len(cycle)]
                set_slot(TensorSlot(array), results[n])
                set_guard(array, None)
        return tuple(state)

    def _cycles(
        self, ends: Sequence[Any] | None, left: dict[Any, tuple[Slot, Any]]
    ) -> list[list[int]]:
        """Return which variables a turn hands arrays round among: ``a, b = b, a``.

        Each holds what the next one in its list did, the last one what the first did.
        """
        if ends is None:
            return []
        places = {id(v.begun): n for n, v in enumerate(self.variables) if _is_array(v.begun)}
        before = {n: places[id(end)] for n, end in enumerate(ends) if id(end) in places}
        cycles: list[list[int]] = []
        for n in before:
            cycle = [n]
            while (m := before.get(cycle[-1])) is not None and m not in cycle:
                cycle.append(m)
            if m == n == min(cycle) and len(cycle) > 1:
                cycles.append(cycle)
        found = {n for cycle in cycles for n in cycle}
        entries = [settle(self.variables[n].entry) for n in found]
        others = [
            value
            for n, (variable, end) in enumerate(self._ends(left, ends))
            if n not in found
            for value in (settle(variable.entry), end)
        ]
        shared = {id(root) for value in others for root in all_roots(arrays_in(value))}
        are_alone = all([_is_array(x) and x._guard is None for x in entries])
        # What is written to an array becomes of its dtype.
        forms = [{_form(settle(self.variables[n].entry)) for n in cycle} for cycle in cycles]
        are_alone &= all([len(form) == 1 for form in forms])
        are_apart = len({*map(id, entries)}) == len(entries) == len({before[n] for n in found})
        return cycles if are_alone and are_apart and shared.isdisjoint(map(id, entries)) else []

    def refuse_views(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> None:
        """Raise for a loop that makes views of views, turn by turn: what they show is not known."""
        for variable, value in self._ends(left, end):
            fresh = [tensor for tensor, _, _ in variable.fresh]
            for array in arrays_in(value):
                root = root_of(array)
                if array is not root and (
                    root._trace is not region or any(root is t for t in fresh)
                ):
                    raise ControlFlowError(
                        f"{variable.name} is a view of another array after each turn of a loop"
                        f"{at(here())}: which one depends on the turn. Assign a copy, with .copy()"
                    )

    def check_sharing(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> None:
        """See to arrays that the body both writes to in place and hands on.

        Raises
        ------
        ControlFlowError
            If two variables are one array after a turn, and the next turn writes to it.
        """
        written = {
            variable.name
            for variable in self._holders()
            if any(_is_written(tensor, first) for tensor, first, _ in variable.fresh)
        }
        holders: dict[int, list[str]] = {}
        for variable, value in self._ends(left, end):
            for root in all_roots(arrays_in(value)):
                if root._trace is region:
                    holders.setdefault(id(root), []).append(variable.name)
        for names in holders.values():
            if len(names) > 1 and not written.isdisjoint(names):
                raise ControlFlowError(
                    f"{' and '.join(names)} are one array after a turn of the loop{at(here())}, "
                    "which the next turn writes to. Assign a copy, with .copy()"
                )

    def _all(self) -> list[Variable]:
        return [*self.variables, *[variable for _, variable in self.slots.values()]]

    def _holders(self) -> list[Variable]:
        """Return what may hold an array that others hold as well."""
        places = [variable for slot, variable in self.slots.values() if is_place(slot)]
        return [*self.variables, *places]

    def _ends(self, left: dict[Any, tuple[Slot, Any]], end: Any) -> list[tuple[Variable, Any]]:
        """Return what each of the holders holds after a turn; nothing if it never ends."""
        if end is None:
            return []
        places = [
            left[key][1] if key in left else variable.entry
            for key, (slot, variable) in self.slots.items()
            if is_place(slot)
        ]
        return list(zip(self._holders(), [*end, *places], strict=True))


def _is_array(x: Any) -> bool:
    """Whether something is an array that is no view of another."""
    return type(x) is Tensor and bool(x.shape) and x._view is None


def _form(x: Any) -> Any:
    return (x.shape, x.dtype) if type(x) is Tensor else None


def _is_left(value: Any, begun: Any) -> bool:
    """Whether a turn leaves what was in a place."""
    return value is begun or (type(value) is type(begun) is Tensor and value._value is begun._value)


def _is_written(tensor: Tensor, first: Value) -> bool:
    """Whether an array that a turn was given, as `first`, was written to in place."""
    return bool(tensor.shape) and tensor._value is not first
