"""Generator expressions made within branches and loop bodies, by what takes their items."""

from __future__ import annotations

import functools
import itertools
import math
import textwrap
from collections import deque

import numpy as np
import pytest

from support.comparing import define
from support.everywhere import assert_like_the_loop

KS = (0.5, 1.0, 1.5)
NAMES = {
    "np": np, "deque": deque, "functools": functools, "itertools": itertools, "math": math,
    "ks": KS,
}  # fmt: skip
X = np.array([0.05, 0.4, 1.0, 1.3, 2.2, 3.7])

BODIES = [
    "a, b, c = (np.abs(s * k) for k in ks); r = a + b - c",
    "a, *z = (s * k for k in ks); r = a + z[0] - z[1]",
    "(a, b), (c, d) = ((s * k * j for j in (1, 2)) for k in (1, 2)); r = a - b * c + d",
    "a, b = (s * k for k in ks if k >= 1); r = a - b",
    "a, b, c = (x for x in (s * k for k in ks)); r = a - b * c",
    "a, b, c = map(float, (s * k for k in ks)); r = b - c",
    "z = [*(s * k for k in ks)]; r = z[0] + z[2]",
    "z = (*(s * k for k in ks),); r = z[0] + z[2]",
    "z = tuple(np.abs(s * k) for k in ks); r = z[0] + z[2]",
    "r = max(*(s * k for k in ks))",
    "r = max((s * k for k in ks), key=lambda v: -v)",
    "r = sum(x * y for x, y in zip((s * k for k in ks), ks))",
    "r = sum(i * y for i, y in enumerate(s * k for k in ks))",
    "g = (s * k for k in ks); r = next(g) + sum(g)",
    "g = (s * k for k in ks); r = 0.0\nfor q in g: r = r + q",
    "z = sorted(s * k for k in ks); r = z[0]",
    "z = dict((k, s * k) for k in ks); r = z[1.0]",
    "r = np.fromiter((s * k for k in ks), float).sum()",
    "r = functools.reduce(lambda a, b: a - b, (s * k for k in ks))",
    "r = math.fsum(s * k for k in ks)",
    "r = list(itertools.accumulate(s * k for k in ks))[-1]",
    "a, b = itertools.islice((s * k for k in ks), 2); r = a - b",
    "z = list(itertools.pairwise(s * k for k in ks)); r = z[0][1]",
    "z = deque(s * k for k in ks); r = z[0] - z[1]",
    "z = [min(x) for x in zip(*((s * k, k) for k in ks))]; r = z[0] * z[1]",
]

LOOP = """
def func(x):
    s, n = x * 1.0, 0
    while s > 0.1 and n < 5:
{body}
        s, n = s * 0.6 + r * 0.01, n + 1
    return s, n
"""

CALLED = """
def inner(s):
    r = 0.0
    if s > 0.9:
{body}
    return r

def func(x):
    s = x * 1.0
    for i in range(int(x)):
        s = s * 0.6 + inner(s) * 0.01
    return s
"""


@pytest.mark.parametrize("around", [LOOP, CALLED], ids=["loop", "called"])
@pytest.mark.parametrize("body", BODIES)
def test_they_are_taken_from_where_they_are_made(body, around):
    source = around.format(body=textwrap.indent(body, " " * 8))
    assert_like_the_loop(define(source, "func", **NAMES), X)
