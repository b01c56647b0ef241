"""Roots and minima: iterations that stop when they are near enough."""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy.optimize
import scipy.special

from programs.corpus.case import Case

RNG = np.random.default_rng(13)


def newton_sqrt(x):
    if x < 0:
        return math.nan
    if x == 0:
        return 0.0
    guess = x if x > 1 else 1.0
    while True:
        better = 0.5 * (guess + x / guess)
        if abs(better - guess) <= 1e-12 * better:
            return better
        guess = better


def safe_newton(a, b, c):
    """The root of x**3 + a x**2 + b x - c in [0, 10]: Newton, or bisection where it leaves."""

    def f(x):
        return ((x + a) * x + b) * x - c

    def slope(x):
        return (3 * x + 2 * a) * x + b

    low, high = 0.0, 10.0
    x = 5.0
    for iteration in range(100):  # noqa: B007
        value = f(x)
        if abs(value) < 1e-10:
            break
        if value > 0:
            high = x
        else:
            low = x
        d = slope(x)
        step = x - value / d if d != 0 else low - 1
        x = step if low < step < high else (low + high) / 2
    else:
        return math.nan, 100
    return x, iteration


def bisect(f, low, high, tolerance=1e-10):
    f_low = f(low)
    if f_low * f(high) > 0:
        raise ValueError("f(low) and f(high) must have opposite signs")
    while high - low > tolerance:
        middle = (low + high) / 2
        f_middle = f(middle)
        if f_middle == 0:
            return middle
        if f_low * f_middle < 0:
            high = middle
        else:
            low, f_low = middle, f_middle
    return (low + high) / 2


def kepler_by_bisection(mean, eccentricity):
    return bisect(lambda e: e - eccentricity * np.sin(e) - mean, 0.0, 2 * np.pi)


def bracketed_cube_root(x, high):
    return bisect(lambda r: r**3 - x, 0.0, high)


def secant(a, x0, x1):
    def f(x, a):
        return np.exp(-x) - a * x

    g = functools.partial(f, a=a)
    f0, f1 = g(x0), g(x1)
    for _ in range(50):
        if f1 == f0:
            break
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        x0, f0, x1, f1 = x1, f1, x2, g(x2)
        if abs(x1 - x0) < 1e-11:
            break
    return x1


def brent(k, target):
    """Where x * exp(k x) gets to the target, after Brent (1973)."""

    def f(x):
        return x * np.exp(k * x) - target

    a, b = 0.0, 4.0
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        return np.nan
    if abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc, d = a, fa, a
    bisected = True
    while fb != 0 and abs(b - a) > 1e-12:
        if fa not in (fc,) and fb != fc:
            s = a * fb * fc / ((fa - fb) * (fa - fc))
            s += b * fa * fc / ((fb - fa) * (fb - fc))
            s += c * fa * fb / ((fc - fa) * (fc - fb))
        else:
            s = b - fb * (b - a) / (fb - fa)
        near = min((3 * a + b) / 4, b)
        far = max((3 * a + b) / 4, b)
        if (
            not near < s < far
            or (bisected and abs(s - b) >= abs(b - c) / 2)
            or (not bisected and abs(s - b) >= abs(c - d) / 2)
            or (bisected and abs(b - c) < 1e-12)
        ):
            s = (a + b) / 2
            bisected = True
        else:
            bisected = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b, fa, fb = b, a, fb, fa
    return b


def golden_section(center, power, tolerance):
    ratio = (math.sqrt(5) - 1) / 2
    a, b = -3.0, 3.0

    def f(x):
        return abs(x - center) ** power + 0.1 * x

    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = f(c), f(d)
    evaluations = 2
    while b - a > tolerance:
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = f(c)
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = f(d)
        evaluations += 1
    return (a + b) / 2, evaluations


def implied_volatility(price, spot, strike, years, rate):
    def cdf(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    discounted = strike * math.exp(-rate * years)
    if price <= max(spot - discounted, 0.0) or price >= spot:
        return float("nan")
    low, high = 1e-6, 5.0
    vol = 0.3
    for _ in range(100):
        root = vol * math.sqrt(years)
        d1 = math.log(spot / discounted) / root + root / 2
        value = spot * cdf(d1) - discounted * cdf(d1 - root)
        error = value - price
        if abs(error) < 1e-10:
            break
        if error > 0:
            high = vol
        else:
            low = vol
        vega = spot * math.sqrt(years) * math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
        if vega > 1e-8:
            vol -= error / vega
        if vega <= 1e-8 or not low < vol < high:
            vol = 0.5 * (low + high)
    return vol


def internal_rate_of_return(flows):
    if (flows >= 0).all() or (flows <= 0).all():
        raise ValueError("the cash flows never change sign")
    rate = 0.1
    for _ in range(200):
        value = slope = 0.0
        for t, flow in enumerate(flows):
            discount = (1 + rate) ** -t
            value += flow * discount
            slope -= t * flow * discount / (1 + rate)
        if abs(value) < 1e-11:
            return rate
        step = value / slope
        while rate - step <= -0.99:
            step /= 2
        rate -= step
    return rate


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2


def gradient(p):
    bend = p[1] - p[0] ** 2
    return np.array([-2 * (1 - p[0]) - 40 * p[0] * bend, 20 * bend])


def descend_with_line_search(start, steps):
    p = start.copy()
    for _ in range(steps):
        g = gradient(p)
        if np.linalg.norm(g) < 1e-3:
            break
        size = 1.0
        while rosenbrock(p - size * g) > rosenbrock(p) - 0.5 * size * (g @ g):
            size *= 0.5
        p -= size * g
    return rosenbrock(p)


def early_stopping(x, y, patience):
    """Fit a line by gradient descent; stop when held-out points have not improved for a while."""
    w = b = 0.0
    best, best_w, waited = np.inf, w, 0
    for epoch in range(60):  # noqa: B007
        r = w * x[:6] + b - y[:6]
        w -= 0.2 * (r * x[:6]).mean()
        b -= 0.2 * r.mean()
        loss = np.mean((w * x[6:] + b - y[6:]) ** 2)
        if loss < best - 1e-6:
            best, best_w, waited = loss, w, 0
        else:
            waited += 1
            if waited >= patience:
                break
    return best_w, epoch


def illinois(target):
    low, high = 0.0, 3.0
    f_low, f_high = -target, 27.0 - target
    side = 0
    count = 0
    while abs(high - low) > 1e-12 * abs(high + low):
        x = (f_low * high - f_high * low) / (f_low - f_high)
        fx = x**3 - target
        count += 1
        if fx * f_high > 0:
            high, f_high = x, fx
            if side == -1:
                f_low /= 2
            side = -1
        elif fx * f_low > 0:
            low, f_low = x, fx
            if side == +1:
                f_high /= 2
            side = +1
        else:
            break
        if count > 100:
            break
    return x


def nelder_mead_1d(center):
    """Walk downhill by doubling and halving a step, as a simplex of two points does."""
    x, step = 0.0, 0.5
    while abs(step) > 1e-9:
        if (x + step - center) ** 2 < (x - center) ** 2:
            x += step
            step *= 2
        elif (x - step - center) ** 2 < (x - center) ** 2:
            step = -step
        else:
            step /= 4
    return x


def _volatility(price, spot, strike, years, rate):
    discounted = strike * math.exp(-rate * years)
    if not max(spot - discounted, 0.0) < price < spot:
        return math.nan

    def f(vol):
        d1 = np.log(spot / discounted) / (vol * years**0.5) + vol * years**0.5 / 2
        d2 = d1 - vol * years**0.5
        return spot * scipy.special.ndtr(d1) - discounted * scipy.special.ndtr(d2) - price

    return scipy.optimize.brentq(f, 1e-6, 5.0)


def _kepler(mean, eccentricity):
    return scipy.optimize.brentq(lambda e: e - eccentricity * math.sin(e) - mean, 0, 2 * math.pi)


def _lambert(k, target):
    if target > 4 * math.exp(4 * k):
        return math.nan
    return scipy.special.lambertw(k * target).real / k


def _early_stopping(x, y, patience):
    weights, losses = [0.0], [np.inf]
    p = np.zeros(2)
    design = np.stack([x, np.ones(9)], axis=1)
    for _ in range(60):
        residual = design @ p - y
        p = p - 0.2 * design[:6].T @ residual[:6] / 6
        weights.append(p[0])
        losses.append(np.mean((design @ p - y)[6:] ** 2))
    best = 0
    for epoch in range(1, 61):
        if losses[epoch] < losses[best] - 1e-6:
            best = epoch
        elif epoch - best >= patience:
            break
    return weights[best], epoch - 1


def _cubic(a, b, c):
    roots = np.roots([1, a, b, -c])
    x = min(r.real for r in roots if abs(r.imag) < 1e-9 and 0 <= r.real <= 10)
    return x, safe_newton(a, b, c)[1]


SPOT = RNG.uniform(80, 120, 24)
FLOWS = np.concatenate([-RNG.uniform(50, 200, (16, 1)), RNG.uniform(5, 60, (16, 6))], axis=1)

CASES = [
    Case(
        newton_sqrt,
        [np.r_[RNG.uniform(0, 100, 12), 0, 1, -1, 1e-8]],
        lambda x: x**0.5 if x >= 0 else np.nan,
    ),
    Case(newton_sqrt, [RNG.uniform(1, 100, 12).astype("f4")], np.sqrt, 1e-5),
    Case(safe_newton, [*RNG.uniform(0, 5, (2, 20)), RNG.uniform(0, 60, 20)], _cubic),
    Case(kepler_by_bisection, [RNG.uniform(0, 6, 15), RNG.uniform(0, 0.9, 15)], _kepler),
    Case(
        bracketed_cube_root,
        [RNG.uniform(0, 9, 15), RNG.uniform(3, 8, 15)],
        lambda x, high: np.cbrt(x),
        bad=(9.0, 2.0),
        error=ValueError,
    ),
    Case(
        secant,
        [RNG.uniform(0.1, 9, 16), RNG.uniform(-2, 0.3, 16), RNG.uniform(0.5, 4, 16)],
        lambda a, x0, x1: scipy.special.lambertw(1 / a).real,
    ),
    Case(brent, [RNG.uniform(0.1, 0.8, 18), RNG.uniform(0.1, 30, 18)], _lambert),
    Case(
        golden_section,
        [RNG.uniform(-2, 2, 12), np.full(12, 2.0), 10.0 ** -RNG.integers(2, 6, 12)],
        [((1.0, 2.0, 1e-10), (0.95, 54))],
        1e-6,
    ),
    Case(
        implied_volatility,
        [
            RNG.uniform(0, 40, 24),
            SPOT,
            RNG.uniform(80, 120, 24),
            RNG.uniform(0.1, 2, 24),
            RNG.uniform(0, 0.05, 24),
        ],
        _volatility,
    ),
    Case(
        internal_rate_of_return,
        [FLOWS],
        lambda f: scipy.optimize.brentq(lambda r: np.polyval(f[::-1], 1 / (1 + r)), -0.9, 5),
        bad=(np.arange(1.0, 8.0),),
        error=ValueError,
    ),
    Case(
        descend_with_line_search,
        [RNG.uniform(-1, 2, (12, 2)), RNG.integers(0, 40, 12)],
        [((np.array([1.0, 1.0]), 30), 0.0), ((np.array([1.0, 2.0]), 0), 10.0)],
    ),
    Case(
        early_stopping,
        [RNG.normal(size=(14, 9)), RNG.normal(size=(14, 9)), RNG.integers(1, 6, 14)],
        _early_stopping,
    ),
    Case(illinois, [RNG.uniform(0.01, 26, 20)], np.cbrt),
    Case(nelder_mead_1d, [RNG.uniform(-9, 9, 20)], lambda c: c),
]
