"""NumPy's functions given lists and tuples of traced numbers in the place of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.trace.tensor import TABLE
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(0).normal(size=(3, 4))
CALLS = {
    "where": lambda x: np.where([v > 0 for v in x])[0].sum(),
    "where in two dimensions": lambda x: np.where(([x[0] > 0, True], [x[1] > 0, x[2] > 0]))[
        1
    ].sum(),
    "nonzero": lambda x: np.nonzero([v > 0 for v in x])[0].sum(),
    "fix": lambda x: np.fix([x[0] * 3, x[1] * 3]),
    "compress": lambda x: np.compress([True, False, True], list(x[:3])),
    "compress by data": lambda x: np.compress([x[0] > 0, False, True], list(x[:3])).sum(),
    "extract": lambda x: np.extract([True, False, True], (x[0], 1.0, x[1])),
    "repeat": lambda x: np.repeat([1.0, 2.0], [int(x[0] > 0), 2]).sum(),
    "gradient": lambda x: np.gradient(list(x), list(np.cumsum(x * x + 1))),
    "gradient, a distance": lambda x: np.gradient(list(x), x[0] + 5),
    "kinds": lambda x: x * np.isrealobj(list(x)) + np.iscomplexobj([x[0], 1j]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_like_numpy(call, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    assert_like_the_loop(call, X)


def listed(x):
    return [v * 1 for v in x]


def nested(x):
    return [[x[0], x[1]], [x[2], x[3]]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [listed, nested])
@pytest.mark.parametrize("further", [(), (1,)], ids=str)
def test_no_function_asks_for_the_numbers_of_a_list(make, further, monkeypatch):
    """Whatever NumPy computes of a list of numbers is followed, or refused by name."""
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    for function in TABLE:
        try:
            function(make(X[0]), *further)
        except Exception:  # NumPy does not take it
            continue
        try:
            lw.vmap(lambda x, f=function: f(make(x), *further))(X)
        except Exception as error:
            assert "making a NumPy array" not in str(error), function
