"""Joining what branches left in variables: which results of each branch that takes.

A variable may hold a tree: its leaves that are data become results, all else must be the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from lanewise.autograph.aliases import arrays_in, as_left, changed_again
from lanewise.autograph.cases import apart_by_class, apart_from_nothing, classes_in
from lanewise.autograph.describe import refuse_object, refuse_structure
from lanewise.autograph.instances import (
    Opening,
    as_it_is,
    held_as_left,
    in_place,
    new_classes,
    note_joined,
    opened,
    parts_of,
)
from lanewise.autograph.lists.grown import alike, is_own, owned
from lanewise.autograph.lists.held import held_alike
from lanewise.autograph.optional import (
    alike_but_for_none,
    apart_from_none,
    may_be_none,
    optional,
)
from lanewise.autograph.state import (
    BRANCHES,
    CODES,
    DONT_CARE,
    NUMBERS,
    Kind,
    Maybe,
    Undefined,
    apart,
    bare_name,
    flatten,
    is_same,
    join_kinds,
    kind_among,
    kind_of,
    unflatten,
    values_of,
    widened,
)
from lanewise.autograph.tables import Picked, as_lists
from lanewise.autograph.twins import JoinedObjects
from lanewise.errors import UnsupportedError
from lanewise.ir.graph import Operation, Value
from lanewise.trace import tree
from lanewise.trace.contents import chosen_by
from lanewise.trace.limits import weight
from lanewise.trace.mixed import note_mixed
from lanewise.trace.packed import Packed, packed, packing
from lanewise.trace.regions import Region, born, resumed
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Trace, state
from lanewise.trace.variants import ON_VARIANTS, Variant, can_be_one, is_record

#: Loops that would record more operations are not unrolled so that lists stay of known length.
MOST_UNROLLED = 1000


def give_up_plain_choice(lead: Value, may_stay: bool = False) -> None:
    """Give up recording a loop in which the iteration decides what a variable is.

    Unless that is how long lists are, or of which class a number is (`may_stay`), and to unroll it
    would take too long.
    """
    trace = state.trace
    if not (isinstance(trace, Region) and trace.is_trial and _is_plain(lead, trace)):
        return
    if not may_stay or state.keeps_lengths or _unrolled(trace) <= MOST_UNROLLED:
        raise IterationDecides
    state.gave_up_lengths = True


def _unrolled(trace: Trace | None) -> int:
    """Return how many operations the loops of known length around record at least, unrolled."""
    turns, own = 1, 0
    while isinstance(trace, Region):
        own = max(own + sum(map(weight, trace.operations)), trace.weight)
        if trace.counted is not None and trace.counted.turns is not None:
            turns *= trace.counted.turns
        trace = trace.parent
    return turns * own


#: What is opened where it is looked into: it may be another one then.
_CONTAINERS = frozenset((list, dict, set, deque, tuple))


class IterationDecides(UnsupportedError):  # noqa: N818 (the loop is unrolled instead)
    """What a variable is depends on the number of the iteration, as plain Python knows it.

    A refusal, so that no handler of the user's takes it for an error of an example.
    """


class Joined:
    """An array that a merge makes, of what the branches left: `tensor`, once that is built."""

    __slots__ = ("kind", "leaves", "name", "tensor")

    def __init__(self, name: str, leaves: Sequence[Any], kind: Kind) -> None:
        self.name = name
        self.leaves = leaves
        self.kind = kind
        self.tensor: Tensor | None = None

    def arrays(self, branch: int) -> list[Tensor]:
        """Return what the array is of one branch, if it is a tensor there."""
        leaf = self.leaves[branch]
        return [leaf] if type(leaf) is Tensor else []


class Merge:
    """Joins what branches left: decides the results of each branch, and what they become.

    Attributes
    ----------
    outputs : list of list of Value
        For each branch the values that it gives, in the same order and of the same types.
    kinds : list of Kind
        What the results are.
    joined : list of Joined
        Those of the variables' leaves that are arrays.
    """

    def __init__(
        self, regions: Sequence[Region], lead: Value, left: Sequence[Mapping[Any, Any]] = ()
    ) -> None:
        self.regions = regions
        #: For each branch what it changed, and what that is at its end.
        self._left = left or [{}] * len(regions)
        self.containers = JoinedObjects(regions)
        self.lead = lead
        self.outputs: list[list[Value]] = [[] for _ in regions]
        self.kinds: list[Kind] = []
        self.joined: list[Joined] = []
        #: What was packed into an array, by its id: it may share memory with that.
        self.origins: dict[int, Tensor] = {}

    def variable(
        self, name: str, ends: Sequence[Any], is_value: bool = True
    ) -> Callable[[Sequence[Tensor]], Any]:
        """Join one variable.

        Parameters
        ----------
        name
            What to call it in messages.
        ends
            What it holds at the end of each branch; `DONT_CARE` for a branch that never ends.
        is_value
            Whether that is a value, rather than what a container holds.

        Returns
        -------
        callable
            Makes the variable's value out of the results of the operation.
        """
        if any(isinstance(end, (Undefined, Maybe)) for end in ends):
            return self._maybe(name, ends)
        alive = [end for end in ends if end is not DONT_CARE]
        if not NUMBERS.issuperset(map(type, alive)):
            flags, values = self._apart_from_nothing(ends)
            if classes := classes_in(values, self.regions):
                return self._of_classes(name, flags, values, classes)
            found = self._opened(ends, self._opening(ends))
            ends = [
                end if type(end) in _CONTAINERS else each
                for end, each in zip(ends, found, strict=True)
            ]
            ends = self._referenced(ends)
        if may_be_none(ends):
            return self._optional(name, ends)
        return self._tree(name, ends, is_value)

    def _apart_from_nothing(self, ends: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        pairs = []
        for end, region in zip(ends, self.regions, strict=True):
            with resumed(region):
                pairs.append(apart_from_nothing(end))
        flags, values = zip(*pairs, strict=True)
        return flags, values

    def _of_classes(
        self, name: str, flags: Sequence[Any], ends: Sequence[Any], classes: Sequence[type]
    ) -> Callable[[Sequence[Tensor]], Any]:
        """Join objects of several classes: those of each, which it is, and whether it is None."""
        rows = []
        for end, region in zip(ends, self.regions, strict=True):
            with resumed(region), changed_again(list(region.left.values())):
                rows.append(apart_by_class(end, classes))
        places, columns = zip(*rows, strict=True)
        flag, place = self.leaf(name, flags), self.leaf(name, places)
        builders = [self._of_class(name, column) for column in zip(*columns, strict=True)]

        def build(results: Sequence[Tensor]) -> Any:
            found = ON_VARIANTS["at"](place(results), [each(results) for each in builders])
            is_there = flag(results)
            return found if is_there is True else ON_VARIANTS["or none"](found, is_there)

        return build

    def _of_class(self, name: str, ends: Sequence[Any]) -> Callable[[Sequence[Tensor]], Any]:
        """Join objects of one class: one that was there before stays what it is."""
        first = next(end for end in ends if end is not DONT_CARE)
        is_one = all([end is first or end is DONT_CARE for end in ends])
        if is_one and not any([region.has_born(first) for region in self.regions]):
            return lambda results: first
        found = self._opened(ends, self._opening(ends))
        return self._tree(name, self._referenced(found))

    def _optional(self, name: str, ends: Sequence[Any]) -> Callable[[Sequence[Tensor]], Any]:
        flags, values = zip(*[apart_from_none(end) for end in ends], strict=True)
        flag = self.leaf(name, flags)
        is_data = any([kind_of(value) is not None for value in values])
        value, joined = (
            self._array(name, values, is_new=True) if is_data else (self._tree(name, values), None)
        )

        def build(results: Sequence[Tensor]) -> Any:
            known, held = flag(results), value(results)
            result = optional(held, known) if type(known) is Tensor else held
            if joined is not None:
                joined.tensor = result
            return result

        return build

    def _maybe(self, name: str, ends: Sequence[Any]) -> Callable[[Sequence[Tensor]], Any]:
        if all(isinstance(end, Undefined) or end is DONT_CARE for end in ends):
            undefined = next(end for end in ends if isinstance(end, Undefined))
            return lambda results: undefined
        flags, values = zip(*[apart(end) for end in ends], strict=True)
        flag, value = self.leaf(name, flags), self.variable(name, values)

        def build(results: Sequence[Tensor]) -> Any:
            known = flag(results)
            return (
                value(results) if known is True else Maybe(bare_name(name), value(results), known)
            )

        return build

    def _tree(
        self, name: str, ends: Sequence[Any], is_value: bool = True
    ) -> Callable[[Sequence[Tensor]], Any]:
        if all([end is DONT_CARE for end in ends]):
            return lambda results: DONT_CARE
        objects = seen = ends
        if not NUMBERS.issuperset(map(type, ends)):
            seen = self._as_left(ends)
            ends = self.lists_alike(seen)
        alive = [end for end in ends if end is not DONT_CARE]
        first = alive[0]
        if all(end is first for end in alive) and (
            len(alive) == len(ends) or self._is_outer(first)
        ):
            if type(first) not in NUMBERS:
                self.containers.add(name, first, objects, ends, (), is_value)
            return lambda results: first
        ends = self._packed(self._lists_of(name, ends))
        if all(kind_of(end) is not None or end is DONT_CARE for end in ends):
            return self._array(name, ends)[0]
        ends = alike_but_for_none(ends)
        ends = self._held_alike(ends, not is_value)
        self.containers.replace(seen, ends)
        opening = self._opening(ends)
        given, ends = ends, self._opened(ends, opening)
        self.containers.replace(given, ends)
        first = next(end for end in ends if end is not DONT_CARE)
        sealed = self._sealed(ends)
        leaves, structure = flatten(first, sealed)
        rows = []
        for end in ends:
            if end is DONT_CARE:
                rows.append([DONT_CARE] * len(leaves))
                continue
            own, its_structure = flatten(end, sealed)
            if its_structure != structure:
                refuse_structure(name, BRANCHES, first, end)
            rows.append(own)
        builders = [self._array(name, column)[0] for column in zip(*rows, strict=True)]
        are_own = all([is_own(end) for end in objects if end is not DONT_CARE])

        def whole(results: Sequence[Tensor]) -> Any:
            if not are_own and (known := self.containers.known(objects)) is not None:
                return known
            value = unflatten(structure, [build(results) for build in builders])
            value = owned(value) if are_own else value
            if opening.classes:
                pairs = zip(ends, self.regions, strict=True)
                alive = [(end, region) for end, region in pairs if end is not DONT_CARE]
                made = parts_of(value, opening, sealed)
                found = [parts_of(end, opening, sealed) for end, _ in alive]
                sources = [self.containers.in_place_of(each) for each in found]
                note_joined(list(map(born, made)), sources, [region for _, region in alive])
            for container in tree.containers(value, sealed):
                born(container)
            self.containers.add(name, value, objects, ends, sealed, is_value)
            return value

        return whole

    def _opening(self, ends: Sequence[Any]) -> Opening:
        """Return what opens the objects that are not the same in all branches."""
        pairs = [
            (end, r) for end, r in zip(ends, self.regions, strict=True) if end is not DONT_CARE
        ]
        alive, regions = zip(*pairs, strict=True)
        classes = new_classes(list(alive), self.regions)
        return in_place(alive, classes, regions) if classes else Opening()

    def _opened(self, ends: Sequence[Any], opening: Opening) -> Sequence[Any]:
        """Return what branches left, objects that one of them made as what these hold."""
        if not opening.classes:
            return ends
        found = []
        for end, region in zip(ends, self.regions, strict=True):
            with resumed(region), changed_again(list(region.left.values())):
                own = opening.at_end(region)
                found.append(end if end is DONT_CARE else opened(end, own))
        return found

    def _referenced(self, ends: Sequence[Any]) -> Sequence[Any]:
        """Return what branches left, objects of dataclasses that they did not make as variants."""
        alive = [end for end in ends if end is not DONT_CARE]
        if all([end is alive[0] for end in alive]) or not any(map(is_record, alive)):
            return ends
        if not all([type(end) is Variant or can_be_one(end) for end in alive]):
            return ends
        if any([region.has_born(end) for region in self.regions for end in alive]):
            return [_as_record(end, region) for end, region in zip(ends, self.regions, strict=True)]
        found = []
        for end, region in zip(ends, self.regions, strict=True):
            with resumed(region):
                is_it = end is DONT_CARE or type(end) is Variant
                found.append(end if is_it else ON_VARIANTS["of"](end))
        return found

    def _lists_of(self, name: str, ends: Sequence[Any]) -> Sequence[Any]:
        """Return what branches left, with lists for those that the data choose."""
        if not state.has_contents:
            return ends
        found = []
        for end, region in zip(ends, self.regions, strict=True):
            with resumed(region):
                found.append(end if end is DONT_CARE else as_lists(chosen_by(end), name, region))
        self.containers.replace(ends, found)
        return found

    def _as_left(self, ends: Sequence[Any]) -> Sequence[Any]:
        """Return what branches left, lists and dicts as they were then unless all left one."""
        alive = [end for end in ends if end is not DONT_CARE]
        if all([end is alive[0] for end in alive[1:]]):
            return ends
        sealed, origins, found = self._sealed(ends), self.containers.origins, []
        for end, region, left in zip(ends, self.regions, self._left, strict=True):
            if end is not DONT_CARE:
                own = partial(as_left, region=region, left=left, origins=origins)
                opened = held_as_left(end, own, sealed)
                end = own(end, sealed=sealed | opened)
            found.append(end)
        return found

    def _sealed(self, ends: Sequence[Any]) -> set[int]:
        """Return the ids of the lists and dicts which what all branches left has in it."""
        alive = [end for end in ends if end is not DONT_CARE]
        return tree.lists_in_place(alive) - {
            id(each) for region in self.regions for each in region.made()
        }

    def lists_alike(self, ends: Sequence[Any], are_held: bool = False) -> Sequence[Any]:
        """Return what branches left, lists as arrays where their lengths differ."""
        return self._each(lambda ends, regions: alike(ends, regions, are_held=are_held), ends)

    def _held_alike(self, ends: Sequence[Any], are_contents: bool) -> Sequence[Any]:
        """Return what branches left, lists of different lengths as ones that hold such arrays."""
        return self._each(partial(held_alike, are_contents=are_contents), ends)

    def _each(self, function: Callable[..., Any], ends: Sequence[Any]) -> Sequence[Any]:
        """Return what a function makes of what branches left that come to their end."""
        pairs = zip(ends, self.regions, strict=True)
        alive = [(end, region) for end, region in pairs if end is not DONT_CARE]
        found = function(*zip(*alive, strict=True)) if alive else None
        if found is None:
            return ends
        give_up_plain_choice(self.lead, may_stay=True)
        rest = iter(found)
        return [end if end is DONT_CARE else next(rest) for end in ends]

    def _packed(self, ends: Sequence[Any]) -> Sequence[Any]:
        """Return what branches left, arrays of sizes that only one of them knows packed."""
        pairs = [
            (end, r) for end, r in zip(ends, self.regions, strict=True) if end is not DONT_CARE
        ]
        found = packing([end for end, _ in pairs], [region for _, region in pairs])
        if not found:
            return ends
        made = [
            end if end is DONT_CARE else packed(end, found, region)
            for end, region in zip(ends, self.regions, strict=True)
        ]
        for end in made:
            for leaf in tree.flatten(end)[0]:
                if isinstance(leaf, Packed):
                    self.origins[id(leaf.data)] = leaf.origin
        return made

    def _array(
        self, name: str, leaves: Sequence[Any], is_new: bool = False
    ) -> tuple[Callable[[Sequence[Tensor]], Any], Joined | None]:
        """Join leaves of a variable; note it where they are arrays, which others may share."""
        count = len(self.kinds)
        build = self.leaf(name, leaves, is_new)
        if len(self.kinds) == count or not self.kinds[count].shape:
            return build, None
        joined = Joined(name, leaves, self.kinds[count])
        self.joined.append(joined)

        def noted(results: Sequence[Tensor]) -> Tensor:
            joined.tensor = build(results)
            return joined.tensor

        return noted, joined

    def leaf(
        self,
        name: str,
        leaves: Sequence[Any],
        is_new: bool = False,
        must_be_alike: bool = True,
    ) -> Callable[[Sequence[Tensor]], Any]:
        """Join one leaf: see `variable`.

        Parameters
        ----------
        is_new
            Whether to join tensors even where they are the same one.
        must_be_alike
            Whether a dtype that the iteration decides is a reason to unroll the loop.
        """
        alive = [leaf for leaf in leaves if leaf is not DONT_CARE]
        if not alive:
            return lambda results: DONT_CARE
        first = alive[0]
        is_new = is_new and type(first) is Tensor and bool(first.shape)
        is_one = all(is_same(leaf, first) for leaf in alive[1:])
        if is_one and not is_new and not self._is_inner(first):
            is_made = any([region.has_born(first) for region in self.regions])
            return lambda results: born(first) if is_made else first
        kinds = [kind for leaf in alive if (kind := kind_among(leaf)) is not None]
        if len(kinds) < len(alive):
            other = next((leaf for leaf in alive[1:] if not is_same(leaf, first)), first)
            refuse_object(name, BRANCHES, first, other)
        kind = kinds[0]
        for each, leaf in zip(kinds[1:], alive[1:], strict=True):
            if each.is_tag is not kind.is_tag:
                refuse_object(name, BRANCHES, first, leaf)
            kind = join_kinds(name, kind, each, BRANCHES)
        if kind.is_tag and any([r.has_born(x) for r in self.regions for x in kind.weak]):
            refuse_object(name, BRANCHES, first, alive[-1])
        kind = widened(kind, alive)
        if must_be_alike and any(not each.is_like(kind) for each in kinds):
            are_close = all([(x.dtype, x.shape) == (kind.dtype, kind.shape) for x in kinds])
            give_up_plain_choice(self.lead, may_stay=are_close or kind.mixed is not None)
        for region, outputs, leaf in zip(self.regions, self.outputs, leaves, strict=True):
            with resumed(region):
                outputs += values_of(leaf, kind)
        position = len(self.kinds)
        mixed = kind.mixed
        if mixed is None:
            self.kinds.append(kind)
            return lambda results: results[position]
        self.kinds += [kind, CODES]
        return lambda results: note_mixed(results[position], mixed, results[position + 1])

    def _is_outer(self, value: Any) -> bool:
        """Whether a value is a container that holds nothing made in one of the branches."""
        if not isinstance(value, (list, dict, set, deque)):
            return False
        return not any(map(self._is_inner, flatten(value)[0]))

    def _is_inner(self, leaf: Any) -> bool:
        """Whether a leaf was made in one of the branches, and means nothing outside of it."""
        leaf = leaf.place if type(leaf) is Picked else leaf
        leaf = leaf._lw_tag if type(leaf) is Variant else leaf
        return type(leaf) is Tensor and any(leaf._trace is region for region in self.regions)


def _as_record(end: Any, region: Region) -> Any:
    """Return what a branch left, of one of several objects of a dataclass what that holds."""
    if type(end) is not Variant:
        return end
    with resumed(region), changed_again(list(region.left.values())):
        made = ON_VARIANTS["record"](end)
        if type(made) is Variant:
            return made
        arrays = arrays_in(list(end._lw_among))
        for field in fields(made):
            value = as_it_is(getattr(made, field.name), arrays)
            object.__setattr__(made, field.name, value)
        return made


def _is_plain(value: Value, trace: Trace) -> bool:
    """Whether a value is computed of numbers alone that plain Python has as plain numbers."""
    stack, seen = [(value, trace)], set()
    makers: dict[Trace, dict[Value, Operation]] = {}
    while stack:
        value, trace = stack.pop()
        if (value, trace) in seen or not isinstance(trace, Region):
            if not isinstance(trace, Region):
                return False
            continue
        seen.add((value, trace))
        if value in trace.counters:
            continue
        if trace not in makers:
            makers[trace] = {r: op for op in trace.operations for r in op.results}
        op = makers[trace].get(value)
        if op is not None:
            stack += [(operand, trace) for operand in op.operands]
            continue
        source = next((source for source, own in trace.captures if own is value), None)
        if source is None:
            return False
        if isinstance(source, tuple):
            stack.append((source[1], source[0]))
    return True
