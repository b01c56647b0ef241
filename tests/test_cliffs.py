"""Programs drawn at random, at small sizes: Lanewise gives what plain Python gives."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import lanewise as lw
from benchmarks.cliffs import arrays, loops  # noqa: F401  (which enter their forms)
from benchmarks.cliffs.forms import FORMS, Draw, program
from benchmarks.cliffs.measure import Found, batch_of, difference, function_of


@pytest.mark.parametrize("name", sorted(FORMS))
def test_each_form_gives_what_plain_python_gives(name):
    drawn = FORMS[name](Draw(f"small {name}", scale=20))
    f = function_of(drawn.source, name)
    given = [x.copy() for x in drawn.arguments]
    assert difference(lw.function(f)(*drawn.arguments), f(*given)) == ""
    batch = batch_of(drawn, 3)
    wanted = np.stack([f(*row) for row in zip(*batch, strict=True)])
    assert difference(lw.vmap(f)(*batch), wanted) == ""


def test_a_program_is_the_same_at_each_run():
    (name, first), (other, again) = program("1:5"), program("1:5")
    assert (name, first.source) == (other, again.source)
    for x, y in zip(first.arguments, again.arguments, strict=True):
        np.testing.assert_array_equal(x, y)
    assert len({zlib.crc32(program(f"1:{i}")[1].source.encode()) for i in range(40)}) > 30


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        (Found(1.0, 1.09, [3.4], 0), []),
        (Found(1e-6, 4e-6, [0.4], 63 * 2**20), []),
        (Found(1.0, 1.2, [3.6], 65 * 2**20), ["steady", "one of the first", "65 MB more"]),
        (Found(np.nan, np.nan, [], 0, "no end in 100 s"), ["no end"]),
    ],
)
def test_bounds(found, broken):
    told = found.broken
    assert len(told) == len(broken)
    assert all(text.startswith(start) for text, start in zip(told, broken, strict=True))


def test_a_difference_is_told():
    assert difference(np.ones(2), np.ones(3)) == "float64(2,) instead of float64(3,)"
    assert difference(np.ones(2), np.zeros(2)) == "other numbers"
    assert difference(np.array([np.nan, 1 + 1e-9]), np.array([np.nan, 1.0])) == ""
