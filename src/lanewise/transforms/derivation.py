"""Recording a graph of derivatives: rules written in NumPy, at the lines of what they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Graph, Operation, Signature, Value
from lanewise.ir.types import ArrayType, Type, array_type
from lanewise.ops.creation import constant
from lanewise.ops.derivatives import unbroadcast
from lanewise.ops.elementwise import masked_product
from lanewise.ops.movement import broadcast_to, cast
from lanewise.ops.reduction import sum_to
from lanewise.ops.registry import Absent, Primitive
from lanewise.ops.shapes import broadcast_shapes
from lanewise.ops.tables import INTP
from lanewise.trace.tensor import Tensor, emit
from lanewise.trace.trace import Trace, current_trace


class Derivation(Trace):
    """The trace of a graph that is made from another one.

    It records at the line of the operation that it works on, and takes nothing from outside: what
    a rule has of arrays becomes part of the graph.

    Attributes
    ----------
    primitive
        The operation whose rule is running.
    place
        Where the operation that is worked on was recorded.
    is_masked
        Whether the cotangent that a rule is given may hold zeros that stand for "not asked for":
        they stay zero, whatever they are multiplied with. A rule that makes such zeros sets it.
    order
        The same number wherever one derivative is taken, and another one for a derivative of it.
    """

    __slots__ = ("is_masked", "order", "place", "primitive")

    def __init__(self, function: Any = None) -> None:
        super().__init__(function)
        around = current_trace()
        self.order = 0
        self.place: Any = None
        if isinstance(around, Derivation):  # of a region of what that one works on
            self.order, self.place = around.order, around.place
        self.primitive: Any = None
        self.is_masked = False

    def append(self, signature: Signature, operands: tuple[Value, ...] = ()) -> tuple[Value, ...]:
        """Record one operation, at the line of what is worked on."""
        self.location = self.place  # not where the rule, or who asked for derivatives, stands
        return super().append(signature, operands)

    def copy(self, op: Operation, values: dict[Value, Value]) -> None:
        """Record an operation again, at its own line, which is worked on from now on."""
        self.place = op.place
        super().copy(op, values)

    def record(self, primitive: Primitive, operands: tuple[Value, ...], params: dict[str, Any],
               regions: tuple[Graph, ...] = ()) -> tuple[Value, ...]:  # fmt: skip
        signature = primitive.signature([v.type for v in operands], params, regions)
        return self.append(signature, operands)

    def capture(self, array: np.ndarray, owner: np.ndarray | None = None) -> Value:
        type_ = array_type(array.dtype, array.shape)
        (value,) = self.append(
            constant.signature((), {"data": np.ascontiguousarray(array).tobytes(), "type": type_})
        )
        return value

    def take_names(self, count: int) -> None:
        """Let `new_name` give no name with a number up to one."""
        outermost: Trace = self
        while outermost.parent is not None:
            outermost = outermost.parent
        outermost.names = max(outermost.names, count)

    # --- what rules are given ---------------------------------------------------------------------

    def emit(self, primitive: Primitive, *operands: Any, **params: Any) -> Any:
        """Record an operation on tensors; return its result, or the tuple of them."""
        return emit(primitive, *operands, **params)

    def zeros(self, like: Any) -> Tensor:
        """Return zeros of the type of a value, a tensor or a `Linear`."""
        type_ = like if isinstance(like, ArrayType) else array_type(like.dtype, like.shape)
        zero = Tensor(self, self.scalar(0, type_.dtype))
        return emit(broadcast_to, zero, shape=type_.shape) if type_.shape else zero

    def times(self, ct: Any, factor: Any) -> Any:
        """Return a cotangent times a factor: zero where it is masked, though that be infinite."""
        return emit(masked_product, ct, factor) if self.is_masked else ct * factor

    # --- what transforms use ----------------------------------------------------------------------

    def tensor(self, value: Value) -> Tensor:
        """Return the tensor of a value of this trace."""
        return Tensor(self, value)

    def tensors(self, types: Iterable[Type]) -> list[Any]:
        """Return new inputs of these types."""
        return [Tensor(self, self.input(type_)) for type_ in types]

    def call(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        params: dict[str, Any],
        regions: tuple[Graph, ...],
    ) -> list[Any]:
        """Record an operation with regions; return its results."""
        values = tuple([x if isinstance(x, Value) else x._value for x in operands])
        return [Tensor(self, v) for v in self.record(primitive, values, params, regions)]

    def fitted(self, x: Any, type_: ArrayType) -> Tensor:
        """Return a tangent or cotangent in the dtype and shape of what it belongs to."""
        if x.dtype != type_.dtype:
            if x.dtype.kind == "c" and type_.dtype.kind != "c":
                x = x.real
            x = emit(cast, x, dtype=type_.dtype) if x.dtype != type_.dtype else x
        if x.shape != type_.shape:
            check_no_table(type_, self.place)
            x = unbroadcast(x, type_.shape)
        if x.shape != type_.shape:
            if x.ndim == type_.ndim and broadcast_shapes(x.shape, type_.shape) != type_.shape:
                # Sizes that are not known: which were repeated is seen when it runs.
                pairs = zip(x.shape, type_.shape, strict=True)
                x = emit(sum_to, x, shape=tuple([1 if a == 1 else b for a, b in pairs]))
            x = emit(broadcast_to, x, shape=type_.shape)
        return x

    def rule(self, op: Operation, name: str) -> Any:
        """Return a rule of an operation, and make it the one that is worked on; or raise."""
        rule = getattr(op.primitive, name)
        if isinstance(rule, Absent):
            raise UnsupportedError(
                f"{op.primitive.name} is differentiated{at(op.place)}, but {rule.reason}. "
                "Give a derivative by lw.custom_jvp or lw.custom_gradient, or take it as constant "
                "by lw.stop_gradient"
            )
        self.primitive = op.primitive
        return rule


def is_table(type_: Any) -> bool:
    """Whether what moves, or is linear, is a list or a table: the only integers that are."""
    return isinstance(type_, ArrayType) and type_.dtype == INTP


def check_no_table(type_: Any, place: Any) -> None:
    """Raise for a list where only arrays are differentiated."""
    if is_table(type_):
        raise UnsupportedError(
            f"a TensorArray is differentiated{at(place)} in a way that is not supported: it is "
            "handed on as a whole by what takes numbers. Stack it, and use the array"
        )


def is_differentiable(type_: Any) -> bool:
    """Whether values of a type have tangents: floats and complex numbers do."""
    return isinstance(type_, ArrayType) and type_.dtype.kind in "fc"
