"""`explain`, `profile` and ``check=True`` of random programs: they hold, and change nothing."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given

import lanewise as lw
from support import random_control_flow, random_programs
from support.searching import searching


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)


@searching(2)
@given(random_control_flow.cases())
def test_control_flow(case):
    look(case.function(lambda x: x), case)


@searching(2)
@given(random_programs.cases())
def test_programs(case):
    look(case.program.function(), case)


def look(func, case):
    for level in case.maps[:-1]:
        func = lw.vmap(func, tuple(level.in_dims), chunk_size=level.chunk)
    level = case.maps[-1]
    dims = tuple(level.in_dims)
    mapped = lw.vmap(func, dims, chunk_size=level.chunk)
    with np.errstate(all="ignore"):
        try:
            wanted = mapped(*case.arrays)
        except Exception as error:
            with pytest.raises(type(error)):  # not a CheckError, where both fail alike
                lw.vmap(func, dims, check=True)(*case.arrays)
            return
        got = lw.vmap(func, dims, chunk_size=level.chunk, check=True)(*case.arrays)
        seen = lw.explain(mapped, *case.arrays)
        measured = lw.profile(mapped, repeat=1)(*case.arrays)
    np.testing.assert_equal(got, wanted)
    np.testing.assert_equal(measured.result, wanted)
    assert [row.operation for row in measured.rows] == [row.operation for row in seen.rows]
    for found in (seen, measured):
        assert str(found) and found.html()
        ElementTree.fromstring(found.svg())
        assert all(memory.peak >= 0 for memory in found.memory)
    parts = dict(measured.parts.named())
    assert min(parts.values()) >= 0
    assert sum(parts.values()) == pytest.approx(measured.parts.total, rel=1e-6)
