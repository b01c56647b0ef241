"""`Module`: an object with variables, and calls of it with other values in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lanewise.autograph.calls import fn
from lanewise.errors import at
from lanewise.ir.location import here
from lanewise.trace.variable import Variable, replaced


class Module:
    """The base of layers and models: it knows the variables in its attributes.

    Variables may stand in attributes, in lists, tuples and dicts of these, and in modules in them.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> class Line(lw.nn.Module):
    ...     def __init__(self):
    ...         self.slope, self.offset = lw.Variable(2.0), lw.Variable(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> list(line.named_variables())
    ['slope', 'offset']
    >>> lw.vmap(line)(np.arange(3.0))
    array([1., 3., 5.])
    """

    def named_variables(self) -> dict[str, Variable]:
        """Return all variables by their paths, such as ``layers[0].kernel``, in order."""
        found: dict[str, Variable] = {}
        _collect(self, "", found, set())
        return found

    @property
    def variables(self) -> list[Variable]:
        """All variables, each once."""
        return list(self.named_variables().values())

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables that are to be learned."""
        return [variable for variable in self.variables if variable.trainable]

    def values(self, trainable: bool = False) -> dict[str, np.ndarray]:
        """Return the values of all variables, or of those to be learned, by their paths."""
        return {
            path: variable.value
            for path, variable in self.named_variables().items()
            if variable.trainable or not trainable
        }

    def assign(self, values: Mapping[str, Any]) -> None:
        """Give variables new values, by their paths."""
        named = self.named_variables()
        for path, value in values.items():
            _known(named, path).assign(value)


def functional_call(
    module: Callable[..., Any], values: Mapping[str, Any], *args: Any, **kwargs: Any
) -> Any:
    """Call a module with other values in place of those of its variables.

    So it becomes a function of its parameters, to be mapped and differentiated.

    Parameters
    ----------
    module : Module
        What to call. Its variables must be there: call it once before.
    values : dict of str to array
        For paths of variables (see `Module.named_variables`) what stands for them; others keep
        their values.
    *args, **kwargs
        What to call it with.

    Returns
    -------
    array or tree of arrays
        What the module returned.

    Raises
    ------
    KeyError
        If there is no variable of a path.
    ValueError
        If a value has another shape than its variable.
    TypeError
        If a value's dtype is not converted to its variable's (NumPy's ``same_kind``).

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> layer = lw.nn.Dense(1)
    >>> y = layer(np.ones((1, 2)))
    >>> loss = lambda values, x: lw.nn.functional_call(layer, values, x).sum()
    >>> grads = lw.vmap(lw.grad(loss), in_dims=(None, 0))(layer.values(), np.eye(2))
    >>> grads["kernel"].shape
    (2, 2, 1)
    """
    named = module.named_variables()  # ty: ignore[missing-attribute]
    replacements = []
    for path, value in values.items():
        variable = _known(named, path)
        if np.shape(value) != variable.shape:
            raise ValueError(
                f"functional_call: {path} has shape {variable.shape}, not {np.shape(value)}"
                f"{at(here())}"
            )
        replacements.append((variable, _fitted(value, variable, path)))
    with replaced(replacements):
        return fn(module)(*args, **kwargs)  # its control flow may follow the data


def stack(modules: Sequence[Module]) -> dict[str, np.ndarray]:
    """Return the values of modules of one kind, stacked: an ensemble, to be mapped over.

    Parameters
    ----------
    modules : sequence of Module
        With variables of the same paths and shapes.

    Returns
    -------
    dict of str to array
        For `functional_call` under `vmap`.

    Raises
    ------
    ValueError
        If there are none, or their variables differ.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> layers = [lw.nn.Dense(2) for _ in range(3)]
    >>> x = np.ones(4)
    >>> each = [layer(x) for layer in layers]
    >>> call = lambda values: lw.nn.functional_call(layers[0], values, x)
    >>> bool(np.allclose(lw.vmap(call)(lw.nn.stack(layers)), each))
    True
    """
    rows = [module.values() for module in modules]
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        raise ValueError("stack takes modules with the same variables, at least one")
    return {path: np.stack([row[path] for row in rows]) for path in rows[0]}


def _fitted(value: Any, variable: Variable, path: str) -> Any:
    """Return what stands for a variable in the variable's dtype."""
    array = value if hasattr(value, "dtype") else np.asarray(value)
    if array.dtype == variable.dtype:
        return array
    if not np.can_cast(array.dtype, variable.dtype, "same_kind"):
        raise TypeError(
            f"functional_call: {path} has dtype {variable.dtype}, to which {array.dtype} is not "
            f"converted{at(here())}"
        )
    return array.astype(variable.dtype)


def _known(named: Mapping[str, Variable], path: str) -> Variable:
    if path not in named:
        raise KeyError(f"there is no variable {path!r}; there are {', '.join(named) or 'none'}")
    return named[path]


def _collect(node: Any, path: str, found: dict[str, Variable], seen: set[int]) -> None:
    if id(node) in seen:
        return
    if isinstance(node, Variable):
        seen.add(id(node))
        found[path] = node
    elif isinstance(node, Module):
        seen.add(id(node))
        for name, value in vars(node).items():
            _collect(value, f"{path}.{name}" if path else name, found, seen)
    elif isinstance(node, (list, tuple)):
        for number, value in enumerate(node):
            _collect(value, f"{path}[{number}]", found, seen)
    elif isinstance(node, dict):
        for key, value in node.items():
            _collect(value, f"{path}[{key!r}]", found, seen)
