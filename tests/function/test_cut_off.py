"""Calls of which a trace cuts something off: the function itself runs, also the next times."""

from __future__ import annotations

import numpy as np

import lanewise as lw
from lanewise.runtime import dispatch


def test_calls_after_one_that_is_cut_off_run_the_function_itself():
    def counts(x):
        return np.bincount(x, minlength=3)

    traced = lw.function(counts)
    small, large = np.array([0, 1, 1]), np.array([0, 7, 1])
    runs = []
    for x in [small, *[large] * 200, *[small] * 200]:
        with dispatch.observing() as seen:
            np.testing.assert_array_equal(traced(x), counts(x))
        runs.append(len(seen))
    assert runs[0] == 1
    assert sum(runs[1:201]) < 20
    assert sum(runs[201:]) > 50
