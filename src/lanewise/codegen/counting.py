"""Counting the work of a kernel's regions, operation by operation; see costs.py."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from lanewise.codegen.arrays import row_major
from lanewise.codegen.numbers import is_supported, kinds_of
from lanewise.codegen.prices import PRICES, Work, fetch, vector_price
from lanewise.codegen.processor import machine
from lanewise.codegen.uniformity import IN_REGISTERS, varying_values
from lanewise.codegen.vector import BITS
from lanewise.codegen.work import TURNS
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, LOOPS, carry_of, scan, while_
from lanewise.ops.facts import Held, Kind, ask, count, is_update
from lanewise.ops.paths import Step, step_shape
from lanewise.ops.regions import map_

#: Instructions that see to it that an index of an element is one: counted from the end, in range.
CHECKED = 6


def expected_turns(op: Operation) -> int:
    """Return how often the regions of an operation are run, or a guess where data decide it."""
    if op.primitive is while_:
        return TURNS
    turns = op.params["length"] if op.primitive is scan else op.params.get("size", 1)
    return turns if isinstance(turns, int) else TURNS


def fills_lanes(op: Operation, group: int) -> bool:
    """Whether the examples of an inner map are so many, and so small, that they take the lanes."""
    size = expected_turns(op)
    largest = max([count(v) for o in op.regions[0].operations for v in o.results], default=1)
    return size >= group and largest <= 4 * size


def is_array(value: Value) -> bool:
    return isinstance(value.type, ArrayType)


def work_of(op: Operation) -> float:
    """Return about how many instructions an operation takes for an element of its largest array."""
    return ask(op.primitive.instructions, op)


def bits_of(value: Value) -> int:
    """Return how wide a number of a value is in a register."""
    is_number = isinstance(value.type, ArrayType) and is_supported(value.type.dtype)
    return BITS[kinds_of(value.type.dtype)[0]] if is_number else 64


def lanes_for(values: Iterable[Value]) -> int:
    """Return how many lanes a vector has: as many as a register has of what is mostly computed."""
    work = Counter([bits_of(v) for v in values if is_array(v) and is_supported(v.type.dtype)])
    wide = [bits for bits in work if bits >= 32]
    most = max(wide, key=lambda bits: (work[bits], bits), default=32)
    return max(machine().register_bits // most, 2)


def nbytes_of(value: Value) -> int:
    return count(value) * value.type.dtype.itemsize if isinstance(value.type, ArrayType) else 0


def _stepped(shape: Sequence[int], strides: Sequence[int], step: Step) -> tuple[int, ...]:
    """Return the strides of a view."""
    kind, *rest = step
    if kind == "slice":
        return tuple(
            [x * (1 if i is None else i[2]) for x, i in zip(strides, rest[0], strict=True)]
        )
    if kind == "transpose":
        return tuple([strides[axis] for axis in rest[0]])
    if kind == "place":
        axis, places = rest
        return (*strides[:axis], *strides[axis + places :])
    if kind == "window":
        axis, each, _ = rest
        return (*strides[:axis], strides[axis] * each, *strides[axis + 1 :])
    long = [(n, x) for n, x in zip(shape, strides, strict=True) if n != 1]
    if [n for n, _ in long] != [n for n in rest[0] if n != 1]:
        return row_major(rest[0])
    found = iter([x for _, x in long])
    return tuple([1 if n == 1 else next(found) for n in rest[0]])


class Counting:
    """Counts the work of a kernel's regions."""

    def __init__(self, lanes: int, lent: Iterable[Value], varying: Iterable[Value] = ()) -> None:
        #: How many examples are in lanes; 1 where elements of one are.
        self.lanes = lanes
        #: What is not to be written to.
        self.lent = set(lent)
        #: The values that differ between lanes.
        self.varying = set(varying)
        #: How much lies around a value: that of the array that it is a part of.
        self.around: dict[Value, float] = {}
        self.strides: dict[Value, tuple[int, ...]] = {}
        self.took: dict[Operation, float] = {}

    # --- regions ------------------------------------------------------------------------------

    def region(self, body: Graph) -> Work:
        """Return the work of a region, each time that it is run."""
        total = Work()
        uses = Counter([v for op in body.operations for v in set(op.operands)])
        uses.update(body.outputs)
        kept = self.kept(body, uses)
        last = {v: i for i, op in enumerate(body.operations) for v in op.operands}
        last.update(dict.fromkeys(body.outputs, len(body.operations)))
        for i, op in enumerate(body.operations):
            found = self.nested(op) if op.regions else self.operation(op, kept)
            carried = op.operands[carry_of(op)] if op.primitive in LOOPS else ()
            for v in op.operands[:1] if is_update(op) else carried:
                if count(v) > IN_REGISTERS and (last[v] > i or v in self.lent):
                    self.through(found, [v, v], self.vectors([v]), v)  # a copy is changed
            self.took[op] = found.cycles
            total.add(found)
        return total

    def kept(self, body: Graph, uses: Counter[Value]) -> set[Value]:
        """Return the values of a region that are in memory, not computed where they are read."""
        found = {v for v in body.inputs if count(v) > 1}
        limit = 1 if self.lanes == 1 else IN_REGISTERS
        updated = {v for op in body.operations if is_update(op) for v in op.operands[1:]}
        for op in body.operations:
            is_seen = op.primitive.held is Held.NOWHERE or op.primitive.kind is Kind.SOURCE
            for v in op.results:
                if count(v) <= limit:
                    continue
                if self.is_view(op):
                    is_kept = op.operands[0] in found
                elif is_seen:
                    is_kept = v in body.outputs
                elif op.primitive.kind is Kind.ELEMENTWISE:
                    is_kept = uses[v] > 1 or v in body.outputs or v in updated
                else:
                    is_kept = True
                if is_kept:
                    found.add(v)
        return found

    def nested(self, op: Operation) -> Work:
        """Return the work of an operation with regions."""
        shift = len(op.operands) - len(op.regions[0].inputs)
        for region in op.regions:
            for outer, inner in zip(op.operands[shift:], region.inputs, strict=True):
                self.around[inner] = self.around.get(outer, self.size(outer))
                if outer in self.strides and inner.type == outer.type:
                    self.strides[inner] = self.strides[outer]
        if op.primitive is map_:
            return self.inner_map(op)
        works = [self.region(region) for region in op.regions]
        total = Work()
        if op.primitive in BRANCHES:
            is_parted = self.lanes > 1 and op.operands[0] in self.varying
            # What is short is done for both, and one of them chosen.
            is_short = sum([work.cycles for work in works]) <= PRICES.guessed
            for work in works:
                total.add(work, 1.0 if is_parted or is_short else 1 / len(works))
            parted = PRICES.turned * len(works) if is_parted else PRICES.guessed
            total.busy += PRICES.number if is_short else parted
            return total
        if op.primitive not in LOOPS:
            for work in works:
                total.add(work)
            return total
        turns, turn = expected_turns(op), Work(busy=PRICES.turned)
        for work in works:
            turn.add(work)
        chain = self.chain(op)
        turn.wait += max(chain - turn.cycles, 0.0)
        turn.chain = max(chain, turn.chain)
        turn.slowest = max(turn.slowest, (chain, chain))
        total.add(turn, turns)
        return total

    def inner_map(self, op: Operation) -> Work:
        """Return the work of a map in a kernel: its turns are in the lanes if there are enough."""
        (body,) = op.regions
        size = expected_turns(op)
        group = lanes_for([v for o in body.operations for v in o.results])
        total = Work(busy=PRICES.started)
        if self.lanes > 1 or not fills_lanes(op, group):
            total.add(self.region(body), size)
            total.busy += size * PRICES.turned
            return total
        mapped = [axis is not None for axis in op.params["in_dims"]]
        lanes = 2 * group
        found = work_in_lanes(body, mapped, lanes)
        blocks = -(-size // lanes)
        total.add(found, blocks)
        for v in (*itertools.compress(op.operands, mapped), *op.results):
            self.far(total, v, nbytes_of(v))
        return total

    def chain(self, op: Operation) -> float:
        """Return how many cycles a turn of a loop takes at least, as it waits for the one before.

        The growth from turn to turn of the time at which what it carries is there: turns are run in
        thought until it is steady.
        """
        body = op.regions[-1]
        starts = body.inputs[carry_of(op)]
        times, before = [0.0] * len(starts), 0.0
        for _ in range(3):
            before = max(times, default=0.0)
            times = self.path(body, dict(zip(starts, times, strict=True)))[: len(starts)]
        return max(max(times, default=0.0) - before, 0.0)

    def time(self, body: Graph, starts: Iterable[Value]) -> float:
        """Return how many cycles a region takes from some of its inputs to its results."""
        return max(self.path(body, dict.fromkeys(starts, 0.0)), default=0.0)

    def path(self, body: Graph, ready: dict[Value, float]) -> list[float]:
        """Return when the results are there, given when some of the inputs are."""
        for op in body.operations:
            given = [ready[v] for v in op.operands if v in ready]
            if given and op.results:
                ready.update(dict.fromkeys(op.results, max(given) + self.delay(op)))
        return [ready.get(v, 0.0) for v in body.outputs]

    def delay(self, op: Operation) -> float:
        """Return how many cycles after its operands an operation's results are there."""
        took = self.took.get(op, 0.0)
        if op.regions:
            return took
        kind, cost = op.primitive.kind, work_of(op)
        if kind in (Kind.VIEW, Kind.SOURCE):
            return 0.0
        if kind in (Kind.LOOKUP, Kind.UPDATE):  # what is written can be read when it is fetched
            rows = took if self.lanes == 1 and count(op.results[0]) > 1 else 0.0
            return rows + PRICES.fetched * (kind is Kind.LOOKUP)
        is_integer = op.results[0].type.dtype.kind in "biu"
        delay = cost if is_integer or not cost else max(PRICES.latency, PRICES.latency / 2 * cost)
        return max(delay, took)

    # --- operations ---------------------------------------------------------------------------

    def operation(self, op: Operation, kept: set[Value]) -> Work:
        """Return the work of an operation without regions."""
        primitive, kind = op.primitive, op.primitive.kind
        work = Work(calls=ask(primitive.call_ns, op) * self.lanes + ask(primitive.setup_ns, op))
        if kind is Kind.VIEW:
            self.view(op)
        elif kind is Kind.LOOKUP:
            self.lookup(op, work)
        elif kind is Kind.UPDATE:
            self.update(op, work)
        elif op.results and kind is not Kind.SOURCE and not work.calls:
            if products := ask(primitive.products, op):
                self.products(op, work, products / 2)
            else:
                self.computation(op, work, kept)
        return work

    def computation(self, op: Operation, work: Work, kept: set[Value]) -> None:
        """Add what computing and reading the elements of arrays takes."""
        primitive, kind = op.primitive, op.primitive.kind
        arrays = [v for v in (*op.operands, *op.results) if isinstance(v.type, ArrayType)]
        vectors, largest = self.vectors(arrays), max(arrays, key=count)
        price = vector_price() if self.lanes > 1 or count(largest) > 1 else PRICES.number
        axis = op.params.get(primitive.along) if isinstance(primitive.along, str) else None
        is_across = self.lanes == 1 and bool(op.operands) and axis == op.operands[0].type.ndim - 1
        if kind is Kind.REDUCTION:
            work.busy += vectors * PRICES.summed
            if self.lanes == 1:
                width = self.width(op.operands[0])
                work.busy += PRICES.halved * math.log2(max(width, 2)) * count(op.results[0])
        elif kind is Kind.ALONG and "fn" in op.params:
            work.busy += vectors * work_of(op) * price
            if is_across:
                n = count(largest)
                work.busy += n * PRICES.number
                work.chain = n * PRICES.latency
                work.slowest = work.chain, PRICES.latency
                work.wait = max(work.chain - work.busy, 0.0)
        elif kind is Kind.ALONG:
            each = count(largest) * PRICES.number if is_across else vectors * vector_price()
            work.busy += work_of(op) * each
        elif kind is not Kind.COPY:
            work.busy += vectors * work_of(op) * price
        self.through(work, [v for v in arrays if v in kept], vectors, largest)

    def products(self, op: Operation, work: Work, sums: float) -> None:
        """Add what so many products and sums of them take."""
        if self.lanes > 1:
            work.busy += sums * self.parts(op.results) * PRICES.multiplied
            return
        width = self.width(op.results[0]) if op.primitive.kind is Kind.CONTRACTION else 1
        work.busy += sums / width * PRICES.multiplied + PRICES.started
        for v in op.operands:
            self.far(work, v, nbytes_of(v))

    def view(self, op: Operation) -> None:
        """Note of what array a view is a part, and how its elements lie in it."""
        result, source = op.results[0], op.operands[0]
        self.around[result] = self.around.get(source, self.size(source))
        rule = op.primitive.step
        if rule is not None:
            steps = (rule(op.params, len(op.operands) - 1),)
            self.strides[result] = self.along(source, steps)
        elif op.primitive.repeats and source in self.strides:
            missing = result.type.ndim - source.type.ndim
            self.strides[result] = (*(0,) * missing, *self.strides[source])

    def along(self, source: Value, steps: Sequence[Step]) -> tuple[int, ...]:
        """Return the strides of what a path leads to, in elements of the array that is seen."""
        shape = source.type.shape
        strides = self.strides.get(source) or row_major(shape)
        for step in steps:
            strides, shape = _stepped(shape, strides, step), step_shape(shape, step)
        return strides

    def is_apart(self, value: Value, strides: Sequence[int] = ()) -> bool:
        """Whether neighbours in the rows of an array do not lie side by side."""
        strides = strides or self.strides.get(value, ())
        long = [x for x, n in zip(strides, value.type.shape, strict=False) if n != 1]
        return bool(long) and self.lanes == 1 and abs(long[-1]) > 1

    def is_view(self, op: Operation) -> bool:
        """Whether an operation shows rows or blocks of its operand where they lie."""
        if op.primitive.kind is not Kind.LOOKUP or op.primitive.step is None:
            return op.primitive.kind is Kind.VIEW
        # A slice is where it starts.
        places = op.operands[1:] if op.primitive.indices else op.operands[1:2]
        parted = self.lanes > 1 and any([v in self.varying for v in places])
        return not parted and count(op.results[0]) > 1 and max(map(count, op.operands[1:])) <= 1

    def lookup(self, op: Operation, work: Work) -> None:
        result, indices = op.results[0], op.operands[1:]
        n = count(result)
        if self.is_view(op):
            self.view(op)
            work.busy += 2 * PRICES.number
            return
        self.far(work, op.operands[0], nbytes_of(result) * self.lanes)
        if self.lanes > 1 and any([v in self.varying for v in indices]):
            work.busy += n * self.lanes * (PRICES.gathered if machine().masks else PRICES.apart)
            work.busy += n * self.parts(indices) * CHECKED * vector_price()
        elif self.lanes > 1 or n <= 1:
            work.busy += n * (self.parts([result]) * PRICES.access + 2 * PRICES.number)
        elif (row := n // max(map(count, indices), default=1)) < 8:
            work.busy += n / max(row, 1) * PRICES.gathered
        else:
            work.busy += self.vectors([result]) * PRICES.access

    def update(self, op: Operation, work: Work) -> None:
        """Add what writing a part of an array takes: as much as the part has."""
        result, source, written = op.results[0], op.operands[0], op.operands[1:]
        value = max(written, key=count) if written else result
        n, params = count(value), op.params
        self.around[result] = self.around.get(source, self.size(source))
        self.far(work, source, nbytes_of(value) * self.lanes)
        is_many = any([count(v) > 1 and v.type.dtype.kind in "iu" for v in written[1:]])
        steps: Sequence[Step] = params.get("path", ())
        if op.primitive.takes is not None and not is_many:
            steps = (op.primitive.takes.step(params, len(written) - 1),)
        strides = self.along(source, steps) if steps else ()
        if self.lanes > 1 and any(v in self.varying for v in written[1:]):
            work.busy += n * self.lanes * PRICES.scattered
        elif is_many or (n > 1 and self.is_apart(value, strides)):
            work.busy += n * PRICES.scattered
        else:
            work.busy += self.vectors([value]) * PRICES.access + 2 * PRICES.number
        if n > 1 and self.lanes == 1:
            work.busy += PRICES.started

    def through(self, work: Work, arrays: Sequence[Value], vectors: float, largest: Value) -> None:
        """Add what going through arrays takes."""
        for v in arrays:
            if vectors:
                if self.is_apart(v):
                    work.busy += count(v) * PRICES.gathered
                else:
                    work.busy += vectors * PRICES.access
            self.far(work, v, nbytes_of(v) * self.lanes)
        if vectors and arrays and self.lanes == 1 and count(largest) > 1:
            rows = count(largest) // max(largest.type.shape[-1], 1)
            work.busy += PRICES.started + (PRICES.turned * rows if rows > 1 else 0.0)

    def far(self, work: Work, value: Value, nbytes: float) -> None:
        """Add what bytes of a value take that are not in the nearest cache."""
        fetch(work, nbytes, self.around.get(value, self.size(value)))

    # --- sizes --------------------------------------------------------------------------------

    def size(self, value: Value) -> float:
        """Return how many bytes a value has, in all lanes."""
        return nbytes_of(value) * self.lanes

    def width(self, *values: Value) -> int:
        """Return how many numbers of the widest of some arrays a vector has."""
        return max(machine().register_bits // max(8, *map(bits_of, values)), 1)

    def parts(self, values: Sequence[Value]) -> int:
        """Return how many vectors a number in lanes is."""
        if self.lanes == 1 or not any(v in self.varying for v in values):
            return 1
        bits = max(map(bits_of, values), default=32)
        return -(-self.lanes * bits // machine().register_bits)

    def vectors(self, arrays: Sequence[Value]) -> float:
        """Return how many vectors there are to compute."""
        largest = max(arrays, key=count)
        elements = count(largest)
        if self.lanes > 1:
            return elements * self.parts(arrays)
        shape = largest.type.shape
        if elements <= 1 or not shape:
            return elements
        row = shape[-1] if isinstance(shape[-1], int) else 1
        return math.ceil(row / self.width(*arrays)) * (elements // max(row, 1))


def work_in_lanes(
    body: Graph, mapped: Sequence[bool], lanes: int, columns: Collection[Value] = ()
) -> Work:
    """Return the work of so many examples that are in lanes.

    What lies in `columns`, element by element, is in lanes as it is loaded.
    """
    rows = [*itertools.compress(body.inputs, mapped)]
    counting = Counting(lanes, body.inputs, [*varying_values(body, mapped), *rows])
    for v, is_mapped in zip(body.inputs, mapped, strict=True):
        counting.around[v] = nbytes_of(v) * (lanes if is_mapped else 1)
    work = counting.region(body)
    halvings = math.log2(max(machine().register_bits // 64, 2))
    for v in (*rows, *body.outputs):
        turned = PRICES.shuffled * halvings if count(v) > 1 and v not in columns else 0.0
        work.busy += count(v) * counting.parts([v]) * (PRICES.access + turned)
    return work


def work_along_rows(body: Graph, columns: Collection[Value] = ()) -> Work:
    """Return the work of an example whose arrays' elements are in lanes.

    What lies in `columns` is copied to where it has its neighbours beside it.
    """
    work = Counting(1, body.inputs).region(body)
    work.busy += sum([count(v) * (PRICES.gathered + PRICES.access) for v in columns])
    work.busy += PRICES.access * sum([count(v) == 1 for v in (*body.inputs, *body.outputs)])
    return work
