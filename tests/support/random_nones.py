"""Random functions that return None or a value, at several depths, and assign both to a variable.

The callers ask `is None`; an example that reads what it has not assigned raises.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

#: What the results of a function are, by the kind of value: what uses one that is not None.
VALUES = {
    "number": (["x", "y", "7", "0.5", "x + y"], "r + 0.5"),
    "pair": (["(x, 1)", "(y, 2)", "(0.5, x)"], "r[0] + r[1] * 100"),
    "array": (["z", "z + x", "z * y"], "r[0] + r.sum()"),
}
#: How often a program starts with `k` assigned.
ASSIGNED = 0.7


@dataclass
class Writer:
    """Writes a function ``f(x, y, z)`` of two integers and an array."""

    rng: random.Random
    values: list[str]
    lines: list[str] = field(default_factory=list)
    loops: int = 0

    def value(self) -> str:
        """Return a value, often None, or the variable that may be."""
        pick = self.rng.random()
        none = pick < 0.35
        return "None" if none else "k" if pick < 0.5 else self.rng.choice(self.values)

    def test(self) -> str:
        counters = [f"i{n}" for n in range(self.loops)] or ["1"]
        number = self.rng.choice(["0", "1", "2", *counters])
        return self.rng.choice(
            [f"x > {number}", f"y > {number}", f"x + y == {number}", f"x < {number}", "k is None",
             "k is not None", f"y % 2 == {number}"]
        )  # fmt: skip

    def block(self, indent: str, depth: int, in_loop: bool) -> None:
        """Write some statements; nothing follows a jump."""
        for _ in range(self.rng.randint(1, 3)):
            form = self.rng.randrange(10)
            if form < 5 and depth:
                self.branch(indent, depth, in_loop)
            elif form < 7 and depth > 1 and self.loops < 3:
                self.loop(indent, depth)
            elif form == 7 and in_loop:
                self.lines.append(indent + self.rng.choice(["break", "continue"]))
                return
            elif form == 8:
                self.lines.append(f"{indent}return {self.value()}")
                return
            else:
                self.lines.append(f"{indent}k = {self.value()}")

    def branch(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}if {self.test()}:")
        self.block(indent + "    ", depth - 1, in_loop)
        if self.rng.random() < 0.4:
            self.lines.append(f"{indent}else:")
            self.block(indent + "    ", depth - 1, in_loop)

    def loop(self, indent: str, depth: int) -> None:
        name, turns = f"i{self.loops}", self.rng.choice(["2", "3", "x", "y"])
        self.loops += 1
        if self.rng.random() < 0.5:
            self.lines.append(f"{indent}for {name} in range({turns.replace('x', '3')}):")
        else:
            self.lines += [f"{indent}{name} = -1", f"{indent}while {name} < {turns}:"]
            self.lines.append(f"{indent}    {name} += 1")
        self.block(indent + "    ", depth - 1, True)
        if self.rng.random() < 0.3:
            self.lines.append(f"{indent}else:")
            self.block(indent + "    ", depth - 1, False)


def draw(seed: int) -> str:
    """Return the source of a program."""
    rng = random.Random(seed)
    values, used = VALUES[rng.choice([*VALUES])]
    writer = Writer(rng, values)
    if rng.random() < ASSIGNED:
        writer.lines.append(f"    k = {rng.choice(['None', values[0]])}")
    for counter in range(3):
        writer.lines.append(f"    i{counter} = 0")
    writer.block("    ", 4, False)
    writer.lines.append(f"    return {writer.value()}" if rng.random() < 0.5 else "    x += 1")
    body = "\n".join(writer.lines)
    return (
        f"def a(x, y, z):\n{body}\n\n"
        f"def f(x, y, z):\n    r = a(x, y, z)\n    return -1.0 if r is None else {used}\n"
    )


def arguments() -> list[np.ndarray]:
    """Return the batches of the arguments."""
    x, y = np.meshgrid([-1, 1, 2, 3], [0, 1, 2])
    return [x.ravel(), y.ravel(), np.arange(24.0).reshape(12, 2)]
