"""A graph for certain sizes: what was recorded for any size, with numbers in place of symbols.

Kernels are made for arrays of known size. Where a graph was recorded with symbols and is run again
and again on arrays of one size, it is rewritten for that, without running the user's function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from itertools import count, zip_longest
from typing import Any

import numpy as np

from lanewise.ir.dims import Call, Dim, DimLike, atoms, bounds, most_of, substitute, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.types import dims_in, symbols_in, with_dims
from lanewise.ops.control import cond
from lanewise.ops.creation import constant, dimension
from lanewise.ops.exact import exact
from lanewise.ops.facts import is_elementwise, usual_size
from lanewise.ops.movement import broadcast_to, cast
from lanewise.ops.regions import map_
from lanewise.trace.trace import RENAMED

#: Functions of numbers that are the same wherever they are computed.
_EXACT = frozenset(
    (np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less, np.less_equal, np.greater,
     np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not)
)  # fmt: skip


def specialized(graph: Graph, sizes: Mapping[str, DimLike]) -> Graph:
    """Return a graph with the symbols that `sizes` names replaced; others stay.

    Those that it defines itself are told how far they go, where that is known then.

    Examples
    --------
    >>> import numpy as np
    >>> from lanewise.ir.types import array_type
    >>> n = Dim.symbol("n")
    >>> builder = Builder()
    >>> x = builder.input(array_type(np.dtype(float), (n, n * 2)))
    >>> specialized(builder.finish([x]), {"n": 3}).outputs[0].type
    f64[3,6]
    """
    builder = Builder()
    inputs = [builder.input(replaced(value.type, sizes)) for value in graph.inputs]
    return builder.finish(_Writer(builder, sizes).write(graph, inputs))


def at_sizes_of(graph: Graph, arguments: Sequence[Value]) -> Graph:
    """Return a graph for the sizes of the arguments that it is to be recorded on."""
    types = [(own.type, x.type) for own, x in zip(graph.inputs, arguments, strict=True)]
    pairs = [
        pair
        for own, type in types
        if own != type
        for pair in zip(own.shape, type.shape, strict=True)
    ]
    sizes = {str(dim): size for dim, size in pairs if isinstance(dim, Dim) and dim != size}
    return specialized(graph, sizes) if sizes else graph


class _Writer:
    """Records a graph for certain sizes; what only depends on sizes is computed at once.

    So a branch that sizes decide is the side that is taken, and the other one, in which operations
    may not even fit these sizes, is left out.
    """

    def __init__(self, builder: Builder, sizes: Mapping[str, DimLike]) -> None:
        self._builder, self._sizes = builder, sizes
        self._known: dict[Value, np.ndarray] = {}

    def write(self, graph: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Record the operations of a graph on arguments; return its outputs."""
        values = dict(zip(graph.inputs, arguments, strict=True))
        for op in graph.operations:
            operands = [values[value] for value in op.operands]
            params = replaced(op.params, self._sizes)
            if op.primitive.is_definition:
                params["size"] = self._defined(params["size"], params["most"])
            self._builder.location = op.place
            results: Sequence[Value] | None = self._chosen(op, operands)
            if results is None:
                results = self._computed(op, operands, params)
            if results is None:
                regions = tuple([specialized(region, self._sizes) for region in op.regions])
                results = self._builder.emit(op.primitive, tuple(operands), params, regions)
                if op.primitive is broadcast_to and results[0].type == operands[0].type:
                    results = operands  # it was to find out whether sizes are the same
            values.update(zip(op.results, results, strict=True))
        return [values[value] for value in graph.outputs]

    def _defined(self, size: DimLike, most: DimLike | None) -> DimLike:
        """Return the symbol that is defined, from here on by a name that says how far it goes."""
        names = list(symbols(size))
        if not isinstance(most, int) or not names or most_of(names[0]) is not None:
            return size
        bounded = Dim.bounded(names[0], most)
        self._sizes = {**self._sizes, names[0]: bounded}
        return bounded

    def _chosen(self, op: Operation, operands: Sequence[Value]) -> list[Value] | None:
        """Record the side of a branch that sizes decide."""
        if op.primitive is not cond or operands[0] not in self._known:
            return None
        region = op.regions[0 if self._known[operands[0]] else 1]
        return self.write(region, operands[1:])

    def _computed(
        self, op: Operation, operands: Sequence[Value], params: dict[str, Any]
    ) -> tuple[Value, ...] | None:
        """Record a number that depends on sizes only as a constant."""
        is_size = op.primitive is constant or op.primitive is dimension
        is_number = op.primitive is exact or op.primitive is cast or op.primitive.ufunc in _EXACT
        is_known = all([value in self._known for value in operands])
        if not (is_size or is_number) or not is_known or op.results[0].type.shape:
            return None
        if isinstance(params.get("size"), Dim):  # of which a symbol stays
            return None
        with suppress(OverflowError):  # which is raised when it runs, if it does
            found = op.primitive.numpy(*[self._known[value][()] for value in operands], **params)
            type_ = op.results[0].type
            found = np.asarray(found, type_.dtype)
            data = {"data": found.tobytes(), "type": type_}
            results = self._builder.emit(constant, (), data)
            self._known[results[0]] = found
            return results
        return None


def unknown_sizes(graph: Graph) -> frozenset[str]:
    """Return the symbols of the dimensions in a graph and its regions that it does not define.

    Examples
    --------
    >>> from lanewise.ir.types import array_type
    >>> builder = Builder()
    >>> x = builder.input(array_type(np.dtype(float), (Dim.symbol("n") * 2, 3)))
    >>> sorted(unknown_sizes(builder.finish([x])))
    ['n']
    """
    found = symbols_of_values(graph.inputs)
    defined: frozenset[str] = frozenset()
    for op in graph.operations:
        if op.primitive.is_definition:
            defined |= symbols_in(op.params["size"])
            continue
        found = found.union(symbols_of(op), *map(unknown_sizes, op.regions))
    return found - defined


def bounded_for(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return a graph in which symbols that it defines say how far they go for certain sizes.

    Where that is not known it is an `IndexError`.
    """
    names: dict[str, DimLike] = {}
    for op in graph.walk():
        if op.primitive.is_definition:
            (name,) = symbols(op.params["size"])
            if most_of(name) is not None:
                continue
            most = op.params["most"]
            end = None if most is None else bounds(substitute(most, {**sizes, **names}))[1]
            if end is None:
                raise IndexError(f"how far {name} goes is not known")
            known = bounds(names.get(name, 0))[1] or 0
            names[name] = Dim.bounded(name, max(end, known))
    return specialized(graph, names) if names else graph


def fresh(name: str, taken: Collection[str]) -> Dim:
    """Return a symbol of a name like this, which is not among others."""
    return Dim.symbol(next(n for i in count() if (n := f"{name}{i or ''}") not in taken))


def defined_sizes(graph: Graph) -> frozenset[str]:
    """Return the symbols of sizes that a graph, not its regions, says the meaning of."""
    sizes = [op.params["size"] for op in graph.operations if op.primitive.is_definition]
    return symbols_in(tuple(sizes))


def has_sizes(op: Operation, names: Set[str]) -> bool:
    """Whether types or parameters of an operation, not of its regions, have one of some symbols."""
    return not names.isdisjoint(symbols_of(op))


def symbols_of(op: Operation) -> frozenset[str]:
    """Return the symbols in types and parameters of an operation, not of its regions."""
    operands = [value.type for value in op.operands]
    return symbols_in((*op.params.values(), *operands, *op.signature.types))


def symbols_of_values(values: Sequence[Value]) -> frozenset[str]:
    """Return the symbols of the dimensions of values."""
    return symbols_in(tuple([value.type for value in values]))


def all_symbols_of(op: Operation) -> frozenset[str]:
    """Return the symbols in an operation and in its regions."""
    return frozenset().union(*map(symbols_of, op.walk()))


def has_own_sizes(op: Operation) -> bool:
    """Whether each example of a map defines sizes: its arrays are as large as it needs them."""
    return op.primitive is map_ and bool(defined_sizes(op.regions[0]))


def at_usual_sizes(graph: Graph, examples: int | None = None) -> Graph:
    """Return a graph with usual sizes in place of unknown ones, also of those that it defines.

    For estimates: what a loop counts is taken at the middle of the loop; or, of some `examples`, as
    it is in the largest. Sizes that it is not meant for are a `ValueError` or `IndexError`.
    """

    def size(name: str) -> int:
        most = most_of(name)
        if most is None or examples is None:
            return usual_size(Dim.symbol(name))
        return most * examples // (examples + 1)  # the greatest of so many numbers, on average

    names = unknown_sizes(graph) | graph.defines
    if not names:
        return graph
    return specialized(graph, agreeing(graph, {name: size(name) for name in names}))


def agreeing(graph: Graph, sizes: dict[str, int]) -> dict[str, int]:
    """Return sizes, of those that must be equal the least."""
    pairs = joined(tuple([value.type for value in graph.inputs]))
    pairs += [pair for op in graph.walk() if not op.regions for pair in alike(op)]
    pairs = [pair for pair in pairs if pair[0] != pair[1] and sizes.keys() >= symbols_in(pair)]
    for _ in pairs:
        before = dict(sizes)
        for pair in pairs:
            with suppress(ValueError):  # of sizes that do not agree yet
                least = min([evaluate(size, sizes) for size in pair])
                for size in pair:
                    sizes = _with_size(size, least, sizes)
        if sizes == before:
            break
    return sizes


def _with_size(size: DimLike, number: int, sizes: dict[str, int]) -> dict[str, int]:
    """Return sizes with one of its symbols as large as a size is to be, if it is so large then."""
    for name in () if evaluate(size, sizes) == number else sorted(symbols_in(size)):
        changed = {**sizes, name: number}
        if evaluate(size, changed) == number:
            return changed
    return sizes


def alike(op: Operation) -> list[tuple[DimLike, DimLike]]:
    """Return pairs of sizes: that these are equal is all that an operation asks, if there are any.

    An axis of one element may be repeated for another one; where data decide that, it is not.
    """
    found = joined((*[value.type for value in op.operands], op.params))
    if op.primitive.alike is not None:
        return found + op.primitive.alike(op)
    if op.primitive is not broadcast_to and not is_elementwise(op):
        return found
    values = (*op.operands, *op.results) if op.primitive is broadcast_to else op.operands
    axes = zip_longest(*[value.type.shape[::-1] for value in values], fillvalue=1)
    for sizes in axes:
        first, *others = [size for size in sizes if size != 1] or [1]
        found += [(first, other) for other in others]
    return found


def joined(where: Any) -> list[tuple[DimLike, DimLike]]:
    """Return pairs of sizes of which one stands for both, in types and parameters."""
    found = dict.fromkeys([atom for dim in dims_in(where) for atom in atoms(dim)])
    calls = [atom for atom in found if isinstance(atom, Call) and atom.name == "broadcast"]
    return [(call.args[0], other) for call in calls for other in call.args[1:]]


def replaced(value: Any, sizes: Mapping[str, DimLike]) -> Any:
    """Return a type, a parameter or a container of these with its symbols replaced."""
    return with_dims(value, lambda dim: substitute(dim, sizes))


RENAMED.append(specialized)
