"""Functions that reach arrays and objects may run as they stand, and share no memory with these."""

import warnings
from itertools import count

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import mapping
from lanewise.runtime import race

W = np.random.default_rng(0).normal(size=(4, 4))


class Net:
    def __init__(self):
        self.w, self.layers = W.copy(), [0.1 * W, 0.2 * W]
        self.options = {"kind": "relu"}

    def forward(self, x):
        for layer in self.layers:
            x = np.maximum(layer @ x, 0) if self.options["kind"] == "relu" else np.tanh(layer @ x)
        return x + self.w[0]

    def row(self, x):
        return self.w[1]

    def rows(self, x):
        return self.w, self.w[0], [self.layers[0], x]


net = Net()


def whole(x):
    return W


def part(x):
    return {"a": W[0], "b": [W[1], x[0]]}


def leaves(result):
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, (list, tuple)):
        return [result]
    return [leaf for each in result for leaf in leaves(each)]


@pytest.mark.parametrize("f", [net.forward, net.row, net.rows, whole, part])
def test_results_are_apart_from_what_is_reached(f, monkeypatch):
    # Whichever way calls run: of these the plain function is to be among them.
    ways = set()
    is_plain = race.Race.is_plain
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr(race, "SHORT", 0)
    turns = count()

    def by_turns(self, arguments):
        is_plain(self, arguments)
        self.note = None
        ways.add(found := next(turns) % 2 == 0)
        return found

    monkeypatch.setattr(race.Race, "is_plain", by_turns)
    g, x = lw.function(f), np.arange(4.0)
    expected = [np.copy(leaf) for leaf in leaves(f(x))]
    for _ in range(6):
        found = leaves(g(x))
        for leaf, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(leaf, wanted, rtol=1e-13)
            if isinstance(leaf, np.ndarray):
                reached = [W, net.w, *net.layers, x]
                assert not any(np.shares_memory(leaf, other) for other in reached)
                leaf += 1
    assert ways == {True, False}


def test_what_is_reached_is_what_it_was_when_it_was_traced():
    """As documented, also where the function itself would be faster."""
    g, x = lw.function(net.row), np.arange(4.0)
    before, expected = net.w, net.row(x).copy()
    for n in range(12):
        np.testing.assert_array_equal(g(x), expected)
        if n == 6:
            net.w = W + n
    net.w = before


def test_calls_that_data_refuse_are_not_traced_each_time(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    made, counted = mapping._run_traced, [0]

    def tracing(*args, **kwargs):
        counted[0] += 1
        return made(*args, **kwargs)

    monkeypatch.setattr(mapping, "_run_traced", tracing)

    def split(x):
        return np.array([row for row in x if row[0] > 100]).size + x[0, 0]

    x = np.random.default_rng(1).normal(size=(5, 6, 2))
    expected = np.stack([split(each) for each in x])
    for _ in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.PlainLoopWarning)
            np.testing.assert_array_equal(lw.vmap(split)(x), expected)
    assert counted[0] <= 7
