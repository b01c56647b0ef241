"""Loops whose turns do not need each other, as maps over their turns.

A map runs one example in each lane; with one example, or a few, most lanes would be empty. What is
done here gives them the turns of a loop instead: ``for i in range(n): out[i] = g(x[i], x[i - 1])``
is a map of n examples, which are the turns. An array that the loop writes becomes its turns' cells,
stacked, and written back by one slice; a total ``s += g(i)`` becomes the terms, and their sum in
the order of the turns. passes/turns.py tells which loops these are, and is the source of the map's
region. The others stay as they are, but for the loops in them.

It is for graphs of one example, and for compiling only: where something fails, it is the recorded
graph that is run again, turn by turn, and that raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from lanewise.ir.dims import DimLike, dim_min, never_below, product
from lanewise.ir.graph import Graph, Operation, Value, current_builder
from lanewise.ir.types import NUMERIC_KINDS, ArrayType
from lanewise.ops.checks import checked
from lanewise.ops.control import LOOPS, carry_of, scan
from lanewise.ops.creation import dimension, iota
from lanewise.ops.elementwise import elementwise
from lanewise.ops.exact import exact
from lanewise.ops.facts import is_update
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import concatenate, reshape, transpose, update_slice
from lanewise.ops.reduction import accumulate, reduce
from lanewise.ops.regions import map_
from lanewise.ops.shapes import shape_of
from lanewise.passes.distribute import distributed
from lanewise.passes.edges import along, edge, is_total, sliced
from lanewise.passes.frames import Again, Dependent, Key, Kind, Own, Part, Running, Same, Turn
from lanewise.passes.lanes import record_map
from lanewise.passes.numbers import INT, counted, integer
from lanewise.passes.points import pointed
from lanewise.passes.rowwise import expected, is_found
from lanewise.passes.simplify import eliminate_dead, merge_repeated
from lanewise.passes.turns import Turns, at_most

#: A loop of fewer turns than this is left as it is.
FEWEST = 32
#: A loop within another one is a map if all its turns compute so many elements: a kernel is called
#: for it in each turn of the outer one, which takes microseconds.
MUCH = 1 << 14
#: To write an array as a whole, at most so many turns are added.
MOST_ADDED = 8
#: How often the body of one loop is gone through at most.
TRIES = 64
#: The terms of a total of arrays are stacked if they take at most so many bytes: more would go
#: through memory, where a loop adds them to what its caches hold.
MOST_TERMS = 1 << 20


def spread(graph: Graph, fastmath: bool = False, totals: bool = True) -> Graph:
    """Return the graph with loops of independent turns as maps over their turns.

    ``fastmath`` allows totals of floats to be taken in another order than the loop's; without
    `totals`, loops that take any stay as they are.
    """
    return merge_repeated(eliminate_dead(_spread(graph, fastmath, totals)))


def _spread(graph: Graph, fastmath: bool, totals: bool, is_repeated: bool = False) -> Graph:
    """Return the graph with loops as maps; those with running totals too where `totals` says so.

    What `is_repeated`, in the turns of a loop, becomes maps only where each is much work: that loop
    cannot be in a kernel then.
    """

    def rule(op: Operation, values: dict[Value, Value]) -> list[Value] | Operation:
        is_worth_it = not is_repeated or _work(op) >= MUCH
        if op.primitive is scan and _is_long(op) and is_worth_it:
            operands = [values[value] for value in op.operands]
            found = _Loop(op, operands, fastmath, totals).mapped()
            found = found or _in_two(op, operands, fastmath, totals)
            if found is not None:
                return found
        inner, again = totals and op.primitive is not map_, is_repeated or op.primitive in LOOPS
        return op.map_regions(lambda region: _spread(region, fastmath, inner, again))

    return graph.rewritten(rule)


def _in_two(
    op: Operation, operands: Sequence[Value], fastmath: bool, totals: bool
) -> list[Value] | None:
    """Record a loop as a map of what no turn needs of another one, and a loop of the rest."""
    parts = distributed(op)
    if parts is None:
        return None
    first, rest = parts
    place = carry_of(op)
    given = [*operands[: place.start], *operands[place.stop :]]
    found = _Loop(first, given, fastmath, totals).mapped()
    if found is None:
        return None
    region = _spread(rest, fastmath, False, True)
    return list(current_builder().emit(scan, (*operands, *found), op.params, (region,)))


def _work(op: Operation) -> int:
    """Return about how many elements an operation computes, all its turns together."""
    turns = expected(op.params["length"] if op.primitive is scan else op.params.get("size", 1))
    each = sum([_work(inner) for region in op.regions for inner in region.operations])
    made = op.operands[1:2] if is_update(op) else op.results
    shapes = [value.type.shape for value in made if isinstance(value.type, ArrayType)]
    return turns * each if op.regions else max([expected(product(x)) for x in shapes], default=0)


def _is_long(op: Operation) -> bool:
    """Whether a loop is one of many turns, of arrays of sizes that are not found in it."""
    return (
        expected(op.params["length"]) >= FEWEST
        and not is_found(op.params["length"])
        and all(
            isinstance(v.type, ArrayType)
            and v.type.dtype.kind in NUMERIC_KINDS
            and not any(map(is_found, v.type.shape))
            for v in (*op.operands, *op.results)
        )
    )


class _Loop:
    """A scan on its way to being a map, recorded in the current builder."""

    def __init__(
        self, op: Operation, operands: Sequence[Value], fastmath: bool, totals: bool
    ) -> None:
        self.op, self.fastmath, self.totals = op, fastmath, totals
        self.builder = builder = current_builder()
        self.length: DimLike = op.params["length"]
        #: Where the carry stands.
        self.place = place = carry_of(op)
        self.captures, self.xs = operands[: place.start], operands[place.stop :]
        self.carry = operands[place]
        self.makers = {v: made for made in builder.operations for v in made.results}
        self.turns = Turns(self.length, [value.type for value in self.carry], builder)
        #: How many turns are added before and after, to write an array as a whole.
        self.more = (0, 0)
        #: Carried values that no turn reads.
        self.unread: set[int] = set()
        self.narrow: dict[int, tuple[Key, list[tuple[Value, int, Value]]]] = {}

    def mapped(self) -> list[Value] | None:
        """Record the map; return what stands for the scan's results, None if turns need others."""
        region = eliminate_dead(pointed(self.op.regions[0]))
        self.unread = self._unread(region)
        for _ in range(TRIES):
            self.turns.begin()
            try:
                found = self.turns.run(self.turns.frame, region, self._kinds(region))
                self._check(found)
            except Again:
                continue
            except Dependent:
                return None
            return self._recorded(found)
        return None

    def _unread(self, region: Graph) -> set[int]:
        """Return which carried values no turn reads, so that the last turn alone decides them."""
        if self.op.params["reverse"]:
            return set()
        read = {value for op in region.operations for value in op.operands} | set(region.outputs)
        own = enumerate(region.inputs[self.place])
        return {carry for carry, value in own if value not in read}

    def _kinds(self, region: Graph) -> list[Kind]:
        """Return what the inputs of the body are."""
        kinds: list[Kind] = [self._same(value) for value in self.captures]
        for carry, value in enumerate(region.inputs[self.place]):
            rank = value.type.ndim
            nbytes = expected(product((self.length, *value.type.shape))) * value.type.dtype.itemsize
            is_small = nbytes <= MOST_TERMS
            is_total = not rank or (is_small and _is_total(region, value, carry))
            part = Part(carry, tuple(range(rank)), ("carry", carry), None)
            kinds.append(Running(carry) if is_total else part)
        for value in self.xs:
            count, along = counted(value, self.makers), ("along", value, 0, 1, 0)
            kinds.append(Turn(*count) if count else Own(self.turns.frame.source(along)))
        return kinds

    def _same(self, value: Value) -> Same | Turn:
        """Return what no turn changes; of a size that is a number, which one."""
        made = self.makers.get(value)
        is_size = made is not None and made.primitive is dimension
        return Turn(0, made.params["size"]) if is_size else Same(value)

    def _check(self, found: Sequence[Kind]) -> None:
        """Make sure that what is carried is not read, or kept, written in own cells, or summed."""
        if any([isinstance(kind, (Part, Running)) for kind in found[len(self.carry) :]]):
            raise Dependent  # each turn gives what the ones before have made of it
        for carry, kind in enumerate(found[: len(self.carry)]):
            if isinstance(kind, (Same, Turn, Own)) and carry in self.unread:
                continue
            if isinstance(kind, Running):
                if kind.carry != carry or not (self.totals or kind.fn is None):
                    raise Dependent
                continue
            if not isinstance(kind, Part) or kind.rest != ("carry", carry):
                raise Dependent
            moving = [
                key for key in self.turns.cells[carry].values() if key[0] == "turn" and key[1]
            ]
            if len(moving) != 1:
                raise Dependent

    # --- recording --------------------------------------------------------------------------------

    def _recorded(self, found: Sequence[Kind]) -> list[Value]:
        frame = self.turns.frame
        given = [self._given(number, kind) for number, kind in enumerate(found)]
        self.more = self._added(found)
        # Where they come from is asked last: asking records slices.
        sources = [self._operand(key) for key in frame.taken]
        outputs = [value for values in given for value in values]
        region = Graph(list(frame.taken.values()), frame.builder.operations, outputs)
        region = _spread(eliminate_dead(region), self.fastmath, False)
        self.builder.location = self.op.place
        size = self.length + sum(self.more)
        stacked = iter(record_map(region, sources, size=size, fastmath=self.fastmath))
        return [
            self._result(number, kind, list(islice(stacked, len(values))))
            for number, (kind, values) in enumerate(zip(found, given, strict=True))
        ]

    def _given(self, number: int, kind: Kind) -> Sequence[Value]:
        """Return what a turn gives for a result."""
        if isinstance(kind, Running):
            return kind.terms
        if isinstance(kind, Part):
            return () if kind.cell is None else (kind.cell,)
        if isinstance(kind, (Same, Turn)) and number < len(self.carry):
            return ()  # what the last turn leaves is known
        return (self.turns.frame.value(kind),)

    def _result(self, number: int, kind: Kind, stacked: list[Value]) -> Value:
        """Return a result of the loop, of what all turns give for it."""
        if isinstance(kind, Part):
            return self._put_back(number, stacked[0]) if stacked else self.carry[number]
        stacked = list(map(self._in_loop, stacked))
        if isinstance(kind, Running):
            return self._total(self.carry[number], kind, stacked)
        if number >= len(self.carry):
            return stacked[0]
        if isinstance(kind, Own):
            return self._last(number, stacked[0], self.length)
        last = self.length - 1
        new = kind.value if isinstance(kind, Same) else integer(kind.start + kind.step * last)
        if isinstance(self.length, int):
            return new
        return self._last(number, reshape(new, shape=(1, *shape_of(new))), dim_min(self.length, 1))

    def _last(self, carry: int, stacked: Value, count: DimLike) -> Value:
        """Return the last of what is stacked; what there was before, if there is none."""
        shape, last = shape_of(self.carry[carry]), count - 1
        if not isinstance(count, int):
            before = reshape(self.carry[carry], shape=(1, *shape))
            stacked, last = concatenate(before, stacked, axis=0), count
        return reshape(sliced(stacked, 0, (last, last + 1, 1)), shape=shape)

    def _operand(self, key: Key) -> tuple[Value, int | None]:
        """Return an operand of the map, and the axis along which it is mapped."""
        if key[0] == "same":
            return key[1], None
        if key[0] == "turn":
            numbers = iota(length=self.length + sum(self.more), dtype=INT)
            start = key[2] - key[1] * self.more[0]
            if key[1] != 1:
                numbers = elementwise(np.multiply)(numbers, integer(key[1]))
            if start:
                numbers = elementwise(np.add)(numbers, integer(start))
            return numbers, 0
        _, value, axis, step, start = self._along(key)
        part = self._range(step, start)
        is_whole = part == (0, shape_of(value)[axis], 1)
        return (value if is_whole else sliced(value, axis, part)), axis

    def _along(self, key: Key) -> Key:
        """Return which places of an array the turns have, of that or of a carried one's cells."""
        return self._narrowed(key[1])[0] if key[0] == "cell" else key

    def _range(self, step: int, start: DimLike) -> tuple[DimLike, DimLike, int]:
        """Return the places that the map's turns have, as a slice."""
        before, after = self.more
        return start - step * before, start + step * (self.length + after), step

    def _in_loop(self, stacked: Value) -> Value:
        """Return what the loop's own turns give, without those that were added."""
        before, after = self.more
        return sliced(stacked, 0, (before, before + self.length, 1)) if before + after else stacked

    def _added(self, found: Sequence[Kind]) -> tuple[int, int]:
        """Return how many turns to add before and after, so that a carried array is written whole.

        They may run on anything, as what they give is not used; so they must not fail.
        """
        wanted = None
        for carry, kind in enumerate(found):
            if isinstance(kind, Part) and kind.cell is not None:
                _, value, axis, step, start = self._narrowed(carry)[0]
                after = value.type.shape[axis] - start - self.length
                if not isinstance(start, int) or not isinstance(after, int):
                    continue
                if step == 1 and 0 < start + after <= MOST_ADDED:
                    wanted = start, after
        if wanted is None or not all(map(is_total, self.turns.frame.builder.operations)):
            return 0, 0
        before, after = wanted
        for key in self.turns.frame.taken:
            if key[0] not in ("along", "cell"):
                continue
            _, value, axis, step, start = self._along(key)
            size = value.type.shape[axis]
            ends = start - step * before, start + step * (self.length - 1 + after)
            if not all([never_below(x, 0) and never_below(size - 1, x) for x in ends]):
                return 0, 0
        return wanted

    def _narrowed(self, carry: int) -> tuple[Key, list[tuple[Value, int, Value]]]:
        """Return which places of what all turns have of a carried array each has, and of what.

        Then how that part was taken: of which array, along which axis, at which place.
        """
        known = self.narrow.get(carry)
        if known is None:
            cells = self.turns.cells[carry].items()
            moving = next(axis for axis, key in cells if key[0] == "turn" and key[1])
            value, taken = self.carry[carry], []
            for axis, key in sorted(cells, reverse=True):
                if axis != moving:
                    place = integer(key[2]) if key[0] == "turn" else key[1]
                    taken.append((value, axis, place))
                    value = gather(value, place, axis=axis)
            axis = moving - sum([cut < moving for _, cut, _ in taken])
            _, step, start = self.turns.cells[carry][moving]
            known = self.narrow[carry] = ("along", value, axis, step, start), taken
        return known

    def _put_back(self, carry: int, stacked: Value) -> Value:
        """Return a carried array after the loop, of its turns' cells."""
        (_, value, axis, step, start), taken = self._narrowed(carry)
        rank, size = len(shape_of(value)), value.type.shape[axis]
        is_whole = self._range(step, start) == (0, size, 1)
        if not is_whole:
            stacked = self._in_loop(stacked)
        if axis:
            stacked = transpose(stacked, axes=(*range(1, axis + 1), 0, *range(axis + 1, rank)))
        if is_whole:
            before, after = self.more
            for first, last in ((0, before), (size - after, size)):
                if last > first:  # what the turns that were added gave is not used
                    part = edge(value, axis, first, last)
                    index = along(rank, axis, (first, last, 1))
                    stacked = update_slice(stacked, part, index=index)
            value = stacked
        else:
            part = (start, start + step * self.length, step)
            value = update_slice(value, stacked, index=along(rank, axis, part))
        for whole, cut, place in reversed(taken):
            value = scatter(whole, value, place, axis=cut, fn=None)
        return value

    def _total(self, start: Value, kind: Running, terms: Sequence[Value]) -> Value:
        """Return a total of all terms, taken in the order of the turns."""
        fn = kind.fn
        if fn is None:
            return start
        shape, dtype = shape_of(start), start.type.dtype
        if self.op.params["reverse"]:
            terms = [sliced(term, 0, (self.length - 1, -1, -1)) for term in terms]
        rows = [reshape(term, shape=(self.length, 1, *shape)) for term in terms]
        joined = rows[0] if len(rows) == 1 else concatenate(*rows, axis=1)
        joined = reshape(joined, shape=(self.length * len(rows), *shape))
        if kind.checked:
            return self._exact_total(start, joined)
        own_dtype = None if dtype.kind == "b" else dtype
        first = reshape(start, shape=(1, *shape))
        if dtype.kind in "biu" or self.fastmath:
            if isinstance(self.length, int):
                return elementwise(fn)(start, reduce(joined, fn=fn, axes=(0,), dtype=own_dtype))
            # Of no terms, as there may be, some functions have no total.
            return reduce(concatenate(first, joined, axis=0), fn=fn, axes=(0,), dtype=own_dtype)
        running = accumulate(concatenate(first, joined, axis=0), fn=fn, axis=0, dtype=own_dtype)
        count = self.length * len(rows)
        return reshape(sliced(running, 0, (count, count + 1, 1)), shape=shape)

    def _exact_total(self, start: Value, terms: Value) -> Value:
        """Return a total of Python's ints; where it might grow too large, the loop is run."""
        limit = 2**62 // at_most(terms.type.shape[0])
        most, least = integer(limit), integer(-limit)
        small = elementwise(np.logical_and)(
            elementwise(np.less)(terms, most), elementwise(np.greater)(terms, least)
        )
        terms = checked(terms, small, error="OverflowError", message="a total may grow too large")
        return exact(start, reduce(terms, fn=np.add, axes=(0,), dtype=INT), fn=np.add)


def _is_total(region: Graph, value: Value, carry: int) -> bool:
    """Whether a carried array is only taken into a function of two, as vectors' sums are."""
    if region.outputs[carry] is value:
        return False
    uses = [op for op in region.operations if value in op.operands]
    return bool(uses) and all(op.primitive.ufunc is not None for op in uses)
