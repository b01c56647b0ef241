"""Autograph: Python control flow on data, recorded while the function is traced."""

# Importing these enters what is called in place of builtins, methods and functions of `math`.
from lanewise.autograph import (  # noqa: F401
    branches,
    builtins,
    calls,
    containers,
    decorated,
    hooks,
    library,
    mathematics,
    randomness,
    strings,
    subscripts,
)
from lanewise.autograph.lists import heaps, holding  # noqa: F401

calls.HOOKS.append(hooks)
calls.STOPS.append(branches.stops)
