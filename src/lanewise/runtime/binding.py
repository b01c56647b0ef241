"""Sizes that are not known until a plan runs: where they come from, and what depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, DimLike
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType, symbols_in, with_dims
from lanewise.passes.assume import solutions
from lanewise.passes.specialize import unknown_sizes


def input_sizes(graph: Graph) -> list[tuple[str, int, int, DimLike]]:
    """Return how symbols follow from inputs: of which one, by its position, and which axis.

    With what has to be taken off, which depends on symbols that come before only.
    """
    places = [
        (position, axis, dim)
        for position, value in enumerate(graph.inputs)
        if isinstance(value.type, ArrayType)
        for axis, dim in enumerate(value.type.shape)
        if isinstance(dim, Dim)
    ]
    return [
        (symbol, *places[number][:2], rest)
        for symbol, number, rest in solutions([dim for *_, dim in places])
    ]


def read_sizes(graph: Graph, arguments: Sequence[Any]) -> dict[str, int]:
    """Return the sizes that the arguments give to the symbols of a graph's inputs."""
    found: dict[str, int] = {}
    for symbol, position, axis, rest in input_sizes(graph):
        found[symbol] = arguments[position].shape[axis] - evaluate(rest, found)
    return found


def sizes_of(values: Sequence[Value], arrays: Sequence[Any]) -> dict[str, int]:
    """Return the sizes of the symbolic dimensions of values that are these arrays."""
    return {
        str(dim): size
        for value, x in zip(values, arrays, strict=True)
        if isinstance(value.type, ArrayType)
        for dim, size in zip(value.type.shape, np.shape(x), strict=True)
        if isinstance(dim, Dim)
    }


def learned_symbols(graph: Graph) -> set[str]:
    """Return the symbols of dimensions that an operation in a graph or its regions brings in."""
    known = set().union(*[symbols_in(value.type) for value in graph.inputs])
    found: set[str] = set()
    for op in graph.operations:
        if op.primitive.is_definition:
            found |= symbols_in(op.params["size"])
        for region in op.regions:
            found |= learned_symbols(region)
        made = set().union(*map(symbols_in, op.signature.types))
        if not op.regions and not made <= known:
            known = known.union(*[symbols_in(value.type) for value in op.operands])
            known |= symbols_in(tuple(op.params.values()))
            found |= made - known
            known |= made
    return found


def defined_size(op: Operation, number: Any) -> dict[str, int]:
    """Return the size that a `define_size` of a number defines, by its name."""
    return {str(op.params["size"]): int(number) - op.params["least"]}


def of_any_size(op: Operation) -> bool:
    """Whether a map's examples have arrays whose sizes are known only when it runs."""
    return bool(unknown_sizes(op.regions[0]))


def bind(value: Any, sizes: dict[str, int]) -> Any:
    """Return a parameter with its symbolic dimensions replaced by their sizes."""
    return with_dims(value, lambda dim: evaluate(dim, sizes))
