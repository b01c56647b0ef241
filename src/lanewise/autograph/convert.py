"""Functions whose control flow asks hooks: converted once for each code object.

Only code is made anew. A converted function has the very cells, globals, defaults and attributes
of the one it came from, and one cell more: ``ag__``, through which it finds its hooks.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, Generic, TypeVar

from lanewise.autograph.build import HOOKS, Unconvertible, clone, deep_recursion
from lanewise.autograph.functions import Functions
from lanewise.autograph.outline import DEPTHS, OUTLINED
from lanewise.autograph.source import LAMBDA, compile_within, find, owner

T = TypeVar("T")

_AWAITING = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE


#: From Python 3.14 on annotations are evaluated when somebody asks for them.
_LAZY_ANNOTATIONS = sys.version_info >= (3, 14)


class _ByIdentity(Generic[T]):
    """Values kept for code objects while those live.

    Code objects compare by value without their file, so two equal functions of two files would
    meet in a dictionary.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[CodeType], T]] = {}

    def get(self, code: CodeType) -> tuple[weakref.ref[CodeType], T] | None:
        return self._entries.get(id(code))

    def set(self, code: CodeType, value: T) -> None:
        key, entries = id(code), self._entries

        def forget(gone: weakref.ref[CodeType]) -> None:
            if key in entries and entries[key][0] is gone:
                del entries[key]

        entries[key] = weakref.ref(code, forget), value


#: The converted code, and where in the closure of a function its cells are (-1: the hooks).
_Made = tuple[CodeType, tuple[int, ...]]

_converted: _ByIdentity[_Made | None] = _ByIdentity()
_made: _ByIdentity[None] = _ByIdentity()
_lock = threading.RLock()


def convert(func: Callable[..., Any], hooks: Any) -> Callable[..., Any]:
    """Return a function with its control flow converted, or ``func`` where that cannot be.

    Builtins, coroutines, and functions without source are returned as they are.

    Parameters
    ----------
    func:
        A Python function.
    hooks:
        What the converted code calls, as attributes: `lanewise.autograph.hooks`.

    Examples
    --------
    >>> from lanewise.autograph import hooks
    >>> def sign(x):
    ...     if x > 0:
    ...         return 1
    ...     return -1
    >>> convert(sign, hooks)(3)
    1
    """
    if type(func) is not FunctionType:
        return func
    code = func.__code__
    entry = _converted.get(code)
    made = entry[1] if entry is not None else _convert_code(code)
    return func if made is None else _function(func, *made, hooks)


def is_converted(code: CodeType) -> bool:
    """Return whether a code object came from a conversion, and needs no other."""
    return _made.get(code) is not None


def has_no_source(code: CodeType) -> bool:
    """Return whether a code object runs as it stands, as nobody knows what it was made of."""
    entry = _converted.get(code)
    return entry is not None and entry[1] is None and not is_converted(code)


def _convert_code(code: CodeType) -> _Made | None:
    with _lock:
        entry = _converted.get(code)
        if entry is not None:
            return entry[1]
        compiled = None
        if not (is_converted(code) or code.co_flags & _AWAITING):
            compiled = _compiled(code)
        made = None
        if compiled is not None:
            _register(compiled)
            places = {name: index for index, name in enumerate(code.co_freevars)} | {HOOKS: -1}
            made = compiled, tuple([places[name] for name in compiled.co_freevars])
        _converted.set(code, made)
        return made


def _compiled(code: CodeType) -> CodeType | None:
    with deep_recursion():
        node = find(code)
        if node is None:
            return None
        for deepest in DEPTHS:
            candidate = clone(node)
            try:
                Functions(deepest).convert(candidate, frozenset(), owner(code))
                made = compile_within(candidate, code, HOOKS)
            except Unconvertible:
                return None
            except SyntaxError as error:
                if "too many statically nested blocks" not in str(error):
                    raise
            else:
                prefix = made.co_qualname.removesuffix(made.co_name)
                return _renamed(made, prefix, code.co_qualname.removesuffix(code.co_name))
        return None  # the user's own blocks go too far into what Python allows


def _renamed(
    code: CodeType, prefix: str, wanted: str, around: tuple[str, str] = ("", "")
) -> CodeType:
    """Give code its names: as qualified as the original, and those of lambdas and generators.

    A block that moved into a function keeps the names of the function ``around``.
    """
    name, qualified = code.co_name, code.co_qualname
    if qualified.startswith(prefix):
        qualified = wanted + qualified[len(prefix) :]
    if name.startswith(OUTLINED):
        name, qualified = around
    elif name.startswith(HOOKS):
        name = "<lambda>" if name == LAMBDA else "<genexpr>"
    qualified = qualified.replace(LAMBDA, "<lambda>")
    constants = []
    for part in code.co_consts:
        if isinstance(part, CodeType):
            part = _renamed(part, prefix, wanted, (name, qualified))
        elif part == code.co_qualname and not code.co_flags & inspect.CO_OPTIMIZED:
            part = qualified  # a class names itself
        constants.append(part)
    return code.replace(co_name=name, co_qualname=qualified, co_consts=tuple(constants))


def _register(code: CodeType, in_class: bool = False) -> None:
    """Note that code needs no conversion, with all functions in it.

    Statements of classes stay as they are, so lambdas among them are converted when called.
    """
    if not (in_class and code.co_name == "<lambda>"):
        _made.set(code, None)
    is_class = not code.co_flags & inspect.CO_OPTIMIZED
    for part in code.co_consts:
        if isinstance(part, CodeType):
            _register(part, is_class)


def _function(
    func: FunctionType, code: CodeType, places: tuple[int, ...], hooks: Any
) -> FunctionType:
    """Return a function like ``func`` with other code."""
    cells = func.__closure__ or ()
    closure = tuple([cells[place] if place >= 0 else CellType(hooks) for place in places])
    made = FunctionType(code, func.__globals__, func.__name__, func.__defaults__, closure)
    made.__kwdefaults__ = func.__kwdefaults__
    made.__qualname__ = func.__qualname__
    made.__module__ = func.__module__
    made.__doc__ = func.__doc__
    if func.__dict__:
        made.__dict__.update(func.__dict__)
    if _LAZY_ANNOTATIONS:
        made.__annotate__ = func.__annotate__
    elif func.__annotations__:
        made.__annotations__ = func.__annotations__
    parameters = getattr(func, "__type_params__", ())
    if parameters:
        made.__type_params__ = parameters  # ty: ignore[missing-attribute]
    return made
