"""Failures in kernels: the right example and line, without interpreting the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.runtime import diagnose, dispatch


@pytest.fixture
def looked_at(monkeypatch) -> list[int]:
    """How many examples were interpreted in each search for the one that failed."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    counts: list[int] = []
    locate = diagnose._locate_in_map

    def located(op, operands, sizes, among=None):
        if str(op.params["size"]) == "batch":
            counts.append(among.stop - among.start if among else sizes["batch"])
        return locate(op, operands, sizes, among)

    monkeypatch.setattr(diagnose, "_locate_in_map", located)
    return counts


def message(call) -> tuple[type, str]:
    with pytest.raises(Exception) as info:
        call()
    assert not isinstance(info.value.__context__, dispatch.KernelFailed)
    return info.type, str(info.value) + "".join(getattr(info.value, "__notes__", ()))


def checked(x):
    if x > 1:
        raise ValueError(f"too large: {x}")
    return x * 2


def looping(x):
    s = 0.0
    while s < x:
        s += 0.3
        if s > 50:
            raise OverflowError(f"at {s:.1f}")
    return s


def indexing(x):
    table = np.arange(10.0)
    return table[int(x * 10)]


@pytest.mark.parametrize("func", [checked, looping, indexing])
@pytest.mark.parametrize("place", [0, 1, 7, 8, 63, 64, 8191, 49_999])
def test_the_first_failing_example_is_named(func, place, looked_at, monkeypatch):
    x = np.linspace(0, 0.9, 50_000)
    x[place] = 60
    x[place + 1 :: 1000] = 70  # later ones are not the first
    found = message(lambda: lw.vmap(func)(x))
    assert f"in example {place}" in found[1]
    assert looked_at and max(looked_at) == 1
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    assert found == message(lambda: lw.vmap(func)(x))


@pytest.mark.parametrize("axis", [0, 1])
def test_nested_maps(axis, looked_at, monkeypatch):
    x = np.zeros((3, 3000) if axis else (3000, 3))
    (x if axis else x.T)[1, 2345] = 2

    def call():
        return lw.vmap(lw.vmap(checked), in_dims=axis)(x)

    found = message(call)
    assert "in example 2345, 1" in found[1]
    assert max(looked_at) == 1
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    assert found == message(call)


def test_unmapped_arguments(looked_at):
    x = np.zeros(9000)
    x[8000] = 2

    def func(x, limit, y):
        if x > limit:
            raise ValueError("too large")
        return x + y

    found = message(lambda: lw.vmap(func, in_dims=(0, None, 0))(x, 1.0, x))
    assert "in example 8000" in found[1]
    assert max(looked_at) == 1


def stages(x, matrix):
    first = checked(x)
    # What NumPy computes lies between two kernels.
    eigenvalues = np.linalg.eigvals(matrix)
    if eigenvalues[0].real > 5:
        raise OverflowError("a large eigenvalue")
    return first + eigenvalues[0].real


def test_of_several_kernels_the_last_knows_which_example_fails(looked_at, monkeypatch):
    def func(x, matrix):
        first = np.linalg.eigvals(matrix * (x + 1))[0].real
        return checked(first - 1), np.ones(3)

    matrices = np.broadcast_to(np.eye(2), (3000, 2, 2)).copy()
    matrices[[1000, 2000]] *= 6
    x = np.zeros(3000)
    found = message(lambda: lw.vmap(func)(x, matrices))
    assert "in example 1000" in found[1]
    assert max(looked_at) == 1
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    assert found == message(lambda: lw.vmap(func)(x, matrices))


def test_a_later_kernel_may_fail_at_an_earlier_example(looked_at, monkeypatch):
    x = np.zeros(3000)
    x[200] = 2
    matrices = np.broadcast_to(np.eye(2), (3000, 2, 2)).copy()
    matrices[100] *= 6
    found = message(lambda: lw.vmap(stages)(x, matrices))
    assert found[0] is OverflowError
    assert "in example 100" in found[1]
    assert max(looked_at) == 201  # one that fails is known
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    assert found == message(lambda: lw.vmap(stages)(x, matrices))


def test_errors_of_floating_point_are_raised(monkeypatch):
    """`np.errstate` that raises or calls is the interpreter's: kernels do not tell."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    x = np.array([1.0, 0.0, 2.0])
    reciprocal = lw.vmap(lambda x: 1 / x)
    with np.errstate(all="ignore"):
        assert reciprocal(x).tolist() == [1, np.inf, 0.5]
    for kind in ("all", "divide"):
        with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError, match="divide"):
            reciprocal(x)
    called = []
    with np.errstate(divide="call", call=lambda *what: called.append(what)):
        assert reciprocal(x).tolist() == [1, np.inf, 0.5]
    assert called
    with np.errstate(all="raise"):
        assert reciprocal(x[::2]).tolist() == [1, 0.5]
    before = np.seterr(divide="raise")
    try:
        with pytest.raises(FloatingPointError):
            reciprocal(x)
    finally:
        np.seterr(**before)
    np.testing.assert_array_equal(reciprocal(x[::2]), [1, 0.5])


def test_maps_with_effects_are_interpreted(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    seen = []

    def func(x):
        lw.py_func(lambda v: seen.append(float(v)), [x], [])
        if x > 1.5:
            raise ValueError("too large")
        return x * 2

    with dispatch.observing() as programs, pytest.raises(ValueError, match="in example 1"):
        lw.vmap(func)(np.array([1.0, 2.0, 3.0]))
    assert seen == [1, 2]  # once each, in order, and none after the one that fails
    assert programs[0].choice.backend == "interpret"
    assert programs[0].executable.native is None
