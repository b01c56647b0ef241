"""What values stand for in a turn of a loop, and the regions that are recorded of a turn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Builder, Graph, Operation, Value, building
from lanewise.ir.types import ArrayType, array_type
from lanewise.ops.control import LOOPS
from lanewise.ops.regions import example_type
from lanewise.passes.numbers import INTEGER, integer

#: Where a source of a turn lies outside of it; see `Frame.source`.
Key: TypeAlias = tuple[Any, ...]


class Dependent(Exception):  # noqa: N818  (it is not an error, it is an answer)
    """The turns of a loop need each other, or nothing shows that they do not."""


class Again(Exception):  # noqa: N818
    """Something was learned about places, with which the body is gone through again."""


@dataclass(frozen=True, slots=True)
class Same:
    """A value that no turn changes, of the graph around the loop."""

    value: Value


@dataclass(frozen=True, slots=True)
class Turn:
    """The 64-bit integer ``step * turn + start``."""

    step: int
    start: DimLike


@dataclass(frozen=True, slots=True)
class Own:
    """A value that a turn computes."""

    value: Value


@dataclass(frozen=True, slots=True)
class Part:
    """An array that was read out of a carried one, changed at most in the turn's own cell.

    Each of its axes is one of the carried array's, or None where it is none, or not whole. ``rest``
    is how it was read, so what it is outside of the own cell. ``cell`` is what it has of that; None
    where it is all that the carried array had.
    """

    carry: int
    axes: tuple[int | None, ...]
    rest: Hashable
    cell: Value | None


@dataclass(frozen=True, slots=True)
class Running:
    """A carried value after a function has taken in some terms, one after the other.

    `checked` says that it is a Python int, which raises where 64 bits are too few.
    """

    carry: int
    fn: np.ufunc | None = None
    terms: tuple[Value, ...] = ()
    checked: bool = False


Kind: TypeAlias = Same | Turn | Own | Part | Running


class Frame:
    """A region that is being recorded: the body for one turn, or a region in it.

    ``carries`` are the types of what is carried, ``cells`` at which places of which axes of each
    the turn's own cell lies.
    """

    def __init__(
        self,
        carries: Sequence[ArrayType],
        cells: Sequence[Mapping[int, Key]],
        is_within: bool = False,
    ) -> None:
        self.carries, self.cells, self.is_within = carries, cells, is_within
        self.builder = Builder()
        self.taken: dict[Key, Value] = {}

    def within(self) -> Frame:
        """Return a region in this one."""
        return Frame(self.carries, self.cells, True)

    def is_open(self, part: Part) -> bool:
        """Whether a part has more than the turn's own cell."""
        return not self.cells[part.carry].keys().isdisjoint(part.axes)

    def source(self, key: Key) -> Value:
        """Return an input of the region for what lies outside of it.

        ``("same", value)`` is the same in all turns; ``("along", value, axis, step, start)`` has
        an element, or sub-array, for each turn; ``("turn", step, start)`` are integers; ``("cell",
        carry)`` are the turn's own cells; ``("own", value)`` is of the region around.
        """
        found = self.taken.get(key)
        if found is None:
            found = self.taken[key] = self.builder.input(self._type_of(key))
        return found

    def _type_of(self, key: Key) -> Any:
        """Return the type of one turn's entry of a source."""
        if key[0] == "turn":
            return INTEGER
        if key[0] == "along":
            return example_type(key[1].type, key[2])
        if key[0] != "cell":
            return key[1].type
        type_, cell = self.carries[key[1]], self.cells[key[1]]
        kept = [size for axis, size in enumerate(type_.shape) if axis not in cell]
        return array_type(type_.dtype, tuple(kept))

    def value(self, kind: Kind) -> Value:
        """Return what a kind of value is in this region."""
        if isinstance(kind, Own):
            return kind.value
        if isinstance(kind, Same):
            return self.source(("same", kind.value))
        if isinstance(kind, Turn):
            if kind.step:
                return self.source(("turn", kind.step, kind.start))
            with building(self.builder):
                return integer(kind.start)
        if isinstance(kind, Part) and not self.is_open(kind):
            return self.cell(kind)
        raise Dependent

    def cell(self, part: Part) -> Value:
        """Return what a part has of the turn's own cell."""
        return self.source(("cell", part.carry)) if part.cell is None else part.cell

    def bind(self, kind: Kind) -> Kind:
        """Return a value of the region around as one of this region."""
        if isinstance(kind, Own):
            return Own(self.source(("own", kind.value)))
        if isinstance(kind, Part) and kind.cell is not None:
            return replace(kind, cell=self.source(("own", kind.cell)))
        if isinstance(kind, Running):
            return replace(kind, terms=())
        return kind

    def record(
        self,
        op: Operation,
        frames: Sequence[Frame],
        own: Sequence[Sequence[Value]],
        outputs: Sequence[Sequence[Value]],
        before: Sequence[Value] = (),
        behind: Sequence[Value] = (),
    ) -> tuple[Value, ...]:
        """Record an operation whose regions are frames in this one, with inputs of their `own`.

        Its operands are those that come `before` what the regions take, this, and those `behind`.
        """
        keys = list(dict.fromkeys([key for inner in frames for key in inner.taken]))
        regions = tuple(
            [
                Graph([*map(inner.source, keys), *given], inner.builder.operations, values)
                for inner, given, values in zip(frames, own, outputs, strict=True)
            ]
        )
        taken = [key[1] if key[0] == "own" else self.source(key) for key in keys]
        params = {**op.params, "captures": len(keys)} if op.primitive in LOOPS else op.params
        return self.builder.emit(op.primitive, (*before, *taken, *behind), params, regions)
