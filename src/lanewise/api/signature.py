"""``input_signature``: what arguments of a traced function look like, said beforehand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lanewise.api.keys import is_data
from lanewise.api.mapping import as_array
from lanewise.api.parameters import Parameters
from lanewise.api.spec import Size, TensorSpec
from lanewise.api.tracing import Arguments
from lanewise.ir.dims import Dim, DimLike, Shape
from lanewise.trace import tree
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import where


class Converted(NamedTuple):
    """Arguments as an ``input_signature`` wants them.

    Attributes
    ----------
    args
        The positional arguments.
    copies
        By id, those that share no memory with what the caller gave, each with its path.
    """

    args: tuple[Any, ...]
    copies: dict[int, tuple[Any, str]]

    def refuse(self, x: Any) -> None:
        """Raise `TypeError` if a function that writes to `x` writes to nothing of the caller's."""
        if id(x) in self.copies:
            raise TypeError(
                f"{self.copies[id(x)][1]} is written to, but was converted to {x.dtype} as the "
                f"input_signature says, so the caller would not see it{where()}. Pass an array of "
                "that dtype"
            )

    def refuse_containers(self, name: str) -> None:
        """Raise `TypeError` for a function that puts other arrays in containers of the caller's."""
        raise TypeError(
            f"{name} puts an array in a container among its arguments, which is converted as the "
            f"input_signature says, so the caller would not see it{where()}. Return it"
        )


class Signature:
    """The specs of a function's arguments by position, in containers shaped like them.

    Attributes
    ----------
    tree : tuple
        The specs as they were given.

    Raises
    ------
    TypeError
        If it is no sequence, or holds something else than `TensorSpec`.
    """

    __slots__ = ("_specs", "tree")

    def __init__(self, signature: Any) -> None:
        if not isinstance(signature, (list, tuple)) or hasattr(signature, "_fields"):
            raise TypeError(
                f"input_signature is a list with a TensorSpec for each argument, not {signature!r}"
            )
        self.tree = tuple(signature)
        self._specs: list[TensorSpec] = []
        leaves, _ = tree.flatten(self.tree)
        for spec, path in zip(leaves, tree.paths(self.tree, "input_signature"), strict=True):
            if not isinstance(spec, TensorSpec):
                raise TypeError(f"{path} is {spec!r}, not a TensorSpec")
            self._specs.append(spec)

    def check(self, name: str, parameters: Parameters) -> None:
        """Raise `TypeError` if a function cannot be called as the signature says."""
        if parameters.takes_any_name and parameters.names:
            raise TypeError(f"{name} takes **kwargs, which an input_signature cannot describe")
        if parameters.required_names:
            missing = ", ".join(parameters.required_names)
            raise TypeError(f"{name} needs {missing} by name, which is not in its input_signature")
        count = len(self.tree)
        if count > len(parameters.names) and not parameters.takes_any_number:
            raise TypeError(
                f"the input_signature of {name} has {count} entries for "
                f"{len(parameters.names)} parameters"
            )
        for parameter in parameters.names[count:]:
            if parameter not in parameters.defaults:
                raise TypeError(f"{parameter}, which has no default, is not in its input_signature")

    def converted(
        self, name: str, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Converted:
        """Return the positional arguments of a call as arrays of the dtypes that the specs say.

        Raises
        ------
        TypeError
            For an argument that is not in the signature, or not safely of the dtype.
        ValueError
            For one of another structure or shape. The messages name the argument.
        """
        self._refuse_others(name, parameters, args, kwargs)
        parts: list[Any] = []
        paths: list[str] = []
        for position, spec in enumerate(self.tree):
            label = parameters.label(position)
            parts += tree.parts(spec, args[position], f"input_signature[{position}]", label)
            paths += tree.paths(spec, label)
        sizes: dict[str, tuple[int, str]] = {}
        leaves = [
            _converted(part, spec, f"{name}: {path}", sizes)
            for part, spec, path in zip(parts, self._specs, paths, strict=True)
        ]
        copies = {
            id(leaf): (leaf, f"{name}: {path}")
            for leaf, part, path in zip(leaves, parts, paths, strict=True)
            if leaf is not part and not isinstance(leaf, np.generic)
            if not (isinstance(part, np.ndarray) and np.may_share_memory(leaf, part))
        }
        _, structure = tree.flatten(self.tree)
        return Converted((*tree.unflatten(structure, leaves), *args[len(self.tree) :]), copies)

    def filled(
        self, name: str, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the specs and defaults as the arguments of a call, which `args` must fit."""
        args, kwargs = parameters.bind(args, kwargs)
        self._refuse_others(name, parameters, args, kwargs)
        leaves: list[TensorSpec] = []
        for position, spec in enumerate(self.tree):
            label = parameters.label(position)
            given = tree.parts(spec, args[position], f"input_signature[{position}]", label)
            own, _ = tree.flatten(spec)
            for part, leaf in zip(given, own, strict=True):
                if not isinstance(part, TensorSpec):
                    array = _converted(part, leaf, f"{name}: {label}", {})
                    part = TensorSpec([None] * array.ndim, leaf.dtype)
                elif not _is_within(part, leaf):
                    raise TypeError(
                        f"{name}: {label} is {part}, but its input_signature says {leaf}"
                    )
                leaves.append(part if leaf.shape is None else leaf)
        _, structure = tree.flatten(self.tree)
        return (*tree.unflatten(structure, leaves), *args[len(self.tree) :]), kwargs

    def _refuse_others(
        self, name: str, parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        count = len(self.tree)
        rest = {parameters.label(i): x for i, x in enumerate(args[count:], count)}
        for label, value in {**rest, **kwargs}.items():
            if label not in parameters.defaults or parameters.defaults[label] is not value:
                raise TypeError(f"{name}: the argument {label} is not in its input_signature")
        if len(args) < count:
            raise TypeError(f"{name}: its input_signature has {count} arguments, not {len(args)}")

    def shapes(self, paths: Sequence[str], arguments: Arguments) -> tuple[Shape, ...]:
        """Return the shapes to trace with: sizes that are not known are symbols.

        Of an array of any number of dimensions, that of the call at hand is taken.
        """
        found = []
        data = [
            (path, key) for path, key in zip(paths, arguments.keys, strict=True) if is_data(key)
        ]
        for spec, (path, key) in zip(self._specs, data, strict=False):
            shape = (None,) * len(key[1]) if spec.shape is None else spec.shape
            found.append(symbolic(shape, path))
        found += [key[1] for _, key in data[len(self._specs) :]]  # defaults
        return tuple(found)


def symbolic(shape: Sequence[Size], path: str) -> Shape:
    """Return a shape with symbols for sizes that are not known, called after the argument.

    Examples
    --------
    >>> symbolic((None, 3, "n"), "state['x']")
    (state_x_0, 3, n)
    """
    stem = re.sub(r"\W+", "_", path).strip("_")
    sizes: list[DimLike] = []
    for axis, dim in enumerate(shape):
        sizes.append(dim if type(dim) is int else Dim.symbol(str(dim or f"{stem}_{axis}")))
    return tuple(sizes)


def _converted(part: Any, spec: TensorSpec, path: str, sizes: dict[str, tuple[int, str]]) -> Any:
    """Return an argument as an array of a spec's dtype, or raise naming its path."""
    if isinstance(part, Tensor):
        array: Any = part
    elif isinstance(part, (list, tuple)) or type(part) in (bool, int, float, complex):
        array = np.asarray(part)
    else:
        array = as_array(part, lambda: path)
    if array.dtype != spec.dtype:
        if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
            raise TypeError(
                f"{path} has dtype {array.dtype}, which does not convert to {spec.dtype} safely"
                f"{where()}"
            )
        if isinstance(part, (Tensor, np.ndarray, np.generic)):
            array = array.astype(spec.dtype)
        else:
            array = np.asarray(part, spec.dtype)  # of a Python number that it is in range
    if not isinstance(part, (Tensor, np.ndarray)):
        array = array[()]  # without dimensions a scalar: it cannot be written to
    if spec.shape is None:
        return array
    shape = array.shape
    if len(shape) != len(spec.shape):
        raise ValueError(
            f"{path} has {len(shape)} dimension{'s' * (len(shape) != 1)} (shape {shape}), but its "
            f"spec has {len(spec.shape)}: {spec.shape}{where()}"
        )
    for axis, (size, wanted) in enumerate(zip(shape, spec.shape, strict=True)):
        if type(wanted) is int and size != wanted:
            raise ValueError(
                f"{path} has size {size} along axis {axis} (shape {shape}), but its spec says "
                f"{wanted}: {spec.shape}{where()}"
            )
        if type(wanted) is str:
            first, other = sizes.setdefault(wanted, (size, f"{path}, axis {axis}"))
            if first != size:
                raise ValueError(
                    f"{path} has size {size} along axis {axis}, but {wanted!r} is {first} "
                    f"({other}){where()}"
                )
    return array


def _is_within(spec: TensorSpec, wider: TensorSpec) -> bool:
    """Whether all arrays of a spec are of another."""
    if spec.dtype != wider.dtype:
        return False
    if wider.shape is None:
        return True
    if spec.shape is None or len(spec.shape) != len(wider.shape):
        return False
    return all(
        [b in (None, a) or type(b) is str for a, b in zip(spec.shape, wider.shape, strict=True)]
    )
