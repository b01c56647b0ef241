"""Fits the polynomials of `codegen.mathlib`: Remez' exchange algorithm, in mpmath.

The coefficients in the source were made by it, then rounded to floats. Where the first ones are
given (1 and 1/2 of exp, the float next to ln 2 of exp2), the others are fitted to what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf


def remez(
    function: Callable[[Any], Any],
    low: Any,
    high: Any,
    powers: Sequence[int],
    weight: Callable[[Any], Any],
) -> tuple[list[Any], Any]:
    """Return the coefficients of some powers that keep ``weight(x) * abs(error)`` least, and that.

    >>> (a, b), most = remez(mpmath.exp, mpf(-1), mpf(1), (0, 1), lambda x: 1)
    >>> print(mpmath.nstr(a, 4), mpmath.nstr(b, 4), mpmath.nstr(most, 3))
    1.264 1.175 0.279
    """
    low, high, count = mpf(low), mpf(high), len(powers)
    size = 24 * count
    dense = [  # both ends are in it; the middle, where the weight may be 0, is not
        (low + high) / 2 - (high - low) / 2 * mpmath.cos(mpmath.pi * i / (size - 1))
        for i in range(size)
    ]
    points = [dense[round(i * (size - 1) / count)] for i in range(count + 1)]
    wanted = [(x, function(x), weight(x)) for x in dense]
    coefficients: list[Any] = []
    most = mpf(0)
    for _ in range(25):
        system = mpmath.matrix(count + 1, count + 1)
        right = mpmath.matrix(count + 1, 1)
        for row, x in enumerate(points):
            for column, power in enumerate(powers):
                system[row, column] = weight(x) * x**power
            system[row, count] = (-1) ** row
            right[row] = weight(x) * function(x)
        solution = mpmath.lu_solve(system, right)
        coefficients = [solution[i] for i in range(count)]
        off = [(evaluate(coefficients, powers, x) - y) * w for x, y, w in wanted]
        most = max(abs(value) for value in off)
        if most <= abs(solution[count]) * (1 + mpf(10) ** -3):
            break
        points = _extrema(dense, off, count + 1) or points
    return coefficients, most


def evaluate(coefficients: Sequence[Any], powers: Sequence[int], x: Any) -> Any:
    return sum(c * x**p for c, p in zip(coefficients, powers, strict=True))


def _extrema(xs: list[Any], off: list[Any], count: int) -> list[Any] | None:
    """Return where the error is largest between changes of its sign; None if they are too few."""
    runs: list[tuple[Any, Any]] = []
    for x, value in zip(xs, off, strict=True):
        if runs and (runs[-1][1] > 0) == (value > 0):
            if abs(value) > abs(runs[-1][1]):
                runs[-1] = (x, value)
        else:
            runs.append((x, value))
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return [x for x, _ in runs] if len(runs) == count else None


def fit(
    function: Callable[[Any], Any],
    low: Any,
    high: Any,
    powers: Sequence[int],
    weight: Callable[[Any], Any] = lambda x: mpf(1),
    dtype: Any = np.float64,
    given: Sequence[float] = (),
    digits: int = 80,
) -> tuple[list[float], float]:
    """Return coefficients that are floats, and the base-2 logarithm of the largest weighted error.

    The coefficients of the first powers may be given.
    """
    with mpmath.workdps(digits):
        known = list(zip(map(mpf, given), powers, strict=False))
        least = powers[len(given)]

        # What is left is divided by the least power left: its sign does not disturb the others.
        def left(x: Any) -> Any:
            return (function(x) - sum(c * x**p for c, p in known)) / x**least

        shifted = [p - least for p in powers[len(given) :]]
        coefficients, _ = remez(left, low, high, shifted, lambda x: weight(x) * abs(x**least))
        found = [*given, *[float(dtype(float(c))) for c in coefficients]]
        exact = [mpf(c) for c in found]
        steps = 40 * len(powers)
        span = mpf(high) - mpf(low)
        most = max(
            abs(evaluate(exact, powers, x) - function(x)) * weight(x)
            for x in [mpf(low) + span * (2 * i + 1) / (2 * steps) for i in range(steps)]
        )
        return found, float(mpmath.log(most, 2))
