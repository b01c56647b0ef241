"""Estimates of what NumPy takes: they decide when something is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from lanewise.codegen.work import BYTE_NS_OF, CALL_NS_OF, MATRIX_NS, ROW_NS, interpreting
from lanewise.ir.graph import Graph
from lanewise.ops.elementwise import elementwise
from lanewise.ops.facts import Kind
from lanewise.ops.registry import REGISTRY, Primitive
from lanewise.ops.ufuncs import element_ns
from lanewise.runtime.dispatch import Program, observing

MATRICES = np.random.default_rng(0).uniform(0, 0.1, size=(50, 4, 4)) + np.eye(4) / 2
ROWS = MATRICES[:, 0]
KEYS = lw.random.split(lw.random.key(0), 50)


def element_ns_of(op: Primitive) -> float:
    """Return the nanoseconds that NumPy takes for a float64, or what else a primitive is for."""
    return op.numpy_ns if op.ufunc is None else element_ns(op.ufunc, np.dtype(float))


SLOW = {
    op.name: element_ns_of(op)
    for op in (*REGISTRY.values(), elementwise(scipy.special.gammaln))
    if element_ns_of(op) > 1
}
TWO = {
    "solve", "lstsq", "floor_divide", "remainder", "fmod", "divmod", "hypot", "power", "arctan2",
    "float_power", "heaviside", "nextafter", "logaddexp", "logaddexp2",
}  # fmt: skip
SPECIAL: dict[str, tuple[Callable[..., Any], Any]] = {
    "svdvals": (lambda a: np.linalg.svd(a, compute_uv=False), MATRICES),
    "argsort": (np.argsort, ROWS),
    "partition": (lambda a: np.partition(a, 1), ROWS),
    "argpartition": (lambda a: np.argpartition(a, 1), ROWS),
    "correlate": (lambda a: np.correlate(a, np.ones(3)), ROWS),
    "searchsorted": (lambda a: np.searchsorted(np.arange(4.0), a), ROWS),
    "arccosh": (np.arccosh, ROWS + 1),
    "accumulate": (np.cumsum, ROWS),
    "where": (lambda a: np.where(a > 0.5, a, 0.0), ROWS),
    "ldexp": (lambda a: np.ldexp(a, 3), ROWS),
    "gcd": (lambda a: np.gcd(a, 12), ROWS.astype(int)),
    "lcm": (lambda a: np.lcm(a, 12), ROWS.astype(int)),
    "ufunc.gammaln": (scipy.special.gammaln, ROWS),
    "random_draw": (lambda key: lw.random.Generator.from_key(key).random(2), KEYS),
}


def mapped(func: Callable[..., Any], *args: np.ndarray) -> tuple[Program, Graph]:
    """Return what ran, and the region of its map."""
    with observing() as programs:
        lw.vmap(func)(*args)
    (program,) = programs
    (op,) = program.graph.operations
    return program, op.regions[0]


@pytest.mark.parametrize("name", SLOW)
def test_what_is_slow_is_known(name):
    func, x = SPECIAL.get(name) or (
        getattr(np.linalg, name, None) or getattr(np, name),
        MATRICES,
    )
    program, body = mapped(func, *[x] * (1 + (name in TWO)))
    assert name in {op.primitive.name for op in body.operations}
    calls = interpreting(program.graph, program.sizes, 0)
    seen = interpreting(program.graph, program.sizes) - calls
    begun = MATRIX_NS * len(x)
    assert SLOW[name] * x.size <= seen <= 2 * SLOW[name] * x.size + 5 * x.size + begun


@pytest.mark.parametrize(
    ("func", "smooth", "prime"),
    [(np.fft.fft, 1024, 1021), (np.fft.rfft, 1024, 1021), (np.fft.irfft, 1025, 1022)],
)
def test_transforms_take_what_their_factors_do(func, smooth, prime):
    """And each call of one prepares its roots, whatever the number of rows."""

    def both(n):
        program, _ = mapped(func, np.ones((50, n)))
        calls = interpreting(program.graph, program.sizes, 0)
        return calls, interpreting(program.graph, program.sizes) - calls

    calls, rows = both(smooth)
    prime_calls, prime_rows = both(prime)
    assert prime_rows > 2 * rows > 1000 * 50
    assert prime_calls > calls > both(5)[0] + 1000


def test_what_is_not_slow():
    program, body = mapped(lambda x: x + x, MATRICES)
    assert len(body.operations) == 1
    call, byte = CALL_NS_OF[Kind.ELEMENTWISE], BYTE_NS_OF[Kind.ELEMENTWISE]
    expected = call + byte * 3 * MATRICES.nbytes
    assert interpreting(program.graph, program.sizes) == pytest.approx(expected)


def test_rows_that_are_begun_count():
    """NumPy adds up many short rows for longer than few long ones, and so for broadcast ones."""

    def took(func, *args):
        program, _ = mapped(func, *args)
        return interpreting(program.graph, program.sizes)

    short, long = np.ones((1000, 4)), np.ones((4, 1000))
    assert took(np.sum, short) - took(np.sum, long) > ROW_NS * 990
    apart = took(lambda x, s: x + s, short, short[:, 0]), took(lambda x, s: x + s, long, long[:, 0])
    assert apart[0] - apart[1] > ROW_NS * 990
