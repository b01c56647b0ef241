"""`Variable`: an array that is kept from call to call, and learned."""

from __future__ import annotations

import operator
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lanewise.errors import at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.trace.tensor import AS_ARRAY, Tensor
from lanewise.trace.trace import Trace, current_trace, plain_array

_numbers = iter(range(1, 1 << 62))
_owners: WeakValueDictionary[int, Variable] = WeakValueDictionary()


class Variable:
    """An array with a value that can be assigned; it works wherever an array does.

    Parameters
    ----------
    value : array_like
        The first value; it is copied.
    trainable : bool
        Whether a `GradientTape` watches it by itself, and modules list it as to be learned.
    dtype : dtype, optional
        That of the value otherwise.
    name : str, optional
        For messages.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> v = lw.Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0])
    >>> v * 2
    array([4., 6.])
    >>> v[0] = 7
    >>> np.asarray(v)
    array([7., 3.])
    """

    __slots__ = ("__weakref__", "_array", "name", "trainable")

    __array_priority__ = 900

    def __init__(
        self, value: Any, trainable: bool = True, dtype: Any = None, name: str | None = None
    ) -> None:
        array = plain_array(np.array(value, dtype), lambda: "the value of a Variable")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        self._hold(array)
        self.trainable = bool(trainable)
        self.name = f"variable{next(_numbers)}" if name is None else str(name)

    @property
    def value(self) -> Any:
        """The value: an array that cannot be written to, or inside of a trace a tensor."""
        found, trace = _now(self), current_trace()
        if trace is None or isinstance(found, Tensor):
            return found
        return Tensor(trace, trace.read(self, found))

    @property
    def current(self) -> np.ndarray:
        """The value as an array, or the array that stands for it, inside of traces too."""
        return np.asarray(_now(self), self.dtype)

    @property
    def dtype(self) -> np.dtype:
        """The dtype, which stays."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which stays."""
        return self._array.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    def assign(self, value: Any) -> None:
        """Make an array of the same shape the value, in the dtype of the variable."""
        self._set(value, "assign")

    def assign_add(self, delta: Any) -> None:
        """Add to the value what can be broadcast to its shape."""
        self._change(operator.add, delta, "assign_add")

    def assign_sub(self, delta: Any) -> None:
        """Subtract from the value what can be broadcast to its shape."""
        self._change(operator.sub, delta, "assign_sub")

    def _change(self, function: Any, other: Any, what: str) -> None:
        other = self._plain(other, what)
        try:
            fits = np.broadcast_shapes(other.shape, self.shape) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"{what}: the variable {self.name!r} has shape {self.shape}, to which "
                f"{other.shape} is not broadcast{at(here())}"
            )
        self._set(function(self._array, other), what)

    def _plain(self, value: Any, what: str) -> np.ndarray:
        trace = current_trace()
        if trace is not None and not trace.is_eager:
            raise RuntimeError(
                f"{what} of the variable {self.name!r} within a traced function{at(here())}: "
                "variables are assigned outside, with what the function returns"
            )
        return plain_array(np.asarray(value), lambda: f"what is given to {what}")

    def _set(self, value: Any, what: str) -> None:
        array = self._plain(value, what)
        if array.shape != self._array.shape:
            raise ValueError(
                f"{what}: the variable {self.name!r} has shape {self._array.shape}, not "
                f"{array.shape}{at(here())}"
            )
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"{what}: the variable {self.name!r} has dtype {self.dtype}, to which "
                f"{array.dtype} is not converted{at(here())}"
            )
        self._hold(array.astype(self.dtype))

    def _hold(self, array: np.ndarray) -> None:
        """Make a new array the value: who has read the old one keeps that as it was."""
        array.flags.writeable = False
        known = getattr(self, "_array", None)
        _owners.pop(id(known), None)
        self._array = array
        _owners[id(array)] = self

    def values_in(self, trace: Trace) -> list[Value]:
        """Return what stood for the variable in a trace, each time that it was another array."""
        return list((trace.reads or {}).get(id(self), (self, {}))[1])

    # --- as an array ------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = _now(self)
        if copy is False:  # NumPy refuses what it cannot give without
            return np.array(found, dtype, copy=False)
        return np.array(found, dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        given = [_read(x) for x in inputs]
        if "out" in kwargs and any(isinstance(x, Variable) for x in kwargs["out"]):
            raise TypeError(f"out= cannot be a Variable{at(here())}; use assign")
        if method == "at" and isinstance(inputs[0], Variable):  # it writes to read-only arrays
            raise TypeError(f"{ufunc.__name__}.at cannot change a Variable{at(here())}; use assign")
        return getattr(ufunc, method)(*given, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_read_tree(args), **_read_tree(kwargs))

    def __getitem__(self, key: Any) -> Any:
        return self.value[_read(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        plain = self._plain(value, "item assignment")
        array = np.array(self._array)
        # Python's numbers as they are: NumPy looks whether they fit.
        array[_read(key)] = value if isinstance(value, (int, float, complex)) else plain
        self._hold(array)

    def __len__(self) -> int:
        return len(self._array)

    def __contains__(self, item: Any) -> bool:
        return bool((self.value == item).any())

    def __iter__(self) -> Any:
        return iter(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __repr__(self) -> str:
        return f"Variable({self._array!r}, name={self.name!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)


class _Replaced(threading.local):
    values: dict[int, Any] | None = None


_state = _Replaced()


@contextmanager
def replaced(values: Sequence[tuple[Variable, Any]]) -> Generator[None]:
    """Let other arrays or tensors stand for the values of variables, in this thread."""
    before = _state.values
    _state.values = {**(before or {}), **{id(variable): x for variable, x in values}}
    try:
        yield
    finally:
        _state.values = before


def _now(variable: Variable) -> Any:
    """Return the value of a variable, or what stands for it."""
    values = _state.values
    return variable._array if values is None else values.get(id(variable), variable._array)


def owner(array: np.ndarray) -> Variable | None:
    """Return the variable whose value an array is now, if it is one's."""
    found = _owners.get(id(array))
    return found if found is not None and found._array is array else None


def _read(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def _read_tree(x: Any) -> Any:
    if isinstance(x, Variable):
        return x.value
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)([_read_tree(part) for part in x])
    if isinstance(x, dict):
        return {name: _read_tree(part) for name, part in x.items()}
    return x


def _operator(name: str) -> Any:
    def applied(self: Variable, *others: Any) -> Any:
        return getattr(self.value, name)(*[_read(x) for x in others])

    return applied


def _assignment(name: str) -> Any:
    function = getattr(operator, f"__{name}__")

    def assignment(self: Variable, other: Any) -> Variable:
        self._change(function, other, f"{name} in place")
        return self

    return assignment


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul",
              "and", "or", "xor", "lshift", "rshift"):  # fmt: skip
    setattr(Variable, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Variable, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor",
              "lshift", "rshift"):  # fmt: skip
    setattr(Variable, f"__i{_name}__", _assignment(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"):
    setattr(Variable, f"__{_name}__", _operator(f"__{_name}__"))
Variable.__hash__ = object.__hash__  # type: ignore[method-assign]
AS_ARRAY[Variable] = _now
