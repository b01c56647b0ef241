"""Prices of what kernels do, in cycles, and the work that is counted by them."""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.codegen.processor import machine

#: Cycles of a nanosecond on the machine that the prices are of.
CLOCK = 3.7
#: Bytes that are in the nearest cache of a core, in its other ones, in one that cores share.
NEAREST, OWN, COMMON = 24 << 10, 768 << 10, 16 << 20


@dataclass(slots=True)
class Prices:
    """Cycles, of a thread, but for those that end in ``_ns``."""

    #: An instruction on a full vector, and on a number.
    vector: float = 0.75
    number: float = 0.3
    #: Loading or storing a vector, with its share of what a loop over them takes.
    access: float = 0.5
    #: An element that is read, or written, where it lies apart from its neighbours.
    gathered: float = 1.2
    scattered: float = 1.4
    #: One that is read by itself for each lane, where the processor does not gather.
    apart: float = 3.0
    #: Bringing the elements of a row into lanes, or back: a vector and a halving of them.
    shuffled: float = 1.8
    #: A halving of a vector, where one number is made of its elements.
    halved: float = 2.7
    #: A vector that a reduction reads; a vector of products in a sum of them.
    summed: float = 1.2
    multiplied: float = 3.5
    #: Beginning to go through an array.
    started: float = 50.0
    #: A turn of a loop, beside what it does; `guessed` a branch, which now and then is not
    #: foreseen.
    turned: float = 3.0
    guessed: float = 8.0
    #: What waits for an instruction on floats, and `fetched` for what was written or is looked up.
    latency: float = 3.6
    fetched: float = 5.5
    #: A byte that is in the core's further caches, in the cache that cores share, or in memory, for
    #: one thread; `shared` is the least of the latter, for all threads together.
    own: float = 0.021
    common: float = 0.06
    memory: float = 0.25
    shared: float = 0.3
    #: Calling a kernel, and having another thread work on it.
    launch_ns: float = 2500.0
    thread_ns: float = 8000.0


PRICES = Prices()


@dataclass(slots=True)
class Work:
    """What a part of a kernel takes of a thread."""

    #: Cycles of the units.
    busy: float = 0.0
    #: Cycles that loops wait for their chains beside those.
    wait: float = 0.0
    #: Cycles of the chains of loops.
    chain: float = 0.0
    #: Cycles of getting bytes from caches.
    cached: float = 0.0
    #: Bytes from memory, or to it.
    memory: float = 0.0
    #: Nanoseconds in libraries.
    calls: float = 0.0
    #: Of the loop with the longest chain: that, and how much of it is one turn.
    slowest: tuple[float, float] = (0.0, 0.0)

    def add(self, other: Work, times: float = 1.0) -> None:
        self.busy += times * other.busy
        self.wait += times * other.wait
        self.chain += times * other.chain
        self.cached += times * other.cached
        self.memory += times * other.memory
        self.calls += times * other.calls
        chain, turn = other.slowest
        self.slowest = max(self.slowest, (times * chain, turn))

    @property
    def cycles(self) -> float:
        """What it takes where memory keeps pace."""
        return self.busy + self.wait + self.cached


def vector_price() -> float:
    """Return what an instruction on a vector takes: units are as wide as half of the widest."""
    return PRICES.vector * max(machine().register_bits, 256) / 512


def level(nbytes: float) -> int:
    """Return how far away so much lies: 0 in the nearest cache, 3 in memory."""
    return sum([nbytes > most for most in (NEAREST, OWN, COMMON)])


def fetch(work: Work, nbytes: float, around: float) -> None:
    """Add what it takes to get bytes of what so much lies around."""
    match level(around):
        case 1:
            work.cached += nbytes * PRICES.own
        case 2:
            work.cached += nbytes * PRICES.common
        case 3:
            work.memory += nbytes
