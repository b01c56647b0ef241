"""Derivatives of one's own, and what stops derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw


@lw.custom_gradient
def log1pexp(x: Any) -> Any:
    e = np.exp(x)
    return np.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


@lw.custom_jvp
def cube(x: Any) -> Any:
    return x**3


@cube.defjvp
def _cube(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return x**3, 30 * x**2 * t  # ten times too much, to be seen


def test_custom_gradients_are_used_in_every_way() -> None:
    x = np.array([0.0, 100.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lw.vmap(lw.grad(log1pexp))(x), [0.5, 1])
        np.testing.assert_array_equal(lw.grad(lambda x: log1pexp(x).sum())(x), [0.5, 1])
        np.testing.assert_allclose(lw.grad(lw.grad(log1pexp))(0.0), 0.25)
        np.testing.assert_allclose(lw.jvp(log1pexp, (0.0,), (2.0,))[1], 1)
        np.testing.assert_allclose(lw.hessian(log1pexp)(0.0), 0.25)
        np.testing.assert_allclose(lw.vmap(log1pexp)(x), [np.log(2), 100])
        np.testing.assert_allclose(log1pexp(0.0), np.log(2))
        with lw.GradientTape() as tape:
            v = tape.watch(x)
            y = log1pexp(v)
        np.testing.assert_array_equal(tape.gradient(y, v), [0.5, 1])


def test_custom_gradients_that_are_not_linear_work_backward_only() -> None:
    @lw.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 1.0, lambda dy: np.clip(dy, -1, 1)

    assert float(lw.grad(lambda x: 5 * clipped(x))(2.0)) == 1
    np.testing.assert_array_equal(
        lw.vmap(lw.grad(lambda x: 0.5 * clipped(x)))(np.ones(2)), [0.5] * 2
    )
    with pytest.raises(lw.UnsupportedError, match="forward"):
        lw.jvp(clipped, (2.0,), (1.0,))


def test_custom_gradients_over_trees_and_in_loops() -> None:
    @lw.custom_gradient
    def both(pair: Any, scale: Any) -> Any:
        a, b = pair

        def back(da: Any, db: Any) -> Any:
            return (da * scale, db * b), None

        return (a * scale, b * b / 2), back

    def loss(a: Any, b: Any) -> Any:
        total = 0.0
        for _ in range(40):
            a, b = both((a, b), 0.5)
            total = total + a + b
        return total

    found = lw.grad(loss, argnums=(0, 1))(1.0, 0.5)
    np.testing.assert_allclose(found[0], sum(0.5**n for n in range(1, 41)))
    assert lw.grad(lambda s: both((1.0, 2.0), s)[0] + s)(3.0) == 1  # None: no gradient


def test_custom_jvps_are_used_in_every_way() -> None:
    assert float(lw.grad(cube)(2.0)) == 120
    assert float(lw.jvp(cube, (2.0,), (0.5,))[1]) == 60
    assert float(lw.grad(lw.grad(cube))(2.0)) == 120
    np.testing.assert_array_equal(lw.vmap(lw.grad(cube))(np.arange(3.0)), [0, 30, 120])
    np.testing.assert_array_equal(lw.jacfwd(lw.vmap(cube))(np.arange(2.0)), [[0, 0], [0, 30]])
    assert cube(2.0) == 8

    @lw.custom_jvp
    def nothing(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match="defjvp"):
        lw.grad(nothing)(1.0)


def test_closures_and_values_of_other_traces() -> None:
    def outer(x: Any, w: Any) -> Any:
        scaled = w * 2

        @lw.custom_jvp
        def inner(y: Any) -> Any:
            return y * scaled

        @inner.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            return primals[0] * scaled, tangents[0] * scaled * 3

        return inner(x) * x

    # y * s has derivative 3 s here: x s + 3 s x.
    assert float(lw.grad(outer)(2.0, 5.0)) == 2 * 10 + 3 * 10 * 2
    found = lw.vmap(lw.grad(outer), in_dims=(0, None))(np.array([1.0, 2.0]), 5.0)
    np.testing.assert_array_equal(found, [40, 80])


def test_bad_rules_are_refused() -> None:
    single = lw.custom_gradient(lambda x: x)
    with pytest.raises(TypeError, match="pair"):
        lw.grad(single)(1.0)
    wrong = lw.custom_gradient(lambda x: (x * 2, lambda dy: np.ones(3)))
    with pytest.raises(ValueError, match="shape"):
        lw.grad(wrong)(1.0)
    many = lw.custom_gradient(lambda x: (x * 2, lambda dy: (dy, dy)))
    with pytest.raises(ValueError, match="1 arguments"):
        lw.grad(many)(1.0)


def test_gradients_stop() -> None:
    assert float(lw.grad(lambda x: x * lw.stop_gradient(x))(3.0)) == 3
    assert float(lw.jvp(lambda x: lw.stop_gradient(x) + x, (1.0,), (1.0,))[1]) == 1
    found = lw.vmap(lw.grad(lambda x: lw.stop_gradient({"a": x})["a"] * x**2))(np.arange(3.0))
    np.testing.assert_array_equal(found, [0, 2, 8])
    assert lw.stop_gradient(3) == 3


@pytest.mark.parametrize("n", [0, 3, 8])
def test_loops_in_rules_are_run_backward_as_they_count_or_refused(n: int) -> None:
    def tripled(start: int, step: int) -> Any:
        @lw.custom_jvp
        def func(x: Any, n: Any) -> Any:
            return x * 1.0

        @func.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            (x, n), (t, _) = primals, tangents
            i = n * 0 + start
            while i < n:
                t = t * 3.0
                i = i + step
            return x * 1.0, t

        return func

    forward = lw.jvp(lambda x: tripled(2, 2)(x, np.array(n)), (1.0,), (1.0,))[1]
    assert float(forward) == 3.0 ** len(range(2, n, 2))
    with pytest.raises(lw.UnsupportedError, match="not counted"):
        lw.grad(lambda x: tripled(2, 2)(x, np.array(n)))(1.0)
