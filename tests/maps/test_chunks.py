"""`chunk_size`: the same results for every size, in memory that it bounds."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_same

X = np.sin(np.arange(84.0)).reshape(7, 3, 4)
W = np.arange(4.0)


def several(x, w):
    y = x * w + np.exp(w)
    y[0] = x[1]
    return {
        "array": y,
        "scalar": y.sum(),
        "sorted": np.sort(x, axis=0),
        "index": x.argmax(),
        "solved": np.linalg.solve(x[:, :3] + 5 * np.eye(3), x[:, 0]),
        "looped": np.linalg.lstsq(x.T, w, rcond=None)[0],
        "constant": 3,
        "captured": W,
        "whole": w,
        "bool": x > 0,
        "complex": np.fft.fft(x[0]),
    }


@pytest.mark.parametrize(
    ("size", "chunk"),
    [
        (size, chunk)
        for i, size in enumerate((0, 1, 2, 6, 7))
        for j, chunk in enumerate((1, 2, 3, 6, 7, 8, 1000, np.int32(2)))
        if (i + j) % 2 == 0
    ],
)
def test_the_same_results_for_every_chunk_size(size, chunk, lstsq_is_looped):
    x = X[:size]
    expected = lw.vmap(several, in_dims=(0, None))(x, W)
    assert_same(lw.vmap(several, in_dims=(0, None), chunk_size=chunk)(x, W), expected, rtol=1e-10)
    expected = lw.vmap(several, in_dims=(2, None), out_dims=-1)(np.moveaxis(x, 0, 2), W)
    got = lw.vmap(several, in_dims=(-1, None), out_dims=-1, chunk_size=chunk)(
        np.moveaxis(x, 0, 2), W
    )
    assert_same(got, expected, rtol=1e-10)


def test_a_chunked_map_within_a_map_and_the_other_way_round():
    chunked = lw.vmap(several, in_dims=(0, None), chunk_size=2)
    expected = lw.vmap(several, in_dims=(0, None))(X[:6], W)
    nested = lw.vmap(chunked, in_dims=(0, None))(X[:6].reshape(2, 3, 3, 4), W)
    assert nested.keys() == expected.keys()
    for name in expected:
        assert_same(nested[name].reshape(expected[name].shape), expected[name], rtol=1e-10)
    outer = lw.vmap(lw.vmap(several, in_dims=(0, None)), in_dims=(0, None), chunk_size=1)
    nested = outer(X[:6].reshape(2, 3, 3, 4), W)
    for name in expected:
        assert_same(nested[name].reshape(expected[name].shape), expected[name], rtol=1e-10)


def test_the_memory_of_intermediates_is_bounded(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # kernels have no such intermediates
    size, width = 80, 2000  # 1.3 MB a full intermediate: of more, parts are run anyway
    x = np.ones((size, width))

    def f(row):
        return (np.exp(row) + np.sin(row) * np.cos(row) + np.cumsum(row)).sum()

    def peak(**settings):
        mapped = lw.vmap(f, **settings)
        mapped(x[:2])
        gc.collect()
        tracemalloc.start()
        try:
            result = mapped(x)
            return tracemalloc.get_traced_memory()[1], result
        finally:
            tracemalloc.stop()

    whole, expected = peak()
    chunked, got = peak(chunk_size=2)
    np.testing.assert_allclose(got, expected)
    assert whole > 2 * x.nbytes
    assert chunked < 10 * 2 * width * 8


def test_what_does_not_vary_is_computed_once_for_all_chunks():
    w = np.zeros((2, 2))
    calls = []

    def count(a):
        return calls.append(a.shape) or a

    def f(x):
        return x + lw.py_func(count, [W], float, vectorized=True)

    assert_same(lw.vmap(f, chunk_size=3)(X), X + W)
    assert calls == [(3, 4), (3, 4), (1, 4)]
    with pytest.raises(np.linalg.LinAlgError, match="in example 0 "):
        lw.vmap(lambda x: x + np.linalg.inv(np.asarray(w, like=x)).sum(), chunk_size=3)(X)


def test_errors_in_a_later_chunk_name_the_number_in_the_batch():
    m = np.stack([np.eye(2)] * 7)
    m[5] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"in example 5 \("):
        lw.vmap(np.linalg.inv, chunk_size=2)(m)

    def host(v):
        if not v.any():
            raise KeyError("zero")
        return v

    with pytest.raises(KeyError, match=r"in example 5 \("):
        lw.vmap(lambda a: lw.py_func(host, [a], float), chunk_size=2)(m)


def test_vmap_without_mapped_arguments_has_no_use_for_chunks():
    def f(w):
        return (w * 2, lw.py_func(lambda: 1.0, [], lw.TensorSpec(())))

    got = lw.vmap(f, in_dims=None, axis_size=5, chunk_size=2)(W)
    assert_same(got, (np.tile(W * 2, (5, 1)), np.ones(5)))
    assert_same(lw.vmap(lambda: 1.5, axis_size=0, chunk_size=2)(), np.zeros(0))

    def nested(x):
        return lw.vmap(lambda: x * 2, axis_size=3, chunk_size=2)()

    assert_same(lw.vmap(nested)(W), np.tile(W[:, None] * 2, (1, 3)))
