"""The benchmark of random numbers, at small sizes: Lanewise's part of it draws what it should."""

from __future__ import annotations

import pytest

import lanewise as lw
from benchmarks import randomness

SIZES = randomness.Sizes(60, 300, 40, 5000)


def test_lanewise_draws_what_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    for peer in ("numba_calls", "jax_calls", "torch_calls"):  # they take seconds to be imported
        monkeypatch.setattr(randomness, peer, lambda sizes: {})
    lw.random.seed(1)
    cases = randomness.cases(SIZES)
    assert len(cases) == 7
    for case in cases:
        randomness.check(case, "Lanewise", case.calls["Lanewise"]())
