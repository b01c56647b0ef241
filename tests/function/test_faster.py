"""Calls that run the function itself, as that is faster: what they give, and when they do so."""

from __future__ import annotations

import enum
import math
import time
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy import random as drawn
from numpy.random import default_rng
from scipy import stats

import lanewise as lw
from lanewise.api import contained as contained_
from lanewise.api import faster, kept, mapping
from lanewise.api.concrete import ConcreteFunction
from lanewise.api.contained import contained
from lanewise.runtime import race, tiers
from lanewise.runtime.race import Race
from lanewise.trace import limits

SCALE = 2.0
TABLE = [1.0, 2.0]
WEIGHTS = np.ones(3)


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """Nothing forces how calls run."""
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)


@pytest.fixture
def plain(monkeypatch):
    """From the second call on run the function itself where that may be; count such calls."""
    calls: list[int] = []
    monkeypatch.setattr(Race, "is_ahead", lambda self: True)
    noted = Race.note_plain

    def note_plain(self, nanoseconds):
        calls.append(nanoseconds)
        noted(self, nanoseconds)

    monkeypatch.setattr(Race, "note_plain", note_plain)
    return calls


# --- the same as the trace gives ------------------------------------------------------------------


def both(f: Any, *args: Any) -> tuple[Any, Any]:
    """Return what the trace gives, and what a call gives that runs the function itself."""
    copies = [[x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2)]
    traced = lw.function(f, jit_compile=False)(*copies[0])
    result = lw.function(f)(*copies[1])
    return (traced, copies[0]), (result, copies[1])


def is_same(x: Any, y: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return type(x) is type(y) and all(map(is_same, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all([is_same(x[key], y[key]) for key in x])
    return type(x) is type(y) and np.array_equal(x, y) and np.shape(x) == np.shape(y)


def views(x):
    return x[1:], x[::2], x.T, x


def transposed(x):
    return np.ones((2, 3)).T + x.sum()


def repeated(x):
    return np.broadcast_to(x, (2, *x.shape))


def numbers(x):
    return x.sum(), float(x[0]), int(x[1]), bool(x[0] > 1), len(x), x.shape, "text", None


def containers(x):
    return {"a": [x + 1, (x, x.max())], "b": {}}


def nothing(x):
    x[0] = 5


def written(x):
    x *= 2
    return x, x[1:]


def unwritten(x):
    return x


def twice(x):
    y = x + 1
    return y, y, y[1:]


@pytest.mark.parametrize(
    "f",
    [views, transposed, repeated, numbers, containers, nothing, written, unwritten, twice],
)
def test_it_gives_what_the_trace_gives(f, plain):
    x = np.array([3.0, 1.0, 2.0])
    (traced, traced_x), (result, result_x) = both(f, x)
    assert len(plain) == 1
    assert is_same(result, traced)
    assert is_same(result_x, traced_x)
    arrays = [leaf for leaf in _leaves(result) if isinstance(leaf, np.ndarray)]
    others = [leaf for leaf in _leaves(traced) if isinstance(leaf, np.ndarray)]
    for found, wanted in zip(arrays, others, strict=True):
        assert found.flags.writeable
        assert np.shares_memory(found, result_x[0]) == np.shares_memory(wanted, traced_x[0])
    shared = [[np.shares_memory(a, b) for a in arrays] for b in arrays]
    assert shared == [[np.shares_memory(a, b) for a in others] for b in others]


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [leaf for x in result.values() for leaf in _leaves(x)]
    if isinstance(result, (tuple, list)):
        return [leaf for x in result for leaf in _leaves(x)]
    return [result]


def test_a_call_that_raises_has_written_nothing(plain):
    @lw.function
    def f(x, i):
        x[0] = 7.0
        return x[i]

    x = np.zeros(3)
    with pytest.raises(IndexError):
        f(x, np.array(5))
    assert plain == []  # it did not return
    np.testing.assert_array_equal(x, np.zeros(3))
    assert f(x, np.array(1)) == 0.0
    assert len(plain) == 1
    np.testing.assert_array_equal(x, [7.0, 0.0, 0.0])


def test_an_error_is_the_users_alone(plain):
    @lw.function
    def f(x):
        return np.linalg.inv(x)

    f(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(np.zeros((2, 2)))
    assert caught.value.__context__ is None
    assert len(plain) == 1


def test_scalars_arrays_and_names(plain):
    def f(x, *, y=1.0, k=2):
        return x * y + k

    g = lw.function(f)
    for args, kwargs in [
        ((np.float32(1.5),), {}),
        ((np.array(1.5),), {"y": np.float64(2.0)}),
        ((np.arange(3),), {"k": 5}),
        ((np.arange(3),), {"k": 5}),
        ((np.arange(3),), {"k": 5}),
    ]:
        found, wanted = g(*args, **kwargs), f(*args, **kwargs)
        assert type(found) is type(wanted)
        assert np.array_equal(found, wanted)
    assert len(plain) == 5


def _branched(x, y):
    if x[0] > y.min():
        x = x - 1.0
    return x * 2, y.sum()


def _halves(x, y):
    return np.full(2, 0.5), x + y.sum()


@pytest.mark.parametrize(
    ("f", "in_dims", "out_dims"),
    [
        (_branched, 0, 0),
        (_branched, (0, None), 0),
        (_branched, (1, None), (1, 0)),
        (_halves, 0, (None, 0)),
        (np.matmul, 0, 0),
    ],
)
def test_a_map_is_the_plain_loop(f, in_dims, out_dims, plain):
    x = np.arange(12.0).reshape(4, 3)
    batched = lw.vmap(f, in_dims, out_dims)
    wanted = batched(x, x / 3)
    traced = lw.function(batched)
    for _ in range(3):
        assert is_same(traced(x, x / 3), wanted)
    assert len(plain) == 3


def _either_class(x):
    return (0, {"low": x}) if x < 0 else (x * 2, {"low": 1})


def test_a_map_has_the_dtypes_of_its_trace_whichever_way_is_faster(plain, monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    x = -np.arange(1.0, 5.0)
    traced = lw.function(lw.vmap(_either_class))
    for _ in range(3):
        for high, given in (traced(x), lw.vmap(_either_class)(x)):
            assert is_same(high, np.zeros(4))
            assert is_same(given["low"], x)
    assert len(plain) == 6


def test_a_map_of_which_more_was_asked_is_no_plain_loop(plain):
    x = np.arange(6.0).reshape(3, 2)
    for mapped in (
        lw.vmap(np.sin, chunk_size=2),
        lw.vmap(np.sin, on_error="collect"),
        lw.vmap(np.sin, randomness="same"),
    ):
        traced = lw.function(mapped)
        traced(x)
        traced(x)
    assert plain == []


# --- where the function itself does not do -----------------------------------------------------


def test_what_is_no_array_of_numpys_is_one_in_the_trace(plain):
    f = lw.function(lambda x: x)

    class Like:
        def __array__(self, dtype=None, copy=None):
            return np.ones(3)

    assert type(f(Like())) is np.ndarray
    assert type(f(Like())) is np.ndarray
    assert plain == []


def _scaled(x):
    return x * SCALE


def test_a_number_elsewhere_stays_what_it_was(plain, monkeypatch):
    f = lw.function(_scaled)
    np.testing.assert_array_equal(f(np.ones(2)), [2.0, 2.0])
    assert len(plain) == 1
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    np.testing.assert_array_equal(f(np.ones(2)), [2.0, 2.0])
    assert len(plain) == 1


def test_a_variable_around_stays_what_it_was(plain):
    scale = 2.0

    def inner(x):
        return x * scale

    f = lw.function(lambda x: inner(x))
    assert f(np.ones(1)) == 2.0
    scale = 3.0
    assert f(np.ones(1)) == 2.0
    assert len(plain) == 1


def test_what_is_forced_or_watched_is_the_trace(plain, monkeypatch):
    f = lw.function(lambda x: x + 1)
    f(np.ones(3))
    lw.explain(f, np.ones(3))
    lw.function(lambda x: x + 1, jit_compile=False)(np.ones(3))
    lw.function(lambda x: x + 1, [lw.TensorSpec([3])])(np.ones(3))
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    f(np.ones(3))
    assert len(plain) == 1


def _with_list(x):
    return x * TABLE[0]


def _with_array(x):
    return x @ WEIGHTS


def _with_clock(x):
    return x + time.perf_counter()


def _with_drawn(x):
    return x + np.random.rand()


def _with_print(x):
    print("tracing")
    return x


def _with_file(x):
    return x + np.load("x.npy")


def _with_state(x, seen=[]):  # noqa: B006
    return x + len(seen)


def _with_global(x):
    global SCALE
    SCALE = 2.0
    return x


def _with_changes(x):
    _model.rate += x * x.size
    return x


def _with_class(x):
    class Local:
        made = time.time()

    return x if Local.made else -x


def _with_branch_in_a_class(x):
    class Local:
        if SCALE:
            factor = TABLE
        scaled = factor

    return x * Local.scaled[0]


def _with_global_in_a_class(x):
    class Local:
        global SCALE
        SCALE = 2.0

    return x if Local else -x


def _with_subclasses(x):
    class Local(Phase):
        pass

    return x * len(Phase.__subclasses__()) if Local else x


class Phase:
    def twice(self, x):
        return 2 * x


def _of_a_local_enum(x):
    class Score(enum.IntEnum):
        MATCH = 1
        BETTER = MATCH + 2

    return x * Score.MATCH + Score.BETTER


def _of_local_classes(x):
    @dataclass
    class Pair:
        first: float
        second: float = SCALE

        def total(self):
            return self.first + self.second + x

    class Local(Phase):
        def twice(self, x):
            return super().twice(x) + 1

    return Local().twice(Pair(x).total())


def _with_import(x):
    import sys

    return x + len(sys.argv)


class _Model:
    rate = 0.1

    def __call__(self, x):
        return x * self.rate


_model = _Model()


class _Counting:
    calls = []  # noqa: RUF012

    def __call__(self, x):
        self.calls.append(x)
        return x


class _Smooth:
    __slots__ = ("rate", "y")

    def __init__(self, rate):
        self.rate, self.y = rate, None

    def __call__(self, x):
        self.y = x if self.y is None else self.y + self.rate * (x - self.y)
        return self.y

    @property
    def last(self):
        return self.y

    @staticmethod
    def start():
        return _Smooth(0.5)


class _State(NamedTuple):
    x: float
    v: float = 0.0

    def moved(self, dt):
        return self._replace(x=self.x + dt * self.v)


@dataclass
class _Point:
    x: float
    past: list = field(default_factory=list)
    speed: float = 1.0

    def moved(self, dx):
        self.past.append(self.x)
        self.x += dx * self.speed
        return self


def _with_objects(x):
    smooth, state, point = _Smooth.start(), _State(x[0], 1.0), _Point(x[1])
    for v in x:
        smooth(v)
        state = state.moved(0.1)
        point.moved(v)
    return smooth.last, state.x, point.x, len(point.past), deque(x, maxlen=3)[0]


def _with_alias(x):
    numpy = np
    return numpy.random.rand() + x


def _with_own(x):
    rng = np.random.default_rng(1)
    while x < 3:
        x += rng.random()
    return _with_given(rng, x)


def _with_given(rng, x):
    return rng.random(size=2) @ rng.normal(size=2) + x


OPEN = [
    _with_list, _with_array, _with_clock, _with_drawn, _with_print, _with_file, _with_state,
    _with_global, _with_class, _with_branch_in_a_class, _with_global_in_a_class, _with_subclasses,
    _with_import, _model, _model.__call__, _Counting, open, print,
    lambda x: _model(x), lambda x: _with_list(x), lambda x: lw.vmap(np.sin)(x), lambda x: vars(x),
    lambda x: _Counting()(x), np.random.rand, lw.function(_scaled), np.vectorize(math.sin),
    lambda x: drawn.normal(x), lambda x: x + stats.norm.rvs(),
    lambda x: x + np.random.default_rng().normal(),
    lambda x: x + default_rng().random(), lambda x: np.random.random(),
    lambda x: default_rng(None), lambda x: np.random.Generator(x), lambda x: default_rng,
    _with_alias, lambda x: np.random.default_rng(seed=None).random(),
    lambda x: x + np.datetime64("now").astype(int), lambda x: np.datetime64("today") > x,
    lambda x: np.datetime64(x), lambda x: np.datetime64,
]  # fmt: skip
SEEDED = [
    lambda x: x + np.random.default_rng(0).normal(), lambda x: default_rng(x),
    lambda x: default_rng(7).random() + x,
    lambda x: np.random.RandomState(seed=3).rand() < x, _with_own,
    lambda x: np.datetime64("2020-01-01") + x, lambda x: np.datetime64(0, "s") + x,
]  # fmt: skip


@pytest.mark.parametrize("func", OPEN, ids=lambda f: getattr(f, "__name__", type(f).__name__))
def test_these_may_depend_on_more_than_their_arguments(func):
    assert contained([func]) is None


@pytest.mark.parametrize("func", [_of_a_local_enum, _of_local_classes])
def test_classes_of_a_functions_own_depend_on_nothing_else(func):
    unchanged = contained([func])
    assert unchanged is not None
    assert unchanged()


@pytest.mark.parametrize("func", SEEDED)
def test_generators_and_dates_of_a_functions_own_are_the_same_always(func):
    assert contained([func]) is not None


def _helper(x, scale=SCALE, kind="sum"):
    return getattr_free(x, kind) * scale


def getattr_free(x, kind):
    return x.sum() if kind == "sum" else x.max()


def _recursive(n):
    return 1 if n < 2 else n * _recursive(n - 1)


def test_contents_of_arrays_and_lists_from_outside_are_looked_at():
    weights, table = np.arange(6.0), [[1, 2], [0], (3.0, "a")]
    unchanged = contained([lambda x: x * weights[table[0][0]]], with_data=True)
    assert unchanged is not None and unchanged.has_data and unchanged()
    weights[1] = np.nan
    assert not unchanged()
    weights[1] = 1.0
    assert unchanged()
    table[1][0] = 0.0  # another class of number
    assert not unchanged()
    table[1][0] = 0
    assert unchanged()
    weights.shape = 2, 3
    assert not unchanged()


def test_contents_of_sets_are_looked_at():
    days = {3, 7, 20}
    unchanged = contained([lambda x: x in days], with_data=True)
    assert unchanged()
    days.add(21)
    assert not unchanged()
    days.discard(21)
    assert unchanged()


@pytest.mark.parametrize("held", [np.zeros(10_000), [1.0] * 10_000, [np.random],
                                  np.array([None]), {np.random}])  # fmt: skip
def test_what_is_large_or_no_numbers_is_not_looked_at(held):
    assert contained([lambda x: x + len(held)], with_data=True) is None
    assert contained([_with_changes], with_data=True) is None


def test_a_map_runs_as_a_loop_only_while_what_it_reaches_is_unchanged(monkeypatch):
    monkeypatch.setattr(race, "EARLY", 0)
    monkeypatch.setattr(race, "interpreting", lambda graph, *_: 1e7)
    weights = np.array([1.0, 2.0])
    f = lw.function(lw.vmap(lambda x: x @ weights))
    x = np.ones((4, 2))
    assert f(x).tolist() == [3.0] * 4
    (concrete,) = f._traces.all()
    assert concrete.race.plain < np.inf  # the loop ran
    assert concrete.race.traced == np.inf
    weights[0] = 5.0
    assert f(x).tolist() == [3.0] * 4  # what was traced
    assert concrete.race.traced < np.inf


CONTAINED = [
    _with_objects, _Model, lambda x: deque([x]),
    _scaled, _helper, _recursive, np.sin, np.linalg.solve, math.sqrt, len, views, containers,
    lambda x: [np.float32(y) for y in range(3)], lambda x: math.pi * np.exp(x).astype(np.int8),
    lambda x: sorted(zip(x, x, strict=True), key=lambda row: row[0]),
    lambda x: (lambda y: y + SCALE)(x),
]  # fmt: skip


@pytest.mark.parametrize("func", CONTAINED)
def test_these_depend_on_their_arguments_alone(func):
    unchanged = contained([func])
    assert unchanged is not None
    assert unchanged()


def test_a_module_of_the_users_is_looked_into(monkeypatch):
    unchanged = contained([lambda x: contained_.dis and x])
    assert unchanged is None  # Lanewise's own: what it does is not known here
    import tempfile

    assert contained([lambda x: tempfile.gettempdir() and x]) is None  # it asks the environment


# --- when it runs ---------------------------------------------------------------------------------


class Executable:
    """Says what a race asks of an executable."""

    def __init__(self, estimate: float, cost: float) -> None:
        self.native: Any = None
        self.cost, self.whole, self.spent = cost, cost, 0.0
        self.is_compiling = False
        self.graph = estimate

    @property
    def is_due(self) -> bool:
        return self.native is None and self.spent >= self.cost

    def prepare(self, arguments: Any) -> None:
        self.native = True

    def spend(self, nanoseconds: float) -> None:
        self.spent += nanoseconds


@pytest.fixture
def estimated(monkeypatch):
    """Take a graph for its own estimate."""
    monkeypatch.setattr(race, "_least", lambda graph, *_: graph / race.DARING)
    monkeypatch.setattr(race, "duration_itself", lambda graph, _: graph)
    monkeypatch.setattr(race, "interpreting", lambda graph, *_: graph)
    monkeypatch.setattr(race, "_planning", lambda graph: 0)
    monkeypatch.setattr(race, "_has_while", lambda graph: False)
    monkeypatch.setattr(race, "_calls_numpy_in_loops", lambda executable: False)


def run_of(race_: Race, executable: Executable, traced: int, native: int, plain: int, calls: int):
    """Return what each of some calls runs, which take so long."""
    found = ""
    for _ in range(calls):
        if race_.is_plain(()):
            found += "p"
            if race_.note is not None:
                race_.note(plain)
            continue
        executable.spend(executable.graph)
        if executable.is_due:
            executable.prepare(())
        found += "n" if executable.native else "i"
        race_.note_traced(native if executable.native else traced)
    return found


US, MS = 1000, 1_000_000


@pytest.mark.parametrize(
    ("estimate", "cost", "traced", "native", "plain", "wanted"),
    [
        # The interpreter wins, and then the kernels.
        (1 * MS, 20 * MS, 1 * MS, 10 * US, 5 * MS, "iip" + "iiiiiiiiiiii" + "nnnn"),
        # The first call of the function itself does not decide, where it loses by little.
        (1 * MS, 20 * MS, 1 * MS, 1 * MS, 2 * MS, "iippp" + "iiiiiiiiiii" + "nn"),
        # The function itself wins, also when its calls have paid for kernels.
        (1 * MS, 20 * MS, 5 * MS, 3 * MS, 1 * MS, "iippppppppppppppppppp" + "nnn" + "pp"),
        # It is slower by far, as the estimate says: it is never tried.
        (50 * MS, 20 * MS, 50 * MS, 1 * MS, 50 * MS, "nnnnnnn"),
        # Calls are so short that there is nothing to win.
        (5 * US, 20 * MS, 5 * US, 1 * US, 2 * US, "iiiiiiii"),
        # Compiling takes so long that the function itself goes first.
        (1 * MS, 600 * MS, 9 * MS, 1 * MS, 200 * MS, "pppp" + "nnnnn"),
        # It should take longer than compiling, as a loop over a batch may: it is not tried first.
        (900 * MS, 600 * MS, 9 * MS, 1 * MS, 20_000 * MS, "nnnn"),
    ],
)
def test_calls_take_the_way_that_took_less(
    estimate, cost, traced, native, plain, wanted, estimated
):
    executable = Executable(estimate, cost)
    found = run_of(Race(executable, lambda: True), executable, traced, native, plain, len(wanted))
    assert found == wanted


def test_of_short_calls_that_won_often_few_are_measured(estimated):
    executable = Executable(20 * US, np.inf)
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 50 * US, 0, 20 * US, 22) == "ii" + 20 * "p"
    measured = 0
    for _ in range(race.MEASURED * 5):
        assert one.is_plain(())
        if one.note is not None:
            measured += 1
            one.note(20 * US)
    assert measured == 5
    assert 90 * 20 * US <= executable.spent <= 140 * 20 * US  # as all of them


def test_what_calls_that_are_not_measured_take_pays_for_kernels(estimated):
    executable = Executable(20 * US, 4 * MS)
    one = Race(executable, lambda: True)
    found = run_of(one, executable, 50 * US, 1 * US, 20 * US, 300)
    assert found.startswith("ii" + 190 * "p")
    assert found.endswith(40 * "n")


def test_one_slow_call_does_not_decide(estimated):
    executable = Executable(MS, np.inf)
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 5 * MS, 0, MS, 4) == "iipp"
    one.note_plain(1000 * MS)
    assert one.is_ahead()
    for _ in range(3):
        one.note_plain(1000 * MS)
    assert not one.is_ahead()


def test_calls_that_the_machine_disturbs_do_not_end_the_race(estimated):
    executable = Executable(MS, np.inf)
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 5 * MS, 0, 3 * MS, 4) == "iipp"
    for _ in range(100):  # one call in three takes longer than those of the trace
        for took in (3 * MS, 30 * MS, 3 * MS):
            assert one.is_ahead()
            one.note_plain(took)
    assert one.is_ahead()
    assert not one.is_over()


def test_a_race_that_the_trace_has_won_is_over(estimated):
    executable = Executable(MS, 2 * MS)
    one = Race(executable, lambda: True)
    run_of(one, executable, MS, 10 * US, 9 * MS, 8)
    assert one.is_over()


def test_a_loop_over_examples_is_tried_for_as_long_as_the_trace_should_take(estimated):
    executable = Executable(20 * MS, 1000 * MS)
    one = Race(executable, lambda: True, is_map=True)
    assert one.is_plain(())
    assert one.limit == race.CLOSE * 20 * MS
    one.note_exceeded()
    assert run_of(one, executable, 60 * MS, 0, 0, 3) == "iii"  # less than the loop takes
    one = Race(executable, lambda: True, is_map=True)
    assert run_of(one, executable, 60 * MS, 0, 70 * MS, 1) == "p"
    assert run_of(one, executable, 60 * MS, 0, 70 * MS, 3) == "ppp"  # as none ran the trace
    one = Race(executable, lambda: True, is_map=True)
    assert one.is_plain(())
    one.note_exceeded()
    assert run_of(one, executable, 900 * MS, 0, 200 * MS, 4) == "ippp"  # it takes longer, too
    assert one.limit == np.inf


def test_no_loop_over_examples_is_tried_where_little_can_be_won(estimated):
    executable = Executable(1 * MS, 400 * MS)
    one = Race(executable, lambda: True, is_map=True)
    assert run_of(one, executable, 1 * MS, 0, 9 * MS, 2) == "ii"


def test_what_calls_took_before_there_was_a_trace_is_known(estimated):
    executable = Executable(20 * MS, 400 * MS)
    one = Race(executable, lambda: True, is_map=False, plain=1 * MS)
    assert run_of(one, executable, 20 * MS, 0, 1 * MS, 3) == "ppp"
    one = Race(executable, lambda: True, is_map=False, plain=900 * MS)
    assert run_of(one, executable, 20 * MS, 0, 900 * MS, 3) == "iii"


def test_the_first_call_does_not_plan_what_takes_long(estimated, monkeypatch):
    monkeypatch.setattr(race, "_planning", lambda graph: 2000 * MS)
    executable = Executable(20 * MS, np.inf)
    one = Race(executable, lambda: True, is_map=True)
    assert one.is_plain(())
    assert one.limit == race.CLOSE * 20 * MS + 2000 * MS
    one = Race(executable, lambda: True, is_map=False)
    found = run_of(one, executable, 60 * MS, 0, 200 * MS, 100)
    assert "i" not in found[:30]
    assert found.endswith(20 * "i")  # calls have taken so long that it was worth it
    one = Race(Executable(3000 * MS, np.inf), lambda: True, is_map=False)
    assert not one.is_plain(())


def test_what_takes_long_to_plan_runs_where_it_is_faster(estimated, monkeypatch):
    monkeypatch.setattr(race, "_planning", lambda graph: 10 * MS)
    executable = Executable(MS, np.inf)
    one = Race(executable, lambda: True, is_map=True)
    assert run_of(one, executable, MS, 0, 9 * MS, 20).endswith(10 * "i")


def test_kernels_with_loops_that_data_end_are_compared_once(estimated, monkeypatch):
    monkeypatch.setattr(race, "_has_while", lambda graph: True)
    executable = Executable(900 * MS, 20 * MS)
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 0, 20 * MS, 3 * MS, 7) == "nnnpppp"
    executable = Executable(900 * MS, 20 * MS)
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 0, 20 * MS, 300 * MS, 3) == "nnn"
    assert one.is_plain(())
    assert one.limit == race.CLOSE * 20 * MS
    one.note_exceeded()
    assert not one.is_plain(())


def test_a_long_call_is_compared_whatever_is_estimated(estimated, monkeypatch):
    monkeypatch.setattr(race, "_calls_numpy_in_loops", lambda executable: True)
    executable = Executable(30_000 * MS, np.inf)
    executable.whole = 8_000 * MS  # it has no native form, as turned out
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 10_000 * MS, 0, 3_000 * MS, 5) == "ipppp"
    one = Race(executable, lambda: True)
    assert run_of(one, executable, 10_000 * MS, 0, 3_000 * MS, 1) == "i"
    assert one.is_plain(())
    assert one.limit == 10_000 * MS  # it is given up where it takes longer
    one.note_exceeded()
    assert not one.is_plain(())


def counts(x):
    found = {}
    for v in x:
        found[v] = found.get(v, 0) + 1
    x[0] = 9
    return max(found.values()), len(found)


def test_interpreting_loops_that_data_end_is_given_up(monkeypatch):
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    given_up = []
    note = Race.note_given_up
    monkeypatch.setattr(Race, "note_given_up", lambda *args: given_up.append(note(*args)))
    monkeypatch.setattr(race, "LATE", 1)
    x = default_rng(0).integers(0, 20, 500)
    f, other = lw.function(counts), x.copy()
    for _ in range(4):
        assert f(x) == counts(other)
        np.testing.assert_array_equal(x, other)
    assert given_up
    monkeypatch.setattr(race, "LATE", 10**12)
    f, count = lw.function(counts), len(given_up)
    assert f(x) == counts(other)
    assert len(given_up) == count


def test_a_loop_that_is_given_up_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(race, "EARLY", 1)
    monkeypatch.setattr(race, "interpreting", lambda graph, *_: 1)
    monkeypatch.setattr(race, "_planning", lambda graph: 0)

    def f(x):
        x += 1
        return x.sum()

    x = np.arange(12.0).reshape(4, 3)
    given = x.copy()
    traced = lw.function(lw.vmap(f))
    np.testing.assert_array_equal(traced(x), (given + 1).sum(1))
    np.testing.assert_array_equal(x, given)
    (concrete,) = traced._traces.all()
    assert concrete.race._exceeded
    np.testing.assert_array_equal(traced(x), (given + 1).sum(1))
    assert concrete.race.traced < np.inf


@pytest.mark.parametrize(("each", "index"), [(1, None), (30, 3), (400, 1)])
def test_a_loop_that_will_take_too_long_is_given_up_early(each, index, monkeypatch):
    now = 0
    monkeypatch.setattr(limits, "perf_counter_ns", lambda: now)
    at = None
    try:
        with limits.limited(1000):
            pace = limits.Pace(100)
            for i in range(100):
                at = i
                pace.check(i)
                now += each
        at = None
    except limits.TookTooLong:
        pass
    assert at == index


def test_what_a_loop_of_unknown_length_takes_is_tried_for_a_while():
    def f(x):
        while x.sum() < 10:
            x = x * 1.5 + 0.1
        return x

    traced = lw.function(f)
    traced(np.ones(3))
    (concrete,) = traced._traces.all()
    executable = concrete.race._executable
    one = Race(executable, lambda: True)
    executable.native = SimpleNamespace(kernels=(), graph=SimpleNamespace(operations=()))
    one.note_traced(5 * MS)  # it was compiled in its first call
    one.note_traced(5 * MS)
    one.note_traced(5 * MS)
    assert one.is_plain(())
    assert one.limit == race.CLOSE * 5 * MS
    one.note_exceeded()
    assert not one.is_plain(())


def test_calls_that_take_less_than_estimated_correct_the_estimate():
    """Of what a map does for lists as the data have them, more is estimated than it takes."""

    def f(x):
        kept = []
        for v in x:
            if v > 0:
                kept.append(v)
        return len(kept)

    traced = lw.function(lw.vmap(f))
    traced(np.ones((40, 6)))
    (concrete,) = traced._traces.all()
    graph = concrete.race._executable.graph
    expected = race.interpreting(graph, {})
    whole = race._least(graph, expected, 1)
    assert race._least(graph, 3 * expected, 1) == whole
    np.testing.assert_allclose(race._least(graph, expected / 2, 1), whole / 2)
    np.testing.assert_allclose(race._least(graph, expected / 1000, 1), whole / race.DARING)


def test_explain_says_so(plain, capsys):
    f = lw.function(lambda x: x + 1)
    f(np.ones(3))
    lw.explain(f, np.ones(3))
    assert "the next call is plain Python: the function itself took" in capsys.readouterr().out


# --- traces that take too long --------------------------------------------------------------------


def _counted(x):
    i = 0
    total = 0.0
    while i < len(x):
        total = total * 0.5 + x[i]
        i += 1
    return total


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(faster, "FIRST", 1000)


def test_a_trace_that_takes_too_long_is_put_off(impatient):
    f = lw.function(_counted)
    x = np.arange(40.0)
    for _ in range(3):
        assert f(x) == _counted(x)
    assert type(f(x)) is type(_counted(x))
    assert f.experimental_get_tracing_count() == 0


@pytest.mark.parametrize("wrap", [lw.vmap, lambda f: lw.function(lw.vmap(f)), lw.function])
def test_passes_take_a_part_of_the_time(wrap, monkeypatch):
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)
    now = time.perf_counter_ns()
    monkeypatch.setattr(limits, "perf_counter_ns", lambda: now)
    recorded, put_off = tiers.RECORDED, faster.Postponed.put_off
    noted = []

    def slow(graph):
        nonlocal now
        now += 2 * faster.FIRST
        return recorded(graph)

    def note(self, error):
        noted.append(type(error))
        put_off(self, error)

    monkeypatch.setattr(faster.Postponed, "put_off", note)
    monkeypatch.setattr(tiers, "RECORDED", slow)
    x = np.ones((3, 2))
    np.testing.assert_array_equal(wrap(lambda x: x * 2 + 1)(x), x * 2 + 1)
    assert noted == [limits.TookTooLong]


def test_it_is_tried_again_when_calls_have_taken_long(monkeypatch):
    monkeypatch.setattr(faster, "FIRST", 1_000_000)
    f = lw.function(_counted)
    x = np.arange(200.0)
    assert f(x) == _counted(x)
    assert f.experimental_get_tracing_count() == 0
    (postponed,) = f._traces.postponed.values()
    postponed.note_plain(4_000_000)
    assert postponed.is_due
    postponed.nanoseconds = 10**12
    assert f(x) == pytest.approx(_counted(x))
    assert f.experimental_get_tracing_count() == 1
    assert not f._traces.postponed
    assert f(x) == pytest.approx(_counted(x))


def test_calls_that_went_well_are_not_refused_later(impatient):
    def refused(x):
        total = 0.0
        for i in range(20):
            total += x[i]
        return float(f"{total:.1f}")

    f = lw.function(refused)
    x = np.arange(20.0)
    assert f(x) == 190.0
    (postponed,) = f._traces.postponed.values()
    postponed.note_plain(10**12)
    postponed.nanoseconds = 10**12
    assert f(x) == 190.0
    assert f(x) == 190.0
    assert f.experimental_get_tracing_count() == 0
    with pytest.raises(lw.ConcretizationError):
        f.get_concrete_function(x)


def test_what_it_writes_and_raises_without_a_trace(impatient):
    @lw.function
    def f(x, y, i):
        for k in range(len(x)):
            x[k] = y[k] * 2.0
        return x, y, y[i]

    x, y = np.zeros(30), np.arange(30.0)
    with pytest.raises(IndexError):
        f(x, y, np.array(99))
    np.testing.assert_array_equal(x, np.zeros(30))
    first, second, third = f(x, y, np.array(3))
    assert f.experimental_get_tracing_count() == 0
    assert first is x  # as it was written to
    assert not np.shares_memory(second, y)
    assert third == 3.0
    np.testing.assert_array_equal(x, y * 2)


def test_what_a_function_reaches_may_be_read_without_a_trace(impatient, monkeypatch):
    f = lw.function(lambda x: _counted(x) * TABLE[1])
    x = np.arange(40.0)
    for _ in range(2):
        assert f(x) == _counted(x) * 2
    monkeypatch.setitem(globals(), "TABLE", [1.0, 3.0])
    assert f(x) == _counted(x) * 3
    assert f.experimental_get_tracing_count() == 0


def test_a_function_that_changes_what_it_reaches_is_traced_however_long_it_takes(impatient):
    table = [1.0, 2.0]

    def f(x):
        table[0] = 3.0
        return _counted(x)

    f = lw.function(f)
    x = np.arange(40.0)
    assert f(x) == pytest.approx(_counted(x))
    assert f.experimental_get_tracing_count() == 1
    assert table == [3.0, 2.0]


def test_what_raises_without_a_trace_has_changed_nothing(impatient):
    table = np.array([1.0, 2.0])

    def f(x, i):
        table[0] = _counted(x)
        return x[i]

    f = lw.function(f)
    with pytest.raises(lw.UnsupportedError, match="table"):  # which is not followed
        f(np.arange(40.0), np.array(99))
    np.testing.assert_array_equal(table, [1.0, 2.0])


@pytest.fixture
def limits_of_maps(impatient, monkeypatch):
    """Give how long each attempt to trace a map may take; their loops may take long."""
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)
    monkeypatch.setattr(kept, "FIRST", 10**10)
    found, trace = [], mapping._run_traced

    def noted(*args):
        found.append(args[1])
        return trace(*args)

    monkeypatch.setattr(mapping, "_run_traced", noted)
    return found


def test_a_map_reads_what_it_reaches_without_a_trace(limits_of_maps):
    table = np.array([1.0, 2.0])
    x = np.arange(40.0).reshape(1, 40)
    f = lw.vmap(lambda x: _counted(x) * table[1])
    for _ in range(3):
        assert f(x) == _counted(x[0]) * 2
    assert limits_of_maps[0] == 1000
    assert np.inf not in limits_of_maps


def test_a_map_that_changes_what_it_reaches_is_traced_however_long_it_takes(limits_of_maps):
    table = [1.0, 2.0]

    def f(x):
        table[0] = x[1] * 1.0
        return x.sum()

    x = np.arange(80.0).reshape(2, 40)
    np.testing.assert_allclose(lw.vmap(f)(x), x.sum(1))
    assert limits_of_maps == [1000, np.inf]
    assert table == [41.0, 2.0]


def test_large_arguments_are_not_copied(impatient, monkeypatch):
    monkeypatch.setattr(faster, "MOST_BYTES", 100)
    f = lw.function(_counted)
    f(np.arange(40.0))
    assert f.experimental_get_tracing_count() == 1


def test_a_concrete_function_is_made_however_long_it_takes(impatient):
    concrete = lw.function(_counted).get_concrete_function(np.arange(40.0))
    assert concrete(np.arange(40.0)) == pytest.approx(_counted(np.arange(40.0)))


def test_a_map_is_traced_after_all_if_its_loop_takes_long(impatient):
    f = lw.function(lw.vmap(_counted))
    x = np.arange(200.0).reshape(5, 40)
    wanted = [_counted(row) for row in x]
    for _ in range(3):
        np.testing.assert_allclose(f(x), wanted)
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(("size", "is_ahead"), [(2, True), (10**6, False)])
def test_no_loop_over_a_large_batch_runs_while_much_is_compiled(size, is_ahead, monkeypatch):
    monkeypatch.setattr(race, "SLOW", 0)
    f = lw.function(lw.vmap(lambda x: np.sin(x) * 2 + np.cos(x)))
    concrete = f.get_concrete_function(np.ones(size))
    concrete.race = Race(concrete._executable, lambda: True)
    concrete._executable.whole = 1e8
    assert concrete.race.is_ahead() is is_ahead


def test_what_only_the_function_gives_is_asked_of_its_trace_once(monkeypatch):
    """How long the result is the data say, which no trace of this call knows."""
    asked, run = [], ConcreteFunction.run

    def counted(self, *args, **kwargs):
        asked.append(self)
        return run(self, *args, **kwargs)

    monkeypatch.setattr(ConcreteFunction, "run", counted)

    def counts(x):
        return np.bincount(x)

    f = lw.function(counts)
    x = np.arange(5000) % 500
    for _ in range(20):
        f(x)
    asked.clear()
    for _ in range(10):
        assert is_same(f(x), np.bincount(x))
    assert len(asked) == 10
    assert is_same(f(x + 3), np.bincount(x + 3))
