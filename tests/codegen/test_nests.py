"""Nests of short loops: how much is written of them, which is decided before."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import emitter
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.errors import TooLong
from lanewise.codegen.loops import Loops
from lanewise.codegen.unrolling import LEAST_SHARE, MOST_SHARE, Unrolling, share_of

RNG = np.random.default_rng(16)
#: Instructions that LLVM compiles in about a second at most.
FEW = 25_000


def windows(images, weights):
    """A convolution: the sum over a window of all images for each pixel."""
    k = weights.shape[0]
    n, height, width = images.shape[0], images.shape[1] - k + 1, images.shape[2] - k + 1
    output = np.empty((n, height, width, weights.shape[3]), images.dtype)
    for i in range(height):
        for j in range(width):
            window = images[:, i : i + k, j : j + k, :, np.newaxis]
            output[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
    return output


def pooled(x):
    """The greatest of each two by two pixels."""
    output = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]))
    for i in range(output.shape[1]):
        for j in range(output.shape[2]):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def small_products(a, b):
    """Products of small matrices in three loops."""
    total = np.zeros((*a.shape[:2], a.shape[2], b.shape[3]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(b.shape[0]):
                total[i, j] += a[i, j] @ b[k, (j + k) % b.shape[1]] @ b[k, i % b.shape[1]]
    return total


def self_energies(g, dh, d):
    """The loops of a scattering self-energy, the sum over directions as an einsum."""
    sigma = np.zeros_like(g)
    for e in range(g.shape[0]):
        for w in range(d.shape[0]):
            for a in range(g.shape[1]):
                if e - w >= 0:
                    sigma[e, a] += np.einsum("ikl,jlm,ij,kn->nm", dh[a], dh[a], d[w], g[e - w, a])
    return sigma


def layers(x, weights):
    """Elementwise work on small arrays, of which rows are reduced, layer by layer."""
    for w in weights:
        outer = np.tanh(x[:, None, None] * w[None] + x[None, :, None])
        x = outer.sum(axis=(1, 2)) / outer.size
    return x


def complex_numbers(*shape):
    return RNG.random(shape) + 1j * RNG.random(shape)


NESTS = {
    "windows": (windows, RNG.random((2, 14, 14, 3)), RNG.random((5, 5, 3, 4))),
    "windows of single precision": (
        windows,
        RNG.random((1, 12, 12, 2), np.float32),
        RNG.random((3, 3, 2, 6), np.float32),
    ),
    "long windows": (windows, RNG.random((1, 20, 4, 1)), RNG.random((3, 3, 1, 2))),
    "large windows": (windows, RNG.random((2, 12, 12, 6)), RNG.random((7, 7, 6, 3))),
    "pooling": (pooled, RNG.random((2, 16, 16, 6))),
    "small products": (small_products, RNG.random((3, 3, 3, 3)), RNG.random((3, 3, 3, 3))),
    "products of four": (small_products, RNG.random((4, 5, 4, 4)), RNG.random((6, 5, 4, 4))),
    "complex products": (
        small_products, complex_numbers(3, 4, 4, 4), complex_numbers(4, 4, 4, 4),
    ),
    "self-energies": (
        self_energies,
        complex_numbers(4, 5, 3, 3),
        complex_numbers(5, 2, 3, 3),
        complex_numbers(3, 2, 2),
    ),
    "layers": (layers, RNG.random(6), RNG.random((6, 6, 5))),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTS)
def test_kernels_of_nests_are_made_and_are_not_long(name, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    function, *arguments = NESTS[name]
    expected = function(*arguments)
    single = expected.dtype.itemsize // (2 if expected.dtype.kind == "c" else 1) == 4
    traced = lw.function(function)
    found = traced(*arguments)
    np.testing.assert_allclose(found, expected, rtol=2e-5 if single else 1e-12)
    kernels = lw.explain(traced, *arguments).kernels
    assert kernels
    assert sum([kernel.ir.count("\n") for kernel in kernels]) < FEW


def test_inner_loops_of_a_nest_are_written_out_first():
    unrolling = Unrolling()
    assert unrolling.share == MOST_SHARE
    assert unrolling.written_out((5, 5, 3), work=2) == [False, True, True]
    assert unrolling.written_out((2, 2, 2), work=2) == [True, True, True]
    assert unrolling.written_out((2, 4), work=150) == [False, False]
    assert unrolling.written_out((4, 9), work=1) == [True, False]
    assert unrolling.is_written_out((4, 4), work=32)
    assert not unrolling.is_written_out((4, 4), work=33)


def test_operations_of_a_large_kernel_have_less_each():
    assert share_of(10) == MOST_SHARE
    assert share_of(10_000) == LEAST_SHARE


def test_code_within_loops_that_are_written_out_counts_as_often():
    loops, seen = Loops(Emitter(Module(), 4, 1)), []
    for _ in loops.range(8):
        seen.append(loops.unrolling.written_out((4, 4), work=2))
        inner = [i for i in loops.range(8)] + [i for i in loops.range(8)]
        assert all(isinstance(i, int) for i in inner)
        for _ in loops.range(8):
            for i in loops.range(8):
                assert not isinstance(i, int)
    assert seen == [[False, True]] * 8


def test_a_function_that_is_too_long_is_noticed_while_it_is_written(monkeypatch):
    monkeypatch.setattr(emitter, "MOST_LINES", 100)
    e = Emitter(Module(), 4, 1)
    with pytest.raises(TooLong):
        for _ in range(200):
            e.do("fence acquire")
            e.check_length()
    assert len(e.lines) == 101


def test_lists_whose_kernel_is_too_long_are_left_to_numpy(monkeypatch):
    """They stay with the memory that they are in, so that the kernel is not cut."""
    monkeypatch.setattr(emitter, "MOST_LINES", 400)
    monkeypatch.setenv("LANEWISE_BACKEND", "native")

    def f(x):
        kept = []
        for i in (0, 1, 2, 3, 5, 8, 13):
            if x[i] > 0:
                kept.append(x[i] * i)
            x = np.sin(x) + x[i]
        return len(kept), sum(kept), x

    x = np.random.default_rng(0).normal(size=(9, 14))
    found = lw.function(lw.vmap(f))(x)
    for got, want in zip(found, zip(*[f(row) for row in x], strict=True), strict=True):
        np.testing.assert_allclose(got, np.stack(want))
