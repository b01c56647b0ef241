"""The special functions in mpmath, at any argument that a float can be: what tests compare with."""

from __future__ import annotations

from typing import Any

import mpmath
import scipy.special
from mpmath import mpf

#: Bits that suffice for 30 digits more than a float64 has, where some of them cancel.
BITS = 200
#: More and less than any float; of either sign.
HUGE, NOTHING = mpf(2) ** 100_000, mpf(2) ** -100_000


def erfc(x: Any) -> Any:
    if abs(x) > 1000:
        return NOTHING if x > 0 else 2 - NOTHING
    return mpmath.erfc(x)


def ndtr(x: Any) -> Any:
    return erfc(-x / mpmath.sqrt(2)) / 2


def erfinv(x: Any) -> Any:
    """Newton's method from SciPy's value: each step doubles its digits."""
    if abs(x) > 1:
        return mpf("nan")
    if abs(x) == 1:
        return x * mpf("inf")
    slope = mpmath.sqrt(mpmath.pi) / 2
    if abs(x) < mpf(10) ** -60:
        return x * slope
    with mpmath.workprec(BITS):
        y = mpf(float(scipy.special.erfinv(float(x))))
        for _ in range(3):
            y -= (mpmath.erf(y) - x) * slope * mpmath.exp(y * y)
        return y


def erfcinv(y: Any) -> Any:
    """Newton's method on the logarithm, from SciPy's value."""
    if y <= 0 or y >= 2:
        return mpf("nan") if y < 0 or y > 2 else mpf("inf") if y == 0 else -mpf("inf")
    with mpmath.workprec(BITS):
        if y > mpf(1) / 2:
            return erfinv(1 - y)
        x = mpf(float(scipy.special.erfcinv(max(float(y), 1e-300))))
        for _ in range(40):
            c = mpmath.erfc(x)
            step = (mpmath.log(c) - mpmath.log(y)) * c
            step *= mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(x * x)
            x += step
            if abs(step) < mpf(10) ** -25:  # the next would be its square
                break
        return x


def ndtri(p: Any) -> Any:
    return -mpmath.sqrt(2) * erfcinv(2 * p)


def _pole(x: Any) -> bool:
    return bool(x <= 0 and x == mpmath.floor(x))


def gamma(x: Any) -> Any:
    if _pole(x):
        return mpf("nan") if x else mpf("inf")
    if x > 300:
        return HUGE
    if x < -300:
        return NOTHING if int(mpmath.floor(x)) % 2 == 0 else -NOTHING
    return mpmath.gamma(x)


def gammaln(x: Any) -> Any:
    if _pole(x):
        return mpf("inf")
    with mpmath.workprec(BITS):
        if x > 0:
            return mpmath.loggamma(x) if x < mpf(10) ** 20 else x * mpmath.log(x) - x
        if x > -(mpf(10) ** -20):
            return -mpmath.log(-x) - mpmath.euler * x
        return mpmath.log(mpmath.pi / abs(mpmath.sin(mpmath.pi * x) * x)) - gammaln(-x)


def digamma(x: Any) -> Any:
    if _pole(x):
        return mpf("nan") if x else -mpf("inf")
    with mpmath.workprec(BITS):
        if abs(x) < mpf(10) ** -20:
            return -1 / x - mpmath.euler
        if x < 0:
            return digamma(1 - x) - mpmath.pi / mpmath.tan(mpmath.pi * x)
        return mpmath.psi(0, x) if x < mpf(10) ** 20 else mpmath.log(x)


def expit(x: Any) -> Any:
    with mpmath.workprec(BITS):
        t = mpmath.exp(-min(abs(x), mpf(10) ** 6))
        return t / (1 + t) if x < 0 else 1 / (1 + t)


def log_expit(x: Any) -> Any:
    if x < -(mpf(10) ** 4):
        return x
    with mpmath.workprec(BITS):
        return -mpmath.log1p(mpmath.exp(-min(x, mpf(10) ** 6)))


def logit(x: Any) -> Any:
    if x < 0 or x > 1:
        return mpf("nan")
    if x in (0, 1):
        return mpf("inf") if x else -mpf("inf")
    with mpmath.workprec(BITS):
        return mpmath.log(x / (1 - x))


def entr(x: Any) -> Any:
    if x <= 0:
        return -mpf("inf") if x < 0 else mpf(0)
    return -x * mpmath.log(x)


def xlogy(x: Any, y: Any) -> Any:
    if x == 0:
        return mpf(0)
    if y <= 0:
        return mpf("nan") if y else -x * mpf("inf")
    return x * mpmath.log(y)


def xlog1py(x: Any, y: Any) -> Any:
    if x == 0:
        return mpf(0)
    if y <= -1:
        return mpf("nan") if y < -1 else -x * mpf("inf")
    return x * (mpmath.log1p(y) if abs(y) > mpf(10) ** -100 else y)


def rel_entr(x: Any, y: Any) -> Any:
    if x > 0 and y > 0:
        with mpmath.workprec(BITS):
            return x * mpmath.log(x / y)
    return mpf(0) if x == 0 and y >= 0 else mpf("inf")


def i0(x: Any) -> Any:
    return HUGE if abs(x) > 1000 else mpmath.besseli(0, x)


erf = mpmath.erf
