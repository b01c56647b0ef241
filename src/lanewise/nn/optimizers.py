"""Optimisers, as functions over trees of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lanewise.trace import tree


class Optimizer(NamedTuple):
    """A way to learn: two functions over trees of parameters.

    Attributes
    ----------
    init
        Of the parameters; returns the first state.
    update
        Of the gradients, the state and the parameters; returns the next parameters and state. It is
        plain NumPy, so it can be mapped and traced.

    Examples
    --------
    >>> import numpy as np
    >>> optimizer = sgd(0.5)
    >>> state = optimizer.init(np.array([2.0]))
    >>> parameters, state = optimizer.update(np.array([1.0]), state, np.array([2.0]))
    >>> parameters
    array([1.5])
    """

    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]


def sgd(learning_rate: float, momentum: float = 0.0) -> Optimizer:
    """Return steepest descent, with momentum (B. Polyak, 1964).

    Parameters
    ----------
    learning_rate : float
        The length of a step, times the gradient.
    momentum : float
        What part of a step goes on in the next one.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> optimizer = lw.nn.sgd(0.25)
    >>> x = np.array([4.0, -8.0])
    >>> x, state = optimizer.update(lw.grad(lambda x: (x * x).sum())(x), optimizer.init(x), x)
    >>> x
    array([ 2., -4.])
    """

    def init(params: Any) -> Any:
        return tree.map_leaves(np.zeros_like, params) if momentum else ()

    def update(grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
        if momentum:
            state = tree.map_leaves(lambda v, g: momentum * v + g, state, grads)
        steps = state if momentum else grads
        return tree.map_leaves(lambda p, s: p - learning_rate * s, params, steps), state

    return Optimizer(init, update)


def adam(
    learning_rate: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Optimizer:
    """Return Adam (D. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015).

    Parameters
    ----------
    learning_rate : float
        About the length of a step in each parameter.
    beta1, beta2 : float
        How slowly the means of gradients and of their squares forget.
    epsilon : float
        Added to the root of the mean square.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> optimizer = lw.nn.adam(0.1)
    >>> x = {"w": np.array([1.0, -2.0])}
    >>> state = optimizer.init(x)
    >>> loss = lambda x: ((x["w"] - 3) ** 2).sum()
    >>> for _ in range(300):
    ...     x, state = optimizer.update(lw.grad(loss)(x), state, x)
    >>> x["w"].round(2)
    array([3., 3.])
    """

    def init(params: Any) -> Any:
        zeros = tree.map_leaves(np.zeros_like, params)
        return np.zeros((), np.int64), zeros, zeros

    def update(grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
        count, mean, square = state
        count = count + 1
        mean = tree.map_leaves(lambda m, g: beta1 * m + (1 - beta1) * g, mean, grads)
        square = tree.map_leaves(lambda v, g: beta2 * v + (1 - beta2) * abs(g) ** 2, square, grads)
        first, second = 1 - beta1**count, 1 - beta2**count

        def step(p: Any, m: Any, v: Any) -> Any:
            change = learning_rate * (m / first) / (np.sqrt(v / second) + epsilon)
            return p - change.astype(p.dtype)

        return tree.map_leaves(step, params, mean, square), (count, mean, square)

    return Optimizer(init, update)
