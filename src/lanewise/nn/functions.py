"""Activations and losses, in plain NumPy: they can be mapped, traced and differentiated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lanewise import random
from lanewise.errors import at
from lanewise.ir.location import here


def relu(x: Any) -> Any:
    """Return x where it is positive, else 0. Its derivative at 0 is 0.

    Examples
    --------
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return np.where(x <= 0, 0, x)


def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """Return x where it is positive, else a small part of it (Maas et al., 2013).

    Examples
    --------
    >>> leaky_relu(np.array([-1.0, 2.0]))
    array([-0.01,  2.  ])
    """
    return np.where(x > 0, x, slope * x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return x where it is positive, else ``alpha * (exp(x) - 1)`` (Clevert et al., 2016).

    Examples
    --------
    >>> elu(np.array([-1.0, 2.0])).round(3)
    array([-0.632,  2.   ])
    """
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def sigmoid(x: Any) -> Any:
    """Return the logistic function, without overflow.

    Examples
    --------
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    return 0.5 * np.tanh(0.5 * x) + 0.5


def silu(x: Any) -> Any:
    """Return x times its sigmoid (Elfwing et al., 2018).

    Examples
    --------
    >>> silu(np.array([-1.0, 2.0])).round(3)
    array([-0.269,  1.762])
    """
    return x * sigmoid(x)


def gelu(x: Any) -> Any:
    """Return x times the normal distribution function, as tanh has it (Hendrycks, Gimpel 2016).

    Examples
    --------
    >>> gelu(np.array([-1.0, 2.0])).round(3)
    array([-0.159,  1.955])
    """
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))``, without overflow.

    Examples
    --------
    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).round(3)
    array([0.00e+00, 6.93e-01, 1.00e+03])
    """
    return np.logaddexp(x, np.zeros_like(x))


def tanh(x: Any) -> Any:
    """Return ``np.tanh(x)``.

    Examples
    --------
    >>> tanh(np.array([0.0, 1000.0]))
    array([0., 1.])
    """
    return np.tanh(x)


def logsumexp(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """Return ``log(sum(exp(x)))`` along an axis, without overflow.

    Examples
    --------
    >>> (logsumexp(np.array([1000.0, 1000.0])) - 1000).round(6)
    np.float64(0.693147)
    """
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, np.zeros_like(top))
    found = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return found if keepdims else np.squeeze(found, axis)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """Return the logarithm of `softmax`, without loss of digits.

    Examples
    --------
    >>> log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: Any, axis: int = -1) -> Any:
    """Return exponentials along an axis, divided by their sum.

    Examples
    --------
    >>> softmax(np.array([0.0, 0.0, 1000.0]))
    array([0., 0., 1.])
    """
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def one_hot(indices: Any, count: int, dtype: Any = np.float64) -> Any:
    """Return for each index a row of `count` numbers: 1 at the index, else 0.

    Examples
    --------
    >>> one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return (np.expand_dims(indices, -1) == np.arange(count)).astype(dtype)


def softmax_cross_entropy(logits: Any, labels: Any, axis: int = -1) -> Any:
    """Return the cross entropy of a distribution and the softmax of logits, along an axis.

    Examples
    --------
    >>> softmax_cross_entropy(np.zeros(4), np.array([0.5, 0.5, 0.0, 0.0])).round(4)
    np.float64(1.3863)
    """
    return -np.sum(labels * log_softmax(logits, axis), axis=axis)


def sparse_softmax_cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the cross entropy of classes, as integers, and the softmax of logits (last axis).

    Examples
    --------
    >>> sparse_softmax_cross_entropy(np.zeros((1, 4)), np.array([2])).round(4)
    array([1.3863])
    """
    picked = np.take_along_axis(logits, np.expand_dims(labels, -1), -1)
    return logsumexp(logits) - np.squeeze(picked, -1)


def sigmoid_cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the cross entropy of probabilities and the sigmoid of logits, element by element.

    Examples
    --------
    >>> sigmoid_cross_entropy(np.array([0.0, 1000.0]), np.array([1.0, 1.0])).round(4)
    array([0.6931, 0.    ])
    """
    return softplus(logits) - labels * logits


def mean_squared_error(predictions: Any, targets: Any) -> Any:
    """Return the mean of the squared differences.

    Examples
    --------
    >>> mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    return np.mean(np.square(predictions - targets))


def l2_loss(x: Any) -> Any:
    """Return half the sum of the squares.

    Examples
    --------
    >>> l2_loss(np.array([3.0, 4.0]))
    np.float64(12.5)
    """
    return np.sum(np.square(x)) / 2


def dropout(x: Any, rate: float, mask: Any = None, seed: Any = None) -> Any:
    """Set a part of the elements to zero, and scale the others up to keep the mean.

    N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.

    Parameters
    ----------
    x : array
        What to drop elements of.
    rate : float
        The probability of each to be dropped, 0 to less than 1.
    mask : array of bool, optional
        Which elements stay; drawn otherwise.
    seed : int or lanewise.random.Generator, optional
        What the mask is drawn from; the default generator of `lanewise.random` otherwise. An int
        gives one mask for each shape, also in a mapped function.

    Raises
    ------
    ValueError
        If the rate is not of [0, 1).
    RuntimeError
        If the mask is drawn in a mapped function, and the map refuses that: say
        ``randomness="different"`` for a mask for each example, or ``"same"``.

    Examples
    --------
    >>> dropout(np.ones(4), 0.5, mask=np.array([True, False, True, False]))
    array([2., 0., 2., 0.])
    """
    if not 0 <= rate < 1:
        raise ValueError(f"rate must be at least 0 and less than 1, not {rate}{at(here())}")
    if mask is None:
        draw = random.random if seed is None else random.default_rng(seed).random
        mask = draw(np.shape(x)) >= rate
    return np.where(mask, x / (1 - rate), np.zeros_like(x))
