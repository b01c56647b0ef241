"""``break``, ``continue`` and ``return`` within branches and loops, as flags and ``else`` branches.

A jump becomes an assignment to flags, and what stands after it runs only where they are not set.
Where one side of an ``if`` always jumps, what follows moves into the other side instead; a jump at
the very end of what it leaves needs no flag at all::

    for x in row:               ag__brk1 = False
        if x < 0:               for x in row:                       # until ag__brk1
            break          →        if x < 0:
        total += x                      ag__brk1 = True
                                    else:
                                        total += x
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lanewise.autograph.build import (
    MANAGER,
    Names,
    Unconvertible,
    assign,
    constant,
    if_,
    load,
    negate,
    none,
    place,
    store,
)

if TYPE_CHECKING:
    from collections.abc import Generator

RETURN_FLAG = "ag__ret"
RETURN_VALUE = "ag__rv"

LOOPS = (ast.For, ast.While)
TRIES = (ast.Try, ast.TryStar)
JUMPS = (ast.Return, ast.Break, ast.Continue)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


#: How deep code is nested before it becomes flat; a branch or a loop counts for two.
FLAT = 12


class _Level:
    """What a jump can leave: a loop's turn, or the function."""

    def __init__(self, skip: str, leave: str | None = None) -> None:
        self.skip = skip  # the flag that skips what is left of it
        self.leave = leave  # the flag that ends the loop
        self.tail = True  # whether nothing of it follows where we are
        self.used: set[str] = set()


class Lowered:
    """A function body without jumps, and the flags of its loops.

    Within `FLAT` blocks what follows a jump is not nested any deeper, but guarded by flags, and a
    chain of ``elif`` is a sequence: a branch that the data decide is a region in that of the one
    around it, for each of which passes go one level down.
    """

    def __init__(self, body: list[ast.stmt], names: Names) -> None:
        self.names = names
        self.flags: dict[ast.stmt, str] = {}  # loop: the flag that ends it
        returns = _returns(body, nested=False)
        self.returns = bool(returns)  # whether they became assignments
        self.value = any(not _is_none(node.value) for node in returns)
        function = _Level(RETURN_FLAG)
        self.levels = [function]
        if self.value and completes(body):
            body = [*body, place(ast.Return(none()), body[-1])]
        # Whether control gets to its end only where a context manager ends an exception.
        self.may_fall = self.value and not exits(body)
        self.body = self.block(body, 0)
        if RETURN_FLAG in function.used:
            self.body.insert(0, place(assign(RETURN_FLAG, constant(False)), first_line(body)))

    def block(self, body: Sequence[ast.stmt], depth: int) -> list[ast.stmt]:
        """Return statements with their jumps lowered; ``depth`` counts the blocks around them."""
        made: list[ast.stmt] = []
        for index, node in enumerate(body):
            rest = list(body[index + 1 :])
            if isinstance(node, JUMPS) and self.jumps([node]):
                return made + self.jump(node)
            if not self.jumps([node]):
                made += self.compound(node, rest, depth)
                continue
            if isinstance(node, ast.If) and depth < FLAT:
                rest = self.push(node, rest)
            with self.at(not rest):
                made += self.compound(node, rest, depth)
            return made + self.guarded(rest, node, depth)
        return made

    def push(self, node: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Move what follows into the branch that gets there; return what is left."""
        if exits(node.body):
            if not exits(node.orelse):
                node.orelse = [*node.orelse, *rest]
            return []
        if node.orelse and exits(node.orelse):
            node.body = [*node.body, *rest]
            return []
        return rest

    def guarded(self, rest: list[ast.stmt], after: ast.stmt, depth: int) -> list[ast.stmt]:
        """Return statements that run only if the statement before them did not jump.

        The flags are asked in the line of that statement, where a debugger has been.
        """
        if self.levels[-1].skip not in self.levels[-1].used:  # the jump was in dead code
            return self.block(rest, depth)
        made: list[ast.stmt] = []
        while rest:
            end = len(rest)
            if depth >= FLAT:  # each part before a jump, and each jump, under its own guard
                jumping = [k for k, node in enumerate(rest) if self.jumps([node])]
                end = max(jumping[0], 1) if jumping else end
            part, rest = rest[:end], rest[end:]
            first, going_on = part[0], place(negate(load(self.levels[-1].skip)), after)
            with self.at(not rest):
                mergeable = len(part) == 1 and isinstance(first, ast.If) and not first.orelse
                if depth >= FLAT and mergeable:
                    made += self.block([_narrowed(first, going_on)], depth)
                else:
                    inner = self.block(part, depth + 2)
                    made.append(place(if_(going_on, inner), after))
        return made

    def jumps(self, body: Sequence[ast.stmt]) -> bool:
        """Return whether jumps that are lowered leave these statements."""
        kinds = leaving(body)
        return bool(kinds if self.returns else kinds - {ast.Return})

    @contextmanager
    def at(self, tail: bool) -> Generator[None]:
        """Lower statements after which the innermost level goes on unless ``tail``."""
        level = self.levels[-1]
        before = level.tail
        level.tail = before and tail
        yield
        level.tail = before

    def jump(self, node: ast.Return | ast.Break | ast.Continue) -> list[ast.stmt]:
        """Return the assignments that a jump becomes."""
        made: list[ast.stmt] = []
        flags: list[str] = []
        if isinstance(node, ast.Return):
            if self.value:
                made.append(assign(RETURN_VALUE, node.value or none()))
            left = self.levels
        else:
            left = self.levels[-1:]
        for level in left:
            if level.leave is not None and not isinstance(node, ast.Continue):
                flags.append(level.leave)
            if not level.tail:
                flags.append(level.skip)
            level.used.update(flags)
        if flags:
            targets: list[ast.expr] = [store(flag) for flag in dict.fromkeys(flags)]
            made.append(ast.Assign(targets, constant(True)))
        return [place(part, node) for part in made or [ast.Pass()]]

    # --- compound statements

    def compound(self, node: ast.stmt, rest: list[ast.stmt], depth: int) -> list[ast.stmt]:
        """Return a statement with the blocks in it lowered, and what it needs around it."""
        if isinstance(node, ast.If):
            if depth >= FLAT and any(isinstance(part, ast.If) for part in node.orelse):
                return self.chain(node, depth)
            node.body = self.block(node.body, depth + 2) or [place(ast.Pass(), node)]
            node.orelse = self.block(node.orelse, depth + 2)
        elif isinstance(node, LOOPS):
            return self.loop(node, depth)
        elif isinstance(node, TRIES):
            self.attempt(node, depth)
        elif isinstance(node, ast.With):
            node.body = self.block(node.body, depth + len(node.items))
        return [node]

    def chain(self, node: ast.If, depth: int) -> list[ast.stmt]:
        """Return a chain of ``elif`` as a sequence, each under the flag that none was taken."""
        head, hit = node, self.names.fresh("hit")
        orelse: list[ast.stmt]
        made: list[ast.stmt] = [place(assign(hit, constant(False)), node)]
        before: list[ast.stmt] = []
        while True:
            orelse, node.orelse = node.orelse, []
            node.body = [place(assign(hit, constant(True)), node), *node.body]
            part = [*before, node]
            if len(made) > 1 and not before:
                part = [_narrowed(node, place(negate(load(hit)), head))]
            elif len(made) > 1:
                part = [place(if_(negate(load(hit)), part), head)]
            made += part
            following = orelse[-1] if orelse else None
            if not isinstance(following, ast.If):
                break
            before, node = orelse[:-1], following
        if orelse:
            made.append(place(if_(negate(load(hit)), orelse), head))
        return self.block(made, depth)

    def loop(self, node: ast.For | ast.While, depth: int) -> list[ast.stmt]:
        leave = self.names.fresh("brk")
        continues = ast.Continue in leaving(node.body)
        level = _Level(self.names.fresh("cnt") if continues else leave, leave)
        with self.at(not node.orelse):
            self.levels.append(level)
            node.body = self.block(node.body, depth + 2) or [place(ast.Pass(), node)]
            self.levels.pop()
        if continues and level.skip in level.used:
            node.body.insert(0, place(assign(level.skip, constant(False)), node.body[0]))
        orelse, node.orelse = node.orelse, []
        if leave not in level.used:
            return [node, *self.block(orelse, depth)]
        self.flags[node] = leave
        if isinstance(node, ast.While):
            # The flag first: Python does not come to the test after a `break`.
            goes_on = place(negate(load(leave)), node)
            always = isinstance(node.test, ast.Constant) and node.test.value
            node.test = place(goes_on, node.test) if always else _both(goes_on, node.test)
        made: list[ast.stmt] = [place(assign(leave, constant(False)), node), node]
        if orelse:
            inner = self.block(orelse, depth + 2)
            made.append(place(if_(negate(load(leave)), inner), node))
        return made

    def attempt(self, node: ast.Try | ast.TryStar, depth: int) -> None:
        if self.jumps(node.finalbody):
            raise Unconvertible  # it would also swallow the exception under way
        within = depth + 2 + bool(node.finalbody)  # in the turns of a driver
        jumps = self.jumps(node.body)
        may_end = MANAGER in node.__dict__ and self.may_fall and ast.Return in leaving(node.body)
        with self.at(not node.orelse):
            node.body = self.block(node.body, within + 1)
        orelse = node.orelse
        jumps = jumps and MANAGER not in node.__dict__  # which ends whichever way that is
        node.orelse = self.guarded(orelse, node, within) if jumps else self.block(orelse, within)
        for handler in node.handlers:
            handler.body = self.block(handler.body, within + 2) or [place(ast.Pass(), handler)]
            if may_end:  # what the function gives unless another `return` follows
                handler.body.append(place(assign(RETURN_VALUE, none()), handler))
        node.finalbody = self.block(node.finalbody, depth + 3)


def first_line(body: Sequence[ast.stmt]) -> ast.stmt:
    """Return the first statement at which a debugger stops."""
    silent = (ast.Global, ast.Nonlocal)
    return next((node for node in body if not isinstance(node, silent)), body[0])


def _both(first: ast.expr, second: ast.expr) -> ast.expr:
    return place(ast.BoolOp(ast.And(), [first, second]), first)


def _narrowed(node: ast.If, test: ast.expr) -> ast.If:
    """Return a branch that is taken only if ``test``, which comes first."""
    return place(if_(_both(test, node.test), node.body), test)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _blocks(node: ast.stmt) -> list[Sequence[ast.stmt]]:
    """Return the blocks of statements within a statement."""
    found = [getattr(node, name, None) or [] for name in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(node, "handlers", ())]
    return [*found, *(case.body for case in getattr(node, "cases", ()))]


def leaving(body: Sequence[ast.stmt]) -> set[type[ast.stmt]]:
    """Return the kinds of jumps that leave some statements."""
    found: set[type[ast.stmt]] = set()
    for node in body:
        if isinstance(node, JUMPS):
            found.add(type(node))
        elif isinstance(node, LOOPS):
            found |= leaving(node.body) & {ast.Return} | leaving(node.orelse)
        elif not isinstance(node, SCOPES):
            found = found.union(*map(leaving, _blocks(node)))
    return found


def _returns(body: Sequence[ast.stmt], nested: bool) -> list[ast.Return]:
    """Return all ``return`` statements, if one of them stands in a branch, a loop or a ``try``."""
    every: list[ast.Return] = []
    found = _find_returns(body, nested, every)
    return every if found else []


def _find_returns(body: Sequence[ast.stmt], nested: bool, every: list[ast.Return]) -> bool:
    found = False
    for node in body:
        if isinstance(node, ast.Return):
            every.append(node)
            found |= nested
        elif not isinstance(node, SCOPES):
            inside = nested or isinstance(node, (ast.If, *LOOPS, *TRIES))
            for block in _blocks(node):
                found |= _find_returns(block, inside, every)
    return found


def exits(body: Sequence[ast.stmt], lenient: bool = False) -> bool:
    """Return whether control never comes to the end of some statements.

    A context manager may swallow an exception, even of ``return f()``; only if ``lenient`` is it
    taken not to.
    """
    return any(_exits(node, lenient) for node in body)


def completes(body: Sequence[ast.stmt]) -> bool:
    """Return whether a function falls off its end."""
    return not exits(body, lenient=True)


def _exits(node: ast.stmt, lenient: bool) -> bool:
    if isinstance(node, (*JUMPS, ast.Raise)):
        return True
    if isinstance(node, ast.If):
        return bool(node.orelse) and exits(node.body, lenient) and exits(node.orelse, lenient)
    if isinstance(node, ast.While):
        forever = isinstance(node.test, ast.Constant) and node.test.value
        return bool(forever) and ast.Break not in leaving(node.body)
    if isinstance(node, ast.Try) and MANAGER in node.__dict__:
        return lenient and exits(node.body, lenient)
    if isinstance(node, TRIES):
        normal = exits(node.body, lenient) or exits(node.orelse, lenient)
        caught = all(exits(handler.body, lenient) for handler in node.handlers)
        return exits(node.finalbody, lenient) or (normal and caught)
    if isinstance(node, ast.With):
        return lenient and exits(node.body, lenient)
    return False
