"""The source of functions that are sent to another process, where no file may have it.

Those of ``__main__`` (a script, which another machine may not have, a notebook, what ``python -c``
was given, standard input) are sent by value: what is made of a function takes its source along, and
that of the functions that it calls.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from lanewise.autograph.source import find
from lanewise.ir.location import CELLS, ELSEWHERE, cell_of, origin, texts

#: By the origin of a function and its digest: the lines it was read from, and its cell.
Sources = dict[tuple[str, str, int, int], tuple[list[str], str | None]]
#: A container that a function refers to is looked into up to this length.
LONGEST = 1000


def sources_of(func: Any) -> Sources:
    """Return the source of a function and of those that it may call, if they are of `__main__`."""
    found: Sources = {}
    for each in _functions(func):
        _add(found, each.__code__)
    return found


def receive(sources: Sources, held: Any) -> None:
    """Keep the sources that came with functions, which `held` holds.

    Picklers may send code without the name of its file; it is given that again.
    """
    files = {}
    for (file, name, line, digest), (lines, cell) in sources.items():
        ELSEWHERE[file, name, line] = lines
        files[name, line, digest] = file
        if cell is not None:
            CELLS[file] = cell
    for func in _functions(held):
        code = func.__code__
        file = files.get((code.co_qualname, code.co_firstlineno, _digest(code)), code.co_filename)
        if file != code.co_filename:
            func.__code__ = _in_file(code, file)


def _functions(value: Any) -> Iterator[FunctionType]:
    """Yield the functions of `__main__` that a value holds, and those that they may call."""
    left, seen = [value], set()
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if not isinstance(value, FunctionType):
            left += _within(value)
        elif value.__module__ == "__main__":
            yield value
            left += _referred(value)


def _digest(code: CodeType) -> int:
    """Return a number that tells code from other code of one name and line."""
    constants = [part for part in code.co_consts if not isinstance(part, CodeType)]
    constants = [sorted(map(repr, x)) if isinstance(x, frozenset) else x for x in constants]
    told = code.co_code, code.co_names, code.co_varnames, constants
    return zlib.crc32(repr(told).encode())


def _in_file(code: CodeType, file: str) -> CodeType:
    """Return code, and that within it, as of another file."""
    parts = [
        _in_file(part, file) if isinstance(part, CodeType) else part for part in code.co_consts
    ]
    return code.replace(co_filename=file, co_consts=tuple(parts))


def _add(found: Sources, code: CodeType) -> None:
    find(code)  # of several texts, the one that it was made from is kept
    known = ELSEWHERE.get(origin(code)) or next(iter(texts(code)), None)
    if known is None:
        return
    for each in _codes(code):
        found[*origin(each), _digest(each)] = known, cell_of(each.co_filename)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those within it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _referred(func: FunctionType) -> list[Any]:
    """Return what a function may call: of its globals, its closure and its defaults."""
    names = {name for code in _codes(func.__code__) for name in code.co_names}
    found = [func.__globals__[name] for name in names if name in func.__globals__]
    for cell in func.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            continue
    defaults = func.__defaults__ or ()
    return [*found, *defaults, *(func.__kwdefaults__ or {}).values()]


def _within(value: Any) -> list[Any]:
    """Return the functions that something holds, where it is sent by value itself."""
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, (list, tuple, dict)):
        held = value.values() if isinstance(value, dict) else value
        return [*held] if len(value) <= LONGEST else []
    if isinstance(value, (classmethod, staticmethod)) or hasattr(type(value), "__wrapped__"):
        return [value.__wrapped__]
    if isinstance(value, property):
        return [value.fget]
    if isinstance(value, type):
        own = [each for each in value.__mro__ if each.__module__ == "__main__"]
        return [part for each in own for part in vars(each).values()]
    held = [vars(value)["__wrapped__"]] if "__wrapped__" in getattr(value, "__dict__", {}) else []
    return [*held, type(value)] if type(value).__module__ == "__main__" else held
