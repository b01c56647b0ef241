"""The command line: ``lanewise map FILE.py:FUNCTION INPUT.npy -o OUTPUT.npy``."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from lanewise.cli.errors import CommandError
from lanewise.cli.mapping import map_file

__all__ = ["main"]

FAILED, INTERRUPTED = 1, 130  # 130 = 128 + SIGINT, what a shell reports for Ctrl-C

DESCRIPTION = """\
Map a function over the examples in a file, in chunks, so that neither the input nor the output
has to fit in memory.

FUNCTION is written with NumPy for one example. From an .npy file it gets one slice of the array;
from an .npz file it gets, by name, one slice of each array that it has a parameter for.
"""

EPILOG = """\
examples:
  lanewise map features.py:moments digits.npy -o moments.npz
  lanewise map features.py:distance pairs.npz -o distances.npy --chunk-size 10000
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the program's name; those of the process if not given.

    Returns
    -------
    int
        0 when all went well, 1 after an error, 130 after Ctrl-C.
    """
    options = _parser().parse_args(argv)
    try:
        with _exit_on_sigterm():
            summary = map_file(
                options.function,
                options.input,
                options.output,
                chunk_size=options.chunk_size,
                in_dim=options.in_dim,
                on_error=options.on_error,
                fill_value=options.fill_value,
            )
    except CommandError as error:
        return _fail(str(error))
    except OSError as error:  # a full disk, a missing permission
        return _fail(f"{error.filename or options.output}: {error.strerror or error}")
    except MemoryError as error:
        return _fail(
            f"not enough memory: {error or 'for the input and the output'}: set a smaller "
            "--chunk-size, or a higher limit (ulimit -v)"
        )
    except KeyboardInterrupt:
        print(f"lanewise: interrupted, {options.output} not written", file=sys.stderr)
        return INTERRUPTED
    print(summary)
    return 0


class _ShowVersion(argparse.Action):
    """Looks the version up when asked for, unlike argparse's own action."""

    def __call__(self, parser: argparse.ArgumentParser, *args: object, **options: object) -> None:
        parser.exit(message=f"lanewise {version('lanewise')}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lanewise", description="Write NumPy for one example. Run it on a million."
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show the version")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    command = commands.add_parser(
        "map",
        help="map a function over the examples in an .npy or .npz file",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("function", metavar="FILE.py:FUNCTION", help="what to map")
    command.add_argument("input", metavar="INPUT", type=Path, help="an .npy or .npz file")
    command.add_argument(
        "-o",
        "--output",
        metavar="OUTPUT",
        type=Path,
        required=True,
        help="an .npy file, or an .npz for a function with several results; "
        "it appears, or is replaced, when complete",
    )
    command.add_argument(
        "--chunk-size",
        metavar="N",
        type=_positive,
        help="examples in a chunk (default: about 64 MiB of input and output)",
    )
    command.add_argument(
        "--in-dim",
        metavar="D",
        type=int,
        default=0,
        help="the dimension of every input that counts the examples (default: 0)",
    )
    command.add_argument(
        "--on-error",
        choices=("raise", "collect"),
        default="raise",
        help="stop at the first example that raises (default), or go on and write what was raised "
        "to OUTPUT.failures.csv",
    )
    command.add_argument(
        "--fill-value",
        metavar="V",
        type=_number,
        help="with --on-error collect: the result of examples that raise (default: NaN)",
    )
    return parser


def _number(text: str) -> int | float | complex:
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            pass
    raise argparse.ArgumentTypeError(f"must be a number, not {text!r}")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _fail(message: str) -> int:
    print(f"lanewise: error: {message}", file=sys.stderr)
    return FAILED


@contextmanager
def _exit_on_sigterm() -> Generator[None]:
    """Leave through the clean-up code when a job scheduler ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python sets signal handlers in the main thread only.
        return

    def leave(signum: int, frame: object) -> None:
        sys.exit(128 + signum)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
