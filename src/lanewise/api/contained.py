"""Which functions compute by their arguments alone: the only ones that may run in place of a trace.

A trace keeps what it met elsewhere as it was when it was made: numbers in globals, the clock, a
file. The plain function would look again. So it gives what the trace gives only where all that its
code can reach are functions like it, libraries that compute, and objects that never change; and
only as long as its names stand for the same. Small arrays and lists of numbers may be reached, too,
where their contents are looked at before each call.
"""

from __future__ import annotations

import dis
import marshal
import operator
import sys
from abc import ABCMeta
from collections import namedtuple
from collections.abc import Mapping, Sequence
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    EllipsisType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import numpy as np

from lanewise.ir.location import is_of_lanewise
from lanewise.trace.trace import could_change, same_bits

#: Of these nothing depends on more than its arguments, but for `_IMPURE`.
_LIBRARIES = frozenset(
    ("abc", "bisect", "builtins", "cmath", "collections", "copy", "dataclasses", "fractions",
     "functools", "heapq", "itertools", "math", "numbers", "numpy", "operator", "scipy",
     "statistics", "typing")
)  # fmt: skip
_IMPURE = frozenset(
    ("Generator", "SeedSequence", "breakpoint", "compile", "datetime64", "delattr", "eval", "exec",
     "fromfile", "fromregex", "genfromtxt", "getattr", "globals", "hash", "id", "input", "io",
     "load", "loadtxt", "locals", "memmap", "open", "print", "qmc", "random", "rvs", "save",
     "savetxt", "savez", "savez_compressed", "setattr", "seterr", "seterrcall", "setbufsize",
     "set_printoptions", "tofile", "vars", "__import__")
)  # fmt: skip
_IMMUTABLE = (
    bool, int, float, complex, str, bytes, NoneType, EllipsisType, range, np.generic, np.dtype,
    np.ufunc,
)  # fmt: skip
_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_CONSTANT = frozenset(("LOAD_CONST", "LOAD_SMALL_INT"))
#: What may stand between a function and its first argument.
_SILENT = frozenset(("CACHE", "PRECALL", "PUSH_NULL"))
#: What gives random numbers that a seed decides, if there is one.
_SEEDED = frozenset(("RandomState", "default_rng"))
_FORBIDDEN = frozenset(("DELETE_GLOBAL", "LOAD_BUILD_CLASS", "STORE_GLOBAL", "STORE_NAME"))
#: What classes hold beside what their code reads.
_OF_CLASSES = frozenset(
    ("__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__",
     "__firstlineno__", "__hash__", "__match_args__", "__module__", "__orig_bases__",
     "__parameters__", "__qualname__", "__slots__", "__static_attributes__", "__weakref__",
     "_field_defaults", "_fields")
)  # fmt: skip
#: How many bytes arrays and lists have together at most that are looked at before each call: of
#: which one takes microseconds; and of which one is traced otherwise, or refused.
MOST_DATA, MOST_RATHER = 1 << 16, 1 << 22


class Unchanged:
    """Tells whether what functions reach is what it was.

    Attributes
    ----------
    has_data : bool
        Whether they reach arrays or lists, which may be changed.
    """

    def __init__(self, walk: _Walk) -> None:
        self._names, self._cells = walk.names, walk.cells
        self._arrays, self._data, self._objects = walk.arrays, walk.data, walk.objects
        self.has_data = bool(walk.arrays or walk.data or walk.objects)

    @property
    def arrays(self) -> list[np.ndarray]:
        """The arrays that they reach."""
        return [x for x, _ in self._arrays]

    def keeps(self, func: Any) -> bool:
        """Whether it keeps a function alive, which others reach by their closures."""
        return any([value is func for _, value in self._cells])

    def put_back(self) -> bool:
        """Give arrays, containers and objects what they held; return whether any had changed."""
        arrays = [(x, kept) for x, kept in self._arrays if not same_bits(kept, x)]
        for array, kept in arrays:
            if (array.dtype, array.shape) == (kept.dtype, kept.shape):
                array[...] = kept
        data = [(x, kept) for x, kept in self._data if _as_bytes(x) != kept]
        objects = [(x, held) for x, held in self._objects if not _holds(x, held)]
        for x, held in [*[(x, marshal.loads(kept)) for x, kept in data], *objects]:
            x.clear()
            x.update(held) if isinstance(x, dict) else x.extend(held)
        return bool(arrays or data or objects)

    def __call__(self) -> bool:
        for namespace, name, value in self._names:
            if namespace.get(name, _MISSING) is not value:
                return False
        if not all([cell.cell_contents is value for cell, value in self._cells]):
            return False
        return not self.has_data or (
            all([same_bits(kept, x) for x, kept in self._arrays])
            and all([_as_bytes(x) == kept for x, kept in self._data])
            and all([_holds(x, held) for x, held in self._objects])
        )


def contained(
    roots: Sequence[Any], with_data: bool = False, most: int = MOST_DATA
) -> Unchanged | None:
    """Return what tells whether functions still reach what they reach now; None for other objects.

    Parameters
    ----------
    roots
        Functions, and objects that they are called with.
    with_data
        Whether they may reach small arrays, lists and dicts, and objects of the user's classes.
    most
        How many bytes these may have together, but for arrays that nobody can write to.

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
    walk = _Walk(most if with_data else -1)
    try:
        for root in roots:
            walk.value(root)
    except _Open:
        return None
    return Unchanged(walk)


def _as_bytes(x: Any) -> bytes | None:
    """Return a list or dict as bytes, which tell classes; None of what holds unusual objects."""
    try:
        return marshal.dumps(x, 2)  # the last version that does not tell which objects are one
    except ValueError:
        return None


def _is_plain(x: Any) -> bool:
    """Whether it is a number, a text, or a container of such."""
    if type(x) is dict:
        return all(map(_is_plain, x)) and all(map(_is_plain, x.values()))
    if type(x) in (list, tuple):
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, complex, str, bytes)


def _holds(x: Any, held: Any) -> bool:
    """Whether a list or dict holds the same objects as one that it held."""
    if len(x) != len(held):
        return False
    if isinstance(x, dict):
        return all([x.get(key, _MISSING) is value for key, value in held.items()])
    return all(map(operator.is_, x, held))


_MISSING = object()


class _Open(Exception):  # noqa: N818 (nothing went wrong)
    """Ends a walk at something that may depend on more than arguments."""


class _Walk:
    """Goes through what functions reach.

    Attributes
    ----------
    names
        Dicts of globals, modules and classes, with names in them and what these stand for.
    cells
        Variables of functions around, with what they hold.
    arrays, data
        Arrays, and lists and dicts of numbers, with what is in them.
    objects
        Attributes of objects, and lists and dicts of others, with the objects that they hold.
    """

    def __init__(self, most: int) -> None:
        self._room = most
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self.data: list[tuple[Any, bytes]] = []
        self.objects: list[tuple[Any, Any]] = []
        self.names: list[tuple[Mapping[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self._seen: set[int] = set()

    def value(self, x: Any, attributes: frozenset[str] = frozenset()) -> None:
        """Go through an object, of which code may take such attributes."""
        if isinstance(x, _IMMUTABLE):
            return
        if isinstance(x, (tuple, frozenset)):
            for item in x:
                self.value(item, attributes)
        elif isinstance(x, ModuleType):
            self._module(x, attributes)
        elif isinstance(x, FunctionType):
            self._function(x)
        elif isinstance(x, (classmethod, staticmethod)):
            self.value(x.__func__)
        elif isinstance(x, property):
            for each in (x.fget, x.fset, x.fdel):
                self.value(each)
        elif type(x) is type and _top(x.__module__) not in _LIBRARIES:
            self._class(x)
        elif type(x) is np.ndarray and x.dtype.kind in "biufc":
            if could_change(x):
                self._take(x.nbytes)
                self.arrays.append((x, x.copy()))
            elif self._room < 0:
                raise _Open
        elif type(x) in (list, dict) and _is_plain(x) and (kept := _as_bytes(x)) is not None:
            self._take(len(kept))
            self.data.append((x, kept))
        elif type(x) in (list, dict):
            self._held(x, x)
        elif type(x) is MethodType:
            self.value(x.__func__)
            self.value(x.__self__)
        elif isinstance(x, Enum) or (isinstance(x, type) and issubclass(x, Enum)):
            return
        elif getattr(type(x), "is_usual", None) is not None and x.is_usual:  # a map
            self.value(x.__wrapped__)
        elif not _is_of_library(x):
            if type(type(x)) not in (type, ABCMeta) or not hasattr(x, "__dict__"):
                raise _Open
            self._class(type(x))
            self._held(x, vars(x))

    def _held(self, owner: Any, items: Any) -> None:
        """Go through what a list or dict holds, or the attributes of an object of a user's."""
        self._take(64 * len(items))
        if id(owner) not in self._seen:
            self._seen.add(id(owner))
            self.objects.append((items, items.copy()))
            for item in items.values() if isinstance(items, dict) else items:
                self.value(item)

    def _take(self, count: int) -> None:
        self._room -= count
        if self._room < 0:
            raise _Open

    def _class(self, cls: type) -> None:
        """Go through a class of the user's, of which instances are made and changed."""
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        for base in cls.__bases__:
            self.value(base)
        made = {"__repr__"} if "__dataclass_fields__" in vars(cls) else set()
        for name in sorted(vars(cls).keys() - _OF_CLASSES - made):
            if type(vars(cls)[name]) not in _FIELDS:
                self._name(vars(cls), name, frozenset())

    def _module(self, module: ModuleType, attributes: frozenset[str]) -> None:
        if not _IMPURE.isdisjoint(module.__name__.split(".")):
            raise _Open
        if _top(module.__name__) in _LIBRARIES:
            return
        if _top(module.__name__) == "lanewise":
            raise _Open
        for name in sorted(attributes & vars(module).keys()):
            self._name(vars(module), name, attributes)

    def _name(self, namespace: Mapping[str, Any], name: str, attributes: frozenset[str]) -> None:
        value = namespace[name]
        self.names.append((namespace, name, value))
        self.value(value, attributes)

    def _function(self, func: FunctionType) -> None:
        if id(func) in self._seen:
            return
        self._seen.add(id(func))
        if _top(func.__module__) in _LIBRARIES:
            if func.__name__ in _IMPURE:
                raise _Open
            return
        if (func.__module__ or "").startswith("namedtuple_"):  # made by collections
            return
        if vars(func):
            if not is_of_lanewise(func.__code__):  # which stands in the place of a method
                raise _Open
            self._function(func.__wrapped__)  # ty: ignore[missing-attribute]
            return
        for default in (*(func.__defaults__ or ()), *(func.__kwdefaults__ or {}).values()):
            self.value(default)
        code = func.__code__
        globals_, attributes = _names_in(code)
        for cell in func.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:
                raise _Open from None
            self.cells.append((cell, held))
            self.value(held, attributes)
        for name in sorted(globals_):
            if name in func.__globals__:
                self._name(func.__globals__, name, attributes)
            elif name in _IMPURE or name not in _BUILTINS:
                raise _Open


def _names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Return the global names and the attributes that code reads, with functions within it."""
    globals_, attributes = set(), set()
    #: What was read last, and of which attribute, to be changed.
    read, changed = "", None
    instructions = [each for each in dis.get_instructions(code) if each.opname not in _SILENT]
    for place, instruction in enumerate(instructions):
        kind, name = instruction.opname, instruction.argval
        if name in _SEEDED and kind in (_GLOBAL | _ATTRIBUTE):
            if not _is_seed(instructions[place + 1]):
                raise _Open
        elif name == "random" and kind in _ATTRIBUTE:
            is_drawing = read.startswith(("LOAD_FAST", "CALL")) and _is_method(instruction)
            if is_drawing or instructions[place + 1].argval in _SEEDED:
                read = kind
                continue
        if kind == "STORE_ATTR":  # of an object that is its own
            if not read.startswith("LOAD_FAST") and changed != name:
                raise _Open
        elif kind in _ATTRIBUTE and read.startswith("LOAD_FAST"):
            changed = name
        read = read if kind == "COPY" else kind
        if kind in _GLOBAL:
            globals_.add(name)
        elif kind in _ATTRIBUTE:
            attributes.add(name)
        elif kind in _FORBIDDEN or (kind == "IMPORT_NAME" and _top(name) not in _LIBRARIES):
            raise _Open
        elif kind == "IMPORT_FROM":
            attributes.add(name)
        elif kind in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars:
            raise _Open
        if isinstance(name, CodeType):
            inner = _names_in(name)
            globals_ |= inner[0]
            attributes |= inner[1]
    if not _IMPURE.isdisjoint(attributes):
        raise _Open
    return frozenset(globals_), frozenset(attributes)


def _is_seed(instruction: dis.Instruction) -> bool:
    """Whether what is loaded next is a number, as for a generator that draws the same always."""
    return instruction.opname in _CONSTANT and type(instruction.argval) is int


def _is_method(instruction: dis.Instruction) -> bool:
    """Whether an attribute is loaded to be called."""
    if instruction.opname == "LOAD_METHOD":
        return True
    return sys.version_info >= (3, 12) and bool((instruction.arg or 0) & 1)


def _is_of_library(x: Any) -> bool:
    """Whether an object is a function or a class of a library that computes."""
    if isinstance(x, BuiltinFunctionType):
        owner = x.__self__
        is_free = owner is None or isinstance(owner, ModuleType)
        return is_free and _top(x.__module__) in _LIBRARIES and x.__name__ not in _IMPURE
    # What stands for a default; a function of Cython's, which is seen to be given a seed.
    if type(x).__module__ == "dataclasses" or x is np.random.default_rng:
        return True
    if isinstance(x, type) or _top(type(x).__module__) == "numpy":
        name = getattr(x, "__name__", "")
        is_callable = isinstance(x, type) or hasattr(x, "_implementation")
        return is_callable and _top(x.__module__) in _LIBRARIES and name not in _IMPURE
    return False


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


#: What stands in classes for the fields of their instances.
_FIELDS = (MemberDescriptorType, type(namedtuple("_Pair", "first").first))
_BUILTINS = vars(__import__("builtins"))
