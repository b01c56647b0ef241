"""Every primitive, run on its own samples: types, interpreter, symbolic dimensions and maps.

Nothing here names a primitive: a new one is tested as soon as it is defined, and what it lacks is
found when it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import lanewise  # noqa: F401  (fills the registry)
from lanewise.ir.dims import Dim
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Builder, Graph
from lanewise.ir.text import format_graph, parse_graph
from lanewise.ir.types import array_type
from lanewise.ops.regions import map_
from lanewise.ops.registry import REGISTRY, Absent, Primitive, Sample, absent, op, register, sample
from lanewise.runtime.interpret import interpret

TOLERANCE = {"e": 1e-2, "f": 1e-5, "d": 1e-12, "F": 1e-5, "D": 1e-12}
BATCH, OUTER = Dim.symbol("batch"), Dim.symbol("outer")


def samples_of(primitive: Primitive) -> Sequence[Sample]:
    given = primitive.samples
    if isinstance(given, Absent):
        return ()
    return given() if callable(given) else given


CASES = [
    pytest.param(primitive, case, id=f"{name}-{number}")
    for name, primitive in sorted(REGISTRY.items())
    for number, case in enumerate(samples_of(primitive))
]
every_sample = pytest.mark.parametrize(("primitive", "case"), CASES)


def reference(primitive: Primitive, operands: Sequence[Any], params: Any) -> tuple[Any, ...]:
    """Return what the primitive's NumPy meaning gives, as a tuple."""
    with np.errstate(all="ignore"):
        result = primitive.numpy(*operands, **primitive.complete(params))
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def type_of(x: Any) -> Any:
    return array_type(np.asarray(x).dtype, np.shape(x))


def assert_close(got: Sequence[Any], want: Sequence[Any]) -> None:
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        if w.dtype.kind in "fc":
            scale = np.abs(w[np.isfinite(w)]).max(initial=0.0)
            tolerance = TOLERANCE[w.dtype.char]
            np.testing.assert_allclose(g, w, tolerance, tolerance * float(scale))
        else:
            np.testing.assert_array_equal(g, w)


# --- types and meaning ----------------------------------------------------------------------------


@every_sample
def test_the_type_rule_is_numpys(primitive, case):
    types = primitive.infer([type_of(x) for x in case.operands], primitive.complete(case.params))
    results = reference(primitive, case.operands, case.params)
    assert list(types) == [type_of(result) for result in results]


@every_sample
def test_interpreted(primitive, case):
    builder = Builder()
    operands = tuple(builder.input(type_of(x)) for x in case.operands)
    graph = builder.finish(builder.emit(primitive, operands, primitive.complete(case.params)))
    with np.errstate(all="ignore"):
        results = interpret(graph, *case.operands)
    assert_close(results, reference(primitive, case.operands, case.params))
    assert parse_graph(format_graph(graph), REGISTRY).key == graph.key


def symbolic_variants(case: Sample) -> Iterator[tuple[list[Any], dict[str, Any], dict[str, int]]]:
    """Yield the sample with all dimensions of one size, here and in parameters, made a symbol."""
    for size in sorted({dim for x in case.operands for dim in x.shape if dim > 1}):
        symbol = Dim.symbol("n")

        def replaced(shape: Any, size: int = size, symbol: Dim = symbol) -> Any:
            return tuple(symbol if dim == size else dim for dim in shape)

        types = [array_type(x.dtype, replaced(x.shape)) for x in case.operands]
        params = dict(case.params)
        if "shape" in params:
            params["shape"] = replaced(params["shape"])
        yield types, params, {"n": size}


@pytest.mark.parametrize("name", sorted({case.values[0].name for case in CASES}))
def test_symbolic_dimensions(name):
    """A shape computed with symbols is, for their sizes, the shape computed with those."""
    primitive = REGISTRY[name]
    computed = tried = 0
    for case in samples_of(primitive):
        want = primitive.infer([type_of(x) for x in case.operands], primitive.complete(case.params))
        for types, params, sizes in symbolic_variants(case):
            tried += 1
            try:
                found = primitive.infer(types, primitive.complete(params))
            except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
                continue  # refused: what depends on the size cannot be known
            computed += 1
            for f, w in zip(found, want, strict=True):
                assert f.dtype == w.dtype
                assert tuple(evaluate(dim, sizes) for dim in f.shape) == w.shape
    assert computed or not tried


# --- maps -----------------------------------------------------------------------------------------


def varied(x: np.ndarray, count: int) -> np.ndarray:
    """Return `count` examples like x that differ from each other, but stay valid operands.

    Scaling keeps positive definite matrices and ascending tables what they are; rolling keeps
    indices in range.
    """
    rows = []
    for i in range(count):
        if x.dtype.kind in "fc":
            rows.append((x * (1 + i / 8)).astype(x.dtype))
        else:
            rows.append(np.roll(x, i))
    return np.stack(rows) if rows else np.empty((0, *x.shape), x.dtype)


def subsets(count: int) -> Iterator[tuple[bool, ...]]:
    return (chosen for chosen in product([True, False], repeat=count) if any(chosen))


def mapped_graph(
    primitive: Primitive, params: Any, types: Sequence[Any], maps: Sequence[tuple[Any, Any]]
) -> Graph:
    """Return the graph of nested maps, ``(size, in_dims)`` each, around one operation."""
    builder = Builder()
    if not maps:
        operands = tuple(builder.input(type) for type in types)
        return builder.finish(builder.emit(primitive, operands, primitive.complete(params)))
    (size, in_dims), *inner = maps
    examples = []
    for type, axis in zip(types, in_dims, strict=True):
        builder.input(type)
        shape = type.shape if axis is None else type.shape[:axis] + type.shape[axis + 1 :]
        examples.append(array_type(type.dtype, shape))
    region = mapped_graph(primitive, params, examples, inner)
    settings = {
        "size": size,
        "in_dims": tuple(in_dims),
        "out_mapped": (True,) * len(region.outputs),
    }
    operands = tuple(builder.inputs)
    return builder.finish(builder.emit(map_, operands, map_.complete(settings), (region,)))


def batched_type(x: np.ndarray, axes: dict[int, Dim]) -> Any:
    return array_type(x.dtype, tuple(axes.get(i, dim) for i, dim in enumerate(x.shape)))


def looped(primitive: Primitive, params: Any, rows: Sequence[Sequence[Any]]) -> list[Any]:
    results = [reference(primitive, row, params) for row in rows]
    return [np.stack([np.asarray(x) for x in column]) for column in zip(*results, strict=True)]


@every_sample
@pytest.mark.parametrize("size", [3, 1, 0])
def test_mapped(primitive, case, size):
    """Over every subset of the operands, the batch at every axis; few examples over all of them."""
    examples = [varied(x, max(size, 1)) for x in case.operands]
    for chosen in subsets(len(examples)) if size == 3 else [(True,) * len(examples)]:
        rows = [
            [x[i] if is_mapped else x[0] for x, is_mapped in zip(examples, chosen, strict=True)]
            for i in range(max(size, 1))
        ]
        want = looped(primitive, case.params, rows)
        highest = max(x.ndim for x, c in zip(case.operands, chosen, strict=True) if c)
        for axis in range(highest + 1 if size == 3 else 1):
            in_dims = [
                min(axis, x.ndim) if c else None for x, c in zip(case.operands, chosen, strict=True)
            ]
            arrays = [
                x[0] if dim is None else np.moveaxis(x[:size], 0, dim)
                for x, dim in zip(examples, in_dims, strict=True)
            ]
            types = [
                batched_type(x, {} if dim is None else {dim: BATCH})
                for x, dim in zip(arrays, in_dims, strict=True)
            ]
            graph = mapped_graph(primitive, case.params, types, [(BATCH, in_dims)])
            with np.errstate(all="ignore"):
                got = interpret(graph, *arrays)
            assert_close(got, [w[:size] for w in want])


@every_sample
def test_mapped_twice(primitive, case):
    """Nested maps of different sizes, each over its own subset of the operands."""
    inner_size, outer_size = 2, 3
    count = len(case.operands)
    choices = list(product(subsets(count), repeat=2))
    for inner, outer in choices if len(choices) <= 9 else choices[:: len(choices) // 9]:
        arrays, types, inner_dims, outer_dims = [], [], [], []
        examples = [varied(x, inner_size * outer_size) for x in case.operands]
        for x, in_inner, in_outer in zip(examples, inner, outer, strict=True):
            grid = x.reshape(outer_size, inner_size, *x.shape[1:])
            grid = grid if in_outer else grid[:1]
            grid = grid if in_inner else grid[:, :1]
            examples[len(arrays)] = np.broadcast_to(grid, (outer_size, inner_size, *x.shape[1:]))
            array = grid if in_inner else grid[:, 0]
            array = array if in_outer else array[0]
            axes: dict[int, Dim] = {}
            if in_outer and in_inner:  # the outer batch last
                array = np.moveaxis(array, 0, -1)
                axes = {0: BATCH, array.ndim - 1: OUTER}
            elif in_outer or in_inner:
                axes = {0: OUTER if in_outer else BATCH}
            outer_dims.append(None if not in_outer else array.ndim - 1 if in_inner else 0)
            inner_dims.append(0 if in_inner else None)
            arrays.append(array)
            types.append(batched_type(array, axes))
        graph = mapped_graph(
            primitive, case.params, types, [(OUTER, outer_dims), (BATCH, inner_dims)]
        )
        with np.errstate(all="ignore"):
            got = interpret(graph, *arrays)
        rows = [[x[i, j] for x in examples] for i in range(outer_size) for j in range(inner_size)]
        want = looped(primitive, case.params, rows)
        assert_close(got, [w.reshape(outer_size, inner_size, *w.shape[1:]) for w in want])


# --- the registry itself --------------------------------------------------------------------------


def test_the_registry():
    assert len(REGISTRY) > 100
    for name, primitive in REGISTRY.items():
        assert primitive.name == name and primitive.doc
        for rule in (primitive.numpy, primitive.batch, primitive.samples):
            assert not isinstance(rule, Absent) or rule.reason
        if not isinstance(primitive.samples, Absent):
            assert samples_of(primitive), f"{name} has no samples"


RULES: dict[str, Any] = {
    "type": lambda x: x,
    "numpy": lambda x: x,
    "batch": lambda b, x: x,
    "samples": (),
    "__doc__": "What it does.",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_missing_rule_fails_at_definition(rule):
    rules = {name: value for name, value in RULES.items() if name != rule}
    name = "docstring" if rule == "__doc__" else rule
    with pytest.raises(TypeError, match=f"the primitive incomplete lacks .*{name}"):
        op(type("incomplete", (), rules))
    assert "incomplete" not in REGISTRY


def test_a_rule_may_be_declared_absent():
    primitive = op(type("partial_", (), {**RULES, "batch": absent("there is no way")}))
    try:
        assert primitive.name == "partial" and REGISTRY["partial"] is primitive
        assert primitive.batch == Absent("there is no way")
        with pytest.raises(ValueError, match="there is a primitive partial already"):
            register(primitive)
    finally:
        del REGISTRY["partial"]


def test_parameters_are_completed():
    reduce = REGISTRY["reduce"]
    params = reduce.complete({"axes": (0,), "fn": np.add})
    assert list(params) == ["fn", "axes", "dtype"] and params["dtype"] is None
    assert reduce.stated(params) == {"fn": np.add, "axes": (0,)}
    with pytest.raises(TypeError, match="reduce needs the parameter 'axes'"):
        reduce.complete({"fn": np.add})
    with pytest.raises(TypeError, match="reduce has no parameter axis"):
        reduce.complete({"fn": np.add, "axes": (), "axis": 0})


def test_samples_are_reproducible():
    first, second = sample((2, 3), np.arange(2)), sample((2, 3), np.arange(2))
    assert [x.tolist() for x in first.operands] == [x.tolist() for x in second.operands]
