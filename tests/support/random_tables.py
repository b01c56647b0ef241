"""Random functions with tables: lists, and lists of lists, written at places that are data."""

from __future__ import annotations

import random

from support import random_lists

_CHANGES = [
    "{p}[{i}][{j}] = {n}", "{p}[{i}][{j}] += {n}", "{p}[{i}][{j}] = {q}[{i}][{j}] * 0.5 + {n}",
    "w[{i} * 3 + {j}] = {n}", "t = t * 0.5 + {p}[{i}][{j}]", "w[{j}] += {p}[{i}][{j}]",
    "t = t * 0.5 + w[{i}] - w[-1 - {j}]", "o[{i}] = {n}", "w[{i}], w[{j}] = w[{j}], w[{i}]",
    "t = t + sum({p}[{i}]) * 0.1", "t = max({p}[{i}]) - len({p})", "row[{j}] = {n}",
    "t = row[{j}] + t * 0.5", "t = sum(map(sum, {p})) * 0.01", "t = float({p}[{i}] == {q}[{l}])",
    "t = t + sum(r[{j}] for r in {p})", "{p}[{i}][1:3] = [{n}, t]", "for r in {p}: r[{j}] += 1.0",
    "t = t + sum(u * e for e, u in enumerate({p}[{i}]))", "t = np.array({p}[{i}][:4]).sum()",
]  # fmt: skip
#: What gives lists other names, or puts others in their place: done for all examples.
_NAMES = [
    "{p}[{i}], {p}[{l}] = {p}[{l}], {p}[{i}]", "{p}[{i}] = {q}[{l}][:]", "row = {p}[{i}]", "o = w",
    "{p} = [r[:] for r in {q}]", "{p} = [[{n}] * 4 for _ in range(3)]", "w = [0.0] * 12",
    "{q} = {p}", "w = [{n} + c for c in range(12)]", "{p}, {q} = {q}, {p}", "row = {p}[{i}][:]",
    "o = w[:]", "w = w[3:] + w[:3]", "{p}[{i}].append({n})", "{p}.append([{n}] * 4)", "row = w",
    "w.reverse()", "w.sort()", "{p}.reverse()", "{p}.insert(0, {p}.pop())",
]  # fmt: skip
_TESTS = ["n % 2 == 0", "{p}[{i}][{j}] > t", "x[n % 5] > t", "w[{i}] > 0", "t > k", "len(row) > 3"]
#: What goes through lists that the loop's body may change.
_HEADS = [
    "for u in w:", "for c, u in enumerate({p}[{i}]):", "for u, e in zip(w, {q}[{l}]):",
    "for u in {p}[{i}]:", "for c, (u, e) in enumerate(zip({q}[{i}], w[::-1])):",
    "for u in reversed(w):", "for u in map(float, {p}[{i}]):", "for u, *_ in {p}:",
]  # fmt: skip
_PLACES = ["n % 3", "k % 3", "int(abs(t)) % 3", "c % 3", "int(x[n % 5] * 7) % 3", "1", "-1"]


class Writer(random_lists.Writer):
    """Writes a function ``f(x, n, k)`` of a vector and two integers, with two tables and a list."""

    def _filled(self, text: str) -> str:
        p, q = self.rng.sample("ab", 2)
        number = self.rng.choice(["t", "x[n % 5]", "x[k % 5] + t", "n * 0.5", "0.25", "c"])
        i, j, other = [self.rng.choice(_PLACES) for _ in range(3)]
        return text.format(p=p, q=q, n=number, i=i, j=j, l=other)

    def test(self) -> str:
        return self._filled(self.rng.choice(_TESTS))

    def change(self, indent: str) -> None:
        for _ in range(2):
            named = len(indent) == 4 and self.rng.random() < 0.5
            self.lines.append(indent + self._filled(self.rng.choice(_NAMES if named else _CHANGES)))

    def block(self, indent: str, depth: int) -> None:
        """Write some statements, or a loop over them."""
        if depth and self.rng.random() < 0.5:
            head = f"for c in range({self.rng.choice(['4', 'n', '3', 'k + 2'])}):"
            through = self.rng.random() < 0.4
            self.lines.append(indent + (self._filled(self.rng.choice(_HEADS)) if through else head))
            indent += "    "
            if through:
                self.lines.append(f"{indent}t = t * 0.5 + u")
        super().block(indent, depth)

    def function(self) -> str:
        self.lines = [
            "def f(x, n, k):",
            "    t, c = 0.0, 1",
            "    a = [[0.0] * 4 for _ in range(3)]",
            f"    b = [[{self.rng.choice(['1.0', '0', 'x[0]', 'i * j'])} for j in range(4)]"
            " for i in range(3)]",
            "    w = [0.5] * 12",
            "    o, row = w, a[1]",
        ]
        for _ in range(3):
            self.change("    ")
            self.block("    ", 2)
        ends = "a[1][2], b[2][-1], sum(map(sum, a)), sum(map(sum, b)), sum(row), sum(w), o[3], t"
        return "\n".join([*self.lines, f"    return {ends}"]) + "\n"


def draw(seed: int) -> str:
    """Return the source of a function."""
    return Writer(random.Random(seed)).function()
