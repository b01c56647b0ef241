"""Blocks nested deeper than Python allows: the innermost become functions that are called in place.

Python compiles at most 20 statically nested blocks, and a converted branch or loop takes two of
them where the user's ``if`` took none. So a block that has others in it, deep inside of some, moves
into a function within, whose variables are those of the function around::

    for ag__b1 in ...:              for ag__b1 in ...:
        try:                            try:
            if ag__b1:                      if ag__b1:
                x = 1           →               def ag__out2():
                for ...                             nonlocal x
                                                    x = 1
                                                    for ...
                                                ag__out2()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from lanewise.autograph.build import (
    Names,
    assign,
    call,
    constant,
    function,
    if_,
    load,
    none,
    place,
    place_all,
    statement,
)
from lanewise.autograph.jumps import leaving
from lanewise.autograph.scopes import READS_ALL, Scope, bound, own_nodes

#: At these depths blocks move out: the second is tried where statements of the user's within, a
#: handler for one, take too many of the 20 that Python has.
DEPTHS = (16, 8)
#: What the names of the functions begin with.
OUTLINED = "ag__out"

_BLOCKS = (ast.For, ast.While, ast.With, ast.Try, ast.TryStar)


class Outline:
    """Moves deeply nested blocks of one converted function into functions within."""

    def __init__(self, names: Names, scope: Scope, owner: ast.FunctionDef, deepest: int) -> None:
        self.names = names
        self.deepest = deepest
        self.scope = scope
        positional = [*owner.args.posonlyargs, *owner.args.args]
        self.first = positional[0].arg if positional else None
        self.shared: set[str] = set()  # variables of functions within, bound here

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return a function's statements, nested no deeper than Python takes."""
        body = self.block(body, 0)
        unbound = sorted(self.shared - self.scope.parameters)
        if not unbound:
            return body
        # Never run: it only makes them variables of this function.
        bindings: list[ast.stmt] = [assign(name, none()) for name in unbound]
        return [*body, place(if_(constant(0), place_all(bindings, body[-1])), body[-1])]

    def block(self, body: list[ast.stmt], depth: int) -> list[ast.stmt]:
        """Return statements that stand within ``depth`` blocks."""
        if depth >= self.deepest and _has_blocks(body) and self._can_move(body):
            return self.moved(body)
        for node in body:
            for part, inner in _parts(node, depth):
                part[:] = self.block(part, inner)
        return body

    def moved(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the call of a function that runs these statements."""
        names = frozenset().union(*map(bound, body))
        own = names - self.scope.globals
        name = self.names.fresh("out")
        start: list[ast.stmt] = []
        if names & self.scope.globals:
            start.append(ast.Global(sorted(names & self.scope.globals)))
        if own:
            start.append(ast.Nonlocal(sorted(own)))
            self.shared |= own - self.scope.nonlocals
        if self.first is not None:
            body = [_Super(self.first).visit(node) for node in body]
        first = body[0]
        made = function(name, (), [*place_all(start, first), *self.block(body, 0)])
        return place_all([made, statement(call(load(name)))], first)

    def _can_move(self, body: Sequence[ast.stmt]) -> bool:
        nodes = list(own_nodes(body))
        if leaving(body) or any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
            return False
        return not any(isinstance(node, ast.Name) and node.id in READS_ALL for node in nodes)


def _parts(node: ast.stmt, depth: int) -> Iterator[tuple[list[ast.stmt], int]]:
    """Yield the blocks within a statement, each with how deep it is nested."""
    if isinstance(node, ast.If):
        yield node.body, depth
        yield node.orelse, depth
    elif isinstance(node, (ast.For, ast.While)):
        yield node.body, depth + 1
        yield node.orelse, depth
    elif isinstance(node, ast.With):
        yield node.body, depth + len(node.items)
    elif isinstance(node, (ast.Try, ast.TryStar)):
        depth += bool(node.finalbody)
        yield node.body, depth + bool(node.handlers)
        yield node.orelse, depth
        for handler in node.handlers:
            yield handler.body, depth + 2
        yield node.finalbody, depth
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body, depth


def _has_blocks(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, _BLOCKS) for node in own_nodes(body))


class _Super(ast.NodeTransformer):
    """Says what ``super()`` finds out by itself in the frame of a method."""

    def __init__(self, first: str) -> None:
        self.first = first

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        if is_super and not node.args and not node.keywords:
            node.args = [place(load("__class__"), node), place(load(self.first), node)]
        return node

    def _elsewhere(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _elsewhere  # noqa: N815


__all__ = ["DEPTHS", "OUTLINED", "Outline"]
