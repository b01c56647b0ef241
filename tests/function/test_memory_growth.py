"""Memory of the process as thousands of functions come and go, and of the machine code of some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(), reason="the memory of a process is read off /proc"
)

HEAD = """
import gc, sys
import numpy as np
import lanewise as lw
from lanewise.codegen.llvm import Code

X = np.arange(4.0)

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def executable():
    '''Bytes of memory that holds code and belongs to no file: what was compiled.'''
    total = 0
    with open("/proc/self/maps") as file:
        for line in file:
            place, access, _, _, node, *_ = line.split()
            if "x" in access and node == "0":
                start, stop = [int(part, 16) for part in place.split("-")]
                total += stop - start
    return total
"""

INTERPRETED = """
def run(start, stop):
    for number in range(start, stop):
        f = lw.function(lambda x, n=number: (x * (n + 0.5)).reshape(2, 2) + n, autograph=False)
        f(X)
        f(X)

run(0, 700)
gc.collect()
before = resident()
run(700, 1700)
gc.collect()
print(resident() - before)
"""

NATIVE = """
UFUNCS = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.hypot]

def run(start, stop):
    for number in range(start, stop):
        def func(x):
            left = number
            while left:  # another program each: its number's digits are the operations
                left, digit = divmod(left, len(UFUNCS))
                x = UFUNCS[digit](x, 0.25)
            return x
        f = lw.function(func, experimental_compile=True, autograph=False)
        f(X)
        assert any(type(thing) is Code for thing in gc.get_objects())

def codes():
    gc.collect()
    return sum(type(thing) is Code for thing in gc.get_objects())

run(6**3, 6**3 + 40)  # some recent ones are kept
few, first, before = codes(), executable(), resident()
run(6**3 + 40, 6**3 + 75)
print(codes() - few, executable() - first, resident() - before)
"""


def printed(script: str, **environment: str) -> list[int]:
    result = subprocess.run(
        [sys.executable, "-c", HEAD + script], capture_output=True, text=True, check=False,
        timeout=240, env={"PATH": "", "LANEWISE_CACHE": "0", **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return [int(number) for number in result.stdout.split()]


def test_thousands_of_functions_leave_no_memory_behind():
    (grown,) = printed(INTERPRETED, LANEWISE_BACKEND="interpret")
    # 1,000 traces that stayed would take more than 10 MB: a trace alone is some 10 kB.
    assert grown < 4 * 2**20


def test_machine_code_goes_with_its_function():
    codes, code, grown = printed(NATIVE, LANEWISE_BACKEND="native")
    assert codes <= 0
    assert code <= 2**19  # 35 kernels that stayed would have some pages each
    assert grown < 24 * 2**20
