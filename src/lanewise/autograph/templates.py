"""Messages and exceptions as templates: numbers are filled in when the graph runs.

A template is compared by its content, so that two recordings of a function that raises the same are
the same graph. What it cannot look into, it compares by identity. It holds no tensor: those become
the operands of the operation that fills the template in.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lanewise.trace.formatting import Field, Text, TextOf
from lanewise.trace.mixed import Class, note_mixed, presence
from lanewise.trace.origins import refuse_escape
from lanewise.trace.scratch import Scratch, is_traced
from lanewise.trace.tensor import Tensor, as_tensor
from lanewise.trace.trace import Trace, state

#: What ``repr`` tells apart, and tells all about.
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))
#: Set in the flags of a class that Python code made.
_MADE_IN_PYTHON = 1 << 9


class Template(ABC):
    """Something with numbers to be filled in."""

    __slots__ = ()

    @abstractmethod
    def fill(self, numbers: Sequence[Any]) -> Any:
        """Return it with ``numbers[i]`` in the place of operand i."""


@dataclass(frozen=True, slots=True)
class Plain(Template):
    """A Python value that says all about itself."""

    kind: type
    text: str
    value: Any = field(compare=False)

    def fill(self, numbers: Sequence[Any]) -> Any:
        return self.value


class Opaque(Template):
    """An object that is handed on as it is, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def fill(self, numbers: Sequence[Any]) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class Number(Template):
    """An operand: an array or a scalar of NumPy's, or the Python number that it stands for."""

    index: int
    weak: type | None

    def fill(self, numbers: Sequence[Any]) -> Any:
        number = numbers[self.index]
        if isinstance(number, Tensor):  # what a handler sees of it
            return number
        return number if self.weak is None else self.weak(number)


@dataclass(frozen=True, slots=True)
class MixedNumber(Template):
    """An operand of one of several classes, and the place of the operand that says of which."""

    index: int
    code: int
    classes: tuple[Class, ...]

    def fill(self, numbers: Sequence[Any]) -> Any:
        number, code = numbers[self.index], numbers[self.code]
        if isinstance(number, Tensor):
            found = Tensor(number._trace, number._value, None, number._weak)
            return note_mixed(found, self.classes, code)
        return self.classes[int(code)].make(number)


@dataclass(frozen=True, slots=True)
class OptionalNumber(Template):
    """A number that is None in some examples, and the place of the operand that says in which."""

    part: Template
    presence: int

    def fill(self, numbers: Sequence[Any]) -> Any:
        flag = numbers[self.presence]
        if isinstance(flag, Tensor) or flag:
            return self.part.fill(numbers)
        return None


def shown(value: Any, conversion: str, spec: str) -> str:
    """Return the text of a value, as a `Field` says."""
    match conversion:
        case "":
            return format(value, spec)
        case "s":
            return str(value)
        case "r":
            return repr(value)
        case printf:
            return printf % (value,)


@dataclass(frozen=True, slots=True)
class Shown(Template):
    """The text of another template's value."""

    part: Template
    conversion: str
    spec: str

    def fill(self, numbers: Sequence[Any]) -> str:
        return shown(self.part.fill(numbers), self.conversion, self.spec)


@dataclass(frozen=True, slots=True)
class Written(Template):
    """A string: the texts of its parts, one after the other."""

    parts: tuple[str | Shown, ...]

    def fill(self, numbers: Sequence[Any]) -> str:
        return "".join([p if isinstance(p, str) else p.fill(numbers) for p in self.parts])


@dataclass(frozen=True, slots=True)
class Called(Template):
    """What a function gives of its arguments."""

    function: Opaque
    args: Template
    options: Template

    def fill(self, numbers: Sequence[Any]) -> Any:
        return self.function.value(*self.args.fill(numbers), **self.options.fill(numbers))


@dataclass(frozen=True, slots=True)
class Container(Template):
    """A tuple (also a named one), list, set or dict (of its keys, then its values)."""

    kind: type
    parts: tuple[Template, ...]

    def fill(self, numbers: Sequence[Any]) -> Any:
        parts = [part.fill(numbers) for part in self.parts]
        if self.kind is dict:
            half = len(parts) // 2
            return dict(zip(parts[:half], parts[half:], strict=True))
        if hasattr(self.kind, "_make"):
            return self.kind._make(parts)  # ty: ignore[not-callable]
        return self.kind(parts)


@dataclass(frozen=True, slots=True)
class Failure(Template):
    """An exception of the user's class: its arguments, its attributes, and its cause."""

    kind: type[BaseException]
    args: Template
    attributes: tuple[tuple[str, Template], ...] = ()
    cause: Template | None = None

    @property
    def __name__(self) -> str:
        return self.kind.__name__

    def __call__(self, *numbers: Any) -> BaseException:
        """Return a new exception with these numbers in it."""
        return self.fill(numbers)

    def fill(self, numbers: Sequence[Any]) -> BaseException:
        args = self.args.fill(numbers)
        # The user's own constructor has run while tracing, and may take anything: what it has made
        # is made again without it.
        base: Any = _built_in(self.kind)
        error = base.__new__(self.kind, *args)
        base.__init__(error, *args)
        for name, part in self.attributes:
            BaseException.__setattr__(error, name, part.fill(numbers))
        if self.cause is not None:
            error.__cause__ = self.cause.fill(numbers)
        return error


@dataclass(frozen=True, slots=True)
class Copied(Template):
    """An array, as it was while tracing."""

    value: np.ndarray = field(compare=False)
    text: bytes
    kind: Any

    def fill(self, numbers: Sequence[Any]) -> Any:
        return self.value.copy()


@dataclass(frozen=True, slots=True)
class Instance(Template):
    """An object some attributes of which are data: a copy with the numbers in it."""

    value: Opaque
    attributes: tuple[tuple[str, Template], ...]

    def fill(self, numbers: Sequence[Any]) -> Any:
        made = copy.copy(self.value.value)
        for name, part in self.attributes:
            object.__setattr__(made, name, part.fill(numbers))
        return made


def _built_in(kind: type) -> type:
    """Return the class of Python's own that a class of exceptions derives from."""
    return next(base for base in kind.__mro__ if not base.__flags__ & _MADE_IN_PYTHON)


class StandIn(ABC):
    """Stands in traced code for an object that there is only when the graph runs."""

    __slots__ = ()

    @abstractmethod
    def template(self) -> Template:
        """Return what gives the object when the graph runs."""


#: By class, what makes the template of such a value.
TEMPLATES: dict[type, Callable[[Templates, Any], Template]] = {}


class Templates:
    """Makes templates; `operands` are the tensors that will be filled in."""

    def __init__(self, fields: dict[str, Field]) -> None:
        self.fields = fields
        self.operands: list[Tensor] = []
        #: Whether something stands for what a call returns that is made when the graph runs.
        self.holds_later = False
        self._under_way: set[int] = set()

    def of(self, value: Any) -> Template:
        """Return the template of any value; of one that holds no tensor, what gives it back."""
        kind = type(value)
        if isinstance(value, Tensor):
            value = as_tensor(value)
            if _is_open(value._trace):
                return self._number(value)
            value = repr(value)  # of a mapped function that the branch calls
            return Plain(str, repr(value), value)
        if isinstance(value, str) and (kind is str or kind is Text):
            return self.text(value)
        if kind is TextOf:
            return Called(Opaque(value.function), self.of(value.args), self.of(value.options))
        if kind in _PLAIN:
            return Plain(kind, repr(value), value)
        if id(value) in self._under_way:  # it holds itself
            return Opaque(value)
        self._under_way.add(id(value))
        try:
            return self._inside(value, kind)
        finally:
            self._under_way.discard(id(value))

    def _inside(self, value: Any, kind: type) -> Template:
        if kind in (list, tuple, set, frozenset) or (
            isinstance(value, tuple) and hasattr(kind, "_make")
        ):
            return Container(kind, tuple([self.of(part) for part in value]))
        if kind is dict:
            return Container(dict, tuple([self.of(p) for p in (*value.keys(), *value.values())]))
        if isinstance(value, BaseException):
            return self.exception(value)
        if isinstance(value, np.ndarray):  # which may be written to before the graph runs
            array = np.array(value, subok=type(value) is not Scratch)
            return Copied(array, array.tobytes(), (array.dtype, array.shape))
        if kind in TEMPLATES:
            return TEMPLATES[kind](self, value)
        if isinstance(value, StandIn):
            self.holds_later = True
            return value.template()
        if kind is Tensor:
            refuse_escape(value, "a call for its effect")
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and not isinstance(value, type) and is_traced(attributes):
            parts = tuple([(name, self.of(part)) for name, part in attributes.items()])
            return Instance(Opaque(value), parts)
        return Opaque(value)

    def text(self, string: str) -> Template:
        """Return the template of a string that may hold placeholders."""
        fields = {**self.fields, **getattr(string, "fields", {})}
        plain = str.__str__(string)
        found = [key for key in fields if key in plain]
        if not found:
            return Plain(str, repr(plain), plain)
        pieces = re.split(f"({'|'.join(map(re.escape, found))})", plain)
        return Written(tuple([self._shown(fields[p]) if p in fields else p for p in pieces if p]))

    def _shown(self, found: Field) -> Shown:
        return Shown(self.of(found.value), found.conversion, found.spec)

    def exception(self, error: BaseException) -> Failure:
        """Return the template of an exception, without where it was raised so far."""
        kind = type(error)
        built_in: Any = _built_in(kind)
        reduced = built_in.__reduce__(error)
        args, attributes = reduced[1], dict(reduced[2] or {}) if len(reduced) > 2 else {}
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(error, name) and not name.startswith("__"):
                    attributes[name] = getattr(error, name)
        cause = None
        if error.__cause__ is not None or error.__suppress_context__:
            cause = self.of(error.__cause__)
        parts = tuple([(name, self.of(value)) for name, value in attributes.items()])
        return Failure(kind, Container(tuple, tuple(map(self.of, args))), parts, cause)

    def _number(self, tensor: Tensor) -> Template:
        flag = presence(tensor)
        if flag is not None:
            held = Tensor(tensor._trace, tensor._value, None, tensor._weak)
            held._mixed = tensor._mixed
            return OptionalNumber(self._number(held), self.operand(flag))
        at = self.operand(tensor)
        if tensor._mixed is None:
            return Number(at, tensor._weak)
        classes, code = tensor._mixed
        return MixedNumber(at, self.operand(code), classes)

    def operand(self, tensor: Tensor) -> int:
        """Return the place of a tensor among the operands."""
        for index, known in enumerate(self.operands):
            if known is tensor:
                return index
        self.operands.append(tensor)
        return len(self.operands) - 1


def _is_open(trace: Trace) -> bool:
    """Whether the values of a trace can be used in the one that is recorded now."""
    around = state.trace
    while around is not None and around is not trace:
        around = around.parent
    return around is not None


def as_traced(value: Any, fields: dict[str, Field]) -> Any:
    """Return a value with its placeholders replaced by what tensors show while tracing."""
    if isinstance(value, str):
        fields = {**fields, **getattr(value, "fields", {})}
        text = str.__str__(value)
        for key, found in fields.items():
            if key in text:
                text = text.replace(key, str(as_traced(found.value, {})))
        return text if text != str.__str__(value) or type(value) is Text else value
    if isinstance(value, BaseException):
        value.args = tuple([as_traced(part, fields) for part in value.args])
        for name, part in vars(value).items():
            if isinstance(part, str):
                setattr(value, name, as_traced(part, fields))
    return value
