"""The search of the site works in pages that are opened as files, with nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_index_is_a_script_too(tmp_path):
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    (tmp_path / "search").mkdir()
    index = {"docs": [{"title": "Größe", "text": "</script>"}]}
    (tmp_path / "search/search_index.json").write_text(json.dumps(index), encoding="utf-8")
    hooks.on_post_build({"site_dir": str(tmp_path)})
    script = (tmp_path / "search/search_index.js").read_text(encoding="utf-8")
    assert script.startswith("var __index = ")
    assert json.loads(script.removeprefix("var __index = ")) == index


def test_what_stands_for_workers_in_files_is_ours():
    assert "polyfills: [search.js]" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    script = (ROOT / "docs/search.js").read_text(encoding="utf-8")
    assert "://" not in script
    # The theme's worker looks for this class to find its neighbours.
    assert "window.IFrameWorker" in script
