"""Effects of generators, context managers and special methods happen for each example."""

import contextlib
import io
import sys

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, 4.0, 8.0])


def gen(x):
    print("start", x)
    for i in range(3):
        print("yield", i, x)
        yield (x * i)
    print("end")


def gen2(x):
    print("plain start")
    yield x
    print("plain end")


def generator(x):
    s = 0.0
    for v in gen(x):
        s += v
    return s


def summed(x):
    return sum(gen2(x))


def listed(x):
    return list(gen2(x))[-1]


def in_a_branch(x):
    if x > 2:
        for v in gen2(x):
            x = v + 1
    return x


@contextlib.contextmanager
def cm(x):
    print("enter")
    yield (x + 1)
    print("exit", x)


@contextlib.contextmanager
def cm2():
    print("enter")
    try:
        yield 1
    finally:
        print("exit")


def managed(x):
    with cm(x) as y:
        print("in")
        return y


def managed_with_finally(x):
    with cm2() as y:
        print("in")
    return x + y


def managed_in_a_branch(x):
    if x > 2:
        with cm2() as y:
            x = x + y
    return x


class M:
    def __enter__(self):
        print("M enter")
        return 1

    def __exit__(self, *a):
        print("M exit")


def entered(x):
    with M() as y:
        x = x + y
    return x


def entered_in_a_branch(x):
    if x > 2:
        with M() as y:
            x = x + y
    return x


def next_only(x):
    g = gen2(x)
    y = next(g)
    return y


def expression(x):
    g = (print("ge") or v for v in [1, 2])
    return x + sum(g)


def expression_in_a_branch(x):
    if x > 2:
        x = x + sum(print("ge") or v for v in [1, 2])
    return x


class It:
    def __init__(self, x):
        self.x = x
        self.n = 0

    def __iter__(self):
        print("iter")
        return self

    def __next__(self):
        print("next")
        if self.n > 1:
            raise StopIteration
        self.n += 1
        return self.x


def iterator(x):
    s = 0.0
    for v in It(x):
        s += v
    return s


def genlog(x):
    sys.stdout.write("w\n")
    yield x


def writing(x):
    for v in genlog(x):
        x = x + v
    return x


def genfrom(x):
    yield from gen2(x)


def from_another(x):
    for v in genfrom(x):
        x = x + v
    return x


class P:
    @property
    def p(self):
        print("prop")
        return 1

    def __call__(self, x):
        print("called")
        return x

    def __len__(self):
        print("len")
        return 3

    def __getitem__(self, i):
        print("item")
        return 1.0

    def __contains__(self, i):
        print("contains")
        return True

    def __add__(self, o):
        print("add")
        return 1.0

    def __bool__(self):
        print("bool")
        return True

    def __str__(self):
        print("str")
        return "s"


def case_l(x):
    return x + P().p


def case_l2(x):
    return P()(x)


def case_l3(x):
    return x + len(P())


def case_l4(x):
    return x + P()[0]


def case_l5(x):
    return x + (3 in P())


def case_l6(x):
    return x + (P() + 1)


def case_l7(x):
    if P():
        x = x + 1
    return x


def case_l8(x):
    return x + len(str(P()))


def case_l9(x):
    return x + len(f"{P()}")


def case_l10(x):
    return x + sorted([3, 1], key=lambda v: print("key") or v)[0]


def case_l11(x):
    return x + list(map(lambda v: print("map") or v, [1, 2]))[-1]


def case_l12(x):
    return x + [print("lc") or v for v in [1, 2]][-1]


def case_l13(x):
    return np.apply_along_axis(lambda v: print("aaa") or v.sum(), 0, np.array([x, x]))


class Q:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"Q of {self.x}"

    def __repr__(self):
        return "Q(%s)" % self.x  # noqa: UP031

    def __format__(self, spec):
        return f"<{self.x:.2f}>"


class QB:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        print("b")
        return True

    def __iter__(self):
        print("start")
        yield self.x
        print("mid")
        yield (2 * self.x)


def case_m(x):
    print(Q(x))
    print([Q(x)])
    print(f"{Q(x)} {Q(x)!r} {Q(x)!s}")
    print(str(Q(x)), repr(Q(x)))
    return x


def case_m2(x):
    if x > 2:
        print(Q(x))
    return x


def case_m3(x):
    s = str(Q(x))
    print(s)
    return x


def case_m4(x):
    for v in QB(x):
        x = x + v
        print("body", v)
    if QB(x):
        x = x + 1
    return x


def case_m6(x):
    for _v in [1, 2]:
        for w in QB(x):
            if w > 7:
                print("big")
            x = x + w
    return x


def case_m7(x):
    if x > 1:
        for w in QB(x):
            x = x + w
    return x


def case_m8(x):
    a, b = QB(x)
    return a + b


def case_m9(x):
    return np.array([*QB(x)]).sum()


def case_m10(x):
    for i, w in enumerate(QB(x)):
        x = x + i * w
    for v, w in zip(QB(x), gen2(x), strict=False):
        x = x + v * w
    return x


def case_m11(x):

    def inner():
        print("inner", x)
        yield x
        try:
            yield 2.0
        finally:
            print("fin")

    return sum(v for v in inner())


def gr(x):
    y = yield x
    print("got", y)
    yield (y + 1)


def case_m13(x):
    g = gr(x)
    a = next(g)
    b = g.send(a * 2)
    return a + b


def genarr(x):
    out = np.zeros(2)
    for i in range(2):
        out[i] = x * i
        yield out


def case_m14(x):
    for o in genarr(x):
        x = x + o[1]
    return x + o.sum()


@contextlib.contextmanager
def timer(name):
    print("begin", name)
    try:
        yield
    except ValueError as e:
        print("swallowed", e)
    else:
        print("else")
    finally:
        print("finally")


def case_m15(x):
    with timer("a"), timer("b"):
        x = x + 1
    return x


def case_m16(x):
    while x < 10:
        with timer("w"):
            x = x * 2
    return x


def case_m17(x):
    for _ in range(30):
        for v in gen2(x):
            x = x + v * 1e-09
    return x


class Ctx:
    @contextlib.contextmanager
    def scope(self, x):
        print("in scope", x)
        yield self
        print("out scope")


def case_m20(x):
    with Ctx().scope(x):
        x = x + 1
    return x


def case_m21(x):
    return next(iter(sorted(gen2(x), key=lambda v: 1)))


def case_m22(x):
    return x + len(list(filter(lambda v: print("f") or True, [1, 2])))


def case_m23(x):
    if x > 2:
        return sum(gen2(x))
    return x


def leaving(x):
    for v in QB(x):
        if v > 5:
            break
        x = x + v
    return x


def branching(x):
    if x > 2:
        print("big")
        yield x
    yield 1.0


def choosing(x):
    return sum(branching(x))


CASES = [
    generator,
    summed,
    listed,
    in_a_branch,
    managed,
    managed_with_finally,
    managed_in_a_branch,
    entered,
    entered_in_a_branch,
    next_only,
    expression,
    expression_in_a_branch,
    iterator,
    writing,
    from_another,
    case_l,
    case_l2,
    case_l3,
    case_l4,
    case_l5,
    case_l6,
    case_l7,
    case_l8,
    case_l9,
    case_l10,
    case_l11,
    case_l12,
    case_l13,
    case_m,
    case_m2,
    case_m3,
    case_m4,
    case_m6,
    case_m7,
    case_m8,
    case_m9,
    case_m10,
    case_m11,
    case_m13,
    case_m14,
    case_m15,
    case_m16,
    case_m17,
    case_m20,
    case_m21,
    case_m22,
    case_m23,
    leaving,
    choosing,
]


def outcome(f, *args):
    """What a call gives, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = f(*args)
    return result, out.getvalue()


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_effects_happen_for_each_example(f, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    want, text = outcome(lambda xs: np.stack([f(x) for x in xs]), XS)
    got, printed = outcome(lw.vmap(f), XS)
    assert printed == text
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("f", CASES[:8], ids=lambda f: f.__name__)
def test_effects_in_nested_maps(f):
    grid = np.stack([XS, XS[::-1]])
    want, text = outcome(lambda g: np.stack([np.stack([f(x) for x in xs]) for xs in g]), grid)
    got, printed = outcome(lw.vmap(lw.vmap(f)), grid)
    assert printed == text
    np.testing.assert_array_equal(got, want)


def closed_early(x):
    def numbers():
        try:
            yield x
            yield x + 1
        finally:
            print("closed", x)

    return next(iter(numbers()))


def test_a_generator_that_is_left_closes_for_each_example():
    want, text = outcome(lambda xs: np.stack([closed_early(x) for x in xs]), XS)
    got, printed = outcome(lw.vmap(closed_early), XS)
    assert printed == text
    np.testing.assert_array_equal(got, want)


def test_gradients_pass_through_generators():
    def powers(x):
        y = 1.0
        for _ in range(3):
            y = y * x
            yield y

    got = lw.vmap(lw.grad(lambda x: sum(powers(x))))(XS)
    np.testing.assert_allclose(got, 1 + 2 * XS + 3 * XS**2, rtol=1e-14)


def test_converted_generators_keep_their_kind():
    def f(x):
        made = case_generator(x)
        assert made.gi_frame is not None
        values = [*made]
        assert made.gi_frame is None
        return values[0]

    def case_generator(x):
        """Says something."""
        received = yield x
        assert received is None
        return 3

    np.testing.assert_array_equal(lw.vmap(f)(XS), XS)
