"""Effects of mapped functions: each for the examples that get there, in the order of the loop.

The oracle is the loop: what it logs, warns, prints and writes, with the user's lines.
"""

# How users write it is what is tested here, in style or not:
# ruff: noqa: PTH123, SIM115, UP032

from __future__ import annotations

import contextlib
import csv
import gc
import io
import json
import logging
import pathlib
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, 4.0, -3.0, 8.0, 2.5])
LOG = logging.getLogger("tests.effects")
ADAPTER = logging.LoggerAdapter(LOG, {"run": 7})


class Keeping(logging.Handler):
    """Keeps of each record what a user sees of it, and the numbers in it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        types = [type(part) for part in record.args] if isinstance(record.args, tuple) else None
        self.said.append(
            (record.levelname, record.getMessage(), types, record.lineno, record.funcName,
             record.filename, getattr(record, "extra", None))
        )  # fmt: skip


def happening(run: Any) -> list[Any]:
    """Return all that a call does besides returning something: logged, warned and written."""
    handler = Keeping()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    streams = io.StringIO(), io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
                run()
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    seen = [(str(w.message), w.category, w.filename, w.lineno) for w in warned]
    return [handler.said, seen, *[stream.getvalue() for stream in streams]]


def _loop(func: Any, xs: Any) -> Any:
    return [func(x) for x in xs]


MODES = {
    "vmap": lambda f, xs: lw.vmap(f)(xs),
    "chunked": lambda f, xs: lw.vmap(f, chunk_size=2)(xs),
    "nested": lambda f, xs: lw.vmap(lw.vmap(f))(xs[:4].reshape(2, 2)),
    "map_fn": lambda f, xs: lw.map_fn(f, xs),
    "vectorized_map": lambda f, xs: lw.vectorized_map(f, xs),
    "vectorize": lambda f, xs: lw.vectorize(f)(xs),
    "traced": lambda f, xs: lw.function(lw.vmap(f))(xs),
    "one": lambda f, xs: [lw.function(f)(x) for x in xs],
    "grad": lambda f, xs: lw.vmap(lw.grad(f))(xs),
}


def assert_happens_alike(func: Any, mode: str, xs: Any = XS) -> list[Any]:
    wanted = happening(lambda: _loop(func, xs[:4] if mode == "nested" else xs))
    assert any(wanted)
    assert happening(lambda: MODES[mode](func, xs)) == wanted
    return wanted


# --- what is followed -----------------------------------------------------------------------------


def logs(x):
    if x > 2:
        LOG.info("x = %s, n = %d, %r", x, int(x), [x, 1])
        LOG.warning(f"{x} {x!r} {x:.3f}")
        logging.error("by the module: %.2f", x)
        LOG.log(logging.DEBUG, "level %(a)s", {"a": x})
        LOG.critical("{:>8}".format(x), extra={"extra": float(x)})
        ADAPTER.info("adapted %s", x * 2)
        LOG.debug("no numbers")
    else:
        LOG.info("small " + str(x) + " %s", "text")
    return x * 2


def warns(x):
    if x > 2:
        warnings.warn(f"large: {x}", stacklevel=1)
        warnings.warn(RuntimeWarning("of a class", float(x)))  # noqa: B028
    elif x < 0:
        warnings.warn("negative", UserWarning, 1)
    return x


def writes_streams(x):
    while x > 1:
        sys.stdout.write(f"out {x}\n")
        sys.stderr.write("err\n")
        print("printed", x, file=sys.stderr)
        x = x / 2
        sys.stdout.flush()
    return x


def helper(x, name):
    LOG.info("%s in a helper: %s", name, x)
    return x + 1


def through_helpers(x):
    for name in ("a", "b"):
        if x > 2:
            x = helper(x, name)
    return x


def by_another_name(x):
    say = print
    if x > 2:
        say("said", x, [x, int(x)])
    return x


@dataclass
class Point:
    x: Any
    name: str


def an_object(x):
    if x > 2:
        LOG.info("%s and %s", Point(x, "p"), {"key": (x, None)})
        print(Point(float(x), "q"))
    return x


def mixed_in_order(x):
    LOG.info("begins")
    print("first", x)
    if x > 2:
        warnings.warn("between", stacklevel=1)
        print("second")
    LOG.info("ends %s", x)
    return x


def in_a_long_loop(x):
    for i in range(20):
        if x > i * 2:
            LOG.info("%d %s", i, x)
    return x


FOLLOWED = [logs, warns, writes_streams, through_helpers, by_another_name, an_object,
            in_a_long_loop]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("func", FOLLOWED, ids=lambda f: f.__name__)
def test_effects_where_data_decide(func, mode):
    assert_happens_alike(func, mode)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "one"])
def test_effects_keep_their_order_and_happen_for_each_example(mode):
    """Order is seen where all go to one place."""
    wanted, found = [], []
    for said, run in ((wanted, _loop), (found, MODES[mode])):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(stream):
                warnings.simplefilter("always")
                warnings.showwarning = lambda m, *rest, s=stream, **_: s.write(f"warned {m}\n")
                run(mixed_in_order, XS[:4])
        finally:
            root.removeHandler(handler)
            root.setLevel(logging.WARNING)
        said.append(stream.getvalue())
    assert found == wanted
    assert wanted[0].count("begins") == 4


def test_a_warning_is_shown_once_where_the_loop_shows_it_once():
    def func(x):
        if x > 2:
            warnings.warn("once for this line")  # noqa: B028
        return x

    def count(run):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            run(func, XS)
        return len(caught)

    assert count(MODES["vmap"]) == count(_loop) == 1


def test_a_warning_points_to_the_caller_that_stacklevel_asks_for():
    def inner(x):
        warnings.warn("for the caller", stacklevel=2)
        return x

    def func(x):
        if x > 2:
            x = inner(x)  # this line
        return x

    seen = assert_happens_alike(func, "vmap")[1]
    assert {line for *_, line in seen} == {func.__code__.co_firstlineno + 2}


def test_a_warning_that_is_an_error_is_raised():
    def func(x):
        if x > 2:
            warnings.warn("not allowed", stacklevel=1)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="not allowed"):
            lw.vmap(func)(XS)


def test_filters_of_the_function_itself_hold():
    def func(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if x > 2:
                warnings.warn("not seen", stacklevel=1)
        warnings.warn("seen", stacklevel=1)
        return x

    filters = list(warnings.filters)
    assert len(assert_happens_alike(func, "vmap")[1]) == len(XS)
    assert list(warnings.filters) == filters


def test_recording_warnings_inside_is_refused():
    def func(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.warn("kept", stacklevel=1)
        return x + len(seen)

    with pytest.raises(lw.UnsupportedError, match=r"record=True.*test_effects.py"):
        lw.vmap(func)(XS)


# --- files ----------------------------------------------------------------------------------------


def writes_a_file(x, path):
    if x > 2:
        with open(path, "a") as file:
            file.write(f"{x}\n")
            csv.writer(file).writerow([x, int(x), "text"])
            json.dump({"x": float(x), "list": [1, int(x)]}, file)
            print("printed", x, file=file)
    open(path, "a").write("each\n")
    i = 0
    while i < x:
        with pathlib.Path(path).open("a") as other:
            other.writelines([f"{i} ", f"{x}\n"])
        i += 1
    return x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore")
def test_writing_to_files_that_the_function_opens(mode, tmp_path):
    wanted, found = str(tmp_path / "wanted"), str(tmp_path / "found")
    _loop(lambda x: writes_a_file(x, wanted), XS[:4])
    MODES[mode](lambda x: writes_a_file(x, found), XS[:4])
    assert pathlib.Path(found).read_text() == pathlib.Path(wanted).read_text()
    gc.collect()  # the files that are not closed, while that is no error


def test_writing_to_files_from_outside(tmp_path):
    def text_of(run):
        with (tmp_path / "file").open("w", newline="") as file:
            rows = csv.writer(file)
            memory = io.StringIO()

            def func(x):
                if x > 2:
                    file.write(f"{x:.2f}\n")
                    rows.writerow([x, int(x)])
                    memory.write(str(x))
                return x

            run(func, XS)
        return (tmp_path / "file").read_text(), memory.getvalue()

    assert text_of(MODES["vmap"]) == text_of(_loop)


def test_saving_arrays(tmp_path):
    def func(row):
        if row.sum() > 2:
            np.save(tmp_path / "row.npy", row)
            (tmp_path / "text").write_text(f"{row}")
        return row

    rows = np.arange(6.0).reshape(3, 2)
    lw.vmap(func)(np.vstack([rows, -rows]))
    np.testing.assert_array_equal(np.load(tmp_path / "row.npy"), rows[2])
    assert (tmp_path / "text").read_text() == str(rows[2])


def test_reading_a_file_is_no_effect(tmp_path):
    (tmp_path / "scale").write_text("2.5")

    def func(x):
        with open(tmp_path / "scale") as file:
            return x * float(file.read())

    np.testing.assert_array_equal(lw.vmap(func)(XS), XS * 2.5)


def test_arrays_are_logged_as_they_were():
    def func(x):
        kept = np.zeros(2)
        if x > 2:
            LOG.info("before %s", kept)
        kept[0] = x
        LOG.info("after %s", kept)
        return kept

    assert_happens_alike(func, "vmap")


# --- clocks and input -----------------------------------------------------------------------------


def test_sleeping_and_the_clock():
    def func(x):
        start = time.perf_counter()
        if x > 2:
            time.sleep(0.01)
        return time.perf_counter() - start

    taken = lw.vmap(func)(XS)
    assert (taken[XS > 2] >= 0.01).all()
    assert (taken >= 0).all()


def test_input_is_asked_of_the_examples_that_get_there(monkeypatch):
    stdin = io.StringIO("one\ntwo\nthree\nfour\n")
    monkeypatch.setattr(sys, "stdin", stdin)

    def func(x):
        if x > 2:
            input("go on? ")
        return x

    lw.vmap(func)(XS)
    assert stdin.readline() == "four\n"


def test_what_a_call_returns_is_not_known(monkeypatch):
    def func(x):
        if x > 2:
            x = x + float(input())
        return x

    with pytest.raises(lw.UnsupportedError, match=r"input\(\).*lw.py_func"):
        lw.vmap(func)(XS)


# --- what is refused ------------------------------------------------------------------------------


def test_a_library_call_of_unknown_effects_is_refused_by_name():
    import gzip

    def func(x):
        if x > 2:
            gzip.open("/nowhere/at/all", "wb")
        return x

    with pytest.raises(lw.UnsupportedError, match=r"gzip.open\(\).*lw.py_func\(gzip.open"):
        lw.vmap(func)(XS)


def test_a_library_call_for_all_examples_is_made():
    import gzip

    def func(x):
        return x + len(gzip.compress(b"abc"))

    np.testing.assert_array_equal(lw.vmap(func)(XS), [func(x) for x in XS])


def test_calls_without_effects_stay_what_they_are():
    import collections
    import copy
    import datetime
    import fractions
    import itertools
    import math
    import operator
    import re

    def func(x):
        if x > 2:
            first = operator.itemgetter(0)([x, 1])
            names = re.split(",", "a,b")
            days = datetime.timedelta(days=2).days
            third = float(fractions.Fraction(1, 3))
            pairs = list(itertools.product(names, [1, 2]))
            point = copy.copy(Point(x, "p"))
            counts = collections.Counter("aab")
            LOG.isEnabledFor(logging.DEBUG)
            x = first + days + third + len(pairs) + point.x + counts["a"] + math.hypot(3.0, 4.0)
        return x

    np.testing.assert_array_equal(lw.vmap(func)(XS), [func(x) for x in XS])


# --- a traced function ----------------------------------------------------------------------------


def test_plain_effects_of_a_traced_function_happen_while_it_is_traced():
    @lw.function
    def func(x):
        LOG.info("traced")
        LOG.info("run with %s", x)
        return x

    said = happening(lambda: [func(x) for x in XS[:3]])[0]
    assert [message for _, message, *_ in said] == [
        "traced", "run with 1.0", "run with 4.0", "run with -3.0",
    ]  # fmt: skip
