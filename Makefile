# Everything a clone needs, from a machine with Python 3.11 or newer (with venv), git and make:
#   make up     a story of two agents in one repository, told in the terminal
#   make test   the tests                make lint   formatter, linter and type checker
#   make bench  the figures and budgets  make docs   the generated reference
#   make sim    thousands of seeded worlds, and the seeds that break a rule
#   make vscode the extension for VS Code, checked, tested and packaged (needs Node)
# Tools live in .venv and come from the hashed pins in requirements/; a second call installs nothing.

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help up test lint format bench docs sim vscode pins clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# PYTHON=/path/to/python chooses the interpreter of a new .venv.
PYTHON ?=
# ARGS go to the tool behind the target: make test ARGS="-k lapse"
ARGS ?=
WORLDS ?= 2000
STEPS ?= 60
SEED ?= 1

help:
	@sed -n 's/^#   //p' Makefile

up: $(VENV)/.installed-run
	@$(BIN)/clearway simulate $(ARGS)
	@printf '\nclearway is at %s\n' '$(CURDIR)/$(BIN)/clearway'
	@printf 'the room in a browser: '; $(BIN)/clearway web 2>/dev/null || echo 'clearway web --open'

test: $(VENV)/.installed-test
	@$(BIN)/python -m pytest -n 2 $(ARGS)

lint: $(VENV)/.installed-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright

format: $(VENV)/.installed-dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# Bytecode is compiled first: an interpreter told not to write it would be measured compiling.
bench: $(VENV)/.installed-run
	@$(BIN)/python -m compileall -q src bench
	@$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/.installed-run
	@$(BIN)/python docs/generate.py
	@$(BIN)/python integrations/generate.py

# Thousands of seeded worlds: make sim WORLDS=10000 STEPS=200 SEED=7
sim: $(VENV)/.installed-test
	@$(BIN)/python -m tests.simulation --worlds $(WORLDS) --steps $(STEPS) --seed $(SEED) $(ARGS)

# The extension for VS Code, with Node 20 or newer; its versions are exact, and no lock file names an address.
vscode:
	@command -v npm >/dev/null || { echo "npm is not installed: it comes with Node, https://nodejs.org" >&2; exit 1; }
	@cd editors/vscode && npm install --no-audit --no-fund --no-package-lock --silent
	@cd editors/vscode && npm run --silent check && npm test --silent && npm run --silent package

# Raises the pins within what the .in files allow. The result names no address, so it installs from any index.
pins: $(VENV)/.installed-dev
	@cd requirements && for layer in build run test dev; do \
		../$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
			--no-header --no-annotate --no-emit-index-url --output-file $$layer.txt $$layer.in || exit 1; \
	done

clean:
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis

# Each layer of pins contains the one before it, so installing a later layer also marks the earlier ones.
$(VENV)/.installed-run: requirements/run.txt $(VENV)/.project
	@echo "installing what the product needs"
	@$(PIP) install --require-hashes --requirement requirements/run.txt
	@touch $@

$(VENV)/.installed-test: requirements/test.txt $(VENV)/.project
	@echo "installing what the tests need"
	@$(PIP) install --require-hashes --requirement requirements/test.txt
	@touch $(VENV)/.installed-run $@

$(VENV)/.installed-dev: requirements/dev.txt $(VENV)/.project
	@echo "installing what developers need"
	@$(PIP) install --require-hashes --requirement requirements/dev.txt
	@touch $(VENV)/.installed-run $(VENV)/.installed-test $@

$(VENV)/.project: requirements/build.txt pyproject.toml $(BIN)/python
	@$(PIP) install --require-hashes --requirement requirements/build.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(BIN)/python:
	@for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
		if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "making $(VENV) with $$("$$python" --version)"; \
			exec "$$python" -m venv $(VENV); \
		fi; \
	done; \
	echo "No Python 3.11 or newer with venv was found. Install one, or name it: make PYTHON=/path/to/python3" >&2; \
	exit 1
