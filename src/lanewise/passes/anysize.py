"""Elementwise work on arrays of unknown size, as maps that kernels run at any size.

A kernel takes the number of its examples when it is called; every other size is written into it.
So operations on elements of arrays of one shape, whatever that will be, become a map over these
elements: ``np.exp(x) * y`` of two arrays of n times m numbers is a map of n m examples. A total
of what they give is taken over blocks of known size, and over the rest by NumPy. What moves
elements stays as it is, as NumPy answers it by a view or a copy, and so do operations for which
NumPy calls a library. A graph in which anything else is done to arrays of unknown size has no such
form; kernels for it are made for the sizes that come (`lanewise.passes.specialize`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lanewise.ir.dims import Dim, DimLike, Shape, product
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.creation import constant
from lanewise.ops.facts import Kind, is_elementwise, is_moved
from lanewise.ops.movement import cast, concatenate, reshape, slice_
from lanewise.ops.reduction import reduce
from lanewise.ops.regions import PARALLEL, map_
from lanewise.ops.shapes import shape_of
from lanewise.ops.ufuncs import row_of
from lanewise.passes.specialize import needs_sizes

#: Totals are taken over blocks of so many elements.
BLOCK = 1 << 10


def at_any_size(graph: Graph, *, compiled: bool = False) -> Graph:
    """Return a graph that runs at any size with its elementwise work in maps; as it is if none is.

    With `compiled`, nothing may be left to NumPy but what moves elements.
    """
    split = _Split(graph)
    if not split.groups or not all([split.may_stay(op, compiled) for op in graph.operations]):
        return graph
    if split.has_gaps():
        return graph
    builder = Builder()
    values = {value: builder.input(value.type) for value in graph.inputs}
    recorder = _Recorder(builder, values, split.makers)
    with building(builder):
        for step in split.steps():
            if isinstance(step, _Group):
                recorder.record(step)
            else:
                builder.copy(step, values)
    return builder.finish([values[value] for value in graph.outputs])


def _is_unknown(value: Value) -> bool:
    type_ = value.type
    return isinstance(type_, ArrayType) and any([isinstance(dim, Dim) for dim in type_.shape])


def _is_member(op: Operation) -> bool:
    """Whether an operation is elementwise, on arrays of one unknown shape, and numbers."""
    return (
        is_elementwise(op)
        and not op.must_run
        and not op.regions
        and all([_is_unknown(value) for value in op.results])
        and all(
            [
                isinstance(value.type, ArrayType)
                and (shape_of(value) == shape_of(op.results[0]) or product(shape_of(value)) == 1)
                for value in op.operands
            ]
        )
    )


def _is_total(op: Operation) -> bool:
    """Whether an operation takes all elements of an array together, in any order."""
    return (
        op.primitive is reduce
        and len(op.params["axes"]) == len(shape_of(op.operands[0]))
        and row_of(op.params["fn"]).is_associative
        and op.results[0].type.dtype.itemsize > 2  # sums of halves are kept in single precision
    )


@dataclass(slots=True)
class _Group:
    """Elementwise operations on arrays of one shape, and totals of what they give.

    Attributes
    ----------
    shape
        That shape.
    members, totals
        The operations. If there are totals, nothing else is given.
    given
        What is needed outside.
    """

    shape: Shape
    members: list[Operation] = field(default_factory=list)
    totals: list[Operation] = field(default_factory=list)
    given: list[Value] = field(default_factory=list)


class _Split:
    """A graph on its way to having its elementwise work in maps."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers = {value: op for op in graph.operations for value in op.results}
        self.members = {op for op in graph.operations if _is_member(op)}
        self.stages: dict[Operation, int] = {}
        self.groups: dict[tuple[int, Shape], _Group] = {}
        for op in graph.operations:
            stage = max([self._after(op, value) for value in op.operands], default=0)
            if op in self.members:
                shape = shape_of(op.results[0])
                self.groups.setdefault((stage, shape), _Group(shape)).members.append(op)
            self.stages[op] = stage
        self.totals: set[Operation] = set()
        for group in self.groups.values():
            self._find_given(group)

    def _after(self, op: Operation, value: Value) -> int:
        """Return the stage in which an operation may run at the earliest, for an operand of it.

        Maps have odd stages, and what stands outside of them has even ones.
        """
        maker = self.makers.get(value)
        stage = 0 if maker is None else self.stages[maker]
        if op not in self.members:
            return stage + stage % 2
        if maker not in self.members:
            return stage + 1
        return stage if shape_of(value) == shape_of(op.results[0]) else stage + 2

    def _find_given(self, group: _Group) -> None:
        own = set(group.members)
        made = {value for op in group.members for value in op.results}
        readers = [op for op in self.graph.operations if op not in own]
        totals = [op for op in readers if _is_total(op) and op.operands[0] in made]
        needed = {v for op in readers if op not in totals for v in op.operands}
        needed.update(self.graph.outputs)
        if totals and needed.isdisjoint(made):
            group.totals = totals
            self.totals.update(totals)
        else:
            needed.update([op.operands[0] for op in totals])
            group.given = [v for op in group.members for v in op.results if v in needed]

    def has_gaps(self) -> bool:
        """Whether elements to be taken one by one lie in views of several axes, to be copied."""
        read = {v for op in self.members for v in op.operands if len(shape_of(v)) > 1}
        makers = [self.makers[value] for value in read if value in self.makers]
        views = [op.primitive for op in makers if op.primitive.kind is Kind.VIEW]
        return any([view is not reshape for view in views])

    def may_stay(self, op: Operation, compiled: bool) -> bool:
        """Whether an operation is in a map, or better done by NumPy at any size."""
        if op in self.members or op in self.totals or is_moved(op):
            return True
        if op.primitive.one_call and not compiled:
            return True
        return not needs_sizes(Graph((), [op], ()))

    def steps(self) -> list[Operation | _Group]:
        """Return operations and groups in an order in which they can be recorded."""
        found: dict[int, list[Operation | _Group]] = {}
        for op in self.graph.operations:
            if op not in self.members and op not in self.totals:
                found.setdefault(self.stages[op], []).append(op)
        for (stage, _), group in self.groups.items():
            found.setdefault(stage, []).append(group)
        return [step for stage in sorted(found) for step in found[stage]]


class _Recorder:
    """Records groups as maps in the current builder."""

    def __init__(
        self, builder: Builder, values: dict[Value, Value], makers: dict[Value, Operation]
    ) -> None:
        self.builder, self.values, self.makers = builder, values, makers

    def record(self, group: _Group) -> None:
        """Record a group, and enter what it gives."""
        self.builder.location = group.members[0]._place
        size = product(group.shape)
        if not group.totals:
            results = self._map(group, size, (), lambda value: self._flat(value, size))
            for value, result in zip(group.given, results, strict=True):
                self.values[value] = _shaped(result, group.shape)
            return
        blocks = size // BLOCK
        stop = blocks * BLOCK

        def block(value: Value) -> Value:
            return _shaped(slice_(self._flat(value, size), index=((0, stop, 1),)), (blocks, BLOCK))

        totals = self._map(group, blocks, (BLOCK,), block)
        rest = self._rest(group, size, stop)
        for op, total in zip(group.totals, totals, strict=True):
            self.builder.location = op._place
            # One by one with the rest: of no elements some functions have no total.
            last = rest[op.operands[0]]
            if last.type.dtype != total.type.dtype:
                last = cast(last, dtype=total.type.dtype)
            both = concatenate(total, last, axis=0)
            params = {"fn": op.params["fn"], "dtype": op.params["dtype"]}
            self.values[op.results[0]] = reduce(both, axes=(0,), **params)

    def _flat(self, value: Value, size: DimLike) -> Value:
        return _shaped(self.values[value], (size,))

    def _map(
        self, group: _Group, size: DimLike, block: Shape, part: Callable[[Value], Value]
    ) -> list[Value]:
        """Record a map over elements, or over blocks of them; return what it gives."""
        inner = Builder()
        inside: dict[Value, Value] = {}
        taken: list[Value] = []
        in_dims: list[int | None] = []
        for op in group.members:
            for value in op.operands:
                if value in inside:
                    continue
                maker = self.makers.get(value)
                if maker is not None and maker.primitive is constant and value.type.nbytes <= 16:
                    inner.copy(maker, inside)
                    if value.type.shape:
                        with building(inner):
                            inside[value] = reshape(inside[value], shape=())
                    continue
                is_whole = shape_of(value) == group.shape
                inside[value] = inner.input(array_type(value.type.dtype, block if is_whole else ()))
                taken.append(part(value) if is_whole else _shaped(self.values[value], ()))
                in_dims.append(0 if is_whole else None)
            inner.location = op._place
            operands = tuple([inside[value] for value in op.operands])
            results = inner.emit(op.primitive, operands, op.params)
            inside.update(zip(op.results, results, strict=True))
        for op in group.totals:
            inner.location = op._place
            params = {**op.params, "axes": (0,)}
            (inside[op.results[0]],) = inner.emit(reduce, (inside[op.operands[0]],), params)
        given = [op.results[0] for op in group.totals] or group.given
        results = map_(
            *taken,
            regions=(inner.finish([inside[value] for value in given]),),
            size=size,
            in_dims=tuple(in_dims),
            out_mapped=(True,) * len(given),
            order=PARALLEL,
        )
        return list(results) if isinstance(results, tuple) else [results]

    def _rest(self, group: _Group, size: DimLike, start: DimLike) -> dict[Value, Value]:
        """Record a group's operations on the elements from one on; return what they give."""
        found: dict[Value, Value] = {}
        for op in group.members:
            for value in op.operands:
                if value in found:
                    continue
                if shape_of(value) == group.shape:
                    found[value] = slice_(self._flat(value, size), index=((start, size, 1),))
                else:
                    found[value] = _shaped(self.values[value], ())
            self.builder.location = op._place
            operands = tuple([found[value] for value in op.operands])
            results = self.builder.emit(op.primitive, operands, op.params)
            found.update(zip(op.results, results, strict=True))
        return found


def _shaped(value: Value, shape: Shape) -> Value:
    return value if shape_of(value) == shape else reshape(value, shape=shape)
