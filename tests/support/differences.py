"""Derivatives by differences: the oracle of the tests of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def jacobian(func: Callable[..., Any], x: Any, step: float = 1e-3) -> np.ndarray:
    """Return the Jacobian of a function of one array of floats, the axes of the result first.

    Central differences of the fourth order: the error is about step**4, and 1e-12 / step.
    """
    x = np.asarray(x, float)
    columns = []
    for index in np.ndindex(*x.shape):
        unit = np.zeros_like(x)
        unit[index] = step

        def at(times: float, unit: np.ndarray = unit) -> np.ndarray:
            moved = x + times * unit
            return np.asarray(func(moved if x.ndim else moved[()]), float)

        columns.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    if not columns:
        return np.zeros((*np.shape(func(x)), *x.shape))
    return np.reshape(np.stack(columns, -1), (*np.shape(columns[0]), *x.shape))


def assert_close(found: Any, expected: Any, rtol: float = 2e-8) -> None:
    """Assert that derivatives agree as far as differences are exact."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * float(scale))
