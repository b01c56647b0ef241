"""Symbolic dimensions: integer polynomials over named sizes that are known when a graph runs.

A dimension of a shape is an ``int`` or a `Dim`. Shape rules compute with both alike: ``n * 2 + 1``,
``n // 3``, ``dim_min(n, 4)``. A result that no longer depends on a symbol is a plain ``int``
again, so code that never meets a symbol never meets a `Dim`. A symbol is a size, hence >= 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

DimLike: TypeAlias = Union[int, "Dim"]
Shape: TypeAlias = tuple[DimLike, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An atom that polynomials cannot express: ``floordiv``, ``mod``, ``min`` or ``max``."""

    name: str
    args: tuple[DimLike, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.args))})"

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        first, second = (evaluate(arg, sizes) for arg in self.args)
        match self.name:
            case "floordiv":
                return first // second
            case "mod":
                return first % second
            case "min":
                return min(first, second)
            case _:
                return max(first, second)


Atom: TypeAlias = str | Call
Monomial: TypeAlias = tuple[Atom, ...]


class Dim:
    """A size that is a polynomial in named symbols with integer coefficients.

    Immutable and hashable; two `Dim`s are equal when their normal forms are.
    """

    __slots__ = ("_hash", "terms")

    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: Iterable[tuple[Monomial, int]]) -> None:
        self.terms = tuple(sorted(terms, key=_term_order))
        self._hash = hash(self.terms)

    @staticmethod
    def symbol(name: str) -> Dim:
        """The dimension whose size is given by the name `name`."""
        return Dim([((name,), 1)])

    def __add__(self, other: DimLike) -> DimLike:
        total = dict(self.terms)
        for monomial, coefficient in _terms(other):
            total[monomial] = total.get(monomial, 0) + coefficient
        return _normal(total)

    __radd__ = __add__

    def __neg__(self) -> DimLike:
        return self * -1

    def __sub__(self, other: DimLike) -> DimLike:
        return self + other * -1

    def __rsub__(self, other: DimLike) -> DimLike:
        return self * -1 + other

    def __mul__(self, other: DimLike) -> DimLike:
        product: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                monomial = tuple(sorted(left + right, key=str))
                product[monomial] = product.get(monomial, 0) + a * b
        return _normal(product)

    __rmul__ = __mul__

    def __floordiv__(self, other: DimLike) -> DimLike:
        if isinstance(other, int):
            if other == 0:
                raise ZeroDivisionError(f"dimension {self} divided by zero")
            if all(coefficient % other == 0 for _, coefficient in self.terms):
                return _normal({m: c // other for m, c in self.terms})
        quotient = _divide_exactly(self, other)
        return _call("floordiv", self, other) if quotient is None else quotient

    def __rfloordiv__(self, other: DimLike) -> DimLike:
        return _call("floordiv", other, self)

    def __mod__(self, other: DimLike) -> DimLike:
        if isinstance(other, int) and all(c % other == 0 for _, c in self.terms):
            return 0
        return 0 if _divide_exactly(self, other) is not None else _call("mod", self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

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
        raise TypeError(
            f"the symbolic dimension {self} has no integer value while tracing; "
            "its size is known only when the graph runs"
        )

    __int__ = __index__

    def __repr__(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in self.terms:
            factors = [str(atom) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            parts.append("*".join(factors))
        return "+".join(parts).replace("+-", "-")


def _term_order(term: tuple[Monomial, int]) -> tuple[int, str]:
    monomial, _ = term
    return (-len(monomial), "*".join(map(str, monomial)))


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
    difference = _terms(left - right)
    constant = sum(c for monomial, c in difference if not monomial)
    rest = [(monomial, c) for monomial, c in difference if monomial]
    known = all(_is_natural(atom) for monomial, _ in rest for atom in monomial)
    if known and all(c >= 0 for _, c in rest):  # difference >= constant
        if relation == ">=" and constant >= 0:
            return True
        if relation == ">" and constant > 0:
            return True
        if relation == "<" and constant >= 0:
            return False
        if relation == "<=" and constant > 0:
            return False
    if known and all(c <= 0 for _, c in rest):  # difference <= constant
        if relation == "<=" and constant <= 0:
            return True
        if relation == "<" and constant < 0:
            return True
        if relation == ">" and constant <= 0:
            return False
        if relation == ">=" and constant < 0:
            return False
    raise TypeError(
        f"whether the symbolic dimension {left} is {relation} {right} is known only when the "
        "graph runs; it cannot steer Python code while tracing"
    )


def _is_natural(value: Atom | DimLike) -> bool:
    """Whether a value is provably >= 0 when every symbol is."""
    if isinstance(value, Call):
        first, second = value.args
        match value.name:
            case "floordiv":
                return _is_natural(first) and isinstance(second, int) and second > 0
            case "mod":
                return isinstance(second, int) and second > 0
            case "min":
                return _is_natural(first) and _is_natural(second)
            case _:
                return _is_natural(first) or _is_natural(second)
    if isinstance(value, Dim):
        return all(c >= 0 and all(map(_is_natural, monomial)) for monomial, c in value.terms)
    return isinstance(value, str) or value >= 0


def dim_min(first: DimLike, second: DimLike) -> DimLike:
    """Return the smaller of two dimensions, symbolically when it cannot be decided."""
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second)
    return first if first == second else _call("min", first, second)


def dim_max(first: DimLike, second: DimLike) -> DimLike:
    """Return the larger of two dimensions, symbolically when it cannot be decided."""
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    return first if first == second else _call("max", first, second)


def evaluate(dim: DimLike, sizes: Mapping[str, int]) -> int:
    """Return the value of `dim` where each symbol has the size that `sizes` gives.

    Examples
    --------
    >>> n = Dim.symbol("n")
    >>> evaluate(n * n + 1, {"n": 3})
    10
    """
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        for atom in monomial:
            coefficient *= sizes[atom] if isinstance(atom, str) else atom.evaluate(sizes)
        total += coefficient
    return total


def symbols(dim: DimLike) -> Iterator[str]:
    """Yield the names of the symbols that a dimension depends on, some perhaps repeatedly."""
    if isinstance(dim, Dim):
        for monomial, _ in dim.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    yield atom
                else:
                    for arg in atom.args:
                        yield from symbols(arg)


def product(dims: Iterable[DimLike]) -> DimLike:
    """Return the product of dimensions: the number of elements of a shape."""
    result: DimLike = 1
    for dim in dims:
        result = dim * result
    return result
