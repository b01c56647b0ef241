"""Elementwise operations: every universal function is one.

A ufunc vectorizes by its nature, so one family serves all of them, NumPy's as well as SciPy's,
Numba's or a user's. What is known of a function beyond that is its row in `ufuncs`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError
from lanewise.ir.graph import Operation
from lanewise.ir.types import NUMPY, array_type
from lanewise.ops.derivatives import is_linear, linear
from lanewise.ops.facts import Kind
from lanewise.ops.movement import broadcasting, cast
from lanewise.ops.registry import (
    REGISTRY,
    Absent,
    Primitive,
    Sample,
    leading_axes,
    op,
    register,
    sample,
)
from lanewise.ops.shapes import broadcast_shapes
from lanewise.ops.ufuncs import ROWS, UNKNOWN, Partial, element_ns, instructions, row_of, special


def _make(fn: np.ufunc, name: str) -> Primitive:
    """Return the primitive of a ufunc; ``dtype`` chooses the loop, as the argument of that name."""

    def infer(*operands: Any, dtype: np.dtype | None = None) -> Any:
        dtypes = loop_dtypes(fn, tuple(operand.dtype for operand in operands), dtype)
        shape = broadcast_shapes(*[operand.shape for operand in operands])
        return tuple(array_type(result, shape) for result in dtypes[fn.nin :])

    def numpy(*operands: Any, dtype: np.dtype | None = None) -> Any:
        loop = {} if dtype is None else {"dtype": dtype, "casting": "unsafe"}
        return (row.numpy or fn)(*operands, **loop)

    def samples() -> list[Sample]:
        rng = np.random.default_rng(0)
        low, high = row.range
        shapes = [[(2, 3), (3,)], [(), (2, 1)], [(0, 2), (2,)]]

        def draw(shape: tuple[int, ...]) -> np.ndarray:
            if isinstance(low, int):
                return rng.integers(low, high, shape, endpoint=True)
            return rng.uniform(low, high, shape)

        return [Sample(tuple(draw(shape) for shape in row[: fn.nin]), {}) for row in shapes]

    def lanes(k: Any, types: Any, *operands: Any, dtype: np.dtype | None) -> Any:
        loop = loop_dtypes(fn, tuple([x.dtype for x in operands]), dtype)
        shape = types[0].shape
        parts = {x: aligned(x, len(shape)) for x in operands}
        if not k.has_loop(fn, loop):
            return called(k, types, loop, [parts[x] for x in operands])
        found = k.loop(fn, loop)

        def at(*i: Any) -> Any:
            numbers = {x: part(*i) for x, part in parts.items()}  # x * x finds x once
            return found(*[numbers[x] for x in operands])

        if fn.nout == 1:
            work = instructions(fn, loop)
            return k.lazy(types[0].dtype, shape, at, operands, fails=found.fails, work=work)
        return k.fusion.several(types, shape, at)

    def called(k: Any, types: Any, loop: tuple[np.dtype, ...], parts: Any) -> Any:
        if row is UNKNOWN and k.is_batched:  # one thread at a time: it may raise
            k.leave(f"NumPy calls {fn.__name__} once for all")
        ns = max(row.numpy_ns, row.instructions / 16)
        return k.calls.ufunc(types, fn, loop, parts, ns, is_locked=row is UNKNOWN)

    def jvp(d: Any, tangents: Any, results: Any, *operands: Any, dtype: np.dtype | None) -> Any:
        loop = loop_dtypes(fn, tuple([x.dtype for x in operands]), dtype)
        given = [_as_loop(d, x, kind) for x, kind in zip(operands, loop, strict=False)]
        moved = [
            t if t is None else _as_loop(d, t, kind)
            for t, kind in zip(tangents, loop, strict=False)
        ]
        if callable(partials):
            return partials(d, moved, results, *given)
        total = None
        for tangent, partial in zip(moved, partials, strict=True):
            if tangent is not None and partial is not None:
                term = _scaled(tangent, partial, results, given)
                total = term if total is None else total + term
        return total

    def price(op: Operation) -> int:
        dtypes = tuple([value.type.dtype for value in op.operands])
        return instructions(fn, loop_dtypes(fn, dtypes, op.params["dtype"]))

    row = row_of(fn)
    partials = row.partial
    never = all(loop.endswith("?") for loop in fn.types or ".")
    return Primitive(
        name,
        type=infer,
        numpy=numpy,
        batch=broadcasting,
        samples=samples if name == row.name else [],
        lanes=lanes,
        jvp=jvp if partials is not None else Absent(f"the derivative of {name} is not known"),
        transposed=row.transposed or Absent("it is not linear"),
        doc=f"Elementwise ``{name}`` of {fn.nin} operands.",
        ufunc=fn,
        kind=Kind.ELEMENTWISE,
        row=row,
        may_fail=_powers_fail if fn is np.power else row is UNKNOWN,
        conditions="" if never else fn.__name__,
        quiet=row.quiet,
        allocates=isinstance(fn, np.ufunc),
        any_size=True,
        numpy_ns=lambda op: element_ns(fn, op.operands[0].type.dtype),
        instructions=price,
        flops=lambda op: price(op) * math.prod(op.results[0].type.shape),
        recompute=row.recompute,
    )


def _powers_fail(op: Operation) -> bool:
    """Whether an operation raises for negative exponents: of integers it does."""
    return op.results[0].type.dtype.kind not in "fc"


def _as_loop(d: Any, x: Any, dtype: np.dtype) -> Any:
    return x if x.dtype == dtype else d.emit(cast, x, dtype=dtype)


def _scaled(tangent: Any, partial: Partial, results: Any, operands: list[Any]) -> Any:
    """Return a tangent times a partial derivative."""
    if callable(partial):
        return tangent * partial(results, *operands)
    return tangent if partial == 1 else -tangent if partial == -1 else tangent * partial


def aligned(x: Any, rank: int) -> Any:
    """Return the function that reads an array of a kernel at an index it broadcasts to."""
    missing = rank - x.ndim
    if all(size != 1 for size in x.shape):
        return x.at if not missing else lambda *i: x.at(*i[missing:])
    fixed = [size == 1 for size in x.shape]
    return lambda *i: x.at(*[0 if f else j for f, j in zip(fixed, i[missing:], strict=True)])


@lru_cache(maxsize=4096)
def loop_dtypes(
    fn: np.ufunc, operands: tuple[Any, ...], dtype: np.dtype | None
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
        casting="unsafe",
    )


def _tried_dtypes(fn: np.ufunc, operands: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """Find out by a call on no elements: Numba's are no ``np.ufunc``, and compile when called."""
    known = [kind for kind in operands if isinstance(kind, np.dtype)]
    taken = tuple(k if isinstance(k, np.dtype) else np.result_type(*known, k(1)) for k in operands)
    results = fn(*[np.empty(0, kind) for kind in taken])
    results = results if isinstance(results, tuple) else (results,)
    return (*taken, *(result.dtype for result in results))


#: Known ones, by ufunc.
_PRIMITIVES: dict[np.ufunc, Primitive] = {}
for _row in ROWS:
    _fn = getattr(np, _row.name)
    if _fn.__name__ == _row.name:
        _PRIMITIVES[_fn] = register(_make(_fn, _row.name))


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
        primitive = _PRIMITIVES[fn] = _make(fn, f"ufunc.{fn.__name__}")
    return primitive


@op
class where:
    """Elements of x where the condition holds, of y elsewhere."""

    kind, recompute, conditions, numpy_ns = Kind.ELEMENTWISE, 1, "", 1.4
    allocates = any_size = True

    def type(condition, x, y):
        shape = broadcast_shapes(condition.shape, x.shape, y.shape)
        return array_type(np.result_type(x.dtype, y.dtype), shape)

    def numpy(condition, x, y):
        return np.where(condition, x, y)

    batch = broadcasting

    def lanes(k, types, condition, x, y):
        dtype, shape = types[0].dtype, types[0].shape
        c, a, b = (aligned(v, len(shape)) for v in (condition, x, y))

        def at(*i):
            return k.choose(k.truth(c(*i)), k.convert(a(*i), dtype), k.convert(b(*i), dtype))

        return k.lazy(dtype, shape, at, (condition, x, y))

    jvp = linear(1, 2)

    def transposed(d, ct, condition, x, y):
        zero = np.zeros((), ct.dtype)
        d.is_masked = True
        return (
            None,
            np.where(condition, ct, zero) if is_linear(x) else None,
            np.where(condition, zero, ct) if is_linear(y) else None,
        )

    samples = (sample(np.array([True, False]), (3, 2), ()), sample(np.array(True), (0,), (1,)))


@op
class masked_product:
    """x * y, and 0 where x is 0, though y be infinite or NaN there.

    A zero cotangent stands for "not asked for". ``where(x == 0, 0, x * y)`` has these values, but
    not these derivatives: in x it would be constant wherever x is 0.
    """

    kind, instructions = Kind.ELEMENTWISE, 2
    any_size = True

    def type(x, y):
        shape = broadcast_shapes(x.shape, y.shape)
        return array_type(np.result_type(x.dtype, y.dtype), shape)

    def numpy(x, y):
        with np.errstate(invalid="ignore"):
            product = np.multiply(x, y)
        return np.where(np.equal(x, 0), np.zeros((), product.dtype), product)

    batch = broadcasting

    def lanes(k, types, x, y):
        dtype, shape = types[0].dtype, types[0].shape
        multiply = k.loop(np.multiply, (dtype, dtype, dtype))
        equal = k.loop(np.equal, (dtype, dtype, np.dtype(bool)))
        zero = k.constant(dtype, 0)
        a, b = (aligned(v, len(shape)) for v in (x, y))

        def at(*i):
            first = k.convert(a(*i), dtype)
            product = multiply(first, k.convert(b(*i), dtype))
            return k.choose(k.truth(equal(first, zero)), zero, product)

        return k.lazy(dtype, shape, at, (x, y))

    def jvp(d, tangents, result, x, y):
        t, u = tangents
        first = None if t is None else d.emit(masked_product, t, y)
        if u is None:
            return first
        second = d.emit(masked_product, x, u)
        return second if first is None else first + second

    def transposed(d, ct, x, y):
        if is_linear(x):
            return d.emit(masked_product, ct, y), None
        d.is_masked = True
        return None, d.emit(masked_product, x, ct)

    samples = (
        sample(np.array([0.0, -2.0, 0.0, 1.5]), np.array([4.0, 3.0, 0.0, -1.0])),
        sample((2, 3), (3,)),
        sample((0, 2), ()),
        sample(np.array([1 + 2j, 0, -3j]), np.array([2.0, 5.0, 1j])),
    )


@op
class real:
    """The real part."""

    kind = Kind.ELEMENTWISE
    flops, conditions = 0, ""
    any_size = True

    def type(x):
        return array_type(x.dtype.type(0).real.dtype, x.shape)

    def numpy(x):
        return x.real

    batch = leading_axes

    def lanes(k, types, x):
        return k.lazy(types[0].dtype, x.shape, lambda *i: k.parts(x.at(*i))[0], (x,))

    jvp = linear(0)

    def transposed(d, ct, x):
        return ct

    samples = (sample(np.array([1 + 2j, -3j])), sample((0, 2)))


@op
class imag:
    """The imaginary part, zero for real numbers."""

    kind = Kind.ELEMENTWISE
    flops, conditions = 0, ""
    any_size = True

    def type(x):
        return array_type(x.dtype.type(0).imag.dtype, x.shape)

    def numpy(x):
        return x.imag

    batch = leading_axes

    def lanes(k, types, x):
        zero = k.constant(types[0].dtype, 0)
        return k.lazy(types[0].dtype, x.shape, lambda *i: (*k.parts(x.at(*i)), zero)[1], (x,))

    jvp = linear(0)

    def transposed(d, ct, x):
        return ct * -1j if x.dtype.kind == "c" else None

    samples = (sample(np.array([1 + 2j, -3j])), sample((0, 2)))


@op
class complex_:
    """The complex numbers that have x as real and y as imaginary part."""

    kind = Kind.ELEMENTWISE
    flops, conditions = 0, ""
    any_size = True

    def type(x, y):
        if x.dtype != y.dtype or x.dtype.kind != "f":
            raise TypeError(f"the parts of complex numbers must be like floats: {x}, {y}")
        return array_type(np.result_type(x.dtype, np.complex64), broadcast_shapes(x.shape, y.shape))

    def numpy(x, y):
        result = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, np.complex64))
        result.real, result.imag = x, y
        return result

    batch = broadcasting

    def lanes(k, types, x, y):
        a, b = (aligned(v, len(types[0].shape)) for v in (x, y))

        def at(*i):  # of float16 as of float32: there is no smaller complex dtype
            parts = [k.convert(v(*i), types[0].dtype) for v in (a, b)]
            return k.joined(*[k.parts(part)[0] for part in parts])

        return k.lazy(types[0].dtype, types[0].shape, at, (x, y))

    jvp = linear(0, 1)

    def transposed(d, ct, x, y):
        return (ct.real if is_linear(x) else None, -ct.imag if is_linear(y) else None)

    samples = (sample((2, 3), (3,)), sample((), (0,)))


@op
class root:
    """The square root of a sum of squares, as norms take it.

    It has a derivative of its own: at zero, where that of the square root is infinite, a norm has
    the subgradient 0, as absolute values have.
    """

    kind, instructions, conditions = Kind.ELEMENTWISE, 8, "sqrt"
    any_size = True

    def type(x):
        return array_type(loop_dtypes(np.sqrt, (x.dtype,), None)[1], x.shape)

    def numpy(x):
        return np.sqrt(x)

    batch = leading_axes

    def lanes(k, types, x):
        loop = loop_dtypes(np.sqrt, (x.dtype,), None)
        found, work = k.loop(np.sqrt, loop), instructions(np.sqrt, loop)
        return k.lazy(
            types[0].dtype, x.shape, lambda *i: found(x.at(*i)), (x,), fails=found.fails, work=work
        )

    def jvp(d, tangents, y, x):
        is_zero = y == 0
        slope = 0.5 / np.where(is_zero, np.ones((), y.dtype), y)
        return tangents[0] * np.where(is_zero, np.zeros((), y.dtype), slope)

    samples = (sample(np.array([[0.5, 2.0], [1.0, 3.0]])), sample(np.array(2.0)))


@op
class sinc:
    """sin(x) / x, at zero that of a tiny number: what ``np.sinc`` takes of pi times its operand."""

    kind, instructions = Kind.ELEMENTWISE, 50
    any_size = True

    def type(x):
        return array_type(loop_dtypes(np.sin, (x.dtype,), None)[1], x.shape)

    def numpy(x):
        y = np.where(x == 0, np.asarray(_tiny(x.dtype)), x)
        return (np.sin(y) / y).reshape(x.shape)

    batch = leading_axes

    def lanes(k, types, x):
        dtype = x.dtype
        sin, divide = k.loop(np.sin, (dtype,) * 2), k.loop(np.divide, (dtype,) * 3)
        equal = k.loop(np.equal, (dtype, dtype, np.dtype(bool)))
        zero, tiny = k.constant(dtype, 0), k.constant(dtype, _tiny(dtype))

        def at(*i):
            y = x.at(*i)
            y = k.choose(k.truth(equal(y, zero)), tiny, y)
            return divide(sin(y), y)

        work = instructions(np.sin, (dtype,) * 2)
        return k.lazy(dtype, x.shape, at, (x,), fails=sin.fails, work=work)

    def jvp(d, tangents, y, x):
        # Close to zero by its power series, as what is subtracted then is nearly equal.
        is_close, square = np.abs(x) < 1, x * x
        series = d.zeros(y)
        for n in range(12, 0, -1):
            series = series * square + (-1) ** n * 2 * n / math.factorial(2 * n + 1)
        safe = np.where(is_close, np.ones((), x.dtype), x)
        return tangents[0] * np.where(is_close, x * series, (np.cos(x) - y) / safe)

    samples = (sample(np.array([[0.0, 0.5, -2.5], [1.5, 1e-3, 0.9]])), sample(np.array(-0.5)))


def _tiny(dtype: np.dtype) -> Any:
    """Return what NumPy takes for zero in `sinc`."""
    return np.finfo(dtype).eps if dtype.kind == "f" and NUMPY >= (2, 3) else dtype.type(1e-20)


@op
class i0:
    """The modified Bessel function of the first kind, order 0 (``np.i0``)."""

    kind, instructions = Kind.ELEMENTWISE, 80
    any_size = True

    def type(x):
        if x.dtype.kind == "c":
            raise TypeError("i0 not supported for complex values")
        return array_type(x.dtype if x.dtype.kind == "f" else np.dtype(float), x.shape)

    def numpy(x):
        return np.i0(x).reshape(x.shape)

    batch = leading_axes

    def lanes(k, types, x):
        dtype = types[0].dtype
        return k.lazy(dtype, x.shape, lambda *i: k.functions.i0(x.at(*i), dtype), (x,), work=50)

    def jvp(d, tangents, y, x):
        return tangents[0] * special("i1", x)

    samples = (sample((2, 3)), sample(()))


assert {"add", "where"} <= set(REGISTRY)
