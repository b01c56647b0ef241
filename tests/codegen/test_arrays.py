"""Arrays of kernels and their places: in registers, not yet computed, given; views of them."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen.addresses import Affine, as_index, linear, plus, size_of, times
from lanewise.codegen.arrays import Elements, Given, Lazy, row_major
from lanewise.codegen.emitter import Emitter, Module
from lanewise.codegen.errors import CannotCompile
from lanewise.codegen.loops import Loops
from lanewise.codegen.numbers import vecs
from lanewise.codegen.rows import fits
from lanewise.codegen.sizes import (
    Counted,
    computed,
    is_counted,
    is_empty,
    is_few,
    is_long,
    is_unknown,
    room,
)
from lanewise.codegen.vector import Vec
from lanewise.codegen.views import _digit, _groups
from lanewise.ir.dims import Dim, dim_max, dim_min
from lanewise.ir.evaluation import evaluate
from lanewise.ir.types import array_type
from support.backends import backend
from support.writing import FLOAT, Writing, run

N = Dim.symbol("n")
X = np.array([1.0, -2.0, 3.0])


def emitter() -> Emitter:
    return Emitter(Module(), 8, 1)


def test_sizes_that_are_not_known_are_taken_to_be_large():
    assert [is_unknown(s) for s in ((3, 4), (3, N))] == [False, True]
    assert [is_long(s, 5) for s in (4, 5, N)] == [False, True, True]
    assert [is_few(s, 12) for s in ((3, 4), (3, 5), (3, N))] == [True, False, False]
    assert [is_empty(s) for s in ((3, 0), (N, 0), (N,), ())] == [True, True, False, False]


def test_memory_is_for_the_most_that_is_counted():
    e = emitter()
    i, j = Dim.bounded("i", 9), Dim.symbol("j")
    counted = {"i.9": Counted(e.constant("i64", 3), 9), "j": Counted(e.constant("i64", 2), N - 1)}
    assert room((i + 1, 10 - i, 4), counted) == [10, 10, 4]
    found = room((j + 1, N - j, N, dim_max(j - 3, 0)), counted)
    assert [evaluate(size, {"n": 7}) for size in found] == [7, 7, 7, 3]
    assert is_counted(j * 2, counted) and not is_counted(N, counted)
    (least,) = room((dim_min(j, N - j),), counted)  # of two sizes, the larger will do
    assert max([min(i, 7 - i) for i in range(7)]) <= evaluate(least, {"n": 7}) <= 7
    with pytest.raises(CannotCompile, match="how large"):  # it is the largest within
        room((j * (N - j),), counted)


def test_sizes_that_are_counted_are_computed():
    i = Dim.bounded("i", 9)

    def build(k, x):
        k.define_size(i, k.e.constant("i64", 7), 1, 9)  # 7 is one of 1 to 10
        sizes = (10 - i, i // 4, (i - 8) % 5, dim_max(i - 2, 0), i * i)
        found = [computed(k.e, size, k.e.counted).to("f64") for size in sizes]
        total = sum(value * 100.0**n for n, value in enumerate(found))
        return x * 0.0 + total

    want = sum(value * 100.0**n for n, value in enumerate((4, 1, 3, 4, 36)))
    np.testing.assert_array_equal(run(build, np.zeros(8)), np.full(8, want))


def test_places_that_are_known_are_numbers():
    assert row_major((2, 3, 4)) == (12, 4, 1) and row_major(()) == ()
    assert linear((1, 2, 3), row_major((2, 3, 4))) == 23
    assert plus(0, 5) == 5 and times(1, 7) == 7 and times(0, 7) == 0
    assert [size_of(kind) for kind in ("f64", "i8", "b")] == [8, 1, 1]


def test_indices_that_lanes_take_side_by_side():
    def build(k, x):
        lanes = Affine(k.e, k.e.constant("i64", 5), 1)
        return ((lanes + 3) * 8 - 1).to("f64") + x * 0.0

    np.testing.assert_array_equal(run(build, np.zeros(8)), 8 * np.arange(8.0) + 63)


def test_indices_that_lanes_take_side_by_side_stay_so():
    e = emitter()
    lanes = Affine(e, e.constant("i64", 5), 1)
    found = (lanes + 3) * 8 - 1
    assert isinstance(found, Affine)
    assert not found.base.varying and found.step == 8
    assert isinstance(plus(4, lanes), Affine) and isinstance(times(2, lanes), Affine)
    other = lanes + Vec(e, "i64", True, ("%x",))
    assert not isinstance(other, Affine) and other.varying
    assert as_index(e, 4).value == 4


@pytest.mark.parametrize("step, name", [(8, "load <8 x double>"), (24, "masked.gather")])
def test_neighbours_are_loaded_at_once(step, name):
    """Of rows of three numbers each, an element of each row is gathered."""
    e = emitter()
    index = Affine(e, e.constant("i64", 0), 1)
    x = Given(Loops(e), FLOAT, (), "%x", (index,), (step,))
    assert x.varies and x.shape == ()
    vecs(x.at())
    assert name in e.finish("f", "void", [])


def test_rows_are_transposed_in_registers_where_they_are_short():
    e = emitter()
    k = Writing(e)
    index = Affine(e, e.constant("i64", 0), 1)
    rows = [Given(k.loops, FLOAT, (n,), "%x", (index,), (8 * n, 8)) for n in (1, 3, 400)]
    assert [fits(k, x) for x in rows] == [True, True, False]


def test_elements_are_read_at_known_places():
    def build(k, x):
        whole = k.row((2, 3), *[x + float(i) for i in range(6)])
        assert whole.is_ready and not whole.may_fail and whole.size == 6
        return vecs(whole.at(1, 2))[0]

    np.testing.assert_array_equal(run(build, X), X + 5)


def test_what_is_lazy_is_computed_where_it_is_read():
    e = emitter()
    reads: list[tuple[int, ...]] = []

    def at(*i: int) -> Vec:
        reads.append(i)
        return e.constant("f64", 10.0 * i[0])

    whole = Lazy(FLOAT, (4,), at)
    backward = Lazy(FLOAT, (4,), lambda i: whole.at(3 - i), of=(whole,))
    assert not reads and (whole.depth, backward.depth) == (1, 2) and not whole.is_ready
    assert vecs(backward.at(1))[0].value == 20 and reads == [(2,)]
    assert Lazy(FLOAT, (4,), at, fails=True).may_fail
    assert Lazy(FLOAT, (4,), at, of=(Lazy(FLOAT, (4,), at, fails=True),)).may_fail
    assert not Elements(FLOAT, (1,), [e.constant("f64", 1.0)]).may_fail


@pytest.mark.parametrize(
    "old, new, groups",
    [
        ((6,), (2, 3), [([0], [0, 1])]),
        ((2, 3), (6,), [([0, 1], [0])]),
        ((4, 6), (4, 2, 3), [([0], [0]), ([1], [1, 2])]),
        ((2, 1, 3), (2, 3), [([0], [0]), ([1, 2], [1])]),
        ((2, 6), (4, 3), [([0, 1], [0, 1])]),
        ((), (1,), [([], [0])]),
    ],
)
def test_a_reshape_splits_into_runs_of_axes(old, new, groups):
    assert _groups(old, new) == groups


def test_an_index_of_several_is_known_from_their_place():
    assert [_digit(23, stride, size, 3) for stride, size in ((12, 2), (4, 3), (1, 4))] == [1, 2, 3]
    e = emitter()
    place = e.uniform("i64", "%i")
    place.span = (0, 3)
    assert _digit(place, 1, 4, 2) is place  # it is no longer than its axis: nothing is divided


VIEWS = {
    "reshaped": (lambda k, a: k.views.reshaped(a, (3, 2)), lambda a: a.reshape(3, 2)),
    "flat": (lambda k, a: k.views.reshaped(a, (6,)), lambda a: a.reshape(6)),
    "transposed": (lambda k, a: k.view(a, (3, 2), lambda i, j: (j, i)), lambda a: a.T),
    "concatenated": (
        lambda k, a: k.views.concatenated(array_type(FLOAT, (4, 3)), [a, a], 0),
        lambda a: np.concatenate([a, a]),
    ),
    "padded": (
        lambda k, a: k.views.padded(array_type(FLOAT, (4, 4)), a, k.e.constant("f64", 9.0), (1, 0)),
        lambda a: np.pad(a, ((1, 1), (0, 1)), constant_values=9.0),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_show_what_numpys_show(name):
    ours, numpy = VIEWS[name]
    wanted = numpy(np.arange(6.0).reshape(2, 3))

    def build(k, x):
        a = k.row((2, 3), *[x + float(i) for i in range(6)])
        view = ours(k, a)
        assert view.shape == wanted.shape
        return tuple([vecs(view.at(*i))[0].spread() for i in np.ndindex(*view.shape)])

    found = run(build, np.zeros(1))
    np.testing.assert_array_equal(np.ravel(found), wanted.ravel())


def test_what_is_uniform_stays_so_however_much_work_it_is(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "1")

    def f(x, a):
        n = len(x)
        z, w = np.ones(n), x * 2
        for i in range(n - 1, -1, -1):
            if a[: n - i, i:].sum() > 0.5:
                w[:i] -= np.count_nonzero((z[:i] * x[:i]) > 0) * 0.01
            z[abs(i - 5) : -i : -2] *= 0.5
        return z, w

    rng = np.random.default_rng(0)
    xs, many = rng.normal(size=(3, 33)), rng.normal(size=(3, 33, 33))
    with backend("native"):
        z, w = lw.vmap(f)(xs.copy(), many)
    for k in range(3):
        want = f(xs[k].copy(), many[k])
        np.testing.assert_allclose(z[k], want[0])
        np.testing.assert_allclose(w[k], want[1])
