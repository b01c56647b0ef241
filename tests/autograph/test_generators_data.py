"""Branches and loops in generators that data decide, where no ``yield`` stands in them."""

import contextlib

import numpy as np
import pytest

import lanewise as lw

XS = np.array([0.0, 1.0, 2.0, -1.0, 3.0])


def gen_1(x):
    for i in range(4):
        y = x * i if x > i else -x
        yield y


def p1(x):
    return sum(gen_1(x))


def p2(x):
    s = 0.0
    for v in gen_1(x):
        s += v * 2
    return s


def p3(x):
    return max(gen_1(x))


def p4(x):
    return np.array(list(gen_1(x)))


def gen_2(x):
    t = x
    while t < 10:
        t = abs(t) * 2 + 3
    yield t
    for _ in range(20):
        t = t + 1 if t > x else t
        if t > 5:
            t -= 1
    yield t
    try:
        z = 1 / int(x)
    except ZeroDivisionError:
        z = -1.0
    yield z
    assert x > -100
    yield from gen_1(t)


def p5(x):
    return sum(gen_2(x))


def p6(x):
    return np.array([v + 1 for v in gen_2(x)])


def gen_3(x):
    n = 0
    for i in range(3):
        if i == 1:
            continue
        for j in range(3):
            if x < j:
                break
            n += 1
        else:
            n += 10
        yield n
        if i == 5:
            return
    try:
        yield n * 2
    finally:
        print("bye")


def p7(x):
    return sum(gen_3(x))


def gen_4(x):
    k = 0
    while True:
        r = (2.0 if x > k + 1 else 1.0) if x > k else 0.0
        k += 1
        if k > 3:
            break
        yield r
    yield r


def p8(x):
    return sum(gen_4(x))


def gen_5(x):
    m = []
    for i in range(3):
        if x > i:
            m.append(x)
        else:
            m.append(0.0)
        yield sum(m)


def p9(x):
    return sum(gen_5(x))


def gen_6(x):
    a = np.zeros(3)
    for i in range(3):
        if x > i:
            a[i] = x
        yield a.sum()
    match int(x):
        case 0:
            q = 1.0
        case 1:
            q = 2.0
        case _:
            q = 3.0
    yield q


def p10(x):
    return sum(gen_6(x))


def gen_7(x):
    last = None
    for v in (x, x + 1, x - 1):
        if last is None or v > last:
            last = v
        yield last


def p11(x):
    return sum(gen_7(x))


def gen_8(x):
    with contextlib.suppress(ZeroDivisionError):
        x = 1 / int(x)
    yield x


def p12(x):
    return sum(gen_8(x))


def gen_9(x):
    y = yield x
    if x > 0:
        y = y + 1
    yield y


def p13(x):
    g = gen_9(x)
    a = next(g)
    b = g.send(3.0)
    return a + b


@contextlib.contextmanager
def cm(x):
    y = x if x > 0 else -x
    yield y
    if x > 1:
        print("big", x)
    else:
        print("small")


def p14(x):
    with cm(x) as y:
        z = y * 2
    return z


def gen_10(x):
    for i in range(3):
        yield x * i if x > 1 else x


def p15(x):
    return sum(gen_10(x))


def gen_11(x):
    e = 0.0
    for i in range(3):
        try:
            if x > i:
                raise ValueError(i)
            e += 1
        except ValueError:
            e -= 1
        yield e


def p16(x):
    return sum(gen_11(x))


def p17(x):
    def local(n):
        nonlocal total
        for i in range(n):
            if x > i:
                total += 1
            else:
                total -= 1
            yield total

    total = 0.0
    return sum(local(4)) + total


def gen_12(x):
    def inner(v):
        if v > 0:
            return v
        return -v

    s = 0.0
    for i in range(3):
        s += inner(x - i)
        yield s


def p18(x):
    return sum(gen_12(x))


def gen_13(x):
    if x > 100:
        pass
    del_me = 3.0
    del del_me
    for _i in range(2):
        w = 1.0 if x > 0 else 2.0
        yield w
    for _i in range(2):
        t = sum(abs(x - k) for k in range(3) if x > k)
        yield t


def p19(x):
    return sum(gen_13(x))


def gen_14(x):
    i = 0
    while i < 20:
        y = i * x if x > i else 1.0
        i += 1
        yield y


def p20(x):
    s = 0.0
    for k, v in enumerate(gen_14(x)):
        if v > s:
            s = v
        if k > 10:
            break
    return s


PROGRAMS = [
    p1,
    p2,
    p3,
    p4,
    p5,
    p6,
    p7,
    p8,
    p9,
    p10,
    p11,
    p12,
    p13,
    p14,
    p15,
    p16,
    p17,
    p18,
    p19,
    p20,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_the_loop(f, capsys):
    wanted = np.stack([f(x) for x in XS])
    said = capsys.readouterr().out
    found = lw.vmap(f)(XS)
    assert capsys.readouterr().out == said
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert found.dtype == wanted.dtype
    traced = lw.function(f)
    np.testing.assert_allclose([traced(x) for x in XS], wanted, rtol=1e-14)
    twice = lw.vmap(lw.vmap(f))(np.stack([XS, XS[::-1]]))[0]
    np.testing.assert_allclose(twice, wanted, rtol=1e-14)


def test_derivatives():
    def powers(x):
        for i in range(1, 4):
            y = x**i if x > 0 else -x
            if x > 1:
                y = y * i
            yield y

    found = lw.vmap(lw.grad(lambda x: sum(powers(x))))(np.array([-1.0, 0.5, 2.0]))
    np.testing.assert_allclose(found, [-3.0, 1 + 1 + 0.75, 1 + 8 + 36])


def test_a_variable_without_a_value():
    def f(x):
        def made():
            if x > 0:
                y = x
            yield y

        return sum(made())

    assert lw.vmap(f)(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    with pytest.raises(UnboundLocalError, match="'y'"):
        lw.vmap(f)(np.array([1.0, -2.0]))


def test_a_yield_in_a_try_statement_that_data_decide_is_refused():
    def left(x):
        for i in range(3):
            if x > i:
                break
            try:
                yield x
            finally:
                x = x + 1

    def chosen(x):
        got = [(yield x)] if x > 0 else []
        yield -x + len(got)

    for generator in (left, chosen):
        with pytest.raises(lw.ConcretizationError, match="bool"):
            lw.vmap(lambda x, generator=generator: sum(generator(x)))(XS)
