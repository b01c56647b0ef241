"""The user's function: find it in its file, match its parameters, tell where it failed."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from lanewise.cli.errors import CommandError

# Not the file's own name: a user's `json.py` must not stand in for the library's.
MODULE_NAME = "__lanewise_map__"


def load_function(target: str) -> tuple[Callable[..., Any], Path]:
    """Return the function that `target` (``FILE.py:FUNCTION``) names, and its file."""
    file, colon, name = target.rpartition(":")
    if not (colon and file and name):
        raise CommandError(f"{target}: name the function to map as FILE.py:FUNCTION")
    path = Path(file)
    if not path.is_file():
        raise CommandError(f"{file}: no such file")
    path = path.resolve()
    module = _run(path)
    try:
        function = attrgetter(name)(module)
    except AttributeError:
        raise CommandError(f"{file} has no function {name!r}{_suggest(name, module)}") from None
    if not callable(function):
        raise CommandError(f"{name!r} in {file} is of type {type(function).__name__}, no function")
    return function, path


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path.name}: no Python file (its name does not end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module  # dataclasses look their own module up
    sys.path.insert(0, str(path.parent))  # as `python FILE.py` does, for imports of neighbours
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CommandError(describe(error, path)) from error
    return module


def _suggest(name: str, module: ModuleType) -> str:
    defined = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    close = difflib.get_close_matches(name, defined, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it has {', '.join(defined)}" if defined else ""


def parameters_among(function: Callable[..., Any], names: Sequence[str]) -> list[str]:
    """Return which of `names` the function takes by name.

    A parameter without a default whose name is not among them is an error; a name without a
    parameter is left out, as a data file often holds more than one function needs.
    """
    parameters = inspect.signature(function).parameters.values()
    single = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    by_name = {p.name for p in single if p.kind is not p.POSITIONAL_ONLY}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    taken = [name for name in names if takes_any or name in by_name]
    missing = [p.name for p in single if p.default is p.empty and p.name not in taken]
    if missing or not taken:
        wanted = ", ".join(p.name for p in parameters)
        raise CommandError(
            f"the function takes ({wanted}) and the input has arrays named "
            f"{', '.join(names) or '(none)'}"
            + (f": {', '.join(missing)} missing" if missing else ": none of them is taken")
        )
    return taken


def describe(error: Exception, path: Path) -> str:
    """Say in one line what `error` is and which line of `path` it comes from."""
    parts = [part for part in (str(error), *getattr(error, "__notes__", ())) if part]
    lines = [line.strip() for part in parts for line in part.splitlines()]
    message = ": ".join([type(error).__name__, "; ".join(lines)] if lines else [repr(error)])
    if isinstance(error, SyntaxError):
        return f"{path.name}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    if frames and f"{path.name}:{frames[-1].lineno}" not in message:
        message = f"{path.name}, line {frames[-1].lineno}: {message}"
    return message
