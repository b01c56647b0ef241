"""Confidence intervals of a robust regression, by the bootstrap: 4,000 fits, each to its own end.

The data are those of 442 diabetes patients that scikit-learn ships (B. Efron, T. Hastie,
I. Johnstone and R. Tibshirani, "Least angle regression", 2004). `refit` fits a robust regression
(P. J. Huber, 1964) to patients drawn again, by iteratively reweighted least squares.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import lanewise as lw
from stage import Stage

DATA = load_diabetes()
NAMES = {"sex": "sex", "bp": "blood pressure", "s5": "log triglycerides", "bmi": "body mass index"}
COLUMNS = [DATA.data[:, DATA.feature_names.index(name)] for name in NAMES]
X = np.column_stack([np.ones(len(DATA.data)), *(column / column.std() for column in COLUMNS)])
Y = DATA.target
BEND = 40.0  # residuals beyond are weighted down: about 3/4 of their standard deviation


def refit(rows: np.ndarray) -> np.ndarray:
    """Return the coefficients for some patients, given by their numbers."""
    x, y = X[rows], Y[rows]
    weights, b, change = np.ones_like(y), np.zeros_like(y, shape=x.shape[1]), np.inf
    while change > 1e-8:
        heavy = x * weights[:, None]
        before, b = b, np.linalg.solve(heavy.T @ x, heavy.T @ y)
        weights = BEND / np.maximum(abs(y - x @ b), BEND)
        change = abs(b - before).max()
    return b


def refit_all(rows: np.ndarray) -> np.ndarray:
    """Return the same for many draws, 100 at a time so that they stay in the caches."""
    return np.concatenate([refit_some(rows[i : i + 100]) for i in range(0, len(rows), 100)])


def refit_some(rows: np.ndarray) -> np.ndarray:
    x, y = X[rows], Y[rows][..., None]
    weights, b, change = np.ones_like(y), np.zeros((len(x), x.shape[2], 1)), np.inf
    while change > 1e-8:
        heavy = (x * weights).transpose(0, 2, 1)
        before, b = b, np.linalg.solve(heavy @ x, heavy @ y)
        weights = BEND / np.maximum(abs(y - x @ b), BEND)
        change = abs(b - before).max()
    return b[..., 0]


def main(stage: Stage) -> None:
    count = 20 if stage.small else 4_000
    draws = np.random.default_rng(0).integers(0, len(Y), (count, len(Y)))
    ways = dict(loop=refit, numpy=refit_all, lanewise=lw.vmap(refit))
    fits = stage.compare("fits to 442 patients", (draws,), **ways, rtol=1e-6, atol=1e-6)[:, 1:]
    best = refit(np.arange(len(Y)))[1:]
    low, high = np.percentile(fits, [2.5, 97.5], axis=0)
    with stage.picture(7, 3) as figure:
        axes = figure.subplots()
        for place in range(len(NAMES)):
            density, edges = np.histogram(fits[:, place], 60, density=True)
            centres, height = (edges[1:] + edges[:-1]) / 2, 0.7 * density / density.max()
            axes.fill_between(centres, place, place + height, color="#56b4e9", lw=0)
            axes.plot([low[place], high[place]], [place, place], color="#0072b2", lw=3)
            axes.plot(best[place], place, "o", color="#d55e00")
        axes.axvline(0, color="0.7", lw=0.8, zorder=0)
        axes.set(yticks=range(len(NAMES)), yticklabels=NAMES.values())
        axes.set(xlabel="progression of the disease for a standard deviation, with 95 % intervals")


if __name__ == "__main__":
    main(Stage(__file__))
