"""What `lanes` rules are given: the builder with its parts, each described where it is written."""

from __future__ import annotations

from functools import partial

from lanewise.codegen.algorithms.linalg import LinearAlgebra
from lanewise.codegen.algorithms.orthogonal import Orthogonal
from lanewise.codegen.algorithms.sorting import Sorting
from lanewise.codegen.emitter import Emitter
from lanewise.codegen.functions import Functions
from lanewise.codegen.library import Calls
from lanewise.codegen.lists import Arena
from lanewise.codegen.lowering import Lowering
from lanewise.codegen.products import Products
from lanewise.codegen.reductions import Reductions
from lanewise.codegen.updates import Updates
from lanewise.codegen.views import Views


class Algorithms(Lowering):
    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.functions, self.views, self.updates = Functions(self), Views(self), Updates(self)
        self.reductions, self.products = Reductions(self), Products(self)
        self.linalg, self.orthogonal = LinearAlgebra(self), Orthogonal(self)
        self.sorting, self.calls = Sorting(self), Calls(self)
        self.list_arena = partial(Arena, self)
