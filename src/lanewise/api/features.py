"""`Feature`: parts of the conversion of Python code that can be asked for by name."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any


class Feature(Enum):
    """A part of the conversion of Python code, for ``experimental_autograph_options``.

    They are the names that TensorFlow has. Here the conversion always does all of it, at no cost
    for code that does not need it, so naming a feature changes nothing.

    Examples
    --------
    >>> import lanewise as lw
    >>> f = lw.function(lambda x: x + 1, experimental_autograph_options=lw.Feature.LISTS)
    """

    #: All of them.
    ALL = "all"
    #: Host calls and checks run in the order of the program.
    AUTO_CONTROL_DEPS = "auto_control_deps"
    #: ``assert`` follows the data.
    ASSERT_STATEMENTS = "assert_statements"
    #: ``len``, ``range``, ``max`` and their like take data.
    BUILTIN_FUNCTIONS = "builtin_functions"
    #: ``==`` and ``!=`` compare elements.
    EQUALITY_OPERATORS = "equality_operators"
    #: Lists may grow where the data decide.
    LISTS = "lists"
    #: Operations are named by the function that they stand in: errors name its lines.
    NAME_SCOPES = "name_scopes"


def features_of(options: Any) -> frozenset[Feature]:
    """Return the features that an option names, or raise `TypeError` for anything else."""
    if options is None:
        return frozenset(Feature)
    found = options if isinstance(options, Iterable) else (options,)
    features = frozenset(found) if not isinstance(options, str) else frozenset((options,))
    for feature in features:
        if not isinstance(feature, Feature):
            raise TypeError(
                "experimental_autograph_options takes a lanewise.Feature, or several, not "
                f"{feature!r}"
            )
    return frozenset(Feature) if Feature.ALL in features else features
