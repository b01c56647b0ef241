"""What passes from one turn of a recorded loop to the next: the carry, found as a fixed point.

The body is recorded with a guess of what each variable is. If the body leaves something else (a
float where there was an int, a value where there was none, an array that it changed), the guess
is widened, and the body is recorded again, until what comes out is what went in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lanewise.autograph.aliases import (
    Shared,
    Stale,
    all_roots,
    arrays_in,
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
from lanewise.autograph.lists.grown import (
    Grown,
    alike,
    as_stepping,
    in_form_of,
    is_like,
    is_own,
    list_of_slot,
    owned,
)
from lanewise.autograph.state import (
    CODES,
    DONT_CARE,
    FLAG,
    SAME_OBJECT,
    TURNS,
    Kind,
    Lost,
    Maybe,
    apart,
    apart_from_none,
    bare_name,
    describe,
    flatten,
    is_optional,
    is_same,
    join_kinds,
    kind_of,
    may_be_none,
    optional,
    refuse,
    refuse_structure,
    tensor_of,
    unflatten,
    value_of,
    values_of,
    widened,
)
from lanewise.errors import ControlFlowError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import array_type, has_dim, symbols_in
from lanewise.trace import tree
from lanewise.trace.mixed import note_mixed
from lanewise.trace.packed import (
    Packing,
    TurnsMade,
    joined_bounds,
    packed,
    packing,
    stepping,
    steps_on,
    unbounded,
)
from lanewise.trace.regions import Region, resumed, set_guard, set_slot
from lanewise.trace.scratch import as_state
from lanewise.trace.slots import Slot
from lanewise.trace.tensor import WEAK_DTYPES, Tensor
from lanewise.trace.trace import Trace, require_trace
from lanewise.trace.views import root_of

#: An array that is larger than before after so many turns has no bound.
GROWS = 4


class Variable:
    """A variable, or a place that the body changes, and what it is from turn to turn.

    Attributes
    ----------
    kinds : list of Kind or None
        For each leaf what is carried; None where the leaf stays what it is.
    shown : list of Tensor
        What an array of a length that is data may be a view of.
    """

    def __init__(self, name: str, entry: Any, is_changed: bool, can_unroll: bool = False) -> None:
        self.name = name
        #: Whether the loop is unrolled where a size that is known changes.
        self._can_unroll = can_unroll
        self.home = require_trace("a loop")
        #: Whether it is no variable, but a place that the body changes.
        self.is_place = is_changed
        self.entry = entry
        self.kinds: list[Kind | None] = []
        self.leaves: list[Any] = []
        self.structure: Any = None
        self.fresh: list[tuple[Tensor, Value, Any]] = []
        #: What leaves were when the turn began: what is packed may take the place of it.
        self._rooms: dict[int, tuple[Trace, Value]] = {}
        #: By id, what it may be a view of after a turn, and so at the beginning of the next.
        self.later: dict[int, Tensor] = {}
        #: Why a turn must not write to it, from what another one left.
        self.must_not = ""
        #: Whether it holds arrays of a size that only the turn knows: the next has no use of them.
        self.is_lost = False
        #: Whether a value that is missing is None, rather than not assigned.
        self.may_be_none = False
        #: Which arrays are of sizes that are data, and another one after each turn.
        self.packing: Packing = {}
        #: Whether the turns count these sizes.
        self._is_stepped = False
        #: How often that was found out anew.
        self._times = 0
        #: Lists and dicts within, which stay the same from turn to turn.
        self.sealed = tree.lists_within(entry)
        #: Whether it is a list of which all uses are known: it stays one object.
        self.is_list = not is_changed and type(entry) is list and is_own(entry)
        self._begin_with(isinstance(entry, Maybe), is_changed)
        if is_optional(entry):
            self._become_optional()

    def step(self, before: Any, turns: int, made: TurnsMade) -> None:
        """Hold arrays that a turn made longer or shorter, if so many more turns do so too.

        It held `before` in front of that turn: of a list that can be arrays, how long it was.
        """
        if not self.is_known or self.is_maybe:
            return
        entry = self.entry
        if self.is_list:
            before, entry = as_stepping(before, entry)
        self.packing = stepping(before, entry, turns, made)
        self._is_stepped = bool(self.packing)
        if self._is_stepped:
            self.is_list, self.entry = False, entry
            self._begin_with(False, True)

    def _apart(self, end: Any) -> tuple[Any, Any]:
        """Return whether the variable has a value, and that."""
        return apart_from_none(end) if self.may_be_none else apart(end)

    def _become_optional(self) -> None:
        self.may_be_none = True
        self._begin_with(True, True)

    def _begin_with(self, is_maybe: bool, is_changed: bool) -> None:
        _, value = self._apart(self.entry)
        self.is_maybe = is_maybe
        self.is_known = value is not DONT_CARE
        self.shown = arrays_in(value) if self.packing else []
        value = self._packed(value, self.home)
        self.kinds, self.leaves, self.structure = [], [], None
        if self.is_known:
            self.leaves, self.structure = flatten(value, self.sealed)
            # An array that keeps its name is likely to be changed in place, if at all.
            for leaf in self.leaves:
                kind = kind_of(leaf)
                keeps = kind is None or (kind.shape and not is_changed)
                self.kinds.append(None if keeps else kind)
            if is_changed or is_maybe:
                self.leaves = [settle(leaf) for leaf in self.leaves]

    @property
    def is_carried(self) -> bool:
        if self.is_list:
            return False
        return not self.is_lost and (self.is_maybe or any(kind is not None for kind in self.kinds))

    def begin(self, region: Region, inputs: list[Value]) -> Any:
        """Return what the variable holds at the beginning of a turn."""
        self.fresh, self._rooms = [], {}
        if self.is_lost:
            return Lost(bare_name(self.name))
        if not self.is_carried:
            return self.entry
        leaves = []
        for leaf, kind in zip(self.leaves, self.kinds, strict=True):
            if kind is None:
                leaves.append(leaf)
                continue
            value = region.input(array_type(kind.dtype, kind.shape))
            inputs.append(value)
            leaves.append(Tensor(region, value, None, kind.weak))
            self._rooms[len(leaves) - 1] = region, value
            if kind.mixed is not None:
                inputs.append(region.input(array_type(CODES.dtype, ())))
                note_mixed(leaves[-1], kind.mixed, Tensor(region, inputs[-1]))
            if type(leaf) in WEAK_DTYPES:
                region.counters.add(value)
            self.fresh.append((leaves[-1], value, leaf))
        result = unflatten(self.structure, leaves) if self.is_known else DONT_CARE
        if not self.is_maybe:
            return result
        flag = region.input(array_type(FLAG.dtype, ()))
        inputs.append(flag)
        result = self._missing(result, Tensor(region, flag, None, bool))
        if is_optional(result):
            self.fresh = [(result, value, leaf) for _, value, leaf in self.fresh]
        return result

    def _packed(self, value: Any, region: Trace) -> Any:
        """Return what it holds with the arrays packed that have to be."""
        if value is DONT_CARE or not self.packing:
            return value
        rooms = {
            i: Tensor(region, room, None, None)
            for i, (trace, room) in self._rooms.items()
            if trace is region
        }
        return packed(value, self.packing, region, rooms)

    def _must_pack(self, region: Region, value: Any) -> bool:
        """Find out which arrays have sizes that are data, and other ones after a turn."""
        entry = self._apart(self.entry)[1]
        if self._is_stepped:
            with resumed(region):
                if not steps_on(value, self.packing):
                    refuse(self.name, TURNS, describe(entry), describe(value), SAME_OBJECT)
            return False
        if entry is DONT_CARE:
            found = packing([value], [region])
        else:
            found = packing([entry, value], [region, region], self._can_unroll)
        for position, most in self.packing.items():
            found[position] = joined_bounds(most, found.get(position, {}))
        changed = found != self.packing
        self._times += changed
        if self._times > GROWS:  # it would for ever
            found = {at: unbounded(self.packing.get(at, {}), most) for at, most in found.items()}
        self.packing = found
        return changed

    def _missing(self, value: Any, flag: Tensor) -> Any:
        """Return a value that only some examples have."""
        if self.may_be_none:
            return None if value is DONT_CARE else optional(value, flag)
        return Maybe(bare_name(self.name), value, flag)

    def given(self) -> list[Tensor]:
        """Return the arrays that it is at the beginning of a turn."""
        if self.is_lost:
            return []
        if not self.is_carried:
            return arrays_in(self.entry)
        return [tensor for tensor, _, _ in self.fresh if tensor.shape]

    def become_array(self, region: Region, now: Any) -> bool:
        """Hold a list as arrays from now on, which a turn leaves as `now`; whether that can be."""
        if now is self.entry or (self._can_unroll and type(now) is not Grown):
            return False
        found = alike([self.entry, now], [self.home, region], self.is_list)
        if found is None or is_like(self.entry, found[0]):
            return False
        self.is_list = False
        self.entry = found[0]
        self._begin_with(self.is_maybe, True)
        return True

    def _end(self, end: Any, trace: Trace) -> Any:
        """Return what a turn leaves in it, a list as arrays where it is carried as such."""
        with resumed(trace):
            return in_form_of(self.entry, end)

    def _loses(self, region: Region, end: Any) -> bool:
        """Whether a turn leaves an array of a size that depends on the turn."""
        counted = region.counted
        if counted is None or counted.size is None or self.is_place or self._is_stepped:
            return False
        own = symbols_in(counted.size)
        return any([own & symbols_in(leaf.shape) for leaf in arrays_in(end)])

    def meet(self, region: Region, end: Any) -> bool:
        """Widen the variable to hold what a turn left in it; return whether it did already."""
        if self.is_lost:
            return True
        if any([has_dim(leaf.shape) for leaf in arrays_in(end)]) and self._loses(region, end):
            self.is_lost = True
            return False
        stable = not self.become_array(region, end)
        if self.is_list and end is self.entry:
            return stable  # what is in it is a place that the body changes
        if self.is_list:
            self.is_list, stable = False, False
            self._begin_with(self.is_maybe, True)
        end = self._end(end, region)
        if not self.may_be_none and may_be_none((self.entry, end)):
            self._become_optional()
            stable = False
        flag, value = self._apart(end)
        if flag is not DONT_CARE and flag is not True and self.is_known and not self.is_maybe:
            self.is_maybe, stable = True, False
        if value is DONT_CARE:
            return stable
        if self.sealed and not self.sealed <= tree.lists_within(value):
            self.sealed = set()  # another list takes the place of one: look inside
            self._begin_with(self.is_maybe, True)
            stable = False
        if self._must_pack(region, value):
            self._begin_with(self.is_maybe, True)
            stable = False
        leaves, structure = flatten(self._packed(value, region), self.sealed)
        if not self.is_known:
            self.is_known = True
            self.is_maybe |= self.entry is not DONT_CARE
            self.structure = structure
            self.leaves = [leaf if kind_of(leaf) is None else DONT_CARE for leaf in leaves]
            self.kinds = [kind_of(leaf) for leaf in leaves]
            return False
        if structure != self.structure:
            before = self._packed(self._apart(self.entry)[1], self.home)
            refuse_structure(self.name, TURNS, before, self._packed(value, region))
        for position, (own, leaf) in enumerate(zip(self.leaves, leaves, strict=True)):
            kind, found = self.kinds[position], kind_of(leaf)
            if kind is None and is_same(as_state(own), leaf):
                continue
            known = kind or kind_of(own)
            if known is None or found is None:
                refuse(self.name, TURNS, describe(own), describe(leaf), SAME_OBJECT)
            joined = widened(join_kinds(self.name, known, found, TURNS), (own, leaf))
            if joined != kind:
                self.kinds[position], stable = joined, False
                self.leaves[position] = settle(own)
        return stable

    def give(self, end: Any) -> Iterator[Value]:
        """Yield what a turn hands to the next, as values of the current trace."""
        if not self.is_carried:
            return
        flag, value = self._apart(self._end(end, require_trace("a turn")))
        value = self._packed(value, require_trace("a turn"))
        leaves = self.leaves if value is DONT_CARE else flatten(value, self.sealed)[0]
        for leaf, kind in zip(leaves, self.kinds, strict=True):
            if kind is not None:
                yield from values_of(DONT_CARE if value is DONT_CARE else leaf, kind)
        if self.is_maybe:
            yield value_of(flag, FLAG)

    def result(self, values: Iterator[Value]) -> Any:
        """Return what the variable holds after the loop, taking its part of the results."""
        if self.is_lost:
            return Lost(bare_name(self.name))
        if not self.is_carried:
            return self.entry
        leaves = []
        for leaf, kind in zip(self.leaves, self.kinds, strict=True):
            leaves.append(leaf if kind is None else tensor_of(next(values), kind))
            if kind is not None and kind.mixed is not None:
                note_mixed(leaves[-1], kind.mixed, tensor_of(next(values), CODES))
        result = unflatten(self.structure, leaves) if self.is_known else DONT_CARE
        if not self.is_maybe:
            return result
        return self._missing(result, tensor_of(next(values), FLAG))


class Carry:
    """The variables of a loop, and the places that its body changes."""

    def __init__(
        self, names: Sequence[str], state: Sequence[Any], can_unroll: bool = False
    ) -> None:
        self._can_unroll = can_unroll
        self.variables = [
            Variable(name, entry, False, can_unroll)
            for name, entry in zip(names, state, strict=True)
        ]
        self.slots: dict[Any, tuple[Slot, Variable]] = {}
        #: Which holders may share memory at the beginning of a turn, by their positions.
        self.together: set[frozenset[int]] = set()
        #: How many turns there were before the one that is recorded.
        self.turns = TurnsMade()
        #: What was written to under another name in the turns before.
        self.stale: dict[int, tuple[Tensor, Stale]] = {}

    def has_lost(self) -> bool:
        """Whether variables hold what only the turn knows that made it."""
        return any([variable.is_lost for variable in self.variables])

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
        region.is_turn = True
        inputs: list[Value] = []
        region.open()
        self.turns.made = count(region)
        held = tuple([variable.begin(region, inputs) for variable in self.variables])
        for slot, variable in self.slots.values():
            region.log(slot)
            slot.set(variable.begin(region, inputs))
        for root, stale in self.stale.values():
            set_guard(root, stale)
        holders = self._holders()
        self.together |= pairs_together([arrays_in(variable.entry) for variable in holders])
        for variable in holders:  # in the first turn they are what they were outside
            for tensor, _, entry in variable.fresh:
                if tensor.shape:
                    entries = [entry] if type(entry) is Tensor else []
                    shown = [*entries, *variable.shown, *variable.later.values()]
                    watch(tensor, Shared(variable.name, shown, must_not=variable.must_not))
        set_apart([variable.given() for variable in holders], self.together)
        return region, inputs, held

    def meet(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> bool:
        """Widen the carry to what a turn left; return whether it could hold that already.

        ``end`` is what the variables hold after the turn, None for a turn that never ends.
        """
        stable = True
        if end is not None:
            for variable, value in zip(self.variables, end, strict=True):
                stable &= variable.meet(region, value)
        for key, (slot, value) in left.items():
            if key in self.slots:
                stable &= self.slots[key][1].meet(region, value)
            elif self._takes_list(region, slot, value):
                stable = False
            else:
                before = region.changes[key][1]
                self.slots[key] = slot, Variable(slot.name, before, True, self._can_unroll)
                stable = False
        return stable and self._meet_sharing(region, left, end)

    def _takes_list(self, region: Region, slot: Slot, value: Any) -> bool:
        """Whether a list that a turn made longer or shorter is a variable that holds it alone."""
        items = list_of_slot(slot)
        if items is None or len(value) == len(items) or self._can_unroll:
            return False
        own = [variable for variable in self.variables if variable.entry is items]
        return len(own) == 1 and own[0].become_array(region, owned(value))

    def _meet_sharing(self, region: Region, left: dict[Any, tuple[Slot, Any]], end: Any) -> bool:
        """Widen what is known of memory that is shared; return whether that held already."""
        ends = self._ends(left, end)
        together = pairs_together([arrays_in(value) for _, value in ends])
        stable = together <= self.together
        self.together |= together
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
        has_turns: bool = False,
    ) -> tuple[Any, ...]:
        """Carry out what the loop changed; return what the variables hold after it.

        ``has_turns`` says that what they held before it is certainly gone.
        """
        results = iter(values)
        state = tuple([variable.result(results) for variable in self.variables])
        held = list(state)
        for slot, variable in self.slots.values():
            value = variable.result(results)
            set_slot(slot, value)
            held += [value] * is_place(slot)
        holders = self._holders()
        entries = [v.entry if not v.is_carried else settle(v.entry) for v in holders]
        names = [variable.name for variable in holders]
        join_guards([region])
        origins = {}
        for variable in holders:
            for tensor, first, entry in variable.fresh:
                if type(entry) is Tensor:
                    origins[id(tensor)] = all_roots([entry])
                    if isinstance(tensor._guard, Stale) or _is_written(tensor, first):
                        for root in origins[id(tensor)]:
                            make_stale(root, variable.name)
        ends = None if end is None else [value for _, value in self._ends(left, end)]
        joined = [ends] if has_turns else [entries, ends]
        mark_aliases(names, region, joined, held, origins, self.together)
        return state

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


def _is_written(tensor: Tensor, first: Value) -> bool:
    """Whether an array that a turn was given, as `first`, was written to in place."""
    return bool(tensor.shape) and tensor._value is not first
