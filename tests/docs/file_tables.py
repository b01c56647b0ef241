"""The page ``docs/files.md``: every file of the source, and what it does by its own first line.

Write the page anew with::

    python tests/docs/file_tables.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "files.md"
SOURCE = ROOT / "src" / "lanewise"
#: In the order of a call, as in the design.
PACKAGES = (
    "ir ops trace autograph passes transforms codegen runtime api random nn inspect cli"
).split()
#: Beside the packages: what tests share, and what makes the pages and the site.
FOLDERS = {"tests/support": ROOT / "tests" / "support", "docs": ROOT / "docs"}

HEAD = """\
# The files

What each file does, by its own first line. `tests/docs/file_tables.py` writes this page, and a test
fails when it is not up to date. How the packages work together is in [the design](design.md); what
happens in one call, and where, in [how it works](how-it-works.md#6-the-way-of-one-call); and how
to change something in [contributing](../CONTRIBUTING.md).
"""


def page() -> str:
    """Return the whole page."""
    found = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert found == set(PACKAGES), f"enter into PACKAGES, or remove: {found ^ set(PACKAGES)}"
    outer = [path for path in _files(SOURCE) if path.parent == SOURCE]
    parts = [HEAD, _section("`lanewise`", SOURCE, outer)]
    parts += [_package(SOURCE / name) for name in PACKAGES]
    parts += [_section(f"`{name}/`", path, _files(path)) for name, path in FOLDERS.items()]
    return "\n".join(parts)


def _package(folder: Path) -> str:
    return _section(f"`{folder.relative_to(SOURCE)}/`", folder, _files(folder))


def _section(title: str, folder: Path, files: list[Path]) -> str:
    """Return what a folder is for, and its table."""
    lines = [f"## {title}", ""]
    if folder / "__init__.py" in files:
        lines += [purpose(folder / "__init__.py"), ""]
    lines += ["| file | what it does |", "| --- | --- |"]
    for path in files:
        if path != folder / "__init__.py":
            name = path.relative_to(folder).as_posix()
            name = name.removesuffix("__init__.py").removesuffix(".py")
            lines.append(f"| `{name}` | {purpose(path)} |")
    return "\n".join(lines) + "\n"


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder that are code, those of its subfolders behind its own."""
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".c", ".h")]
    return sorted(files, key=lambda path: (len(path.relative_to(folder).parts) > 1, path))


def purpose(path: Path) -> str:
    """Return what a file says it does: the first paragraph of its docstring, or of a comment."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    else:
        text = text.removeprefix("/*").partition("*/")[0]
    first = " ".join(text.split("\n\n")[0].split())
    assert first, f"{path} does not say what it is for"
    return re.sub(r"``(.+?)``", r"`\1`", first).replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
