"""`Variable`: an array that is kept from call to call, and learned."""

from __future__ import annotations

import operator
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from lanewise.errors import UnsupportedError, at
from lanewise.ir.graph import Value
from lanewise.ir.location import here
from lanewise.ops.custom import assigned as assigned_op
from lanewise.ops.movement import cast
from lanewise.trace.foreign import plain_array
from lanewise.trace.regions import Region, note_state
from lanewise.trace.replay import constant_array
from lanewise.trace.tensor import AS_ARRAY, Tensor, lift, read
from lanewise.trace.trace import Trace, current_trace, state

_numbers = iter(range(1, 1 << 62))
_NUMBERS = (bool, int, float, complex)
#: Held by what reads a variable and then assigns it: while a traced function runs that does so.
assigning = threading.RLock()


class Variable:
    """An array with a value that can be assigned; it works wherever an array does.

    Traced functions read and assign it too, at every call, in the order of the program: also in
    branches and loops that the data steer. A call that raises has assigned nothing. A mapped
    function may assign what is the same for all examples; that happens once.

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

    Raises
    ------
    ValueError
        In a traced function: if it was traced before (make variables once, and keep them), or if
        the value depends on its arguments.

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
        trace = current_trace()
        if trace is not None and state.no_variables is not None:
            raise ValueError(f"a Variable is made{at(here())}: {state.no_variables}")
        if trace is not None and not trace.is_eager and not isinstance(value, np.ndarray):
            value = constant_array(lift(value, "the value of a Variable"), trace)
        array = plain_array(np.array(value, dtype), lambda: "the value of a Variable")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        self._hold(array)
        self.trainable = bool(trainable)
        self.name = f"variable{next(_numbers)}" if name is None else str(name)

    @property
    def value(self) -> Any:
        """The value: an array that cannot be written to, or inside of a trace a tensor."""
        found, trace = _now(self), current_trace()
        if isinstance(found, Tensor):
            return Tensor(found._trace, found._value, None, found._weak)
        return found if trace is None else Tensor(trace, trace.read(self, found))

    @property
    def current(self) -> np.ndarray:
        """The array that is the value outside of traces, or that stands for it."""
        if _replacements.values is None:
            return self._array
        return np.asarray(_now(self), self.dtype)

    @current.setter
    def current(self, array: np.ndarray) -> None:
        if _replacements.values is None:
            self._hold(array)
        else:
            self.set_state([array])

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
        # Python's numbers as they are: they do not widen the dtype.
        other = other if type(other) in _NUMBERS else _read(other)
        if not isinstance(other, (*_NUMBERS, Tensor)):
            other = plain_array(np.asarray(other), lambda: f"what is given to {what}")
        try:
            result = function(self.value, other)
        except ValueError:
            result = None
        if result is None or result.shape != self.shape:
            raise ValueError(
                f"{what}: the variable {self.name!r} has shape {self.shape}, to which "
                f"{np.shape(other)} is not broadcast{at(here())}"
            )
        self._set(result, what)

    def _set(self, value: Any, what: str) -> None:
        trace, value = current_trace(), _read(value)
        is_recorded = trace is not None and not trace.is_eager
        array: Any = (
            Tensor(trace, lift(value, f"what is given to {what}"))
            if is_recorded
            else plain_array(np.asarray(value), lambda: f"what is given to {what}")
        )
        if array.shape != self.shape:
            raise ValueError(
                f"{what}: the variable {self.name!r} has shape {self.shape}, not "
                f"{array.shape}{at(here())}"
            )
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"{what}: the variable {self.name!r} has dtype {self.dtype}, to which "
                f"{array.dtype} is not converted{at(here())}"
            )
        if not is_recorded:
            array = array.astype(self.dtype)
        elif array.dtype != self.dtype:
            array = Tensor(trace, trace.record(cast, (read(array),), {"dtype": self.dtype})[0])
        self.become(array)

    def _hold(self, array: np.ndarray) -> None:
        """Make a new array the value: who has read the old one keeps that as it was."""
        array.flags.writeable = False
        self._array = array

    # --- as the state of traces -------------------------------------------------------------------

    def become(self, x: Any) -> None:
        """Make an array of one's own, or a tensor, of this shape and dtype the value."""
        trace = current_trace()
        if trace is None and state.no_assigning is not None:
            raise UnsupportedError(
                f"the variable {self.name!r} is assigned{at(here())}, {state.no_assigning}"
            )
        note_state(self)
        if state.tapes and isinstance(x, Tensor) and trace is _home(trace):
            x = Tensor(trace, trace.record(assigned_op, (read(x),), {})[0])  # ty: ignore
        self.set_state([x])

    def state_leaves(self) -> list[Any]:
        """Return what a branch or a loop changes when it assigns: an array or a tensor."""
        found, trace = _now(self), current_trace()
        if trace is not None and not isinstance(found, Tensor):
            trace.own(self, found)
        return [found]

    def set_state(self, leaves: Sequence[Any]) -> None:
        """Make what is the only one of `leaves` the value, in the trace that is recorded."""
        (x,) = leaves
        trace, values = current_trace(), _replacements.values
        home = _home(trace)
        if values is not None and id(self) in values and values[id(self)][1] is home:
            values[id(self)] = x, home
            return
        if home is None or (home.is_eager and home is trace):
            if x is not self._array:
                self._hold(np.array(x._value.array) if isinstance(x, Tensor) else x)
            if home is not None and home.states is not None:
                home.states.pop(id(self), None)
            return
        home.states = home.states or {}
        if x is self._array:  # nothing is assigned
            home.states.pop(id(self), None)
        else:
            home.states[id(self)] = self, x, here()

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
        trace, value = current_trace(), _read(value)
        if trace is not None and not trace.is_eager:
            changed = self.value
            changed[_read(key)] = value
            self.become(changed)
            return
        array = np.array(_now(self))
        # Python's numbers as they are: NumPy looks whether they fit.
        is_number = isinstance(value, (int, float, complex))
        array[_read(key)] = value if is_number else np.asarray(value)
        self.become(array)

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
        return f"Variable({_now(self)!r}, name={self.name!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)


class _Replacements(threading.local):
    #: By id of a variable what stands for it, and the trace in which that was said.
    values: dict[int, tuple[Any, Trace | None]] | None = None


_replacements = _Replacements()


@contextmanager
def replaced(values: Sequence[tuple[Variable, Any]]) -> Generator[None]:
    """Let other arrays or tensors stand for the values of variables, in this thread."""
    before, home = _replacements.values, _home(current_trace())
    new = {id(variable): (x, home) for variable, x in values}
    _replacements.values = {**(before or {}), **new}
    try:
        yield
    finally:
        _replacements.values = before


def _home(trace: Trace | None) -> Trace | None:
    """Return the trace that a region belongs to: it knows what is assigned in its regions too."""
    while isinstance(trace, Region):
        trace = trace.parent
    return trace


def _now(variable: Variable) -> Any:
    """Return the value of a variable: an array, or a tensor that was assigned or stands for it."""
    values, trace = _replacements.values, current_trace()
    replacement = None if values is None else values.get(id(variable))
    last = None if replacement is None else replacement[1]
    while trace is not last and trace is not None:
        if trace.states is not None and id(variable) in trace.states:
            found = trace.states[id(variable)][1]
            if isinstance(found, Tensor):
                found._trace.note_read(variable, found._value)
            return found
        trace = trace.parent
    return variable._array if replacement is None else replacement[0]


class Assigned(NamedTuple):
    """A variable, its value at the end of a trace, and the user's line that assigned it last."""

    variable: Variable
    value: Value
    line: tuple[Any, int] | None


def taken(trace: Trace) -> list[Assigned]:
    """Return what was assigned in a trace that is open still.

    Whoever opened the trace has to see to it.
    """
    states, trace.states = trace.states, None
    found = []
    for variable, x, line in (states or {}).values():
        before = _now(variable)
        is_same = isinstance(before, Tensor) and before._value is x._value
        if x is not before and not is_same:
            found.append(Assigned(variable, lift(x), line))
    return found


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
