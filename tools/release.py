"""Makes a release: `make release`, that is `python -m tools.release`; `--dry-run` does not tag.

Nothing is tagged unless the tree is clean and on `main`, all files say the same version, the list
of changes has a section for it, the newest benchmarks are no worse than earlier ones, and both
distributions, built anew, hold what they should and work where nothing else is. What then is in
`build/release/dist` is what to upload; pushing the tag and uploading stay with whoever does it.

Before: set the version in `pyproject.toml`, `src/lanewise/__init__.py`, `CITATION.cff` and
`conda/recipe.yaml`, turn "Unreleased" in `CHANGELOG.md` into `[VERSION] - DATE`, and commit.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from email import message_from_bytes
from pathlib import Path

from benchmarks import history
from tests.packaging import fresh

ROOT = Path(__file__).parents[1]
BRANCH = "main"
#: Where else the version stands than in `pyproject.toml`: one match in each.
VERSIONS = {
    "src/lanewise/__init__.py": r'^__version__ = "(.*)"$',
    "CITATION.cff": r"^version: (.*)$",
    "conda/recipe.yaml": r"^  version: (\d.*)$",
}
#: What is in a wheel beside the package, in its `.dist-info`.
ABOUT = set(
    "METADATA WHEEL RECORD entry_points.txt licenses/LICENSE sboms/lanewise.cdx.json".split()
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, build, try and tag; return 0 if all of it went well."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dry-run", action="store_true", help="all but the tag")
    parser.add_argument(
        "--offline",
        action="store_true",
        help="with --dry-run: build by what is installed, and do not try the wheel elsewhere",
    )
    options = parser.parse_args(arguments)
    if options.offline and not options.dry_run:
        parser.error("--offline leaves something out, so it is for --dry-run")
    version = version_of(ROOT)
    print(f"Lanewise {version}")
    if not told("before building", before(ROOT, version)):
        return 1
    if not addresses(ROOT):
        print("note: pyproject.toml has no [project.urls]: nobody learns where to report a fault")
    folder = ROOT / "build" / "release"
    dist = fresh.build(folder, *(["--no-isolation"] if options.offline else []))
    if not told("what was built", built(ROOT, dist, version)):
        return 1
    write_sums(dist)
    if not options.offline and fresh.try_out(folder):
        return 1
    if options.dry_run:
        print(f"dry run: v{version} is not tagged; {dist} has what would be released")
        return 0
    git(ROOT, "tag", "-a", f"v{version}", "-m", f"Lanewise {version}")
    print(f"tagged v{version}. Now push it (git push origin v{version}), and upload {dist}")
    return 0


def told(what: str, faults: Iterable[str]) -> bool:
    """Print the faults that were found; return whether there are none."""
    found = [*faults]
    print("\n".join([f"{what}: {fault}" for fault in found] or [f"{what}: ok"]), flush=True)
    return not found


# --- before building ------------------------------------------------------------------------------


def before(root: Path, version: str) -> Iterator[str]:
    """Yield what keeps a tree from being released."""
    yield from tree_faults(root, version)
    yield from version_faults(root, version)
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    yield from changelog_faults(text, version, datetime.now(UTC).date())
    yield from history.regressions(history.load(root / history.PLACE))


def git(root: Path, *arguments: str) -> str:
    """Return what git prints."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def tree_faults(root: Path, version: str) -> Iterator[str]:
    """Yield what is wrong with the state of git."""
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        yield f"the tree is not clean: {', '.join(line[3:] for line in changed[:5])}"
    branch = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if branch != BRANCH:
        yield f"the branch is {branch}, not {BRANCH}"
    if git(root, "tag", "--list", f"v{version}"):
        yield f"there is a tag v{version} already"


def version_of(root: Path) -> str:
    """Return the version that `pyproject.toml` says."""
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def addresses(root: Path) -> dict[str, str]:
    """Return the addresses that the package's page will show. There may be none that is public."""
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})


def version_faults(root: Path, version: str) -> Iterator[str]:
    """Yield the files that say another version than `pyproject.toml`."""
    for name, pattern in VERSIONS.items():
        found = re.findall(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
        if found != [version]:
            yield f"{name} says {', '.join(found) or 'nothing'}, pyproject.toml {version}"


def changelog_faults(text: str, version: str, today: date) -> Iterator[str]:
    """Yield what is wrong with the list of changes: the newest section is this version's."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if sections.pop("[Unreleased]", "").strip():
        yield 'CHANGELOG.md has something under "Unreleased"'
    title = next(iter(sections), "")
    said = re.fullmatch(rf"\[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)", title)
    if said is None:
        yield f"CHANGELOG.md begins with {title or 'no section'}, not with [{version}] - DATE"
    elif date.fromisoformat(said[1]) > today:
        yield f"CHANGELOG.md dates {version} {said[1]}, which is still to come"
    elif not re.search(r"^\s*[-*] ", sections[title], re.MULTILINE):
        yield f"CHANGELOG.md says nothing of {version}"


# --- what was built -------------------------------------------------------------------------------


def built(root: Path, dist: Path, version: str) -> Iterator[str]:
    """Yield what is wrong with two distributions."""
    files = {path.name for path in dist.iterdir()}
    wheel, source = f"lanewise-{version}-py3-none-any.whl", f"lanewise-{version}.tar.gz"
    if files != {wheel, source}:
        yield f"{', '.join(sorted(files))} were built, not {source} and {wheel}"
        return
    with zipfile.ZipFile(dist / wheel) as archive:
        yield from wheel_faults(root, archive, version)
    with tarfile.open(dist / source) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
    tracked = set(git(root, "ls-files").splitlines())
    yield from source_faults(names, tracked, f"lanewise-{version}")


def wheel_faults(root: Path, archive: zipfile.ZipFile, version: str) -> Iterator[str]:
    """Yield what a wheel lacks or should not have: it is the package, and what is said of it."""
    about = f"lanewise-{version}.dist-info"
    package = root / "src" / "lanewise"
    sources = {p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    wanted = {path.relative_to(root / "src").as_posix() for path in sources}
    wanted |= {f"{about}/{name}" for name in ABOUT}
    yield from differences("the wheel", {*archive.namelist()}, wanted)
    if f"{about}/METADATA" in archive.namelist():
        said = message_from_bytes(archive.read(f"{about}/METADATA"))["Version"]
        if said != version:
            yield f"the wheel says that it is {said}"


def source_faults(names: set[str], tracked: set[str], top: str) -> Iterator[str]:
    """Yield what a source distribution lacks or should not have: it is what git knows."""
    left_out = {name for name in tracked if name.startswith((".ci/", "examples/out/"))}
    wanted = {f"{top}/{name}" for name in {*tracked, "PKG-INFO"} - left_out}
    yield from differences("the source distribution", names, wanted)


def differences(what: str, found: set[str], wanted: set[str]) -> Iterator[str]:
    """Yield what is missing, and what is there that should not be."""
    for verb, names in (("lacks", wanted - found), ("has", found - wanted)):
        if names:
            yield f"{what} {verb} {', '.join(sorted(names)[:5])} ({len(names)} in all)"


def write_sums(dist: Path) -> None:
    """Write the checksums of what was built beside the folder, as `sha256sum` reads them."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(dist.iterdir())
    ]
    (dist.parent / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
