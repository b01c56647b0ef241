"""The primitives: everything known of an operation stands in one definition, by family."""

from lanewise.ops.registry import REGISTRY, Primitive

__all__ = ["REGISTRY", "Primitive"]
