"""Elementary and special functions as vector polynomials, written in `lanewise.codegen.vector`.

They take float32 and float64, and an emitter without fast-math flags, by which LLVM would cancel
what makes up for rounding, and drop special values: `elementwise.ufuncs` calls them so.
"""
