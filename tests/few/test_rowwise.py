"""Work on large arrays without a batch: maps over rows and blocks of rows (passes/elements.py)."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops.regions import NATIVE, map_
from lanewise.passes.elements import over_elements
from lanewise.passes.simplify import eliminate_dead
from lanewise.runtime.buffers import around
from lanewise.runtime.few import Few, native_graph

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(300, 200))
LONG = RNG.normal(size=100_003)  # a prime number
CUBE = RNG.normal(size=(30, 40, 50))
PLACES = RNG.integers(0, 31, 100_003)


def stencil(x):
    return 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])


def stencil_of_planes(x):
    return x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] * x[1:-1, 1:-1, 2:] - x[1:-1, :-2, 1:-1]


def in_place(x):
    x = x.copy()
    for _ in range(5):
        x[1:-1, 1:-1] = stencil(x)
        x[:, -1] = x[:, -2]
    return x


def wave(x):
    before, now, after = x.copy(), x.copy(), np.zeros_like(x)
    for _ in range(40):
        after[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + 0.1 * stencil(now)
        before[:] = now
        now[:] = after
    return before, now


def kept(x):
    y = x.copy()
    y[1:-1, 2:] = np.sqrt(np.abs(x[1:-1, :-2]))
    z = y.copy()
    z[:-1] = y[1:] * 2
    z[1:, :] += y[:-1, :]
    z[40:, 1:-1] = np.floor(y[40:, 1:-1])
    z[:, 1:-1] = np.sin(z[:, 1:-1])
    return x, y, z


def softmax(x):
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def pairs(x):
    x = x[:, 0] * 2
    return np.exp(-((x[:, None] - x) ** 2)).sum(axis=0)


def statistics(x):
    return x.std(), x.mean(axis=0), x.var(axis=1), np.argmin(x * x, axis=1), np.argmax(x, axis=0)


def sums_of_sums(x):
    rows = np.exp(x).sum(axis=1)
    return (rows / rows.sum()).max(), rows


def differences(x):
    y = np.sin(x)
    return y[1:] - y[:-1], (y[:, 1:] - y[:, :-1]).sum()


def backwards(x):
    return x[::-1] + x[:, ::-1], x[::2, 1:] + x[1::2, :-1], (x.T * 2 + 1).sum(axis=0)


def columns(x):
    return x * x[:, 0:1] + x[:, 3].reshape(-1, 1) - x[5]


def one_row(x):
    row = x.reshape(1, -1)
    return row * x.reshape(-1), (row + x.reshape(-1)).sum(), row.max(axis=0)


def few_rows(x):
    signs = np.array([True, False] * 4).reshape(8, 1)
    tiny = np.arange(8, dtype=np.int8).reshape(8, 1)
    return x.reshape(8, -1) * signs, (x.reshape(8, -1) + tiny).sum(axis=1)


def joined(x):
    return np.concatenate([x * 2, np.zeros((300, 1)), x[:, ::-1]], axis=1).sum(axis=1), np.roll(
        x, 3
    )


def along_rows(x):
    ordered = np.sort(x, axis=1), np.argsort(-x, axis=1), np.median(x.reshape(-1, 10), axis=1)
    return *ordered, np.cumsum(x * x, axis=1) / np.arange(1, 201), np.cumsum(x, axis=0)


def over_axes(x):
    return x.sum(axis=(0, 2)), x.sum(axis=(1, 2)), x.max(axis=(0, 1)), x.mean(), x.min(axis=1)


def kinds(x):
    small, ints = (x * 10).astype(np.int8), (x * 10).astype(np.int64)
    found = small.sum(axis=0), small.sum(), np.bitwise_or.reduce(ints, axis=None), (x * 1j).sum()
    return *found, (x > 3).any(), (x > -9).all(axis=0), np.count_nonzero(x > 1, axis=1)


def odd(x):
    halves = (x * 0.01).astype(np.float16)
    return halves.sum(axis=0), np.subtract.reduce(x, axis=0), np.prod(1 + x * 1e-3)


def missing(x):
    y = np.where(x > 2, np.nan, x)
    return y.max(), y.max(axis=0), np.nanmax(y), np.fmax.reduce(y, axis=0), np.nansum(y, axis=0)


def with_a_rest(x):
    return np.exp(x), (x * x).max(), x.min(), (x * x).sum()


def counts(x, places):
    total = np.full(31, -0.0)
    np.add.at(total, places - 31, x)
    return np.bincount(places, minlength=31), np.bincount(places, x, 40), total


def table(x, places):
    return np.arange(31.0)[places] * x, (np.arange(40) * 2)[places - 31].sum()


PROGRAMS = [
    *[(f, (MATRIX,)) for f in (stencil, in_place, wave, kept, softmax, pairs, statistics)],
    *[(f, (MATRIX,)) for f in (differences, backwards, columns, few_rows, joined, along_rows)],
    *[(f, (MATRIX,)) for f in (sums_of_sums, one_row, kinds, odd, missing)],
    *[(f, (CUBE,)) for f in (stencil_of_planes, over_axes)],
    *[(f, (LONG, PLACES)) for f in (counts, table)],
    (with_a_rest, (LONG,)),
]


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize(
    ("function", "arguments"), PROGRAMS, ids=lambda x: getattr(x, "__name__", "")
)
def test_results_are_numpys(function, arguments, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    wanted, found = function(*arguments), lw.function(function)(*arguments)
    if not isinstance(wanted, tuple):
        wanted, found = (wanted,), (found,)
    for want, got in zip(wanted, found, strict=True):
        want, got = np.asarray(want), np.asarray(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            close = 2e-3 if want.dtype == np.float16 else 1e-11
            np.testing.assert_allclose(got, want, rtol=close, atol=close)


def maps(function, *arguments) -> list:
    """Return the maps that work on large arrays becomes, behind each other."""
    specs = [lw.TensorSpec(x.shape, x.dtype) for x in arguments]
    graph = lw.function(function).get_concrete_function(*specs).graph
    return [op for op in over_elements(eliminate_dead(graph)).operations if op.primitive is map_]


def test_a_stencil_is_one_map_that_reads_its_array_in_place():
    (op,) = maps(stencil, MATRIX)
    assert op.params["size"] == 298
    assert all(value.type.shape == (298, 200) for value in op.operands)  # whole rows, no copies


def test_softmax_is_one_map():
    (op,) = maps(softmax, MATRIX)
    assert op.params["size"] == 300
    assert len(op.operands) == len(op.results) == 1


@pytest.mark.parametrize("function", [lambda x: (x * x).sum(), lambda x: np.abs(x - 1).max(axis=0)])
def test_totals_are_taken_of_blocks(function):
    (op,) = maps(function, MATRIX)
    assert 8 <= op.params["size"] <= 300
    assert op.results[0].type.nbytes <= MATRIX.nbytes / 4  # totals of blocks and nothing else


def test_what_is_read_later_is_made_where_it_is_read():
    def function(x):
        half = x / 2  # is not written to memory: where it is read, x is at hand
        return x * (half - x.sum())

    first, second = maps(function, LONG[:100_000])
    (totals,) = first.results
    assert totals.type.shape == (first.params["size"],)
    assert np.divide in [op.primitive.ufunc for op in second.regions[0].operations]


def test_a_library_takes_transposed_views(monkeypatch, capsys):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = RNG.normal(size=(300, 150))
    seen = lw.explain(lw.function(lambda x: x.T @ x), x)
    capsys.readouterr()
    assert not seen.kernels


def test_a_part_is_written_to_another_without_a_copy(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")

    def shifted(x):
        x = x * 1.0
        x[1:] = x[:-1]
        x[:, 0] = x[:, -1]
        return x

    np.testing.assert_array_equal(lw.function(shifted)(MATRIX), shifted(MATRIX))


def test_what_a_stencil_gives_is_written_once(monkeypatch):
    """The kernel writes rows to where the update would have copied them."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def smoothed(x):
        x[1:-1, 1:-1] = stencil(x)
        return x

    graph = lw.function(smoothed).get_concrete_function(lw.TensorSpec(MATRIX.shape)).graph
    plan = Few(graph).plan
    given = MATRIX.copy()
    (got,) = plan(given)
    np.testing.assert_array_equal(given, MATRIX)
    np.testing.assert_allclose(got, smoothed(MATRIX.copy()), rtol=1e-13)
    (op,) = [op for op in plan.graph.operations if op.primitive is map_]
    assert op.results[0].type.shape == (298, 200)
    assert around in plan._run.__globals__.values()


def test_a_kernel_that_fails_while_it_fills_an_array(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def replaced(x, places):
        x[1:-1, 1:-1] = np.arange(50.0)[places]
        return x

    places = RNG.integers(0, 50, (298, 198))
    f = lw.function(replaced)
    # Of copies: both write to their argument, and other tests sort the rows of the matrix.
    wanted = replaced(MATRIX.copy(), places)
    np.testing.assert_array_equal(f(MATRIX.copy(), places), wanted)
    places[200, 30] = 50
    with pytest.raises(IndexError, match="index 50 is out of bounds for axis 0 with size 50"):
        f(MATRIX.copy(), places)


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("value", [-1, 31])
def test_places_out_of_range_are_errors(backend, value, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    count = lw.function(lambda places: np.bincount(places, minlength=31))
    read = lw.function(lambda places: np.arange(31.0)[places])
    bad = PLACES.copy()
    bad[90_000] = value
    np.testing.assert_array_equal(count(PLACES), np.bincount(PLACES, minlength=31))
    if value < 0:
        with pytest.raises(ValueError, match="negative"):
            count(bad)
    else:
        np.testing.assert_array_equal(count(bad), np.bincount(bad, minlength=31))
    bad[90_000] = value if value > 0 else -32
    with pytest.raises(
        IndexError, match=r"index (31|-32) is out of bounds for axis 0 with size 31"
    ):
        read(bad)


def test_results_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    f = lw.function(lambda x: (x.sum(), x.std(axis=0), (x * x).sum(axis=1)))
    threads = lw.get_num_threads()
    try:
        found = []
        for number in (1, 2, 5):
            lw.set_num_threads(number)
            found.append(f(MATRIX))
    finally:
        lw.set_num_threads(threads)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_long_sums_are_exact_enough(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = RNG.random((200_000, 3)).astype(np.float32)
    want = x.astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(lw.function(lambda x: x.sum(axis=0))(x), want, rtol=1e-6)
    np.testing.assert_allclose(lw.function(lambda x: x.sum())(x), want.sum(), rtol=1e-6)


def test_kernels_hold_the_work(monkeypatch):
    """All of it: nothing on large arrays is left to NumPy but views."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    for function in (stencil, softmax, sums_of_sums, over_axes):
        spec = lw.TensorSpec(CUBE.shape if function is over_axes else MATRIX.shape)
        graph = lw.function(function).get_concrete_function(spec).graph
        lowered = native_graph(graph)
        left = [
            op.primitive.name
            for op in lowered.operations
            if op.primitive is not map_ or op.params["order"] != NATIVE
        ]
        assert set(left) <= {"reshape", "slice", "constant"}, (function, left)
