"""Graphs as plain data (what JSON can hold), and back: the part of a saved function that runs.

Nothing that is read is trusted. Each operation is recorded anew through its primitive, so its type
rule checks it and gives the types of its results; these are compared with the types that were
written, and the whole is verified. A graph is flat data: an operation refers to values by number
(inputs first, then results in order) and to its regions by their place in a list of graphs in
which regions stand before what holds them.

`docs/saving.md` describes the format for people who read it with other tools.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import UnionType
from typing import Any

import numpy as np

from lanewise.ir.dims import Dim, symbols
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.location import Location, Written
from lanewise.ir.text import parse_type
from lanewise.ir.types import NUMERIC_KINDS, ArrayType, Type
from lanewise.ir.verify import verify

#: Arrays of more bytes have no addresses.
_MOST_BYTES = 2**62
_TYPE = re.compile(r"token|(bool|object|[iufc]\d{1,3})\[[^\[\]]{0,10000}\]")


class GraphWriter:
    """Writes graphs as rows; equal types, signatures and places are written once.

    Parameters
    ----------
    encode
        Returns a static parameter as plain data, or raises `TypeError` saying why it cannot.
    name
        Returns what to call a primitive, or raises `TypeError`.
    refuse
        Raises for an operation that cannot be written, given the reason.
    """

    def __init__(
        self,
        encode: Callable[[Any], Any],
        name: Callable[[Any], str],
        refuse: Callable[[Operation, str], typing.NoReturn],
    ) -> None:
        self._encode, self._name, self._refuse = encode, name, refuse
        self._types: dict[Any, int] = {}
        self._places: dict[tuple[Any, ...], int] = {}
        self._signatures: dict[Any, int] = {}
        self._graphs: list[Any] = []
        self._rows: dict[str, list[Any]] = {"types": [], "places": [], "signatures": []}

    def write(self, graph: Graph) -> int:
        """Enter a graph behind its regions; return its number."""
        numbers: dict[Value, int] = {}
        for value in graph.inputs:
            numbers[value] = len(numbers)
        rows = []
        for op in graph.operations:
            regions = [self.write(region) for region in op.regions]
            row = [self._signature(op), self._place(op), [numbers[v] for v in op.operands]]
            rows.append([*row, regions] if regions else row)
            for value in op.results:
                numbers[value] = len(numbers)
        self._graphs.append(
            {
                "inputs": [self.type(value.type) for value in graph.inputs],
                "operations": rows,
                "outputs": [numbers[value] for value in graph.outputs],
            }
        )
        return len(self._graphs) - 1

    def type(self, type_: Type) -> int:
        """Enter a type; return its number."""
        return self._entered("types", self._types, type_, lambda: type_text(type_))

    def data(self) -> dict[str, Any]:
        """Return all that was entered."""
        return {**self._rows, "graphs": self._graphs}

    def _entered(self, kind: str, known: dict[Any, int], key: Any, row: Callable[[], Any]) -> int:
        if key not in known:
            entry = row()
            known[key] = len(known)
            self._rows[kind].append(entry)
        return known[key]

    def _signature(self, op: Operation) -> int:
        signature = op.signature
        # Regions are written apart, so operations that have different ones may be alike here.
        key = signature if signature.is_interned else id(signature)
        return self._entered("signatures", self._signatures, key, lambda: self._described(op))

    def _described(self, op: Operation) -> Any:
        try:
            name = self._name(op.primitive)
            params = {key: self._encode(value) for key, value in op.params.items()}
        except TypeError as problem:
            self._refuse(op, str(problem))
        return [name, params, [self.type(value.type) for value in op.results]]

    def _place(self, op: Operation) -> int:
        location = op.location
        if location is None:
            return -1
        key = location.file, location.line, location.states
        states = [[*pair] for pair in location.states]
        return self._entered(
            "places", self._places, key, lambda: [*key[:2], location.source, states]
        )


class GraphReader:
    """Reads what `GraphWriter` gave. Whatever is wrong raises some exception: nothing is repaired.

    Parameters
    ----------
    data
        The rows.
    decode
        Returns a static parameter.
    primitive
        Returns the primitive of a name.
    admit
        Returns the parameters that an operation of a primitive is to have, given those written.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        decode: Callable[[Any], Any],
        primitive: Callable[[str], Any],
        admit: Callable[[Any, dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._decode, self._primitive, self._admit = decode, primitive, admit
        #: Names of sizes that something depends on, and names that operations give to sizes.
        self.sizes: set[str] = set()
        self.named: set[str] = set()
        self._types = [_type(text) for text in listed(data["types"])]
        self.sizes |= all_symbols(self._types)
        self._places = [_place(row) for row in listed(data["places"])]
        self._signatures = [self._signature(row) for row in listed(data["signatures"])]
        self._graphs: list[Graph | None] = []
        for number, rows in enumerate(listed(data["graphs"])):
            try:
                self._graphs.append(self._graph(rows))
            except Exception as error:
                raise ValueError(f"graph {number}: {error}") from error

    def type(self, number: Any) -> Any:
        """Return the type of a number."""
        return self._types[index(number, len(self._types))]

    def graph(self) -> Graph:
        """Return the last graph, verified: that which no other holds as a region."""
        graph = self._graphs.pop()
        if graph is None or any(other is not None for other in self._graphs):
            raise ValueError("there must be one graph that is no region of another")
        verify(graph)
        return graph

    def _signature(self, row: Any) -> tuple[Any, dict[str, Any], tuple[Any, ...]]:
        name, params, types = listed(row)
        primitive = self._primitive(text_of(name))
        if type(params) is not dict:
            raise ValueError(f"the parameters of {name} are no object")
        decoded = primitive.complete({key: self._decode(x) for key, x in params.items()})
        check_parameters(primitive, decoded)
        self.sizes |= all_symbols([*decoded.values()])
        self.named |= {value for value in decoded.values() if type(value) is str}
        if primitive.is_definition:
            self.named |= all_symbols([decoded["size"]])
        return (
            primitive,
            self._admit(primitive, decoded),
            tuple([self.type(number) for number in listed(types)]),
        )

    def _graph(self, rows: Any) -> Graph:
        builder = Builder()
        values = [builder.input(self.type(number)) for number in listed(rows["inputs"])]
        for number, row in enumerate(listed(rows["operations"])):
            signature, place, operands, *regions = listed(row)
            primitive, params, types = self._signatures[index(signature, len(self._signatures))]
            given = tuple([values[index(i, len(values))] for i in listed(operands)])
            held = tuple([self._region(i) for i in listed(regions[0])]) if regions else ()
            builder.location = (
                None if place == -1 else self._places[index(place, len(self._places))]
            )
            try:
                types_given = [v.type for v in given]
                check_memories(primitive, types_given)
                check_ranges(types_given, params, held)
                results = builder.emit(primitive, given, params, held)
            except Exception as error:
                raise ValueError(f"operation {number}, {primitive.name}: {error}") from error
            found = tuple([value.type for value in results])
            if found != types or len(regions) > 1:
                raise ValueError(
                    f"operation {number}, {primitive.name}, gives {found}, not {types} as written"
                )
            values += results
        return builder.finish([values[index(i, len(values))] for i in listed(rows["outputs"])])

    def _place(self, number: Any) -> Location | None:
        return None if number == -1 else self._places[index(number, len(self._places))]

    def _region(self, number: Any) -> Graph:
        """Return a graph that comes before: once, or reading could make much of little."""
        place = index(number, len(self._graphs))
        graph, self._graphs[place] = self._graphs[place], None
        if graph is None:
            raise ValueError(f"graph {place} is the region of two operations")
        return graph


def type_text(type_: Type) -> str:
    """Return the text of a type, which `parse_type` reads; or raise `TypeError`."""
    text = repr(type_)
    if parse_type(text) != type_:
        raise TypeError(f"{text} is a type that has no form in a file")
    return text


# --- what plain data must be ----------------------------------------------------------------------


def listed(value: Any) -> list[Any]:
    """Return a list as it is, or raise `ValueError`."""
    if type(value) is not list:
        raise ValueError(f"expected a list, found {value!r:.60}")
    return value


def text_of(value: Any) -> str:
    """Return a string as it is, or raise `ValueError`."""
    if type(value) is not str:
        raise ValueError(f"expected a string, found {value!r:.60}")
    return value


def index(value: Any, count: int) -> int:
    """Return the number of one of `count` things, or raise `ValueError`."""
    if type(value) is not int or not 0 <= value < count:
        raise ValueError(f"expected a number below {count}, found {value!r:.60}")
    return value


def _place(row: Any) -> Location:
    file, line, text, *more = listed(row)
    written = Written(text_of(file), index(line, 2**31), text_of(text))
    states = []
    for pair in listed(more[0]) if more else ():
        flag, what = listed(pair)
        if flag not in _CONDITIONS or what not in _ANSWERS:
            raise ValueError(f"{pair!r:.60} says nothing of floating-point conditions")
        states.append((flag, what))
    return Location(written, 0, tuple(states))


#: Of `Location.states`.
_CONDITIONS = ("divide", "over", "under", "invalid")
_ANSWERS = ("ignore", "warn", "raise", "print", "log")


def _type(text: Any) -> Type:
    if not _TYPE.fullmatch(text_of(text)):
        raise ValueError(f"{text!r:.60} is no type")
    found = parse_type(text)
    if isinstance(found, ArrayType):
        known = [dim for dim in found.shape if isinstance(dim, int)]
        if math.prod(known) * max(found.dtype.itemsize, 1) > _MOST_BYTES:
            raise ValueError(f"{text} is too large for any memory")
    return found


# --- what parameters must be ----------------------------------------------------------------------


def check_parameters(primitive: Any, params: Mapping[str, Any]) -> None:
    """Raise `TypeError` for a parameter that is not what the primitive's type rule says it takes.

    A type rule checks what recorded code can get wrong, not the types of its own parameters.
    """
    hints = _hints(primitive)
    for name, value in params.items():
        if not conforms(value, hints.get(name, Any)):
            raise TypeError(f"{primitive.name}: {name} cannot be {value!r:.60}")


@lru_cache(maxsize=1024)
def _hints(primitive: Any) -> dict[str, Any]:
    return typing.get_type_hints(primitive.type, localns={"Dim": Dim})


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as annotations write it; what is not known conforms.

    Examples
    --------
    >>> conforms((1, None), tuple[int | None, ...]), conforms((True,), tuple[int, ...])
    (True, False)
    """
    if hint is Any:
        return True
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        return any(conforms(value, arg) for arg in args)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if len(args) == 2 and args[1] is Ellipsis:
            return all(conforms(part, args[0]) for part in value)
        return len(value) == len(args) and all(map(conforms, value, args))
    if origin is not None:
        return isinstance(value, origin)
    if hint is None:
        return value is None
    return type(value) is hint if hint in (int, bool, float, str) else isinstance(value, hint)


def check_memories(primitive: Any, operands: Sequence[Any]) -> None:
    """Raise `TypeError` for an object that is no operand of an operation on lists or boxes.

    Those take it first, as ``arena`` or ``store``, or as ``boxed``; regions hand it on.
    """
    kinds = [_object_kind(x) for x in operands]
    first = {"arena": "memory", "store": "memory", "boxed": "box"}.get(_first_operand(primitive))
    wanted = [first, *[None] * len(operands)][: len(operands)]
    if kinds != wanted and "regions" not in _hints(primitive):
        raise TypeError("the memory of lists is used as an array, or an array as that")


def _object_kind(type_: Any) -> str | None:
    """Return what an operand is that is no array of numbers: the memory of lists, or a box."""
    if not isinstance(type_, ArrayType) or type_.dtype.kind != "O":
        return None
    return "box" if type_.shape else "memory"


@lru_cache(maxsize=1024)
def _first_operand(primitive: Any) -> str:
    return next(iter(inspect.signature(primitive.type).parameters), "")


def check_ranges(
    operands: Sequence[Any], params: Mapping[str, Any], regions: Sequence[Graph]
) -> None:
    """Raise `ValueError` for axes, steps and widths that no operands can have, by their names.

    Recorded ones count from the front and are there; type rules rely on that.
    """
    ranks = [x.ndim if isinstance(x, ArrayType) else 0 for x in operands]
    first = ranks[0] if ranks else 0
    for name, value in params.items():
        match name:
            case "axis":
                _check_axes([value], first)
            case "axes":
                _check_axes(value, first)
            case "in_dims":
                for axis, rank in zip(value, ranks, strict=True):
                    _check_axes([] if axis is None else [axis], rank)
            case "batch" | "contract":
                pairs = (*params["batch"], *params["contract"])
                for side, rank in enumerate(ranks):
                    _check_axes([pair[side] for pair in pairs], rank)
            case "columns" if value and len(value) != len(regions[0].outputs):
                raise ValueError("columns says something of each result, or nothing")
            case "step" if value == 0:
                raise ValueError("a slice has no step of 0")
            case "before" | "behind":
                index(value, operands[1].shape[-1])
            case "rank":
                index(value, ranks[1] + 1)
            case "data" if params["type"].dtype == bool and value.strip(b"\0\1"):
                raise ValueError("a truth value is neither 0 nor 1")


def _check_axes(axes: Sequence[int], rank: int) -> None:
    if len({*axes}) != len(axes) or not all(0 <= axis < rank for axis in axes):
        raise ValueError(f"{axes} are not axes of an array of {rank} dimensions")


def all_symbols(values: Sequence[Any]) -> set[str]:
    """Return the names of sizes that types, parameters and tuples of these depend on."""
    found: set[str] = set()
    for value in values:
        if isinstance(value, Dim):
            found |= {*symbols(value)}
        elif isinstance(value, ArrayType):
            found |= all_symbols(value.shape)
        elif type(value) is tuple:
            found |= all_symbols(value)
    return found


def type_of(text: Any) -> Type:
    """Return the type that prints as a string, of numbers or a token; or raise `ValueError`."""
    found = _type(text)
    if isinstance(found, ArrayType) and found.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(f"{text} is no type of numbers")
    return found


def dtype_of(text: Any) -> np.dtype:
    """Return the dtype of numbers that `dtype_name` gave a name to, or raise `ValueError`."""
    found = type_of(f"{text_of(text)}[]")
    if not isinstance(found, ArrayType):
        raise ValueError(f"{text!r:.60} is no dtype")
    return found.dtype
