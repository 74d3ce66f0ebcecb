# The two commands that matter: `make demo` (see it work) and `make test` (all that CI runs).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test check docs image bench soak golden clean

PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 3  # most of a sandboxed test is waiting: one more than cores is quicker, many more only in each other's way

help:  ## Show what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

.venv/.runtime: pyproject.toml
	@.ci/venv "$(PYTHON)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.test: .venv/.runtime
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serve]' --group test
	@touch $@

.venv/.docs: .venv/.runtime
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

demo: .venv/.runtime  ## Set up, build specs/ and run two tools in a sandbox
	@.ci/demo

test: .venv/.test  ## Lint, types and every test, on both engines
	@.ci/with-engines $(MAKE) --no-print-directory check pytest

check: .venv/.test  ## Lint and types only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

.PHONY: pytest
pytest: .venv/.test
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS)

docs: .venv/.docs  ## Build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --config-file .mkdocs.yml
	@printf 'built build/site/index.html\n'

image: .venv/.runtime  ## Build the base image for the sandboxes
	@$(BIN)/toolc image build base

bench: .venv/.test  ## Ratios against named peers, in one run
	@.ci/with-engines $(BIN)/python -m pytest tests/bench --benchmarks -s $(PYTEST_ARGS)

soak: .venv/.test  ## Kill owners at every step fifty times, then at random for MINUTES (60); LOG is kept, and gone on from
	@PYTHONPATH=tests/engines .ci/with-engines $(BIN)/python tests/soak/soak.py $(if $(LOG),--log $(LOG)) --times $(or $(TIMES),50) --minutes $(or $(MINUTES),60)

golden: .venv/.test  ## Write the golden files anew; read the diff before you commit it
	@$(BIN)/python -m pytest tests --golden -q $(PYTEST_ARGS)

clean:  ## Remove all that make has made in this folder
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
