"""Loops that are parted into a map and a rest, as whole functions; see `distribute.txt`."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.passes import distribute
from support.everywhere import assert_like_the_loop

RNG = np.random.default_rng(7)


def nearest_of_each(x, centers):
    sums, counts = np.zeros(centers.shape), np.zeros(centers.shape[0])
    assign, inertia = np.zeros(x.shape[0], np.int64), 0.0
    for i in range(x.shape[0]):
        best, place = np.inf, 0
        for c in range(centers.shape[0]):
            distance = 0.0
            for k in range(x.shape[1]):
                distance += (x[i, k] - centers[c, k]) ** 2
            if distance < best:
                best, place = distance, c
        assign[i] = place
        inertia += best
        counts[place] += 1
        sums[place] += x[i]
    return sums, counts, assign, inertia


def steps_then_counts(x, bins):
    counts = np.zeros(bins.shape[0])
    last = 0.0
    for i in range(x.shape[0]):
        v, n = x[i], 0
        while abs(v) > 0.1 and n < 9:
            v, n = v * 0.5, n + 1
        counts[n] += bins[n] + last
        last = v + n
    return counts, last


def checked_in_the_search(x, bins):
    counts = np.zeros(bins.shape[0])
    for i in range(x.shape[0]):
        n = 0
        while bins[n] < x[i]:  # beyond the last of them for some
            n += 1
        counts[n] += 1
    return counts


ARGUMENTS = {
    nearest_of_each: [(RNG.normal(size=(n, 3)), RNG.normal(size=(5, 3))) for n in (1, 40, 200)],
    steps_then_counts: [(RNG.normal(size=n), RNG.normal(size=10)) for n in (1, 33, 300)],
    checked_in_the_search: [
        (RNG.uniform(0, top, 64), np.linspace(0, 1, 12)) for top in (1.0, 1.0, 1.2)
    ],
}


@pytest.mark.parametrize("func", ARGUMENTS, ids=lambda f: f.__name__)
def test_like_the_loop(func):
    for x, other in ARGUMENTS[func]:
        assert_like_the_loop(func, x[None], other[None], maps=False)


def test_what_turns_hand_over_is_bounded(monkeypatch):
    x, centers = ARGUMENTS[nearest_of_each][2]
    want = nearest_of_each(x, centers)
    monkeypatch.setattr(distribute, "MOST_BYTES", 8)
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    got = lw.function(nearest_of_each)(x, centers)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
