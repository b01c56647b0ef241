"""How far apart are languages? The edit distances between all their words for 1 to 10.

`distance` is V. I. Levenshtein's (1965) of two words, by the usual table of which one row is kept.
The words of 36 languages, in Latin letters without accents, are in `numerals.txt`.
"""

from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

import lanewise as lw
from stage import Stage


def distance(a: np.ndarray, b: np.ndarray) -> int:
    """Return how many letters to insert, delete or replace in word a (0 behind it) to get b."""
    row = np.arange(len(b) + 1)
    for i in range(np.count_nonzero(a)):
        corner, row[0] = row[0], i + 1
        for j in range(len(b)):
            replaced = corner + (a[i] != b[j])
            corner = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, corner + 1)
    return row[np.count_nonzero(b)]


def distance_all(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the same of all pairs, a step of all tables at a time."""
    a, b, pairs = a.T, b.T, np.arange(len(a))
    tables = np.zeros((len(a) + 1, len(b) + 1, len(pairs)), int)
    tables[:, 0], tables[0] = np.arange(len(a) + 1)[:, None], np.arange(len(b) + 1)[:, None]
    for i in range(len(a)):
        for j in range(len(b)):
            changed = np.minimum(tables[i, j + 1], tables[i + 1, j]) + 1
            tables[i + 1, j + 1] = np.minimum(changed, tables[i, j] + (a[i] != b[j]))
    return tables[np.count_nonzero(a, axis=0), np.count_nonzero(b, axis=0), pairs]


def main(stage: Stage) -> None:
    lines = (Path(__file__).parent / "numerals.txt").read_text().splitlines()
    names, *numerals = zip(*map(str.split, lines[:6] if stage.small else lines), strict=True)
    words = [word for number in numerals for word in number]
    letters = np.array(words, dtype=f"S{max(map(len, words))}")
    codes = letters.view(np.uint8).reshape(len(words), -1)
    one, other = (grid.ravel() for grid in np.indices((len(words), len(words))))
    ways = dict(loop=distance, numpy=distance_all, lanewise=lw.vmap(distance))
    found = stage.compare("pairs of words", (codes[one], codes[other]), **ways)
    lengths = np.count_nonzero(codes, axis=1)
    relative = (found / np.maximum(lengths[one], lengths[other])).reshape(len(words), -1)
    count, starts = len(names), range(0, len(words), len(names))
    languages = np.mean([relative[n : n + count, n : n + count] for n in starts], axis=0)
    with stage.picture(9, 5) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.1])
        tree = linkage(squareform(languages), "average")
        drawn = dendrogram(tree, labels=names, orientation="left", ax=left, leaf_font_size=8)
        left.spines[:].set_visible(False)
        left.set(xlabel="mean distance of the words, by their lengths")
        order = np.add.outer(starts, drawn["leaves"][::-1]).ravel()
        right.imshow(relative[np.ix_(order, order)], cmap="magma", interpolation="nearest")
        ticks = count * (np.arange(10) + 0.5)
        right.set(xticks=ticks, yticks=ticks, title="distances of all words")
        right.set(xticklabels=range(1, 11), yticklabels=range(1, 11))


if __name__ == "__main__":
    main(Stage(__file__))
