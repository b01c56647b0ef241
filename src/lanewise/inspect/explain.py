"""`explain`: what becomes of each line of a mapped function."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanewise.api import function, vectorize, vmap
from lanewise.errors import function_name
from lanewise.inspect.kernels import KernelView, Left, inner_operations, left, size_of, view
from lanewise.ir.dims import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import Location
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, CONTROL, while_
from lanewise.ops.creation import constant
from lanewise.ops.movement import broadcast_to, diagonal, reshape, slice_, transpose
from lanewise.ops.regions import DIVERGENT, NATIVE, map_
from lanewise.passes.divergent import batched_loop, batched_region, fresh_symbol
from lanewise.passes.lanes import BATCHED, DIVERGED, HOISTED, LOOPED
from lanewise.passes.pipeline import lower
from lanewise.runtime.dispatch import Program, observing
from lanewise.runtime.interpret import chunked_graph
from lanewise.runtime.tiers import COMPILE, INTERPRET, Choice

#: Operations whose result shows the memory of their operand.
VIEWS = (broadcast_to, diagonal, reshape, slice_, transpose)
#: Control flow that all examples go through together: in one branch, or turn by turn.
BRANCHED, LOCKSTEP = "branched", "lockstep"
#: Operations that are compiled together; the kernel's number follows.
KERNEL = "kernel"
_RANK = {HOISTED: 0, BATCHED: 1, DIVERGED: 2, LOOPED: 3}


@dataclass(frozen=True, slots=True)
class Row:
    """One operation that runs: where it comes from, what becomes of it, and what it takes."""

    location: Location | None
    operation: str
    fate: str
    result: str
    nbytes: int
    is_view: bool

    @property
    def in_kernel(self) -> bool:
        """Whether it is computed in a kernel, where only what the kernel gives takes memory."""
        return self.fate.startswith(KERNEL)


class Explanation:
    """What `explain` found.

    Attributes
    ----------
    rows
        One for each operation, in the order in which they run.
    examples
        The size of each map.
    choices
        What the next such call runs, NumPy or kernels, and why; one for each map.
    kernels
        The kernels that there are, or would be if it were compiled; each with its ``ir`` and
        ``assembly``.
    left
        What is left to NumPy when the rest is compiled, and why.
    """

    def __init__(
        self,
        name: str,
        rows: list[Row],
        examples: list[int],
        choices: Sequence[Choice] = (),
        kernels: Sequence[KernelView] = (),
        left: Sequence[Left] = (),
    ) -> None:
        self.name = name
        self.rows = rows
        self.examples = examples
        self.choices = list(choices)
        self.kernels = list(kernels)
        self.left = list(left)

    @property
    def nbytes(self) -> int:
        """The bytes of all intermediates and results together, but for what kernels keep inside."""
        return sum(row.nbytes for row in self.rows if not row.is_view)

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {len(self.rows)} operations>"

    def __str__(self) -> str:
        found = Counter([row.fate for row in self.rows])
        counts = [f"{found[fate]} {fate}" for fate in (HOISTED, BATCHED, LOOPED)]
        rest = BRANCHED, LOCKSTEP, DIVERGED
        counts += [f"{found[fate]} {fate}" for fate in rest if found[fate]]
        fates = {row.fate for row in self.rows if row.in_kernel}
        if fates:
            members = sum([found[fate] for fate in fates])
            counts.append(f"{members} in {len(fates)} kernel{'s' * (len(fates) > 1)}")
        maps = " and ".join(f"{n:,} examples" for n in self.examples) or "no map"
        lines = [
            f"{self.name}: {maps}, {len(self.rows)} operations ({', '.join(counts)}), "
            f"{size_of(self.nbytes)} of intermediates and results"
        ]
        names = {COMPILE: "compiled", INTERPRET: "interpreted"}
        told = [f"the next call is {names[c.backend]}: {c.reason}" for c in self.choices]
        lines += dict.fromkeys(told)
        by_line: dict[tuple[str, int], list[Row]] = {}
        for row in self.rows:
            place = row.location
            by_line.setdefault((place.file, place.line) if place else ("", 0), []).append(row)
        file = None
        for (name, number), rows in sorted(by_line.items()):
            if name != file:
                lines += ["", name or "(no source)"]
                file = name
            lines.append(f"{number:5d} | {linecache.getline(name, number).strip()}")
            for row in rows:
                size = "view" if row.is_view else size_of(row.nbytes)
                if row.in_kernel and not row.nbytes:
                    size = ""
                line = f"      |   {row.operation:<18} {row.fate:<9} {row.result:<24} {size}"
                lines.append(line.rstrip())
        if self.kernels:
            is_used = any(row.in_kernel for row in self.rows)
            lines += ["", "kernels" if is_used else "kernels, if it is compiled"]
            lines += [f"{kernel.number:5d} | {kernel}" for kernel in self.kernels]
        if self.left:
            lines += ["", "left to NumPy" if self.kernels else "why nothing is compiled"]
            for place, text in dict.fromkeys([(_line(it.location), str(it)) for it in self.left]):
                lines.append(f"{place:>5} | {text}")
        return "\n".join(lines)


def _line(location: Location | None) -> str:
    return "" if location is None else str(location.line)


def explain(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Call a mapped function, and print for each line what the next such call makes of it.

    For every line of the user's source: the operations that it became; whether each is *hoisted*
    (computed once, as no example differs), *batched* (all examples in one operation), *looped*
    (one example at a time, as there is no rule to batch it) or in a *kernel* (compiled); the type
    of its result; its bytes. Control flow is *branched* (all examples take the same branch), in
    *lockstep* (all make the same turns of a loop) or *divergent* (examples that go the same way run
    together, in batches of up to the size that is shown); what it holds stands with it, with the
    bytes of one turn.

    Then the kernels, also where they would be compiled only after more calls: the lines and the
    operations that each holds, how many examples it computes at once, about how much it computes,
    reads and writes. And what is left to NumPy, with the reason.

    Parameters
    ----------
    func : callable
        What `lanewise.vmap` returned, or any function that maps while it runs.
    *args, **kwargs
        What to call it with.

    Returns
    -------
    Explanation
        The same as data: ``rows``, ``nbytes``, ``choices``, ``kernels`` (with the ``ir`` and
        ``assembly`` of each), ``left``; ``str()`` of it is what was printed.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> seen = lw.explain(lw.vmap(lambda x, w: x * np.exp(w), in_dims=(0, None)),
    ...                   np.ones((8, 4)), np.ones(4))  # doctest: +ELLIPSIS
    vmap of <lambda>: 8 examples, 2 operations (1 hoisted, 1 batched, 0 looped), 288 B of ...
    the next call is interpreted: NumPy should take ... more such calls
    ...
    >>> [(row.operation, row.fate, row.nbytes) for row in seen.rows]
    [('exp', 'hoisted', 32), ('multiply', 'batched', 256)]
    >>> [(kernel.operations, kernel.nbytes) for kernel in seen.kernels]
    [(2, 544)]
    """
    with observing() as programs:
        func(*args, **kwargs)
    rows, choices, kernels, refused = [], [], [], []
    for program in programs:
        walker = _Walker(kernels)
        graph = _native(program, refused)
        choice = program.choice
        if graph is None and not program.graph.has_effects and choice.backend == COMPILE:
            choice = replace(choice, backend=INTERPRET, reason="nothing in it has a native form")
        choices.append(choice)
        lowered = walker.lowered(program.graph if graph is None else graph)
        if graph is not None and choice.backend == INTERPRET:
            walker.list_kernels(lowered, program.sizes)
            lowered = walker.lowered(program.graph)
        rows += walker.walk(lowered, program.sizes, None)
    examples = [
        evaluate(op.params["size"], program.sizes)
        for program in programs
        for op in program.graph.operations
        if op.primitive is map_
    ]
    kind = _KINDS.get(type(func), "")
    name = function_name(getattr(func, "__wrapped__", func) if kind else func).rpartition(".")[2]
    explanation = Explanation(kind + name, rows, examples, choices, kernels, refused)
    print(explanation)
    return explanation


#: What to call the functions of a batch.
_KINDS = {
    vmap.Mapped: "vmap of ",
    vectorize.vectorize: "vectorize of ",
    function.Function: "function ",
}


def _native(program: Program, refused: list[Left]) -> Graph | None:
    """Return the graph of a program with its kernels, if it has any; note what is left to NumPy."""
    if program.graph.has_effects:
        return None
    return program.executable.native_graph(lambda f: refused.append(left(f)), program.sizes)


class _Walker:
    """Goes through lowered graphs, and knows what each operation in them was made from.

    Parameters
    ----------
    kernels
        Those that it finds are added here.
    """

    def __init__(self, kernels: list[KernelView] | None = None) -> None:
        self.kernels = [] if kernels is None else kernels
        self.origin: dict[Value, tuple[Operation, str]] = {}
        self.checks: dict[Location | None, str] = {}  # operations without results have their place

    def report(self, op: Operation, fate: str, made: Sequence[Operation]) -> None:
        for new in made:
            if new.results:
                self.origin.setdefault(new.results[0], (op, fate))
        if not op.results:
            fates = fate, self.checks.get(op.location, HOISTED)
            self.checks[op.location] = max(fates, key=_RANK.__getitem__)

    def lowered(self, graph: Graph) -> Graph:
        return lower(graph, self.report)

    def walk(self, graph: Graph, sizes: dict[str, int], inherited: str | None) -> Iterator[Row]:
        """Yield a row for each operation; `inherited` is the fate of all that is within a loop."""
        for op in graph.operations:
            if op.primitive is constant:
                continue
            if op.primitive is map_:
                yield from self.map(op, sizes, inherited)
                continue
            fate = self.fate(op, inherited)
            if op.primitive in CONTROL and fate == BATCHED:
                fate = BRANCHED if op.primitive in BRANCHES else LOCKSTEP
            yield _row(op, op.results, fate, sizes)
            for region in op.regions:
                yield from self.walk(region, sizes, inherited)

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
        elif op.params["order"] == DIVERGENT:
            yield from self.divergent(op, sizes, inherited)
        elif chunk is None:
            yield from self.walk(op.regions[0], sizes, LOOPED)
        else:  # chunk after chunk, each of them as a whole
            part = chunked_graph(op)
            number = min(chunk, evaluate(op.params["size"], sizes))
            name = str(part.operations[-1].params["size"])
            yield from self.walk(self.lowered(part), {**sizes, name: number}, inherited)

    def native(self, op: Operation, sizes: dict[str, int]) -> Iterator[Row]:
        """Yield the rows of a kernel: of its operations those take memory that it gives."""
        number = len(self.kernels) + 1
        self.kernels.append(view(op, sizes, number))
        fate = f"{KERNEL} {number}"
        (body,) = op.regions
        given = dict(zip(body.outputs, op.results, strict=True))
        for inner in inner_operations(body):
            row = _row(inner, inner.results, fate, sizes)
            written = [given.pop(value) for value in inner.results if value in given]
            nbytes = _row(inner, written, fate, sizes).nbytes
            yield replace(row, nbytes=nbytes, is_view=False)
        for result in given.values():  # what it takes, or a constant, for each example
            yield replace(_row(op, [result], fate, sizes), operation="copy")

    def list_kernels(self, graph: Graph, sizes: dict[str, int]) -> None:
        """Note the kernels of a graph that is not going to run."""
        for op in graph.operations:
            if op.params.get("order") == NATIVE:
                self.kernels.append(view(op, sizes, len(self.kernels) + 1))

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
        yield _row(inner, op.results, DIVERGED if inherited is None else inherited, sizes)
        sizes = {**sizes, str(size): evaluate(op.params["size"], sizes)}
        for region in regions:
            yield from self.walk(region, sizes, inherited)


def _row(op: Operation, results: Sequence[Value], fate: str, sizes: dict[str, int]) -> Row:
    arrays = [value.type for value in results if isinstance(value.type, ArrayType)]
    return Row(
        op.location,
        _name(op),
        fate,
        ", ".join(map(str, arrays)),
        sum(evaluate(type_.nbytes, sizes) for type_ in arrays),
        op.primitive in VIEWS,
    )


def _name(op: Operation) -> str:
    """Return the operation's name, with the ufunc that a reduction or its like is about."""
    fn = op.params.get("fn")
    return f"{op.primitive.name}({getattr(fn, '__name__', fn)})" if fn else op.primitive.name
