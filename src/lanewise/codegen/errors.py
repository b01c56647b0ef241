"""What the compiler says when it leaves something to NumPy."""

from __future__ import annotations

from lanewise.errors import at
from lanewise.ir.dims import Undecided
from lanewise.ir.graph import Operation
from lanewise.passes.survive import INTERNAL, survives


class CannotCompile(Exception):  # noqa: N818 (nothing went wrong)
    """Something has no native form."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        #: What, and why.
        self.reason = reason
        #: The operations in which it was found, from the inside out.
        self.trail: list[Operation] = []

    def __str__(self) -> str:
        place = at(self.trail[0].place) if self.trail else ""
        return f"{self.reason}{place}"


def refusal(error: Exception, op: Operation) -> CannotCompile:
    """Return what is raised where writing an operation raised an error: why it has no native form.

    Raises
    ------
    Exception
        The error itself, where it is not survived.
    """
    if isinstance(error, Undecided):
        refused = CannotCompile(f"{op.primitive.name} has to know the sizes")
    elif survives(error, f"the native form of {op.primitive.name}", op.alone()):
        refused = CannotCompile(f"{op.primitive.name}: {INTERNAL} in its native form")
    else:
        raise error
    refused.trail.append(op)
    return refused


class TooLong(CannotCompile):
    """A kernel would compile for too long; what it does may be done by several."""
