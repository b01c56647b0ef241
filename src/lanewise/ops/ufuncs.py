"""The table of ufuncs: all that is known of NumPy's functions and SciPy's, a row for each.

What writes the code of a function in kernels stands under its name in `codegen/elementwise/ufuncs`;
all else that anybody asks of a function is here.

Derivatives are plain NumPy: a partial derivative for each operand, which is a function of the
result and the operands, a constant factor, or None where the function is constant almost
everywhere. A function in place of the tuple is the whole rule, for what is not holomorphic or has
several results. At points where a function has no derivative they are a subgradient: 0 for ``abs``
at 0, and equal shares for the operands of a ``maximum`` that are equal.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ops.derivatives import flat, is_linear

Partial = Callable[..., Any] | float | None


def _choice(is_first: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the rule of a choice of one of two operands: equal ones share."""

    def jvp(d: Any, tangents: Any, z: Any, x: Any, y: Any) -> Any:
        t, u = (d.zeros(v) if t is None else t for t, v in zip(tangents, (x, y), strict=True))
        return np.where(is_first(x, y), t, np.where(x == y, (t + u) * 0.5, u))

    return jvp


def _absolute(d: Any, tangents: Any, y: Any, x: Any) -> Any:
    (t,) = tangents
    if x.dtype.kind != "c":
        return t * np.sign(x)
    safe = np.where(y == 0, np.ones((), y.dtype), y)
    return (x.real * t.real + x.imag * t.imag) / safe


def _hypot(z: Any, x: Any) -> Any:
    return x / np.where(z == 0, np.ones((), z.dtype), z)


#: Whether NumPy takes roots for powers of 1/2, as it does from 2.3 on: of -0 that is -0, and of
#: -infinity NaN.
TAKES_ROOTS = bool(np.signbit(np.power(np.array([-0.0]), 0.5))[0])


def _power(x: Any, y: Any, **loop: Any) -> Any:
    """Return C's power also where NumPy would take the root: for an exponent with a stride of 0."""
    if not (TAKES_ROOTS and np.any(y == 0.5)):
        return np.power(x, y, **loop)
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    exponents = np.broadcast_to(y, shape or 1).copy()
    return np.power(x, exponents, **loop).reshape(shape)[()]


def _power_base(z: Any, x: Any, y: Any) -> Any:
    # x ** 0 is 1 everywhere, also at 0, where the power below would be infinite.
    return np.where(
        y == 0, np.zeros((), z.dtype), y * x ** np.where(y == 0, np.ones((), y.dtype), y - 1)
    )


def _power_exponent(z: Any, x: Any, y: Any) -> Any:
    is_zero = x == 0  # 0 ** y is 0 for all y > 0
    return np.where(
        is_zero, np.zeros((), z.dtype), z * np.log(np.where(is_zero, np.ones((), x.dtype), x))
    )


def _divmod(d: Any, tangents: Any, results: Any, x: Any, y: Any) -> Any:
    t, u = tangents
    moved = t
    if u is not None:
        moved = -u * results[0] if moved is None else moved - u * results[0]
    return None, moved


def special(name: str, *operands: Any) -> Any:
    """Return a function of `scipy.special` of tensors."""
    import scipy.special  # takes long to load, and is there already where its own are derived

    return getattr(scipy.special, name)(*operands)


def _sign(d: Any, tangents: Any, y: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return None
    (t,), size = tangents, np.abs(x)
    safe = np.where(size == 0, np.ones((), size.dtype), size)
    turn = y.real * t.imag - y.imag * t.real  # across the direction of x, which does not count
    return y * (turn / safe * 1j)


def _over(y: Any, x: Any) -> Any:
    """Return y / x of Bessel functions of order one: a half at zero."""
    is_zero = x == 0
    half, one = np.full((), 0.5, x.dtype), np.ones((), x.dtype)
    return np.where(is_zero, half, y / np.where(is_zero, one, x))


def _unknown(name: str, operand: str) -> Callable[..., Any]:
    """Return the partial derivative that is not known."""

    def partial(*values: Any) -> Any:
        raise UnsupportedError(f"the derivative of {name} in its {operand} operand is not known")

    return partial


_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_LN2, _LN10 = math.log(2), math.log(10)
_DEGREE = math.pi / 180


def _ratio(exp: Callable[..., Any], x: Any, z: Any) -> Any:
    """Return exp(x - z), of equal infinities too."""
    return exp(np.where(x == z, np.zeros((), z.dtype), x - z))


def _add(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return (ct if is_linear(x) else None, ct if is_linear(y) else None)


def _subtract(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return (ct if is_linear(x) else None, -ct if is_linear(y) else None)


def _multiply(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return (d.times(ct, y), None) if is_linear(x) else (None, d.times(ct, x))


#: Which of 0.0 and -0.0 is the greater one is the ufunc's affair; it is asked about equals.
_FLOAT_EXTREME = (
    "{0} if {0} %s {1} or {0} != {0} else {1} if {0} %s {1} or {1} != {1} else {ufunc}({0}, {1})"
)


def _extreme(before: str, behind: str) -> tuple[tuple[str, str], ...]:
    """Return a choice of the operand that comes `before` the other one, on scalars."""
    integers = f"{{0}} if {{0}} {before}= {{1}} else {{1}}"
    return (integers, "iu"), (_FLOAT_EXTREME % (before, behind), "f")


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one ufunc.

    Attributes
    ----------
    name
        NumPy's name of it, or SciPy's.
    range
        Between which numbers the generated tests draw, integers where the function wants them.
    partial, transposed
        Its derivatives; and where it is linear, how cotangents go back.
    scalar
        What it is on scalars in Python, and for which kinds of dtype; several are tried in order.
    is_of_one_type
        Whether `scalar` holds for operands of one type only.
    exact
        What it is of Python's ints, and for operands of how many bits that cannot overflow.
    quiet
        The kinds of dtype for which it meets no floating-point condition: not on NaN and infinity,
        nor on the largest integers. (Rounding and truth values of floats are not quiet: they report
        a signaling NaN.)
    wraps
        Whether integers wrap around, of which NumPy warns on scalars, not on arrays.
    divides, has_exponent
        Whether the second operand is a divisor, or an exponent: kernels are better if they know it.
    numpy
        What computes it where that is not always the ufunc itself.
    is_associative
        Whether the steps of a reduction may be grouped at will.
    is_arithmetic
        Whether the flags of fast math hold for it.
    instructions
        About how many an element takes in a kernel, of real numbers.
    numpy_ns, single_ns
        Nanoseconds of a float64 in NumPy's own loop, beside what moving it takes; of a float32 if
        not about as many. Where processors have registers of 512 bits many take less.
    recompute
        What an element takes that is computed again rather than kept, in additions; None for what
        is kept.
    """

    name: str
    range: tuple[float, float] = (-2.0, 2.0)
    partial: tuple[Partial, ...] | Callable[..., Any] | None = None
    transposed: Callable[..., Any] | None = None
    scalar: tuple[tuple[str, str], ...] = ()
    is_of_one_type: bool = False
    exact: tuple[str, int] | None = None
    quiet: str = ""
    wraps: bool = False
    divides: bool = False
    has_exponent: bool = False
    numpy: Callable[..., Any] | None = None
    is_associative: bool = False
    is_arithmetic: bool = False
    instructions: int = 1
    numpy_ns: float = 0.0
    single_ns: float | None = None
    recompute: int | None = None


# fmt: off
#: NumPy's.
ROWS = (
    # arithmetic
    Row("add", partial=(1, 1), transposed=_add, scalar=(("{0} + {1}", "biufc"),),
        exact=("{0} + {1}", 62), quiet="biu", wraps=True, is_associative=True, is_arithmetic=True,
        recompute=1),
    Row("subtract", partial=(1, -1), transposed=_subtract, scalar=(("{0} - {1}", "biufc"),),
        exact=("{0} - {1}", 62), quiet="biu", wraps=True, is_arithmetic=True, recompute=1),
    Row("multiply", partial=(lambda z, x, y: y, lambda z, x, y: x), transposed=_multiply,
        scalar=(("{0} * {1}", "biuf"),), exact=("{0} * {1}", 31), quiet="biu", wraps=True,
        is_associative=True, is_arithmetic=True, recompute=1),
    # Both by one division, which takes as long as much else. (Where 1 / y overflows, at subnormal
    # y, the first is infinite and the second may be NaN.)
    Row("divide", range=(0.5, 2.0), partial=(lambda z, x, y: 1 / y, lambda z, x, y: -z * (1 / y)),
        transposed=lambda d, ct, x, y, *, dtype: (d.times(ct, 1 / y), None),
        scalar=(("{0} / {1}", "biuf"),), divides=True, is_arithmetic=True, instructions=8,
        recompute=4),
    Row("floor_divide", partial=flat, scalar=(("{0} // {1}", "biuf"),), quiet="iu", divides=True,
        instructions=20, numpy_ns=23),
    Row("remainder", range=(0.5, 2.0), partial=(1, lambda z, x, y: -np.floor(x / y)),
        scalar=(("{0} % {1}", "biuf"),), quiet="iu", divides=True, instructions=22, numpy_ns=11.5),
    Row("fmod", range=(0.5, 2.0), partial=(1, lambda z, x, y: -np.trunc(x / y)), divides=True,
        instructions=20, numpy_ns=13),
    Row("power", range=(0.5, 2.0), partial=(_power_base, _power_exponent),
        scalar=(("{0} ** {1}", "biu"),), has_exponent=True, numpy=_power, instructions=80,
        numpy_ns=14, single_ns=6),
    Row("float_power", range=(0.5, 2.0), partial=(_power_base, _power_exponent), has_exponent=True,
        instructions=80, numpy_ns=14),
    Row("negative", partial=(-1,), transposed=lambda d, ct, x, *, dtype: -ct,
        scalar=(("-{0}", "iufc"),), exact=("-{0}", 63), quiet="iuf", wraps=True, recompute=1),
    Row("positive", partial=(1,), transposed=lambda d, ct, x, *, dtype: ct,
        scalar=(("+{0}", "iufc"),), quiet="iuf"),
    Row("absolute", partial=_absolute, scalar=(("abs({0})", "biuf"),), exact=("abs({0})", 63),
        quiet="biuf", wraps=True, recompute=1),
    Row("fabs", partial=(lambda y, x: np.sign(x),), numpy_ns=2.3),
    Row("sign", partial=_sign, quiet="iuf", instructions=4, recompute=1,
        numpy_ns=0.6, single_ns=0.4),
    Row("square", partial=(lambda y, x: 2 * x,), scalar=(("{0} * {0}", "iuf"),), quiet="biu",
        wraps=True, is_arithmetic=True, recompute=1),
    Row("sqrt", range=(0.0, 2.0), partial=(lambda y, x: 0.5 / y,), instructions=8, recompute=4,
        numpy_ns=1.4, single_ns=0.4),
    Row("cbrt", partial=(lambda y, x: 1 / (3 * y * y),), instructions=30, numpy_ns=18),
    Row("reciprocal", range=(0.5, 2.0), partial=(lambda y, x: -y * y,), is_arithmetic=True,
        instructions=8, recompute=4, numpy_ns=0.7, single_ns=0.3),
    Row("divmod", range=(0.5, 2.0), partial=_divmod, divides=True, instructions=25, numpy_ns=28),
    Row("conjugate", partial=lambda d, tangents, y, x: np.conjugate(tangents[0]),
        transposed=lambda d, ct, x, *, dtype: np.conjugate(ct)),
    Row("heaviside", partial=(None, lambda z, x, y: (x == 0).astype(z.dtype)), instructions=5,
        numpy_ns=5),
    # rounding and representation
    Row("rint", range=(-9.0, 9.0), partial=flat),
    Row("floor", range=(-9.0, 9.0), partial=flat),
    Row("ceil", range=(-9.0, 9.0), partial=flat),
    Row("trunc", range=(-9.0, 9.0), partial=flat),
    Row("modf", range=(-9.0, 9.0), partial=lambda d, tangents, results, x: (tangents[0], None),
        instructions=4, numpy_ns=3.4),
    Row("frexp", range=(-9.0, 9.0), instructions=12, numpy_ns=2.2,
        partial=lambda d, tangents, results, x: (np.ldexp(tangents[0], -results[1]), None)),
    Row("copysign", partial=(lambda z, x, y: np.copysign(np.sign(x), x * y), None), quiet="f",
        numpy_ns=0.65),
    Row("nextafter", partial=(1, None), instructions=12, numpy_ns=14, single_ns=10),
    Row("spacing", partial=flat, instructions=5, numpy_ns=3.7, single_ns=2.7),
    Row("signbit", quiet="f"),
    Row("isnan", scalar=(("{0} != {0}", "f"),), quiet="biuf"),
    Row("isinf", quiet="biuf"),
    Row("isfinite", quiet="biuf"),
    Row("ldexp", range=(-4, 4), partial=(lambda z, x, i: np.ldexp(np.ones((), x.dtype), i), None),
        transposed=lambda d, ct, x, i, *, dtype: (np.ldexp(ct, i), None), instructions=15,
        numpy_ns=8),
    # exponentials and logarithms
    Row("exp", partial=(lambda y, x: y,), instructions=25, numpy_ns=7, single_ns=1.2),
    Row("exp2", partial=(lambda y, x: y * _LN2,), instructions=25, numpy_ns=5, single_ns=2.5),
    Row("expm1", partial=(lambda y, x: y + 1,), instructions=35, numpy_ns=12.5),
    Row("log", range=(0.5, 4.0), partial=(lambda y, x: 1 / x,), instructions=30,
        numpy_ns=4.5, single_ns=1.7),
    Row("log2", range=(0.5, 4.0), partial=(lambda y, x: 1 / (x * _LN2),), instructions=32,
        numpy_ns=4.5, single_ns=8),
    Row("log10", range=(0.5, 4.0), partial=(lambda y, x: 1 / (x * _LN10),), instructions=32,
        numpy_ns=8.5, single_ns=6.4),
    Row("log1p", range=(-0.5, 4.0), partial=(lambda y, x: 1 / (1 + x),), instructions=40,
        numpy_ns=12),
    Row("logaddexp",
        partial=(lambda z, x, y: _ratio(np.exp, x, z), lambda z, x, y: _ratio(np.exp, y, z)),
        instructions=70, numpy_ns=26),
    Row("logaddexp2",
        partial=(lambda z, x, y: _ratio(np.exp2, x, z), lambda z, x, y: _ratio(np.exp2, y, z)),
        instructions=70, numpy_ns=25),
    # trigonometric and hyperbolic
    Row("sin", range=(-4.0, 4.0), partial=(lambda y, x: np.cos(x),), instructions=40,
        numpy_ns=17, single_ns=1.6),
    Row("cos", range=(-4.0, 4.0), partial=(lambda y, x: -np.sin(x),), instructions=40,
        numpy_ns=14.5, single_ns=1.6),
    Row("tan", range=(-1.0, 1.0), partial=(lambda y, x: 1 + y * y,), instructions=55, numpy_ns=12),
    Row("arcsin", range=(-1.0, 1.0), partial=(lambda y, x: 1 / np.sqrt(1 - x * x),),
        instructions=35, numpy_ns=14.5, single_ns=8.3),
    Row("arccos", range=(-1.0, 1.0), partial=(lambda y, x: -1 / np.sqrt(1 - x * x),),
        instructions=35, numpy_ns=19, single_ns=8.6),
    Row("arctan", range=(-4.0, 4.0), partial=(lambda y, x: 1 / (1 + x * x),), instructions=35,
        numpy_ns=10),
    Row("arctan2",
        partial=(lambda z, y, x: x / (x * x + y * y), lambda z, y, x: -y / (x * x + y * y)),
        instructions=45, numpy_ns=23),
    Row("hypot", partial=(lambda z, x, y: _hypot(z, x), lambda z, x, y: _hypot(z, y)),
        instructions=15, numpy_ns=19, single_ns=4.6),
    Row("sinh", partial=(lambda y, x: np.cosh(x),), instructions=45, numpy_ns=19.5),
    Row("cosh", partial=(lambda y, x: np.sinh(x),), instructions=40, numpy_ns=8),
    Row("tanh", partial=(lambda y, x: 1 - y * y,), instructions=45, numpy_ns=18.5, single_ns=3.9),
    Row("arcsinh", partial=(lambda y, x: 1 / np.sqrt(x * x + 1),), instructions=60, numpy_ns=26),
    Row("arccosh", range=(1.0, 4.0),
        partial=(lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),), instructions=60,
        numpy_ns=13.5),
    Row("arctanh", range=(-0.9, 0.9), partial=(lambda y, x: 1 / (1 - x * x),), instructions=50,
        numpy_ns=28),
    Row("deg2rad", range=(-180.0, 180.0), partial=(_DEGREE,), numpy_ns=2.5),
    Row("rad2deg", range=(-4.0, 4.0), partial=(1 / _DEGREE,), numpy_ns=2.5, single_ns=1.6),
    Row("degrees", range=(-4.0, 4.0), partial=(1 / _DEGREE,), numpy_ns=2),
    Row("radians", range=(-180.0, 180.0), partial=(_DEGREE,), numpy_ns=2.5, single_ns=1.6),
    # comparison and logic
    Row("equal", range=(-2, 2), scalar=(("{0} == {1}", "biufc"),), quiet="biuf", recompute=1),
    Row("not_equal", range=(-2, 2), scalar=(("{0} != {1}", "biufc"),), quiet="biuf", recompute=1),
    Row("less", scalar=(("{0} < {1}", "biuf"),), quiet="biuf", recompute=1),
    Row("less_equal", scalar=(("{0} <= {1}", "biuf"),), quiet="biuf", recompute=1),
    Row("greater", scalar=(("{0} > {1}", "biuf"),), quiet="biuf", recompute=1),
    Row("greater_equal", scalar=(("{0} >= {1}", "biuf"),), quiet="biuf", recompute=1),
    Row("logical_and", range=(0, 1), scalar=(("{0} & {1}", "b"),), quiet="biu", is_associative=True,
        recompute=1, numpy_ns=1),
    Row("logical_or", range=(0, 1), scalar=(("{0} | {1}", "b"),), quiet="biu", is_associative=True,
        recompute=1, numpy_ns=1),
    Row("logical_xor", range=(0, 1), scalar=(("{0} ^ {1}", "b"),), quiet="biu",
        is_associative=True, numpy_ns=1),
    Row("logical_not", range=(0, 1), scalar=(("{0} ^ {true}", "b"),), quiet="biu", recompute=1,
        numpy_ns=0.75),
    Row("maximum", partial=_choice(np.greater), scalar=_extreme(">", "<"), is_of_one_type=True,
        quiet="biuf",
        is_associative=True, instructions=3, recompute=1),
    Row("minimum", partial=_choice(np.less), scalar=_extreme("<", ">"), is_of_one_type=True,
        quiet="biuf",
        is_associative=True, instructions=3, recompute=1),
    Row("fmax", partial=_choice(lambda x, y: (x > y) | np.isnan(y)), quiet="biuf",
        is_associative=True, instructions=3),
    Row("fmin", partial=_choice(lambda x, y: (x < y) | np.isnan(y)), quiet="biuf",
        is_associative=True, instructions=3),
    # integers and bits
    Row("bitwise_and", range=(0, 9), scalar=(("{0} & {1}", "biu"),), quiet="biu",
        is_associative=True),
    Row("bitwise_or", range=(0, 9), scalar=(("{0} | {1}", "biu"),), quiet="biu",
        is_associative=True),
    Row("bitwise_xor", range=(0, 9), scalar=(("{0} ^ {1}", "biu"),), quiet="biu",
        is_associative=True),
    Row("invert", range=(-9, 9), scalar=(("~{0}", "iu"),), quiet="biu"),
    Row("left_shift", range=(0, 9), scalar=(("{0} << {1}", "iu"),), instructions=3),
    Row("right_shift", range=(0, 9), scalar=(("{0} >> {1}", "iu"),), instructions=2),
    Row("gcd", range=(1, 99), instructions=150, numpy_ns=18),
    Row("lcm", range=(1, 99), instructions=180, numpy_ns=18),
    Row("bitwise_count", range=(0, 99), instructions=2, numpy_ns=0.9),
)
#: Of `scipy.special`.
_of_scipy = functools.partial(Row, instructions=50)
SCIPY_ROWS = (
    _of_scipy("erf", partial=(lambda y, x: _TWO_OVER_ROOT_PI * np.exp(-x * x),), instructions=70),
    _of_scipy("erfc", partial=(lambda y, x: -_TWO_OVER_ROOT_PI * np.exp(-x * x),), instructions=90),
    _of_scipy("erfinv", partial=(lambda y, x: np.exp(y * y) / _TWO_OVER_ROOT_PI,), instructions=90),
    _of_scipy("expit", partial=(lambda y, x: y * (1 - y),), instructions=35),
    _of_scipy("logit", partial=(lambda y, x: 1 / (x * (1 - x)),), instructions=45),
    _of_scipy("log_expit", partial=(lambda y, x: special("expit", -x),), instructions=60),
    _of_scipy("gamma", partial=(lambda y, x: y * special("psi", x),), instructions=120),
    _of_scipy("gammaln", partial=(lambda y, x: special("psi", x),), instructions=120,
              numpy_ns=10.0),
    _of_scipy("psi", partial=(lambda y, x: special("zeta", np.full_like(x, 2), x),),
              instructions=120),
    _of_scipy("ndtr", partial=(lambda y, x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),),
        instructions=90),
    _of_scipy("xlogy", partial=(lambda z, x, y: np.log(y), lambda z, x, y: x / y), instructions=40),
    _of_scipy("xlog1py", partial=(lambda z, x, y: np.log1p(y), lambda z, x, y: x / (1 + y))),
    _of_scipy("i0", partial=(lambda y, x: special("i1", x),), instructions=80),
    _of_scipy("i0e", partial=(lambda y, x: special("i1e", x) - np.sign(x) * y,)),
    _of_scipy("i1", partial=(lambda y, x: special("i0", x) - _over(y, x),)),
    _of_scipy("i1e", partial=(lambda y, x: special("i0e", x) - _over(y, x) - np.sign(x) * y,)),
    _of_scipy("j0", partial=(lambda y, x: -special("j1", x),)),
    _of_scipy("j1", partial=(lambda y, x: special("j0", x) - _over(y, x),)),
    _of_scipy("k0", partial=(lambda y, x: -special("k1", x),)),
    _of_scipy("k1", partial=(lambda y, x: -special("k0", x) - y / x,)),
    _of_scipy("y0", partial=(lambda y, x: -special("y1", x),)),
    _of_scipy("y1", partial=(lambda y, x: special("y0", x) - y / x,)),
    _of_scipy("erfcx", partial=(lambda y, x: 2 * x * y - _TWO_OVER_ROOT_PI,)),
    _of_scipy("erfi", partial=(lambda y, x: _TWO_OVER_ROOT_PI * np.exp(x * x),)),
    _of_scipy("erfcinv", partial=(lambda y, x: -1 / _TWO_OVER_ROOT_PI * np.exp(y * y),),
        instructions=90),
    _of_scipy("dawsn", partial=(lambda y, x: 1 - 2 * x * y,)),
    _of_scipy("ndtri", partial=(lambda y, x: math.sqrt(2 * math.pi) * np.exp(y * y / 2),),
        instructions=90),
    _of_scipy("log_ndtr", partial=(lambda y, x: np.exp(-x * x / 2 - y) / math.sqrt(2 * math.pi),)),
    _of_scipy("rgamma", partial=(lambda y, x: -y * special("psi", x),)),
    _of_scipy("loggamma", partial=(lambda y, x: special("psi", x),)),
    _of_scipy("beta",
        partial=(lambda z, x, y: z * (special("psi", x) - special("psi", x + y)),
                 lambda z, x, y: z * (special("psi", y) - special("psi", x + y)))),
    _of_scipy("betaln",
        partial=(lambda z, x, y: special("psi", x) - special("psi", x + y),
                 lambda z, x, y: special("psi", y) - special("psi", x + y))),
    _of_scipy("gammainc",
        partial=(_unknown("gammainc", "first"),
                 lambda z, a, x: np.exp((a - 1) * np.log(x) - x - special("gammaln", a)))),
    _of_scipy("gammaincc",
        partial=(_unknown("gammaincc", "first"),
                 lambda z, a, x: -np.exp((a - 1) * np.log(x) - x - special("gammaln", a)))),
    # The ufunc under `scipy.special.zeta` has no public name.
    _of_scipy("_zeta",
        partial=(_unknown("zeta", "first"), lambda z, x, q: -x * special("zeta", x + 1, q))),
    _of_scipy("expi", partial=(lambda y, x: np.exp(x) / x,)),
    _of_scipy("exp1", partial=(lambda y, x: -np.exp(-x) / x,)),
    _of_scipy("exp10", partial=(lambda y, x: y * _LN10,)),
    _of_scipy("entr", partial=(lambda y, x: -np.log(x) - 1,), instructions=40),
    _of_scipy("rel_entr", partial=(lambda z, x, y: np.log(x / y) + 1, lambda z, x, y: -x / y)),
    _of_scipy("kl_div", partial=(lambda z, x, y: np.log(x / y), lambda z, x, y: 1 - x / y)),
    _of_scipy("cosm1", partial=(lambda y, x: -np.sin(x),)),
    _of_scipy("spence", partial=(lambda y, x: np.log(x) / (1 - x),)),
    _of_scipy("boxcox", partial=(lambda z, x, a: x ** (a - 1), _unknown("boxcox", "second"))),
)
# fmt: on


#: What is taken of a function of which nothing is known.
UNKNOWN = Row("", instructions=50)
#: ... and of one of SciPy's, which raises nothing: mostly a series, with no lanes.
OF_SCIPY = Row("", instructions=800, numpy_ns=50.0)
_BY_NAME = {row.name: row for row in (*ROWS, *SCIPY_ROWS)}
_KNOWN: dict[Any, Row] = {getattr(np, row.name): row for row in ROWS}


def row_of(fn: Any) -> Row:
    """Return the row of a ufunc: others than NumPy's and SciPy's may share a name.

    Examples
    --------
    >>> row_of(np.exp).instructions, row_of(np.frompyfunc(abs, 1, 1)).instructions
    (25, 50)
    """
    known = _KNOWN.get(fn)
    if known is not None:
        return known
    name = fn.__name__
    return _BY_NAME.get(name, OF_SCIPY) if is_scipys(fn) or name == "_zeta" else UNKNOWN


def is_scipys(fn: Any) -> bool:
    """Whether a ufunc is one of `scipy.special`, whose functions nobody has without it."""
    scipy = sys.modules.get("scipy.special")
    return scipy is not None and getattr(scipy, fn.__name__, None) is fn


#: How many times as fast NumPy's loops in vectors of 512 bits are as those of numbers.
WIDE = 6.0


@functools.lru_cache(maxsize=256)
def element_ns(fn: Any, dtype: np.dtype) -> float:
    """Return about how many nanoseconds NumPy's loop of a ufunc takes a number of a dtype.

    Examples
    --------
    >>> element_ns(np.add, np.dtype(float)), element_ns(np.arctan, np.dtype(float)) > 1
    (0.0, True)
    """
    row, kind = row_of(fn), np.result_type(dtype, np.float32)
    if kind == np.float32:
        return row.numpy_ns if row.single_ns is None else row.single_ns
    if kind != np.float64 or not row.numpy_ns:
        return 2.5 * row.numpy_ns
    loops = np.lib.introspect.opt_func_info(f"^{fn.__name__}$", "^float64$").get(fn.__name__, {})
    is_wide = any(
        ["AVX512" in loop["current"] or "V4" in loop["current"] for loop in loops.values()]
    )
    return row.numpy_ns / WIDE if is_wide else row.numpy_ns


def instructions(fn: Any, loop: tuple[np.dtype, ...]) -> int:
    """Return about how many instructions a loop of a ufunc takes an element.

    Examples
    --------
    >>> instructions(np.add, (np.dtype(float),) * 3), instructions(np.exp, (np.dtype(float),) * 2)
    (1, 25)
    """
    known, kinds = row_of(fn).instructions, {dtype.kind for dtype in loop}
    if "c" in kinds:
        return {1: 2}.get(known, 4 * known) if fn is not np.multiply else 4
    return 40 if fn is np.power and kinds <= {"i", "u"} else known
