# Every target sets up what it needs: a virtual environment in .venv with the versions of
# constraints.txt, and this package in editable form. The second run finds it in place.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
# Processes that share the tests: one a core, four at most, since each imports torch.
JOBS   ?= auto

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench coverage sanitize fuzz wheel-test clean

help:  ## say what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## */\t/' | expand -t 14

setup: $(READY)  ## make the virtual environment

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/*)
	@command -v $(PYTHON) > /dev/null || { echo "lamina needs Python 3.11 or newer, and '$(PYTHON)' was not found. Name one: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lamina needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" % sys.version_info[:2])'
	@echo "Setting up .venv (about a minute, longer where torch must be downloaded)" >&2
	@$(PYTHON) -m venv .venv
	@# Where there is a compiler, what it complains of must be seen.
	@LAMINA_REQUIRE_COMPILED=$$(command -v $${CXX:-c++} > /dev/null && echo 1) $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[all,dev]'
	@touch $@

demo: $(READY)  ## fit the packaged table, show held-out errors, write demo/
	@$(BIN)/lamina demo -o demo

# One thread a process: two threads inside one small network only wait for each other.
test: export OMP_NUM_THREADS = 1
test: $(READY)  ## run every test, the doctests and the blocks of the documents
	$(BIN)/python -m pytest --numprocesses $(JOBS) --maxprocesses 4

check: $(READY)  ## formatting, lint, types, changelog
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/check_changelog.py

format: $(READY)  ## write the formatting that check asks for
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## time a single fit and a stack, score tables and distributions, beside others
	$(BIN)/python -m benchmarks.single_fit
	$(BIN)/python -m benchmarks.stack_vs_loop
	$(BIN)/python -m benchmarks.against_jax
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.few_labels
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.distributions
	$(BIN)/python -m benchmarks.intervals
	$(BIN)/python -m benchmarks.symmetry
	$(BIN)/python -m benchmarks.regions
	$(BIN)/python -m benchmarks.graph
	$(BIN)/python -m benchmarks.roofline
	$(BIN)/python -m benchmarks.scaling

coverage: export OMP_NUM_THREADS = 1
coverage: $(READY)  ## run the tests and name the lines that none of them reaches
	$(BIN)/python -m pytest --numprocesses $(JOBS) --maxprocesses 4 --cov --cov-report=term-missing:skip-covered

# How long to fuzz: make fuzz SECONDS=600
SECONDS ?= 120

sanitize: $(READY)  ## run the tests of the compiled part under AddressSanitizer and UBSan
	$(BIN)/python scripts/sanitize.py

fuzz: $(READY)  ## feed the compiled part random members for two minutes, and compare with torch
	$(BIN)/python scripts/fuzz_cpu.py --seconds $(SECONDS)

wheel-test: $(READY)  ## build the wheel and use it from another folder
	$(BIN)/python scripts/wheel_test.py

clean:  ## remove what the other targets made
	rm -rf .venv build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
