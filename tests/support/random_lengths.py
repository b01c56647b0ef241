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

    def statements(self, indent: str, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.rng.randrange(1, 4)):
            form = self.rng.randrange(10)
            put = self.lines.append
            if form < 3:
                put(f"{indent}s = s * 0.5 + {self.total()}")
            elif form < 5:
                put(f"{indent}{self.rng.choice('vw')} = {self.vector()}")
            elif form == 5:
                put(f"{indent}z[:{self.number()}] += {self.total()}")
            elif form == 6:
                put(f"{indent}z[z > {self.rng.choice(['0', 's'])}] *= 0.5")
            elif form == 7 and depth < 2:
                put(f"{indent}if {self.rng.choice(['n > k', 'x[1] > 0', 's > 1', 'len(v) > 3'])}:")
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
        "def f(x, y, n, k):\n    s = 0.0\n    v = w = x\n    z = y.copy()\n"
        f"{body}\n    return s, z, len(v), w.sum()\n"
    )


def arguments(seed: int, count: int) -> list[np.ndarray]:
    """Return a batch of arguments."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, count, rng.integers(3, 12)))
    return [*rows, *rng.integers(-3, 13, size=(2, count))]
