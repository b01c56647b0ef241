"""NumPy's elementwise functions in lanes: a table of loops for each kind of number."""
