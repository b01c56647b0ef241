"""Text of traced values: placeholders that stand for numbers until the graph runs.

While a message is put together (``f"bad {x}"`` behind a ``raise``, the arguments of ``print``),
`Tensor` formats itself as a placeholder; the `Collection` of the message remembers which value a
placeholder stands for, and how it is to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple, NoReturn
from weakref import ref

from lanewise.errors import ConcretizationError, at
from lanewise.ir.location import here
from lanewise.trace.trace import state

_numbers = count(1)


class Field(NamedTuple):
    """What a placeholder stands for: a tensor (or a text), and how it is converted to text."""

    value: Any
    conversion: str  # "s", "r" or "a"; "%..." for a conversion of printf; "" for format()
    spec: str


class Collection:
    """The placeholders made while a message is put together, each with what it stands for.

    It lasts as long as somebody holds it: where putting the message together fails, it ends.
    """

    __slots__ = ("__weakref__", "fields")

    def __init__(self) -> None:
        self.fields: dict[str, Field] = {}


def deferred() -> Collection | None:
    """Begin to collect formatted tensors in this thread; None where nothing is traced."""
    if state.trace is None:
        return None
    collection = Collection()
    state.messages = (*state.messages, ref(collection))
    return collection


def finish(collection: Collection | None) -> dict[str, Field]:
    """End a collection, and whatever began within it; return its placeholders."""
    if collection is None:
        return {}
    while collecting() is not None:
        last = state.messages[-1]()
        state.messages = state.messages[:-1]
        if last is collection:
            break
    return collection.fields


def collecting() -> Collection | None:
    """Return the collection that formatted tensors go to, if there is one."""
    while state.messages:
        collection = state.messages[-1]()
        if collection is not None:
            return collection
        state.messages = state.messages[:-1]
    return None


def placeholder(value: Any, conversion: str, spec: str, samples: Sequence[Any]) -> Text | None:
    """Return what stands for the text of a value in a message, or None outside of one.

    `samples` are numbers or arrays like those that will be formatted, one of each class: what all
    of them refuse is refused now, what only some do when the examples run.
    """
    collection = collecting()
    if collection is None:
        return None
    for number, sample in enumerate(samples, 1):
        try:
            format(sample, spec) if spec else conversion.startswith("%") and conversion % (sample,)
            break
        except (TypeError, ValueError):
            if number == len(samples):
                raise
    key = f"<{type(value).__name__} #{next(_numbers)}>"
    found = {key: Field(value, conversion, spec)}
    collection.fields.update(found)
    return Text(key, found)


class Text(str):
    """A string parts of which are known only when the graph runs.

    It may be put into longer ones, printed and raised; what would look at its characters raises.
    """

    fields: dict[str, Field]

    def __new__(cls, string: str, fields: dict[str, Field]) -> Text:
        text = super().__new__(cls, string)
        text.fields = {key: field for key, field in fields.items() if key in str.__str__(string)}
        return text

    def __bool__(self) -> bool:
        return True  # the text of a number is never empty

    def __str__(self) -> str:
        return self._shown("s", "")

    def __repr__(self) -> str:
        return self._shown("r", "")

    def __format__(self, spec: str) -> str:
        return self._shown("", spec)

    def _shown(self, conversion: str, spec: str) -> str:
        plain = str.__str__(self)
        collection = collecting()
        if collection is None:
            return repr(plain) if conversion == "r" else plain
        if spec or conversion == "r":
            return placeholder(self, conversion, spec, [plain]) or plain
        collection.fields.update(self.fields)
        return plain

    def __add__(self, other: Any) -> Any:
        return _joined(self, other) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return _joined(other, self) if isinstance(other, str) else NotImplemented


class TextOf(NamedTuple):
    """The text that a function gives of its arguments when the graph runs."""

    function: Callable[..., str]
    args: tuple[Any, ...]
    options: dict[str, Any]


def written(function: Callable[..., str], args: tuple[Any, ...], options: dict[str, Any]) -> Text:
    """Return what stands for the text that a function gives of arguments that hold data."""
    key = f"<text #{next(_numbers)}>"
    return Text(key, {key: Field(TextOf(function, args, options), "s", "")})


def _joined(*parts: str) -> Text:
    fields = {key: f for part in parts for key, f in getattr(part, "fields", {}).items()}
    return Text("".join(map(str.__str__, parts)), fields)


def _refusing(name: str) -> Callable[..., NoReturn]:
    bits = ". Bits are counted by n.bit_count()" if name == "count" else ""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise ConcretizationError(
            f"str.{name} needs the text {str.__str__(self)!r}, which holds traced numbers that are "
            f"not known while tracing{at(here())}. Such a text can be printed, raised, and put "
            f"into another one; compare the numbers themselves{bits}"
        )

    refuse.__name__ = name
    return refuse


def _refuse_on(cls: type, names: Iterable[str]) -> None:
    for name in names:
        setattr(cls, name, _refusing(name))


def _following(name: str) -> Callable[..., Text]:
    method = getattr(str, name)

    def follow(self: Any, *args: Any, **options: Any) -> Text:
        return written(method, (self, *args), options)

    follow.__name__ = name
    return follow


for _name in (
    "capitalize casefold center expandtabs ljust lower lstrip removeprefix removesuffix replace "
    "rjust rstrip strip swapcase title upper zfill"
).split():
    setattr(Text, _name, _following(_name))
_ALLOWED = {"__new__", "__repr__", "__str__", "__format__", "__add__", "__getattribute__",
            "__sizeof__", "__doc__"}  # fmt: skip
_refuse_on(Text, [name for name in vars(str) if name not in {*vars(Text), *_ALLOWED}])
