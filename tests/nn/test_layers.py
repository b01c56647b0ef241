"""Layers against the same by hand, mapped, and with gradients for each example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.differences import assert_close, jacobian

RNG = np.random.default_rng(0)


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def near(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol, strict=True)


def spoiled(module: Any) -> dict[str, np.ndarray]:
    """Give all variables values of no structure; return them."""
    rng = np.random.default_rng(1)
    for variable in module.variables:
        variable.assign(rng.normal(size=variable.shape))
    return module.values()


# --- forward --------------------------------------------------------------------------------------


def test_dense() -> None:
    layer = lw.nn.Dense(3, np.tanh, seed=0)
    x = RNG.normal(size=(5, 2, 4))
    layer(x)
    values = spoiled(layer)
    assert list(values) == ["kernel", "bias"]
    expected = np.tanh(x @ values["kernel"] + values["bias"])
    near(layer(x), expected)
    near(lw.vmap(layer)(x), expected)
    near(layer(x[0, 0]), expected[0, 0])
    bare = lw.nn.Dense(3, use_bias=False, dtype=np.float32, seed=0)
    found = bare(x.astype(np.float32))
    assert found.dtype == np.float32 and list(bare.values()) == ["kernel"] and bare.bias is None
    near(found, x.astype(np.float32) @ bare.kernel.value, 1e-6)


def correlation(x: np.ndarray, kernel: np.ndarray, strides: Any, padding: str) -> np.ndarray:
    """A convolution of one example of two axes of space, a place at a time."""
    size, (rows, columns) = kernel.shape[:2], x.shape[:2]
    if padding == "same":
        out = tuple([-(-n // s) for n, s in zip(x.shape, strides, strict=False)])
        more = [max((o - 1) * s + k - n, 0) for o, s, k, n in
                zip(out, strides, size, x.shape, strict=False)]  # fmt: skip
        x = np.pad(x, [*[(m // 2, m - m // 2) for m in more], (0, 0)])
        rows, columns = x.shape[:2]
    found = [
        [
            np.einsum("ijc,ijcf->f", x[i : i + size[0], j : j + size[1]], kernel)
            for j in range(0, columns - size[1] + 1, strides[1])
        ]
        for i in range(0, rows - size[0] + 1, strides[0])
    ]
    return np.array(found)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("size", [(3, 3), (2, 4), (1, 1)])
def test_convolutions(padding: str, strides: tuple[int, int], size: tuple[int, int]) -> None:
    layer = lw.nn.Conv(3, size, strides, padding, seed=0)
    x = RNG.normal(size=(3, 5, 4, 2))
    layer(x)
    values = spoiled(layer)
    assert values["kernel"].shape == (*size, 2, 3)
    expected = [correlation(one, values["kernel"], strides, padding) for one in x]
    expected = np.stack(expected) + values["bias"]
    near(layer(x), expected)
    near(lw.vmap(layer)(x), expected)


def test_convolutions_of_other_ranks() -> None:
    line, x = lw.nn.Conv(2, np.int64(3), use_bias=False, seed=0), RNG.normal(size=(8, 1))
    found = line(x)
    for number in range(2):
        kernel = line.kernel.value[:, 0, number]
        near(found[:, number], np.correlate(x[:, 0], kernel, "valid"))
    solid, cube = lw.nn.Conv(1, (2, 2, 2), activation=lw.nn.relu, seed=0), RNG.normal(size=(2,) * 4)
    found = solid(cube)
    near(
        found,
        np.maximum((cube[..., None] * solid.kernel.value).sum((0, 1, 2, 3)), 0)[None, None, None],
    )


def test_embeddings() -> None:
    layer = lw.nn.Embedding(10, 4, seed=0)
    indices = np.array([[1, 1, 7], [0, 9, 3]])
    near(layer(indices), layer.table.value[indices])
    near(lw.vmap(layer)(indices), layer.table.value[indices])
    with pytest.raises(IndexError, match=r"out of bounds .*\n  in example 1"):
        lw.vmap(layer)(np.array([1, 10]))


def test_normalized_layers() -> None:
    layer = lw.nn.LayerNorm(epsilon=1e-3)
    x = RNG.normal(size=(5, 6)) * 3 + 1
    near(layer(x), (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3))
    values = spoiled(layer)
    away = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3)
    near(lw.vmap(layer)(x), away * values["scale"] + values["offset"])


def lstm_by_hand(values: Any, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    gates = x @ values["kernel"] + h @ values["recurrent_kernel"] + values["bias"]
    i, f, g, o = np.split(gates, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_by_hand(values: Any, x: Any, h: Any) -> Any:
    inputs = np.split(x @ values["kernel"] + values["bias"], 3, axis=-1)
    kernels = np.split(values["recurrent_kernel"], 3, axis=-1)
    z, r = (sigmoid(a + h @ k) for a, k in zip(inputs[:2], kernels[:2], strict=True))
    return z * h + (1 - z) * np.tanh(inputs[2] + (r * h) @ kernels[2])


def test_recurrent_cells() -> None:
    lstm, gru = lw.nn.LSTMCell(3, seed=0), lw.nn.GRUCell(3, seed=0)
    xs = RNG.normal(size=(5, 4, 2))  # five sequences of four steps
    lstm(xs[0, 0], lstm.start())
    gru(xs[0, 0], gru.start())
    np.testing.assert_array_equal(lstm.bias.value, np.repeat([0.0, 1.0, 0.0, 0.0], 3))
    values, others = spoiled(lstm), spoiled(gru)

    def run(row: Any) -> Any:
        state, h = lstm.start(), gru.start()
        for x in row:
            state, h = lstm(x, state), gru(x, h)
        return state, h

    (found, cells), gated = lw.vmap(run)(xs)
    for number, row in enumerate(xs):
        h, c, g = np.zeros(3), np.zeros(3), np.zeros(3)
        for x in row:
            (h, c), g = lstm_by_hand(values, x, h, c), gru_by_hand(others, x, g)
        near(found[number], h)
        near(cells[number], c)
        near(gated[number], g)
    near(lstm(xs[:, 0], (found, cells))[0], lstm_by_hand(values, xs[:, 0], found, cells)[0])


# --- gradients ------------------------------------------------------------------------------------


LAYERS: list[tuple[Callable[[], Any], tuple[int, ...]]] = [
    (lambda: lw.nn.Dense(2, lw.nn.gelu), (3,)),
    (lambda: lw.nn.Conv(2, (2, 2), activation=np.tanh), (3, 4, 2)),
    (lambda: lw.nn.Conv(2, 3, 2, "same"), (5, 2)),
    (lambda: lw.nn.LayerNorm(), (4,)),
]


@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_gradients_for_each_example(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    layer, xs = make(), RNG.normal(size=(3, *shape))
    layer(xs)
    values = spoiled(layer)

    def loss(values: Any, x: Any) -> Any:
        y = lw.nn.functional_call(layer, values, x)
        return (y**2).sum() + y.sum()

    found, of_x = lw.vmap(lw.grad(loss, argnums=(0, 1)), in_dims=(None, 0))(values, xs)
    for number, x in enumerate(xs):
        for path, value in values.items():
            changed = lambda w, path=path, x=x: loss({**values, path: w}, x)  # noqa: E731
            assert_close(found[path][number], jacobian(changed, value), rtol=1e-7)
        assert_close(of_x[number], jacobian(lambda x: loss(values, x), x), rtol=1e-7)
    total = lw.grad(lambda v: lw.vmap(loss, in_dims=(None, 0))(v, xs).sum())(values)
    for path in values:
        near(total[path], found[path].sum(axis=0), 1e-11)


def test_gradients_of_embeddings_add_up() -> None:
    layer = lw.nn.Embedding(4, 2, seed=0)
    loss = lambda values, i: lw.nn.functional_call(layer, values, i).sum()  # noqa: E731
    found = lw.vmap(lw.grad(loss), in_dims=(None, 0))(layer.values(), np.array([[1, 1], [0, 3]]))
    np.testing.assert_array_equal(found["table"][..., 0], [[0, 2, 0, 0], [1, 0, 0, 1]])


def test_gradients_through_a_recurrent_loop() -> None:
    cell = lw.nn.GRUCell(2, seed=0)
    rows = RNG.normal(size=(2, 20, 3)) / 2
    cell(rows[0, 0], cell.start())
    values = cell.values()

    def loss(values: Any, row: Any) -> Any:
        h = cell.start()
        for x in row:
            h = lw.nn.functional_call(cell, values, x, h)
        return (h**2).sum()

    found = lw.vmap(lw.grad(loss), in_dims=(None, 0))(values, rows)

    def by_hand(values: Any, row: Any) -> Any:
        h = np.zeros(2)
        for x in row:
            h = gru_by_hand(values, x, h)
        return (h**2).sum()

    for path, value in values.items():
        for number in range(2):
            changed = lambda w, path=path, n=number: by_hand({**values, path: w}, rows[n])  # noqa: E731
            assert_close(found[path][number], jacobian(changed, value), rtol=1e-7)


def test_tapes_watch_the_variables_of_layers() -> None:
    layer = lw.nn.Dense(1, seed=0)
    xs, ys = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 1))

    def gradient(x: Any, y: Any) -> Any:
        with lw.GradientTape() as tape:
            loss = lw.nn.l2_loss(layer(x[None]) - y)
        return tape.gradient(loss, (layer.kernel, layer.bias))

    kernel, bias = lw.vmap(gradient)(xs, ys)
    error = xs @ layer.kernel.value + layer.bias.value - ys
    near(kernel, xs[:, :, None] * error[:, None, :])
    near(bias, error)


# --- bad uses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lw.nn.Dense(0), ValueError, "units must be at least 1"),
        (lambda: lw.nn.Dense(2.5), TypeError, "units must be an integer"),
        (lambda: lw.nn.Dense(2)(1.0), ValueError, "Dense takes arrays of one axis"),
        (lambda: lw.nn.Conv(2, (3, 0)), ValueError, "kernel_size must be at least 1"),
        (lambda: lw.nn.Conv(2, (3, 3), (1, 1, 1)), ValueError, "strides must have one entry"),
        (lambda: lw.nn.Conv(2, 3, padding="full"), ValueError, "padding must be"),
        (lambda: lw.nn.Conv(2, (3, 3))(np.ones((5, 5))), ValueError, "2 axes of space"),
        (lambda: lw.nn.Conv(2, 3)(np.ones((2, 1))), ValueError, "larger than"),
        (lambda: lw.nn.Embedding(0, 3), ValueError, "rows must be at least 1"),
        (lambda: lw.nn.Embedding(3, 3)(0.5), (TypeError, IndexError), "integer"),
        (lambda: lw.nn.LSTMCell(-1), ValueError, "units must be at least 1"),
        (lambda: lw.nn.dropout(np.ones(3), 1.0), ValueError, "rate must be"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("layer", "first", "second"),
    [
        (lw.nn.Dense(2), (3,), (4,)),
        (lw.nn.Conv(2, 2), (4, 3), (4, 2)),
        (lw.nn.LayerNorm(), (3,), (4,)),
    ],
)
def test_layers_keep_the_size_of_their_input(layer: Any, first: Any, second: Any) -> None:
    layer(np.ones(first))
    with pytest.raises(ValueError, match="first called on 3 features, and now on"):
        layer(np.ones(second))
