"""What Python's functions do with the items of an iterator that follows the data, as loops.

Python's own would go on with it by themselves, whether or not its items are there for all examples
(`lanewise.autograph.pulled`). What gives items one by one is a generator itself, of which the items
are taken when they are asked for.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

from lanewise.autograph.calls import fn
from lanewise.autograph.cursors import ITERATING, Cursor, Rest
from lanewise.autograph.folds import FOLDS, fold
from lanewise.autograph.iterators import PULLING
from lanewise.autograph.lists.loops import written
from lanewise.autograph.pulled import follows, is_fresh
from lanewise.autograph.sequences import as_sequence
from lanewise.autograph.values import require, traced
from lanewise.trace.contents import ON_CONTENTS, concerns


def pulling(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return what a function of Python's that goes through its arguments gives of an iterator.

    ``NotImplemented`` where that is left to the function itself.
    """
    places = [n for n, x in enumerate(args) if follows(x) or _is_rest(x)]
    is_list = function in OF_ANY and any([concerns(x) for x in args])
    if not (is_list or function in _BY_TESTS or len(places) == 1) and not (
        places and function in _OF_SEVERAL
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


def _is_rest(x: Any) -> bool:
    """Whether something is what an iterator has left, and data tell how much that is."""
    return isinstance(x, (Rest, *ITERATING)) and type(x.length) is not int


def items_given(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a method or function that is not followed.

    A list is given in place of an iterator that it goes through.
    """
    if not any(map(follows, args)) or getattr(function, "__name__", None) not in _GOING_THROUGH:
        return args
    return tuple([fn(builtins.list)(x) if follows(x) else x for x in args])


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
    """``itertools.islice``, up to a number that data may tell."""
    given = slice(*ends)
    start, step = given.start or 0, given.step or 1
    if not all([type(x) is int and x >= 0 for x in (start, step)]) or given.step == 0:
        return NotImplemented
    stop = given.stop
    if (tensor := traced(stop)) is not None and tensor.dtype.kind in "iu" and not tensor.shape:
        require(stop >= 0, ValueError("Stop argument for islice() must not be negative"))
    elif stop is not None and not (type(stop) is int and stop >= 0):
        return NotImplemented
    return _sliced(items, start, stop, step)


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


@written
def _alone(cursor: Any) -> Any:
    while cursor.position < cursor.items.length:
        yield (next(cursor),)


@written
def _beside(items: Any, cursor: Any, shorter: Any, longer: Any) -> Any:
    for item in items:
        if cursor.position >= cursor.items.length:
            if shorter is not None:
                raise ValueError(shorter)
            return
        yield (*item, next(cursor))
    if longer is not None and cursor.position < cursor.items.length:
        raise ValueError(longer)


def _zip_cursors(cursors: Any, strict: bool) -> Any:
    first, *rest = cursors
    made, before = _alone(first), "argument 1"
    for number, cursor in enumerate(rest, 2):
        errors = [f"zip() argument {number} is {x} than {before}" for x in ("shorter", "longer")]
        made = _beside(made, cursor, *errors if strict else (None, None))
        before = f"arguments 1-{number}"
    return made


def _zip(*parts: Any, strict: bool = False) -> Any:
    """``zip`` of one generator and of what has positions, or of iterators by position.

    Python asks the generator for one item more where that comes before what ends first.
    """
    if not any(map(is_fresh, parts)):
        if not all([type(x) is Cursor or as_sequence(x) is not None for x in parts]):
            return NotImplemented
        return _zip_cursors(map(fn(builtins.iter), parts), strict)
    if any([type(x) is Cursor for x in parts]) or sum(map(is_fresh, parts)) > 1:
        return NotImplemented
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


@written
def _products(parts: Any) -> Any:
    if not parts:
        yield ()
        return
    for item in parts[0]:
        for rest in _products(parts[1:]):
            yield (item, *rest)


@written
def _combined(items: Any, first: Any, count: Any, step: Any) -> Any:
    if count == 0:
        yield ()
        return
    for i in range(first, len(items)):
        for rest in _combined(items, i + step, count - 1, step):
            yield (items[i], *rest)


@written
def _permuted(items: Any, used: Any, count: Any) -> Any:
    if count == 0:
        yield ()
        return
    for i in range(len(items)):
        if i not in used:
            for rest in _permuted(items, (*used, i), count - 1):
                yield (items[i], *rest)


@written
def _longest(parts: Any, fillvalue: Any) -> Any:
    for i in range(max(len(part) for part in parts)):
        yield tuple([part[i] if i < len(part) else fillvalue for part in parts])


def _product(*parts: Any, repeat: Any = 1) -> Any:
    return _products([*map(_listed, parts)] * repeat) if type(repeat) is int else NotImplemented


def _combinations(items: Any, r: Any, step: int = 1) -> Any:
    return _combined(_listed(items), 0, r, step) if type(r) is int and r >= 0 else NotImplemented


def _permutations(items: Any, r: Any = None) -> Any:
    return _permuted(_listed(items), (), r) if type(r) is int and r >= 0 else NotImplemented


def _zip_longest(*parts: Any, fillvalue: Any = None) -> Any:
    return _longest([*map(_listed, parts)], fillvalue)


def _listed(x: Any) -> Any:
    """Return what has positions."""
    return x if concerns(x) or as_sequence(x) is not None else fn(builtins.list)(x)


# --- iterators by position, and users' own --------------------------------------------------------


@written
def _next(cursor: Any, *default: Any) -> Any:
    position = cursor.position
    if position >= cursor.items.length:
        cursor.end()
        if default:
            return default[0]
        raise StopIteration
    cursor.move(position + 1)
    return cursor.items.at(position)


@written
def _next_or(iterator: Any, default: Any) -> Any:
    try:
        return iterator.__next__()
    except StopIteration:
        return default


def next_of(iterator: Any, *default: Any) -> Any:
    """``next`` of an iterator by position, or of a user's class."""
    if type(iterator) is not Cursor:
        return _next_or(iterator, *default) if default else next(iterator)
    iterator.check()
    return _next(iterator, *default)


@written
def steps(iterator: Any) -> Any:
    """Give what is left of an iterator by position, or of a user's class."""
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            return
        yield item


@written
def is_among(iterator: Any, wanted: Any) -> Any:
    """``wanted in iterator``, which takes its items up to that."""
    return any(item is wanted or item == wanted for item in iterator)


#: Of an iterator that is the only one among what is gone through.
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
    itertools.product: _product,
    itertools.combinations: _combinations,
    itertools.combinations_with_replacement: functools.partial(_combinations, step=0),
    itertools.permutations: _permutations,
    itertools.zip_longest: _zip_longest,
}
#: Those that go through several.
_OF_SEVERAL = frozenset({itertools.chain, builtins.zip})
#: Those that are given lists of data lengths as well: by no other way are these followed.
OF_ANY = frozenset({
    itertools.islice, itertools.takewhile, itertools.dropwhile, itertools.accumulate,
    itertools.pairwise, itertools.chain, itertools.starmap, itertools.filterfalse,
    itertools.groupby, itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement, itertools.zip_longest,
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
_LEFT = frozenset({itertools.cycle, itertools.compress, itertools.tee})
PULLING.append(pulling)
ON_CONTENTS.update({"next": next_of, "steps": steps, "is among": is_among})
