"""What in-place code costs: functions that write to their arguments, as NumPy and Numba run them.

Run with ``make bench-writes``. Each function gets the same arrays again and again, which it leaves
changed. All run in one process, taking turns round by round; the table shows the medians over
rounds. Numba gets the function as it stands (`njit`, compiled for these types before); without
Numba its columns are missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Callable

import numpy as np
from overhead import measure

os.environ.setdefault("LANEWISE_BACKEND", "native")  # small work would stay with NumPy

import lanewise as lw

SIZES = (1_000, 100_000, 1_000_000, 10_000_000)


def set_one(a, b):
    a[5] = 0.5


def add_one(a, b):
    a += 1


def add(a, b):
    a += b


def update_part(a, b):
    a[10:18] += b[10:18]


def scale_and_shift(a, b):
    a *= 0.99
    b += a


def exponential(a, b):
    np.exp(b, a)


def smooth(a, b):
    a[1:-1] = 0.25 * a[:-2] + 0.5 * a[1:-1] + 0.25 * a[2:]


def clear(a, b):
    a[a < 0] = 0


def running_sum(a, b):
    for i in range(1, a.size):
        a[i] = 0.5 * a[i - 1] + b[i]


def rotate(a, b):
    for i in range(a.size):
        x = a[i]
        a[i] = 0.6 * x - 0.8 * b[i]
        b[i] = 0.8 * x + 0.6 * b[i]


FUNCTIONS: tuple[Callable[..., None], ...] = (
    set_one, update_part, add_one, add, scale_and_shift, exponential, smooth, clear, running_sum,
    rotate,
)  # fmt: skip
#: NumPy runs a loop over elements for so many at most.
MOST_IN_PYTHON = 1_000


def calls(func: Callable[..., None], size: int, has_numba: bool) -> dict[str, Callable[[], object]]:
    """Return what is measured, by system."""

    def given() -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(size), np.full(size, 1e-9)

    first, second, third = given(), given(), given()
    traced = lw.function(func)
    found: dict[str, Callable[[], object]] = {"Lanewise": lambda: traced(*first)}
    if size <= MOST_IN_PYTHON or func not in (running_sum, rotate):
        found["NumPy"] = lambda: func(*second)
    if has_numba:
        import numba

        compiled = numba.njit(func)
        found["Numba"] = lambda: compiled(*third)
    mine, others = given(), given()
    traced(*mine)
    if "NumPy" in found:
        func(*others)
        for x, y in zip(mine, others, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    sizes = parser.parse_args().sizes
    has_numba = importlib.util.find_spec("numba") is not None
    names = ["Lanewise", "NumPy", *["Numba"] * has_numba]
    print(f"| µs a call | elements | {' | '.join(names)} |")
    print(f"| --- | ---: |{' ---: |' * len(names)}")
    for func in FUNCTIONS:
        for size in sizes:
            times = measure(calls(func, size, has_numba))
            cells = [f"{times[name]:,.1f}" if name in times else "" for name in names]
            print(f"| `{func.__name__}` | {size:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
