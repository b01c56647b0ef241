"""What was measured, as tables: in Markdown, which reads well enough on a terminal too."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import lanewise as lw
from benchmarks.suite.measure import LANEWISE, RECORDED, Row
from benchmarks.suite.peers import PEERS
from benchmarks.suite.results import Setting

#: What `write_section` writes between.
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end: written by make bench -->"

#: The columns, each of the systems that share it (no workload has both of `jax` and `jax.vmap`).
COLUMNS = {
    "Numba": ("numba",),
    "guvectorize": ("guvectorize",),
    "JAX": ("jax", "jax.vmap"),
    "torch": ("torch",),
    "torch.compile": ("torch.compile",),
    "Dr.Jit": ("drjit",),
}
#: What the geometric means are over.
AGAINST = {
    "the best peer of each": tuple(PEERS),
    "JAX": ("jax", "jax.vmap"),
    "hand-written Numba": ("numba", "guvectorize"),
    "torch": ("torch", "torch.compile"),
    "Dr.Jit": ("drjit",),
}


def milliseconds(value: float) -> str:
    """Return a time with three digits, as many as such a measurement has at best.

    Examples
    --------
    >>> milliseconds(0.00123), milliseconds(4.5678), milliseconds(1234.6)
    ('0.0012', '4.57', '1,235')
    """
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 if value >= 1 else min(5, 1 - math.floor(math.log10(max(value, 1e-5))))}f}"


def ratio(row: Row, systems: Iterable[str], own: str = LANEWISE) -> float | None:
    """Return the time of the fastest of some systems over Lanewise's, or None."""
    times = [row.timings[name].lowest for name in systems if name in row.timings]
    if not times or own not in row.timings:
        return None
    return min(times) / row.timings[own].lowest


def ratios(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Return the ratio of each peer, by workload; those of a map that is recorded, too."""
    return {
        row.workload.name + suffix: {
            name: found for name in PEERS if (found := ratio(row, [name], own)) is not None
        }
        for row in rows
        for own, suffix in ((LANEWISE, ""), (RECORDED, " (recorded)"))
    }


def geometric_mean(
    rows: Iterable[Row], systems: Sequence[str], own: str = LANEWISE
) -> tuple[float, int]:
    """Return the geometric mean of the ratios, and over how many workloads it is."""
    ratios = [found for row in rows if (found := ratio(row, systems, own)) is not None]
    if not ratios:
        return math.nan, 0
    return math.exp(sum(map(math.log, ratios)) / len(ratios)), len(ratios)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table, aligned also for reading as text."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    pad = [str.ljust if i < left else str.rjust for i in range(len(header))]
    rule = [
        "-" * width if i < left else "-" * (max(width, 4) - 1) + ":"
        for i, width in enumerate(widths)
    ]
    lines = []
    for row in (cells[0], rule, *cells[1:]):
        line = (p(cell, width) for p, cell, width in zip(pad, row, widths, strict=True))
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def _column(row: Row, systems: Sequence[str]) -> str | None:
    return next((name for name in systems if name in row.timings), None)


def _present(rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    return {
        title: systems
        for title, systems in {"recorded": (RECORDED,), **COLUMNS}.items()
        if any(_column(row, systems) for row in rows)
    }


def times_table(rows: Sequence[Row]) -> str:
    """Return the lowest milliseconds of each system, and the best peer's over Lanewise's."""
    columns = _present(rows)
    lines = []
    for row in rows:
        lowest = {name: timing.lowest for name, timing in row.timings.items()}
        peers = {name: value for name, value in lowest.items() if name in PEERS}
        best = min(peers, key=lambda name: peers[name], default=None)

        def cell(name: str | None, row: Row = row, best: str | None = best) -> str:
            if name is None or name not in row.timings:
                return ""
            timing = row.timings[name]
            text = milliseconds(timing.lowest) + ("*" if timing.factor > 1 else "")
            return f"**{text}**" if name == best else text

        ahead = ratio(row, peers)
        lines.append(
            [
                f"{row.workload.number} {row.workload.title}",
                "" if row.workload.limit is None else milliseconds(row.workload.limit),
                cell(LANEWISE),
                *(cell(_column(row, systems)) for systems in columns.values()),
                "" if ahead is None else f"{ahead:.2f}",
            ]
        )
    return table(["workload", "limit", "Lanewise", *columns, "best peer / Lanewise"], lines)


def detail_table(rows: Sequence[Row]) -> str:
    """Return the medians, the first calls and the steady memory."""
    columns = _present(rows)
    lines = []
    for row in rows:
        median, first = [], []
        for systems in ((LANEWISE,), *columns.values()):
            name = _column(row, systems)
            median.append(milliseconds(row.timings[name].median) if name else "")
            first.append(f"{row.timings[name].first:,.0f}" if name else "")
        name = f"{row.workload.number} {row.workload.name}"
        memory = "" if row.memory is None else f"{row.memory:.0f}"
        both = [f"{m} ({f})" if m else "" for m, f in zip(median, first, strict=True)]
        lines.append([name, *both, memory])
    return table(["workload", "Lanewise", *columns, "memory, MiB"], lines)


def means_table(rows: Sequence[Row]) -> str:
    """Return the geometric means of the ratios."""
    held_out = [row for row in rows if row.workload.held_out]
    groups = {"": [row for row in rows if not row.workload.held_out]}
    if held_out:
        groups[" (held out)"] = held_out
    lines = []
    for group, members in groups.items():
        for title, systems in AGAINST.items():
            mean, count = geometric_mean(members, systems)
            recorded, _ = geometric_mean(members, systems, RECORDED)
            if count:
                lines.append([title + group, f"{mean:.2f}", f"{recorded:.2f}", str(count)])
    header = ["Lanewise is faster than", "times (geometric mean)", "recorded at each call"]
    return table([*header, "workloads"], lines)


def machine() -> str:
    """Return what was measured on: processor, cores, versions."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
        flags = next((x.split() for x in lines if x.startswith("flags")), [])
        model += " with AVX-512" if "avx512f" in flags else ""
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}"


def versions(systems: Iterable[str]) -> str:
    """Return the versions of Lanewise, NumPy and the peers that are there."""
    found = {"NumPy": np.__version__}
    for name in systems:
        if PEERS[name].absent() is None:
            found.setdefault(name.partition(".")[0], PEERS[name].version())
    found.pop("guvectorize", None)  # is numba
    versions = ", ".join(f"{name} {version}" for name, version in found.items())
    return f"Lanewise {getattr(lw, '__version__', 'of this tree')}, {versions}"


def notes(rows: Sequence[Row], systems: Iterable[str]) -> list[str]:
    """Return what is missing and why, and what was measured on fewer examples."""
    found = []
    for name in systems:
        if reason := PEERS[name].absent():
            found.append(f"{name} is absent: {reason}.")
    for row in rows:
        for name, reason in row.missing.items():
            if PEERS[name].absent() != reason:
                found.append(f"{row.workload.name}, {name}: {reason}.")
        for name, timing in row.timings.items():
            if timing.factor > 1:
                found.append(
                    f"\\* {row.workload.name}, {name}: measured on {timing.examples:,} examples, "
                    f"times {timing.factor:.3g}."
                )
    return found


def setting(systems: Sequence[str]) -> Setting:
    """Return what is measured on and with, here and now."""
    return Setting(machine(), versions(systems), tuple(systems))


def report(rows: Sequence[Row], setting: Setting) -> str:
    """Return all of it in Markdown."""
    parts = [
        f"{setting.machine}. {setting.versions}.",
        "Milliseconds of a call, the fastest of several turns:",
        times_table(rows),
        "Medians, in parentheses what the first call took longer (compilation), and the memory of "
        "a steady call of Lanewise beyond its arguments and results:",
        detail_table(rows),
        means_table(rows),
    ]
    if found := notes(rows, setting.systems):
        parts.append("\n".join(f"* {note}" for note in found))
    return "\n\n".join(parts)


def write_section(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put a text between the two markers of a page, which has to have them."""
    before, begun, rest = page.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not (begun and ended):
        raise ValueError(f"{page} has no lines {begin!r} and {end!r} to write between")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
