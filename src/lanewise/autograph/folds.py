"""Reductions over generator expressions and list comprehensions, as loops with an accumulator.

``sum(v[k] for k in range(n) if v[k] > 0)`` has Python iterate inside of `sum`, which cannot follow
data. Converted code runs such a comprehension as an ordinary loop instead, and a `Fold` says what
``sum`` would have done with each element.
"""

from __future__ import annotations

import builtins
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn
from lanewise.autograph.pulled import is_fresh
from lanewise.autograph.state import Maybe, Undefined
from lanewise.autograph.templates import Templates
from lanewise.autograph.values import choose, either, less, negated, truth
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import require_trace, state


class Fold(ABC):
    """How a function reduces elements one by one.

    Attributes
    ----------
    start
        The accumulator before the first element.
    """

    start: Any

    @abstractmethod
    def add(self, total: Any, element: Any) -> Any:
        """Return the accumulator with one more element."""

    def result(self, total: Any) -> Any:
        """Return what the function returns."""
        return total


class Running(Fold):
    """An operator between the elements: sums and products, and truths."""

    def __init__(self, start: Any, join: Callable[[Any, Any], Any]) -> None:
        self.start = start
        self._join = join

    def add(self, total: Any, element: Any) -> Any:
        return self._join(total, element)


class Count(Fold):
    """How many elements there are."""

    start = 0

    def add(self, total: Any, element: Any) -> Any:
        return total + 1


_NOT_GIVEN: Any = object()


class Extreme(Fold):
    """The first element such that no other is less, or greater: Python's `min` and `max`."""

    def __init__(
        self, function: Any, is_max: bool, *, key: Any = None, default: Any = _NOT_GIVEN
    ) -> None:
        self.start = Undefined(f"{function.__name__}() of nothing")
        self._function = function
        self._is_max = is_max
        self._key = None if key is None else fn(key)
        self._default = default

    def add(self, total: Any, element: Any) -> Any:
        ranked = (element if self._key is None else self._key(element), element)
        if isinstance(total, Undefined):
            return ranked
        best = total.value if isinstance(total, Maybe) else total
        better = less(best[0], ranked[0]) if self._is_max else less(ranked[0], best[0])
        if isinstance(total, Maybe):
            better = either(better, lambda: negated(lift_truth(total.flag)))
        return choose(better, ranked, best, f"the result of {self._function.__name__}")

    def result(self, total: Any) -> Any:
        if isinstance(total, Maybe):
            if self._default is not _NOT_GIVEN:
                return choose(total.flag, total.value[1], self._default)
            failure = Templates({}).exception(self._empty())
            trace = require_trace(self._function.__name__)
            trace.check(lift(total.flag), (), failure)
            return total.value[1]
        if isinstance(total, Undefined):
            if self._default is _NOT_GIVEN:
                raise self._empty()
            return self._default
        return total[1]

    def _empty(self) -> ValueError:
        try:
            self._function(())
        except ValueError as error:
            return error
        raise AssertionError


class First(Fold):
    """The first element: Python's `next`, which leaves the loop with it."""

    start = None

    def __init__(self, default: Any = _NOT_GIVEN) -> None:
        self._default = default

    def add(self, total: Any, element: Any) -> Any:
        return element

    def result(self, total: Any) -> Any:
        """Return what there is where there is no element."""
        if self._default is _NOT_GIVEN:
            raise StopIteration
        return self._default


def lift_truth(flag: Any) -> Tensor:
    """Return a truth value as a tensor, for operators between truth values."""
    return Tensor(require_trace("a condition"), lift(flag))


def _any(total: Any, element: Any) -> Any:
    return either(total, lambda: truth(element))


def _all(total: Any, element: Any) -> Any:
    kept = truth(element)
    if isinstance(total, Tensor) and isinstance(kept, Tensor):
        return total & kept
    return (
        (kept if total else False) if not isinstance(total, Tensor) else (total if kept else False)
    )


#: By function; by the name of a class of the syntax for what a comprehension makes itself.
FOLDS: dict[Any, Callable[..., Fold]] = {
    builtins.sum: lambda start=0: Running(start, operator.add),
    builtins.len: Count,
    builtins.next: First,
    builtins.any: lambda: Running(False, _any),
    builtins.all: lambda: Running(True, _all),
    builtins.min: lambda **options: Extreme(builtins.min, False, **options),
    builtins.max: lambda **options: Extreme(builtins.max, True, **options),
    math.prod: lambda *, start=1: Running(start, operator.mul),
}


def foldable(function: Any, iterable: Any) -> bool:
    """Whether a function of a comprehension is carried out as a loop: a known one, in a trace."""
    try:
        return state.trace is not None and function in FOLDS
    except TypeError:  # a callable that cannot be hashed
        return False


def foldable_alone(function: Any, iterable: Any) -> bool:
    """Whether ``next`` of what a call has made is a loop: of a generator that follows the data."""
    return is_fresh(iterable) and foldable(function, iterable)


def fold(function: Any, *args: Any, **kwargs: Any) -> Fold:
    """Return how a known function reduces elements, with its other arguments."""
    return FOLDS[function](*args, **kwargs)
