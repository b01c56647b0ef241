"""Derivatives of `while`, whose number of turns only the data tell.

Forward, tangents are carried along. Split, the loop that computes counts its turns and appends what
the linear part needs of each turn to lists; the linear loop takes as many turns and reads them, and
its transpose reads them from the last to the first. Under a map each example has a list of its own,
as long as its own loop was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import DimLike, product
from lanewise.ir.graph import Graph, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import while_
from lanewise.ops.creation import literal
from lanewise.ops.derivatives import OfRegions, is_linear
from lanewise.ops.lists import INTP, list_append, list_arena, list_read
from lanewise.trace.tensor import Tensor, emit
from lanewise.transforms.derivation import Derivation, is_table
from lanewise.transforms.linearize import hoisted, jvp, linearize
from lanewise.transforms.regions import (
    Tangents,
    are_active,
    carried,
    handing_out,
    present,
    spread,
    started,
)
from lanewise.transforms.residuals import in_room, recomputed
from lanewise.transforms.tables import added_up, captured_tables, first_totals
from lanewise.transforms.transpose import transpose


def _inlined(trace: Derivation, graph: Graph, inputs: Sequence[Tensor]) -> list[Any]:
    return [Tensor(trace, v) for v in trace.inline(graph, [x._value for x in inputs])]


def _closed(trace: Derivation, outputs: Sequence[Tensor]) -> Graph:
    return Graph(trace.inputs, trace.operations, [x._value for x in outputs])


def _types(values: Sequence[Any]) -> list[ArrayType]:
    return [x._type if isinstance(x, Tensor) else x.type for x in values]


def _forward(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (test, body), captures = op.regions, op.params["captures"]
    count = len(operands) - captures
    active = carried(body, are_active(tangents), captures, count)
    tangents = started(d, operands, tangents, active)
    wanted = active[captures:]
    both = jvp(body, active, wanted).graph
    fixed, moving = present(tangents[:captures]), present(tangents[captures:])
    given = [*operands[:captures], *fixed, *operands[captures:], *moving]

    def region(graph: Graph, is_test: bool) -> Graph:
        with Derivation() as trace:
            inputs = trace.tensors(_types(given))
            first = captures + len(fixed)
            values = [*inputs[:captures], *inputs[first : first + count]]
            moved = [*inputs[captures:first], *inputs[first + count :]]
            found = _inlined(trace, graph, values if is_test else [*values, *moved])
        return _closed(trace, found)

    results = d.call(
        while_,
        given,
        {"captures": captures + len(fixed)},
        (region(test, True), region(both, False)),
    )
    return results[:count], spread(results[count:], wanted)


class _Saved:
    """What a turn saves: values packed by dtype, an element of a list for each dtype."""

    def __init__(self, types: Sequence[ArrayType]) -> None:
        self.types = types
        self.dtypes = list(dict.fromkeys([type_.dtype for type_ in types]))

    def pack(self, values: Sequence[Any]) -> list[Any]:
        """Return for each dtype the values of it, one behind the other."""
        packed = []
        for dtype in self.dtypes:
            parts = [np.reshape(x, (-1,)) for x in values if x.dtype == dtype]
            packed.append(parts[0] if len(parts) == 1 else np.concatenate(parts))
        return packed

    def sizes(self) -> list[DimLike]:
        """Return for each dtype how many numbers there are of it."""
        return [
            sum(product(t.shape) for t in self.types if t.dtype == dtype) for dtype in self.dtypes
        ]

    def unpack(self, packed: Sequence[Tensor]) -> list[Any]:
        """Return the values of a turn."""
        places: dict[Any, DimLike] = dict.fromkeys(self.dtypes, 0)
        values = []
        for type_ in self.types:
            start = places[type_.dtype]
            places[type_.dtype] = stop = start + product(type_.shape)
            whole = packed[self.dtypes.index(type_.dtype)]
            values.append(np.reshape(whole[start:stop], type_.shape))
        return values


def _split(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (test, body), captures = op.regions, op.params["captures"]
    count = len(operands) - captures
    active = carried(body, are_active(tangents), captures, count)
    tangents = started(d, operands, tangents, active)
    wanted = active[captures:]
    lin, names = hoisted(linearize(body, active, wanted))
    state = range(captures, captures + count)
    lin = in_room(recomputed(lin, lambda number: number not in state), op.place)
    primal, sources = handing_out(lin, state)
    kept = primal.outputs[count:]
    saved = _Saved(_types(kept))
    inner = [emit(list_arena, name=name) for name in names]
    arenas = [emit(list_arena, name=d.new_name("saved")) for _ in saved.dtypes]
    zero = Tensor(d, d.scalar(0, INTP))
    own = [*operands[:captures], *arenas, *inner]
    given = [*own, *operands[captures:], zero, *[zero] * len(arenas)]
    first = len(own)

    def computing(graph: Graph, is_test: bool) -> Graph:
        with Derivation() as trace:
            inputs = trace.tensors(_types(given))
            state = inputs[first : first + count]
            extra = [] if is_test else inputs[captures + len(arenas) : first]
            found = _inlined(trace, graph, [*inputs[:captures], *state, *extra])
            if not is_test:
                turns, *lists = inputs[first + count :]
                lists = [
                    emit(list_append, arena, known, packed)
                    for arena, known, packed in zip(
                        inputs[captures : captures + len(arenas)],
                        lists,
                        saved.pack(found[count:]),
                        strict=True,
                    )
                ]
                found = [*found[:count], turns + 1, *lists]
        return _closed(trace, found)

    regions = (computing(test, True), computing(primal, False))
    results = d.call(while_, given, {"captures": first}, regions)
    turns, *lists = results[count:]
    whole = [*operands, *inner]
    fixed = [whole[source] for source in sources if source is not None]
    moving = present(tangents[:captures])
    start = [zero, *present(tangents[captures:])]
    known = [turns, *arenas, *lists, *fixed]
    given = [*known, *moving, *start]

    with Derivation() as trace:
        inputs = trace.tensors(_types(given))
        under = inputs[len(known) + len(moving)] < inputs[0]
    check = _closed(trace, [under])
    with Derivation() as trace:
        inputs = trace.tensors(_types(given))
        first = len(known) + len(moving)
        i, *state = inputs[first:]
        residuals = _read(inputs[: len(known)], len(arenas), saved, sources, i)
        found = _inlined(trace, lin.linear, [*residuals, *inputs[len(known) : first], *state])
        found = [i + 1, *found]
    body = _closed(trace, found)
    moved = d.call(while_, given, {"captures": len(known) + len(moving)}, (check, body))
    return results[:count], spread(moved[1:], wanted)


def _read(
    known: Sequence[Tensor], arenas: int, saved: _Saved, sources: Sequence[int | None], i: Tensor
) -> list[Any]:
    """Return the residuals of a turn of the linear loop, whose first inputs are `known`."""
    lists = known[1 + arenas : 1 + 2 * arenas]
    packed = [
        emit(list_read, arena, one, i, dtype=dtype, shape=(size,))
        for arena, one, dtype, size in zip(
            known[1 : 1 + arenas], lists, saved.dtypes, saved.sizes(), strict=True
        )
    ]
    rows, fixed = iter(saved.unpack(packed)), iter(known[1 + 2 * arenas :])
    return [next(rows) if source is None else next(fixed) for source in sources]


def _counted(d: Derivation, op: Any, operands: Sequence[Any]) -> tuple[int, int]:
    """Return which inputs of a linear loop are the counter of its turns, and their number.

    The counter is carried, begins at 0 and grows by 1; the number stays. So are the loops that
    `_split` makes; one in a user's own rule of derivatives may be another.
    """
    (test, body), captures = op.regions, op.params["captures"]
    *before, under = test.operations
    places = [test.inputs.index(value) for value in under.operands if value in test.inputs]
    is_counted = not before and under.primitive.ufunc is np.less and len(places) == 2
    if is_counted:
        counter, turns = places
        is_counted = turns < captures <= counter and _number(d, operands[counter]._value) == 0
        if is_counted:
            last = body.outputs[counter - captures]
            steps = [
                o for o in body.operations if last in o.results and o.primitive.ufunc is np.add
            ]
            others = [v for o in steps for v in o.operands if v is not body.inputs[counter]]
            is_counted = [_number(body, v) for v in others] == [1]
    if not is_counted:
        raise UnsupportedError(
            f"a while loop{at(op.place)} in a derivative of one's own is to be run backward, "
            "but its turns are not counted from 0 by 1. Use lw.custom_gradient, or a loop over a "
            "range"
        )
    return places[0], places[1]


def _number(graph: Any, value: Value) -> Any:
    """Return the number that a value of a graph or trace is, None if it is no constant."""
    for op in graph.operations:
        if value in op.results and not value.type.shape and (data := literal(op)) is not None:
            return data[()]
    return None


def _transposed(d: Derivation, op: Any, operands: Sequence[Any], cts: Tangents) -> list[Any]:
    """Run a linear loop backward: one of which `_split` is the maker, whose carry has a counter."""
    (_, body), captures = op.regions, op.params["captures"]
    linear = [is_linear(x) for x in operands]
    counter, turns = _counted(d, op, operands)
    # A carry is linear even where it begins as a zero that depends on nothing.
    linear[captures:] = [n != counter for n in range(captures, len(operands))]
    seeds = [
        d.zeros(value.type) if ct is None else ct
        for n, (ct, value) in enumerate(zip(cts, op.results, strict=True), captures)
        if n != counter
    ]
    tables = captured_tables(operands[:captures])
    back = transpose(body, linear, linear[captures:], d.is_masked, tables)
    # A loop that is left before its first turn uses nothing.
    d.is_masked = True
    fixed = [x for x, moves in zip(operands[:captures], linear, strict=False) if not moves]
    totals = first_totals(d, operands[:captures])
    given = [*fixed, operands[turns], *totals, *seeds]
    first, sums = len(fixed), len(totals)

    with Derivation() as trace:
        inputs = trace.tensors(_types(given))
        going = inputs[first] > 0
    check = _closed(trace, [going])
    with Derivation() as trace:
        inputs = trace.tensors(_types(given))
        i = inputs[first] - 1
        places = iter(inputs[:first])
        known = [i if n == counter else next(places) for n, moves in enumerate(linear) if not moves]
        so_far = inputs[first + 1 : first + 1 + sums]
        tables = [x for x in so_far if is_table(x._type)]
        found = _inlined(trace, back.graph, [*known, *inputs[first + 1 + sums :], *tables])
        added = list(map(added_up, so_far, found[:sums]))
        found = [i, *added, *found[sums:]]
    turn = _closed(trace, found)
    results = d.call(while_, given, {"captures": first}, (check, turn))
    return spread(results[1:], linear)


while_.of_regions = OfRegions(
    lambda op, active: carried(
        op.regions[1], active, op.params["captures"], len(op.operands) - op.params["captures"]
    )[op.params["captures"] :],
    _forward,
    _split,
    _transposed,
)
