"""Random functions with lists that grow as the data say, against plain Python."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError, UnsupportedError
from support import (
    random_gaps,
    random_lists,
    random_names,
    random_objects,
    random_records,
    random_rows,
    random_tables,
    random_ways,
    random_yields,
)
from support.backends import backend, outcome
from support.comparing import define
from support.everywhere import assert_like_the_loop

REFUSED = (ControlFlowError, UnsupportedError, ConcretizationError)


FORMS = {
    "named": (random_lists.draw, 24),
    "anywhere": (random_lists.draw_anywhere, 24),
    "shared": (random_lists.draw_shared, 40),
    "rows": (random_rows.draw, 24),
    "records": (random_records.draw, 40),
    "names": (random_names.draw, 40),
    "ways": (random_ways.draw, 24),
    "tables": (random_tables.draw, 4),
    "gaps": (random_gaps.draw, 5),
    "objects": (random_objects.draw, 10),
    "yields": (random_yields.draw, 8),
}
CASES = [(form, seed) for form, (_, count) in FORMS.items() for seed in range(count)]


@pytest.mark.parametrize(("form", "seed"), CASES, ids=[f"{form}-{seed}" for form, seed in CASES])
def test_like_the_loop(form, seed):
    helpers = random_lists.HELPERS | random_records.HELPERS | random_names.HELPERS
    helpers |= random_objects.HELPERS | random_yields.HELPERS
    func = define(FORMS[form][0](seed), np=np, **helpers)
    batches = random_lists.arguments(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        called = lw.function(func)
        for row in zip(*batches, strict=True):
            try:
                with backend("interpret"):  # else a call may run as it stands
                    called(*row)
            except REFUSED as error:
                pytest.skip(f"refused by name: {error}")
            except Exception:
                continue  # it is compared below
        assert_like_the_loop(func, *batches, maps=False)
        rows = list(zip(*batches, strict=True))
        wants = [outcome(partial(func, *row)) for row in rows]
        good = [i for i, (_, error) in enumerate(wants) if error is None]
        for name in ("interpret", "native") if good else ():
            with backend(name):
                got = lw.vmap(func)(*[batch[good] for batch in batches])
            expected = zip(*[wants[i][0] for i in good], strict=True)
            for column, want in zip(got, expected, strict=True):
                np.testing.assert_allclose(column.astype(float), np.array(want, float), 1e-9)
