"""What the runtime makes of graphs, on those of the text files beside this module."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from itertools import groupby
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from lanewise.ir.graph import Graph, Operation
from lanewise.ir.text import format_graph
from lanewise.runtime.binding import bind, input_sizes, learned_symbols, of_any_size
from lanewise.runtime.divergent import divergent
from lanewise.runtime.emit import Source, filled_by
from lanewise.runtime.expressions import array_expression, scalar_expression
from lanewise.runtime.interpret import Plan
from lanewise.runtime.memory import Memory, analyze
from lanewise.runtime.parts import peak
from lanewise.runtime.reference import run
from support.cases import Case, cases_beside
from support.steps import assert_means_the_same, check, operations


def _source(graph: Graph, sized: bool = False) -> str:
    """Return the source of a graph's plan, and what the names in it stand for."""

    def runner(op: Operation, given: Collection[int]) -> Any:
        def made(*operands: Any) -> Any: ...

        made.__qualname__ = f"runs {op.primitive.name}, may write to {sorted(given)}"
        return made

    assert_means_the_same(graph, graph)
    source = Source(graph, runner, sized=sized)
    names = [f"{name}: {_thing(thing)}" for name, thing in source.names.items()]
    return "\n".join([source.text, *names])


def _thing(thing: Any) -> str:
    if isinstance(thing, partial):
        return f"{_thing(thing.func)}, with {', '.join(thing.keywords) or thing.args}"
    if isinstance(thing, FunctionType):
        return thing.__qualname__
    return getattr(thing, "__name__", None) or " ".join(repr(thing).split())


def _memory(graph: Graph, given: Collection[int] = (), lent: Collection[int] = ()) -> str:
    """Return what each operation may write to, and which inputs of the graph are written to."""

    def lines(graph: Graph, memory: Memory) -> list[str]:
        found = []
        for op in graph.operations:
            said = []
            if op in memory.in_place:
                said.append("writes to its operand")
            if op in memory.copied:
                said.append(f"copies {sorted(memory.copied[op]) or 'nothing'} before it begins")
            if op in memory.given:
                said.append(f"may write to operands {sorted(memory.given[op])}")
            if op is memory.first_lent:
                said.append("is the first to write to what is lent")
            if said:
                result = ", ".join([f"%{value.index}" for value in op.results])
                found.append(f"{result} = {op.primitive.name}: {'; '.join(said)}")
            for region, inner in zip(op.regions, memory.regions.get(op, ()), strict=False):
                found += [f"  {line}" for line in lines(region, inner)]
        return found

    assert_means_the_same(graph, graph)
    memory = analyze(graph, given, lent)
    written = [f"%{value.index}" for value in graph.inputs if value in memory.written]
    return "\n".join([*lines(graph, memory), f"written: {', '.join(written) or 'no input'}"])


def _expressions(graph: Graph) -> str:
    """Return what each operation is in Python source, where it is no call of NumPy."""

    def refer(thing: Any) -> str:
        thing = thing.func if isinstance(thing, partial) else thing
        return str(thing) if isinstance(thing, np.generic) else _thing(thing)

    def say(op: Operation) -> str:
        names = [f"v{value.index}" for value in op.operands]
        known = scalar_expression(op, names, refer, {}) or array_expression(op, names, refer, str)
        return known or "a call"

    return operations(graph, say)


def _sizes(graph: Graph, **sizes: int) -> str:
    """Return where sizes are read, which operations bring in, and the types at certain sizes."""
    read = [
        f"{n} of input {i}, axis {axis}" + (f", less {less}" if less else "")
        for n, i, axis, less in input_sizes(graph)
    ]
    learned = sorted(learned_symbols(graph))
    lines = [f"read: {'; '.join(read) or 'none'}", f"learned: {', '.join(learned) or 'none'}"]
    for op in graph.operations:
        if op.regions:
            lines.append(f"{op.primitive.name}: {'any' if of_any_size(op) else 'known'} size")
    if sizes:
        types = [repr(bind(value.type, sizes)) for value in graph.outputs]
        lines.append(f"results: {', '.join(types)}")
    return "\n".join(lines)


def _filled(graph: Graph) -> str:
    found = filled_by(graph)

    def say(op: Operation) -> str | None:
        return f"writes rows of %{found[op].results[0].index}" if op in found else None

    return operations(graph, say) or "nothing is filled"


def _ways(graph: Graph, show: bool = True, **arrays: Any) -> str:
    """Run the divergent map of a graph; return its plans, and what each ran on how many examples.

    Of the arrays, ``a`` is that of the first input, ``b`` of the second and so on.
    """
    (op,) = graph.operations
    plans: list[str] = []
    runs: list[str] = []

    class Noted(Plan):
        def step(self, *arguments: Any) -> list[Any]:
            size = arguments[0].get("live")
            runs.append(f"plan {number[self]} " + ("alone" if size is None else f"of {size}"))
            return super().step(*arguments)

    number: dict[Any, int] = {}

    def make(graph: Graph, given: Collection[int] = ()) -> Plan:
        plan = Noted(graph, sized=True, given=given)
        number[plan] = len(plans)
        plans.append(f"plan {len(plans)}:\n{format_graph(graph)}")
        return plan

    taken = [np.asarray(arrays[name]) for name in sorted(arrays)]
    given = [np.array(x, value.type.dtype) for x, value in zip(taken, graph.inputs, strict=True)]
    before = [x.copy() for x in given]
    sizes = {"n": next(len(x) for x in given if x.ndim)}
    results = divergent(op, make)(sizes, *given)
    for x, y in zip(given, before, strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(results, run(graph, *given), strict=True):
        np.testing.assert_array_equal(x, y)
    told = [(name, len(list(same))) for name, same in groupby(runs)]
    parts = [f"{name} ({count} times)" if count > 1 else name for name, count in told]
    lines = [*(plans if show else ()), f"runs: {', '.join(parts) or 'none'}"]
    return "\n".join([*lines, *[f"gives {np.asarray(x).tolist()}" for x in results]])


def _bytes(graph: Graph, **sizes: int) -> str:
    """Return the most bytes that values take at one time."""
    return f"{peak(graph, sizes, lambda op: 100)} bytes"


STEPS = {
    "bytes": _bytes,
    "expressions": _expressions,
    "filled": _filled,
    "memory": _memory,
    "sizes": _sizes,
    "source": _source,
    "ways": _ways,
}


@pytest.mark.parametrize("case", cases_beside(__file__))
def test_step(case: Case):
    check(case, STEPS)
