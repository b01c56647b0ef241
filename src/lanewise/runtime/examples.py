"""The examples of a divergent map: what the runners of branches and loops are told, and share."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.passes.divergent import fresh_symbol
from lanewise.runtime.binding import bind
from lanewise.runtime.memory import Memory
from lanewise.runtime.rows import ROWS, updated_operands


class Step(Protocol):
    """A plan that takes the sizes of symbolic dimensions before its arguments."""

    memory: Memory

    def step(self, *arguments: Any) -> list[Any]: ...


class Make(Protocol):
    """Makes the plan of a graph, which may write to the arguments at the positions `given`."""

    def __call__(self, graph: Graph, given: Iterable[int] = ()) -> Step: ...


class Setting:
    """A divergent map as the runners of its operation see it.

    Everything is by the positions of the operands and results of that operation.
    """

    def __init__(self, op: Operation, given: Collection[int], make: Make) -> None:
        (region,) = op.regions
        (self.inner,) = region.operations
        self.make = make
        self.fallback: bool = op.params["fallback"]
        self.symbol = fresh_symbol(region)
        self.symbol_name = str(self.symbol)
        dims = op.params["in_dims"]
        self.places = [region.inputs.index(value) for value in self.inner.operands]
        #: 0 where an operand has a row for each example, ROWS where it is a whole array of which
        #: the examples have some rows, None where it is the same for all.
        self.kinds = [dims[place] for place in self.places]
        whole = [place for place, axis in enumerate(dims) if axis == ROWS]
        self.rows_at = {
            i: len(dims) + whole.index(place)
            for i, place in enumerate(self.places)
            if place in whole
        }
        #: Which results are operands that are written to.
        self.updated = {
            j: k
            for j, k in updated_operands(self.inner).items()
            if self.kinds[k] is not None and self.inner.results[j] in region.outputs
        }
        #: The operands that may be written to; the others are copied first.
        self.given = {i for i, place in enumerate(self.places) if place in given}
        self.types = [value.type for value in self.inner.results]

    def has_rows(self, i: int) -> bool:
        """Return whether the examples of an operand are arrays."""
        return self.kinds[i] is not None and bool(self.inner.operands[i].type.shape)


@dataclass(slots=True)
class Run:
    """The arguments of one run of a divergent map."""

    setting: Setting
    sizes: dict[str, int]
    size: int
    arrays: list[Any]
    #: The rows of the examples in those operands that are whole arrays.
    rows: dict[int, np.ndarray]
    #: Operands that are written to: they themselves, or copies.
    bases: dict[int, np.ndarray]

    def base(self, i: int) -> np.ndarray:
        """Return an operand to write to."""
        base = self.bases.get(i)
        if base is None:
            array = self.arrays[i]
            base = self.bases[i] = array if i in self.setting.given else array.copy()
        return base

    def rows_of(self, i: int, chosen: np.ndarray | None) -> np.ndarray:
        """Return the rows that some examples, or all, have in an operand."""
        rows = self.rows.get(i)
        if rows is None:
            return np.arange(self.size) if chosen is None else chosen
        return rows if chosen is None else rows[chosen]

    def taken(self, i: int, chosen: np.ndarray | None) -> Any:
        """Return what some examples, or all, have of an operand: one value where it is the same."""
        array = self.arrays[i]
        kind = self.setting.kinds[i]
        if kind is None or (kind != ROWS and chosen is None):
            return array
        return array.take(self.rows_of(i, chosen), 0)

    def with_size(self, size: int) -> dict[str, int]:
        """Return the sizes of dimensions where so many examples go one way."""
        return {**self.sizes, self.setting.symbol_name: size}

    def empty(self, j: int) -> np.ndarray:
        """Return room for a result."""
        type_: ArrayType = self.setting.types[j]
        return np.empty((self.size, *bind(type_.shape, self.sizes)), type_.dtype)

    def is_fresh(self, x: Any, others: Iterable[Any]) -> bool:
        """Return whether an array is a piece of memory that neither an operand nor another is."""
        return (
            x.base is None
            and x.flags.writeable
            and not any(x is array for array in self.arrays)
            and not any(x is root_of(other) for other in others)
        )


def spread(x: Any, size: int) -> np.ndarray:
    """Return a value that is the same for all examples as one of each."""
    return np.broadcast_to(x, (size, *np.shape(x)))


def root_of(x: Any) -> Any:
    """Return the array that owns the memory of one."""
    while isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray):
        x = x.base
    return x


def used_values(graph: Graph) -> set[Value]:
    """Return the values that an operation or the end of a graph needs."""
    return {value for op in graph.operations for value in op.operands}.union(graph.outputs)
