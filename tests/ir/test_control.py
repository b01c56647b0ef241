"""Control flow in graphs: what the type rules refuse, the text form, and the verifier."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.errors import InvalidGraphError
from lanewise.ir.graph import Builder
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import array_type
from lanewise.ir.verify import verify
from lanewise.ops.control import CONTROL
from lanewise.ops.registry import REGISTRY
from support import reference

HOST = {"print": print, "ValueError": ValueError}


def parsed(text: str):
    return parse_graph(text, REGISTRY, HOST)


NESTED = """
    graph(%0: f64[3], %1: i64[], %2: bool[]) {
      %ten: f64[] = constant(10.0)
      %s, %y = scan[captures=1, carry=1, length=3, reverse=True](%1, %ten, %0)
        graph(%n: i64[], %s: f64[], %x: f64[]) {
          %t: f64[], %i: i64[] = while[captures=1](%n, %s, %n)
            graph(%n: i64[], %s: f64[], %i: i64[]) {
              %zero: i64[] = constant(0)
              %more = greater(%i, %zero)
              return %more
            }
            graph(%n: i64[], %s: f64[], %i: i64[]) {
              %one: i64[] = constant(1)
              %j = subtract(%i, %one)
              %r = switch(%j, %s)
                graph(%s: f64[]) { %r = sin(%s) return %r }
                graph(%s: f64[]) { %r = cos(%s) return %r }
                graph(%s: f64[]) { return %s }
              return %r, %j
            }
          %u = add(%t, %x)
          return %u, %s
        }
      %ok = isfinite(%s)
      check[make=<host ValueError>](%ok)
      %r: f64[] = cond(%2, %s)
        graph(%x: f64[]) { %y = negative(%x) return %y }
        graph(%x: f64[]) {
          %ok = isfinite(%x)
          check[make=<host ValueError>](%ok)
          return %x
        }
      return %r, %y
    }"""


def test_nested_control_flow_prints_and_parses():
    graph = parsed(NESTED)
    verify(graph)
    text = format_graph(graph)
    assert format_graph(parsed(text)) == text and parsed(text).key == graph.key
    x = np.array([1.0, 2.0, 3.0])
    result, seen = reference.run(graph, x, np.array(2), np.array(True))
    s, states = 10.0, []
    for value in x[::-1]:
        states.insert(0, s)
        s = np.sin(np.cos(s)) + value
    assert result == -s
    np.testing.assert_array_equal(seen, states)


def test_what_must_run():
    must = {op.primitive.name: op.must_run for op in parsed(NESTED).operations}
    assert must == {
        "constant": False, "scan": False, "isfinite": False, "check": True, "cond": True,
    }  # fmt: skip


def test_all_are_registered_without_a_numpy_meaning():
    for primitive in CONTROL:
        assert REGISTRY[primitive.name] is primitive
    assert [primitive.name for primitive in CONTROL] == ["cond", "switch", "while", "scan"]


SAME = "graph(%x: f64[]) { return %x }"


@pytest.mark.parametrize(("operation", "message"), [
    (f"cond(%b, %x) {SAME}", "cond has two regions, not 1"),
    (f"cond(%v, %x) {SAME} {SAME}", r"predicate of cond must be one truth value, not bool\[3\]"),
    (f"cond(%x, %x) {SAME} {SAME}", r"must be one truth value, not f64\[\]"),
    (f"cond(%b, %n) {SAME} {SAME}", r"region 0 of cond takes \(f64\[\]\), but its operands: \(i64"),
    (f"cond(%b, %x, %x) {SAME} {SAME}", r"takes \(f64\[\]\), but its operands: \(f64\[\], f64"),
    (f"cond(%b, %x) {SAME} graph(%x: f64[]) {{ return }}",
     r"region 1 of cond gives \(\), but region 0: \(f64\[\]\)"),
    (f"switch(%x, %x) {SAME}", r"the index of switch must be one integer, not f64\[\]"),
    (f"while[captures=0](%x) {SAME}", "while has two regions, a test and a body, not 1"),
    (f"while[captures=2](%x) {SAME} {SAME}", "captures=2, but there are 1 operands"),
    (f"while[captures=0](%x) {SAME} {SAME}", "what the test of while gives must be one truth"),
    ("while[captures=0](%b) graph(%x: bool[]) { return %x } graph(%x: bool[]) { return }",
     r"the body of while gives \(\), but its carry: \(bool\[\]\)"),
    ("while[captures=0](%b) graph(%x: bool[]) { return } graph(%x: bool[]) { return %x }",
     "gives one truth value, not 0"),
    (f"scan[captures=0, carry=0, length=3](%x) {SAME}", "which has no leading axis of 3"),
    (f"scan[captures=0, carry=0, length=2](%a) {SAME}", r"slices of f64\[3\], which has no"),
    (f"scan[captures=0, carry=2, length=3](%a) {SAME}", "carry=2, but there are 1 operands"),
    (f"scan[captures=0, carry=1, length=3](%a) {SAME}", r"takes \(f64\[\]\), but its operands: "),
    (f"scan[captures=0, carry=0, length=-1](%a) {SAME}", "scan takes -1 turns"),
    ("scan[captures=0, carry=1, length=3](%x) graph(%x: f64[]) { return }",
     r"the body of scan gives \(\), but its carry: \(f64\[\]\)"),
    (f"scan[captures=0, carry=0, length=3](%a) {SAME} {SAME}", "scan has one region"),
    ("scan[captures=1, carry=0, length=3](%t) graph(%t: token) { return %t }",
     "a token is handed on in the carry"),
])  # fmt: skip
def test_the_type_rules_refuse(operation, message):
    text = f"""graph(%x: f64[], %n: i64[], %b: bool[], %v: bool[3], %a: f64[3], %t: token) {{
        %r = {operation}
        return %t
      }}"""
    with pytest.raises((TypeError, ValueError), match=message):
        parsed(text)


def test_a_loop_without_a_region_is_refused():
    builder = Builder()
    x = builder.input(array_type(np.dtype("f8"), ()))
    with pytest.raises(TypeError, match="regions"):
        builder.emit(REGISTRY["while"], (x,), {"captures": 0})


EFFECT = """
    graph(%0: token, %1: i64[]) {
      %2, %3 = while[captures=0](%0, %1)
        graph(%t: token, %i: i64[]) {
          %zero: i64[] = constant(0)
          %more = greater(%i, %zero)
          return %more
        }
        graph(%t: token, %i: i64[]) {
          %one: i64[] = constant(1)
          %j = subtract(%i, %one)
          %u = py_func[func=<host print>, types=(), vectorized=False](%t, %j)
          return %u, %j
        }
      return %2
    }"""


def test_a_test_may_leave_its_token_alone():
    graph = parsed(EFFECT)
    verify(graph)
    assert parsed(format_graph(graph)).key == graph.key
    log: list[int] = []
    func = parse_graph(EFFECT, REGISTRY, {"print": lambda i: log.append(int(i)) or []})
    assert reference.run(func, None, np.array(3)) == [None]
    assert log == [2, 1, 0]


def test_an_operation_that_takes_a_token_gives_one():
    graph = parsed("""
        graph(%0: token, %1: bool[]) {
          cond(%1, %0)
            graph(%t: token) { return }
            graph(%t: token) { return }
          return
        }""")
    with pytest.raises(InvalidGraphError, match="takes a token and gives none"):
        verify(graph)


def test_a_branch_must_hand_on_the_token_of_its_effect():
    graph = parsed("""
        graph(%0: token, %1: bool[]) {
          cond(%1, %0)
            graph(%t: token) {
              %u = py_func[func=<host print>, types=(), vectorized=False](%t)
              return
            }
            graph(%t: token) { return }
          return %0
        }""")
    with pytest.raises(InvalidGraphError, match=r"the token %1 is lost"):
        verify(graph)


def test_regions_are_isolated():
    builder = Builder()
    p = builder.input(array_type(np.dtype(bool), ()))
    x = builder.input(array_type(np.dtype("f8"), (2,)))
    region = Builder().finish([x])
    (result,) = builder.emit(REGISTRY["cond"], (p,), {}, (region, region))
    with pytest.raises(InvalidGraphError, match="a region uses %1 of the graph around it"):
        verify(builder.finish([result]))
