"""Graphs as text, printed and parsed back: what tests are written in and `LANEWISE_SHOW` prints.

One operation a line: results with their types, the primitive, its static parameters in brackets
(those at their default left out), its operands in parentheses, and its regions indented below::

    graph(%0: f64[batch,4]) {
      %1: f64[] = constant(2.0)
      %2: f64[batch,4] = multiply(%0, %1)
      %3: f64[batch] = reduce[fn=add, axes=(1,)](%2)  # model.py:7
      return %3
    }

Values are named by their numbers; in text written by hand any name does, and types of results may
be left out. What follows ``#`` is a comment. Objects that text cannot hold (host functions, ufuncs
that are not NumPy's) print as ``<host name>`` and are looked up by that name when parsed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lanewise.errors import annotate
from lanewise.ir.dims import (
    Dim,
    DimLike,
    dim_broadcast,
    dim_if_negative,
    dim_max,
    dim_min,
    symbols,
)
from lanewise.ir.graph import Builder, Graph, Operation, Value
from lanewise.ir.types import TOKEN, ArrayType, Type, array_type, dtype_name, parse_dtype

_DTYPE = re.compile(r"bool|object|[iufc]\d+")
_WORDS = {"None": None, "True": True, "False": False}
_DIM_CALLS = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": dim_min,
    "max": dim_max,
    "negative": dim_if_negative,
    "broadcast": dim_broadcast,
}


# --- printing -------------------------------------------------------------------------------------


def format_graph(graph: Graph, locations: bool = False) -> str:
    """Return a graph as text that `parse_graph` reads.

    Parameters
    ----------
    graph
        The graph.
    locations
        Whether to put the user's file and line behind each operation, as a comment.
    """
    return "\n".join(_graph_lines(graph, locations))


def format_operation(op: Operation, locations: bool = False) -> str:
    """Return one operation as text, its regions indented below it."""
    return "\n".join(_operation_lines(op, locations))


def _graph_lines(graph: Graph, locations: bool) -> Iterator[str]:
    yield f"graph({', '.join(map(_declaration, graph.inputs))}) {{"
    for op in graph.operations:
        for line in _operation_lines(op, locations):
            yield f"  {line}"
    yield f"  return {_names(graph.outputs)}".rstrip()
    yield "}"


def _operation_lines(op: Operation, locations: bool) -> Iterator[str]:
    results = ", ".join(map(_declaration, op.results))
    comment = f"  # {op.location}" if locations and op.location else ""
    yield f"{results}{' = ' if results else ''}{_application(op)}{comment}"
    for region in op.regions:
        for line in _graph_lines(region, locations):
            yield f"  {line}"


def _application(op: Operation) -> str:
    name, params = op.primitive.name, op.primitive.stated(op.params)
    if op.primitive.is_literal:
        try:
            return f"constant({_format_elements(params['data'], params['type'])})"
        except (TypeError, ValueError):  # a broken graph prints too
            pass
    stated = ", ".join(f"{key}={_format_parameter(value)}" for key, value in params.items())
    return f"{name}{f'[{stated}]' if stated else ''}({_names(op.operands)})"


def _declaration(value: Value) -> str:
    return f"%{value.index}: {value.type!r}"


def _names(values: tuple[Value, ...]) -> str:
    return ", ".join(f"%{value.index}" for value in values)


def _format_parameter(value: Any) -> str:
    match value:
        case None | bool() | np.bool_() | str():
            return repr(value) if not isinstance(value, np.bool_) else repr(bool(value))
        case int() | np.integer():
            return str(int(value))
        case float() | np.floating():
            return repr(float(value))
        case tuple():
            parts = [_format_parameter(part) for part in value]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        case np.dtype():
            return dtype_name(value)
        case Dim():
            return f"dim({value})" if any(map(_is_taken, symbols(value))) else str(value)
        case ArrayType():
            return repr(value)
        case np.ufunc():
            name = value.__name__
            return name if getattr(np, name, None) is value else f"<ufunc {name}>"
        case bytes():
            return f"<bytes {value.hex()}>"
    name = getattr(value, "__name__", type(value).__name__)
    return f"<host {re.sub('[<>]', '', name)}>"


def _is_taken(name: str) -> bool:
    """Whether a name among the parameters stands for something else than a dimension."""
    return (
        name in _WORDS
        or name in ("nan", "inf")
        or _DTYPE.fullmatch(name) is not None
        or isinstance(getattr(np, name, None), np.ufunc)
    )


def _format_elements(data: bytes, type: ArrayType) -> str:
    def nested(array: np.ndarray) -> str:
        if array.ndim == 0:
            return _format_element(array[()])
        return f"[{', '.join(nested(row) for row in array)}]"

    return nested(np.frombuffer(data, type.dtype).reshape(type.shape))  # type: ignore[arg-type]


def _format_element(x: Any) -> str:
    """Return a number as text that gives back every bit: as its bits where digits would not."""
    if x.dtype.kind == "c":
        return f"complex({_format_element(x.real)}, {_format_element(x.imag)})"
    text = str(int(x)) if x.dtype.kind in "iu" else str(x)
    if x.dtype.type(_plain(text)).tobytes() == x.tobytes():
        return text
    return f"0x{int.from_bytes(x.tobytes(), sys.byteorder):0{2 * x.dtype.itemsize}x}"


def _plain(text: str) -> Any:
    return _WORDS[text] if text in _WORDS else int(text) if text.lstrip("-").isdigit() else text


# --- parsing --------------------------------------------------------------------------------------


def parse_graph(
    text: str, primitives: Mapping[str, Any], named: Mapping[str, Any] | None = None
) -> Graph:
    """Return the graph that `format_graph` gave the text of, or that was written by hand.

    Parameters
    ----------
    text
        One graph.
    primitives
        The primitives by name: ``lanewise.ops.registry.REGISTRY``.
    named
        What else the text names: primitives of ufuncs that have no row (``"ufunc.expit"``,
        ``"gufunc.matvec"``), and the objects behind ``<host name>`` and ``<ufunc name>``.

    Raises
    ------
    ValueError
        If the text is not a graph, or announces a type that is not the operation's; naming the
        line. What the type rule of an operation raises passes through, with the line.
    """
    return _Parser(text, {**primitives, **(named or {})}).parse()


def parse_type(text: str) -> Type:
    """Return the type that prints as `text`, such as ``f64[n+1,3]``; raise `ValueError` if none.

    Examples
    --------
    >>> parse_type("f64[n+1,3]").shape
    (n+1, 3)
    """
    parser = _Parser(text, {})
    type = parser.type()
    parser.end()
    return type


def parse_dim(text: str) -> DimLike:
    """Return the dimension that prints as `text`; raise `ValueError` if none does."""
    parser = _Parser(text, {})
    dim = parser.dim()
    parser.end()
    return dim


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


_TOKENS = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<value>%\w+)
    |(?P<number>0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][\w.]*)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<object><\w+\ [^<>]*>)
    |(?P<mark>[()\[\]{},:=*+-])""",
    re.VERBOSE,
)


def _tokens(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        found = _TOKENS.match(text, position)
        if found is None:
            raise ValueError(f"line {line}: cannot read {text[position : position + 20]!r}")
        if found.lastgroup != "space":
            yield _Token(str(found.lastgroup), found.group(), line)
        line += found.group().count("\n")
        position = found.end()
    yield _Token("end", "the end", line)


class _Parser:
    """Recursive descent: a method a construct, each reading what it names from `tokens`."""

    def __init__(self, text: str, named: Mapping[str, Any]) -> None:
        self.tokens = list(_tokens(text))
        self.position = 0
        self.named = named

    @property
    def next(self) -> _Token:
        return self.tokens[self.position]

    def fail(self, message: str) -> NoReturn:
        """Raise for what was read last: all of it must lie before the next token."""
        raise ValueError(f"line {self.tokens[max(self.position - 1, 0)].line}: {message}")

    def fail_expecting(self, what: str) -> NoReturn:
        raise ValueError(f"line {self.next.line}: expected {what}, found {self.next.text}")

    def take(self, kind: str) -> str:
        token = self.next
        if token.kind != kind:
            self.fail_expecting(f"a {kind}")
        self.position += 1
        return token.text

    def accept(self, text: str) -> bool:
        """Read the mark or name `text` if it comes next."""
        found = self.next.text == text and self.next.kind in ("mark", "name")
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail_expecting(text)

    def until(self, closing: str) -> Iterator[None]:
        """Go through what commas separate, up to and with the closing mark."""
        while not self.accept(closing):
            yield
            if not self.accept(","):
                self.expect(closing)
                return

    def lookup(self, name: str, what: str) -> Any:
        if name not in self.named:
            self.fail(f"there is no {what} {name}; give it in `primitives` or `named`")
        return self.named[name]

    def parse(self) -> Graph:
        graph = self.graph()
        self.end()
        return graph

    def end(self) -> None:
        if self.next.kind != "end":
            self.fail_expecting("the end")

    # --- graphs and operations --------------------------------------------------------------------

    def graph(self) -> Graph:
        self.expect("graph")
        self.expect("(")
        scope = _Scope()
        for _ in self.until(")"):
            name = self.take("value")
            self.expect(":")
            scope.number(name)
            scope.define(self, name, scope.builder.input(self.type()))
        self.expect("{")
        while not self.accept("return"):
            self.operation(scope)
        return scope.builder.finish([self.operand(scope) for _ in self.until("}")])

    def operand(self, scope: _Scope) -> Value:
        name = self.next.text
        if self.next.kind == "value" and name not in scope.values:
            self.position += 1
            self.fail(f"{name} is not defined before")
        return scope.values[self.take("value")]

    def operation(self, scope: _Scope) -> None:
        names: list[str] = []
        types: list[Type | None] = []
        if self.next.kind == "value":
            for _ in self.until("="):
                names.append(self.take("value"))
                types.append(self.type() if self.accept(":") else None)
        token = self.next
        primitive = self.lookup(self.take("name"), "primitive")
        if primitive.is_literal and self.tokens[self.position].text == "(":
            params, operands, regions = self.constant(types), (), ()
        else:
            params = {}
            if self.accept("["):
                for _ in self.until("]"):
                    key = self.take("name")
                    self.expect("=")
                    params[key] = self.parameter()
            self.expect("(")
            operands = tuple([self.operand(scope) for _ in self.until(")")])
            regions = self.regions()
        try:
            scope.number(*names[:1])
            results = scope.builder.emit(primitive, operands, primitive.complete(params), regions)
        except Exception as error:
            annotate(error, f"in line {token.line} of the graph's text")
            raise
        found = [value.type for value in results]
        if len(found) != len(names) or any(t not in (None, f) for t, f in zip(types, found)):  # noqa: B905
            self.fail(f"{primitive.name} gives {found}, not {types}")
        for name, value in zip(names, results, strict=True):
            if name[1:].isdigit():
                value.index = int(name[1:])
            scope.define(self, name, value)

    def regions(self) -> tuple[Graph, ...]:
        regions = []
        while self.next.kind == "name" and self.next.text == "graph":
            regions.append(self.graph())
        return tuple(regions)

    def constant(self, types: list[Type | None]) -> dict[str, Any]:
        if len(types) != 1 or not isinstance(types[0], ArrayType):
            self.fail("a constant needs the type of its one result written out")
        self.expect("(")
        type = types[0]
        data = b"".join(self.elements(type.dtype))
        self.expect(")")
        return {"data": data, "type": type}

    def elements(self, dtype: np.dtype) -> Iterator[bytes]:
        if self.accept("["):
            for _ in self.until("]"):
                yield from self.elements(dtype)
        elif dtype.kind == "c":
            part = dtype.type(0).real.dtype
            self.expect("complex")
            self.expect("(")
            for _ in self.until(")"):
                yield from self.elements(part)
        else:
            sign = "-" if self.accept("-") else ""
            text = self.take("number" if self.next.kind == "number" else "name")
            if text.startswith("0x"):
                yield int(text, 16).to_bytes(dtype.itemsize, sys.byteorder)
            else:
                yield dtype.type(_plain(sign + text)).tobytes()

    # --- types and parameters ---------------------------------------------------------------------

    def type(self) -> Type:
        name = self.take("name")
        if name == "token":
            return TOKEN
        if not _DTYPE.fullmatch(name):
            self.fail(f"expected a type, found {name}")
        self.expect("[")
        return array_type(parse_dtype(name), tuple([self.dim() for _ in self.until("]")]))

    def parameter(self) -> Any:
        token = self.next
        after = self.tokens[min(self.position + 1, len(self.tokens) - 1)].text
        match token.kind:
            case "string":
                self.position += 1
                return ast.literal_eval(token.text)
            case "object":
                kind, name = token.text[1:-1].split(" ", 1)
                self.position += 1
                return bytes.fromhex(name) if kind == "bytes" else self.lookup(name, kind)
            case "name" if token.text in _WORDS:
                self.position += 1
                return _WORDS[token.text]
            case "name" if _DTYPE.fullmatch(token.text):
                if after == "[":
                    return self.type()
                self.position += 1
                return parse_dtype(token.text)
            case "name" if token.text not in _DIM_CALLS and _is_taken(token.text):
                self.position += 1
                return getattr(np, token.text)
            case "mark" if token.text == "(":
                self.position += 1
                return tuple([self.parameter() for _ in self.until(")")])
        if token.text == "dim" and after == "(":
            self.position += 2
            dim = self.dim()
            self.expect(")")
            return dim
        is_negative = token.text == "-"
        text = after if is_negative else token.text
        if text in ("nan", "inf") or (re.search("[.eE]", text) and re.match(r"[\d.]", text)):
            self.position += 1 + is_negative
            return -float(text) if is_negative else float(text)
        return self.dim()

    def dim(self) -> DimLike:
        """Read a sum of products of numbers, symbols and calls."""
        total = self.product()
        while self.next.text in ("+", "-"):
            total = total + self.product()
        return total

    def product(self) -> DimLike:
        sign = 1
        while self.next.text in ("+", "-"):
            sign *= -1 if self.take("mark") == "-" else 1
        result = self.atom()
        while self.accept("*"):
            result = result * self.atom()
        return result * sign

    def atom(self) -> DimLike:
        if self.next.kind == "number":
            return int(self.take("number"))
        if self.accept("-"):
            return -self.atom()
        name = self.take("name")
        if name in _DIM_CALLS and self.accept("("):
            args = [self.dim() for _ in self.until(")")]
            count = 3 if name == "negative" else 2
            if len(args) < 2 or (len(args) != count and name != "broadcast"):
                self.fail(f"{name} takes {count} dimensions")
            return _DIM_CALLS[name](*args)
        return Dim.symbol(name)


class _Scope:
    """One graph on its way: its builder, and its values by name."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.values: dict[str, Value] = {}
        self.numbers: set[int] = set()

    def number(self, *names: str) -> None:
        """Give the next value the number that it is named by; another name takes the next one."""
        self.builder.count = max(self.numbers, default=-1) + 1
        if names and names[0][1:].isdigit():
            self.builder.count = int(names[0][1:])

    def define(self, parser: _Parser, name: str, value: Value) -> None:
        if name in self.values or value.index in self.numbers:
            parser.fail(f"{name} is defined twice")
        self.values[name] = value
        self.numbers.add(value.index)
