"""How sure can a Kalman filter be of the Nile? Its flow of 100 years, fitted and fitted again.

The flow at Aswan, 1871 to 1970, in 10⁸ m³ a year, is a level that wanders, seen through noise
(J. Durbin and S. J. Koopman, "Time Series Analysis by State Space Methods", 2012, chapter 2). `fit`
finds how much the level wanders in a year, over the noise, at which the filter's likelihood is
largest. It is applied to the Nile's series and to many drawn from the model fitted to it.
"""

import numpy as np

import lanewise as lw
from stage import Stage

NILE = """
1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100
1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824
702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010
771 676 649 846 812 742 801 1040 860 874 848 890 744 749 838 1050 918 986 797 923 975 815 1020 906
901 1170 912 746 919 718 714 740"""
WIDEST, FINE = 2.0, 1e-5


def misfit(ratio: float, y: np.ndarray) -> float:
    """Return minus twice the log likelihood, but for a constant, at the best size of the noise."""
    level, p, squares, logs = y[0], 1 + ratio * ratio, 0.0, 0.0
    for t in range(1, len(y)):
        f, error = p + 1, y[t] - level
        squares, logs = squares + error * error / f, logs + np.log(f)
        level, p = level + p / f * error, p / f + ratio * ratio
    return (len(y) - 1) * np.log(squares) + logs


def fit(y: np.ndarray) -> float:
    """Return the ratio of the likeliest model, by ternary search."""
    low, high = 0.0, WIDEST
    while high - low > FINE:
        third = (high - low) / 3
        if misfit(low + third, y) < misfit(high - third, y):
            high = high - third
        else:
            low = low + third
    return (low + high) / 2


def fit_all(y: np.ndarray) -> np.ndarray:
    """Return the same for many series: the filter runs along the columns, all series at once."""
    y, low, high = np.ascontiguousarray(y.T), np.zeros(len(y)), np.full(len(y), WIDEST)
    while (high - low > FINE).any():
        third = (high - low) / 3
        left = misfit(low + third, y) < misfit(high - third, y)
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    return (low + high) / 2


def main(stage: Stage) -> None:
    nile, rng = np.array(NILE.split(), float), np.random.default_rng(0)
    steps, noise = rng.normal(size=(2, 20 if stage.small else 20_000, len(nile)))
    drawn = nile[0] + 122.9 * noise + 38.3 * np.cumsum(steps, axis=1)
    ways = dict(loop=fit, numpy=fit_all, lanewise=lw.vmap(fit))
    fits = stage.compare("series", (np.vstack([nile, drawn]),), **ways, atol=1e-4)
    years, (level, p), filtered = np.arange(1871, 1971), (nile[0], 1.0), [nile[0]]
    for flow in nile[1:]:
        p += fits[0] ** 2
        level, p = level + p / (p + 1) * (flow - level), p / (p + 1)
        filtered.append(level)
    with stage.picture(9, 3.2) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(years, nile, ".", color="0.6", label="flow of the Nile, 10⁸ m³")
        left.plot(years, filtered, color="#0072b2", label="its level, as filtered")
        left.legend(loc="lower left")
        right.hist(fits[1:], 100, color="#0072b2")
        right.axvline(fits[0], color="#d55e00", label=f"fitted to the Nile: {fits[0]:.3f}")
        right.set(xlim=(0, 1), yticks=[], xlabel="wandering / noise, fitted to drawn series")
        right.legend()


if __name__ == "__main__":
    main(Stage(__file__))
