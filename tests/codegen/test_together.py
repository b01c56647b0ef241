"""What goes through one array is one loop: the order it is written in, and what it gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lanewise as lw
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.together import MOST_TOGETHER, in_order
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY
from support.oracle import assert_same

RNG = np.random.default_rng(47)


def order(text: str) -> list[list[int]]:
    """Return how a graph is written: of each step the places of its operations in the text."""
    graph = parse_graph(text, REGISTRY)
    places = {op: i for i, op in enumerate(graph.operations)}
    return [[places[op] for op in ops] for ops in in_order(graph)]


def test_those_of_one_array_or_made_of_it_are_together():
    found = order("""graph(%0: f64[40], %1: f64[40]) {
      %2 = reduce[fn=minimum, axes=(0,), dtype=None](%0)
      %3 = multiply(%0, %1)
      %4 = reduce[fn=add, axes=(0,), dtype=None](%3)
      %5 = reduce[fn=maximum, axes=(0,), dtype=None](%1)
      return %2, %4, %5
    }""")
    assert found == [[1], [0, 2, 3]]


def test_those_that_need_each_other_are_not():
    found = order("""graph(%0: f64[40]) {
      %1 = reduce[fn=maximum, axes=(0,), dtype=None](%0)
      %2 = subtract(%0, %1)
      %3 = reduce[fn=add, axes=(0,), dtype=None](%2)
      %4 = multiply(%2, %2)
      %5 = reduce[fn=add, axes=(0,), dtype=None](%4)
      %6 = reduce[fn=minimum, axes=(0,), dtype=None](%0)
      return %3, %5, %6
    }""")
    assert found == [[0, 5], [1], [3], [2, 4]]


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ("reduce[fn=add, axes=(0,), dtype=None](%1)", "other arrays"),
        ("reduce[fn=add, axes=(0,), dtype=None](%2)", "another shape"),
        ("reduce[fn=subtract, axes=(0,), dtype=None](%0)", "one after the other"),
    ],
)
def test_other_arrays_and_shapes_are_apart(second, why):
    found = order(f"""graph(%0: f64[40], %1: f64[40], %2: f64[50]) {{
      %3 = reduce[fn=add, axes=(0,), dtype=None](%0)
      %4 = {second}
      return %3, %4
    }}""")
    assert found == [[0], [1]], why


def test_few_are_together_and_few_elements_are_not():
    lines = [f"%{i} = reduce[fn=add, axes=(0,), dtype=None](%0)" for i in range(1, 12)]
    text = "graph(%0: f64[{}]) {{\n" + "\n".join(lines) + "\nreturn %1\n}}"
    assert max(map(len, order(text.format(40)))) == MOST_TOGETHER
    assert max(map(len, order(text.format(8)))) == 1


UPDATES = """graph(%0: f64[40], %1: f64[40], %2: i64[40], %3: i64[40], %4: f64[40]) {{
  %5 = scatter[axis=0, fn=add](%0, %1, %2)
  %6 = multiply({read}, %4)
  %7 = scatter[axis=0, fn=maximum](%4, %1, {places})
  return %5, %6, %7
}}"""


def test_updates_at_the_same_places_are_together():
    assert order(UPDATES.format(read="%1", places="%2")) == [[0], [1], [2]]  # %4 is read as it was
    alone = UPDATES.replace("%6 = multiply({read}, %4)", "%6 = exp(%1)")
    assert order(alone.format(places="%2")) == [[0, 2], [1]]
    assert order(alone.format(places="%3")) == [[0], [1], [2]]


def test_what_two_of_them_read_needs_no_memory():
    def func(x):
        y = np.exp(x) * 2
        return y.sum(), y.max()

    KERNELS.clear()
    x = RNG.normal(size=8_000)
    found = lw.function(func, experimental_compile=True)(x)
    np.testing.assert_allclose(found, func(x), rtol=1e-12)
    assert max(kernel.scratch for kernel in KERNELS.values() if kernel) < x.nbytes


PARTS = {
    "x": lambda x: x,
    "squares": lambda x: x * x,
    "signs": lambda x: x > 0,
    "shifted": lambda x: x - 1,
    "wide": lambda x: x.astype(np.complex128),
    "reversed": lambda x: x[::-1],
}
TOTALS = {
    "sum": np.sum, "least": np.min, "greatest": np.max, "any": np.any, "all": np.all,
    "mean": np.mean, "range": np.ptp, "product": lambda x, axis: np.prod(np.sign(x), axis),
}  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(PARTS)), st.sampled_from(sorted(TOTALS))),
             min_size=2, max_size=6),
    st.sampled_from([(17,), (40,), (300,), (9, 33), (40, 20), (3, 16, 5)]),
    st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.bool_, np.float16]),
    st.sampled_from([0, -1, None]), st.integers(0, 2**32 - 1), st.booleans(),
)  # fmt: skip
def test_programs_of_several_reductions(parts, shape, dtype, axis, seed, has_nan):
    rng = np.random.default_rng(seed)
    xs = (rng.normal(size=(3, *shape)) * 4).astype(dtype)
    if has_nan and dtype in (np.float64, np.float32):
        xs[1].flat[shape[0] // 2] = np.nan
    parts = [
        (part, total)
        for part, total in parts
        if not (part in ("shifted", "wide", "signs") and dtype == np.bool_)
        and not (total == "range" and (part == "signs" or dtype == np.bool_))
        and not (total in ("product", "least", "greatest", "range") and part == "wide")
        and not (total == "product" and (part == "signs" or dtype == np.bool_))
    ]

    def func(x):
        return [TOTALS[total](PARTS[part](x), axis) for part, total in parts]

    compiled = lw.function(func, experimental_compile=True)
    wanted = [np.stack(column) for column in zip(*map(func, xs), strict=True)]
    for found in (
        lw.vmap(func)(xs),
        lw.function(lw.vmap(func), experimental_compile=True)(xs),
        [np.stack(c) for c in zip(*map(compiled, xs), strict=True)],
    ):
        for one, other in zip(found, wanted, strict=True):
            half = other.dtype == np.float16 or np.float16 == dtype
            assert_same(one, other, rtol=2e-2 if half else 1e-5 if dtype == np.float32 else 1e-12)


@settings(max_examples=20, deadline=None)
@given(hnp.arrays(np.float64, st.integers(0, 700), elements=st.floats(-1e6, 1e6)))
def test_any_length(x):
    def func(x):
        return x.sum(), (x * x).sum(), np.abs(x).max(initial=0.0), (x > 0).any()

    found = lw.function(func, experimental_compile=True)(x)
    np.testing.assert_allclose(found, func(x), rtol=1e-9, atol=1e-6)


#: Of two tables, values and places: what is written where.
WRITES = {
    "sums": lambda a, b, v, i: (np.add.at(a, i, v), np.add.at(b, i, v * v)),
    "counts": lambda a, b, v, i: (np.add.at(a, i, 1.0), np.maximum.at(b, i, v)),
    "set": lambda a, b, v, i: (a.__setitem__(i, v), b.__setitem__(i, v + 1)),
    "set and added": lambda a, b, v, i: (a.__setitem__(i, 2.0), np.subtract.at(b, i, v)),
    "each other": lambda a, b, v, i: (np.add.at(a, i, b[i]), np.add.at(b, i, a[i])),
    "own": lambda a, b, v, i: (np.add.at(a, i, a[i] * v), np.add.at(b, i, b[i] - v)),
    "one after the other": lambda a, b, v, i: (np.add.at(a, i, v), np.multiply.at(a, i, 2.0)),
    "reversed": lambda a, b, v, i: (np.add.at(a, i, v[::-1]), np.add.at(b, i[::-1], v)),
    "negative": lambda a, b, v, i: (np.add.at(a, i - 5, v), np.add.at(b, i - 5, v)),
    "out of range": lambda a, b, v, i: (np.add.at(a, i + 4, v), np.add.at(b, i + 4, v)),
}


def written(name, a, b, v, i):
    """Write to both tables; they may have been one array's copies."""
    WRITES[name](a, b, v, i)
    return a, b


def copied(name, a, v, i):
    """Write to two copies of one table."""
    b, c = a.copy(), a.copy()
    WRITES[name](b, c, v, i)
    return a, b, c


@pytest.mark.parametrize("size", [0, 16, 1_000])
@pytest.mark.parametrize("name", WRITES)
def test_writes_at_the_same_places(name, size):
    tables, values = RNG.normal(size=(2, 3, 200)), RNG.normal(size=(3, size))
    places = RNG.integers(0, 196, (3, size))
    places[:, : size // 2] %= 7  # they repeat, and are in range but for one
    if name == "out of range" and size:
        places[2, -1] = 199

    def outcome(func, *args):
        try:
            return func(name, *args)
        except IndexError as error:
            return type(error), str(error).splitlines()[0]

    for func, own in ((written, tables), (copied, tables[:1])):
        compiled = lw.function(func, experimental_compile=True)
        rows = [
            [outcome(f, *[t[k].copy() for t in own], values[k], places[k]) for k in range(3)]
            for f in (compiled, func)
        ]
        for found, expected in zip(*rows, strict=True):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
        if name != "out of range":
            mapped = lw.vmap(func, in_dims=(None, *[0] * (len(own) + 2)))
            found = lw.function(mapped, experimental_compile=True)(
                name, *[t.copy() for t in own], values, places
            )
            for one, column in zip(found, zip(*rows[1], strict=True), strict=True):
                np.testing.assert_array_equal(one, np.stack(column))
