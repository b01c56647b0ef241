"""What the examples share: they run a function three ways, compare, print the times, draw.

The three ways are the loop over examples in plain Python, the best NumPy for the whole batch that
we could write by hand, and Lanewise. A loop that would take long is run on examples chosen at
random, for about two seconds, and its time is scaled up; the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The first call is timed as it is in a fresh process that finds no compiled code on disk.
os.environ.setdefault("LANEWISE_CACHE", "0")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

BUDGET = 2.0  # seconds for the loop
STYLE = {
    "axes.grid": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 120,
    "font.size": 9,
    "legend.frameon": False,
}


class Stage:
    """An example's command line (`--small`, `--out DIR`), its table of times and its picture.

    Parameters
    ----------
    script
        `__file__` of the example; its name is that of the picture.
    arguments
        Of the command line; by default those of this process.
    """

    def __init__(self, script: str, arguments: Sequence[str] | None = None) -> None:
        self.name = Path(script).stem
        parser = argparse.ArgumentParser(prog=f"{self.name}.py")
        parser.add_argument("--small", action="store_true", help="sizes for tests")
        parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
        options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
        self.small: bool = options.small
        self.out: Path = options.out
        self.out.mkdir(parents=True, exist_ok=True)

    def compare(
        self,
        what: str,
        arguments: Sequence[np.ndarray],
        *,
        loop: Callable[..., Any],
        numpy: Callable[..., Any],
        lanewise: Callable[..., Any],
        rtol: float = 0.0,
        atol: float = 0.0,
        astray: float = 0.0,
    ) -> Any:
        """Run a batch all three ways, print their times, and return Lanewise's results.

        Parameters
        ----------
        what
            What the examples are, for the table.
        arguments
            Arrays with an example in each row.
        loop
            The function of one example.
        numpy, lanewise
            Functions of the whole batch.
        rtol, atol
            How far floats may be off; by default the results are equal to the last bit.
        astray
            The share of examples that may be off further: those where rounding decides between two
            outcomes. NumPy's own vector and scalar code differ there too.

        Raises
        ------
        AssertionError
            If values, dtypes or shapes differ from the loop's, or NumPy's by hand do.
        """
        count = len(arguments[0])
        places, expected, loop_time = _loop(loop, arguments, 0.1 if self.small else BUDGET)
        by_hand, numpy_times = _time(numpy, arguments, 1 if self.small else 10)
        result, times = _time(lanewise, arguments, 2 if self.small else 25, least=2)

        leaves, hand = _leaves(result), _leaves(by_hand)
        off, off_by_hand, exact = np.zeros(len(places), bool), np.zeros(count, bool), True
        for place, leaf in enumerate(leaves):
            wanted = np.stack([np.asarray(one[place]) for one in expected])
            off |= _differ(leaf[places], wanted, rtol, atol)
            off_by_hand |= _differ(leaf, hand[place], rtol, atol)
            exact &= not (_differ(leaf[places], wanted) | _differ(leaf, hand[place])[places]).any()
        if max(off.mean(), off_by_hand.mean()) > astray:
            raise AssertionError(
                f"{self.name}: {off.sum():,} of {len(off):,} examples differ from the loop's, "
                f"{off_by_hand.sum():,} of {count:,} from NumPy's"
            )

        hand_time, first, best = min(numpy_times), times[0], min(times[1:])
        sample = "" if len(places) == count else f"  (measured on {len(places):,}, scaled up)"
        print(f"{self.name}: {count:,} {what}")
        print(f"  loop                  {_seconds(loop_time)}{sample}")
        print(f"  NumPy by hand, warm   {_seconds(hand_time)}")
        print(f"  Lanewise, first call  {_seconds(first)}")
        print(
            f"  Lanewise, warm        {_seconds(best)}  "
            f"{loop_time / best:,.0f} times the loop's speed, {hand_time / best:.1f} times NumPy's"
        )
        tolerance = "to the last bit" if exact else f"within {max(rtol, atol):g}"
        share = f", but for {off_by_hand.sum():,} of {count:,}" if off_by_hand.any() else ""
        print(f"  results: the loop's and NumPy's, {tolerance}{share}")
        record = dict(name=self.name, what=what, examples=count, loop=loop_time, numpy=hand_time)
        record |= dict(first=first, lanewise=best)
        (self.out / f"{self.name}.json").write_text(json.dumps(record) + "\n")
        return result

    @contextmanager
    def picture(self, width: float, height: float) -> Iterator[Figure]:
        """Give a figure of so many inches to draw on, and write it as a PNG."""
        with plt.rc_context(STYLE):
            figure = plt.figure(figsize=(width, height))
            yield figure
            path = self.out / f"{self.name}.png"
            figure.savefig(path)
            plt.close(figure)
        print(f"  picture: {path}")


def _loop(
    function: Callable[..., Any], arguments: Sequence[np.ndarray], budget: float
) -> tuple[np.ndarray, list[list[Any]], float]:
    """Return which examples were run, the leaves of each result, and the seconds for all."""
    order = np.random.default_rng(0).permutation(len(arguments[0]))
    results = []
    start = time.perf_counter()
    for place in order:
        # A copy, as the function may write to its arguments.
        results.append(_leaves(function(*(array[place].copy() for array in arguments))))
        if time.perf_counter() - start > budget:
            break
    taken = (time.perf_counter() - start) / len(results) * len(order)
    return order[: len(results)], results, taken


def _time(
    function: Callable[..., Any], arguments: Sequence[np.ndarray], calls: int, least: int = 1
) -> tuple[Any, list[float]]:
    """Return the result, and the seconds of each call: up to so many calls, or five seconds' worth.

    It takes Lanewise some calls of little work to find that compiling pays.
    """
    times: list[float] = []
    result = None
    while len(times) < min(calls, least) or (len(times) < calls and sum(times) < 5):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - start)
    return result, times


def _leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def _differ(
    found: np.ndarray, wanted: np.ndarray, rtol: float = 0.0, atol: float = 0.0
) -> np.ndarray:
    """Return for each example whether it is off."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        raise AssertionError(
            f"{found.dtype} {found.shape} found, {wanted.dtype} {wanted.shape} wanted"
        )
    same = np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    return ~same.reshape(len(same), -1).all(axis=1)


def _seconds(value: float) -> str:
    return f"{value:9,.1f} s " if value >= 10 else f"{value * 1e3:9,.1f} ms"
