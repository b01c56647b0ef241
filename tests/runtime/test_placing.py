"""Made code at the user's lines: tables of lines, warnings, and the modules that filters choose."""

from __future__ import annotations

import sys
import traceback
import warnings
from functools import partial
from types import CodeType

import numpy as np
import pytest

from lanewise.ir.location import PLAN, Place
from lanewise.ops.sorting import sort
from lanewise.runtime.placing import line_of, main_file, module_of, placed, relocated, spelled

THREE = "def run(x):\n    y = x + 1\n    z = 1 / y\n    return z\n"


def compiled(text: str) -> CodeType:
    (code,) = [c for c in compile(text, "made", "exec").co_consts if isinstance(c, CodeType)]
    return code


def place_in(text: str, file: str, line: int) -> Place:
    """Return the place of the first instruction of a line of a file."""
    code = compile(text, file, "exec")
    return code, next(start for start, _, number in code.co_lines() if number == line)


@pytest.mark.parametrize("lines", [[5, 6, 7, 8], [5, 9, 9, 1], [70_000, 3, 400, 3]])
def test_each_line_stands_for_one_of_the_users(lines):
    code = relocated(compiled(THREE), "user.py", lines)
    assert code.co_filename == "user.py" and code.co_name == PLAN
    # An instruction at line i of the made code is at the i-th line of the user's.
    old = {place: line for start, end, line in compiled(THREE).co_lines() if line
           for place in range(start, end, 2)}  # fmt: skip
    new = {place: line for start, end, line in code.co_lines() if line
           for place in range(start, end, 2)}  # fmt: skip
    assert new == {place: lines[line - 1] for place, line in old.items()}


@pytest.mark.parametrize("lines", [[5, 6, 7, 8], [70_000, 3, 400, 3]])
def test_a_traceback_names_the_users_line(lines):
    names: dict = {}
    exec(THREE, names)
    names["run"].__code__ = relocated(names["run"].__code__, "user.py", lines)
    assert names["run"](1) == 0.5
    with pytest.raises(ZeroDivisionError) as caught:
        names["run"](-1)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.lineno) == ("user.py", lines[2])


def test_long_code_keeps_its_lines():
    text = "def run(x):\n" + "".join([f"    x = x + {i} * x - {i}\n" for i in range(300)])
    text += "    return 1 / 0\n"
    lines = [1000 - i for i in range(302)]
    found = [line for _, _, line in relocated(compiled(text), "user.py", lines).co_lines()]
    assert found[-1] == lines[301] and set(found) <= set(lines)


def test_the_line_of_a_place():
    text = "a = 1\nb = 2\n\nc = 3\n"
    assert [line_of(place_in(text, "f.py", line)) for line in (1, 2, 4)] == [1, 2, 4]


def test_the_file_of_most_places():
    places = [place_in("a = 1", name, 1) for name in ("f.py", "g.py", "g.py")]
    assert main_file([*places, None]) == "g.py"
    assert main_file([None]) is None


def test_the_module_of_a_file():
    assert module_of(np.__file__) == "numpy"
    assert module_of("<stdin>") == "__main__"
    assert module_of("nowhere.py") == "nowhere.py"


def test_a_meaning_warns_at_the_users_line():
    def meaning():
        warnings.warn("of a meaning", stacklevel=1)

    place = place_in("\n\na = 1", "user.py", 3)
    assert placed(np.sin, place) is np.sin and placed(meaning, None) is meaning
    # Only Lanewise's own meanings are moved.
    assert placed(meaning, place) is meaning
    moved = placed(partial(sort.numpy, axis=0, kind=None), place)
    assert isinstance(moved, partial) and moved.keywords == {"axis": 0, "kind": None}
    assert moved.func.__code__.co_filename == "user.py"
    assert {line for _, _, line in moved.func.__code__.co_lines() if line} == {3}
    np.testing.assert_array_equal(moved(np.array([3, 1, 2])), [1, 2, 3])


def test_an_expression_warns_at_the_users_line():
    function = spelled("v0 / k0", ["v0"], {"k0": np.float64(0)}, place_in("\na = 1", "user.py", 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert function(np.float64(1)) == np.inf
    (warning,) = caught
    assert (warning.filename, warning.lineno) == ("user.py", 2)
    assert "user.py" not in sys.modules
