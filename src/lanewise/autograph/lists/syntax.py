"""What lists look like in a function's source: where one is made, changed and looked at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

from lanewise.autograph.build import Names, clone, hook, load, place, store
from lanewise.autograph.comprehensions import GROWN, can_move

#: The functions of one list that give a number, and those that go through several.
_TOTALS = frozenset(("len", "sum", "max", "min"))
PASSING = frozenset(("enumerate", "zip", "reversed"))
#: What goes through a list element by element (`lanewise.autograph.folds`).
_FOLDING = frozenset(("all", "any", "max", "min", "sum"))
#: Functions that make a list of whatever they are given.
MAKING = frozenset(("list", "sorted"))
#: Methods that change a list and return nothing, each with how many arguments it takes.
_CHANGING = {
    "append": 1,
    "appendleft": 1,
    "clear": 0,
    "extend": 1,
    "insert": 2,
    "remove": 1,
    "reverse": 0,
    "sort": 0,
}
#: Methods that take an element out and return it, each with how many arguments it takes at most.
TAKING = dict(pop=1, popleft=0)
#: Methods that look for a value.
_FINDING = frozenset(("count", "index"))
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


def name_of(node: Any) -> str | None:
    """Return the name that an expression consists of."""
    return node.id if isinstance(node, ast.Name) else None


def makes_list(node: ast.expr) -> bool:
    """Whether an expression makes a list whenever it is evaluated: nobody else has that."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        return makes_list(node.left) or makes_list(node.right)
    return isinstance(node, (ast.List, ast.ListComp))


def changed_within(body: Iterable[ast.stmt]) -> set[str | None]:
    """Return the names of the lists that statements may change."""
    found: set[str | None] = set()
    for node in [node for statement in body for node in ast.walk(statement)]:
        match node:
            case ast.Call(ast.Attribute(ast.Name(name))) | ast.AugAssign(ast.Name(name)):
                found.add(name)
            case ast.Subscript(owner, _, ast.Store() | ast.Del()):
                found.add(root_name(owner))
    return found


class Renamed(ast.NodeTransformer):
    """Has something else in the place of names."""

    def __init__(self, change: Callable[[ast.Name], ast.expr]) -> None:
        self.visit_Name = change  # ty: ignore[invalid-assignment]


def are_plain(nodes: Iterable[ast.AST]) -> bool:
    """Whether there is no ``*x`` among some expressions."""
    return not any([isinstance(node, ast.Starred) for node in nodes])


# --- lists that are made --------------------------------------------------------------------------


def stored(node: ast.Assign | ast.AnnAssign, names: Container[str]) -> list[tuple[str, ast.expr]]:
    """Return the names that lists are assigned to that are made there, each with its list.

    ``names`` are those that hold such lists.
    """
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    if len(targets) != 1 or node.value is None:
        return []
    target, value = targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        is_plain = are_plain([*target.elts, *value.elts])
        pairs = list(zip(target.elts, value.elts, strict=False)) if is_plain else []
    return [
        (name.id, made) for name, made in pairs
        if isinstance(name, ast.Name) and _is_made(made, names)
    ]  # fmt: skip


def _is_made(node: ast.expr, names: Container[str]) -> bool:
    """Whether it is a new list: given elements, a comprehension that can be a loop, or of lists."""
    if isinstance(node, ast.List):
        return are_plain(node.elts)
    if isinstance(node, ast.ListComp):
        return can_move(node)
    if isinstance(node, ast.Call) and name_of(node.func) in MAKING:
        return is_making(node)
    if isinstance(node, ast.Name):
        return False
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "deque":
        return are_plain(node.args)
    found = [name_of(part) or "" for part in sources(node)]
    return any([name in names for name in found])


def is_making(node: ast.Call) -> bool:
    """Whether it is ``list(x)`` or ``sorted(x)``, with options perhaps."""
    count = (0, 1) if name_of(node.func) == "list" else (1,)
    return (
        name_of(node.func) in MAKING
        and len(node.args) in count
        and are_plain(node.args)
        and {keyword.arg for keyword in node.keywords} <= {"key", "reverse"}
    )


def grows(made: ast.expr) -> bool:
    """Whether a list that is made has another length than others that are known."""
    if isinstance(made, ast.BinOp):
        return True
    if isinstance(made, ast.Subscript):
        return True
    return any([isinstance(part, COMPREHENSIONS) for part in sources(made)])


def sources(node: ast.AST | None) -> Iterator[ast.expr]:
    """Yield the names, comprehensions and lists that an expression is a list of the elements of."""
    if isinstance(node, ast.Name) or (isinstance(node, COMPREHENSIONS) and can_move(node)):
        yield node
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield from sources(node.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from sources(node.left)
        yield from sources(node.right)
    elif isinstance(node, ast.Call) and is_making(node):
        for arg in node.args:
            yield from sources(arg)
    elif isinstance(node, ast.Call) and copied(node) is not None:
        yield from sources(copied(node))


def copied(node: ast.Call) -> ast.expr | None:
    """Return ``x`` of ``x.copy()``."""
    if not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return None
    return node.func.value if node.func.attr == "copy" else None


# --- lists that are changed -----------------------------------------------------------------------


class Change(NamedTuple):
    """The list, the method and the arguments of ``x.append(v)`` or ``x.pop()``."""

    name: str
    method: str
    args: list[ast.expr]
    keywords: list[ast.keyword]


def called(node: Any) -> Change | None:
    """Return by which call a list is changed, if it is one that is followed."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name, method = name_of(node.func.value), node.func.attr
    if name is None or not are_plain(node.args):
        return None
    options = {keyword.arg for keyword in node.keywords}
    if options and not (method == "sort" and options <= {"key", "reverse"}):
        return None
    is_known = len(node.args) == _CHANGING.get(method, -1)
    is_known |= method in TAKING and len(node.args) <= TAKING[method]
    return Change(name, method, node.args, node.keywords) if is_known else None


def changes(node: ast.AST | None) -> Iterator[ast.AST]:
    """Yield the calls by which a part of a statement changes lists, surely, and once."""
    if node is not None and called(node) is not None:
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
        yield from changes(part)


#: What is run later, or as often as something else says.
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def added(node: ast.AugAssign) -> str | None:
    """Return the list of ``x += items``."""
    return name_of(node.target) if isinstance(node.op, ast.Add) else None


def deleted(node: ast.Delete) -> ast.Subscript | None:
    """Return the entry of ``del x[i]``."""
    target = node.targets[0]
    if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
        return None
    is_entry = not isinstance(target.slice, (ast.Slice, ast.Tuple))
    return target if is_entry and name_of(target.value) else None


# --- lists that are looked at ---------------------------------------------------------------------


def taken(node: Any) -> ast.expr | None:
    """Return the list of which a builtin tells something: ``len(x)``, ``sum(x)``, ``max(x)``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    return node.args[0] if name_of(node.func) in _TOTALS else None


def folded(node: ast.Call) -> ast.expr | None:
    """Return the list that a builtin goes through; not of ``max(x, y)``, which compares both."""
    name, count = name_of(node.func), len(node.args)
    is_one = count == 1 or (count == 2 and name == "sum")
    return node.args[0] if name in _FOLDING and is_one and not is_ranked(node) else None


def is_ranked(node: ast.Call) -> bool:
    """Whether it is ``max(items, key=...)``, which gives an element as it is."""
    return name_of(node.func) in ("max", "min") and bool(node.keywords) and len(node.args) == 1


def searched(node: ast.AST) -> ast.expr | None:
    """Return the list that ``v in x`` or ``x.index(v)`` looks for a value in."""
    if isinstance(node, ast.Compare):
        is_one = len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn))
        return node.comparators[0] if is_one else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_one = node.func.attr in _FINDING and len(node.args) == 1 and not node.keywords
        return node.func.value if is_one and are_plain(node.args) else None
    return None


def looked_at_within(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the names of lists that a comprehension looks at, or goes through."""
    for part in ast.walk(node):
        if isinstance(part, ast.comprehension):
            for each in (part.iter, *_passed(part.iter)):
                yield from sources(each)
        elif isinstance(part, ast.Subscript) and is_entry(part):
            yield from sources(part.value)
        else:
            yield from sources(taken(part))
            yield from sources(searched(part))


def _passed(node: ast.expr) -> list[ast.expr]:
    """Return what ``zip(x, y)`` and its like go through."""
    return node.args if isinstance(node, ast.Call) and name_of(node.func) in PASSING else []


def taken_apart(
    target: ast.expr, iterable: ast.expr, names: Names
) -> tuple[ast.expr, list[ast.Assign]]:
    """Return the target of a loop without those that may take a list apart, which follow.

    What `enumerate`, `zip` and ``x.items()`` give are tuples of Python's.
    """
    if not isinstance(target, (ast.Tuple, ast.List)):
        return target, []
    function = iterable.func if isinstance(iterable, ast.Call) else None
    is_tuple = name_of(function) in PASSING or getattr(function, "attr", "") == "items"
    if not is_tuple:
        name = names.fresh("item")
        return place(store(name), target), [place(ast.Assign([target], load(name)), target)]
    later = []
    for k, part in enumerate(target.elts):
        if isinstance(part, (ast.Tuple, ast.List)):
            name = names.fresh("item")
            target.elts[k] = place(store(name), part)
            later.append(place(ast.Assign([part], load(name)), part))
    return target, later


def counts_of(node: ast.Assign) -> tuple[int, ...]:
    """Return how many elements ``a, b = x`` takes of what may be a list, nothing for others.

    Of ``a, *b, c = x`` those are two numbers: of the first, and of the last.
    """
    target, value = node.targets[0], node.value
    if len(node.targets) > 1 or not isinstance(target, (ast.Tuple, ast.List)):
        return ()
    if isinstance(value, (ast.Tuple, ast.List)) and are_plain(value.elts):
        return ()
    stars = [i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
    return (stars[0], len(target.elts) - stars[0] - 1) if stars else (len(target.elts),)


def is_entry(node: ast.Subscript) -> bool:
    """Whether it is ``x[i]``, not a slice."""
    return isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple))


# --- functions ------------------------------------------------------------------------------------


def is_dotted(node: ast.expr) -> bool:
    """Whether it is ``f`` or ``a.b.f``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def root_name(node: ast.expr) -> str | None:
    """Return ``a`` of ``a.b.f``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return name_of(node)


def make_rows(node: ast.ListComp, function: ast.expr) -> None:
    """Have lists that are the elements of a function's argument be arrays, if it is NumPy's."""
    inner = node.elt
    if isinstance(inner, ast.ListComp):
        inner.__dict__[GROWN] = True
        make_rows(inner, function)
    if isinstance(inner, ast.ListComp) or (isinstance(inner, ast.List) and are_plain(inner.elts)):
        node.elt = place(hook("row_of", clone(function), inner), inner)
