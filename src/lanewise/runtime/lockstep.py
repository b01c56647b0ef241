"""Loops that examples leave at different turns, run in lockstep over a compact batch.

An example that has finished leaves its result and its slot. Slots are not closed at once, which
would copy the whole batch again and again: a free slot is filled with a copy of an example that
still runs, its *shadow*, so that no operation ever sees a finished example, and none can warn, fail
or run on because of one. Closing the free slots pays once they have cost as much as it would.
Arrays of which a turn reads or writes single elements have no slots: they stay whole, and the turn
is told the rows (see rows.py). The last few examples finish one by one, by the plan of one example,
whose operations on scalars cost a tenth of those on small arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lanewise.ir.graph import Builder, Graph, Operation
from lanewise.ops.control import CONTROL, while_
from lanewise.ops.creation import constant
from lanewise.passes.divergent import batched_loop
from lanewise.passes.pipeline import DIVERGED
from lanewise.runtime.examples import Run, Setting, Step, root_of, spread, used_values
from lanewise.runtime.expressions import is_scalar
from lanewise.runtime.rows import ROWS, Rowwise, rowwise

#: After so many turns of a few examples together, each of them goes on alone.
PATIENCE = 16


class Loop:
    """Runs a `while` whose test varies."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.inner = inner = setting.inner
        assert inner.primitive is while_
        self.first: int = inner.params["captures"]
        mapped = [kind is not None for kind in setting.kinds]
        test, body, taken = batched_loop(inner, mapped, setting.symbol, setting.fallback)
        #: Which captures and which of the carry have one value an example.
        self.varies = taken
        turn = DIVERGED(_turn(test, body, self.first))
        rewritten = self.rewritten(test, turn)
        #: The positions of what stays whole; those of the carry are written to.
        self.whole = rewritten[0].whole
        count = len(self.whole)
        self.test = setting.make(rewritten[0].graph)
        self.turn = setting.make(
            rewritten[1].graph, range(count + self.first, count + len(inner.operands))
        )
        written = [value in self.turn.memory.written for value in rewritten[1].graph.inputs[count:]]
        #: The positions of the carry with slots that a turn writes into.
        self.written = [i for i, is_ in enumerate(written) if is_ and i not in self.whole]
        used = used_values(turn)
        #: The positions of what has a slot for each example: of the captures only those in use.
        self.slotted = [
            i
            for i, value in enumerate(turn.inputs)
            if taken[i] and i not in self.whole and (i >= self.first or value in used)
        ]
        #: A shadow would write a second time where its example does.
        self.may_shadow = not any(i >= self.first for i in self.whole)
        #: So few examples are faster one by one.
        self.few = _few(inner)

    def rewritten(self, test: Graph, turn: Graph) -> tuple[Rowwise, Rowwise]:
        """Return the test and a turn, both with the same arrays whole."""
        setting, first = self.setting, self.first
        updates = {j: k for j, k in setting.updated.items() if k >= first}
        whole = {i for i in range(first) if setting.has_rows(i)}
        whole |= {k for k in updates.values() if setting.has_rows(k)}
        while True:
            turned = rowwise(turn, setting.symbol, whole, updates)
            asked = rowwise(test, setting.symbol, turned.whole, {})
            kept = {i for i in asked.whole if i < first or turned.updated.get(i - first) == i}
            if kept == set(turned.whole):
                return asked, turned
            whole = kept

    @cached_property
    def alone(self) -> Step:
        """The plan of one example."""
        builder = Builder()
        inputs = [builder.input(value.type) for value in self.inner.operands]
        builder.location = self.inner._place
        results = builder.emit(while_, tuple(inputs), self.inner.params, self.inner.regions)
        given = [i for i in self.whole if i >= self.first]
        return self.setting.make(builder.finish(results), given)

    def run(self, run: Run) -> Sequence[Any]:
        """Return the results, each with a row for each example or whole."""
        results = _Lockstep(self, run).run()
        for j, result in enumerate(results):
            k = self.setting.updated.get(j)
            if k in self.whole:
                continue
            if k is not None and self.setting.kinds[k] == ROWS:
                results[j] = run.base(k)
                results[j][run.rows[k]] = result
            elif not run.is_fresh(result, [x for i, x in enumerate(results) if i != j]):
                results[j] = result.copy()
        return results


def _turn(test: Graph, body: Graph, captures: int) -> Graph:
    """Return one turn of a loop as a graph: the next carry, and whether to go on from there."""
    builder = Builder()
    inputs = [builder.input(value.type) for value in body.inputs]
    carry = builder.inline(body, inputs)
    return builder.finish([*carry, *builder.inline(test, [*inputs[:captures], *carry])])


def _few(loop: Operation) -> int:
    """Return how many examples are faster one by one than as a batch.

    On scalars, an operation takes about a tenth of the time that NumPy needs for a small array.
    """
    scalars = arrays = 0
    todo = list(loop.regions)
    while todo:
        for op in todo.pop().operations:
            todo += op.regions
            if op.primitive is constant:
                continue
            if op.primitive in CONTROL or all(is_scalar(value.type) for value in op.results):
                scalars += 1
            else:
                arrays += 1
    return max(1, min(8, int((scalars + arrays) / (0.12 * scalars + arrays + 0.01))))


class _Lockstep:
    """One run of a loop: the slots of the examples that still go on."""

    def __init__(self, loop: Loop, run: Run) -> None:
        self.loop = loop
        self.arguments = run
        #: Kept: what stands here is never written to.
        self.foreign = set(map(id, run.arrays))
        self.state = [self.initial(i) for i in range(len(run.arrays))]
        self.results: list[Any] | None = None
        #: How many slots there are, and how many examples still go on.
        self.slots = self.left = run.size
        self.sizes = run.with_size(run.size)
        #: The example in each slot.
        self.examples = np.arange(run.size)
        #: The rows of the examples in each array that is whole.
        self.rows = [run.rows_of(i, None) for i in loop.whole]
        #: Which slots hold shadows; None where none does.
        self.shadows: np.ndarray | None = None

    def initial(self, i: int) -> Any:
        """Return what the loop begins with at a position of its operands."""
        run, loop = self.arguments, self.loop
        if i in loop.whole:
            return run.base(i) if i >= loop.first else run.arrays[i]
        x = run.taken(i, None)
        return spread(x, run.size) if loop.varies[i] and loop.setting.kinds[i] is None else x

    def run(self) -> list[Any]:
        loop, waste, patience = self.loop, 0, PATIENCE
        if not self.left:
            self.allocated()
            return self.finished()
        (go_on,) = loop.test.step(self.sizes, *self.rows, *self.state)
        while True:
            if np.ndim(go_on):
                if np.count_nonzero(go_on) != self.slots:
                    self.finish(~go_on, waste)
                    waste = 0 if self.slots == self.left else waste
            elif not go_on:
                self.finish(np.ones(self.slots, bool), waste)
            if not self.left:
                break
            if self.left <= loop.few:
                patience -= 1
                if not patience:
                    self.finish_alone()
                    break
            if self.slots != self.left:
                waste += self.slots - self.left
                if waste >= self.left:
                    self.close_slots()
                    waste = 0
            for position in loop.written:
                self.own(position)
            *carry, go_on = loop.turn.step(self.sizes, *self.rows, *self.state)
            self.state[loop.first :] = carry
        return self.finished()

    def finished(self) -> list[Any]:
        """Return the results; those that were all done at once are the carry."""
        first, whole = self.loop.first, self.loop.whole
        carry = self.state[first:]
        if self.results is None:
            return carry
        return [
            x if i in whole else result
            for i, (x, result) in enumerate(zip(carry, self.results, strict=True), first)
        ]

    def allocated(self) -> list[Any]:
        """Return room for the results, but those that are whole arrays."""
        if self.results is None:
            whole = [i - self.loop.first for i in self.loop.whole]
            self.results = [
                None if j in whole else self.arguments.empty(j)
                for j in range(len(self.loop.setting.types))
            ]
        return self.results

    def finish(self, stops: np.ndarray, waste: int) -> None:
        """Take the results of the examples that stop, and free their slots."""
        loop, size = self.loop, self.arguments.size
        real = stops if self.shadows is None else stops & ~self.shadows
        slots = real.nonzero()[0]
        self.left -= len(slots)
        if len(slots) == size:  # all at once: the carry is the result
            for i in range(loop.first, len(self.state)):
                if not loop.varies[i]:
                    self.state[i] = spread(self.state[i], size)
            return
        examples = self.examples[slots]
        for j, result in enumerate(self.allocated(), loop.first):
            if j not in loop.whole:
                result[examples] = self.state[j][slots] if loop.varies[j] else self.state[j]
        if not self.left:
            return
        stopped = slots if real is stops else stops.nonzero()[0]
        if self.shadows is None:
            self.shadows = real
        else:
            self.shadows |= real
        pays = max(waste + self.slots - self.left, len(stopped)) >= self.left
        if loop.may_shadow and not pays and self.owns_slots():
            self.fill(stopped)
        else:
            self.close_slots()

    def fill(self, slots: np.ndarray) -> None:
        """Fill slots with copies of an example that goes on."""
        assert self.shadows is not None
        source = int(np.argmin(self.shadows))
        for i in self.loop.slotted:
            self.state[i][slots] = self.state[i][source]
        for rows in self.rows:
            rows[slots] = rows[source]

    def close_slots(self) -> None:
        """Keep the slots of the examples that go on, and no others."""
        assert self.shadows is not None
        kept = (~self.shadows).nonzero()[0]
        for i in self.loop.slotted:
            self.state[i] = self.state[i].take(kept, 0)
        self.rows = [rows.take(kept) for rows in self.rows]
        self.examples = self.examples.take(kept)
        self.shadows = None
        self.slots = len(kept)
        self.sizes = self.arguments.with_size(self.slots)

    def finish_alone(self) -> None:
        """Run the examples that are left to their ends, one by one."""
        loop = self.loop
        slots = np.arange(self.slots) if self.shadows is None else np.flatnonzero(~self.shadows)
        results = self.allocated()
        rows = dict(zip(loop.whole, self.rows, strict=True))
        for slot in slots.tolist():
            arguments = [
                x[rows[i][slot]] if i in rows else x[slot] if varies else x
                for i, (x, varies) in enumerate(zip(self.state, loop.varies, strict=True))
            ]
            outputs = loop.alone.step(self.arguments.sizes, *arguments)
            changed = {}
            for i, output in enumerate(outputs, loop.first):
                if i not in rows:
                    results[i - loop.first][self.examples[slot]] = output
                elif output is not arguments[i]:
                    changed[i] = output.copy()  # it may be part of a row that is written to now
            for i, output in changed.items():
                self.state[i][rows[i][slot]] = output

    # --- whose memory -----------------------------------------------------------------------------

    def is_own(self, x: Any) -> bool:
        """Return whether an array is a piece of memory that no operand is."""
        return x.base is None and x.flags.writeable and id(x) not in self.foreign

    def owns_slots(self) -> bool:
        """Return whether everything with slots, and the rows, may be written to."""
        slotted = set(self.loop.slotted)
        arrays = [self.state[i] for i in slotted]
        others = {id(root_of(x)) for i, x in enumerate(self.state) if i not in slotted}
        ids = set(map(id, arrays))
        given = set(map(id, self.arguments.rows.values()))
        return (
            len(ids) == len(arrays)
            and not ids & others
            and all(map(self.is_own, arrays))
            and not any(id(rows) in given for rows in self.rows)
        )

    def own(self, position: int) -> None:
        """Make sure that an array of the state may be written to: copy it if in doubt."""
        array = self.state[position]
        shared = any(root_of(x) is array for i, x in enumerate(self.state) if i != position)
        if shared or not self.is_own(array):
            self.state[position] = array.copy()
