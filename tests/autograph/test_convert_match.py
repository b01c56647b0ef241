"""``match`` statements: each kind of pattern does natively what it does as branches."""

# What is converted here is written for what it tests, not to be read.

from __future__ import annotations

import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from support.comparing import same, same_lines

pytestmark = pytest.mark.any_backend

Pair = namedtuple("Pair", "first second")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: object
    y: object = 0


class Logged:
    __match_args__ = ("a", "b")

    def __init__(self, **values):
        self.__dict__.update(values)

    def __repr__(self):
        return f"Logged({self.__dict__})"


def values(x):
    match x:
        case 0:
            return "zero"
        case 1.5 | "a" | -2:
            return "some"
        case 3 + 4j:
            return "complex"
        case b"x":
            return "bytes"
        case Colour.RED:
            return "red"
        case None:
            return "none"
        case True:
            return "true"
        case False | "f":
            return "false"
    return "other"


def captures(x):
    n = "before"
    match x:
        case 0 as n:
            r = "zero"
        case (1 | 2) as n if n > 1:
            r = "two"
        case int(n) if n > 5:
            r = "large"
        case float() as n:
            r = "float"
        case str(m):
            r = m
        case n if n == [1]:
            r = "list"
        case k:
            r = k
    return r, n


def sequences(x):
    match x:
        case []:
            return "empty"
        case [1]:
            return "one"
        case [1, 2] | [2, 1]:
            return "one and two"
        case [0, y, *_]:
            return "zero", y
        case [first, *middle, 9]:
            return first, middle
        case [[a, 5], b] | [b, [a, 6]]:
            return "nested", a, b
        case (x, [y, (0 | 1 as z)]):
            return x, y, z
        case [7 | 8, (None | True) as q, w] if w:
            return q, w
        case [_, _, _]:
            return "three"
        case [*all_]:
            return len(all_)
    return "no sequence"


def mappings(x):
    match x:
        case {"kind": "circle", "r": r}:
            return 3 * r
        case {"kind": "square" | "box", "a": a, **rest}:
            return a * a, rest
        case {"kind": Colour.RED | Colour.BLUE as colour}:
            return colour
        case {1: [0, y]}:
            return y
        case {}:
            return "mapping"
    return "none"


def classes(x):
    match x:
        case Point(0, 0):
            return "origin"
        case Point(x=0, y=y) | Point(y, 0):
            return "axis", y
        case Point(x, y) if x == y:
            return "diagonal", x
        case Point(x=Point(_, z)):
            return z
        case Pair(1, second):
            return second
        case Logged(1, b=[b, _]):
            return b
        case SimpleNamespace(a=a):
            return a
        case bool(b) | int(b):
            return "number", b
        case dict() | list():
            return "container"
    return x is None


def guards_see_bindings(x, log):
    match x:
        case [a, 1] if log.append(a):
            return "never"
        case [a, b] if log.append((a, b)) or a == b:
            return "same"
        case [b, *_] if b:
            return b
        case _ if log.append("last"):
            return "never"
    return a, b


def unbound_after_no_match(x):
    match x:
        case [1, y]:
            pass
    return y


def in_loops(rows):
    found = []
    for row in rows:
        match row:
            case 0:
                continue
            case 1:
                break
            case [2, y]:
                found.append(y)
            case [k, *_] if k > 2:
                for z in row:
                    match z:
                        case 5:
                            break
                        case 6:
                            return found
                else:
                    found.append("else")
            case _:
                pass
        found.append(row)
    else:
        found.append("end")
    return found


def several_subjects(a, b):
    match a, b:
        case 0, 0:
            return "zeros"
        case 0, y:
            return y
        case x, 0:
            return x
    return "none"


def subject_evaluated_once(log):
    match log.append("subject") or len(log):
        case 2:
            return 2
        case 1:
            return 1


def wrong_class(x):
    match x:
        case Point(1, 2, 3):
            return x


def not_a_class(x):
    kind = 3
    match x:
        case kind():
            return x


def too_few_names(x):
    match x:
        case Logged(1, 2):
            return "both"
        case Logged(1):
            return "one"
    return "none"


CASES = [
    (
        values,
        *[(x,) for x in (0, False, 1.5, "a", -2, 3 + 4j, b"x", Colour.RED, None, True, "f", 5)],
    ),
    (values, (np.float64(1.5),), (np.int64(0),)),
    (captures, *[(x,) for x in (0, 1, 2, 3, 6, 2.5, "s", [1], None)]),
    (sequences, *[(x,) for x in ([], [1], [1, 2], (2, 1), [0, 3], [0, 3, 4, 5], [4, 5, 9])]),
    (sequences, *[(x,) for x in ([[1, 5], 2], [2, [1, 6]], [2, [3, 0]], [7, None, 1], [7, 1, 0])]),
    (sequences, *[(x,) for x in ([3, 4], "ab", b"ab", range(2), np.array([1]), {1: 2}, 5)]),
    (
        mappings,
        ({"kind": "circle", "r": 2},),
        ({"kind": "circle"},),
        ({"kind": "box", "a": 2, 1: 2},),
    ),
    (mappings, ({"kind": Colour.BLUE},), ({1: [0, 4]},), (OrderedDict({1: [1, 4]}),), ([],)),
    (classes, (Point(0, 0),), (Point(0, 3),), (Point(3, 0),), (Point(2, 2),), (Point(1, 2),)),
    (classes, (Point(Point(1, 5), 2),), (Pair(1, 2),), (Pair(2, 2),), (Logged(a=1, b=[3, 4]),)),
    (classes, (SimpleNamespace(a=3),), (SimpleNamespace(),), (True,), (3,), ({},), ([],), (None,)),
    (guards_see_bindings, ([3, 1], []), ([2, 2], []), ([0, 4], []), (5, [])),
    (unbound_after_no_match, ([1, 2],), ([2, 2],)),
    (in_loops, ([0, [2, 3], [3, 4], [4, 5], 1, 2],), ([[2, 3]],), ([[3, 6]],), ([[3, 5], 7],)),
    (several_subjects, (0, 0), (0, 1), (1, 0), (1, 1)),
    (subject_evaluated_once, ([],), ([1],)),
    (wrong_class, (Point(1, 2),), (3,)),
    (not_a_class, (3,)),
    (too_few_names, (Logged(a=1, b=2),), (Logged(a=1),), (Logged(b=1),), (3,)),
]


@pytest.mark.parametrize(("func", "args"), [(case[0], args) for case in CASES for args in case[1:]])
def test_same_as_native(func, args):
    same(func, *args)
    same_lines(func, *args)
