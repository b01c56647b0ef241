"""PageRank by power iteration on a dense matrix of links."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "PageRank, 2,000 pages, 20 turns"
SMALL = 0.03


def program(links: np.ndarray, damping: float, turns: int) -> np.ndarray:
    """Return the rank of each page; links[i, j] is 1 where page j links to page i."""
    n = links.shape[0]
    out = links.sum(axis=0)
    dangling = out == 0
    share = links / np.where(dangling, 1.0, out)
    rank = np.full(n, 1 / n)
    for _ in range(turns):
        lost = np.sum(np.where(dangling, rank, 0.0))
        rank = damping * (share @ rank + lost / n) + (1 - damping) / n
        rank = rank / rank.sum()
    return rank


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a random web."""
    n = max(int(2000 * scale), 5)
    links = (np.random.default_rng(8).random((n, n)) < 8 / n).astype(np.float64)
    return links, 0.85, 20
