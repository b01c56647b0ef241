"""How much work a graph is: what decides whether compiling it pays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import ArrayType
from lanewise.ops.control import BRANCHES, scan, while_
from lanewise.ops.facts import Kind, ask, count, seen, usual, usual_size
from lanewise.ops.regions import NATIVE, map_
from lanewise.passes.specialize import has_own_sizes

# All of these are measured, on the programs of `benchmarks/programs`, by
# ``python -m benchmarks.estimates``; docs/benchmarks.md says how well they tell.

#: Nanoseconds that the interpreter takes for a call of NumPy beside its elements: for operations of
#: most kinds, and for others.
CALL_NS = 2000.0
CALL_NS_OF = {
    Kind.ELEMENTWISE: 420.0,
    Kind.UPDATE: 75.0,
    Kind.LOOKUP: 75.0,
    Kind.REDUCTION: 1900.0,
    Kind.ALONG: 2000.0,
    Kind.CONTRACTION: 2600.0,
    Kind.LISTS: 15000.0,
}
#: ... for one that gives a view, and for an operator on numbers.
VIEW_NS, NUMBER_NS = 450.0, 10.0
#: Nanoseconds of a byte that is read or written in caches, by operations of most kinds and others.
BYTE_NS = 0.045
BYTE_NS_OF = {
    Kind.ELEMENTWISE: 0.012,
    Kind.UPDATE: 0.05,
    Kind.LOOKUP: 0.022,
    Kind.COPY: 0.026,
    Kind.REDUCTION: 0.081,
    Kind.ALONG: 0.08,
    Kind.CONTRACTION: 0.034,
}
#: ... of arrays that take more bytes together than the caches of a core hold, which threads of BLAS
#: share.
CACHE_BYTES, MEMORY_BYTE_NS, SHARED_BYTE_NS = 1 << 20, 0.021, 0.013
#: Nanoseconds of a row of elements, or of a matrix, beside these.
ROW_NS, MATRIX_NS = 13.0, 160.0
#: Nanoseconds of an operation on numbers in a sum of products.
PRODUCT_NS = 0.024
#: Nanoseconds that it takes to write the kernels of a graph: for any, and for each operation.
WRITING_NS, WRITING_OPERATION_NS = 5e6, 0.18e6
#: Nanoseconds that LLVM takes for a kernel: for any, and for each line.
MACHINE_CODE_NS, LINE_NS = 10e6, 63e3
#: Lines that an operation is in a kernel, as long as none is written.
OPERATION_LINES = 17
#: Turns that a loop is taken to make where data decide.
TURNS = 50


def interpreting(graph: Graph, sizes: Mapping[str, int], examples: int = 1) -> float:
    """Return the nanoseconds that NumPy is estimated to take for a graph, for so many examples.

    For none, of a map what its calls take beside its examples, or one of them if these are run one
    after the other.
    """
    with seen(sizes):
        return _graph(graph, examples, frozenset())


def _graph(graph: Graph, examples: int, given: Collection[Value]) -> float:
    """Return the nanoseconds of a graph, where the `given` inputs are one for all examples."""
    total, uniform = 0.0, set(given)
    for op in graph.operations:
        is_hoisted = not op.has_effect and uniform.issuperset(op.operands)
        if is_hoisted:
            uniform.update(op.results)
        total += _operation(op, 1 if is_hoisted else examples, uniform)
    return total


def _operation(op: Operation, examples: int, uniform: Collection[Value]) -> float:
    primitive, params = op.primitive, op.params
    if primitive is map_:
        size, (region,) = usual_size(params["size"]), op.regions
        if params["order"] == NATIVE:
            return CALL_NS
        if has_own_sizes(op):  # one example after the other
            return (size * examples or 1) * _graph(region, 1, ())
        taken = zip(region.inputs, params["in_dims"], strict=True)
        return _graph(region, examples * size, [v for v, axis in taken if axis is None])
    if primitive is scan:
        turns = usual_size(params["length"])
        return turns * _graph(op.regions[0], examples, _shared(op, uniform))
    if primitive is while_ or primitive in BRANCHES:
        regions = sum([_graph(region, examples, ()) for region in op.regions])
        nbytes = examples * _nbytes(op.results) if examples > 1 else 0
        if primitive is while_:  # those that go on are gathered where others leave
            return TURNS * regions + BYTE_NS * nbytes * min(examples, TURNS) / 2
        return CALL_NS + regions + 2 * BYTE_NS * nbytes  # those of a side, and back
    kind = primitive.kind
    if kind in (Kind.SOURCE, Kind.VIEW):
        return VIEW_NS
    if examples <= 1 and kind in (Kind.ELEMENTWISE, Kind.LOOKUP) and _is_number(op):
        return NUMBER_NS
    call, moved = CALL_NS_OF.get(kind, CALL_NS), _moved(op)
    if (each := ask(primitive.call_ns, op)) > 0:  # a loop of a library over all examples
        return call + ask(primitive.setup_ns, op) + examples * each
    elements = examples * max(map(count, moved), default=0)
    call += _rows(op, examples, uniform) + ask(primitive.numpy_ns, op) * elements
    once = [value for value in moved if value in uniform]
    own = [value for value in moved if value not in uniform]
    nbytes = examples * _nbytes(own) + _nbytes(once)
    price = BYTE_NS_OF.get(kind, BYTE_NS)
    if kind is Kind.CONTRACTION:
        price = price if nbytes <= CACHE_BYTES else SHARED_BYTE_NS
        return call + max(PRODUCT_NS * examples * ask(primitive.flops, op), price * nbytes)
    if nbytes > CACHE_BYTES:
        price = max(price, MEMORY_BYTE_NS)
    return call + price * nbytes


def _shared(op: Operation, uniform: Collection[Value]) -> list[Value]:
    """Return the inputs of a loop's body that are one for all examples."""
    captures = op.params["captures"]
    pairs = zip(op.regions[0].inputs[:captures], op.operands[:captures], strict=True)
    return [inner for inner, value in pairs if value in uniform]


def _rows(op: Operation, examples: int, uniform: Collection[Value]) -> float:
    """Return nanoseconds of beginning with each row, or matrix, that NumPy goes through."""
    kind, arrays = op.primitive.kind, [v for v in op.operands if isinstance(v.type, ArrayType)]
    largest = max(arrays, key=count, default=None)
    if largest is None:
        return 0.0
    is_of_vectors = kind is Kind.CONTRACTION and any([v.type.ndim < 2 for v in arrays])
    if kind in (Kind.MATRIX, Kind.CONTRACTION) and not is_of_vectors:
        each, inner = MATRIX_NS, usual(largest.type.shape[-2:])
    else:
        # Arrays of several shapes have no common order in memory.
        varied = [v for v in arrays if count(v) > 1 or not (examples == 1 or v in uniform)]
        is_one = kind is Kind.ELEMENTWISE and len({v.type.shape for v in varied}) < 2
        if is_one or kind not in (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.CONTRACTION):
            return 0.0
        each, inner = ROW_NS, usual(largest.type.shape[-1:])
    return each * max(examples * count(largest) / max(inner, 1) - 1, 0.0)


def _nbytes(values: Sequence[Value]) -> int:
    arrays = [value for value in values if isinstance(value.type, ArrayType)]
    return sum([count(value) * value.type.dtype.itemsize for value in arrays])


def _is_number(op: Operation) -> bool:
    """Whether an operation makes numbers of numbers, or reads one."""
    values = op.results if op.primitive.kind is Kind.LOOKUP else (*op.operands, *op.results)
    return not any([isinstance(v.type, ArrayType) and v.type.shape for v in values])


def _moved(op: Operation) -> Sequence[Value]:
    """Return the arrays of which NumPy goes through all elements: of large ones it reads places."""
    if op.primitive.kind is Kind.LOOKUP:
        return op.results
    if op.primitive.kind is Kind.UPDATE:  # mostly in place
        return op.operands[1:]
    return (*op.operands, *op.results)


def writing(graph: Graph) -> float:
    """Return the nanoseconds that writing the kernels of a graph is estimated to take."""
    return WRITING_NS + WRITING_OPERATION_NS * count_operations(graph)


def compiling(graph: Graph, lines: int | None = None) -> float:
    """Return the nanoseconds that compiling a graph is estimated to take: writing included.

    How long its kernels are says more than how many operations there are, once they are written.
    """
    if lines is None:
        lines = OPERATION_LINES * count_operations(graph)
    return writing(graph) + MACHINE_CODE_NS + LINE_NS * lines


def count_operations(graph: Graph) -> int:
    """Return how many operations there are, in all regions."""
    return len([*graph.walk()])
