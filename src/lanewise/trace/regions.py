"""Regions: traces of a branch or of a loop's body, which are part of the function around them.

Unlike a mapped function's, the trace of a region may change what lives outside of it: tensors,
lists, dicts, attributes. Every such change is logged before it happens. When the region ends what
was changed is put back, and the changes are handed over as results of the region: the operation
that holds the region decides for which examples they happen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import here
from lanewise.ops.registry import Primitive
from lanewise.trace import tree
from lanewise.trace.formatting import Text
from lanewise.trace.lending import Lent, lend_like, lent_of
from lanewise.trace.limits import REGION
from lanewise.trace.slots import (
    ArraySlot,
    AttributeSlot,
    CellSlot,
    ContainerSlot,
    ItemSlot,
    Slot,
    StateSlot,
    TensorSlot,
    can_be_lost,
    lost,
)
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import Trace, resolve, state
from lanewise.trace.variants import Variant


def holds_traced(value: Any) -> bool:
    """Whether a value is a tensor, a text of one, a variant, or a container with one in it."""
    return any([isinstance(leaf, (Tensor, Text, Variant)) for leaf in tree.flatten(value)[0]])


class Watched(Trace):
    """A trace that knows what code in it has changed outside of it.

    Attributes
    ----------
    changes : dict of key to (Slot, old)
        What code in the trace has changed outside of it, and what that was before.
    lines : dict of key to place
        The user's lines that changed it first.
    lengths, given : set of int
        The ids of the lists of which it was asked how long they are, and of the containers among
        the arguments, which are copies of those of the caller.
    is_touched : bool
        Whether something was changed that was not made in it, or was about to be.
    """

    __slots__ = ("born", "changes", "given", "is_touched", "lengths", "lines", "pending")

    def __init__(self, function: Any) -> None:
        Trace.__init__(self, function)
        self.changes: dict[Any, tuple[Slot, Any]] = {}
        self.lines: dict[Any, Any] = {}
        self.lengths, self.given = set[int](), set[int]()
        self.is_touched = False
        #: Regions in it that were left, until their changes are joined.
        self.pending: list[Region] = []
        #: The containers that were made since, by their ids.
        self.born: dict[int, Any] = {}

    def log(self, slot: Slot) -> None:
        """Remember what a place holds before it is changed for the first time."""
        if self.journal is not None:
            self.journal.log(slot)
        if slot.key not in self.changes and id(slot.owner) not in self.born:
            self.changes[slot.key] = (slot, slot.get())
            self.lines[slot.key] = here()
            touch()

    def put_back(self, only_tensors: bool = False) -> None:
        """Put back what was changed outside of the trace, or what holds traced values now."""
        for slot, old in reversed(self.changes.values()):
            if not only_tensors or holds_traced(slot.get()):
                slot.set(old)

    def forget(self) -> None:
        """Let go of what was changed and made: some of it holds the trace."""
        self.changes, self.lines, self.born = {}, {}, {}

    def has_born(self, container: Any) -> bool:
        """Whether a container was made in the trace."""
        return id(container) in self.born

    def made(self) -> Collection[Any]:
        """Return the containers that were made in the trace, in their order."""
        return self.born.values()

    def bear(self, container: Any) -> Any:
        """Remember that a container was made in the trace: its changes are nobody else's."""
        self.born[id(container)] = container
        if self.journal is not None:
            self.journal.bear(container)
        return container


#: How many regions may be nested: where recursion is not ended by plain numbers, it ends here.
DEEPEST = 400


class Region(Watched):
    """The trace of a branch or of a loop's body.

    Attributes
    ----------
    seen : dict of id to (Tensor, Value)
        What tensors held at the end of the region, before changes were undone.
    guards : dict of id to (Tensor, old, new)
        What guards of tensors changed to in the region.
    is_trial : bool
        Whether it is given up if anything is raised in it, and recorded in another way.
    counters : set of Value
        Inputs that plain Python would have as plain numbers: the number of the iteration.
    counted : Counter, optional
        Of the body of a loop of known iterations; see `lanewise.trace.provenance`.
    depth : int
        How many regions it stands in, and itself.
    left, begun : dict of key to (Slot, value), set of key
        What changed places held at the end; those that a loop hands on from turn to turn.
    facts : dict of id to set of int
        By the tag of one of several objects, which it can be.
    """

    __slots__ = (
        "begun", "counted", "counters", "depth", "facts", "guards", "is_trial", "is_turn", "left",
        "seen", "weight",
    )  # fmt: skip

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        state.room_to_record -= REGION
        self.seen: dict[int, tuple[Tensor, Value]] = {}
        self.left: dict[Any, tuple[Slot, Any]] = {}
        self.guards: dict[int, tuple[Tensor, Any, Any]] = {}
        self.is_trial = self.is_turn = False
        self.depth, self.weight = 1, 0
        self.counters, self.begun, self.facts = set[Value](), set[Any](), {}
        self.counted: Any = None

    def open(self) -> None:
        """Begin, or go on, recording into this region."""
        if self.parent is None and state.trace is not None:
            self.parent = state.trace
            self.lent = self.parent.lent
            if isinstance(self.parent, Region):
                self.is_trial, self.depth = self.parent.is_trial, self.parent.depth + 1
                if self.depth > DEEPEST:
                    raise RecursionError("too many branches and loops within each other")
        state.trace = self

    def leave(self, held: Iterable[tuple[Tensor, Value]] = ()) -> None:
        """Stop recording into the region, and undo what it changed.

        ``held`` are tensors that will still be asked for what they hold now.
        """
        self.seen = {id(tensor): (tensor, value) for tensor, value in held}
        self.undo()

    def hold(
        self, changes: dict[Any, tuple[Slot, Any]], arrays: Iterable[Tensor],
        value_of: Callable[[Tensor], Value],
    ) -> None:  # fmt: skip
        """Remember what tensors held at the end of the region, which was left with `changes`."""
        slots = [(slot, value) for slot, value in changes.values() if isinstance(slot, TensorSlot)]
        before = [(slot, slot.get()) for slot, _ in slots]
        with resumed(self):
            for slot, value in slots:
                slot.set(value)
            try:
                self.seen.update({id(tensor): (tensor, value_of(tensor)) for tensor in arrays})
            finally:
                for slot, value in before:
                    slot.set(value)

    def undo(self) -> None:
        """Stop recording into the region and put back what was changed outside of it."""
        self.put_back()
        for key, (tensor, old, _) in self.guards.items():
            self.guards[key] = tensor, old, tensor._guard
            tensor._guard = old
        if isinstance(self.parent, Watched) and self.changes:
            self.parent.pending = [x for x in self.parent.pending if x.changes] + [self]
        state.trace = self.parent


class Aside(Region):
    """The region of one operand of an expression: ``x if c else y``, ``x and y``, ``x or y``.

    A function called there may raise for every example; then the operand has no value
    (`has_stopped`), and the rest of the expression goes on. `is_called` says that we are in one.
    """

    __slots__ = ("has_stopped", "is_called")

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self.has_stopped = self.is_called = False


class Continuation(Region):
    """What follows an operation that raises for some examples: it runs for the others.

    It lasts until the branch, the loop's turn or the ``try`` ends in which that operation stands.

    Attributes
    ----------
    ending : callable
        Ends it: takes names, what they hold at its end (None if it never ends), and what they hold
        for the examples that are not in it, if that is of interest; then these change nothing
        else. It returns what the names hold for all examples.
    test : bool
        What the test of a loop gives for the examples that are not in it.
    """

    __slots__ = ("ending", "test")

    ending: Callable[..., tuple[Any, ...]]
    test: bool


def settled(
    trace: Trace, names: Sequence[str], values: Sequence[Any] | None
) -> tuple[Any, ...] | None:
    """End what continues inside of `trace`; return what the names hold, None if it never ends."""
    while state.trace is not trace:
        region = state.trace
        assert type(region) is Continuation
        found = region.ending(names, values)
        values = None if values is None else found
    return None if values is None else tuple(values)


def answered(trace: Trace, answer: Any) -> Any:
    """End what continues inside of `trace`, which is the test of a loop; return its answer."""
    while state.trace is not trace:
        region = state.trace
        assert type(region) is Continuation
        (answer,) = region.ending(("the condition",), (answer,), (region.test,))
    return answer


def resume() -> None:
    """Go on with those examples for which nothing has been raised that a ``try`` catches."""
    if state.attempt is not None:
        state.attempt.resume()


def set_guard(tensor: Tensor, guard: Any) -> None:
    """Change what guards a tensor; in a branch, for this branch until it is joined."""
    trace = state.trace
    if trace is not None and trace.journal is not None:
        trace.journal.log_guard(tensor)
    if isinstance(trace, Region):
        before = trace.guards.get(id(tensor), (tensor, tensor._guard))
        trace.guards[id(tensor)] = tensor, before[1], guard  # it may have been left already
    tensor._guard = guard


def unwind(trace: Trace | None) -> None:
    """Undo all regions that were opened inside of `trace` and not left."""
    while state.trace is not trace and state.trace is not None:
        region = state.trace
        region.undo()
        region.forget()


def retract(trace: Trace, first: int, token: Any) -> None:
    """Take back effects and checks that were recorded since operation number `first`.

    ``token`` is what ``trace.token`` was then. Other operations may stay: nobody uses them.
    """
    gone: set[Value] = set()
    kept: list[Operation] = []
    for op in trace.operations[first:]:
        if op.signature.must_run or not gone.isdisjoint(op.operands):
            gone.update(op.results)
            if (size := op.params.get("size")) in trace.sizes.values():  # defined there
                trace.sizes = {value: x for value, x in trace.sizes.items() if x != size}
        else:
            kept.append(op)
    trace.operations[first:] = kept
    if trace.token is not None and trace.token[1] in gone:
        trace.token = token or (trace.token[0], trace.token[0])


# --- changes, as they are about to happen ---------------------------------------------------------


def in_region() -> bool:
    """Whether what is being traced is a branch or a loop's body."""
    return isinstance(state.trace, Region)


def is_watched() -> bool:
    """Whether changes of lists, dicts and objects have to be noted before they happen."""
    trace = state.trace
    is_noted = trace is not None and (trace.journal is not None or bool(trace.lent))
    return is_noted or isinstance(trace, Watched)


def note(slot_of: Callable[..., Slot], *place: Any) -> None:
    """Log that a place is about to be changed, if a region is being traced.

    Raises
    ------
    ControlFlowError
        If the data decided whether it is reached under another name too.
    """
    trace = state.trace
    if trace is not None and id(place[0]) in trace.lent:
        _lose_twins(trace, trace.lent[id(place[0])])
    if isinstance(trace, Watched):
        trace.log(slot_of(*place))
    elif trace is not None and trace.journal is not None:
        trace.journal.log(slot_of(*place))


def _lose_twins(trace: Trace, lent: Lent) -> None:
    """See to it that nobody uses what a container may be that is about to be changed."""
    found = twins(lent.container)
    if lent.is_kept or not all([is_made_here(x) and can_be_lost(x) for x in found]):
        lent.refuse()
    for slot, value in [place for twin in found for place in lost(twin, lent.name)]:
        assert isinstance(trace, Watched)
        trace.log(slot)
        slot.set(value)


def twins(container: Any, region: Region | None = None) -> list[Any]:
    """Return what may be the same object as a container, and is another.

    That is what was there before, and what was made in regions that are open, or in `region`.
    """
    lent = {} if state.trace is None else state.trace.lent
    found = lent[id(container)].twins.values() if id(container) in lent else ()
    return [
        each for each in found
        if is_made_here(each) or not lent[id(each)].is_own or (region and region.has_born(each))
    ]  # fmt: skip


def is_made_here(container: Any) -> bool:
    """Whether a container was made in what is traced, in a region that is open."""
    trace = state.trace
    while isinstance(trace, Region) and not trace.has_born(container):
        trace = trace.parent
    return isinstance(trace, Watched) and trace.has_born(container)


def note_twins(first: Any, second: Any, name: str) -> None:
    """Remember that two containers may be one object, as the data decide."""
    if first is second or type(first) is not type(second):
        return
    for one, other in ((first, second), (second, first)):
        lent_of(one, name, is_made_here(one)).twins[id(other)] = other


def note_twin_of(made: Any, others: Iterable[Any], name: str) -> None:
    """Remember that a container may be any of others, and so whatever may be one of these."""
    others = [twin for each in others for twin in (each, *twins(each))]
    for other in others:
        note_twins(made, other, name)
    lend_like([made], others)


def note_length(container: Any) -> None:
    """Note that code asks how many entries a list has."""
    trace = state.trace
    while trace is not None:
        if isinstance(trace, Watched):
            trace.lengths.add(id(container))
        trace = trace.parent


def touch() -> None:
    """Note that what is recorded now changes, or was about to change, what is outside of it."""
    trace = state.trace
    while trace is not None:
        if isinstance(trace, Watched):
            trace.is_touched = True
        trace = trace.parent if isinstance(trace, Region) else None


def note_item(container: Any, key: Any) -> None:
    """Log that ``container[key]`` is about to be set or deleted."""
    note(ItemSlot, container, key)


def note_attribute(owner: Any, name: str) -> None:
    """Log that an attribute is about to be set or deleted."""
    note(AttributeSlot, owner, name)


def note_container(container: Any) -> None:
    """Log that the contents of a list, dict, set or deque are about to change."""
    note(ContainerSlot, container)


def note_default(container: Any) -> Watched | None:
    """Log that a dict is about to get the default of a key: that is no change of a region's.

    Returns the trace in which the dict was made, if any: the default is made there, too.
    """
    trace = state.trace
    while isinstance(trace, Region) and not trace.has_born(container):
        trace = trace.parent
    if not isinstance(trace, Watched):
        return None
    trace.log(ContainerSlot(container))
    return trace if trace.has_born(container) else None


def note_array(array: Any) -> None:
    """Log that an array that is not traced is about to be written to."""
    note(ArraySlot, array)


def note_cell(cell: Any) -> None:
    """Log that a variable of a function around is about to be set."""
    note(CellSlot, cell)


def note_state(owner: Any) -> None:
    """Log that an object with a state of its own is about to change it."""
    trace = state.trace
    if trace is not None and trace.journal is not None:
        trace.journal.seal()
    if in_region():  # whoever opened another trace takes the state from there
        note(StateSlot, owner)


def note_tensor(root: Tensor) -> None:
    """Log that a tensor of a trace around is about to be written to.

    Raises
    ------
    UnsupportedError
        If a mapped function stands between: each example would write a different value.
    """
    trace = around = state.trace
    while around is not root._trace:
        if not isinstance(around, Region):
            raise UnsupportedError(
                "a mapped function writes to an array of the function around it"
                f"{at(here())}: each example would write a different value to the same array. "
                "Return the value instead"
            )
        around = around.parent
    if trace is not root._trace:
        assert isinstance(trace, Region)
        trace.log(TensorSlot(root))


def born(container: Any) -> Any:
    """Return a container that was made just now; inside a region it is the region's own."""
    trace = state.trace
    if (noting := trace if isinstance(trace, Watched) else trace and trace.journal) is not None:
        noting.bear(container)
    return container


def all_born(made: Any) -> Any:
    """Return what was made just now with all containers in it; see `born`."""
    for container in tree.containers(made):
        born(container)
    return made


def bear_fields(made: Any, given: Sequence[Any]) -> None:
    """Note the containers that a dataclass has made for fields which were not given."""
    for each in getattr(type(made), "__dataclass_fields__", {}).values():
        value = getattr(made, each.name, None)
        is_new = not any([value is other for other in given])
        if is_new and each.default_factory is not dataclasses.MISSING:
            born(value)


def set_slot(slot: Slot, value: Any) -> None:
    """Change a place to what an operation with regions left there."""
    trace = state.trace
    is_own = isinstance(slot, TensorSlot) and slot.owner._trace is trace
    is_inner = not slot.is_outer and not isinstance(trace, Region)
    if isinstance(trace, Watched) and not (is_own or is_inner):
        trace.log(slot)
    elif trace is not None and trace.journal is not None:
        trace.journal.log(slot)
    slot.set(value)


# --- recording an operation with regions ----------------------------------------------------------


@contextmanager
def resumed(region: Trace) -> Any:
    """Record into a region that was left, for a moment."""
    before = state.trace
    state.trace = region
    try:
        yield region
    finally:
        state.trace = before


class Part(NamedTuple):
    """A region with what it takes and gives beside its captures and the token."""

    region: Region
    carry: Sequence[Value] = ()
    xs: Sequence[Value] = ()
    outputs: Sequence[Value] = ()
    ys: Sequence[Value] = ()
    hands_token_on: bool = True


def record(
    primitive: Primitive,
    parts: Sequence[Part],
    *,
    lead: Sequence[Value] = (),
    carry: Sequence[Value] = (),
    xs: Sequence[Value] = (),
    params: Callable[[int, int], dict[str, Any]] = lambda captures, carry: {},
) -> tuple[Value, ...]:
    """Record an operation with regions in the current trace, and return its results.

    The operands are `lead`, all that the regions capture, `carry`, the token if there is an effect
    in a region, and `xs`; every region takes all of them but `lead`.

    Parameters
    ----------
    params
        Given the numbers of captures and of values carried, the static parameters.
    """
    trace = state.trace
    assert trace is not None
    captures = _captures_of(parts)
    outer = [value for value, _ in captures]
    has_token = any(part.region.token is not None for part in parts)
    graphs = [
        _close(part, [row[position] for _, row in captures], outer, has_token)
        for position, part in enumerate(parts)
    ]
    carried = [*carry, trace.next_token()] if has_token else list(carry)
    operands = (*lead, *outer, *carried, *xs)
    results = trace.record(primitive, operands, params(len(captures), len(carried)), tuple(graphs))
    if has_token:
        at_token = len(parts[-1].outputs)
        trace.set_token(results[at_token])
        results = results[:at_token] + results[at_token + 1 :]
    return results


def _captures_of(parts: Sequence[Part]) -> list[tuple[Value, list[Value | None]]]:
    """Return what the regions capture, in the current trace, each with the regions' own inputs."""
    rows: dict[tuple[Value, int], list[Value | None]] = {}
    for position, part in enumerate(parts):
        for source, inner in part.region.captures:
            outer = resolve(source[1], source[0]) if isinstance(source, tuple) else lift(source)
            again = 0  # a region may have two inputs for one value, reached in two ways
            while rows.setdefault((outer, again), [None] * len(parts))[position] is not None:
                again += 1
            rows[outer, again][position] = inner
    return [(outer, row) for (outer, _), row in rows.items()]


def _close(part: Part, inner: list[Value | None], outer: list[Value], has_token: bool) -> Graph:
    """Return a region's graph, with the same inputs as the other regions beside it."""
    region = part.region
    captures = [
        region.input(value.type) if own is None else own
        for own, value in zip(inner, outer, strict=True)
    ]
    inputs = [*captures, *part.carry]
    outputs = list(part.outputs)
    if has_token:
        last = region.next_token()
        first, _ = region.token or (last, last)
        inputs.append(first)
        if part.hands_token_on:
            outputs.append(last)
        elif first is not last:
            raise UnsupportedError(
                f"the condition of a loop prints or calls host code{at(here())}. Do it in the "
                "loop's body"
            )
    region.is_open = False
    return Graph([*inputs, *part.xs], region.operations, [*outputs, *part.ys])
