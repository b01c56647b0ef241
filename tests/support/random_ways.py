"""Random functions with lists that go on in several ways: swapped, begun anew, filtered, copied."""

from __future__ import annotations

import random

_CHANGES = [
    "{p}, {q} = {q}, {p}", "{p}, {q} = {q}, []", "{p} = [v for v in {q} if v > t]", "{p} = []",
    "{p} = {q}[:3]", "{p} = {q}[1:]", "{p} = {q} + [{n}]", "{p} = sorted({q})", "{p} = list({q})",
    "{p}.append({n})", "{p}.append({n})", "{p}.append({n})", "{p} = [v * 0.5 for v in {p}]",
    "if {p}: {p}.pop()", "if {p}: {p}[n % len({p})] = {n}", "t = t + sum({p}) - len({q})",
    "{p}, {q}, {r} = {q}, {r}, {p}", "{p} = {p} + {q}[:2]", "if {p}: t = {p}[-1] * 0.5",
    "if {p}: {p}.insert(0, {n})", "if {p}: {q}.append({p}.pop(0))", "{p}.reverse()",
]  # fmt: skip
_TESTS = ["n % 2 == 0", "len({p}) < len({q})", "x[n % 5] > t", "{p} and {p}[-1] > 0", "t > k"]


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines = rng, [""]
        self.depth = 0

    def _filled(self, text: str) -> str:
        p, q, r = self.rng.sample("abc", 3)
        number = self.rng.choice(["t", "x[n % 5]", "x[k % 5] + t", "n * 0.5", "0.25"])
        return text.format(p=p, q=q, r=r, n=number)

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            form = self.rng.randrange(7 if depth else 4)
            if form < 4:
                self.lines.append(indent + self._filled(self.rng.choice(_CHANGES)))
            elif form == 4:
                self.lines.append(f"{indent}if {self._filled(self.rng.choice(_TESTS))}:")
                self.block(indent + "    ", depth - 1)
                if self.rng.random() < 0.5:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1)
            elif form == 5:
                of = self._filled(self.rng.choice(["x", "{p}[:4]", "x[:n]"]))
                self.lines.append(f"{indent}for w in {of}:")
                self.lines.append(f"{indent}    t = t * 0.5 + w")
                self.block(indent + "    ", depth - 1)
            else:
                counter = f"c{len(self.lines)}"
                self.lines.append(f"{indent}{counter} = 0")
                self.lines.append(f"{indent}while {counter} < n % 4:")
                self.lines.append(f"{indent}    {counter} = {counter} + 1")
                self.block(indent + "    ", depth - 1)


def draw(seed: int) -> str:
    """Return the source of a function ``f(x, n, k)`` of a vector and two integers."""
    writer = _Writer(random.Random(seed))
    writer.block("    ", 2)
    writer.block("    ", 2)
    first = ["    a, b, c, t = [], [], [], 0.0", "    for v in x:", "        if v > k * 0.1:",
             "            a.append(v)", "            b.append(v * 2)"]  # fmt: skip
    ends = [f"len({p}), sum({p}), ({p}[-1] if {p} else -1.0)" for p in "abc"]
    lines = ["def f(x, n, k):", *first, *writer.lines, f"    return {', '.join(ends)}, t"]
    return "\n".join(lines) + "\n"
