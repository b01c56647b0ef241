"""Simplification inside of control flow: what nobody needs goes, what must run stays."""

from __future__ import annotations

import textwrap

import pytest

from lanewise.ir.graph import Graph
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.verify import verify
from lanewise.ops.registry import REGISTRY
from lanewise.passes.simplify import eliminate_dead, merge_repeated

HOST = {"print": print, "ValueError": ValueError}


def parsed(text: str) -> Graph:
    return parse_graph(text, REGISTRY, HOST)


def simplified(text: str) -> str:
    """Return a graph merged and pruned, as text, its values numbered from 0 on."""
    graph = parsed(text)
    verify(graph)
    for run in (merge_repeated, eliminate_dead):
        graph = run(graph)
        verify(graph)
        assert parsed(format_graph(graph)).key == graph.key
    assert format_graph(eliminate_dead(graph)) == format_graph(graph)
    return format_graph(graph)


def same(text: str, expected: str) -> bool:
    return text == textwrap.dedent(expected).strip()


def test_results_and_operands_that_nobody_needs():
    assert same(
        simplified("""
        graph(%0: bool[], %1: f64[], %2: f64[]) {
          %3, %4 = cond(%0, %1, %2)
            graph(%0: f64[], %1: f64[]) { %2 = sin(%0) %3 = exp(%1) return %2, %3 }
            graph(%0: f64[], %1: f64[]) { return %0, %1 }
          return %3
        }"""),
        """
        graph(%0: bool[], %1: f64[], %2: f64[]) {
          %3: f64[] = cond(%0, %1)
            graph(%0: f64[]) {
              %2: f64[] = sin(%0)
              return %2
            }
            graph(%0: f64[]) {
              return %0
            }
          return %3
        }""",
    )


def test_what_all_branches_hand_on_is_the_operand():
    assert same(
        simplified("""
        graph(%0: i64[], %1: f64[], %2: f64[]) {
          %3, %4 = switch(%0, %1, %2, %1)
            graph(%0: f64[], %1: f64[], %2: f64[]) { return %0, %1 }
            graph(%0: f64[], %1: f64[], %2: f64[]) { return %2, %0 }
          %5 = add(%3, %4)
          return %5
        }"""),
        """
        graph(%0: i64[], %1: f64[], %2: f64[]) {
          %4: f64[] = switch(%0, %1, %2)
            graph(%0: f64[], %1: f64[]) {
              return %1
            }
            graph(%0: f64[], %1: f64[]) {
              return %0
            }
          %5: f64[] = add(%1, %4)
          return %5
        }""",
    )


def test_repeated_operations_in_regions():
    assert same(
        simplified("""
        graph(%0: bool[], %1: f64[]) {
          %2 = cond(%0, %1)
            graph(%0: f64[]) { %1 = sin(%0) %2 = sin(%0) %3 = add(%1, %2) return %3 }
            graph(%0: f64[]) { return %0 }
          %3 = cond(%0, %1)
            graph(%0: f64[]) { %1 = sin(%0) %2 = sin(%0) %3 = add(%1, %2) return %3 }
            graph(%0: f64[]) { return %0 }
          %4 = add(%2, %3)
          return %4
        }"""),
        """
        graph(%0: bool[], %1: f64[]) {
          %2: f64[] = cond(%0, %1)
            graph(%0: f64[]) {
              %1: f64[] = sin(%0)
              %3: f64[] = add(%1, %1)
              return %3
            }
            graph(%0: f64[]) {
              return %0
            }
          %4: f64[] = add(%2, %2)
          return %4
        }""",
    )


def test_the_carry_of_a_loop():
    """i counts and is needed, x and w stay (w from within), v feeds nobody but itself."""
    assert same(
        simplified("""
        graph(%0: i64[], %1: f64[], %2: f64[], %3: f64[]) {
          %4, %5, %6, %7, %8 = while[captures=1](%1, %0, %1, %2, %3, %1)
            graph(%0: f64[], %1: i64[], %2: f64[], %3: f64[], %4: f64[], %5: f64[]) {
              %6: i64[] = constant(0)
              %7 = greater(%1, %6)
              return %7
            }
            graph(%0: f64[], %1: i64[], %2: f64[], %3: f64[], %4: f64[], %5: f64[]) {
              %6: i64[] = constant(1)
              %7 = subtract(%1, %6)
              %8 = add(%3, %2)
              %9 = sin(%4)
              return %7, %2, %8, %9, %0
            }
          %9 = add(%5, %6)
          %10 = add(%9, %8)
          return %10
        }"""),
        """
        graph(%0: i64[], %1: f64[], %2: f64[], %3: f64[]) {
          %4: i64[], %6: f64[] = while[captures=1](%1, %0, %2)
            graph(%0: f64[], %1: i64[], %3: f64[]) {
              %6: i64[] = constant(0)
              %7: bool[] = greater(%1, %6)
              return %7
            }
            graph(%0: f64[], %1: i64[], %3: f64[]) {
              %6: i64[] = constant(1)
              %7: i64[] = subtract(%1, %6)
              %8: f64[] = add(%3, %0)
              return %7, %8
            }
          %9: f64[] = add(%1, %6)
          %10: f64[] = add(%9, %1)
          return %10
        }""",
    )


def test_the_slices_of_a_scan():
    """Only the second y is needed: b goes, and with it the second x; a stays for the y."""
    assert same(
        simplified("""
        graph(%0: f64[3], %1: f64[3], %2: f64[], %3: f64[]) {
          %4, %5, %6, %7 = scan[captures=0, carry=2, length=3](%2, %3, %0, %1, %0)
            graph(%0: f64[], %1: f64[], %2: f64[], %3: f64[], %4: f64[]) {
              %5 = add(%0, %4)
              %6 = multiply(%1, %3)
              %7 = add(%2, %4)
              return %5, %6, %6, %7
            }
          %8, %9 = scan[captures=0, carry=1, length=3](%2, %0)
            graph(%0: f64[], %1: f64[]) { return %0, %1 }
          %10 = add(%7, %9)
          return %10, %8, %4
        }"""),
        """
        graph(%0: f64[3], %1: f64[3], %2: f64[], %3: f64[]) {
          %4: f64[], %7: f64[3] = scan[captures=0, carry=1, length=3](%2, %0)
            graph(%0: f64[], %2: f64[]) {
              %5: f64[] = add(%0, %2)
              %7: f64[] = add(%2, %2)
              return %5, %7
            }
          %9: f64[3] = scan[captures=0, carry=0, length=3](%0)
            graph(%1: f64[]) {
              return %1
            }
          %10: f64[3] = add(%7, %9)
          return %10, %2, %4
        }""",
    )


def test_nested_loops_are_cut_together():
    text = simplified("""
        graph(%0: i64[], %1: f64[], %2: f64[]) {
          %3, %4, %5 = while[captures=0](%0, %1, %2)
            graph(%0: i64[], %1: f64[], %2: f64[]) {
              %3: i64[] = constant(0)
              %4 = greater(%0, %3)
              return %4
            }
            graph(%0: i64[], %1: f64[], %2: f64[]) {
              %3, %4, %5 = while[captures=0](%0, %1, %2)
                graph(%0: i64[], %1: f64[], %2: f64[]) {
                  %3: i64[] = constant(0)
                  %4 = greater(%0, %3)
                  return %4
                }
                graph(%0: i64[], %1: f64[], %2: f64[]) {
                  %3: i64[] = constant(1)
                  %4 = subtract(%0, %3)
                  %5 = sin(%1)
                  %6 = exp(%2)
                  return %4, %5, %6
                }
              return %3, %4, %5
            }
          return %4
        }""")
    assert "sin" in text and "exp" not in text and "%2: f64[])" not in text.split("\n", 1)[1]


def test_what_must_run_stays_and_is_not_merged():
    text = simplified("""
        graph(%0: bool[], %1: bool[], %2: token) {
          check[make=<host ValueError>](%0)
          check[make=<host ValueError>](%0)
          %3 = cond(%0, %1)
            graph(%0: bool[]) { check[make=<host ValueError>](%0) return %0 }
            graph(%0: bool[]) { return %0 }
          %4, %5 = cond(%0, %2, %1)
            graph(%0: token, %1: bool[]) {
              %2 = py_func[func=<host print>, types=(), vectorized=False](%0)
              return %2, %1
            }
            graph(%0: token, %1: bool[]) { return %0, %1 }
          return %4
        }""")
    assert text.count("check[") == 3 and text.count("cond(%0") == 2 and "py_func" in text
    assert "%4: token = cond(%0, %2)" in text


def test_effects_that_do_not_happen_go():
    assert same(
        simplified("""
        graph(%0: bool[], %1: token) {
          %2 = cond(%0, %1)
            graph(%0: token) { return %0 }
            graph(%0: token) { return %0 }
          return %2
        }"""),
        """
        graph(%0: bool[], %1: token) {
          return %1
        }""",
    )


MAP = """
        graph(%0: bool[n], %1: f64[n], %2: f64[]) {{
          %3, %4 = map[size=n, in_dims=(0, 0, None), out_mapped=(True, True), {0}](%0, %1, %2)
            graph(%0: bool[], %1: f64[], %2: f64[]) {{
              %3, %4 = cond(%0, %1, %2)
                graph(%0: f64[], %1: f64[]) {{ %2 = sin(%0) return %2, %1 }}
                graph(%0: f64[], %1: f64[]) {{ %2 = exp(%1) return %0, %2 }}
              return %3, %4
            }}
          return %3
        }}"""


@pytest.mark.parametrize("option", ["order='sequential'", "order='divergent'"])
def test_maps_that_stay(option):
    text = simplified(MAP.format(option))
    assert f"map[size=n, in_dims=(0, 0), out_mapped=(True,), {option}](%0, %1)" in text
    assert "cond(%0, %1)" in text and "exp" not in text


@pytest.mark.parametrize("option", ["chunk=2", "order='parallel'"])
def test_maps_that_will_be_lowered_keep_their_operands(option):
    text = simplified(MAP.format(option))
    assert "in_dims=(0, 0, None), out_mapped=(True, True)" in text and "exp" in text


def test_a_divergent_branch_that_hands_an_operand_on():
    assert same(
        simplified("""
        graph(%0: bool[n], %1: f64[n], %2: f64[2]) {
          %3, %4, %5 = map[size=n, in_dims=(0, 0, None), out_mapped=(True, True, True),
                           order='divergent'](%0, %1, %2)
            graph(%0: bool[], %1: f64[], %2: f64[2]) {
              %3, %4, %5 = cond(%0, %1, %2)
                graph(%0: f64[], %1: f64[2]) { %2 = sin(%0) return %0, %1, %2 }
                graph(%0: f64[], %1: f64[2]) { return %0, %1, %0 }
              return %3, %4, %5
            }
          return %3, %4, %5
        }"""),
        """
        graph(%0: bool[n], %1: f64[n], %2: f64[2]) {
          %5: f64[n] = map[size=n, in_dims=(0, 0), out_mapped=(True,), order='divergent'](%0, %1)
            graph(%0: bool[], %1: f64[]) {
              %5: f64[] = cond(%0, %1)
                graph(%0: f64[]) {
                  %2: f64[] = sin(%0)
                  return %2
                }
                graph(%0: f64[]) {
                  return %0
                }
              return %5
            }
          %4: f64[n,2] = broadcast_to[shape=(n, 2)](%2)
          return %1, %4, %5
        }""",
    )
