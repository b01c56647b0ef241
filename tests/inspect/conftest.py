"""What the tests of inspection share: an operation that must be looped."""

from __future__ import annotations

import pytest

from lanewise.ops import least_squares
from lanewise.ops.registry import absent
from lanewise.runtime import dispatch


@pytest.fixture
def lstsq_is_looped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the batching rule of least squares away, as if NumPy's function were all there is."""
    monkeypatch.setattr(least_squares.lstsq, "batch", absent("one problem at a time"))
    monkeypatch.setattr(dispatch, "_cache", {})
