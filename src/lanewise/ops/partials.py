"""The derivatives of elementwise functions, in plain NumPy: a row for each.

A row has a partial derivative for each operand: a function of the result and the operands, a
constant factor, or None where the function is constant almost everywhere. A function in place of
the row is the whole rule, for what is not holomorphic or has several results.

At points where a function has no derivative the rows give a subgradient: 0 for ``abs`` at 0, and
equal shares for the operands of a ``maximum`` that are equal.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
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


def _modf(d: Any, tangents: Any, results: Any, x: Any) -> Any:
    return tangents[0], None


def _frexp(d: Any, tangents: Any, results: Any, x: Any) -> Any:
    return np.ldexp(tangents[0], -results[1]), None


def _conjugate(d: Any, tangents: Any, y: Any, x: Any) -> Any:
    return np.conjugate(tangents[0])


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

#: By the names of the functions.
PARTIALS: dict[str, tuple[Partial, ...] | Callable[..., Any]] = {
    # arithmetic
    "add": (1, 1),
    "subtract": (1, -1),
    "multiply": (lambda z, x, y: y, lambda z, x, y: x),
    # Both by one division, which takes as long as much else. (Where 1 / y overflows, at subnormal
    # y, the first is infinite and the second may be NaN.)
    "divide": (lambda z, x, y: 1 / y, lambda z, x, y: -z * (1 / y)),
    "floor_divide": flat,
    "remainder": (1, lambda z, x, y: -np.floor(x / y)),
    "fmod": (1, lambda z, x, y: -np.trunc(x / y)),
    "divmod": _divmod,
    "power": (_power_base, _power_exponent),
    "float_power": (_power_base, _power_exponent),
    "negative": (-1,),
    "positive": (1,),
    "absolute": _absolute,
    "fabs": (lambda y, x: np.sign(x),),
    "sign": _sign,
    "square": (lambda y, x: 2 * x,),
    "sqrt": (lambda y, x: 0.5 / y,),
    "cbrt": (lambda y, x: 1 / (3 * y * y),),
    "reciprocal": (lambda y, x: -y * y,),
    "conjugate": _conjugate,
    "heaviside": (None, lambda z, x, y: (x == 0).astype(z.dtype)),
    # rounding and representation
    "rint": flat,
    "floor": flat,
    "ceil": flat,
    "trunc": flat,
    "modf": _modf,
    "frexp": _frexp,
    "ldexp": (lambda z, x, i: np.ldexp(np.ones((), x.dtype), i), None),
    "copysign": (lambda z, x, y: np.copysign(np.sign(x), x * y), None),
    "nextafter": (1, None),
    "spacing": flat,
    # exponentials and logarithms
    "exp": (lambda y, x: y,),
    "exp2": (lambda y, x: y * _LN2,),
    "expm1": (lambda y, x: y + 1,),
    "log": (lambda y, x: 1 / x,),
    "log2": (lambda y, x: 1 / (x * _LN2),),
    "log10": (lambda y, x: 1 / (x * _LN10),),
    "log1p": (lambda y, x: 1 / (1 + x),),
    "logaddexp": (lambda z, x, y: _ratio(np.exp, x, z), lambda z, x, y: _ratio(np.exp, y, z)),
    "logaddexp2": (lambda z, x, y: _ratio(np.exp2, x, z), lambda z, x, y: _ratio(np.exp2, y, z)),
    # trigonometric and hyperbolic
    "sin": (lambda y, x: np.cos(x),),
    "cos": (lambda y, x: -np.sin(x),),
    "tan": (lambda y, x: 1 + y * y,),
    "arcsin": (lambda y, x: 1 / np.sqrt(1 - x * x),),
    "arccos": (lambda y, x: -1 / np.sqrt(1 - x * x),),
    "arctan": (lambda y, x: 1 / (1 + x * x),),
    "arctan2": (
        lambda z, y, x: x / (x * x + y * y),
        lambda z, y, x: -y / (x * x + y * y),
    ),
    "hypot": (lambda z, x, y: _hypot(z, x), lambda z, x, y: _hypot(z, y)),
    "sinh": (lambda y, x: np.cosh(x),),
    "cosh": (lambda y, x: np.sinh(x),),
    "tanh": (lambda y, x: 1 - y * y,),
    "arcsinh": (lambda y, x: 1 / np.sqrt(x * x + 1),),
    "arccosh": (lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    "arctanh": (lambda y, x: 1 / (1 - x * x),),
    "deg2rad": (_DEGREE,),
    "radians": (_DEGREE,),
    "rad2deg": (1 / _DEGREE,),
    "degrees": (1 / _DEGREE,),
    # choices
    "maximum": _choice(np.greater),
    "minimum": _choice(np.less),
    "fmax": _choice(lambda x, y: (x > y) | np.isnan(y)),
    "fmin": _choice(lambda x, y: (x < y) | np.isnan(y)),
    # of scipy.special
    "erf": (lambda y, x: _TWO_OVER_ROOT_PI * np.exp(-x * x),),
    "erfc": (lambda y, x: -_TWO_OVER_ROOT_PI * np.exp(-x * x),),
    "erfinv": (lambda y, x: np.exp(y * y) / _TWO_OVER_ROOT_PI,),
    "expit": (lambda y, x: y * (1 - y),),
    "logit": (lambda y, x: 1 / (x * (1 - x)),),
    "log_expit": (lambda y, x: special("expit", -x),),
    "gamma": (lambda y, x: y * special("psi", x),),
    "gammaln": (lambda y, x: special("psi", x),),
    "psi": (lambda y, x: special("zeta", np.full_like(x, 2), x),),
    "ndtr": (lambda y, x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),),
    "xlogy": (
        lambda z, x, y: np.log(y),
        lambda z, x, y: x / y,
    ),
    "xlog1py": (
        lambda z, x, y: np.log1p(y),
        lambda z, x, y: x / (1 + y),
    ),
    "i0": (lambda y, x: special("i1", x),),
    "i0e": (lambda y, x: special("i1e", x) - np.sign(x) * y,),
    "i1": (lambda y, x: special("i0", x) - _over(y, x),),
    "i1e": (lambda y, x: special("i0e", x) - _over(y, x) - np.sign(x) * y,),
    "j0": (lambda y, x: -special("j1", x),),
    "j1": (lambda y, x: special("j0", x) - _over(y, x),),
    "k0": (lambda y, x: -special("k1", x),),
    "k1": (lambda y, x: -special("k0", x) - y / x,),
    "y0": (lambda y, x: -special("y1", x),),
    "y1": (lambda y, x: special("y0", x) - y / x,),
    "erfcx": (lambda y, x: 2 * x * y - _TWO_OVER_ROOT_PI,),
    "erfi": (lambda y, x: _TWO_OVER_ROOT_PI * np.exp(x * x),),
    "erfcinv": (lambda y, x: -1 / _TWO_OVER_ROOT_PI * np.exp(y * y),),
    "dawsn": (lambda y, x: 1 - 2 * x * y,),
    "ndtri": (lambda y, x: math.sqrt(2 * math.pi) * np.exp(y * y / 2),),
    "log_ndtr": (lambda y, x: np.exp(-x * x / 2 - y) / math.sqrt(2 * math.pi),),
    "rgamma": (lambda y, x: -y * special("psi", x),),
    "loggamma": (lambda y, x: special("psi", x),),
    "beta": (
        lambda z, x, y: z * (special("psi", x) - special("psi", x + y)),
        lambda z, x, y: z * (special("psi", y) - special("psi", x + y)),
    ),
    "betaln": (
        lambda z, x, y: special("psi", x) - special("psi", x + y),
        lambda z, x, y: special("psi", y) - special("psi", x + y),
    ),
    "gammainc": (
        _unknown("gammainc", "first"),
        lambda z, a, x: np.exp((a - 1) * np.log(x) - x - special("gammaln", a)),
    ),
    "gammaincc": (
        _unknown("gammaincc", "first"),
        lambda z, a, x: -np.exp((a - 1) * np.log(x) - x - special("gammaln", a)),
    ),
    "_zeta": (
        _unknown("zeta", "first"),
        lambda z, x, q: -x * special("zeta", x + 1, q),
    ),
    "expi": (lambda y, x: np.exp(x) / x,),
    "exp1": (lambda y, x: -np.exp(-x) / x,),
    "exp10": (lambda y, x: y * _LN10,),
    "entr": (lambda y, x: -np.log(x) - 1,),
    "rel_entr": (lambda z, x, y: np.log(x / y) + 1, lambda z, x, y: -x / y),
    "kl_div": (lambda z, x, y: np.log(x / y), lambda z, x, y: 1 - x / y),
    "cosm1": (lambda y, x: -np.sin(x),),
    "spence": (lambda y, x: np.log(x) / (1 - x),),
    "boxcox": (
        lambda z, x, a: x ** (a - 1),
        _unknown("boxcox", "second"),
    ),
}


def partials_of(fn: np.ufunc) -> Any:
    """Return the row of a ufunc, or None: others than NumPy's and SciPy's may share a name."""
    name = fn.__name__
    homes = (np, sys.modules.get("scipy.special"))
    is_known = any(getattr(home, name, None) is fn for home in homes)
    # The ufunc under `scipy.special.zeta` has no public name.
    return PARTIALS.get(name) if is_known or name == "_zeta" else None


def _ratio(exp: Callable[..., Any], x: Any, z: Any) -> Any:
    """Return exp(x - z), of equal infinities too."""
    return exp(np.where(x == z, np.zeros((), z.dtype), x - z))


# --- transposes -----------------------------------------------------------------------------------


def _add(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return (ct if is_linear(x) else None, ct if is_linear(y) else None)


def _subtract(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return (ct if is_linear(x) else None, -ct if is_linear(y) else None)


def _multiply(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return (d.times(ct, y), None) if is_linear(x) else (None, d.times(ct, x))


def _divide(d: Any, ct: Any, x: Any, y: Any, *, dtype: Any) -> Any:
    return d.times(ct, 1 / y), None


def _ldexp(d: Any, ct: Any, x: Any, i: Any, *, dtype: Any) -> Any:
    return np.ldexp(ct, i), None


#: Of the functions that the rows above apply to tangents.
TRANSPOSES: dict[str, Callable[..., Any]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negative": lambda d, ct, x, *, dtype: -ct,
    "positive": lambda d, ct, x, *, dtype: ct,
    "conjugate": lambda d, ct, x, *, dtype: np.conjugate(ct),
    "ldexp": _ldexp,
}
