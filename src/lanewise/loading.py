"""Modules that are loaded at their first use: LLVM and the compiler take half of an import."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Late:
    """A module that is loaded when something of it is asked for."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def late(name: str) -> Any:
    """Return what stands for a module of Lanewise until something of it is asked for.

    Examples
    --------
    >>> late("lanewise.runtime.pool").get_threads() >= 1
    True
    """
    return _Late(name)
