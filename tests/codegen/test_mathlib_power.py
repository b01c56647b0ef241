"""pow, cbrt, hypot, logaddexp and logaddexp2: errors, special values, exact cases."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from lanewise.codegen.elementwise.ufuncs import through_float32
from lanewise.codegen.mathlib import power
from support import ulp

#: The largest error of each function in ULP, for float64 and float32.
BOUNDS = {
    "pow": (1.0, 0.6),
    "cbrt": (0.6, 0.6),
    "hypot": (1.0, 1.0),
}
#: The same, in ULP of the largest of both operands and the result: the sum may be about 0.
SUM_BOUNDS = {
    "logaddexp": (2.0, 2.0),
    "logaddexp2": (2.0, 2.0),
}
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])
SPECIAL = [
    *(0.0, 1.0, 2.0, 3.0, 4.0, 0.5, 0.25, 0.75, 1.0 - 2.0**-24, 1.0 + 2.0**-23),
    *(7.0, 2.0**23 - 1, 2.0**24, 1e30, np.inf, np.nan),
]


def bound(name: str, dtype: Any) -> float:
    return BOUNDS[name][dtype == np.float32]


def real_power(x: Any, y: Any) -> Any:
    """Return x**y for finite numbers, as C99 has it; powers far out of range only roughly."""
    if x == 0:
        return mpf(1) if y == 0 else mpf(0) if y > 0 else mpmath.inf
    if x < 0 and y != mpmath.floor(y):
        return mpmath.nan
    sign = -1 if x < 0 and mpmath.fmod(y, 2) != 0 else 1
    exponent = y * mpmath.log(abs(x)) / mpmath.ln2
    if abs(exponent) > 5000:
        return sign * mpf(2) ** (5000 if exponent > 0 else -5000)
    with mpmath.extraprec(40):
        return sign * mpmath.exp(y * mpmath.log(abs(x)))


def powers(dtype: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bases and exponents: the results are all over the range, subnormals too."""
    random = np.random.default_rng(1)
    emax = np.finfo(dtype).maxexp
    share = count // 4
    x = np.concatenate(
        [
            random.uniform(0, 10, share),
            random.uniform(0.70, 0.72, share),
            random.uniform(1.40, 1.42, share),
            2 ** random.uniform(-emax, emax, share),
        ]
    ).astype(dtype)
    exponents = random.uniform(-emax - 60, emax, x.size)
    with np.errstate(all="ignore"):
        y = (exponents / np.log2(x.astype(np.float64))).astype(dtype)
    y[:share] = random.uniform(-20, 20, share)
    return x, np.where(np.isfinite(y), y, dtype(2))


@BOTH
def test_error_of_pow(dtype):
    x, y = powers(dtype, ulp.EXAMPLES)
    ulp.assert_within(bound("pow", dtype), power.pow, real_power, x, y)


@BOTH
def test_error_of_pow_of_any_bits(dtype):
    random = np.random.default_rng(2)
    x = ulp.random_bits(dtype, ulp.EXAMPLES // 2, 3)
    y = (random.uniform(-30, 30, x.size) / 4).astype(dtype)
    whole = random.random(x.size) < 0.5
    ulp.assert_within(bound("pow", dtype), power.pow, real_power, x, np.where(whole, y.round(), y))


@BOTH
def test_special_values_of_pow(dtype):
    """Each special number to the power of each: where NumPy's result is exact, it is the same."""
    special = np.array(
        [*SPECIAL, *[-x for x in SPECIAL], np.finfo(dtype).smallest_subnormal], dtype
    )
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    found = ulp.run_all_forms(power.pow, x, y)
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
    exact = ~np.isfinite(wanted) | (wanted == 0) | (np.abs(x) == 1) | (y == 0) | (y == 1)
    assert exact.sum() > 500
    assert ulp.same(found, wanted)[exact].all()
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


@BOTH
def test_whole_powers_are_exact(dtype):
    """Where the result has few enough digits it has no error."""
    digits = ulp.FORMATS[np.dtype(dtype)].digits
    rows = [
        (base, exponent, base**exponent)
        for base in (*range(-20, 0), *range(1, 21), 100, 1000, 0.5, 1.5)
        for exponent in range(25)
        if abs(base) ** exponent < 2**digits and float(base**exponent).hex()
    ]
    exact = [row for row in rows if dtype(row[2]) == row[2]]
    x, y, wanted = (np.array(column, dtype) for column in zip(*exact, strict=True))
    assert ulp.same(ulp.run_all_forms(power.pow, x, y), wanted).all()


@BOTH
def test_error_of_cbrt(dtype):
    x = ulp.points(dtype, (-10, 10), (0.3, 3))

    def reference(x: Any) -> Any:
        return mpmath.sign(x) * mpmath.cbrt(abs(x))

    ulp.assert_within(bound("cbrt", dtype), power.cbrt, reference, x)


@BOTH
def test_special_values_of_cbrt(dtype):
    exact = np.arange(-100, 101, dtype=dtype)
    x = np.concatenate([np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype), exact**3])
    found = ulp.run_all_forms(power.cbrt, x)
    assert ulp.same(found[:5], x[:5]).all()
    assert (found[5:] == exact).all()


@BOTH
def test_error_of_hypot(dtype):
    random = np.random.default_rng(4)
    x = ulp.points(dtype, (-3, 3))
    y = x * random.uniform(0.25, 4, x.size).astype(dtype)
    y = np.where(np.isfinite(y), y, x)
    other = ulp.points(dtype, (-3, 3), seed=9)
    x, y = np.concatenate([x, x]), np.concatenate([y, other])

    def reference(x: Any, y: Any) -> Any:
        with mpmath.extraprec(2000 if x != 0 and y != 0 else 0):
            square = x * x + y * y
        return mpmath.sqrt(square)

    ulp.assert_within(bound("hypot", dtype), power.hypot, reference, x, y)


@BOTH
def test_special_values_of_hypot(dtype):
    form = np.finfo(dtype)
    numbers = [0.0, 1.0, 3.0, 4.0, np.inf, np.nan, form.max, form.tiny, form.smallest_subnormal]
    special = np.array([*numbers, *[-x for x in numbers]], dtype)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    kept = ~((np.abs(x) == np.abs(y)) & np.isin(np.abs(x), [1, 3, 4]))  # their roots are not exact
    kept &= ~((np.abs(x) + np.abs(y) == 4) & (np.abs(x) != 4) & (np.abs(y) != 4))
    found = ulp.run_all_forms(power.hypot, x, y)
    with np.errstate(all="ignore"):
        wanted = np.hypot(x, y)
    assert ulp.same(found, wanted)[kept & ~((x == y) & (np.abs(x) == form.tiny))].all()


@pytest.mark.parametrize("name", SUM_BOUNDS)
@BOTH
def test_error_of_sums(name, dtype):
    random = np.random.default_rng(5)
    count = ulp.EXAMPLES
    x = np.concatenate([random.uniform(-2, 2, count // 2), random.uniform(-700, 700, count // 2)])
    y = x + random.uniform(-40, 40, count)
    y[: count // 4] = random.uniform(-2, 2, count // 4)
    x, y = x.astype(dtype), y.astype(dtype)
    found = ulp.run_all_forms(getattr(power, name), x, y)
    base = mpmath.ln2 if name == "logaddexp2" else mpf(1)

    def reference(x: Any, y: Any) -> Any:
        low, high = sorted((x, y))
        return high + mpmath.log1p(mpmath.exp((low - high) * base)) / base

    true = ulp.true_values(reference, x, y)
    scale = [
        max(abs(r), abs(mpf(float(a))), abs(mpf(float(b))))
        for r, a, b in zip(true, x, y, strict=True)
    ]
    spacing = np.spacing(np.array([dtype(float(v)) for v in scale])).astype(np.float64)
    error = np.array([abs(float(mpf(float(v)) - t)) for v, t in zip(found, true, strict=True)])
    assert (error / spacing).max() <= SUM_BOUNDS[name][dtype == np.float32]


@pytest.mark.parametrize("name", SUM_BOUNDS)
@BOTH
def test_special_values_of_sums(name, dtype):
    special = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30], dtype)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    ulp.assert_same(getattr(power, name), getattr(np, name), x, y)


@pytest.mark.parametrize("name", [*BOUNDS, *SUM_BOUNDS])
def test_half_precision(name):
    random = np.random.default_rng(6)
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    operands = [x] if name == "cbrt" else [x, random.permutation(x)]
    found = ulp.run_all_forms(through_float32(getattr(power, name)), *operands)
    with np.errstate(all="ignore"):
        numpy = {"pow": np.power}.get(name, getattr(np, name, None))
        true = numpy(*[a.astype(np.float64) for a in operands])
        wanted = true.astype(np.float16)
    finite = np.isfinite(wanted)
    assert ulp.same(found, wanted)[~finite].all()
    spacing = np.spacing(np.abs(wanted[finite])).astype(np.float64)
    assert (np.abs(found[finite] - true[finite]) <= 0.502 * spacing).all()
