"""The gamma function, its logarithm, and the derivative of that.

**gamma** is the exponential of Stirling's series from 8 on, ``(y - 1/2) log(y) - y`` and a little
more, as a sum of two floats: the exponent reaches 709, and the exponential takes its
error for a relative one. A smaller argument is raised by 8: with ``u = x (x + 7)`` the product
``x (x + 1) ... (x + 7)`` is ``u (u + 6) (u + 10) (u + 12)``, again as a sum of two floats.

**gammaln** below 7.5 is ``log(gamma(2 + z))``, a polynomial that vanishes with z, plus or minus the
logarithm of the factors between; so it is good near its zeros at 1 and 2. **digamma** below 4 is
``(x - root) P(x)`` and a step or two of its recurrence; from 4 on it is an asymptotic series, with
five steps in one quotient below 8.

Negative arguments are reflected (M. Abramowitz and I. Stegun, Handbook of Mathematical Functions,
6.1.17 and 6.3.7) in code of its own. Poles are those of SciPy. The polynomials are minimax ones, by
`tests/support/minimax.py`. Single precision is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.codegen.mathlib.arithmetic import (
    fast_two_sum,
    horner,
    side_by_side,
    two_product,
    two_sum,
)
from lanewise.codegen.mathlib.exponential import Pair, exp_of_sum, log, log_pair
from lanewise.codegen.mathlib.trigonometric import sine_cosine
from lanewise.codegen.vector import Vec, select

# In powers of y**-2, (log(gamma(y)) - (y - 1/2) log(y) + y - log(2 pi) / 2) * y for y >= 7.5, and
# of its derivative (digamma(y) - log(y) + 1 / (2 y)) * y**2 for y >= 8.
_STIRLING, _DIGAMMA_TAIL = side_by_side(
    (0.08333333333333333, -0.08333333333332577),
    (-0.002777777777767008, 0.00833333332384979),
    (0.0007936507862320106, -0.003968249993392938),
    (-0.0005952358189051376, 0.004165896366209253),
    (0.0008413889134466228, -0.007499444368805224),
    (-0.0018862454627573588, 0.01726886781085604),
    (0.004984710325780828,),
)
# log(gamma(2 + z)) / z for z from -3/4 to 1/2: to 2**-55.7. And of its derivative
# digamma(3/2 + t) / (3/2 + t - root) for abs(t) <= 1/2: to 2**-53.
_LOG_GAMMA_2, _DIGAMMA = side_by_side(
    (0.42278433509846713, 0.9510558760318328),
    (0.3224670334241132, -0.42362742128145753),
    (-0.06735230105319906, 0.24054248424079455),
    (0.02058080842778978, -0.1484049230548258),
    (-0.007385551028498228, 0.09498872445287367),
    (0.0028905103305198014, -0.0619221331922351),
    (-0.001192753919666991, 0.04076083390522315),
    (0.0005096695253684556, -0.02697579999426109),
    (-0.00022315459415420352, 0.017907250210685118),
    (9.945761441827187e-05, -0.011908146976633694),
    (-4.4928053542173646e-05, 0.007926976211152034),
    (2.05051292824258e-05, -0.0052808993569982135),
    (-9.428254418946797e-06, 0.003518730108034983),
    (4.393367530124387e-06, -0.002337570995778002),
    (-2.075866688629367e-06, 0.001558142824277451),
    (8.69684415981619e-07, -0.001077631716459233),
    (-4.052503097111556e-07, 0.0007183007890075287),
    (4.121289595518646e-07, -0.00035485338665051355),
    (-4.657167091694935e-08, 0.0002365288831029321),
    (-1.3636605927267628e-07, -0.0003783283345022556),
    (-1.6703103952541093e-07, 0.0002523540511221302),
)
#: The positive root of digamma as a sum of two floats.
_ROOT = (1.4616321449683622, 9.549995429965697e-17)
#: log(2 pi) / 2, as a sum of two floats; then pi, and 128 ln 2.
_HALF_LOG_2PI = (0.9189385332046728, -3.8782941580672414e-17)
_PI = (3.141592653589793, 1.2246467991473532e-16)
_LN2_128 = (88.722839111673, 2.9683799217232634e-15)


def gamma(x: Vec) -> Vec:
    """Return the gamma function, within 4 ULP (1 ULP in single precision).

    >>> import numpy as np
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(gamma, (float,))(np.array([0.5, 5.0, 171.0, -0.5]))
    array([ 1.77245385e+000,  2.40000000e+001,  7.25741562e+306, -3.54490770e+000])
    """
    wide = x.to("f64")
    exponent, product = _gamma_parts(wide)
    # 1 / product, with what rounding it leaves; that means nothing where the product may underflow.
    inverse = 1.0 / product[0]
    lost = inverse.fma(-product[0], 1.0) - product[1] * inverse
    lost = select(wide > 2.0**-900, lost, 0.0)
    value = exp_of_sum(exponent[0], exponent[1] + lost) * inverse
    return _reflected("gamma", _gamma_of_negative, wide, value).to(x.kind)


def _reflected(
    name: str, function: Callable[[Vec], Vec], x: Vec, value: Vec, below: float = 0.0
) -> Vec:
    """Return a value, and what a function gives of numbers below some."""
    e, mask = x.e, x < below
    return e.patched(value, mask, lambda: e.call_each(f"{name}.negative", function, mask, x))


def _gamma_parts(x: Vec) -> tuple[Pair, Pair]:
    """Return h and Q with ``gamma(x) = exp(h) / Q``, for positive x; beyond 200 as for 200."""
    x = select(x > 200.0, 200.0, x)
    small = x < 8.0
    raised = x + 8.0
    y = select(small, raised, x)
    lost = select(small, x - (raised - 8.0), 0.0)
    return _stirling(y, lost), _rising(x, small)


def _stirling(y: Vec, lost: Vec) -> Pair:
    """Return ``log(gamma(y + lost))`` for y from 8 to 200."""
    high, low = log_pair(y)
    factor = y - 0.5
    first, second = two_product(factor, high)
    second = second + factor * low
    total, error = two_sum(first, -y)
    more, rest = two_sum(total, y.e.constant("f64", _HALF_LOG_2PI[0]))
    inverse = 1.0 / y
    tail = inverse * horner(inverse * inverse, _STIRLING)
    # The derivative, for what is lost of y, is nearly the logarithm.
    tail = tail + lost * (high - 0.5 * inverse)
    return fast_two_sum(more, tail + (rest + (error + second) + _HALF_LOG_2PI[1]))


def _rising(x: Vec, small: Vec) -> Pair:
    """Return ``x (x + 1) ... (x + 7)``, or 1 where `small` does not hold."""
    seven = x + 7.0
    u, u_low = two_product(x, seven)
    u_low = u_low + x * (x - (seven - 7.0))
    high, low = u, u_low
    for step in (6.0, 10.0, 12.0):
        factor, rest = two_sum(u, u.e.constant("f64", step))
        product, error = two_product(high, factor)
        high, low = product, error + (high * (rest + u_low) + low * factor)
    return select(small, high, 1.0), select(small, low, 0.0)


def _gamma_of_negative(x: Vec) -> Vec:
    """Return ``gamma(-a) = -pi / (a sin(pi a) gamma(a))`` for positive a."""
    a = -x
    (high, low), product = _gamma_parts(a)
    # The reciprocal may be subnormal where the result is not: it is taken 2**128 times as large.
    deep = a > 150.0
    high, error = two_sum(-high, select(deep, _LN2_128[0], 0.0 * a))
    lost = select(a > 2.0**-900, product[1] / product[0], 0.0)
    value = exp_of_sum(high, error - low + lost + select(deep, _LN2_128[1], 0.0 * a))
    sine, _, whole = _sine_cosine_pi(a)
    value = (product[0] / -a) * value * (_PI[0] / sine)
    value = select(deep, value * 2.0**-128, value)
    return select(whole, float("nan"), value)


def _sine_cosine_pi(a: Vec) -> tuple[Vec, Vec, Vec]:
    """Return sine and cosine of ``pi a``, a >= 0, and where a is an integer; NaN of infinity."""
    nearest = a.rint()
    rest = a - nearest
    size = rest.abs()
    steep = size > 0.25
    t = select(steep, 0.5 - size, size)
    high, low = two_product(t, t.e.constant("f64", _PI[0]))
    s, c = sine_cosine(high, low + t * _PI[1], "f64")
    sine, cosine = select(steep, c, s).copysign(rest), select(steep, s, c)
    odd = (0.5 * nearest).floor().ne(0.5 * nearest)
    return select(odd, -sine, sine), select(odd, -cosine, cosine), rest.eq(0.0)


def gammaln(x: Vec) -> Vec:
    """Return log(abs(gamma(x))), within 4 ULP (1 ULP in single precision) for x > -1/2.

    For smaller x the error is that near the zeros of gammaln too, but of results as large as 1: it
    is within 6 ULP of ``max(1, abs(gammaln(x)))``.
    """
    wide = x.to("f64")
    value = _reflected("gammaln", _gammaln_of_negative, wide, _gammaln(wide), -0.5)
    return value.to(x.kind)


def _gammaln(x: Vec) -> Vec:
    """Return gammaln for x >= -1/2."""
    large = x >= 7.5
    nearest = select((x >= 1.25) & (x < 2.0), 2.0, x.rint())  # where the two terms would cancel
    z = x - nearest
    # gamma(x) is gamma(2 + z) / (x (x + 1)), / x, and then times (x - 1), (x - 1) (x - 2), ...
    product = select(nearest < 3.0, 1.0, x - 1.0)
    product = select(nearest < 2.0, x, product)
    product = select(nearest < 1.0, (x * (x + 1.0)).abs(), product)
    for step in range(2, 6):
        product = select(nearest < step + 2.0, product, product * (x - float(step)))
    logarithm = log(select(large, x, product))
    near = z.fma(horner(z, _LOG_GAMMA_2), select(nearest < 2.0, -logarithm, logarithm))
    inverse = 1.0 / x
    tail = inverse.fma(horner(inverse * inverse, _STIRLING), _HALF_LOG_2PI[0] - 0.5)
    far = (x - 0.5).fma(logarithm - 1.0, tail)
    return select(large, far, select(x.isnan(), x, near))


def _gammaln_of_negative(x: Vec) -> Vec:
    """Return the logarithm of the gamma function, or where it may underflow that of its factors."""
    a = -x
    value = log(x.e.call("gamma.negative", _gamma_of_negative, x).abs())
    sine, _, whole = _sine_cosine_pi(a)
    far = log(_PI[0] / (a * sine.abs())) - _gammaln(a)
    value = select(whole, float("inf"), select(a < 150.0, value, far))
    return select(a < float("inf"), value, x)


def digamma(x: Vec) -> Vec:
    """Return the derivative of gammaln, within 4 ULP (1 ULP in single precision) for x > 0.

    For negative x it is within 12 ULP of ``max(1, abs(digamma(x)))``: near its zeros there the
    error is that of results as large as 1.
    """
    wide = x.to("f64")
    return _reflected("digamma", _digamma_of_negative, wide, _digamma(wide)).to(x.kind)


def _digamma(x: Vec) -> Vec:
    """Return digamma for x >= 0."""
    near, small, tiny = x < 4.0, x < 8.0, x < 1.0
    two, three = x >= 2.0, x >= 3.0
    # Steps of the recurrence: -1/x; none; 1/(x - 1); 1/(x - 1) + 1/(x - 2).
    one, second = x - 1.0, x - 2.0
    above = select(tiny, -1.0, select(three, one + second, select(two, 1.0, 0.0 * x)))
    below = select(tiny, x, select(three, one * second, select(two, one, 1.0)))
    # From 4 to 8 minus five of them, with s = x + 2.
    s = x + 2.0
    w = s * s
    above = select(near, above, w.fma(w.fma(-5.0, 15.0), -4.0))
    below = select(near, below, s * (w - 4.0) * (w - 1.0))
    steps = above / below
    y = select(tiny, x + 1.0, select(three, second, select(two, one, x)))
    around = ((y - _ROOT[0]) - _ROOT[1]) * horner(y - 1.5, _DIGAMMA) + steps
    raised = select(small, x + 5.0, x)
    inverse = 1.0 / raised
    z = inverse * inverse
    far = log(raised) + inverse.fma(-0.5, z * horner(z, _DIGAMMA_TAIL))
    return select(near, around, select(small, far + steps, far))


def _digamma_of_negative(x: Vec) -> Vec:
    """Return ``digamma(-a) = digamma(1 + a) + pi / tan(pi a)`` for positive a."""
    a = -x
    sine, cosine, whole = _sine_cosine_pi(a)
    value = _digamma(1.0 + a) + _PI[0] * cosine / sine
    return select(whole, float("nan"), value)
