"""Native code: kernels as masked vector code in LLVM's IR, one example in each lane."""
