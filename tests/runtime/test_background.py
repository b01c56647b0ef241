"""While LLVM is at work: calls go on; no memory limit and no signal ends the process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import background, llvm
from lanewise.runtime import dispatch, kernels, tiers
from lanewise.runtime.native import Library
from lanewise.runtime.race import Race
from support import faults
from support.draws import EXAMPLES

TESTS = Path(__file__).parents[1]
#: Of the address space that a process may still take, in MB; LANEWISE_EXAMPLES=300 tries as many.
#: Not less than 1, what CPython takes at once for small objects: without that it ends by itself
#: ("Cannot recover from MemoryErrors while normalizing exceptions").
RNG = random.Random(14)
LIMITS = [1.5, 8.0, 33.0, 45.0, 9.0, 8.5]
if EXAMPLES:
    LIMITS = [1 + RNG.choice((10, 60, 200)) * RNG.random() for _ in range(int(EXAMPLES))]

#: Runs all programs under a limit; prints m for a call that raises MemoryError, r for a result.
LIMITED = """
import resource, sys, warnings
import numpy as np
import lanewise as lw
from support import survivors
from support.survivors import PROGRAMS, WS, XS, compare, expected

warnings.simplefilter("error", lw.InternalErrorWarning)
want = {p: (expected(p, "native"), expected(p, "function")) for p in PROGRAMS}

# What the stack has taken it keeps. Where it may not grow the system ends the process.
def deep(n):
    return n and [*map(deep, [n - 1])]

sys.setrecursionlimit(10_000)
deep(4_000)
sys.setrecursionlimit(1000)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(float(sys.argv[1]) * 2**20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for program in PROGRAMS:
    for make, arguments, i in ((lw.vmap, (XS, WS), 0), (lw.function, (XS[0], WS[0]), 1)):
        called = None
        for _ in range(2):
            try:
                called = called or make(program)   # which takes memory, too
                got = called(*arguments)
            except MemoryError:
                print("m", end="")
            else:
                compare(got, want[program][i])
                print("r", end="")
"""

#: Sends itself SIGINT at some moment of a call that compiles for long; prints milliseconds.
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import lanewise as lw

def made(k):
    def long(x):
        s = x
        for i in range(9):
            s = np.sin(s) * x + np.log1p(np.exp(s)) / (1.5 + i + k)
            if s[0] > i + k:
                s = s * 2
        return s, np.sort(s)
    return long

x = np.ones((8, 5))
for k, delay in enumerate(map(float, sys.argv[1:])):
    sent = []
    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(delay, send)
    try:
        timer.start()
        lw.vmap(made(k))(x)
        while True:
            time.sleep(0.001)
    except KeyboardInterrupt:
        print(1e3 * (time.perf_counter() - sent[0]))
    got, want = lw.vmap(made(k))(x), made(k)(x[0])   # it is found, or made again
    np.testing.assert_allclose(got[0][0], want[0], rtol=1e-12)
"""


def run(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    settings = {"PYTHONPATH": os.pathsep.join(paths), "LANEWISE_BACKEND": "native"}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:  # functions need their source
        file.write(script)
        file.flush()
        return subprocess.run(
            [sys.executable, file.name, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **settings, **environment},
        )


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("limit", LIMITS)
def test_a_memory_limit_ends_no_process(limit):
    threads = ("1", "8")[LIMITS.index(limit) % 2]
    found = run(LIMITED, limit, LANEWISE_NUM_THREADS=threads)
    assert found.returncode == 0, found.stderr[-3000:]
    assert len(found.stdout) == 20
    assert limit < 16 or "m" not in found.stdout  # the stack of a thread is 8 of it


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent by os.kill")
def test_ctrl_c_ends_compiling_at_once():
    delays = [RNG.uniform(0.02, 1.0) for _ in range(int(EXAMPLES or 3))]
    found = run(INTERRUPTED, *delays)
    assert found.returncode == 0, found.stderr[-3000:]
    waits = sorted(map(float, found.stdout.split()))
    assert len(waits) == len(delays)
    assert waits[len(waits) // 2] < 50
    assert waits[-1] < 400  # 100 where nothing else is at work


def test_what_is_made_already_is_waited_for():
    made: list[int] = []
    go_on = threading.Event()

    def slow() -> str:
        made.append(1)
        go_on.wait(10)
        return "made"

    work = background.Work(slow)
    thread = threading.Thread(target=work.run)
    thread.start()
    background._at_work["a key"] = work
    go_on.set()
    assert background.interruptible("a key", slow) == "made"
    thread.join()
    assert made == [1] and not background._at_work


def test_errors_are_raised_where_it_is_waited_for():
    def broken() -> None:
        raise ZeroDivisionError("in a thread")

    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="in a thread"):
            background.interruptible("another key", broken)
        assert not background._at_work


def test_nothing_is_compiled_where_there_is_no_room(monkeypatch):
    monkeypatch.setattr(background, "FIRST", 1 << 60)
    text = "define i64 @f(i64 %x) { ret i64 %x }"
    for make in (llvm.compile_object, Library):
        with pytest.raises(MemoryError):
            make(text + "; another")


# --- in the background ----------------------------------------------------------------------------


def smoothed(x):
    s = x
    for i in range(6):
        s = np.sin(s) * x + 1.5 + i
    return s / 3


@pytest.fixture
def free(monkeypatch):
    """What is compiled by default, in the background; and nothing that was compiled before."""
    lw.function(lambda x: x + 1, jit_compile=True)(np.ones(3))  # with what all kernels need
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.delenv("LANEWISE_BACKGROUND")
    monkeypatch.setattr(tiers, "_CORES", 2)
    faults.forget()
    monkeypatch.setattr(kernels, "_codes", WeakValueDictionary())
    monkeypatch.setattr(kernels, "_recent", {})
    yield
    background.finish()


@pytest.fixture
def threads(monkeypatch):
    """The threads in which LLVM was at work."""
    found: list[threading.Thread] = []
    make = llvm._made

    def noted(text: str) -> bytes:
        found.append(threading.current_thread())
        return make(text)

    monkeypatch.setattr(llvm, "_made", noted)
    return found


def called(mapped, x, want, calls=3000):
    """Call until it is compiled, and then; return the executable, and how many calls it took."""
    for number in range(calls):
        with dispatch.observing() as programs:
            np.testing.assert_allclose(mapped(x), want, 1e-12)
        (program,) = programs
        if program.executable.native is not None:
            np.testing.assert_allclose(mapped(x), want, 1e-12)
            return program.executable, number
        if program.executable.is_compiling:
            assert program.choice.backend == "interpret"
            time.sleep(0.01)
    raise AssertionError(program.choice)


@pytest.mark.parametrize("axis", [0, 1])
def test_calls_go_on_while_code_is_compiled(axis, free, threads):
    x = np.linspace(0.0, 1.0, 12_000).reshape((2000, 6) if axis == 0 else (6, 2000))
    want = np.stack([smoothed(row) for row in np.moveaxis(x, axis, 0)])
    executable, number = called(lw.vmap(smoothed, axis), x, want)
    assert number > 2
    assert threads and threading.main_thread() not in threads
    assert len(threads) == 1, "for the layout that the arguments have"
    assert executable.choice({}).backend == "native"


def test_calls_wait_for_python_at_work_and_not_for_llvm(free, monkeypatch):
    """Else the two threads would wait for Python's lock nearly all of the time."""
    monkeypatch.setattr(background, "LENT", 60.0)
    steps = [threading.Event() for _ in range(4)]

    def make() -> None:
        steps[0].set()
        steps[1].wait()
        with background.without_lock():
            steps[2].wait()
        steps[3].wait()

    def call(whose: background.Work | None = None) -> threading.Thread:
        thread = threading.Thread(target=background.lend, args=[whose or work])
        thread.start()
        return thread

    work = background.begin(make)
    other = background.begin(lambda: None)
    steps[0].wait()
    first, second = call(), call()
    call(other).join(30.0)  # that of others may take long
    first.join(0.1)
    assert first.is_alive(), "something is made in Python"
    steps[1].set()  # LLVM begins
    for thread in (first, second, call()):
        thread.join(30.0)
        assert not thread.is_alive()
    steps[2].set()  # Python goes on
    while background._is_free.is_set():
        time.sleep(0.001)
    last = call()
    last.join(0.1)
    assert last.is_alive()
    steps[3].set()
    work.wait()
    last.join(30.0)
    assert not last.is_alive(), "nothing is made any more"


def test_a_call_that_takes_longer_than_compiling_waits_for_it(free, threads, monkeypatch):
    monkeypatch.setattr(tiers, "_prices", lambda graph: (1e5, 1e6))
    x = np.linspace(0.0, 1.0, 1_000_000).reshape(-1, 5)
    _, number = called(lw.vmap(smoothed), x, smoothed(x))
    assert number == 0 and threads


def test_another_number_of_examples_takes_what_is_there(free, threads):
    def waits(a):
        out = a.copy()
        for i in range(1, len(a)):
            out[i] = np.maximum(out[i], out[i - 1])
        return out

    mapped = lw.vmap(waits)
    many, one = (np.random.default_rng(0).normal(size=(n, 300, 40)) for n in (200, 1))
    executable, _ = called(mapped, many, np.maximum.accumulate(many, 1))
    count = len(threads)
    for _ in range(3):
        np.testing.assert_array_equal(mapped(one), np.maximum.accumulate(one, 1))
        background.finish()
    assert len(executable._best) == 2
    assert threading.main_thread() not in threads[count:]


def test_another_layout_is_copied_until_its_kernel_is_there(free, threads, monkeypatch):
    x = np.linspace(0.0, 1.0, 240_000).reshape(-1, 6)
    mapped = lw.vmap(smoothed)
    called(mapped, x, smoothed(x))
    monkeypatch.setattr(kernels, "COPIED", 1e3)  # copying takes long
    threads.clear()
    for _ in range(3):
        np.testing.assert_allclose(mapped(np.asfortranarray(x)), smoothed(x), 1e-12)
        background.finish()
    assert len(threads) == 1 and threading.main_thread() not in threads


@pytest.mark.parametrize("error", [MemoryError("none left"), ZeroDivisionError("a defect")])
@pytest.mark.parametrize("place", ["llvm._made", "kernel_cache.write"])
def test_what_fails_in_the_background_is_survived(place, error, free, monkeypatch):
    def broken(*args, **options):
        raise error

    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.setattr(f"lanewise.codegen.{place}", broken)
    x = np.linspace(0.0, 1.0, 6_000).reshape(-1, 6)
    mapped = lw.vmap(smoothed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3000):
            np.testing.assert_allclose(mapped(x), smoothed(x), 1e-12)
            (executable,) = dispatch._cache.values()
            if executable.is_compiling:
                background.finish()
            if executable.cost == np.inf:
                break
    assert executable.cost == np.inf and executable.native is None
    is_told = [w.category for w in caught].count(lw.InternalErrorWarning)
    assert is_told == (0 if isinstance(error, MemoryError) else 1)


def test_the_plain_function_runs_while_its_trace_is_compiled(free, threads, monkeypatch):
    monkeypatch.setattr(Race, "is_ahead", lambda self: self._executable.native is None)

    def f(x):
        for _ in range(5):
            x = np.sin(x) * x + 1.5
        return x

    x = np.linspace(0.0, 1.0, 20_000)
    traced, want = lw.function(f), f(x)
    for _ in range(3000):
        np.testing.assert_allclose(traced(x), want, 1e-12)
        (concrete,) = traced._traces.all()
        if concrete._executable.is_compiling:
            background.finish()
        if concrete._executable.native is not None:
            break
    np.testing.assert_allclose(traced(x), want, 1e-12)
    assert threads and threading.main_thread() not in threads


#: Ends, or forks, while something is compiled.
LEFT = """
import os, sys, time
import numpy as np
import lanewise as lw
from lanewise.codegen import background
from lanewise.runtime import dispatch, tiers

tiers._CORES = 2

def made(k):
    def long(x):
        s = x
        for i in range(9):
            s = np.sin(s) * x + np.log1p(np.exp(s)) / (1.5 + i + k)
        return s, np.sort(s)
    return long

x = np.linspace(0, 1, 60_000).reshape(-1, 6)
functions = [lw.vmap(made(k)) for k in range(1, 4)]
while len(background._queue) < 2:
    wanted = [f(x)[0] for f in functions]
time.sleep(float(sys.argv[2]))
if sys.argv[1] == "forks":
    child = os.fork()
    while not child and not all(e.native is not None for e in dispatch._cache.values()):
        for f, want in zip(functions, wanted):
            np.testing.assert_allclose(f(x)[0], want, 1e-12)
    if child:
        background.finish()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes do not fork there")
@pytest.mark.parametrize("way", ["ends", "forks"])
@pytest.mark.parametrize("delay", [0.0, 0.03, 0.2])
def test_a_process_may_end_or_fork_while_something_is_compiled(way, delay):
    found = run(LEFT, way, delay, LANEWISE_BACKGROUND="1", LANEWISE_BACKEND="")
    assert not found.returncode, found.stderr


def test_who_forces_kernels_has_them_compiled_where_they_run(free, threads, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = np.ones((5, 6))
    np.testing.assert_allclose(lw.vmap(smoothed)(x), smoothed(x), 1e-12)
    assert threads and not background._queue


def test_estimates_are_corrected_by_what_calls_take(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    x = np.ones(5)
    graph = lw.function(lambda x: np.sin(x) * 2).get_concrete_function(x).graph
    executable = dispatch.compile(graph)
    executable.cost = executable.whole = 1e12
    estimates = []
    for took in (9e9, 50.0, 80.0, 60.0, 1.0):  # times the estimate; the first is no measure
        before = executable.spent
        executable.plan([x])
        estimates.append((executable.spent - before) / executable._estimated)
        executable.note_run(took * executable._estimated)
    assert estimates == pytest.approx([1, 1, 50, 50, 50])
    before = executable.spent
    executable.plan([x])
    assert executable.spent - before == pytest.approx(executable._estimated)
