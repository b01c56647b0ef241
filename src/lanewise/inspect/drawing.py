"""A drawing of what ran, as SVG: no library, no script, and it refers to nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from lanewise.inspect.findings import Findings
from lanewise.inspect.layout import Layout, Point, layered
from lanewise.inspect.picture import Box, Picture, picture_of

#: Of so many programs at most: a function may run any number.
MOST_PROGRAMS = 8
#: Widths of a character in a title and in a detail, of 12 and 10 pixels.
_TITLE, _DETAIL = 7.3, 6.1
_PAD, _HEAD, _LINE = 12.0, 22.0, 15.0
#: A text of more characters is cut; the tip has all of it.
_LONGEST = 44

#: Of each kind of box: its fill and its border, by day and by night.
_COLOURS = {
    "hoisted": ("#e3f2f7", "#3a87a0", "#12313c", "#58a9c4"),
    "batched": ("#e5f4e5", "#3f8f46", "#14331a", "#63b96b"),
    "looped": ("#fdE4e1", "#c0392b", "#441812", "#ef7c6f"),
    "divergent": ("#fdf0d5", "#b7791f", "#3d2b0a", "#e0aa4e"),
    "branched": ("#e4eafb", "#4465c4", "#171f42", "#8ba3ee"),
    "lockstep": ("#e4eafb", "#4465c4", "#171f42", "#8ba3ee"),
    "kernel": ("#f1e7fa", "#7d3fb2", "#2a1540", "#bb8ae6"),
    "input": ("#f3f3f3", "#888888", "#262626", "#8c8c8c"),
    "result": ("#f3f3f3", "#444444", "#262626", "#cccccc"),
    "region": ("none", "#999999", "none", "#777777"),
    "map": ("none", "#777777", "none", "#999999"),
    "other": ("#f3f3f3", "#888888", "#262626", "#8c8c8c"),
}


def style() -> str:
    """Return the style sheet of drawings, for day and night."""
    day = [f".lw-draw .{k}{{fill:{v[0]};stroke:{v[1]}}}" for k, v in _COLOURS.items()]
    night = [f".lw-draw .{k}{{fill:{v[2]};stroke:{v[3]}}}" for k, v in _COLOURS.items()]
    font = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
    return "".join(
        [
            f".lw-draw{{font:12px {font};color:#1c1c1c}}",
            ".lw-draw text{fill:currentColor}.lw-draw .t{font-weight:600}",
            ".lw-draw .d{font-size:10px;opacity:.8}",
            ".lw-draw .e{fill:none;stroke:#8a8a8a;stroke-width:1.2}",
            ".lw-draw .a{fill:#8a8a8a;stroke:none}",
            ".lw-draw .region,.lw-draw .map{stroke-dasharray:4 3}",
            *day,
            "@media (prefers-color-scheme:dark){.lw-draw{color:#ececec}",
            ".lw-draw .e{stroke:#9a9a9a}.lw-draw .a{fill:#9a9a9a}",
            *night,
            "}",
        ]
    )


def draw(explanation: Findings) -> str:
    """Return the drawing of an explanation as an SVG file."""
    parts = explanation.parts
    total = None if parts is None else parts.total
    shown = [program for program in explanation.programs if program.rows][:MOST_PROGRAMS]
    pictures = [picture_of(program, explanation.kernels, total) for program in shown]
    boxes: list[Box] = []
    if len(pictures) == 1:
        (whole,) = pictures
    else:
        for number, (program, picture) in enumerate(zip(shown, pictures, strict=True), 1):
            often = f", {program.calls:,} times" if program.calls > 1 else ""
            title = f"program {number}{often}"
            boxes.append(Box(title, "", "map", f"What ran as one: {title}", picture))
        more = sum([bool(program.rows) for program in explanation.programs]) - len(shown)
        if more:
            boxes.append(Box(f"and {more:,} more programs", "", "other", "They are not drawn"))
        if not boxes:
            boxes.append(Box("no operations", "", "other", "Nothing was recorded"))
        whole = Picture(boxes)
    drawn = _Drawn(whole)
    width, height = drawn.layout.width + 2 * _PAD, drawn.layout.height + 2 * _PAD
    label = escape(f"Drawing of {explanation.name}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lw-draw" role="img" aria-label="{label}" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
        f"<title>{label}</title><style>{style()}</style>"
        f'<g transform="translate({_PAD:g} {_PAD:g})">{drawn.text()}</g></svg>'
    )


class _Drawn:
    """A picture with its layout, and those of what its boxes contain."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.inner = [None if box.inside is None else _Drawn(box.inside) for box in picture.boxes]
        self.sizes = [self._size(i) for i in range(len(picture.boxes))]
        self.layout: Layout = layered(self.sizes, list(picture.lines))

    def _size(self, number: int) -> tuple[float, float]:
        box, inner = self.picture.boxes[number], self.inner[number]
        longest = max([len(_cut(line)) for line in box.detail.split("\n")])
        width = max(len(_cut(box.title)) * _TITLE, longest * _DETAIL) + 2 * _PAD
        height = _head(box)
        if inner is not None:
            width = max(width, inner.layout.width + 2 * _PAD)
            height += inner.layout.height + _PAD + 4
        return round(width, 1), round(height, 1)

    def text(self) -> str:
        """Return the SVG of the boxes and lines."""
        pieces = []
        for (a, b), points in zip(self.picture.lines, self.layout.lines, strict=True):
            tip = escape(self.picture.lines[a, b])
            pieces.append(f'<g><title>{tip}</title><path class="e" d="{_path(points)}"/>')
            x, y = points[-1]
            pieces.append(f'<path class="a" d="M{x:g} {y:g}l-3.5 -7h7z"/></g>')
        for number, (x, y) in enumerate(self.layout.corners):
            pieces.append(self._box(number, x, y))
        return "".join(pieces)

    def _box(self, number: int, x: float, y: float) -> str:
        box, inner, (width, height) = (
            self.picture.boxes[number],
            self.inner[number],
            self.sizes[number],
        )
        radius = 11 if box.kind in ("input", "result") else 4
        pieces = [
            f'<g transform="translate({x:g} {y:g})"><title>{escape(box.tip)}</title>',
            f'<rect class="{box.kind}" width="{width:g}" height="{height:g}" rx="{radius}"/>',
            f'<text class="t" x="{_PAD:g}" y="15">{escape(_cut(box.title))}</text>',
        ]
        for row, line in enumerate(box.detail.split("\n") if box.detail else ()):
            at = 30 + row * _LINE
            pieces.append(f'<text class="d" x="{_PAD:g}" y="{at:g}">{escape(_cut(line))}</text>')
        if inner is not None:
            left = (width - inner.layout.width) / 2
            top = _head(box) + 4
            pieces.append(f'<g transform="translate({left:g} {top:g})">{inner.text()}</g>')
        return "".join([*pieces, "</g>"])


def _head(box: Box) -> float:
    """Return the height of what is written in a box."""
    return _HEAD + _LINE * (1 + box.detail.count("\n") if box.detail else 0)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _path(points: Sequence[Point]) -> str:
    """Return a line through points that leaves and arrives upright."""
    (x, y), *rest = points
    pieces = [f"M{x:g} {y:g}"]
    for number, (to_x, to_y) in enumerate(rest, 1):
        to_y -= 5 if number == len(rest) else 0  # the tip of the arrow covers the end
        if to_x == x:
            pieces.append(f"V{to_y:g}")
        else:
            middle = (y + to_y) / 2
            pieces.append(f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}")
        x, y = to_x, to_y
    return "".join(pieces)
