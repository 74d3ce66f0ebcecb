# The commands that matter: `make demo` (see it work), `make test-fast` (while you work) and `make test` (before you push).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes, which would each compile toolc again
.PHONY: help demo test test-fast test-integrations check docs image bench mutants soak golden requirements release clean

PYTHON ?= python3
BIN := .venv/bin
INTEGRATIONS := .venv-integrations
INSPECT := .venv-inspect
WORKERS ?= 3  # a test of sandboxes mostly waits: one worker more than cores is fastest
PYTEST := -m pytest --numprocesses $(strip $(WORKERS)) --dist loadfile --no-loadscope-reorder

help:  ## Show the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 28
	@echo; echo "  PYTEST_ARGS=... adds arguments for pytest, WORKERS=$(strip $(WORKERS)) is the number of its processes, PYTHON=... makes .venv"

.venv/.runtime: pyproject.toml .ci/requirements/run.txt .ci/requirements/packaging.txt
	@.ci/venv "$(PYTHON)"
	@.ci/install .venv "run packaging"
	@touch $@

.venv/.test: .venv/.runtime .ci/requirements/test.txt
	@.ci/install .venv test serve test bench
	@touch $@

$(INTEGRATIONS)/.ready: pyproject.toml .ci/requirements/integrations.txt
	@.ci/venv "$(PYTHON)" $(INTEGRATIONS)
	@.ci/install $(INTEGRATIONS) integrations serve integrations
	@touch $@

$(INSPECT)/.ready: pyproject.toml .ci/requirements/inspect.txt
	@.ci/venv "$(PYTHON)" $(INSPECT)
	@.ci/install $(INSPECT) inspect inspect pytest
	@touch $@

demo: .venv/.runtime  ## Set up, build specs/ and run two tools in a sandbox
	@.ci/demo

test: .venv/.test  ## Run lint, types and tests on both engines (as root on Debian, installs the engines)
	@$(MAKE) --no-print-directory --jobs 2 check test-engines

test-fast: .venv/.test  ## Run the unit tests and those of the documentation that need no engine; no lint, no types
	@.ci/without-engines $(BIN)/python $(PYTEST) -m 'not slow' -r fE $(PYTEST_ARGS) \
	  tests/unit tests/docs

test-integrations: $(INTEGRATIONS)/.ready $(INSPECT)/.ready .venv/.runtime  ## Run the tests marked integrations: model SDKs, MCP clients, gVisor, Podman, an ordinary user, kills at every step
	@.ci/with-engines .ci/with-podman .ci/with-registry .ci/with-newer-docker .ci/with-language-server .ci/with-chromium .ci/with-node-packages $(INTEGRATIONS)/bin/python $(PYTEST) -m integrations \
	  -o "norecursedirs=.* node_modules" --ignore tests/architecture --ignore tests/integration/slow/inspect \
	  --ignore tests/integration/slow/cluster tests $(PYTEST_ARGS)
	@# Ray leaves threads behind, with which a later fork can crash the process.
	@.ci/with-engines $(INTEGRATIONS)/bin/python $(PYTEST) -m integrations tests/integration/slow/cluster $(PYTEST_ARGS)
	@.ci/with-engines $(INSPECT)/bin/python $(PYTEST) tests/integration/slow/inspect $(PYTEST_ARGS)

check: .venv/.test  ## Run lint, types and the tests of the architecture only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/zizmor --offline --quiet .github
	@$(BIN)/python -m pytest -q tests/architecture

.PHONY: test-engines
test-engines: .venv/.test
	@.ci/with-engines $(BIN)/python $(PYTEST) -m 'not integrations' --ignore tests/architecture --ignore tests/soak $(PYTEST_ARGS)

docs: .venv/.test  ## Build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --config-file .mkdocs.yml
	@printf 'built build/site/index.html\n'

image: .venv/.runtime  ## Build the base image of the sandboxes, for both engines
	@$(BIN)/toolc image build base

bench: .venv/.test $(INTEGRATIONS)/.ready  ## Measure speed against other tools and write docs/explanation/benchmarks.md; PYTEST_ARGS="--calls 20 -k latency" for a part
	@.ci/with-engines .ci/with-bubblewrap .ci/with-fastmcp $(BIN)/python -m pytest tests/bench --benchmarks -s $(PYTEST_ARGS)
	@.ci/with-engines $(INTEGRATIONS)/bin/python -m pytest tests/bench/test_cluster_speed.py --benchmarks -s $(PYTEST_ARGS)

mutants: .venv/.test  ## Make 300 small mistakes in the source, one at a time; at least 95 % must fail a test of their package
	@$(BIN)/python tests/mutants/run_mutants.py $(ARGS)

soak: .venv/.test $(INTEGRATIONS)/.ready  ## Try new random examples, make CALLS (10000) calls of each kind, kill at every step TIMES (50) times, then at random for MINUTES (60); LOG=FILE resumes
	@.ci/without-engines $(BIN)/python $(PYTEST) -m hypothesis --hypothesis-profile random tests/unit $(PYTEST_ARGS)
	@PYTHONPATH=tests/support .ci/with-engines $(BIN)/python tests/soak/soak.py $(if $(LOG),--log $(LOG)) --calls $(or $(CALLS),10000) --times $(or $(TIMES),50) --minutes $(or $(MINUTES),60)
	@TOOLC_TEST_DOCUMENTS=1000 .ci/with-engines $(INTEGRATIONS)/bin/python -m pytest tests/integration/slow/test_openapi_documents.py --timeout 3600 $(PYTEST_ARGS)
	@TOOLC_TEST_CALLS=$$((2 * $(or $(CALLS),10000))) TOOLC_TEST_KILLS=$(or $(TIMES),50) .ci/with-engines $(INTEGRATIONS)/bin/python -m pytest tests/integration/slow/cluster/test_killed_nodes.py --timeout 36000 $(PYTEST_ARGS)

golden: .venv/.test  ## Write the golden files again; read the diff before you commit it
	@.ci/with-engines $(BIN)/python -m pytest tests --golden -q $(PYTEST_ARGS)

requirements:  ## Write .ci/requirements again: the newest versions of all packages, with hashes
	@.ci/renew-requirements

release: .venv/.test  ## Make dist: sdist, wheel and SBOM, the same bytes each time; publishes nothing
	@.ci/release $(BIN)/python

clean:  ## Remove everything that make created in this folder
	rm -rf .venv $(INTEGRATIONS) $(INSPECT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
