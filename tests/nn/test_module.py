"""Modules, calls with other values, ensembles, functions and optimisers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from support.differences import assert_close, jacobian

RNG = np.random.default_rng(0)


class Model(lw.nn.Module):
    """Variables in every place where they are found."""

    def __init__(self, seed: int = 0) -> None:
        self.scale = lw.Variable(2.0)
        self.shift = lw.Variable([1.0, 2.0], trainable=False)
        self.layers = [lw.nn.Dense(4, np.tanh, seed=seed), lw.nn.Dense(2, seed=seed)]
        self.parts = {"extra": (lw.Variable(np.ones(2)), 7), "same": self.scale}
        self.layers_again = self.layers

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x * self.scale + self.shift + self.parts["extra"][0]


def near(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


# --- modules --------------------------------------------------------------------------------------


def test_variables_are_found_once_and_named_by_their_place() -> None:
    model = Model()
    assert list(model.named_variables()) == ["scale", "shift", "parts['extra'][0]"]
    model(np.ones(3))
    assert list(model.named_variables()) == [
        "scale", "shift", "layers[0].kernel", "layers[0].bias", "layers[1].kernel",
        "layers[1].bias", "parts['extra'][0]",
    ]  # fmt: skip
    assert len(model.variables) == 7 and len(model.trainable_variables) == 6
    assert model.shift not in [v for v in model.trainable_variables if v.shape == (3,)]
    assert set(model.values()) - set(model.values(trainable=True)) == {"shift"}
    assert all(isinstance(v, np.ndarray) for v in model.values().values())


def test_values_are_assigned_by_their_place() -> None:
    model = Model()
    model(np.ones(3))
    model.assign({"scale": 5.0, "layers[1].bias": [1.0, 1.0]})
    assert float(model.scale) == 5 and model.layers[1].bias[0] == 1
    with pytest.raises(KeyError, match=r"no variable 'layers\[9\]'; there are scale, shift"):
        model.assign({"layers[9]": 1.0})
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        model.assign({"shift": np.ones(3)})


def test_modules_that_hold_each_other() -> None:
    one, other = Model(), Model()
    one.friend, other.friend = other, one
    assert list(one.named_variables())[-3:] == [
        "friend.scale", "friend.shift", "friend.parts['extra'][0]",
    ]  # fmt: skip


def test_copies_are_models_of_their_own() -> None:
    model, x = Model(), RNG.normal(size=(5, 3))
    before = model(x)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        near(twin(x), before)
        twin.scale.assign(0.0)
        near(model(x), before)
        assert twin.parts["same"] is twin.scale


# --- calls with other values ----------------------------------------------------------------------


def test_functional_calls() -> None:
    model, x = Model(), RNG.normal(size=(5, 3))
    before = model(x)
    values = model.values()
    near(lw.nn.functional_call(model, values, x), before)
    near(lw.nn.functional_call(model, {}, x), before)
    near(lw.nn.functional_call(model, {"scale": 0.0}, x), np.broadcast_to([2.0, 3.0], (5, 2)))
    near(model(x), before)
    doubled = lw.vmap(lambda s: lw.nn.functional_call(model, {"scale": s}, x))(np.array([2.0, 0.0]))
    near(doubled[0], before)
    inner = lambda s: lw.nn.functional_call(model, {"scale": s}, x)  # noqa: E731
    nested = lw.nn.functional_call(lambda_module(model, inner), {"own": np.array(2.0)}, 2.0)
    near(nested, before)
    with pytest.raises(KeyError, match="no variable 'bias'"):
        lw.nn.functional_call(model, {"bias": 1.0}, x)
    with pytest.raises(ValueError, match=r"shift has shape \(2,\), not \(3,\)"):
        lw.nn.functional_call(model, {"shift": np.ones(3)}, x)
    near(model(x), before)


def lambda_module(model: Any, inner: Callable[[Any], Any]) -> Any:
    class Outer(lw.nn.Module):
        def __init__(self) -> None:
            self.own = lw.Variable(1.0)

        def __call__(self, factor: Any) -> Any:
            return inner(self.own * factor / 2)

    return Outer()


def test_values_are_put_back_after_an_error() -> None:
    model = Model()
    before = model(np.ones(3))
    with pytest.raises(ValueError, match="features"):
        lw.nn.functional_call(model, {"scale": 0.0}, np.ones(4))
    near(model(np.ones(3)), before)


def test_ensembles() -> None:
    models, x = [Model(seed) for seed in range(4)], RNG.normal(size=(5, 3))
    expected = np.stack([model(x) for model in models])
    stacked = lw.nn.stack(models)
    assert stacked["layers[0].kernel"].shape == (4, 3, 4)
    call = lambda values, x: lw.nn.functional_call(models[0], values, x)  # noqa: E731
    near(lw.vmap(call, in_dims=(0, None))(stacked, x), expected)
    each = lw.vmap(lw.vmap(call, in_dims=(None, 0)), in_dims=(0, None))(stacked, x)
    near(each, expected)
    with pytest.raises(ValueError, match="at least one"):
        lw.nn.stack([])
    with pytest.raises(ValueError, match="the same variables"):
        lw.nn.stack([models[0], lw.nn.Dense(2)])


# --- functions ------------------------------------------------------------------------------------

POINTS = np.array([-30.0, -2.0, -0.3, 0.4, 1.7, 40.0])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lw.nn.relu, lambda x: np.maximum(x, 0)),
        (lw.nn.leaky_relu, lambda x: np.maximum(x, 0.01 * x)),
        (lw.nn.elu, lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)),
        (lw.nn.sigmoid, scipy.special.expit),
        (lw.nn.silu, lambda x: x * scipy.special.expit(x)),
        (lw.nn.gelu, lambda x: x * scipy.special.ndtr(x)),
        (lw.nn.softplus, lambda x: np.log1p(np.exp(-abs(x))) + np.maximum(x, 0)),
        (lw.nn.tanh, np.tanh),
    ],
)
def test_activations(function: Callable[[Any], Any], expected: Callable[[Any], Any]) -> None:
    rtol = 2e-3 if function is lw.nn.gelu else 1e-13  # an approximation, as its authors give it
    np.testing.assert_allclose(function(POINTS), expected(POINTS), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(lw.vmap(function)(POINTS), function(POINTS), rtol=1e-15, atol=1e-300)
    assert_close(lw.vmap(lw.grad(function))(POINTS), np.diag(jacobian(function, POINTS)), rtol=1e-7)
    assert function(POINTS.astype(np.float32)).dtype == np.float32


def test_relu_at_zero_and_of_nan() -> None:
    assert float(lw.grad(lw.nn.relu)(0.0)) == 0
    assert np.isnan(lw.nn.relu(np.array(np.nan)))
    assert lw.nn.relu(np.array([-2, 3])).dtype == np.int64


def test_softmax_and_its_like() -> None:
    x = RNG.normal(size=(4, 5)) * 3
    near(lw.nn.softmax(x), scipy.special.softmax(x, axis=-1))
    near(lw.nn.log_softmax(x, axis=0), scipy.special.log_softmax(x, axis=0))
    near(lw.nn.logsumexp(x, axis=0, keepdims=True), scipy.special.logsumexp(x, 0, keepdims=True))
    far = np.array([1e4, -1e4, 0.0])
    near(lw.nn.log_softmax(far), [0, -2e4, -1e4])
    near(lw.grad(lambda x: lw.nn.log_softmax(x)[1])(far), [-1, 1, 0])
    none = np.array([-np.inf, 0.0, 0.0])
    near(lw.nn.logsumexp(none), np.log(2))
    near(lw.grad(lw.nn.logsumexp)(none), [0, 0.5, 0.5])
    for function in (lw.nn.softmax, lw.nn.log_softmax):
        found = lw.vmap(lw.jacrev(function))(x)
        for number in range(4):
            assert_close(found[number], jacobian(function, x[number]), rtol=1e-7)


def test_losses() -> None:
    logits, labels = RNG.normal(size=(6, 4)), RNG.integers(0, 4, 6)
    expected = -np.log(scipy.special.softmax(logits, -1)[np.arange(6), labels])
    near(lw.nn.sparse_softmax_cross_entropy(logits, labels), expected)
    near(lw.vmap(lw.nn.sparse_softmax_cross_entropy)(logits, labels), expected)
    near(lw.nn.softmax_cross_entropy(logits, lw.nn.one_hot(labels, 4)), expected)
    found = lw.vmap(lw.grad(lw.nn.sparse_softmax_cross_entropy))(logits, labels)
    near(found, scipy.special.softmax(logits, -1) - lw.nn.one_hot(labels, 4))
    targets = (logits > 0).astype(float)
    p = scipy.special.expit(logits)
    near(
        lw.nn.sigmoid_cross_entropy(logits, targets),
        -targets * np.log(p) - (1 - targets) * np.log1p(-p),
    )
    near(lw.nn.mean_squared_error(logits, targets), ((logits - targets) ** 2).mean())
    near(lw.nn.l2_loss(logits), (logits**2).sum() / 2)
    assert lw.nn.one_hot(labels, 4, np.float32).dtype == np.float32


def test_dropout() -> None:
    x = np.ones(100_000)
    found = lw.nn.dropout(x, 0.25, seed=0)
    assert abs(found.mean() - 1) < 0.01 and set(np.unique(found)) == {0, 1 / 0.75}
    np.testing.assert_array_equal(found, lw.nn.dropout(x, 0.25, seed=0))
    np.testing.assert_array_equal(lw.nn.dropout(x, 0.0), x)
    masks = np.array([[True, False], [False, False]])
    found = lw.vmap(lw.grad(lambda x, m: lw.nn.dropout(x, 0.5, mask=m).sum()), in_dims=(None, 0))(
        np.ones(2), masks
    )
    np.testing.assert_array_equal(found, 2.0 * masks)


# --- optimisers -----------------------------------------------------------------------------------


def adam_by_hand(x: Any, steps: int, rate: float) -> Any:
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, steps + 1):
        g = 4 * (x - 1) ** 3
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        x = x - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return x


def momentum_by_hand(x: Any, steps: int, rate: float) -> Any:
    speed = np.zeros_like(x)
    for _ in range(steps):
        speed = 0.9 * speed + 4 * (x - 1) ** 3
        x = x - rate * speed
    return x


@pytest.mark.parametrize(
    ("optimizer", "by_hand"),
    [(lw.nn.adam(0.1), adam_by_hand), (lw.nn.sgd(0.01, momentum=0.9), momentum_by_hand)],
)
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_optimisers_are_functions_that_are_mapped(
    optimizer: Any, by_hand: Any, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    rate = 0.1 if by_hand is adam_by_hand else 0.01

    def learn(tree: Any) -> Any:
        loss = lambda tree: ((tree["x"] - 1) ** 4).sum()  # noqa: E731
        state = optimizer.init(tree)
        for _ in range(20):  # becomes a loop of its own
            tree, state = optimizer.update(lw.grad(loss)(tree), state, tree)
        return tree

    starts = np.linspace(-0.9, -0.2, 15).reshape(
        5, 3
    )  # far enough from the minimum, which is kinked
    expected = by_hand(starts, 20, rate)
    near(learn({"x": starts})["x"], expected)
    near(lw.vmap(learn)({"x": starts})["x"], expected)
    near(lw.function(learn)({"x": starts})["x"], expected)
    # And through the optimiser: the derivative of what was learned in where it began.
    found = lw.vmap(lw.jacfwd(lambda x: learn({"x": x})["x"]))(starts)
    for number in range(5):
        assert_close(
            found[number], jacobian(lambda x: by_hand(x, 20, rate), starts[number], 1e-4), rtol=1e-6
        )


def test_optimisers_keep_dtypes_and_structure() -> None:
    tree = {"a": np.ones(2, np.float32), "b": [np.array(1.0)]}
    for optimizer in (lw.nn.adam(), lw.nn.sgd(0.1), lw.nn.sgd(0.1, 0.9)):
        found, state = optimizer.update(tree, optimizer.init(tree), tree)
        found, _ = optimizer.update(tree, state, found)
        assert found["a"].dtype == np.float32 and found["b"][0].dtype == np.float64


def test_training_an_ensemble() -> None:
    xs = RNG.normal(size=(64, 2))
    ys = (xs[:, 0] * xs[:, 1] > 0).astype(int)
    make = lambda seed: Net(seed)  # noqa: E731
    models = [make(seed) for seed in range(3)]
    for model in models:
        model(xs)
    optimizer = lw.nn.adam(0.05)

    def loss(values: Any) -> Any:
        logits = lw.nn.functional_call(models[0], values, xs)
        return lw.nn.sparse_softmax_cross_entropy(logits, ys).mean()

    @lw.function
    def step(values: Any, state: Any) -> Any:
        one = lambda v, s: optimizer.update(lw.grad(loss)(v), s, v)  # noqa: E731
        return lw.vmap(one)(values, state)

    values = lw.nn.stack(models)
    state = lw.vmap(optimizer.init)(values)
    first = lw.vmap(loss)(values)
    for _ in range(60):
        values, state = step(values, state)
    assert (lw.vmap(loss)(values) < 0.5 * first).all()


class Net(lw.nn.Module):
    def __init__(self, seed: int) -> None:
        self.first, self.last = lw.nn.Dense(8, np.tanh, seed=seed), lw.nn.Dense(2, seed=seed)

    def __call__(self, x: Any) -> Any:
        return self.last(self.first(x))


def test_modules_follow_the_data() -> None:
    class Halving(lw.nn.Module):
        def __init__(self) -> None:
            self.rate = lw.Variable(0.5)
            self.layer = lw.nn.Dense(1, lambda y: y if y.sum() > 0 else -y, seed=0)

        def __call__(self, x: Any) -> Any:
            while abs(x).max() > 1:
                x = x * self.rate
            return self.layer(x)

    model, xs = Halving(), RNG.normal(size=(6, 3)) * 4
    expected = np.stack([model(x) for x in xs])
    near(lw.vmap(model)(xs), expected)
    call = lambda values, x: lw.nn.functional_call(model, values, x)  # noqa: E731
    near(lw.vmap(call, in_dims=(None, 0))(model.values(), xs), expected)
    found = lw.vmap(lw.grad(lambda v, x: call(v, x).sum()), in_dims=(None, 0))(model.values(), xs)
    for number, x in enumerate(xs):
        changed = lambda r, x=x: call({**model.values(), "rate": r}, x).sum()  # noqa: E731
        assert_close(found["rate"][number], jacobian(changed, 0.5, 1e-5), rtol=1e-7)


def test_dropout_draws_in_each_run_and_for_each_example() -> None:
    x = np.ones(64)
    drop = lw.function(lambda x: lw.nn.dropout(x, 0.5))
    first, second = drop(x), drop(x)
    assert set(np.unique(first)) == {0.0, 2.0} and not np.array_equal(first, second)
    rng = lw.random.default_rng(1)
    different = lw.vmap(lambda x: lw.nn.dropout(x, 0.25, seed=rng), randomness="different")
    rows = different(np.ones((8, 64)))
    assert len(np.unique(rows, axis=0)) == 8 and 0.6 < (rows > 0).mean() < 0.9
    value, found = lw.value_and_grad(lambda x: (lw.nn.dropout(x, 0.5) * x).sum())(x)
    np.testing.assert_array_equal(found, np.where(found > 0, 4.0, 0.0))  # that of the mask drawn
    assert float(value) == found.sum() / 2
