"""Control flow in which examples go different ways: those that go the same way run together.

Of a `cond` or a `switch`, the examples of each branch are gathered, run as one batch, and
scattered. A branch that nobody takes is not run, and what all examples take needs no gathering.

Of a `while`, those that go on turn together: an example that is done leaves its result, and the
batch is compacted, so that no operation ever sees a finished example, and none can warn, fail or
run on because of one. The last few go on one by one, by the plan of one example, whose operations
on scalars cost a tenth of those on small arrays.

Nothing here writes into memory that others hold: operands, views, arrays that two results share.
The results are memory of their own, which nobody else holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Builder, Graph, Operation
from lanewise.ops.control import BRANCHES, cond, while_
from lanewise.passes.divergent import batched_loop, batched_region, fresh_symbol
from lanewise.passes.pipeline import DIVERGED
from lanewise.runtime.binding import bind
from lanewise.runtime.expressions import is_scalar
from lanewise.runtime.memory import Memory
from lanewise.runtime.owning import is_own, own

#: After so many turns of a few examples together, each of them goes on alone.
PATIENCE = 16
#: So few examples are faster one by one, if all that they compute with is scalars.
FEW = 8


class Step(Protocol):
    """A plan that takes the sizes of symbolic dimensions before its arguments."""

    graph: Graph
    memory: Memory

    def step(self, *arguments: Any) -> list[Any]: ...


class Make(Protocol):
    """Makes the plan of a graph, which may write to the arguments at the positions `given`."""

    def __call__(self, graph: Graph, given: Iterable[int] = ()) -> Step: ...


class _Setting:
    """A divergent map as the runners of its operation see it, by the positions of its operands."""

    def __init__(self, op: Operation, make: Make) -> None:
        (region,) = op.regions
        (self.inner,) = region.operations
        self.make = make
        self.fallback: bool = op.params["fallback"]
        self.symbol = fresh_symbol(region)
        self.places = [region.inputs.index(value) for value in self.inner.operands]
        #: Which operands have a row for each example; the others are the same for all.
        self.mapped = [op.params["in_dims"][place] is not None for place in self.places]

    def with_size(self, sizes: dict[str, int], size: int) -> dict[str, int]:
        """Return the sizes of dimensions where so many examples go one way."""
        return {**sizes, str(self.symbol): size}

    def room(self, sizes: dict[str, int], size: int) -> list[np.ndarray]:
        """Return room for the results."""
        types = [value.type for value in self.inner.results]
        return [np.empty((size, *bind(t.shape, sizes)), t.dtype) for t in types]


def divergent(op: Operation, make: Make) -> Callable[..., Sequence[Any]]:
    """Return the runner of a divergent map; it takes the sizes of dimensions, then the operands."""
    setting = _Setting(op, make)
    runner: Any = _Branches(setting) if setting.inner.primitive in BRANCHES else _Loop(setting)
    (region,) = op.regions
    outputs = [setting.inner.results.index(value) for value in region.outputs]

    def run(sizes: dict[str, int], *operands: Any) -> Sequence[Any]:
        size = evaluate(op.params["size"], sizes)
        results = runner.run(sizes, size, [operands[place] for place in setting.places])
        return [results[j] for j in outputs]

    return run


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch over a number of examples."""

    plan: Step
    #: The operands that it takes, and which of its results vary.
    takes: Sequence[int]
    out_mapped: Sequence[bool]


class _Branches:
    """Runs a `cond` or `switch` whose predicate varies."""

    def __init__(self, setting: _Setting) -> None:
        self.setting = setting
        self.branches: dict[int, _Branch] = {}

    def branch(self, number: int) -> _Branch:
        """Return a branch, made when it is first taken."""
        known = self.branches.get(number)
        if known is None:
            known = self.branches[number] = self.compiled(self.setting.inner.regions[number])
        return known

    def compiled(self, region: Graph) -> _Branch:
        setting = self.setting
        mapped = setting.mapped[1:]  # the predicate comes first
        graph, out_mapped = batched_region(region, mapped, setting.symbol, setting.fallback)
        used = {v for op in graph.operations for v in op.operands}.union(graph.outputs)
        takes = [i for i, value in enumerate(graph.inputs) if value in used]
        graph = Graph([graph.inputs[i] for i in takes], graph.operations, graph.outputs)
        return _Branch(setting.make(graph), [1 + i for i in takes], out_mapped)

    def run(self, sizes: dict[str, int], size: int, arrays: list[Any]) -> Sequence[Any]:
        """Return the results, with a row for each example."""
        setting, results = self.setting, None
        for number, chosen in self.groups(arrays[0]):
            branch = self.branch(number)
            taken = [
                arrays[i].take(chosen, 0) if setting.mapped[i] and chosen is not None else arrays[i]
                for i in branch.takes
            ]
            count = size if chosen is None else len(chosen)
            outputs = branch.plan.step(setting.with_size(sizes, count), *taken)
            if chosen is None:
                return owned(outputs, branch.out_mapped, size, taken)
            results = setting.room(sizes, size) if results is None else results
            for result, output in zip(results, outputs, strict=True):
                result[chosen] = output
        return setting.room(sizes, size) if results is None else results

    def groups(self, chosen: np.ndarray) -> list[tuple[int, np.ndarray | None]]:
        """Return each branch that is taken, and the examples that take it; None for all."""
        if not len(chosen):
            return []
        count = len(self.setting.inner.regions)
        if self.setting.inner.primitive is cond:
            chosen = np.where(chosen, 0, 1)
        elif np.any(chosen >= count) or np.any(chosen < -count):
            raise IndexError("list index out of range")
        else:
            chosen = np.where(chosen < 0, chosen + count, chosen).astype(np.intp)
        taken = np.flatnonzero(np.bincount(chosen, minlength=count)).tolist()
        if len(taken) == 1:
            return [(taken[0], None)]
        return [(number, (chosen == number).nonzero()[0]) for number in taken]


class _Loop:
    """Runs a `while` whose test varies."""

    def __init__(self, setting: _Setting) -> None:
        self.setting = setting
        inner = setting.inner
        assert inner.primitive is while_
        self.first: int = inner.params["captures"]
        #: Which captures and which of the carry have a row for each example.
        test, body, self.varies = batched_loop(
            inner, setting.mapped, setting.symbol, setting.fallback
        )
        turn = DIVERGED(_turn(test, body, self.first))
        self.test = setting.make(test)
        self.turn = setting.make(turn, range(self.first, len(turn.inputs)))
        #: The positions of the carry that a turn writes into.
        self.written = [i for i, v in enumerate(turn.inputs) if v in self.turn.memory.written]
        values = [v for region in inner.regions for op in region.operations for v in op.results]
        self.few = FEW if all([is_scalar(value.type) for value in values]) else 1

    @cached_property
    def alone(self) -> Step:
        """The plan of one example."""
        inner, builder = self.setting.inner, Builder()
        inputs = [builder.input(value.type) for value in inner.operands]
        builder.location = inner._place
        results = builder.emit(while_, tuple(inputs), inner.params, inner.regions)
        return self.setting.make(builder.finish(results))

    def run(self, sizes: dict[str, int], size: int, arrays: list[Any]) -> Sequence[Any]:
        """Return the results, with a row for each example."""
        first, setting = self.first, self.setting
        results = None
        if not size:
            return setting.room(sizes, 0)
        state = [
            spread(x, size) if varies and not mapped else x
            for x, varies, mapped in zip(arrays, self.varies, setting.mapped, strict=True)
        ]
        examples, patience, around = np.arange(size), PATIENCE, setting.with_size(sizes, size)
        (go_on,) = self.test.step(around, *state)
        while True:
            go_on = np.broadcast_to(go_on, examples.shape)
            kept = go_on.nonzero()[0]
            if not len(kept) and results is None:  # all at once: the carry is the result
                return owned(state[first:], self.varies[first:], size, arrays)
            if len(kept) < len(examples):
                results = setting.room(sizes, size) if results is None else results
                done = (~go_on).nonzero()[0]
                for result, i in zip(results, range(first, len(state)), strict=True):
                    result[examples[done]] = state[i][done] if self.varies[i] else state[i]
                if not len(kept):
                    return results
                state = [
                    x.take(kept, 0) if varies else x
                    for x, varies in zip(state, self.varies, strict=True)
                ]
                examples = examples.take(kept)
                around = setting.with_size(sizes, len(kept))
            if len(kept) <= self.few:
                patience -= 1
                if not patience:
                    results = setting.room(sizes, size) if results is None else results
                    self.finish_alone(sizes, state, examples, results)
                    return results
            for i in self.written:
                if not is_own(state[i], [x for k, x in enumerate(state) if k != i] + arrays):
                    state[i] = state[i].copy()
            *state[first:], go_on = self.turn.step(around, *state)

    def finish_alone(
        self, sizes: dict[str, int], state: list[Any], examples: np.ndarray, results: list[Any]
    ) -> None:
        """Run the examples that are left to their ends, one by one."""
        for slot, example in enumerate(examples.tolist()):
            arguments = [
                x[slot] if varies else x for x, varies in zip(state, self.varies, strict=True)
            ]
            for result, output in zip(results, self.alone.step(sizes, *arguments), strict=True):
                result[example] = output


def _turn(test: Graph, body: Graph, captures: int) -> Graph:
    """Return one turn of a loop as a graph: the next carry, and whether to go on from there."""
    builder = Builder()
    inputs = [builder.input(value.type) for value in body.inputs]
    carry = builder.inline(body, inputs)
    return builder.finish([*carry, *builder.inline(test, [*inputs[:captures], *carry])])


def spread(x: Any, size: int) -> np.ndarray:
    """Return a value that is the same for all examples as one of each."""
    return np.broadcast_to(x, (size, *np.shape(x)))


def owned(
    outputs: Sequence[Any], varies: Sequence[bool], size: int, operands: Sequence[Any]
) -> list[np.ndarray]:
    """Return outputs of all examples as memory of their own; those that are that already, as is."""
    rows = [x if is_ else spread(x, size) for x, is_ in zip(outputs, varies, strict=True)]
    return own(rows, operands)
