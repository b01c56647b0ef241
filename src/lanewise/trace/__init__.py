"""The frontend: NumPy itself is the API. Tensors, the NumPy table, and the trace that records."""
