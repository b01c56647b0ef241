"""Comprehensions as loops: reductions (``sum(f(x) for x in row if x > 0)``), and lists.

A native generator cannot follow a length or an ``if`` that depends on data. So such a call becomes
a choice, made when it runs, between itself and a function that loops::

    def ag__g1(ag__t3, ag__t2):             # before the statement; converted like any other
        ag__acc4 = ag__t2.start
        for x in ag__t3:
            if x > 0:
                ag__acc4 = ag__t2.add(ag__acc4, f(x))
        return ag__t2.result(ag__acc4)

    ag__g1(ag__t3, ag__.fold(ag__t2))
    if ag__.foldable((ag__t2 := sum), (ag__t3 := row))
    else ag__.fn(ag__t2)(f(x) for x in ag__t3 if x > 0)

So does a list of which all uses are known (`lanewise.autograph.lists.uses`), with a function that
appends to one.
"""

from __future__ import annotations

import ast
from typing import Any

from lanewise.autograph.build import (
    Names,
    assign,
    attribute,
    call,
    clone,
    constant,
    function,
    hook,
    if_,
    immediate,
    load,
    method,
    negate,
    place,
    statement,
    store,
    through,
    walrus,
)
from lanewise.autograph.scopes import (
    Comprehension,
    inner_parts,
    scope_of,
    targets,
    uses,
)

#: Marks a list comprehension that may become a loop, and says whether all uses of it are known.
GROWN = "_is_grown"
#: Reductions by name, and as attributes of ``math``, by whatever name. NumPy's are none: of a list
#: they make an array, of as many axes as it has.
BUILTINS = frozenset("sum min max any all len next".split())
#: What gathers the elements of a generator.
GATHERING = frozenset("list set dict Counter deque".split())
ATTRIBUTES = frozenset("prod fsum".split())
#: Those that leave a generator early.
EARLY = frozenset("any all next".split())


class Reductions(ast.NodeTransformer):
    """Replaces the reductions in one statement's expressions; the functions go to `functions`."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.functions: list[ast.FunctionDef] = []
        self.inner: list[frozenset[str]] = []  # the names of lambdas and comprehensions around
        self.in_comprehension = 0

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [value and self.visit(value) for value in node.args.kw_defaults]
        self.inner.append(scope_of(node).locals)
        node.body = self.visit(node.body)
        self.inner.pop()
        return node

    def visit_comprehension_scope(self, node: Comprehension) -> ast.expr:
        self.in_comprehension += 1  # no walrus in its iterables
        node.generators[0].iter = self.visit(node.generators[0].iter)
        self._inside(node)
        self.in_comprehension -= 1
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        """Return the call of a generator, which follows the data where Python's own does not.

        That is where tests choose elements, or what it goes through follows the data.
        """
        if not can_move(node):
            return self.visit_comprehension_scope(node)
        made, values = self.names.fresh("g"), self.names.fresh("t")
        passed = self._passed(node)
        step = place(statement(ast.Yield(clone(node.elt))), node.elt)
        body = [_loops(clone(node), values, step)]
        self.functions.append(place(function(made, [values, *passed], body), node))
        begun = hook("begun", load(made), load(values), *map(load, passed))
        iterable = self._iterable(node)
        if any([part.ifs for part in node.generators]):
            begun.args[1] = iterable
            return place(begun, node)
        native = self._native(node, values)
        if self.in_comprehension:
            choice = ast.IfExp(hook("follows", load(values)), begun, native)
            return place(immediate([values], choice, iterable), node)
        test = hook("follows", walrus(values, iterable))
        return place(ast.IfExp(test, begun, native), node)

    def visit_SetComp(self, node: ast.SetComp | ast.DictComp) -> ast.expr:
        if not can_move(node):
            return self.visit_comprehension_scope(node)
        return self._looped(node, constant(type(node).__name__), node)

    visit_DictComp = visit_SetComp  # noqa: N815

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        if GROWN not in node.__dict__:
            return self.visit_comprehension_scope(node)
        made, values, items = [self.names.fresh(kind) for kind in ("g", "t", "acc")]
        passed = self._passed(node)
        step = place(statement(method(items, "append", clone(node.elt))), node.elt)
        body = [
            assign(items, ast.List([], ast.Load())),
            _loops(clone(node), values, step),
            ast.Return(hook("kept", load(items))),
        ]
        self.functions.append(place(function(made, [values, *passed], body), node))
        native = self._native(node, values)
        looping = call(load(made), load(values), *map(load, passed))
        iterable = self._iterable(node)
        has_tests = any([part.ifs for part in node.generators])
        known = [constant(node.__dict__[GROWN]), constant(has_tests)]
        if self.in_comprehension:
            choice = ast.IfExp(hook("grows", load(values), *known), looping, native)
            return place(immediate([values], choice, iterable), node)
        test = hook("grows", walrus(values, iterable), *known)
        return place(ast.IfExp(test, looping, native), node)

    def _iterable(self, node: Comprehension, is_iterator: bool = False) -> ast.expr:
        """Return what a comprehension goes through, which may have to be an iterator."""
        given = node.generators[0].iter
        found = self.visit(given)
        items = found if is_iterator else through(found)
        return place(hook("gone_through", items), given) if type(given) is ast.Call else found

    def _passed(self, node: Comprehension) -> list[str]:
        """Return the variables of lambdas and comprehensions around that a comprehension uses."""
        wanted = set().union(*(name for part in inner_parts(node) for name in uses(part)))
        return sorted(wanted & frozenset().union(*self.inner) - targets(node))

    def _native(self, node: Comprehension, values: str) -> Comprehension:
        """Return a comprehension as it stands, over an iterable that a variable holds."""
        native = clone(node)
        native.generators[0].iter = load(values)
        self.in_comprehension += 1
        self._inside(native)
        self.in_comprehension -= 1
        return native

    def _inside(self, node: Comprehension) -> None:
        self.inner.append(targets(node))
        if isinstance(node, ast.DictComp):
            node.key, node.value = self.visit(node.key), self.visit(node.value)
        else:
            node.elt = self.visit(node.elt)
        for index, generator in enumerate(node.generators):
            generator.iter = self.visit(generator.iter) if index else generator.iter
            generator.ifs = [self.visit(test) for test in generator.ifs]
        self.inner.pop()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if _is_first_of_call(node):
            item = self.names.fresh("v")
            part = ast.comprehension(store(item), node.args[0], [], 0)
            whole = place(ast.GeneratorExp(load(item), [part]), node.args[0])
            return self._looped(node, node.func, whole, is_given=True)
        comprehension = reduced(node)
        if comprehension is None:
            self.generic_visit(node)
            return node
        return self._looped(node, node.func, comprehension)

    def _looped(
        self, node: ast.expr, func: ast.expr, comprehension: Comprehension, is_given: bool = False
    ) -> ast.expr:
        """Return the choice between a loop and a comprehension, or a call that is given one.

        Or, if ``is_given``, what it goes through.
        """
        kind, made = self.names.fresh("t"), self.names.fresh("g")
        values = self.names.fresh("t")
        is_generator = isinstance(comprehension, ast.GeneratorExp)
        leaves_early = is_generator and ast.unparse(func) in EARLY
        passed = self._passed(comprehension)
        parameters = [values, kind, *passed]
        body = (self._early if leaves_early else self._folding)(kind, func, comprehension)
        body[-2:-1] = [_loops(clone(comprehension), values, body[-2])]
        self.functions.append(place(function(made, parameters, body), comprehension))

        plain: ast.expr = load(values) if is_given else self._native(comprehension, values)
        fold = hook("fold", load(kind))
        if isinstance(node, ast.Call):
            rest = [self.visit(arg) for arg in node.args[1:]]
            keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
            fold.args += [clone(arg) for arg in rest]
            fold.keywords = [clone(keyword) for keyword in keywords]
            plain = place(call(hook("fn", load(kind)), plain, *rest), node)
            plain.keywords = keywords
        extra: list[ast.expr] = [load(name) for name in passed]
        looping = call(load(made), load(values), fold, *extra)
        asked = "foldable_alone" if is_given else "foldable"
        iterable = self._iterable(comprehension, is_given)
        if self.in_comprehension:
            test = hook(asked, load(kind), load(values))
            choice = ast.IfExp(test, looping, plain)
            return place(immediate([kind, values], choice, func, iterable), node)
        test = hook(asked, walrus(kind, func), walrus(values, iterable))
        return place(ast.IfExp(test, looping, plain), node)

    def _early(self, kind: str, func: ast.expr, comprehension: Comprehension) -> list[ast.stmt]:
        """Return what leaves the loop (``return E``, or a constant), and what follows it."""
        assert not isinstance(comprehension, ast.DictComp)
        name, element = _name(func), clone(comprehension.elt)
        leave: ast.stmt = ast.Return(element)
        if name != "next":
            test = element if name == "any" else negate(element)
            leave = if_(test, [ast.Return(constant(name == "any"))])
        last = ast.Return(method(kind, "result", attribute(kind, "start")))
        return [place(leave, comprehension.elt), last]

    def _folding(self, kind: str, _: ast.expr, comprehension: Comprehension) -> list[ast.stmt]:
        """Return the start, one step, and the result of a fold."""
        total = self.names.fresh("acc")
        if isinstance(comprehension, ast.DictComp):
            pair = [clone(comprehension.key), clone(comprehension.value)]
            element: ast.expr = place(ast.Tuple(pair, ast.Load()), comprehension.key)
        else:
            element = clone(comprehension.elt)
        step = assign(total, method(kind, "add", load(total), element))
        return [
            assign(total, attribute(kind, "start")),
            place(step, element),
            ast.Return(method(kind, "result", load(total))),
        ]


def _loops(comprehension: Comprehension, values: str, step: ast.stmt) -> ast.stmt:
    """Return a step inside of the loops and conditions of a comprehension."""
    for index, generator in reversed(list(enumerate(comprehension.generators))):
        for test in reversed(generator.ifs):
            step = place(if_(test, [step]), test)
        iterable = generator.iter if index else load(values)
        step = place(ast.For(generator.target, iterable, [step], []), generator.target)
    return step


def _name(func: ast.expr) -> str | None:
    if isinstance(func, ast.Name):
        return func.id
    return func.attr if isinstance(func, ast.Attribute) else None


def reduced(node: ast.Call) -> Comprehension | None:
    """Return the generator or list that a call reduces, if it is one that can become a loop."""
    if not node.args or not isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
        return None
    func, is_list = node.func, isinstance(node.args[0], ast.ListComp)
    if _name(func) in GATHERING:
        others = len(node.args) - 1 + len(node.keywords)
        known = not is_list and (not others or _name(func) == "deque")
    elif isinstance(func, ast.Attribute):
        known = func.attr in ATTRIBUTES and isinstance(func.value, ast.Name)
        known &= not is_list or ast.unparse(func.value) not in ("np", "numpy")
    else:
        known = isinstance(func, ast.Name) and func.id in BUILTINS
        known &= not is_list or _name(func) != "next"
    starred = any(isinstance(arg, ast.Starred) for arg in node.args)
    if not known or starred or any(keyword.arg is None for keyword in node.keywords):
        return None
    return node.args[0] if can_move(node) else None


def _is_first_of_call(node: ast.Call) -> bool:
    """Whether it is ``next(f(x))``: nobody else has the iterator if the function makes it."""
    is_next = isinstance(node.func, ast.Name) and node.func.id == "next"
    is_next &= not node.keywords and len(node.args) in (1, 2)
    return is_next and isinstance(node.args[0], ast.Call) and all(map(can_move, node.args))


def can_move(node: ast.expr) -> bool:
    """Whether an expression may stand in another function: nothing in it belongs to this one."""
    for part in ast.walk(node):
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(part, ast.Name) and part.id in ("super", "__class__", "locals"):
            return False
        if isinstance(part, ast.comprehension) and part.is_async:
            return False
    return True


class OwnNames(ast.NodeTransformer):
    """Gives variables of comprehensions other names than those of a function's lists.

    In ``cells = [[v for v in row] for row in x]`` and ``row = []`` later, one is not the other.
    """

    def __init__(self, lists: set[str], names: Names) -> None:
        self._lists, self._names = lists, names
        self._renamed: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._renamed.get(node.id, node.id)
        return node

    def _comprehension(self, node: Any) -> Any:
        first = node.generators[0]
        around, iterable = self._renamed, self.visit(first.iter)  # that is not evaluated in it
        own = {
            x.id
            for each in node.generators
            for x in ast.walk(each.target)
            if isinstance(x, ast.Name)
        }
        given = {x.arg for x in ast.walk(node) if isinstance(x, ast.arg)}
        fresh = {name: self._names.fresh(name) for name in sorted((own & self._lists) - given)}
        self._renamed = {name: new for name, new in around.items() if name not in own} | fresh
        first.iter = ast.Constant(None)
        self.generic_visit(node)
        first.iter, self._renamed = iterable, around
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815
