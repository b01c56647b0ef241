"""A graph for certain sizes: what was recorded for any size, with numbers in place of symbols.

Kernels are made for arrays of known size. Where a graph was recorded with symbols and is run again
and again on arrays of one size, it is rewritten for that, without running the user's function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanewise.ir.dims import Call, Dim, DimLike, dim_max, dim_min
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.regions import map_


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
    values: dict[Value, Value] = {
        value: builder.input(_replaced(value.type, sizes)) for value in graph.inputs
    }
    for op in graph.operations:
        operands = tuple([values[value] for value in op.operands])
        regions = tuple([specialized(region, sizes) for region in op.regions])
        builder.location = op._place
        results = builder.emit(op.primitive, operands, _replaced(op.params, sizes), regions)
        values.update(zip(op.results, results, strict=True))
    return builder.finish([values[value] for value in graph.outputs])


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


def _replaced(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return a type, parameter or container of these with its symbols replaced."""
    if isinstance(value, Dim):
        return _size(value, sizes)
    if isinstance(value, dict):
        return {name: _replaced(part, sizes) for name, part in value.items()}
    if type(value) is tuple:
        return tuple([_replaced(part, sizes) for part in value])
    if isinstance(value, ArrayType):
        return array_type(value.dtype, _replaced(value.shape, sizes))
    return value


def _size(dim: DimLike, sizes: Mapping[str, int]) -> DimLike:
    if not isinstance(dim, Dim):
        return dim
    total: DimLike = 0
    for monomial, coefficient in dim.terms:
        part: DimLike = coefficient
        for atom in monomial:
            part = part * _atom(atom, sizes)
        total = total + part
    return total


def _atom(atom: str | Call, sizes: Mapping[str, int]) -> DimLike:
    if isinstance(atom, str):
        return sizes[atom] if atom in sizes else Dim.symbol(atom)
    first, second = [_size(arg, sizes) for arg in atom.args]
    match atom.name:
        case "floordiv":
            return first // second
        case "mod":
            if isinstance(first, int) and isinstance(second, Dim):
                return Dim([((Call("mod", (first, second)),), 1)])
            return first % second  # ty: ignore[unsupported-operator]
        case "min":
            return dim_min(first, second)
        case _:
            return dim_max(first, second)
