"""Random functions with lists of records that are changed in place: as source."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Writer:
    """Writes a function ``f(x, n, k)`` of a vector and two integers, with a list `a` of records."""

    rng: random.Random
    #: How its records are written, and the keys of their two parts.
    form: str
    keys: tuple[str, str]
    lines: list[str] = field(default_factory=list)
    #: Whether elements leave the list, and are moved in it.
    moves: bool = False

    def new(self) -> str:
        return self.form.format(self.number(), self.rng.choice(["1", "n", "0"]))

    def number(self) -> str:
        return self.rng.choice(["v", "x[n % 5]", "t", "v * 2", "0.5"])

    def element(self) -> str:
        """Return an element: of the list, or a variable that may stand for one."""
        return self.rng.choice(["a[-1]", "a[0]", "a[-1]", "a[n % len(a)]", "a[len(a) - 1]"])

    def part(self) -> str:
        return f"{self.element()}{self.rng.choice(self.keys)}"

    def test(self) -> str:
        return self.rng.choice(
            ["len(a) < n", "v > 0", "n % 2 == 0", "a and a[-1]{0} > v", "len(a) > 1",
             "r is None", "r is not None and r{0} < v", "t > k"]
        ).format(*self.keys)  # fmt: skip

    def change(self, indent: str) -> None:
        """Write a statement that changes a list, a record or a number."""
        one, two = self.keys
        pick = self.rng.randrange(16)
        text = f"a.append({self.new()})"
        if pick < 4:
            key = self.rng.choice(self.keys)
            value = "1" if key == two else self.number()
            sign = self.rng.choice(["+=", "+=", "=", "-="])
            text = f"if a: {self.element()}{key} {sign} {value}"
        elif pick < 6:
            text = f"if a: t = t + {self.part()}"
        elif pick == 6:
            text = f"if a: r = {self.rng.choice(['a[-1]', 'a[0]', 'a[-1]', 'c', 'None'])}"
        elif pick == 7 and self.keys[0] == ".p":
            text = f"if a: {self.element()}.bump({self.number()})"
        elif pick == 7 and self.keys[0] == "[0]":
            text = f"if a: p, q = {self.element()}; t = t + p"
        elif pick == 8:
            text = f"t = t + sum(c{one} for c in a) - len(a)"
        elif pick == 9:
            text = self.rng.choice(
                ["if r is not None: r{1} += 1", "if r is not None: r{0}, t = t, r{0}",
                 "if c is not None: t += c{0}", "if c is not None: c{1} = n"]
            ).format(one, two)  # fmt: skip
        elif pick == 10 and self.moves:
            text = self.rng.choice(
                ["if a: a.pop()", "if a: t = t + a.pop(){0}", "a = []", "a.reverse()",
                 "a.sort(key=lambda s: s{0})", "if a: a[0] = {2}", "if len(a) > 2: del a[0]",
                 "a = [s for s in a if s{0} > v]", "a = [s for s in a if s{0} < t or s{1} > n]"]
            ).format(one, two, self.new())  # fmt: skip
        elif pick == 12:
            name = f"w{len(self.lines)}"
            self.lines.append(f"{indent}{name} = {self.new()}")
            self.lines.append(f"{indent}{name}{two} += 1")
            text = f"if {self.test()}: a.append({name})"
        elif pick == 11:
            text = f"if len(a) > 1: a[0]{two}, a[-1]{two} = a[-1]{two}, a[0]{two}"
        self.lines.append(indent + text)

    def block(self, indent: str, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.rng.randint(1, 3)):
            form = self.rng.randrange(7 if depth else 2)
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
                self.block(indent + "    ", depth - 1)
            elif form == 5:
                self.lines.append(f"{indent}for c in a:")
                self.lines.append(f"{indent}    if c{self.keys[0]} < v:")
                self.lines.append(f"{indent}        c{self.keys[1]} += 1")
                if self.rng.random() < 0.5:
                    self.lines.append(f"{indent}        break")
                    self.lines.append(f"{indent}else:")
                    self.lines.append(f"{indent}    a.append({self.new()})")
            else:
                self.lines.append(f"{indent}for i in range(len(a)):")
                self.lines.append(f"{indent}    t = t + a[i]{self.keys[1]}")
                self.lines.append(f"{indent}    a[i]{self.keys[0]} = a[i]{self.keys[0]} + t")

    def function(self) -> str:
        first = self.rng.choice(["[]", "[]", f"[{self.form.format('0.0', '1')}]"])
        self.lines += [f"    a, t, v = {first}, 0.0, x[0]", "    r = None", "    c = None"]
        self.lines.append("    for v in x:")
        self.block("        ", 2)
        if self.rng.random() < 0.7:
            self.block("    ", 1)
        ends = ["len(a)", "t", f"sum([s{self.keys[0]} for s in a])"]
        ends.append(f"max([s{self.keys[1]} for s in a] + [0])")
        if self.rng.random() < 0.3:
            ends.append(f"0.0 if r is None else r{self.keys[0]}")
        self.lines.append(f"    return {', '.join(ends)}")
        return "def f(x, n, k):\n" + "\n".join(self.lines) + "\n"


class Record:
    """Has two attributes."""

    def __init__(self, p: Any, q: Any = 1) -> None:
        self.p = p
        self.q = q

    def bump(self, by: Any) -> None:
        self.q += 1
        self.p = self.p + by


@dataclass
class Data:
    """Has two fields."""

    p: Any
    q: Any = 1

    def bump(self, by: Any) -> None:
        self.q += 1
        self.p = self.p + by


def record(p: Any, q: Any) -> Record:
    return Record(p, q)


#: What the functions use.
HELPERS = {"Record": Record, "Data": Data, "record": record}
#: How records are written, and their parts.
_FORMS = [
    ("[{}, {}]", "[0]", "[1]"),
    ('{{"p": {}, "q": {}}}', '["p"]', '["q"]'),
    ("list(({}, {}))", "[0]", "[1]"),
    ("Record({}, {})", ".p", ".q"),
    ("Data({}, {})", ".p", ".q"),
    ("record({}, {})", ".p", ".q"),
]


def draw(seed: int) -> str:
    """Return the source of a function."""
    rng = random.Random(seed)
    form, *keys = rng.choice(_FORMS)
    return Writer(rng, form, (keys[0], keys[1]), moves=rng.random() < 0.4).function()
