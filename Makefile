# `make demo` and `make test` need nothing but Python (3.11 or later, with venv) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check format bench bench-overhead bench-control-flow clean

demo: $(VENV)/.demo
	$(BIN)/python demo/digits.py

# What runs in both backends: compiled once more, however little there is to do.
BOTH := maps control compose programs autograph ops
# Of NumPy's interface what takes a minute to compile; all of it, which passes too, takes several.
QUICK := manipulation methods reductions signal_and_polynomials sorting take_and_put \
	traced_slices ufunc_methods
NATIVE := $(BOTH:%=tests/%) $(QUICK:%=tests/numpy_api/test_%.py)

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto
	LANEWISE_BACKEND=native $(BIN)/python -m pytest -n auto $(NATIVE)

check: $(VENV)/.check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/ty check

# With the peers, which are large; without them, `python -m benchmarks.suite` leaves them out.
bench: $(VENV)/.peers
	$(BIN)/python -m benchmarks.suite --write

bench-overhead: $(VENV)/.test
	$(BIN)/python benchmarks/overhead.py

bench-control-flow: $(VENV)/.test
	$(BIN)/python benchmarks/control_flow.py

format: $(VENV)/.check
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) demo/out

# One stamp for each extra of pyproject.toml: a second run installs nothing.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# A half-made environment would look finished to the next run.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
