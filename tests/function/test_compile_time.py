"""What making a trace ready takes grows with its operations, no faster, up to 20,000 of them.

What Python does is counted, not timed: calls of functions, which do not depend on what else runs.
LLVM's part is bounded by the size of a kernel, which does not grow with the graph.
"""

from __future__ import annotations

import cProfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import kernel, kernel_cache, llvm, partition

UFUNCS = [np.cos, np.negative, np.abs, np.square, np.rint, np.floor]


def chain(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        for i in range(n // 2):
            x = UFUNCS[i % len(UFUNCS)](x) * (i + 1.5)
        return x

    return f, np.ones(60)


def wide(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        parts = [x * (i + 1.5) for i in range(n // 2)]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [*[a + b for a, b in pairs], *parts[len(parts) // 2 * 2 :]]
        return parts[0]

    return f, np.ones(60)


def results(n: int) -> tuple[Any, np.ndarray]:
    return lambda x: [x + (i + 1.5) for i in range(n)], np.ones(12)


def scalars(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        total = x[0]
        for i in range(n // 2):
            total = total * 0.5 + x[i % 9]
        return total

    return f, np.ones(9)


def reductions(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        total = 0.0
        for i in range(n // 3):
            total = total + (x * (i + 1.5)).sum()
        return total

    return f, np.ones(60)


def products(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        y = x
        for _ in range(n):
            y = y @ x
        return y

    return f, np.eye(3)


def stencils(n: int) -> tuple[Any, np.ndarray]:
    def f(u):
        for _ in range(n // 5):
            u[1:-1] = (u[:-2] + u[2:]) * 0.5
        return u

    return f, np.ones(60)


def branches(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        for _ in range(n // 5):
            x = lw.cond(x.sum() > 0, lambda x: x * 0.5, lambda x: x + 1.0, x)
        return x

    return f, np.ones(12)


def loops(n: int) -> tuple[Any, np.ndarray]:
    def f(x):
        for _ in range(n // 6):
            x = lw.while_loop(lambda s: s.sum() < 3, lambda s: s * 0.5 + 1, x)
        return x

    return f, np.ones(12)


def library(n: int) -> tuple[Any, np.ndarray]:
    def f(x):  # what NumPy computes and what kernels do take turns
        for i in range(n // 3):
            x = np.fft.rfft(x).real[:6] * (i + 1.5)
        return x

    return f, np.ones(10)


KINDS = [chain, wide, results, scalars, reductions, products, stencils, branches, loops, library]


def plain(f: Any, x: np.ndarray) -> tuple[Any, np.ndarray]:
    return f, x


def mapped(f: Any, x: np.ndarray) -> tuple[Any, np.ndarray]:
    return lw.vmap(f, autograph=False), np.stack([x] * 4)


def derived(f: Any, x: np.ndarray) -> tuple[Any, np.ndarray]:
    def total(x):
        found = f(x)
        return sum(map(np.sum, found)) if isinstance(found, list) else np.sum(found)

    pullback = lambda x: lw.vjp(lambda x: total(x), x)[1](1.0)[0]  # noqa: E731
    return pullback, x


def calls(make: Callable[[], Any]) -> int:
    """Return how many calls of functions something takes, Python's and built-in ones."""
    profile = cProfile.Profile()
    profile.enable()
    make()
    profile.disable()
    return sum([entry.callcount for entry in profile.getstats()])


def made_ready(kind: Any, n: int, form: Any, compile: bool) -> None:
    """Trace a function of about n operations, and plan it or write its kernels."""
    f, x = form(*kind(n))
    traced = lw.function(f, autograph=False, experimental_compile=compile or None)
    concrete = traced.get_concrete_function(x)
    if not compile:
        concrete(x)


@pytest.mark.parametrize("form", [plain, mapped, derived])
@pytest.mark.parametrize("kind", KINDS)
def test_planning_grows_with_the_graph(kind, form, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    monkeypatch.setenv("LANEWISE_VERIFY", "0")
    made_ready(kind, 12, form, False)  # what is done once is done
    few, many = [calls(lambda n=n: made_ready(kind, n, form, False)) for n in (48, 192)]
    assert many < 4.6 * few + 1000


@pytest.mark.parametrize("form", [plain, mapped])
@pytest.mark.parametrize("kind", [k for k in KINDS if k is not library])
def test_writing_kernels_grows_with_the_graph(kind, form, monkeypatch):
    monkeypatch.setenv("LANEWISE_VERIFY", "0")
    lines: list[int] = []
    write = kernel.Kernel.__init__

    def noted(self, text, *args, **kwargs):
        lines.append(text.count("\n"))
        write(self, text, *args, **kwargs)

    monkeypatch.setattr(kernel.Kernel, "__init__", noted)
    made_ready(kind, 12, form, True)
    counts, totals = [], []
    for n in (36, 144):
        kernel_cache.KERNELS.clear()
        lines.clear()
        counts.append(calls(lambda n=n: made_ready(kind, n, form, True)))
        totals.append(sum(lines))
    assert counts[1] < 4.8 * counts[0] + 8000
    assert totals[1] < 4.8 * totals[0] + 500


def test_kernels_are_of_bounded_size(monkeypatch):
    texts: list[str] = []
    write = kernel.Kernel.__init__

    def noted(self, text, *args, **kwargs):
        texts.append(text)
        write(self, text, *args, **kwargs)

    monkeypatch.setattr(kernel.Kernel, "__init__", noted)
    monkeypatch.setattr(partition, "MOST_OPERATIONS", 128)
    kernel_cache.KERNELS.clear()
    made_ready(chain, 4 * 128, plain, True)
    assert len(texts) >= 4
    assert max(map(len, texts)) < 3 * min(map(len, texts[:4]))


def test_llvm_takes_time_in_proportion():
    """Many loads and stores in one block: its scheduler compared each with each."""

    def seconds(n: int) -> float:
        stores = "\n".join(
            f"  %a{i} = getelementptr i8, ptr %x, i64 {8 * i}\n"
            f"  %v{i} = load double, ptr %a{i}\n  %w{i} = fadd double %v{i}, 1.5\n"
            f"  %b{i} = load ptr, ptr %a{i}\n  store double %w{i}, ptr %b{i}"
            for i in range(n)
        )
        text = f"define void @f(ptr %x) {{\n{stores}\n  ret void\n}}"
        best = float("inf")
        for _ in range(2):
            start = time.thread_time()
            with llvm.optimized(text) as (module, target):
                target.emit_object(module)
            best = min(best, time.thread_time() - start)
        return best

    few, many = seconds(250), seconds(2000)
    assert many < 24 * few  # 8 times as many; each with each it would be 64


@pytest.mark.parametrize(
    ("kind", "form"), [(wide, plain), (results, mapped), (stencils, mapped), (branches, plain)]
)
def test_what_is_cut_into_kernels_gives_the_same(kind, form, monkeypatch):
    monkeypatch.setattr(partition, "MOST_OPERATIONS", 40)
    f, x = form(*kind(100))
    found, expected = [
        lw.function(f, autograph=False, experimental_compile=compile)(x + 0.25)
        for compile in (True, False)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("compile", "count"), [(False, 20_000), (True, 4000)])
def test_thousands_of_operations(compile, count, monkeypatch):
    monkeypatch.setenv("LANEWISE_VERIFY", "0")
    f, x = scalars(count)

    start = time.process_time()
    concrete = lw.function(f, autograph=False, experimental_compile=compile).get_concrete_function(
        x
    )
    found = concrete(x)
    assert time.process_time() - start < 30  # some 3 s
    assert len(concrete.graph.operations) >= count
    np.testing.assert_allclose(found, f(x), rtol=1e-12)


def test_regions_within_regions(backend):
    def nest(depth: int, x: Any) -> Any:
        if not depth:
            return x + 1
        return lw.cond(x.sum() > -1, lambda x: nest(depth - 1, x * 0.5), lambda x: x, x)

    x = np.ones(3)
    f = lw.function(lambda x: nest(25, x), autograph=False)
    np.testing.assert_allclose(f(x), x * 0.5**25 + 1)
