"""Writing through views in kernels: NumPy's results, no copies, no index out of range unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.ir.graph import Graph
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ops.registry import REGISTRY
from lanewise.passes.forward import forwarded
from lanewise.passes.paths import bounded, direct
from lanewise.passes.simplify import eliminate_dead
from lanewise.runtime.interpret import interpret
from support.backends import backend
from support.searching import searching

ROWS, COLUMNS = 7, 9


def _place(a, i, j):
    a[i, j] += a[j % ROWS, i]


def _row(a, i, j):
    a[i] *= 2
    a[i] -= a[j % ROWS]


def _inside(a, i, j):
    a[i, 1:-1] += a[i - 1, 2:] + a[i - 1, :-2]


def _column(a, i, j):
    a[1:-1, j] = a[2:, j] * 2 - a[:-2, i]


def _head(a, i, j):
    a[i, :j] -= a[i - 1, :j]


def _tail(a, i, j):
    a[i, j:] = a[i - 1, j:] + a[i, j:]


def _above(a, i, j):
    a[:i, j] += 1
    a[i:, j] -= a[i:, 0]


def _between(a, i, j):
    a[i, i : i + 2] = a[i - 1, i : i + 2]
    a[i, 2:j] *= 3


def _backward(a, i, j):
    a[i, :j] += a[i, :j][::-1]


def _aliased(a, i, j):
    row = a[i]
    row[2:5] = row[3:6]
    row[j] = 7
    a[i, 0] += row[1]


def _transposed(a, i, j):
    a.T[j, 1:4] = +a[i, 1:4]  # NumPy copies no vector that it writes to one of another stride
    a[:, j][1:3] = 5


def _stepped(a, i, j):
    a[::2, j] += 1
    a[i, ::-1][:3] -= a[i - 1, :3]


def _summed(a, i, j):
    a[i, 0] = a[i, :j].sum()
    a[i, 1] = a[i, :j] @ a[i - 1, :j]
    a[i, 2] = a[:i, j].max(initial=-3)


def _nested(a, i, j):
    part = a[1:, 1:]
    part[i - 1, 2:5] *= 2
    part[:, 3] -= part[:, j // 2]
    part[2:4][1, j // 2] = 9


def _fixed(a, i, j):
    a[2] = a[i] + 1
    a[2, 3] -= a[2, 4]
    a[2] += a[2]


def _chosen(a, i, j):
    if a[i, j] > 0:
        a[i, :j] = a[i, :j] - 1
    else:
        a[i, 1:3] += a[i - 1, 1:3]


def _inner(a, i, j):
    for k in range(1, 4):
        a[i, k] += a[i, k - 1]
        a[i, :k] -= a[k, :k]


STATEMENTS: list[Callable[..., None]] = [
    _place, _row, _inside, _column, _head, _tail, _above, _between, _backward, _aliased,
    _transposed, _stepped, _summed, _nested, _fixed, _chosen, _inner,
]  # fmt: skip


def program(a: Any, places: Any, statements: tuple[Callable[..., None], ...]) -> Any:
    """Write to an array in a loop, by some statements in turn."""
    a = a.copy()
    for i in range(places.shape[0]):
        for statement in statements:
            statement(a, i, places[i])
    return a


def given_arrays(dtype: Any, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, (ROWS, COLUMNS)).astype(dtype), rng.integers(0, COLUMNS, ROWS)


def check(statements: tuple[Callable[..., None], ...], dtype: Any, seed: int = 0) -> None:
    """Assert that a program gives NumPy's results: of one example, and in lanes."""
    a, places = given_arrays(dtype, seed)
    want = program(a, places, statements)
    with backend("native"):
        np.testing.assert_array_equal(lw.function(program)(a, places, statements), want)
        many = np.stack([a, a[::-1], -a]), np.stack([places, places[::-1], (places + 1) % ROWS])
        got = lw.vmap(lambda a, places: program(a, places, statements))(*many)
    stacked = [program(x, y, statements) for x, y in zip(*many, strict=True)]
    np.testing.assert_array_equal(got, np.stack(stacked))


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda f: f.__name__.strip("_"))
def test_each_statement(statement, monkeypatch):
    if STATEMENTS.index(statement) % 2:
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight, or several
    check((statement,), np.int64)


@searching(3)
@given(
    st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=3),
    st.sampled_from([np.float64, np.int32]),
    st.integers(0, 5),
)
def test_statements_in_turn(statements, dtype, seed):
    # Of small integers, which stay exact in float64 for so many turns or overflow alike.
    a, places = given_arrays(dtype, seed)
    want = program(a, places, tuple(statements))
    if not np.all(np.abs(want.astype(np.float64)) < 2.0**31):
        return
    check(tuple(statements), dtype, seed)


# --- indices out of range -------------------------------------------------------------------------


def _written_and_read(x, i):
    y = x.copy()
    y[i] = 1.0
    return y[i] * 2


def _overwritten(x, i):
    y = x.copy()
    y[i] = 1.0
    y[i] = 2.0
    return y


def _in_a_row(x, i):
    y = x.reshape(10, 10).copy()
    y[3, i] += 1
    return y[3]


@pytest.mark.parametrize("function", [_written_and_read, _overwritten, _in_a_row])
@pytest.mark.parametrize("index", [100, -101])
def test_an_index_out_of_range_is_seen(function, index):
    x, i = np.arange(100.0), np.asarray(index)
    with pytest.raises(IndexError):
        function(x, i)
    with backend("interpret"), pytest.raises(IndexError) as want:
        lw.function(function)(x, i)
    with backend("native"), pytest.raises(IndexError) as got:
        lw.function(function)(x, i)
    assert str(want.value) == str(got.value)


# --- graphs ---------------------------------------------------------------------------------------


def brief(text: str) -> Graph:
    """Return what a kernel of a graph is written of."""
    return bounded(forwarded(direct(eliminate_dead(parse_graph(text, REGISTRY)), 8)), 8)


def names(graph: Graph) -> list[str]:
    return [op.primitive.name for op in graph.operations]


COLUMN = """graph(%a: f64[4,5], %i: i64[], %v: f64[2]) {
  %s = slice[index=((1, 3, 1), None)](%a)
  %w = scatter[axis=1, fn=None](%s, %v, %i)
  %r = update_slice[index=((1, 3, 1), None)](%a, %w)
  return %r
}"""

TWICE = """graph(%a: f64[4,5], %i: i64[]) {
  %x = gather[axis=0](%a, %i)
  %y = add(%x, %x)
  %b = scatter[axis=0, fn=None](%a, %y, %i)
  %z = gather[axis=0](%b, %i)
  %c = scatter[axis=0, fn=None](%b, %z, %i)
  return %c
}"""

HEAD = """graph(%a: f64[4,9], %i: i64[], %n: i64[]) {
  %x = gather[axis=0](%a, %i)
  %p = iota[length=9, dtype=i64]()
  %m = less(%p, %n)
  %e: f64[] = constant(nan)
  %f = where(%m, %x, %e)
  %t = multiply(%f, %f)
  %w = where(%m, %t, %x)
  %b = scatter[axis=0, fn=None](%a, %w, %i)
  return %b
}"""

TOTAL = """graph(%x: f64[9], %y: f64[9], %n: i64[]) {
  %p = iota[length=9, dtype=i64]()
  %m = less(%p, %n)
  %z: f64[] = constant(0.0)
  %a = where(%m, %x, %z)
  %b = where(%m, %y, %z)
  %d = dot_general[batch=(), contract=((0, 0),)](%a, %b)
  return %d
}"""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (COLUMN, ["update_view"]),
        (TWICE, ["gather", "add", "update_view"]),
        (HEAD, ["gather", "multiply", "constant", "update_view"]),
    ],
    ids=["column", "twice", "head"],
)
def test_a_chain_of_views_is_one_write(text, left):
    assert names(brief(text)) == left


def test_masks_of_the_first_places_are_ends():
    assert names(brief(TOTAL)).count("between") == 2
    assert "less" not in names(brief(TOTAL))


@pytest.mark.parametrize(
    ("text", "integers"),
    [(COLUMN, [3]), (TWICE, [-1]), *[(HEAD, [2, n]) for n in (-2, 0, 3, 9, 12)],
     *[(TOTAL, [n]) for n in (-2, 0, 3, 9, 12)]],
)  # fmt: skip
def test_what_a_kernel_is_written_of_means_the_same(text, integers):
    graph, rng, numbers = parse_graph(text, REGISTRY), np.random.default_rng(1), iter(integers)
    args = [
        rng.normal(size=v.type.shape) if v.type.dtype.kind == "f" else np.asarray(next(numbers))
        for v in graph.inputs
    ]
    for got, want in zip(interpret(brief(text), *args), interpret(graph, *args), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_write_that_is_read_elsewhere_stays():
    text = TWICE.replace("return %c", "return %b, %c").replace(
        "%z = gather[axis=0](%b, %i)", "%z = add(%y, %y)"
    )
    assert names(brief(text)).count("update_view") == 2


def test_the_text_of_both_operations_reads_back():
    graph = brief(HEAD)
    assert format_graph(parse_graph(format_graph(graph), REGISTRY)) == format_graph(graph)
    assert format_graph(brief(TOTAL)) == format_graph(
        parse_graph(format_graph(brief(TOTAL)), REGISTRY)
    )
