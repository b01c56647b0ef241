"""What a traced function writes to its arguments is computed where they lie, and copied nowhere."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.kernel import write
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY
from lanewise.runtime.memory import analyze

LARGE = 200_000


def add_one(a):
    a += 1


def set_one(a):
    a[5] = 2.0


def add_to_part(a):
    a[5:13] += np.arange(8.0)


def exponentials(a):
    np.exp(a, out=a)


def running_sum(a):
    for i in range(1, a.size):
        a[i] += a[i - 1] * 0.5


def smooth(a):
    a[1:-1] = 0.5 * (a[:-2] + a[2:])


def smooth_thrice(a):
    for _ in range(3):
        a[1:-1] = 0.25 * (a[:-2] + 2 * a[1:-1] + a[2:])


def turn_round(a):
    a[:] = a[::-1]


def add_first(a):
    a += a[0]


def add_sum(a):
    a[:] = a + a.sum()


def shift(a):
    a[1:] = a[:-1]


def swap(a, b):
    a[:], b[:] = b.copy(), a.copy()


def swap_sums(a, b):
    a[:], b[:] = a + b, a - b


def both(a, b):
    a += b
    b -= a


def give_parts(a):
    a *= 2
    return a.sum(), a[::2], a


def give_old(a):
    old = a * 1.0
    a[3] = 9
    return old, a


def give_another(a):
    other = a.copy()
    a[1] = 7
    other[0] = 5
    return other


def choose(a):
    if a[0] > 1.0:
        a[1:] += a[:-1]
    else:
        a[:] = 0


def clear(a):
    a[a > 1.2] = 0


def sort(a):
    a.sort()


def running(a):
    np.cumsum(a, out=a)


def by_data(a, b):
    a[:] = a[b.argsort()]


PROGRAMS = [
    add_one, set_one, add_to_part, exponentials, running_sum, smooth, smooth_thrice, turn_round,
    add_first, add_sum, shift, swap, swap_sums, both, give_parts, give_old, give_another, choose,
    clear, sort, running, by_data,
]  # fmt: skip
LAYOUTS = {
    "whole": lambda x: x,
    "part": lambda x: np.concatenate([x, x])[3 : x.size + 3],
    "strided": lambda x: np.repeat(x, 2)[::2],
    "backward": lambda x: x.copy()[::-1],
    "single": lambda x: x.astype(np.float32),
    "complex": lambda x: x * (1 + 1j),
    "swapped": lambda x: x.astype(">f8"),
    "column": lambda x: np.stack([x, x], axis=1)[:, 1],
}


def arguments(func, size, layout, seed=0):
    rng = np.random.default_rng(seed)
    count = func.__code__.co_argcount
    return [LAYOUTS[layout](rng.random(size) + 0.5) for _ in range(count)]


BACKENDS = "interpret", "native"
#: Each program on whole arrays of all sizes, and in each other layout at one of them, both ways in
#: turn.
CASES = [
    (func, size, layout, backend)
    for i, func in enumerate(PROGRAMS)
    for j, layout in enumerate(LAYOUTS)
    for k, size in enumerate((13, 50, 1003))
    for n, backend in enumerate(BACKENDS)
    if layout == "whole" or ((i + j) % 3 == k and (i + j) % 2 == n)
]


@pytest.mark.parametrize(("func", "size", "layout", "backend"), CASES, indirect=["backend"])
def test_as_the_plain_function(func, size, layout, backend):
    if layout == "complex" and func in (choose, clear):
        pytest.skip("compares complex numbers")
    traced = lw.function(func)
    for seed in range(3):
        mine, others = (arguments(func, size, layout, seed) for _ in range(2))
        want, got = func(*mine), traced(*others)
        for x, y in zip(mine, others, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-5 if layout == "single" else 1e-12)
        if want is None:
            assert got is None
            continue
        for x, y in zip(want, got, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-5 if layout == "single" else 1e-12)
            assert (y is others[0]) is (x is mine[0])
            assert np.may_share_memory(x, mine[0]) or not np.may_share_memory(y, others[0])


@pytest.mark.filterwarnings("ignore::lanewise.errors.RetracingWarning")
@pytest.mark.parametrize(
    ("func", "layout", "backend"),
    [
        (func, layout, BACKENDS[(i + j) % 2])
        for i, func in enumerate(PROGRAMS)
        for j, layout in enumerate(("whole", "part", "strided", "whole"))
    ],
    indirect=["backend"],
)
def test_of_any_size(func, layout, backend):
    traced = lw.function(func, reduce_retracing=True)
    for size in (13, 20, 31, 50, 64, 13, 1003, 99):
        mine, others = (arguments(func, size, layout, size) for _ in range(2))
        want, got = func(*mine), traced(*others)
        given, found = ([*x, *(() if y is None else y)] for x, y in ((mine, want), (others, got)))
        for x, y in zip(given, found, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-12)


def overwrite(a, b):
    a[:] = b


def overwrite_backward(a, b):
    a[:] = b[::-1]


@pytest.mark.parametrize("func", [overwrite, overwrite_backward, swap, both])
def test_arrays_whose_elements_alternate(func, backend):
    traced = lw.function(func)
    for _ in range(3):
        mine, others = np.arange(80.0), np.arange(80.0)
        func(mine[::2], mine[1::2])
        traced(others[::2], others[1::2])
        np.testing.assert_array_equal(others, mine)
        func(mine.reshape(8, 10)[:, :5], mine.reshape(8, 10)[:, 5:])
        traced(others.reshape(8, 10)[:, :5], others.reshape(8, 10)[:, 5:])
        np.testing.assert_array_equal(others, mine)


def peak(call):
    """Return how many bytes of memory a call takes at most."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("func", [set_one, add_to_part])
def test_updates_take_no_memory(func, backend):
    traced = lw.function(func)
    a = np.ones(LARGE)
    assert peak(lambda: traced(a)) < a.nbytes / 10


@pytest.mark.parametrize("func", [add_one, exponentials, both, clear])
def test_kernels_take_no_memory(func):
    # Kernels take memory that nobody counts: so of the results, which are what they would take.
    traced = lw.function(func, experimental_compile=True)
    given = [np.zeros(LARGE) for _ in range(func.__code__.co_argcount)]
    traced(*given)
    concrete = traced.get_concrete_function(*given)
    (plan,) = [concrete._executable.native]
    outputs = plan(*given)
    for x, y in zip(given, outputs, strict=True):
        assert np.shares_memory(x, y)


def test_a_kernel_updates_what_the_function_itself_made():
    def func(x):
        made = np.exp(x)
        made[0] = 2.0
        before = made.sum()
        for i in range(1, x.size):
            made[i] += made[i - 1] * 0.5
        kept = np.exp(x) + before
        kept[1:] = kept[:-1] - made[1:]
        return made, kept

    x = np.linspace(-1, 1, LARGE)
    traced = lw.function(func, experimental_compile=True)
    for _ in range(3):
        for result, expected in zip(traced(x), func(x), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-13)
    plan = traced.get_concrete_function(x)._executable.native
    assert any(free for _, free in plan.kernels)


def test_others_may_be_mapped_along_another_axis(backend):
    @lw.function
    def func(x, y):
        x[...] = lw.vmap(lambda a, b: a * 2 + b, in_dims=(0, 1))(x, y)

    y = np.arange(9.0).reshape(3, 3)
    for _ in range(3):
        x = np.ones((3, 3))
        func(x, y)
        np.testing.assert_array_equal(x, y.T + 2)


def test_a_call_that_raises_has_written_nothing(backend):
    def func(a, i):
        a[0] = -1
        a[1:] += 1
        return a[i]

    traced = lw.function(func)
    for _ in range(3):
        a = np.zeros(100)
        traced(a, np.int64(3))
        assert a[0] == -1
        a = np.zeros(100)
        with pytest.raises(IndexError):
            traced(a, np.int64(100))
        assert not a.any()


def test_an_index_out_of_range_writes_nothing(backend):
    def func(a, i):
        a[i] = 1.0

    traced = lw.function(func)
    a = np.zeros(100)
    for _ in range(3):
        with pytest.raises(IndexError):
            traced(a, np.int64(100))
        assert not a.any()
    traced(a, np.int64(99))
    assert a[99] == 1


def test_warnings_that_are_errors_write_once(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")  # kernels do not warn

    def func(a):
        a[0] -= 1.0
        return np.log(a)

    traced = lw.function(func)
    mine, others = np.full(3, 1.5), np.full(3, 1.5)
    func(mine)
    traced(others)
    np.testing.assert_array_equal(others, mine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            with pytest.raises(RuntimeWarning):
                func(mine)
            with pytest.raises(RuntimeWarning):
                traced(others)
            # As the plain function leaves it, or unchanged: never written to twice.
            assert others[0] in (0.5, mine[0])
            others[:] = mine


def test_several_threads_of_rows(backend):
    def func(a):
        a *= 2
        a[:, 0] = a.sum(axis=1)

    traced = lw.function(func)
    for _ in range(3):
        mine, others = np.ones((4000, 60)), np.ones((4000, 60))
        func(mine)
        traced(others)
        np.testing.assert_allclose(others, mine, rtol=1e-12)


# --- the parts ----------------------------------------------------------------------------------


def in_place(text, lent=(0,)):
    graph = parsed(text)
    memory = analyze(graph, lent=lent)
    return [graph.operations.index(op) for op in memory.in_place]


def parsed(text):
    head, *lines = text.strip().split("\n")
    return parse_graph(
        "\n".join([f"graph({head}) {{", *[f"  {x.strip()}" for x in lines], "}"]), REGISTRY
    )


READ_BEFORE = """%0: f64[9], %1: f64[1], %2: i64[]
    %3: f64[] = gather[axis=0](%1, %2)
    %4: f64[9] = update_slice[index=((1, 2, 1),)](%0, %1)
    return %3, %4"""
READ_AFTER = """%0: f64[9], %1: f64[1], %2: i64[]
    %3: f64[9] = update_slice[index=((1, 2, 1),)](%0, %1)
    %4: f64[] = gather[axis=0](%1, %2)
    return %3, %4"""


def test_a_lent_argument_is_written_to_once_nothing_fails():
    assert in_place(READ_BEFORE) == [1]
    assert in_place(READ_BEFORE, lent=()) == []
    assert in_place(READ_AFTER) == []  # an index may be out of range


@pytest.mark.parametrize(("reads", "wanted"), [("%0, %0", []), ("%2, %2", [0])])
def test_a_lent_argument_that_is_read_later_is_not_written_to(reads, wanted):
    text = f"""%0: f64[9], %1: f64[1]
        %2: f64[9] = update_slice[index=((1, 2, 1),)](%0, %1)
        %3: f64[9] = add({reads})
        return %2, %3"""
    assert in_place(text) == wanted


SCALED = """%0: f64[4096]
    %1: f64[4096] = multiply(%0, %0)
    return %1"""
TURNED = """%0: f64[4096]
    %1: f64[4096] = slice[index=((4095, -1, -1),)](%0)
    return %1"""
UPDATED = """%0: f64[4096]
    %1: f64[] = constant(2.0)
    %2: f64[1] = reshape[shape=(1,)](%1)
    %3: f64[4096] = update_slice[index=((5, 6, 1),)](%0, %2)
    return %3"""


@pytest.mark.parametrize(("text", "is_copied"), [(SCALED, False), (TURNED, True), (UPDATED, False)])
def test_kernels_copy_what_they_overwrite_only_where_it_is_read(text, is_copied):
    shared = write(parsed(text), (None,), shared=[(0, 0)])
    apart = write(parsed(text), (None,))
    assert not shared.may_fail
    assert (shared.scratch >= 8 * 4096) is is_copied
    assert apart.scratch < 8 * 4096  # what is written is the result at once
