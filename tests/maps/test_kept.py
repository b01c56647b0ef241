"""A map that is called again runs its trace again, as long as it depends on nothing else."""

from __future__ import annotations

import abc

import numpy as np
import pytest

import lanewise as lw
from lanewise.api import faster, kept, mapping
from lanewise.api.contained import contained
from lanewise.runtime.race import Race

XS = np.arange(12.0).reshape(4, 3) - 5


@pytest.fixture
def traced(monkeypatch):
    """The functions that were traced, one after the other."""
    found = []
    trace = mapping._example

    def noted(func, *args):
        found.append(func)
        return trace(func, *args)

    monkeypatch.setattr(mapping, "_example", noted)
    kept.forget()
    return found


def norm(x):
    return x / np.sqrt((x * x).sum() + 1)


def same(got, want):
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_calls_alike_are_traced_once(traced):
    results = [lw.vmap(norm)(XS) for _ in range(3)]
    for result in results:
        same(result, np.stack([norm(x) for x in XS]))
    results[0][:] = 7  # nobody else's
    for xs in (XS[:1], XS[::-1], XS[:0:-2], np.asfortranarray(XS)):
        same(lw.vmap(norm)(xs), np.stack([norm(x) for x in xs]))
    assert len(traced) == 1
    mapped = lw.vmap(norm)
    mapped(XS), mapped(XS + 1)
    assert len(traced) == 1


def test_what_decides_a_trace(traced):
    for made, xs in (
        (lw.vmap(norm), XS),
        (lw.vmap(norm), XS[:, :2]),
        (lw.vmap(norm), XS.astype(np.float32)),
        (lw.vmap(norm, in_dims=1), XS),
        (lw.vmap(norm, out_dims=1), XS),
        (lw.vmap(norm, fastmath=True), XS),
        (lw.vmap(norm, chunk_size=2), XS),
    ):
        before = len(traced)
        first = made(xs)
        assert len(traced) == before + 1
        same(made(xs), first)
        assert len(traced) == before + 1
    assert lw.vmap(norm, out_dims=1)(XS).shape == (3, 4)
    assert lw.vmap(norm)(XS[:0]).shape == (0, 3)


def test_an_argument_that_all_get(traced):
    def f(x, w, b=1.0):
        w[0] += b
        return x @ w

    w = np.ones(3)
    for _ in range(2):
        same(lw.vmap(f, in_dims=(0, None))(XS, w), XS @ [2.0, 1, 1])
    same(lw.vmap(f, in_dims=(0, None))(XS, w + 1), XS @ [3.0, 2, 2])
    same(lw.vmap(f, in_dims=(0, 0))(XS, np.ones((4, 3))), XS @ [2.0, 1, 1])
    assert len(traced) == 2
    np.testing.assert_array_equal(w, 1)
    # A number is a constant of the trace.
    for number in (2.0, 3.0):
        same(lw.vmap(f, in_dims=(0, None, None))(XS, w, number), XS @ [1 + number, 1, 1])
    f.__defaults__ = (9.0,)
    same(lw.vmap(f, in_dims=(0, None))(XS, w), XS @ [10.0, 1, 1])


FACTOR, TABLE, WEIGHTS = 2.0, [1.0, 2.0, 3.0], np.array([1.0, 0.0, 1.0])


def helper(x):
    return x * FACTOR + TABLE[0]


def reaching(x):
    return helper(x) @ WEIGHTS


def test_what_the_function_reaches_changes(traced, monkeypatch):
    def check():
        for _ in range(2):
            same(lw.vmap(reaching)(XS), np.stack([reaching(x) for x in XS]))

    check()
    assert len(traced) == 1
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    check()
    TABLE[0] = 9.0
    check()
    WEIGHTS[1] = 5.0
    check()
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    check()
    assert len(traced) == 5
    monkeypatch.setattr(reaching, "__code__", norm.__code__)
    same(lw.vmap(reaching)(XS), np.stack([norm(x) for x in XS]))
    TABLE[0], WEIGHTS[1] = 1.0, 0.0


def test_closures(traced):
    for scale in (2.0, 2.0, 3.0):
        for _ in range(2):
            same(lw.vmap(lambda x: x * scale)(XS), XS * scale)  # noqa: B023
    count = 1.0

    def counted(x):
        return x * count

    for count in (4.0, 4.0, 5.0):
        same(lw.vmap(counted)(XS), XS * count)
    assert len(traced) == 4


@pytest.mark.parametrize("count", [10, 10_000])
def test_arrays_that_are_large_or_that_nobody_can_write_to(traced, count):
    table = np.arange(float(count))[::-1]
    f = lambda x: x + table[3] + table.sum()  # noqa: E731
    frozen = np.ones(1 << 20)
    frozen.flags.writeable = False
    g = lambda x: x * frozen[-1] + len(frozen)  # noqa: E731
    huge = np.ones(1 << 20)
    h = lambda x: x * huge[-1]  # noqa: E731
    for _ in range(2):
        same(lw.vmap(f)(XS), np.stack([f(x) for x in XS]))
        same(lw.vmap(g)(XS), np.stack([g(x) for x in XS]))
    assert len(traced) == 2
    for value in (np.nan, -0.0, 0.0):
        table[3] = value
        same(lw.vmap(f)(XS), np.stack([f(x) for x in XS]))
        huge[-1] = value
        same(lw.vmap(h)(XS), np.stack([h(x) for x in XS]))
    assert len(traced) == 8


def test_empty_batches_again():
    for mapped in (lw.vmap(norm), lw.vmap(norm, plain=True), lw.function(lw.vmap(norm))):
        for xs in (XS[:0], XS[:0], XS, XS[:0], XS):
            same(mapped(xs), np.stack([norm(x) for x in xs]) if len(xs) else np.zeros((0, 3)))


def test_errors_of_examples(traced):
    def pick(i):
        return WEIGHTS[i]

    lw.vmap(pick)(np.array([0, 1]))
    for _ in range(2):
        with pytest.raises(IndexError, match="in example 1"):
            lw.vmap(pick)(np.array([0, 7]))
    assert len(traced) == 1


def test_lengths_that_need_more_room(traced):
    table = np.arange(6.0)

    def window(i):
        return table[i : i + 4].sum()

    for numbers in ([0, 1], [1, 5], [0, 1], [5, 4]):
        same(lw.vmap(window)(np.array(numbers)), np.stack([window(i) for i in numbers]))


def test_what_is_not_kept(traced):
    log = []

    def logs(x):
        log.append(1)
        return x

    before = len(traced)
    for _ in range(3):
        lw.vmap(logs)(XS)
    assert len(traced) == before + 3
    assert len(log) == 12


@pytest.mark.parametrize("way", ["traced", "plain", "either"])
def test_what_tells_is_kept(way, traced, capsys, monkeypatch):
    def prints(x):
        if x[0] > 0:
            print("large", x[1])
        return x

    if way != "either":
        monkeypatch.setattr(Race, "is_ahead", lambda self: way == "plain")
    before = len(traced)
    for _ in range(8):
        np.testing.assert_array_equal(lw.vmap(prints)(XS), XS)
        told = capsys.readouterr().out
        [prints(x) for x in XS]
        assert told == capsys.readouterr().out
    assert len(traced) == before + 1


class Cell:
    def __init__(self, value):
        self.value, self.after = value, None


class Linked(abc.ABC):
    @abc.abstractmethod
    def linked(self): ...


class Table(Linked):
    def __init__(self, x):
        self.count = len(x)
        self.rows = [[v for _ in range(self.count)] for v in x]
        self.cells = [Cell(v) for v in x]
        self.first = self.cells[0]

    def linked(self):
        self.first.after = self.cells[1]
        self.first.after.value += 1.0
        self.cells[2].value *= 2.0
        return self.first.after.value + self.cells[2].value + self.rows[-1][0]


def of_objects(x):
    return Table(x).linked()


def of_shared_variables(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v

    for v in x:
        add(v)
    return total, [total := total + v for v in x][-1]


@pytest.mark.parametrize("func", [of_objects, of_shared_variables])
def test_what_a_call_makes_may_change(func, traced):
    for _ in range(3):
        got = lw.vmap(func)(XS)
        np.testing.assert_allclose(np.transpose(got), [func(x) for x in XS])
    assert len(traced) == 1


class Counted:
    count = 0


def test_what_is_outside_may_not_change(traced):
    held = Cell(1.0)

    def of_a_class(x):
        Counted.count += 1
        return x.sum()

    def of_its_own_class(x):
        counted = Counted()
        counted.__class__.count += 1
        return x.sum()

    def of_an_object(x):
        held.value = 2.0
        return x.sum() * held.value

    for func in (of_a_class, of_its_own_class, of_an_object):
        assert contained([func], with_data=True) is None


def test_one_that_is_explained(traced, capsys):
    for _ in range(2):
        lw.vmap(norm)(XS)
        assert "vmap of norm" in str(lw.explain(lw.vmap(norm), XS))
    assert len(traced) == 3


def test_explain_says_that_tracing_took_too_long(traced, capsys, monkeypatch):
    monkeypatch.delenv("LANEWISE_STRICT", raising=False)
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    monkeypatch.setattr(faster, "FIRST", 1)
    monkeypatch.setattr(faster, "PATIENCE", 10**15)
    same(lw.vmap(norm)(XS), np.stack([norm(x) for x in XS]))
    lw.explain(lw.vmap(norm), XS)
    told = "the next call is plain Python: tracing it took more than"
    assert told in capsys.readouterr().out
    kept.forget()
    lw.explain(lw.vmap(norm), XS)
    assert told not in capsys.readouterr().out


def test_it_is_forgotten(traced):
    lw.vmap(norm)(XS)
    lw.clear_cache()
    lw.vmap(norm)(XS)
    assert len(traced) == 2
