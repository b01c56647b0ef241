"""`math` and `cmath` on traced values, name by name against the functions themselves."""

from __future__ import annotations

import cmath
import itertools
import math
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.autograph.calls import ROWS, fn
from lanewise.autograph.mathematics import CONSTANTS
from lanewise.errors import UnsupportedError
from support.oracle import assert_maps

SPECIAL = [0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 1.5, 2.0, -2.0, 3.0, 7.25, -3.5, 170.5, 1e-300, 5e-324,
           709.78, 710.0, -745.0, 1024.0, 1e300, -1e300, np.inf, -np.inf, np.nan]  # fmt: skip
WHOLE = [0, 1, 2, 3, 5, 12, 30, 61, -1, -4]

#: Functions by how many floats or ints they take.
OF_FLOATS = {
    1: "acos acosh asin asinh atan atanh cbrt ceil cos cosh degrees erf erfc exp exp2 expm1 fabs "
    "floor frexp gamma isfinite isinf isnan lgamma log log10 log1p log2 modf radians sin sinh "
    "sqrt tan tanh trunc ulp hypot",
    2: "atan2 copysign fmod hypot isclose log nextafter pow remainder",
    3: "hypot fma",
}
OF_INTS = {1: "factorial isqrt gcd lcm perm", 2: "comb perm gcd lcm", 3: "gcd lcm"}
OF_SEQUENCES = "dist fsum prod sumprod"
COMPLEX = (
    "acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase polar sin "
    "sinh sqrt tan tanh"
)


def outcome(function, *args):
    """Return what a function gives, or the type of error that it raises."""
    try:
        return function(*args)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        return type(error)


def check(name, function, *columns, rtol=1e-14):
    """Assert that a mapped function gives what `function` gives, row by row, errors included."""
    rows = list(zip(*columns, strict=True))
    natural = [outcome(function, *row) for row in rows]
    fine = [i for i, result in enumerate(natural) if not isinstance(result, type)]
    arrays = [np.array(column) for column in columns]

    def mapped(*args):
        return fn(function)(*args)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if fine:
            got = lw.vmap(mapped)(*[a[fine] for a in arrays])
            want = [natural[i] for i in fine]
            got = got if isinstance(got, tuple) else (got,)
            want = list(zip(*want, strict=True)) if isinstance(want[0], tuple) else [want]
            for g, w in zip(got, want, strict=True):
                w = np.array(w)
                assert g.dtype == w.dtype, f"{name} gives {g.dtype}"
                np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-300, err_msg=name)
                if w.dtype.kind == "f":
                    known = ~np.isnan(w)
                    np.testing.assert_array_equal(np.signbit(g)[known], np.signbit(w)[known])
        for i, result in enumerate(natural):
            if isinstance(result, type):
                with pytest.raises((result, OverflowError)) as error:
                    lw.vmap(mapped)(*[a[i : i + 1] for a in arrays])
                huge = "64 bits" in str(error.value) or "C long" in str(error.value)
                assert error.type is result or huge, (name, rows[i])


def names(table):
    return [(n, name) for n, listed in table.items() for name in listed.split()]


@pytest.mark.parametrize(("count", "name"), names(OF_FLOATS), ids=str)
def test_floats(count, name):
    function = getattr(math, name, None)
    if function is None:
        assert name == "fma"
        return
    columns = list(zip(*itertools.product(SPECIAL, repeat=count), strict=True))
    if count == 3:
        columns = [column[::7] for column in columns]
    fits = [i for i, row in enumerate(zip(*columns, strict=True)) if fits_64_bits(function, row)]
    columns = [[column[i] for i in fits] for column in columns]
    if count == 1:
        check(name, function, *columns, rtol=3e-13 if name in ("gamma", "lgamma") else 1e-14)
    else:
        errors = [isinstance(outcome(function, *row), type) for row in zip(*columns, strict=True)]
        few = [i for i, is_error in enumerate(errors) if not is_error or i % 19 == 0]
        check(name, function, *[[column[i] for i in few] for column in columns])
    if name != "trunc":  # which NumPy's integers do not have
        check(name, function, *[np.arange(1, 6)] * count)  # whole numbers count as floats


def fits_64_bits(function, row):
    result = outcome(function, *row)
    return not isinstance(result, int) or abs(result) < 2**63


@pytest.mark.parametrize(("count", "name"), names(OF_INTS), ids=str)
def test_ints(count, name):
    function = getattr(math, name)
    columns = zip(*itertools.product(WHOLE, repeat=count), strict=True)
    fits = [row for row in zip(*columns, strict=True) if fits_64_bits(function, row)]
    check(name, function, *zip(*fits, strict=True))
    with pytest.raises(TypeError):
        lw.vmap(lambda x: fn(function)(*[x] * count))(np.array([1.5]))


def test_a_result_beyond_64_bits_is_an_error():
    for function in (math.factorial, math.perm):
        with pytest.raises(OverflowError):
            lw.vmap(lambda n, f=function: fn(f)(n))(np.array([3, 40]))
    with pytest.raises(OverflowError):
        lw.vmap(lambda x: fn(math.floor)(x))(np.array([3.0, 1e40]))


def test_ldexp():
    check("ldexp", lambda m, e: fn(math.ldexp)(m, fn(int)(e)), [0.5, -1.0, np.inf, 0.75, 1.0],
          [3, 2000, 5, 1024, -10**6])  # fmt: skip
    with pytest.raises(TypeError, match="int as second"):
        lw.vmap(lambda x, e: fn(math.ldexp)(x, e))(np.ones(2), np.array([1, 2]))


ROWS_ = np.array([[3.0, 4.0, 0.5], [1e16, 1.0, -1e16], [0.1, 0.2, 0.3]])


def test_sequences():
    assert_maps(lambda x: fn(math.fsum)(x), ROWS_, rtol=0)
    assert_maps(lambda x: fn(math.fsum)([x[0], 1, fn(int)(x[1])]), ROWS_, rtol=0)
    assert_maps(lambda x: fn(math.fsum)(v for v in x), ROWS_, rtol=0)


CANCELLING = np.array([[1e16, 1.0, -1e16, 0.0], [0.1, 0.1, 0.1, -3.0], [1e-30, 1e30, -1e30, 2.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: math.fsum(v for v in x),
        lambda x: math.fsum([v * 2 for v in x]),
        lambda x: math.fsum(v * 2 for v in x if v > 0),
        lambda x: math.fsum(x[i] * x[3 - i] for i in range(4)) if x[0] > 1 else math.fsum(x[:2]),
    ],
)
def test_sums_that_are_rounded_once(f):
    np.testing.assert_array_equal(lw.vmap(f)(CANCELLING), [f(x) for x in CANCELLING])
    assert_maps(lambda x: fn(math.prod)(x), ROWS_)
    assert_maps(lambda x: fn(math.prod)(x, start=2.5), ROWS_)
    assert_maps(lambda x: fn(math.prod)([fn(int)(x[0]), 3]), ROWS_)
    assert_maps(lambda x: fn(math.prod)(x), ROWS_.astype(np.int8))
    assert_maps(lambda x: fn(math.prod)(x), ROWS_ > 1)
    assert_maps(lambda x, y: fn(math.dist)(x, y), ROWS_, ROWS_[::-1].copy())
    assert_maps(lambda x: fn(math.dist)(x, (1.0, 2, x[0])), ROWS_)
    if hasattr(math, "sumprod"):
        assert_maps(lambda x: fn(math.sumprod)(x, [1.0, 2.0, 3.0]), ROWS_)
    with pytest.raises(ValueError, match="same number"):
        lw.vmap(lambda x: fn(math.dist)(x, (1.0, 2.0)))(ROWS_)


def test_keywords():
    xs = np.array([1.0, 1.0 + 1e-7, 2.0, np.inf, np.nan])
    assert_maps(lambda x: fn(math.isclose)(x, 1.0, rel_tol=1e-6), xs)
    assert_maps(lambda x: fn(math.isclose)(x, np.inf), xs)
    assert_maps(lambda x: fn(math.isclose)(1.0, 2.0, abs_tol=fn(float)(x)), xs)
    with pytest.raises(ValueError, match="non-negative"):
        lw.vmap(lambda x: fn(math.isclose)(x, 1.0, rel_tol=-1.0))(xs)
    if hasattr(math, "sumprod"):  # as of Python 3.12 there are steps, too
        with pytest.raises(UnsupportedError, match="steps"):
            lw.vmap(lambda x: fn(math.nextafter)(x, 2.0, steps=2))(xs)


def test_results_are_python_numbers():
    xs = np.array([1.5, 2.5])
    assert_maps(lambda x: np.float32(2) * fn(math.sqrt)(x), xs)
    assert_maps(lambda x: fn(math.floor)(x) / 2, xs)
    assert_maps(lambda x: np.int8(2) + fn(math.gcd)(fn(int)(x), 6), xs)
    assert_maps(lambda x: fn(math.sqrt)(x), xs.astype(np.float32))
    assert_maps(lambda x: fn(math.isnan)(x) + fn(math.isnan)(x), xs)


def test_arrays_are_refused_as_python_refuses_them():
    for name in ("sqrt", "floor", "isnan", "gcd", "hypot"):
        with pytest.raises(TypeError):
            lw.vmap(lambda x, name=name: fn(getattr(math, name))(x))(np.ones((2, 3)))


@pytest.mark.parametrize("name", COMPLEX.split())
def test_complex(name):
    parts = [0.0, -0.0, 0.5, -1.0, 1.0, 2.5, 800.0, np.inf, -np.inf, np.nan]
    numbers = [complex(x, y) for x, y in itertools.product(parts, repeat=2)]
    check(name, getattr(cmath, name), [z for z in numbers if np.isfinite(z)], rtol=1e-13)
    special = [z for z in numbers if not np.isfinite(z)]
    raised = [isinstance(outcome(getattr(cmath, name), z), type) for z in special]
    check(name, getattr(cmath, name), [z for z, r in zip(special, raised, strict=True) if r][::5])
    check(name, getattr(cmath, name), [0.5, -0.25, 3.0])


def test_other_complex_functions():
    zs = np.array([1 + 2j, -0.5j, 3 - 1j])
    assert_maps(lambda z: fn(cmath.log)(z, 2), zs)
    assert_maps(lambda z: fn(cmath.log)(2, z), zs)
    assert_maps(lambda z: fn(cmath.isclose)(z, 1 + 2j), zs)
    assert_maps(lambda z: fn(cmath.rect)(z.real, z.imag), zs)
    assert_maps(lambda z: fn(cmath.rect)(2, z.imag) * np.float32(2), zs)


def test_every_name_is_answered():
    """Each function of `math` and `cmath` is replaced, and stands in a list of names above."""
    listed = {name for table in (OF_FLOATS, OF_INTS) for _, name in names(table)}
    listed |= {"ldexp", *OF_SEQUENCES.split()}
    of_complex = {*COMPLEX.split(), "isclose", "log", "rect"}
    for module, tested in ((math, listed), (cmath, of_complex)):
        for name in dir(module):
            if name.startswith("_") or name in CONSTANTS:
                continue
            assert getattr(module, name) in ROWS, f"{module.__name__}.{name} is not followed"
            assert name in tested, f"{module.__name__}.{name} is not tested"


def test_constants_are_numbers():
    assert all(isinstance(getattr(math, c), float) for c in CONSTANTS if hasattr(math, c))
