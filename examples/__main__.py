"""Run the gallery: `python -m examples [NAME ...] [--small] [--out DIR] [--write]`.

Each script runs in a process of its own, so that first calls are first calls. `--write` also puts
the times into docs/gallery.md, and small copies of the pictures into docs/gallery/.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from PIL import Image

from benchmarks.suite.report import machine, milliseconds, write_section

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
NAMES = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("__main__", "stage"))
WIDTH = 480  # of the small copies, in pixels
BEGIN, END = "<!-- begin: written by make gallery -->", "<!-- end: written by make gallery -->"


def thumbnail(source: Path, target: Path) -> None:
    """Write a small copy of a picture, of 256 colours."""
    with Image.open(source) as image:
        small = image.convert("RGB")
        small.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
        small.quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)


def span(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{milliseconds(seconds)} s" if seconds >= 1 else f"{milliseconds(1e3 * seconds)} ms"


def table(records: list[dict[str, float]]) -> str:
    """Return the times as a table."""
    lines = [
        "| example | batch | loop | NumPy by hand | first call | Lanewise | faster than NumPy |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in records:
        times = (span(record[way]) for way in ("loop", "numpy", "first", "lanewise"))
        batch = f"{record['examples']:,} {record['what']}"
        ratio = f"{record['numpy'] / record['lanewise']:.1f} times"
        lines.append(f"| {record['name']} | {batch} | {' | '.join(times)} | {ratio} |")
    return "\n".join(lines)


def main() -> int:
    """Run the examples; the exit code is 0 if all results are the loop's."""
    parser = argparse.ArgumentParser(prog="python -m examples", description="Run the gallery.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--small", action="store_true", help="sizes for tests")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="where pictures are written")
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md and thumbnails")
    options = parser.parse_args()
    names = options.names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"no example {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if options.write and (options.names or options.small):
        parser.error("--write takes all examples in full size")

    failed = []
    for name in names:
        command = [sys.executable, str(HERE / f"{name}.py"), "--out", str(options.out)]
        if subprocess.run([*command, *(["--small"] if options.small else [])]).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if options.write:
        for name in names:
            thumbnail(options.out / f"{name}.png", DOCS / "gallery" / f"{name}.png")
        records = [json.loads((options.out / f"{name}.json").read_text()) for name in names]
        text = f"{machine()}.\n\n{table(records)}"
        write_section(DOCS / "gallery.md", text, BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main())
