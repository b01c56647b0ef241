"""The examples of the documents that Lanewise began from, in NumPy's terms.

What needs neither gradients, variables, randomness, control flow on data nor `function`.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_same

RNG = np.random.default_rng(0)


# --- functorch.vmap ------------------------------------------------------------------------------


def test_batched_dot_products():
    batched_dot = lw.vmap(np.dot)  # [N, D], [N, D] -> [N]
    x, y = RNG.normal(size=(2, 2, 5))
    assert_same(batched_dot(x, y), np.stack([np.dot(a, b) for a, b in zip(x, y, strict=True)]))


def test_batch_dimensions_hidden_in_a_model():
    batch_size, feature_size = 3, 5
    weights = RNG.normal(size=feature_size)

    def model(feature_vec):
        return np.maximum(feature_vec.dot(weights), 0)

    examples = RNG.normal(size=(batch_size, feature_size))
    assert_same(lw.vmap(model)(examples), np.stack([model(e) for e in examples]))


def test_a_jacobian_from_vector_jacobian_products():
    # get_vjp(v) of x ** 2, written out: what the derivative gives when it is there
    x = RNG.normal(size=5)
    jacobian = lw.vmap(lambda v: v * 2 * x)(np.eye(5))
    assert_same(jacobian, np.diag(2 * x))


def test_per_sample_gradients_written_out():
    samples, weight = RNG.normal(size=(64, 5)), RNG.normal(size=5)

    def grad(sample, weight):
        return np.cos(sample @ weight) * sample

    expected = np.stack([grad(s, weight) for s in samples])
    assert_same(lw.vmap(grad, in_dims=(0, None))(samples, weight), expected)


def test_nested_batches():
    batched_dot = lw.vmap(lw.vmap(np.dot))  # [N1, N0, D], [N1, N0, D] -> [N1, N0]
    x, y = RNG.normal(size=(2, 2, 3, 5))
    got = batched_dot(x, y)
    assert got.shape == (2, 3)
    assert_same(
        got,
        np.stack(
            [[np.dot(p, q) for p, q in zip(a, b, strict=True)] for a, b in zip(x, y, strict=True)]
        ),
    )


def test_not_along_the_first_dimension():
    x, y = RNG.normal(size=(2, 2, 5))
    got = lw.vmap(np.dot, in_dims=1)(x, y)
    assert got.shape == (5,)
    assert_same(got, (x * y).sum(0))


def test_an_argument_without_batch():
    x, y = RNG.normal(size=(2, 5)), RNG.normal(size=5)
    assert_same(lw.vmap(np.dot, in_dims=(0, None))(x, y), x @ y)


def test_a_python_structure():
    def f(dict):
        return np.dot(dict["x"], dict["y"])

    input = {"x": RNG.normal(size=(2, 5)), "y": RNG.normal(size=5)}
    got = lw.vmap(f, in_dims=({"x": 0, "y": None},))(input)
    assert_same(got, input["x"] @ input["y"])


def test_the_batch_elsewhere_in_the_result():
    def f(x):
        return x**2

    x = RNG.normal(size=(2, 5))
    batched_pow = lw.vmap(f, out_dims=1)
    assert batched_pow(x).shape == (5, 2)
    assert_same(batched_pow(x), (x**2).T)


def test_one_out_dim_for_each_output():
    x = RNG.normal(size=(2, 5))
    first, second = lw.vmap(lambda v: (v, v + 1), out_dims=(0, 1))(x)
    assert_same((first, second), (x, (x + 1).T))


def test_keyword_arguments():
    def f(x, scale=4.0):
        return x * scale

    x = RNG.normal(size=(2, 5))
    batched_pow = lw.vmap(f)
    assert np.allclose(batched_pow(x), x * 4)
    assert batched_pow(x, scale=x).shape == (2, 2, 5)  # scale is not batched


def test_randomness():
    """Other than in the original, NumPy's random numbers follow the same word."""
    rng = np.random.default_rng(3)
    for draw in (rng.normal, lw.random.normal):
        f = lambda v, draw=draw: v * 0 + draw()  # noqa: E731
        with pytest.raises(RuntimeError, match="randomness"):
            lw.vmap(f)(np.zeros(4))
        assert np.ptp(lw.vmap(f, randomness="same")(np.zeros(4))) == 0
        assert np.unique(lw.vmap(f, randomness="different")(np.zeros(4))).size == 4


def test_in_place_operations_on_arrays():
    def f(v):
        v += 1
        v[0] = 7.0
        v *= 2
        return v

    x = RNG.normal(size=(3, 4))
    kept = x.copy()
    assert_same(lw.vmap(f)(x), np.stack([f(row.copy()) for row in x]))
    assert np.array_equal(x, kept)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lw.vmap(np.dot)(np.ones((3, 2)), np.ones((4, 2))),
        lambda: lw.vmap(np.dot, in_dims=(0,))(np.ones((3, 2)), np.ones((3, 2))),
        lambda: lw.vmap(np.sin, in_dims=3)(np.ones((3, 2))),
        lambda: lw.vmap(np.sin, in_dims=None)(np.ones((3, 2))),
        lambda: lw.vmap(np.sin)(),
        lambda: lw.vmap(lambda v: "text")(np.ones(3)),
        lambda: lw.vmap(np.sin, randomness="sometimes")(np.ones(3)),
    ],
)
def test_bad_calls(call):
    with pytest.raises(ValueError):
        call()


# --- tf.vectorized_map ---------------------------------------------------------------------------


def test_outer_product():
    def outer_product(a):
        return np.tensordot(a, a, 0)

    batch_size = 10
    a = np.ones((batch_size, 4, 4))
    c = lw.vectorized_map(outer_product, a)
    assert c.shape == (batch_size, 4, 4, 4, 4)
    assert_same(c, np.stack([outer_product(m) for m in a]))


def test_per_example_gradients_of_a_layer_written_out():
    batch_size, num_features = 10, 32
    kernel, bias = RNG.normal(size=(num_features, 1)), RNG.normal(size=1)

    def model_fn(arg):
        inp, label = arg
        inp, label = np.expand_dims(inp, 0), np.expand_dims(label, 0)
        residual = inp @ kernel + bias - label  # of half the sum of squares
        return inp.T @ residual, residual[0]

    inputs, labels = RNG.normal(size=(batch_size, num_features)), RNG.normal(size=(batch_size, 1))
    got = lw.vectorized_map(model_fn, (inputs, labels))
    assert got[0].shape == (batch_size, num_features, 1) and got[1].shape == (batch_size, 1)
    expected = [model_fn(arg) for arg in zip(inputs, labels, strict=True)]
    assert_same(got, tuple(np.stack(parts) for parts in zip(*expected, strict=True)))


def test_the_function_gets_the_structure_of_the_elements_and_may_return_another():
    elems = {"a": RNG.normal(size=(6, 3)), "b": (RNG.normal(size=6), RNG.normal(size=(6, 2)))}
    got = lw.vectorized_map(
        lambda e: {"sum": e["a"].sum() + e["b"][0], "pair": [e["b"][1], e["a"]]}, elems
    )
    assert_same(
        got, {"sum": elems["a"].sum(1) + elems["b"][0], "pair": [elems["b"][1], elems["a"]]}
    )


def test_first_dimensions_are_b_or_one():
    a, b = RNG.normal(size=(1, 3)), RNG.normal(size=(6, 3))
    assert_same(lw.vectorized_map(lambda e: e[0] * e[1], (a, b)), a * b)
    with pytest.raises(ValueError, match=r"2.*6|6.*2"):
        lw.vectorized_map(lambda e: e[0] * e[1], (np.ones((2, 3)), b))


def test_unsupported_operations_fall_back_alone_or_raise():
    def host(row):
        return lw.py_func(lambda r: np.sort(r)[::-1].copy(), [row], np.float64)

    def fn(row):
        return 2 * host(row) + 1

    x = RNG.normal(size=(5, 4))
    assert_same(lw.vectorized_map(fn, x), 2 * np.sort(x, axis=1)[:, ::-1] + 1)
    with pytest.raises(ValueError, match="py_func"):
        lw.vectorized_map(fn, x, fallback_to_while_loop=False)
    seen = lw.explain(lambda x: lw.vectorized_map(fn, x), x)  # the other parts are vectorized still
    assert [row.fate for row in seen.rows] == ["looped", "batched", "batched"]


def test_agrees_with_map_fn_from_first_to_last():
    x = RNG.normal(size=(9, 4))

    def fn(row):
        return (np.cumsum(row)[-1], np.argmax(row))

    assert_same(lw.vectorized_map(fn, x), lw.map_fn(fn, x))


def test_vectorized_map_is_the_faster_of_the_two():
    x = RNG.normal(size=(2000, 8))

    def fn(row):
        return np.tanh(row @ row) + np.sort(row)[0]

    def seconds(map_):
        map_(fn, x)
        start = time.perf_counter()
        map_(fn, x)
        return time.perf_counter() - start

    assert min(seconds(lw.vectorized_map) for _ in range(3)) < seconds(lw.map_fn) / 3


# --- tf.function: its host calls and its Python side effects, as far as a map has them ------------


def test_python_side_effects_happen_only_while_tracing_and_py_func_escapes():
    seen, host_seen = [], []

    def f(x):
        seen.append(x)
        lw.py_func(lambda value: host_seen.append(float(value)), [x], None)
        return x

    mapped = lw.vmap(f, autograph=False)
    assert_same(mapped(np.array([1.0, 2.0, 3.0])), np.array([1.0, 2.0, 3.0]))
    assert len(seen) == 1 and host_seen == [1.0, 2.0, 3.0]


def test_numbers_drawn_while_tracing_are_constants():
    def add_noise(x):
        return x + np.random.default_rng(1).normal(size=3)

    x = RNG.normal(size=(4, 3))
    assert_same(lw.vmap(add_noise)(x), np.stack([add_noise(row) for row in x]))
