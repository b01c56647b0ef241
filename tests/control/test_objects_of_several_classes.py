"""Objects of several classes of which the data choose one, and objects that take others' places."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from itertools import pairwise

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ControlFlowError
from support.everywhere import Programs, assert_like_the_loop

X = np.random.default_rng(3).normal(size=(8, 12))
NUMBERS = np.array([0.2, -0.7, 1.4, 2.2, -1.6, 0.1])
PROGRAMS = Programs()


class Circle:
    def __init__(self, r):
        self.r = r

    def area(self):
        return 3.0 * self.r * self.r


class Square:
    def __init__(self, a):
        self.a = a
        self.k = 2

    def area(self):
        return self.a**self.k


class Triangle(Square):
    def area(self):
        return self.a * self.k / 2


def shape(x, y):
    if x > 0.5:
        return Circle(x)
    if y > 0:
        return Square(y)
    return Triangle(x + y)


@PROGRAMS.note(X)
def one_or_another(p):
    s = Circle(p[0]) if p[1] > 0 else Square(p[2])
    return s.area()


@PROGRAMS.note(X)
def made_by_a_function(p):
    total = sum(shape(a, b).area() for a, b in pairwise(p))
    shapes = [shape(p[i], p[i + 1]) for i in range(4)]
    for s in shapes:
        total += s.area() * (2 if isinstance(s, Circle) else 1)
    return total


@PROGRAMS.note(X)
def made_anew_in_a_loop(p):
    n, total = 0, 0.0
    while n < 20 + int(p[0] * 3):
        s = shape(p[n % 12], p[(n + 1) % 12])
        total = total * 0.5 + s.area()
        n += 1
    return total, n


@PROGRAMS.note(X)
def one_or_another_or_none(p):
    if p[0] > 0.3:
        s = Circle(p[1])
    elif p[0] > 0:
        s = Square(p[1])
    elif p[0] > -0.4:
        s = None
    else:
        s = Triangle(p[2])
    t = Circle(p[3]) if p[4] > 0 else None
    if t is None:
        t = Square(p[5])
    return 0.0 if s is None else s.area(), t.area()


@PROGRAMS.note(X)
def one_that_was_there(p):
    t = Circle(1.0)
    s = t if p[0] > 0 else Square(p[1])
    if isinstance(s, Circle):
        s.r = 5.0
    else:
        s.a += 1
    return s.area(), t.r


@PROGRAMS.note(X)
def several_that_were_there(p):
    a, b = Circle(p[0]), Square(p[1])
    s = a if p[2] > 0 else b
    u = s
    if p[3] > 0:
        s = Triangle(p[4])
    if isinstance(s, Circle):
        s.r += 10
    if isinstance(u, Square):
        u.a = 7.0
    return a.r, b.a, s.area(), u.area()


class Part:
    def __init__(self, inner):
        self.inner = inner
        self.n = 1


@PROGRAMS.note(X)
def held_by_another(p):
    part = Part(Circle(p[0]) if p[1] > 0 else Square(p[0]))
    if p[2] > 0:
        part.inner = Triangle(p[3])
    part.n += 1
    return part.inner.area(), part.n


@dataclass
class First:
    x: float

    def value(self):
        return self.x * 2


@dataclass
class Second:
    y: float
    z: int = 3

    def value(self):
        return self.y + self.z


@PROGRAMS.note(X)
def dataclasses(p):
    s = First(p[0]) if p[1] > 0 else Second(p[2])
    return s.value()


class Idle:
    def step(self, x):
        return Running(x) if x > 0 else self


class Running:
    def __init__(self, v):
        self.v = v

    def step(self, x):
        return Idle() if x < -0.5 else Running(self.v + x)


@PROGRAMS.note(X)
def states(p):
    s, n = Idle(), 0
    for x in p:
        s = s.step(x)
        n += isinstance(s, Running)
    return n


# --- in the place of another ----------------------------------------------------------------------


class Game:
    def __init__(self, to=3):
        self.points = [0, 0]
        self.marks = {"x": 0, "y": 1}
        self.to = to
        self.n = 0

    def point(self, who):
        self.points[who] += 1
        self.n += 1
        return who if self.points[who] >= self.to else None


class Match:
    def __init__(self):
        self.game = Game()
        self.games = [0, 0]
        self.rows = [[0, 1], [2, 3]]
        self.won = 0

    def play(self, who):
        won = self.game.point(who)
        if won is None:
            return
        self.games[won] += 1
        if self.games[won] > 1:
            self.games = [0, 0]
            self.won += 1
        self.game = Game(2) if self.won else Game()


@PROGRAMS.note(X)
def lists_of_replaced_objects(p):
    match = Match()
    for x in p:
        match.play(1 if x > 0 else 0)
    return match.games, match.game.points, match.won, match.game.n


@PROGRAMS.note(X)
def growing_lists_of_replaced_objects(p):
    game = Game()
    if p[0] > 0:
        game = Game()
        game.points = [2, 3, 4]
    for x in p:
        if x > 0.5:
            game = Game()
        game.points.append(4)
    return len(game.points), sum(game.points), game.points[-1]


@PROGRAMS.note(X)
def dicts_of_replaced_objects(p):
    game = Game()
    for x in p:
        if x > 0.5:
            game = Game()
        game.marks["x"] += 1
        if x < 0:
            game.marks["y"] = game.marks["x"]
    return game.marks["x"], game.marks["y"]


@PROGRAMS.note(X)
def swapped_objects(p):
    a, b = Game(1), Game(2)
    for x in p:
        if x > 0:
            a, b = b, a
        a.points[0] += 1
        b.points[1] += 10
    return a.points, b.points


# --- enumerations ---------------------------------------------------------------------------------


class Kind(IntEnum):
    A = 0
    B = 1
    C = 5


class Move(Enum):
    UP = 1
    DOWN = -1
    FLAT = 0

    @property
    def twice(self):
        return self.value * 2

    def flipped(self):
        return Move(-self.value)


FACTORS = {Kind.A: 1.0, Kind.B: 2.0, Kind.C: 1.4}


@PROGRAMS.note(NUMBERS)
def integers_as_members(x):
    e = Kind([0, 1, 5][int(abs(x) * 3) % 3])
    return FACTORS[e], e == Kind.B, int(e), 3 if e is Kind.A else 4, e + 1, e.name == "B"


@PROGRAMS.note(NUMBERS)
def values_as_members(x):
    m = Move(int(np.sign(np.round(x))))
    match m:
        case Move.UP:
            n = 1.0
        case Move.DOWN:
            n = 2.0
        case _:
            n = 3.0
    known = 1 if m in (Move.UP, Move.DOWN) else 0
    return m.value, m.twice, m.flipped() is Move.UP, known, m.flipped().value, n


@PROGRAMS.note(NUMBERS)
def members_as_numbers(x):
    e = Kind.B if x > 0 else Kind.C
    total = 0
    for i in range(e):
        total += i
    least = sorted([Kind.C, e])[0]
    return np.arange(6.0)[e], np.array([e, 2]).sum(), total, least.value, e**2, np.maximum(e, 2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)


def test_a_member_is_an_integer_of_the_result():
    got = lw.vmap(lambda x: max(Kind.B if x > 0 else Kind.C, Kind.A))(NUMBERS)
    np.testing.assert_array_equal(got, [1, 5, 1, 1, 5, 1])


def test_a_value_that_no_member_has():
    with pytest.raises(ValueError, match="not a valid Kind"):
        lw.vmap(lambda x: Kind(int(x * 3)).value)(NUMBERS)


def kept_list(p):
    game = Game()
    kept = game.points
    if p[0] > 0:
        game = Game()
    game.points[0] += 1
    return game.points[0], kept[0]


def kept_dict(p):
    game = Game()
    kept = game.marks
    for x in p:
        if x > 0:
            game = Game()
        game.marks["x"] += 1
    return game.marks["x"], kept["x"]


def kept_object(p):
    match = Match()
    game = match.game
    for x in p:
        if x > 0.5:
            match = Match()
        elif x > 0:
            match.game = Game()
        match.game.points[0] += 1
        match.rows[1][0] += 2
    return match.game.points[0], match.rows[1][0], game.points[0]


def two_with_one_list(p):
    a, b = Game(), Game()
    b.points = a.points
    if p[0] > 0:
        a = Game()
    b.points[0] += 1
    return a.points[0], b.points[0]


@pytest.mark.parametrize("func", [kept_list, kept_dict, kept_object, two_with_one_list])
def test_what_others_have_is_unknown_behind_a_change(func):
    with pytest.raises(ControlFlowError, match="was, or may have been, changed"):
        lw.vmap(func)(X)
