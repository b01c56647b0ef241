"""What Python's functions do with the items of a generator that follows the data, as loops.

Python's own would go on with it by themselves, whether or not its items are there for all examples
(`lanewise.autograph.pulled`). What gives items one by one is a generator itself, of which the items
are taken when they are asked for.
"""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn
from lanewise.autograph.folds import FOLDS, fold
from lanewise.autograph.iterators import PULLING
from lanewise.autograph.lists.loops import written
from lanewise.autograph.pulled import is_fresh
from lanewise.autograph.sequences import as_sequence
from lanewise.trace.contents import concerns


def pulling(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what a function of Python's that goes through its arguments gives of a generator.

    ``NotImplemented`` where that is left to the function itself.
    """
    places = [n for n, x in enumerate(args) if is_fresh(x)]
    is_list = function in OF_ANY and any([concerns(x) for x in args])
    if not (is_list or function in _BY_TESTS or len(places) == 1) and not (
        places and function is itertools.chain
    ):
        return NotImplemented
    if (make := _ONE_BY_ONE.get(function)) is not None:
        return make(*args, **options)
    if function in _LEFT:
        return NotImplemented
    if function in FOLDS:
        return _folded(args[0], fold(function, *args[1:], **options))
    found = _folded(args[places[0]], fold(builtins.list))
    return fn(function, True)(*args[: places[0]], found, *args[places[0] + 1 :], **options)


def items_given(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a method or function that is not followed.

    A list is given in place of a generator that it goes through.
    """
    if not any(map(is_fresh, args)) or getattr(function, "__name__", None) not in _GOING_THROUGH:
        return args
    return tuple([_folded(x, fold(builtins.list)) if is_fresh(x) else x for x in args])


@written
def _folded(items: Any, fold: Any) -> Any:
    total = fold.start
    for item in items:
        total = fold.add(total, item)
    return fold.result(total)


@written
def _any(items: Any) -> Any:
    return any(item for item in items)


@written
def _all(items: Any) -> Any:
    return all(item for item in items)


# --- what gives items one by one ------------------------------------------------------------------


@written
def _enumerated(items: Any, start: Any = 0) -> Any:
    position = start
    for item in items:
        yield position, item
        position += 1


@written
def _mapped(function: Any, items: Any) -> Any:
    for item in items:
        yield function(item)


@written
def _filtered(function: Any, items: Any) -> Any:
    for item in items:
        if item if function is None else function(item):
            yield item


@written
def _sliced(items: Any, start: Any, stop: Any, step: Any) -> Any:
    wanted = start
    if stop is not None and stop <= 0:
        return
    for position, item in enumerate(items, 1):
        if position > wanted:
            yield item
            wanted += step
        if stop is not None and position >= stop:
            return


def _slice(items: Any, *ends: Any) -> Any:
    """``itertools.islice`` of numbers that are known."""
    given = slice(*ends)
    start = 0 if given.start is None else given.start
    step = 1 if given.step is None else given.step
    if not all([type(x) is int and x >= 0 for x in (start, given.stop or 0, step)]) or not step:
        return NotImplemented
    return _sliced(items, start, given.stop, step)


@written
def _while_so(function: Any, items: Any) -> Any:
    for item in items:
        if not function(item):
            return
        yield item


@written
def _from_first(function: Any, items: Any) -> Any:
    has_begun = False
    for item in items:
        if not has_begun:
            has_begun = not function(item)
        if has_begun:
            yield item


@written
def _totals(items: Any, func: Any = None, *, initial: Any = None) -> Any:
    join = operator.add if func is None else func
    total, has_begun = initial, initial is not None
    if has_begun:
        yield total
    for item in items:
        total = join(total, item) if has_begun else item
        has_begun = True
        yield total


@written
def _pairs(items: Any) -> Any:
    has_begun, before = False, None
    for item in items:
        if has_begun:
            yield before, item
        has_begun, before = True, item


@written
def _chained(*parts: Any) -> Any:
    for part in parts:
        yield from part


@written
def _zipped(parts: Any, own: Any, length: Any, is_before: Any) -> Any:
    if length == 0 and not is_before:
        return
    for position, item in enumerate(parts[own]):
        if position >= length:
            return
        yield tuple([item if n == own else parts[n].at(position) for n in range(len(parts))])
        if position + 1 >= length and not is_before:
            return


def _zip(*parts: Any, strict: bool = False) -> Any:
    """``zip`` of one generator and of what has positions.

    Python asks the generator for one item more where that comes before what ends first.
    """
    own = next(n for n, x in enumerate(parts) if is_fresh(x))
    whole = [None if n == own or iter(x) is x else as_sequence(x) for n, x in enumerate(parts)]
    lengths = [each.length for each in whole if each is not None]
    if strict or len(lengths) != len(parts) - 1 or not all([type(x) is int for x in lengths]):
        return NotImplemented
    if not lengths:
        return _zipped(parts, own, 1 << 62, True)
    shortest = next(n for n, x in enumerate(whole) if x is not None and x.length == min(lengths))
    given = [x if each is None else each for x, each in zip(parts, whole, strict=True)]
    return _zipped(given, own, min(lengths), own < shortest)


@written
def _starred(function: Any, items: Any) -> Any:
    for item in items:
        yield function(*item)


@written
def _not_filtered(function: Any, items: Any) -> Any:
    for item in items:
        if not (item if function is None else function(item)):
            yield item


@written
def _each(items: Any) -> Any:
    yield from items


@written
def _grouped(items: Any, key: Any = None) -> Any:
    has_begun, before, group = False, None, []
    for item in items:
        found = item if key is None else key(item)
        if has_begun and found == before:
            group.append(item)
        else:
            if has_begun:
                # Where the next group is asked for, Python's ends.
                given = _each(group)
                yield before, given
                given.close()
            has_begun, before, group = True, found, [item]
    if has_begun:
        given = _each(group)
        yield before, given
        given.close()


#: Of a generator that is the only one among what is gone through.
_ONE_BY_ONE: dict[Any, Callable[..., Any]] = {
    builtins.any: _any,
    builtins.all: _all,
    builtins.enumerate: _enumerated,
    builtins.map: lambda function, *parts: (
        _mapped(function, *parts) if len(parts) == 1 else NotImplemented
    ),
    builtins.filter: _filtered,
    itertools.islice: _slice,
    itertools.takewhile: _while_so,
    itertools.dropwhile: _from_first,
    itertools.accumulate: _totals,
    itertools.pairwise: _pairs,
    itertools.chain: _chained,
    itertools.starmap: _starred,
    itertools.filterfalse: _not_filtered,
    itertools.groupby: _grouped,
    builtins.zip: _zip,
}
#: Those that are given lists of data lengths as well: by no other way are these followed.
OF_ANY = frozenset({
    itertools.islice, itertools.takewhile, itertools.dropwhile, itertools.accumulate,
    itertools.pairwise, itertools.chain, itertools.starmap, itertools.filterfalse,
    itertools.groupby,
})  # fmt: skip
#: By name, methods and functions that go through what they are given.
_GOING_THROUGH = frozenset(
    "extend extendleft update union intersection difference symmetric_difference "
    "difference_update intersection_update isdisjoint issubset issuperset join fromkeys "
    "fromiter nsmallest nlargest".split()
)
#: Those that go through a part of their items, as a function tells.
_BY_TESTS = frozenset({
    itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.groupby,
})  # fmt: skip
#: What else gives items one by one.
_LEFT = frozenset({itertools.cycle, itertools.compress, itertools.zip_longest, itertools.tee})
PULLING.append(pulling)
