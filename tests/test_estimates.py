"""What measures estimates: `benchmarks.estimates` at a small size."""

from __future__ import annotations

import pytest

from benchmarks import estimates
from benchmarks.programs import programs
from lanewise.codegen import work


@pytest.fixture(scope="module")
def rows():
    (program,) = [program for program in programs() if program.name == "jacobi_1d"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "SECONDS", 0.0)
        patch.delenv("LANEWISE_BACKEND", raising=False)
        patch.setenv("LANEWISE_CACHE", "0")
        return estimates.of_program(program, program.small)


def test_all_estimates_are_measured(rows):
    whats = [estimates.NUMPY, estimates.BEFORE, estimates.WRITTEN, estimates.KERNELS]
    assert [row.what for row in rows] == whats
    assert all([row.estimated > 0 and row.measured > 0 for row in rows])


def test_an_estimate_is_the_sum_of_its_parts(rows):
    (row,) = [row for row in rows if row.what == estimates.NUMPY]
    places = estimates.constants()
    priced = [row.parts[name] * table[key] for name, (table, key) in places.items()]
    # Of a price in caches and one in memory it is the larger.
    assert row.parts[""] + sum(priced) == pytest.approx(row.estimated)


def test_constants_are_as_before_when_they_were_fitted(rows):
    before = {name: table[key] for name, (table, key) in estimates.constants().items()}
    fitted = estimates.fit([row for row in rows if row.what == estimates.NUMPY])
    assert fitted.keys() == before.keys()
    assert before["CALL_NS"] == work.CALL_NS
    assert before == {name: table[key] for name, (table, key) in estimates.constants().items()}


def test_the_summary_tells_of_each(rows):
    text = estimates.summary(rows)
    assert text.count("jacobi_1d") == 4 and estimates.KERNELS in text
