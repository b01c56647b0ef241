"""The passes over a function, the functions within it, and what is left alone."""

from __future__ import annotations

import ast

from lanewise.autograph.analysis import Analysis
from lanewise.autograph.build import (
    GENERATOR,
    Names,
    Unconvertible,
    arguments,
    clone,
    constant,
    hook,
    load,
    method,
    place,
    place_all,
    statement,
    tuple_,
)
from lanewise.autograph.desugar import desugar
from lanewise.autograph.generators import Suspending, Whole, followed, suspends
from lanewise.autograph.jumps import RETURN_VALUE, Lowered, first_line
from lanewise.autograph.lists.uses import with_growing_lists
from lanewise.autograph.outline import Outline
from lanewise.autograph.rewrite import Statements
from lanewise.autograph.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    Scope,
    scope_of,
    targets,
)


class Functions:
    """Converts a function and all functions within it, in place."""

    def __init__(self, deepest: int) -> None:
        self.names = Names()
        self.deepest = deepest  # see `lanewise.autograph.outline`

    def convert(self, node: ast.FunctionDef, outer: frozenset[str], owner: str | None) -> None:
        """Convert a function.

        Parameters
        ----------
        outer:
            The variables of functions around that may stand for "no value".
        owner:
            The class whose private names are mangled.

        Raises
        ------
        Unconvertible
            If it cannot be converted; then it is as it was.
        """
        before = [clone(part) for part in node.body]
        try:
            self._body(node, outer, owner)
        except Unconvertible:
            node.body = before
            raise

    def _body(self, node: ast.FunctionDef, outer: frozenset[str], owner: str | None) -> None:
        scope = scope_of(node)
        body, start = node.body, []
        if ast.get_docstring(node, clean=False) is not None:
            start, body = body[:1], body[1:]
        if not body:
            return
        asking = None
        if suspends(node.body):
            asking = followed(body, self.names)
            if asking is None:
                node.body = [*start, *self._suspending(body, scope, outer, owner)]
                return
            body = asking
        first = first_line(body)
        body = with_growing_lists(body, scope, self.names)
        lowered = Lowered(desugar(body, self.names), self.names)
        analysis = Analysis(lowered.body, scope, lowered.flags, RETURN_VALUE)

        def inner(node: ast.stmt, undefinable: frozenset[str]) -> None:
            self.inner(node, undefinable, owner)

        statements = Statements(self.names, scope, lowered.flags, analysis, outer, owner, inner)
        statements.shared = _shared(node.body, scope)
        unset = sorted(analysis.undefinable - scope.parameters)
        made = [place(each, first) for each in noting_cells(node.body, scope)]
        made += place_all([statements.undefine(name) for name in unset], first)
        made += statements.block(lowered.body)
        if asking is not None:
            made.append(place(statement(ast.YieldFrom(method(GENERATOR, "end"))), body[-1]))
        if lowered.value:
            result = ast.Return(hook("returned", load(RETURN_VALUE)))
            made.append(place(result, lowered.body[-1]))
        made = Outline(self.names, scope, node, self.deepest).body(made)
        node.body = [*start, *made] or [place(ast.Pass(), node)]

    def _suspending(
        self, body: list[ast.stmt], scope: Scope, outer: frozenset[str], owner: str | None
    ) -> list[ast.stmt]:
        def inner(node: ast.stmt, undefinable: frozenset[str]) -> None:
            self.inner(node, undefinable, owner)

        first = first_line(body)
        whole = Whole(body, self.names)
        analysis = Analysis(whole.body, scope, whole.flags, RETURN_VALUE, keeps_all=True)
        flags = whole.flags
        statements = Statements(self.names, scope, flags, analysis, outer, owner, inner)
        statements.shared = _shared(body, scope)
        defined = _Defined(analysis.undefinable).visit
        unset = sorted(analysis.undefinable - scope.parameters - {RETURN_VALUE})
        made = place_all([statements.undefine(name) for name in unset], first)
        return [*made, *Suspending(statements, whole, defined).block(whole.body)]

    def inner(self, node: ast.stmt, undefinable: frozenset[str], owner: str | None) -> None:
        """Convert the functions in a nested definition; the statements of classes stay."""
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                self.inner(part, undefinable, node.name)
        elif isinstance(node, ast.FunctionDef):
            try:
                self.convert(node, undefinable, owner)
            except Unconvertible:
                _Defined(undefinable).inside(node)
        elif undefinable:
            _Defined(undefinable).visit(node)


def noting_cells(body: list[ast.stmt], scope: Scope) -> list[ast.stmt]:
    """Return what notes the variables that functions within assign to, if there are any."""
    own = sorted(_shared(body, scope))
    variables = ast.Lambda(arguments([]), tuple_(own))
    return [statement(hook("cells", variables))] if own else []


def _shared(body: list[ast.stmt], scope: Scope) -> frozenset[str]:
    """Return the variables that functions within assign to."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    names = {name for node in nodes if isinstance(node, ast.Nonlocal) for name in node.names}
    return frozenset(names & scope.locals)


class _Defined(ast.NodeTransformer):
    """In code that stays as it is, checks variables of functions around that may have no value."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.names:
            return place(hook("defined", node, constant(True)), node)
        return node

    def inside(self, node: ast.AST) -> ast.AST:
        if isinstance(node, FUNCTIONS):
            own = scope_of(node).locals
        else:
            assert isinstance(node, COMPREHENSIONS)
            own = targets(node)
        _Defined(self.names - own).generic_visit(node)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = inside  # noqa: N815
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = inside  # noqa: N815
