"""``is`` on data: of None, True and False in each example, as Python compares objects."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from support.everywhere import assert_like_the_loop

XS = np.array([0.5, 1.0, 10.0, 100.0, -3.0])


def in_a_while(x):
    done, n = False, 0
    while done is False:
        x = x / 2
        n += 1
        if x < 1:
            done = True
    return n


def in_an_if(x):
    big = False
    if x > 1:
        big = True
    if big is True:
        return 1.0
    return 2.0


def in_a_choice(x):
    big = bool(x > 1)
    return (1.0 if big is not False else 2.0) + (10.0 if True is big else 20.0)


def in_a_chain(x):
    big, small = bool(x > 1), bool(x < 5)
    return (1.0 if big is small is True else 2.0) + (10.0 if big is not small else 20.0)


def in_a_comprehension(x):
    flags = [bool(x > k) for k in range(4)]
    return sum([k for k, flag in enumerate(flags) if flag is True])


def of_numpy(x):
    big = x > 1
    return (1.0 if big is True else 2.0) + (10.0 if big is not True else 20.0)


def of_an_array(x):
    flags = np.array([x > 1, x > 2])
    return (1.0 if flags[0] is True else 2.0) + (10.0 if flags.tolist()[1] is True else 20.0)


def of_ints(x):
    count = int(x > 1)
    return 1.0 if count is True else 2.0


def of_mixed_classes(x):
    if x > 5:
        y = True
    elif x > 0:
        y = 1.0
    else:
        y = 0
    return (1.0 if y is True else 2.0) + (10.0 if y is not False else 20.0)


def of_one_of_numpy(x):
    y = True
    if x > 1:
        y = x > 5
    return 1.0 if y is True else 2.0


def of_two_mixed(x):
    y = True if x > 5 else 1
    z = True if x > 0 else 1.0
    return (1.0 if y is z else 2.0) if bool(x > -5) else 3.0


def of_bools_or_none(x):
    found = None
    if x > 5:
        found = True
    elif x > 0.7:
        found = False
    return (
        (1.0 if found is True else 2.0)
        + (10.0 if found is not False else 20.0)
        + (100.0 if None is found else 200.0)
    )


def of_two_that_may_be_none(x):
    first = second = None
    if x > 0.7:
        first = True
    if x > 5:
        second = bool(x > 50)
    return (1.0 if first is second else 2.0) + (10.0 if second is not first else 20.0)


def by_operator(x):
    big = bool(x > 1)
    return operator.is_(big, True) + 2 * operator.is_not(big, False)


def of_other_objects(x):
    missing = object()
    y = missing if x.ndim else x
    return (1.0 if y is missing else 2.0) + (10.0 if y is x else 20.0)


def in_a_match(x):
    found = None
    if x > 5:
        found = True
    elif x > 0.7:
        found = False
    match found:
        case True:
            return 1.0
        case False:
            return 2.0
        case None:
            return 3.0


def in_a_match_of_numpy(x):
    match x > 1:
        case True | False:
            return 1.0
        case _:
            return 2.0


def in_a_pattern(x):
    match [bool(x > 1), x]:
        case [True, y] if y > 50:
            return y
        case [True as big, y]:
            return y + big
        case [False | None, y]:
            return -y


def in_patterns(x):
    match [[bool(x > 1), x]]:
        case [[True, 5.0] | [False, _]]:
            return 1.0
        case [[True, y] | [None, y]]:
            return y
    return 0.0


FUNCTIONS = [
    in_a_while, in_an_if, in_a_choice, in_a_chain, in_a_comprehension, of_numpy, of_an_array,
    of_ints, of_mixed_classes, of_one_of_numpy, of_two_mixed, of_bools_or_none,
    of_two_that_may_be_none, by_operator, of_other_objects, in_a_match, in_a_match_of_numpy,
    in_a_pattern, in_patterns,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
def test_objects_are_compared_as_python_does(f):
    assert_like_the_loop(f, XS)
