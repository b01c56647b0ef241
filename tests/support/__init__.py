"""What tests share: oracles, programs to run, references, and how values are compared."""
