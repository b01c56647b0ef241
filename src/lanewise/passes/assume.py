"""What is assumed of unknown sizes, so that code for all of them is as simple as that for one.

A slice ``x[2:]`` of n elements has ``max(n-2, 0)``, and what is computed of two sizes broadcasts:
code for any size would have to do with sizes that never come. Those that have come tell: n was at
least 2, and two sizes were the same. From there on that is *assumed*: n becomes the symbol of how
much it is more than 2, and of sizes that must be the same one stands for the other. Arrays of which
it does not hold run without it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.ir.dims import Call, Dim, DimLike, atoms, most_of, never_below, substitute, symbols
from lanewise.ir.evaluation import evaluate
from lanewise.ir.graph import Graph
from lanewise.ir.types import dims_in
from lanewise.passes.specialize import specialized

#: So many rounds of assumptions are made at most, as one may show another.
MOST_ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Assumed:
    """A graph under assumptions on sizes, and what stands for the symbols that it had before."""

    graph: Graph
    sizes: Mapping[str, DimLike]

    def solved(self, known: Mapping[str, int]) -> dict[str, int] | None:
        """Return the sizes of the symbols, where those that the graph had are `known`.

        None if these are not what was assumed.
        """
        names = list(known)
        dims = [self.sizes.get(name, Dim.symbol(name)) for name in names]
        found: dict[str, int] = {}
        for symbol, number, rest in solutions(dims):
            found[symbol] = known[names[number]] - evaluate(rest, found)
            if not 0 <= found[symbol] <= (found[symbol] if (n := most_of(symbol)) is None else n):
                return None
        is_so = all([evaluate(x, found) == known[n] for n, x in zip(names, dims, strict=True)])
        return found if is_so else None


def solutions(dims: Sequence[DimLike]) -> list[tuple[str, int, DimLike]]:
    """Return how symbols follow from dimensions: each from which one, by its number, less what.

    What is taken off depends on symbols that come before only.

    Examples
    --------
    >>> n, m = Dim.symbol("n"), Dim.symbol("m")
    >>> solutions([n + m + 4, n + 1])
    [('n', 1, 1), ('m', 0, n+4)]
    """
    found: dict[str, tuple[int, DimLike]] = {}
    left = {number: dim for number, dim in enumerate(dims) if isinstance(dim, Dim)}
    while True:
        for number, dim in left.items():
            unknown = set(symbols(dim)) - found.keys()
            if len(unknown) == 1 and ((next(iter(unknown)),), 1) in dim.terms:
                rest = dim - Dim.symbol(*unknown)
                if unknown.isdisjoint(symbols(rest)):
                    found[unknown.pop()] = number, rest
                    del left[number]
                    break
        else:
            return [(symbol, *solution) for symbol, solution in found.items()]


def assumed(graph: Graph, sizes: Mapping[str, int]) -> Assumed | None:
    """Return a graph with what `sizes` of its inputs' symbols show assumed; None if nothing is."""
    found: dict[str, DimLike] = {}
    now = dict(sizes)
    for _ in range(MOST_ROUNDS):
        more = _more(graph, now)
        if not more:
            break
        graph = specialized(graph, more)
        found = {
            **{name: substitute(dim, more) for name, dim in found.items()},
            **{name: dim for name, dim in more.items() if name in sizes},
        }
        now = Assumed(graph, found).solved(sizes) or {}
    return Assumed(graph, found) if found else None


def _more(graph: Graph, sizes: Mapping[str, int]) -> dict[str, DimLike]:
    """Return what may be assumed next of a graph's symbols of these sizes."""
    tightest: dict[str, tuple[int, DimLike]] = {}
    most: dict[str, int] = {}
    same: dict[str, DimLike] = {}
    for call in dict.fromkeys(_calls(graph)):
        if not sizes.keys() >= set(symbols(Dim([((call,), 1)]))):
            continue
        if call.name == "broadcast":
            same = same or _same(call.args, sizes)
        elif call.name in ("max", "negative"):
            first, second, *_ = call.args
            slack = first - second if call.name == "max" else first
            for name, least in _at_least(slack, sizes):
                room = sizes[name] - evaluate(least, sizes)
                if name not in tightest or room < tightest[name][0]:
                    tightest[name] = room, least
            if (end := _below(slack, sizes)) is not None:
                most[end[0]] = min(most.get(end[0], end[1]), end[1])
    fixed = {name: least for name, (_, least) in tightest.items() if isinstance(least, int)}
    if not fixed and not most and tightest:
        name, (_, least) = next(iter(tightest.items()))
        fixed = {name: least}
    found: dict[str, DimLike] = {}
    for name in {**fixed, **most}:
        least, fresh = fixed.get(name, 0), _fresh(name, sizes)
        is_open = name not in most or not isinstance(least, int)
        rest = Dim.symbol(fresh) if is_open else Dim.bounded(fresh, most[name] - least)
        found[name] = rest + least
    return found or same


def _below(test: DimLike, sizes: Mapping[str, int]) -> tuple[str, int] | None:
    """Return the symbol and what it is at most, where a number is negative that depends on it."""
    if not isinstance(test, Dim) or evaluate(test, sizes) >= 0:
        return None
    names = set(symbols(test))
    if len(names) != 1 or most_of(name := names.pop()) is not None:
        return None
    most = Dim.symbol(name) - test - 1
    return (name, most) if isinstance(most, int) else None


def _same(args: Sequence[DimLike], sizes: Mapping[str, int]) -> dict[str, DimLike]:
    """Return what makes two sizes one that broadcast and were the same, or one of them 1."""
    for first, second in itertools.product(args, (args[-1], 1)):
        if first is not second and evaluate(first, sizes) == evaluate(second, sizes):
            for name, least in _at_least(first - second, sizes):
                return {name: least}
    return {}


def _at_least(test: DimLike, sizes: Mapping[str, int]) -> Iterator[tuple[str, DimLike]]:
    """Yield symbols and what they are not below, where a number has the sign that it has now."""
    now = evaluate(test, sizes)
    for sign in (1, -1):
        slack = test * sign
        for monomial, coefficient in slack.terms if isinstance(slack, Dim) else ():
            if now * sign < 0 or coefficient != 1 or len(monomial) != 1:
                continue
            name = monomial[0]
            if isinstance(name, str):
                least = Dim.symbol(name) - slack
                if name not in set(symbols(least)) and never_below(least, 0):
                    yield name, least


def _fresh(name: str, sizes: Mapping[str, int]) -> str:
    name += "_"
    while name in sizes:
        name += "_"
    return name


def _calls(graph: Graph) -> Iterator[Call]:
    """Yield what polynomials cannot express in types and parameters, in the order they come."""
    where: list[Any] = [value.type for value in graph.inputs]
    for op in graph.walk():
        where += [*op.signature.types, op.params]
    for dim in dims_in(where):
        yield from (atom for atom in atoms(dim) if isinstance(atom, Call))
