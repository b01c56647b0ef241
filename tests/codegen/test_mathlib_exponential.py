"""exp, exp2, expm1, log, log2, log10 and log1p: their errors, special values and exact cases."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from lanewise.codegen.elementwise.ufuncs import through_float32
from lanewise.codegen.mathlib import arithmetic, exponential
from lanewise.codegen.processor import Machine, machine
from support import ulp
from support.driver import compile_elementwise

#: The largest error of each function in ULP, for float64 and float32.
BOUNDS = {
    "exp": (1.0, 1.0),
    "exp2": (1.0, 1.0),
    "expm1": (1.0, 1.0),
    "log": (1.0, 1.0),
    "log2": (1.0, 1.0),
    "log10": (1.0, 1.0),
    "log1p": (1.0, 1.0),
}
REFERENCES: dict[str, Any] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpf(2) ** x,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.ln2,
    "log10": lambda x: mpmath.log(x) / mpmath.ln10,
    "log1p": mpmath.log1p,
}
_LOG = [(0, 2), (0.7, 0.71), (1.4, 1.42), (0.99, 1.01), (1, 1000)]
INTERVALS = {
    "exp": [(-746, 710), (-104, 89), (-1, 1), (-745.2, -708), (-103.98, -87)],
    "exp2": [(-1075, 1024), (-150, 128), (-1, 1), (-1075, -1022), (-150, -126)],
    "expm1": [(-40, 710), (-18, 89), (-1, 1), (36.7, 37.8), (16.9, 17.7)],
    "log": _LOG,
    "log2": _LOG,
    "log10": _LOG,
    "log1p": [(-1, 1), (-0.3, -0.29), (0.41, 0.42), (-0.01, 0.01), (1, 1000)],
}
EACH = pytest.mark.parametrize("name", BOUNDS)
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def function(name: str) -> Any:
    return getattr(exponential, name)


@EACH
@BOTH
def test_error(name, dtype):
    bound = BOUNDS[name][dtype == np.float32]
    ulp.assert_within(bound, function(name), REFERENCES[name], ulp.points(dtype, *INTERVALS[name]))


@EACH
@BOTH
def test_special_values(name, dtype):
    """0 with its sign, infinities, NaN, overflow, underflow, and where there is no real result."""
    least = np.finfo(dtype).smallest_subnormal
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, np.finfo(dtype).min]
    if name.startswith("log"):
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, -2.0, -least, np.finfo(dtype).min]
    if name in ("expm1", "log1p"):
        special += [least, -least]
    ulp.assert_same(function(name), getattr(np, name), np.array(special, dtype))


@BOTH
def test_overflow_begins_where_rounding_says(dtype):
    """The last number with a finite exponential, and the last with one that is not 0."""
    form = np.finfo(dtype)
    with mpmath.workprec(ulp.PRECISION):
        top = float(mpmath.log(mpf(float(form.max))))
        bottom = float(mpmath.log(mpf(float(form.smallest_subnormal)) / 2))
        x = np.concatenate([ulp.near(top, dtype, 20), ulp.near(bottom, dtype, 20)])
        wanted = np.array([dtype(_rounded(mpmath.exp(mpf(float(v))), dtype)) for v in x])
    found = ulp.run_all_forms(exponential.exp, x)
    assert (np.isinf(found) == np.isinf(wanted)).all()
    assert ((found == 0) == (wanted == 0)).all()
    assert np.isinf(found).any() and (found == 0).any()


def _rounded(value: Any, dtype: Any) -> float:
    form = ulp.FORMATS[np.dtype(dtype)]
    limit = mpf(2) ** (form.largest + 1) * (1 - mpf(2) ** -(form.digits + 1))
    least = mpf(2) ** (form.least - form.digits + 1)
    return float("inf") if value >= limit else 0.0 if value <= least / 2 else float(value)


@BOTH
def test_powers_of_two_are_exact(dtype):
    form = np.finfo(dtype)
    powers = np.arange(form.minexp - form.nmant, form.maxexp)
    x = powers.astype(dtype)
    numbers = np.ldexp(np.ones_like(x), powers.astype(np.int32))
    assert (ulp.run_all_forms(exponential.exp2, x) == numbers).all()
    assert (ulp.run_all_forms(exponential.log2, numbers) == x).all()


@pytest.mark.parametrize(("dtype", "count"), [(np.float64, 23), (np.float32, 11)])
def test_powers_of_ten_are_exact(dtype, count):
    numbers = np.array([10**n for n in range(count)], dtype)
    assert (ulp.run_all_forms(exponential.log10, numbers) == np.arange(count)).all()


@EACH
def test_half_precision(name):
    """All 65,536 numbers, through float32: rounded once more, which is half an ULP."""
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    found = ulp.run_all_forms(through_float32(function(name)), x)
    with np.errstate(all="ignore"):
        true = getattr(np, name)(x.astype(np.float64))
        wanted = true.astype(np.float16)
    finite = np.isfinite(wanted) & np.isfinite(found)
    assert (np.isfinite(wanted) == np.isfinite(found)).all()
    assert ulp.same(found, wanted)[~finite].all()
    spacing = np.spacing(np.abs(wanted[finite])).astype(np.float64)
    assert (np.abs(found[finite] - true[finite]) <= 0.501 * spacing).all()


@EACH
@BOTH
def test_without_instructions_of_its_own(name, dtype, monkeypatch):
    """Processors without those of AVX-512 get the same bits, of subnormal results too."""
    x = np.concatenate([ulp.points(dtype, *INTERVALS[name]), ulp.specials(dtype)])
    expected = compile_elementwise(function(name), (dtype,), 64 // x.itemsize)(x)
    other = Machine("x86-64", "", machine().triple)
    monkeypatch.setattr(arithmetic, "machine", lambda: other)
    found = compile_elementwise(function(name), (dtype,), 64 // x.itemsize)(x)
    assert ulp.same(found, expected).all()
