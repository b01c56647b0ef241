"""Ufuncs that are not NumPy's: SciPy's, and objects like Numba's that are no ``np.ufunc``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from support.oracle import assert_maps_everywhere

RNG = np.random.default_rng(3)


class Foreign:
    """As ``numba.vectorize`` makes them: called like a ufunc, hands over to ``__array_ufunc__``."""

    nin, nout, signature, types = 2, 1, None, ()
    __name__ = "foreign"

    def __call__(self, *args):
        for arg in args:
            if type(arg).__module__.startswith("lanewise"):
                return arg.__array_ufunc__(self, "__call__", *args)
        return np.subtract(*args)


FOREIGN = Foreign()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("number", [2, 2.5])
def test_an_object_like_numbas(dtype, number):
    x = RNG.normal(size=(4, 3), scale=9).astype(dtype)
    assert_maps_everywhere(lambda v: FOREIGN(v, number), x)
    assert_maps_everywhere(lambda v: FOREIGN(number, v), x)
    assert_maps_everywhere(FOREIGN, x, np.arange(4, dtype="i2"))


@pytest.mark.parametrize("name", ["expit", "gammaln", "ndtr", "erf", "j0", "logit"])
def test_special_functions(name):
    assert_maps_everywhere(getattr(scipy.special, name), RNG.uniform(0.1, 0.9, size=(4, 3)))


def test_special_functions_of_two():
    x, y = RNG.uniform(0.1, 0.9, size=(2, 4, 3))
    assert_maps_everywhere(scipy.special.xlogy, x, y)
    assert_maps_everywhere(lambda a, b: scipy.special.betainc(2.0, a, b), x, y)


def test_python_objects_are_refused():
    upper = np.frompyfunc(lambda v: v + 1, 1, 1)
    with pytest.raises(lw.UnsupportedError, match="computes with Python objects"):
        lw.vmap(upper)(np.ones(3))
