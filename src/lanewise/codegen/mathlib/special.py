"""Special functions made of logarithms and exponentials: logistic ones, entropies, and I0.

The modified Bessel function I0 is up to 8 the power series in ``(x / 2)**2``, economized: its terms
are all positive. Beyond it is ``exp(x) / sqrt(x)`` times a polynomial in 1/x (M. Abramowitz and I.
Stegun, Handbook of Mathematical Functions, 9.7.1). The polynomials are minimax ones, by
`tests/support/minimax.py`. Single precision is computed in double precision.
"""

from __future__ import annotations

from lanewise.codegen.mathlib.arithmetic import horner, side_by_side, two_sum
from lanewise.codegen.mathlib.exponential import exp, exp_of_sum, log, log1p
from lanewise.codegen.vector import Vec, select

#: What `logit` raises tiny numbers by, so that their reciprocals are finite, and its logarithm.
_LIFT = {"f64": (2.0**100, 69.31471805599453), "f32": (2.0**50, 34.657359027997266)}
_SMALL = {"f64": 2.0**-1000, "f32": 2.0**-100}
# sqrt(x) exp(-x) I0(x) in powers of 16/x - 1, from 8 on: to 2**-53 of it. And I0(x) in powers of
# (x / 2)**2, up to 8: to 2**-59 of it.
_FAR, _NEAR = side_by_side(
    (0.4021765094450081, 1.0),
    (0.0033605519836678115, 1.0),
    (0.00013621607438284698, 0.2499999999999999),
    (1.1143033795180728e-05, 0.02777777777777832),
    (1.4838479784511317e-06, 0.0017361111111100886),
    (2.973597484446411e-07, 6.94444444454634e-05),
    (8.871513484194201e-08, 1.9290123450622606e-06),
    (3.932721453279052e-08, 3.936759913607595e-08),
    (2.1609923009614524e-08, 6.151186660685496e-10),
    (7.544953835516794e-09, 7.594071221920938e-12),
    (-7.061180843854532e-09, 7.593882581979985e-14),
    (-1.3365752091724037e-08, 6.277814979904354e-16),
    (-4.400552089438879e-09, 4.346259166957009e-18),
    (7.427940839438865e-09, 2.637500086862405e-20),
    (5.331724134185292e-09, 1.1317260603307227e-22),
    (-3.268055582403399e-09, 9.158473349225659e-25),
    (-3.0583720010153943e-09,),
    (1.2228039303044296e-09,),
    (1.0351390944176862e-09,),
    (-3.3810555212687395e-10,),
    (-1.6117280395756826e-10,),
    (4.8369752648468845e-11,),
)
#: 64 ln 2, and what its float leaves out.
_LN2_64 = (44.3614195558365, 1.4841899608616317e-15)


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


def i0(x: Vec) -> Vec:
    """Return the modified Bessel function of order 0, within 4 ULP (1 ULP in single precision).

    Of infinity it is NaN, as NumPy and SciPy have it.

    >>> import numpy as np
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(i0, (float,))(np.array([0.0, 1.0, -20.0]))
    array([1.00000000e+00, 1.26606588e+00, 4.35582826e+07])
    """
    size = x.to("f64").abs()
    large = size > 8.0
    quotient = select(large, 16.0, x.e.constant("f64", 2.0)) / select(large, size, size + 2.0)
    # What rounding the square loses, times the derivative, about 2 / (x + 2) of the value.
    quarter = 0.25 * size
    square = quarter * size
    near = horner(square, _NEAR)
    near = near.fma(quarter.fma(size, -square) * quotient, near)
    # exp(x) is infinite before I0 is: it is taken 2**64 times smaller. What rounding the root of x
    # loses, over 2 x, goes into the exponent.
    high, low = two_sum(size, x.e.constant("f64", -_LN2_64[0]))
    root = size.sqrt()
    lost = root.fma(-root, size) * quotient * 2.0**-5
    power = exp_of_sum(high, low - _LN2_64[1] - lost)
    far = power * horner(quotient - 1.0, _FAR) / root * 2.0**64
    return select(large, far, near).to(x.kind)
