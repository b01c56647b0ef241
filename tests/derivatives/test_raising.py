"""Derivatives of functions that raise in all of their branches."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw


def stopped(v):
    if v > 0:
        raise ValueError("positive")
    raise KeyError("not positive")


def through(v):
    return stopped(v) * v


CALLS = {
    "grad": lambda f, x: lw.grad(f)(x),
    "traced": lambda f, x: lw.function(lw.grad(f))(np.asarray(x)),
    "jvp": lambda f, x: lw.jvp(f, (x,), (1.0,)),
    "vjp": lambda f, x: lw.vjp(f, x),
    "jacfwd": lambda f, x: lw.jacfwd(f)(x),
    "hessian": lambda f, x: lw.hessian(f)(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_its_own_error_is_raised(call):
    with pytest.raises(ValueError, match=r"positive\n.*test_raising\.py"):
        call(through, 1.0)
    with pytest.raises(KeyError, match="not positive"):
        call(through, -1.0)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_only_where_it_is_reached(call):
    def guarded(v):
        return through(v) if v > 2 else v * v

    call(guarded, 1.0)
    with pytest.raises(ValueError, match="positive"):
        call(guarded, 3.0)


def test_for_one_example():
    with pytest.raises(ValueError, match="positive\n  in example 1"):
        lw.vmap(lw.grad(lambda v: through(v) if v > 2 else v * v))(np.array([1.0, 3.0]))
