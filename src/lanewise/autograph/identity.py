"""``is`` and ``id()``: whether two values are one object, which the data may decide.

A value that stands for one of several objects, as the data choose, is an object of its own here.
Where it may be the other one nobody knows, and code that asks is refused.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from lanewise.autograph.calls import replaces
from lanewise.autograph.instances import may_be_one_of_joined
from lanewise.autograph.optional import apart_from_none, may_be_missing
from lanewise.autograph.state import bare
from lanewise.autograph.values import both, either, negated
from lanewise.errors import ConcretizationError, at
from lanewise.ir.dims import differ
from lanewise.ir.location import here
from lanewise.ops.elementwise import where
from lanewise.ops.facts import Kind
from lanewise.trace.contents import Chosen, chosen_by
from lanewise.trace.lending import refuse_unknown
from lanewise.trace.mixed import bare as of_one_class
from lanewise.trace.mixed import is_one_of
from lanewise.trace.provenance import is_given, maker_of, source_of
from lanewise.trace.regions import Watched, in_region, is_made_here, twins
from lanewise.trace.tensor import Tensor, weak
from lanewise.trace.trace import require_trace
from lanewise.trace.tree import can_change
from lanewise.trace.variants import ON_VARIANTS, Variant

#: What operations of these kinds give is a new array in each example.
_NEW = {Kind.SOURCE, Kind.ELEMENTWISE, Kind.ALONG, Kind.REDUCTION, Kind.CONTRACTION, Kind.MATRIX}


@replaces(operator.is_)
def is_(first: Any, second: Any) -> Any:
    """``first is second``: of data where they are None, or Python's True and False.

    Raises
    ------
    ConcretizationError
        If the data decide whether they are one array, number, list, dict or object.
    """
    refuse_unknown(first, second)
    if first is second:
        return True
    if type(first) is Variant:
        return ON_VARIANTS["is"](first, second)
    if type(second) is Variant:
        return ON_VARIANTS["is"](second, first)
    if may_be_missing(first) or may_be_missing(second):
        (one, x), (other, y) = apart_from_none(first), apart_from_none(second)
        x, y = [bare(held) if type(held) is Tensor else held for held in (x, y)]
        neither = both(negated(one), lambda: negated(other))
        return either(neither, lambda: both(both(one, lambda: other), lambda: is_(x, y)))
    are_bools = Tensor in (type(first), type(second)) and both(
        _is_bool(first), lambda: _is_bool(second)
    )
    if are_bools is False:
        if _may_be_one(first, second):
            raise ConcretizationError(
                f"the data decide whether two values are one object{at(here())}. Compare what they "
                "hold by ==, or keep an index of what is chosen beside it, and compare these"
            )
        return False
    same = np.equal(of_one_class(first), of_one_class(second))
    return both(are_bools, lambda: weak(same, bool))


@replaces(operator.is_not)
def is_not(first: Any, second: Any) -> Any:
    """``first is not second``."""
    return negated(is_(first, second))


@replaces(builtins.id)
def id_(obj: Any, /) -> int:
    """``id``: of what is the same object in each example.

    Raises
    ------
    ConcretizationError
        If the data decide which object it is.
    """
    if may_be_missing(obj) or type(obj) is Variant or _is_chosen(obj):
        raise ConcretizationError(
            f"id() of a value{at(here())}, while the data decide which object it is. Keep an index "
            "of what is chosen beside it, and compare these"
        )
    return id(obj)


ON_VARIANTS["are one"] = is_


def _is_bool(x: Any) -> Any:
    """Whether x is True or False of Python's: known, or a bool that is data."""
    return is_one_of(x, lambda each: each.weak is bool) if type(x) is Tensor else type(x) is bool


def _may_be_one(first: Any, second: Any) -> bool:
    """Whether two values may be one object in some example."""
    first, second = chosen_by(first), chosen_by(second)
    kinds = type(first), type(second)
    if Tensor in kinds:
        one, other = (first, second) if kinds[0] is Tensor else (second, first)
        return _may_be_array(one, other) if type(other) in _ARRAYS else _may_be_number(one, other)
    if any([issubclass(kind, Chosen) for kind in kinds]):
        return all([issubclass(kind, (Chosen, list)) for kind in kinds])
    if kinds[0] is not kinds[1]:
        return False
    if isinstance(first, tuple):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all([x is y or _may_be_one(x, y) for x, y in pairs])
    if may_be_one_of_joined(first, second):
        return True
    return can_change(first) and any(
        [_is_copy(x) and not is_made_here(y) for x, y in ((first, second), (second, first))]
    )


def _is_copy(container: Any) -> bool:
    """Whether it is an argument's copy: several may be one object, or known by other names."""
    trace = require_trace("is").outermost()
    return isinstance(trace, Watched) and id(container) in trace.given


#: Classes of what may be the array, or scalar of NumPy's, that a tensor stands for.
_ARRAYS = (Tensor, np.ndarray, *np.sctypeDict.values())


def _may_be_array(tensor: Tensor, other: Any) -> bool:
    """Whether a tensor may be another one, or an array that is known."""
    if tensor.ndim != other.ndim or any(map(differ, tensor._type.shape, other.shape)):
        return False
    if tensor.dtype == other.dtype == np.bool_ and not tensor.ndim:
        return True  # there are two of NumPy's
    if type(other) is not Tensor:
        return tensor._weak is None and not _is_new(tensor)
    if tensor._mixed is None and other._mixed is None and tensor._weak is not other._weak:
        return False
    # What is new here may be what stands for several, but not what was there before.
    are_new = [_is_new(x) for x in (tensor, other)]
    return not (all(are_new) or (any(are_new) and (is_given(tensor) or is_given(other))))


def _may_be_number(tensor: Tensor, other: Any) -> bool:
    """Whether a tensor may be a number of Python's: small integers are one object each."""
    if tensor._mixed is None and tensor._weak is not type(other):
        return False
    return type(other) is int or not _is_new(tensor)


def _is_new(tensor: Tensor) -> bool:
    """Whether a tensor is what an operation has computed, and nothing that it stands for."""
    made, source = maker_of(tensor), source_of(tensor)
    if source is None:  # a view of what was given, which is none that a loop carries
        return made is not None and not in_region()
    return source.primitive.kind in _NEW and source.primitive is not where


def _is_chosen(obj: Any) -> bool:
    """Whether something may be one or another object."""
    if type(obj) is Tensor:
        return not (_is_new(obj) or is_given(obj))
    return isinstance(chosen_by(obj), Chosen) or (
        can_change(obj) and (bool(twins(obj)) or _is_copy(obj))
    )
