"""Types: equality, printing, sizes."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.ir.dims import Dim
from lanewise.ir.types import TOKEN, TokenType, array_type, dtype_name, parse_dtype

N = Dim.symbol("n")


@pytest.mark.parametrize("character", "? b h i l B H I L e f d g F D G".split())
def test_dtype_names_round_trip(character):
    dtype = np.dtype(character)
    assert parse_dtype(dtype_name(dtype)) == dtype


def test_dtype_names():
    names = [dtype_name(np.dtype(t)) for t in ("?", "i1", "u4", "f2", "f8", "c8", "c16")]
    assert names == ["bool", "i8", "u32", "f16", "f64", "c64", "c128"]


def test_array_types():
    type = array_type(np.dtype("f4"), (N, 3))
    assert repr(type) == "f32[n,3]"
    assert type.ndim == 2 and type.nbytes == 12 * N
    assert type == array_type(np.dtype("f4"), (N, 3)) and hash(type) == hash(type)
    assert type is array_type(np.dtype("f4"), (N, 3))
    for other in (("f8", (N, 3)), ("f4", (N,)), ("f4", (N + 1, 3))):
        assert type != array_type(np.dtype(other[0]), other[1])
    assert array_type(np.dtype("i8"), ()).nbytes == 8


@pytest.mark.parametrize("rare", [np.longlong, np.ulonglong])
def test_of_equal_dtypes_the_usual_one_is_kept(rare):
    """Whichever is met first: both are the same key, and results are made with what is kept."""
    kept = array_type(np.dtype(rare), (2, 3, 7, 11))
    usual = np.dtype(kept.dtype.str)
    assert kept.dtype.type is usual.type
    assert array_type(usual, (2, 3, 7, 11)) is kept


def test_the_token():
    assert isinstance(TOKEN, TokenType) and repr(TOKEN) == "token"
    assert array_type(np.dtype("f4"), ()) != TOKEN
