"""What a kernel takes: the one model that chooses kernels, plans and tiers, and says their limits.

For each operation of a kernel it counts how long the processor's units are *busy* with it, in
cycles: vectors of numbers for what is in lanes, numbers else, by the instructions of the operation
(`ops/facts.py`). Each turn of a loop takes at least as long as its *chain*: the longest way from
what it carries to what it carries on, by latencies; what a loop waits for that adds to the units'
time. What is read and written costs by where so much lies: in the nearest cache nothing beside the
instruction, in the further ones and in memory so much for a byte, and memory is what threads share.

A region that data choose counts by what may be expected: one of the branches of a number, all of
those that examples in lanes take; `TURNS` turns of a loop that data end; half of what a slice of
data is at most, or what each turn of a loop gets if the turns share it. Prices are those of one
machine in cycles, fitted by ``python -m benchmarks.estimates --fit`` on programs other than those
on which the error is told (docs/benchmarks.md). They decide by their ratios, which differ less
from machine to machine than times do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from lanewise.codegen.counting import (
    expected_turns,
    is_array,
    nbytes_of,
    work_along_rows,
    work_in_lanes,
)
from lanewise.codegen.prices import CLOCK, PRICES, Work, fetch, level
from lanewise.ir.dims import Dim, DimLike, most_of, symbols
from lanewise.ir.graph import Graph, Value
from lanewise.ops.control import LOOPS
from lanewise.ops.facts import usual_size
from lanewise.ops.regions import map_
from lanewise.passes.specialize import agreeing, specialized, unknown_sizes

#: Work of so many nanoseconds at least is what another thread does.
CHUNK = 12_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call of a kernel takes, in nanoseconds of the machine that the prices are of."""

    #: All of it.
    total: float
    #: What its instructions and what the chains of its loops take at least.
    arithmetic: float
    latency: float
    #: What getting bytes from caches, and from memory, takes at least.
    cached: float
    moved: float
    #: From memory or to it.
    nbytes: float
    #: How many share the work.
    threads: int
    #: Cycles of the chain of the loop that takes longest by its chain.
    turn: float

    @property
    def bandwidth(self) -> float:
        """What getting all bytes takes at least."""
        return self.cached + self.moved


def settled(body: Graph, in_dims: Sequence[int | None], size: DimLike = 1) -> Graph:
    """Return a kernel's region with numbers in place of sizes.

    What a loop counts is half of what it goes to. What is sliced at data is half of the array, or
    where the turns of a loop slice one array, what each gets if they share it.

    Raises
    ------
    ValueError, IndexError
        If these are no sizes that it is meant for.
    """
    names = unknown_sizes(body) | body.defines
    if not names:
        return body
    sizes = {name: usual_size(Dim.symbol(name)) for name in names}
    shared = [v for v, axis in zip(body.inputs, in_dims, strict=True) if axis is None]
    sizes.update(_shares(body, usual_size(size), shared))
    return specialized(body, agreeing(body, {name: sizes[name] for name in names}))


def _shares(region: Graph, turns: int, shared: Sequence[Value]) -> Iterator[tuple[str, int]]:
    """Give the sizes that data define in a region that is run so often on some shared values."""
    given = set(region.inputs)
    for op in region.operations:
        if op.primitive.is_definition and op.operands[0] not in given:
            (name,) = symbols(op.params["size"])
            most = most_of(name)
            if most and turns > 1 and any(most in v.type.shape for v in shared if is_array(v)):
                yield name, max(round(most / turns), 1)
        inner = expected_turns(op) if op.regions else 1
        for body in op.regions:
            if op.primitive is map_:
                axes = zip(body.inputs, op.params["in_dims"], strict=True)
                yield from _shares(body, inner, [v for v, axis in axes if axis is None])
            elif op.primitive in LOOPS:
                yield from _shares(body, inner, body.inputs[: op.params["captures"]])
            else:
                yield from _shares(body, turns, body.inputs)


def each_ns(
    body: Graph,
    in_dims: Sequence[int | None],
    lanes: int,
    in_lanes: bool,
    columns: Collection[Value] = (),
) -> float:
    """Return the nanoseconds that a thread takes for an example, of many."""
    mapped = [axis is not None for axis in in_dims]
    each = lanes if in_lanes else 1
    if in_lanes:
        work = work_in_lanes(body, mapped, lanes, columns)
    else:
        work = work_along_rows(body, columns)
    moved = sum([nbytes_of(v) for v, m in zip(body.inputs, mapped, strict=True) if m])
    moved += sum(map(nbytes_of, body.outputs))
    cycles = work.cycles + work.memory * PRICES.memory + each * moved * PRICES.common
    return (cycles / CLOCK + work.calls) / each


def of_kernel(
    body: Graph,
    in_dims: Sequence[int | None],
    size: float,
    lanes: int,
    in_lanes: bool,
    threads: int,
) -> Cost:
    """Return what a call of a kernel takes for so many examples."""
    mapped = [axis is not None for axis in in_dims]
    work = work_in_lanes(body, mapped, lanes) if in_lanes else work_along_rows(body)
    each = lanes if in_lanes else 1
    work.busy += PRICES.turned
    blocks = math.ceil(size / each)
    total = Work()
    total.add(work, blocks)
    # What is an example's part of a large array comes from there once.
    rows = [v for v, is_mapped in zip(body.inputs, mapped, strict=True) if is_mapped]
    own = [*rows, *body.outputs]
    largest = max(map(nbytes_of, own), default=0) * each
    whole = size * sum(map(nbytes_of, own))
    if level(whole) > level(largest):
        fetch(total, whole, whole)
    alone = (total.cycles + total.memory * PRICES.memory) / CLOCK + total.calls
    used = max(min(threads, blocks, int(alone / CHUNK)), 1)
    share = math.ceil(blocks / used) / max(blocks, 1)
    moved = total.memory * max(PRICES.memory / used, PRICES.shared) / CLOCK
    return Cost(
        total=(total.cycles / CLOCK + total.calls) * share
        + moved
        + PRICES.launch_ns
        + (PRICES.thread_ns if used > 1 else 0.0),
        arithmetic=total.busy * share / CLOCK,
        latency=total.chain * share / CLOCK,
        cached=total.cached * share / CLOCK,
        moved=moved,
        nbytes=total.memory,
        threads=used,
        turn=total.slowest[1],
    )
