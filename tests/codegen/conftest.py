"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.poisoned import poisoning


@pytest.fixture
def poison() -> Iterator[None]:
    """Compile kernels anew, whose memory is written over when it is handed on."""
    with poisoning():
        yield
