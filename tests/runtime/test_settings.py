"""What the environment says of how graphs run."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.runtime.settings import COMPILE, INTERPRET, backend


@pytest.mark.parametrize(
    "text, found", [("", None), ("interpret", INTERPRET), ("native", COMPILE), (None, None)]
)
def test_the_backend_that_is_forced(text, found, monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    if text is not None:
        monkeypatch.setenv("LANEWISE_BACKEND", text)
    assert backend() == found


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "Native")
    with pytest.raises(ValueError, match="LANEWISE_BACKEND must be interpret or native"):
        backend()
    with pytest.raises(ValueError, match="LANEWISE_BACKEND must be interpret or native"):
        lw.vmap(lambda x: x * 3)(np.arange(4.0))
