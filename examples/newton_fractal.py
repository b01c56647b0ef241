"""Newton's method from every point of the plane: which root of z⁸ + 15z⁴ − 16 does it find?

`find` is written for one complex start. Starts close to a root take four turns; those between the
basins, where the derivative nearly vanishes, are thrown far out and take up to a hundred.
"""

import numpy as np
from matplotlib.colors import hsv_to_rgb

import lanewise as lw
from stage import Stage

ROOTS = np.concatenate([np.exp(0.5j * np.pi * np.arange(4)), np.sqrt([2j, -2j]) * np.sqrt(2)])
ROOTS = np.concatenate([ROOTS, -ROOTS[4:]])
TURNS = 100


def find(z: complex) -> tuple[int, int]:
    """Return the number of the root that z comes to, and after how many turns."""
    n, step = 0, 1.0
    while abs(step) > 1e-9 and n < TURNS:
        w = z**4
        step = (w * w + 15 * w - 16) / (8 * w + 60) / z**3
        z, n = z - step, n + 1
    return np.argmin(np.abs(z - ROOTS)), n


def find_all(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for an array of starts: those that have found a root leave it."""
    root, turns = np.zeros(len(z), int), np.full(len(z), TURNS)
    places = np.arange(len(z))
    for n in range(1, TURNS + 1):
        w = z**4
        step = (w * w + 15 * w - 16) / (8 * w + 60) / z**3
        z = z - step
        done = np.abs(step) <= 1e-9
        if done.any() or n == TURNS:
            root[places[done]] = np.argmin(np.abs(z[done, None] - ROOTS), axis=1)
            turns[places[done]] = n
            places, z = places[~done], z[~done]
    root[places] = np.argmin(np.abs(z[:, None] - ROOTS), axis=1)
    return root, turns


def main(stage: Stage) -> None:
    side = 40 if stage.small else 800
    x, y = np.meshgrid(np.linspace(-1.6, 1.6, side), np.linspace(-1.6, 1.6, side))
    ways = dict(loop=find, numpy=find_all, lanewise=lw.vmap(find))
    root, turns = stage.compare("starts", ((x + 1j * y).ravel(),), **ways, astray=0.01)
    hue = (np.array([0.58, 0.08, 0.45, 0.97, 0.13, 0.52, 0.03, 0.62])[root]).reshape(side, side)
    light = np.clip(1.25 - 0.32 * np.log(turns.reshape(side, side) / 3.0), 0.05, 1)
    with stage.picture(5, 5) as figure:
        axes = figure.subplots()
        axes.imshow(hsv_to_rgb(np.stack([hue, np.full_like(hue, 0.65), light], axis=-1)))
        axes.set_axis_off()


if __name__ == "__main__":
    main(Stage(__file__))
