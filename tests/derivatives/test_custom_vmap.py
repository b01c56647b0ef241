"""Functions with a batching rule of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.differences import assert_close


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    return request.param


def marked() -> tuple[Any, list[Any]]:
    """Return a function whose rule gives another result, to be seen, and what its rule was told."""
    told: list[Any] = []

    @lw.custom_vmap
    def weighted(pair: Any, scale: Any) -> Any:
        a, b = pair
        return {"sum": (a * b).sum() * scale, "scale": scale * 2}

    @weighted.def_vmap
    def rule(axis_size: Any, in_batched: Any, pair: Any, scale: Any) -> Any:
        told.append(in_batched)
        a, b = pair
        total = np.einsum("ni,ni->n" if in_batched[0][1] else "ni,i->n", a, b)
        batched = in_batched[1]
        return {"sum": total * scale + 1000, "scale": scale * 2}, {"sum": True, "scale": batched}

    return weighted, told


def test_the_rule_is_used_under_maps_only() -> None:
    weighted, told = marked()
    a, b = np.arange(6.0).reshape(2, 3), np.array([1.0, 0.5, 2.0])
    assert float(weighted((a[0], b), 2.0)["sum"]) == 2 * float(a[0] @ b)
    assert not told
    found = lw.vmap(lambda x: weighted((x, b), 2.0))(a)
    np.testing.assert_array_equal(found["sum"], 2 * (a @ b) + 1000)
    np.testing.assert_array_equal(found["scale"], [4, 4])
    assert told == [((True, False), False)] or told == [[(True, False), False]]
    found = lw.vmap(lambda x, s: weighted((x, x), s), in_dims=(1, 0))(a.T, np.array([1.0, 3.0]))
    np.testing.assert_array_equal(found["sum"], [5 + 1000, 150 + 1000])
    np.testing.assert_array_equal(found["scale"], [2, 6])


def test_in_branches_loops_and_nested_maps() -> None:
    weighted, _ = marked()
    b = np.array([1.0, 0.5, 2.0])

    def looped(x: Any) -> Any:
        total = 0.0
        while total < 2500:
            if x[0] > 1:  # noqa: SIM108
                total = total + weighted((x, b), 1.0)["sum"]
            else:
                total = total + 900 + x[1]
        return total

    a = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [0.5, 0.5, 0.5]])
    np.testing.assert_array_equal(lw.vmap(looped)(a), [2703, 3045, 2701.5])
    nested = lw.vmap(lw.vmap(lambda x: weighted((x, b), 1.0)["sum"]))(np.stack([a, 2 * a]))
    np.testing.assert_array_equal(nested, np.stack([a @ b, 2 * a @ b]) + 1000)
    many = lw.vmap(lambda x: weighted((x, b), 1.0)["sum"])(np.ones((5, 3)))
    np.testing.assert_array_equal(many, [1003.5] * 5)


def test_derivatives_are_those_of_the_function() -> None:
    weighted, _ = marked()
    b = np.array([1.0, 0.5, 2.0])
    a = np.arange(6.0).reshape(2, 3)
    loss = lambda x: weighted((x, b), 3.0)["sum"] ** 2  # noqa: E731
    expected = 2 * 9 * (a @ b)[:, None] * b
    assert_close(lw.grad(loss)(a[1]), expected[1])
    assert_close(lw.jvp(loss, (a[1],), (a[1],))[1], expected[1] @ a[1])
    assert_close(lw.hessian(loss)(a[1]), 18 * np.outer(b, b))
    # Under a map the values are the rule's, what multiplies them is the function's derivative.
    both = lw.vmap(lambda x: weighted((x, b), 3.0)["sum"])
    assert_close(lw.grad(lambda x: both(x).sum())(a), np.tile(3 * b, (2, 1)))
    assert_close(
        lw.vmap(lw.grad(lambda x: weighted((x, b), 3.0)["sum"]))(a), np.tile(3 * b, (2, 1))
    )


def test_bad_rules_are_refused() -> None:
    single = lw.custom_vmap(lambda x: x * 2)
    with pytest.raises(TypeError, match="def_vmap"):
        lw.vmap(single)(np.ones(2))
    single.def_vmap(lambda size, batched, x: x * 2)
    with pytest.raises(TypeError, match="pair"):
        lw.vmap(single)(np.ones(2))
    single.def_vmap(lambda size, batched, x: (x[0], True))
    with pytest.raises(ValueError, match="shape"):
        lw.vmap(single)(np.ones(2))
    single.def_vmap(lambda size, batched, x: ((x, x), (True, True)))
    with pytest.raises(ValueError, match="structure"):
        lw.vmap(single)(np.ones(2))
    outside = np.ones(3)
    reading = lw.custom_vmap(lambda x: x + outside)
    reading.def_vmap(lambda size, batched, x: (x, True))
    with pytest.raises(lw.UnsupportedError, match="outside"):
        lw.vmap(reading)(np.ones((2, 3)))
