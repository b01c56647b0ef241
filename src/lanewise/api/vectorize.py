"""`vectorize`: the interface of ``np.vectorize``, batched."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import numpy as np

from lanewise.api.collecting import collect_of, collected
from lanewise.api.mapping import MapCall, Options, as_array, refuse_generators
from lanewise.api.plain import is_plain
from lanewise.api.transformed import reduced
from lanewise.autograph.calls import MAKERS, fn
from lanewise.autograph.state import PROMOTED
from lanewise.errors import UnsupportedError, annotate, function_name, shown
from lanewise.ops.contraction import parse_signature
from lanewise.trace.foreign import check_dtype
from lanewise.trace.scratch import is_traced
from lanewise.trace.tensor import WEAK_DTYPES, Tensor, as_tensor, weak
from lanewise.trace.trace import state, where
from lanewise.trace.views import writable


class vectorize:  # noqa: N801 (the name that NumPy gives it)
    """Make a function of scalars (or of small arrays) broadcast over arrays, as a batch.

    The interface of ``numpy.vectorize``: changing ``np.`` to ``lw.`` makes existing code fast.

    Parameters
    ----------
    pyfunc : callable
        Takes and returns scalars, or arrays of the core shapes that `signature` says. It is run on
        tensors once a call, not once an element. Without it, `vectorize` gives a decorator.
    otypes : str or list of dtypes, optional
        The dtypes of the outputs; by default those that `pyfunc` gives.
    doc : str, optional
        The docstring; by default that of `pyfunc`.
    excluded : set of str or int, optional
        Names or positions of arguments that are passed to `pyfunc` whole.
    cache : bool, optional
        Accepted for compatibility: `pyfunc` is never called just to find out its outputs.
    signature : str, optional
        Core dimensions, like ``(m,n),(n)->(m)``.
    on_error, fill_value
        As for `vmap`; the index of an element is a tuple where there are several dimensions.

    Raises
    ------
    ValueError
        If arguments do not broadcast, core dimensions disagree, or outputs are not as announced.
    TypeError
        If the number of arguments is not that of `signature`.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> clipped = lw.vectorize(lambda a, b: np.minimum(a * a, b))
    >>> clipped([1, 2, 3], [[5], [2]])
    array([[1, 4, 5],
           [1, 2, 2]])
    >>> lw.vectorize(np.convolve, signature="(n),(m)->(k)")(np.eye(3), [1, 2, 1]).shape
    (3, 5)
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any] | None = None,
        otypes: str | Iterable[Any] | None = None,
        doc: str | None = None,
        excluded: Iterable[str | int] | None = None,
        cache: bool = False,
        signature: str | None = None,
        *,
        on_error: str = "raise",
        fill_value: Any = None,
    ) -> None:
        self._collect = collect_of("vectorize", on_error, fill_value)
        if pyfunc is not None and not callable(pyfunc):
            raise TypeError("When used as a decorator, only accepts keyword arguments.")
        self.pyfunc = pyfunc
        self.cache = cache
        self.signature = signature
        self.excluded = set(excluded or ())
        if not all(isinstance(key, (str, int)) for key in self.excluded):
            raise TypeError("excluded must hold names and positions of arguments")
        self.otypes = None if otypes is None else _checked_otypes(otypes)
        self._core = None if signature is None else _checked_signature(signature)
        self._doc = doc
        if pyfunc is not None:
            self._adopt(pyfunc)

    def _adopt(self, pyfunc: Callable[..., Any]) -> None:
        refuse_generators(pyfunc)
        self.pyfunc = pyfunc
        self.__name__ = getattr(pyfunc, "__name__", type(pyfunc).__name__)
        self.__qualname__ = getattr(pyfunc, "__qualname__", self.__name__)
        self.__module__ = getattr(pyfunc, "__module__", None) or __name__
        self.__doc__ = getattr(pyfunc, "__doc__", None) if self._doc is None else self._doc
        self.__wrapped__ = pyfunc

    def __reduce__(self) -> Any:
        settings = self.otypes, self._doc, self.excluded, self.cache, self.signature
        return reduced(self, self.pyfunc, (self.pyfunc, *settings, self._collect))

    def __setstate__(self, state: Any) -> None:
        *settings, collect = state
        self.__init__(*settings)
        self._collect = collect

    def __repr__(self) -> str:
        return f"<vectorize of {function_name(self.pyfunc)}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function, self excluded, so that a method can be decorated."""
        bind = getattr(self.pyfunc, "__get__", None)
        if instance is None or bind is None:
            return self
        excluded = {k - 1 if isinstance(k, int) else k for k in self.excluded} - {-1}
        bound = vectorize(
            bind(instance, owner), self.otypes, self._doc, excluded, self.cache, self.signature
        )
        bound._collect = self._collect
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # of pytest and IPython
        try:
            return self._call(args, kwargs)
        except Exception as error:
            if state.trace is not None:
                raise
            raise shown(error)  # noqa: B904  (the same exception)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.pyfunc is None:  # as a decorator that was given its settings first
            if len(args) != 1 or kwargs or not callable(args[0]):
                raise TypeError("a decorator takes the function that it is to vectorize, only")
            self._adopt(args[0])
            return self
        names = [n for n, x in kwargs.items() if n not in self.excluded and not _is_option(x)]
        positions = [i for i, x in enumerate(args) if i not in self.excluded and not _is_option(x)]
        operands = [_as_operand(args[i], f"args[{i}]") for i in positions]
        operands += [_as_operand(kwargs[name], f"kwargs[{name!r}]") for name in names]
        if not operands and self._core is None:
            return self.pyfunc(*args, **kwargs)
        given = len(args) + len(kwargs)
        ranks, sizes = self._core_sizes(operands, positions if given > len(operands) else None)
        loops = [x.shape[: len(x.shape) - n] for x, n in zip(operands, ranks, strict=True)]
        shape = self._broadcast(loops)
        count = math.prod(shape)
        if not count and (self.otypes is not None or self._core is None):
            return self._empty(shape, sizes)
        axes: list[int | None] = []
        flat = []
        for x, loop in zip(operands, loops, strict=True):
            core = x.shape[len(loop) :]
            if loop:
                x = np.reshape(np.broadcast_to(x, (*shape, *core)), (count, *core))
            flat.append(x)
            axes.append(0 if loop else None)  # the same for every element of the batch
        function = self.pyfunc

        def call(tensors: list[Tensor]) -> Any:
            arguments, keywords = list(args), dict(kwargs)
            for i, tensor in zip(positions, tensors, strict=False):
                arguments[i] = tensor
            keywords.update(zip(names, tensors[len(positions) :], strict=True))
            result = fn(function)(*arguments, **keywords)
            if is_plain():
                return self._plain_outputs(result)
            return self._outputs(result, dict(sizes))

        if is_plain():
            flat = [np.asarray(x)[()] if d is None else x for x, d in zip(flat, axes, strict=True)]
        given = MapCall(function, flat, axes, count, call, lambda _, n: [0] * n, Options(), str)
        results = collected(self._collect, given)
        if self._collect is not None:
            results, failures = results
            return _shaped(results, shape), failures.placed(shape)
        return _shaped(results, shape)

    def _core_sizes(
        self, operands: list[Any], positions: list[int] | None = None
    ) -> tuple[list[int], dict[str, int]]:
        """Return how many dimensions of each operand are core dimensions, and their sizes.

        ``positions`` are those of the operands that are given by position, if there are options
        beside them, which the signature may count.
        """
        sizes: dict[str, int] = {}
        if self._core is None:
            return [0] * len(operands), sizes
        inputs, _ = self._core
        if positions is not None and len(inputs) > len(operands):
            inputs = [names for i, names in enumerate(inputs) if i in positions]
        if len(operands) != len(inputs):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(inputs)}, got "
                f"{len(operands)}{where()}"
            )
        for position, (x, names) in enumerate(zip(operands, inputs, strict=True)):
            if len(x.shape) < len(names):
                raise ValueError(
                    f"{len(x.shape)}-dimensional argument {position} does not have enough "
                    f"dimensions for all core dimensions {names}{where()}"
                )
            self._enter(sizes, names, x.shape[len(x.shape) - len(names) :], f"argument {position}")
        return [len(names) for names in inputs], sizes

    def _enter(
        self, sizes: dict[str, Any], names: tuple[str, ...], shape: tuple[Any, ...], what: str
    ) -> None:
        """Enter the sizes of the core dimensions in a shape, which must agree with the others."""
        for name, dim in zip(names, shape, strict=True):
            if sizes.setdefault(name, dim) != dim:
                raise ValueError(
                    f"inconsistent size for core dimension {name!r} of {what}: {dim} vs "
                    f"{sizes[name]}{where()}"
                )

    def _broadcast(self, loops: list[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*loops)
        except ValueError as error:
            annotate(error, f"in a call of vectorize({function_name(self.pyfunc)}){where()}")
            raise

    def _empty(self, shape: tuple[int, ...], sizes: dict[str, int]) -> Any:
        """Return the outputs for no element at all, as `numpy.vectorize` does: without a call."""
        if self.otypes is None:
            raise ValueError(
                f"cannot call `vectorize` on size 0 inputs unless `otypes` is set{where()}"
            )
        cores = [()] * len(self.otypes) if self._core is None else self._core[1]
        if not {n for names in cores for n in names} <= {*sizes}:
            raise ValueError(
                "cannot call `vectorize` with a signature including new output dimensions on size "
                f"0 inputs{where()}"
            )
        if len(cores) != len(self.otypes):
            raise ValueError(f"otypes has {len(self.otypes)} entries for {len(cores)} outputs")
        found = [
            np.empty((*shape, *[sizes[n] for n in names]), dtype)
            for names, dtype in zip(cores, self.otypes, strict=True)
        ]
        return tuple(found) if len(found) > 1 else found[0]

    def _outputs(self, result: Any, sizes: dict[str, int]) -> Any:
        """Return the outputs of one example as announced, or raise where they are not."""
        several = isinstance(result, tuple)
        given = result if several else (result,)
        if any(output is None or isinstance(output, dict) for output in given):
            raise ValueError(
                f"vectorize({function_name(self.pyfunc)}) takes a function that returns arrays or "
                f"numbers, or a tuple of these, but it returned {result!r}"
            )
        outputs = [as_tensor(output, f"output {i}") for i, output in enumerate(given)]
        expected = len(outputs) if self._core is None else len(self._core[1])
        if len(outputs) != expected:
            raise ValueError(
                f"wrong number of outputs from pyfunc: expected {expected}, got {len(outputs)}"
            )
        for index, output in enumerate(outputs):
            names = () if self._core is None else self._core[1][index]
            if len(output.shape) != len(names):
                raise ValueError(
                    f"vectorize({function_name(self.pyfunc)}): output {index} of one example has "
                    f"shape {output.shape}, but {self._announced(names)}"
                )
            self._enter(sizes, names, output.shape, f"output {index}")
        if self.otypes is not None:
            if len(self.otypes) != len(outputs):
                raise ValueError(
                    f"otypes has {len(self.otypes)} entries for {len(outputs)} outputs of pyfunc"
                )
            outputs = [_converted(x, kind) for x, kind in zip(outputs, self.otypes, strict=True)]
        return tuple(outputs) if several else outputs[0]

    def _plain_outputs(self, result: Any) -> Any:
        """Return the outputs of one example, of the dtypes that were announced."""
        if self.otypes is None:
            return result
        several = isinstance(result, tuple)
        given = result if several else (result,)
        found = [np.asarray(x).astype(t) for x, t in zip(given, self.otypes, strict=True)]
        return tuple(found) if several else found[0]

    def _announced(self, names: tuple[str, ...]) -> str:
        if self._core is None:
            return (
                "without signature it must be a scalar; give signature='...->(n)', or use lw.vmap"
            )
        return f"the signature announces ({','.join(names)})"


def _is_option(value: Any) -> bool:
    """Whether an argument is no number and no array: every call of the function gets it as it is.

    NumPy makes an array without dimensions of it, and hands over its element.
    """
    if value is None or isinstance(value, (str, bytes, Enum)):
        return True
    if isinstance(value, (np.ndarray, np.generic, int, float, complex, list, tuple, Tensor)):
        return False
    if hasattr(value, "__array__"):
        return False
    return callable(value) or np.asarray(value).dtype == object


def _shaped(results: Any, shape: tuple[int, ...]) -> Any:
    """Return results of all elements in the shape that these have."""
    if isinstance(results, tuple):
        return tuple([np.reshape(r, (*shape, *r.shape[1:])) for r in results])
    return np.reshape(results, (*shape, *results.shape[1:]))


def _as_operand(value: Any, path: str) -> Any:
    return value if isinstance(value, Tensor) else as_array(value, lambda: path)


def _converted(output: Tensor, dtype: np.dtype) -> Tensor:
    if output.dtype.kind == "c" and dtype.kind not in "bc":
        raise TypeError(f"an output is complex, but otypes says {dtype}")
    return output.astype(dtype)


def _checked_otypes(otypes: str | Iterable[Any]) -> list[np.dtype]:
    """Return the dtypes that `otypes` gives, or raise as `numpy.vectorize` does."""
    if isinstance(otypes, str):
        for char in otypes:
            if char not in np.typecodes["All"]:
                raise ValueError(f"Invalid otype specified: {char}")
    elif not np.iterable(otypes):
        raise ValueError("Invalid otype specification")
    dtypes = [np.dtype(kind) for kind in otypes]
    for dtype in dtypes:
        check_dtype(dtype, "an output announced by otypes")
    return dtypes


def _checked_signature(signature: str) -> Any:
    """Return the core dimensions of a signature, or raise for what is none."""
    if not _SIGNATURE.fullmatch(signature.replace(" ", "")):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    return parse_signature(signature)


_ARGUMENTS = r"\((\w+(,\w+)*)?\)(,\((\w+(,\w+)*)?\))*"
_SIGNATURE = re.compile(f"{_ARGUMENTS}->{_ARGUMENTS}")


# --- objects of NumPy's ---------------------------------------------------------------------------

#: By dtype the Python numbers that ``np.vectorize`` hands to its function.
_NUMBERS = {dtype: kind for kind, dtype in WEAK_DTYPES.items()}


def _followed(f: np.vectorize) -> Callable[..., Any]:
    """Return what is called in place of an object of ``np.vectorize``: a map, on data."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if f.pyfunc is np._NoValue or not (is_traced(args) or is_traced(kwargs)):
            return f(*args, **kwargs)
        pyfunc = f.pyfunc if f.signature is not None else _of_numbers(f)
        mapped = vectorize(pyfunc, f.otypes, None, f.excluded, f.cache, f.signature)
        results = mapped(*args, **kwargs)
        if isinstance(results, tuple):
            return tuple(map(_as_array, results))
        return _as_array(results)

    return call


def _as_array(x: Any) -> Any:
    return writable(x) if isinstance(x, Tensor) else x


def _of_numbers(f: np.vectorize) -> Callable[..., Any]:
    """Return the function on Python's numbers, which ``np.vectorize`` calls it with."""

    def number(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.shape:
            return x
        kind = _NUMBERS.get(x.dtype)
        if kind is None:
            raise UnsupportedError(
                f"np.vectorize of an array of {x.dtype}{where()} computes with Python's numbers "
                "and converts them to what the first element gave. Convert the array before, by "
                "x.astype(float) or x.astype(int), or use lw.vectorize"
            )
        return weak(x, kind)

    def pyfunc(*args: Any, **kwargs: Any) -> Any:
        given = [x if i in f.excluded else number(x) for i, x in enumerate(args)]
        named = {k: x if k in f.excluded else number(x) for k, x in kwargs.items()}
        before = PROMOTED[0]
        result = fn(f.pyfunc)(*given, **named)
        if f.otypes is None and PROMOTED[0] != before:
            raise UnsupportedError(
                f"np.vectorize({function_name(f.pyfunc)}){where()} gives the dtype that the first "
                "element has, and which that is depends on the data. Give it otypes=, or return "
                "numbers of one kind, as 0.0 for 0"
            )
        return result

    pyfunc.__name__ = function_name(f.pyfunc)
    return pyfunc


MAKERS[np.vectorize] = _followed
