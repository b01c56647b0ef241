"""What writes the code of ufuncs: which writer for which loop of which function.

All else that is known of a ufunc is its row in `ops/ufuncs.py`.

`lookup` gives what writes the code of one loop. A row names the function as NumPy does, and says
for each class of dtypes what writes it: ``b`` truth values, ``i`` and ``u`` signed and unsigned
integers, ``e`` float16, ``f`` float32 and float64, ``c`` complex numbers; several letters where the
operands are of different classes. What a row does not say of float16 is computed in float32 and
rounded, as NumPy does it.
"""

from __future__ import annotations

import operator
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
    error_function,
    exponential,
    gamma,
    hyperbolic,
    power,
    special,
    trigonometric,
)
from lanewise.codegen.numbers import Complex, Number, is_supported, truth
from lanewise.codegen.vector import Vec, is_signed
from lanewise.ops.ufuncs import is_scipys, row_of

Writer = Callable[..., Any]
Row = dict[str, Writer]


@dataclass(frozen=True, slots=True)
class Function:
    """What writes the code of one loop of a ufunc.

    Called with a `Number` for each operand, converted to the loop's dtypes, it gives the result, or
    a tuple of results. If it `fails` on some data, it takes the keyword ``fail``, a callable that
    is told of each such condition; what the result is where that holds is undefined.

    The emitter's fast-math flags hold for what `is_arithmetic`. Other functions are made of
    roundings that must be what they are, and are written without.
    """

    write: Writer
    fails: bool = False
    is_arithmetic: bool = False

    def __call__(self, *operands: Number, **options: Any) -> Any:
        e = operands[0].e
        flags = e.flags
        e.flags = flags if self.is_arithmetic else ""
        try:
            return self.write(*operands, **options)
        finally:
            e.flags = flags


_real, _integer, _complex = real_ufuncs, integer_ufuncs, complex_ufuncs
_parts = complex_ufuncs.part_by_part


def _comparison(compare: Writer, of_reals: Writer, of_complex: Writer) -> Row:
    """Return the row of a comparison: of Python's numbers, of lanes, and of complex ones."""

    def of_mixed(x: Vec, y: Vec) -> Vec:
        """Compare a signed and an unsigned integer: what is negative is less than all others."""
        signed, decided = (x, compare(-1, 0)) if is_signed(x.kind) else (y, compare(0, -1))
        found = of_reals(_integer.unsigned(x), _integer.unsigned(y))
        return (signed < 0) | found if decided else (signed >= 0) & found

    return {"b i u e f": of_reals, "c": of_complex, "iu ui": of_mixed}


def _logical(combine: Writer) -> Row:
    return {"b i u e f c": lambda *operands: combine(*map(truth, operands))}


def _extreme(is_greatest: bool, keeps_nan: bool) -> Row:
    """Return the row of `maximum` or `minimum`, or where NaN gives way of `fmax` or `fmin`."""
    of_bools, of_integers = operator.and_, Vec.least
    strictly, weakly, of_complex = operator.lt, operator.le, _complex.less_equal
    if is_greatest:
        of_bools, of_integers = operator.or_, Vec.greatest
        strictly, weakly, of_complex = operator.gt, operator.ge, _complex.greater_equal
    return {
        "b": of_bools,
        "i u": of_integers,
        "e": _real.first_of(weakly, keeps_nan),
        "f": _real.extreme(strictly, keeps_nan),
        "c": _real.first_of(of_complex, keeps_nan),
    }


def _power(x: Vec, y: Vec) -> Vec:
    """Write products where the exponent is known and small."""
    known = None if y.value is None else _real.known_power(x, float(y.value))
    return power.pow(x, y) if known is None else known


#: NumPy's ufuncs.
ROWS: dict[str, Row] = {
    # arithmetic
    "add": {"b": operator.or_, "i u e f": operator.add, "c": _parts(operator.add)},
    "subtract": {"i u e f": operator.sub, "c": _parts(operator.sub)},
    "multiply": {"b": operator.and_, "i u e f": operator.mul, "c": _complex.multiply},
    "divide": {"e f": operator.truediv, "c": _complex.divide},
    "floor_divide": {"i u": division.floor_divide_int, "f": division.floor_divide},
    "remainder": {"i u": division.remainder_int, "f": division.remainder},
    "divmod": {"i u": division.divmod_int, "f": division.divmod_},
    "fmod": {"i u": division.fmod_int, "f": division.fmod},
    "negative": {"i u e f": operator.neg, "c": _parts(operator.neg)},
    "positive": {"i u e f c": _real.unchanged},
    "absolute": {"b u": _real.unchanged, "i e f": Vec.abs, "c": complex_functions.absolute},
    "fabs": {"e f": Vec.abs},
    "sign": {"i u": _integer.sign, "f": _real.sign, "c": complex_functions.sign},
    "square": {"i u e f": lambda x: x * x, "c": lambda x: _complex.multiply(x, x)},
    "sqrt": {"f": Vec.sqrt, "c": complex_functions.sqrt},
    "reciprocal": {"i u": _integer.reciprocal, "e f": lambda x: 1.0 / x, "c": _complex.reciprocal},
    "conjugate": {"i u e f": _real.unchanged, "c": lambda x: Complex(x.re, -x.im)},
    "heaviside": {"e f": _real.heaviside},
    "deg2rad": {"f": _real.deg2rad},
    "radians": {"f": _real.deg2rad},
    "rad2deg": {"f": _real.rad2deg},
    "degrees": {"f": _real.rad2deg},
    # rounding and representation
    "rint": {"f": Vec.rint, "c": _parts(Vec.rint)},
    "floor": {"b i u": _real.unchanged, "f": Vec.floor},
    "ceil": {"b i u": _real.unchanged, "f": Vec.ceil},
    "trunc": {"b i u": _real.unchanged, "f": Vec.trunc},
    "modf": {"f": _real.modf},
    "frexp": {"f": _real.frexp},
    "ldexp": {"fi": _real.ldexp},
    "copysign": {"e f": Vec.copysign},
    "nextafter": {"e f": _real.nextafter},
    "spacing": {"e": _real.spacing_half, "f": _real.spacing},
    "signbit": {"e f": lambda x: x.bits() < 0},
    "isnan": {"b i u": _real.always(False), "e f": Vec.isnan, "c": _complex.isnan},
    "isinf": {"b i u": _real.always(False), "e f": _real.isinf, "c": _complex.isinf},
    "isfinite": {"b i u": _real.always(True), "e f": _real.isfinite, "c": _complex.isfinite},
    # comparison and logic
    "equal": _comparison(operator.eq, Vec.eq, _complex.equal),
    "not_equal": _comparison(operator.ne, Vec.ne, _complex.not_equal),
    "less": _comparison(operator.lt, operator.lt, _complex.less),
    "less_equal": _comparison(operator.le, operator.le, _complex.less_equal),
    "greater": _comparison(operator.gt, operator.gt, _complex.greater),
    "greater_equal": _comparison(operator.ge, operator.ge, _complex.greater_equal),
    "logical_and": _logical(operator.and_),
    "logical_or": _logical(operator.or_),
    "logical_xor": _logical(operator.xor),
    "logical_not": _logical(operator.invert),
    "maximum": _extreme(is_greatest=True, keeps_nan=True),
    "minimum": _extreme(is_greatest=False, keeps_nan=True),
    "fmax": _extreme(is_greatest=True, keeps_nan=False),
    "fmin": _extreme(is_greatest=False, keeps_nan=False),
    # integers and bits
    "bitwise_and": {"b i u": operator.and_},
    "bitwise_or": {"b i u": operator.or_},
    "bitwise_xor": {"b i u": operator.xor},
    "invert": {"b i u": operator.invert},
    "left_shift": {"i u": _integer.left_shift},
    "right_shift": {"i u": _integer.right_shift},
    "gcd": {"i u": _integer.gcd},
    "lcm": {"i u": _integer.lcm},
    "bitwise_count": {"i u": _integer.bitwise_count},
    # exponentials, logarithms and powers; trigonometric and hyperbolic functions
    "power": {"i u": _integer.power, "f": _power, "c": complex_functions.power},
    "exp": {"f": exponential.exp, "c": complex_functions.exp},
    "exp2": {"f": exponential.exp2, "c": complex_functions.exp2},
    "expm1": {"f": exponential.expm1, "c": complex_functions.expm1},
    "log": {"f": exponential.log, "c": complex_functions.log},
    "log2": {"f": exponential.log2, "c": complex_functions.log2},
    "log10": {"f": exponential.log10, "c": complex_functions.log10},
    "log1p": {"f": exponential.log1p, "c": complex_functions.log1p},
    "float_power": {"f": _power, "c": complex_functions.power},
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
    "i0": special.i0,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log1p": exponential.log1p,
    "cbrt": power.cbrt,
}


@lru_cache(maxsize=4096)
def lookup(ufunc: np.ufunc, loop: tuple[np.dtype, ...]) -> Function | None:
    """Return what writes the code of a loop of a ufunc, None if the compiler cannot.

    A loop is the dtypes of operands and results, as `ops.elementwise.loop_dtypes` gives them.

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
    classes = ["e" if dtype.char == "e" else dtype.kind for dtype in loop[: ufunc.nin]]
    key = classes[0] if len(set(classes)) == 1 else "".join(classes)
    writers = {key: writer for keys, writer in row.items() for key in keys.split()}
    writer = writers.get(key)
    if writer is None and (wider := writers.get(key.replace("e", "f"))) is not None:
        writer = through_float32(wider)
    if writer is None:
        return None
    fails = writer is _integer.power and key == "i"
    return Function(writer, fails, row_of(ufunc).is_arithmetic)


def _row(ufunc: np.ufunc) -> Row:
    """Return the row of a ufunc, empty if there is none."""
    name = ufunc.__name__
    if vars(np).get(name) is ufunc:
        return ROWS.get(name, {})
    return {"f": SCIPY[name]} if name in SCIPY and is_scipys(ufunc) else {}


def through_float32(writer: Writer) -> Writer:
    """Return what computes in float32 and rounds to float16; exact for single operations."""

    def narrow(result: Vec) -> Vec:
        return result.to("f16") if result.kind == "f32" else result

    def write(*operands: Vec) -> Any:
        results = writer(*[x.to("f32") if x.kind == "f16" else x for x in operands])
        if isinstance(results, tuple):
            return tuple([narrow(result) for result in results])
        return narrow(results)

    return write
