"""`Generator`: NumPy's interface over a key and a counter."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.random.continuous import Continuous
from lanewise.random.discrete import Discrete
from lanewise.random.gammas import Gammas
from lanewise.random.multivariate import Multivariate
from lanewise.random.ordering import Ordering
from lanewise.random.streams import (
    SPAWNED,
    Kept,
    Stream,
    checked_key,
    derived,
    fresh_key,
    seeded,
    stream_of,
)
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Trace, state


class Generator(Continuous, Gammas, Discrete, Multivariate, Ordering):
    """A source of random numbers with the methods of ``numpy.random.Generator``.

    Its state is a key and a counter. A draw of n samples takes the counters of n, and each sample
    is a function of the key and its own counter: so numbers do not depend on threads, on chunks, or
    on how the code is run, and ``normal(size=2)`` twice gives what ``normal(size=4)`` gives.

    Traced functions draw anew at each call, also in branches and loops that data steer. Mapped
    functions draw what `lanewise.vmap` says with ``randomness``. A generator that is made in a
    mapped function belongs to each example, which is no draw from outside.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence or None
        What the key is made of; None for a key from the operating system.

    Examples
    --------
    >>> import lanewise as lw
    >>> rng = lw.random.Generator(7)
    >>> rng.integers(0, 10, size=5)
    array([1, 9, 9, 5, 6])
    >>> lw.random.Generator(7).integers(0, 10, size=5)
    array([1, 9, 9, 5, 6])
    """

    def __init__(self, seed: Any = None) -> None:
        self._home = _recording()
        self._origin = self._made(*(_own_key() if seed is None else seeded(seed)))

    @classmethod
    def from_key(cls, key: Any) -> Generator:
        """Return the generator of a key, as `lanewise.random.key` and its like give them.

        Parameters
        ----------
        key : array of two uint64
            May be traced: each example of a map can have its own.

        Raises
        ------
        TypeError
            If it is no such array.

        Examples
        --------
        >>> import numpy as np
        >>> import lanewise as lw
        >>> keys = lw.random.split(lw.random.key(1), 3)
        >>> draw = lambda key: lw.random.Generator.from_key(key).random()
        >>> bool(np.all(lw.vmap(draw)(keys) == [draw(key) for key in keys]))
        True
        """
        self = object.__new__(cls)
        self._home = _recording()
        self._origin = self._made(*checked_key(key))
        return self

    @classmethod
    def of_origin(cls, origin: Any, home: Trace | None) -> Generator:
        """Return the generator of numbers that come from somewhere else, known in a trace."""
        self = object.__new__(cls)
        self._home, self._origin = home, origin
        return self

    def _made(self, k0: Any, k1: Any) -> Kept | Stream:
        return Kept(k0, k1) if self._home is None else Stream(k0, k1)

    # --- its state --------------------------------------------------------------------------------

    def _stream(self) -> Kept | Stream:
        return stream_of(self, self._origin, self._home)

    @property
    def key(self) -> Any:
        """The key: two ``uint64``. In a mapped function that of the example's own stream."""
        stream = self._stream()
        words = (stream.k0, stream.k1)
        return np.stack([x if isinstance(x, Tensor) else x.value for x in words])

    @property
    def counter(self) -> Any:
        """How many samples were drawn: a ``uint64``. It may be set, to go back or ahead.

        Examples
        --------
        >>> import lanewise as lw
        >>> rng = lw.random.default_rng(0)
        >>> first = rng.random(3)
        >>> rng.counter = 1
        >>> bool(rng.random() == first[1])
        True
        """
        found = self._stream().counter
        return found[()] if isinstance(found, Tensor) else found.value[()]

    @counter.setter
    def counter(self, value: Any) -> None:
        stream = self._stream()
        if not isinstance(value, Tensor):
            number = operator.index(value)
            if not 0 <= number < 1 << 64:
                raise ValueError(
                    f"a counter is at least 0 and below 2**64, not {number}{at(here())}"
                )
            value = np.array(number, np.uint64)
        stream.set(stream.k0, stream.k1, value.astype(np.uint64))

    def seed(self, seed: Any = None) -> None:
        """Begin anew, as a generator with that seed would.

        Parameters
        ----------
        seed : int, sequence of int, SeedSequence or None
            As for the class.

        Examples
        --------
        >>> import lanewise as lw
        >>> lw.random.seed(1)
        >>> first = lw.random.random()
        >>> lw.random.seed(1)
        >>> bool(lw.random.random() == first)
        True
        """
        self._stream().set(*(_own_key() if seed is None else seeded(seed)), np.array(0, np.uint64))

    def spawn(self, n_children: int) -> list[Generator]:
        """Return new generators, independent of this one and of each other.

        Parameters
        ----------
        n_children : int
            How many.

        Examples
        --------
        >>> import lanewise as lw
        >>> first, second = lw.random.default_rng(3).spawn(2)
        >>> bool(first.random() == second.random())
        False
        """
        count = operator.index(n_children)
        if count < 0:
            raise ValueError(f"n_children must not be negative, but is {count}{at(here())}")
        k0, k1, counter = self._stream().take(count)
        children = []
        for number in range(count):
            child = object.__new__(Generator)
            child._home = _recording()
            child._origin = child._made(*derived(k0, k1, counter + np.uint64(number), SPAWNED))
            children.append(child)
        return children

    def __reduce__(self) -> Any:
        if self._home is not None:
            raise TypeError("a generator of a traced function cannot be copied or pickled")
        origin = self._origin
        return _restored, tuple([int(x.current) for x in (origin.k0, origin.k1, origin.counter)])

    def __repr__(self) -> str:
        return f"<lanewise.random.Generator at {id(self):#x}>"


def _recording() -> Trace | None:
    """Return the trace that records what is done now, if there is one."""
    trace = state.trace
    return None if trace is None or trace.is_eager else trace


def _own_key() -> tuple[Any, Any]:
    """Return a key for who has none: in a traced function one that is another at each call."""
    if _recording() is None:
        return fresh_key()
    return derived(*default._stream().take(1), SPAWNED)


def _restored(k0: int, k1: int, counter: int) -> Generator:
    self = Generator.from_key(np.array([k0, k1], np.uint64))
    self.counter = counter
    return self


#: What the functions of `lanewise.random` draw from.
default = Generator.from_key(np.array(fresh_key(), np.uint64))
