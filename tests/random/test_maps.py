"""``randomness=`` of maps: refused, different for each example, or the same for all."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lanewise as lw

ROWS = np.zeros((6, 2))


@pytest.fixture(params=["interpret", "native"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("LANEWISE_BACKEND", request.param)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    lw.random.seed(21)
    yield request.param


def draw(row: Any) -> Any:
    return row + lw.random.normal(size=2)


def test_error_names_the_line_and_what_to_say() -> None:
    with pytest.raises(RuntimeError, match=r'randomness="different"') as caught:
        lw.vmap(draw)(ROWS)
    assert "test_maps.py" in str(caught.value) and "lw.random.normal(size=2)" in str(caught.value)
    with pytest.raises(RuntimeError, match="randomness"):
        lw.function(lw.vmap(draw, randomness="error"))(ROWS)
    with pytest.raises(ValueError, match="randomness must be one of error, different, same"):
        lw.vmap(draw, randomness="sometimes")
    assert lw.vmap(lambda x: x + 1)(ROWS).shape == (6, 2)  # who does not draw is not asked


def test_different_and_same() -> None:
    different = lw.vmap(draw, randomness="different")(ROWS)
    assert np.unique(different).size == 12
    same = lw.vmap(draw, randomness="same")(ROWS)
    assert np.unique(same, axis=0).shape == (1, 2) and np.unique(same).size == 2
    again = lw.vmap(draw, randomness="different")(ROWS)
    assert np.unique([different, again]).size == 24


def test_the_generator_outside_goes_on_by_one() -> None:
    rng = lw.random.default_rng(1)
    many = lambda row: row + rng.normal(size=2) + rng.random()  # noqa: E731
    for randomness in ("different", "same"):
        before = rng.counter
        lw.vmap(many, randomness=randomness)(ROWS)
        assert rng.counter == before + 1
    traced = lw.function(lw.vmap(many, randomness="different"))
    first = traced(ROWS)
    assert rng.counter == 3 and not np.array_equal(first, traced(ROWS)) and rng.counter == 4


MAPS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: lw.vmap(f, randomness="different"),
    "chunks of 1": lambda f: lw.vmap(f, randomness="different", chunk_size=1),
    "chunks of 4": lambda f: lw.vmap(f, randomness="different", chunk_size=4),
    "function": lambda f: lw.function(lw.vmap(f, randomness="different")),
    "vectorized_map": lambda f: lambda x: lw.vectorized_map(f, x),
    "map_fn": lambda f: lambda x: lw.map_fn(f, x),
}


def walk(row: Any) -> Any:
    while row.sum() < 3.0:
        row = row + lw.random.exponential(size=2)
    return row + lw.random.gamma(row)


@pytest.mark.parametrize("f", [draw, walk])
def test_numbers_do_not_depend_on_how_it_is_mapped(f: Callable[..., Any]) -> None:
    found = []
    for mapped in MAPS.values():
        lw.random.seed(3)
        found.append(mapped(f)(ROWS))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-14)
    lw.random.seed(3)
    np.testing.assert_allclose(MAPS["vmap"](f)(ROWS[:3]), found[0][:3], rtol=1e-14)


def test_numbers_do_not_depend_on_threads() -> None:
    rows, before = np.zeros((5000, 2)), lw.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            lw.set_num_threads(threads)
            lw.random.seed(4)
            found.append([lw.vmap(walk, randomness="different")(rows), lw.random.normal(size=5000)])
    finally:
        lw.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


def test_backends_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ("interpret", "native"):
        monkeypatch.setenv("LANEWISE_BACKEND", name)
        lw.random.seed(5)
        found.append(lw.vmap(walk, randomness="different")(ROWS))
    np.testing.assert_allclose(*found, rtol=1e-14)


def nested(outer: str, inner: str) -> np.ndarray:
    inside = lambda rows: lw.vmap(draw, randomness=inner)(rows)  # noqa: E731
    return lw.vmap(inside, randomness=outer)(np.zeros((3, 4, 2)))


@pytest.mark.parametrize("outer", ["error", "different", "same"])
@pytest.mark.parametrize("inner", ["error", "different", "same"])
def test_nested(outer: str, inner: str) -> None:
    if "error" in (outer, inner):
        with pytest.raises(RuntimeError, match="randomness"):
            nested(outer, inner)
        return
    found = nested(outer, inner)
    kinds = (3 if outer == "different" else 1) * (4 if inner == "different" else 1)
    assert np.unique(found).size == 2 * kinds
    if outer == "same":
        np.testing.assert_array_equal(found[0], found[2])
    if inner == "same":
        np.testing.assert_array_equal(found[:, 0], found[:, 3])


def test_draws_on_both_levels() -> None:
    def outer(rows):
        shift = lw.random.random()
        inner = lw.vmap(lambda row: row + lw.random.random(), randomness="different")(rows)
        return inner + shift, shift, lw.random.random()

    found, shift, last = lw.vmap(outer, randomness="different")(np.zeros((3, 4)))
    assert np.unique(found).size == 12 and np.unique([shift, last]).size == 6


def test_branches_of_examples() -> None:
    def branch(x):
        if x > 0:  # noqa: SIM108
            x = x + lw.random.random()
        else:
            x = x - lw.random.random(2).sum()
        return x, lw.random.random()

    signs = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    x, after = lw.vmap(branch, randomness="different")(signs)
    assert ((x > 0) == (signs > 0)).all() and np.unique(after).size == 5


def test_generators_of_an_example_are_no_draw_from_outside() -> None:
    own = lambda seed: lw.random.default_rng(seed).normal(size=2)  # noqa: E731
    np.testing.assert_array_equal(lw.vmap(own)(np.array([1, 2]))[1], own(2))
    fixed = lambda x: x + lw.random.default_rng(7).random()  # noqa: E731
    np.testing.assert_array_equal(lw.vmap(fixed)(np.zeros(3)), [fixed(0.0)] * 3)
    with pytest.raises(RuntimeError, match="randomness"):  # unseeded, it takes a key from outside
        lw.vmap(lambda x: x + lw.random.default_rng().random())(np.zeros(3))
    children = lw.vmap(lambda x: x + lw.random.spawn(2)[1].random(), randomness="different")
    assert np.unique(children(np.zeros(4))).size == 4


def test_without_mapped_arguments() -> None:
    f = lambda: lw.random.normal()  # noqa: E731
    assert np.unique(lw.vmap(f, axis_size=5, randomness="different")()).size == 5
    assert np.unique(lw.vmap(f, axis_size=5, randomness="same")()).size == 1
    assert lw.vmap(f, axis_size=0, randomness="different")().shape == (0,)
    with pytest.raises(ValueError, match="out_dims cannot be None"):
        lw.vmap(f, axis_size=5, randomness="different", out_dims=None)()


def test_other_maps_draw_differently() -> None:
    found = lw.vectorize(lambda x: x + lw.random.random())(np.zeros(5))
    assert np.unique(found).size == 5
    add = lambda row: row + lw.random.random()  # noqa: E731
    rows = lw.function(lambda x: np.apply_along_axis(add, 1, x))(np.zeros((4, 2)))
    assert np.unique(rows).size == 4


def test_gradients_of_examples() -> None:
    loss = lambda w, x: (w * x * lw.random.normal(size=2)).sum()  # noqa: E731
    per_example = lw.vmap(lw.grad(loss), in_dims=(None, 0), randomness="different")
    assert np.unique(per_example(np.ones(2), np.ones((4, 2)))).size == 8
    with pytest.raises(RuntimeError, match="randomness"):
        lw.vmap(lw.grad(loss), in_dims=(None, 0))(np.ones(2), np.ones((4, 2)))


def test_dropout() -> None:
    rows = np.ones((4, 50))
    drop = lambda row: lw.nn.dropout(row, 0.5)  # noqa: E731
    assert len(np.unique(lw.vmap(drop, randomness="different")(rows), axis=0)) == 4
    assert len(np.unique(lw.vmap(drop, randomness="same")(rows), axis=0)) == 1
    with pytest.raises(RuntimeError, match="randomness"):
        lw.vmap(drop)(rows)


def test_an_example_out_of_range_is_named() -> None:
    f = lw.vmap(lambda s: lw.random.normal(0.0, s), randomness="different")
    with pytest.raises(ValueError, match="scale < 0") as caught:
        f(np.array([1.0, -1.0]))
    assert "example 1" in str(caught.value)


# --- generators of NumPy and of Python ------------------------------------------------------------

numpys = np.random.default_rng(0)
legacy = np.random.RandomState(0)
pythons = random.Random(0)


def in_a_loop(x):
    while x < 2:
        x = x + numpys.random()
    return x


FOREIGN: dict[str, Callable[[Any], Any]] = {
    "normal": lambda x: x + numpys.normal(),
    "of data": lambda x: x + numpys.normal(x, 1.0),
    "module": lambda x: x + np.random.rand(),
    "randn": lambda x: x + legacy.randn(3).sum(),
    "randint": lambda x: x + legacy.randint(0, 10**9),
    "python": lambda x: x + pythons.random(),
    "gauss": lambda x: x + random.gauss(0.0, 1.0),
    "randrange": lambda x: x + pythons.randrange(0, 10**9, 7),
    "loop": in_a_loop,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_generators(name: str) -> None:
    f, x = FOREIGN[name], np.zeros(5)
    with pytest.raises(RuntimeError, match="randomness"):
        lw.vmap(f)(x)
    assert np.unique(lw.vmap(f, randomness="same")(x)).size == 1
    assert np.unique(lw.vmap(f, randomness="different")(x)).size == 5
    assert np.unique(lw.vectorized_map(f, x)).size == 5


def test_other_generators_decide_by_their_seeds() -> None:
    def run(chunk: int | None) -> np.ndarray:
        rng = np.random.default_rng(5)
        f = lw.vmap(lambda x: x + rng.normal(size=2), randomness="different", chunk_size=chunk)
        return f(np.zeros(5))

    np.testing.assert_array_equal(run(None), run(2))
    rng = np.random.default_rng(5)
    same = lw.vmap(lambda x: x + rng.normal(size=2), randomness="same")(np.zeros(3))
    np.testing.assert_array_equal(same[1], np.random.default_rng(5).normal(size=2))


def test_other_generators_on_both_levels() -> None:
    inside = lambda row: lw.vmap(FOREIGN["normal"], randomness="same")(row)  # noqa: E731
    found = lw.vmap(inside, randomness="different")(np.zeros((3, 4)))
    assert np.unique(found).size == 3
    with pytest.raises(RuntimeError, match="randomness"):
        lw.vmap(inside)(np.zeros((3, 4)))


def test_other_generators_of_an_example() -> None:
    """One that is made in the function, with a seed, gives each example what it gives the first."""

    def own(x):
        rng, other = np.random.default_rng(3), random.Random(4)
        return x + rng.normal() + rng.normal(size=2) + other.random()

    x = np.zeros(4)
    wanted = np.stack([own(v) for v in x])
    for randomness in ("error", "different", "same"):
        np.testing.assert_array_equal(lw.vmap(own, randomness=randomness)(x), wanted)
    with pytest.raises(RuntimeError, match="randomness"):
        lw.vmap(lambda v: v + np.random.default_rng().normal())(x)

    def steered(x):
        rng = np.random.default_rng(3)
        while x < 2:
            x = x + rng.random()
        return x

    with pytest.raises(lw.UnsupportedError, match="draws where the data steer"):
        lw.vmap(steered)(x)

    def nested(row):
        rng = np.random.default_rng(3)
        return lw.vmap(lambda v: v + rng.normal(), randomness="different")(row)

    found = lw.vmap(nested)(np.zeros((2, 3)))
    assert np.unique(found).size == 3
    np.testing.assert_array_equal(found[0], found[1])


def in_a_choice(make, draw):
    def f(x):
        rng = make(7)
        found = x if x > 0 else draw(rng)
        return found, draw(rng)

    return f


def in_a_test(make, draw):
    def f(x):
        rng = make(7)
        if x > 0 and draw(rng) > 2:
            return -1.0
        return draw(rng)

    return f


def in_a_loop(make, draw):
    def f(x):
        rng, n = make(7), 0
        for _ in range(6):
            if x <= 0 or draw(rng) < x:
                n += 1
            x = -x
        return n

    return f


def beside_lists(make, draw):
    def f(x):
        rng, kept = make(7), []
        if x > 0:
            kept.append(x)
        return draw(rng) + len(kept)

    return f


OWN = [
    (np.random.default_rng, lambda rng: rng.random()),
    (np.random.RandomState, lambda rng: rng.rand()),
    (random.Random, lambda rng: rng.random()),
]


@pytest.mark.parametrize(("make", "draw"), OWN)
def test_own_generators_that_only_some_examples_ask(make, draw) -> None:
    """They are refused: each draws once, while it is traced."""
    x = np.array([-1.0, 0.5, 0.2, 0.0])
    for program in (in_a_choice, in_a_test, in_a_loop):
        f = program(make, draw)
        for called, argument in ((lw.vmap(f), x), (lw.function(f), x[1])):
            with pytest.raises(lw.UnsupportedError, match="draws where the data steer"):
                called(argument)
    f = beside_lists(make, draw)
    np.testing.assert_array_equal(lw.vmap(f)(x), [f(v) for v in x])


@pytest.mark.parametrize(("make", "draw"), OWN)
def test_own_generators_of_traced_functions(make, draw) -> None:
    def walked(x):
        rng = make(7)
        for _ in range(60):
            x = x + draw(rng)
        return x

    with warnings.catch_warnings(action="error"):  # it is the same in plain Python, too
        made = lw.function(walked)
        for v in (0.0, 1.5):
            assert made(np.float64(v)) == walked(v)

    def steered(x):
        rng = make(7)
        while x < 3:
            x = x + draw(rng)
        return x

    with pytest.raises(lw.UnsupportedError, match="draws where the data steer"):
        lw.function(steered)(np.float64(0))


def test_what_cannot_be_drawn_for_each_example() -> None:
    with pytest.raises(lw.UnsupportedError, match=r"Use lw\.random"):
        lw.vmap(lambda x: x + len(pythons.sample([1, 2], 1)), randomness="different")(np.zeros(2))
    with pytest.raises(lw.UnsupportedError, match="draw an index"):
        lw.vmap(lambda x: pythons.choice("ab") or x, randomness="different")(np.zeros(2))
