"""What an object of a user's class holds: in its ``__dict__``, and in the slots of its classes."""

from __future__ import annotations

from collections.abc import Iterable
from types import MemberDescriptorType
from typing import Any
from weakref import WeakKeyDictionary

#: By class, as long as that lives, the names of its slots.
_SLOTS: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def slots_of(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes for which a class, or one that it is of, has slots."""
    known = _SLOTS.get(kind)
    if known is None:
        bases = [vars(base) for base in kind.__mro__ if "__slots__" in vars(base)]
        known = tuple(dict.fromkeys([
            name
            for own in bases
            for name, found in own.items()
            if type(found) is MemberDescriptorType
        ]))  # fmt: skip
        _SLOTS[kind] = known
    return known


def held_by(x: Any) -> dict[str, Any]:
    """Return the attributes of an object by their names; of one that has none, no names."""
    held = getattr(x, "__dict__", {})
    slots = slots_of(type(x))
    if not slots:
        return held
    own = {}
    for name in slots:
        try:
            own[name] = object.__getattribute__(x, name)
        except AttributeError:  # which was not given
            continue
    return {**own, **held}


def has_attributes(x: Any) -> bool:
    """Whether an object can have attributes of its own."""
    return hasattr(x, "__dict__") or bool(slots_of(type(x)))


def hold(x: Any, attributes: Iterable[tuple[str, Any]]) -> None:
    """Give an object attributes, whatever its class does where they are set."""
    slots = slots_of(type(x))
    for name, value in attributes:
        if name in slots:
            object.__setattr__(x, name, value)
        else:
            x.__dict__[name] = value
