"""Calls with effects (logging, warnings, files, clocks): made when the graph runs.

Where every example, or only some, would make a call for what it does, the call is recorded as host
code in the order of the token, with its arguments as data. It is made in a frame of the user's own
place, so that a warning or a log record tells the user's file, line and function. What it returns
is not known while tracing: a `Later` stands for it; its methods can be called (``open(p).write``).
"""

from __future__ import annotations

import builtins
import contextlib
import io
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from lanewise.autograph.advice import advised
from lanewise.autograph.known_calls import (
    EFFECTS,
    FLOAT,
    INT,
    NOTHING,
    OBJECT,
    TEXTS,
    is_library,
    is_numeric,
    is_pure,
    is_reading,
    name_of,
)
from lanewise.autograph.templates import StandIn, Template, Templates
from lanewise.errors import ConcretizationError, UnsupportedError, at
from lanewise.ir.location import here, is_own_file
from lanewise.ir.types import array_type
from lanewise.ops.host import py_func
from lanewise.trace.attributes import held_by
from lanewise.trace.formatting import Text, written
from lanewise.trace.mixed import presence
from lanewise.trace.regions import Region
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import Tensor, as_tensor, lift, read
from lanewise.trace.trace import require_trace, state

_NUMBERS = {FLOAT: (float, np.dtype(float)), INT: (int, np.dtype(np.int64))}


# --- where data decide ----------------------------------------------------------------------------


def is_for_some() -> bool:
    """Whether the data decide if the code that is traced runs, or how often."""
    trace = state.trace
    while trace is not None:
        if isinstance(trace, Region):
            return True
        trace = trace.parent
    return False


def is_for_each() -> bool:
    """Whether the code that is traced runs for each example, or as the data decide."""
    trace = state.trace
    while trace is not None:
        if isinstance(trace, Region) or trace.randomness is not None:
            return True
        trace = trace.parent
    return False


# --- what a call gives ----------------------------------------------------------------------------


class _Objects(threading.local):
    def __init__(self) -> None:
        self.held: WeakKeyDictionary[Slot, Any] = WeakKeyDictionary()


_objects = _Objects()


class Slot:
    """Where what a call returned waits for the calls that follow it in an example."""

    __slots__ = ("__weakref__", "name", "place")

    def __init__(self, name: str, place: str) -> None:
        self.name = name
        self.place = place


@dataclass(frozen=True, slots=True)
class Held(Template):
    """What an earlier call of the example returned."""

    slot: Slot

    def fill(self, numbers: Sequence[Any]) -> Any:
        try:
            return _objects.held[self.slot]
        except KeyError:
            raise UnsupportedError(
                f"what {self.slot.name}{self.slot.place} returned is used where it was not called"
            ) from None

    def flush(self) -> None:
        """Write out what a file holds back: plain code may have closed it by now."""
        held = _objects.held.get(self.slot)
        if isinstance(held, io.IOBase) and not held.closed:
            held.flush()


@dataclass(frozen=True, slots=True)
class Method:
    """A method of what an earlier call of the example returned."""

    owner: Held
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner.fill(()), self.name)(*args, **kwargs)


class Later(StandIn):
    """Stands for what a call returns that is made when the graph runs."""

    __slots__ = ("slot",)

    def __init__(self, slot: Slot) -> None:
        self.slot = slot

    def template(self) -> Template:
        return Held(self.slot)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Later):  # of two recordings of one line
            return (self.slot.name, self.slot.place) == (other.slot.name, other.slot.place)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.slot.name, self.slot.place))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return LaterMethod(self, name)

    def __enter__(self) -> Later:
        return LaterMethod(self, "__enter__")()

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            LaterMethod(self, "__exit__")(None, None, None)

    def _refuse(self, *args: Any) -> NoReturn:
        name = self.slot.name
        raise UnsupportedError(
            f"what {name}(){self.slot.place} returns is used{at(here())}, but the call is made "
            "when the examples run: its result is not known while tracing. Where it is a number, "
            f"call it by lw.py_func: lw.py_func(lambda: {name}(...), [], lw.TensorSpec((), float))"
        )

    __str__ = __format__ = __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = _refuse
    __int__ = __float__ = __complex__ = __index__ = __contains__ = __next__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _refuse
    __rpow__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __array__ = _refuse

    def __repr__(self) -> str:
        return f"<what {self.slot.name}() returns>"


class LaterMethod:
    """A method of a `Later`: to call it is an effect, too."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Later, name: str) -> None:
        self.owner = owner
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        method = Method(Held(self.owner.slot), self.name)
        kind = NOTHING if self.name in ("__exit__", "close", "flush") else OBJECT
        return record(method, f"{self.owner.slot.name}().{self.name}", kind, args, kwargs)

    def __getattr__(self, name: str) -> NoReturn:
        return self.owner._refuse()

    __bool__ = __len__ = __iter__ = __getitem__ = __int__ = __float__ = __str__ = (
        lambda self, *args: self.owner._refuse()
    )


# --- frames of the user's own ---------------------------------------------------------------------


class Frame(NamedTuple):
    """A place in the user's code: what Python's stack shows when something is called there."""

    code: CodeType
    line: int
    namespace: dict[str, Any]

    def calling(self, function: Callable[[], Any]) -> Callable[[], Any]:
        """Return a function that calls another one in a frame like this one."""
        code = _CALL.__code__.replace(
            co_filename=self.code.co_filename,
            co_firstlineno=self.line,
            co_name=self.code.co_name,
            co_qualname=self.code.co_qualname,
        )
        return partial(FunctionType(code, self.namespace), function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and (self.code, self.line) == (other.code, other.line)

    def __hash__(self) -> int:
        return hash((self.code, self.line))


_CALL: Any = lambda function: function()  # noqa: E731  (one line: the first of the code is its only)


def _frames(count: int) -> tuple[Frame, ...]:
    """Return the innermost of the user's frames, the one that is running first."""
    found: list[Frame] = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < count:
        if not is_own_file(frame.f_code.co_filename):
            found.append(Frame(frame.f_code, frame.f_lineno, frame.f_globals))
        frame = frame.f_back
    return tuple(found)


# --- the call -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """A call that is made when the graph runs, with numbers filled into its arguments."""

    function: Callable[..., Any]
    args: tuple[Template, ...]
    options: tuple[tuple[str, Template], ...]
    frames: tuple[Frame, ...] = ()
    slot: Slot | None = None
    gives_number: bool = False
    filters: tuple[Any, ...] | None = None

    def __call__(self, *numbers: Any) -> tuple[Any, ...]:
        numbers = tuple([number[()] for number in numbers])
        options = {name: part.fill(numbers) for name, part in self.options}
        call = partial(self.function, *[part.fill(numbers) for part in self.args], **options)
        for frame in self.frames:
            call = frame.calling(call)
        result = call() if self.filters is None else _filtered(call, self.filters)
        if self.slot is not None:
            _objects.held[self.slot] = result
        for held in self._objects():
            held.flush()
        return (result,) if self.gives_number else ()

    def _objects(self) -> list[Held]:
        """Return what of earlier calls this call may write to."""
        parts = [getattr(self.function, "owner", None), *self.args, *[p for _, p in self.options]]
        return [part for part in parts if isinstance(part, Held)]


def followed(f: Any) -> Callable[..., Any] | None:
    """Return what to call in place of a library's function or class; None for f itself.

    An effect that is known is recorded where examples make the call. Where the data decide whether
    it is made, what is not known to have no effect is refused.
    """
    name = name_of(f)
    kind = EFFECTS.get(name) if name is not None else None
    if kind is not None:
        return partial(_call, f, str(name), kind)
    if name is not None:
        if name.startswith(("_io.StringIO.", "_io.BytesIO.")):
            _refuse_reading(f)
        if name in TEXTS:
            return partial(_written, f)
        if is_reading(name):
            return partial(without_texts, advised(f, name), name)
    if is_for_some() and not (name is not None and is_pure(name)):
        return partial(_refuse, f, name or repr(f))
    if name is not None and is_numeric(name):
        return advised(f, name)
    return None


def _written(f: Any, *args: Any, **options: Any) -> Any:
    """Call a function that writes a text, when the graph runs if it is a text of data."""
    if not (_holds_data(args) or _holds_data(options)):
        return f(*args, **options)
    return written(f, _as_now(args), _as_now(options))


def without_texts(f: Any, name: str, *args: Any, **options: Any) -> Any:
    """Call a function that reads characters; raise where data decide them."""
    for part in (*args, *options.values()):
        if type(part) is Later:
            part._refuse()
        if type(part) is Text:
            raise ConcretizationError(
                f"{name}() needs the text {str.__str__(part)!r}, which holds traced numbers that "
                f"are not known while tracing{at(here())}. Such a text can be printed, raised, and "
                "put into another one; use the numbers themselves"
            )
    return f(*args, **options)


def _holds_data(value: Any) -> bool:
    """Whether a value, or what it holds, is a tensor, or a text with one in it."""
    if isinstance(value, Tensor) or type(value) is Text:
        return True
    if isinstance(value, dict):
        return _holds_data([*value, *value.values()])
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_holds_data, value))
    return is_traced(value) or is_traced(held_by(value))


def _as_now(value: Any) -> Any:
    """Return a value with copies of the tensors and containers in it, which may change later."""
    if isinstance(value, Tensor):
        value = as_tensor(value)
        if presence(value) is not None:
            return value  # no array, so nobody writes to it
        now = Tensor(require_trace("a text"), read(value), None, value._weak)
        now._mixed = value._mixed
        return now
    kind = type(value)
    if kind is dict:
        return {key: _as_now(part) for key, part in value.items()}
    if kind is list or kind is tuple:
        return kind([_as_now(part) for part in value])
    return value


def followed_class(cls: type) -> Callable[..., Any] | None:
    """Return what to call in place of a class that is not the user's; None for itself."""
    if cls.__module__ == "builtins" or not is_library(cls.__module__):
        return None
    if issubclass(cls, BaseException):
        return None
    return followed(cls)


def followed_stream(f: Any) -> Callable[..., Any] | None:
    """Return what to call in place of a method of ``sys.stdout``, whatever that is a method of."""
    if f.__self__ is sys.stdout or f.__self__ is sys.stderr:
        kind = NOTHING if f.__name__ in ("flush", "close") else OBJECT
        return partial(_call, f, f"the stream's {f.__name__}", kind)
    return None


def _refuse(f: Any, name: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(
        f"{name}() is called{at(here())} where the data decide whether, or how often: it is not "
        "known to have no effects, and a trace would call it once for all examples. Call it by "
        f"lw.py_func({name}, [...], None), which does it for each example that gets there, or "
        "before the branch or loop"
    )


def _call(f: Any, name: str, kind: str, *args: Any, **kwargs: Any) -> Any:
    if name in ("io.open", "_io.open", "pathlib.Path.open"):
        return _open(f, name, args, kwargs)
    late = is_for_each()
    if not late and f in (contextlib.redirect_stdout, contextlib.redirect_stderr):
        return _redirecting(f, *args, **kwargs)
    if name.rpartition(".")[2] in _FILTERING and _scopes.recording:
        return f(*args, **kwargs)
    if not late and kind in _NUMBERS:
        return f(*args, **kwargs)
    return record(f, name, kind, args, kwargs, late=late)


def _open(f: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Open a file: to read one is no effect; one that is written is opened for each example."""
    at_mode = 1 if f is builtins.open else 0
    mode = args[at_mode] if len(args) > at_mode else kwargs.get("mode", "r")
    if isinstance(mode, str) and set(mode) <= set("rbt") and not is_for_some():
        return f(*args, **kwargs)
    return record(f, name, OBJECT, args, kwargs)


def record(
    f: Any,
    name: str,
    kind: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    late: bool = True,
    fields: dict[str, Any] | None = None,
) -> Any:
    """Record a call with an effect; make it now if it is not `late` and takes no data."""
    if f is print and _redirections.count and kwargs.get("file") is None:
        kwargs = {**kwargs, "file": sys.stdout}
    templates = Templates(fields or {})
    parts = tuple([_stream(part) or templates.of(part) for part in args])
    options = tuple([(key, _stream(x) or templates.of(x)) for key, x in kwargs.items()])
    if not late and not templates.operands and not templates.holds_later:
        return f(*args, **kwargs)
    for stream in (getattr(f, "__self__", None), *args, *kwargs.values()):
        if isinstance(stream, (io.StringIO, io.BytesIO)):
            _redirections.written[stream] = id(_outermost())
    slot = Slot(name, at(here())) if kind == OBJECT else None
    warns = f is warnings.warn
    level = kwargs.get("stacklevel", args[2] if warns and len(args) > 2 else 1)
    frames = _frames(level if type(level) is int and level > 0 else 1)
    is_number = kind in _NUMBERS
    filters = _filters_here() if warns else None
    effect = Effect(f, parts, options, frames, slot, is_number, filters)
    trace = require_trace(name)
    types = (array_type(_NUMBERS[kind][1], ()),) if is_number else ()
    values = [lift(tensor) for tensor in templates.operands]
    params = {"func": effect, "types": types, "vectorized": False}
    token, *results = trace.record(py_func, (trace.next_token(), *values), params)
    trace.set_token(token)
    if is_number:
        return Tensor(trace, results[0], None, _NUMBERS[kind][0])
    return None if slot is None else Later(slot)


# --- streams --------------------------------------------------------------------------------------


class _Redirections(threading.local):
    def __init__(self) -> None:
        #: How many blocks the code that is traced is in that redirect a stream.
        self.count = 0
        #: Streams in memory that are written to when the graph runs, each with the id of its trace.
        self.written: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


_redirections = _Redirections()


@contextlib.contextmanager
def _redirecting(f: Any, target: Any) -> Generator[Any]:
    """Redirect what is printed while tracing, and what is recorded in the block."""
    _redirections.count += 1
    try:
        with f(target) as stream:
            yield stream
    finally:
        _redirections.count -= 1


@dataclass(frozen=True, slots=True)
class Stream(Template):
    """``sys.stdout`` or ``sys.stderr``, as it is when the graph runs."""

    name: str

    def fill(self, numbers: Sequence[Any]) -> Any:
        return getattr(sys, self.name)


def _stream(part: Any) -> Stream | None:
    for name in ("stdout", "stderr"):
        if part is getattr(sys, name) and part is not None and not _redirections.count:
            return Stream(name)
    return None


def _outermost() -> Any:
    trace = require_trace("an effect")
    while trace.parent is not None:
        trace = trace.parent
    return trace


_READ = frozenset(("getvalue", "read", "readline", "readlines", "getbuffer"))


def _refuse_reading(f: Any) -> None:
    """Raise where what is read of a stream in memory is written when the graph runs."""
    stream = getattr(f, "__self__", None)
    if f.__name__ in _READ and _redirections.written.get(stream) == id(_outermost()):
        kind = type(stream).__name__
        raise UnsupportedError(
            f"{kind}.{f.__name__}() is called{at(here())}, but what is written to the stream holds "
            "traced numbers, and is written when the examples run. Read it outside of the traced "
            "function"
        )


# --- warnings -------------------------------------------------------------------------------------


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.recording: list[bool] = []


_scopes = _Scopes()
_FILTERING = ("simplefilter", "filterwarnings", "resetwarnings")


class Catching(warnings.catch_warnings):
    """``warnings.catch_warnings`` in traced code: the warnings in it keep its filters."""

    def __init__(self, *, record: bool = False, **options: Any) -> None:
        super().__init__(record=record, **options)
        self._records = record

    def __enter__(self) -> Any:
        _scopes.recording.append(self._records)
        return super().__enter__()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _scopes.recording.pop()
        super().__exit__(exc_type, exc_val, exc_tb)


def _filters_here() -> tuple[Any, ...] | None:
    """Return the filters of the ``catch_warnings`` that the traced code is in, None outside."""
    if not _scopes.recording:
        return None
    if any(_scopes.recording):
        raise UnsupportedError(
            f"warnings.warn() in warnings.catch_warnings(record=True){at(here())}: the warning is "
            "given when the examples run, and the list of what was recorded is not known while "
            "tracing. Record outside of the mapped function"
        )
    return tuple(warnings.filters)


def _filtered(call: Callable[[], Any], filters: Sequence[Any]) -> Any:
    """Call a function under filters of warnings as they were where it was traced."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.filters[:] = list(filters)  # ty: ignore[invalid-assignment]
        return call()
