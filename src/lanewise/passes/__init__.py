"""Graph to graph: lowering of maps, simplification, and what comes before code."""
