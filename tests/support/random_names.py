"""Random functions in which records have several names, as source.

A record is a list, a dict, or an object. Variables, lists, a dict, a tuple and an object hold
records, are given others where the data say, and show what is changed under any of the names.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any


class Thing:
    """Has two attributes."""

    def __init__(self, v: Any) -> None:
        self.v = v
        self.n = 0.0

    def up(self, by: Any) -> Any:
        self.v += by
        return self


@dataclass
class Field:
    """Has two fields."""

    v: Any
    n: Any = 0.0

    def up(self, by: Any) -> Any:
        self.v += by
        return self


class Holder:
    """Has a record."""

    def __init__(self, r: Any) -> None:
        self.r = r


#: What the functions use.
HELPERS = {"Thing": Thing, "Field": Field, "Holder": Holder}
#: How a record is written, and its parts.
_KINDS = [
    ("[{}, 0.0]", "[0]", "[1]"),
    ('{{"v": {}, "n": 0.0}}', '["v"]', '["n"]'),
    ("Thing({})", ".v", ".n"),
    ("Field({})", ".v", ".n"),
]
#: What records are found under.
_IN_LISTS = ["p", "q", "r", "rows[0]", "rows[-1]", "rows[1]", "log[0]"]
_IN_HOLDERS = ["p", "q", "r", "rows[0]", "rows[1]", "h.r", 'd["k"]', "t[0]"]


@dataclass
class Writer:
    """Writes a function ``f(x, n, k)``, with lists that grow or with holders of one record each."""

    rng: random.Random
    grows: bool
    kind: tuple[str, str, str]
    lines: list[str] = field(default_factory=list)

    def number(self) -> str:
        return self.rng.choice(["1.0", "2.0", "5.0", "x[0]", "x[1]", "x[2]"])

    def new(self) -> str:
        return self.kind[0].format(self.number())

    def record(self) -> str:
        return self.rng.choice(_IN_LISTS if self.grows else _IN_HOLDERS)

    def any_record(self) -> str:
        return self.record() if self.rng.random() < 0.5 else self.new()

    def part(self) -> str:
        return self.record() + self.rng.choice(self.kind[1:])

    def rebound(self) -> str:
        """Return a statement by which a place holds another record."""
        if not self.grows:
            one = self.any_record()
            return self.rng.choice(
                [f"h.r = {one}", f'd["k"] = {one}', f"t = ({one}, x[0])", f"rows[0] = {one}",
                 f"rows[1] = {one}"]
            )  # fmt: skip
        items, one = self.rng.choice(["rows", "log"]), self.any_record()
        return self.rng.choice(
            [f"{items}.append({one})"] * 4
            + [f"{items}.insert(0, {one})", f"{items}[0] = {one}", f"{items}[-1] = {one}",
               f"if len({items}) > 2: r = {items}.pop()", f"if len({items}) > 2: {items}.pop(0)",
               "rows[0], rows[1] = rows[1], rows[0]", f"{items}.reverse()"]
        )  # fmt: skip

    def statement(self) -> str:
        pick = self.rng.random()
        if pick < 0.45:
            return f"{self.part()} {self.rng.choice(['+=', '+=', '=', '-='])} {self.number()}"
        if pick < 0.52:
            return f"{self.part()} += {self.part()}"
        if pick < 0.68:
            return f"{self.rng.choice('pqr')} = {self.any_record()}"
        if pick < 0.72:
            return "p, q = q, p"
        if pick < 0.76:
            return f"r = {self.record()} if x[{self.rng.randrange(3)}] > 0 else {self.record()}"
        if pick < 0.8 and self.kind[1] == ".v":
            return f"{self.record()}.up({self.number()})"
        return self.rebound()

    def block(self, indent: str, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.rng.randint(1, 3)):
            form = self.rng.random() if depth else 0.0
            if form < 0.7:
                self.lines.append(indent + self.statement())
                continue
            test = f"x[{self.rng.randrange(3)}] > {self.rng.choice(['0', 'x[1]', '0.5'])}"
            if form < 0.9:
                self.lines.append(f"{indent}if {test}:")
                self.block(indent + "    ", depth - 1)
                if self.rng.random() < 0.6:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1)
                continue
            counter = f"i{len(self.lines)}"
            self.lines += [f"{indent}{counter} = 0", f"{indent}while {counter} < n:"]
            self.lines.append(f"{indent}    {counter} += 1")
            self.block(indent + "    ", depth - 1)

    def function(self) -> str:
        new, v, n = self.kind
        self.lines += [f"    p, q = {new.format('1.0')}, {new.format('x[0]')}", "    r = p"]
        self.lines.append("    rows = [p, q]")
        if self.grows:
            self.lines.append(f"    log = [{self.rng.choice(['p', 'q', new.format('6.0')])}]")
        else:
            self.lines.append('    h, d, t = Holder(p), {"k": q}, (q, 1.0)')
        for _ in range(self.rng.randint(2, 4)):
            self.block("    ", 2)
        ends = [f"{name}{part}" for name in "pqr" for part in (v, n)]
        if self.grows:
            totals = [f"sum([e{part} for e in {x}])" for x in ("rows", "log") for part in (v, n)]
            ends += ["len(rows)", "len(log)", *totals]
        else:
            ends += [f"{x}{part}" for x in _IN_HOLDERS[3:] for part in (v, n)]
        self.lines.append(f"    return {', '.join(ends)}")
        return "def f(x, n, k):\n" + "\n".join(self.lines) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    rng = random.Random(seed)
    return Writer(rng, rng.random() < 0.5, rng.choice(_KINDS)).function()
