"""The drawings of ``docs/how-it-works.md`` are those that ``docs/drawings.py`` makes."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET

from docs.test_docs import DOCS


def test_drawings_are_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "drawings.py"))["DRAWINGS"]
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    assert {path.stem for path in (DOCS / "drawings").glob("*.svg")} == set(made)
    for name, draw in made.items():
        text = (DOCS / "drawings" / f"{name}.svg").read_text(encoding="utf-8")
        assert text == draw(), "run python docs/drawings.py"
        assert f"(drawings/{name}.svg)" in page
        links = [
            part for part in ET.fromstring(text).iter() if part.tag.endswith(("script", "image"))
        ]
        assert not links
