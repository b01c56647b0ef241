"""Choices and permutations: methods of `lanewise.random.Generator`.

A permutation sorts random bits. Of n elements two get the same 64 bits with a probability of less
than n^2 / 2^65, and then their order is not quite random. A choice without replacement takes what
comes first in one; with probabilities, the least of exponential waiting times (P. S. Efraimidis
and P. G. Spirakis, "Weighted random sampling with a reservoir", 2006).
"""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim
from lanewise.ir.location import here
from lanewise.ops.shapes import normalize_axis
from lanewise.random import samplers as plain
from lanewise.random.base import FLOAT64
from lanewise.random.checks import array_like, number
from lanewise.random.draws import shape_of
from lanewise.random.uniform import Uniform
from lanewise.trace.scratch import tensor_of
from lanewise.trace.sizes import number_of, size_from
from lanewise.trace.table.checks import checked
from lanewise.trace.tensor import Tensor, as_tensor

#: Few of many are chosen one by one, where sorting all would take long.
_MANY, _SHARE = 10_000, 50


class Ordering(Uniform):
    """Draws elements, and orders of them."""

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Return elements of an array, or integers below a number.

        Parameters
        ----------
        a : int or array
            What to choose from: along `axis`, or from ``range(a)``.
        size : int or tuple of int, optional
            How many; by default one.
        replace : bool
            Whether an element may be chosen again.
        p : array of float, optional
            The probability of each; by default all are alike.
        axis : int
            Along which axis of `a`.
        shuffle : bool
            Whether the order of a choice without replacement is random. It always is.

        Raises
        ------
        ValueError
            If there is nothing to choose from, more is to be chosen than there is, or `p` does not
            fit.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> rng.choice(["a", "b", "c"], size=4, p=[0.5, 0.5, 0.0])
        array(['b', 'b', 'a', 'a'], dtype='<U1')
        >>> sorted(rng.choice(5, size=5, replace=False).tolist())
        [0, 1, 2, 3, 4]
        """
        pool, count = _pool(a, axis)
        shape = shape_of(size, [])
        wanted = math.prod(shape)
        if isinstance(count, Dim):
            if not replace or p is not None:
                raise ValueError(
                    f"of an array of unknown size {count} elements are chosen{at(here())} without "
                    "replacement, or with p, which needs the size while tracing"
                )
            return _taken(pool, self._of_unknown(count, shape), axis)
        weights = None if p is None else _weights(p, count)
        if count == 0 and wanted:
            raise ValueError("a cannot be empty unless no samples are taken")
        if replace:
            index = self._with_replacement(count, weights, shape)
        else:
            if wanted > count:
                raise ValueError(
                    "Cannot take a larger sample than population when replace is False"
                )
            index = self._without_replacement(count, weights, wanted).reshape(shape)
        if pool is None:
            return index.item() if size is None and isinstance(index, np.ndarray) else index
        found = _taken(pool, index, normalize_axis(axis, len(pool.shape)))
        is_scalar = not np.ndim(found) and not isinstance(found, Tensor)
        return np.asarray(found) if is_scalar and size is not None else found

    def _of_unknown(self, count: Dim, shape: Any) -> Any:
        size: Any = number_of(count)
        some = checked(size, size > 0, ValueError("a cannot be empty unless no samples are taken"))
        return self.integers(0, some, size=shape)

    def _with_replacement(self, count: int, weights: Any, shape: Any) -> Any:
        if weights is None:
            ends = [np.array(0, np.uint64), np.array(count, np.uint64)]
            return self._sample(plain.INTEGERS, ends, shape, np.dtype(np.int64))
        edges = np.cumsum(weights)
        u = self._sample(plain.RANDOM, [], shape, FLOAT64)
        return np.minimum(np.searchsorted(edges / edges[-1], u, side="right"), count - 1)

    def _without_replacement(self, count: int, weights: Any, wanted: int) -> Any:
        if weights is not None:
            some = checked(
                weights,
                np.count_nonzero(weights) >= wanted,
                ValueError("Fewer non-zero entries in p than size"),
            )
            waits = self._sample(plain.STANDARD_EXPONENTIAL, [], (count,), FLOAT64)
            rate = np.where(some > 0, some, 1.0)
            return np.argsort(np.where(some > 0, waits / rate, np.inf), kind="stable")[:wanted]
        if count > _MANY and wanted * _SHARE < count:
            return self._one_by_one(count, wanted)
        return self._order(count)[:wanted]

    def _one_by_one(self, count: int, wanted: int) -> Any:
        """R. W. Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987)."""
        last = np.arange(count - wanted, count)
        drawn = self.integers(0, last, endpoint=True, size=(wanted,))
        if isinstance(drawn, Tensor):
            chosen: Any = as_tensor(drawn)
            for place in range(1, wanted):
                is_known = (chosen[:place] == chosen[place]).any()
                chosen[place] = np.where(is_known, int(last[place]), chosen[place])
        else:
            seen: set[int] = set()
            chosen = drawn
            for place, number_ in enumerate(drawn.tolist()):
                if number_ in seen:
                    number_ = int(last[place])
                    chosen[place] = number_
                seen.add(number_)
        return chosen[self._order(wanted)]

    def _order(self, count: Any) -> Any:
        bits = self._sample(plain.WORDS, [], (count,))
        return np.argsort(bits, kind="stable" if isinstance(bits, Tensor) else None)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Return an array in another order along an axis, or the integers below a number.

        Parameters
        ----------
        x : int or array
            What to permute; it stays as it is.
        axis : int
            Along which axis.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).permutation(6)
        array([4, 3, 2, 1, 0, 5])
        """
        if isinstance(x, (int, np.integer)):
            return self._order(max(operator.index(x), 0))
        array = array_like(x)
        if isinstance(array, Tensor) and not array.shape:
            return self._order(size_from(x, "how many integers are permuted"))
        place = normalize_axis(axis, len(array.shape))
        return _taken(array, self._order(array.shape[place]), place)

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Any:
        """Return an array of which each slice along an axis is in an order of its own.

        Parameters
        ----------
        x : array
            What to permute; it stays as it is, unless it is `out`.
        axis : int, optional
            Along which axis; by default all elements are permuted.
        out : array, optional
            Where to write the result.

        Raises
        ------
        ValueError
            If `out` has another shape.

        Examples
        --------
        >>> import numpy as np
        >>> import lanewise as lw
        >>> lw.random.default_rng(0).permuted(np.arange(6).reshape(2, 3), axis=1)
        array([[2, 1, 0],
               [4, 3, 5]])
        """
        array = array_like(x)
        if not array.shape:
            raise TypeError("x must be at least 1-dimensional")
        if out is not None:
            if not isinstance(out, (np.ndarray, Tensor)):
                raise TypeError("out must be a numpy array")
            if out.shape != array.shape:
                raise ValueError("out must have the same shape as x")
        if axis is None:
            flat = np.reshape(array, (-1,))
            found = np.reshape(_taken(flat, self._order(flat.shape[0]), 0), array.shape)
        else:
            place = normalize_axis(axis, len(array.shape))
            bits = self._sample(plain.WORDS, [], array.shape)
            order = np.argsort(bits, axis=place, kind="stable")
            found = np.take_along_axis(array, order, axis=place)
        if out is None:
            return found
        out[...] = found
        return out

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put an array, or a list, into another order along an axis, in place.

        Parameters
        ----------
        x : array or list
            What to shuffle.
        axis : int
            Along which axis; of a list 0.

        Raises
        ------
        TypeError
            If `x` cannot be written to.

        Examples
        --------
        >>> import lanewise as lw
        >>> cards = ["ace", "king", "queen", "jack"]
        >>> lw.random.default_rng(0).shuffle(cards)
        >>> cards
        ['jack', 'queen', 'king', 'ace']
        """
        if isinstance(x, (np.ndarray, Tensor)):
            if tensor_of(x) is None and not x.flags.writeable:
                raise ValueError("array is read-only")
            if not x.shape:
                raise TypeError("x must be an integer or at least 1-dimensional")
            x[...] = self.permutation(x, axis)
            return
        if not isinstance(x, MutableSequence):
            raise TypeError(f"{type(x).__name__} object cannot be shuffled: it is no array or list")
        if axis:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        order = self._order(len(x))
        if isinstance(order, Tensor):
            raise UnsupportedError(
                f"a list is shuffled in a traced function{at(here())}: the order is data there. "
                "Shuffle an array, or the list outside"
            )
        x[:] = [x[place] for place in order]


def _taken(array: Any, index: Any, axis: int) -> Any:
    """Return elements of an array: NumPy does not look whether the index is traced."""
    if isinstance(index, Tensor):
        array = as_tensor(array, "what is chosen from")
    return np.take(array, index, axis=axis)


def _pool(a: Any, axis: int) -> tuple[Any, Any]:
    """Return the array to choose from, None for integers; and how many there are."""
    a = array_like(a)
    if isinstance(a, Tensor):
        if not a.shape:
            raise UnsupportedError(
                f"a choice from as many integers as the data say{at(here())}: use "
                "integers(n), or p with zeros"
            )
        return a, a.shape[normalize_axis(axis, len(a.shape))]
    array: np.ndarray = a
    if array.ndim:
        return array, array.shape[normalize_axis(axis, array.ndim)]
    try:
        count = operator.index(array.item())
    except TypeError:
        raise ValueError(f"a must be a sequence or an integer, not {array.item()!r}") from None
    if count < 0:
        raise ValueError("a must be a positive integer unless no samples are taken")
    return None, count


def _weights(p: Any, count: int) -> Any:
    """Return probabilities that were checked."""
    found = number("p", p)
    if len(found.shape) != 1:
        raise ValueError("p must be 1-dimensional")
    if found.shape[0] != count:
        raise ValueError("a and p must have same size")
    found = checked(found, ~np.isnan(found).any(), ValueError("Probabilities contain NaN"))
    found = checked(found, found >= 0, ValueError("Probabilities are not non-negative"))
    off = np.abs(found.sum() - 1.0) <= 1e-8 * max(count, 1) ** 0.5
    return checked(found, off, ValueError("Probabilities do not sum to 1"))
