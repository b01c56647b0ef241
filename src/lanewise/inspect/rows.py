"""What became of each operation: a row for each, by going through the graphs that run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lanewise.inspect.kernels import KernelView, inner_operations, view
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import Location
from lanewise.ir.types import ArrayType
from lanewise.loading import late
from lanewise.ops.control import BRANCHES, CONTROL, while_
from lanewise.ops.creation import constant
from lanewise.ops.facts import Kind, usual_size
from lanewise.ops.regions import CHUNKED, DIVERGENT, NATIVE, map_
from lanewise.ops.registry import Absent
from lanewise.passes.lanes import BATCHED, DIVERGED, HOISTED, LOOPED
from lanewise.passes.pipeline import batched_loop, batched_region, fresh_symbol, lower
from lanewise.runtime.parts import chunk_of

few = late("lanewise.runtime.few")

#: Control flow that all examples go through together: in one branch, or turn by turn.
BRANCHED, LOCKSTEP = "branched", "lockstep"
#: Operations that are compiled together; the kernel's number follows.
KERNEL = "kernel"
_RANK = {HOISTED: 0, BATCHED: 1, DIVERGED: 2, LOOPED: 3}

_HOST = "host code runs for one example after the other"
_BETWEEN = "each example goes from one call of host code to the next before another begins"
_ASKED = "the map asks for one example after the other"
_BRANCHES = "examples take different branches; those that take the same one run together"
_TURNS = "examples leave it at different turns; those that are still in it run together"


@dataclass(frozen=True, slots=True)
class Row:
    """One operation that runs: where it comes from, what becomes of it, and what it takes.

    Attributes
    ----------
    location
        The user's line, or None.
    operation
        Its name.
    fate
        ``"hoisted"``, ``"batched"``, ``"looped"``, ``"divergent"``, ``"branched"``, ``"lockstep"``,
        or ``"kernel 1"``.
    result
        The type of what it gives.
    nbytes
        The bytes of that.
    is_view
        Whether it shows the memory of what it takes.
    why
        Why it is looped or divergent; empty for others.
    calls, seconds
        How often it ran, and how long that took together, where that was measured; an operation
        of a kernel has no time of its own.
    op, within
        The operation, and the one that runs the plan in which it stands; None if that is the plan
        of the program.
    """

    location: Location | None
    operation: str
    fate: str
    result: str
    nbytes: int
    is_view: bool
    why: str = ""
    calls: int = 0
    seconds: float | None = None
    op: Operation | None = field(default=None, repr=False, compare=False)
    within: Operation | None = field(default=None, repr=False, compare=False)

    @property
    def in_kernel(self) -> bool:
        """Whether it is computed in a kernel, where only what the kernel gives takes memory."""
        return self.fate.startswith(KERNEL)


class Walker:
    """Goes through lowered graphs, and knows what each operation in them was made from.

    Parameters
    ----------
    kernels
        Those that it finds are added here.

    Attributes
    ----------
    parts
        For maps in chunks, the graph of a chunk.
    numbers
        For native maps, the number of their kernel.
    """

    def __init__(self, kernels: list[KernelView] | None = None) -> None:
        self.kernels = [] if kernels is None else kernels
        self.origin: dict[Value, tuple[Operation, str]] = {}
        self.checks: dict[Location | None, str] = {}  # operations without results have their place
        self.parts: dict[Operation, Graph] = {}
        self.numbers: dict[Operation, int] = {}
        self._within: Operation | None = None

    def report(self, op: Operation, fate: str, made: Sequence[Operation]) -> None:
        for new in made:
            if new.results:
                self.origin.setdefault(new.results[0], (op, fate))
        if not op.results:
            fates = fate, self.checks.get(op.location, HOISTED)
            self.checks[op.location] = max(fates, key=_RANK.__getitem__)

    def lowered(self, graph: Graph) -> Graph:
        return lower(graph, self.report)

    def rows(self, graph: Graph, sizes: dict[str, int]) -> list[Row]:
        """Return a row for each operation of a lowered graph."""
        return list(self.walk(graph, sizes, None))

    def walk(
        self, graph: Graph, sizes: dict[str, int], inherited: str | None, why: str = ""
    ) -> Iterator[Row]:
        """Yield a row for each operation; `inherited` is the fate of all that is within a loop."""
        for op in graph.operations:
            if op.primitive is constant or op.primitive.is_definition:
                continue
            if op.primitive is map_:
                yield from self.map(op, sizes, inherited)
                continue
            fate = self.fate(op, inherited)
            if op.primitive in CONTROL and fate == BATCHED:
                fate = BRANCHED if op.primitive in BRANCHES else LOCKSTEP
            rule = op.primitive.batch
            reason = _HOST if op.has_effect and fate == LOOPED else why
            if reason == _ASKED and isinstance(rule, Absent) and op.primitive not in CONTROL:
                reason = rule.reason if op.operands else reason
            yield self._row(op, op.results, fate, sizes, reason if fate == LOOPED else "")
            for region in op.regions:
                yield from self.walk(region, sizes, inherited, why)

    def fate(self, op: Operation, inherited: str | None) -> str:
        fate = inherited or HOISTED
        if not op.results:
            return max(fate, self.checks.get(op.location, HOISTED), key=_RANK.__getitem__)
        while op.results and op.results[0] in self.origin:  # pushed through each map around it
            op, outer = self.origin[op.results[0]]
            fate = max(fate, outer, key=_RANK.__getitem__)
        return fate

    def map(self, op: Operation, sizes: dict[str, int], inherited: str | None) -> Iterator[Row]:
        """Yield the rows of a map that stays."""
        chunk = op.params["chunk"]
        if op.params["order"] == NATIVE:
            yield from self.native(op, sizes)
            return
        outer = self._within
        self._within = op if outer is None else outer
        if op.params["order"] == DIVERGENT:
            yield from self.divergent(op, sizes, inherited)
        elif chunk is None:
            (body,) = op.regions
            yield from self.walk(body, sizes, LOOPED, _BETWEEN if op.has_effect else _ASKED)
        else:  # chunk after chunk, each of them as a whole
            part, sizes = chunk_of(op, sizes)
            part = few.of_chunk(part) if op.params["order"] == CHUNKED else part
            part = self.parts[op] = self.lowered(part)
            yield from self.walk(part, sizes, inherited)
        self._within = outer

    def native(self, op: Operation, sizes: dict[str, int]) -> Iterator[Row]:
        """Yield the rows of a kernel: of its operations those take memory that it gives."""
        number = self._enter(op, sizes)
        fate = f"{KERNEL} {number}"
        (body,) = op.regions
        given = dict(zip(body.outputs, op.results, strict=True))
        for inner in inner_operations(body):
            row = self._row(inner, inner.results, fate, sizes)
            written = [given.pop(value) for value in inner.results if value in given]
            nbytes = self._row(inner, written, fate, sizes).nbytes
            yield replace(row, nbytes=nbytes, is_view=False)
        for result in given.values():  # what it takes, or a constant, for each example
            yield replace(self._row(op, [result], fate, sizes), operation="copy")

    def list_kernels(self, graph: Graph, sizes: dict[str, int]) -> None:
        """Note the kernels of a graph that is not going to run."""
        for op in graph.operations:
            if op.params.get("order") == NATIVE:
                self._enter(op, sizes)

    def _enter(self, op: Operation, sizes: dict[str, int]) -> int:
        number = self.numbers[op] = len(self.kernels) + 1
        self.kernels.append(view(op, sizes, number))
        return number

    def divergent(
        self, op: Operation, sizes: dict[str, int], inherited: str | None
    ) -> Iterator[Row]:
        """Yield the rows of control flow that varies, as if all examples went each way."""
        (graph,) = op.regions
        (inner,) = graph.operations
        varies = dict(zip(graph.inputs, op.params["in_dims"], strict=True))
        mapped = [varies[value] is not None for value in inner.operands]
        size, fallback = fresh_symbol(graph), op.params["fallback"]
        if inner.primitive is while_:
            *regions, _ = batched_loop(inner, mapped, size, fallback, self.report)
        else:
            regions = [
                batched_region(region, mapped[1:], size, fallback, self.report)[0]
                for region in inner.regions
            ]
        fate = DIVERGED if inherited is None else inherited
        why = _BRANCHES if inner.primitive in BRANCHES else _TURNS
        yield replace(self._row(inner, op.results, fate, sizes, why), op=op)
        sizes = {**sizes, str(size): usual_size(op.params["size"], sizes)}
        for region in regions:
            yield from self.walk(region, sizes, inherited)

    def _row(
        self,
        op: Operation,
        results: Sequence[Value],
        fate: str,
        sizes: dict[str, int],
        why: str = "",
    ) -> Row:
        arrays = [value.type for value in results if isinstance(value.type, ArrayType)]
        return Row(
            op.location,
            name_of(op),
            fate,
            ", ".join(map(str, arrays)),
            sum(usual_size(type_.nbytes, sizes) for type_ in arrays),
            op.primitive.kind is Kind.VIEW,
            why,
            op=op,
            within=self._within,
        )


def name_of(op: Operation) -> str:
    """Return the operation's name, with the ufunc that a reduction or its like is about."""
    fn = op.params.get("fn")
    return f"{op.primitive.name}({getattr(fn, '__name__', fn)})" if fn else op.primitive.name
