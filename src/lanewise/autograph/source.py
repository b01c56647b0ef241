"""The syntax tree of a function, found from its code object and checked against it.

A ``def`` is read from its first line to where its instructions end; of a ``lambda`` the return
instruction knows exactly where its expression stands, so that several on a line are told apart.
What was found is compiled again and must give the same instructions: a file may have been edited.
"""

from __future__ import annotations

import ast
import copy
import dis
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from lanewise.autograph.build import arguments, fill_places, function, place, shifted
from lanewise.ir.location import CHANGED, ELSEWHERE, origin, texts

#: The name of a lambda as a function, before it gets its own back.
LAMBDA = "ag__lambda"
_FACTORY = "ag__factory"
#: The flags of ``from __future__`` imports and of the kinds of parameters.
_FUTURE = 0x1FF0000
_VARIADIC, _KEYWORDS = 0x04, 0x08


def find(code: CodeType) -> ast.FunctionDef | None:
    """Return the definition of a function, or ``None`` if its source cannot be found.

    It has no decorators, defaults and annotations: they are the function's, not the code's. A
    lambda is returned as the definition of a function named `LAMBDA`.
    """
    is_lambda = code.co_name == "<lambda>"
    kept = texts(code)
    for lines in kept:
        for node in _lambdas(code, lines) if is_lambda else _definitions(code, lines):
            if _is_source_of(node, code):
                if code.co_filename.startswith("<") and not linecache.getlines(code.co_filename):
                    ELSEWHERE[origin(code)] = lines
                return _as_function(node, code) if isinstance(node, ast.Lambda) else node
    if kept and not code.co_filename.startswith("<"):
        CHANGED.add(origin(code))
    return None


# --- definitions


def _definitions(code: CodeType, lines: list[str]) -> Iterator[ast.FunctionDef]:
    """Yield what may be the definition: its own lines parsed, then the whole file searched.

    At last those of the name that stand elsewhere: lines above it may have been edited.
    """
    block = _block(code, lines)
    if block is not None:
        for node, first in _named_definitions(code, block):
            if first == code.co_firstlineno:
                yield node
    tree = _parsed("".join(lines))
    if tree is None:
        return
    found = _named_definitions(code, tree)
    for node, first in sorted(found, key=lambda row: row[1] != code.co_firstlineno):
        yield shifted(node, code.co_firstlineno - first)


def _named_definitions(code: CodeType, tree: ast.AST) -> list[tuple[ast.FunctionDef, int]]:
    """Return the definitions of a function's name, each with its first line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *[part.lineno for part in node.decorator_list]])
            found.append((node, first))
    for node, _ in found:
        _strip(node)
    return found


def _strip(node: ast.FunctionDef) -> None:
    """Remove what is evaluated outside of the function."""
    node.decorator_list, node.returns = [], None
    node.__dict__["type_params"] = []
    args = node.args
    args.defaults, args.kw_defaults = [], [None] * len(args.kwonlyargs)
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            arg.annotation = None


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):  # cut off at the wrong line; not Python at all
        return None


def _block(code: CodeType, lines: list[str]) -> ast.Module | None:
    """Return the parsed lines of a definition, at the places where they stand in the file."""
    first = code.co_firstlineno
    if not 1 <= first <= len(lines):
        return None
    head = lines[first - 1]
    indent = head[: len(head) - len(head.lstrip())]
    end = max(_last_line(code), first)
    while end < len(lines):  # what has no instructions: `pass`, `global`, closing brackets, ...
        line = lines[end]
        inside = line.startswith(indent) and line[len(indent) : len(indent) + 1] in (" ", "\t")
        if line.strip() and not inside:
            break
        end += 1
    padding = "\n" * (first - 1)
    if indent:
        padding = "\n" * (first - 2) + "if 1:\n"
    return _parsed(padding + "".join(lines[first - 1 : end]))


def _last_line(code: CodeType) -> int:
    """Return the last line that an instruction of a function belongs to."""
    last = max((end or 0 for _, end, _, _ in code.co_positions()), default=0)
    last = max([last, *[line or 0 for _, _, line in code.co_lines()]])
    return max([last, *map(_last_line, _inner(code))])


def _inner(code: CodeType) -> list[CodeType]:
    return [part for part in code.co_consts if isinstance(part, CodeType)]


# --- lambdas


def _lambdas(code: CodeType, lines: list[str]) -> Iterator[ast.Lambda]:
    """Yield what may be the lambda: its expression at its place, then all of its line."""
    place_of_body = _returned(code)
    body = place_of_body and _expression(lines, *place_of_body)
    if body:
        made = ast.Lambda(_parameters(code), body)
        span = {"lineno": code.co_firstlineno, "col_offset": 0, "end_col_offset": 0}
        made.__dict__.update(span, end_lineno=code.co_firstlineno)
        yield made
    found = _all_lambdas("".join(lines))
    for node in sorted(found, key=lambda node: node.lineno != code.co_firstlineno):
        node = copy.deepcopy(node)
        node.args = _parameters(code)
        yield shifted(node, code.co_firstlineno - node.lineno)


@lru_cache(maxsize=2)
def _all_lambdas(text: str) -> tuple[ast.Lambda, ...]:
    """Return the lambdas of a file; one that holds many is asked for many."""
    tree = _parsed(text)
    return tuple([x for x in ast.walk(tree) if isinstance(x, ast.Lambda)]) if tree else ()


def _returned(code: CodeType) -> tuple[int, int, int, int] | None:
    """Return where the expression that a lambda returns begins and ends."""
    *_, (line, end_line, column, end_column) = code.co_positions()
    if line is None or end_line is None or column is None or end_column is None:
        return None  # Python was told not to keep columns
    return line, end_line, column, end_column


def _expression(
    lines: list[str], line: int, end_line: int, column: int, end_column: int
) -> ast.expr | None:
    """Return the expression at a place, parsed so that its parts know their places."""
    if not 1 <= line <= end_line <= len(lines):
        return None
    part = [text.encode() for text in lines[line - 1 : end_line]]
    part[-1] = part[-1][:end_column]
    part[0] = b" " * column + part[0][column:]
    before = "\n" * (line - 2) + "(\n" if line > 1 else "("
    text = b"".join(part) if line > 1 else part[0][1:] + b"".join(part[1:])
    try:
        return ast.parse(before + text.decode() + "\n)", mode="eval").body
    except (SyntaxError, ValueError):  # places in f-strings are not exact in Python 3.11
        return None


def _parameters(code: CodeType) -> ast.arguments:
    """Return the parameters of a function."""
    names = [ast.arg(name) for name in code.co_varnames]
    n, k = code.co_argcount, code.co_kwonlyargcount
    made = arguments([])
    made.posonlyargs, made.args = (
        names[: code.co_posonlyargcount],
        names[code.co_posonlyargcount : n],
    )
    made.kwonlyargs, made.kw_defaults = names[n : n + k], [None] * k
    rest = iter(names[n + k :])
    made.vararg = next(rest) if code.co_flags & _VARIADIC else None
    made.kwarg = next(rest) if code.co_flags & _KEYWORDS else None
    return made


def _as_function(node: ast.Lambda, code: CodeType) -> ast.FunctionDef:
    made = function(LAMBDA, (), [place(ast.Return(node.body), node.body)])
    made.args = node.args
    return place(made, node)


# --- compiling, as if the function stood where it does


def owner(code: CodeType) -> str | None:
    """Return the innermost class around a function, whose private names are mangled in it."""
    *path, _ = code.co_qualname.split(".")
    while path and path[-1] == "<locals>":
        path = path[:-2]
    return path[-1] if path else None


def compile_within(node: ast.FunctionDef | ast.Lambda, code: CodeType, *names: str) -> CodeType:
    """Compile a function with the free variables of ``code`` and ``names``, in its class."""
    of_class = owner(code)
    free = [name for name in (*names, *code.co_freevars) if not (of_class and name == "__class__")]
    if isinstance(node, ast.Lambda):
        inner: ast.stmt = ast.Expr(node)
    else:
        inner = node
    if of_class:
        inner = ast.ClassDef(of_class, [], [], [inner], [])
        inner.__dict__["type_params"] = []
    body: list[ast.stmt] = [inner]
    outermost = of_class or getattr(node, "name", None)
    if outermost and outermost not in free:  # within it, its name is that of a global variable
        body.insert(0, ast.Global([outermost]))
    made = function(_FACTORY, free, body)
    module = ast.Module([made], [])
    fill_places(module, (code.co_firstlineno, 0, 0))
    flags = code.co_flags & _FUTURE
    made_code = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    for outer in (_FACTORY, *([of_class] if of_class else ()), name):
        made_code = next(part for part in _inner(made_code) if part.co_name == outer)
    return made_code


def _is_source_of(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> bool:
    """Return whether a definition, compiled, gives the code."""
    return _same(compile_within(node, code), code)


def _same(made: CodeType, code: CodeType) -> bool:
    count = code.co_argcount + code.co_kwonlyargcount
    if made.co_name != code.co_name or made.co_varnames[:count] != code.co_varnames[:count]:
        return False
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    if any("@" in name for name in names):  # an assertion that pytest rewrote
        return {*made.co_varnames, *made.co_freevars, *made.co_cellvars} <= names
    for key in ("co_names", "co_varnames", "co_freevars", "co_cellvars"):
        if getattr(made, key) != getattr(code, key):
            return False
    if len(made.co_consts) != len(code.co_consts) or not _same_instructions(made, code):
        return False
    # A class keeps its qualified name, which tells where it was compiled.
    pairs = zip(made.co_consts, code.co_consts, strict=True)
    own = (made.co_qualname, code.co_qualname)
    return all(pair == own or _same_constant(*pair) for pair in pairs)


def _same_constant(made: object, constant: object) -> bool:
    if isinstance(made, CodeType) and isinstance(constant, CodeType):
        return _same(made, constant)
    if type(made) is not type(constant):
        return False
    return repr(made) == repr(constant) or (isinstance(made, frozenset) and made == constant)


def _same_instructions(made: CodeType, code: CodeType) -> bool:
    return made.co_code == code.co_code or _instructions(made) == _instructions(code)


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_WITHOUT_MEANING = ("CACHE", "PUSH_NULL")
_LOADS = {"LOAD_GLOBAL": "LOAD_GLOBAL", "LOAD_ATTR": "LOAD_ATTR", "LOAD_METHOD": "LOAD_ATTR"}
#: Their lowest bit tells whether a call follows, the others the name.
_WITH_A_FLAG = ("LOAD_GLOBAL", "LOAD_ATTR") if sys.version_info >= (3, 12) else ("LOAD_GLOBAL",)


def _instructions(code: CodeType) -> list[tuple[str, int]]:
    """Return the instructions but for what depends on the module around.

    Where a name is imported there, its attributes are loaded to be called in another way, and
    jumps are as much longer or shorter.
    """
    found = []
    high = 0
    for op, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        argument, high = high | low, 0
        name = dis.opname[op]
        if name == "EXTENDED_ARG":
            high = argument << 8
        elif name in _LOADS:
            found.append((_LOADS[name], argument >> (name in _WITH_A_FLAG)))
        elif name == "LOAD_GLOBAL":
            found.append((name, argument >> 1))  # the lowest bit says how it is called
        elif name not in _WITHOUT_MEANING:
            found.append((name, 0 if op in _JUMPS else argument))
    return found
