"""Expressions that ask the data: each form that Python decides itself becomes calls of hooks."""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from lanewise.autograph.build import (
    HOOKS,
    Names,
    attribute,
    call,
    clone,
    constant,
    hook,
    immediate,
    is_ours,
    load,
    method,
    none,
    place,
    walrus,
)
from lanewise.autograph.scopes import (
    COMPREHENSIONS,
    Comprehension,
    Scope,
    mangle,
    scope_of,
    targets,
)

#: From here on Python runs list, set and dict comprehensions in the frame of their function.
_INLINED = sys.version_info >= (3, 12)

#: Attributes of arrays that are sizes, or hold some.
_SIZES = frozenset(("shape", "size", "nbytes"))

#: Operators that raise for some numbers, as functions of the module `operator`.
_RAISING: dict[type[ast.operator], str] = {
    ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.MatMult: "matmul",
}  # fmt: skip

#: What may be done to two sets.
SET_OPERATORS: dict[type[ast.operator], str] = {
    ast.BitOr: "|", ast.BitAnd: "&", ast.Sub: "-", ast.BitXor: "^",
}  # fmt: skip

_LOCALS = (
    "{ag__k: ag__v for ag__k, ag__v in locals().items()"
    " if ag__k[:4] != 'ag__' and ag__v.__class__ is not ag__.Undefined}"
)


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function.

    Values that are needed twice are kept by walrus. Where none may stand (the iterables of
    comprehensions), and in comprehensions in general, a lambda that is called at once keeps them.
    """

    def __init__(
        self,
        names: Names,
        scope: Scope,
        unsure: set[ast.Name],
        undefinable: frozenset[str],
        outer: frozenset[str],
        owner: str | None,
    ) -> None:
        self.names = names
        self.scope = scope
        self.unsure = unsure
        self.undefinable = undefinable  # own variables that may stand for "no value"
        self.outer = outer  # those of functions around
        self.owner = owner  # the class whose private names are mangled
        self.tests: set[ast.BoolOp] = set()  # of which only the truth is asked for
        self.hidden: list[frozenset[str]] = []  # names of lambdas and comprehensions around
        self.lambdas = self.later = self.comprehensions = self.iterables = self.operands = 0

    @contextmanager
    def within(self, **changes: int) -> Generator[None]:
        """Count the kinds of code that we are in."""
        before = {name: getattr(self, name) for name in changes}
        for name, value in changes.items():
            setattr(self, name, value)
        yield
        for name, value in before.items():
            setattr(self, name, value)

    # --- variables

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if not isinstance(node.ctx, ast.Load) or any(name in names for names in self.hidden):
            return node
        if name in self.outer:
            return place(hook("defined", node, constant(True)), node)
        if name in self.undefinable and node in self.unsure:
            later = [constant(True)] if self.later else []
            return place(hook("defined", node, *later), node)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.visit(node.value)
        if self.lambdas or not self.is_elsewhere(node.target.id):
            return node
        kept = self.names.fresh("t")
        parts = [walrus(kept, node.value), self.set_elsewhere(node.target.id, load(kept))]
        both = ast.Tuple(parts, ast.Load())
        return place(ast.Subscript(both, constant(0), ast.Load()), node)

    def is_elsewhere(self, name: str) -> bool:
        """Return whether a name is declared global or nonlocal."""
        return name in self.scope.globals or name in self.scope.nonlocals

    def set_elsewhere(self, name: str, value: ast.expr) -> ast.expr:
        """Return the assignment to a global or nonlocal variable."""
        if name in self.scope.globals:
            namespace = attribute(ast.Lambda(_no_arguments(), none()), "__globals__")
            return hook("setitem", namespace, constant(mangle(name, self.owner)), value)
        cells = attribute(ast.Lambda(_no_arguments(), load(name)), "__closure__")
        return hook("setcell", ast.Subscript(cells, constant(0), ast.Load()), value)

    # --- what the data may decide

    def _inline(self, node: ast.AST) -> bool | None:
        """Return whether to keep values by walrus, by lambda, or (None) not at all."""
        if not self.comprehensions:
            return True
        if not any(_needs_its_frame(part) for part in ast.walk(node)):
            return False
        return None if self.iterables else True

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        inline = self._inline(node)
        first, *others = node.values
        values = [self.visit(first), *map(self.operand, others)]
        if inline is None:
            node.values = values
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        truth = [constant(True)] * (node in self.tests)
        result = values[-1]
        for value in reversed(values[:-1]):
            result = self._lazy(name, value, result, inline, *truth)
        return place(result, node)

    def test(self, node: ast.expr) -> ast.expr:
        """Visit an expression of which only the truth is asked for."""
        parts = [node]
        while parts:
            part = parts.pop()
            if isinstance(part, ast.BoolOp):
                self.tests.add(part)
                parts += part.values
            elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
                parts.append(part.operand)
        return self.visit(node)

    def _lazy(
        self, name: str, first: ast.expr, second: ast.expr, inline: bool, *truth: ast.expr
    ) -> ast.expr:
        kept = self.names.fresh("s")
        start = hook(name, first, *truth)
        last = method(kept, "end", second)
        value = attribute(kept, "value")
        if inline:
            return ast.IfExp(attribute(walrus(kept, start), "done"), value, last)
        return immediate([kept], ast.IfExp(attribute(kept, "done"), value, last), start)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        inline = None if _is_choice(node.test) else self._inline(node)
        node.test = self.test(node.test)
        node.body, node.orelse = self.operand(node.body), self.operand(node.orelse)
        if inline is None:
            return node
        kept = self.names.fresh("s")
        start = hook("ifexp", node.test)
        first = method(kept, "first", node.body)
        yes = ast.IfExp(attribute(kept, "take_true"), first, none())
        no = ast.IfExp(attribute(kept, "take_false"), node.orelse, none())
        if inline:
            return place(call(attribute(walrus(kept, start), "end"), yes, no), node)
        return place(immediate([kept], method(kept, "end", yes, no), start), node)

    def operand(self, node: ast.expr) -> ast.expr:
        """Visit what is evaluated only for some examples: what may raise there is a call."""
        with self.within(operands=self.operands + 1):
            return self.visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return place(hook("not_", self.test(node.operand)), node)
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        inline = self._inline(node)
        first, *others = node.comparators
        node.left = self.visit(node.left)
        # As those of `and`: they are not looked at where a comparison before them is false.
        node.comparators = [self.visit(first), *map(self.operand, others)]
        if len(node.ops) > 1 and inline is None:
            return node
        return place(self._compared(node.left, node.ops, node.comparators, bool(inline)), node)

    def _compared(
        self, left: ast.expr, ops: Sequence[ast.cmpop], values: Sequence[ast.expr], inline: bool
    ) -> ast.expr:
        right, *others = values
        if not others:
            return _comparison(left, ops[0], right)
        if isinstance(right, (ast.Name, ast.Constant)):
            first, again = _comparison(left, ops[0], right), clone(right)
        elif inline:
            kept = self.names.fresh("t")
            first, again = _comparison(left, ops[0], walrus(kept, right)), load(kept)
        else:
            one, two = self.names.fresh("t"), self.names.fresh("t")
            first = _comparison(load(one), ops[0], load(two))
            rest = self._compared(load(two), ops[1:], others, inline)
            return immediate([one, two], self._lazy("and_", first, rest, inline), left, right)
        return self._lazy("and_", first, self._compared(again, ops[1:], others, inline), inline)

    # --- what traced values may be asked for

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            self.generic_visit(node)
            return node
        found = [self.visit(node.value), self.index(node.slice)]
        if self.operands:
            return place(call(hook("fn", attribute(HOOKS, "getitem")), *found), node)
        return place(hook("getitem", *found), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr == "__class__" and isinstance(node.ctx, ast.Load):
            return place(hook("class_of", node.value), node)
        if node.attr in _SIZES and isinstance(node.ctx, ast.Load):
            return place(hook("size_of", node.value, constant(node.attr)), node)
        return node

    def index(self, node: ast.expr) -> ast.expr:
        """Return what stands in brackets as a value: slices as `slice` objects."""
        if isinstance(node, ast.Slice):
            ends = [self.visit(end) if end else none() for end in (node.lower, node.upper)]
            step = [self.visit(node.step)] if node.step else []
            return place(hook("slice", *ends, *step), node)
        if isinstance(node, ast.Tuple):
            node.elts = [self.index(item) for item in node.elts]
            return node
        return self.visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func
        if _is_hook(node) and func.attr == "gone_through":  # ty: ignore[missing-attribute]
            node.args = [_elements(part) for part in node.args]
        name = func.id if isinstance(func, ast.Name) else None
        attribute = func.attr if isinstance(func, ast.Attribute) else None
        if name == "locals" and not node.args and not node.keywords:
            return _filtered_locals(node)
        given = [*node.args, *[keyword.value for keyword in node.keywords]]
        is_first = any([_makes(part) for arg in given for part in ast.walk(arg)])
        self.generic_visit(node)
        if name == "super" or _is_own(func):
            return node
        if "print" in (name, attribute):
            made = hook("print_", hook("deferred"), node.func, *node.args)
            made.keywords = node.keywords
            return place(made, node)
        node.func = place(hook("fn", node.func, *[constant(True)] * is_first), func)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        text = isinstance(node.left, ast.JoinedStr) or (
            isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        )
        is_list = _may_join_lists(node)
        self.generic_visit(node)
        if text and isinstance(node.op, ast.Mod):
            return place(hook("percent", node.left, node.right), node)
        if type(node.op) in SET_OPERATORS:
            symbol = constant(SET_OPERATORS[type(node.op)])
            return place(hook("binary", symbol, node.left, node.right), node)
        if is_list:
            return place(hook("joined_anew", node), node)
        name = _RAISING.get(type(node.op)) if self.operands else None
        if name is None:
            return node
        function = hook("fn", attribute(attribute(HOOKS, "operator"), name))
        return place(call(function, node.left, node.right), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self._fields(node)
        if not any(isinstance(part, ast.FormattedValue) for part in node.values):
            return node
        return place(hook("text", hook("deferred"), node), node)

    def _fields(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                part.value = self.visit(part.value)
                if part.format_spec is not None and part.conversion != -1:  # Python would pad it
                    name = _CONVERSIONS[part.conversion]
                    text = hook("shown", constant(name), part.value)
                    part.value, part.conversion = place(text, part.value), -1
                if isinstance(part.format_spec, ast.JoinedStr):
                    self._fields(part.format_spec)

    # --- containers, comprehensions, lambdas

    def visit_List(self, node: ast.List) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            return node
        return place(hook("born", node), node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        if all([isinstance(each, ast.Constant) for each in node.elts]):
            return place(hook("born", node), node)
        elements = place(ast.List(node.elts, ast.Load()), node)
        return place(hook("set_of", elements), node)

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = place(hook("spread", node.value), node.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        if all([isinstance(key, ast.Constant) for key in node.keys]):
            return place(hook("born", node), node)
        parts: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            pair = [value] if key is None else [key, value]
            parts.append(place(ast.Tuple(pair, ast.Load()), value))
        return place(hook("entries", *parts), node)

    def visit_comprehension_display(self, node: Comprehension) -> ast.expr:
        return place(hook("born", self._comprehension(node)), node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_comprehension_display  # noqa: N815

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return place(hook("owned_here", self._comprehension(node)), node)

    def _comprehension(self, node: Comprehension) -> ast.expr:
        nested = self.comprehensions + 1
        with self.within(comprehensions=nested, iterables=self.iterables + 1):
            node.generators[0].iter = self.visit(node.generators[0].iter)
        runs_later = isinstance(node, ast.GeneratorExp) or not _INLINED
        self.hidden.append(targets(node))
        with self.within(comprehensions=nested, later=self.later + runs_later):
            if isinstance(node, ast.DictComp):
                node.key, node.value = self.visit(node.key), self.visit(node.value)
            else:
                node.elt = self.visit(node.elt)
            for index, generator in enumerate(node.generators):
                generator.ifs = [self.visit(test) for test in generator.ifs]
                if index:
                    with self.within(iterables=self.iterables + 1):
                        generator.iter = self.visit(generator.iter)
        self.hidden.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [value and self.visit(value) for value in node.args.kw_defaults]
        self.hidden.append(scope_of(node).locals)
        changes = {"lambdas": self.lambdas + 1, "later": self.later + 1, "operands": 0}
        if not self.iterables:  # Python takes no walrus there, not even in a lambda
            changes["comprehensions"] = 0
        with self.within(**changes):
            node.body = self.visit(node.body)
        self.hidden.pop()
        return node


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    if isinstance(op, ast.In):
        return hook("in_", left, right)
    if isinstance(op, ast.NotIn):
        return hook("not_", hook("in_", left, right))
    if isinstance(op, ast.Is):
        return hook("is_", left, right)
    if isinstance(op, ast.IsNot):
        return hook("not_", hook("is_", left, right))
    symbol = _SYMBOLS.get(type(op))
    if symbol and not (_is_number(left) or _is_number(right)):
        return hook("compare", constant(symbol), left, right)
    return ast.Compare(left, [op], [right])


def _elements(node: ast.expr, taker: ast.Name | None = None) -> ast.expr:
    """Return what a loop goes through, without the list of ``x.tolist()`` that nobody else has.

    ``taker`` is what is called with the list, by its name.
    """
    match node:
        case ast.Call(ast.Attribute(value, "tolist"), [], []):
            return place(hook("elements", value, *([clone(taker)] if taker else [])), node)
        case ast.Call(ast.Attribute(_, "through"), [ast.Name() as name, *parts]) if _is_hook(node):
            node.args[1:] = [_elements(part, name) for part in parts]
    return node


#: By the conversion of a field of an f-string, what gives it.
_CONVERSIONS = {ord("s"): "str", ord("r"): "repr", ord("a"): "ascii"}
#: What makes something, or may ask for something that does.
_MAKING = (
    ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Attribute, ast.Set, ast.Dict, ast.Starred,
    *COMPREHENSIONS,
)  # fmt: skip
#: Comparisons that tuples decide by those of their elements.
_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def _makes(node: ast.AST) -> bool:
    """Whether a list may come of an expression whose length is data, or a set of such keys."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # a list, repeated
        return not any([isinstance(part, ast.Constant) for part in (node.left, node.right)])
    return isinstance(node, _MAKING)


def _may_join_lists(node: ast.BinOp) -> bool:
    """Whether ``a + b`` or ``a * b`` may be a list."""
    numbers = (complex, float) if isinstance(node.op, ast.Mult) else (complex, float, int)
    return isinstance(node.op, (ast.Add, ast.Mult)) and not any([
        isinstance(part, ast.Constant) and isinstance(part.value, numbers)
        for part in (node.left, node.right)
    ])  # fmt: skip


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is surely no list, no set and no text."""
    if isinstance(node, ast.BinOp):
        return type(node.op) in _RAISING
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, (str, bytes))  # one that data choose may be compared
    return isinstance(node, (ast.UnaryOp, ast.Compare))


def _is_choice(node: ast.expr) -> bool:
    """Whether a test asks how a comprehension is run, which data have no part in."""
    return _is_hook(node) and node.func.attr in ("foldable", "grows")  # ty: ignore[missing-attribute]


def _is_hook(node: ast.expr) -> bool:
    """Return whether an expression is ``ag__.name(...)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == HOOKS
    )


def _is_own(func: ast.expr) -> bool:
    """Return whether a called function is one of ours, or prepared by us."""
    if isinstance(func, ast.Attribute):  # but not a method of what a hook gives: d["k"].append
        return isinstance(func.value, ast.Name) and is_ours(func.value.id)
    if isinstance(func, ast.Lambda):
        return bool(func.args.args) and is_ours(func.args.args[0].arg)
    return _is_hook(func) or (isinstance(func, ast.Name) and is_ours(func.id))


def _needs_its_frame(node: ast.AST) -> bool:
    """Return whether code must stay in the frame that it is in."""
    return isinstance(node, ast.NamedExpr) or (isinstance(node, ast.Name) and node.id == "super")


def _filtered_locals(node: ast.Call) -> ast.expr:
    """Return ``locals()`` without what is ours."""
    made = ast.parse(_LOCALS, mode="eval").body
    for part in ast.walk(made):
        ast.copy_location(part, node)
    return made
