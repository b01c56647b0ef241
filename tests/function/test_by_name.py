"""What functions may reach and still run as plain Python where a part of them is not followed."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import inspect
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import lanewise as lw
from lanewise.api.reads import Open, names_in
from lanewise.errors import ConcretizationError

MATRICES = np.array([[[4.0, 1.0], [0.0, 9.0]], [[1.0, 0.5], [0.0, 4.0]]])
NAMES, DAYS = np.array(["up", "down"]), np.array(["2020-01-01"], "M8[D]")
TABLE = np.zeros(2, dtype=[("a", float), ("b", int)])
OPTIONS = types.SimpleNamespace(w=2.0)
WORDS = re.compile("a+")


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)


@functools.lru_cache(None)
def identity(n):
    return np.eye(n)


@contextlib.contextmanager
def scope():
    yield 1


class Timer(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


timer, DAY = Timer(), datetime.date(2020, 1, 1)


@timer
def timed(m):
    return root(m)


@functools.singledispatch
def kind(x):
    return 1


class Cached:
    @functools.cached_property
    def two(self):
        return 2


def root(m):
    """It is not followed."""
    return scipy.linalg.sqrtm(m)


def tagged(m):
    return root(m)


tagged.version = "1"


def in_scope(m):
    with scope() as one:
        return root(m) * one


def in_time(m):
    with timer:
        return root(m)


def suppressed(m):
    with contextlib.suppress(ValueError):
        return root(m)


REACHED = {
    "hasattr": lambda m: root(m) * hasattr(m, "shape"),
    "getattr": lambda m: root(m) * getattr(np, "pi"),  # noqa: B009
    "a default": lambda m: root(m) * getattr(m, "scale", 2),
    "namespace": lambda m: root(m) * types.SimpleNamespace(w=2).w,
    "namespace outside": lambda m: root(m) * OPTIONS.w,
    "cached": lambda m: root(m) + identity(2),
    "cached property": lambda m: root(m) * Cached().two,
    "attribute of a function": tagged,
    "signature": lambda m: root(m) * len(inspect.signature(tagged).parameters),
    "texts": lambda m: root(m) * len(re.findall("a", "aba")) * len(WORDS.findall("aab")),
    "a date": lambda m: root(m) * datetime.date(2020, 1, 1).year,
    "version": lambda m: root(m) * (sys.version_info > (3, 0)),
    "a date outside": lambda m: root(m) * DAY.year,
    "suppress": suppressed,
    "scope": in_scope,
    "timer": in_time,
    "decorated": timed,
    "names": lambda m: root(m) * len(NAMES),
    "records": lambda m: root(m) * (1 + TABLE["a"].sum()),
    "dates": lambda m: root(m) * len(DAYS),
}


@pytest.mark.parametrize("name", REACHED)
@pytest.mark.filterwarnings("ignore::lanewise.errors.PlainLoopWarning")
def test_it_runs_as_it_stands(name):
    f = REACHED[name]
    np.testing.assert_array_equal(lw.vmap(f)(MATRICES), np.stack([f(m) for m in MATRICES]))
    np.testing.assert_array_equal(lw.function(f)(MATRICES[0]), f(MATRICES[0]))


@pytest.mark.filterwarnings("ignore::lanewise.errors.PlainLoopWarning")
def test_what_changes_is_seen():
    """A trace is not taken for the function where what it reaches is another now."""
    kept = {"w": 1.0}
    ways = {
        "a namespace": (lambda m: root(m) * OPTIONS.w, lambda w: setattr(OPTIONS, "w", w)),
        "a dict": (lambda m: root(m) * kept["w"], lambda w: kept.update(w=w)),
        "records": (lambda m: root(m) * TABLE["a"][0], lambda w: TABLE["a"].__setitem__(0, w)),
    }
    for f, put in ways.values():
        mapped, traced = lw.vmap(f), lw.function(f)
        for w in (2.0, 3.0, 3.0, 4.0, 2.0):
            put(w)
            np.testing.assert_allclose(mapped(MATRICES)[0], w * root(MATRICES[0]))
            np.testing.assert_allclose(traced(MATRICES[0]), w * root(MATRICES[0]))
            np.testing.assert_allclose(f(MATRICES[0]), w * root(MATRICES[0]))  # it is left so
    OPTIONS.w = 2.0


@functools.lru_cache(None)
def remembered(n):
    return np.eye(n)


def test_what_cached_functions_gave_may_be_changed():
    """So no trace is kept of who calls them."""
    xs = np.ones((3_000, 2))
    f = lw.vmap(lambda x: remembered(2) @ x)
    for k in range(14):
        remembered(2)[0, 0] = k // 4
        np.testing.assert_array_equal(f(xs)[1], [k // 4, 1.0])


@dataclasses.dataclass
class Square:
    x: Any

    def __post_init__(self):
        if self.x.shape != (2, 2):
            raise ValueError("no square")


def test_errors_below_made_code_are_no_refusals(recwarn):
    """Dataclasses have an `__init__` without source, which calls what has one."""
    with pytest.raises(ValueError, match="no square"):
        lw.vmap(lambda m: Square(m).x * 2)(np.ones((2, 3, 3)))
    assert not [w for w in recwarn if issubclass(w.category, lw.errors.PlainLoopWarning)]


OPENED: dict[str, tuple[Callable[..., Any], str]] = {
    "environment": (lambda m: root(m) * len(os.environ), "class `_Environ`"),
    "a name of data": (lambda m, n="T": root(getattr(m, n)), "with a name that is computed"),
    "vars": (lambda m: root(m) * len(vars(Cached)), "it calls `vars`"),
    "now": (lambda m: root(m) * datetime.datetime.now().year, "it asks for the time"),
    "today": (lambda m: root(m) * datetime.date.today().year, "it asks for the time"),
    "today by a date": (lambda m: root(m) * DAY.today().year, "it asks for the time"),
    "dispatch": (lambda m: root(m) * kind(2), "`mappingproxy`"),
    "modules": (lambda m: root(m) * len(sys.modules), "it uses `sys.modules`"),
    "frames": (lambda m: root(m) * len(inspect.stack()), "it uses `inspect.stack`"),
    "a file": (lambda m: root(m) + np.load("x.npy"), "it uses `.load`"),
    "a seed": (lambda m: root(m) + np.random.RandomState().rand(), "without a seed"),
}


@pytest.mark.parametrize("name", OPENED)
def test_what_may_depend_on_more_is_named(name):
    f, reason = OPENED[name]
    for call in (lambda: lw.vmap(f)(MATRICES), lambda: lw.function(f)(MATRICES[0])):
        with pytest.raises(ConcretizationError, match=re.escape(reason)) as caught:
            call()
        assert "it does not run as plain Python in its place" in str(caught.value)


def nested(x):
    return getattr(getattr(x, "one"), "two", [max(1, 2)])  # noqa: B009


def several(x):
    return [getattr(y, "q") for y in x], hasattr(x, "w") and not hasattr(x.v, "u")  # noqa: B009


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (lambda x: hasattr(x, "shape"), {"shape"}),
        (lambda x: getattr(x, "scale", 2) + getattr(x.y[0], "deep", 3), {"scale", "y", "deep"}),
        (lambda x: getattr(max(x, key=lambda q: q), "name", max(1, 2)), {"name"}),
        (lambda x: getattr(x, "abc", x.d + 1 * 2), {"abc", "d"}),
        (nested, {"one", "two"}),
        (several, {"q", "w", "v", "u"}),
        (lambda x, n: getattr(x, n), None),
        (lambda x: getattr(x, "a" + str(x)), None),
        (lambda x: getattr(x, "a" if x else "b"), None),
        (lambda x: getattr(x, f"{x}"), None),
        (lambda x: getattr(x, "abc".upper()), None),
        (lambda x: getattr(*x), None),
        (lambda x: list(map(getattr, x, "ab")), None),
        (lambda x: getattr(x, "load", None), None),
        (lambda x, n: ((get := getattr)(x, "one"), get(x, n)), None),
    ],
)
def test_attributes_by_name_are_read_off(f, names):
    if names is not None:
        assert names_in(f.__code__)[1] == names
        return
    with pytest.raises(Open):
        names_in(f.__code__)


def made(text: str) -> Callable[..., Any]:
    """Return a function without source."""
    namespace: dict[str, Any] = {"np": np}
    exec(text, namespace)
    return namespace["f"]


@pytest.mark.filterwarnings("ignore::lanewise.errors.PlainLoopWarning")
@pytest.mark.parametrize("test", ["isinstance(x, (float, np.ndarray))", "type(x) in (np.float64,)"])
def test_code_without_source_that_asks_for_a_type(test):
    f = made(f"def f(x):\n if not {test}: raise TypeError(type(x))\n return x * 2")
    xs = np.array([1.0, 2.0])
    np.testing.assert_array_equal(lw.vmap(f)(xs), [2.0, 4.0])
    np.testing.assert_array_equal(lw.function(f)(xs[0]), 2.0)


def test_errors_of_code_without_source_are_its_own():
    f = made("def f(x):\n raise ValueError('not like this')")
    with pytest.raises(ValueError, match="not like this"):
        lw.vmap(f)(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="not like this"):
        lw.function(f)(1.0)


def test_a_module_that_stands_in_for_another():
    text = (
        "import sys, types; sys.modules['numba'] = types.ModuleType('numba'); import numpy as np; "
        "import lanewise as lw; print(lw.vmap(lambda x: x + 1)(np.arange(2.0)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False
    )
    assert found.stdout == "[1. 2.]\n", found.stderr
