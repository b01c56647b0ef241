"""The command that says which tests cover a file; and its record, which must not be out of date."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from covering import __main__ as command
from covering.choosing import ROOT, SOURCE, Record, covering, importing
from covering.recording import chosen

RECORD = Record.read()
FILES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / SOURCE).rglob("*.py"))]


def has_functions(file: str) -> bool:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return any([isinstance(node, ast.FunctionDef) for node in ast.walk(tree)])


def test_the_record_is_of_nearly_all_files():
    unknown = [file for file in FILES if has_functions(file) and file not in RECORD.tests]
    gone = [file for file in RECORD.tests if not (ROOT / file).exists()]
    assert len(unknown) + len(gone) <= len(FILES) / 10, (
        f"not in the record: {unknown}; gone: {gone}. Run python -m tests.covering --record"
    )


@pytest.mark.parametrize("file", FILES)
def test_every_file_has_tests(file):
    found = covering(file, RECORD)
    assert len(found) > 1 or not has_functions(file)
    assert all([(ROOT / test).exists() for test in found])
    seconds = [RECORD.seconds.get(test, 0.0) for test in found]
    assert seconds == sorted(seconds)


def test_tests_of_a_pass_by_itself_are_found():
    assert "tests/passes/test_steps.py" in covering(f"{SOURCE}passes/prune.py", RECORD)


def test_a_file_that_the_record_does_not_know_has_the_tests_of_its_users():
    file = f"{SOURCE}passes/prune.py"
    others = {name: tests for name, tests in RECORD.tests.items() if name != file}
    found = covering(file, Record(others, RECORD.seconds))
    assert set(found) >= set(importing(file))
    simplify = [
        test for test in RECORD.tests[f"{SOURCE}passes/simplify.py"] if (ROOT / test).exists()
    ]
    assert set(found) >= set(simplify)


def test_native_code_has_the_tests_of_its_module():
    pool = covering(f"{SOURCE}runtime/pool.py", RECORD)
    assert set(covering(f"{SOURCE}runtime/c/pool.c", RECORD)) >= set(
        RECORD.tests[f"{SOURCE}runtime/pool.py"]
    ) & set(pool)


def test_what_tests_share_has_the_tests_that_use_it():
    leaks = covering("tests/support/leaks.py", RECORD)
    assert sorted(leaks) == ["tests/runtime/test_launch.py", "tests/runtime/test_mend.py"]
    assert covering("tests/runtime/test_mend.py", RECORD) == ["tests/runtime/test_mend.py"]
    # by what is shared and uses it
    assert "tests/programs/test_corpus.py" in covering("tests/support/oracle.py", RECORD)


def test_pages_and_benchmarks_have_tests():
    assert covering("docs/design.md", RECORD) == ["tests/docs"]
    assert "tests/programs_suite" in covering("benchmarks/programs/run.py", RECORD)


def test_the_fewest_and_quickest_tests_are_chosen():
    f, g, h = [("a.py", name) for name in "fgh"]
    calls = {"all": {f, g, h}, "slow": {f, g, h}, "one": {f}, "two": {f, g}, "no": {("b.py", "f")}}
    seconds = {"all": 1.0, "slow": 90.0, "one": 1.0, "two": 1.0, "no": 1.0}
    assert chosen(calls, seconds) == {"a.py": ["all", "two", "one", "slow"], "b.py": ["no"]}
    assert chosen({name: calls[name] for name in ("all", "one")}, seconds) == {
        "a.py": ["all", "one"]
    }
    many = {f"t{i}": {f} for i in range(9)}
    assert len(chosen(many, dict.fromkeys(many, 1.0))["a.py"]) == 3


def test_the_command_prints_tests_and_runs_them(monkeypatch, capsys):
    commands = []

    def run(arguments: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(arguments)
        return subprocess.CompletedProcess(arguments, 5, stdout=f" M {SOURCE}passes/prune.py\n")

    assert command.main([str(ROOT / "tests/support/leaks.py")]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == covering(
        "tests/support/leaks.py", RECORD
    )
    assert command.main([str(ROOT / "LICENSE")]) == 1
    assert capsys.readouterr().out == "no tests are known of LICENSE\n"
    monkeypatch.setattr(subprocess, "run", run)
    assert command.main(["--run"]) == 5
    assert commands[0][:2] == ["git", "status"]
    assert "tests/passes/test_steps.py" in commands[1]
