"""Recurrent cells: one step of a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise.nn.functions import sigmoid
from lanewise.nn.initializers import glorot_uniform, orthogonal
from lanewise.nn.layers import _check_size, _last, _positive
from lanewise.nn.module import Module
from lanewise.trace.variable import Variable


class _Cell(Module):
    """What cells of gates have in common: kernels with the gates side by side."""

    def __init__(self, units: int, gates: int, dtype: Any, seed: Any) -> None:
        self.units = _positive(units, "units")
        self.dtype = np.dtype(dtype)
        self.kernel: Any = None
        self.recurrent_kernel: Any = None
        self.bias: Any = None
        self._gates = gates
        self._rng = np.random.default_rng(seed)

    def _build(self, x: Any, bias: np.ndarray) -> None:
        size = _last(x, type(self).__name__)
        if self.kernel is None:
            rng, units, gates = self._rng, self.units, self._gates
            columns = [glorot_uniform(rng, (size, units), self.dtype) for _ in range(gates)]
            self.kernel = Variable(np.concatenate(columns, 1), name="kernel")
            columns = [orthogonal(rng, (units, units), self.dtype) for _ in range(gates)]
            self.recurrent_kernel = Variable(np.concatenate(columns, 1), name="recurrent_kernel")
            self.bias = Variable(bias.astype(self.dtype), name="bias")
        _check_size(size, self.kernel.shape[0], type(self).__name__)

    def _part(self, x: Any, number: int) -> Any:
        return x[..., number * self.units : (number + 1) * self.units]


class LSTMCell(_Cell):
    """A step of long short-term memory.

    S. Hochreiter and J. Schmidhuber, "Long short-term memory" (1997), with forget gates by F. Gers,
    J. Schmidhuber and F. Cummins (2000). The gates stand in the order input, forget, candidate,
    output; the forget gate's bias begins at 1 (R. Jozefowicz, W. Zaremba and I. Sutskever, 2015).

    Parameters
    ----------
    units : int
        The size of the state.
    dtype, seed
        As for `Dense`.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> cell = lw.nn.LSTMCell(4, seed=0)
    >>> h, c = cell(np.ones(3), cell.start())
    >>> h.shape, c.shape
    ((4,), (4,))
    """

    def __init__(self, units: int, dtype: Any = np.float64, seed: Any = None) -> None:
        super().__init__(units, 4, dtype, seed)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the state before the first step: zeros."""
        return np.zeros(self.units, self.dtype), np.zeros(self.units, self.dtype)

    def __call__(self, x: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the next hidden state, which is the output, and the next cell state."""
        bias = np.zeros(4 * self.units)
        bias[self.units : 2 * self.units] = 1
        self._build(x, bias)
        h, c = state
        gates = np.matmul(x, self.kernel.value) + np.matmul(h, self.recurrent_kernel.value)
        gates = gates + self.bias.value
        i, f, g, o = [self._part(gates, number) for number in range(4)]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c


class GRUCell(_Cell):
    """A step of a gated recurrent unit.

    K. Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical
    machine translation" (2014). The gates stand in the order update, reset, candidate; the reset
    gate is applied before the recurrent product.

    Parameters
    ----------
    units : int
        The size of the state.
    dtype, seed
        As for `Dense`.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> cell = lw.nn.GRUCell(4, seed=0)
    >>> cell(np.ones(3), cell.start()).shape
    (4,)
    """

    def __init__(self, units: int, dtype: Any = np.float64, seed: Any = None) -> None:
        super().__init__(units, 3, dtype, seed)

    def start(self) -> np.ndarray:
        """Return the state before the first step: zeros."""
        return np.zeros(self.units, self.dtype)

    def __call__(self, x: Any, h: Any) -> Any:
        """Return the next state, which is the output."""
        self._build(x, np.zeros(3 * self.units))
        inputs = np.matmul(x, self.kernel.value) + self.bias.value
        recurrent = self.recurrent_kernel.value
        before = np.matmul(h, recurrent[:, : 2 * self.units])
        z = sigmoid(self._part(inputs, 0) + self._part(before, 0))
        r = sigmoid(self._part(inputs, 1) + self._part(before, 1))
        candidate = np.tanh(self._part(inputs, 2) + np.matmul(r * h, self._part(recurrent, 2)))
        return z * h + (1 - z) * candidate
