"""The chart of the suite: how many times Lanewise's time each peer takes, on a log scale.

Plain SVG with nothing to load. Colours are those of Okabe and Ito, which the colour-blind can tell
apart, and each system has its own shape too; text and background follow the reader's light or dark
theme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from benchmarks.suite.measure import LANEWISE, Row
from benchmarks.suite.report import COLUMNS, milliseconds

WIDTH, LEFT, RIGHT, TOP, STEP, LINE = 880, 254, 24, 92, 26, 17

#: The colour and the shape of each column: a path around the origin.
CIRCLE = "M-5.5,0a5.5,5.5 0 1,0 11,0a5.5,5.5 0 1,0 -11,0Z"
MARKS = {
    "Numba": ("#0072B2", CIRCLE),
    "guvectorize": ("#56B4E9", "M0,-6.5L6.5,0L0,6.5L-6.5,0Z"),
    "JAX": ("#D55E00", "M-5,-5H5V5H-5Z"),
    "torch": ("#E69F00", "M0,-6L6,5H-6Z"),
    "torch.compile": ("#CC79A7", "M0,6L6,-5H-6Z"),
    "Dr.Jit": ("#009E73", "M-2,-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z"),
}

STYLE = """
  .page { fill: #ffffff; } .ink { fill: #1f2328; } .soft { fill: #59636e; }
  .grid { stroke: #d1d9e0; } .one { stroke: #1f2328; stroke-width: 2; }
  .mark { stroke: #ffffff; }
  text { font: 13px -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
  .small { font-size: 11.5px; } .title { font-size: 16px; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .ink { fill: #f0f6fc; } .soft { fill: #9198a1; }
    .grid { stroke: #3d444d; } .one { stroke: #f0f6fc; } .mark { stroke: #0d1117; }
  }
"""


def _ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten and their double and half between two numbers."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    wide = high / low > 300
    steps = (1,) if wide else (1, 2, 5)
    return [s * 10.0**p for p in powers for s in steps if low <= s * 10.0**p <= high]


def chart(rows: Sequence[Row], means: Sequence[str] = (), setting: Sequence[str] = ()) -> str:
    """Return the chart as SVG.

    Parameters
    ----------
    rows
        What was measured; rows without Lanewise or without a peer are left out.
    means
        What to say below the title.
    setting
        What it was measured on and with: a line each, at the end.
    """
    rows = [row for row in rows if LANEWISE in row.timings and len(row.timings) > 1]
    points: list[tuple[int, str, float]] = []
    for place, row in enumerate(rows):
        own = row.timings[LANEWISE].lowest
        for title, systems in COLUMNS.items():
            for name in systems:
                if name in row.timings:
                    points.append((place, title, row.timings[name].lowest / own))
    ratios = [ratio for _, _, ratio in points] or [1.0]
    low, high = min(0.8, min(ratios) / 1.15), max(2.0, max(ratios) * 1.15)
    height = TOP + STEP * len(rows) + 44 + LINE * len(setting)

    def x(ratio: float) -> float:
        scale = math.log(ratio / low) / math.log(high / low)
        return LEFT + scale * (WIDTH - LEFT - RIGHT)

    def text(at: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> str:
        place = f'x="{at:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"'
        return f"<text {place}>{escape(words)}</text>"

    bottom = TOP + STEP * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Time of each peer over that of Lanewise, by workload">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
        text(20, 28, "How many times as long the peers take", "ink title"),
        text(20, 48, "; ".join(means), "soft small"),
    ]
    at = 20.0
    for title, (colour, shape) in MARKS.items():
        if any(found == title for _, found, _ in points):
            key = f'transform="translate({at + 6:.1f},68)" fill="{colour}"'
            parts.append(f'<path {key} d="{shape}"/>')
            parts.append(text(at + 18, 72, title, "soft small"))
            at += 50 + 6.3 * len(title)
    for tick in _ticks(low, high):
        parts.append(f'<path class="grid" d="M{x(tick):.1f},{TOP - 6}V{bottom}"/>')
        label = f"{tick:g}×" if tick != 1 else "Lanewise = 1×"
        parts.append(text(x(tick), bottom + 18, label, "soft small", "middle"))
    parts.append(f'<path class="one" d="M{x(1):.1f},{TOP - 6}V{bottom}"/>')
    for place, row in enumerate(rows):
        y = TOP + STEP * (place + 0.5)
        name = row.workload.name.replace("_", " ")
        own = milliseconds(row.timings[LANEWISE].lowest) + " ms"
        parts.append(text(20, y + 4, name))
        parts.append(text(LEFT - 16, y + 4, own, "soft small", "end"))
        line = f"M{LEFT},{y:.1f}H{WIDTH - RIGHT}"
        parts.append(f'<path class="grid" d="{line}" stroke-dasharray="1 5"/>')
    for place, title, ratio in points:
        colour, shape = MARKS[title]
        y = TOP + STEP * (place + 0.5)
        words = f"{rows[place].workload.name}, {title}: {ratio:.2f} times Lanewise"
        parts.append(
            f'<path class="mark" transform="translate({x(ratio):.1f},{y:.1f})" fill="{colour}" '
            f'd="{shape}"><title>{words}</title></path>'
        )
    caption = "log scale; right of the line Lanewise is faster; its own time stands beside the name"
    for place, line in enumerate([caption, *setting]):
        parts.append(text(20, bottom + 36 + LINE * place, line, "soft small"))
    return "\n".join([*parts, "</svg>", ""])
