"""Makes a program that fails as small as it can be, so that it still fails in the same way."""

from __future__ import annotations

import ast
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

from fuzz.programs import Example
from fuzz.running import Difference, compared

#: Seconds for one program.
PATIENCE = 100.0


def shrunk(example: Example, found: Difference) -> Example:
    """Return a smaller example that differs in the same way, in the same mode."""

    def fails(candidate: Example) -> bool:
        try:
            status, other = compared(found.mode, candidate)
        except Exception:
            return False
        if status != "differs" or other is None:
            return False
        return (other.what, other.plain) == (found.what, found.plain)

    end = time.monotonic() + PATIENCE
    best, again = example, True
    while again and time.monotonic() < end:
        again = False
        for candidate in _smaller(best):
            if time.monotonic() > end:
                break
            if fails(candidate):
                best, again = candidate, True
                break
    return best


def _smaller(example: Example) -> Iterator[Example]:
    for start, stop in (
        (0, example.size // 2),
        (example.size // 2, example.size),
        *((i, i + 1) for i in range(example.size)),
    ):
        if 0 < stop - start < example.size:
            pairs = zip(example.arrays.items(), example.in_dims, strict=True)
            arrays = {n: x if d is None else x[start:stop] for (n, x), d in pairs}
            yield replace(example, arrays=arrays)
    if example.layouts:
        yield replace(example, layouts={})
    yield from _without_arguments(example)
    rough = "".join(line for line in example.source.splitlines(True) if line.startswith("# rough"))
    for tree in _trees(ast.parse(example.source)):
        try:
            source = rough + ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            with warnings.catch_warnings():
                warnings.simplefilter("error", SyntaxWarning)  # a call of a number, and the like
                compile(source, "", "exec")
        except (SyntaxError, ValueError):
            continue
        if source != example.source:
            yield replace(example, source=source)


def _without_arguments(example: Example) -> Iterator[Example]:
    """Yield examples without an argument that is not read."""
    tree = ast.parse(example.source)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for number, name in enumerate(example.arrays):
        if name in read:
            continue
        dims = example.in_dims[:number] + example.in_dims[number + 1 :]
        if all(d is None for d in dims):
            continue
        old = f"def f({', '.join(example.arrays)}):"
        arrays = {n: x for n, x in example.arrays.items() if n != name}
        source = example.source.replace(old, f"def f({', '.join(arrays)}):")
        if source != example.source:
            layouts = {n: layout for n, layout in example.layouts.items() if n != name}
            yield Example(source, arrays, dims, layouts)


def _changed(tree: ast.AST, number: int, change: Callable[[ast.AST], None]) -> ast.AST:
    """Return a copy of a tree in which the node of this number is changed."""
    other = copy.deepcopy(tree)
    change(list(ast.walk(other))[number])
    return other


def _trees(tree: ast.Module) -> Iterator[ast.AST]:
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):  # statements, or what is in them
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for i, child in enumerate(block):
                if isinstance(child, ast.FunctionDef) and child.name == "f":
                    continue

                def remove(n: ast.AST, name: str = name, i: int = i) -> None:
                    rest = getattr(n, name)
                    del rest[i]
                    if not rest and name == "body":
                        rest.append(ast.Pass())

                if not isinstance(child, ast.Pass):
                    yield _changed(tree, number, remove)
                for inner in ("body", "orelse", "finalbody"):
                    if getattr(child, inner, None) and not isinstance(
                        child,
                        (
                            ast.FunctionDef,
                            ast.ClassDef,
                            ast.Lambda,
                            ast.ExceptHandler,
                            ast.match_case,
                        ),
                    ):

                        def lift(
                            n: ast.AST, name: str = name, i: int = i, inner: str = inner
                        ) -> None:
                            rest = getattr(n, name)
                            value = getattr(rest[i], inner)
                            if isinstance(value, list):
                                rest[i : i + 1] = value

                        yield _changed(tree, number, lift)
    for number, node in enumerate(nodes):  # expressions
        for name, value in ast.iter_fields(node):
            many = value if isinstance(value, list) else [value]
            for i, child in enumerate(many):
                if not isinstance(child, ast.expr) or isinstance(
                    getattr(child, "ctx", None), ast.Store
                ):
                    continue
                for instead in _instead(child):

                    def put(
                        n: ast.AST, name: str = name, i: int = i, instead: ast.expr = instead
                    ) -> None:
                        here = getattr(n, name)
                        if isinstance(here, list):
                            here[i] = copy.deepcopy(instead)
                        else:
                            setattr(n, name, copy.deepcopy(instead))

                    yield _changed(tree, number, put)


def _instead(node: ast.expr) -> Iterator[ast.expr]:
    """Yield smaller expressions in the place of one."""
    if isinstance(node, ast.Constant):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not isinstance(getattr(child, "ctx", None), ast.Store):
            yield child
    if not isinstance(node, (ast.Name, ast.Tuple)):
        yield ast.Constant(1)
        yield ast.Constant(True)
