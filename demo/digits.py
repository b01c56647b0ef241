"""Lanewise on real input: the 1,797 handwritten digits that scikit-learn ships.

Each function of `features.py` is written for one image. It is run here over all of them as a loop
and with `lw.vmap`, the results are checked to be the same, and a picture shows some. Then gradients
for each image (`unusual.py`) find labels that were set wrong, and show which digits are unusual.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import features
import numpy as np
import optree
import unusual
from png import write_png
from sklearn.datasets import load_digits

import lanewise as lw
from lanewise.cli import main as lanewise

HERE = Path(__file__).parent
OUT = HERE / "out"


def main() -> int:
    """Run everything; the exit code is 0 when every result is the loop's."""
    OUT.mkdir(exist_ok=True)
    digits = load_digits()
    images = digits.images

    print(f"{len(images):,} images of {images.shape[1]} × {images.shape[2]} pixels\n")
    print(f"{'function':<10}{'loop':>12}{'Lanewise':>12}{'ratio':>9}   result")
    results = {f.__name__: compare(f, images) for f in FUNCTIONS}

    print("\nThe same from files, at the command line:\n")
    source, output = OUT / "digits.npy", OUT / "deskewed.npy"
    np.save(source, images)
    target = f"{HERE / 'features.py'}:deskew"
    arguments = ["map", *(shorten(a) for a in (target, source)), "-o", shorten(output)]
    print("$ lanewise", *arguments)
    if lanewise(arguments) != 0:
        return 1
    check(np.load(output), results["deskew"])

    picture = OUT / "deskewed.png"
    write_png(picture, gallery(images, results["deskew"], digits.target))
    print(f"\nBefore and after: {shorten(picture)}")

    gradients(images / images.max(), digits.target)
    print("\nEvery result equals the loop's.")
    return 0


FUNCTIONS = (features.moments, features.deskew, features.fourier)


def compare(function: Callable[..., Any], images: np.ndarray) -> Any:
    """Run `function` both ways, check that the results agree, print a row, return the result."""

    def loop(images: np.ndarray) -> Any:
        return optree.tree_map(lambda *parts: np.stack(parts), *map(function, images))

    expected, loop_time = timed(loop, images, repeat=3)
    result, time_taken = timed(lw.vmap(function), images, repeat=10)
    optree.tree_map(check, result, expected)
    shapes = ", ".join(f"{leaf.dtype} {leaf.shape}" for leaf in optree.tree_leaves(result))
    row = f"{function.__name__:<10}{loop_time * 1e3:>9.1f} ms{time_taken * 1e3:>9.1f} ms"
    print(f"{row}{loop_time / time_taken:>8.0f}×   {shapes}")
    return result


def gradients(images: np.ndarray, labels: np.ndarray) -> None:
    """Find wrong labels by the gradient of each image's loss, and draw the most unusual digits."""
    changed, wrong = unusual.mislabel(labels)
    print(
        f"\nThe length of a classifier's gradient, for each image, {len(wrong)} labels set wrong:\n"
    )
    weights = unusual.train(images, changed)

    def loop(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.stack(
            [unusual.pull_by_hand(weights, *one) for one in zip(images, labels, strict=True)]
        )

    def pull(image: np.ndarray, label: np.ndarray) -> Any:
        return unusual.pull(weights, image, label)

    expected, loop_time = timed(loop, images, changed, repeat=3)
    lengths, time_taken = timed(lw.vmap(pull), images, changed, repeat=10)
    check(lengths, expected)
    print(
        f"by hand, in a loop {loop_time * 1e3:.1f} ms; lw.vmap of lw.grad {time_taken * 1e3:.1f} ms"
    )
    for count in (len(wrong), 2 * len(wrong)):
        found = np.isin(np.argsort(-lengths)[:count], wrong).sum()
        print(f"among the {count} longest of {len(images):,} are {found} of the {len(wrong)} wrong")

    lengths = lw.vmap(unusual.pull, in_dims=(None, 0, 0))(
        unusual.train(images, labels), images, labels
    )
    picture = OUT / "unusual.png"
    write_png(picture, unusual.sheet(images, labels, np.argsort(-lengths)[:20]))
    print(f"With the true labels, the most unusual, over the mean of the digit: {shorten(picture)}")


def timed(function: Callable[..., Any], *arrays: np.ndarray, repeat: int) -> tuple[Any, float]:
    """Return the result and the best of `repeat` times in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function(*arrays)
        times.append(time.perf_counter() - start)
    return result, min(times)


def check(result: np.ndarray, expected: np.ndarray) -> None:
    """Raise unless the two are equal but for rounding, and in dtype and shape."""
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12, strict=True)


def gallery(before: np.ndarray, after: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return a picture of the most changed image of each digit, `before` over `after`."""
    change = np.abs(after - before).sum(axis=(1, 2))
    chosen = [np.argmax(change * (labels == digit)) for digit in range(10)]
    rows = [np.hstack([np.pad(image, 1) for image in images[chosen]]) for images in (before, after)]
    grey = np.clip(np.vstack(rows) / before.max(), 0, 1) * 255
    return np.kron(255 - grey, np.ones((12, 12))).astype(np.uint8)


def shorten(path: Path | str) -> str:
    """Return `path` as seen from the current folder, where it lies below it."""
    return str(path).removeprefix(f"{Path.cwd()}/")


if __name__ == "__main__":
    sys.exit(main())
