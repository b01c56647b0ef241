"""Lists, dicts and attributes that a ``try`` and its handlers change for different examples."""

from __future__ import annotations

import collections
import math
from collections import deque

import numpy as np
import optree
import pytest

import lanewise as lw

XS = np.array([0.0, 1.0, 2.0, -1.0, 3.0])
LinAlgError = np.linalg.LinAlgError


def a1(x):
    out = []
    a = np.array([[x, 1.0], [1.0, x]])
    try:
        out.append(np.linalg.inv(a)[0, 0])
    except LinAlgError:
        out.append(0.0)
    return np.array(out)


def a2(x):
    out = []
    for k in range(3):
        try:
            out.append(1 / int(x + k))
        except ZeroDivisionError:
            out.append(-1.0)
    return np.array(out)


def a3(x):
    out = []
    for k in range(30):
        try:
            out.append(1 / int(x + k))
        except ZeroDivisionError:
            out.append(-1.0)
    return np.array(out)


def a4(x):
    out = []
    try:
        y = 1 / int(x)
    except ZeroDivisionError:
        out.append(-1.0)
    else:
        out.append(y)
    return np.array(out)


def a5(x):
    out = []
    try:
        out.append(1.0)
        out.append(1 / int(x))
    except ZeroDivisionError:
        out.append(-1.0)
    finally:
        out.append(5.0)
    return np.array(out)


def a6(x):
    out = []
    try:
        out.append(1.0)
        y = 1 / int(x)
        out.append(y)
    except ZeroDivisionError:
        out.append(-1.0)
    return np.array(out)


def a7(x):
    out = []
    try:
        try:
            out.append(1 / int(x))
        except ZeroDivisionError:
            out.append(math.log(x - 1))
    except ValueError:
        out.append(7.0)
    return np.array(out)


def a8(x):
    d = {}
    try:
        d["a"] = 1 / int(x)
    except ZeroDivisionError:
        d["a"] = 0.0
    return d["a"]


def a9(x):
    d = {}
    try:
        d["a"] = 1 / int(x)
        d["b"] = 2.0
    except ZeroDivisionError:
        d["a"] = 0.0
        d["b"] = 1.0
    return d


def a10(x):
    d = collections.deque()
    try:
        d.append(1 / int(x))
    except ZeroDivisionError:
        d.appendleft(0.0)
    return np.array(list(d))


def helper(out, x):
    out.append(1 / int(x))


def a11(x):
    out = []
    try:
        helper(out, x)
    except ZeroDivisionError:
        out.append(0.0)
    return np.array(out)


def a12(x):
    out = []
    try:
        out.append(x)
        if x > 1:
            raise ValueError("a")
        out.append(2 * x)
    except ValueError:
        out.append(3 * x)
    return sum(out)


def a13(x):
    out = [1.0]
    try:
        out[0] = 1 / int(x)
    except ZeroDivisionError:
        out[0] = 5.0
    return out[0]


def a14(x):
    out = []
    try:
        for k in range(3):
            out.append(1 / int(x - k))
    except ZeroDivisionError:
        while len(out) < 3:
            out.append(0.0)
    return np.array(out)


def a17(x):
    out = []
    try:
        out.append(x)
        out.append(1 / int(x))
    except ZeroDivisionError:
        out.pop()
        out.append(-1.0)
        out.append(-2.0)
    out.append(5.0)
    return np.array(out)


def a19(x):
    st = [x, 2 * x]
    try:
        st.append(1 / int(x))
        st[0] = 7.0
    except ZeroDivisionError:
        st.insert(0, 3.0)
    return np.array(st)


def a20(x):
    class A:
        pass

    a = A()
    a.v = []
    try:
        a.v.append(1 / int(x))
    except ZeroDivisionError as e:
        a.v.append(float(len(str(e))))
    return a.v[0]


def a21(x):
    s = set()
    try:
        s.add(1)
        y = 1 / int(x)
        s.add(2)
    except ZeroDivisionError:
        s.add(2)
        y = 0.0
    return y + len(s)


def a22(x):
    out = []
    try:
        y = 1 / int(x)
        out.append(y)
    except ZeroDivisionError:
        out.append(0.0)
    try:
        out.append(out[-1] + math.log(x))
    except ValueError:
        out.append(0.0)
    return np.array(out)


def a23(x):
    rows = []
    try:
        rows.append([x, 1 / int(x)])
    except ZeroDivisionError:
        rows.append([x, 0.0])
    return np.array(rows)


def a24(x):
    rows = [[], []]
    try:
        rows[0].append(x)
        rows[1].append(1 / int(x))
    except ZeroDivisionError:
        rows[1].append(0.0)
    return np.array(rows)


def a25(x):
    out = []
    try:
        out += [x, 1 / int(x)]
    except ZeroDivisionError:
        out += [0.0, 1.0]
    return np.array(out)


def a26(x):
    d = collections.defaultdict(list)
    try:
        d["a"].append(1 / int(x))
    except ZeroDivisionError:
        d["a"].append(0.0)
    return np.array(d["a"])


def a27(x):
    d = {}
    for k in range(3):
        try:
            d[k] = 1 / int(x - k)
        except ZeroDivisionError:
            d[k] = np.nan
    return sum(d.values())


def a28(x):
    out = []
    i = 0
    while len(out) < 3:
        try:
            out.append(1 / int(x - i))
        except ZeroDivisionError:
            out.append(0.0)
        i += 1
    return np.array(out)


def a29(x):
    def put(v):
        try:
            out.append(1 / v)
        except ZeroDivisionError:
            out.append(0.0)
            return 1
        return 0

    out = []
    n = 0
    for k in range(3):
        n += put(int(x) - k)
    return np.array(out) * n


def b1(x):
    try:
        v = []
        for k in range(3):
            v.append(1 / int(x - k))
    except ZeroDivisionError:
        v = [0.0, 1.0, 2.0]
    return np.array(v)


def b2(x):
    try:
        v = []
        for k in range(3):
            v.append(1 / int(x - k))
        r = sum(v)
    except ZeroDivisionError:
        r = -1.0
    return r


def b3(x):
    try:
        v = []
        for k in range(3):
            v.append(1 / int(x - k))
        r = sum(v)
    except ZeroDivisionError:
        v.append(2.0)
        r = -1.0
    return r


def b4(x):
    try:
        v = [x]
        w = [v]
        v.append(1 / int(x))
    except ZeroDivisionError:
        v.append(2.0)
        w.append(v[-1:])
        w.pop()
    return np.array(w) + sum(v)


class P:
    def __init__(self):
        self.items = []
        self.stage = "start"

    def add(self, v):
        self.items.append(v)


def b5(x):
    p = P()
    try:
        p.stage = "one"
        p.add(1 / int(x))
        p.stage = "two"
        p.add(math.log(x))
        p.stage = "three"
    except (ZeroDivisionError, ValueError):
        if p.stage == "one":
            p.add(7.0)
            p.add(8.0)
        else:
            p.add(9.0)
        p.stage = "three"
    return np.array(p.items)


def b6(x):
    stage = "a"
    y = 0.0
    try:
        y = 1 / int(x)
        stage = "b"
        y += math.sqrt(x - 1.5)
    except (ZeroDivisionError, ValueError):
        y = 10.0 if stage == "a" else 20.0 + y
    return y


def b7(x):
    res = {}
    for name, fn in (
        ("inv", lambda v: 1 / int(v)),
        ("log", math.log),
        ("sqrt", lambda v: math.sqrt(v - 1)),
    ):
        try:
            res[name] = fn(x)
        except ZeroDivisionError:
            res[name] = -1.0
        except ValueError:
            res[name] = -2.0
    return res


def b9(x):
    out = []
    for i in range(3):
        try:
            if x + i > 2:
                raise KeyError(i)
            out.append(x * i)
        except KeyError:
            out.append(-x)
        finally:
            out.append(0.5)
    return np.array(out)


def b10(x):
    out = []
    i = 0
    while True:
        try:
            out.append(1 / int(x - i))
            i += 1
            if i >= 3:
                break
        except ZeroDivisionError:
            out.append(0.0)
            i += 1
            if i >= 3:
                break
    return np.array(out)


def b11(x):
    st = []
    try:
        if x > 1:
            st.append(1.0)
            raise ValueError
        else:
            st.append(2.0)
            st.append(4.0)
    except ValueError:
        st.append(3.0)
    return np.array(st)


def b12(x):
    st = []
    try:
        if x > 1:
            raise ValueError
        elif x > 0:
            st.append(2.0)
            raise KeyError
        else:
            st.append(2.0)
            st.append(4.0)
    except ValueError:
        st.append(3.0)
        st.append(x)
    except KeyError:
        st.insert(0, x)
    return np.array(st)


def b13(x):
    a = np.zeros(3)
    rows = [a]
    try:
        a[0] = x
        rows.append(a * 2)
        a[1] = 1 / int(x)
        rows[0][2] = 5.0
    except ZeroDivisionError:
        rows[0] += 1.0
        rows[1][0] = 9.0
    a[0] += 100
    return np.stack(rows)


def b15(x):
    out = [0.0] * 4
    n = 0
    for k in range(4):
        try:
            out[n] = 1 / int(x - k)
            n += 1
        except ZeroDivisionError:
            pass
    return np.array(out) * n


def b16(x):
    n = 0

    def inc(v):
        nonlocal n
        n = [v]
        n = [v, 1 / int(v)]

    try:
        inc(x)
    except ZeroDivisionError:
        n = [n[0], 3.0]
    return np.array(n)


def b17(x):

    q = deque(maxlen=3)
    for k in range(5):
        try:
            q.append(1 / int(x - k))
        except ZeroDivisionError:
            q.append(0.0)
    return np.array(list(q))


def b18(x):
    q = [x, x + 1, x + 2]
    try:
        while q:
            v = q.pop()
            z = 1 / int(v)
    except ZeroDivisionError:
        z = -5.0
        q.clear()
    return z + len(q)


def b19(x):
    log = []
    try:
        try:
            log.append(x)
            y = 1 / int(x)
        finally:
            log.append(2.0)
        log.append(y)
    except ZeroDivisionError:
        log.append(-3.0)
    return np.array(log)


def b20(x):
    out = []
    try:
        out.extend(np.linalg.solve(np.array([[x, 1.0], [1.0, 1.0]]), np.array([1.0, x])))
    except np.linalg.LinAlgError:
        out.extend([np.nan] * 2)
    return np.array(out)


def b21(x):
    d = {"a": 1.0, "b": 2.0}
    try:
        del d["a"]
        y = 1 / int(x)
        d["c"] = y
    except ZeroDivisionError:
        d["c"] = 0.0
    return d["b"] + d["c"] + len(d)


class Box:
    pass


def k1(x):
    rows = []
    try:
        v = []
        rows.append(v)
        v.append(1 / int(x))
    except ZeroDivisionError:
        v = [1.0]
        rows[0].append(5.0)
    return np.array(rows)


def k4(x):
    Box()
    d = collections.defaultdict(list)
    try:
        d["a"].append(1 / int(x))
    except ZeroDivisionError:
        d["a"].append(0.0)
    return np.array(d["a"])


def k6(x):
    held = None

    def keep(v):
        nonlocal held
        held = v

    try:
        v = []
        keep(v)
        v.append(1 / int(x))
    except ZeroDivisionError:
        held.append(-1.0)
    return np.array(held)


def k9(x):
    try:
        v = [1.0]

        def f():
            return v[0]

        v[0] = 1 / int(x)
    except ZeroDivisionError:
        pass
    return f()


def k10(x):
    out = []
    for i in range(3):
        try:
            v = [x]
            v.append(1 / int(x - i))
            out.append(v)
        except ZeroDivisionError:
            out.append([0.0, 0.0])
    return np.array(out)


def k11(x):
    def f(v):
        w = []
        w.append(v)
        w.append(1 / int(v))
        return w

    out = []
    for i in range(3):
        try:
            out.append(sum(f(x - i)))
        except ZeroDivisionError:
            out.append(0.0)
    return np.array(out)


def k12(x):
    # each with own result
    rs = []
    for fn in (lambda v: 1 / int(v), lambda v: math.sqrt(v), lambda v: [1.0, 2.0][int(v)]):
        try:
            r = fn(x)
        except (ZeroDivisionError, ValueError):
            r = -1.0
        except IndexError:
            r = -2.0
        else:
            r = r * 2
        rs.append(r)
    return rs[0] + rs[1] + rs[2]


def k13(x):
    stack = [x, 2.0, x]
    try:
        while True:
            a = stack.pop()
            stack[-1] = stack[-1] / int(a)
            if len(stack) == 1:
                break
    except ZeroDivisionError:
        del stack[1:]
        stack[0] = 77.0
    return stack[0]


def k14(x):
    names = []
    try:
        names.append("a")
        y = 1 / int(x)
        names.append("b")
    except ZeroDivisionError:
        names.append("b")
        y = 0.0
    return y + len(names)


def k17(x):
    counts = {"ok": 0, "bad": 0}
    for i in range(20):
        try:
            1 / int(x - i)
            counts["ok"] += 1
        except ZeroDivisionError:
            counts["bad"] += 1
    return counts["ok"] - 10 * counts["bad"]


def k19(x):
    best = None
    tried = []
    for k in (0.0, 1.0, 2.0):
        try:
            v = math.log(x - k)
        except ValueError:
            tried.append(k)
            v = None
        else:
            tried.append(-k)
        if v is not None:
            best = v
    return (0.0 if best is None else best) + sum(tried)


def k20(x):
    out = np.zeros(3)
    idx = []
    try:
        for i in range(3):
            out[i] = 1 / int(x - i)
            idx.append(i)
    except ZeroDivisionError:
        out[len(idx) :] = -1.0
        while len(idx) < 3:
            idx.append(9)
    return out + np.array(idx)


def r2(x):
    d = {}
    try:
        if x > 1:
            d["a"] = 2 * x
            raise ValueError
        d["a"] = 1.0
        d["a"] = 2.0
        y = 1 / int(x)
        d["a"] = 3.0 + y
    except (ValueError, ZeroDivisionError):
        d["b"] = 1.0
    else:
        d["b"] = 2.0
    return d


def r3(x):
    out = [x]
    try:
        if x > 1:
            out.append(2 * x)
            raise ValueError
        out.append(1.0)
        out[1] = 7.0 + x
        1 / int(x)
        out[0] = 9.0
    except (ZeroDivisionError, ValueError):
        out[0] += 100
    return np.array(out)


PROGRAMS = [
    r2,
    r3,
    a1,
    a2,
    a3,
    a4,
    a5,
    a6,
    a7,
    a8,
    a9,
    a10,
    a11,
    a12,
    a13,
    a14,
    a17,
    a19,
    a20,
    a21,
    a22,
    a23,
    a24,
    a25,
    a26,
    a27,
    a28,
    a29,
    b1,
    b2,
    b3,
    b4,
    b5,
    b6,
    b7,
    b9,
    b10,
    b11,
    b12,
    b13,
    b15,
    b16,
    b17,
    b18,
    b19,
    b20,
    b21,
    k1,
    k4,
    k6,
    k9,
    k10,
    k11,
    k12,
    k13,
    k14,
    k17,
    k19,
    k20,
]


def stack(results):
    return optree.tree_map(lambda *leaves: np.stack(leaves), *results)


def as_function(f, xs):
    traced = lw.function(f)
    return stack([traced(x) for x in xs])


def nested(f, xs):
    found = lw.vmap(lw.vmap(f))(np.stack([xs, xs[::-1]]))
    return optree.tree_map(lambda leaf: leaf[0], found)


MODES = [lambda f, xs: lw.vmap(f)(xs), as_function, nested]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("f", "mode"),
    [(f, mode) for i, f in enumerate(PROGRAMS) for mode in (MODES[0], MODES[1 + i % 2])],
)
def test_as_the_loop(f, mode):
    wanted = stack([f(x) for x in XS])
    found = mode(f, XS)
    for one, other in zip(optree.tree_leaves(found), optree.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
        assert one.dtype == other.dtype


def test_lengths_that_differ():
    def skips(x):
        out = []
        for k in range(3):
            try:
                out.append(1 / int(x - k))
            except ZeroDivisionError:
                continue
        return sum(out)

    def may_be_seen(x):
        rows = []
        try:
            row = []
            rows.append(row)
            row.append(1 / int(x))
        except ZeroDivisionError:
            row = [1.0]
        return len(rows[0]) + row[0]

    for f in (skips, may_be_seen):
        assert lw.vmap(f)(XS).tolist() == [f(x) for x in XS]


def test_collecting():
    def f(x):
        out = []
        out.append(1 / int(x))
        out.append(math.log(x))
        try:
            out.append([1.0, 2.0, 3.0][int(x)])
        except IndexError:
            out.append(-1.0)
        return np.array(out)

    found, failures = lw.vmap(f, on_error="collect")(XS)
    assert {k: type(v) for k, v in failures.items()} == {0: ZeroDivisionError, 3: ValueError}
    good = [1, 2, 4]
    np.testing.assert_allclose(found[good], [f(x) for x in XS[good]])
    assert np.isnan(found[[0, 3]]).all()


def test_a_list_outside():
    seen = []

    def f(x):
        try:
            seen.append(1 / int(x))
        except ZeroDivisionError:
            seen.append(0.0)
        return x

    for mapped in (lw.vmap(f), lambda xs: lw.map_fn(f, xs)):
        seen.clear()
        mapped(XS)
        assert seen == [0.0, 1.0, 0.5, -1.0, 1 / 3]


def test_derivatives():
    def f(x):
        out = []
        for k in range(3):
            try:
                if x < k:
                    raise ValueError
                out.append(x**2 * k)
            except ValueError:
                out.append(3 * x)
        return sum(out)

    xs = np.array([-0.5, 0.5, 1.5, 2.5])
    assert lw.vmap(lw.grad(f))(xs).tolist() == [9.0, 6.0, 6.0, 15.0]
    assert lw.grad(lambda xs: lw.vmap(f)(xs).sum())(xs).tolist() == [9.0, 6.0, 6.0, 15.0]


def test_a_default_that_is_made_in_a_branch():
    def f(x):
        found = collections.defaultdict(list)
        if x > 0:
            found["a"].append(x)
        else:
            found["a"].append(0.0)
        found["b"].append(2 * x)
        return np.array(found["a"] + found["b"])

    np.testing.assert_array_equal(lw.vmap(f)(XS), [f(x) for x in XS])
