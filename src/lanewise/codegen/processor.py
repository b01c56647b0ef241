"""The processor that code is made for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from llvmlite import binding

#: Of so many loads and stores in a row LLVM's scheduler compares each with each; of more, it takes
#: those before for one. By default that are 1000: a kernel with 11,000 of them took 3 s, now 0.4.
COMPARED = 256


@lru_cache(maxsize=1)
def initialize() -> None:
    """Have LLVM know this processor."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    binding.set_option("lanewise", f"-dag-maps-huge-region={COMPARED}")


@dataclass(frozen=True, slots=True)
class Machine:
    """The processor that code is made for."""

    #: As LLVM knows it.
    name: str
    #: As LLVM writes them: ``+avx2,-sse4a``.
    features: str
    #: Its architecture, its vendor, and its system.
    triple: str

    @property
    def converts_longs(self) -> bool:
        """Whether it has an instruction that converts vectors of int64 to float64 and back."""
        is_x86 = self.triple.startswith(("x86_64", "amd64"))
        return not is_x86 or self.has("avx512dq", "avx512vl")

    @property
    def register_bits(self) -> int:
        """Width of its vector registers."""
        return 512 if self.has("avx512f") else 256 if self.has("avx2") else 128

    @property
    def masks(self) -> bool:
        """Whether it has masks of bits, and reads and writes places apart under them.

        For others LLVM makes branches of the masks under which places are read, lane by lane, and
        these are guessed wrong wherever examples go their own ways.
        """
        return self.has("avx512f")

    def has(self, *features: str) -> bool:
        """Whether it has all of these features, by LLVM's names of them."""
        return all([f"+{feature}," in f"{self.features}," for feature in features])


_machine: Machine | None = None


def machine() -> Machine:
    """Return the processor that code is made for: this machine's."""
    global _machine
    initialize()
    if _machine is None:
        features = binding.get_host_cpu_features().flatten()
        triple = binding.get_process_triple()
        if triple.startswith(("x86_64", "amd64")):
            # By default LLVM keeps to half of the registers on those that had slow wide ones.
            features += ",-prefer-256-bit"
        _machine = Machine(binding.get_host_cpu_name(), features, triple)
    return _machine


def use_machine(other: Machine | None) -> None:
    """Make code for another processor from now on, or for this machine's again.

    What was compiled before stays in use, so a process that wants other code begins with this.

    Examples
    --------
    >>> here = machine()
    >>> use_machine(Machine("x86-64-v3", "+avx,+avx2,+fma", here.triple))
    >>> machine().register_bits
    256
    >>> use_machine(None)
    >>> machine() == here
    True
    """
    global _machine
    _machine = other
