"""`random_draw`: published vectors, the same bits in kernels, and what is made of bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops import random as ops
from lanewise.ops.random import LAWS, OnArrays, random_draw, threefry
from lanewise.trace.tensor import emit

ONES = 2**64 - 1
PI = (0xA4093822299F31D0, 0x082EFA98EC4E6C89, 0x243F6A8885A308D3, 0x13198A2E03707344)
#: Key, counter and block of Threefry-2x64-20 in ``kat_vectors`` of Random123 (Salmon et al. 2011).
KNOWN = [
    ((0, 0, 0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
    ((ONES, ONES, ONES, ONES), (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
    (PI, (0x263C7D30BB0F0AF1, 0x56BE8361D3311526)),
]


def words(*numbers: int) -> list[np.ndarray]:
    return [np.array([x], np.uint64) for x in numbers]


@pytest.mark.parametrize("given, block", KNOWN)
def test_known_answers(given: tuple[int, ...], block: tuple[int, int]) -> None:
    assert tuple(int(x[0]) for x in threefry(*words(*given))) == block


@pytest.mark.parametrize("given, block", KNOWN)
def test_known_answers_in_kernels(
    given: tuple[int, ...], block: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def both(k0, k1, c0, c1):
        return [emit(random_draw, k0, k1, c0, c1, law=law) for law in ("bits", "more_bits")]

    found = lw.vmap(both)(*words(*given))
    assert tuple(int(x[0]) for x in found) == block


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("fastmath", [False, True])
def test_kernels_give_the_same_bits(
    law: str, fastmath: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = np.arange(3000, dtype=np.uint64)
    bounds = [counters * counters + np.uint64(1)] * LAWS[law].bounds

    def draw(counter, *bounds):
        return emit(
            random_draw, np.uint64(5), np.uint64(9), counter, np.uint64(1), *bounds, law=law
        )

    found = []
    for backend in ("interpret", "native"):
        monkeypatch.setenv("LANEWISE_BACKEND", backend)
        found.append(lw.vmap(draw, fastmath=fastmath)(counters, *bounds))
    assert found[0].dtype == LAWS[law].dtype
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found[0])) > 2900


def test_logarithm_and_sine_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 100_000, dtype=np.uint64)
    bits[:4] = 0, 1, ONES, 2**63
    u = ops._positive(OnArrays, bits)
    assert u.min() > 0 and u.max() <= 1
    log = ops.log(OnArrays, u)
    np.testing.assert_allclose(log, np.log(u), rtol=3e-16, atol=0)
    exponential = ops._exponential(OnArrays, bits, None)
    assert not np.signbit(exponential).any() and exponential.max() < 45
    other = rng.integers(0, 2**64, bits.size, dtype=np.uint64)
    angle = np.pi * (other.view(np.int64) * 2.0**-64)
    wanted = np.sqrt(-2 * np.log(u)) * np.sin(angle)
    np.testing.assert_allclose(ops._normal(OnArrays, bits, other), wanted, rtol=2e-15, atol=1e-300)


def test_integers_below_a_bound_are_products_rounded_down() -> None:
    rng = np.random.default_rng(1)
    low, high, bound = (rng.integers(0, 2**64, 2000, dtype=np.uint64) for _ in range(3))
    bound[:900] %= np.uint64(1000)
    bound[:5] = 0, 1, 2, ONES, 2**32
    low[5], high[5] = ONES, ONES
    found = ops._below(OnArrays, low, high, bound)
    for a, b, n, x in zip(*[v.tolist() for v in (low, high, bound, found)], strict=True):
        assert x == ((b << 64) + a) * (n or 2**64) >> 128


def test_what_it_takes() -> None:
    with pytest.raises(TypeError, match="takes 5 arrays of uint64"):
        lw.vmap(lambda c: emit(random_draw, c, c, c, c, law="below"))(np.zeros(2, np.uint64))
    with pytest.raises(TypeError, match="takes 4 arrays of uint64"):
        lw.vmap(lambda c: emit(random_draw, c, c, c, c, law="bits"))(np.zeros(2))


def test_bits_are_balanced_and_blocks_unrelated() -> None:
    draws = lw.random.Generator.from_key(np.array([1, 2], np.uint64))
    bits = draws.integers(0, 2**64 - 1, 1 << 16, dtype=np.uint64, endpoint=True)
    shares = [((bits >> np.uint64(i)) & np.uint64(1)).mean() for i in range(64)]
    assert max(abs(share - 0.5) for share in shares) < 5 / (2 * math.sqrt(bits.size))
    for lag in (1, 2, 64):
        flips = np.bitwise_count(bits[lag:] ^ bits[:-lag]).mean()
        assert abs(flips - 32) < 5 * 4 / math.sqrt(bits.size)
