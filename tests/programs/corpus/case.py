"""What a program of the corpus comes with: examples that diverge, and what it must give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Case:
    """A function of one example, with examples in a batch that take different ways through it.

    `expect` checks the function itself, so that the loop over examples is an oracle: a function
    written independently, or a few arguments with the answers that are known for them. `bad` are
    the arguments of one example for which the function raises `error`.
    """

    func: Callable[..., Any]
    batch: Sequence[np.ndarray]
    expect: Callable[..., Any] | Sequence[tuple[tuple[Any, ...], Any]]
    rtol: float = 1e-9
    bad: tuple[Any, ...] = ()
    error: type[Exception] | None = None


def column(*values: Any, dtype: Any = None) -> np.ndarray:
    """Return a batch of numbers."""
    return np.array(values, dtype)


def padded(rows: Sequence[Sequence[Any] | str], size: int, dtype: Any = np.int64) -> np.ndarray:
    """Return rows of several lengths (or texts, as codes) as one batch, filled up with zeros."""
    out = np.zeros((len(rows), size), dtype)
    for i, row in enumerate(rows):
        values = [ord(c) for c in row] if isinstance(row, str) else list(row)
        out[i, : len(values)] = values
    return out


def lengths(rows: Sequence[Sequence[Any] | str], dtype: Any = np.int64) -> np.ndarray:
    """Return how long each row is."""
    return np.array([len(row) for row in rows], dtype)
