"""Whether a graph that was recorded for any size is what its operations mean at certain sizes.

The types of a graph with symbols are inferred from what can be proved. NumPy finds out when it runs
what cannot: that two sizes differ, that a slice ends beyond its axis, that there is nothing to take
the greatest of. Kernels do not ask, so the operations are asked again, for the sizes at hand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from types import MappingProxyType

from lanewise.ir.dims import Call, Dim, DimLike, bend_of, most_of, never_below, substitute, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import Type, dims_in, has_dim, symbols_in
from lanewise.ops.control import scan
from lanewise.ops.facts import Kind, is_elementwise
from lanewise.passes.specialize import bounded_for, joined, replaced


def fits(graph: Graph, sizes: Mapping[str, int]) -> bool:
    """Return whether all operations, also those in regions, are defined for sizes of the symbols.

    A symbolic axis of one element that NumPy repeats does not fit: a kernel would read beyond it.

    Examples
    --------
    >>> from lanewise.ir.text import parse_graph
    >>> from lanewise.ops.registry import REGISTRY
    >>> text = "graph(%0: f64[n], %1: f64[m]) { %2 = add(%0, %1) return %2 }"
    >>> graph = parse_graph(text, REGISTRY)
    >>> fits(graph, {"n": 4, "m": 4}), fits(graph, {"n": 4, "m": 5}), fits(graph, {"n": 4, "m": 1})
    (True, False, False)
    """
    try:
        return all(_is_defined(op, sizes) for op in bounded_for(graph, sizes).walk())
    except (ValueError, IndexError):  # what NumPy would raise
        return False


def _is_defined(
    op: Operation,
    sizes: Mapping[str, int],
    if_filled: bool = False,
    endless: Collection[str] = (),
    equal: Mapping[str, DimLike] = MappingProxyType({}),
) -> bool:
    if op.regions:  # in which there are other operations
        return op.primitive is not scan or never_below(substitute(op.params["length"], sizes), 0)
    where = (*op.params.values(), *[value.type for value in (*op.operands, *op.results)])
    if op.primitive.is_definition or not has_dim(where) or _is_aligned(op):
        return True
    given, where = where, replaced(where, equal)
    names = sorted(symbols_in(where) - sizes.keys())
    counts = [_counts(name, where, name in endless) for name in names]
    if math.prod(map(len, counts)) > MOST_COUNTS:
        return False
    rows = [{**sizes, **dict(zip(names, row, strict=True))} for row in itertools.product(*counts)]
    if used := symbols_in(given) & equal.keys():
        rows = [{**row, **{name: evaluate(equal[name], row) for name in used}} for row in rows]
    return all([_is_defined_for(op, row) for row in rows if not if_filled or _is_filled(op, row)])


def _is_filled(op: Operation, sizes: Mapping[str, int]) -> bool:
    """Whether all operands have elements."""
    return all([evaluate(size, sizes) > 0 for value in op.operands for size in value.type.shape])


def _is_aligned(op: Operation) -> bool:
    """Whether an operation makes a range, or has operands of its result's shape, but for ones."""
    if op.primitive.kind is Kind.SOURCE:
        sizes = [size for value in op.results for size in value.type.shape]
        return not joined((op.params, *sizes)) and all([never_below(size, 0) for size in sizes])
    if not is_elementwise(op):
        return False
    (result, *_) = [value.type.shape for value in op.results]
    shapes = [value.type.shape for value in op.operands]
    pairs = [pair for shape in shapes for pair in zip(shape[::-1], result[::-1], strict=False)]
    return all([(type(own) is int and own == 1) or own == size for own, size in pairs])


def _is_defined_for(op: Operation, sizes: Mapping[str, int]) -> bool:
    if op.primitive.repeats and _is_repeated(op, sizes):
        return False
    given: list[Type] = [replaced(value.type, sizes) for value in op.operands]
    wanted = tuple([replaced(value.type, sizes) for value in op.results])
    return op.primitive.infer(given, replaced(op.params, sizes)) == wanted


def always_fits(
    op: Operation,
    if_filled: bool = False,
    endless: Collection[str] = (),
    equal: Mapping[str, DimLike] = MappingProxyType({}),
) -> bool:
    """Return whether an operation without regions is defined for all that loops may count.

    With `if_filled` it is only asked where all operands have elements. `endless` are symbols that
    may be any number, `equal` such that are known to be other sizes.

    One of which other sizes are not known does not fit. What is linear between the bends of its
    sizes is asked for at their ends; what is not, for each count, if there are not too many.

    Examples
    --------
    >>> from lanewise.ir.text import parse_graph
    >>> from lanewise.ops import REGISTRY
    >>> added = "%2 = add(%0, %0) %3 = add(%0, %1) return %3"
    >>> graph = parse_graph(f"graph(%0: f64[t.20+1], %1: f64[21]) {{ {added} }}", REGISTRY)
    >>> [always_fits(op) for op in graph.operations]
    [True, False]
    """
    try:
        return _is_defined(op, {}, if_filled, endless, equal)
    except (ValueError, IndexError):  # what NumPy would raise
        return False


#: For so many combinations of what loops count it is asked, at most, whether an operation fits.
MOST_COUNTS = 4096
#: Sizes that are counted in longer periods than this are asked for one by one.
MOST_PERIOD = 16


def _counts(name: str, where: object, is_endless: bool = False) -> Collection[int]:
    """Return for which numbers to ask that a symbol may be; if it may be any, an `IndexError`.

    Of one that is endless those do up to two periods behind the last bend: what is linear from
    there on is as it is between two numbers.
    """
    most = most_of(name)
    if most is None and not is_endless:
        raise IndexError(f"the size {name} is not known")
    found, period = {0} if most is None else {0, most // 2, most}, 1
    for dim in dims_in(where):
        bends = _bends(dim, name)
        if bends is None:
            if most is None:
                raise IndexError(f"what depends on the size {name} is not linear")
            return range(most + 1)
        found.update(bends[0])
        period = math.lcm(period, bends[1])
    most = max(found) + 2 * (period + 2) if most is None else most
    found.add(most)
    if period > MOST_PERIOD:
        return range(most + 1)
    # Of each rest, what is counted in periods is linear up to a period before a bend, and from one
    # behind it.
    around = range(-period - 1, period + 2)
    return sorted({p + d for p in found for d in around if 0 <= p + d <= most})


def _bends(dim: Dim, name: str) -> tuple[list[int], int] | None:
    """Return where a size bends as a symbol grows, and the period of what it counts in periods.

    Of numbers that have the same rest by the period, it is linear between bends. None if it is not.
    """
    found, period = [], 1
    for monomial, _ in dim.terms:
        for atom in monomial:
            inner, bend = bend_of(atom)
            if isinstance(inner, Call):
                if name not in symbols(Dim([((atom,), 1)])):
                    continue
                within = _bends_of_periods(inner, bend, name) if len(monomial) == 1 else None
                if within is None:
                    return None
                found += within[0]
                period = math.lcm(period, within[1])
            elif inner == name and bend:
                found.append(bend)
    return found, period


def _bends_of_periods(call: Call, bend: int, name: str) -> tuple[list[int], int] | None:
    """Return the same of a quotient or rest by a number, of which there may be `bend` too much."""
    if call.name not in ("floordiv", "mod"):
        return None
    of, by = call.args
    if not isinstance(of, Dim) or not isinstance(by, int) or by < 1:
        return None
    within = _bends(of, name)
    if within is None:
        return None
    places, period = within
    if bend:
        steps = dict(of.terms)
        start, step = steps.pop((), 0), steps.pop((name,), 0)
        if steps or step <= 0 or call.name == "mod":
            return None
        places = [*places, (bend * by - start) // step]
    return places, period * by


def _is_repeated(op: Operation, sizes: Mapping[str, int]) -> bool:
    """Whether a symbolic axis of an operand has one element, and its results more.

    Of indices at which values are written, the values.
    """
    indices = op.primitive.indices
    results = op.operands[1:2] if op.primitive.takes and indices else op.results
    shapes = [replaced(value.type, sizes).shape for value in results]
    operands = op.operands[indices or 0 :]
    if indices and operands:  # what they give stands before what is taken whole
        axis, rank = op.params["axis"], max([value.type.ndim for value in operands])
        shapes = [shape[axis : axis + rank] for shape in shapes]
    for value in operands:
        dims = value.type.shape
        for axis in range(-len(dims), 0):
            is_one = isinstance(dims[axis], Dim) and evaluate(dims[axis], sizes) == 1
            if is_one and not all([len(s) >= -axis and s[axis] == 1 for s in shapes]):
                return True
    return False
