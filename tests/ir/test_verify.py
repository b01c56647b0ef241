"""The verifier: each kind of broken graph is found, and named with its operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import InvalidGraphError
from lanewise.ir.graph import Builder, Graph, Operation, Signature, Value
from lanewise.ir.text import parse_graph
from lanewise.ir.types import TOKEN, TokenType, array_type
from lanewise.ir.verify import verify
from lanewise.ops.registry import REGISTRY
from lanewise.passes import pipeline
from lanewise.passes.steps import Step

F3 = array_type(np.dtype("f8"), (3,))
F4 = array_type(np.dtype("f8"), (4,))
ADD = REGISTRY["add"]


def add(builder: Builder, *operands: Value) -> Value:
    return builder.emit(ADD, operands, {"dtype": None})[0]


def forged(
    builder: Builder,
    name: str,
    operands: tuple[Value, ...],
    params: dict[str, Any],
    types: tuple[Any, ...],
    regions: tuple[Graph, ...] = (),
) -> tuple[Value, ...]:
    """Record an operation whose signature no type rule has seen."""
    return builder.append(Signature(REGISTRY[name], params, types, regions), operands)


def host(builder: Builder, token: Value) -> Value:
    params = {"func": print, "types": (), "vectorized": False}
    return builder.emit(REGISTRY["py_func"], (token,), params)[0]


def test_a_good_graph():
    verify(parse_graph(
        """
        graph(%0: token, %1: f64[n,3]) {
          %2: token, %3: f64[3] = py_func[func=<host f>, types=(f64[3],), vectorized=False](%0)
          %4: f64[n,3] = map[size=n, in_dims=(0, None), out_mapped=(True,)](%1, %3)
            graph(%0: f64[3], %1: f64[3]) {
              %2 = add(%0, %1)
              return %2
            }
          return %4, %2
        }""",
        REGISTRY,
        {"f": print},
    ))  # fmt: skip


def test_used_before_defined():
    builder = Builder()
    x = builder.input(F3)
    y = add(builder, x, x)
    add(builder, y, x)
    first, second = builder.operations
    with pytest.raises(InvalidGraphError, match=r"%1 is used before it is defined(.|\n)*add\(%1"):
        verify(Graph([x], [second, first], [y]))


def test_returned_but_never_defined():
    builder = Builder()
    x = builder.input(F3)
    y = add(builder, x, x)
    with pytest.raises(InvalidGraphError, match="%1 is used before it is defined"):
        verify(Graph([x], [], [y]))


def test_defined_twice():
    builder = Builder()
    x = builder.input(F3)
    y = add(builder, x, x)
    (op,) = builder.operations
    with pytest.raises(InvalidGraphError, match="%1 is defined twice"):
        verify(Graph([x], [op, op], [y]))
    with pytest.raises(InvalidGraphError, match="%0 is defined twice"):
        verify(Graph([x, Value(F3, 0)], [op], [y]))


def test_a_region_that_is_not_closed():
    builder = Builder()
    x = builder.input(F4)
    outside = builder.input(F3)
    inner = Builder()
    inner.count = 5
    z = inner.input(F3)
    region = inner.finish([add(inner, z, outside)])
    params = {"size": 4, "in_dims": (0,), "out_mapped": (True,), "order": "parallel",
              "chunk": None, "fallback": True, "fastmath": False, "columns": ()}  # fmt: skip
    results = forged(builder, "map", (x,), params, (F3,), (region,))
    with pytest.raises(InvalidGraphError, match=r"a region uses %1 of the graph around it, in\n"):
        verify(builder.finish(results))


def test_a_type_that_is_not_the_rules():
    builder = Builder()
    x = builder.input(F3)
    results = forged(builder, "add", (x, x), {"dtype": None}, (F4,))
    with pytest.raises(InvalidGraphError, match=r"types \(f64\[4\],\), but .* gives \(f64\[3\],\)"):
        verify(builder.finish(results))


def test_operands_that_the_rule_refuses():
    builder = Builder()
    x, y = builder.input(F3), builder.input(F4)
    results = forged(builder, "add", (x, y), {"dtype": None}, (F3,))
    with pytest.raises(InvalidGraphError, match="its type rule refuses: operands could not be"):
        verify(builder.finish(results))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "needs the parameter 'fn'"),
        ({"fn": np.add, "axes": (0,), "dtype": None, "more": 1}, "has no parameter more"),
        ({"axes": (0,), "fn": np.add, "dtype": None}, "in the order fn, axes, dtype"),
        ({"fn": np.add, "axes": [0], "dtype": None}, "unhashable type: 'list'"),
    ],
)
def test_parameters(params, message):
    builder = Builder()
    x = builder.input(F3)
    results = forged(builder, "reduce", (x,), params, (array_type(F3.dtype, ()),))
    with pytest.raises(InvalidGraphError, match=message):
        verify(builder.finish(results))


def test_a_token_used_twice():
    builder = Builder()
    token = builder.input(TOKEN)
    last = host(builder, token)
    host(builder, token)
    with pytest.raises(InvalidGraphError, match="the token %0 is used twice"):
        verify(Graph(builder.inputs, builder.operations, [last]))


def test_a_token_lost():
    builder = Builder()
    host(builder, builder.input(TOKEN))
    with pytest.raises(InvalidGraphError, match="the token %1 is lost"):
        verify(builder.finish([]))


def test_two_threads_of_effects():
    builder = Builder()
    tokens = [builder.input(TOKEN), builder.input(TOKEN)]
    assert all(isinstance(token.type, TokenType) for token in tokens)
    with pytest.raises(InvalidGraphError, match="more than one thread of effects"):
        verify(builder.finish(tokens))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"in_dims": (1,)}, "its type rule refuses"),
        ({"in_dims": (0, 0)}, "its type rule refuses"),
        ({"in_dims": (None,)}, "the region takes f64.*not a slice"),
        ({"size": 5}, "has no 5 examples along axis 0"),
        ({"out_mapped": ()}, "its type rule refuses"),
        ({"out_mapped": (False,)}, "its results have the types"),
    ],
)
def test_a_map_that_does_not_fit_its_region(change, message):
    inner = Builder()
    x = inner.input(F3)
    region = inner.finish([add(inner, x, x)])
    builder = Builder()
    operand = builder.input(array_type(F3.dtype, (4, 3)))
    params = {"size": 4, "in_dims": (0,), "out_mapped": (True,), "order": "parallel",
              "chunk": None, "fallback": True, "fastmath": False, "columns": (),
              **change}  # fmt: skip
    types = (array_type(F3.dtype, (4, 3)),)
    results = forged(builder, "map", (operand,), params, types, (region,))
    with pytest.raises(InvalidGraphError, match=message):
        verify(builder.finish(results))


def test_inside_a_region():
    inner = Builder()
    x = inner.input(F3)
    (y,) = forged(inner, "add", (x, x), {"dtype": None}, (F4,))
    builder = Builder()
    operand = builder.input(array_type(F3.dtype, (4, 3)))
    params = {"size": 4, "in_dims": (0,), "out_mapped": (True,), "order": "parallel",
              "chunk": None, "fallback": True, "fastmath": False, "columns": ()}  # fmt: skip
    results = builder.emit(REGISTRY["map"], (operand,), params, (inner.finish([y]),))
    with pytest.raises(InvalidGraphError, match="its results have the types"):
        verify(builder.finish(results))


def test_passes_are_verified(monkeypatch):
    """A pass that breaks a graph is caught where it does."""

    def break_it(graph: Graph) -> Graph:
        return Graph(graph.inputs, graph.operations[:-1], graph.outputs)

    builder = Builder()
    x = builder.input(F3)
    graph = builder.finish([add(builder, x, x)])
    assert isinstance(graph.operations[0], Operation)
    monkeypatch.setattr(pipeline.INTERPRETED, "steps", (Step(break_it),))
    monkeypatch.setenv("LANEWISE_VERIFY", "1")
    with pytest.raises(InvalidGraphError, match="%1 is used before it is defined"):
        pipeline.lower(graph)
    monkeypatch.setenv("LANEWISE_VERIFY", "0")
    pipeline.lower(graph)


def test_passes_are_shown(monkeypatch, capsys):
    text = "graph(%0: f64[3]) {\n  %1: f64[3] = add(%0, %0)\n  return %0\n}"
    graph = parse_graph(text, REGISTRY)
    monkeypatch.setenv("LANEWISE_SHOW", "order_by_sizes,inline")
    pipeline.lower(graph)
    shown = capsys.readouterr().err
    after = "graph(%0: f64[3]) {\n  return %0\n}"
    assert shown == f"# interpreted: inline\n{text}\n# interpreted: order_by_sizes\n{after}\n"
    for name in ("all", "interpreted"):
        monkeypatch.setenv("LANEWISE_SHOW", name)
        pipeline.lower(graph)
        names = [line[2:] for line in capsys.readouterr().err.splitlines() if line.startswith("#")]
        steps = [f"interpreted: {step.name}" for step in pipeline.INTERPRETED.steps]
        assert names == ["interpreted", *steps]


def test_what_cannot_be_shown_is_an_error(monkeypatch):
    monkeypatch.setenv("LANEWISE_SHOW", "inline,vectorise")
    with pytest.raises(ValueError, match=r"asks for vectorise: there are all, .*vectorize"):
        lw.vmap(lambda x: x + 1.0)(np.ones(3))


def test_all_that_is_compiled_is_shown_and_verified(monkeypatch, capsys):
    """What a call is made of comes by each pipeline, in the order of their list."""

    def f(x, w):
        total = 0.0
        for i in range(64):
            total += w[i] * x
        out = np.zeros(3)
        out[1:] = total
        return out if total > 0 else -out

    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setenv("LANEWISE_SHOW", "all")
    monkeypatch.setenv("LANEWISE_VERIFY", "1")
    x, w = np.arange(3.0), np.ones(64)
    got = lw.vmap(f, in_dims=(0, None))(x, w)
    np.testing.assert_allclose(got, [f(each, w) for each in x])
    shown = [line[2:] for line in capsys.readouterr().err.splitlines() if line.startswith("# ")]
    names = {line.partition(":")[0] for line in shown}
    assert names >= {"recorded", "tidied", "many", "outlined", "kernel", "interpreted"}
    assert shown[0] == "recorded"
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    lw.vmap(f, in_dims=(0, None))(x, w)
    shown = [line[2:] for line in capsys.readouterr().err.splitlines() if line.startswith("# ")]
    assert {line.partition(":")[0] for line in shown} <= {"recorded", "interpreted", "diverged"}
