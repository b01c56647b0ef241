"""The operation that ``docs/adding-an-operation.md`` adds passes what every operation must."""

from __future__ import annotations

import doctest
from collections.abc import Iterator

import pytest

from codegen import test_operations as native
from docs.test_docs import DOCS, OPTIONS, examples
from lanewise.ops.registry import REGISTRY, Primitive
from ops import test_derivatives as derivatives
from ops import test_registry as meaning


@pytest.fixture(scope="module")
def leaky_sum() -> Iterator[Primitive]:
    """Follow the page, and return what it adds."""
    text = examples(DOCS / "adding-an-operation.md")
    test = doctest.DocTestParser().get_doctest(text, {}, "adding", "adding", 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    assert not runner.run(test, out=lambda _: None, clear_globs=False).failed
    yield REGISTRY["leaky_sum"]
    del REGISTRY["leaky_sum"]


def test_it_means_what_it_says(leaky_sum: Primitive) -> None:
    meaning.test_symbolic_dimensions("leaky_sum")
    for case in meaning.samples_of(leaky_sum):
        meaning.test_the_type_rule_is_numpys(leaky_sum, case)
        meaning.test_interpreted(leaky_sum, case)
        meaning.test_mapped_twice(leaky_sum, case)
        for size in (3, 1, 0):
            meaning.test_mapped(leaky_sum, case, size)


def test_its_derivatives(leaky_sum: Primitive) -> None:
    derivatives.test_every_primitive_has_a_derivative_or_says_why_not("leaky_sum")
    given = [param.values for param in derivatives._cases("dD", False)]
    own = [values for values in given if values[0] is leaky_sum]
    assert len(own) == 6
    for values in own:
        derivatives.test_tangents_are_differences(*values)
        derivatives.test_back_is_the_transpose_of_forward(*values)
        derivatives.test_second_derivatives(*values)


def test_its_kernel(leaky_sum: Primitive) -> None:
    uses = list(native.uses_of(leaky_sum))
    assert len({use.case.operands[0].dtype for use in uses}) > 3
    assert "leaky_sum" in native.check(uses)
