"""Random functions with dicts and sets whose keys are data: as source, with arguments."""

from __future__ import annotations

import collections
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
]  # fmt: skip
#: What the functions use.
HELPERS = {"Box": Box, "Counter": collections.Counter, "defaultdict": collections.defaultdict}


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
        f"    {held} = {rng.choice(['{}', '{}', '{1: 2}'] if len(keys) > 3 else ['{}'])}",
        "    s, c, w = set(), Counter(), defaultdict(float)",
    ]  # fmt: skip
    usable = [x for x in _CHANGES if len(keys) != 3 or not any(
        each in x for each in ("t * 0.5 + key", "key * u", "max(", "sorted", "sum(a)", "[3]",
                               "0.5 * t", "most_common", "a.append"))]  # fmt: skip

    def block(indent: str, depth: int) -> None:
        for _ in range(rng.randint(1, 3)):
            form = rng.randrange(5 if depth else 2)
            if form < 2:
                text = rng.choice(usable).replace("{d}", held).replace("{i}", indent)
                text = text.replace("{k}", rng.choice(keys)).replace("{v}", rng.choice(values))
                lines.append(indent + text.replace("{{}}", "{}"))
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
