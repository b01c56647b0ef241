"""What makes days easier: the plain loop, tracebacks, names from elsewhere, versions and caches."""

from __future__ import annotations

import inspect
import re
import traceback
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.special
import scipy.stats

import lanewise as lw
from support.oracle import assert_same

XS = np.array([1.0, -2.0, 3.0])


def both_ways(x):
    return x * 2 if x > 0 else -x


# --- the plain loop -------------------------------------------------------------------------------


def test_the_plain_loop_runs_the_function_on_each_example():
    seen: list[Any] = []

    def func(x):
        seen.append(x)
        return both_ways(x)

    found = lw.vmap(func, plain=True)(XS)
    np.testing.assert_array_equal(found, lw.vmap(both_ways)(XS))
    assert [type(x) for x in seen] == [np.float64] * 3
    assert found.flags.writeable


@pytest.mark.parametrize(
    ("options", "args"),
    [
        ({}, (np.ones((2, 3, 4)), np.ones((2, 4)))),
        ({"in_dims": (1, None)}, (np.ones((2, 3, 4)), np.ones(4))),
        (
            {"in_dims": 0, "out_dims": {"sum": 1, "rows": (1, 0)}},
            (np.ones((2, 3, 4)), np.ones((2, 4))),
        ),
        ({"in_dims": (-1, 1), "out_dims": -1}, (np.ones((3, 4, 2)), np.ones((4, 2)))),
        ({"in_dims": (None, None), "axis_size": 3}, (np.ones((3, 4)), np.ones(4))),
    ],
)
def test_the_plain_loop_takes_the_same_dimensions(options, args):
    def func(a, b):
        return {"sum": a @ b, "rows": (a * b, 3)}

    plain, mapped = lw.vmap(func, plain=True, **options)(*args), lw.vmap(func, **options)(*args)
    assert plain.keys() == mapped.keys()
    for one, other in ((plain["sum"], mapped["sum"]), *zip(plain["rows"], mapped["rows"])):  # noqa: B905
        np.testing.assert_array_equal(one, other)
        assert one.shape == other.shape
        assert one.dtype == other.dtype


def test_examples_of_the_plain_loop_are_copies():
    def func(x):
        x[0] = 5.0
        return x

    xs = np.zeros((2, 2))
    lw.vmap(func, plain=True)(xs)
    assert not xs.any()


@pytest.mark.parametrize("changes", ["dtype", "shape", "order", "nothing"])
def test_large_results_of_the_plain_loop(changes):
    """They are put into one array as they come, while all are of one kind."""
    kept = np.arange(700.0)

    def func(x):
        row = kept[:600] * x
        if x > 2 and changes != "nothing":
            row = {"dtype": row.astype("f4"), "shape": row[:599], "order": row.astype(">f8")}[
                changes
            ]
        return row, x, np.asfortranarray(np.outer(row, row[:2]))

    xs = np.arange(5.0)
    if changes == "shape":
        with pytest.raises(ValueError, match="same shape"):
            lw.vmap(func, plain=True)(xs)
        return
    found = lw.vmap(func, plain=True)(xs)
    rows = [func(x) for x in xs]
    assert_same(found, tuple([np.stack(column) for column in zip(*rows, strict=True)]))
    moved = lw.vmap(func, out_dims=(-1, 0, 1), plain=True)(xs)
    assert_same(moved[0], found[0].T)
    assert_same(moved[2], np.moveaxis(found[2], 0, 1))


def test_large_results_that_are_one_array_or_none():
    row = np.arange(600.0)
    found = lw.vmap(lambda x: (row, x), out_dims=(None, 0), plain=True)(np.arange(3.0))
    assert_same(found[0], row)
    assert not np.shares_memory(found[0], row)
    assert_same(lw.vmap(lambda x: row, plain=True)(np.zeros((2, 1))), np.stack([row, row]))


def test_read_only_results_that_differ_are_not_one():
    def func(x):
        return np.broadcast_to(x, (3,))

    with pytest.raises(ValueError, match="differs from example to example"):
        lw.vmap(func, out_dims=None, plain=True)(np.arange(3.0))
    assert_same(lw.vmap(func, out_dims=None, plain=True)(np.ones(3)), np.ones(3))


@pytest.mark.parametrize("size", [3, 2000])  # also of small results
def test_results_that_somebody_else_has_are_what_they_are_in_the_end(size):
    """As in ``np.stack([f(x) for x in xs])``: one array in all places has what was written last."""
    buffer, known = np.zeros(size), {}

    def filled(x):
        buffer[:] = x
        return buffer

    def part(x):
        buffer[:] = x
        return buffer[1:], x

    def looked_up(x):
        if x not in known:
            known[x] = np.full(size, x)
        elif x == 1:
            known[0.0][:] = 7
        return known[x]

    def replaced(x):
        last = known.get(0)
        if last is not None:
            last[:] = -1
        known[0] = np.full(size, x)
        del last
        return known[0]

    def own(x):
        return np.full(size, x), buffer.copy()

    xs = np.array([0.0, 1.0, 1.0, 2.0])
    for func in (filled, part, looked_up, replaced, own):
        known.clear()
        rows = [func(x) for x in xs]
        wanted = tuple(map(np.stack, zip(*rows, strict=True))) if func in (part, own) else rows
        wanted = wanted if isinstance(wanted, tuple) else np.stack(wanted)
        known.clear()
        assert_same(lw.vmap(func, plain=True)(xs), wanted)


def test_a_large_result_that_is_one_for_all_is_kept_once():
    row = np.zeros(100_000)
    tracemalloc.start()
    try:
        found = lw.vmap(lambda x: row, out_dims=None, plain=True)(np.arange(50.0))
        assert tracemalloc.get_traced_memory()[1] < 3 * row.nbytes
    finally:
        tracemalloc.stop()
    assert_same(found, row)


def test_maps_within_the_plain_loop_are_plain():
    def inner(y):
        assert isinstance(y, np.float64)
        return y + 1

    found = lw.vmap(lambda row: lw.vmap(inner)(row).sum(), plain=True)(np.ones((2, 3)))
    np.testing.assert_array_equal(found, [6.0, 6.0])


def test_an_error_in_the_plain_loop_is_pythons_own_and_names_the_example():
    def func(x):
        return 1 / int(x)

    with pytest.raises(ZeroDivisionError, match="in example 1"):
        lw.vmap(func, plain=True)(np.array([1.0, 0.0]))


def test_the_plain_loop_within_a_trace_is_refused():
    with pytest.raises(lw.UnsupportedError, match="outermost vmap"):
        lw.function(lambda x: lw.vmap(both_ways, plain=True)(x))(XS)


def test_the_environment_turns_all_off(monkeypatch):
    monkeypatch.setenv("LANEWISE_DISABLE", "1")
    kinds: list[type] = []

    def func(x):
        kinds.append(type(x))
        return both_ways(x)

    wanted = [2.0, 2.0, 6.0]
    for found in (
        lw.vmap(func)(XS),
        lw.vectorize(func)(XS),
        lw.map_fn(func, XS),
        lw.vectorized_map(lambda e: func(e["x"]), {"x": XS}),
        lw.function(lw.vmap(func))(XS),
        lw.vectorize(func, otypes="f")(XS),
    ):
        np.testing.assert_array_equal(found, wanted)
    assert set(kinds) == {np.float64}
    assert lw.function(lambda x: type(x).__name__)(XS) == "ndarray"


# --- tracebacks -----------------------------------------------------------------------------------


def raises(x):
    return x + np.ones(7)


CALLS = {
    "vmap": lambda: lw.vmap(raises)(np.ones((2, 3))),
    "function": lambda: lw.function(raises)(np.ones(3)),
    "grad": lambda: lw.grad(lambda x: raises(x).sum())(np.ones(3)),
    "map_fn": lambda: lw.map_fn(raises, np.ones((2, 3))),
    "vectorize": lambda: lw.vectorize(raises, signature="(n)->(n)")(np.ones((2, 3))),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_traceback_shows_the_users_frames(call, monkeypatch):
    def frames() -> list[traceback.FrameSummary]:
        with pytest.raises(ValueError, match="broadcast") as caught:
            call()
        return traceback.extract_tb(caught.value.__traceback__)

    monkeypatch.setenv("LANEWISE_TRACEBACK", "")
    shown = frames()
    assert shown[-1].name == "raises"
    ours = [frame for frame in shown if frame.filename != __file__]
    assert len(ours) <= 2, ours  # the call itself, which pytest and IPython hide
    monkeypatch.setenv("LANEWISE_TRACEBACK", "full")
    assert len(frames()) > len(shown) + 2


def test_the_frame_of_the_call_is_hidden():
    for call in (lw.vmap(raises), lw.function(raises), lw.grad(raises)):
        assert "__tracebackhide__" in type(call).__call__.__code__.co_varnames


# --- names from elsewhere -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name", "told"),
    [
        (lw.vmap, "in_axes", "in_dims="),
        (lw.vmap, "out_axes", "out_dims="),
        (lw.vmap, "axis_name", "reduce them outside"),
        (lw.function, "static_argnums", "constants of a trace already"),
        (lw.function, "nopython", "experimental_compile=True"),
        (lw.grad, "argnum", "argnums="),
        (lw.hessian, "holomorphic", "no flag"),
    ],
)
def test_arguments_known_from_elsewhere(make, name, told):
    with pytest.raises(TypeError, match=rf"{make.__name__} has no argument '{name}'.*{told}"):
        make(both_ways, **{name: 0})


@pytest.mark.parametrize("name", ["jit", "pmap", "map", "lax", "numpy", "remat", "prange"])
def test_names_known_from_elsewhere(name):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. What it is elsewhere is "):
        getattr(lw, name)


def test_other_names_are_missing_as_ever():
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = lw.nothing
    assert not hasattr(lw, "__path_of_something__")


def test_the_package_lists_its_public_names():
    assert set(dir(lw)) == {*lw.__all__, "__version__"}
    assert inspect.signature(lw.vmap).parameters["in_dims"].default == 0


# --- messages -------------------------------------------------------------------------------------


def test_a_forgotten_none_is_told():
    with pytest.raises(ValueError, match=r"all of args\[1\], write in_dims=\(0, None\)"):
        lw.vmap(lambda x, w: x @ w)(np.ones((5, 3)), np.ones(3))
    with pytest.raises(ValueError, match=r"all of args\[1\], write in_dims=\(0, None, 0\)"):
        lw.vmap(lambda x, n, y: x * n + y)(np.ones(5), 2.0, np.ones(5))
    with pytest.raises(ValueError, match=r"all of args\[1\]\['w'\], its entry in in_dims is None"):
        lw.vmap(lambda x, p: x @ p["w"])(np.ones((5, 3)), {"w": np.ones(3)})


ROWS = np.random.default_rng(0).random((3, 6)) + 0.1
PLACES = np.arange(6.0)
MATRICES = np.eye(3) + ROWS[:, :3, None] * ROWS[:, None, :3]


def area(x):
    return scipy.integrate.quad(lambda z: z * x, 0, 1)[0]


def area_with_args(x):
    return scipy.integrate.quad(lambda z, k: z * k, 0, 1, args=(x,))[0]


def area_unpacked(x):
    value, error = scipy.integrate.quad(lambda z: z * x, 0, 1)
    return value, error


def slope(row):
    return scipy.stats.linregress(row, row).slope


def smooth(row):
    return scipy.ndimage.gaussian_filter(row, 1.0)


def nearest(row):
    return scipy.optimize.minimize(lambda p: ((p - row) ** 2).sum(), np.zeros(6)).x


def least(row):
    found = scipy.optimize.minimize(
        lambda p: ((p - row) ** 2).sum(),
        row,
        method="Nelder-Mead",
    )
    return found.fun


def root(row):
    return scipy.optimize.least_squares(lambda p: p - row, np.zeros(6)).x


def between(row):
    return scipy.interpolate.interp1d(PLACES, row)(2.5)


def between_later(row):
    curve = scipy.interpolate.CubicSpline(PLACES, row)
    return curve(2.5)


def density(row):
    return scipy.stats.norm.pdf(row, loc=0.5)


def frozen(row):
    return scipy.stats.norm(0, 1).cdf(row)


def log_sum(row):
    return scipy.special.logsumexp(row)


def factored(m):
    return scipy.linalg.cholesky(m, lower=True)


def determinant(m):
    return scipy.linalg.det(m)


def of_a_model(model):
    return scipy.special.softmax(model["w"])


@pytest.mark.parametrize(
    ("func", "xs"),
    [
        (area, XS),
        (area_with_args, XS),
        (slope, ROWS),
        (smooth, ROWS),
        (nearest, ROWS),
        (least, ROWS),
        (root, ROWS),
        (between, ROWS),
        (between_later, ROWS),
        (density, ROWS),
        (frozen, ROWS),
        (log_sum, ROWS),
        (factored, MATRICES),
        (determinant, MATRICES),
        (area_unpacked, XS),
        (of_a_model, {"w": ROWS}),
    ],
)
def test_a_function_of_scipy_is_named_with_the_line_that_works(func, xs):
    with pytest.raises(lw.ConcretizationError, match=r"^scipy\..*\(\) computes with") as caught:
        lw.vmap(func)(xs)
    (line,) = re.findall(r"Write (lw\.py_func\(.*\))(?:, with|$)", str(caught.value))
    name = func.__code__.co_varnames[0]
    found = lw.vmap(eval(f"lambda {name}: {line}", globals()))(xs)
    examples = [{"w": row} for row in xs["w"]] if isinstance(xs, dict) else xs
    expected = [func(x) for x in examples]
    if func is area_unpacked:
        expected, found = np.array(expected), np.stack(found, axis=1)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_function_that_reads_traced_values_where_it_stands_is_named():
    def outer(x):
        def integrand(z):
            return z * x

        return scipy.integrate.quad(integrand, 0, 1)[0]

    told = r"integrand reads x, which is traced: write a function of \(x\) that defines integrand"
    with pytest.raises(lw.ConcretizationError, match=told):
        lw.vmap(outer)(XS)


def test_an_error_of_scipys_own_stays():
    def short(row):
        return scipy.interpolate.interp1d(PLACES[:2], row[:3])(0.5)

    with pytest.raises(ValueError, match="x and y arrays must be equal in length"):
        lw.vmap(lambda row: short(np.ones(6)) + row)(ROWS)


def test_what_py_func_should_announce_is_told():
    with pytest.raises(TypeError, match=r"announce lw\.TensorSpec\(\(2,\), 'int64'\)"):
        lw.vmap(lambda row: lw.py_func(lambda r: np.array([1, 2]), [row], float))(ROWS)


def test_a_seed_that_is_data_is_named():
    with pytest.raises(lw.UnsupportedError, match=r"default_rng\(\) takes a seed that is data"):
        lw.vmap(lambda x: np.random.default_rng(int(x)).normal())(np.array([1.0, 2.0]))


def test_a_text_that_is_returned_is_a_str():
    with pytest.raises(ValueError, match="of type str"):
        lw.vmap(lambda x: f"{x}")(XS)


# --- versions and caches --------------------------------------------------------------------------


def test_versions(capsys, monkeypatch):
    monkeypatch.setenv("LANEWISE_NUM_THREADS", "2")
    assert lw.show_versions() is None
    text = capsys.readouterr().out
    for part in ("lanewise", np.__version__, "llvmlite", "python", "LANEWISE_NUM_THREADS 2"):
        assert part in text


def test_the_cache_is_told_of_and_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("LANEWISE_CACHE", str(tmp_path))
    lw.clear_cache()
    assert lw.cache_info() == {
        "folder": str(tmp_path), "entries": 0, "bytes": 0, "in_memory": 0,
    }  # fmt: skip
    other = tmp_path / "a" / "notes.txt"
    other.parent.mkdir()
    other.write_text("not ours")
    compiled = lw.function(lambda x: np.sin(x) * 2.125, experimental_compile=True)
    compiled(np.ones(5))
    lw.vmap(both_ways)(XS)
    info = lw.cache_info()
    assert info["entries"] > 0
    assert info["bytes"] > 0
    assert info["in_memory"] > 0
    lw.clear_cache()
    assert lw.cache_info()["entries"] == lw.cache_info()["in_memory"] == 0
    assert other.exists()
    with warnings.catch_warnings():
        np.testing.assert_array_equal(lw.vmap(both_ways)(XS), [2.0, 2.0, 6.0])


def test_vmap_with_options_decorates():
    @lw.vmap(in_dims=1, out_dims=1)
    def doubled(x):
        return 2 * x.sum() + x

    xs = np.arange(6.0).reshape(2, 3)
    expected = np.stack([2 * x.sum() + x for x in xs.T], axis=1)
    np.testing.assert_array_equal(doubled(xs), expected)
    assert lw.vmap()(np.sin)(xs).shape == xs.shape
    with pytest.raises(TypeError, match="vmap takes a function, not int"):
        lw.vmap(in_dims=1)(3)
