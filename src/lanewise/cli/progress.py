"""A progress bar on standard error, when a person is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec

Advance = Callable[[int], object]


def progress(total: int) -> AbstractContextManager[Advance]:
    """Show a bar for `total` examples, with rich, tqdm or plainly, whichever is there.

    Returns
    -------
    context manager
        Gives the function to call with each number of examples done.
    """
    if not sys.stderr.isatty():
        return nullcontext(lambda examples: None)
    if find_spec("rich"):
        return _rich(total)
    if find_spec("tqdm"):
        return _tqdm(total)
    return _plain(total)


@contextmanager
def _rich(total: int) -> Generator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), "examples", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda examples: bar.advance(task, examples)


@contextmanager
def _tqdm(total: int) -> Generator[Advance]:
    from tqdm import tqdm

    with tqdm(total=total, unit=" examples", unit_scale=True, leave=False) as bar:
        yield bar.update


@contextmanager
def _plain(total: int) -> Generator[Advance]:
    done, shown = 0, 0.0

    def advance(examples: int) -> None:
        nonlocal done, shown
        done += examples
        now = time.monotonic()
        if now - shown > 0.1:
            shown = now
            line = f"\r{done:,} of {total:,} examples ({done / max(total, 1):.0%})"
            print(line, end="", file=sys.stderr, flush=True)

    try:
        yield advance
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)  # clear the line
