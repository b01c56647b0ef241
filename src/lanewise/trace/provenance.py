"""What is known of integers from how they were computed: that two differ by a constant, or agree.

Shapes must be known while tracing. ``a[i:i + 3]`` has three elements whatever i is; to see it, the
operations that were recorded for its ends are followed back.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lanewise.ir.dims import Dim, DimLike, bounds, dim_max, dim_min, symbols
from lanewise.ir.graph import Operation, Value
from lanewise.ops.creation import literal
from lanewise.ops.exact import exact
from lanewise.ops.facts import Kind
from lanewise.ops.movement import cast
from lanewise.ops.reduction import reduce
from lanewise.trace.regions import Region
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import Trace, require_trace, state

#: How many operations are followed back at most: an unrolled loop may have made very many.
_LIMIT = 200


#: For so many combinations of counters at most it is worked out which slices are cut off.
MOST_COMPARED = 1 << 20


class Counter:
    """The counter of a loop that is being recorded, and its iterations that are all alike.

    Attributes
    ----------
    value
        The counter: an integer that is at least `first`.
    turns
        How many iterations there are; None where that is not known.
    alike
        For each iteration whether no slice in it is cut off at an end of its axis; None where
        their number is not known, or more than `MOST_COMPARED`.
    most
        What it is at most; None where that is not known.
    size
        The counter as a size, where it is the same for all examples: slices that grow, shrink or
        move with it are of such sizes.
    is_size
        Whether the shape of anything depends on it.
    begins_apart
        Whether an index is counted from the end in the first iteration, and not in the next one,
        or the other way round.
    """

    def __init__(self, value: Value, first: int, name: str | None, most: DimLike | None) -> None:
        self.value = value
        self.first = first
        self.most = most
        self.turns: int | None = None
        self.alike: np.ndarray | None = None
        self.size: DimLike | None = None
        self.is_size = self.begins_apart = False
        if name is not None:
            end = None if most is None else bounds(most)[1]
            self.size = first + (
                Dim.symbol(name) if end is None else Dim.bounded(name, end - first)
            )


class Node(NamedTuple):
    """A value, and the trace in which it was made."""

    trace: Trace
    value: Value


def node_of(tensor: Tensor) -> Node:
    """Return where what a tensor holds now was made."""
    return _made(Node(require_trace("an index"), read(tensor)))


def _made(node: Node) -> Node:
    """Return the node outside that a captured value stands for; any other is its own."""
    while _operation(node) is None:
        outside = [s for s, inner in node.trace.captures if inner is node.value]
        if not outside or not isinstance(outside[0], tuple):
            break
        node = Node(*outside[0])
    return node


def _operation(node: Node) -> Operation | None:
    """Return the operation that made a value, None for an input; values are numbered in order."""
    operations, index = node.trace.operations, node.value.index
    low, high = 0, len(operations)
    while low < high:
        middle = probe = (low + high) // 2
        while probe < high and not operations[probe].results:
            probe += 1
        if probe == high or operations[probe].results[0].index > index:
            high = middle
        elif operations[probe].results[-1].index < index:
            low = probe + 1
        else:
            return operations[probe]
    return None


def maker_of(tensor: Tensor) -> Operation | None:
    """Return the operation that made what a tensor holds now; None for an input."""
    return _operation(node_of(tensor))


#: Operations of these kinds give what their first operand is, or a part of it.
_SHOWING = (Kind.VIEW, Kind.UPDATE)


def source_of(tensor: Tensor) -> Operation | None:
    """Return the operation that made what a tensor shows, changed or not; None for an input."""
    node = node_of(tensor)
    op = _operation(node)
    while op is not None and op.primitive.kind in _SHOWING:
        node = _made(Node(node.trace, op.operands[0]))
        op = _operation(node)
    return op


def is_given(tensor: Tensor) -> bool:
    """Whether what a tensor holds was given to the function, or is an array outside of it."""
    node = node_of(tensor)
    return _operation(node) is None and not isinstance(node.trace, Region)


def _captured(node: Node) -> int | None:
    """Return the integer that a captured NumPy scalar or array of one element is."""
    for source, inner in node.trace.captures:
        if inner is node.value and not isinstance(source, tuple):
            return int(source.ravel()[0]) if source.size == 1 else None
    return None


#: Factors of sizes are at most so large.
LARGEST = 2**31
_OF_SIZES: dict[Any, Callable[..., DimLike]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.negative: operator.neg, np.maximum: dim_max, np.minimum: dim_min,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod,
}  # fmt: skip


def size_of_counters(number: Tensor) -> DimLike | None:
    """Return the size that an integer is which is computed of counters of loops, and of sizes."""
    return _size(node_of(number), [_LIMIT]) if any(counters_around()) else None


#: Comparisons of sizes.
COMPARISONS: dict[Any, Callable[[int, int], bool]] = {
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip
_CONJUNCTIONS = (np.logical_and, np.bitwise_and)


def compared(ufunc: Any, difference: DimLike) -> bool | None:
    """Return what comparing two sizes gives, if that is known of all that they may be."""
    compare = COMPARISONS[ufunc]
    least, most = bounds(difference)
    # Where there is no bound, a number on that side of zero stands for all of them.
    low, high = -1 if least is None else least, 1 if most is None else most
    found = {compare(value, 0) for value in {low, high, *([0] if low <= 0 <= high else [])}}
    return found.pop() if len(found) == 1 else None


def surely(truth: Tensor) -> bool:
    """Whether a truth value that is computed of counters of loops holds in all iterations."""
    return any(counters_around()) and _surely(node_of(truth), [_LIMIT])


def _surely(node: Node, left: list[int]) -> bool:
    left[0] -= 1
    op = _operation(node)
    if op is None or left[0] < 0:
        return False
    operands = _operands(node, op)
    ufunc = op.params["fn"] if op.primitive is reduce else op.primitive.ufunc
    if ufunc in _CONJUNCTIONS:
        return all([_surely(operand, left) for operand in operands])
    if ufunc not in COMPARISONS:
        return False
    first, second = [_size(operand, left) for operand in operands]
    return first is not None and second is not None and compared(ufunc, first - second) is True


def use_size(size: DimLike) -> None:
    """Note that the shape of something depends on a size: loops say then what it is."""
    names = set(symbols(size))
    for counter, own in counters_around() if names else ():
        counter.is_size |= not names.isdisjoint(symbols(own))


def counters_around() -> Iterator[tuple[Counter, DimLike]]:
    """Yield the counters of the loops around that are sizes, with these."""
    trace = state.trace
    while trace is not None:
        counter = getattr(trace, "counted", None)
        if counter is not None and counter.size is not None:
            yield counter, counter.size
        trace = trace.parent


def _size(node: Node, left: list[int]) -> DimLike | None:
    left[0] -= 1
    counter = getattr(node.trace, "counted", None)
    if counter is not None and counter.value is node.value:
        return counter.size
    if (known := node.trace.sizes.get(node.value)) is not None:
        return known
    op = _operation(node)
    if op is None:
        return _captured(node) if node.value.type.dtype.kind in "iu" else None
    dtype = node.value.type.dtype
    if left[0] < 0 or dtype.kind not in "iu" or node.value.type.shape:
        return None
    if (data := literal(op)) is not None:
        return data.item()
    operands = [_size(operand, left) for operand in _operands(node, op)]
    if None in operands or not operands:
        return None
    if op.primitive is cast:
        is_same = np.can_cast(op.operands[0].type.dtype, dtype)
        return operands[0] if is_same else None
    if dtype != np.int64:  # it may wrap around
        return None
    ufunc = op.params["fn"] if op.primitive is exact else op.primitive.ufunc
    compute = _OF_SIZES.get(ufunc)
    if compute in (operator.floordiv, operator.mod) and not (
        type(operands[1]) is int and operands[1] > 0
    ):
        return None
    size = None if compute is None else compute(*operands)
    return None if size is None or _may_wrap(size) else size


def _may_wrap(size: DimLike) -> bool:
    """Whether 64 bits may be too few for a size: it is a product of many, or of large numbers."""
    terms = size.terms if isinstance(size, Dim) else ()
    return (
        abs(size) > LARGEST
        if isinstance(size, int)
        else any([len(monomial) > 2 or abs(factor) > LARGEST for monomial, factor in terms])
    )


def _operands(node: Node, op: Operation) -> list[Node]:
    return [_made(Node(node.trace, value)) for value in op.operands]


def same(first: Any, second: Any) -> bool:
    """Whether two tensors, or Python ints, surely hold the same: made by the same operations."""
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return type(first) is type(second) and first == second
    return first is second or _same(node_of(first), node_of(second), [_LIMIT])


def _same(first: Node, second: Node, left: list[int]) -> bool:
    if first == second:
        return True
    left[0] -= 1
    made, again = _operation(first), _operation(second)
    if left[0] < 0 or made is None or again is None or made.signature is not again.signature:
        return False
    if made.signature.must_run or not made.signature.is_interned:
        return False
    if made.results.index(first.value) != again.results.index(second.value):
        return False
    pairs = zip(_operands(first, made), _operands(second, again), strict=True)
    return all(_same(a, b, left) for a, b in pairs)


def made_of(tensor: Tensor, primitive: Any) -> list[tuple[Node, Operation]]:
    """Return the operations of a kind that a tensor was computed by, each with a node of it."""
    left, found = [node_of(tensor)], []
    seen: set[Node] = set(left)
    while left and len(seen) < _LIMIT:
        node = left.pop()
        op = _operation(node)
        if op is None:
            continue
        if op.primitive is primitive:
            found.append((node, op))
        new = [operand for operand in _operands(node, op) if operand not in seen]
        seen.update(new)
        left += new
    return found


class _Linear(NamedTuple):
    """A sum of multiples of nodes, and a constant."""

    terms: tuple[tuple[Node, int], ...]
    constant: int

    def plus(self, other: _Linear, factor: int = 1) -> _Linear:
        """Return this plus `factor` times the other."""
        terms = list(self.terms)
        for node, count in other.terms:
            at = next((i for i, (known, _) in enumerate(terms) if _same(known, node, [50])), None)
            if at is None:
                terms.append((node, count * factor))
            else:
                terms[at] = (terms[at][0], terms[at][1] + count * factor)
        kept = tuple([term for term in terms if term[1]])
        return _Linear(kept, self.constant + other.constant * factor)


def distance(start: Any, stop: Any) -> int | None:
    """Return ``stop - start`` of two integers where it is the same for all data, else None.

    Integers that wrap around are taken for such that do not: whoever relies on the answer checks it
    when the graph runs.
    """
    first = node_of(start) if isinstance(start, Tensor) else None
    # Where the one was computed from the other, it need not be followed further back.
    for until in dict.fromkeys((first, None)):
        left = [_LIMIT]
        difference = _linear(stop, until, left).plus(_linear(start, until, left), -1)
        if not difference.terms:
            return difference.constant
    return None


def cut_off(start: Any, stop: Any, step: int, size: int, length: int) -> bool:
    """Whether a slice of so many elements surely is cut off in some iterations of loops around.

    The innermost loop's counter is told which; False also where it is not known.
    """
    left = [_LIMIT]
    low, high = (_linear(x, None, left) for x in (start, stop))
    counters: list[tuple[Any, Node]] = [
        (getattr(node.trace, "counted", None), node) for node, _ in low.terms
    ]
    if not counters or len(low.terms) != len(high.terms):
        return False
    if any([c is None or c.value is not node.value or c.alike is None for c, node in counters]):
        return False
    if np.prod([len(counter.alike) for counter, _ in counters], dtype=float) > MOST_COMPARED:
        return False
    first: Any = low.constant
    for axis, ((counter, _), (_, factor)) in enumerate(zip(counters, low.terms, strict=True)):
        places = counter.first + np.arange(len(counter.alike))
        own = (-1,) + (1,) * (len(counters) - 1 - axis)
        first = first + factor * places.reshape(own)
    ends = [np.where(end < 0, end + size, end) for end in (first, first + high.constant
            - low.constant)]  # fmt: skip
    ends = [np.clip(end, -(step < 0), size - (step < 0)) for end in ends]
    is_whole = np.maximum(-(-(ends[1] - ends[0]) // step), 0) == length
    depths = [depth_of(node.trace) for _, node in counters]
    inner = depths.index(max(depths))
    others = tuple([axis for axis in range(len(counters)) if axis != inner])
    counters[inner][0].alike &= is_whole.all(axis=others)
    return not is_whole.all()


def note_index(index: Tensor) -> None:
    """Tell the loops around of a number that is used as an index."""
    trace = state.trace
    while trace is not None and getattr(trace, "counted", None) is None:
        trace = trace.parent
    if trace is None:
        return
    number = _linear(index, None, [_LIMIT])
    counters = [(getattr(node.trace, "counted", None), node, n) for node, n in number.terms]
    counted = [(c, n) for c, node, n in counters if c is not None and c.value is node.value]
    first = number.constant + sum([n * c.first for c, n in counted])
    for counter, step in counted:
        counter.begins_apart |= (first < 0) is not (first + step < 0)


def depth_of(trace: Trace | None) -> int:
    """Return how many traces stand in each other, down to this one."""
    depth = 0
    while trace is not None:
        trace, depth = trace.parent, depth + 1
    return depth


def _linear(x: Any, until: Node | None, left: list[int]) -> _Linear:
    if not isinstance(x, Tensor):
        return _Linear((), operator.index(x))
    return _follow(node_of(x), until, left)


def _follow(node: Node, until: Node | None, left: list[int]) -> _Linear:
    """Return a value as a sum of multiples of others, as far as it can be followed back."""
    itself = _Linear(((node, 1),), 0)
    left[0] -= 1
    op = _operation(node)
    if op is None and (known := _captured(node)) is not None:
        return _Linear((), known)
    if node == until or op is None or left[0] < 0 or node.value.type.dtype.kind not in "iu":
        return itself
    if (data := literal(op)) is not None:
        return _Linear((), data.item()) if data.size == 1 else itself
    name = op.primitive.name
    operands = _operands(node, op)
    if name in ("cast", "checked"):
        is_integer = operands[0].value.type.dtype.kind in "iu"
        return _follow(operands[0], until, left) if is_integer else itself
    ufunc = op.params["fn"] if name == "exact" else op.primitive.ufunc
    if ufunc not in (np.add, np.subtract, np.multiply, np.negative):
        return itself
    first, *rest = [_follow(operand, until, left) for operand in operands]
    if ufunc is np.negative:
        return _Linear((), 0).plus(first, -1)
    if ufunc is not np.multiply:
        return first.plus(rest[0], 1 if ufunc is np.add else -1)
    if first.terms and rest[0].terms:
        return itself
    number, other = (rest[0], first) if first.terms else (first, rest[0])
    return _Linear((), 0).plus(other, number.constant)
