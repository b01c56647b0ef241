"""The graph: types with symbolic dimensions, values, operations, regions, text and verifier."""
