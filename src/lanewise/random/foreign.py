"""NumPy's and Python's own generators in mapped functions: what the map says of random numbers.

One that is made with a seed in the function itself belongs to it: it gives each example, and each
call of a traced function, the same.
Others are refused with ``randomness="error"``. With "same" they draw once, while the function is
traced. With "different", and where what they are given is traced or they draw in a loop of the
data's, they give a key, and Lanewise draws what the method says: so the numbers still are a
function of the generator's seed.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.autograph.calls import MAKERS, ROWS, replaces
from lanewise.autograph.randomness import MAPPED, OWN
from lanewise.errors import UnsupportedError, at, function_name
from lanewise.ir.location import here
from lanewise.random.generator import Generator
from lanewise.random.streams import Taken, advanced, refuse_draw, word
from lanewise.trace.regions import in_region
from lanewise.trace.scratch import is_traced
from lanewise.trace.trace import state


class Once:
    """The key that another generator has given, as the origin of numbers."""

    __slots__ = ("counter", "k0", "k1")

    def __init__(self, bits: int) -> None:
        self.k0, self.k1, self.counter = word(bits), word(bits >> 64), word(0)

    def take(self, count: int) -> Taken:
        """Return the key and the counters of a draw."""
        found = Taken(self.k0, self.k1, self.counter)
        self.counter = advanced(self.counter, count)
        return found


def mapped(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any] | None:
    """Return what draws in place of a method in a mapped function; None where nothing is mapped.

    Raises
    ------
    RuntimeError
        If a map refuses random numbers.
    """
    trace: Any = state.trace
    kinds, home = set(), _home_of(method.__self__)
    while trace is not home:
        if trace.randomness is not None:
            refuse_draw(trace)
            kinds.add(trace.randomness)
        trace = trace.parent
    if home is not None and not kinds:
        if state.trace is not home:
            raise UnsupportedError(
                f"{method.__name__}() draws where the data steer{at(here())}, from a generator "
                "that is made in the function: it would draw once, while that is traced. "
                "Use lw.random.default_rng(seed), which draws as the code runs"
            )
        return lambda: method(*args, **kwargs)
    if not kinds:
        return None
    if kinds == {"same"} and not in_region() and not is_traced(args) and not is_traced(kwargs):
        return lambda: method(*args, **kwargs)
    return lambda: _drawn(method, args, kwargs)


def is_own(owner: Any) -> bool:
    """Whether a generator is made in what is traced, with a seed: each call draws the same."""
    return _home_of(owner) is not None


MAPPED.append(mapped)
OWN.append(is_own)


def _made(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes a generator, and notes it as a mapped function's own if it has a seed."""

    def made(*args: Any, **kwargs: Any) -> Any:
        if is_traced(args) or is_traced(kwargs):
            raise UnsupportedError(
                f"{function_name(make)}() takes a seed that is data{at(here())}, not known while "
                "tracing. Write lw.random.default_rng(seed), which takes it (and draws other "
                "numbers than NumPy)"
            )
        found = make(*args, **kwargs)
        trace: Any = state.trace
        seeds = [x for x in (*args, *kwargs.values()) if x is not None]
        if trace is not None and seeds and found is not seeds[0]:
            trace.streams = trace.streams or {}
            trace.streams["made", id(found)] = found, None
        return found

    return made


MAKERS[type(np.random.default_rng)] = lambda f: ROWS.get(f, f)  # a function of Cython's
for _each in (np.random.default_rng, np.random.RandomState, random.Random):
    replaces(_each)(_made(_each))


def _home_of(owner: Any) -> Any:
    """Return the trace that has made a generator with a seed, None if it comes from outside."""
    trace: Any = state.trace
    while trace is not None and not (trace.streams and ("made", id(owner)) in trace.streams):
        trace = trace.parent
    return trace


def _map_around() -> Any:
    """Return the trace of the innermost map, if there is one."""
    trace = state.trace
    while trace is not None and trace.randomness is None:
        trace = trace.parent
    return trace


def _drawn(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner, name = method.__self__, method.__name__
    if isinstance(owner, random.Random):
        function = _PYTHON.get(name)
    else:
        function = _LEGACY.get(name) or getattr(Generator, name, None)
    if function is None:
        raise UnsupportedError(
            f"{name}() of {type(owner).__module__}.{type(owner).__name__} is called in a mapped "
            f"function{at(here())}, where it cannot draw for each example. Use lw.random"
        )
    return function(_generator(owner), *args, **kwargs)


def _generator(owner: Any) -> Generator:
    """Return the generator that stands for another one at the user's line, in the map at hand.

    It is the same one when the body of a loop is recorded again.
    """
    trace = _map_around()
    if trace.streams is None:
        trace.streams = {}
    place = id(owner), here()
    if place not in trace.streams:
        is_python = isinstance(owner, random.Random)
        bits = owner.getrandbits(128) if is_python else int.from_bytes(owner.bytes(16), "little")
        trace.streams[place] = owner, Generator.of_origin(Once(bits), _home_of(owner))
    return trace.streams[place][1]


def _rand(rng: Generator, *shape: int) -> Any:
    return rng.random(shape or None)


def _randn(rng: Generator, *shape: int) -> Any:
    return rng.standard_normal(shape or None)


def _randint(
    rng: Generator, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64
) -> Any:
    return rng.integers(low, high, size, np.int64 if dtype is int else dtype)


def _random_integers(rng: Generator, low: Any, high: Any = None, size: Any = None) -> Any:
    return rng.integers(*((1, low) if high is None else (low, high)), size, endpoint=True)


#: What ``numpy.random.RandomState`` calls otherwise than ``Generator``.
_LEGACY: dict[str, Callable[..., Any]] = {
    "rand": _rand,
    "randn": _randn,
    "randint": _randint,
    "random_integers": _random_integers,
    "random_sample": Generator.random,
}


def _randrange(rng: Generator, start: Any, stop: Any = None, step: int = 1) -> Any:
    if stop is None:
        start, stop = 0, start
    step = operator.index(step)
    if not step:
        raise ValueError("zero step for randrange()")
    return start + step * rng.integers(0, -((start - stop) // step))


def _choice(rng: Generator, seq: Any) -> Any:
    array = np.asarray(seq)
    if array.dtype.kind not in "biufc":
        raise UnsupportedError(
            f"random.choice of what are no numbers is called in a mapped function{at(here())}: "
            "draw an index with lw.random.integers"
        )
    return rng.choice(array)


#: What the methods of ``random.Random`` are.
_PYTHON: dict[str, Callable[..., Any]] = {
    "random": lambda rng: rng.random(),
    "uniform": lambda rng, a, b: a + (b - a) * rng.random(),
    "gauss": lambda rng, mu=0.0, sigma=1.0: rng.normal(mu, sigma),
    "normalvariate": lambda rng, mu=0.0, sigma=1.0: rng.normal(mu, sigma),
    "lognormvariate": lambda rng, mu, sigma: rng.lognormal(mu, sigma),
    "expovariate": lambda rng, lambd=1.0: rng.exponential() / lambd,
    "betavariate": lambda rng, alpha, beta: rng.beta(alpha, beta),
    "gammavariate": lambda rng, alpha, beta: rng.gamma(alpha, beta),
    "paretovariate": lambda rng, alpha: rng.pareto(alpha) + 1.0,
    "weibullvariate": lambda rng, alpha, beta: alpha * rng.weibull(beta),
    "randint": lambda rng, a, b: rng.integers(a, b, endpoint=True),
    "randrange": _randrange,
    "choice": _choice,
}
