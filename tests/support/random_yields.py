"""Random functions with generators whose branches and loops follow data, and what takes items."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

#: What the functions use.
HELPERS = {"itertools": itertools}

_INNER = [
    "u += 1.0", "u = u * 0.5 + v", "c += 1", "a[n % 4] += v", "a[c % 4] = u", "held.append(v)",
    "held[0] = held[0] + 1", "u, v = v, u", "n += 1",
]  # fmt: skip
_TESTS = ["v > 0", "u > v", "n % 2 == 0", "c % 3 != 1", "a[n % 4] > v", "c < k", "len(held) < 4"]
_OUTER = [
    "t = t + w", "t = t * 0.5 - w", "c += 1", "a[c % 4] += 0.5", "a[n % 4] = w", "n = n + 1",
    "held.append(w)", "held[-1] = t", "last = w", "kept = w",
]  # fmt: skip
_ENDS = ["w > 1", "c > k", "t > 2", "n > 5", "a[0] > w", "w < 0"]
_AROUND = [
    "{g}", "{g}", "{g}",
    "(w * 2 for w in {g} if w > 0)", "map(lambda w: w + 1, {g})",
    "filter(lambda w: w > -1, {g})", "itertools.islice({g}, 3)",
    "itertools.islice({g}, 1, None, 2)",
    "itertools.takewhile(lambda w: w < 1.5, {g})", "itertools.dropwhile(lambda w: w > 0, {g})",
    "itertools.accumulate({g})", "itertools.chain({g}, x[:2])", "itertools.chain(x[:1], {g})",
    "(b - a_ for a_, b in itertools.pairwise({g}))", "(w + i for i, w in enumerate({g}))",
    "(w - z for w, z in zip({g}, x))", "(w * z for z, w in zip(x[:3], {g}))",
    "(sum(q) for _, q in itertools.groupby({g}, key=lambda w: w > 0))", "outer({g})",
]  # fmt: skip
_TAKEN = [
    "t = t + sum({g})", "t = t + max({g}, default=0.0)", "t = t - min({g}, default=1.0)",
    "n += len(list({g}))", "n += sum(1 for _ in {g})",
    "t = t + (1.0 if any(w > 1 for w in {g}) else 0.5)",
    "t = t + (1.0 if all(w < 1 for w in {g}) else 0.5)", "held = [w for w in {g}] + [0.0]",
    "t = t - sum(w for w in {g} if w > 0)", "held = held + list({g})",
    "t = t + next((w for w in {g} if w > 0.5), -1.0)",
]  # fmt: skip


@dataclass
class Writer:
    """Writes a function ``f(x, n, k)`` of a vector of numbers and two integers."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    #: How many generators there are.
    count: int = 0

    def _one(self, choices: list[str]) -> str:
        return self.rng.choice(choices)

    def generator(self) -> None:
        """Write a generator function ``g1(x, k)``, which may be one of the function's own."""
        self.count += 1
        rng = self.rng
        self.lines += [f"    def g{self.count}(x, k):", "        nonlocal c, n", "        u = 0.25"]
        kind = rng.randrange(4)
        if kind == 3:
            test = self._one(["u < 2 and c < 30", "c < k + 3"])
            self.lines += ["        v = x[0]", f"        while {test}:"]
            self.lines += [
                f"            {line}" for line in ("u += 0.75", "c += 1", "v = x[c % 5]")
            ]
        else:
            ways = ["for v in x:", "for i, v in enumerate(x):", "for v in x[1:]:"]
            self.lines.append("        " + ways[kind])
        self.block("            ", 2, True)
        if rng.random() < 0.4:
            test = rng.choice(["u > 0", "c > 2", "n > k"])
            self.lines += [f"        if {test}:", "            yield u"]

    def block(self, indent: str, depth: int, is_inner: bool, in_loop: bool = True) -> None:
        """Write some statements of a generator, or of a loop over one."""
        rng, tests = self.rng, _TESTS if is_inner else _ENDS
        for _ in range(rng.randint(1, 3)):
            form = rng.randrange(7 if depth else 3)
            if form < 3:
                self.lines.append(indent + self._one(_INNER if is_inner else _OUTER))
            elif form < 5:
                self.lines.append(f"{indent}if {self._one(tests)}:")
                self.block(indent + "    ", depth - 1, is_inner)
                if rng.random() < 0.3:
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", depth - 1, is_inner)
            elif is_inner:
                if self.count > 1 and rng.random() < 0.3:
                    other = rng.randrange(1, self.count)
                    self.lines.append(f"{indent}yield from g{other}(x[:2], k)")
                else:
                    self.lines.append(f"{indent}yield {rng.choice(['v', 'u', 'v + u', 'a[0]'])}")
            else:
                ends = ["break", "continue", "return t, n, c, last, kept, 0.0, 0, a[1], a[2]"]
                self.lines += [f"{indent}if {self._one(tests)}:", f"{indent}    {self._one(ends)}"]
        if is_inner and depth == 2:
            self.lines.append(f"{indent}{rng.choice(['if v > 0: ', 'if u < 1: ', ''])}yield v")

    def source(self) -> str:
        """Return what gives items."""
        return self._one(_AROUND).format(g=f"g{self.rng.randrange(1, self.count + 1)}(x, k)")

    def use(self, indent: str) -> None:
        """Write what takes items."""
        rng = self.rng
        if rng.random() < 0.5:
            self.lines.append(f"{indent}for w in {self.source()}:")
            self.block(indent + "    ", 2, False)
            if rng.random() < 0.2:
                self.lines += [f"{indent}else:", f"{indent}    t = t - 1"]
        elif rng.random() < 0.2:
            self.lines.append(f"{indent}if t > 0:")
            self.use(indent + "    ")
        else:
            self.lines.append(indent + self._one(_TAKEN).format(g=self.source()))

    def function(self) -> str:
        self.lines = [
            "    t, c, last, kept, held = 0.0, 0, 0.0, 0.0, [0.5]",
            "    a = np.array([0.5, -1.0, 2.0, 0.0])",
            "    def outer(items):",
            "        for w in items:",
            "            if w > -0.5: yield w * 0.5",
        ]
        for _ in range(self.rng.randint(1, 3)):
            self.generator()
        for _ in range(self.rng.randint(1, 3)):
            self.use("    ")
        self.lines.append("    return t, n, c, last, kept, held[0], len(held), a[0], a[3]")
        return "def f(x, n, k):\n" + "\n".join(self.lines) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    return Writer(random.Random(seed)).function()
