"""Random programs on three arrays: views, writes, branches and loops, beside a pure evaluation.

What a plan writes in place, and what it hands to branches whole, must not show.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.ir.types import array_type
from lanewise.ops.indexing import gather
from lanewise.ops.movement import reshape, slice_, transpose, update_slice
from support.by_hand import I8, add, alone, for_, if_, less, loop, mapped, mod, number, run, set_at
from support.searching import searching

pytestmark = pytest.mark.any_backend

SIMPLE = ["set", "set at", "count", "add", "flip", "alias", "view", "swap", "rows"]
NESTED = ["if", "for", "while"]
VECTOR = array_type(I8, (4,))


def programs(depth):
    """Programs: lists of (kind, array, array, number, program, program)."""
    places = [st.integers(0, 2)] * 2 + [st.integers(0, 3)]
    step = st.tuples(st.sampled_from(SIMPLE), *places, st.just(()), st.just(()))
    if depth:
        inner = programs(depth - 1)
        step |= st.tuples(st.sampled_from(NESTED), *places, inner, inner)
    return st.lists(step, min_size=1, max_size=3)


def element(x, i):
    return gather(x, i, axis=0)


def build(program, arrays):
    """Return the arrays after a program, as values of a graph."""
    arrays = list(arrays)
    for kind, p, q, k, first, second in program:
        a, b = arrays[p], arrays[q]
        match kind:
            case "set":
                arrays[p] = set_at(a, number(k), element(b, number(3 - k)))
            case "set at":
                arrays[p] = set_at(a, mod(element(b, number(k)), 4), element(b, number(0)))
            case "count":
                arrays[p] = set_at(a, mod(element(b, number(k)), 4), number(1), np.add)
            case "add":
                arrays[p] = add(a, b)
            case "flip":
                arrays[p] = slice_(b, index=((3, -1, -1),))
            case "alias":
                arrays[p] = b
            case "view":
                values = slice_(b, index=((1, 3, 1),))
                arrays[p] = update_slice(a, values, index=((0, 2, 1),))
            case "rows":
                matrix = transpose(reshape(b, shape=(2, 2)), axes=(1, 0))
                row = element(matrix, mod(element(a, number(k)), 2))
                arrays[p] = update_slice(a, row, index=((2, 4, 1),))
            case "swap":
                arrays[p], arrays[q] = b, a
            case "if":
                test = less(element(a, number(k)), element(b, number(0)))
                arrays = list(
                    if_(test, lambda *x, s=first: build(s, x), lambda *x, s=second: build(s, x),
                        *arrays)
                )  # fmt: skip
            case "for":
                arrays = list(for_(lambda *x, s=first: build(s, x), k, *arrays, carry=3))
            case "while":
                *arrays, _ = loop(
                    lambda n, x, y, z, i: less(i, n),
                    lambda n, x, y, z, i, s=first: (*build(s, (x, y, z)), add(i, 1)),
                    mod(element(a, number(k)), 5), *arrays, number(0), captures=1,
                )  # fmt: skip
    return arrays


def evaluate(program, arrays):
    """Return the arrays after a program, in NumPy, every array its own."""
    arrays = [a.copy() for a in arrays]
    for kind, p, q, k, first, second in program:
        a, b = arrays[p].copy(), arrays[q].copy()
        match kind:
            case "set":
                a[k] = b[3 - k]
            case "set at":
                a[b[k] % 4] = b[0]
            case "count":
                a[b[k] % 4] += 1
            case "add":
                a += b
            case "flip":
                a = b[::-1].copy()
            case "alias":
                a = b
            case "view":
                a[:2] = b[1:3]
            case "rows":
                a[2:] = b.reshape(2, 2).T[a[k] % 2]
            case "swap":
                arrays[q], a = a, b
            case "if":
                arrays = evaluate(first if a[k] < b[0] else second, arrays)
                continue
            case "for" | "while":
                for _ in range(k if kind == "for" else a[k] % 5):
                    arrays = evaluate(first, arrays)
                continue
        arrays[p] = a
    return arrays


def check_program(program, seed, run=run):
    """Assert that a program gives, mapped and alone, what NumPy does; that it changes no input.

    ``run(graph, *arguments)`` runs the map.
    """
    rng = np.random.default_rng(seed)
    batch = [rng.integers(-20, 20, (7, 4)) for _ in range(3)]
    kept = [x.copy() for x in batch]

    def function(*arrays):
        return build(program, arrays)

    found = run(mapped(function, *[VECTOR] * 3), *batch)
    single = alone(function, *[VECTOR] * 3)
    for k in range(7):
        wanted = evaluate(program, [x[k] for x in kept])
        examples = [x[k].copy() for x in batch]
        for one, other, expected in zip(found, single(*examples), wanted, strict=True):
            np.testing.assert_array_equal(one[k], expected)
            np.testing.assert_array_equal(other, expected)
        for x, example in zip(batch, examples, strict=True):
            np.testing.assert_array_equal(x[k], example)
    for x, y in zip(batch, kept, strict=True):
        np.testing.assert_array_equal(x, y)


@searching(50)
@given(programs(2), st.integers(0, 2**32))
def test_random_programs(program, seed):
    check_program(program, seed)
