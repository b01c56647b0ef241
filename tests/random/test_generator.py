"""The state of generators: eager, in traced functions, in control flow, in derivatives; keys."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import lanewise as lw


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    yield request.param


@pytest.fixture
def rng() -> lw.random.Generator:
    return lw.random.default_rng(11)


def test_a_draw_of_many_is_many_draws(rng: lw.random.Generator) -> None:
    whole = rng.normal(size=7)
    assert rng.counter == 7
    rng.counter = 0
    parts = [*rng.normal(size=3), rng.normal(), *rng.normal(size=(3, 1))[:, 0]]
    np.testing.assert_array_equal(whole, parts)
    rng.counter = 0
    rejected = rng.standard_gamma(2.5, size=5)
    rng.counter = 3
    assert rng.standard_gamma(2.5) == rejected[3]


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
def test_sizes_beside_rows(rng: lw.random.Generator, size: int) -> None:
    found = rng.random(size)
    rng.counter = 0
    np.testing.assert_array_equal(found, rng.random((size, 1))[:, 0])
    assert rng.random(0).shape == (0,) and rng.integers(5, size=(2, 0)).dtype == np.int64


def test_seeds() -> None:
    draw = lambda seed: lw.random.default_rng(seed).random(2).tolist()  # noqa: E731
    assert draw(1) == draw(np.int32(1)) == draw([1]) == draw(np.array([1]))
    different = [0, 1, 2, 2**64, 2**64 + 1, 2**128, [1, 0], [0, 1], [1, 2], [1, 2, 3], []]
    assert len({tuple(draw(seed)) for seed in different}) == len(different)
    assert draw(np.random.SeedSequence(4)) == draw(np.random.SeedSequence(4))
    assert draw(np.random.default_rng(4)) == draw(np.random.default_rng(4))
    assert draw(None) != draw(None)
    given = lw.random.default_rng(3)
    assert lw.random.default_rng(given) is given
    for seed, error in ((-1, ValueError), ([1, -1], ValueError), (1.5, TypeError), ("a", TypeError),
                        ([1.5], TypeError), ({}, TypeError)):  # fmt: skip
        with pytest.raises(error):
            lw.random.default_rng(seed)


def test_the_default_generator_begins_anew() -> None:
    lw.random.seed(5)
    first = [lw.random.normal(), lw.random.integers(100), lw.random.gamma(2.0)]
    lw.random.seed(5)
    assert first == [lw.random.normal(), lw.random.integers(100), lw.random.gamma(2.0)]
    own = lw.random.default_rng(5)
    assert first[0] == own.normal()


def test_copies_go_their_own_ways(rng: lw.random.Generator) -> None:
    rng.random(3)
    copied, unpickled = copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))
    assert rng.random() == copied.random() == unpickled.random()
    np.testing.assert_array_equal(rng.key, copied.key)
    assert copy.copy(rng) is not rng


def test_spawned_generators_are_independent(rng: lw.random.Generator) -> None:
    children = rng.spawn(3)
    assert rng.counter == 3
    assert len({child.random() for child in (*children, *rng.spawn(1), rng)}) == 5
    again = lw.random.default_rng(11).spawn(3)
    np.testing.assert_array_equal(again[1].key, children[1].key)
    with pytest.raises(ValueError, match="must not be negative"):
        rng.spawn(-1)


def test_keys() -> None:
    key = lw.random.key(3)
    assert key.dtype == np.uint64 and key.shape == (2,)
    parts = lw.random.split(key, 4)
    assert parts.shape == (4, 2) and len(np.unique(parts)) == 8
    folded = [lw.random.fold_in(key, i) for i in range(3)]
    assert len(np.unique([key, *parts, *folded])) == 16
    np.testing.assert_array_equal(lw.random.default_rng(3).key, key)
    maps = lw.vmap(lambda i: lw.random.fold_in(key, i))(np.arange(3))
    np.testing.assert_array_equal(maps, folded)
    np.testing.assert_array_equal(lw.vmap(lw.random.key)(np.array([3, 4]))[0], key)
    rows = lw.vmap(lambda k: lw.random.split(k, 2))(parts)
    np.testing.assert_array_equal(rows[2], lw.random.split(parts[2], 2))
    draws = lw.vmap(lambda k: lw.random.Generator.from_key(k).normal(size=3))(parts)
    np.testing.assert_array_equal(draws[1], lw.random.Generator.from_key(parts[1]).normal(size=3))
    for call in (
        lambda: lw.random.Generator.from_key(np.zeros(2)),
        lambda: lw.random.split(np.zeros(3, np.uint64)),
        lambda: lw.random.fold_in(key, 1.5),
        lambda: lw.random.fold_in(key, "a"),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: lw.random.fold_in(key, -1), lambda: lw.random.split(key, -1)):
        with pytest.raises(ValueError, match=r"negative|at least 0"):
            call()


def test_traced_functions_draw_anew_what_eager_ones_draw(rng: lw.random.Generator) -> None:
    def body(x):
        y = x + rng.normal(size=3)
        return y * rng.random() + rng.integers(10, size=3)

    f = lw.function(body)
    x = np.zeros(3)
    found = [f(x) for _ in range(3)]
    assert f.experimental_get_tracing_count() == 1 and rng.counter == 21
    rng.counter = 0
    np.testing.assert_array_equal(found, [body(x) for _ in range(3)])
    rng.seed(8)
    reseeded = f(x)
    np.testing.assert_array_equal(reseeded, (rng.seed(8), body(x))[1])


def test_branches_and_loops(rng: lw.random.Generator) -> None:
    def body(x):
        count = 0
        while x < 3.0:
            x = x + rng.random()
            count += 1
        if x > 3.5:  # noqa: SIM108
            x = x + rng.normal()
        else:
            x = x - rng.exponential(size=2).sum()
        return x + rng.random(), count

    f = lw.function(body)
    for _ in range(4):
        at = rng.counter
        found, ended = f(np.array(0.0)), rng.counter
        rng.counter = at
        x, count = body(0.0)
        np.testing.assert_allclose(found[0], x, rtol=1e-15)
        assert found[1] == count and rng.counter == ended


def test_loops_by_name(rng: lw.random.Generator) -> None:
    add = lambda i, total: total + rng.normal()  # noqa: E731
    found = lw.function(lambda n: lw.fori_loop(0, n, add, 0.0))(np.array(5))
    assert rng.counter == 5
    rng.counter = 0
    assert found == sum(rng.normal() for _ in range(5))
    rng.counter = 0
    step = lambda c, x: (c + x * rng.random(), rng.integers(100))  # noqa: E731
    carry, ys = lw.function(lambda xs: lw.scan(step, 0.0, xs))(np.ones(4))
    rng.counter = 0
    rows = [(rng.random(), rng.integers(100)) for _ in range(4)]
    assert ys.tolist() == [y for _, y in rows]
    np.testing.assert_allclose(carry, sum(x for x, _ in rows))
    rng.counter = 0
    taken = lw.function(lambda c: lw.cond(c, lambda: rng.random(), lambda: 0.0))
    assert taken(np.array(False)) == 0 and rng.counter == 0
    assert taken(np.array(True)) > 0 and rng.counter == 1


def test_draws_are_constants_to_derivatives(rng: lw.random.Generator) -> None:
    def loss(w):
        return ((w * rng.normal(size=3)) ** 2).sum()

    w = np.array([1.0, -2.0, 0.5])
    z = lw.random.default_rng(11).normal(size=3)
    gradient = 2 * w * z * z
    np.testing.assert_allclose(lw.grad(loss)(w), gradient)
    assert rng.counter == 3
    for f in (lw.function(lw.grad(loss)), lw.grad(lw.checkpoint(loss))):
        rng.counter = 0
        np.testing.assert_allclose(f(w), gradient)
    rng.counter = 0
    with lw.GradientTape() as tape:
        x = tape.watch(w)
        y = loss(x)
    np.testing.assert_allclose(tape.gradient(y, x), gradient)
    rng.counter = 0
    value, tangent = lw.jvp(loss, (w,), (np.ones(3),))
    np.testing.assert_allclose((value, tangent), ((w * w) @ (z * z), gradient.sum()))


def test_derivatives_of_parameters(rng: lw.random.Generator) -> None:
    z = lw.random.default_rng(11).normal()
    found = lw.grad(lambda m, s: rng.normal(m, s), argnums=(0, 1))(1.0, 2.0)
    np.testing.assert_allclose(found, (1.0, z))
    rng.counter = 0
    g = lw.random.default_rng(11).gamma(1.5)
    found = lw.grad(lambda k, s: rng.gamma(k, s), argnums=(0, 1))(1.5, 2.0)
    np.testing.assert_allclose(found, (0.0, g))
    rng.counter = 0
    slope = lw.grad(lambda x: rng.poisson(x) * x)(3.0)
    rng.counter = 0
    assert slope == rng.poisson(3.0)


def test_generators_of_a_trace_stay_there() -> None:
    kept = []

    @lw.function
    def f(seed):
        made = lw.random.default_rng(seed)
        kept.append(made)
        return made.normal(), made.spawn(2)[1].random()

    plain = lw.random.default_rng(4)
    assert f(np.array(4)) == (plain.normal(), plain.spawn(2)[1].random())
    with pytest.raises(lw.LeakedTensorError, match="made in a traced function"):
        kept[0].random()
    with pytest.raises(TypeError, match="cannot be copied"):
        lw.function(lambda: copy.copy(lw.random.default_rng(1)) and 0)()
    unseeded = lw.function(lambda: lw.random.default_rng().random())
    assert unseeded() != unseeded()


def test_generators_of_objects_and_as_arguments() -> None:
    class Model:
        def __init__(self) -> None:
            self.rng = lw.random.default_rng(6)

        @lw.function
        def __call__(self, x):
            return x + self.rng.normal()

    @lw.function
    def given(x, rng):
        return x + rng.normal()

    plain, model, rng = lw.random.default_rng(6), Model(), lw.random.default_rng(6)
    x = np.array(0.0)
    wanted = [plain.normal() for _ in range(3)]
    assert [model(x) for _ in range(3)] == wanted
    assert [given(x, rng) for _ in range(3)] == wanted
    assert given.experimental_get_tracing_count() == 1


def test_a_check_may_draw_from_generators_of_its_own() -> None:
    draw = lambda key: lw.random.Generator.from_key(key).normal()  # noqa: E731
    keys = lw.random.split(lw.random.key(1), 3)
    assert lw.vmap(draw, check=True)(keys).shape == (3,)


def test_sizes_that_are_symbols(rng: lw.random.Generator) -> None:
    f = lw.function(
        lambda x: (x + rng.normal(size=x.shape), rng.standard_gamma(x + 2)),
        input_signature=[lw.TensorSpec([None])],
    )
    for size in (3, 5):
        rng.counter = 0
        found = f(np.zeros(size))
        assert rng.counter == 2 * size
        rng.counter = 0
        np.testing.assert_array_equal(found[0], rng.normal(size=size))
        np.testing.assert_array_equal(found[1], rng.standard_gamma(2.0, size=size))
    assert f.experimental_get_tracing_count() == 1
    ordered = lw.function(
        lambda x: (
            rng.permutation(x),
            rng.permutation(x.shape[0]),
            rng.choice(x, 9),
            rng.normal(x, [[1], [2]]),
        ),
        input_signature=[lw.TensorSpec([None])],
    )
    for size in (1, 4):
        first, second, chosen, broadcast = ordered(np.arange(float(size)))
        assert sorted(first) == sorted(second) == list(range(size))
        assert set(chosen) <= set(first) and broadcast.shape == (2, size)
    with pytest.raises(ValueError, match="a cannot be empty"):
        ordered(np.zeros(0))
    with pytest.raises(ValueError, match="needs the size while tracing"):
        lw.function(
            lambda x: rng.choice(x, 1, replace=False), input_signature=[lw.TensorSpec([None])]
        )(np.zeros(3))
    with pytest.raises(lw.DataDependentShapeError, match="how many integers"):
        lw.function(rng.permutation)(np.array(3))
    with pytest.raises(lw.DataDependentShapeError, match="how many elements"):
        lw.function(lambda n: lw.random.random(n))(np.array(3))


def test_out(rng: lw.random.Generator) -> None:
    out = np.zeros((2, 3))
    assert rng.random(out=out) is out and np.unique(out).size == 6
    wanted = out.copy()

    def fill(x):
        rng.random(out=x)
        return x

    rng.counter = 0
    np.testing.assert_array_equal(lw.function(fill)(np.zeros((2, 3))), wanted)


def test_threads_draw_different_numbers(rng: lw.random.Generator) -> None:
    found: list[float] = []
    draw = lambda: found.extend(rng.random() for _ in range(50))  # noqa: E731
    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 200 and rng.counter == 200


def test_a_counter_is_checked(rng: lw.random.Generator) -> None:
    for value, error in ((-1, ValueError), (2**64, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            rng.counter = value
    rng.counter = 2**64 - 1
    last = rng.random(2)  # wraps around
    rng.counter = 0
    assert rng.random() == last[1]


def test_no_two_threads_draw_the_same():
    rng = lw.random.default_rng(0)
    traced = lw.function(lambda: rng.random(4))
    found: list[np.ndarray] = []
    ways = (traced, lambda: rng.random(4))
    threads = [
        threading.Thread(target=lambda way=way: found.extend(way() for _ in range(100)))
        for way in ways * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(found)) == 1600 and rng.counter == 1600
