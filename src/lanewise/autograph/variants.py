"""What is done with one of several objects that data choose (`lanewise.trace.variants`).

An attribute is chosen among those of all alternatives, each read as it is. Whatever runs code, or
writes, is recorded in a branch for each alternative (`each`), so that it happens where it does.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from lanewise.autograph.builtins import bool_
from lanewise.autograph.calls import fn
from lanewise.autograph.describe import STANDING, describe
from lanewise.autograph.identity import is_
from lanewise.autograph.known_calls import is_library
from lanewise.autograph.optional import optional
from lanewise.autograph.subscripts import delattr, delitem, getitem, setattr, setitem
from lanewise.autograph.tables import Table, one_or_other, pick
from lanewise.autograph.templates import TEMPLATES, Template, Templates, shown
from lanewise.autograph.values import choose, compare, negated, require, truth_method
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.formatting import Field, Text, placeholder
from lanewise.trace.mixed import CHOOSE
from lanewise.trace.regions import Region, born, note_twin_of
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import Tensor, as_tensor, read, weak
from lanewise.trace.trace import require_trace, state
from lanewise.trace.variants import ON_VARIANTS, TAG, Alternatives, Variant, alternatives_of, tag_of

#: From so many alternatives on what is chosen is looked up in an array.
MANY = 9
#: Texts that are put together of others are looked into if there are at most so many.
MOST_TEXTS = 100


def is_one(variant: Variant, tag: int) -> Tensor:
    """Return whether a variant is the alternative of a tag."""
    return weak(np.equal(variant._lw_tag, tag), bool)


def place_of(variant: Variant) -> Tensor:
    """Return which of its alternatives a variant is, counted from 0."""
    tags = list(variant._lw_among.by_tag)
    if tags[-1] - tags[0] == len(tags) - 1:
        return weak(variant._lw_tag - tags[0], int)
    return weak(sum([i * np.equal(variant._lw_tag, tag) for i, tag in enumerate(tags)]), int)


def chosen(variant: Variant, values: Sequence[Any], name: str = "the result") -> Any:
    """Return the one of some values, one for each alternative, that belongs to a variant's."""
    kinds = set(map(type, values))
    if kinds == {list}:
        return pick(values, place_of(variant))
    if kinds <= _CONTAINERS and len(set(map(id, values))) > 1:
        return _reference(variant, values)
    if len(values) >= MANY:
        return Table(values, name).at(place_of(variant))
    result = values[-1]
    for tag, value in zip(reversed([*variant._lw_among.by_tag][:-1]), values[-2::-1], strict=True):
        result = one_or_other(is_one(variant, tag), value, result, name)
    return result


#: What is chosen as the object that it is, so that what changes in it is changed there.
_CONTAINERS = frozenset((dict, set, deque, defaultdict, Counter, OrderedDict))


def _reference(variant: Variant, values: Sequence[Any]) -> Variant:
    """Return the one of some objects that belongs to a variant's, as it is."""
    return at_place(place_of(variant), values)


def at_place(place: Any, objects: Sequence[Any]) -> Any:
    """Return the one of some objects, or of variants, that is at a place."""
    if not isinstance(place, Tensor):
        return objects[place]
    if not any([type(x) is Variant for x in objects]):
        tags = as_tensor(np.array(list(map(tag_of, objects)), TAG))
        return Variant(tags[place], alternatives_of(objects))
    own = [x if type(x) is Variant else of_one(x) for x in objects]
    tag: Any = own[-1]._lw_tag
    for i, x in reversed(list(enumerate(own[:-1]))):
        tag = np.where(place == i, x._lw_tag, tag)
    return Variant(tag, alternatives_of([x for each in own for x in each._lw_among]))


def of_class(variant: Variant, cls: type) -> Any:
    """Return the object of a class that a variant is, where it is one; None if it never is."""
    by_tag = {tag: x for tag, x in variant._lw_among.by_tag.items() if type(x) is cls}
    if len(by_tag) < 2:
        return next(iter(by_tag.values()), None)
    return Variant(variant._lw_tag, Alternatives(by_tag))


def narrowed(variant: Variant) -> Variant:
    """Return a variant of the alternatives that it can be where we are."""
    by_tag, trace = variant._lw_among.by_tag, state.trace
    while isinstance(trace, Region):
        known = trace.facts.get(id(variant._lw_tag))
        if known is not None and not known.issuperset(by_tag) and not known.isdisjoint(by_tag):
            by_tag = {tag: x for tag, x in by_tag.items() if tag in known}
        trace = trace.parent
    if len(by_tag) == len(variant._lw_among.by_tag):
        return variant
    return Variant(variant._lw_tag, Alternatives(by_tag))


def asked_which(variant: Variant, ask: Callable[[Any], Any]) -> Any:
    """Return an answer that depends on which object it is, known in branches that ask for it."""
    variant = narrowed(variant)
    answers = {tag: ask(x) for tag, x in variant._lw_among.by_tag.items()}
    found = chosen(variant, list(answers.values()))
    if type(found) is Tensor and all([type(x) is bool for x in answers.values()]):
        yes = frozenset([tag for tag, answer in answers.items() if answer])
        sides = variant._lw_tag, yes, frozenset(answers) - yes
        require_trace("an object").outermost().answers[read(found)] = sides
    return found


def each(variant: Variant, function: Callable[[Any], Any]) -> Any:
    """Return what a function gives of the object, recorded in a branch for each alternative."""
    variant = narrowed(variant)
    by_tag = variant._lw_among.by_tag
    if len(by_tag) == 1:
        return function(*by_tag.values())
    lead = is_one(variant, next(iter(by_tag))) if len(by_tag) == 2 else place_of(variant)
    return CHOOSE[0](read(lead), [partial(function, x) for x in by_tag.values()])


def of_one(x: Any) -> Variant:
    """Return the variant that is an object in all examples."""
    trace = require_trace("an object")
    return Variant(Tensor(trace, trace.scalar(tag_of(x), TAG)), alternatives_of([x]))


def record_of(variant: Variant) -> Any:
    """Return an object of a dataclass that holds what the one of a variant holds, if all are such.

    It is another object, which may be any of those.
    """
    objects = list(variant._lw_among)
    rows, structures = zip(*map(tree.flatten, objects), strict=True)
    if any([structure != structures[0] for structure in structures[1:]]):
        return variant
    found = [chosen(variant, column) for column in zip(*rows, strict=True)]
    made = born(tree.unflatten(structures[0], found))
    note_twin_of(made, objects, "an object that the data choose")
    return made


def applied(variant: Variant, function: Callable[[Any], Any], others: Any = ()) -> Any:
    """Return what a function that changes nothing gives of the object, and of others.

    Of texts it is taken at once, unless one of them raises, or may when the graph runs.
    """
    if all([type(x) in (str, bytes) for x in variant._lw_among]) and not is_traced(others):
        try:
            return chosen(variant, [function(x) for x in variant._lw_among])
        except (TypeError, ValueError, LookupError):
            pass  # for those examples only
    return each(variant, function)


# --- attributes -----------------------------------------------------------------------------------


def _getattr(variant: Variant, name: str) -> Any:
    if name.startswith("__") and name != "__name__":
        raise AttributeError(name)  # which Python, or other code, looks for
    if any([_runs_code(x, name) for x in variant._lw_among]):
        return each(variant, lambda x: getattr(x, name))
    return _read(variant, lambda x: getattr(x, name), AttributeError, f"the attribute {name!r}")


def _entry(variant: Variant, owner: Any) -> Any:
    """Return ``owner[variant]``."""
    if not isinstance(owner, dict) or hasattr(type(owner), "__missing__"):
        return each(variant, lambda x: getitem(owner, x))
    return _read(variant, owner.__getitem__, KeyError, "an entry of a dict")


def _read(variant: Variant, get: Callable[[Any], Any], missing: type[Exception], name: str) -> Any:
    """Return what there is of the object; where there is none, its examples raise the error."""
    variant = narrowed(variant)
    found, errors = {}, {}
    for tag, x in variant._lw_among.by_tag.items():
        try:
            found[tag] = get(x)
        except missing as error:
            errors[tag] = error
    if not found:
        raise next(iter(errors.values()))
    for tag, error in errors.items():
        require(weak(np.not_equal(variant._lw_tag, tag), bool), error)
    among = Alternatives({tag: variant._lw_among.by_tag[tag] for tag in found})
    return chosen(Variant(variant._lw_tag, among), list(found.values()), name)


def _runs_code(x: Any, name: str) -> bool:
    """Whether it runs code of a user's to read an attribute."""
    if isinstance(_member(type(x), "__getattr__"), FunctionType):
        return True
    found = _member(type(x), name)
    if found is None or isinstance(found, (FunctionType, classmethod, staticmethod)):
        return False
    return hasattr(type(found), "__get__") and not is_library(type(x).__module__)


def _member(cls: type, name: str) -> Any:
    """Return the member of a class, or of one that it is of; not of its own class."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _setattr(variant: Variant, name: str, value: Any) -> None:
    each(variant, lambda x: setattr(x, name, value))


# --- operators ------------------------------------------------------------------------------------


def _compared(symbol: str) -> Callable[..., Any]:
    def call(variant: Variant, other: Any) -> Any:
        return applied(variant, lambda x: compare(symbol, x, other), (other,))

    return call


def equals(variant: Variant, other: Any) -> Any:
    """Return ``variant == other``."""
    if not any(map(_has_own_notion, variant._lw_among)):
        return chosen(variant, [compare("==", x, other) for x in variant._lw_among])
    return each(variant, lambda x: compare("==", x, other))


def _has_own_notion(x: Any) -> bool:
    """Whether code of a user's says what an object equals."""
    return isinstance(type(x).__eq__, FunctionType)


def is_object(variant: Variant, other: Any) -> Any:
    """Return ``variant is other``."""
    others = list(other._lw_among) if type(other) is Variant else [other]
    for x in variant._lw_among:
        for y in others:
            _ = _is(x, y) or is_(x, y)  # which raises where nobody knows
    if type(other) is Variant:
        return weak(np.equal(variant._lw_tag, other._lw_tag), bool)
    tag = next((tag for tag, x in variant._lw_among.by_tag.items() if _is(x, other)), None)
    return False if tag is None else is_one(variant, tag)


def _is(x: Any, y: Any) -> bool:
    return x is y or (type(x) is type(y) is str and x == y)


def truth_of(variant: Variant) -> Any:
    """Return ``bool(variant)``, which may be data."""
    if any([truth_method(x) is not None for x in variant._lw_among]):
        return each(variant, bool_)
    return chosen(variant, [bool(x) for x in variant._lw_among])


def _asked(variant: Variant) -> Tensor:
    """Return the truth of a variant as data."""
    found = truth_of(variant)
    return found if isinstance(found, Tensor) else as_tensor(np.bool_(found))


def _number(variant: Variant, *args: Any, **kwargs: Any) -> Any:
    """Return the number that a variant is: a member of an `IntEnum`, or the like."""
    for kind in (int, float):
        if all([isinstance(x, kind) for x in variant._lw_among]):
            return chosen(variant, [kind(x) for x in variant._lw_among])
    _refuse(variant, "used as a number or an array")


def _operated(variant: Variant, name: str, *others: Any) -> Any:
    if hasattr(operator, f"__{name}__"):
        function = getattr(operator, f"__{name}__")
        return applied(variant, lambda x: fn(function)(x, *others), others)
    function = getattr(operator, f"__{name.removeprefix('r')}__")
    return applied(variant, lambda x: fn(function)(others[0], x), others)


def _text(variant: Variant, conversion: str, spec: str = "") -> str:
    text = placeholder(variant, conversion, spec, list(variant._lw_among))
    return text or _refuse(variant, "asked for its text by code that is not converted")


def text_of(string: str, fields: dict[str, Field]) -> Any:
    """Return a text with the texts of variants in the place of their placeholders, if not many."""
    if math.prod([len(field.value._lw_among) for field in fields.values()]) > MOST_TEXTS:
        return Text(string, fields)
    if not fields:
        return string
    (key, field), *rest = fields.items()
    texts = [shown(x, field.conversion, field.spec) for x in field.value._lw_among]
    found = [text_of(string.replace(key, text), dict(rest)) for text in texts]
    return chosen(field.value, found, "a text")


def _iterated(variant: Variant) -> Any:
    sizes = {len(x) if isinstance(x, (str, bytes)) else -1 for x in variant._lw_among}
    if len(sizes) > 1 or -1 in sizes:
        _refuse(variant, "gone through, while its elements, or how many there are, depend on that")
    return iter([getitem(variant, i) for i in range(max(sizes))])


def _refuse(variant: Variant, what: str) -> NoReturn:
    raise UnsupportedError(
        f"{describe(variant)}, as the data choose, is {what}{at(here())}. Keep a number in its "
        "place, or do that in a branch for each"
    )


def _contains(variant: Variant, item: Any) -> Any:
    """Return ``item in variant``."""
    return each(variant, lambda x: fn(operator.contains)(x, item))


def with_each(f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function that takes no variants, in a branch for each alternative of its arguments."""
    for key, x in (*enumerate(args), *kwargs.items()):
        parts = x if type(x) in (list, tuple) else (x,)
        variant = next(filter(_is_variant, parts), None)
        if variant is None:
            continue

        def call(own: Any, key: Any = key, x: Any = x, variant: Any = variant) -> Any:
            y = own if x is variant else type(x)([own if part is variant else part for part in x])
            if isinstance(key, str):
                return with_each(f, args, {**kwargs, key: y})
            return with_each(f, (*args[:key], y, *args[key + 1 :]), kwargs)

        if f not in _PURE and type(getattr(f, "__self__", None)) not in (str, bytes):
            return each(variant, call)
        others = [part for part in (*args, *kwargs.values()) if not has_variant((part,))]
        return applied(variant, call, others)
    return fn(f)(*args, **kwargs)


#: What does nothing but give a value, beside methods of texts.
_PURE = frozenset((len, ord, int, float, str, repr, format, abs, hash, bool, ascii, bytes))


def _is_variant(x: Any) -> bool:
    return type(x) is Variant


def has_variant(args: Sequence[Any]) -> bool:
    """Whether there is a variant among arguments, or in a list or tuple among them."""
    kinds = set(map(type, args))
    if Variant in kinds:
        return True
    return bool(kinds & {list, tuple}) and any(
        [Variant in map(type, x) for x in args if type(x) in (list, tuple)]
    )


# --- messages -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _OneOf(Template):
    """The one of several objects that an operand says."""

    index: int
    tags: tuple[int, ...]
    parts: tuple[Template, ...]

    def fill(self, numbers: Sequence[Any]) -> Any:
        tag, parts = numbers[self.index], [part.fill(numbers) for part in self.parts]
        by_tag = dict(zip(self.tags, parts, strict=True))
        return Variant(tag, Alternatives(by_tag)) if isinstance(tag, Tensor) else by_tag[int(tag)]


def _template(templates: Templates, variant: Variant) -> Template:
    parts = tuple([templates.of(x) for x in variant._lw_among])
    return _OneOf(templates.operand(variant._lw_tag), tuple(variant._lw_among.by_tag), parts)


TEMPLATES[Variant] = _template
STANDING[Variant] = "one of several objects"
ON_VARIANTS.update(
    {
        # What `exec` makes without a name for the module is of "builtins".
        "is_users": lambda kind: kind.__module__ == "builtins" or not is_library(kind.__module__),
        "of": of_one,
        "at": at_place,
        "of class": of_class,
        "record": record_of,
        "is not none": lambda variant: negated(is_object(variant, None)),
        "or none": lambda variant, flag: choose(flag, variant, None),
        "chosen": chosen,
        "optional": optional,
        "text": text_of,
        "asked": asked_which,
        "is": is_object,
        "truth": _asked,
        "entry": _entry,
        "put": lambda variant, owner, v: each(variant, lambda x: setitem(owner, x, v)),
        "get": lambda variant, owner, default: chosen(
            variant, [owner.get(x, default) for x in variant._lw_among], "an entry of a dict"
        ),
        "getattr": _getattr,
        "setattr": _setattr,
        "delattr": lambda variant, name: each(variant, lambda x: delattr(x, name)),
        "getitem": lambda variant, key: applied(variant, lambda x: getitem(x, key), (key,)),
        "setitem": lambda variant, key, v: each(variant, lambda x: setitem(x, key, v)),
        "delitem": lambda variant, key: each(variant, lambda x: delitem(x, key)),
        "call": lambda variant, *args, **kwargs: each(variant, lambda x: fn(x)(*args, **kwargs)),
        "iter": _iterated,
        "asked within": _contains,
        "contains": lambda variant, item: _refuse(variant, "searched, for a plain bool"),
        "bool": lambda variant: _refuse(variant, "asked whether it is true, for a plain bool"),
        "len": lambda variant: _refuse(variant, "asked for its length, for a plain int"),
        "hash": lambda variant: _refuse(variant, "put in a set or a dict, or asked for its hash"),
        "enter": lambda variant: _refuse(variant, "entered by `with`"),
        "exit": lambda variant, *args: False,
        "number": _number,
        "ufunc": lambda variant, *args, **kwargs: _refuse(variant, "given to a function of NumPy"),
        "function": lambda variant, *args, **kwargs: _refuse(
            variant, "given to a function of NumPy"
        ),
        "str": lambda variant: _text(variant, "s"),
        "repr": lambda variant: _text(variant, "r"),
        "format": lambda variant, spec: _text(variant, "", spec),
        "==": equals,
        "!=": lambda variant, other: compare("!=", variant, other),
        **{symbol: _compared(symbol) for symbol in ("<", "<=", ">", ">=")},
        "operator": _operated,
    }
)

__all__ = ["has_variant", "with_each"]
