"""The programs of ``benchmarks/programs``, small: NumPy's results in both backends, traced once."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from benchmarks.programs import Program, leaves, programs
from benchmarks.programs.run import LANEWISE, NUMPY, measure, ratios, report
from benchmarks.suite.measure import Plan

PROGRAMS = {program.name: program for program in programs()}


def test_there_are_programs_enough():
    assert len(PROGRAMS) >= 36


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program_gives_what_numpy_gives(program: Program, backend: str, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    if list(PROGRAMS).index(program.name) % 3 != 1:  # the others with several vectors in flight
        monkeypatch.setenv("LANEWISE_LANES", "1")
    args = program.inputs(program.small)
    before = [np.copy(x) for x in args]
    expected = program.function(*args)
    traced = lw.function(program.function)
    for _ in range(2):
        program.check(traced(*args), expected)
    assert traced.experimental_get_tracing_count() == 1
    for x, y in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_wrong_result_is_told():
    program = PROGRAMS["atax"]
    args = program.inputs(program.small)
    found = program.function(*args)
    program.check(found, found)
    with pytest.raises(AssertionError):
        program.check(found * (1 + 1e-6), found)
    with pytest.raises(AssertionError, match="dtype"):
        program.check(found.astype(np.float32), found)
    with pytest.raises(AssertionError, match="results"):
        program.check((found, found), found)


def test_the_table_names_each_program_and_its_ratios():
    program = PROGRAMS["trisolv"]
    row = measure(program, Plan(rounds=1, seconds=0.01, turn=1e-4), scale=program.small)
    assert {NUMPY, LANEWISE} <= set(row.timings)
    text = report([row])
    assert program.title in text
    ratio = row.ratio(NUMPY)
    assert ratio is not None
    assert f"{ratio:.2f}" in text
    kept = ratios([row])["trisolv"]
    assert kept.pop("NumPy") == ratio
    assert kept == ({} if row.numba is None else {"Numba": row.ratio(row.numba)})
    assert len(leaves(program.function(*program.inputs(program.small)))) == 1
