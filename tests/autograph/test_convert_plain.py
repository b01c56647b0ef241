"""Converted code does with plain data what it does as it is: values, errors, order, lines."""

# What is converted here is written for what it tests, not to be read.
# ruff: noqa: B007, B018, F821, SIM108

from __future__ import annotations

import contextlib
import operator
import textwrap
from types import SimpleNamespace

import pytest

from lanewise.autograph.convert import convert
from support import plain_hooks
from support.comparing import define, same, same_lines

pytestmark = pytest.mark.any_backend

# --- branches -------------------------------------------------------------------------------------


def early_returns(x):
    if x < 0:
        return "negative"
    if x == 0:
        return "zero"
    if x > 100:
        y = "large"
    else:
        y = "small"
    return y


def nothing_returned(x):
    if x:
        x += 1


def some_return(x):
    if x > 1:
        return x
    x += 1


def return_without_value(x, log):
    if x:
        log.append(x)
        return
    log.append("end")


def unbound_in_one_branch(x):
    if x:
        y = 1
    return y


def unbound_but_not_read(x):
    if x:
        y = 1
        return y
    return 0


def deleted_in_one_branch(x):
    y = 1
    if x:
        del y
    return y


def deleted_parameter(x, y):
    if x:
        del y
    else:
        y = 3
    if x > 1:
        y = 2
    return y


def deleted_twice(x):
    if x:
        y = 1
    del y
    del y


def bound_to_an_exception(x):
    error = None
    for i in range(x):
        try:
            if i == 1:
                raise ValueError(i)
        except ValueError as error:
            kept = error
    return kept, error


def nested_branches(a, b):
    if a:
        if b:
            return 1
        c = 2
    elif b:
        c = 3
        if a == b:
            return c
    else:
        c = 4
        a = c
    return a, b, c


def empty_sides(x):
    if x:
        pass
    else:
        ...
    return x


def long_chain(x):
    if x == 0:
        r = "a"
    elif x == 1:
        r = "b"
    elif x == 2:
        r = "c"
    elif x == 3:
        r = "d"
    elif x == 4:
        return "e"
    elif x == 5:
        r = "f"
    elif x == 6:
        r = "g"
    elif x == 7:
        r = "h"
    elif x == 8:
        r = "i"
    elif x == 9:
        raise KeyError(x)
    elif x == 10:
        r = "k"
    elif x == 11:
        r = "l"
    elif x == 12:
        r = "m"
    else:
        r = "n"
    return r * 2


def many_early_returns(x):
    if x == 0:
        return 0
    if x == 1:
        return "a"
    x += 1
    if x == 3:
        return "b"
    if x == 4:
        return "c"
    y = x * 2
    if x == 5:
        return y
    if x == 6:
        return "d"
    if x == 7:
        return "e"
    if x == 8:
        return "f"
    if x == 9:
        return y + 1
    if x == 10:
        return "g"
    if x == 11:
        return "h"
    if x == 12:
        return "i"
    return y


# --- loops ----------------------------------------------------------------------------------------


def sum_until(row, limit):
    total = 0
    for x in row:
        if x < 0:
            continue
        total += x
        if total > limit:
            break
    return total


def search(row, wanted):
    for index, x in enumerate(row):
        if x == wanted:
            return index
    return -1


def search_with_else(row, wanted):
    for index, x in enumerate(row):
        if x == wanted:
            found = index
            break
    else:
        found = None
    return found


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n //= 2
        steps += 1
    return steps


def while_with_else(n, limit):
    k = 0
    while k < n:
        k += 1
        if k == limit:
            break
        if k % 2:
            continue
        k += 1
    else:
        return "all", k
    return "stopped", k


def forever(n):
    while True:
        n -= 1
        if n < 0:
            return n


def forever_with_break(n):
    while True:
        if n > 3:
            break
        n += 1
    return n


def no_test_after_break(row):
    i = 0
    while row[i] > 0:
        i += 1
        if i >= len(row):
            break
    return i


def walrus_test(row):
    found = []
    it = iter(row)
    while (x := next(it, None)) is not None:
        if x == 2:
            continue
        if x == 5:
            break
        found.append(x)
    else:
        found.append("end")
    return found, x


def walrus_test_in_nested_loops(rows):
    found = []
    for row in rows:
        it = iter(row)
        while x := next(it, 0):
            found.append(x)
        else:
            if len(found) > 3:
                break
            continue
    else:
        found.append("end")
    return found


def nested_loops(n):
    found = []
    for i in range(n):
        for j in range(i):
            if j == 3:
                break
            if (i + j) % 2:
                continue
            if i == 5:
                return found
            found.append((i, j))
        else:
            found.append(i)
    return found, i, j


def loop_over_nothing():
    for _ in []:
        x = 1
    return x


def loop_variable_after(row):
    for x in row:
        pass
    return x


def targets(pairs, log):
    d = {}
    o = SimpleNamespace()
    for d["k"], (o.a, *o.b) in pairs:
        log.append((dict(d), o.a, o.b))
    return d, o


def generator_is_closed(log):
    def numbers():
        try:
            yield from range(10)
        finally:
            log.append("closed")

    for i in numbers():
        log.append(i)
        if i == 1:
            break
    log.append("after")


def no_item_too_many(row):
    it = iter(row)
    for x in it:
        if x == 2:
            break
    return list(it)


def changed_while_looped_over(row):
    for x in row:
        if x < 3:
            row.append(x + 1)
    return row


def error_in_a_loop(row):
    total = 0
    for x in row:
        total += 1 / x
    return total


def iterating_an_int(n):
    for _ in n:
        pass


CASES = [
    (early_returns, *[(x,) for x in (-1, 0, 5, 500)]),
    (nothing_returned, (0,), (1,)),
    (some_return, (0,), (3,)),
    (return_without_value, (0, []), (1, [])),
    (unbound_in_one_branch, (0,), (1,)),
    (unbound_but_not_read, (0,), (1,)),
    (deleted_in_one_branch, (0,), (1,)),
    (deleted_parameter, (0, 5), (1, 5), (2, 5)),
    (deleted_twice, (0,), (1,)),
    (bound_to_an_exception, (1,), (2,), (4,)),
    (nested_branches, (0, 0), (0, 1), (1, 0), (1, 1)),
    (empty_sides, (0,), (1,)),
    (long_chain, *[(x,) for x in range(15)]),
    (many_early_returns, *[(x,) for x in range(15)]),
    (sum_until, ([1, -2, 3, 4], 100), ([1, -2, 3, 4], 3), ([], 0), ([1, "a"], 5)),
    (search, ([1, 2, 3], 2), ([1], 5), ([], 0)),
    (search_with_else, ([1, 2, 3], 2), ([1], 5), ([], 0)),
    (collatz, (1,), (6,), (27,)),
    (while_with_else, (10, 5), (10, 4), (10, 50), (0, 0)),
    (forever, (3,), (-1,)),
    (forever_with_break, (0,), (9,)),
    (no_test_after_break, ([1, 1],), ([1, 0, 1],), ([],)),
    (walrus_test, ([1, 2, 3],), ([1, 5, 3],), ([],)),
    (walrus_test_in_nested_loops, ([[1, 2], [3], [4, 5]],), ([[1]],), ([],)),
    (nested_loops, (0,), (3,), (5,), (8,)),
    (loop_over_nothing, ()),
    (loop_variable_after, ([1, 2],), ([],)),
    (targets, ([(1, "abc"), (2, "d")], []), ([(1, "")], [])),
    (generator_is_closed, ([],)),
    (no_item_too_many, ([1, 2, 3, 4],)),
    (changed_while_looped_over, ([1, 2],)),
    (error_in_a_loop, ([1, 0, 2],), (["a"],)),
    (iterating_an_int, (3,)),
]


@pytest.mark.parametrize(("func", "args"), [(case[0], args) for case in CASES for args in case[1:]])
def test_same_as_native(func, args, capsys):
    same(func, *args)
    printed = capsys.readouterr().out
    assert printed == printed[: len(printed) // 3] * 3  # natively, and with both kinds of hooks
    same_lines(func, *args)


@pytest.mark.parametrize("depth", range(1, 20))
def test_deep_nesting(depth):
    """Python allows 20 blocks; what does not fit moves into functions within."""
    lines = ["def f(x):"]
    for level in range(depth):
        lines.append(
            "    " * (level + 1) + ["if x > %d:", "for _ in range(x - %d):"][level % 2] % level
        )
    lines += ["    " * (depth + 1) + "return x", "    x += 1", "    return -x"]
    func = define("\n".join(lines))
    made = convert(func, plain_hooks)
    assert made is not func
    # Where 10 loops are nested, 18 would go through them a million times.
    for x in (*range(0, min(depth, 12) + 2, 3), depth + 1):
        assert made(x) == func(x)


def test_deep_branches():
    """As deep as Python's indentation goes; each branch may bind, and what fails says where."""
    lines = ["def f(x):", "    n = 0"]
    lines += [
        " " * k + line for k in range(4, 94) for line in (f"if x >= {k}:", f" n = {k}; a{k} = x")
    ]
    lines += [" " * 94 + "del a7", " " * 94 + "n += a93 // (x - 93)", "    return n, a4, a5"]
    func = define("\n".join(lines))
    made = convert(func, plain_hooks)
    assert made is not func
    for x in (5, 6, 40, 92, 100):
        assert made(x) == func(x)
    for x in (0, 4):
        with pytest.raises(NameError, match=r"a[45]"):
            made(x)
    with pytest.raises(ZeroDivisionError) as caught:
        made(93)
    assert caught.traceback[-1].lineno == len(lines) - 2
    assert caught.traceback[-1].name == "f"


def test_deep_methods():
    """What is nested too deep may say `super()`, `nonlocal`, `global` and private names."""
    text = """
        class Base:
            def twice(self, x):
                return 2 * x

        def make():
            total = 0
            class Derived(Base):
                __step = 3
                def twice(self, x):
                    nonlocal total
                    global counted
                    for _ in range(1):
                     for _ in range(1):
                      for _ in range(1):
                       for _ in range(1):
                        for _ in range(1):
                         for _ in range(1):
                          for _ in range(1):
                           for _ in range(1):
                            for _ in range(1):
                             for counted in range(2):
                                if x > 0:
                                    with contextlib.nullcontext(x) as __y:
                                        try:
                                            total += super().twice(__y) + self.__step
                                            y = [total + k for k in range(x)]
                                        except ValueError as error:
                                            y = str(error)
                                        else:
                                            x -= 1
                    return total, x, y, (lambda: y)()
            return Derived
        def f(x):
            return make()().twice(x)
    """
    func = define(textwrap.dedent(text), contextlib=contextlib)
    for x in (1, 2, 5):
        func.__globals__["counted"] = None
        same(func, x)
        assert func.__globals__["counted"] == 1


@pytest.mark.parametrize("count", [1, 5, 10, 40])
def test_long_chains(count):
    lines = ["def f(x):", "    for k in range(3):", "        if x < 0:", "            break"]
    for i in range(count):
        lines += [f"        {'el' if i else ''}if x == {i}:"]
        lines += [["            r = k", "            continue", "            return x"][i % 3]]
    lines += ["        x += k", "    return x, k, r"]
    func = define("\n".join(lines))
    for x in range(-1, count + 1, max(1, count // 8)):
        same(func, x)


def test_lifetimes():
    """An iterator is not kept after its loop."""
    log = []

    def f(log):
        def numbers():
            try:
                yield 1
                yield 2
            finally:
                log.append("closed")

        for _ in numbers():
            if operator.truth(True):
                break
        log.append("end")
        with contextlib.suppress(ZeroDivisionError):
            for _ in numbers():
                1 / 0
        log.append("end")

    same(f, log)
