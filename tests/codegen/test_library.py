"""Loops of NumPy's and SciPy's that kernels call: to the bit what plain NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.codegen import library, ufunc_loops
from lanewise.ops import fft, lapack
from lanewise.ops.numpy_loops import own_gufunc
from lanewise.runtime import dispatch
from support.backends import backend, watched
from support.made_ufuncs import square_and_one
from support.searching import searching

RNG = np.random.default_rng(23)
#: Fewer examples than there are lanes, some blocks of them and not quite some.
BATCHES = (1, 3, 16, 45)
DTYPES = ("?", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "c16")
NORMS = (None, "backward", "ortho", "forward")


def numbers(dtype, *shape):
    x = RNG.normal(size=shape) * 20
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=shape)
    return (x > 0 if dtype == "?" else x).astype(dtype)


def loop(func, *args):
    """Return what plain NumPy gives, example by example."""
    found = [func(*rows) for rows in zip(*args, strict=True)]
    if isinstance(found[0], tuple):
        return tuple([np.stack(rows) for rows in zip(*found, strict=True)])
    return np.stack(found)


def assert_called(func, *args, primitives="", examples=0):
    """Assert that kernels compute a function, to the bit; NumPy some of its `examples`."""
    dispatch._cache.clear()  # a graph that ran before is not compiled again
    want = loop(func, *args)
    with watched() as seen:
        got = lw.vmap(func)(*args)
    assert_same(got, want)
    assert set(primitives.split()) <= seen.primitives
    assert seen.cautious == examples


def assert_same(got, want):
    pairs = [v if isinstance(v, tuple) else (v,) for v in (got, want)]
    for g, w in zip(*pairs, strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_array_equal(g, w)


# --- transforms -----------------------------------------------------------------------------------


@searching(60)
@given(
    st.sampled_from(["fft", "ifft", "rfft", "irfft"]),
    st.sampled_from(DTYPES),
    st.integers(1, 150),
    st.one_of(st.none(), st.integers(1, 150)),
    st.sampled_from(NORMS),
    st.sampled_from(BATCHES),
)
def test_transforms_of_any_length(name, dtype, length, n, norm, count):
    if name == "rfft" and np.dtype(dtype).kind == "c":
        dtype = dtype.replace("c8", "f4").replace("c16", "f8")
    if name == "irfft" and n is None and length == 1:
        n = 2
    transform = getattr(np.fft, name)
    assert_called(
        lambda x: transform(x, n, norm=norm),
        numbers(dtype, count, length),
        primitives="fft" if name == "ifft" else name,
    )


@pytest.mark.parametrize("n", [64, 1000, 1009, 4096])
def test_long_transforms(n):
    x = numbers("f8", 18, n)
    assert_called(lambda r: np.fft.rfft(r)[1:].imag, x, primitives="rfft imag")
    assert_called(lambda r: np.fft.irfft(np.fft.rfft(r) * 0.5, n), x, primitives="rfft irfft")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_transforms_along_each_axis(axis, order):
    x = np.asarray(numbers("c16", 19, 4, 6, 5), order=order)
    assert_called(lambda a: np.fft.fft(a, axis=axis), x, primitives="fft")
    assert_called(lambda a: np.fft.fft2(a[::-1, :, ::2]), x, primitives="fft")
    assert_called(lambda a: np.fft.fftn(a, axes=(0, 2)), x[::-1], primitives="fft")


def test_numbers_that_are_none():
    x = numbers("f8", 9, 12)
    x[2, 3], x[4, 0], x[5] = np.nan, np.inf, 0.0
    assert_called(np.fft.rfft, x)
    assert_called(lambda r: np.fft.fft(r.reshape(3, 4), 8), x, primitives="fft")


@pytest.mark.parametrize("count", BATCHES)
def test_transforms_in_loops_and_branches(count):
    def smooth(x, steps):
        total = np.zeros_like(x)
        for _ in range(int(steps)):
            x = np.fft.irfft(np.fft.rfft(x) * 0.5, x.shape[0]) + 0.25
            if x[0] > 0.3:
                total = total + np.fft.fft(x).real
            while x[1] > 4:
                x = np.fft.ifft(x).real
        return total, x

    steps = RNG.integers(0, 5, count)
    assert_called(smooth, numbers("f8", count, 21), steps, primitives="rfft irfft fft while")


@pytest.mark.parametrize("n", [2, 5, 64, 65])
def test_sizes_that_are_told(n):
    @lw.function(
        input_signature=[lw.TensorSpec(["k", "n"]), lw.TensorSpec(["n"])], experimental_compile=True
    )
    def filtered(x, h):
        return lw.vmap(lambda r: np.fft.irfft(np.fft.rfft(r, norm="ortho") * 2, len(r)) * h)(x)

    x, h = numbers("f8", 21, n), numbers("f8", n)
    with watched() as seen:
        got = filtered(x, h)
    assert_same(got, loop(lambda r: np.fft.irfft(np.fft.rfft(r, norm="ortho") * 2, n) * h, x))
    assert {"rfft", "irfft"} <= seen.primitives


def test_slices_whose_lengths_are_data():
    def spectrum(x, n):
        return np.fft.rfft(x[:n]).real.max()

    x, n = numbers("f8", 20, 30), RNG.integers(1, 30, 20)
    with watched():
        got = lw.vmap(spectrum)(x, n)
    assert_same(got, loop(spectrum, x, n))


def test_maps_in_maps_and_gradients():
    x = numbers("f8", 5, 6, 16)

    def power(r):
        return (np.abs(np.fft.rfft(r)) ** 2)[1:4].sum()

    with watched() as seen:
        inner = lw.vmap(lw.vmap(lambda r: np.fft.rfft(r)))(x)
        slopes = lw.vmap(lw.vmap(lw.grad(power)))(x)
    assert_same(inner, np.fft.rfft(x))
    h = 1e-6
    step = np.eye(16)[3] * h
    want = (np.apply_along_axis(power, -1, x + step) - np.apply_along_axis(power, -1, x - step)) / (
        2 * h
    )
    np.testing.assert_allclose(slopes[..., 3], want, rtol=1e-5, atol=1e-4)
    assert {"rfft", "irfft"} & seen.primitives


def test_results_do_not_depend_on_neighbours_or_threads():
    x = numbers("f4", 70, 33)
    with watched():
        mapped = lw.vmap(np.fft.fft)
        whole = mapped(x)
        assert_same(np.concatenate([mapped(x[:5]), mapped(x[5:69]), mapped(x[69:])]), whole)


# --- linear algebra -------------------------------------------------------------------------------

FACTORS = {
    "solve": lambda a: np.linalg.solve(a, a[:, :2] + 1),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: tuple(np.linalg.slogdet(a)),
    "cholesky": lambda a: np.linalg.cholesky(a.real + 300 * np.eye(len(a), dtype=a.dtype)),
}
VECTORS = {
    "eigh": lambda a: tuple(np.linalg.eigh(a)),
    "svd": lambda a: tuple(np.linalg.svd(a)),
    "svd ": lambda a: tuple(np.linalg.svd(a[:, :3], full_matrices=False)),
}


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", [*FACTORS, *VECTORS])
def test_matrices_are_lapacks(name, dtype):
    if name in FACTORS:
        x = numbers(dtype, 5, 34, 34)
        assert_called(FACTORS[name], np.swapaxes(x, 1, 2), primitives=name)
    else:
        x = numbers(dtype, 19, 7, 7)
        assert_called(VECTORS[name], x, primitives=name.strip())
    assert_called({**FACTORS, **VECTORS}[name], x[..., ::-1, :], primitives=name.strip())


@pytest.mark.parametrize("name", ["eigvalsh", "svdvals"])
def test_values_of_larger_matrices(name):
    assert_called(getattr(np.linalg, name), numbers("f8", 9, 22, 22), primitives=name)


def test_matrices_in_loops_and_branches():
    def settle(a, steps):
        for _ in range(int(steps)):
            w, v = np.linalg.eigh(a + a.T)
            a = v * w if w[0] < -1 else np.linalg.inv(a)
        return a

    x = numbers("f8", 21, 34, 34)[:, :12, :12]
    assert_called(settle, x, RNG.integers(0, 4, 21), primitives="eigh", examples=0)
    big = numbers("f8", 21, 34, 34)
    assert_called(
        lambda a, n: np.linalg.inv(a) if n > 1 else a, big, np.arange(21) % 3, primitives="inv cond"
    )


def test_what_fails_is_numpys_to_tell():
    x = numbers("f8", 9, 34, 34)
    x[5] = 0
    with watched(), pytest.raises(np.linalg.LinAlgError, match=r"Singular matrix\n  in example 5"):
        lw.vmap(np.linalg.inv)(x)
    with watched(), pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        lw.vmap(np.linalg.cholesky)(x)
    x[5] = np.nan
    assert_called(np.linalg.inv, x, primitives="inv", examples=1)
    y = numbers("f8", 9, 5, 5)
    y[2, 1, 1] = np.nan
    with watched():
        got = lw.vmap(lambda a: a[0, 0] if np.isnan(a).any() else np.linalg.eigh(a)[0][0])(y)
    assert got[2] == y[2, 0, 0]


# --- special functions ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", BATCHES)
def test_functions_of_scipy(count):
    special = scipy.special
    x, y = RNG.uniform(-3, 20, count), RNG.uniform(0.1, 3, (count, 50))
    x[0] = np.nan
    if count > 2:
        x[1:3] = np.inf, -0.0
    assert_called(lambda v: special.jv(1.5, v) * 2, x, primitives="ufunc.jv")
    assert_called(lambda v: special.jv(1.5, v + 2j * v), x, primitives="ufunc.jv")
    assert_called(lambda v, u: special.gammainc(u, abs(v)), x, y, primitives="ufunc.gammainc")
    assert_called(lambda u: special.airy(u), y, primitives="ufunc.airy")
    assert_called(lambda u: special.jv(np.float32(2), u), y.astype("f4"), primitives="ufunc.jv")
    assert_called(lambda u: special.eval_legendre(3, u), y, primitives="ufunc.eval_legendre")
    assert_called(lambda u: special.kv(1, np.outer(u, u[:3])), y, primitives="ufunc.kv")


def test_functions_of_scipy_in_loops_and_branches():
    def rise(v, u):
        total = 0.0
        while total < 3.0 and v < 19:
            total += abs(scipy.special.jv(1.0, v)) + 0.1
            if v > 5:
                total += scipy.special.gammainc(2.0, v + total)
                u = scipy.special.j0(u)
            v += 0.1
        return total, u

    x, y = RNG.uniform(0, 20, 37), RNG.uniform(0.1, 3, (37, 50))
    assert_called(rise, x, y, primitives="ufunc.jv ufunc.gammainc ufunc.j0 while")


def test_errors_of_scipy_are_told():
    mapped, x = (
        lw.vmap(lambda v: scipy.special.jv(1.0, v) + scipy.special.psi(v)),
        np.array([2.0, 0.0]),
    )
    with watched():
        mapped(x)
        with (
            scipy.special.errstate(singular="raise"),
            pytest.raises(scipy.special.SpecialFunctionError, match="singularity"),
        ):
            mapped(x)
        mapped(x)


# --- ufuncs of others -----------------------------------------------------------------------------


def test_ufuncs_of_others_in_loops():
    fn = square_and_one()

    def settle(x, n):
        while n > 0:
            x = fn(x) * 0.5
            n -= 1
            if x > 50:
                x = fn(x * 0) - 50
        return x

    def several(v, n):
        for _ in range(int(n)):
            v = fn(v) * 0.01
        return v

    x, n = numbers("f8", 3000), RNG.integers(0, 4, 3000)
    assert_called(settle, x, n, primitives="ufunc.square_and_one while")
    assert_called(several, numbers("f8", 45, 30), n[:45], primitives="ufunc.square_and_one")
    x[2000], n[2000] = -200, 2
    with watched(), pytest.raises(ValueError, match=r"far too low\n  in example 2000"):
        lw.vmap(settle)(x, n)
    assert fn(1.0) == 2.0  # nothing is left of the error


def test_numpy_calls_ufuncs_of_others_once_for_all():
    fn = square_and_one()
    with watched() as seen:
        got = lw.vmap(lambda x: fn(x + 0.5) * 2)(np.arange(40.0))
    assert_same(got, fn(np.arange(40.0) + 0.5) * 2)
    assert "multiply" in seen.primitives and "ufunc.square_and_one" not in seen.primitives


def test_generalized_ufuncs_in_loops():
    def grown(v, n):
        for _ in range(int(n)):
            v = v * np.vecdot(v, v)
        return v

    v, n = RNG.uniform(-0.3, 0.3, (45, 20)), RNG.integers(0, 4, 45)
    dispatch._cache.clear()
    with watched() as seen:
        got = lw.vmap(grown)(v, n)
    np.testing.assert_allclose(got, loop(grown, v, n), rtol=1e-13)
    assert "gufunc.vecdot" in seen.primitives


# --- calls ---------------------------------------------------------------------------------------


def test_an_axis_of_one_element_stands_for_more():
    placed = library.Placed("%p", 0, 8, (64, 8))
    assert library._lead(placed, (1, 5), (), (5, 5)) == [0, 8]
    assert library._lead(placed, (1, 5), (), (1, 5)) == [64, 8]


def test_broadcast_stacks():
    a, b = numbers("f8", 9, 2, 1, 34, 34), numbers("f8", 9, 3, 34, 2)
    assert_called(lambda p, q: np.linalg.solve(p, q), a, b, primitives="solve")


# --- loops ----------------------------------------------------------------------------------------


def test_loops_are_found_by_their_dtypes():
    double, single = np.dtype(float), np.dtype(np.float32)
    first = ufunc_loops.loop_of(scipy.special.jv, (double,) * 3)
    assert first == ufunc_loops.loop_of(scipy.special.jv, (double,) * 3)
    assert first != ufunc_loops.loop_of(scipy.special.jv, (single,) * 3)
    assert ufunc_loops.loop_of(scipy.special.jv, (np.dtype(int),) * 3) is None
    assert ufunc_loops.loop_of(np.frompyfunc(abs, 1, 1), (np.dtype(object),) * 2) is None
    assert ufunc_loops.loop_of(len, (double,)) is None


def test_others_of_a_name_are_other_loops():
    names = [ufunc_loops._registered("lw.loop.of_a_test", i, 0, np.add) for i in (1, 2, 1)]
    assert names == ["lw.loop.of_a_test", "lw.loop.of_a_test.2", "lw.loop.of_a_test"]


def test_code_that_calls_what_is_not_there_is_refused():
    from lanewise.codegen.llvm import Code

    text = '@"lw.loop.nobodys" = external global [2 x ptr]\ndefine ptr @f() {\n'
    code = Code(text + '  ret ptr @"lw.loop.nobodys"\n}')
    with pytest.raises(LookupError, match="cannot be linked"):
        code.address("f")


def test_what_numpy_has_no_more_is_left_to_it(monkeypatch):
    assert own_gufunc("numpy.fft._pocketfft_umath", "fft", "(n)->(m)", lambda fn: True) is None
    monkeypatch.setattr(fft, "_gufunc", lambda name: None)
    monkeypatch.setattr(lapack, "_gufunc", lambda name: None)
    dispatch._cache.clear()
    x = numbers("f8", 5, 34, 34)
    with watched() as seen:
        got = lw.vmap(lambda a: (np.fft.rfft(a[0] + 0.125), np.linalg.inv(a * 0.5)))(x)
    assert_same(got, (np.fft.rfft(x[:, 0] + 0.125), np.linalg.inv(x * 0.5)))
    assert not {"rfft", "inv"} & seen.primitives


def test_a_result_that_a_library_has_written_is_not_memory_of_others():
    def f(a, i):
        first, second = a[0].copy(), np.zeros(30)
        values = np.linalg.eigvalsh(a)
        np.add.at(first, i, 1.0)
        np.add.at(second, i, 2.0)
        return values, first, second, first + second

    rng = np.random.default_rng(0)
    a, i = rng.normal(size=(30, 30)), rng.integers(0, 30, 50)
    with backend("native"):
        for got, want in zip(lw.function(f)(a + a.T, i), f(a + a.T, i), strict=True):
            np.testing.assert_allclose(got, want, 1e-9, 1e-12)
