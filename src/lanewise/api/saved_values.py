"""Python values as plain data (what JSON can hold), and back: a closed set, none of it code.

Numbers, strings, None and tuples (as lists) stand for themselves; what JSON has no word for is an
object with one entry, whose name says what it is: ``{"dtype": "f64"}``. A class that the reader may
not have (a named tuple, a dataclass, an exception) is described by its name and its fields; the
reader is given it, or makes one alike. Nothing is imported but the modules of `UFUNCS`.
"""

from __future__ import annotations

import base64
import builtins
import dataclasses
import importlib
import math
import re
import struct
import sys
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lanewise import errors
from lanewise.autograph.effects import Effect
from lanewise.autograph.templates import (
    Container,
    Failure,
    MixedNumber,
    Number,
    OptionalNumber,
    Plain,
    Shown,
    Template,
    Written,
)
from lanewise.ir.archive import dtype_of, index, listed, text_of, type_of, type_text
from lanewise.ir.dims import Dim
from lanewise.ir.text import parse_dim
from lanewise.ir.types import NUMERIC_KINDS, ArrayType, TokenType, dtype_name
from lanewise.ops.contraction import gufunc
from lanewise.ops.elementwise import elementwise
from lanewise.ops.registry import REGISTRY, Primitive
from lanewise.trace.mixed import Class

#: Where ufuncs are looked up by their names.
UFUNCS = ("numpy", "scipy.special")
#: Classes that stand for themselves.
_CLASSES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str)} | {
    f"numpy.{kind.__name__}": kind
    for kind in {np.dtype(code).type for code in np.typecodes["All"]}
    if issubclass(kind, (np.number, np.bool_))
}
_CLASS_NAMES = {kind: name for name, kind in _CLASSES.items()}
_CONVERSION = re.compile(r"|s|r|a|%[-#0 +]*\d{0,4}(\.\d{1,4})?[a-zA-Z]")


class UnwritableError(TypeError):
    """A value that has no form in a file; the message says which and why."""


# --- classes --------------------------------------------------------------------------------------


class Classes:
    """Classes that are described by name: those that the reader has, and stand-ins for the others.

    Parameters
    ----------
    given
        The reader's own, found by their names.
    """

    def __init__(self, given: Iterable[type] = ()) -> None:
        self._given: dict[str, type] = {}
        for kind in given:
            if not isinstance(kind, type):
                raise TypeError(f"classes holds classes, not {kind!r}")
            self._given[kind.__qualname__] = kind
        self._made: dict[Any, type] = {}

    def named_tuple(self, name: str, fields: list[str]) -> Any:
        """Return the class of named tuples of a name, with these fields."""

        def make() -> type:
            return namedtuple(_identifier(name), fields)  # type: ignore[misc]

        found = self._found(("named tuple", name, *fields), name, make)
        if not issubclass(found, tuple) or list(getattr(found, "_fields", ())) != fields:
            raise ValueError(f"{name} is a named tuple of {', '.join(fields)}, not {found}")
        return found

    def dataclass(self, name: str, fields: list[str]) -> Any:
        """Return the dataclass of a name, with these fields."""

        def make() -> type:
            return dataclasses.make_dataclass(_identifier(name), fields)

        found = self._found(("dataclass", name, *fields), name, make)
        if not dataclasses.is_dataclass(found) or _fields(found) != fields:
            raise ValueError(f"{name} is a dataclass of {', '.join(fields)}, not {found}")
        return found

    def exception(self, name: str, base: str) -> type[BaseException]:
        """Return the class of exceptions of a name, which derives from Python's `base`."""
        built_in = _EXCEPTIONS[base]
        if name == base:
            return built_in
        found = self._found(("exception", name, base), name, lambda: type(name, (built_in,), {}))
        if not issubclass(found, built_in):
            raise ValueError(f"{name} is an exception that derives from {base}, not {found}")
        return found

    def _found(self, key: Any, name: str, make: Callable[[], type]) -> Any:
        if name in self._given:
            return self._given[name]
        if key not in self._made:
            self._made[key] = make()
            self._made[key].__qualname__ = name
        return self._made[key]


def _identifier(name: str) -> str:
    return name.rpartition(".")[2]


def _fields(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


#: Exceptions that are there wherever a file is read.
_EXCEPTIONS = {
    name: kind
    for module in (errors, np.exceptions, np.linalg, builtins)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
}


def _base_name(kind: type[BaseException]) -> str:
    """Return the name of the first of an exception's bases that is there everywhere."""
    for base in kind.__mro__:
        if _EXCEPTIONS.get(base.__name__) is base:
            return base.__name__
    raise UnwritableError(f"{kind.__qualname__}, which is no Exception, is raised")


# --- ufuncs and primitives ------------------------------------------------------------------------


def ufunc_name(fn: Any) -> str:
    """Return the module and name of a ufunc, or raise `UnwritableError`."""
    for module in UFUNCS:
        if getattr(sys.modules.get(module), fn.__name__, None) is fn:
            return f"{module}.{fn.__name__}"
    raise UnwritableError(f"{fn.__name__} is a ufunc of neither {' nor '.join(UFUNCS)}")


def ufunc_named(name: str) -> np.ufunc:
    """Return the ufunc of a module and name; SciPy is imported where it is one of SciPy's."""
    module, _, attribute = name.rpartition(".")
    if module not in UFUNCS:
        raise ValueError(f"{name} is a ufunc of neither {' nor '.join(UFUNCS)}")
    found = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(found, np.ufunc):
        raise ValueError(f"there is no ufunc {name}")
    return found


def primitive_name(primitive: Primitive) -> str:
    """Return what a primitive is called in files, or raise `UnwritableError`."""
    if REGISTRY.get(primitive.name) is primitive:
        return primitive.name
    kind, _, name = primitive.name.partition(".")
    make = gufunc if kind == "gufunc" else elementwise
    for module in UFUNCS:
        fn = getattr(sys.modules.get(module), name, None)
        is_one = isinstance(fn, np.ufunc) and (fn.signature is not None) == (kind == "gufunc")
        if is_one and make(fn) is primitive:
            return f"{kind}:{module}.{name}"
    raise UnwritableError(f"{name} is a ufunc of neither {' nor '.join(UFUNCS)}")


def primitive_named(name: str) -> Primitive:
    """Return the primitive that `primitive_name` gave a name to, or raise `ValueError`."""
    kind, _, ufunc = name.partition(":")
    if not ufunc:
        if name not in REGISTRY:
            raise ValueError(f"there is no operation {name!r:.60}")
        return REGISTRY[name]
    fn = ufunc_named(ufunc)
    if kind != ("ufunc" if fn.signature is None else "gufunc"):
        raise ValueError(f"{ufunc} is no {kind}")
    return elementwise(fn) if kind == "ufunc" else gufunc(fn)


# --- values ---------------------------------------------------------------------------------------


def encoded(value: Any) -> Any:
    """Return a static parameter or a constant as plain data, or raise `UnwritableError`."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
    if kind is complex:
        return {"complex": struct.pack(">dd", value.real, value.imag).hex()}
    if kind is tuple:
        return [encoded(part) for part in value]
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if kind is slice:
        return {"slice": [encoded(x) for x in (value.start, value.stop, value.step)]}
    if kind is frozenset:
        return {"frozenset": sorted([encoded(part) for part in value], key=repr)}
    if isinstance(value, np.dtype) and value.kind in NUMERIC_KINDS and value.isnative:
        return {"dtype": dtype_name(value)}
    if isinstance(value, Dim):
        if parse_dim(str(value)) != value:
            raise UnwritableError(f"{value} is a size that has no form in a file")
        return {"dim": str(value)}
    if isinstance(value, (ArrayType, TokenType)):
        return {"type": type_text(value)}
    if isinstance(value, np.ufunc):
        return {"ufunc": ufunc_name(value)}
    if isinstance(value, type) and value in _CLASS_NAMES:
        return {"class": _CLASS_NAMES[value]}
    if isinstance(value, (np.bool_, np.integer)) and not isinstance(value, np.timedelta64):
        return value.item()  # as they are compared
    if isinstance(value, Failure):
        return _template(value)
    if isinstance(value, Effect) and value.function is print:
        options = [[name, _template(part)] for name, part in value.options]
        return {"print": [[_template(part) for part in value.args], options]}
    if value is Ellipsis:
        return {"class": "..."}
    raise UnwritableError(f"{value!r:.80} is Python's, and has no form in a file")


class Decoder:
    """Gives values back. What is not as `encoded` writes it raises some exception.

    Parameters
    ----------
    classes
        Looked up for what describes a class.
    """

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self._tags: dict[str, Callable[[Any], Any]] = {
            "float": lambda x: struct.unpack(">d", bytes.fromhex(x))[0],
            "complex": lambda x: complex(*struct.unpack(">dd", bytes.fromhex(x))),
            "bytes": lambda x: base64.b64decode(text_of(x), validate=True),
            "slice": lambda x: slice(*_exactly(3, [self.value(part) for part in listed(x)])),
            "frozenset": lambda x: frozenset([self.value(part) for part in listed(x)]),
            "dtype": dtype_of,
            "dim": lambda x: parse_dim(text_of(x)),
            "type": type_of,
            "ufunc": lambda x: ufunc_named(text_of(x)),
            "class": lambda x: Ellipsis if x == "..." else _CLASSES[x],
            "exception": lambda x: _Templates(self).failure({"exception": x}),
            "print": lambda x: _Templates(self).printing(x),
        }

    def value(self, data: Any) -> Any:
        """Return the value that plain data stands for."""
        if data is None or type(data) in (bool, int, str):
            return data
        if type(data) is float:
            return data
        if type(data) is list:
            return tuple([self.value(part) for part in data])
        tag, content = tagged(data)
        return self._tags[tag](content)


def tagged(data: Any) -> tuple[str, Any]:
    """Return the one entry of an object, or raise `ValueError`."""
    if type(data) is not dict or len(data) != 1:
        raise ValueError(f"expected an object with one entry, found {data!r:.60}")
    ((tag, content),) = data.items()
    return tag, content


def _exactly(count: int, values: list[Any]) -> list[Any]:
    if len(values) != count:
        raise ValueError(f"expected {count} values, found {len(values)}")
    return values


# --- messages -------------------------------------------------------------------------------------


def _template(template: Any) -> Any:
    """Return a message or an exception whose numbers are filled in at run time, as plain data."""
    match template:
        case Plain(value=value):
            return {"plain": encoded(value)}
        case Number(index=number, weak=weak):
            return {"number": [number, encoded(weak)]}
        case MixedNumber(index=number, code=code, classes=classes):
            return {"mixed number": [number, code, encoded_classes(classes)]}
        case OptionalNumber(part=part, presence=flag):
            return {"optional number": [_template(part), flag]}
        case Shown(part=part, conversion=conversion, spec=spec):
            return {"shown": [_template(part), conversion, spec]}
        case Written(parts=parts):
            return {"written": [p if isinstance(p, str) else _template(p) for p in parts]}
        case Container(kind=kind, parts=parts) if kind in (tuple, list, set, frozenset, dict):
            return {"container": [kind.__name__, *map(_template, parts)]}
        case Container(kind=kind, parts=parts):
            described = [kind.__qualname__, list(kind._fields)]
            return {"named tuple": [*described, *map(_template, parts)]}
        case Failure(kind=kind, args=args, attributes=attributes, cause=cause):
            return {
                "exception": [
                    kind.__qualname__,
                    _base_name(kind),
                    _template(args),
                    [[name, _template(part)] for name, part in attributes],
                    None if cause is None else _template(cause),
                ]
            }
    raise UnwritableError(f"{getattr(template, 'value', template)!r:.80} stands in a message")


def encoded_classes(classes: Sequence[Class]) -> list[Any]:
    """Return the classes that a number may have as plain data."""
    return [[encoded(each.dtype), encoded(each.weak)] for each in classes]


def decoded_classes(decoder: Decoder, described: Any) -> tuple[Class, ...]:
    """Return the classes that a number may have, or raise `ValueError`."""
    rows = [listed(row) for row in listed(described)]
    classes = tuple([Class(*map(decoder.value, row)) for row in rows if len(row) == 2])
    if len(classes) < len(rows) or not all([each.is_valid for each in classes]):
        raise ValueError(f"{described!r:.60} are no classes of numbers")
    return classes


class _Templates:
    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def read(self, data: Any) -> Template:
        tag, content = tagged(data)
        match tag:
            case "plain":
                value = self._decoder.value(content)
                return Plain(type(value), repr(value), value)
            case "number":
                number, weak = content
                return Number(index(number, 2**16), self._decoder.value(weak))
            case "mixed number":
                number, code, described = listed(content)
                places = index(number, 2**16), index(code, 2**16)
                return MixedNumber(*places, decoded_classes(self._decoder, described))
            case "optional number":
                part, flag = listed(content)
                return OptionalNumber(self.read(part), index(flag, 2**16))
            case "shown":
                part, conversion, spec = listed(content)
                if not _CONVERSION.fullmatch(text_of(conversion)):
                    raise ValueError(f"{conversion!r:.60} is no conversion")
                return Shown(self.read(part), conversion, text_of(spec))
            case "written":
                parts = [p if type(p) is str else self._shown(p) for p in listed(content)]
                return Written(tuple(parts))
            case "container":
                kinds = {kind.__name__: kind for kind in (tuple, list, set, frozenset, dict)}
                name, *parts = listed(content)
                return Container(kinds[name], tuple(map(self.read, parts)))
            case "named tuple":
                name, fields, *parts = listed(content)
                kind = self._decoder.classes.named_tuple(name, fields)
                return Container(kind, tuple(map(self.read, parts)))
        return self.failure(data)

    def failure(self, data: Any) -> Failure:
        tag, content = tagged(data)
        if tag != "exception":
            raise ValueError(f"{tag!r:.60} is no part of a message")
        name, base, args, attributes, cause = listed(content)
        kind = self._decoder.classes.exception(text_of(name), text_of(base))
        rows = tuple([(text_of(key), self.read(part)) for key, part in map(listed, attributes)])
        if any(key.startswith("__") for key, _ in rows):
            raise ValueError("an exception has no such attribute")
        return Failure(kind, self.read(args), rows, None if cause is None else self.read(cause))

    def printing(self, data: Any) -> Effect:
        parts, options = listed(data)
        rows = tuple([(text_of(name), self.read(part)) for name, part in map(listed, options)])
        if any(name not in ("sep", "end", "file", "flush") for name, _ in rows):
            raise ValueError("print has no such argument")
        return Effect(print, tuple(map(self.read, listed(parts))), rows)

    def _shown(self, data: Any) -> Shown:
        part = self.read(data)
        if not isinstance(part, Shown):
            raise ValueError("a text consists of texts")
        return part


# --- structures -----------------------------------------------------------------------------------


class Leaf:
    """The place of a leaf in a tree, by its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def encoded_tree(tree: Any) -> Any:
    """Return a tree whose leaves are `Leaf`s as plain data, or raise `UnwritableError`."""
    kind = type(tree)
    if kind is Leaf:
        return tree.number
    if tree is None:
        return None
    if kind in (tuple, list):
        return {kind.__name__: [encoded_tree(part) for part in tree]}
    if kind is dict or kind is OrderedDict:
        rows = [[encoded(key), encoded_tree(part)] for key, part in tree.items()]
        return {kind.__name__: rows}
    if kind is deque:
        return {"deque": [tree.maxlen, *[encoded_tree(part) for part in tree]]}
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        parts = [encoded_tree(part) for part in tree]
        return {"named tuple": [kind.__qualname__, list(kind._fields), *parts]}
    if dataclasses.is_dataclass(kind):
        names = _fields(kind)
        parts = [encoded_tree(getattr(tree, name)) for name in names]
        return {"dataclass": [kind.__qualname__, names, *parts]}
    raise UnwritableError(f"a {kind.__qualname__} is a container that has no form in a file")


def decoded_tree(data: Any, decoder: Decoder, leaf: Callable[[int], Any]) -> Any:
    """Return the tree that `encoded_tree` gave data for, with ``leaf(number)`` in each place."""

    def read(data: Any) -> Any:
        if data is None:
            return None
        if type(data) is int:
            return leaf(data)
        tag, content = tagged(data)
        content = listed(content)
        match tag:
            case "tuple" | "list":
                parts = [read(part) for part in content]
                return parts if tag == "list" else tuple(parts)
            case "dict" | "OrderedDict":
                rows = {decoder.value(key): read(part) for key, part in map(listed, content)}
                return rows if tag == "dict" else OrderedDict(rows)
            case "deque":
                most = content[0]
                if most is not None:
                    index(most, 2**31)
                return deque([read(part) for part in content[1:]], most)
            case "named tuple":
                name, fields, *parts = content
                kind = decoder.classes.named_tuple(text_of(name), [*map(text_of, listed(fields))])
                return kind._make([read(part) for part in parts])
            case "dataclass":
                name, fields, *parts = content
                kind = decoder.classes.dataclass(text_of(name), [*map(text_of, listed(fields))])
                value = object.__new__(kind)
                for field, part in zip(fields, parts, strict=True):
                    object.__setattr__(value, field, read(part))
                return value
        raise ValueError(f"{tag!r:.60} is no container")

    return read(data)
