# Headroom's loops. `make` alone prints them. Everything runs in .venv, which `make setup` makes from requirements.lock.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.headroom-ready
APP := .venv/.headroom-app
HOST ?= localhost
PORT ?= 8501
DIR ?=
COUNT ?= 5000
ONLY ?=
KEEP ?=
MINUTES ?= 10
FIRST ?=
WITH ?=
FOLDER ?= planner/health/drift
TESTS ?= tests/drift
FAULTS ?= 30
TOGETHER := -n 2 --dist loadfile --no-loadscope-reorder # a file's tests in one process; files in their order, long ones first

unexport PYTHONDONTWRITEBYTECODE # else each process compiles all that it loads

.DEFAULT_GOAL := help
.PHONY: help setup app test test-all check coverage mutation fuzz format conformance reference bench bench-browser regression trust sbom audit docs screenshots image lock clean

help: ## print these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(STAMP) ## make the environment (.venv) from requirements.lock; does nothing the second time

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Headroom needs Python 3.11 or newer, and $(PYTHON) is older or missing. Name another one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@test -x $@ || $(PYTHON) -m venv .venv

define install # what is needed to run or to develop: the locks' packages, this checkout itself, its bytecode
	@echo "Installing the locked dependencies into .venv (once; a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes $(addprefix -r ,$(1))
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index -e .
	@$(BIN)/python -m compileall -q app.py pages planner headroom_planner
	@touch $@
endef

$(STAMP): requirements.lock pyproject.toml | $(BIN)/python
	$(call install,requirements.lock)

$(APP): deploy/requirements.lock deploy/build.lock pyproject.toml | $(BIN)/python
	$(call install,deploy/requirements.lock deploy/build.lock)

app: $(if $(wildcard $(STAMP)),$(STAMP),$(APP)) ## the dashboard on http://localhost:8501, with the embedded demo cluster; needs no developer's package
	@$(BIN)/headroom app --host $(HOST) --port $(PORT) --no-browser

test: setup ## everything that protects a user, but what starts many servers, browsers and processes: minutes
	@$(BIN)/pytest --quick $(TOGETHER) --durations 10

test-all: setup ## every test, the browser ones included
	@$(BIN)/python -m tests.browser.prepare
	@$(BIN)/python -m tests.sources.object_stores
	@$(BIN)/python -m tests.deploy.helm
	@$(BIN)/python -m tests.deploy.kubectl
	@$(BIN)/pytest $(TOGETHER) --durations 10 --ignore tests/browser; others=$$?; $(BIN)/pytest $(TOGETHER) tests/browser && exit $$others

check: setup ## style, types, import rules, what the house asks of each file
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.house
	@$(BIN)/mypy

coverage: setup ## lines run by `make test-all`, room by room, processes and copies included (WITH=--quick: by `make test`)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target .trust/coverage coverage==7.12.0
	@$(BIN)/python -m tests.covered -q $(TOGETHER) $(WITH)

mutation: setup ## faults planted one at a time: which of them tests don't see (FOLDER=planner/rollout TESTS=tests/rollout FAULTS=30)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target .trust/coverage coverage==7.12.0
	@$(BIN)/python -m tests.mutation $(FOLDER) $(FAULTS) -- $(TESTS)

fuzz: setup ## new seeds (MINUTES=10; FIRST=… the first of them): inputs that are damaged, clusters in which engine and reference differ
	@$(BIN)/python -m tests.fuzz.new_seeds $(MINUTES) $(FIRST)

format: setup ## put the code in the house's format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

conformance: setup ## compare with recordings of Kubernetes: tests/conformance, or DIR=a folder laid out like it
	@$(BIN)/python -m tests.conformance $(DIR)

reference: setup ## the second simulation: every recorded verdict, then the engine on 5,000 random clusters (COUNT=…; half an hour)
	@$(BIN)/python -m tests.reference tests/conformance/rollouts
	@$(BIN)/python -m tests.properties $(COUNT)

bench: setup ## the figures of speed and memory, each beside its target (ONLY=start for a part; KEEP=1 makes docs/speed.md's table of them)
	@$(BIN)/python -m tests.bench $(addprefix --only ,$(ONLY)) $(if $(KEEP),--keep)

regression: setup ## whether something has become three times slower, beside a comparator of the same run (a minute)
	@$(BIN)/python -m tests.bench.regression

bench-browser: setup ## from a changed input to the new answer, in a real browser
	@$(BIN)/python -m tests.browser.prepare
	@$(BIN)/python -m tests.browser.bench $(ONLY) $(if $(KEEP),--keep)

trust: setup ## hostile inputs, probes, people at once, a soak: a table (an hour or two; goes on where it was left)
	@$(BIN)/python -m tests.trust

sbom: setup ## what is installed, as a CycloneDX document: .trust/sbom.json
	@$(PYTHON) -m venv .trust/tools
	@.trust/tools/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom==7.5.0
	@.trust/tools/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible \
	  --of JSON -o .trust/sbom.json 2>/dev/null
	@$(BIN)/python -c 'import json; d = json.load(open(".trust/sbom.json")); print("CycloneDX", d["specVersion"], len(d["components"]), "components: .trust/sbom.json")'

audit: setup ## known vulnerabilities of what is installed, where pip-audit's data can be reached
	@$(PYTHON) -m venv .trust/tools
	@.trust/tools/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	@.trust/tools/bin/pip-audit --disable-pip --require-hashes -r requirements.lock --format json -o .trust/audit.json \
	  >/dev/null 2>&1 || true
	@$(BIN)/python -m tests.trust.audit .trust/audit.json

screenshots: setup ## docs/screenshots, taken by the browser tests
	@$(BIN)/python -m tests.browser.screenshots

docs: setup ## what documents quote: --help, and the output of examples
	@$(BIN)/python -m tests.architecture.documents

fields: setup ## the packed table of the API's fields, from the schemas that kubernetes-validate carries
	@$(BIN)/python -m tests.inventory.api_fields

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
LOCK ?= requirements.lock

image: ## the container image, with docker, podman or buildah: headroom:VERSION (deploy/; LOCK=requirements-gate.txt: the small one)
	@command -v docker >/dev/null && exec docker build --build-arg LOCK=$(LOCK) -t headroom:$(VERSION) . || exec buildah build --build-arg LOCK=$(LOCK) -t headroom:$(VERSION) .

lock: setup ## work requirements.lock out anew from pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet -o requirements.lock
	@$(BIN)/uv pip compile pyproject.toml --extra gke -c requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --quiet -o deploy/requirements.lock
	@$(BIN)/python deploy/lean.py | $(BIN)/uv pip compile - -c requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --quiet -o deploy/requirements-gate.txt
	@echo hatchling | $(BIN)/uv pip compile - -c requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --quiet -o deploy/build.lock

clean: ## remove the environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
