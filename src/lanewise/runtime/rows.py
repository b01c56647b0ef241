"""Branches and loop bodies that read and write elements of whole arrays, for some of their rows.

A branch that some examples take gets its operands for those examples: rows of larger arrays. Where
it only reads or writes elements of a row, gathering the rows and scattering them back would cost
the size of a row for every element. So the arrays are handed over whole, with the numbers of the
rows: ``x[i]`` of an example becomes ``x[rows, i]``, and ``x[i] = v`` writes there.

`rowwise` rewrites a region over a batch accordingly. An array that it uses in any other way, it
leaves as it was: gathered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim
from lanewise.ir.graph import (
    Builder,
    Graph,
    Operation,
    Signature,
    Value,
    building,
    current_builder,
)
from lanewise.ir.types import array_type, has_dim
from lanewise.ops.control import BRANCHES, CONTROL, scan
from lanewise.ops.creation import constant, iota
from lanewise.ops.facts import is_update
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import reshape, slice_, transpose, update_slice
from lanewise.ops.regions import DIVERGENT, map_
from lanewise.ops.shapes import rank_of, shape_of
from lanewise.passes.divergent import fresh_symbol

#: In place of a mapped axis: the operand is a whole array, an operand at the end has its rows.
ROWS = "rows"
_INTP = np.dtype(np.intp)


@dataclass(frozen=True, slots=True)
class Rowwise:
    """A region that takes some of its inputs whole.

    The graph takes the numbers of the rows of each of those, then the inputs. Of `updated`, by the
    positions of outputs, the outputs are the inputs at those positions, whole and written to.
    """

    graph: Graph
    whole: tuple[int, ...]
    updated: dict[int, int]


def rowwise(
    graph: Graph, size: Dim, candidates: Collection[int], updates: Mapping[int, int]
) -> Rowwise:
    """Return a region over `size` examples that takes inputs whole where it can.

    Parameters
    ----------
    candidates
        The positions of inputs that may be taken whole.
    updates
        By the positions of outputs, the inputs that they may be written to.
    """
    kept = set(candidates)
    while True:
        attempt = _Rewriting(size)
        found = attempt.top(graph, sorted(kept), updates)
        if not attempt.failed:
            return found
        kept -= attempt.failed


def updated_by_map(op: Operation) -> dict[int, int]:
    """Return which results of a divergent map are an operand, perhaps with elements written."""
    (region,) = op.regions
    (inner,) = region.operations
    return {
        region.outputs.index(inner.results[j]): region.inputs.index(inner.operands[k])
        for j, k in updated_operands(inner).items()
        if inner.results[j] in region.outputs
    }


#: What is known of operations on the way: regions are looked into for each of their results.
_Updates = dict[Operation, dict[int, int]]


def updated_operands(op: Operation, known: _Updates | None = None) -> dict[int, int]:
    """Return which results of control flow are an operand, with elements written or as it was.

    Of a branch, it is enough if one region has it so. No operand stands for two results, and none
    that is taken twice.
    """
    known = {} if known is None else known
    if op in known:
        return known[op]
    is_branch = op.primitive in BRANCHES
    count = op.params["carry"] if op.primitive is scan else len(op.results)
    found: dict[int, int] = {}
    for j in range(count):
        regions = op.regions if is_branch else op.regions[-1:]
        sources = [_source(region, region.outputs[j], known) for region in regions]
        places = [source + is_branch for source in sources if source is not None]
        if not is_branch:
            places = [place for place in places if place == op.params["captures"] + j]
        for place in places:
            if place not in found.values() and op.operands.count(op.operands[place]) == 1:
                found[j] = place
                break
    known[op] = found
    return found


def _source(graph: Graph, value: Value, known: _Updates) -> int | None:
    """Return the position of the input that a value is, but for elements written to it."""
    makers = {result: op for op in graph.operations for result in op.results}
    while value not in graph.inputs:
        op = makers[value]
        if is_update(op):
            value = op.operands[0]
        elif op.primitive in CONTROL:
            place = updated_operands(op, known).get(op.results.index(value))
            if place is None:
                return None
            value = op.operands[place]
        else:
            return None
    return graph.inputs.index(value)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A whole array in the rewritten graph: a version or a view of the input `base`."""

    value: Value
    base: int
    is_view: bool = False


@dataclass(slots=True)
class _Scope:
    """A graph on its way: what became of its values."""

    values: dict[Value, Value]
    wholes: dict[Value, _Whole]
    rows: dict[int, Value]
    last: dict[Value, int]
    #: The bases that may be written to, and those that were.
    writable: set[int]
    written: set[int]
    #: Values that number the examples, as a column of so many further axes.
    numbering: set[Value]


class _Rewriting:
    def __init__(self, size: Dim) -> None:
        self.size = size
        #: The inputs that are used in a way that needs their rows.
        self.failed: set[int] = set()

    def top(self, graph: Graph, whole: Sequence[int], updates: Mapping[int, int]) -> Rowwise:
        builder = Builder()
        rows = {i: builder.input(array_type(_INTP, (self.size,))) for i in whole}
        inputs: list[Value | _Whole] = []
        for i, value in enumerate(graph.inputs):
            if i in rows:
                length = fresh_symbol(graph, f"whole{i}_")
                type_ = array_type(value.type.dtype, (length, *value.type.shape[1:]))
                inputs.append(_Whole(builder.input(type_), i))
            else:
                inputs.append(builder.input(value.type))
        with building(builder):
            scope, outputs = self.region(graph, inputs, rows, set(updates.values()))
        updated = {}
        for j, output in enumerate(outputs):
            if isinstance(output, _Whole):
                if output.is_view or updates.get(j) != output.base:
                    self.failed.add(output.base)
                updated[j] = output.base
        self.failed |= scope.written - set(updated.values())
        values = [x.value if isinstance(x, _Whole) else x for x in outputs]
        return Rowwise(builder.finish(values), tuple(whole), updated)

    def region(
        self,
        graph: Graph,
        inputs: Sequence[Value | _Whole],
        rows: dict[int, Value],
        writable: set[int],
    ) -> tuple[_Scope, list[Value | _Whole]]:
        """Record the operations of a graph in the current builder; return what came out."""
        pairs = list(zip(graph.inputs, inputs, strict=True))
        last = {v: i for i, op in enumerate(graph.operations) for v in op.operands}
        last |= dict.fromkeys(graph.outputs, len(graph.operations))
        scope = _Scope(
            values={v: x for v, x in pairs if not isinstance(x, _Whole)},
            wholes={v: x for v, x in pairs if isinstance(x, _Whole)},
            rows=rows, last=last, writable=writable, written=set(), numbering=set(),
        )  # fmt: skip
        for position, op in enumerate(graph.operations):
            self.operation(op, position, scope)
        return scope, [scope.wholes.get(v) or scope.values[v] for v in graph.outputs]

    def operation(self, op: Operation, position: int, scope: _Scope) -> None:
        builder = current_builder()
        builder.location = op._place
        wholes = [value for value in op.operands if value in scope.wholes]
        if not wholes:
            builder.copy(op, scope.values)
            is_column = op.primitive is reshape and op.operands[0] in scope.numbering
            if (op.primitive is iota and op.params["length"] == self.size) or (
                is_column
                and op.params["shape"] == (self.size, *(1,) * (rank_of(op.results[0]) - 1))
            ):
                scope.numbering.add(op.results[0])
            return
        if op.primitive in CONTROL:
            done = self.control(op, position, scope)
        elif op.primitive is map_ and op.params["order"] == DIVERGENT:
            done = self.divergent(op, position, scope)
        else:
            done = wholes == [op.operands[0]] and self.elements(op, position, scope)
        if not done:
            self.failed |= {scope.wholes[value].base for value in wholes}
            for value in wholes:  # the attempt goes on, to find what else fails
                x = scope.wholes[value]
                scope.values[value] = gather(x.value, scope.rows[x.base], axis=0)
            builder.location = op._place
            builder.copy(op, scope.values)

    # --- single operations ------------------------------------------------------------------------

    def elements(self, op: Operation, position: int, scope: _Scope) -> bool:
        """Record an operation on a whole array; return whether that can be."""
        x = scope.wholes[op.operands[0]]
        result = op.results[0]
        rest = [scope.values[value] for value in op.operands[1:]]
        if op.primitive is slice_ and op.params["index"][0] is None:
            viewed = slice_(x.value, index=op.params["index"])
        elif op.primitive is transpose and op.params["axes"][0] == 0:
            viewed = transpose(x.value, axes=op.params["axes"])
        elif op.primitive is reshape and op.params["shape"][:1] == (self.size,):
            if any(isinstance(dim, Dim) for dim in op.params["shape"][1:]):
                return False
            viewed = reshape(x.value, shape=(shape_of(x.value)[0], *op.params["shape"][1:]))
        elif op.primitive is gather:
            indices = self.indices(op.operands[1:], rest, op.params["axis"], x, scope)
            if indices is None:
                return False
            scope.values[result] = gather(x.value, *indices, axis=0)
            return True
        else:
            return self.update(op, position, scope, x, rest)
        scope.wholes[result] = _Whole(viewed, x.base, is_view=True)
        return True

    def update(
        self, op: Operation, position: int, scope: _Scope, x: _Whole, rest: Sequence[Value]
    ) -> bool:
        if op.primitive is scatter:
            indices = self.indices(op.operands[2:], rest[1:], op.params["axis"], x, scope)
            fn = op.params["fn"]
        elif op.primitive is update_slice and op.params["index"][0] is None:
            indices, fn = self.slice_indices(op.params["index"], x, scope), None
        else:
            return False
        if indices is None or x.is_view or not self.may_write(x.base, position, scope):
            return False
        written = scatter(x.value, rest[0], *indices, axis=0, fn=fn)
        scope.wholes[op.results[0]] = _Whole(written, x.base)
        return True

    def may_write(self, base: int, position: int, scope: _Scope) -> bool:
        """Return whether an operation may write: nobody reads a version or a view after it."""
        scope.written.add(base)
        return base in scope.writable and not any(
            scope.last.get(value, -1) > position
            for value, x in scope.wholes.items()
            if x.base == base
        )

    def indices(
        self, old: Sequence[Value], new: Sequence[Value], axis: int, x: _Whole, scope: _Scope
    ) -> list[Value] | None:
        """Return indices into rows as indices into the whole array; None if they are others."""
        if axis == 0 and old[0] in scope.numbering:
            new = new[1:]
            rank = rank_of(old[0]) - 1
        elif axis == 1:
            rank = max(map(rank_of, new))
        else:
            return None
        return [self.column(x.base, rank, scope), *new]

    def column(self, base: int, rank: int, scope: _Scope) -> Value:
        """Return the rows of an array as an index, with so many axes behind."""
        rows = scope.rows[base]
        return reshape(rows, shape=(self.size, *(1,) * rank)) if rank else rows

    def slice_indices(self, index: Any, x: _Whole, scope: _Scope) -> list[Value] | None:
        """Return the elements that a slice names as indices."""
        sliced = max((axis for axis, part in enumerate(index) if part is not None), default=0)
        shape = shape_of(x.value)
        if has_dim((shape[1 : sliced + 1], index)):
            return None
        indices = [self.column(x.base, sliced, scope)]
        for axis in range(1, sliced + 1):
            bounds: Any = index[axis] or (0, shape[axis], 1)
            places = np.arange(*bounds)
            column = places.astype(_INTP).reshape(-1, *(1,) * (sliced - axis))
            type_ = array_type(_INTP, column.shape)
            indices.append(constant(data=column.tobytes(), type=type_))
        return indices

    # --- operations with regions ------------------------------------------------------------------

    def divergent(self, op: Operation, position: int, scope: _Scope) -> bool:
        """Record a divergent map that takes whole arrays and their rows."""
        wholes = [scope.wholes.get(value) for value in op.operands]
        region = op.regions[0]
        inner = region.operations[-1]
        if inner.primitive in BRANCHES:  # what decides is asked of these examples only
            lead = region.inputs.index(inner.operands[0])
            if (x := wholes[lead]) is not None:
                rows = gather(x.value, scope.rows[x.base], axis=0)
                scope.values[op.operands[lead]], wholes[lead] = rows, None
        types = list(op.signature.types)
        results: dict[int, int] = {}
        bases = [x.base for x in wholes if x]
        for j, k in updated_by_map(op).items():
            x = wholes[k]
            if x is not None:
                if x.is_view or bases.count(x.base) > 1:
                    return False
                if not self.may_write(x.base, position, scope):
                    return False
                types[j] = x.value.type
                results[j] = x.base
        dims = [ROWS if x else axis for x, axis in zip(wholes, op.params["in_dims"], strict=True)]
        operands = [
            x.value if x else scope.values[value]
            for x, value in zip(wholes, op.operands, strict=True)
        ]
        operands += [scope.rows[x.base] for x in wholes if x]
        params = {**op.params, "in_dims": tuple(dims)}
        signature = Signature(map_, params, tuple(types), op.regions, is_interned=False)
        made = current_builder().append(signature, tuple(operands))
        for j, (old, new) in enumerate(zip(op.results, made, strict=True)):
            if j in results:
                scope.wholes[old] = _Whole(new, results[j])
            else:
                scope.values[old] = new
        return True

    def control(self, op: Operation, position: int, scope: _Scope) -> bool:
        """Record control flow that all examples go through alike, its regions rewritten."""
        is_loop = op.primitive not in BRANCHES
        first = op.params["captures"] if is_loop else 0
        count = op.params["carry"] if op.primitive is scan else len(op.results)
        taken = op.operands if is_loop else op.operands[1:]
        if not is_loop and op.operands[0] in scope.wholes:
            return False
        wholes = [scope.wholes.get(value) for value in taken]
        bases = [x.base for x in wholes if x]
        if len(set(bases)) < len(bases) or any(x.is_view for x in wholes if x):
            return False
        if is_loop and any(wholes[first + count :]):
            return False
        carried = {x.base for x in (wholes[first : first + count] if is_loop else wholes) if x}
        found: list[tuple[Graph, set[int], dict[int, int]]] = []
        for region in op.regions:
            builder = Builder()
            rows = {base: builder.input(scope.rows[base].type) for base in bases}
            inputs = [
                _Whole(builder.input(x.value.type), x.base) if x else builder.input(value.type)
                for x, value in zip(wholes, region.inputs, strict=True)
            ]
            with building(builder):
                inner, outputs = self.region(region, inputs, rows, scope.writable & carried)
            whole = {j: x.base for j, x in enumerate(outputs) if isinstance(x, _Whole)}
            if any(isinstance(x, _Whole) and x.is_view for x in outputs):
                return False
            values = [x.value if isinstance(x, _Whole) else x for x in outputs]
            found.append((builder.finish(values), inner.written, whole))
        written = set().union(*[row[1] for row in found])
        if is_loop:
            expected = {j: x.base for j, x in enumerate(wholes[first : first + count]) if x}
            if found[-1][2] != expected or any(row[1] or row[2] for row in found[:-1]):
                return False
        else:
            expected = found[0][2]
            if any(row[2] != expected for row in found):
                return False
        if len(set(expected.values())) < len(expected) or not written <= set(expected.values()):
            return False
        if not all(self.may_write(base, position, scope) for base in expected.values()):
            return False
        operands = [x.value if x else scope.values[v] for x, v in zip(wholes, taken, strict=True)]
        operands = [scope.rows[base] for base in bases] + operands
        if not is_loop:
            operands.insert(0, scope.values[op.operands[0]])
        params = op.params
        if is_loop:
            params = {**params, "captures": first + len(bases)}
        regions = tuple([row[0] for row in found])
        made = current_builder().emit(op.primitive, tuple(operands), params, regions)
        for j, (old, new) in enumerate(zip(op.results, made, strict=True)):
            if j in expected:
                scope.wholes[old] = _Whole(new, expected[j])
            else:
                scope.values[old] = new
        return True
