"""Kernels for any size: one executable, told of sizes when it runs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import kernel_cache
from lanewise.runtime import kernels
from lanewise.runtime.failed import KernelFailed
from support.sized_programs import assert_same

SPEC = lw.TensorSpec
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _native(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")


@pytest.fixture
def seen(monkeypatch) -> list[str]:
    """What came of calls of kernels that are told of sizes: "run" or "left"."""
    found: list[str] = []
    call = kernels._Sized.__call__

    def noted(self: Any, *arguments: Any) -> Any:
        try:
            results = call(self, *arguments)
        except KernelFailed:
            found.append("left")
            raise
        found.append("run")
        return results

    monkeypatch.setattr(kernels._Sized, "__call__", noted)
    return found


# --- programs -------------------------------------------------------------------------------------


def gauss_seidel(a, b):
    x = np.zeros(len(b))
    for _ in range(3):
        for i in range(len(b)):
            s = b[i]
            for j in range(len(b)):
                if j != i:
                    s -= a[i, j] * x[j]
            x[i] = s / a[i, i]
    return x


def jacobi(u):
    for _ in range(40):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def smoothed(x):
    for i in range(1, len(x)):
        x[i] += 0.5 * x[i - 1]
    return x


def shortest(d):
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


def edits(a, b):
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        last, row[0] = row[0], i + 1
        for j in range(len(b)):
            cost = min(row[j + 1] + 1, row[j] + 1, last + (a[i] != b[j]))
            last, row[j + 1] = row[j + 1], cost
    return row[-1]


def forces(x, m):
    apart = x[None, :] - x[:, None]
    return (m * apart / (np.abs(apart) ** 3 + 0.1)).sum(axis=1)


def cholesky(a):
    n = len(a)
    out = np.zeros((n, n))
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= out[j, k] ** 2
        out[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= out[i, k] * out[j, k]
            out[i, j] = s / out[j, j]
    return out


def histogram(x):
    counts = np.zeros(len(x), np.int64)
    for value in x:
        counts[int(value * len(x))] += 1
    return counts


def numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(size=shape)


#: Programs, the shapes of their arguments, and those of a size.
PROGRAMS: dict[str, tuple[Any, list[Any], Any]] = {
    "gauss_seidel": (
        gauss_seidel, [["n", "n"], ["n"]], lambda n: (numbers(n, n) + n * np.eye(n), numbers(n))
    ),
    "jacobi": (jacobi, [[None, None]], lambda n: (numbers(n, n + 3),)),
    "smoothed": (smoothed, [[None]], lambda n: (numbers(n),)),
    "shortest": (shortest, [["n", "n"]], lambda n: (numbers(n, n),)),
    "edits": (
        edits, [[None], [None]], lambda n: (RNG.integers(0, 4, n), RNG.integers(0, 4, n + 2))
    ),
    "forces": (forces, [["n"], ["n"]], lambda n: (numbers(n), numbers(n))),
    "cholesky": (cholesky, [["n", "n"]], lambda n: (np.eye(n) * n + 0.5,)),
    "histogram": (histogram, [[None]], lambda n: (numbers(n),)),
}  # fmt: skip


def traced(name: str) -> Any:
    function, shapes, arguments = PROGRAMS[name]
    dtypes = [x.dtype for x in arguments(2)]
    specs = [SPEC(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    return lw.function(function, input_signature=specs)


def check(f: Any, name: str, size: int) -> None:
    function, _, arguments = PROGRAMS[name]
    args = arguments(size)
    want = function(*[x.copy() for x in args])
    assert_same(f(*args), want[()] if isinstance(want, np.ndarray) else want)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_executable_runs_any_size(name, seen, monkeypatch):
    compiled = []
    made = kernels.code_of
    monkeypatch.setattr(kernels, "code_of", lambda kernel: compiled.append(kernel) or made(kernel))
    f = traced(name)
    check(f, name, 9)
    count = len(compiled)
    assert count and set(seen) == {"run"}
    for size in (2, 3, 5, 8, 17, 40, 100, 64, 63, 65):
        check(f, name, size)
    assert set(seen) == {"run"} and len(compiled) <= count + 1  # one for few, one for many elements
    count = len(compiled)
    for size in (4, 6, 9, 20, 101):
        check(f, name, size)
    assert len(compiled) == count
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_elements_and_one(name, seen):
    f = traced(name)
    for size in (1, 0, 1, 0, 4):
        check(f, name, size)
    assert seen[-1] == "run"


@pytest.mark.parametrize(
    "laid_out",
    [
        np.asfortranarray,
        lambda x: x[::-1].copy()[::-1],
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
        lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    ],
    ids=["Fortran", "reversed", "with gaps", "swapped bytes", "read-only", "unaligned"],
)
def test_layouts(laid_out, seen):
    f = traced("shortest")
    x = numbers(6, 6)
    for _ in range(2):
        np.testing.assert_array_equal(f(laid_out(x)), shortest(x))
    assert set(seen) == {"run"}


def test_an_error_is_that_of_numpy_and_names_the_line():
    def pick(x, i):
        total = 0.0
        for k in range(len(x)):
            total += x[i + k]  # the line
        return total

    f = lw.function(pick, input_signature=[SPEC([None]), SPEC([], int)])
    x = numbers(7)
    assert f(x, np.array(0)) == pytest.approx(x.sum())
    for i in (1, 2**40, -8, -(2**63)):
        with pytest.raises((IndexError, OverflowError), match=r"the line|test_any_size"):
            f(x, np.array(i))
    assert f(x, np.array(-7)) == pytest.approx(x.sum())


def test_sizes_that_do_not_fit_are_numpys_to_decide(seen):
    def added(x, y):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = (x[i] + y).sum()
        return out + y

    f = lw.function(added, input_signature=[SPEC([None]), SPEC([None])])
    x, y = numbers(5), numbers(5)
    np.testing.assert_allclose(f(x, y), added(x, y))
    assert set(seen) == {"run"}
    for y in (numbers(1), numbers(3), numbers(0)):
        try:
            want = added(x, y)
        except ValueError:
            with pytest.raises(ValueError, match="broadcast"):
                f(x, y)
        else:
            np.testing.assert_allclose(f(x, y), want)
    assert set(seen) == {"run"}


def test_nothing_to_take_the_greatest_of():
    def best(x):
        found = np.zeros(3)
        for i in range(3):
            found[i] = (x * i).max()
        return found

    f = lw.function(best, input_signature=[SPEC([None])])
    np.testing.assert_array_equal(f(np.arange(4.0)), [0, 3, 6])
    with pytest.raises(ValueError, match="zero-size array"):
        f(np.zeros(0))


def test_memory_beyond_what_a_kernel_has(seen, monkeypatch):
    monkeypatch.setattr(kernels, "MOST_SCRATCH", 1 << 14)
    f = traced("shortest")
    check(f, "shortest", 10)
    check(f, "shortest", 60)
    assert seen[0] == "run" and seen[-1] == "left"


def test_few_sizes_are_remembered(monkeypatch):
    monkeypatch.setattr(kernels, "MOST_SIZES", 3)
    made: list[Any] = []
    make = kernels._Sized._made

    def noted(self: Any, sizes: dict[str, int]) -> Any:
        made.append((self, sizes))
        return make(self, sizes)

    monkeypatch.setattr(kernels._Sized, "_made", noted)
    f = traced("smoothed")
    for size in range(3, 12):
        check(f, "smoothed", size)
        assert len(made[0][0]._calls) <= 3
    # Of one element at least, as the first call had.
    assert [sizes for _, sizes in made] == [{"x_0_": size - 1} for size in range(3, 12)]


def test_several_threads_with_sizes_of_their_own():
    f = traced("gauss_seidel")
    wrong: list[Any] = []

    def work(first: int) -> None:
        for size in range(first, first + 40):
            a, b = numbers_of(size)
            if not np.allclose(f(a, b), gauss_seidel(a, b)):
                wrong.append(size)

    def numbers_of(size: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(size)
        return rng.uniform(size=(size, size)) + size * np.eye(size), rng.uniform(size=size)

    threads = [threading.Thread(target=work, args=(first,)) for first in (2, 12, 22)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sizes_that_come_often_get_no_kernels_of_their_own(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND")
    f = traced("gauss_seidel")
    for size in [*range(20, 60)] * 8:
        check(f, "gauss_seidel", size)
    assert f.get_concrete_function()._executable.native is not None
    known = set(kernel_cache.KERNELS)
    for size in (*[30] * 40, 31, 30):
        check(f, "gauss_seidel", size)
    assert kernel_cache.KERNELS.keys() == known


def test_it_must_be_compiled(seen):
    f = lw.function(gauss_seidel, input_signature=[SPEC(["n", "n"]), SPEC(["n"])], jit_compile=True)
    for size in (2, 5, 9):
        check(f, "gauss_seidel", size)
    assert set(seen) == {"run"}


def test_a_gradient_of_any_size():
    def loss(x, y):
        total = 0.0
        for i in range(len(x)):
            total += (x[i] * y - y[i]).sum() ** 2
        return total

    f = lw.function(lw.grad(loss), input_signature=[SPEC(["n"]), SPEC(["n"])])
    for n in (3, 7, 20):
        x, y = numbers(n), numbers(n)
        want = np.array([2 * (x[i] * y - y[i]).sum() * y.sum() for i in range(n)])
        np.testing.assert_allclose(f(x, y), want, 1e-10)


def test_explain_tells_of_it(capsys):
    f = traced("gauss_seidel")
    a, b = PROGRAMS["gauss_seidel"][2](6)
    f(a, b)
    (kernel,) = lw.explain(f, a, b).kernels
    assert "told of sizes" in capsys.readouterr().out
    smaller = kernel.flops
    a, b = PROGRAMS["gauss_seidel"][2](12)
    (kernel,) = lw.explain(f, a, b).kernels
    assert 0 < 3 * smaller < kernel.flops and kernel.scratch > 0


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("shape", [None, [None, None]])
def test_what_is_repeated_is_found_once(shape):
    """Else each element of a row would add up the row again."""
    f = lw.function(softmax, input_signature=None if shape is None else [SPEC(shape)])
    x = numbers(60, 70)
    for _ in range(2):
        np.testing.assert_allclose(f(x), softmax(x), 1e-12)
    if shape is not None:
        (kernel,) = lw.explain(f, x).kernels
        assert kernel.scratch > 70 * 8  # a row of it at least


def test_stencils_of_several_axes_are_not_copied_together(seen):
    def heat(u):
        v = u.copy()
        v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        return v

    f = lw.function(heat, input_signature=[SPEC([None, None])])
    for n in (2, 3, 9, 40):
        u = numbers(n, n + 1)
        np.testing.assert_allclose(f(u), heat(u), 1e-13)
    assert set(seen) == {"run"}
