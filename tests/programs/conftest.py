"""Programs run by NumPy here, and compiled where the environment says so: `make test` does both."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile nothing, unless all is to be compiled."""
    if not os.environ.get("LANEWISE_BACKEND"):
        monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
