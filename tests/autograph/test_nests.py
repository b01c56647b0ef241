"""Loops in loops: how much of them is recorded, and that what they leave is right."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.turns import Turns


def nest(depth: int, n: int = 5):
    """Return a function of so many loops in each other, which writes to an array."""
    lines = ["def f(x, out):", " out = out.copy()"]
    for level in range(depth):
        lines.append(f"{' ' * (level + 1)}for i{level} in range({n}):")
    inside = " " * (depth + 1)
    index = " + ".join(f"i{level}" for level in range(depth))
    lines += [
        f"{inside}if x[({index}) % x.shape[0]] > 0:",
        f"{inside} out[i0] += x[({index}) % x.shape[0]] * i{depth - 1}",
        " return out",
    ]
    return "\n".join(lines)


def made(depth: int, path):
    source = path / f"nest_{depth}.py"
    source.write_text(nest(depth))
    space: dict = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    return space["f"]


@pytest.mark.any_backend
def test_a_nest_is_recorded_a_few_times_for_each_loop(tmp_path, monkeypatch):
    count = 0
    begin = Turns.begin

    def counted(*args, **kwargs):
        nonlocal count
        count += 1
        return begin(*args, **kwargs)

    monkeypatch.setattr(Turns, "begin", counted)
    x, out = np.random.default_rng(0).normal(size=7), np.zeros(5)
    counts = []
    for depth in (2, 3, 4, 5):
        count, f = 0, made(depth, tmp_path)
        lw.function(f).get_concrete_function(x, out)
        counts.append(count)
    grows = np.diff(counts)
    assert grows[-1] <= 2 * grows[0] + 4, counts


@pytest.mark.parametrize("depth", [2, 4])
def test_a_nest_leaves_what_it_does(tmp_path, depth):
    f = made(depth, tmp_path)
    x, out = np.random.default_rng(1).normal(size=7), np.ones(5)
    concrete = lw.function(f).get_concrete_function(x, out)
    np.testing.assert_allclose(concrete(x, out), f(x, out), rtol=1e-12)


def test_arrays_of_a_turn_around_are_another_one_in_each():
    def f(x):
        total = np.zeros(6)
        for i in range(40):
            own = np.zeros(6)
            for j in range(20):
                own[j % 6] += x[j % 6] * i
                for k in range(20):
                    if x[k % 6] > 0:
                        own[k % 6] -= 0.5
            total += own
        return total

    x = np.random.default_rng(2).normal(size=6)
    concrete = lw.function(f).get_concrete_function(x)
    np.testing.assert_allclose(concrete(x), f(x), rtol=1e-12)
    xs = np.random.default_rng(3).normal(size=(4, 6))
    np.testing.assert_allclose(lw.vmap(f)(xs), np.stack([f(x) for x in xs]), rtol=1e-12)
