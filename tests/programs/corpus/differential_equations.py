"""Ordinary differential equations: adaptive steps, events, implicit steps."""

from __future__ import annotations

import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from programs.corpus.case import Case

RNG = np.random.default_rng(14)


def runge_kutta_45(y0, rate, end):
    """Dormand-Prince steps, rejected where the embedded error is too large."""

    def f(t, y):
        return np.array([y[1], -rate * y[0] - 0.1 * y[1] * abs(y[1])])

    t, y, h = 0.0, y0, 0.1
    accepted = rejected = 0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = f(t, y)
        k2 = f(t + h / 5, y + h * k1 / 5)
        k3 = f(t + 3 * h / 10, y + h * (3 * k1 + 9 * k2) / 40)
        k4 = f(t + 4 * h / 5, y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
        k5 = f(
            t + 8 * h / 9,
            y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4),
        )
        k6 = f(
            t + h,
            y + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4
                     - 5103 / 18656 * k5),
        )  # fmt: skip
        new = y + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5
                       + 11 / 84 * k6)  # fmt: skip
        k7 = f(t + h, new)
        error = h * (71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5
                     + 22 / 525 * k6 - k7 / 40)  # fmt: skip
        scale = 1e-8 + 1e-6 * np.maximum(np.abs(y), np.abs(new))
        norm = math.sqrt(np.mean((error / scale) ** 2))
        if norm <= 1.0:
            t += h
            y = new
            accepted += 1
        else:
            rejected += 1
        factor = 5.0 if norm == 0 else 0.9 * norm**-0.2
        h *= min(5.0, max(0.2, factor))
    return y, accepted, rejected


def bouncing_ball(height, speed, restitution):
    """Bounces and time until the ball is hardly moving, each impact found by interpolation."""
    h = 1 / 32
    x, v, t = height, speed, 0.0
    bounces = 0
    while bounces < 20 and t < 8:
        new_x = x + h * v - 0.5 * 9.81 * h * h
        new_v = v - 9.81 * h
        if new_x < 0:
            fraction = x / (x - new_x)
            t += fraction * h
            v = -restitution * (v - 9.81 * fraction * h)
            x = 0.0
            bounces += 1
            if v < 0.5:
                return t, bounces
            continue
        x, v = new_x, new_v
        t += h
    return t, bounces


def implicit_euler(stiffness, y0, steps):
    """y' = -k (y**3 - cos t), each step solved by Newton's method."""
    h = 0.1
    y, t = y0, 0.0
    total = 0
    for _ in range(steps):
        t += h
        guess = y
        for _ in range(25):
            residual = guess - y + h * stiffness * (guess**3 - math.cos(t))
            if abs(residual) < 1e-10 * (1 + stiffness):
                break
            guess -= residual / (1 + 3 * h * stiffness * guess * guess)
            total += 1
        else:
            raise RuntimeError(f"Newton did not converge at t = {t}")
        y = guess
    return y, total


def extinction_time(prey, predators, growth):
    dt = 0.02
    for step in range(300):
        eaten = 0.8 * prey * predators
        prey, predators = (
            prey + dt * (growth * prey - eaten),
            predators + dt * (0.5 * eaten - 1.1 * predators),
        )
        if predators < 0.05:
            return step * dt, 1
        if prey < 0.05:
            return step * dt, 2
    return -1.0, 0


def pendulum_period(angle):
    """Time of a full swing: two crossings of zero, of a symplectic integration."""
    dt = 0.01
    theta, omega = angle, 0.0
    crossings, t = 0, 0.0
    first = None
    while crossings < 2:
        omega -= dt * np.sin(theta)
        before = theta
        theta += dt * omega
        t += dt
        if before * theta < 0:
            crossings += 1
            exact = t - dt * theta / (theta - before)
            if first is None:
                first = exact
    return 2 * (exact - first)


def projectile_with_drag(speed, elevation, drag):
    x, y = 0.0, 0.0
    vx, vy = speed * math.cos(elevation), speed * math.sin(elevation)
    dt, top = 0.05, 0.0
    while True:
        v = math.hypot(vx, vy)
        vx -= dt * drag * v * vx
        vy -= dt * (9.81 + drag * v * vy)
        x += dt * vx
        y += dt * vy
        top = max(top, y)
        if y <= 0:
            break
    return x, top


def _oscillator(y0, rate, end):
    def f(t, y):
        return [y[1], -rate * y[0] - 0.1 * y[1] * abs(y[1])]

    y = scipy.integrate.solve_ivp(f, (0, end), y0, rtol=1e-10, atol=1e-12).y[:, -1]
    got, accepted, rejected = runge_kutta_45(y0, rate, end)
    assert np.allclose(got, y, rtol=1e-3, atol=1e-4)
    return got, accepted, rejected


def _bounces(height, speed, restitution):
    impact = math.sqrt(speed**2 + 2 * 9.81 * height)
    t = (speed + impact) / 9.81
    count, v = 1, restitution * impact
    while v >= 0.5:
        t += 2 * v / 9.81
        count, v = count + 1, v * restitution
    got = bouncing_ball(height, speed, restitution)
    assert got[1] == 20 or (abs(got[0] - t) < 0.05 * t and abs(got[1] - count) <= 1)
    return got


def _implicit(stiffness, y, steps):
    _, total = implicit_euler(stiffness, y, steps)
    for k in range(1, int(steps) + 1):
        now, before = math.cos(0.1 * k), y
        y = scipy.optimize.brentq(
            lambda g, now=now, before=before: g - before + 0.1 * stiffness * (g**3 - now),
            -9,
            9,
            xtol=1e-14,
        )
    return y, total


def _projectile(speed, elevation, drag):
    def f(t, s):
        v = math.hypot(s[2], s[3])
        return [s[2], s[3], -drag * v * s[2], -9.81 - drag * v * s[3]]

    start = [0, 0, speed * math.cos(elevation), speed * math.sin(elevation)]
    found = scipy.integrate.solve_ivp(f, (0, 9), start, max_step=0.01)
    landed = np.argmax(found.y[1, 1:] <= 0) + 1
    got = projectile_with_drag(speed, elevation, drag)
    assert abs(got[0] - found.y[0, landed]) < 0.06 * speed
    assert abs(got[1] - found.y[1, :landed].max()) < 0.06 * speed
    return got


def _pendulum(angle):
    m = math.sin(angle / 2) ** 2
    exact = 4 * float(scipy.special.ellipk(m))
    got = pendulum_period(angle)
    assert abs(got - exact) < 2e-3 * exact
    return got


CASES = [
    Case(
        runge_kutta_45,
        [RNG.normal(size=(12, 2)), RNG.uniform(0.5, 60, 12), RNG.uniform(0.2, 3, 12)],
        _oscillator,
        1e-7,
    ),
    Case(
        bouncing_ball,
        [RNG.uniform(0.1, 3, 16), RNG.uniform(-1, 4, 16), RNG.uniform(0.3, 0.9, 16)],
        _bounces,
        1e-6,
    ),
    Case(
        implicit_euler,
        [RNG.uniform(0, 500, 14), RNG.normal(size=14), RNG.integers(0, 20, 14)],
        _implicit,
        1e-8,
        bad=(1e3, np.nan, 3),
        error=RuntimeError,
    ),
    Case(
        extinction_time,
        [RNG.uniform(0.05, 2, 16), RNG.uniform(0.05, 4, 16), RNG.uniform(0, 1, 16)],
        [((0.04, 1.0, 0.0), (0.0, 2)), ((1.0, 0.05, 0.0), (0.0, 1))],
    ),
    Case(pendulum_period, [RNG.uniform(0.1, 3, 12)], _pendulum),
    Case(
        projectile_with_drag,
        [RNG.uniform(2, 30, 16), RNG.uniform(0.1, 1.5, 16), RNG.uniform(0, 0.05, 16)],
        _projectile,
    ),
]
