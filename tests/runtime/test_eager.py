"""Single operations that are carried out as they are recorded."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.ir.graph import Signature
from lanewise.ir.types import TOKEN, array_type
from lanewise.ops.checks import check
from lanewise.ops.elementwise import elementwise
from lanewise.ops.host import py_func
from lanewise.runtime.eager import run
from support.steps import parsed

X = np.array([1.0, 4.0])


def test_results_are_arrays_of_the_announced_types():
    signature = elementwise(np.sqrt).signature([array_type(X.dtype, ())], {"dtype": None})
    (found,) = run(signature, [X[1]])
    assert type(found) is np.ndarray and (found.dtype, found.shape) == (X.dtype, ())
    assert found == 2


def test_several_results():
    signature = elementwise(np.frexp).signature([array_type(X.dtype, (2,))], {"dtype": None})
    mantissas, exponents = run(signature, [X])
    np.testing.assert_array_equal(mantissas, [0.5, 0.5])
    assert exponents.dtype == np.int32 and exponents.tolist() == [1, 3]


def test_an_operation_with_regions():
    (op,) = parsed("""
        graph(%0: bool[], %1: f64[2]) {
          %2 = cond(%0, %1)
            graph(%0: f64[2]) { %1 = negative(%0) return %1 }
            graph(%0: f64[2]) { return %0 }
          return %2
        }""").operations
    for side, wanted in ((True, -X), (False, X)):
        (found,) = run(op.signature, [np.array(side), X])
        np.testing.assert_array_equal(found, wanted)


def test_an_effect_happens_once_and_gives_its_token():
    calls = []

    def note(x):
        calls.append(x.tolist())
        return [x * 2]

    type_ = array_type(X.dtype, (2,))
    params = {"func": note, "types": (type_,), "vectorized": False}
    signature: Signature = py_func.signature([TOKEN, type_], params)
    token, found = run(signature, [None, X])
    assert token is None and calls == [[1, 4]]
    np.testing.assert_array_equal(found, X * 2)


def test_an_effect_without_results_gives_its_token_alone():
    """Else the token of a loop that prints would grow with its iterations."""
    signature = py_func.signature([TOKEN], {"func": lambda: [], "types": (), "vectorized": False})
    assert run(signature, [None]) == [None]


def test_a_check_that_fails_raises():
    signature = check.signature([array_type(np.dtype(bool), ())], {"make": lambda: KeyError("no")})
    assert run(signature, [np.array(True)]) == []
    with pytest.raises(KeyError, match="no"):
        run(signature, [np.array(False)])
