"""Random programs: those of `random_control_flow`, and what there is beside control flow.

Arrays of all dtypes and layouts, writes to them and to views, slices with ends that move, sorting
and searching, effects, and what raises on some data. All arithmetic is exact, or rounded once, so
that results must be the loop's to the bit; what is not is of kind ``r``, which is only returned.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.random_control_flow import ARGS, Scope, Writer

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
DTYPES = ("?", *INTEGERS, *FLOATS, "c8", "c16")
SHAPES = ((5,), (3, 4), (2, 2, 3), (1,), (), (0,), (3, 3), (17,))
LAYOUTS = ("C", "C", "F", "reversed", "gaps", "readonly")
#: What may be in programs beside exact arithmetic; see `Programs.statement`.
FEATURES = ("print", "warn", "append", "except", "risky", "rough", "arrays", "classes")


def array_kind(dtype: str, shape: tuple[int, ...]) -> str:
    """Return the kind of arrays of a dtype and shape: ``a<i4(3, 4)``."""
    return f"a{dtype}:{','.join(map(str, shape))}"


def parts(kind: str) -> tuple[str, tuple[int, ...]]:
    """Return dtype and shape of a kind of arrays."""
    dtype, _, shape = kind[1:].partition(":")
    return dtype, tuple([int(n) for n in shape.split(",") if n])


class Programs(Writer):
    """Writes one function by a generator of random numbers."""

    features: frozenset[str] = frozenset()

    def chance(self, one_in: int) -> bool:
        return self.draw.randrange(one_in) == 0

    def pick(self, *choices: Any) -> Any:
        return self.draw.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self.draw.randint(low, high)

    def has(self, feature: str) -> bool:
        return feature in self.features

    # --- arrays of all dtypes ---------------------------------------------------------------------

    def arrays(self, scope: Scope) -> list[str]:
        return [name for name, kind in scope.items() if kind[0] == "a"]

    def array(self, scope: Scope, *dtypes: str) -> str:
        """Return an array of one of these dtypes, which may be none."""
        found = [n for n in self.arrays(scope) if not dtypes or parts(scope[n])[0] in dtypes]
        return self.pick(*found) if found else ""

    def literal(self, dtype: str) -> str:
        if dtype == "?":
            return self.pick("True", "False")
        if dtype[0] == "c":
            return self.pick("1j", "(2-1j)", "0.5", "1")
        return self.pick("1", "2", "3") if dtype[0] in "iu" else self.pick("0.5", "2", "-1.0", "1")

    def place(self, shape: tuple[int, ...], scope: Scope) -> str:
        """Return an index of one element, in bounds."""
        return ", ".join([self.index(n, scope) for n in shape]) or "()"

    def _a(self, kind: str, scope: Scope, depth: int) -> str:
        dtype, shape = parts(kind)
        size = "(" + "".join([f"{n}, " for n in shape]) + ")"
        known = self.names(scope, kind)
        fresh = f"np.full({size}, {self.literal(dtype)}, dtype={dtype!r})"
        if not known or (depth <= 0 and self.chance(4)):
            return fresh
        a, b, one = self.pick(*known), self.pick(*known), self.literal(dtype)
        if depth <= 0:
            return a
        if self.chance(3):
            a = f"({self._a(kind, scope, depth - 1)})"
        choices = [
            f"{a}.copy()",
            f"np.where({a} == {b}, {a}, {b})",
            f"np.where({self.expr('b', scope, 0)}, {a}, {b})",
        ]
        if dtype == "?":
            choices += [
                f"{a} & {b}",
                f"{a} | {b}",
                f"~{a}",
                f"{a} ^ {b}",
                f"np.logical_or({a}, {b})",
            ]
        else:
            choices += [
                f"{a} + {b}",
                f"{a} * {one}",
                f"{a} - {b}",
                f"-{a}",
                f"{a} + {one}",
                f"np.negative({a})",
                f"np.add({a}, {b})",
                f"np.conjugate({a})",
                f"np.square({a})",
            ]
        if dtype[0] in "iuf":
            choices += [
                f"np.maximum({a}, {b})",
                f"np.minimum({a}, {one})",
                f"np.clip({a}, 0, 3)",
                f"abs({a})",
            ]
        if dtype[0] in "iu":
            choices += [f"{a} & 7", f"{a} // 2", f"{a} % 5", f"{a} ^ {b}", f"{a} >> 1"]
        if shape and 0 not in shape:
            axis = self.number(-len(shape), len(shape) - 1)
            choices += [
                f"{a}[::-1]",
                f"np.roll({a}, {self.number(-3, 3)}, axis={axis})",
                f"np.flip({a}, axis={axis})",
            ]
            if dtype[0] != "c":
                choices.append(f"np.sort({a}, axis={axis})")
            if dtype[0] in "iu?":
                choices.append(f"np.cumsum({a}, axis={axis}).astype({dtype!r})")
            if len(shape) == 1:
                k = f"({self.atom('i', scope)}) % {shape[0]}"
                choices += [
                    f"np.concatenate([{a}[{self.number(0, shape[0])}:], {a}])[:{shape[0]}]",
                    f"{a}[np.argsort({b}, kind='stable')]",
                    f"np.where(np.arange({shape[0]}) < {k}, {a}, {b})",
                    f"np.take({a}, np.arange({shape[0]})[::-1])",
                ]
            if len(shape) == 2 and shape[0] == shape[1]:
                choices += [f"{a}.T", f"np.triu({a})"]
        return self.pick(*choices)

    def _r(self, kind: str, scope: Scope, depth: int) -> str:
        """Return a float that depends on how things are rounded."""
        f, vector = self.expr("f", scope, 1), self.variable("v", scope, "np.ones(4)")
        i = self.expr("i", scope, 1)
        choices = [
            f"np.exp(-abs({f}))",
            f"np.sin({f}) * 3",
            f"{vector}.mean()",
            f"np.sqrt(abs({f}))",
            f"np.tanh({vector}).sum()",
            f"math.atan({f})",
            f"({vector} @ {vector})",
            f"abs({i}) ** 0.5",
            f"np.linalg.norm({vector})",
            f"np.log1p(abs({f}))",
            f"np.std({vector})",
            f"np.hypot({f}, {i})",
        ]
        square = [n for n in self.arrays(scope) if scope[n] == "af8:3,3"]
        if square:
            g = self.pick(*square)
            choices += [
                f"np.linalg.solve({g} @ {g}.T + 9.0 * np.eye(3), np.ones(3)).sum()",
                f"np.trace({g} @ {g})",
                f"np.linalg.det({g} * 0.125 + 9.0 * np.eye(3))",
                f"np.linalg.eigvalsh({g} + {g}.T)[0]",
            ]
        return self.pick(*choices)

    def _m(self, kind: str, scope: Scope, depth: int) -> str:
        """Return a number of which the data may choose the class; all are exact in any dtype."""
        known = self.names(scope, "m")
        i, f = self.atom("i", scope), self.atom("f", scope)
        one = self.pick(
            i,
            self.atom("b", scope),
            f"({f} % 8)",
            f"np.float32({self.pick('0.5', '-1.25', '3')})",
            f"np.int16({self.number(-3, 6)})",
            f"np.float64({i})",
            f"({f} > 0.5)",
        )
        if depth <= 0:
            return self.pick(*known) if known and self.chance(2) else one
        if not known or self.chance(2):
            parts = self._m(kind, scope, depth - 1), self._m(kind, scope, depth - 1)
            return f"({parts[0]} if {self.expr('b', scope, 1)} else {parts[1]})"
        a = self.pick(*known)
        return self.pick(
            f"({a} + {one}) % 7",
            f"({a} * {one}) % 5",
            f"({one} - ({a} + 0)) % 5",
            f"({a} + 1) * 0.5",
            f"max({a}, {i})",
            f"abs({a})",
            f"({a} if {a} > {i} else {one})",
            f"({a} // 2)",
            f"({a} and {one})",
            f"({a} >= {one})",
            f"np.maximum({a}, {one})",
            f"np.square({a}) % 7",
        )

    def asked(self, scope: Scope) -> str:
        """Return what is asked of a number of which the data may choose the class."""
        m = self.pick(*self.names(scope, "m"))
        return self.pick(
            f"isinstance({m}, int)",
            f"isinstance({m}, (float, np.integer))",
            f"isinstance({m}, np.generic)",
            f"({m} > {self.atom('i', scope)})",
            f"(-1 < {m} <= 3)",
            f"(not {m})",
            f"({m} in (1, 2.0))",
        )

    def class_(self, indent: int, scope: Scope, loop: str) -> None:
        """Bind a name to a number of which the data may choose the class."""
        known = [name for name in self.names(scope, "m") if name not in self.fixed]
        name = self.pick(*known) if known and not self.chance(3) else self.new("m")
        if known and self.chance(5):
            number = self.pick("1", "0.5", "True")
            self.write(indent, f"{name} = {self.pick(*known)}")
            self.write(indent, f"{name} {self.pick('+=', '*=')} {number}")
            self.write(indent, f"{name} %= 9")
        else:
            self.write(indent, f"{name} = {self._m('m', scope, 2)}")
        scope[name] = "m"
        if self.has("append") and self.chance(2):
            self.write(indent, f"log.append({name})")
        elif self.has("print") and self.chance(2):
            self.write(indent, f"print({name}, f'{{{name}!r}}', [{name}])")

    def dtypes_(self, indent: int, scope: Scope, loop: str) -> None:
        """Write a statement on an array of three numbers of which the data may choose the dtype."""
        known = [name for name in self.names(scope, "n") if name not in self.fixed]
        i, place = self.atom("i", scope), self.number(0, 2)
        if not known or self.chance(3):
            name = self.pick(*known) if known and self.chance(2) else self.new("n")
            first, second = self._n(scope), self._n(scope)
            self.write(indent, f"{name} = {first} if {self.expr('b', scope, 1)} else {second}")
            scope[name] = "n"
            return
        name, value = self.pick(*known), self.pick(i, self.expr("f", scope, 1), "2.75", "True")
        if self.chance(5):
            new = self.new("u")
            self.write(indent, f"{new} = {name}{self.pick('[::-1]', '[...]')}")
            scope[new] = "n"
            self.fixed |= {name, new}
            return
        self.write(
            indent,
            self.pick(
                f"{name}[{place}] = {value}",
                f"{name}[({i}) % 3] = {value}",
                f"{name}[1:] = {value}",
                f"{name}[:] = {name}[::-1] * 1",
                f"{name}.fill({value})",
                f"{name}.sort()",
                f"{name} *= {self.pick('1', 'True')}",
                f"np.copyto({name}, {self._n(scope)}, casting='unsafe')",
                f"{name} = {name} % 3",
                f"{name} = {name} // 2 + {i}",
                f"{name} = np.stack([{name}, {self._n(scope)}]).max(0)",
                f"{name} = np.where({name} > {i}, {name}, {self._n(scope)})",
            ),
        )
        if self.has("append") and self.chance(2):
            self.write(indent, f"log.append({name}[{place}])")
        elif self.has("print") and self.chance(2):
            self.write(indent, f"print({name}, {name}[{place}])")

    def _n(self, scope: Scope) -> str:
        """Return three numbers of some dtype, exact in any."""
        known = self.names(scope, "n")
        return self.pick(
            "np.array([1, 2, 0])",
            "np.array([0.5, 1.0, 2.0])",
            "np.array([True, False, True])",
            "np.ones(3, np.float32)",
            f"np.arange({self.number(1, 4)}, 9, dtype=np.int16)[:3]",
            f"np.full(3, {self.atom('i', scope)})",
            *[f"{n}.copy()" for n in known],
            *[f"({n} * 3) % 5" for n in known],
            *[f"np.cumsum({n}) % 7" for n in known],
        )

    def _i(self, kind: str, scope: Scope, depth: int) -> str:
        if depth > 0 and self.names(scope, "n") and self.chance(6):
            n = self.pick(*self.names(scope, "n"))
            return self.pick(
                f"int({n}[{self.number(0, 2)}])", f"int({n}.sum()) % 9", f"{n}.argmax()"
            )
        if depth > 0 and self.names(scope, "m") and self.chance(8):
            return f"int({self.variable('m', scope, '0')})"
        a = self.array(scope)
        if a and depth > 0 and self.chance(4):
            dtype, shape = parts(scope[a])
            choices = [
                f"{a}.size",
                f"{a}.ndim",
                f"np.count_nonzero({a})",
                f"int(({a} == {self.literal(dtype)}).sum())",
            ]
            if 0 not in shape:
                place = self.place(shape, scope)
                if dtype[0] != "c":
                    choices += [f"int(np.argmax({a}))", f"int({a}.argmin())"]
                if dtype[0] in "iu?":
                    choices += [
                        f"int({a}[{place}]) % 11",
                        f"int({a}.sum()) % 13",
                        f"int({a}.max()) % 9",
                        f"int(np.prod({a}[..., :2])) % 7" if shape else f"int({a}) % 5",
                    ]
                if len(shape) == 1 and dtype[0] in "iuf":
                    choices += [
                        f"int(np.searchsorted(np.sort({a}), {self.literal(dtype)}))",
                        f"len({a}[: ({self.atom('i', scope)}) % {shape[0] + 1}])",
                    ]
            return self.pick(*choices)
        if self.has("risky") and depth > 0 and self.chance(12):
            i, j, f = self.atom("i", scope), self.atom("i", scope), self.atom("f", scope)
            v, w = (
                self.variable("v", scope, "np.ones(3)"),
                self.variable("w", scope, "np.arange(3)"),
            )
            return self.pick(
                f"({i} // {j}) % 31",
                f"({i} % {j})",
                f"int(({f}) / ({j}))",
                f"[1, 4, 2][{i}]",
                f"{{0: 3, 1: 5, 2: 1}}[{i}]",
                f"int({w}[{i}])",
                f"int(math.sqrt({f}))",
                f"clip({v}[{i}])",
                f"int(math.log({f}) > 1)",
                f"divmod({i}, {j})[1]",
            )
        return super()._i(kind, scope, depth)

    def _f(self, kind: str, scope: Scope, depth: int) -> str:
        if depth > 0 and self.names(scope, "n") and self.chance(6):
            n = self.pick(*self.names(scope, "n"))
            return self.pick(
                f"float(({n} // 2).sum())", f"float({n}.mean()) % 8", f"float(max({n}))"
            )
        if depth > 0 and self.names(scope, "m") and self.chance(8):
            return f"float({self.variable('m', scope, '0')})"
        a = self.array(scope, *FLOATS, *INTEGERS)
        if a and depth > 0 and self.chance(5):
            dtype, shape = parts(scope[a])
            if 0 not in shape:
                place = self.place(shape, scope)
                return self.pick(
                    f"float({a}[{place}])",
                    f"float({a}.max())",
                    f"{a}.min() * 1.0 + 0.0" if dtype == "f8" else f"float({a}.min())",
                    f"{a}[{place}].item() * 0.5",
                )
        return super()._f(kind, scope, depth)

    def _b(self, kind: str, scope: Scope, depth: int) -> str:
        if depth > 0 and self.names(scope, "m") and self.chance(4):
            return self.asked(scope)
        a = self.array(scope)
        if a and depth > 0 and self.chance(5):
            dtype, shape = parts(scope[a])
            b, one = self.pick(*self.names(scope, scope[a])), self.literal(dtype)
            choices = [
                f"bool(({a} == {b}).all())",
                f"({a} != {one}).any()",
                f"np.array_equal({a}, {b})",
                f"np.any({a})",
            ]
            if 0 not in shape:
                place = self.place(shape, scope)
                choices += [f"{a}[{place}] == {b}[{place}]", f"bool({a}[{place}])"]
                choices += [f"{a}[{place}] > {one}"] * (dtype[0] in "iuf")
            return self.pick(*choices)
        return super()._b(kind, scope, depth)

    # --- statements -------------------------------------------------------------------------------

    def statement(self, indent: int, scope: Scope, loop: str) -> bool:
        others = []
        if self.has("arrays") and self.arrays(scope):
            others += ["array_"] * 2
        for feature in ("print", "warn", "append"):
            if self.has(feature):
                others.append(f"{feature}_")
        if self.has("classes"):
            others += ["class_", "class_", "dtypes_"]
        if self.has("except") and indent <= 4 and self.budget > 0:
            others.append("except_")
        if others and self.chance(4):
            return bool(getattr(self, self.pick(*others))(indent, scope, loop))
        return super().statement(indent, scope, loop)

    def array_(self, indent: int, scope: Scope, loop: str) -> None:
        """Write a statement on arrays of any dtype: bind one, write to it, or bind a view."""
        name = self.array(scope)
        kind = scope[name]
        dtype, shape = parts(kind)
        if self.chance(2) or name in self.fixed or 0 in shape:
            free = [n for n in self.names(scope, kind) if n not in self.fixed]
            new = self.pick(*free) if free and self.chance(2) else self.new("a")
            text = self._a(kind, scope, 2)
            if self.chance(6) and dtype != "?" and shape and 0 not in shape:  # that has a dtype
                text = f"np.asarray([*{name}])"
            self.write(indent, f"{new} = {text}")
            scope[new] = kind
            return
        if not shape:
            self.write(indent, f"{name} = {self._a(kind, scope, 2)}")
            return
        one, place = self.literal(dtype), self.place(shape, scope)
        other = self.pick(*self.names(scope, kind))
        first = shape[0]
        k = f"({self.atom('i', scope)}) % {first}"
        operator = self.pick("=", "+=", "-=", "*=") if dtype != "?" else self.pick("=", "|=", "&=")
        texts = [
            f"{name}[{place}] = {one}",
            f"{name}[{place}] {operator} {one}",
            f"{name}[{k}] {operator} {other}[{k}]",
            f"{name}[{k}:] {operator} {one}",
            f"{name}[{k} : {k} + 2] = {other}[{k} : {k} + 2]",
            f"{name}[{name} == {other}] = {one}",
            f"{name}[::-1][{k}] = {one}",
            f"{name} {operator} {other}",
            f"{name}[...] = {self._a(kind, scope, 1)}",
            f"{name}.fill({one})",
            f"{name}[[0, -1]] = {one}",
            f"np.copyto({name}, {other})",
        ]
        if dtype[0] in "iu":
            texts += [
                f"np.add({name}, 1, out={name})",
                f"np.add.at({name}, {k}, 1)",
                f"{name} //= 2",
            ]
        if dtype[0] != "c":
            texts.append(f"{name}.sort()")
        if self.chance(5):
            new = self.new("u")
            part, rest = self.pick(
                ("[1:]", (first - 1, *shape[1:])),
                ("[::-1]", shape),
                ("[...]", shape),
                ("[::2]", (-(-first // 2), *shape[1:])),
            )
            self.write(indent, f"{new} = {name}{part}")
            scope[new] = array_kind(dtype, rest)
            self.fixed |= {name, new}
            return
        self.write(indent, self.pick(*texts))

    def seen(self, scope: Scope) -> str:
        """Return what an effect may show: numbers, which are written as Python writes them."""
        if self.names(scope, "m") and self.chance(2):
            return self.variable("m", scope, "0")
        return self.pick(
            self.atom("i", scope),
            self.atom("b", scope),
            self.expr("f", scope, 1),
            self.expr("i", scope, 1),
        )

    def print_(self, indent: int, scope: Scope, loop: str) -> None:
        a, b = self.seen(scope), self.seen(scope)
        arrays = self.arrays(scope) or ["0"]
        self.write(
            indent,
            self.pick(
                f"print({a}, {b})",
                f"print(f'at {{{self.atom('i', scope)}}}')",
                f"print('here', {a}, sep='-', end=';')",
                f"print({self.pick(*arrays)})",
                f"print(f'{{{self.atom('f', scope)}:.2f}}')",
            ),
        )

    def warn_(self, indent: int, scope: Scope, loop: str) -> None:
        self.write(indent, f"warnings.warn(f'seen {{{self.atom('i', scope)}}}')")

    def append_(self, indent: int, scope: Scope, loop: str) -> None:
        self.write(indent, f"log.append({self.seen(scope)})")

    def except_(self, indent: int, scope: Scope, loop: str) -> bool:
        self.write(indent, "try:")
        before = self.features
        self.features = before | {"risky"}
        after = self.block(indent + 1, scope, loop)
        self.features = before
        ends = [after]
        for _ in range(self.pick(1, 1, 2)):
            names = self.pick(
                "ZeroDivisionError",
                "IndexError",
                "ValueError",
                "Exception",
                "(KeyError, ZeroDivisionError)",
                "ArithmeticError",
                "LookupError",
            )
            self.write(indent, f"except {names}{self.pick('', '', ' as e')}:")
            ends.append(self.block(indent + 1, scope, loop))
        if self.chance(3):
            self.write(indent, "else:")
            if after is not None:
                ends[0] = self.block(indent + 1, after, loop)
            else:
                self.write(indent + 1, "pass")
        if self.chance(4):
            self.write(indent, "finally:")
            self.augment(indent + 1, scope, loop)
        return self.join(scope, ends)


@dataclass
class Example:
    """A program, the arguments of its batch, and which of them are mapped."""

    source: str
    arrays: dict[str, np.ndarray]
    in_dims: tuple[int | None, ...]
    layouts: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        pairs = zip(self.arrays.values(), self.in_dims, strict=True)
        return next(x.shape[0] for x, axis in pairs if axis is not None)

    def given(self) -> list[np.ndarray]:
        """Return the batch's arrays, laid out as they are to be."""
        return [laid_out(x, self.layouts.get(name, "C")) for name, x in self.arrays.items()]


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """Return a copy of an array that lies otherwise in memory."""
    if layout == "F":
        return x.copy(order="F")
    if layout == "reversed" and x.ndim:
        return x[::-1].copy()[::-1]
    if layout == "gaps" and x.ndim:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    x = x.copy()
    x.flags.writeable = layout != "readonly"
    return x


def numbers(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return random numbers of a kind, exact in few bits, with some that are special."""
    if kind[0] == "a":
        dtype, own = parts(kind)
        whole = rng.integers(-6, 9, (*shape, *own))
        if dtype[0] == "c":
            return (whole / 2 + 1j * rng.integers(-3, 4, whole.shape)).astype(dtype)
        if dtype[0] == "f":
            return (whole / 4).astype(dtype)
        return (abs(whole) if dtype[0] == "u" else whole % 2 if dtype == "?" else whole).astype(
            dtype
        )
    own = (int(kind[1:]),) if kind[0] in "vw" else ()
    shape = (*shape, *own)
    match kind[0]:
        case "i":
            return rng.integers(-4, 9, shape)
        case "f":
            return rng.integers(-12, 13, shape) / 4
        case "b":
            return rng.integers(0, 2, shape).astype(bool)
        case "s":
            return (rng.integers(-9, 10, shape) / 2).astype(np.float32)
        case "t":
            return rng.integers(-20, 21, shape).astype(np.int8)
        case "v":
            return rng.integers(-9, 10, shape) / 2
    return rng.integers(0, 12, shape)


def example(name: str, features: frozenset[str]) -> Example:
    """Return the program of a name, ``seed:number``; the same for each run."""
    draw = random.Random(name)
    rare = ("print", "warn", "append")
    own = {f for f in FEATURES if draw.random() < (0.25 if f in rare else 0.5)} & features
    kinds: Scope = dict(ARGS)
    if "arrays" in own:
        for letter in "ABG"[: draw.randint(1, 3)]:
            kinds[letter] = array_kind(draw.choice(DTYPES), draw.choice(SHAPES))
        if "rough" in own and draw.random() < 0.5:
            kinds["G"] = "af8:3,3"
    results = list(draw.choice([["i"], ["f", "i"], ["i", "f", "v4"], ["b", "w3"], ["s", "t", "f"]]))
    results += [kind for kind in kinds.values() if kind[0] == "a" and draw.random() < 0.6]
    results += ["r"] * ("rough" in own)
    writer = Programs(draw, kinds, results, draw.choice([2, 3, 4, 6, 8, 12]))
    writer.features = frozenset(own)
    source = writer.function().replace("import math\n", "import math\nimport warnings\n", 1)
    if "append" not in own:
        source = source.replace("log.append", "list.append")
    source = f"# rough: {results.count('r')}\n" + source
    # A host function is called by `lw.py_func`, which is not plain Python.
    source = source.replace("note(", "float(")
    size = draw.choice([4, 3, 7, 2, 1, 9, 20])
    rng = np.random.default_rng(draw.randrange(1 << 30))
    dims = [None if draw.random() < 0.15 else 0 for _ in kinds]
    if not any(d == 0 for d in dims):
        dims[0] = 0
    pairs = zip(kinds.items(), dims, strict=True)
    arrays = {n: np.asarray(numbers(rng, k, () if d is None else (size,))) for (n, k), d in pairs}
    layouts = {n: draw.choice(LAYOUTS) for n in arrays if draw.random() < 0.3}
    return Example(source, arrays, tuple(dims), layouts)
