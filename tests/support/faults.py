"""Faults put into Lanewise: each function of a package made to fail in turn, wherever it is known.

`functions` are the places, `failing` is a context in which one of them raises. What a program gives
then is compared with NumPy's answer by test_survive.py.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

from lanewise.codegen import kernel_cache
from lanewise.ops.registry import Absent
from lanewise.passes import pipeline, survive
from lanewise.runtime import dispatch, few, kernels, tiers

#: What is loaded at its first use must not get to know a function that fails just then.
LOADED = few, kernels


class FaultError(RuntimeError):
    """What a function raises that is made to fail."""


def modules(package: str) -> Iterator[ModuleType]:
    """Yield the modules of a package, and of those in it."""
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        yield importlib.import_module(info.name)


def functions(package: str) -> dict[str, Callable[..., Any]]:
    """Return the functions of a package, by module and name."""
    found = {}
    for module in modules(package):
        for name, value in vars(module).items():
            inner = getattr(value, "__wrapped__", value)
            if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
                found[f"{module.__name__.partition('.')[2]}.{name}"] = value
    return found


def forget() -> None:
    """Forget what was planned and written, so that the next call does it again."""
    dispatch._cache.clear()
    tiers._ledgers.clear()
    kernel_cache.KERNELS.clear()
    survive._told.clear()


@contextmanager
def failing(function: Callable[..., Any]) -> Generator[list[int]]:
    """Make a function raise `FaultError` while the ``with`` block lasts; count how often it did."""
    count = [0]

    def broken(*args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        raise FaultError("put in by a test")

    functools.update_wrapper(broken, function)
    places = [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.startswith("lanewise.") and module is not None
        for name, value in list(vars(module).items())
        if value is function
    ]
    steps = {
        id(known): tuple(
            [replace(step, run=broken) if step.run is function else step for step in known.steps]
        )
        for known in pipeline.PIPELINES
    }
    before = [(module, name, getattr(module, name)) for module, name in places]
    try:
        for module, name in places:
            setattr(module, name, broken)
        with ExitStack() as patches:
            for known in pipeline.PIPELINES:
                patches.enter_context(patch.object(known, "steps", steps[id(known)]))
            yield count
    finally:
        for module, name, value in before:
            setattr(module, name, value)


@contextmanager
def failing_rule(primitive: Any) -> Generator[list[int]]:
    """Make the native form of a primitive raise `FaultError`; count how often it did."""
    count = [0]

    def broken(*args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        raise FaultError("put in by a test")

    before = primitive.lanes
    assert not isinstance(before, Absent)
    functools.update_wrapper(broken, before)
    primitive.lanes = broken
    try:
        yield count
    finally:
        primitive.lanes = before
