"""What depends on the processor and on the build of Python: machine code, the place of fields."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.processor import machine

#: Where native code reads an array's fields (``runtime/c/launch.c``).
HEAD = object.__basicsize__
FIELDS = {
    "DATA": HEAD, "RANK": HEAD + 8, "SHAPE": HEAD + 16, "STRIDES": HEAD + 24, "DTYPE": HEAD + 40,
    "FLAGS": HEAD + 48,
}  # fmt: skip


def field(array, name, kind):
    return kind.from_address(id(array) + FIELDS[name]).value


def test_the_fields_of_arrays_lie_where_they_are_read():
    array = np.arange(24.0).reshape(2, 3, 4)[:, ::2]
    assert field(array, "DATA", ctypes.c_void_p) == array.ctypes.data
    assert field(array, "RANK", ctypes.c_int) == 3
    for name, expected in (("SHAPE", array.shape), ("STRIDES", array.strides)):
        address = field(array, name, ctypes.c_void_p)
        assert tuple((ctypes.c_int64 * 3).from_address(address)) == expected
    assert field(array, "DTYPE", ctypes.c_void_p) == id(array.dtype)
    assert field(array, "FLAGS", ctypes.c_int) & 0x0F7F == array.flags.num & 0x0F7F


def test_the_type_of_an_object_ends_its_head():
    for value in (np.zeros(2), 12345, "text"):
        place = id(value) + HEAD - ctypes.sizeof(ctypes.c_void_p)
        assert ctypes.c_void_p.from_address(place).value == id(type(value))


def test_features_are_those_of_the_processor():
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    assert ("prefer-256-bit" in machine().features) == is_x86
    assert machine().register_bits in ((128, 256, 512) if is_x86 else (128,))


PROGRAM = """
import numpy as np, lanewise as lw

def f(x, v):
    n = 0
    while x > 1.0:
        x, n = x / 2.0, n + 1
    if v[0] > 0.0:
        v = np.sqrt(v)
    return np.sin(x) + np.exp(-v).sum(), n, np.float16(x) + np.float16(1)

x, v = np.arange(100.0), np.abs(np.random.default_rng(0).normal(size=(100, 5)))
got = lw.vmap(f)(x, v)
expected = [np.stack(part) for part in zip(*[f(a, b.copy()) for a, b in zip(x, v)])]
for g, e in zip(got, expected):
    np.testing.assert_allclose(g, e, rtol=1e-13 if e.dtype == float else 1e-3)
    assert g.dtype == e.dtype
"""


@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_nobody_is_told_anything(backend, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    environment = {**os.environ, "LANEWISE_BACKEND": backend}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except OSError:
        pytest.skip("emulated, as a new process would not be")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_kernels_give_what_numpy_gives(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = np.linspace(-3, 3, 40).reshape(8, 5)

    def f(row):
        total = row[0] * 0.0
        for value in row:
            total = total + np.where(value > 0, np.sqrt(np.abs(value)), np.tanh(value)) * value
        return total, np.sort(row), row.astype(np.float32) @ np.ones(5, np.float32)

    for got, expected in zip(lw.vmap(f)(x), zip(*map(f, x), strict=True), strict=True):
        rtol = 1e-5 if got.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(got, np.stack(expected), rtol=rtol, atol=rtol)
