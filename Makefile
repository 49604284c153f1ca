# Everything a newcomer needs: `make up` and `make test`.
.DEFAULT_GOAL := help
.PHONY: help up test test-fast check format bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Installed again only when the project's own description or the interpreter changes.
STAMP := $(VENV)/.installed
TESTS ?=
WORKERS ?= 2

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/'

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "pyoco needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

up: $(STAMP)  ## install, then run the hello flow
	$(BIN)/pyoco run examples/hello/flow.yaml

check: $(STAMP)  ## format check, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: check  ## install, then run every check and every test
	$(BIN)/python -m pytest -n $(WORKERS) $(TESTS)

test-fast: $(STAMP)  ## unit and integration tests only
	$(BIN)/python -m pytest -n $(WORKERS) tests/unit tests/integration

format: $(STAMP)  ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## compare the engine with pyoco 0.8.0 (installs it in a scratch environment)
	$(BIN)/python bench/engine.py

clean:  ## forget everything that was installed or generated
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .hypothesis
