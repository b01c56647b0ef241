"""Carrying out single operations, as code that is recorded runs (`lanewise.trace.eager`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ir.graph import Signature, current_builder, recorded
from lanewise.ir.types import TOKEN, ArrayType, Type, array_type
from lanewise.runtime.dispatch import execute
from lanewise.trace.eager import RUN


def run(signature: Signature, arrays: Sequence[Any]) -> list[Any]:
    """Return the results of an operation on arrays; a token is None."""
    if signature.regions or signature.must_run:
        return _planned(signature, arrays)
    found = signature.primitive.numpy(*arrays, **signature.params)
    found = (found,) if len(signature.types) == 1 else found
    results = []
    for x, type_ in zip(found, signature.types, strict=True):
        assert isinstance(type_, ArrayType)
        results.append(x if type_.dtype.kind == "O" else np.asarray(x, type_.dtype))
    return results


def _planned(signature: Signature, arrays: Sequence[Any]) -> list[Any]:
    """Run what needs a plan: an operation with regions or an effect."""
    graph = recorded(map(_type, arrays), lambda *x: current_builder().append(signature, x))
    return execute(None if graph.has_effects else graph.key, lambda: graph, arrays)


def _type(x: Any) -> Type:
    if x is None:
        return TOKEN
    return array_type(x.dtype if isinstance(x, np.ndarray) else np.dtype(object), x.shape)


RUN.append(run)
