"""Special functions made of logarithms and exponentials: logistic ones, and entropies."""

from __future__ import annotations

from lanewise.codegen.mathlib.exponential import exp, log, log1p
from lanewise.codegen.vector import Vec, select

#: What `logit` raises tiny numbers by, so that their reciprocals are finite, and its logarithm.
_LIFT = {"f64": (2.0**100, 69.31471805599453), "f32": (2.0**50, 34.657359027997266)}
_SMALL = {"f64": 2.0**-1000, "f32": 2.0**-100}


def expit(x: Vec) -> Vec:
    """Return 1 / (1 + exp(-x)), within 3 ULP, however small it is.

    >>> import numpy as np
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(expit, (float,))(np.array([-750.0, 0.0, 1.0, np.inf]))
    array([0.        , 0.5       , 0.73105858, 1.        ])
    """
    t = exp(-x.abs())
    return select(x < 0.0, t, select(x.isnan(), x, 1.0)) / (t + 1.0)


def log_expit(x: Vec) -> Vec:
    """Return log(expit(x)), within 2 ULP."""
    t = log1p(exp(-x.abs()))
    return select(x < 0.0, x - t, -t)


def logit(x: Vec) -> Vec:
    """Return log(x / (1 - x)), within 2 ULP: also near its zero, at 1/2."""
    x = x + 0.0  # the logarithm of the odds of -0 is that of 0
    lower, tiny = x < 0.5, x.abs() < _SMALL[x.kind]
    lift, logarithm = _LIFT[x.kind]
    above = x - 0.5
    above = above + above
    below = select(lower, select(tiny, x * lift, x), 1.0 - x)
    value = log1p(select(lower, -above, above) / below)
    value = value + select(tiny, x.e.constant(x.kind, logarithm), 0.0)
    return select(lower, -value, value)


def xlogy(x: Vec, y: Vec) -> Vec:
    """Return x log(y), and 0 where x is 0 and y no NaN; within 2 ULP."""
    return select(x.eq(0.0) & y.eq(y), 0.0, x * log(y))


def xlog1py(x: Vec, y: Vec) -> Vec:
    """Return x log(1 + y), and 0 where x is 0 and y no NaN; within 2 ULP."""
    return select(x.eq(0.0) & y.eq(y), 0.0, x * log1p(y))


def entr(x: Vec) -> Vec:
    """Return -x log(x), 0 at 0, minus infinity of negative numbers; within 2 ULP."""
    edge = select(x < 0.0, -float("inf"), x.e.constant(x.kind, 0.0))
    return select(x <= 0.0, edge, -x * log(x))


def rel_entr(x: Vec, y: Vec) -> Vec:
    """Return x log(x / y), 0 where x is 0 and y is not negative, else infinity; within 3 ULP."""
    small, positive = _SMALL[x.kind], (x > 0.0) & (y > 0.0)
    lift = select(x < small, _LIFT[x.kind][0], x.e.constant(x.kind, 1.0))  # the loss may underflow
    above, below = x * lift, y * lift
    ratio = above / below
    # What rounding the quotient lost counts where it is about 1: its logarithm is small there.
    lost = ratio.fma(-below, above) / above
    usual = x * (log(ratio) + lost)
    extreme = ((ratio < small) | (ratio > 1.0 / small)) & positive

    def apart() -> Vec:
        return x.e.call("rel_entr.extreme", lambda x, y: x * (log(x) - log(y)), x, y)

    value = x.e.patched(usual, extreme, apart)
    value = select(positive, value, float("inf"))
    value = select(x.eq(0.0) & (y >= 0.0), 0.0, value)
    return select(x.isnan() | y.isnan(), float("nan"), value)
