"""Values that are None in some examples: numbers, arrays, and containers of them.

``best = None`` before a loop that assigns ``best = (i, j)`` in some iterations makes `best` None in
some examples and a tuple in others. A truth value says which. A number or an array stays a tensor,
guarded by that (`Absent`); any container is an `OptionalValue`. Whoever uses one as what it is but
for None has it checked, and examples for which it is None raise what Python raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

from lanewise.autograph.describe import describe
from lanewise.autograph.instances import Instance, is_new
from lanewise.autograph.state import (
    DONT_CARE,
    Absent,
    bare,
    is_optional,
    kind_of,
    tensor_of,
    value_of,
)
from lanewise.autograph.templates import TEMPLATES, OptionalNumber, Templates
from lanewise.autograph.values import both, compare, equal, negated, own_truth, traced, truth
from lanewise.errors import ConcretizationError, at
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.contents import ON_CONTENTS, concerns
from lanewise.trace.formatting import placeholder
from lanewise.trace.tensor import STANDS_FOR, Tensor, lift, weak
from lanewise.trace.trace import require_trace
from lanewise.trace.variants import ON_VARIANTS, Variant, can_be_chosen, is_record


class OptionalValue:
    """A container that is None except for the examples of a truth value.

    What is done with it is done with the container, behind a check that it is there.
    """

    __slots__ = ("_flag", "_value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, flag: Any) -> None:
        object.__setattr__(self, "_value", value)
        object.__setattr__(self, "_flag", flag)

    def there(self) -> Any:
        """Return the container; None in its place is an error of the example."""
        name = type(self._value).__name__
        error = TypeError(f"None is used where a {name} is needed{at(here())}")
        trace = require_trace(f"a {name} or None")
        trace.check(lift(self._flag), (), Templates({}).exception(error))
        return self._value

    def __bool__(self) -> bool:
        if not self._value:
            return False
        raise ConcretizationError(
            f"whether {describe(self._value)} is None depends on the data{at(here())}, and a plain "
            "bool is asked for. Ask `is None` in code that Lanewise converts"
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self.there())

    def __len__(self) -> int:
        return len(self.there())

    def __contains__(self, item: Any) -> bool:
        return item in self.there()

    def __getitem__(self, key: Any) -> Any:
        return self.there()[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.there(), name)

    def _text(self, conversion: str, spec: str = "") -> str:
        text = placeholder(self, conversion, spec, (None, self._value))
        return f"None or {describe(self._value)}" if text is None else text

    def __str__(self) -> str:
        return self._text("s")

    def __repr__(self) -> str:
        return self._text("r")

    def __format__(self, spec: str) -> str:
        return self._text("", spec)

    def __eq__(self, other: object) -> Any:
        if other is None:
            return negated(self._flag)
        found = equal(self._value, other)
        return weak(np.logical_and(self._flag, truth(found)), bool)

    def __ne__(self, other: object) -> Any:
        return negated(self == other)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*there(args), **there(kwargs))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*there(inputs), **there(kwargs))


def _ordering(symbol: str) -> Callable[[OptionalValue, Any], Any]:
    return lambda self, other: compare(symbol, self.there(), there(other))


def _binary(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[..., Any]:
    def call(self: OptionalValue, other: Any) -> Any:
        operands = self.there(), there(other)
        return function(*(operands[::-1] if swapped else operands))

    return call


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self: function(self.there())


for _name, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    setattr(OptionalValue, f"__{_name}__", _ordering(_symbol))
for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    _operator = getattr(operator, f"__{_name}__")
    setattr(OptionalValue, f"__{_name}__", _binary(_operator, swapped=False))
    setattr(OptionalValue, f"__r{_name}__", _binary(_operator, swapped=True))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(OptionalValue, f"__{_name}__", _unary(getattr(operator, f"__{_name}__")))

STANDS_FOR[OptionalValue] = OptionalValue.there
TEMPLATES[OptionalValue] = lambda templates, x: OptionalNumber(
    templates.of(x._value), templates.operand(x._flag)
)


def _flatten(value: Any) -> tuple[tuple[Any, Any], None]:
    return (value._value, value._flag), None


def _unflatten(_: Any, parts: Any) -> Any:
    """Return it of other leaves; where it is known whether it is there, what it is."""
    value, flag = parts
    if isinstance(flag, (bool, np.bool_)) or (type(flag) is np.ndarray and not flag.shape):
        return value if flag else None
    if type(flag) is Tensor and (kind := kind_of(value)) is not None and not kind.shape:
        return optional(value, flag)
    return OptionalValue(value, flag)


optree.register_pytree_node(OptionalValue, _flatten, _unflatten, namespace=tree.NAMESPACE)


def there(x: Any) -> Any:
    """Return a value, each container in it that may be None checked to be there."""
    leaves, structure = tree.flatten(x, is_missing)
    if not any(map(is_missing, leaves)):
        return x
    found = [there(leaf.there()) if is_missing(leaf) else leaf for leaf in leaves]
    return tree.unflatten(structure, found)


def as_returned(x: Any) -> Any:
    """Return what a function returns, whatever may be None in it in a form that can say so."""
    return _as_value(x) if is_optional(x) else with_nones(x)


def with_nones(x: Any) -> Any:
    """Return a container, each number and array in it that may be None as an `OptionalValue`."""
    if type(x) is Tensor:
        return x
    leaves, structure = tree.flatten(x, is_missing)
    if not any(map(is_optional, leaves)):
        return x
    found = [_as_value(leaf) if is_optional(leaf) else leaf for leaf in leaves]
    return tree.unflatten(structure, found)


def _as_value(x: Tensor) -> OptionalValue:
    # An array stays what it is, as others may hold it too.
    return OptionalValue(x if x.shape else bare(x), x._guard.flag)


def optional(value: Any, flag: Tensor) -> Any:
    """Return a value that is None except for the examples of `flag`."""
    kind = kind_of(value)
    if type(value) is Variant:
        return ON_VARIANTS["or none"](value, flag)
    if kind is None:
        return OptionalValue(value, flag)
    result = bare(value) if type(value) is Tensor else tensor_of(value_of(value, kind), kind)
    result._guard = Absent(flag, result._guard)
    return result


def is_missing(x: Any) -> bool:
    """Whether x is a container, or an array in one, that is None for some examples."""
    return type(x) is OptionalValue


def may_be_missing(x: Any) -> bool:
    """Whether x is a value that is None for some examples."""
    return is_optional(x) or type(x) is OptionalValue


def may_be_none(ends: Sequence[Any]) -> bool:
    """Whether a variable is None on some side, and data or a container of them on the others."""
    known = [end for end in ends if end is not None and end is not DONT_CARE]
    if any(map(may_be_missing, known)):
        return True
    has_none = any([end is None for end in ends])
    return has_none and bool(known) and all(map(_can_be_optional, known))


def _can_be_optional(value: Any) -> bool:
    kind = kind_of(value)
    return _is_container(value) if kind is None else not kind.is_tag


def _can_be_one(value: Any) -> bool:
    """Whether a value is, or can be, one of several objects of which None is another."""
    return type(value) is Variant or (kind_of(value) is None and can_be_chosen(value))


def _is_one_record(value: Any) -> bool:
    """Whether a value is one of several objects, or such a one of a dataclass, made before."""
    return type(value) is Variant or (is_record(value) and not is_new(value))


def _is_container(value: Any) -> bool:
    kind = type(value)
    is_named = isinstance(value, tuple) and hasattr(kind, "_fields")
    return is_named or kind in (tuple, list, dict) or kind is Instance


def apart_from_none(end: Any) -> tuple[Any, Any]:
    """Return whether a variable is not None, and what it is then."""
    if end is None:
        return False, DONT_CARE
    if type(end) is OptionalValue:
        return end._flag, end._value
    if is_optional(end):
        return end._guard.flag, end
    return (DONT_CARE, DONT_CARE) if end is DONT_CARE else (True, end)


def alike_but_for_none(ends: Sequence[Any]) -> Sequence[Any]:
    """Return values, optional where one has None in the place of what another has there.

    Those that differ otherwise are returned as they are.
    """
    ends = [end if end is DONT_CARE else with_nones(end) for end in ends]
    known = [end for end in ends if end is not DONT_CARE]
    if not known:
        return ends
    structure = tree.flatten(known[0])[1]
    if all([tree.flatten(end)[1] == structure for end in known[1:]]):
        return ends
    if may_be_none(known):
        return _optional_ends(ends)
    if any([x is None for x in known]) and all([x is None or _can_be_one(x) for x in known]):
        return [ON_VARIANTS["of"](None) if end is None else end for end in ends]
    if any([type(x) is Variant for x in known]) and all(map(_is_one_record, known)):
        kept = (Variant, type(DONT_CARE))
        return [end if type(end) in kept else ON_VARIANTS["of"](end) for end in ends]
    kind = type(known[0])
    if not _is_container(known[0]) or any([type(end) is not kind for end in known]):
        return ends
    children = [tree.children_of(end) or {} for end in known]
    if any([each.keys() != children[0].keys() for each in children]):
        return ends
    columns = {key: alike_but_for_none([each[key] for each in children]) for key in children[0]}
    rows = [{key: column[i] for key, column in columns.items()} for i in range(len(known))]
    pairs = zip(known, children, rows, strict=True)
    found = iter([
        end if all([own[key] is x for key, x in row.items()]) else tree.with_children(end, row)
        for end, own, row in pairs
    ])  # fmt: skip
    return [end if end is DONT_CARE else next(found) for end in ends]


def _optional_ends(ends: Sequence[Any]) -> Sequence[Any]:
    flags, values = zip(*[apart_from_none(end) for end in ends], strict=True)
    values = alike_but_for_none(values)
    known = [value for value in values if value is not DONT_CARE]
    if not known:  # None in all examples
        return [end if end is DONT_CARE else None for end in ends]
    model = known[0]
    nothing = tree.map_leaves(lambda leaf: DONT_CARE, model)
    return [
        end if end is DONT_CARE else OptionalValue(nothing if value is DONT_CARE else value, flag)
        for end, value, flag in zip(ends, values, flags, strict=True)
    ]


def asked(x: Any) -> Any:
    """Return what a test of x asks for: a tensor, or x or a bool, of which Python knows it."""
    kind = type(x)
    if kind is Tensor or kind is bool:
        return x
    if kind is Variant:
        return ON_VARIANTS["truth"](x)
    if concerns(x):
        found = ON_CONTENTS["truth"](x)
        return x if found is None else found
    if kind is OptionalValue:
        return both(x._flag, lambda: asked(x._value))
    tensor = traced(x)
    return own_truth(x) if tensor is None else tensor
