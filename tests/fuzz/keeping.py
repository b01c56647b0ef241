"""Programs that gave something else than plain Python once, as files: they are run by the tests."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.programs import Example
from fuzz.running import Difference

FOUND = Path(__file__).parent / "found"


def text(example: Example, found: Difference, name: str) -> str:
    """Return the file of a program: its source, and the batch that it is run on."""
    names = _used(example)
    arrays = {n: x for n, x in example.arrays.items() if n in names}
    dims = tuple([d for n, d in zip(example.arrays, example.in_dims, strict=True) if n in names])
    detail = " ".join(found.detail.split()).replace("\\", "/").replace('"""', "'''")
    rows = [f'"""{name}, {found.mode}: {found.what}: {detail[:300]}"""', ""]
    rows += ["# ruff: noqa", example.source.rstrip(), "", f"MODE = {found.mode!r}"]
    rows.append("ARRAYS = {")
    for n, x in arrays.items():
        rows.append(f"    {n!r}: np.array({x.tolist()!r}, {x.dtype.str!r}).reshape({x.shape}),")
    rows += ["}", f"IN_DIMS = {dims!r}", f"LAYOUTS = {example.layouts!r}"]
    return "\n".join(rows) + "\n"


def _used(example: Example) -> list[str]:
    """Return the arguments: all that the function takes."""
    tree = ast.parse(example.source)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
    return [a.arg for a in function.args.args]


def read(path: Path) -> tuple[str, Example]:
    """Return the mode and the program of a file."""
    source = path.read_text(encoding="utf-8")
    scope: dict[str, Any] = {"np": np, "log": []}
    exec(compile(source, str(path), "exec"), scope)
    head = source.partition("\nMODE = ")[0] + "\n"
    return scope["MODE"], Example(head, scope["ARRAYS"], scope["IN_DIMS"], scope["LAYOUTS"])
