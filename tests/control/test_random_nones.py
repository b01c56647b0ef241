"""Random functions that return None or a value from within loops, against plain Python."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import lanewise as lw
from support import random_nones
from support.backends import backend, outcome
from support.comparing import define

#: Those in which a None was lost, and the first ones.
SEEDS = [66, 74, 84, 346, 411, 450, 559, 778, 812, 888, 891, *range(24)]


@pytest.mark.parametrize("name", ["interpret", "native"])
@pytest.mark.parametrize("seed", SEEDS)
def test_like_the_loop(seed, name):
    func = define(random_nones.draw(seed))
    batches = random_nones.arguments()
    rows = list(zip(*batches, strict=True))
    wants = [outcome(partial(func, *row)) for row in rows]
    with backend(name):
        called = lw.function(func)
        for row, (want, error) in list(zip(rows, wants, strict=True))[::3]:
            got, raised = outcome(partial(called, *row))
            assert type(raised) is type(error), (raised, error)
            assert got == want
        good = [i for i, (_, error) in enumerate(wants) if error is None]
        if good:
            got = lw.vmap(func)(*[batch[good] for batch in batches])
            np.testing.assert_array_equal(got, [float(wants[i][0]) for i in good])
