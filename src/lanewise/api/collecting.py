"""Maps that go on where an example raises: ``on_error="collect"``.

The map runs as ever first, so that nothing is lost where no example raises. If one does, its
function is recorded anew as the body of a `try` (`lanewise.autograph.attempts`) whose handler
gives ``fill_value``, and what was raised as data: a number, and the numbers in the message. That
is all there is in a trace, where nothing runs yet, and for functions with effects, which run once.
What cannot be caught so (in a derivative, by
an operation of which it is not known when it raises) is found by running parts of the batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from lanewise.api.mapping import MapCall
from lanewise.api.plain import is_plain
from lanewise.api.refused import PlainWay
from lanewise.autograph.attempts import Attempt, Handler, Kind
from lanewise.autograph.state import DONT_CARE
from lanewise.errors import ConcretizationError, annotate, at, function_name
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.ops.elementwise import where as where_op
from lanewise.trace import tree
from lanewise.trace.regions import settled
from lanewise.trace.tensor import Tensor, emit, lift
from lanewise.trace.trace import Stop, current_trace, require_trace, state, where

RAISE, COLLECT = "raise", "collect"


class Collect(NamedTuple):
    """What becomes of examples that raise.

    Attributes
    ----------
    fill
        ``fill_value``: what stands for their results.
    """

    fill: Any


def collect_of(name: str, on_error: str, fill_value: Any) -> Collect | None:
    """Return what the arguments of a map say; None where it raises."""
    if on_error not in (RAISE, COLLECT):
        raise ValueError(f"{name}: on_error must be 'raise' or 'collect', not {on_error!r}")
    if on_error == COLLECT:
        return Collect(fill_value)
    if fill_value is not None:
        raise ValueError(f"{name}: fill_value is for on_error='collect' only")
    return None


# --- what was raised ------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """A kind of exception: what makes it of numbers, and the line."""

    make: Callable[..., BaseException]
    place: tuple[Any, int] | None


class Failures(dict[Any, BaseException]):
    """By the index of each example that raised, its exception; not known while tracing.

    Within a trace it holds arrays, and is a container of these wherever results are.
    """

    def __init__(self, kinds: tuple[tuple[_Raised, int], ...], leaves: Sequence[Any]) -> None:
        super().__init__()
        self.kinds = kinds
        self.leaves = list(leaves)
        if leaves and all([isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves]):
            self._fill()

    @property
    def is_known(self) -> bool:
        """Whether it is a dict, and no container of what is traced."""
        return not any([isinstance(leaf, Tensor) for leaf in self.leaves])

    def placed(self, shape: tuple[int, ...]) -> Failures:
        """Return the failures of elements that have this shape, of a flat batch of these."""
        if not self.is_known:
            codes, *operands = [np.reshape(x, (*shape, *x.shape[1:])) for x in self.leaves]
            return Failures(self.kinds, [codes, *operands])
        if len(shape) == 1:
            return self
        placed = Failures((), ())
        for index, error in self.items():
            place = tuple(map(int, np.unravel_index(index, shape)))
            placed[place] = _renumbered(error, index, place)
        return placed

    def _fill(self) -> None:
        codes, *operands = self.leaves
        lines = [at(raised.place) for raised, _ in self.kinds]
        firsts = [sum([count for _, count in self.kinds[:n]]) for n in range(len(self.kinds))]
        for index in map(tuple, np.argwhere(codes).tolist()):
            number = int(codes[index]) - 1
            raised, count = self.kinds[number]
            held = operands[firsts[number] : firsts[number] + count]
            error = raised.make(*[np.asarray(x[index]) for x in held])
            annotate(error, f"in example {', '.join(map(str, index))}{lines[number]}")
            self[index[0] if len(index) == 1 else index] = error
        self.leaves = [np.asarray(leaf) for leaf in self.leaves]


def _unknown(name: str) -> Callable[..., Any]:
    known = getattr(dict, name)

    def method(self: Failures, *args: Any) -> Any:
        if not self.is_known:
            raise ConcretizationError(
                f"which examples of a map have failed is not known while tracing{at(here())}: "
                "return the failures, and look at them outside"
            )
        return known(self, *args)

    method.__name__ = name
    return method


for _name in ("__getitem__", "__len__", "__iter__", "__contains__", "keys", "values", "items",
              "get", "__repr__", "__eq__"):  # fmt: skip
    setattr(Failures, _name, _unknown(_name))

optree.register_pytree_node(
    Failures,
    lambda failures: (failures.leaves, failures.kinds),
    lambda kinds, leaves: Failures(kinds, leaves),
    namespace=tree.NAMESPACE,
)


# --- recording ------------------------------------------------------------------------------------


class _Collecting(Attempt):
    """Catches what the mapped function raises, each line by itself."""

    drops = True

    def __init__(self) -> None:
        super().__init__((), [Handler(lambda: Exception, True)], False, False)
        self.places: list[Any] = []

    def catching(self, error: type[BaseException]) -> Attempt | None:
        if self.has_boundary():
            return None  # of the map that is within: the whole is run in parts
        return super().catching(error)

    def number(self, error: Any, make: Any, operands: Any, shapes: Any, place: Any) -> int:
        types = tuple([(x.dtype, x.shape, x._weak) for x in operands])
        for number, kind in enumerate(self.kinds):
            known = (kind.error, kind.make, kind.types, self.places[number])
            if known == (error, make, types, place):
                return number
        self.places.append(place)
        return self.enter_kind(Kind(error, make, types))


def _recorded(
    func: Any, call: Callable[[list[Tensor]], Any], collect: Collect
) -> Callable[[list[Tensor]], Any]:
    """Return what calls a function for examples of which some raise."""

    def attempt(tensors: list[Tensor]) -> tuple[Any, Failures]:
        trying = _Collecting()
        state.attempt = trying
        try:
            result = call(tensors)
        except Stop:
            if not trying.kinds:
                raise
            raise _hopeless(func) from None
        finally:
            trying.leave()
        leaves, structure = tree.flatten(result)
        names = tree.paths(result, "the result")
        values = settled(trying.base, names, leaves)
        assert values is not None
        fills = _fills(func, names, values, collect.fill, structure)
        trace = require_trace("a map")
        if not trying.kinds:
            return result, Failures((), ())
        code = trying.code
        filled = []
        if isinstance(code, Tensor):
            ok = np.equal(code, 0)
            for value, fill in zip(values, fills, strict=True):
                value = Tensor(trace, lift(value))
                filled.append(emit(where_op, ok, value, np.asarray(fill, value.dtype)))
        else:
            filled = list(values)
        operands = []
        for number, kind in enumerate(trying.kinds):
            for position, (dtype, shape, _) in enumerate(kind.types):
                held = getattr(trying, f"operand {number} {position}")
                operands.append(np.zeros(shape, dtype) if held is DONT_CARE else held)
        kinds = tuple(
            [
                (_Raised(kind.make, place), len(kind.types))  # ty: ignore[invalid-argument-type]
                for kind, place in zip(trying.kinds, trying.places, strict=True)
            ]
        )
        return tree.unflatten(structure, filled), Failures(kinds, [code, *operands])

    return attempt


def _hopeless(func: Any) -> ValueError:
    return ValueError(
        f"{function_name(func)} raises whatever it is given{where()}, so there are no results to "
        "fill"
    )


def _fills(
    func: Any, names: Sequence[str], values: Sequence[Any], fill: Any, structure: Any
) -> list[Any]:
    """Return what stands for each result of an example that raised; raise if there is nothing."""
    given = [fill] * len(names)
    if isinstance(fill, (tuple, list, dict)):
        given, found = tree.flatten(fill)
        if found != structure:
            raise ValueError(
                f"fill_value has another structure than what {function_name(func)} returns"
                f"{where()}; give one number, or one for each result"
            )
    result = []
    for name, value, one in zip(names, values, given, strict=True):
        dtype = np.asarray(value).dtype if is_plain() else lift(value).type.dtype
        if one is None and dtype.kind not in "fc":
            raise ValueError(
                f"on_error='collect' needs a fill_value{where()}: {name} of "
                f"{function_name(func)} has dtype {dtype}, in which nothing says that there is no "
                "result"
            )
        number = np.asarray(np.nan if one is None else one)
        cast = number
        if number.dtype.kind in NUMERIC_KINDS:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cast = number.astype(dtype)
        real = number.dtype.kind in "iufb" or (number.dtype.kind == "c" and dtype.kind == "c")
        is_near = dtype.kind in "fc" and real
        if number.ndim or cast.dtype != dtype or not (is_near or np.array_equal(cast, number)):
            raise ValueError(
                f"fill_value {one!r} is no number of dtype {dtype}, as {name} is{where()}"
            )
        result.append(cast)
    return result


# --- running --------------------------------------------------------------------------------------


class _HasEffectsError(Exception):
    """A function prints or calls host code, and so must not run twice."""


def collected(collect: Collect | None, given: MapCall) -> Any:
    """Return the results of a map; with `collect`, and of failures beside them."""
    if collect is None:
        return given.run()

    func, options = given.func, given.options
    recorded = _Recorded(func, given.call, collect)

    def own_dims(result: Any, count: int) -> list[int | None]:
        dims = given.out_dims(result, count)
        if None in dims:
            raise ValueError(
                f"{function_name(func)}: out_dims is None for a result of a map with "
                f"on_error='collect', where each example may have another{where()}"
            )
        recorded.is_done = True
        return dims

    def both_dims(result: Any, count: int) -> list[int | None]:
        values, failures = result
        others = len(failures.leaves)
        return [*own_dims(values, count - others), *[0] * others]

    def record() -> Any:
        body = _recorded(func, given.call, collect)
        return given._replace(call=body, out_dims=both_dims).run()

    if current_trace() is not None:
        return record()
    if is_plain():
        return _looped(collect, given, own_dims)
    try:
        found = given._replace(call=recorded, out_dims=own_dims).run(may_loop=False)
        return found, Failures((), ())
    except _HasEffectsError:
        return record()
    except Exception as error:
        way = None
        if not recorded.is_done:
            way = PlainWay(func, None)
            is_asked = options.fallback and options.autograph and given.size
            if not (is_asked and way.takes(error)):
                raise
    if way is not None:
        return way.run(lambda: _looped(collect, given, own_dims))
    try:
        return record()
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
    return _in_parts(recorded, given)


def _looped(
    collect: Collect, given: MapCall, out_dims: Callable[[Any, int], list[int | None]]
) -> tuple[Any, Failures]:
    """Run the plain loop, and go on where an example raises."""
    failures = Failures((), ())
    found: dict[int, list[Any]] = {}
    whole: Any = None
    for index in range(given.size):
        try:
            whole = _run_part(given, index, index + 1)
        except Exception as error:
            failures[index] = _renumbered(error, 0, index)
        else:
            found[index] = tree.flatten(whole)[0]
    if not found:
        raise _hopeless(given.func)
    leaves, structure = tree.flatten(whole)
    fills = _fills(given.func, tree.paths(whole, "the result"), leaves, collect.fill, structure)
    other = [np.full_like(leaf, fill) for leaf, fill in zip(leaves, fills, strict=True)]
    rows = [found.get(index, other) for index in range(given.size)]
    results = [np.concatenate(column) for column in zip(*rows, strict=True)]
    return _moved(results, structure, out_dims), failures


def _run_part(given: MapCall, low: int, high: int) -> Any:
    """Map the function over some of the examples, with the batch in front in all results."""
    parts = [
        x if axis is None else x[(*(slice(None),) * axis, slice(low, high))]
        for x, axis in zip(given.operands, given.in_dims, strict=True)
    ]
    return given._replace(
        operands=parts, size=high - low, out_dims=lambda _, count: [0] * count
    ).run()


def _moved(
    results: list[Any], structure: Any, out_dims: Callable[[Any, int], list[int | None]]
) -> Any:
    """Return the tree of results, the batch of each moved to where ``out_dims`` wants it."""
    dims = out_dims(tree.unflatten(structure, results), len(results))
    moved = [np.moveaxis(x, 0, dim or 0) for x, dim in zip(results, dims, strict=True)]
    return tree.unflatten(structure, moved)


class _Recorded:
    """Calls the function of a map that runs once as it is, and remembers what it gives."""

    def __init__(self, func: Any, call: Callable[[list[Tensor]], Any], collect: Collect) -> None:
        self.func, self.call, self.collect = func, call, collect
        #: Whether what follows are errors of examples.
        self.is_done = False
        self.fills: list[Any] = []
        self.types: list[Any] = []
        self.structure: Any = None

    def __call__(self, tensors: list[Tensor]) -> Any:
        try:
            result = self.call(tensors)
        except Stop:
            raise _hopeless(self.func) from None
        leaves, self.structure = tree.flatten(result)
        names = tree.paths(result, "the result")
        self.fills = _fills(self.func, names, leaves, self.collect.fill, self.structure)
        self.types = [lift(leaf).type for leaf in leaves]
        trace = current_trace()
        if trace is not None and trace.token is not None:
            raise _HasEffectsError
        return result


def _in_parts(recorded: _Recorded, given: MapCall) -> tuple[Any, Failures]:
    """Run parts of the batch, down to single examples, each of which succeeds or raises."""
    results = [
        np.full((given.size, *type.shape), fill, type.dtype)
        for type, fill in zip(recorded.types, recorded.fills, strict=True)
    ]
    failures = Failures((), ())
    todo: list[tuple[Any, Any]] = [(0, given.size)]
    while todo:
        low, high = todo.pop()
        try:
            found, _ = tree.flatten(_run_part(given, low, high))
        except MemoryError:
            raise
        except Exception as error:
            if high - low == 1:
                failures[low] = _renumbered(error.with_traceback(None), 0, low)
            else:
                middle = (low + high) // 2
                todo += [(middle, high), (low, middle)]
        else:
            for result, part in zip(results, found, strict=True):
                result[low:high] = part
    return _moved(results, recorded.structure, given.out_dims), failures


def _renumbered(error: BaseException, old: int, new: int | tuple[int, ...]) -> BaseException:
    """Return an error that names an example with the number that this has elsewhere."""
    said = f"in example {old}"
    told = f"in example {', '.join(map(str, new)) if isinstance(new, tuple) else new}"
    error.args = tuple([x.replace(said, told) if isinstance(x, str) else x for x in error.args])
    notes = getattr(error, "__notes__", None)
    if notes:
        error.__notes__ = [note.replace(said, told) for note in notes]
    return error
