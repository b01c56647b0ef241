"""Calls that run the function itself, as that takes less than its trace or than tracing it.

What such a call gives is what the trace would: results share no memory with the arguments or with
each other, and a call that raises has written nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import perf_counter_ns
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from lanewise.api.plain import NUMBERS, NoBatchError
from lanewise.api.rebound import contents_of, put_back
from lanewise.api.refused import PlainWay, is_open
from lanewise.api.unchanged import Unchanged
from lanewise.api.writing import PlainCall
from lanewise.runtime.dispatch import is_observed
from lanewise.runtime.owning import is_apart, own
from lanewise.runtime.tiers import duration
from lanewise.trace import tree
from lanewise.trace.limits import TookTooLong, limited

_ndarray = np.ndarray
_ARRAYS = frozenset((_ndarray,))
_NUMBERS = NUMBERS | {NoneType}

#: Calls that are not measured after one that was, where their times decide nothing soon.
UNMEASURED = 32
#: Of calls without any arguments by name.
NONE_BY_NAME: dict[str, Any] = {}

#: Nanoseconds that the first attempt to trace a function may take.
FIRST = 500_000_000
#: How much longer calls have to take, all together, than an attempt that failed took.
PATIENCE = 4
#: Bytes of arguments from which on a function is traced however long that takes: of an untraced
#: one it is not known to which of them it writes, so that all are copied before.
MOST_BYTES = 32 * 2**20


class FasterPlain(PlainCall):
    """Ends a call, before anything is done, that the function itself is faster in.

    Parameters
    ----------
    positions
        Of the arrays that the function may write to.
    reached
        Arrays that it reaches beside its arguments: results share memory with none of them.
    note
        Takes the nanoseconds that the call took, if somebody wants to know.
    bounded
        Gives up what takes too long in a ``with`` block: then the call is made anew.
    exceeded
        Is told of it, and of a call that is made anew as it has changed what is outside.
    no_batch
        Is told that no array holds what examples return, of which the trace says so its way: the
        call is made anew, too.
    conform
        Makes what the function returns what the trace does, where that may be of another dtype.
    unchanged
        Tells what a call of the function changes outside of it, if it is not known to change none:
        that is made as it was, and the call is made anew.
    """

    def __init__(
        self,
        positions: Sequence[int],
        reached: Sequence[np.ndarray],
        note: Callable[[int], None] | None,
        bounded: Callable[[], AbstractContextManager] = nullcontext,
        exceeded: Callable[[], None] | None = None,
        no_batch: Callable[[], None] | None = None,
        conform: Callable[[Any], Any] | None = None,
        unchanged: Unchanged | None = None,
    ) -> None:
        self._positions, self._reached, self._note = positions, reached, note
        self._bounded, self._exceeded, self._no_batch = bounded, exceeded, no_batch
        self._conform, self._unchanged = conform, unchanged

    def run(
        self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
        arrays: Sequence[Any], again: Callable[[], Any],
    ) -> Any:  # fmt: skip
        """Run the function on the arguments of a call, of which these are the arrays.

        ``again`` makes the call anew, by its trace: nothing but the results is seen of a map's
        loop.
        """
        arrays = [*arrays, *self._reached] if self._reached else arrays
        if self._unchanged is not None:
            func = partial(leaving, self._unchanged, func)
        elif self._exceeded is None:
            return run_itself(func, args, kwargs, arrays, self._positions, self._note)
        contents = contents_of(args, kwargs)
        try:
            with self._bounded():
                result = run_itself(func, args, kwargs, arrays, self._positions, self._note)
            return result if self._conform is None else self._conform(result)
        except (TookTooLong, Changed):
            if self._exceeded is None:
                raise
            put_back(contents)
            self._exceeded()
        except NoBatchError:
            if self._no_batch is None:
                raise
            self._no_batch()
        return again()


class RefusedPlain(FasterPlain):
    """Ends a call, before anything is done, of a function that is refused where it is traced."""

    def __init__(self, positions: Sequence[int], way: PlainWay) -> None:
        super().__init__(positions, way.arrays, None)
        self._way = way

    def run(
        self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
        arrays: Sequence[Any], again: Callable[[], Any],
    ) -> Any:  # fmt: skip
        """Run the function on the arguments of a call, of which these are the arrays."""
        way, positions = self._way, self._positions
        arrays = [*arrays, *self._reached]
        return way.run(lambda: run_itself(func, args, kwargs, arrays, positions, None))


class Changed(Exception):  # noqa: N818 (nothing went wrong)
    """Ends a call of a function that has changed what is outside of it, which is as it was."""


def leaving(unchanged: Unchanged, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function; raise `Changed` if that changes what is outside of it."""
    try:
        result = func(*args, **kwargs)
    except BaseException as error:
        if unchanged.put_back() and isinstance(error, Exception):
            raise Changed from None
        raise
    if unchanged.put_back():
        raise Changed
    return result


def run_itself(
    func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], arrays: Sequence[Any],
    positions: Sequence[int], note: Callable[[int], None] | None,
) -> Any:  # fmt: skip
    """Run a function on the arguments of a call, of which these are the arrays.

    See `FasterPlain` for the others.
    """
    start = 0 if note is None else perf_counter_ns()
    before = [(arrays[i], arrays[i].copy()) for i in positions] if positions else ()
    try:
        result = func(*args, **kwargs)
    except BaseException:
        if not contents_of(args, kwargs):  # what these hold now is as the function left it
            for array, kept in before:
                if array.flags.writeable:
                    array[...] = kept
        raise
    if type(result) is _ndarray:
        if not is_apart(result, arrays):
            result = _owned([result], arrays, before)[0]
    elif type(result) is tuple and not before and _ARRAYS.issuperset(map(type, result)):
        result = tuple(own(result, arrays))
    elif not _is_numbers(result):
        leaves, structure = tree.flatten(result)
        result = tree.unflatten(structure, _owned(leaves, arrays, before))
    if note is not None:
        note(perf_counter_ns() - start)
    return result


def run_alone(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run a function without looking at its arguments, but where its results may share memory."""
    result = func(*args, **kwargs)
    if _is_numbers(result):
        return result
    leaves, structure = tree.flatten(result)
    arrays = [x for x in tree.flatten((args, kwargs))[0] if type(x) is _ndarray]
    given = set(map(id, arrays))
    places = [n for n, x in enumerate(leaves) if type(x) is _ndarray and id(x) not in given]
    for n, array in zip(places, own([leaves[n] for n in places], arrays), strict=True):
        leaves[n] = array
    return tree.unflatten(structure, leaves)


def _is_numbers(result: Any) -> bool:
    """Whether a result is numbers alone, or containers of them: then it shares no memory."""
    kind = type(result)
    if kind is not list and kind is not tuple and kind is not dict:
        return kind in _NUMBERS or isinstance(result, np.generic)
    parts = result.values() if kind is dict else result
    return _NUMBERS.issuperset(map(type, parts)) or all([_is_numbers(part) for part in parts])


def _owned(leaves: list[Any], arrays: Sequence[Any], before: Sequence[tuple[Any, Any]]) -> Any:
    """Return leaves of a result as a trace gives them: an argument stays one if it was written."""
    if not before and len(leaves) == 1:
        return own(leaves, arrays) if type(leaves[0]) is _ndarray else leaves
    numbers = [n for n, x in enumerate(leaves) if type(x) is _ndarray]
    outputs = [leaves[n] for n in numbers]
    kept = [
        position
        for position, x in enumerate(outputs)
        for array, old in before
        if x is array and x.tobytes() != old.tobytes()
    ]
    for n, array in zip(numbers, own(outputs, arrays, kept), strict=True):
        leaves[n] = array
    return leaves


class Postponed:
    """A trace that takes longer than it is worth so far: calls run the function itself.

    It is tried again when they have taken long enough.
    """

    def __init__(
        self, arrays: Sequence[Any], unchanged: Unchanged, is_map: bool,
        refused: PlainWay | None = None, passes: int = 0,
    ) -> None:  # fmt: skip
        # What a function changes elsewhere is known when it is traced.
        is_small = sum([x.nbytes for x in arrays]) <= MOST_BYTES
        # What tells tells twice if the plain loop is given up.
        is_free = is_small and not unchanged.tells
        self._positions = () if is_map else range(len(arrays))  # each example has its own
        self._unchanged = unchanged
        #: How many calls of a refused function, which changes what it reaches, run it untried.
        self.passes = self._left = 0 if is_map else passes
        #: Whether the function is a map, of which the plain loop may be given up.
        self.is_map = is_map
        #: How long the next attempt to trace the function may take.
        self.nanoseconds = FIRST if is_free else math.inf
        self._due, self._spent = 0.0 if refused is None else math.inf, 0.0
        #: How long the last attempt took at least.
        self._took = 0.0
        self._refused = refused
        #: Nanoseconds of the quickest call.
        self.least = math.inf
        #: Whether nothing is to be done but to run the function; how many of the next calls are not
        #: measured then.
        self._is_simple = not is_map and not unchanged.has_data
        self._unmeasured = 0

    @property
    def unchanged(self) -> Unchanged:
        """What tells whether the function depends on the same as it did."""
        return self._unchanged if self._refused is None else self._refused.unchanged

    @property
    def is_due(self) -> bool:
        """Whether it is time to try again."""
        if self._left and is_open():
            self._left -= 1
            return False
        is_worth_it = self._spent >= self._due or self._is_slower()
        return is_worth_it or not is_open() or not self.unchanged()

    def _is_slower(self) -> bool:
        """Whether a call takes as long as another attempt may take."""
        return self._due < math.inf and self.nanoseconds <= self.least < math.inf

    def told(self) -> str:
        """Return why the next call runs the function itself: nothing where it does not."""
        left = self._due - self._spent
        if not 0 < left < math.inf:
            return ""
        return (
            f"tracing it took more than {duration(self._took)}; that is tried again, for "
            f"longer, when calls have taken {duration(left)} more"
        )

    def is_last(self, known: Postponed | None) -> bool:
        """Whether no call has gone well by what is `known`, or none can without a trace."""
        return self is not known or self.nanoseconds == math.inf

    def put_off(self, error: BaseException) -> None:
        """Note that an attempt took too long, or failed: then there is no other."""
        self.unchanged.put_back()
        took_long = isinstance(error, TookTooLong)
        self._due = self._spent + PATIENCE * self.nanoseconds if took_long else math.inf
        self._took, self.nanoseconds = self.nanoseconds, 2 * self.nanoseconds

    def stay(self) -> Postponed:
        """Have no other attempt to trace while the function reaches the same."""
        self._due = math.inf
        return self

    def run(
        self, arrays: Sequence[Any], args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] = NONE_BY_NAME, func: Callable[..., Any] | None = None,
    ) -> Any:  # fmt: skip
        """Run the function, or raise what has it traced; see `ConcreteFunction.run`."""
        given = arrays if args is None else args
        assert func is not None
        if self._unmeasured and not is_observed() and self.unchanged():
            self._unmeasured -= 1
            if self._refused is not None:
                return self._refused.run(
                    partial(run_itself, func, given, kwargs, arrays, self._positions, None)
                )
            return run_itself(func, given, kwargs, arrays, self._positions, None)
        if self.is_due:
            raise PlainCall(-1, None)
        if self._due == math.inf and self._is_simple:
            self._unmeasured = UNMEASURED
        return self.call.run(func, given, kwargs, arrays, _call_again)

    @property
    def call(self) -> FasterPlain:
        """What runs the function itself."""
        if self._refused is not None:
            return RefusedPlain(self._positions, self._refused)
        now, note = self.trace_now, self.note_plain
        unchanged = self.unchanged if self.unchanged.has_data else None
        if self.is_map:  # what it gives is stacked
            bounded = partial(limited, PATIENCE * FIRST)
            return FasterPlain(self._positions, (), note, bounded, now, now, unchanged=unchanged)
        exceeded = None if unchanged is None else now
        return FasterPlain(
            self._positions, self.unchanged.arrays, note, exceeded=exceeded, unchanged=unchanged
        )

    def trace_now(self) -> None:
        """Have the next call trace the function, however long that takes."""
        self.nanoseconds, self._due = math.inf, 0.0

    def note_plain(self, nanoseconds: int) -> None:
        """Note how long a call took."""
        self._spent += nanoseconds
        self.least = min(self.least, nanoseconds)
        if self._took == FIRST:  # of the time of such calls nobody knew then
            self.nanoseconds = max(self.nanoseconds, self.least)


def _call_again() -> NoReturn:
    raise PlainCall(-1, None)
