"""The interpreter: NumPy, one operation at a time. It defines what a graph means.

A graph is made into a `Plan` once: a line for each operation, which calls the primitive's NumPy
meaning, and one that drops what is not read again. Sizes of symbolic dimensions are read off the
arguments at each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from lanewise.errors import annotate, at
from lanewise.ir.dims import Dim, evaluate, symbols
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.types import ArrayType, TokenType, array_type
from lanewise.ops.creation import constant, iota
from lanewise.ops.regions import PARALLEL, example_type, map_
from lanewise.passes.pipeline import lower
from lanewise.passes.simplify import eliminate_dead


class LocatedError(Exception):
    """An error in a graph with host code, on its way out of the maps that it happened in.

    Such a graph is not run again to find out what failed, since the host would see it.
    """

    def __init__(self, error: Exception, op: Operation) -> None:
        super().__init__(error)
        self.error = error
        self.op = op
        self.example: tuple[int, ...] = ()


class Plan:
    """A graph ready to run on arrays, as a straight-line Python function of NumPy calls.

    Thread-safe: a run keeps its values to itself, and drops each after its last use.
    """

    __slots__ = ("_run", "graph")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        source, names = _write(graph)
        exec(compile(source, "<lanewise plan>", "exec"), names)
        # Taken out of its own globals, or each plan would be a cycle for the collector.
        self._run: Callable[..., list[Any]] = names.pop("run")

    def __call__(self, *arguments: Any) -> list[Any]:
        """Run on one array for each input of the graph (None for a token)."""
        try:
            return self._run(*arguments)
        except LocatedError as failure:
            error = failure.error
            annotate(error, told(failure.example, failure.op))
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def step(self, *arguments: Any) -> list[Any]:
        """Run as a part of another plan, which adds to a `LocatedError` where it happened."""
        return self._run(*arguments)


def told(example: tuple[int, ...], op: Operation) -> str:
    """Return what to add to the message of an error about where it happened."""
    where = f"in example {', '.join(map(str, example))}" if example else "in the mapped function"
    return where + at(op._place)


def _write(graph: Graph) -> tuple[str, dict[str, Any]]:
    """Return the source of a plan's function ``run``, and the functions and constants it names."""
    name = {value: f"v{index}" for index, value in enumerate(graph.inputs)}
    names: dict[str, Any] = {}
    lines = [f"def run({', '.join(name.values())}):"]
    sizes = {
        str(dim): f"{name[value]}.shape[{axis}]"
        for value in graph.inputs
        if isinstance(value.type, ArrayType)
        for axis, dim in enumerate(value.type.shape)
        if isinstance(dim, Dim)
    }
    body: list[str] = []
    last_uses = _last_uses(graph)
    needs_sizes, tells = False, graph.has_effects
    for position, op in enumerate(graph.operations):
        for result in op.results:
            name[result] = f"v{len(name)}"
        if op.primitive in (constant, iota) and not _has_dim(op.params):
            array = op.primitive.numpy(**op.params)
            array.flags.writeable = False  # it stays in the plan, so nobody may own it
            names[name[op.results[0]]] = array
            continue
        takes_sizes = op.primitive is map_ or _has_dim(op.params)
        needs_sizes |= takes_sizes
        names[f"f{position}"] = _telling(op) if tells else _callable(op)
        operands = [name[value] for value in op.operands]
        call = f"f{position}({', '.join(['sizes'] * takes_sizes + operands)})"
        several = len(op.results) != 1 or op.primitive is map_
        targets = ", ".join(name[value] for value in op.results) + "," * several
        body.append(f"    {targets} = {call}")
        freed = [name[v] for v in last_uses.get(op, ()) if name[v] not in names]
        if freed:
            body.append(f"    {' = '.join(freed)} = None")
    if needs_sizes:
        entries = ", ".join(f"{key!r}: {value}" for key, value in sizes.items())
        lines.append(f"    sizes = {{{entries}}}")
    results = ", ".join(name[value] for value in graph.outputs)
    return "\n".join([*lines, *body, f"    return [{results}]"]), names


def interpret(graph: Graph, *arguments: Any) -> list[Any]:
    """Run a graph on arrays: lower its maps, then one operation at a time."""
    return Plan(lower(graph))(*arguments)


def read_sizes(graph: Graph, arguments: Sequence[Any]) -> dict[str, int]:
    """Return the sizes that the arguments give to the symbolic dimensions of a graph's inputs."""
    return {
        str(dim): size
        for value, array in zip(graph.inputs, arguments, strict=True)
        if isinstance(value.type, ArrayType)
        for dim, size in zip(value.type.shape, array.shape, strict=True)
        if isinstance(dim, Dim)
    }


def _last_uses(graph: Graph) -> dict[Operation, list[Value]]:
    """Return for each operation the values that nobody reads after it."""
    last: dict[Value, Operation] = {}
    for op in graph.operations:
        for value in (*op.operands, *op.results):
            last[value] = op
    uses: dict[Operation, list[Value]] = {}
    kept = set(graph.outputs)
    for value, op in last.items():
        if value not in kept:
            uses.setdefault(op, []).append(value)
    return uses


def _callable(op: Operation) -> Callable[..., Any]:
    """Return what a step calls: the primitive's NumPy meaning with its parameters bound."""
    if op.primitive is map_:
        return _loop(op)
    if _has_dim(op.params):
        numpy, params = op.primitive.numpy, op.params
        return lambda sizes, *arrays: numpy(*arrays, **_bind(params, sizes))
    plain = op.primitive.ufunc
    if plain is not None and op.params.get("dtype") is None:
        return plain
    return partial(op.primitive.numpy, **op.params) if op.params else op.primitive.numpy


def _telling(op: Operation) -> Callable[..., Any]:
    """Return what a step of a graph with host code calls: if it fails, it says where."""
    call = _callable(op)

    def tell(*operands: Any) -> Any:
        try:
            return call(*operands)
        except LocatedError:
            raise
        except Exception as error:
            raise LocatedError(error, op) from None

    return tell


def _has_dim(value: Any) -> bool:
    if isinstance(value, Dim):
        return True
    if isinstance(value, dict):
        return any(_has_dim(part) for part in value.values())
    if isinstance(value, tuple):
        return any(_has_dim(part) for part in value)
    return isinstance(value, ArrayType) and _has_dim(value.shape)


def _bind(value: Any, sizes: dict[str, int]) -> Any:
    """Return a parameter with its symbolic dimensions replaced by their sizes."""
    if isinstance(value, Dim):
        return evaluate(value, sizes)
    if isinstance(value, dict):
        return {name: _bind(part, sizes) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple([_bind(part, sizes) for part in value])
    if isinstance(value, ArrayType):
        return array_type(value.dtype, _bind(value.shape, sizes))
    return value


def _loop(op: Operation) -> Callable[..., Any]:
    """Return the runner of a sequential map: examples, or chunks of them, one after the other."""
    (body,) = op.regions
    params = op.params
    chunk = params["chunk"]
    plan = Plan(eliminate_dead(body) if chunk is None else lower(chunked_graph(op)))
    in_dims, out_mapped = params["in_dims"], params["out_mapped"]
    types = [value.type for value in op.results]

    def run(sizes: dict[str, int], *operands: Any) -> tuple[Any, ...]:
        size = evaluate(params["size"], sizes)
        results = [
            np.empty(_bind(t.shape, sizes), t.dtype)
            if isinstance(t, ArrayType) and mapped
            else None
            for t, mapped in zip(types, out_mapped, strict=True)
        ]
        state = list(operands)  # a token passes from one turn to the next
        step = chunk or 1
        # A chunked map of no examples runs once, on none, for its unmapped results.
        for start in range(0, size if chunk is None else max(size, 1), step):
            part: Any = start if chunk is None else slice(start, start + step)
            arguments = [
                operand if axis is None else operand[(*(slice(None),) * axis, part)]
                for operand, axis in zip(state, in_dims, strict=True)
            ]
            try:
                outputs = plan.step(*arguments)
            except LocatedError as failure:
                if chunk is None:
                    failure.example = (start, *failure.example)
                elif failure.example:
                    failure.example = (start + failure.example[0], *failure.example[1:])
                raise
            for index, (output, mapped) in enumerate(zip(outputs, out_mapped, strict=True)):
                stacked = results[index]
                if mapped and stacked is not None:
                    stacked[part] = output
                else:
                    results[index] = output
        return tuple(results)

    return run


def chunked_graph(op: Operation) -> Graph:
    """Return the graph of one chunk of a chunked map: a parallel map of unknown size."""
    builder = Builder()
    taken = {
        name
        for operand in op.operands
        if isinstance(operand.type, ArrayType)
        for dim in operand.type.shape
        for name in symbols(dim)
    }
    # A chunked map inside another one's chunk has a size of its own.
    size = Dim.symbol(next(n for i in count() if (n := f"chunk{i or ''}") not in taken))
    (body,) = op.regions
    operands = []
    for operand, axis in zip(op.operands, op.params["in_dims"], strict=True):
        type_ = operand.type
        if axis is not None and not isinstance(type_, TokenType):
            inner = example_type(type_, axis)
            type_ = array_type(inner.dtype, (*inner.shape[:axis], size, *inner.shape[axis:]))
        operands.append(builder.input(type_))
    params = {**op.params, "size": size, "order": PARALLEL, "chunk": None}
    results = builder.emit(map_, tuple(operands), params, (body,))
    return builder.finish(results)
