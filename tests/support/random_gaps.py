"""Random functions with lists, tables and pairs of which the data say what is None."""

from __future__ import annotations

import random

from support import random_lists

_CHANGES = [
    "w[{i}] = {n}", "w[{i}] = None", "if w[{i}] is None: w[{i}] = {n}", "w.append({n})",
    "if w[{i}] is not None: t = t * 0.5 + w[{i}]", "t = t + w.count(None)", "w.append(None)",
    "t = t * 0.5 + sum(v for v in w if v is not None)", "w[{i}], w[{j}] = w[{j}], w[{i}]",
    "t = t - w.index(None) if None in w else t", "w = [v for v in w if v is not None] + [None] * 9",
    "if p[{i}] is None or p[{i}][0] < t: p[{i}] = ({n} * 1.0, c)", "p[{i}] = None",
    "p[{i}] = p[{j}]", "if p[{i}] is not None: t = t * 0.5 + p[{i}][0] + p[{i}][1]",
    "t = t + len([q for q in p if q])", "a[{i} % 3][{j} % 4] = {n}", "a[{i} % 3][{j} % 4] = None",
    "if a[{i} % 3][{j} % 4] is None: a[{i} % 3][{j} % 4] = {n}", "t = t + a[{i} % 3].count(None)",
    "if a[{i} % 3][{j} % 4] is not None and a[{i} % 3][{j} % 4] > t: t = t + 1.0",
    "s[{i}] = w[{j}]", "v = s[{i}]; t = t if v is None else t * 0.5 + v", "w[{i}] = s[{j}]",
]  # fmt: skip
_TESTS = [
    "n % 2 == 0", "x[n % 5] > t", "w[{i}] is None", "p[{i}] is None", "t > k", "None in w",
    "a[{i} % 3][{j} % 4] is None", "s[{i}] is not None",
]  # fmt: skip
_PLACES = ["n % 9", "k % 9", "int(abs(t)) % 9", "c % 9", "int(abs(x[n % 5]) * 7) % 9", "1", "-1"]


class Writer(random_lists.Writer):
    """Writes a function ``f(x, n, k)`` of a vector and two integers, with lists that hold None."""

    def _filled(self, text: str) -> str:
        number = self.rng.choice(self.numbers["w"])
        i, j = [self.rng.choice(_PLACES) for _ in range(2)]
        return text.format(n=number, i=i, j=j)

    def test(self) -> str:
        return self._filled(self.rng.choice(_TESTS))

    def change(self, indent: str) -> None:
        for _ in range(2):
            self.lines.append(indent + self._filled(self.rng.choice(_CHANGES)))

    def block(self, indent: str, depth: int) -> None:
        """Write some statements, or a loop over them."""
        if depth and self.rng.random() < 0.5:
            self.lines.append(
                f"{indent}for c in range({self.rng.choice(['4', 'n', '3', 'k + 2'])}):"
            )
            indent += "    "
        super().block(indent, depth)

    def function(self) -> str:
        kinds = [["t", "x[n % 5]", "0.25"], ["n * 0.5"], ["c", "n"], ["c", "x[k % 5]"]]
        self.numbers["w"] = self.rng.choice(kinds)
        first = self.rng.choice(["[None] * 10", "[None] * (n + 9)", "[None, 0.5] * 6"])
        self.lines = [
            "def f(x, n, k):", "    t, c = 0.0, 1", f"    w = {first}", "    p = [None] * 10",
            "    a = [[None] * 4 for _ in range(3)]", f"    s = {first}",
            # What writes None where all are None is not missed, nor are its errors.
            "    w[0], s[0], p[0], a[0][0] = 0.5, 0.25, (0.5, 1), 0.75",
        ]  # fmt: skip
        for _ in range(2):
            self.change("    ")
            self.block("    ", 2)
        ends = (
            "len(w), w.count(None), sum(v for v in w if v is not None), w[3] is None, t, "
            "sum([q[0] + q[1] for q in p if q is not None]), sum(r.count(None) for r in a), "
            "sum(v for r in a for v in r if v is not None), sum(v or 0 for v in s)"
        )
        return "\n".join([*self.lines, f"    return {ends}"]) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    return Writer(random.Random(seed)).function()
