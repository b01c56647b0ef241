"""The derivatives of every primitive, on its own samples: against differences, and both ways.

Nothing here names a primitive but for what its results are unique up to. A rule is run on real,
complex and single numbers: its tangents against central differences, its transpose by the
dot-product test (of cotangents c and tangents t, <c, J t> = <Jᵀ c, t>, where J t comes from the
linear part), and both again of the pullback itself: second derivatives, forward over reverse and
reverse over reverse. Then under maps, interpreted and native.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import lanewise  # noqa: F401  (fills the registry)
from lanewise.errors import UnsupportedError
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Builder, Graph
from lanewise.ir.types import array_type
from lanewise.ops.regions import map_
from lanewise.ops.registry import NO_DERIVATIVE, REGISTRY, Absent, Primitive, Sample, spread
from lanewise.runtime.dispatch import execute
from lanewise.runtime.interpret import interpret
from lanewise.transforms.derivation import Derivation, is_differentiable
from lanewise.transforms.linearize import jvp, linearize
from lanewise.transforms.transpose import transpose
from ops.test_registry import reference, samples_of, type_of

STEP = 1e-4
BATCH = Dim.symbol("batch")


# --- what is run ----------------------------------------------------------------------------------


def graph_of(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Graph:
    builder = Builder()
    values = tuple([builder.input(type_of(x)) for x in operands])
    return builder.finish(builder.emit(primitive, values, primitive.complete(params)))


def run(graph: Graph, arguments: Sequence[Any]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in interpret(graph, *arguments)]


#: Operands that are never complex.
REAL = {("lstsq", 2), ("pinv", 1)}
#: Samples at points where there is no derivative, and what is not meant to have the true one.
SHARP = {
    ("adjugate", 3): "third derivatives of determinants are known of regular matrices",
    ("inv", 2): "it is singular",
    ("lstsq", 2): "its rank changes",
    ("python_call", 1): "it is where rounding goes the other way",
    ("stop_gradient", 0): "its derivative is told to be zero",
    ("stop_gradient", 1): "its derivative is told to be zero",
}
#: Samples of which the operation has no derivative, on numbers of some kinds, and says so.
REFUSED = {("bitcast", 2): "f", ("bitcast", 3): "f", ("bitcast", 4): "dD", ("qr", 3): "dDf"}


def as_kind(name: str, operands: Sequence[np.ndarray], kind: str) -> list[np.ndarray]:
    """Return operands with their floats in another dtype, complex ones with an imaginary part."""
    found = []
    for number, x in enumerate(operands):
        if x.dtype.kind in "fc":
            wanted = "d" if kind == "D" and (name, number) in REAL else kind
            x = x + 0.2j * spread(x.shape, 7 + number) if wanted == "D" else x
            x = x.real.astype(wanted) if wanted in "fd" else x.astype(wanted)
        found.append(x)
    return found


def is_smooth(primitive: Primitive, operands: Sequence[np.ndarray], params: Any) -> bool:
    """Whether an operation takes these operands, and has results that have tangents."""
    try:
        results = primitive.infer([type_of(x) for x in operands], primitive.complete(params))
        floats = any(x.dtype.kind in "fc" for x in operands)
        if floats and any(is_differentiable(r) for r in results):
            reference(primitive, operands, params)
            return True
    except (TypeError, ValueError, np.linalg.LinAlgError):
        pass
    return False


def _cases(kinds: str, refused: bool) -> Iterator[Any]:
    for name, primitive in sorted(REGISTRY.items()):
        if isinstance(primitive.jvp, Absent):
            continue
        for number, case in enumerate(samples_of(primitive)):
            operands = list(case.operands)
            if operands and all(x.dtype.kind not in "fc" for x in operands):
                operands[0] = operands[0].astype(float)  # as of `ldexp`
            for kind in kinds:
                given = as_kind(name, operands, kind)
                is_refused = kind in REFUSED.get((name, number), "")
                if is_refused == refused and is_smooth(primitive, given, case.params):
                    label = f"{name}-{number}-{np.dtype(kind).name}"
                    own = Sample(tuple(given), case.params)
                    yield pytest.param(primitive, number, own, id=label)


@lru_cache
def cases(kinds: str, refused: bool = False) -> list[Any]:
    return list(_cases(kinds, refused))


def directions(types: Sequence[Any], seed: int) -> list[np.ndarray]:
    """Return tangents or cotangents of these types."""
    found = []
    for number, type in enumerate(types):
        x = spread(type.shape, seed + 3 * number)
        if type.dtype.kind == "c":
            x = x + 1j * spread(type.shape, seed + 3 * number + 1)
        found.append(x.astype(type.dtype))
    return found


def active(graph: Graph) -> list[bool]:
    return [is_differentiable(value.type) for value in graph.inputs]


def moving(values: Sequence[Any]) -> list[Any]:
    return [value.type for value in values if is_differentiable(value.type)]


def pullback(graph: Graph) -> Graph:
    """Return the graph that takes the inputs and cotangents, and gives those of the inputs."""
    moves = active(graph)
    lin = linearize(graph, moves)
    count = len(graph.outputs)
    back = transpose(lin.linear, [False] * len(lin.sources) + [True] * sum(moves)).graph
    with Derivation() as trace:
        inputs = [x._value for x in trace.tensors([v.type for v in graph.inputs])]
        outputs = [v.type for v, moved in zip(graph.outputs, lin.moved, strict=True) if moved]
        cts = [x._value for x in trace.tensors(outputs)]
        kept = iter(trace.inline(lin.primal, inputs)[count:])
        residuals = [next(kept) if s is None else inputs[s] for s in lin.sources]
        found = trace.inline(back, [*residuals, *cts])
    return Graph(trace.inputs, trace.operations, found)


# --- what is checked ------------------------------------------------------------------------------


def blocks(vectors: np.ndarray, count: int) -> list[np.ndarray]:
    """Return what the columns of a basis tell, whatever their phases: the spaces they span."""
    own, rest = vectors[..., :count], vectors[..., count:]
    each = np.einsum("...ik,...jk->...kij", own, own.conj())
    return [each, rest @ rest.conj().swapaxes(-1, -2)]


def of_qr(factors: Sequence[np.ndarray]) -> list[np.ndarray]:
    if len(factors) == 1:
        return list(factors)
    q, r = factors
    k = min(q.shape[-2], r.shape[-1])
    return [q[..., :k], blocks(q, k)[1], r]


def of_svd(factors: Sequence[np.ndarray]) -> list[np.ndarray]:
    u, s, vh = factors
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    return [s, product, *blocks(u, k), *blocks(vh.conj().swapaxes(-1, -2), k)]


#: What is compared of results that are not unique: LAPACK's phases and added columns.
UNIQUE: dict[str, Callable[[Sequence[np.ndarray]], list[np.ndarray]]] = {
    "qr": of_qr,
    "svd": of_svd,
    "eigh": lambda factors: [factors[0], *blocks(factors[1], factors[1].shape[-1])],
}


def difference(func: Callable[[float], Sequence[np.ndarray]]) -> list[np.ndarray]:
    """Return the derivative of arrays in one number, at zero, by a difference of fourth order."""
    found = []
    for far, near, close, away in zip(*[func(step * STEP) for step in (-2, -1, 1, 2)], strict=True):
        inexact = np.asarray(close).dtype.kind in "fc"
        slope = (far - 8.0 * near + 8.0 * close - away) / (12 * STEP) if inexact else None
        found.append(slope)
    return found


def assert_near(got: Sequence[Any], want: Sequence[Any], tolerance: float) -> None:
    for g, w in zip(got, want, strict=True):
        if w is not None:
            scale = max(1.0, float(np.abs(w[np.isfinite(w)]).max(initial=0.0)))
            np.testing.assert_allclose(g, w, tolerance, tolerance * scale)


def moved(x: np.ndarray, t: np.ndarray, step: float) -> np.ndarray:
    return (x + step * t).astype(x.dtype)


def assert_tangents(
    graph: Graph, arguments: Sequence[Any], unique: Any = list, tolerance: float = 1e-7
) -> None:
    """Assert that the tangents of a graph are what small differences give."""
    moves = active(graph)
    wanted = [is_differentiable(value.type) for value in graph.outputs]
    both = jvp(graph, moves, wanted).graph
    tangents = directions(moving(graph.inputs), 1)
    found = run(both, [*arguments, *tangents])
    count = len(graph.outputs)
    values, left = found[:count], iter(found[count:])
    slopes = [next(left) if is_wanted else np.zeros(()) for is_wanted in wanted]
    for value, slope, is_wanted in zip(values, slopes, wanted, strict=True):
        assert not is_wanted or (slope.dtype, slope.shape) == (value.dtype, value.shape)

    def along(step: float) -> list[np.ndarray]:
        left = iter(tangents)
        point = [
            moved(x, next(left), step) if is_moved else x
            for x, is_moved in zip(arguments, moves, strict=True)
        ]
        return unique(run(graph, point))

    def tangential(step: float) -> list[np.ndarray]:
        rows = zip(values, slopes, wanted, strict=True)
        return unique([moved(x, t, step) if is_wanted else x for x, t, is_wanted in rows])

    assert_near(difference(tangential), difference(along), tolerance)


def paired(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]) -> float:
    return float(sum(np.nansum(x * y).real for x, y in zip(xs, ys, strict=True)))


def assert_transposed(graph: Graph, arguments: Sequence[Any], tolerance: float = 1e-9) -> None:
    """Assert that going back is the transpose of going forward."""
    moves = active(graph)
    lin = linearize(graph, moves)
    kept = iter(run(lin.primal, arguments)[len(graph.outputs) :])
    residuals = [next(kept) if s is None else arguments[s] for s in lin.sources]
    tangents = directions(moving(graph.inputs), 2)
    forward = run(lin.linear, [*residuals, *tangents])
    cts = directions([v.type for v in lin.linear.outputs], 5)
    back = run(pullback(graph), [*arguments, *cts])
    for x, ct in zip([x for x, m in zip(arguments, moves, strict=True) if m], back, strict=True):
        assert (ct.dtype, ct.shape) == (x.dtype, x.shape)
    scale = sum([np.nansum(np.abs(c * t)) for c, t in zip(cts, forward, strict=True)])
    assert abs(paired(cts, forward) - paired(back, tangents)) <= tolerance * max(1.0, float(scale))


# --- of every primitive ---------------------------------------------------------------------------


@pytest.mark.parametrize(("primitive", "number", "case"), cases("dD"))
def test_tangents_are_differences(primitive, number, case):
    if reason := SHARP.get((primitive.name, number)):
        pytest.skip(reason)
    graph = graph_of(primitive, case.operands, case.params)
    assert_tangents(graph, case.operands, UNIQUE.get(primitive.name, list))


@pytest.mark.parametrize(("primitive", "number", "case"), cases("dD"))
def test_back_is_the_transpose_of_forward(primitive, number, case):
    assert_transposed(graph_of(primitive, case.operands, case.params), case.operands)


def of_one_kind_each() -> Iterator[Any]:
    """Yield a primitive's first sample in both kinds, the others in one of the two in turn."""
    kinds: dict[tuple[str, int], list[Any]] = {}
    for param in cases("dD"):
        primitive, number, _ = param.values
        kinds.setdefault((primitive.name, number), []).append(param)
    for (_, number), found in kinds.items():
        yield from found if number == 0 else [found[number % len(found)]]


@pytest.mark.parametrize(("primitive", "number", "case"), list(of_one_kind_each()))
def test_second_derivatives(primitive, number, case):
    """The pullback is a function like others: it has tangents, and a transpose."""
    if primitive.name in UNIQUE and (np.iscomplexobj(case.operands[0]) or number == 1):
        pytest.skip("what its cotangents say of phases and of added columns has no meaning")
    if reason := SHARP.get((primitive.name, number)):
        pytest.skip(reason)
    graph = graph_of(primitive, case.operands, case.params)
    back = pullback(graph)
    cts = directions([v.type for v in back.inputs[len(graph.inputs) :]], 5)
    assert_tangents(back, [*case.operands, *cts], tolerance=1e-6)
    assert_transposed(back, [*case.operands, *cts], tolerance=1e-8)


@pytest.mark.parametrize(("primitive", "number", "case"), cases("f"))
def test_single_precision(primitive, number, case):
    """What is single stays so, and is what double precision gives, rounded."""
    if "d" in REFUSED.get((primitive.name, number), ""):
        pytest.skip("it has no derivative in double precision")
    back = pullback(graph_of(primitive, case.operands, case.params))
    wide = as_kind(primitive.name, case.operands, "d")
    other = pullback(graph_of(primitive, wide, case.params))
    cts = directions([v.type for v in back.inputs[len(wide) :]], 5)
    types = [v.type for v in other.inputs[len(wide) :]]
    far = [ct.astype(type.dtype) for ct, type in zip(cts, types, strict=True)]
    got, want = run(back, [*case.operands, *cts]), run(other, [*wide, *far])
    for g, w, x in zip(got, want, [x for x in case.operands if x.dtype.kind in "fc"], strict=True):
        assert (g.dtype, g.shape) == (x.dtype, x.shape)
        scale = max(1.0, float(np.abs(w[np.isfinite(w)]).max(initial=0.0)))
        np.testing.assert_allclose(g, w, 1e-3, 1e-3 * scale)


@pytest.mark.parametrize(("primitive", "number", "case"), cases("dDf", refused=True))
def test_what_has_no_derivative_says_so(primitive, number, case):
    graph = graph_of(primitive, case.operands, case.params)
    with pytest.raises(UnsupportedError, match=r"is differentiated, but .*\. (Use|Convert) "):
        linearize(graph, active(graph))


# --- under maps -----------------------------------------------------------------------------------


def mapped(graph: Graph, axes: Sequence[int]) -> Graph:
    """Return the graph of a map over all inputs, each along its own axis."""
    builder = Builder()
    for value, axis in zip(graph.inputs, axes, strict=True):
        shape = value.type.shape
        builder.input(array_type(value.type.dtype, (*shape[:axis], BATCH, *shape[axis:])))
    settings = {"size": BATCH, "in_dims": tuple(axes), "out_mapped": (True,) * len(graph.outputs)}
    operands = tuple(builder.inputs)
    return builder.finish(builder.emit(map_, operands, map_.complete(settings), (graph,)))


def examples(x: np.ndarray, count: int = 3) -> np.ndarray:
    """Return arrays like x: floats a little larger each time, which keeps what matrices are."""
    rows = [x * (1 + i / 8) if x.dtype.kind in "fc" else x for i in range(count)]
    return np.stack([row.astype(x.dtype) for row in rows])


@pytest.mark.parametrize(("primitive", "number", "case"), cases("d"))
def test_mapped(primitive, number, case):
    """A pullback in a map, and that of the map, give what it gives of each example.

    A primitive's first sample is mapped over first and last axes, the others over either in turn.
    """
    for last in (False, True) if number == 0 else (bool(number % 2),):
        assert_maps(primitive, case, last)


def assert_maps(primitive: Primitive, case: Sample, last: bool) -> None:
    graph = graph_of(primitive, case.operands, case.params)
    back = pullback(graph)
    count = len(graph.inputs)
    cts = directions([v.type for v in back.inputs[count:]], 5)
    rows = [examples(x) for x in (*case.operands, *cts)]
    want = [np.stack(column) for column in zip(
        *[run(back, [x[i] for x in rows]) for i in range(3)], strict=True)]  # fmt: skip
    axes = [x.ndim - 1 if last else 0 for x in rows]
    given = [np.moveaxis(x, 0, axis) for x, axis in zip(rows, axes, strict=True)]
    assert_near(run(mapped(back, axes), given), want, 1e-10)
    around = pullback(mapped(graph, axes[:count]))
    found = run(around, [*given[:count], *rows[count:]])
    floats = [axis for axis, x in zip(axes, case.operands, strict=False) if x.dtype.kind in "fc"]
    assert_near(
        [np.moveaxis(x, axis, 0) for x, axis in zip(found, floats, strict=True)], want, 1e-10
    )


def native_cases() -> Iterator[Any]:
    known = set()
    for param in cases("d"):
        primitive, *_ = param.values
        if primitive.name not in known and not isinstance(primitive.lanes, Absent):
            known.add(primitive.name)
            yield param


@pytest.mark.parametrize(("primitive", "number", "case"), list(native_cases()))
def test_native(primitive, number, case, monkeypatch):
    back = pullback(graph_of(primitive, case.operands, case.params))
    cts = directions([v.type for v in back.inputs[len(case.operands) :]], 5)
    rows = [examples(x) for x in (*case.operands, *cts)]
    graph = mapped(back, [0] * len(rows))
    want = run(graph, rows)
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setenv("LANEWISE_LANES", "1")
    assert_near(execute(graph.key, lambda: graph, rows), want, 1e-9)


# --- the registry itself --------------------------------------------------------------------------


def kinds_of_results(primitive: Primitive) -> set[str]:
    found = [reference(primitive, case.operands, case.params) for case in samples_of(primitive)]
    return {np.asarray(x).dtype.kind for results in found for x in results}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_primitive_has_a_derivative_or_says_why_not(name):
    """Unless its results are integers, it is of no operands, or `transforms` knows it itself."""
    primitive = REGISTRY[name]
    if not isinstance(primitive.jvp, Absent) or primitive.of_regions is not None:
        return
    parameters = inspect.signature(primitive.type).parameters.values()
    operands = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if not operands or primitive.jvp.reason != NO_DERIVATIVE:
        return
    assert primitive.must_run or samples_of(primitive), "it states no rule, and has no samples"
    assert not kinds_of_results(primitive) & set("fc")
