"""Object code in the process: wherever there is room for it, and what it calls."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from lanewise.codegen import linking
from lanewise.codegen.llvm import compile_object, lock

CALLS = "declare i64 @lw.of_a_test(i64)\ndefine i64 @f(i64 %x) {\n" + (
    "  %y = call i64 @lw.of_a_test(i64 %x)\n  ret i64 %y\n}"
)


def linked(text: str, own: dict[str, int] | None = None) -> linking.Linked:
    code = compile_object(text)
    with lock:
        return linking.Linked(code, own)


def test_names_of_ones_own_and_of_all(monkeypatch):
    monkeypatch.setattr(linking, "_addresses", {})
    double = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: 2 * x)
    address = ctypes.cast(double, ctypes.c_void_p).value
    with pytest.raises(LookupError, match="compiled code cannot be linked"):
        linked(CALLS).address("f")
    code = linked(CALLS, {"lw.of_a_test": address})
    assert type(double)(code.address("f"))(4) == 8
    linking.add_symbol("lw.of_a_test", address)
    code = linked(CALLS)
    assert type(double)(code.address("f"))(5) == 10
    with pytest.raises(LookupError, match="none_such"):
        code.address("none_such")


def test_variables():
    code = linked("@there = global i64 7\ndefine i64 @f() {\n  ret i64 1\n}")
    assert ctypes.c_int64.from_address(code.address("there")).value == 7


_SCATTERED = """
import ctypes
import mmap
import sys

import numpy as np

import lanewise as lw

PAGE, LARGE = mmap.PAGESIZE, 3 << 30
ASIDE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # no memory for it
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def check(c):
    func = lw.function(lw.vmap(lambda x: (np.sin(x * c) + np.exp(x)).sum() + np.sort(x)[2]))
    x = np.random.default_rng(0).random((4, 7))
    assert np.allclose(func(x), [(np.sin(y * c) + np.exp(y)).sum() + np.sort(y)[2] for y in x])


check(1.5)  # what is compiled once
blocks = [libc.mmap(None, LARGE, 0, ASIDE, -1, 0) for _ in range(300)]
while libc.mmap(None, PAGE, 0, ASIDE, -1, 0) > min(blocks):
    pass  # no room between them, and above
for block in blocks:
    libc.munmap(block + (1 << 30), int(sys.argv[1]) * PAGE)
for i in range(12):
    check(2.5 + i)
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it takes addresses as Linux does")
@pytest.mark.parametrize("pages", [1, 4])
def test_an_address_space_with_small_holes_far_apart(pages):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _SCATTERED, str(pages)],
        env={**os.environ, "LANEWISE_BACKEND": "native"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-2000:]
