"""Choices and permutations: what may come out, how often, and the same in traced functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lanewise as lw

COUNT = 6000


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    yield request.param


def p_value(rows: np.ndarray, kinds: list[tuple[int, ...]], shares: Any = None) -> float:
    counts = [int((rows == kind).all(axis=1).sum()) for kind in kinds]
    assert sum(counts) == len(rows)
    expected = None if shares is None else np.asarray(shares) * len(rows)
    return stats.chisquare(counts, expected).pvalue


def many(f: Callable[..., Any]) -> np.ndarray:
    lw.random.seed(17)
    return np.reshape(lw.vmap(f, axis_size=COUNT, randomness="different")(), (COUNT, -1))


def test_all_permutations_are_alike() -> None:
    kinds = list(permutations(range(4)))
    assert p_value(many(lambda: lw.random.permutation(4)), kinds) > 1e-4
    mixed = many(lambda: lw.random.permuted(np.arange(4).reshape(2, 2)))
    assert p_value(mixed, kinds) > 1e-4
    rows = many(lambda: lw.random.permuted(np.arange(4).reshape(2, 2), axis=1))
    swapped = [(*a, *b) for a in ((0, 1), (1, 0)) for b in ((2, 3), (3, 2))]
    assert p_value(rows, swapped) > 1e-4


def test_choices_are_as_probable_as_they_should_be() -> None:
    singles = [(i,) for i in range(4)]
    p = [0.1, 0.2, 0.3, 0.4]
    assert p_value(many(lambda: lw.random.choice(4)), singles) > 1e-4
    assert p_value(many(lambda: lw.random.choice(4, p=p)), singles, p) > 1e-4
    pairs = list(permutations(range(4), 2))
    assert p_value(many(lambda: lw.random.choice(4, 2, replace=False)), pairs) > 1e-4
    weighted = [p[i] * p[j] / (1 - p[i]) for i, j in pairs]
    found = many(lambda: lw.random.choice(4, 2, replace=False, p=p))
    assert p_value(found, pairs, weighted) > 1e-4


def test_few_of_many() -> None:
    rng = lw.random.default_rng(1)
    found = np.array([rng.choice(10**12, 4, replace=False) for _ in range(200)])
    assert all(len(set(row)) == 4 for row in found.tolist())
    assert stats.kstest(found.ravel() / 1e12, "uniform").pvalue > 1e-4
    some = rng.choice(20_000, 300, replace=False)
    assert len(set(some.tolist())) == 300 and some.min() >= 0 and some.max() < 20_000
    f = lw.function(lambda: rng.choice(20_000, 30, replace=False))
    rng.counter = 0
    first = f()
    rng.counter = 0
    np.testing.assert_array_equal(first, rng.choice(20_000, 30, replace=False))


SAME: dict[str, Callable[..., Any]] = {
    "choice": lambda g, x: g.choice(x, 5),
    "choice of rows": lambda g, x: g.choice(x.reshape(3, 4), 2, replace=False),
    "choice along axis": lambda g, x: g.choice(x.reshape(3, 4), (2, 2), axis=1),
    "choice with p": lambda g, x: g.choice(x, 3, p=np.arange(12) / 66),
    "permutation": lambda g, x: g.permutation(x.reshape(4, 3), axis=1),
    "permuted": lambda g, x: g.permuted(x.reshape(4, 3), axis=0),
    "multinomial": lambda g, x: g.multinomial(10, [0.2, 0.3, 0.5], size=(2, 2)),
    "multivariate_hypergeometric": lambda g, x: g.multivariate_hypergeometric([3, 4, 5], 6, 2),
    "multivariate_normal": lambda g, x: g.multivariate_normal(x[:2], np.eye(2), 3),
    "dirichlet": lambda g, x: g.dirichlet(x[:3] + 1.0, 2),
    "multinomial of data": lambda g, x: g.multinomial(x[:2].astype(int) + 9, [[0.5, 0.5]] * 2),
    "multivariate_normal of data": lambda g, x: g.multivariate_normal(
        x[:2], np.eye(2) * (x[3] + 1.0), 3
    ),
    "narrow integers": lambda g, x: g.integers(x.astype(int), 99, dtype=np.int8),
    "integers": lambda g, x: g.integers(0, x.astype(int) + 1),
}


@pytest.mark.parametrize("name", SAME)
def test_traced_ones_are_the_eager_ones(name: str) -> None:
    rng, x = lw.random.default_rng(2), np.arange(12.0)
    found = lw.function(lambda x: SAME[name](rng, x))(x)
    ended, rng.counter = rng.counter, 0
    wanted = SAME[name](rng, x)
    assert rng.counter == ended and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_shuffle() -> None:
    rng = lw.random.default_rng(3)
    x = np.arange(10)
    rng.shuffle(x)
    assert sorted(x.tolist()) == list(range(10)) and x.tolist() != list(range(10))
    rows = np.arange(6).reshape(2, 3)
    rng.shuffle(rows, axis=1)
    assert (rows[1] - rows[0] == 3).all()
    cards = list("abcdef")
    rng.shuffle(cards)
    assert sorted(cards) == list("abcdef")

    def shuffled(x):
        rng.shuffle(x)
        return x

    given = np.arange(20.0).reshape(4, 5)
    found = lw.vmap(shuffled, randomness="different")(given)
    np.testing.assert_array_equal(np.sort(found, axis=1), given)
    assert len(np.unique(found - given[:, :1], axis=0)) == 4
    out = np.zeros(5)
    assert rng.permuted(given[0], out=out) is out and sorted(out.tolist()) == given[0].tolist()
