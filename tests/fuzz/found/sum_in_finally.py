"""A generator expression in `finally`: AttributeError, 'Assign' object has no attribute 'lineno'."""


# ruff: noqa
# rough: 0
def f(n):
    i = n
    try:
        pass
    finally:
        i += sum(j for j in range(3) if j)
    return i


MODE = "vmap"
ARRAYS = {"n": np.array([1, 5, 2])}
IN_DIMS = (0,)
LAYOUTS = {}
