"""Which names a piece of code binds, reads, and leaves to functions that run later."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lanewise.autograph.build import children

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OPENING = (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS)

#: Functions that use up a generator before they return, so that it reads its names now, not later.
CONSUMERS = frozenset(
    "sum min max any all list tuple set frozenset dict sorted len join fsum prod array".split()
)


class Scope(NamedTuple):
    """The names of one function."""

    parameters: frozenset[str]
    locals: frozenset[str]  # parameters among them
    globals: frozenset[str]
    nonlocals: frozenset[str]


def parameters(node: FunctionNode) -> frozenset[str]:
    a = node.args
    extra = [arg for arg in (a.vararg, a.kwarg) if arg]
    return frozenset(arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, *extra))


def scope_of(node: FunctionNode) -> Scope:
    """Return the names of a function."""
    own = parameters(node)
    if isinstance(node, ast.Lambda):
        return Scope(own, own | bound(node.body), frozenset(), frozenset())
    is_global: set[str] = set()
    is_nonlocal: set[str] = set()
    for part in own_nodes(node.body):
        if isinstance(part, ast.Global):
            is_global.update(part.names)
        elif isinstance(part, ast.Nonlocal):
            is_nonlocal.update(part.names)
    names = own.union(*map(bound, node.body)) - is_global - is_nonlocal
    return Scope(own, names, frozenset(is_global), frozenset(is_nonlocal))


def outside(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a function, class or comprehension that run in the scope around it."""
    if isinstance(node, FUNCTIONS):
        found: list[ast.AST] = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        if isinstance(node, ast.Lambda):
            return found
        args = node.args
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        notes = [arg.annotation for arg in every if arg is not None and arg.annotation]
        return [*node.decorator_list, *found, *notes, *([node.returns] if node.returns else [])]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    assert isinstance(node, COMPREHENSIONS)
    return [node.generators[0].iter]


def targets(node: Comprehension) -> frozenset[str]:
    """Return the names that a comprehension loops over."""
    return frozenset().union(*(bound(generator.target) for generator in node.generators))


def inner_parts(node: Comprehension) -> Iterator[ast.AST]:
    """Yield the parts of a comprehension that run in its own scope."""
    if isinstance(node, ast.DictComp):
        yield from (node.key, node.value)
    else:
        yield node.elt
    for index, generator in enumerate(node.generators):
        if index:
            yield generator.iter
        yield from generator.ifs


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes that belong to this scope, and those that open another, but not its inside.

    A comprehension's inside is left to `bound`, as of it only walrus targets belong here.
    """
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        stack += _within(node)


def _within(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right within a node that belong to the same scope."""
    return outside(node) if isinstance(node, _OPENING) else children(node)


def bound(node: ast.AST, known: dict[ast.AST, frozenset[str]] | None = None) -> frozenset[str]:
    """Return the names that a statement or an expression binds or deletes in its own scope.

    What the statements within it bind is kept in ``known``, and found there.
    """
    if known is not None and node in known:
        return known[node]
    names: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Name):
            if not isinstance(part.ctx, ast.Load):
                names.add(part.id)
            continue
        if known is not None and part is not node and isinstance(part, ast.stmt):
            names |= bound(part, known)
            continue
        stack += _within(part)
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(part.name)
        elif isinstance(part, COMPREHENSIONS):
            names |= _walrus_targets(part)
        elif isinstance(part, ast.alias):
            names.add((part.asname or part.name).split(".")[0])
        elif isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            names.update([part.name] if part.name else [])
        elif isinstance(part, ast.MatchMapping):
            names.update([part.rest] if part.rest else [])
    found = frozenset(names)
    if known is not None:
        known[node] = found
    return found


def _walrus_targets(node: Comprehension) -> frozenset[str]:
    found: set[str] = set()
    for part in inner_parts(node):
        for child in own_nodes([part]):
            if isinstance(child, ast.NamedExpr):
                found.add(child.target.id)
            elif isinstance(child, COMPREHENSIONS):
                found |= _walrus_targets(child)
    return frozenset(found)


class Uses(NamedTuple):
    """The names of the scope that code reads: when it runs, and later, from functions it makes."""

    now: frozenset[str]
    later: frozenset[str]


#: A call of one of these may read any local variable.
READS_ALL = frozenset({"locals", "eval", "exec", "vars", "dir"})
#: Stands for every local variable among the names that are read.
EVERYTHING = "*"


def uses(node: ast.AST) -> Uses:
    """Return the names that a statement or an expression reads from its own scope."""
    now: set[str] = set()
    later: set[str] = set()
    _collect(node, now, later, consumed=False)
    return Uses(frozenset(now), frozenset(later))


def _collect(node: ast.AST, now: set[str], later: set[str], consumed: bool) -> None:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Store):  # `del x` wants x to be there
            now.add(EVERYTHING if node.id in READS_ALL else node.id)
    elif isinstance(node, FUNCTIONS):
        for part in outside(node):
            _collect(part, now, later, False)
        # A reduction's loop reads nothing that the generator in its place does not.
        later |= frozenset() if getattr(node, "name", "").startswith("ag__g") else free(node)
    elif isinstance(node, ast.ClassDef):
        for part in (*outside(node), *node.body):
            _collect(part, now, later, False)
    elif isinstance(node, COMPREHENSIONS):
        _collect(node.generators[0].iter, now, later, False)
        own: set[str] = set()
        for part in inner_parts(node):
            _collect(part, own, later, False)
        if isinstance(node, ast.GeneratorExp) and not consumed:
            later |= own - targets(node)
        else:
            now |= own - targets(node)
        later -= targets(node)
    else:
        eats = isinstance(node, ast.Call) and _consumes(node.func)
        for child in children(node):
            _collect(child, now, later, eats)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            now.add(node.target.id)


def _consumes(func: ast.expr) -> bool:
    if isinstance(func, ast.Call) and len(func.args) == 1:  # ag__.fn(f), of a reduction
        func = func.args[0]
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return name in CONSUMERS or name.startswith("ag__")


def unbound_within(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the variables that functions made in a body may take the value of, when called."""
    found: set[str] = set()
    for node in body:
        for part in ast.walk(node):
            if not isinstance(part, FUNCTIONS):
                continue
            outer: set[str] = set()
            gone: set[str] = set()
            for inner in ast.walk(part):
                if isinstance(inner, ast.Nonlocal):
                    outer.update(inner.names)
                elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Del):
                    gone.add(inner.id)
                elif isinstance(inner, ast.ExceptHandler) and inner.name:
                    gone.add(inner.name)
            found |= outer & gone
    return frozenset(found)


def free(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function reads or writes in the scopes around it."""
    scope = scope_of(node)
    now: set[str] = set()
    later: set[str] = set()
    for part in node.body if isinstance(node.body, list) else [node.body]:
        _collect(part, now, later, False)
    return frozenset(
        ((now | later) - scope.locals - scope.globals - {EVERYTHING}) | scope.nonlocals
    )


def contains(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    """Return whether a tree has a node of one of the kinds."""
    return any(isinstance(part, kinds) for part in ast.walk(node))


def mangle(name: str, owner: str | None) -> str:
    """Return a name as Python stores it when it is private to the class ``owner``."""
    if owner is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    owner = owner.lstrip("_")
    return f"_{owner}{name}" if owner else name
