"""Numbers of which the data choose the class: Python's in some examples, NumPy's in others.

``y = 1 if c else 2.0`` is an int in some examples and a float in others. It is kept in the dtype
that holds both, with a number beside it, its code, that says which of its classes an example has.
Operators give what each example's own class gives: where NumPy and Python compute the same, on all
at once, else in a branch for each class. Codes that nobody asks for are dead code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from lanewise.ir.graph import Value
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.ops.elementwise import elementwise, loop_dtypes, where
from lanewise.ops.movement import cast
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, read
from lanewise.trace.trace import require_trace
from lanewise.trace.weak import DIVISIONS, OF_BOOLS, division_by_zero, weak_kind

_ORDER = (bool, int, float, complex)
#: What NumPy says of an index that is a float.
NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)
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
        number = np.asarray(number).astype(self.dtype)[()]
        return number if self.weak is None else self.weak(number)


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
    tensor._mixed = Mixed(classes, code) if len(classes) > 1 else None
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
    result = trace.scalar(table[0], CODE)
    rows = itertools.product(*[range(len(x._mixed.classes)) for x in numbers])
    for row, entry in zip(rows, table, strict=True):
        if entry == table[0]:
            continue
        tests = [_is(code, number) for code, number in zip(codes, row, strict=True)]
        (result,) = trace.record(where, (_both(tests), trace.scalar(entry, CODE), result), {})
    return result


def _is(code: Value, number: int) -> Value:
    trace = require_trace("a number")
    operands = code, trace.scalar(number, CODE)
    return trace.record(elementwise(np.equal), operands, {"dtype": None})[0]


def _both(tests: Sequence[Value]) -> Value:
    trace = require_trace("a number")
    both = elementwise(np.logical_and)
    return reduce(lambda x, y: trace.record(both, (x, y), {"dtype": None})[0], tests)


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
    """
    if not is_mixed(x) or x.dtype.kind in "biu":
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


def by_class(function: Callable[..., Any], *operands: Any) -> Any:
    """Call a function for each class that an operand has, for the examples in which it has it."""
    chosen = next((x for x in operands if is_mixed(x)), None)
    if chosen is None:
        return function(*operands)
    mixed = chosen._mixed

    def branch(number: int) -> Any:
        narrow = [
            narrowed(x, number) if is_mixed(x) and x._mixed.code is mixed.code else x
            for x in operands
        ]
        return by_class(function, *narrow)

    code, count = own_code(chosen), len(mixed.classes)
    lead = code if count > 2 else _is(code, 0)
    return CHOOSE[0](lead, [lambda number=n: branch(number) for n in range(count)])


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
    for at, part in enumerate(result if isinstance(result, tuple) else (result,)):
        classes = union([plan.results[at] for plan in found])
        if len(classes) > 1:
            code = _mapped(mixed, [classes.index(plan.results[at]) for plan in found])
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
    is_wrong = _both([is_zero, _is(code, 1)])
    (ok,) = trace.record(elementwise(np.logical_not), (is_wrong,), {"dtype": None})
    value = trace.checked(read(tensor), ok, "ZeroDivisionError", division_by_zero(ufunc, kind))
    return Tensor(trace, value, None, weak_kind(divisor))
