"""What functions reach, as it was: whether it still is so, and how to make it so again."""

from __future__ import annotations

import marshal
import operator
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any, NamedTuple

import numpy as np

from lanewise.trace.trace import is_unchanged

#: What a name stands for, or a cell holds, that is not there.
MISSING = object()


class Unchanged:
    """Tells whether what functions reach is what it was.

    Attributes
    ----------
    names
        Dicts of globals, modules and classes, with names in them and what these stand for.
    cells
        Variables of functions around, with what they hold.
    functions
        With their code and their defaults.
    kept
        What may be changed, with what is in it: `Array`, `Numbers`, `Items`, `Object`, `Slots`,
        `Class`.
    tells
        Whether they reach what tells somebody something, or the time.
    """

    def __init__(self) -> None:
        self.tells = False
        self.names: list[tuple[Mapping[str, Any], str, Any]] = []
        self.cells: list[tuple[CellType, Any]] = []
        self.functions: list[tuple[FunctionType, Any, Any, Any]] = []
        self.kept: list[Kept] = []

    @property
    def has_data(self) -> bool:
        """Whether they reach arrays, containers or objects, which may be changed."""
        return not all([type(each) is Class for each in self.kept])

    @cached_property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that they reach."""
        return [each.x for each in self.kept if type(each) is Array]

    def keeps(self, func: Any) -> bool:
        """Whether a function reaches itself by closures: who keeps this keeps it for good."""
        return any([value is func for _, value in self.cells])

    def __call__(self) -> bool:
        for namespace, name, value in self.names:
            if namespace.get(name, MISSING) is not value:
                return False
        for cell, value in self.cells:
            if held_in(cell) is not value:
                return False
        for func, code, defaults, options in self.functions:
            if func.__code__ is not code or func.__defaults__ is not defaults:
                return False
            if func.__kwdefaults__ is not options and func.__kwdefaults__ != options:
                return False
        return all([each.is_same() for each in self.kept])

    def put_back(self) -> bool:
        """Make all that was changed what it was; return whether any was."""
        if self():
            return False
        names = [
            (namespace, name, value)
            for namespace, name, value in self.names
            if namespace.get(name, MISSING) is not value and isinstance(namespace, dict)
        ]
        for namespace, name, value in names:
            namespace[name] = value
        changed = [each for each in self.kept if not each.is_same()]
        for each in changed:
            each.put_back()
        return bool(names or changed)


def held_in(cell: CellType) -> Any:
    """Return what a variable of a function around holds, or `MISSING`."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


#: Bytes of an array that is compared as a whole, without asking whether anybody can change it.
SMALL = 4096


class Array(NamedTuple):
    """An array, a copy of it, and what is in it, if that is little."""

    x: np.ndarray
    copy: np.ndarray
    content: bytes | None

    @classmethod
    def of(cls, x: np.ndarray) -> Array:
        """Return an array as it is now."""
        return cls(x, x.copy(), x.tobytes() if x.nbytes <= SMALL else None)

    def is_same(self) -> bool:
        x, copy, content = self
        if content is None:
            return is_unchanged(copy, x)
        return x.tobytes() == content and x.shape == copy.shape and x.dtype == copy.dtype

    def put_back(self) -> None:
        x, flags = self.x, self.x.flags
        if (x.dtype, x.shape) == (self.copy.dtype, self.copy.shape):
            was, flags.writeable = flags.writeable, True
            x[...] = self.copy
            flags.writeable = was


class Numbers(NamedTuple):
    """A list, dict or set of numbers and texts: as bytes, and what it consists of."""

    x: Any
    content: bytes
    parts: list[tuple[Any, Any]]

    @classmethod
    def of(cls, x: Any) -> Numbers | None:
        """Return what is in a list or dict; None where it holds anything but numbers and texts."""
        if not _is_plain(x):
            return None
        return cls(x, _as_bytes(x), [(part, part.copy()) for part in _parts(x)])

    def is_same(self) -> bool:
        try:
            return _as_bytes(self.x) == self.content
        except ValueError:  # of other objects
            return False

    def put_back(self) -> None:
        for part, items in self.parts:
            _fill(part, items)


def _as_bytes(x: Any) -> bytes:
    return marshal.dumps(x, 2)  # the last version that does not tell which objects are one


def _is_plain(x: Any) -> bool:
    """Whether it is a number, a text, or a container of such."""
    if type(x) is dict:
        return all(map(_is_plain, x)) and all(map(_is_plain, x.values()))
    if type(x) in (list, tuple, set):
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, complex, str, bytes)


def _parts(x: Any) -> Iterator[Any]:
    if type(x) in (list, dict, set):
        yield x
    if type(x) in (list, tuple, dict):
        for item in x.values() if type(x) is dict else x:
            yield from _parts(item)


class Items(NamedTuple):
    """A list, dict or set of any objects, and a copy of it."""

    x: Any
    copy: Any

    def is_same(self) -> bool:
        return _holds(self.x, self.copy)

    def put_back(self) -> None:
        _fill(self.x, self.copy)


class Object(NamedTuple):
    """An object of a user's class, its attributes, and a copy of these."""

    x: Any
    kind: type
    fields: dict[str, Any]
    copy: dict[str, Any]

    def is_same(self) -> bool:
        is_own = type(self.x) is self.kind and vars(self.x) is self.fields
        return is_own and _holds(self.fields, self.copy)

    def put_back(self) -> None:
        _fill(self.fields, self.copy)
        self.x.__dict__ = self.fields


class Slots(NamedTuple):
    """An object of a user's class, the slots of that, and what they hold."""

    x: Any
    kind: type
    members: list[Any]
    copy: list[Any]

    @classmethod
    def of(cls, x: Any) -> Slots:
        """Return what is in the slots of an object; there may be none."""
        found = [member for base in type(x).__mro__ for member in vars(base).values()]
        members = [member for member in found if type(member) is MemberDescriptorType]
        return cls(x, type(x), members, [_in_slot(member, x) for member in members])

    def is_same(self) -> bool:
        pairs = zip(self.members, self.copy, strict=True)
        return type(self.x) is self.kind and all([_in_slot(m, self.x) is v for m, v in pairs])

    def put_back(self) -> None:
        for member, value in zip(self.members, self.copy, strict=True):
            if value is not MISSING:
                member.__set__(self.x, value)
            elif _in_slot(member, self.x) is not MISSING:
                member.__delete__(self.x)


def _in_slot(member: Any, x: Any) -> Any:
    try:
        return member.__get__(x)
    except AttributeError:
        return MISSING


class Class(NamedTuple):
    """A class of the user's, what it is derived from, and what it holds."""

    x: type
    order: tuple[type, ...]
    copy: dict[str, Any]

    def is_same(self) -> bool:
        return self.x.__mro__ is self.order and _holds(vars(self.x), self.copy)

    def put_back(self) -> None:
        now = dict(vars(self.x))
        for name in now.keys() - self.copy.keys():
            delattr(self.x, name)
        for name, value in self.copy.items():
            if now.get(name, MISSING) is not value:
                setattr(self.x, name, value)


Kept = Array | Numbers | Items | Object | Slots | Class


def _holds(x: Any, held: Any) -> bool:
    """Whether a list or dict holds the same objects as another, in the same order."""
    if len(x) != len(held):
        return False
    if type(held) is set:
        return set(map(id, x)) == set(map(id, held))
    if type(held) is list:
        return all(map(operator.is_, x, held))
    if not all(map(operator.is_, x.values(), held.values())):
        return False
    return all(map(operator.is_, x, held)) or all(
        [a is b or (type(a) is type(b) and a == b) for a, b in zip(x, held, strict=True)]
    )


def _fill(x: Any, items: Any) -> None:
    x.clear()
    x.extend(items) if isinstance(x, list) else x.update(items)
