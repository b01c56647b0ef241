"""Special functions by series and fractions, escape times, and fits that adapt as they go."""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize
import scipy.special

from programs.corpus.case import Case

RNG = np.random.default_rng(24)


def erf(x):
    if x < 0:
        return -erf_positive(-x)
    return erf_positive(x)


def erf_positive(x):
    if x > 6:
        return 1.0
    if x < 2:
        term = total = x
        n = 0
        while abs(term) > 1e-17 * abs(total):
            n += 1
            term *= -x * x / n
            total += term / (2 * n + 1)
        return 2 / math.sqrt(math.pi) * total
    fraction = 0.0
    for k in range(60, 0, -1):
        fraction = k / 2 / (x + fraction)
    return 1 - math.exp(-x * x) / math.sqrt(math.pi) / (x + fraction)


def bessel_j(order, x):
    term = 1.0
    for k in range(1, order + 1):
        term *= x / (2 * k)
    total, k = 0.0, 0
    while True:
        total += term
        k += 1
        term *= -x * x / (4 * k * (k + order))
        if abs(term) < 1e-17:
            return total


def incomplete_gamma(a, x):
    """P(a, x): a series for small x, Lentz's continued fraction for large."""
    if x < 0 or a <= 0:
        raise ValueError("incomplete_gamma needs a > 0 and x >= 0")
    if x == 0:
        return 0.0
    scale = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while True:
            n += 1
            term *= x / n
            total += term
            if abs(term) < abs(total) * 1e-15:
                return total * scale
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    h = d
    for i in range(1, 500):
        an = -i * (i - a)
        b += 2
        d = an * d + b
        if abs(d) < tiny:
            d = tiny
        c = b + an / c
        if abs(c) < tiny:
            c = tiny
        d = 1 / d
        step = d * c
        h *= step
        if abs(step - 1) < 1e-15:
            break
    return 1 - scale * h


def agm(a, b):
    count = 0
    while abs(a - b) > 1e-14 * abs(a):
        a, b = (a + b) / 2, math.sqrt(a * b)
        count += 1
    return a, count


def zeta_by_acceleration(s):
    """Alternating series, summed until a term no longer changes much; Euler's transformation."""
    if s == 1:
        return math.inf
    total = 0.0
    differences = np.array([(k + 1.0) ** -s for k in range(24)])
    weight = 0.5
    for _ in range(24):
        term = weight * differences[0]
        total += term
        if abs(term) < 1e-13:
            break
        differences = differences[:-1] - differences[1:]
        differences = np.append(differences, 0.0)
        weight /= 2
    return total / (1 - 2 ** (1 - s))


def lambert_w(x):
    if x < -1 / math.e:
        return math.nan
    w = x if x < 1 else math.log(x)
    if x < -0.3:
        w = -1 + math.sqrt(2 * max(math.e * x + 1, 0.0))
    for _ in range(60):
        e = math.exp(w)
        f = w * e - x
        if abs(f) < 1e-14 or w == -1:
            break
        w -= f / (e * (w + 1) - (w + 2) * f / (2 * w + 2))
    return w


def reduced_sine(x):
    """Bring the angle into an octant, then a series."""
    x = math.fmod(x, 2 * math.pi)
    sign = 1
    if x < 0:
        x, sign = -x, -sign
    if x > math.pi:
        x, sign = x - math.pi, -sign
    if x > math.pi / 2:
        x = math.pi - x
    if x > math.pi / 4:
        y = math.pi / 2 - x
        term, total, k = 1.0, 1.0, 0
    else:
        y = x
        term, total, k = x, x, 1
    while abs(term) > 1e-17:
        term *= -y * y / ((k + 1) * (k + 2))
        total += term
        k += 2
    return sign * total


def mandelbrot(c, limit):
    z = 0j
    for n in range(limit):
        if abs(z) > 2:
            return n
        z = z * z + c
    return limit


def julia_smooth(x, y):
    re, im, n = x, y, 0
    while re * re + im * im <= 16 and n < 60:
        re, im = re * re - im * im - 0.8, 2 * re * im + 0.156
        n += 1
    if n == 60:
        return 60.0
    return n + 1 - math.log2(math.log(re * re + im * im) / 2)


def newton_basin(z):
    """To which cube root of one Newton's method goes, and how fast."""
    roots = [1 + 0j, -0.5 + 0.8660254037844386j, -0.5 - 0.8660254037844386j]
    for step in range(60):
        if z == 0:
            return -1, step
        z = z - (z**3 - 1) / (3 * z**2)
        for k, root in enumerate(roots):
            if abs(z - root) < 1e-6:
                return k, step
    return -1, 60


def levenberg_marquardt(t, y, start):
    """Fit y = a exp(-b t); the damping falls with success and grows with failure."""
    p = start.copy()
    damping = 1e-2
    residual = y - p[0] * np.exp(-p[1] * t)
    cost = residual @ residual
    accepted = 0
    for _ in range(60):
        e = np.exp(-p[1] * t)
        jacobian = np.stack([e, -p[0] * t * e], axis=1)
        normal = jacobian.T @ jacobian
        g = jacobian.T @ residual
        if np.abs(g).max() < 1e-9:
            break
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), g)
        trial = p + step
        new_residual = y - trial[0] * np.exp(-trial[1] * t)
        new_cost = new_residual @ new_residual
        if new_cost < cost:
            p, residual, cost = trial, new_residual, new_cost
            damping = max(damping / 10, 1e-12)
            accepted += 1
        else:
            damping *= 10
            if damping > 1e12:
                break
    return p


def life_until_still(board):
    """Generations until nothing moves any more, or a period of two."""
    before = np.zeros_like(board)
    for generation in range(12):
        new = np.zeros_like(board)
        h, w = board.shape
        for i in range(h):
            for j in range(w):
                n = board[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].sum() - board[i, j]
                if n == 3 or (n == 2 and board[i, j]):
                    new[i, j] = 1
        if (new == board).all():
            return generation, 1, board.sum()
        if (new == before).all():
            return generation, 2, board.sum()
        before, board = board, new
    return 12, 0, board.sum()


def langtons_ant(steps, turn):
    grid = np.zeros((9, 9), dtype=bool)
    x = y = 4
    dx, dy = 0, turn
    for _ in range(steps):
        dx, dy = (-dy, dx) if grid[x, y] else (dy, -dx)
        grid[x, y] = not grid[x, y]
        x, y = (x + dx) % 9, (y + dy) % 9
    return grid, x, y


def adaptive_simpson(k, tolerance):
    """Integrate cos(k x**2) over [0, 1] with a stack of intervals."""

    def f(x):
        return math.cos(k * x * x)

    def simpson(a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    stack = np.zeros((30, 2))
    stack[0] = 0.0, 1.0
    top, total, pieces = 1, 0.0, 0
    while top > 0:
        top -= 1
        a, b = stack[top]
        middle = (a + b) / 2
        coarse = simpson(a, b)
        fine = simpson(a, middle) + simpson(middle, b)
        if abs(fine - coarse) < 15 * tolerance * (b - a) or b - a < 1e-3:
            total += fine + (fine - coarse) / 15
            pieces += 1
        else:
            stack[top] = a, middle
            stack[top + 1] = middle, b
            top += 2
    return total, pieces


def _fit(t, y, start):
    got = levenberg_marquardt(t, y, start)
    best = scipy.optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), t, y, p0=got)[0]
    np.testing.assert_allclose(got, best, rtol=1e-3)
    return got


def _mandelbrot(c, limit):
    orbit = [0j]
    with np.errstate(all="ignore"):
        for _ in range(int(limit)):
            orbit.append(orbit[-1] ** 2 + c)
            if abs(orbit[-1]) > 1e9:
                break
    escaped = [n for n, z in enumerate(orbit[: int(limit)]) if abs(z) > 2]
    return escaped[0] if escaped else limit


def _simpson(k, tolerance):
    xs = np.linspace(0, 1, 20001)
    exact = scipy.integrate.simpson(np.cos(k * xs**2), x=xs)
    got, pieces = adaptive_simpson(k, tolerance)
    assert abs(got - exact) < 10 * tolerance
    return got, pieces


BLINKER = np.zeros((5, 5), dtype=int)
BLINKER[2, 1:4] = 1
BLOCK = np.zeros((5, 5), dtype=int)
BLOCK[1:3, 1:3] = 1
BOARDS = np.concatenate([[BLINKER, BLOCK], RNG.integers(0, 2, (10, 5, 5))]).astype("i1")
TIMES = np.linspace(0, 3, 8)
AMPLITUDES, RATES = RNG.uniform(1, 3, (14, 1)), RNG.uniform(0.3, 2, (14, 1))
DECAYS = AMPLITUDES * np.exp(-RATES * TIMES) + RNG.normal(0, 0.02, (14, 8))

CASES = [
    Case(erf, [np.r_[0, RNG.uniform(-7, 7, 23)]], scipy.special.erf),
    Case(bessel_j, [RNG.integers(0, 6, 20), RNG.uniform(0, 8, 20)], scipy.special.jv),
    Case(
        incomplete_gamma,
        [RNG.uniform(0.2, 9, 20), np.r_[0, RNG.uniform(0, 20, 19)]],
        scipy.special.gammainc,
        bad=(1.0, -1.0),
        error=ValueError,
    ),
    Case(
        agm,
        [RNG.uniform(0.1, 9, 16), RNG.uniform(0.1, 9, 16)],
        lambda a, b: (
            math.pi / 4 * (a + b) / scipy.special.ellipk(((a - b) / (a + b)) ** 2),
            agm(a, b)[1],
        ),
    ),
    Case(
        zeta_by_acceleration,
        [np.r_[1, RNG.uniform(1.1, 6, 11)]],
        [((2.0,), math.pi**2 / 6), ((4.0,), math.pi**4 / 90), ((1.0,), math.inf)],
        1e-7,
    ),
    Case(
        lambert_w,
        [np.r_[-0.5, -0.36, RNG.uniform(-0.35, 30, 18)]],
        lambda x: scipy.special.lambertw(x).real if x >= -1 / math.e else math.nan,
    ),
    Case(reduced_sine, [RNG.uniform(-20, 20, 24)], np.sin),
    Case(
        mandelbrot,
        [RNG.uniform(-2, 0.6, 24) + 1j * RNG.uniform(-1.2, 1.2, 24), RNG.integers(5, 60, 24)],
        _mandelbrot,
    ),
    Case(
        julia_smooth,
        [RNG.uniform(-1.5, 1.5, 24), RNG.uniform(-1, 1, 24)],
        [
            ((10.0, 0.0), 1 - math.log2(math.log(100) / 2)),
            ((20.0, 0.0), 1 - math.log2(math.log(400) / 2)),
        ],
        1e-5,
    ),
    Case(
        newton_basin,
        [np.r_[0, RNG.normal(size=19) + 1j * RNG.normal(size=19)]],
        [((1 + 0j,), (0, 0)), ((0j,), (-1, 0)), ((-0.5 + 0.9j,), (1, 2)), ((-0.5 - 0.9j,), (2, 2))],
    ),
    Case(
        levenberg_marquardt,
        [
            np.tile(TIMES, (14, 1)),
            DECAYS,
            np.tile([1.0, 0.5], (14, 1)) * RNG.uniform(0.5, 2, (14, 1)),
        ],
        _fit,
        1e-6,
    ),
    Case(
        life_until_still,
        [BOARDS],
        [((BLINKER,), (1, 2, 3)), ((BLOCK,), (0, 1, 4)), ((0 * BLOCK,), (0, 1, 0))],
    ),
    Case(
        langtons_ant,
        [RNG.integers(0, 40, 12), np.where(np.arange(12) % 2, 1, -1)],
        [((0, 1), (np.zeros((9, 9)), 4, 4)), ((1, 1), (np.eye(81)[40].reshape(9, 9), 5, 4))],
    ),
    Case(adaptive_simpson, [RNG.uniform(0, 12, 14), 10.0 ** -RNG.integers(3, 8, 14)], _simpson),
]
