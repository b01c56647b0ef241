"""Explicit keys, for who wants them: a key is an array, and what it gives is a function of it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.random.generator import Generator
from lanewise.random.streams import FOLDED, SPLIT, checked_key, derived, seeded
from lanewise.trace.tensor import Tensor


def default_rng(seed: Any = None) -> Generator:
    """Return a generator of its own.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence, Generator or None
        What its numbers are a function of, in a traced function also a traced integer. None for a
        new source at each call. A generator is returned as it is.

    Raises
    ------
    TypeError, ValueError
        What NumPy raises for such a seed.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> a, b = lw.random.default_rng(5), lw.random.default_rng(5)
    >>> bool(a.normal() == b.normal())
    True

    Each example with a seed of its own is no draw from a generator outside of the map:

    >>> lw.vmap(lambda seed: lw.random.default_rng(seed).integers(10))(np.arange(5))
    array([1, 7, 8, 8, 5])
    """
    return seed if isinstance(seed, Generator) else Generator(seed)


def key(seed: Any) -> Any:
    """Return a key: two ``uint64`` that are a function of a seed.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence
        May be traced, if it is an integer.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.random.key(0)
    array([ 4585031032653360694, 11385830348545214790], dtype=uint64)
    """
    return np.stack(seeded(seed))


def split(key: Any, n: int = 2) -> Any:
    """Return keys that are independent of a key and of each other, as rows.

    Parameters
    ----------
    key : array of two uint64
        Not to be used for draws any more.
    n : int
        How many.

    Examples
    --------
    >>> import lanewise as lw
    >>> lw.random.split(lw.random.key(0), 3).shape
    (3, 2)
    """
    count = operator.index(n)
    if count < 0:
        raise ValueError(f"n must not be negative, but is {count}{at(here())}")
    k0, k1 = checked_key(key)
    return np.stack(derived(k0, k1, np.arange(count, dtype=np.uint64), SPLIT), axis=-1)


def fold_in(key: Any, data: Any) -> Any:
    """Return a key that is a function of a key and a number: of a step, or of a chain.

    Parameters
    ----------
    key : array of two uint64
        May be used for other numbers again.
    data : int
        At least 0, below 2^64; may be traced.

    Examples
    --------
    >>> import lanewise as lw
    >>> key = lw.random.key(0)
    >>> bool((lw.random.fold_in(key, 1) == lw.random.fold_in(key, 2)).any())
    False
    """
    k0, k1 = checked_key(key)
    if isinstance(data, Tensor):
        if data.dtype.kind not in "iu":
            raise TypeError(f"data is an integer, not {data!r}{at(here())}")
        folded: Any = data.astype(np.uint64)
    else:
        number = operator.index(data)
        if not 0 <= number < 1 << 64:
            raise ValueError(f"data is at least 0 and below 2**64, not {number}{at(here())}")
        folded = np.array(number, np.uint64)
    return np.stack(derived(k0, k1, folded, FOLDED), axis=-1)
