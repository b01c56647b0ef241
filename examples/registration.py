"""Handwritten digits laid on top of each other: each image is shifted, turned and sheared to fit.

`register` finds for one of scikit-learn's 1,797 digits the affine map after which it is closest to
the mean of its class: Gauss-Newton steps, as B. D. Lucas and T. Kanade took them (1981), for as
many turns as the image needs. A pixel of a moved image lies between four others.
"""

import numpy as np
from sklearn.datasets import load_digits

import lanewise as lw
from stage import Stage

PLACES = np.indices((8, 8)).reshape(2, 64) - 3.5
BASIS = np.vstack([np.ones(64), PLACES])
RIDGE, FINE, TURNS = 0.5, 1e-4, 30  # how dear it is to move; when to stop


def look(image: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 64 pixels seen through p, which is 2 × 3, and how they change with p."""
    # Written with axes in front of those of one image, so it is also how NumPy does all of them.
    row, column = np.moveaxis(np.clip(PLACES + p @ BASIS + 3.5, 0, 6.999), -2, 0)
    corner = row.astype(int) * 8 + column.astype(int)
    down, right = row % 1, column % 1
    a, b, c, d = (np.take_along_axis(image, corner + k, axis=-1) for k in (0, 1, 8, 9))
    upper, lower = a + right * (b - a), c + right * (d - c)
    slopes = np.stack([lower - upper, (1 - down) * (b - a) + down * (d - c)], axis=-2)
    change = slopes[..., None, :] * BASIS
    return upper + down * (lower - upper), change.reshape(*change.shape[:-3], 6, 64)


def advance(image: np.ndarray, target: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return p after one step towards the least squares of what differs."""
    seen, change = look(image, p)
    downhill = change @ (target - seen)[..., None] - RIDGE * p.reshape(*p.shape[:-2], 6, 1)
    bend = change @ np.swapaxes(change, -1, -2) + RIDGE * np.eye(6)
    return p + np.linalg.solve(bend, downhill).reshape(p.shape)


def register(image: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the affine map of one image."""
    p, step, turns = np.zeros_like(image, shape=(2, 3)), 1.0, 0
    while step > FINE and turns < TURNS:
        before, p = p, advance(image, target, p)
        step, turns = abs(p - before).max(), turns + 1
    return p


def register_all(images: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the affine maps of many images: those that are done leave the arrays."""
    result, places = np.zeros((len(images), 2, 3)), np.arange(len(images))
    for _ in range(TURNS):
        before = result[places]
        result[places] = advance(images[places], targets[places], before)
        places = places[abs(result[places] - before).max(axis=(1, 2)) > FINE]
    return result


def main(stage: Stage) -> None:
    images, labels = load_digits(return_X_y=True)
    images, labels = (images[:100] / 16, labels[:100]) if stage.small else (images / 16, labels)
    own = [labels == digit for digit in range(10)]
    means = np.stack([images[one].mean(axis=0) for one in own])
    ways = dict(loop=register, numpy=register_all, lanewise=lw.vmap(register))
    maps = stage.compare("images", (images, means[labels]), **ways, rtol=1e-6, atol=1e-6)
    moved = lw.vmap(look)(images, maps)[0]
    rows = {"mean": images, "mean, aligned": moved, "spread": images, "spread, aligned": moved}
    with stage.picture(8, 3.6) as figure:
        for (title, pixels), axes in zip(rows.items(), figure.subplots(4, 10), strict=True):
            for one, axis in zip(own, axes, strict=True):
                reduce, darkest = (np.mean, 1) if "mean" in title else (np.std, 0.5)
                image = reduce(pixels[one], axis=0).reshape(8, 8)
                axis.imshow(image, "Greys", interpolation="bicubic", vmin=0, vmax=darkest)
                axis.axis("off")
            axes[0].text(-3, 3.5, title.replace(", ", ",\n"), ha="right", va="center")


if __name__ == "__main__":
    main(Stage(__file__))
