"""Objects of several classes, made where the data steer: ``Circle(r) if round else Square(a)``.

What branches leave is joined to one object of each class, of which the data choose one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanewise.autograph.instances import is_plain
from lanewise.autograph.optional import apart_from_none
from lanewise.autograph.state import DONT_CARE, NUMBERS
from lanewise.trace.regions import Region
from lanewise.trace.variants import ON_VARIANTS, Alternatives, Variant


def classes_in(ends: Sequence[Any], regions: Sequence[Region]) -> list[type]:
    """Return the classes of objects that branches left, if they are several and some are new."""
    objects: list[Any] = []
    for end in ends:
        if end is DONT_CARE:
            continue
        if type(end) in NUMBERS:
            return []
        objects += end._lw_among if type(end) is Variant else [end]
    if not any([region.has_born(x) for x in objects for region in regions]):
        return []
    found = list(dict.fromkeys(map(type, objects)))
    return found if len(found) > 1 and all(map(_is_joined, objects)) else []


def apart_from_nothing(end: Any) -> tuple[Any, Any]:
    """Return whether what a branch left is not None, and what it is then."""
    if type(end) is not Variant or not any([x is None for x in end._lw_among]):
        return apart_from_none(end)
    by_tag = {tag: x for tag, x in end._lw_among.by_tag.items() if x is not None}
    return ON_VARIANTS["is not none"](end), Variant(end._lw_tag, Alternatives(by_tag))


def _is_joined(x: Any) -> bool:
    """Whether objects of its class are joined by what they hold."""
    return is_plain(x) or hasattr(type(x), "__dataclass_fields__")


def apart_by_class(end: Any, classes: Sequence[type]) -> tuple[Any, list[Any]]:
    """Return which of some classes what a branch left is of, and what it is of each."""
    if end is DONT_CARE:
        return DONT_CARE, [DONT_CARE] * len(classes)
    if type(end) is not Variant:
        place = classes.index(type(end))
        return place, [end if i == place else DONT_CARE for i in range(len(classes))]
    among = list(end._lw_among)
    place = ON_VARIANTS["chosen"](end, [classes.index(type(x)) for x in among])
    each = [ON_VARIANTS["of class"](end, cls) for cls in classes]
    return place, [DONT_CARE if x is None else x for x in each]
