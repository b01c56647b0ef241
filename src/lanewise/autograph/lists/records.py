"""Lists of records, which are changed in place: ``runs[-1][1] += 1``, ``run.count += 1``.

A list whose length the data decide keeps what its elements hold, and not the objects. Where nobody
else can have these, as each is made where it is put in and is used by its parts alone, such a
change is one of the list: ``runs[-1]`` is assigned a record like it with another part. A variable
that stands for an element, ``last = runs[-1]`` or that of ``for run in runs``, is then its index.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from lanewise.autograph.build import Names, assign, call, clone, hook, load, place, place_all, store
from lanewise.autograph.lists.syntax import are_plain, called, name_of
from lanewise.autograph.scopes import Scope

#: Functions that read what they are given at once.
_READING = frozenset(("dict", "len", "list", "max", "min", "sum", "tuple"))
#: Methods that put a record in a list; and those after which another element may be at an index.
_PUTTING = frozenset(("append", "insert"))
_MOVING = frozenset(("clear", "insert", "pop", "remove", "reverse", "sort"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Global)


def with_records(body: list[ast.stmt], scope: Scope, names: Names) -> list[ast.stmt]:
    """Return a function's statements in which records in lists are changed as elements of these."""
    for name in sorted(_changed_within(body) - scope.parameters):
        found = _Records(name, body)
        if found.is_one:
            rewrite = _Rewrite(name, found.places, names)
            body = [made for node in body for made in rewrite.statement(node)]
    return body


def _changed_within(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names of lists to which records are appended, if elements may be changed."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    calls = [node.value for node in nodes if isinstance(node, ast.Expr)]
    methods = [x for x in calls if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)]
    if len(methods) < 2 and not any([_is_part(node, ast.Store) for node in nodes]):
        return set()
    appended = [each for each in map(called, nodes) if each and each.method in _PUTTING]
    return {each.name for each in appended if _is_new(each.args[-1])}


def _is_display(node: ast.expr) -> bool:
    """Whether it makes a list or dict that nobody has."""
    if isinstance(node, ast.List):
        return are_plain(node.elts)
    if isinstance(node, ast.Dict):
        return None not in node.keys
    return isinstance(node, ast.Call) and name_of(node.func) in ("list", "dict")


def _is_object(node: ast.expr) -> bool:
    """Whether it is what a function returns, or a new object of a class: that is seen later."""
    if not isinstance(node, ast.Call) or _is_display(node):
        return False
    return isinstance(node.func, ast.Name) or getattr(node.func, "attr", "")[:1].isupper()


def _is_new(node: ast.expr) -> bool:
    """Whether it makes a record."""
    return _is_display(node) or _is_object(node)


def _is_entry(node: Any, context: type[ast.expr_context] = ast.Load) -> bool:
    """Whether it is ``x[i]``, no slice, in some context."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, context)
        and not isinstance(node.slice, (ast.Slice, ast.Tuple))
    )


def _is_part(node: Any, context: type[ast.expr_context] = ast.Load) -> bool:
    """Whether it is ``x[i]`` or ``x.name`` in some context."""
    if isinstance(node, ast.Attribute):  # names of two underscores are those of a class
        return isinstance(node.ctx, context) and not node.attr.startswith("__")
    return _is_entry(node, context)


class _Use(NamedTuple):
    """A name that is used, and the nodes around it, the innermost first."""

    node: ast.Name
    around: tuple[ast.AST, ...]


def _uses(
    node: ast.AST, around: tuple[ast.AST, ...] = (), hidden: frozenset[str] = frozenset()
) -> Iterator[_Use]:
    if isinstance(node, ast.Name) and node.id not in hidden:
        yield _Use(node, around)
    hidden |= _own_names(node)
    for part in ast.iter_child_nodes(node):
        yield from _uses(part, (node, *around), hidden)


def _own_names(node: ast.AST) -> frozenset[str]:
    """Return the variables of a comprehension, which are no others of that name."""
    parts = getattr(node, "generators", ())
    targets = [x for part in parts for x in ast.walk(part.target)]
    return frozenset(x.id for x in targets if isinstance(x, ast.Name))


class _Records:
    """What is done with a list of records: `is_one` if its elements have no other names.

    `places` are the variables that stand for elements.
    """

    def __init__(self, name: str, body: list[ast.stmt]) -> None:
        self.name = name
        self._uses: dict[str, list[tuple[int, _Use]]] = {}
        for number, statement in enumerate(body):
            for use in _uses(statement):
                self._uses.setdefault(use.node.id, []).append((number, use))
        self.places = self._find_places()
        changes = [
            number
            for each in (name, *self.places)
            for number, use in self._uses.get(each, ())
            if _is_changed(self._part_of(use))
        ]
        #: The statement that is the last to change an element.
        self._last = max(changes, default=-1)
        self.is_one = bool(changes) and all(
            [self._is_known(number, use) for number, use in self._uses[name]]
        ) and all([
            self._is_known_place(number, use)
            for each in self.places
            for number, use in self._uses[each]
        ])  # fmt: skip

    def _find_places(self) -> set[str]:
        """Return the variables that hold elements and are used by parts, or as others are."""
        found: set[str] = set()
        while True:
            more = {
                name for name, uses in self._uses.items()
                if name not in found and name != self.name
                and any([self._stands_for(use, found) for _, use in uses])
            }  # fmt: skip
            if not more:
                return found
            found |= more

    def _stands_for(self, use: _Use, places: set[str]) -> bool:
        """Whether a variable is assigned an element."""
        if not isinstance(use.node.ctx, ast.Store):
            return False
        match use.around[0]:
            case ast.Assign([ast.Name()], value):
                found = [self._is_element(each, places) for each in _choices(value)]
                return True in found and False not in found
        loop = next((x for x in use.around if isinstance(x, (ast.For, ast.comprehension))), None)
        return isinstance(loop, ast.For) and self._item(loop) is use.node

    def _is_element(self, node: ast.expr, places: set[str]) -> bool | None:
        """Whether it is an element of the list; None of None, which is none."""
        if _is_none(node):
            return None
        if isinstance(node, ast.Name):
            return node.id in places
        return _is_entry_of(self.name, node)

    def _item(self, loop: ast.For) -> ast.AST | None:
        """Return the name of the elements in a loop over the list."""
        match loop.iter, loop.target:
            case ast.Name(self.name), ast.Name() as item:
                return item
            case ast.Call(ast.Name("enumerate"), [ast.Name(self.name)], []), ast.Tuple(
                [ast.Name(), ast.Name() as item]
            ):
                return item
        return None

    def _part_of(self, use: _Use) -> tuple[ast.AST, ...]:
        """Return a part of an element, ``runs[i][j]`` or ``run.name``, and what is around that."""
        depth = 0 if use.node.id in self.places else 1
        inner: list[Any] = [use.node, *use.around[: depth + 1]]
        if not isinstance(use.node.ctx, ast.Load) or len(inner) < depth + 2:
            return ()
        if depth and not _is_entry(inner[1]):
            return ()
        kinds = (ast.Subscript, ast.Attribute)
        if not all([isinstance(x, kinds) and x.value is one for one, x in pairwise(inner)]):
            return ()
        return use.around[depth:]

    def _is_known(self, number: int, use: _Use) -> bool:
        """Whether a use of the list leaves its elements without other names."""
        node, outer = use.node, use.around[0]
        if _is_later(use):
            return False
        if not isinstance(node.ctx, ast.Load):
            return self._is_made(use)
        if part := self._part_of(use):
            return _is_followed(*part[:3])
        match outer:
            case ast.Attribute():
                change = called(use.around[1])
                if change is None or not isinstance(use.around[2], ast.Expr):
                    return change is not None and change.method == "pop" and not self.places
                is_new = all(map(_is_new, change.args[-1:])) if change.method in _PUTTING else True
                moves = change.method in _MOVING and bool(self.places)
                return is_new and not moves and change.method not in ("extend", "appendleft")
            case ast.Subscript(ctx=ast.Store()) if _is_entry(outer, ast.Store):
                within = use.around[1]
                return isinstance(within, ast.Assign) and _is_new(within.value)
            case ast.For(target) if outer.iter is node:
                return isinstance(target, ast.Tuple) or self._goes_through(outer)
            case ast.comprehension(ast.Tuple()) if outer.iter is node:
                return True
            case ast.comprehension(ast.Name(item)) if outer.iter is node:
                return number > self._last or _is_used_by_parts(item, use.around[1], outer)
            case ast.Call(ast.Name("len"), [_], []):
                return True
            case ast.Call(ast.Name("enumerate"), [_], []):
                loop = use.around[1]
                return isinstance(loop, ast.For) and (
                    self._goes_through(loop) or _are_taken_apart(loop.target)
                )
            case ast.Subscript() if _is_entry(outer) and self._is_read(outer, use.around[1:]):
                return True
        return number > self._last or _is_tested(use)

    def _is_made(self, use: _Use) -> bool:
        """Whether the variable is assigned a list of records that nobody has."""
        match use.around[0]:
            case ast.Assign([ast.Name()], value) | ast.AnnAssign(value=value):
                made = value
            case ast.Tuple(targets) if isinstance(use.around[1], ast.Assign):
                values = use.around[1].value
                if not isinstance(values, ast.Tuple) or len(values.elts) != len(targets):
                    return False
                made = values.elts[targets.index(use.node)]
            case _:
                return False
        if self.places and any([isinstance(x, (ast.For, ast.While)) for x in use.around]):
            return False  # an index is into the list of before
        if isinstance(made, ast.List):
            return all(map(_is_new, made.elts))
        return isinstance(made, ast.ListComp) and _is_new(made.elt)

    def _goes_through(self, loop: ast.For) -> bool:
        """Whether a loop over the list has its variable stand for elements that stay there."""
        changes = [called(node) for part in loop.body for node in ast.walk(part)]
        is_changed = self.name in [each.name for each in changes if each is not None]
        return self._item(loop) is not None and not is_changed

    def _is_read(self, element: ast.AST, around: tuple[ast.AST, ...]) -> bool:
        """Whether an element is read at once, or assigned to what stands for it."""
        node, *rest = around
        while isinstance(node, ast.IfExp) and element is not node.test:
            element, (node, *rest) = node, rest
        match node:
            case ast.Assign([ast.Name(name)], value):
                return value is element and name in self.places
            case ast.Assign([ast.Tuple()], value):
                return value is element
            case ast.Call(ast.Name(name), [_], []):
                return name in _READING
        return False

    def _is_known_place(self, number: int, use: _Use) -> bool:
        """Whether a use of a variable that stands for an element is one of its parts."""
        node, outer = use.node, use.around[0]
        if _is_later(use):
            return False
        if not isinstance(node.ctx, ast.Load):
            is_none = isinstance(outer, ast.Assign) and _is_none(outer.value)
            return is_none or self._stands_for(use, self.places)
        if part := self._part_of(use):
            return _is_followed(*part[:3])
        if isinstance(outer, ast.Compare) and outer.left is node:
            return _is_of_none(outer)
        return self._is_read(node, use.around)


def _is_entry_of(name: str, node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and _is_entry(node) and name_of(node.value) == name


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_of_none(node: ast.Compare) -> bool:
    """Whether it is ``x is None``, or ``is not``."""
    return isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_none(node.comparators[0])


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions between which ``x if c else y`` chooses."""
    if isinstance(node, ast.IfExp):
        yield from _choices(node.body)
        yield from _choices(node.orelse)
    else:
        yield node


def _is_changed(part: tuple[Any, ...]) -> bool:
    """Whether a part of a record is assigned, or called for what it does."""
    if not part or isinstance(part[0].ctx, ast.Store):
        return bool(part)
    is_called = isinstance(part[0], ast.Attribute) and isinstance(part[1], ast.Call)
    return is_called and isinstance(part[2], ast.Expr)


def _is_followed(part: Any, outer: ast.AST, around: ast.AST | None = None) -> bool:
    """Whether what is done with a part of a record is to read, to assign or to call it."""
    if isinstance(part.ctx, ast.Load):
        if isinstance(part, ast.Attribute) and isinstance(outer, ast.Call) and outer.func is part:
            is_plain = are_plain(outer.args) and None not in [x.arg for x in outer.keywords]
            return not part.attr.startswith("__") and (is_plain or not isinstance(around, ast.Expr))
        is_within = isinstance(outer, (ast.Subscript, ast.Attribute))
        return not is_within or (
            isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Load)
        )
    return _is_part(part, ast.Store) and isinstance(outer, (ast.Assign, ast.AugAssign, ast.Tuple))


def _is_later(use: _Use) -> bool:
    """Whether it is used in a function, which may run later."""
    return any([isinstance(x, _FUNCTIONS) for x in use.around])


def _is_tested(use: _Use) -> bool:
    """Whether a list is asked for if it has elements, and for no more."""
    node: ast.AST = use.node
    for outer in use.around:
        if isinstance(outer, (ast.If, ast.While, ast.IfExp)) and outer.test is node:
            return True
        if not isinstance(outer, (ast.BoolOp, ast.UnaryOp)):
            return False
        node = outer
    return False


def _are_taken_apart(target: ast.expr) -> bool:
    """Whether it is ``i, (a, b)``."""
    return isinstance(target, ast.Tuple) and isinstance(target.elts[-1], ast.Tuple)


def _is_used_by_parts(item: str, made: ast.AST, own: ast.comprehension) -> bool:
    """Whether a comprehension takes the parts of elements, and no more."""
    kinds = (ast.Subscript, ast.Attribute)
    parts = [x.value for x in ast.walk(made) if isinstance(x, kinds) and _is_part(x)]
    within = {id(x) for x in (*parts, own.target)}
    names = [x for x in ast.walk(made) if isinstance(x, ast.Name) and x.id == item]
    return all([id(x) in within for x in names])


class _Rewrite(ast.NodeTransformer):
    """Assigns elements of a list where a part of one is assigned."""

    def __init__(self, name: str, places: set[str], names: Names) -> None:
        self._name, self._places, self._names = name, places, names

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Return what stands for a statement."""
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def _element(self, node: ast.expr) -> ast.expr | None:
        """Return the index of the element that an expression is, if it is one."""
        if isinstance(node, ast.Name) and node.id in self._places:
            return load(node.id)
        is_one = isinstance(node, ast.Subscript) and _is_entry_of(self._name, node)
        return node.slice if is_one else None

    def _at(self, index: ast.expr) -> ast.Subscript:
        return ast.Subscript(load(self._name), index, ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the element that a variable stands for, in place of the variable."""
        if node.id not in self._places or not isinstance(node.ctx, ast.Load):
            return node
        return place(self._at(load(node.id)), node)

    def _comprehension(self, node: ast.AST) -> Any:
        before, self._places = self._places, self._places - _own_names(node)
        self.generic_visit(node)
        self._places = before
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> Any:
        if _is_of_none(node) and name_of(node.left) in self._places:
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
        return place(call(load("range"), call(load("len"), load(self._name))), like)

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
            if _is_entry(one, ast.Store) and name_of(one.value) == self._name:  # ty: ignore[missing-attribute]
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
        if change is not None and change.name == self._name and change.method in _PUTTING:
            self._note(change.args[-1])
        return self.generic_visit(node)

    def _note(self, *made: ast.expr) -> None:
        """Have it seen whether records are new that functions return."""
        for each in made:
            if isinstance(each, ast.Call) and _is_object(each):
                each.func = place(hook("new", each.func), each.func)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
