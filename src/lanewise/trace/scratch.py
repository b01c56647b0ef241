"""`Scratch`: an array made while tracing, concrete until traced values are written into it.

``z = np.zeros(3)`` in a traced function holds plain numbers, which is what makes ``len(z)``, or
``np.ones(int(z[0]))``, work. As soon as it would hold values that are not known, by ``z[0] = t``,
by ``z[t] = 1.0`` or by any write that happens for some examples only, it is *lifted*: a tensor
takes over its contents, and from then on everything that is done to the object goes to that tensor.
A view of its memory (``z[0]``, ``z.T``) becomes a view of that tensor, so that each still shows
what is written to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from lanewise.errors import ConcretizationError, UnsupportedError, at
from lanewise.ir.location import here
from lanewise.ir.types import NUMERIC_KINDS
from lanewise.trace.classwise import written_by
from lanewise.trace.foreign import BINARY, OURS
from lanewise.trace.indexing import getitem, setitem
from lanewise.trace.journal import MADE
from lanewise.trace.memory import Memory, forbid_export, retype
from lanewise.trace.regions import Region, born, resumed
from lanewise.trace.slots import ArraySlot
from lanewise.trace.tensor import STANDS_FOR, UFUNC_CALL, Tensor, as_tensor, tensor_of, unwrapped
from lanewise.trace.trace import Trace, require_trace, state
from lanewise.trace.views import refuse_view

ndarray = np.ndarray
_NUMBERS = frozenset(
    (bool, int, float, complex, str, type(None), type(...), np.float64, np.int64, np.bool_)
)


class Scratch(np.ndarray):
    """An array made while tracing: in every respect one of NumPy's, until it is lifted.

    Results of computing with it are scratch, too; NumPy's scalars stay what they are.
    """

    # _root: the scratch that shares its memory with this one; None for that scratch itself.
    # _home, _views: of a root, the trace in which it was made, and weak references to its views.
    # _seen_as: of a root, another class of arrays that a view of it has.
    # _made: of a root, how many there were before.
    # _tensor: what a lifted scratch stands for.
    __slots__ = ("_home", "_made", "_root", "_seen_as", "_tensor", "_views")

    _home: Trace | None
    _made: int
    _root: Scratch | None
    _seen_as: type | None
    _tensor: Tensor
    _views: list[ref[Scratch]]

    def __array_finalize__(self, obj: Any) -> None:
        base = self.base
        while base is not None and type(base) is not Scratch:
            base = getattr(base, "base", None)
        if base is None:
            self._root, self._home, self._views = None, state.trace, []
            self._made, self._seen_as = next(MADE), None
        else:
            self._share(base)

    def _share(self, other: Scratch) -> None:
        """Remember that this array shares its memory with another one."""
        root = other._root
        self._root = root = other if root is None else root
        views = root._views
        views.append(ref(self))
        count = len(views)
        if count >= 64 and not count & (count - 1):  # now and then, forget those that are gone
            views[:] = [view for view in views if view() is not None]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar and not array.ndim else array.view(Scratch)

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        outs = kwargs.get("out", ())
        written = inputs[:1] if method == "at" else outs
        traced = is_traced(inputs) or (kwargs and is_traced(kwargs))
        if written:
            traced = prepare_writing(written, traced)
        if traced:
            result = UFUNC_CALL[0](ufunc, method, unwrapped(inputs), unwrapped(kwargs))
        else:
            if kwargs:
                kwargs = {name: _bare(value) for name, value in kwargs.items()}
            result = getattr(ufunc, method)(*[_bare(x) for x in inputs], **kwargs)
            if not outs:
                return result.view(Scratch) if type(result) is ndarray else fresh(result)
        if not outs:
            return result
        results = result if isinstance(result, tuple) else (result,)
        results = tuple([r if o is None else o for r, o in zip(results, outs, strict=True)])
        return results if isinstance(result, tuple) else results[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        written = _written(func, args, kwargs)
        if not prepare_writing(written, is_traced(args) or is_traced(kwargs)):
            result = super().__array_function__(func, types, args, kwargs)
            return fresh(result, (args, kwargs))
        args, kwargs = unwrapped(args), unwrapped(kwargs)
        first = _traced_parts((args, kwargs))[0]
        result = first.__array_function__(func, (type(first),), args, kwargs)
        for array in written:
            if result is tensor_of(array):
                return array
        return result

    # --- reading ----------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if type(key) in _NUMBERS or not is_traced(key):
            return ndarray.__getitem__(self, key)
        if _gives_view(self, key) and home_of(self) is not None:
            lift(self)
            return getitem(self._tensor, unwrapped(key))
        return getitem(as_tensor(self), unwrapped(key))

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """As ``numpy.ndarray.view``, scratch also where an ndarray is asked for."""
        result = fresh(ndarray.view(self, *args, **kwargs), (self,))
        if not isinstance(result, Scratch):  # what is written to it is seen as long as it is known
            root = self if self._root is None else self._root
            root._seen_as = type(result)
        return result

    @property
    def data(self) -> Any:
        """Refused, as `memoryview` of it is."""
        refuse_export(".data")

    def __repr__(self) -> str:
        return repr(_bare(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _bare(self).__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # --- what writes ------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        if prepare_writing((self,), is_traced(value) or is_traced(key)):
            setitem(self._tensor, unwrapped(key), unwrapped(value))
        else:
            ndarray.__setitem__(self, key, value)

    def resize(self, *args: Any, **kwargs: Any) -> None:
        """Refuse, as a tensor does: this array stands for the user's, but does not own memory."""
        Tensor.resize(self, *args, **kwargs)  # ty: ignore[missing-attribute]

    @property
    def flat(self) -> Any:
        """The elements in a row; writing to them writes to the array."""
        return born(Flat(self))

    @flat.setter
    def flat(self, values: Any) -> None:
        Flat(self)[...] = values


class Lifted(Scratch):
    """A scratch that holds traced values: everything goes to its tensor.

    For ``isinstance`` it is a `Tensor` as well as an ndarray.
    """

    __slots__ = ()

    def __array_finalize__(self, obj: Any) -> None:
        raise ConcretizationError(
            f"a copy of an array that holds traced values was to be made{at(here())} by code that "
            "does not follow them. Use np.copy, or call host code by lw.py_func"
        )

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_tensor"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tensor, name, value)

    def __getitem__(self, key: Any) -> Any:
        return getitem(self._tensor, unwrapped(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        setitem(self._tensor, unwrapped(key), unwrapped(value))


class Lost(Lifted):
    """A view of a lifted scratch that reads its bytes as something else: it cannot be followed."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN - {"_tensor"}:
            return object.__getattribute__(self, name)
        raise UnsupportedError(
            "a view that reads the bytes of an array as another dtype was used after traced values "
            f"had been written to that array{at(here())}. Make the view afterwards"
        )


_OWN = frozenset(Scratch.__slots__)


class Flat:
    """``z.flat`` of a scratch, with what NumPy's has."""

    def __init__(self, array: Scratch) -> None:
        self._array = array
        self._next = 0

    def _now(self) -> Any:
        array = self._array
        tensor = tensor_of(array)
        return ndarray.flat.__get__(array) if tensor is None else tensor.flat

    def __getitem__(self, key: Any) -> Any:
        if is_traced(key):
            return as_tensor(self._array).flat[unwrapped(key)]
        found = self._now()[key]
        return fresh(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not prepare_writing((self._array,), is_traced(key) or is_traced(value)):
            self._now()[key] = value
        elif key is Ellipsis or (isinstance(key, slice) and key == slice(None)):
            setattr(self._array._tensor, "flat", unwrapped(value))  # noqa: B010
        else:
            self._now()[unwrapped(key)] = unwrapped(value)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def __len__(self) -> int:
        return len(self._now())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._now().__array__(dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)


_PLAIN = _NUMBERS | {ndarray, Scratch}

# --- what is traced -------------------------------------------------------------------------------


def is_traced(x: Any) -> bool:
    """Whether x is traced, or holds what is in lists, tuples, dicts or slices."""
    kind = type(x)
    if kind in _PLAIN:
        return False
    if kind is tuple or kind is list:
        return not _PLAIN.issuperset(map(type, x)) and any(map(is_traced, x))
    if kind is slice:
        return is_traced((x.start, x.stop, x.step))
    if isinstance(x, dict):
        return any(map(is_traced, x.values()))
    if isinstance(x, Tensor) or kind in STANDS_FOR:
        return True
    return isinstance(x, (list, tuple)) and any(map(is_traced, x))


def _traced_parts(x: Any) -> list[Any]:
    """Return the traced values in nested lists, tuples and dicts, those of data's length first."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        parts = [found for part in x for found in _traced_parts(part)]
        return sorted(parts, key=lambda part: isinstance(part, Tensor))
    return [x] if isinstance(x, Tensor) else []


def as_state(x: Any) -> Any:
    """Return the tensor of a lifted scratch, anything else as it is."""
    found = tensor_of(x)
    return x if found is None else found


def settled(x: Any) -> Any:
    """Return x with scratch lifted, as its tensor: what shares memory with it is then known.

    For an array that becomes one of several, as the data say, such as ``row`` in ``row = z[0] if c
    else z[1]``.
    """
    if type(x) is Scratch and home_of(x) is not None and x.dtype.kind in NUMERIC_KINDS:
        lift(x)
    return as_state(x)


def scratch(array: ndarray) -> Scratch:
    """Return an array that nobody else holds as scratch of the current trace."""
    return array.view(Scratch)


def fresh(result: Any, given: Any = ()) -> Any:
    """Return what was computed with the arrays in `given`, arrays that are new as scratch.

    An array that shares memory with one given stays what it is: to write there changes that one.
    """
    kind = type(result)
    if kind is ndarray:
        other = _sharing(result, given)
        is_ours = other is None or isinstance(other, Scratch)
        if not is_ours or result.dtype.kind not in NUMERIC_KINDS:
            return result
        new = result.view(Scratch)
        if (
            other is not None and new._root is None
        ):  # NumPy leaves out what is between it and memory
            new._share(other)
        return new
    if kind is tuple or kind is list:
        return kind([fresh(part, given) for part in result])
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[fresh(part, given) for part in result])
    return result


def _sharing(result: ndarray, given: Any) -> ndarray | None:
    """Return one of the arrays in `given` that shares memory with another array."""
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, (list, tuple)):
        if _NUMBERS.issuperset(map(type, given)):
            return None
        found = (_sharing(result, part) for part in given)
        return next((array for array in found if array is not None), None)
    if isinstance(given, ndarray) and np.may_share_memory(_bare(given), result):
        return given
    return None


def _bare(x: Any) -> Any:
    """Return a scratch as NumPy's own array, alone or in a tuple."""
    if type(x) is Scratch:
        return ndarray.view(x, ndarray)
    return tuple([_bare(part) for part in x]) if type(x) is tuple else x


def _written(func: Any, args: Any, kwargs: Any) -> list[Scratch]:
    """Return the arrays made inside that a NumPy function is about to write to."""
    return [x for x in written_by(func, args, kwargs) if isinstance(x, Scratch)]


def _gives_view(array: ndarray, key: Any) -> bool:
    """Whether an index with traced integers gives a view, not an element or a copy."""
    parts = key if isinstance(key, tuple) else (key,)
    indices = [part for part in parts if type(part) not in (slice, type(None), type(...))]
    if any([isinstance(part, (list, tuple)) or getattr(part, "ndim", 0) for part in indices]):
        return False
    return not len(indices) == len(parts) == array.ndim


# --- writing --------------------------------------------------------------------------------------


def home_of(array: Scratch) -> Trace | None:
    """Return the trace that a scratch belongs to, if that is one of those that are open here.

    What was made in a region that has ended belongs to the trace around that.
    """
    root = array if array._root is None else array._root
    home = root._home
    while isinstance(home, Region) and not is_around(home):
        home = home.parent
    return home if is_around(home) else None


def is_around(trace: Trace | None) -> bool:
    around = state.trace
    while around is not None and around is not trace:
        around = around.parent
    return around is not None


def prepare_writing(arrays: Any, traced: Any) -> bool:
    """Lift arrays that cannot stay concrete when they are written to; return whether any is lifted.

    Parameters
    ----------
    arrays
        What is about to be written to; what is no scratch is not looked at.
    traced
        Whether what is written, or where, is traced.
    """
    for array in arrays:
        if isinstance(array, Lifted):
            traced = True
        elif isinstance(array, Scratch) and (traced or _is_conditional(array)):
            if not array.flags.writeable:
                raise ValueError(f"assignment destination is read-only{at(here())}")
            lift(array)
            traced = True
    trace = state.trace
    if trace is not None and trace.journal is not None:
        for array in arrays:
            if type(array) is not Scratch:
                continue
            root = array if array._root is None else array._root
            if root._made < trace.journal.began:
                trace.journal.log(ArraySlot(root))
    return bool(traced)


def _is_conditional(array: Scratch) -> bool:
    """Whether a write happens in a branch, loop or mapped function that the array is not from."""
    trace = state.trace
    root = array if array._root is None else array._root
    if trace is root._home or trace is None:
        return False
    home = home_of(root)
    return home is not trace and (home is not None or isinstance(trace, Region))


def lift(array: Scratch) -> None:
    """Make a scratch, and all arrays that share memory with it, stand for a tensor.

    Raises
    ------
    UnsupportedError
        If it was made outside of the function that is traced.
    """
    if isinstance(array, Lifted):
        return
    require_trace("a traced value")
    home = home_of(array)
    if home is None:
        raise UnsupportedError(
            "traced values are written to an array that was made outside of the traced function"
            f"{at(here())}, which could not hold them. Write to a copy of it: a = a.copy()"
        )
    root = array if array._root is None else array._root
    if root._seen_as is not None:
        refuse_view(root._seen_as)
    views = {id(view): view for view in [one() for one in root._views] if view is not None}
    everything = [root, *views.values()]
    with resumed(home):  # its contents are known there, whatever happens to it here
        memory = Memory(ndarray.view(root, ndarray))
        shown = [memory.show(ndarray.view(each, ndarray)) for each in everything]
    for each, tensor in zip(everything, shown, strict=True):
        _become(each, tensor)


def _become(array: Scratch, tensor: Tensor | None) -> None:
    """Make an array stand for a tensor.

    Code in C reads the memory of an ndarray without asking. What lies there is out of date, so it
    is given a dtype that nothing can be computed with, and lends nobody its bytes: an error instead
    of a wrong answer.
    """
    retype(array, _unknown(array.itemsize))
    forbid_export(array)
    if tensor is not None:
        array._tensor = tensor
    array.__class__ = Lost if tensor is None else Lifted


@cache
def _unknown(itemsize: int) -> np.dtype:
    # Two fields in one place: NumPy converts a single field to a number, but not two.
    names = ["numbers that are traced", "and not known"]
    formats = [f"V{itemsize}"] * 2
    return np.dtype({"names": names, "formats": formats, "offsets": [0, 0], "itemsize": itemsize})


def refuse_export(what: str) -> NoReturn:
    """Raise where the memory of an array is asked for, which does not show later writes."""
    raise UnsupportedError(
        f"{what} of an array of the traced function{at(here())}: its memory does not hold the "
        "numbers, which are not known while tracing. Use the array itself, or lw.py_func"
    )


# --- methods and operators ------------------------------------------------------------------------


def _writer(name: str) -> Callable[..., Any]:
    plain = getattr(ndarray, name)

    def method(self: Scratch, *args: Any, **kwargs: Any) -> Any:
        if prepare_writing((self,), is_traced(args) or is_traced(kwargs)):
            return getattr(self._tensor, name)(*unwrapped(args), **unwrapped(kwargs))
        return plain(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"As ``numpy.ndarray.{name}``."
    return method


def _taker(name: str) -> Callable[..., Any]:
    """Return a method that NumPy does not dispatch: the function of its name is dispatched."""
    plain, function = getattr(ndarray, name), getattr(np, name)

    def method(self: Scratch, *args: Any, **kwargs: Any) -> Any:
        whole = (args[0], self, *args[1:]) if name == "compress" and args else (self, *args)
        traced = is_traced(args) or is_traced(kwargs)
        if prepare_writing(_written(function, whole, kwargs), traced):
            return function(*whole, **kwargs)
        return fresh(plain(self, *args, **kwargs), (args, kwargs))

    method.__name__, method.__doc__ = name, f"As ``numpy.ndarray.{name}``."
    return method


def _part(name: str) -> property:
    plain = getattr(ndarray, name)

    def get(self: Scratch) -> Any:
        return plain.__get__(self)

    def set(self: Scratch, value: Any) -> None:
        if prepare_writing((self,), is_traced(value)):
            setattr(self._tensor, name, unwrapped(value))
        else:
            plain.__set__(self, value)

    return property(get, set, doc=f"As ``numpy.ndarray.{name}``.")


def _operator(name: str, reflected: str) -> Callable[..., Any]:
    plain, own = getattr(ndarray, name), getattr(ndarray, reflected)

    def method(self: Scratch, other: Any) -> Any:
        kind = type(other)
        if kind not in _PLAIN and issubclass(kind, ndarray) and getattr(kind, reflected) is not own:
            return NotImplemented  # Python asks a subclass of an ndarray's first, as np.matrix
        return plain(self, other)

    method.__name__, method.__doc__ = name, f"As ``numpy.ndarray.{name}``."
    return method


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Lifted, *args: Any) -> Any:
        return getattr(self._tensor, name)(*args)

    method.__name__ = name
    return method


def _enter() -> None:
    for name in "fill put sort partition byteswap setfield".split():
        setattr(Scratch, name, _writer(name))
    for name in ("argmax argmin choose compress cumprod cumsum dot mean nonzero repeat round "
                 "searchsorted std take trace var").split():  # fmt: skip
        setattr(Scratch, name, _taker(name))
    for name in BINARY:
        setattr(Scratch, f"__{name}__", _operator(f"__{name}__", f"__r{name}__"))
    for name, swapped in {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge"}.items():
        setattr(Scratch, f"__{name}__", _operator(f"__{name}__", f"__{swapped}__"))
        setattr(Scratch, f"__{swapped}__", _operator(f"__{swapped}__", f"__{name}__"))
    Scratch.__hash__ = None
    OURS.add(Scratch)
    for name in ("real", "imag"):
        setattr(Scratch, name, _part(name))
    special = """len iter contains delitem bool int float complex index repr str format array copy
        deepcopy reduce reduce_ex round floor ceil trunc dlpack dlpack_device array_namespace
        add sub mul truediv floordiv mod divmod pow and or xor lshift rshift matmul radd rsub rmul
        rtruediv rfloordiv rmod rdivmod rpow rand ror rxor rlshift rrshift rmatmul
        eq ne lt le gt ge neg pos abs invert"""
    for name in special.split():
        setattr(Lifted, f"__{name}__", _forwarded(f"__{name}__"))
    Lifted.__hash__ = None


_enter()
