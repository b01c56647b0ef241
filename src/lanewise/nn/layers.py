"""Layers: modules whose variables are made at the first call, when the inputs are known."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.calls import fn
from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.nn.initializers import glorot_uniform, uniform
from lanewise.nn.module import Module
from lanewise.trace.variable import Variable


class _Affine(Module):
    """What layers of a kernel and a bias have in common."""

    def __init__(
        self, activation: Callable[[Any], Any] | None, use_bias: bool, dtype: Any, seed: Any
    ) -> None:
        self.activation = activation
        self.use_bias = use_bias
        self.dtype = np.dtype(dtype)
        self.kernel: Any = None
        self.bias: Any = None
        self._rng = np.random.default_rng(seed)

    def _build(self, shape: tuple[int, ...], layer: str) -> None:
        """Make a kernel of a shape, the last two axes inputs and outputs; or check the inputs."""
        if self.kernel is None:
            self.kernel = Variable(glorot_uniform(self._rng, shape, self.dtype), name="kernel")
            if self.use_bias:
                self.bias = Variable(np.zeros(shape[-1], self.dtype), name="bias")
        _check_size(shape[-2], self.kernel.shape[-2], layer)

    def _finished(self, y: Any) -> Any:
        y = y + self.bias.value if self.use_bias else y
        return y if self.activation is None else fn(self.activation)(y)


class Dense(_Affine):
    """``activation(x @ kernel + bias)``, of the last axis of x.

    Parameters
    ----------
    units : int
        How many outputs.
    activation : callable, optional
        Applied to them.
    use_bias : bool
        Whether there is a bias.
    dtype : dtype
        Of the variables.
    seed : int or Generator, optional
        What the kernel is drawn from, by Glorot and Bengio (2010); the bias begins at zero.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> layer = lw.nn.Dense(3, seed=0)
    >>> layer(np.ones((5, 4))).shape, layer.kernel.shape, layer.bias.shape
    ((5, 3), (4, 3), (3,))
    """

    def __init__(
        self,
        units: int,
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        dtype: Any = np.float64,
        seed: Any = None,
    ) -> None:
        self.units = _positive(units, "units")
        super().__init__(activation, use_bias, dtype, seed)

    def __call__(self, x: Any) -> Any:
        """Return the outputs, with `units` in place of the last axis."""
        size = _last(x, "Dense")
        self._build((size, self.units), "Dense")
        return self._finished(np.matmul(x, self.kernel.value))


class Conv(_Affine):
    """A convolution (sliding products, the kernel not reversed) of ``(..., *space, channels)``.

    Parameters
    ----------
    filters : int
        How many outputs there are at each place.
    kernel_size : int or tuple of int
        The extent of the kernel; a tuple says how many axes the space has.
    strides : int or tuple of int
        Steps from place to place.
    padding : {"valid", "same"}
        Whether the kernel stays inside, or zeros around keep the size (divided by the strides).
    activation, use_bias, dtype, seed
        As for `Dense`.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.nn.Conv(8, (3, 3), padding="same", seed=0)(np.ones((28, 28, 1))).shape
    (28, 28, 8)
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        dtype: Any = np.float64,
        seed: Any = None,
    ) -> None:
        self.filters = _positive(filters, "filters")
        sizes = tuple(kernel_size) if isinstance(kernel_size, Sequence) else (kernel_size,)
        self.kernel_size = tuple([_positive(size, "kernel_size") for size in sizes])
        steps = tuple(strides) if isinstance(strides, Sequence) else (strides,) * len(sizes)
        self.strides = tuple([_positive(step, "strides") for step in steps])
        if len(self.strides) != len(self.kernel_size):
            raise ValueError("strides must have one entry for each of kernel_size")
        if padding not in ("valid", "same"):
            raise ValueError(f"padding must be 'valid' or 'same', not {padding!r}")
        self.padding = padding
        super().__init__(activation, use_bias, dtype, seed)

    def __call__(self, x: Any) -> Any:
        """Return the outputs: the space as `padding` says, then the filters."""
        rank = len(self.kernel_size)
        if np.ndim(x) < rank + 1:
            raise ValueError(
                f"Conv takes {rank} axes of space and one of channels, not shape {np.shape(x)}"
                f"{at(here())}"
            )
        size = np.shape(x)[-1]
        self._build((*self.kernel_size, size, self.filters), "Conv")
        space = np.shape(x)[-1 - rank : -1]
        if self.padding == "same":
            widths = [(0, 0)] * (np.ndim(x) - rank - 1)
            for extent, width, step in zip(space, self.kernel_size, self.strides, strict=True):
                more = max((-(-extent // step) - 1) * step + width - extent, 0)
                widths.append((more // 2, more - more // 2))
            x = np.pad(x, [*widths, (0, 0)])
            space = np.shape(x)[-1 - rank : -1]
        if any(extent < width for extent, width in zip(space, self.kernel_size, strict=True)):
            raise ValueError(
                f"Conv: the kernel {self.kernel_size} is larger than {space}{at(here())}"
            )
        counts = [
            (extent - width) // step + 1
            for extent, width, step in zip(space, self.kernel_size, self.strides, strict=True)
        ]
        # What the kernel sees at each place, side by side: one product does it all.
        places = _places(space, tuple(counts), self.kernel_size, self.strides)
        lead = np.shape(x)[: -1 - rank]
        flat = np.reshape(x, (*lead, math.prod(space), size))
        seen = np.reshape(flat[..., places, :], (*lead, *counts, self.kernel.size // self.filters))
        return self._finished(np.matmul(seen, np.reshape(self.kernel.value, (-1, self.filters))))


class Embedding(Module):
    """Rows of a table, by integers.

    Parameters
    ----------
    rows, units : int
        The size of the table.
    dtype, seed
        As for `Dense`.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.nn.Embedding(10, 4, seed=0)(np.array([1, 1, 7])).shape
    (3, 4)
    """

    def __init__(self, rows: int, units: int, dtype: Any = np.float64, seed: Any = None) -> None:
        rng = np.random.default_rng(seed)
        shape = (_positive(rows, "rows"), _positive(units, "units"))
        self.table = Variable(uniform(rng, shape, np.dtype(dtype)), name="table")

    def __call__(self, indices: Any) -> Any:
        """Return a row for each index."""
        return self.table[indices]


class LayerNorm(Module):
    """The last axis shifted and scaled to mean 0 and variance 1, then by learned factors.

    J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization" (2016).

    Parameters
    ----------
    epsilon : float
        Added to the variance.
    dtype
        As for `Dense`.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.nn.LayerNorm()(np.array([1.0, 3.0])).round(3)
    array([-1.,  1.])
    """

    def __init__(self, epsilon: float = 1e-5, dtype: Any = np.float64) -> None:
        self.epsilon = epsilon
        self.dtype = np.dtype(dtype)
        self.scale: Any = None
        self.offset: Any = None

    def __call__(self, x: Any) -> Any:
        """Return the normalized array."""
        size = _last(x, "LayerNorm")
        if self.scale is None:
            self.scale = Variable(np.ones(size, self.dtype), name="scale")
            self.offset = Variable(np.zeros(size, self.dtype), name="offset")
        _check_size(size, self.scale.shape[0], "LayerNorm")
        away = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(away * away, axis=-1, keepdims=True)
        return away / np.sqrt(variance + self.epsilon) * self.scale.value + self.offset.value


def _places(
    space: tuple[int, ...], counts: tuple[int, ...], size: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray:
    """Return for each place of a kernel where what it sees lies in the space, counted as a row."""
    axes = [
        np.arange(count)[:, None] * step + np.arange(width)
        for count, width, step in zip(counts, size, strides, strict=True)
    ]
    # First all places, then all elements of the kernel.
    found = np.ravel_multi_index(np.ix_(*[axis.ravel() for axis in axes]), space)
    pairs = [part for count, width in zip(counts, size, strict=True) for part in (count, width)]
    order = [*range(0, len(pairs), 2), *range(1, len(pairs), 2)]
    return found.reshape(pairs).transpose(order).reshape(-1)


def _positive(value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    return number


def _last(x: Any, layer: str) -> int:
    if not np.ndim(x):
        raise ValueError(f"{layer} takes arrays of one axis at least, not a number{at(here())}")
    return np.shape(x)[-1]


def _check_size(size: int, known: int, layer: str) -> None:
    if size != known:
        raise ValueError(
            f"{layer} was first called on {known} features, and now on {size}{at(here())}"
        )
