"""What the tests of traced functions share: both ways of running."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["interpret", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force one way of running, then the other."""
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    return request.param
