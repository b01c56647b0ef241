"""Signals in time: peaks, thresholds, filters and controllers with modes."""

from __future__ import annotations

import numpy as np
import scipy.signal

from programs.corpus.case import Case

RNG = np.random.default_rng(21)


def find_peaks(x, height):
    peaks = np.zeros(len(x), dtype=bool)
    count = 0
    last = -1
    for i in range(1, len(x) - 1):
        if x[i] < height:
            continue
        if x[i - 1] < x[i] > x[i + 1]:
            peaks[i] = True
            count += 1
            last = i
    return peaks, count, last


def hysteresis(x, low, high):
    state = False
    out = np.empty(len(x), dtype=bool)
    for i, v in enumerate(x):
        if state and v < low:
            state = False
        elif not state and v > high:
            state = True
        out[i] = state
    return out


def debounce(samples, needed):
    stable, candidate, run = samples[0], samples[0], 0
    changes = 0
    for s in samples:
        if s == stable:
            run = 0
            continue
        if s == candidate:
            run += 1
        else:
            candidate, run = s, 1
        if run >= needed:
            stable = candidate
            changes += 1
            run = 0
    return stable, changes


def longest_run(x, threshold):
    best = best_end = run = 0
    for i in range(len(x)):
        if x[i] > threshold:
            run += 1
            if run > best:
                best, best_end = run, i
        else:
            run = 0
    return best, best_end


def gated_kalman(observations, gate):
    """A filter of position and speed that skips observations too far off."""
    x, p = np.zeros(2), 4 * np.eye(2)
    f, q = np.array([[1.0, 1.0], [0.0, 1.0]]), 0.05 * np.eye(2)
    rejected = 0
    for z in observations:
        x, p = f @ x, f @ p @ f.T + q
        if np.isnan(z):
            continue
        residual = z - x[0]
        variance = p[0, 0] + 0.5
        if residual**2 > gate * variance:
            rejected += 1
            if rejected == 4:
                break
            continue
        gain = p[:, 0] / variance
        x = x + gain * residual
        p = p - np.outer(gain, p[0])
    return x, rejected


class Controller:
    """A PID controller whose integral stops while the output is saturated."""

    def __init__(self, kp, ki, kd, limit):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.limit = limit
        self.integral = 0.0
        self.previous = None
        self.saturated = 0

    def update(self, error, dt):
        slope = 0.0 if self.previous is None else (error - self.previous) / dt
        self.previous = error
        output = self.kp * error + self.ki * (self.integral + error * dt) + self.kd * slope
        if output > self.limit:
            output = self.limit
            self.saturated += 1
        elif output < -self.limit:
            output = -self.limit
            self.saturated += 1
        else:
            self.integral += error * dt
        return output


def settle(kp, ki, setpoint):
    controller = Controller(kp, ki, 0.02, 2.0)
    temperature, settled = 0.0, 0
    for step in range(150):
        heat = controller.update(setpoint - temperature, 0.1)
        temperature += 0.1 * (heat - 0.3 * temperature)
        if abs(temperature - setpoint) < 0.02:
            settled += 1
            if settled >= 5:
                return step, controller.saturated
        else:
            settled = 0
    return -1, controller.saturated


def slew_limited(x, rate):
    y = x.copy()
    limited = 0
    for i in range(1, len(y)):
        change = y[i] - y[i - 1]
        if abs(change) > rate:
            y[i] = y[i - 1] + np.copysign(rate, change)
            limited += 1
    return y, limited


def unwrap_phase(phase):
    offset = 0.0
    out = phase.copy()
    for i in range(1, len(phase)):
        jump = phase[i] - phase[i - 1]
        while jump > np.pi:
            jump -= 2 * np.pi
            offset -= 2 * np.pi
        while jump < -np.pi:
            jump += 2 * np.pi
            offset += 2 * np.pi
        out[i] = phase[i] + offset
    return out


def despike(x, skip, limit):
    """Replace what is far from the median of its neighbours, but for the ends."""
    out = np.array(x)
    for i in range(skip, len(x) - skip):
        a, b, c = x[i - 1], x[i], x[i + 1]
        if a > b:
            a, b = b, a
        if b > c:
            b = max(a, c)
        if abs(x[i] - b) > limit:
            out[i] = b
    return out


def cusum_alarm(x, drift, threshold):
    up = down = 0.0
    for i, v in enumerate(x):
        up = max(0.0, up + v - drift)
        down = max(0.0, down - v - drift)
        if up > threshold:
            return i, 1
        if down > threshold:
            return i, -1
    return -1, 0


def zero_crossing_rate(x, dead):
    sign, crossings, first = 0, 0, None
    for i, v in enumerate(x):
        if -dead <= v <= dead:
            continue
        s = 1 if v > 0 else -1
        if sign and s != sign:
            crossings += 1
            if first is None:
                first = i
        sign = s
    return crossings, -1 if first is None else first


def fill_gaps(x):
    """Fill NaN between numbers linearly, at the ends with the nearest; keep it if all are."""
    x = x.copy()
    n = len(x)
    i = 0
    while i < n:
        if not np.isnan(x[i]):
            i += 1
            continue
        j = i
        while j < n and np.isnan(x[j]):
            j += 1
        if i == 0 and j == n:
            return x
        for k in range(i, j):
            if i == 0:
                x[k] = x[j]
            elif j == n:
                x[k] = x[i - 1]
            else:
                x[k] = x[i - 1] + (x[j] - x[i - 1]) * (k - i + 1) / (j - i + 1)
        i = j
    return x


def _peaks(x, height):
    found, _ = scipy.signal.find_peaks(x, height=height)
    mask = np.zeros(len(x), dtype=bool)
    mask[found] = True
    return mask, len(found), found[-1] if len(found) else -1


def _hysteresis(x, low, high):
    return [next((v > high for v in x[i::-1] if v > high or v < low), False) for i in range(len(x))]


def _run(x, threshold):
    text = "".join("x" if v > threshold else " " for v in x)
    best = max(map(len, text.split()), default=0)
    return best, text.index("x" * best) + best - 1 if best else 0


def _zero_crossings(x, dead):
    places = np.flatnonzero(np.abs(x) > dead)
    turns = np.flatnonzero(np.diff(np.sign(x[places])))
    return len(turns), places[turns[0] + 1] if len(turns) else -1


def _fill(x):
    known = np.flatnonzero(~np.isnan(x))
    return np.interp(np.arange(len(x)), known, x[known]) if len(known) else x


NOISE = RNG.normal(size=(14, 12))
TRACK = np.cumsum(RNG.normal(1, 0.3, (14, 12)), axis=1)
TRACK[RNG.random((14, 12)) < 0.12] += 25
TRACK[RNG.random((14, 12)) < 0.12] = np.nan
GAPS = np.where(RNG.random((14, 9)) < 0.45, np.nan, RNG.normal(size=(14, 9)))
GAPS[3] = np.nan
THRESHOLDS = RNG.uniform(-0.5, 0.8, 14)

CASES = [
    Case(find_peaks, [NOISE, THRESHOLDS], _peaks),
    Case(
        hysteresis,
        [NOISE, THRESHOLDS - 0.8, THRESHOLDS],
        lambda x, low, high: np.array(_hysteresis(x, low, high)),
    ),
    Case(
        debounce,
        [RNG.integers(0, 2, (14, 12)).astype("i1"), RNG.integers(1, 4, 14)],
        [((np.array([0, 1, 0, 1, 1, 1, 0]), 3), (1, 1)), ((np.array([0, 1, 1, 0, 0]), 1), (0, 2))],
    ),
    Case(longest_run, [NOISE.astype("f4"), THRESHOLDS.astype("f4")], _run),
    Case(
        gated_kalman,
        [TRACK, RNG.uniform(3, 12, 14)],
        [((np.full(5, np.nan), 9.0), (np.zeros(2), 0)), ((np.full(9, 1e3), 9.0), (np.zeros(2), 4))],
    ),
    Case(
        settle,
        [RNG.uniform(0.5, 8, 14), RNG.uniform(0, 2, 14), RNG.uniform(-4, 4, 14)],
        [((1.0, 0.0, 0.0), (4, 0)), ((0.0, 0.0, 1.0), (-1, 0)), ((1e6, 0.0, 50.0), (-1, 150))],
    ),
    Case(
        slew_limited,
        [NOISE, RNG.uniform(0.2, 2, 14)],
        [((np.array([0.0, 3, 3, -9]), 1.0), (np.array([0.0, 1, 2, 1]), 3))],
    ),
    Case(unwrap_phase, [RNG.uniform(-9, 9, (14, 10))], np.unwrap),
    Case(
        despike,
        [NOISE, np.arange(14) % 2 + 1, RNG.uniform(0.3, 1.5, 14)],
        [((np.array([1.0, 9, 1, 1, -5, 1]), 1, 2.0), np.ones(6))],
    ),
    Case(
        cusum_alarm,
        [NOISE, RNG.uniform(0, 0.5, 14), RNG.uniform(1, 4, 14)],
        [
            ((np.ones(5), 0.0, 2.5), (2, 1)),
            ((-np.ones(5), 0.5, 1.2), (2, -1)),
            ((np.ones(5), 1.0, 0.1), (-1, 0)),
        ],
    ),
    Case(zero_crossing_rate, [NOISE, RNG.uniform(0, 0.8, 14)], _zero_crossings),
    Case(fill_gaps, [GAPS], _fill),
]
