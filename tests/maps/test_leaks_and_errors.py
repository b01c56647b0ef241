"""What goes wrong, and what is said about it: the type of the error, the argument, the line."""

from __future__ import annotations

import asyncio
import copy
import functools
import math
import pickle
import threading

import numpy as np
import pytest

import lanewise as lw

X = np.arange(6.0).reshape(3, 2)
HERE = r"test_leaks_and_errors\.py:\d+: "


# --- leaks ---------------------------------------------------------------------------------------


def leaked():
    """Return an argument and a result of a trace that has ended."""
    out = []

    def leaky(row):
        out.extend((row, row * 2 + 1))  # made here
        out.append(row[:1])
        return row

    lw.vmap(leaky, autograph=False)(X)
    return out


USES = {
    "operator": lambda t: t + 1,
    "reflected": lambda t: 1 + t,
    "in place": lambda t: t.__iadd__(1),
    "negation": lambda t: -t,
    "comparison": lambda t: t < 1,
    "product": lambda t: t @ t,
    "ufunc": lambda t: np.sin(t),
    "ufunc method": lambda t: np.add.reduce(t),
    "function": lambda t: np.cumsum(t),
    "function of several": lambda t: np.concatenate([X[0], t]),
    "creation": lambda t: np.zeros_like(t),
    "method": lambda t: t.sum(),
    "reshape": lambda t: t.reshape(-1),
    "copy": lambda t: t.copy(),
    "shallow copy": lambda t: copy.copy(t),
    "attribute": lambda t: t.T,
    "index": lambda t: t[0],
    "assignment": lambda t: t.__setitem__(0, 1.0),
    "iteration": lambda t: list(t),
    "unpacking": lambda t: (lambda a, *b: a)(*t),
    "float": lambda t: float(t),
    "bool": lambda t: bool(t.any()),
    "array": lambda t: np.asarray(t),
    "item": lambda t: t.item(),
    "format": lambda t: f"{t:.2f}",
    "vmap": lambda t: lw.vmap(np.sin)(t),
    "vmap unmapped": lambda t: lw.vmap(np.add, in_dims=(0, None))(X, t),
    "vmap capture": lambda t: lw.vmap(lambda r: r + t)(X),
    "vmap result": lambda t: lw.vmap(lambda r: t)(X),
    "nested capture": lambda t: lw.vmap(lambda r: lw.vmap(lambda v: v * t)(r))(X),
    "vectorized_map": lambda t: lw.vectorized_map(np.sin, t),
    "vectorize": lambda t: lw.vectorize(np.sin)(t),
    "py_func": lambda t: lw.py_func(np.sin, [t], float),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["argument", "result", "view"])
def test_a_tensor_that_leaks_is_named_with_both_lines(use, which):
    tensor = leaked()[which]
    with pytest.raises(lw.LeakedTensorError) as info:
        USES[use](tensor)
    text = str(info.value)
    if "outside of a traced function" not in text:
        assert "out of the traced function 'leaked.<locals>.leaky'" in text
        made = {0: "an argument", 1: "made (", 2: "made ("}[which]
        assert made in text and "after the trace has ended" in text
        assert which != 1 or "# made here" in text
    assert "test_leaks_and_errors.py:" in text


def test_what_a_leaked_tensor_still_tells():
    tensor = leaked()[0]
    assert (tensor.shape, tensor.dtype, len(tensor), repr(tensor)) == (
        (2,), np.float64, 2, "Tensor(f64[2])",
    )  # fmt: skip


@pytest.mark.parametrize("autograph", [True, False])
def test_a_function_that_raises_leaves_no_tensor_that_it_is_known_to_keep(autograph):
    out = []

    def fails(row):
        out.append(row)
        raise RuntimeError("own")

    with pytest.raises(RuntimeError, match=r"^own$"):
        lw.vmap(fails, autograph=autograph)(X)
    if autograph:
        assert out == []  # put back: nothing has happened
    else:
        with pytest.raises(lw.LeakedTensorError, match=r"fails"):
            out[0] + 1


def test_leaks_of_inner_maps():
    def outer(row, autograph=True):
        inner = []
        lw.vmap(lambda v: inner.append(v * 2) or v, autograph=autograph)(row)
        return row + inner[0]  # used here

    want = np.stack([row + row[0] * 2 for row in X])
    np.testing.assert_array_equal(lw.vmap(outer)(X), want)
    with pytest.raises(lw.LeakedTensorError, match=r"<lambda>.*inner\.append.*# used here"):
        lw.vmap(functools.partial(outer, autograph=False), autograph=False)(X)
    assert np.array_equal(lw.vmap(lambda r: r + 1)(X), X + 1)  # nothing is left open


def test_other_threads_cannot_use_a_tensor():
    errors = []

    def use(func):
        try:
            func()
        except Exception as error:
            errors.append(error)

    def traced(row):
        for func in (lambda: row + 1, lambda: lw.vmap(lambda v: v + row)(X)):
            thread = threading.Thread(target=use, args=(func,))
            thread.start()
            thread.join()
        return row

    lw.vmap(traced)(X)
    assert [type(error) for error in errors] == [lw.LeakedTensorError] * 2
    assert all("in another thread" in str(error) for error in errors)


# --- what would need the numbers -----------------------------------------------------------------


def assign(array, key, value):
    array[key] = value


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda t: float(t[0]), TypeError, r"float\(\) needs the numbers.*astype\(float\)"),
        (lambda t: int(t[0]), TypeError, r"int\(\) needs the numbers"),
        (lambda t: complex(t[0]), TypeError, r"complex\(\) needs the numbers"),
        (lambda t: math.sin(t[0]), TypeError, r"float\(\) needs"),
        (lambda t: [1, 2][t[0].astype(int)], TypeError, "needs the numbers of a traced i64"),
        (lambda t: range(t[0].astype(int)), TypeError, "as a Python index or as a length"),
        (lambda t: bool(t[0]), TypeError, r"bool\(\).*np\.where instead of if"),
        (lambda t: 1 if t[0] > 0 else 2, TypeError, "traced bool"),
        (lambda t: t[0] > 0 and t[1] > 0, TypeError, "traced bool"),
        (lambda t: not t[0], TypeError, "which if, while, and, or, not call"),
        (lambda t: bool(t), ValueError, r"truth value.*Use a\.any\(\) or a\.all\(\)"),
        (lambda t: max(t), TypeError, "traced bool"),
        (lambda t: sorted(t), TypeError, "traced bool"),
        (lambda t: 1.0 in t, TypeError, r"`in` needs the numbers.*np\.any"),
        (lambda t: t.item(), ValueError, "can only convert an array of size 1"),
        (lambda t: t.tobytes(), TypeError, r"\.tobytes\(\) needs"),
        (lambda t: np.asarray(t), TypeError, "making a NumPy array of it"),
        (lambda t: np.array(t), TypeError, "making a NumPy array of it"),
        (lambda t: np.array([t[0], 1.0]), TypeError, r"Use np\.stack\(\[t"),
        (lambda t: np.array([t, t]), TypeError, r"Use np\.stack\(\[t"),
        (lambda t: assign(np.zeros(2), 0, t[0]), TypeError, r"a\[i\] = t.*np\.zeros_like"),
        (lambda t: assign(np.zeros(2), slice(None), t), TypeError, r"a\[i\] = t.*np\.zeros_like"),
        (lambda t: assign(np.zeros((2, 2)), 0, t), TypeError, r"a\[i\] = t.*np\.zeros_like"),
        (lambda t: np.zeros(2)[t[0].astype(int)], TypeError, r"a\[t\].*like=t"),
        (lambda t: f"{t[0]:.2f}", TypeError, "formatting needs"),
        (lambda t: {t: 1}, TypeError, "cannot be hashed.*list of"),
        (lambda t: {t}, TypeError, "cannot be hashed"),
        (lambda t: functools.lru_cache(lambda v: v)(t), TypeError, "cannot be hashed"),
        (lambda t: pickle.dumps(t), TypeError, "cannot be pickled.*pickle the array"),
        (lambda t: len(t[0]), TypeError, r"len\(\) of unsized object"),
        (lambda t: list(t[0]), TypeError, "iteration over a 0-d array"),
        (lambda t: np.nonzero(t), lw.DataDependentShapeError, "Use "),
        (lambda t: np.unique(t), lw.DataDependentShapeError, "Use "),
        (lambda t: t[t > 0], lw.DataDependentShapeError, r"np\.where"),
        (lambda t: t[5], IndexError, "out of bounds"),
        (lambda t: t + np.ones(3), ValueError, r"\(2,\) \(3,\)"),
        (lambda t: t.nothing, AttributeError, "nothing"),
    ],
)
def test_clear_errors_without_autograph(use, error, message):
    def around(row):
        return use(row)

    with pytest.raises(error, match=message) as info:
        lw.vmap(around, autograph=False)(X)
    if message and not message.startswith(("len", "iteration", "nothing")):
        assert "test_leaks_and_errors.py:" in str(info.value)
    assert issubclass(lw.ConcretizationError, TypeError)


# --- functions -----------------------------------------------------------------------------------


def generate(row):
    yield row


async def wait(row):
    return row


async def stream(row):
    yield row


class Callable:
    def __call__(self, row):
        yield row

    def method(self, row):
        yield row


class Inherits(Callable):
    pass


@pytest.mark.parametrize(
    "func",
    [
        generate,
        wait,
        stream,
        functools.partial(generate),
        functools.partial(functools.partial(wait)),
        Callable(),
        Inherits(),
        Callable().method,
        lambda row: (yield row),
    ],
    ids=lambda f: getattr(f, "__qualname__", type(f).__name__),
)
@pytest.mark.parametrize(
    "map_", [lw.vmap, lw.vectorize, lambda f: lw.map_fn(f, X), lambda f: lw.vectorized_map(f, X)]
)
def test_generators_and_coroutines_are_refused_by_name(func, map_):
    name = getattr(func, "__qualname__", "") or ("generate|wait|Callable|Inherits")
    with pytest.raises(TypeError, match=f"({name}) is a generator or coroutine function"):
        map_(func)


def test_what_is_no_function():
    for wrong in (3, "sin", X, None, [np.sin]):
        with pytest.raises(TypeError, match=f"vmap takes a function, not {type(wrong).__name__}"):
            lw.vmap(wrong)


def test_errors_of_the_function_pass_unchanged():
    class OwnError(Exception):
        pass

    def func(row, *, kind):
        raise kind("own")

    for kind in (OwnError, ValueError, ZeroDivisionError, StopIteration, asyncio.CancelledError):
        with pytest.raises(kind) as info:
            lw.vmap(func)(X, kind=kind)
        assert info.value.args == ("own",) and info.traceback[-1].name == "func"


# --- arguments and results -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        ("abc", TypeError, r"args\[0\] has dtype <U3"),
        (["a", "b"], TypeError, r"args\[0\]\[0\] has dtype <U1"),
        (np.array(["a"]), TypeError, r"args\[0\] has dtype <U1"),
        (b"abc", TypeError, r"args\[0\] has dtype \|S3"),
        (object(), TypeError, r"args\[0\] has dtype object"),
        ({1, 2}, TypeError, r"args\[0\] has dtype object"),
        (np.array([object()]), TypeError, r"args\[0\] has dtype object"),
        ((X, {"k": np.array([None])}), TypeError, r"args\[0\]\[1\]\['k'\] has dtype object"),
        (np.array(["2020"], "M8[Y]"), TypeError, r"args\[0\] has dtype datetime64"),
        (np.zeros(3, [("a", "f8")]), TypeError, r"args\[0\] has dtype \[\('a'"),
        (np.ma.array([1.0], mask=[True]), TypeError, r"args\[0\] is a masked array"),
        ([[1, 2], [3]], ValueError, r"inhomogeneous(?s:.)*in args\[0\]"),
        ({"a": [[1, 2], [3]]}, ValueError, r"inhomogeneous(?s:.)*in args\[0\]"),
        (generate(X), TypeError, r"args\[0\] has dtype object"),
        (lambda: 1, TypeError, r"args\[0\] has dtype object"),
    ],
    ids=lambda a: type(a).__name__,
)
def test_arguments_that_are_no_arrays_of_numbers(argument, error, message):
    with pytest.raises(error, match=message):
        lw.vmap(lambda a: a)(argument)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda t: "text", ValueError, "<lambda> returned the result of type str"),
        (lambda t: (t, {"a": "text"}), ValueError, r"the result\[1\]\['a'\] of type str"),
        (lambda t: [object()], ValueError, r"the result\[0\] of type object"),
        (lambda t: generate(t), ValueError, "of type generator"),
        (lambda t: map(abs, t), ValueError, "of type map"),
        (lambda t: {1, 2}, ValueError, "of type set"),
        (lambda t: np.sin, ValueError, "of type ufunc"),
        (lambda t: range(3), ValueError, "of type range"),
        (lambda t: lw.TensorSpec(()), ValueError, "of type TensorSpec"),
        (lambda t: np.array(["a"]), TypeError, "the result of type ndarray has dtype <U1"),
        (
            lambda t: (1, np.array([None])),
            TypeError,
            r"the result\[1\] of type ndarray has dtype object",
        ),
        (lambda t: np.datetime64("2020"), TypeError, "datetime64"),
        (lambda t: np.ma.array([1.0]), TypeError, "masked array"),
        (lambda t: 2**70, OverflowError, "too large"),
    ],
)
def test_results_that_are_no_arrays_of_numbers(result, error, message):
    with pytest.raises(error, match=message):
        lw.vmap(result)(X)


# --- errors of the data, at run time -------------------------------------------------------------


@pytest.mark.parametrize("chunk", [None, 1, 2, 10])
def test_errors_of_the_data_name_the_first_example_and_the_line(chunk):
    matrices = np.stack([np.eye(2)] * 7)
    matrices[3] = matrices[5] = 0.0

    def func(m):
        shifted = m * 2
        return np.linalg.inv(shifted)  # the line

    with pytest.raises(
        np.linalg.LinAlgError, match=r"Singular(?s:.)*in example 3 \(.*# the line\)"
    ):
        lw.vmap(func, chunk_size=chunk)(matrices)
    with pytest.raises(np.linalg.LinAlgError, match="in example 3 "):
        lw.map_fn(func, matrices)


def test_errors_of_what_does_not_depend_on_the_example():
    singular = np.zeros((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match=r"in example 0 \(.*test_leaks_and_errors"):
        lw.vmap(lambda m: np.linalg.inv(m), in_dims=None, axis_size=3)(singular)
    with pytest.raises(np.linalg.LinAlgError, match=r"in example 0 \("):
        lw.vmap(lambda x, m: x @ np.linalg.inv(m), in_dims=(0, None))(X, singular)


def test_floating_point_errors_that_the_caller_asks_for():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="in example 2 "):
        lw.vmap(lambda x: 1 / x)(np.array([1.0, 2.0, 0.0, 0.0]))
