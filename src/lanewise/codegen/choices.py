"""How a kernel runs: what stands in the lanes, how many there are, what is read where it lies."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set

from lanewise.codegen.costs import each_ns
from lanewise.codegen.counting import (
    Counting,
    expected_turns,
    fills_lanes,
    lanes_for,
    nbytes_of,
    work_of,
)
from lanewise.codegen.processor import machine
from lanewise.codegen.uniformity import IN_REGISTERS, varying_sizes, varying_values
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType, has_dim
from lanewise.ops.control import BRANCHES, LOOPS, carry_of, scan, while_
from lanewise.ops.facts import Kind, ask, count
from lanewise.ops.regions import map_
from lanewise.passes.specialize import at_usual_sizes, defined_sizes
from lanewise.passes.survive import meant

#: Two vectors are in flight, which hides latencies, unless more numbers than this are live at once.
MOST_LIVE = 32
#: At most so many are in flight where a loop makes each wait for itself, and so many numbers live.
MOST_FLIGHT, MOST_IN_FLIGHT = 4, 80
#: Longer turns of a loop would take long to compile for more than two.
LONG_TURN = 256
#: Of 512 instructions that a processor looks ahead, two a cycle, it sees so many cycles.
IN_SIGHT = 256
#: An example with a larger array is not run in one lane: its elements are.
LARGE = 1024
#: ... where calls of a library prepare what all examples in lanes share, which takes long.
LARGE_IN_CALLS = 1 << 14
#: ... and where there are loops: those of all lanes take more bytes than are near a core, as each
#: turn would wait for memory, and they would be copied there for the sake of a few elements.
NEAR_BYTES = 1 << 18
#: So many vectors of a column are read one after the other where an element takes little work, and
#: how many instructions are little.
ABREAST, _LITTLE = 4, 3


def runs_in_lanes(body: Graph, in_dims: Sequence[int | None], columns: Sequence[bool] = ()) -> bool:
    """Whether examples run in lanes; else elements do, of one example after the other.

    For that, operands that are `columns` are copied, and sooner or later such results.
    """
    if all(axis is None for axis in in_dims):
        return False  # one example, which would be the same in all lanes
    if defines_sizes(body, in_dims):
        return _own_sizes_pay(body, in_dims)
    body = at_usual_sizes(body)
    if any([op.primitive in LOOPS for op in body.operations]):
        varying = varying_values(body, [axis is not None for axis in in_dims])
        most = _group(body, in_dims) * max(map(nbytes_of, varying), default=0)
        return most <= NEAR_BYTES and _is_faster(body, body, in_dims)
    is_called = any([ask(op.primitive.setup_ns, op) > 0 for op in body.operations])
    if max([count(v) for v in _values(body)], default=1) > (LARGE_IN_CALLS if is_called else LARGE):
        return False
    if _has_map_for_lanes(body):
        return False
    if any([op.must_run or op.regions or not op.primitive.along_rows for op in body.operations]):
        return True
    arrays = (*body.inputs, *body.outputs)
    apart = {value for value, is_column in zip(arrays, columns, strict=False) if is_column}
    return _is_faster(body, body, in_dims, apart)


def _is_faster(
    longest: Graph, usual: Graph, in_dims: Sequence[int | None], columns: Collection[Value] = ()
) -> bool:
    """Whether examples take less in lanes, where all wait for the longest, than one by one."""
    lanes = _group(usual, in_dims)
    in_lanes = each_ns(longest, in_dims, lanes, True, columns)
    return in_lanes < each_ns(usual, in_dims, lanes, False, columns)


def defines_sizes(body: Graph, in_dims: Sequence[int | None]) -> bool:
    """Whether examples define sizes of their own: then they may run in lanes, or in turn."""
    mapped = [axis is not None for axis in in_dims]
    return any(mapped) and bool(defined_sizes(body) or varying_sizes(body, mapped))


def _own_sizes_pay(body: Graph, in_dims: Sequence[int | None]) -> bool:
    """Whether examples that define sizes run in lanes: all wait for the largest of them there."""
    usual = at_usual_sizes(body)
    if max([count(v) for v in _values(body)], default=1) > LARGE:
        return False
    lanes = _group(usual, in_dims)
    try:
        longest = at_usual_sizes(body, ABREAST * lanes)
    except (ValueError, IndexError):  # not all of them are so at once
        longest = usual
    return _is_faster(longest, usual, in_dims)


def _has_map_for_lanes(body: Graph) -> bool:
    """Whether a region has an inner map of which the examples fill several vectors."""
    least = machine().register_bits // 16
    return any([op.primitive is map_ and fills_lanes(op, least) for op in body.operations])


def instructions(body: Graph, among: Set[Value] | None = None) -> float:
    """Return about how many instructions a region takes, with an example in a lane.

    If some values are given, only those that compute one `among` them count.
    """
    total = 0.0
    for op in body.operations:
        if among is not None and among.isdisjoint(op.results):
            continue
        if op.regions:
            total += 1 + expected_turns(op) * sum([instructions(r, among) for r in op.regions])
        elif op.primitive.kind is Kind.LOOKUP:
            total += work_of(op) * sum(map(count, op.results))
        else:
            arrays = (*op.operands, *op.results)
            total += work_of(op) * max(map(count, arrays), default=0)
    return total


def only_indexed(body: Graph, number: int) -> bool:
    """Whether an input is read at places that are data only, so that few of them may be read."""

    def is_so(op: Operation | None, place: int) -> bool:
        if op is None or op.primitive is map_:
            return False
        if not op.regions:  # gather: a run of places is many
            return op.primitive.indices == 1 and place == 0
        if op.primitive in BRANCHES:
            return place > 0
        return op.primitive not in LOOPS or place < op.params["captures"]

    reads = list(_reads(body, body.inputs[number]))
    return bool(reads) and all([is_so(op, place) for op, place in reads])


def is_indexed(region: Graph, value: Value) -> bool:
    """Whether a region reads a value of its at places that are data, or that a turn decides."""
    reads = _reads(region, value)
    is_at_data = any(op and place in op.primitive.reads_at_data for op, place in reads)
    return is_at_data or is_sliced(region, value)


def is_sliced(region: Graph, value: Value) -> bool:
    """Whether a region reads or writes parts of a value of which a turn decides how large."""
    kinds = (Kind.VIEW, Kind.UPDATE)
    reads = _reads(region, value)
    return any(op and op.primitive.kind in kinds and has_dim(op.params) for op, _ in reads)


def only_called(body: Graph, number: int) -> bool:
    """Whether an input is read by calls of a library only, which read it where it lies."""
    reads = list(_reads(body, body.inputs[number]))
    return bool(reads) and all(
        [op and not op.regions and ask(op.primitive.call_ns, op) > 0 for op, _ in reads]
    )


def _reads(region: Graph, value: Value) -> Iterator[tuple[Operation | None, int]]:
    """Give the operations that take a value, also those in regions, and as which operand.

    Where a region hands it on, there is no operation.
    """
    for op, place in region.users.get(value, ()):
        yield op, place
        shift = 1 if op.primitive in BRANCHES else 0
        for inner in op.regions if place >= shift else ():
            yield from _reads(inner, inner.inputs[place - shift])
    for place, output in enumerate(region.outputs):
        if output is value:
            yield None, place


def shape_of_lanes(
    body: Graph,
    in_dims: Sequence[int | None],
    in_lanes: bool,
    columns: Sequence[bool] = (),
) -> tuple[int, int]:
    """Return how many lanes a vector has, and how many vectors are in flight.

    LANEWISE_LANES overrules the choice of how many lanes there are in all.
    """
    group = _group(body, in_dims)
    if lanes := _forced_lanes():
        return group, max(lanes // group, 1)
    if in_lanes:
        numbers = {
            value
            for value, axis in zip(body.inputs, in_dims, strict=True)
            if axis is None and count(value) == 1
        }
        live, mapped = pressure(body, numbers), [axis is not None for axis in in_dims]
        vectors = _in_flight(body, mapped, live, group) if live <= MOST_LIVE else 1
        return group, max(vectors, ABREAST) if _only_streams(body, columns) else vectors
    if _has_map_for_lanes(body):
        inner = max([op.regions[0] for op in body.operations if op.regions], key=instructions)
        return group, _in_flight(inner, [True] * len(inner.inputs), pressure(inner), group)
    longest = max([value.type.shape[-1] for value in _values(body) if count(value) > 1], default=1)
    return group, 2 if longest > group else 1


def _only_streams(body: Graph, columns: Sequence[bool]) -> bool:
    """Whether a kernel does little but read or write the elements of large columns.

    Memory is fastest where more than a line of each column is read or written at once.
    """
    arrays = zip((*body.inputs, *body.outputs), columns, strict=False)
    large = [count(v) for v, is_column in arrays if is_column and count(v) > IN_REGISTERS]
    return bool(large) and instructions(body) <= _LITTLE * sum(large)


def _in_flight(body: Graph, mapped: Sequence[bool], live: int, group: int) -> int:
    """Return how many vectors are in flight, given how many numbers are `live` at once.

    Two, mostly: what comes next does not wait for them. But a turn of a loop waits for the one
    before, and what comes next does not come into sight of the processor while it waits for long:
    then as many as there is time for, if registers and what is close to them suffice.
    """
    varying = set(varying_values(body, mapped))
    inputs = [value for value, is_mapped in zip(body.inputs, mapped, strict=True) if is_mapped]
    if max([count(value) for value in (*inputs, *varying)], default=1) > IN_REGISTERS:
        return 2
    counting = Counting(group, (), varying)
    counting.region(body)
    loop = _main_loop(body)
    if loop is None:
        time = counting.time(body, body.inputs)
        work = max(instructions(body, varying), 1.0)
        wanted = math.ceil(2 * time / work) if time > IN_SIGHT else 2
    else:
        turn = loop.regions[-1]
        time = counting.time(turn, turn.inputs[carry_of(loop)])
        work = max(sum([instructions(region, varying) for region in loop.regions]), 1.0)
        # Where lanes leave one by one, more of them share what a wrong guess of that costs.
        wanted = math.ceil(2 * time / work) + (loop.primitive is while_)
        if work > LONG_TURN:
            return 2
    return max(2, min(wanted, MOST_FLIGHT, MOST_IN_FLIGHT // max(live, 1)))


def _main_loop(body: Graph) -> Operation | None:
    """Return the innermost loop that most of the work is in."""
    inner = [op for op in body.operations if op.regions]
    most = max(inner, key=_all_turns, default=None)
    if most is None or 2 * _all_turns(most) < instructions(body):
        return None
    found = [_main_loop(region) for region in most.regions]
    own = most if most.primitive in LOOPS else None
    return next((loop for loop in found if loop is not None), own)


def turn_of(op: Operation) -> float:
    """Return about how many instructions a turn of an operation with regions is."""
    return max(sum(map(instructions, op.regions)), 1.0)


def _all_turns(op: Operation) -> float:
    return expected_turns(op) * turn_of(op)


def _group(body: Graph, in_dims: Sequence[int | None]) -> int:
    """Return how many lanes a vector has in a kernel."""
    return lanes_for(varying_values(body, [axis is not None for axis in in_dims]))


def _forced_lanes() -> int | None:
    """Return what LANEWISE_LANES says."""
    given = os.environ.get("LANEWISE_LANES", "")
    if given and (not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 256):
        text = f"LANEWISE_LANES must be a number of lanes, 1 to 256, not {given!r}"
        raise meant(ValueError(text))
    return int(given) if given else None


def pressure(body: Graph, numbers: Collection[Value] = ()) -> int:
    """Return about how many numbers are live at once where the most are.

    Of the inputs, `numbers` do not count: each is one number that all examples share, which
    instructions can read where it lies.
    """
    last = {value: place for place, op in enumerate(body.operations) for value in op.operands}
    last |= dict.fromkeys(body.outputs, len(body.operations))
    # What a scan takes apart lies in memory.
    scans = [op for op in body.operations if op.primitive is scan]
    for value in (*numbers, *[v for op in scans for v in op.operands[carry_of(op).stop :]]):
        last.pop(value, None)
    live = most = sum([_weight(v) for v in body.inputs if v in last])
    ends: Counter[int] = Counter()
    for value, place in last.items():
        ends[place] += _weight(value)
    for place, op in enumerate(body.operations):
        live += sum([_weight(v) for v in op.results if v in last])
        taken = _captured(op, numbers)
        inner = [pressure(region, [region.inputs[i] for i in taken]) for region in op.regions]
        most = max(most, live, *inner)
        live -= ends[place]
    return most


def _captured(op: Operation, numbers: Collection[Value]) -> list[int]:
    """Return which inputs of the regions of an operation are some of the numbers."""
    first = 1 if op.primitive in BRANCHES else 0
    last = op.params["captures"] if op.primitive in LOOPS else len(op.operands)
    return [i - first for i in range(first, last) if op.operands[i] in numbers]


def _weight(value: Value) -> int:
    if not isinstance(value.type, ArrayType):
        return 0
    size = count(value)
    is_complex = value.type.dtype.kind == "c"
    return (2 if is_complex else 1) * (size if size <= IN_REGISTERS else 1)


def _values(body: Graph) -> Iterator[Value]:
    yield from body.inputs
    for op in body.operations:
        yield from op.results
        for region in op.regions:
            yield from _values(region)
