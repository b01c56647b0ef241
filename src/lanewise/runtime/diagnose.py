"""After a failure: which example, and which line of the user's, raised the error.

An operation on a whole batch raises for the batch, and it may do so for a later example than the
first that fails in the loop over them. So the first example that fails in any way is found by
running halves of the batch again, which costs about one more run, and only after a failure. What it
raises alone is what the loop would have raised. The line is found by running that example operation
by operation, through its branches and the turns of its loops. Where a kernel has found the example
(``mend.py``), there is nothing to search. Graphs with host code are not run again, since the host
would see it: there the loop over the examples tells.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Sequence
from traceback import walk_tb
from typing import Any

import numpy as np

from lanewise.errors import annotate, size_of
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.location import PLAN, shown_place
from lanewise.ir.types import ArrayType
from lanewise.ops.regions import map_
from lanewise.runtime.binding import defined_size, read_sizes, sizes_of
from lanewise.runtime.failed import first_failing
from lanewise.runtime.interpret import (
    LocatedError,
    Plan,
    chunked_graph,
    examples_of,
    planned,
    told,
)


def explain_failure(
    error: Exception, graph: Graph, arguments: Sequence[Any], among: slice | None = None
) -> Exception:
    """Return the error of the first failing example, which names it and the user's line.

    It is the error itself, which a run raised, where no example fails alone or none may run again.
    Where it is known ``among`` which examples the first is that fails, and the graph is one map, no
    others are run again.
    """
    if isinstance(error, MemoryError):
        annotate(error, _short_of(error, graph, read_sizes(graph, arguments)))
    if graph.has_effects or isinstance(error, MemoryError):
        return error
    sizes = read_sizes(graph, arguments)
    if among is not None and _is_one_map(graph):
        failure = _locate_in_map(graph.operations[0], arguments, sizes, among)
    else:
        failure = _locate(graph, arguments, sizes)
    if failure is None:
        return error
    annotate(failure.error, told(failure.example, failure.op))
    return failure.error


def _short_of(error: MemoryError, graph: Graph, sizes: dict[str, int]) -> str:
    """Return where memory was short, how much the results take, and what takes less."""
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        if frame.f_code.co_name == PLAN:
            file = frame.f_code.co_filename
            source = linecache.getline(file, line).strip()
            place = f" ({shown_place(file, line)}{': ' * bool(source)}{source})"
    maps = [op for op in graph.operations if op.primitive is map_]
    try:
        count = max([evaluate(op.params["size"], sizes) for op in maps], default=0)
        types = [value.type for value in graph.outputs if isinstance(value.type, ArrayType)]
        results = sum([evaluate(type.nbytes, sizes) for type in types])
    except KeyError:  # of a size that is found only as it runs
        return f"memory was short{place}"
    if not maps:
        return f"memory was short{place}; the results take {size_of(results)}"
    told = f"memory was short for {count:,} examples{place}; the results take {size_of(results)}"
    dtype = getattr(error, "dtype", np.dtype(bool))
    wanted = math.prod(getattr(error, "shape", ())) * dtype.itemsize
    if wanted > results:
        return f"{told}. With chunk_size= what is computed on the way takes less"
    return (
        f"{told}. Map a part of the examples at a time, or use `lanewise map`, which writes the "
        "results to a file as it goes"
    )


def _is_one_map(graph: Graph) -> bool:
    """Whether a graph is a map of its inputs, so that examples are parts of the arguments."""
    (op, *others) = graph.operations or (None,)
    return op is not None and op.primitive is map_ and not others and op.operands == graph.inputs


def _locate(graph: Graph, arguments: Sequence[Any], sizes: dict[str, int]) -> LocatedError | None:
    """Run a graph operation by operation; return the failure of the first that fails."""
    values: dict[Value, Any] = dict(zip(graph.inputs, arguments, strict=True))
    for op in graph.operations:
        operands = [values[value] for value in op.operands]
        if op.primitive.is_definition:
            sizes = {**sizes, **defined_size(op, *operands)}
            continue
        single = op.alone()
        given = dict(zip(op.operands, operands, strict=True)).values()
        try:
            outputs = planned(single, sized=True).step(sizes, *given)
        except Exception as error:
            if op.primitive is map_:
                return _locate_in_map(op, operands, sizes)
            try:  # without lowering it, so maps within run one example after the other
                Plan(single, sized=True, tells=True).step(sizes, *given)
            except LocatedError as failure:
                return failure
            return LocatedError(error, op)  # it fails where it is lowered
        values.update(zip(op.results, outputs, strict=True))
        sizes = {**sizes, **sizes_of(op.results, outputs)}
    return None


def _locate_in_map(
    op: Operation, operands: Sequence[Any], sizes: dict[str, int], among: slice | None = None
) -> LocatedError | None:
    """Return the failure of the first example of a map that fails, found by bisection.

    None where the batch as a whole fails, and no example by itself. Only those `among` are run.
    """
    (body,) = op.regions
    in_dims = op.params["in_dims"]
    counts = [
        np.shape(x)[axis] for x, axis in zip(operands, in_dims, strict=True) if axis is not None
    ]
    if not counts:  # no example differs from another: the first fails as all do
        return _numbered(0, _locate(body, operands, sizes))
    graph = chunked_graph(op)
    plan = planned(graph, sized=True)

    def fails(low: int, high: int) -> bool:
        parts = examples_of(operands, in_dims, slice(low, high))
        try:
            plan.step({**sizes, **read_sizes(graph, parts)}, *parts)
        except Exception:
            return True
        return False

    start, stop, _ = (among or slice(None)).indices(counts[0])
    first = start + first_failing(stop - start, lambda low, high: fails(start + low, start + high))
    if start == stop or not fails(first, first + 1):
        return None
    return _numbered(first, _locate(body, examples_of(operands, in_dims, first), sizes))


def _numbered(number: int, failure: LocatedError | None) -> LocatedError | None:
    if failure is not None:
        failure.example = (number, *failure.example)
    return failure
