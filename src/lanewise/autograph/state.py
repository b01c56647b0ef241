"""What variables hold when control flow that follows the data splits and joins.

A variable may hold a tree (numbers, arrays, and containers of them). Where branches meet, its
leaves that are data become results of the operation that holds the branches; everything else must
be the same on all sides. A variable that was assigned on one side only is kept with a truth value
that says for which examples it is: to use it for another example is the error that it is in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lanewise.autograph.jumps import RETURN_VALUE
from lanewise.autograph.templates import Templates
from lanewise.errors import ControlFlowError, at
from lanewise.ir.dims import Shape
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.ops.boxes import BOXES, box
from lanewise.ops.movement import broadcast_to, cast
from lanewise.trace import tree
from lanewise.trace.mixed import CODE, Class, code_among, union
from lanewise.trace.packed import Packed
from lanewise.trace.regions import Region, set_guard
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, lift
from lanewise.trace.trace import require_trace
from lanewise.trace.variants import (
    TAG,
    Alternatives,
    Variant,
    alternatives_of,
    can_be_one,
    one_among,
    tag_of,
)
from lanewise.trace.weak import give_way, small_enough

# --- variables without a value --------------------------------------------------------------------


class Undefined:
    """Stands for the value of a variable that has none yet."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} has no value>"


class Lost(Undefined):
    """Stands for an array of a size that only the iteration of a loop knows which made it.

    Whatever is done with it raises `ControlFlowError`.
    """

    __slots__ = ()

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ControlFlowError(
            f"the variable {self.name!r} holds an array whose size depends on the iteration of a "
            f"loop{at(here())}, and is used in another one, or after the loop. Use it in the "
            "iteration that makes it, or assign it before the loop, as large as it gets"
        )

    __array__ = __array_ufunc__ = __array_function__ = __bool__ = __len__ = __iter__ = refuse
    __getitem__ = __setitem__ = __contains__ = __index__ = __int__ = __float__ = refuse
    __complex__ = __neg__ = __pos__ = __abs__ = __invert__ = __call__ = __format__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = refuse
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __lt__ = __le__ = __gt__ = __ge__ = refuse
    __eq__ = __ne__ = __getattr__ = refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Maybe:
    """The value of a variable that only some examples have assigned: those of `flag`."""

    __slots__ = ("flag", "name", "value")

    def __init__(self, name: str, value: Any, flag: Any) -> None:
        self.name = name
        self.value = value
        self.flag = flag

    def __repr__(self) -> str:
        return f"<{self.name} may have no value>"


class Absent:
    """Guards a value that is None for some examples: all but those of `flag`.

    What else guards it is `beneath`.
    """

    __slots__ = ("beneath", "flag", "is_quiet")

    def __init__(self, flag: Tensor, beneath: Any = None) -> None:
        self.flag = flag
        self.beneath = beneath
        #: Whether whoever reads it takes care himself of examples for which it is None.
        self.is_quiet = False

    @property
    def presence(self) -> Tensor:
        """For which examples there is a value."""
        return self.flag

    @property
    def is_copy(self) -> bool:
        """As of what is beneath."""
        return self.beneath is not None and self.beneath.is_copy

    def reading(self, tensor: Tensor) -> None:
        """Record the check that nobody computes with None."""
        self._check()
        if self.beneath is not None:
            self.beneath.reading(tensor)

    def writing(self, tensor: Tensor) -> None:
        """Record the check, as for reading."""
        self._check()
        if self.beneath is not None:
            self.beneath.writing(tensor)
            if tensor._guard is not self:
                set_guard(tensor, Absent(self.flag, tensor._guard))

    def written(self, tensor: Tensor) -> None:
        """Tell what is beneath."""
        if self.beneath is not None:
            self.beneath.written(tensor)

    def _check(self) -> None:
        if self.is_quiet:
            return
        error = TypeError(f"None is used where a number is needed{at(here())}")
        trace = require_trace("a number or None")
        trace.check(lift(self.flag), (), Templates({}).exception(error))


def is_optional(x: Any) -> bool:
    """Whether x is a value that is None for some examples."""
    return type(x) is Tensor and type(x._guard) is Absent


def bare(x: Tensor) -> Tensor:
    """Return a tensor without what guards it."""
    tensor = Tensor(x._trace, x._value, None, x._weak)
    tensor._mixed = x._mixed
    return tensor


def present(leaf: Any) -> Value:
    """Return the value of a leaf, for whoever does not mind that it may be None."""
    if not is_optional(leaf):
        return lift(leaf)
    if leaf._guard.beneath is not None:
        leaf._guard.beneath.reading(leaf)
    return lift(bare(leaf))


@contextmanager
def not_asking(root: Tensor) -> Generator[None]:
    """Read and write an array for those examples only for which it is not None."""
    guard = root._guard
    if not isinstance(guard, Absent):
        yield
        return
    before, guard.is_quiet = guard.is_quiet, True
    try:
        yield
    finally:
        guard.is_quiet = before


class _DontCare:
    """Stands for what nobody will ever read."""

    def __repr__(self) -> str:
        return "<nothing>"

    def _nothing(self, *others: Any) -> _DontCare:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _nothing
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _nothing
    __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = __invert__ = __getitem__ = _nothing
    __lt__ = __le__ = __gt__ = __ge__ = _nothing
    __matmul__ = __rmatmul__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _nothing
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _nothing
    __iter__ = None  # which would never end
    __array_ufunc__ = None  # so that tensors and NumPy leave operators to it


DONT_CARE = _DontCare()
#: Classes of what holds nothing else.
NUMBERS = frozenset((Tensor, bool, int, float, complex, type(DONT_CARE)))


def unbound(name: str, free: bool = False) -> NameError:
    """Return Python's error for reading a variable that has no value."""
    if free:
        return NameError(
            f"cannot access free variable '{name}' where it is not associated with a value in "
            "enclosing scope"
        )
    return UnboundLocalError(
        f"cannot access local variable '{name}' where it is not associated with a value"
    )


# --- leaves ---------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What a leaf that is data is: dtype, shape, and the Python number that it stands for.

    In place of that ``weak`` has the objects of which it is one, if it is a tag. ``mixed`` are the
    classes that it has in some example, if these differ.
    """

    dtype: np.dtype
    shape: Shape
    weak: Any
    mixed: tuple[Class, ...] | None = None

    @property
    def classes(self) -> tuple[Class, ...]:
        """The classes that it has in some example."""
        return self.mixed or (Class(self.dtype, self.weak),)

    @property
    def is_tag(self) -> bool:
        """Whether it says which of several objects an example has."""
        return type(self.weak) is Alternatives

    def is_like(self, other: Kind) -> bool:
        """Whether two kinds are one, but for the classes of examples, and for the objects."""
        return self[:3] == other[:3] or (self.is_tag and other.is_tag)

    def __str__(self) -> str:
        if self.is_tag:
            return str(self.weak)
        if self.weak is not None:
            return f"a Python {self.weak.__name__}"
        return f"{self.dtype}{list(self.shape) if self.shape else ''}"


_WEAK_EXAMPLES: dict[type, Any] = {bool: np.dtype(bool), int: 0, float: 0.0, complex: 0j}
_ORDER = (bool, int, float, complex)


def kind_of(leaf: Any) -> Kind | None:
    """Return what a leaf is if it is data, or could be; None for any other object."""
    if type(leaf) is Tensor:
        return Kind(leaf.dtype, leaf.shape, leaf._weak, leaf._mixed and leaf._mixed.classes)
    if type(leaf) in WEAK_DTYPES:
        return Kind(WEAK_DTYPES[type(leaf)], (), type(leaf))
    if type(leaf) is Variant:
        return Kind(TAG, (), leaf._lw_among)
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in NUMERIC_KINDS:
        return Kind(leaf.dtype, leaf.shape, None)
    return None


def kind_among(leaf: Any) -> Kind | None:
    """Return what a leaf is where it is one of several, as the data decide: a tag, of objects."""
    kind = kind_of(leaf)
    if kind is None and can_be_one(leaf):
        return Kind(TAG, (), alternatives_of([leaf]))
    return kind


#: How often values of two kinds were joined until now, so that the data decide which it was.
PROMOTED = [0]


def join_kinds(name: str, first: Kind, second: Kind, sides: tuple[str, str]) -> Kind:
    """Return what holds leaves of both kinds, promoted as NumPy and Python do.

    Raises
    ------
    ControlFlowError
        If the shapes differ.
    """
    if first == second:
        return first
    if first.shape != second.shape:
        refuse(name, sides, str(first), str(second), SAME_SHAPE)
    if first.is_tag or second.is_tag:
        if not (first.is_tag and second.is_tag):
            refuse(name, sides, str(first), str(second), SAME_OBJECT)
        return first._replace(weak=first.weak | second.weak)
    mixed = union(first.classes, second.classes)
    if first.is_like(second):
        return first._replace(mixed=mixed)
    PROMOTED[0] += 1
    if first.weak is not None and second.weak is not None:
        weak = max(first.weak, second.weak, key=_ORDER.index)
        return Kind(WEAK_DTYPES[weak], first.shape, weak, mixed)
    parts = [
        kind.dtype if kind.weak is None else _WEAK_EXAMPLES[kind.weak] for kind in (first, second)
    ]
    return Kind(holding(*parts), first.shape, None, mixed)


def holding(*parts: Any) -> np.dtype:
    """Return the dtype that numbers of some dtypes are kept in, with their values.

    It is NumPy's, but int64 for uint64 and signed integers: floats do not hold all of these, and
    are no indices. What is too large for it is refused when it runs (`value_of`).
    """
    dtype = np.result_type(*parts)
    is_float = any([np.result_type(part).kind not in "biu" for part in parts])
    return dtype if is_float or dtype.kind != "f" else WEAK_DTYPES[int]


def union_of(first: Kind, second: Kind) -> Kind:
    """Return what numbers are that are one of two kinds, of one shape, and keep their values."""
    if first.is_tag:
        return first._replace(weak=first.weak | second.weak)
    if first.is_like(second) and first.classes == second.classes:
        return first
    dtype = holding(first.dtype, second.dtype)
    kinds = {first.weak, second.weak}
    weak = None if None in kinds else max(kinds, key=_ORDER.index)
    return Kind(dtype, first.shape, weak, union(first.classes, second.classes))


def widened(kind: Kind, leaves: Iterable[Any]) -> Kind:
    """Return the kind with a dtype that Python numbers among the leaves fit into, as the default.

    A literal gives way to a narrower dtype, but not at the price of another value, and a number
    that is data does not.
    """
    for leaf in leaves:
        if kind.weak is None and type(leaf) is Tensor and leaf._weak and leaf._mixed is None:
            dtype = holding(kind.dtype, WEAK_DTYPES[leaf._weak])
            kind = Kind(dtype, kind.shape, None, kind.mixed)
        if kind.weak is None and type(leaf) in (int, float) and not _fits(leaf, kind.dtype):
            dtype = holding(kind.dtype, WEAK_DTYPES[type(leaf)])
            kind = Kind(dtype, kind.shape, None, kind.mixed)
    return kind


def _fits(number: int | float, dtype: np.dtype) -> bool:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return bool(info.min <= number <= info.max)
    return not np.isfinite(number) or abs(number) <= float(np.finfo(dtype).max)


def value_of(leaf: Any, kind: Kind, reads: Callable[[Any], Value] = lift) -> Value:
    """Return a leaf as a value of the current trace, converted to a kind that it was joined to."""
    trace = require_trace("a variable")
    if leaf is DONT_CARE and kind.dtype == BOXES:
        return trace.record(box, (trace.scalar(0, FLAG.dtype),), {"lead": 0})[0]
    if leaf is DONT_CARE:
        value = trace.scalar(0, kind.dtype)
        if kind.shape:
            (value,) = trace.record(broadcast_to, (value,), {"shape": kind.shape})
        return value
    if type(leaf) in WEAK_DTYPES:
        return trace.scalar(leaf, kind.dtype)
    if kind.is_tag:
        return lift(leaf._lw_tag) if type(leaf) is Variant else trace.scalar(tag_of(leaf), TAG)
    seen = trace.seen.get(id(leaf)) if isinstance(trace, Region) else None
    value = reads(leaf) if seen is None else seen[1]
    if value.type.dtype == kind.dtype:
        return value
    if type(leaf) is Tensor and leaf._weak is not None and kind.weak is None:
        return give_way(trace, value, kind.dtype)
    if value.type.dtype == np.uint64 and kind.dtype == WEAK_DTYPES[int]:
        value = small_enough(value)
    return trace.record(cast, (value,), {"dtype": kind.dtype})[0]


#: Of truth values, and of codes that say which of its classes a number has.
FLAG, CODES = Kind(np.dtype(bool), (), bool), Kind(CODE, (), None)


def values_of(leaf: Any, kind: Kind) -> list[Value]:
    """Return a leaf as values of the current trace: itself, and its code if its kind is mixed.

    That it is None in some examples must have been taken care of.
    """
    value = value_of(leaf, kind, present)
    return [value, code_among(leaf, kind.mixed)] if kind.mixed else [value]


def tensor_of(value: Value, kind: Kind) -> Any:
    """Return the tensor of a value of the current trace that is of a kind; of tags, the variant."""
    if kind.is_tag:
        return one_among(Tensor(require_trace("a variable"), value), kind.weak)
    return Tensor(require_trace("a variable"), value, None, kind.weak)


def is_same(first: Any, second: Any) -> bool:
    """Whether two leaves are one and the same, so that nothing has to be chosen between them."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, (Tensor, list, dict)):
        return False
    if type(first) is tuple:
        return len(first) == len(second) and all(map(is_same, first, second))
    if type(first) in WEAK_DTYPES:
        return first == second and repr(first) == repr(second)  # 0.0 is not -0.0
    if kind_of(first) is not None or _is_users(type(first)):
        return False
    try:
        return bool(first == second)
    except Exception:
        return False  # objects that cannot be compared are not the same


def _is_users(kind: type) -> bool:
    """Whether a class is a user's, whose objects may be equal but not the same."""
    return isinstance(kind.__eq__, FunctionType)


def called(name: str) -> str:
    """Return what to call a variable of converted code in a message."""
    if name == RETURN_VALUE:
        return "the result"
    if name.startswith("ag__"):  # made when an expression was converted
        return "a value"
    return f"the variable {name!r}" if name.isidentifier() else name  # of `lw.while_loop`: a title


def refuse(name: str, sides: tuple[str, str], first: str, second: str, must: str) -> NoReturn:
    """Raise `ControlFlowError` for a variable that cannot be joined."""
    raise ControlFlowError(
        f"{name} is {first} {sides[0]} and {second} {sides[1]}{at(here())}: where the data "
        f"steer, {must}"
    )


BRANCHES = ("in one branch", "in another")
TURNS = ("before a turn of the loop", "after it")
SAME_SHAPE = "its shape must be the same"
SAME_STRUCTURE = "its structure must be the same"
SAME_OBJECT = "it must be a number, an array, or the same object"


class Structure(NamedTuple):
    """How a tree with arrays of a length that is data in it was taken apart.

    Two are equal if the arrays in the same places are bounded alike.
    """

    tree: Any
    keys: tuple[tuple[int, int, Any], ...]
    models: tuple[Packed, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def flatten(value: Any, sealed: Container[int] = ()) -> tuple[list[Any], Any]:
    """Return the leaves of what a variable holds, and its structure.

    Lists and dicts of which the ids are in ``sealed`` stay whole: places of their own are changed.
    """
    is_leaf = (lambda node: id(node) in sealed) if sealed else None
    leaves, structure = tree.flatten(value, is_leaf)
    if not any(isinstance(leaf, Packed) for leaf in leaves):
        return leaves, structure
    flat: list[Any] = []
    keys, models = [], []
    for leaf in leaves:
        if isinstance(leaf, Packed):
            parts = leaf.state_leaves()
            keys.append((len(flat), len(parts), leaf.state_key))
            models.append(leaf)
            flat += parts
        else:
            flat.append(leaf)
    return flat, Structure(structure, tuple(keys), tuple(models))


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the tree of a structure with these leaves."""
    if not isinstance(structure, Structure):
        return tree.unflatten(structure, list(leaves))
    whole: list[Any] = []
    done = 0
    for (first, count, _), model in zip(structure.keys, structure.models, strict=True):
        whole += leaves[done:first]
        done = first + count
        whole.append(model.from_leaves(leaves[first:done]))
    return tree.unflatten(structure.tree, [*whole, *leaves[done:]])


def apart(end: Any) -> tuple[Any, Any]:
    """Return whether a variable has a value, and that value."""
    if end is DONT_CARE:
        return DONT_CARE, DONT_CARE
    if isinstance(end, Undefined):
        return False, DONT_CARE
    if isinstance(end, Maybe):
        return end.flag, end.value
    return True, end


def bare_name(name: str) -> str:
    """Return the name of a variable out of what messages call it."""
    return name.removeprefix("the variable ").strip("'")
