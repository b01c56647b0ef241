"""What to write in place of a library's call that computes with the numbers themselves."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType, FunctionType
from typing import Any, NoReturn

from lanewise.errors import ConcretizationError, UnsupportedError, at
from lanewise.ir.location import here, is_own_file, lines_around
from lanewise.trace import tree
from lanewise.trace.scratch import is_traced, unwrapped
from lanewise.trace.tensor import Tensor, contains_tensor

#: What gives one number of a row, whatever the length: functions, and parts of their results.
NUMBERS = frozenset(
    "brentq cond cosine cityblock correlation det entropy euclidean fun intercept iqr kurtosis "
    "logsumexp mode norm pearsonr pvalue quad romb rvalue sem simpson skew slope spearmanr "
    "statistic trapezoid".split()
)
#: What MINPACK says where a function of the user's did not give it numbers.
_NO_NUMBERS = "not a proper array of floats"


def advised(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that raises with the line to write where f does not take tensors."""
    return partial(_call, f, name)


def _call(f: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    has_data = is_traced(args) or is_traced(kwargs)
    if has_data:  # a tensor says what it is, an array that stands for one has memory to be read
        args, kwargs = unwrapped(args), unwrapped(kwargs)
    try:
        return f(*args, **kwargs)
    except UnsupportedError:
        raise
    except ConcretizationError as error:
        if "lw.py_func(" in str(error):
            raise
        _refuse(name)
    except Exception as error:
        if not _needed_numbers(error) and not (has_data and _takes_no_tensor(error)):
            raise
        _refuse(name)


def _takes_no_tensor(error: Exception) -> bool:
    """Whether a library raises an error as it is given something else than an array."""
    return isinstance(error, TypeError) or Tensor.__module__ in str(error)


def _needed_numbers(error: BaseException | None) -> bool:
    """Whether a library raises another error where a function that it calls met a tensor."""
    while error is not None:
        if isinstance(error, ConcretizationError) or _NO_NUMBERS in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _refuse(name: str) -> NoReturn:
    called, line = _written(name)
    raise ConcretizationError(
        f"{called}() computes with the numbers themselves, which are not known while tracing"
        f"{at(here())}. {line}"
    ) from None


def _written(name: str) -> tuple[str, str]:
    """Return what the user calls the function that is called now, and what to write."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    found = None if frame is None else _calls_at(frame)
    if frame is None or found is None:
        return name, f"Write lw.py_func(lambda ...: {name}(...), [...], float), {_OTHERWISE}"
    call, text, count = found
    traced = {key: value for key, value in frame.f_locals.items() if contains_tensor(value)}
    called = ast.unparse(call.func)
    readers = [each for each in _names_in(text) if _read_by(frame.f_locals.get(each))]
    if readers:
        return called, _for_readers(readers, text, frame.f_locals, traced)
    text, parts = _without_parts(text, traced)
    inputs = [each for each in _names_in(text) if each in traced or each in parts]
    listed = ", ".join([parts.get(each, each) for each in inputs])
    taken = ", ".join(inputs)
    line = f"Write lw.py_func(lambda {taken}: {text}, [{listed}], "
    if count:
        return called, f"{line}({', '.join(['float'] * count)})), {_OTHERWISE}"
    first = traced.get(inputs[0]) if inputs else None
    if _is_number(ast.parse(text, mode="eval").body) and isinstance(first, Tensor) and first.ndim:
        return called, f"{line}lw.TensorSpec((), float))"
    told = f"{inputs[0]}, {first._type!r}" if isinstance(first, Tensor) else _FIRST
    return called, f"{line}float), {_OTHERWISE.replace(_FIRST, told)}"


def _without_parts(text: str, traced: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return an expression with names for parts of containers, and which parts those are."""
    parts = {}
    for key in _names_in(text):
        if key in traced and not isinstance(traced[key], Tensor):
            for path in tree.paths(traced[key], key):
                name = re.sub(r"\W+", "_", path).strip("_")
                replaced = _replaced(text, path, name)
                if replaced != text:
                    text, parts[name] = replaced, path
    return text, parts


def _for_readers(
    readers: list[str], text: str, variables: Mapping[str, Any], traced: Mapping[str, Any]
) -> str:
    """Return what to write where functions are called that read what is traced themselves."""
    read = [name for each in readers for name in _read_by(variables[each])]
    inputs = [each for each in _names_in(text) if each in traced]
    listed, defined = ", ".join(dict.fromkeys([*inputs, *read])), " and ".join(readers)
    return (
        f"{defined} reads {' and '.join(dict.fromkeys(read))}, which is traced: write a function "
        f"of ({listed}) that defines {defined} and returns {text}, and call that by "
        f"lw.py_func(func, [{listed}], float), {_OTHERWISE}"
    )


_FIRST = "the first input"
_OTHERWISE = (
    f"with lw.TensorSpec(shape, dtype) for float where the result is not shaped like {_FIRST}"
)


def _read_by(value: Any) -> list[str]:
    """Return the variables that hold what is traced and that a function reads where it stands."""
    if not isinstance(value, FunctionType):
        return []
    found = []
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
        try:
            if contains_tensor(cell.cell_contents):
                found.append(name)
        except ValueError:  # it has no value yet
            continue
    return found


def _names_in(text: str) -> list[str]:
    """Return the names in an expression, each once, but for those that its lambdas take."""
    node = ast.parse(text, mode="eval")
    taken = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return [name for name in dict.fromkeys(names) if name not in taken]


def _is_number(whole: ast.expr) -> bool:
    """Whether an expression is known to be one number."""
    if isinstance(whole, ast.Call) and isinstance(whole.func, ast.Call):  # interp1d(x, y)(0.5)
        return all([isinstance(part, ast.Constant) for part in whole.args])
    if isinstance(whole, ast.Subscript):
        whole = whole.value
    if isinstance(whole, ast.Call):
        whole = whole.func
    name = whole.attr if isinstance(whole, ast.Attribute) else getattr(whole, "id", "")
    return name in NUMBERS


def _calls_at(frame: FrameType) -> tuple[ast.Call, str, int] | None:
    """Return the call that a frame is at, and the text of the expression that goes with it.

    Last, to how many variables the result is unpacked, 0 if it is not. None if that is unknown.
    """
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    try:
        module = ast.parse("".join(lines_around(frame.f_code)))
    except (SyntaxError, ValueError):  # not the source that runs
        return None
    above = {child: node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}
    place = positions[0], positions[1], positions[2], positions[3]
    calls = [node for node in above if isinstance(node, ast.Call) and _place(node) == place]
    if not calls:
        return None
    whole = _outermost(calls[0], above, frame)
    statement = above[whole]
    text = ast.unparse(whole)
    if isinstance(statement, ast.Assign) and statement.value is whole:
        target = statement.targets[0]
        if isinstance(target, ast.Tuple):
            return calls[0], text, len(target.elts)
        if isinstance(target, ast.Name):
            used = _first_use(target.id, statement, above, frame)
            if used is not None:
                text = _replaced(ast.unparse(used), target.id, text)
    return calls[0], text, 0


def _place(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _outermost(node: ast.expr, above: dict[ast.AST, ast.AST], frame: FrameType) -> ast.expr:
    """Return the expression that takes parts of a result, calls it, or hands it to the library."""
    while True:
        parent = above[node]
        takes = isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node
        calls = isinstance(parent, ast.Call) and (parent.func is node or _is_scipys(parent, frame))
        if not isinstance(parent, ast.expr) or not (takes or calls):
            return node
        node = parent


def _is_scipys(call: ast.Call, frame: FrameType) -> bool:
    """Whether a call is one of SciPy's functions."""
    path: list[str] = []
    node = call.func
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    found = {**frame.f_globals, **frame.f_locals}.get(node.id)
    for name in reversed(path):
        found = getattr(found, name, None)
    return str(getattr(found, "__module__", "")).startswith("scipy.")


def _first_use(
    name: str, statement: ast.Assign, above: dict[ast.AST, ast.AST], frame: FrameType
) -> ast.expr | None:
    """Return the first expression after a statement that takes parts of a variable, or calls it."""
    scope: ast.AST = statement
    while not isinstance(scope, (ast.FunctionDef, ast.Lambda, ast.Module)):
        scope = above[scope]
    uses = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name]
    for node in sorted(uses, key=lambda node: (node.lineno, node.col_offset)):
        if node.lineno > statement.lineno and isinstance(node.ctx, ast.Load):
            whole = _outermost(node, above, frame)
            return None if whole is node else whole
    return None


def _replaced(text: str, part: str, by: str) -> str:
    """Return an expression with another in place of a part of it."""
    node = ast.parse(text, mode="eval")
    value = ast.parse(by, mode="eval").body

    class Put(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            return value if ast.unparse(node) == part else super().generic_visit(node)

    return ast.unparse(Put().visit(node))


def without_data(function: Any, instead: str) -> Callable[..., Any]:
    """Return a function that raises where the arguments hold data, and says what to write."""
    name = f"{function.__module__}.{function.__name__}"

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_traced(args) or is_traced(kwargs):
            raise UnsupportedError(
                f"{name} is not followed{at(here())}: it computes with the numbers themselves. "
                f"{instead}"
            )
        return function(*args, **kwargs)

    call.__name__ = function.__name__
    return call
