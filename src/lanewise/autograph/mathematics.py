"""`math`, `cmath`, `round` and `pow` on values that are data, with the errors that Python raises.

A function that is computed by NumPy or SciPy checks what `math` would refuse: a ValueError outside
of its domain, an OverflowError where the result is too large. What they have not is computed by
`math` itself, number by number.
"""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from lanewise.autograph.builtins import integer, sum_
from lanewise.autograph.calls import ROWS, replaces
from lanewise.autograph.tables import Table
from lanewise.autograph.values import (
    either,
    ensure,
    negated,
    refuse_types,
    traced,
    truth,
)
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ops.python import FUNCTIONS, python_call
from lanewise.trace.classwise import each_class
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import Tensor, as_tensor, emit, weak
from lanewise.trace.ufuncs import apply
from lanewise.trace.weak import weak_kind

DOMAIN = ValueError("math domain error")
RANGE = OverflowError("math range error")

#: Names that stay as they are: constants.
CONSTANTS = frozenset("e pi tau inf nan infj nanj".split())
_KINDS = {int: np.dtype(np.int64), float: np.dtype(float), complex: np.dtype(complex)}


def _enter(module: Any, name: str, implementation: Callable[..., Any]) -> None:
    """Make a function what is called for one of `math` or `cmath` where there is data."""
    function = getattr(module, name, None)
    if function is None:  # of a later Python
        return

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_traced(args) and not (kwargs and is_traced(kwargs)):
            return function(*args, **kwargs)
        refuse_types(function, *args, **kwargs)
        return implementation(*args, **kwargs)

    call.__name__ = name
    ROWS[function] = call


def _floats(*numbers: Any) -> list[Any]:
    """Return numbers as `math` takes them: Python floats, those that are data as tensors."""
    return [float(x) if traced(x) is None else _real(traced(x)) for x in numbers]


def _real(x: Any) -> Tensor:
    x = x.real if x.dtype.kind == "c" else x
    return x if x.dtype == float else x.astype(float)


def _ints(*numbers: Any) -> list[Any]:
    return [int(x) if traced(x) is None else weak(traced(x), int) for x in numbers]


def _float(x: Any) -> Tensor:
    return weak(as_tensor(x), float)


# --- Python's own --------------------------------------------------------------------------------


@replaces(builtins.round)
@each_class
def round_(number: Any, ndigits: Any = None) -> Any:
    """``round``: to an int; with digits as NumPy rounds, or exactly for Python's floats."""
    if not is_traced((number, ndigits)):
        return round(number) if ndigits is None else round(number, ndigits)
    if ndigits is None:
        refuse_types(round, number)
        x = traced(number)
        assert x is not None
        return integer(np.rint(x) if x.dtype.kind == "f" else x)
    refuse_types(round, number, ndigits)
    kind = number._weak if isinstance(number, Tensor) else type(number)
    if kind in (bool, int, float):
        kind = float if kind is float else int
        x = as_tensor(number)
        return weak(emit(python_call, x, ndigits, fn="round", dtype=np.dtype(kind)), kind)
    if traced(ndigits) is not None:
        raise UnsupportedError(
            f"round(x, n) of a NumPy scalar with an n that is data{at(here())}: write "
            "np.rint(x * 10.0**n) / 10.0**n"
        )
    return np.round(traced(number), ndigits)  # type: ignore[call-overload]


@replaces(builtins.pow)
@each_class
def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    """``pow``: with a modulus of Python's ints, exactly."""
    if mod is None or not is_traced((base, exp, mod)):
        return pow(base, exp, mod)
    refuse_types(pow, base, exp, mod)
    return weak(emit(python_call, base, exp, mod, fn="pow", dtype=_KINDS[int]), int)


@replaces(builtins.divmod)
@each_class
def divmod_(x: Any, y: Any) -> Any:
    """``divmod``: of Python numbers with Python's errors."""
    if is_traced((x, y)) and weak_kind(x) is not None and weak_kind(y) is not None:
        return x // y, x % y
    return divmod(x, y)


# --- one float ------------------------------------------------------------------------------------

Check = Callable[[Any], Any]


def _special(name: str) -> Callable[[Any], Any]:
    """Return a function of `scipy.special`, which takes longer to import than all of Lanewise."""

    def call(x: Any) -> Any:
        from scipy import special

        return getattr(special, name)(x)

    return call


_gammaln = _special("gammaln")


def _lgamma(x: Any) -> Any:
    tiny = abs(x) < 1e-200  # where SciPy's overflows, and 1 / x is all that counts
    ordinary = _gammaln(np.where(tiny | (x == -np.inf), np.inf, x))
    return np.where(tiny, -np.log(np.where(tiny, abs(x), 1.0)), ordinary)


#: The function in NumPy or SciPy, where it is not defined, and whether it may overflow.
_UNARY: dict[str, tuple[Any, Check | None, bool]] = {
    "acos": (np.arccos, lambda x: abs(x) > 1, False),
    "acosh": (np.arccosh, lambda x: x < 1, False),
    "asin": (np.arcsin, lambda x: abs(x) > 1, False),
    "asinh": (np.arcsinh, None, False),
    "atan": (np.arctan, None, False),
    "atanh": (np.arctanh, lambda x: abs(x) >= 1, False),
    "cbrt": (np.cbrt, None, False),
    "cos": (np.cos, lambda x: abs(x) == np.inf, False),
    "cosh": (np.cosh, None, True),
    "degrees": (lambda x: x * (180.0 / math.pi), None, False),
    "erf": (_special("erf"), None, False),
    "erfc": (_special("erfc"), None, False),
    "exp": (np.exp, None, True),
    "exp2": (np.exp2, None, True),
    "expm1": (np.expm1, None, True),
    "fabs": (np.fabs, None, False),
    "gamma": (_special("gamma"), lambda x: (x <= 0) & (x == np.floor(x)), True),
    "lgamma": (_lgamma, lambda x: (x <= 0) & (x == np.floor(x)) & (x != -np.inf), True),
    "log": (np.log, lambda x: x <= 0, False),
    "log10": (np.log10, lambda x: x <= 0, False),
    "log1p": (np.log1p, lambda x: x <= -1, False),
    "log2": (np.log2, lambda x: x <= 0, False),
    "radians": (lambda x: x * (math.pi / 180.0), None, False),
    "sin": (np.sin, lambda x: abs(x) == np.inf, False),
    "sinh": (np.sinh, None, True),
    "sqrt": (np.sqrt, lambda x: x < 0, False),
    "tan": (np.tan, lambda x: abs(x) == np.inf, False),
    "tanh": (np.tanh, None, False),
}


def _unary(ufunc: Any, outside: Check | None, may_overflow: bool, x: Any) -> Tensor:
    (x,) = _floats(x)
    if outside is not None:
        x = ensure(x, np.logical_not(outside(x)), DOMAIN)
    return _float(_finite(ufunc(x), x) if may_overflow else ufunc(x))


def _finite(result: Any, *operands: Any) -> Any:
    """Raise `RANGE` where a result of finite numbers is infinite."""
    too_large = np.isinf(result)
    for x in operands:
        too_large = np.logical_and(too_large, np.isfinite(x))
    return ensure(result, np.logical_not(too_large), RANGE)


def _log(x: Any, *base: Any) -> Any:
    if not base:
        return _unary(*_UNARY["log"], x)
    return ROWS[math.log](x) / ROWS[math.log](*base)


# --- whole numbers --------------------------------------------------------------------------------


def _whole(ufunc: Any, x: Any) -> Tensor:
    x = traced(x)
    return integer(ufunc(x) if x.dtype.kind in "fc" else x)


def _by_python(name: str, kind: type, prepare: Callable[..., list[Any]], *args: Any) -> Tensor:
    return weak(emit(python_call, *prepare(*args), fn=name, dtype=_KINDS[kind]), kind)


def _perm(n: Any, k: Any = None) -> Tensor:
    if k is None:
        return _by_python("math.factorial", int, _ints, n)
    return _by_python("math.perm", int, _ints, n, k)


def _gcd(*numbers: Any) -> Tensor:
    return weak(reduce(np.gcd, [0, *map(as_tensor, _ints(*numbers))]), int)


# --- two floats -----------------------------------------------------------------------------------


def _binary(ufunc: Any, x: Any, y: Any) -> Tensor:
    return _float(ufunc(*_floats(x, y)))


def _fmod(x: Any, y: Any) -> Tensor:
    x, y = _floats(x, y)
    known = np.logical_or(np.isnan(x), np.isnan(y))
    x = ensure(x, known | ((abs(x) != np.inf) & (y != 0)), DOMAIN)
    return _float(np.fmod(x, y))


def _pow(x: Any, y: Any) -> Tensor:
    x, y = map(as_tensor, _floats(x, y))
    are_finite = np.isfinite(x) & np.isfinite(y)
    is_outside = (x == 0) & (y < 0) & (y != -np.inf) | are_finite & (x < 0) & (y != np.floor(y))
    x = ensure(x, np.logical_not(is_outside), DOMAIN)
    return _float(_finite(apply(np.power, x, y, operator=np.power), x, y))


def _ldexp(x: Any, i: Any) -> Tensor:
    (x,), (i,) = _floats(x), _ints(i)
    return _float(_finite(np.ldexp(x, np.clip(as_tensor(i), -3000, 3000)), x))


def _nextafter(x: Any, y: Any, *, steps: Any = None) -> Tensor:
    if steps is not None:
        raise UnsupportedError(
            f"math.nextafter(steps=) is not followed{at(here())}: take the steps in a loop"
        )
    return _binary(np.nextafter, x, y)


# --- several results, and truths ------------------------------------------------------------------


def _modf(x: Any) -> tuple[Tensor, Tensor]:
    fraction, whole = np.modf(*_floats(x))
    return _float(fraction), _float(whole)


def _frexp(x: Any) -> tuple[Tensor, Tensor]:
    (x,) = _floats(x)
    mantissa, exponent = np.frexp(x)
    return _float(mantissa), weak(np.where(np.isfinite(x), exponent, 0), int)


def _test(test: Any, x: Any) -> Tensor:
    return truth(test(traced(x)))


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    is_negative = either(truth(rel_tol < 0), lambda: truth(abs_tol < 0))
    a = ensure(_inexact(a), negated(is_negative), ValueError("tolerances must be non-negative"))
    b = _inexact(b)
    finite = np.logical_and(np.isfinite(a), np.isfinite(b))
    far = abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    near = (far <= abs(rel_tol * b)) | (far <= abs(rel_tol * a)) | (far <= abs_tol)
    return truth(np.logical_or(a == b, np.logical_and(finite, near)))


def _inexact(x: Any) -> Any:
    x = as_tensor(x)
    return x.astype(complex if x.dtype.kind == "c" else float)


# --- of several numbers ---------------------------------------------------------------------------


def _hypot(*coordinates: Any) -> Tensor:
    parts = _floats(*coordinates)
    return _float(np.fabs(parts[0]) if len(parts) == 1 else reduce(np.hypot, parts))


def _row(numbers: Any) -> Tensor:
    """Return an iterable of numbers as a row."""
    x = traced(numbers)
    if x is None:
        items = list(numbers)
        x = as_tensor(Table(items, "a row of numbers").column if items else np.zeros(0))
    if x.ndim != 1:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return x


def _dist(p: Any, q: Any) -> Tensor:
    first, second = _row(p).astype(float), _row(q).astype(float)
    if len(first) != len(second):
        raise ValueError("both points must have the same number of dimensions")
    return _float(np.hypot.reduce(first - second))


def _fsum(numbers: Any) -> Tensor:
    row = _row(numbers).astype(float)
    return weak(emit(python_call, row, fn="math.fsum", dtype=np.dtype(float), rows=True), float)


def _prod(numbers: Any, /, *, start: Any = 1) -> Any:
    x = traced(numbers)
    if x is None:
        return reduce(lambda total, number: total * number, numbers, start)
    product = np.prod(x, axis=0, dtype=np.result_type(x.dtype, 1))
    return product if type(start) is int and start == 1 else start * product


def _sumprod(p: Any, q: Any) -> Any:
    first, second = traced(p), traced(q)
    if first is not None and second is not None:
        return sum_(first * second)
    pairs = zip(p, q, strict=True)
    return reduce(lambda total, pair: total + pair[0] * pair[1], pairs, 0)


_SEVERAL = {"dist": _dist, "fsum": _fsum, "prod": _prod, "sumprod": _sumprod}


def _enter_several(name: str, implementation: Callable[..., Any]) -> None:
    """Enter a function of sequences, whose elements are looked at by the function itself."""
    function = getattr(math, name, None)
    if function is None:
        return

    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple([x if traced(x) is not None else _listed(x) for x in args])
        if not is_traced(args) and not is_traced(kwargs):
            return function(*args, **kwargs)
        return implementation(*args, **kwargs)

    ROWS[function] = call


def _listed(x: Any) -> Any:
    return x if isinstance(x, (list, tuple, int, float)) else list(x)


# --- cmath ----------------------------------------------------------------------------------------

_COMPLEX = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "log": np.log, "log10": np.log10, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
#: Functions that are infinite at places where they are not defined.
_POLES = ("atan", "atanh", "log", "log10")


def _complex(x: Any) -> Tensor:
    return as_tensor(x).astype(complex)


def _of_complex(name: str, z: Any) -> Tensor:
    z = _complex(z)
    if name in ("atan", "atanh"):
        pole = (z.imag == 0) & (abs(z.real) == 1)
        if name == "atan":
            pole = (z.real == 0) & (abs(z.imag) == 1)
        z = ensure(z, np.logical_not(pole), DOMAIN)
    elif name in _POLES:
        z = ensure(z, z != 0, DOMAIN)
    result = _COMPLEX[name](z)
    result = ensure(result, np.logical_not(np.isnan(result) & ~np.isnan(z)), DOMAIN)
    return weak(_finite(result, z), complex)


def _complex_log(z: Any, *base: Any) -> Any:
    if not base:
        return _of_complex("log", z)
    divisor = ROWS[cmath.log](*base)
    return ROWS[cmath.log](z) / ensure(divisor, divisor != 0, DOMAIN)


def _phase(z: Any) -> Tensor:
    z = _complex(z)
    return _float(np.arctan2(z.imag, z.real))


def _polar(z: Any) -> tuple[Tensor, Tensor]:
    z = _complex(z)
    return _float(_finite(np.hypot(z.real, z.imag), z)), _phase(z)


def _enter_all() -> None:
    for name, row in _UNARY.items():
        _enter(math, name, _log if name == "log" else partial(_unary, *row))
    for name in ("floor", "ceil", "trunc"):
        _enter(math, name, partial(_whole, getattr(np, name)))
    for name in ("comb", "factorial", "isqrt", "lcm"):
        _enter(math, name, partial(_by_python, f"math.{name}", int, _ints))
    for name in ("remainder", "ulp", "fma"):
        if f"math.{name}" in FUNCTIONS:
            _enter(math, name, partial(_by_python, f"math.{name}", float, _floats))
    for name, ufunc in (("atan2", np.arctan2), ("copysign", np.copysign)):
        _enter(math, name, partial(_binary, ufunc))
    for name, function in (
        ("perm", _perm), ("gcd", _gcd), ("fmod", _fmod), ("pow", _pow), ("ldexp", _ldexp),
        ("nextafter", _nextafter), ("modf", _modf), ("frexp", _frexp), ("hypot", _hypot),
    ):  # fmt: skip
        _enter(math, name, function)
    for name in _COMPLEX:
        _enter(cmath, name, _complex_log if name == "log" else partial(_of_complex, name))
    _enter(cmath, "phase", _phase)
    _enter(cmath, "polar", _polar)
    _enter(cmath, "rect", partial(_by_python, "cmath.rect", complex, _floats))
    for module in (math, cmath):
        for name in ("isfinite", "isinf", "isnan"):
            _enter(module, name, partial(_test, getattr(np, name)))
        _enter(module, "isclose", _isclose)
    for name, function in _SEVERAL.items():
        _enter_several(name, function)


_enter_all()
