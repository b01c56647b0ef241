"""What `explain` and `profile` find, as data; text.py, page.py and drawing.py show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

from lanewise.inspect.kernels import KernelView, Left
from lanewise.inspect.memory import Memory
from lanewise.inspect.rows import Row, Walker
from lanewise.ir.graph import Graph
from lanewise.runtime.tiers import Choice


@dataclass(frozen=True, slots=True)
class ProgramView:
    """One graph that ran, and what became of it.

    Attributes
    ----------
    graph
        As it runs.
    sizes
        Of its symbolic dimensions.
    choice
        What the next such call runs, and why.
    calls
        How often it ran.
    memory
        What it takes.
    rows
        One for each operation.
    walker
        What knows from what the operations were made.
    names
        What the inputs are called, empty where that is not known.
    """

    graph: Graph
    sizes: dict[str, int]
    choice: Choice
    calls: int
    memory: Memory
    rows: Sequence[Row]
    walker: Walker
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The time of a call and its parts, in seconds.

    Attributes
    ----------
    first
        Of the first call, with all that is done once: tracing, planning, compiling.
    plain
        Of a call, the least of several.
    total
        Of a call that was measured, the least of several; the others are its parts.
    operations, kernels
        Of what NumPy computes, and of what kernels compute.
    maps
        Of going from example to example, or chunk to chunk, and of bringing those together that go
        the same way.
    planning
        Of choosing what runs, and compiling it.
    tracing
        Of running functions on tensors, to record what they compute.
    python
        Of all else: Python that is not traced, looking up what was recorded, arguments and results.
    repeats
        How often it was measured.
    """

    first: float
    plain: float
    total: float
    operations: float
    kernels: float
    maps: float
    planning: float
    tracing: float
    repeats: int

    @property
    def python(self) -> float:
        known = self.operations + self.kernels + self.maps + self.planning + self.tracing
        return max(self.total - known, 0.0)

    def named(self) -> list[tuple[str, float]]:
        """Return the parts, with their names for people."""
        return [
            ("operations", self.operations),
            ("kernels", self.kernels),
            ("between examples", self.maps),
            ("planning", self.planning),
            ("tracing", self.tracing),
            ("Python", self.python),
        ]


class Findings:
    """What was found about a call; `lanewise.inspect.explain.Explanation` says what it holds."""

    def __init__(
        self,
        name: str,
        programs: Sequence[ProgramView],
        examples: Sequence[int] = (),
        kernels: Sequence[KernelView] = (),
        left: Sequence[Left] = (),
        traces: Sequence[tuple[str, bool]] = (),
        code: CodeType | None = None,
    ) -> None:
        self.name = name
        self.programs = list(programs)
        self.rows: list[Row] = [row for program in programs for row in program.rows]
        self.examples = list(examples)
        self.choices = [program.choice for program in programs]
        self.kernels = list(kernels)
        self.left = list(left)
        self.memory = [program.memory for program in programs]
        self.traces = list(traces)
        self.code = code
        self.parts: Parts | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of all intermediates and results together, but for what kernels keep inside."""
        return sum(row.nbytes for row in self.rows if not row.is_view)
