"""Random functions with objects of several classes, which hold lists and take others' places."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any


class Round:
    """Has numbers and a list."""

    def __init__(self, v: Any) -> None:
        self.v = v
        self.n = 0
        self.points = [0.0, v]

    def bump(self, by: Any) -> None:
        self.v = self.v + by
        self.n += 1

    def score(self) -> Any:
        return self.v * 2 + self.points[0]


class Flat:
    """Has the same, computes otherwise, and may be replaced by one of another class."""

    __slots__ = ("n", "points", "v")

    def __init__(self, v: Any) -> None:
        self.v = v
        self.n = 2
        self.points = [v, 1.0]

    def bump(self, by: Any) -> None:
        self.points[1] += by
        self.n -= 1

    def score(self) -> Any:
        return self.v - self.points[1] * self.n

    def __bool__(self) -> bool:
        return bool(self.v > 0)

    def __lt__(self, other: Any) -> Any:
        return self.v < other.v


@dataclass(order=True)
class Data:
    """Is compared by its fields."""

    v: Any
    n: Any = 1
    points: Any = field(compare=False, default_factory=lambda: [0.5, 0.5])

    def bump(self, by: Any) -> None:
        self.v = self.v - by

    def score(self) -> Any:
        return self.v + self.n


class Around:
    """Holds another object."""

    def __init__(self, v: Any) -> None:
        self.v = v
        self.n = 0
        self.inner = Round(v)

    @property
    def points(self) -> Any:
        return self.inner.points

    def bump(self, by: Any) -> None:
        self.inner.bump(by)
        if self.inner.n > 2:
            self.inner = Round(self.v)

    def score(self) -> Any:
        return self.inner.score() - self.v


def made(test: Any, v: Any) -> Any:
    if test > 1:
        return Round(v)
    return Flat(v) if v > 0 else Round(-v)


#: What the functions use.
HELPERS = {"Round": Round, "Flat": Flat, "Data": Data, "Around": Around, "made": made}

_CHANGES = [
    "{p} = {new}", "{p} = {new}", "{p} = {q}", "{p}.bump({n})", "{p}.bump({n})", "{p}.v = {n}",
    "{p}.v += {n}", "t = t * 0.5 + {p}.score()", "t = t + {p}.v", "{p}, {q} = {q}, {p}",
    "{p}.points[0] += {n}", "{p}.points[n % 2] += {n}", "t = t + {p}.points[1]", "{p}.n += 1",
    "t += 1 if {p} is {q} else 0", "{p} = {new} if {test} else {q}", "{p} = made(t, {n})",
    "if isinstance({p}, {cls}): {p}.v += 1", "if type({p}) is {cls}: t += {p}.n",
    "{p}.points.append({n})", "t += len({p}.points)", "kept = {p}.points", "t = t + kept[0]",
    "kept[1] += {n}", "s = {new}; s.v += 1; t = t + s.v",
]  # fmt: skip
_TESTS = [
    "{p}.v > t", "v > 0", "n % 2 == 0", "{p}.n > {q}.n", "isinstance({p}, {cls})", "t > k",
    "{p} is {q}", "{p}.points[0] > v", "x[n % 5] > t",
]  # fmt: skip


@dataclass
class Writer:
    """Writes a function ``f(x, n, k)`` of a vector and two integers, with three objects."""

    rng: random.Random
    classes: tuple[str, ...]
    lines: list[str] = field(default_factory=list)

    def _filled(self, text: str) -> str:
        p, q = self.rng.sample("abc", 2)
        cls, own = (self.rng.choice(self.classes) for _ in range(2))
        number = self.rng.choice(["v", "x[n % 5]", "1.0", "0.5 * v", "0.25"])
        test = self.rng.choice(_TESTS) if "{test}" in text else ""
        new = f"{own}({number})"
        text = text.replace("{test}", test)
        return text.format(p=p, q=q, n=number, cls=cls, new=new)

    def change(self, indent: str) -> None:
        self.lines.append(indent + self._filled(self.rng.choice(_CHANGES)))

    def block(self, indent: str, depth: int) -> None:
        """Write some statements."""
        for _ in range(self.rng.randint(1, 3)):
            form = self.rng.randrange(6 if depth else 3)
            if form < 3:
                self.change(indent)
            elif form < 5:
                self.lines.append(f"{indent}if {self._filled(self.rng.choice(_TESTS))}:")
                self.block(indent + "    ", depth - 1)
                if self.rng.random() < 0.5:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1)
            else:
                self.lines.append(f"{indent}for v in x{self.rng.choice(['', '[:n % 5]'])}:")
                self.block(indent + "    ", depth - 1)

    def function(self) -> str:
        first = [self.rng.choice(self.classes) for _ in range(3)]
        self.lines = [
            f"    a, b, c, t, v = {first[0]}(x[0]), {first[1]}(0.5), {first[2]}(1.5), 0.0, x[1]",
            "    kept = [0.0, 0.0]",
        ]
        self.block("    ", 1)
        self.lines.append("    for v in x:")
        self.block("        ", 2)
        self.block("    ", 1)
        self.lines.append("    t = t + kept[1]" if self.rng.random() < 0.5 else "    t = t")
        ends = ["t"] + [f"{p}.{self.rng.choice(['v', 'score()', 'n'])}" for p in "abc"]
        self.lines.append(f"    return {', '.join(ends)}, {self.rng.choice('abc')}.points[1]")
        return "def f(x, n, k):\n" + "\n".join(self.lines) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    rng = random.Random(seed)
    several = rng.sample(["Round", "Flat", "Data", "Around"], rng.choice([1, 2, 2, 3]))
    return Writer(rng, tuple(several)).function()
