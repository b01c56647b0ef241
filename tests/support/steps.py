"""Steps on graphs as text: a case's text is a graph, each of its sections what one step gives.

A section is named by its step, with parameters as in a call: ``--- spread(totals=False)``. It holds
the graph after the step; ``unchanged``, if the step leaves the graph as it is; ``raises ValueError:
...``; or, of a step that only finds something out, what it found.

A graph after a step must be valid, give itself again when it is printed and parsed, and give what
the graph before it gives: both are run on random numbers, with the effects that they have.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import lanewise.runtime.kernels  # noqa: F401  (how native maps run)
from lanewise.ir.dims import Dim, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import ArrayType
from lanewise.ir.verify import verify
from lanewise.ops.contraction import gufunc
from lanewise.ops.custom import INLINED, LEFT
from lanewise.ops.registry import REGISTRY
from lanewise.runtime.interpret import interpret
from lanewise.runtime.reference import run
from support.cases import Case

Step = Callable[..., Graph | str]
#: What host functions were called with.
_calls: list[Any] = []
#: Graphs on more elements than this are run by plans, which do not take maps one by one.
_MOST = 1000


def note(*arguments: Any) -> Any:
    """Note a call; the host function of graphs that have effects."""
    _calls.append([np.asarray(x).tolist() for x in arguments])
    return [np.asarray(x) + 1 for x in arguments]


#: The host functions that the text of a graph may name.
HOST: dict[str, Any] = {
    "note": note,
    "ValueError": ValueError,
    "gufunc.matmul": gufunc(np.matmul),
    "gufunc.matvec": gufunc(np.matvec),
}


def parsed(text: str) -> Graph:
    """Return the graph that a text is of, with the operations and `HOST`."""
    graph = parse_graph(text, REGISTRY, HOST)
    verify(graph)
    return graph


def check(case: Case, steps: Mapping[str, Step]) -> None:
    """Assert what each section of a case says."""
    case.check([_section(case, name, steps) for name, _ in case.sections])


def _section(case: Case, name: str, steps: Mapping[str, Step]) -> str:
    graph = parsed(case.text)
    call = ast.parse(name, mode="eval").body
    assert isinstance(call, ast.Name | ast.Call), f"{name!r} is not a step"
    keywords = call.keywords if isinstance(call, ast.Call) else []
    options = {str(pair.arg): ast.literal_eval(pair.value) for pair in keywords}
    named = call.func if isinstance(call, ast.Call) else call
    assert isinstance(named, ast.Name)
    step = steps[named.id]
    try:
        found = step(graph, **options)
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    if isinstance(found, str):
        return found
    verify(found)
    text = format_graph(found)
    assert parsed(text).key == found.key
    assert_means_the_same(graph, found)
    return "unchanged" if text == format_graph(graph) else text


def assert_means_the_same(before: Graph, after: Graph) -> None:
    """Assert that two graphs give the same on random numbers, effects and errors included.

    The second graph may be of certain sizes, of which the first says nothing.
    """
    sizes = sizes_of(before, after)
    arguments = random_arguments(before, sizes)
    is_plain = all(np.size(x) <= _MOST for x in arguments) and not _is_inlined(before)
    plain = partial(run, sizes=dict(sizes))
    expected = _outcome(plain if is_plain else interpret, before, arguments)
    found = _outcome(interpret, after, arguments)
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, BaseException):
        return
    assert found[1] == expected[1], "the effects differ"
    for x, y in zip(found[0], expected[0], strict=True):
        if x is None or y is None:
            assert x is y
            continue
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def _is_inlined(graph: Graph) -> bool:
    """Whether a graph has operations that only `inline` gives a meaning."""
    return any(
        op.primitive in INLINED or op.primitive in LEFT or any(map(_is_inlined, op.regions))
        for op in graph.operations
    )


def _outcome(runner: Callable[..., Any], graph: Graph, arguments: Sequence[Any]) -> Any:
    _calls.clear()
    with np.errstate(all="ignore"):
        try:
            results = runner(graph, *[None if x is None else x.copy() for x in arguments])
        except (ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
            return error
    return results, list(_calls)


def sizes_of(before: Graph, after: Graph) -> dict[str, int]:
    """Return a size for each symbol of a graph: where another has a number, that; others differ."""
    sizes: dict[str, int] = {}
    for old, new in zip(before.inputs, after.inputs, strict=True):
        if isinstance(old.type, ArrayType):
            for dim, size in zip(old.type.shape, new.type.shape, strict=True):
                if isinstance(dim, Dim) and isinstance(size, int) and len(_symbols(dim)) == 1:
                    (name,) = _symbols(dim)
                    fitting = (n for n in range(100) if evaluate(dim, {name: n}) == size)
                    sizes[name] = next(fitting)
    names = sorted({s for v in before.inputs for d in _shape(v) for s in _symbols(d)})
    for number, name in enumerate(names):
        sizes.setdefault(name, 3 + number)
    return sizes


def _shape(value: Any) -> Sequence[Any]:
    return value.type.shape if isinstance(value.type, ArrayType) else ()


def _symbols(dim: Any) -> Sequence[str]:
    return sorted(set(symbols(dim))) if isinstance(dim, Dim) else []


def random_arguments(graph: Graph, sizes: Mapping[str, int]) -> list[Any]:
    """Return random arguments of a graph's types: small integers, and None for a token."""
    rng = np.random.default_rng(0)
    arguments: list[Any] = []
    for value in graph.inputs:
        if not isinstance(value.type, ArrayType):
            arguments.append(None)
            continue
        shape = tuple([evaluate(d, sizes) if isinstance(d, Dim) else d for d in value.type.shape])
        if value.type.dtype.kind in "iub":
            x = rng.integers(0, 2 if value.type.dtype.kind == "b" else 3, shape)
        else:
            x = rng.normal(size=math.prod(shape)).reshape(shape)
        arguments.append(np.asarray(x).astype(value.type.dtype))
    return arguments


def operations(graph: Graph, say: Callable[[Operation], str | None]) -> str:
    """Return a line for each operation of a graph of which something is said, regions included."""
    lines = []
    for op in graph.operations:
        said = say(op)
        if said is not None:
            names = ", ".join(f"%{value.index}" for value in op.results)
            lines.append(f"{names}{' = ' if names else ''}{op.primitive.name}: {said}")
        for region in op.regions:
            lines += [f"  {line}" for line in operations(region, say).splitlines()]
    return "\n".join(lines)
