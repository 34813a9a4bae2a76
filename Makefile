# Two commands matter: `make test` and `make lint`. Both make the environment first.

PYTHON  ?= python3
WORKERS ?= 2
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help env demo test test-all lint bench docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make or refresh the environment in .venv

# Brought up to date only when pyproject.toml has changed.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "linkfield needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

demo: $(STAMP) ## a short tour on the command line
	$(BIN)/linkfield demo

test: $(STAMP) ## all tests but the slow ones
	$(BIN)/python -m pytest -n $(WORKERS)

test-all: $(STAMP) ## all tests
	$(BIN)/python -m pytest -n $(WORKERS) -m ""

lint: $(STAMP) ## style, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## timings, side by side
	$(BIN)/python -m benchmarks

docs: $(STAMP) ## the documentation, into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

clean: ## remove what was built; the environment stays
	rm -rf build dist docs/_build docs/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
