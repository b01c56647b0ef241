"""``vmap(f, check=True)``: what is compared, what is found, and what is said about it."""

from __future__ import annotations

import re
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw
from lanewise.api.check import SAMPLE, ulps
from lanewise.trace import tree

X = np.random.default_rng(0).normal(size=(50, 4))
Pair = namedtuple("Pair", "first second")


@dataclass
class Point:
    x: np.ndarray
    n: int


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)


def is_traced(x):
    """Whether a function is being recorded: what it gives then differs where a test says so."""
    return isinstance(x, lw.Tensor)


def shifted(x):
    x[0] = 5.0
    return x


def counted(x):
    n = 0
    while x[0] < 3:
        x = x + 1
        n += 1
    return n, x


def inner_columns(x):
    return lw.vmap(lambda r, s: r * s, (0, None), out_dims=1)(x.reshape(2, 2), x[0])


RIGHT = [
    (lambda x: (np.sin(x).sum(), {"k": x > 0, "n": 3}), {}, (X,)),
    (
        lambda x, w: Pair(x @ w, None),
        {"in_dims": (1, None), "out_dims": -1},
        (X.T, np.ones((4, 3))),
    ),
    (lambda x, w: x @ w, {"in_dims": (1, None), "chunk_size": 7}, (X.T, np.ones((4, 3)))),
    (lambda x, w: (x, w), {"in_dims": (0, None), "out_dims": (-1, None)}, (X, np.ones(2))),
    (lw.vmap(lambda x: x * 2 if x > 0 else 0), {}, (X,)),
    (lambda x: lw.vmap(lambda v: np.exp(v) * x.sum())(x), {}, (X,)),
    (inner_columns, {}, (X,)),
    (lambda d: d["x"] * d["s"][0], {"in_dims": ({"x": 0, "s": [None]},)}, ({"x": X, "s": [2.0]},)),
    (lambda p: Point(p.x * p.n, 3), {"in_dims": (Point(0, None),)}, (Point(X, 2),)),
    (lambda x: x, {}, (np.arange(5),)),
    (lambda x: x.sum(), {}, (np.zeros((0, 3)),)),
    (lambda x: np.linalg.inv(x.reshape(2, 2)), {}, (X,)),
    (lambda x: np.add.reduce(x.astype(np.float32)), {}, (X,)),
    (lambda x: x[0] / 0, {}, (X,)),
    (lambda: np.ones(2), {"axis_size": 3}, ()),
    (np.log, {}, (X,)),
    (lambda x: lw.grad(lambda y: (y * y).sum())(x), {}, (X,)),
    (shifted, {}, (X,)),
    (counted, {}, (X,)),
    (lambda a, b: a - b, {}, ([1, 2, 3], [0.5, 1.5, 2.5])),
    (lambda x: x > 0, {}, (X.astype(">f8"),)),
    (lambda x: x.astype(complex) * 1j, {}, (X,)),
    (lambda x: 1 if x[0] > 0 else x[1], {}, (X,)),  # some examples give Python's numbers
    (lambda x: None, {}, (X,)),
]


@pytest.mark.parametrize(("func", "how", "args"), RIGHT)
def test_what_is_right_passes_and_is_not_changed(func, how, args):
    copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    got, plain = lw.vmap(func, check=True, **how)(*args), lw.vmap(func, **how)(*args)
    (found, own), (wanted, structure) = tree.flatten(got), tree.flatten(plain)
    assert own == structure
    np.testing.assert_equal(found, wanted)
    for x, copy in zip(args, copies, strict=True):
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, copy)


def test_keyword_arguments_methods_and_decorators():
    class Scale:
        by = 3.0

        def __init__(self):
            self.call = lw.vmap(self.one, check=True)

        def one(self, x, *, plus):
            return x * self.by + plus

        @lambda f: lw.vmap(f, check=1e-6)
        def decorated(self, x):
            return x * self.by

    np.testing.assert_array_equal(Scale().call(X, plus=np.ones(4)), X * 3 + 1)
    np.testing.assert_array_equal(Scale().decorated(X), X * 3)


def off(x):
    return x * (1 + 1e-6 * is_traced(x))


def off_in_one(x):
    wrong = is_traced(x) * (x == X[7])
    return {"a": x[0], "b": (x * 2, np.round(x * 100).astype(int) + wrong)}


def another_shape(x):
    return x[:2] if is_traced(x) else x


def another_structure(x):
    return (x,) if is_traced(x) else [x]


def another_dtype(x):
    return x.astype(np.float32) if is_traced(x) else x


def missing_nan(x):
    return x[0] if is_traced(x) else np.nan * x[0]


def another_infinity(x):
    return x[0] * 0 + (np.inf if is_traced(x) else -np.inf)


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (
            off,
            r"vmap\(off\): example 0 differs from the plain function in the value of "
            r"the result\[0\]:"
            r"\n  the mapped function gives np.float64\(0\.125730346.*\)"
            r"\n  the plain function gives  np.float64\(0\.125730221.*\)"
            r"\n  they are 1\.26e-07 apart, [\d,]+ ULP \(4 of 4 elements differ\)"
            r"\n  \(of 50 examples 16 are compared\)",
        ),
        (another_shape, r"in the shape of the result:\n.*gives \(2,\)\n.*gives  \(4,\)"),
        (another_structure, r"in the structure of the result:\n.*gives \(\*,\)\n.*gives  \[\*\]"),
        (another_dtype, r"in the dtype of the result:\n.*gives float32\n.*gives  float64"),
        (missing_nan, r"in the value of the result:\n.*float64\(0\.12.*\)\n.*float64\(nan\)"),
        (another_infinity, r"in the value of the result:\n.*\(inf\)\n.*\(-inf\)"),
    ],
)
def test_what_differs_is_named(func, message):
    with pytest.raises(lw.CheckError, match=message) as caught:
        lw.vmap(func, check=True)(X)
    assert isinstance(caught.value, AssertionError)


def test_the_first_example_that_differs_and_the_path_of_it():
    few = X[:SAMPLE]  # all of them are compared
    with pytest.raises(lw.CheckError) as caught:
        lw.vmap(off_in_one, check=True)(few)
    assert (
        "example 7 differs from the plain function in the value of the result['b'][1][0]:"
        in str(caught.value)
    )
    assert "they are 1 apart (4 of 4 elements differ)" in str(caught.value)
    assert "(of 16 examples 16 are compared)" in str(caught.value)


def test_which_examples_are_compared():
    seen = []

    def func(x):
        if not is_traced(x):
            seen.append(int(x))
        return x

    mapped = lw.vmap(func, check=True)
    mapped(np.arange(1000))
    first = list(seen)
    assert len(first) == SAMPLE and first == sorted(set(first))
    assert first[0] == 0 and first[-1] == 999
    seen.clear()
    mapped(np.arange(1000))
    assert seen == first  # the same at each call
    seen.clear()
    mapped(np.arange(3))
    assert seen == [0, 1, 2]
    seen.clear()
    lw.vmap(func)(np.arange(3))
    assert not seen


def test_tolerances():
    np.testing.assert_allclose(lw.vmap(off, check=1e-3)(X), X, rtol=1e-5)
    lw.vmap(lambda x: off(x.astype(np.float32)), check=True)(X)  # single precision has less
    with pytest.raises(lw.CheckError):
        lw.vmap(off, check=1e-7)(X)

    def cancels(x):  # what is left of the sum is of the size of its rounding
        return x.sum() - x[0] - x[1] - x[2] - x[3] + 1e-17 * is_traced(x)

    lw.vmap(cancels, check=True)(X)


def fails_at(limit, traced, plain):
    def func(x):
        kind = traced if is_traced(x) else plain
        if kind is not None and x > limit:
            raise kind("too large")
        return x

    return func


def test_examples_that_raise():
    for check in (False, True):
        with pytest.raises(KeyError, match="too large") as caught:
            lw.vmap(fails_at(30, KeyError, KeyError), check=check)(np.arange(50))
        assert "in example 31" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("traced", "plain", "message"),
    [
        (
            ValueError,
            KeyError,
            r"example 31 differs: the plain function raises KeyError: 'too large'",
        ),
        (
            ValueError,
            None,
            r"example 31 differs: the plain function returns .*31.*raises ValueError",
        ),
        (None, ValueError, r"example \d+ differs: the plain function raises ValueError: too large"),
    ],
)
def test_examples_of_which_one_side_raises(traced, plain, message):
    with pytest.raises(lw.CheckError, match=message):
        lw.vmap(fails_at(30, traced, plain), check=True)(np.arange(50))


def test_an_example_that_should_have_raised_before():
    def func(x):
        if x > (40 if is_traced(x) else 20):
            raise ValueError("too large")
        return x

    with pytest.raises(
        lw.CheckError, match=r"example (2\d|3\d) differs: the plain function raises"
    ):
        lw.vmap(func, check=True)(np.arange(50))


def test_errors_of_the_call_stay_as_they_are():
    with pytest.raises(ValueError, match=r"the batch has 3 examples in args\[1\].* but 50 in args"):
        lw.vmap(np.add, check=True)(X, X[:3])
    with pytest.raises(ValueError, match="nothing to map over"):
        lw.vmap(np.add, check=True)()
    with pytest.raises(ValueError, match=r"in_dims has 1 entries for 2"):
        lw.vmap(np.add, in_dims=(0,), check=True)(X, X)
    with pytest.raises(lw.UnsupportedError, match="array2string"):
        lw.vmap(lambda x: np.array2string(x), check=True)(X)
    with pytest.raises(ValueError, match="in_dims is 3 for"):
        lw.vmap(np.sin, in_dims=3, check=True)(X)
    with pytest.raises(TypeError, match="args"):
        lw.vmap(np.sin, check=True)(np.array(["a", "b"]))


@pytest.mark.parametrize("check", ["yes", 2.0, 0.0, 1, 0, -1e-3, float("nan"), np.True_, [True]])
def test_bad_tolerances(check):
    with pytest.raises(ValueError, match="check is True, False, or a tolerance between 0 and 1"):
        lw.vmap(np.sin, check=check)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_draws_cannot_be_compared(randomness):
    with pytest.raises(ValueError, match='check=True needs randomness="error"'):
        lw.vmap(np.sin, check=True, randomness=randomness)


def test_within_traces():
    inner = lw.vmap(np.sin, check=True)
    with pytest.raises(lw.UnsupportedError, match="Put check=True on the outermost vmap") as caught:
        lw.vmap(lambda x: inner(x))(X)
    assert __file__ in str(caught.value)
    with pytest.raises(lw.UnsupportedError, match="Put check=True on the outermost vmap"):
        lw.function(inner)(X)
    np.testing.assert_allclose(lw.vmap(lambda x: inner(x), check=True)(X), np.sin(X))
    np.testing.assert_allclose(lw.vmap(inner, check=True)(X), np.sin(X))
    assert inner(X).shape == X.shape


def test_maps_within_are_plain_too():
    """The reference of a map in a map is NumPy's as well: what is recorded for it is not used."""

    def func(x):
        return lw.vmap(lambda v: v + 1.0 * is_traced(v))(x)

    with pytest.raises(lw.CheckError, match=r"example 0 differs .* the value of the result\[0\]"):
        lw.vmap(func, check=True)(X)


def test_traced_functions_are_compared_with_their_python():
    calls = []

    @lw.function
    def func(x):
        calls.append(isinstance(x, lw.Tensor))
        return x * 2

    np.testing.assert_array_equal(lw.vmap(func, check=True)(X[:2]), X[:2] * 2)
    assert calls == [True, False, False]


def test_side_effects_happen_again_for_what_is_compared():
    seen = []
    mapped = lw.vmap(
        lambda x: lw.py_func(lambda v: seen.append(float(v)) or v, [x], float), check=True
    )
    np.testing.assert_array_equal(mapped(np.arange(3.0)), np.arange(3.0))
    assert seen == [0, 1, 2, 0, 1, 2]


def test_functions_that_assign_variables_are_refused():
    total = lw.Variable(0.0, name="total")

    def func(x):
        total.assign_add(1.0)
        return x

    with pytest.raises(lw.UnsupportedError, match=r"the variable 'total' is assigned .*check=True"):
        lw.vmap(func, check=True)(X)
    assert total.value == 0.0
    total.assign(2.0)  # it may be assigned as before
    assert total.value == 2.0
    by = lw.Variable(3.0)
    np.testing.assert_array_equal(lw.vmap(lambda x: x * by, check=True)(X), X * 3)


def test_no_warnings_of_the_plain_function(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "native")  # kernels give none, so there is none at all
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.vmap(lambda x: np.exp(x * 1e4) * 0 + 1 / (x - x), check=True)(X)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        lw.vmap(lambda x: 1 / (x - x), check=True)(X)


def test_distances_in_ulps():
    one = np.float64(1)
    assert ulps(one, np.nextafter(one, 2)) == 1 and ulps(one, np.nextafter(one, 0)) == 1
    tiny = np.nextafter(0.0, 1.0)
    assert ulps(tiny, -tiny) == 2 and ulps(np.float64(0), -np.float64(0)) == 0
    assert (
        ulps(np.float32(1), np.float32(2)) == 2**23 and ulps(np.float16(1), np.float16(2)) == 1024
    )


def test_the_documented_number_of_examples():
    assert re.search(rf"compares up to {SAMPLE} examples", lw.vmap.__doc__)
