"""Primitives and their registry: one definition an operation, checked when it is made.

A primitive is written as a class whose functions are its rules::

    @op
    class cumsum:
        \"\"\"Running sum along one axis.\"\"\"

        def type(x, *, axis): ...            # checks, and gives the types of the results
        def numpy(x, *, axis): ...           # the reference meaning
        batch = along_axis                   # how it is mapped: a function, the rule of a `Family`,
                                             # or absent("reason")
        def lanes(k, types, x, *, axis): ... # how a kernel computes it; if it has a native form
        def together(k, types, xs, params): ...  # how one loop computes several (`space`)
        jvp = linear(0)                      # how its results follow small changes of operands
        def transposed(d, ct, x, *, axis): ...  # where it is linear: how it sends cotangents back
        def raises(x, *, axis): ...          # what must hold of tensors, and what it raises if not
        samples = [((3, 4), {"axis": 1})]    # what the generated tests run it on
        kind, along = Kind.ALONG, "axis"     # facts, which passes ask for (`ops/facts.py`)

Arrays are positional, static parameters are keywords. `ops/derivatives.py` says what the rules of
derivatives are told and what they give.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Signature, Value, current_builder
from lanewise.ir.types import Type
from lanewise.ops.facts import Facts, completed

#: Rules that every primitive states, or declares absent with a reason.
REQUIRED_RULES = ("type", "numpy", "batch", "samples")
#: Rules that a primitive may state: what has no native form is computed by NumPy, and where there
#: is no rule for derivatives none can be taken.
OPTIONAL_RULES = ("lanes", "together", "jvp", "transposed", "raises")
#: What an operation that states no rule for derivatives says: right if its results are no floats.
NO_DERIVATIVE = "it has no derivative"
#: What a primitive may say of itself beside them.
FACTS = tuple([field.name for field in fields(Facts)])


@dataclass(frozen=True, slots=True)
class Absent:
    """A rule that a primitive does not have, and why."""

    reason: str


def absent(reason: str) -> Absent:
    """Declare a rule absent, with the reason."""
    return Absent(reason)


@dataclass(frozen=True, slots=True)
class Sample:
    """Operands and parameters that the generated tests run a primitive on."""

    operands: tuple[np.ndarray, ...]
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batching rule is told: the batch's size, and which operands have it as axis 0."""

    size: DimLike
    mapped: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """A batching rule that many primitives have: it is told of which one the operation is."""

    rule: Callable[..., Any]


@Family
def leading_axes(primitive: Primitive, b: Batch, *operands: Value, **params: Any) -> Any:
    """Record the operation as it is: it takes any axes in front, as of stacks of matrices."""
    return primitive(*operands, **params)


@Family
def along_axis(primitive: Primitive, b: Batch, x: Value, *, axis: int, **params: Any) -> Any:
    """Record the operation along an axis of x, which has one more in front."""
    return primitive(x, axis=axis + 1, **params)


#: How many signatures of a primitive are found at once, in a plain dict.
RECENT = 4096

_lock = threading.Lock()
BatchRule = Callable[..., Any]


class Primitive(Facts):
    """What operations of one name are, with their rules and facts. A call of it records one."""

    __slots__ = ("_defaults", "_names", "_recent", "_signatures", "batch", "doc", "jvp", "lanes",
                 "name", "numpy", "raises", "samples", "together", "transposed", "type",
                 "ufunc")  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        type: Callable[..., Any],
        numpy: Callable[..., Any] | Absent,
        batch: BatchRule | Family | Absent,
        samples: Sequence[Sample] | Callable[[], Sequence[Sample]] | Absent,
        doc: str,
        lanes: Callable[..., Any] | Absent = Absent("it is left to NumPy"),
        together: Callable[..., Any] | Absent = Absent("each has a loop of its own"),
        jvp: Callable[..., Any] | Absent = Absent(NO_DERIVATIVE),
        transposed: Callable[..., Any] | Absent = Absent("it is not linear"),
        raises: Callable[..., Any] | str | None = None,
        ufunc: np.ufunc | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(**completed(facts))
        self.name = name
        self.type = type
        self.numpy = numpy
        self.batch = partial(batch.rule, self) if isinstance(batch, Family) else batch
        self.samples = samples
        #: Writes it into a kernel: of the lowering, the types of the results, and the operands.
        self.lanes = lanes
        #: Writes several whose `space` is the same into one loop: of the lowering, for each the
        #: types of its results, its operands and its parameters.
        self.together = together
        #: The rules of derivatives: see `lanewise.ops.derivatives`.
        self.jvp = jvp
        self.transposed = transposed
        #: What it may raise on data: of tensors, pairs of what must hold and the exception, in
        #: order; or the message of the `LinAlgError` that it raises, which is found out by trying.
        #: None for one that never raises, or of which that is not known.
        self.raises = raises
        self.doc = doc
        #: The ufunc that an elementwise primitive is; its plain call is the primitive's meaning.
        self.ufunc = ufunc
        parameters = inspect.signature(type).parameters.values()
        keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "regions"]
        self._names = tuple(p.name for p in keywords)
        self._defaults = {p.name: p.default for p in keywords if p.default is not p.empty}
        # A signature lives as long as a graph or an executable's key has it, or it is recent. Host
        # code is kept alive by the graphs that it is in, and by nothing else.
        self._signatures: WeakValueDictionary[Any, Signature] = WeakValueDictionary()
        self._recent: dict[Any, Signature] = {}

    def signature(
        self, types: Sequence[Type], params: dict[str, Any], regions: tuple[Graph, ...] = ()
    ) -> Signature:
        """Return the signature on operands of these types; raise what NumPy would if none fits."""
        if regions:
            types = _as_tuple(self.type(*types, regions=regions, **params))
            return Signature(self, params, types, regions, is_interned=False)
        key = (*types, *params.values())
        known = self._recent.get(key)
        if known is None:
            known = self._signatures.get(key)
            if known is None:
                result = _as_tuple(self.type(*types, **params))
                with _lock:  # two threads must not make two objects of one signature
                    known = self._signatures.setdefault(key, Signature(self, params, result))
            if not (self.has_effect or self.must_run):
                if len(self._recent) >= RECENT:
                    self._recent.clear()
                self._recent[key] = known
        return known

    def infer(
        self, types: Sequence[Type], params: dict[str, Any], regions: tuple[Graph, ...] = ()
    ) -> tuple[Any, ...]:
        """Return the types of the results on operands of these types."""
        return self.signature(types, params, regions).types

    def complete(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return all static parameters in their one order, defaults filled in."""
        if tuple(params) == self._names:
            return params
        try:
            completed = {**self._defaults, **params}
            ordered = {name: completed.pop(name) for name in self._names}
        except KeyError as missing:
            raise TypeError(f"{self.name} needs the parameter {missing}") from None
        if completed:
            raise TypeError(f"{self.name} has no parameter {', '.join(completed)}")
        return ordered

    def stated(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that are not at their defaults, to show them."""
        defaults = self._defaults
        return {
            name: value
            for name, value in params.items()
            if name not in defaults
            or (type(value), value) != (type(defaults[name]), defaults[name])
        }

    def __call__(self, *operands: Value, regions: tuple[Graph, ...] = (), **params: Any) -> Any:
        """Record an operation in the current builder; return its result, or the tuple of them."""
        results = current_builder().emit(self, operands, self.complete(params), regions)
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


def _as_tuple(types: Any) -> tuple[Type, ...]:
    return types if isinstance(types, tuple) else (types,)


#: Every primitive by its name.
REGISTRY: dict[str, Primitive] = {}


def register(primitive: Primitive) -> Primitive:
    """Enter a primitive into the registry; refuse a second one of its name."""
    if primitive.name in REGISTRY:
        raise ValueError(f"there is a primitive {primitive.name} already")
    REGISTRY[primitive.name] = primitive
    return primitive


def op(definition: type) -> Primitive:
    """Make the primitive that a class of rules defines, and register it.

    Raises
    ------
    TypeError
        If a required rule is neither given nor declared `absent`.
    """
    rules = vars(definition)
    missing = [rule for rule in REQUIRED_RULES if rule not in rules]
    if missing or not definition.__doc__:
        raise TypeError(
            f"the primitive {definition.__name__} lacks {', '.join(missing) or 'a docstring'}; "
            'give it, or declare it absent("reason")'
        )
    known = (*REQUIRED_RULES, *OPTIONAL_RULES, *FACTS)
    given = {name: rule for name, rule in rules.items() if not name.startswith("__")}
    for name in given:
        if name not in known:
            raise TypeError(f"{name} of the primitive {definition.__name__} is no rule or fact")
    return register(Primitive(definition.__name__.rstrip("_"), doc=definition.__doc__, **given))


def sample(*operands: Any, **params: Any) -> Sample:
    """Return a sample; an operand given as a shape becomes floats between -2 and 2."""
    arrays = [
        spread(operand, index) if isinstance(operand, tuple) else np.asarray(operand)
        for index, operand in enumerate(operands)
    ]
    return Sample(tuple(arrays), params)


def spread(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Return floats between -2 and 2 that look random (NumPy's own are slow to load)."""
    count = math.prod(shape)
    return (2 * np.sin(np.arange(1.0, count + 1) ** 2 * 1.7 + seed)).reshape(shape)
