"""What writes the code of ufuncs: which writer for which loop of which function.

All else that is known of a ufunc is its row in `ops/ufuncs.py`.

`lookup` gives what writes the code of one loop. A row names the function as NumPy does, and says
for each class of dtypes what writes it: ``?`` truth values, ``i`` and ``u`` signed and unsigned
integers, ``e`` float16, ``f`` float32 and float64, ``c`` complex numbers; several letters where the
operands are of different classes. What a row does not say of float16 is computed in float32 and
rounded, as NumPy does it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.codegen.elementwise import (
    complex_functions,
    complex_inverse,
    complex_ufuncs,
    division,
    integer_ufuncs,
    real_ufuncs,
)
from lanewise.codegen.mathlib import (
    bessel,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    power,
    special,
    trigonometric,
)
from lanewise.codegen.numbers import Number, is_supported
from lanewise.codegen.vector import Vec
from lanewise.ops.ufuncs import row_of

Writer = Callable[..., Any]
Row = dict[str, Writer]


@dataclass(frozen=True, slots=True)
class Function:
    """What writes the code of one loop of a ufunc.

    Called with a `Number` for each operand, converted to the loop's dtypes, it gives the result, or
    a tuple of results. If it `fails` on some data, it takes the keyword ``fail``, a callable that
    is told of each such condition, the name of the error's class, and the message; what the result
    is where the condition holds is undefined.

    The emitter's fast-math flags hold for what `is_arithmetic`. Other functions are made of
    roundings that must be what they are, and are written without.
    """

    write: Writer
    fails: bool = False
    is_arithmetic: bool = False

    def __call__(self, *operands: Number, **options: Any) -> Any:
        e = operands[0].e
        flags = e.flags
        if not self.is_arithmetic:
            e.flags = ""
        try:
            return self.write(*operands, **options)
        finally:
            e.flags = flags


_real, _integer, _complex = real_ufuncs, integer_ufuncs, complex_ufuncs


def _comparison(of_reals: Writer, of_complex: Writer, iu: Writer, ui: Writer) -> Row:
    return {"? i u e f": of_reals, "c": of_complex, "iu": iu, "ui": ui}


def _logical(of_all: Writer) -> Row:
    return {"? i u e f c": of_all}


def _choice(
    of_bools: Writer, of_integers: Writer, half: Writer, real: Writer, complex_: Writer
) -> Row:
    return {"?": of_bools, "i u": of_integers, "e": half, "f": real, "c": complex_}


def _swapped(writer: Writer) -> Writer:
    return lambda x, y: writer(y, x)


def _negated(writer: Writer) -> Writer:
    return lambda x, y: ~writer(x, y)


def _bits(of_all: Writer) -> Row:
    return {"? i u": of_all}


def _rounding(of_floats: Writer) -> Row:
    return {"? i u": _real.unchanged, "f": of_floats}


def _class(of_integers: Writer, of_floats: Writer, of_complex: Writer) -> Row:
    return {"? i u": of_integers, "e f": of_floats, "c": of_complex}


def _with_known_powers(power: Writer) -> Writer:
    """Return a power that writes products where the exponent is known and small."""

    def write(x: Vec, y: Vec) -> Vec:
        known = None if y.value is None else _real.known_power(x, float(y.value))
        return power(x, y) if known is None else known

    return write


#: NumPy's ufuncs.
ROWS: dict[str, Row] = {
    # arithmetic
    "add": {"?": operator.or_, "i u e f": operator.add, "c": _complex.add},
    "subtract": {"i u e f": operator.sub, "c": _complex.subtract},
    "multiply": {"?": operator.and_, "i u e f": operator.mul, "c": _complex.multiply},
    "divide": {"e f": operator.truediv, "c": _complex.divide},
    "floor_divide": {"i u": division.floor_divide_int, "f": division.floor_divide},
    "remainder": {"i u": division.remainder_int, "f": division.remainder},
    "divmod": {"i u": division.divmod_int, "f": division.divmod_},
    "fmod": {"i u": division.fmod_int, "f": division.fmod},
    "negative": {"i u e f": operator.neg, "c": _complex.negative},
    "positive": {"i u e f c": _real.unchanged},
    "absolute": {"? u": _real.unchanged, "i e f": Vec.abs, "c": complex_functions.absolute},
    "fabs": {"e f": Vec.abs},
    "sign": {"i u": _integer.sign, "f": _real.sign, "c": complex_functions.sign},
    "square": {"i u e f": _real.square, "c": _complex.square},
    "sqrt": {"f": Vec.sqrt, "c": complex_functions.sqrt},
    "reciprocal": {"i u": _integer.reciprocal, "e f": _real.reciprocal, "c": _complex.reciprocal},
    "conjugate": {"i u e f": _real.unchanged, "c": _complex.conjugate},
    "heaviside": {"e f": _real.heaviside},
    "deg2rad": {"f": _real.deg2rad},
    "radians": {"f": _real.deg2rad},
    "rad2deg": {"f": _real.rad2deg},
    "degrees": {"f": _real.rad2deg},
    # rounding and representation
    "rint": {"f": Vec.rint, "c": _complex.rint},
    "floor": _rounding(Vec.floor),
    "ceil": _rounding(Vec.ceil),
    "trunc": _rounding(Vec.trunc),
    "modf": {"f": _real.modf},
    "frexp": {"f": _real.frexp},
    "ldexp": {"fi": _real.ldexp},
    "copysign": {"e f": Vec.copysign},
    "nextafter": {"e f": _real.nextafter},
    "spacing": {"e": _real.spacing_half, "f": _real.spacing},
    "signbit": {"e f": _real.signbit},
    "isnan": _class(_real.never, Vec.isnan, _complex.isnan),
    "isinf": _class(_real.never, _real.isinf, _complex.isinf),
    "isfinite": _class(_real.always, _real.isfinite, _complex.isfinite),
    # comparison and logic
    "equal": _comparison(
        Vec.eq, _complex.equal, _integer.equal_mixed, _swapped(_integer.equal_mixed)
    ),
    "not_equal": _comparison(
        Vec.ne,
        _complex.not_equal,
        _negated(_integer.equal_mixed),
        _swapped(_negated(_integer.equal_mixed)),
    ),
    "less": _comparison(
        operator.lt,
        _complex.less,
        _integer.less_mixed,
        _swapped(_negated(_integer.less_equal_mixed)),
    ),
    "less_equal": _comparison(
        operator.le,
        _complex.less_equal,
        _integer.less_equal_mixed,
        _swapped(_negated(_integer.less_mixed)),
    ),
    "greater": _comparison(
        operator.gt,
        _complex.greater,
        _negated(_integer.less_equal_mixed),
        _swapped(_integer.less_mixed),
    ),
    "greater_equal": _comparison(
        operator.ge,
        _complex.greater_equal,
        _negated(_integer.less_mixed),
        _swapped(_integer.less_equal_mixed),
    ),
    "logical_and": _logical(_complex.logical_and),
    "logical_or": _logical(_complex.logical_or),
    "logical_xor": _logical(_complex.logical_xor),
    "logical_not": _logical(_complex.logical_not),
    "maximum": _choice(
        operator.or_, Vec.greatest, _real.maximum_half, _real.maximum, _complex.maximum
    ),
    "minimum": _choice(
        operator.and_, Vec.least, _real.minimum_half, _real.minimum, _complex.minimum
    ),
    "fmax": _choice(operator.or_, Vec.greatest, _real.fmax_half, _real.fmax, _complex.fmax),
    "fmin": _choice(operator.and_, Vec.least, _real.fmin_half, _real.fmin, _complex.fmin),
    # integers and bits
    "bitwise_and": _bits(operator.and_),
    "bitwise_or": _bits(operator.or_),
    "bitwise_xor": _bits(operator.xor),
    "invert": _bits(operator.invert),
    "left_shift": {"i u": _integer.left_shift},
    "right_shift": {"i u": _integer.right_shift},
    "gcd": {"i u": _integer.gcd},
    "lcm": {"i u": _integer.lcm},
    "bitwise_count": {"i u": _integer.bitwise_count},
    # exponentials, logarithms and powers; trigonometric and hyperbolic functions
    "power": {
        "i u": _integer.power,
        "f": _with_known_powers(power.pow),
        "c": complex_functions.power,
    },
    "exp": {"f": exponential.exp, "c": complex_functions.exp},
    "exp2": {"f": exponential.exp2, "c": complex_functions.exp2},
    "expm1": {"f": exponential.expm1, "c": complex_functions.expm1},
    "log": {"f": exponential.log, "c": complex_functions.log},
    "log2": {"f": exponential.log2, "c": complex_functions.log2},
    "log10": {"f": exponential.log10, "c": complex_functions.log10},
    "log1p": {"f": exponential.log1p, "c": complex_functions.log1p},
    "float_power": {"f": _with_known_powers(power.pow), "c": complex_functions.power},
    "cbrt": {"f": power.cbrt},
    "hypot": {"f": power.hypot},
    "logaddexp": {"f": power.logaddexp},
    "logaddexp2": {"f": power.logaddexp2},
    "sinh": {"f": hyperbolic.sinh, "c": complex_functions.sinh},
    "cosh": {"f": hyperbolic.cosh, "c": complex_functions.cosh},
    "tanh": {"f": hyperbolic.tanh, "c": complex_functions.tanh},
    "arcsinh": {"f": hyperbolic.asinh, "c": complex_inverse.arcsinh},
    "arccosh": {"f": hyperbolic.acosh, "c": complex_inverse.arccosh},
    "arctanh": {"f": hyperbolic.atanh, "c": complex_inverse.arctanh},
    "sin": {"f": trigonometric.sin, "c": complex_functions.sin},
    "cos": {"f": trigonometric.cos, "c": complex_functions.cos},
    "tan": {"f": trigonometric.tan, "c": complex_functions.tan},
    "arcsin": {"f": trigonometric.asin, "c": complex_inverse.arcsin},
    "arccos": {"f": trigonometric.acos, "c": complex_inverse.arccos},
    "arctan": {"f": trigonometric.atan, "c": complex_inverse.arctan},
    "arctan2": {"f": trigonometric.atan2},
}

#: Functions of `scipy.special` on float32 and float64, by the names that they have there.
SCIPY: dict[str, Writer] = {
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "erfinv": error_function.erfinv,
    "erfcinv": error_function.erfcinv,
    "ndtri": error_function.ndtri,
    "ndtr": error_function.ndtr,
    "gamma": gamma.gamma,
    "gammaln": gamma.gammaln,
    "psi": gamma.digamma,
    "expit": special.expit,
    "logit": special.logit,
    "log_expit": special.log_expit,
    "xlogy": special.xlogy,
    "xlog1py": special.xlog1py,
    "entr": special.entr,
    "rel_entr": special.rel_entr,
    "i0": bessel.i0,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log1p": exponential.log1p,
    "cbrt": power.cbrt,
}

#: NumPy's ufuncs, and the names of their rows.
_NAMES: dict[Any, str] = {fn: fn.__name__ for fn in vars(np).values() if isinstance(fn, np.ufunc)}

_CLASSES = {"b": "?", "i": "i", "u": "u", "f": "f", "c": "c"}


@lru_cache(maxsize=4096)
def lookup(ufunc: np.ufunc, loop: tuple[np.dtype, ...]) -> Function | None:
    """Return what writes the code of a loop of a ufunc, None if the compiler cannot.

    Parameters
    ----------
    ufunc
        One of NumPy's, or of `scipy.special`.
    loop
        The dtypes of its operands and results, as `ops.elementwise.loop_dtypes` gives them.

    Examples
    --------
    >>> one = np.dtype(float)
    >>> lookup(np.add, (one, one, one)).fails
    False
    >>> print(lookup(np.add, (np.dtype(object),) * 3))
    None
    """
    if not all(is_supported(dtype) for dtype in loop):
        return None
    row = _row(ufunc)
    if not row:
        return None
    classes = [_class_of(dtype) for dtype in loop[: ufunc.nin]]
    key = classes[0] if len(set(classes)) == 1 else "".join(classes)
    for keys, writer in row.items():
        if key in keys.split():
            fails = writer is _integer.power and key == "i"
            return Function(writer, fails, row_of(ufunc).is_arithmetic)
    if "e" in key:
        key = key.replace("e", "f")
        for keys, writer in row.items():
            if key in keys.split():
                return Function(_through_float32(writer))
    return None


def _row(ufunc: np.ufunc) -> Row:
    """Return the row of a ufunc, empty if there is none."""
    name = _NAMES.get(ufunc)
    if name is not None:
        return ROWS.get(name, {})
    scipy = sys.modules.get("scipy.special")  # whose functions nobody has without it
    name = ufunc.__name__
    if name in SCIPY and getattr(scipy, name, None) is ufunc:
        return {"f": SCIPY[name]}
    return {}


def _class_of(dtype: np.dtype) -> str:
    return "e" if dtype == np.dtype(np.float16) else _CLASSES[dtype.kind]


def _through_float32(writer: Writer) -> Writer:
    """Return what computes in float32 and rounds to float16; exact for single operations."""

    def narrow(result: Number) -> Number:
        return result.to("f16") if isinstance(result, Vec) and result.kind == "f32" else result

    def write(*operands: Vec) -> Any:
        results = writer(*[x.to("f32") if x.kind == "f16" else x for x in operands])
        if isinstance(results, tuple):
            return tuple([narrow(result) for result in results])
        return narrow(results)

    return write
