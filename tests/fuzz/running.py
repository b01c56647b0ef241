"""What a program gives in plain Python, and in each mode of Lanewise; and what differs."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import os
import signal
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lanewise as lw
from fuzz.programs import Example

_COUNT = itertools.count()
#: Each mode, how often it is chosen, and whether effects are as in the loop.
MODES = {
    "vmap": (6, True), "default": (4, True), "chunk": (3, True), "last": (2, True),
    "nested": (3, True), "map_fn": (3, True), "function": (4, False), "function_vmap": (3, False),
    "vectorized_map": (1, True), "native": (0.3, True), "function_native": (0.3, False),
}  # fmt: skip
#: What Lanewise may answer in place of a result: a refusal, which names what it refuses.
REFUSALS = (lw.UnsupportedError, lw.ConcretizationError)
#: What is said of a Python int that 64 bits do not hold: see design.md.
LIMIT = "int() of more than 63 bits while it is traced"
#: Seconds after which a program is taken for one that does not end.
PATIENCE = 60


class TooLongError(BaseException):
    """A mode did not end in time."""


@dataclass
class Outcome:
    """What running a program gave: results or an error, and what was done outside of it."""

    rows: Any = None
    error: BaseException | None = None
    text: str = ""
    warned: list[str] = field(default_factory=list)
    log: list[Any] = field(default_factory=list)


@dataclass
class Difference:
    """A mode in which a program gives something else than plain Python."""

    mode: str
    what: str
    detail: str
    plain: str = ""  # what plain Python raises


class Program:
    """The function of a source, in a file that only `linecache` knows, and what it appends to."""

    def __init__(self, source: str) -> None:
        name = f"<fuzz {next(_COUNT)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        self.log: list[Any] = []
        self.name = name
        self.scope: dict[str, Any] = {"__name__": "fuzz_program", "log": self.log}
        exec(compile(source, name, "exec"), self.scope)
        self.function: Callable[..., Any] = self.scope["f"]

    def close(self) -> None:
        linecache.cache.pop(self.name, None)


@contextmanager
def _alarm() -> Generator[None]:
    def ring(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _kept(x: Any) -> str:
    """Return a value that was kept outside as text: a number alike whether Python's or NumPy's.

    Where data choose between the two, it is NumPy's; see "what differs" in docs/design.md.
    """
    if isinstance(x, lw.Tensor):
        return "a Tensor"
    is_default = isinstance(x, np.generic) and np.dtype(type(x.item())) == x.dtype
    return repr(x.item() if is_default else x)


def watched(program: Program, run: Callable[[], Any]) -> Outcome:
    """Return what a run gives, and what it does outside."""
    del program.log[:]
    text = io.StringIO()
    with (
        _alarm(),
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(text),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("always")
        outcome = Outcome()
        try:
            outcome.rows = run()
        except (Exception, TooLongError) as error:
            outcome.error = error
    outcome.text = text.getvalue()
    outcome.log = [_kept(x) for x in program.log]
    outcome.warned = [str(w.message) for w in caught if w.category is UserWarning]
    if any(w.category is lw.InternalErrorWarning for w in caught):
        outcome.error = RuntimeError("an InternalErrorWarning")
    return outcome


def leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def rows_of(arrays: Sequence[np.ndarray], dims: Sequence[int | None], i: int) -> list[Any]:
    """Return the arguments of an example: arrays of its own, scalars where they are numbers."""
    row = [np.copy(x if axis is None else x[i]) for x, axis in zip(arrays, dims, strict=True)]
    return [x if x.ndim else x[()] for x in row]


def looped(
    f: Callable[..., Any], arrays: Sequence[np.ndarray], dims: Any, size: int, left: list[Any]
) -> Any:
    """Return the results of plain Python: for each leaf the list of what examples give.

    What each call leaves in its arguments goes into a list.
    """
    found = []
    for i in range(size):
        row = rows_of(arrays, dims, i)
        found.append(leaves(f(*row)))
        left.append(row)
    return [list(column) for column in zip(*found, strict=True)]


@contextmanager
def backend(name: str) -> Generator[None]:
    before = os.environ.get("LANEWISE_BACKEND")
    os.environ["LANEWISE_BACKEND"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["LANEWISE_BACKEND"]
        else:
            os.environ["LANEWISE_BACKEND"] = before


def _in_mode(
    mode: str, f: Any, arrays: list[np.ndarray], dims: Any, size: int, left: list[Any]
) -> list[Any]:
    """Return the results of all calls in a mode, each as `looped` gives them, stacked."""
    if mode in ("vmap", "native"):
        return [leaves(lw.vmap(f, dims)(*arrays))]
    if mode == "default":
        mapped = lw.vmap(f, dims)
        return [leaves(mapped(*arrays)) for _ in range(3)]
    if mode == "chunk":
        return [leaves(lw.vmap(f, dims, chunk_size=1 + size // 3)(*arrays))]
    if mode == "last":
        moved = [
            x if d is None else np.moveaxis(x, 0, -1) for x, d in zip(arrays, dims, strict=True)
        ]
        ends = tuple([None if d is None else -1 for d in dims])
        found = leaves(lw.vmap(f, ends, -1)(*moved))
        return [tuple([np.moveaxis(x, -1, 0) for x in found])]
    if mode == "nested":
        mapped = [
            x if d is None else np.stack([x, x[::-1]]) for x, d in zip(arrays, dims, strict=True)
        ]
        found = leaves(lw.vmap(lw.vmap(f, dims), dims)(*mapped))
        return [tuple([x[0] for x in found]), tuple([x[1][::-1] for x in found])]
    if mode in ("map_fn", "vectorized_map"):
        mapped = [x for x, d in zip(arrays, dims, strict=True) if d is not None]

        def around(parts: list[Any]) -> Any:
            rest = iter(parts)
            pairs = zip(arrays, dims, strict=True)
            return f(*[next(rest) if d is not None else x.copy()[()] for x, d in pairs])

        run = lw.map_fn if mode == "map_fn" else lw.vectorized_map
        return [leaves(run(around, mapped))]
    if mode == "function_vmap":
        traced = lw.function(lw.vmap(f, dims))
        return [leaves(traced(*arrays)) for _ in range(2)]
    return [tuple(looped(lw.function(f), arrays, dims, size, left))]


def differs(got: Any, want: list[Any]) -> str:
    """Return how stacked results differ from those of examples; empty if they do not."""
    if isinstance(got, list):  # of a function called for each example
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            # What has no dimensions is NumPy's scalar (function.md), Python's number too where
            # another branch gives such a scalar.
            is_number = type(w) in (bool, int, float, np.ndarray) and np.ndim(w) == 0
            if type(g) is not type(w) and not (is_number and np.asarray(w).dtype == type(g)):
                kinds = f"{type(g).__name__} {g!r}, plain Python gives {type(w).__name__} {w!r}"
                return f"example {i}: {kinds}"
        got = np.stack([np.asarray(g) for g in got])
    if all(w is None for w in want):
        return "" if np.equal(got, None).all() else f"{got!r}, plain Python gives None"
    wanted = [np.asarray(w) for w in want]
    if len({w.shape for w in wanted}) > 1:
        return ""  # that cannot be stacked
    expected = np.stack(wanted)
    if type(got) is not np.ndarray or got.shape != expected.shape:
        return f"{type(got).__name__} of shape {np.shape(got)}, plain Python gives {expected.shape}"
    if len({w.dtype for w in wanted}) == 1 and got.dtype != expected.dtype:
        return f"dtype {got.dtype}, plain Python gives {expected.dtype}"
    if got.dtype.kind != expected.dtype.kind:
        return f"dtype {got.dtype}, plain Python gives {expected.dtype}"
    is_float = got.dtype.kind in "fc"
    if np.array_equal(got, expected, equal_nan=is_float):
        return ""
    return f"{got!r}, plain Python gives {expected!r}"


def is_rough(got: Any, want: list[Any]) -> bool:
    """Whether floats are equal but for the last bits."""
    wanted = np.stack([np.asarray(w) for w in want])
    got = np.asarray(got)
    if wanted.dtype.kind not in "fc" or got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    return np.allclose(got, wanted, rtol=1e-9, atol=1e-9 * scale, equal_nan=True)


def _wrong_beside(example: Example, found: list[Any]) -> str:
    """Return how results differ of the examples that do not raise in plain Python."""
    plain = Program(example.source)
    arrays, dims = list(example.arrays.values()), example.in_dims
    for i in range(example.size):
        row = watched(plain, lambda i=i: leaves(plain.function(*rows_of(arrays, dims, i))))
        for got in found if row.error is None else ():
            for g, w in zip(got, row.rows, strict=True):
                how = differs(np.asarray(g[i])[np.newaxis], [w])
                if how and not is_rough(np.asarray(g[i])[np.newaxis], [w]):
                    return how
    plain.close()
    return ""


class Compared:
    """A program to be run in some modes, and what it gives in plain Python."""

    def __init__(self, example: Example) -> None:
        self.example = example
        arrays, dims, size = list(example.arrays.values()), example.in_dims, example.size
        plain = Program(example.source)
        self.left: list[Any] = []
        self.want = watched(plain, lambda: looped(plain.function, arrays, dims, size, self.left))
        plain.close()
        self.program = Program(example.source)

    def mode(self, mode: str) -> tuple[str, Difference | None]:
        """Run it in a mode; return ``same``, ``raised``, ``refused``, ``differs``, ..., and how."""
        if isinstance(self.want.error, TooLongError):
            return "endless", None
        return _compared(mode, self.example, self.want, self.program, self.left)

    def close(self) -> None:
        self.program.close()


def compared(mode: str, example: Example) -> tuple[str, Difference | None]:
    """Run one program in one mode."""
    case = Compared(example)
    try:
        return case.mode(mode)
    finally:
        case.close()


def _compared(mode: str, example: Example, want: Outcome, program: Program, left: list[Any]) -> Any:
    dims, size = example.in_dims, example.size
    given = example.given()
    before = [x.copy() for x in given]
    name = "native" if "native" in mode else "" if mode in ("default", "function") else "interpret"
    written: list[Any] = []
    with backend(name):
        got = watched(program, lambda: _in_mode(mode, program.function, given, dims, size, written))

    def difference(what: str, detail: str) -> tuple[str, Difference]:
        return "differs", Difference(mode, what, detail, type(want.error).__name__)

    if isinstance(got.error, REFUSALS) or LIMIT in str(got.error):
        return "refused", Difference(mode, "refused", str(got.error))
    if isinstance(got.error, TooLongError):
        return difference("endless", "")
    if got.error is not None and type(got.error).__name__ != type(want.error).__name__:
        raised = f"{type(got.error).__name__}: {got.error}"
        return difference(
            f"raises {type(got.error).__name__}", f"{raised}, plain Python {want.error!r}"
        )
    if want.error is not None:
        if got.error is not None:
            return "raised", None
        # What nobody uses is not computed, nor does it raise: see design.md. All else is right.
        wrong = _wrong_beside(example, got.rows)
        if wrong:
            return difference(f"does not raise {type(want.error).__name__}", wrong)
        return "unused", None
    for x, y in zip(given, before, strict=True):
        if not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
            return difference("changes an argument", f"{x!r}, was {y!r}")
    rough = example.source.count("# rough: ") and int(
        example.source.split("# rough: ")[1].split()[0]
    )
    for found in got.rows:
        if len(found) != len(want.rows):
            return difference(
                "results", f"{len(found)} results, plain Python gives {len(want.rows)}"
            )
        for number, (g, w) in enumerate(zip(found, want.rows, strict=True)):
            how = differs(g, w)
            if how and not (number >= len(found) - rough and is_rough(g, w)):
                return difference(
                    "value" if "dtype" not in how[:8] else "dtype", f"result {number}: {how}"
                )
    for i, rows in enumerate(zip(written, left, strict=False)):
        for x, y in zip(*rows, strict=True):
            how = differs(np.asarray(x)[np.newaxis], [np.asarray(y)])
            if how and not (rough and is_rough(np.asarray(x)[np.newaxis], [y])):
                return difference("arguments", f"example {i} leaves {how}")
    if MODES[mode][1]:
        times = {"default": 3, "nested": 2}.get(mode, 1)
        if mode == "nested" and (want.text or want.log or want.warned):
            return "same", None  # the second map's examples come in another order
        for what, a, b in (
            ("text", got.text, want.text * times),
            ("log", got.log, want.log * times),
            ("warnings", got.warned, want.warned * times),
        ):
            if a != b:
                return difference(what, f"{a!r}, plain Python gives {b!r}")
    return "same", None
