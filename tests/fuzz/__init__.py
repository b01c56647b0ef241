"""Whole random programs against plain Python: ``python -m tests.fuzz --seconds 3600 --seed 7``."""
