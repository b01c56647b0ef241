"""Traced functions of many kinds, with arguments: what the tests of `save` and `load` write."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

import lanewise as lw

Point = namedtuple("Point", "x y")
RNG = np.random.default_rng(0)
WEIGHTS, BIAS = RNG.normal(size=(4, 3)), RNG.normal(size=3).astype(np.float32)
X = RNG.normal(size=(5, 4))


@dataclass
class State:
    """A container that is no class of Python's own."""

    u: Any
    v: Any


class TooLargeError(ValueError):
    """An exception of the user's own."""


def dense(x):
    return np.tanh(x @ WEIGHTS + BIAS)


def branches(x):
    total = x.sum()
    if total > 0:
        y = np.sqrt(total)
    elif total < -100:
        y = total * 2
    else:
        y = np.abs(total)
    return y, total > 0


def collatz(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
        if count > 200:
            raise TooLargeError(f"{n} after {count}", count)
    return count


def stencil(u, steps=3):
    for _ in range(steps):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    return u


def indexing(x, i):
    y = np.zeros(x.shape, x.dtype)
    y[i] = x[i] * 2
    np.add.at(y, i, 1.0)
    return np.take_along_axis(x, np.argsort(x, axis=1), axis=1), y, x[:, ::-2], x.T[1]


def numbers(x):
    return {
        "reduced": (x.sum(), x.max(axis=0), np.add.accumulate(x, axis=1), x.argmin(axis=1)),
        "complex": np.fft.fft(x)[..., 1:] * 1j,
        "narrow": [x.astype(np.float16), (x > 0).astype(np.int8), x > 0],
        "linear": np.linalg.solve(x.T @ x + np.eye(4), x.T),
        "rest": (np.where(x > 0, x, -0.0), np.inf, "text", None, 7, True, b"raw", 1 - 2j),
    }


def containers(p, s, *rest, scale=2.0, **more):
    return OrderedDict(
        point=Point(p.y * scale, p.x), state=State(s.v, rest[0] + more["shift"]), none=None
    )


def growing(x):
    out = lw.TensorArray()
    while x.sum() < 100:
        x = x * 2 + 1
        out.append(x.sum())
    return len(out), out.read(-1)


def stacked(x):
    out = lw.TensorArray()
    while x.sum() < 100:
        x = x * 2 + 1
        out.append(x)
    return out.stack().sum(axis=0).reshape(2, 2)


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


def checked(x):
    print("first", x[0], f"{x[1]:.2f}", sep="|")
    assert (x > -50).all(), f"bad: {x[0]}"
    return x / x.shape[0]


def rolled(x):
    def step(carry, row):
        return carry + row, carry * row

    return lw.scan(step, np.zeros(4), x)


def chosen(k, x):
    return lw.switch_case(k, [lambda x: x * 2, lambda x: x + 1, np.sin], x)


def cases() -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return functions by name, each with the arguments of a call."""
    spec = lw.TensorSpec
    positive = np.array([2.0, 9.0, 0.5])
    gradient = lw.vmap(lw.grad(newton))
    table = {
        "dense": (lw.function(dense), (X,)),
        "any_size": (lw.function(lw.vmap(dense), [spec([None, 4])]), (X,)),
        "square": (lw.function(lambda a: a + a.T, [spec(["n", "n"])]), (np.eye(3) + 2,)),
        "branches": (lw.function(branches), (X[0],)),
        "branches_mapped": (lw.function(lw.vmap(branches)), (X,)),
        "collatz": (lw.function(lw.vmap(collatz)), (np.array([7, 27, 1]),)),
        "stencil": (lw.function(stencil), (X[0],)),
        "indexing": (lw.function(indexing), (X, np.array([0, -1, 0]))),
        "numbers": (lw.function(numbers), (X,)),
        "growing": (lw.function(lw.vmap(growing)), (X,)),
        "stacked": (lw.function(stacked), (X[0],)),
        "gradient": (lw.function(gradient), (positive,)),
        "checked": (lw.function(checked), (X[1],)),
        "rolled": (lw.function(rolled), (X,)),
        "chosen": (lw.function(chosen), (np.array(1), X)),
        "nested": (lw.function(lw.vmap(lambda x: lw.vmap(lambda y: x @ y)(X))), (X,)),
    }
    found: dict[str, Any] = {name: (f, args, {}) for name, (f, args) in table.items()}
    args = (Point(X, X[0]), State(X, X[1]), X[2])
    found["containers"] = (lw.function(containers), args, {"scale": 3.0, "shift": X[3]})
    return found
