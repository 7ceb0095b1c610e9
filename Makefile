# Everything a person or a machine does with this tree. `make` alone prints the list.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# Tests start hundreds of programs; without their bytecode each begins with five seconds of compiling.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
DONE := build/done
# Many tests wait for servers and browsers: three processes keep two cores busy.
JOBS ?= 3
# The tests' databases are written to memory where there is room: a flush costs nothing there.
MANY = --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder
NUMBERING := error_scenarios faults formats import_jobs legacy_import number_batches number_errors number_lifecycle \
	number_register numbering pipeline rate_limits utilization
QUICK = $(shell room=$$(df --output=avail -BG /dev/shm 2>/dev/null | tail -1 | tr -dc 0-9); [ "$${room:-0}" -ge 8 ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --require-virtualenv
VENDOR := src/saraban/web/static/vendor/fonts.css
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.PHONY: help install run test faults cluster-test coverage check bench bench-full shape format errors operations settings schema messages lock clean

help:  ## This list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(DONE)/installed $(VENDOR)  ## Install what a server needs into .venv, and nothing else; docs/setup.md goes on from there.

run: $(DONE)/installed $(VENDOR)  ## Install what is missing, load the demo project once, and serve it (SARABAN_PORT, SARABAN_DATA_DIR).
	@exec $(BIN)/saraban serve --demo

test: $(DONE)/dev $(VENDOR)  ## The suite, on SQLite and on MariaDB and Redis that the tests start themselves.
	@scripts/test_needs.sh
	TMPDIR=$(QUICK) $(BIN)/python -m pytest $(MANY) -m "not faults and not cluster" $(ARGS)

faults: $(DONE)/bench $(VENDOR)  ## The long runs: random kills, many random steps, the benchmarks in small; writes build/soak.json.
	@scripts/test_needs.sh
	PICTURES=1 TMPDIR=$(QUICK) $(BIN)/python -m pytest $(MANY) -m "faults and not cluster" $(ARGS)

coverage: $(DONE)/dev $(VENDOR)  ## The tests of numbering, which fail where they leave out more than a tenth of its branches.
	@scripts/test_needs.sh
	TMPDIR=$(QUICK) $(BIN)/python -m pytest $(MANY) -m "not faults and not slow" --cov --cov-report=term \
		tests/domain/numbering tests/features/numbering $(addprefix tests/database/test_,$(addsuffix .py,$(NUMBERING)))

check: $(DONE)/dev  ## Format, lint, types, imports and the quick tests.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q --numprocesses $(JOBS) --dist loadfile -m "not faults and not slow and not servers and not browser" tests/domain tests/features tests/architecture

bench: $(DONE)/bench  ## Measure beside what others do on the same servers (half an hour, the first time an hour); writes build/bench.json.
	@scripts/test_needs.sh
	$(BIN)/python -m benchmarks $(ARGS)

bench-full: $(DONE)/bench  ## The same with the long rows: ten million numbers, memory, verify.
	@scripts/test_needs.sh
	$(BIN)/python -m benchmarks --full $(ARGS)

.PHONY: cluster-test
cluster-test: $(DONE)/dev $(VENDOR)  ## Kill and isolate parts of a cluster while people work (a quarter of an hour; SARABAN_CLUSTER_SECONDS=10: six minutes); writes build/cluster.json.
	@scripts/test_needs.sh cluster
	TMPDIR=$(QUICK) $(BIN)/python -m pytest -m cluster tests/cluster $(ARGS)

shape: $(DONE)/dev  ## Print the figures that tests/architecture/test_shape.py holds (ARGS: small classes parameters create transition).
	@$(BIN)/python scripts/shape.py $(ARGS)

format: $(DONE)/dev  ## Put the code in its form.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

errors: $(DONE)/installed  ## Write docs/errors.md from the error classes.
	$(BIN)/python scripts/write_pages.py errors

operations: $(DONE)/installed  ## Write the errors of each operation from the code.
	$(BIN)/python scripts/write_pages.py operations

settings: $(DONE)/installed  ## Write docs/settings.md from the settings.
	$(BIN)/python scripts/write_pages.py settings

schema: $(DONE)/installed  ## Write docs/project.schema.json from what a project file may say.
	$(BIN)/python scripts/write_pages.py schema

messages: $(DONE)/installed  ## Bring the Thai texts of the pages up to date with the templates; names what needs a translation.
	$(BIN)/python scripts/messages.py

lock: $(DONE)/dev  ## Resolve the dependencies anew, at the newest versions that fit.
	$(COMPILE) --upgrade pyproject.toml --output-file requirements.txt
	$(COMPILE) --upgrade pyproject.toml dev.in --output-file requirements-dev.txt
	$(COMPILE) --upgrade bench.in --constraint requirements-dev.txt --output-file requirements-bench.txt
	$(COMPILE) --upgrade build.in --output-file requirements-build.txt
	$(COMPILE) --upgrade node.in --output-file requirements-node.txt
	npm install --package-lock-only
	$(BIN)/python scripts/lock_node.py

clean:  ## Remove what was made here, except the data folder.
	rm -rf build node_modules src/saraban/web/static/vendor .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf $(VENV)

$(BIN)/python:
	@scripts/new_venv.sh $(PYTHON) $(VENV)

$(DONE)/installed: requirements.txt requirements-build.txt pyproject.toml | $(BIN)/python
	@echo "Installing the locked dependencies."
	@$(PIP) --no-deps --require-hashes -r requirements-build.txt -r requirements.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@mkdir -p $(@D) && touch $@

$(DONE)/dev: requirements-dev.txt $(DONE)/installed
	@echo "Installing what the tests and checks need."
	@$(PIP) --no-deps --require-hashes -r requirements-dev.txt
	@mkdir -p $(@D) && touch $@

$(DONE)/bench: requirements-bench.txt $(DONE)/dev
	@echo "Installing what the benchmarks compare with."
	@$(PIP) --no-deps --require-hashes -r requirements-bench.txt
	@mkdir -p $(@D) && touch $@

$(VENDOR): package-lock.json scripts/vendor_assets.py requirements-node.txt | $(BIN)/python
	@echo "Fetching the pages' scripts, styles and fonts."
	@scripts/npm_ci.sh $(BIN)
	@$(BIN)/python scripts/vendor_assets.py
