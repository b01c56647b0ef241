"""Lists of records, which are changed in place: ``runs[-1][1] += 1``, ``run.count += 1``.

A list whose length the data decide keeps what its elements hold, and not the objects. Where nobody
else can have these, as each is made where it is put in and is used by its parts alone, such a
change is one of the list: ``runs[-1]`` is assigned a record like it with another part. A variable
that stands for an element, ``last = runs[-1]`` or that of ``for run in runs``, is then its index.
"""

from __future__ import annotations

import ast
from typing import Any

from lanewise.autograph.build import Names, assign, clone, hook, load, place, place_all, store
from lanewise.autograph.lists.record_uses import (
    PUTTING,
    Records,
    changed_within,
    is_entry,
    is_entry_of,
    is_object,
    is_of_none,
    own_names,
)
from lanewise.autograph.lists.syntax import called, name_of
from lanewise.autograph.scopes import Scope


def with_records(
    body: list[ast.stmt], scope: Scope, names: Names
) -> tuple[list[ast.stmt], set[str]]:
    """Return a function's statements in which records in lists are changed as elements of these.

    And the names of these lists.
    """
    lists = set()
    for name in sorted(changed_within(body) - scope.parameters):
        found = Records(name, body)
        if found.is_one:
            rewrite = _Rewrite(name, found.places, found.given, names)
            body = [made for node in body for made in rewrite.statement(node)]
            lists.add(name)
    return body, lists


class _Rewrite(ast.NodeTransformer):
    """Assigns elements of a list where a part of one is assigned."""

    def __init__(self, name: str, places: set[str], given: set[str], names: Names) -> None:
        self._name, self._places, self._names = name, places, names
        self._given = given

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Return what stands for a statement."""
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def _element(self, node: ast.expr) -> ast.expr | None:
        """Return the index of the element that an expression is, if it is one."""
        if isinstance(node, ast.Name) and node.id in self._places:
            return load(node.id)
        is_one = isinstance(node, ast.Subscript) and is_entry_of(self._name, node)
        return node.slice if is_one else None

    def _at(self, index: ast.expr) -> ast.Subscript:
        return ast.Subscript(load(self._name), index, ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the element that a variable stands for, in place of the variable."""
        if node.id not in self._places or not isinstance(node.ctx, ast.Load):
            return node
        return place(self._at(load(node.id)), node)

    def _comprehension(self, node: ast.AST) -> Any:
        before, self._places = self._places, self._places - own_names(node)
        self.generic_visit(node)
        self._places = before
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815
    visit_Lambda = _comprehension  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> Any:
        if is_of_none(node) and name_of(node.left) in self._places:
            return node
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> Any:
        targets = {x.id for x in ast.walk(node.target) if isinstance(x, ast.Name)}
        if targets & self._places:
            if isinstance(node.iter, ast.Call):
                node.iter.args = [self._all(node.iter)]
            else:
                node.iter = self._all(node.iter)
        return self.generic_visit(node)

    def _all(self, like: ast.AST) -> ast.expr:
        return place(hook("places", load(self._name)), like)

    def visit_Assign(self, node: ast.Assign) -> Any:
        target, value = node.targets[0], node.value
        if name_of(target) in self._places:
            return self._found(node)
        stored = [x for x in ast.walk(node) if self._is_stored(x)]
        if not stored:
            self._note_made(node)
            return self.generic_visit(node)
        if len(node.targets) == 1 and target is stored[0]:
            found = self._names.fresh("value")
            made: list[ast.stmt] = [ast.Assign([store(found)], self.visit(value))]
            return place_all([*made, *self._put(target, load(found))], node)
        later: list[ast.stmt] = []
        node.targets = [self._apart(each, later) for each in node.targets]
        return [self.generic_visit(node), *place_all(later, node)]

    def _note_made(self, node: ast.Assign) -> None:
        """Note the records of a list that is made, or of an entry that is assigned."""
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for one, made in pairs:
            is_put = isinstance(one, ast.Subscript) and name_of(one.value) == self._name
            if name_of(one) in self._given or (is_put and is_entry(one, ast.Store)):
                self._note(made)
            elif name_of(one) == self._name and isinstance(made, ast.List):
                self._note(*made.elts)
            elif name_of(one) == self._name and isinstance(made, ast.ListComp):
                self._note(made.elt)

    def _found(self, node: ast.Assign) -> list[ast.stmt]:
        """Return what assigns an index to a variable that stands for an element."""
        target, value = node.targets[0], node.value
        if isinstance(value, ast.IfExp):
            ways = [self._found(place(ast.Assign([clone(target)], each), node))
                    for each in (value.body, value.orelse)]  # fmt: skip
            return [place(ast.If(self.visit(value.test), *ways), node)]
        index = self._element(value)
        if index is None or isinstance(value, ast.Name):
            return [node]
        key = self._names.fresh("index")
        node.value = hook("index_in", load(self._name), load(key))
        return place_all([assign(key, self.visit(index)), node], node)

    def _is_stored(self, node: ast.AST) -> bool:
        if not isinstance(node, (ast.Subscript, ast.Attribute)):
            return False
        return isinstance(node.ctx, ast.Store) and self._element(node.value) is not None

    def _apart(self, target: ast.expr, later: list[ast.stmt]) -> ast.expr:
        """Return a target with variables in place of parts of records, which are put later."""
        if self._is_stored(target):
            found = self._names.fresh("value")
            later += self._put(target, load(found))
            return store(found)
        if isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._apart(each, later) for each in target.elts]
        return target

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, ast.Name) or not self._is_stored(target):
            return self.generic_visit(node)
        made, index = self._kept(self._element(target.value))
        value, element = self._names.fresh("value"), self._at(clone(index))
        if isinstance(target, ast.Subscript):
            more, key = self._kept(target.slice)
            made += more
            before: ast.expr = ast.Subscript(element, clone(key), ast.Load())
            target = ast.Subscript(target.value, key, ast.Store())
        else:
            before = ast.Attribute(element, target.attr, ast.Load())
        made += [
            assign(value, before),
            ast.AugAssign(store(value), node.op, self.visit(node.value)),
            self._changed(index, target, load(value)),
        ]
        return place_all(made, node)

    def _put(self, target: Any, value: ast.expr) -> list[ast.stmt]:
        """Return what puts a value where a part of a record is."""
        made, index = self._kept(self._element(target.value))
        if isinstance(target, ast.Subscript):
            more, key = self._kept(target.slice)
            made += more
            target = ast.Subscript(target.value, key, ast.Store())
        return [*made, self._changed(index, target, value)]

    def _changed(self, index: ast.expr, part: Any, value: ast.expr) -> ast.stmt:
        is_entry = isinstance(part, ast.Subscript)
        key = part.slice if is_entry else ast.Constant(part.attr)
        name = "with_part" if is_entry else "with_attribute"
        return assign(self._name, hook(name, load(self._name), clone(index), clone(key), value))

    def _kept(self, node: ast.expr | None) -> tuple[list[ast.stmt], ast.expr]:
        """Return what is found once of an expression, and what finds it."""
        assert node is not None
        if _is_constant(node) or name_of(node) in self._places:
            return [], node
        name = self._names.fresh("index")
        return [assign(name, self.visit(node))], load(name)

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(ast.Attribute(element, name), args, keywords) if index := self._element(
                element
            ):
                made, index = self._kept(index)
                given: list[ast.expr] = []
                for arg in (*args, *[keyword.value for keyword in keywords]):
                    given.append(load(self._names.fresh("arg")))
                    made.append(ast.Assign([store(given[-1].id)], self.visit(arg)))  # ty: ignore[missing-attribute]
                parts = [load(self._name), clone(index), ast.Constant(name), *given[: len(args)]]
                changed = hook("with_call", *parts)
                rest = zip(keywords, given[len(args) :], strict=True)
                changed.keywords = [ast.keyword(keyword.arg, value) for keyword, value in rest]
                return place_all([*made, assign(self._name, changed)], node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        change = called(node)
        if change is not None and change.name == self._name and change.method in PUTTING:
            self._note(change.args[-1])
        return self.generic_visit(node)

    def _note(self, *made: ast.expr) -> None:
        """Have it seen whether records are new that functions return."""
        for each in made:
            if isinstance(each, ast.Call) and is_object(each):
                each.func = place(hook("new", each.func), each.func)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
