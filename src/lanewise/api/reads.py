"""What code reads of the world: the globals and attributes that it names, if that is all."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Sequence
from inspect import CO_OPTIMIZED
from types import CodeType
from weakref import WeakKeyDictionary

#: Of these nothing depends on more than its arguments, but for `IMPURE`.
LIBRARIES = frozenset(
    ("abc", "array", "base64", "binascii", "bisect", "builtins", "cmath", "collections",
     "contextlib", "copy", "dataclasses", "datetime", "enum", "fractions", "functools", "hashlib",
     "heapq", "itertools", "math", "numbers", "numpy", "operator", "re", "scipy", "statistics",
     "string", "struct", "textwrap", "types", "typing", "zlib")
)  # fmt: skip
#: Of these modules nothing depends on more than its arguments that is named here.
PARTS = {
    "inspect": frozenset(
        ("Parameter", "Signature", "isclass", "isfunction", "ismethod", "signature")
    ),
    "sys": frozenset(("byteorder", "float_info", "maxsize", "platform", "version_info")),
}
#: What may depend on more than its arguments, or changes more than these.
IMPURE = frozenset(
    ("Generator", "SeedSequence", "__dict__", "breakpoint", "compile", "datetime64",
     "delattr", "eval", "exec", "fromfile", "fromregex", "genfromtxt", "getattr", "getbufsize",
     "geterr", "get_printoptions", "globals", "hasattr", "input", "io", "load",
     "loadtxt", "locals", "memmap", "open", "print", "qmc", "random",
     "redirect_stderr", "redirect_stdout", "rvs", "save",
     "savetxt", "savez", "savez_compressed", "setattr", "seterr", "seterrcall", "setbufsize",
     "set_printoptions", "tofile", "vars", "__import__", "__subclasses__")
)  # fmt: skip
#: What of these does is an effect of a trace, as `print` is: it happens when that runs, in order.
TELLING = frozenset(("logging", "time", "warnings"))
#: What takes an attribute by its name, which code has to have as a text.
BY_NAME = frozenset(("getattr", "hasattr"))
#: What is made of names of attributes, likewise.
_OF_NAMES = frozenset(("attrgetter", "methodcaller"))
_GLOBAL = frozenset(("LOAD_FROM_DICT_OR_GLOBALS", "LOAD_GLOBAL", "LOAD_NAME"))
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_CONSTANT = frozenset(("LOAD_CONST", "LOAD_SMALL_INT"))
#: What gives objects that a call has made, or that are looked at before and after it: variables of
#: functions, and elements of containers.
_OWN = ("LOAD_FAST", "BINARY_")
#: What takes arguments off the stack.
_CALL = "CALL" if sys.version_info >= (3, 12) else "PRECALL"
#: What may stand between a function and its first argument.
_SILENT = frozenset(("CACHE", "PRECALL", "PUSH_NULL"))
#: What gives random numbers that a seed decides, if there is one.
_SEEDED = frozenset(("RandomState", "default_rng"))
#: What depends on its argument alone, unless that is ``"now"`` or ``"today"``.
_DATED = frozenset(("datetime64",))
_FORBIDDEN = frozenset(("DELETE_GLOBAL", "DELETE_NAME", "STORE_GLOBAL"))
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


class Open(Exception):  # noqa: N818 (nothing went wrong)
    """Ends a walk at something that may depend on more than arguments."""


_Names = tuple[frozenset[str], frozenset[str]]
_known: WeakKeyDictionary[CodeType, _Names | str] = WeakKeyDictionary()


def names_in(code: CodeType) -> _Names:
    """Return the global names and the attributes that code reads, with functions within it."""
    if code not in _known:
        try:
            _known[code] = _read_off(code)
        except Open as open_:
            _known[code] = str(open_)
    found = _known[code]
    if isinstance(found, str):
        raise Open(found)
    return found


def has_namespace(code: CodeType) -> bool:
    """Whether code keeps names in a namespace: that of a class, within a function."""
    return not code.co_flags & CO_OPTIMIZED


def _read_off(code: CodeType, outer: frozenset[str] = frozenset()) -> _Names:
    """Return the names that code reads; `outer` are variables of the functions it stands in."""
    globals_, attributes, stored = set(), set(), set()
    is_class, named = has_namespace(code), set()
    if is_class and code.co_exceptiontable:  # then `named` may not hold what it holds here
        raise Open
    #: The variables that functions share which a call makes anew.
    own = outer.intersection(code.co_freevars).union(code.co_cellvars)
    #: What was read last, that of which it is an attribute, and which are changed, as by ``+=``.
    read, root, changed = "", "", [""]
    every = [*dis.get_instructions(code)]
    instructions = [each for each in every if each.opname not in _SILENT]
    for place, instruction in enumerate(instructions):
        kind, name = instruction.opname, instruction.argval
        if name in _SEEDED and kind in (_GLOBAL | _ATTRIBUTE):
            if not _is_seed(instructions[place + 1]):
                raise Open(f"it calls `{name}` without a seed")
        elif name in _DATED and kind in (_GLOBAL | _ATTRIBUTE):
            if not _is_date(instructions[place + 1]):
                raise Open("it asks for the time")
        elif name == "random" and kind in _ATTRIBUTE:
            is_drawing = read.startswith(("LOAD_FAST", "CALL")) and _is_method(instruction)
            if is_drawing or instructions[place + 1].argval in _SEEDED:
                read = kind
                continue
        if name in BY_NAME and kind in _GLOBAL:
            attributes.add(_named(every, instruction))
        if name in _OF_NAMES and kind in (_GLOBAL | _ATTRIBUTE):
            attributes.update(_names_for(instructions[place:]))
        if kind in ("STORE_ATTR", "DELETE_ATTR"):  # by a property, perhaps
            stored.add(name)
        if kind == "STORE_ATTR":  # of an object that is its own
            if not root.startswith(_OWN) and changed.pop() != name:
                raise Open(f"it sets `.{name}` of what it has not made")
        elif kind in _ATTRIBUTE and instructions[place - 1].opname == "COPY":
            changed.append(name if root.startswith(_OWN) else "")
        if kind != "COPY":
            read = "LOAD_FAST" if kind == "LOAD_DEREF" and name in own else kind
            root = root if kind in _ATTRIBUTE and name != "__class__" else read
        if is_class and instruction.opcode in _JUMPS:
            raise Open
        if kind == "STORE_NAME":
            named.add(name)
        elif kind == "SETUP_ANNOTATIONS":
            named.add("__annotations__")
        elif kind in _GLOBAL:
            if name not in named:
                globals_.add(name)
        elif kind in _ATTRIBUTE:
            attributes.add(name)
        elif kind == "IMPORT_NAME" and top(name) in TELLING:
            globals_.add("print")  # as telling as that
        elif kind in _FORBIDDEN or (kind == "IMPORT_NAME" and top(name) not in LIBRARIES):
            raise Open(f"it sets or imports `{name}`")
        elif kind == "IMPORT_FROM":
            attributes.add(name)
        elif kind in ("STORE_DEREF", "DELETE_DEREF") and name not in own:
            raise Open(f"it sets `{name}`, which it shares")
        if isinstance(name, CodeType):
            inner = _read_off(name, own)
            globals_ |= inner[0]
            stored |= inner[1]  # these were looked at
    if impure := sorted((IMPURE - _DATED) & attributes):
        raise Open(f"it uses `.{impure[0]}`")
    return frozenset(globals_), frozenset(attributes | stored)


def _named(instructions: Sequence[dis.Instruction], function: dis.Instruction) -> str:
    """Return the text that a function is called with as its second argument."""
    at = instructions.index(function) + 1
    found, depth = "", 0  # of the arguments that stand on the stack
    for one in instructions[at:]:
        is_call = one.opname == _CALL
        if is_call and depth == one.arg and depth in (2, 3) and found:
            return found
        is_copied = one.opname in ("COPY", "SWAP") and (one.arg or 0) > depth  # the function itself
        if one.opcode in _JUMPS or is_copied or depth < 0 or (is_call and depth <= (one.arg or 0)):
            break
        before, depth = depth, depth + dis.stack_effect(one.opcode, one.arg)
        if one.opname == "PUSH_NULL" and one is instructions[at]:
            depth = 0  # it belongs to the function
        if before < 2 <= depth or depth < 2:
            is_text = one.opname in _CONSTANT and before == 1 and type(one.argval) is str
            found = one.argval if is_text else ""
        elif depth == 2:  # something was made of the text
            found = ""
    raise Open(f"it calls `{function.argval}` with a name that is computed")


def _names_for(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """Yield the attributes that `attrgetter` takes, or the method of `methodcaller`."""
    function, one, *_ = instructions
    count = 0
    for one in instructions[1:]:
        if not (one.opname in _CONSTANT and type(one.argval) is str):
            break
        yield from one.argval.split(".")
        count += 1
        if function.argval == "methodcaller":  # what follows are its arguments
            return
    if not (count and one.opname.startswith("CALL")):
        raise Open(f"it calls `{function.argval}` with a name that is computed")


def _is_seed(instruction: dis.Instruction) -> bool:
    """Whether what is loaded next may be a seed: a generator without one never draws the same."""
    return instruction.opname.startswith("LOAD_") and instruction.argval is not None


def _is_date(instruction: dis.Instruction) -> bool:
    """Whether what is loaded next is a text that begins as a date does, or a number."""
    value = instruction.argval
    return instruction.opname in _CONSTANT and str(value)[:1].isdigit()


def _is_method(instruction: dis.Instruction) -> bool:
    """Whether an attribute is loaded to be called."""
    if instruction.opname == "LOAD_METHOD":
        return True
    return sys.version_info >= (3, 12) and bool((instruction.arg or 0) & 1)


def top(module: str | None) -> str:
    """Return the package of a module, or what a module is the compiled part of."""
    return (module or "").partition(".")[0].removeprefix("_")
