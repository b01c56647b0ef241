"""Complex numbers in compiled code: NumPy's formulas to the bit, the functions near the truth."""

from __future__ import annotations

import platform
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import pytest

from lanewise.codegen.elementwise.ufuncs import lookup
from lanewise.codegen.numbers import Complex, constant
from support.adversarial import loops, operands, same
from support.driver import compile_all
from support.ulp import EXAMPLES, PRECISION, error

DTYPES = [np.dtype(np.complex64), np.dtype(np.complex128)]
FORMS = [(8, 2), (0, 1)]

#: What compiled code gives to the last bit as NumPy does.
EXACT = [
    "add", "subtract", "divide", "reciprocal", "negative", "positive", "conjugate", "rint", "isnan",
    "isinf", "isfinite", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not", "maximum", "minimum", "fmax", "fmin",
]  # fmt: skip

#: How far each part of a result may be from the truth, in units in its last place.
BOUNDS = {
    "sqrt": 2.5, "sign": 3, "exp": 3, "log": 2, "log2": 3, "log10": 3.5, "log1p": 3,
    "sinh": 4, "cosh": 4, "tanh": 7, "sin": 4, "cos": 4, "tan": 7,
    "arcsin": 5, "arccos": 5, "arctan": 4, "arcsinh": 5, "arccosh": 5, "arctanh": 4,
}  # fmt: skip

#: How far a whole result may be, relative to its size, in units of the format's precision: a part
#: is less exact where terms cancel, as in NumPy.
WHOLE = {"expm1": 4, "exp2": 16, "power": 100, "float_power": 100, "multiply": 2, "square": 2}

TRUE: dict[str, Any] = {
    "sqrt": mpmath.sqrt, "sign": mpmath.sign, "exp": mpmath.exp, "exp2": lambda z: 2**z,
    "expm1": mpmath.expm1, "log": mpmath.log, "log1p": lambda z: mpmath.log(1 + z),
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "sin": mpmath.sin,
    "cos": mpmath.cos, "tan": mpmath.tan, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "arctan": mpmath.atan, "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh, "power": mpmath.power, "float_power": mpmath.power,
    "multiply": lambda z, w: z * w, "square": lambda z: z * z,
}  # fmt: skip

#: What mpmath computes with sums of a number and 1.
LOSSY = ("log1p", "arctan", "arctanh")

NAMES = [*EXACT, *BOUNDS, *WHOLE, "absolute"]


@lru_cache(maxsize=4)
def compiled(form: tuple[int, int]) -> dict[tuple[str, np.dtype], Any]:
    """Compile all complex loops in one module: (name, dtype) to a function of arrays."""
    functions = {}
    for name in NAMES:
        ufunc = getattr(np, name)
        for loop in loops(ufunc):
            if loop[0] in DTYPES:
                function = lookup(ufunc, loop)
                assert function is not None, f"no code for {name} of {loop}"
                functions[name, loop[0]] = (function, loop[: ufunc.nin])
    return compile_all(functions, *form)


def cases(names: Any) -> list[tuple[str, np.dtype]]:
    return [
        (name, dtype)
        for name in names
        for dtype in DTYPES
        if any(loop[0] == dtype for loop in loops(getattr(np, name)))
    ]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(("name", "dtype"), cases(EXACT), ids=str)
def test_gives_what_numpy_gives(name, dtype, form):
    ufunc = getattr(np, name)
    given = operands((dtype,) * ufunc.nin, ufunc.nin)
    found = compiled(form)[name, dtype](*given)
    with np.errstate(all="ignore"):
        expected = ufunc(*given)
    assert found.dtype == expected.dtype
    wrong = np.flatnonzero(~same(found, expected))[:5]
    assert not wrong.size, [(*[x[i] for x in given], found[i], expected[i]) for i in wrong]


@pytest.mark.parametrize(("name", "dtype"), cases(NAMES), ids=str)
def test_scalar_code_gives_the_same_bits(name, dtype):
    ufunc = getattr(np, name)
    given = operands((dtype,) * ufunc.nin, ufunc.nin)
    found, scalar = (compiled(form)[name, dtype](*given) for form in FORMS)
    wrong = np.flatnonzero(~same(found, scalar))[:5]
    assert not wrong.size, [(*[x[i] for x in given], found[i], scalar[i]) for i in wrong]


# --- functions --------------------------------------------------------------------------------


def points(dtype: np.dtype, seed: int) -> np.ndarray:
    """Return numbers of ordinary size, of any size, near 1 and i, and on the unit circle."""
    rng = np.random.default_rng(seed)
    count = EXAMPLES // 20
    info = np.finfo(dtype)
    least, most = np.log10(float(info.tiny)) + 1, np.log10(float(info.max)) - 1

    def draw(low: float, high: float) -> np.ndarray:
        sizes = 10.0 ** rng.uniform(low, high, (2, count))
        return np.array([1, 1j]) @ (rng.choice([-1, 1], (2, count)) * sizes)

    circle = np.exp(1j * rng.uniform(-3, 3, count))
    near = 1 + draw(-8, -1)
    drawn = [draw(-2, 1), draw(-5, 5), draw(least, most), circle, near, -near, 1j * near]
    return np.concatenate(drawn).astype(dtype)


def truth(name: str, *rows: Any) -> Any:
    """Return the true value, or None where mpmath does not take the number for what it is."""
    bits = PRECISION * 4
    if name in LOSSY:  # 1 + z must not lose a small z
        bits = 2500 if rows[0].dtype == np.complex128 else 600
    with mpmath.workprec(bits):
        try:
            return mpmath.mpc(TRUE[name](*[mpmath.mpc(complex(z)) for z in rows]))
        except (OverflowError, ValueError, ZeroDivisionError):
            return None


def small_enough(name: str, z: np.ndarray) -> np.ndarray:
    """Return where a function can be represented, and mpmath is not asked for the impossible."""
    limit = {"sinh": 80, "cosh": 80, "sin": 80, "cos": 80, "exp": 80, "expm1": 80, "exp2": 30}
    most = limit.get(name, 1e4 if name in ("tan", "tanh") else np.inf)
    return (np.abs(z.real) < most) & (np.abs(z.imag) < most)


@pytest.mark.parametrize(("name", "dtype"), cases(BOUNDS), ids=str)
def test_parts_are_near_the_truth(name, dtype):
    z = points(dtype, 1)[:: 3 if name in LOSSY and dtype == np.complex128 else 1]
    z = z[small_enough(name, z)]
    found = compiled(FORMS[0])[name, dtype](z)
    parts = found.real.dtype
    worst: tuple[float, Any] = (0.0, None)
    for number, result in zip(z, found, strict=True):
        true = truth(name, number)
        assert true is not None
        with mpmath.workprec(PRECISION):
            wrong = max(error(result.real, true.real, parts), error(result.imag, true.imag, parts))
        worst = max(worst, (wrong, (number, result)), key=lambda pair: pair[0])
    assert worst[0] <= BOUNDS[name], worst


@pytest.mark.parametrize(("name", "dtype"), cases(WHOLE), ids=str)
def test_results_are_near_the_truth(name, dtype):
    nin = getattr(np, name).nin
    given = [points(dtype, seed) for seed in range(nin)]
    usable = np.logical_and.reduce([small_enough(name, z) for z in given])
    if nin == 2:
        usable &= np.logical_and.reduce([np.abs(z) < 30 for z in given])
        usable &= np.logical_and.reduce([np.abs(z) > 1e-3 for z in given])
    given = [z[usable] for z in given]
    found = compiled(FORMS[0])[name, dtype](*given)
    eps, tiny = float(np.finfo(dtype).eps), float(np.finfo(dtype).tiny)
    checked = 0
    for *numbers, result in zip(*given, found, strict=True):
        true = truth(name, *numbers)
        if true is None or not tiny / eps < abs(true) < 1 / tiny:
            continue
        wrong = abs(mpmath.mpc(complex(result)) - true) / abs(true) / eps
        assert wrong <= WHOLE[name], (numbers, result)
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_absolute_value(dtype):
    (z,) = operands((dtype,), 1)
    z = np.concatenate([z, points(dtype, 3)])
    found = compiled(FORMS[0])["absolute", dtype](z)
    with np.errstate(all="ignore"):
        expected = np.abs(z)
        wide = np.abs(z.astype(np.clongdouble))
    finite = np.isfinite(expected) & np.isfinite(found)
    assert same(found, expected)[~finite].all()
    gap = np.spacing(found[finite]).astype(np.longdouble)
    assert (np.abs(found[finite] - wide[finite]) <= 2 * gap).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_logarithm_keeps_small_real_parts(dtype):
    """On the unit circle, and of 1 + z near -1: the sum of the squares must not lose bits."""
    rng = np.random.default_rng(0)
    z = np.exp(1j * rng.uniform(-3, 3, 500)).astype(dtype)
    log = compiled(FORMS[0])["log", dtype](z)
    log1p = compiled(FORMS[0])["log1p", dtype]((z * 1e-4).astype(dtype))
    for number, found in zip(z, log, strict=True):
        assert error(found.real, truth("log", number).real, found.real.dtype) <= 2
    for number, found in zip((z * 1e-4).astype(dtype), log1p, strict=True):
        assert error(found.real, truth("log1p", number).real, found.real.dtype) <= 3


# --- special values ---------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 100.0, -720.0, 720.0, 1e5, -1e5]
SPECIAL += [np.inf, -np.inf, np.nan]

glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="NumPy's special values are those of the C library"
)


def grid(dtype: np.dtype, numbers: list[float]) -> np.ndarray:
    result = np.empty(len(numbers) ** 2, dtype)
    result.real, result.imag = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    return result


def alike(found: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Return where both are the same special value, or near each other.

    Of a zero or an infinity beside a NaN, C99 leaves the sign open.
    """

    def part(a: np.ndarray, b: np.ndarray, other: np.ndarray) -> np.ndarray:
        near = np.abs(a - b) <= tolerance * np.abs(b)
        equal = (np.isnan(a) & np.isnan(b)) | (a == b) | near
        equal |= np.isnan(other) & (np.abs(a) == np.abs(b))
        return equal & ((np.signbit(a) == np.signbit(b)) | np.isnan(b) | np.isnan(other))

    with np.errstate(all="ignore"):
        return part(found.real, expected.real, expected.imag) & part(
            found.imag, expected.imag, expected.real
        )


@glibc
@pytest.mark.parametrize(("name", "dtype"), cases([*BOUNDS, "exp2", "expm1"]), ids=str)
def test_special_values(name, dtype):
    z = grid(dtype, SPECIAL)
    found = compiled(FORMS[0])[name, dtype](z)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    wrong = np.flatnonzero(~alike(found, expected, 1e-5))[:5]
    assert not wrong.size, [(z[i], found[i], expected[i]) for i in wrong]


@glibc
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_powers_of_special_values(dtype):
    numbers = grid(dtype, [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, np.inf, -np.inf, np.nan])
    x, y = np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)
    found = compiled(FORMS[0])["power", dtype](x, y)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    same_size = np.abs(found - expected) <= 1e-4 * np.abs(expected)
    wrong = np.flatnonzero(~(_alike_unsigned(found, expected) | same_size))[:5]
    assert not wrong.size, [(x[i], y[i], found[i], expected[i]) for i in wrong]


def _alike_unsigned(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    pairs = [(found.real, expected.real), (found.imag, expected.imag)]
    return np.logical_and(*[(a == b) | (np.isnan(a) & np.isnan(b)) for a, b in pairs])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_whole_powers(dtype):
    """They are NumPy's products, whether the exponent is known or not."""
    rng = np.random.default_rng(0)
    z = (rng.standard_normal(500) + 1j * rng.standard_normal(500)).astype(dtype)
    known = [-5, -2, -1, 0, 1, 2, 3, 4, 7, 30]
    power = lookup(np.power, (dtype,) * 3)
    assert power is not None
    functions = {n: (lambda x, n=n: power(x, constant(x.e, dtype, n)), (dtype,)) for n in known}
    direct = compile_all(functions, 8)
    for n in known:
        with np.errstate(all="ignore"):
            expected = np.power(z, dtype.type(n))
        assert np.allclose(direct[n](z), expected, rtol=50 * np.finfo(dtype).eps, atol=0)
        unknown = compiled(FORMS[0])["power", dtype](z, np.full(z.size, n, dtype))
        assert same(direct[n](z), unknown).all()


@pytest.mark.parametrize("name", NAMES)
def test_parts_may_be_uniform(name):
    """Of a number with one part known, and of known numbers, it computes the same."""
    ufunc = getattr(np, name)
    double, dtype = np.dtype(float), np.dtype(complex)
    function = lookup(ufunc, next(loop for loop in loops(ufunc) if loop[0] == dtype))
    assert function is not None
    other = [1.5 - 0.25j] * (ufunc.nin - 1)

    def with_known_im(x):
        rest = [constant(x.e, dtype, value) for value in other]
        return function(Complex(x, x.e.constant("f64", -0.75)), *rest)

    def with_known_re(x):
        rest = [constant(x.e, dtype, value) for value in other]
        return function(Complex(x.e.constant("f64", -0.75), x), *rest)

    run = compile_all({"im": (with_known_im, (double,)), "re": (with_known_re, (double,))}, 4)
    (x,) = operands((double,), 1)
    for part, z in (("im", x - 0.75j), ("re", -0.75 + 1j * x)):
        z = np.array(z)
        z.real, z.imag = (x, -0.75) if part == "im" else (-0.75, x)
        whole = compiled(FORMS[0])[name, dtype](z, *[np.full(z.size, v) for v in other])
        found = run[part](x)
        if name in ("power", "float_power", "multiply", "square"):
            finite = np.isfinite(whole)
            assert np.allclose(found[finite], whole[finite], rtol=1e-12)
        else:
            assert same(found, whole).all(), part
