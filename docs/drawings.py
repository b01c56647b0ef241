"""Draw the pictures of `how-it-works.md`: ``python docs/drawings.py`` writes `docs/drawings/`.

Each is one SVG without scripts or fonts of its own, in light and dark as the reader's system is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent / "drawings"
STYLE = """
  .page { fill: #ffffff; } .ink { fill: #1f2328; } .soft { fill: #59636e; }
  .box { fill: #eef6f5; stroke: #2f7f79; } .plain { fill: #f6f8fa; stroke: #8c959f; }
  .warm { fill: #fff3e0; stroke: #b26a00; } .on { fill: #2f9d94; } .off { fill: #e4e8ec; }
  .new { fill: #d98200; } .line { stroke: #59636e; fill: none; } .head { fill: #59636e; }
  text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
  .code { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
  .small { font-size: 11.5px; } .title { font-size: 15px; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .ink { fill: #f0f6fc; } .soft { fill: #9198a1; }
    .box { fill: #12302e; stroke: #4fb3aa; } .plain { fill: #161b22; stroke: #656c76; }
    .warm { fill: #33230a; stroke: #e0a040; } .on { fill: #3fb6ab; } .off { fill: #2a313a; }
    .new { fill: #e8a33d; } .line { stroke: #9198a1; } .head { fill: #9198a1; }
  }"""


class Drawing:
    """Shapes on a page of a width and height, in pixels."""

    def __init__(self, width: int, height: int, label: str) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(label)}">\n<style>{STYLE}\n</style>\n<defs><marker id="head" '
            'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
            f'<rect class="page" width="{width}" height="{height}"/>',
        ]

    def text(
        self, x: float, y: float, text: str, style: str = "ink", anchor: str = "middle"
    ) -> None:
        """Write a line with its baseline at (x, y)."""
        self.parts.append(
            f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}" xml:space="preserve">'
            f"{escape(text)}</text>"
        )

    def rect(self, x: float, y: float, width: float, height: float, style: str, r: int = 6) -> None:
        """Draw a rectangle with round corners."""
        self.parts.append(
            f'<rect class="{style}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{r}"/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        lines: Iterable[str],
        style: str = "box",
        title: str = "",
        code: bool = False,
    ) -> float:
        """Draw a box with lines of text in it; return its height."""
        lines = list(lines)
        top = 24 if title else 8
        height = top + 17 * len(lines) + 8
        self.rect(x, y, width, height, style)
        if title:
            self.text(x + width / 2, y + 18, title)
        for i, line in enumerate(lines):
            place = (
                (x + 10, "code ink", "start") if code else (x + width / 2, "small soft", "middle")
            )
            self.text(place[0], y + top + 14 + 17 * i, line, place[1], place[2])
        return height

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw an arrow from one place to another."""
        self.parts.append(f'<path class="line" d="M{x1} {y1} L{x2} {y2}" marker-end="url(#head)"/>')

    def svg(self) -> str:
        """Return the picture."""
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def way() -> str:
    """From the user's function to arrays."""
    d = Drawing(860, 306, "The way of a call: function, graph, plan, kernels and NumPy, arrays")
    d.text(20, 30, "The way of a call", "ink title", "start")
    d.box(
        20,
        48,
        170,
        ["def f(x):", "  y = x * 2", "  if y > 3:", "    y = y - 1", "  return y"],
        "plain",
        "your function",
        code=True,
    )
    d.arrow(190, 112, 236, 112)
    d.text(213, 104, "trace", "small soft")
    d.box(
        238,
        48,
        190,
        ["%1 = multiply(x, 2)", "%2 = greater(%1, 3)", "%3 = cond(%2, %1)", "  {subtract} {—}"],
        title="graph, of one example",
        code=True,
    )
    d.arrow(428, 112, 474, 112)
    d.text(451, 104, "passes", "small soft")
    d.box(
        476,
        48,
        170,
        [
            "what to hoist, what to",
            "batch, what to compile;",
            "branches, loops and",
            "maps made ready",
        ],
        title="plan",
    )
    d.arrow(646, 88, 692, 70)
    d.arrow(646, 136, 692, 170)
    d.box(694, 44, 150, ["an example in each", "lane, on all cores"], "warm", "kernels")
    d.box(694, 150, 150, ["a call for all examples"], "plain", "NumPy")
    d.text(213, 206, "once a call; once in all for lw.function", "small soft")
    d.text(572, 206, "made once a graph", "small soft", "start")
    d.text(572, 222, "and looked up then", "small soft", "start")
    d.arrow(769, 110, 769, 148)
    d.arrow(769, 200, 769, 240)
    d.box(694, 242, 150, ["fresh and writable"], "plain", "arrays")
    d.box(20, 242, 170, ["(n, ...): n examples"], "plain", "arrays")
    d.parts.append('<path class="line" d="M190 266 L561 266 L561 150" marker-end="url(#head)"/>')
    d.text(375, 258, "the numbers come in here: the graph was made without", "small soft")
    return d.svg()


def pushing() -> str:
    """What becomes of operations under a map."""
    d = Drawing(860, 268, "A map is pushed into operations: hoisted, batched, or looped")
    d.text(20, 30, "A map, pushed into each operation", "ink title", "start")
    d.box(
        20,
        48,
        230,
        [
            "for each x of the batch:",
            "  s = sqrt(sum(w * w))",
            "  y = x @ w",
            "  z = y / s",
            "  h = py_func(host, z)",
        ],
        "plain",
        "one example",
        code=True,
    )
    d.arrow(250, 110, 300, 110)
    rows: list[tuple[str, str, str, str]] = [
        ("s = sqrt(sum(w * w))", "hoisted", "does not depend on x: once", "box"),
        ("Y = X @ w", "batched", "one NumPy call for all: (n, k) @ (k,)", "box"),
        ("Z = Y / s", "batched", "(n,) / ()", "box"),
        ("for z in Z: h = host(z)", "looped", "has no rule: one after the other", "warm"),
    ]
    for i, (code, fate, why, style) in enumerate(rows):
        y = 48 + 48 * i
        d.rect(304, y, 536, 40, style)
        d.text(316, y + 25, code, "code ink", "start")
        d.text(560, y + 25, fate, "ink", "middle")
        d.text(604, y + 25, why, "small soft", "start")
    d.text(
        20,
        256,
        "The batch is axis 0 of batched values. lw.explain shows this table for your function.",
        "small soft",
        "start",
    )
    return d.svg()


def collatz(n: int) -> int:
    """Return after how many steps n reaches 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def lanes() -> str:
    """A loop that examples leave at different turns, with and without refilling."""
    examples = [6, 1, 13, 5, 4, 11, 2, 3]
    turns = [collatz(n) for n in examples]
    last = max(turns)
    d = Drawing(860, 118 + 14 * last, "Eight examples in eight lanes of a vector register")
    d.text(20, 30, "A while loop in a kernel: an example in each lane", "ink title", "start")
    for left, refill in ((150, False), (560, True)):
        d.text(left + 100, 58, "refilled" if refill else "masked", "ink")
        for lane, n in enumerate(examples):
            d.text(left + 25 * lane + 11, 78, str(n), "code soft")
        remaining, fates, more = list(turns), ["on"] * len(turns), itertools.cycle([8, 14, 5, 12])
        for row in range(last):
            for lane in range(len(turns)):
                if remaining[lane] == 0 and refill:
                    remaining[lane], fates[lane] = collatz(next(more)), "new"
                style = fates[lane] if remaining[lane] else "off"
                remaining[lane] -= bool(remaining[lane])
                d.rect(left + 25 * lane, 86 + 14 * row, 22, 12, style, 2)
    for row in range(last):
        d.text(136, 96 + 14 * row, str(row + 1), "small soft", "end")
    d.text(20, 96, "turn", "small soft", "start")
    d.text(20, 78, "n =", "code soft", "start")
    bottom = 108 + 14 * last
    d.rect(370, 100, 12, 12, "on", 2)
    d.text(388, 110, "the lane computes", "small soft", "start")
    d.rect(370, 122, 12, 12, "off", 2)
    d.text(388, 132, "masked: it is done", "small soft", "start")
    d.rect(370, 144, 12, 12, "new", 2)
    d.text(388, 154, "another example", "small soft", "start")
    d.text(
        20,
        bottom,
        "while n != 1: ... for the n above. The loop ends when all of its lanes are done; where "
        "lanes would wait too long, they are given other examples.",
        "small soft",
        "start",
    )
    return d.svg()


def backward() -> str:
    """A gradient: a linear graph, run backward."""
    d = Drawing(860, 236, "The gradient of y = exp(x * w): linearize, then transpose")
    d.text(20, 30, "A gradient: linearize, then transpose", "ink title", "start")
    d.box(20, 52, 210, ["a = x * w", "y = exp(a)"], "plain", "the function", code=True)
    d.arrow(230, 84, 290, 84)
    d.text(260, 76, "jvp rules", "small soft")
    d.box(292, 52, 240, ["a = x * w", "y = exp(a)"], title="computes, and keeps w and y", code=True)
    d.box(292, 136, 240, ["da = dx * w", "dy = da * y"], "warm", "linear in dx", code=True)
    d.arrow(412, 118, 412, 135)
    d.text(420, 131, "residuals", "small soft", "start")
    d.arrow(532, 168, 592, 168)
    d.text(562, 160, "transpose", "small soft")
    d.box(594, 136, 246, ["ca = cy * y", "cx = ca * w"], "warm", "the same, backward", code=True)
    d.text(717, 124, "run on cy = 1, it gives the gradient cx", "small soft")
    d.text(
        20,
        226,
        "Both are graphs as any other: mapped, compiled, and differentiated again.",
        "small soft",
        "start",
    )
    return d.svg()


DRAWINGS: dict[str, Callable[[], str]] = {
    "way": way,
    "pushing": pushing,
    "lanes": lanes,
    "backward": backward,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
