"""What `lanes` rules are given: the builder with its parts, each described where it is written."""

from __future__ import annotations

from functools import partial

from lanewise.codegen.algorithms.linalg import LinearAlgebra
from lanewise.codegen.algorithms.orthogonal import Orthogonal
from lanewise.codegen.algorithms.sorting import Sorting
from lanewise.codegen.builder import Builder
from lanewise.codegen.functions import Functions
from lanewise.codegen.fusion import Fusion
from lanewise.codegen.library import Calls
from lanewise.codegen.lists import Arena
from lanewise.codegen.products import Products
from lanewise.codegen.reductions import Reductions
from lanewise.codegen.updates import Updates
from lanewise.codegen.views import Views


def with_parts(k: Builder) -> Builder:
    """Give a builder the parts that are made of what it is itself."""
    k.fusion, k.functions, k.views, k.updates = Fusion(k), Functions(k), Views(k), Updates(k)
    k.reductions, k.products = Reductions(k), Products(k)
    k.linalg, k.orthogonal, k.sorting = LinearAlgebra(k), Orthogonal(k), Sorting(k)
    k.calls, k.list_arena = Calls(k), partial(Arena, k)
    return k
