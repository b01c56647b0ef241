"""Random functions with lists of lists that grow as the data say and have other names: source."""

from __future__ import annotations

import random

_CHANGES = [
    "rows.append([v])", "rows.append([])", "rows[-1].append(v)", "rows[0].append(t)",
    "rows[k % len(rows)].append(v)", "rows[k % len(rows)] = [t, v, t]", "rows.append([v, t])",
    "cur = [v]", "cur = []", "cur.append(v)", "rows.append(cur)", "cur = rows[-1]",
    "cur = rows[k % len(rows)]", "if len(rows) > 2:\n{i}    rows.pop()",
    "if cur:\n{i}    rows.append(cur)\n{i}    cur = []",
    "if rows[-1]:\n{i}    t += rows[-1].pop()", "if cur:\n{i}    cur[-1] = t",
    "if rows[0]:\n{i}    rows[0][0] += 1.0", "rows.insert(0, [t])", "rows.reverse()",
    "rows.sort(key=len)", "others = rows[:2]", "others[0].append(v)", "others.append([t])",
    "t += len(rows[-1]) + 0.1 * sum(cur)", "for r in rows:\n{i}    t += 0.1 * len(r) + sum(r)",
    "t += len(max(rows, key=len))", "groups.setdefault(k % 3, []).append(v)",
    "groups.setdefault(int(v), []).append(t)", "if k in groups:\n{i}    groups[k].append(v)",
    "groups[k] = [v, t]", "groups[k] = cur", "t += sum(len(g) for g in groups.values())",
    "rows.append(groups.get(k, [v]))", "rows.extend([[v], [t, v]])", "cur = [*cur, v]",
    "cur = rows[0] if len(rows) > 1 else cur", "box.row = cur", "box.row.append(v)",
    "box.row = rows[-1]", "t += len(box.row)", "rows = [r for r in rows if r] or [[t]]",
]  # fmt: skip
_TESTS = ["x[2] > 1", "n > 2", "v > t", "k == 1", "len(rows) > 2", "len(cur) > 1", "rows[-1]"]
_BEGINS = ["[[v, t]]", "[cur]", "[[0.0], cur]", "[[]]", "[[], [], []]", "[[v] for _ in range(4)]"]


def draw(seed: int) -> str:
    """Return the source of a function ``f(x, n, k)`` of a vector of integers and two integers."""
    rng = random.Random(seed)
    lines = [
        "def f(x, n, k):", "    t, v, box = 0.0, x[0], Box()", "    cur = [v]", "    groups = {}",
        f"    rows = {rng.choice(_BEGINS)}", "    others = [[t]]", "    box.row = [t]",
    ]  # fmt: skip
    usable = rng.sample(_CHANGES, rng.randint(4, 10))

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
            else:
                lines.append(f"{indent}for v in x:")
                lines.append(f"{indent}    k = int(v)")
                block(indent + "    ", depth - 1)

    block("    ", 2)
    block("    ", 2)
    lines.append("    lengths = sum((i + 1) * len(r) for i, r in enumerate(rows))")
    lines.append("    total = sum(sum(r) for r in rows) + sum(sum(g) for g in groups.values())")
    lines.append(
        "    return t, len(rows), lengths, total, len(cur), sum(cur), len(box.row), len(others)"
    )
    return "\n".join(lines) + "\n"
