"""Memory limits and signals while LLVM is at work: nothing ends the process, nobody waits."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from lanewise.codegen import background, llvm
from lanewise.runtime.native import Library
from support.draws import EXAMPLES

TESTS = Path(__file__).parents[1]
#: Of the address space that a process may still take, in MB; LANEWISE_EXAMPLES=300 tries as many.
#: Not less than 1, what CPython takes at once for small objects: without that it ends by itself
#: ("Cannot recover from MemoryErrors while normalizing exceptions").
RNG = random.Random(14)
LIMITS = [1.5, 8.0, 33.0, 45.0]
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
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(float(sys.argv[1]) * 2**20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for program in PROGRAMS:
    for called, arguments, i in ((lw.vmap(program), (XS, WS), 0),
                                 (lw.function(program), (XS[0], WS[0]), 1)):
        for _ in range(2):
            try:
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
    assert limit < 8 or "m" not in found.stdout


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

    work = background._Work(slow)
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
