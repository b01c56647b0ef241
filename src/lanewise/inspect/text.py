"""An explanation as text: plain, or in colours on a terminal where ``rich`` is installed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lanewise.inspect.findings import Findings, Parts
from lanewise.inspect.kernels import KernelView, Left, size_of
from lanewise.inspect.memory import Memory, advice
from lanewise.inspect.rows import BRANCHED, LOCKSTEP, Row
from lanewise.ir.location import Location, cell_of
from lanewise.passes.lanes import BATCHED, DIVERGED, HOISTED, LOOPED
from lanewise.runtime.tiers import COMPILE, INTERPRET, PLAIN, duration

#: In which colour a terminal shows what became of an operation; the page has its own.
COLOURS = {
    HOISTED: "cyan", BATCHED: "green", LOOPED: "bold red", DIVERGED: "yellow",
    BRANCHED: "blue", LOCKSTEP: "blue", "kernel": "magenta",
}  # fmt: skip


#: How the line begins that tells what the time went into.
MEASURED = "while it was measured"


class Span(NamedTuple):
    """A piece of a line, and its style in rich's words; empty for none."""

    text: str
    style: str = ""


Line = list[Span]


def text_of(explanation: Findings) -> str:
    """Return an explanation as plain text."""
    return "\n".join(["".join([span.text for span in line]) for line in lines_of(explanation)])


def show(explanation: Findings) -> None:
    """Print an explanation, in colours where somebody sees them and ``rich`` is installed."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(highlight=False, emoji=False, markup=False)
            for line in lines_of(explanation):
                console.print(Text.assemble(*line), soft_wrap=True)
            return
    print(text_of(explanation))


def lines_of(explanation: Findings) -> list[Line]:
    """Return the lines of an explanation."""
    lines = [[Span(explanation.name, "bold"), Span(f": {summary(explanation)}")]]
    lines += [[Span(text, "dim")] for text in facts(explanation)]
    for name, by_line in by_file(explanation.rows):
        lines += [[], [Span(cell_of(name) or name or "(no source)", "underline")]]
        for number, rows in by_line:
            place = rows[0].location
            source = "" if place is None else place.source
            lines.append([Span(f"{number:5d} | ", "dim"), Span(source, "bold")])
            for before, row in zip([None, *rows], rows, strict=False):
                lines.append(_row(row, before is None or row.why != before.why))
    if explanation.kernels:
        is_used = any(row.in_kernel for row in explanation.rows)
        title = "kernels" if is_used else "kernels, if it is compiled"
        lines += [[], [Span(title, "underline")]]
        lines += [_kernel(kernel) for kernel in explanation.kernels]
    if explanation.left:
        title = "left to NumPy" if explanation.kernels else "why nothing is compiled"
        lines += [[], [Span(title, "underline")]]
        for place, text in left_of(explanation.left):
            lines.append([Span(f"{place:>5} | ", "dim"), Span(text)])
    return lines


def summary(explanation: Findings) -> str:
    """Return how many examples and operations there are, and what became of those."""
    rows = explanation.rows
    found = Counter([row.fate for row in rows])
    counts = [f"{found[fate]} {fate}" for fate in (HOISTED, BATCHED, LOOPED)]
    counts += [f"{found[fate]} {fate}" for fate in (BRANCHED, LOCKSTEP, DIVERGED) if found[fate]]
    fates = {row.fate for row in rows if row.in_kernel}
    if fates:
        members = sum([found[fate] for fate in fates])
        counts.append(f"{members} in {len(fates)} kernel{'s' * (len(fates) > 1)}")
    maps = " and ".join(f"{n:,} examples" for n in explanation.examples) or "no map"
    return (
        f"{maps}, {len(rows):,} operation{'s' * (len(rows) != 1)} ({', '.join(counts)}), "
        f"{size_of(explanation.nbytes)} of intermediates and results"
    )


def facts(explanation: Findings) -> list[str]:
    """Return what there is to tell of the call as a whole, a line each."""
    names = {COMPILE: "compiled", INTERPRET: "interpreted", PLAIN: "plain Python"}
    told = [f"the next call is {names[c.backend]}: {c.reason}" for c in explanation.choices]
    for program in explanation.programs:
        if program.rows:
            again = f" (ran {program.calls:,} times)" if program.calls > 1 else ""
            told.append(memory_text(program.memory) + again)
            hint = advice(program.memory, max(explanation.examples, default=0))
            if hint is not None:
                told.append(hint)
    parts = explanation.parts
    if parts is not None:
        told += parts_text(parts)
    if len(explanation.traces) > 1:
        told.append(f"it has {len(explanation.traces)} traces:")
        told += [f"  {text}{'  <- this call' * is_it}" for text, is_it in explanation.traces]
    return list(dict.fromkeys(told))


def memory_text(memory: Memory) -> str:
    """Return what to tell of a program's memory.

    Examples
    --------
    >>> from lanewise.inspect.memory import Memory, advice
    >>> memory_text(Memory(2048, 1024, 1536))
    'memory: 2.0 KiB of arguments; at most 1.5 KiB at once beside them, 1.0 KiB of it results'
    """
    text = (
        f"memory: {size_of(memory.arguments)} of arguments; at most {size_of(memory.peak)} at once "
        f"beside them, {size_of(memory.results)} of it results"
    )
    if memory.chunk is not None and memory.whole is not None:
        text += f", in chunks of {memory.chunk:,}; {size_of(memory.whole)} without chunks"
    return text


def parts_text(parts: Parts) -> list[str]:
    """Return what to tell of the times of a call."""
    often = f"the best of {parts.repeats}" if parts.repeats > 1 else "measured once"
    shares = [
        f"{name} {time_of(seconds)} ({share(seconds, parts.total)})"
        for name, seconds in parts.named()
        if seconds > 0 or name == "operations"
    ]
    return [
        f"a call takes {time_of(parts.plain)} ({often}; the first took {time_of(parts.first)})",
        f"{MEASURED}, {time_of(parts.total)}: {', '.join(shares)}",
    ]


def by_file(rows: Sequence[Row]) -> list[tuple[str, list[tuple[int, list[Row]]]]]:
    """Return for each file its lines in order, each with its rows."""
    files: dict[str, dict[int, list[Row]]] = {}
    for row in rows:
        place = row.location
        name, number = (place.file, place.line) if place else ("", 0)
        files.setdefault(name, {}).setdefault(number, []).append(row)
    return [(name, sorted(files[name].items())) for name in sorted(files, key=_order)]


def _order(file: str) -> tuple[int, str]:
    """Return what sorts files by name, and then cells by number."""
    cell = cell_of(file)
    return (0, file) if cell is None else (len(cell), cell)


def left_of(found: Iterable[Left]) -> list[tuple[str, str]]:
    """Return line and reason of what is left to NumPy, each reason once."""
    return list(dict.fromkeys([(_line(it.location), str(it)) for it in found]))


def _line(location: Location | None) -> str:
    return "" if location is None else str(location.line)


def _row(row: Row, says_why: bool) -> Line:
    size = "view" if row.is_view else size_of(row.nbytes)
    if row.in_kernel and not row.nbytes:
        size = ""
    time = f"{time_of(row.seconds):>8}" if row.seconds is not None else ""
    if row.calls > 1:
        time += f" in {row.calls:,} calls"
    style = COLOURS.get(row.fate.split()[0], "")
    spans = [
        Span(f"      |   {row.operation:<18} "),
        Span(f"{row.fate:<9}", style),
        Span(f" {row.result:<24} "),
        Span(f"{size:<10}" if time or row.why else size),
        Span(time, "bold"),
        Span(f"  {row.why}" if says_why and row.why else "", "dim"),
    ]
    while spans and not spans[-1].text.strip():
        spans.pop()
    spans[-1] = Span(spans[-1].text.rstrip(), spans[-1].style)
    return spans


def _kernel(kernel: KernelView) -> Line:
    line = [Span(f"{kernel.number:5d} | ", "dim"), Span(str(kernel))]
    if kernel.running is not None:
        often = f" in {kernel.calls:,} calls" if kernel.calls > 1 else ""
        line.append(Span(f", took {time_of(kernel.running)}{often}", "bold"))
    return line


def time_of(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> time_of(0.0), time_of(4.2e-7), time_of(0.0023)
    ('0', '420 ns', '2.3 ms')
    """
    if seconds <= 0:
        return "0"
    return duration(seconds * 1e9) if seconds >= 0.9995e-6 else f"{max(seconds * 1e9, 1):.0f} ns"


def share(part: float, whole: float) -> str:
    """Return a part in percent.

    Examples
    --------
    >>> share(1, 8), share(1, 5000), share(1, 0)
    ('12 %', '< 1 %', '')
    """
    if whole <= 0:
        return ""
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 1 or not percent else "< 1 %"
