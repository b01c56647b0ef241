"""Python's view of values that are data: their types, equality, order and choice.

A tensor without dimensions stands for a NumPy scalar, or (weakly) for a Python number; any other
for an array. The functions here give a plain answer where they can, and a tensor where the answer
is data.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partialmethod
from types import FunctionType
from typing import Any

import numpy as np

from lanewise.autograph.aliases import one_of, settle
from lanewise.autograph.instances import Instance
from lanewise.autograph.state import is_same, join_kinds, kind_among, kind_of, value_of, widened
from lanewise.autograph.state import tensor_of as of_kind
from lanewise.autograph.templates import Templates
from lanewise.errors import ConcretizationError, at
from lanewise.ir.location import here
from lanewise.ops.elementwise import where
from lanewise.trace import tree
from lanewise.trace.contents import ON_CONTENTS, Chosen, concerns, is_keyed
from lanewise.trace.lending import refuse_unknown
from lanewise.trace.mixed import CHOOSE, code_among, note_mixed
from lanewise.trace.regions import born, note_twin_of
from lanewise.trace.scratch import Scratch, is_traced
from lanewise.trace.table.checks import checked, of_truth
from lanewise.trace.tensor import Tensor, read, tensor_of, weak
from lanewise.trace.trace import require_trace, state
from lanewise.trace.variants import ON_VARIANTS, Variant, can_be_one


def traced(x: Any) -> Tensor | None:
    """Return the tensor that x is, or that a lifted scratch array holds; None for plain data."""
    kind = type(x)
    if kind is Tensor:
        return x
    return tensor_of(x) if issubclass(kind, Scratch) else None


# --- what a tensor stands for ---------------------------------------------------------------------


def stand_in(x: Any) -> Any:
    """Return a number or array of ones of the type that the tensor has in plain Python."""
    tensor = traced(x)
    if tensor is None:
        return x
    if tensor._weak is not None:
        return tensor._weak(1)
    is_scalar = not tensor.shape and tensor._view is None and tensor is x
    return _example(tensor.dtype, tensor.ndim, is_scalar)


@lru_cache(maxsize=256)
def _example(dtype: np.dtype, rank: int, is_scalar: bool) -> Any:
    return dtype.type(1) if is_scalar else np.ones((2,) * rank, dtype)


def refuse_types(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Raise the `TypeError` that a function raises for arguments of these types, if it does."""
    with suppress(ValueError, ArithmeticError):  # because of the ones
        function(*map(stand_in, args), **{name: stand_in(x) for name, x in kwargs.items()})


def python_number(x: Any, kind: type) -> Tensor:
    """Return the Python number of a kind that a scalar tensor is converted to."""
    return weak(x.real if kind is not complex and x.dtype.kind == "c" else x, kind)


def ensure(x: Any, ok: Any, problem: Exception) -> Any:
    """Return x, which stays a Python number if it is one; raise at run time unless `ok` holds."""
    result = checked(x, ok, problem)
    kind = getattr(x, "_weak", None)
    return result if kind is None or not isinstance(result, Tensor) else weak(result, kind)


def require(ok: Any, problem: Exception) -> None:
    """Raise, now or at run time, unless `ok` holds; also where no result depends on it."""
    if isinstance(ok, Tensor):
        require_trace("a check").check(read(ok), (), Templates({}).exception(problem))
    elif not ok:
        raise problem


# --- truth and comparison -------------------------------------------------------------------------


def truth(x: Any) -> Any:
    """Return ``bool(x)``: a bool, or a tensor that stands for one."""
    tensor = traced(x)
    if tensor is not None:
        return weak(of_truth(tensor), bool)
    found = own_truth(x)
    return found if type(found) is Tensor else bool(found)


def truth_method(x: Any) -> Any:
    """Return what an object's class says of its truth, or of its length; None of others'."""
    kind = type(x)
    method = getattr(kind, "__bool__", None) or getattr(kind, "__len__", None)
    is_users = type(method) is FunctionType and ON_VARIANTS["is_users"](kind)
    return method if is_users else None


def own_truth(x: Any) -> Any:
    """Return what an object's class says of its truth: a bool or a tensor; of others', x."""
    method = truth_method(x)
    if method is None:
        return x
    if not hasattr(type(x), "__bool__"):
        size = method(x)
        return compare("!=", size, 0) if traced(size) is not None else len(_Sized(size)) != 0
    found = method(x)
    if type(found) is not bool and not (type(found) is Tensor and found._weak is bool):
        name, place = type(stand_in(found)).__name__, at(here()) if type(found) is Tensor else ""
        raise TypeError(f"__bool__ should return bool, returned {name}{place}")
    return found


class _Sized:
    """Has a length that a user's method gave, which Python checks."""

    def __init__(self, size: Any) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


def both(first: Any, second: Callable[[], Any]) -> Any:
    """Return ``first and second()`` of truths, one of which may be data."""
    if not isinstance(first, Tensor):
        return second() if first else False
    other = second()
    if isinstance(other, Tensor):
        return weak(np.logical_and(first, other), bool)
    return first if other else False


def either(first: Any, second: Callable[[], Any]) -> Any:
    """Return ``first or second()`` of truths, one of which may be data."""
    if not isinstance(first, Tensor):
        return True if first else second()
    other = second()
    if isinstance(other, Tensor):
        return weak(np.logical_or(first, other), bool)
    return True if other else first


def negated(x: Any) -> Any:
    """Return ``not x`` of a truth, which may be data."""
    return weak(np.logical_not(x), bool) if isinstance(x, Tensor) else not x


def equal(first: Any, second: Any) -> Any:
    """Return ``first is second or first == second``, which is how containers compare."""
    if first is second:
        return True
    if Variant in (type(first), type(second)):
        return truth(_of_variants("==", first, second))
    if _are_sequences(first, second):
        return len(first) == len(second) and _all_equal(zip(first, second, strict=True))
    if _are_dicts(first, second):
        is_alike = first.keys() == second.keys()
        return is_alike and _all_equal([(x, second[key]) for key, x in first.items()])
    if _are_equal_if_one(first, second):
        return ON_VARIANTS["are one"](first, second)
    return truth(first == second)


def _are_equal_if_one(first: Any, second: Any) -> bool:
    """Whether two objects are equal if they are one, as their class says nothing of it."""
    kind = type(first)
    return kind is type(second) and kind.__eq__ is object.__eq__ and state.trace is not None


#: A comparison, seen from its other side.
_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _of_variants(symbol: str, first: Any, second: Any) -> Any:
    """Compare two values, one of which is one of several objects."""
    if type(first) is not Variant:
        first, second, symbol = second, first, _MIRRORED[symbol]
    return ON_VARIANTS[symbol](first, second)


def _can_be(x: Any) -> bool:
    return type(x) is Variant or can_be_one(x)


def _all_equal(pairs: Iterable[tuple[Any, Any]]) -> Any:
    result: Any = True
    for x, y in pairs:
        result = both(result, lambda x=x, y=y: equal(x, y))
        if result is False:
            break
    return result


def less(first: Any, second: Any) -> Any:
    """Return ``first < second``, of tuples and lists too."""
    if not _are_sequences(first, second):
        return truth(first < second)
    result: Any = len(first) < len(second)
    found: list[tuple[Any, Any, Any, Any]] = []
    are_same: Any = True  # all up to here
    for x, y in zip(first, second, strict=False):
        try:
            same = equal(x, y)
        except ValueError as error:  # of arrays, which Python may never come to
            if are_same is True:
                raise
            require(negated(are_same), error)
            break
        if same is not True:
            found.append((are_same, same, x, y))
        are_same = both(are_same, lambda same=same: same)
        if are_same is False:
            break
    for is_asked, same, x, y in reversed(found):
        try:
            if isinstance(is_asked, Tensor) and Variant in (type(x), type(y)):
                sides = [lambda x=x, y=y: less(x, y), lambda: False]
                is_less = CHOOSE[0](read(is_asked), sides)
            else:
                is_less = less(x, y)
        except TypeError as error:  # of objects, which Python may never come to
            if is_asked is True:
                raise
            require(negated(is_asked), error)
            is_less = False
        result = choose(same, result, is_less) if isinstance(same, Tensor) else is_less
    return result


def compare(symbol: str, first: Any, second: Any) -> Any:
    """Return ``first < second`` and the like of what may be lists or tuples."""
    if is_keyed(first) or is_keyed(second):
        return ON_CONTENTS["compare"](symbol, first, second)
    is_equality = symbol in ("==", "!=")
    if Variant in (type(first), type(second)):
        found = _of_variants("==" if is_equality else symbol, first, second)
        return negated(found) if symbol == "!=" else found
    if is_equality and (concerns(first) or concerns(second)):
        same = ON_CONTENTS["equal"](first, second)
        return same if symbol == "==" else negated(same)
    if not (_are_sequences(first, second) or (is_equality and _are_dicts(first, second))):
        if is_equality and _are_equal_if_one(first, second):
            is_it = ON_VARIANTS["are one"](first, second)
            return is_it if symbol == "==" else negated(is_it)
        if symbol == "!=" and (differ := _unequal(first, second)) is not None:
            return differ
        return COMPARISONS[symbol](first, second)
    match symbol:
        case "==":
            return equal(first, second)
        case "!=":
            return negated(equal(first, second))
        case "<" | "<=":
            result = less(first, second)
        case _:
            result = less(second, first)
    return either(result, lambda: equal(first, second)) if symbol[1:] else result


def _unequal(first: Any, second: Any) -> Any:
    """Return ``first != second`` where its class has no more than ``==``; None otherwise."""
    kind = type(first)
    if kind.__ne__ is not object.__ne__ or type(kind.__eq__) is not FunctionType:
        return None
    same = kind.__eq__(first, second)
    return None if same is NotImplemented else negated(truth(same))


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _are_sequences(first: Any, second: Any) -> bool:
    if isinstance(first, tuple):
        return isinstance(second, tuple) and compares_by_data(first, second)
    if isinstance(first, Chosen) or isinstance(second, Chosen):
        return isinstance(first, (list, Chosen)) and isinstance(second, (list, Chosen))
    if isinstance(first, list):
        return isinstance(second, list) and compares_by_data(first, second)
    return False


def compares_by_data(*values: Any) -> bool:
    """Whether how some of these compare may be data: they hold some, or what users' code orders."""
    return is_traced(values) or _is_ordered_by_code(values)


def _is_ordered_by_code(values: Any) -> bool:
    kinds = set(map(type, values))
    if any([is_ordered_by_code(kind) for kind in kinds]):
        return True
    nested = kinds & {list, tuple}
    return bool(nested) and any([type(x) in nested and _is_ordered_by_code(x) for x in values])


def is_ordered_by_code(kind: type) -> bool:
    """Whether a user's code says what objects of a class are equal to, or less than."""
    if kind is Variant or kind is Ordered:
        return True
    is_function = FunctionType in (type(kind.__eq__), type(kind.__lt__))
    return is_function and ON_VARIANTS["is_users"](kind)


class Ordered:
    """What `functools.cmp_to_key` makes a key of: it is less than another as a function says."""

    __slots__ = ("compared", "x")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, compared: Callable[[Any, Any], Any], x: Any) -> None:
        self.compared, self.x = compared, x

    def _is(self, symbol: str, other: Ordered) -> Any:
        return compare(symbol, self.compared(self.x, other.x), 0)

    __eq__ = partialmethod(_is, "==")  # type: ignore[assignment]
    __lt__, __le__ = partialmethod(_is, "<"), partialmethod(_is, "<=")
    __gt__, __ge__ = partialmethod(_is, ">"), partialmethod(_is, ">=")


def _are_dicts(first: Any, second: Any) -> bool:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    if type(first).__eq__ is not dict.__eq__ or type(second).__eq__ is not dict.__eq__:
        return False  # of `collections.Counter` and their like, which compare otherwise
    return is_traced(first) or is_traced(second)


# --- choice ---------------------------------------------------------------------------------------

_SIDES = ("on one side", "on the other")


def choose(condition: Any, first: Any, second: Any, name: str = "the result") -> Any:
    """Return ``first if condition else second`` of numbers, arrays and tuples or lists of them.

    Raises
    ------
    ConcretizationError
        If what is to be chosen is no data, and not the same.
    """
    if not isinstance(condition, Tensor):
        return first if condition else second
    if first is second:
        return first
    kinds = [kind_of(_held(first)), kind_of(_held(second))]
    if any([kind is None or kind.is_tag for kind in kinds]):
        if _can_be(first) and _can_be(second):
            if is_same(first, second):
                return first
            kinds = [kind_among(first), kind_among(second)]
        else:
            kinds = [None]
    if None not in kinds:
        kind = widened(join_kinds(name, kinds[0], kinds[1], _SIDES), (first, second))
        operands = [value_of(_held(x), kind) for x in (first, second)]
        trace = require_trace("a choice")
        (value,) = trace.record(where, (read(condition), *operands), {})
        result = of_kind(value, kind)
        if kind.shape:  # it is written to, or one of them is
            return one_of(result, [settle(second), settle(first)], condition, name)
        if kind.mixed is None:
            return result
        codes = [code_among(_held(x), kind.mixed) for x in (first, second)]
        (code,) = trace.record(where, (read(condition), *codes), {})
        return note_mixed(result, kind.mixed, Tensor(trace, code))
    if type(first) is type(second) and isinstance(first, (list, tuple)):
        if len(first) == len(second):
            pairs = zip(first, second, strict=True)
            made = rebuilt(first, [choose(condition, x, y, name) for x, y in pairs])
            return _stands_for(made, first, second, name) if isinstance(made, list) else made
    elif type(first) is type(second) is dict and list(first) == list(second):
        if not (is_keyed(first) or is_keyed(second)):
            chosen = {key: choose(condition, x, second[key], name) for key, x in first.items()}
            return _stands_for(chosen, first, second, name)
    elif type(first) is type(second) and _is_frozen(first):
        own, others = tree.children_of(first) or {}, tree.children_of(second) or {}
        if own.keys() == others.keys():
            chosen = {key: choose(condition, x, others[key], name) for key, x in own.items()}
            return tree.with_children(first, chosen)
    elif type(first) is type(second) and _is_plain_equal(first, second):
        return first
    refuse_unknown(first, second)
    raise ConcretizationError(
        f"{name} would be {_described(first)} or {_described(second)}, depending on the data"
        f"{at(here())}. Only numbers, arrays, and tuples and lists of them can be chosen by data"
    )


def _is_frozen(x: Any) -> bool:
    """Whether it is an object of a dataclass that nobody can change."""
    kind = type(x)
    return hasattr(kind, "__dataclass_fields__") and kind.__dataclass_params__.frozen


def _stands_for(made: Any, first: Any, second: Any, name: str) -> Any:
    """Return a list or dict that was made to stand for one of two others."""
    note_twin_of(born(made), (first, second), name)
    return made


def rebuilt(like: Any, parts: list[Any]) -> Any:
    """Return a list or (named) tuple of other parts."""
    if type(like) in (list, tuple):
        return type(like)(parts)
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


def _held(x: Any) -> Any:
    tensor = traced(x)
    return x if tensor is None else tensor


def _is_plain_equal(first: Any, second: Any) -> bool:
    return isinstance(first, (str, bytes, type(None))) and first == second


def _described(x: Any) -> str:
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    x = x.object if type(x) is Instance else x
    return repr(x) if isinstance(x, (str, type(None))) else f"a {type(x).__name__}"


def scalars(items: Sequence[Any]) -> bool:
    """Whether all are real numbers: plain, or scalars that are data."""
    for x in items:
        kind = kind_of(_held(x))
        if kind is None or kind.is_tag or kind.shape or kind.dtype.kind == "c":
            return False
    return True
