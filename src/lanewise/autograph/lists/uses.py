"""Lists that a function makes and changes: statements that change one assign the variable as well.

``path = []; path.append(v)`` in a loop has as many elements as the loop has iterations, or as the
data say. While a function does nothing with a list but append to it, take its last or first
element, look at it and make an array of it, nobody else can have it. Then it need not stay one
object, and may become arrays (`lanewise.autograph.lists.grown`) where branches and loops leave it
longer or shorter. Where anything else is done with it, it is one of Python's again (`plain`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from lanewise.autograph.build import (
    HOOKS,
    Names,
    arguments,
    call,
    clone,
    hook,
    is_ours,
    load,
    negate,
    place,
    place_all,
    store,
    walrus,
)
from lanewise.autograph.comprehensions import EARLY, GROWN, OwnNames, can_move, reduced
from lanewise.autograph.lists.records import with_records
from lanewise.autograph.lists.syntax import (
    COMPREHENSIONS,
    PASSING,
    TAKING,
    Change,
    Renamed,
    added,
    are_plain,
    called,
    changed_within,
    changes,
    copied,
    counts_of,
    deleted,
    folded,
    grows,
    is_dotted,
    is_entry,
    is_making,
    is_ranked,
    looked_at_within,
    make_rows,
    makes_list,
    name_of,
    root_name,
    searched,
    sources,
    stored,
    taken,
    taken_apart,
)
from lanewise.autograph.scopes import Scope

#: Methods that put the elements anew.
_AGAIN = frozenset(("clear", "reverse"))
#: Methods that put one element in or take one out, each with its hook.
_EDITS = {"appendleft": "appended_left", "insert": "inserted", "remove": "removed"}
_TAKING = {"pop": "popped", "popleft": "popped_left"}
#: Functions that see the variables of who calls them.
_LOOKING = frozenset(("locals", "vars", "eval", "exec", "globals", "dir"))


def with_growing_lists(body: list[ast.stmt], scope: Scope, names: Names) -> list[ast.stmt]:
    """Return a function's statements with hooks for what is done to lists that it makes."""
    body, records = with_records(body, scope, names)
    own = _assigned(body) - scope.parameters
    uses, renaming = _Uses(own), OwnNames(own, names)
    for node in body:
        uses.visit(renaming.visit(node))
    changed = (_of_changed_elements(body) & _of_lists(body, own)) - records
    known = uses.all_grown() - uses.barred - changed
    rewrite = _Rewrite(known, names, records)
    return [made for node in body for made in rewrite.statement(node)]


def _of_changed_elements(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names of lists of which an element is changed: ``rows[i][j] = v``.

    Arrays keep what elements hold, and nobody may change these.
    """
    changed: set[str] = set()
    found: set[str] = set()
    #: By a variable, what it may be an element of.
    lists: dict[str, set[str]] = {}
    for node in [node for statement in body for node in ast.walk(statement)]:
        match node:
            case ast.Subscript(owner, _, ast.Store() | ast.Del()) | ast.Call(
                ast.Attribute(owner, "append" | "extend" | "insert" | "pop" | "sort")
            ):
                name = name_of(_base(owner)) or ""
                (changed if isinstance(owner, ast.Name) else found).add(name)
            case ast.Assign([ast.Name(name)], ast.Subscript() as value):
                lists.setdefault(name, set()).add(name_of(_base(value)) or "")
            case ast.For(target, iterable) | ast.comprehension(target, iterable):
                sources = {part.id for part in ast.walk(iterable) if isinstance(part, ast.Name)}
                for part in ast.walk(target):
                    if isinstance(part, ast.Name):
                        lists.setdefault(part.id, set()).update(sources)
    return found.union(*[lists[name] for name in changed & lists.keys()])


def _of_lists(body: Iterable[ast.stmt], own: set[str]) -> set[str]:
    """Return the names of lists that are given lists as elements."""
    found: set[str] = set()

    def put(name: str, *elements: ast.expr) -> None:  # what a call returns may be a list
        if any([isinstance(x, ast.Call) or makes_list(x) or name_of(x) in own for x in elements]):
            found.add(name)

    for node in [node for statement in body for node in ast.walk(statement)]:
        match node:
            case ast.Assign([ast.Name(name)], ast.List(elements)):
                put(name, *elements)
            case ast.Assign([ast.Name(name)], ast.ListComp(element)):
                put(name, element)
            case ast.Assign([ast.Name(name)], ast.BinOp(left, _, right)):
                parts = [x.elts for x in (left, right) if isinstance(x, ast.List)]
                put(name, *[x for elements in parts for x in elements])
            case ast.Call(ast.Attribute(ast.Name(name), "append" | "insert"), elements):
                put(name, *elements)
            case ast.AugAssign(ast.Name(name), _, ast.List(elements)):
                put(name, *elements)
    return found


def _base(node: ast.expr) -> ast.expr:
    """Return ``a`` of ``a[i][j]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that lists are assigned to."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    if any([name_of(node) in _LOOKING for node in nodes]):
        return set()
    stores = [node for node in nodes if isinstance(node, (ast.Assign, ast.AnnAssign))]
    found: set[str] = set()
    while True:  # a list may be made of others
        names = {name for node in stores for name, _ in stored(node, found)}
        if names <= found:
            return found
        found |= names


class _Uses(ast.NodeVisitor):
    """Finds which lists grow, and which are used where the variable cannot be assigned as well."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.grown: set[str] = set()
        self.barred: set[str] = set()
        #: Lists that are made of others, each with those.
        self._made_of: list[tuple[str, set[str]]] = []
        self._is_barred = False
        #: The calls of pop() that surely are made, and once.
        self._sure: set[int] = set()

    def all_grown(self) -> set[str]:
        """Return the lists that grow, and those that are made of them."""
        found = self.grown & self.names
        for _ in self._made_of:
            found |= {name for name, others in self._made_of if others & found}
        return found

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
        looked_at = {id(each) for each in looked_at_within(node)}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and id(part) not in looked_at:
                self.barred |= {part.id} & self.names

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        found = called(node)
        if found is not None and found.method in TAKING and id(node) not in self._sure:
            self.barred.add(found.name)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        name = added(node)
        if name is not None:
            self.grown.add(name)
        elif isinstance(node.target, ast.Name):
            self.barred |= {node.target.id} & self.names
        self._change(node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        for name, made in stored(node, self.names):
            if grows(made):
                self.grown.add(name)
            self._made_of.append((name, {name_of(part) or "" for part in ast.walk(made)}))
        self._change(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript):
                self._change(target.slice)
        self.generic_visit(node)

    visit_AnnAssign = visit_Assign  # noqa: N815

    def visit_Delete(self, node: ast.Delete) -> None:
        entry = deleted(node)
        if entry is not None:
            self.grown.add(name_of(entry.value) or "")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        self._change(node.value, is_statement=called(node.value) is not None)
        self.generic_visit(node)

    def _change(self, node: ast.expr | None, is_statement: bool = False) -> None:
        for made in changes(node):
            found = called(made)
            if found is not None and (found.method in TAKING or is_statement):
                self.grown.add(found.name)
                self._sure.add(id(made))

    def visit_Return(self, node: ast.Return) -> None:
        self._change(node.value)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._change(node.test)
        self.generic_visit(node)


class _Rewrite(ast.NodeTransformer):
    """Puts hooks where lists of known uses are changed or looked at."""

    def __init__(self, known: set[str], names: Names, records: set[str]) -> None:
        self.known, self.records = known, records
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
        found = called(node.value)
        if found is None or not self._is(found.name) or found.method in TAKING:
            return self.generic_visit(node)
        name, method, args, _ = found
        if method == "append":
            return place_all(self._appended(name, args), node)
        if method == "extend":
            parts = args[0].elts if isinstance(args[0], (ast.List, ast.Tuple)) else []
            if parts and are_plain(parts):
                return place_all(self._appended(name, parts), node)
            made = hook("added", load(name), self._seen(args[0]))
        elif method == "sort":
            made = self._in_order("sort", load(name), found.keywords)
        elif method in _AGAIN:
            made = hook("again", load(name), ast.Constant(method))
        else:
            made = hook(_EDITS[method], load(name), *map(self.visit, args))
        return place(ast.Assign([store(name)], made), node)

    def visit_Delete(self, node: ast.Delete) -> Any:
        entry = deleted(node)
        if entry is None or not self._is(name := name_of(entry.value)) or name is None:
            return self.generic_visit(node)
        made = hook("without", load(name), self.visit(entry.slice))
        return place(ast.Assign([store(name)], made), node)

    def _appended(self, name: str, elements: list[ast.expr]) -> list[ast.stmt]:
        """Return what appends some elements, of which all are found first."""
        if len(elements) == 1:
            value = self.visit(elements[0])
            return [ast.Assign([store(name)], hook("appended", load(name), value))]
        made: list[ast.stmt] = []
        values = [self.names.fresh("value") for _ in elements]
        for value, element in zip(values, elements, strict=True):
            made.append(ast.Assign([store(value)], self.visit(element)))
        for value in values:
            made.append(ast.Assign([store(name)], hook("appended", load(name), load(value))))
        return made

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if len(node.targets) == 1 and self._is_place(target):
            return place_all(self._put(target, self.visit(node.value)), node)
        if counts := counts_of(node):
            value = self._seen(node.value) if self._is_seen(node.value) else self.visit(node.value)
            node.value = place(hook("unpacked", value, *map(ast.Constant, counts)), node.value)
            node.targets = [self.visit(target)]
            return node
        own = {id(made) for name, made in stored(node, self.known) if self._is(name)}
        if own:
            if id(node.value) in own:
                node.value = self._owned(node.value)
            elif isinstance(node.value, ast.Tuple):
                parts = node.value.elts
                node.value.elts = [self._owned(x) if id(x) in own else self.visit(x) for x in parts]
            return node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if [
            name for name, _ in stored(node, self.known) if self._is(name)
        ] and node.value is not None:
            node.value = self._owned(node.value)
            return node
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        name = added(node)
        if name is not None and self._is(name):
            changed = hook("added", load(name), self._seen(node.value))
            return place(ast.Assign([store(name)], changed), node)
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
            and self._is(name_of(node.value))
            and not isinstance(node.slice, (ast.Slice, ast.Tuple))
        )

    def _put(self, target: Any, value: ast.expr) -> list[ast.stmt]:
        """Return what puts a value there, which Python finds before the place."""
        name, found = target.value.id, self.names.fresh("value")
        changed = hook("with_entry", load(name), self.visit(target.slice), load(found))
        return [ast.Assign([store(found)], value), ast.Assign([store(name)], changed)]

    def _owned(self, made: ast.expr) -> ast.expr:
        return place(hook("owned", self._seen(made)), made)

    def _grown(self, node: ast.ListComp) -> ast.expr:
        """Return a comprehension that becomes a loop (`lanewise.autograph.comprehensions`)."""
        node.__dict__[GROWN] = True
        self.generic_visit(node)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """Have a comprehension become a loop where the data decide how many elements there are."""
        self.generic_visit(node)
        if GROWN in node.__dict__ or not can_move(node):
            return node
        node.__dict__[GROWN] = False
        return place(hook("plain", node, ast.Constant(makes_list(node.elt))), node)

    def _popped(self, change: Change) -> ast.expr:
        """Return what takes an end of a list, and assigns what is left of it."""
        args = map(self.visit, change.args)
        made = hook(_TAKING[change.method], load(change.name), *args)
        return self._and_assigned(change.name, made)

    def _and_assigned(self, name: str, made: ast.expr) -> ast.expr:
        """Return the second of two values, of which the variable is assigned the first."""
        pair = self.names.fresh("pair")
        left, value = [ast.Subscript(load(pair), ast.Constant(i), ast.Load()) for i in (0, 1)]
        # What is left is in one variable only, as branches and loops hand on all.
        steps = [walrus(pair, made), walrus(name, left), value, walrus(pair, ast.Constant(None))]
        return ast.Subscript(ast.Tuple(steps, ast.Load()), ast.Constant(2), ast.Load())

    def _is_seen(self, node: ast.AST | None) -> bool:
        """Whether an expression is a list of which all uses are known, or made of such."""
        parts = () if isinstance(node, COMPREHENSIONS) else sources(node)
        return any([self._is(name_of(part)) or not name_of(part) for part in parts])

    def _seen(self, node: ast.expr) -> ast.expr:
        """Return an expression that is a list of which all uses are known, or made of such."""
        if isinstance(node, ast.Name):
            return node if self._is(node.id) else self.visit(node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            parts = [node.slice.lower, node.slice.upper, node.slice.step]
            ends = [ast.Constant(None) if part is None else self.visit(part) for part in parts]
            return place(hook("part", self._seen(node.value), *ends), node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return place(hook("joined", self._seen(node.left), self._seen(node.right)), node)
        if isinstance(node, ast.GeneratorExp) and can_move(node):
            node = place(ast.ListComp(node.elt, node.generators), node)
        if isinstance(node, ast.ListComp) and can_move(node):
            return self._grown(node)
        if isinstance(node, ast.Call) and (original := copied(node)) is not None:
            return place(hook("copied", self._seen(original)), node)
        if isinstance(node, ast.Call) and is_making(node) and node.args:
            return place(self._in_order(node.func, self._seen(node.args[0]), node.keywords), node)
        return self.visit(node)

    def _in_order(
        self, function: ast.expr | str, items: ast.expr, options: list[ast.keyword]
    ) -> ast.expr:
        """Return ``list(items)`` or ``sorted(items)``, or what ``items.sort()`` leaves.

        What is given as well makes a list of what a function returns for each element.
        """
        given, rank, item = [self.names.fresh(kind) for kind in ("items", "key", "item")]
        part = ast.comprehension(store(item), hook("items_of", load(given)), [], 0)
        each = self._grown(ast.ListComp(call(load(rank), load(item)), [part]))
        function = ast.Constant(function) if isinstance(function, str) else function
        made = hook("in_order", function, items, ast.Lambda(arguments([given, rank]), each))
        made.keywords = [self.visit(keyword) for keyword in options]
        return made

    def visit_Call(self, node: ast.Call) -> Any:
        if name_of(node.func) in EARLY and node.args and isinstance(node.args[0], ast.GeneratorExp):
            self._leave_early(node, node.args[0])
        found = called(node)
        if found is not None and self._is(found.name) and found.method in TAKING:
            return place(self._popped(found), node)
        if isinstance(node.func, ast.Attribute) and name_of(node.func.value) == HOOKS:
            return node  # ag__.kept(x)
        if self._is_seen(taken(node)):
            return place(hook("total_of", node.func, self._seen(node.args[0])), node)
        if is_ranked(node) and self._is_seen(node.args[0]):
            return self._ranked(node)
        if self._is_seen(folded(node)):
            node.args = [self._each_of(node.args[0]), *map(self.visit, node.args[1:])]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        if (items := searched(node)) is not None and self._is_seen(items):
            how: Any = node.func
            given = self._seen(items), ast.Constant(how.attr), self.visit(node.args[0])
            return place(hook("found", *given), node)
        if name_of(node.func) in PASSING:
            node.args = [
                place(hook("items_for", clone(node.func), self._seen(arg)), arg)
                if self._is_seen(arg) else self.visit(arg)
                for arg in node.args
            ]  # fmt: skip
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        if is_dotted(node.func):
            has_dtype = any([keyword.arg == "dtype" for keyword in node.keywords])
            if reduced(node) is None:
                node.args = [self._given(node.func, arg, has_dtype) for arg in node.args]
            else:  # it becomes a loop as a whole
                node.args = [self._as_it_is(arg) for arg in node.args]
            for keyword in node.keywords:
                keyword.value = self._given(node.func, keyword.value, False)
            node.func = self.visit(node.func)
            return node
        return self.generic_visit(node)

    def _name_held(self, node: ast.For | ast.comprehension) -> None:
        """Have it known that a variable of the user's holds what is gone through."""
        name = name_of(node.iter)
        if name is not None and not self._is(name) and not is_ours(name):
            node.iter = place(hook("named", node.iter), node.iter)

    def _leave_early(self, node: ast.Call, made: ast.GeneratorExp) -> None:
        """See to a generator of which not all elements may be taken."""
        self._name_held(made.generators[0])
        if any([isinstance(part, ast.NamedExpr) for part in ast.walk(made)]):
            node.args[0] = place(hook("unstopped", made), made)

    def _as_it_is(self, node: ast.expr) -> Any:
        return self.generic_visit(node) if isinstance(node, ast.ListComp) else self.visit(node)

    def _each_of(self, arg: ast.expr) -> ast.expr:
        """Return a generator of a list's elements, which becomes a loop."""
        item, iterable = self.names.fresh("item"), hook("items_of", self._seen(arg))
        part = ast.comprehension(store(item), place(iterable, arg), [], 0)
        return place(ast.GeneratorExp(load(item), [part]), arg)

    def _ranked(self, node: ast.Call) -> ast.expr:
        """Return what gives the first or last element by a key: an object by its place."""
        arg, keywords = node.args[0], [self.visit(keyword) for keyword in node.keywords]
        by_place = ast.Call(node.func, [hook("held", self._seen(clone(arg)))], keywords)
        node.args, node.keywords = [self._each_of(clone(arg))], list(map(clone, keywords))
        return place(ast.IfExp(hook("has_objects", self._seen(arg)), by_place, node), node)

    def _given(self, function: ast.expr, arg: ast.expr, has_dtype: bool) -> ast.expr:
        """Return the argument of a function: a list, or a list or tuple of lists."""
        if isinstance(arg, (ast.List, ast.Tuple)):
            arg.elts = [self._given(function, each, has_dtype) for each in arg.elts]
            return arg
        if isinstance(arg, ast.ListComp) and can_move(arg):
            make_rows(arg, function)
            made = hook("given", clone(function), self._grown(arg), ast.Constant(has_dtype))
            return place(ast.Subscript(made, ast.Constant(1), ast.Load()), arg)
        name = name_of(arg)
        if not self._is_seen(arg) or (name is not None and name == root_name(function)):
            return self.visit(arg)
        made = hook("given", clone(function), self._seen(arg), ast.Constant(has_dtype))
        if name is None:
            return place(ast.Subscript(made, ast.Constant(1), ast.Load()), arg)
        return place(self._and_assigned(name, made), arg)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if self._is(name_of(node.slice)):
            node.slice = place(hook("as_index", node.slice), node.slice)
            node.value = self.visit(node.value)
            return node
        if isinstance(node.value, ast.ListComp) and is_entry(node) and can_move(node.value):
            return place(hook("entry_of", self._grown(node.value), self.visit(node.slice)), node)
        if not self._is_seen(node.value) or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        if isinstance(node.slice, ast.Slice):
            return place(hook("plain", self._seen(node)), node)
        return place(hook("entry_of", self._seen(node.value), self.visit(node.slice)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        items = searched(node)
        if items is None or not self._is_seen(items):
            return self.generic_visit(node)
        made = hook("found", self._seen(items), ast.Constant("in"), self.visit(node.left))
        return place(made if isinstance(node.ops[0], ast.In) else negate(made), node)

    def visit_For(self, node: ast.For) -> Any:
        parts, name = [part for each in node.body for part in ast.walk(each)], name_of(node.iter)
        if any([isinstance(x, (ast.Break, ast.Return)) or name_of(x) == name for x in parts]):
            self._name_held(node)
        node.target, later = taken_apart(node.target, node.iter, self.names)
        node.body[:0] = later
        through = {name_of(x) for x in ast.walk(node.iter)} & (self.known - self.records)
        if not through.isdisjoint(changed_within(node.body)):  # it is seen as it is in each turn
            node.iter = Renamed(self.visit_Name).visit(node.iter)
        elif self._is_seen(node.iter):
            iterable = place(hook("items_of", self._seen(node.iter)), node.iter)
            node.iter = ast.Constant(None)
            node = self.generic_visit(node)  # ty: ignore[invalid-assignment]
            node.iter = iterable
            return node
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        if self._is_seen(node.iter):
            node.iter = place(hook("items_of", self._seen(node.iter)), node.iter)
            node.ifs = [self.visit(test) for test in node.ifs]
            return node
        return self.generic_visit(node)

    def _truth(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self._truth(part) for part in node.values]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand)
        elif self._is(name_of(node)):
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
