"""Which digits are mislabelled or unusual? Per-example gradients of a small classifier tell.

An image whose label the others contradict pulls the classifier hard: the gradient of its loss is
long. (M. Paul, S. Ganguli and G. K. Dziugaite, "Deep learning on a data diet", 2021, rank examples
by that length.) The classifier and its loss are written for ONE image, in plain NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lanewise as lw

WRONG = 40  # how many labels are set wrong, to be found again


def loss(weights, image, label):
    """Return the cross entropy of a classifier with one hidden layer, on one image."""
    hidden = np.maximum(image.ravel() @ weights["hidden"] + weights["shift"], 0)
    scores = hidden @ weights["scores"] + weights["bias"]
    top = scores.max()
    return np.log(np.exp(scores - top).sum()) + top - scores[label]


def pull(weights, image, label):
    """Return how long the gradient of the loss on one image is."""
    gradient = lw.grad(loss)(weights, image, label)
    return np.sqrt(sum((part**2).sum() for part in gradient.values()))


def pull_by_hand(weights, image, label):
    """Return the same, differentiated by hand: what `pull` is checked against."""
    image = image.ravel()
    before = image @ weights["hidden"] + weights["shift"]
    hidden = np.maximum(before, 0)
    scores = hidden @ weights["scores"] + weights["bias"]
    error = np.exp(scores - scores.max())
    error /= error.sum()
    error[label] -= 1
    back = (weights["scores"] @ error) * (before > 0)
    # The gradient in a matrix is an outer product: its length is the product of two.
    squares = (image @ image + 1) * (back @ back) + (hidden @ hidden + 1) * (error @ error)
    return np.sqrt(squares)


def train(images: np.ndarray, labels: np.ndarray, steps: int = 60) -> dict[str, np.ndarray]:
    """Return the weights after some steps of Adam on all images."""
    rng = np.random.default_rng(0)
    weights: Any = {
        "hidden": rng.normal(size=(64, 32)) / 8,
        "shift": np.zeros(32),
        "scores": rng.normal(size=(32, 10)) / 32**0.5,
        "bias": np.zeros(10),
    }

    def mean_loss(weights: Any) -> Any:
        return lw.vmap(loss, in_dims=(None, 0, 0))(weights, images, labels).mean()

    optimizer = lw.nn.adam(0.02)
    state = optimizer.init(weights)

    @lw.function
    def step(weights: Any, state: Any) -> Any:
        return optimizer.update(lw.grad(mean_loss)(weights), state, weights)

    for _ in range(steps):
        weights, state = step(weights, state)
    return weights


def mislabel(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of which some are wrong, and which."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(labels), WRONG, replace=False)
    changed = labels.copy()
    changed[chosen] = (labels[chosen] + rng.integers(1, 10, WRONG)) % 10
    return changed, chosen


def sheet(images: np.ndarray, labels: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return a picture: the chosen images, and under each the mean image of what it is said to be.

    Ten in a row.
    """
    means = np.stack([images[labels == digit].mean(axis=0) for digit in range(10)])
    rows = []
    for start in range(0, len(chosen), 10):
        part = chosen[start : start + 10]
        rows += [np.hstack([np.pad(image, 1) for image in images[part]])]
        rows += [np.hstack([np.pad(means[label], 1) for label in labels[part]])]
        rows += [np.zeros((4, rows[-1].shape[1]))]
    grey = np.clip(np.vstack(rows[:-1]) / images.max(), 0, 1) * 255
    return np.kron(255 - grey, np.ones((10, 10))).astype(np.uint8)
