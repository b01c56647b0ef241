"""The fuzzer, and what it has found: programs that once differed from plain Python."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fuzz import keeping, programs, running, shrinking
from fuzz.__main__ import one, pattern
from support.draws import examples

#: What is run at each run of the tests: programs of this seed.
SEED, PROGRAMS = "14", 100
FEATURES = frozenset(programs.FEATURES)
FOUND = sorted(keeping.FOUND.glob("*.py"))


def test_programs_of_a_fixed_seed_give_what_python_gives():
    counts: Counter[str] = Counter()
    for number in range(examples(PROGRAMS)):
        differences = one(f"{SEED}:{number}", FEATURES, counts)
        assert not differences, f"{SEED}:{number} {differences[0][1]}"
    assert counts["same"] > examples(PROGRAMS)
    assert counts["refused"] < 0.25 * sum(counts[s] for s in ("same", "raised", "refused"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_mended(path: Path):
    mode, example = keeping.read(path)
    for other in dict.fromkeys((mode, "vmap", "function", "native")):
        status, found = running.compared(other, example)
        assert status != "differs", found


def test_a_program_is_the_same_at_each_run():
    first, again = [programs.example("3:7", frozenset(programs.FEATURES)) for _ in range(2)]
    assert first.source == again.source
    for x, y in zip(first.given(), again.given(), strict=True):
        np.testing.assert_array_equal(x, y)
        assert (x.strides, x.flags.writeable) == (y.strides, y.flags.writeable)


WRONG = """
# rough: 0
import numpy as np
def f(n, v):
    total = 0
    for i in range(3):
        if n > i:
            total += wrong(n) + i
        else:
            total -= 1
    return total, v + total
"""


@pytest.fixture
def broken():
    """A program that differs: what it calls is another function where it is traced."""
    made = itertools.count()

    def example() -> programs.Example:
        arrays = {"n": np.array([1, 5, 2]), "v": np.ones((3, 4))}
        return programs.Example(WRONG, arrays, (0, 0))

    before = running.Program.__init__

    def init(self, source):
        before(self, source)
        by = next(made) % 2  # that of plain Python is made first
        self.scope["wrong"] = lambda n: n + by

    running.Program.__init__ = init
    yield example()
    running.Program.__init__ = before


def test_a_difference_is_found_shrunk_and_kept(broken, tmp_path):
    status, found = running.compared("vmap", broken)
    assert (status, found.what) == ("differs", "value")
    small = shrinking.shrunk(broken, found)
    lines = small.source.strip().splitlines()
    assert len(lines) <= 5, small.source
    assert "wrong(" in small.source and small.size == 1
    path = tmp_path / "kept.py"
    path.write_text(keeping.text(small, found, "a test"))
    mode, read = keeping.read(path)
    assert mode == "vmap"
    assert running.compared(mode, read)[0] == "differs"


def test_the_command_line():
    command = [sys.executable, "-m", "tests.fuzz", "--programs", "1", "--seed", SEED]
    command += ["--features", *FEATURES]
    found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"seed {SEED}: 1 programs" in found.stdout


def test_messages_are_counted_without_names():
    assert pattern("'x' is 3 (<fuzz 7>:3: a(1))") == pattern("'y' is 4 (<fuzz 8>:5: b(c(2)))")
