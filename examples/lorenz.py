"""How long can the weather be foretold? 10,000 forecasts of Lorenz's model that start alike.

E. N. Lorenz, "Deterministic nonperiodic flow", 1963. The starts differ by about a millionth; the
differences grow by exp(0.906 t), 0.906 being the largest Lyapunov exponent, until they are as large
as the attractor. `travel` follows one start, by the classical method of Runge and Kutta.
"""

import numpy as np

import lanewise as lw
from stage import Stage

SIGMA, RHO, BETA = 10.0, 28.0, 8.0 / 3.0
STEP, STEPS, SHOTS = 0.01, 25, 100  # a shot every 25 steps
LYAPUNOV = 0.906


def velocity(p: np.ndarray) -> np.ndarray:
    x, y, z = p
    return np.stack([SIGMA * (y - x), x * (RHO - z) - y, x * y - BETA * z])


def travel(start: np.ndarray) -> np.ndarray:
    """Return where the start has come to at each shot: an array of `SHOTS` × 3."""
    # The state may have more axes behind the first, so this is also how NumPy runs the ensemble.
    p, track = start, np.zeros((SHOTS, *start.shape))
    for shot in range(SHOTS):
        track[shot] = p
        for _ in range(STEPS):
            a = velocity(p)
            b = velocity(p + STEP / 2 * a)
            c = velocity(p + STEP / 2 * b)
            d = velocity(p + STEP * c)
            p = p + STEP / 6 * (a + 2 * b + 2 * c + d)
    return track


def travel_all(starts: np.ndarray) -> np.ndarray:
    """Return the same for all starts: NumPy adds up a step of the whole ensemble at a time."""
    return np.moveaxis(travel(np.ascontiguousarray(starts.T)), -1, 0)


def main(stage: Stage) -> None:
    count = 50 if stage.small else 10_000
    noise = np.random.default_rng(1).normal(size=(count, 3))
    starts = np.array([-5.76, 2.27, 32.82]) + 1e-6 * noise  # a point of the attractor
    ways = dict(loop=travel, numpy=travel_all, lanewise=lw.vmap(travel))
    tracks = stage.compare(f"forecasts of {SHOTS * STEPS:,} steps", (starts,), **ways)
    times = np.arange(SHOTS) * STEP * STEPS
    spread = np.sqrt(tracks.var(axis=0).sum(axis=1))
    with stage.picture(9, 3.6) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
        x, _, z = tracks[:, -8:].reshape(-1, 3).T
        left.plot(x, z, ",", color="0.85")
        for time, colour in ((17, "#e69f00"), (14, "#d55e00"), (11, "#0072b2")):
            x, _, z = tracks[:4000, round(time / STEP / STEPS)].T
            left.scatter(x, z, 30 if time == 11 else 6, colour, lw=0, label=f"t = {time}")
        left.legend(loc="lower left")
        left.set(xlabel="x", ylabel="z", title="where the forecasts are")
        right.semilogy(times, spread, color="#0072b2", label="spread of the forecasts")
        growth = spread[0] * np.exp(LYAPUNOV * times)
        right.semilogy(times, growth, "--", color="0.5", label="exp(0.906 t)")
        right.set(xlabel="t", ylim=(1e-7, 100), title="how far they are apart")
        right.legend(loc="lower right")


if __name__ == "__main__":
    main(Stage(__file__))
