"""Truth values that a truth value chooses between: the predicate itself, constants, others."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from support.comparing import define

CHOICES = ["p", "q", "True", "False", "not p", "p and q"]
P, Q = (x.ravel() for x in np.meshgrid([True, False], [True, False]))


def assert_chosen(chosen):
    """Assert that expressions of p and q, in one function, are what Python makes of them."""
    f = define(f"def f(p, q):\n    return {', '.join(chosen)}")
    want = np.array([f(p, q) for p, q in zip(P, Q, strict=True)]).T
    nested = lw.vmap(lw.vmap(f))(P[None], Q[None])
    for text, got, row, expected in zip(chosen, lw.vmap(f)(P, Q), nested, want, strict=True):
        np.testing.assert_array_equal(got, expected, err_msg=text)
        np.testing.assert_array_equal(row, expected[None], err_msg=text)


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("first", CHOICES)
def test_every_choice(first, backend, monkeypatch):
    """Such are put together by logic, without choosing; it was ``p`` for ``p if p else True``."""
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    tests = "p", "not p", "q"
    assert_chosen([f"{first} if {test} else {second}" for second in CHOICES for test in tests])


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("first", CHOICES[:5])
def test_choices_among_choices(first, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    inner = [f"({first} if p else {second})" for second in CHOICES[:5]]
    assert_chosen([f"({text} if q else (p if p else True))" for text in inner])


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
