"""`Variable`: assigning, NumPy, maps, functions, tapes and copies."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw

X = np.array([1.0, 2.0, 3.0])

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.matmul, divmod, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge,
]  # fmt: skip
BITS = [
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
]  # fmt: skip
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow,
]  # fmt: skip


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)


# --- assigning ------------------------------------------------------------------------------------


def test_values_are_assigned() -> None:
    v = lw.Variable(X, name="weights")
    before = v.value
    v.assign([4, 5, 6])
    same(v.value, np.array([4.0, 5.0, 6.0]))
    v.assign_add(1)
    v.assign_sub(np.array([1.0, 0.0, 0.0], np.float32))
    same(v.value, np.array([4.0, 6.0, 7.0]))
    v.assign(lw.Variable(X) * 2)
    same(v.value, 2 * X)
    same(before, X)  # who has read a value, keeps it
    assert repr(v) == "Variable(array([2., 4., 6.]), name='weights')"


def test_elements_are_assigned() -> None:
    v = lw.Variable(np.zeros((2, 3)))
    v[0] = X
    v[1, 1:] = 7
    v[np.array([True, False]), 0] = -1.0
    v[lw.Variable(1), 0] = lw.Variable(5.0)
    same(v.value, np.array([[-1.0, 2.0, 3.0], [5.0, 7.0, 7.0]]))


@pytest.mark.parametrize("function", IN_PLACE)
def test_operators_in_place_assign(function: Callable[[Any, Any], Any]) -> None:
    v, expected = lw.Variable(X), X.copy()
    same_one = function(v, 2.0)
    assert same_one is v
    same(v.value, function(expected, 2.0))


def test_what_a_variable_is_made_of() -> None:
    source = X.copy()
    v = lw.Variable(source, dtype=np.float32, trainable=False)
    source[0] = 9
    same(v.value, X.astype(np.float32))
    assert (v.dtype, v.shape, v.ndim, v.size, len(v)) == (np.float32, (3,), 1, 3, 3)
    assert not v.trainable and lw.Variable(1).trainable
    assert lw.Variable(1).name != lw.Variable(1).name
    assert not v.value.flags.writeable
    same(lw.Variable(v).value, v.value)
    assert lw.Variable(X.astype(">f8")).dtype.isnative


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda v, n: v.assign(np.ones(2)), ValueError, r"'v' has shape \(3,\), not \(2,\)"),
        (lambda v, n: v.assign(1.0), ValueError, r"'v' has shape \(3,\), not \(\)"),
        (lambda v, n: v.assign_add(np.ones((2, 3))), ValueError, r"assign_add: .*'v'.*\(2, 3\)"),
        (lambda v, n: v.assign_sub(np.ones(2)), ValueError, r"assign_sub: .*'v'.*\(2,\)"),
        (lambda v, n: v.assign(1j * X), TypeError, "'v' has dtype float64.*complex128"),
        (lambda v, n: n.assign([0.5, 1]), TypeError, "'n' has dtype int64.*float64"),
        (lambda v, n: n.assign_add(0.5), TypeError, "'n' has dtype int64.*float64"),
        (lambda v, n: operator.itruediv(n, 2), TypeError, "truediv in place: .*'n'.*float64"),
        (lambda v, n: v.assign("text"), lw.UnsupportedError, "given to assign"),
        (lambda v, n: operator.setitem(v, 5, 1.0), IndexError, "index 5"),
        (lambda v, n: operator.setitem(v, 0, 1j), TypeError, "complex"),
        (lambda v, n: np.add(X, 1, out=v), TypeError, "out= cannot be a Variable"),
        (lambda v, n: np.add.at(v, [0], 1.0), TypeError, "cannot change a Variable"),
        (lambda v, n: operator.setitem(v.value, 0, 1.0), ValueError, "read-only"),
        (lambda v, n: setattr(v, "shape", (1,)), AttributeError, "shape"),
        (lambda v, n: v.nothing, AttributeError, "nothing"),
        (lambda v, n: lw.Variable("text"), lw.UnsupportedError, "value of a Variable"),
        (lambda v, n: lw.Variable([None]), lw.UnsupportedError, "value of a Variable"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    call: Callable[[Any, Any], Any], error: type[Exception], message: str
) -> None:
    v, n = lw.Variable(X, name="v"), lw.Variable([1, 2], name="n")
    with pytest.raises(error, match=message):
        call(v, n)
    same(v.value, X)
    same(n.value, np.array([1, 2]))


# --- as an array ----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", BINARY)
@pytest.mark.parametrize("other", [2.0, np.float64(2), np.array([3.0, 1.0, 2.0]), lw.Variable(X)])
def test_operators(function: Callable[[Any, Any], Any], other: Any) -> None:
    v = lw.Variable(X)
    if function is operator.matmul and np.ndim(other) == 0:
        return
    plain = np.asarray(other) if isinstance(other, lw.Variable) else other
    same(function(v, other), function(X, plain))
    same(function(other, v), function(plain, X))


@pytest.mark.parametrize("function", BITS)
def test_operators_of_integers(function: Callable[[Any, Any], Any]) -> None:
    n, plain = lw.Variable([5, 6]), np.array([5, 6])
    same(function(n, 3), function(plain, 3))
    same(function(3, n), function(3, plain))
    same(function(plain, n), function(plain, plain))


def test_operators_of_one() -> None:
    v, n = lw.Variable(-X), lw.Variable([5, 6])
    for function in (operator.neg, operator.pos, abs):
        same(function(v), function(-X))
    same(~n, ~np.array([5, 6]))


def test_functions_of_numpy() -> None:
    v = lw.Variable(X)
    same(np.sin(v), np.sin(X))
    same(np.add(X, v, where=X > 1, out=np.zeros(3)), np.array([0.0, 4.0, 6.0]))
    same(np.add.reduce(v), X.sum())
    same(scipy.special.expit(v), scipy.special.expit(X))
    same(np.concatenate([v, X, v]), np.concatenate([X, X, X]))
    same(np.where(v > 1, v, 0), np.where(X > 1, X, 0))
    same(np.einsum("i,i->", v, v), X @ X)
    same(np.linalg.norm(x=v), np.linalg.norm(X))
    same(np.array([v, v]), np.array([X, X]))
    same(np.stack([v[0], v[1]]), X[:2])
    assert np.shape(v) == (3,) and np.ndim(v) == 1 and np.size(v) == 3
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(v, 1.0)


def test_as_arrays() -> None:
    v = lw.Variable(X)
    found = np.asarray(v)
    found[0] = 9  # one's own copy
    same(v.value, X)
    same(np.asarray(v, np.float32), X.astype(np.float32))
    same(np.array(v, copy=False), X)
    with pytest.raises(ValueError, match="copy"):
        np.array(v, np.float32, copy=False)


def test_attributes_and_protocols() -> None:
    v = lw.Variable([[1.0, 2.0], [3.0, 4.0]])
    same(v.T, v.value.T)
    same(v.mean(axis=0), np.array([2.0, 3.0]))
    same(v.reshape(4)[lw.Variable(2)], np.float64(3))
    same(v.astype(np.float32), v.value.astype(np.float32))
    assert [row.tolist() for row in v] == [[1, 2], [3, 4]]
    assert 4.0 in v and 5.0 not in v
    one = lw.Variable(1.5)
    assert float(one) == 1.5 and int(one) == 1 and bool(one) and complex(one) == 1.5
    assert f"{one:.2f}" == "1.50" and "Variable" in f"{one}"
    assert ["a", "b"][lw.Variable(1)] == "b"
    assert max(lw.Variable(X)) == 3 and sum(lw.Variable(X)) == 6
    assert len({one, one, v}) == 2  # by identity, as objects


# --- in functions ---------------------------------------------------------------------------------


def test_variables_are_read_inside() -> None:
    v, xs = lw.Variable(X), np.arange(6.0).reshape(2, 3)
    mapped = lw.vmap(lambda x: x @ v + v[0])
    same(mapped(xs), xs @ X + 1)
    v.assign(2 * X)  # the next call sees it
    same(mapped(xs), xs @ (2 * X) + 2)
    same(lw.vmap(lambda x: x * 2)(v), 4 * X)  # as an argument
    same(lw.grad(lambda x: (x**2).sum())(v), 4 * X)
    same(lw.grad(lambda x: (x * v).sum())(X), 2 * X)
    found = lw.grad(lambda tree: (tree["v"] ** 3).sum())({"v": v})
    same(found["v"], 3 * (2 * X) ** 2)


def test_branches_and_loops_on_variables() -> None:
    limit = lw.Variable(10.0)

    def grow(x: Any) -> Any:
        while x < limit:
            x = x * 2 if limit > 0 else x
        return x

    same(lw.vmap(grow)(X), np.array([16.0, 16.0, 12.0]))
    limit.assign(3.0)
    same(lw.vmap(grow)(X), np.array([4.0, 4.0, 3.0]))
    same(lw.vmap(lw.grad(grow))(X), np.array([4.0, 2.0, 1.0]))


def test_tapes_watch_variables_in_maps() -> None:
    v = lw.Variable(2.0)

    def slope(x: Any) -> Any:
        with lw.GradientTape() as tape:
            y = x * v**2
        return tape.gradient(y, v)

    same(lw.vmap(slope)(X), 4 * X)
    same(lw.function(slope)(3.0), np.array(12.0))


def test_copies_are_variables_of_their_own() -> None:
    v = lw.Variable(X, trainable=False, name="v")
    for twin in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        twin.assign_add(1.0)
        same(twin.value, X + 1)
        same(v.value, X)
        assert twin.name == "v" and not twin.trainable
        assert not twin.value.flags.writeable
        twin[0] = 5.0
        same(twin.value, np.array([5.0, 3.0, 4.0]))
