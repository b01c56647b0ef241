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

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value, current_builder, recorded
from lanewise.ops.control import BRANCHES, cond, while_
from lanewise.passes.pipeline import DIVERGED, batched_loop, batched_region, fresh_symbol
from lanewise.runtime.binding import bind
from lanewise.runtime.expressions import is_scalar
from lanewise.runtime.owning import is_own, own
from lanewise.trace.limits import check_time

#: After so many turns of a few examples together, each of them goes on alone.
PATIENCE = 16
#: So few examples are faster one by one, if all that they compute with is scalars.
FEW = 8
#: Runs an operation of control flow, given the sizes of dimensions, the number of examples, and the
#: operands; it returns the results, with a row for each example.
Run = Callable[[dict[str, int], int, list[Any]], Sequence[Any]]
#: Makes the plan of a graph, which takes the sizes of symbolic dimensions before its arguments, and
#: may write to those at the positions that come behind the graph.
Make = Callable[..., Any]


def divergent(op: Operation, make: Make) -> Callable[..., Sequence[Any]]:
    """Return the runner of a divergent map; it takes the sizes of dimensions, then the operands."""
    (region,) = op.regions
    (inner,) = region.operations
    places = [region.inputs.index(value) for value in inner.operands]
    outputs = [inner.results.index(value) for value in region.outputs]
    #: Which operands have a row for each example; the others are the same for all.
    mapped = [op.params["in_dims"][place] is not None for place in places]
    runner = _branches if inner.primitive in BRANCHES else _loop
    run_inner = runner(inner, mapped, fresh_symbol(region), op.params["fallback"], make)

    def run(sizes: dict[str, int], *operands: Any) -> Sequence[Any]:
        size = evaluate(op.params["size"], sizes)
        results = run_inner(sizes, size, [operands[place] for place in places])
        return [results[j] for j in outputs]

    return run


def _room(op: Operation, sizes: dict[str, int], size: int) -> list[np.ndarray]:
    """Return room for the results of an operation for so many examples."""
    types = [value.type for value in op.results]
    return [np.empty((size, *bind(t.shape, sizes)), t.dtype) for t in types]


class _Branch(NamedTuple):
    """A branch over a number of examples: the operands that it takes, and the results that vary."""

    plan: Any
    takes: Sequence[int]
    out_mapped: Sequence[bool]


def _branches(
    op: Operation, mapped: Sequence[bool], symbol: Dim, fallback: bool, make: Make
) -> Run:
    """Return what runs a `cond` or `switch` whose predicate varies."""

    @cache
    def branch(number: int) -> _Branch:
        """Return a branch, made when it is first taken."""
        graph, out_mapped = batched_region(op.regions[number], mapped[1:], symbol, fallback)
        used = {v for inner in graph.operations for v in inner.operands}.union(graph.outputs)
        takes = [i for i, value in enumerate(graph.inputs) if value in used]
        graph = Graph([graph.inputs[i] for i in takes], graph.operations, graph.outputs)
        return _Branch(make(graph), [1 + i for i in takes], out_mapped)  # behind the predicate

    def run(sizes: dict[str, int], size: int, arrays: list[Any]) -> Sequence[Any]:
        results = None
        for number, chosen in _groups(op, arrays[0]):
            plan, takes, out_mapped = branch(number)
            taken = [
                arrays[i].take(chosen, 0) if mapped[i] and chosen is not None else arrays[i]
                for i in takes
            ]
            count = size if chosen is None else len(chosen)
            outputs = plan.step({**sizes, str(symbol): count}, *taken)
            if chosen is None:
                return owned(outputs, out_mapped, size, taken)
            results = results or _room(op, sizes, size)
            for result, output in zip(results, outputs, strict=True):
                result[chosen] = output
        return results or _room(op, sizes, size)

    return run


def _groups(op: Operation, chosen: np.ndarray) -> list[tuple[int, np.ndarray | None]]:
    """Return each branch that is taken, and the examples that take it; None for all."""
    if not len(chosen):
        return []
    count = len(op.regions)
    if op.primitive is cond:
        chosen = np.where(chosen, 0, 1)
    elif np.any(chosen >= count) or np.any(chosen < -count):
        raise IndexError("list index out of range")
    else:
        chosen = np.where(chosen < 0, chosen + count, chosen).astype(np.intp)
    taken = np.flatnonzero(np.bincount(chosen, minlength=count)).tolist()
    if len(taken) == 1:
        return [(taken[0], None)]
    return [(number, (chosen == number).nonzero()[0]) for number in taken]


def _loop(op: Operation, mapped: Sequence[bool], symbol: Dim, fallback: bool, make: Make) -> Run:
    """Return what runs a `while` whose test varies."""
    first: int = op.params["captures"]
    # Which captures and which of the carry have a row for each example.
    test, body, varying = batched_loop(op, mapped, symbol, fallback)
    turn = DIVERGED(_turn(test, body, first))
    go_on_from = make(test)
    turned = make(turn, range(first, len(turn.inputs)))
    #: The positions of the carry that a turn writes into.
    written = [i for i, value in enumerate(turn.inputs) if value in turned.memory.written]
    values = [value for inner in op.regions for made in inner.operations for value in made.results]
    few = FEW if all([is_scalar(value.type) for value in values]) else 1

    @cache
    def alone() -> Any:
        """Return the plan of one example."""

        def loop(*inputs: Value) -> Sequence[Value]:
            return current_builder().emit(while_, inputs, op.params, op.regions)

        return make(recorded([value.type for value in op.operands], loop, op.place))

    def run(sizes: dict[str, int], size: int, arrays: list[Any]) -> Sequence[Any]:
        if not size:
            return _room(op, sizes, 0)
        state = [
            spread(x, size) if varies and not is_mapped else x
            for x, varies, is_mapped in zip(arrays, varying, mapped, strict=True)
        ]
        results = None
        examples, patience, around = np.arange(size), PATIENCE, {**sizes, str(symbol): size}
        (go_on,) = go_on_from.step(around, *state)
        while True:
            check_time()
            go_on = np.broadcast_to(go_on, examples.shape)
            kept = go_on.nonzero()[0]
            if not len(kept) and results is None:  # all at once: the carry is the result
                return owned(state[first:], varying[first:], size, arrays)
            if len(kept) < len(examples):
                results = results or _room(op, sizes, size)
                done = (~go_on).nonzero()[0]
                for result, i in zip(results, range(first, len(state)), strict=True):
                    result[examples[done]] = state[i][done] if varying[i] else state[i]
                if not len(kept):
                    return results
                state = [
                    x.take(kept, 0) if varies else x
                    for x, varies in zip(state, varying, strict=True)
                ]
                examples = examples.take(kept)
                around = {**sizes, str(symbol): len(kept)}
            if len(kept) <= few:
                patience -= 1
                if not patience:
                    results = results or _room(op, sizes, size)
                    for slot, example in enumerate(examples.tolist()):
                        arguments = [
                            x[slot] if varies else x
                            for x, varies in zip(state, varying, strict=True)
                        ]
                        outputs = alone().step(sizes, *arguments)
                        for result, output in zip(results, outputs, strict=True):
                            result[example] = output
                    return results
            for i in written:
                if not is_own(state[i], [x for k, x in enumerate(state) if k != i] + arrays):
                    state[i] = state[i].copy()
            *state[first:], go_on = turned.step(around, *state)

    return run


def _turn(test: Graph, body: Graph, captures: int) -> Graph:
    """Return one turn of a loop as a graph: the next carry, and whether to go on from there."""

    def rule(*inputs: Value) -> list[Value]:
        carry = current_builder().inline(body, inputs)
        return [*carry, *current_builder().inline(test, [*inputs[:captures], *carry])]

    return recorded([value.type for value in body.inputs], rule)


def spread(x: Any, size: int) -> np.ndarray:
    """Return a value that is the same for all examples as one of each."""
    return np.broadcast_to(x, (size, *np.shape(x)))


def owned(
    outputs: Sequence[Any], varies: Sequence[bool], size: int, operands: Sequence[Any]
) -> list[np.ndarray]:
    """Return outputs of all examples as memory of their own; those that are that already, as is."""
    rows = [x if is_ else spread(x, size) for x, is_ in zip(outputs, varies, strict=True)]
    return own(rows, operands)
