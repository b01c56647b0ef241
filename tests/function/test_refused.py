"""What is refused runs as plain Python where that gives what was asked for, and says so once."""

from __future__ import annotations

import abc
import enum
import functools
import gc
import itertools
import logging
import re
import sys
import time
import warnings
import weakref
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest

import lanewise as lw
from lanewise import PlainLoopWarning
from lanewise.api import mapping
from lanewise.errors import UnsupportedError
from lanewise.runtime.race import Race

XS = np.array([[3.0, 1.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [5.0, -1.0, 2.0, 2.0]])


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch):
    """Nothing is forced, and no refusal raised."""
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)


@pytest.fixture
def told():
    """The warnings of a test."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        yield caught


def of(told):
    return [str(each.message) for each in told if each.category is PlainLoopWarning]


NUMBERS = itertools.count()


def program(body):
    """Return a function that nobody has called yet, so that it is told of it."""
    names: dict = {}
    exec(compile(body, f"<refused {next(NUMBERS)}>", "exec"), names)
    return names["f"]


# --- which give what the loop gives ---------------------------------------------------------------


def digits(x):
    return len(str(int(x[0])))


def by_text(x):
    state = "low"
    total = 0.0
    for v in x:
        state = {"low": "high", "high": "low"}[state] if v > 1 else state
        total += v if state == "high" else -v
    return total, state == "high"


def grouped(x):
    groups = defaultdict(list)
    for i, v in enumerate(x):
        groups[f"{v:.0f}"].append(i)
    return np.array([len(groups), max(map(len, groups.values()))])


def memoized(x):
    @functools.cache
    def ways(n):
        return 1 if n < 2 else ways(n - 1) + ways(n - 2)

    return ways(int(abs(x[0])))


@dataclass
class Node:
    value: float
    after: Node | None = None


def linked(x):
    head = None
    for v in x:
        if v > 0:
            head = Node(v, head)
    total, place = 0.0, 1
    while head is not None:
        total += place * head.value
        head, place = head.after, place + 1
    return np.float32(total)


def walked(x):
    rng = np.random.default_rng(11)
    place, steps = x[0], 0
    while place < 3 and steps < 50:
        if rng.random() < 0.7 or place < x[1]:
            place += rng.normal(0.2)
        steps += 1
    return place, steps


OPERATORS = {1: lambda a, b: a + b, 2: lambda a, b: a * b}
KERNELS = [np.ones(2), np.array([1.0, -1.0])]


def by_functions(x):
    total = 0.0
    for a, b in itertools.pairwise(x):
        found = OPERATORS.get(int(a))
        total += -1.0 if found is None else found(a, b)
    return total + KERNELS[len(str(int(x[0]))) - 1].sum()


def scored(x):
    class Score(enum.IntEnum):
        MATCH = 1
        MISMATCH = -1

    return x * (Score.MATCH if x[0] > 0 else Score.MISMATCH)


class Phase(enum.Enum):
    LOW = 1
    HIGH = 2


class Model:
    def __init__(self, levels):
        self.levels = levels
        self.names = {Phase.LOW: "l", Phase.HIGH: "high"}
        self.count = 0

    def phase(self, v):
        return Phase.HIGH if v > self.levels[1] else Phase.LOW

    def predict(self, x):
        return sum(len(self.names[self.phase(v)]) for v in x)

    def counted(self, x):
        self.count += 1
        return len(str(int(x[0]))) + self.count


MODEL = Model(np.array([0.0, 1.5]))


def of_a_model(x):
    return MODEL.predict(x)


def months(x):
    days = np.datetime64("2020-01-31") + x.astype(int).astype("timedelta64[D]")
    return days.astype("datetime64[M]").astype(int) % 12 + 1


def hours(x):
    return np.timedelta64(int(x[0]), "D") / np.timedelta64(1, "h")


def by_objects(x):
    return sum(v.is_integer() for v in x.astype(float).astype(object))


def counted_in_bins(x):
    return np.histogram(x, bins=np.max(x).astype(int) + 2)[0].max()


def with_a_name_that_nobody_has_defined(x):
    if len(str(int(x[0]))) > 9:
        raise NoSuchError  # noqa: F821
    return x[0]


def held_or_none(x):
    out = [None] * len(x)
    for i in range(1, len(x)):
        if x[i] > x[0]:
            out[i] = len(str(int(x[i])))
    return len(str(out))


PROGRAMS = [
    walked, digits, by_text, grouped, memoized, linked, scored, months, hours, by_objects,
    counted_in_bins, with_a_name_that_nobody_has_defined, held_or_none,
]  # fmt: skip
#: These reach arrays, lists and objects from outside.
PROGRAMS += [by_functions, of_a_model, MODEL.predict]


def stacked(f, xs, *others):
    rows = [f(x.copy(), *others) for x in xs]
    if isinstance(rows[0], tuple):
        return tuple(
            np.stack([np.asarray(v) for v in column]) for column in zip(*rows, strict=True)
        )
    return np.stack([np.asarray(row) for row in rows])


def same(got, want):
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        assert type(x) is np.ndarray
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("times", [1, 3])
def test_as_the_loop(f, times):
    made = lw.function(lw.vmap(f))
    for xs in (XS, XS[:1], XS[::-1], np.asfortranarray(XS), XS.astype(np.float32)):
        for _ in range(times):
            same(lw.vmap(f)(xs), stacked(f, xs))
            same(made(xs), stacked(f, xs))
    same(lw.vmap(f, in_dims=1)(np.ascontiguousarray(XS.T)), stacked(f, XS))
    same(lw.vectorized_map(f, XS), stacked(f, XS))
    same(lw.map_fn(f, XS), stacked(f, XS))


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_maps_in_maps():
    def each(x):
        return len(str(int(x)))

    same(lw.vmap(lw.vmap(each))(XS), np.vectorize(each)(XS))
    same(lw.function(lw.vmap(lw.vmap(each)))(XS), np.vectorize(each)(XS))


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_a_function_that_is_no_map():
    for f in PROGRAMS:
        made = lw.function(f)
        for x in XS:
            got, want = made(x), f(x)
            assert repr(got) == repr(want)

    def picks(x):
        return KERNELS[len(str(int(x[0]))) - 1]

    made = lw.function(picks)
    for _ in range(2):
        found = made(XS[0])
        np.testing.assert_array_equal(found, KERNELS[0])
        assert not np.shares_memory(found, KERNELS[0])

    @lw.function
    def writes(x):
        x[len(str(int(x[1])))] = 7.0
        return x.sum()

    x = XS[0].copy()
    assert writes(x) == 13.0
    np.testing.assert_array_equal(x, [3.0, 7.0, 1.0, 2.0])


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("count", [3, 3000])
def test_what_all_examples_get_is_written_to(count):
    def f(x, table):
        table[int(x[0])] += len(str(x[1]))
        return table.sum() + x[3]

    table = np.arange(float(count)) + 9
    before = table.copy()
    xs = np.abs(XS) % 3
    got = lw.vmap(f, in_dims=(0, None))(xs, table)
    np.testing.assert_array_equal(table, before)
    want = [f(x.copy(), table.copy()) for x in xs]
    same(got, np.stack(want))
    same(lw.function(lw.vmap(f, in_dims=(0, None)))(xs, table), np.stack(want))
    np.testing.assert_array_equal(table, before)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("first", [0, 1, 5, 8, 99])
def test_what_all_examples_get_is_written_to_late(first):
    """Large arguments are one copy for all examples until one of these writes to it."""

    def f(x, table):
        total = len(str(int(x))) + table[0] + table[-1]
        if x >= first:
            table[-1] += x
        if table[-1] > 50:
            raise ValueError("a sum of several examples")
        return total, table[-2:], table

    table = np.arange(1000.0)[::-1].copy()
    xs = np.arange(11.0)
    rows = [f(x, table.copy()) for x in xs]
    want = [np.stack(column) for column in zip(*rows, strict=True)]
    for made in (lw.vmap(f, in_dims=(0, None)), lw.function(lw.vmap(f, in_dims=(0, None)))):
        for _ in range(2):
            same(made(xs, table), tuple(want))
    assert table[-1] == 0


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_arguments_are_the_examples_own():
    def f(x):
        x[0] = len(str(int(x[0])))
        return x

    xs = XS.copy()
    got = lw.vmap(f)(xs)
    np.testing.assert_array_equal(xs, XS)
    same(got, stacked(f, XS))
    got[0] = 7
    np.testing.assert_array_equal(xs, XS)


# --- what it says ---------------------------------------------------------------------------------


def test_it_is_told_once(told):
    f = program("def f(x):\n    return len(str(int(x[0])))\n")
    for _ in range(3):
        lw.vmap(f)(XS)
        lw.vmap(f)(XS[:2])
    lw.function(lw.vmap(f))(XS)
    (message,) = of(told)
    assert re.match("f runs as plain Python, example by example: .* ConcretizationError: ", message)
    assert "LANEWISE_STRICT=1" in message
    assert told[0].filename == f.__code__.co_filename
    assert told[0].lineno == 1


def test_strict_code_raises(monkeypatch):
    f = program("def f(x):\n    return len(str(int(x[0])))\n")
    with pytest.raises(PlainLoopWarning), warnings.catch_warnings(action="error"):
        lw.vmap(f)(XS)
    monkeypatch.setenv("LANEWISE_STRICT", "1")
    for made in (lw.vmap(f), lw.function(lw.vmap(f))):
        with pytest.raises(TypeError):
            made(XS)


# --- which tell ----


def prints(x):
    print(len(str(int(x[0]))))
    return x


def logs_times(x):
    start = time.perf_counter()
    for v in x:
        LOGGER.warning("%s digits", len(str(int(v))))
    return time.perf_counter() >= start


def warns(x):
    import warnings as told

    if x[1] < 0:
        told.warn(f"{len(str(int(x[0])))} digits", stacklevel=2)
    return x[0]


LOGGER = logging.getLogger("digits")


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("f", [prints, logs_times, warns])
def test_what_is_told_is_what_the_loop_tells(f, told, capsys, caplog):
    def all_told(call):
        told.clear()
        caplog.clear()
        result = call()
        others = [str(x.message) for x in told if x.category is not PlainLoopWarning]
        return result, (capsys.readouterr().out, caplog.messages, others)

    want, wanted = all_told(lambda: stacked(f, XS))
    assert any(wanted)
    for made in (lw.vmap(f), lw.function(lw.vmap(f))):
        for _ in range(3):
            got, found = all_told(lambda made=made: made(XS))
            same(got, want)
            assert found == wanted


def fitted(x, verbose=False):
    total = 0.0
    for k, v in enumerate(x):
        total += v * k
        if verbose:
            print("after", k, total, time.time())
    if total is None:
        LOGGER.error("no total")
    return total


def test_what_would_tell_is_traced_once(monkeypatch):
    calls = []
    run_traced = mapping._run_traced
    monkeypatch.setattr(mapping, "_run_traced", lambda *x: calls.append(1) or run_traced(*x))
    for _ in range(5):
        same(lw.vmap(fitted)(XS), stacked(fitted, XS))
    assert len(calls) == 1


# --- where it is refused all the same -------------------------------------------------------------


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self, x):
        self.count += 1
        return len(str(int(x[0]))) + self.count


def ragged(x):
    return [v for v in x.tolist() if v > 1]


def rows_of_all_lengths(x):
    return x[x > 1]


def a_text(x):
    return str(int(x[0]))


@pytest.mark.parametrize("f", [ragged, rows_of_all_lengths, a_text])
def test_what_no_loop_gives(f, told):
    for made in (lw.vmap(f), lw.function(lw.vmap(f))):
        for _ in range(2):
            with pytest.raises((TypeError, ValueError)) as caught:
                made(XS)
            assert "NoBatchError" not in repr(caught.value)


LOG, SUMS, NAMES = [1], np.zeros(4), {"a": 1.0}


def logs(x):
    LOG.append(len(str(int(x[0]))))
    return x[0]


def sums(x):
    SUMS[len(str(int(x[0])))] += 1
    return x[0]


def names(x):
    NAMES[str(int(x[0]))] = 1.0
    return x[0]


def counts(x):
    return MODEL.counted(x)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("f", [logs, sums, names, counts, MODEL.counted, Counter()])
def test_nothing_is_left_outside(f):
    for made in (lw.vmap(f), lw.function(lw.vmap(f))):
        with pytest.raises(TypeError):
            made(XS)
    assert LOG == [1]
    assert not SUMS.any()
    assert NAMES == {"a": 1.0}
    assert MODEL.count == getattr(f, "count", 0) == 0


def test_where_somebody_asks_for_a_trace(monkeypatch):
    with pytest.raises(TypeError, match="calls that are not explained run as plain Python"):
        lw.explain(lw.vmap(digits), XS)
    with pytest.raises(TypeError):
        lw.vmap(digits, autograph=False)(XS)
    with pytest.raises((TypeError, ValueError)):
        lw.vectorized_map(digits, XS, fallback_to_while_loop=False)
    with pytest.raises(TypeError):
        lw.grad(lambda x: x[0] * len(str(int(x[1]))))(XS[0])
    with pytest.raises(UnsupportedError):
        lw.vmap(rows_of_all_lengths)(XS[:0])
    for backend in ("native", "interpret"):
        monkeypatch.setenv("LANEWISE_BACKEND", backend)
        with pytest.raises(TypeError):
            lw.vmap(digits)(XS)


# --- what is raised, and what changes -------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_errors_of_examples():
    def f(x):
        return 1 // len(str(int(x[0])).strip("0"))

    for made in (lw.vmap(f), lw.function(lw.vmap(f))):
        for _ in range(2):
            with pytest.raises(ZeroDivisionError, match="in example 1") as caught:
                made(XS)
            assert caught.value.__context__ is None
    results, failures = lw.vmap(f, on_error="collect", fill_value=-1)(XS)
    same(results, np.array([1, -1, 1]))
    assert list(failures) == [1]
    assert type(failures[1]) is ZeroDivisionError


FACTOR = 2


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_names_that_change(monkeypatch):
    def f(x):
        return FACTOR * len(str(int(x[0])))

    made = lw.function(lw.vmap(f))
    same(made(XS), np.array([2, 2, 2]))
    monkeypatch.setitem(globals(), "FACTOR", 5)
    same(made(XS), np.array([5, 5, 5]))
    same(lw.vmap(f)(XS), np.array([5, 5, 5]))


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_what_some_data_refuse():
    """Other data are computed by the trace as before."""

    def window(i):
        return table[i : i + 4].sum()

    table = np.arange(9.0)
    for numbers in ([0, 1], [1, 7], [0, 1], [8, 5]):
        same(lw.vmap(window)(np.array(numbers)), np.stack([window(i) for i in numbers]))

    def ends(i):
        return table[i : i + 4]

    for numbers in ([0, 1], [7, 7], [0, 1]):
        same(lw.vmap(ends)(np.array(numbers)), np.stack([ends(i) for i in numbers]))
    with pytest.raises(UnsupportedError):
        lw.vmap(ends)(np.array([0, 7]))


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_what_no_array_holds_raises_alike_whichever_way_is_faster(monkeypatch):
    table = np.arange(9.0)

    def ends(i):
        return table[i : i + 4]

    made = lw.function(lw.vmap(ends))
    for call in (lambda x: lw.vmap(ends)(x), made):
        for numbers in ([0, 1], [2, 1], [0, 1]):
            call(np.array(numbers))
        for is_plain in (True, False):
            monkeypatch.setattr(Race, "is_plain", lambda *_, answer=is_plain: answer)
            with pytest.raises(UnsupportedError):
                call(np.array([0, 7]))
            monkeypatch.undo()


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_what_a_call_refuses():
    """What nobody knows before it runs: here, that None comes to a list of numbers."""

    def f(x):
        found = []
        for v in x:
            if v > 0:
                found.append(v if v < 4 else None)
        return len(found)

    same(lw.vmap(f)(XS), np.array([4, 0, 3]))
    same(lw.function(lw.vmap(f))(XS), np.array([4, 0, 3]))


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_what_results_hold_is_asked_of_many_at_once():
    """Not with a call of Python's for each number."""

    def f(x):
        return [*range(len(str(int(x[0]))), 3000)]

    calls = 0

    def note(frame, event, _):
        nonlocal calls
        calls += event == "call" and frame.f_globals.get("__name__") == "lanewise.api.refused"

    made = lw.function(f)
    made(XS[0])
    sys.setprofile(note)
    try:
        got = made(XS[0])
    finally:
        sys.setprofile(None)
    assert got == f(XS[0])
    assert 0 < calls < 100


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_results_of_more_than_64_bits_are_pythons(number):
    def f(x):
        return [1, number, len(str(int(x[0])))]

    assert lw.function(f)(XS[0]) == f(XS[0])


# --- what is undone, and what is each call's own --------------------------------------------------


class Tally:
    total = 0
    seen: list = []  # noqa: RUF012

    def __init__(self):
        self.own = 0

    @classmethod
    def up(cls):
        cls.total += 1
        return cls.total


class Kind(abc.ABC):  # noqa: B024
    total = 0


def counts_in_a_class(x):
    return Tally.up() + len(str(int(x[0])))


def names_a_class(x):
    kind = Kind
    kind.total += len(str(int(x[0])))
    return x[0]


INNER = [1.0]
NESTED = [INNER, {"a": INNER}]


def nested(x):
    NESTED[0].append(float(len(str(int(x[0])))))
    NESTED[1]["b"] = 2.0
    return x[0]


def a_list_of_a_class(x):
    Tally.seen.append(len(str(int(x[0]))))
    return x[0]


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("f", [counts_in_a_class, names_a_class, nested, a_list_of_a_class])
def test_what_was_changed_is_what_it_was(f):
    for made, given in ((lw.vmap(f), XS), (lw.function(lw.vmap(f)), XS)):
        for _ in range(2):
            with pytest.raises(TypeError):
                made(given)
    assert Tally.total == Kind.total == 0
    assert NESTED[0] is INNER
    assert NESTED == [[1.0], {"a": [1.0]}]
    assert NESTED[1]["a"] is INNER
    assert Tally.seen == []


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_a_single_function_changes_what_is_outside_as_it_does():
    log, total = [], [0]

    def noted(x):
        log.append(len(str(int(x[0]))))
        total[0] += 1
        return total[0] * x[0]

    traced = lw.function(noted)
    for k, x in enumerate([*XS, *XS], 1):
        assert traced(x) == k * x[0]
    assert log == [len(str(int(x[0]))) for x in [*XS, *XS]]


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_objects_that_are_given():
    def f(x, w, tally):
        tally.own += 1
        w[0] += x[0]
        try:
            w[1:] = 0.0
        except ValueError:
            return -1.0
        return len(str(int(x[0]))) + w[0] + w[-1] + tally.own

    w, tally, other = np.ones(3000), Tally(), Tally()
    want = [f(x.copy(), w.copy(), other) for x in XS]
    same(lw.vmap(f, in_dims=(0, None, None))(XS, w, tally), np.stack(want))
    assert tally.own == other.own
    assert (w == 1).all()


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_results_that_are_one_for_all():
    def constant(x):
        return KERNELS[0] if len(str(int(XS[0, 0]))) else x

    def differs(x):
        return len(str(int(x[0] * 7)))

    def given(x, w):
        return w if len(str(int(x[0]))) else x

    found = lw.vmap(constant, out_dims=None)(XS)
    found[0] = 99
    np.testing.assert_array_equal(KERNELS[0], 1)
    w = np.ones(4)
    found = lw.vmap(given, in_dims=(0, None), out_dims=None)(XS, w)
    found[0] = 99
    np.testing.assert_array_equal(w, 1)
    with pytest.raises(ValueError, match="differs from example to example"):
        lw.vmap(differs, out_dims=None)(XS)


def test_interrupts_end_it():
    log = []

    def f(x):
        log.append(len(str(int(x[0]))))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), warnings.catch_warnings(action="ignore"):
        lw.vmap(f)(XS)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_refused_functions_are_not_kept_alive():
    def make():
        def f(x, n=0):
            return len(str(int(x[0]))) if n == 0 else f(x, 0)

        return f

    gone = []
    for _ in range(5):
        f = make()
        lw.vmap(f)(XS)
        gone.append(weakref.ref(f))
        del f
    gc.collect()
    assert sum([ref() is not None for ref in gone]) <= 1
