"""What the files beside the code say of the project, and that all of them say the same."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import lanewise as lw

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture
def citation() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_the_citation_is_of_this_project(citation: dict[str, Any]) -> None:
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"].lower() == PROJECT["name"]
    assert citation["version"] == PROJECT["version"] == lw.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["abstract"] == PROJECT["description"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["authors"] == PROJECT["authors"]


def test_the_citation_has_what_its_format_asks_for_and_knows(citation: dict[str, Any]) -> None:
    """By the schema 1.2.0 of the Citation File Format, as far as this file goes."""
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    known = {"type", "abstract", "version", "license", "keywords", "date-released"}
    assert citation.keys() <= known | {"cff-version", "message", "title", "authors"}
    assert citation["type"] in ("software", "dataset")
    # An entity has a name and nothing that a person has.
    assert all(author.keys() == {"name"} for author in citation["authors"])
    assert all(isinstance(citation[name], str) for name in ("version", "message", "license"))
