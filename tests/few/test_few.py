"""Few examples are run one by one, over the turns of their loops; many are not. Errors stay."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.kernel_cache import kernel_for
from lanewise.ops.regions import NATIVE
from lanewise.passes.pipeline import lower
from lanewise.runtime import dispatch
from lanewise.runtime.few import Few
from lanewise.runtime.parts import NATIVE_BYTES, peak
from lanewise.runtime.tiers import Executable
from support.spreading import count, one_by_one, plainly, recorded


@pytest.fixture
def always_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Few, "is_better_for", lambda *_: True)


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    threads = lw.get_num_threads()
    lw.set_num_threads(4)  # which plan is taken depends on how many there are
    yield
    lw.set_num_threads(threads)


def long_loop(x):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        out[i] = np.exp(-x[i]) + x[i - 1]
    return out


def executable_of(function, *batches) -> Executable:
    with dispatch.observing() as seen:
        lw.vmap(function)(*batches)
    return seen[-1].executable


def gains(x):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = np.exp(-x[i]) if x[i] > 0 else np.log1p(x[i] * x[i])
    return out


def test_a_batch_of_one_takes_the_plan_for_few():
    x = np.random.default_rng(0).normal(size=(1, 300_000))
    executable = executable_of(gains, x)
    few = executable._few
    assert few is not None
    assert executable.plan([x]) is few.plan
    assert count(few.lowered, "scan") == 0
    want = plainly(gains, x)[0]
    np.testing.assert_allclose(lw.vmap(gains)(x), want, rtol=1e-14, atol=1e-14)


def rows_that_wait(a):
    out = a.copy()
    for i in range(1, len(a)):
        out[i] = np.maximum(out[i], out[i - 1])
    return out


def test_one_example_of_turns_that_wait_runs_alone_with_elements_in_lanes():
    x = np.random.default_rng(0).normal(size=(1, 60, 64))
    executable = executable_of(rows_that_wait, x)
    plan = executable.plan([x])
    kernels = [op for op in plan.graph.walk() if op.params.get("order") == NATIVE]
    assert kernels
    assert not any(kernel_for(op.regions[0], op.params["in_dims"]).in_lanes for op in kernels)
    np.testing.assert_array_equal(lw.vmap(rows_that_wait)(x), plainly(rows_that_wait, x)[0])
    many = np.random.default_rng(0).normal(size=(512, 9, 6))
    executable = executable_of(rows_that_wait, many)
    assert executable.plan([many]) is executable.native


def test_turns_are_in_the_lanes_of_many_examples_too():
    """Where all loops of an example can be spread, a kernel goes through it turn by turn."""
    x = np.random.default_rng(0).normal(size=(5000, 60))
    executable = executable_of(long_loop, x)
    (op,) = [o for o in executable.native.graph.operations if o.params.get("order") == NATIVE]
    assert count(op.regions[0], "scan") == 0
    assert not kernel_for(op.regions[0], op.params["in_dims"]).in_lanes
    assert executable.plan([x]) is executable.native
    np.testing.assert_allclose(
        lw.vmap(long_loop)(x), plainly(long_loop, x)[0], rtol=1e-14, atol=1e-14
    )


def test_totals_stay_in_the_lanes_of_examples():
    def total(x):
        s = 0.0
        for v in x:
            s += np.exp(v)
        return s

    x = np.random.default_rng(0).normal(size=(5000, 60))
    executable = executable_of(total, x)
    assert executable.plan([x]) is executable.native
    assert count(executable.native.graph, "scan") == 1


def test_a_large_batch_does_not_even_make_it():
    x = np.random.default_rng(0).normal(size=(20_000, 40))
    executable = executable_of(long_loop, x)
    few = executable._few
    assert few is not None
    assert executable.plan([x]) is executable.native
    assert "lowered" not in vars(few)


def test_short_loops_have_none():
    def short(x):
        out = np.zeros_like(x)
        for i in range(x.shape[0]):
            out[i] = x[i] * 2
        return out

    assert executable_of(short, np.ones((2, 8)))._few is None


def test_batches_of_one_and_of_several_agree():
    x = np.random.default_rng(0).normal(size=(3, 3000))
    three = one_by_one(long_loop, x, native=True)[0]
    for i in range(3):
        np.testing.assert_array_equal(
            one_by_one(long_loop, x[i : i + 1], native=True)[0][0], three[i]
        )


@pytest.mark.usefixtures("always_few")
class TestErrors:
    def test_the_first_failing_turn_raises(self):
        def checks(x):
            out = np.zeros_like(x)
            for i in range(x.shape[0]):
                if x[i] < 0:
                    raise ValueError(f"negative: {x[i]}")
                out[i] = np.sqrt(x[i])
            return out

        x = np.ones((2, 300))
        np.testing.assert_array_equal(lw.vmap(checks)(x), x)
        x[1, 200], x[1, 250] = -3, -4
        with pytest.raises(
            ValueError, match=r"negative: -3.*\n.*in example 1 .*test_few.py"
        ) as info:
            lw.vmap(checks)(x)
        assert "-4" not in str(info.value)

    def test_an_index_out_of_range(self):
        def reads(x, k):
            out = np.zeros_like(x)
            for i in range(x.shape[0]):
                out[i] = x[k[i]]
            return out

        x, k = np.arange(200.0).reshape(2, 100), np.zeros((2, 100), int)
        k[0, 70], k[1, 20] = 100, 500
        with pytest.raises(IndexError, match=r"index 100 is out of bounds.*\n.*in example 0"):
            lw.vmap(reads)(x, k)

    def test_what_is_not_reached_does_not_fail(self):
        def guarded(x, k):
            out = np.zeros_like(x)
            for i in range(x.shape[0]):
                if k[i] < 100:
                    out[i] = x[k[i]]
            return out

        x, k = np.arange(200.0).reshape(2, 100), np.full((2, 100), 500)
        k[0, 70] = 7
        np.testing.assert_array_equal(lw.vmap(guarded)(x, k), plainly(guarded, x, k)[0])

    def test_a_total_that_might_be_too_large_is_taken_by_the_loop(self):
        def counts(x):
            n = 2**62
            for i in range(40):
                if x[i] > 0:
                    n += 2**57
            return n

        few, many = np.zeros((1, 40)), np.ones((1, 40))
        few[0, :8] = 1
        assert lw.vmap(counts)(few)[0] == 2**62 + 2**60
        with pytest.raises(OverflowError):
            lw.vmap(counts)(many)


@pytest.mark.parametrize("size", [1, 3, 400])
def test_errors_of_turns_in_lanes(size):
    """By whichever plan: the error is that of the first example, and of its first turn."""

    def checks(x):
        out = np.zeros_like(x)
        for i in range(x.shape[0]):
            if x[i] < 0:
                raise ValueError(f"negative: {x[i]}")
            out[i] = np.sqrt(x[i])
        return out

    x = np.ones((size, 300))
    np.testing.assert_array_equal(lw.vmap(checks)(x), x)
    x[-1, 20], x[size // 2, 200], x[size // 2, 250] = -5, -3, -4
    if size == 1:
        x[-1, 20] = 1
    with pytest.raises(ValueError, match=rf"negative: -3.*\n.*in example {size // 2} "):
        lw.vmap(checks)(x)


def elementwise(x, row, c):
    y = np.exp(-x * row) + c[:, None]
    return np.where(y > 1, y, 2.0).astype(np.float32), y.mean()


def test_elements_of_large_arrays_are_spread():
    rng = np.random.default_rng(0)
    x, row, c = rng.normal(size=(2, 200, 150)), rng.normal(size=150), rng.normal(size=(2, 200))

    def function(x, c):
        return elementwise(x, row, c)

    graph, arguments = recorded(function, x, c)
    few = Few(graph)
    (examples,) = few.lowered.operations
    maps = [op for op in examples.regions[0].operations if op.params.get("order") == NATIVE]
    assert max(op.params["size"] for op in maps) >= 16  # blocks of rows: w is repeated along them
    for got, want in zip(few.plan(*arguments), plainly(function, x, c), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6 if got.dtype == np.float32 else 1e-13)


def products_of_turns(a, xs, b):
    out = np.zeros((xs.shape[1], len(a)))
    for i in range(xs.shape[1]):
        out[i] = ((a * xs[:, i]) @ b).sum(axis=1)
    return out


@pytest.mark.parametrize("size", [1, 2])
def test_turns_of_which_values_left_to_numpy_take_much_memory_run_in_parts(size):
    rng = np.random.default_rng(1)
    a, xs, b = (rng.normal(size=(size, *shape)) for shape in ((300, 400), (400, 100), (400, 60)))
    graph, arguments = recorded(products_of_turns, a, xs, b)
    few = Few(graph)
    assert peak(lower(few.lowered), {}, lambda op: 0) < NATIVE_BYTES[1] < 100 * a[0].nbytes
    (found,) = few.plan(*arguments)
    (wanted,) = plainly(products_of_turns, a, xs, b)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-11)


def test_results_share_no_memory():
    def same(x):
        return x, x * 1.0, x

    x = np.random.default_rng(0).normal(size=(1, 20_000))
    results = [x, *one_by_one(same, x, native=True)]
    mapped = [x, *lw.vmap(same)(x)]
    assert len(results) == len(mapped) == 4
    for i in range(4):
        for j in range(i):
            assert not np.shares_memory(mapped[i], mapped[j])
