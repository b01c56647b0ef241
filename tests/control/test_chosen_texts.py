"""Texts, members of enumerations and functions that data choose: states, kinds, keys, laws."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import ConcretizationError, ControlFlowError, UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(0).normal(size=(40, 4))


class State(Enum):
    A = 1
    B = 2


class Mode(StrEnum):
    IDLE = "idle"
    RUN = "run"


class Level(IntEnum):
    LOW = 1
    MID = 2


@dataclass
class Device:
    mode: str = "off"
    count: int = 0


def chosen(x):
    s = "a" if x[0] > 0 else "b"
    return 1.0 if s == "a" else 2.0


def machine(x):
    s, t = "idle", 0
    for v in x:
        if s == "idle":
            if v > 0:
                s, t = "armed", 1
        elif s == "armed":
            t += 1
            if t > 2:
                s = "fire"
        else:
            s = "idle"
    return t, s == "fire", s == "idle"


def until_done(x):
    i, s = 0, "a"
    while i < 4 and s != "done":
        if x[i] > 1:
            s = "done"
        elif x[i] > 0:
            s = "b"
        i += 1
    return i, s == "done", s in ("a", "b"), s not in ("a",)


def members(x):
    s = State.A
    for v in x:
        if s == State.A and v > 0:
            s = State.B
        elif s is State.B:
            s = State.A
    return s is State.A, s is not State.B, s == State.B


def matched(x):
    s = State.A
    if x[0] > 0:
        s = State.B
    match s:
        case State.A:
            return 1.0
        case State.B:
            return 2.0


def returned_by_a_helper(x):
    def kind(v):
        if v < 0:
            return "neg"
        if v > 1:
            return "big"
        return "mid"

    weights = {"neg": -1.0, "mid": 0.5, "big": 2.0}
    return sum(weights[kind(v)] for v in x)


def counted(x):
    counts = {"neg": 0, "mid": 0, "big": 0}
    for v in x:
        counts["neg" if v < 0 else "big" if v > 1 else "mid"] += 1
    return counts["neg"], counts["big"], max(counts.values())


def two_of_them(x):
    s, t = "a" if x[0] > 0 else "b", "a" if x[1] > 0 else "b"
    return s == t, s != t, [s, "a"] == ["a", "a"], (s, 1.0) == ("b", 1.0)


def or_none(x):
    s = None
    for v in x:
        if v > 1:
            s = "hi"
        elif v < -1:
            s = "lo"
    return s is None, s == "hi", s is not None, 0.0 if s is None else (1.0 if s == "hi" else 2.0)


def best_name(x):
    best, least = None, np.inf
    for name, v in (("p", x[0]), ("q", x[1]), ("r", x[2])):
        if v < least:
            least, best = v, name
    return {"p": 1, "q": 2, "r": 3}[best]


def attribute(x):
    d = Device()
    for v in x:
        if d.mode == "off" and v > 0:
            d.mode = "on"
            d.count += 1
        elif v < 0:
            d.mode = "off"
    return d.count, d.mode == "on"


def by_index(x):
    names = ["a", "b", "c"]
    s = names[int(x[:3].argmax())]
    return names.index(s), s == "b"


def arrays_by_name(x):
    s = "lo"
    if x[0] > 0:
        s = "hi"
    return {"lo": x * 2, "hi": x * 3}[s], {"lo": 1.0}.get(s, 5.0)


def by_bytes(x):
    return (b"x" if x[0] > 0 else b"y") == b"x"


def constant_all_the_same(x):
    mode, total = "fast", 0.0
    for v in x:
        if v > 0:
            mode = "fast"
        total += {"fast": 1.0, "slow": 2.0}[mode]
    return total, len(mode)


def compared_to_others(x):
    s = "a" if x[0] > 0 else "b"
    return s == 1, s != 1.0, s == State.A, s == "c", s is None


def added(x):
    return len(("a" if x[0] > 0 else "b") + "c")


def ordered(x):
    return ("a" if x[0] > 0 else "b") < "b"


def asked_for_its_class(x):
    return isinstance("a" if x[0] > 0 else "b", str)


def true_or_false(x):
    return 1.0 if ("a" if x[0] > 0 else "") else 2.0


def value_of_a_member(x):
    return (State.A if x[0] > 0 else State.B).value


def by_a_function(x):
    return {"add": np.add, "mul": np.multiply}["add" if x[0] > 0 else "mul"](x[1], x[2])


def kind(v):
    return "a" if v > 0 else "b"


def text_member(x):
    mode = Mode.IDLE if x[0] > 0 else Mode.RUN
    return mode == "idle", {"idle": 1.0, "run": 2.0}[mode]


def member_beside_text(x):
    return ("idle" if x[0] > 0 else "run") == Mode.IDLE


def integer_member(x):
    level = Level.LOW if x[0] > 0 else Level.MID
    return level == 1, level in (1, 2), level + 1


def beside_an_array(x):
    return np.array(["a", "b"]) == kind(x[0])


def caught(x):
    try:
        return len(kind(x[0]) * 2)
    except Exception:
        return -1


def caught_attribute(x):
    try:
        return kind(x[0]).upper() == "A"
    except AttributeError:
        return False


def parts(x):
    s = kind(x[0])
    return s[0] == "a", s[::-1] == "b", len([ch for ch in s])


def joined(x):
    try:
        return ",".join([kind(x[0]), "b"]) == "a,b"
    except TypeError:
        return False


def in_a_message(x):
    s = kind(x[0])
    if x[0] > 100:
        raise ValueError("bad " + s)
    return x[0]


def place_in_a_text(x):
    order, d = "NESW", "N"
    if x[0] > 0:
        d = order[(order.index(d) + 1) % 4]
    if x[1] > 0:
        d = order[(order.index(d) + 1) % 4]
    return d == "E"


def in_growing_lists(x):
    stack, is_right = [], True
    for v in x:
        if v > 0:
            stack.append("p" if v > 1 else "q")
        elif stack and stack.pop() == "p":
            is_right = False
    return is_right, len(stack)


def sorted_by_texts(x):
    return sorted(list(x), key=kind)[0], max(list(x), key=kind)


def in_sets(x):
    return len({kind(v) for v in x})


def by_lambdas(x):
    f = np.floor if x[0] > 0 else np.ceil
    g = (lambda v: v * 2) if x[1] > 0 else (lambda v: v + 1)
    return f(x[2]) + g(x[3])


def a_function_in_a_loop(x):
    total, i = 0.0, 0
    while i < 4 and x[i] > -2:
        k = x[i]
        f = (lambda a: a + k) if x[i] > 0 else (lambda a: a * k)  # noqa: B023
        total += f(x[i])
        i += 1
    return total


def methods_of_texts(x):
    s = "Abc" if x[0] > 0 else "dE"
    return s.upper() == "ABC", s.startswith("A"), len(s), "b" in s, s.lower() + "x" == "dex"


def texts_in_a_growing_list(x):
    stack, matched = [], True
    for v in x:
        if v > 0:
            stack.append("p" if v > 1 else "q")
        elif not stack or stack.pop() != "q":
            matched = False
    return matched, len(stack), "p" in stack


def ways(x):
    heading, turns = "N", 0
    for v in x:
        if v > 0:
            heading = {"N": "E", "E": "S", "S": "W", "W": "N"}[heading]
            turns += heading in "NS"
    return "NESW".index(heading), turns


def a_text_or_none(x):
    found = None
    for name, v in zip(("p", "q", "r", "s"), x, strict=True):
        if v > 0.5:
            found = name
    if found is None:
        return -1
    return ord(found) - ord("p")


def formatted(x):
    return float(f"{'1' if x[0] > 0 else '2'}.5")


def put_together(x):
    sign, size = "-" if x[0] < 0 else "+", "big" if abs(x[1]) > 1 else "small"
    name = f"{sign}{size:>5}"
    return name == "-  big", len(name), {"+small": 1, "-small": 2}.get(name, 3)


def entries_of_branches(x):
    if x[0] > 0:  # noqa: SIM108
        table = {"a": x[1], "b": 1.0}
    else:
        table = {"b": x[2]}
    return table["b"], table.get("a", -1.0), len(table), "a" in table


def counted_by_new_keys(x):
    counts = {}
    for v in x:
        name = "neg" if v < 0 else "big" if v > 1 else "mid"
        counts[name] = counts.get(name, 0) + 1
    return len(counts), max(counts.values()), counts.get("big", -1)


def a_new_entry(x):
    d = {"a": 1.0}
    d["a" if x[0] > 0 else "b"] = 2.0
    return len(d)


def grouped(x):
    groups, sums = collections.defaultdict(list), collections.defaultdict(float)
    for v in x:
        name = "up" if v > 0 else "low" if v < -1 else "down"
        groups[name].append(v)
        sums[name] += v
    total = 0.0
    for name, rows in groups.items():
        total += len(rows) * (2.0 if name == "up" else 1.0)
    return total, len(groups), max(groups["up"], default=0.0), sums["down"], "low" in sums


FOLLOWED = [
    grouped,
    chosen, machine, until_done, members, matched, returned_by_a_helper, counted, two_of_them,
    or_none, best_name, attribute, by_index, arrays_by_name, by_bytes, constant_all_the_same,
    compared_to_others, added, ordered, asked_for_its_class, true_or_false, value_of_a_member,
    by_a_function, text_member, member_beside_text, integer_member, beside_an_array, caught,
    caught_attribute, parts, joined, in_a_message, place_in_a_text, in_growing_lists,
    sorted_by_texts, in_sets, by_lambdas, a_function_in_a_loop, methods_of_texts,
    texts_in_a_growing_list, ways, a_text_or_none,
    formatted, put_together, a_new_entry, entries_of_branches, counted_by_new_keys,
]  # fmt: skip


@pytest.mark.parametrize("f", FOLLOWED)
def test_they_are_compared_and_looked_up(f):
    assert_like_the_loop(f, X)


def test_maps_within_maps_and_derivatives():
    def f(x):
        s = "lin" if x[0] > 0 else "sq"
        inner = lw.vmap(lambda v: v * 2 if s == "lin" else v * v)(x)
        return inner.sum()

    found = lw.vmap(lw.grad(f))(X)
    np.testing.assert_allclose(found, np.where(X[:, :1] > 0, 2.0, 2 * X))


def test_a_missing_entry_is_a_key_error():
    with pytest.raises(KeyError):
        lw.vmap(lambda x: {"lo": 1.0}["lo" if x[0] > 0 else "hi"])(X)


def of_more_and_more(x):
    text = ""
    for v in np.concatenate([x, x, x]):
        text = text + ("a" if v > 0 else "b")
    return len(text)


def of_more_in_each_turn(x):
    text, i = "", 0
    while i < 4 and x[i] > -9:
        text += "ab"
        i += 1
    return len(text)


def a_number_or_a_text(x):
    return (1 if x[0] > 0 else "no") == 1


REFUSED = [a_number_or_a_text, of_more_and_more, of_more_in_each_turn]


@pytest.mark.filterwarnings("ignore::lanewise.PlainLoopWarning")
@pytest.mark.parametrize("f", REFUSED)
def test_for_all_else_the_plain_loop_runs(f, monkeypatch):
    raised = (UnsupportedError, ControlFlowError, ConcretizationError, TypeError, AttributeError)
    with pytest.raises(raised):
        lw.vmap(f)(X)
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    wanted = [f(x) for x in X]
    rows = list(zip(*wanted, strict=True)) if isinstance(wanted[0], tuple) else [tuple(wanted)]
    found = lw.vmap(f)(X)
    for one, other in zip(found if isinstance(found, tuple) else (found,), rows, strict=True):
        np.testing.assert_array_equal(one, np.array(other))


def test_a_single_function_returns_a_text(monkeypatch):
    monkeypatch.setenv("LANEWISE_STRICT", "0")
    monkeypatch.delenv("LANEWISE_BACKEND", raising=False)
    with pytest.warns(lw.PlainLoopWarning):
        assert lw.function(lambda x: kind(x[0]) + "!")(X[0]) == kind(X[0, 0]) + "!"


def test_entries_for_none():
    f = lambda x: {None: 0.0, "p": 1.0}["p" if x[0] > 0 else None]  # noqa: E731
    np.testing.assert_array_equal(lw.vmap(f)(X), [f(x) for x in X])


def test_texts_do_not_come_back():
    with pytest.raises(UnsupportedError, match="returns 'a' or 'b' as the result"):
        lw.vmap(lambda x: "a" if x[0] > 0 else "b")(X)
