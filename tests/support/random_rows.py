"""Random functions with lists whose elements are lists, which have other names, too: as source."""

from __future__ import annotations

import random

_CHANGES = [
    "rows.append([v, t])", "rows.append([v, t])", "rows.append(cur)", "cur = [v, 1.0]",
    "cur = [t, v]", "cur[0] = t", "cur[1] += 1.0", "rows[-1][1] += 1.0", "rows[0][0] = v",
    "rows[-1] = cur", "rows[k % len(rows)] = [t, v]", "t = t * 0.5 + rows[-1][0]",
    "t = t + sum(r[1] for r in rows) * 0.1", "for r in rows:\n{i}    t = t * 0.5 + r[0] - r[1]",
    "last = rows[-1]", "t = t + last[1] * 0.1", "last[0] = v", "rows = rows[1:] + [cur]",
    "if len(rows) > 1:\n{i}    rows.pop()", "others = rows[:]", "others = list(rows)",
    "t = t + others[-1][0] * 0.2", "rows.sort()", "t = t + len(rows)", "rows.insert(0, cur)",
    "o.a = cur", "o.a[1] = t", "t = t + o.a[0] * 0.3", "cur = rows[-1]", "rows.reverse()",
    "cur = [*cur]", "rows.extend([cur, [v, v]])", "rows = [[t, v], cur]", "o.a = rows[0]",
    "rows = [r for r in rows if r[0] > t] or [cur]", "t = t + max(r[0] for r in rows)",
    "d = {'r': cur}\n{i}d['r'][0] = v",
    "if rows[-1][0] == v:\n{i}    rows[-1][1] += 1.0\n{i}else:\n{i}    rows.append([v, 1.0])",
]  # fmt: skip
_TESTS = ["x[2] > 1", "n > 2", "v > t", "k == 1", "len(rows) > 2"]
_BEGINS = ["[[v, t]]", "[cur]", "[[0.0, 1.0], cur]", "[[u, 0.0] for u in x]"]


def draw(seed: int) -> str:
    """Return the source of a function ``f(x, n, k)`` of a vector of integers and two integers."""
    rng = random.Random(seed)
    lines = [
        "def f(x, n, k):", "    t, v, o = 0.0, x[0], Box()", "    cur = [v, 0.0]",
        "    last = [0.0, t]", f"    rows = {rng.choice(_BEGINS)}", "    others = [cur]",
        "    o.a = [t, t]",
    ]  # fmt: skip
    usable = rng.sample(_CHANGES, rng.randint(5, 14))

    def block(indent: str, depth: int) -> None:
        for _ in range(rng.randint(1, 3)):
            form = rng.randrange(5 if depth else 2)
            if form < 2:
                lines.append(indent + rng.choice(usable).replace("{i}", indent))
            elif form == 2:
                lines.append(f"{indent}if {rng.choice(_TESTS)}:")
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
                lines.append(f"{indent}    v = x[{counter} % 5]")
                block(indent + "    ", depth - 1)

    block("    ", 2)
    block("    ", 2)
    lines.append(
        "    return t, len(rows), rows[-1][0], rows[0][1], cur[0], cur[1], last[0], o.a[0]"
    )
    return "\n".join(lines) + "\n"
