"""Ordinary programs with state outside of the function: as the loop, or refused with all as before.

The programs are compared with the loop in what they return, print and leave behind. `FOLLOWED` says
which of them maps follow, so that refusing more than needed fails too.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict, deque

import numpy as np
import pytest

import lanewise as lw


class Outside:
    """Everything that the programs change outside of themselves."""

    def __init__(self):
        self.items = []
        self.pair = [None, None]
        self.array = np.zeros(2)
        self.defaults = defaultdict(int)
        self.counter = Counter()
        self.names = set()
        self.recent = deque(maxlen=2)
        self.table = {}
        self.calls = 0
        self.last = None
        self.lazy = None
        self.numbers = itertools.count()

    @property
    def weights(self):
        if self.lazy is None:
            self.lazy = np.ones(3) * 2
        return self.lazy

    @functools.cached_property
    def scale(self):
        return 7.0

    def __repr__(self):
        return repr(vars(self))


def grows_to_a_limit(o, x):
    o.items.append(0.0)
    return x * 100 if len(o.items) == 20 else x


def counts_to_a_limit(o, x):
    o.calls += 1
    if o.calls == 20:
        return x * 100
    return x


def constant_into_an_array_that_is_read(o, x):
    o.array[0] = 5.0
    return x + o.array[0]


def constant_into_an_array(o, x):
    o.array[0] = 5.0
    return x * 2


def counts_in_dicts(o, x):
    o.defaults["a"] += 1
    o.counter["b"] += 2
    return x


def updates_a_counter(o, x):
    o.counter.update(["a"])
    return x


def adds_a_name(o, x):
    o.names.add("k")
    return x


def keeps_the_most_recent(o, x):
    o.recent.append(x)
    return x


def keeps_an_array_made_inside(o, x):
    weights = np.zeros(3)
    weights[0] = 2.0
    o.lazy = weights
    return x * o.lazy.sum()


def sets_a_flag(o, x):
    o.last = True
    o.table["a"] = 1
    return x


def appends_dicts(o, x):
    o.items.append({"x": x, "n": 1})
    return x


def appends_text(o, x):
    o.items.append(f"x={x}")
    return x


def appends_constants(o, x):
    o.items.append((o.calls, "s"))
    return x


def prints_its_number(o, x):
    o.calls += 1
    print("call", o.calls)
    return x


def keeps_the_last_at_an_index(o, x):
    o.pair[o.calls % 2] = x
    return x


def appends_if(o, x):
    if x > 1:
        o.items.append(x)
    return x


def keeps_the_last_if(o, x):
    if x > 1:
        o.last = x
    return x * 2


def counts_if(o, x):
    if x > 1:
        o.defaults["big"] += 1
    return x


def uses_an_attribute_as_a_variable(o, x):
    o.last = x
    y = o.last * 2
    o.last = None
    return y


def fills_a_cache(o, x):
    if not o.table:
        o.table.update(scale=2.0, table=np.arange(4.0))
    return x * o.table["scale"] + o.table["table"][2]


def sets_by_name(o, x):
    setattr(o, "last", x)  # noqa: B010
    return o.last * 2


def fills_a_property(o, x):
    return x * o.weights.sum()


def fills_a_cached_property(o, x):
    return x * o.scale


def takes_of_an_outer_iterator(o, x):
    return x + next(o.numbers)


def loops_over_an_outer_iterator(o, x):
    for number in o.numbers:
        x = x + number
        if number % 3 == 2:
            break
    return x


def takes_of_its_own_iterator(o, x):
    numbers = iter([1.0, 2.0, 3.0])

    def take():
        return next(numbers)

    total = take() + take()
    for number in numbers:
        total = total + number * x
    return total


def has_a_class_of_its_own(o, x):
    class Counting:
        n = 0

        def step(self, value):
            Counting.n += 1
            return value * Counting.n

    return Counting().step(x) + Counting().step(x)


def has_a_closure_of_its_own(o, x):
    n = 0

    def step(value):
        nonlocal n
        n = n + value
        return n

    step(x)
    step.tag = 1
    return step(x)


def recurses_with_a_list_of_its_own(o, x):
    seen = []

    def go(k):
        seen.append(k)
        return x if k == 0 else go(k - 1) + seen[0]

    return go(3)


FOLLOWED = [
    constant_into_an_array_that_is_read,
    constant_into_an_array,
    counts_in_dicts,
    updates_a_counter,
    adds_a_name,
    sets_a_flag,
    appends_dicts,
    appends_constants,
    keeps_the_last_at_an_index,
    uses_an_attribute_as_a_variable,
    fills_a_cache,
    sets_by_name,
    fills_a_property,
    fills_a_cached_property,
    takes_of_its_own_iterator,
    has_a_class_of_its_own,
    has_a_closure_of_its_own,
    recurses_with_a_list_of_its_own,
]
REFUSED = [
    grows_to_a_limit,
    counts_to_a_limit,
    keeps_the_most_recent,
    keeps_an_array_made_inside,
    appends_text,
    prints_its_number,
    appends_if,
    keeps_the_last_if,
    counts_if,
    takes_of_an_outer_iterator,
    loops_over_an_outer_iterator,
]
XS = np.arange(1.0, 26.0)


def looped(program, capsys):
    outside = Outside()
    results = np.stack([program(outside, x) for x in XS])
    return results, repr(outside), capsys.readouterr().out


@pytest.mark.parametrize("program", FOLLOWED)
@pytest.mark.parametrize(
    "mapped", [lw.vmap, lambda f: lw.vmap(f, chunk_size=4)], ids=["vmap", "chunks"]
)
def test_maps_leave_what_the_loop_leaves(program, mapped, capsys):
    want = looped(program, capsys)
    outside = Outside()
    got = mapped(lambda x: program(outside, x))(XS)
    np.testing.assert_array_equal(got, want[0])
    assert repr(outside) == want[1]
    assert capsys.readouterr().out == want[2]


@pytest.mark.parametrize("program", REFUSED)
def test_refusals_change_nothing(program, capsys):
    outside = Outside()
    with pytest.raises(lw.UnsupportedError, match="test_outer_programs"):
        lw.vmap(functools.partial(program, outside))(XS)
    assert repr(outside) == repr(Outside())
    assert not capsys.readouterr().out


@pytest.mark.parametrize("program", [*FOLLOWED, *REFUSED])
def test_map_fn_is_the_loop(program, capsys):
    want = looped(program, capsys)
    outside = Outside()
    got = lw.map_fn(lambda x: program(outside, x), XS)
    np.testing.assert_array_equal(got, want[0])
    assert (repr(outside), capsys.readouterr().out) == want[1:]


@pytest.mark.parametrize("program", [*FOLLOWED, *REFUSED])
def test_traced_functions_keep_no_tensors(program):
    outside = Outside()
    try:
        got = lw.function(lambda x: program(outside, x))(XS[0])
    except lw.UnsupportedError:
        assert repr(outside) == repr(Outside())
    else:
        assert got == program(Outside(), XS[0])
        assert "Tensor" not in repr(outside)


CACHES = (fills_a_property, fills_a_cached_property)  # which the plain attribute fills by itself


@pytest.mark.parametrize("program", [p for p in (*FOLLOWED, *REFUSED) if p not in CACHES])
@pytest.mark.parametrize("mapped", [lambda f, x: lw.vmap(f)(x), lw.map_fn], ids=["vmap", "map_fn"])
def test_no_example_changes_nothing(program, mapped):
    outside = Outside()
    try:
        assert mapped(lambda x: program(outside, x), XS[:0]).shape == (0,)
    except lw.UnsupportedError as error:
        assert "test_outer_programs" in str(error)
    assert repr(outside) == repr(Outside())


def fails_in_a_branch(o, x):
    if x > 1:
        o.items.append(x)
        if np.zeros(2)[int(x) - int(x)] == 0:
            raise TypeError("as plain code does")
    return x


def is_refused_in_a_branch(o, x):
    if x > 1:
        o.items.append(x)
        o.last = o
        o.names.add(x)
    return x


@pytest.mark.parametrize("program", [fails_in_a_branch, is_refused_in_a_branch])
@pytest.mark.parametrize("mapped", [lw.vmap, lw.function], ids=["vmap", "function"])
def test_what_fails_in_a_branch_leaves_no_tensor(program, mapped):
    outside = Outside()
    with pytest.raises(TypeError):
        mapped(lambda x: program(outside, x))(XS if mapped is lw.vmap else XS[3])
    assert repr(outside) == repr(Outside())


@pytest.mark.parametrize("program", [appends_if, counts_if])
def test_map_fn_starts_anew_after_what_cannot_be_traced(program, capsys):
    want = looped(program, capsys)
    outside = Outside()
    np.testing.assert_array_equal(lw.map_fn(lambda x: program(outside, x), XS), want[0])
    assert (
        repr(outside).replace(repr(type(outside))[8:-2], "") == want[1] or outside.last is outside
    )


def test_map_fn_of_what_cannot_be_traced_within_a_branch():
    outside = Outside()

    @lw.function
    def func(y):
        if y > 1:
            return lw.map_fn(lambda x: appends_if(outside, x * 1.0), XS).sum() + y
        return y

    try:
        assert func(2.0) == XS.sum() + 2
    except lw.UnsupportedError:
        assert "Tensor" not in repr(outside)


def is_refused_before_a_finally(o, x):
    y = x
    try:
        if x > 1:
            return x
        y += 0.5
        o.items.append(1)
    finally:
        y += x
    return y


def test_a_finally_does_not_hide_the_refusal():
    outside = Outside()
    with pytest.raises(lw.ControlFlowError, match="a list is a list of"):
        lw.vmap(functools.partial(is_refused_before_a_finally, outside))(XS)
    assert repr(outside) == repr(Outside())
