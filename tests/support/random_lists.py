"""Random functions with lists that grow and shrink: as source, with arguments."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Writer:
    """Writes a function ``f(x, n, k)`` of a vector and two integers, with lists `a` and `b`."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    #: What is appended to each list: of one kind, or of several.
    numbers: dict[str, list[str]] = field(default_factory=dict)

    def name(self) -> str:
        return self.rng.choice("ab")

    def number(self, name: str) -> str:
        return self.rng.choice(self.numbers[name])

    def test(self) -> str:
        a, b = self.name(), self.name()
        return self.rng.choice(
            [a, f"not {a}", f"len({a}) < n", f"len({a}) > len({b}) + 1", "n % 2 == 0", "t > k",
             f"{a} and {a}[-1] > 0", "x[n % 5] > 0"]
        )  # fmt: skip

    def change(self, indent: str) -> None:
        """Write a statement that changes a list or a number."""
        name, pick = self.name(), self.rng.randrange(12)
        text = f"{name}.append({self.number(name)})"
        if pick == 0:
            text = f"{name}.pop()"
        elif pick == 1:
            text = f"t = {name}.pop({self.rng.choice(['', '0', '-1'])}) * 0.5 + t"
        elif pick == 2:
            text = f"t = t + {name}[{self.rng.choice(['0', '-1', 'n % 3', '-k'])}]"
        elif pick == 3:
            text = f"{name} = []"
        elif pick == 4:
            text = f"t = t + len({name}) + sum({name})"
        elif pick == 5:
            text = f"{name} += [{self.number(name)}, {self.number(name)}]"
        self.lines.append(indent + text)

    def block(self, indent: str, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.rng.randint(1, 3)):
            form = self.rng.randrange(6 if depth else 2)
            if form < 2:
                self.change(indent)
            elif form < 4:
                self.lines.append(f"{indent}if {self.test()}:")
                self.block(indent + "    ", depth - 1)
                if self.rng.random() < 0.5:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1)
            elif form == 4:
                self.lines.append(f"{indent}for v in x:")
                self.lines.append(f"{indent}    if v > t:")
                self.block(indent + "        ", 0)
            else:
                counter = f"c{len(self.lines)}"
                self.lines.append(f"{indent}{counter} = 0")
                self.lines.append(f"{indent}while {counter} < n and ({self.test()}):")
                self.lines.append(f"{indent}    {counter} = {counter} + 1")
                self.block(indent + "    ", depth - 1)

    def function(self) -> str:
        kinds = [["n", "k", "3"], ["x[n % 5]", "x[k % 5] * 2"], ["n * 0.5", "0.25", "float(k)"]]
        mixed = [["n", "x[0]", "True"], ["0", "0.5", "x[1]", "n > k"], ["1", "n * 0.5"]]
        for name in "ab":
            self.numbers[name] = self.rng.choice(kinds * 2 + mixed)
        first = [self.number("b") for _ in range(self.rng.randint(0, 2))]
        self.lines = [
            "def f(x, n, k):",
            "    t = 0.0",
            "    a = []",
            f"    b = [{', '.join(first)}]",
        ]
        self.block("    ", 2)
        self.block("    ", 2)
        ends = ["len(a)", "len(b)", "t"]
        for name in "ab":
            forms = [
                f"sum({name})",
                f"max({name}) if {name} else 0",
                f"{name}[-1] if {name} else -1",
            ]
            ends += self.rng.sample([*forms, f"np.array({name}, dtype=float).sum()"], 2)
        self.lines.append(f"    return {', '.join(ends)}")
        return "\n".join(self.lines) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    return Writer(random.Random(seed)).function()


class Box:
    """Has the two lists as attributes."""

    def __init__(self) -> None:
        self.a: list[Any] = []
        self.b: list[Any] = []


def push(items: list[Any], value: Any) -> None:
    """Append to a list, in another function."""
    items.append(value)


def draw_anywhere(seed: int) -> str:
    """Return the source of a function with the lists of `draw` where no name stands for them.

    They are attributes of a `Box`, or entries of a dict, or go through `push`.
    """
    source = re.sub(r"\b([ab])\.append\((.*)\)", r"push(\1, \2)", draw(seed))
    if seed % 3 == 2:
        return source
    names = {"a": "o.a", "b": "o.b"} if seed % 3 else {"a": 'o["a"]', "b": 'o["b"]'}
    source = re.sub(r"\b([ab])\b", lambda found: names[found[1]], source)
    return source.replace("t = 0.0\n", f"t = 0.0\n    o = {'Box()' if seed % 3 else '{}'}\n", 1)


#: What is done with lists, dicts and variables that may stand for one or the other.
_SHARING = [
    "{p} = {q}", "{p} = {q}", "{p} = [{n}, {n}]", "{p}[0] = {n}", "{p}[-1] = {n}", "{p}[0] = {n}",
    "{p}, {q} = {q}, {p}", "{p} = {q}[:]", "t = t + {p}[0] * {q}[-1]", "t = t + {p}[1]",
    "{p}.append({n})", "put({p}, {n})", "{p}.reverse()", "{p} = same({q})", "{p} += [{n}]",
    "{p} = {q} if x[1] > t else [{n}, {n}]", "t = 0.5 * t + {n}", "{p} = list({q})", "{p}.pop(0)",
]  # fmt: skip
_HOLDERS = [("a", "b", "c"), ("o.a", "o.b", "a"), ('o["a"]', "b", 'o["b"]'), ("a", "o.a", "e[0]")]


def put(items: list[Any], value: Any) -> None:
    """Assign an entry, in another function."""
    items[1] = value


def same(items: list[Any]) -> list[Any]:
    """Return what it is given."""
    return items


#: What the functions use.
HELPERS = {"Box": Box, "push": push, "put": put, "same": same}


def draw_shared(seed: int) -> str:
    """Return the source of a function with lists that are one or another, as the data say."""
    rng = random.Random(seed)
    holders = rng.choice(_HOLDERS)
    start = "{}" if any('"' in each for each in holders) else "Box()"
    lines = ["def f(x, n, k):", "    t = 0.0", f"    o = {start}", "    e = [[0.0, 0.0]]"]
    lines += [f"    {each} = [{i}.0, x[{i}]]" for i, each in enumerate(holders)]
    count = len(_SHARING) if rng.random() < 0.4 else 10

    def block(indent: str, depth: int) -> None:
        for _ in range(rng.randint(1, 3)):
            form = rng.randrange(5 if depth else 2)
            p, q = rng.sample(holders, 2)
            if form < 2:
                number = rng.choice(["x[0]", "t", "n * 1.0", "v", "3.0"])
                lines.append(indent + rng.choice(_SHARING[:count]).format(p=p, q=q, n=number))
            elif form < 4:
                test = rng.choice(["x[2] > 0", "n > 2", f"{p}[0] > {q}[1]", "v > t", "k == 1"])
                lines.append(f"{indent}if {test}:")
                block(indent + "    ", depth - 1)
                if rng.random() < 0.5:
                    lines.append(f"{indent}else:")
                    block(indent + "    ", depth - 1)
            elif rng.random() < 0.5:
                lines.append(f"{indent}for v in x:")
                block(indent + "    ", depth - 1)
            else:
                counter = f"i{len(lines)}"
                lines.append(f"{indent}{counter} = 0")
                lines.append(f"{indent}while {counter} < n:")
                lines.append(f"{indent}    {counter} += 1")
                block(indent + "    ", depth - 1)

    lines.append("    v = x[3]")
    block("    ", 2)
    block("    ", 2)
    ends = [f"{end}[{i}]" for end in rng.sample(holders, rng.randint(1, 3)) for i in (0, -1)]
    lines.append(f"    return t, {', '.join(ends)}")
    return "\n".join(lines) + "\n"


def arguments(seed: int) -> list[np.ndarray]:
    """Return some examples, among them numbers that are not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5, 5)).round(2)
    x[1, rng.integers(5)] = np.nan
    return [x, rng.integers(0, 6, size=5), rng.integers(0, 4, size=5)]


#: What iterations of counted loops do to a list of numbers, to one of arrays, and to variables.
_TURNS = [
    "a.append({n})", "a.append({n})", "a.append(a[-1] * 0.5 + {n})", "a += [{n}, -v]",
    "a.extend([v, {n}])", "a[-1] += 1.0", "a[0] = {n}", "a.pop()", "a.pop(0)", "t = t + sum(a)",
    "t = t + a[len(a) // 2]", "t = t + np.mean(a[-3:])", "t = t + len(a) * max(a)",
    "rows.append(y)", "rows.append(y.copy())", "rows.append(np.array([v, t]))",
    "rows.append(rows[-1] + v)", "rows[-1][0] = v", "rows[0] = y", "y = rows[-1]",
    "y = y * 0.5 + v", "y[0] += v", "y += 1", "y = np.array([t, v])", "t = t + y[1]",
    "pairs.append((i, {n}))", "pairs.append((v, {n}))", "t = t + pairs[-1][1]", "b = a",
    "b = a[1:]", "b = list(a)", "b.append(v)", "t = 0.9 * t + v",
    "for w in a:\n            t = t + 0.1 * w", "for w in x[:3]:\n            a.append(w + v)",
    "if v > 0:\n            t = t + v", "if v > 0:\n            a.append(v)",
    "a = [0.5 * w for w in a]", "a = [w for w in a if w > 0.1]", "a.reverse()", "a.clear()",
    "b = [u - w for u, w in zip(a, x)]", "b = [w for w in x if w > v]", "t = t + len(b)",
    "t = t + np.sum([w * v for w in x[:7]])", "t = t + [w * v for w in x][i % 5]",
    "rows = [r * 0.5 for r in rows]", "b = [i for i in range(9) if x[i] > v]",
    "if i % 3 == 0:\n            a.append({n})", "a = []", "row = []\n        for w in x[:18]:"
    "\n            row.append(w * v)\n        a.append(max(row))",
]  # fmt: skip
#: What is made of the lists in the end.
_ENDS = [
    "np.array(a)", "np.mean(a)", "np.median(a)", "sum(a) * 1.0", "(max(a) - min(a)) * 1.0",
    "np.array(rows)", "np.stack(rows)[-1]", "rows[-1]", "rows[0] + rows[-1]", "np.array(pairs)",
    "a[-1] * 1.0", "len(a)", "np.array([p[1] for p in pairs])", "sorted(a)[0] * 1.0",
    "sum([u * v for u, v in zip(a, a[1:])]) * 1.0", "[float(w) for w in a]", "np.diff(a)",
    "np.concatenate(rows)", "len(b)", "np.array(b)", "y", "t",
]  # fmt: skip


def draw_counted(seed: int) -> str:
    """Return the source of a function with lists that grow in loops whose lengths are known."""
    rng = random.Random(seed)
    lines = [
        "def f(x):",
        "    t, i, v = 0.0, 0, x[0]",
        "    y = np.array([1.0, 2.0])",
        f"    a = [{rng.choice(['', '0', '1.5', 'x[0], x[1]'])}]",
        f"    rows = [{rng.choice(['', 'y', 'np.zeros(2)'])}]",
        f"    pairs = [{rng.choice(['', '(0, x[1])', '(0.5, 1.0)'])}]",
        "    b = []",
    ]
    for _ in range(rng.randint(1, 2)):
        loop = rng.choice(["x", "x[1:]", "x[::-1]", ""])
        lines += [f"    for i, v in enumerate({loop}):"] if loop else [
            "    s, i = 0.0, 0", "    while s < 0.6:", "        s, v = s + 0.03, x[i]"
        ]  # fmt: skip
        chosen = [_TURNS[0], "rows.append(y)", "pairs.append((i, {n}))"]
        chosen = rng.sample(chosen, rng.randint(1, 3)) + rng.sample(_TURNS, rng.randint(1, 4))
        rng.shuffle(chosen)
        numbers = ["v", "t", "v * 2", "i", "x[i]"]
        lines += [f"        {turn.format(n=rng.choice(numbers))}" for turn in chosen]
        lines += [] if loop else ["        i += 1"]
        after = ["y[0] = 9.0", "rows[-1][1] = 7.0", "a[1] = 3.0", "a.append(t)", "", "", "", ""]
        lines.append(f"    {rng.choice(after)}")
    lines.append(f"    return {', '.join(rng.sample(_ENDS, 4))}")
    return "\n".join(lines) + "\n"
