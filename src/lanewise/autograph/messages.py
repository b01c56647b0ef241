"""What traced code tells its user: ``print``, ``raise`` and texts of numbers not known yet.

Converted code calls `deferred` before it evaluates a message, so that tensors in it format
themselves as placeholders; `print_`, `raise_` and `text` end that. A print is recorded as a host
call, an error in a branch as a `check`; both fill in each example's numbers when the graph runs.
"""

from __future__ import annotations

import builtins
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lanewise.autograph.calls import fn
from lanewise.autograph.effects import is_for_each, record
from lanewise.autograph.known_calls import NOTHING
from lanewise.autograph.templates import Templates, as_traced
from lanewise.errors import UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ops.checks import check
from lanewise.trace.formatting import Collection, Field, Text, deferred, finish
from lanewise.trace.regions import Region, resumed
from lanewise.trace.tensor import Tensor, lift
from lanewise.trace.trace import Stop, Trace, state

__all__ = ["Stop", "catching", "deferred", "percent", "print_", "raise_", "string_call", "text"]

_NOT_GIVEN: Any = object()
_BOOL = np.dtype(bool)


# --- texts ----------------------------------------------------------------------------------------


def text(handle: Collection | None, string: str) -> str:
    """End a collection; return the string, which may be used later, with its placeholders."""
    fields = finish(handle)
    return Text(string, fields) if fields else string


def string_call(function: Callable[..., str], *args: Any, **kwargs: Any) -> Any:
    """Call a function that makes a string of its arguments (``str``, ``format``, ``", ".join``)."""
    handle = deferred()
    if handle is not None:
        for part in _flat([*args, *kwargs.values()]):
            handle.fields.update(getattr(part, "fields", {}) if type(part) is Text else {})
    result = function(*args, **kwargs)
    return text(handle, result) if isinstance(result, str) else result


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in _flat(item)]
    return [value]


_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<rest>[-#0 +]*\d*(?:\.\d+)?)[hlL]?(?P<kind>.)"
)


def percent(template: str, args: Any) -> Any:
    """Return ``template % args``; tensors among the arguments are formatted when the graph runs."""
    if not any(
        isinstance(part, Tensor) for part in _flat(list(args.values()) if _is_dict(args) else args)
    ):
        return string_call(str.__mod__, template, args)
    handle = deferred()
    rest = iter(args if isinstance(args, tuple) else (args,))

    def convert(found: re.Match[str]) -> str:
        kind = found["kind"]
        if kind == "%":
            return "%"
        if found["key"] is not None:
            value = args[found["key"]]
        else:
            value = next(rest, _NOT_GIVEN)
            if value is _NOT_GIVEN:
                raise TypeError("not enough arguments for format string")
        one = f"%{found['rest']}{kind}"
        return value._text(one, "") if isinstance(value, Tensor) else one % (value,)

    result = _CONVERSION.sub(convert, template)
    if not _is_dict(args) and next(rest, _NOT_GIVEN) is not _NOT_GIVEN:
        raise TypeError("not all arguments converted during string formatting")
    return text(handle, result)


def _is_dict(args: Any) -> bool:
    return isinstance(args, dict)


# --- print ----------------------------------------------------------------------------------------

#: Functions that print, always when the graph runs.
LATE: set[Any] = set()


def print_(
    handle: Collection | None, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Print, when the graph runs, once for each example, what holds traced numbers; else now.

    In a branch or a loop everything is printed when the graph runs: it may not come to it.
    `lanewise.print` always does so.
    """
    is_late = function in LATE
    if handle is None or not (is_late or function is builtins.print):
        fields = finish(handle)
        return fn(function)(*[_with_fields(part, fields) for part in args], **kwargs)
    shown = [str(part) for part in args]  # as print does, while tensors give placeholders
    fields = finish(handle)
    late = is_late or is_for_each() or any(type(part) is Text for part in shown)
    return record(builtins.print, "print", NOTHING, shown, kwargs, late=late, fields=fields)


def _with_fields(part: Any, fields: dict[str, Field]) -> Any:
    """Return an argument; a string that holds placeholders as a text that knows of them."""
    if type(part) is str and fields:
        known = Text(part, fields)
        return known if known.fields else part
    return part


# --- raise ----------------------------------------------------------------------------------------


class _Handlers(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Trace, Callable[[], Any]]] = []


_handlers = _Handlers()


class Catching:
    """The body of a ``try`` statement whose handlers catch ``kinds()``, as a ``with`` block."""

    __slots__ = ("kinds", "trace")

    def __init__(self, kinds: Callable[[], Any]) -> None:
        self.kinds = kinds
        self.trace = state.trace

    def __enter__(self) -> None:
        if self.trace is not None:
            _handlers.stack.append((self.trace, self.kinds))

    def __exit__(self, *error: object) -> None:
        if self.trace is not None:
            _handlers.stack.pop()


def catching(kinds: Callable[[], Any]) -> Catching:
    """Return what the body of a ``try`` stands in: ``with catching(lambda: ValueError):``.

    ``kinds()`` gives what stands behind ``except``; it is asked only when something is raised.
    """
    return Catching(kinds)


def raise_(handle: Collection | None, error: Any, cause: Any = _NOT_GIVEN) -> Any:
    """Return the exception for a ``raise`` statement, or record it in a branch and end the branch.

    In a branch or a loop that depends on data, the exception becomes a `check` that raises it for
    the examples that get there, and `Stop` ends the recording of the branch.

    Raises
    ------
    UnsupportedError
        If a ``try`` around the branch would catch the exception.
    """
    fields = finish(handle)
    kind = error if isinstance(error, type) else type(error)
    if not issubclass(kind, BaseException):
        return error  # Python says what is wrong with it
    region = _enclosing_region()
    if isinstance(error, type) and (cause is not _NOT_GIVEN or region is not None):
        error = error()
    if cause is not _NOT_GIVEN:
        cause = cause() if isinstance(cause, type) else cause
        if cause is not None and not isinstance(cause, BaseException):
            raise TypeError("exception causes must derive from BaseException")
        error.__cause__ = cause
    if region is None and _may_have_raised() and not _is_caught_anywhere(kind):
        region = state.trace  # for examples that got here: an earlier check may have failed
    elif region is None or _is_caught(kind, region):
        return as_traced(error, fields)
    assert region is not None
    with resumed(region):  # a mapped function that the branch calls is not recorded any further
        templates = Templates(fields)
        failure = templates.of(error)
        operands = [lift(tensor) for tensor in templates.operands]
        ok = region.scalar(False, _BOOL)
        region.record(check, (ok, *operands), {"make": failure})
    raise Stop


def _enclosing_region() -> Region | None:
    """Return the innermost branch or loop's body that is traced."""
    trace = state.trace
    while trace is not None and not isinstance(trace, Region):
        trace = trace.parent
    return trace


def _may_have_raised() -> bool:
    """Whether something was recorded, in this trace or one around it, that may raise."""
    trace = state.trace
    while trace is not None and not trace.is_eager:
        if any([op.must_run for op in trace.operations]):
            return True
        trace = trace.parent
    return False


def _is_caught_anywhere(kind: type[BaseException]) -> bool:
    return any([issubclass(kind, _flattened(kinds())) for _, kinds in _handlers.stack])


def _is_caught(kind: type[BaseException], region: Region) -> bool:
    """Whether a ``try`` within the region catches an exception; refuse one outside of it."""
    inside = {id(trace) for trace in _traces(state.trace, region)}
    for trace, kinds in reversed(_handlers.stack):
        if issubclass(kind, _flattened(kinds())):
            if id(trace) in inside:
                return True
            raise UnsupportedError(
                f"{kind.__name__} is raised{at(here())} where data decides, and a try around "
                "it catches it: which examples go on in the handler is not known while "
                "tracing. Write what the handler does in the branch itself, with if and else"
            )
    return False


def _traces(first: Trace | None, last: Trace) -> Iterator[Trace]:
    """Yield the traces from the innermost one out to `last`."""
    while first is not None:
        yield first
        first = None if first is last else first.parent


def _flattened(kinds: Any) -> tuple[type, ...]:
    if isinstance(kinds, tuple):
        return tuple([kind for part in kinds for kind in _flattened(part)])
    return (kinds,)
