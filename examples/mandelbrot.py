"""The Mandelbrot set and a Julia set: each point of the plane iterates until it has escaped.

`escape` is written for one point. How long it takes is the point's own affair: from one turn to
`TURNS`. The returned number is made smooth by how far outside the point has landed (F. Garcia,
A. Fernandez, J. Barrallo and L. Martin, "Coloring dynamical systems in the complex plane", 2009).
"""

import numpy as np

import lanewise as lw
from stage import Stage

TURNS, FAR = 500, 1e4


def escape(x: float, y: float, a: float, b: float) -> float:
    """Return after how many turns of z → z² + a + bi the point x + yi is far away, else 0."""
    n = 0
    while x * x + y * y < FAR:
        if n == TURNS:
            return 0.0
        x, y = x * x - y * y + a, 2 * x * y + b
        n += 1
    return n + 1 - np.log2(np.log(x * x + y * y) / 2)


def escape_all(x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the same of all points: those that have escaped leave the arrays every few turns."""
    result = np.zeros(len(x))
    places = np.arange(len(x))
    for turn in range(TURNS + 1):
        distance = x * x + y * y
        gone = distance >= FAR
        if gone.any():
            result[places[gone]] = turn + 1 - np.log2(np.log(distance[gone]) / 2)
            places, x, y, a, b = (v[~gone] for v in (places, x, y, a, b))
        x, y = x * x - y * y + a, 2 * x * y + b
    return result


def main(stage: Stage) -> None:
    side = 40 if stage.small else 800
    x, y = np.meshgrid(np.linspace(-2.05, 0.65, side), np.linspace(-1.35, 1.35, side))
    u, v = np.meshgrid(np.linspace(-1.5, 1.5, side), np.linspace(-1.5, 1.5, side))
    # For the Mandelbrot set points are the constants of a start at 0, for a Julia set the starts.
    zero, one = np.zeros(x.size), np.ones(x.size)
    mandelbrot = zero, zero, x.ravel(), y.ravel()
    julia = u.ravel(), v.ravel(), -0.7269 * one, 0.1889 * one
    points = [np.concatenate(pair) for pair in zip(mandelbrot, julia, strict=True)]

    ways = dict(loop=escape, numpy=escape_all, lanewise=lw.vmap(escape))
    turns = stage.compare(f"points, up to {TURNS} turns each", points, **ways, rtol=1e-12)
    with stage.picture(8, 4) as figure:
        for axes, image in zip(figure.subplots(1, 2), turns.reshape(2, side, side), strict=True):
            shade = np.where(image > 0, np.log1p(np.maximum(image, 0)), np.nan)
            axes.set_facecolor("black")
            axes.imshow(shade, cmap="twilight_shifted", interpolation="bilinear")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)


if __name__ == "__main__":
    main(Stage(__file__))
