"""Where the source of a function is found: files that change, `-c`, standard input."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, -2.0])


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that writes a module, and imports it for the first time."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "edited.py"

    def write(text):
        path.write_text(textwrap.dedent(text))
        times = path.stat().st_mtime + write.count
        os.utime(path, (times, times))  # or Python takes it for the same file
        write.count += 10
        importlib.invalidate_caches()

    write.count = 10
    yield write
    sys.modules.pop("edited", None)


FIRST = """
    def f(x):
        if x > 0:
            return x
        return -x
    g = lambda x: x if x > 0 else -x
"""
SECOND = """
    # one line more

    def f(x):
        if x > 0:
            return x * 10
        elif x < -5:
            return x
        return -x * 10
    g = lambda x: x * 10 if x > 0 else -x * 10
"""


def test_reloading(module):
    module(FIRST)
    edited = importlib.import_module("edited")
    np.testing.assert_array_equal(lw.vmap(edited.f)(XS), [1, 2])
    np.testing.assert_array_equal(lw.vmap(edited.g)(XS), [1, 2])
    module(SECOND)
    before = edited.f
    importlib.reload(edited)
    np.testing.assert_array_equal(lw.vmap(edited.f)(XS), [10, 20])
    np.testing.assert_array_equal(lw.vmap(edited.g)(XS), [10, 20])
    np.testing.assert_array_equal(lw.vmap(before)(XS), [1, 2])  # converted already


def test_code_exchanged_in_place(module):
    """As IPython's autoreload does it."""
    module(FIRST)
    edited = importlib.import_module("edited")
    f, mapped = edited.f, lw.vmap(edited.f)
    np.testing.assert_array_equal(mapped(XS), [1, 2])
    module(SECOND)
    importlib.reload(edited)
    f.__code__ = edited.f.__code__
    np.testing.assert_array_equal(lw.vmap(f)(XS), [10, 20])
    np.testing.assert_array_equal(mapped(XS), [10, 20])


def test_lines_that_moved(module):
    """The file was edited above the function, and is read for the first time after that."""
    module(FIRST)
    edited = importlib.import_module("edited")
    linecache.cache.pop(edited.__file__, None)
    module("\n\n    def f(x):\n        return 5\n\n    h = 3\n" + FIRST)
    np.testing.assert_array_equal(lw.vmap(edited.f)(XS), [1, 2])
    np.testing.assert_array_equal(lw.vmap(edited.g)(XS), [1, 2])
    made = lw.function(lambda x: edited.f(x).sqrt())
    with pytest.raises(AttributeError):
        made(XS[:1])


@pytest.mark.parametrize("name", ["f", "g"])
def test_a_function_that_was_edited(module, name):
    module(FIRST)
    edited = importlib.import_module("edited")
    linecache.cache.pop(edited.__file__, None)
    module(SECOND)
    with pytest.raises(lw.errors.ConcretizationError, match="edited since it was read"):
        lw.vmap(getattr(edited, name))(XS)


def test_the_old_text_is_remembered(module):
    module(FIRST)
    edited = importlib.import_module("edited")
    assert linecache.getlines(edited.__file__)
    module(SECOND)
    np.testing.assert_array_equal(lw.vmap(edited.f)(XS), [1, 2])


PROGRAM = """
import numpy as np, lanewise as lw
def f(x):
    if x > 0:
        return x
    return -x
print(lw.vmap(f)(np.array([1.0, -2.0])), lw.vmap(lambda x: 0 * x if x > 0 else x)(np.ones(1)))
"""


def _run(*args, **options):
    done = subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=60, check=False, **options
    )
    return done.stdout + done.stderr


@pytest.mark.any_backend
@pytest.mark.parametrize(
    "args",
    [
        ["-c", PROGRAM],
        ["-B", "-W", "ignore", "-c", PROGRAM, "-c", "x = 1"],
        ["-Bc", PROGRAM, "-c", "x = 1"],
    ],
)
def test_programs_given_as_arguments(args):
    assert _run(*args) == "[1. 2.] [0.]\n"


@pytest.mark.any_backend
def test_programs_on_standard_input(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    for args in ([], ["-", "-c"]):
        with path.open() as file:
            assert _run(*args, stdin=file) == "[1. 2.] [0.]\n"
    if sys.version_info < (3, 13):
        assert "is not at hand" in _run(input=PROGRAM)


def test_code_without_source():
    scope = {}
    exec("def f(x):\n    if x > 0:\n        return x\n    return -x\n", scope)
    with pytest.raises(lw.errors.ConcretizationError, match="'f' is not at hand"):
        lw.vmap(scope["f"])(XS)
