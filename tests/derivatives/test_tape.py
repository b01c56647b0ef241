"""`GradientTape`: recorded code, in and out of traces, nested, over trees and variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError

X = np.array([1.0, 2.0, 3.0])


def test_ordinary_code_runs_with_its_numbers_at_hand() -> None:
    with lw.GradientTape(persistent=True) as tape:
        x = tape.watch(X)
        y = x**2
        total = 0.0
        for value in y:
            if value > 2:  # Python's own if, on numbers
                total = total + value * float(x[0])
        assert bool(total > 5) and int(total) == 13
        assert f"{total:.1f}" == "13.0" and y.tolist() == [1, 4, 9]
        z = np.concatenate([y, y]).reshape(2, 3)
    np.testing.assert_array_equal(tape.gradient(total, x), [0, 4, 6])
    np.testing.assert_array_equal(tape.gradient(z, x), 4 * X)
    np.testing.assert_array_equal(np.asarray(y), X**2)
    np.testing.assert_array_equal(y + 1, X**2 + 1)  # after the tape too
    assert repr(y).startswith("Tensor(array(")


def test_targets_sources_and_their_gradients() -> None:
    with lw.GradientTape(persistent=True) as tape:
        x, (a, b) = tape.watch(X), tape.watch((np.array(2.0), np.array(3.0)))
        y = x * a
        z = (y * x).sum()
    found = tape.gradient({"y": y, "z": z}, {"x": x, "a": a, "b": b})
    np.testing.assert_array_equal(found["x"], 2 + 4 * X)
    assert float(found["a"]) == X.sum() + (X * X).sum() and found["b"] is None
    zero = tape.gradient(z, b, unconnected_gradients="zero")
    assert zero.shape == () and zero == 0
    np.testing.assert_array_equal(tape.gradient(z, y), X)  # of what was computed on the way
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=X), 2 * X)
    assert tape.gradient(z, np.ones(3)) is None
    basis = lw.vmap(lambda v: tape.gradient(y, x, output_gradients=v))(np.eye(3))
    np.testing.assert_array_equal(basis, 2 * np.eye(3))


def test_a_tape_gives_one_gradient_unless_it_is_persistent() -> None:
    with lw.GradientTape() as tape:
        x = tape.watch(X)
        y = x.sum()
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_stopping_and_starting_again() -> None:
    with lw.GradientTape(persistent=True) as tape:
        x = tape.watch(X)
        y = x * x
        with tape.stop_recording():
            constant = y * 2
        z = (y * constant).sum()
        np.testing.assert_array_equal(tape.gradient(z, x), 4 * X**3)
        tape.reset()
        again = tape.watch(X)
        w = again.sum()
    assert tape.gradient(w, x) is None
    np.testing.assert_array_equal(tape.gradient(w, again), np.ones(3))


def test_tapes_nest() -> None:
    with lw.GradientTape() as outer:
        x = outer.watch(np.array(2.0))
        with lw.GradientTape() as inner:
            y = inner.watch(x)
            z = y**3
        slope = inner.gradient(z, y)
        assert float(slope) == 12
    assert float(outer.gradient(slope, x)) == 12


def test_tapes_in_maps_and_loops() -> None:
    def slopes(x: Any, scale: Any) -> Any:
        with lw.GradientTape() as tape:
            x = tape.watch(x)
            y = x
            while y < 100:
                y = y * scale
        return tape.gradient(y, x)

    found = lw.vmap(slopes, in_dims=(0, None))(np.array([1.0, 20.0, 200.0]), 3.0)
    np.testing.assert_array_equal(found, [243, 9, 1])
    found = lw.grad(lambda s: lw.vmap(slopes, in_dims=(0, None))(np.array([1.0]), s).sum())(3.0)
    assert float(found) == 5 * 81


def test_maps_branches_and_gradients_under_a_tape() -> None:
    with lw.GradientTape(persistent=True) as tape:
        x = tape.watch(X)
        y = lw.vmap(lambda v: np.sin(v) if v > 1.5 else v * 2)(x)
        z = lw.grad(lambda v: (v**3).sum())(x)
        w = lw.cond(x[0] > 0, np.square, np.negative, x)
    np.testing.assert_allclose(tape.gradient(y, x), [2, np.cos(2), np.cos(3)])
    np.testing.assert_array_equal(tape.gradient(z, x), 6 * X)
    np.testing.assert_array_equal(tape.gradient(w, x), 2 * X)


def test_variables_are_watched_by_themselves() -> None:
    v, fixed = lw.Variable(X), lw.Variable(2.0, trainable=False)
    with lw.GradientTape(persistent=True) as tape:
        y = (v * v * fixed).sum() + v[0] + np.dot(v, X)
    np.testing.assert_array_equal(tape.gradient(y, v), 4 * X + [1, 0, 0] + X)
    assert tape.gradient(y, fixed) is None
    with lw.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(fixed)
        y = (v * fixed).sum()
    assert tape.gradient(y, v) is None and float(tape.gradient(y, fixed)) == 6


def test_variables_that_are_assigned_on_the_way() -> None:
    v = lw.Variable(3.0)
    with lw.GradientTape() as tape:
        y = v * v
        v.assign(10.0)
        y = y + 5 * v
    assert float(tape.gradient(y, v)) == 6 + 5  # of each time that it was read


def test_writing_to_what_is_watched() -> None:
    with lw.GradientTape() as tape:
        x = tape.watch(X)
        y = x.copy()
        y[0] = y[1] * 2
        y[1:] *= y[:-1]
        total = y.sum()
    np.testing.assert_array_equal(tape.gradient(total, x), [0, 2 + 8 + 3, 2])
    np.testing.assert_array_equal(X, [1, 2, 3])


def test_bad_uses_are_refused() -> None:
    tape = lw.GradientTape()
    with pytest.raises(RuntimeError, match="recorded nothing"):
        tape.gradient(1.0, 1.0)
    with pytest.raises(ValueError, match="while the tape records"):
        tape.watch(X)
    with tape:
        with pytest.raises(TypeError, match="floats"):
            tape.watch(np.arange(3))
        with pytest.raises(ValueError, match="already"), tape:
            pass
        x = tape.watch(X)
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.gradient(x, x, unconnected_gradients="nil")
    with pytest.raises(ValueError, match="output gradient has shape"):
        tape.gradient(x, x, output_gradients=np.ones(2))


def test_writing_what_is_recorded_into_an_array_of_numpys_is_refused() -> None:
    with (
        pytest.raises(UnsupportedError, match="its gradient would be lost"),
        lw.GradientTape() as t,
    ):
        x = t.watch(X)
        out = np.zeros(4)
        out[:3] = x * x
    with (
        pytest.raises(UnsupportedError, match="its gradient would be lost"),
        lw.GradientTape() as t,
    ):
        x = t.watch(X)
        out = np.zeros(4)
        out[0] = x[0] * 2
    with lw.GradientTape() as tape:
        x = tape.watch(X)
        constant = np.zeros(3)
        constant[:] = np.asarray(x)
        constant[0] = float(x[0])
        like = np.zeros_like(x, shape=4)
        like[1:] = x * constant
        y = like.sum()
    constant[:] = x  # nothing is recorded now
    np.testing.assert_array_equal(tape.gradient(y, x), X)


def test_watching_what_an_outer_tape_records() -> None:
    with lw.GradientTape() as outer:
        x = outer.watch(X)
        with lw.GradientTape() as inner:
            before = (x * x).sum()
            inner.watch(x)
            y = (x**3).sum()
            z = (x * before).sum()
        with lw.GradientTape() as other:
            other.watch(x)
            w = (x**3).sum()
        g = inner.gradient([y, z], x)
        h = other.gradient(w, x)
    np.testing.assert_array_equal(g, 3 * X**2 + (X**2).sum())  # what came before is constant
    np.testing.assert_array_equal(outer.gradient(h, x), 6 * X)


def test_watching_an_argument() -> None:
    def f(x):
        with lw.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    np.testing.assert_array_equal(lw.vmap(f)(X), 2 * X)
    np.testing.assert_array_equal(lw.function(f)(X), 2 * X)


def test_the_array_itself_is_no_source() -> None:
    with lw.GradientTape() as tape:
        tape.watch(X)
        y = (X * X).sum()
    with pytest.raises(ValueError, match="give that: x = tape"):
        tape.gradient(y, X)
