"""Iterators from outside of a mapped function: each example would take other items of them."""

from __future__ import annotations

import builtins
import collections
import functools
import gc
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, GeneratorType
from typing import Any
from weakref import ref

import numpy as np

from lanewise.autograph.build import is_ours
from lanewise.autograph.convert import is_converted
from lanewise.autograph.cursors import Cursor
from lanewise.autograph.known_calls import is_library
from lanewise.autograph.pulled import is_followed
from lanewise.autograph.sequences import is_data
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here, is_own_file
from lanewise.trace.attributes import held_by
from lanewise.trace.contents import LISTS, ON_CONTENTS, concerns
from lanewise.trace.regions import Region, Watched, born
from lanewise.trace.trace import Stateful, state


def take_from_outside(iterator: Any) -> None:
    """Raise `Stateful` for an iterator that a mapped function has from outside of itself."""
    if not isinstance(iterator, Iterator) or not _is_mapped(iterator):
        return
    frame = _user_frame()
    if frame is None:
        return
    inner = _inner_names(frame, iterator)
    outside = {name: frame.f_locals.get(name) for name in frame.f_code.co_freevars}
    outside.update({name: frame.f_globals.get(name) for name in frame.f_code.co_names})
    outside = {name: value for name, value in outside.items() if name not in inner}
    for name, value in outside.items():
        if value is iterator:
            raise Stateful(f"the iterator {name!r}", here())
    for name, value in {**outside, **frame.f_locals}.items():
        if is_ours(name):
            continue
        for attribute, part in held_by(value).items():
            if part is iterator and _is_mapped(value):
                raise Stateful(f"the iterator {name}.{attribute}", here())


def taking(iterator: Any, sees_itself: bool = False) -> None:
    """See to an iterator of which items are about to be taken: it cannot be put back.

    ``sees_itself`` says that it is a generator that will see by itself where it is gone on with.

    Raises
    ------
    Stateful
        If a mapped function has it from outside of itself.
    UnsupportedError
        If it was made outside of the branch or loop body that is recorded.
    """
    take_from_outside(iterator)
    trace = state.trace if _is_tracked(iterator) else None
    while trace is not None:
        for journal in () if trace.journal is None else trace.journal.around():
            if id(iterator) not in journal.born:
                journal.is_sealed = True
        if not isinstance(trace, Region) or trace.has_born(iterator):
            return
        if trace.is_turn or not sees_itself:
            raise UnsupportedError(
                f"items are taken of an iterator from outside of a branch or loop body{at(here())},"
                " while the data decide whether or how often. Use a list and an index"
            )
        trace = trace.parent


def begun(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return a generator, which belongs to the region in which it is made."""
    return owned_here(function(*args, **kwargs))


def owned_here(made: Any) -> Any:
    """Return a generator that was made just now; inside a region it is the region's own.

    Nobody keeps it: it closes where the last one lets go of it that had it.
    """
    trace = state.trace
    journals = () if trace is None or trace.journal is None else trace.journal.around()
    for owner in (trace, *journals):
        born = getattr(owner, "born", None)
        if born is not None:
            born[id(made)] = ref(made, functools.partial(_forget, born, id(made)))
    return made


def _forget(known: dict[int, Any], key: int, _: Any) -> None:
    known.pop(key, None)


def is_new(iterator: Any) -> None:
    """Note an iterator that a call has given, unless it is known who made it before."""
    if isinstance(iterator, Iterator):
        trace = state.trace
        while trace is not None and not (isinstance(trace, Watched) and trace.has_born(iterator)):
            trace = trace.parent
        if trace is None:
            born(iterator)


def _is_followed(x: Any) -> bool:
    return type(x) is GeneratorType and is_followed(x.gi_code)


def is_users(iterator: Any) -> bool:
    """Whether an iterator is of a user's class, or by position: what it keeps is followed."""
    kind = type(iterator)
    is_written = type(getattr(kind, "__next__", None)) is FunctionType
    return kind is Cursor or (is_written and not is_library(kind.__module__))


def _is_tracked(iterator: Any) -> bool:
    """Whether something keeps to itself how many of its items are left."""
    if type(iterator) is GeneratorType:
        return is_converted(iterator.gi_code)
    return hasattr(type(iterator), "__next__") and not is_users(iterator)


def lists_gone_through(iterator: Any) -> list[Any]:
    """Return the lists of which an iterator of Python's own takes the elements, also by others."""
    found, todo, seen = [], [iterator], set[int]()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if type(one) in LISTS:
            found.append(one)
        elif type(one) is tuple or (
            hasattr(type(one), "__next__") and not (is_data(one) or _is_followed(one))
        ):
            todo += gc.get_referents(one)
    return found


def refuse_arrays(lists: Sequence[Any]) -> None:
    """Raise where a list that an iterator goes through holds arrays of its elements by now."""
    if any(map(concerns, lists)):
        raise UnsupportedError(
            f"a list that an iterator goes through is written at an index that is data{at(here())},"
            " or becomes as long as the data say. Loop over the list itself, or over a copy of it"
        )


#: What takes items of the iterators that it is given, now or later.
CONSUMING: tuple[Any, ...] = (
    builtins.list, builtins.tuple, builtins.set, builtins.frozenset, builtins.dict, builtins.zip,
    builtins.map, builtins.filter, builtins.enumerate, builtins.sum, builtins.min, builtins.max,
    builtins.any, builtins.all, builtins.sorted, collections.deque, collections.Counter,
    functools.reduce, math.fsum, math.prod, itertools.islice, itertools.chain, itertools.cycle,
    itertools.compress, itertools.zip_longest, itertools.pairwise, itertools.tee,
    itertools.accumulate, itertools.starmap, itertools.takewhile, itertools.dropwhile,
    itertools.filterfalse, itertools.groupby, itertools.product, itertools.combinations,
    itertools.combinations_with_replacement, itertools.permutations,
)  # fmt: skip


#: Those that take all items at once.
WHOLE = frozenset({
    builtins.list, builtins.tuple, builtins.set, builtins.frozenset, builtins.dict, builtins.sum,
    builtins.min, builtins.max, builtins.sorted, collections.deque, collections.Counter,
    functools.reduce, math.fsum, math.prod,
})  # fmt: skip


#: What is done with generators that follow the data; filled by `lanewise.autograph.lists.pulling`.
PULLING: list[Callable[..., Any]] = []


#: What is gone through as Python does it, also of a user's class.
_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, collections.deque, np.ndarray)


def _given(python: Any, x: Any) -> Any:
    """Return what a function of Python's is given in place of an iterator that is followed."""
    if python is not builtins.dict and not is_library(type(x).__module__):
        x = iter(x) if hasattr(type(x), "__iter__") and not isinstance(x, _CONTAINERS) else x
    if type(x) is Cursor:
        return x.whole() if python in WHOLE else x
    return ON_CONTENTS["steps"](x) if is_users(x) else x


#: What goes through all that it is given; what is given a function first.
_OF_ALL = frozenset({
    builtins.zip, itertools.chain, itertools.product, itertools.zip_longest, itertools.compress,
})  # fmt: skip
_BY_FUNCTION = frozenset({
    builtins.map, builtins.filter, functools.reduce, itertools.starmap, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse,
})  # fmt: skip


def _gone_through(python: Any, count: int) -> range:
    """Return which of so many arguments a function of Python's goes through, by place."""
    if python in _OF_ALL:
        return range(count)
    if python in _BY_FUNCTION:
        return range(1, count if python is builtins.map else 2)
    return range(0 if python in (builtins.min, builtins.max) and count > 1 else 1)


def consuming(python: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes no items of iterators from outside of a mapped function.

    It stands for a function of Python's.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        places = _gone_through(python, len(args))
        args = tuple([_given(python, x) if n in places else x for n, x in enumerate(args)])
        if (result := PULLING[0](python, args, kwargs)) is not NotImplemented:
            return result
        given = [x for x in args if hasattr(type(x), "__next__")]
        for x in given:
            taking(x)
        lists = [items for x in given for items in lists_gone_through(x)]
        result = function(*args, **kwargs)
        refuse_arrays(lists)
        if hasattr(type(result), "__next__") and not any([result is x for x in given]):
            born(result)
        return result

    return call


def is_made(result: Any, given: Any) -> bool:
    """Whether a function has made what it gives: ``iter`` of an iterator gives that itself."""
    if result is given:
        take_from_outside(given)
    return result is not given


def _user_frame() -> Any:
    frame: Any = sys._getframe(1)
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _inner_names(frame: Any, iterator: Any) -> set[str]:
    """Return by what names functions that run within the trace share an iterator of theirs."""
    found: set[str] = set()
    while frame is not None and frame.f_globals.get("__name__") != "lanewise.api.mapping":
        names = frame.f_code.co_cellvars
        found.update([name for name in names if frame.f_locals.get(name) is iterator])
        frame = frame.f_back
    return found


def _is_mapped(x: Any) -> bool:
    """Whether a mapped function is being traced, and an object was not made by it."""
    trace, is_mapped = state.trace, False
    while trace is not None:
        if isinstance(trace, Watched) and trace.has_born(x):
            return False
        is_mapped = is_mapped or trace.randomness is not None
        trace = trace.parent
    return is_mapped
