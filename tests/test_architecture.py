"""What holds for the source as a whole: one-way imports, short files, explained names."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops.elementwise import elementwise
from lanewise.ops.registry import REGISTRY, Primitive
from lanewise.passes.pipeline import PIPELINES

ROOT = Path(lw.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: A package imports from its own row and from those before it.
LAYERS = [
    {"ir", "errors", "loading"},
    {"ops"},
    {"trace"},
    {"autograph"},
    {"passes"},
    {"transforms"},
    {"codegen"},
    {"runtime"},
    {"api"},
    {"inspect", "random", "nn"},
    {""},  # lanewise itself: the public names
    {"cli"},
]
LAYER = {package: level for level, packages in enumerate(LAYERS) for package in packages}


def module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module(path) for path in FILES}
#: Who has to ask what operations are.
OUTSIDE = [
    path
    for path in FILES
    if path.relative_to(ROOT).parts[0] != "ops" and path.name != "__main__.py"
]
#: Tables in `lanewise.ops`, which others may import.
OF_OPS = {
    id(x)
    for name in MODULES
    if name.startswith("lanewise.ops.")
    for x in vars(sys.modules[name]).values()
}


def package(name: str) -> str:
    """Return the package of lanewise that a module belongs to, "" for lanewise itself."""
    return name.split(".")[1] if "." in name else ""


def import_statements(tree: ast.AST) -> list[tuple[ast.AST, bool]]:
    """Return the imports of a module, and calls of `late`; and whether each is in a function."""
    found = []
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, is_inside = left.pop()
        is_late = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "late"
        if is_late or isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, is_inside))
        is_inside |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        left += [(child, is_inside) for child in ast.iter_child_nodes(node)]
    return found


@cache
def imports(path: Path) -> list[tuple[str, bool, int]]:
    """Return each module of lanewise that a file imports, whether within a function, and where.

    One that is loaded at its first use (`lanewise.loading`) counts as any other.
    """
    found = []
    for node, is_inside in import_statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports by a relative name"
            base = node.module or ""
            parts = [f"{base}.{alias.name}" for alias in node.names]
            names = [part if part in MODULES else base for part in parts]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [ast.literal_eval(node.args[0])]
        for name in names:
            if name.split(".")[0] == "lanewise":
                found.append((name, is_inside, node.lineno))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    own = package(module(path))
    assert own in LAYER, f"{own} has no layer; enter it into LAYERS"
    for name, is_inside, line in imports(path):
        assert not is_inside, f"{path}:{line} imports {name} within a function"
        other = package(name)
        assert other == own or LAYER[other] < LAYER[own] or LAYERS[LAYER[own]] >= {other, own}, (
            f"{path}:{line}: {own or 'lanewise'} must not import {name}"
        )


def test_there_is_no_import_cycle():
    graph = {module(path): {name for name, *_ in imports(path)} for path in FILES}
    done: set[str] = set()

    def visit(name: str, chain: tuple[str, ...]) -> None:
        assert name not in chain, " imports ".join((*chain[chain.index(name) :], name))
        if name in done:
            return
        for other in graph.get(name, ()):
            if other != name:
                visit(other, (*chain, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def resolved(node: ast.expr, names: dict[str, Any]) -> Any:
    """Return what an expression is in a module, if it is a name or looks something up."""
    if isinstance(node, ast.Starred):
        return resolved(node.value, names)
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(resolved(node.value, names), node.attr, None)
    if isinstance(node, ast.Subscript):  # of a table of primitives, any
        table = resolved(node.value, names)
        return next(iter(table.values()), None) if isinstance(table, dict) else None
    return None


def primitives_of(node: ast.AST, names: dict[str, Any]) -> int:
    """Return how many primitives a display or comprehension holds, or is keyed by: 2 for many."""
    if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = [key for key in node.keys if key is not None]
    elif isinstance(node, (ast.SetComp, ast.ListComp, ast.GeneratorExp)):
        return 2 * isinstance(resolved(node.elt, names), Primitive)
    elif isinstance(node, ast.DictComp):
        return 2 * isinstance(resolved(node.key, names), Primitive)
    else:
        return 0
    found = [resolved(part, names) for part in parts]
    return sum([1 if isinstance(x, Primitive) else 2 * is_table(x) for x in found])


def is_table(x: Any) -> bool:
    """Whether something is a collection of several primitives, or keyed by them."""
    is_collection = isinstance(x, (set, frozenset, tuple, list, dict))
    return is_collection and sum([isinstance(part, Primitive) for part in x]) > 1


def is_name_of_primitive(node: ast.AST) -> bool:
    is_name = isinstance(node, ast.Attribute) and node.attr == "name"
    return is_name and "primitive" in ast.unparse(node.value).lower()


def asks_for_a_name(node: ast.AST) -> bool:
    """Whether code tells primitives apart by their names."""
    if isinstance(node, ast.Compare):
        return any(map(is_name_of_primitive, (node.left, *node.comparators)))
    if isinstance(node, ast.Match):
        return is_name_of_primitive(node.subject)
    if isinstance(node, ast.Subscript):
        return is_name_of_primitive(node.slice)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if is_name_of_primitive(node.func.value):  # op.primitive.name.startswith(...)
        return node.func.attr in ("startswith", "endswith")
    is_registry = ast.unparse(node.func.value) == "REGISTRY"
    asked = node.func.attr == "get" and any(map(is_name_of_primitive, node.args))
    return asked and not is_registry


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_operations_are_asked_for_facts(path):
    """Outside of ops nobody lists operations, or knows them by their names (`ops/facts.py`)."""
    names = vars(importlib.import_module(module(path)))
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        where = f"{path}:{getattr(node, 'lineno', 0)}"
        assert primitives_of(node, names) < 2, f"{where} lists operations: give them a fact"
        assert not asks_for_a_name(node), f"{where} asks for an operation's name: give it a fact"
    own = {name: x for name, x in names.items() if is_table(x) and id(x) not in OF_OPS}
    assert not own, f"{path} has tables of operations: {', '.join(own)}"


def test_what_lists_operations_is_found():
    names = {"exp": elementwise(np.exp), "log": elementwise(np.log), "REGISTRY": REGISTRY}

    def count(text: str) -> int:
        return primitives_of(ast.parse(text, mode="eval").body, names)

    assert [count(text) for text in ("(exp, log)", "{exp: 1, log: 2}", "{exp: log}", "[exp]")] == [
        2, 2, 1, 1
    ]  # fmt: skip
    assert count("{REGISTRY[name] for name in found}") == count("{REGISTRY[n]: 1 for n in x}") == 2
    for text in (
        'op.primitive.name == "exp"', "primitive.name in names", "prices[op.primitive.name]",
        "prices.get(op.primitive.name, 1)", 'op.primitive.name.startswith("list")',
    ):  # fmt: skip
        assert asks_for_a_name(ast.parse(text, mode="eval").body), text
    assert not asks_for_a_name(ast.parse("op.primitive is exp", mode="eval").body)


def private_names(tree: ast.AST) -> set[str]:
    """Return the private attributes and methods that a module gives to its own objects."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


@pytest.mark.parametrize(
    "path",
    [
        path
        for name in ("ir", "ops", "codegen", "passes", "runtime")
        for path in (ROOT / name).rglob("*.py")
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_private_attributes_stay_in_their_module(path):
    tree = ast.parse(path.read_text())
    own = private_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or ast.unparse(node).startswith(("np.", "sys.")):
            continue
        is_private = node.attr.startswith("_") and not node.attr.startswith("__")
        assert not is_private or node.attr in own, f"{path}:{node.lineno} reads {ast.unparse(node)}"


def steps() -> set[str]:
    """Return the names of all functions that are steps of pipelines."""
    return {step.run.__name__ for pipeline in PIPELINES for step in pipeline.steps}


@pytest.mark.parametrize("path", [*(ROOT / "runtime").rglob("*.py")], ids=lambda path: path.name)
def test_the_runtime_carries_out_no_steps(path):
    """They are in one list (`passes/pipeline.py`), and the runtime asks for what it gives."""
    found = [
        alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in steps() and (node.module or "").startswith("lanewise.passes")
    ]
    assert not found


def test_each_step_is_tested_by_itself():
    """A step that only whole programs test breaks far from where it is found."""
    tests = sorted(Path(__file__).parent.rglob("*.py"))
    tested = {name for path in tests for name, _, _ in imports(path)}
    steps = [module(p) for p in FILES if p.parent != ROOT and p.name != "__init__.py"]
    steps = [name for name in steps if package(name) in ("passes", "codegen", "runtime")]
    missing = [name for name in steps if name not in tested]
    assert not missing, f"no test imports {', '.join(missing)}; see 'How steps are tested'"


@pytest.mark.parametrize("name", sorted(steps()))
def test_each_step_has_cases(name):
    """Graphs before and after it, which show what it does: ``--- name`` in a text file."""
    files = Path(__file__).parent.glob("*/*.txt")
    found = [file for file in files if re.search(rf"^--- {name}\b", file.read_text(), re.MULTILINE)]
    assert found, f"no file of cases shows {name}; see 'How steps are tested' in docs/design.md"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 600
    assert ast.get_docstring(ast.parse(text)), "a file says in its first line what it is for"


@pytest.mark.parametrize("name", lw.__all__)
def test_public_names_are_explained(name):
    doc = getattr(lw, name).__doc__
    assert doc and "Examples\n" in doc, f"lanewise.{name} needs an Examples section"
    assert ">>> " in doc.split("Examples\n")[1]
