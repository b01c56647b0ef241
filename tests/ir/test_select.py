"""Cheap branches as straight-line code: which are, what they become, and that nobody notices."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.inspect.explain import explain
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.verify import verify
from lanewise.ops.control import cond
from lanewise.ops.registry import REGISTRY
from lanewise.ops.ufuncs import ROWS
from lanewise.passes.pipeline import lower
from lanewise.passes.select import selected
from lanewise.runtime.interpret import interpret
from support import random_graphs, reference


def branches(types: str, on_true: str, on_false: str) -> Operation:
    """Return a `cond` on operands of some types, which its regions know as %0, %1, ..."""
    given = types.split()
    header = ", ".join(f"%{i}: {type}" for i, type in enumerate(["bool[]", *given]))
    taken = ", ".join(f"%{i}: {type}" for i, type in enumerate(given))
    count = on_true.rpartition("return")[2].count("%")
    results = [f"%{1 + len(given) + i}" for i in range(count)]
    text = f"""
        graph({header}) {{
          {", ".join(results)} = cond({", ".join(f"%{i}" for i in range(len(given) + 1))})
            graph({taken}) {{ {on_true} }}
            graph({taken}) {{ {on_false} }}
          return {", ".join(results)}
        }}"""
    (op,) = parse_graph(text, REGISTRY, {"fail": ValueError}).operations
    return op


def straight(types: str, on_true: str, on_false: str, varies: bool = True) -> str:
    """Return the operations that a `cond` becomes; nothing if it stays."""
    op = branches(types, on_true, on_false)
    graph = selected(op, [True, *[varies] * (len(op.operands) - 1)])
    if graph is None:
        return ""
    verify(graph)
    assert not any(inner.regions for inner in graph.operations)
    return format_graph(graph).split("\n", 1)[1].removesuffix("}").strip()


LESS = "%2 = less(%0, %1) return %2"
NOTHING = "%2: bool[] = constant({}) return %2"


@pytest.mark.parametrize(
    ("on_true", "on_false", "expected"),
    [
        (LESS, NOTHING.format(False), "logical_and(%0, %3)"),
        (NOTHING.format(True), LESS, "logical_or(%0, %4)"),
        (NOTHING.format(False), LESS, "logical_and(%5, %4)"),
        (LESS, NOTHING.format(True), "logical_or(%5, %3)"),
    ],
)
def test_short_circuits(on_true, on_false, expected):
    assert expected in straight("f64[] f64[]", on_true, on_false)


def test_truth_values_need_no_where():
    text = straight("bool[] bool[]", "return %0", "return %1")
    assert (
        text
        == textwrap.dedent("""
        %3: bool[] = logical_not(%0)
          %4: bool[] = logical_and(%0, %1)
          %5: bool[] = logical_and(%3, %2)
          %6: bool[] = logical_or(%4, %5)
          return %6""").strip()
    )
    assert straight("f64[]", NOTHING.format(True), NOTHING.format(False)).endswith("return %0")
    assert straight("f64[]", NOTHING.format(False), NOTHING.format(True)).endswith(
        "%4: bool[] = logical_not(%0)\n  return %4"
    )
    assert straight("f64[]", NOTHING.format(True), NOTHING.format(True)).endswith("return %2")


def test_the_operand_of_a_short_circuit_is_the_predicate():
    graph = parse_graph(
        """
        graph(%0: bool[], %1: f64[]) {
          %2 = cond(%0, %0, %1)
            graph(%0: bool[], %1: f64[]) { %2 = isnan(%1) return %2 }
            graph(%0: bool[], %1: f64[]) { return %0 }
          return %2
        }""",
        REGISTRY,
    )
    found = selected(graph.operations[0], (True, True, True))
    assert found is not None
    assert "logical_and(%0, %3)" in format_graph(found)


def test_a_choice_of_numbers():
    text = straight("i64[]", "%1: i64[] = constant(2) %2 = floor_divide(%0, %1) return %2",
                    "%1: i64[] = constant(3) %2 = multiply(%0, %1) return %2")  # fmt: skip
    assert "where(%0, %3, %5)" in text
    assert "where(%0, %1, %2)" in straight("f64[] f64[]", "return %0", "return %1")


def test_branches_in_branches():
    inner = """%2 = less(%0, %1) %3 = cond(%2, %0, %1)
                 graph(%0: f64[], %1: f64[]) {{ return %0 }}
                 graph(%0: f64[], %1: f64[]) {{ {} return %2 }}
               return %3"""
    text = straight("f64[] f64[]", inner.format("%2 = negative(%1)"), "return %1")
    assert text.count("where(") == 2
    assert not straight("f64[] f64[]", inner.format("%2 = sqrt(%1)"), "return %1")


LONG = " ".join(f"%{i + 1} = negative(%{i})" for i in range(9))


@pytest.mark.parametrize(
    ("types", "on_true", "on_false"),
    [
        ("f64[]", "%1 = add(%0, %0) return %1", "return %0"),
        ("f64[]", "%1 = sqrt(%0) return %1", "return %0"),
        ("f64[]", "%1 = floor(%0) return %1", "return %0"),
        ("i64[]", "%1 = exact[fn=add](%0, %0) return %1", "return %0"),
        ("i64[] i64[]", "%2 = floor_divide(%0, %1) return %2", "return %0"),
        ("i64[]", "%1: i64[] = constant(0) %2 = remainder(%0, %1) return %2", "return %0"),
        ("i64[]", "%1: i64[] = constant(-1) %2 = floor_divide(%0, %1) return %2", "return %0"),
        ("f64[]", "%1: f64[] = constant(2.0) %2 = remainder(%0, %1) return %2", "return %0"),
        ("f32[] f64[]", "%2 = less(%0, %1) return %2", "%2 = isnan(%0) return %2"),
        ("f32[] f64[]", "%2 = cast[dtype=f64](%0) return %2", "return %1"),
        ("f64[] i64[]", "%2 = cast[dtype=i64](%0) return %2", "return %1"),
        ("i64[] f16[]", "%2 = cast[dtype=f16](%0) return %2", "return %1"),
        ("f64[]", "%1 = logical_not(%0) return %1", "%1 = isnan(%0) return %1"),
        ("f64[]", f"{LONG} return %9", "return %0"),
        ("f64[3] f64[3]", "return %0", "return %1"),
        ("c128[] c128[]", "return %0", "return %1"),
        ("f64[] f64[]", "return %0, %1", "return %1, %0"),
        ("bool[] i64[]", "check[make=<host fail>](%0) return %1", "return %1"),
        (
            "f64[5] i64[]",
            "%2 = gather[axis=0](%0, %1) return %2",
            "%2: f64[] = constant(1.0) return %2",
        ),
    ],
)
def test_what_stays(types, on_true, on_false):
    assert not straight(types, on_true, on_false)


def test_scalars_of_integers_warn_so_they_are_left():
    """What does not vary is computed on scalars, of whose overflow NumPy warns."""
    on_true = "%1 = add(%0, %0) return %1"
    assert straight("i64[]", on_true, "return %0")
    assert not straight("i64[]", on_true, "return %0", varies=False)


def nasty(dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, info.max // 2], dtype)
    info = np.finfo(dtype)
    signaling = np.array(
        [{4: 0x7FA00001, 8: 0x7FF4000000000001}[dtype.itemsize]], f"u{dtype.itemsize}"
    )
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, info.max, info.min, info.smallest_subnormal]
    return np.concatenate([np.array(values, dtype), signaling.view(dtype)])


@pytest.mark.parametrize("row", [row for row in ROWS if row.quiet], ids=lambda row: row.name)
def test_quiet_means_quiet(row):
    name = row.name
    fn = getattr(np, name)
    rng = np.random.default_rng(0)
    for code in "?bhilBHILfd":
        dtype = np.dtype(code)
        if dtype.kind not in row.quiet or (name, code) in (("subtract", "?"), ("negative", "?")):
            continue
        values = nasty(dtype)
        for size in (1, 7, 100):
            operands = [rng.choice(values, size) for _ in range(fn.nin)]
            if row.divides:
                operands[1] = dtype.type(3)
            with np.errstate(all="raise"):
                fn(*operands)
                if not row.wraps or dtype.kind == "f":
                    fn(*[x if np.ndim(x) == 0 else x[0] for x in operands])


def converted(graph: Graph) -> bool:
    return cond not in {op.primitive for op in graph.operations} and not any(
        op.regions for op in graph.operations
    )


def pick(x, y):
    return x if x > 0 and y > 0 else -y


def clip(x, y):
    if x > y:
        return y
    if x < -1.0 or np.isnan(x):
        return -1.0
    return x


def halve(n, m):
    return n // 2 if n % 2 == 0 or m < 0 else m


FLOATS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1.0, -2.0])
INTEGERS = np.array([-(2**63), 2**63 - 1, 0, 1, -1, 3, -4, 2**62])


@pytest.mark.parametrize(("f", "values"), [(pick, FLOATS), (clip, FLOATS), (halve, INTEGERS)])
def test_nobody_notices(f: Callable[..., Any], values: np.ndarray):
    x, y = [part.ravel() for part in np.meshgrid(values, values)]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        found = lw.vmap(f)(x, y)
        want = np.array([f(*pair) for pair in zip(x, y, strict=True)])
    np.testing.assert_array_equal(found, want)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))
    fates = {row.fate for row in explain(lw.vmap(f), x, y).rows}
    assert fates == {"batched"}


def test_the_bits_of_a_nan_are_kept():
    bits = np.array([0x7FF8000000000123, 0xFFF8000000000456, 0x7FF4000000000001], np.uint64)
    x = bits.view(float)
    found = lw.vmap(lambda x, p: x if p else -x)(x, np.array([True, False, True]))
    sign = np.array([0, 2**63, 0], np.uint64)
    np.testing.assert_array_equal(found.view(np.uint64), bits ^ sign)


def test_what_nobody_takes_does_not_warn():
    def f(x, a, b):
        a, b = a[0], b[0]
        return a + b if x > 0 else a

    big = np.array([2**63 - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lw.vmap(f, in_dims=(0, None, None))(np.array([-1.0, -2.0]), big, big)
    np.testing.assert_array_equal(found, [big[0], big[0]])


def test_explain_shows_them_on_their_line():
    def f(x, y):
        if x > 0 and y > 0:
            return x
        return y

    rows = explain(lw.vmap(f), np.ones(3), np.ones(3)).rows
    start = f.__code__.co_firstlineno
    found = [(row.operation, row.fate, row.location and row.location.line - start) for row in rows]
    assert found == [
        ("greater", "batched", 1),
        ("greater", "batched", 1),
        ("logical_and", "batched", 1),
        ("where", "batched", 1),
    ]


class _Quiet(random_graphs._Writer):
    """Writes branches that are mostly cheap."""

    def arithmetic(self, values):
        if self.rng.random() < 0.1:
            return super().arithmetic(values)
        type = self.rng.choice((random_graphs.FLOAT, random_graphs.INTEGER))
        name = self.rng.choice(("maximum", "minimum", "fmax"))
        return [self.call(name, self.call("negative", self.pick(values, type)),
                          self.pick(values, type))]  # fmt: skip

    def choice(self, values):
        return self.branch(values)

    walk = choice

    def branch(self, values):
        depth = self.depth
        operands, wanted = self.some(values), [random_graphs.TRUTH]
        wanted += self.rng.choices(random_graphs.TYPES, k=self.rng.choice((0, 1, 1, 1, 2)))
        types = [value.type for value in operands]
        self.depth -= self.rng.randint(0, self.depth)
        regions = self.region(types, wanted), self.region(types, wanted)
        self.depth = depth
        results = cond(self.pick(values, random_graphs.TRUTH), *operands, regions=regions)
        return random_graphs._several(results)


def test_random_graphs(monkeypatch):
    monkeypatch.setattr(random_graphs, "_Writer", _Quiet)
    chosen = []

    def spy(op: Operation, mapped: Any) -> Graph | None:
        found = selected(op, mapped)
        chosen.append(found is not None)
        return found

    monkeypatch.setattr("lanewise.passes.vectorize.selected", spy)
    for seed in range(200):
        graph, arguments = random_graphs.random_graph(seed)
        want = reference.run(graph, *arguments)
        full = lower(graph)
        verify(full)
        for found in (reference.run(full, *arguments), interpret(graph, *arguments)):
            for got, value in zip(found, want, strict=True):
                np.testing.assert_allclose(got, value, 1e-12, 1e-12)
    assert 30 < sum(chosen) < len(chosen) - 20
