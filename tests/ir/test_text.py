"""The text form: printing, parsing, and that each undoes the other."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.ir.dims import Dim, dim_max, dim_min
from lanewise.ir.graph import Builder, Graph, building
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import TOKEN, array_type
from lanewise.ops.contraction import gufunc
from lanewise.ops.creation import constant, iota
from lanewise.ops.elementwise import elementwise
from lanewise.ops.host import py_func
from lanewise.ops.movement import cast, reshape
from lanewise.ops.reduction import accumulate, reduce
from lanewise.ops.registry import REGISTRY
from lanewise.passes import steps
from lanewise.runtime.interpret import interpret
from support.searching import searching

N = Dim.symbol("n")

PROGRAM = """
graph(%0: f64[batch,4], %1: f64[4]) {
  %2: f64[batch] = map[size=batch, in_dims=(0, None), out_mapped=(True,)](%0, %1)
    graph(%0: f64[4], %1: f64[4]) {
      %2: f64[] = constant(2.0)
      %3: f64[4] = multiply(%0, %2)
      %4: f64[4], %5: i32[4] = frexp(%3)
      %6: f64[4] = add(%4, %1)
      %7: f64[] = reduce[fn=add, axes=(0,)](%6)
      return %7
    }
  return %2
}
""".strip()


def round_trip(graph: Graph, named=None) -> Graph:
    text = format_graph(graph)
    parsed = parse_graph(text, REGISTRY, named)
    assert parsed.key == graph.key
    assert format_graph(parsed) == text
    return parsed


def test_a_written_program_prints_as_written():
    graph = parse_graph(PROGRAM, REGISTRY)
    assert format_graph(graph) == PROGRAM
    round_trip(graph)
    x, w = np.arange(8.0).reshape(2, 4), np.ones(4)
    (result,) = interpret(graph, x, w)
    np.testing.assert_array_equal(result, (np.frexp(x * 2)[0] + w).sum(1))


def test_names_comments_and_types_are_free():
    graph = parse_graph(
        """
        graph(%x: f64[3], %y: f64[3]) {   # two inputs
          %sum = add(%x, %y)              # its type follows
          %twice: f64[3] = add(%sum, %sum)
          return %twice, %x
        }""",
        REGISTRY,
    )
    assert [v.index for v in graph.outputs] == [3, 0]
    round_trip(graph)


def test_numbers_are_kept():
    """The inputs of a traced region are not numbered in their order, and gaps are common."""
    text = """
graph(%0: f64[3], %7: f64[3]) {
  %4: f64[3] = add(%0, %7)
  %9: f64[3] = add(%4, %4)
  return %9
}""".strip()
    graph = parse_graph(text, REGISTRY)
    assert format_graph(graph) == text
    assert [v.index for v in graph.inputs] == [0, 7]


@pytest.mark.parametrize(
    "text",
    [
        "graph() {\n  return\n}",
        "graph(%0: token) {\n  return %0\n}",
        "graph(%0: f64[n,2*m*n-1]) {\n  return %0, %0\n}",
    ],
)
def test_small_graphs(text):
    assert format_graph(parse_graph(text, REGISTRY)) == text


def test_locations_are_comments():
    seen = []
    show = steps.format_graph

    def record(graph, locations=False):
        seen.append(show(graph, locations))
        assert parse_graph(seen[-1], REGISTRY).key == graph.key
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANEWISE_SHOW", "recorded")
        patch.setattr(steps, "format_graph", record)
        lw.vmap(lambda x: np.sum(x * 1.5))(np.ones((2, 3)))
    assert "= multiply(%0, %1)  # " in seen[0] and "test_text.py:" in seen[0]


# --- constants ------------------------------------------------------------------------------------


def _constant(array: np.ndarray) -> Graph:
    builder = Builder()
    type = array_type(array.dtype, array.shape)
    return builder.finish(builder.emit(constant, (), {"data": array.tobytes(), "type": type}))


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(2.5), "2.5"),
        (np.array(-0.0), "-0.0"),
        (np.array([np.nan, np.inf, -np.inf]), "[nan, inf, -inf]"),
        (np.array([[1, -2], [3, 4]], "i1"), "[[1, -2], [3, 4]]"),
        (np.array([True, False]), "[True, False]"),
        (np.array(0.1, "f4"), "0.1"),
        (np.array(1e-7, "f2"), "1e-07"),
        (np.array(1e300), "1e+300"),
        (np.array(complex(1, -0.0)), "complex(1.0, -0.0)"),
        (np.array([complex(np.nan, -np.inf)], "c8"), "[complex(nan, -inf)]"),
        (np.array(2**64 - 1, "u8"), "18446744073709551615"),
        (np.zeros((2, 0)), "[[], []]"),
        (np.zeros((0, 2), "i4"), "[]"),
        (np.array(np.frombuffer(struct.pack("<Q", 0x7FF8000000000123))[0]), "0x7ff8000000000123"),
        (np.array(-np.nan), "0xfff8000000000000"),
        (np.array(1, "g") / 3, None),
    ],
)
def test_constants(array, text):
    graph = _constant(array)
    if text is not None:
        assert f"constant({text})" in format_graph(graph)
    parsed = round_trip(graph)
    assert parsed.operations[0].params["data"] == array.tobytes()


@searching(100)
@given(st.sampled_from("e f d F D l B ?".split()), st.binary(min_size=32, max_size=32))
def test_every_bit_of_a_constant_is_kept(character, data):
    dtype = np.dtype(character)
    if dtype.kind == "b":
        data = bytes(byte & 1 for byte in data)
    round_trip(_constant(np.frombuffer(data, dtype)))


# --- parameters -----------------------------------------------------------------------------------


def _one(primitive, *types, **params) -> Graph:
    builder = Builder()
    operands = [builder.input(type) for type in types]
    with building(builder):
        results = primitive(*operands, **params)
    return builder.finish(results if isinstance(results, tuple) else [results])


F = array_type(np.dtype("f8"), (N, 4))


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (_one(reduce, F, fn=np.add, axes=(1,)), "reduce[fn=add, axes=(1,)](%0)"),
        (
            _one(reduce, F, fn=np.add, axes=(), dtype=np.dtype("f4")),
            "reduce[fn=add, axes=(), dtype=f32](%0)",
        ),
        (_one(cast, F, dtype=np.dtype(bool)), "cast[dtype=bool](%0)"),
        (_one(reshape, F, shape=(2 * N, 2)), "reshape[shape=(2*n, 2)](%0)"),
        (
            _one(iota, length=(N + 1) // 2, dtype=np.dtype("i8")),
            "iota[length=floordiv(n+1, 2), dtype=i64]()",
        ),
        (
            _one(iota, length=dim_max(N % 3, dim_min(N, 2)), dtype=np.dtype("i8")),
            "iota[length=max(max(n-2, 0)+mod(n, 3)-n, 0)+min(n, 2), dtype=i64]()",
        ),
        (
            _one(iota, length=Dim.symbol("add") * 2, dtype=np.dtype("i8")),
            "iota[length=dim(2*add), dtype=i64]()",
        ),
        (_one(iota, length=-1 * N + 7, dtype=np.dtype("i8")), "iota[length=-n+7, dtype=i64]()"),
        (_one(elementwise(np.add), F, F, dtype=None), "add(%0, %1)"),
        (
            _one(REGISTRY["sort"], F, axis=1, kind="stable"),
            "sort[axis=1, kind='stable'](%0)",
        ),
    ],
)
def test_parameters(graph, text):
    assert text in format_graph(graph)
    round_trip(graph)


def test_unregistered_ufuncs_are_given_by_name():
    expit, matvec = elementwise(scipy.special.expit), gufunc(np.matvec)
    graph = _one(expit, F)
    assert "ufunc.expit(%0)" in format_graph(graph)
    round_trip(graph, {"ufunc.expit": expit})
    round_trip(_one(matvec, F, array_type(np.dtype("f8"), (4,))), {"gufunc.matvec": matvec})
    graph = _one(accumulate, F, fn=scipy.special.xlogy, axis=0)
    assert "fn=<ufunc xlogy>" in format_graph(graph)
    round_trip(graph, {"xlogy": scipy.special.xlogy})
    with pytest.raises(ValueError, match="there is no ufunc xlogy"):
        parse_graph(format_graph(graph), REGISTRY)


def test_host_functions_are_given_by_name():
    def double(x):
        return [x * 2]

    types = (array_type(np.dtype("f8"), (2,)),)
    graph = _one(py_func, TOKEN, types[0], func=double, types=types, vectorized=False)
    assert "func=<host double>, types=(f64[2],), vectorized=False" in format_graph(graph)
    round_trip(graph, {"double": double})
    with pytest.raises(ValueError, match="there is no host double"):
        parse_graph(format_graph(graph), REGISTRY)


# --- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%1 = add(%0, %9)\n return %1", "line 2: %9 is not defined before"),
        ("%1 = addd(%0, %0)\n return %1", "line 2: there is no primitive addd"),
        ("%1: f32[3] = add(%0, %0)\n return %1", "line 2: add gives .*f64.*, not .*f32"),
        ("%1, %2 = add(%0, %0)\n return %1", "line 2: add gives"),
        ("%0 = add(%0, %0)\n return %0", "line 2: %0 is defined twice"),
        ("%1 = add(%0, %0) return %1 }", "line 3: expected the end, found }"),
        ("%1 = add(%0; %0)", "line 2: cannot read '; %0"),
        ("%1 = constant(2.0)\n return %1", "line 2: a constant needs the type"),
        ("%1 = add(%0, %0)", "line 3: expected a name, found }"),
        ("%1 = f64[3](%0)", "line 2: there is no primitive f64"),
    ],
)
def test_errors_name_the_line(body, message):
    with pytest.raises(ValueError, match=message):
        parse_graph(f"graph(%0: f64[3]) {{\n{body}\n}}", REGISTRY)


def test_type_rules_raise_their_own_errors_with_the_line():
    with pytest.raises(ValueError, match=r"could not be broadcast(.|\n)*in line 2 of the graph's"):
        parse_graph("graph(%0: f64[3], %1: f64[2]) {\n%2 = add(%0, %1)\nreturn %2 }", REGISTRY)
    with pytest.raises(TypeError, match="reduce has no parameter axis"):
        parse_graph(
            "graph(%0: f64[3]) {\n%1 = reduce[fn=add, axes=(0,), axis=1](%0)\nreturn %1 }", REGISTRY
        )
