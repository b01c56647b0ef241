"""`Tensor`: the value that a traced function sees. It speaks NumPy's protocols.

A tensor is a handle on a value of a graph. Values never change; a tensor that is written to gets
another value. A view (`views.py`) reads its value from its base, and a write goes to the base.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lanewise.errors import ConcretizationError, UnsupportedError, at
from lanewise.ir.dims import Dim, DimLike, Shape, product
from lanewise.ir.graph import Value
from lanewise.ir.location import CHANGED, Location, cell_of, here, is_of_user, origin
from lanewise.ir.types import ArrayType
from lanewise.ops.creation import dimension
from lanewise.ops.elementwise import elementwise
from lanewise.ops.lists import Arena
from lanewise.ops.movement import cast
from lanewise.ops.registry import Primitive
from lanewise.trace.foreign import plain_array
from lanewise.trace.formatting import collecting, placeholder
from lanewise.trace.origins import refuse_size
from lanewise.trace.trace import Concrete, Trace, require_trace, resolve, state

#: What `__array_function__` looks a NumPy function up in; filled by `lanewise.trace.table`.
TABLE: dict[Any, Callable[..., Any]] = {}
#: What the ndarray methods and operators call; filled by `lanewise.trace.table` too.
UFUNC_CALL: list[Callable[..., Any]] = []
#: For classes of objects that stand for an array, what returns it: always the same while it is.
AS_ARRAY: dict[type, Callable[[Any], np.ndarray]] = {}


#: Told of each tensor of which Python asks for the rows, and so how many there are.
ITERATED: list[Callable[[Tensor], None]] = []


class Tensor:
    """An array in a traced function: dtype, shape, and a place in the graph being recorded.

    Tensors come from Lanewise; there is no constructor to call. Everything that NumPy dispatches
    works on them: operators, methods, indexing, ``np.`` functions and ufuncs.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> def norm(x):
    ...     print(x)
    ...     return np.sqrt((x * x).sum())
    >>> lw.vmap(norm)(np.array([[3.0, 4.0], [6.0, 8.0]]))
    [3. 4.]
    [6. 8.]
    array([ 5., 10.])
    """

    __slots__ = ("_guard", "_mixed", "_trace", "_type", "_value", "_view", "_weak")

    _trace: Trace
    _value: Value
    _type: ArrayType
    _view: Any
    #: bool, int, float or complex where the tensor stands for a Python number, which gives way to
    #: the dtype of what it is combined with (NEP 50); None for an array or a scalar of NumPy's.
    _weak: type | None
    #: Asked before the tensor is read or written, where that may be wrong; see `autograph.aliases`.
    _guard: Any
    #: The classes that a number has in some example, where the data choose it (`trace.mixed`).
    _mixed: Any

    # Before NumPy's scalars and arrays in mixed operations.
    __array_priority__ = 1000

    def __init__(
        self, trace: Trace, value: Value, view: Any = None, weak: type | None = None
    ) -> None:
        self._trace = trace
        self._value = value
        self._type = value.type
        self._view = view
        self._weak = weak
        self._guard = None
        self._mixed = None

    if TYPE_CHECKING:  # operators and methods are entered by trace/table/methods.py

        def __getitem__(self, key: Any) -> Tensor: ...

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")

    # --- what is known while tracing --------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype:
        """The dtype, as NumPy's."""
        if self._mixed is not None and is_of_user(sys._getframe(1).f_code):
            self._check_dtype()
        return self._type.dtype

    @property
    def shape(self) -> Shape:
        """The shape of one example."""
        return self._type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise UnsupportedError(
            f"setting the shape of a traced array{at(here())} is not followed. Use x.reshape(...)"
        )

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._type.shape)

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return product(self._type.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self._type.dtype.itemsize

    @property
    def nbytes(self) -> DimLike:
        """The bytes of all elements."""
        return self._type.nbytes

    def __len__(self) -> int:
        if not self._type.shape:
            raise TypeError("len() of unsized object")
        return known_size(self._type.shape[0], "its length")

    def __iter__(self) -> Iterator[Any]:
        if not self._type.shape:
            raise TypeError("iteration over a 0-d array")
        count = known_size(self._type.shape[0], "the number of its rows")
        for see_to in ITERATED:
            see_to(self)
        return map(self.__getitem__, range(count))

    def __repr__(self) -> str:
        array = concrete(self)
        if array is not None:
            return f"Tensor({array!r})"
        return self._text("r", "") or f"Tensor({self._type!r})"

    def __str__(self) -> str:
        array = concrete(self)
        if array is not None:
            return str(array)
        return self._text("s", "") or repr(self)

    # --- what would need the numbers --------------------------------------------------------------

    def _refuse(self, use: str, instead: str) -> NoReturn:
        resolve(self._value, self._trace)  # of a tensor that has leaked, that is what went wrong
        use, instead = _subscript_use() or (use, instead)
        place = here()
        why = ""
        if place is not None:
            why = _not_converted(Location(*place))
        raise ConcretizationError(
            f"{use} needs the numbers of a traced {self._type!r}, which differ from example to "
            f"example and are not known while tracing{at(place)}.{why} {instead}"
        )

    def _check_dtype(self) -> None:
        names = dict.fromkeys([str(each.dtype) for each in self._mixed.classes])
        if len(names) == 1:
            return
        raise ConcretizationError(
            f"the dtype of this value is {' or '.join(names)}, depending on the data"
            f"{at(here())}, so it is not known while tracing. Give both branches one dtype, with "
            "astype() or dtype=, or use np.zeros_like, np.empty_like or np.full_like of the value"
        )

    def __bool__(self) -> bool:
        array = concrete(self)
        if array is not None:
            return bool(array)
        if self.size != 1 and not isinstance(self.size, Dim):
            told = "The truth value of an array with more than one element is ambiguous. "
            raise ValueError(f"{told}Use a.any() or a.all(){at(here())}")
        self._refuse(
            "bool(), which if, while, and, or, not call,",
            "Use np.where instead of if, or have the code converted: it needs its source, and "
            "autograph=True. Never converted are library code, and the if of a list comprehension",
        )

    def __float__(self) -> float:
        array = concrete(self)
        if array is not None:
            _refuse_losing()
            return float(array)
        self._refuse("float()", "Leave out float(), or use t.astype(float)")

    def __int__(self) -> int:
        array = concrete(self)
        if array is not None:
            _refuse_losing()
            return int(array)
        self._refuse("int()", "Use np.trunc(x).astype(int), or leave it as it is")

    def __complex__(self) -> complex:
        array = concrete(self)
        if array is not None:
            _refuse_losing()
            return complex(array)
        self._refuse("complex()", "Use x.astype(complex)")

    def __index__(self) -> int:
        array = concrete(self)
        if array is not None:
            return operator.index(array)
        self._refuse(
            "using it as a Python index or as a length",
            "To index an array that is not traced, pass it to the mapped function as an argument "
            "(in_dims None), or write np.take_along_axis(array, i[None], 0)[0]",
        )

    def item(self, *args: Any) -> Tensor:
        """The element at an index, or the only one, as a Python number that is data."""
        resolve(self._value, self._trace)  # of a tensor that has leaked, say that
        array = concrete(self)
        if array is not None:
            return array.item(*args)
        if not args:
            if isinstance(self.size, Dim):
                self._refuse("item() of an array of a length that is data", "Use x[0].item()")
            if self.size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            element: Any = np.reshape(self, ())
        elif len(args) == 1 and not isinstance(args[0], tuple):
            element = np.ravel(self)[args[0]]
        else:
            element = self[args[0] if len(args) == 1 else args]
            if element.shape:
                raise ValueError("incorrect number of indices for array")
        return implement(None, _as_python_number, (element,), {})

    def tolist(self) -> Any:
        """The elements as Python numbers that are data, in lists as deep as the shape."""
        array = concrete(self)
        if array is not None:
            return array.tolist()
        trace = require_trace(".tolist()")
        return trace.bear([row.tolist() for row in self]) if self.shape else self.item()

    def tobytes(self, order: str = "C") -> bytes:
        """Refused while tracing, when the numbers are not known."""
        array = concrete(self)
        if array is not None:
            return array.tobytes(order)  # ty: ignore[invalid-argument-type]
        self._refuse(".tobytes()", "Compute with the value itself, or use lw.py_func")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = concrete(self)
        if array is not None:  # a copy always: what was recorded must stay as it was
            _refuse_losing()
            return np.array(array, dtype)
        self._refuse(
            "making a NumPy array of it (np.array([t, ...]), np.asarray(t), or a library function "
            "that does not dispatch)",
            "Use np.stack([t, ...]) for np.array([t, ...]), leave np.asarray(t) out, or call host "
            "code by lw.py_func",
        )

    def __format__(self, spec: str) -> str:
        array = concrete(self)
        if array is not None:
            return format(array[()] if not array.ndim else array, spec)
        text = self._text("", spec)
        if spec and text is None:
            self._refuse("formatting", "Print or format outside of the traced function")
        return text or repr(self)

    def _text(self, conversion: str, spec: str) -> str | None:
        """Return what stands for the text of the numbers in a message, None outside of one."""
        if collecting() is None:
            return None
        if self._view is not None:
            self._view.refresh(self)
        now = Tensor(self._trace, self._value, None, self._weak)
        now._mixed = self._mixed
        samples: list[Any] = []
        if hasattr(self._guard, "presence"):
            now._guard = self._guard
            samples.append(None)
        if self._mixed is not None:
            ones = np.ones((1,) * self.ndim)
            samples += [each.make(ones) for each in self._mixed.classes]
        elif self._weak is None:
            samples.append(np.ones((1,) * self.ndim, self.dtype)[()])
        else:
            samples.append(self._weak(1))
        return placeholder(now, conversion, spec, samples)

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        # No array can; a number could, so this is no error of the user's code.
        raise (TypeError if self.ndim else UnsupportedError)(
            f"a Tensor cannot be hashed, so it cannot be a key of a dict or an element of a set"
            f"{at(here())}. Use its position, or keep a list of (tensor, value) pairs"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ConcretizationError(
            f"a Tensor cannot be pickled or sent to another process{at(here())}: it stands for "
            "numbers that are not known yet. Return it from the traced function, and pickle the "
            "array that comes out"
        )

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def copy(self, order: str = "C") -> Tensor:
        """A tensor of the same elements that later writes to this one do not change."""
        result = Tensor(require_trace("a Tensor"), read(self))
        result._mixed = self._mixed
        return result

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any([sees_to_it(type(x)) for x in (*inputs, *kwargs.get("out", ()))]):
            return NotImplemented
        return UFUNC_CALL[0](ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if len(types) > 1 and any(map(sees_to_it, types)):
            return NotImplemented
        implementation = TABLE.get(func)
        if implementation is None:
            name = f"{func.__module__}.{func.__name__}"
            raise UnsupportedError(
                f"{name} is not supported on traced values{at(here())}. See "
                "docs/numpy-coverage.md for what is, or call it on the host by lw.py_func"
            )
        if state.trace is None:
            resolve(self._value, self._trace)  # raises: there is nothing to record into
        return implement(func, implementation, args, kwargs)


#: Calls what carries out a function, where arguments may be of a class that the data choose
#: (`lanewise.trace.classwise`).
CLASSWISE: list[Callable[..., Any]] = []
#: By class, what gives the value that an object stands for which is no array.
STANDS_FOR: dict[type, Callable[[Any], Any]] = {}
#: Whether there was ever an array of which the data choose the dtype, so that it has to be asked.
ANY_MIXED = [False]


def implement(func: Any, implementation: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Carry out a function of the table."""
    if ANY_MIXED[0]:
        return CLASSWISE[0](func, implementation, args, kwargs)
    return implementation(*args, **kwargs)


def sees_to_it(kind: type) -> bool:
    """Whether what is done with tensors and with objects of a class is done by these."""
    return kind in STANDS_FOR or hasattr(kind, "_tensor")


def _not_converted(place: Location) -> str:
    """Return why the code at a place is not converted, if its source is the reason."""
    code = place.code
    assert isinstance(code, CodeType)
    if origin(code) in CHANGED:
        return (
            f" {code.co_qualname!r} is not converted: the file was edited since it was read, and "
            "this is not in it any more. Reload the module, or start Python again."
        )
    if place.source:
        return ""
    why = f" The source of {code.co_qualname!r} is not at hand, so it is not converted."
    if code.co_filename == "<stdin>":
        why += (
            " Python before 3.13 does not keep what is typed at its prompt, or piped to it: write "
            "it to a file, or use IPython or Jupyter."
        )
    elif cell_of(code.co_filename) is not None:
        why += (
            " It came from another process: send what lw.vmap or lw.function made of it, which "
            "takes the source along, or define it in a module."
        )
    return why


def _refuse_losing() -> None:
    """Raise where what a tape records is written into an array of NumPy's, ``a[i] = t``."""
    if not state.tapes:
        return
    place = here()
    if place is None or dis.opname[place[0].co_code[place[1]]] != "STORE_SUBSCR":
        return
    raise UnsupportedError(
        f"what a tape records is written into an array that it does not follow{at(place)}: its "
        "gradient would be lost. Make the array like a recorded one, np.zeros_like(x, shape=...), "
        "or use np.stack or np.concatenate; or write np.asarray(value) where it counts as constant"
    )


def _subscript_use() -> tuple[str, str] | None:
    """Return what to say where an array that is not traced is indexed or written to.

    NumPy asks a tensor for its numbers in the same way whatever it wants them for; the instruction
    that the user's code is at tells.
    """
    place = here()
    if place is None:
        return None
    code, offset = place
    name, argument = dis.opname[code.co_code[offset]], code.co_code[offset + 1]
    if name == "STORE_SUBSCR":
        return (
            "writing it into an array that is not traced (a[i] = t)",
            "Make the array like a traced one, with np.zeros_like(t, shape=...), or use np.stack",
        )
    if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and argument == _SUBSCRIPT):
        return (
            "indexing an array that is not traced with it (a[t])",
            "Use np.asarray(a, like=t)[t], or pass a as an argument with in_dims=None",
        )
    return None


#: The argument of BINARY_OP that means a subscript, in Pythons from 3.14 on.
_SUBSCRIPT = 26


def known_size(dim: DimLike, what: str) -> int:
    """Return a dimension as an int, or raise where it is symbolic."""
    if isinstance(dim, Dim):
        if state.trace is not None:
            refuse_size(dim, state.trace, f"asking for {what}, which gives a number,")
        raise ConcretizationError(
            f"{what}, {dim}, is known only when the graph runs{at(here())}; Python cannot count it"
        )
    return dim


def concrete(tensor: Tensor) -> np.ndarray | None:
    """Return the numbers of a tensor, if they are known: those of a `GradientTape` are."""
    if type(tensor._value) is not Concrete:
        return None
    if tensor._view is not None:
        tensor._view.refresh(tensor)
    return getattr(tensor._value, "array", None)


def read(tensor: Tensor) -> Value:
    """Return the tensor's present value, as one of the current trace."""
    if tensor._view is not None:
        tensor._view.refresh(tensor)
    elif tensor._guard is not None:
        tensor._guard.reading(tensor)
    if tensor._trace is state.trace:
        return tensor._value
    return resolve(tensor._value, tensor._trace)


def lift(operand: Any, what: str = "an operand") -> Value:
    """Return anything array-like as a value of the current trace.

    Raises
    ------
    UnsupportedError
        For objects that are no arrays of numbers.
    """
    if type(operand) is Tensor:
        return read(operand)
    if isinstance(operand, Tensor):
        return read(operand._tensor)
    trace = require_trace(what)
    if type(operand) is Dim:
        return trace.record(dimension, (), {"size": operand})[0]
    as_array = AS_ARRAY.get(type(operand))
    if as_array is not None:
        array = as_array(operand)
        return lift(array) if isinstance(array, Tensor) else trace.read(operand, array)
    if type(operand) in STANDS_FOR:
        return lift(STANDS_FOR[type(operand)](operand), what)
    if isinstance(operand, (bool, int, float, complex)) and not isinstance(operand, np.generic):
        dtype = np.asarray(operand).dtype
        if dtype.kind == "O":
            raise OverflowError(f"Python int too large to convert to C long{at(here())}")
        return trace.scalar(operand, dtype)
    if isinstance(operand, (list, tuple)) and contains_tensor(operand):
        return lift(stack_nested(operand))
    if type(operand) is Arena:
        return trace.capture_lists(operand)
    array = plain_array(operand, lambda: f"{what} of type {type(operand).__name__}")
    return trace.capture(array, operand if isinstance(operand, np.ndarray) else array)


def emit(primitive: Primitive, *operands: Any, **params: Any) -> Any:
    """Record an operation on array-likes; return its result as a tensor, or the tuple of them."""
    if state.attempt is not None and primitive.raises is not None:
        state.attempt.emitted(primitive, operands, params)
    values = tuple([read(x) if type(x) is Tensor else lift(x) for x in operands])
    trace, params = require_trace(primitive.name), primitive.complete(params)
    if state.floating is not None:
        trace, values = state.floating.meets(trace, primitive, values, params)
    results = trace.record(primitive, values, params)
    if len(results) > 1:
        return tuple([Tensor(trace, value) for value in results])
    result = Tensor(trace, results[0])
    if ANY_MIXED[0] and operands and type(operands[0]) is Tensor:
        first = operands[0]
        if first._type.dtype == result._type.dtype:
            result._mixed = first._mixed  # what comes here of several classes is only moved
    return result


def tensor_of(x: Any) -> Tensor | None:
    """Return the tensor that x is, or that an array stands for (`lanewise.trace.scratch`)."""
    return as_tensor(x) if isinstance(x, Tensor) else None


def unwrapped(x: Any) -> Any:
    """Return x with tensors in place of arrays that stand for one, in lists, dicts and slices."""
    kind = type(x)
    if issubclass(kind, np.ndarray):
        return as_tensor(x) if isinstance(x, Tensor) else x
    if kind is tuple or kind is list:
        return kind([unwrapped(part) for part in x])
    if kind is slice:
        return slice(unwrapped(x.start), unwrapped(x.stop), unwrapped(x.step))
    if kind is dict:
        return {name: unwrapped(value) for name, value in x.items()}
    return unwrapped(STANDS_FOR[kind](x)) if kind in STANDS_FOR else x


def contains_tensor(operand: Any) -> bool:
    """Whether a tensor stands anywhere in nested tuples, lists and dicts."""
    parts = operand.values() if isinstance(operand, dict) else operand
    if isinstance(operand, (list, tuple, dict)):
        return any(map(contains_tensor, parts))
    return isinstance(operand, Tensor)


def stack_nested(operand: Any) -> Any:
    """Return the array that ``np.array`` would make of nested lists, some of them of tensors."""
    if isinstance(operand, (list, tuple)) and contains_tensor(operand):
        return np.stack([as_tensor(stack_nested(part)) for part in operand])
    return operand


#: The Python number that a NumPy scalar is, by the kind of its dtype.
_PYTHON_KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
#: What a Python number of a kind is kept in.
WEAK_DTYPES: dict[type, np.dtype] = {kind: np.dtype(kind) for kind in (bool, int, float, complex)}


def weak(tensor: Tensor, kind: type) -> Tensor:
    """Return the tensor that stands for the Python number of a kind that a scalar is."""
    assert not tensor.shape
    if kind is int and tensor._weak is int and tensor._guard is None:
        return tensor  # which may be known to be a size
    value = read(tensor)
    trace = require_trace("a Python number")
    if kind is int and value.type.dtype == np.dtype(np.uint64):  # half of which have no int64
        limit = trace.scalar(2**63, value.type.dtype)
        (fits,) = trace.record(elementwise(np.less), (value, limit), {"dtype": None})
        value = trace.checked(value, fits, "OverflowError", "a Python int is kept in 64 bits")
    if value.type.dtype != WEAK_DTYPES[kind]:
        (value,) = trace.record(cast, (value,), {"dtype": WEAK_DTYPES[kind]})
    return Tensor(trace, value, None, kind)


def _as_python_number(x: Tensor) -> Tensor:
    return weak(x, _PYTHON_KINDS[x.dtype.kind])


def as_tensor(operand: Any, what: str = "an operand") -> Tensor:
    """Return anything array-like as a tensor of the current trace."""
    if type(operand) is Tensor:
        return operand
    if isinstance(operand, Tensor):
        return operand._tensor
    value = lift(operand, what)
    return Tensor(require_trace(what), value)
