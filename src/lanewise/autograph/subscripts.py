"""What converted code does for ``a[k]``, ``a[k] = v``, ``o.x = v`` and ``del`` of these."""

from __future__ import annotations

import builtins
import inspect
import operator
from collections import defaultdict, deque
from functools import partial
from numbers import Number
from types import FunctionType, MethodType
from typing import Any, NoReturn

import numpy as np

from lanewise.autograph.calls import ROWS, fn, follow_operators, replaces
from lanewise.autograph.foreign import guarded, refuse_writing
from lanewise.autograph.optional import OptionalValue
from lanewise.autograph.sequences import TracedRange
from lanewise.autograph.tables import Picked, look_up, pick, put, put_entry
from lanewise.autograph.values import traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace.contents import ON_CONTENTS, concerns, holds, is_keyed
from lanewise.trace.regions import (
    born,
    in_region,
    is_made_here,
    is_watched,
    note_array,
    note_attribute,
    note_cell,
    note_container,
    note_default,
    note_item,
)
from lanewise.trace.scratch import Scratch, is_traced
from lanewise.trace.tensor import STANDS_FOR, Tensor, as_tensor
from lanewise.trace.trace import state
from lanewise.trace.variants import ON_VARIANTS, Variant

_PLAIN_KEYS = frozenset((int, str, float, bool, type(None), np.int64))
_PLAIN = frozenset((list, tuple, dict, str, bytes, range, np.ndarray))
_SELF_KNOWING = frozenset((Tensor, Scratch, TracedRange, Picked, Variant))


def getitem(a: Any, k: Any) -> Any:
    """``a[k]``."""
    kind = type(a)
    if state.has_contents:
        if concerns(a):
            return ON_CONTENTS["getitem"](a, k)
        k = ON_CONTENTS["index"](k) if holds(k) else k
    if kind is Tensor or (kind in _PLAIN and type(k) in _PLAIN_KEYS) or state.trace is None:
        return a[k]
    if kind in _SELF_KNOWING or issubclass(kind, Scratch):
        return a[k]
    if kind in STANDS_FOR:
        return getitem(STANDS_FOR[kind](a), k)
    method = getattr(kind, "__getitem__", None)
    if type(method) is FunctionType:
        return fn(method)(a, k)
    if not is_traced(k) and type(k) is not TracedRange:
        found = _default_of(a, k) if isinstance(a, defaultdict) and k not in a else a[k]
        return born(found) if type(found) is list and type(k) is slice else found
    if type(k) is Variant:
        is_open = isinstance(a, defaultdict) and not all([x in a for x in k._lw_among])
        if is_open and ON_CONTENTS["keyed"](a, k):
            return getitem(a, k)
        return ON_VARIANTS["entry"](k, a)
    if isinstance(a, np.ndarray):
        return as_tensor(a)[k]
    if isinstance(a, (list, tuple, str, bytes)) and traced(k) is not None:
        return pick(a, k)
    if isinstance(a, dict):
        if traced(k) is not None and not hasattr(kind, "__missing__"):
            return look_up(a, k)
        if ON_CONTENTS["keyed"](a, k):
            return getitem(a, k)
    if kind is range and traced(k) is not None:
        return TracedRange(a.start, a.stop, a.step)[k]
    if kind is list and type(k) is slice and (found := ON_CONTENTS["part"](a, k)) is not None:
        return found
    _refuse_key(a, k)


def _default_of(entries: defaultdict, key: Any) -> Any:
    """``entries[key]`` of a key that is not there.

    A list is made for all examples, as what is done with it then is followed by itself. So it is
    there where an example did not ask for it.
    """
    if isinstance(entries.default_factory, type) and issubclass(entries.default_factory, Number):
        note_container(entries)
        return entries[key]
    home = note_default(entries)
    found = entries[key]
    if home is not None:
        home.bear(found)
    return found


def _refuse_key(a: Any, k: Any) -> NoReturn:
    """Raise for an index that is data into something that cannot take one."""
    kind = type(a).__name__
    if isinstance(a, dict):
        if (key := traced(k)) is not None and key.ndim:
            hash(key)  # raises what NumPy raises
        raise UnsupportedError(
            f"a {kind} is looked up or changed by a key that is traced{at(here())}: which entry "
            "that is depends on the data. Use a list or an array indexed by ints, or if and elif"
        )
    if isinstance(a, (str, bytes)):
        raise UnsupportedError(
            f"a {kind} is sliced at a place that is traced{at(here())}: how long it is would "
            "depend on the data. Use an array of the characters' codes, "
            "np.frombuffer(text.encode(), np.uint8)"
        )
    if isinstance(a, (list, tuple)):
        raise UnsupportedError(
            f"a {kind} is sliced at a place that is traced{at(here())}: how many elements there "
            "are would depend on the data. Use an array: np.array(items)[start:stop]"
        )
    a[k]  # whatever else: it knows itself
    raise UnsupportedError(f"a {kind} is indexed by a traced value{at(here())}")


def setitem(a: Any, k: Any, v: Any) -> None:
    """``a[k] = v``."""
    kind = type(a)
    if type(v) is Picked and (row := v.row()) is not None:
        v = row
    if state.has_contents:
        if concerns(a):
            ON_CONTENTS["setitem"](a, k, v)
            return
        k = ON_CONTENTS["index"](k) if holds(k) else k
        v = ON_CONTENTS["index"](v) if holds(v) and isinstance(a, (Tensor, np.ndarray)) else v
    if kind is Tensor or kind is Variant or state.trace is None or issubclass(kind, Scratch):
        a[k] = v
    elif kind is list or kind is dict:
        if type(k) not in _PLAIN_KEYS and is_traced(k):
            _set_traced(a, k, v)
            return
        if is_watched():
            _note(a, k)
        a[k] = v
    else:
        _set_other(a, k, v)


def _set_other(a: Any, k: Any, v: Any) -> None:
    if type(a) in STANDS_FOR:
        setitem(STANDS_FOR[type(a)](a), k, v)
        return
    method = getattr(type(a), "__setitem__", None)
    if type(method) is FunctionType:
        guarded(MethodType(fn(method), a), a)(k, v)
        return
    if isinstance(a, np.ndarray):
        if in_region() or is_traced(v) or is_traced(k):
            refuse_writing("a[i] = v", a)
        note_array(a)
    elif is_traced(k):
        _set_traced(a, k, v)
        return
    elif is_watched():
        _note(a, k)
    a[k] = v


def _note(a: Any, k: Any) -> None:
    """Log that an entry is about to change.

    Of a list or dict the whole contents are logged: one branch may change an entry, and another one
    the order of all. (But of a module's variables only this one.)
    """
    if isinstance(a, (list, dict, deque)) and not _is_module(a):
        note_container(a)
    else:
        note_item(a, k)


def _is_module(a: Any) -> bool:
    """Whether a dict holds the variables of a module."""
    return isinstance(a, dict) and "__builtins__" in a


def _set_traced(a: Any, k: Any, v: Any) -> None:
    if isinstance(a, list) and traced(k) is not None:
        put(a, k, v)
        return
    if type(a) is list and type(k) is slice and is_made_here(a):
        ON_CONTENTS["set_part"](a, k, v)
        return
    if type(k) is Variant and type(a) is not dict:
        ON_VARIANTS["put"](k, a, v)
        return
    if type(k) is Variant and all([x in a for x in k._lw_among]):
        put_entry(a, k, v)
        return
    if isinstance(a, dict) and ON_CONTENTS["keyed"](a, k):
        setitem(a, k, v)
        return
    _refuse_key(a, k)


def delitem(a: Any, k: Any) -> None:
    """``del a[k]``."""
    if concerns(a):
        ON_CONTENTS["delitem"](a, k)
        return
    method = getattr(type(a), "__delitem__", None)
    if state.trace is not None:
        if type(method) is FunctionType:
            guarded(MethodType(fn(method), a), a)(k)
            return
        if is_traced(k):
            if isinstance(a, list) and traced(k) is not None:
                fn(a.pop)(k)
                return
            if type(a) is list and type(k) is slice and is_made_here(a):
                ON_CONTENTS["set_part"](a, k, ())
                return
            if isinstance(a, dict) and ON_CONTENTS["keyed"](a, k):
                delitem(a, k)
                return
            _refuse_key(a, k)
        if isinstance(a, (list, dict)) and is_watched():
            note_container(a)
        guarded(partial(operator.delitem, a), a)(k)
        return
    del a[k]


def changing(x: Any, by: Any, symbol: str | None = None) -> Any:
    """Return v of ``x += v`` and the like, noting that x may be changed in place next.

    ``symbol`` says what is done, where that may be done to sets and lists.
    """
    if symbol is not None and (is_keyed(x) or is_keyed(by)):
        return ON_CONTENTS["augmented"](x, symbol, by)
    if symbol == "*" and type(x) is list and (count := traced(by)) is not None and not count.shape:
        ON_CONTENTS["repeat"](x, count)
        return 1
    if not is_watched():
        return by
    if isinstance(x, (list, dict, set, deque, bytearray)):
        note_container(x)
    elif type(x) is np.ndarray:
        if in_region():
            refuse_writing("a += v", x)
        note_array(x)
    else:
        follow_operators(type(x))
    return by


# --- attributes and cells -------------------------------------------------------------------------


def setattr(o: Any, name: str, v: Any) -> None:
    """``o.name = v``."""
    o = o.there() if type(o) is OptionalValue else o
    if state.trace is not None and type(o) is not Variant:
        found = inspect.getattr_static(type(o), name, None)
        if type(found) is property and found.fset is not None:
            fn(found.fset)(o, v)
            return
        method = getattr(type(found), "__set__", None)
        if type(method) is FunctionType:
            fn(method)(found, o, v)
            return
        method = type(o).__setattr__
        if type(method) is FunctionType:
            fn(method)(o, name, v)
            return
        if is_watched():
            note_attribute(o, name)
    builtins.setattr(o, name, v)


def delattr(o: Any, name: str) -> None:
    """``del o.name``."""
    found = inspect.getattr_static(type(o), name, None) if state.trace is not None else None
    if type(found) is property and found.fdel is not None:
        fn(found.fdel)(o)
        return
    if is_watched() and type(o) is not Variant:
        note_attribute(o, name)
    builtins.delattr(o, name)


def setcell(cell: Any, v: Any) -> None:
    """Assign to a variable of a function around."""
    note_cell(cell)
    cell.cell_contents = v


def closure(f: Any) -> Any:
    """Return a function that was made just now."""
    return born(f) if is_watched() else f


def cells(function: Any) -> None:
    """Note the variables, those of a function, of a call that begins: nobody else has them yet."""
    if is_watched():
        for cell in function.__closure__ or ():
            born(cell)


def _in_place(function: Any) -> Any:
    def call(x: Any, y: Any) -> Any:
        changing(x, None)
        return function(x, y)

    return call


for _name in "add and concat floordiv lshift matmul mod mul or pow rshift sub truediv xor".split():
    _function = getattr(operator, f"i{_name}")
    ROWS[_function] = _in_place(_function)
ROWS[operator.getitem] = getitem
ROWS[operator.setitem] = setitem
ROWS[operator.delitem] = delitem
ROWS[builtins.setattr] = setattr
ROWS[builtins.delattr] = delattr


@replaces(object.__setattr__)
def object_setattr(o: Any, name: str, v: Any) -> None:
    """``object.__setattr__``."""
    note_attribute(o, name)
    object.__setattr__(o, name, v)


__all__ = [
    "cells",
    "changing",
    "closure",
    "delattr",
    "delitem",
    "getitem",
    "setattr",
    "setcell",
    "setitem",
]
