"""What converted code calls, for plain data only: the meaning of each hook in its shortest form.

The converter is tested with these, so that a fault of its own is told from one of the hooks.
"""

from __future__ import annotations

import builtins
import math
import operator

import numpy as np

slice = builtins.slice
AssertionError = builtins.AssertionError
BaseException = builtins.BaseException

#: Whether reductions are folded; tests set it to reach both ways.
FOLDING = False


class Stop(builtins.BaseException):
    """Never raised for plain data."""


Failure = (Stop, Exception)


class Undefined:
    """Stands in a variable that has no value."""

    def __init__(self, name):
        self.name = name


def defined(value, free=False):
    if type(value) is not Undefined:
        return value
    if free:
        raise NameError(
            f"cannot access free variable {value.name!r} where it is not associated with a value "
            "in enclosing scope"
        )
    raise UnboundLocalError(
        f"cannot access local variable {value.name!r} where it is not associated with a value"
    )


def returned(value):
    return None if type(value) is Undefined else value


class branches:  # noqa: N801
    """One turn, with the branch that Python takes."""

    def __init__(self, test, names, state, rest=()):
        assert len(names) == len(state)
        self.turns = [bool(test)]

    def __iter__(self):
        return iter(self.turns)

    def stop(self, error):
        return True

    def end(self, state, rest=()):
        return state + rest


class while_:  # noqa: N801
    """Turns until the test fails."""

    def __init__(self, names, state, tested, stepped=(), step=None):
        assert len(names) == len(state)
        assert all([position < len(names) for position in stepped])
        assert all([position < len(names) for position in tested])
        self.state = state
        self.going = True

    def __iter__(self):
        return self

    def __next__(self):
        if not self.going:
            raise StopIteration
        return None

    def test(self, value):
        self.going = bool(value)
        return self.going

    def stop(self, error):
        return True

    def next(self, state):
        self.state = state


class for_:  # noqa: N801
    """One turn for each item, until the flag is set."""

    def __init__(self, iterable, names, state, flag, shared=None):
        assert len(names) == len(state)
        assert flag is None or flag in names
        self.items = iter(iterable)
        self.state = state
        cells = (
            {}
            if shared is None
            else zip(shared.__code__.co_freevars, shared.__closure__, strict=True)
        )
        self.cells = {names.index(name): cell for name, cell in dict(cells).items()}

    def __iter__(self):
        return self

    def __next__(self):
        if self.items is None:
            raise StopIteration
        try:
            return next(self.items)
        except StopIteration:
            self.items = None
            raise
        finally:
            held = list(self.state)
            for position, cell in self.cells.items():
                held[position] = cell.cell_contents
            self.state = tuple(held)

    def enter(self, flag=False):
        assert flag is False
        return True

    def stop(self, error):
        self.items = None
        return True

    def next(self, state, flag=False):
        self.state = state
        if flag:
            self.items = None


class and_:  # noqa: N801
    """``value`` is the result where the first operand decides."""

    def __init__(self, value, is_test=False):
        self.value = value
        self.done = not value

    def end(self, value):
        return value


class or_(and_):  # noqa: N801
    def __init__(self, value, is_test=False):
        self.value = value
        self.done = bool(value)


class ifexp:  # noqa: N801
    def __init__(self, test):
        self.take_true = bool(test)
        self.take_false = not self.take_true

    def first(self, value):
        return value

    def end(self, first, second):
        return first if self.take_true else second


def not_(value):
    return not value


def changing(value, by, symbol=None):
    return by


def binary(symbol, left, right):
    return OPERATORS[symbol](left, right)


OPERATORS = {"|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor}


def gone_through(iterable):
    return iterable


def owned_here(made):
    return made


def begun(function, *args):
    return function(*args)


def follows(x):
    return False


def foldable_alone(function, iterable):
    return False


class Suspension:
    """Where a generator is left: nobody says that it is over."""

    def given(self, item=None):
        return item

    def is_over(self):
        return False

    def end(self):
        return ()


def through(function, *args, **kwargs):
    return function(*args, **kwargs)


def in_turn(iterable):
    return iterable


def taken_at_once(iterable, *lists):
    return iterable


def elements(x, taker=None):
    return x.tolist()


def joined_anew(value):
    return value


def spread(value):
    return value


set_of = set


def entries(*parts):
    made = {}
    for part in parts:
        made = {**made, **(part[0] if len(part) == 1 else dict([part]))}
    return made


def class_of(value):
    return value.__class__


def is_instance(value, cls):
    if not isinstance(cls, type):
        match value:  # raises what Python does
            case cls():
                pass
    return isinstance(value, cls)


def is_(first, second):
    return first is second


def compare(symbol, first, second):
    return COMPARISONS[symbol](first, second)


COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def in_(item, container):
    return item in container


getitem = operator.getitem
delitem = operator.delitem
delattr = builtins.delattr


def setitem(container, key, value):
    container[key] = value


def setattr(owner, name, value):
    builtins.setattr(owner, name, value)


def setcell(cell, value):
    cell.cell_contents = value


def fn(function, is_first=False):
    return function


def cells(function):
    pass


def closure(f):
    return f


def born(container):
    return container


def deferred():
    return None


def shown(name, value):
    return getattr(builtins, name)(value)


def text(handle, string):
    return string


def percent(template, args):
    return template % args


def print_(handle, function, *args, **kwargs):
    return function(*args, **kwargs)


_NOT_GIVEN = object()


def raise_(handle, error, cause=_NOT_GIVEN):
    kind = error if isinstance(error, type) else type(error)
    if cause is _NOT_GIVEN or not issubclass(kind, builtins.BaseException):
        return error
    error = error() if isinstance(error, type) else error
    cause = cause() if isinstance(cause, type) else cause
    if cause is not None and not isinstance(cause, builtins.BaseException):
        raise TypeError("exception causes must derive from BaseException")
    error.__cause__ = cause
    return error


def managed(manager):
    return manager


class following:  # noqa: N801
    """The manager itself, which sees to exceptions."""

    caught = ()

    def __init__(self, manager):
        self.outer = manager

    def end(self):
        pass


class try_:  # noqa: N801
    """One turn, in which Python finds the handlers."""

    foreign = (Stop,)

    def __init__(self, names, rest, handlers, is_final, prints, manager=None):
        assert all(callable(kinds) and type(uses_it) is bool for kinds, uses_it in handlers)
        self.names = names + rest
        self.turns = (None,)

    def __iter__(self):
        return iter(self.turns)

    def enter(self):
        pass

    leave = handle = enter

    def last(self):
        return True

    def stop(self, error):
        return True

    def end(self, state, rest=()):
        assert len(state + rest) == len(self.names)
        return state + rest


def foldable(function, iterable):
    known = (any, all, sum, min, max, len, math.fsum, math.prod, np.sum, np.mean, np.max, np.prod)
    return FOLDING and any(function is one for one in known)


class fold:  # noqa: N801
    """Collects the values, then calls the function."""

    start = ()

    def __init__(self, function, *args, **kwargs):
        self.call = lambda values: function(list(values), *args, **kwargs)

    def add(self, values, value):
        return (*values, value)

    def result(self, values):
        return self.call(values)


def owned(items):
    return items


def appended(items, value):
    items.append(value)
    return items


def popped(items, *place):
    value = items.pop(*place)
    return items, value


def entry_of(items, key):
    return items[key]


def places(items):
    return range(len(items))


def index_in(items, key):
    return range(len(items))[key]


def with_part(items, key, part, value):
    items[key][part] = value
    return items


def with_attribute(items, key, name, value):
    setattr(items[key], name, value)
    return items


def with_call(items, key, name, *args, **kwargs):
    getattr(items[key], name)(*args, **kwargs)
    return items


def named(iterable):
    return iterable


def unstopped(items):
    return items


def new(function):
    return function


def with_entry(items, key, value, before=None):
    items[key] = value
    return items


def part(items, *ends):
    return items[slice(*ends)]


def grows(iterable, is_known=True, has_tests=False):
    return FOLDING


def kept(items):
    return items


def as_index(items):
    return items


def row_of(function, items):
    return items


def matched(value, is_by_class):
    return value


def unpacked(items, count, last=None):
    return items


def added(items, elements):
    items += elements
    return items


def again(items, method):
    getattr(items, method)()
    return items


def plain(items, are_new=False):
    return items


def has_any(items):
    return items


def given(function, items, has_dtype=False):
    return items, items


def total_of(function, items):
    return function(items)


def items_of(items):
    return items


def items_for(function, items):
    return items


def has_objects(items):
    return False


def held(items):
    return items
