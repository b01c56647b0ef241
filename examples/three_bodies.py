"""Three equal stars fall from rest. Which one is thrown out, and when?

Two start at −½ and ½, the third at a pixel of the picture (T. A. Agekian and J. P. Anosova, 1967).
`fall` steps by S. Mikkola and K. Tanikawa's logarithmic Hamiltonian (1999), whose steps are short
where stars are close. Positions are complex numbers; masses and the constant of gravity are 1.
"""

import numpy as np

import lanewise as lw
from stage import Stage

STEP, STEPS, FAR = 0.1, 2000, 3.0


def squared(z: np.ndarray) -> np.ndarray:
    return z.real * z.real + z.imag * z.imag


def start(x: np.ndarray, y: np.ndarray) -> tuple:
    """Return positions about the centre of mass, velocities, the time and the binding energy."""
    q = np.stack([0 * x - 0.5, 0 * x + 0.5, x]) + 1j * np.stack([0 * y, 0 * y, y])
    bound = (1 / np.sqrt(squared(q[[1, 2, 0]] - q))).sum(axis=0)
    return q - (q[0] + q[1] + q[2]) / 3, 0 * q, 0 * x, bound


def move(q: np.ndarray, v: np.ndarray, time: np.ndarray, bound: np.ndarray) -> tuple:
    """Return positions, velocities, time and which stars have escaped, a step later."""
    half = STEP / 2 / (0.5 * squared(v).sum(axis=0) + bound)
    q, time = q + half * v, time + half
    apart = q[[1, 2, 0]] - q
    distance = np.sqrt(squared(apart))
    pull = apart / (distance * distance * distance)
    v = v + STEP / (1 / distance).sum(axis=0) * (pull - pull[[2, 0, 1]])
    half = STEP / 2 / (0.5 * squared(v).sum(axis=0) + bound)
    q, time = q + half * v, time + half
    # Far out, outward bound, and too fast for the other two, taken as one star, to hold it.
    outward = (squared(q) > FAR**2) & (q.real * v.real + q.imag * v.imag > 0)
    return q, v, time, outward & (squared(v) ** 2 * squared(q) > 256 / 81)


def fall(x: float, y: float) -> tuple[float, int]:
    """Return when a star escapes, and which: 0, 1, 2, or 3 if none has."""
    q, v, time, bound = start(x, y)
    for _ in range(STEPS):
        q, v, time, escaped = move(q, v, time, bound)
        if escaped.any():
            return time, np.argmax(escaped)
    return time, 3


def fall_all(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for arrays of starts: those that are done leave it."""
    q, v, time, bound = start(x, y)
    times, stars, places = 0 * x, np.full(len(x), 3), np.arange(len(x))
    for _ in range(STEPS):
        q, v, time, escaped = move(q, v, time, bound)
        if escaped.any():
            done = escaped.any(axis=0)
            times[places[done]], stars[places[done]] = time[done], escaped[:, done].argmax(axis=0)
            q, v, time, bound, places = (z[..., ~done] for z in (q, v, time, bound, places))
    times[places] = time
    return times, stars


def main(stage: Stage) -> None:
    shape, extent = ((8, 16) if stage.small else (176, 352)), (-0.6, 0.6, 0.6, 1.07)
    x, y = np.meshgrid(np.linspace(*extent[:2], shape[1]), np.linspace(*extent[:1:-1], shape[0]))
    starts, ways = (x.ravel(), y.ravel()), dict(loop=fall, numpy=fall_all, lanewise=lw.vmap(fall))
    times, stars = stage.compare("starts", starts, **ways)
    colours = np.array([[232, 89, 12], [28, 126, 214], [252, 196, 25], [0, 0, 0]]) / 255
    image = (colours[stars] * np.exp(-(times - times.min()) / 15)[:, None]).reshape(*shape, 3)
    with stage.picture(8, 3.6) as figure:
        axes = figure.subplots(subplot_kw=dict(title="which star escapes; the darker, the later"))
        axes.imshow(image, extent=extent, interpolation="nearest")


if __name__ == "__main__":
    main(Stage(__file__))
