"""Tiles, functions of Python numbers, and the words that `lanes` rules have."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
import lanewise.codegen
import lanewise.ops
from lanewise.codegen import functions
from lanewise.codegen.algorithms import tiles
from lanewise.codegen.algorithms.sorting import Sorting
from lanewise.codegen.algorithms.tiles import Tile
from lanewise.codegen.numbers import vecs
from lanewise.ir.types import array_type
from lanewise.ops.python import FUNCTIONS
from support.backends import backend
from support.writing import FLOAT, run

COMPLEX = np.dtype(np.complex128)


# --- tiles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_tile_is_filled_and_read(is_kept):
    def build(k, x):
        tile = Tile(k, FLOAT, 2, 3, is_kept=is_kept)
        tile.fill(lambda i, j: x * float(10 * i + j))
        tile[0, 0] = tile[1, 2] + 1.0
        return tile[0, 0], tile[1, 0]

    first, second = run(build, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(first, [13, 25])
    np.testing.assert_array_equal(second, [10, 20])


def test_an_adjoint_tile_is_the_conjugate_transpose():
    def build(k, x):
        tile = Tile(k, COMPLEX, 2, 2, is_adjoint=True)
        tile[0, 1] = x
        held = Tile(k, COMPLEX, 2, 2)
        held._items = tile._items
        return tile[0, 1], held[1, 0]

    x = np.array([1 + 2j, -3j])
    own, other = run(build, x)
    np.testing.assert_array_equal(own, x)
    np.testing.assert_array_equal(other, x.conj())


def test_totals_of_a_tile():
    def build(k, x):
        tile = Tile(k, FLOAT, 3, 1)
        tile.fill(lambda i, j: x + float(i))
        zero = k.e.constant("f64", 0.0)
        return tile.total(tile.range(3), zero, lambda i, found: found + tile[i, 0])

    np.testing.assert_array_equal(run(build, np.array([1.0, 2.0])), [6, 9])


def test_conjugates():
    np.testing.assert_array_equal(
        run(lambda k, z: tiles.conjugate(z), np.array([1 + 2j])), [1 - 2j]
    )
    np.testing.assert_array_equal(run(lambda k, x: tiles.conjugate(x), np.array([3.0])), [3])


# --- places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [(), (0,), (8,), (0, 8), (2, 3, 5), range(9)])
def test_places_of_a_mask_stand_one_behind_the_other(chosen, monkeypatch):
    made = []
    places_of = Sorting.places_of
    monkeypatch.setattr(Sorting, "places_of", lambda *args: made.append(1) or places_of(*args))
    rows = np.full((5, 9 + 3 * len(chosen) + sum(chosen)), -1.0)  # a kernel of its own for each
    rows[:, list(chosen)] = 1.0
    rows[4] *= -1  # the others are chosen
    with backend("native"):
        found = lw.vmap(lambda x: np.cumsum(np.flatnonzero(x > 0)).sum())(rows)
    want = [np.cumsum(np.flatnonzero(row > 0)).sum() for row in rows]
    np.testing.assert_array_equal(found, want)
    assert made


# --- Python numbers -------------------------------------------------------------------------------

NUMBERS = {
    "i": np.array([0, 1, -1, 2, 5, 20, 21, 25, 99, -100, 2**31, 2**52 + 1, 2**62, -(2**63)]),
    "f": np.array([0.0, -0.0, 1.0, -2.5, 7.5, 1e300, 5e-324, np.inf, -np.inf, np.nan]),
}


@pytest.mark.parametrize("group", [8, 0], ids=["lanes", "scalar"])
@pytest.mark.parametrize("name, count", functions.PYTHONS, ids=str)
def test_functions_of_python_numbers(name, count, group):
    """They give what Python's give, and fail wherever those raise, or have more than 64 bits."""
    if name == "math.fma" and not hasattr(math, "fma"):
        pytest.skip("this Python has no math.fma")
    rule, dtype = functions.PYTHONS[name, count]
    values = NUMBERS["i" if dtype.kind == "i" else "f"]
    if name == "math.factorial":  # Python's of others takes all memory
        values = values[np.abs(values) < 1000]
    values = values[:: 1 if count < 3 else 2]
    given = [x.ravel() for x in np.meshgrid(*[values] * count)]
    found, failed = run(lambda k, *xs: k.with_failure(rule(k, *xs)), *given, group=group)
    compared = 0
    for result, fails, *arguments in zip(found, failed, *given, strict=True):
        try:
            wanted = FUNCTIONS[name](*[x.item() for x in arguments])
        except (ValueError, OverflowError, ZeroDivisionError):
            wanted = None
        if wanted is None or (isinstance(wanted, int) and abs(wanted) >= 2**63):
            assert fails, (name, arguments)
        elif not fails:
            np.testing.assert_array_equal(result, wanted, err_msg=f"{name}{arguments}")
            compared += 1
    assert compared >= 5


# --- reductions in runs --------------------------------------------------------------------------


def test_reductions_in_runs():
    type_ = array_type(FLOAT, (3,))

    def build(k, x):
        whole = k.row((5,), *[x + float(i) for i in range(5)])
        found = k.reductions.in_runs(type_, whole, np.add, (0, 2, 3), 0)
        return tuple([vecs(found.at(i))[0] for i in range(3)])

    found = run(build, np.array([1.0]))
    np.testing.assert_array_equal(np.ravel(found), np.add.reduceat(np.arange(1.0, 6), (0, 2, 3)))
