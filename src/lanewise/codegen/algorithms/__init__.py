"""Algorithms on the small arrays of an example: linear algebra, sorting, searching."""
