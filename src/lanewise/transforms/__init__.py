"""Derivatives: graphs to graphs. Linearize, then transpose."""

from lanewise.transforms import checkpoint as _checkpoint  # noqa: F401  (enters its rules)
from lanewise.transforms import custom as _custom  # noqa: F401  (enters its rules)
from lanewise.transforms import loops as _loops  # noqa: F401  (and those of `while`)
from lanewise.transforms import regions as _regions  # noqa: F401  (and of the other regions)
