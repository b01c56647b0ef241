"""Functions on their way to LLVM: instructions in order, blocks, and variables in the frame."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from lanewise.codegen.errors import CannotCompile, TooLong
from lanewise.codegen.processor import machine
from lanewise.codegen.sizes import Counted, computed, is_counted
from lanewise.codegen.vector import LLVM, Number, Vec, is_float, select
from lanewise.ir.dims import DimLike

#: Where functions have their stack begin, in bytes. LLVM by itself does not see to it that vectors
#: which do not find a register are kept within lines of the cache.
ALIGNED = 64
#: Functions of more instructions than this are not compiled: it would take many seconds.
MOST_LINES = 60_000
#: What names a value and what names a block, where they are made, and a name of either where it is
#: used.
DEFINED, LABEL, NAME = (
    re.compile(pattern, re.MULTILINE)
    for pattern in (r"^  (%\w+) = |^(\w+):$", r"^(\w+):$", r"%\w+")
)
#: Of loads that never change, of stores past the caches, and of loops that stay loops.
METADATA = (
    "!0 = !{}",
    "!1 = !{i32 1}",
    "!2 = distinct !{!2, !3}",
    '!3 = !{!"llvm.loop.unroll.disable"}',
)


@dataclass(slots=True)
class Module:
    """Functions and declarations on their way to LLVM."""

    functions: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    #: Of functions that are called by `Emitter.call`, the kinds of what they give.
    results: dict[str, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        return "\n".join([*self.declarations.values(), *self.functions.values(), *METADATA, ""])

    def declare(self, name: str, result: str, *arguments: str) -> None:
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"


class Emitter:
    """Writes one function: instructions in order, blocks, and variables in its frame."""

    def __init__(self, module: Module, group: int, parts: int, flags: str = "") -> None:
        #: Where the function, and what it calls, go.
        self.module = module
        #: Lanes of one part of a varying value; and its parts: so many times more run together.
        self.group, self.parts = group, parts
        #: LLVM's fast-math flags for arithmetic, empty for IEEE semantics.
        self.flags = f"{flags} " if flags else ""
        self.entry: list[str] = []
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self._count = 0
        #: Where the sizes lie that the function is told when it is called; see `size`.
        self.table: str | None = None
        #: Which sizes those are, and whether they count from the end of the memory of known size.
        self.sizes: dict[tuple[DimLike, bool], Vec] = {}
        #: What symbols of sizes are, of which the function itself knows what they are.
        self.counted: dict[str, Counted] = {}
        #: Symbols that were seen to be other sizes, by what stands before in the region at hand.
        self.equal: Mapping[str, DimLike] = {}
        #: Places that lanes read or write which are not used, by whether they are written.
        self._spare: dict[bool, str] = {}

    @property
    def lanes(self) -> int:
        return self.group * self.parts

    @contextmanager
    def exactly(self) -> Generator[None]:
        """Write arithmetic that is rounded as IEEE 754 says, whatever else the user allows."""
        outer, self.flags = self.flags, ""
        yield
        self.flags = outer

    # --- text ---------------------------------------------------------------------------------

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def write(self, instruction: str) -> str:
        """Write an instruction that gives a value; return the value's name."""
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def at_entry(self, instruction: str) -> str:
        """Write an instruction to where the function begins; return the value's name."""
        name = self.name()
        self.entry.append(f"  {name} = {instruction}")
        return name

    def spare(self, is_written: bool) -> str:
        """Return a place for each lane that is not used: with zeros, or one that is written."""
        if is_written not in self._spare:
            type_, place = f"<{self.group} x ptr>", self.at_entry("alloca [2 x i64]")
            self.entry.append(f"  store [2 x i64] zeroinitializer, ptr {place}")
            one = self.at_entry(f"insertelement {type_} poison, ptr {place}, i32 0")
            order = f"<{self.group} x i32> zeroinitializer"
            text = f"shufflevector {type_} {one}, {type_} poison, {order}"
            self._spare[is_written] = self.at_entry(text)
        return self._spare[is_written]

    def do(self, instruction: str) -> None:
        """Write an instruction that gives nothing."""
        self.lines.append(f"  {instruction}")

    def external(self, result: str, name: str, *arguments: tuple[str, Any]) -> str:
        """Write a call of what is not of the module; return the name of its result, if any.

        Arguments are types and values.
        """
        text = self.call_of(result, name, *arguments)
        if result != "void":
            return self.write(text)
        self.do(text)
        return ""

    def call_of(self, result: str, name: str, *arguments: tuple[str, Any]) -> str:
        """Return the text of a call of what is not of the module; see `external`."""
        self.module.declare(name, result, *[type_ for type_, _ in arguments])
        given = ", ".join([f"{type_} {value}" for type_, value in arguments])
        return f"call {result} @{name}({given})"

    def check_length(self) -> None:
        """Raise `TooLong` as soon as there is more than may be compiled."""
        if len(self.lines) > MOST_LINES:
            raise TooLong(f"its kernel of over {MOST_LINES:,} instructions compiles for too long")

    def label(self, hint: str = "b") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, label: str) -> None:
        """Begin a block; the one before must have ended with a branch."""
        self.lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        """End a block."""
        self.do(f"br label %{label}")

    def branch(self, condition: Vec, then: str, otherwise: str) -> None:
        self.do(f"br i1 {condition.parts[0]}, label %{then}, label %{otherwise}")

    def finish(self, name: str, result: str, arguments: Sequence[str], attributes: str = "") -> str:
        """Return the function's text; the last block must have ended."""
        attributes = f"{attributes} alignstack({ALIGNED})".lstrip()
        head = f"define {result} @{name}({', '.join(arguments)}) {attributes} {{"
        blocks = ["entry:", *self.entry, "  br label %ahead", "ahead:", *self.prologue]
        return "\n".join([head, *blocks, "  br label %start", "start:", *self.lines, "}"])

    @contextmanager
    def aside(self) -> Generator[list[str]]:
        """Write instructions to a list of their own, to be put in their place later."""
        outer, self.lines = self.lines, []
        yield self.lines
        self.lines = outer

    def again(self, lines: Sequence[str], known: Mapping[str, str]) -> None:
        """Write instructions once more, with other names in place of those that are known."""
        text = "\n".join(lines)
        names = dict(known)
        for value, label in DEFINED.findall(text):
            names[value or f"%{label}"] = self.name()
        text = LABEL.sub(lambda found: f"{names['%' + found[1]][1:]}:", text)
        text = NAME.sub(lambda found: names.get(found[0], found[0]), text)
        self.lines += text.split("\n")

    # --- types and values ---------------------------------------------------------------------

    def type(self, kind: str, varying: bool) -> str:
        return f"<{self.group} x {LLVM[kind]}>" if varying else LLVM[kind]

    def wide_mask(self) -> str | None:
        """Return what a mask is kept as; None where that is what it is."""
        width = machine().register_bits // self.group
        is_wide = width in (8, 16, 32, 64) and not machine().masks
        return f"<{self.group} x i{width}>" if is_wide else None

    def constant(self, kind: str, value: Number) -> Vec:
        """Return a uniform constant."""
        return Vec(self, kind, False, (literal(kind, value),), value)

    def uniform(self, kind: str, name: str) -> Vec:
        return Vec(self, kind, False, (name,))

    def size(self, dim: DimLike, is_place: bool = False) -> Vec:
        """Return a size that the function is told when it is called, or that it counts itself.

        With `is_place` it is one of memory: a place behind what is of known size.
        """
        if is_counted(dim, self.counted):
            return computed(self, dim, self.counted)
        known = self.sizes.get((dim, is_place))
        if known is None:
            if self.table is None:
                raise CannotCompile(f"the size {dim} is known only when it runs")
            offset = 8 * len(self.sizes)
            place = self.at_entry(f"getelementptr i8, ptr {self.table}, i64 {offset}")
            known = self.uniform("i64", self.at_entry(f"load i64, ptr {place}"))
            self.sizes[dim, is_place] = known
        return known

    def lane_index(self, kind: str = "i64") -> Vec:
        """Return the number of each lane: 0, 1, 2, ..."""
        return self.each_lane(kind, range(self.lanes))

    def each_lane(self, kind: str, numbers: Sequence[Number]) -> Vec:
        """Return a known number for each lane."""
        texts = [f"{LLVM[kind]} {literal(kind, number)}" for number in numbers]
        starts = range(0, len(texts), self.group)
        parts = [f"<{', '.join(texts[start : start + self.group])}>" for start in starts]
        return Vec(self, kind, True, tuple(parts))

    def slot(self, kind: str, varying: bool, first: Vec | None = None) -> Slot:
        """Return a variable of the function's frame, which LLVM turns into registers.

        With `first` it is set to that here.
        """
        is_mask = kind == "b" and varying
        text = f"alloca {(self.wide_mask() if is_mask else None) or self.type(kind, varying)}"
        names = [self.at_entry(text) for _ in range(self.parts if varying else 1)]
        slot = Slot(self, kind, varying, tuple(names))
        if first is not None:
            slot.set(first)
        return slot

    # --- instructions -------------------------------------------------------------------------

    def map(self, kind: str, operands: Sequence[Vec], instruction: Callable[..., str]) -> Vec:
        """Write an instruction for each part of the operands; the result is of `kind`.

        `instruction` gets the parts' names, and returns the instruction's text.
        """
        varying = any([x.varying for x in operands])
        if varying:
            operands = [x.spread() for x in operands]
        rows = zip(*[x.parts for x in operands], strict=True)
        return Vec(self, kind, varying, tuple([self.write(instruction(*row)) for row in rows]))

    def intrinsic(self, name: str, *operands: Vec, rest: Sequence[tuple[str, str]] = ()) -> Vec:
        """Write a call of an LLVM intrinsic that is overloaded by the type of its first operand.

        Behind the operands it takes the `rest`, types and values.
        """
        first = operands[0]
        varying = any([x.varying for x in operands])
        scalar = first.kind if is_float(first.kind) else LLVM[first.kind]
        suffix = f"v{self.group}{scalar}" if varying else scalar
        types = [self.type(x.kind, varying) for x in operands]

        def call(*parts: str) -> str:
            given = zip(types, parts, strict=True)
            return self.call_of(types[0], f"llvm.{name}.{suffix}", *given, *rest)

        return self.map(first.kind, operands, call)

    def zeros(self, name: str, x: Vec) -> Vec:
        """Return how many bits of a 64-bit integer are zero in front (ctlz), or at its end (cttz).

        Of zero all are.
        """
        return self.intrinsic(name, x, rest=[("i1", "false")]).as_kind("i64")

    def population(self, x: Vec) -> Vec:
        """Return how many bits of a 64-bit integer are set."""
        return self.intrinsic("ctpop", x).as_kind("i64")

    def shuffled(
        self, kind: str, width: int, order: Sequence[int], a: str, b: str = "poison"
    ) -> str:
        """Return elements of two vectors of a width, those of the second behind the first's."""
        if list(order) == list(range(width)):
            return a
        type_ = f"<{width} x {LLVM[kind]}>"
        text = ", ".join([f"i32 {place}" for place in order])
        return self.write(f"shufflevector {type_} {a}, {type_} {b}, <{len(order)} x i32> <{text}>")

    def lane(self, x: Vec, number: str) -> Vec:
        """Return what the first part of a varying value has in a lane, of a number with its type.

        The number may be one that is computed.
        """
        text = f"extractelement {self.type(x.kind, True)} {x.parts[0]}, {number}"
        return self.uniform(x.kind, self.write(text))

    def any(self, mask: Vec) -> Vec:
        """Return the uniform truth value: whether a mask holds in some lane."""
        return self._across(mask, "or", operator.or_) if mask.varying else mask

    def all(self, mask: Vec) -> Vec:
        """Return the uniform truth value: whether a mask holds in every lane."""
        return self._across(mask, "and", operator.and_) if mask.varying else mask

    def bits(self, mask: Vec) -> Vec:
        """Return a mask as the bits of an integer, the first lane's the lowest; of 64 at most."""
        words = []
        for part in mask.spread().parts:
            text = self.write(f"bitcast {self.type('b', True)} {part} to i{self.group}")
            wide = self.write(f"zext i{self.group} {text} to i64") if self.group < 64 else text
            words.append(self.uniform("u64", wide))
        found = words[0]
        for number, word in enumerate(words[1:], 1):
            found = found | (word << (number * self.group))
        return found

    def extreme(self, x: Vec, greatest: bool) -> Vec:
        """Return the greatest or the least of a signed integer in all lanes."""
        verb = "smax" if greatest else "smin"
        return self._across(x, verb, partial(self.intrinsic, verb))

    def _across(self, x: Vec, verb: str, of_two: Callable[[Vec, Vec], Vec]) -> Vec:
        """Return what all lanes of a varying integer are taken together to, as two vectors are."""
        joined = reduce(of_two, [Vec(self, x.kind, True, (part,)) for part in x.parts])
        name, given = f"llvm.vector.reduce.{verb}", (self.type(x.kind, True), joined.parts[0])
        scalar = LLVM[x.kind]
        return self.uniform(x.kind, self.external(scalar, f"{name}.v{self.group}{scalar}", given))

    # --- control flow -------------------------------------------------------------------------

    @contextmanager
    def when(self, condition: Vec) -> Generator[None]:
        """Write what the block writes under a uniform condition."""
        then, after = self.label("then"), self.label("after")
        self.branch(condition, then, after)
        self.begin(then)
        yield
        self.jump(after)
        self.begin(after)

    def fork(self, condition: Vec, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Write both sides of a branch."""
        labels, after = (self.label("then"), self.label("else")), self.label("after")
        self.branch(condition, *labels)
        for label, write in zip(labels, (then, otherwise), strict=True):
            self.begin(label)
            write()
            self.jump(after)
        self.begin(after)

    def patched(self, usual: Vec, mask: Vec, rare: Callable[[], Vec]) -> Vec:
        """Return `usual`, but where `mask` holds what `rare` gives; computed if a lane needs it."""
        return self.all_patched((usual,), mask, lambda: (rare(),))[0]

    def all_patched(
        self, usual: Sequence[Vec], mask: Vec, rare: Callable[[], Sequence[Vec]]
    ) -> tuple[Vec, ...]:
        """Do what `patched` does for several Vecs, of which all vary or none."""
        varying = mask.varying or usual[0].varying
        slots = [self.slot(vec.kind, varying, vec) for vec in usual]
        with self.when(self.any(mask)):
            for slot, vec, other in zip(slots, usual, rare(), strict=True):
                slot.set(select(mask, other, vec) if varying else other)
        return tuple([slot.get() for slot in slots])

    @contextmanager
    def loop(self, *, rolled: bool = False) -> Generator[Callable[[Vec], None]]:
        """Write a loop whose turns the block writes, which tells once whether there is another.

        For that it calls what it is given with a uniform condition. A loop that is `rolled` LLVM is
        not to write out.
        """
        head, body, done = self.label("head"), self.label("body"), self.label("done")

        def goes_on(condition: Vec) -> None:
            self.branch(condition, body, done)
            self.begin(body)

        self.jump(head)
        self.begin(head)
        yield goes_on
        self.do(f"br label %{head}{', !llvm.loop !2' if rolled else ''}")
        self.begin(done)

    def repeat(self, test: Callable[[], Vec], body: Callable[[], None]) -> None:
        """Write a loop that runs while a test, written anew each turn, holds in some lane."""
        with self.loop() as goes_on:
            goes_on(self.any(test()))
            body()

    def call(self, name: str, function: Callable[..., Vec], *operands: Vec) -> Vec:
        """Call `function`, written once in the module as a function of its own.

        For long code that is seldom run: inlined, it would only make compiling slow. ``name`` names
        the function together with the operands' types.
        """
        return self.called(name, lambda *given: (function(*given),), *operands)[0]

    def called(
        self, name: str, function: Callable[..., Sequence[Vec]], *operands: Vec
    ) -> list[Vec]:
        """Do what `call` does for a function that gives several Vecs."""
        varying = any([x.varying for x in operands])
        taken = [x.spread_if(varying) for x in operands]
        types = [self.type(x.kind, varying) for x in operands]
        width = f"x{self.group}" if varying else ""
        full = f"lw.{name}.{'.'.join([x.kind for x in operands])}{width}"
        if full not in self.module.functions:
            self.module.functions[full] = ""  # a function that calls itself would be an endless one
            inner = Emitter(self.module, self.group, 1, self.flags.strip())
            given = [Vec(inner, x.kind, varying, (f"%a{i}",)) for i, x in enumerate(operands)]
            results = [x.spread_if(varying) for x in function(*given)]
            whole, value = self._together([x.kind for x in results], varying), "poison"
            for place, x in enumerate(results):
                part = f"{self.type(x.kind, varying)} {x.parts[0]}"
                value = inner.write(f"insertvalue {whole} {value}, {part}, {place}")
            inner.do(f"ret {whole} {value}")
            arguments = [f"{type_} %a{i}" for i, type_ in enumerate(types)]
            self.module.functions[full] = inner.finish(
                full, f"internal {whole}", arguments, "noinline cold"
            )
            self.module.results[full] = [x.kind for x in results]
        kinds = self.module.results[full]
        whole = self._together(kinds, varying)
        calls = []
        for parts in zip(*[x.parts for x in taken], strict=True):
            text = ", ".join([f"{t} {p}" for t, p in zip(types, parts, strict=True)])
            calls.append(self.write(f"call {whole} @{full}({text})"))
        rows = [
            [self.write(f"extractvalue {whole} {value}, {place}") for value in calls]
            for place in range(len(kinds))
        ]
        return [Vec(self, k, varying, tuple(row)) for k, row in zip(kinds, rows, strict=True)]

    def _together(self, kinds: Sequence[str], varying: bool) -> str:
        """Return the type of what a function gives: a structure."""
        return f"{{ {', '.join([self.type(kind, varying) for kind in kinds])} }}"

    def call_each(self, name: str, function: Callable[..., Vec], mask: Vec, *operands: Vec) -> Vec:
        """Call `function`, written once in the module for uniform values, for each lane of a mask.

        What other lanes get means nothing; there must be 64 at most. For code that is long, rare,
        and better scalar: tables, wide integers, loops of different lengths.
        """
        if not any([x.varying for x in (mask, *operands)]):
            return self.call(name, function, *operands)

        def each(mask: Vec, *operands: Vec) -> Vec:
            e = mask.e
            left = e.slot("u64", False, e.bits(mask))
            found = e.slot(operands[0].kind, True, operands[0])

            with e.loop() as goes_on:
                lanes = left.get()
                goes_on(lanes.ne(0))
                given = ("i64", lanes.parts[0]), ("i1", "true")  # there is one
                index = e.external("i64", "llvm.cttz.i64", *given)
                one = e.call(name, function, *[e.lane(x, f"i64 {index}") for x in operands])
                type_, before = e.type(one.kind, True), found.get().parts[0]
                new = f"insertelement {type_} {before}, {LLVM[one.kind]} {one.parts[0]}"
                found.set(Vec(e, one.kind, True, (e.write(f"{new}, i64 {index}"),)))
                left.set(lanes & (lanes - 1))
            return found.get()

        return self.call(f"{name}.each", each, mask, *operands)


def literal(kind: str, value: Number) -> str:
    """Return a number as LLVM writes a constant of this kind."""
    if kind == "b":
        return "true" if value else "false"
    if not is_float(kind):
        return str(int(value))
    if kind == "f16":
        return f"0xH{struct.pack('>e', np.float16(value)).hex().upper()}"
    if kind == "f32":  # written as the double of that value
        value = float(np.float32(value))
    return f"0x{struct.pack('>d', value).hex().upper()}"


class Slot:
    """A variable: it is set and read.

    A mask is kept as wide as numbers in lanes, as it is used, where the processor has no masks of
    bits: else it would be made narrow and wide again in each turn of a loop.
    """

    __slots__ = ("_mask", "e", "kind", "names", "varying")

    def __init__(self, e: Emitter, kind: str, varying: bool, names: tuple[str, ...]) -> None:
        self.e, self.kind, self.varying, self.names = e, kind, varying, names
        self._mask = e.wide_mask() if kind == "b" and varying else None

    def get(self) -> Vec:
        type_ = self._mask or self.e.type(self.kind, self.varying)
        parts = [self.e.write(f"load {type_}, ptr {name}") for name in self.names]
        if self._mask:
            parts = [self.e.write(f"icmp slt {type_} {part}, zeroinitializer") for part in parts]
        return Vec(self.e, self.kind, self.varying, tuple(parts))

    def set(self, value: Vec) -> None:
        value = value.spread_if(self.varying)
        type_ = self.e.type(self.kind, self.varying)
        for name, part in zip(self.names, value.parts, strict=True):
            if self._mask:
                part = self.e.write(f"sext {type_} {part} to {self._mask}")
            self.e.do(f"store {self._mask or type_} {part}, ptr {name}")
