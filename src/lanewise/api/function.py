"""`function`: a Python function becomes a traced one, which costs a few microseconds to call."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from time import perf_counter_ns
from types import MethodType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lanewise.api import nested
from lanewise.api.concrete import ConcreteFunction, executable_of
from lanewise.api.elsewhere import answers
from lanewise.api.faster import FasterPlain, Postponed, run_alone
from lanewise.api.features import features_of
from lanewise.api.keys import is_array_like, is_data, key_of
from lanewise.api.mapping import as_array, refuse_generators
from lanewise.api.parameters import Parameters
from lanewise.api.plain import is_disabled
from lanewise.api.postponable import as_it_stands, itself, plain_way, postponable
from lanewise.api.signature import Converted, Signature, symbolic
from lanewise.api.spec import TensorSpec
from lanewise.api.traces import MOST_RUNS, Traces
from lanewise.api.tracing import Arguments, record
from lanewise.api.transformed import reduced
from lanewise.api.writing import OnlyPlain, PlainCall, is_written_through
from lanewise.autograph.calls import fn
from lanewise.errors import EndlessRecursionError, annotate, at, function_name, shown
from lanewise.ir.dims import Dim, Shape
from lanewise.ir.location import here
from lanewise.trace import tree
from lanewise.trace.limits import TookTooLong, limited
from lanewise.trace.tensor import Tensor, read
from lanewise.trace.trace import state

_ndarray = np.ndarray


class _Options(NamedTuple):
    signature: Signature | None
    autograph: bool
    relax: bool
    compile: bool | None


@answers("function")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
    *,
    reduce_retracing: bool | None = None,
    jit_compile: bool | None = None,
) -> Any:
    """Trace a function once, and run what was recorded from then on.

    Returns a function that gives what `func` gives. Its Python runs when it is called with
    arguments of new dtypes, shapes, structure or Python values; later calls cost a few
    microseconds, and run natively once that pays. It may map (`lanewise.vmap`) or not.

    Parameters
    ----------
    func : callable, optional
        What to trace: a function, method, or any other callable. Without it a decorator is
        returned.
    input_signature : sequence of TensorSpec, optional
        The arguments' shapes and dtypes, in containers shaped like the arguments. There is one
        trace then, for all sizes that are None; arguments are converted to these dtypes, where that
        is safe.
    autograph : bool
        Whether Python's control flow follows the data.
    experimental_autograph_options : Feature or several, optional
        Accepted and checked; the conversion always does all that it can.
    experimental_relax_shapes, reduce_retracing : bool
        Whether a size that was seen to vary becomes any size, rather than another trace.
    experimental_compile, jit_compile : bool, optional
        False interprets; True compiles at the first call, or raises; None compiles when it pays.

    Returns
    -------
    Function
        To be called like `func`.

    Raises
    ------
    TypeError
        If `func` cannot be traced, `input_signature` is no sequence of `TensorSpec`, or, at a call,
        an argument is neither data nor hashable, or does not fit the signature.
    ValueError
        At a call: if shapes do not fit the signature, or `experimental_compile` is True and
        something cannot be compiled; the message names each operation and its line.

    Notes
    -----
    Arrays and NumPy's scalars are data. Python numbers, strings, None and hashable objects are
    constants of a trace, and objects among them are not kept alive. Arrays that the function meets
    elsewhere (globals, closures, attributes) are what they were when it was traced.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> @lw.function
    ... def scaled(x, times=1):
    ...     print("tracing")
    ...     while x.sum() < 10:
    ...         x = x * 2
    ...     return x * times
    >>> scaled(np.array([1.0, 2.0]))
    tracing
    array([4., 8.])
    >>> scaled(np.array([3.0, 3.0]))
    array([6., 6.])
    >>> scaled(np.array([3.0, 3.0]), times=2)
    tracing
    array([12., 12.])
    >>> scaled.experimental_get_tracing_count()
    2
    """
    features_of(experimental_autograph_options)
    relax = experimental_relax_shapes if reduce_retracing is None else reduce_retracing
    compile = experimental_compile if jit_compile is None else jit_compile
    if compile not in (None, False, True):
        raise TypeError(f"experimental_compile is True, False or None, not {compile!r}")
    signature = None if input_signature is None else Signature(input_signature)
    options = _Options(signature, bool(autograph), bool(relax), compile)
    if func is None:
        return lambda func: Function(func, options)
    return Function(func, options)


class Function:
    """A traced function, as `function` returns it; it looks like the function it was made of.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> double = lw.function(lambda x: x * 2)
    >>> double(np.arange(3)), double(np.arange(3) + 1)
    (array([0, 2, 4]), array([2, 4, 6]))
    >>> print(double.pretty_printed_concrete_signatures())
    <lambda>(x: int64[3]) -> int64[3]
    """

    def __init__(self, func: Callable[..., Any], options: _Options) -> None:
        self._binds = not isinstance(func, staticmethod)
        if isinstance(func, staticmethod):
            func = func.__func__
        if not callable(func) and not isinstance(func, classmethod):
            raise TypeError(f"lanewise.function takes a function, not {type(func).__name__}")
        refuse_generators(func.__func__ if isinstance(func, classmethod) else func, "traced")
        self.__wrapped__ = func
        self.__doc__ = getattr(func, "__doc__", None)
        self.__module__ = getattr(func, "__module__", None) or __name__
        self._options = options
        self._use(Traces())
        self._by_instance: dict[int, tuple[weakref.ref[Any], Traces]] = {}
        self._cached_parameters: Parameters | None = None

    # --- calls ----------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # of pytest and IPython
        is_plain = False
        try:
            if state.trace is None:
                for known, run in self._guards:  # calls like those that are made again and again
                    arrays = known(args, kwargs)
                    if arrays is not None:
                        self._tick()
                        try:
                            return run(arrays, args, kwargs)
                        except OnlyPlain:
                            is_plain = True
                        except PlainCall:
                            pass
                        break
                if not (kwargs or is_plain):
                    # Arrays by position, of dtypes and shapes that were seen before.
                    key = tuple([(x.dtype, x.shape) if type(x) is _ndarray else None for x in args])
                    run = self._runs.get(key)
                    if run is not None:
                        self._tick()
                        self._traces.repeated(key, args, kwargs, args, run)
                        try:
                            return run(args)
                        except OnlyPlain:
                            is_plain = True
                        except PlainCall:
                            pass
            if is_plain and self._options.signature is None:
                return self.__wrapped__(*args, **kwargs)
            return self._call(args, kwargs)
        except Exception as error:
            if state.trace is not None:
                raise
            raise shown(error)  # noqa: B904  (the same exception)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if state.trace is None and is_disabled():
            return self.__wrapped__(*args, **kwargs)
        given_args, given_kwargs = args, kwargs
        args, kwargs = self._parameters.bind(args, kwargs)
        signature = self._options.signature
        converted = None
        if signature is not None:
            converted = signature.converted(self._name, self._parameters, args, kwargs)
            args = converted.args
        if state.trace is not None:
            if converted is not None:
                return self._inlined_converted(converted, kwargs)
            return self._inlined(given_args, given_kwargs)
        if signature is None and self._traces.refusals.skips():
            return run_alone(self.__wrapped__, args, kwargs)
        arguments = Arguments.of(self._name, self._parameters, args, kwargs)
        traces = self._traces
        concrete = traces.find(arguments)
        if concrete is None:
            with traces.lock:  # of several threads that come here, one traces
                concrete = traces.find(arguments)
                if concrete is None:
                    concrete = self._traced(arguments)
                    func = self.__wrapped__
                    traces.note_varied(given_args, given_kwargs, arguments, concrete, func)
        else:
            self._tick()
        arrays = arguments.arrays
        faster = None
        if isinstance(concrete, Postponed):
            traces.remember(given_args, given_kwargs, arguments, concrete, self.__wrapped__)
            faster = concrete.call
        elif concrete.is_for(args, kwargs) and self._may_write(concrete, arguments, converted):
            traces.remember(given_args, given_kwargs, arguments, concrete, self.__wrapped__)
            try:
                if arguments.is_plain:
                    return concrete.run(arrays, args, kwargs)
                return concrete.left(concrete.run_traced(arrays), args, kwargs)
            except FasterPlain as call:
                faster = call.with_traceback(None)
            except PlainCall:
                pass
        if faster is not None:
            again = partial(self._call, given_args, given_kwargs)
            return faster.run(itself(self.__wrapped__), args, kwargs, arrays, again)
        # Outside of the handler: what it raises is the user's, with no exception before it.
        return self.__wrapped__(*args, **kwargs)

    def _may_write(
        self, concrete: ConcreteFunction, arguments: Arguments, converted: Converted | None
    ) -> bool:
        """Whether what a trace writes to arguments reaches the caller, if they do not overlap.

        Raises `TypeError` if nothing could: where the input_signature has made a copy of one.
        """
        if converted is not None and concrete.places:
            converted.refuse_containers(self._name)
        for i in concrete.writes.positions:
            given, array = arguments.given_data[i], arguments.arrays[i]
            if converted is not None:
                converted.refuse(given)
            if not is_written_through(given, array):
                return False
        return True

    def _inlined_converted(self, converted: Converted, kwargs: dict[str, Any]) -> Any:
        tensors = [x for x, _ in converted.copies.values() if isinstance(x, Tensor)]
        before = [read(x) for x in tensors]
        result = self._inlined(converted.args, kwargs)
        for x, value in zip(tensors, before, strict=True):
            if read(x) is not value:
                converted.refuse(x)
        return result

    def _inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run as a part of what is being traced, or record what an equal call has recorded."""
        func, calls = self.__wrapped__, self._traces.calls
        bound = self._parameters.bind(args, kwargs)
        call = nested.taken_apart(func, *bound)
        known = calls.find(call)
        if call is not None and known is not None:
            return known.again(call)
        watch = None if call is None else nested.Watch(func, call)
        with _Tracing(self, call and call.types):
            self._traces.count += 1
            result = (fn(func) if self._options.autograph else func)(*args, **kwargs)
        if call is not None and watch is not None:
            calls.enter(call, watch.recorded(bound, result))
        return result

    # --- tracing ----------------------------------------------------------------------------------

    def _traced(self, arguments: Arguments) -> ConcreteFunction | Postponed:
        """Trace the function for the arguments of a call; if that takes too long, put it off."""
        traces, options = self._traces, self._options
        is_free = options == _Options(None, autograph=True, relax=False, compile=None)
        known = traces.postponed.get(arguments.key) if is_free else None
        if known is not None and not known.is_due:
            return known
        varied = traces.varied_like(arguments) if is_free else None
        if varied is not None and (itself_runs := varied.next()) is not None:
            return itself_runs
        paths = lambda: self._leaf_paths(arguments)  # noqa: E731
        traces.note(self._name, arguments, paths)
        if options.signature is not None:
            return self._made(arguments, options.signature.shapes(paths(), arguments))
        exact: tuple[Shape, ...] = tuple([key[1] for key in arguments.keys if is_data(key)])
        if options.relax:
            shapes = traces.observe(arguments)
            if shapes is not None:
                try:
                    return self._made(arguments, shapes)
                except (TypeError, ValueError):
                    # Not every function can do without the sizes (a length that steers Python, two
                    # that must be the same). If it is another mistake, it shows again here:
                    return self._made(arguments, exact)
        plain = postponable(self.__wrapped__, arguments, known) if is_free else None
        way = plain_way(self.__wrapped__, arguments) if is_free else None
        start = perf_counter_ns()
        try:
            with limited(math.inf if plain is None else plain.nanoseconds):
                made = self._made(arguments, exact, plain)
            traces.refusals.note(None)
            if varied is not None and made.race is not None:
                varied.note(perf_counter_ns() - start, made.race.estimated)
                if varied.is_often and (found := postponable(self.__wrapped__, arguments)):
                    varied.plain = found.stay()
            return made
        except (TookTooLong, Exception) as error:
            refused = None
            if way is not None:
                refused = as_it_stands(self.__wrapped__, arguments, way, error, known)
            if refused is not None:
                plain = refused
                traces.refusals.note(refused)
                if varied is not None:
                    varied.note_refused(perf_counter_ns() - start, refused)
            elif plain is None or (isinstance(error, Exception) and plain.is_last(known)):
                raise
            else:
                plain.put_off(error)  # what went well until now goes on so
            if len(traces.postponed) >= MOST_RUNS:
                traces.postponed.clear()
            traces.postponed[arguments.key] = plain
            return plain

    def _made(
        self,
        arguments: Arguments,
        shapes: tuple[Shape, ...],
        plain: Postponed | None = None,
    ) -> ConcreteFunction:
        options = self._options
        with _Tracing(self, (arguments.structure, *arguments.keys)):
            try:
                recording = record(self.__wrapped__, arguments, shapes, options.autograph)
                recording = recording.settled()
            except ValueError as error:
                symbols = sorted({str(d) for s in shapes for d in s if isinstance(d, Dim)})
                if len(symbols) > 1 and any(symbol in str(error) for symbol in symbols):
                    annotate(
                        error,
                        f"({', '.join(symbols)} are sizes that are not known, and may differ; "
                        'where they are the same, give them one name: lw.TensorSpec(["n", "n"]))',
                    )
                raise
        make = partial(executable_of, self._name, options.compile)
        concrete = ConcreteFunction(
            self._name,
            self._parameters,
            arguments,
            shapes,
            recording,
            make,
            options.compile,
        )
        if plain is not None and recording.is_alone:
            concrete.watch(plain)
        self._traces.add(arguments, concrete)
        return concrete

    def _leaf_paths(self, arguments: Arguments) -> list[str]:
        args, kwargs = tree.unflatten(arguments.structure, list(arguments.leaves))
        return self._parameters.paths(args, kwargs)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the trace for these arguments; it is made if there is none yet.

        Parameters
        ----------
        *args, **kwargs
            The arguments of a call, where a `TensorSpec` may stand for an array; with an
            ``input_signature``, none.
        """
        if state.trace is not None:
            raise RuntimeError(
                f"get_concrete_function of {self._name} within a traced function{at(here())}"
            )
        parameters, signature = self._parameters, self._options.signature
        if signature is not None:
            if not args and not kwargs:
                args = signature.tree
            args, kwargs = signature.filled(self._name, parameters, args, kwargs)
        args, kwargs = parameters.bind(args, kwargs)
        leaves, structure = tree.flatten((args, kwargs))
        paths = parameters.paths(args, kwargs)
        given = list(leaves)
        keys, shapes = [], []
        for position, (leaf, path) in enumerate(zip(leaves, paths, strict=True)):
            if isinstance(leaf, TensorSpec):
                shape = _shape_of(leaf, path)
                keys.append((leaf.dtype, shape))
                shapes.append(shape)
            else:
                if is_array_like(leaf):
                    leaf = leaves[position] = as_array(leaf, lambda path=path: path)
                keys.append(key_of(leaf, lambda path=path: f"{self._name}: {path}"))
                if is_data(keys[-1]):
                    shapes.append(keys[-1][1])
        arguments = Arguments(structure, leaves, keys, given)
        with self._traces.lock:
            found = self._traces.find_general(arguments, tuple(shapes))
            if found is None and not any(isinstance(d, Dim) for s in shapes for d in s):
                found = self._traces.find(arguments)
            if found is None:
                found = self._made(arguments, tuple(shapes))
        return found.keep()

    def experimental_get_tracing_count(self) -> int:
        """Return how often the Python function was traced."""
        return self._traces.count

    def pretty_printed_concrete_signatures(self) -> str:
        """Return what the function was traced for, a line for each trace."""
        return "\n".join(map(str, self._traces.all()))

    # --- what it is -------------------------------------------------------------------------------

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function that is traced."""
        return self.__wrapped__

    @property
    def input_signature(self) -> Any:
        """What was given as ``input_signature``."""
        signature = self._options.signature
        return None if signature is None else signature.tree

    @property
    def _name(self) -> str:
        return function_name(self.__wrapped__).rpartition(".")[2]

    @property
    def _parameters(self) -> Parameters:
        if self._cached_parameters is None:
            parameters = Parameters(self.__wrapped__)
            if self._options.signature is not None:
                self._options.signature.check(self._name, parameters)
            self._cached_parameters = parameters
        return self._cached_parameters

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function: each object has traces of its own, which go when it goes."""
        func = self.__wrapped__
        bind = getattr(type(func), "__get__", None) if self._binds else None
        if bind is None or (instance is None and not isinstance(func, classmethod)):
            return self
        bound = bind(func, instance, owner)
        target = getattr(bound, "__self__", None)
        if bound is func or target is None:
            return self
        try:
            traces = self._traces_of(target)
        except TypeError:  # nothing can refer to it weakly: it is an argument like others
            return MethodType(self, target)
        method = object.__new__(Function)
        method.__dict__.update(self.__dict__)
        method.__wrapped__ = bound
        method._use(traces)
        method._cached_parameters = None
        return method

    def _use(self, traces: Traces) -> None:
        self._traces = traces
        self._runs, self._guards, self._tick = traces.runs, traces.guards, traces.tick.__next__

    def _traces_of(self, target: Any) -> Traces:
        key, table = id(target), self._by_instance
        known = table.get(key)
        if known is None:
            reference = weakref.ref(target, lambda _: table.pop(key, None))
            known = table.setdefault(key, (reference, Traces()))
        return known[1]

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> Any:
        signature, *options = self._options
        tree = None if signature is None else signature.tree
        return reduced(self, self.__wrapped__, (self.__wrapped__, tree, *options, self._binds))

    def __setstate__(self, state: Any) -> None:
        func, signature, *options, binds = state
        signature = None if signature is None else Signature(signature)
        self.__init__(func, _Options(signature, *options))
        self._binds = binds

    def __repr__(self) -> str:
        return f"<function {function_name(self.__wrapped__)} of lanewise>"


_LATER = (
    "{} was traced before, and each trace would make another. Make it once, outside or if there "
    "is none yet, and keep it: as `if self.v is None: self.v = lw.Variable(0.0)`"
)


class _Active(threading.local):
    functions: tuple[tuple[Traces, Hashable], ...] = ()


#: How often a function may call itself while it is traced, with other plain arguments each time.
MOST_RECURSION = 100


_active = _Active()


class _Tracing:
    """While a function is traced, or runs as a part of another's trace.

    It may call itself with other plain arguments, until these end that. With the same ones it would
    never end.
    """

    __slots__ = ("_before", "_function", "_key", "_outer")

    def __init__(self, function: Function, key: Hashable = None) -> None:
        self._function = function
        self._key = key

    def __enter__(self) -> None:
        self._before, traces = _active.functions, self._function._traces
        own = [key for known, key in self._before if known is traces]
        if own and ((self._key is not None and self._key in own) or len(own) > MOST_RECURSION):
            _refuse_recursion(self._function)
        _active.functions = (*self._before, (traces, self._key))
        self._outer = state.function, state.no_variables
        state.function = self._function._name
        state.no_variables = None if traces.may_create else _LATER.format(self._function._name)

    def __exit__(self, kind: Any, *_: Any) -> None:
        _active.functions = self._before
        state.function, state.no_variables = self._outer
        if kind is None:
            self._function._traces.may_create = False


def _refuse_recursion(function: Function) -> NoReturn:
    name = function._name
    raise EndlessRecursionError(
        f"{name} calls itself{at(here())}, and no plain number among its arguments ends that: a "
        "traced function becomes a part of what calls it, so it would never end. Write a loop with "
        "the stack in an array, or pass a depth that is a plain number, and end there"
    )


def _shape_of(spec: TensorSpec, path: str) -> Shape:
    """Return the shape of a spec, with symbols for sizes that are not known."""
    if spec.shape is None:
        raise ValueError(
            f"{path}: a trace is for one number of dimensions; pass a TensorSpec with a shape, in "
            "which None is any size"
        )
    return symbolic(spec.shape, path)
