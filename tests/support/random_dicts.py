"""Random functions with dicts and sets whose keys are data: as source, with arguments."""

from __future__ import annotations

import collections
import copy
import random
from typing import Any

import numpy as np

from support.random_lists import Box

_CHANGES = [
    "{d}[{k}] = {v}", "{d}[{k}] = {d}.get({k}, 0) + 1", "{d}[{k}] = {d}.get({k}, 0) + 1",
    "t = t + {d}.get({k}, 2)", "t = t + {d}.setdefault({k}, {v})", "t = t + {d}.pop({k}, 0)",
    "t = t + len({d})", "t = t + sum({d}.values())", "t = t + max({d}, default=0)",
    "for key in {d}:\n{i}    t = t * 0.5 + key",
    "for key, u in {d}.items():\n{i}    t = t + key * u",
    "if {k} in {d}:\n{i}    {d}[{k}] += 1\n{i}else:\n{i}    {d}[{k}] = 0",
    "if {k} in {d}:\n{i}    del {d}[{k}]", "if {d}:\n{i}    t = t + max({d}, key={d}.get)",
    "t = t + sorted({d})[0] if {d} else t", "{d} = {{}}", "{d} = dict({d})", "{d}.clear()",
    "s.add({k})", "s.add({k})", "s.discard({k})", "t = t + len(s)",
    "if {k} in s:\n{i}    t = t + 1", "t = t + (max(s) if s else -1)",
    "if {k} not in s:\n{i}    s.add({k})\n{i}    a.append({k})", "a.append({k})", "t = t + sum(a)",
    "s.clear()", "t = 0.5 * t + {k}", "c[{k}] += 1", "t = t + c[{k}]",
    "t = t + c.most_common(1)[0][0] if c else t", "w[{k}] += 0.5", "t = t + w[{k}]",
    "{d}[3] = {v}",
    "r.add({k})", "r.add({k})", "t = t + len(s | r)", "t = t + len(s & r) - len(r - s)",
    "t = t + len(s ^ r)", "s |= r", "s -= r", "s &= r", "s ^= «{k}»", "r |= s",
    "if s <= r:\n{i}    t = t + 1", "t = t + (1 if s == r else 2)", "s.update(r)",
    "s.update([{k}, 1])", "r.update(s - «{k}»)", "t = t + (3 if s.isdisjoint(r) else 0)",
    "t = t + (1 if {k} in s.union(r) else 0)", "t = t + len(«{k}, 1, {k}»)",
    "{d}.update(«{k}: {v}»)", "{d} = «**{d}, {k}: {v}»", "{d} |= «{k}: {v}»",
    "if {d} == «{k}: {v}»:\n{i}    t = t + 1", "t = t + len({d} | «{k}: {v}»)",
    "{d} = «u: y for u, y in {d}.items() if u > 1»", "t = t + len(«u for u in {d} if u > 1»)",
    "t = t + sum(«u: y for u, y in zip(x, x[1:]) if u > k».values())",
    "c.update([{k}])", "t = t + len(Counter(u for u in x if u > k))", "t = t + len(copy({d}))",
    "e = copy({d})\n{i}{d}[{k}] = {v}\n{i}t = t + len(e)",
]  # fmt: skip
#: What only keys that are single numbers can do.
_OF_NUMBERS = (
    "t * 0.5 + key", "key * u", "max(", "sorted", "sum(a)", "[3]", "0.5 * t", "most_common",
    "a.append", "u > 1", ", 1]", ", 1,",
)  # fmt: skip
#: What the functions use.
HELPERS = {
    "Box": Box, "Counter": collections.Counter, "defaultdict": collections.defaultdict,
    "copy": copy.copy,
}  # fmt: skip


#: Where brackets stand for braces in `_CHANGES`.
_BRACES = str.maketrans("«»", "{}")
_DICTS = [
    "{}", "{}", "{1: 2}", "dict(zip(x, x[1:]))", "{u: 1 for u in x}", "{u: 1 for u in x if u > k}",
    "dict.fromkeys(x, 1)", "dict((u, 2) for u in x if u != n)",
]  # fmt: skip
_SETS = ["set()", "set()", "{u for u in x if u > n}", "set(x)", "{n, k}", "set(u for u in x[:3])"]


def draw(seed: int) -> str:
    """Return the source of a function ``f(x, n, k)`` of a vector of integers and two integers."""
    rng = random.Random(seed)
    held = rng.choice(["d", "d", "o.d"])
    keys = rng.choice([["v", "n", "k", "x[1]", "2"], ["v * 0.5", "x[2] * 0.5"], ["v", "(v, n)"]])
    if "(v, n)" in keys:
        keys = ["(v, n)", "(n, v)", "(k, 1)"]
    values = rng.choice([["1", "n", "v"], ["0.5", "t", "v * 0.5"]])
    lines = [
        "def f(x, n, k):", "    t, v, a, o = 0.0, x[0], [], Box()",
        f"    {held} = {rng.choice(_DICTS if len(keys) > 3 else ['{}'])}",
        f"    s = {rng.choice(_SETS if len(keys) > 3 else ['set()'])}",
        "    r, c, w = set(), Counter(), defaultdict(float)",
    ]  # fmt: skip
    are_tuples = "(v, n)" in keys
    usable = [x for x in _CHANGES if not (are_tuples and any(each in x for each in _OF_NUMBERS))]

    def block(indent: str, depth: int) -> None:
        for _ in range(rng.randint(1, 3)):
            form = rng.randrange(5 if depth else 2)
            if form < 2:
                text = rng.choice(usable).replace("{d}", held).replace("{i}", indent)
                text = text.replace("{k}", rng.choice(keys)).replace("{v}", rng.choice(values))
                lines.append(indent + text.replace("{{}}", "{}").translate(_BRACES))
            elif form == 2:
                test = rng.choice(["x[2] > 2", "n > 2", f"len({held}) > 1", "v > k", "k == 1"])
                lines.append(f"{indent}if {test}:")
                block(indent + "    ", depth - 1)
                if rng.random() < 0.5:
                    lines.append(f"{indent}else:")
                    block(indent + "    ", depth - 1)
            elif form == 3:
                lines.append(f"{indent}for v in x:")
                block(indent + "    ", depth - 1)
            else:
                counter = f"i{len(lines)}"
                lines.append(f"{indent}{counter} = 0")
                lines.append(f"{indent}while {counter} < n:")
                lines.append(f"{indent}    {counter} += 1")
                lines.append(f"{indent}    v = x[{counter} % 6]")
                block(indent + "    ", depth - 1)

    block("    ", 2)
    block("    ", 2)
    ends = ["t", f"len({held})", f"sum({held}.values())", "len(s)", "len(c)", "len(a)"]
    lines.append(f"    return {', '.join(ends)}")
    return "\n".join(lines) + "\n"


def arguments(seed: int) -> list[Any]:
    """Return some examples."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 5, (5, 6)), rng.integers(0, 5, 5), rng.integers(0, 4, 5)]
