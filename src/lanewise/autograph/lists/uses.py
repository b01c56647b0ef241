"""Lists of which all uses are known: statements that change one assign the variable as well.

``path = []; path.append(v)`` in a loop that data end has as many elements as the data say. Where a
function does nothing with a list but append to it, take its last or first element, look at it and
make an array of it, nobody else can have it. Then it need not stay one object, and may become
arrays (`lanewise.autograph.lists.grown`) where branches and loops leave it longer or shorter.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from lanewise.autograph.build import Names, clone, hook, load, place, place_all, store, walrus
from lanewise.autograph.scopes import Scope

#: The functions of one list that give a number, and those that make an array of one.
_TOTALS = frozenset(("len", "sum", "max", "min"))
_ARRAYS = frozenset(("array", "asarray"))
#: Functions that see the variables of who calls them.
_LOOKING = frozenset(("locals", "vars", "eval", "exec", "globals", "dir"))


def with_growing_lists(body: list[ast.stmt], scope: Scope, names: Names) -> list[ast.stmt]:
    """Return a function's statements with hooks for what is done to lists of known uses."""
    own = _assigned(body) - scope.parameters
    if not own:
        return body
    uses = _Uses(own)
    for node in body:
        uses.visit(node)
    known = {name for name in own if uses.known[name] == uses.all[name] and name in uses.grown}
    if not known:
        return body
    rewrite = _Rewrite(known, names)
    return [made for node in body for made in rewrite.statement(node)]


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that lists are assigned to."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    if any([_name(node) in _LOOKING for node in nodes]):
        return set()
    found = [_stored(node) for node in nodes if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return {name for pairs in found for name, _ in pairs}


def _stored(node: ast.Assign | ast.AnnAssign) -> list[tuple[str, ast.List]]:
    """Return the names that lists of given elements are assigned to, each with its list."""
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
        if isinstance(name, ast.Name) and isinstance(made, ast.List)
        and not any([isinstance(part, ast.Starred) for part in made.elts])
    ]  # fmt: skip


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
    is_end = not args or (len(args) == 1 and ast.unparse(args[0]) in ("0", "-1"))
    return (name, method, args) if method == "pop" and is_end else None


def _changes(node: ast.AST | None) -> Iterator[tuple[str, str, list[ast.expr]]]:
    """Yield what a part of a statement changes lists by, where it surely does so, once."""
    found = _called(node)
    if found is not None:
        yield found
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
    """Return the list of which a call takes all: ``len(x)``, ``sum(x)``, ``np.array(x)``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    function = node.func
    if isinstance(function, ast.Name) and not node.keywords:
        return _looked_at(node.args[0]) if function.id in _TOTALS else None
    is_array = isinstance(function, ast.Attribute) and function.attr in _ARRAYS
    is_array = is_array and isinstance(function.value, ast.Name)
    only_dtype = all([keyword.arg == "dtype" for keyword in node.keywords])
    return _looked_at(node.args[0]) if is_array and only_dtype else None


def _added(node: ast.AugAssign) -> tuple[str, list[ast.expr]] | None:
    """Return the list and the elements of ``x += [v, w]``."""
    name, value = _name(node.target), node.value
    if name is None or not isinstance(node.op, ast.Add) or not isinstance(value, ast.List):
        return None
    is_plain = not any([isinstance(part, ast.Starred) for part in value.elts])
    return (name, value.elts) if is_plain else None


class _Uses(ast.NodeVisitor):
    """Counts the uses of lists, and of these the ones that are known."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.all: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.grown: set[str] = set()
        self._is_inner = False

    def _know(self, name: str | None) -> None:
        if name in self.names and not self._is_inner:
            self.known[name] += 1

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.names:
            self.all[node.id] += 1

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.all.update(node.names)

    visit_Nonlocal = visit_Global  # noqa: N815

    def _inside(self, node: ast.AST) -> None:
        """Look at a function or a comprehension: what it uses has other names for it, or later."""
        before, self._is_inner = self._is_inner, True
        self.generic_visit(node)
        self._is_inner = before

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _inside  # noqa: N815
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _inside  # noqa: N815
    # These have ways out of their own.
    visit_Try = visit_With = visit_Match = _inside  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        for name, _ in _stored(node):
            self._know(name)
        self._change(node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        for name, _ in _stored(node):
            self._know(name)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        added = _added(node)
        if added is not None:
            self._know(added[0])
            self.grown.add(added[0])
        self._change(node.value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        self._change(node.value, is_statement=_called(node.value) is not None)
        self.generic_visit(node)

    def _change(self, node: ast.expr | None, is_statement: bool = False) -> None:
        for found in _changes(node):
            if found[1] == "pop" or is_statement:
                self._know(found[0])
                self.grown.add(found[0])

    def visit_Return(self, node: ast.Return) -> None:
        self._change(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._know(_taken(node))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            self._know(_name(node.value))
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        name = _name(node.iter)
        changes = [_called(inner) for part in node.body for inner in ast.walk(part)]
        if name not in [found[0] for found in changes if found is not None]:
            self._know(name)
        self.generic_visit(node)

    def _tested(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                self._tested(part)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._tested(node.operand)
        else:
            self._know(_name(node))

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> None:
        self._tested(node.test)
        if isinstance(node, ast.If):
            self._change(node.test)
        self.generic_visit(node)

    visit_While = visit_IfExp = visit_If  # noqa: N815


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

    def visit_Expr(self, node: ast.Expr) -> Any:
        found = _called(node.value)
        if found is None or not self._is(found[0]) or found[1] != "append":
            return self.generic_visit(node)
        name, _, (value,) = found
        made = ast.Assign([store(name)], hook("appended", load(name), self.visit(value)))
        return place_all([made], node)

    def visit_Assign(self, node: ast.Assign) -> Any:
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

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        added = _added(node)
        if added is not None and self._is(added[0]):
            name, elements = added
            made: list[ast.stmt] = []
            values = [self.names.fresh("value") for _ in elements]
            for value, element in zip(values, elements, strict=True):  # first all of them
                made.append(ast.Assign([store(value)], self.visit(element)))
            for value in values:
                appended = hook("appended", load(name), load(value))
                made.append(ast.Assign([store(name)], appended))
            return place_all(made or [ast.Pass()], node)
        return self.generic_visit(node)

    def _owned(self, made: ast.expr) -> ast.expr:
        return place(hook("owned", self.generic_visit(made)), made)  # ty: ignore[invalid-argument-type]

    def _popped(self, name: str, args: list[ast.expr]) -> ast.expr:
        """Return what takes an end of a list, and assigns what is left of it."""
        pair = self.names.fresh("pair")
        left, value = [ast.Subscript(load(pair), ast.Constant(i), ast.Load()) for i in (0, 1)]
        # What is left is in one variable only, as loops hand on all.
        steps = [walrus(pair, hook("popped", load(name), *args)), walrus(name, left)]
        steps.append(walrus(pair, value))
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
        if found is not None and self._is(found[0]):
            return place(self._popped(found[0], found[2]), node)
        if not self._is(_taken(node)):
            return self.generic_visit(node)
        seen = self._seen(node.args[0])
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        if isinstance(node.func, ast.Name):
            return place(hook("total_of", node.func, seen), node)
        has_dtype = ast.Constant(bool(node.keywords))
        node.args = [place(hook("array_of", clone(node.func), seen, has_dtype), node)]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not self._is(_name(node.value)) or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return place(hook("entry_of", node.value, self.visit(node.slice)), node)

    def visit_For(self, node: ast.For) -> Any:
        if self._is(_name(node.iter)):
            node.iter = place(hook("items_of", node.iter), node.iter)
        return self.generic_visit(node)

    def _truth(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self._truth(part) for part in node.values]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand)
        elif self._is(_name(node)):
            count = hook("count_of", node)
            return place(ast.Compare(count, [ast.Gt()], [ast.Constant(0)]), node)
        return node

    def visit_If(self, node: Any) -> Any:
        node.test = self._truth(node.test)
        return self.generic_visit(node)

    visit_While = visit_IfExp = visit_If  # noqa: N815
