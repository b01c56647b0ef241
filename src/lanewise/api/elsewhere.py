"""Names of other libraries, answered with ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_CONSTANTS = "Python numbers, strings and objects are constants of a trace already; leave it out"
_NOTHING = "leave it out"
#: Arguments of functions elsewhere, and what to write here.
ARGUMENTS: dict[str, dict[str, str]] = {
    "vmap": {
        "in_axes": "write in_dims=",
        "out_axes": "write out_dims=",
        "in_dim": "write in_dims=",
        "out_dim": "write out_dims=",
        "axis_name": "there are no collectives: return the values, and reduce them outside",
        "spmd_axis_name": _NOTHING,
        "batch_size": "write chunk_size=, the number of examples at a time",
    },
    "function": {
        "static_argnums": _CONSTANTS,
        "static_argnames": _CONSTANTS,
        "donate_argnums": _NOTHING,
        "donate_argnames": _NOTHING,
        "nopython": "write experimental_compile=True, which raises where it cannot compile",
        "fullgraph": "write experimental_compile=True, which raises where it cannot compile",
        "parallel": "code runs on all processors already; lw.set_num_threads says on how many",
        "cache": "compiled code is kept on disk already; LANEWISE_CACHE says where",
        "dynamic": "write reduce_retracing=True",
        "nogil": "compiled code runs without the GIL already; leave it out",
        "mode": _NOTHING,
        "backend": "LANEWISE_BACKEND=interpret or native chooses; leave it out",
        "inline": _NOTHING,
    },
    "gradient": {
        "argnum": "write argnums=",
        "holomorphic": "complex arguments need no flag; leave it out",
        "allow_int": "convert the argument to floats",
        "wrt": "write argnums=, the position of the argument",
        "create_graph": "derivatives can be differentiated again already; leave it out",
    },
}
#: Functions and modules elsewhere, and what they are here.
NAMES = {
    "jit": "lw.function(f)",
    "njit": "lw.function(f)",
    "compile": "lw.function(f)",
    "pmap": "lw.vmap(f), which uses all processors (lw.set_num_threads)",
    "map": "lw.vmap(f)(xs), or lw.map_fn(f, xs), which goes through xs in order",
    "xmap": "lw.vmap(f), nested for several axes",
    "guvectorize": 'lw.vectorize(f, signature="(n)->()")',
    "prange": "range: loops of independent iterations run in parallel",
    "lax": "lw.cond, lw.scan, lw.while_loop, ..., or Python's own if, for and while",
    "numpy": "NumPy itself: import numpy as np",
    "np": "NumPy itself: import numpy as np",
    "array": "np.array: arrays are NumPy's",
    "device_put": "the array itself: arrays are NumPy's",
    "make_jaxpr": "lw.explain(f, *args)",
    "debug": "print, which prints for each example, or lw.vmap(f, plain=True) with breakpoint()",
    "pure_callback": "lw.py_func(func, inputs, output_types)",
    "numpy_function": "lw.py_func(func, inputs, output_types)",
    "py_function": "lw.py_func(func, inputs, output_types)",
    "remat": "lw.checkpoint(f)",
    "custom_vjp": "lw.custom_gradient",
    "tree_util": "containers as they are: lw.vmap takes and returns them",
    "derivative": "lw.grad(f)",
    "gradient": "lw.grad(f), or np.gradient for differences",
    "PRNGKey": "lw.random.key(seed)",
}


def answers(kind: str) -> Callable[[F], F]:
    """Return a decorator: arguments known from elsewhere are answered with what to write."""
    known = ARGUMENTS[kind]

    def decorate(function: F) -> F:
        title = getattr(function, "__name__", kind)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs and not known.keys().isdisjoint(kwargs):
                name = next(name for name in kwargs if name in known)
                raise TypeError(f"lanewise.{title} has no argument {name!r}: {known[name]}")
            return function(*args, **kwargs)

        return cast("F", call)

    return decorate


def missing(name: str) -> AttributeError:
    """Return the error for a name that the package does not have."""
    ours = NAMES.get(name)
    told = "" if ours is None else f". What it is elsewhere is {ours} here"
    return AttributeError(f"module 'lanewise' has no attribute {name!r}{told}")
