"""The functions of numbers that ufuncs are made of, module by module: NumPy's results.

All pairs of the numbers at which something changes; the other tests of ufuncs go through tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

from lanewise.codegen.elementwise import (
    complex_functions,
    complex_inverse,
    division,
    real_ufuncs,
)
from lanewise.codegen.elementwise.complex_ufuncs import called, patched
from lanewise.codegen.elementwise.ufuncs import ROWS
from lanewise.codegen.mathlib import error_function, gamma, special
from lanewise.codegen.mathlib.exponential import exp_of_sum, log_pair
from lanewise.codegen.numbers import Complex
from support.driver import compile_all, compile_elementwise

FLOATS = np.array([0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 1e300, -5e-324, np.inf, -np.inf, np.nan])
INTS = np.array([0, 1, -1, 2, -3, 7, 100, -128, 127], np.int8)
PARTS = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan])


def pairs(values: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple([x.ravel() for x in np.meshgrid(values, values)])


def same(found: Any, wanted: Any, name: str) -> None:
    np.testing.assert_array_equal(found, wanted, err_msg=name)
    if np.asarray(wanted).dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(
            np.signbit(found[known]), np.signbit(wanted[known]), err_msg=f"signs of {name}"
        )


REAL: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "maximum": (ROWS["maximum"]["f"], np.maximum),
    "minimum": (ROWS["minimum"]["f"], np.minimum),
    "fmax": (ROWS["fmax"]["f"], np.fmax),
    "fmin": (ROWS["fmin"]["f"], np.fmin),
    "heaviside": (real_ufuncs.heaviside, np.heaviside),
    "nextafter": (real_ufuncs.nextafter, np.nextafter),
    "floor_divide": (division.floor_divide, np.floor_divide),
    "remainder": (division.remainder, np.remainder),
    "fmod": (division.fmod, np.fmod),
    "sign": (lambda x, y: real_ufuncs.sign(x), lambda x, y: np.sign(x)),
    "isfinite": (lambda x, y: real_ufuncs.isfinite(x), lambda x, y: np.isfinite(x)),
    "spacing": (lambda x, y: real_ufuncs.spacing(x), lambda x, y: np.spacing(x)),
    "square": (lambda x, y: ROWS["square"]["i u e f"](x), lambda x, y: np.square(x)),
}


@pytest.mark.parametrize("group", [8, 0], ids=["lanes", "scalar"])
def test_functions_of_two_floats(group):
    x, y = pairs(FLOATS)
    compiled = compile_all(
        {name: (ours, (float, float)) for name, (ours, _) in REAL.items()}, group
    )
    with np.errstate(all="ignore"):
        for name, (_, numpy) in REAL.items():
            found, wanted = compiled[name](x, y), numpy(x, y)
            if name in ("maximum", "minimum", "fmax", "fmin"):  # of two zeros either will do
                found, wanted = found + 0.0, wanted + 0.0
            same(found, wanted, name)


INTEGER = {
    "floor_divide": (division.floor_divide_int, np.floor_divide),
    "remainder": (division.remainder_int, np.remainder),
    "fmod": (division.fmod_int, np.fmod),
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_quotients_of_integers(dtype):
    x, y = pairs(INTS.astype(dtype) if dtype != np.int64 else INTS * np.int64(2**56))
    compiled = compile_all({name: (ours, (dtype, dtype)) for name, (ours, _) in INTEGER.items()})
    with np.errstate(all="ignore"):
        for name, (_, numpy) in INTEGER.items():
            same(compiled[name](x, y), numpy(x, y), name)


@pytest.mark.parametrize("divisor", [1, -1, 2, -8, 3, 7])
def test_quotients_by_a_known_integer(divisor):
    x = np.array([0, 1, -1, 7, -8, 2**62 + 1, -(2**63)])
    found = compile_elementwise(
        lambda x: division.divmod_int(x, x.e.constant("i64", divisor)), (int,)
    )(x)
    with np.errstate(all="ignore"):
        for ours, numpy in zip(found, np.divmod(x, divisor), strict=True):
            same(ours, numpy, str(divisor))


ON_COMPLEX: dict[str, Callable[..., Any]] = {
    name: ROWS[name]["c"]
    for name in ("add", "subtract", "equal", "less", "greater_equal", "maximum", "fmin")
}


@pytest.mark.parametrize("group", [8, 0], ids=["lanes", "scalar"])
def test_functions_of_two_complex_numbers(group):
    z = (PARTS[:, None] + 0j).ravel()
    z = np.concatenate([z, np.array([complex(a, b) for a in PARTS for b in PARTS])])
    x, y = pairs(z)
    dtypes = (complex, complex)
    compiled = compile_all({name: (ours, dtypes) for name, ours in ON_COMPLEX.items()}, group)
    with np.errstate(all="ignore"):
        for name in ON_COMPLEX:
            wanted = getattr(np, name)(x, y)
            np.testing.assert_array_equal(compiled[name](x, y), wanted, err_msg=name)


FUNCTIONS = {
    "exp": complex_functions.exp,
    "log": complex_functions.log,
    "sqrt": complex_functions.sqrt,
    "tanh": complex_functions.tanh,
    "arcsin": complex_inverse.arcsin,
    "arccos": complex_inverse.arccos,
    "arctanh": complex_inverse.arctanh,
    "arccosh": complex_inverse.arccosh,
}


def test_functions_of_complex_numbers():
    parts = np.array([-2.0, -0.5, -0.0, 0.0, 0.25, 3.0])
    z = np.array([complex(a, b) for a in parts for b in parts])
    compiled = compile_all({name: (ours, (complex,)) for name, ours in FUNCTIONS.items()})
    with np.errstate(all="ignore"):
        for name in FUNCTIONS:
            wanted = getattr(np, name)(z)
            np.testing.assert_allclose(compiled[name](z), wanted, 1e-14, 1e-15, err_msg=name)


SPECIAL = {
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "ndtr": error_function.ndtr,
    "erfinv": error_function.erfinv,
    "ndtri": error_function.ndtri,
    "gamma": gamma.gamma,
    "gammaln": gamma.gammaln,
    "digamma": gamma.digamma,
    "i0": special.i0,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_functions(dtype):
    """Roughly: `test_mathlib_special` has their bounds."""
    compiled = compile_all({name: (ours, (dtype,)) for name, ours in SPECIAL.items()})
    for name in SPECIAL:
        x = np.array(
            [0.05, 0.3, 0.75, 0.95] if name in ("erfinv", "ndtri") else [-0.7, 0.3, 2.5, 9.0]
        )
        x = x.astype(dtype)
        wanted = getattr(scipy.special, name)(x.astype(float))
        found = compiled[name](x)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, 1e-6 if dtype is np.float32 else 1e-13)


def test_sums_of_two_floats_keep_what_one_leaves_out():
    x = np.array([1.0 + 1e-9, 2.0, 3.7, 1e10, 1e-300, 700.0])
    high, low = compile_elementwise(log_pair, (float,))(x)
    back = compile_elementwise(exp_of_sum, (float, float))(high, low)
    np.testing.assert_allclose(back, x, rtol=3e-16)
    with mpmath.workprec(200):
        for sum_, more, number in zip(high, low, x, strict=True):
            true = mpmath.log(number)
            assert abs(mpmath.mpf(sum_) + more - true) < max(abs(true), 2.0**-30) * 2.0**-60


def test_long_code_stands_out_of_line_once():
    def turned(z: Complex) -> Complex:
        return Complex(z.im, -z.re)

    def function(z: Complex) -> Complex:
        usual = Complex(z.re + 1.0, z.im)
        once = patched("turned", usual, z.re < 0.0, turned, z)
        return called("turned", turned, once)

    z = np.array([1 + 2j, -3 + 1j])
    compiled = compile_elementwise(function, (complex,))
    want = np.where(z.real < 0, z.imag - 1j * z.real, z + 1)
    np.testing.assert_array_equal(compiled(z), want.imag - 1j * want.real)
    assert compiled.text.count("define internal") == 1


def test_pairs_of_results():
    def both(x, y):
        return tuple(x.e.called("both", lambda x, y: (x + y, x - y), x, y))

    plus, minus = compile_elementwise(both, (float, float))(np.array([3.0]), np.array([1.0]))
    assert (plus, minus) == (4, 2)
