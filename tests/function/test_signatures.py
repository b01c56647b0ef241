"""input_signature, sizes that are not known, and concrete functions."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import lanewise as lw

SPEC = lw.TensorSpec
X = np.arange(6.0)
Pair = namedtuple("Pair", "a b")


def test_one_trace_for_any_size(backend):
    f = lw.function(lambda x: x * 2 + x.sum(), input_signature=[SPEC([None], np.float32)])
    for n in (0, 1, 5, 1000):
        x = np.arange(n, dtype=np.float32)
        got = f(x)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, x * 2 + x.sum(), 1e-5)
    assert f.experimental_get_tracing_count() == 1


def test_one_trace_and_one_kernel_for_any_batch(backend):
    def row(x):
        while abs(x[0]) > 0.1:
            x = x / 2
        return x.sum()

    f = lw.function(lw.vmap(row), input_signature=[SPEC([None, 3])])
    for n in (0, 1, 7, 100):
        x = np.random.default_rng(n).normal(size=(n, 3))
        np.testing.assert_allclose(f(x), [row(r) for r in x], 1e-13)
    assert f.experimental_get_tracing_count() == 1


def test_arguments_are_converted_where_that_is_safe(backend):
    f = lw.function(lambda x: x + 1, input_signature=[SPEC([None], np.float32)])
    for x in ([1, 2], (1.5, 2), np.array([1, 2]), np.array([1.0, 2.0]), np.array([True, False])):
        assert f(x).dtype == np.float32
        np.testing.assert_array_equal(f(x), np.asarray(x, np.float32) + 1)
    with pytest.raises(TypeError, match="x has dtype complex128, which does not convert"):
        f(np.ones(2, complex))
    g = lw.function(lambda n: n * 2, input_signature=[SPEC([], np.int8)])
    assert g(3) == 6 and g(np.array(5)).dtype == np.int8
    with pytest.raises(TypeError, match="n has dtype float64"):
        g(1.5)
    with pytest.raises(OverflowError):
        g(300)
    assert f.experimental_get_tracing_count() == 1


def test_what_does_not_fit_is_refused_by_name():
    f = lw.function(lambda x, y: x, input_signature=[SPEC([None, 2]), SPEC(["n", "n"])])
    square = np.ones((3, 3))
    f(np.ones((4, 2)), square)
    with pytest.raises(ValueError, match=r"x has 1 dimension \(shape \(2,\)\), but its spec has 2"):
        f(np.ones(2), square)
    with pytest.raises(ValueError, match=r"x has size 3 along axis 1 .*its spec says 2"):
        f(np.ones((4, 3)), square)
    with pytest.raises(ValueError, match=r"y has size 4 along axis 1, but 'n' is 3"):
        f(np.ones((4, 2)), np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"input_signature\[0\]"):
        lw.function(lambda d: d["a"], input_signature=[{"a": SPEC([2])}])({"b": np.ones(2)})
    with pytest.raises(TypeError, match="extra"):
        f(np.ones((4, 2)), square, extra=1)
    assert f.experimental_get_tracing_count() == 1


def test_sizes_of_one_name_are_the_same(backend):
    specs = [SPEC(["n", "m"]), SPEC(["m", 3]), SPEC(["n"])]
    f = lw.function(lambda a, b, c: a @ b + c[:, None], input_signature=specs)
    for n, m in [(2, 4), (5, 1), (1, 1), (0, 3)]:
        a, b, c = np.ones((n, m)), np.ones((m, 3)), np.arange(n) * 1.0
        np.testing.assert_allclose(f(a, b, c), a @ b + c[:, None])
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match="'m' is 4"):
        f(np.ones((2, 4)), np.ones((5, 3)), np.ones(2))


def test_a_hint_where_unknown_sizes_must_be_the_same():
    f = lw.function(lw.vmap(np.add), input_signature=[SPEC([None]), SPEC([None])])
    with pytest.raises(ValueError, match=r"give them one name: lw\.TensorSpec"):
        f(X, X)


def test_any_number_of_dimensions(backend):
    f = lw.function(lambda x: x * 2, input_signature=[SPEC(None, np.float32)])
    for shape in ((), (3,), (2, 2), (4,), (1, 2, 3)):
        np.testing.assert_array_equal(f(np.ones(shape)), np.full(shape, 2.0))
    assert f.experimental_get_tracing_count() == 4  # one for each number
    with pytest.raises(ValueError, match="one number of dimensions"):
        f.get_concrete_function()
    matrices = f.get_concrete_function(SPEC([None, 3], np.float32))
    np.testing.assert_array_equal(matrices(np.ones((2, 3), np.float32)), np.full((2, 3), 2.0))
    assert f.get_concrete_function(SPEC([None, 3], np.float32)) is matrices


def test_structures_defaults_and_methods(backend):
    @lw.function(input_signature=[{"p": (SPEC([None]), SPEC([]))}])
    def f(d, scale=3):
        return d["p"][0] * d["p"][1] * scale

    np.testing.assert_array_equal(f({"p": (X, 2)}), X * 6)
    np.testing.assert_array_equal(f(d={"p": ([1.0, 2.0], 2)}), [6, 12])
    with pytest.raises(TypeError, match="scale is not in its input_signature"):
        f({"p": (X, 2)}, 4)

    class Model:
        @lw.function(input_signature=(SPEC([None]),))
        def call(self, x):
            return x + 1

    model = Model()
    np.testing.assert_array_equal(model.call(X), X + 1)
    np.testing.assert_array_equal(model.call(X[:2]), X[:2] + 1)
    assert model.call.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("wrong", [np.float32, SPEC([2]), 3, [np.float32], [SPEC([2]), None, 4]])
def test_what_is_no_signature(wrong):
    with pytest.raises(TypeError, match="input_signature"):
        lw.function(lambda x: x, input_signature=wrong)


def test_signatures_that_do_not_fit_the_function():
    cases = [
        (lambda x, **rest: x, "kwargs"),
        (lambda x, *, name: x, "name"),
        (lambda x, y: x, "y"),
        (lambda: 0, "1 entries for 0 parameters"),
    ]
    for func, told in cases:
        with pytest.raises(TypeError, match=told):
            lw.function(func, input_signature=[SPEC([2])])(np.ones(2))


def test_within_a_trace_tensors_are_converted_and_checked(backend):
    inner = lw.function(lambda x: x * 2, input_signature=[SPEC([3], np.float32)])
    got = lw.vmap(inner)(np.ones((4, 3), np.int16))
    assert got.dtype == np.float32 and got.shape == (4, 3)
    with pytest.raises(ValueError, match="its spec says 3"):
        lw.vmap(inner)(np.ones((4, 2), np.float32))


# --- sizes that vary -----------------------------------------------------------------------------


def test_reduce_retracing(backend):
    for name in ("reduce_retracing", "experimental_relax_shapes"):
        f = lw.function(lambda x, w: x * 2 + w[:3].sum(), **{name: True})
        for n in range(1, 12):
            np.testing.assert_array_equal(f(np.ones(n), np.ones(3)), np.full(n, 5.0))
        assert f.experimental_get_tracing_count() == 3  # 1, 2, and all others


def test_sizes_that_vary_together_are_the_same(backend):
    f = lw.function(lambda x, y: x + y, reduce_retracing=True)
    for n in range(2, 9):
        np.testing.assert_array_equal(f(np.ones(n), np.ones(n)), np.full(n, 2.0))
    assert f.experimental_get_tracing_count() == 2
    np.testing.assert_array_equal(f(np.ones(5), np.ones(1)), np.full(5, 2.0))
    np.testing.assert_array_equal(f(np.ones(5), np.ones(5)), np.full(5, 2.0))


def test_a_function_that_needs_its_sizes_is_traced_for_each(backend):
    f = lw.function(lambda x: sum(list(x)), reduce_retracing=True)
    for n in range(2, 6):
        assert f(np.ones(n)) == n
    assert f.experimental_get_tracing_count() == 4


# --- concrete functions --------------------------------------------------------------------------


def test_concrete_functions(backend):
    f = lw.function(lambda x, k=2: {"y": x * k, "n": k})
    concrete = f.get_concrete_function(SPEC([None, 2]))
    assert f.get_concrete_function(SPEC([None, 2])) is concrete
    np.testing.assert_array_equal(concrete(np.ones((3, 2)))["y"], np.full((3, 2), 2.0))
    np.testing.assert_array_equal(concrete(x=np.ones((1, 2)), k=2)["y"], np.full((1, 2), 2.0))
    with pytest.raises(ValueError, match=r"x is float64\[3,3\], but this trace is for"):
        concrete(np.ones((3, 3)))
    with pytest.raises(TypeError, match=r"x is float32\[3,2\]"):
        concrete(np.ones((3, 2), np.float32))
    with pytest.raises(TypeError, match="k is 3, but this trace is for 2"):
        concrete(np.ones((3, 2)), 3)
    with pytest.raises(TypeError, match="another structure"):
        concrete([np.ones((3, 2))])
    f(np.ones((9, 2)))  # runs that trace
    assert f.experimental_get_tracing_count() == 1


def test_what_a_concrete_function_tells():
    w = np.ones(3)
    f = lw.function(lambda x, *, mode, pair: Pair(x.sum() + w, pair[1]))
    concrete = f.get_concrete_function(SPEC(["n", 3]), mode="fast", pair=(np.float32(1), 4))
    args, kwargs = concrete.structured_input_signature
    assert args == (SPEC(["n", 3], name="x"),)
    assert kwargs == {"mode": "fast", "pair": (SPEC([], np.float32, "pair[0]"), 4)}
    assert concrete.structured_outputs == Pair(SPEC([3]), 4)
    (captured,) = concrete.captured_inputs
    np.testing.assert_array_equal(captured, w)
    assert concrete.variables == () and len(concrete.graph.inputs) == 3
    assert str(concrete) == (
        "<lambda>(x: float64[n,3], mode='fast', pair: (float32[], 4)) -> Pair(a=float64[3], b=4)"
    )
    assert (
        f.get_concrete_function(np.ones((2, 3)), mode="fast", pair=(np.float32(1), 4)) is not None
    )


def test_arrays_and_specs_of_known_size_are_the_same_trace():
    f = lw.function(lambda x: x + 1)
    assert f.get_concrete_function(SPEC([3])) is f.get_concrete_function(np.ones(3))
    f(np.zeros(3))
    assert f.experimental_get_tracing_count() == 1


def test_concrete_functions_of_a_signature():
    f = lw.function(lambda x: x + 1, input_signature=[SPEC([None])])
    concrete = f.get_concrete_function()
    assert f.get_concrete_function(SPEC([None])) is concrete
    np.testing.assert_array_equal(concrete(np.ones(3)), np.full(3, 2.0))
    f(np.ones(4))
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="its input_signature says"):
        f.get_concrete_function(SPEC([None], np.float32))


def test_sizes_that_must_be_the_same_in_a_concrete_function():
    concrete = lw.function(lambda x, y: x + y).get_concrete_function(SPEC(["n"]), SPEC(["n"]))
    np.testing.assert_array_equal(concrete(np.ones(2), np.ones(2)), [2, 2])
    with pytest.raises(ValueError, match="sizes that must be the same differ"):
        concrete(np.ones(2), np.ones(3))


def test_specs():
    assert SPEC([None, "n", 3]).shape == (None, "n", 3) and SPEC(None).shape is None
    assert SPEC([2, 3]).is_known and not SPEC([None]).is_known and not SPEC(None).is_known
    assert SPEC([2]) == SPEC((2,)) and hash(SPEC([2])) == hash(SPEC((2,)))
    with pytest.raises(ValueError, match="negative"):
        SPEC([-1])
    with pytest.raises(ValueError, match="Python name"):
        SPEC(["2n"])
    with pytest.raises(TypeError, match="list of sizes"):
        SPEC("n")
    with pytest.raises(ValueError, match="known shape"):
        lw.py_func(len, [X], SPEC([None]))


@pytest.mark.parametrize(
    "func",
    [
        lambda x: x.mean(0),
        lambda x: np.mean(x),
        lambda x: x.std(axis=1, ddof=1),
        lambda x: np.var(x, axis=0, keepdims=True),
        lambda x: x - x.mean(),
        lambda x: np.sort(x, axis=0)[0],
        lambda x: x.reshape(-1).sum() + np.concatenate([x, x]).max(),
        lambda x: np.where(x > 0, x, np.zeros_like(x)) @ x.T,
        lambda x: lw.vmap(lambda row: row - row.mean())(x),
        lambda x: np.cumsum(x, axis=1) * x.argmax(0),
        lambda x: x.astype(np.float32).mean(),
    ],
)
def test_functions_of_arrays_of_unknown_size(func, backend):
    f = lw.function(func, input_signature=[SPEC([None, "m"])])
    for n, m in [(3, 4), (1, 3), (7, 2), (3, 4)]:
        x = np.random.default_rng(n).normal(size=(n, m))
        want = func(x)
        got = f(x)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, 1e-6 if want.dtype == np.float32 else 1e-12)
    assert f.experimental_get_tracing_count() == 1
