"""Small pieces of syntax tree that the conversion puts together, and where they stand."""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T", bound=ast.AST)

#: The free variable through which converted code reaches its hooks; names of ours start alike.
HOOKS = "ag__"
#: The variable of a generator that follows the data; see `lanewise.autograph.pulled`.
GENERATOR = "ag__generator"
#: The attribute of a statement that `desugar` made of a ``with``: the name of its manager.
MANAGER = "ag__manager"


class Unconvertible(Exception):  # noqa: N818 - not an error: the function stays as it is
    """A function has code that cannot be converted; it is left as it stands."""


class Names:
    """Gives names that are unique within one conversion: ``ag__s1``, ``ag__s2``, ``ag__l3``."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def fresh(self, kind: str) -> str:
        return f"{HOOKS}{kind}{next(self._numbers)}"


def is_ours(name: str) -> bool:
    """Return whether a name was made by the conversion."""
    return name.startswith(HOOKS)


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def none() -> ast.expr:
    return ast.Constant(None)


def attribute(value: ast.expr | str, name: str) -> ast.Attribute:
    value = load(value) if isinstance(value, str) else value
    return ast.Attribute(value, name, ast.Load())


def call(func: ast.expr, *args: ast.expr) -> ast.Call:
    return ast.Call(func, list(args), [])


def hook(name: str, *args: ast.expr) -> ast.Call:
    """Return ``ag__.name(args)``."""
    return call(attribute(HOOKS, name), *args)


def method(owner: str, name: str, *args: ast.expr) -> ast.Call:
    """Return ``owner.name(args)``."""
    return call(attribute(owner, name), *args)


def walrus(name: str, value: ast.expr) -> ast.NamedExpr:
    return ast.NamedExpr(store(name), value)


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([store(name)], value)


def statement(value: ast.expr) -> ast.Expr:
    return ast.Expr(value)


def negate(test: ast.expr) -> ast.expr:
    """Return ``not test``, in the user's language: it is converted later as any other."""
    return ast.UnaryOp(ast.Not(), test)


def if_(test: ast.expr, body: list[ast.stmt], orelse: Sequence[ast.stmt] = ()) -> ast.If:
    return ast.If(test, body or [ast.Pass()], list(orelse))


def tuple_(names: Iterable[str], context: type[ast.expr_context] = ast.Load) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, context()) for name in names], context())


def arguments(names: Iterable[str]) -> ast.arguments:
    """Return parameters that are taken by position and have no defaults."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def function(name: str, names: Iterable[str], body: list[ast.stmt]) -> ast.FunctionDef:
    node = ast.FunctionDef(name, arguments(names), body, [], None)
    node.__dict__["type_params"] = []  # a field from Python 3.12 on
    return node


def immediate(names: Sequence[str], body: ast.expr, *values: ast.expr) -> ast.Call:
    """Return ``(lambda names: body)(values)``: a `let` where no walrus may stand."""
    return call(ast.Lambda(arguments(names), body), *values)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right within a node (`ast.iter_child_nodes` takes twice as long).

    Those that have nothing in them, like the `ast.Load` of a name, are left out.
    """
    found: list[ast.AST] = []
    parts = node.__dict__
    for name in node._fields:
        value = parts.get(name)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and (value._fields or value._attributes):
            found.append(value)
    return found


def clone(node: T) -> T:
    """Return a copy of a tree (`copy.deepcopy` takes ten times as long)."""
    if not (node._fields or node._attributes):
        return node  # an `ast.Load` and the like, of which there is but one
    copy = node.__new__(type(node))  # `__init__` asks for the fields that are not there yet
    for name, value in node.__dict__.items():
        if isinstance(value, ast.AST):
            value = clone(value)
        elif isinstance(value, list):
            value = [clone(item) if isinstance(item, ast.AST) else item for item in value]
        setattr(copy, name, value)
    return copy


def place(node: T, like: ast.AST) -> T:
    """Put a new node where ``like`` begins, as a span of one line, and return it.

    What is inside of it follows at the end, by `fill_places`. Nodes of the user keep their places,
    so that tracebacks and debuggers show them.
    """
    own, there = node.__dict__, like.__dict__
    if "lineno" not in own and "lineno" in there:
        line, column = there["lineno"], there["col_offset"]
        end = there["end_col_offset"] if there["end_lineno"] == line else column
        own.update(lineno=line, col_offset=column, end_lineno=line, end_col_offset=end)
    return node


def place_all(nodes: list[ast.stmt], like: ast.AST) -> list[ast.stmt]:
    """Put each of some statements where ``like`` begins."""
    for node in nodes:
        place(node, like)
    return nodes


def shifted(node: T, lines: int) -> T:
    """Move a tree down by so many lines, and return it."""
    for part in ast.walk(node) if lines else ():
        own = part.__dict__
        if "lineno" in own:
            own["lineno"] += lines
            own["end_lineno"] += lines
    return node


def fill_places(node: ast.AST, span: tuple[int, int, int] = (1, 0, 0)) -> None:
    """Give every node still without a place that of the node around it."""
    own = node.__dict__
    if "lineno" in own:
        line, column = own["lineno"], own["col_offset"]
        end = own["end_col_offset"] if own["end_lineno"] == line else column
        span = (line, column, end)
    elif "lineno" in node._attributes:
        own["lineno"], own["col_offset"], own["end_col_offset"] = span
        own["end_lineno"] = span[0]
    for child in children(node):
        fill_places(child, span)


#: How many calls of ours within each other a tree may take that Python can compile: an expression
#: of thousands of terms is a tree as deep, and each level takes a few calls.
_FRAMES = 40_000


@contextmanager
def deep_recursion() -> Generator[None]:
    """Walk trees as deep as those that Python compiles: calls of Python code take no stack."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def through(node: ast.expr) -> ast.expr:
    """Return what a loop goes through: by position, what Python's own functions make of lists."""
    match node:
        case ast.Call(
            ast.Name("zip" | "map" | "enumerate" | "reversed" | "count")
            | ast.Attribute(ast.Name("itertools"), "count") as function,
            args,
            options,
        ):
            if any([isinstance(x, ast.Starred) for x in args]) or None in [x.arg for x in options]:
                return node
            made = hook("through", function, *map(through, args))
            made.keywords = options
            return place(made, node)
    return node
