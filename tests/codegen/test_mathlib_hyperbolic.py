"""sinh, cosh, tanh and their inverses: errors, special values, symmetry."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from lanewise.codegen.elementwise.ufuncs import through_float32
from lanewise.codegen.mathlib import hyperbolic
from support import ulp

#: The largest error of each function in ULP, for float64 and float32.
BOUNDS = {
    "sinh": (1.0, 1.0),
    "cosh": (1.0, 1.0),
    "tanh": (1.0, 1.0),
    "asinh": (1.25, 1.25),
    "acosh": (2.0, 2.0),
    "atanh": (1.0, 1.0),
}
INTERVALS: dict[str, Any] = {
    "sinh": [(-710.5, 710.5), (-89.5, 89.5), (-1, 1), (17, 20), (7, 10)],
    "cosh": [(-710.5, 710.5), (-89.5, 89.5), (-1, 1), (17, 20), (7, 10)],
    "tanh": [(-20, 20), (-1, 1), (-0.3, 0.3), (17, 19.5), (7.9, 9.2)],
    "asinh": [(-1, 1), (-0.3, 0.3), (-20, 20), (-1e6, 1e6)],
    "acosh": [(1, 2), (1, 1.01), (1, 20), (1, 1e6)],
    "atanh": [(-1, 1), (-0.3, 0.3), (0.99, 1)],
}
NUMPY = {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}
EACH = pytest.mark.parametrize("name", BOUNDS)
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def reference(name: str) -> Any:
    exact = getattr(mpmath, name)

    def at(x: Any) -> Any:
        if name in ("sinh", "cosh", "tanh"):  # nothing changes beyond, but mpmath takes long
            return exact(max(min(x, 2000), -2000))
        if name == "atanh" and abs(x) == 1:
            return x * mpmath.inf
        return exact(x)

    return at


@EACH
@BOTH
def test_error(name, dtype):
    bound = BOUNDS[name][dtype == np.float32]
    x = ulp.points(dtype, *INTERVALS[name])
    ulp.assert_within(bound, getattr(hyperbolic, name), reference(name), x)


@EACH
@BOTH
def test_special_values(name, dtype):
    form = np.finfo(dtype)
    least = form.smallest_subnormal
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, form.min]
    extra = {
        "sinh": [least, -least, form.max, 1e4, -1e4],
        "cosh": [least, form.max, 1e4, -1e4],
        "tanh": [least, -least, 40.0, -40.0, form.max],
        "asinh": [least, -least],
        "acosh": [1.0, 0.5, -1.0, -2.0, -1.5, -least],
        "atanh": [1.0, -1.0, 1.5, -1.5, 2.0, form.max, least, -least],
    }
    if name == "asinh":
        special.remove(form.min)  # a finite number, and not an exact one
    x = np.array([*special, *extra[name]], dtype)
    ulp.assert_same(getattr(hyperbolic, name), NUMPY.get(name, getattr(np, name, None)), x)


@EACH
@BOTH
def test_symmetry(name, dtype):
    """The functions are odd, cosh is even, to the bit."""
    if name == "acosh":
        return
    x = np.abs(ulp.points(dtype, *INTERVALS[name]))
    positive = ulp.run_all_forms(getattr(hyperbolic, name), x)
    negative = ulp.run_all_forms(getattr(hyperbolic, name), -x)
    assert ulp.same(negative, positive if name == "cosh" else -positive).all()


@pytest.mark.parametrize("name", ["sinh", "cosh"])
@BOTH
def test_the_largest_results_are_finite(name, dtype):
    """The argument where the result overflows is that of NumPy's."""
    edge = {np.float64: 710.4758600739439, np.float32: 89.41599}[dtype]
    x = ulp.near(edge, dtype, 30)
    found = ulp.run_all_forms(getattr(hyperbolic, name), x)
    with np.errstate(all="ignore"):
        true = getattr(np, name)(x.astype(np.longdouble))
        wanted = true.astype(dtype)
    assert (np.isinf(found) == np.isinf(wanted)).all()
    assert np.isinf(found).any() and np.isfinite(found).any()


@EACH
def test_half_precision(name):
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    found = ulp.run_all_forms(through_float32(getattr(hyperbolic, name)), x)
    with np.errstate(all="ignore"):
        true = NUMPY.get(name, getattr(np, name, None))(x.astype(np.float64))
        wanted = true.astype(np.float16)
    finite = np.isfinite(wanted)
    assert ulp.same(found, wanted)[~finite].all()
    spacing = np.spacing(np.abs(wanted[finite])).astype(np.float64)
    assert (np.abs(found[finite] - true[finite]) <= 0.501 * spacing).all()
