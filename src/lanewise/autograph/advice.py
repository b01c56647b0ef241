"""What to write in place of a library's call that computes with the numbers themselves."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from lanewise.errors import ConcretizationError, at
from lanewise.ir.location import _is_own, here, lines_around
from lanewise.trace.tensor import Tensor


def advised(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that raises with the line to write where f does not take tensors."""
    return partial(_call, f, name)


def _call(f: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    try:
        return f(*args, **kwargs)
    except ConcretizationError as error:
        if "lw.py_func(lambda" in str(error):
            raise
        called, line = _written(name)
        raise ConcretizationError(
            f"{called}() computes with the numbers themselves, which are not known while tracing"
            f"{at(here())}. Write {line}, with lw.TensorSpec(shape, dtype) for float where the "
            "result is not shaped like the first input"
        ) from None


def _written(name: str) -> tuple[str, str]:
    """Return what the user calls the function that is called now, and the call by `py_func`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    found = None if frame is None else _call_at(frame)
    if frame is None or found is None:
        return name, f"lw.py_func(lambda ...: {name}(...), [...], float)"
    call, taken = found
    inputs = []
    for node in ast.walk(call):
        if isinstance(node, ast.Name) and isinstance(frame.f_locals.get(node.id), Tensor):
            inputs.append(node.id)
    listed = ", ".join(dict.fromkeys(inputs))
    text = ast.unparse(call) + taken
    return ast.unparse(call.func), f"lw.py_func(lambda {listed}: {text}, [{listed}], float)"


#: What is taken of the result at once: ``quad(...)[0]``, ``linregress(...).slope``.
_PARTS = re.compile(r"(?:\[[^\[\]]*\]|\.\w+(?![\w(]))*")


def _call_at(frame: FrameType) -> tuple[ast.Call, str] | None:
    """Return the call that a frame is at, and what is taken of it; None if that is unknown."""
    line, last, column, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if line is None or line != last or column is None or end is None:
        return None
    source = (lines_around(frame.f_code)[line - 1 : line] or [""])[0]
    try:
        called, rest = source.encode()[column:end].decode(), source.encode()[end:].decode()
        found = ast.parse(called, mode="eval").body
    except (SyntaxError, ValueError):  # not the source that runs
        return None
    if not isinstance(found, ast.Call):
        return None
    taken = _PARTS.match(rest)
    return found, taken.group() if taken else ""
