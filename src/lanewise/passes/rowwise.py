"""Which operations compute each row of a large array apart from the others, and from what.

A *row* is what an array has at one place of its leading axis, or of some of its leading axes. An
elementwise operation is rowwise along all axes that its operands have whole; a reduction, a sort or
a running sum along those before its own. A *total* takes rows together, as a sum along the first
axis does: it is rowwise up to the last step, which adds what blocks of rows give.

Views between arrays are looked through: the rows of ``x[1:-1, 2:]`` are parts of rows of ``x``. So
the parts of an array that a stencil takes are read where they lie, and are not copied first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

import numpy as np

from lanewise.ir.dims import Dim, DimLike, Shape, most_of, product, symbols
from lanewise.ir.graph import Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.facts import Kind, usual_size
from lanewise.ops.indexing import gather, scatter
from lanewise.ops.movement import broadcast_to, reshape, slice_, transpose, update_slice
from lanewise.ops.reduction import reduce
from lanewise.ops.ufuncs import row_of

#: Arrays of fewer elements than this are left as they are.
FEWEST = 1 << 14
#: A map has at least so many examples.
LEAST = 8
#: What is added up in so many places at most: of so many numbers in one.
BINS = 8
#: What a size is taken for that is not known: where arrays are small, another plan is taken.
MANY = 1 << 16

Makers = Mapping[Value, Operation]


def expected(size: DimLike) -> int:
    """Return a size; of one that is not known, what is assumed where arrays are large."""
    unknown = {name: most_of(name) for name in symbols(size)}
    return usual_size(size, {n: MANY if most is None else most for n, most in unknown.items()})


def is_rowwise(op: Operation) -> bool:
    """Whether an operation on arrays takes rows, and does nothing else."""
    return (
        not op.must_run
        and not op.regions
        and all([_is_array(value) for value in (*op.operands, *op.results)])
        and (is_elementwise(op) or is_count(op) or op.primitive is reduce or along(op) is not None)
    )


def is_large(op: Operation) -> bool:
    """Whether an operation is rowwise, on arrays that are worth a map of their own."""
    if not is_rowwise(op):
        return False
    shape = widest(op)
    many = expected(product(shape)), expected(product(shape[: leading(op)]))
    return many[0] >= FEWEST and many[1] >= LEAST


def along(op: Operation) -> int | None:
    """Return the axis that an operation works along, and leaves those before it as they are."""
    axis = op.primitive.along
    if axis is None:
        return None
    return op.params[axis] if isinstance(axis, str) else axis % op.operands[0].type.ndim


def is_elementwise(op: Operation) -> bool:
    """Whether each element of a result is computed of one element of each operand.

    Reading a table at places that are data is: each takes the whole table.
    """
    if op.primitive is gather:
        return op.operands[0].type.ndim == 1 == len(op.operands) - 1
    return op.primitive.kind is Kind.ELEMENTWISE


def is_count(op: Operation) -> bool:
    """Whether an operation adds up numbers in much fewer places, which the data choose."""
    return (
        op.primitive is scatter
        and op.params["fn"] is np.add
        and len(op.operands) == 3
        and all([value.type.ndim == 1 for value in op.operands])
        and op.results[0].type.dtype.kind in "iufc"
        and op.results[0].type.dtype != np.float16
        and expected(op.results[0].type.shape[0]) * BINS <= expected(op.operands[2].type.shape[0])
    )


def is_reduction(op: Operation) -> bool:
    """Whether an operation gives less than it takes."""
    return op.primitive.kind is Kind.REDUCTION or op.primitive is scatter


def is_total(op: Operation) -> bool:
    """Whether an operation takes rows together, in any order."""
    return is_count(op) or (
        op.primitive is reduce
        and 0 in op.params["axes"]
        and row_of(op.params["fn"]).is_associative
        and op.results[0].type.dtype != np.float16  # its sums are kept in single precision
    )


def _is_array(value: Value) -> bool:
    """Whether a value is an array whose sizes are known where the graph begins."""
    type_ = value.type
    return isinstance(type_, ArrayType) and not any(map(is_found, type_.shape))


def is_found(size: DimLike) -> bool:
    """Whether a size is one that a graph defines on its way."""
    return isinstance(size, Dim) and any(["." in name for name in symbols(size)])


def widest(op: Operation) -> Shape:
    """Return the shape of which an operation takes the rows."""
    if op.primitive.kind is Kind.REDUCTION:
        return op.operands[0].type.shape
    return op.operands[2].type.shape if op.primitive is scatter else op.results[0].type.shape


def leading(op: Operation) -> int:
    """Return along how many leading axes an operation is rowwise."""
    axis = along(op)
    if axis is not None:
        return axis if all([_may_have_rows(op, v, axis) for v in op.operands]) else 0
    if op.primitive is reduce:
        axes = op.params["axes"]
        if not is_total(op):
            return min(axes, default=len(widest(op)))
        return next(axis for axis in range(len(axes) + 1) if axis not in axes)
    if op.primitive.indices is not None:
        return len(widest(op))
    if op.primitive is update_slice:
        return next(axis for axis, part in enumerate(op.params["index"]) if part is not None)
    shape: Shape = op.results[0].type.shape
    return min([_run(value.type.shape, shape) for value in op.operands], default=0)


def _may_have_rows(op: Operation, value: Value, axes: int) -> bool:
    """Whether an operand is whole or repeated along so many axes: not of another unknown size."""
    given, shape = value.type.shape, widest(op)
    pairs = list(zip(given[::-1], shape[::-1], strict=False))[::-1]
    ahead = len(shape) - len(pairs)
    return all([own in (1, size) for own, size in pairs[: max(axes - ahead, 0)]])


def _run(given: Shape, shape: Shape) -> int:
    """Return along how many leading axes an operand of a result is all whole, or all repeated."""
    if product(given) == 1 or given == shape:
        return len(shape)
    if len(given) > len(shape):  # it is not broadcast, as the truth values of a check are not
        return 0
    whole = len(given) == len(shape) and given[0] == shape[0]
    given = (1,) * (len(shape) - len(given)) + given
    for axis, (n, size) in enumerate(zip(given, shape, strict=True)):
        if (n == size) != whole or not (whole or n == 1):
            return axis
    return len(shape)


def rows(op: Operation) -> Shape:
    """Return the leading axes along which an operation is rowwise, by their sizes."""
    return widest(op)[: leading(op)]


def has_rows(op: Operation, place: int) -> bool:
    """Whether a row of what a rowwise operation gives takes but a row of an operand."""
    if op.primitive.indices is not None and place == 0:
        return False
    shape, own = widest(op), op.operands[place].type.shape
    return len(own) == len(shape) and own[:1] == shape[:1] and product(own) != 1


def has_gaps(op: Operation) -> bool:
    """Whether an operation gives a view whose elements do not lie one behind the other.

    A map over its elements would copy it first. (Of a part of a row, or of some rows, no.)
    """
    if op.primitive is not slice_:
        return op.primitive is transpose
    first = outer(op)
    return any(op.params["index"][1:]) or (first is not None and first[2] != 1)


def viewed(value: Value, makers: Makers, is_linked: bool) -> tuple[Value, list[Operation]]:
    """Return an array whose rows those of another are parts of, and the views that lead from it.

    If it is linked, to what an operation in the same map gives, these are all that have all rows.
    Else an array without gaps is read as it is.
    """
    path: list[Operation] = []
    found = value, path[:]
    while (maker := makers.get(value)) is not None and keeps_rows(maker):
        if is_linked and outer(maker):
            break
        path.insert(0, maker)
        value = maker.operands[0]
        if is_linked or has_gaps(maker):
            found = value, path[:]
    return found


def _is_cut(op: Operation) -> bool:
    return op.primitive is slice_ or op.primitive is reshape


def keeps_rows(op: Operation) -> bool:
    """Whether an operation is a view of which each row is a part of one row."""
    if not _is_cut(op) or not all(map(_is_array, op.operands)):
        return False
    (given,), (made,) = [v.type.shape for v in op.operands], [v.type.shape for v in op.results]
    if op.primitive is reshape:
        return given[:1] == made[:1] != () and 0 not in given
    first = outer(op)
    return bool(given) and 0 not in made and (first is None or first[2] == 1)


def outer(op: Operation) -> tuple[DimLike, DimLike, int] | None:
    """Return which rows a view takes, if not all."""
    return op.params["index"][0] if op.primitive is slice_ and op.params["index"] else None


def is_unreadable(value: Value, makers: Makers) -> bool:
    """Whether an array has gaps, and rows that are not parts of another's."""
    maker = makers.get(value)
    return maker is not None and has_gaps(maker) and not keeps_rows(maker)


def repeated(value: Value, makers: Makers) -> Value:
    """Return the single number that fills an array, or the array."""
    maker = makers.get(value)
    while maker is not None and _is_cut(maker):
        maker = makers.get(maker.operands[0])
    if maker is not None and maker.primitive is broadcast_to and _is_array(maker.operands[0]):
        (source,) = maker.operands
        if product(source.type.shape) == 1:
            return source
    return value


def is_inside(op: Operation, makers: Makers) -> bool:
    """Whether an operation writes what is made row by row to the inside of most of an array's rows.

    Then whole rows are made, with what is around in them, and written as they are.
    """
    if op.primitive is not update_slice or not all(map(_is_array, op.operands)):
        return False
    if not op.operands[1].type.shape or not op.params["index"]:
        return False
    (size, *_), (first, *rest) = op.results[0].type.shape, op.params["index"]
    value, count = op.operands[1], op.operands[1].type.shape[0]
    is_most = expected(count) >= LEAST and 4 * expected(count) >= 3 * expected(size)
    if not any(rest) or (first is not None and first[2] != 1) or not is_most:
        return False
    while (maker := makers.get(value)) is not None and keeps_rows(maker):
        value = maker.operands[0]
    return maker is not None and is_large(maker)


def common(shapes: Sequence[Shape]) -> Shape:
    """Return the leading axes that shapes have in common."""
    same = takewhile(lambda sizes: len(set(sizes)) == 1, zip(*shapes, strict=False))
    return tuple([size for size, *_ in same])
