"""Derivatives of `map`, `cond`, `switch` and `scan`. (`while` is in `loops`.)

Each has three rules. Forward, it becomes one operation whose regions compute tangents too. Split,
it becomes two: one computes, and hands the residuals out; the other is linear, and takes them in.
And the linear one has a transpose. A residual that is an operand anyway is handed on as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.graph import Graph, Value
from lanewise.ir.types import symbols_in
from lanewise.ops.control import cond, scan, switch
from lanewise.ops.derivatives import OfRegions, is_linear
from lanewise.ops.lists import list_arena
from lanewise.ops.regions import map_
from lanewise.passes.specialize import defined_sizes, symbols_of
from lanewise.trace.tensor import Tensor
from lanewise.transforms.derivation import Derivation, is_table
from lanewise.transforms.linearize import Linearized, hoisted, jvp, linearize, moves
from lanewise.transforms.residuals import in_room, recomputed
from lanewise.transforms.tables import (
    added_up,
    captured_tables,
    first_totals,
    has_begun,
    total_of_examples,
)
from lanewise.transforms.totals import product_of
from lanewise.transforms.transpose import transpose

#: Of the operands of an operation; None is zero.
Tangents = Sequence[Any]


def present(tangents: Tangents) -> list[Any]:
    """Return the tangents that are not zero."""
    return [tangent for tangent in tangents if tangent is not None]


def are_active(tangents: Tangents) -> list[bool]:
    """Return which values have a tangent."""
    return [tangent is not None for tangent in tangents]


def spread(found: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """Return for each place what was found for it, None for those that nothing was wanted for."""
    left = iter(found)
    return [next(left) if is_wanted else None for is_wanted in wanted]


def picked(lin: Linearized, operands: Sequence[Any], kept: Sequence[Any]) -> list[Any]:
    """Return the residuals of a linearized region, given its operands and what it handed out."""
    left = iter(kept)
    return [next(left) if source is None else operands[source] for source in lin.sources]


# --- map ------------------------------------------------------------------------------------------


def _map_forward(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (body,), params = op.regions, op.params
    both = jvp(body, are_active(tangents))
    mapped = params["out_mapped"]
    results = d.call(
        map_,
        [*operands, *present(tangents)],
        {
            **params,
            "in_dims": (*params["in_dims"], *_axes(params["in_dims"], tangents)),
            "out_mapped": (*mapped, *_moved(mapped, both.moved)),
            "columns": (),
        },
        (both.graph,),
    )
    count = len(body.outputs)
    return results[:count], spread(results[count:], both.moved)


def _moved(values: Sequence[Any], moved: Sequence[bool]) -> list[Any]:
    return [value for value, is_moved in zip(values, moved, strict=True) if is_moved]


def _axes(in_dims: Sequence[int | None], tangents: Tangents) -> list[int | None]:
    return [axis for axis, t in zip(in_dims, tangents, strict=True) if t is not None]


def _map_split(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (body,), params = op.regions, op.params
    lin = in_room(recomputed(linearize(body, are_active(tangents)), lambda number: True), op.place)
    count, in_dims = len(body.outputs), params["in_dims"]
    varies = _varying(lin.primal, in_dims)
    kept = [value in varies for value in lin.primal.outputs[count:]]
    results = d.call(
        map_,
        operands,
        {**params, "out_mapped": (*params["out_mapped"], *kept), "columns": ()},
        (lin.primal,),
    )
    residuals = picked(lin, operands, results[count:])
    axes = picked(lin, in_dims, [0 if is_mapped else None for is_mapped in kept])
    moved = d.call(
        map_,
        [*residuals, *present(tangents)],
        {
            **params,
            "in_dims": (*axes, *_axes(in_dims, tangents)),
            # One for each example, also of a result that is the same for all: the first is it.
            "out_mapped": (True,) * len(lin.linear.outputs),
            "columns": (),
        },
        (lin.linear,),
    )
    found = spread(moved, lin.moved)
    for number, is_mapped in enumerate(params["out_mapped"]):
        if not is_mapped and found[number] is not None:
            found[number] = found[number][0]
    return results[:count], found


def _varying(graph: Graph, in_dims: Sequence[int | None]) -> set[Value]:
    """Return the values that may differ from example to example."""
    found = {v for v, axis in zip(graph.inputs, in_dims, strict=True) if axis is not None}
    sizes = graph.defines
    for op in graph.operations:
        is_sized = bool(sizes) and not sizes.isdisjoint(symbols_of(op))
        if is_sized or not found.isdisjoint(op.operands) or op.has_effect:
            found.update(op.results)
    return found


def _map_transposed(d: Derivation, op: Any, operands: Sequence[Any], cts: Tangents) -> list[Any]:
    (body,), params = op.regions, op.params
    assert all(params["out_mapped"])
    linear = [is_linear(x) for x in operands]
    # A table of one's own goes on; to one that all examples read, the sum of theirs is added.
    begun = [
        has_begun(x) and axis is not None
        for x, axis in zip(operands, params["in_dims"], strict=True)
    ]
    back = transpose(body, linear, are_active(cts), d.is_masked, begun)
    d.is_masked |= back.is_masked
    given = [x for x in operands if not is_linear(x)]
    axes = [axis for axis, lin in zip(params["in_dims"], linear, strict=True) if not lin]
    given += present(cts)
    given += [x.so_far for x, is_begun in zip(operands, begun, strict=True) if is_begun]
    axes += [0] * (len(given) - len(axes))
    # What all examples share gets the sum of its parts: of products, one product of them all.
    graph = back.graph
    shared = [axis is None for axis, lin in zip(params["in_dims"], linear, strict=True) if lin]
    products = [
        product_of(graph.operations, value) if is_shared else None
        for value, is_shared in zip(graph.outputs, shared, strict=True)
    ]
    there = {
        value: np.moveaxis(x, axis, 0)
        for value, x, axis in zip(graph.inputs, given, axes, strict=True)
        if axis is not None
    }
    varies = _varying(graph, axes)
    products = [p if p and varies.issuperset(p.factors) else None for p in products]
    kept = [value for value, p in zip(graph.outputs, products, strict=True) if p is None]
    factors = [v for p in products if p is not None for v in p.factors if v not in there]
    outputs = [*kept, *dict.fromkeys(factors)]
    results = d.call(
        map_,
        given,
        {**params, "in_dims": tuple(axes), "out_mapped": (True,) * len(outputs), "columns": ()},
        (Graph(graph.inputs, graph.operations, outputs),),
    )
    there.update(zip(dict.fromkeys(factors), results[len(kept) :], strict=True))
    rows = iter(results[: len(kept)])
    parts = [next(rows) if p is None else p.total(*[there[v] for v in p.factors]) for p in products]
    found = spread(parts, linear)
    for number, (axis, is_product) in enumerate(
        zip(params["in_dims"], spread(products, linear), strict=True)
    ):
        ct = found[number]
        if ct is None or is_product:
            continue
        if axis is not None:
            found[number] = np.moveaxis(ct, 0, axis) if axis else ct
        elif is_table(operands[number].type):
            found[number] = total_of_examples(d, body, number, operands, ct)
        else:
            found[number] = ct.sum(axis=0)
    return found


# --- cond and switch ------------------------------------------------------------------------------


def _branches_forward(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    active = are_active(tangents[1:])
    wanted = _moved_by_any(op.regions, active)
    regions = tuple([jvp(region, active, wanted).graph for region in op.regions])
    results = d.call(op.primitive, [*operands, *present(tangents)], op.params, regions)
    count = len(op.results)
    return results[:count], spread(results[count:], wanted)


def _moved_by_any(regions: Sequence[Graph], active: Sequence[bool]) -> list[bool]:
    """Return which results have a tangent in any of several regions."""
    each = zip(*[moves(region, active) for region in regions], strict=True)
    return [any(column) for column in each]


def _branches_split(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    active = are_active(tangents[1:])
    wanted = _moved_by_any(op.regions, active)
    each = [hoisted(in_room(linearize(region, active, wanted), op.place)) for region in op.regions]
    lins, names = [lin for lin, _ in each], [own for _, own in each]
    arenas = [[d.emit(list_arena, name=name) for name in own] for own in names]
    count = len(op.results)
    kept = [lin.primal.outputs[count:] for lin in lins]
    primals = tuple([_with_zeros(lins, arenas, count, kept, n) for n in range(len(lins))])
    shared = [arena for own in arenas for arena in own]
    results = d.call(op.primitive, [*operands, *shared], op.params, primals)
    # Each branch finds its own residuals among those of all, and leaves the others.
    found, first = [], count
    for lin, own, given in zip(lins, kept, arenas, strict=True):
        inputs = [*operands[1:], *given]
        found.append(picked(lin, inputs, results[first : first + len(own)]))
        first += len(own)
    shared = [x for own in found for x in own]
    linears = tuple([_taking(lins, number) for number in range(len(lins))])
    moved = d.call(op.primitive, [operands[0], *shared, *present(tangents)], op.params, linears)
    return results[:count], spread(moved, wanted)


def _with_zeros(
    lins: Sequence[Linearized],
    arenas: Sequence[Sequence[Tensor]],
    count: int,
    kept: Sequence[Sequence[Value]],
    own: int,
) -> Graph:
    """Return a branch that gives the residuals of all branches, zeros for those of the others.

    It takes the arenas of all branches.
    """
    graph = lins[own].primal
    with Derivation() as trace:
        inputs = trace.tensors(
            [v.type for v in graph.inputs[: len(graph.inputs) - len(arenas[own])]]
        )
        given = [trace.tensors([x._type for x in each]) for each in arenas]
        outputs = trace.inline(graph, [x._value for x in (*inputs, *given[own])])
        residuals = []
        for number, values in enumerate(kept):
            residuals += (
                outputs[count:] if number == own else [trace.zeros(v.type)._value for v in values]
            )
    return Graph(trace.inputs, trace.operations, [*outputs[:count], *residuals])


def _taking(lins: Sequence[Linearized], own: int) -> Graph:
    """Return a linear branch that takes the residuals of all branches."""
    graph = lins[own].linear
    with Derivation() as trace:
        each = [
            trace.tensors([v.type for v in lin.linear.inputs[: len(lin.sources)]]) for lin in lins
        ]
        tangents = trace.tensors([v.type for v in graph.inputs[len(lins[own].sources) :]])
        outputs = trace.inline(graph, [x._value for x in (*each[own], *tangents)])
    return Graph(trace.inputs, trace.operations, outputs)


def _branches_transposed(
    d: Derivation, op: Any, operands: Sequence[Any], cts: Tangents
) -> list[Any]:
    linear = [is_linear(x) for x in operands[1:]]
    begun = [has_begun(x) for x in operands[1:]]
    backs = [
        transpose(region, linear, are_active(cts), d.is_masked, begun) for region in op.regions
    ]
    given = [x for x in operands[1:] if not is_linear(x)]
    so_far = [x.so_far for x in operands[1:] if has_begun(x)]
    # What the branch that is taken does not use gets zeros.
    d.is_masked = True
    graphs = tuple([back.graph for back in backs])
    passed = [operands[0], *given, *present(cts), *so_far]
    results = d.call(op.primitive, passed, op.params, graphs)
    return [None, *spread(results, linear)]


# --- scan -----------------------------------------------------------------------------------------


def _parts(params: dict[str, Any], values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return what belongs to the captures, to the carry and to the xs of a scan."""
    first, last = params["captures"], params["captures"] + params["carry"]
    return list(values[:first]), list(values[first:last]), list(values[last:])


def carried(body: Graph, active: Sequence[bool], first: int, count: int) -> list[bool]:
    """Return which inputs of a loop's body move, once the carry has gone round and round.

    The carry is `count` inputs from `first` on, and the first results.
    """
    active = list(active)
    while True:
        found = moves(body, active)[:count]
        grown = [a or b for a, b in zip(active[first : first + count], found, strict=True)]
        if grown == active[first : first + count]:
            return active
        active[first : first + count] = grown


def started(
    d: Derivation, operands: Sequence[Tensor], tangents: Tangents, active: Sequence[bool]
) -> list[Any]:
    """Return tangents, zeros for what begins to move only as a loop goes on."""
    return [
        d.zeros(x) if is_active and t is None else t
        for x, t, is_active in zip(operands, tangents, active, strict=True)
    ]


def _scan_forward(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (body,), params = op.regions, op.params
    count = params["carry"]
    active = carried(body, are_active(tangents), params["captures"], count)
    tangents = started(d, operands, tangents, active)
    wanted = [*_parts(params, active)[1], *moves(body, active)[count:]]
    both = jvp(body, active, wanted).graph
    # The scan takes and gives the tangents of each part behind that part itself.
    takes = [
        [*values, *moved]
        for values, moved in zip(
            _parts(params, both.inputs[: len(operands)]),
            _parts(params, spread(both.inputs[len(operands) :], active)),
            strict=True,
        )
    ]
    takes = [[v for v in part if v is not None] for part in takes]
    given = [
        [*values, *present(moved)]
        for values, moved in zip(_parts(params, operands), _parts(params, tangents), strict=True)
    ]
    results, moved = both.outputs[: len(wanted)], spread(both.outputs[len(wanted) :], wanted)
    state = [*results[:count], *present(moved[:count])]
    rows = [*results[count:], *present(moved[count:])]
    found = d.call(
        scan,
        [x for part in given for x in part],
        {**params, "captures": len(given[0]), "carry": len(given[1])},
        (Graph([v for part in takes for v in part], both.operations, [*state, *rows]),),
    )
    state, rows = found[: len(state)], found[len(state) :]
    return (
        [*state[:count], *rows[: len(results) - count]],
        spread([*state[count:], *rows[len(results) - count :]], wanted),
    )


def _scan_split(
    d: Derivation, op: Any, operands: Sequence[Tensor], tangents: Tangents
) -> tuple[list[Any], list[Any]]:
    (body,), params = op.regions, op.params
    captures, count = params["captures"], params["carry"]
    active = carried(body, are_active(tangents), captures, count)
    tangents = started(d, operands, tangents, active)
    wanted = [*_parts(params, active)[1], *moves(body, active)[count:]]
    lin, names = hoisted(linearize(body, active, wanted))
    arenas = [d.emit(list_arena, name=name) for name in names]
    state = range(captures, captures + count)
    lin = in_room(recomputed(lin, lambda number: number not in state), op.place)
    # A residual that is a carry was another number in each turn: it is handed out as others are.
    primal, sources = handing_out(lin, state)
    taken = [*primal.inputs[len(operands) :], *primal.inputs[: len(operands)]]
    results = d.call(
        scan,
        [*arenas, *operands],
        {**params, "captures": captures + len(arenas)},
        (Graph(taken, primal.operations, primal.outputs),),
    )
    ys = iter(results[len(wanted) :])
    fixed, rows = [], []
    for number, source in enumerate(sources):
        if source is not None and source >= len(operands):
            fixed.append((number, arenas[source - len(operands)]))
        elif source is not None and source < captures:
            fixed.append((number, operands[source]))
        else:
            rows.append((number, next(ys) if source is None else operands[source]))
    inputs = lin.linear.inputs
    moving = _parts(params, spread(inputs[len(sources) :], active))
    body = Graph(
        [
            *[inputs[number] for number, _ in fixed],
            *present(moving[0]),
            *present(moving[1]),
            *[inputs[number] for number, _ in rows],
            *present(moving[2]),
        ],
        lin.linear.operations,
        lin.linear.outputs,
    )
    given = _parts(params, tangents)
    found = d.call(
        scan,
        [
            *[x for _, x in fixed],
            *present(given[0]),
            *present(given[1]),
            *[x for _, x in rows],
            *present(given[2]),
        ],
        {
            **params,
            "captures": len(fixed) + len(present(given[0])),
            "carry": len(present(given[1])),
        },
        (body,),
    )
    return results[: len(wanted)], spread(found, wanted)


def handing_out(lin: Linearized, inputs: range) -> tuple[Graph, list[int | None]]:
    """Return a primal part that also gives residuals that are certain inputs, and the sources."""
    extra = [source for source in lin.sources if source in inputs]
    if not extra:
        return lin.primal, list(lin.sources)
    count = len(lin.primal.outputs) - lin.sources.count(None)
    kept = iter(lin.primal.outputs[count:])
    outputs, sources = list(lin.primal.outputs[:count]), list(lin.sources)
    for number, source in enumerate(sources):
        if source is None:
            outputs.append(next(kept))
        elif source in inputs:
            outputs.append(lin.primal.inputs[source])
            sources[number] = None
    return Graph(lin.primal.inputs, lin.primal.operations, outputs), sources


def _scan_transposed(d: Derivation, op: Any, operands: Sequence[Any], cts: Tangents) -> list[Any]:
    (body,), params = op.regions, op.params
    captures, count = params["captures"], params["carry"]
    linear = [is_linear(x) for x in operands]
    # A carry is linear even where it begins as a zero that depends on nothing.
    linear[captures : captures + count] = [True] * count
    cts = [
        d.zeros(value.type) if ct is None and number < count else ct
        for number, (ct, value) in enumerate(zip(cts, op.results, strict=True))
    ]
    tables = captured_tables(operands[:captures])
    back = transpose(body, linear, are_active(cts), d.is_masked, tables)
    d.is_masked |= back.is_masked
    fixed = [x for x in operands[:captures] if not is_linear(x)]
    rows = [x for x in operands[captures + count :] if not is_linear(x)]
    totals = first_totals(d, operands[:captures])
    sums, seeds = len(totals), list(present(cts[:count]))
    with Derivation() as trace:
        types = [v.type for v in back.graph.inputs]
        f, r = len(fixed), len(rows)
        in_fixed = trace.tensors(types[:f])
        in_totals = trace.tensors([x._type for x in totals])
        in_carry = trace.tensors(types[f + r : f + r + count])
        in_rows = trace.tensors(types[f : f + r])
        in_cts = trace.tensors(types[f + r + count : len(types) - sum(tables)])
        so_far = [x for x in in_totals if is_table(x._type)]
        taken = [*in_fixed, *in_rows, *in_carry, *in_cts, *so_far]
        found = [
            Tensor(trace, value) for value in trace.inline(back.graph, [x._value for x in taken])
        ]
        # What is added up over the turns: products of rows are left to one product of them all.
        products = [product_of(trace.operations, x._value) for x in found[:sums]]
        there = {x._value: row for x, row in zip(in_rows, rows, strict=True)}
        same = {x._value for x in in_fixed}
        names = defined_sizes(body)
        products = [
            p
            if p
            and same.isdisjoint(p.factors)
            and not any([names & symbols_in(v.type) for v in p.factors])
            else None
            for p in products
        ]
        factors = [v for p in products if p is not None for v in p.factors if v not in there]
        given = [n for n, p in enumerate(products) if p is None]
        added = [added_up(in_totals[n], found[n]) for n in given]
        outputs = [*[x._value for x in (*added, *found[sums:])], *dict.fromkeys(factors)]
        inputs = [*in_fixed, *[in_totals[n] for n in given], *in_carry, *in_rows, *in_cts]
        turn = Graph([x._value for x in inputs], trace.operations, outputs)
    results = d.call(
        scan,
        [*fixed, *[totals[n] for n in given], *seeds, *rows, *present(cts[count:])],
        {
            **params,
            "captures": len(fixed),
            "carry": len(given) + count,
            "reverse": not params["reverse"],
        },
        (turn,),
    )
    sums = iter(results[: len(given)])
    left = len(results) - len(set(factors))
    there.update(zip(dict.fromkeys(factors), results[left:], strict=True))
    parts = [next(sums) if p is None else p.total(*[there[v] for v in p.factors]) for p in products]
    return spread([*parts, *results[len(given) : left]], linear)


def _scan_moves(op: Any, active: Sequence[bool]) -> list[bool]:
    (body,), count = op.regions, op.params["carry"]
    active = carried(body, active, op.params["captures"], count)
    return [*_parts(op.params, active)[1], *moves(body, active)[count:]]


cond.of_regions = switch.of_regions = OfRegions(
    moves=lambda op, active: _moved_by_any(op.regions, active[1:]),
    forward=_branches_forward,
    split=_branches_split,
    transposed=_branches_transposed,
)
scan.of_regions = OfRegions(_scan_moves, _scan_forward, _scan_split, _scan_transposed)
map_.of_regions = OfRegions(
    lambda op, active: moves(op.regions[0], active), _map_forward, _map_split, _map_transposed
)
