"""The quick suite: its files are there, it is of every layer, and it fails if it takes too long."""

from __future__ import annotations

import json
import runpy
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
QUICK = runpy.run_path(str(Path(__file__).with_name("quick.py")))


@pytest.mark.parametrize("name", ["SUITE", "SOURCE", "VERSIONS", "EMULATED"])
def test_files_are_there(name):
    assert [file for file in QUICK[name] if not (ROOT / file).exists()] == []


def test_every_folder_of_a_layer_is_in_it():
    folders = {file.split("/")[1] for file in QUICK["SUITE"] + QUICK["SOURCE"]}
    assert folders >= {
        "ir", "ops", "numpy_api", "autograph", "control", "passes", "derivatives", "codegen",
        "runtime", "maps", "function", "inspect", "random", "cli", "behaviours",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "status", "expected"), [(59.0, 0, 0), (61.0, 0, 1), (59.0, 3, 3), (61.0, 3, 3)]
)
def test_more_than_a_minute_is_a_failure(seconds, status, expected, monkeypatch, capsys):
    commands = []
    times = iter([100.0, 100.0 + seconds])

    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    assert QUICK["here"]([]) == expected
    assert "--durations=10" in commands[0]
    suite = QUICK["SUITE"] + QUICK["SOURCE"]
    assert commands[0][-len(suite) :] == suite
    assert ("error: the quick suite must not" in capsys.readouterr().out) == (expected == 1)


def summary(ran: int, lines: int) -> dict[str, dict[str, int]]:
    return {"summary": {"covered_lines": ran, "num_statements": lines}}


def test_the_newest_tells_what_the_suite_covers(tmp_path, monkeypatch, capsys):
    files = {
        "src/lanewise/api/vmap.py": summary(30, 40),
        "src/lanewise/api/few/a.py": summary(0, 20),
        "src/lanewise/errors.py": summary(60, 60),
        "src/lanewise/nn/__init__.py": summary(0, 0),
    }
    given: list[list[str]] = []

    def newest(tests: Sequence[str], python: str | None) -> int:
        given.append([*tests])
        if tests == QUICK["COVERING"]:
            (option,) = (test for test in tests if test.startswith("--cov-report=json:"))
            path = tmp_path / option.partition(":")[2]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"files": files}))
        return 3

    run = QUICK["newest"].__globals__
    monkeypatch.setitem(run, "ROOT", tmp_path)
    monkeypatch.setitem(run, "_newest", newest)
    assert run["newest"]([], None) == 3
    title, *rows = capsys.readouterr().out.splitlines()
    assert "quick suite" in title
    assert [row.split() for row in rows] == [
        ["api", "50%", "of", "60"],
        ["errors", "100%", "of", "60"],
        ["nn", "0%", "of", "0"],
        ["all", "75%", "of", "120"],
    ]
    # Of a part of the tests the figure would say nothing, nor is that of another run told.
    assert run["newest"](["tests/maps"], None) == 3
    assert given == [QUICK["COVERING"], ["tests/maps"]]
    assert "coverage" not in capsys.readouterr().out


def test_lines_are_counted_as_cheaply_as_python_can():
    assert any(tool.startswith("pytest-cov") for tool in QUICK["TOOLS"])
    environment = QUICK["_environment"]([ROOT / "src"])
    assert environment["COVERAGE_CORE"] == "sysmon"
    assert environment["COVERAGE_FILE"].startswith("build/")
