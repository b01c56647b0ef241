"""Where in the user's source an operation was recorded."""

from __future__ import annotations

import linecache
import os
import re
import stat
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple


def _places(package: str) -> Sequence[str]:
    """Return the folders of a package; none where it is not installed, or something stands in."""
    try:
        found = find_spec(package)
    except ValueError:  # of a module that was made by hand
        return ()
    return () if found is None else found.submodule_search_locations or ()


# Frames of these packages are not the user's: errors and `explain` name the first frame outside.
_PACKAGE = str(Path(__file__).parents[1])
# They may be installed anywhere: systems have packages of their own, apart from those of pip.
_LIBRARIES = tuple(
    [place for name in ("numpy", "scipy", "optree", "numba") for place in _places(name)]
)
_STANDARD = sysconfig.get_path("stdlib")
_SITE = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
_MADE = ("<__array_function__", "<lanewise")
_own_files: dict[str, bool] = {}
#: The name of code that is made, and stands at the user's lines that it carries out.
PLAN = "<lanewise plan>"


def is_own_file(filename: str) -> bool:
    own = filename.startswith((_PACKAGE, *_LIBRARIES, *_MADE))
    own = own or (filename.startswith(_STANDARD) and not filename.startswith(_SITE))
    _own_files[filename] = own
    return own


#: Functions whose source was looked for and is another than what runs: the file was edited.
CHANGED: set[tuple[str, str, int]] = set()


def origin(code: CodeType) -> tuple[str, str, int]:
    """Return the file, qualified name and first line of a function."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def texts(code: CodeType) -> list[list[str]]:
    """Return the lines of what may be the file of a function, the most likely first.

    A file may have been edited since it was read, or since the function was made.
    """
    file = code.co_filename
    before = linecache.getlines(file)
    linecache.checkcache(file)
    found = [linecache.getlines(file), before]
    registered = getattr(linecache, "_getlines_from_code", None)  # Python 3.13, at the prompt
    if registered is not None:
        found.append(registered(code))
    if not any(found):
        kept = ELSEWHERE.get(origin(code), [])
        found = [kept, _given_to_python(file), *_under_magics(file)]
    return [lines for lines, known in zip(found, [None, *found], strict=False)
            if lines and lines is not known]  # fmt: skip


def _given_to_python(file: str) -> list[str]:
    """Return the program that Python was given by ``-c``, or as a file on its standard input."""
    text = ""
    if file == "<string>":
        arguments = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
        text = arguments[-1] if arguments[-2:-1] and arguments[-2].endswith("c") else ""
    elif file == "<stdin>":
        try:
            status = os.fstat(0)
            if stat.S_ISREG(status.st_mode):
                text = os.pread(0, status.st_size, 0).decode()
        except (OSError, ValueError):  # closed, or not text
            pass
    return text.splitlines(keepends=True)


def ipython_shell() -> Any:
    """Return the IPython that runs here, such as that of a notebook; None if none does."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def _under_magics(file: str) -> list[list[str]]:
    """Return what stood under magics in IPython's cells, such as ``%%time``, the latest first."""
    shell = ipython_shell() if file.startswith("<") else None
    if shell is None:
        return []
    cells = [cell.lstrip() for cell in shell.history_manager.input_hist_raw]
    return [c.splitlines(keepends=True)[1:] for c in cells[::-1] if c.startswith("%%")]


#: The lines of functions that no file holds, by `origin`: they were found elsewhere.
ELSEWHERE: dict[tuple[str, str, int], list[str]] = {}


def lines_around(code: CodeType) -> list[str]:
    """Return the lines of what a function was read from, as they were last looked at."""
    return ELSEWHERE.get(origin(code)) or linecache.getlines(code.co_filename)


#: What to call cells by their files: under magics, and what cloudpickle brings of another process.
CELLS = {
    "<timed exec>": "cell under %%time",
    "<magic-timeit>": "cell under %%timeit",
    "<dynamic-code>": "code of another process",
}
_CELL = re.compile(
    r".*[/\\]ipykernel_\d+[/\\]\d+\.py|(?:<|.*[/\\])ipython-input-(\d+)-\w+(?:>|\.py)"
)


def cell_of(file: str) -> str | None:
    """Return what to call the cell of a notebook that has this as its file; None for a file.

    Examples
    --------
    >>> cell_of("<ipython-input-3-0123456789ab>"), cell_of("/tmp/ipykernel_12/345.py")
    ('cell 3', 'a cell')
    >>> cell_of("program.py")
    """
    shell, match = ipython_shell(), _CELL.fullmatch(file)
    told = None if shell is None else shell.compile.format_code_name(file)
    number = re.search(r"\d+", told[1]) if told else None
    if number is not None:
        return f"cell {number.group()}"
    if match is not None and match.group(1):
        return f"cell {match.group(1)}"
    return CELLS.get(file, None if match is None else "a cell")


def shown_place(file: str, line: int) -> str:
    """Return a line of a file, or of a cell, for messages.

    Examples
    --------
    >>> shown_place("program.py", 4), shown_place("<ipython-input-3-0123456789ab>", 4)
    ('program.py:4', 'cell 3, line 4')
    """
    cell = cell_of(file)
    return f"{file}:{line}" if cell is None else f"{cell}, line {line}"


def is_of_lanewise(code: CodeType) -> bool:
    """Whether code is Lanewise's: of its files, or made by it."""
    return code.co_name == PLAN or code.co_filename.startswith((_PACKAGE, *_MADE))


class Written:
    """A line of source as text, in the place of a code object that is not there.

    The operations of a graph that was read from a file stand at such places: ``(written, 0)``.
    """

    __slots__ = ("co_filename", "co_firstlineno", "text")

    def __init__(self, file: str, line: int, text: str) -> None:
        self.co_filename = file
        self.co_firstlineno = line
        self.text = text

    def co_lines(self) -> tuple[tuple[int, int, int], ...]:
        """Return the one line, as code objects return theirs."""
        return ((0, 1, self.co_firstlineno),)


class Location(NamedTuple):
    """A place in a code object; file and line are worked out only when somebody asks.

    ``states`` says what ``np.errstate`` around it asks of floating-point conditions: pairs of a
    condition and "ignore" or another word of NumPy's.
    """

    code: CodeType | Written
    instruction: int
    states: tuple[tuple[str, str], ...] = ()

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        for start, end, line in self.code.co_lines():
            if start <= self.instruction < end and line is not None:
                return line
        return self.code.co_firstlineno

    @property
    def source(self) -> str:
        """The text of the line, empty where the source is not at hand."""
        if isinstance(self.code, Written):
            return self.code.text
        return self.source_line.strip()

    @property
    def source_line(self) -> str:
        """The text of the line with its indentation."""
        if isinstance(self.code, Written):
            return self.code.text
        lines = lines_around(self.code)
        return lines[self.line - 1].rstrip() if self.line <= len(lines) else ""

    def __str__(self) -> str:
        return shown_place(self.file, self.line)


def here_and_around() -> Iterator[tuple[CodeType, int]]:
    """Yield the user's current places, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_own_file(frame.f_code.co_filename):
            yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def here() -> tuple[CodeType, int] | None:
    """Return the user's current code and instruction, or None when no user code is running.

    ``Location(*here())`` is the place; most are never asked for, so they are not made here.
    """
    frame = sys._getframe(1)
    own = _own_files
    while frame is not None:
        code = frame.f_code
        try:
            is_own = own[code.co_filename]
        except KeyError:
            is_own = is_own_file(code.co_filename)
        if not is_own:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


#: A place as it is recorded: a code object and an instruction, or a `Location`.
Place = tuple[Any, int] | Location


def states_at(place: Place | None) -> tuple[tuple[str, str], ...]:
    """Return what is asked of floating-point conditions at a place (`Location.states`)."""
    return place.states if type(place) is Location else ()


def is_of_user(code: CodeType) -> bool:
    """Whether code is the user's, and neither ours nor a library's."""
    own = _own_files.get(code.co_filename)
    return not (is_own_file(code.co_filename) if own is None else own)


def user_places(traceback: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    """Yield the user's places in a traceback, the outermost first."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name != PLAN and not is_own_file(code.co_filename):
            yield code, traceback.tb_lasti
        traceback = traceback.tb_next


def user_place(traceback: TracebackType | None) -> tuple[CodeType, int] | None:
    """Return the user's innermost place in a traceback."""
    return next(iter([*user_places(traceback)][::-1]), None)


def place_of(traceback: TracebackType | None) -> tuple[CodeType, int] | None:
    """Return the user's innermost place in a traceback that ends in code that is not the user's."""
    place, is_own = None, False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        is_own = code.co_name == PLAN or is_own_file(code.co_filename)
        if not is_own:
            place = code, traceback.tb_lasti
        traceback = traceback.tb_next
    return place if is_own else None
