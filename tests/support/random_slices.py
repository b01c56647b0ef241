"""Random loops whose slices grow, shrink and move with the counter: as source, with arguments."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Program:
    """A function ``f(x, y, a)`` of vectors of n numbers and an n x n matrix."""

    source: str
    n: int


@dataclass
class Writer:
    """Writes one program: what is in reach, and the lines so far."""

    rng: random.Random
    n: int
    lines: list[str] = field(default_factory=list)

    def end(self, i: str) -> str:
        """Return the end of a slice."""
        n, pick = self.n, self.rng.choice
        plain = [i, f"{i} + 1", f"{i} - 1", f"n - {i}", f"{i} + 2", f"n - {i} - 1", f"-{i}"]
        bent = [f"{i} // 2", f"2 * {i}", f"min({i} + 3, n)", f"max({i} - 2, 0)", f"{i} % 3"]
        return pick(plain * 3 + bent + [str(self.rng.randrange(-n, n))])

    def cut(self, i: str) -> str:
        """Return a slice."""
        form = self.rng.randrange(8)
        if form < 3:
            return f"{self.end(i)}:"
        if form < 6:
            return f":{self.end(i)}"
        step = self.rng.choice(["", "", "", ":2", ":-1", ":-2"])
        return f"{self.end(i)}:{self.end(i)}{step}"

    def same(self, i: str) -> tuple[str, str]:
        """Return two slices of one length."""
        shift = self.rng.choice([0, 1, 2])
        pairs = [
            (f":{i}", f":{i}"),
            (f"{i}:", f"{i}:"),
            (f":n - {i}", f"{i}:"),
            (f"{i} + 1:", f"{i} + 1:"),
            (f":{i} + {shift}", f"n - {i} - {shift}:"),
            (f":{i}", f"{i} - 1::-1") if i == "(i + 1)" else (f":{i}", f":{i}"),
        ]
        return self.rng.choice(pairs)

    def vector(self, i: str) -> str:
        """Return a vector whose length depends on the counter."""
        pick = self.rng.choice
        x = pick(["x", "y", "z", f"a[{i}]", f"a[:, {i}]"])
        form = self.rng.randrange(10)
        s, t = self.same(i)
        other = pick(["x", "y", f"a[:, {i}]"])
        if form < 3:
            return f"{x}[{self.cut(i)}]"
        if form < 6:
            return f"{x}[{s}] {pick(['+', '*', '-'])} {other}[{t}]"
        function = pick(["np.cumsum", "np.flip", "np.sort", "np.abs", "np.sin", "np.negative"])
        if form < 8:
            return f"{function}({x}[{self.cut(i)}])"
        return pick([f"a[{s}, {t}].sum(axis=0)", f"a[{s}] @ y", f"x[{s}] @ a[{t}]",
                     f"np.concatenate([{x}[{self.cut(i)}], y[{self.cut(i)}]])",
                     f"np.outer(x[{s}], y[{t}]).sum(axis=1)", f"np.where({x}[{s}] > 0, y[{t}], 0)",
                     f"np.arange({i}) * 0.5", f"np.zeros({i})"])  # fmt: skip

    def number(self, i: str) -> str:
        v = self.vector(i)
        s, t = self.same(i)
        cut = self.cut(i)  # what would raise is not computed where only its size is asked for
        forms = [f"({v}).sum()", f"np.sum({v})", f"(x[{s}] @ y[{t}])", f"np.dot(z[{s}], x[{t}])",
                 f"len(x[{cut}])", f"({v}).max(initial=-1)", f"np.linalg.norm({v})",
                 f"a[{cut}].size", f"np.count_nonzero({v} > 0)", f"a[{s}, {t}].sum()"]  # fmt: skip
        return self.rng.choice(forms)

    def statement(self, i: str, depth: int) -> None:
        pad = "    " * (depth + 1)
        form = self.rng.randrange(12)
        s, t = self.same(i)
        out = self.rng.choice(["z", "z", "w"])
        if form < 3:
            self.lines.append(f"{pad}z[{i}] = {self.number(i)} * 0.25")
        elif form < 5:
            self.lines.append(f"{pad}{out}[{s}] {self.rng.choice(['=', '+=', '-='])} "
                              f"y[{t}] * {self.number(i)} * 0.01")  # fmt: skip
        elif form < 6:
            self.lines.append(f"{pad}a[{s}, {t}] -= np.outer(x[{s}], y[{t}]) * 0.01")
        elif form < 7:
            self.lines.append(f"{pad}total += {self.number(i)}")
        elif form < 8:
            self.lines.append(f"{pad}v = {self.vector(i)}")
            self.lines.append(f"{pad}total += v.sum()")
        elif form < 9:
            self.lines.append(f"{pad}a[{s}, {i}] = a[{i}, {t}] * 0.5")
        elif form < 10:
            self.lines.append(f"{pad}z[{self.cut(i)}] *= 0.5")
        elif form < 11 and depth < 2:
            self.lines.append(f"{pad}if {self.number(i)} > {self.rng.choice(['0.5', 'x[0]'])}:")
            self.statement(i, depth + 1)
        elif depth < 2:
            inner = "j" if i == "i" else "k"
            ends = self.rng.choice([i, f"{i}, n", "n", f"{i} + 1, n", "0, n, 2", f"{i} // 2"])
            self.lines.append(f"{pad}for {inner} in range({ends}):")
            self.statement(inner, depth + 1)
            if self.rng.random() < 0.5:
                self.statement(self.rng.choice([i, inner]), depth + 1)
        else:
            self.lines.append(f"{pad}total += {self.number(i)}")


def draw(seed: int) -> Program:
    """Draw a program."""
    rng = random.Random(seed)
    n = rng.choice([6, 17, 19, 24, 33])
    writer = Writer(rng, n)
    ends = rng.choice(["n", "n", "1, n", "n - 1", "n - 1, -1, -1", "n - 1, 0, -1", "0, n, 2"])
    writer.lines = [
        "def f(x, y, a):",
        f"    n, total = {rng.choice(['len(x)', str(n)])}, 0.0",
        "    z, w = np.zeros(n), x * 2",
        f"    for i in range({ends}):",
    ]
    for _ in range(rng.choice([1, 1, 2, 3])):
        writer.statement("i", 1)
    writer.lines.append(rng.choice(["    return total, z, w, a", "    return total + z.sum(), w"]))
    return Program("\n".join(writer.lines) + "\n", n)


def arguments(program: Program, seed: int, examples: int) -> list[np.ndarray]:
    """Return a batch of arguments."""
    rng = np.random.default_rng(seed)
    n = program.n
    return [rng.normal(size=(examples, *shape)) for shape in ((n,), (n,), (n, n))]
