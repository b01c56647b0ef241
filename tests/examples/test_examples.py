"""Every script of `examples/`, in small: its results are the loop's, and it draws a picture."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lanewise as lw

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(ROOT.glob("examples/[!_]*.py"))
NAMES = [path.stem for path in SCRIPTS if path.stem != "stage"]

pytest.importorskip("matplotlib", reason="the examples draw")
pytest.importorskip("sklearn", reason="the examples' data")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let scripts import `stage` as they do when they are run."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setenv("LANEWISE_CACHE", "0")
    yield


def load(name: str) -> ModuleType:
    sys.modules.pop(name, None)  # "stage" could be another's name
    return importlib.import_module(name)


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_the_loops(
    name: str,
    backend: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script, stage = load(name), load("stage")
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    if name == "data_audit":  # kernels grow with its network
        monkeypatch.setattr(script, "UNITS", 8)
    if backend == "interpret":  # one picture is enough: what is drawn is the loop's results
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path: None)
    script.main(stage.Stage(script.__file__, ["--small", "--out", str(tmp_path)]))
    if backend == "native":
        image = importlib.import_module("matplotlib.image").imread(tmp_path / f"{name}.png")
        assert min(image.shape[:2]) >= 300
        assert image[..., :3].std() > 0.02, "the picture is blank"
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert record["name"] == name and record["lanewise"] > 0
    assert "results: the loop's and NumPy's" in capsys.readouterr().out


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_short_and_say_what_they_do(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source))
    if path.stem != "stage":
        assert len(source.splitlines()) < 80


def test_every_script_is_in_the_gallery() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert set(re.findall(r"gallery/(\w+)\.png", page)) == set(NAMES)
    assert {path.stem for path in ROOT.glob("docs/gallery/*.png")} == set(NAMES)
    assert all(path.stat().st_size < 120_000 for path in ROOT.glob("docs/gallery/*.png"))


def compare(stage: Any, **ways: Any) -> Any:
    def double(x: Any) -> Any:
        return x * 2

    ways = dict(loop=double, numpy=double, lanewise=lw.vmap(double)) | ways
    return stage.compare("numbers", (np.arange(1.0, 9.0),), **ways)


def test_what_differs_from_the_loop_or_from_numpy_is_an_error(tmp_path: Path) -> None:
    stage = load("stage").Stage("some/name.py", ["--small", "--out", str(tmp_path)])
    assert compare(stage).tolist() == [2.0 * n for n in range(1, 9)]
    with pytest.raises(AssertionError, match="8 of 8 examples differ from the loop's, 0 of 8 from"):
        compare(stage, loop=lambda x: x * 3)
    with pytest.raises(AssertionError, match="0 of 8 examples differ from the loop's, 1 of 8 from"):
        compare(stage, numpy=lambda x: np.where(x == 8, np.nan, x * 2))
    with pytest.raises(AssertionError, match=r"float64 \(8,\) found, float32 \(8,\) wanted"):
        compare(stage, loop=lambda x: np.float32(x * 2))
    compare(stage, loop=lambda x: x * 2 * (1 + 1e-9), rtol=1e-8)
    compare(stage, numpy=lambda x: np.where(x == 8, 0, x * 2), astray=0.2)


def test_bad_arguments_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load("stage").Stage("some/name.py", ["--large"])
    assert "unrecognized arguments: --large" in capsys.readouterr().err
