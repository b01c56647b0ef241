"""What holds for the files of the tests: what they share is in `support/`, the rest are tests."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
#: What is no test: what tests share, programs that they run, and commands.
OTHERS = (
    "support/",
    "covering/",
    "fuzz/",
    "programs/corpus/",
    "docs/file_tables.py",
    "docs/native_tables.py",
    "packaging/fresh.py",
    "packaging/smoke.py",
    "platforms/quick.py",
)


def test_what_tests_share_is_in_one_folder():
    files = [path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py")]
    helpers = [
        file
        for file in files
        if not file.rpartition("/")[2].startswith(("test_", "conftest")) and "/." not in f"/{file}"
    ]
    assert [file for file in helpers if not file.startswith(OTHERS)] == []
    assert [other for other in OTHERS if not (TESTS / other).exists()] == []
