"""Text files of cases: what goes in, and below it what comes out, literally.

A file begins with what it is about. A line ``=== title`` begins a case, whose text follows. A line
``--- what is done`` begins a section: the text below is what that gives::

    eliminate_dead removes what nobody needs.

    === an operation without readers
    graph(%x: f64[]) { %y = exp(%x) return %x }
    --- eliminate_dead
    graph(%0: f64[]) {
      return %0
    }

A file of a single case needs no title: all before its first section is the case's text.

``REWRITE=1 pytest tests/passes`` writes what each section gives now into the files, where it
differs; look at ``git diff`` then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

IS_REWRITING = os.environ.get("REWRITE", "0") not in ("", "0")
_BORDER = re.compile(r"^(===|---) (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a file: its text, and its sections as pairs of what is done and what it gives."""

    file: Path
    title: str
    text: str
    sections: tuple[tuple[str, str], ...]

    def check(self, found: Sequence[str]) -> None:
        """Assert that the sections give these texts; or write them, where files are rewritten."""
        assert self.sections, f"{self.file.name}: the case {self.title!r} has no section"
        if IS_REWRITING:
            self._rewrite(found)
            return
        for (name, expected), text in zip(self.sections, found, strict=True):
            assert text == expected, f"{self.file.name}, {self.title}: {name}\n{text}"

    def _rewrite(self, found: Sequence[str]) -> None:
        text = self.file.read_text()
        border = f"=== {self.title}\n"
        start = text.index(border) + len(border) if border in text else 0
        before, rest = text[:start], text[start:]
        head, _, after = rest.partition("\n=== ")
        new = head[: head.index("\n--- ")] if "\n--- " in head else head
        for (name, _), text in zip(self.sections, found, strict=True):
            new = f"{new.rstrip()}\n--- {name}\n{text}\n"
        tail = f"\n=== {after}" if after else ""
        self.file.write_text(f"{before}{new}{tail}")


def cases_of(file: Path) -> list[Case]:
    """Return the cases of a file.

    Raises
    ------
    ValueError
        If two have one title, or sections stand before the first of several.
    """
    whole, *parts = _BORDER.split(file.read_text())
    found: list[Case] = []
    if "===" not in parts[::3]:
        found.append(Case(file, file.stem, whole.strip("\n"), ()))
    for mark, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if mark == "===":
            if name in [case.title for case in found]:
                raise ValueError(f"{file.name} has two cases {name!r}")
            found.append(Case(file, name, text.strip("\n"), ()))
        elif not found:
            raise ValueError(f"{file.name}: a section stands before the first case")
        else:
            last = found.pop()
            sections = (*last.sections, (name.strip(), text.strip("\n")))
            found.append(Case(file, last.title, last.text, sections))
    return found


def cases_beside(module: str) -> list[Any]:
    """Return the cases of all text files beside a test module, as parameters of a test."""
    found = [case for file in sorted(Path(module).parent.glob("*.txt")) for case in cases_of(file)]
    return [pytest.param(case, id=_identifier(case)) for case in found]


def _identifier(case: Case) -> str:
    parts = [case.file.stem] if case.title == case.file.stem else [case.file.stem, case.title]
    return "-".join([re.sub(r"\W+", "_", part).strip("_") for part in parts])
