"""What traced code tells its user: ``print``, ``raise`` and texts of numbers not known yet.

Converted code calls `deferred` before it evaluates a message, so that tensors in it format
themselves as placeholders; `print_`, `raise_` and `text` end that. A print is recorded as a host
call, an error in a branch as a `check`; both fill in each example's numbers when the graph runs.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.autograph.branches import deliver
from lanewise.autograph.calls import fn
from lanewise.autograph.effects import is_for_each, record
from lanewise.autograph.known_calls import NOTHING
from lanewise.autograph.templates import as_traced
from lanewise.trace.formatting import (
    Collection,
    Field,
    Text,
    collecting,
    deferred,
    finish,
    placeholder,
)
from lanewise.trace.regions import Region, resumed
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import Stop, state
from lanewise.trace.variants import ON_VARIANTS, Variant

__all__ = ["Stop", "deferred", "percent", "print_", "raise_", "shown", "string_call", "text"]

_NOT_GIVEN: Any = object()
_BOOL = np.dtype(bool)


# --- texts ----------------------------------------------------------------------------------------


def text(handle: Collection | None, string: str) -> Any:
    """End a collection; return the string, which may be used later, with its placeholders."""
    fields = finish(handle)
    around = collecting()
    if around is not None:  # a ``__repr__`` of the user's, of which Python makes a longer text
        around.fields.update(fields)
    elif fields and all([type(field.value) is Variant for field in fields.values()]):
        return ON_VARIANTS["text"](string, fields)
    return Text(string, fields) if fields else string


def string_call(function: Callable[..., str], *args: Any, **kwargs: Any) -> Any:
    """Call a function that makes a string of its arguments (``str``, ``format``, ``", ".join``)."""
    handle = deferred()
    if handle is not None:
        for part in _flat([*args, *kwargs.values()]):
            handle.fields.update(getattr(part, "fields", {}) if type(part) is Text else {})
    result = function(*args, **kwargs)
    return text(handle, result) if isinstance(result, str) else result


def shown(name: str, value: Any) -> Any:
    """Return ``str(value)``, ``repr(value)`` or ``ascii(value)``."""
    return string_call(getattr(builtins, name), value)


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
        isinstance(part, Tensor) or type(part) is Text
        for part in _flat(list(args.values()) if _is_dict(args) else args)
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
        if isinstance(value, Tensor):
            return value._text(one, "")
        if kind in "sra" and found["rest"]:  # of what holds tensors, too
            value = string_call({"s": str, "r": repr, "a": ascii}[kind], value)
            if type(value) is Text:
                return placeholder(value, f"%{found['rest']}s", "", [""]) or value
            one = f"%{found['rest']}s"
        return one % (value,)

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


def raise_(handle: Collection | None, error: Any, cause: Any = _NOT_GIVEN) -> Any:
    """Return the exception for a ``raise`` statement, or record it in a branch and end the branch.

    In a branch or a loop that depends on data, the exception is raised when the graph runs, for the
    examples that get there, and `Stop` ends the recording of the branch.
    """
    fields = finish(handle)
    kind = error if isinstance(error, type) else type(error)
    if not issubclass(kind, BaseException) or issubclass(kind, StopIteration):
        return error  # Python says what is wrong with it, or ends a loop
    region = _enclosing_region()
    if isinstance(error, type):
        error = error()
    if cause is not _NOT_GIVEN:
        cause = cause() if isinstance(cause, type) else cause
        if cause is not None and not isinstance(cause, BaseException):
            raise TypeError("exception causes must derive from BaseException")
        error.__cause__ = cause
    attempt = None if state.attempt is None else state.attempt.catching(kind)
    if attempt is None and region is None and _may_have_raised():
        region = state.trace  # for examples that got here: an earlier check may have failed
    elif attempt is not None and state.trace is attempt.base:
        error.args = tuple([_with_fields(part, fields) for part in error.args])
        return error  # to Python, which finds the handler
    elif region is None:
        return as_traced(error, fields)
    assert region is not None
    with resumed(region):  # a mapped function that the branch calls is not recorded any further
        deliver(error, fields)
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
