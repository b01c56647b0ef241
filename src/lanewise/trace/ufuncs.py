"""Universal functions on tensors: calls and methods, with NumPy's promotion and keywords."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim, differ, product
from lanewise.ir.graph import Signature, Value
from lanewise.ir.location import here
from lanewise.ir.types import array_type
from lanewise.ops.contraction import dot_general, gufunc
from lanewise.ops.elementwise import elementwise, loop_dtypes, where
from lanewise.ops.movement import cast
from lanewise.ops.shapes import broadcast_shapes
from lanewise.ops.ufuncs import TAKES_ROOTS
from lanewise.trace.contents import ON_CONTENTS
from lanewise.trace.gufunc_axes import core_axes
from lanewise.trace.mixed import applied
from lanewise.trace.reflected import asked_of
from lanewise.trace.sizes import number_of
from lanewise.trace.tensor import STANDS_FOR, Tensor, as_tensor, emit, lift, read
from lanewise.trace.trace import Trace, require_trace, state
from lanewise.trace.views import as_out, as_stored, change_by_class, store
from lanewise.trace.weak import give_way, python_operator, weak_kind


class _NoValue:
    """Stands for an argument that was not given, where None means something."""

    def __repr__(self) -> str:
        return "<no value>"


NO_VALUE = _NoValue()
_PYTHON_NUMBERS = (bool, int, float, complex)
_COMPARISONS = frozenset(
    (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
)
#: Python's operators of ufuncs.
OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.divide: operator.truediv, np.floor_divide: operator.floordiv, np.remainder: operator.mod,
    np.power: operator.pow, np.bitwise_and: operator.and_, np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor, np.left_shift: operator.lshift,
    np.right_shift: operator.rshift, np.equal: operator.eq, np.not_equal: operator.ne,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.negative: operator.neg, np.positive: operator.pos,
    np.absolute: operator.abs, np.invert: operator.invert,
}  # fmt: skip


def apply(
    ufunc: np.ufunc, *inputs: Any, dtype: np.dtype | None = None, operator: np.ufunc | None = None
) -> Any:
    """Apply an elementwise ufunc; Python numbers take the dtype that NEP 50 gives them.

    `operator` is the ufunc of the operator of Python's that was written, if one was.
    """
    if ufunc is np.power and operator is dtype is None:
        dtype = root_dtype(*inputs)
        ufunc, inputs = (np.power, inputs) if dtype is None else (np.sqrt, inputs[:1])
    values: list[Any] = []
    is_weak = False
    for x in inputs:
        if type(x) is Dim:
            x = number_of(x)
        if type(x) is Tensor:
            if x._mixed is not None:
                function = partial(apply, ufunc, dtype=dtype, operator=operator)
                return applied(ufunc, function, inputs, is_operator=False)
            values.append(read(x))
            is_weak = is_weak or x._weak is not None
        elif type(x) in _PYTHON_NUMBERS:
            values.append(x)
            is_weak = True
        else:
            values.append(lift(x, ufunc.__name__))
    trace = require_trace(ufunc.__name__)
    operands = _give_way(trace, ufunc, values, inputs, dtype) if is_weak else tuple(values)
    primitive, params = _primitive(ufunc), {"dtype": dtype}
    if state.floating is not None:
        trace, operands = state.floating.meets(trace, primitive, operands, params, operator)
    results = trace.record(primitive, operands, params)
    if len(results) == 1:
        return Tensor(trace, results[0])
    return tuple([Tensor(trace, result) for result in results])


def root_dtype(x: Any, exponent: Any) -> np.dtype | None:
    """Return the dtype of the root that NumPy takes where it is asked for a power; else None.

    The two differ for -0 and -infinity, so that who means C's power says so to `apply`.
    """
    if not TAKES_ROOTS or type(x) is not Tensor or x._mixed is not None or x.dtype.char not in "fd":
        return None
    if not isinstance(exponent, (float, np.floating, np.ndarray)) or np.ndim(exponent):
        return None
    dtype = np.result_type(x.dtype, exponent)
    return dtype if exponent == 0.5 and dtype.char in "fd" else None


def binary_operator(ufunc: np.ufunc, *, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    """Return the method of `Tensor` that an operator calls.

    Operators decide how long tracing takes. So this looks up at once what `apply` works out: the
    dtype that a Python number takes, and the signature of the operation.
    """
    position = 0 if swapped else 1

    def operator(self: Tensor, other: Any) -> Any:
        trace = state.trace
        kind = type(other)
        if self._mixed is not None or (kind is Tensor and other._mixed is not None):
            if _defers(other):
                return NotImplemented
            if not swapped and (asked := asked_of(ufunc, self, other)) is not None:
                return asked()
            pair = (other, self) if swapped else (self, other)
            return applied(ufunc, OPERATORS[ufunc], pair, is_operator=True)
        if kind is Dim:
            other, kind = number_of(other), Tensor
        if ufunc is np.multiply and (kind is list or kind is tuple) and not self.shape:
            if trace is None:
                return NotImplemented  # to repeat the sequence, for which Python asks for an int
            return ON_CONTENTS["repeated"](other, self)
        if self._weak is not None or (kind is Tensor and other._weak is not None):
            if weak_kind(self) is not None and weak_kind(other) is not None:
                return python_operator(ufunc, *((other, self) if swapped else (self, other)))
        elif (
            trace is not None
            and state.floating is None
            and (kind is Tensor or kind is float or kind is int)
        ):
            is_at_hand = self._view is None and self._guard is None and self._trace is trace
            own = self._value if is_at_hand else read(self)
            try:
                if kind is Tensor:
                    value = read(other)
                    operands = (value, own) if swapped else (own, value)
                    signature = _binary_signature(ufunc, operands[0].type, operands[1].type)
                else:
                    dtype, signature = _beside_number(ufunc, own.type, kind, position)
                    value = trace.scalar(other, dtype)
                    operands = (value, own) if swapped else (own, value)
            except (TypeError, ValueError, OverflowError):
                pass  # apply() raises it again with the user's line, or knows what to do
            else:
                trace.location = here()
                (result,) = trace.append(signature, operands)
                return Tensor(trace, result)
        if _defers(other):
            return NotImplemented
        if not swapped and (asked := asked_of(ufunc, self, other)) is not None:
            return asked()
        pair = (other, self) if swapped else (self, other)
        return apply(ufunc, *pair, operator=ufunc)

    return operator


def unary_operator(ufunc: np.ufunc) -> Callable[[Tensor], Any]:
    """Return the method of `Tensor` that an operator of one operand calls."""

    def operator(self: Tensor) -> Any:
        if self._mixed is not None:
            return applied(ufunc, OPERATORS[ufunc], (self,), is_operator=True)
        if self._weak is not None:
            return python_operator(ufunc, self)
        return apply(ufunc, self, operator=ufunc)

    return operator


def _defers(other: Any) -> bool:
    """Whether an operand of an unknown class wants to handle the operation itself."""
    if other is None or type(other) in STANDS_FOR or isinstance(other, (str, bytes, dict)):
        return True
    return getattr(type(other), "__array_ufunc__", False) is None


@lru_cache(maxsize=4096)
def _beside_number(
    ufunc: np.ufunc, other: Any, number: type, position: int
) -> tuple[np.dtype, Signature]:
    """Return the dtype that a Python number takes beside an operand (NEP 50), and what is done."""
    kinds = (number, other.dtype) if position == 0 else (other.dtype, number)
    dtype = loop_dtypes(ufunc, kinds, None)[position]
    scalar = array_type(dtype, ())
    return dtype, _binary_signature(ufunc, *((scalar, other) if position == 0 else (other, scalar)))


@lru_cache(maxsize=4096)
def _binary_signature(ufunc: np.ufunc, first: Any, second: Any) -> Signature:
    return elementwise(ufunc).signature((first, second), {"dtype": None})


def _primitive(ufunc: np.ufunc) -> Any:
    if ufunc.signature is None:
        return elementwise(ufunc)
    return gufunc(ufunc)


def _give_way(
    trace: Trace,
    ufunc: np.ufunc,
    values: list[Any],
    inputs: tuple[Any, ...],
    dtype: np.dtype | None,
) -> tuple[Value, ...]:
    """Give the Python numbers among operands the dtypes that the other operands leave them."""
    weak = [weak_kind(x) for x in inputs]
    if ufunc in _COMPARISONS:  # of integers are exact, and so need not give way
        weak = [
            None if isinstance(v, Value) and k is int else k
            for v, k in zip(values, weak, strict=True)
        ]
    # For a bool NumPy has no weak type: it is an ordinary bool.
    kinds: tuple[Any, ...] = tuple(
        value.type.dtype if kind is None else np.dtype(bool) if kind is bool else kind
        for value, kind in zip(values, weak, strict=True)
    )
    if all(isinstance(kind, type) for kind in kinds):  # plain numbers only: nothing to give way to
        kinds = tuple(np.dtype(kind) for kind in kinds)
    loop = loop_dtypes(ufunc, kinds, dtype)
    for position, value in enumerate(values):
        if isinstance(value, Value):
            if weak[position] is not None:
                values[position] = give_way(trace, value, loop[position])
            continue
        try:
            if type(value) is int and loop[position].kind == "b":  # an intp until it meets the loop
                value = int(np.array(value, np.intp))
            values[position] = trace.scalar(value, loop[position])
        except OverflowError:
            other = values[1 - position] if ufunc in _COMPARISONS else None
            if not isinstance(other, Value) or other.type.dtype.kind not in "iu":
                raise  # only comparisons with integers are exact, whatever the number
            return _compare_out_of_range(trace, values, position)
    return tuple(values)


def _compare_out_of_range(trace: Trace, values: list[Any], position: int) -> tuple[Value, ...]:
    """Replace both operands so that the comparison with a number no element can have comes out.

    NumPy compares integers with Python integers exactly, whatever the dtype. A number above every
    element compares as +inf does, one below as -inf does.
    """
    other = values[1 - position]
    operands: list[Any] = [None, None]
    converted = trace.record(cast, (other,), {"dtype": np.dtype(float)})
    operands[1 - position] = converted[0]
    operands[position] = trace.scalar(
        float("inf") if values[position] > 0 else float("-inf"), np.dtype(float)
    )
    return tuple(operands)


def call_with_keywords(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.pop("out", None)
    mask = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    casting = kwargs.pop("casting", "same_kind")
    kwargs.pop("order", None)
    kwargs.pop("subok", None)
    signature = kwargs.pop("signature", kwargs.pop("sig", None))
    if signature is not None:
        if dtype is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        signature = _loop_signature(ufunc, signature)
    elif dtype is not None:
        dtype = np.dtype(dtype)
        signature = (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)
    if signature is not None or casting != "same_kind":
        inputs = _cast_inputs(ufunc, inputs, signature, casting)
    if mask is not True and state.floating is not None:  # nothing is computed elsewhere
        harmless = 0 if ufunc is np.arctanh else 1
        inputs = tuple([np.where(mask, x, x.dtype.type(harmless))
                        if isinstance(x, (Tensor, np.ndarray, np.generic)) else x
                        for x in inputs])  # fmt: skip
    if ufunc.signature is not None:
        results = _call_gufunc(ufunc, inputs, dtype, kwargs)
    else:
        if kwargs:
            raise TypeError(f"{ufunc.__name__}() got an unexpected keyword {next(iter(kwargs))!r}")
        results = apply(ufunc, *inputs, dtype=dtype)
    if out is None and mask is True:
        return results
    single = not isinstance(results, tuple)
    outs = out if isinstance(out, tuple) else (out,)
    given = [x for x in outs if x is not None]
    if any([np.shares_memory(x, y) for x, y in itertools.combinations(given, 2)]):
        raise UnsupportedError(
            f"{ufunc.__name__} writes two results to one place{at(here())}: which of them stays "
            "there NumPy does not say. Give out= another array for each"
        )
    pairs = zip((results,) if single else results, outs, strict=False)
    written = tuple(write_out(ufunc, r, o, mask, casting) for r, o in pairs)
    return written[0] if single else written


def _loop_signature(ufunc: np.ufunc, signature: Any) -> tuple[np.dtype | None, ...]:
    """Return the dtypes that ``signature=`` asks for, given as NumPy takes them."""
    if isinstance(signature, str) and "->" in signature:
        signature = tuple(signature.replace("->", ""))
    elif isinstance(signature, (str, np.dtype, type)):
        signature = (*(None,) * ufunc.nin, *(signature,) * ufunc.nout)
    if len(signature) != ufunc.nargs:
        raise ValueError(
            f"a type-tuple must be specified of length {ufunc.nargs} for ufunc '{ufunc.__name__}'"
        )
    return tuple(None if part is None else np.dtype(part) for part in signature)


def _cast_inputs(
    ufunc: np.ufunc, inputs: tuple[Any, ...], signature: Any, casting: str
) -> tuple[Any, ...]:
    """Return the inputs as the loop asked for takes them, or raise where `casting` forbids it."""
    operands = [x if type(x) in (int, float, complex) else as_tensor(x) for x in inputs]
    kinds = [type(x) if not isinstance(x, Tensor) else x.dtype for x in operands]
    if not any(isinstance(kind, np.dtype) for kind in kinds):
        kinds = [np.dtype(kind) for kind in kinds]
    loop = ufunc.resolve_dtypes(
        (*kinds, *(None,) * ufunc.nout),
        signature=signature or (None,) * ufunc.nargs,
        casting=casting,
    )
    pairs = zip(operands, loop, strict=False)
    return tuple(x.astype(to) if isinstance(x, Tensor) else as_stored(x, to) for x, to in pairs)


def write_out(ufunc: np.ufunc, result: Tensor, out: Any, mask: Any, casting: str) -> Tensor:
    """Write a result to ``out=`` where ``where=`` says."""
    if out is None:
        if mask is not True:
            raise UnsupportedError(
                f"{ufunc.__name__} with where= but without out= leaves elements unset"
                f"{at(here())}. Give out=, or write np.where(mask, ..., value)"
            )
        return result
    out = as_out(out)
    if out._mixed is not None:

        def write(out: Tensor, result: Tensor, mask: Any) -> None:
            write_out(ufunc, result, out, mask, casting)

        change_by_class(write, out, result, mask)
        return out
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {result.dtype!r} to {out.dtype!r} "
            f"with casting rule {casting!r}"
        )
    if mask is not True:
        result = emit(where, mask, result.astype(out.dtype), out)
    if result.shape != out.shape and _is_larger(result.shape, out.shape):
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the "
            f"broadcast shape {broadcast_shapes(result.shape, out.shape)}"
        )
    store(out, result)
    return out


def _is_larger(shape: Any, out: Any) -> bool:
    """Whether what is computed surely does not fit into the shape that it is written to."""
    common = broadcast_shapes(shape, out)
    if len(common) != len(out):
        return True
    # What is known when it runs, NumPy finds out when it writes.
    return any([type(own) is type(size) is int and own != size
                for own, size in zip(out, common, strict=True)])  # fmt: skip


def _call_gufunc(
    ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: np.dtype | None, kwargs: dict[str, Any]
) -> Any:
    """Apply a gufunc; ``axes=`` and ``axis=`` move axes, ``keepdims=`` puts them back."""
    axes, axis = kwargs.pop("axes", None), kwargs.pop("axis", None)
    keepdims = kwargs.pop("keepdims", False)
    if kwargs:
        raise TypeError(f"{ufunc.__name__}() got an unexpected keyword {next(iter(kwargs))!r}")
    operands = [as_tensor(operand) for operand in inputs]
    moved = axes is not None or axis is not None or keepdims
    ins, outs = core_axes(ufunc, [x.ndim for x in operands], axes, axis, keepdims)
    if moved:
        pairs = zip(operands, ins, strict=True)
        operands = [np.moveaxis(x, a, _last(a)) if a else x for x, a in pairs]
    if ufunc is np.matmul and dtype is None:
        results: Any = matmul(*operands)
    else:
        results = apply(ufunc, *operands, dtype=dtype)
    if not moved:
        return results
    listed = list(results) if isinstance(results, tuple) else [results]
    for i, a in enumerate(outs):
        result = np.expand_dims(listed[i], _last(a)) if keepdims else listed[i]
        listed[i] = np.moveaxis(result, _last(a), a) if a else result
    return tuple(listed) if isinstance(results, tuple) else listed[0]


def _last(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the last axes, as many as there are in `axes`."""
    return tuple(range(-len(axes), 0))


def matmul(x: Any, y: Any) -> Tensor:
    """The matrix product of NumPy's rules, as a `dot_general`."""
    x, y = as_tensor(x), as_tensor(y)
    if not x.ndim or not y.ndim:
        position = 0 if not x.ndim else 1
        raise ValueError(
            f"matmul: Input operand {position} does not have enough dimensions (has 0, gufunc core "
            "with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
        )
    inner = 0 if y.ndim == 1 else y.ndim - 2
    if differ(x.shape[-1], y.shape[inner]):
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {y.shape[inner]} is different from {x.shape[-1]})"
        )
    batch: list[tuple[int, int]] = []
    if x.ndim > 2 and y.ndim == 2:  # one product, of all rows
        shape = (*x.shape[:-1], y.shape[1])
        return matmul(x.reshape(product(x.shape[:-1]), x.shape[-1]), y).reshape(shape)
    if x.ndim > 1 and y.ndim > 1 and x.ndim + y.ndim > 4:
        # Stacks broadcast against each other: make their axes the same.
        loop = broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x = np.broadcast_to(x, (*loop, *x.shape[-2:]))
        y = np.broadcast_to(y, (*loop, *y.shape[-2:]))
        batch, inner = [(i, i) for i in range(len(loop))], len(loop)
    return contract(x, y, np.result_type(x.dtype, y.dtype), batch, [(x.ndim - 1, inner)])


def contract(
    x: Tensor,
    y: Tensor,
    dtype: np.dtype,
    batch: list[tuple[int, int]],
    pairs: list[tuple[int, int]],
) -> Tensor:
    """Return the `dot_general` of two tensors converted to `dtype`."""
    x, y = (t if t.dtype == dtype else emit(cast, t, dtype=dtype) for t in (x, y))
    return emit(dot_general, x, y, batch=tuple(batch), contract=tuple(pairs))
