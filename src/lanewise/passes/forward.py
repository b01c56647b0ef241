"""Reads of what was just written, and choices that are made twice.

In-place code on views is recorded as NumPy runs it: ``a[i] *= 2`` writes a row, takes it out again
and writes it once more. Here what is read at a place is what was written there, what is overwritten
is not written, and under a mask only what the mask lets through is computed. A graph gives the same
results and the same errors: where the check of an index would be lost, it is left as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ops.creation import literal
from lanewise.ops.elementwise import where
from lanewise.ops.facts import is_elementwise, may_fail
from lanewise.ops.movement import reshape
from lanewise.ops.paths import integers_of, step_shape, update_view
from lanewise.passes.paths import Ends, Masks, View, target_of, view_through
from lanewise.passes.prune import substituted
from lanewise.passes.simplify import eliminate_dead, merge_repeated


def forwarded(graph: Graph) -> Graph:
    """Return the graph without reads of what was just written and without what is overwritten.

    The graph, of which all outputs are needed, is one that `direct` gave.
    """
    graph = merge_repeated(graph.changed(lambda op: op.map_regions(forwarded)))
    found = merge_repeated(eliminate_dead(_read(graph)))
    found = eliminate_dead(_under_masks(eliminate_dead(_overwritten(found))))
    return found if _checked(graph) <= _checked(found) else graph


def _read(graph: Graph) -> Graph:
    """Return the graph with what was written where that is read; and of reshapes only the last."""
    views: dict[Value, View] = {}
    makers: dict[Value, Operation] = {}

    def rule(op: Operation) -> Operation | Sequence[Value]:
        if op.primitive is reshape and (made := makers.get(op.operands[0])) is not None:
            op = op.with_operands(made.operands) if made.primitive is reshape else op
        view = view_through(op, views)
        if view is not None:
            written = makers.get(view[0])
            if op.primitive is reshape and op.operands[0].type is op.results[0].type:
                return op.operands
            if written is not None and target_of(written) == view[1:]:
                return written.operands[1:2]
            views[op.results[0]] = view
        makers.update(dict.fromkeys(op.results, op))
        return op

    return graph.changed(rule)


def _is_same_place(before: Operation, op: Operation) -> bool:
    """Whether an operation writes where another one did."""
    is_write = before.primitive is op.primitive is update_view and before.params == op.params
    return is_write and before.operands[2:] == op.operands[2:]


def _overwritten(graph: Graph) -> Graph:
    """Return the graph without writes of which the next write leaves nothing."""
    uses = Counter([v for op in graph.operations for v in op.operands])
    uses.update(graph.outputs)
    makers: dict[Value, Operation] = {}

    def rule(op: Operation) -> Operation:
        before = makers.get(op.operands[0]) if op.primitive is update_view else None
        if before is not None and _is_same_place(before, op) and uses[op.operands[0]] == 1:
            op = op.with_operands((before.operands[0], *op.operands[1:]))
        makers.update(dict.fromkeys(op.results, op))
        return op

    return graph.changed(rule)


def _under_masks(graph: Graph) -> Graph:
    """Return the graph without choices by masks, where only what a mask lets through matters.

    Of ``where(m, f(where(m, x, e)), y)`` with an elementwise f that is ``where(m, f(x), y)``: what
    stands elsewhere, the copies of elements that keep padding from giving warnings, is not used.
    """
    masks = Masks(graph)
    everywhere = object()
    wanted: dict[Value, Hashable] = dict.fromkeys(graph.outputs, everywhere)
    renamed: dict[Value, Value] = {}

    def want(value: Value, mask: Hashable) -> None:
        wanted[value] = mask if wanted.get(value, mask) == mask else everywhere

    for op in reversed(graph.operations):
        result = op.results[0] if len(op.results) == 1 else None
        mask = everywhere if result is None else wanted.get(result, everywhere)
        if op.primitive is where and result is not None:
            condition, x, y = op.operands
            own = masks.on(condition, result) or condition
            is_whole = x.type is result.type
            if is_whole and mask == own:
                renamed[result] = x
                want(x, mask)
                continue
            want(condition, everywhere)
            is_alike = isinstance(own, Ends) or condition.type.shape == result.type.shape
            want(x, own if is_whole and is_alike else everywhere)
            want(y, everywhere)
            continue
        if op.primitive is update_view and op.params["span"] is not None:
            target, values, low, high, *places = op.operands
            size = values.type.shape[op.params["span"]]
            want(values, masks.between(op.params["span"], size, low, high))
            for value in (target, low, high, *places):
                want(value, everywhere)
            continue
        passes = mask is not everywhere and is_elementwise(op) and not may_fail(op)
        for value in op.operands:
            is_whole = result is not None and value.type.shape == result.type.shape
            want(value, mask if passes and is_whole else everywhere)
    kept = [op for op in graph.operations if len(op.results) != 1 or op.results[0] not in renamed]
    return substituted(Graph(graph.inputs, kept, graph.outputs), renamed)


def _checked(graph: Graph) -> set[tuple[Value, DimLike]]:
    """Return which indices are checked, and for which sizes, outside of regions."""
    known: dict[Value, int] = {}
    found: set[tuple[Value, DimLike]] = set()

    def check(index: Value, size: DimLike) -> None:
        is_known = isinstance(size, int) and 0 <= known.get(index, -1) < size
        if not index.type.shape and not is_known:
            found.add((index, size))

    for op in graph.operations:
        data = literal(op)
        if data is not None and not data.ndim and data.dtype.kind in "iu":
            known[op.results[0]] = int(data)
        elif op.primitive.indices is not None:
            sizes = op.operands[0].type.shape[op.params["axis"] :]
            indices = op.operands[op.primitive.indices :]
            for index, size in zip(indices, sizes, strict=False):
                check(index, size)
        elif op.primitive is update_view:
            integers = iter(op.operands[2 + 2 * (op.params["span"] is not None) :])
            shape = op.operands[0].type.shape
            for step in op.params["path"]:
                taken = [next(integers) for _ in range(integers_of(step))]
                if step[0] == "place":
                    for index, size in zip(taken, shape[step[1] :], strict=False):
                        check(index, size)
                shape = step_shape(shape, step)
    return found
