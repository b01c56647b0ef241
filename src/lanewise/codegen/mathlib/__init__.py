"""Elementary and special functions as vector polynomials, written in `lanewise.codegen.vector`."""
