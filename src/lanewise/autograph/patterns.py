"""``match`` statements as ``if`` statements, so that patterns may compare with data.

What a pattern says of structure (sequences, mappings, classes) is asked by a native ``match`` of
one case, in which captures and values became temporaries; values are then compared by ``==``, and
None, True and False by ``is``::

    match point:                        ag__t1 = point
        case [0, y] if y > 1:           match ag__t1:
            ...                 →           case [ag__t3, ag__t4]: ag__t2 = True
        case 5 | 6:                         case _: ag__t2 = False
            ...                         if ag__t2 and ag__t3 == 0: ...
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from lanewise.autograph.build import (
    Names,
    assign,
    clone,
    constant,
    hook,
    if_,
    load,
    negate,
    place,
    place_all,
    walrus,
)
from lanewise.autograph.scopes import contains


class Way(NamedTuple):
    """One way to match a pattern: a native pattern (or none), tests, and what it then binds."""

    pattern: ast.pattern | None
    tests: list[ast.expr]
    binds: list[tuple[str, str]]  # the user's name, the temporary


def lower_match(node: ast.Match, names: Names) -> list[ast.stmt]:
    """Return the statements that a ``match`` statement becomes."""
    subject = names.fresh("t")
    value = node.subject
    parts = [part for case in node.cases for part in ast.walk(case.pattern)]
    is_by_class = any([
        isinstance(part, ast.MatchClass) and bool(part.patterns or part.kwd_patterns)
        for part in parts
    ])  # fmt: skip
    if is_by_class or any([isinstance(part, ast.MatchSequence) for part in parts]):
        value = hook("matched", value, constant(is_by_class))
    first = place(assign(subject, value), node)
    return [first, *_cases(node.cases, subject, names)]


def _cases(cases: Sequence[ast.match_case], subject: str, names: Names) -> list[ast.stmt]:
    if not cases:
        return []
    case, *others = cases
    ways = _Ways(names).of(case.pattern, subject)
    before: list[ast.stmt] = []
    tests = [_test(way, subject, names, before) for way in ways]
    rest = _cases(others, subject, names)
    made = _choose(case, ways, tests, rest, names)
    return place_all([*before, *made], case.pattern)


def _choose(
    case: ast.match_case,
    ways: list[Way],
    tests: list[list[ast.expr]],
    rest: list[ast.stmt],
    names: Names,
) -> list[ast.stmt]:
    """Return the statements that run a case, or else the rest of them."""
    guard, body = case.guard, case.body
    binds = [place(assign(name, load(t)), case.pattern) for name, t in ways[0].binds]
    if len(ways) == 1 and not tests[0]:
        return [*binds, if_(guard, body, rest)] if guard else [*binds, *body]
    if len(ways) == 1 and guard is None:
        return [if_(_all(tests[0]), [*binds, *body], rest)]
    if len(ways) == 1 and binds and ways[0].tests:
        # Data may decide the tests: only a statement in the branch binds where they hold.
        hit = names.fresh("hit")
        found = place(assign(hit, constant(True)), case.pattern)
        inner = place(if_(guard or constant(True), [found, *body]), case.pattern)
        outer = if_(_all(tests[0]), [*binds, inner])
        otherwise = [if_(negate(load(hit)), rest)] if rest else []
        return [assign(hit, constant(False)), outer, *otherwise]
    for way, test in zip(ways, tests, strict=True):
        if way.binds:  # a tuple that is not empty is true
            pairs: list[ast.expr] = [walrus(name, load(t)) for name, t in way.binds]
            test.append(ast.Tuple(pairs, ast.Load()))
    test = _any([_all(test) for test in tests])
    return [if_(_all([test, guard]) if guard else test, body, rest)]


def _test(way: Way, subject: str, names: Names, before: list[ast.stmt]) -> list[ast.expr]:
    """Return the tests of one way; the native match that they need goes to `before`."""
    if way.pattern is None:
        return [*way.tests]
    fits = names.fresh("t")
    yes = ast.match_case(way.pattern, None, [assign(fits, constant(True))])
    no = ast.match_case(ast.MatchAs(None, None), None, [assign(fits, constant(False))])
    before.append(ast.Match(load(subject), [yes, no]))
    return [load(fits), *way.tests]


def _all(tests: Sequence[ast.expr]) -> ast.expr:
    if not tests:
        return constant(True)
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), list(tests))


def _any(tests: Sequence[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), list(tests))


class _Ways:
    """Lists the ways to match a pattern.

    ``here`` is the name under which the value is at hand; inside of a structure it is ``None``, and
    the native pattern captures what is needed.
    """

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, pattern: ast.pattern, here: str | None = None) -> list[Way]:
        handler: Callable[..., list[Way]] = getattr(self, type(pattern).__name__)
        return handler(pattern, here)

    def _at_hand(self, here: str | None) -> tuple[str, ast.pattern | None]:
        if here is not None:
            return here, None
        name = self.names.fresh("t")
        return name, ast.MatchAs(None, name)

    def MatchValue(self, node: ast.MatchValue, here: str | None) -> list[Way]:  # noqa: N802
        name, pattern = self._at_hand(here)
        return [Way(pattern, [_literal(node, name)], [])]

    def MatchSingleton(self, node: ast.MatchSingleton, here: str | None) -> list[Way]:  # noqa: N802
        name, pattern = self._at_hand(here)
        return [Way(pattern, [_literal(node, name)], [])]

    def MatchAs(self, node: ast.MatchAs, here: str | None) -> list[Way]:  # noqa: N802
        if node.pattern is None:
            if node.name is None:
                return [Way(None if here else ast.MatchAs(None, None), [], [])]
            name, pattern = self._at_hand(here)
            return [Way(pattern, [], [(node.name, name)])]
        assert node.name is not None
        found = []
        for way in self.of(node.pattern, here):
            pattern, name = way.pattern, here
            if name is None and isinstance(pattern, ast.MatchAs) and pattern.name is not None:
                name = pattern.name
            elif name is None:
                name = self.names.fresh("t")
                pattern = ast.MatchAs(pattern, name)
            found.append(Way(pattern, way.tests, [*way.binds, (node.name, name)]))
        return found

    def MatchStar(self, node: ast.MatchStar, here: str | None) -> list[Way]:  # noqa: N802
        if node.name is None:
            return [Way(ast.MatchStar(None), [], [])]
        name = self.names.fresh("t")
        return [Way(ast.MatchStar(name), [], [(node.name, name)])]

    def MatchSequence(self, node: ast.MatchSequence, here: str | None) -> list[Way]:  # noqa: N802
        return self._combined(node.patterns, lambda parts: ast.MatchSequence(parts))

    def MatchMapping(self, node: ast.MatchMapping, here: str | None) -> list[Way]:  # noqa: N802
        rest = self.names.fresh("t") if node.rest else None
        ways = self._combined(node.patterns, lambda parts: ast.MatchMapping(node.keys, parts, rest))
        if node.rest and rest:
            ways = [way._replace(binds=[*way.binds, (node.rest, rest)]) for way in ways]
        return ways

    def MatchClass(self, node: ast.MatchClass, here: str | None) -> list[Way]:  # noqa: N802
        n = len(node.patterns)
        if not n and not node.kwd_patterns:  # Python would ask what stands for a number or an array
            name, pattern = self._at_hand(here)
            return [Way(pattern, [hook("is_instance", load(name), node.cls)], [])]
        return self._combined(
            [*node.patterns, *node.kwd_patterns],
            lambda parts: ast.MatchClass(node.cls, parts[:n], node.kwd_attrs, parts[n:]),
        )

    def MatchOr(self, node: ast.MatchOr, here: str | None) -> list[Way]:  # noqa: N802
        if all(isinstance(part, (ast.MatchValue, ast.MatchSingleton)) for part in node.patterns):
            name, pattern = self._at_hand(here)
            return [Way(pattern, [_any([_literal(part, name) for part in node.patterns])], [])]
        if here is None and not contains(node, ast.MatchValue, ast.MatchSingleton):
            renamed: dict[str, str] = {}
            return [Way(self._renamed(clone(node), renamed), [], list(renamed.items()))]
        return [way for part in node.patterns for way in self.of(part, here)]

    def _combined(
        self, parts: Sequence[ast.pattern], build: Callable[[list[ast.pattern]], ast.pattern]
    ) -> list[Way]:
        """Return the ways of a structure: each choice of one way for each of its parts."""
        found = []
        for choice in product(*[self.of(part) for part in parts]):
            patterns = [way.pattern for way in choice if way.pattern is not None]
            tests = [test for way in choice for test in way.tests]
            binds = [bind for way in choice for bind in way.binds]
            found.append(Way(clone(build(patterns)), [clone(test) for test in tests], binds))
        return found

    def _renamed(self, pattern: ast.pattern, renamed: dict[str, str]) -> ast.pattern:
        """Give the captures of a native pattern temporary names."""
        for part in ast.walk(pattern):
            key = "rest" if isinstance(part, ast.MatchMapping) else "name"
            name = getattr(part, key, None)
            if name is not None:
                setattr(part, key, renamed.setdefault(name, self.names.fresh("t")))
        return pattern


def _literal(pattern: ast.pattern, name: str) -> ast.expr:
    """Return the test of a value (by ``==``) or of None, True, False (by ``is``)."""
    if isinstance(pattern, ast.MatchValue):
        return place(ast.Compare(load(name), [ast.Eq()], [clone(pattern.value)]), pattern)
    assert isinstance(pattern, ast.MatchSingleton)
    return place(ast.Compare(load(name), [ast.Is()], [constant(pattern.value)]), pattern)
