"""Variables in traced functions: read at each call, assigned outside."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw


@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_variables_are_read_at_each_call(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    v, other = lw.Variable(3.0), lw.Variable(np.ones(2))
    plain = lw.function(lambda x: x * v + other)
    mapped = lw.function(lw.vmap(lambda x: x * v))
    x = np.arange(2.0)
    for value in (3.0, 5.0, -1.0, -1.0):
        v.assign(value)
        other[0] = value
        np.testing.assert_array_equal(plain(x), x * value + [value, 1])
        np.testing.assert_array_equal(mapped(x), x * value)
    assert plain.experimental_get_tracing_count() == 1
    assert set(plain.get_concrete_function(x).variables) == {v, other}
    with lw.GradientTape() as tape:
        y = plain(x).sum()
    assert float(tape.gradient(y, v)) == 1


def test_assigning_in_a_traced_function_is_refused() -> None:
    v = lw.Variable(0.0, name="count")

    def step(x):
        v.assign_add(x)
        return v * 2

    with pytest.raises(RuntimeError, match="count"):
        lw.function(step)(1.0)
    assert float(v) == 0
