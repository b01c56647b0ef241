"""Which operations of a map become kernels, and which are left to NumPy.

The region of a map is cut into stages. What has a native form goes into kernels, as few and as
large as the data allow; the rest stays in parallel maps, which `vectorize` pushes into operations.
Whatever is the same for all examples, and more than a few numbers, is computed once, outside.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence, Set
from dataclasses import dataclass

from lanewise.codegen.errors import CannotCompile, TooLong
from lanewise.codegen.kernel import Kernel, write
from lanewise.codegen.kernel_cache import kernel_for
from lanewise.codegen.lift import lift
from lanewise.codegen.numbers import is_supported
from lanewise.codegen.sizes import is_few
from lanewise.codegen.work import count_operations
from lanewise.ir.graph import Builder, Graph, Operation, Signature, Value, current_builder
from lanewise.ir.types import ArrayType
from lanewise.ops.creation import iota
from lanewise.ops.facts import Kind, is_plain_view
from lanewise.ops.lists import list_arena
from lanewise.ops.movement import reshape, slice_
from lanewise.ops.regions import CHUNKED, NATIVE, PARALLEL, batched_type, map_
from lanewise.ops.tables import list_tangents
from lanewise.passes.specialize import (
    all_symbols_of,
    defined_sizes,
    has_own_sizes,
    unknown_sizes,
)

#: Arrays of at most so many elements are computed in each block of lanes rather than outside.
FEW = 8
#: A kernel has about so many operations at most, those in regions among them: compiling takes
#: longer than in proportion to its size.
MOST_OPERATIONS = 512
#: ... and gives at most so many results, which may each take a loop.
MOST_RESULTS = 128
#: Constants and ranges of at most so many elements are written into the kernels that need them.
MOST_CONSTANT = 64


@dataclass(frozen=True, slots=True)
class Refused:
    """An operation under a map that is left to NumPy."""

    op: Operation
    #: Why it has no native form.
    reason: str
    #: Where in it that was found: the operation itself, or one in its regions.
    place: Operation


#: Told what is left to NumPy.
Report = Callable[[Refused], None]


def partition(graph: Graph, report: Report | None = None) -> Graph:
    """Return the graph with the parts of its parallel maps that have a native form as native maps.

    What is left to NumPy of the operations under maps, and why, is told to `report`.
    """
    whole: dict[Value, Value] = {}
    sizes = unknown_sizes(Graph(graph.inputs, (), ())) | defined_sizes(graph)

    def rule(op: Operation, values: dict[Value, Value]) -> list[Value] | None:
        obstacle = _obstacle_of_map(op, sizes) if op.primitive is map_ else ""
        if obstacle is None:
            operands, builder = [values[value] for value in op.operands], current_builder()
            found = _split(builder, op, operands, report or (lambda refused: None))
            if found is None or not _is_single(op):
                return found
            return [_with_batch(builder, value, whole) for value in found]
        # The result of a single example may be asked for without its batch again.
        known = whole.get(values[op.operands[0]]) if op.primitive is reshape else None
        if known is not None and known.type is op.results[0].type:
            return [known]
        if obstacle and report:
            report(Refused(op, obstacle, op))
        return None

    return graph.rewritten(rule)


def _obstacle_of_map(op: Operation, known: Set[str]) -> str | None:
    """Return why nothing of a map may be native; None if something may be.

    `known` are the symbols of the sizes that are known before it runs.
    """
    if op.params["order"] != PARALLEL:
        return "its examples run one after the other"
    if op.has_effect:
        return "it calls host code"
    if all(axis is None for axis in op.params["in_dims"]) and not _is_single(op):
        return "no example differs from another"
    if not all(isinstance(v.type, ArrayType) for v in (*op.operands, *op.results)):
        return "it takes or gives more than arrays"
    if not unknown_sizes(op.regions[0]) <= known:
        return "it has arrays whose length the data decide"
    return None


def _is_single(op: Operation) -> bool:
    """Whether a map has one example, which takes all operands whole (see `passes.single`).

    Its kernels have nothing mapped, and so compute with scalars what is one number; what is left to
    NumPy runs as it stands, outside of maps.
    """
    return op.params["size"] == 1 and all(axis is None for axis in op.params["in_dims"])


def _with_batch(builder: Builder, value: Value, whole: dict[Value, Value]) -> Value:
    """Return the result of a single example as that of a batch, and note what it was."""
    (batch,) = builder.emit(reshape, (value,), {"shape": (1, *value.type.shape)})
    whole[batch] = value
    return batch


@dataclass(frozen=True, slots=True)
class _Group:
    """Operations of a map that become a map of their own."""

    #: Whether it is to be a kernel.
    is_native: bool
    members: Sequence[Operation]
    #: The values that it takes from outside, and those that others take of it.
    taken: Sequence[Value]
    given: Sequence[Value]


class _Split:
    """A map on its way to being several."""

    def __init__(self, op: Operation, report: Report) -> None:
        (self.body,) = op.regions
        self.op, self.report = op, report
        self.is_single = _is_single(op)
        self.varies: set[Value] = {
            value
            for value, axis in zip(self.body.inputs, op.params["in_dims"], strict=True)
            if axis is not None or self.is_single
        }
        self.native: dict[Operation, bool] = {}
        #: Operations that a kernel begins with because the one before would be too long.
        self.cuts: set[Operation] = set()
        #: Why operations have no native form by themselves, as far as asked; "" if they have one.
        self.alone: dict[Operation, str] = {}
        self.maker = {value: member for member in self.body.operations for value in member.results}
        #: The symbols of sizes that each example defines for itself.
        self.sizes = sizes = defined_sizes(self.body)
        for member in self.body.operations:
            is_arena = member.primitive is list_arena and self._has_own_lists()
            is_own = (
                is_arena
                or member.must_run
                or (sizes and not sizes.isdisjoint(all_symbols_of(member)))
            )
            if is_own or not self.varies.isdisjoint(member.operands):
                self.varies.update(member.results)
            obstacle = _obstacle(member)
            self.native[member] = obstacle is None
            if member.primitive is list_arena:
                self.native[member] = is_arena
            if member.primitive is list_tangents and self._arena(member) is None:
                # The arena is from outside: that of all examples.
                self.native[member] = False
                self.varies.difference_update(member.results)
            if obstacle is not None and self.is_inside(member):
                report(Refused(member, *obstacle))

    @property
    def mapped(self) -> Container[Value]:
        """The values of which examples have one each, which none has where there is one example."""
        return () if self.is_single else self.varies

    def _has_own_lists(self) -> bool:
        """Whether a kernel may have the memory of its lists itself.

        Not if a result that is the same for all examples depends on lists.
        """
        found: set[Value] = set()
        for member in self.body.operations:
            if member.primitive is list_arena or not found.isdisjoint(member.operands):
                found.update(member.results)
        outputs = zip(self.body.outputs, self.op.params["out_mapped"], strict=True)
        shared = [value for value, is_mapped in outputs if not is_mapped]
        return self.is_single or found.isdisjoint(shared)

    def refuse(self, refused: Refused) -> None:
        """Leave an operation to NumPy."""
        self.native[refused.op] = False
        if refused.op.primitive.kind is Kind.STORE:
            # Then it is that of all examples, and all tables that belong to it.
            root = self._arena(refused.op)
            for member in self.body.operations:
                if member.primitive.kind is Kind.STORE and self._arena(member) is root:
                    self.native[member] = False
                    self.varies.difference_update(member.results)
        self.report(refused)

    def leave_views(self) -> bool:
        """Leave views to NumPy that nothing native reads; return whether there were any.

        What a library takes needs no copy: a transposed matrix, a part of one, one for a stack.
        """
        found = []
        seen = set(self.body.outputs)
        for member in reversed(self.body.operations):
            is_view = member.primitive.kind is Kind.VIEW and self.native[member]
            if is_view and seen.isdisjoint(member.results):
                found.append(member)
            elif self.native[member]:
                seen.update(member.operands)
        for member in found:
            self.native[member] = False
        return bool(found)

    def _arena(self, op: Operation) -> Operation | None:
        """Return what makes the arena that the tables of a store belong to."""
        maker: Operation | None = op
        while maker is not None and maker.primitive is list_tangents:
            maker = self.maker.get(maker.operands[0])
        return maker

    def stages(self) -> dict[Operation, int]:
        """Return the stage of each varying operation: native ones have even numbers."""
        stage: dict[Operation, int] = {}
        for op in self.body.operations:
            if not self.is_inside(op):
                continue
            makers = [self.maker.get(value) for value in op.operands]
            least = max([stage[maker] for maker in makers if maker in stage], default=0)
            stage[op] = least + (least % 2 == int(self.native[op]))
        return stage

    def is_inside(self, op: Operation) -> bool:
        """Whether an operation is computed for each example, or block of examples."""
        return op.must_run or not self.varies.isdisjoint(op.results)


def _obstacle(op: Operation) -> tuple[str, Operation] | None:
    """Return why an operation has no native form, if a type in it says so, and where that is."""
    for inner in op.walk():
        for value in (*inner.operands, *inner.results):
            if not _is_plain(value):
                return f"{value.type} is not an array of numbers", inner
    return None


def _is_plain(value: Value) -> bool:
    """Whether a value is an array of numbers, or an arena of lists."""
    type_ = value.type
    return isinstance(type_, ArrayType) and (is_supported(type_.dtype) or type_.dtype.kind == "O")


def _is_cheap(op: Operation) -> bool:
    """Whether what is the same for all examples may be computed in the kernels that need it."""
    if op.regions or not all(map(_is_plain, op.results)):
        return False
    if op.primitive.kind is Kind.VIEW and not is_plain_view(op):
        return True  # numbers that are repeated, which from outside would be copied for a kernel
    most = FEW if op.operands else MOST_CONSTANT
    return all(is_few(v.type.shape, most) for v in op.results)


def _split(
    builder: Builder, op: Operation, operands: list[Value], report: Report
) -> list[Value] | None:
    """Record a map as native and other maps; return its results, or None where it stays."""
    split = _Split(op, report)
    while True:
        groups = _groups(split)
        cuts = len(split.cuts)
        culprits = _culprits(split, groups)
        if not culprits and len(split.cuts) == cuts and not split.leave_views():
            break
        for refused in culprits:
            split.refuse(refused)
        if culprits and has_own_sizes(op):  # a size is known in the kernel that defines it
            return None
    if op.params["chunk"] is not None and any(g.members and not g.is_native for g in groups):
        # What NumPy computes must go in chunks.
        if not any(g.members and g.is_native for g in groups):
            return None
        changed = {**op.params, "order": CHUNKED}
        return list(builder.emit(map_, tuple(operands), changed, op.regions))
    return _recorded(builder, split, groups, operands)


def _culprits(split: _Split, groups: Sequence[_Group]) -> list[Refused]:
    """Return operations of native groups that have no native form after all."""
    for group in [group for group in groups if group.is_native]:
        members = group.members
        apart = {value for value in (*group.taken, *group.given) if value.type.dtype.kind == "O"}
        if apart:  # a kernel's lists are its own
            reason = "what a loop appends to and what is read of it are in different kernels"
            return [
                Refused(member, reason, member)
                for member in members
                if not apart.isdisjoint((*member.operands, *member.results))
            ]
        places = _places_of_cuts(split, members)
        if len(group.given) > MOST_RESULTS and places:
            split.cuts.add(_nearest(places, members, len(members) // 2))
            continue
        error, culprit = _refused(split, group, kernel_for)
        if error is None:
            continue
        if isinstance(error, TooLong) and places:
            # The next kernel begins with what this one had no room for.
            first = members.index(culprit) if culprit in members else len(members) // 2
            split.cuts.add(_nearest(places, members, first))
            continue
        if culprit is None and not members:  # it only hands on what cannot be handed on so
            raise AssertionError(f"a kernel without operations: {error}") from error
        # What is computed where it is read is found out there to have no native form.
        if culprit is None or (culprit in members and not _refusal(split, culprit)):
            found = [Refused(m, reason, m) for m in members if (reason := _refusal(split, m))]
            if found:
                return found
        if culprit is not None:
            # What the trail holds are the kernel's copies.
            place = error.trail[0] if len(error.trail) > 1 else culprit
            return [Refused(culprit, error.reason, place)]
        return [Refused(member, error.reason, member) for member in members]
    return []


def _refused(
    split: _Split, group: _Group, make: Callable[..., Kernel]
) -> tuple[CannotCompile | None, Operation | None]:
    """Return why a group has no kernel, if it has none, and the operation that it was found in.

    `make` writes it, or finds it where it was written.
    """
    body, inner, numbers = _region(split, group)
    in_dims = [0 if value in split.mapped else None for value in group.taken]
    in_dims += [None] * len(numbers)
    try:
        make(body, in_dims, fastmath=split.op.params.get("fastmath", False))
    except CannotCompile as error:
        origin = dict(zip(body.operations, inner, strict=True))
        # Whoever keeps an error keeps the frames of its traceback, and so the arguments of a call.
        error = error.with_traceback(None)
        return error, origin.get(error.trail[-1]) if error.trail else None
    return None, None


def _refusal(split: _Split, member: Operation) -> str:
    """Return why an operation has no native form by itself; nothing if it has one.

    It is asked of all operations of a kernel for each one that is left out of it, but found out
    once: what it takes from others does not matter.
    """
    if member not in split.alone:
        group = _Group(True, [member], _taken(split, [member]), member.results)
        error, _ = _refused(split, group, write)
        split.alone[member] = error.reason if error else ""
    return split.alone[member]


def _groups(split: _Split) -> list[_Group]:
    """Return the operations of each stage, in kernels' sizes."""
    body, stage = split.body, split.stages()
    pieces = _pieces(split, stage)
    place = {member: key for key, members in pieces.items() for member in members}
    leaving = set(body.outputs)
    for other in body.operations:
        here = place.get(other)
        leaving.update([v for v in other.operands if place.get(split.maker.get(v)) != here])
    groups = []
    for (number, _), members in sorted(pieces.items(), key=lambda piece: piece[0]):
        given = [v for member in members for v in member.results if v in leaving]
        groups.append(_Group(number % 2 == 0, members, _taken(split, members), given))
    # Results that no operation of the map gives have a group of their own: a kernel copies what
    # examples have, and what is the same for all of them is broadcast.
    outputs = zip(body.outputs, split.op.params["out_mapped"], strict=True)
    passed = [v for v, mapped in outputs if mapped and split.maker.get(v) not in stage]
    for is_native in (True, False):
        given = [v for v in passed if (v in split.varies and _is_plain(v)) == is_native]
        if given := list(dict.fromkeys(given)):
            groups.append(_Group(is_native, [], _taken(split, [], given), given))
    return groups


def _pieces(split: _Split, stage: dict[Operation, int]) -> dict[tuple[int, int], list[Operation]]:
    """Return the operations of each stage, those of native ones cut into kernels' sizes."""
    stages: dict[int, list[Operation]] = {}
    for member in split.body.operations:
        if member in stage:
            stages.setdefault(stage[member], []).append(member)
    pieces: dict[tuple[int, int], list[Operation]] = {}
    for number, members in stages.items():
        places = set(_places_of_cuts(split, members)) if number % 2 == 0 else set()
        piece = count = ended = 0
        for index, member in enumerate(members):
            # Where one ends does not depend on other cuts, so that kernels stay what they are.
            count += count_operations(Graph((), [member], ()))
            is_full = count // MOST_OPERATIONS > ended
            if member in places and (is_full or member in split.cuts):
                piece += 1
            if index == 0 or member in places:
                ended = count // MOST_OPERATIONS
            pieces.setdefault((number, piece), []).append(member)
    return pieces


def _places_of_cuts(split: _Split, members: Sequence[Operation]) -> list[Operation]:
    """Return the operations of a kernel that another one may begin with.

    What uses lists is not cut, nor what has a size from what defines it: both are a kernel's own.
    """
    if any(map(_uses_lists, members)):
        return []
    if not split.sizes:
        return list(members[1:])
    own = [split.sizes & all_symbols_of(member) for member in members]
    last = {name: index for index, names in enumerate(own) for name in names}
    found, end = [], 0
    for index, member in enumerate(members):
        if index > end:
            found.append(member)
        end = max([end, *[last[name] for name in own[index]]])
    return found


def _nearest(places: Sequence[Operation], members: Sequence[Operation], index: int) -> Operation:
    """Return the last of some operations up to a place, or the first."""
    before = set(members[: index + 1])
    return next((member for member in reversed(places) if member in before), places[0])


def _uses_lists(op: Operation) -> bool:
    types = [value.type for value in (*op.operands, *op.results)]
    return any(type_.dtype.kind == "O" for type_ in types if isinstance(type_, ArrayType))


def _taken(split: _Split, members: Sequence[Operation], given: Sequence[Value] = ()) -> list[Value]:
    """Return the values that a group takes from outside: not what it computes itself."""
    taken: dict[Value, None] = {}
    own, seen = set(members), set()
    needed = [*[value for member in members for value in member.operands], *given]
    needed.reverse()
    while needed:
        value = needed.pop()
        maker = split.maker.get(value)
        if value in seen or maker in own:
            continue
        seen.add(value)
        if maker is not None and _is_recomputed(split, maker):
            needed += reversed(maker.operands)
        else:
            taken[value] = None
    return list(taken)


def _missing(
    split: _Split, values: Sequence[Value], known: Container[Value]
) -> Iterator[Operation]:
    """Yield the operations that make values that are not known, what they need before them.

    Who takes one makes its results known.
    """
    needed = [*reversed(values)]
    while needed:
        value = needed[-1]
        if value in known:
            needed.pop()
            continue
        maker = split.maker[value]
        missing = [operand for operand in reversed(maker.operands) if operand not in known]
        if missing:
            needed += missing
        else:
            yield maker


def _is_recomputed(split: _Split, maker: Operation) -> bool:
    """Whether what is the same for all examples is computed in each kernel that needs it."""
    is_outside = split.native[maker] and not split.is_inside(maker)
    return is_outside and (_is_cheap(maker) or _is_range(split, maker))


def _is_range(split: _Split, maker: Operation | None) -> bool:
    """Whether an operation gives numbers of a range: indices that a kernel need not check then."""
    if maker is None or maker.primitive is iota:
        return maker is not None
    return maker.primitive is slice_ and _is_range(split, split.maker.get(maker.operands[0]))


def _region(split: _Split, group: _Group) -> tuple[Graph, list[Operation], list[Signature]]:
    """Return a group as a region, and which operation each of its operations stands for.

    A native region takes numbers behind its other inputs; which ones is the last that is returned.
    """
    inner = Builder()
    values = {value: inner.input(value.type) for value in group.taken}
    origin: dict[Operation, Operation] = {}

    def copy(member: Operation) -> None:
        inner.copy(member, values)
        origin[inner.operations[-1]] = member

    for member in group.members:
        for maker in _missing(split, member.operands, values):
            copy(maker)
        copy(member)
    for maker in _missing(split, group.given, values):
        copy(maker)
    region = inner.finish([values[value] for value in group.given])
    if not group.is_native:
        return region, [origin[op] for op in region.operations], []
    lifted, numbers, copies = lift(region)
    return lifted, [origin[copies[op]] for op in lifted.operations], numbers


def _recorded(
    builder: Builder, split: _Split, groups: Sequence[_Group], operands: list[Value]
) -> list[Value]:
    """Record the maps of all groups; return the results of the map that they are of."""
    params = split.op.params
    values = dict(zip(split.body.inputs, operands, strict=True))
    copies: dict[Value, Value] = {}
    dims = dict(zip(split.body.inputs, params["in_dims"], strict=True))
    wanted = params["columns"]
    columns = {v for v, is_column in zip(split.body.outputs, wanted, strict=False) if is_column}

    def need(value: Value) -> Value:
        """Return a value that is the same for all examples, computed outside."""
        for maker in _missing(split, [value], values):
            builder.copy(maker, values)
        return values[value]

    for group in groups:
        region, _, numbers = _region(split, group)
        given = group.given
        outer = tuple([need(value) for value in group.taken])
        if split.is_single and not group.is_native:
            values.update(zip(given, builder.inline(region, outer), strict=True))
            continue
        axes = [dims.get(value, 0) if value in split.mapped else None for value in group.taken]
        builder.location = (group.members or (split.op,))[0].place
        outer += tuple([builder.append(constant)[0] for constant in numbers])
        made = {
            **params,
            "in_dims": (*axes, *[None] * len(numbers)),
            "out_mapped": (True,) * len(given),
            "order": NATIVE if group.is_native else PARALLEL,
            "chunk": None,
            "columns": tuple([value in columns for value in given]) if columns else (),
        }
        results = builder.emit(map_, outer, made, (region,))
        for value, result in zip(given, results, strict=True):
            if split.is_single:
                (result,) = builder.emit(reshape, (result,), {"shape": value.type.shape})
            # What has a value already is an input that is handed on: a copy of it for each example.
            (copies if value in values else values)[value] = result
    found = []
    for value, mapped in zip(split.body.outputs, params["out_mapped"], strict=True):
        found.append(copies[value] if mapped and value in copies else need(value))
        if mapped and not split.is_single:
            assert found[-1].type == batched_type(value.type, params["size"])
    return found
