"""Layers, losses and their per-example gradients against PyTorch's with the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw

torch: Any = pytest.importorskip("torch")

RNG = np.random.default_rng(0)


def tensor(x: Any) -> Any:
    return torch.tensor(np.array(x), dtype=torch.float64, requires_grad=True)


def near(found: Any, expected: Any) -> None:
    expected = expected.detach().numpy() if hasattr(expected, "detach") else expected
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_convolution() -> None:
    layer = lw.nn.Conv(4, (3, 2), (2, 1), seed=0)
    xs = RNG.normal(size=(5, 7, 6, 3))
    layer(xs)
    layer.bias.assign(RNG.normal(size=4))

    def loss(values: Any, x: Any) -> Any:
        return np.tanh(lw.nn.functional_call(layer, values, x)).sum()

    found = lw.vmap(lw.grad(loss), in_dims=(None, 0))(layer.values(), xs)
    for number, x in enumerate(xs):
        kernel, bias = tensor(layer.kernel.value.transpose(3, 2, 0, 1)), tensor(layer.bias.value)
        y = torch.nn.functional.conv2d(tensor(x.transpose(2, 0, 1))[None], kernel, bias, (2, 1))
        near(layer(x), y[0].permute(1, 2, 0))
        torch.tanh(y).sum().backward()
        near(found["kernel"][number], kernel.grad.permute(2, 3, 1, 0))
        near(found["bias"][number], bias.grad)


def test_lstm_over_a_sequence() -> None:
    units, inputs = 4, 3
    cell = lw.nn.LSTMCell(units, seed=0)
    rows = RNG.normal(size=(3, 20, inputs))
    cell(rows[0, 0], cell.start())
    cell.bias.assign(RNG.normal(size=4 * units))

    def loss(values: Any, row: Any) -> Any:
        state, total = cell.start(), 0.0
        for x in row:
            state = lw.nn.functional_call(cell, values, x, state)
            total = total + (state[0] ** 2).sum()
        return total

    values = cell.values()
    losses, found = lw.vmap(lw.value_and_grad(loss), in_dims=(None, 0))(values, rows)
    for number, row in enumerate(rows):
        peer = torch.nn.LSTMCell(inputs, units, dtype=torch.float64)
        with torch.no_grad():
            peer.weight_ih.copy_(torch.tensor(np.array(values["kernel"].T)))
            peer.weight_hh.copy_(torch.tensor(np.array(values["recurrent_kernel"].T)))
            peer.bias_ih.copy_(torch.tensor(np.array(values["bias"])))
            peer.bias_hh.zero_()
        state, total = (torch.zeros(1, units).double(), torch.zeros(1, units).double()), 0.0
        for x in row:
            state = peer(torch.tensor(x)[None], state)
            total = total + (state[0] ** 2).sum()
        near(losses[number], total)
        total.backward()
        near(found["kernel"][number], peer.weight_ih.grad.T)
        near(found["recurrent_kernel"][number], peer.weight_hh.grad.T)
        near(found["bias"][number], peer.bias_ih.grad)


def test_normalized_layers() -> None:
    layer, xs = lw.nn.LayerNorm(), RNG.normal(size=(4, 6))
    layer(xs)
    layer.assign({"scale": RNG.normal(size=6), "offset": RNG.normal(size=6)})
    loss = lambda v, x: (lw.nn.functional_call(layer, v, x) ** 3).sum()  # noqa: E731
    values, of_x = lw.vmap(lw.grad(loss, argnums=(0, 1)), in_dims=(None, 0))(layer.values(), xs)
    for number, x in enumerate(xs):
        own, scale, offset = tensor(x), tensor(layer.scale.value), tensor(layer.offset.value)
        y = torch.nn.functional.layer_norm(own, (6,), scale, offset, eps=1e-5)
        near(layer(x), y)
        (y**3).sum().backward()
        near(of_x[number], own.grad)
        near(values["scale"][number], scale.grad)
        near(values["offset"][number], offset.grad)


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("relu", lambda x: torch.relu(x)),
        ("leaky_relu", lambda x: torch.nn.functional.leaky_relu(x)),
        ("elu", lambda x: torch.nn.functional.elu(x)),
        ("silu", lambda x: torch.nn.functional.silu(x)),
        ("gelu", lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
        ("sigmoid", lambda x: torch.sigmoid(x)),
        ("softplus", lambda x: torch.nn.functional.softplus(x)),
        ("log_softmax", lambda x: torch.log_softmax(x, -1)),
        ("softmax", lambda x: torch.softmax(x, -1)),
    ],
)
def test_activations_and_their_gradients(name: str, peer: Any) -> None:
    function, x = getattr(lw.nn, name), np.array([-40.0, -1.5, 0.0, 0.3, 2.0, 40.0])
    weights, own = np.arange(1.0, 7.0), tensor(x)
    y = peer(own)
    near(function(x), y)
    (y * torch.tensor(weights)).sum().backward()
    near(lw.grad(lambda x: (function(x) * weights).sum())(x), own.grad)


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_optimisers(name: str) -> None:
    start = RNG.normal(size=5)
    own = tensor(start)
    if name == "sgd":
        optimizer, peer = lw.nn.sgd(0.02, 0.9), torch.optim.SGD([own], lr=0.02, momentum=0.9)
    else:
        optimizer, peer = lw.nn.adam(0.05), torch.optim.Adam([own], lr=0.05)
    x, state = start, optimizer.init(start)
    for _ in range(25):
        x, state = optimizer.update(lw.grad(lambda x: ((x - 1) ** 4).sum())(x), state, x)
        peer.zero_grad()
        ((own - 1) ** 4).sum().backward()
        peer.step()
    near(x, own)
