"""Statements that follow the data: branches and loops driven by hooks, writes made by hooks.

A function stays one function. What is emitted around the user's statements (``ag__`` is
`lanewise.autograph.hooks`; x, y stand for the state that `lanewise.autograph.analysis` found)::

    if TEST: BODY                       for ag__b1 in (
    else: ORELSE                            ag__s2 := ag__.branches(TEST, ('x', 'y'), (x, y))):
                                            try:
                                                if ag__b1: BODY
                                                else: ORELSE
                                            except ag__.Failure as ag__e:
                                                if ag__s2.stop(ag__e): raise
                                            (x, y) = ag__s2.end((x, y))

(with a further tuple, of `Analysis.restored`, in ``branches`` and ``end`` where there are such; the
positions that ``while_`` is told are of the variables in its test: `lanewise.autograph.counted`)

    while TEST: BODY                    ag__l1 = ag__.while_(('x', 'y'), (x, y), (0,))
                                        for ag__i2 in ag__l1:
                                            (x, y) = ag__l1.state
                                            try:
                                                if ag__l1.test(TEST): BODY
                                            except ag__.Failure as ag__e: ...
                                            ag__l1.next((x, y))
                                        (x, y) = ag__l1.state

    for TARGET in ITER: BODY            ag__l1 = ag__.for_(ITER, ('x', 'y'), (x, y), FLAG)
                                        for ag__i2 in ag__l1:
                                            (x, y) = ag__l1.state
                                            try:
                                                if ag__l1.enter():
                                                    TARGET = ag__i2
                                                    BODY
                                            except ag__.Failure as ag__e: ...
                                            ag__l1.next((x, y))
                                        (x, y) = ag__l1.state

    try: BODY                           for ag__i1 in (
    except KIND: HANDLER                    ag__a2 := ag__.try_(
                                                ('x', 'y'), (), ((lambda: KIND, False),),
                                                False, False)):
                                            try:
                                                try:
                                                    ag__a2.enter()
                                                    BODY
                                                    ag__a2.leave()
                                                except ag__a2.foreign: raise
                                                except KIND:
                                                    ag__a2.handle()
                                                    HANDLER
                                            except ag__.Failure as ag__e: ...
                                            (x, y) = ag__a2.end((x, y))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from lanewise.autograph.ahead import steps_in
from lanewise.autograph.analysis import Analysis
from lanewise.autograph.build import (
    HOOKS,
    MANAGER,
    Names,
    arguments,
    assign,
    attribute,
    clone,
    constant,
    hook,
    if_,
    immediate,
    load,
    method,
    place,
    place_all,
    statement,
    store,
    through,
    tuple_,
    walrus,
)
from lanewise.autograph.counted import names_in
from lanewise.autograph.expressions import SET_OPERATORS, Expressions
from lanewise.autograph.lists.syntax import changed_within, name_of
from lanewise.autograph.scopes import Scope, mangle

#: The exception in the handlers of branches and loops.
_ERROR = "ag__e"


class Statements:
    """Rewrites the statements of one function."""

    def __init__(
        self,
        names: Names,
        scope: Scope,
        flags: Mapping[ast.stmt, str],
        analysis: Analysis,
        outer: frozenset[str],
        owner: str | None,
        convert: Callable[[ast.stmt, frozenset[str]], None],
    ) -> None:
        self.names = names
        self.scope = scope
        self.flags = flags
        self.analysis = analysis
        self.outer = outer - scope.locals
        self.owner = owner
        self.convert = convert  # converts a function or a class within, in place
        self.shared: frozenset[str] = frozenset()  # variables that functions within assign to
        self.expressions = Expressions(
            names, scope, analysis.unsure, analysis.undefinable, self.outer, owner
        )

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in body:
            handler = getattr(self, type(node).__name__, None)
            made += place_all(handler(node), node) if handler else [node]
        return made

    def visit(self, node: ast.expr) -> ast.expr:
        return self.expressions.visit(node)

    # --- branches and loops

    def state(self, node: ast.stmt) -> tuple[ast.expr, tuple[str, ...]]:
        """Return the names of a state as a constant of the code, and the names."""
        names = self.analysis.state[node]
        return constant(tuple([mangle(name, self.owner) for name in names])), names

    def If(self, node: ast.If) -> list[ast.stmt]:  # noqa: N802
        turn, driver = self.names.fresh("b"), self.names.fresh("s")
        labels, names = self.state(node)
        rest = self.analysis.restored[node]
        extra = [tuple_(rest)] if rest else []
        test = hook("branches", self.expressions.test(node.test), labels, tuple_(names), *extra)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        fork = place(if_(load(turn), node.body, node.orelse), node)
        body: list[ast.stmt] = [
            self.guarded([fork], driver),
            _restore(names + rest, method(driver, "end", tuple_(names), *map(clone, extra))),
        ]
        return [ast.For(store(turn), place(walrus(driver, test), node.test), body, [])]

    def While(self, node: ast.While) -> list[ast.stmt]:  # noqa: N802
        turn, driver = self.names.fresh("i"), self.names.fresh("l")
        labels, names = self.state(node)
        read = names_in(node.test)
        tested = () if read is None else [n for n, name in enumerate(names) if name in read]
        made = self.names.fresh("step")
        steps = None if read is None else steps_in(node, read, names, made)
        ahead = [constant(tuple(steps[0])), load(made)] if steps else []
        test = place(method(driver, "test", self.expressions.test(node.test)), node.test)
        turns = place(if_(test, self.block(node.body)), node)
        body = [
            *_state_of(driver, names),
            self.guarded([turns], driver),
            statement(method(driver, "next", tuple_(names))),
        ]
        return [
            *([steps[1]] if steps else []),
            assign(driver, hook("while_", labels, tuple_(names), constant(tuple(tested)), *ahead)),
            ast.For(store(turn), load(driver), body, []),
            *_state_of(driver, names),
        ]

    def For(self, node: ast.For) -> list[ast.stmt]:  # noqa: N802
        turn, driver = self.names.fresh("i"), self.names.fresh("l")
        labels, names = self.state(node)
        flag = self.flags.get(node)
        flags: list[ast.expr] = [load(flag)] if flag else []
        is_new = isinstance(node.iter, ast.Call)
        iterable = through(node.iter)
        items = place(hook("gone_through", iterable), iterable) if is_new else iterable
        if lists := _taken_at_once(node):
            items = place(hook("taken_at_once", items, *map(load, lists)), items)
        start = hook("for_", self.visit(items), labels, tuple_(names), constant(flag))
        if shared := sorted(self.shared.intersection(names)):
            start.args.append(ast.Lambda(arguments([]), tuple_(shared)))
        first = place_all(self.store(node.target, load(turn)), node.target)
        inner = [*first, *self.block(node.body)]
        turns = place(if_(method(driver, "enter", *flags), inner), node)
        body = [
            *_state_of(driver, names),
            self.guarded([turns], driver),
            statement(method(driver, "next", tuple_(names), *[clone(flag) for flag in flags])),
        ]
        return [
            assign(driver, place(start, node.iter)),
            ast.For(store(turn), load(driver), body, []),
            *_state_of(driver, names),
        ]

    def guarded(self, body: list[ast.stmt], driver: str) -> ast.stmt:
        """Return statements in a ``try`` that hands exceptions to a driver.

        ``stop`` tells whether they must go on; a bare ``raise`` leaves no mark in the traceback.
        """
        test = method(driver, "stop", load(_ERROR))
        handler = ast.ExceptHandler(attribute(HOOKS, "Failure"), _ERROR, [if_(test, [ast.Raise()])])
        return ast.Try(body, [handler], [], [])

    # --- assignments

    def Assign(self, node: ast.Assign) -> list[ast.stmt]:  # noqa: N802
        value = self.visit(node.value)
        if all(map(self.is_simple, node.targets)):
            node.value = value
            return [node]
        if len(node.targets) == 1 and (
            isinstance(value, (ast.Constant, ast.Name))
            or isinstance(node.targets[0], (ast.Name, ast.Tuple, ast.List))
        ):
            return place_all(self.store(node.targets[0], value), node)
        kept = self.names.fresh("t")  # Python evaluates the value first
        made: list[ast.stmt] = [assign(kept, value)]
        for target in node.targets:
            made += self.store(target, load(kept))
        return place_all(made, node)

    def is_simple(self, target: ast.expr) -> bool:
        """Return whether only local variables are assigned to."""
        if isinstance(target, ast.Name):
            return not self.expressions.is_elsewhere(target.id)
        if isinstance(target, ast.Starred):
            return self.is_simple(target.value)
        return isinstance(target, (ast.Tuple, ast.List)) and all(map(self.is_simple, target.elts))

    def store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Return the assignment of a value, which is evaluated first or has no effects."""
        if self.is_simple(target):
            return [ast.Assign([target], value)]
        if isinstance(target, ast.Name):
            return [statement(self.expressions.set_elsewhere(target.id, value))]
        if isinstance(target, ast.Subscript):
            index = self.expressions.index(target.slice)
            return [statement(hook("setitem", self.visit(target.value), index, value))]
        if isinstance(target, ast.Attribute):
            name = constant(mangle(target.attr, self.owner))
            return [statement(hook("setattr", self.visit(target.value), name, value))]
        assert isinstance(target, (ast.Tuple, ast.List))
        made: list[ast.stmt] = []
        parts: list[ast.expr] = []
        for part in target.elts:  # all are unpacked before the first is stored
            kept = self.names.fresh("t")
            is_starred = isinstance(part, ast.Starred)
            parts.append(ast.Starred(store(kept), ast.Store()) if is_starred else store(kept))
            made += self.store(part.value if isinstance(part, ast.Starred) else part, load(kept))
        return [ast.Assign([ast.Tuple(parts, ast.Store())], value), *made]

    def AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:  # noqa: N802
        if node.value is None:
            return [node]
        if isinstance(node.target, ast.Name):
            node.value = self.visit(node.value)
            return [node]
        return self.Assign(place(ast.Assign([node.target], node.value), node))

    def AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:  # noqa: N802
        target, before = node.target, []
        if isinstance(target, ast.Name) and not self.expressions.is_elsewhere(target.id):
            node.value = place(
                hook("changing", load(target.id), self.visit(node.value), *_symbol(node)),
                node.value,
            )
            if target in self.analysis.unsure and target.id in self.analysis.undefinable:
                before = [assign(target.id, hook("defined", load(target.id)))]
            return [*before, node]
        if isinstance(target, ast.Name):
            old = self.visit(load(target.id))
            kept_target: ast.expr = store(target.id)
        else:
            owner = self.names.fresh("t")
            before.append(assign(owner, self.visit(target.value)))
            if isinstance(target, ast.Attribute):
                old = attribute(owner, target.attr)
                kept_target = ast.Attribute(load(owner), target.attr, ast.Store())
            else:
                key = self.names.fresh("t")
                before.append(assign(key, self.expressions.index(target.slice)))
                old = hook("getitem", load(owner), load(key))
                kept_target = ast.Subscript(load(owner), load(key), ast.Store())
        value = self.names.fresh("t")
        by = place(
            hook("changing", load(value), self.visit(node.value), *_symbol(node)), node.value
        )
        change = place(ast.AugAssign(store(value), node.op, by), node)
        stored = self.store(kept_target, load(value))
        return [*before, assign(value, place(old, target)), change, *stored]

    def Delete(self, node: ast.Delete) -> list[ast.stmt]:  # noqa: N802
        return [made for target in node.targets for made in self.delete(target)]

    def delete(self, target: ast.expr) -> list[ast.stmt]:
        if isinstance(target, (ast.Tuple, ast.List)):
            return [made for part in target.elts for made in self.delete(part)]
        if isinstance(target, ast.Subscript):
            index = self.expressions.index(target.slice)
            return [statement(hook("delitem", self.visit(target.value), index))]
        if isinstance(target, ast.Attribute):
            name = constant(mangle(target.attr, self.owner))
            return [statement(hook("delattr", self.visit(target.value), name))]
        assert isinstance(target, ast.Name)
        name = target.id
        if name in self.outer and name in self.scope.nonlocals:
            nothing = self.expressions.set_elsewhere(name, self.undefined(name))
            return [statement(self.visit(load(name))), statement(nothing)]
        if name not in self.analysis.undefinable:
            return [ast.Delete([target])]
        made: list[ast.stmt] = []
        if target in self.analysis.unsure:
            made.append(statement(hook("defined", load(name))))
        return [*made, self.undefine(name)]

    def undefine(self, name: str) -> ast.Assign:
        return assign(name, self.undefined(name))

    def undefined(self, name: str) -> ast.expr:
        return hook("Undefined", constant(mangle(name, self.owner)))

    # --- other statements

    def Expr(self, node: ast.Expr) -> list[ast.stmt]:  # noqa: N802
        node.value = self.visit(node.value)
        return [node]

    def Return(self, node: ast.Return) -> list[ast.stmt]:  # noqa: N802
        node.value = node.value and self.visit(node.value)
        return [node]

    def Raise(self, node: ast.Raise) -> list[ast.stmt]:  # noqa: N802
        if node.exc is not None:
            causes = [self.visit(node.cause)] if node.cause else []
            raised = hook("raise_", hook("deferred"), self.visit(node.exc), *causes)
            node.exc, node.cause = place(raised, node.exc), None
        return [node]

    def With(self, node: ast.With) -> list[ast.stmt]:  # noqa: N802
        node.body = self.block(node.body)
        return [node]

    def Try(self, node: ast.Try) -> list[ast.stmt]:  # noqa: N802
        turn, driver = self.names.fresh("i"), self.names.fresh("a")
        labels, names = self.state(node)
        rest = self.analysis.restored[node]
        extra = [tuple_(rest)] if rest else []
        prints = any(
            "print" in (getattr(part, "id", "") or getattr(part, "attr", ""))
            for last in node.finalbody
            for part in ast.walk(last)
        )
        caught: list[ast.expr] = []
        leave = place(statement(method(driver, "leave")), node)
        body = [place(statement(method(driver, "enter")), node), *self.block(node.body), leave]
        for handler in node.handlers:
            kind = handler.type and self.visit(handler.type)
            asked = clone(kind) if kind else load("BaseException")
            uses_it = constant(bool(handler.name) or _raises_again(handler.body))
            caught.append(ast.Tuple([immediate([], asked).func, uses_it], ast.Load()))
            handler.type, handler.body = kind, self.block(handler.body)
            self.keep_name(handler)
            handler.body.insert(0, place(statement(method(driver, "handle")), handler))
        node.body, node.orelse = body, self.block(node.orelse)
        if node.finalbody:
            last = place(method(driver, "last"), node)
            node.finalbody = [place(if_(last, self.block(node.finalbody)), node)]
        if node.handlers and isinstance(node, ast.Try):
            stop = ast.ExceptHandler(attribute(driver, "foreign"), None, [ast.Raise()])
            node.handlers.insert(0, place(stop, node))
        start = hook(
            "try_",
            labels,
            constant(rest),
            ast.Tuple(caught, ast.Load()),
            constant(bool(node.finalbody)),
            constant(prints),
            *([load(node.__dict__[MANAGER])] if MANAGER in node.__dict__ else []),
        )
        turns: list[ast.stmt] = [
            self.guarded([node], driver),
            _restore(names + rest, method(driver, "end", tuple_(names), *extra)),
        ]
        return [ast.For(store(turn), place(walrus(driver, start), node), turns, [])]

    def TryStar(self, node: ast.TryStar) -> list[ast.stmt]:  # noqa: N802
        return [node]

    def keep_name(self, handler: ast.ExceptHandler) -> None:
        """Leave "no value" in the variable of a handler, which Python deletes at its end."""
        name = handler.name
        if name not in self.analysis.undefinable or name is None:
            return
        caught = handler.name = self.names.fresh("t")
        inner = ast.Try(handler.body, [], [], [self.undefine(name)])
        handler.body = place_all([assign(name, load(caught)), inner], handler)

    # --- functions and classes within

    def FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:  # noqa: N802
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        args = node.args
        args.defaults = [self.visit(part) for part in args.defaults]
        args.kw_defaults = [part and self.visit(part) for part in args.kw_defaults]
        if any([isinstance(part, ast.Nonlocal) for part in ast.walk(node)]):
            node.decorator_list.append(place(attribute(HOOKS, "closure"), node))
        self.convert(node, self.outer | self.analysis.undefinable)
        return [node]

    AsyncFunctionDef = FunctionDef

    def ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:  # noqa: N802
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.bases = [self.visit(part) for part in node.bases]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        self.convert(node, self.outer | self.analysis.undefinable)
        born = place(attribute(HOOKS, "born"), node)
        if node.decorator_list:  # which may change the class, or give another
            node.decorator_list.append(place(attribute(HOOKS, "born"), node))
        node.decorator_list.insert(0, born)
        return [node]


def _raises_again(body: Sequence[ast.stmt]) -> bool:
    """Return whether a handler may raise what it has caught once more."""
    return any(
        isinstance(part, ast.Raise) and part.exc is None for node in body for part in ast.walk(node)
    )


def _restore(names: Sequence[str], value: ast.expr) -> ast.stmt:
    """Return ``(x, y) = value``, or only the value where the state is empty."""
    return ast.Assign([tuple_(names, ast.Store)], value) if names else statement(value)


def _taken_at_once(node: ast.For) -> list[str]:
    """Return the lists that a loop changes while `map` or `filter` goes through them."""
    parts = list(ast.walk(node.iter))
    calls = [name_of(part.func) for part in parts if isinstance(part, ast.Call)]
    through = {name_of(part) for part in parts} & changed_within(node.body) - {None}
    return sorted(name for name in through if name) if {"map", "filter"} & {*calls} else []


def _state_of(driver: str, names: Sequence[str]) -> list[ast.stmt]:
    return [_restore(names, attribute(driver, "state"))] if names else []


def _symbol(node: ast.AugAssign) -> list[ast.expr]:
    """Return what is done, where that may be done to sets or lists."""
    symbol = "*" if isinstance(node.op, ast.Mult) else SET_OPERATORS.get(type(node.op))
    return [] if symbol is None else [constant(symbol)]
