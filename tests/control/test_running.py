"""Running control flow: plans of graphs written by hand, beside plain Python loops."""

from __future__ import annotations

import dis
import sys
import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lanewise as lw
from lanewise.ir.graph import Builder, current_builder
from lanewise.ir.types import TOKEN, array_type
from lanewise.ops.checks import check, checked
from lanewise.ops.control import switch
from lanewise.ops.host import py_func
from lanewise.ops.indexing import gather
from lanewise.ops.movement import broadcast_to, cast, reshape, slice_, transpose, update_slice
from lanewise.ops.regions import map_
from lanewise.passes.pipeline import lower
from lanewise.runtime.diagnose import explain_failure
from lanewise.runtime.interpret import Plan
from support.by_hand import (
    B1,
    F8,
    FLOAT,
    I8,
    INT,
    N,
    add,
    alone,
    div,
    equal,
    floordiv,
    for_,
    graph_of,
    greater,
    if_,
    less,
    log,
    loop,
    mapped,
    mod,
    mul,
    negative,
    number,
    region,
    results,
    run,
    set_at,
    sub,
)
from support.searching import searching

pytestmark = pytest.mark.any_backend


def assert_as_alone(function, arguments, *types, in_dims=None):
    """Check a map against the plan of one example, run for each."""
    in_dims = in_dims or (0,) * len(types)
    single = alone(function, *types)
    found = run(mapped(function, *types, in_dims=in_dims), *arguments)
    size = next(len(x) for x, axis in zip(arguments, in_dims, strict=True) if axis == 0)
    for k in range(size):
        example = [x if axis is None else x[k] for x, axis in zip(arguments, in_dims, strict=True)]
        for one, batch in zip(single(*example), found, strict=True):
            np.testing.assert_array_equal(batch[k], one)
            assert batch.dtype == one.dtype and batch.shape[1:] == np.shape(one)
    return found


# --- native control flow --------------------------------------------------------------------------


def collatz(x):
    count, _ = results(
        loop(
            lambda c, v: greater(v, 1),
            lambda c, v: (
                add(c, 1),
                if_(
                    equal(mod(v, 2), 0),
                    lambda v: floordiv(v, 2),
                    lambda v: add(mul(v, 3), 1),
                    v,
                ),
            ),
            number(0),
            x,
        )
    )
    return count


def python_collatz(x):
    count = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        count += 1
    return count


def test_while_and_cond_of_one_example():
    plan = alone(collatz, INT)
    for x in (0, 1, 2, 27, 97):
        (result,) = plan(np.array(x))
        assert result == python_collatz(x) and type(result) is np.int64


def test_cond_takes_either_branch():
    plan = alone(
        lambda p, x: if_(p, lambda x: (add(x, 1.0), x), lambda x: (x, mul(x, 2.0)), x),
        array_type(B1, ()), array_type(F8, (3,)),
    )  # fmt: skip
    x = np.arange(3.0)
    for pred, expected in ((True, (x + 1, x)), (False, (x, x * 2))):
        for found, wanted in zip(plan(np.array(pred), x), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_switch_takes_python_indices(count):
    def function(i, x):
        branches = [region(lambda x, k=k: add(x, float(k)), (x,)) for k in range(count)]
        return switch(i, x, regions=tuple(branches))

    for dtype in (np.int8, np.uint8, np.int64):
        plan = alone(function, array_type(np.dtype(dtype), ()), FLOAT)
        for i in range(0 if dtype is np.uint8 else -count, count):
            assert plan(dtype(i), 1.0 * np.ones(()))[0] == 1.0 + range(count)[i]
        for i in (count, 100) if dtype is np.uint8 else (count, -count - 1):
            with pytest.raises(IndexError, match="list index out of range"):
                plan(dtype(i), np.ones(()))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_scan_stacks_what_it_gives(length, reverse):
    def function(xs, c, start):
        return for_(
            lambda c, s, x: (add(mul(s, c), x), mul(s, x), add(x, c)),
            length, c, start, xs, captures=1, carry=1, reverse=reverse,
        )  # fmt: skip

    plan = alone(function, array_type(F8, (length, 2)), FLOAT, array_type(F8, (2,)))
    rng = np.random.default_rng(0)
    xs, start = rng.normal(size=(length, 2)), rng.normal(size=2)
    s, first, second = start, np.empty((length, 2)), np.empty((length, 2))
    for k in reversed(range(length)) if reverse else range(length):
        first[k], second[k] = s * xs[k], xs[k] + 0.5
        s = s * 0.5 + xs[k]
    for found, wanted in zip(plan(xs, np.array(0.5), start), (s, first, second), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_scan_without_anything_to_read_or_write():
    plan = alone(lambda x: for_(lambda x: (mul(x, 2.0),), 5, x, carry=1), FLOAT)
    assert plan(np.array(3.0)) == [96.0]


def test_carries_that_change_places():
    def function(a, b, c):
        return loop(
            lambda a, b, c, i: less(i, 5),
            lambda a, b, c, i: (b, c, a, add(i, 1)),
            a, b, c, number(0),
        )  # fmt: skip

    vector = array_type(F8, (2,))
    arguments = [np.full(2, float(k)) for k in range(3)]
    a, b, c, _ = alone(function, vector, vector, vector)(*arguments)
    assert (a[0], b[0], c[0]) == (2.0, 0.0, 1.0)
    assert [x[0] for x in arguments] == [0.0, 1.0, 2.0]


def test_a_value_that_is_captured_carried_and_used_afterwards():
    def function(x):
        y, z = results(
            loop(
                lambda c, x, y: less(slice_sum(x), 50.0),
                lambda c, x, y: (add(x, c), x),
                x,
                x,
                x,
                captures=1,
            )
        )
        return y, z, x

    def slice_sum(x):
        return gather(x, number(0), axis=0)

    x = np.array([20.0, 1.0])
    y, z, same = alone(function, array_type(F8, (2,)))(x)
    np.testing.assert_array_equal(y, [60, 3])
    np.testing.assert_array_equal(z, [40, 2])
    np.testing.assert_array_equal(same, [20, 1])


def nested(depth, x):
    if not depth:
        return add(x, 1.0)
    if depth % 2:
        return if_(greater(x, -1.0), lambda x: nested(depth - 1, x), lambda x: negative(x), x)
    return results(for_(lambda x: (nested(depth - 1, x),), 1, x, carry=1))[0]


@pytest.mark.parametrize("depth", [1, 15, 16, 17, 40, 90])
def test_deep_nesting(depth):
    (result,) = alone(lambda x: nested(depth, x), FLOAT)(np.array(1.0))
    assert result == 2.0
    (result,) = run(mapped(lambda x: nested(depth, x), FLOAT), np.array([1.0, -5.0, 3.0]))
    assert result[0] == 2.0 and result[2] == 4.0


def test_sizes_of_the_graph_around_are_known_in_regions():
    vector = array_type(F8, (N,))

    def function(x, k):
        def body(i, total):
            ones = broadcast_to(number(1.0), shape=(N,))
            return add(i, 1), add(total, ones)

        _, total = results(
            loop(lambda i, t: less(i, 3), body, number(0), broadcast_to(number(0.0), shape=(N,)))
        )
        return total

    for size in (0, 1, 4):
        np.testing.assert_array_equal(alone(function, vector, INT)(np.ones(size), np.array(1))[0],
                                      np.full(size, 3.0))  # fmt: skip


def test_scan_over_a_symbolic_length():
    def function(xs):
        return for_(lambda s, x: (add(s, x), mul(x, 2.0)), N, number(0.0), xs, carry=1)

    plan = alone(function, array_type(F8, (N,)))
    for size in (0, 3):
        total, doubled = plan(np.arange(float(size)))
        assert total == np.arange(size).sum()
        np.testing.assert_array_equal(doubled, np.arange(size) * 2.0)


def test_checks_run_in_branches_and_loops():
    def function(x):
        def refuse(x):
            check(less(x, 10.0), x, make=lambda x: ValueError(f"{x} is too large"))
            return x

        return if_(greater(x, 5.0), refuse, lambda x: x, x)

    plan = alone(function, FLOAT)
    assert plan(np.array(7.0)) == [7.0] and plan(np.array(1.0)) == [1.0]
    with pytest.raises(ValueError, match=r"11\.0 is too large"):
        plan(np.array(11.0))


def calls(call, *arguments):
    """Count the functions that a call calls, of C and of Python, by name; ufuncs are not seen."""
    found: Counter[str] = Counter()

    def note(frame, event, argument):
        if event == "c_call":
            found[argument.__name__] += 1
        elif event == "call":
            found[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        call(*arguments)
    finally:
        sys.setprofile(None)
    return found


def test_scalars_take_operators():
    """Few turns of the loop call anything, to see how late it is: it would take twice as long."""

    def function(x):
        return loop(
            lambda x, i: less(i, 200), lambda x, i: (add(mul(x, 0.5), 1.0), add(i, 1)),
            x, number(0),
        )  # fmt: skip

    plan = alone(function, FLOAT)
    steps = [step for step in dis.get_instructions(plan._run) if step.opname.startswith("CALL")]
    assert len(steps) == 1
    x, i = plan(np.array(0.0))
    assert x == 2 and i == 200


# --- writing in place -----------------------------------------------------------------------------


def test_writing_one_element_a_turn_is_not_quadratic():
    def function(x):
        def body(a, i):
            value = add(gather(a, sub(i, 1), axis=0), 1.0)
            return set_at(a, i, value), add(i, 1)

        return results(loop(lambda a, i: less(i, x.type.shape[0]), body, x, number(0)))[0]

    plan = alone(function, array_type(F8, (1000,)))
    x = np.zeros(1000)
    assert calls(plan, x)["copy"] == 1
    np.testing.assert_array_equal(plan(x)[0], np.arange(1, 1001))
    assert not x.any()


def test_writing_in_a_branch_is_not_quadratic():
    def function(x):
        def body(a, i):
            a = if_(
                equal(mod(i, 2), 0),
                lambda a, i: set_at(a, i, cast(i, dtype=F8)),
                lambda a, i: a,
                a, i,
            )  # fmt: skip
            return a, add(i, 1)

        return results(loop(lambda a, i: less(i, x.type.shape[0]), body, x, number(0)))[0]

    plan = alone(function, array_type(F8, (1000,)))
    x = np.ones(1000)
    assert calls(plan, x)["copy"] == 1
    expected = np.where(np.arange(1000) % 2, 1.0, np.arange(1000.0))
    np.testing.assert_array_equal(plan(x)[0], expected)
    assert (x == 1).all()


def test_writing_in_nested_loops():
    def function(x):
        def inner(a, i, j):
            return set_at(a, j, add(gather(a, j, axis=0), cast(i, dtype=F8))), i, add(j, 1)

        def outer(a, i):
            a, _, _ = loop(lambda a, i, j: less(j, 3), inner, a, i, number(0))
            return a, add(i, 1)

        return results(loop(lambda a, i: less(i, 4), outer, x, number(0)))[0]

    x = np.array([1.0, 2.0, 3.0, 4.0])
    (result,) = alone(function, array_type(F8, (4,)))(x)
    np.testing.assert_array_equal(result, [7, 8, 9, 4])
    np.testing.assert_array_equal(x, [1, 2, 3, 4])


ALIASES = {
    "itself": lambda a: a,
    "reshape": lambda a: reshape(a, shape=(2, 2)),
    "slice": lambda a: slice_(a, index=((3, -1, -1),)),
    "transpose": lambda a: transpose(reshape(a, shape=(2, 2)), axes=(1, 0)),
    "broadcast": lambda a: broadcast_to(a, shape=(2, 4)),
    "row": lambda a: gather(reshape(a, shape=(2, 2)), number(0), axis=0),
    "checked": lambda a: checked(a, number(True), error="ValueError", message=""),
    "element": lambda a: reshape(slice_(a, index=((0, 1, 1),)), shape=()),
    "part of a cond": lambda a: if_(
        less(gather(a, number(0), axis=0), 100.0), lambda a: a, lambda a: mul(a, 2.0), a
    ),
    "part of a loop": lambda a: results(
        loop(lambda a, i: less(i, 0), lambda a, i: (mul(a, 2.0), add(i, 1)), a, number(0))
    )[0],
    "copy": lambda a: mul(a, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("when", ["before", "in a loop", "value"])
def test_what_is_still_read_is_not_written_to(alias, when):
    """An old value, and every view of it, stays as it was."""
    see = ALIASES[alias]

    def before(x):
        a = mul(x, 1.0)
        seen = see(a)
        b = set_at(a, number(0), number(9.0))
        return b, seen

    def in_loop(x):
        shown = see(x).type

        def body(a, old, i):
            old = see(a)
            return set_at(a, number(0), add(gather(a, number(0), axis=0), 1.0)), old, add(i, 1)

        del shown
        return loop(lambda a, old, i: less(i, 3), body, mul(x, 1.0), mul(see(x), 1.0), number(0))

    def as_value(x):
        a = mul(x, 1.0)
        seen = see(a)
        shape = seen.type.shape
        if shape == (4,):
            return update_slice(a, seen, index=((3, -1, -1),)), a
        return update_slice(a, reshape(slice_(a, index=((1, 3, 1),)), shape=(2,)),
                            index=((0, 2, 1),)), seen  # fmt: skip

    function = {"before": before, "in a loop": in_loop, "value": as_value}[when]
    x = np.arange(1.0, 5.0)
    found = alone(function, array_type(F8, (4,)))(x)
    numpy = {
        "reshape": lambda a: a.reshape(2, 2), "slice": lambda a: a[::-1],
        "transpose": lambda a: a.reshape(2, 2).T, "broadcast": lambda a: np.broadcast_to(a, (2, 4)),
        "row": lambda a: a[:2], "element": lambda a: a[0],
    }.get(alias, lambda a: a)  # fmt: skip
    np.testing.assert_array_equal(x, [1, 2, 3, 4])
    if when == "before":
        np.testing.assert_array_equal(found[0], [9, 2, 3, 4])
        np.testing.assert_array_equal(found[1], numpy(x))
    elif when == "in a loop":
        np.testing.assert_array_equal(found[0], [4, 2, 3, 4])
        np.testing.assert_array_equal(found[1], numpy(np.array([3.0, 2, 3, 4])))
    elif np.shape(numpy(x)) == (4,):
        np.testing.assert_array_equal(found[0], numpy(x)[::-1])
        np.testing.assert_array_equal(found[1], x)
    else:
        np.testing.assert_array_equal(found[0], [2, 3, 3, 4])
        np.testing.assert_array_equal(found[1], numpy(x))


def test_constants_and_captures_are_never_written_to():
    def function(x, c):
        table = number([1.0, 2.0, 3.0])

        def body(c, a, b, i):
            return (
                set_at(a, i, add(gather(c, i, axis=0), 5.0)),
                set_at(c, i, number(7.0)),
                add(i, 1),
            )

        return loop(lambda c, a, b, i: less(i, 3), body, c, table, c, number(0), captures=1)

    plan = alone(function, FLOAT, array_type(F8, (3,)))
    c = np.array([10.0, 20.0, 30.0])
    for _ in range(2):
        a, b, _ = plan(np.array(0.0), c)
        np.testing.assert_array_equal(a, [15, 25, 35])
        np.testing.assert_array_equal(b, [10, 20, 7])
        np.testing.assert_array_equal(c, [10, 20, 30])


# --- examples that go different ways --------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 5, 40, 1000])
def test_divergent_loops(size):
    x = np.random.default_rng(size).integers(1, 3000, size)
    (counts,) = run(mapped(collatz, INT), x)
    assert counts.dtype == I8 and counts.tolist() == [python_collatz(int(v)) for v in x]


def test_divergent_loops_of_arrays_captures_and_lockstep_carries():
    """A carry that is the same for all, one that varies, and captures of both kinds."""

    def function(x, limit, shared):
        def body(limit, shared, total, x, i):
            return add(total, mul(x, shared)), add(x, 1.0), add(i, 1)

        return loop(
            lambda limit, shared, total, x, i: less(i, limit), body,
            limit, shared, broadcast_to(number(0.0), shape=(3,)), x, number(0), captures=2,
        )  # fmt: skip

    rng = np.random.default_rng(1)
    for limits in ([0] * 50, [7] * 50, rng.integers(0, 60, 50), [0] * 49 + [500], range(50)):
        arguments = rng.normal(size=(50, 3)), np.array(limits), rng.normal(size=3)
        kept = [x.copy() for x in arguments]
        types = array_type(F8, (3,)), INT, array_type(F8, (3,))
        assert_as_alone(function, arguments, *types, in_dims=(0, 0, None))
        for x, y in zip(arguments, kept, strict=True):
            np.testing.assert_array_equal(x, y)


def test_what_a_divergent_loop_carries_may_alias():
    """Carries that are views, broadcasts, operands or one another are not written to."""

    def function(x, limit):
        def body(x, limit, a, b, c, d, i):
            flipped = slice_(a, index=((3, -1, -1),))
            return flipped, flipped, x, broadcast_to(number(2.0), shape=(4,)), add(i, 1)

        return loop(
            lambda x, limit, a, b, c, d, i: less(i, limit), body, x, limit, x, x, x, x, number(0),
            captures=2,
        )  # fmt: skip

    x = np.arange(40.0).reshape(10, 4)
    kept = x.copy()
    assert_as_alone(function, (x, np.arange(10)), array_type(F8, (4,)), INT)
    np.testing.assert_array_equal(x, kept)


def test_divergent_loops_that_write_elements():
    def function(x, limit):
        def body(limit, a, i):
            return set_at(a, mod(i, 4), add(gather(a, number(0), axis=0), 1.0)), add(i, 1)

        return loop(
            lambda limit, a, i: less(i, limit), body, limit, x, number(0), captures=1
        )  # fmt: skip

    x = np.arange(80.0).reshape(20, 4)
    kept = x.copy()
    assert_as_alone(function, (x, np.arange(20) * 3 + 2), array_type(F8, (4,)), INT)
    np.testing.assert_array_equal(x, kept)


def test_finished_examples_are_not_computed_with():
    """Neither warnings nor errors nor endless loops come of an example that has finished."""

    def function(x):
        def body(x, i):
            check(greater(x, 0.0), x, make=lambda x: ValueError(f"{x}"))
            return sub(x, 1.0), add(i, div(1.0, x))

        return loop(lambda x, i: greater(x, 0.5), body, x, number(0.0))

    x = np.array([1.0, 5, 3, 2, 40, 7, 1, 1, 1, 9, 30, 22])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_as_alone(function, (x,), FLOAT)


def test_examples_stay_apart_in_errors_of_warnings():
    def function(x):
        return if_(greater(x, 0.0), lambda x: log(x), lambda x: negative(x), x)

    x = np.array([1.0, -1.0, 0.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_as_alone(function, (x,), FLOAT)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_divergent_branches(size):
    def function(p, x, shared):
        return if_(
            p,
            lambda x, s: (x, s, add(x, s), number(1.0)),
            lambda x, s: (mul(s, 2.0), x, x, number(2.0)),
            x, shared,
        )  # fmt: skip

    rng = np.random.default_rng(0)
    vector = array_type(F8, (2,))
    for pred in (rng.random(size) < 0.5, np.zeros(size, bool), np.ones(size, bool)):
        arguments = pred, rng.normal(size=(size, 2)), rng.normal(size=2)
        kept = [x.copy() for x in arguments]
        found = run(mapped(function, array_type(B1, ()), vector, vector, in_dims=(0, 0, None)),
                    *arguments)  # fmt: skip
        assert [x.shape for x in found] == [(size, 2)] * 3 + [(size,)]
        assert_as_alone_if_any(function, arguments, size)
        for x, y in zip(arguments, kept, strict=True):
            np.testing.assert_array_equal(x, y)


def assert_as_alone_if_any(function, arguments, size):
    vector = array_type(F8, (2,))
    assert_as_alone(function, arguments, array_type(B1, ()), vector, vector, in_dims=(0, 0, None))


def test_divergent_switch():
    def function(i, x):
        branches = [region(lambda x, k=k: (add(x, float(k)), x), (x,)) for k in range(5)]
        return switch(i, x, regions=tuple(branches))

    for dtype in (np.int8, np.int64):
        i = np.array([0, -1, 4, 2, -5, 2, 0], dtype)
        assert_as_alone(function, (i, np.arange(7.0)), array_type(np.dtype(dtype), ()), FLOAT)
        with pytest.raises(IndexError, match="list index out of range"):
            run(mapped(function, array_type(np.dtype(dtype), ()), FLOAT),
                np.array([0, 5], dtype), np.arange(2.0))  # fmt: skip
    i = np.array([0, 4, 2], np.uint64)
    assert_as_alone(function, (i, np.arange(3.0)), array_type(np.dtype(np.uint64), ()), FLOAT)


def test_divergence_within_divergence():
    def function(x, k):
        def inner(x, k):
            return results(loop(lambda x, k: greater(x, k), lambda x, k: (sub(x, 3), k), x, k))[0]

        def body(x, k):
            x = if_(less(x, 50), lambda x, k: inner(x, k), lambda x, k: floordiv(x, 2), x, k)
            return x, k

        return loop(lambda x, k: greater(x, k), body, x, k)

    rng = np.random.default_rng(0)
    arguments = rng.integers(0, 500, 60), rng.integers(0, 20, 60)
    assert_as_alone(function, arguments, INT, INT)


def test_maps_in_regions_and_regions_in_maps():
    def function(xs, limit):
        def body(limit, xs, i):
            return map_(
                xs, regions=(graph_of(lambda x: if_(less(x, 3.0), lambda x: mul(x, 2.0),
                                                    lambda x: sub(x, 1.0), x), FLOAT),),
                size=3, in_dims=(0,), out_mapped=(True,),
            ), add(i, 1)  # fmt: skip

        return loop(lambda limit, xs, i: less(i, limit), body, limit, xs, number(0), captures=1)

    rng = np.random.default_rng(0)
    arguments = rng.normal(size=(9, 3)) * 5, rng.integers(0, 9, 9)
    assert_as_alone(function, arguments, array_type(F8, (3,)), INT)


@searching(20)
@given(
    st.lists(st.integers(-3, 40), max_size=30),
    st.lists(st.integers(-20, 20), min_size=30, max_size=30),
)
def test_any_numbers_of_turns(limits, starts):
    def function(x, limit):
        def body(limit, x, y, i):
            x, y = if_(
                greater(mod(x, 3), 0),
                lambda x, y: (add(x, 2), y),
                lambda x, y: (y, add(x, y)),
                x,
                y,
            )
            return x, y, add(i, 1)

        return loop(lambda limit, x, y, i: less(i, limit), body, limit, x, x, number(0), captures=1)

    arguments = np.array(starts[: len(limits)], int), np.array(limits, int)
    assert_as_alone(function, arguments, INT, INT)


# --- speed ----------------------------------------------------------------------------------------


def test_one_long_example_among_many_short_ones():
    def function(limit):
        def body(limit, x, i):
            return add(mul(x, 0.5), 1.0), add(i, 1)

        return loop(
            lambda limit, x, i: less(i, limit), body, limit, number(0.0), number(0), captures=1
        )

    plan = Plan(lower(mapped(function, INT)))
    limits = np.full(4096, 20)
    limits[1234] = 20_000
    x, i = plan(limits)
    np.testing.assert_array_equal(i, limits)
    assert abs(x[0] - 2) < 1e-5 and x[1234] == 2
    assert calls(plan, limits).total() < 2000  # most of the turns are its own, which call nothing


@pytest.mark.parametrize("kind", ["branch", "loop"])
def test_elements_of_large_arrays_in_divergent_code(kind):
    """Some examples write an element each turn: there are few copies of the arrays at once."""

    def in_branch(x):
        def body(x, a, i):
            value = gather(x, i, axis=0)
            a = if_(
                greater(value, 0.0),
                lambda a, i, v: set_at(a, i, add(gather(a, i, axis=0), v)),
                lambda a, i, v: a,
                a, i, value,
            )  # fmt: skip
            return a, add(i, 1)

        a = broadcast_to(number(1.0), shape=x.type.shape)
        return for_(lambda x, a, i: body(x, a, i), 1000, x, a, number(0), captures=1, carry=2)[0]

    def in_loop(x):
        def body(x, a, i):
            return set_at(a, i, add(gather(x, i, axis=0), 1.0)), add(i, 1)

        a = broadcast_to(number(1.0), shape=x.type.shape)
        return loop(
            lambda x, a, i: greater(gather(x, i, axis=0), -2.0), body, x, a, number(0), captures=1
        )[0]

    x = np.random.default_rng(0).normal(size=(50, 2_000))
    if kind == "branch":
        x[:, 1_000:] = -1
        expected = np.where(x > 0, 1 + x, 1.0)
    else:
        x = np.maximum(x, -1.9)
        ends = np.arange(50) * 40
        x[np.arange(50), ends] = -3
        expected = np.where(np.arange(2_000) < ends[:, None], x + 1, 1.0)
    plan = Plan(lower(mapped(in_branch if kind == "branch" else in_loop, array_type(F8, (2_000,)))))
    tracemalloc.start()
    try:
        (result,) = plan(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(result, expected)
    # The carry, the result, and of the examples that go one way their rows, before and after.
    assert peak < 5 * x.nbytes  # and indices


# --- errors ---------------------------------------------------------------------------------------


def mark():
    """Make the line that calls this the place of the next operation."""
    frame = sys._getframe(1)
    current_builder().location = frame.f_code, frame.f_lasti
    return 0


def error_of(graph, *arguments):
    """Return what a failing run raises, explained."""
    with pytest.raises(Exception) as info:
        run(graph, *arguments)
    return explain_failure(info.value, graph, arguments)


def test_the_first_example_that_fails_is_named_with_its_own_error():
    """A later example fails in an earlier turn, and otherwise; the loop never gets there."""

    def function(x):
        def body(x, i):
            mark(), check(less(i, 5), x, make=lambda x: ValueError(f"{x} is slow"))  # the line
            check(less(x, 100), x, make=lambda x: KeyError(int(x)))
            return sub(x, 2), add(i, 1)

        return loop(lambda x, i: greater(x, 0), body, x, number(0))

    error = error_of(mapped(function, INT), np.array([1, 2, 3, 30, 5, 200, 7]))
    assert type(error) is ValueError and "20 is slow\n  in example 3 (" in str(error)
    assert "test_running.py:" in str(error) and "# the line" in str(error)


def test_failures_in_branches_scans_and_maps_are_found():
    def function(xs, k):
        def refuse(s, x):
            ok = less(x, 4)
            return mark() or checked(s, ok, error="ValueError", message="no")  # the line

        def body(k, s, x):
            return (if_(equal(x, k), refuse, lambda s, x: add(s, x), s, x),)

        return for_(body, 6, k, number(0), xs, captures=1, carry=1)

    def outer(rows, k):
        return map_(
            rows, k, regions=(graph_of(function, array_type(I8, (6,)), INT),), size=N,
            in_dims=(0, None), out_mapped=(True,),
        )  # fmt: skip

    rows, k = np.tile(np.arange(6), (8, 1)), np.array([0, 1, 2, 3, 9, 5, 4, 0])
    error = error_of(mapped(function, array_type(I8, (6,)), INT), rows, k)
    assert str(error).startswith("no\n  in example 5 (") and "# the line" in str(error)
    graph = mapped(outer, array_type(I8, (N, 6)), INT)
    error = error_of(graph, np.tile(rows, (8, 1, 1)), k)
    assert str(error).startswith("no\n  in example 5, 0 (") and "# the line" in str(error)
    error = error_of(graph_of(function, array_type(I8, (6,)), INT), np.arange(6), np.array(4))
    assert str(error).startswith("no\n  in the traced function (") and "# the line" in str(error)


def test_switches_out_of_range_are_found():
    def function(i, x):
        branches = region(lambda x: x, (x,)), region(lambda x: negative(x), (x,))
        return mark() or switch(i, x, regions=branches)  # the line

    error = error_of(mapped(function, INT, FLOAT), np.array([0, -2, 1, 2, -3]), np.zeros(5))
    assert str(error).startswith("list index out of range\n  in example 3 (")
    assert "# the line" in str(error)


@pytest.mark.parametrize("depth", [1, 20])
def test_errors_of_host_code_in_regions_name_the_line(depth):
    """A graph with host code is not run again; it knows the line all the same."""
    seen = []

    def host(x):
        seen.append(float(x))
        return [np.sqrt(x) if x != 3 else {}[3]]

    def call(token, x):
        mark()
        return py_func(token, x, func=host, types=(FLOAT,), vectorized=False)  # host

    def deep(depth, token, x):
        if not depth:
            token, x = call(token, x)
            return token, log_of(x)
        return for_(lambda t, x: deep(depth - 1, t, x), 1, token, x, carry=2)

    def log_of(x):
        mark()
        return checked(x, greater(x, 0.0), error="ValueError", message="zero")  # checked

    def function(token, x):
        return if_(greater(x, -5.0), lambda t, x: deep(depth, t, x), lambda t, x: (t, x), token, x)

    body = graph_of(function, TOKEN, FLOAT)
    builder = Builder()
    operands = builder.input(TOKEN), builder.input(array_type(F8, (N,)))
    params = {
        "size": N, "in_dims": (None, 0), "out_mapped": (False, True), "order": "parallel",
        "chunk": None, "fallback": True, "fastmath": False, "columns": (),
    }  # fmt: skip
    graph = builder.finish(builder.emit(map_, operands, params, (body,)))
    with pytest.raises(KeyError) as info:
        run(graph, None, np.array([4.0, -6.0, 3.0, 1.0]))
    assert seen == [4.0, 3.0] and "in example 2 (" in info.value.__notes__[0]
    assert "mark()" in info.value.__notes__[0]
    seen.clear()
    with pytest.raises(ValueError, match=r"zero\n  in example 1 \(.*test_running"):
        run(graph, None, np.array([4.0, 0.0, 3.0]))
    assert seen == [4.0, 0.0]


def _or_raise(m, p):
    if m > 0:
        q = p if p else False
    else:
        raise ValueError
    return q


def _or_another(m, p):
    q = (p if p else False) if m > 0 else any(True)
    return 1 if q else 4


def _both(m, p):
    if m > 0:
        q = (p and p, p or False, bool(p))
    else:
        raise ValueError
    return q[0] + 2 * q[1] + 4 * q[2]


@pytest.mark.parametrize("function", [_or_raise, _or_another, _both])
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_a_branch_that_turns_out_to_hand_an_operand_on(function, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    m, p = np.array([1, 2, 3]), np.array([False, True, False])
    want = [function(*each) for each in zip(m, p, strict=True)]
    assert lw.vmap(function)(m, p).tolist() == want
    nested = lw.vmap(lw.vmap(function))(np.stack([m, m]), np.stack([p, ~p]))
    assert nested.tolist() == [want, [function(*each) for each in zip(m, ~p, strict=True)]]
