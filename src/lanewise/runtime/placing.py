"""Made code that stands at the lines of the user's that it carries out.

NumPy's warnings name the line of the Python code that runs, so the code of a plan, and of the
meanings that it calls, says of each instruction which line of the user's it stands for.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from types import CodeType, FunctionType
from typing import Any

from lanewise.ir.graph import Graph
from lanewise.ir.location import PLAN, Place, Written, is_of_lanewise
from lanewise.ops.control import CONTROL


def line_of(place: Place) -> int:
    """Return the line of a place."""
    starts, lines = _table(place[0])
    return lines[max(bisect_right(starts, place[1]) - 1, 0)]


@lru_cache(maxsize=256)
def _table(code: CodeType | Written) -> tuple[list[int], list[int]]:
    """Return where each stretch of instructions begins, and its line."""
    found = [(start, line) for start, _, line in code.co_lines() if line is not None]
    found = found or [(0, code.co_firstlineno)]
    return [start for start, _ in found], [line for _, line in found]


def main_file(places: Iterable[Place | None]) -> str | None:
    """Return the file in which most of some places are."""
    files = Counter([place[0].co_filename for place in places if place is not None])
    return files.most_common(1)[0][0] if files else None


@cache
def _modules(count: int) -> dict[str, str]:
    """Return the names of the modules that are loaded, by their files."""
    modules = list(sys.modules.items())
    named = [(getattr(module, "__file__", None), name) for name, module in modules]
    return {file: name for file, name in reversed(named) if isinstance(file, str)}


def module_of(file: str) -> str:
    """Return the name of the module of a file, by which filters of warnings choose."""
    return _modules(len(sys.modules)).get(file, "__main__" if file[:1] == "<" else file)


def relocated(code: CodeType, file: str, lines: Sequence[int]) -> CodeType:
    """Return code in another file, where its line `i` is ``lines[i - 1]`` of that file."""
    table = bytearray()
    last = code.co_firstlineno
    for start, end, line in code.co_lines():
        units = (end - start) // 2
        new = last if line is None else lines[min(line, len(lines)) - 1]
        while units > 0:
            count = min(units, 8)
            table.append(0x80 | (15 if line is None else 13) << 3 | (count - 1))
            if line is not None:
                table += _signed(new - last)
                last = new
            units -= count
    return code.replace(
        co_filename=file, co_linetable=bytes(table), co_name=PLAN, co_qualname=PLAN
    )  # the first line stays, from which the table counts


def _signed(number: int) -> bytes:
    """Return a number as tables of lines have it: the sign last, in groups of six bits."""
    number = (-number << 1) | 1 if number < 0 else number << 1
    groups = bytearray()
    while number >= 64:
        groups.append(64 | number & 63)
        number >>= 6
    groups.append(number)
    return bytes(groups)


def placed(call: Callable[..., Any], place: Place | None) -> Callable[..., Any]:
    """Return a meaning of Lanewise's whose warnings are at a place of the user's."""
    if place is None:
        return call
    if isinstance(call, partial):
        return partial(placed(call.func, place), *call.args, **call.keywords)
    if not isinstance(call, FunctionType) or not is_of_lanewise(call.__code__):
        return call
    code = _at_line(call.__code__, place[0].co_filename, line_of(place))
    made = FunctionType(code, call.__globals__, call.__name__, call.__defaults__, call.__closure__)
    made.__kwdefaults__ = call.__kwdefaults__
    return made


@lru_cache(maxsize=1024)
def _at_line(code: CodeType, file: str, line: int) -> CodeType:
    return relocated(code, file, [line])


def spelled(
    expression: str, variables: Sequence[str], names: dict[str, Any], place: Place
) -> Callable[..., Any]:
    """Return a function that is an expression in some variables, at a place of the user's."""
    text = f"lambda {', '.join(variables)}: {expression}"
    code = compile(text, PLAN, "eval")
    file, line = place[0].co_filename, line_of(place)
    function: FunctionType = eval(code, {**names, "__name__": module_of(file)})
    function.__code__ = relocated(function.__code__, file, [line])
    return function


def places_of(graph: Graph) -> list[Place | None]:
    """Return the places of all operations that a plan writes out."""
    found: list[Place | None] = []
    for op in graph.operations:
        found.append(op.place)
        if op.primitive in CONTROL:
            found += [place for region in op.regions for place in places_of(region)]
    return found
