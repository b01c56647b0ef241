"""Which argument of a call is which parameter, however the call is written."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from lanewise.autograph.source import find
from lanewise.trace import tree

_Bound = tuple[tuple[Any, ...], dict[str, Any]]


class Parameters:
    """The parameters of a function, and calls of it in one form.

    ``f(1, b=2)``, ``f(a=1, b=2)`` and, where 2 is the default, ``f(1)`` become the same: what can
    stand by position does, defaults are filled in, and the rest stays by name. What takes ``*args``
    and ``**kwargs`` gets them as they are, since it may tell the two apart.

    Parameters
    ----------
    func
        The function, bound where it is a method.

    Examples
    --------
    >>> parameters = Parameters(lambda a, b=2, *, c=3: None)
    >>> parameters.bind((1,), {}) == parameters.bind((), {"b": 2, "a": 1})
    True
    >>> parameters.bind((1,), {"c": 4})
    ((1, 2), {'c': 4})
    """

    __slots__ = (
        "_by_name", "_by_position", "_defaults", "_keyword_only", "_labels", "_signature",
        "takes_any_name", "takes_any_number",
    )  # fmt: skip

    def __init__(self, func: Callable[..., Any]) -> None:
        known = _python_signature(func)
        labels: list[str] = []
        if known is None:
            with suppress(TypeError, ValueError):  # a builtin that does not tell its parameters
                labels = [*inspect.signature(func).parameters]
        self._fill(inspect.signature(_anything) if known is None else known, labels)

    @classmethod
    def of(cls, signature: inspect.Signature, labels: Sequence[str] = ()) -> Parameters:
        """Return the parameters of a function that is not at hand.

        ``labels`` are what to call arguments by position that the signature does not name.
        """
        parameters = cls.__new__(cls)
        parameters._fill(signature, [*labels])
        return parameters

    def _fill(self, signature: inspect.Signature, labels: list[str]) -> None:
        self._signature, self._labels = signature, labels
        rows = list(self._signature.parameters.values())
        kinds = {row.kind for row in rows}
        leading = [r for r in rows if r.kind in (r.POSITIONAL_ONLY, r.POSITIONAL_OR_KEYWORD)]
        self._by_position = tuple([row.name for row in leading])
        self._by_name = {row.name for row in leading if row.kind is row.POSITIONAL_OR_KEYWORD}
        self._keyword_only = tuple([row.name for row in rows if row.kind is row.KEYWORD_ONLY])
        self._defaults = {row.name: row.default for row in rows if row.default is not row.empty}
        self.takes_any_number = inspect.Parameter.VAR_POSITIONAL in kinds
        self.takes_any_name = inspect.Parameter.VAR_KEYWORD in kinds

    @property
    def signature(self) -> inspect.Signature:
        """The signature; of a builtin, one that takes anything."""
        return self._signature

    @property
    def labels(self) -> list[str]:
        """What to call arguments by position that the signature does not name."""
        return self._labels

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that can stand by position."""
        return self._by_position

    @property
    def required_names(self) -> list[str]:
        """The parameters that a call must name."""
        return [name for name in self._keyword_only if name not in self._defaults]

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The values of parameters that a call leaves out."""
        return self._defaults

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], known: Mapping[str, Any] | None = None
    ) -> _Bound:
        """Return the arguments by position, and those that stand by name.

        Parameters
        ----------
        args, kwargs
            Those of a call.
        known
            The values of parameters that may be left out besides.

        Raises
        ------
        TypeError
            Python's, for a call that does not fit.
        """
        names = self._by_position
        if not kwargs and len(args) == len(names) and not self._keyword_only:
            return args, kwargs  # the usual case
        defaults = self._defaults if known is None else {**self._defaults, **known}
        values = list(args)
        rest = dict(kwargs)
        for name in names[len(args) :]:
            if name in rest and name in self._by_name:
                values.append(rest.pop(name))
            elif name in defaults:
                values.append(defaults[name])
            else:
                self._refuse(args, kwargs)
        for name in self._keyword_only:
            if name not in rest:
                if name not in defaults:
                    self._refuse(args, kwargs)
                rest[name] = defaults[name]
        too_many = len(args) > len(names) and not self.takes_any_number
        unknown = len(rest) > len(self._keyword_only) and not self.takes_any_name
        if too_many or unknown:
            self._refuse(args, kwargs)
        return tuple(values), rest

    def _refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._signature.bind(*args, **kwargs)
        raise AssertionError("the call fits after all")

    def paths(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """Return what to call each leaf of bound arguments: ``x``, ``x['a']``, ``args[2]``."""
        found: list[str] = []
        for position, value in enumerate(args):
            found += tree.paths(value, self.label(position))
        for name in sorted(kwargs):
            found += tree.paths(kwargs[name], name)
        return found

    def label(self, position: int) -> str:
        """Return what to call the argument at a position."""
        names = self._by_position or self._labels
        return names[position] if position < len(names) else f"args[{position}]"


def _python_signature(func: Any) -> inspect.Signature | None:
    """Return the signature of what is written in Python; None for all else.

    What wraps a function decides itself what its arguments mean, unless it only hands them on: then
    the signature is that of the wrapped function. A builtin may tell a default where it is not the
    same to give that or nothing.
    """
    inner = func
    while isinstance(inner, (partial, MethodType)):
        inner = inner.func if isinstance(inner, partial) else inner.__func__
    if not isinstance(inner, FunctionType):
        call = getattr(type(inner), "__call__", None)  # noqa: B004  (as Python looks it up)
        if inner is not func or not isinstance(call, FunctionType):
            return None
        func = MethodType(call, func)
    own = inspect.signature(func, follow_wrapped=False)
    if inner is func and _hands_on(func):
        wrapped = _python_signature(func.__wrapped__)
        return own if wrapped is None else wrapped
    return own


def _hands_on(func: FunctionType) -> bool:
    """Whether a wrapper takes ``*args, **kwargs``, and does no more with them than hand them on."""
    code = func.__code__
    flags = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if not hasattr(func, "__wrapped__") or code.co_flags & flags != flags:
        return False
    if code.co_argcount or code.co_kwonlyargcount:
        return False
    node = find(code)
    if node is None:
        return False
    names = code.co_varnames[:2]
    nodes = list(ast.walk(node))
    uses = [part for part in nodes if isinstance(part, ast.Name) and part.id in names]
    calls = [part for part in nodes if isinstance(part, ast.Call) and _handed(part) == names]
    return bool(calls) and len(uses) == 2 * len(calls)


def _handed(call: ast.Call) -> tuple[str, ...] | None:
    """Return the names in ``f(*args, **kwargs)``; None for another call."""
    if len(call.args) != 1 or len(call.keywords) != 1 or call.keywords[0].arg is not None:
        return None
    given = call.args[0].value if isinstance(call.args[0], ast.Starred) else None
    named = call.keywords[0].value
    if not isinstance(given, ast.Name) or not isinstance(named, ast.Name):
        return None
    return given.id, named.id


def _anything(*args: Any, **kwargs: Any) -> None:
    """What a function is taken for that does not tell its parameters."""
