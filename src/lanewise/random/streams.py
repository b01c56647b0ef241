"""Where numbers come from: a key, and the counter of the next draw, kept from draw to draw.

A generator that is made outside of traces keeps both in variables (`lanewise.trace.variable`), so a
traced function takes them at each call, and leaves the counter where it has come to. One that is
made inside of a trace has a `Stream` there.

A mapped function does not change a generator outside of it: which example would be first? The map
takes one counter of the generator, and makes a key of it for a stream of its own (J. K. Salmon et
al., 2011; K. Claessen and M. H. Pałka, "Splittable pseudorandom number generators using
cryptographic hashing", 2013). If examples shall differ, the example's number goes into that key.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.errors import LeakedTensorError, at
from lanewise.ir.location import here
from lanewise.ir.types import array_type
from lanewise.ops.creation import dimension
from lanewise.ops.random import U64, random_draw
from lanewise.trace.regions import note_state, resumed
from lanewise.trace.tensor import Tensor, emit, lift, read
from lanewise.trace.trace import Trace, current_trace, state
from lanewise.trace.variable import Variable, assigning

MASK = 2**64 - 1
# The second word of the counter tells what a block is for. Samples of a distribution have numbers
# below 2^62; what is above makes keys: of an example of a map, of all of them, and so on.
EXAMPLE, ALL_EXAMPLES = 1 << 63, (1 << 63) | (1 << 62)
SPAWNED, SPLIT, FOLDED, SEEDED = MASK, MASK - 1, MASK - 2, MASK - 3


class Taken(NamedTuple):
    """A key, as two words, and the first of some counters that belong to one draw."""

    k0: Any
    k1: Any
    counter: Any


def word(x: int) -> np.ndarray:
    """Return an integer of 64 bits, wrapped around."""
    return np.array(x & MASK, U64)


def block(law: str, *words: Any) -> Any:
    """Return a draw: a tensor where something is traced, else an array."""
    if any([isinstance(x, Tensor) for x in words]):
        return emit(random_draw, *[literal(x) if type(x) is int else x for x in words], law=law)
    words = tuple([word(x) if type(x) is int else x for x in words])
    return random_draw.numpy(*words, law=law)  # ty: ignore[not-callable]


def literal(x: int) -> Tensor:
    """Return a word as a constant of the trace."""
    trace = current_trace()
    assert trace is not None
    return Tensor(trace, trace.scalar(x, U64))


def derived(k0: Any, k1: Any, c0: Any, c1: Any) -> tuple[Any, Any]:
    """Return the key that a block is."""
    return block("bits", k0, k1, c0, c1), block("more_bits", k0, k1, c0, c1)


def advanced(counter: Any, count: Any) -> Any:
    """Return the counter behind `count` more draws; a size that is not known yet is a number."""
    if type(count) is int and not isinstance(counter, Tensor):
        return word(int(counter) + count)
    if type(count) is int:
        return counter + count
    return counter + emit(dimension, size=count).astype(np.uint64)


class Kept:
    """A key and a counter in variables: of a generator made outside of traces."""

    __slots__ = ("counter", "k0", "k1")

    def __init__(self, k0: Any, k1: Any, counter: Any = 0) -> None:
        rows = [("key", k0), ("key", k1), ("counter", counter)]
        self.k0, self.k1, self.counter = [
            Variable(np.asarray(x, U64), trainable=False, name=f"the {name} of a generator")
            for name, x in rows
        ]

    def set(self, k0: Any, k1: Any, counter: Any) -> None:
        """Make others the key and the counter."""
        with assigning:
            own = self.k0, self.k1, self.counter
            for variable, x in zip(own, (k0, k1, counter), strict=True):
                variable.assign(np.asarray(x, U64) if not isinstance(x, Tensor) else x)

    def take(self, count: Any) -> Taken:
        """Return the key and the counters of a draw, which nobody else has."""
        trace = current_trace()
        if trace is not None and not trace.is_eager:
            found = Taken(self.k0.value, self.k1.value, self.counter.value)
            self.counter.become(Tensor(trace, read(advanced(found.counter, count))))
            return found
        with assigning:  # two threads must not draw the same numbers
            found = Taken(self.k0.current, self.k1.current, self.counter.current)
            # Not `become`: a generator of the function itself may draw where nothing is assigned.
            self.counter.set_state([advanced(found.counter, count)])
        return found


class Stream:
    """A key and a counter in a trace: of a generator made there, or of a map."""

    __slots__ = ("__weakref__", "counter", "k0", "k1")

    def __init__(self, k0: Any, k1: Any, counter: Any = 0) -> None:
        trace = current_trace()
        assert trace is not None
        self.k0, self.k1, self.counter = [
            Tensor(trace, lift(x if isinstance(x, Tensor) else np.asarray(x, U64)))
            for x in (k0, k1, counter)
        ]

    def set(self, k0: Any, k1: Any, counter: Any) -> None:
        """Make others the key and the counter."""
        trace = current_trace()
        assert trace is not None
        note_state(self)
        self.set_state([Tensor(trace, lift(x)) for x in (k0, k1, counter)])

    def take(self, count: Any) -> Taken:
        """Return the key and the counters of a draw, which nobody else has."""
        found = Taken(self.k0, self.k1, self.counter)
        note_state(self)
        self.counter = advanced(found.counter, count)
        return found

    def state_leaves(self) -> list[Any]:
        """Return what a branch or a loop may change."""
        return [self.k0, self.k1, self.counter]

    def set_state(self, leaves: Sequence[Any]) -> None:
        """Put back, or hand over, what `state_leaves` gives."""
        self.k0, self.k1, self.counter = leaves


def stream_of(owner: Any, origin: Kept | Stream, home: Trace | None) -> Kept | Stream:
    """Return where a generator's numbers come from in the trace that is recorded now.

    Parameters
    ----------
    owner
        The generator.
    origin, home
        Where they come from in the trace that it was made in, and that trace.

    Raises
    ------
    RuntimeError
        In a mapped function, if the map has ``randomness="error"``.
    LeakedTensorError
        If the generator was made in a trace that is not recorded now.
    """
    trace, within = state.trace, None
    while trace is not None and trace is not home:
        if within is None and trace.randomness is not None:
            within = trace
        trace = trace.parent
    if trace is not home:
        raise LeakedTensorError(
            f"a generator is used{at(here())} that was made in a traced function, outside of that. "
            "Make it outside, or return what it draws"
        )
    if within is None:
        return origin
    if within.streams is None:
        within.streams = {}
    known = within.streams.get(id(owner))
    if known is None:
        known = within.streams[id(owner)] = owner, _stream_of_map(owner, origin, home, within)
    return known[1]


def _stream_of_map(owner: Any, origin: Any, home: Trace | None, within: Trace) -> Stream:
    """Return the stream that a generator outside of a map has for the map's examples."""
    refuse_draw(within)
    before = state.trace
    state.trace = within.parent
    try:
        taken = stream_of(owner, origin, home).take(1)
    finally:
        state.trace = before
    with resumed(within):
        purpose: Any = ALL_EXAMPLES
        if within.randomness == "different":
            if within.number is None:
                within.number = within.input(array_type(U64, ()))
            number: Any = Tensor(within, within.number)
            purpose = number | literal(EXAMPLE)
        words = [Tensor(within, lift(x)) for x in taken]
        return Stream(*derived(*words, purpose))


def refuse_draw(trace: Trace) -> None:
    """Raise for a draw in a map that refuses them."""
    if trace.randomness == "error":
        raise RuntimeError(
            f'a mapped function draws random numbers{at(here())}, which randomness="error" (the '
            'default of vmap) refuses: say randomness="different" for other numbers in each '
            'example, or randomness="same" for the same in all'
        )


# --- keys -----------------------------------------------------------------------------------------


def fresh_key() -> tuple[np.ndarray, np.ndarray]:
    """Return a key that nobody can guess, from the operating system."""
    bits = secrets.randbits(128)
    return word(bits), word(bits >> 64)


def seeded(seed: Any) -> tuple[Any, Any]:
    """Return the key that a seed gives: an integer, a sequence of them, or a traced integer.

    Raises
    ------
    TypeError, ValueError
        What NumPy raises for such a seed.
    """
    words = _words(seed)
    is_sequence = not isinstance(seed, (int, np.integer, Tensor)) and len(words) != 1
    k0, k1 = word(len(words) if is_sequence else 0), word(is_sequence)
    for x in words:
        k0, k1 = derived(k0, k1, x, SEEDED)
    return k0, k1


def _words(seed: Any) -> list[Any]:
    if isinstance(seed, Tensor):
        if seed.dtype.kind not in "iu" or seed.shape:
            raise TypeError(f"a seed is an integer, not {seed!r}{at(here())}")
        return [seed.astype(np.uint64)]
    if hasattr(seed, "bit_generator"):  # a Generator of NumPy's: it gives a key
        seed = int.from_bytes(seed.bytes(16), "little")
    if hasattr(seed, "generate_state"):  # a SeedSequence of NumPy's
        return [word(int(x)) for x in seed.generate_state(4, np.uint64)]
    if isinstance(seed, (int, np.integer)):
        number = int(seed)
        if number < 0:
            raise ValueError("expected non-negative integer")
        words = [word(number)]
        while number := number >> 64:
            words.append(word(number))
        return words
    is_sequence = isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, (str, bytes))
    if not is_sequence:
        raise TypeError(f"a seed is an integer or a sequence of integers, not {seed!r}")
    array = np.asarray(seed)
    if array.dtype.kind not in "iubO" and array.size:
        raise TypeError(f"a seed is an integer or a sequence of integers, not {seed!r}")
    return [part for x in array.ravel().tolist() for part in _words(x)]


def checked_key(key: Any) -> tuple[Any, Any]:
    """Return the two words of a key that the user gives.

    Raises
    ------
    TypeError
        If it is not an array of two ``uint64``.
    """
    array = key if isinstance(key, (Tensor, Variable)) else np.asarray(key)
    if array.dtype != U64 or array.shape != (2,):
        raise TypeError(
            f"a key is an array of two uint64, as lw.random.key makes them, not of {array.dtype} "
            f"and shape {array.shape}{at(here())}"
        )
    return array[0], array[1]
