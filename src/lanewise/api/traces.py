"""The traces of one function: which there are, which a call runs, and why there is a new one."""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lanewise.api.concrete import ConcreteFunction
from lanewise.api.faster import NONE_BY_NAME, Postponed
from lanewise.api.guards import Guard, guard, numbers_of
from lanewise.api.keys import Key, described, is_data, references
from lanewise.api.nested import Calls
from lanewise.api.postponable import Refusals, itself
from lanewise.api.remembered import CONSTANTS, MANY
from lanewise.api.tracing import Arguments
from lanewise.api.writing import PlainCall
from lanewise.errors import RetracingWarning
from lanewise.ir.dims import Dim, Shape
from lanewise.ir.location import is_own_file

#: `MANY` traces in so many calls are worth a warning.
WINDOW = 10
#: How many shapes are remembered, of arguments of one structure, to find out which sizes vary.
OBSERVED = 16
#: How many shapes of arrays, and how many calls of other kinds, lead straight to their trace.
MOST_RUNS, MOST_GUARDS = 256, 4
#: So many guards are made in all: where calls differ all the time they are not worth it.
MOST_MADE = 64

_all: weakref.WeakSet[Traces] = weakref.WeakSet()


class Traces:
    """What a function was traced for. Objects that decide a trace are not kept alive by it.

    Attributes
    ----------
    runs
        By dtype and shape of each of the arguments, where they are arrays by position and nothing
        else: what runs on them.
    guards
        What recognizes calls of other kinds, each with what runs on their arrays.
    lock
        Held while the function is traced.
    calls
        What calls from within traces have recorded.
    count
        How often it was traced.
    may_create
        Whether the function may make variables: until it ran through for the first time.
    tick
        Counts calls.
    postponed
        Traces that took too long to make so far.
    refusals
        The last traces, as far as they were refused.
    """

    __slots__ = (
        "__weakref__",
        "_exact",
        "_general",
        "_guards_left",
        "_last",
        "_latest",
        "_observed",
        "_recent",
        "_varied",
        "_watched",
        "calls",
        "count",
        "guards",
        "lock",
        "may_create",
        "postponed",
        "refusals",
        "runs",
        "tick",
    )  # fmt: skip

    def __init__(self) -> None:
        self.runs: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self.guards: list[tuple[Guard, Callable[..., Any]]] = []
        self.lock = threading.RLock()
        self.count = 0
        self.calls = Calls()
        self.may_create = True
        self.tick = itertools.count()
        self.postponed: dict[Hashable, Postponed] = {}
        self.refusals = Refusals()
        #: By what else decides a trace: calls that differ in the values of Python numbers.
        self._varied: dict[Hashable, Varied] = {}
        self._exact: dict[Hashable, ConcreteFunction] = {}
        self._general: dict[Hashable, list[ConcreteFunction]] = {}
        self._observed: dict[Hashable, dict[Any, list[tuple[Shape, ...]]]] = {}
        self._watched: dict[Hashable, list[Any]] = {}
        self._recent: list[int] = []
        self._latest: Hashable = None
        self._guards_left = MOST_MADE
        self._last: tuple[Any, list[Key]] | None = None
        _all.add(self)

    def all(self) -> list[ConcreteFunction]:
        """Return the traces that there are."""
        general = itertools.chain.from_iterable(list(self._general.values()))
        return [*list(self._exact.values()), *general]

    def find(self, arguments: Arguments) -> ConcreteFunction | None:
        """Return the trace for the arguments of a call, if there is one."""
        found = self._exact.get(arguments.key)
        if found is not None and not _is_of_kinds(found, arguments):
            found = self._exact.get((arguments.key, _kinds(arguments)))
        if found is None and self._general:
            shapes = [key[1] for key in arguments.keys if is_data(key)]
            for general in self._general.get(_general_key(arguments), ()):
                if general.accepts(shapes) and _is_of_kinds(general, arguments):
                    return general
        return found

    def find_general(self, arguments: Arguments, shapes: tuple[Shape, ...]) -> Any:
        """Return the trace that was made for these very symbolic shapes, if there is one."""
        for general in self._general.get(_general_key(arguments), ()):
            if general.shapes == shapes:
                return general
        return None

    def add(self, arguments: Arguments, concrete: ConcreteFunction) -> None:
        """Enter a trace. It is dropped when an object that decides it is gone."""
        self.count += 1
        self.postponed.pop(arguments.key, None)
        is_general = any(isinstance(dim, Dim) for shape in concrete.shapes for dim in shape)
        key = general_key = _general_key(arguments)
        if is_general:
            found = [*self._general.get(key, ()), concrete]
            self._general[key] = sorted(found, key=_generality)
        else:
            key = arguments.key
            if concrete.kinds and key in self._exact:
                key = key, _kinds(arguments)
            self._exact[key] = concrete
        targets = [target for k in arguments.keys for target in references(k)]
        targets += concrete.variables
        if targets:
            traces = weakref.ref(self)

            def gone(_: Any) -> None:
                known = traces()
                if known is not None:
                    known._forget(key)
                    known._forget(general_key)

            watchers = self._watched.setdefault(key, [])
            watchers += [weakref.ref(target, gone) for target in targets]

    def _forget(self, key: Hashable) -> None:
        for table in (self._exact, self._general, self._observed, self._watched):
            table.pop(key, None)
        self.guards.clear()
        self.runs.clear()

    def remember(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: Arguments,
        concrete: ConcreteFunction | Postponed, func: Callable[..., Any],
    ) -> None:  # fmt: skip
        """Let calls like one go straight to their trace, if they are worth that.

        Parameters
        ----------
        args, kwargs
            The call as it was written.
        arguments
            The same taken apart.
        concrete
            What runs it.
        func
            The function itself, which may run it, too.
        """
        run: Callable[..., Any] = concrete.run
        if isinstance(concrete, Postponed) or concrete.race is not None:
            run = partial(run, func=itself(func))
        arrays = arguments.arrays
        is_of_arrays = not kwargs and len(args) == len(arrays)
        if is_of_arrays and all([x is array for x, array in zip(args, arrays, strict=True)]):
            if len(self.runs) >= MOST_RUNS:
                self.runs.clear()
            self.runs[tuple([(x.dtype, x.shape) for x in arrays])] = run
            return
        self.repeated(arguments.key, args, kwargs, arrays, run)

    def repeated(
        self, key: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: Sequence[Any],
        run: Callable[..., Any],
    ) -> None:  # fmt: skip
        """Make a guard for a call that was made twice in a row, as its `key` tells."""
        if key != self._latest:
            self._latest = key
            return
        self._latest = None
        if self._guards_left:
            self._guards_left -= 1
            known = guard(args, kwargs, arrays)
            if known is not None:
                self.guards.insert(0, (known, run))
                del self.guards[MOST_GUARDS:]

    # --- sizes that vary ----------------------------------------------------------------------

    def observe(self, arguments: Arguments) -> tuple[Shape, ...] | None:
        """Return shapes with symbols for the sizes that were seen to vary; None if none did.

        Sizes that were the same in all calls so far share a symbol. A size of 1, which NumPy
        repeats, is not taken for one of many.
        """
        shapes = tuple([key[1] for key in arguments.keys if is_data(key)])
        ones = tuple([size == 1 for shape in shapes for size in shape])
        table = self._observed.setdefault(_general_key(arguments), {})
        seen = table.setdefault(ones, [])
        if shapes not in seen:
            seen.append(shapes)
            del seen[:-OBSERVED]
        if len(seen) < 2:
            return None
        symbols: dict[tuple[Any, ...], Dim] = {}

        def generalized(number: int, axis: int, size: Any) -> Any:
            history = tuple([known[number][axis] for known in seen])
            if len(set(history)) == 1:
                return size
            return symbols.setdefault(history, Dim.symbol(f"n{len(symbols)}"))

        found = tuple(
            [
                tuple([generalized(number, axis, size) for axis, size in enumerate(shape)])
                for number, shape in enumerate(shapes)
            ]
        )
        return found if symbols else None

    def varied_like(self, arguments: Arguments) -> Varied | None:
        """Return what is known of calls that differ from one in Python numbers; None without."""
        keys = [
            key[0] if not is_data(key) and key[0] in CONSTANTS else key for key in arguments.keys
        ]
        if not any([own is not key for own, key in zip(keys, arguments.keys, strict=True)]):
            return None
        return self._varied.setdefault((arguments.structure, *keys), Varied())

    def note_varied(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: Arguments,
        concrete: ConcreteFunction | Postponed, func: Callable[..., Any],
    ) -> None:  # fmt: skip
        """Let calls that differ from one in Python numbers go straight to the function itself.

        The parameters are those of `remember`. Calls with numbers that there is a trace of do not.
        """
        varied = self.varied_like(arguments)
        if varied is None:
            return
        if not isinstance(concrete, Postponed):
            varied.known.add(numbers_of(args, kwargs))
        elif concrete is varied.plain and varied.guard not in self.guards and self._guards_left:
            self._guards_left -= 1
            known = guard(args, kwargs, arguments.arrays, varied.known)
            if known is not None:
                varied.guard = known, partial(varied.run, func=itself(func))
                self.guards.insert(0, varied.guard)
                del self.guards[MOST_GUARDS:]

    # --- why it is traced again ---------------------------------------------------------------

    def note(self, name: str, arguments: Arguments, paths: Callable[[], list[str]]) -> None:
        """Note that a call is traced, and warn if that happens often.

        Parameters
        ----------
        name
            Of the function.
        arguments
            Those of the call.
        paths
            Gives what to call each of their leaves.
        """
        now = next(self.tick)
        self._recent = [t for t in self._recent if t > now - WINDOW] + [now]
        before, self._last = self._last, (arguments.structure, arguments.keys)
        if len(self._recent) < MANY or before is None:
            return
        self._recent = []
        reason = _difference(before, arguments, paths)
        warnings.warn(
            f"{name} was traced {MANY} times in its last {WINDOW} calls, which takes far longer "
            f"than running it: {reason}",
            RetracingWarning,
            stacklevel=_depth_of_caller(),
        )


class Varied:
    """Calls that differ in the values of Python numbers alone, each of which has a trace.

    Attributes
    ----------
    count, traced
        How often one was traced, and the nanoseconds that took at least.
    estimated
        The nanoseconds that the function itself should take.
    plain
        What runs the function itself, if it may be.
    """

    def __init__(self) -> None:
        self.count, self.traced, self.estimated = 0, math.inf, math.inf
        self.plain: Postponed | None = None
        #: The numbers of calls that there is a trace of, and what recognizes other calls.
        self.known: set[tuple[Any, ...]] = set()
        self.guard: tuple[Guard, Callable[..., Any]] | None = None

    def run(
        self, arrays: Sequence[Any], args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] = NONE_BY_NAME, func: Callable[..., Any] | None = None,
    ) -> Any:  # fmt: skip
        """Run the function itself, if tracing takes longer; see `ConcreteFunction.run`."""
        if self.plain is None or not self._is_plain:
            raise PlainCall(-1, None)
        return self.plain.run(arrays, args, kwargs, func)

    def next(self) -> Postponed | None:
        """Return what runs the function itself with other numbers, if tracing takes longer."""
        plain = self.plain
        if plain is None or plain.is_due:
            return None
        return plain if self._is_plain else None

    @property
    def is_often(self) -> bool:
        """Whether the last trace was the one after which it is looked for what is faster."""
        return self.count == MANY

    def note_refused(self, nanoseconds: int, plain: Postponed) -> None:
        """Note that one was refused, and what runs the function: other numbers help rarely."""
        self.note(nanoseconds, 0.0)
        self.plain = plain if self.count >= MANY else None

    @property
    def _is_plain(self) -> bool:
        assert self.plain is not None
        least = self.plain.least
        return (self.estimated if least == math.inf else least) < self.traced

    def note(self, nanoseconds: int, estimated: float) -> None:
        """Note that one was traced, and what the function itself should take."""
        self.count += 1
        self.traced, self.estimated = min(self.traced, nanoseconds), estimated


def _difference(
    before: tuple[Any, list[Key]], arguments: Arguments, paths: Callable[[], list[str]]
) -> str:
    """Return which argument differs from those of the trace before, and what helps."""
    structure, keys = before
    if structure != arguments.structure:
        return (
            "the structure of its arguments changes. Pass containers of one length and the same "
            "keys, or arrays"
        )
    changed = [
        (path, old, new)
        for path, old, new in zip(paths(), keys, arguments.keys, strict=True)
        if old != new
    ]
    if not changed:
        return "it was traced for these arguments before, and an object among them was gone since"
    # Another size may have been harmless; another value was not.
    path, old, new = min(changed, key=lambda row: is_data(row[1]) and is_data(row[2]))
    told = f"the argument {path} changes (from {described(old)} to {described(new)})"
    if is_data(old) and is_data(new):
        if old[0] != new[0]:
            return f"{told}. Convert it to one dtype"
        if len(old[1]) != len(new[1]):
            return f"{told}. Give it one number of dimensions"
        return (
            f"{told}. Allow any size by reduce_retracing=True, or by an input_signature with None "
            "in its shape"
        )
    if new[0] in (bool, int, float, complex):
        return f"{told}. A Python number is a constant of the trace: pass np.asarray({path})"
    return f"{told}. Pass the same object each time, or arrays"


def _depth_of_caller() -> int:
    """Return how many frames of this package stand between `warnings.warn` and the user's call."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_own_file(frame.f_code.co_filename):
        depth, frame = depth + 1, frame.f_back
    return depth


def _kinds(arguments: Arguments) -> tuple[bool, ...]:
    """Return which of the data are arrays, and which scalars."""
    return tuple([isinstance(x, np.ndarray) for x in arguments.given_data])


def _is_of_kinds(concrete: ConcreteFunction, arguments: Arguments) -> bool:
    """Whether data without dimensions are arrays, or scalars, where that makes a difference."""
    return all([arguments.is_array(i) is is_array for i, is_array in concrete.kinds])


def _general_key(arguments: Arguments) -> Hashable:
    return arguments.structure, *[
        (key[0], len(key[1])) if is_data(key) else key for key in arguments.keys
    ]


def _generality(concrete: ConcreteFunction) -> int:
    return sum([isinstance(dim, Dim) for shape in concrete.shapes for dim in shape])


def _after_fork() -> None:
    for traces in list(_all):
        traces.lock = threading.RLock()  # the thread that held it is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
