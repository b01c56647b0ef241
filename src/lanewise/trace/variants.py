"""Values that are one of several objects, as the data choose: ``nearest = a if d < e else b``.

Texts, members of enumerations, functions, classes, objects of users' classes, and None beside such.
A number, the tag, says which of the alternatives an example has: it is data, as any number is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.attributes import has_attributes, held_by
from lanewise.trace.formatting import Text
from lanewise.trace.tensor import STANDS_FOR, Tensor
from lanewise.trace.trace import require_trace, state

#: In what tags are kept.
TAG = np.dtype(np.int64)
#: Of so many objects at most the data choose one.
MOST = 256
#: By what is done with a variant, what does it (`lanewise.autograph.variants`).
ON_VARIANTS: dict[str, Callable[..., Any]] = {}


class Alternatives:
    """The objects that a value may be, by their tags."""

    __slots__ = ("by_tag",)

    def __init__(self, by_tag: dict[int, Any]) -> None:
        self.by_tag = {tag: by_tag[tag] for tag in sorted(by_tag)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alternatives) and self.by_tag.keys() == other.by_tag.keys()

    def __hash__(self) -> int:
        return hash(tuple(self.by_tag))

    def __or__(self, other: Alternatives) -> Alternatives:
        return _limited(self.by_tag | other.by_tag)

    def __iter__(self) -> Any:
        return iter(self.by_tag.values())

    def __len__(self) -> int:
        return len(self.by_tag)

    def __str__(self) -> str:
        if len(self) > _FEW:
            return f"one of {len(self)} objects"
        return " or ".join(dict.fromkeys(map(_name_of, self)))


#: Of how many objects a message says what they are.
_FEW = 3


def _name_of(x: Any) -> str:
    """Return what to call an object in a message."""
    if x is None or type(x) in (str, bytes):
        return repr(x)
    if isinstance(x, Enum):
        return str(x)
    if callable(x) and hasattr(x, "__name__"):
        return f"{x.__name__}"
    return f"an object of type {type(x).__name__}"


def alternatives_of(objects: Iterable[Any]) -> Alternatives:
    """Return what a value may be that is one of some objects."""
    return _limited({tag_of(x): x for x in objects})


def _limited(by_tag: dict[int, Any]) -> Alternatives:
    if len(by_tag) > MOST:
        raise UnsupportedError(
            f"the data choose between more than {MOST} objects or texts{at(here())}. Keep a number "
            "in their place, as an index of a list"
        )
    return Alternatives(by_tag)


def tag_of(x: Any) -> int:
    """Return the tag of an object in what is traced; the outermost trace keeps it alive."""
    tags = require_trace("an object").outermost().tags
    return tags.setdefault(_identity(x), (len(tags), x))[0]


def _identity(x: Any) -> Any:
    """Return what tells one object from others: of texts what they say."""
    kind = type(x)
    if kind is str or kind is bytes:
        return kind, x
    if kind is MethodType:
        return kind, id(x.__self__), _identity(x.__func__)
    has_own = kind is FunctionType and (x.__closure__ or x.__defaults__ or x.__kwdefaults__)
    if kind is FunctionType and not (has_own or x.__dict__):
        return kind, x.__code__, id(x.__globals__)  # which is the same in each turn
    return kind, id(x)


def reachable(among: Alternatives) -> Alternatives:
    """Return objects, and those of their classes that attributes of them lead to, or None."""
    kinds = {type(x) for x in among if has_attributes(x)}
    found = {id(x): x for x in among}
    stack = list(among)
    while stack:
        for held in held_by(stack.pop()).values():
            parts = held.values() if isinstance(held, dict) else held
            for x in parts if isinstance(held, (list, tuple, dict)) else (held,):
                if id(x) not in found and (x is None or type(x) in kinds) and can_be_chosen(x):
                    found[id(x)] = x
                    stack.append(x)
    return alternatives_of(found.values())


#: Classes of which an object is an alternative.
_CLASSES = (
    str, bytes, type(None), Enum, type, FunctionType, BuiltinFunctionType, MethodType, np.ufunc,
    type(np.sum), functools.partial,
)  # fmt: skip
#: Classes of what is data, or holds some.
_DATA = (int, float, complex, tuple, list, dict, set, np.ndarray, np.generic, BaseException)
#: Set in the flags of a class that Python code made.
_MADE_IN_PYTHON = 1 << 9


def one_among(tag: Tensor, among: Alternatives) -> Any:
    """Return the object that a tag says; None where it is known to be that, of which no more is."""
    is_none = len(among) == 1 and next(iter(among)) is None
    return None if is_none else Variant(tag, among)


def can_be_chosen(x: Any) -> bool:
    """Whether an object may be one of several of which the data choose one."""
    kind = type(x)
    if issubclass(kind, _CLASSES):
        return kind is not Text
    if not kind.__flags__ & _MADE_IN_PYTHON or issubclass(kind, _DATA):
        return False
    return ON_VARIANTS["is_users"](kind) and tree.children_of(x) is None


def is_record(x: Any) -> bool:
    """Whether it is an object of a dataclass that lets it change."""
    kind = type(x)
    if not hasattr(kind, "__dataclass_fields__") or isinstance(x, type):
        return False
    return not kind.__dataclass_params__.frozen


def are_integers(x: Any) -> bool:
    """Whether it is one of several objects that are integers, as members of an `IntEnum` are."""
    return type(x) is Variant and all([isinstance(each, int) for each in x._lw_among])


def can_be_one(x: Any) -> bool:
    """Whether an object stands for itself where the data choose one of several."""
    return can_be_chosen(x) or is_record(x)


def _hook(name: str) -> Callable[..., Any]:
    def call(self: Variant, *args: Any, **kwargs: Any) -> Any:
        return ON_VARIANTS[name](self, *args, **kwargs)

    return call


class Variant:
    """One of several objects: what is done with it is done with the one that an example has.

    Attributes
    ----------
    _lw_tag : Tensor
        Which one, a scalar.
    _lw_among : Alternatives
        What it may be.
    """

    __slots__ = ("_lw_among", "_lw_tag")

    def __init__(self, tag: Tensor, among: Alternatives) -> None:
        object.__setattr__(self, "_lw_tag", tag)
        object.__setattr__(self, "_lw_among", among)
        state.has_contents = True

    __getattr__, __setattr__, __delattr__ = map(_hook, ("getattr", "setattr", "delattr"))
    __getitem__, __setitem__, __delitem__ = map(_hook, ("getitem", "setitem", "delitem"))
    __call__, __iter__, __contains__ = map(_hook, ("call", "iter", "contains"))
    __len__, __bool__, __hash__ = map(_hook, ("len", "bool", "hash"))
    __enter__, __exit__ = map(_hook, ("enter", "exit"))
    __index__ = __int__ = __float__ = __complex__ = __array__ = _hook("number")
    __array_ufunc__, __array_function__ = _hook("ufunc"), _hook("function")
    __str__, __repr__, __format__ = map(_hook, ("str", "repr", "format"))
    __eq__, __ne__ = map(_hook, ("==", "!="))  # type: ignore[assignment]
    __lt__, __le__, __gt__, __ge__ = map(_hook, ("<", "<=", ">", ">="))


def _operator(name: str) -> Callable[..., Any]:
    return lambda self, *others: ON_VARIANTS["operator"](self, name, *others)


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    setattr(Variant, f"__{_name}__", _operator(_name))
    setattr(Variant, f"__r{_name}__", _operator(f"r{_name}"))
    setattr(Variant, f"__i{_name}__", _operator(f"i{_name}"))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Variant, f"__{_name}__", _operator(_name))

STANDS_FOR[Variant] = lambda variant: ON_VARIANTS["number"](variant)
