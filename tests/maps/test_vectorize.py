"""`lw.vectorize` against `np.vectorize`: changing two letters changes nothing but the speed."""

from __future__ import annotations

import enum
import functools
import inspect

import numpy as np
import pytest

import lanewise as lw
from support.oracle import assert_same

X = np.arange(3.0)
COLUMN = np.arange(4.0)[:, None]


def both(make, *args, **kwargs):
    """Return what the same call gives with both, as (results or error)."""
    answers = []
    for vectorize in (np.vectorize, lw.vectorize):
        try:
            answers.append(make(vectorize)(*args, **kwargs))
        except Exception as error:
            answers.append(error)
    return answers


SAME = {
    "broadcasting": (lambda v: v(lambda a, b: a + b), (X, COLUMN), {}),
    "three": (lambda v: v(lambda a, b, c: a * b - c), (X, COLUMN, 2), {}),
    "scalars": (lambda v: v(lambda a, b: a + b), (1, 2), {}),
    "float and int": (lambda v: v(lambda a, b: a + b), (1.5, 2), {}),
    "lists": (lambda v: v(lambda a, b: a + b), ([1, 2], [[3], [4]]), {}),
    "float32": (lambda v: v(lambda a: a * 2), (X.astype("f4"),), {}),
    "float32 and a number": (lambda v: v(lambda a, b: a * b), (X.astype("f4"), 2.0), {}),
    "int8": (lambda v: v(lambda a: a + 1), (np.arange(3, dtype="i1"),), {}),
    "complex": (lambda v: v(lambda a: a * 1j), (X,), {}),
    "bool": (lambda v: v(lambda a: a > 1), (X,), {}),
    "several outputs": (lambda v: v(lambda a, b: (a + b, a > b, 3)), (X, COLUMN), {}),
    "constants": (lambda v: v(lambda a: 7), (X,), {}),
    "ufunc": (lambda v: v(np.add), (X, 1), {}),
    "builtin": (lambda v: v(abs), (-X,), {}),
    "partial": (lambda v: v(functools.partial(np.power, 2.0)), (X,), {}),
    "0-d": (lambda v: v(lambda a: a + 1), (np.array(3),), {}),
    "many dimensions": (
        lambda v: v(lambda a, b: a * b),
        (np.ones((1,) * 31 + (2,)), X[:, None]),
        {},
    ),
    # otypes
    "otypes": (lambda v: v(lambda a: a > 1, otypes=[float]), (X,), {}),
    "otypes text": (lambda v: v(lambda a: (a, a + 1), otypes="fd"), (X,), {}),
    "otypes types": (lambda v: v(lambda a: (a, a), otypes=[np.int64, "f4"]), (X,), {}),
    "otypes of a constant": (lambda v: v(lambda a: 2, otypes=["D"]), (X,), {}),
    # keyword arguments and excluded ones
    "keyword": (lambda v: v(lambda a, b=1: a + b), (X,), {"b": COLUMN}),
    "default": (lambda v: v(lambda a, b=1: a + b), (X,), {}),
    "all keywords": (lambda v: v(lambda a, b=1: a + b), (), {"a": X, "b": 1.5}),
    "excluded name": (lambda v: v(lambda a, p: a * sum(p), excluded=["p"]), (X,), {"p": [1, 2]}),
    "excluded position": (lambda v: v(lambda a, p: a * sum(p), excluded={1}), (X, [1, 2]), {}),
    "excluded text": (lambda v: v(lambda a, s: a + len(s), excluded={"s"}), (X,), {"s": "abc"}),
    "not excluded by place": (lambda v: v(lambda a, p: a * p, excluded=["p"]), (X, X), {}),
    "excluded polynomial": (
        lambda v: v(lambda x, p: functools.reduce(lambda r, c: r * x + c, p, 0), excluded={1, "p"}),
        (X, [1, 2, 3]),
        {},
    ),
    # signature
    "vectors": (lambda v: v(np.convolve, signature="(n),(m)->(k)"), (np.eye(4), [1, 2, 1]), {}),
    "to scalars": (lambda v: v(lambda a: a.sum(), signature="(n)->()"), (np.eye(3),), {}),
    "to one scalar": (lambda v: v(lambda a: a.sum(), signature="(n)->()"), (X,), {}),
    "two outputs": (
        lambda v: v(lambda a: (a.mean(), a - a.mean()), signature="(n)->(),(n)"),
        (np.eye(4),),
        {},
    ),
    "matrices": (
        lambda v: v(np.matmul, signature="(m,k),(k,n)->(m,n)"),
        (np.ones((5, 1, 2, 3)), np.ones((4, 3, 2))),
        {},
    ),
    "of scalars": (lambda v: v(lambda a, b: a + b, signature="(),()->()"), (X, COLUMN), {}),
    "signature and keyword": (
        lambda v: v(lambda a, b: a @ b, signature="(n),(n)->()"),
        (np.eye(3),),
        {"b": X},
    ),
    "signature and excluded": (
        lambda v: v(lambda a, k: a * k, signature="(n)->(n)", excluded={"k"}),
        (np.eye(3),),
        {"k": 2},
    ),
    "signature and otypes": (
        lambda v: v(lambda a: a.sum(), signature="(n)->()", otypes="f"),
        (np.eye(3),),
        {},
    ),
    "spaces": (lambda v: v(lambda a: a.sum(), signature=" (n) -> ( ) "), (np.eye(3),), {}),
    # size 0
    "empty with otypes": (lambda v: v(lambda a: a, otypes="f"), (X[:0],), {}),
    "empty, broadcast": (lambda v: v(lambda a, b: a + b, otypes="d"), (np.zeros((0, 1)), X), {}),
    "empty with signature": (
        lambda v: v(lambda a: a, signature="(n)->(n)", otypes="i"),
        (np.zeros((0, 5)),),
        {},
    ),
    "no arguments": (lambda v: v(lambda: 3), (), {}),
    "all excluded": (lambda v: v(lambda a: a, excluded={0}), ([1, 2],), {}),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_results(name):
    make, args, kwargs = SAME[name]
    expected, got = both(make, *args, **kwargs)
    assert not isinstance(expected, Exception), expected
    assert type(got) is type(expected)
    if isinstance(expected, (tuple, np.ndarray)):
        assert_same(got, expected)
    else:
        assert got == expected


ERRORS = {
    "not broadcasting": (lambda v: v(lambda a, b: a + b), (X, X[:2]), {}),
    "size 0": (lambda v: v(lambda a: a), (X[:0],), {}),
    "size 0, two": (lambda v: v(lambda a, b: a), (X[:0], 1), {}),
    "size 0, new": (lambda v: v(lambda a: [a], signature="()->(n)", otypes="i"), (X[:0],), {}),
    "otype": (lambda v: v(lambda a: a, otypes="Z"), (X,), {}),
    "otypes": (lambda v: v(lambda a: a, otypes=3), (X,), {}),
    "too few": (lambda v: v(np.convolve, signature="(n),(m)->(k)"), (X,), {}),
    "core sizes": (lambda v: v(lambda a, b: a, signature="(n),(n)->(n)"), (X, X[:2]), {}),
    "core rank": (lambda v: v(lambda a: a, signature="(m,n)->(n)"), (X,), {}),
    "outputs": (lambda v: v(lambda a: (a, a), signature="(n)->(n)"), (X,), {}),
    "one output": (lambda v: v(lambda a: a, signature="(n)->(n),(n)"), (X,), {}),
    "output rank": (lambda v: v(lambda a: a.sum(), signature="(n)->(n)"), (X,), {}),
    "output size": (lambda v: v(lambda a: a[:2], signature="(n)->(n)"), (X,), {}),
    "no arrow": (lambda v: v(lambda a: a, signature="(x)"), (X,), {}),
    "no bracket": (lambda v: v(lambda a: a, signature="(x)->(y"), (X,), {}),
    "no brackets": (lambda v: v(lambda a: a, signature="n->n"), (X,), {}),
    "empty name": (lambda v: v(lambda a: a, signature="(n,)->(n)"), (X,), {}),
    "no function": (lambda v: v(3), (X,), {}),
    "complex to float": (lambda v: v(lambda a: a * 1j, otypes="d"), (X,), {}),
    "unexpected keyword": (lambda v: v(lambda a: a), (X,), {"b": 2}),
    "the function's own": (lambda v: v(lambda a: a.nothing), (X,), {}),
    "too many": (lambda v: v(lambda a: a), (X, X), {}),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_same_errors(name):
    make, args, kwargs = ERRORS[name]
    expected, got = both(make, *args, **kwargs)
    assert isinstance(expected, Exception) and isinstance(got, Exception)
    assert type(got) is type(expected), got
    if "size 0" in name or "otype" in name or "arrow" in name:
        assert str(got) == str(expected)


def test_what_no_array_of_numbers_holds_is_refused():
    with pytest.raises(lw.UnsupportedError, match="output 0 of type str has dtype <U1"):
        lw.vectorize(lambda a: "x")(X)
    with pytest.raises(ValueError, match="it returned None"):
        lw.vectorize(lambda a: None)(X)
    with pytest.raises(ValueError, match=r"it returned \{"):
        lw.vectorize(lambda a: {"a": a})(X)
    with pytest.raises(lw.UnsupportedError, match=r"kwargs\['b'\] has dtype <U1"):
        lw.vectorize(lambda a, b: a)(X, b=["x"])
    with pytest.raises(lw.UnsupportedError, match=r"args\[1\] has dtype object"):
        lw.vectorize(lambda a, b: a)(X, [None])
    with pytest.raises(lw.UnsupportedError, match="otypes has dtype object"):
        lw.vectorize(lambda a: a, otypes="O")
    with pytest.raises(ValueError, match=r"without signature it must be a scalar.*lw\.vmap"):
        lw.vectorize(lambda a: np.stack([a, a]))(X)
    with pytest.raises(ValueError, match="otypes has 1 entries for 2 outputs"):
        lw.vectorize(lambda a: (a, a), otypes="d")(X)
    with pytest.raises(TypeError, match="excluded must hold names and positions"):
        lw.vectorize(lambda a: a, excluded=[1.5])


def test_messages_name_the_sizes_and_inside_a_trace_the_line():
    def f(row):
        return lw.vectorize(lambda a, b: a + b)(row, np.ones(5))  # sizes

    with pytest.raises(ValueError, match=r"(?s)\(3,\).*\(5,\).*vectorize\(.*<lambda>\) .*sizes"):
        lw.vmap(f)(np.ones((2, 3)))

    def g(row):
        return lw.vectorize(np.dot, signature="(n),(n)->()")(row, np.ones(5))

    with pytest.raises(
        ValueError, match=r"'n' of argument 1: 5 vs 3 \(.*test_vectorize.py:\d+: return"
    ):
        lw.vmap(g)(np.ones((2, 3)))


def test_decorators():
    @lw.vectorize
    def plain(a):
        """What it does."""
        return a + 1

    @lw.vectorize(otypes=[float], excluded=["k"], doc="another text")
    def announced(a, k=2):
        """What it does."""
        return a * k

    @lw.vectorize(signature="(n)->()")
    def summed(a):
        """What it does."""
        return a.sum()

    assert plain.__name__ == "plain" and plain.__doc__ == "What it does."
    assert announced.__name__ == "announced" and announced.__doc__ == "another text"
    assert summed.__name__ == "summed" and summed.__doc__ == "What it does."
    assert inspect.signature(plain).parameters.keys() == {"a"}
    assert repr(lw.vectorize(np.sin)) == "<vectorize of sin>"
    assert lw.vectorize(np.sin, doc="text").__doc__ == "text"
    assert_same(plain([1, 2]), np.array([2, 3]))
    assert_same(announced([1, 2], k=3), np.array([3.0, 6.0]))
    assert_same(summed(np.eye(2)), np.ones(2))
    for wrong in [(), (3,), (np.sin, np.cos)]:
        with pytest.raises(TypeError):
            lw.vectorize(otypes="d")(*wrong)

    def generate(a):
        yield a

    with pytest.raises(TypeError, match="generate is a generator"):
        lw.vectorize(generate)
    with pytest.raises(TypeError, match="generate is a generator"):
        lw.vectorize(otypes="d")(generate)


class Model:
    scale = 2.0
    sine = lw.vectorize(np.sin)

    @lw.vectorize
    def method(self, a, b=1):
        """Of one number."""
        return a * self.scale + b

    @lw.vectorize(signature="(n)->()", excluded={2, "power"})
    def norm(self, a, power):
        return (a**power).sum() * self.scale

    @staticmethod
    @lw.vectorize
    def static(a):
        return a + 1


def test_methods():
    model = Model()
    assert_same(model.method(X, COLUMN), X * 2 + COLUMN)
    assert_same(model.method(X, b=5), X * 2 + 5)
    assert_same(Model.method.__get__(model)(X), X * 2 + 1)
    assert_same(model.norm(np.eye(3), 2), np.full(3, 2.0))
    assert_same(model.norm(np.eye(3), power=3), np.full(3, 2.0))
    assert_same(model.static(X), X + 1)
    assert_same(model.sine(X), np.sin(X))
    assert model.method.__doc__ == "Of one number."


def test_what_the_function_appends_is_what_the_loop_appends():
    calls = []
    f = lw.vectorize(lambda a: calls.append(1) or a)
    f(np.ones((10, 10)))
    assert calls == [1] * 100


def test_results_are_fresh():
    x = X.copy()
    got = lw.vectorize(lambda a, b: (a, b, a))(x, 1.0)
    for index, result in enumerate(got):
        assert result.flags.writeable and not np.shares_memory(result, x)
        assert not any(np.shares_memory(result, other) for other in got[:index])
    assert_same(lw.vectorize(lambda a: a)(np.broadcast_to(1.0, (2, 3))), np.ones((2, 3)))


# --- options, and no elements ---------------------------------------------------------------------


class How(enum.Enum):
    DOUBLE = 1
    SHIFT = 2


def with_options(x, how="double", function=None, limit=0.0):
    if how == "double" and x > limit:
        return x * 2
    if how is How.SHIFT:
        return x - 1.0
    if function is not None:
        return function(x)
    return x


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (("none",), {}),
        (("none", np.sin), {}),
        ((None, None), {}),
        ((How.SHIFT,), {}),
        (("none", abs, np.array([1.0, 2.0])), {}),
        ((), {"how": "double", "limit": 2.0}),
        ((), {"how": How.SHIFT}),
        ((), {"function": lambda x: x + 3.0, "how": "other"}),
    ],
)
def test_options_are_constants(args, kwargs):
    xs = np.array([[1.0, -2.0], [3.0, 4.0]])
    wanted = np.vectorize(with_options, otypes=[float])(xs, *args, **kwargs)
    for options in ({}, {"otypes": [float]}):
        found = lw.vectorize(with_options, **options)(xs, *args, **kwargs)
        np.testing.assert_array_max_ulp(found, wanted, 1)  # sines in kernels


def test_options_beside_a_signature():
    def func(row, how, scale):
        return row.sum() * scale if how == "sum" else row.max() + scale

    xs = np.array([[1.0, -2.0], [3.0, 4.0]])
    for make in (np.vectorize, lw.vectorize):
        found = make(func, signature="(n),(),()->()")(xs, "sum", 2.0)
        np.testing.assert_array_equal(found, [-2.0, 14.0])
    found = lw.vectorize(func, signature="(n),()->()")(xs, "sum", 2.0)
    np.testing.assert_array_equal(found, [-2.0, 14.0])


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"otypes": [float]}, (0, 3)),
        ({"otypes": [float, int]}, (0,)),
        ({"otypes": "f", "signature": "(n)->()"}, (0, 3)),
        ({"otypes": "d", "signature": "(n)->(n)"}, (2, 0, 3)),
    ],
)
def test_no_elements(options, shape):
    def never(x):
        raise AssertionError("called without an element")

    wanted = np.vectorize(never, **options)(np.zeros(shape))
    found = lw.vectorize(never, **options)(np.zeros(shape))
    for one, other in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, wanted)],
                          strict=True):  # fmt: skip
        assert one.shape == other.shape
        assert one.dtype == other.dtype


def test_no_elements_with_a_signature_alone():
    """Dask asks so for the dtype of a result; NumPy would have to call the function."""
    found = lw.vectorize(lambda row: row.mean(), signature="(n)->()")(np.zeros((0, 0), np.float32))
    assert found.shape == (0,)
    assert found.dtype == np.float32
    found = lw.vectorize(lambda row: np.stack([row.sum(), 1]), signature="(n)->(k)")(
        np.zeros((0, 3))
    )
    assert found.shape == (0, 2)
