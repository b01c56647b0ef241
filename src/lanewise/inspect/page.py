"""An explanation as a page: one HTML file that refers to nothing else and runs no script.

Lines of the source are folded by ``<details>``, colours follow the system's, and a policy in its
head forbids whatever is not in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from html import escape
from types import CodeType

from lanewise.inspect.drawing import draw
from lanewise.inspect.findings import Findings
from lanewise.inspect.kernels import KernelView, count_of, places, size_of
from lanewise.inspect.rows import Row
from lanewise.inspect.text import MEASURED, by_file, facts, left_of, share, summary, time_of
from lanewise.ir.location import Written, cell_of, lines_around
from lanewise.runtime.tiers import duration

#: Of a longer function only the lines are shown of which something became, and so many around.
LONGEST, AROUND = 300, 2

_LEGEND = (
    ("hoisted", "runs once, not once for each example"),
    ("batched", "all examples in one NumPy operation"),
    ("kernel", "compiled; examples, or elements, in the lanes of vector registers"),
    ("divergent", "examples that go the same way run together"),
    ("branched", "all examples take the same branch"),
    ("lockstep", "all examples make the same turns of a loop"),
    ("looped", "one example after the other"),
)

#: A notebook's own style is undone within the page; sizes are in pixels, as some notebooks have
#: another root size, and what is narrow follows the width of the page, not that of the window.
_RESET = ".lw :where(:not(svg)):where(:not(svg *)){all:revert;box-sizing:border-box}"
_STYLE = """
.lw{--bg:#fff;--fg:#1c1c1c;--dim:#616161;--line:#e2e2e2;--code:#f7f7f7;--bar:#cfe0fb;
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:var(--fg);
background:var(--bg);max-width:1216px;margin:0 auto;padding:16px;box-sizing:border-box;
text-align:left;white-space:normal;container-type:inline-size}
.lw h1{font-size:22.4px;margin:3.2px 0;overflow-wrap:anywhere}
.lw h2{font-size:17.6px;margin:25.6px 0 8px}.lw p{margin:4.8px 0}.lw .dim{color:var(--dim)}
.lw ul{margin:6.4px 0;padding-left:19.2px;overflow-wrap:anywhere}
.lw code,.lw .src{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",
monospace;font-size:13.4px}
.lw .src{border:1px solid var(--line);border-radius:6px;overflow:hidden;background:var(--code)}
.lw .src+.src{margin-top:8px}
.lw .file{padding:4.8px 9.6px;border-bottom:1px solid var(--line);color:var(--dim);
overflow-wrap:anywhere}
.lw .ln{display:grid;grid-template-columns:51.2px minmax(0,1fr) auto 128px 88px;gap:0 9.6px;
padding:0 9.6px 0 0;align-items:baseline}
.lw .untimed .ln{grid-template-columns:51.2px minmax(0,1fr) auto 0 88px}
.lw .what{display:contents}
.lw .no{color:var(--dim);text-align:right;user-select:none}
.lw .co{white-space:pre-wrap;overflow-wrap:anywhere}
.lw .chips{display:flex;flex-wrap:wrap;gap:4px;justify-content:flex-end}
.lw .size,.lw .cost{text-align:right;color:var(--dim);white-space:nowrap}
.lw .cost{background:linear-gradient(90deg,
var(--bar) var(--part,0%),transparent 0) no-repeat;border-radius:3px;padding:0 4.8px}
.lw details>summary{cursor:pointer;list-style:none}
.lw details>summary::-webkit-details-marker{display:none}
.lw details>summary .no::before{content:"\\25B8\\00A0";font-size:11.2px}
.lw details[open]>summary .no::before{content:"\\25BE\\00A0"}
.lw details>summary:hover,.lw details>summary:focus-visible{background:rgba(127,127,127,.12)}
.lw .gap{text-align:center;color:var(--dim)}
.lw .scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
.lw .scroll svg{display:block}
.lw table{border-collapse:collapse;width:100%;font-size:13.4px}
.lw .ops{background:var(--bg);border-block:1px solid var(--line);padding:3.2px 9.6px 3.2px 60.8px;
overflow-x:auto}
.lw th,.lw td{text-align:left;padding:2.4px 11.2px 2.4px 0;vertical-align:top}
.lw th{font-weight:600;color:var(--dim);white-space:nowrap}
.lw .scroll th,.lw .scroll td{padding:4.8px 11.2px}.lw .kernels td{white-space:nowrap}
.lw .scroll td{border-top:1px solid var(--line)}
.lw .num{text-align:right;white-space:nowrap}
.lw .chip{border:1px solid;border-radius:99px;padding:0 7.2px;font-size:11.8px;line-height:1.3;
white-space:nowrap;font-family:inherit}
.lw .parts{display:flex;height:17.6px;border-radius:4px;overflow:hidden;margin:8px 0 3.2px}
.lw .parts i{display:block;height:100%}
.lw .key i{display:inline-block;width:12.8px;height:12.8px;border-radius:2px;margin-right:4.8px;
vertical-align:-1px}.lw .key span{margin-right:19.2px;white-space:nowrap}
.lw .hoisted{color:#2c7186}.lw .batched{color:#2f7436}.lw .looped{color:#b0291b}
.lw .divergent{color:#8d5a10}.lw .branched,.lw .lockstep{color:#3a57b0}.lw .kernel{color:#7434a8}
.lw .p0{background:#3f8f46}.lw .p1{background:#7d3fb2}.lw .p2{background:#b7791f}
.lw .p3{background:#3a87a0}.lw .p4{background:#c56b9b}.lw .p5{background:#9a9a9a}
@container (max-width:672px){.lw .ln,.lw .untimed .ln{
grid-template-columns:38.4px minmax(0,1fr);gap:0 6.4px}
.lw .what{display:flex;flex-wrap:wrap;gap:1.6px 11.2px;grid-column:2;align-items:baseline}
.lw .what>:empty{display:none}.lw .ops{padding-left:9.6px}.lw .key span{display:block}}
@media (prefers-color-scheme:dark){.lw{--bg:#161616;--fg:#ececec;--dim:#a6a6a6;--line:#3a3a3a;
--code:#1e1e1e;--bar:#23395c}
.lw .hoisted{color:#7cc3da}.lw .batched{color:#7fd088}.lw .looped{color:#ff9488}
.lw .divergent{color:#ebb95c}.lw .branched,.lw .lockstep{color:#a3b6f5}.lw .kernel{color:#cda3f0}}
"""


#: Rules that come before those of any notebook: theirs name an element within a class or two.
_STYLES = (_RESET + _STYLE).replace(".lw{", ".lw.lw.lw{").replace(".lw ", ".lw.lw.lw ")


def page(explanation: Findings) -> str:
    """Return an explanation as a whole file."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(explanation.name)}</title>\n"
        "<style>body{margin:0}"
        "@media (prefers-color-scheme:dark){body{background:#161616}}</style>\n"
        f"</head>\n<body>\n{fragment(explanation)}\n</body>\n</html>\n"
    )


def fragment(explanation: Findings) -> str:
    """Return an explanation as a part of a page, such as a notebook."""
    pieces = [
        f'<style>{_STYLES}</style><main class="lw"><h1>{escape(explanation.name)}</h1>',
        f"<p>{escape(summary(explanation))}</p>",
        _facts(explanation),
        _parts(explanation),
        "<h2>Source</h2>",
        *[_file(explanation, name, lines) for name, lines in _files(explanation)],
    ]
    if not explanation.rows:
        pieces.append('<p class="dim">Nothing was recorded.</p>')
    if explanation.kernels:
        is_used = any(row.in_kernel for row in explanation.rows)
        pieces.append(f"<h2>{'Kernels' if is_used else 'Kernels, if it is compiled'}</h2>")
        pieces.append(_kernels(explanation.kernels, _total(explanation)))
    if explanation.left:
        title = "Left to NumPy" if explanation.kernels else "Why nothing is compiled"
        rows = [map(escape, found) for found in left_of(explanation.left)]
        table = _table(["line", "reason"], rows, {"line"})
        pieces.append(f'<h2>{title}</h2><div class="scroll">{table}</div>')
    pieces.append(f'<h2>Drawing</h2><div class="scroll">{draw(explanation)}</div>')
    pieces.append(
        '<p class="dim">From top to bottom; kernels, loops and branches hold what is in them. '
        "Point at a box or a line to read more.</p>"
    )
    used = {row.fate.split()[0] for row in explanation.rows}
    items = [
        f"<li>{_chip(kind, kind)} {escape(text)}</li>" for kind, text in _LEGEND if kind in used
    ]
    if items:
        pieces.append(f"<h2>Words</h2><ul>{''.join(items)}</ul>")
    return "".join([*pieces, "</main>"])


def _total(explanation: Findings) -> float:
    return 0.0 if explanation.parts is None else explanation.parts.total


def _facts(explanation: Findings) -> str:
    told = [fact for fact in facts(explanation) if not fact.startswith(MEASURED)]  # in the bar
    return f"<ul>{''.join([f'<li>{escape(fact)}</li>' for fact in told])}</ul>"


def _parts(explanation: Findings) -> str:
    """Return a bar of what the time of a call went into."""
    parts = explanation.parts
    if parts is None:
        return ""
    named = list(enumerate(parts.named()))
    bars = [
        f'<i class="p{i}" style="width:{100 * seconds / parts.total:.1f}%"></i>'
        for i, (_, seconds) in named
    ]
    keys = [
        f'<span><i class="p{i}"></i>{name} {time_of(seconds)} '
        f"({share(seconds, parts.total)})</span>"
        for i, (name, seconds) in named
        if seconds
    ]
    return (
        f'<div class="parts" aria-hidden="true">{"".join(bars)}</div>'
        f'<p class="key dim">{"".join(keys)}</p>'
    )


# --- the source -----------------------------------------------------------------------------------


def _files(explanation: Findings) -> list[tuple[str, list[tuple[int, list[Row]]]]]:
    """Return the lines by file, with the file of the function that was called."""
    found, code = by_file(explanation.rows), explanation.code
    if code is not None and found and code.co_filename not in dict(found):
        found.insert(0, (code.co_filename, []))
    return found


def _file(explanation: Findings, name: str, lines: Sequence[tuple[int, list[Row]]]) -> str:
    """Return the lines of a file that are shown, each with what became of it."""
    found = dict(lines)
    kernels = {f"kernel {kernel.number}": kernel for kernel in explanation.kernels}
    total = _total(explanation)
    kind = "src" if total else "src untimed"
    shown = cell_of(name) or name or "(no source)"
    pieces = [f'<div class="{kind}"><div class="file">{escape(shown)}</div>']
    before = None
    own = explanation.code
    codes = {own} if own is not None and own.co_filename == name else set()
    for number, text in _source(found, codes):
        if before is not None and number > before + 1:
            pieces.append('<div class="gap">⋯</div>')
        before = number
        pieces.append(_source_line(number, text, found.get(number, []), kernels, total))
    return "".join([*pieces, "</div>"])


def _source(found: dict[int, list[Row]], codes: set[CodeType | Written]) -> list[tuple[int, str]]:
    """Return the lines to show: those functions, and the ones that something became of."""
    shown = {number: _text(rows) for number, rows in found.items()}
    codes = codes | {row.location.code for rows in found.values() for row in rows if row.location}
    for code in codes:
        if not isinstance(code, CodeType) or code.co_name == "<module>":
            continue
        lines = lines_around(code)
        last = max([line for *_, line in code.co_lines() if line is not None], default=0)
        numbers: Iterable[int] = range(code.co_firstlineno, min(last, len(lines)) + 1)
        if last - code.co_firstlineno > LONGEST:
            numbers = [n for n in numbers if any(abs(n - k) <= AROUND for k in found)]
        shown.update({number: lines[number - 1].rstrip() for number in numbers})
    return sorted(shown.items())


def _text(rows: Sequence[Row]) -> str:
    place = rows[0].location
    return "" if place is None else place.source_line


def _source_line(
    number: int, text: str, rows: Sequence[Row], kernels: dict[str, KernelView], total: float
) -> str:
    code = f'<span class="no">{number or ""}</span><span class="co">{escape(text)}</span>'
    if not rows:
        return f'<div class="ln">{code}</div>'
    fates = Counter([row.fate for row in rows])
    chips = "".join([_chip(fate.split()[0], fate) for fate in fates])
    nbytes = sum([row.nbytes for row in rows if not row.is_view])
    seconds = sum([row.seconds or 0.0 for row in rows])
    cost = style = ""
    if total and seconds:
        cost = f"{time_of(seconds)}, {share(seconds, total)}"
        style = f' style="--part:{min(100 * seconds / total, 100):.1f}%"'
    return (
        f'<details><summary class="ln">{code}<span class="what"><span class="chips">{chips}</span>'
        f'<span class="cost"{style}>{escape(cost)}</span>'
        f'<span class="size">{size_of(nbytes) if nbytes else ""}</span></span></summary>'
        f'<div class="ops">{_operations(rows, kernels, bool(total))}</div></details>'
    )


def _operations(rows: Sequence[Row], kernels: dict[str, KernelView], is_timed: bool) -> str:
    """Return the operations of a line as a table."""
    numbers = ["bytes", "time", "calls"] if is_timed else ["bytes"]
    lines = []
    for row in rows:
        size = "view" if row.is_view else size_of(row.nbytes) if row.nbytes else ""
        why = f' <span class="dim">{escape(row.why)}</span>' if row.why else ""
        became = f"{_chip(row.fate.split()[0], row.fate)}{why}"
        time = "" if row.seconds is None else time_of(row.seconds)
        if row.in_kernel and (running := kernels[row.fate].running) is not None:
            time = f"of {time_of(running)}"
        cells = [escape(row.operation), became, escape(row.result), size]
        lines.append(cells + [time, f"{row.calls:,}" if row.calls else ""] * is_timed)
    return _table(["operation", "became", "result", *numbers], lines, numbers)


def _table(head: Sequence[str], rows: Iterable[Iterable[str]], numbers: Container[str] = ()) -> str:
    """Return a table of cells of HTML; which columns are numbers is said by their heads."""

    def line(tag: str, cells: Iterable[str]) -> str:
        kinds = [f'{tag} class="num"' if name in numbers else tag for name in head]
        pieces = [f"<{k}>{cell}</{tag}>" for k, cell in zip(kinds, cells, strict=True)]
        return f"<tr>{''.join(pieces)}</tr>"

    return f"<table>{line('th', head)}{''.join([line('td', row) for row in rows])}</table>"


def _chip(kind: str, text: str) -> str:
    return f'<span class="chip {escape(kind)}">{escape(text)}</span>'


def _kernels(kernels: Sequence[KernelView], total: float) -> str:
    """Return the kernels as a table."""
    head = ["kernel", "lines", "operations", "at once", "computes", "reads and writes", "scratch"]
    head += ["compiled in", "limit"] + ["time", "calls"] * bool(total)
    rows = []
    for kernel in kernels:
        what = "examples" if kernel.in_lanes else "elements"
        cells = [
            str(kernel.number),
            places(kernel.lines) or "results",
            f"{kernel.operations:,}",
            f"{kernel.lanes} {what}{', refilled' if kernel.refills else ''}",
            f"about {count_of(kernel.flops)}flop",
            size_of(kernel.nbytes),
            size_of(kernel.scratch) if kernel.scratch else "",
            "" if kernel.seconds is None else duration(kernel.seconds * 1e9),
            "" if kernel.limit is None else str(kernel.limit),
        ]
        if total:
            running = kernel.running
            took = "" if running is None else f"{time_of(running)} ({share(running, total)})"
            cells += [took, f"{kernel.calls:,}" if kernel.calls else ""]
        rows.append(map(escape, cells))
    return f'<div class="scroll kernels">{_table(head, rows)}</div>'
