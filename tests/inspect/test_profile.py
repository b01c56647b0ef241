"""`profile`: what is measured, that it adds up, and that it changes nothing."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import lanewise as lw
from lanewise.inspect.explain import Explanation
from lanewise.runtime import dispatch, tiers
from lanewise.runtime.clock import Clock
from lanewise.runtime.interpret import Plan

X = np.random.default_rng(0).random((200, 6))


@pytest.fixture(params=["interpret", "native"])
def backend(request, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    return request.param


@pytest.fixture
def interpreted(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")


def wave(x):
    turns = 0.0
    while turns < x.sum():
        turns = turns + 1
    if x[0] > 0.5:
        x = np.sin(x)
    return x * turns


def slow(x):
    return lw.py_func(lambda v: time.sleep(0.002) or v, [x], float)


def accounted(seen):
    """Return the seconds that rows and kernels have together."""
    rows = [row.seconds for row in seen.rows if row.seconds is not None]
    return sum(rows) + sum([kernel.running or 0.0 for kernel in seen.kernels])


@pytest.mark.parametrize(
    ("make", "args"),
    [
        (lambda: lw.vmap(wave), (X,)),
        (lambda: lw.vmap(wave, chunk_size=30), (X,)),
        (lambda: lw.vmap(lw.vmap(lambda v: np.exp(v) if v > 0.5 else v)), (X,)),
        (lambda: lw.vmap(lw.grad(lambda x: wave(x).sum())), (X,)),
        (lambda: lw.grad(lambda x: wave(x).sum()), (X[0],)),
        (lambda: lw.function(wave), (X[0],)),
        (lambda: lw.function(lw.vmap(wave)), (X,)),
        (lambda: lw.function(wave).get_concrete_function(X[0]), (X[0],)),
        (lambda: lambda x: lw.map_fn(wave, x[:20]), (X,)),
        (lambda: lambda x: lw.vmap(np.sin)(x) + lw.vmap(np.cos)(x[:2]).sum(), (X,)),
        (lambda: lw.vmap(lambda x: np.linalg.pinv(x.reshape(2, 3)) + x[0]), (X,)),
    ],
)
def test_it_adds_up(make, args, backend):
    func = make()  # its own: what a function has settled on for one backend stays
    seen = lw.profile(func, repeat=2)(*args)
    assert isinstance(seen, Explanation)
    np.testing.assert_array_equal(seen.result, func(*args))
    parts = seen.parts
    named = dict(parts.named())
    assert all(seconds >= 0 for seconds in named.values())
    assert sum(named.values()) == pytest.approx(parts.total, rel=1e-6)
    assert accounted(seen) == pytest.approx(parts.operations + parts.kernels, rel=1e-6)
    assert 0 < seen.accounted < 1 and seen.seconds == parts.plain > 0
    assert parts.first > 0 and parts.repeats == 2
    ran = [row for row in seen.rows if row.calls] + [k for k in seen.kernels if k.calls]
    assert ran
    assert (parts.kernels > 0) == any(kernel.calls for kernel in seen.kernels)
    if backend == "interpret":
        assert not parts.kernels and all(row.seconds is not None for row in seen.rows)


def test_where_the_time_went(interpreted, capsys):
    """Most of it is where it is spent: sleeping, which takes the same time everywhere."""
    seen = lw.profile(lw.vmap(lambda x: slow(x * 2) + 1), repeat=3)(np.arange(8.0))
    assert capsys.readouterr().out == f"{seen}\n"
    rows = {row.operation: row for row in seen.rows}
    assert rows["py_func"].calls == 8 and rows["py_func"].seconds > 8 * 0.002
    assert rows["py_func"].seconds > 0.5 * seen.parts.total
    assert rows["multiply"].calls == 1 and rows["multiply"].seconds < 0.01
    text = str(seen)
    assert re.search(r"py_func +looped +f64\[\] +8 B +\d+ ms in 8 calls  host code runs", text)
    assert "a call takes " in text and "(the best of 3; the first took " in text
    assert re.search(r"while it was measured, .*: operations \d+ ms \(\d+ %\)", text)
    page = seen.html()
    assert 'class="parts"' in page and "calls</th>" in page


def test_python_is_told_apart(interpreted):
    def func(x):
        time.sleep(0.02)
        return lw.vmap(np.sin)(x)

    seen = lw.profile(func, repeat=1)(X)
    assert seen.parts.python > 0.02 > seen.parts.operations
    assert seen.accounted < 0.5
    assert lw.profile(np.sin, repeat=1)(X).accounted == 0


def test_loops_count_their_turns(interpreted):
    def func(x):
        for _ in range(int(x)):
            x = x + 0.5
        return x

    seen = lw.profile(lw.function(func), repeat=1)(np.float64(7.0))
    assert max(row.calls for row in seen.rows if row.operation == "add") == 7
    seen = lw.profile(lambda x: lw.map_fn(lambda v: np.sin(v) * 2, x), repeat=1)(X[:5])
    assert {row.operation: row.calls for row in seen.rows} == {"sin": 5, "multiply": 5}
    assert seen.parts.maps > 0
    seen = lw.profile(lw.vmap(np.sin, chunk_size=3), repeat=1)(X[:7])
    assert [row.calls for row in seen.rows] == [3]
    seen = lw.profile(lambda x: [lw.vmap(np.sin)(x) for _ in range(4)], repeat=1)(X)
    assert [row.calls for row in seen.rows] == [4]


def test_divergent_branches_and_loops(interpreted):
    seen = lw.profile(lw.vmap(wave), repeat=1)(X)
    rows = {row.operation: row for row in seen.rows}
    assert rows["sin"].calls == 1 and rows["sin"].seconds > 0
    assert rows["less"].calls > 1 and rows["while"].seconds >= 0
    nothing = lw.profile(lw.vmap(lambda x: np.sin(x) if x[0] > 9 else x), repeat=1)(X)
    assert {row.operation: row.calls for row in nothing.rows}["sin"] == 0


def test_kernels(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    seen = lw.profile(lw.vmap(lambda x: np.linalg.pinv(x.reshape(2, 3)) + x[0]), repeat=1)(X)
    assert {row.fate.split()[0]: row.seconds is None for row in seen.rows} == {
        "kernel": True,
        "batched": False,
    }
    assert all(kernel.calls == 1 and kernel.running > 0 for kernel in seen.kernels)
    assert re.search(r"\n    1 \| .*, took \d", str(seen))
    many = lw.profile(lambda x: [lw.vmap(np.sin)(x[:n]) for n in (3, 5, 7)], repeat=1)(X)
    (kernel,) = many.kernels
    assert kernel.calls == 3 and [program.calls for program in many.programs] == [3]


def test_what_kernels_leave_to_numpy(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    matrices = np.full((500, 2, 2), np.nan)
    with np.errstate(all="ignore"):
        seen = lw.profile(lw.vmap(np.linalg.inv), repeat=1)(matrices)
    assert seen.choices[-1].reason == dispatch.CAUTIOUS
    (row,) = [row for row in seen.rows if not row.in_kernel]
    assert row.operation == "inv" and row.calls == 1 and row.seconds > 0


def test_how_often_it_is_called():
    calls = []

    def func(x):
        calls.append(1)
        return np.sin(x)

    mapped = lw.vmap(func, autograph=False)  # what is appended is no state to be followed
    seen = lw.profile(mapped, repeat=3)(X)
    assert len(calls) == 2 * 3 + 2 and seen.parts.repeats == 3
    calls.clear()
    seen = lw.profile(mapped)(X)
    assert len(calls) == 2 * seen.parts.repeats + 2 and 1 <= seen.parts.repeats <= 10
    calls.clear()
    lw.explain(mapped, X)
    assert len(calls) == 1


def test_what_is_not_measured_reads_no_clock(monkeypatch):
    made = []
    original = Clock.reading
    monkeypatch.setattr(Clock, "reading", lambda self, op: made.append(op) or original(self, op))
    monkeypatch.setattr(dispatch, "_cache", {})
    mapped = lw.vmap(wave)
    mapped(X)
    lw.explain(mapped, X)
    assert not made
    lw.profile(mapped, repeat=1)(X)
    assert made
    count = len(made)
    mapped(X)
    (executable,) = dispatch._cache.values()
    assert len(made) == count
    assert executable.plan([X]).clock is None


def test_profiling_counts_as_the_calls_that_it_makes(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr(dispatch, "_cache", {})
    monkeypatch.setattr(tiers, "FAR_OFF", np.inf)
    mapped = lw.vmap(lambda x: np.sin(x) * 3)
    mapped(X)
    (executable,) = dispatch._cache.values()
    spent = executable.spent
    lw.profile(mapped, repeat=1)(X)
    assert executable.spent == pytest.approx(5 * spent)


def test_errors():
    with pytest.raises(
        TypeError, match="profile takes a function and then its arguments, not list"
    ):
        lw.profile([1])
    with pytest.raises(TypeError, match="explain takes a function and then its arguments, not nd"):
        lw.explain(X)
    for repeat in (0, -1):
        with pytest.raises(ValueError, match=f"repeat must be at least 1, but is {repeat}"):
            lw.profile(np.sin, repeat=repeat)
    with pytest.raises(TypeError, match="integer"):
        lw.profile(np.sin, repeat=1.5)
    with pytest.raises(KeyError, match="no"):
        lw.profile(lw.vmap(lambda x: {}["no"]))(X)

    def fails(x):
        if x[0] > 0.5:
            raise ValueError("too large")
        return x

    with pytest.raises(ValueError, match="too large\n  in example"):
        lw.profile(lw.vmap(fails))(X)
    assert dispatch._observed.programs is None and dispatch._observed.measure is None


def test_results_are_owned_and_fresh(backend):
    seen = lw.profile(lw.vmap(lambda x: x), repeat=1)(X)
    assert not np.shares_memory(seen.result, X) and seen.result.flags.writeable


def test_a_clock_adds_up(interpreted):
    """The times of a plan and the plans within are those of the run."""
    with dispatch.observing() as programs:
        lw.map_fn(wave, X[:50])
    (program,) = programs
    clock = Clock()
    plan = Plan(program.executable.interpreter.whole.graph, clock=clock)
    plan(X[:50])
    shares = []
    for _ in range(5):  # on a busy machine, something else may run between the two clocks
        clock.reset()
        assert not any(found.calls for found in clock.times)
        start = time.perf_counter_ns()
        clock.start()
        plan(X[:50])
        total = time.perf_counter_ns() - start
        shares.append(sum([found.nanoseconds for found in clock.times]) / total)
    assert 0.8 < max(shares) <= 1
    within = [found for found in clock.times if found.within]
    assert {len(found.within) for found in within} == {1}
