"""Operands for tests of compiled ufuncs: special values of each dtype, against each other too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

#: dtypes that the compiler knows, one of each kind and size.
DTYPES = [np.dtype(char) for char in "?bBhHiIqQefdFD"]
SPECIAL = 40  # of each dtype the first ones are paired with each other


def numbers(dtype: np.dtype, rng: np.random.Generator, count: int = 1000) -> np.ndarray:
    """Return numbers of a dtype: special ones first, then random bits and ordinary ones."""
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        return _integers(dtype, rng, count)
    if dtype.kind == "f":
        return _floats(dtype, rng, count)
    parts = np.dtype(f"f{dtype.itemsize // 2}")
    re, im = (_floats(parts, rng, count) for _ in range(2))
    result = re.astype(dtype)
    result.imag = rng.permutation(im)
    few = re[: SPECIAL // 2]
    grid = np.empty(few.size**2, dtype)
    grid.real, grid.imag = np.repeat(few, few.size), np.tile(few, few.size)
    return np.concatenate([rng.permutation(grid), result])


def _integers(dtype: np.dtype, rng: np.random.Generator, count: int) -> np.ndarray:
    info = np.iinfo(dtype)
    edges = [info.min, info.max, info.min + 1, info.max - 1, info.max // 2, info.max // 3]
    small = [0, 1, 2, 3, 7, 8, 10, 100, *([-1, -2, -3, -7, -8] if info.min else [])]
    bits = rng.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    shifts = rng.integers(0, 8 * dtype.itemsize, count).astype(dtype)  # of every magnitude
    return np.concatenate([np.array([*edges, *small], dtype), bits >> shifts])


def _floats(dtype: np.dtype, rng: np.random.Generator, count: int) -> np.ndarray:
    info = np.finfo(dtype)
    limits = [info.max, info.tiny, info.smallest_subnormal, info.tiny * 1.5, info.eps, 1 / info.eps]
    near = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, np.inf, 1 + info.eps, 1 - info.epsneg]
    special = np.array([*near, *limits]).astype(dtype)
    bits = rng.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    bits = np.where(np.isnan(bits), bits + dtype.type(0), bits)  # quiet, with the bits they have
    usual = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)
    whole = rng.integers(-9, 10, count // 2).astype(dtype)
    nan = np.array([np.nan], dtype)
    return np.concatenate([special, -special, nan, bits, usual, whole])


@lru_cache(maxsize=512)
def operands(loop: tuple[np.dtype, ...], count: int) -> tuple[np.ndarray, ...]:
    """Return arrays for the first dtypes of a loop: specials all against all, then the others."""
    rng = np.random.default_rng(len(loop) * 1000 + loop[0].num)
    drawn = [numbers(dtype, rng) for dtype in loop[:count]]
    if count == 1:
        return tuple(drawn)
    first, second = (x[:SPECIAL] for x in drawn)
    size = min(x.size for x in drawn)
    return (
        np.concatenate([np.repeat(first, second.size), rng.permutation(drawn[0])[:size]]),
        np.concatenate([np.tile(second, first.size), rng.permutation(drawn[1])[:size]]),
    )


def loops(ufunc: np.ufunc) -> Iterator[tuple[np.dtype, ...]]:
    """Return the loops of a ufunc on dtypes that the compiler knows, each once."""
    seen = set()
    for signature in ufunc.types:
        loop = tuple(np.dtype(char) for char in signature.replace("->", ""))
        if loop not in seen and all(dtype in DTYPES for dtype in loop):
            seen.add(loop)
            yield loop


def same(found: np.ndarray, expected: np.ndarray, signs: bool = True) -> np.ndarray:
    """Return where both are the same number, of zeros with the same sign if asked, or both NaN."""
    if found.dtype.kind == "c":
        parts = [(found.real, expected.real), (found.imag, expected.imag)]
        return np.logical_and(*[same(a.copy(), b.copy(), signs) for a, b in parts])
    equal = (found == expected) | ((found != found) & (expected != expected))
    if found.dtype.kind == "f" and signs:
        equal &= (np.signbit(found) == np.signbit(expected)) | (found != found)
    return equal


def steps(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return how many floats lie between two: 0 if they are the same, or both are NaN."""

    def place(x: np.ndarray) -> np.ndarray:
        """Return the numbers of floats in order: those of negative ones run backwards."""
        bits = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
        return np.where(bits < 0, np.iinfo(f"i{x.dtype.itemsize}").min - bits, bits)

    a, b = place(found), place(expected)
    distance = np.maximum(a, b).view(np.uint64) - np.minimum(a, b).view(np.uint64)
    nan = np.isnan(found) & np.isnan(expected)
    return np.where(
        nan, 0.0, np.where(np.isnan(found) | np.isnan(expected), np.inf, distance.astype(float))
    )
