"""``sorted`` by keys that are data, or that users' code compares."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.autograph.calls import fn, replaces
from lanewise.autograph.sequences import has_data_length
from lanewise.autograph.tables import Table
from lanewise.autograph.values import (
    Ordered,
    compares_by_data,
    ensure,
    is_ordered_by_code,
    less,
    scalars,
    traced,
)
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.contents import ON_CONTENTS
from lanewise.trace.regions import born
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import Tensor, as_tensor, stack_nested


@replaces(builtins.sorted)
def sorted_(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """``sorted``: a list of as many items, ordered by a key that may be data; stable."""
    if has_data_length(iterable):
        return ON_CONTENTS["listed"](sorted, iterable, key=key, reverse=reverse)
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    if not compares_by_data(*keys) or len(items) < 2:
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return born([items[i] for i in order])
    if traced(reverse) is not None:
        raise UnsupportedError(f"sorted(reverse=) takes a plain truth value{at(here())}")
    is_compared = _is_compared_in_pairs(keys)
    known = _in_known_order(keys, reverse) if is_compared else None
    if known is not None:
        return born([items[i] for i in known])
    if reverse:  # equal ones keep their order, so turn before and after
        items, keys = items[::-1], keys[::-1]
    order = _placed(keys) if is_compared else ranked(_columns(keys))
    found = Table(items, "a list that is sorted by data").reordered(order)
    return born(found[::-1] if reverse else found)


@replaces(functools.cmp_to_key)
def cmp_to_key(mycmp: Any) -> Any:
    """``functools.cmp_to_key``."""
    return functools.partial(Ordered, fn(mycmp))


def _is_compared_in_pairs(keys: Sequence[Any]) -> bool:
    """Whether the order of keys is no order of numbers: a user's code says what it is."""
    kinds = set(map(type, keys))
    parts = [x for x in keys if type(x) in (list, tuple)]
    return any(map(is_ordered_by_code, kinds)) or any(map(_is_compared_in_pairs, parts))


class _DecidedByData(Exception):  # noqa: N818  (which never leaves this module)
    """How two keys compare is data."""


def _in_known_order(keys: Sequence[Any], reverse: Any) -> list[int] | None:
    """Return the places of objects in order, by what their code says; None if that is data."""

    def compared(i: int, j: int) -> int:
        is_less = less(keys[i], keys[j])
        if isinstance(is_less, Tensor):
            raise _DecidedByData
        return -bool(is_less)  # Python asks for nothing else

    try:
        return sorted(range(len(keys)), key=functools.cmp_to_key(compared), reverse=reverse)
    except _DecidedByData:
        return None


def _placed(keys: Sequence[Any]) -> Tensor:
    """Return the places of objects in order: each pair is compared, as often as it takes."""
    places: list[Any] = [0] * len(keys)  # how many of the others are before each
    for i, own in enumerate(keys):
        for j, other in enumerate(keys[:i]):
            is_before = as_tensor(less(own, other)).astype(np.intp)
            places[j] = places[j] + is_before
            places[i] = places[i] + (1 - is_before)
    found = stack_nested(places)
    order = np.argsort(found)
    problem = ValueError("sorted() of objects of which none is the least: they have no order")
    return ensure(order, np.all(found[order] == np.arange(len(keys))), problem)


def _columns(keys: list[Any]) -> list[Tensor]:
    """Return the keys as rows of numbers, the first one in command."""
    if scalars(keys):
        column = as_tensor(Table(keys).column)
        if column.dtype.kind == "f":
            problem = ValueError("sorted() of NaN: it has no place in an order")
            column = ensure(column, np.logical_not(np.isnan(column)), problem)
        return [column]
    first = keys[0]
    if all(isinstance(k, (tuple, list)) and len(k) == len(first) for k in keys):
        found = []
        for part in zip(*keys, strict=True):
            found += _columns(list(part))
            if not is_traced(part) and scalars(part) and len(set(part)) == len(part):
                break  # no two are equal so far
        return found
    if not is_traced(keys):  # texts and the like: their ranks
        ranked: list[Any] = []
        for k in sorted(keys):
            if not ranked or ranked[-1] != k:
                ranked.append(k)
        return [as_tensor(np.array([ranked.index(k) for k in keys]))]
    raise UnsupportedError(
        f"sorted() by keys that are data{at(here())} takes real numbers, or tuples of them of one "
        "length"
    )


def ranked(columns: Sequence[Tensor]) -> Tensor:
    """Return the places of rows of numbers in order, the first column in command; stable."""
    order: Any = np.argsort(columns[-1], kind="stable")
    for column in columns[-2::-1]:
        order = order[np.argsort(column[order], kind="stable")]
    return order
