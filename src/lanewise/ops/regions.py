"""The `map` operation: a region for every example. (`cond`, `while` and their like: control.py.)

A `map` runs its region once for each example. Each operand says along which axis it is mapped, or
that every example sees it whole; a token is never mapped. The results have the batch as axis 0,
except those that do not depend on the example (``out_mapped`` False), which stay as they are.
"""

from __future__ import annotations

from typing import Any

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph
from lanewise.ir.types import ArrayType, TokenType, array_type
from lanewise.ops.registry import absent, op

#: How a map is run: pushed into the operations, example after example, or each its own way.
PARALLEL, SEQUENTIAL, DIVERGENT = "parallel", "sequential", "divergent"
#: ... or as a compiled kernel; or in chunks that have kernels.
NATIVE, CHUNKED = "native", "chunked"


@op
class map_:
    """The region applied to every example of the operands.

    Parameters
    ----------
    size
        How many examples there are.
    in_dims
        For each operand the mapped axis, or None.
    out_mapped
        For each result, whether it has one entry an example.
    order
        ``"parallel"``: the map is pushed into the operations of its region.
        ``"sequential"``: examples run one after the other, in order.
        ``"divergent"``: the region is one operation of control flow, without effects; examples
        that go the same way run together. Every operand is mapped along axis 0 or not at all, and
        every result has the batch as axis 0.
        ``"native"``: the region is compiled, and runs with an example in each lane.
        ``"chunked"``: each chunk is compiled as a map by itself, of which NumPy does a part.
    chunk
        At most so many examples at a time, each chunk run as a parallel map; None for no bound.
    fallback
        Whether an operation without batching rule may run one example at a time.
    fastmath
        Whether a kernel may round arithmetic otherwise than IEEE 754 says.
    columns
        For each result, whether its examples should stand side by side in memory; see
        `lanewise.codegen.blocks`. Empty if none should, and only a wish: it changes no meaning.
    """

    def type(
        *operands: Any,
        regions: tuple[Graph, ...],
        size: DimLike,
        in_dims: tuple[int | None, ...],
        out_mapped: tuple[bool, ...],
        order: str = PARALLEL,
        chunk: int | None = None,
        fallback: bool = True,
        fastmath: bool = False,
        columns: tuple[bool, ...] = (),
    ) -> Any:
        (body,) = regions
        if order not in (PARALLEL, SEQUENTIAL, DIVERGENT, NATIVE, CHUNKED):
            raise ValueError(f"a map is not run in {order!r} order")
        for operand, axis, inner in zip(operands, in_dims, body.inputs, strict=True):
            if example_type(operand, axis) != inner.type:
                raise ValueError(f"the region takes {inner.type}, not a slice of {operand}")
            if axis is not None and operand.shape[axis] != size:
                raise ValueError(f"{operand} has no {size} examples along axis {axis}")
        return tuple(
            batched_type(value.type, size) if mapped else value.type
            for value, mapped in zip(body.outputs, out_mapped, strict=True)
        )

    numpy = absent("the interpreter runs regions itself (runtime/interpret.py)")
    batch = absent("a nested map is lowered first (passes/vectorize.py)")
    samples = absent("it holds a region; the tests of maps cover it")


def example_type(type: Any, axis: int | None) -> Any:
    """Return the type of one example of an operand mapped along `axis`."""
    if axis is None:
        return type
    return array_type(type.dtype, type.shape[:axis] + type.shape[axis + 1 :])


def batched_type(type: Any, size: DimLike, axis: int | None = 0) -> ArrayType | TokenType:
    """Return the type of `size` examples stacked along `axis`; a token stays a token."""
    if axis is None or isinstance(type, TokenType):
        return type
    return array_type(type.dtype, (*type.shape[:axis], size, *type.shape[axis:]))
