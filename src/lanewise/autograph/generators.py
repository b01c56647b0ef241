"""Generators: their calls and expressions are converted, their control flow stays Python's.

A generator is left in the middle of a statement, and a region of the trace must not be. So loops
and branches of it take plain numbers only; what it calls, prints and writes follows the data.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from lanewise.autograph.build import Unconvertible, hook, place
from lanewise.autograph.rewrite import Statements

_AWAITING = (ast.Await, ast.AsyncFor, ast.AsyncWith)
_SUSPENDING = (ast.Yield, ast.YieldFrom)
#: What is evaluated for some examples only, or within a function that Python makes for it.
_APART = (ast.BoolOp, ast.IfExp, ast.Compare, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody")


class Suspending:
    """Rewrites the statements of a generator."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block, converted."""
        return [made for node in body for made in self.statement(node)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, _AWAITING):
            raise Unconvertible
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return self.statements.block([node])
        if not any(isinstance(part, (ast.stmt, ast.ExceptHandler, ast.match_case))
                   for part in ast.iter_child_nodes(node)):  # fmt: skip
            return [node] if _is_apart(node) else self.statements.block([node])
        for name in ("test", "iter", "subject"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        for item in getattr(node, "items", ()):
            managed = hook("managed", self.visit(item.context_expr))
            item.context_expr = place(managed, item.context_expr)
        for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for name in _BLOCKS:
                if hasattr(part, name):
                    setattr(part, name, self.block(getattr(part, name)))
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


__all__ = ["Suspending"]
