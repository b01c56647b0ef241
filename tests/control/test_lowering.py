"""Control flow under maps: what stays one branch or one loop for all, what diverges, what loops."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from lanewise.ir.graph import Graph, Operation
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import ArrayType
from lanewise.ir.verify import verify
from lanewise.ops.control import while_
from lanewise.ops.regions import DIVERGENT
from lanewise.ops.registry import REGISTRY
from lanewise.passes.pipeline import batched_loop, batched_region, fresh_symbol, lower
from lanewise.passes.simplify import eliminate_dead
from lanewise.passes.vectorize import vectorize
from lanewise.runtime import reference as meaning
from lanewise.runtime.interpret import interpret
from support import reference
from support.draws import seeds
from support.random_graphs import random_graph

pytestmark = pytest.mark.any_backend


def parsed(text: str, named: dict[str, Any] | None = None) -> Graph:
    return parse_graph(text, REGISTRY, named)


def lowered(text: str, named: dict[str, Any] | None = None) -> str:
    return format_graph(lower(parsed(text, named)))


def same(text: str, expected: str) -> bool:
    return text == textwrap.dedent(expected).strip()


def assert_lowered(text: str, *arguments: Any) -> None:
    """Check that a graph means the same after it is lowered."""
    graph = parsed(text)
    for got, want in zip(
        reference.run(lower(graph), *arguments), reference.run(graph, *arguments), strict=True
    ):
        np.testing.assert_array_equal(got, want)


# --- all examples go the same way -----------------------------------------------------------------

BRANCH = """
    graph(%0: f64[batch], %1: {0}, %2: f64[2]) {{
      %3, %4, %5 = map[size=batch, in_dims=(0, {1}, None),
                       out_mapped=(True, False, True)](%0, %1, %2)
        graph(%0: f64[], %1: bool[], %2: f64[2]) {{
          %3, %4, %5 = cond(%1, %0, %2)
            graph(%0: f64[], %1: f64[2]) {{ %2 = sin(%0) %3 = exp(%1) return %2, %3, %0 }}
            graph(%0: f64[], %1: f64[2]) {{
              %2: f64[] = constant(1.0)
              %3 = negative(%1)
              return %2, %3, %0
            }}
          return %3, {2}, %5
        }}
      return %3, %4, %5
    }}"""


def test_a_branch_of_all():
    """What varies in one branch is repeated in the other; what varies in none stays as it is."""
    text = BRANCH.format("bool[]", "None", "%4")
    assert same(
        lowered(text),
        """
        graph(%0: f64[batch], %1: bool[], %2: f64[2]) {
          %3: f64[batch], %4: f64[2] = cond(%1, %0, %2)
            graph(%0: f64[batch], %1: f64[2]) {
              %2: f64[batch] = sin(%0)
              %3: f64[2] = exp(%1)
              return %2, %3
            }
            graph(%0: f64[batch], %1: f64[2]) {
              %2: f64[] = constant(1.0)
              %3: f64[2] = negative(%1)
              %4: f64[batch] = broadcast_to[shape=(batch,)](%2)
              return %4, %3
            }
          return %3, %4, %0
        }""",
    )
    for p in (True, False):
        assert_lowered(text, np.arange(3.0), np.array(p), np.ones(2))


def test_a_branch_that_varies():
    text = BRANCH.format("bool[batch]", "0", "%2")
    assert same(
        lowered(text),
        """
        graph(%0: f64[batch], %1: bool[batch], %2: f64[2]) {
          %3: f64[batch] = map[size=batch, in_dims=(0, 0), out_mapped=(True,), order='divergent'](%1, %0)
            graph(%0: bool[], %1: f64[]) {
              %2: f64[] = cond(%0, %1)
                graph(%0: f64[]) {
                  %1: f64[] = sin(%0)
                  return %1
                }
                graph(%0: f64[]) {
                  %1: f64[] = constant(1.0)
                  return %1
                }
              return %2
            }
          return %3, %2, %0
        }""",  # noqa: E501
    )
    assert_lowered(text, np.arange(3.0), np.array([True, False, True]), np.ones(2))
    with pytest.raises(ValueError, match="result 1 of the mapped function differs"):
        lowered(BRANCH.format("bool[batch]", "0", "%4"))


LOOP = """
    graph(%0: f64[batch], %1: {0}) {{
      %2, %3 = map[size=batch, in_dims=(0, {1}), out_mapped=(True, True)](%0, %1)
        graph(%0: f64[], %1: i64[]) {{
          %2: f64[] = constant(0.0)
          %3, %4, %5 = while[captures=1](%0, %1, %2, %2)
            graph(%0: f64[], %1: i64[], %2: f64[], %3: f64[]) {{
              %4: i64[] = constant(0)
              %5 = greater(%1, %4)
              return %5
            }}
            graph(%0: f64[], %1: i64[], %2: f64[], %3: f64[]) {{
              %4: i64[] = constant(1)
              %5 = subtract(%1, %4)
              %6 = add(%2, %0)
              %7 = add(%2, %3)
              return %5, %6, %7
            }}
          return %5, %3
        }}
      return %2, %3
    }}"""


def test_a_loop_in_lockstep():
    """The counter stays one number; what varies after one turn or two is repeated before."""
    text = LOOP.format("i64[]", "None")
    found = lowered(text)
    assert "divergent" not in found
    assert "%5: i64[], %6: f64[batch], %7: f64[batch] = while[captures=1](%0, %1, %3, %3)" in found
    assert "greater(%1, %4)" in found and "bool[]" in found
    assert_lowered(text, np.arange(3.0), np.array(4))


def test_a_loop_whose_turns_vary():
    text = LOOP.format("i64[batch]", "0")
    found = lowered(text)
    assert found.count("order='divergent'") == 1 and "in_dims=(0, 0, None)" in found
    assert_lowered(text, np.arange(3.0), np.array([4, 0, 2]))


def test_a_loop_that_comes_to_vary():
    """The test looks at a carry that is the same for all at first, and varies after two turns."""
    text = LOOP.format("i64[]", "None").replace("greater(%1, %4)", "less(%3, %4)")
    assert lowered(text).count("order='divergent'") == 1
    assert_lowered(text, np.array([1.0, 2.0, 5.0]), np.array(3))


SCAN = """
    graph(%0: f64[batch,5], %1: f64[5], %2: f64[2]) {
      %3, %4, %5 = map[size=batch, in_dims=(0, None, None),
                       out_mapped=(True, True, False)](%0, %1, %2)
        graph(%0: f64[5], %1: f64[5], %2: f64[2]) {
          %3: f64[] = constant(0.0)
          %4, %5, %6 = scan[captures=1, carry=1, length=5, reverse=True](%2, %3, %0, %1)
            graph(%0: f64[2], %1: f64[], %2: f64[], %3: f64[]) {
              %4 = add(%1, %2)
              %5 = multiply(%0, %4)
              %6 = sin(%3)
              return %4, %5, %6
            }
          return %4, %5, %6
        }
      return %3, %4, %5
    }"""


def test_a_scan_takes_the_batch_in():
    """Slices stay along axis 0, the batch goes behind; a y that does not vary is not repeated."""
    assert same(
        lowered(SCAN),
        """
        graph(%0: f64[batch,5], %1: f64[5], %2: f64[2]) {
          %3: f64[] = constant(0.0)
          %4: f64[batch] = broadcast_to[shape=(batch,)](%3)
          %5: f64[5,batch] = transpose[axes=(1, 0)](%0)
          %6: f64[batch], %7: f64[5,batch,2], %8: f64[5] = scan[captures=1, carry=1, length=5, reverse=True](%2, %4, %5, %1)
            graph(%0: f64[2], %1: f64[batch], %2: f64[batch], %3: f64[]) {
              %4: f64[batch] = add(%1, %2)
              %5: f64[batch,1] = reshape[shape=(batch, 1)](%4)
              %6: f64[batch,2] = multiply(%0, %5)
              %7: f64[] = sin(%3)
              return %4, %6, %7
            }
          %9: f64[batch,5,2] = transpose[axes=(1, 0, 2)](%7)
          return %6, %9, %8
        }""",  # noqa: E501
    )
    x = np.arange(10.0).reshape(2, 5)
    assert_lowered(SCAN, x, x[0], np.ones(2))
    assert "scan" in lowered(SCAN) and "map" not in lowered(SCAN)


# --- nesting --------------------------------------------------------------------------------------


def test_a_map_in_a_loop_of_no_map():
    text = """
        graph(%0: f64[3], %1: i64[]) {
          %2, %3 = while[captures=0](%0, %1)
            graph(%0: f64[3], %1: i64[]) {
              %2: i64[] = constant(0)
              %3 = greater(%1, %2)
              return %3
            }
            graph(%0: f64[3], %1: i64[]) {
              %2 = map[size=3, in_dims=(0,), out_mapped=(True,)](%0)
                graph(%0: f64[]) { %1 = sin(%0) return %1 }
              %3: i64[] = constant(1)
              %4 = subtract(%1, %3)
              return %2, %4
            }
          return %2
        }"""
    found = lowered(text)
    assert "map" not in found and "f64[3] = sin(%0)" in found
    assert_lowered(text, np.arange(3.0), np.array(2))


NESTED = """
    graph(%0: f64[{0}], %1: f64[3], %2: f64[batch]) {{
      %3 = map[size=batch, in_dims=(0, None, 0), out_mapped=(True,){2}](%0, %1, %2)
        graph(%0: f64[{1}], %1: f64[3], %2: f64[]) {{
          %3 = map[size=3, in_dims=({3}, 0, None), out_mapped=(True,)](%0, %1, %2)
            graph(%0: f64[], %1: f64[], %2: f64[]) {{
              %3 = less(%0, %1)
              %4 = cond(%3, %0, %1, %2)
                graph(%0: f64[], %1: f64[], %2: f64[]) {{
                  %3 = multiply(%1, %2)
                  %4 = add(%0, %3)
                  return %4
                }}
                graph(%0: f64[], %1: f64[], %2: f64[]) {{ return %1 }}
              return %4
            }}
          return %3
        }}
      return %3
    }}"""


@pytest.mark.parametrize("option", ["", ", chunk=2", ", order='sequential'"])
@pytest.mark.parametrize("inner", [True, False])
def test_a_divergent_map_in_a_map_becomes_one(option, inner):
    shapes = ("batch,3", "3", option, "0") if inner else ("batch", "", option, "None")
    text = NESTED.format(*shapes)
    if not option:
        found = lowered(text)
        assert "map[size=3*batch, in_dims=(0, 0, 0, 0), out_mapped=(True,), order='diver" in found
        assert "reshape[shape=(batch, 3)]" in found
    x = np.arange(12.0).reshape(4, 3) % 5 if inner else np.arange(4.0)
    assert_lowered(text, x, np.array([1.0, 2.0, 3.0]), np.arange(4.0))


def test_three_levels():
    text = """
        graph(%0: f64[batch,2,3], %1: f64[2]) {
          %2 = map[size=batch, in_dims=(0, None), out_mapped=(True,)](%0, %1)
            graph(%0: f64[2,3], %1: f64[2]) {
              %2 = map[size=2, in_dims=(0, 0), out_mapped=(True,)](%0, %1)
                graph(%0: f64[3], %1: f64[]) {
                  %2 = map[size=3, in_dims=(0, None), out_mapped=(True,)](%0, %1)
                    graph(%0: f64[], %1: f64[]) {
                      %2 = while[captures=1](%1, %0)
                        graph(%0: f64[], %1: f64[]) { %2 = less(%1, %0) return %2 }
                        graph(%0: f64[], %1: f64[]) {
                          %2: f64[] = constant(0.75)
                          %3 = add(%1, %2)
                          return %3
                        }
                      return %2
                    }
                  return %2
                }
              return %2
            }
          return %2
        }"""
    assert "map[size=6*batch, in_dims=(0, 0), out_mapped=(True,), order='diver" in lowered(text)
    assert_lowered(text, np.arange(24.0).reshape(4, 2, 3), np.array([4.0, 7.0]))


# --- host calls and checks ------------------------------------------------------------------------

EFFECTS = """
    graph(%0: bool[{0}], %1: f64[batch], %2: token) {{
      %3, %4 = map[size=batch, in_dims=({1}, 0, None), out_mapped=(False, True)](%0, %1, %2)
        graph(%0: bool[], %1: f64[], %2: token) {{
          %3, %4 = cond(%0, %2, %1)
            graph(%0: token, %1: f64[]) {{
              %2, %3 = py_func[func=<host f>, types=(f64[],), vectorized={2}](%0, %1)
              return %2, %3
            }}
            graph(%0: token, %1: f64[]) {{ return %0, %1 }}
          %5 = py_func[func=<host g>, types=(), vectorized={2}](%3, %1)
          return %5, %4
        }}
      return %3, %4
    }}"""


def hosts(log: list[Any]) -> dict[str, Any]:
    def f(x: np.ndarray) -> list[Any]:
        log.append(("f", x.tolist()))
        return [x + 1]

    def g(x: np.ndarray) -> list[Any]:
        log.append(("g", x.tolist()))
        return []

    return {"f": f, "g": g}


@pytest.mark.parametrize("varies", [True, False])
def test_host_calls_in_branches_run_example_by_example(varies):
    text = EFFECTS.format("batch" if varies else "", "0" if varies else "None", "False")
    found = lowered(text, hosts([]))
    assert found.count("map[") == 1 and "order='sequential'" in found
    for run in (lower, lambda graph: graph):
        log: list[Any] = []
        p = np.array([False, True]) if varies else np.array(True)
        graph = run(parsed(text, hosts(log)))
        _, result = reference.run(graph, p, np.array([1.0, 2.0]), None)
        first = [] if varies else [("f", 1.0)]
        assert log == [*first, ("g", 1.0), ("f", 2.0), ("g", 2.0)]
        np.testing.assert_array_equal(result, [1 if varies else 2, 3])


def test_host_calls_for_a_whole_batch_stay_so_in_a_branch_of_all():
    log: list[Any] = []
    graph = lower(parsed(EFFECTS.format("", "None", "True"), hosts(log)))
    assert "map[" not in format_graph(graph)
    reference.run(graph, np.array(True), np.array([1.0, 2.0]), None)
    assert log == [("f", [1.0, 2.0]), ("g", [1.0, 2.0])]
    del log[:]
    graph = lower(parsed(EFFECTS.format("batch", "0", "True"), hosts(log)))
    reference.run(graph, np.array([False, True]), np.array([1.0, 2.0]), None)
    assert log == [("f", 2.0), ("g", [1.0, 2.0])]


def test_falling_back_can_be_forbidden():
    text = EFFECTS.format("batch", "0", "False").replace("True)](", "True), fallback=False](", 1)
    with pytest.raises(ValueError, match="py_func cannot be vectorized: it runs once for"):
        lowered(text, hosts([]))
    text = BRANCH.format("bool[batch]", "0", "%2").replace("True)](", "True), fallback=False](", 1)
    assert "fallback=False](%1, %0)" in lowered(text)  # divergence is no loop


CHECKS = """
    graph(%0: bool[batch], %1: f64[batch]{0}) {{
      {1} map[size=batch, in_dims=(0, 0{2}
        graph(%0: bool[], %1: f64[]{0}) {{
          {3}
          check[make=<host fail>](%0, %1)
          {4}
        }}
      {5}
    }}"""


def fail(x: np.ndarray) -> Exception:
    return ValueError(f"failed on {x}")


def test_checks_run_though_nobody_uses_them():
    text = CHECKS.format("", "", "), out_mapped=()](%0, %1)", "", "return", "return")
    named = {"fail": fail}
    assert "check[make=<host fail>](%0, %1)" in lowered(text, named)
    graph = lower(parsed(text, named))
    assert reference.run(graph, np.array([True, True]), np.zeros(2)) == []
    with pytest.raises(ValueError, match="failed on 5"):
        reference.run(graph, np.array([True, False]), np.array([4.0, 5.0]))


def test_a_check_that_fails_comes_before_the_next_example_calls_the_host():
    text = CHECKS.format(
        ", %2: token", "%3 =", ", None), out_mapped=(False,)](%0, %1, %2)",
        "%3 = py_func[func=<host g>, types=(), vectorized=False](%2, %1)", "return %3", "return %3",
    )  # fmt: skip
    log: list[Any] = []
    graph = lower(parsed(text, {**hosts(log), "fail": fail}))
    with pytest.raises(ValueError, match="failed on 5"):
        reference.run(graph, np.array([True, False, True]), np.array([4.0, 5.0, 6.0]), None)
    assert log == [("g", 4.0), ("g", 5.0)]


def test_a_check_in_a_branch_that_varies():
    text = """
        graph(%0: bool[batch], %1: f64[batch]) {
          map[size=batch, in_dims=(0, 0), out_mapped=()](%0, %1)
            graph(%0: bool[], %1: f64[]) {
              cond(%0, %1)
                graph(%0: f64[]) { return }
                graph(%0: f64[]) {
                  %1: f64[] = constant(3.0)
                  %2 = less(%0, %1)
                  check[make=<host fail>](%2, %0)
                  return
                }
              return
            }
          return
        }"""
    graph = lower(parsed(text, {"fail": fail}))
    assert "out_mapped=(), order='divergent'" in format_graph(graph)
    reference.run(graph, np.array([True, False]), np.array([9.0, 2.0]))
    with pytest.raises(ValueError, match="failed on 9"):
        reference.run(graph, np.array([True, False]), np.array([2.0, 9.0]))


# --- what runs inside of a divergent map ----------------------------------------------------------


def test_the_regions_of_a_divergent_loop():
    """The counter of a divergent loop stays one number for all that are still in it."""
    graph = parsed("""
        graph(%0: i64[batch], %1: f64[2]) {
          %2 = map[size=batch, in_dims=(0, None), out_mapped=(True,)](%0, %1)
            graph(%0: i64[], %1: f64[2]) {
              %2: i64[] = constant(0)
              %3, %4 = while[captures=1](%0, %2, %1)
                graph(%0: i64[], %1: i64[], %2: f64[2]) { %3 = less(%1, %0) return %3 }
                graph(%0: i64[], %1: i64[], %2: f64[2]) {
                  %3: i64[] = constant(1)
                  %4 = add(%1, %3)
                  %5 = map[size=2, in_dims=(0,), out_mapped=(True,)](%2)
                    graph(%0: f64[]) { %1 = sin(%0) return %1 }
                  return %4, %5
                }
              return %4
            }
          return %2
        }""")
    (op,) = [op for op in lower(graph).operations if op.regions]
    assert op.params["in_dims"] == (0, None, None) and op.params["order"] == DIVERGENT
    (inner,) = op.regions[0].operations
    size = fresh_symbol(op.regions[0])
    test, body, taken = batched_loop(inner, (True, False, False), size, True)
    assert taken == (True, False, False)
    assert same(
        format_graph(test),
        """
        graph(%0: i64[live], %1: i64[], %2: f64[2]) {
          %3: bool[live] = less(%1, %0)
          return %3
        }""",
    )
    assert "%5: f64[2] = sin(%2)" in format_graph(body) and "map" not in format_graph(body)
    _, body, taken = batched_loop(inner, (True, False, True), size, True)
    assert taken == (True, False, True) and "f64[live,2] = sin(%2)" in format_graph(body)


def test_a_fresh_symbol_is_fresh():
    graph = parsed("""
        graph(%0: f64[live]) {
          %1 = iota[length=live1, dtype=f64]()
          return %0
        }""")
    assert str(fresh_symbol(graph)) == "live2"


class Batched:
    """Runs divergent maps as the runtime does, by batched regions, though without gathering."""

    def __init__(self) -> None:
        self.plain = meaning._map

    def __call__(
        self, op: Operation, operands: list[Any], params: Any, sizes: Any, check: Any
    ) -> list[Any]:
        if params["order"] != DIVERGENT or not params["size"]:
            return self.plain(op, operands, params, sizes, check)
        (graph,) = op.regions
        (inner,) = graph.operations
        chosen = [inner.results.index(value) for value in graph.outputs]
        given = {
            value: (operand, axis is not None)
            for value, operand, axis in zip(
                graph.inputs, operands, op.params["in_dims"], strict=True
            )
        }
        values = [given[value][0] for value in inner.operands]
        mapped = [given[value][1] for value in inner.operands]
        symbol = fresh_symbol(graph)
        if inner.primitive is while_:
            results = self.loop(inner, values, mapped, symbol, params["size"])
            return [results[j] for j in chosen]
        index = np.broadcast_to(values[0], params["size"])
        if index.dtype == bool:
            index = np.where(index, 0, 1)
        branches = []
        for region in inner.regions:
            full, varies = batched_region(region, mapped[1:], symbol, True)
            verify(full)
            found = reference.run(full, *values[1:], sizes={str(symbol): len(index)})
            branches.append(
                [
                    x if own else np.broadcast_to(x, (len(index), *np.shape(x)))
                    for x, own in zip(found, varies, strict=True)
                ]
            )
        return [
            np.array([branches[i][j][k] for k, i in enumerate(index)], value.type.dtype)
            for j, value in zip(chosen, op.results, strict=True)
        ]

    def loop(
        self, op: Operation, values: list[Any], mapped: list[bool], symbol: Any, size: int
    ) -> list[Any]:
        test, body, taken = batched_loop(op, mapped, symbol, True)
        verify(test)
        verify(body)
        captures = op.params["captures"]
        state = [
            np.broadcast_to(x, (size, *np.shape(x))) if now and not before else x
            for x, before, now in zip(values, mapped, taken, strict=True)
        ]
        results = [
            np.zeros((size, *v.type.shape), v.type.dtype)
            for v in op.results
            if isinstance(v.type, ArrayType)
        ]
        sizes = {str(symbol): size}
        live = np.ones(size, bool)
        while live.any():
            (more,) = reference.run(test, *state, sizes=sizes)
            ended = live & ~more
            for result, x, varies in zip(results, state[captures:], taken[captures:], strict=True):
                result[ended] = x[ended] if varies else x
            live &= more
            state = [*state[:captures], *reference.run(body, *state, sizes=sizes)]
        return results


@pytest.mark.parametrize("seed", seeds(40))
def test_random_graphs(seed, monkeypatch):
    graph, arguments = random_graph(seed)
    verify(graph)
    assert parse_graph(format_graph(graph), REGISTRY).key == graph.key
    want = reference.run(graph, *arguments)
    full = lower(graph)
    assert parse_graph(format_graph(full), REGISTRY).key == full.key
    for other in (eliminate_dead(graph), vectorize(graph), full):
        verify(other)
        for got, value in zip(reference.run(other, *arguments), want, strict=True):
            np.testing.assert_allclose(got, value, 1e-12, 1e-12)
    for got, value in zip(interpret(graph, *arguments), want, strict=True):
        np.testing.assert_allclose(got, value, 1e-12, 1e-12)
    monkeypatch.setattr(meaning, "_map", Batched())
    for got, value in zip(reference.run(full, *arguments), want, strict=True):
        np.testing.assert_allclose(got, value, 1e-12, 1e-12)
