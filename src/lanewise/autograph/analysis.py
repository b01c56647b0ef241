"""What variables branches and loops carry: assigned inside, and read where control goes after.

Two walks over a function without jumps (`lanewise.autograph.jumps`). Forwards: which variables have
a value for certain, and which are read by functions made so far, which may run at any time. Then
backwards: which are live. Loops are walked until nothing changes; an exception may leave a ``try``
anywhere in it, so what its handlers read is live everywhere in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from lanewise.autograph.build import children
from lanewise.autograph.jumps import LOOPS
from lanewise.autograph.scopes import (
    COMPREHENSIONS,
    EVERYTHING,
    FUNCTIONS,
    Scope,
    Uses,
    bound,
    outside,
    targets,
    unbound_within,
    uses,
)

Set = frozenset[str]
NOTHING: Set = frozenset()

#: Names of ours that hold a value from one statement to the next only.
_TEMPORARY = re.compile(r"ag__[tg]\d")


class Analysis:
    """The state of each branch and loop of a function, and where variables may have no value.

    Attributes
    ----------
    state:
        For each ``if``, ``while``, ``for`` and ``try``: the names of its state, sorted.
    restored:
        For each ``if`` and ``try``: the names that one part assigns, another reads, and nobody
        reads after. All parts may be run, so these must be put back in between.
    undefinable:
        Variables that must be able to stand for "no value": they are in the state of a branch or a
        loop that is reached without one.
    unsure:
        The places where a variable is read that may have no value.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        scope: Scope,
        flags: Mapping[ast.stmt, str],
        result: str,
        keeps_all: bool = False,
    ) -> None:
        self._bound: dict[ast.AST, Set] = {}
        made = NOTHING.union(*[bound(node, self._bound) for node in body])
        self.locals = (scope.locals | made) - scope.globals - scope.nonlocals
        self.flags = flags
        self.keeps_all = keeps_all  # as there are jumps: what is live is not known
        self.state: dict[ast.stmt, tuple[str, ...]] = {}
        self.restored: dict[ast.stmt, tuple[str, ...]] = {}
        self.unsure: set[ast.Name] = set()
        self._uses: dict[ast.AST, Uses] = {}
        self._sure: dict[ast.stmt, Set] = {}
        self._later: dict[ast.stmt, Set] = {}
        self._made: Set = NOTHING  # what functions made so far read
        self._fragile = unbound_within(body) & self.locals
        self._deleted: set[str] = set(self._fragile)
        end = self.forwards(body, scope.parameters)
        self.backwards(body, self.locals & {result}, NOTHING)
        carried = frozenset(
            name
            for node, names in (*self.state.items(), *self.restored.items())
            for name in names
            if name not in self._sure[node] or name in self._deleted
        )
        lost = scope.locals - scope.parameters - made  # they were bound in dead code only
        self.undefinable = carried | lost | (self.locals & {result} - end)

    # --- what the parts of code bind and read, remembered

    def bound(self, node: ast.AST) -> Set:
        return bound(node, self._bound) & self.locals

    def uses(self, node: ast.AST) -> Uses:
        if node not in self._uses:
            now, later = uses(node)
            if EVERYTHING in now:
                now = self.locals
            self._uses[node] = Uses(now & self.locals, later & self.locals)
        return self._uses[node]

    def reads(self, *nodes: ast.AST | None) -> Set:
        found = NOTHING
        for node in nodes:
            if node is not None:
                now, later = self.uses(node)
                found |= now | later
        return found

    # --- forwards: which variables have a value

    def forwards(self, body: Sequence[ast.stmt], sure: Set) -> Set:
        for node in body:
            sure = self.forward(node, sure)
        return sure

    def forward(self, node: ast.stmt, sure: Set) -> Set:
        if isinstance(node, ast.If):
            entry = sure = self.expression(node.test, sure)
            yes, no = self.forwards(node.body, sure), self.forwards(node.orelse, sure)
            self._sure[node], self._later[node] = entry, self._made
            return yes & no
        if isinstance(node, LOOPS):
            return self.forward_loop(node, sure)
        if isinstance(node, (ast.Try, ast.TryStar)):
            return self.forward_try(node, sure)
        if isinstance(node, ast.With):
            inside = sure
            for item in node.items:
                inside = self.expression(item.context_expr, inside)
                if item.optional_vars:
                    inside = self.expression(item.optional_vars, inside)
                    inside |= self.bound(item.optional_vars)
            end = self.forwards(node.body, inside)
            return sure & end  # the body may have been left by an exception that was swallowed
        if isinstance(node, ast.Match):
            sure = self.expression(node.subject, sure)
            ends = [self.forwards(case.body, sure) for case in node.cases]
            return frozenset.intersection(*ends)
        sure = self.expression(node, sure)
        if isinstance(node, (ast.Return, ast.Raise)):
            return self.locals
        if isinstance(node, ast.Delete):
            names = NOTHING.union(*map(self.bound, node.targets))
            self._deleted |= names
            return sure - names
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return sure
        target = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(target, ast.Name) and (target.id not in sure or target.id in self._fragile):
            self.unsure.add(target)
        return sure | self.certain(node)

    def forward_loop(self, node: ast.For | ast.While, sure: Set) -> Set:
        self._made |= self.uses(node).later
        if isinstance(node, ast.For):
            sure = self.expression(node.iter, sure)
        self._later[node] = self._made
        entry = sure
        while True:
            inside = entry
            if isinstance(node, ast.While):
                inside = self.expression(node.test, inside)
            else:
                inside = self.expression(node.target, inside) | self.bound(node.target)
            end = entry & self.forwards(node.body, inside)
            if end == entry:
                break
            entry = end  # something is deleted in it
        self._sure[node] = entry
        return entry

    def forward_try(self, node: ast.Try | ast.TryStar, sure: Set) -> Set:
        self._sure[node], self._later[node] = sure, self._made | self.uses(node).later
        deleted = NOTHING
        for part in ast.walk(node):
            if isinstance(part, ast.Delete):
                deleted |= self.bound(part)
            elif isinstance(part, ast.ExceptHandler) and part.name:
                deleted |= {part.name}
                self._deleted.add(part.name)
        end = self.forwards(node.orelse, self.forwards(node.body, sure))
        early = sure - deleted
        for handler in node.handlers:
            inside = self.expression(handler.type, early) if handler.type else early
            name = frozenset([handler.name] if handler.name else [])
            end &= self.forwards(handler.body, inside | name) - name
        if not node.finalbody:
            return end
        # It is reached from anywhere, but what follows it only from the ends.
        added = self.forwards(node.finalbody, early)
        return (end | (added - early)) - NOTHING.union(*map(self.removed, node.finalbody))

    def removed(self, node: ast.stmt) -> Set:
        found = [self.bound(part) for part in ast.walk(node) if isinstance(part, ast.Delete)]
        return NOTHING.union(*found)

    def expression(self, node: ast.AST, sure: Set) -> Set:
        """Note the reads that may find no value; return what has one after an expression."""
        self._made |= self.uses(node).later
        self.reading(node, sure, NOTHING)
        if isinstance(node, ast.expr):
            sure |= self.certain(node)
        return sure

    def reading(self, node: ast.AST, sure: Set, hidden: Set) -> None:
        """Note the reads of variables not in ``sure``; those of later calls are never sure."""
        if isinstance(node, ast.Name):
            unsure = node.id in self.locals and node.id not in hidden
            unsure &= node.id not in sure or node.id in self._fragile
            if unsure and not isinstance(node.ctx, ast.Store):
                self.unsure.add(node)
            return
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            for part in outside(node):
                self.reading(part, sure, hidden)
            if isinstance(node, ast.Lambda):
                own = frozenset(arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg))
                self.reading(node.body, NOTHING, hidden | own)
            return
        if isinstance(node, COMPREHENSIONS):
            self.reading(node.generators[0].iter, sure, hidden)
            first = node.generators[0].iter
            lazy = isinstance(node, ast.GeneratorExp)
            for child in (node, *node.generators):
                for part in ast.iter_child_nodes(child):
                    if part is not first and not isinstance(part, ast.comprehension):
                        self.reading(part, NOTHING if lazy else sure, hidden | targets(node))
            return
        for child in children(node):
            self.reading(child, sure, hidden)

    def certain(self, node: ast.AST) -> Set:
        """Return the variables that a simple statement or an expression binds in any case."""
        found: set[str] = set()
        stack = [node]
        while stack:
            part = stack.pop()
            if isinstance(part, ast.Name):
                if isinstance(part.ctx, ast.Store):
                    found.add(part.id)
            elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias)):
                found |= bound(part)
            elif isinstance(part, ast.BoolOp):
                stack.append(part.values[0])
            elif isinstance(part, ast.IfExp):
                stack.append(part.test)
            elif isinstance(part, ast.Compare):
                stack += [part.left, part.comparators[0]]
            elif not isinstance(part, (ast.Lambda, *COMPREHENSIONS)):
                stack += children(part)
        return self.locals & found

    # --- backwards: which variables are live

    def backwards(self, body: Sequence[ast.stmt], live: Set, escape: Set) -> Set:
        """Return what is live before statements; ``escape`` is live where an exception leads."""
        for node in reversed(body):
            live = self.backward(node, live | escape, escape)
        return live | escape

    def backward(self, node: ast.stmt, live: Set, escape: Set) -> Set:
        if isinstance(node, ast.If):
            state = self.keep(node, live)
            live |= frozenset(state)  # also what functions read that are made in the other branch
            yes = self.backwards(node.body, live, escape)
            no = self.backwards(node.orelse, live, escape)
            crossed = (self.assigned(node.body) & no) | (self.assigned(node.orelse) & yes)
            self.restored[node] = self.carried(crossed.difference(state))
            return yes | no | self.reads(node.test)
        if isinstance(node, LOOPS):
            return self.backward_loop(node, live, escape)
        if isinstance(node, (ast.Try, ast.TryStar)):
            after = self.backwards(node.finalbody, live, escape)
            caught = escape | (after if node.finalbody else NOTHING)
            handled = NOTHING
            for handler in node.handlers:
                inside = self.backwards(handler.body, after, caught)
                handled |= inside - {handler.name or ""} | self.reads(handler.type)
            end = self.backwards(node.orelse, after, caught)
            state = self.keep(node, live)
            crossed = self.bound(node) & (handled | after)
            self.restored[node] = self.carried(crossed.difference(state))
            return self.backwards(node.body, end, caught | handled)
        if isinstance(node, ast.With):
            live = self.backwards(node.body, live, escape | live)
            for item in reversed(node.items):
                kills = self.certain(item.optional_vars) if item.optional_vars else NOTHING
                live = (live - kills) | self.reads(item.context_expr, item.optional_vars)
            return live
        if isinstance(node, ast.Match):
            ends = [self.backwards(case.body, live, escape) for case in node.cases]
            return NOTHING.union(*ends, live) | self.reads(node.subject)
        if isinstance(node, (ast.Return, ast.Raise)):
            return escape | self.reads(node)
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return live
        return (live - self.certain(node)) | self.reads(node)

    def backward_loop(self, node: ast.For | ast.While, live: Set, escape: Set) -> Set:
        before: Set | None = None
        head = live
        while head != before:
            before = head
            inside = self.backwards(node.body, head, escape)
            if isinstance(node, ast.For):
                inside = (inside - self.certain(node.target)) | self.reads(node.target)
                head = live | inside | {self.flags[node]} if node in self.flags else live | inside
            else:
                head = live | inside | self.reads(node.test)
        self.keep(node, head)
        return head | self.reads(node.iter) if isinstance(node, ast.For) else head

    def keep(
        self, node: ast.If | ast.For | ast.While | ast.Try | ast.TryStar, live: Set
    ) -> tuple[str, ...]:
        """Note the state of a branch, a loop or a ``try``, and return it."""
        names = self.assigned([*node.body, *node.orelse])
        if isinstance(node, (ast.Try, ast.TryStar)):
            names = self.bound(node)
        names |= self.bound(node.target) if isinstance(node, ast.For) else NOTHING
        kept = names if self.keeps_all else names & (live | self._later[node])
        self.state[node] = self.carried(kept)
        return self.state[node]

    def assigned(self, body: Sequence[ast.stmt]) -> Set:
        return NOTHING.union(*map(self.bound, body))

    def carried(self, names: Set) -> tuple[str, ...]:
        """Return names in order, without those that last from one statement to the next only."""
        return tuple(sorted(name for name in names if not _TEMPORARY.match(name)))
