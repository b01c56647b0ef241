"""Builds Lanewise and tries it where nothing else is: `python tests/packaging/fresh.py FOLDER`.

`make package` runs it, and so does a release (`tools/release.py`). The source distribution is built
first, the wheel from that; the wheel is installed in a fresh environment, measured, and tried by
`smoke.py`. That takes up to a minute and a package index, so it is for before a release: what is
tested at every change is what is in the wheel, and that it works with what is installed already
(`test_packaging.py`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 420  # megabytes that Lanewise and all it needs may take on disk


def size(folder: Path) -> float:
    """Return the megabytes that a folder takes on disk, as `du -sm` counts."""
    files = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return sum(p.stat().st_blocks * 512 for p in files) / 2**20


def build(folder: Path, *options: str) -> Path:
    """Build both distributions anew; return the folder that holds nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    dist = folder / "dist"
    subprocess.run([sys.executable, "-m", "build", *options, "--outdir", dist, ROOT], check=True)
    return dist


def try_out(folder: Path) -> int:
    """Return 0 if the wheel that was built there installs, works and is small enough."""
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder.resolve() / "venv/bin/python"
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([python, "-m", "pip", "install", *quiet, wheel], check=True)
    subprocess.run([python, "-I", ROOT / "tests/packaging/smoke.py"], check=True, cwd=folder)

    packages = next((folder / "venv").rglob("site-packages"))
    # What the environment itself comes with is no part of the installation.
    own = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "__pycache__")
    sizes = {p.name: size(p) for p in sorted(packages.glob("*/")) if not p.name.startswith(own)}
    for name, megabytes in sizes.items():
        if megabytes >= 1:
            print(f"{megabytes:8.1f} MB  {name}")
    total = sum(sizes.values())
    print(f"{total:8.1f} MB  in all, of at most {LIMIT}")
    return 0 if total <= LIMIT else 1


if __name__ == "__main__":
    build(Path(sys.argv[1]))
    sys.exit(try_out(Path(sys.argv[1])))
