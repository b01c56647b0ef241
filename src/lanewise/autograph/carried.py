"""What a variable of a recorded loop is: widened until it holds what turns leave in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Any

from lanewise.autograph.aliases import (
    arrays_in,
    settle,
)
from lanewise.autograph.describe import refuse_object, refuse_structure
from lanewise.autograph.instances import (
    Opening,
    in_place,
    new_classes,
    opened,
)
from lanewise.autograph.lists.grown import (
    Columns,
    Grown,
    alike,
    as_stepping,
    has_as_many,
    held,
    in_form_of,
    is_like,
    is_own,
    owned,
)
from lanewise.autograph.lists.held import has_held, held_alike, in_held_form_of
from lanewise.autograph.lists.rows import unknown_of
from lanewise.autograph.optional import (
    alike_but_for_none,
    apart_from_none,
    may_be_missing,
    may_be_none,
    optional,
    with_nones,
)
from lanewise.autograph.state import (
    CODES,
    DONT_CARE,
    FLAG,
    NUMBERS,
    TURNS,
    Kind,
    Lost,
    Maybe,
    Undefined,
    apart,
    bare_name,
    flatten,
    is_same,
    join_kinds,
    kind_among,
    kind_of,
    tensor_of,
    unflatten,
    value_of,
    values_of,
    widened,
)
from lanewise.autograph.tables import as_lists
from lanewise.ir.graph import Value
from lanewise.ir.types import array_type, has_dim, symbols_in
from lanewise.trace import tree
from lanewise.trace.contents import LISTS, chosen_by, holds
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
from lanewise.trace.regions import Region, born, resumed
from lanewise.trace.scratch import as_state
from lanewise.trace.tensor import WEAK_DTYPES, Tensor
from lanewise.trace.trace import Trace, require_trace, state
from lanewise.trace.variants import ON_VARIANTS, Variant, is_record, one_among, reachable

#: An array that is larger than before after so many turns has no bound; and numbers that are of
#: more kinds then are taken for all of them.
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

    def __init__(
        self,
        name: str,
        entry: Any,
        is_changed: bool,
        can_unroll: bool = False,
        is_object: bool = True,
    ) -> None:
        self.name = name
        #: Whether the loop is unrolled where a size that is known changes.
        self._can_unroll = can_unroll
        self.home = require_trace("a loop")
        #: Whether it is no variable, but a place that the body changes.
        self.is_place = is_changed
        self.entry = entry
        #: What it was at the beginning of the last turn, and at its end, as it is handed on.
        self.begun, self.ended = entry, DONT_CARE
        #: By id, containers in its entry and at its ends, each with what it stands for.
        self.origins: dict[int, tuple[Any, Any]] = {}
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
        #: What it is then.
        self._lost: Any = Lost(bare_name(name))
        #: Whether what is assigned is None in some examples; `is_maybe` are those that are not.
        self.may_be_none = False
        #: What a turn left in it that had no value before.
        self._found: Any = DONT_CARE
        #: Which arrays are of sizes that are data, and another one after each turn.
        self.packing: Packing = {}
        #: Whether the turns count these sizes.
        self._is_stepped = False
        #: A value in which all is optional that a turn may leave None.
        self.form: Any = DONT_CARE
        #: Classes of objects that turns make anew: it holds what these hold.
        self.opened = Opening()
        #: How often that was found out anew; and of which kinds numbers are.
        self._times = self._times_wider = 0
        #: Lists and dicts within, which stay the same from turn to turn.
        self.sealed = tree.lists_within(entry)
        #: Whether all that it is are lists of which all uses are known.
        self._is_own = is_own(entry)
        #: Whether it holds an object, rather than all that one holds.
        self.is_object = is_object
        #: Whether it is a list of which all uses are known: it stays one object.
        self.is_list = not is_changed and type(entry) in LISTS and is_own(entry)
        #: Whether turns leave the object that it was: what they change in it are places.
        self.stays = not (self.is_list or type(entry) in NUMBERS) and tree.can_change(entry)
        #: Whether turns leave other objects than it was: it is another one in each.
        self.is_replaced = False
        #: Whether it is what a list holds, which may be a list whose length is data.
        self.is_held = False
        #: Whether there are lists in it that hold as many elements as the data say.
        self.is_holding = (is_object or type(entry) not in LISTS) and has_held(entry)
        self._begin_with(isinstance(entry, Maybe), is_changed)
        if may_be_missing(apart(entry)[1]):
            self._become_optional()

    def step(self, before: Any, turns: int, made: TurnsMade) -> None:
        """Hold arrays that a turn made longer or shorter, if so many more turns do so too.

        It held `before` in front of that turn: of a list that can be arrays, how long it was.
        """
        if not self.is_known or self.may_be_missing:
            return
        entry = self.entry
        if self.is_list and type(entry) is list:
            before, entry = as_stepping(before, entry)
        self.packing = stepping(before, entry, turns, made)
        self._is_stepped = bool(self.packing)
        if self._is_stepped:
            self.is_list, self.stays, self.entry = False, False, entry
            self._begin_with(False, True)

    @property
    def may_be_missing(self) -> bool:
        """Whether it is not assigned in some examples, or None."""
        return self.is_maybe or self.may_be_none

    def _apart(self, end: Any) -> tuple[Any, Any, Any]:
        """Return whether the variable is assigned, whether that is not None, and what it is."""
        flag, value = apart(end)
        return flag, *(apart_from_none(value) if self.may_be_none else (True, value))

    def _become_optional(self) -> None:
        self.may_be_none = True
        self._begin_with(self.is_maybe, True)

    def _begin_with(self, is_maybe: bool, is_changed: bool) -> None:
        value = self._apart(self.entry)[-1]
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
            if is_changed or self.may_be_missing:
                self.leaves = [settle(leaf) for leaf in self.leaves]

    @property
    def is_exact(self) -> bool:
        """Whether iterations leave in it what it was before them, of the same classes."""
        pairs = zip(self.leaves, self.kinds, strict=True)
        return not (self.may_be_missing or self.is_lost or self.packing) and all(
            [kind is None or kind == kind_of(leaf) for leaf, kind in pairs]
        )

    @property
    def is_carried(self) -> bool:
        if self.is_list or self.stays:
            return False
        if self.is_replaced and not self.is_lost:
            return True
        is_data = self.may_be_missing or any([kind is not None for kind in self.kinds])
        return is_data and not self.is_lost

    def begin(self, region: Region, inputs: list[Value]) -> Any:
        """Return what the variable holds at the beginning of a turn."""
        self.begun = self._begin(region, inputs)
        return self.begun

    def _begin(self, region: Region, inputs: list[Value]) -> Any:
        self.fresh, self._rooms = [], {}
        if self.is_lost:
            return self._lost
        if not self.is_carried:
            return self.entry
        leaves = []
        for leaf, kind in zip(self.leaves, self.kinds, strict=True):
            if kind is None:
                leaves.append(leaf)
                continue
            value = region.input(array_type(kind.dtype, kind.shape))
            inputs.append(value)
            if kind.is_tag:
                leaves.append(one_among(Tensor(region, value), kind.weak))
                continue
            leaves.append(tensor := Tensor(region, value, None, kind.weak))
            self._rooms[len(leaves) - 1] = region, value
            if kind.mixed is not None:
                inputs.append(region.input(array_type(CODES.dtype, ())))
                note_mixed(tensor, kind.mixed, Tensor(region, inputs[-1]))
            if type(leaf) in WEAK_DTYPES:
                region.counters.add(value)
            self.fresh.append((tensor, value, leaf))
        count = self.may_be_none + self.is_maybe
        flags = [region.input(array_type(FLAG.dtype, ())) for _ in range(count)]
        inputs += flags
        result = self._with_flags(leaves, iter(flags))
        held = apart(result)[1]
        if self.may_be_none and type(held) is Tensor:
            self.fresh = [(held, value, leaf) for _, value, leaf in self.fresh]
        return result

    def _holding(self, leaves: list[Any]) -> Any:
        """Return what it is, of its leaves."""
        value = unflatten(self.structure, leaves)
        return owned(born(value)) if self._is_own and not self.is_holding else value

    def become_holding(self, region: Region, now: Any) -> bool:
        """Have lists in it hold as many elements as turns leave; whether some have to."""
        entry = self.entry
        if type(now) in NUMBERS:
            return False
        if now is entry or self.may_be_missing:
            return False
        if (self.is_list or self._can_unroll) and not (has_held(entry) or has_held(now)):
            return False
        found = held_alike([entry, now], [self.home, region], True, not self.is_object)
        if found is None:
            return False
        self.is_holding, self.is_list = True, False
        self._begin_as(found[0])
        self.sealed &= tree.lists_within(self.entry)
        self._begin_with(False, True)
        return True

    def _begin_as(self, entry: Any) -> None:
        """Hold what the entry holds in another form."""
        self._stand_for(self.entry, entry)
        self.entry = entry

    def _stand_for(self, old: Any, new: Any) -> None:
        """Note what a value is in another form."""
        if old is new:
            return
        for container, each in tree.replaced(old, new):
            self.origins[id(container)] = container, self.origins.get(id(each), (each, each))[1]

    def _packed(self, value: Any, region: Trace) -> Any:
        """Return what it holds with the arrays packed that have to be."""
        if value is DONT_CARE:
            return value
        value = with_nones(value)
        if self.form is not DONT_CARE:
            value = alike_but_for_none([self.form, value])[1]
        if self.opened.classes:
            with resumed(region):
                value = opened(value, self.opened)
        if not self.packing:
            return value
        rooms = {
            i: Tensor(region, room, None, None)
            for i, (trace, room) in self._rooms.items()
            if trace is region
        }
        return packed(value, self.packing, region, rooms)

    def _must_pack(self, region: Region, value: Any) -> bool:
        """Find out which arrays have sizes that are data, and other ones after a turn."""
        entry = self._apart(self.entry)[-1]
        if self._is_stepped:
            with resumed(region):
                if not steps_on(value, self.packing):
                    refuse_object(self.name, TURNS, entry, value)
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

    def _with_flags(self, leaves: list[Any], flags: Iterator[Value]) -> Any:
        """Return what it is, of its leaves and of the flags of values that some examples have."""
        value = self._holding(leaves) if self.is_known else DONT_CARE
        if self.may_be_none:
            flag = tensor_of(next(flags), FLAG)
            value = None if value is DONT_CARE else optional(value, flag)
        if self.is_maybe:
            value = Maybe(bare_name(self.name), value, tensor_of(next(flags), FLAG))
        return value

    def given(self) -> list[Tensor]:
        """Return the arrays that it is at the beginning of a turn."""
        if self.is_lost:
            return []
        if not self.is_carried:
            return arrays_in(self.entry)
        return [tensor for tensor, _, _ in self.fresh if tensor.shape]

    def become_array(self, region: Region, now: Any) -> bool:
        """Hold a list as arrays from now on, which a turn leaves as `now`; whether that can be."""
        if type(self.entry) in (Columns, Grown) and holds(now):  # a turn gave it to others
            self._begin_as(held(self.entry))
            self._begin_with(self.is_maybe, True)
            return True
        are_arrays = not self.packing and type(now) is Columns and has_as_many(self.entry, now)
        if now is self.entry or (self._can_unroll and type(now) is not Grown and not are_arrays):
            return False
        found = alike([self.entry, now], [self.home, region], self.is_list, self.is_held)
        if found is None or is_like(self.entry, found[0]):
            return False
        self.is_list = False
        self.entry = found[0]
        self._begin_with(self.is_maybe, True)
        return True

    def _end(self, end: Any, trace: Trace) -> Any:
        """Return what a turn leaves in it, a list as arrays where it is carried as such."""
        with resumed(trace):
            end = as_lists(chosen_by(end), self.name, trace) if state.has_contents else end
            opening = self.opened.at_end(trace) if isinstance(trace, Region) else self.opened
            if opening.classes and isinstance(end, Maybe):
                end = Maybe(end.name, opened(end.value, opening), end.flag)
            end = opened(end, opening)
            if type(self.entry) is Variant and (end is None or is_record(end)):
                end = ON_VARIANTS["of"](end)
            if self.is_holding:
                return in_held_form_of(self.entry, end)
            return in_form_of(self.entry, end, self.is_held)

    def _loses(self, region: Region, end: Any) -> bool:
        """Whether a turn leaves an array of a size that depends on the turn."""
        counted = region.counted
        if counted is None or counted.size is None or self.is_place or self._is_stepped:
            return False
        own = symbols_in(counted.size)
        return any([own & symbols_in(leaf.shape) for leaf in arrays_in(end)])

    def meet(self, region: Region, end: Any) -> bool:
        """Widen the variable to hold what a turn left in it; return whether it did already."""
        stayed, self.stays = self.stays, self.stays and end is self.entry
        self.ended = DONT_CARE
        return self.stays or (self._meet(region, end) and not stayed)

    def _has_objects(self) -> bool:
        """Whether what it is consists of lists and dicts that turns may replace."""
        if type(self.entry) in NUMBERS:
            return False
        found = tree.containers(self.entry, self.sealed)
        return any([self.is_object or each is not self.entry for each in found])

    def _becomes_variant(self, region: Region, end: Any) -> bool:
        """Hold an object of a dataclass as itself, if turns leave another one that they found."""
        if not is_record(self.entry) or end is self.entry or end is self.begun:
            return False
        if type(end) is not Variant and not (is_record(end) and not region.has_born(end)):
            return False
        with resumed(self.home):
            self._begin_as(ON_VARIANTS["of"](self.entry))
        self._begin_with(self.is_maybe, True)
        return True

    def _opens(self, region: Region, end: Any, classes: frozenset[type]) -> bool:
        """Have objects of some classes be joined by what they hold; whether others were before."""
        ends, regions = [apart(end)[1]], [region]
        entry = self._apart(self.entry)[-1]
        if entry is not DONT_CARE:
            ends, regions = [entry, *ends], [None, *regions]
        found = in_place(ends, classes, regions)
        if self.opened.classes:  # one that was another object once is for all turns
            found = found._replace(in_place=found.in_place & self.opened.in_place)
        if found == self.opened:
            return False
        self.opened = found
        return True

    def _meet(self, region: Region, end: Any) -> bool:
        if self.is_lost:
            return True
        classes = new_classes(apart(end)[1], [region]) | self.opened.classes
        if classes and self._opens(region, end, classes):
            self._begin_with(self.is_maybe, True)
            return False
        if self._becomes_variant(region, apart(end)[1]):
            return False
        unknown = unknown_of([self.entry, end], not self.is_object)
        if unknown is not None:
            self.is_lost, self._lost = True, unknown
            return False
        is_new = not self.is_replaced and end is not self.begun and self._has_objects()
        if is_new:
            self.is_replaced = True
            return self._meet(region, end) and False
        if any([has_dim(leaf.shape) for leaf in arrays_in(end)]) and self._loses(region, end):
            self.is_lost = True
            return False
        if state.has_contents and not self.may_be_missing:
            with resumed(self.home):
                entry = as_lists(chosen_by(self.entry), self.name)
            if entry is not self.entry:  # one that the data choose
                self._begin_as(entry)
                self._begin_with(False, True)
                return False
        if self.become_holding(region, end):
            return False
        if self._is_own and type(end) in LISTS and not is_own(end):
            self._is_own = False
            return False
        stable = not self.become_array(region, end)
        if self.is_list and end is self.entry:
            return stable  # what is in it is a place that the body changes
        if self.is_list:
            self.is_list, stable = False, False
            self._begin_with(self.is_maybe, True)
        given, end = end, self._end(end, region)
        self._stand_for(given, end)
        self.ended = end
        if self._found is DONT_CARE:
            self._found = apart(end)[1]
        known = apart(self.entry)[1], self._found, apart(end)[1]
        if not self.may_be_none and may_be_none(known):
            self._become_optional()
            stable = False
        flag, _, value = self._apart(end)
        if flag is not DONT_CARE and flag is not True and self.is_known and not self.is_maybe:
            self.is_maybe, stable = True, False
        if value is DONT_CARE:
            return stable
        sealed = tree.lists_in_place([self.entry, value]) if self.sealed else self.sealed
        if sealed < self.sealed:  # another list takes the place of one: look inside
            self.sealed &= sealed
            self._begin_with(self.is_maybe, True)
            stable = False
        if self._must_pack(region, value):
            self._begin_with(self.is_maybe, True)
            stable = False
        leaves, structure = flatten(self._packed(value, region), self.sealed)
        if not self.is_known:
            self.is_known = True
            self.is_maybe |= isinstance(self.entry, Undefined)
            self.structure = structure
            self.leaves = [leaf if kind_of(leaf) is None else DONT_CARE for leaf in leaves]
            self.kinds = [kind_of(leaf) for leaf in leaves]
            return False
        if structure != self.structure and not self.may_be_missing and self.entry is not DONT_CARE:
            entry = self.entry if self.form is DONT_CARE or self.entry is not None else self.form
            forms = alike_but_for_none([entry, value])
            if tree.flatten(forms[0])[1] == tree.flatten(forms[1])[1]:
                self.form = forms[0]
                self._begin_as(forms[0])
                self._begin_with(False, True)
                return False
        if structure != self.structure:
            before = self._packed(self._apart(self.entry)[-1], self.home)
            refuse_structure(self.name, TURNS, before, self._packed(value, region))
        is_wider = False
        for position, (own, leaf) in enumerate(zip(self.leaves, leaves, strict=True)):
            kind, found = self.kinds[position], kind_of(leaf)
            if leaf is DONT_CARE:
                continue
            if own is DONT_CARE and kind is None:
                self.kinds[position], stable = found, False
                continue
            if kind is None and is_same(as_state(own), leaf):
                continue
            found = kind_among(leaf)
            known = kind or kind_among(own)
            if known is None or found is None or known.is_tag is not found.is_tag:
                refuse_object(self.name, TURNS, own, leaf)
            if found.is_tag and any(map(region.has_born, found.weak)):
                refuse_object(self.name, TURNS, own, leaf)
            joined = widened(join_kinds(self.name, known, found, TURNS), (own, leaf))
            if joined != kind:
                self.kinds[position], stable, is_wider = joined, False, True
                self.leaves[position] = settle(own)
        self._times_wider += is_wider
        if is_wider and self._times_wider > GROWS:
            self._widen()
        return stable

    def _widen(self) -> None:
        """Take each number for what any of them may be, as turns hand them on from one to the next.

        In ``buffer = buffer[1:] + [v]`` what the last one is reaches the first after as many turns
        as there are numbers. Data that are integers stay such, as floats may not hold them.
        """
        for i, kind in enumerate(self.kinds):
            if kind is not None and kind.is_tag:  # as if it went on from node to node for ever
                self.kinds[i] = kind._replace(weak=reachable(kind.weak))
        places = [
            i for i, (kind, leaf) in enumerate(zip(self.kinds, self.leaves, strict=True))
            if kind is not None and not kind.shape and not kind.is_tag
            and not (kind.dtype.kind in "iu" and isinstance(leaf, Tensor))
        ]  # fmt: skip
        if not places:
            return
        kinds: list[Any] = [self.kinds[i] for i in places]
        joined = reduce(partial(join_kinds, self.name, sides=TURNS), kinds)
        joined = widened(joined, [self.leaves[i] for i in places])
        for place in places:
            self.kinds[place] = joined
            self.leaves[place] = settle(self.leaves[place])

    def give(self, end: Any) -> Iterator[Value]:
        """Yield what a turn hands to the next, as values of the current trace."""
        if not self.is_carried:
            return
        flag, is_there, value = self._apart(self._end(end, require_trace("a turn")))
        value = self._packed(value, require_trace("a turn"))
        leaves = self.leaves if value is DONT_CARE else flatten(value, self.sealed)[0]
        for leaf, kind in zip(leaves, self.kinds, strict=True):
            if kind is not None:
                yield from values_of(DONT_CARE if value is DONT_CARE else leaf, kind)
        if self.may_be_none:
            yield value_of(is_there, FLAG)
        if self.is_maybe:
            yield value_of(flag, FLAG)

    def result(self, values: Iterator[Value]) -> Any:
        """Return what the variable holds after the loop, taking its part of the results."""
        if self.is_lost:
            return self._lost
        if not self.is_carried:
            return self.entry
        leaves = []
        for leaf, kind in zip(self.leaves, self.kinds, strict=True):
            leaves.append(leaf if kind is None else tensor_of(next(values), kind))
            if kind is not None and kind.mixed is not None:
                note_mixed(leaves[-1], kind.mixed, tensor_of(next(values), CODES))
        return self._with_flags(leaves, values)
