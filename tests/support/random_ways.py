"""Random functions with lists that go on in several ways: swapped, begun anew, filtered, copied."""

from __future__ import annotations

import random

from support import random_lists

_CHANGES = [
    "{p}, {q} = {q}, {p}", "{p}, {q} = {q}, []", "{p} = [v for v in {q} if v > t]", "{p} = []",
    "{p} = {q}[:3]", "{p} = {q}[1:]", "{p} = {q} + [{n}]", "{p} = sorted({q})", "{p} = list({q})",
    "{p}.append({n})", "{p}.append({n})", "{p}.append({n})", "{p} = [v * 0.5 for v in {p}]",
    "if {p}: {p}.pop()", "if {p}: {p}[n % len({p})] = {n}", "t = t + sum({p}) - len({q})",
    "{p}, {q}, {r} = {q}, {r}, {p}", "{p} = {p} + {q}[:2]", "if {p}: t = {p}[-1] * 0.5",
    "if {p}: {p}.insert(0, {n})", "if {p}: {q}.append({p}.pop(0))", "{p}.reverse()",
]  # fmt: skip
_TESTS = ["n % 2 == 0", "len({p}) < len({q})", "x[n % 5] > t", "{p} and {p}[-1] > 0", "t > k"]


class Writer(random_lists.Writer):
    """Writes a function ``f(x, n, k)`` of a vector and two integers, with three lists."""

    def _filled(self, text: str) -> str:
        p, q, r = self.rng.sample("abc", 3)
        number = self.rng.choice(["t", "x[n % 5]", "x[k % 5] + t", "n * 0.5", "0.25"])
        return text.format(p=p, q=q, r=r, n=number)

    def test(self) -> str:
        return self._filled(self.rng.choice(_TESTS))

    def change(self, indent: str) -> None:
        self.lines.append(indent + self._filled(self.rng.choice(_CHANGES)))

    def function(self) -> str:
        self.lines = [
            "def f(x, n, k):",
            "    a, b, c, t = [], [], [], 0.0",
            "    for v in x:",
            "        if v > k * 0.1:",
            "            a.append(v)",
            "            b.append(v * 2)",
        ]
        for _ in range(4):
            self.block("    ", 2)
        ends = [f"len({p}), sum({p}), ({p}[-1] if {p} else -1.0)" for p in "abc"]
        return "\n".join([*self.lines, f"    return {', '.join(ends)}, t"]) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    return Writer(random.Random(seed)).function()
