"""A graph for certain sizes: what was recorded for any size, with numbers in place of symbols.

Kernels are made for arrays of known size. Where a graph was recorded with symbols and is run again
and again on arrays of one size, it is rewritten for that, without running the user's function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, substitute
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.types import ArrayType, array_type, symbols_in
from lanewise.ops.control import cond
from lanewise.ops.creation import constant, dimension
from lanewise.ops.exact import exact
from lanewise.ops.movement import cast
from lanewise.ops.regions import map_

#: Functions of numbers that are the same wherever they are computed.
_EXACT = frozenset(
    (np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less, np.less_equal, np.greater,
     np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not)
)  # fmt: skip


def specialized(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return a graph with the symbols that `sizes` names replaced; others stay.

    Examples
    --------
    >>> import numpy as np
    >>> n = Dim.symbol("n")
    >>> builder = Builder()
    >>> x = builder.input(array_type(np.dtype(float), (n, n * 2)))
    >>> specialized(builder.finish([x]), {"n": 3}).outputs[0].type
    f64[3,6]
    """
    builder = Builder()
    inputs = [builder.input(replaced(value.type, sizes)) for value in graph.inputs]
    return builder.finish(_Writer(builder, sizes).write(graph, inputs))


class _Writer:
    """Records a graph for certain sizes; what only depends on sizes is computed at once.

    So a branch that sizes decide is the side that is taken, and the other one, in which operations
    may not even fit these sizes, is left out.
    """

    def __init__(self, builder: Builder, sizes: Mapping[str, int]) -> None:
        self._builder, self._sizes = builder, sizes
        self._known: dict[Value, np.ndarray] = {}

    def write(self, graph: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Record the operations of a graph on arguments; return its outputs."""
        values = dict(zip(graph.inputs, arguments, strict=True))
        for op in graph.operations:
            operands = [values[value] for value in op.operands]
            params = replaced(op.params, self._sizes)
            self._builder.location = op._place
            results: Sequence[Value] | None = self._chosen(op, operands)
            if results is None:
                results = self._computed(op, operands, params)
            if results is None:
                regions = tuple([specialized(region, self._sizes) for region in op.regions])
                results = self._builder.emit(op.primitive, tuple(operands), params, regions)
            values.update(zip(op.results, results, strict=True))
        return [values[value] for value in graph.outputs]

    def _chosen(self, op: Operation, operands: Sequence[Value]) -> list[Value] | None:
        """Record the side of a branch that sizes decide."""
        if op.primitive is not cond or operands[0] not in self._known:
            return None
        region = op.regions[0 if self._known[operands[0]] else 1]
        return self.write(region, operands[1:])

    def _computed(
        self, op: Operation, operands: Sequence[Value], params: dict[str, Any]
    ) -> tuple[Value, ...] | None:
        """Record a number that depends on sizes only as a constant."""
        if op.primitive is constant:
            if not params["type"].shape:
                results = self._builder.emit(constant, (), params)
                self._known[results[0]] = constant.numpy(**params)
                return results
            return None
        is_number = op.primitive is dimension or op.primitive is exact or op.primitive is cast
        if not is_number and (op.primitive.ufunc is None or op.primitive.ufunc not in _EXACT):
            return None
        if not all([value in self._known for value in operands]):
            return None
        if isinstance(params.get("size"), Dim):  # of which a symbol stays
            return None
        with suppress(OverflowError):  # which is raised when it runs, if it does
            found = op.primitive.numpy(*[self._known[value][()] for value in operands], **params)
            type_ = op.results[0].type
            found = np.asarray(found, type_.dtype)
            data = {"data": found.tobytes(), "type": type_}
            results = self._builder.emit(constant, (), data)
            self._known[results[0]] = found
            return results
        return None


def unknown_sizes(graph: Graph) -> frozenset[str]:
    """Return the symbols of the dimensions in a graph and its regions.

    Examples
    --------
    >>> builder = Builder()
    >>> x = builder.input(array_type(np.dtype(float), (Dim.symbol("n") * 2, 3)))
    >>> sorted(unknown_sizes(builder.finish([x])))
    ['n']
    """
    found = frozenset().union(*[symbols_in(value.type) for value in graph.inputs])
    for op in graph.operations:
        types = [value.type for value in (*op.operands, *op.results)]
        found = found.union(*map(symbols_in, types), symbols_in(op.params))
        found = found.union(*map(unknown_sizes, op.regions))
    return found


def needs_sizes(graph: Graph) -> bool:
    """Whether a graph has arrays of unknown size where kernels would need to know it.

    The number of a map's examples need not be known, only the sizes of one example.
    """
    return any(map(_needs_sizes, graph.operations))


def _needs_sizes(op: Operation) -> bool:
    if op.primitive is map_:
        return needs_sizes(op.regions[0])
    if any(map(needs_sizes, op.regions)):
        return True
    return any(
        isinstance(value.type, ArrayType) and any(isinstance(d, Dim) for d in value.type.shape)
        for value in (*op.operands, *op.results)
    )


def replaced(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return a type, a parameter or a container of these with its symbols replaced."""
    if isinstance(value, Dim):
        return substitute(value, sizes)
    if isinstance(value, dict):
        return {name: replaced(part, sizes) for name, part in value.items()}
    if type(value) is tuple:
        return tuple([replaced(part, sizes) for part in value])
    if isinstance(value, ArrayType):
        return array_type(value.dtype, replaced(value.shape, sizes))
    return value
