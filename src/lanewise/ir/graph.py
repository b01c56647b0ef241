"""Typed SSA graphs: values, operations with regions, and the builder that records them.

A graph is pure: no operation changes a value. Effects are ordered by a token that is threaded from
one effectful operation to the next. Regions are isolated: a region sees nothing but its own inputs,
so what it needs from outside stands among the operands of the operation that holds it.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lanewise.ir.dims import symbols
from lanewise.ir.location import Location, Place
from lanewise.ir.types import TOKEN, TokenType, Type

_new = object.__new__


class Value:
    """A value in a graph: an input of the graph or a result of an operation.

    ``index`` numbers the values of one graph; it is unique there, and equal graphs number alike.
    (A value does not know its operation: the cycle would keep every trace alive for the collector.)
    """

    __slots__ = ("index", "type")

    type: Any  # ArrayType, or TokenType for an effect: whoever uses a value knows which
    index: int

    def __init__(self, type: Type, index: int) -> None:
        self.type = type
        self.index = index

    def __repr__(self) -> str:
        return f"<value {self.index}: {self.type!r}>"


class Signature:
    """What an operation does: primitive, static parameters, regions, and the types of the results.

    Equal signatures of one primitive are the same object where they are interned, which is where
    they have no regions.
    """

    __slots__ = ("__weakref__", "defines", "is_interned", "must_run", "params", "primitive",
                 "regions", "types")  # fmt: skip

    def __init__(
        self,
        primitive: Any,
        params: dict[str, Any],
        types: tuple[Type, ...],
        regions: tuple[Graph, ...] = (),
        is_interned: bool = True,
    ) -> None:
        self.is_interned = is_interned
        self.primitive = primitive
        self.params = params
        self.types = types
        self.regions = regions
        #: Whether the operation runs even where nobody uses a result: it has an effect or may
        #: raise what the user wants to see, or others of its graph rely on what it says.
        self.must_run: bool = (
            primitive.must_run
            or TOKEN in types
            or any(
                op.signature.must_run and not op.primitive.is_definition
                for region in regions
                for op in region.operations
            )
        )

        #: The symbols of sizes that the operation, or one in its regions, says the meaning of.
        self.defines: frozenset[str] = frozenset().union(
            *[op.signature.defines for region in regions for op in region.operations]
        )
        if primitive.is_definition:
            self.defines = frozenset(symbols(params["size"]))

    @property
    def key(self) -> Hashable:
        """What decides the operation's meaning, hashable."""
        if self.is_interned:
            return self
        regions = tuple([region.key for region in self.regions])
        return self.primitive, tuple(self.params.values()), regions


class Operation:
    """One application of a primitive: operands, static parameters, regions and results."""

    __slots__ = ("operands", "place", "results", "signature")

    signature: Signature
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    place: Place | None

    def __init__(
        self,
        signature: Signature,
        operands: tuple[Value, ...],
        index: int,
        place: Place | None = None,
    ) -> None:
        self.signature = signature
        self.operands = operands
        self.results = tuple([Value(t, i) for i, t in enumerate(signature.types, index)])
        self.place = place

    @property
    def primitive(self) -> Any:
        return self.signature.primitive

    @property
    def params(self) -> dict[str, Any]:
        return self.signature.params

    @property
    def regions(self) -> tuple[Graph, ...]:
        return self.signature.regions

    @property
    def location(self) -> Location | None:
        return None if self.place is None else Location(*self.place)

    def with_operands(
        self,
        operands: tuple[Value, ...],
        signature: Signature | None = None,
        results: tuple[Value, ...] | None = None,
    ) -> Operation:
        """Return the same operation on other operands of the same types, giving the same values.

        Another signature may come with them, and with it some of the results.
        """
        op = _new(Operation)
        op.signature = self.signature if signature is None else signature
        op.operands, op.place = operands, self.place
        op.results = self.results if results is None else results
        return op

    def with_regions(
        self, regions: tuple[Graph, ...], params: dict[str, Any] | None = None
    ) -> Operation:
        """Return the same operation with regions that take and give the same types.

        Other parameters may come with them.
        """
        known = self.signature
        params = known.params if params is None else params
        signature = Signature(known.primitive, params, known.types, regions, False)
        return self.with_operands(self.operands, signature)

    def map_regions(self, change: Callable[[Graph], Graph]) -> Operation:
        """Return the same operation with what becomes of its regions; itself if they stay."""
        regions = tuple(map(change, self.regions))
        return self if all(map(operator.is_, regions, self.regions)) else self.with_regions(regions)

    def walk(self) -> Iterator[Operation]:
        """Give the operation, and those in its regions, each before those in its own."""
        yield self
        for region in self.regions:
            yield from region.walk()

    def alone(self) -> Graph:
        """Return a graph of this operation alone, with an input for each of its operands."""
        return Graph(tuple(dict.fromkeys(self.operands)), (self,), self.results)

    @property
    def has_effect(self) -> bool:
        return any(isinstance(value.type, TokenType) for value in self.results)

    @property
    def must_run(self) -> bool:
        return self.signature.must_run

    def __repr__(self) -> str:
        return f"<operation {self.primitive.name} at {self.location}>"


class Graph:
    """Inputs, operations in order, and outputs. Never changed after it is built."""

    __slots__ = ("_key", "_makers", "_users", "inputs", "is_verified", "operations", "outputs")

    def __init__(
        self, inputs: Sequence[Value], operations: Sequence[Operation], outputs: Sequence[Value]
    ) -> None:
        self.inputs = tuple(inputs)
        self.operations = tuple(operations)
        self.outputs = tuple(outputs)
        #: Whether `lanewise.ir.verify` has looked at it.
        self.is_verified = False
        self._key: Hashable = None
        self._makers: dict[Value, Operation] | None = None
        self._users: dict[Value, list[tuple[Operation, int]]] | None = None

    @property
    def users(self) -> Mapping[Value, Sequence[tuple[Operation, int]]]:
        """By values that operations take, these operations, and as which operand each does."""
        if self._users is None:
            self._users = {}
            for op in self.operations:
                for place, value in enumerate(op.operands):
                    self._users.setdefault(value, []).append((op, place))
        return self._users

    @property
    def makers(self) -> Mapping[Value, Operation]:
        """By values, the operations that give them."""
        if self._makers is None:
            self._makers = {value: op for op in self.operations for value in op.results}
        return self._makers

    @property
    def key(self) -> Hashable:
        """What decides the graph's meaning, hashable: all but the places in the source."""
        if self._key is None:
            # Flat: a signature tells how many operands follow it.
            rows: list[Hashable] = [len(self.inputs)]
            for value in self.inputs:
                rows += value.index, value.type
            for op in self.operations:
                signature = op.signature
                rows.append(signature if signature.is_interned else signature.key)
                for value in op.operands:
                    rows.append(value.index)
            rows += [value.index for value in self.outputs]
            self._key = tuple(rows)
        return self._key

    @property
    def has_effects(self) -> bool:
        return any(op.has_effect for op in self.operations)

    def walk(self) -> Iterator[Operation]:
        """Give all operations, each before those in its regions."""
        for op in self.operations:
            yield from op.walk()

    def changed(self, rule: Callable[[Operation], Operation | Sequence[Value]]) -> Graph:
        """Return the graph of the same values with what a rule puts in the place of operations.

        The rule is told an operation on what its operands have become, and gives one that gives the
        same values, or values that are there already and stand for the results.
        """
        instead: dict[Value, Value] = {}
        kept: list[Operation] = []
        for op in self.operations:
            operands = tuple([instead.get(value, value) for value in op.operands])
            found = rule(op if operands == op.operands else op.with_operands(operands))
            if isinstance(found, Operation):
                kept.append(found)
            else:
                instead.update(zip(op.results, found, strict=True))
        outputs = [instead.get(value, value) for value in self.outputs]
        return self.having(self.inputs, kept, outputs)

    def having(
        self, inputs: Sequence[Value], operations: Sequence[Operation], outputs: Sequence[Value]
    ) -> Graph:
        """Return the graph of these; itself where they are its own.

        What was found out of a graph then holds on: most passes leave most regions as they are.
        """
        made = Graph(inputs, operations, outputs)
        is_same = made.operations == self.operations and made.outputs == self.outputs
        return self if is_same and made.inputs == self.inputs else made

    @property
    def defines(self) -> frozenset[str]:
        """The symbols of sizes that its operations, and those in regions, say the meaning of."""
        return frozenset().union(*[op.signature.defines for op in self.operations])

    def rewritten(
        self, rule: Callable[[Operation, dict[Value, Value]], Sequence[Value] | Operation | None]
    ) -> Graph:
        """Return the graph with operations as a rule records them in the current builder.

        The rule is told what values have become, and gives the results of an operation, or an
        operation to copy in its place; None where it stays.
        """
        builder = Builder()
        values = {value: builder.input(value.type) for value in self.inputs}
        with building(builder):
            for op in self.operations:
                builder.location = op.place
                found = rule(op, values)
                if found is None or isinstance(found, Operation):
                    new = found or op
                    builder.copy(new, values)
                    found = [values[value] for value in new.results]
                values.update(zip(op.results, found, strict=True))
        return builder.finish([values[value] for value in self.outputs])


class Builder:
    """Records operations; `finish` makes them a graph."""

    __slots__ = ("count", "inputs", "location", "operations")

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.operations: list[Operation] = []
        self.location: Place | None = None
        self.count = 0

    def input(self, type: Type) -> Value:
        value = Value(type, self.count)
        self.count += 1
        self.inputs.append(value)
        return value

    def emit(
        self,
        primitive: Any,
        operands: tuple[Value, ...],
        params: dict[str, Any],
        regions: tuple[Graph, ...] = (),
    ) -> tuple[Value, ...]:
        """Record one operation and return its results; its type rule checks the operands."""
        return self.append(
            primitive.signature([v.type for v in operands], params, regions), operands
        )

    def append(self, signature: Signature, operands: tuple[Value, ...] = ()) -> tuple[Value, ...]:
        """Record one operation whose signature has been worked out."""
        # Tracing time is mostly spent here: objects are filled without a call of __init__ each.
        op = _new(Operation)
        op.signature = signature
        op.operands = operands
        op.place = self.location
        types = signature.types
        index = self.count
        self.count = index + len(types)
        if len(types) == 1:
            value = _new(Value)
            value.type = types[0]
            value.index = index
            op.results = results = (value,)
        else:
            op.results = results = tuple([Value(t, i) for i, t in enumerate(types, index)])
        self.operations.append(op)
        return results

    def inline(self, graph: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Record the operations of `graph` with its inputs replaced by `arguments`."""
        values: dict[Value, Value] = dict(zip(graph.inputs, arguments, strict=True))
        for op in graph.operations:
            self.copy(op, values)
        return [values[value] for value in graph.outputs]

    def copy(self, op: Operation, values: dict[Value, Value]) -> None:
        """Record `op` again with operands looked up in `values`, and enter its results there."""
        operands = tuple([values[value] for value in op.operands])
        self.location = op.place
        if all([new.type is old.type for new, old in zip(operands, op.operands, strict=True)]):
            results = self.append(op.signature, operands)
        else:
            results = self.emit(op.primitive, operands, op.params, op.regions)
        values.update(zip(op.results, results, strict=True))

    def finish(self, outputs: Sequence[Value]) -> Graph:
        return Graph(self.inputs, self.operations, outputs)


def recorded(
    types: Iterable[Type],
    rule: Callable[..., Sequence[Value]],
    place: Place | None = None,
) -> Graph:
    """Return the graph of what a function records of inputs of some types, and gives."""
    builder = Builder()
    builder.location = place
    inputs = [builder.input(type_) for type_ in types]
    with building(builder):
        return builder.finish(rule(*inputs))


_state = threading.local()


def current_builder() -> Builder:
    """Return the builder that primitives called in this thread record into."""
    builder = getattr(_state, "builder", None)
    if builder is None:
        raise RuntimeError("no graph is being built in this thread")
    return builder


@contextmanager
def building(builder: Builder) -> Generator[Builder]:
    """Make `builder` the one that primitives called in this thread record into."""
    previous = getattr(_state, "builder", None)
    _state.builder = builder
    try:
        yield builder
    finally:
        _state.builder = previous
