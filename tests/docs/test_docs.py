"""Every example in the README and in docs/ is run, as it is printed there."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanewise.api import refused
from lanewise.ops.registry import REGISTRY
from lanewise.passes import survive
from lanewise.runtime import dispatch

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OUTER = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*OUTER, *sorted(DOCS.rglob("*.md"))]
NAMES = ["/".join(page.relative_to(ROOT).parts[-2:]) for page in PAGES]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(page: Path) -> str:
    """Return the Python blocks of a page, at their own lines, everything else blanked out."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines)


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Forget the operations that a page adds: other tests go through all that there are."""
    known = set(REGISTRY)
    yield
    for name in REGISTRY.keys() - known:
        del REGISTRY[name]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)  # as users find it
    dispatch.forget()  # nor has another page run what this one does
    for module in (survive, refused):
        monkeypatch.setattr(module, "_told", set())
    test = doctest.DocTestParser().get_doctest(examples(page), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        is_made = (page.parent / target).resolve().is_relative_to(DOCS / "reference")
        if "://" not in target and not is_made:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
