"""The way of a call in ``docs/how-it-works.md``: its functions are there, called in that order."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

import lanewise as lw
from docs.test_docs import DOCS
from lanewise.api import kept
from lanewise.codegen import kernel_cache
from lanewise.runtime import dispatch, kernels, tiers

PAGE = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
WAY = PAGE[PAGE.index("## 6. The way of one call") :]
PACKAGES = "ir|ops|trace|autograph|passes|transforms|codegen|runtime|api|inspect|errors"
NAMES = re.findall(rf"`((?:{PACKAGES})(?:\.\w+)+)`", PAGE)


FILES = re.findall(rf"`((?:{PACKAGES})/[\w/]+\.\w+)`", PAGE)


@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_files_are_there(name):
    assert (Path(lw.__file__).parent / name).exists()


def found(name: str) -> Any:
    """Return what a name of the page names."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(["lanewise", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(f"docs/how-it-works.md names {name}, which is not there")


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_names_are_there(name):
    found(name)


def code_of(name: str) -> CodeType:
    """Return the code of a function, or of what makes an object of a class."""
    thing = found(name)
    if isinstance(thing, type):
        thing = thing.__init__
    elif isinstance(thing, property):
        thing = thing.fget
    thing = inspect.unwrap(thing)
    return thing.__code__


def stations(begin: str) -> list[str]:
    """Return the stations of the table under the paragraph that begins so."""
    text = WAY[WAY.index(begin) :]
    rows = text[text.index("| --- |") :].split("\n\n")[0].splitlines()[1:]
    return [re.match(r"\| `([\w.]+)` \|", row)[1] for row in rows]


def called(call: Callable[[], Any]) -> list[CodeType]:
    """Return the code that a call runs, in the order in which each is first entered."""
    codes: dict[CodeType, None] = {}

    def entered(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes.setdefault(frame.f_code)

    sys.setprofile(entered)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(codes)


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Give the call of the page, of a function that nobody has called."""

    def f(x, w):
        y = x @ w
        if y > 3:
            y = y - 1
        return y

    f.__code__ = f.__code__.replace()  # conversion is kept for this object
    kept.forget()
    dispatch.forget()
    tiers._ledgers.clear()
    kernel_cache.KERNELS.clear()
    monkeypatch.setattr(kernels, "_codes", WeakValueDictionary())
    monkeypatch.setattr(kernels, "_recent", {})
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    vmapped = lw.vmap(f, in_dims=(0, None))
    xs, w = np.ones((1000, 2)), np.array([1.0, 2.5])
    yield lambda: vmapped(xs, w)


@pytest.mark.parametrize(
    ("begin", "earlier", "forced"),
    [
        ("**Recording**", 1, ""),
        ("**The first call**", 0, ""),
        ("**Small work goes to NumPy.**", 0, ""),
        ("**Large work goes to kernels.**", 0, "native"),
    ],
)
def test_a_call_goes_this_way(begin, earlier, forced, mapped, monkeypatch):
    if forced:
        monkeypatch.setenv("LANEWISE_BACKEND", forced)
    for _ in range(earlier):
        mapped()
    kept.forget()  # it is recorded again
    codes = called(mapped)
    names = stations(begin)
    assert len(names) > 5
    missing = [name for name in names if code_of(name) not in codes]
    assert not missing, f"the call does not come to {missing}"
    assert sorted(names, key=lambda name: codes.index(code_of(name))) == names
