"""Control flow: `cond`, `switch`, `while` and `scan`, whose regions are branches and loop bodies.

Regions are isolated, so what they read from outside stands among the operands; in loops these
captures come first, and the carry (what passes from one turn to the next) follows. A token is an
operand and a result like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanewise.ir.dims import DimLike
from lanewise.ir.graph import Graph, Operation
from lanewise.ir.types import ArrayType, TokenType
from lanewise.ops.regions import batched_type, example_type
from lanewise.ops.registry import absent, op


@op
class cond:
    """The results of the first region where `pred` holds, else those of the second.

    `pred` is one truth value; both regions take all operands and give results of the same types.
    """

    region_names = ("if", "else")
    may_fail = False  # itself

    def type(pred: Any, *operands: Any, regions: tuple[Graph, ...]) -> Any:
        if len(regions) != 2:
            raise ValueError(f"cond has two regions, not {len(regions)}")
        _check_scalar(pred, "b", "the predicate of cond")
        return _branch_types("cond", regions, operands)

    numpy = absent("the interpreter runs regions itself")
    batch = absent("its regions are batched, or its examples run apart (passes/vectorize.py)")
    samples = absent("it holds regions; the tests of control flow cover it")


@op
class switch:
    """The results of ``regions[index]``, in Python's sense: a negative index counts from the end.

    An index out of range raises `IndexError`. All regions take all operands and give results of
    the same types.
    """

    def type(index: Any, *operands: Any, regions: tuple[Graph, ...]) -> Any:
        _check_scalar(index, "iu", "the index of switch")
        return _branch_types("switch", regions, operands)

    numpy = absent("the interpreter runs regions itself")
    batch = absent("its regions are batched, or its examples run apart (passes/vectorize.py)")
    samples = absent("it holds regions; the tests of control flow cover it")


@op
class while_:
    """The carry after as many turns of the second region as the first one allows.

    The operands are `captures` values that stay, then the carry. Both regions take all of them;
    the first gives one truth value (whether to take another turn), the second the next carry. The
    first has no effects: it may take a token, but not hand it on.
    """

    region_names = ("test", "body")
    may_fail = False

    def type(*operands: Any, regions: tuple[Graph, ...], captures: int) -> Any:
        if len(regions) != 2:
            raise ValueError(f"while has two regions, a test and a body, not {len(regions)}")
        test, body = regions
        _check_count(captures, len(operands), "captures")
        _check_inputs("the test of while", test, operands)
        _check_inputs("the body of while", body, operands)
        if len(test.outputs) != 1:
            raise ValueError(f"the test of while gives one truth value, not {len(test.outputs)}")
        _check_scalar(test.outputs[0].type, "b", "what the test of while gives")
        carry = operands[captures:]
        _check_types("the body of while gives", _output_types(body), "its carry", carry)
        return carry

    numpy = absent("the interpreter runs regions itself")
    batch = absent("its regions are batched, or its examples run apart (passes/vectorize.py)")
    samples = absent("it holds regions; the tests of control flow cover it")


@op
class scan:
    """A loop of `length` turns that reads a slice of each x and writes one of each y in each turn.

    The operands are `captures` values that stay, then `carry` values that pass from one turn to
    the next, then the xs, each with `length` slices along axis 0. The region takes the captures,
    the carry and one slice of each x; it gives the next carry, then one slice of each y. The
    results are the last carry, then the ys, stacked along a new axis 0. With `reverse` the turns
    go from the last slice to the first; the slice of a y stands where that of the xs was read.
    """

    may_fail = False

    def type(
        *operands: Any,
        regions: tuple[Graph, ...],
        captures: int,
        carry: int,
        length: DimLike,
        reverse: bool = False,
    ) -> Any:
        if len(regions) != 1:
            raise ValueError(f"scan has one region, its body, not {len(regions)}")
        (body,) = regions
        if isinstance(length, int) and length < 0:
            raise ValueError(f"scan takes {length} turns; it must be 0 or more")
        _check_count(captures, len(operands), "captures")
        first = captures + carry  # of the xs
        _check_count(carry, len(operands) - captures, "carry")
        for x in operands[first:]:
            if not isinstance(x, ArrayType) or not x.ndim or x.shape[0] != length:
                raise ValueError(f"scan takes slices of {x}, which has no leading axis of {length}")
        slices = [example_type(x, 0) for x in operands[first:]]
        _check_inputs("the body of scan", body, [*operands[:first], *slices])
        outputs = _output_types(body)
        state = operands[captures:first]
        _check_types("the body of scan gives", outputs[:carry], "its carry", state)
        if any(isinstance(y, TokenType) for y in outputs[carry:]):
            raise ValueError("a token is handed on in the carry of scan, it cannot be stacked")
        return (*state, *[batched_type(y, length) for y in outputs[carry:]])

    numpy = absent("the interpreter runs regions itself")
    batch = absent("its region is batched (passes/vectorize.py)")
    samples = absent("it holds a region; the tests of control flow cover it")


#: Operations that run one of their regions, which all take the operands after the first.
BRANCHES = (cond, switch)
#: Operations that run a region again and again.
LOOPS = (while_, scan)
CONTROL = (*BRANCHES, *LOOPS)


def carry_of(op: Operation) -> slice:
    """Return where among a loop's operands, and the inputs of its regions, its carry stands."""
    first = op.params["captures"]
    return slice(first, first + op.params.get("carry", len(op.operands) - first))


def _branch_types(name: str, regions: tuple[Graph, ...], operands: Sequence[Any]) -> Any:
    if not regions:
        raise ValueError(f"{name} needs at least one region")
    for number, region in enumerate(regions):
        _check_inputs(f"region {number} of {name}", region, operands)
    types = _output_types(regions[0])
    for number, region in enumerate(regions):
        given = _output_types(region)
        _check_types(f"region {number} of {name} gives", given, "region 0", types)
    return types


def _check_scalar(type: Any, kinds: str, what: str) -> None:
    if not isinstance(type, ArrayType) or type.shape or type.dtype.kind not in kinds:
        wanted = "truth value" if kinds == "b" else "integer"
        raise TypeError(f"{what} must be one {wanted}, not {type}")


def _check_count(count: int, available: int, what: str) -> None:
    if not 0 <= count <= available:
        raise ValueError(f"{what}={count}, but there are {available} operands for it")


def _check_inputs(what: str, region: Graph, operands: Sequence[Any]) -> None:
    taken = tuple([value.type for value in region.inputs])
    _check_types(f"{what} takes", taken, "its operands", tuple(operands))


def _check_types(what: str, given: tuple[Any, ...], other: str, wanted: tuple[Any, ...]) -> None:
    if given != wanted:
        raise TypeError(f"{what} {_listed(given)}, but {other}: {_listed(wanted)}")


def _output_types(region: Graph) -> tuple[Any, ...]:
    return tuple([value.type for value in region.outputs])


def _listed(types: Sequence[Any]) -> str:
    return f"({', '.join(map(str, types))})"
