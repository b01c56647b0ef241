"""Python's builtins on values that are data: what they would give for each example's number.

Each is called only in the place of the builtin in a traced function, and hands plain data on.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import copy
import functools
import itertools
import operator
import queue
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import lanewise.autograph.sorting  # noqa: F401  (which replaces `sorted`)
from lanewise.autograph.calls import MAKERS, ROWS, fn, replaces, with_callbacks
from lanewise.autograph.classes import converted_by
from lanewise.autograph.cursors import ITERATING, Cursor, Cycled
from lanewise.autograph.effects import without_texts
from lanewise.autograph.iterables import counting
from lanewise.autograph.iterators import (
    CONSUMING,
    consuming,
    is_made,
    is_users,
    lists_gone_through,
    refuse_arrays,
    taking,
)
from lanewise.autograph.optional import asked
from lanewise.autograph.sequences import (
    Enumerated,
    Items,
    Mapped,
    Reversed,
    TracedRange,
    Zipped,
    as_sequence,
    has_data_length,
    is_data,
)
from lanewise.autograph.tables import Table
from lanewise.autograph.values import (
    both,
    choose,
    compares_by_data,
    either,
    ensure,
    less,
    negated,
    python_number,
    refuse_types,
    scalars,
    stand_in,
    traced,
    truth,
    truth_method,
)
from lanewise.errors import UnsupportedError, at
from lanewise.ir.dims import Dim
from lanewise.ir.location import here
from lanewise.ops.elementwise import complex_ as complex_op
from lanewise.ops.python import integer_of
from lanewise.trace.classwise import each_class
from lanewise.trace.contents import ON_CONTENTS
from lanewise.trace.data_indexing import require_whole
from lanewise.trace.mixed import as_integer
from lanewise.trace.regions import born, is_watched, note_length
from lanewise.trace.scratch import is_traced
from lanewise.trace.sizes import number_of, of_sizes, sizes
from lanewise.trace.tensor import STANDS_FOR, Tensor, as_tensor, emit, stack_nested, weak
from lanewise.trace.tensor_array import TensorArray
from lanewise.trace.trace import state
from lanewise.trace.variants import Variant
from lanewise.trace.weak import weak_kind

_INT = np.dtype(np.int64)
_MISSING: Any = object()

# --- numbers --------------------------------------------------------------------------------------


def integer(x: Tensor) -> Tensor:
    """Return the Python int that a real scalar is truncated to."""
    if x.dtype.kind == "c":
        x = x.real
    if x.dtype.kind == "f":
        return weak(emit(integer_of, x), int)
    if x.dtype == np.uint64:
        x = ensure(x, x < 2**63, OverflowError("int() of more than 63 bits while it is traced"))
    return weak(x, int)


@replaces(builtins.int)
def int_(x: Any = 0, /, *args: Any, **kwargs: Any) -> Any:
    """``int``: truncated, with Python's errors for NaN and infinity."""
    tensor = traced(x)
    if tensor is None:
        x = converted_by(x, "__int__") if not args and not kwargs else x
        tensor = traced(x)
    if tensor is None:
        return without_texts(int, "int", x, *args, **kwargs)
    refuse_types(int, x, *args, **kwargs)
    return integer(tensor)


@replaces(builtins.float)
def float_(x: Any = 0.0, /) -> Any:
    """``float``."""
    tensor = traced(x)
    if tensor is None:
        x = converted_by(x, "__float__")
        tensor = traced(x)
    if tensor is None:
        return without_texts(float, "float", x)
    refuse_types(float, x)
    return python_number(tensor, float)


@replaces(builtins.complex)
def complex_(*args: Any, **kwargs: Any) -> Any:
    """``complex``: of one number, or of two parts."""
    if not is_traced(args) and not is_traced(kwargs):
        return without_texts(complex, "complex", *args, **kwargs)
    refuse_types(complex, *args, **kwargs)
    parts = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    real, imag = as_tensor(parts.get("real", 0)), as_tensor(parts.get("imag", 0))
    if "imag" not in parts:
        return python_number(real, complex)
    if "c" in (real.dtype.kind, imag.dtype.kind):
        real, imag = real.real - imag.imag, real.imag + imag.real
    return weak(emit(complex_op, real.astype(float), imag.astype(float)), complex)


@replaces(builtins.bool)
def bool_(x: Any = False, /) -> Any:
    """``bool``."""
    found = asked(x)
    return truth(found) if type(found) is Tensor else bool(found)


ROWS[operator.truth] = bool_


@replaces(operator.not_)
def not_(x: Any) -> Any:
    """``operator.not_``."""
    return negated(bool_(x))


@replaces(operator.index)
def index_(x: Any) -> Any:
    """``operator.index``."""
    tensor = traced(x)
    if tensor is None:
        return operator.index(x)
    refuse_types(operator.index, x)
    return integer(tensor)


# --- sequences ------------------------------------------------------------------------------------


@replaces(builtins.range)
def range_(*args: Any) -> Any:
    """``range``: of ends that may be data."""
    args = tuple([STANDS_FOR[Variant](x) if type(x) is Variant else x for x in args])
    if not any([traced(x) is not None for x in args]):
        return range(*args)
    problem = "'float' object cannot be interpreted as an integer"
    args = tuple([as_integer(x, TypeError(problem)) for x in args])
    refuse_types(range, *args)
    bounds = [x if traced(x) is None else weak(traced(x), int) for x in args]
    return TracedRange(0, bounds[0]) if len(bounds) == 1 else TracedRange(*bounds)


@replaces(builtins.enumerate)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``: of what has positions, from a number on that may be data."""
    first, items = traced(start), as_sequence(iterable)
    if first is not None:
        refuse_types(enumerate, (), start)
        start = weak(first, int)
    elif items is None or type(start) is not int:
        return enumerate(iterable, start)
    if items is None:
        return ((start + i, item) for i, item in enumerate(iterable))
    return Cursor(Enumerated(items, start))


def _positions(iterables: Sequence[Any]) -> list[Items] | None:
    """Return what all of these are gone through by position, None where one has none."""
    found = [as_sequence(x) for x in iterables]
    return [x for x in found if x is not None] if found and None not in found else None


@replaces(builtins.zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip``: of what has positions."""
    parts = _positions(iterables)
    if parts is None or (strict and not any(map(is_data, iterables))):
        return zip(*iterables, strict=strict)
    return Cursor(Zipped(parts, strict))


@replaces(builtins.map)
def map_(function: Any, *iterables: Any, **options: Any) -> Any:
    """``map``: of what has positions."""
    parts = None if options else _positions(iterables)
    if parts is None:
        return map(function, *iterables, **options)
    return Cursor(Mapped(function, Zipped(parts)))


@replaces(builtins.reversed)
def reversed_(items: Any) -> Any:
    """``reversed``: of what has positions."""
    gone_through = items.items if type(items) is Cursor else items
    if isinstance(gone_through, ITERATING):
        raise TypeError(f"'{gone_through.stands_for}' object is not reversible")
    whole = as_sequence(items)
    return reversed(items) if whole is None else Cursor(Reversed(whole))


@replaces(builtins.iter)
def iter_(*args: Any) -> Any:
    """``iter``: of what has positions, of which data may tell where it stands."""
    items = as_sequence(args[0]) if len(args) == 1 else None
    return iter(*args) if items is None else Cursor(items)


@replaces(itertools.count)
def count_(start: Any = 0, step: Any = 1) -> Any:
    """``itertools.count``, of which data may tell how many numbers were taken."""
    numbers = as_sequence(counting(start, step))
    return born(itertools.count(start, step) if numbers is None else Cursor(numbers))


@replaces(itertools.cycle)
def cycle_(items: Any, /) -> Any:
    """``itertools.cycle``, of which data may tell how many items were taken."""
    is_known = type(items) in (list, tuple, range) and not is_data(items)
    return born(Cursor(Cycled(items)) if is_known else itertools.cycle(items))


def size_of(x: Any, name: str) -> Any:
    """``x.shape``, ``x.size`` or ``x.nbytes``, with sizes as numbers."""
    if type(x) is Tensor:
        require_whole(x)
    return sizes(getattr(x, name))


def _with_sizes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of an array whose results hold sizes as numbers."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) is Tensor:
                require_whole(x)
        return sizes(function(*args, **kwargs))

    return call


@replaces(builtins.len)
def len_(x: Any) -> Any:
    """``len``: of ranges and arrays of a length that is data too."""
    tensor = traced(x)
    if tensor is not None and tensor.shape:
        require_whole(tensor)
        return number_of(tensor.shape[0])
    if type(x) is list:
        note_length(x)
    if isinstance(x, (TensorArray, Items)):
        return x.length
    length = getattr(type(x), "__len__", None)
    return fn(length)(x) if hasattr(length, "__code__") else len(x)


for _function in (np.shape, np.size):
    ROWS[_function] = _with_sizes(ROWS[_function])


@replaces(builtins.next)
def next_(iterator: Any, *default: Any) -> Any:
    """``next``: of Python's own iterators not where the data decide whether it happens."""
    if is_users(iterator):
        return ON_CONTENTS["next"](iterator, *default)
    taking(iterator)
    if state.has_contents:
        refuse_arrays(lists_gone_through(iterator))
    return next(iterator, *default)


@replaces(builtins.list)
def list_(*args: Any) -> list[Any]:
    """``list``: of a length that is data too."""
    if args and has_data_length(args[0]):
        return ON_CONTENTS["listed"](list, *args)
    return list(*args)


@replaces(builtins.filter)
def filter_(function: Any, iterable: Any) -> Any:
    """``filter``: a list where data decide which elements there are."""
    is_followed = is_data(iterable)
    if type(iterable) in (list, tuple) and not is_followed:
        is_asked = function is None and any([truth_method(x) for x in iterable])
        is_followed = is_asked or is_traced(iterable)
    if is_followed:
        return iter_(ON_CONTENTS["filtered"](function, iterable))
    return filter(function, iterable)


def _born_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result belongs to the region in which it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return born(result) if not args or is_made(result, args[0]) else result

    return call


# --- reductions -----------------------------------------------------------------------------------


@replaces(builtins.sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    """``sum``: of the rows of an array at once."""
    if isinstance(iterable, TracedRange):
        return start + iterable.total()
    tensor = traced(iterable)
    if tensor is None or not tensor.ndim:
        return sum(iterable, start)
    return _sum_of_rows(tensor, start)


@each_class
def _sum_of_rows(tensor: Any, start: Any) -> Any:
    example = tensor.dtype.type(1) if tensor.ndim == 1 else np.ones(1, tensor.dtype)
    dtype = (stand_in(start) + example).dtype  # what adding one by one gives
    total = np.sum(tensor, axis=0, dtype=dtype)
    return total if type(start) is int and start == 0 else start + total


def _quantifier(name: str, combine: Callable[..., Any], settles: bool) -> Callable[..., Any]:
    plain = getattr(builtins, name)

    def call(iterable: Any, /) -> Any:
        tensor = traced(iterable)
        if tensor is not None and tensor.ndim == 1:
            return weak(getattr(np, name)(tensor), bool)
        is_known = isinstance(iterable, (list, tuple)) and not is_traced(iterable)
        if is_known and not any([truth_method(x) for x in iterable]):
            return plain(iterable)
        result: Any = not settles
        for item in iterable:
            result = combine(result, lambda item=item: bool_(item))
            if result is settles:
                break
        return result

    call.__name__ = name
    return call


any_ = replaces(builtins.any)(_quantifier("any", either, True))
all_ = replaces(builtins.all)(_quantifier("all", both, False))


def _extreme(name: str, is_better: Callable[[Any, Any], Any], far: float) -> Callable[..., Any]:
    plain = getattr(builtins, name)
    ufunc = np.maximum if name == "max" else np.minimum

    def call(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
        options = {} if default is _MISSING else {"default": default}
        if len(args) != 1:
            items: Any = args
            if not args or options:
                return plain(*args, key=key, **options)
        else:
            tensor = traced(args[0])
            if tensor is not None and tensor.ndim == 1 and key is None:
                if isinstance(tensor.shape[0], Dim) and options:
                    raise UnsupportedError(
                        f"{name}() with default= of an array of a length that is data{at(here())}: "
                        f"write np.{name}(x, initial=...), or a loop"
                    )
                if isinstance(tensor.shape[0], Dim) or tensor.shape[0] != 0:
                    return _best_of_row(tensor)
            items = list(args[0])
        keys = items if key is None else [key(item) for item in items]
        if not compares_by_data(*keys):
            if key is None or not items:
                return plain(items, **options)
            return items[plain(range(len(items)), key=keys.__getitem__)]
        if len(items) > 4 and scalars(keys):
            table = Table(keys)
            place = _best_place(as_tensor(table.column))
            return table.at(place) if key is None else Table(items, _ITEMS).at(place)
        best, at_best = items[0], keys[0]
        for item, own in zip(items[1:], keys[1:], strict=True):
            size = of_sizes(ufunc, (best, own)) if key is None else None
            if size is not None:
                best = at_best = size
                continue
            if key is None and weak_kind(best) is weak_kind(own) is int:
                found = ufunc(best, own)
                best = at_best = weak(found, int) if isinstance(found, Tensor) else int(found)
                continue
            better = _decided(ufunc, own, at_best)
            if better is None:
                better = is_better(own, at_best)
            best = choose(better, item, best, f"the result of {name}()")
            at_best = best if key is None else choose(better, own, at_best, "a key")
        return best

    def _best_of_row(x: Tensor) -> Tensor:
        if x.dtype.kind in "biu":
            return getattr(np, name)(x)
        if x.dtype.kind == "c":
            return call(*x) if len(x) > 1 else x[0]
        return x[_best_place(x)]

    def _best_place(x: Tensor) -> Tensor:
        """The first that no other is better than, as Python finds it: NaN is better than none."""
        place = getattr(np, f"arg{name}")
        if x.dtype.kind != "f":
            return place(x)
        is_nan = np.isnan(x)
        return np.where(is_nan[0], 0, place(np.where(is_nan, far, x)))

    call.__name__ = name
    return call


def _decided(ufunc: np.ufunc, x: Any, y: Any) -> bool | None:
    """Whether x is greater (less) than y, where y or x is a literal beyond the other's dtype."""
    for sign, own, other in ((1, x, y), (-1, y, x)):
        tensor = traced(other)
        if type(own) not in (int, float) or tensor is None or tensor._weak is not None:
            continue
        if tensor.shape or tensor.dtype.kind not in "iu" or own != own:
            continue
        info = np.iinfo(tensor.dtype)
        if not info.min <= own <= info.max:
            return (own > info.max) is ((ufunc is np.maximum) is (sign == 1))
    return None


_ITEMS = "what min() or max() with a key chooses from"
min_ = replaces(builtins.min)(_extreme("min", less, np.inf))
max_ = replaces(builtins.max)(_extreme("max", lambda x, y: less(y, x), -np.inf))


# --- what calls back, and what writes -------------------------------------------------------------

for _places, _functions in (
    ((0,), (builtins.map, builtins.filter, functools.reduce)),
    ((0,), (itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.filterfalse)),
    ((1,), (itertools.accumulate, itertools.groupby)),
    ((), (builtins.min, builtins.max, builtins.sorted)),
):
    for _function in _functions:
        ROWS[_function] = with_callbacks(ROWS.get(_function, _function), _places)

# What makes a list, dict, set or iterator: in a branch or loop body, one of its own.
for _function in (
    builtins.list, builtins.dict, builtins.set, builtins.iter, builtins.map, builtins.filter,
    builtins.zip, builtins.enumerate, builtins.reversed, collections.deque,
    collections.defaultdict, collections.OrderedDict, collections.Counter, copy.copy,
):  # fmt: skip
    ROWS[_function] = _born_result(ROWS.get(_function, _function))


@replaces(builtins.chr)
def chr_(i: Any) -> str:
    """``chr(i)``: refused for data, as there is no traced text."""
    if is_traced(i):
        raise UnsupportedError(
            f"chr() of a traced value{at(here())}: there is no traced text. Compare the code "
            "itself, with ord('e'), or `in` a text's codes, b'eE'"
        )
    return builtins.chr(i)


def _searching(function: Any, side: str) -> None:
    """Follow a search of `bisect` in sorted numbers."""

    @replaces(function)
    def search(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
        if not is_traced((a, x, lo, hi)):
            return function(a, x, lo, hi, key=key)
        if key is not None or is_traced((lo, hi)):
            raise UnsupportedError(
                f"bisect with a key, or with bounds that are data{at(here())}. Use np.searchsorted"
            )
        items = as_tensor(stack_nested(a) if is_traced(a) else np.asarray(a))
        return weak(np.searchsorted(items[lo:hi], x, side) + lo, int)


_searching(bisect.bisect_left, "left")
_searching(bisect.bisect_right, "right")


@replaces(copy.deepcopy)
def deepcopy_(x: Any, memo: Any = None) -> Any:
    """``copy.deepcopy``: all that is copied belongs to the region."""
    known = {} if memo is None else memo
    result = copy.deepcopy(x, known)
    if is_watched():
        for made in known.values():
            born(made)
    return result


for _function in CONSUMING:
    ROWS[_function] = consuming(_function, ROWS.get(_function, _born_result(_function)))


@replaces(
    queue.Queue.get, queue.Queue.get_nowait, queue.Queue.qsize, queue.Queue.empty, queue.Queue.full
)
def _asked_of_a_queue(*args: Any, **kwargs: Any) -> NoReturn:
    """``queue.qsize()`` and the like: refused, as what is put there is put when examples run."""
    raise UnsupportedError(
        f"a queue is asked what is in it{at(here())}, while what a traced function puts there is "
        "put when the examples run. Use collections.deque"
    )


def _method_caller(caller: Any) -> Any:
    """Return what ``operator.methodcaller(name, ...)`` does."""
    make, args = caller.__reduce__()
    known = make if isinstance(make, functools.partial) else functools.partial(make)
    name, *given = (*known.args, *args)
    return lambda owner: fn(getattr(owner, name))(*given, **known.keywords)


MAKERS[operator.methodcaller] = _method_caller
