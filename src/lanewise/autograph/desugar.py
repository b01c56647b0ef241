"""Statements that are short for others: ``assert``, ``match``, ``while`` with ``:=``, reductions,
and ``try`` with both handlers and ``finally``.

What comes out is still the user's language; `lanewise.autograph.rewrite` converts it further.
"""

from __future__ import annotations

import ast

from lanewise.autograph.build import (
    MANAGER,
    Names,
    assign,
    attribute,
    call,
    constant,
    hook,
    if_,
    load,
    method,
    negate,
    place,
    place_all,
    statement,
    store,
)
from lanewise.autograph.comprehensions import Reductions
from lanewise.autograph.counted import names_in
from lanewise.autograph.patterns import lower_match
from lanewise.autograph.scopes import contains

#: Marks loops of which a ``try`` statement around them catches what a part of the test raises.
_CAUGHT = "ag__caught"


def _may_raise_in_part(test: ast.expr) -> bool:
    """Whether a test looks something up where an operand before has decided that it does."""
    parts = [each for each in ast.walk(test) if isinstance(each, ast.BoolOp)]
    return any([contains(x, ast.Subscript) for each in parts for x in each.values[1:]])


def desugar(body: list[ast.stmt], names: Names) -> list[ast.stmt]:
    """Return a function's statements without the forms that are short for others."""
    return [made for node in body for made in _statement(node, names)]


def _statement(node: ast.stmt, names: Names) -> list[ast.stmt]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node]  # converted for themselves
    before = _reductions(node, names)
    if isinstance(node, ast.Try) and node.handlers:
        for inner in [each for statement in node.body for each in ast.walk(statement)]:
            if isinstance(inner, ast.While) and _may_raise_in_part(inner.test):
                inner.__dict__[_CAUGHT] = True
    for block in ("body", "orelse", "finalbody"):
        inner = getattr(node, block, None)
        if inner:
            setattr(node, block, desugar(inner, names))
    for handler in getattr(node, "handlers", ()):
        handler.body = desugar(handler.body, names)
    before += _conditional_bindings(node, names)
    if isinstance(node, ast.While):
        _move_test_to_head(node)
    if isinstance(node, ast.Match):
        for case in node.cases:
            case.body = desugar(case.body, names)
        return [*before, *lower_match(node, names)]
    if isinstance(node, ast.Assert):
        return [*before, *_assert(node)]
    if isinstance(node, ast.With):
        return [*before, *_with(node, names)]
    if isinstance(node, ast.Try) and node.handlers and node.finalbody:
        inner = place(ast.Try(node.body, node.handlers, node.orelse, []), node)
        return [*before, place(ast.Try([inner], [], [], node.finalbody), node)]
    if isinstance(node, ast.While) and (
        contains(node.test, ast.NamedExpr) or _CAUGHT in node.__dict__
    ):
        return [*before, *_while(node, names)]
    return [*before, node]


def _with(node: ast.With, names: Names) -> list[ast.stmt]:
    """Return a block with a handler, for managers that may end what data raise in it."""
    made: list[ast.stmt] = []
    for item in reversed(node.items):
        manager, value, error = names.fresh("m"), names.fresh("v"), names.fresh("x")
        body: list[ast.stmt] = made if made else node.body
        if item.optional_vars is not None:
            body = [place(ast.Assign([item.optional_vars], load(value)), item.optional_vars), *body]
        handled = place(statement(method(manager, "handle", load(error))), node)
        handler = place(ast.ExceptHandler(attribute(manager, "caught"), error, [handled]), node)
        ended = place(statement(method(manager, "end")), node)
        guarded = place(ast.Try(body, [handler], [ended], []), node)
        guarded.__dict__[MANAGER] = manager
        block = ast.With([ast.withitem(attribute(manager, "outer"), store(value))], [guarded])
        block.__dict__[MANAGER] = manager
        asked = place(hook("following", item.context_expr), item.context_expr)
        made = place_all([assign(manager, asked), block], node)
    return made


def _reductions(node: ast.stmt, names: Names) -> list[ast.stmt]:
    """Replace the reductions in the expressions of a statement itself; return their functions."""
    reductions = Reductions(names)
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            setattr(node, name, reductions.visit(value))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.expr):
                    value[index] = reductions.visit(item)
                elif isinstance(item, ast.withitem):
                    item.context_expr = reductions.visit(item.context_expr)
                elif isinstance(item, ast.match_case) and item.guard:
                    item.guard = reductions.visit(item.guard)
    return place_all(list(reductions.functions), node)


def _conditional_bindings(node: ast.stmt, names: Names) -> list[ast.stmt]:
    """Make statements of ``a and (b := f())``, which binds or does not, as the data decide."""
    field = "test" if isinstance(node, (ast.If, ast.Assert)) else "value"
    value = getattr(node, field, None)
    if isinstance(node, ast.AugAssign) or not isinstance(value, ast.expr):
        return []
    before, value = _unfolded(value, names)
    setattr(node, field, value)
    return before


def _unfolded(node: ast.expr, names: Names) -> tuple[list[ast.stmt], ast.expr]:
    """Return statements, and an expression, that give the value of an expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        before, node.operand = _unfolded(node.operand, names)
        return before, node
    kept = names.fresh("value")
    made: list[ast.stmt]
    if isinstance(node, ast.BoolOp) and _binds(*node.values[1:]):
        first, *others = node.values
        made, value = _unfolded(first, names)
        made.append(place(assign(kept, value), first))
        for other in others:
            before, value = _unfolded(other, names)
            block = [*before, place(assign(kept, value), other)]
            test = load(kept) if isinstance(node.op, ast.And) else negate(load(kept))
            made.append(place(if_(test, block), other))
        return made, place(load(kept), node)
    if isinstance(node, ast.IfExp) and _binds(node.body, node.orelse):
        made, test = _unfolded(node.test, names)
        blocks = []
        for part in (node.body, node.orelse):
            before, value = _unfolded(part, names)
            blocks.append([*before, place(assign(kept, value), part)])
        return [*made, place(if_(test, *blocks), node)], place(load(kept), node)
    return [], node


def _binds(*nodes: ast.expr) -> bool:
    return any(contains(node, ast.NamedExpr) for node in nodes)


def _assert(node: ast.Assert) -> list[ast.stmt]:
    if not __debug__:
        return []
    error = call(attribute("ag__", "AssertionError"), *([node.msg] if node.msg else []))
    failing = place(ast.Raise(error, None), node.test)
    passing = place(ast.Pass(), node.test)
    return [place(if_(node.test, [passing], [failing]), node.test)]


def _move_test_to_head(node: ast.While) -> None:
    """Make ``while True: if done: break; ...`` the ``while not done: ...`` that it is.

    Numbers that end that are seen to (`lanewise.autograph.counted`), so only of such a test: others
    may raise, and are not to stand in the head.
    """
    match node:
        case ast.While(ast.Constant(value), [ast.If(test, [ast.Break()], other), *rest], []):
            is_plain = names_in(test) is not None and not contains(test, ast.FloorDiv)
            if value and is_plain and (other or rest):
                node.test, node.body = place(negate(test), test), [*other, *rest]


def _while(node: ast.While, names: Names) -> list[ast.stmt]:
    """Move a test that binds names, or may raise, into the loop, as a statement like others."""
    done: list[ast.stmt] = [place(ast.Break(), node)]
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    if node.orelse:  # it runs after the test failed, not after another `break`
        flag = names.fresh("els")
        before = [assign(flag, constant(False))]
        done = [assign(flag, constant(True)), *done]
        after = [if_(load(flag), node.orelse)]
    turn = place(if_(node.test, node.body, place_all(done, node)), node)
    node.body = [*_conditional_bindings(turn, names), turn]
    node.test, node.orelse = place(constant(True), node.test), []
    return place_all([*before, node, *after], node)
