"""What converted code calls in place of a function: `fn`.

A user's function is converted; a builtin, a function of `math` or of NumPy that would not follow
data is replaced by one that does (`ROWS`); a method that changes a list, dict or set is logged
where a branch or loop body is traced. Everything else is called as it is.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from abc import ABCMeta
from collections.abc import Callable, Collection
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.polynomial._polybase import ABCPolyBase

from lanewise.autograph.advice import without_data
from lanewise.autograph.convert import convert, is_converted
from lanewise.autograph.effects import Catching, followed, followed_class, followed_stream
from lanewise.autograph.enumerations import followed_members
from lanewise.autograph.following import Following
from lanewise.autograph.foreign import guarded, refuse_writing
from lanewise.autograph.iterators import begun
from lanewise.autograph.known_calls import EFFECTS, is_library, name_of
from lanewise.autograph.orders import OF_TOTAL_ORDERING, of_dataclass
from lanewise.autograph.reached import know_reached
from lanewise.autograph.state import DONT_CARE
from lanewise.ir.location import is_own_file
from lanewise.trace.classwise import WRITING_TO_FIRST
from lanewise.trace.constructors import CONSTRUCTORS, as_array, scratch_method
from lanewise.trace.contents import ON_CONTENTS
from lanewise.trace.limits import check_time
from lanewise.trace.regions import (
    Aside,
    Continuation,
    bear_fields,
    born,
    in_region,
    is_watched,
    note_array,
    note_attribute,
)
from lanewise.trace.scratch import Scratch, is_traced, unwrapped
from lanewise.trace.tensor import TABLE, Tensor, implement
from lanewise.trace.trace import Stop, state
from lanewise.trace.variants import ON_VARIANTS

F = TypeVar("F", bound=Callable[..., Any])

#: What is called in place of a function or class of Python's, of its library, or of NumPy.
ROWS: dict[Any, Callable[..., Any]] = {}
#: By class and name, what makes the replacement of a method of such an object, given the method.
METHODS: dict[type, dict[str, Callable[[Any], Any]]] = {}
#: Classes of which those methods are replaced outside of branches and loops too.
OUTSIDE: set[type] = set()
#: By the code, or class, of what decorators of Python's or NumPy's make of functions: what makes
#: what is called in its place.
DECORATED: dict[Any, Callable[[Any], Any]] = {}
#: What the free variable ``ag__`` of converted code is bound to.
HOOKS: list[Any] = []


def replaces(*functions: Any) -> Callable[[F], F]:
    """Make the decorated function what is called in place of these."""

    def enter(replacement: F) -> F:
        for function in functions:
            ROWS[function] = replacement
        return replacement

    return enter


def fn(f: Any, is_first: bool = False) -> Any:
    """Return what to call in place of `f`: where nothing is traced, `f` itself.

    ``is_first`` says that arguments are yet to be computed, by other calls.
    """
    if state.trace is None:
        return f
    check_time()
    kind = type(f)
    if kind is MethodType and type(f.__self__) is Tensor:  # most calls of all, so asked first
        is_list = f.__name__ == "tolist"
        return functools.partial(ON_CONTENTS["tolist"], f.__self__) if is_list else f
    found = MAKERS.get(kind, _other)(f)
    if state.has_contents or is_first:
        found = ON_CONTENTS["call"](f, found)
    trace = state.trace
    kind = type(trace)
    if kind is Aside or kind is Continuation:
        operand = _operand()
        if type(operand) is Aside and not operand.is_called:
            return functools.partial(_until_stop, found)
    return found


def _operand() -> Any:
    """Return the region that the innermost continuations stand in."""
    trace = state.trace
    while type(trace) is Continuation:
        trace = trace.parent
    return trace


#: Whether an exception ends the recording of a region (`lanewise.autograph.branches.stops`).
STOPS: list[Callable[[BaseException, Any], bool]] = []


def _until_stop(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function in an operand of an expression; if it always raises, so does the operand."""
    region = _operand()
    assert isinstance(region, Aside)
    if region.has_stopped:
        return DONT_CARE
    region.is_called = True
    try:
        return f(*args, **kwargs)
    except (Stop, Exception) as error:
        if not STOPS[0](error, region):
            raise
        assert _operand() is region
        region.has_stopped = True
        return DONT_CARE
    finally:
        region.is_called = False


# --- Python functions -----------------------------------------------------------------------------

#: By the id of a code object, as long as that lives: whether its functions stay as they are.
_codes: dict[int, tuple[ref[CodeType], bool]] = {}
#: By the id of a function without closure: what it was when it was converted, and the result.
_converted: dict[int, tuple[Any, ...]] = {}


def _stays(code: CodeType) -> bool:
    known = _codes.get(id(code))
    return _remember(code, is_own_file(code.co_filename)) if known is None else known[1]


def _remember(code: CodeType, stays: bool) -> bool:
    key = id(code)
    _codes[key] = ref(code, lambda _: _codes.pop(key, None)), stays
    return stays


for _code in OF_TOTAL_ORDERING:
    _remember(_code, stays=False)


def _function(f: Any) -> Any:
    found = _converted_function(f)
    is_generator = f.__code__.co_flags & inspect.CO_GENERATOR
    return functools.partial(begun, found) if is_generator else found


def _converted_function(f: Any) -> Any:
    code = f.__code__
    known = _converted.get(id(f))
    if (
        known is not None
        and known[0]() is f
        and known[1] is code
        and known[2] is f.__defaults__
        and known[3] is f.__kwdefaults__
    ):
        return known[4]
    if _stays(code):
        return _library(f)
    result = _convert(f)
    # A closure may hold the function itself: kept here, it would never go away.
    if result is not f and f.__closure__ is None:
        key = id(f)
        reference = ref(f, lambda _: _converted.pop(key, None))
        _converted[key] = reference, code, f.__defaults__, f.__kwdefaults__, result
    return result


def _library(f: Any) -> Any:
    """Return what to call in place of a function that is not converted."""
    code = getattr(f, "__code__", None)
    if code is ASKING:
        return f
    if code in DECORATED:
        return DECORATED[code](f)
    if code is not None and not is_own_file(code.co_filename):
        return f  # without source: made by a dataclass, or by `exec`
    row = ROWS.get(f)
    if row is None and (f.__module__ or "").startswith("numpy.polynomial"):
        return convert(getattr(f, "_implementation", f), HOOKS[0])
    if row is None and _is_masked(f):
        return without_data(f, _INSTEAD_OF_MASKS)
    return row or followed(f) or f


_INSTEAD_OF_MASKS = "Keep the mask as an array, and use where= or np.where"


def _is_masked(f: Any) -> bool:
    """Whether a function or class is of ``numpy.ma``, which is loaded when somebody asks for it."""
    return (f.__module__ or "").startswith("numpy.ma.")


def _convert(f: Any) -> Any:
    result = convert(f, HOOKS[0])
    if result is f:
        _remember(f.__code__, True)
    else:
        know_reached(f, has_followed)
    return result


# --- what binds a function ------------------------------------------------------------------------


def _method(f: Any) -> Any:
    stream = followed_stream(f)
    if stream is not None:
        return stream
    function = f.__func__
    found = MAKERS.get(type(function), _other)(function)
    if found is not function:
        _known_class(type(f.__self__))
        return MethodType(found, f.__self__)
    if f.__name__ == "__next__":
        return functools.partial(ROWS[next], f.__self__)
    # Not converted: of the standard library, as those of `collections.Counter`, or of NumPy.
    kind = type(f.__self__)
    is_replaced = is_watched() or not OUTSIDE.isdisjoint(kind.__mro__)
    make = is_replaced and _methods_of(kind).get(f.__name__)
    return make(f) if make else guarded(f, f.__self__)


def _partial(f: Any) -> Any:
    function = fn(f.func)
    return f if function is f.func else functools.partial(function, *f.args, **f.keywords)


def _cached(f: Any) -> Any:
    """A cache knows plain arguments only; data go past it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if _hold_data(args) or _hold_data(kwargs.values()):
            return fn(f.__wrapped__)(*args, **kwargs)
        return f(*args, **kwargs)

    return call


def _hold_data(args: Any) -> bool:
    return any([is_traced((x, getattr(x, "__dict__", None))) for x in args])


def _other(f: Any) -> Any:
    """An object of any other class: a class of some metaclass, or one with ``__call__``."""
    kind = type(f)
    if isinstance(f, type):
        return _class(f)
    call = getattr(kind, "__call__", None)  # noqa: B004  (of the class: as Python looks it up)
    if isinstance(call, FunctionType):
        if kind in DECORATED:
            return DECORATED[kind](f)
        if (found := _function(call)) is call:
            return f
        _known_class(kind)
        return MethodType(found, f)
    if hasattr(f, "__wrapped__") and isinstance(f, functools._lru_cache_wrapper):
        return _cached(f)
    return followed(f) or f


# --- classes --------------------------------------------------------------------------------------

#: By class: how it is instantiated, "converted", "fresh" or "as it is".
_classes: WeakKeyDictionary[type, str] = WeakKeyDictionary()
#: Methods that Python calls for operators, which give whatever they like.
_OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift "
    "rshift".split()
    for prefix in ("", "r", "i")
) | frozenset(
    f"__{name}__"
    for name in "eq ne lt le gt ge neg pos abs invert round floor ceil trunc enter exit iter next "
    "bool str repr format float int complex index len contains hash reversed missing getattr "
    "getattribute get set delete".split()
)


def _class(cls: Any) -> Any:
    row = ROWS.get(cls)
    if row is not None:
        return row
    if _is_masked(cls):
        return without_data(cls, _INSTEAD_OF_MASKS)
    how = _known_class(cls)
    if (members := followed_members(cls)) is not None:
        return members
    if how == "converted":
        return functools.partial(_construct, cls)
    found = followed_class(cls) or cls
    if how == "fresh" and is_watched():
        return lambda *args, **kwargs: born(found(*args, **kwargs))
    return found


def _known_class(cls: type) -> str:
    """Return how a class is instantiated; see to it that its operators follow data."""
    how = _classes.get(cls)
    if how is None:
        how = _classes[cls] = _how_instantiated(cls)
        for base in cls.__mro__:
            _FOLLOWING.add(base)
    return how


def has_followed(cls: type) -> bool:
    """Whether a class is a user's; then its operators and properties follow data from now on."""
    if is_library(cls.__module__):
        return False
    _known_class(cls)
    return True


def follow_operators(cls: type) -> None:
    """See to it that the operators of a user's class follow data."""
    if _is_users(getattr(cls, "__iadd__", None)) or _is_users(getattr(cls, "__init__", None)):
        _known_class(cls)


def _how_instantiated(cls: type) -> str:
    if type(cls).__call__ is not type.__call__:
        return "as it is"
    is_polynomial = issubclass(cls, ABCPolyBase)
    if is_polynomial or _is_users(cls.__init__) or _is_users(cls.__new__):
        return "converted"
    changes = cls.__hash__ is None or hasattr(cls, "__next__")
    return "fresh" if changes or cls.__new__ is object.__new__ else "as it is"


def _is_users(f: Any) -> bool:
    """Whether a function is a user's; it may stand in one that was converted, with it."""
    return isinstance(f, FunctionType) and (is_converted(f.__code__) or not _stays(f.__code__))


def _member(cls: type, name: str, value: Any) -> Any:
    """Return what stands for a member of a class that asks; None if that is the member itself."""
    by_fields = of_dataclass(cls, name, value)
    if by_fields is not None:
        return by_fields
    if name in _OPERATORS and _is_users(value):
        return _asking(value)
    if type(value) is property and any(map(_is_users, (value.fget, value.fset))):
        parts = [_asking(f) if _is_users(f) else f for f in (value.fget, value.fset)]
        return property(*parts, value.fdel, value.__doc__)
    if type(value) is functools.cached_property and _is_users(value.func):
        value.func = _asking_once(value)
    elif _is_users(getattr(type(value), "__get__", None)):
        _known_class(type(value))
    return None


_FOLLOWING = Following(_member)


def _asking_once(kept: Any) -> Any:
    """Return the function of a ``cached_property``, which writes to its object what that gives."""
    function = kept.func

    @functools.wraps(function)
    def ask(self: Any) -> Any:
        note_attribute(self, kept.attrname)
        return fn(function)(self)

    return ask


def _asking(method: Any) -> Any:
    @functools.wraps(method)
    def ask(*args: Any, **kwargs: Any) -> Any:
        return fn(method)(*args, **kwargs)

    return ask


#: The code of what stands in a class for such a method.
ASKING = _asking(len).__code__


def _construct(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """What ``type.__call__`` does, with converted methods."""
    new = cls.__new__
    if new is object.__new__:
        made = born(new(cls))
    else:
        made = fn(new)(cls, *args, **kwargs)
        if not isinstance(made, cls):
            return made
        if not isinstance(new, FunctionType):
            born(made)
    ON_VARIANTS["made"](made)
    fn(type(made).__init__)(made, *args, **kwargs)
    bear_fields(made, (*args, *kwargs.values()))
    return made


# --- builtins and NumPy ---------------------------------------------------------------------------


def _builtin(f: Any) -> Any:
    row = ROWS.get(f)
    if row is not None:
        return row
    owner = f.__self__
    kind = type(owner)
    if owner is None or kind is ModuleType:
        return followed(f) or f
    if kind is np.ufunc and f.__name__ != "at":
        return functools.partial(_of_arrays, f)
    make = _methods_of(kind).get(f.__name__)
    if kind is np.ndarray and make is None:
        return _array_method(f, owner)
    return (followed(f) or guarded(f, owner)) if make is None else make(f)


def _methods_of(kind: type) -> dict[str, Callable[[Any], Any]]:
    """Return the rows of a class, or of the class that it is derived from."""
    rows = METHODS.get(kind)
    if rows is None:
        rows = next((METHODS[base] for base in kind.__mro__[1:] if METHODS.get(base)), {})
        METHODS[kind] = rows
    return rows


def _array_method(f: Any, array: np.ndarray) -> Any:
    name = f.__name__
    if name in _WRITING:
        return functools.partial(_write, f, array)
    return scratch_method(f) or followed(f) or f


_WRITING = frozenset("fill put sort partition resize setfield byteswap setflags itemset".split())


def _write(f: Any, array: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    if in_region() or is_traced(args) or is_traced(kwargs):
        refuse_writing(f".{f.__name__}()", array)
    note_array(array)
    return f(*args, **kwargs)


def _ufunc(f: Any) -> Any:
    return functools.partial(_ufunc_watched if is_watched() else _of_arrays, f)


def _of_arrays(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a ufunc, or a method of one, with arrays in place of lists that hold data."""
    if list in map(type, args) or tuple in map(type, args):
        make = CONSTRUCTORS[np.array]
        args = tuple([make(x) if type(x) in (list, tuple) and is_traced(x) else x for x in args])
    return f(*args, **kwargs)


def _ufunc_watched(f: Any, *args: Any, **kwargs: Any) -> Any:
    outs = kwargs.get("out")
    for out in (*(outs if isinstance(outs, tuple) else (outs,)), *args[f.nin :]):
        _check_target(f, out)
    return _of_arrays(f, *args, **kwargs)


def _check_target(f: Any, out: Any) -> None:
    if type(out) is np.ndarray:
        if in_region():
            refuse_writing(f"np.{f.__name__}", out)
        note_array(out)


#: What gives an array even where that has no dimensions, not a scalar.
_GIVING_ARRAYS = (
    np.select, np.tensordot, np.linalg.tensordot, np.cross, np.i0, np.resize, np.piecewise,
    np.isin, np.require, np.broadcast_arrays,
)  # fmt: skip
_CALLING_BACK = (np.apply_along_axis, np.apply_over_axes, np.piecewise, np.fromfunction)


def _numpy_row(function: Any) -> Callable[..., Any]:
    """Return what to call for a function of NumPy that does not look at all of its arguments."""
    call_plain = CONSTRUCTORS.get(function)
    writes, gives_array = function in WRITING_TO_FIRST, function in _GIVING_ARRAYS

    def call(*args: Any, **kwargs: Any) -> Any:
        if writes and args and type(args[0]) is np.ndarray and is_watched():
            if in_region():
                refuse_writing(f"np.{function.__name__}", args[0])
            note_array(args[0])
        if call_plain is not None:
            return implement(function, call_plain, args, kwargs)
        if not is_traced(args) and not (kwargs and is_traced(kwargs)):
            return function(*args, **kwargs)
        if any([isinstance(x, Scratch) for x in (*args, *kwargs.values())]):
            return function(*args, **kwargs)
        kwargs.pop("like", None)
        result = implement(function, TABLE[function], unwrapped(args), unwrapped(kwargs))
        return as_array(result) if gives_array else result

    call.__name__ = function.__name__
    return call


def with_callbacks(
    function: Callable[..., Any], places: Collection[int] | None = None
) -> Callable[..., Any]:
    """Return a function that converts the functions among its arguments.

    Those at some places, and by name, and anything else as it is; or all, and in lists of these.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs = {name: _callback(x) for name, x in kwargs.items()}
        are = [places is None or place in places for place in range(len(args))]
        given = [_callback(x) if is_it else x for x, is_it in zip(args, are, strict=True)]
        return function(*given, **kwargs)

    return call


def _callback(x: Any) -> Any:
    if type(x) is list and any(map(callable, x)):
        return [_callback(part) for part in x]
    return fn(x) if callable(x) else x


for _each in {**TABLE, **CONSTRUCTORS}:
    if name_of(_each) not in EFFECTS:
        ROWS[_each] = _numpy_row(_each)
for _each in _CALLING_BACK:
    ROWS[_each] = with_callbacks(ROWS.get(_each, _each))


ROWS[warnings.catch_warnings] = Catching


def _wrapper(f: Any) -> Any:
    """``super().__setitem__`` and the like."""
    if not is_watched():
        return f
    if f.__name__ in ("__setattr__", "__delattr__"):
        return functools.partial(_log_attribute, f)
    if f.__name__ == "__next__":
        return functools.partial(ROWS[next], f.__self__)
    if type(f.__self__) is np.ndarray and f.__name__ in _WRITING_OPERATORS:
        return functools.partial(_write, f, f.__self__)
    make = _methods_of(type(f.__self__)).get(f.__name__)
    return f if make is None else make(f)


_WRITING_OPERATORS = frozenset(
    f"__{name}__" for name in "setitem iadd isub imul itruediv ifloordiv imod ipow imatmul iand "
    "ior ixor ilshift irshift".split()
)  # fmt: skip


def _log_attribute(f: Any, name: str, *value: Any) -> None:
    note_attribute(f.__self__, name)
    f(name, *value)


#: By type, what makes the replacement of a callable.
MAKERS: dict[type, Callable[[Any], Any]] = {
    FunctionType: _function,
    MethodType: _method,
    BuiltinFunctionType: _builtin,
    MethodWrapperType: _wrapper,
    type: _class,
    ABCMeta: _class,
    functools.partial: _partial,
    functools._lru_cache_wrapper: _cached,
    np.ufunc: _ufunc,
    type(np.sum): _library,
    type(str.upper): lambda f: ROWS.get(f, f),
    type(object.__setattr__): lambda f: ROWS.get(f, f),
}

__all__ = ["HOOKS", "MAKERS", "METHODS", "OUTSIDE", "ROWS", "fn", "replaces", "with_callbacks"]
