"""What holds for the source as a whole: one-way imports, short files, explained names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lanewise as lw

ROOT = Path(lw.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: A package imports from its own row and from those before it.
LAYERS = [
    {"ir", "errors"},
    {"ops"},
    {"trace"},
    {"autograph"},
    {"passes"},
    {"transforms"},
    {"codegen"},
    {"runtime"},
    {"api"},
    {"inspect", "interop", "random", "nn"},
    {""},  # lanewise itself: the public names
    {"cli"},
]
LAYER = {package: level for level, packages in enumerate(LAYERS) for package in packages}

#: Imports inside of functions, which are not counted: optional parts, loaded when asked for.
LAZY = {
    ("trace/tensor.py", "lanewise.interop.array_api"),
    # LLVM and the compiler are loaded when something is compiled: half of the time of the import.
    ("runtime/tiers.py", "lanewise.codegen.partition"),
    ("runtime/tiers.py", "lanewise.runtime.few"),
    ("runtime/tiers.py", "lanewise.runtime.kernels"),
    ("runtime/interpret.py", "lanewise.runtime.kernels"),
    ("inspect/kernels.py", "lanewise.codegen.llvm"),
    ("inspect/kernels.py", "lanewise.runtime.kernels"),
    ("api/threads.py", "lanewise.runtime.pool"),
}


def module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module(path) for path in FILES}


def package(name: str) -> str:
    """Return the package of lanewise that a module belongs to, "" for lanewise itself."""
    return name.split(".")[1] if "." in name else ""


def imports(path: Path) -> list[tuple[str, bool, int]]:
    """Return each module of lanewise that a file imports, whether within a function, and where."""
    found = []
    tree = ast.parse(path.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = {id(node) for f in ast.walk(tree) if isinstance(f, functions) for node in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports by a relative name"
            base = node.module or ""
            parts = [f"{base}.{alias.name}" for alias in node.names]
            names = [part if part in MODULES else base for part in parts]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "lanewise":
                found.append((name, id(node) in inside, node.lineno))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    own = package(module(path))
    assert own in LAYER, f"{own} has no layer; enter it into LAYERS"
    for name, is_lazy, line in imports(path):
        if is_lazy:
            key = (str(path.relative_to(ROOT)), name)
            assert key in LAZY, f"{path}:{line} imports {name} within a function"
        else:
            other = package(name)
            assert (
                other == own or LAYER[other] < LAYER[own] or LAYERS[LAYER[own]] >= {other, own}
            ), f"{path}:{line}: {own or 'lanewise'} must not import {name}"


def test_there_is_no_import_cycle():
    graph = {
        module(path): {name for name, is_lazy, _ in imports(path) if not is_lazy} for path in FILES
    }
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


def test_lazy_imports_are_still_there():
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in FILES
        for name, is_lazy, _ in imports(path)
        if is_lazy
    }
    assert found == LAZY


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
