# Every target makes its own virtual environment first; only Python 3.11 or newer is needed.
SHELL := /bin/bash
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
GRID := out/smart_grid
EVENTS ?= 5000
SEED ?= 1
BENCH ?=
PYTEST ?=
FUZZ ?=
KILLS ?= 1000

.PHONY: demo serve-demo test thorough crash-test fuzz lint format bench docs grammars web test-web screenshots clean

demo: $(READY)  ## SPAseq's Query 1 over a smart grid of some thousand events
	@$(BIN)/spaseq demo --events $(EVENTS) --seed $(SEED) --output $(GRID)

serve-demo: $(TOOLS)  ## the same query as a service, with a generator that pushes for ever
	@$(BIN)/python examples/smart_grid/live.py --out out/live

test: export PYTHONHASHSEED = 0
test: $(TOOLS)  ## every test, on the same examples each time
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST)

thorough: SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
thorough: export PYTHONHASHSEED = $(SEED)
thorough: export HYPOTHESIS_PROFILE = thorough
thorough: $(TOOLS)  ## an hour of new examples of every property, pairs, fuzzed inputs, and Spark jobs: all cases, kills, a cluster; EXAMPLES=1000 for more
	@echo "seed $(SEED); to repeat: make thorough SEED=$(SEED)"
	$(BIN)/python -m pytest -m hypothesis -n auto --dist worksteal --hypothesis-seed=$(SEED) $(PYTEST)
	$(BIN)/python -m tests.pairs --seed $(SEED)
	$(BIN)/python -m tests.pairs --new --jit off --pairs 1000 --seed $(SEED) registers cea "propagation in kernels"
	$(BIN)/python -m tests.why_pairs --seed $(SEED)
	$(BIN)/python -m tests.fuzz --inputs 5000 --seed $(SEED)
	$(BIN)/python -m tests.spark.spark_pairs --seed $(SEED)
	$(BIN)/python -m tests.spark.spark_cases
	$(BIN)/python -m tests.spark.kills --seed $(SEED)
	$(BIN)/python -m pytest tests/spark/long_cluster.py tests/kb/test_faults.py

crash-test: $(TOOLS)  ## a service killed a thousand times; KILLS=50 for fewer
	$(BIN)/python -m tests.service.crashes --kills $(KILLS) --seed $(SEED)

fuzz: $(TOOLS)  ## mutated inputs without end; FUZZ="--inputs 100000 --seed 7" for so many of each way in
	$(BIN)/python -m tests.fuzz $(FUZZ)

lint: $(TOOLS)  ## style, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(TOOLS)  ## rewrite the files in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(TOOLS)  ## the whole way and its peers; BENCH="--quads 1000000 --runs 5" for a longer one
	$(BIN)/python benchmarks/whole_way.py $(BENCH)

vscode: grammars  ## the extension for Visual Studio Code, out/spaseq.vsix; needs node
	@mkdir -p out && cp LICENSE editors/vscode/
	cd editors/vscode && npm ci --no-audit --no-fund && npm run package

grammars: $(READY)  ## what highlights queries in editors, from the tokens of the lexer
	$(BIN)/python -m spaseq.editors.grammars

web: $(TOOLS) web/node_modules  ## the bundle of the workbench from its sources in web/; needs node and npm
	$(BIN)/python -m web.generate
	cd web && npm run --silent check && npm run --silent build

test-web: $(TOOLS) web/node_modules  ## the workbench in a real Chromium (Debian: apt-get install chromium): all of its tests
	$(BIN)/python -m pytest tests/web/test_*.py tests/web/long_*.py $(PYTEST)

screenshots: $(TOOLS)  ## the pictures of the workbench in docs/images, from a real Chromium
	$(BIN)/python -m tests.web.screenshots

web/node_modules: web/package-lock.json
	cd web && npm ci --silent
	@touch $@

docs: $(TOOLS)  ## the documentation as a site in out/docs/site; every link is checked
	$(BIN)/python -m docs.site

clean:
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml .ci/find-python
	@python=$$(.ci/find-python) && echo "making $(VENV) with $$python" && "$$python" -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(TOOLS): $(READY)  ## what only development needs, Spark among it
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@
