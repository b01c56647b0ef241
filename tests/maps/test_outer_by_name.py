"""State outside that is changed by the name of a method or a function, and iterators taken from."""

from __future__ import annotations

import collections
import itertools
import math
import operator

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, -2.0, 3.0, 4.0])


class Outer:
    def __init__(self):
        self.list, self.items = [1.0], list(range(9))
        self.dict, self.full = {}, {i: i for i in range(9)}
        self.set, self.deque, self.bytes = set(), collections.deque(), bytearray(b"a")
        self.array, self.n = np.zeros(2), 0
        self.count, self.generator = itertools.count(), (i for i in range(99))
        self.found = iter([1, 2, 5, 3, 5, 5, 5])


def last(*parts):
    return parts[-1]


FORMS = {
    "list.__setitem__": lambda o, x: last(o.list.__setitem__(0, x + o.list[0]), o.list[0]),
    "list.__iadd__": lambda o, x: last(o.list.__iadd__([1.0]), x + len(o.list)),
    "list.__imul__": lambda o, x: last(o.list.__imul__(2), x + len(o.list)),
    "list.__delitem__": lambda o, x: last(o.items.__delitem__(0), x + len(o.items)),
    "dict.__setitem__": lambda o, x: last(o.dict.__setitem__(len(o.dict), 1), x + len(o.dict)),
    "dict.__ior__": lambda o, x: last(o.dict.__ior__({len(o.dict): 1}), x + len(o.dict)),
    "dict.__delitem__": lambda o, x: last(o.full.__delitem__(len(o.full) - 1), x + len(o.full)),
    "set.__ior__": lambda o, x: last(o.set.__ior__({len(o.set)}), x + len(o.set)),
    "deque.__iadd__": lambda o, x: last(o.deque.__iadd__([1]), x + len(o.deque)),
    "bytearray.__setitem__": lambda o, x: last(
        o.bytes.__setitem__(0, o.bytes[0] + 1), x + o.bytes[0]
    ),
    "array.__setitem__": lambda o, x: last(o.array.__setitem__(0, o.array[0] + 1), x + o.array[0]),
    "array.__iadd__": lambda o, x: last(o.array.__iadd__(1), x + o.array[0]),
    "operator.iadd": lambda o, x: last(operator.iadd(o.list, [1.0]), x + len(o.list)),
    "operator.iadd of an array": lambda o, x: last(operator.iadd(o.array, 1), x + o.array[0]),
    "operator.ior": lambda o, x: last(operator.ior(o.set, {len(o.set)}), x + len(o.set)),
    "__setattr__": lambda o, x: last(o.__setattr__("n", o.n + 1), x + o.n),
    "__next__": lambda o, x: x + o.count.__next__(),
    "__next__ of a generator": lambda o, x: x + o.generator.__next__(),
    "iter": lambda o, x: x + next(iter(o.count)),
    "iter in a branch": lambda o, x: x + (next(iter(o.count)) if x > -9 else 0),
    "send": lambda o, x: x + o.generator.send(None),
    "islice": lambda o, x: x + sum(list(itertools.islice(o.count, 2))),
    "zip": lambda o, x: x + [v for v, _ in zip(o.count, range(2), strict=False)][-1],
    "starred": lambda o, x: last(*itertools.islice(o.count, 2)) + x,
    "chain": lambda o, x: x + next(itertools.chain(o.count)),
    "fsum": lambda o, x: x + math.fsum(itertools.islice(o.generator, 2)),
    "map": lambda o, x: x + next(map(float, o.count)),
    "in": lambda o, x: x + (1 if 5 in o.found else 0) + len(list(itertools.islice(o.count, 1))),
    "contains": lambda o, x: x + operator.contains(o.found, 5) * operator.length_hint(o.found),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_changes_by_name_is_seen(name):
    f = FORMS[name]
    plain = Outer()
    want = np.array([f(plain, x) for x in XS])
    outer = Outer()
    with pytest.raises(lw.UnsupportedError, match="is changed"):
        lw.vmap(lambda x: f(outer, x))(XS)
    np.testing.assert_allclose([f(outer, x) for x in XS], want)  # nothing has changed
    outer = Outer()
    np.testing.assert_allclose(lw.map_fn(lambda x: f(outer, x), XS), want)
    for key, value in vars(plain).items():
        if not hasattr(value, "__next__"):
            np.testing.assert_equal(getattr(outer, key), value)
        else:
            assert next(getattr(outer, key), None) == next(value, None)


def test_iterators_of_the_function_itself_are_as_before():
    def f(x):
        items = iter([x, 2 * x, 3 * x])
        first = items.__next__()
        numbers = itertools.count(1)
        pairs = list(zip(items, numbers, strict=False))
        found = (v for v in (1, 2, 3))
        more = found.send(None) + sum(found)
        return first + sum(a * b for a, b in pairs) + next(numbers) + more

    np.testing.assert_allclose(lw.vmap(f)(XS), [f(x) for x in XS])
    np.testing.assert_allclose([lw.function(f)(x) for x in XS], [f(x) for x in XS])
