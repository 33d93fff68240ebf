# `make run` and `make test` are the two commands; everything else is for working on the project.
.DEFAULT_GOAL := help
PYTHON ?= python3
# Tests wait more than they compute, for servers to start and for time-outs to pass.
WORKERS ?= 3
# What installs more or takes longer has a target of its own.
HERE := not long and not soak and not clients and not callers and not observability and not deploy and not deploy_full
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help setup run test test-long test-soak test-clients test-callers test-observability test-deploy test-deploy-full
.PHONY: bench bench-clients bench-observability
.PHONY: eval lint proto docs lock clean

help: ## Say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(STAMP) ## Make .venv with the sidecar command in it

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later, please")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# Where PYTHONDONTWRITEBYTECODE is set, as it is in many containers, each of the processes that a
# test starts would compile the package again, for 0.13 s of CPU beside the 0.34 that it takes else.
COMPILED := $(BIN)/python -m compileall -q sidecar

run: setup ## Run the sidecar with a fleet of small agents (ARGS=--exit: and end by itself)
	$(COMPILED)
	$(BIN)/sidecar demo $(ARGS)

test: setup ## Check style, types and layers, then run every test that has no target of its own
	scripts/install-test-tools.sh
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(COMPILED)
	$(BIN)/python -m pytest -m '$(HERE)' -n $(WORKERS) --dist worksteal $(ARGS)

test-long: setup ## Run the tests that take minutes
	scripts/install-test-tools.sh test clients
	$(BIN)/python -m pytest -m long $(ARGS)

test-soak: setup ## Run 200 agents with a fault every 30 s for an hour, and fuzz for ten minutes (SOAK_S=seconds)
	$(BIN)/python -m pytest -m soak -s $(ARGS)

test-clients: setup ## Build the Go, TypeScript and Java clients; run their tests and the conformance tables through them
	scripts/install-test-tools.sh test clients
	$(COMPILED)
	$(BIN)/python -m pytest -m 'clients and not long' $(ARGS)

test-callers: setup ## Test sidecar conformance itself, the MCP server and the reference agent
	scripts/install-test-tools.sh test
	$(COMPILED)
	$(BIN)/python -m pytest -m 'callers and not clients and not long' -n $(WORKERS) --dist worksteal $(ARGS)

test-observability: setup ## Run dashboards, rules and alerts against real Prometheus and Alertmanager
	scripts/install-test-tools.sh observability
	$(BIN)/python -m pytest -m observability -n 2 --dist loadfile $(ARGS)

test-deploy: setup ## Check manifests, units and images by their own tools
	scripts/install-test-tools.sh deploy
	$(BIN)/python -m pytest -m deploy -n 2 --dist worksteal $(ARGS)

test-deploy-full: setup ## Build the image, the charts and a collector, and run them
	scripts/install-test-tools.sh deploy deploy-full
	$(BIN)/python -m pytest -m deploy_full $(ARGS)

bench: setup ## Measure against a bare echo server in the same run
	$(BIN)/python -m tests.bench $(ARGS)

bench-clients: setup ## Measure the Go, TypeScript and Java clients beside Python's and bare streams
	scripts/install-test-tools.sh clients
	export PATH="$(CURDIR)/.tools/go/bin:$$PATH"; $(BIN)/python -m tests.bench.clients $(ARGS)

# How the runs of one task are known by their session ids: tau-bench's end in -<task>-<trial>, those
# of repair agents in the bug.
TASK ?= ^tau.*-([a-z]+-[0-9]+)-[0-9]+$$|repairagent.*?([A-Z][A-Za-z]*-[0-9]+)$$
OTHERS := $(patsubst eval/baselines/%/run,--baseline %,$(wildcard eval/baselines/*/run))

bench-observability: setup ## Measure the queries and rules over 500 sidecars (a quarter of an hour)
	scripts/install-test-tools.sh observability
	$(BIN)/python -m tests.bench.fleet_queries $(ARGS)
	$(BIN)/python -m tests.bench.rules $(ARGS)

eval: setup ## Measure all policies and other detectors on recorded runs (RUNS=folder)
	@test -n "$(RUNS)" || { echo "make eval RUNS=folder: which recorded runs?" >&2; exit 2; }
	set -e; for each in $(wildcard eval/baselines/*/setup); do "$$each"; done
	$(BIN)/sidecar eval $(RUNS) --baseline founding $(OTHERS) --task '$(TASK)' $(ARGS)

lint: node_modules ## Check the proto files, also that they still speak with the last tag's
	npx --no-install buf lint proto
	tag=$$(git describe --tags --abbrev=0 2>/dev/null) || exit 0; \
	npx --no-install buf breaking proto --against ".git#tag=$$tag,subdir=proto"

node_modules: package-lock.json
	# Not `npm ci`: it refuses a lock without every platform's binary, and mirrors do not carry all.
	npm install --no-save --no-audit --no-fund
	touch $@

proto: setup ## Write the code that is generated from proto/, for every language
	scripts/generate.sh
	export PATH="$(CURDIR)/.tools/go/bin:$$PATH"; \
	set -e; for each in $(wildcard proto/examples/*/generate.sh); do "$$each"; done

docs: setup ## Write the reference pages from the code
	$(BIN)/python scripts/render_docs.py
	$(BIN)/python scripts/render_configuration.py
	$(BIN)/python scripts/render_signals.py
	$(BIN)/python scripts/render_openapi.py
	$(BIN)/python scripts/render_prometheus_rules.py
	$(BIN)/python scripts/render_chart_schema.py
	$(BIN)/python -m grafana.src

lock: setup ## Write requirements.lock from pyproject.toml
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --no-emit-index-url --no-emit-trusted-host --strip-extras --allow-unsafe \
	  --extra test --output-file requirements.lock pyproject.toml

clean: ## Remove what can be made again
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
