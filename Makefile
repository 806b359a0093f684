# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types imports data unit slow format schema probe.pyz verdict.pyz clean

help:  ## list the targets
	@grep -E '^[a-z.]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "stackcheck needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1); name another: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m compileall -q stackcheck probes/stackcheck_probes tui/stackcheck_tui
	@touch $@

$(STAMP): $(VENV)/.run
	$(BIN)/python -m pip install --quiet --editable . --group dev
	$(BIN)/python -m compileall -q stackcheck probes/stackcheck_probes tui/stackcheck_tui
	@touch $@

demo: $(VENV)/.run  ## environment, then a stack for B200
	$(BIN)/stackcheck resolve --gpu b200

test: lint types imports data unit  ## environment, then all checks

check: test

lint: $(STAMP)
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports --no-cache

data: $(STAMP)
	$(BIN)/stackcheck matrices lint

unit: $(STAMP)
	$(BIN)/pytest -n auto --dist loadgroup -q -rs -m "not (network and slow)"

slow: $(STAMP)  ## the tests that need gigabytes or many minutes: torch as installed, uv against the package index
	$(BIN)/pytest -q -rs -m "network and slow"

format: $(STAMP)  ## rewrite the sources in the house format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

probe.pyz: $(VENV)/.run  ## one file that probes a node with a bare python3
	$(BIN)/python probes/build_zipapp.py -o stackcheck-probe.pyz

verdict.pyz: $(VENV)/.run  ## the same with matrices and check inside (Python 3.11 or newer gives the verdict)
	$(BIN)/python probes/build_zipapp.py --verdict -o stackcheck-verdict.pyz

clean:  ## remove what was made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
