"""Implied volatilities of 200,000 options: a Newton iteration for each, to its own end.

The prices are those of a market with jumps (R. C. Merton, "Option pricing when underlying stock
returns are discontinuous", 1976), of options that are out of the money, in units of the forward.
What volatility would Black's formula need for them? Newton's method, started where vega is largest,
cannot fail (S. Manaster and G. Koehler, "The calculation of implied variances", 1982).
"""

import numpy as np
from scipy.special import factorial, ndtr

import lanewise as lw
from stage import Stage

SIGMA, RATE, MEAN, WIDTH = 0.13, 0.8, -0.09, 0.10  # diffusion; jumps a year, their log size


def black(k: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return Black's price at log strike k and total volatility s: of a put, or a call if k > 0."""
    sign = np.where(k > 0, 1.0, -1.0)
    return sign * (ndtr(sign * (s / 2 - k / s)) - np.exp(k) * ndtr(sign * (-s / 2 - k / s)))


def merton(k: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the price with jumps: the mean of Black's over how many there are."""
    drift, mean = np.exp(MEAN + WIDTH**2 / 2) - 1, RATE * time
    sign, price = np.where(k > 0, 1.0, -1.0), 0.0
    for n in range(40):
        forward = np.exp(n * np.log1p(drift) - mean * drift)
        s, d = np.sqrt(SIGMA**2 * time + n * WIDTH**2), k - np.log(forward)
        one = forward * ndtr(sign * (s / 2 - d / s)) - np.exp(k) * ndtr(sign * (-s / 2 - d / s))
        price = price + np.exp(-mean) * mean**n / factorial(n) * sign * one
    return price


def implied(price: float, k: float, time: float) -> float:
    """Return the volatility a year at which Black's price is `price`."""
    s, step = np.sqrt(np.maximum(2 * abs(k), 1e-4)), 1.0
    while abs(step) > 1e-12 * s:
        vega = np.exp(-((k / s - s / 2) ** 2) / 2) / np.sqrt(2 * np.pi)
        step = (black(k, s) - price) / vega
        s -= step
    return s / np.sqrt(time)


def implied_all(price: np.ndarray, k: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the same for arrays: all go on until the last has come to its end."""
    s, step = np.sqrt(np.maximum(2 * abs(k), 1e-4)), np.ones_like(k)
    while (abs(step) > 1e-12 * s).any():
        vega = np.exp(-((k / s - s / 2) ** 2) / 2) / np.sqrt(2 * np.pi)
        step = (black(k, s) - price) / vega
        s -= step
    return s / np.sqrt(time)


def main(stage: Stage) -> None:
    shape = (10, 20) if stage.small else (400, 500)
    times, strikes = np.geomspace(0.04, 2, shape[0]), np.linspace(-0.3, 0.15, shape[1])
    time, k = (grid.ravel() for grid in np.meshgrid(times, strikes, indexing="ij"))
    ways = dict(loop=implied, numpy=implied_all, lanewise=lw.vmap(implied))
    found = stage.compare("options", (merton(k, time), k, time), **ways, rtol=1e-8)
    percent = 100 * found.reshape(shape)
    with stage.picture(9, 3.4) as figure:
        left, right = figure.subplots(1, 2)
        filled = left.contourf(strikes, times, percent, 24, cmap="viridis")
        figure.colorbar(filled, ax=left, label="implied volatility, %")
        left.set(xlabel="log(strike / forward)", ylabel="years to maturity", yscale="log")
        left.set(xticks=(-0.3, -0.2, -0.1, 0, 0.1), yticks=(0.1, 1), yticklabels=("0.1", "1"))
        for years in (0.05, 0.25, 1, 2):
            smile = percent[np.argmin(abs(times - years))]
            right.plot(strikes, smile, label=f"maturity {years:g} years")
        right.set(xlabel="log(strike / forward)")
        right.legend()


if __name__ == "__main__":
    main(Stage(__file__))
