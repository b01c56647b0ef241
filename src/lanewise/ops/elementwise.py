"""Elementwise operations: every universal function is one, each known one is a row below.

A ufunc vectorizes by its nature, so one family serves all of them, NumPy's as well as SciPy's,
Numba's or a user's. The rows carry what is known of a function beyond that: the range its generated
tests draw from now, its derivative and its emitter when those are built.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ir.types import array_type
from lanewise.ops.movement import align
from lanewise.ops.registry import REGISTRY, Batch, Primitive, Sample, op, register, sample
from lanewise.ops.shapes import broadcast_shapes

# name: (lowest, highest) of the samples' values; integers where the function wants them.
ROWS: dict[str, tuple[float, float] | tuple[int, int]] = {
    # arithmetic
    "add": (-2.0, 2.0), "subtract": (-2.0, 2.0), "multiply": (-2.0, 2.0), "divide": (0.5, 2.0),
    "floor_divide": (-2.0, 2.0), "remainder": (0.5, 2.0), "fmod": (0.5, 2.0),
    "power": (0.5, 2.0), "float_power": (0.5, 2.0), "negative": (-2.0, 2.0),
    "positive": (-2.0, 2.0), "absolute": (-2.0, 2.0), "fabs": (-2.0, 2.0), "sign": (-2.0, 2.0),
    "square": (-2.0, 2.0), "sqrt": (0.0, 2.0), "cbrt": (-2.0, 2.0), "reciprocal": (0.5, 2.0),
    "divmod": (0.5, 2.0), "conjugate": (-2.0, 2.0), "heaviside": (-2.0, 2.0),
    # rounding and representation
    "rint": (-9.0, 9.0), "floor": (-9.0, 9.0), "ceil": (-9.0, 9.0), "trunc": (-9.0, 9.0),
    "modf": (-9.0, 9.0), "frexp": (-9.0, 9.0), "copysign": (-2.0, 2.0),
    "nextafter": (-2.0, 2.0), "spacing": (-2.0, 2.0), "signbit": (-2.0, 2.0),
    "isnan": (-2.0, 2.0), "isinf": (-2.0, 2.0), "isfinite": (-2.0, 2.0), "ldexp": (-4, 4),
    # exponentials and logarithms
    "exp": (-2.0, 2.0), "exp2": (-2.0, 2.0), "expm1": (-2.0, 2.0), "log": (0.5, 4.0),
    "log2": (0.5, 4.0), "log10": (0.5, 4.0), "log1p": (-0.5, 4.0), "logaddexp": (-2.0, 2.0),
    "logaddexp2": (-2.0, 2.0),
    # trigonometric and hyperbolic
    "sin": (-4.0, 4.0), "cos": (-4.0, 4.0), "tan": (-1.0, 1.0), "arcsin": (-1.0, 1.0),
    "arccos": (-1.0, 1.0), "arctan": (-4.0, 4.0), "arctan2": (-2.0, 2.0), "hypot": (-2.0, 2.0),
    "sinh": (-2.0, 2.0), "cosh": (-2.0, 2.0), "tanh": (-2.0, 2.0), "arcsinh": (-2.0, 2.0),
    "arccosh": (1.0, 4.0), "arctanh": (-0.9, 0.9), "deg2rad": (-180.0, 180.0),
    "rad2deg": (-4.0, 4.0), "degrees": (-4.0, 4.0), "radians": (-180.0, 180.0),
    # comparison and logic
    "equal": (-2, 2), "not_equal": (-2, 2), "less": (-2.0, 2.0), "less_equal": (-2.0, 2.0),
    "greater": (-2.0, 2.0), "greater_equal": (-2.0, 2.0), "logical_and": (0, 1),
    "logical_or": (0, 1), "logical_xor": (0, 1), "logical_not": (0, 1), "maximum": (-2.0, 2.0),
    "minimum": (-2.0, 2.0), "fmax": (-2.0, 2.0), "fmin": (-2.0, 2.0),
    # integers and bits
    "bitwise_and": (0, 9), "bitwise_or": (0, 9), "bitwise_xor": (0, 9), "invert": (-9, 9),
    "left_shift": (0, 9), "right_shift": (0, 9), "gcd": (1, 99), "lcm": (1, 99),
    "bitwise_count": (0, 99),
}  # fmt: skip


def _make(fn: np.ufunc, name: str, bounds: tuple[float, float] | None) -> Primitive:
    """Return the primitive of a ufunc; ``dtype`` chooses the loop, as the argument of that name."""

    def infer(*operands: Any, dtype: np.dtype | None = None) -> Any:
        dtypes = loop_dtypes(fn, tuple(operand.dtype for operand in operands), dtype)
        shape = broadcast_shapes(*[operand.shape for operand in operands])
        return tuple(array_type(result, shape) for result in dtypes[fn.nin :])

    def numpy(*operands: Any, dtype: np.dtype | None = None) -> Any:
        return fn(*operands) if dtype is None else fn(*operands, dtype=dtype, casting="unsafe")

    def batch(b: Batch, *operands: Any, dtype: np.dtype | None) -> Any:
        return primitive(*align(b, *operands), dtype=dtype)

    def samples() -> list[Sample]:
        if bounds is None:
            return []
        rng = np.random.default_rng(0)
        low, high = bounds
        shapes = [[(2, 3), (3,)], [(), (2, 1)], [(0, 2), (2,)]]

        def draw(shape: tuple[int, ...]) -> np.ndarray:
            if isinstance(low, int):
                return rng.integers(low, high, shape, endpoint=True)
            return rng.uniform(low, high, shape)

        return [Sample(tuple(draw(shape) for shape in row[: fn.nin]), {}) for row in shapes]

    def lanes(k: Any, types: Any, *operands: Any, dtype: np.dtype | None) -> Any:
        loop = loop_dtypes(fn, tuple([x.dtype for x in operands]), dtype)
        found, shape = k.loop(fn, loop), types[0].shape
        parts = [aligned(x, len(shape)) for x in operands]

        def at(*i: Any) -> Any:
            return found(*[x(*i) for x in parts])

        if fn.nout == 1:
            return k.lazy(types[0].dtype, shape, at, operands, fails=k.loop_fails(fn, loop))
        return k.several(types, shape, at, operands)

    primitive = Primitive(
        name,
        type=infer,
        numpy=numpy,
        batch=batch,
        samples=samples,
        lanes=lanes,
        doc=f"Elementwise ``{name}`` of {fn.nin} operands.",
        ufunc=fn,
    )
    return primitive


def aligned(x: Any, rank: int) -> Any:
    """Return the function that reads an array of a kernel at an index it broadcasts to."""
    missing = rank - x.ndim
    if all(size != 1 for size in x.shape):
        return x.at if not missing else lambda *i: x.at(*i[missing:])
    fixed = [size == 1 for size in x.shape]
    return lambda *i: x.at(*[0 if f else j for f, j in zip(fixed, i[missing:], strict=True)])


@lru_cache(maxsize=4096)
def loop_dtypes(
    fn: np.ufunc, operands: tuple[Any, ...], dtype: np.dtype | None, casting: str | None = None
) -> tuple[np.dtype, ...]:
    """Ask NumPy for the dtypes of the loop that a ufunc runs: its own promotion, to the letter.

    An operand is a dtype, or one of the types int, float and complex for a Python number. ``dtype``
    asks for a loop that gives it, as the argument of that name does.
    """
    if not hasattr(fn, "resolve_dtypes"):
        return _tried_dtypes(fn, operands)
    if dtype is None:
        return fn.resolve_dtypes((*operands, *(None,) * fn.nout))
    return fn.resolve_dtypes(
        (*operands, *(None,) * fn.nout),
        signature=(*(None,) * fn.nin, *(dtype,) * fn.nout),
        casting=casting or "unsafe",
    )


def _tried_dtypes(fn: np.ufunc, operands: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """Find out by a call on no elements: Numba's are no ``np.ufunc``, and compile when called."""
    known = [kind for kind in operands if isinstance(kind, np.dtype)]
    taken = tuple(k if isinstance(k, np.dtype) else np.result_type(*known, k(1)) for k in operands)
    results = fn(*[np.empty(0, kind) for kind in taken])
    results = results if isinstance(results, tuple) else (results,)
    return (*taken, *(result.dtype for result in results))


#: Rows as primitives, by ufunc.
_PRIMITIVES: dict[np.ufunc, Primitive] = {
    getattr(np, name): register(_make(getattr(np, name), name, bounds))
    for name, bounds in ROWS.items()
    if getattr(np, name).__name__ == name
}


def elementwise(fn: np.ufunc) -> Primitive:
    """Return the primitive of an elementwise ufunc, NumPy's own or any other."""
    primitive = _PRIMITIVES.get(fn)
    if primitive is None:
        if fn.signature is not None:
            raise TypeError(f"{fn.__name__} is a generalized ufunc; see `gufunc`")
        if fn.types and all("O" in loop for loop in fn.types):  # of np.frompyfunc
            raise UnsupportedError(
                f"{fn.__name__} computes with Python objects, Lanewise with numbers. Use "
                "lw.vectorize of the Python function, or lw.py_func"
            )
        primitive = _PRIMITIVES[fn] = _make(fn, f"ufunc.{fn.__name__}", None)
    return primitive


@op
class where:
    """Elements of x where the condition holds, of y elsewhere."""

    def type(condition, x, y):
        shape = broadcast_shapes(condition.shape, x.shape, y.shape)
        return array_type(np.result_type(x.dtype, y.dtype), shape)

    def numpy(condition, x, y):
        return np.where(condition, x, y)

    def batch(b: Batch, condition, x, y):
        return where(*align(b, condition, x, y))

    def lanes(k, types, condition, x, y):
        dtype, shape = types[0].dtype, types[0].shape
        c, a, b = (aligned(v, len(shape)) for v in (condition, x, y))

        def at(*i):
            return k.choose(k.truth(c(*i)), k.convert(a(*i), dtype), k.convert(b(*i), dtype))

        return k.lazy(dtype, shape, at, (condition, x, y))

    samples = (sample(np.array([True, False]), (3, 2), ()), sample(np.array(True), (0,), (1,)))


@op
class real:
    """The real part."""

    def type(x):
        return array_type(x.dtype.type(0).real.dtype, x.shape)

    def numpy(x):
        return x.real

    def batch(b: Batch, x):
        return real(x)

    def lanes(k, types, x):
        return k.lazy(types[0].dtype, x.shape, lambda *i: k.parts(x.at(*i))[0], (x,))

    samples = (sample(np.array([1 + 2j, -3j])), sample((0, 2)))


@op
class imag:
    """The imaginary part, zero for real numbers."""

    def type(x):
        return array_type(x.dtype.type(0).imag.dtype, x.shape)

    def numpy(x):
        return x.imag

    def batch(b: Batch, x):
        return imag(x)

    def lanes(k, types, x):
        zero = k.constant(types[0].dtype, 0)
        return k.lazy(types[0].dtype, x.shape, lambda *i: (*k.parts(x.at(*i)), zero)[1], (x,))

    samples = (sample(np.array([1 + 2j, -3j])), sample((0, 2)))


@op
class complex_:
    """The complex numbers that have x as real and y as imaginary part."""

    def type(x, y):
        if x.dtype != y.dtype or x.dtype.kind != "f":
            raise TypeError(f"the parts of complex numbers must be like floats: {x}, {y}")
        return array_type(np.result_type(x.dtype, np.complex64), broadcast_shapes(x.shape, y.shape))

    def numpy(x, y):
        result = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, np.complex64))
        result.real, result.imag = x, y
        return result

    def batch(b: Batch, x, y):
        return complex_(*align(b, x, y))

    def lanes(k, types, x, y):
        a, b = (aligned(v, len(types[0].shape)) for v in (x, y))

        def at(*i):  # of float16 as of float32: there is no smaller complex dtype
            parts = [k.convert(v(*i), types[0].dtype) for v in (a, b)]
            return k.joined(*[k.parts(part)[0] for part in parts])

        return k.lazy(types[0].dtype, types[0].shape, at, (x, y))

    samples = (sample((2, 3), (3,)), sample((), (0,)))


@op
class i0:
    """The modified Bessel function of the first kind, order 0 (``np.i0``)."""

    def type(x):
        if x.dtype.kind == "c":
            raise TypeError("i0 not supported for complex values")
        return array_type(x.dtype if x.dtype.kind == "f" else np.dtype(float), x.shape)

    def numpy(x):
        return np.i0(x).reshape(x.shape)

    def batch(b: Batch, x):
        return i0(x)

    def lanes(k, types, x):
        dtype = types[0].dtype
        return k.lazy(dtype, x.shape, lambda *i: k.i0(x.at(*i), dtype), (x,), work=50)

    samples = (sample((2, 3)), sample(()))


assert {"add", "where"} <= set(REGISTRY)
