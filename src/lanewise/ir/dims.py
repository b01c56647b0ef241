"""Symbolic dimensions: integer polynomials over named sizes that are known when a graph runs.

A dimension of a shape is an ``int`` or a `Dim`. Shape rules compute with both alike: ``n * 2 + 1``,
``n // 3``, ``dim_min(n, 4)``. A result that no longer depends on a symbol is a plain ``int``
again, so code that never meets a symbol never meets a `Dim`. A symbol is a size, hence >= 0; one
whose name ends in ``.39`` is at most 39, as the number of a loop's iteration is.

Equal dimensions should have one form, as shapes are compared by it. Polynomials have. What slices
give is linear with bends, and a function of one whole number n >= 0 that is linear between whole
numbers is in just one way a sum ``a + b n + c_1 max(n-1, 0) + c_2 max(n-2, 0) + ...``. So minima,
maxima and choices by sign that depend on one size are written like that: ``min(n, 1)`` is
``n - max(n-1, 0)``, and with the rest ``max(n-1, 0)`` it is n.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any, TypeAlias, Union

from lanewise.ir.location import is_own_file

DimLike: TypeAlias = Union[int, "Dim"]
Shape: TypeAlias = tuple[DimLike, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An atom that polynomials cannot express.

    ``floordiv(a, b)`` and ``mod(a, b)``; ``max(a, b)``; ``negative(a, b, c)``, which is b if a < 0
    and else c; ``broadcast(a, b, ...)``, the size that these sizes broadcast to.
    """

    name: str
    args: tuple[DimLike, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self.name == other.name and self.args == other.args

    def __hash__(self) -> int:
        return hash((self.name, *[_distinct(arg) for arg in self.args]))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.args))})"

    def substitute(self, sizes: Mapping[str, DimLike]) -> DimLike:
        """Return what it is where some symbols are other sizes."""
        first, *others = [substitute(arg, sizes) for arg in self.args]
        match self.name:
            case "floordiv":
                return first // others[0]
            case "mod" if isinstance(first, Dim) or isinstance(others[0], int):
                return first % others[0]  # ty: ignore[unsupported-operator]
            case "max":
                return dim_max(first, others[0])
            case "negative":
                return dim_if_negative(first, *others)
            case "broadcast":
                return dim_broadcast(first, *others)
        return _call(self.name, first, *others)


def _distinct(x: Any) -> Any:
    """Return what to hash of an int: to Python -1 and -2 are alike, and n-1 and n-2 come often."""
    return str(x) if type(x) is int else x


Atom: TypeAlias = str | Call
Monomial: TypeAlias = tuple[Atom, ...]


class Undecided(TypeError):  # noqa: N818 (not always an error: who asks may do without)
    """What depends on a size was asked for before the size is known."""


class Dim:
    """A size that is a polynomial in named symbols with integer coefficients.

    Immutable and hashable; two `Dim`s are equal when their normal forms are.
    """

    __slots__ = ("_hash", "terms")

    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: Iterable[tuple[Monomial, int]]) -> None:
        self.terms = tuple(sorted(terms, key=_term_order))
        self._hash = hash(tuple([(m, _distinct(c)) for m, c in self.terms]))

    @staticmethod
    def symbol(name: str) -> Dim:
        """The dimension whose size is given by the name `name`."""
        return Dim([((name,), 1)])

    @staticmethod
    def bounded(name: str, most: int) -> DimLike:
        """The dimension of a name whose size is at most `most`."""
        return Dim.symbol(f"{name}.{most}") if most > 0 else 0

    def __add__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        total = dict(self.terms)
        for monomial, coefficient in _terms(other):
            total[monomial] = total.get(monomial, 0) + coefficient
        return _normal(total)

    __radd__ = __add__

    def __neg__(self) -> DimLike:
        return self * -1

    def __sub__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        return self + other * -1

    def __rsub__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        return self * -1 + other

    def __mul__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        product: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                monomial = tuple(sorted(left + right, key=str))
                product[monomial] = product.get(monomial, 0) + a * b
        return _normal(product)

    __rmul__ = __mul__

    def __floordiv__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        if isinstance(other, int):
            if other == 0:
                raise ZeroDivisionError(f"dimension {self} divided by zero")
            if all(coefficient % other == 0 for _, coefficient in self.terms):
                return _normal({m: c // other for m, c in self.terms})
        quotient = _divide_exactly(self, other)
        if quotient is not None:
            return quotient
        return _quotient(self, other) if isinstance(other, int) else _call("floordiv", self, other)

    def __rfloordiv__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        return _call("floordiv", other, self)

    def __mod__(self, other: DimLike) -> DimLike:
        if (other := _plain(other)) is None:
            return NotImplemented
        if isinstance(other, int) and all(c % other == 0 for _, c in self.terms):
            return 0
        return 0 if _divide_exactly(self, other) is not None else _call("mod", self, other)

    def __eq__(self, other: object) -> bool:
        other = _plain(other)
        if isinstance(other, Dim):
            if self._hash == other._hash and self.terms == other.terms:
                return True
        elif other is None:
            return False
        # Two forms may be one size when the graph runs. For shapes that is "not the same", but it
        # is no answer to the user's code, which NumPy would give the sizes themselves.
        code = sys._getframe(1).f_code
        is_made = code.co_filename == "<string>" and code.co_name == "__eq__"  # of a dataclass
        if not is_made and not is_own_file(code.co_filename) and not differ(self, other):
            raise Undecided(_undecided(self, "==", other))
        return False

    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: DimLike) -> bool:
        return _decide(self, other, ">=")

    def __gt__(self, other: DimLike) -> bool:
        return _decide(self, other, ">")

    def __le__(self, other: DimLike) -> bool:
        return _decide(self, other, "<=")

    def __lt__(self, other: DimLike) -> bool:
        return _decide(self, other, "<")

    def __bool__(self) -> bool:
        return self > 0

    def __index__(self) -> int:
        raise Undecided(
            f"the symbolic dimension {self} has no integer value while tracing: it is known only "
            f"when the graph runs, {_ASKED}"
        )

    __int__ = __index__

    def __repr__(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in _with_minima(self.terms):
            factors = [str(atom) for atom in monomial]
            if factors and coefficient == -1:
                factors[0] = f"-{factors[0]}"
            elif coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            parts.append("*".join(factors))
        return "+".join(parts).replace("+-", "-")


def _with_minima(terms: Iterable[tuple[Monomial, int]]) -> Iterator[tuple[Monomial, int]]:
    """Yield terms to be shown, ``t - max(t-k, 0)`` as ``min(t, k)``."""
    left = dict(terms)
    for monomial, coefficient in list(left.items()):
        atom, bend = bend_of(monomial[0]) if len(monomial) == 1 else ("", 0)
        if bend and coefficient < 0 and left.get((atom,), 0) > 0:
            count = min(-coefficient, left[(atom,)])
            whole = Dim([((atom,), 1)])
            for part, more in ((monomial, count), ((atom,), -count)):
                left[part] += more
            left[(Call("min", (whole, bend)),)] = count
    kept = [(monomial, c) for monomial, c in left.items() if c]
    return iter(sorted(kept, key=lambda term: (-len(term[0]), term[1] < 0, _term_order(term))))


def _term_order(term: tuple[Monomial, int]) -> tuple[int, str]:
    monomial, _ = term
    return (-len(monomial), "*".join(map(str, monomial)))


def _plain(value: Any) -> Any:
    """Return an operand as a size: NumPy's integers are ints, too. None for anything else."""
    if isinstance(value, (int, Dim)):
        return value
    return int(value) if isinstance(value, Integral) else None


def _terms(value: DimLike) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, Dim):
        return value.terms
    return (((), value),) if value else ()


def _normal(terms: Mapping[Monomial, int]) -> DimLike:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if set(kept) == {()}:
        return kept[()]
    return Dim(kept.items())


def _divide_exactly(value: DimLike, divisor: DimLike) -> DimLike | None:
    """Divide by a single-term divisor when every term of `value` contains it."""
    divisor_terms = _terms(divisor)
    if len(divisor_terms) != 1:
        return 1 if value == divisor else None
    ((factors, scale),) = divisor_terms
    quotient: dict[Monomial, int] = {}
    for monomial, coefficient in _terms(value):
        rest = list(monomial)
        for factor in factors:
            if factor not in rest:
                return None
            rest.remove(factor)
        if coefficient % scale:
            return None
        quotient[tuple(rest)] = coefficient // scale
    return _normal(quotient)


def _call(name: str, *args: DimLike) -> Dim:
    return Dim([((Call(name, args),), 1)])


def _decide(left: Dim, right: DimLike, relation: str) -> bool:
    """Decide a comparison from what is provable when every symbol is >= 0, or raise."""
    first, second = (left, right) if relation[0] == ">" else (right, left)
    is_strict = len(relation) == 1
    if never_below(first, second + is_strict):
        return True
    if never_below(second, first + (not is_strict)):
        return False
    raise Undecided(_undecided(left, relation, right))


def _undecided(left: DimLike, relation: str, right: object) -> str:
    return (
        f"whether the symbolic dimension {left} is {relation} {right} is known only when the "
        f"graph runs, {_ASKED}"
    )


#: Who asks for what is not known, as converted code does not, and what helps.
_ASKED = (
    "and is asked for by a function that needs it, or by code that is not converted. Give the "
    "argument a known size, or call that function by lw.py_func"
)


def differ(first: DimLike, second: DimLike) -> bool:
    """Whether two dimensions are never the same. That two are always the same is `==`."""
    least, most = bounds(first - second)
    return (least is not None and least > 0) or (most is not None and most < 0)


def never_below(first: DimLike, second: DimLike) -> bool:
    """Whether a dimension is provably at least another."""
    least = bounds(first - second)[0]
    return least is not None and least >= 0


def bounds(dim: DimLike) -> tuple[int | None, int | None]:
    """Return numbers that a dimension is never below, and never above; None where none is known.

    Examples
    --------
    >>> n = Dim.symbol("n")
    >>> bounds(dim_min(n, 4) + 1)
    (1, 5)
    """
    least = _least(dim)
    most = _least(-dim)
    return least, None if most is None else -most


#: The calls that are one of their arguments.
_CHOICES = ("max", "broadcast")


def _least(dim: DimLike) -> int | None:
    if not isinstance(dim, Dim):
        return dim
    total = 0
    lines: dict[Atom, _Line] = {}
    for monomial, coefficient in dim.terms:
        if len(monomial) == 1:
            atom, bend = bend_of(monomial[0])
            if not bend and isinstance(atom, Call) and atom.name in _CHOICES:
                rest = dim - Dim([(monomial, coefficient)])
                sides = [_least(rest + coefficient * side) for side in atom.args]
                known = [side for side in sides if side is not None]
                if coefficient > 0 and atom.name == "max":  # it is not below either of the two
                    return max(known, default=None)
                # Whichever of the two it is, the whole is not below the bound for that one.
                return min(known) if len(known) == len(sides) else None
            if coefficient < 0 and not bend and isinstance(atom, Call) and atom.name == "floordiv":
                value, divisor = atom.args
                if isinstance(divisor, int) and divisor > 0:  # it is at most value / divisor
                    rest = dim - Dim([(monomial, coefficient)])
                    least = _least(rest * divisor + coefficient * value)
                    return None if least is None else -(-least // divisor)
            if not _is_natural(atom):
                return None
            lines.setdefault(atom, _Line(0, {})).bends[bend] = coefficient
        elif not monomial:
            total += coefficient
        elif not all(map(_is_natural, monomial)):
            return None
        elif coefficient < 0:
            ends = [most_of(atom) for atom in monomial]
            if None in ends:
                return None
            total += coefficient * math.prod(ends)  # ty: ignore[no-matching-overload]
    for atom, line in lines.items():
        most = most_of(atom)
        if most is None and sum(line.bends.values()) < 0:
            return None
        ends = (0, *line.bends) if most is None else (0, *[b for b in line.bends if b < most], most)
        total += min(map(line, ends))
    return total


def most_of(atom: Atom) -> int | None:
    """Return what a symbol is at most; None where its name does not say."""
    return _most_of(atom) if isinstance(atom, str) else None


@lru_cache(maxsize=1024)
def _most_of(name: str) -> int | None:
    _, dot, most = name.rpartition(".")
    return int(most) if dot and most.isdecimal() else None


def _is_natural(value: Atom | DimLike) -> bool:
    """Whether a value is provably >= 0 when every symbol is."""
    if isinstance(value, Call):
        first, *others = value.args
        match value.name:
            case "floordiv":
                return _is_natural(first) and isinstance(others[0], int) and others[0] > 0
            case "mod":
                return isinstance(others[0], int) and others[0] > 0
            case "max":
                return _is_natural(first) or _is_natural(others[0])
            case "negative":
                return all(map(_is_natural, others))
            case _:
                return all(map(_is_natural, value.args))
    if isinstance(value, Dim):
        least = _least(value)
        return least is not None and least >= 0
    return isinstance(value, str) or value >= 0


# --- functions of one size ----------------------------------------------------------------------


@dataclass(slots=True)
class _Line:
    """A function of t >= 0: ``start``, and for each bend k of slope c ``c max(t - k, 0)``."""

    start: int
    bends: dict[int, int]

    def __call__(self, t: int) -> int:
        return self.start + sum([c * (t - k) for k, c in self.bends.items() if t > k])


def bend_of(atom: Atom) -> tuple[Atom, int]:
    """Return t and k where an atom is ``max(t - k, 0)``; the atom itself and 0 for others."""
    if isinstance(atom, Call) and atom.name == "max" and atom.args[1] == 0:
        match _terms(atom.args[0]):
            case (((inner,), 1), ((), int(shift))) if shift < 0 and _is_natural(inner):
                return inner, -shift
    return atom, 0


def _lines(*dims: DimLike) -> tuple[Atom, list[_Line]] | None:
    """Return dimensions as functions of one atom, if they are."""
    found: Atom | None = None
    lines = []
    for dim in dims:
        line = _Line(0, {})
        for monomial, coefficient in _terms(dim):
            if not monomial:
                line.start = coefficient
                continue
            atom, bend = bend_of(monomial[0])
            if len(monomial) > 1 or found not in (None, atom) or not _is_natural(atom):
                return None
            found = atom
            line.bends[bend] = coefficient
        lines.append(line)
    return None if found is None else (found, lines)


def _as_dim(atom: Atom, points: Iterable[int], function: Callable[[int], int]) -> DimLike:
    """Return a function of an atom that is linear between `points` (0 is one) and after them."""
    places = sorted(points)
    places.append(places[-1] + 1)
    values = list(map(function, places))
    terms: dict[Monomial, int] = {(): values[0]}
    before = 0
    t = Dim([((atom,), 1)])
    for i, place in enumerate(places[:-1]):
        slope = (values[i + 1] - values[i]) // (places[i + 1] - place)
        if slope != before:
            terms[(atom,) if not place else (Call("max", (t - place, 0)),)] = slope - before
        before = slope
    return _normal(terms)


def dim_if_negative(test: DimLike, first: DimLike, second: DimLike) -> DimLike:
    """Return `first` where `test` is negative, and else `second`."""
    least, most = bounds(test)
    if first == second or (least is not None and least >= 0):
        return second
    if most is not None and most < 0:
        return first
    known = _lines(test, first, second)
    if known is None:
        return _call("negative", test, first, second)
    atom, (sign, below, above) = known
    points = {0, *sign.bends, *below.bends, *above.bends}
    places = sorted(points)
    for place, end in zip(places, [*places[1:], None], strict=True):  # where the sign changes
        slope = sign(place + 1) - sign(place)
        value = sign(place)
        if slope and (value < 0) != (slope < 0):
            turn = place + (-(value // slope) if slope > 0 else value // -slope + 1)
            if end is None or turn <= end:
                points |= {turn - 1, turn}
    return _as_dim(atom, points, lambda t: below(t) if sign(t) < 0 else above(t))


def dim_max(first: DimLike, second: DimLike) -> DimLike:
    """Return the larger of two dimensions, symbolically when it cannot be decided."""
    difference = first - second
    least, most = bounds(difference)
    if least is not None and least >= 0:
        return first
    if most is not None and most <= 0:
        return second
    if _lines(difference) is not None:
        return second + dim_if_negative(difference, 0, difference)
    assert isinstance(difference, Dim)
    if difference.terms[0][1] < 0:  # one of two ways to write it
        return first + _call("max", -difference, 0)
    return second + _call("max", difference, 0)


def dim_min(first: DimLike, second: DimLike) -> DimLike:
    """Return the smaller of two dimensions, symbolically when it cannot be decided."""
    if first == second:
        return first
    return first + second - dim_max(first, second)


def dim_broadcast(first: DimLike, *others: DimLike) -> DimLike:
    """Return the size that sizes broadcast to; of different numbers that are not 1, `ValueError`.

    Of a number and a size that is not known it is the number: that size must be 1 or the same.
    """
    known = 1
    unknown: set[DimLike] = set()
    for dim in (first, *others):
        (term, *rest) = _terms(dim) or [((), 0)]
        if isinstance(dim, int):
            if dim != 1 and known not in (1, dim):
                raise ValueError(f"sizes {known} and {dim} could not be broadcast together")
            known = dim if dim != 1 else known
        elif (
            not rest
            and term[1] == 1
            and isinstance(call := term[0][0], Call)
            and (len(term[0]) == 1 and call.name == "broadcast")
        ):
            unknown.update(call.args)
        else:
            unknown.add(dim)
    if known != 1 or not unknown:
        return known
    ordered = sorted(unknown, key=str)
    return ordered[0] if len(ordered) == 1 else _call("broadcast", *ordered)


def _quotient(value: Dim, divisor: int) -> DimLike:
    """Return ``value // divisor`` with what is a multiple of the divisor in front."""
    if divisor < 0:
        value, divisor = Dim([(m, -c) for m, c in value.terms]), -divisor
    front = _normal({m: c // divisor for m, c in value.terms})
    rest = _normal({m: c % divisor for m, c in value.terms})
    if not isinstance(rest, Dim):
        return front + rest // divisor
    known = _lines(rest)
    if known is not None:
        atom, (line,) = known
        if len(line.bends) == 1 and line.start < divisor:
            ((bend, slope),) = line.bends.items()
            if bend and slope == 1:  # (max(t-k, 0) + c) // d, where 0 <= c < d
                whole = Dim([((atom,), 1)]) + (line.start - bend)
                return front + dim_max(whole // divisor, 0)
    return front + _call("floordiv", rest, divisor)


def substitute(dim: DimLike, sizes: Mapping[str, DimLike]) -> DimLike:
    """Return a dimension with sizes in place of the symbols that `sizes` names; others stay."""
    if not isinstance(dim, Dim):
        return dim
    total: DimLike = 0
    for monomial, coefficient in dim.terms:
        part: DimLike = coefficient
        for atom in monomial:
            if isinstance(atom, Call):
                part = part * atom.substitute(sizes)
            else:
                part = part * sizes[atom] if atom in sizes else part * Dim.symbol(atom)
        total = total + part
    return total


def atoms(dim: DimLike) -> Iterator[Atom]:
    """Yield symbols and calls that a dimension depends on, what a call is of before it."""
    for monomial, _ in dim.terms if isinstance(dim, Dim) else ():
        for atom in monomial:
            if isinstance(atom, Call):
                for arg in atom.args:
                    yield from atoms(arg)
            yield atom


def symbols(dim: DimLike) -> Iterator[str]:
    """Yield the names of the symbols that a dimension depends on, some perhaps repeatedly."""
    return (atom for atom in atoms(dim) if isinstance(atom, str))


def product(dims: Iterable[DimLike]) -> DimLike:
    """Return the product of dimensions: the number of elements of a shape."""
    result: DimLike = 1
    for dim in dims:
        result = dim * result
    return result
