"""Measures how far the mathematics of `codegen.mathlib` is from the truth, as mpmath has it.

An error is counted in units in the last place (ULP) of the true value: the distance of the two
floats between which it lies (for subnormal results that of all subnormals). An infinite result
counts as 2**1024 (2**128 for float32), so that an overflow is no error just where rounding says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

from support.draws import examples
from support.driver import compile_elementwise

#: Points of each measurement. More look for worse ones: LANEWISE_EXAMPLES=100000.
EXAMPLES = examples(1000)

#: Bits that the references are computed with (30 more digits than a float64 has, and cheap).
PRECISION = 160


@dataclass(frozen=True)
class Format:
    """A binary format: digits of the significand, exponents of the least and largest binade."""

    digits: int
    least: int
    largest: int
    bits: Any


FORMATS = {
    np.dtype(np.float16): Format(11, -14, 15, np.uint16),
    np.dtype(np.float32): Format(24, -126, 127, np.uint32),
    np.dtype(np.float64): Format(53, -1022, 1023, np.uint64),
}


def error(found: float, true: Any, dtype: Any) -> float:
    """Return the distance of a float from an mpmath number, in ULP; infinite if one is NaN.

    >>> error(1.0, mpf(1) + mpf(2) ** -52, np.float64)
    1.0
    """
    form = FORMATS[np.dtype(dtype)]
    if isinstance(true, mpmath.mpc) or mpmath.isnan(true):
        return 0.0 if np.isnan(found) else np.inf
    if np.isnan(found):
        return np.inf
    if mpmath.isinf(true):
        return 0.0 if found == float(true) else np.inf
    exponent = min(max(_exponent(true), form.least), form.largest) - form.digits + 1
    given = mpf(float(found))
    if np.isinf(found):
        given = mpmath.ldexp(mpmath.sign(given), form.largest + 1)
        if abs(true) >= abs(given) and mpmath.sign(true) == mpmath.sign(given):
            return 0.0
    return float(min(mpmath.ldexp(abs(given - true), -exponent), mpf(10) ** 300))


def _exponent(x: Any) -> int:
    """Return e with 2**e <= abs(x) < 2**(e + 1)."""
    if x == 0:
        return -(10**9)
    _, _, exponent, count = x._mpf_
    return int(exponent + count - 1)


def true_values(reference: Callable[..., Any], *inputs: np.ndarray) -> list[Any]:
    """Return the reference at each point; NaN where it has no real value."""
    with mpmath.workprec(PRECISION):
        return [
            _real(reference(*[mpf(float(x)) for x in row])) for row in zip(*inputs, strict=True)
        ]


def _real(value: Any) -> Any:
    return mpf("nan") if isinstance(value, mpmath.mpc) and value.imag != 0 else mpmath.re(value)


def errors(found: np.ndarray, true: list[Any]) -> np.ndarray:
    """Return the error of each result in ULP."""
    with mpmath.workprec(PRECISION):
        pairs = zip(found, true, strict=True)
        return np.array([error(x, y, found.dtype) for x, y in pairs])


# --- points ---------------------------------------------------------------------------------------


def random_bits(dtype: Any, count: int, seed: int = 0) -> np.ndarray:
    """Return numbers of any sign and exponent, each alike probable: subnormals too, no NaN."""
    dtype = np.dtype(dtype)
    form = FORMATS[dtype]
    words = np.random.default_rng(seed).integers(
        0, np.iinfo(form.bits).max, count, form.bits, endpoint=True
    )
    numbers = words.view(dtype)
    return np.where(np.isfinite(numbers), numbers, dtype.type(1.5))


def within(low: float, high: float, dtype: Any, count: int, seed: int = 0) -> np.ndarray:
    """Return numbers that are uniform in an interval."""
    random = np.random.default_rng(seed)
    return (low + (high - low) * random.random(count)).astype(dtype)


def near(values: Any, dtype: Any, steps: int = 3) -> np.ndarray:
    """Return the floats next to some values: themselves, and some steps to both sides."""
    middle = np.atleast_1d(np.asarray(values, dtype))
    found = [middle]
    for direction in (-np.inf, np.inf):
        at = middle
        for _ in range(steps):
            with np.errstate(over="ignore"):
                at = np.nextafter(at, np.asarray(direction, dtype))
            found.append(at)
    joined = np.concatenate(found)
    return joined[np.isfinite(joined)]


def edges(dtype: Any) -> np.ndarray:
    """Return the finite numbers at the edges of the format, of both signs, and simple ones."""
    form = np.finfo(dtype)
    simple = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 16.0, 100.0, 1000.0]
    limits = [form.smallest_subnormal, form.tiny, form.eps, form.max, form.tiny * 0.5, 1 / form.eps]
    both = np.concatenate([near(simple, dtype), near(limits, dtype)])
    return np.concatenate([both, -both])


def specials(dtype: Any) -> np.ndarray:
    """Return the edges with both infinities and NaN."""
    return np.concatenate([edges(dtype), np.array([np.inf, -np.inf, np.nan], dtype)])


def points(dtype: Any, *intervals: tuple[float, float], seed: int = 0) -> np.ndarray:
    """Return the points of a measurement: edges, random bits, and uniform ones in intervals.

    Half of the points are in the intervals; with none of them all have random bits.
    """
    share = EXAMPLES // 2 if intervals else EXAMPLES
    parts = [edges(dtype), random_bits(dtype, share, seed)]
    for number, (low, high) in enumerate(intervals):
        parts.append(within(low, high, dtype, share // len(intervals), seed + 1 + number))
    return np.concatenate(parts)


# --- checks ---------------------------------------------------------------------------------------


def run_all_forms(function: Callable[..., Any], *inputs: np.ndarray) -> np.ndarray:
    """Run a function of Vecs; assert that vectors of any kind and scalars give the same bits."""
    dtypes = tuple([x.dtype for x in inputs])
    found = compile_elementwise(function, dtypes, group=8)(*inputs)
    other = {"scalar": {"group": 0}, "two parts": {"group": 4, "parts": 2}}
    for form, keywords in other.items():
        again = compile_elementwise(function, dtypes, **keywords)(*inputs)
        differ = ~same(found, again)
        assert not differ.any(), (
            f"{form} differs at {_named(inputs, differ)}: {found[differ][:3]}, {again[differ][:3]}"
        )
    return found


def same(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return where both are the same number with the same sign, or both NaN."""
    equal = (found == expected) & (np.signbit(found) == np.signbit(expected))
    return equal | (np.isnan(found) & np.isnan(expected))


def worst(
    function: Callable[..., Any], reference: Callable[..., Any], *inputs: np.ndarray
) -> tuple[float, str]:
    """Return the largest error of a function of Vecs in ULP, and where it is; in all forms."""
    found = run_all_forms(function, *inputs)
    wrong = errors(found, true_values(reference, *inputs))
    at = int(np.argmax(wrong))
    return float(wrong[at]), f"{[x[at].item().hex() for x in inputs]} -> {found[at].item().hex()}"


def assert_within(
    bound: float, function: Callable[..., Any], reference: Callable[..., Any], *inputs: np.ndarray
) -> None:
    """Assert that a function of Vecs is within `bound` ULP of the reference at all points."""
    most, where = worst(function, reference, *inputs)
    assert most <= bound, f"{most:.3f} ULP, more than {bound}, at {where}"


def assert_same(function: Callable[..., Any], expected: Callable[..., Any], *inputs: Any) -> None:
    """Assert that a function of Vecs gives just what NumPy's or SciPy's gives: sign of zero too."""
    found = run_all_forms(function, *inputs)
    with np.errstate(all="ignore"):
        wanted = expected(*inputs)
    differ = ~same(found, wanted)
    assert not differ.any(), (
        f"at {_named(inputs, differ)}: {found[differ][:5]}, not {wanted[differ][:5]}"
    )


def _named(inputs: tuple[np.ndarray, ...], mask: np.ndarray) -> str:
    return str([tuple(x[i].item() for x in inputs) for i in np.flatnonzero(mask)[:5]])
