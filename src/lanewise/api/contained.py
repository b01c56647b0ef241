"""Which functions compute by their arguments alone: the only ones that may run in place of a trace.

A trace keeps what it met elsewhere as it was when it was made: numbers in globals, the clock, a
file. The plain function would look again. So it gives what the trace gives only where all that its
code can reach are functions like it, libraries that compute, and objects that never change; and
only as long as its names stand for the same. Small arrays and lists of numbers may be reached, too,
where their contents are looked at before each call.
"""

from __future__ import annotations

import datetime
import functools
import re
import sys
from abc import ABCMeta
from collections import namedtuple
from collections.abc import Sequence
from enum import Enum
from types import (
    BuiltinFunctionType,
    EllipsisType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from lanewise.api.reads import (
    BY_NAME,
    IMPURE,
    LIBRARIES,
    PARTS,
    TELLING,
    Open,
    has_namespace,
    names_in,
    top,
)
from lanewise.api.remembered import IS_HEAP
from lanewise.api.unchanged import (
    MISSING,
    Array,
    Class,
    Items,
    Numbers,
    Object,
    Slots,
    Unchanged,
    held_in,
)
from lanewise.autograph.calls import has_followed
from lanewise.ir.location import is_of_lanewise, is_own_file
from lanewise.passes.survive import is_raising
from lanewise.trace.trace import could_change

#: What of `datetime` tells the time, or knows where it is run.
_CLOCKS = frozenset(("astimezone", "fromtimestamp", "now", "timestamp", "today", "utcnow"))
_IMMUTABLE = frozenset(
    (bool, int, float, complex, str, bytes, NoneType, EllipsisType, range, np.ufunc, object,
     re.Pattern, datetime.timedelta)
)  # fmt: skip
#: Their methods may tell the time: `_CLOCKS`.
_DATES = frozenset((datetime.date, datetime.datetime, datetime.time))
_CACHED = type(functools.lru_cache(lambda: None))
_NUMPYS = (np.generic, np.dtype)
#: The modules of what classes of a user's may be derived from, and of what kind they may be.
_OF_BASES = frozenset(("abc", "contextlib", "enum", "typing"))
_KINDS_OF_CLASSES = frozenset((type, ABCMeta, type(Enum)))
#: What classes hold beside what their code reads.
_OF_CLASSES = frozenset(
    ("__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__",
     "__dict__", "__doc__", "__firstlineno__", "__hash__", "__match_args__", "__module__",
     "__orig_bases__", "__parameters__", "__qualname__", "__slots__", "__static_attributes__",
     "__weakref__", "_abc_impl", "_field_defaults", "_fields")
)  # fmt: skip
#: ... and functions, which is looked at otherwise.
_OF_FUNCTIONS = ("__isabstractmethod__", "__wrapped__")
#: How many bytes arrays and lists have together at most that are looked at before each call: of
#: which one takes microseconds; and of which one is traced otherwise, or refused.
MOST_DATA, MOST_RATHER = 1 << 16, 1 << 22


def contained(
    roots: Sequence[Any], with_data: bool = False, most: int = MOST_DATA, may_tell: bool = False,
    may_remember: bool = False,
) -> Unchanged | None:  # fmt: skip
    """Return what tells whether functions still reach what they reach now; None for other objects.

    Parameters
    ----------
    roots
        Functions, and objects that they are called with.
    with_data
        Whether they may reach small arrays, lists and dicts, and objects of the user's classes.
    most
        How many bytes these may have together, but for arrays that nobody can write to.
    may_tell
        Whether they may reach `print`, `logging`, `warnings` and clocks.
    may_remember
        Whether they may reach cached functions (`functools.lru_cache`): what these gave may have
        been changed since, and nobody can look.

    Examples
    --------
    >>> import math
    >>> def area(r):
    ...     return math.pi * r**2
    >>> contained([area])()
    True
    >>> contained([lambda path: np.load(path)]) is None
    True
    """
    try:
        return _walked(roots, most if with_data else -1, may_tell, may_remember)
    except (Open, RecursionError):  # of containers that hold themselves
        return None
    except Exception:  # what users' objects answer
        if is_raising():
            raise
        return None


def opening(roots: Sequence[Any], most: int) -> str:
    """Return why functions, which may tell and remember, are not `contained`; "" if none knows.

    Examples
    --------
    >>> opening([lambda path: np.load(path)], MOST_DATA)
    'it uses `.load`'
    """
    try:
        _walked(roots, most, may_tell=True, may_remember=True)
    except Open as open_:
        return str(open_)
    except Exception:  # what users' objects answer
        if is_raising():
            raise
    return ""


def _walked(roots: Sequence[Any], most: int, may_tell: bool, may_remember: bool) -> Unchanged:
    walk = _Walk(most, may_tell, may_remember)
    for root in roots:
        walk.value(root)
    return walk.finish()


class _Walk:
    """Goes through what functions reach, and notes it in `found`."""

    def __init__(self, most: int, may_tell: bool, may_remember: bool) -> None:
        self.found = Unchanged()
        self._room, self._may_tell, self._may_remember = most, may_tell, may_remember
        self._seen: set[int] = set()
        #: The modules that are reached, and all attributes that any of the code takes.
        self._modules: dict[int, ModuleType] = {}
        #: The classes of users' that are reached, of which code takes attributes likewise.
        self._classes: list[type] = []
        self._attributes: set[str] = set()
        self._is_dated = False

    def finish(self) -> Unchanged:
        """Go through the attributes of modules and classes; return what was found."""
        done: set[tuple[int, str]] = set()
        while True:
            wanted = [
                (owner, name)
                for owner in (*self._modules.values(), *self._classes)
                for name in sorted(self._attributes)
                if (id(owner), name) not in done
            ]
            if not wanted:
                if self._is_dated and not _CLOCKS.isdisjoint(self._attributes):
                    raise Open("it asks for the time")
                return self.found
            for owner, name in wanted:
                done.add((id(owner), name))
                if isinstance(owner, ModuleType):
                    self._attribute(owner, name)
                elif name in vars(owner):
                    self._member(owner, name)

    def _attribute(self, module: ModuleType, name: str) -> None:
        held = vars(module).get(name, MISSING)
        is_library = _is_library(module)
        if held is MISSING and (is_library or "__getattr__" not in vars(module)):
            if not is_library:
                self.found.names.append((vars(module), name, held))
            return
        if held is MISSING:
            raise Open
        if name not in PARTS.get(module.__name__, {name}):
            raise Open(f"it uses `{module.__name__}.{name}`")
        self.found.names.append((vars(module), name, held))
        if not is_library or isinstance(held, ModuleType):
            self.value(held)

    def value(self, x: Any) -> None:
        """Go through an object."""
        kind = type(x)
        if kind in _IMMUTABLE or (isinstance(x, _NUMPYS) and kind.__module__ == "numpy"):
            if kind is np.void:  # a part of an array
                raise Open
        elif kind in (tuple, frozenset):
            for item in x:
                self.value(item)
        elif kind is ModuleType:
            self._module(x)
        elif kind is FunctionType:
            self._tell() if _is_telling(x) else self._function(x)
        elif kind in (classmethod, staticmethod):
            self.value(x.__func__)
        elif kind is property:
            for each in (x.fget, x.fset, x.fdel):
                self.value(each)
        elif kind is functools.cached_property:
            self.value(x.func)
        elif kind is _CACHED:
            if not self._may_remember:
                raise Open(f"it calls `{x.__name__}`, which is cached")
            self.value(x.__wrapped__)
        elif kind in _DATES:
            self._is_dated = True
            if getattr(x, "tzinfo", None) is not None:
                raise Open("it reaches a time zone")
        elif kind is np.ndarray and not x.dtype.hasobject:
            if could_change(x):
                self._take(x.nbytes)
                self.found.kept.append(Array.of(x))
            elif self._room < 0:
                raise Open
        elif issubclass(kind, np.ndarray) and kind is not np.ndarray:
            self._array_of_another_class(x)
        elif kind in (list, dict, set):
            self._container(x)
        elif kind is SimpleNamespace:
            self._container(vars(x))
        elif kind is MethodType:
            self.value(x.__func__)
            self.value(x.__self__)
        elif kind is functools.partial:
            if vars(x):
                raise Open
            self.found.kept.append(Items(x.keywords, x.keywords.copy()))
            for part in (x.func, x.args, *x.keywords.values()):
                self.value(part)
        elif getattr(kind, "is_usual", None) is not None and x.is_usual:  # a map
            self.value(x.__wrapped__)
        elif _is_telling(x):
            self._tell()
        elif isinstance(x, type) and not _is_of_library(x):
            self._class(x)
        elif isinstance(x, type) and x.__module__ == "datetime":
            self._is_dated = True
        elif not _is_of_library(x):
            self._object(x)

    def _tell(self) -> None:
        if not self._may_tell:
            raise Open
        self.found.tells = True

    def _array_of_another_class(self, x: np.ndarray) -> None:
        """Go through an array with what its class adds, such as the mask of a masked one."""
        if id(x) in self._seen:
            return
        self._seen.add(id(x))
        self.value(x.view(np.ndarray))
        if not _is_of_library(x):
            self._class(type(x))
        fields = getattr(x, "__dict__", {})
        self.found.kept.append(Items(fields, fields.copy()))
        for part in fields.values():
            self.value(part)

    def _container(self, x: Any) -> None:
        numbers = Numbers.of(x)
        self._take(64 * len(x) if numbers is None else len(numbers.content))
        if id(x) in self._seen:
            return
        self._seen.add(id(x))
        self.found.kept.append(Items(x, x.copy()) if numbers is None else numbers)
        if numbers is None:
            for item in [*x, *x.values()] if isinstance(x, dict) else x:
                self.value(item)

    def _object(self, x: Any) -> None:
        """Go through an object of a user's class, which has nothing but attributes."""
        if id(x) in self._seen:
            return
        self._seen.add(id(x))
        kind = type(x)
        if isinstance(x, Enum) or _is_named_tuple(kind):
            self._class(kind)
            for part in (x.value,) if isinstance(x, Enum) else x:
                self.value(part)
            return
        reached = f"it reaches an object of the class `{kind.__qualname__}`"
        if kind.__flags__ & IS_HEAP == 0:
            raise Open(reached)
        bases = [cls for cls in kind.__mro__ if cls is not object]
        if any([top(cls.__module__) in LIBRARIES - _OF_BASES for cls in bases]):
            raise Open(reached)  # what it holds beside attributes
        self._class(kind)
        slots = Slots.of(x)
        fields = getattr(x, "__dict__", {})
        held = [*fields.values(), *[value for value in slots.copy if value is not MISSING]]
        self._take(64 * len(held))
        if slots.members:
            self.found.kept.append(slots)
        if hasattr(x, "__dict__"):
            self.found.kept.append(Object(x, kind, fields, dict(fields)))
        for item in held:
            self.value(item)

    def _take(self, count: int) -> None:
        self._room -= count
        if self._room < 0:
            raise Open("it reaches much data")

    def _class(self, cls: type) -> None:
        """Go through a class of the user's, of which instances are made and changed."""
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        if type(cls) not in _KINDS_OF_CLASSES:
            raise Open(f"it reaches the class `{cls.__qualname__}`")
        for base in cls.__bases__:
            if base.__module__ not in _OF_BASES:
                self.value(base)
        has_followed(cls)  # which changes it, the first time
        self.found.kept.append(Class(cls, cls.__mro__, dict(vars(cls))))
        made = {"__repr__"} if "__dataclass_fields__" in vars(cls) else set()
        names = sorted(vars(cls).keys() - _OF_CLASSES - made)
        if issubclass(cls, Enum):
            names = [name for name in names if not name.startswith("_")]
        else:  # what nobody takes by its name is called by Python, if at all
            self._classes.append(cls)
            self._attributes.update(getattr(cls, "__match_args__", ()))  # taken by patterns
            names = [name for name in names if name.startswith("__") and name.endswith("__")]
        for name in names:
            self._member(cls, name)

    def _member(self, cls: type, name: str) -> None:
        if type(vars(cls)[name]) not in _FIELDS and name not in _OF_CLASSES:
            self.value(vars(cls)[name])

    def _module(self, module: ModuleType) -> None:
        is_impure = not IMPURE.isdisjoint(module.__name__.split("."))
        if is_impure or top(module.__name__) == "lanewise":
            raise Open(f"it uses `{module.__name__}`")
        if _is_telling(module):
            self._tell()
        self._is_dated |= module.__name__ == "datetime"
        self._modules[id(module)] = module

    def _function(self, func: FunctionType) -> None:
        if id(func) in self._seen:
            return
        self._seen.add(id(func))
        if _is_of_file(func):
            if func.__name__ in IMPURE:
                raise Open(f"it calls `{func.__name__}`")
            wrapped = vars(func).get("__wrapped__")
            if type(wrapped) is not FunctionType or _is_of_file(wrapped):
                return  # else it calls a function of the user's: `contextlib.contextmanager`
        if (func.__module__ or "").startswith("namedtuple_"):  # made by collections
            self._defaults(func)
            return
        if is_of_lanewise(func.__code__) and "__wrapped__" in vars(func):
            self.value(func.__wrapped__)  # ty: ignore[missing-attribute]
            return  # it stands in the place of a method
        if has_namespace(func.__code__):
            raise Open
        if own := {k: v for k, v in vars(func).items() if k not in _OF_FUNCTIONS}:
            self.found.kept.append(Items(vars(func), vars(func).copy()))
            for value in own.values():
                self.value(value)
        self._defaults(func)
        globals_, attributes = names_in(func.__code__)
        self._attributes |= attributes
        for cell in func.__closure__ or ():
            held = held_in(cell)
            self.found.cells.append((cell, held))
            if held is not MISSING:
                self.value(held)
        for name in sorted(globals_):
            held = func.__globals__.get(name, MISSING)
            self.found.names.append((func.__globals__, name, held))
            if held is not MISSING:
                self.value(held)
                continue
            if name == "print":
                self._tell()
            elif name in IMPURE - BY_NAME:
                raise Open(f"it calls `{name}`")
            # Of a name that nobody has defined: who comes there gets a NameError.
            self.found.names.append((_BUILTINS, name, _BUILTINS.get(name, MISSING)))

    def _defaults(self, func: FunctionType) -> None:
        code, options = func.__code__, func.__kwdefaults__
        self.found.functions.append((func, code, func.__defaults__, options and dict(options)))
        for default in (*(func.__defaults__ or ()), *(options or {}).values()):
            self.value(default)


def _is_named_tuple(kind: type) -> bool:
    return kind.__bases__ == (tuple,) and hasattr(kind, "_fields")


def _is_library(module: ModuleType) -> bool:
    """Whether a module is one of a library that computes, and no file of the user's of its name."""
    file = getattr(module, "__file__", None)
    is_known = top(module.__name__) in LIBRARIES | TELLING | PARTS.keys()
    return is_known and (file is None or is_own_file(file))


def _is_telling(x: Any) -> bool:
    """Whether it is `print`, or a module that tells, or a function, class or object of one."""
    if x is print:
        return True
    has_module = isinstance(x, (ModuleType, FunctionType, BuiltinFunctionType, type))
    owner = x if has_module else type(x)
    name = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
    module = sys.modules.get(name or "")
    return top(name) in TELLING and (module is None or _is_library(module))


def _is_of_file(func: FunctionType) -> bool:
    """Whether a function is one of a library that computes."""
    name = func.__globals__.get("__name__", "")
    is_known = top(name) in LIBRARIES or func.__name__ in PARTS.get(name, ())
    return is_known and is_own_file(func.__code__.co_filename)


def _is_of_library(x: Any) -> bool:
    """Whether an object is a function or a class of a library that computes."""
    if isinstance(x, BuiltinFunctionType):
        owner = x.__self__
        is_free = owner is None or isinstance(owner, ModuleType)
        return is_free and top(x.__module__) in LIBRARIES and x.__name__ not in IMPURE
    # What stands for a default; a function of Cython's, which is seen to be given a seed.
    if type(x).__module__ == "dataclasses" or x is np.random.default_rng:
        return True
    if isinstance(x, type) or top(type(x).__module__) == "numpy":
        name = getattr(x, "__name__", "")
        is_callable = isinstance(x, type) or hasattr(x, "_implementation")
        return is_callable and top(x.__module__) in LIBRARIES and name not in IMPURE
    return False


#: What stands in classes for the fields of their instances.
_FIELDS = (MemberDescriptorType, type(namedtuple("_Pair", "first").first))
_BUILTINS = vars(__import__("builtins"))
