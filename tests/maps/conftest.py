"""What the tests of maps share: counting compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

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
