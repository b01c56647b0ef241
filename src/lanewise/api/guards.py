"""Guards: Python code that tells in one go whether a call is like one before, and takes it apart.

Flattening a structure, making keys of its leaves and looking them up takes half a microsecond for
each leaf. A call that is made again and again gets a function of its own instead, which compares
every part with what it was and returns the arrays. What it does not know well it does not know: the
call goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from types import MethodType
from typing import Any, TypeAlias
from weakref import ref

import numpy as np
import optree

from lanewise.api.remembered import CONSTANTS
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.trace import tree
from lanewise.trace.tree import NAMESPACE
from lanewise.trace.variable import Variable

#: Takes the positional and the named arguments of a call; returns its arrays, or None.
Guard: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...] | None]

#: A structure of more leaves is not worth the code.
MOST_LEAVES = 1000
_CONTAINERS = (tuple, list, dict)


def guard(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arrays: Sequence[Any],
    known: Set[tuple[Any, ...]] | None = None,
) -> Guard | None:
    """Return what recognizes calls like one; None if there is something in it that it cannot.

    Parameters
    ----------
    args, kwargs
        The call.
    arrays
        The arrays in it, in order; they must be all that the guard finds.
    known
        If it is given, calls with any Python numbers are like that one, but those whose
        `numbers_of` are in it, now or later.

    Examples
    --------
    >>> x = np.ones(3)
    >>> known = guard((x, [2, "a"]), {"k": None}, [x])
    >>> known((x + 1, [2, "a"]), {"k": None})
    (array([2., 2., 2.]),)
    >>> known((x + 1, [2.0, "a"]), {"k": None}) is None
    True
    """
    writer = _Writer(known)
    try:
        writer.container("args", args)
        writer.container("kwargs", kwargs)
    except _Unknown:
        return None
    found = writer.arrays
    if len(found) != len(arrays) or not all(map(_is_given_as, found, arrays)):
        return None
    return writer.finish()


def numbers_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the Python numbers of a call that a trace has as constants."""
    return tuple([x for x in tree.flatten((args, kwargs))[0] if type(x) in CONSTANTS])


def _is_given_as(x: Any, array: Any) -> bool:
    """Whether an array of a call is a leaf of it: itself, or a scalar of NumPy's as an array."""
    return x is array or (
        isinstance(x, np.generic) and array.dtype == x.dtype and array.shape == ()
    )


class _Unknown(Exception):  # noqa: N818 (nothing went wrong)
    """Ends the writing of a guard."""


class _Writer:
    """Writes the lines of a guard."""

    def __init__(self, known: Set[tuple[Any, ...]] | None) -> None:
        self.arrays: list[Any] = []
        self._but = known
        self._numbers: list[str] = []
        self._lines: list[str] = []
        self._names: dict[str, Any] = {"nd": np.ndarray, "asarray": np.asarray}
        self._known: dict[Any, str] = {}
        self._given: list[str] = []
        self._count = 0

    def container(self, name: str, value: Any) -> None:
        """Compare a container, which the variable `name` holds."""
        kind = type(value)
        self._require(f"type({name}) is {kind.__name__} and len({name}) == {len(value)}")
        if not value:
            return
        if kind is dict:
            children, _, keys, _ = optree.tree_flatten_one_level(value, namespace=NAMESPACE)
            parts = []
            for key, _child in zip(keys, children, strict=True):
                if type(key) not in (str, int):
                    raise _Unknown
                parts.append(self._fresh())
                self._lines.append(f"{parts[-1]} = {name}[{key!r}]")
        else:
            children = list(value)
            parts = [self._fresh() for _ in children]
            self._lines.append(f"{', '.join(parts)}, = {name}")
        for part, child in zip(parts, children, strict=True):
            if type(child) in _CONTAINERS:
                self.container(part, child)
            else:
                self._leaf(part, child)

    def _leaf(self, name: str, value: Any) -> None:
        kind = type(value)
        if kind is np.ndarray:
            if value.dtype.kind not in NUMERIC_KINDS or not value.dtype.isnative:
                raise _Unknown
            dtype, shape = self._refer(value.dtype), self._refer(value.shape)
            self._require(
                f"type({name}) is nd and {name}.dtype is {dtype} and {name}.shape == {shape}"
            )
            self._array(value, name)
        elif issubclass(kind, np.generic) and np.dtype(kind).kind in NUMERIC_KINDS:
            self._require(f"type({name}) is {self._refer(kind)}")
            self._array(value, f"asarray({name})")
        elif value is None:
            self._require(f"{name} is None")
        elif self._but is not None and kind in CONSTANTS:
            self._require(f"type({name}) is {kind.__name__}")
            self._numbers.append(name)
        elif kind in (bool, int, str, bytes) or (kind is float and value and value == value):
            self._require(f"type({name}) is {kind.__name__} and {name} == {self._refer(value)}")
        elif kind in (float, complex):  # NaN is unlike itself, and 0.0 like -0.0
            self._require(f"type({name}) is {kind.__name__} and repr({name}) == {repr(value)!r}")
        elif kind is Variable:
            self._require(f"{name} is {self._refer(ref(value))}()")
        elif isinstance(value, (np.ndarray, np.generic, MethodType)) or hasattr(kind, "__array__"):
            raise _Unknown  # a bound method is made anew wherever it is looked up
        else:
            try:
                self._require(f"{name} is {self._refer(ref(value))}()")
            except TypeError:
                raise _Unknown from None

    def _array(self, value: Any, given: str) -> None:
        self.arrays.append(value)
        self._given.append(given)
        if len(self.arrays) > MOST_LEAVES:
            raise _Unknown

    def _require(self, condition: str) -> None:
        self._lines.append(f"if not ({condition}): return None")

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _refer(self, thing: Any) -> str:
        """Return a name for an object, the same for equal ones of a class."""
        key = type(thing), thing
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"k{len(self._known)}"
            self._names[name] = thing
        return name

    def finish(self) -> Guard:
        if self._but is not None:
            self._names["but"] = self._but
            self._require(f"({''.join([f'{name}, ' for name in self._numbers])}) not in but")
        given = "".join([f"{name}, " for name in self._given])
        body = ["try:", *[f"    {line}" for line in self._lines], "except KeyError: return None"]
        text = "\n    ".join(["def guard(args, kwargs):", *body, f"return ({given})"])
        exec(compile(text, "<lanewise guard>", "exec"), self._names)
        # Taken out of its own globals, or each guard would be a cycle for the collector.
        return self._names.pop("guard")
