"""Powers of Python's numbers that are data: an int to a negative power is a float."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

XS = np.array([2.0, 3.0, -4.0, 1.0])


def inverse(x):
    return int(x) ** -1


def inverse_square(x):
    return pow(int(x), -2) + int(x) ** 2


def of_a_float(x):
    return float(x) ** -1 + float(x) ** -2


def powers_of_two(x):
    s = 0
    for i in range(4):
        s += 2 ** (i + 1) + 2.0**-i
    return s * x


@pytest.mark.parametrize("program", [inverse, inverse_square, of_a_float, powers_of_two])
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_is_that_of_the_loop(program, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    want = np.stack([program(x) for x in XS])
    got = lw.vmap(program)(XS)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-15)
    assert repr(lw.function(program)(XS[0])) == repr(program(XS[0]))


@pytest.mark.parametrize("program", [inverse, of_a_float])
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_of_zero_raises(program, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    with pytest.raises(ZeroDivisionError) as wanted:
        program(0.0)
    with pytest.raises(ZeroDivisionError) as found:
        lw.vmap(program)(np.array([1.0, 0.0]))
    assert str(found.value).startswith(str(wanted.value))


@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_a_negative_power_that_is_data_is_refused(backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    power = lw.vmap(lambda x: 2 ** int(x))
    assert power(np.array([2.0, 0.0])).tolist() == [4, 1]
    with pytest.raises(OverflowError, match=r"write float\(n\) \*\* k"):
        power(np.array([2.0, -1.0]))
