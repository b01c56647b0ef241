"""Kernels and their code are kept as long as they are needed, and not much longer."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from weakref import WeakValueDictionary

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import kernel_cache
from lanewise.codegen.llvm import Code
from lanewise.runtime import dispatch, kernels
from lanewise.runtime.dispatch import observing

X = np.arange(13)


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(dispatch, "_cache", {})
    monkeypatch.setattr(kernels, "_recent", {})
    kernel_cache.KERNELS.clear()


def program(number: int) -> Callable[[], np.ndarray]:
    """Return a map that no other number makes, compiled; it does not rely on any cache."""

    def function(x):
        return x * number + 1  # an int, for floats are not part of kernels

    with observing() as programs:
        lw.vmap(function)(X)
    executable = dispatch.compile(programs[0].graph)

    def run() -> np.ndarray:
        return executable(X)[0]

    assert np.array_equal(run(), X * number + 1)
    return run


def alive(texts: list[str]) -> list[bool]:
    gc.collect()
    return [kernels.key_of(text) in kernels._codes for text in texts]


def written() -> list[str]:
    return [kernel.text for kernel in kernel_cache.KERNELS.values() if kernel is not None]


def test_code_lives_as_long_as_its_plan(monkeypatch):
    monkeypatch.setattr(kernels, "MOST_CODES", 2)
    first = program(1)
    (text,) = written()
    for number in range(2, 8):
        program(number)
    dispatch._cache.clear()
    assert alive([text]) == [True]
    assert np.array_equal(first(), X + 1)
    del first
    assert alive([text]) == [False]


def test_the_code_used_last_is_kept_for_the_next_plan(monkeypatch):
    monkeypatch.setattr(kernels, "MOST_CODES", 2)
    for number in range(1, 5):
        program(number)
    texts = written()
    dispatch._cache.clear()
    assert alive(texts) == [False, False, True, True]
    code = weakref.ref(next(iter(kernels._codes.values())))
    program(3)
    program(4)
    dispatch._cache.clear()
    assert alive(texts) == [False, False, True, True]
    assert code() is not None, "it was not loaded again"


def test_equal_kernels_share_their_code(monkeypatch):
    made = []

    def code(text):
        made.append(text)
        return Code(text)

    monkeypatch.setattr(kernels, "Code", code)
    monkeypatch.setattr(kernels, "_codes", WeakValueDictionary())
    programs = program(1), program(1)
    assert len(made) == 1 and len(programs) == 2
    program(2)
    assert len(made) == 2


def test_so_many_kernels_are_known(monkeypatch):
    monkeypatch.setattr(kernel_cache, "MOST_KERNELS", 3)
    for number in range(1, 4):
        program(number)
    texts = written()
    program(1)  # is now the one used last
    assert written() == [*texts[1:], texts[0]]
    program(4)
    assert len(written()) == 3
    assert written()[:2] == [texts[2], texts[0]]


def test_so_much_text_is_known(monkeypatch):
    program(1)
    (text,) = written()
    monkeypatch.setattr(kernel_cache, "MOST_TEXT", 2 * len(text) + 100)
    for number in range(2, 6):
        program(number)
        assert len(written()) <= 3
    monkeypatch.setattr(kernel_cache, "MOST_TEXT", 10)
    assert np.array_equal(program(7)(), X * 7 + 1)
    assert len(written()) == 1, "the one in use is kept, however long"


_FORKS = """
import os, sys, threading, time, warnings
from lanewise.codegen import llvm
from lanewise.runtime import kernels

warnings.simplefilter("ignore")
text = "define i64 @f() { ret i64 1 }"
llvm.Code(text)
for lock in (llvm.lock, kernels._lock):
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        with kernels._lock:
            llvm.Code(text)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    thread.join()
    with lock:
        pass
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes do not fork there")
def test_a_fork_while_another_thread_compiles():
    done = subprocess.run(
        [sys.executable, "-c", _FORKS], stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    assert done.stdout == "done\n"
