"""Ordinary array programs, drawn at random: forms of loops and slices, each in many variants.

A form draws its sizes, its dtype and how it is written, and returns the text of a function ``f`` of
NumPy arrays with the arguments to call it with. Costs of plain NumPy lie between microseconds and
about a second.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np

FORMS: dict[str, Callable[[Draw], Program]] = {}


class Program(NamedTuple):
    """A function as text, and its arguments."""

    source: str
    arguments: tuple[Any, ...]


class Draw:
    """What a form is drawn from; `scale` divides sizes, for tests."""

    def __init__(self, seed: str, scale: float = 1.0) -> None:
        self.random = Random(seed)
        self.numbers = np.random.default_rng(self.random.randrange(2**32))
        self.scale = scale
        self.dtype = self.random.choice([np.float64, np.float64, np.float32])

    def size(self, low: int, high: int) -> int:
        """Return a size, small ones as often as large ones."""
        low, high = max(2, int(low / self.scale)), max(3, int(high / self.scale))
        return round(low * (high / low) ** self.random.random())

    def pick(self, *choices: str) -> str:
        """Return one of several ways to write the same."""
        return self.random.choice(choices)

    def array(self, *shape: int) -> np.ndarray:
        """Return normal numbers."""
        return self.numbers.normal(size=shape).astype(self.dtype)

    def matrix(self, size: int) -> np.ndarray:
        """Return a matrix that is positive definite."""
        a = self.numbers.normal(size=(size, size))
        return (a @ a.T + size * np.eye(size)).astype(self.dtype)

    def integers(self, low: int, high: int, *shape: int) -> np.ndarray:
        return self.numbers.integers(low, high, shape)


def form(make: Callable[[Draw], Program]) -> Callable[[Draw], Program]:
    """Enter a form under its name."""
    FORMS[make.__name__] = make
    return make


def program(seed: str, scale: float = 1.0) -> tuple[str, Program]:
    """Return a form and what is drawn of it."""
    from benchmarks.cliffs import arrays, loops  # noqa: F401  (which enter their forms)

    draw = Draw(seed, scale)
    name = draw.random.choice(sorted(FORMS))
    return name, FORMS[name](draw)
