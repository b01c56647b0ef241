"""Short rows go from memory to lanes and back in registers; test_guard_pages has their bounds."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import blocks
from lanewise.codegen.kernel_cache import KERNELS
from lanewise.codegen.llvm import Code
from support.backends import backend


@pytest.mark.parametrize("lanes", [8, 16, 24, 64])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "?", "i2", "u1"])
def test_lanes(dtype, lanes, monkeypatch):
    """Whole blocks and a rest, with rows that fill pieces of vectors, and such that do not."""
    monkeypatch.setenv("LANEWISE_LANES", str(lanes))
    rng = np.random.default_rng(0)
    for length in (2, 3, 4, 5, 8, 15, 36):
        KERNELS.clear()
        x = rng.integers(-99, 99, (2 * lanes + 3, length)).astype(dtype)
        with backend("native"):
            found = lw.vmap(lambda row: (row[::-1].copy(), row))(x)
        np.testing.assert_array_equal(found[0], x[:, ::-1])
        np.testing.assert_array_equal(found[1], x)
    KERNELS.clear()


def test_short_rows_are_moved_without_a_call():
    def texts(program) -> str:
        KERNELS.clear()
        with backend("native"):
            lw.vmap(program)(np.zeros((9, 36)))
        return "".join([kernel.text for kernel in KERNELS.values() if kernel])

    assert "lw_" not in texts(lambda row: np.cumsum(row))
    assert "lw_unpack" in texts(lambda row: np.cumsum(np.concatenate([row, row])))  # a long one


@pytest.mark.parametrize("verb", ["pack", "unpack"])
def test_a_block_of_rows_becomes_columns_and_back(verb):
    code = Code(blocks.library(verb, 32, 4, "moved"))
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    move = ctypes.CFUNCTYPE(None, pointer, number, number, pointer, number, number)(
        code.address("moved")
    )
    rows, columns = np.zeros((4, 3), np.int32), np.zeros((3, 4), np.int32)
    (rows if verb == "pack" else columns).flat = range(12)
    move(rows.ctypes.data, 12, 3, columns.ctypes.data, 16, 3)
    np.testing.assert_array_equal(columns, rows.T)
    assert rows.any()
