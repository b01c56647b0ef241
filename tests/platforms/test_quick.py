"""The quick suite: its files are there, it is of every layer, and it fails if it takes too long."""

from __future__ import annotations

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
