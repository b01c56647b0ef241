"""Conway's game of life on a torus, with rolled arrays summed in slices of a padded one."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "game of life, 1,000 x 1,000, 20 turns"
SMALL = 0.02


def program(cells: np.ndarray, turns: int) -> np.ndarray:
    """Return the cells, 0 or 1, after some turns."""
    height, width = cells.shape
    board = np.zeros((height + 2, width + 2), dtype=cells.dtype)
    board[1:-1, 1:-1] = cells
    for _ in range(turns):
        board[0, :] = board[-2, :]
        board[-1, :] = board[1, :]
        board[:, 0] = board[:, -2]
        board[:, -1] = board[:, 1]
        around = (
            board[:-2, :-2]
            + board[:-2, 1:-1]
            + board[:-2, 2:]
            + board[1:-1, :-2]
            + board[1:-1, 2:]
            + board[2:, :-2]
            + board[2:, 1:-1]
            + board[2:, 2:]
        )
        alive = board[1:-1, 1:-1] == 1
        board[1:-1, 1:-1] = (around == 3) | (alive & (around == 2))
    return board[1:-1, 1:-1].copy()


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return a random board."""
    n = max(int(1000 * scale), 4)
    return (np.random.default_rng(14).random((n, n)) < 0.3).astype(np.int32), 20
