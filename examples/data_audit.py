"""Which labels are wrong? Those whose images pull a classifier hardest: gradients per example.

An image that contradicts its label has a long gradient of the loss (M. Paul, S. Ganguli and G. K.
Dziugaite, "Deep learning on a data diet", 2021). 40 of 1,797 digits get wrong labels. A recurrent
network reads an image row by row; its loss is written for one image, and differentiated by
`lw.grad`. The loop and NumPy are given the derivative worked out by hand.
"""

from functools import partial

import numpy as np
from sklearn.datasets import load_digits

import lanewise as lw
from stage import Stage

WRONG, UNITS = 40, 32


def loss(weights: dict, image: np.ndarray, label: int) -> float:
    """Return the cross entropy of the network on one image."""
    state = np.zeros(UNITS)
    for row in image:
        state = np.tanh(row @ weights["rows"] + state @ weights["states"] + weights["shift"])
    scores = state @ weights["scores"]
    return np.log(np.exp(scores).sum()) - scores[label]


def pull(weights: dict, image: np.ndarray, label: int) -> float:
    """Return how long the gradient of the loss on one image is."""
    return np.sqrt(sum((part**2).sum() for part in lw.grad(loss)(weights, image, label).values()))


def pull_by_hand(w: dict, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the same of many images, or of one, by backpropagation through the rows."""
    rows, states = np.moveaxis(images, -2, 0), [np.zeros((*labels.shape, UNITS))]
    for row in rows:
        states.append(np.tanh(row @ w["rows"] + states[-1] @ w["states"] + w["shift"]))
    error = np.exp(states[-1] @ w["scores"])
    error = error / error.sum(axis=-1, keepdims=True) - np.eye(10)[labels]
    back, backs = error @ w["scores"].T, []
    for state in states[:0:-1]:
        backs.append(back * (1 - state**2))
        back = backs[-1] @ w["states"].T
    inputs = np.concatenate([rows, states[:-1], np.ones((8, *labels.shape, 1))], axis=-1)
    gradient = np.moveaxis(inputs, 0, -1) @ np.moveaxis(backs[::-1], 0, -2)
    return np.sqrt((gradient**2).sum((-2, -1)) + (states[-1] ** 2).sum(-1) * (error**2).sum(-1))


def train(images: np.ndarray, labels: np.ndarray, steps: int, rng: np.random.Generator) -> dict:
    """Return the weights after so many steps of Adam, each on 256 images."""
    shapes = dict(rows=(8, UNITS), states=(UNITS, UNITS), shift=(UNITS,), scores=(UNITS, 10))
    weights = {name: rng.normal(size=shape) / 5 for name, shape in shapes.items()}
    losses, adam = lw.vmap(loss, in_dims=(None, 0, 0)), lw.nn.adam(0.01)
    gradient, state = lw.function(lw.grad(lambda *some: losses(*some).mean())), adam.init(weights)
    for some in rng.integers(0, len(labels), (steps, 256)):
        weights, state = adam.update(gradient(weights, images[some], labels[some]), state, weights)
    return weights


def main(stage: Stage) -> None:
    given, images, rng = load_digits().target, load_digits().images / 16, np.random.default_rng(0)
    wrong = rng.choice(len(given), WRONG, replace=False)
    given[wrong] = (given[wrong] + rng.integers(1, 10, WRONG)) % 10
    weights = train(images, given, 5 if stage.small else 300, rng)
    by_hand, pulls = (partial(function, weights) for function in (pull_by_hand, pull))
    ways = dict(loop=by_hand, numpy=by_hand, lanewise=lw.function(lw.vmap(pulls), jit_compile=True))
    longest = np.argsort(-stage.compare("gradients", (images, given), **ways, rtol=1e-9))[:80]
    print(f"  {np.isin(longest, wrong).sum()} of {WRONG} are among the 80 longest")
    with stage.picture(8, 3.6) as figure:
        figure.suptitle("the longest gradients: wrong labels (red) and true ones (blue)")
        for place, axes in zip(longest, figure.subplots(3, 10).flat, strict=False):
            axes.imshow(images[place], cmap="Greys")
            axes.set_title(f"“{given[place]}”", color="#d55e00" if place in wrong else "#0072b2")
            axes.axis("off")


if __name__ == "__main__":
    main(Stage(__file__))
