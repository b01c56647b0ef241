"""`SECURITY.md` names each file of the source that opens, runs, imports or loads something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lanewise"

#: Functions, by the names that they are called by, whose callers are to be on the page.
TOLD = set(
    "exec eval compile __import__ import_module spec_from_file_location exec_module "  # code
    "CDLL PyDLL WinDLL LoadLibrary load_library_permanently load_library "  # libraries
    "open fdopen memmap fromfile ZipFile mkstemp TemporaryDirectory getline getlines "
    "read_bytes read_text write_bytes write_text".split()
)
#: Methods of these names are other things: of `re`, of our own graphs and regions.
OWN = {"re.compile", "dispatch.compile", "fork.open", "self._fork.open", "region.open"}
#: Modules that read pickles, start processes or open connections.
ABSENT = set(
    "pickle _pickle shelve dill cloudpickle subprocess multiprocessing socket ssl http urllib "
    "asyncio ftplib smtplib xmlrpc concurrent".split()
)
#: What reads a form that can hold code.
UNSAFE = {"marshal.loads", "marshal.load", "np.load", "os.system", "os.popen", "os.startfile"}


def calls(path: Path) -> Iterator[tuple[str, str]]:
    """Yield of each call the name of what is called, and how it is written."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            yield name, ast.unparse(node.func)


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def is_to_tell(path: Path) -> bool:
    """Whether a file calls one of these functions of Python's."""
    if path.name == "dispatch.py":  # has a `compile` of its own
        return any(name in TOLD - {"compile"} for name, _ in calls(path))
    return any(name in TOLD and written not in OWN for name, written in calls(path))


def named() -> set[str]:
    """Return the files of the source that the page names."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    return {name for name in re.findall(r"`([\w/]+\.py)`", text) if not name.startswith("tests/")}


def test_each_file_that_reads_or_runs_something_is_on_the_page():
    files = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    assert named() - files == set()
    found = {name for name in files if is_to_tell(SOURCE / name)}
    assert found ^ named() == set()


def test_nothing_is_done_that_the_page_says_is_not():
    for path in SOURCE.rglob("*.py"):
        assert not ABSENT & {*imported(path)}, path
        assert not UNSAFE & {written for _, written in calls(path)}, path


@pytest.mark.parametrize(
    "line",
    ["exec(text)", "importlib.import_module(name)", "ctypes.CDLL(path)", "path.open('rb')",
     "open(path)", "zipfile.ZipFile(path)"],
)  # fmt: skip
def test_what_is_to_tell_is_found(tmp_path, line):
    path = tmp_path / "new.py"
    path.write_text(f"def f(x):\n    return {line}\n")
    assert is_to_tell(path)
    path.write_text("import re\n\nPATTERN = re.compile('x')\n")
    assert not is_to_tell(path)
