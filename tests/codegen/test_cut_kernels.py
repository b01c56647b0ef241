"""Maps that are cut into several kernels: where sizes that examples define are not cut off."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import partition


def reestimated(obs, emission):
    """Return Baum and Welch's counts after some turns, of a scaled recursion."""
    total = 0.0
    for _ in range(4):
        alpha, scale = np.zeros((9, 2)), np.zeros(9)
        alpha[0] = emission[:, obs[0]] + 1
        scale[0] = 1 / alpha[0].sum()
        for t in range(1, 9):
            alpha[t] = alpha[t - 1] * emission[:, obs[t]] + 0.5
            scale[t] = 1 / alpha[t].sum()
        gamma = alpha * scale[:, None]
        for k in range(3):
            emission[:, k] = gamma[obs == k].sum(axis=0)
        total = scale.sum()
    return emission, total


def chosen(obs, emission):
    few = emission[0][emission[0] > 0.3]
    found = few.sum()
    for _ in range(5):
        found = np.sin(found) + few.max(initial=0)
    often = emission[1][emission[1] > found]
    return found * len(often) + often.sum() - few.min(initial=1)


@pytest.mark.parametrize("f", [reestimated, chosen])
@pytest.mark.parametrize("most", [2, 5, 40, 512])
def test_sizes_of_examples_stay_with_what_has_them(f, most, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setattr(partition, "MOST_OPERATIONS", most)
    monkeypatch.setattr(partition, "MOST_RESULTS", max(most // 2, 2))
    rng = np.random.default_rng(most)
    obs, emission = rng.integers(0, 3, (20, 9)), rng.dirichlet([1, 1, 1], (20, 2))
    found = lw.vmap(f)(obs, emission)
    wanted = [f(o, e.copy()) for o, e in zip(obs, emission, strict=True)]
    for one, other in zip(
        found if isinstance(found, tuple) else (found,),
        zip(*[w if isinstance(w, tuple) else (w,) for w in wanted], strict=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, np.stack(other), rtol=1e-10, atol=1e-12)
