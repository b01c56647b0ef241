"""What compiles modules keeps nothing of them: the thousandth takes as long as the first."""

from __future__ import annotations

from lanewise.codegen import llvm

TEXT = """
define void @f(ptr %p) {
  ret void
}
define void @g(ptr %p) {
  ret void
}
"""


def test_no_two_functions_share_a_pass_builder(monkeypatch):
    # LLVM's builders keep what each run has them call back (10 times as slow after 4,000 runs).
    seen = []
    make = llvm.binding.create_pass_builder

    def made(*args):
        seen.append(make(*args))
        return seen[-1]

    monkeypatch.setattr(llvm.binding, "create_pass_builder", made)
    for _ in range(2):
        with llvm.optimized(TEXT):
            pass
    assert len({id(builder) for builder in seen}) == len(seen) >= 4
