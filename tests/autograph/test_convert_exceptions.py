"""Converted `try`, `with`, `raise` and `assert` do with plain data what they do as they are."""

# What is converted here is written for what it tests, not to be read.
# ruff: noqa: B904, E722

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lanewise.autograph.convert import convert
from support import plain_hooks
from support.comparing import define, same, same_lines

pytestmark = pytest.mark.any_backend


class Manager:
    """A context manager that logs, and swallows some exceptions."""

    def __init__(self, log, *swallowed):
        self.log, self.swallowed = log, swallowed

    def __repr__(self):
        return "Manager"

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind and kind.__name__)
        return kind is not None and issubclass(kind, self.swallowed)


# --- try and with ---------------------------------------------------------------------------------


def returns_in_try(x, log):
    try:
        if x == 0:
            return "zero"
        y = 1 / (x - 1)
    except ZeroDivisionError as error:
        log.append(str(error))
        if x == 1:
            return "one"
    else:
        log.append("else")
        if x == 2:
            return y
    finally:
        log.append("finally")
    return "end"


def jumps_in_try(row, log):
    for x in row:
        try:
            if x == 0:
                continue
            if x == 9:
                break
            log.append(1 // (x - 1))
        except ZeroDivisionError:
            continue
        else:
            log.append("else")
        finally:
            log.append(("finally", x))
        log.append("after")
    else:
        log.append("all")


def returns_in_with(x, log):
    with Manager(log, ZeroDivisionError) as manager:
        if x == 0:
            return manager is not None
        for k in range(3):
            with Manager(log):
                if k == x:
                    return k
                log.append(k / (x - 5))
    log.append("after")
    return "end"


def swallowed_return(x, log):
    with Manager(log, ZeroDivisionError):
        return 1 / x


def swallowed_return_in_branch(x, log):
    if x >= 0:
        with Manager(log, ZeroDivisionError):
            return 1 / x
        log.append("swallowed")
    return "end"


def with_targets(log):
    d = {}
    with Manager(log) as d["a"], Manager(log) as (d["b"].x if False else d)["c"]:
        log.append(sorted(d))


def with_attribute(log, o):
    with Manager(log) as o.x, Manager(log):
        return o.x is not None


def reraised(x, log):
    try:
        try:
            if x:
                raise ValueError(x)
            raise KeyError(x)
        except ValueError:
            log.append("caught")
            raise
        finally:
            log.append("finally")
    except KeyError as error:
        raise TypeError("no") from error


def raised_from(kind, cause):
    if cause == 0:
        raise kind from None
    if cause == 1:
        raise kind("x") from ValueError
    if cause == 2:
        raise kind("x") from KeyError("y")
    if cause == 3:
        raise kind from 3
    raise kind


def raised_in_a_handler(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        if x == 0:
            raise KeyError(x)
    return 0


def handlers(x):
    try:
        if x == 0:
            raise ValueError("a")
        elif x == 1:
            raise OSError("b")
        elif x == 2:
            raise Exception("c")
        elif x == 3:
            raise BaseException("d")
    except (ValueError, KeyError) as e:
        return "first", str(e)
    except OSError:
        return "second"
    except Exception as e:
        return "third", repr(e)
    except:
        return "last"


def handler_name_is_gone(x):
    e = 1
    try:
        if x:
            raise ValueError
    except ValueError:
        pass
    if x > 1:
        e = 2
    return e


def exception_groups(x):
    found = []
    try:
        if x:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        found.append(str(group))
    except* KeyError as group:
        if x > 1:
            found.append(str(group))
    return found


# (pytest would rewrite them here)
checks = define("""
def f(x, log):
    assert x, log.append("message") or "no x"
    assert x > 1
    return x
""")
checks_a_tuple = define("""
def f(x):
    assert x, ("a", "b")
""")


CASES = [
    (returns_in_try, *[(x, []) for x in range(4)]),
    (jumps_in_try, ([0, 1, 2, 3], []), ([0, 9, 1], [])),
    (returns_in_with, *[(x, []) for x in (0, 1, 2, 4, 5)]),
    (swallowed_return, (0, []), (1, [])),
    (swallowed_return_in_branch, (0, []), (1, []), (-1, [])),
    (with_targets, ([],)),
    (with_attribute, ([], SimpleNamespace())),
    (reraised, (0, []), (1, [])),
    (raised_from, *[(kind, c) for kind in (ValueError, KeyError, int) for c in range(5)]),
    (raised_in_a_handler, (0,), (1,)),
    (handlers, *[(x,) for x in range(5)]),
    (handler_name_is_gone, (0,), (1,), (2,)),
    (exception_groups, (0,), (1,), (2,)),
    (checks, (0, []), (1, []), (2, [])),
    (checks_a_tuple, (0,), (1,)),
]


@pytest.mark.parametrize(("func", "args"), [(case[0], args) for case in CASES for args in case[1:]])
def test_same_as_native(func, args, capsys):
    same(func, *args)
    printed = capsys.readouterr().out
    assert printed == printed[: len(printed) // 3] * 3  # natively, and with both kinds of hooks
    same_lines(func, *args)


@pytest.mark.filterwarnings("ignore:.* in a 'finally' block:SyntaxWarning")
def test_jump_out_of_finally_is_left_alone():
    source = """
        def f(x):
            for k in range(3):
                try:
                    1 / x
                finally:
                    continue
            return k
    """
    func = define("\n".join(line[8:] for line in source.splitlines()))
    assert convert(func, plain_hooks) is func
    assert func(0) == 2
