"""Random programs that assign variables, beside the same programs on plain objects."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.draws import seeds


class Plain:
    """What a `Variable` is to code that is not traced."""

    def __init__(self, value: Any) -> None:
        self.value = np.array(value)

    def assign(self, value: Any) -> None:
        self.value = np.array(value, self.value.dtype)

    def assign_add(self, value: Any) -> None:
        self.value = self.value + value

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = self.value.copy()
        self.value[key] = value


def expression(rng: random.Random, depth: int = 0) -> str:
    if depth > 2 or rng.random() < 0.4:
        return rng.choice(["v.value[0]", "w.value[1]", "u.value", "x[0]", "x[1]", "1.5", "y"])
    left, right = expression(rng, depth + 1), expression(rng, depth + 1)
    return f"({left} {rng.choice('+-*')} {right})"


def simple(rng: random.Random) -> str:
    value = expression(rng)
    return rng.choice(
        [
            f"u.assign(np.tanh({value}))",
            f"v[{rng.randint(0, 1)}] = np.tanh({value})",
            f"w.assign(np.tanh(v.value + {value}))",
            f"u.assign_add({value} * 0.1)",
            f"y = np.cos({value})",
        ]
    )


def statements(rng: random.Random, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for _ in range(rng.randint(1, 3)):
        kind = "simple" if depth == 3 else rng.choice(["simple", "simple", "if", "for", "while"])
        if kind == "simple":
            lines.append(simple(rng))
            continue
        inner = ["    " + line for line in statements(rng, depth + 1)]
        if kind == "if":
            lines += [f"if {expression(rng)} > 0.2:", *inner]
            if rng.random() < 0.5:
                lines += ["else:", *["    " + line for line in statements(rng, depth + 1)]]
        elif kind == "for":
            lines += [f"for i{depth} in range({rng.randint(1, 3)}):", *inner]
            if rng.random() < 0.4:
                lines.append(f"    if {expression(rng)} > 0.5: break")
        else:
            lines += [f"n{depth} = np.abs({expression(rng)}) % 4", f"while n{depth} > 0.5:"]
            lines += [f"    n{depth} = n{depth} - 1", *inner]
    return lines


def program(seed: int) -> Any:
    rng = random.Random(seed)
    body = ["y = x[0]", *statements(rng), *statements(rng)]
    body.append("return y, v.value + w.value, u.value")
    text = "def run(v, w, u, x):\n" + "".join(f"    {line}\n" for line in body)
    name = f"<state {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    found: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), found)
    return found["run"]


CASES = [("interpret", seed) for seed in seeds(12)] + [("native", seed) for seed in seeds(4)]


@pytest.mark.parametrize(("backend", "seed"), CASES)
def test_equals_plain_python(backend: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    run = program(seed)
    values = [np.array([0.3, -0.2]), np.array([0.1, 0.7]), 0.25]
    traced, plain = [lw.Variable(v) for v in values], [Plain(v) for v in values]
    function = lw.function(lambda x: run(*traced, x))
    for call in range(4):
        x = np.random.default_rng(call).normal(size=2)
        for got, expected in zip(function(x), run(*plain, x), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
        for got, expected in zip(traced, plain, strict=True):
            np.testing.assert_allclose(got.value, expected.value, rtol=1e-9, atol=1e-9)
    assert function.experimental_get_tracing_count() == 1
