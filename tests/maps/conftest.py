"""What the tests of maps share: counting compilations, and an operation that must be looped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lanewise.ops import least_squares
from lanewise.ops.registry import absent
from lanewise.runtime import dispatch


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Return a function that tells how many graphs were compiled since it was last asked."""
    count = 0
    original = dispatch.compile

    def compile(graph):
        nonlocal count
        count += 1
        return original(graph)

    def since() -> int:
        nonlocal count
        number, count = count, 0
        return number

    monkeypatch.setattr(dispatch, "compile", compile)
    monkeypatch.setattr(dispatch, "_cache", {})
    yield since


@pytest.fixture
def lstsq_is_looped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the batching rule of least squares away, as if NumPy's function were all there is."""
    monkeypatch.setattr(least_squares.lstsq, "batch", absent("one problem at a time"))
    monkeypatch.setattr(dispatch, "_cache", {})
