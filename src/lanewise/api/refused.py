"""Functions that are refused while they are traced, and run as they stand where that is as good.

A refusal says that a function is not followed, not that the loop over its examples gives nothing.
Where all that its code can reach are its arguments, other such functions and data that it leaves as
they were (`lanewise.api.contained`), the loop gives what was asked for: values, dtypes, shapes and
exceptions. So it runs, and one `PlainLoopWarning` for each function says what was not followed, and
where. The refusal is raised where examples give what no array holds, where a mapped function
changes what is outside of it, and where somebody wants to know: `lanewise.explain`, a backend that
is forced, ``LANEWISE_STRICT=1``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dis import opname
from types import CodeType, NoneType, TracebackType
from typing import Any

import numpy as np

from lanewise.api.contained import MOST_RATHER, contained, opening
from lanewise.api.plain import NUMBERS, NoBatchError, plainly
from lanewise.api.remembered import MANY, Remembered, taken_apart
from lanewise.api.unchanged import Unchanged
from lanewise.autograph.convert import has_no_source
from lanewise.errors import REFUSALS, PlainLoopWarning, annotate, function_name
from lanewise.ir.location import is_of_lanewise, origin
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.passes.survive import is_raising
from lanewise.runtime.dispatch import execute, is_observed
from lanewise.runtime.settings import backend
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor

#: What raises that a tensor has no attribute of a name.
_ASKED = Tensor.__getattr__.__code__
#: What no user's code means, where it is raised by Lanewise's own.
_DEFECTS = (AssertionError, AttributeError, KeyError, NameError, NotImplementedError)
#: What arrays hold, or are.
_DATA = (np.ndarray, np.generic, bool, int, float, complex)
#: Of these all are, and None is no leaf.
_SURELY = frozenset(
    [each for each in NUMBERS if each is not int and np.dtype(each).kind in NUMERIC_KINDS]
) | {NoneType}
#: Integers between these are of some dtype.
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.uint64).max
#: What calls were refused, and why: so many are remembered.
MOST_CALLS = 256
#: So many calls at most run as they stand after one of which the data are why it was refused, or
#: something was cut off: other data may do.
MOST_PASSES = 1000


@dataclass
class _Refusal:
    """Why a call was refused, and how many of the next ones run as they stand.

    ``unchanged`` tells whether the function reaches what it did; `passes` are how many calls were
    to run so at first, and `left` how many still are.
    """

    error: BaseException
    unchanged: Unchanged
    passes: float
    left: float


_known: Remembered[_Refusal] = Remembered(MOST_CALLS)
#: The last one of calls that differ in Python numbers alone; `passes` are how many there were.
_alike: Remembered[_Refusal] = Remembered(MOST_CALLS, has_numbers=False)
_told: set[tuple[str, str, int]] = set()


def is_open() -> bool:
    """Whether nothing asks for a certain way to run, or looks at what runs."""
    return backend() is None and not is_observed()


def may_run_itself() -> bool:
    """Whether a function that is refused may run as it stands; see `PlainWay`."""
    return is_open() and not is_raising()


class PlainWay:
    """What gives the results of a call where its trace is refused: the function as it stands.

    Parameters
    ----------
    func
        The user's function.
    call
        What decides whether another call of it is refused; None if nobody remembers.
    others
        Objects that it is called with, beside data.
    is_single
        Whether it is called once, and not for each example: then it may change what is outside.
    """

    def __init__(
        self, func: Any, call: tuple[Any, ...] | None = None, others: Sequence[Any] = (),
        is_single: bool = False,
    ) -> None:  # fmt: skip
        while getattr(func, "is_usual", False):  # a map, of which nothing special is asked
            func = func.__wrapped__
        self._func, self._others, self.is_single = func, others, is_single
        self._call = call
        self._error: BaseException | None = None
        self._unchanged: Unchanged | None = None
        self._is_to_tell = False

    @property
    def unchanged(self) -> Unchanged:
        """What tells whether all that it reaches is as it was."""
        assert self._unchanged is not None
        return self._unchanged

    def is_known(self) -> bool:
        """Whether an equal call was refused, and the function may run instead."""
        found = _known.get(self._func, self._call) or _alike.get(self._func, self._call)
        if found is None or not may_run_itself() or found.left <= 0:
            return False
        found.left -= 1
        if not found.unchanged():
            return False
        self._error, self._unchanged = found.error, found.unchanged
        return True

    def takes(self, error: BaseException) -> bool:
        """Whether the function may run as tracing it has raised an error; that is told then."""
        if not self._may_run(error):
            self._explain(error)
            return False
        self._is_to_tell = not is_refusal(error)  # else it may be the user's error, which is told
        is_of_data = _has_run(error.__traceback__)
        # Nobody is to keep the frames in which it was raised.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        if not self._is_to_tell:
            self._tell(error)
        assert self._unchanged is not None
        if self._call is not None and not self._unchanged.keeps(self._func):
            before = _known.get(self._func, self._call)
            again = 1 if before is None else min(2 * before.passes, MOST_PASSES)
            passes = again if is_of_data else math.inf
            _known.put(self._func, self._call, _Refusal(error, self._unchanged, passes, passes))
            alike = _alike.get(self._func, self._call)
            count = 1 if alike is None else alike.passes + 1
            left = min(2 ** (count - MANY), MOST_PASSES) if count >= MANY else 0
            _alike.put(self._func, self._call, _Refusal(error, self._unchanged, count, left))
        return True

    def _explain(self, error: BaseException) -> None:
        """Tell in an error what other calls do, or why they do not run the function plainly."""
        if backend() is not None or is_raising() or not is_refusal(error):
            return
        if self._contained() is None:
            reason = opening([self._func, *self._others], MOST_RATHER)
            if reason:
                annotate(
                    error,
                    f"it does not run as plain Python in its place, as {reason}: what it gives may "
                    "depend on more than its arguments",
                )
        elif is_observed():
            annotate(error, "calls that are not explained run as plain Python, example by example")

    def look(self) -> PlainWay:
        """Note what the function reaches, before it is traced."""
        self._unchanged = self._contained()
        return self

    def put_back(self) -> None:
        """Undo what a trace that failed has changed."""
        if self._unchanged is not None:
            self._unchanged.put_back()

    def _may_run(self, error: BaseException) -> bool:
        if not (may_run_itself() and (is_refusal(error) or may_be_refusal(error))):
            return False
        self._error, self._unchanged = error, self._unchanged or self._contained()
        return self._unchanged is not None

    def _contained(self) -> Unchanged | None:
        roots = [self._func, *self._others]
        return contained(roots, with_data=True, most=MOST_RATHER, may_tell=True, may_remember=True)

    def _tell(self, error: BaseException) -> None:
        """Say once of a function that it runs as plain Python."""
        apart, self._is_to_tell = taken_apart(self._func), False
        code = None if apart is None else apart[0].__code__
        if code is None or origin(code) in _told:
            return
        _told.add(origin(code))
        message = (
            f"{function_name(self._func)} runs as plain Python, example by example: a part of it "
            f"is not followed. {type(error).__name__}: {error}. LANEWISE_STRICT=1 raises this "
            "instead"
        )
        warnings.warn_explicit(message, PlainLoopWarning, code.co_filename, code.co_firstlineno)

    def run(self, plain: Callable[[], Any]) -> Any:
        """Return what the function gives; raise the refusal if no array holds that."""
        assert self._error is not None and self._unchanged is not None
        try:
            with plainly(not self._others, self._unchanged.tells):
                result = plain()
            if not (self.is_single or _holds_data(result)):
                raise NoBatchError
        except NoBatchError:
            self._unchanged.put_back()
            raise self._error from None
        except Exception:
            if not self.is_single and self._unchanged.put_back():
                raise self._error from None
            raise
        if not self.is_single and self._unchanged.kept and self._unchanged.put_back():
            raise self._error
        if self._is_to_tell:
            self._tell(self._error)
        return result

    @property
    def arrays(self) -> Sequence[np.ndarray]:
        """The arrays that the function reaches, beside its arguments."""
        return self.unchanged.arrays


def _holds_data(result: Any) -> bool:
    """Whether all leaves of a result are data."""
    kind = type(result)
    if kind in (list, tuple, dict):
        parts = list(result.values()) if kind is dict else result
        kinds = set(map(type, parts)) - _SURELY
        if int in kinds and not _are_data([x for x in parts if type(x) is int]):
            return False
        kinds.discard(int)
        return not kinds or all([_holds_data(x) for x in parts if type(x) in kinds])
    if kind in _SURELY or kind is np.ndarray:
        return kind in _SURELY or _is_data(result)
    return all(map(_is_data, tree.flatten(result)[0]))


def _are_data(numbers: Sequence[int]) -> bool:
    """Whether integers are such as arrays hold."""
    return min(numbers) >= _LEAST and max(numbers) <= _MOST


def _is_data(leaf: Any) -> bool:
    if type(leaf) is not np.ndarray:
        return isinstance(leaf, _DATA) and np.asarray(leaf).dtype.kind in NUMERIC_KINDS
    return leaf.dtype.kind in NUMERIC_KINDS


def is_refusal(error: BaseException) -> bool:
    """Whether an error says that a function is not followed, or is one of Lanewise's own making.

    Or is one of code without source, which may have asked what no tensor answers as an array does.
    """
    if isinstance(error, (*REFUSALS, RecursionError)):
        return True
    codes = _codes(error.__traceback__)
    if not codes or execute.__code__ in codes:
        return False
    is_own = isinstance(error, _DEFECTS) and is_of_lanewise(codes[-1]) and codes[-1] is not _ASKED
    return is_own or (isinstance(error, Exception) and has_no_source(codes[-1]))


def may_be_refusal(error: BaseException) -> bool:
    """Whether an error was raised while the user's code was traced, by it or what it has called.

    The same may be raised of numbers. Or what was called asks what no tensor answers as a number
    does (`struct.pack`, `statistics.mean`): then the function gives results as it stands.
    """
    codes = _codes(error.__traceback__)
    if not isinstance(error, Exception) or execute.__code__ in codes:
        return False
    if not codes:
        return False
    is_of_others = not is_of_lanewise(codes[-1]) or codes[-1] is _ASKED
    return is_of_others or not _has_raised(error.__traceback__)


def _has_raised(place: TracebackType | None) -> bool:
    """Whether the last of some frames has raised, and not what it has called that has none."""
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return False
    code = place.tb_frame.f_code.co_code
    return opname[code[place.tb_lasti]].startswith(("RAISE", "RERAISE"))


def _has_run(place: TracebackType | None) -> bool:
    """Whether an error was raised while a graph ran, and not while it was traced."""
    return execute.__code__ in _codes(place)


def _codes(place: TracebackType | None) -> list[CodeType]:
    found = []
    while place is not None:
        found.append(place.tb_frame.f_code)
        place = place.tb_next
    return found
