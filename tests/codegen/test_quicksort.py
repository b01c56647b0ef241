"""The function that sorts long rows: whatever the numbers are, and as far as it is asked for."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.codegen.algorithms import quicksort
from lanewise.codegen.algorithms.quicksort import PADDING, library
from lanewise.codegen.llvm import Code
from lanewise.codegen.processor import Machine, machine, use_machine

#: Numbers of elements around those where something changes.
LENGTHS = sorted({max(2**i + d, 0) for i in range(13) for d in (-1, 0, 1)} | {1500, 5000})
PATTERNS = ["random", "few", "equal", "up", "down", "saw", "pipe", "ends", "runs"]
FORMS = [("i32", False), ("i64", False), ("i64", True)]
DTYPE = {"i32": np.dtype(np.int32), "i64": np.dtype(np.int64)}
GUARD = 0x5A


def pattern(name: str, n: int, dtype: np.dtype, seed: int) -> np.ndarray:
    """Return numbers in an order that some way of sorting finds hard."""
    rng, info, up = np.random.default_rng(seed), np.iinfo(dtype), np.arange(n)
    made: dict[str, Any] = {
        "random": rng.integers(info.min, info.max, n, dtype, endpoint=True),
        "few": rng.integers(0, 4, n),
        "equal": np.full(n, rng.choice([info.min, 0, info.max])),
        "up": up,
        "down": up[::-1],
        "saw": up % 17,
        "pipe": np.minimum(up, up[::-1]),
        "ends": rng.choice([info.min, info.max, info.min + 1, info.max - 1], n),
        "runs": np.sort(rng.integers(0, 9, n) * 1000) + up % 3,
    }
    return made[name].astype(dtype)


@cache
def function(kind: str, has_places: bool, features: str | None = None) -> tuple[Any, Code]:
    """Return a sorting function, for this processor or one with some features only."""
    if features is not None:
        use_machine(Machine("x86-64", features, machine().triple))
    try:
        code = Code(library(kind, has_places, "sort"))
    finally:
        use_machine(None)
    columns = 1 + has_places
    pointers = [ctypes.c_void_p] * columns
    prototype = ctypes.CFUNCTYPE(
        None, *pointers, ctypes.c_int64, *pointers, ctypes.c_void_p, ctypes.c_int64
    )
    return prototype(code.address("sort")), code


def called(
    x: np.ndarray, has_places: bool, kth: list[int] | None = None, features: str | None = None
) -> list[np.ndarray]:
    """Return what becomes of a row; see that nothing behind its memory was written to."""
    kind = f"i{8 * x.itemsize}"
    columns = [x, np.arange(x.size)][: 1 + has_places]
    memory = []
    for column in (*columns, *columns):
        block = np.full(column.size + PADDING + 64, GUARD, column.dtype)
        memory.append(block)
    for block, column in zip(memory, columns, strict=False):
        block[: x.size] = column
    given = np.array(kth or [0], np.int64)
    pointers = [block.ctypes.data for block in memory]
    half = len(columns)
    run, _ = function(kind, has_places, features)
    run(*pointers[:half], x.size, *pointers[half:], given.ctypes.data, len(kth) if kth else -1)
    for block in memory[:half]:
        assert (block[x.size :] == GUARD).all(), "what lies behind a row has changed"
    for block in memory[half:]:
        assert (block[x.size + PADDING :] == GUARD).all(), "it wrote behind its spare memory"
    return [block[: x.size] for block in memory[:half]]


def check(x: np.ndarray, has_places: bool, features: str | None = None) -> None:
    found = called(x, has_places, features=features)
    np.testing.assert_array_equal(found[0], np.sort(x))
    if has_places:
        np.testing.assert_array_equal(found[1], np.argsort(x, kind="stable"))


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize(("kind", "has_places"), FORMS)
def test_patterns(kind, has_places, name):
    for n in LENGTHS:
        check(pattern(name, n, DTYPE[kind], n), has_places)


@pytest.mark.parametrize("features", ["+sse2", "+sse2,+sse4.2,+avx,+avx2,+bmi,+bmi2,+popcnt"])
@pytest.mark.parametrize(("kind", "has_places"), FORMS)
@pytest.mark.skipif(
    not machine().triple.startswith("x86_64") or machine().register_bits < 256,
    reason="it is about processors of this family with narrower vectors",
)
def test_other_processors(kind, has_places, features):
    for name in PATTERNS:
        for n in (0, 1, 7, 31, 130, 700, 3001):
            check(pattern(name, n, DTYPE[kind], n), has_places, features)


@given(
    st.sampled_from(FORMS),
    st.sampled_from(PATTERNS),
    st.integers(0, 5000),
    st.integers(0, 2**20),
    st.lists(st.floats(0, 1, exclude_max=True), max_size=4),
)
@settings(max_examples=150, deadline=None)
def test_any_row(form, name, n, seed, shares):
    kind, has_places = form
    x = pattern(name, n, DTYPE[kind], seed)
    check(x, has_places)
    kth = [int(share * n) for share in shares] if n else []
    if not kth:
        return
    found, *places = called(x, has_places, kth)
    wanted = np.sort(x)
    for place in kth:
        assert found[place] == wanted[place]
        assert (found[:place] <= found[place]).all()
        assert (found[place:] >= found[place]).all()
    for order in places:
        np.testing.assert_array_equal(np.sort(order), np.arange(n))
        np.testing.assert_array_equal(x[order], found)


@pytest.mark.parametrize(("kind", "has_places"), FORMS)
def test_bad_pivots_end_in_heapsort(kind, has_places, monkeypatch):
    monkeypatch.setattr(quicksort, "PATIENCE", 0)
    function.cache_clear()
    for name in PATTERNS:
        for n in (300, 1000, 1001):
            check(pattern(name, n, DTYPE[kind], n), has_places)
    function.cache_clear()
