"""What the files beside the code say of the project, and that all of them say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import lanewise as lw

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]


@pytest.fixture
def citation() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


@pytest.fixture
def recipe() -> dict[str, Any]:
    """Conda's recipe, with the values of its context filled in."""
    text = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    for name, value in yaml.safe_load(text)["context"].items():
        text = text.replace(f"${{{{ {name} }}}}", str(value))
    assert "${{" not in text
    return yaml.safe_load(text)


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


def test_the_recipe_of_conda_is_of_this_project(recipe: dict[str, Any]) -> None:
    assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert [about["license_file"]] == PROJECT["license-files"]
    commands = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert recipe["build"]["noarch"] == "python", "the wheel is for any platform"


def test_the_recipe_of_conda_needs_what_pyproject_needs(recipe: dict[str, Any]) -> None:
    """The names are the same in both worlds."""
    python = f"python{PROJECT['requires-python']}"
    run = [requirement.replace(" ", "") for requirement in recipe["requirements"]["run"]]
    assert run == [python, *PROJECT["dependencies"]]
    oldest, *others = recipe["requirements"]["host"]
    assert oldest.replace(" ", ">=") == f"{python}.*"
    build = [requirement.replace(" ", "") for requirement in others]
    assert build == ["pip", *PYPROJECT["build-system"]["requires"]]


def test_the_recipe_of_conda_tries_what_it_builds(recipe: dict[str, Any]) -> None:
    imports, script = recipe["tests"]
    assert {"lanewise", "lanewise.cli"} == set(imports["python"]["imports"])
    assert imports["python"]["pip_check"]
    for file in script["files"]["source"]:
        assert (ROOT / file).exists()
        assert any(file in line for line in script["script"])


def test_what_runs_before_a_commit_is_what_ci_runs() -> None:
    (recipe,) = re.findall(
        r"^lint: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    wanted = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert local["repo"] == "local", "nothing is downloaded"
    assert [hook["entry"] for hook in local["hooks"]] == wanted
    for hook in local["hooks"]:
        assert (hook["language"], hook["pass_filenames"]) == ("system", False)
        assert all(re.search(hook["files"], name) for name in ("src/a.py", "pyproject.toml"))
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert " check " in ci and re.search(
        r"^check:.*\blint\b", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
