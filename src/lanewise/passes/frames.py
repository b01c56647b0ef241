"""What values stand for in a turn of a loop, and the regions that are recorded of a turn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Builder, Graph, Value, building
from lanewise.passes.points import integer

INT = np.dtype(np.int64)

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

    Attributes
    ----------
    carry
        Which one.
    axes
        For each axis, which axis of the carried array it is; None where it is none, or not whole.
    rest
        What it is outside of the own cell: how it was read.
    cell
        What it has of the own cell; None where that is all that the carried array had.
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


class Loop(Protocol):
    """A loop whose body is gone through, as regions of it see it."""

    def type_of(self, key: Key) -> Any:
        """Return the type of one turn's entry of a source."""
        ...

    def is_open(self, part: Part) -> bool:
        """Whether a part has more than the turn's own cell."""
        ...


class Frame:
    """A region that is being recorded: the body for one turn, or a region in it."""

    def __init__(self, turns: Loop, parent: Frame | None = None) -> None:
        self.turns, self.parent = turns, parent
        self.builder = Builder()
        self.taken: dict[Key, Value] = {}

    def source(self, key: Key, type_: Any = None) -> Value:
        """Return an input of the region for what lies outside of it.

        ``("same", value)`` is the same in all turns; ``("along", value, axis, step, start)`` has
        an element, or sub-array, for each turn; ``("turn", step, start)`` are integers; ``("cell",
        carry)`` are the turn's own cells; ``("own", value)`` is of the region around.
        """
        found = self.taken.get(key)
        if found is None:
            found = self.taken[key] = self.builder.input(type_ or self.turns.type_of(key))
        return found

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
        if isinstance(kind, Part) and not self.turns.is_open(kind):
            return self.cell(kind)
        raise Dependent

    def cell(self, part: Part) -> Value:
        """Return what a part has of the turn's own cell."""
        return self.source(("cell", part.carry)) if part.cell is None else part.cell

    def bind(self, kind: Kind) -> Kind:
        """Return a value of the region around as one of this region."""
        if isinstance(kind, Own):
            return Own(self.source(("own", kind.value), kind.value.type))
        if isinstance(kind, Part) and kind.cell is not None:
            cell = self.source(("own", kind.cell), kind.cell.type)
            return Part(kind.carry, kind.axes, kind.rest, cell)
        if isinstance(kind, Running):
            return Running(kind.carry, kind.fn, (), kind.checked)
        return kind

    def outer(self, keys: Sequence[Key]) -> tuple[Value, ...]:
        """Return what the inputs for some sources are in the region around."""
        parent = self.parent
        assert parent is not None
        return tuple([k[1] if k[0] == "own" else parent.source(k) for k in keys])

    def finish(self, keys: Sequence[Key], own: Sequence[Value], outputs: Sequence[Value]) -> Graph:
        """Return the region: its inputs are those for some sources, then its `own`."""
        given = [self.taken.get(key) or self.source(key, self._type(key)) for key in keys]
        return Graph([*given, *own], self.builder.operations, outputs)

    def _type(self, key: Key) -> Any:
        return key[1].type if key[0] == "own" else None
