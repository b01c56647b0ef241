"""How the weights of layers begin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def glorot_uniform(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return weights between bounds that keep the size of signals both ways.

    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010). The last two axes are inputs and outputs, those before them positions.
    """
    positions = math.prod(shape[:-2])
    bound = math.sqrt(6 / (positions * (shape[-2] + shape[-1])))
    return rng.uniform(-bound, bound, shape).astype(dtype)


def orthogonal(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return orthogonal columns or rows, for recurrent weights.

    A. Saxe, J. McClelland and S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks" (2014).
    """
    rows, columns = shape
    q, r = np.linalg.qr(rng.standard_normal((max(shape), min(shape))))
    q *= np.sign(np.diagonal(r))
    return (q if rows >= columns else q.T).astype(dtype)


def uniform(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return small numbers around zero, for tables of embeddings."""
    return rng.uniform(-0.05, 0.05, shape).astype(dtype)
