"""The public functions, a file a family."""
