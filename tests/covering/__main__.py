"""Says which tests cover a file, or runs them.

    python -m tests.covering src/lanewise/passes/prune.py
    python -m tests.covering                  # ... of all files that differ from the last commit
    python -m tests.covering --run            # ... and runs them
    python -m tests.covering --record         # what they call, anew: some ten minutes

It prints files of tests, the quickest first, with the seconds that each takes, about.

Of each source file `record.json` has the fewest and quickest files of tests that between them
call each function three times, if so many do. It is of a sample of the tests, so it is soon made;
that is due when `test_covering.py` says so, and after larger changes. What it cannot know yet is
read off the files as they are: tests that import the file, doctests in it, and of a new file the
tests of those that import it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from covering.choosing import ROOT, Record, covering


def changed() -> list[str]:
    """Return the files that differ from the last commit, new ones included."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line[3:] for line in told.splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, run or record; return the status that a command ends with."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.covering",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", help="of this project")
    parser.add_argument("--run", action="store_true", help="run the tests")
    parser.add_argument("--record", action="store_true", help="make record.json anew")
    options = parser.parse_args(arguments)
    if options.record:
        from covering.recording import recorded

        recorded(options.files).write()
        return 0
    files = [str(Path(file).resolve().relative_to(ROOT)) for file in options.files] or changed()
    record = Record.read()
    tests = {test: None for file in files for test in covering(file, record)}
    for test in sorted(tests, key=lambda test: record.seconds.get(test, 0.0)):
        seconds = record.seconds.get(test)
        print(f"{test:50} {'' if seconds is None else f'{seconds:.0f} s'}".rstrip())
    if not tests:
        print(f"no tests are known of {', '.join(files) or 'what changed: nothing did'}")
        return 1
    if options.run:
        command = [sys.executable, "-m", "pytest", "-q", "-x", *tests]
        return subprocess.run(command, cwd=ROOT, env=os.environ, check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
