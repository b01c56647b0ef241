"""Lists that a function makes and changes: statements that change one assign the variable as well.

``path = []; path.append(v)`` in a loop has as many elements as the loop has iterations, or as the
data say. While a function does nothing with a list but append to it, take its last or first
element, look at it and make an array of it, nobody else can have it. Then it need not stay one
object, and may become arrays (`lanewise.autograph.lists.grown`) where branches and loops leave it
longer or shorter. Where anything else is done with it, it is one of Python's again (`plain`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from lanewise.autograph.build import (
    HOOKS,
    Names,
    clone,
    hook,
    load,
    place,
    place_all,
    store,
    walrus,
)
from lanewise.autograph.comprehensions import GROWN, can_move, reduced
from lanewise.autograph.scopes import Scope

#: The functions of one list that give a number, and those that go through several.
_TOTALS = frozenset(("len", "sum", "max", "min"))
_PASSING = frozenset(("enumerate", "zip", "reversed"))
#: What goes through a list element by element (`lanewise.autograph.folds`).
_FOLDING = frozenset(("all", "any", "max", "min", "sum"))
#: Methods that put the elements anew.
_AGAIN = frozenset(("clear", "reverse", "sort"))
#: Functions that see the variables of who calls them.
_LOOKING = frozenset(("locals", "vars", "eval", "exec", "globals", "dir"))


def with_growing_lists(body: list[ast.stmt], scope: Scope, names: Names) -> list[ast.stmt]:
    """Return a function's statements with hooks for what is done to lists that it makes."""
    own = _assigned(body) - scope.parameters
    uses = _Uses(own)
    for node in body:
        uses.visit(node)
    known = (own & uses.grown) - uses.barred
    rewrite = _Rewrite(known, names)
    return [made for node in body for made in rewrite.statement(node)]


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that lists are assigned to."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    if any([_name(node) in _LOOKING for node in nodes]):
        return set()
    found = [_stored(node) for node in nodes if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return {name for pairs in found for name, _ in pairs}


def _stored(node: ast.Assign | ast.AnnAssign) -> list[tuple[str, ast.expr]]:
    """Return the names that lists are assigned to that are made there, each with its list."""
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    if len(targets) != 1 or node.value is None:
        return []
    target, value = targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        parts = [*target.elts, *value.elts]
        is_plain = not any([isinstance(part, ast.Starred) for part in parts])
        pairs = list(zip(target.elts, value.elts, strict=False)) if is_plain else []
    return [
        (name.id, made) for name, made in pairs
        if isinstance(name, ast.Name) and _is_made(made)
    ]  # fmt: skip


def _is_made(node: ast.expr) -> bool:
    """Whether it is a list of given elements, or a comprehension that can be a loop."""
    if isinstance(node, ast.ListComp):
        return can_move(node)
    is_list = isinstance(node, ast.List)
    return is_list and not any([isinstance(part, ast.Starred) for part in node.elts])


def _name(node: Any) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _called(node: Any) -> tuple[str, str, list[ast.expr]] | None:
    """Return the list, the method and the arguments of ``x.append(v)``, ``x.pop()``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.keywords:
        return None
    name, method, args = _name(node.func.value), node.func.attr, node.args
    if name is None or any([isinstance(arg, ast.Starred) for arg in args]):
        return None
    if method == "append" and len(args) == 1:
        return name, method, args
    if method == "extend" and len(args) == 1 and isinstance(args[0], (ast.List, ast.Tuple)):
        is_plain = not any([isinstance(part, ast.Starred) for part in args[0].elts])
        return (name, method, args) if is_plain else None
    if method in _AGAIN and not args:
        return name, method, args
    is_end = not args or (len(args) == 1 and ast.unparse(args[0]) in ("0", "-1"))
    return (name, method, args) if method == "pop" and is_end else None


def _changes(node: ast.AST | None) -> Iterator[ast.AST]:
    """Yield the calls by which a part of a statement changes lists, surely, and once."""
    if node is not None and _called(node) is not None:
        yield node
    parts: Iterable[Any] = () if node is None else ast.iter_child_nodes(node)
    if isinstance(node, ast.BoolOp):
        parts = node.values[:1]
    elif isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, (*_LATER, ast.NamedExpr)):
        parts = ()
    for part in parts:
        yield from _changes(part)


#: What is run later, or as often as something else says.
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _looked_at(node: Any) -> str | None:
    """Return the list that ``x`` or ``x[a:b]`` is (a part of)."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    return _name(node)


def _taken(node: Any) -> str | None:
    """Return the list of which a builtin tells something: ``len(x)``, ``sum(x)``, ``max(x)``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    return _looked_at(node.args[0]) if _name(node.func) in _TOTALS else None


def _folded(node: ast.Call) -> str | None:
    """Return the list that a builtin goes through; not of ``max(x, y)``, which compares both."""
    name, count = _name(node.func), len(node.args)
    is_one = count == 1 or (count == 2 and name == "sum")
    return _looked_at(node.args[0]) if name in _FOLDING and is_one else None


def _looked_at_within(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the lists that a comprehension looks at, or goes through."""
    for part in ast.walk(node):
        if isinstance(part, ast.comprehension):
            for each in (part.iter, *_passed(part.iter)):
                is_part = isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice)
                yield each.value if is_part else each
        elif isinstance(part, ast.Call) and _taken(part) is not None and _name(part.args[0]):
            yield part.args[0]
        elif isinstance(part, ast.Subscript) and _is_entry(part):
            yield part.value


def _passed(node: ast.expr) -> list[ast.expr]:
    """Return what ``zip(x, y)`` and its like go through."""
    return node.args if isinstance(node, ast.Call) and _name(node.func) in _PASSING else []


def _count_of(node: ast.Assign) -> int:
    """Return how many elements ``a, b = x`` takes of a list; 0 if that is not known."""
    target = node.targets[0]
    if len(node.targets) > 1 or not isinstance(target, (ast.Tuple, ast.List)):
        return 0
    is_plain = not any([isinstance(part, ast.Starred) for part in target.elts])
    return len(target.elts) if is_plain else 0


def _is_entry(node: ast.Subscript) -> bool:
    """Whether it is ``x[i]``, not a slice."""
    return isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple))


def _added(node: ast.AugAssign) -> tuple[str, list[ast.expr]] | None:
    """Return the list and the elements of ``x += [v, w]``."""
    name, value = _name(node.target), node.value
    if name is None or not isinstance(node.op, ast.Add) or not isinstance(value, ast.List):
        return None
    is_plain = not any([isinstance(part, ast.Starred) for part in value.elts])
    return (name, value.elts) if is_plain else None


class _Uses(ast.NodeVisitor):
    """Finds which lists grow, and which are used where the variable cannot be assigned as well."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.grown: set[str] = set()
        self.barred: set[str] = set()
        self._is_barred = False
        #: The calls of pop() that surely are made, and once.
        self._sure: set[int] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.names and (self._is_barred or isinstance(node.ctx, ast.Del)):
            self.barred.add(node.id)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.barred.update(node.names)

    visit_Nonlocal = visit_Global  # noqa: N815

    def _bar(self, node: ast.AST) -> None:
        """Look at a function: what it uses has other names for it, or is used later."""
        before, self._is_barred = self._is_barred, True
        self.generic_visit(node)
        self._is_barred = before

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _bar  # noqa: N815
    # These have ways out of their own.
    visit_Try = visit_With = visit_Match = _bar  # noqa: N815

    def _comprehension(self, node: ast.AST) -> None:
        """Look at a comprehension, in which a list can be looked at and no more."""
        looked_at = {id(each) for each in _looked_at_within(node)}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and id(part) not in looked_at:
                self.barred |= {part.id} & self.names

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        found = _called(node)
        if found is not None and found[1] == "pop" and id(node) not in self._sure:
            self.barred.add(found[0])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        added = _added(node)
        if added is not None:
            self.grown.add(added[0])
        elif isinstance(node.target, ast.Name):
            self.barred |= {node.target.id} & self.names
        self._change(node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        found = [name for name, made in _stored(node) if isinstance(made, ast.ListComp)]
        self.grown.update(found)
        self._change(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript):
                self._change(target.slice)
        self.generic_visit(node)

    visit_AnnAssign = visit_Assign  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> None:
        self._change(node.value, is_statement=_called(node.value) is not None)
        self.generic_visit(node)

    def _change(self, node: ast.expr | None, is_statement: bool = False) -> None:
        for made in _changes(node):
            found = _called(made)
            if found is not None and (found[1] == "pop" or is_statement):
                self.grown.add(found[0])
                self._sure.add(id(made))

    def visit_Return(self, node: ast.Return) -> None:
        self._change(node.value)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._change(node.test)
        self.generic_visit(node)


class _Rewrite(ast.NodeTransformer):
    """Puts hooks where lists of known uses are changed or looked at."""

    def __init__(self, known: set[str], names: Names) -> None:
        self.known = known
        self.names = names

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Return what stands for a statement."""
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def _is(self, name: str | None) -> bool:
        return name in self.known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Make the list one of Python's, as nobody knows what is done with it here."""
        if not self._is(node.id) or not isinstance(node.ctx, ast.Load):
            return node
        return place(walrus(node.id, hook("plain", load(node.id))), node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        found = _called(node.value)
        if found is None or not self._is(found[0]) or found[1] == "pop":
            return self.generic_visit(node)
        name, method, args = found
        if method in _AGAIN:
            made = hook("again", load(name), ast.Constant(method))
            return place(ast.Assign([store(name)], made), node)
        added: Any = args if method == "append" else args[0].elts  # ty: ignore[missing-attribute]
        return place_all(self._appended(name, added), node)

    def _appended(self, name: str, elements: list[ast.expr]) -> list[ast.stmt]:
        """Return what appends some elements, of which all are found first."""
        made: list[ast.stmt] = []
        if len(elements) == 1:
            value = self.visit(elements[0])
            return [ast.Assign([store(name)], hook("appended", load(name), value))]
        values = [self.names.fresh("value") for _ in elements]
        for value, element in zip(values, elements, strict=True):
            made.append(ast.Assign([store(value)], self.visit(element)))
        for value in values:
            made.append(ast.Assign([store(name)], hook("appended", load(name), load(value))))
        return made or [ast.Pass()]

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if len(node.targets) == 1 and self._is_place(target):
            return place_all(self._put(target, self.visit(node.value)), node)
        if self._is(_looked_at(node.value)) and (count := _count_of(node)):
            seen = self._seen(node.value)
            node.value = place(hook("unpacked", seen, ast.Constant(count)), node.value)
            node.targets = [self.visit(target)]
            return node
        own = {id(made) for name, made in _stored(node) if self._is(name)}
        if own:
            if id(node.value) in own:
                node.value = self._owned(node.value)
            elif isinstance(node.value, ast.Tuple):
                parts = node.value.elts
                node.value.elts = [self._owned(x) if id(x) in own else self.visit(x) for x in parts]
            return node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if [name for name, _ in _stored(node) if self._is(name)] and node.value is not None:
            node.value = self._owned(node.value)
            return node
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        added = _added(node)
        if added is not None and self._is(added[0]):
            elements = ast.List([self.visit(element) for element in added[1]], ast.Load())
            changed = hook("added", load(added[0]), elements)
            return place(ast.Assign([store(added[0])], changed), node)
        if self._is_place(node.target):
            target: Any = node.target
            key, entry, found = [self.names.fresh(kind) for kind in ("key", "entry", "value")]
            name, changed = target.value.id, [load(key), load(found), load(entry)]
            made = [
                ast.Assign([store(key)], self.visit(target.slice)),
                ast.Assign([store(entry)], hook("entry_of", load(name), load(key))),
                ast.Assign([store(found)], load(entry)),
                ast.AugAssign(store(found), node.op, self.visit(node.value)),
                ast.Assign([store(name)], hook("with_entry", load(name), *changed)),
            ]
            return place_all(made, node)
        return self.generic_visit(node)

    def _is_place(self, node: ast.expr) -> bool:
        """Whether it is ``x[i]`` of a list, where something is put."""
        return (
            isinstance(node, ast.Subscript)
            and self._is(_name(node.value))
            and not isinstance(node.slice, (ast.Slice, ast.Tuple))
        )

    def _put(self, target: Any, value: ast.expr) -> list[ast.stmt]:
        """Return what puts a value there, which Python finds before the place."""
        name, found = target.value.id, self.names.fresh("value")
        changed = hook("with_entry", load(name), self.visit(target.slice), load(found))
        return [ast.Assign([store(found)], value), ast.Assign([store(name)], changed)]

    def _owned(self, made: ast.expr) -> ast.expr:
        made = self._grown(made) if isinstance(made, ast.ListComp) else self.generic_visit(made)  # ty: ignore[invalid-assignment]
        return place(hook("owned", made), made)

    def _grown(self, node: ast.ListComp) -> ast.expr:
        """Return a comprehension that becomes a loop (`lanewise.autograph.comprehensions`)."""
        node.__dict__[GROWN] = True
        self.generic_visit(node)
        return node

    def _popped(self, name: str, args: list[ast.expr]) -> ast.expr:
        """Return what takes an end of a list, and assigns what is left of it."""
        return self._and_assigned(name, hook("popped", load(name), *args))

    def _and_assigned(self, name: str, made: ast.expr) -> ast.expr:
        """Return the second of two values, of which the variable is assigned the first."""
        pair = self.names.fresh("pair")
        left, value = [ast.Subscript(load(pair), ast.Constant(i), ast.Load()) for i in (0, 1)]
        # What is left is in one variable only, as loops hand on all.
        steps = [walrus(pair, made), walrus(name, left), walrus(pair, value)]
        return ast.Subscript(ast.Tuple(steps, ast.Load()), ast.Constant(2), ast.Load())

    def _seen(self, node: ast.expr) -> ast.expr:
        """Return ``x`` or ``x[a:b]`` of a list."""
        if isinstance(node, ast.Subscript):
            parts = [node.slice.lower, node.slice.upper, node.slice.step]  # ty: ignore[missing-attribute]
            ends = [ast.Constant(None) if part is None else self.visit(part) for part in parts]
            return hook("part", load(_name(node.value) or ""), *ends)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        found = _called(node)
        if found is not None and self._is(found[0]) and found[1] == "pop":
            return place(self._popped(found[0], found[2]), node)
        if isinstance(node.func, ast.Attribute) and _name(node.func.value) == HOOKS:
            return node  # ag__.kept(x)
        if self._is(_taken(node)):
            return place(hook("total_of", node.func, self._seen(node.args[0])), node)
        if self._is(_folded(node)):
            node.args = [self._each_of(node.args[0]), *map(self.visit, node.args[1:])]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        if _name(node.func) in _PASSING:
            node.args = [
                place(hook("items_for", clone(node.func), self._seen(arg)), arg)
                if self._is(_looked_at(arg)) else self.visit(arg)
                for arg in node.args
            ]  # fmt: skip
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        if _is_dotted(node.func):
            has_dtype = any([keyword.arg == "dtype" for keyword in node.keywords])
            if reduced(node) is None:
                node.args = [self._given(node.func, arg, has_dtype) for arg in node.args]
            else:  # it becomes a loop as a whole
                node.args = [self.visit(arg) for arg in node.args]
            for keyword in node.keywords:
                keyword.value = self._given(node.func, keyword.value, False)
            node.func = self.visit(node.func)
            return node
        return self.generic_visit(node)

    def _each_of(self, arg: ast.expr) -> ast.expr:
        """Return a generator of a list's elements, which becomes a loop."""
        item, iterable = self.names.fresh("item"), hook("items_of", self._seen(arg))
        part = ast.comprehension(store(item), place(iterable, arg), [], 0)
        return place(ast.GeneratorExp(load(item), [part]), arg)

    def _given(self, function: ast.expr, arg: ast.expr, has_dtype: bool) -> ast.expr:
        """Return the argument of a function: a list, or a list or tuple of lists."""
        if isinstance(arg, (ast.List, ast.Tuple)):
            arg.elts = [self._given(function, each, has_dtype) for each in arg.elts]
            return arg
        if isinstance(arg, ast.ListComp) and can_move(arg):
            _make_rows(arg, function)
            made = hook("given", clone(function), self._grown(arg), ast.Constant(has_dtype))
            return place(ast.Subscript(made, ast.Constant(1), ast.Load()), arg)
        name = _looked_at(arg)
        if not self._is(name) or name is None or name == _root(function):
            return self.visit(arg)
        made = hook("given", clone(function), self._seen(arg), ast.Constant(has_dtype))
        if isinstance(arg, ast.Subscript):
            return place(ast.Subscript(made, ast.Constant(1), ast.Load()), arg)
        return place(self._and_assigned(name, made), arg)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if self._is(_name(node.slice)):
            node.slice = place(hook("as_index", node.slice), node.slice)
            node.value = self.visit(node.value)
            return node
        if isinstance(node.value, ast.ListComp) and _is_entry(node) and can_move(node.value):
            return place(hook("entry_of", self._grown(node.value), self.visit(node.slice)), node)
        if not self._is(_name(node.value)) or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        if isinstance(node.slice, ast.Slice):
            return place(hook("plain", self._seen(node)), node)
        return place(hook("entry_of", node.value, self.visit(node.slice)), node)

    def visit_For(self, node: ast.For) -> Any:
        changes = [_called(inner) for part in node.body for inner in ast.walk(part)]
        name = _looked_at(node.iter)
        is_changed = name in [found[0] for found in changes if found is not None]
        if self._is(name) and not (is_changed and _name(node.iter)):
            iterable = place(hook("items_of", self._seen(node.iter)), node.iter)
            node.iter = ast.Constant(None)
            node = self.generic_visit(node)  # ty: ignore[invalid-assignment]
            node.iter = iterable
            return node
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        if self._is(_looked_at(node.iter)):
            node.iter = place(hook("items_of", self._seen(node.iter)), node.iter)
            node.ifs = [self.visit(test) for test in node.ifs]
            return node
        return self.generic_visit(node)

    def _truth(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self._truth(part) for part in node.values]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand)
        elif self._is(_name(node)):
            has_any = ast.Compare(hook("has_any", node), [ast.NotEq()], [ast.Constant(False)])
            return place(has_any, node)
        else:
            return self.visit(node)
        return node

    def visit_If(self, node: Any) -> Any:
        test, node.test = node.test, ast.Constant(True)
        self.generic_visit(node)
        node.test = self._truth(test)
        return node

    visit_While = visit_IfExp = visit_If  # noqa: N815


def _make_rows(node: ast.ListComp, function: ast.expr) -> None:
    """Have lists that are the elements of a function's argument be arrays, if it is NumPy's."""
    inner = node.elt
    if isinstance(inner, ast.ListComp):
        inner.__dict__[GROWN] = True
        _make_rows(inner, function)
    if isinstance(inner, ast.ListComp) or (isinstance(inner, ast.List) and _is_made(inner)):
        node.elt = place(hook("row_of", clone(function), inner), inner)


def _is_dotted(node: ast.expr) -> bool:
    """Whether it is ``f`` or ``a.b.f``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return _name(node)
