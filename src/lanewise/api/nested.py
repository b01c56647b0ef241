"""Calls of a traced function from code that is traced: its Python runs once for each key.

What the first call records is part of the trace that it stands in. Where that depends on nothing
but the call's arguments it is kept as a graph, and a later call of the same key records it again
without running Python. What reads or writes anything else (tensors of the code around, variables,
arguments that are written to, effects, random numbers) runs as a plain call each time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.keys import key_of
from lanewise.ir.dims import Dim
from lanewise.ir.graph import Graph, Operation, Value
from lanewise.ir.types import TOKEN
from lanewise.trace import tree
from lanewise.trace.regions import Region
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import Trace, state
from lanewise.trace.views import root_of

#: How many calls of different keys are kept for a function.
MOST_CALLS = 64
#: A function that reaches more objects than this is run each time.
MOST_OBJECTS = 2000
#: Arrays that are not traced decide a call by their elements, up to so many bytes.
MOST_BYTES = 4096
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Call(NamedTuple):
    """A call within a trace, taken apart: what decides its graph, and the tensors in it."""

    key: Hashable
    leaves: list[Any]
    structure: Any

    @property
    def types(self) -> Hashable:
        """What two calls have in common, one within the other, that would never end."""
        _, _, *keys = self.key  # ty: ignore[not-iterable]
        pairs = zip(self.leaves, keys, strict=True)
        return self.structure, *[key[:2] if type(x) is Tensor else key for x, key in pairs]

    @property
    def tensors(self) -> list[Tensor]:
        return [leaf for leaf in self.leaves if type(leaf) is Tensor]


def taken_apart(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """Return a call with its key; None if another like it may have to be recorded otherwise."""
    trace = state.trace
    if trace is None or trace.is_eager or state.attempt is not None or state.floating is not None:
        return None
    leaves, structure = tree.flatten((args, kwargs))
    keys: list[Hashable] = [(structure, state.room), _closed_over(func)]
    values: list[Value] = []
    for leaf in leaves:
        key = _key(leaf, values)
        if key is None:
            return None
        keys.append(key)
    return Call(tuple(keys), leaves, structure)


def _key(leaf: Any, values: list[Value]) -> Hashable | None:
    kind = type(leaf)
    if kind is Tensor:
        if (
            leaf._guard is not None
            or leaf._mixed is not None
            or any([isinstance(d, Dim) for d in leaf.shape])
        ):
            return None
        if leaf._weak is int and leaf._trace.sizes:
            return None
        value = read(leaf)
        again = values.index(value) if value in values else -1
        values.append(value)
        return leaf.dtype, leaf.shape, leaf._weak, again
    if kind is np.ndarray or isinstance(leaf, np.generic):
        if leaf.dtype.hasobject or leaf.nbytes > MOST_BYTES:
            return None
        return kind, leaf.dtype, leaf.shape, leaf.tobytes()
    if isinstance(leaf, (np.ndarray, Tensor)):
        return None
    try:
        return key_of(leaf, lambda: "")
    except TypeError:
        return None


def _closed_over(func: Any) -> Hashable:
    """Return the plain values of the variables of functions around."""
    if type(func) is not FunctionType or not func.__closure__:
        return None
    found: list[Hashable] = []
    for cell in func.__closure__:
        if _is_filled(cell) and type(cell.cell_contents) in _PLAIN:
            found.append(key_of(cell.cell_contents, str))
    return tuple(found)


class _Output(NamedTuple):
    """A leaf of the result: an argument itself, a value of the graph, or a plain object."""

    argument: int | None
    plain: Any
    weak: type | None


class Recorded(NamedTuple):
    """What a call has recorded, to be recorded again for others of its key."""

    graph: Graph
    captures: list[np.ndarray]
    outputs: list[_Output]
    structure: Any

    def again(self, call: Call) -> Any:
        """Record the graph for another call; return its result."""
        trace = state.trace
        assert trace is not None
        values = [read(tensor) for tensor in call.tensors]
        values += [trace.capture(array) for array in self.captures]
        place = trace.location
        found = iter(trace.inline(trace.with_own_names(self.graph), values))
        trace.location = place
        leaves = []
        for output in self.outputs:
            if output.argument is not None:
                leaves.append(call.leaves[output.argument])
            elif output.plain is not _DATA:
                leaves.append(output.plain)
            else:
                leaves.append(Tensor(trace, next(found), None, output.weak))
        return tree.unflatten(self.structure, leaves)


_DATA = object()


def reaches_tensors(*roots: Any) -> bool:
    """Whether a function may come upon traced values other than its arguments, as far as it shows.

    One that is an argument as well would look like that in the graph.
    """
    stack, seen = list(roots), set()
    while stack:
        x = stack.pop()
        kind = type(x)
        if isinstance(x, Tensor):
            return True
        if id(x) in seen or kind in _PLAIN or issubclass(kind, (np.ndarray, np.generic, type)):
            continue
        seen.add(id(x))
        if len(seen) > MOST_OBJECTS:
            return True
        if kind is FunctionType:
            stack += [cell.cell_contents for cell in x.__closure__ or () if _is_filled(cell)]
            stack += [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
            stack += [x.__globals__[name] for name in x.__code__.co_names if name in x.__globals__]
        elif isinstance(x, (list, tuple, set, frozenset)):
            stack += x
        elif isinstance(x, dict):
            stack += x.values()
        elif not isinstance(x, ModuleType):
            stack += getattr(x, "__dict__", {}).values()
            stack += [getattr(x, name, None) for name in ("__self__", "__func__", "func")]
    return False


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


class Watch:
    """Sees what a call records, and whether that is all it does."""

    def __init__(self, func: Any, call: Call) -> None:
        trace = state.trace
        assert trace is not None
        self._call, self._trace = call, trace
        self._inputs = [read(tensor) for tensor in call.tensors]
        self._start = len(trace.operations)
        self._roots = [func, *[leaf for leaf in call.leaves if not isinstance(leaf, Tensor)]]
        self._is_alone = not reaches_tensors(*self._roots)
        self._state = self._around()

    def _around(self) -> list[Any]:
        """Return what would show that the call does more than compute."""
        found: list[Any] = [state.trace, state.attempt]
        found += [root_of(tensor)._value for tensor in self._call.tensors]
        trace: Trace | None = self._trace
        while trace is not None:
            found += [trace.token, trace.names, trace.number, len(trace.lent)]
            found += [len(x or ()) for x in (trace.states, trace.reads, trace.streams)]
            found.append([x[1] for x in (trace.states or {}).values()])
            if isinstance(trace, Region):
                found += [len(trace.changes), len(trace.guards)]
            trace = trace.parent
        return found

    def recorded(self, args: Any, result: Any) -> Recorded | None:
        """Return what was recorded, if a call of the same key may be recorded by it."""
        now = self._around()
        if not self._is_alone or reaches_tensors(*self._roots):
            return None
        if len(now) != len(self._state) or any(map(_differ, now, self._state)):
            return None
        again = taken_apart(None, *args)
        if again is None or again.key[2:] != self._call.key[2:]:  # ty: ignore[not-subscriptable]
            return None
        if any([x is not y for x, y in zip(again.leaves, self._call.leaves, strict=True)]):
            return None
        given = {id(x) for x in tree.containers(args)}
        if any([id(x) in given for x in tree.containers(result)]):
            return None
        operations = self._trace.operations[self._start :]
        graph = _Graph(self._trace, self._inputs, operations)
        if not graph.is_whole:
            return None
        leaves, structure = tree.flatten(result)
        outputs = self._outputs(leaves, graph.known)
        if outputs is None:
            return None
        values = [read(x) for x, output in zip(leaves, outputs, strict=True)
                  if output.argument is None and output.plain is _DATA]  # fmt: skip
        whole = Graph([*self._inputs, *graph.inputs], [*graph.constants, *operations], values)
        return Recorded(whole, graph.captures, outputs, structure)

    def _outputs(self, leaves: Sequence[Any], known: set[Value]) -> list[_Output] | None:
        roots = {id(root_of(tensor)) for tensor in self._call.tensors}
        found = []
        for leaf in leaves:
            if type(leaf) in _PLAIN or (
                isinstance(leaf, np.generic) and leaf.dtype.kind in "biufc"
            ):
                found.append(_Output(None, leaf, None))
                continue
            if type(leaf) is not Tensor or leaf._guard is not None or leaf._mixed is not None:
                return None
            position = next((i for i, x in enumerate(self._call.leaves) if x is leaf), None)
            if position is not None:
                found.append(_Output(position, None, None))
                continue
            root = root_of(leaf)
            if id(root) in roots or root._trace is not self._trace or read(leaf) not in known:
                return None  # a view of what is elsewhere, or of another leaf
            if not leaf.shape and leaf._view is not None:
                return None  # an array, where a value stands for a scalar
            if leaf.shape:
                roots.add(id(root))
            found.append(_Output(None, _DATA, leaf._weak))
        return found


class _Graph:
    """The operations of a call, with the arrays and constants from before it that they use."""

    def __init__(
        self, trace: Trace, inputs: Sequence[Value], operations: Sequence[Operation]
    ) -> None:
        self.inputs: list[Value] = []
        self.captures: list[np.ndarray] = []
        self.constants: list[Operation] = []
        self.known = set(inputs)
        self.is_whole = True
        arrays = {own: source for source, own in trace.captures if isinstance(source, np.ndarray)}
        makers: dict[Value, Operation] | None = None
        for op in operations:
            for value in op.operands:
                if value in self.known:
                    continue
                if value in arrays:
                    self.inputs.append(value)
                    self.captures.append(arrays[value])
                else:
                    if makers is None:
                        makers = {r: o for o in trace.operations for r in o.results}
                    maker = makers.get(value)
                    if maker is None or maker.operands or TOKEN in maker.signature.types:
                        self.is_whole = False
                        return
                    self.constants.append(maker)
                self.known.add(value)
            self.known.update(op.results)


def _differ(x: Any, y: Any) -> bool:
    if isinstance(x, list):
        return len(x) != len(y) or any([a is not b for a, b in zip(x, y, strict=True)])
    return x is not y and not (type(x) is int and x == y)


class Calls:
    """What calls of one function within traces have recorded, by their keys."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Hashable, Recorded] = {}

    def find(self, call: Call | None) -> Recorded | None:
        """Return what was recorded for a call like one."""
        return None if call is None else self._known.get(call.key)

    def enter(self, call: Call, recorded: Recorded | None) -> None:
        """Keep what was recorded for a call; the oldest makes room."""
        if recorded is None:
            return
        while len(self._known) >= MOST_CALLS:
            self._known.pop(next(iter(self._known)), None)
        self._known[call.key] = recorded
