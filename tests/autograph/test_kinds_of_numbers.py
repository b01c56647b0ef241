"""What operators and functions give of Python's numbers, NumPy's, and arrays: class and dtype."""

from __future__ import annotations

import itertools
import linecache

import numpy as np
import pytest

import lanewise as lw

NUMBERS = {
    "int": "int(x[0])",
    "float": "float(x[0])",
    "bool": "bool(x[0] > 0)",
    "float64": "x[0]",
    "float32": "x[0].astype(np.float32)",
    "int8": "k[0].astype(np.int8)",
    "uint8": "k[1].astype(np.uint8)",
    "np.bool": "(x[0] > 0)",
    "array": "x",
    "narrow array": "x.astype(np.float32)",
    "array of ints": "k",
    "literal int": "2",
    "literal float": "2.5",
    "literal bool": "True",
    "scalar": "np.float32(1.5)",
    "short": "np.int16(3)",
}
OF_TWO = """
    {a} + {b}; {a} * {b}; {a} - {b}; {a} / {b}; {a} // {b}; {a} % {b}; {a} < {b}; {a} == {b}
    {a} & {b}; np.where({a}, {b}, {a}); np.where(x > 0, {a}, {b});
    np.maximum({a}, {b}); np.add({a}, {b}); np.dot({a}, {b}); np.array([{a}, {b}])
    np.hypot({a}, {b}); divmod({a}, {b})
    np.outer({a}, {b}); np.clip({a}, 0, {b}); np.append({a}, {b})
    np.full(2, {a}) + {b}; [{a}, {b}][1]; ({a} if x[1] > 0 else {b}) * 1
"""
OF_ONE = """
    -{a}; +{a}; ~{a}; abs({a}); not {a}; int({a}); float({a}); bool({a}); round({a}); {a} ** 2
    np.sqrt({a}); np.round({a}); np.abs({a}); np.sign({a}); np.sum({a}); np.mean({a}); np.max({a})
    np.float32({a}); np.int64({a}); np.isnan({a}); np.square({a}); ({a}).real; ({a}).imag
    ({a}).conjugate(); np.real({a}); np.imag({a}); np.ravel({a}); np.atleast_1d({a}); np.exp({a})
    np.argmax({a})
    sum([{a}, 1]); complex({a}); np.full(2, {a}); np.zeros(2) + {a}; np.prod({a}); np.any({a})
    np.median({a}); np.std({a}); np.nan_to_num({a}); np.nan_to_num(np.asarray({a}))
    np.sort([{a}, {a}]); np.isclose({a}, 1); np.allclose({a}, 1); np.array_equal({a}, 2)
    np.array_equiv({a}, {a})
    np.heaviside({a}, 0.5); np.repeat({a}, 2); np.interp({a}, [0, 1], [0, 2]); np.stack([{a}, {a}])
    np.allclose({a}, 1) + np.array_equal({a}, {a}); isinstance({a}, float)
    isinstance({a}, np.generic)
"""
X = [np.array([1.0, 2.0, -1.5]), np.array([-2.0, 0.5, 3.0]), np.array([0.0, 1.0, 2.0])]
K = [np.array([2, 3, 1]), np.array([-1, 4, 2]), np.array([0, 1, 5])]
REFUSALS = lw.UnsupportedError, lw.ConcretizationError, lw.ControlFlowError
_files = itertools.count()


def templates(text):
    return [part.strip() for line in text.split("\n") for part in line.split(";") if part.strip()]


def defined(expression):
    name = f"<number {next(_files)}>"
    source = f"def f(x, k):\n    return {expression}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"np": np, "__name__": "numbers_of_kinds"}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def outcome(function, *args):
    """Return what a call gives, or the class of Python's of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except REFUSALS as error:
        return error
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


def assert_alike(expression, got, expected):
    if isinstance(got, REFUSALS):  # refused by name, which others look at
        return
    if isinstance(expected, type) or isinstance(got, type):
        assert isinstance(got, type), f"{expression}: {got}, where {expected} is right"
        assert issubclass(got, expected), expression
        return
    assert type(got) is type(expected), expression
    if isinstance(expected, (tuple, list)):
        for x, y in zip(got, expected, strict=True):
            assert_alike(expression, x, y)
        return
    x, y = np.asarray(got), np.asarray(expected)
    assert (x.dtype, x.shape) == (y.dtype, y.shape), expression
    np.testing.assert_allclose(x, y, rtol=1e-6, err_msg=expression)


def compare(expression):
    f = defined(expression)
    traced = lw.function(f)
    for x, k in zip(X, K, strict=True):
        expected = outcome(f, x.copy(), k.copy())
        assert_alike(expression, outcome(traced, x.copy(), k.copy()), expected)


def compare_all(expressions):
    """Compare what expressions give: in one function, but for what raises or is refused."""
    alone, calm = [], []
    for expression in expressions:
        f = defined(expression)
        found = [outcome(f, x.copy(), k.copy()) for x, k in zip(X, K, strict=True)]
        (alone if any(isinstance(x, type) for x in found) else calm).append(expression)
    together = defined(f"[{', '.join(calm)}]") if calm else list
    traced = lw.function(together)
    if calm and isinstance(outcome(traced, X[0].copy(), K[0].copy()), REFUSALS):
        alone, calm = expressions, []
    for x, k in zip(X, K, strict=True) if calm else ():
        got, expected = outcome(traced, x.copy(), k.copy()), together(x.copy(), k.copy())
        assert isinstance(got, list), f"{got} of {calm}"
        for expression, g, e in zip(calm, got, expected, strict=True):
            assert_alike(expression, g, e)
    for expression in alone:
        compare(expression)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("template", templates(OF_ONE))
def test_of_one(template):
    compare_all([template.format(a=a) for a in NUMBERS.values()])


@pytest.mark.any_backend
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("template", templates(OF_TWO))
def test_of_two(template, monkeypatch):
    """Half of the pairs, and the other half in the next template."""
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    numbers, first = list(NUMBERS.values()), templates(OF_TWO).index(template)
    for shift, a in enumerate(numbers, first):
        compare_all([template.format(a=a, b=b) for b in numbers[shift % 2 :: 2]])


@pytest.mark.any_backend
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("template", templates(OF_TWO))
def test_of_two_natively(template, monkeypatch):
    """Each once first and once second: classes are not what a backend knows."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    numbers, shift = list(NUMBERS.values()), templates(OF_TWO).index(template)
    pairs = zip(numbers, numbers[shift:] + numbers[:shift], strict=True)
    compare_all([template.format(a=a, b=b) for a, b in pairs])
