"""Generators: statements without a ``yield`` are converted, the others' control flow is Python's.

A generator is left in the middle of a statement, and a region of the trace must not be. So loops
and branches with a ``yield`` take plain numbers only, as do those that are left by a ``break``,
``continue`` or ``return`` to what has one; what they call, print and write follows the data.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from lanewise.autograph.build import Names, Unconvertible, hook, place, through
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


__all__ = ["Suspending", "Whole", "suspends"]
