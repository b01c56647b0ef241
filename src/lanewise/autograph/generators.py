"""Generators: converted like any function where each ``yield`` is a statement of its own.

Where it is left, a generator asks who takes the item, and whether that loop is over::

    yield E             →   yield ag__generator.given(E)
                            if ag__generator.is_over():
                                return
    (at the end)            yield from ag__generator.end()
    yield from E        →   for ag__v1 in E: (the same of ag__v1)

Of others, that have a ``yield`` in a `try` or `with` block or within an expression, the statements
without one are converted, and the others' control flow is Python's: loops and branches with a
``yield`` take plain numbers only, as do those that are left by a ``break``, ``continue`` or
``return`` to what has one; what they call, print and write follows the data.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from lanewise.autograph.build import (
    GENERATOR,
    Names,
    Unconvertible,
    assign,
    hook,
    if_,
    load,
    method,
    place,
    place_all,
    statement,
    store,
    through,
)
from lanewise.autograph.desugar import desugar
from lanewise.autograph.jumps import Lowered, leaving
from lanewise.autograph.rewrite import Statements
from lanewise.autograph.scopes import own_nodes

_AWAITING = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_SUSPENDING = (ast.Yield, ast.YieldFrom)
#: What is evaluated for some examples only, or within a function that Python makes for it.
_APART = (ast.BoolOp, ast.IfExp, ast.Compare, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


#: What asks by itself how a block was left.
_GUARDING = (ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.AsyncFor)


def followed(body: Sequence[ast.stmt], names: Names) -> list[ast.stmt] | None:
    """Return a generator's statements with what it asks where it is left, if all can be followed.

    None where some ``yield`` is not a statement, or stands in a block that sees how it is left.
    """
    inner = list(own_nodes(body))
    count = sum([isinstance(part, _SUSPENDING) for part in inner])
    is_followed = count == sum(map(_is_yield, inner)) and not any(
        [isinstance(part, _GUARDING) and suspends([part]) for part in inner]
    )
    if not is_followed or any([isinstance(part, (*_AWAITING, ast.Await)) for part in inner]):
        return None
    start = place(assign(GENERATOR, hook("Suspension")), body[0])
    return [start, *_asking(body, names)]


def _is_yield(node: ast.AST) -> bool:
    """Whether it is a ``yield`` that is a statement, or of which one variable holds the value."""
    is_plain = isinstance(node, ast.Expr) and isinstance(node.value, _SUSPENDING)
    return is_plain or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Yield))


def _asking(body: Sequence[ast.stmt], names: Names) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for node in body:
        if isinstance(node, _SCOPES) or not suspends([node]):
            made.append(node)
        elif _is_yield(node):
            made += _asked(node, names)
        else:
            for part in (node, *getattr(node, "cases", ())):
                for name in _BLOCKS:
                    if isinstance(getattr(part, name, None), list):
                        setattr(part, name, _asking(getattr(part, name), names))
            made.append(node)
    return made


def _asked(node: Any, names: Names) -> list[ast.stmt]:
    """Return a ``yield``, and what asks whether the generator is gone on with."""
    if isinstance(node.value, ast.YieldFrom):
        item = names.fresh("v")
        each = place(statement(ast.Yield(load(item))), node)
        return [place(ast.For(store(item), node.value.value, _asked(each, names), []), node)]
    item = [] if node.value.value is None else [node.value.value]
    node.value.value = place(method(GENERATOR, "given", *item), node.value)
    leave = if_(method(GENERATOR, "is_over"), [ast.Return(None)])
    return [node, *place_all([leave], node)]


class Whole:
    """The statements of a generator, of which those that it is not left in are lowered.

    Attributes
    ----------
    body : list of ast.stmt
        All of its statements.
    nodes : set of ast.stmt
        Those that are lowered.
    flags : dict of ast.stmt to str
        The flags that end loops in these.
    """

    def __init__(self, body: Sequence[ast.stmt], names: Names) -> None:
        self.names = names
        self.nodes: set[ast.stmt] = set()
        self.flags: dict[ast.stmt, str] = {}
        self.body = self.block(body)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block, those without a ``yield`` lowered."""
        made: list[ast.stmt] = []
        for node in body:
            if not (isinstance(node, _SCOPES) or suspends([node]) or leaving([node])):
                lowered = Lowered(desugar([node], self.names), self.names)
                self.nodes.update(lowered.body)
                self.flags |= lowered.flags
                made += lowered.body
                continue
            if not isinstance(node, _SCOPES):
                for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    for name in _BLOCKS:
                        if isinstance(getattr(part, name, None), list):
                            setattr(part, name, self.block(getattr(part, name)))
            made.append(node)
        return made


def suspends(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements have a ``yield`` of their own."""
    return any(isinstance(part, (*_SUSPENDING, ast.Await)) for part in own_nodes(body))


class Suspending:
    """Rewrites the statements of a generator."""

    def __init__(
        self,
        statements: Statements,
        whole: Whole,
        defined: Callable[[ast.stmt], ast.stmt],
    ) -> None:
        self.statements = statements
        self.whole = whole
        self.defined = defined  # has code that stays as it is ask for variables without a value

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block, converted."""
        return [made for node in body for made in self.statement(node)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, _AWAITING):
            raise Unconvertible
        if isinstance(node, _SCOPES) or node in self.whole.nodes:
            return self.statements.block([node])
        if not any(isinstance(part, (ast.stmt, ast.ExceptHandler, ast.match_case))
                   for part in ast.iter_child_nodes(node)):  # fmt: skip
            return [self.defined(node)] if _is_apart(node) else self.statements.block([node])
        if isinstance(node, ast.For):
            node.iter = through(node.iter)
        for name in ("test", "iter", "subject"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        if isinstance(node, ast.For):
            node.iter = place(hook("in_turn", node.iter), node.iter)
        for item in getattr(node, "items", ()):
            managed = hook("managed", self.visit(item.context_expr))
            item.context_expr = place(managed, item.context_expr)
        for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for name in _BLOCKS:
                if hasattr(part, name):
                    setattr(part, name, self.block(getattr(part, name)))
        for handler in getattr(node, "handlers", ()):
            self.statements.keep_name(handler)
        return [node]

    def visit(self, node: ast.expr) -> ast.expr:
        return node if _is_apart(node) else self.statements.visit(node)


def _is_apart(node: ast.AST) -> bool:
    """Whether a generator is left in a part of an expression that is not evaluated in its place."""
    for part in ast.walk(node):
        if isinstance(part, ast.Await):
            raise Unconvertible
        if isinstance(part, _APART) and any(isinstance(p, _SUSPENDING) for p in ast.walk(part)):
            return True
    return False


__all__ = ["Suspending", "Whole", "followed", "suspends"]
