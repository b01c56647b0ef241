"""The support policy of `docs/versioning.md` is kept by what `pyproject.toml` asks for."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
#: SPEC 0's windows.
MONTHS = {"Python": 36, "NumPy": 24, "SciPy": 24}


class Row(NamedTuple):
    """A row of the page's table."""

    name: str
    months: int
    oldest: str
    released: date
    until: date
    before: str
    before_released: date


def rows() -> dict[str, Row]:
    """Return the rows of the table, by what they are of."""
    found = {}
    for name in MONTHS:
        (line,) = re.findall(rf"^\| {name} \| (\d+ \|.*) \|$", PAGE, re.MULTILINE)
        months, oldest, released, until, before, before_released = line.split(" | ")
        day = date.fromisoformat
        found[name] = Row(
            name, int(months), oldest, day(released), day(until), before, day(before_released)
        )
    return found


def later(day: date, months: int) -> date:
    """Return the day so many months later; none of the table is one that a month may lack."""
    years, month = divmod(day.month - 1 + months, 12)
    return date(day.year + years, month + 1, day.day)


def bounds() -> dict[str, str]:
    """Return the lower bounds of `pyproject.toml`, by package."""
    required = [*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"]
    return dict(requirement.split(">=") for requirement in required)


@pytest.mark.parametrize("name", MONTHS)
def test_the_oldest_supported_versions_are_those_that_are_asked_for(name: str) -> None:
    assert rows()[name].oldest == bounds()[name.lower()]


@pytest.mark.parametrize("name", MONTHS)
def test_each_version_stays_as_long_as_the_policy_says(name: str) -> None:
    row = rows()[name]
    assert row.months == MONTHS[name]
    assert row.until == later(row.released, row.months)


@pytest.mark.parametrize("name", MONTHS)
def test_nothing_was_dropped_before_its_time(name: str) -> None:
    row = rows()[name]
    (stated,) = re.findall(r"^As of (\S+):$", PAGE, re.MULTILINE)
    major, minor = map(int, row.oldest.split("."))
    assert row.before == f"{major}.{minor - 1}", "the one just before"
    assert later(row.before_released, row.months) <= date.fromisoformat(stated)


def test_classifiers_are_the_pythons_that_are_supported() -> None:
    head = "Programming Language :: Python :: 3."
    minors = [int(c.removeprefix(head)) for c in PROJECT["classifiers"] if c.startswith(head)]
    assert f"3.{minors[0]}" == rows()["Python"].oldest
    assert minors == [*range(minors[0], minors[-1] + 1)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Lanewise needs Python 3.{minors[0]} to 3.{minors[-1]}." in readme


def test_what_is_tested_as_the_oldest_is_what_is_asked_for() -> None:
    (line,) = re.findall(r"^\| `make test-oldest` \| (.*) \| x86-64 \|$", PAGE, re.MULTILINE)
    python, packages = line.split(" | ")
    told = {name.lower(): version for name, version in map(str.split, packages.split(", "))}
    asked = bounds()
    assert python == asked.pop("python")
    assert told == {name: f"{version}.0" for name, version in asked.items()}
