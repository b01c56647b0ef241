"""What the model of costs counts: by its counts, not by times."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import costs, counting
from lanewise.codegen.prices import PRICES, Work, level
from lanewise.codegen.processor import machine
from lanewise.ir.graph import Graph
from lanewise.ir.text import parse_graph
from lanewise.ops.registry import REGISTRY


def graph(text: str) -> Graph:
    return parse_graph(f"graph{text}", REGISTRY)


def alone(body: Graph, threads: int = 1) -> costs.Cost:
    """Return what a kernel of one example costs."""
    dims = (None,) * len(body.inputs)
    return costs.of_kernel(costs.settled(body, dims), dims, 1, 8, False, threads)


def limit(cost: costs.Cost) -> str:
    names = ("arithmetic", "latency", "bandwidth")
    return max(names, key=lambda name: getattr(cost, name))


def elementwise(size: int, steps: int) -> Graph:
    lines, last = [], "%0"
    for i in range(steps):
        lines.append(f"%{i + 1}: f64[{size}] = multiply({last}, {last})")
        last = f"%{i + 1}"
    return graph(f"(%0: f64[{size}]) {{ {' '.join(lines)} return {last} }}")


def test_a_sum_of_large_arrays_is_near_bandwidth():
    assert limit(alone(elementwise(10_000_000, 1))) == "bandwidth"


def test_a_long_polynomial_is_arithmetic():
    assert limit(alone(elementwise(1000, 60))) == "arithmetic"
    assert limit(alone(elementwise(10_000_000, 200))) == "arithmetic"


RECURRENCE = """(%0: f64[], %1: f64[%N]) {
    %2: f64[] = scan[captures=0, carry=1, length=%N](%0, %1)
        graph(%0: f64[], %1: f64[]) {
            %2: f64[] = multiply(%0, %0) %3: f64[] = add(%2, %1) return %3
        }
    return %2
}"""


def test_a_recurrence_of_numbers_is_latency():
    cost = alone(graph(RECURRENCE.replace("%N", "1000")))
    assert limit(cost) == "latency"
    assert cost.turn == pytest.approx(2 * PRICES.latency)
    assert cost.latency == pytest.approx(1000 * 2 * PRICES.latency / costs.CLOCK)


def test_what_a_loop_does_beside_its_chain_does_not_wait():
    text = RECURRENCE.replace("%N", "1000").replace(
        "%2: f64[] = multiply(%0, %0) %3: f64[] = add(%2, %1)",
        "%2: f64[] = multiply(%1, %1) %3: f64[] = add(%0, %2)",
    )
    assert alone(graph(text)).turn == pytest.approx(PRICES.latency)


UPDATES = """(%0: f64[%N,%N], %1: i64[50]) {
    %2: f64[%N,%N] = scan[captures=0, carry=1, length=50](%0, %1)
        graph(%0: f64[%N,%N], %1: i64[]) {
            %2: f64[] = gather[axis=0](%0, %1, %1)
            %3: f64[] = multiply(%2, %2)
            %4: f64[%N,%N] = scatter[axis=0, fn=None](%0, %3, %1, %1)
            return %4
        }
    return %2
}"""


def test_an_update_of_an_element_costs_an_element():
    """Not as much as the array has: but for the copy that is changed, sizes make no difference."""
    small, large = (alone(graph(UPDATES.replace("%N", n))) for n in ("20", "50"))
    width = machine().register_bits // 64
    copied = 2 * (50 * 50 - 20 * 20) / width * PRICES.access / costs.CLOCK
    assert large.arithmetic - small.arithmetic < 1.5 * copied
    assert large.latency == small.latency


def test_a_version_that_is_read_later_is_copied():
    text = """(%0: f64[1000], %1: f64[1]) {
        %2: f64[1000] = add(%0, %0)
        %3: f64[1000] = update_slice[index=((0, 1, 1),)](%2, %1)
        return %3READ
    }"""
    once = alone(graph(text.replace("READ", "")))
    both = alone(graph(text.replace("READ", ", %2")))
    assert both.arithmetic > once.arithmetic


def test_columns_are_dearer_than_rows():
    rows = """(%0: f64[500,500]) {
        %1: f64[1,500] = slice[index=((3, 4, 1), None)](%0)
        %2: f64[500] = reshape[shape=(500,)](%1)
        %3: f64[500] = add(%2, %2) return %3 }"""
    columns = """(%0: f64[500,500]) {
        %1: f64[500,1] = slice[index=(None, (3, 4, 1))](%0)
        %2: f64[500] = reshape[shape=(500,)](%1)
        %3: f64[500] = add(%2, %2) return %3 }"""
    assert alone(graph(columns)).arithmetic > 2 * alone(graph(rows)).arithmetic


def test_threads_share_what_is_much():
    body = elementwise(1000, 50)
    dims = (0,)
    one, two = (costs.of_kernel(body, dims, 10_000, 8, True, threads) for threads in (1, 2))
    assert (one.threads, two.threads) == (1, 2)
    assert two.arithmetic == pytest.approx(one.arithmetic / 2, rel=0.01)
    few = costs.of_kernel(elementwise(2, 1), dims, 16, 8, True, 2)
    assert few.threads == 1


def test_examples_in_lanes_wait_for_each_others_branches():
    text = """(%0: bool[], %1: f64[]) {
        %2: f64[] = cond(%0, %1)
            graph(%0: f64[]) { %1: f64[] = exp(%0) return %1 }
            graph(%0: f64[]) { %1: f64[] = sin(%0) return %1 }
        return %2
    }"""
    body = graph(text)
    both = costs.each_ns(body, (0, 0), 8, True) * 8
    one = costs.each_ns(body, (0, 0), 8, False)
    assert both > one


def test_slices_of_data_are_what_the_turns_of_a_loop_share():
    def lengths(values, starts, ends):
        total = 0.0
        for i in range(100):
            total += values[starts[i] : ends[i]].sum()
        return total

    starts = np.arange(0, 1000, 10)
    traced = lw.function(lengths, jit_compile=True)
    seen = lw.explain(traced, np.ones(1000), starts, starts + 10)
    costs_of = [kernel.cost for kernel in seen.kernels]
    assert costs_of and all([cost is not None for cost in costs_of])
    # Half of the array for each of 100 turns would be 50,000 elements.
    assert sum([cost.arithmetic for cost in costs_of]) < 50_000 / 8 * 2


@pytest.mark.parametrize("nbytes", [0, 1 << 14, 1 << 18, 1 << 22, 1 << 30])
def test_levels_grow_with_what_lies_there(nbytes):
    assert level(nbytes) <= level(4 * nbytes + 1)


def test_work_adds_up():
    total = Work(busy=1.0, slowest=(5.0, 5.0))
    total.add(Work(busy=2.0, wait=1.0, slowest=(3.0, 1.5)), 4)
    assert (total.busy, total.cycles, total.slowest) == (9.0, 13.0, (12.0, 1.5))


def test_what_is_counted_of_a_row_is_by_vectors():
    body = elementwise(64, 1)
    counted = counting.work_along_rows(body)
    assert counted.chain == 0 and counted.busy >= 64 / 16 * PRICES.vector / 2
