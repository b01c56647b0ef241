"""The interpreter: NumPy, one operation at a time. It defines what a graph means.

A graph is made into a `Plan` once: a line for each operation, which calls the primitive's NumPy
meaning, and one that drops what is not read again; see emit.py. Sizes of symbolic dimensions are
read off the arguments at each run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lanewise.errors import annotate, at
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.location import PLAN
from lanewise.ir.types import ArrayType, symbols_in
from lanewise.ops.movement import reshape
from lanewise.ops.regions import DIVERGENT, NATIVE, PARALLEL, SEQUENTIAL, map_
from lanewise.passes.lanes import map_alone
from lanewise.passes.pipeline import RECORDED, lower
from lanewise.passes.specialize import fresh
from lanewise.passes.survive import survives
from lanewise.runtime.binding import bind, sizes_of
from lanewise.runtime.clock import Clock
from lanewise.runtime.divergent import Make, divergent
from lanewise.runtime.emit import Source
from lanewise.runtime.memory import Memory, Overwriting, analyze
from lanewise.runtime.owning import is_own
from lanewise.runtime.placing import line_of, module_of, relocated
from lanewise.runtime.reference import run as run_plainly


class LocatedError(Exception):
    """What an operation raises, and in which example, on its way out of maps and regions.

    Plans tell of it where a graph has host code, which is not run again to find out what failed;
    else it is found by running the graph again (`lanewise.runtime.diagnose`).
    """

    def __init__(self, error: Exception, op: Operation) -> None:
        super().__init__(error)
        self.error = error
        self.op = op
        self.example: tuple[int, ...] = ()


class MapRunner(NamedTuple):
    """What runs maps of an order."""

    #: Returns what runs a map, which may write to the operands at some positions, and makes plans
    #: of its regions by the function that it is given.
    make: Callable[[Operation, Collection[int], Make], Callable[..., Any]]
    #: Returns which of its free operands results of a map may lie in, with these results.
    overwriting: Overwriting = lambda op, free: ()


#: What runs maps, by their order. That of native ones comes with `lanewise.runtime.kernels`.
RUNNERS: dict[str, MapRunner] = {
    DIVERGENT: MapRunner(  # what it did may have been found to be of no use
        lambda op, given, make: (divergent if op.regions[0].operations else sequential)(op, make)
    ),
    SEQUENTIAL: MapRunner(lambda op, given, make: sequential(op, make)),
    PARALLEL: MapRunner(lambda op, given, make: sequential(op, make)),  # in chunks
}


class Plan:
    """A graph ready to run on arrays, as a straight-line Python function of NumPy calls.

    Thread-safe: a run keeps its values to itself, and drops each after its last use. Maps of the
    graph run one example after the other, unless they are lowered.

    Where it is ``sized``, a run is given the sizes of the symbolic dimensions, as a dict before the
    arguments, and does not read them off these. It may write to arguments at the positions
    ``given``; ``memory.written`` says if it does. The last values of those that are ``lent`` are to
    lie in their memory, where that can be: they are these outputs. If it ``tells``, `step` says by
    a `LocatedError` where an error happened; by default where the graph has effects. Its operations
    read the ``clock`` when they are done, where they are to be measured.
    """

    __slots__ = ("_made", "_places", "_run", "_tells", "_written", "clock", "graph", "is_fresh",
                 "kernels", "lent", "memory")  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        *,
        sized: bool = False,
        tells: bool | None = None,
        given: Iterable[int] = (),
        lent: Mapping[int, int] = MappingProxyType({}),
        clock: Clock | None = None,
    ) -> None:
        self.graph = graph
        self.clock = clock
        self.lent = lent
        #: The native maps that it runs, also in plans within, and what these may write to.
        self.kernels: list[tuple[Operation, Collection[int]]] = []
        self.memory: Memory = analyze(graph, given, lent, _overwriting)
        self._tells = graph.has_effects if tells is None else tells
        source = Source(graph, self._runner, sized=sized, memory=self.memory, clock=clock)
        exec(compile(source.text, PLAN, "exec"), source.names)
        # Taken out of its own globals, or each plan would be a cycle for the collector.
        self._run: FunctionType = source.names.pop("run")
        self._places = source.places
        #: The first line of the source that runs when arguments are written to; 0 if none are.
        self._written = source.written
        self._made = self._run.__code__
        if source.file is not None:
            source.names["__name__"] = module_of(source.file)
            self._run.__code__ = relocated(self._made, source.file, source.user_lines())
        #: Whether each output, but those that are lent, is memory that nobody else knows.
        self.is_fresh = _is_fresh(graph, self.memory, lent)

    def has_written(self, error: Exception) -> bool:
        """Whether a run that raised had begun to write to arguments that are lent."""
        return self._written > 0 and self._line(error) >= self._written

    def __call__(self, *arguments: Any) -> list[Any]:
        """Run on one array for each input of the graph (None for a token)."""
        if not self._tells:
            return self._run(*arguments)
        try:
            return self.step(*arguments)
        except LocatedError as failure:
            error = failure.error
            annotate(error, told(failure.example, failure.op))
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def step(self, *arguments: Any) -> list[Any]:
        """Run as a part of another plan, which adds to a `LocatedError` where it happened."""
        if not self._tells:
            return self._run(*arguments)
        try:
            return self._run(*arguments)
        except LocatedError:
            raise
        except Exception as error:
            line = self._line(error)
            op = self._places[line - 1] if line else None
            if op is None:
                raise
            raise LocatedError(error, op) from None

    def _line(self, error: Exception) -> int:
        """Return the line of the source in which an error was raised; 0 if in none."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self._run.__code__:
            trace = trace.tb_next
        return 0 if trace is None else line_of((self._made, trace.tb_lasti))

    def _runner(self, op: Operation, given: Collection[int]) -> Callable[..., Any]:
        """Return what runs an operation with regions that is not written in place.

        It may write to the operands at the positions `given`.
        """
        clock = None if self.clock is None else self.clock.inside(op)

        def make(graph: Graph, given: Iterable[int] = ()) -> Plan:
            plan = Plan(graph, sized=True, tells=self._tells, given=given, clock=clock)
            self.kernels += plan.kernels
            return plan

        if op.primitive is not map_:  # control flow nested very deep
            plan = make(op.alone())
            return lambda sizes, *operands: plan.step(
                sizes, *dict(zip(op.operands, operands, strict=True)).values()
            )
        if op.params["order"] == NATIVE:
            self.kernels.append((op, given))
        return RUNNERS[op.params["order"]].make(op, given, make)


def _overwriting(op: Operation, free: Sequence[int]) -> Sequence[tuple[int, int]]:
    return RUNNERS[op.params["order"]].overwriting(op, free)


def _is_fresh(graph: Graph, memory: Memory, lent: Mapping[int, int]) -> bool:
    """Whether each output of a graph is a result of a kernel, perhaps of another shape.

    Those do not count that are the last values of arguments, nor may others lie in these.
    """
    taken = {graph.inputs[i] for i in lent}
    made = {}
    for op in graph.operations:
        if op.primitive is map_ and op.params["order"] == NATIVE:
            made.update({result: result for result in op.results})
        elif op.primitive is reshape and op.operands[0] in made:
            made[op.results[0]] = made[op.operands[0]]
    values = [value for i, value in enumerate(graph.outputs) if i not in lent.values()]
    found = [made.get(value) for value in values]
    is_apart = all([taken.isdisjoint(memory.roots[value]) for value in values])
    return is_apart and None not in found and len(set(found)) == len(found)


def told(example: tuple[int, ...], op: Operation) -> str:
    """Return what to add to the message of an error about where it happened."""
    where = f"in example {', '.join(map(str, example))}" if example else "in the traced function"
    return where + at(op.place)


class Plainly(Plan):
    """A graph ready to run without any plan: what is left where making one failed."""

    __slots__ = ("_sized",)

    def __init__(self, graph: Graph, *, sized: bool = False) -> None:
        self.graph = RECORDED(graph)
        self.clock, self.is_fresh, self._sized = None, False, sized
        self.lent: Mapping[int, int] = {}
        self._written = 0

    def __call__(self, *arguments: Any) -> list[Any]:
        """Run on one array for each input of the graph (None for a token)."""
        return self.step(*arguments)

    def step(self, *arguments: Any) -> list[Any]:
        """Run as a part of another plan."""
        sizes, arrays = (arguments[0], arguments[1:]) if self._sized else (None, arguments)
        return run_plainly(self.graph, *arrays, sizes=sizes)


def planned(
    graph: Graph, *, sized: bool = False, lent: Mapping[int, int] = MappingProxyType({})
) -> Plan:
    """Return the plan of a graph whose maps are not lowered yet."""
    try:
        return Plan(lower(graph), sized=sized, lent=lent)
    except Exception as error:
        if not survives(error, "planning", graph):
            raise
        return Plainly(graph, sized=sized)


def interpret(graph: Graph, *arguments: Any) -> list[Any]:
    """Run a graph on arrays: lower its maps, then one operation at a time."""
    return planned(graph)(*arguments)


def sequential(
    op: Operation, make: Make, lowers: Callable[[Graph], Graph] = lower
) -> Callable[..., Any]:
    """Return the runner of a sequential map: examples, or chunks of them, one after the other.

    The graph of a chunk is lowered as is said.
    """
    params = op.params
    chunk = params["chunk"]
    plan = make(op.regions[0] if chunk is None else lowers(chunked_graph(op)))
    in_dims, out_mapped = params["in_dims"], params["out_mapped"]
    types = [v.type if mapped else None for v, mapped in zip(op.results, out_mapped, strict=True)]

    def run(sizes: dict[str, int], *operands: Any) -> tuple[Any, ...]:
        size = evaluate(params["size"], sizes)
        results: list[Any] = [
            np.empty(bind(t.shape, sizes), t.dtype) if isinstance(t, ArrayType) else None
            for t in types
        ]
        step = chunk or 1
        # A chunked map of no examples runs once, on none, for its unmapped results.
        for start in range(0, size if chunk is None else max(size, 1), step):
            part: Any = start if chunk is None else slice(start, start + step)
            arguments = examples_of(operands, in_dims, part)
            around = sizes if chunk is None else {**sizes, **sizes_of(plan.graph.inputs, arguments)}
            try:
                outputs = plan.step(around, *arguments)
            except LocatedError as failure:
                if chunk is None:
                    failure.example = (start, *failure.example)
                elif failure.example:
                    failure.example = (start + failure.example[0], *failure.example[1:])
                raise
            for index, output in enumerate(outputs):
                others = [*operands, *outputs[:index], *outputs[index + 1 :]]
                if not isinstance(types[index], ArrayType):
                    results[index] = output
                elif size == 1 and chunk is None and is_own(output, others):
                    results[index] = output[np.newaxis]
                else:
                    results[index][part] = output
        return tuple(results)

    return run


def chunked_graph(op: Operation, in_dims: Sequence[int | None] = ()) -> Graph:
    """Return the graph of some examples of a map: a parallel map of unknown size.

    Operands that are mapped along other axes than the map's own have these in ``in_dims``.
    """
    taken = symbols_in(tuple([operand.type for operand in op.operands]))
    # A chunked map inside another one's chunk has a size of its own.
    size = fresh("chunk", taken)
    axes = tuple(in_dims or op.params["in_dims"])
    changed = {"size": size, "in_dims": axes, "order": PARALLEL, "chunk": None, "columns": ()}
    return map_alone(op.regions[0], {**op.params, **changed})


def examples_of(operands: Sequence[Any], in_dims: Sequence[int | None], which: Any) -> list[Any]:
    """Return some examples of the operands of a map, or one: what a key of its axis chooses."""
    return [
        x if axis is None else x[(*(slice(None),) * axis, which)]
        for x, axis in zip(operands, in_dims, strict=True)
    ]
