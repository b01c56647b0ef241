"""Writes to arguments: a traced function leaves the caller's arrays as the plain one does."""

from __future__ import annotations

import copy
import io
import warnings

import numpy as np
import pytest

import lanewise as lw

X = np.arange(1.0, 7.0)


def running_sum(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]


def plus_one(x):
    x += 1
    return x


def through_views(x):
    part = x[1:3]
    part *= 2
    x.T[0] = 5
    return part


def where_positive(x):
    if x.sum() > 0:
        x[0] = 100
    return x.sum()


def by_out(x):
    np.multiply(x, 3, out=x)
    x.sort()
    x[x > 4] = 0
    np.copyto(x[:1], 9)


def newton_steps(x):
    for row in x:
        while abs(row * row - 2.0).max() > 1e-9:
            row -= (row * row - 2.0) / (2 * row)


class Box:
    def __array__(self, dtype=None, copy=None):
        return X.copy()


FUNCTIONS = [running_sum, plus_one, through_views, where_positive, by_out]
LAYOUTS = {
    "plain": lambda: X.copy(),
    "strided": lambda: np.repeat(X, 2)[::2],
    "backward": lambda: X.copy()[::-1],
    "negative": lambda: -X,
    "single": lambda: X.astype(np.float32),
    "ints": lambda: X.astype(int),
    "swapped": lambda: X.astype(">f8"),
    "field": lambda: np.zeros(6, [("a", "i4"), ("b", "f8")])["b"],
    "empty": lambda: np.zeros(0),
}


def assert_as_plain(func, make, traced=None, calls=3):
    """Assert that results, exceptions and what arguments hold are those of the plain function."""
    traced = traced or lw.function(func)
    for _ in range(calls):
        own, others = make(), make()
        want, got = outcome(func, own), outcome(traced, others)
        assert repr(got) == repr(want)
        assert repr(others) == repr(own)


def outcome(func, args):
    try:
        return func(*args)
    except (ValueError, TypeError, IndexError) as error:
        return type(error), str(error).split("\n")[0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("func", FUNCTIONS)
def test_every_layout_is_written_to(func, layout, backend):
    if layout == "empty" and func is not running_sum and func is not plus_one:
        pytest.skip("raises while it is traced, as it does when called")
    assert_as_plain(func, lambda: (LAYOUTS[layout](),))


@pytest.mark.parametrize("order", ["C", "F"])
def test_two_dimensions(order, backend):
    make = lambda: (np.asarray(X.reshape(2, 3), order=order).copy(order),)  # noqa: E731
    for func in (plus_one, through_views, newton_steps):
        assert_as_plain(func, make)


def test_containers(backend):
    def func(state, pair, *, extra):
        state["x"][0] = pair[1].sum()
        pair[0][...] = state["x"]
        extra[-1] -= 1

    def call(state, pair, extra):
        return func(state, pair, extra=extra)

    traced = lw.function(func)
    assert_as_plain(
        call,
        lambda: ({"x": X.copy(), "y": X.copy()}, (X.copy(), X + 1), X.copy()),
        lambda state, pair, extra: traced(state, pair, extra=extra),
    )


def scaled(out, a, b):
    out[:] = a * 2
    out[1:] += b[:-1]
    return b.sum()


OVERLAPS = {
    "none": lambda x: (x[:2], x[2:4], x[4:]),
    "same": lambda x: (x, x, x),
    "shifted": lambda x: (x[1:], x[:-1], x[:-1]),
    "reversed": lambda x: (x, x[::-1], x.copy()),
    "interleaved": lambda x: (x[::2], x[1::2], x[1::2]),
    "read twice": lambda x: (x[:3], x[3:], x[3:]),
}


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_arguments_that_overlap(overlap, backend):
    traced = lw.function(scaled)
    for first in ("none", overlap):
        for _ in range(3):
            own, other = X.copy(), X.copy()
            want = scaled(*OVERLAPS[first](own))
            assert traced(*OVERLAPS[first](other)) == want
            np.testing.assert_array_equal(other, own)


def test_an_array_that_overlaps_with_itself(backend):
    def func(w):
        w[0] = 10
        w[1] += 1
        return w.sum()

    def make():
        windows = np.lib.stride_tricks.sliding_window_view(X.copy(), 3, writeable=True)
        return (windows,)

    assert_as_plain(func, make)


@pytest.mark.parametrize("func", [running_sum, plus_one, where_positive])
@pytest.mark.parametrize("sign", [1, -1])
def test_read_only_arrays_raise_where_they_are_written(func, sign, backend):
    def make():
        x = sign * X
        x.flags.writeable = False
        return (x,)

    assert_as_plain(func, make)


def test_memory_mapped_files(tmp_path, backend):
    path = tmp_path / "x.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r+")
    lw.function(running_sum)(mapped)
    mapped.flush()
    np.testing.assert_array_equal(np.load(path), np.cumsum(X))


@pytest.mark.parametrize("kind", [np.array, np.float64])
def test_without_dimensions_an_array_is_written_and_a_scalar_rebound(kind, backend):
    def augmented(a):
        b = a
        b -= 3
        return a * 2, b + 0

    def assigned(a):
        a[...] = a + 1

    for func in (augmented, assigned):
        assert_as_plain(func, lambda: (kind(2.0),))


def test_scalars_and_arrays_have_traces_of_their_own_where_that_matters(backend):
    def augmented(a):
        a += 1
        return a * 1

    def pure(a):
        return a + 1

    traced = lw.function(augmented)
    for x in (np.float64(2), np.array(2.0), np.float64(2), np.array(2.0)):
        assert traced(x) == 3
        assert x == (3 if isinstance(x, np.ndarray) else 2)
    assert traced.experimental_get_tracing_count() == 2
    traced = lw.function(pure)
    assert traced(np.float64(2)) == traced(np.array(2.0)) == 3
    assert traced.experimental_get_tracing_count() == 1


def test_a_call_that_raises_has_written_nothing(backend):
    def func(x):
        x[0] = -1
        if x[1] > 1:
            raise ValueError("too large")
        x[2] = -1

    traced = lw.function(func)
    x = np.array([0.0, 1.0, 2.0])
    traced(x)
    np.testing.assert_array_equal(x, [-1, 1, -1])
    x = np.array([0.0, 5.0, 2.0])
    with pytest.raises(ValueError, match="too large"):
        traced(x)
    np.testing.assert_array_equal(x, [0, 5, 2])


def test_what_was_written_to_and_is_returned_is_the_callers(backend):
    traced = lw.function(lambda a, b: (plus_one(a), a, b, a[1:]))
    a, b = X.copy(), X.copy()
    first, again, other, part = traced(a, b)
    assert first is a
    assert again is a
    assert not np.shares_memory(other, b)
    assert not np.shares_memory(part, a)


def test_variables_and_arguments(backend):
    count = lw.Variable(0.0)

    @lw.function
    def func(x):
        x += count
        count.assign_add(1.0)
        lw.print("now", x.sum())
        return count * 1

    x = np.zeros(2)
    assert [float(func(x)) for _ in range(3)] == [1, 2, 3]
    np.testing.assert_array_equal(x, [3, 3])


def test_any_size(backend):
    for traced in (
        lw.function(running_sum, reduce_retracing=True),
        lw.function(running_sum, input_signature=[lw.TensorSpec([None])]),
    ):
        for n in (3, 4, 5, 6, 20):
            assert_as_plain(running_sum, lambda n=n: (np.arange(float(n)),), traced, calls=1)


def test_a_signature_that_converts():
    traced = lw.function(plus_one, input_signature=[lw.TensorSpec([None])])
    for x in (np.arange(3), [1.0, 2.0]):
        with pytest.raises(TypeError, match="x is written to, but was converted to float64"):
            traced(x)
    with pytest.raises(TypeError, match="x is written to, but was converted to float64"):
        lw.function(lambda x: traced(x))(np.arange(3))


def test_concrete_and_loaded_functions(backend):
    concrete = lw.function(scaled).get_concrete_function(*[lw.TensorSpec(["n"])] * 3)
    file = io.BytesIO()
    lw.save(concrete, file)
    for func in (concrete, lw.load(io.BytesIO(file.getvalue()))):
        assert_as_plain(scaled, lambda: (X.copy(), X.copy(), X + 1), func)
        x, y, frozen = X.copy(), X.copy(), X.copy()
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="writes to its argument out, which overlaps with b"):
            func(x, y, x)
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            func(frozen, y, y)
        with pytest.raises(ValueError, match="out, which has to be an array of NumPy's, not a Box"):
            func(Box(), y, y)
    file = io.BytesIO()
    lw.save(lw.function(plus_one).get_concrete_function(X), file)
    x = X.copy()
    assert lw.load(io.BytesIO(file.getvalue()))(x) is x
    np.testing.assert_array_equal(x, X + 1)


def test_within_other_traces(backend):
    traced = lw.function(plus_one)
    concrete = traced.get_concrete_function(X)

    def outer(x):
        traced(x)
        concrete(x)
        return x.sum()

    x = X.copy()
    assert lw.function(outer)(x) == X.sum() + 12
    np.testing.assert_array_equal(x, X + 2)
    rows = np.stack([X, X])
    np.testing.assert_array_equal(lw.vmap(outer)(rows), [X.sum() + 12] * 2)
    np.testing.assert_array_equal(rows, [X, X])


def test_a_concrete_function_refuses_views_of_one_tensor():
    concrete = lw.function(scaled).get_concrete_function(X[:3], X[:3], X[:3])
    with pytest.raises(lw.UnsupportedError, match="shares memory with another"):
        lw.function(lambda x: concrete(x[:3], x[1:4], x[3:]))(X)


def test_maps_and_derivatives_leave_arrays_alone(backend):
    rows, x = np.stack([X, X]), X.copy()
    for func in (lw.vmap(plus_one), lw.function(lw.vmap(plus_one))):
        np.testing.assert_array_equal(func(rows), rows + 1)
    traced = lw.function(plus_one)
    lw.grad(lambda x: (traced(x) ** 2).sum())(x)
    lw.vjp(traced, x)
    lw.jvp(traced, (x,), (x,))
    lw.function(lw.grad(lambda x: (plus_one(x) ** 2).sum()))(x)
    np.testing.assert_array_equal(rows, [X, X])
    np.testing.assert_array_equal(x, X)


def test_mapped_functions_whose_writes_are_lost():
    def double(x, out):
        for i in range(3):
            out[i] = x[i] * 2

    with pytest.warns(lw.LostWriteWarning, match=r"out is written to \(.*out\[i\] = x\[i\] \* 2"):
        lw.vmap(double)(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.warns(lw.LostWriteWarning, match=r"elems\[0\] is written to"):
        lw.map_fn(lambda pair: double(pair[1], pair[0]), (np.ones((2, 3)), np.ones((2, 3))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.vmap(lambda x: None)(np.ones((2, 3)))
        lw.vmap(lambda x: double(x, np.zeros(3)))(np.ones((2, 3)))


def test_a_captured_array_among_the_arguments(backend):
    weights = np.array([1.0, 2.0])

    def func(x):
        x[0] = 10
        return x * weights

    traced = lw.function(func)
    np.testing.assert_array_equal(traced(np.ones(2)), [10, 2])
    np.testing.assert_array_equal(traced(weights), [100, 4])
    np.testing.assert_array_equal(weights, [10, 2])


def test_steady_calls_are_not_traced_again_and_keep_nothing(backend):
    traced = lw.function(running_sum)
    for _ in range(5):
        x = X.copy()
        traced(x)
        np.testing.assert_array_equal(x, np.cumsum(X))
    assert traced.experimental_get_tracing_count() == 1
    again = copy.copy(X)
    traced(x=again)
    np.testing.assert_array_equal(again, np.cumsum(X))
