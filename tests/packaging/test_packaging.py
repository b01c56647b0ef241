"""The wheel and the source distribution: what is in them, and that what is in the wheel works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import lanewise as lw
from tools import release

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both, made by the build backend that is installed: no index is asked."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    assert path.name == f"lanewise-{lw.__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


def test_the_wheel_is_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    assert [*release.wheel_faults(ROOT, wheel, lw.__version__)] == []
    assert "lanewise/py.typed" in wheel.namelist()


def test_the_metadata_is_complete(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))
    assert isinstance(metadata, Message)
    assert metadata["Version"] == lw.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "The Lanewise authors"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "# Lanewise" in metadata.get_payload()
    required = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    names = {r.split(">=")[0].strip() for r in required}
    assert names == {"numpy", "scipy", "llvmlite", "optree"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in readme for name in names), "the README says what each is for"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_the_bill_of_materials_is_of_this_project(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if ".dist-info/sboms/" in name)
    assert name == f"lanewise-{lw.__version__}.dist-info/sboms/lanewise.cdx.json"
    found = json.loads(wheel.read(name))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.7")
    own = found["metadata"]["component"]
    assert (own["name"], own["version"]) == (project["name"], project["version"])
    assert own["purl"] == f"pkg:pypi/{project['name']}@{project['version']}"
    assert own["licenses"] == [{"license": {"id": project["license"]}}]
    assert own["authors"] == project["authors"]
    external = [part for part in found["components"] if part.get("isExternal")]
    ranges = [part["name"] + part["versionRange"].removeprefix("vers:pypi/") for part in external]
    assert sorted(ranges) == sorted(project["dependencies"])
    references = [part["bom-ref"] for part in found["components"]]
    assert found["dependencies"][0] == {"ref": own["bom-ref"], "dependsOn": references}


def test_the_bill_of_materials_says_where_others_work_is(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if ".dist-info/sboms/" in name)
    components = json.loads(wheel.read(name))["components"]
    copied = [part for part in components if not part.get("isExternal")]
    for part in copied:
        places = {place["location"] for place in part["evidence"]["occurrences"]}
        sources = [name for name in wheel.namelist() if name.endswith((".py", ".c", ".h"))]
        said = {name for name in sources if part["name"] in wheel.read(name).decode("utf-8")}
        assert places == said, part["name"]
        assert part["licenses"] and part["copyright"]
    assert [part["name"] for part in copied] == ["fdlibm"]


def test_the_source_distribution_has_what_tests_and_builds_need(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = "pyproject.toml hatch_build.py Makefile README.md SECURITY.md LICENSE CITATION.cff"
    for name in (*wanted.split(), "tests/conftest.py"):
        assert name in names
    assert not [n for n in names if n.startswith((".ci/", ".venv/", "examples/out/", "build/"))]


def test_what_is_in_the_wheel_works(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "packaging" / "smoke.py")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert f"works in {tmp_path / 'site' / 'lanewise'}" in done.stdout
