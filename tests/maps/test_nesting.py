"""Maps within maps: any depth, sizes and axes, captures of every level, maps of every kind."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_same

A = np.arange(24.0).reshape(2, 3, 4)
B = np.cos(A)


def test_dot_over_two_batch_dimensions():
    assert_same(lw.vmap(lw.vmap(np.dot))(A, B), np.einsum("abd,abd->ab", A, B))
    outer = lw.vmap(lw.vmap(np.dot, in_dims=(None, 0)), in_dims=(0, None))
    assert_same(outer(A[0], B[1]), A[0] @ B[1].T)


@pytest.mark.parametrize("axes", [*itertools.product((0, 1, 2, -1), (0, 1, -1), (0, 1, -1))])
def test_axes_at_both_levels(axes):
    outer, inner, out = axes

    def func(v):
        return np.cumsum(v) - v[0]

    got = lw.vmap(lw.vmap(func, in_dims=inner, out_dims=out), in_dims=outer, out_dims=out)(A)
    expected = np.stack(
        [
            np.stack([func(v) for v in np.moveaxis(m, inner, 0)], out)
            for m in np.moveaxis(A, outer, 0)
        ],
        out,
    )
    assert_same(got, expected)


def test_every_level_is_seen_from_within():
    p, q, r, w = np.arange(2.0), np.arange(3.0), np.arange(4.0), np.arange(5.0)

    def one(a):
        def two(b):
            def three(c):
                return (a * w).sum() + b * 10 + c * 100, a + w

            return lw.vmap(three)(r)

        return lw.vmap(two)(q)

    sums, rows = lw.vmap(one)(p)
    expected = p[:, None, None] * w.sum() + 10 * q[:, None] + 100 * r + np.zeros((2, 3, 4))
    assert_same(sums, expected)
    assert_same(rows, np.broadcast_to((p[:, None] + w)[:, None, None], (2, 3, 4, 5)).copy())


def test_sizes_differ_by_level_and_sizes_of_one_and_none():
    for shape in [(2, 3, 4), (1, 5, 1), (0, 3, 2), (3, 0, 2), (2, 2, 0), (0, 0, 0)]:
        x = np.ones(shape)
        got = lw.vmap(lw.vmap(lambda v: (v * 2, v.sum(), 1)))(x)
        assert_same(got, (x * 2, x.sum(2), np.ones(shape[:2], int)))


def test_a_map_of_data_that_no_example_changes_is_computed_once(compiled):
    table = np.arange(6.0).reshape(3, 2)
    seen = []

    def f(x):
        rows = lw.vmap(np.sum)(table)  # nothing traced: computed right away
        seen.append(type(rows))
        rows[0] = 5.0
        return x + rows

    assert_same(lw.vmap(f)(np.zeros((2, 3))), np.tile([5.0, 5.0, 9.0], (2, 1)))
    assert seen == [np.ndarray] * 2
    assert compiled() == 2


def test_unmapped_by_the_inner_map_and_mapped_by_the_outer():
    inner = lw.vmap(lambda x, w: (x @ w, w.sum()), in_dims=(0, None), out_dims=(0, None))
    got = lw.vmap(inner)(A, B[:, 0])
    assert_same(got, (np.einsum("abd,ad->ab", A, B[:, 0]), B[:, 0].sum(1)))
    scaled = lw.vmap(lambda x: lw.vmap(lambda: x * 2, axis_size=3)())(A)
    assert_same(scaled, np.stack([2 * A] * 3, axis=1))


def test_maps_of_every_kind_within_each_other():
    kinds = {
        "vmap": lambda f: lw.vmap(f),
        "chunked": lambda f: lw.vmap(f, chunk_size=2),
        "vectorized_map": lambda f: lambda x: lw.vectorized_map(f, x),
        "map_fn": lambda f: lambda x: lw.map_fn(f, x),
        "vectorize": lambda f: lw.vectorize(f, signature="(n)->(m)"),
    }

    def func(v):
        return np.sort(v)[::-1][:3] * 2

    expected = np.sort(A, axis=-1)[..., ::-1][..., :3] * 2
    for one, two in itertools.product(kinds.values(), repeat=2):
        got = one(two(func) if two is not kinds["vectorize"] else lw.vmap(func))(A)[:] \
            if one is not kinds["vectorize"] else lw.vmap(one(func))(A)  # fmt: skip
        assert_same(got, expected)
    for one in ("vmap", "chunked", "vectorized_map", "map_fn"):
        assert_same(kinds[one](kinds["vectorize"](func))(A), expected)


def test_results_of_inner_maps_are_used_and_written_to():
    def f(m):
        means = lw.vmap(np.mean)(m)
        means[0] = 0.0
        means[1:] += m[1:, 0]
        return means, m - means[:, None]

    got = lw.vmap(f)(A)
    means = A.mean(2)
    means[:, 0] = 0
    means[:, 1:] += A[:, 1:, 0]
    assert_same(got, (means, A - means[..., None]))


def test_trees_go_through_every_level():
    def inner(d):
        return {"s": d["v"].sum(), "rest": [d["v"] * 2, (d["n"],)]}

    got = lw.vmap(lambda d: lw.vmap(inner)(d))({"v": A, "n": A[:, :, 0]})
    assert_same(got, {"s": A.sum(2), "rest": [A * 2, (A[:, :, 0],)]})


def test_chunks_within_chunks():
    def f(m):
        def inner(v):
            return (np.sin(v) * m.sum(), m[0], 3.5)

        return lw.vmap(inner, chunk_size=2, out_dims=(0, None, None))(m)

    expected = (np.sin(A) * A.sum((1, 2))[:, None, None], A[:, 0], np.full(2, 3.5))
    for chunk in (None, 1, 2, 5):
        assert_same(lw.vmap(f, chunk_size=chunk)(A), expected)
    assert_same(lw.map_fn(f, A), expected)


def test_an_operation_that_is_looped_within_two_maps(lstsq_is_looped):
    def func(v):
        return np.linalg.lstsq(np.vander(np.arange(4.0), 2), v, rcond=None)[0]

    expected = np.stack([np.stack([func(v) for v in m]) for m in A])
    assert_same(lw.vmap(lw.vmap(func))(A), expected, rtol=1e-9)
    assert_same(lw.vmap(lw.vmap(func, chunk_size=2), chunk_size=1)(A), expected, rtol=1e-9)


def test_recursion_of_the_function_itself():
    def total(x):
        return x if x.ndim == 0 else lw.vmap(total)(x).sum()

    assert_same(lw.vmap(total)(A), A.sum((1, 2)))


def test_errors_of_the_inner_map_name_the_line():
    def f(m):
        return lw.vmap(np.dot)(m, np.ones((5, 4)))  # wrong size

    with pytest.raises(ValueError, match=r"5 examples in args\[1\].*3 in args\[0\].*wrong size"):
        lw.vmap(f)(A)
    singular = np.stack([np.eye(2)] * 6).reshape(2, 3, 2, 2)
    singular[1, 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"in example 1, 2 \(.*test_nesting.py:\d+:"):
        lw.vmap(lw.vmap(np.linalg.inv))(singular)


def test_writing_to_what_another_level_owns_is_refused():
    def f(m):
        total = m[0] * 0

        def g(v):
            total[0] += v[0]
            return v

        return lw.vmap(g)(m)

    with pytest.raises(
        lw.UnsupportedError, match=r"writes to an array of the function around.*test_nesting"
    ):
        lw.vmap(f)(A)
