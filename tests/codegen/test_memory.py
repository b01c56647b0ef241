"""A kernel's local memory: pieces never overlap, and nobody reads what was handed on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.memory import LINE, MOST_SCRATCH, Memory
from support.backends import assert_same_outcome
from support.draws import seeds
from support.poisoned import given_back
from support.searching import searching


@searching(200)
@given(st.lists(st.tuples(st.integers(0, 9000), st.booleans(), st.integers(0, 30)), max_size=60))
def test_pieces_do_not_overlap(requests):
    memory, held = Memory(), []
    for size, fresh, other in requests:
        if other < len(held):
            memory.give(*held.pop(other))
            continue
        before = memory.size
        begin = memory.take(size, fresh)
        assert begin % LINE == 0
        assert begin + size + LINE <= memory.size
        assert begin >= before or not fresh
        for at, length in held:
            assert begin + size + LINE <= at or at + length + LINE <= begin
        held.append((begin, size))


def test_memory_is_handed_on_and_joined():
    memory = Memory()
    pieces = [(memory.take(500), 500) for _ in range(4)]
    whole = memory.size
    for piece in (pieces[1], pieces[3], pieces[2], pieces[0]):
        memory.give(*piece)
    assert memory.take(4 * 500) == 0
    assert memory.size == whole


def test_memory_given_back_may_be_withheld():
    memory = Memory()
    piece = memory.take(100)
    memory.give(piece, 100)
    with memory.withheld():
        other = memory.take(100)
        assert other != piece
        memory.give(other, 100)
    assert {memory.take(100), memory.take(100)} == {piece, other}


def test_memory_is_bounded():
    with pytest.raises(CannotCompile):
        Memory().take(MOST_SCRATCH)


def test_long_programs_take_no_more_memory_than_short_ones():
    def program(turns: int):
        def many(x, y):
            with np.errstate(all="ignore"):
                z = x
                for _ in (None,) * turns:  # each turn is recorded
                    z = np.cumsum(x) * 0.01 + y
                    x, y = z[::-1] * 0.1 + np.cumsum(z), x * 0.5 + np.cumsum(y) * 0.01
                return x

        return many

    def scratch(turns: int) -> int:
        KERNELS.clear()
        x = np.random.default_rng(0).normal(size=(9, 128))
        assert_same_outcome(lambda: lw.vmap(program(turns))(x, x[:, ::-1]))
        return max(kernel.scratch for kernel in KERNELS.values() if kernel)

    assert scratch(8) <= scratch(3)


# --- programs -------------------------------------------------------------------------------------


def block(seed: int, depth: int, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return arrays after a few operations that write some of them to memory, drawn at random."""
    rng, found = np.random.default_rng(seed), list(arrays)
    for inner in rng.integers(2**32, size=rng.integers(3, 8)):
        i, j, to = rng.integers(len(found), size=3)
        a, b, turns = found[i], found[j], int(rng.integers(1, 12))
        match rng.integers(7 if depth else 5):
            case 0:
                new = np.cumsum(a) ^ b
            case 1:
                new = a[b % 47] + 1
            case 2:
                new = a.copy()
                new[3:20] = b[5:22]
            case 3:
                new = np.where(a > b, np.sort(a), b[::-1])
            case 4:
                new = np.concatenate([b[30:], np.cumsum(a - b)[: len(a) - len(b[30:])]])
            case 5:
                sides = [partial(_one_more, int(inner) + side, depth) for side in (0, 1)]
                found = list(lw.cond((a[1] ^ b[2]) % 2 == 0, *sides, tuple(found)))
                continue
            case _:
                turn = partial(_one_more, int(inner), depth)
                found = list(lw.fori_loop(0, turns, lambda _, x, t=turn: t(x), tuple(found)))
                continue
        found[to] = new
    return tuple(found)


def _one_more(seed: int, depth: int, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    return block(seed, depth - 1, arrays)


@pytest.mark.usefixtures("poison")
def test_arrays_in_memory():
    """Programs of arrays that are made, read late, written in place, in branches and in loops."""
    before = len(given_back)
    x = np.random.default_rng(0).integers(-99, 99, size=(3, 19, 48))
    for seed in seeds(4):
        assert_same_outcome(lambda s=seed: lw.vmap(lambda *v: block(s, 2, v))(*x))
    assert len(given_back) - before > 80, "hardly anything was handed on"
