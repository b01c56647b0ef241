"""Arrays of unknown size under maps, derivatives, loops and branches, and what is not followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import kernel_cache
from lanewise.errors import ConcretizationError, UnsupportedError
from support.sized_programs import CORE, OTHERS, arguments, assert_same, outcome

SPEC = lw.TensorSpec
#: Of these the result has no floats, or is a number that depends on sizes only.
NOT_MAPPED = {"len", "size", "shapes", "sizes", "np.size", "sqrt of n"}
#: Their results are complex, or their derivatives take steps by the size.
NOT_DIFFERENTIATED = NOT_MAPPED | {"fft", "rfft", "cumprod"}
ALL = {**CORE, **OTHERS}


def _stacked(function: Any) -> Any:
    """Return what calls a function on each example, and stacks."""

    def call(*batches: np.ndarray) -> Any:
        rows = [function(*[x.copy() for x in row]) for row in zip(*batches, strict=True)]
        if isinstance(rows[0], (tuple, list)):
            return type(rows[0])([np.stack(part) for part in zip(*rows, strict=True)])
        return np.stack(rows)

    return call


def _batch(x: np.ndarray) -> np.ndarray:
    return np.stack([x + 0.1, x * 1.5 + 0.3, x - 2.0])


def check_map(name: str, sizes: tuple[int, ...]) -> None:
    """Trace the map of a program once, and compare it at each size."""
    program = ALL[name]
    specs = [SPEC(["batch", *shape]) for shape in program.shapes]
    f = lw.function(lw.vmap(program.function), input_signature=specs)
    for size in [n for n in sizes if n not in program.unless]:
        args = [_batch(x) for x in arguments(program, size)]
        assert_same(outcome(f, args), outcome(_stacked(program.function), args))
    assert f.experimental_get_tracing_count() == 1


MAPPED = sorted(ALL.keys() - NOT_MAPPED - {"comprehension"})


@pytest.mark.parametrize("name", MAPPED)
def test_maps(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    check_map(name, (5, 0, 1, 2))


@pytest.mark.parametrize("name", MAPPED)
def test_maps_natively(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    if sorted(MAPPED).index(name) % 2:
        monkeypatch.setenv("LANEWISE_LANES", "1")  # one vector in flight, or several
    check_map(name, (5, 1, 0, 33))


@pytest.mark.parametrize("name", sorted(ALL.keys() - NOT_DIFFERENTIATED))
def test_gradients(name, monkeypatch):
    """A gradient at unknown sizes is that at known ones, which other tests compare with numbers."""
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    program = ALL[name]

    def loss(*args):
        result = program.function(*args)
        result = result[-1] if isinstance(result, (tuple, list)) else result
        return (result * result * 0.5).sum() if np.ndim(result) else result * result * 0.5

    gradient = lw.grad(loss, argnums=tuple(range(len(program.shapes))))
    f = lw.function(gradient, input_signature=[SPEC(shape) for shape in program.shapes])
    for size in [n for n in (5, 0, 1) if n not in program.unless]:
        args = [x * 1.1 + 0.3 for x in arguments(program, size)]
        wanted = outcome(gradient, args)
        if isinstance(wanted, type) and name in ("argmax", "gradient", "searchsorted"):
            continue  # what nobody uses is not computed, and so does not raise
        assert_same(outcome(f, args), wanted)
    assert f.experimental_get_tracing_count() == 1


def test_derivatives_of_slices_are_right(backend):
    def energy(u):
        return (np.diff(u) ** 2).sum() + (u[1:-1] * u[::-1][2:]).sum()

    both = lw.function(
        lambda u: (lw.grad(energy)(u), lw.jvp(energy, (u,), (np.ones_like(u),))[1]),
        input_signature=[SPEC([None])],
    )
    hessian = lw.function(lw.hessian(energy), input_signature=[SPEC([None])])
    for n in (2, 5, 9):
        u = np.linspace(0.0, 1.0, n) ** 2
        step = 1e-6 * np.eye(n)
        numbers = np.array([(energy(u + e) - energy(u - e)) / 2e-6 for e in step])
        gradient, along = both(u)
        np.testing.assert_allclose(gradient, numbers, atol=1e-8)
        np.testing.assert_allclose(along, numbers.sum(), atol=1e-8)
        np.testing.assert_allclose(hessian(u), lw.hessian(energy)(u), atol=1e-12)
    assert both.experimental_get_tracing_count() == hessian.experimental_get_tracing_count() == 1


def test_control_flow_by_function(backend):
    def f(x):
        n = x.shape[0]
        total, before = lw.scan(lambda c, v: (c + v, c), 0.0, x)
        _, last = lw.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0))
        counted = lw.fori_loop(0, n, lambda i, c: c + i, 0)
        side = lw.cond(n > 3, lambda: x.sum() * 2, lambda: -x.sum())
        return total, before, last, counted, side

    g = lw.function(f, input_signature=[SPEC([None])])
    for n in (0, 1, 4, 9, 4):
        x = np.arange(1.0, n + 1)
        total, before, last, counted, side = g(x)
        assert total == last == x.sum() and counted == n * (n - 1) // 2
        np.testing.assert_array_equal(before, np.cumsum(x) - x)
        assert side == (x.sum() * 2 if n > 3 else -x.sum())
    assert g.experimental_get_tracing_count() == 1


def test_a_map_within_whose_size_is_not_known(backend):
    def f(x):
        return lw.vmap(lambda row: row[1:] * len(row) + x.shape[0])(x)

    g = lw.function(f, input_signature=[SPEC([None, None])])
    for shape in ((2, 3), (1, 1), (4, 5), (2, 3)):
        x = np.random.default_rng(0).normal(size=shape)
        np.testing.assert_array_equal(g(x), x[:, 1:] * shape[1] + shape[0])
    assert g.experimental_get_tracing_count() == 1


def test_tapes_host_code_and_layers(backend):
    layer = lw.nn.Dense(2)

    def f(x):
        with lw.GradientTape() as tape:
            watched = tape.watch(x)
            energy = (watched[1:] * watched[:-1]).sum() * len(watched)
        host = lw.py_func(lambda v: v * 2, [x[1:]], SPEC([len(x) - 1]))
        return tape.gradient(energy, watched), host, layer(x[:, None]).shape[0]

    g = lw.function(f, input_signature=[SPEC([None])])
    for n in (1, 4, 2):
        x = np.arange(1.0, n + 1)
        gradient, host, rows = g(x)
        wanted = np.zeros(n)
        wanted[1:] += x[:-1]
        wanted[:-1] += x[1:]
        np.testing.assert_allclose(gradient, wanted * n)
        np.testing.assert_array_equal(host, x[1:] * 2)
        assert rows == n
    assert g.experimental_get_tracing_count() == 1


def test_a_file_keeps_sizes(tmp_path, backend):
    def f(u):
        u[1:-1] = (u[:-2] + u[2:]) / 2
        if len(u) > 4:
            u[0] = u[len(u) // 2]
        return u, np.pad(u, 1), u[::-2], np.arange(len(u))

    g = lw.function(f, input_signature=[SPEC([None])])
    lw.save(g.get_concrete_function(), tmp_path / "f.lanewise")
    loaded = lw.load(tmp_path / "f.lanewise")
    for n in (0, 1, 2, 5, 9):
        assert_same(loaded(np.arange(1.0 * n)), f(np.arange(1.0 * n)))


def test_results_are_memory_of_their_own(backend):
    f = lw.function(lambda x: (x, x[1:], x.reshape(-1), x[::-1]), input_signature=[SPEC([None])])
    x = np.arange(5.0)
    for _ in range(3):
        arrays = [x, *f(x)]
        pairs = [(a, b) for i, a in enumerate(arrays) for b in arrays[:i]]
        assert not any(np.shares_memory(a, b) for a, b in pairs)
        assert all(array.flags.writeable for array in arrays)


def test_layouts_of_what_a_kernel_for_any_size_takes(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    f = lw.function(lambda a, b: np.exp(a) * b + 1, input_signature=[SPEC(["n", "m"])] * 2)
    x = np.random.default_rng(0).random((20, 30))
    for a, b in ((x[::2, ::3], x[1::2, ::3]), (x.T, np.asfortranarray(x.T)), (x[:0], x[:0]),
                 (x[:, :1], x[:, 3:4]), (np.broadcast_to(x[0], (4, 30)), x[:4])):  # fmt: skip
        np.testing.assert_allclose(f(a, b), np.exp(a) * b + 1, 1e-14)


@pytest.mark.parametrize("name", ["chain", "chain of two", "stencil", "var", "largest", "diff"])
def test_one_kernel_at_any_size(name, monkeypatch):
    """No kernel is written for a size: once all ranges of sizes have come, there are no more."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    program = CORE[name]
    f = lw.function(program.function, input_signature=[SPEC(shape) for shape in program.shapes])
    known = None
    for sizes in ((3, 0, 1, 2, 40, 1500), (2, 41, 7, 1000, 1, 0, 39)):
        for size in sizes:
            args = arguments(program, size if len(program.shapes[0]) == 1 else size // 20 + 1)
            assert_same(outcome(f, args), outcome(program.function, args))
        assert known is None or kernel_cache.KERNELS.keys() == known
        known = set(kernel_cache.KERNELS)
    assert lw.explain(f, *args).kernels


def test_compiled_for_any_size(monkeypatch):
    spec = [SPEC(["n"]), SPEC(["n"])]
    f = lw.function(lambda x, y: np.tanh(x) * y[::-1], input_signature=spec, jit_compile=True)
    for n in range(12):
        x = np.arange(1.0 * n)
        np.testing.assert_allclose(f(x, x), np.tanh(x) * x[::-1], 1e-13)


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize(
    ("func", "shapes", "error", "message"),
    [
        (lambda x, y: x + y, ((3,), (4,)), ValueError, r"shapes \(3,\) \(4,\)"),
        (lambda x, y: (x * y).sum(), ((3,), (4,)), ValueError, r"shapes \(3,\) \(4,\)"),
        (lambda x, y: x @ y, ((2, 3), (4, 2)), ValueError, r"3 \(dim 1\) != 4 \(dim 0\)"),
        (lambda x, y: np.einsum("ij,ij->i", x, y), ((1, 3), (4, 3)), ValueError, "not aligned"),
        (lambda x: x.reshape(2, -1), ((3,),), ValueError, "cannot reshape array of size 3"),
        (lambda x, y: np.stack([x, y]), ((3,), (4,)), ValueError, "must match exactly"),
        (lambda x, y: np.hstack([x, y]), ((2, 3), (3, 3)), ValueError, "must match exactly"),
        (lambda x: x[4], ((4,),), IndexError, "index 4 is out of bounds for axis 0 with size 4"),
        (lambda x: x[len(x) - 5], ((4,),), None, ""),
        (lambda x: x[-len(x) - 1], ((4,),), IndexError, "out of bounds"),
        (lambda x: np.zeros(len(x) - 5), ((4,),), ValueError, "negative"),
        (lambda x: np.linalg.inv(x), ((2, 3),), np.linalg.LinAlgError, "square"),
        (lambda x: np.max(x), ((0,),), ValueError, "zero-size array"),
        (lambda x: np.split(x, 2)[0], ((3,),), ValueError, "equal division"),
    ],
)
def test_sizes_that_do_not_fit_raise_when_it_runs(backend, func, shapes, error, message, calls):
    f = lw.function(func, input_signature=[SPEC([None] * len(shape)) for shape in shapes])
    args = [np.ones(shape) for shape in shapes]
    for _ in range(calls):  # the second time kernels may be made for these sizes
        if error is None:
            np.testing.assert_array_equal(f(*args), func(*args))
            continue
        with pytest.raises(error, match=message) as found:
            f(*args)
        assert "test_sizes_composed.py" in str(found.value)
    fitting = [np.ones((4,) * len(shape)) for shape in shapes]
    assert_same(outcome(f, fitting), outcome(func, fitting))  # and so it did nothing else


def test_a_branch_that_does_not_fit_is_not_taken(backend):
    def f(x):
        if len(x) == 4:  # noqa: SIM108
            y = x.reshape(2, 2).sum(axis=0)[:1]
        else:
            y = np.ones(1)
        return y

    g = lw.function(f, input_signature=[SPEC([None])])
    for n in (4, 3, 3, 3, 4, 4):
        np.testing.assert_array_equal(g(np.arange(1.0 * n)), f(np.arange(1.0 * n)))


def test_branches_of_other_sizes(backend):
    def f(x):
        y = x[:1] if len(x) > 3 else x[:2]
        return y, (np.append(y, x) if len(x) > 2 else x * 2)

    g = lw.function(f, input_signature=[SPEC([None])])
    for n in (4, 3, 0, 1, 2, 7):
        for got, want in zip(g(np.arange(1.0 * n)), f(np.arange(1.0 * n)), strict=True):
            assert_same(got, want)


def test_sizes_broadcast_as_they_are_found(backend):
    f = lw.function(lambda x, y: (x + y, x + np.arange(3.0)), input_signature=[SPEC([None])] * 2)
    for sizes in ((3, 3), (1, 4), (3, 1), (1, 1), (3, 3)):
        x, y = map(np.ones, sizes)
        assert_same(f(x, y), (x + y, x + np.arange(3.0)))
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    ("func", "error", "message"),
    [
        (lambda x: np.squeeze(x), UnsupportedError, "say which axes to drop"),
        (lambda x: list(range(len(x))), ConcretizationError, "length of a range"),
        (lambda x: [0.0] * len(x), UnsupportedError, "returns a list whose length is data"),
        (lambda x: x[0] if len(x) > 3 else x[:2], Exception, "shape"),
        (lambda x: [0.0] * int(x.sum()), UnsupportedError, "returns a list whose length is"),
    ],
)
def test_what_is_not_followed_says_so(func, error, message):
    f = lw.function(func, input_signature=[SPEC([None])])
    with pytest.raises(error, match=message):
        f(np.ones(3))


@pytest.mark.parametrize(
    "func",
    [
        lambda x: x if x.shape[0] == 3 else -x,
        lambda x: x if x.shape == (3,) else -x,
        lambda x: x if x.shape[0] != 3 else -x,
        lambda x: x if x.shape[0] > 3 else -x,
    ],
)
def test_code_that_is_not_converted_is_not_told_what_is_not_known(func):
    f = lw.function(func, input_signature=[SPEC(["n"])], autograph=False)
    with pytest.raises(TypeError, match=r"symbolic dimension n .*known only when the graph runs"):
        f(np.ones(3))
    g = lw.function(
        lambda x: x[: x.shape[0] // 2] * x.shape[0], input_signature=[SPEC(["n"])], autograph=False
    )
    np.testing.assert_array_equal(g(np.ones(5)), [5.0, 5.0])
