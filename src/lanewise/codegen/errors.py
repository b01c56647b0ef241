"""What the compiler says when it leaves something to NumPy."""

from __future__ import annotations

from lanewise.errors import at
from lanewise.ir.graph import Operation


class CannotCompile(Exception):  # noqa: N818 (nothing went wrong)
    """Something has no native form.

    Attributes
    ----------
    reason
        What, and why.
    trail
        The operations in which it was found, from the inside out.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.trail: list[Operation] = []

    def __str__(self) -> str:
        place = at(self.trail[0]._place) if self.trail else ""
        return f"{self.reason}{place}"


class TooLong(CannotCompile):
    """A kernel would compile for too long; what it does may be done by several."""
