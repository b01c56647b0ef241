"""A release is refused where something is not as it should be; a dry run of one goes through."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest

import lanewise as lw
from benchmarks import history
from tools import release

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 2, 1)
#: What a change of the tree does not bring along.
IGNORED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "out"
)

no_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=Tests", "-c", "user.email=tests@example.invalid"]
    command = ["git", *name, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) >= 1
    return text.replace(old, new, 1)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the files that say the version, and nothing else."""
    for name in ("pyproject.toml", "CHANGELOG.md", *release.VERSIONS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    git(tmp_path, "init", "--quiet", "--initial-branch", release.BRANCH)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "All of it")
    return tmp_path


@no_git
def test_a_dry_run_goes_through(tmp_path: Path) -> None:
    """All but what needs a package index, in a copy of this tree that is ready for it."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=IGNORED)
    changes = copy / "CHANGELOG.md"
    section = f"## [{lw.__version__}] - 2026-01-31"
    changes.write_text(
        changed(changes.read_text("utf-8"), "## [Unreleased]", f"## [Unreleased]\n\n{section}"),
        encoding="utf-8",
    )
    git(copy, "init", "--quiet", "--initial-branch", release.BRANCH)
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "Release it")
    paths = [str(copy / "src"), str(copy)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "tools.release", "--dry-run", "--offline"]
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "before building: ok" in done.stdout and "what was built: ok" in done.stdout
    assert ("no [project.urls]" in done.stdout) == (not release.addresses(copy))
    assert "is not tagged" in done.stdout and git(copy, "tag") == ""
    assert git(copy, "status", "--porcelain") == ""
    folder = copy / "build" / "release"
    assert len(list((folder / "dist").iterdir())) == 2
    sums = ["sha256sum", "--check", "--quiet", str(folder / "SHA256SUMS")]
    if shutil.which("sha256sum"):
        assert subprocess.run(sums, cwd=folder / "dist", check=False).returncode == 0


@no_git
def test_the_tree_is_clean_and_on_main_and_not_tagged(tree: Path) -> None:
    assert [*release.tree_faults(tree, "0.1.0")] == []
    (tree / "new.py").touch()
    assert [*release.tree_faults(tree, "0.1.0")] == ["the tree is not clean: new.py"]
    (tree / "new.py").unlink()
    git(tree, "tag", "v0.1.0")
    assert [*release.tree_faults(tree, "0.1.0")] == ["there is a tag v0.1.0 already"]
    assert [*release.tree_faults(tree, "0.2.0")] == []
    git(tree, "checkout", "--quiet", "-b", "other")
    assert [*release.tree_faults(tree, "0.2.0")] == ["the branch is other, not main"]


@no_git
@pytest.mark.parametrize("name", release.VERSIONS)
def test_all_files_say_one_version(tree: Path, name: str) -> None:
    version = release.version_of(tree)
    assert version == lw.__version__
    assert [*release.version_faults(tree, version)] == []
    path = tree / name
    path.write_text(changed(path.read_text("utf-8"), version, "9.9.9"), encoding="utf-8")
    (fault,) = release.version_faults(tree, version)
    assert fault == f"{name} says 9.9.9, pyproject.toml {version}"


LISTED = (
    "# Changes\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-31\n\n- A thing.\n\n## [0.1.0] - ...\n"
)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("- A thing", "- A thing", None),
        ("## [Unreleased]\n\n", "", None),
        ("## [Unreleased]\n", "## [Unreleased]\n\n- Not yet.\n", 'something under "Unreleased"'),
        ("[0.2.0]", "[0.3.0]", r"begins with \[0.3.0\] - 2026-01-31, not with \[0.2.0\] - DATE"),
        ("2026-01-31", "soon", r"not with \[0.2.0\] - DATE"),
        ("2026-01-31", "2026-03-01", "which is still to come"),
        ("- A thing.", "Much.", "says nothing of 0.2.0"),
    ],
)
def test_the_list_of_changes_begins_with_the_version(old: str, new: str, fault: str | None) -> None:
    found = [*release.changelog_faults(changed(LISTED, old, new), "0.2.0", TODAY)]
    assert len(found) == (fault is not None)
    assert all(re.search(fault or "", told) for told in found)


@no_git
def test_a_regression_of_the_benchmarks_is_one_of_the_faults(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "load", lambda path: [])
    monkeypatch.setattr(history, "regressions", lambda runs: ["suite, dot: it fell"])
    assert "suite, dot: it fell" in [*release.before(tree, "0.1.0")]


def test_what_a_wheel_lacks_or_should_not_have_is_told(tmp_path: Path) -> None:
    (tmp_path / "src/lanewise").mkdir(parents=True)
    (tmp_path / "src/lanewise/a.py").touch()
    about = "lanewise-0.1.0.dist-info"

    def faults(names: set[str], version: str = "0.1.0") -> list[str]:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name in sorted(names):
                archive.writestr(name, f"Version: {version}\n")
            return [*release.wheel_faults(tmp_path, archive, "0.1.0")]

    right = {"lanewise/a.py", *[f"{about}/{name}" for name in release.ABOUT]}
    assert faults(right) == []
    assert faults({*right, "tests/a.py"}) == ["the wheel has tests/a.py (1 in all)"]
    assert faults(right - {"lanewise/a.py"}) == ["the wheel lacks lanewise/a.py (1 in all)"]
    sbom = f"{about}/sboms/lanewise.cdx.json"
    assert faults(right - {sbom}) == [f"the wheel lacks {sbom} (1 in all)"]
    assert faults(right, "0.0.9") == ["the wheel says that it is 0.0.9"]


def test_a_source_distribution_is_what_git_knows() -> None:
    tracked = {"README.md", ".ci/run"}
    right = {"x-1/README.md", "x-1/PKG-INFO"}
    assert [*release.source_faults(right, tracked, "x-1")] == []
    (fault,) = release.source_faults({*right, "x-1/secret"}, tracked, "x-1")
    assert fault == "the source distribution has x-1/secret (1 in all)"


def test_leaving_something_out_is_for_dry_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        release.main(["--offline"])
    assert "it is for --dry-run" in capsys.readouterr().err


@no_git
def test_only_what_was_tried_is_tagged(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults: dict[str, list[str]] = {"before": [], "built": []}
    status = [1]

    def build(folder: Path, *options: str) -> Path:
        (folder / "dist").mkdir(parents=True, exist_ok=True)
        (folder / "dist" / "a.whl").write_bytes(b"wheel")
        return folder / "dist"

    monkeypatch.setattr(release, "ROOT", tree)
    monkeypatch.setattr(release, "before", lambda root, version: faults["before"])
    monkeypatch.setattr(release, "built", lambda root, dist, version: faults["built"])
    monkeypatch.setattr(release.fresh, "build", build)
    monkeypatch.setattr(release.fresh, "try_out", lambda folder: status[0])
    for name, value in (("NAME", "Tests"), ("EMAIL", "tests@example.invalid")):
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    assert release.main([]) == 1, "the wheel did not work"
    status[0] = 0
    for where in faults:
        faults[where] = ["something"]
        assert release.main([]) == 1
        assert ": something\n" in capsys.readouterr().out
        faults[where] = []
    assert release.main(["--dry-run"]) == 0
    assert git(tree, "tag") == ""
    assert release.main([]) == 0
    assert git(tree, "tag").split() == [f"v{lw.__version__}"]
    assert git(tree, "cat-file", "-t", f"v{lw.__version__}").strip() == "tag", "an annotated one"
