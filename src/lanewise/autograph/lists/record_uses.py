"""What a function does with a list of records: whether nobody else can have its elements.

They may be changed where they are, then (`lanewise.autograph.lists.records`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from lanewise.autograph.lists.syntax import are_plain, called, name_of
from lanewise.autograph.scopes import parameters

#: Functions that read what they are given at once.
_READING = frozenset(("dict", "len", "list", "max", "min", "sum", "tuple"))
#: Methods that put a record in a list; and those after which another element may be at an index.
PUTTING = frozenset(("append", "insert"))
_MOVING = frozenset(("clear", "insert", "pop", "remove", "reverse", "sort"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Global)


def changed_within(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names of lists to which records are appended, if elements may be changed."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    calls = [node.value for node in nodes if isinstance(node, ast.Expr)]
    methods = [x for x in calls if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)]
    if len(methods) < 2 and not any([_is_part(node, ast.Store) for node in nodes]):
        return set()
    changes = [each for each in map(called, nodes) if each is not None]
    given = {
        each.name
        for each in changes
        if each.method in PUTTING and (name_of(each.args[-1]) or _is_new(each.args[-1]))
    }
    changed = {each.name for each in changes}.union(*[_deleted(node) for node in nodes])
    made = [node for node in nodes if isinstance(node, ast.Assign) and _makes_records(node.value)]
    names = [(name_of(node.targets[0]) or "", node.value) for node in made]
    return given | {name for name, value in names if name in changed or _is_filtered(value)}


def _deleted(node: ast.AST) -> list[str]:
    """Return the lists of which a statement deletes entries."""
    targets = node.targets if isinstance(node, ast.Delete) else []
    return [name_of(x.value) or "" for x in targets if isinstance(x, ast.Subscript)]


def _makes_records(node: ast.expr) -> bool:
    """Whether it is a comprehension that makes a list of records."""
    return isinstance(node, ast.ListComp) and _is_new(node.elt)


def _is_filtered(node: ast.expr) -> bool:
    return isinstance(node, ast.ListComp) and any([part.ifs for part in node.generators])


def _is_display(node: ast.expr) -> bool:
    """Whether it makes a list or dict that nobody has."""
    if isinstance(node, ast.List):
        return are_plain(node.elts)
    if isinstance(node, ast.Dict):
        return None not in node.keys
    return isinstance(node, ast.Call) and name_of(node.func) in ("list", "dict")


def is_object(node: ast.expr) -> bool:
    """Whether it is what a function returns, or a new object of a class: that is seen later."""
    if not isinstance(node, ast.Call) or _is_display(node):
        return False
    return isinstance(node.func, ast.Name) or getattr(node.func, "attr", "")[:1].isupper()


def _is_new(node: ast.expr) -> bool:
    """Whether it makes a record."""
    return _is_display(node) or is_object(node)


def is_entry(node: Any, context: type[ast.expr_context] = ast.Load) -> bool:
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
    return is_entry(node, context)


class _Use(NamedTuple):
    """A name that is used, and the nodes around it, the innermost first."""

    node: ast.Name
    around: tuple[ast.AST, ...]


def _uses(
    node: ast.AST, around: tuple[ast.AST, ...] = (), hidden: frozenset[str] = frozenset()
) -> Iterator[_Use]:
    if isinstance(node, ast.Name) and node.id not in hidden:
        yield _Use(node, around)
    hidden |= own_names(node)
    for part in ast.iter_child_nodes(node):
        yield from _uses(part, (node, *around), hidden)


def own_names(node: ast.AST) -> frozenset[str]:
    """Return the variables of a comprehension or lambda, which are no others of that name."""
    if isinstance(node, ast.Lambda):
        return parameters(node)
    parts = getattr(node, "generators", ())
    targets = [x for part in parts for x in ast.walk(part.target)]
    return frozenset(x.id for x in targets if isinstance(x, ast.Name))


class Records:
    """What is done with a list of records: `is_one` if its elements have no other names.

    `places` are the variables that stand for elements, `given` those whose records are put in it
    and have that name no more.
    """

    def __init__(self, name: str, body: list[ast.stmt]) -> None:
        self.name, self._body = name, body
        self.given: set[str] = set()
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
        ]) and all([self._is_apart(use) for _, use in self._uses[name] if _moves(use)])  # fmt: skip

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
        if is_none(node):
            return None
        if isinstance(node, ast.Name):
            return node.id in places
        return is_entry_of(self.name, node)

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
        if depth and not is_entry(inner[1]):
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
                    return change is not None and change.method == "pop"
                if change.method in PUTTING:
                    return _is_new(change.args[-1]) or self._is_given(change.args[-1])
                return change.method not in ("extend", "appendleft")
            case ast.Subscript(ctx=ast.Del()):
                return is_entry(outer, ast.Del)
            case ast.Subscript(ctx=ast.Store()) if is_entry(outer, ast.Store):
                within = use.around[1]
                return isinstance(within, ast.Assign) and _is_new(within.value)
            case ast.For(target) if outer.iter is node:
                return isinstance(target, ast.Tuple) or self._goes_through(outer)
            case ast.comprehension(ast.Tuple()) if outer.iter is node:
                return True
            case ast.comprehension(ast.Name(item)) if outer.iter is node:
                made: Any = use.around[1]
                whole = ast.ListComp(ast.Constant(0), made.generators)
                is_part = self._is_filter(made) and _is_used_by_parts(item, whole, outer)
                return number > self._last or is_part or _is_used_by_parts(item, made, outer)
            case ast.Call(ast.Name("len"), [_], []):
                return True
            case ast.Call(ast.Name("enumerate"), [_], []):
                loop = use.around[1]
                return isinstance(loop, ast.For) and (
                    self._goes_through(loop) or _are_taken_apart(loop.target)
                )
            case ast.Subscript() if is_entry(outer) and self._is_read(outer, use.around[1:]):
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
        if isinstance(made, ast.List):
            return all(map(_is_new, made.elts))
        if not isinstance(made, ast.ListComp):
            return False
        is_one = isinstance(use.around[0], ast.Assign)
        return _makes_records(made) or (is_one and self._is_filter(made))

    def _is_filter(self, node: ast.expr) -> bool:
        """Whether it makes a list of elements of this one, ``[run for run in runs if ...]``."""
        match node:
            case ast.ListComp(ast.Name(item), [ast.comprehension(ast.Name(each), ast.Name(name))]):
                return item == each and name == self.name
        return False

    def _is_given(self, node: ast.expr) -> bool:
        """Whether a variable has a new record, and is not used any more when that is put in."""
        name = name_of(node)
        if name is None or name in self.places:
            return False
        uses = sorted([use for _, use in self._uses[name]], key=lambda use: _position(use.node))
        loop = _loop_around(uses[-1])
        first = uses[0].around[0]
        block = self._body if loop is None else loop.body
        is_made_first = isinstance(first, ast.Assign) and any([x is first for x in block])
        if not is_made_first or uses[-1].node is not node:
            return False
        for use in uses[:-1]:
            made, part = use.around[0], use.around[0]
            if isinstance(use.node.ctx, ast.Store):
                is_new = isinstance(made, ast.Assign) and len(made.targets) == 1
                is_known = is_new and _is_new(made.value)
            else:
                is_known = (
                    isinstance(part, (ast.Subscript, ast.Attribute)) and part.value is use.node
                )
                is_known = is_known and not isinstance(use.around[1], (ast.Attribute, ast.Call))
            if not is_known or _loop_around(use) is not loop or _is_later(use):
                return False
        self.given.add(name)
        return True

    def _is_apart(self, move: _Use) -> bool:
        """Whether no variable stands for an element while elements leave the list or are moved."""
        block, at = self._place_of(move)
        for each in self.places:
            found: dict[int, list[_Use]] = {}
            for _, use in self._uses[each]:
                if isinstance(use.around[0], ast.Assign) and is_none(use.around[0].value):
                    continue
                around = set(map(id, use.around))
                number = next((i for i, x in enumerate(block) if id(x) in around), None)
                if number is None or number == at:
                    return False
                found.setdefault(number, []).append(use)
            later = [number for number in found if number > at]
            is_before = any([number < at for number in found])
            if is_before and later and not all(map(self._is_anew, found[min(later)])):
                return False
        return True

    def _is_anew(self, use: _Use) -> bool:
        """Whether a variable that is used stands for an element that it was assigned there."""
        inner: ast.AST = use.node
        for outer in use.around:
            if isinstance(outer, ast.For) and name_of(self._item(outer)) == use.node.id:
                return inner is outer.target or any([inner is part for part in outer.body])
            inner = outer
        return isinstance(use.node.ctx, ast.Store) and isinstance(use.around[0], ast.Assign)

    def _place_of(self, use: _Use) -> tuple[list[ast.stmt], int]:
        """Return the statements among which one is that uses the list, and its number there."""
        inner: ast.AST = use.node
        for outer in use.around:
            if isinstance(inner, ast.stmt):
                for name in ("body", "orelse", "finalbody"):
                    block: list[ast.stmt] = getattr(outer, name, [])
                    for number, each in enumerate(block):
                        if each is inner:
                            return block, number
            inner = outer
        return self._body, next(i for i, x in enumerate(self._body) if x is inner)

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
            is_unset = isinstance(outer, ast.Assign) and is_none(outer.value)
            return is_unset or self._stands_for(use, self.places)
        if part := self._part_of(use):
            return _is_followed(*part[:3])
        if isinstance(outer, ast.Compare) and outer.left is node:
            return is_of_none(outer)
        return self._is_read(node, use.around)


def _moves(use: _Use) -> bool:
    """Whether elements of a list leave it, or change their places, or it is another list."""
    outer = use.around[0]
    if not isinstance(use.node.ctx, ast.Load):
        return True
    if isinstance(outer, ast.Attribute):
        change = called(use.around[1])
        return change is not None and change.method in _MOVING
    return isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Del)


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # ty: ignore[missing-attribute]


def _loop_around(use: _Use) -> ast.For | ast.While | None:
    return next((x for x in use.around if isinstance(x, (ast.For, ast.While))), None)


def is_entry_of(name: str, node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and is_entry(node) and name_of(node.value) == name


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def is_of_none(node: ast.Compare) -> bool:
    """Whether it is ``x is None``, or ``is not``."""
    return isinstance(node.ops[0], (ast.Is, ast.IsNot)) and is_none(node.comparators[0])


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
        is_within = isinstance(outer, (ast.Subscript, ast.Attribute)) and outer.value is part
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
