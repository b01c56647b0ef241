"""Functions of every kind, converted: closures, methods, lambdas, attributes, sources, caching."""

# What is converted here is written for what it tests, not to be read.
# ruff: noqa: B006, B007, B008, B020, B023, E731, F841, RUF015, SIM108

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import linecache
import sys
import threading
import time
import weakref

import pytest

from lanewise.autograph import convert as conversion
from lanewise.autograph import source
from lanewise.autograph.convert import convert, is_converted
from support import plain_hooks
from support.comparing import define, same

pytestmark = pytest.mark.any_backend

SWITCH = 0


def converted(func):
    made = convert(func, plain_hooks)
    assert made is not func
    return made


# --- closures and scopes --------------------------------------------------------------------------


def test_closures_share_their_cells():
    count = 0

    def step(n):
        nonlocal count
        if n:
            count += n
        return count

    made = converted(step)
    assert (made(2), step(3), made(0), count) == (2, 5, 5, 5)
    assert step.__closure__[0] in made.__closure__


def nested_functions(x):
    total, unset = 0, None

    def add(n, *, k=[1]):
        nonlocal total, unset
        if n > 1:
            total += n
            (unset, total), k[0] = (n, total + 1), total
        for total in range(total, total + 2):
            pass
        return k

    def show():
        return total, unset, late

    for i in range(x):
        add(i)
    try:
        show()
    except NameError as error:
        message = str(error)
    late = 1
    return show(), add(5), message


def late_binding(n):
    made = []
    for i in range(n):
        k = i * 2
        made.append(lambda: (i, k))
        if i == 2:
            break
    k = "end"
    return [f() for f in made]


def unbound_for_a_nested_function(x):
    def show():
        return y

    def gone():
        nonlocal y
        del y

    if x:
        y = x
    if x > 1:
        gone()
    return show(), [y for _ in range(2)], (lambda: y)()


def unbound_by_a_nested_function_after_it_was_bound(x):
    for y in range(2):

        def gone():
            nonlocal y
            del y

        def caught():
            nonlocal y
            try:
                raise ValueError
            except ValueError as y:
                pass

        if x:
            gone() if x > 1 else caught()
        if (5 - y) < 3:
            return y
    return y


def recursion(n):
    def down(k):
        if k == 0:
            return [0]
        return [k, *down(k - 1)]

    return down(n)


def countdown(k):
    """Calls itself by a global name."""
    if k > 0:
        return [k, *countdown(k - 1)]
    return []


def globals_change(x):
    global SWITCH, NEW
    before = SWITCH
    if x:
        SWITCH += x
    NEW = x
    (SWITCH, y), z = (SWITCH + 1, 2), (NEW := x + 1)
    for SWITCH in (SWITCH, before):
        if SWITCH == 100:
            break
    del NEW
    return SWITCH, y, z


def classes_within(x):
    base = 1 if x else 2

    class Inner:
        kind = base and x
        if x:
            extra = "yes"

            def hidden(self):
                return self.kind or "none"

        def __init__(self, y):
            self.__y = y

        def get(self):
            if self.__y > base:
                return "large", __class__.__name__
            return "small", self.twice(), super().__repr__()[:1]

        twice = lambda self: self.__y and self.__y * 2

        @staticmethod
        def static(z):
            return z or base

    inner = Inner(x)
    return inner.get(), inner.kind, Inner.static(0), Inner.__qualname__, Inner.get.__qualname__


def generators_within(x):
    def numbers(n):
        for i in range(n):
            if i != x:
                yield i
        return n

    if x:
        limit = 3
    else:
        limit = 5

    def squares():
        yield from (i * i for i in numbers(limit))

    return list(squares()), [*numbers(2)]


def coroutine_within(x):
    async def wait():
        return x or 1

    return asyncio.run(wait())


def decorated_within(x):
    def twice(function):
        return lambda *args: (function(*args), function(*args))

    @twice
    @functools.cache
    def inner(y, k=x or 2):
        if y:
            return y
        return k

    return inner(0), inner(1)


@pytest.mark.parametrize("x", [0, 1, 2, 4])
@pytest.mark.parametrize(
    "func",
    [
        nested_functions,
        late_binding,
        unbound_for_a_nested_function,
        unbound_by_a_nested_function_after_it_was_bound,
        recursion,
        countdown,
        globals_change,
        classes_within,
        generators_within,
        coroutine_within,
        decorated_within,
    ],
)
def test_scopes(func, x):
    same(func, x)


class Base:
    def value(self, k):
        return k


class Mangled(Base):
    def __init__(self):
        self.__private = [1]

    def __step(self, k):
        return k + 1

    def value(self, k):
        __local = k
        if k:
            self.__private[0] += self.__step(k)
            self.__private = [*self.__private, k]
            del self.__private[1:]
        else:
            return super().value(k), __class__.__name__
        for __local in range(k):
            pass
        return (super().value(k) or 0, self.__private, __local)

    def closure(self, __x):
        def inner(k):
            return __x + self.__step(k) if k else super(Mangled, self).value(k)

        return inner

    @property
    def shown(self):
        return self.__private and "yes"

    @classmethod
    def made(cls, k):
        return cls() if k else None

    def unbound(self, k):
        if k:
            __y = 1
        return __y


def test_methods():
    for k in (0, 1, 3):
        first, second = Mangled(), Mangled()
        assert converted(Mangled.value)(first, k) == second.value(k)
        assert vars(first) == vars(second)
    assert converted(Mangled.closure)(Mangled(), 3)(2) == 6
    assert converted(Mangled().closure(3))(2) == 6
    assert converted(Mangled.__dict__["shown"].fget)(Mangled()) == "yes"
    assert converted(Mangled.__dict__["made"].__func__)(Mangled, 0) is None
    for method in (Mangled.unbound, converted(Mangled.unbound)):
        with pytest.raises(UnboundLocalError, match="local variable '_Mangled__y'"):
            method(None, 0)


# --- what a function is beside its code -----------------------------------------------------------


def documented(a: int, b: str = "x", /, *c, d: float = 2.0, **e) -> list:
    """The documentation."""
    return [a, b, c, d, e] if a else []


documented.attribute = ["kept"]


def test_attributes_are_kept():
    made = converted(documented)
    assert inspect.signature(made) == inspect.signature(documented)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(made, name) == getattr(documented, name)
    assert made.__defaults__ is documented.__defaults__
    assert made.__kwdefaults__ == documented.__kwdefaults__
    assert made.__globals__ is documented.__globals__
    assert made.attribute is documented.attribute
    assert made.__code__.co_filename == documented.__code__.co_filename
    assert made.__code__.co_name == "documented"


def test_qualified_names():
    def outer():
        def inner():
            return (lambda: 0), [x for x in [lambda: 1]][0], sum(x for x in [1])

        return inner, inner()

    native, made = outer(), converted(outer)()
    assert made[0].__qualname__ == native[0].__qualname__
    assert made[1][0].__qualname__ == native[1][0].__qualname__
    assert converted(lambda: 0).__code__.co_name == "<lambda>"


def test_defaults_are_not_evaluated_again():
    log = []

    def f(x=log.append("default")):
        return x if x else log

    assert converted(f)() == ["default"]
    f.__defaults__ = (3,)
    assert converted(f)() == 3


def test_decorators_are_not_applied_again():
    log = []

    def logged(function):
        log.append(function.__name__)
        return function

    @logged
    @logged
    def f(x):
        return x or 1

    assert converted(f)(0) == 1
    assert log == ["f", "f"]


def test_what_cannot_be_converted_is_returned():
    async def coroutine():
        if SWITCH:
            pass

    async def both():
        yield 1

    code = compile("def f(x):\n    return x or 1", "<nowhere>", "exec")
    namespace = {}
    exec(code, namespace)
    for func in (len, print, coroutine, both, int, namespace["f"], [].append):
        assert convert(func, plain_hooks) is func
        assert convert(func, plain_hooks) is func


# --- lambdas --------------------------------------------------------------------------------------

ALIKE = [lambda x: x and 1, lambda x: x and 2, lambda x, y=3: x or y, lambda *x, k, **y: (k, x, y)]
NESTED = lambda x: lambda y: lambda z: x and y and z
LONG = [
    lambda x: (
        x
        if x  # a comment
        else [
            "ä", lambda: x or "ö",
        ]
    ), lambda x: "é" if x else 'ß',
]  # fmt: skip
IN_TEXT = f"{(lambda x: x and 'yes')(1)}{(lambda x: x and 'no')(0)}"


def test_lambdas_on_a_line_are_told_apart():
    assert [converted(f)(5) for f in ALIKE[:3]] == [1, 2, 5]
    assert converted(ALIKE[2])(0) == 3
    assert converted(ALIKE[3])(1, k=2, z=3) == ALIKE[3](1, k=2, z=3)
    middle = NESTED(1)
    assert converted(NESTED)(1)(2)(3) == 3
    assert converted(middle)(2)(3) == 3
    assert converted(middle(0))(4) == 0
    assert converted(LONG[0])(0)[1]() == "ö"
    assert converted(LONG[0](0)[1])() == "ö"
    assert [converted(LONG[1])(x) for x in (0, 1)] == ["ß", "é"]
    assert IN_TEXT == "yes0"


def test_lambdas_without_columns(monkeypatch):
    """Where Python keeps no columns, lambdas of the line are compared with the code."""
    monkeypatch.setattr(source, "_returned", lambda code: None)
    functions = [lambda x: x and 10, lambda x: x and 20, lambda x: x or 20]
    assert [converted(f)(1) for f in functions] == [10, 20, 1]


def test_lambdas_in_odd_places():
    table = {"a": lambda x: x or "a", "b": sorted([3, 1], key=lambda x: -x if x else 0)}
    (f := lambda x: not x)(1)
    g = [lambda x, k=k: x and k for k in range(3)]
    assert converted(table["a"])(0) == "a"
    assert converted(f)(1) is False
    assert [converted(h)(1) for h in g] == [0, 1, 2]
    assert converted(functools.partial(lambda x: x or 3, 0).func)(0) == 3


# --- sources --------------------------------------------------------------------------------------


def test_edited_files_are_not_trusted(tmp_path, monkeypatch):
    path = tmp_path / "edited_module.py"
    path.write_text("def f(x):\n    return 1 if x else 2\n\ng = lambda x: x or 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited_module

    path.write_text("def f(x):\n    return 1 if x else 3\n\ng = lambda x: x or 2\n")
    linecache.checkcache(str(path))
    assert convert(edited_module.f, plain_hooks) is edited_module.f
    assert convert(edited_module.g, plain_hooks) is edited_module.g


def test_layouts():
    """Definitions are found however they are written."""
    text = '''
import math
class A:
    class B:
        @property
        def p(self):
            """unindented
text
"""
            return 1 if self else 2
    if True:
	def tabs(self): return (1 if self else
2)
    def one(self): return 1 or 2
    def strings(self, x):
        y = """
  def f(): pass
"""
        if x: return y; pass
        return (
y
)
        # a comment
# another
        pass
    def last(self):
        return math.pi or 1
        pass'''.replace("\n\tdef", "\n        def")
    a = define(text, "A")
    assert converted(a.B.p.fget)(0) == 2
    assert converted(a.tabs)(0) == 2
    assert converted(a.one)(0) == 1
    assert converted(a.strings)(0, 1) == converted(a.strings)(0, 0) == "\n  def f(): pass\n"
    assert converted(a.last)(0) == pytest.approx(3.14159, 1e-5)


def test_future_flags():
    func = define(
        "from __future__ import annotations\n"
        "def f(x):\n"
        "    def g(y: unknown = 1) -> nothing: return y\n"
        "    return g.__annotations__ if x else g"
    )
    same(func, 1)


def test_in_a_doctest():
    """
    >>> from lanewise.autograph import hooks
    >>> def f(x):
    ...     if x > 0:
    ...         return "positive"
    ...     return (lambda y: y and "negative")(x)
    >>> convert(f, hooks) is f
    False
    >>> convert(f, hooks)(1), convert(f, hooks)(-1), convert(lambda x: x or 1, hooks)(0)
    ('positive', 'negative', 1)
    """


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters():
    func = define("def f[T](x: T) -> T:\n    return T if x else (lambda: T)()")
    made = converted(func)
    assert made(1) is made(0) is func(1)
    assert made.__type_params__ == func.__type_params__
    assert made.__annotations__ == func.__annotations__


# --- caching --------------------------------------------------------------------------------------


def test_code_is_converted_once(monkeypatch):
    calls = []
    find = source.find
    monkeypatch.setattr(conversion, "find", lambda code: calls.append(code) or find(code))
    made = [converted(f) for f in [(lambda x: x and k) for k in range(5)]]
    assert [f(1) for f in made] == [4] * 5
    assert len(calls) == 1
    assert len({f.__code__ for f in made}) == 1


def test_nested_functions_are_known():
    def outer():
        def inner(x):
            return x or (lambda: x and 1)

        return inner

    made = converted(outer)
    inner = made()
    assert is_converted(made.__code__)
    assert is_converted(inner.__code__)
    assert is_converted(inner(0).__code__)
    assert not is_converted(outer.__code__)
    assert convert(inner, plain_hooks) is inner
    assert convert(made, plain_hooks) is made


def test_lambdas_of_classes_within_are_converted_when_called():
    def outer():
        class A:
            f = lambda self: self and 1

            def g(self):
                return self and 1

        return A

    made = converted(outer)()
    assert is_converted(made.g.__code__)
    assert not is_converted(made.f.__code__)
    assert converted(made.f)(3) == 1


def test_nothing_is_kept_alive():
    def make():
        return define("def f(x):\n    return x or 1")

    func = make()
    made = converted(func)
    codes = [weakref.ref(func.__code__), weakref.ref(made.__code__)]
    before = len(conversion._converted._entries)
    del func, made
    gc.collect()
    assert [code() for code in codes] == [None, None]
    assert len(conversion._converted._entries) < before


def test_equal_code_of_two_files_is_kept_apart():
    first, second = (define("def f(x):\n    return 1 / x if x else 0") for _ in range(2))
    assert first.__code__ == second.__code__
    names = [converted(f).__code__.co_filename for f in (first, second)]
    assert names == [first.__code__.co_filename, second.__code__.co_filename]
    assert names[0] != names[1]


def test_threads():
    func = define("def f(x):\n" + "    if x: x -= 1\n" * 30 + "    return x")
    found = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        found.append(convert(func, plain_hooks))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(made.__code__) for made in found}) == 1
    assert [made(40) for made in found] == [10] * 4


def test_time(capsys):
    """Prints what a conversion costs; machines differ, so nothing is asserted of it."""
    lines = ["def f(row, n):", "    total = 0"]
    for k in range(5):
        lines += [
            "    for x in row:",
            f"        if x < {k} and n:",
            "            continue",
            "        total += x if x > n else -x",
        ]
    func = define("\n".join([*lines, "    return total"]))
    start = time.perf_counter()
    made = converted(func)
    cold = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(10_000):
        convert(func, plain_hooks)
    known = (time.perf_counter() - start) / 10_000
    with capsys.disabled():
        print(f" [{cold * 1e3:.1f} ms for 23 lines, then {known * 1e6:.2f} µs] ", end="")
    assert made([1, 2, 3], 1) == func([1, 2, 3], 1)
