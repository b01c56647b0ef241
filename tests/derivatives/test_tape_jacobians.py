"""`GradientTape.jacobian` and `batch_jacobian`, in and out of maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw

X = np.array([1.0, 2.0, 3.0])


def test_jacobians_of_trees() -> None:
    with lw.GradientTape(persistent=True) as tape:
        x, other = tape.watch(X), tape.watch(np.ones(2))
        m = np.stack([x, x**2])
        one = m[0, 1]
    found = tape.jacobian(m, {"x": x, "m": m, "other": other})
    np.testing.assert_array_equal(found["x"], [np.eye(3), np.diag(2 * X)])
    np.testing.assert_array_equal(found["m"], np.eye(6).reshape(2, 3, 2, 3))
    assert found["other"] is None
    zero = tape.jacobian(m, other, unconnected_gradients="zero")
    assert zero.shape == (2, 3, 2) and not zero.any()
    np.testing.assert_array_equal(tape.jacobian(one, x), [0, 1, 0])
    with pytest.raises(ValueError, match="an array of NumPy's, which a tape cannot follow"):
        tape.jacobian(m, X)


def test_jacobians_of_variables_in_maps_and_twice() -> None:
    v = lw.Variable([1.0, 2.0])

    def rows(x: Any) -> Any:
        with lw.GradientTape() as tape:
            y = x * v**2
        return tape.jacobian(y, v)

    np.testing.assert_array_equal(lw.vmap(rows)(X), [np.diag([2 * x, 4 * x]) for x in X])
    with lw.GradientTape() as outer:
        x = outer.watch(X)
        with lw.GradientTape() as inner:
            y = inner.watch(x)
            z = y**3
        slopes = inner.jacobian(z, y)
    np.testing.assert_array_equal(outer.gradient(slopes, x), 6 * X)


def test_batch_jacobians() -> None:
    xs = np.arange(1.0, 7.0).reshape(3, 2)
    with lw.GradientTape(persistent=True) as tape:
        x = tape.watch(xs)
        other = tape.watch(np.ones((3, 4)))
        y = np.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2, x[:, 1]], axis=1)
    found = tape.batch_jacobian(y, x)
    expected = [[[b, a], [2 * a, 0], [0, 1]] for a, b in xs]
    np.testing.assert_array_equal(found, expected)
    whole = tape.jacobian(y, x)
    np.testing.assert_array_equal(np.stack([whole[i, :, i] for i in range(3)]), expected)
    column = tape.batch_jacobian(x[:, 0], x)
    assert column is None  # computed after the tape
    assert tape.batch_jacobian(y, other) is None
    assert tape.batch_jacobian(y, other, unconnected_gradients="zero").shape == (3, 3, 4)


def test_bad_uses_are_refused() -> None:
    with lw.GradientTape() as tape:
        x = tape.watch(X)
        y = x[:2] * 2
    with pytest.raises(ValueError, match="as many rows"):
        tape.batch_jacobian(y, x)
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.jacobian(y, x, unconnected_gradients="nil")
    tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.jacobian(y, x)
