"""A quick suite, here and on other Pythons and processors: `python tests/platforms/quick.py SET`.

========  ==========================================================================================
here      this Python and its packages; it fails if it takes more than a minute (`make quick`)
oldest    the oldest Python and packages that `pyproject.toml` allows
newest    the newest packages that there are, on the newest Python that is found here; it tells
          what share of the lines of `src/lanewise` the suite runs
debian    the newest packages on a Python of another release of Debian, in a folder of its own
aarch64   the same on 64-bit ARM, emulated
========  ==========================================================================================

What is behind ``SET`` goes to pytest, in the place of the files of `SUITE`. With ``--optional`` a
Python that cannot be had here is no failure: the reason is printed. A test that fails always is.

``debian`` needs ``debootstrap`` and, as it changes the root, to be run by root; ``aarch64`` needs
``debootstrap`` and ``qemu-aarch64-static`` (``apt-get install debootstrap qemu-user-static``).
Everything is kept in ``build/platforms``, so a second run begins at once; versions stay as they
are until the folder is removed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build/platforms"

#: Every layer, in both backends: what each is there for first of all. A test that takes more than a
#: second or two is better left to the whole suite.
SUITE = [
    # graphs and passes, in graph text
    "tests/ir/test_verify.py",
    "tests/ir/test_control.py",
    "tests/ops/test_lists.py",
    "tests/passes",
    "tests/runtime/test_steps.py",
    # functions, as users write them: plain Python, the interpreter and kernels
    "tests/behaviours",
    # tracing and NumPy
    "tests/numpy_api/test_array_api.py",
    "tests/numpy_api/test_methods.py",
    "tests/numpy_api/test_take_and_put.py",
    # autograph and control flow
    "tests/autograph/test_sequences.py",
    "tests/autograph/test_constructs_branches.py",
    "tests/autograph/test_constructs_loops.py",
    "tests/autograph/test_convert_plain.py",
    "tests/autograph/test_scratch.py",
    "tests/control/test_raise_at_the_end.py",
    "tests/control/test_try.py",
    # maps
    "tests/maps/test_in_dims.py",
    "tests/maps/test_nesting.py",
    "tests/maps/test_threads.py",
    "tests/maps/test_vmap.py",
    # derivatives
    "tests/derivatives/test_custom.py",
    "tests/derivatives/test_masked.py",
    "tests/derivatives/test_raising.py",
    "tests/derivatives/test_tape.py",
    # kernels and what runs them
    "tests/codegen/test_in_flight.py",
    "tests/codegen/test_rows.py",
    "tests/few/test_few.py",
    "tests/runtime/test_failures.py",
    "tests/runtime/test_warning_lines.py",
    # what users call
    "tests/function/test_signatures.py",
    "tests/function/test_values.py",
    "tests/inspect/test_explain.py",
    "tests/random/test_blocks.py",
]
#: Beside these, here only: the source as text, and what is installed.
SOURCE = ["tests/test_architecture.py", "tests/test_layout.py", "tests/cli/test_cli.py"]
#: Beside these, elsewhere only: where the versions of NumPy and Python differ.
VERSIONS = [
    "tests/platforms/test_machine.py",
    "tests/maps/test_outer_state.py",
    "tests/numpy_api/test_fft.py",
    "tests/programs",
    "tests/runtime/test_launch.py",
]
#: What the suite may take here, in seconds, on two cores.
LIMIT = 60.0
#: Of emulated code, which takes 20 times as long.
EMULATED = [
    "tests/maps/test_vmap.py",
    "tests/numpy_api/test_methods.py",
    "tests/platforms/test_machine.py",
    "tests/runtime/test_launch.py",
]

TOOLS = ["pytest>=9.0", "pytest-cov>=7.0", "pytest-xdist>=3.6"]
#: Where it is written which lines were run; from `ROOT`, as that has another name in another root.
COVERED = "build/platforms/coverage.json"
#: What has pytest write that. Pythons from 3.12 on tell of a line but once (`sys.monitoring`): the
#: suite takes 14 s of processor time longer, of 97, with Python 3.14, and 38 s with 3.13; on two
#: processors that is a hundredth of CI's time at most.
COVERING = ["--cov=src/lanewise", f"--cov-report=json:{COVERED}"]
#: The Pythons that the newest packages are looked for on, and of those that of Debian's release.
PYTHONS = ["3.14", "3.13", "3.12"]
#: NumPy 2.5, which needs a later Python than ARM's here, does not start under qemu 7.2.
RELEASES = {"amd64": ("testing", "3.14"), "arm64": ("bookworm", "3.11")}
#: What pip calls a processor that Debian calls so.
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class AbsentError(Exception):
    """Something that this machine lacks."""


def main() -> int:
    """Run a set; return pytest's exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("set", choices=["here", "oldest", "newest", "debian", "aarch64"])
    parser.add_argument("--optional", action="store_true", help="what is absent is no failure")
    parser.add_argument("--release", help="of Debian")
    parser.add_argument("--python", help="the version, such as 3.14; or a path, of the newest set")
    options, tests = parser.parse_known_args()
    if options.set == "here":
        return here(tests)
    try:
        if options.set == "oldest":
            return oldest(tests)
        if options.set == "newest":
            return newest(tests, options.python)
        machine = "arm64" if options.set == "aarch64" else "amd64"
        release, python = RELEASES[machine]
        return debian(tests, machine, options.release or release, options.python or python)
    except AbsentError as error:
        print(f"{options.set}: not run here: {error}", flush=True)
        return 0 if options.optional else 1


class _Plain(argparse.RawDescriptionHelpFormatter):
    pass


# --- Here -----------------------------------------------------------------------------------------


def here(tests: Sequence[str]) -> int:
    """Test with this Python, within the time that a change of a line may take to be tried."""
    slowest = ["-n", "auto", "--durations=10", "--durations-min=0.5"]
    begun = time.monotonic()
    command = [sys.executable, *_pytest(*slowest, *_chosen(tests, SUITE + SOURCE))]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    return status or within(LIMIT, time.monotonic() - begun)


def within(limit: float, seconds: float) -> int:
    """Return a status: 1 if it took longer than it may, after saying so."""
    print(f"took {seconds:.0f} s of {limit:.0f}", flush=True)
    if seconds <= limit:
        return 0
    print(
        f"error: the quick suite must not take more than {limit:.0f} s. The slowest tests are "
        "above: make them quicker, or take them out of SUITE in tests/platforms/quick.py",
        flush=True,
    )
    return 1


# --- Pythons of this machine ----------------------------------------------------------------------


def oldest(tests: Sequence[str]) -> int:
    """Test with the oldest versions of everything."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = re.search(r"[\d.]+", project["requires-python"])
    assert version is not None
    packages = [requirement.replace(">=", "==") for requirement in project["dependencies"]]
    return _in_venv("oldest", _interpreter(version[0]), packages, tests)


def newest(tests: Sequence[str], python: str | None) -> int:
    """Test with the newest versions of everything; tell what the whole suite covers."""
    covered = ROOT / COVERED
    covered.unlink(missing_ok=True)
    status = _newest(tests or COVERING, python)
    if covered.exists():
        print(coverage(json.loads(covered.read_text("utf-8"))), flush=True)
    return status


def coverage(found: dict[str, Any]) -> str:
    """Return what share of the lines of each package was run, and of all; as coverage.py tells."""
    counts: dict[str, tuple[int, int]] = {}
    for file, told in found["files"].items():
        package = Path(file).relative_to("src/lanewise").parts[0].removesuffix(".py")
        for name in (package, "all"):
            ran, lines = counts.get(name, (0, 0))
            told_ran, told_lines = (told["summary"][k] for k in ("covered_lines", "num_statements"))
            counts[name] = ran + told_ran, lines + told_lines
    rows = sorted(counts.items(), key=lambda row: (row[0] == "all", row[0]))
    return "\n".join([
        "coverage: lines of src/lanewise that the quick suite runs (all tests run more)",
        *[f"  {name:12} {ran / max(lines, 1):4.0%} of {lines:6,}" for name, (ran, lines) in rows],
    ])  # fmt: skip


def _newest(tests: Sequence[str], python: str | None) -> int:
    """Test on the newest Python that is to be had."""
    if python is not None:
        return _in_venv("newest-given", Path(python), _names(), tests)
    try:
        return _in_venv("newest", _interpreter(PYTHONS[0]), _names(), tests)
    except AbsentError as error:
        print(f"newest: {error}: looking for Debian's", flush=True)
    try:
        return debian(tests, "amd64", *RELEASES["amd64"])
    except AbsentError as error:
        print(f"newest: {error}: looking for an older Python", flush=True)
    for version in PYTHONS[1:]:
        try:
            return _in_venv("newest", _interpreter(version), _names(), tests)
        except AbsentError as error:
            print(f"newest: {error}", flush=True)
    raise AbsentError(f"no Python {' or '.join(PYTHONS)}")


def _names() -> list[str]:
    """Return the packages that Lanewise needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["dependencies"]


def _interpreter(version: str) -> Path:
    """Return a Python of this version: this one, one on the path, or one of pyenv's."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python")]
    for candidate in filter(None, candidates):
        command = [str(candidate), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode == 0 and found.stdout.strip() == version:
            return Path(candidate)
    raise AbsentError(f"no Python {version} on the path or among pyenv's")


def _in_venv(name: str, python: Path, packages: Sequence[str], tests: Sequence[str]) -> int:
    """Run the tests in an environment with these packages, made at the first time."""
    home = WORK / f"{name}-{_version(python)}"
    if not _is_complete(home, packages):
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([python, "-m", "venv", home], check=True)
        _pip(home / "bin/python", "--only-binary=:all:", *packages, *TOOLS)
        _complete(home, packages)
    command = [str(home / "bin/python"), *_pytest("-n", "auto", *_chosen(tests, SUITE + VERSIONS))]
    return subprocess.run(
        command, cwd=ROOT, env=_environment([ROOT / "src"]), check=False
    ).returncode


def _is_complete(home: Path, packages: Sequence[str]) -> bool:
    """Whether an environment was made to its end, of these packages."""
    stamp = home / "complete"
    return stamp.exists() and stamp.read_text("utf-8").split() == [*packages, *TOOLS]


def _complete(home: Path, packages: Sequence[str]) -> None:
    (home / "complete").write_text("\n".join([*packages, *TOOLS]), "utf-8")


def _version(python: Path) -> str:
    command = [python, "-c", "import sys; print('%d.%d%s' % (*sys.version_info[:2], sys.abiflags))"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _pip(python: Path, *arguments: str) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    done = subprocess.run([python, "-m", "pip", "install", *quiet, *arguments], check=False)
    if done.returncode:
        raise AbsentError("pip cannot install the packages (see above)")


# --- Debian's -------------------------------------------------------------------------------------


def debian(tests: Sequence[str], machine: str, release: str, python: str) -> int:
    """Test on a Python of Debian's, with the newest packages, unpacked into folders."""
    emulator = None
    if machine != "amd64" or os.uname().machine != "x86_64":
        emulator = shutil.which("qemu-aarch64-static")
        if machine != "arm64" or emulator is None:
            raise AbsentError("no qemu-aarch64-static (of Debian's package qemu-user-static)")
    elif os.geteuid() or shutil.which("chroot") is None or shutil.which("unshare") is None:
        raise AbsentError("changing the root takes root, chroot and unshare")
    home = WORK / f"{release}-{machine}-{python}"
    system, packages = home / "root", home / "packages"
    if not _is_complete(home, _names()):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _unpack(system, machine, release, python)
        _wheels(packages, machine, python)
        _complete(home, _names())
    if emulator is not None:
        prefix = [emulator, "-L", str(system), str(system / f"usr/bin/python{python}")]
        environment = _environment([ROOT / "src", packages])
        command = [*prefix, *_pytest(*_chosen(tests, EMULATED))]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    return _in_root(system, packages, python, ["-n", "auto", *_chosen(tests, SUITE + VERSIONS)])


def _unpack(system: Path, machine: str, release: str, python: str) -> None:
    """Lay out the files of a release with its Python; nothing of it is configured or run."""
    if shutil.which("debootstrap") is None:
        raise AbsentError("no debootstrap (of Debian's package of that name)")
    print(f"{release} for {machine}: downloading Python {python}", flush=True)
    archives = system.with_name("archives")
    command = ["debootstrap", "--download-only", "--variant=minbase", f"--arch={machine}",
               f"--include=python{python}", release, str(archives)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise AbsentError(f"debootstrap: {lines[-1] if lines else done.returncode}")
    for name in ("bin", "lib", "sbin", *(["lib64"] if machine == "amd64" else [])):
        (system / "usr" / name).mkdir(parents=True, exist_ok=True)
        (system / name).symlink_to(f"usr/{name}")
    for package in sorted((archives / "var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, system], check=True)
    shutil.rmtree(archives)


def _wheels(target: Path, machine: str, python: str) -> None:
    """Install the newest packages for another Python into a folder."""
    tools = WORK / "pip"  # an old pip takes its own Python's markers for the other's
    if not (tools / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        _pip(tools / "bin/python", "--upgrade", "pip")
    kinds = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
    platforms = [f"--platform={kind}_{MACHINES[machine]}" for kind in kinds]
    _pip(tools / "bin/python", "--target", str(target), "--python-version", python,
         "--implementation", "cp", "--abi", f"cp{python.replace('.', '')}", *platforms,
         "--only-binary=:all:", *_names(), *TOOLS)  # fmt: skip


def _in_root(system: Path, packages: Path, python: str, tests: Sequence[str]) -> int:
    """Run tests in another root; what is mounted there is seen by no other process."""
    places = {"/proc": "proc", "/dev": "dev", str(ROOT): "project", str(packages): "packages"}
    for name in (*places.values(), "tmp", "root"):
        (system / name).mkdir(exist_ok=True)
    given = [test for test in map(Path, tests) if test.is_absolute() and test.exists()]
    for number, test in enumerate(given):  # tests from elsewhere
        (system / f"given{number}").mkdir(exist_ok=True)
        places[str(test)] = f"given{number}"
    inside = [f"/{places[test]}" if Path(test) in given else test for test in tests]
    mounts = "".join(f"mount --rbind '{host}' '{system / name}'\n" for host, name in places.items())
    script = (
        f"set -e\n{mounts}exec chroot '{system}' /bin/sh -c 'cd /project && exec \"$@\"' - \"$@\""
    )
    environment = _environment([Path("/project/src"), Path("/packages")])
    environment |= {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    command = ["unshare", "--mount", "sh", "-c", script, "-", f"python{python}", *_pytest(*inside)]
    return subprocess.run(command, env=environment, check=False).returncode


# --- pytest ---------------------------------------------------------------------------------------


def _environment(path: Sequence[Path]) -> dict[str, str]:
    """Return the environment of the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    measuring = {"COVERAGE_CORE": "sysmon", "COVERAGE_FILE": f"{COVERED}.data"}
    own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **measuring, **own}


def _chosen(tests: Sequence[str], suite: Sequence[str]) -> list[str]:
    """Return what is given to pytest, with a suite unless there are files among it."""
    is_given = any([(ROOT / test.partition("::")[0]).exists() for test in tests])
    return [*tests, *([] if is_given else suite)]


def _pytest(*arguments: str) -> list[str]:
    """Return the arguments of Python that print the versions and run pytest."""
    run = (
        "import sys, platform, numpy, scipy, llvmlite, optree, pytest; "
        "print(f'Python {sys.version.split()[0]}{sys.abiflags} on {platform.machine()}, '"
        " f'NumPy {numpy.__version__}, SciPy {scipy.__version__}, '"
        " f'llvmlite {llvmlite.__version__}, optree {optree.__version__}', flush=True); "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    return ["-c", run, "-q", "-p", "no:cacheprovider", *arguments]


if __name__ == "__main__":
    sys.exit(main())
