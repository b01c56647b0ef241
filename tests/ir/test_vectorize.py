"""Lowering of maps, on graphs written as text: hoisted, batched, looped, host calls in order."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import array_type
from lanewise.ir.verify import verify
from lanewise.ops.registry import REGISTRY, Primitive, absent
from lanewise.passes.pipeline import lower
from lanewise.passes.vectorize import vectorize
from lanewise.runtime.interpret import interpret


def lowered(text: str, named=None) -> str:
    """Return the graph after all passes, its values numbered from 0 on."""
    graph = lower(parse_graph(text, REGISTRY, named))
    verify(graph)
    return format_graph(graph)


def same(text: str, expected: str) -> bool:
    return text == textwrap.dedent(expected).strip()


def test_batched_and_hoisted():
    text = """
        graph(%0: f64[batch,4], %1: f64[4]) {
          %2: f64[batch,4] = map[size=batch, in_dims=(0, None), out_mapped=(True,)](%0, %1)
            graph(%0: f64[4], %1: f64[4]) {
              %2 = exp(%1)
              %3 = multiply(%0, %2)
              return %3
            }
          return %2
        }"""
    assert same(
        lowered(text),
        """
        graph(%0: f64[batch,4], %1: f64[4]) {
          %2: f64[4] = exp(%1)
          %3: f64[batch,4] = multiply(%0, %2)
          return %3
        }""",
    )
    fates = []
    vectorize(parse_graph(text, REGISTRY), lambda op, fate, new: fates.append((op, fate, new)))
    assert [(op.primitive.name, fate, len(new)) for op, fate, new in fates] == [
        ("exp", "hoisted", 1),
        ("multiply", "batched", 1),
    ]


def test_the_mapped_axis_goes_first_and_rank_is_padded():
    assert same(
        lowered("""
        graph(%0: f64[4,batch], %1: f64[batch]) {
          %2: f64[batch,4] = map[size=batch, in_dims=(1, 0), out_mapped=(True,)](%0, %1)
            graph(%0: f64[4], %1: f64[]) {
              %2 = add(%0, %1)
              return %2
            }
          return %2
        }"""),
        """
        graph(%0: f64[4,batch], %1: f64[batch]) {
          %2: f64[batch,4] = transpose[axes=(1, 0)](%0)
          %3: f64[batch,1] = reshape[shape=(batch, 1)](%1)
          %4: f64[batch,4] = add(%2, %3)
          return %4
        }""",
    )


def test_results_that_do_not_vary():
    text = """
        graph(%0: f64[batch], %1: f64[2]) {{
          %2, %3 = map[size=batch, in_dims=(0, None), out_mapped=({0}, True)](%0, %1)
            graph(%0: f64[], %1: f64[2]) {{
              %2 = negative(%1)
              %3 = negative(%0)
              return {1}, %2
            }}
          return %2, %3
        }}"""
    assert same(
        lowered(text.format("False", "%2")),
        """
        graph(%0: f64[batch], %1: f64[2]) {
          %2: f64[2] = negative(%1)
          %3: f64[batch,2] = broadcast_to[shape=(batch, 2)](%2)
          return %2, %3
        }""",
    )
    with pytest.raises(ValueError, match="result 0 of the mapped function differs from example"):
        lowered(text.format("False", "%3"))


def test_nested_maps_become_one_batch():
    assert same(
        lowered("""
        graph(%0: f64[batch,5,3], %1: f64[5]) {
          %2 = map[size=batch, in_dims=(0, None), out_mapped=(True,)](%0, %1)
            graph(%0: f64[5,3], %1: f64[5]) {
              %2 = map[size=5, in_dims=(0, 0), out_mapped=(True,)](%0, %1)
                graph(%0: f64[3], %1: f64[]) {
                  %2 = multiply(%0, %1)
                  %3 = reduce[fn=add, axes=(0,)](%2)
                  return %3
                }
              return %2
            }
          return %2
        }"""),
        """
        graph(%0: f64[batch,5,3], %1: f64[5]) {
          %2: f64[5,1] = reshape[shape=(5, 1)](%1)
          %3: f64[batch,5,3] = multiply(%0, %2)
          %4: f64[batch,5] = reduce[fn=add, axes=(2,)](%3)
          return %4
        }""",
    )


#: A primitive that NumPy, let us say, has for one example only.
ALONE = Primitive(
    "alone",
    type=lambda x, y: (x, array_type(np.dtype("i8"), ())),
    numpy=lambda x, y: (x + y, np.int64(x.size)),
    batch=absent("it takes one example at a time"),
    samples=absent("it is a test's"),
    doc="A sum, and how many elements it has.",
)
LOOP = """
    graph(%0: f64[batch,3], %1: f64[3]) {{
      %2, %3 = map[size=batch, in_dims=(0, None), out_mapped=(True, True){0}](%0, %1)
        graph(%0: f64[3], %1: f64[3]) {{
          %2, %3 = alone(%0, %1)
          %4 = exp(%2)
          return %4, %3
        }}
      return %2, %3
    }}"""


def test_what_has_no_rule_runs_one_example_at_a_time():
    assert same(
        lowered(LOOP.format(""), {"alone": ALONE}),
        """
        graph(%0: f64[batch,3], %1: f64[3]) {
          %2: f64[batch,3], %3: i64[batch] = map[size=batch, in_dims=(0, None), out_mapped=(True, True), order='sequential'](%0, %1)
            graph(%0: f64[3], %1: f64[3]) {
              %2: f64[3], %3: i64[] = alone(%0, %1)
              return %2, %3
            }
          %4: f64[batch,3] = exp(%2)
          return %4, %3
        }""",  # noqa: E501
    )
    x, y = np.arange(6.0).reshape(2, 3), np.ones(3)
    graph = parse_graph(LOOP.format(""), REGISTRY, {"alone": ALONE})
    sums, counts = interpret(graph, x, y)
    np.testing.assert_array_equal(sums, np.exp(x + y))
    np.testing.assert_array_equal(counts, [3, 3])


def test_falling_back_can_be_forbidden():
    with pytest.raises(ValueError, match="alone cannot be vectorized: it takes one example at a"):
        lowered(LOOP.format(", fallback=False"), {"alone": ALONE})


def test_sequential_and_chunked_maps_stay():
    for option in ("order='sequential'", "chunk=2"):
        text = f"""
            graph(%0: f64[batch,3]) {{
              %1 = map[size=batch, in_dims=(0,), out_mapped=(True,), {option}](%0)
                graph(%0: f64[3]) {{
                  %1 = map[size=3, in_dims=(0,), out_mapped=(True,)](%0)
                    graph(%0: f64[]) {{
                      %1 = exp(%0)
                      return %1
                    }}
                  return %1
                }}
              return %1
            }}"""
        assert same(
            lowered(text),
            f"""
            graph(%0: f64[batch,3]) {{
              %1: f64[batch,3] = map[size=batch, in_dims=(0,), out_mapped=(True,), {option}](%0)
                graph(%0: f64[3]) {{
                  %1: f64[3] = exp(%0)
                  return %1
                }}
              return %1
            }}""",
        )
        x = np.arange(15.0).reshape(5, 3)
        np.testing.assert_array_equal(interpret(parse_graph(text, REGISTRY), x)[0], np.exp(x))


# --- effects --------------------------------------------------------------------------------------

HOST = """
    graph(%0: f64[batch,2], %1: token) {{
      %2, %3 = map[size=batch, in_dims=(0, None), out_mapped=(True, False)](%0, %1)
        graph(%0: f64[2], %1: token) {{
          %2, %3 = py_func[func=<host f>, types=(f64[2],), vectorized={0}](%1, %0)
          %4 = exp(%0)
          %5 = negative(%3)
          %6, %7 = py_func[func=<host g>, types=(f64[2],), vectorized={0}](%2, %5)
          %8 = add(%7, %4)
          return %8, %6
        }}
      return %2, %3
    }}"""


def hosts(log: list) -> dict:
    def host(name: str):
        def call(x):
            log.append((name, x.tolist()))
            return [x + 1]

        call.__name__ = name
        return call

    return {"f": host("f"), "g": host("g")}


def test_host_calls_run_example_by_example():
    log: list = []
    text = lowered(HOST.format("False"), hosts(log))
    loop = text[text.index("order='sequential'") : text.rindex("    }")]
    assert [name in loop for name in ("<host f>", "<host g>", "negative", "exp", "add")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    result, token = interpret(parse_graph(HOST.format("False"), REGISTRY, hosts(log)), x, None)
    assert token is None
    assert log == [("f", [1, 2]), ("g", [-2, -3]), ("f", [3, 4]), ("g", [-4, -5])]
    np.testing.assert_array_equal(result, -(x + 1) + 1 + np.exp(x))


def test_vectorized_host_calls_run_once():
    log: list = []
    text = lowered(HOST.format("True"), hosts(log))
    assert "map" not in text and text.count("py_func") == 2
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    result, _ = interpret(parse_graph(HOST.format("True"), REGISTRY, hosts(log)), x, None)
    assert [name for name, _ in log] == ["f", "g"]
    np.testing.assert_array_equal(result, -(x + 1) + 1 + np.exp(x))


def test_an_effect_that_does_not_depend_on_the_example_runs_for_each():
    log: list = []
    text = """
        graph(%0: f64[batch], %1: f64[2], %2: token) {
          %3 = map[size=batch, in_dims=(0, None, None), out_mapped=(False,)](%0, %1, %2)
            graph(%0: f64[], %1: f64[2], %2: token) {
              %3, %4 = py_func[func=<host f>, types=(f64[2],), vectorized=False](%2, %1)
              return %3
            }
          return %3
        }"""
    interpret(parse_graph(text, REGISTRY, hosts(log)), np.zeros(3), np.array([1.0, 2.0]), None)
    assert log == [("f", [1, 2])] * 3


def test_dead_operations_go_but_effects_stay():
    text = """
        graph(%0: f64[2], %1: token) {
          %2 = exp(%0)
          %3, %4 = py_func[func=<host f>, types=(f64[2],), vectorized=False](%1, %0)
          %5 = exp(%4)
          return %3
        }"""
    left = lowered(text, hosts([]))
    assert "exp" not in left and "py_func" in left
