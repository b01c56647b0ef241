"""Runs a function as it is and converted, and compares all that can be observed."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import sys
import traceback

from lanewise.autograph import hooks as real_hooks
from lanewise.autograph.convert import convert
from support import plain_hooks

#: The converted code must do the same with hooks for plain data only, and with those of Lanewise.
HOOKS = [plain_hooks, real_hooks]

_numbers = itertools.count(1)


def define(source, name="f", **namespace):
    """Return a function from its source, which tracebacks and the converter find again."""
    filename = f"<program {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace["__name__"] = "program"
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace[name]


def outcome(func, args, kwargs, file):
    """Return what came out: a value or an exception, with the lines of the file it came through."""
    args, kwargs = copy.deepcopy((args, kwargs))
    try:
        result = func(*args, **kwargs)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in frames if frame.filename == file]
        # What is nested deeply runs in a function within, of the same name.
        lines = [[*group][-1].lineno for _, group in itertools.groupby(frames, lambda f: f.name)]
        lines = [line for line, _ in itertools.groupby(lines)]
        if isinstance(error, UnboundLocalError):
            # Python 3.11 runs a store and the load after it as one instruction once code is warm,
            # and then names the line of the store. How warm code is differs here.
            lines.pop()
        cause, context = error.__cause__, error.__context__
        return "raised", type(error), str(error), lines, repr(cause), repr(context), args, kwargs
    return "returned", repr(result), type(result), repr(args), repr(kwargs)


def lines_run(func, args, kwargs, file):
    """Return the lines of the file that a debugger stops at."""
    lines = set()

    def trace(frame, event, argument):
        # Python 3.14 tells of no line behind a loop of which the last iteration went on early.
        if event in ("line", "return") and frame.f_code.co_filename == file:
            lines.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    args, kwargs = copy.deepcopy((args, kwargs))
    sys.settrace(trace)
    try:
        with contextlib.suppress(Exception):
            func(*args, **kwargs)
    finally:
        sys.settrace(before)
    return lines


def same(func, *args, **kwargs):
    """Assert that a function does the same converted; return its outcome."""
    file = func.__code__.co_filename
    expected = outcome(func, args, kwargs, file)
    for hooks in HOOKS:
        made = convert(func, hooks)
        assert made is not func, "it was not converted"
        assert str(outcome(made, args, kwargs, file)) == str(expected)
    return expected


def same_lines(func, *args, **kwargs):
    """Assert that a debugger stops at no line that it would not stop at natively."""
    file = func.__code__.co_filename
    native = lines_run(func, args, kwargs, file)
    for hooks in HOOKS:
        assert lines_run(convert(func, hooks), args, kwargs, file) <= native
