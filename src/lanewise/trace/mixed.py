"""Numbers and arrays of which the data choose the class: a Python number's, or NumPy's of a dtype.

``y = 1 if c else 2.0`` is an int in some examples and a float in others. It is kept in the dtype
that holds both, with a number beside it, its code, that says which of its classes an example has.
Operators and functions give what each example's own class gives: where NumPy and Python compute the
same, on all at once, else in a branch for each class. Views show the class of their base, and what
is written is converted to it. Codes that nobody asks for are dead code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.ops.elementwise import elementwise, loop_dtypes, where
from lanewise.ops.movement import cast
from lanewise.trace.tensor import ANY_MIXED, WEAK_DTYPES, Tensor, as_tensor, read
from lanewise.trace.trace import require_trace
from lanewise.trace.weak import DIVISIONS, OF_BOOLS, division_by_zero, weak_kind

_ORDER = (bool, int, float, complex)
#: What NumPy says of an index that is a float.
NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)
#: What to write where it cannot be followed that data choose the dtype of an array.
ONE_DTYPE = "Give both branches one dtype, with astype() or dtype="
#: Codes are kept in it.
CODE = np.dtype(np.int8)


class Class(NamedTuple):
    """What a number is in an example: NumPy's of a dtype, or the Python number of a kind."""

    dtype: np.dtype
    weak: type | None = None

    @property
    def of_python(self) -> type:
        """The class that ``type()`` gives of such a number."""
        return self.weak or self.dtype.type

    @property
    def is_valid(self) -> bool:
        """Whether it is one that there is."""
        if self.weak is not None:
            return WEAK_DTYPES.get(self.weak) == self.dtype
        return isinstance(self.dtype, np.dtype) and self.dtype.kind in NUMERIC_KINDS

    def make(self, number: Any) -> Any:
        """Return a number as one of this class."""
        array = np.asarray(number)
        if array.dtype != self.dtype:
            array = array.astype(self.dtype)
        return array[()] if self.weak is None else self.weak(array)


class Mixed(NamedTuple):
    """The classes that a number has in some example, and a number that says which it has."""

    classes: tuple[Class, ...]
    code: Tensor


def union(*parts: Iterable[Class]) -> tuple[Class, ...]:
    """Return classes in their order, each once."""
    return tuple(sorted({each for part in parts for each in part}, key=_position))


def _position(number: Class) -> tuple[int, int]:
    return number.dtype.num, 0 if number.weak is None else 1


def classes_of(x: Any) -> tuple[Class, ...] | None:
    """Return the classes that x has in some example; None of what is no number."""
    if type(x) is Tensor:
        if x._mixed is not None:
            return x._mixed.classes
        return (Class(x.dtype, x._weak),)
    if type(x) in WEAK_DTYPES:
        return (Class(WEAK_DTYPES[type(x)], type(x)),)
    if isinstance(x, (np.ndarray, np.generic)) and not isinstance(x, Tensor):
        return (Class(x.dtype),)
    return None


def presence(x: Any) -> Tensor | None:
    """Return for which examples x is not None, if it is for some (`lanewise.autograph.state`)."""
    return getattr(x._guard, "presence", None) if type(x) is Tensor else None


def is_mixed(x: Any) -> bool:
    """Whether the data choose the class of x."""
    return type(x) is Tensor and x._mixed is not None


def note_mixed(tensor: Tensor, classes: tuple[Class, ...], code: Tensor) -> Tensor:
    """Return a tensor, of which is noted that it has one of some classes."""
    if len(classes) > 1:
        tensor._mixed = Mixed(classes, code)
        ANY_MIXED[0] = True
    return tensor


def own_code(x: Tensor) -> Value:
    """Return the code of a number, as a value of the current trace."""
    assert x._mixed is not None
    return read(x._mixed.code)


def code_among(x: Any, classes: tuple[Class, ...]) -> Value:
    """Return, as a value of the current trace, which of some classes x has."""
    found = classes_of(x)
    trace = require_trace("a number")
    if not is_mixed(x):
        at = classes.index(found[0]) if found is not None else 0
        return trace.scalar(at, CODE)
    assert found is not None
    return _mapped([x], [classes.index(each) for each in found])


def _mapped(numbers: Sequence[Tensor], table: Sequence[int]) -> Value:
    """Return the entry of a table that the codes of some numbers say, the last running fastest."""
    trace, codes = require_trace("a number"), [own_code(x) for x in numbers]
    if len(codes) == 1 and list(table) == [*range(len(table))]:
        return codes[0]
    rows = list(itertools.product(*[range(len(x._mixed.classes)) for x in numbers]))
    for fn, least in ((np.minimum, min), (np.maximum, max)):  # what sums of such are made of
        if list(table) == list(map(least, rows)):
            return _joined(fn, codes)
    result = trace.scalar(table[0], CODE)
    for row, entry in zip(rows, table, strict=True):
        if entry == table[0]:
            continue
        tests = [_is(code, number) for code, number in zip(codes, row, strict=True)]
        (result,) = trace.record(
            where, (_joined(np.logical_and, tests), trace.scalar(entry, CODE), result), {}
        )
    return result


def _is(code: Value, number: int) -> Value:
    trace = require_trace("a number")
    operands = code, trace.scalar(number, CODE)
    return trace.record(elementwise(np.equal), operands, {"dtype": None})[0]


def _joined(fn: np.ufunc, values: Sequence[Value]) -> Value:
    trace = require_trace("a number")
    return reduce(lambda x, y: trace.record(elementwise(fn), (x, y), {"dtype": None})[0], values)


def in_common(x: Tensor) -> Tensor:
    """Return integers in the dtype that NumPy gives those of their classes in one array."""
    assert x._mixed is not None
    dtype = np.result_type(*[each.dtype for each in x._mixed.classes])
    if x.dtype == dtype or x.dtype.kind not in "iu":
        return x
    (value,) = require_trace("a number").record(cast, (read(x),), {"dtype": dtype})
    return note_mixed(Tensor(x._trace, value, None, x._weak), *x._mixed)


def is_one_of(x: Tensor, test: Callable[[Class], bool]) -> bool | Tensor:
    """Whether the class of x fulfils a test: known, or a bool that is data."""
    found = classes_of(x)
    assert found is not None
    answers = [test(each) for each in found]
    if len(set(answers)) == 1:
        return answers[0]
    code, trace = own_code(x), require_trace("a number")
    either = elementwise(np.logical_or)
    tests = [_is(code, number) for number, answer in enumerate(answers) if answer]
    result = reduce(lambda a, b: trace.record(either, (a, b), {"dtype": None})[0], tests)
    return Tensor(trace, result, None, bool)


def bare(x: Any) -> Any:
    """Return a number without its classes: of that which holds them all."""
    return Tensor(x._trace, x._value, x._view, x._weak) if is_mixed(x) else x


def narrowed(x: Tensor, number: int) -> Tensor:
    """Return x for those examples in which it has the class of a number."""
    assert x._mixed is not None
    found, trace = x._mixed.classes[number], require_trace("a number")
    value = read(x)
    if value.type.dtype != found.dtype:
        (value,) = trace.record(cast, (value,), {"dtype": found.dtype})
    return Tensor(trace, value, None, found.weak)


def as_integer(x: Any, problem: Exception) -> Any:
    """Return the integer that a float is in some examples; in the others `problem` is raised.

    Anything else is returned as it is.

    Raises
    ------
    UnsupportedError
        If it is a mask in some examples, and an index in others.
    """
    if not is_mixed(x) or x.dtype.kind in "biu":
        if is_mixed(x) and any([each.dtype.kind == "b" for each in classes_of(x) or ()]):
            raise UnsupportedError(
                f"the data choose whether something is an index or a mask{at(here())}. {ONE_DTYPE}"
            )
        return x
    flag = is_one_of(x, lambda each: each.dtype.kind in "iu")
    if not isinstance(flag, Tensor):
        return x
    trace, ok = require_trace("an integer"), read(flag)
    (safe,) = trace.record(where, (ok, read(x), trace.scalar(0, x.dtype)), {})
    (value,) = trace.record(cast, (safe,), {"dtype": WEAK_DTYPES[int]})
    value = trace.checked(value, ok, type(problem).__name__, str(problem))
    return Tensor(trace, value, None, int)


#: Records a `cond` or `switch` of functions without arguments: `lanewise.autograph.branches`.
CHOOSE: list[Callable[[Value, Sequence[Callable[[], Any]]], Any]] = []


def by_class(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function for each class that an operand has, for the examples in which it has it.

    Operands may stand in lists, tuples and dicts.

    Raises
    ------
    UnsupportedError
        If there are too many combinations of classes to write the function down for each.
    """
    operands = list(mixed_among((args, kwargs)))
    if not operands:
        return function(*args, **kwargs)
    counts = {own_code(x): len(x._mixed.classes) for x in operands}
    if math.prod(counts.values()) > _MOST_COMBINATIONS:
        raise UnsupportedError(
            f"the data choose the classes of {len(counts)} numbers or arrays{at(here())}, and what "
            f"is computed of them depends on all of these. {ONE_DTYPE}"
        )
    chosen = operands[0]
    found: list[list[Any] | None] = [None] * len(chosen._mixed.classes)

    def branch(number: int) -> Any:
        narrow, named = _narrowed_within((args, kwargs), own_code(chosen), number)
        result = by_class(function, *narrow, **named)
        found[number] = [classes_of(leaf) for leaf in _leaves(result)]
        return result

    code, count = own_code(chosen), len(found)
    lead = code if count > 2 else _is(code, 0)
    result = CHOOSE[0](lead, [lambda number=n: branch(number) for n in range(count)])
    for position, leaf in enumerate(_leaves(result)):
        if is_mixed(leaf):
            ways = [None if each is None else each[position] for each in found]
            _say_by_code(leaf, chosen, ways)
    return result


#: Of how many combinations of classes a function is written down.
_MOST_COMBINATIONS = 64


def _say_by_code(leaf: Tensor, chosen: Tensor, found: Sequence[tuple[Class, ...] | None]) -> None:
    """Say by the code of an operand which class a result has, where that one decides it.

    So what is computed of one number keeps its code, and is narrowed with it.
    """
    if any([each is not None and len(each) > 1 for each in found]):
        return
    classes = leaf._mixed.classes
    table = [n if each is None else classes.index(each[0]) for n, each in enumerate(found)]
    if table == [*range(len(classes))]:
        leaf._mixed = Mixed(classes, chosen._mixed.code)


def _leaves(x: Any) -> list[Any]:
    """Return what stands in nested lists, tuples and dicts."""
    if type(x) in (tuple, list):
        return [leaf for part in x for leaf in _leaves(part)]
    return [leaf for part in x.values() for leaf in _leaves(part)] if type(x) is dict else [x]


def mixed_among(x: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested lists, tuples and dicts of which the data choose the class."""
    for leaf in _leaves(x):
        if isinstance(leaf, Tensor) and (tensor := as_tensor(leaf))._mixed is not None:
            yield tensor


def _narrowed_within(x: Any, code: Value, number: int) -> Any:
    kind = type(x)
    if isinstance(x, Tensor):
        tensor = as_tensor(x)
        has_code = tensor._mixed is not None and own_code(tensor) is code
        return narrowed(tensor, number) if has_code else x
    if kind is tuple or kind is list:
        return kind([_narrowed_within(part, code, number) for part in x])
    if kind is dict:
        return {name: _narrowed_within(part, code, number) for name, part in x.items()}
    return x


def joined(function: Callable[[Any], Any], parts: Any) -> Any:
    """Return the array that a function makes of nested lists, in the dtype that holds all of them.

    It is called once, however many combinations of classes there are.
    """
    trace, known, whole = require_trace("an array of numbers"), (), None
    for leaf in _leaves(parts):
        part = as_tensor(leaf) if isinstance(leaf, Tensor) else leaf
        if (classes := classes_of(part)) is None:
            continue
        table = [each.dtype for each in classes]
        if whole is not None:
            pairs = itertools.product(known, table)
            table = [np.result_type(one.dtype, other) for one, other in pairs]
        operands: list[Any] = [x for x in (whole, part) if is_mixed(x)]
        table = [Class(dtype) for dtype in table]
        known = union(table)
        whole = Tensor(trace, trace.scalar(0, known[0].dtype))
        if len(known) > 1:
            code = _mapped(operands, [known.index(each) for each in table])
            note_mixed(whole, known, Tensor(trace, code))
    result = function(_bare_within(parts))
    if whole is not None and whole._mixed is not None:
        as_tensor(result)._mixed = whole._mixed
    return result


def _bare_within(x: Any) -> Any:
    if isinstance(x, Tensor):
        return bare(as_tensor(x))
    return type(x)([_bare_within(part) for part in x]) if type(x) in (tuple, list) else x


# --- operators and ufuncs -------------------------------------------------------------------------


class Plan(NamedTuple):
    """How a ufunc is computed on numbers of some classes.

    ``how`` says in which way, ``results`` of what classes the results are, and ``division`` as what
    kind of Python's numbers it divides.
    """

    how: tuple[Any, ...]
    results: tuple[Class, ...]
    division: type | None = None


@lru_cache(maxsize=4096)
def _plan(ufunc: np.ufunc, operands: tuple[Class, ...], is_operator: bool) -> Plan | None:
    """Return how a ufunc, or the operator of it, is computed; None if it raises."""
    kinds = [each.weak for each in operands if each.weak is not None]
    try:
        if is_operator and len(kinds) == len(operands):
            return _plan_of_python(ufunc, max(kinds, key=_ORDER.index), len(kinds))
        given: list[Any] = [x.dtype if x.weak in (None, bool) else x.weak for x in operands]
        if all([isinstance(kind, type) for kind in given]):
            given = [np.dtype(kind) for kind in given]
        loop = loop_dtypes(ufunc, tuple(given), None)
        return Plan(loop, tuple(map(Class, loop[ufunc.nin :])))
    except TypeError:
        return None


def _plan_of_python(ufunc: np.ufunc, kind: type, count: int) -> Plan:
    division = max(kind, int, key=_ORDER.index) if ufunc in DIVISIONS else None
    common = int if kind is bool and ufunc not in OF_BOOLS else kind
    if common is int and ufunc is np.divide:
        common = float
    loop = loop_dtypes(ufunc, (WEAK_DTYPES[common],) * count, None)
    results = tuple([Class(each, _PYTHON_KINDS[each.kind]) for each in loop[count:]])
    how = (int, *loop) if common is int else loop  # which are never too large
    return Plan(how, results, division)


_PYTHON_KINDS: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


def applied(
    ufunc: np.ufunc, function: Callable[..., Any], operands: Sequence[Any], is_operator: bool
) -> Any:
    """Apply a ufunc to operands of which the data choose the class of some.

    Parameters
    ----------
    function
        What computes it of operands of one class.
    is_operator
        Whether it is an operator of Python's, which knows Python's numbers.
    """
    known = [classes for x in operands if (classes := classes_of(x)) is not None]
    if len(known) < len(operands):
        return by_class(function, *operands)
    combinations = [*itertools.product(*known)]
    plans = [_plan(ufunc, each, is_operator) for each in combinations]
    whole = [bare(x) for x in operands]
    held = tuple([classes[0] for x in whole if (classes := classes_of(x)) is not None])
    common = _plan(ufunc, held, is_operator)
    divisions = {plan.division for plan in plans if plan is not None} - {None}
    if common is None or len(divisions) > 1:
        return by_class(function, *operands)
    found = [plan for plan in plans if plan is not None and plan.how == common.how]
    if len(found) < len(plans):
        return by_class(function, *operands)
    mixed = [x for x in operands if is_mixed(x)]
    if divisions and not common.division:
        (kind,) = divisions
        code = _mapped(mixed, [int(plan.division is not None) for plan in found])
        whole = [whole[0], _python_divisor(ufunc, whole[1], code, kind)]
    result = function(*whole)
    for position, part in enumerate(result if isinstance(result, tuple) else (result,)):
        classes = union([plan.results[position] for plan in found])
        if len(classes) > 1:
            code = _mapped(mixed, [classes.index(plan.results[position]) for plan in found])
            note_mixed(part, classes, Tensor(require_trace(ufunc.__name__), code))
    return result


def _python_divisor(ufunc: np.ufunc, divisor: Any, code: Value, kind: type | None) -> Any:
    """Return a divisor, checked not to be zero where `code` says that Python divides."""
    assert kind is not None
    if type(divisor) in _ORDER and divisor:
        return divisor
    tensor, trace = as_tensor(divisor), require_trace(ufunc.__name__)
    found = read(tensor), trace.scalar(0, tensor.dtype)
    (is_zero,) = trace.record(elementwise(np.equal), found, {"dtype": None})
    is_wrong = _joined(np.logical_and, [is_zero, _is(code, 1)])
    (ok,) = trace.record(elementwise(np.logical_not), (is_wrong,), {"dtype": None})
    value = trace.checked(read(tensor), ok, "ZeroDivisionError", division_by_zero(ufunc, kind))
    return Tensor(trace, value, None, weak_kind(divisor))
