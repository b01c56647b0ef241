"""Error, gamma, Bessel and logistic functions, entropies: within their bounds, everywhere."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

from lanewise.codegen.elementwise.ufuncs import through_float32
from lanewise.codegen.mathlib import error_function, gamma, special
from support import special_references, ulp
from support.driver import compile_elementwise

KINDS = (np.float64, np.float32)

#: Bounds in ULP, for float64 and float32, that the functions are held to. Those of `gammaln` for
#: x below -1/2 and `digamma` below 0 are of ``max(1, abs(result))``: there they have zeros.
BOUNDS: dict[str, tuple[float, float]] = {
    "digamma": (4.0, 1.0),
    "digamma of negative numbers": (12.0, 1.0),
    "entr": (2.0, 2.0),
    "erf": (1.1, 1.0),
    "erfc": (4.0, 1.0),
    "erfcinv": (3.0, 1.0),
    "erfinv": (3.0, 1.0),
    "expit": (3.0, 3.0),
    "gamma": (4.0, 1.0),
    "gammaln": (4.0, 1.0),
    "gammaln of negative numbers": (6.0, 1.0),
    "i0": (4.0, 1.0),
    "log_expit": (2.0, 2.0),
    "logit": (2.0, 2.0),
    "ndtr": (4.0, 1.0),
    "ndtri": (4.0, 1.0),
    "rel_entr": (3.0, 3.0),
    "xlog1py": (2.0, 2.0),
    "xlogy": (2.0, 2.0),
}

FUNCTIONS = {
    name: function
    for module in (error_function, gamma, special)
    for name, function in vars(module).items()
    if name in BOUNDS
}

#: Of each function: the intervals that matter, and points at which formulas meet or vanish.
UNARY: dict[str, tuple[list[tuple[float, float]], list[float]]] = {
    "erf": ([(-6, 6), (-1, 1)], [1.0, 6.0, 4.0]),
    "erfc": ([(-6, 27.3), (-1, 1), (0, 10.1)], [0.65, 27.3, 26.5, 10.1]),
    "ndtr": ([(-38.5, 8), (-3, 3), (-14, 0)], [0.919, -0.919, -37.5, -38.4]),
    "erfinv": ([(-1, 1), (0.99, 1)], [0.99903, 0.9999999, 1.0, -1.0]),
    "erfcinv": ([(0, 2), (0, 0.01)], [0.5, 1.0, 1.5, 2.0**-53, 2.0**-225]),
    "ndtri": ([(0, 1), (0, 0.01)], [0.25, 0.5, 0.75]),
    "gamma": ([(0, 8), (8, 172), (0, 35)], [1.0, 2.0, 8.0, 171.6, 35.0]),
    "gammaln": ([(-0.5, 3), (0, 10), (0, 1000)], [1.0, 1.25, 1.5, 2.0, 0.5, 2.5, 7.5]),
    "digamma": ([(0, 10), (1, 2), (0, 1000)], [1.4616321449683622, 1, 2, 3, 4, 8]),
    "expit": ([(-40, 40), (-750, 1), (-105, 1)], [0.0, -745.0]),
    "log_expit": ([(-40, 40), (-2, 2)], [0.0, 36.0]),
    "logit": ([(0, 1), (0.2, 0.3), (0.49, 0.51)], [0.5, 1.0, 2.0**-1000, 2.0**-100]),
    "entr": ([(0, 3), (0.9, 1.1)], [1.0]),
    "i0": ([(-15, 15), (-714, 714), (-90, 90)], [12.0, 713.9, 91.9]),
}


def bound(name: str, dtype: Any) -> float:
    return BOUNDS[name][KINDS.index(dtype)]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: Any) -> None:
    intervals, meetings = UNARY[name]
    x = np.concatenate([ulp.points(dtype, *intervals), ulp.near(meetings, dtype)])
    if name in ("gamma", "gammaln", "digamma"):  # the others have tests of their own
        x = x[(x > (-0.5 if name == "gammaln" else 0)) & (x < 1e30)]
    reference, function = getattr(special_references, name), FUNCTIONS[name]
    ulp.assert_within(bound(name, dtype), function, reference, x)


@pytest.mark.parametrize("dtype", KINDS)
def test_gamma_of_negative_numbers(dtype: Any) -> None:
    x = np.concatenate([ulp.points(dtype, (-8, 0), (-184, 0)), ulp.near(-np.arange(9.0), dtype)])
    ulp.assert_within(bound("gamma", dtype), FUNCTIONS["gamma"], special_references.gamma, x[x < 0])


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["gammaln", "digamma"])
def test_reflected(name: str, dtype: Any) -> None:
    """Where there are zeros, errors are those of results as large as 1."""
    x = np.concatenate(
        [ulp.points(dtype, (-10, 0), (-200, 0)), ulp.near(-np.arange(1, 9.0), dtype)]
    )
    x = x[(x < -0.5) & (x > -1e15)]
    found = ulp.run_all_forms(FUNCTIONS[name], x)
    true = ulp.true_values(getattr(special_references, name), x)
    exact = np.array([bool(mpmath.isfinite(t)) for t in true])
    assert np.array_equal(exact, np.isfinite(found))
    size = np.maximum(1.0, np.abs(found[exact])).astype(dtype)
    off = np.array([float(abs(mpmath.mpf(float(f)) - t)) for f, t in zip(found, true, strict=True)])
    assert (off[exact] / np.spacing(size)).max() <= bound(f"{name} of negative numbers", dtype)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr"])
def test_binary(name: str, dtype: Any) -> None:
    count = ulp.EXAMPLES // 2
    x = np.concatenate([ulp.random_bits(dtype, count, 1), ulp.within(0, 2, dtype, count, 2)])
    y = np.concatenate([ulp.random_bits(dtype, count, 3), ulp.within(0, 2, dtype, count, 4)])
    close = x[-400:] * (1 + np.arange(-200, 200) * np.finfo(dtype).eps).astype(dtype)
    x, y = np.concatenate([x, x[-400:]]), np.concatenate([y, close])
    if name == "rel_entr":
        x, y = abs(x), abs(y)
    reference, function = getattr(special_references, name), FUNCTIONS[name]
    ulp.assert_within(bound(name, dtype), function, reference, x, y)


@pytest.mark.parametrize("name", UNARY)
def test_special_values(name: str) -> None:
    """Where SciPy's result is exact, ours is the same, with its sign."""
    poles = -np.arange(1.0, 6.0)
    x = np.array(
        [0.0, -0.0, 0.5, 1.0, -1.0, np.inf, -np.inf, np.nan, *poles, -1e20, 1e20, -200.5, -201.5]
    )
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(x)
    exact = ~np.isfinite(wanted) | (wanted == np.rint(wanted))
    if name == "expit":
        exact &= x != -201.5
    assert exact.sum() >= 5
    function = compile_elementwise(FUNCTIONS[name], (float,))
    found = function(x)
    differ = exact & ~ulp.same(found, wanted)
    assert not differ.any(), f"{x[differ]}: {found[differ]}, not {wanted[differ]}"


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr"])
def test_special_values_of_pairs(name: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 0.5, 2.0]
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(x, y)
    exact = ~np.isfinite(wanted) | (wanted == 0)
    found = ulp.run_all_forms(FUNCTIONS[name], x, y)
    assert ulp.same(found, wanted)[exact].all()


def test_better_than_scipy_at_the_edges() -> None:
    """SciPy gives infinity and 0 here; the results are small and large numbers."""
    ulp.assert_within(
        4.0, FUNCTIONS["gammaln"], special_references.gammaln, ulp.near([5e-324], float, 1)
    )
    ulp.assert_within(
        4.0, FUNCTIONS["gamma"], special_references.gamma, ulp.within(-177.9, -171, float, 40)
    )


def test_half_precision() -> None:
    x = ulp.within(0.1, 4, np.float16, 300)
    half = through_float32(FUNCTIONS["gammaln"])
    ulp.assert_within(0.51, half, special_references.gammaln, x)


def test_every_function_is_measured() -> None:
    names = {*UNARY, "xlogy", "xlog1py", "rel_entr"}
    assert names == FUNCTIONS.keys() == {name for name in BOUNDS if " " not in name}
