"""Loops over blocks of lanes: whole blocks without a mask, and what is left under one."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import loops
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.llvm import compile_object
from lanewise.codegen.loops import Loops

RNG = np.random.default_rng(16)
#: Below, at and above the lanes of all dtypes, and several blocks of them.
SIZES = (0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 257)


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")


def test_instructions_are_written_again_with_new_names():
    e = Emitter(Module(), 4, 1)
    x = e.uniform("i64", "%x")
    with e.aside() as lines:
        y = x + 1
        with e.when(y > 3):
            e.do(f"store i64 {y.parts[0]}, ptr %p")
    e.again(lines, {"%x": "%other"})
    e.lines += lines
    e.do("ret void")
    text = e.finish("f", "void", ["i64 %x", "i64 %other", "ptr %p"])
    assert compile_object(text)  # no name is made twice
    assert text.count("add i64 %other, 1") == text.count("add i64 %x, 1") == 1


@pytest.mark.parametrize(
    ("start", "stop", "masked"),
    [(0, 16, [False]), (0, 3, [True]), (0, 19, [False, True]), (0, None, [False, True])],
)
def test_only_the_rest_is_masked(start: int, stop: int | None, masked: list[bool]):
    e = Emitter(Module(), 4, 2)
    k = Loops(e)
    with k.lane_loop(start, e.uniform("i64", "%n") if stop is None else stop) as i:
        mask = k.mask
        text = "every" if mask is None else mask.parts[0]
        e.do(f"call void @body(<4 x i1> {text}, i64 {i.base.parts[0]})")
    bodies = [line for line in e.lines if "@body" in line]
    assert ["splat" not in line and "every" not in line for line in bodies] == masked


def test_a_long_body_is_written_once(monkeypatch):
    monkeypatch.setattr(loops, "MOST_TWICE", 2)
    e = Emitter(Module(), 4, 1)
    k = Loops(e)
    with k.lane_loop(0, 19):
        for _ in range(3):
            e.do("call void @body()")
    assert sum("@body" in line for line in e.lines) == 3


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_maps_of_all_sizes(dtype: str):
    mapped = lw.vmap(lambda x, y: (x * y + x, x == y))
    for size in SIZES:
        x, y = (RNG.integers(0, 2, size).astype(dtype) for _ in range(2))
        for result, expected in zip(mapped(x, y), (x * y + x, x == y), strict=True):
            np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f4", "f8", "c16"])
def test_slices_of_all_lengths(dtype: str):
    def program(x, counts):
        total = np.zeros(len(counts), x.dtype)
        for i in range(len(counts)):
            n = counts[i]
            x[1 : n + 1] = x[:n] * 2 + x[1 : n + 1]
            total[i] = x[:n].sum(dtype=x.dtype)
        return total, x

    traced = lw.function(program)
    counts = np.array(SIZES[1:])
    for _ in range(3):
        x = RNG.integers(0, 3, max(SIZES) + 2).astype(dtype)
        for result, expected in zip(traced(x.copy(), counts), program(x, counts), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_lengths_that_lanes_count_by_themselves():
    def example(x, n):
        return x[:n].max() + x[:n] @ x[:n]

    x, n = RNG.normal(size=(40, 70)), RNG.integers(1, 70, 40)
    expected = [example(*pair) for pair in zip(x, n, strict=True)]
    np.testing.assert_allclose(lw.vmap(example)(x, n), expected, rtol=1e-13)
