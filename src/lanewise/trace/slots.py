"""Slots: places outside of a trace that code in it changes, to be read, put back and set."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from functools import cached_property
from types import FunctionType
from typing import Any

from lanewise.trace.attributes import held_by, slots_of
from lanewise.trace.contents import LISTS, Entries, contents_of, enter, fill, is_keyed, taken_off
from lanewise.trace.lending import Unknown
from lanewise.trace.tensor import Tensor


class Missing:
    """Stands for an entry or attribute that is not there."""


class Slot(ABC):
    """A place outside of a region that code in it has changed: what to read, and to put back."""

    __slots__ = ("key", "name", "owner")
    #: Whether what holds the place may outlive the trace.
    is_outer = True

    def __init__(self, key: Any, name: str, owner: Any) -> None:
        self.key = key
        self.name = name
        self.owner = owner  # kept alive, so that the key stays its own

    @abstractmethod
    def get(self) -> Any:
        """Return what the place holds now."""

    @abstractmethod
    def set(self, value: Any) -> None:
        """Make `value` what the place holds."""


class TensorSlot(Slot):
    """What a tensor holds."""

    __slots__ = ()
    is_outer = False

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(("tensor", id(tensor)), "an array", tensor)

    def get(self) -> Tensor:
        return Tensor(self.owner._trace, self.owner._value)

    def set(self, value: Tensor) -> None:
        self.owner._trace, self.owner._value = value._trace, value._value


class ItemSlot(Slot):
    """The entry of a list or dict under one key."""

    __slots__ = ("item",)

    def __init__(self, container: Any, item: Any) -> None:
        super().__init__(("item", id(container), item), f"the entry [{item!r}]", container)
        self.item = item

    def get(self) -> Any:
        try:
            return self.owner[self.item]
        except (KeyError, IndexError):
            return Missing

    def set(self, value: Any) -> None:
        if value is not Missing:
            self.owner[self.item] = value
        elif self.get() is not Missing:
            del self.owner[self.item]


class AttributeSlot(Slot):
    """An attribute of an object."""

    __slots__ = ("attribute",)

    def __init__(self, owner: Any, attribute: str) -> None:
        kind = owner if isinstance(owner, type) else type(owner)
        name = f"the attribute {kind.__name__}.{attribute}"
        super().__init__(("attribute", id(owner), attribute), name, owner)
        self.attribute = attribute

    # Without what the user's class does where its attributes are read or set.

    def get(self) -> Any:
        owner, name = self.owner, self.attribute
        if isinstance(owner, type):
            return getattr(owner, name, Missing)
        held = inspect.getattr_static(owner, "__dict__", None)
        if hasattr(type(held), "__get__"):
            held = object.__getattribute__(owner, "__dict__")
        if type(held) is dict and name in held:
            return held[name]
        found = inspect.getattr_static(type(owner), name, Missing)
        if found is Missing or isinstance(found, cached_property):
            return Missing if type(held) is dict else getattr(owner, name, Missing)
        return getattr(owner, name, Missing)

    def set(self, value: Any) -> None:
        owner, name = self.owner, self.attribute
        own = type(owner)
        if value is not Missing:
            is_users = type(own.__setattr__) is FunctionType
            (object.__setattr__ if is_users else setattr)(owner, name, value)
        elif self.get() is not Missing:
            is_users = type(own.__delattr__) is FunctionType
            (object.__delattr__ if is_users else delattr)(owner, name)


class ArraySlot(Slot):
    """What an array that is not traced holds."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        super().__init__(("array", id(array)), "an array", array)

    def get(self) -> Any:
        return self.owner.copy()

    def set(self, value: Any) -> None:
        self.owner[...] = value


class ContainerSlot(Slot):
    """All that a list, dict, set or deque holds."""

    __slots__ = ()

    def __init__(self, container: Any) -> None:
        super().__init__(("container", id(container)), f"a {type(container).__name__}", container)

    def get(self) -> Any:
        if is_keyed(self.owner):
            return contents_of(self.owner)
        return taken_off(self.owner) if type(self.owner) in LISTS else self.owner.copy()

    def set(self, value: Any) -> None:
        if type(self.owner) in LISTS:
            fill(self.owner, value)
            return
        if type(value) in (Entries, Unknown):
            enter(self.owner, value)
            return
        self.owner.clear()
        getattr(self.owner, "extend" if hasattr(self.owner, "extend") else "update")(value)


def can_be_lost(x: Any) -> bool:
    """Whether what a container or an object holds can be made unknown."""
    if isinstance(x, (*LISTS, dict, set)):
        return True
    if type(x).__setattr__ is not object.__setattr__ or isinstance(x, type):
        return False
    return type(getattr(x, "__dict__", None)) is dict or bool(slots_of(type(x)))


def lost(x: Any, name: str) -> list[tuple[Slot, Unknown]]:
    """Return the places of what a container or an object holds, and what makes that unknown."""
    if isinstance(x, (*LISTS, dict, set)):
        return [(ContainerSlot(x), Unknown(name))]
    return [(AttributeSlot(x, attribute), Unknown(name)) for attribute in held_by(x)]


class HeldSlot(AttributeSlot):
    """What a `try` statement holds for the examples that raised something it catches."""

    __slots__ = ()
    is_outer = False

    def __init__(self, owner: Any, attribute: str, name: str) -> None:
        super().__init__(owner, attribute)
        self.name = name

    # That an attribute was missing is held like anything else.

    def get(self) -> Any:
        return getattr(self.owner, self.attribute)

    def set(self, value: Any) -> None:
        setattr(self.owner, self.attribute, value)


class CellSlot(Slot):
    """A variable of a function around the one that changes it."""

    __slots__ = ()

    def __init__(self, cell: Any) -> None:
        super().__init__(("cell", id(cell)), "a nonlocal variable", cell)

    def get(self) -> Any:
        try:
            return self.owner.cell_contents
        except ValueError:
            return Missing

    def set(self, value: Any) -> None:
        if value is Missing:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class StateSlot(Slot):
    """An object that says itself what its state is (``state_leaves``, ``set_state``)."""

    __slots__ = ()
    is_outer = False

    def __init__(self, owner: Any) -> None:
        super().__init__(("state", id(owner)), f"a {type(owner).__name__}", owner)

    def get(self) -> Any:
        return self.owner.state_leaves()

    def set(self, value: Any) -> None:
        self.owner.set_state(value)
