"""Truth values that a truth value chooses between: the predicate itself, constants, others."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.comparing import define

CHOICES = ["p", "q", "True", "False", "not p", "p and q"]
P, Q = (x.ravel() for x in np.meshgrid([True, False], [True, False]))


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("first", CHOICES)
@pytest.mark.parametrize("second", CHOICES)
def test_every_choice(first, second, backend, monkeypatch):
    """Such are put together by logic, without choosing; it was ``p`` for ``p if p else True``."""
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    chosen = [f"{first} if {test} else {second}" for test in ("p", "not p", "q")]
    f = define(f"def f(p, q):\n    return {', '.join(chosen)}")
    want = np.array([f(p, q) for p, q in zip(P, Q, strict=True)]).T
    np.testing.assert_array_equal(lw.vmap(f)(P, Q), want)
    nested = lw.vmap(lw.vmap(f))(P[None], Q[None])
    np.testing.assert_array_equal(np.concatenate(nested), want)


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("first", CHOICES[:5])
@pytest.mark.parametrize("second", CHOICES[:5])
def test_choices_among_choices(first, second, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    f = define(
        f"def f(p, q):\n    return (({first} if p else {second}) if q else (p if p else True))"
    )
    want = np.array([f(p, q) for p, q in zip(P, Q, strict=True)])
    np.testing.assert_array_equal(lw.vmap(f)(P, Q), want)


def decided_by_an_element(p, v, a):
    if p:
        if a[-1]:
            v[1] = 1
        v = v + 0
    return v


def test_what_decides_within_a_branch_may_be_an_element_of_an_array():
    v, a = np.arange(12.0).reshape(3, 4), np.zeros((3, 17), bool)
    a[1:, -1] = True
    for p in ([True, False, True], [False, True, True], [True, True, False], [False] * 3):
        given = np.array(p)
        expected = np.stack(
            [decided_by_an_element(*row) for row in zip(given, v.copy(), a, strict=True)]
        )
        for function in (decided_by_an_element, lw.function(decided_by_an_element)):
            np.testing.assert_array_equal(lw.vmap(function)(given, v.copy(), a), expected)
