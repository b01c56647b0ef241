# `make demo` and `make test` need nothing but Python (3.11 or later, with venv) and make.

PYTHON ?= python3
# Files or options for pytest in place of what `quick` and `test-*` run.
TESTS :=
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo quick test test-oldest test-newest test-debian test-aarch64 check lint docs sanitize format gallery package bench bench-programs bench-overhead bench-calls bench-writes bench-cliffs bench-estimates bench-control-flow bench-random bench-gate release clean

# Where the environment says so, each process that a test starts would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Three of the gallery; `$(BIN)/python -m examples` runs all ten, `--help` says what else it can do.
demo: $(VENV)/.examples
	$(BIN)/python -m examples mandelbrot kalman data_audit

# All of the gallery, and its page and small pictures written anew.
gallery: $(VENV)/.examples
	$(BIN)/python -m examples --write

# What runs in both backends: compiled once more, however little there is to do.
BOTH := maps control programs autograph
# Of NumPy's interface what is no function of a few operations, which have tests of their own kernels.
QUICK := methods traced_slices
NATIVE := $(BOTH:%=tests/%) $(QUICK:%=tests/numpy_api/test_%.py)

# Every layer in a minute, for whoever changes a line; it fails if it takes longer.
quick: $(VENV)/.test
	$(BIN)/python tests/platforms/quick.py here $(TESTS)

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal
	LANEWISE_BACKEND=native $(BIN)/python -m pytest -n auto --dist worksteal $(NATIVE)

# A quick suite with the oldest and the newest packages and Pythons, and on other systems and processors.
# CI says OPTIONAL=--optional: what cannot be had on a machine is then told, and no failure.
OPTIONAL :=

test-oldest test-newest test-debian test-aarch64: test-%:
	$(PYTHON) tests/platforms/quick.py $* $(OPTIONAL) $(TESTS)

# The runtime's C, built by gcc under sanitizers, passes the tests of the runtime.
sanitize: $(VENV)/.test
	$(BIN)/python tests/support/sanitized.py thread
	$(BIN)/python tests/support/sanitized.py address,undefined

check: lint docs

lint: $(VENV)/.check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/ty check

# Any warning is an error, and so is a link that leads nowhere. The first page is build/site/index.html.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

# Builds both distributions, installs the wheel alone in a fresh environment, and tries it there.
package: $(VENV)/.package
	$(BIN)/python tests/packaging/fresh.py build/package

# With the peers, which are large; without them, `python -m benchmarks.suite` leaves them out.
bench: $(VENV)/.peers
	$(BIN)/python -m benchmarks.suite --write

# Plain NumPy programs beside Numba.
bench-programs: $(VENV)/.peers
	$(BIN)/python -m benchmarks.programs --write

bench-overhead: $(VENV)/.test
	$(BIN)/python benchmarks/overhead.py

bench-calls: $(VENV)/.peers
	$(BIN)/python benchmarks/calls.py

bench-writes: $(VENV)/.peers
	$(BIN)/python benchmarks/writes.py

# Programs drawn at random: the share that is slower than plain Python.
bench-cliffs: $(VENV)/.test
	$(BIN)/python -m benchmarks.cliffs

bench-estimates: $(VENV)/.test
	$(BIN)/python -m benchmarks.estimates --write

bench-control-flow: $(VENV)/.test
	$(BIN)/python benchmarks/control_flow.py

bench-random: $(VENV)/.peers
	$(BIN)/python -m benchmarks.randomness

# Measures nothing: is the newest run in benchmarks/history.jsonl worse than earlier ones?
bench-gate:
	$(PYTHON) -m benchmarks.history

# Checks, builds, tries and tags; RELEASE=--dry-run does not tag. Pushing and uploading are left.
RELEASE :=
release: $(VENV)/.package
	$(BIN)/python -m tools.release $(RELEASE)

format: $(VENV)/.check
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build examples/out

# One stamp for each extra of pyproject.toml: a second run installs nothing.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "installing what '$*' needs into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# A half-made environment would look finished to the next run.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
