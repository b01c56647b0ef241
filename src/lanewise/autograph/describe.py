"""What messages call what variables hold, and the errors of those that cannot be joined."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from enum import Enum
from typing import Any, NoReturn

from lanewise.autograph.instances import Instance
from lanewise.autograph.state import (
    DONT_CARE,
    SAME_OBJECT,
    SAME_STRUCTURE,
    Undefined,
    flatten,
    is_optional,
    kind_of,
    refuse,
)
from lanewise.trace import tree
from lanewise.trace.contents import Contents, Entries, entries_of, is_keyed
from lanewise.trace.lending import Unknown
from lanewise.trace.packed import Packed
from lanewise.trace.variants import Variant

#: Of how many elements a message says what they are.
_FEW = 3
#: What to call objects of Lanewise's own that stand for a user's, by their classes.
STANDING: dict[type, str] = {
    Contents: "as many as the data say",
    type(DONT_CARE): "not known",
}


def describe(value: Any) -> str:
    """Return what to call the value of a variable in a message."""
    if type(value) is Variant:
        return str(value._lw_among)
    value = value.object if type(value) is Instance else value
    value = value.origin if isinstance(value, Packed) else value
    kind = kind_of(value)
    if kind is not None:
        return f"{kind} or None" if is_optional(value) else str(kind)
    if value is None or isinstance(value, str):
        return repr(value)
    if type(value) in STANDING:
        return STANDING[type(value)]
    if type(value) is Entries or is_keyed(value):
        entries = value if type(value) is Entries else entries_of(value)
        values = f" and values ({_parts(entries.values)})" if entries.values else ""
        what = "one" if entries is value else f"a {type(value).__name__}"
        return f"{what} with keys that are data ({_parts(entries.keys)}){values}"
    if isinstance(value, (list, tuple, dict, set, deque)):
        if Contents in map(type, value):
            return f"a {type(value).__name__} whose length is data"
        holding = f" ({_parts(value)})" if 0 < len(value) <= _FEW else ""
        return f"a {type(value).__name__} of {len(value)}{holding}"
    if isinstance(value, Enum):
        return str(value) if not isinstance(value, int) else repr(value)
    if isinstance(value, Undefined):
        return "not defined"
    return f"of type {type(value).__name__}"


def _parts(values: Collection[Any]) -> str:
    return ", ".join(map(describe, values)) if len(values) <= _FEW else f"{len(values)} of them"


def refuse_structure(name: str, sides: tuple[str, str], first: Any, second: Any) -> NoReturn:
    """Raise `ControlFlowError` for a variable that differs in structure."""
    _refuse_unknown(first, second)
    must = SAME_STRUCTURE
    if isinstance(first, Packed) and isinstance(second, Packed):
        must = "its dtype must be the same, as no bound of its size is known"
    if isinstance(first, list) and isinstance(second, list):
        must += " (instead of a list that grows with the data use lw.TensorArray, or an array with "
        must += "the number of its entries in use)"
    if isinstance(first, deque) and isinstance(second, deque):
        must += " (instead of a deque that grows with the data use a list: append and pop(0))"
    what = describe(first)
    if what == describe(second):
        place, first, second = _first_difference(first, second)
        name = f"{name} is {what}, of which {place}" if place else name
    refuse(name, sides, describe(first), _other(first, second), must)


def _first_difference(first: Any, second: Any) -> tuple[str, Any, Any]:
    """Return where two trees first differ in structure, as ``['x'][0]``, and what is there."""
    own, others = tree.children_of(first) or {}, tree.children_of(second) or {}
    if type(first) is type(second) and own.keys() == others.keys():
        for key, each in own.items():
            if flatten(each)[1] != flatten(others[key])[1]:
                step = f"[{key!r}]" if isinstance(first, (list, tuple, dict, deque)) else f".{key}"
                place, *both = _first_difference(each, others[key])
                return step + place, *both
    return "", first, second


def _other(first: Any, second: Any) -> str:
    """Return what to call a value in a message that says what another one is."""
    what = describe(second)
    if what != describe(first) or kind_of(first) is not None:
        return what
    return f"another {what.removeprefix('of type ').removeprefix('a ').removeprefix('an ')}"


def refuse_object(name: str, sides: tuple[str, str], first: Any, second: Any) -> NoReturn:
    """Raise `ControlFlowError` for a variable that holds something else than arrays."""
    _refuse_unknown(first, second)
    must = SAME_OBJECT
    has_attributes = hasattr(first, "__dict__") or hasattr(type(first), "__slots__")
    is_plain = type(first) is type(second) and has_attributes and type(first) not in STANDING
    if is_plain and kind_of(first) is None and not isinstance(first, (type, Enum)):
        must += ". Change the attributes of one object there, or make the class a dataclass"
    refuse(name, sides, describe(first), _other(first, second), must)


def _refuse_unknown(*values: Any) -> None:
    for leaf in tree.flatten(values)[0]:
        if type(leaf) is Unknown:
            leaf.refuse()
