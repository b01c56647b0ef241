"""Random functions whose arrays have lengths that are data: as source, with arguments."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Writer:
    """Writes a function ``f(x, y, n, k)`` of two vectors and two integers."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)

    def number(self) -> str:
        """Return an integer that is data."""
        pick = self.rng.choice
        plain = ["n", "k", "n - k", "n + 1", "-n", "k // 2", "n % 3", "min(n, k)", "len(x) - k"]
        return pick([*plain * 2, "int(x[0] > 0) * n", "np.count_nonzero(y > 0)", "abs(n - k)", "2"])

    def cut(self, x: str) -> str:
        """Return a part of a vector, of a length that is data."""
        a, b = self.number(), self.number()
        form = self.rng.randrange(9)
        if form < 5:
            step = self.rng.choice(["", "", ":2", ":-1", ":-2"])
            return f"{x}[{self.rng.choice([f':{a}', f'{a}:', f'{a}:{b}'])}{step}]"
        if form < 7:
            than = self.rng.choice(["0", "0.4", f"{x}.mean()"])
            return f"{x}[{x} {self.rng.choice(['>', '<', '<='])} {than}]"
        return self.rng.choice([f"np.flatnonzero({x} > 0)", f"np.unique(np.round({x}))",
                                f"np.arange(abs({a})) * 0.5", f"np.zeros(abs({a}))"])  # fmt: skip

    def vector(self) -> str:
        """Return a vector of such a length."""
        pick, x = self.rng.choice, self.rng.choice(["x", "y", "v", "w"])
        form = self.rng.randrange(12)
        if form < 4:
            return self.cut(x)
        if form < 6:
            return f"({x}[:{(n := self.number())}] {pick('+-*')} {pick('xyw')}[:{n}])"
        if form < 9:
            function = pick(["np.cumsum", "np.sort", "np.abs", "np.flip", "np.sin", "np.negative"])
            return f"{function}({self.cut(x)})"
        if form == 9:
            return f"np.concatenate([{self.cut(x)}, {self.cut('y')}])"
        if form == 10:
            return f"np.where({(c := self.cut(x))} > 0, {c}, 0)"
        return f"np.repeat({self.cut(x)}, {pick(['2', 'abs(n) % 3'])})"

    def total(self) -> str:
        """Return a number."""
        v = self.vector()
        forms = [f"np.sum({v})", f"({v}).max(initial=-1)", f"len({v})", f"({v} * 2).sum()",
                 f"np.prod({v} * 0.5)", f"(({v}) > 0.2).any()", f"({v}).size"]  # fmt: skip
        return self.rng.choice(forms)

    def test(self) -> str:
        """Return a condition that is data."""
        tests = ["n > k", "x[1] > 0", "s > 1", "len(v) > 3", "len(p) % 2 == 0", "p"]
        return self.rng.choice(tests)

    def known(self) -> str:
        """Return a vector of a size that is known, one of many."""
        pick, x = self.rng.choice, self.rng.choice("xy")
        return pick([x, f"{x}[:2]", f"{x}[1:]", f"{x}[::2]", f"{x} * 2", "np.zeros(3)", f"{x}[:0]"])

    def growing(self) -> list[str]:
        """Return statements that make a vector or the list longer or shorter."""
        pick, name = self.rng.choice, self.rng.choice("vw")
        form = self.rng.randrange(9)
        if form == 0:
            return [f"{name} = {self.known()} if {self.test()} else {self.known()}"]
        if form == 1:
            rest = pick([f"{name}[1:]", f"{name}[::2]", f"{name}[: len({name}) // 2]"])
            ended = pick(["s < 9", "n > -9", "x[0] < 9"])
            return [f"while len({name}) > 2 and {ended}:", f"    {name} = {rest}",
                    f"    s += {pick(['0.25', f'{name}.sum()', f'len({name})'])}"]  # fmt: skip
        if form == 2:
            added = pick([f"np.append({name}, s)", f"np.concatenate([{name}, [0.5, n]])"])
            return [f"while len({name}) < {pick(['6', 'n', 'k + 2'])}:", f"    {name} = {added}"]
        if form == 3:
            return [f"{name} = np.append({name}, {pick(['s', 'x[0]', 'n * 0.5'])})"]
        if form == 4:
            return [f"{name} = {name}.copy()", f"{name}[:1] = s"]
        if form == 5:
            return [f"if {self.test()}:", f"    p.append({pick(['s', 'x[0]', 's + x[-1]'])})"]
        if form == 6:
            return ["if p:", f"    s += p.pop({pick(['', '0'])}) * 0.5"]
        if form == 7:
            return [
                f"while len(p) < {pick(['3', 'n', 'k % 5'])}:",
                "    p.append(s + len(p) * 0.5)",
            ]
        return ["for e in p:", "    s = s * 0.5 + e"]

    def statements(self, indent: str, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.rng.randrange(1, 4)):
            form = self.rng.randrange(14)
            put = self.lines.append
            if form >= 10:
                self.lines += [indent + line for line in self.growing()]
            elif form < 3:
                put(f"{indent}s = s * 0.5 + {self.total()}")
            elif form < 5:
                put(f"{indent}{self.rng.choice('vw')} = {self.vector()}")
            elif form == 5:
                put(f"{indent}z[:{self.number()}] += {self.total()}")
            elif form == 6:
                put(f"{indent}z[z > {self.rng.choice(['0', 's'])}] *= 0.5")
            elif form == 7 and depth < 2:
                put(f"{indent}if {self.test()}:")
                self.statements(indent + "    ", depth + 1)
                if self.rng.random() < 0.5:
                    put(f"{indent}else:")
                    self.statements(indent + "    ", depth + 1)
            elif form == 8 and depth < 2:
                put(f"{indent}for i in range({self.rng.choice(['3', 'len(x) // 2', 'k % 4'])}):")
                self.statements(indent + "    ", depth + 1)
            else:
                put(f"{indent}s += len(v) + np.sum(w)")


def draw(seed: int) -> str:
    """Return the source of a function ``f(x, y, n, k)``."""
    writer = Writer(random.Random(seed))
    writer.statements("    ", 0)
    body = "\n".join(writer.lines)
    return (
        "def f(x, y, n, k):\n    s = 0.0\n    v = w = x\n    z = y.copy()\n    p = []\n"
        f"{body}\n    return s, z, len(v), w.sum(), len(p), s + sum(p)\n"
    )


def arguments(seed: int, count: int) -> list[np.ndarray]:
    """Return a batch of arguments."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, count, rng.integers(3, 12)))
    return [*rows, *rng.integers(-3, 13, size=(2, count))]
