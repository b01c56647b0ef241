"""Objects of dataclasses of which the data choose one, and which change: the object that it is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import lanewise as lw
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(0).normal(size=(30, 4))


@dataclass
class Body:
    position: float
    velocity: float = 0.0
    hits: int = 0
    name: str = "body"
    trail: list = field(default_factory=list)

    def push(self, force):
        self.velocity += force
        self.hits += 1

    @property
    def energy(self):
        return 0.5 * self.velocity**2


@dataclass
class Grid:
    values: np.ndarray
    scale: float = 1.0


def changed_where_it_is(x):
    a, b = Body(x[0]), Body(x[1], name="other")
    for v in x:
        body = a if v > 0 else b
        body.push(v)
        body.trail.append(v)
    return a.velocity, b.velocity, a.hits, b.hits, len(a.trail), sum(b.trail)


def asked_which_it_is(x):
    a, b = Body(x[0]), Body(x[0])
    body = a if x[1] > 0 else b
    return body is a, body is b, body == a, body.name == "body", body.energy


def nearest(x):
    bodies = [Body(v, name=name) for v, name in zip(x, "abcd", strict=True)]
    best = None
    for body in bodies:
        if best is None or abs(body.position) < abs(best.position):
            best = body
    best.push(2.0)
    return best.position, best.name == "a", sum([body.velocity for body in bodies])


def by_a_key_and_an_index(x):
    bodies = [Body(v) for v in x]
    least = min(bodies, key=lambda body: body.position)
    least.hits += 5
    bodies[int(abs(x[0]) * 2) % 4].push(1.0)
    return least.position, [body.hits for body in bodies], bodies.index(least)


def handed_on_by_a_loop(x):
    a, b = Body(0.0), Body(1.0)
    current, other, i = a, b, 0
    while i < 4 and x[i] > -1.5:
        current.push(x[i])
        if x[i] > 0:
            current, other = other, current
        i += 1
    return a.velocity, b.velocity, current is a, other.hits


def of_arrays(x):
    a, b = Grid(x * 1.0), Grid(x * 2.0)
    grid = a if x[0] > 0 else b
    grid.values[1] = 7.0
    grid.values += 1
    grid.scale = 3.0
    return a.values, b.values, a.scale, b.scale


def beside_a_new_one(x):
    a, b = Body(x[0]), Body(x[1])
    body = a if x[2] > 0 else b
    if x[3] > 0:
        body = Body(9.0, 1.0)
    return body.position + body.velocity, a.position


def new_ones(x):
    body = Body(x[0], x[1])
    for _ in range(20):
        if body.position > 0.5:
            body = Body(body.position * 0.5, body.velocity)
        body.position += 0.1 * body.velocity
    return body.position


FOLLOWED = [
    changed_where_it_is, asked_which_it_is, nearest, by_a_key_and_an_index, handed_on_by_a_loop,
    of_arrays, beside_a_new_one,
]  # fmt: skip


@pytest.mark.parametrize("f", FOLLOWED)
def test_what_is_done_with_it_is_done_with_the_one_of_each_example(f):
    assert_like_the_loop(f, X, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
def test_those_that_loops_make_are_joined_by_what_they_hold(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    np.testing.assert_allclose(lw.vmap(new_ones)(X), [new_ones(x) for x in X], rtol=1e-13)
