"""Which tests cover a file, by what was recorded of them and by what files import."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("record.json")
SOURCE = "src/lanewise/"
#: What looks at all source files.
TREE = "tests/test_architecture.py"
#: A module that more files of tests import than that is no way to find those that are about it.
MANY = 12


@dataclass(frozen=True)
class Record:
    """What was seen: for each source file its tests, and for each file of tests its seconds."""

    tests: dict[str, list[str]]
    seconds: dict[str, float]

    @staticmethod
    def read() -> Record:
        return Record(**json.loads(RECORD.read_text("utf-8")))

    def write(self) -> None:
        """Write a line for each file, so that changes are seen and merged line by line."""
        text = (
            f'{{"tests": {{\n{_rows(self.tests)}\n}},\n"seconds": {{\n{_rows(self.seconds)}\n}}}}\n'
        )
        RECORD.write_text(text, "utf-8")


def _rows(table: dict) -> str:
    return ",\n".join(
        [f"{json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(table.items())]
    )


def covering(file: str, record: Record) -> list[str]:
    """Return the files of tests that cover a file, the quickest first; paths are from the root."""
    if file.startswith(SOURCE):
        found = _of_source(file, record)
    elif file.startswith("tests/"):
        found = _of_test(file)
    elif file.startswith("docs/") or file in ("README.md", "CONTRIBUTING.md", "mkdocs.yml"):
        found = ["tests/docs"]
    elif file.startswith("benchmarks/"):
        found = [
            "tests/test_benchmarks.py",
            "tests/programs_suite",
            "tests/random/test_benchmark.py",
        ]
    elif file.startswith("examples/"):
        found = ["tests/examples"]
    else:
        found = []
    there = [test for test in dict.fromkeys(found) if (ROOT / test).exists()]
    return sorted(there, key=lambda test: record.seconds.get(test, 0.0))


def _of_source(file: str, record: Record) -> list[str]:
    """Return the tests of a source file: those recorded, those that import it, its doctests."""
    found = [*record.tests.get(file, ()), TREE]
    by_import = importing(file)
    if len(by_import) <= MANY:
        found += by_import
    if (ROOT / file).exists() and ">>> " in (ROOT / file).read_text("utf-8"):
        found.append(file)
    if file not in record.tests:  # it is new, or no Python
        for user in _users(file):
            found += record.tests.get(user, ())
    return found


def _users(file: str) -> list[str]:
    """Return the source files that use a file."""
    path = Path(file)
    if path.suffix in (".c", ".h", ".ll"):  # in C: of the module of its name, or of all of these
        names = ["launch", "mend", "pool"] if path.suffix == ".h" else [path.stem]
        return [str(path.parents[1] / f"{name}.py") for name in names]
    return [user for user in _python(SOURCE) if module(file) in imports(user)]


def _of_test(file: str) -> list[str]:
    """Return a file of tests itself; of what tests share, the tests that import it."""
    name = Path(file).name
    if name.startswith("test_"):
        return [file]
    if name == "conftest.py":
        return [str(Path(file).parent)] if file.count("/") > 1 else []
    beside = sorted(path.name for path in (ROOT / file).parent.glob("test_*.py"))
    return importing(file) or [f"{Path(file).parent}/{test}" for test in beside]


def importing(file: str) -> list[str]:
    """Return the files of tests that import a file, or something that tests share and that does."""
    wanted = {module(file)}
    files = _python("tests/")
    shared = [path for path in files if not Path(path).name.startswith("test_")]
    for _ in range(3):  # what is shared uses some of what is shared
        wanted |= {module(path) for path in shared if wanted & imports(path)}
    return [path for path in files if path not in shared and wanted & imports(path)]


def module(file: str) -> str:
    """Return the name that a file is imported by.

    >>> module("src/lanewise/passes/prune.py"), module("tests/support/oracle.py")
    ('lanewise.passes.prune', 'support.oracle')
    """
    name = file.removeprefix("src/").removeprefix("tests/").removesuffix(".py")
    return name.removesuffix("/__init__").replace("/", ".")


@cache
def imports(file: str) -> frozenset[str]:
    """Return the modules that a file imports, with the names that it takes from them."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


@cache
def _python(folder: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(f"{folder}**/*.py"))]
