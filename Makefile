# Every target makes its own virtual environment first; only Python 3.11 or newer is needed.
SHELL := /bin/bash
unexport PYTHONDONTWRITEBYTECODE  # a process that compiles every module anew takes twice as long to start
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
TESTS = $(BIN)/python -m pytest -n auto --dist worksteal
WAITING := $(addprefix tests/,cli docs editors hostile inputs kb notebook outputs service spark web)
THOROUGH := properties marked simulation damage spark kills pairs why clusters python fuzz loaded
ASIDE := spark kills pairs why clusters python fuzz

.PHONY: demo serve-demo test test-fast test-loaded test-costs thorough $(THOROUGH:%=thorough-%) crash-test fuzz lint format bench docs grammars web test-web screenshots clean

demo: $(READY)  ## SPAseq's Query 1 over a smart grid of some thousand events
	@$(BIN)/spaseq demo --events $(EVENTS) --seed $(SEED) --output $(GRID)

serve-demo: $(TOOLS)  ## the same query as a service, with a generator that pushes for ever
	@$(BIN)/python examples/smart_grid/live.py --out out/live

test test-fast test-loaded test-costs: export PYTHONHASHSEED = 0
test: $(TOOLS)  ## every test, on the same examples each time
	$(TESTS) $(PYTEST)

test-fast: $(TOOLS)  ## two minutes of tests, those that cover most (tests/speeds.txt)
	$(TESTS) -m fast $$(sed -n 's/^fast \(.*\)::.*/\1/p' tests/speeds.txt | sort -u) $(PYTEST)

test-loaded: $(TOOLS)  ## every test beside eight busy processes; none depends on how fast the machine is
	$(BIN)/python -m tests.loaded 8 $(TESTS) $(PYTEST)

test-costs: $(TOOLS)  ## what the tests cost, by folder, fixture and property, and which are fast or slow, into tests/speeds.txt
	rm -rf out/costs && mkdir -p out/costs
	COVERAGE_FILE=out/costs/coverage $(TESTS) -p tests.costs --cov --cov-context=test --cov-report= $(PYTEST)
	$(BIN)/python -m tests.costs out/costs/coverage

thorough: SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
thorough: $(TOOLS)  ## new examples of every property, pairs, fuzzed inputs, Spark jobs, load: ninety minutes at the most, with those of each part
	@echo "seed $(SEED); to repeat: make thorough SEED=$(SEED), a part of it: make thorough-PART SEED=$(SEED)"
	@.ci/parts $(foreach part,$(THOROUGH),$(part)$(if $(filter $(part),$(ASIDE)),+) '$(MAKE) --no-print-directory thorough-$(part) SEED=$(SEED)')

$(THOROUGH:%=thorough-%): $(TOOLS)
$(filter-out thorough-loaded,$(THOROUGH:%=thorough-%)): export PYTHONHASHSEED = $(SEED)
$(filter-out thorough-loaded,$(THOROUGH:%=thorough-%)): export HYPOTHESIS_PROFILE = thorough

thorough-properties: export EXAMPLES := $(or $(EXAMPLES),80)
thorough-properties:  ## EXAMPLES=1000 for more of each
	$(TESTS) -m hypothesis --hypothesis-seed=$(SEED) $(PYTEST)
thorough-marked:
	$(TESTS) -m thorough $(PYTEST)
thorough-clusters: $(if $(shell command -v npm),web/node_modules)
	$(BIN)/python -m pytest tests/spark/long_cluster.py tests/kb/test_faults.py tests/web/long_*.py tests/service/http/long_*.py $(PYTEST)
thorough-pairs:
	$(BIN)/python -m tests.pairs --pairs 2000 --seed $(SEED)
thorough-python:
	$(BIN)/python -m tests.pairs --new --jit off --pairs 600 --seed $(SEED) registers cea "propagation in kernels"
thorough-why:
	$(BIN)/python -m tests.why_pairs --pairs 1000 --seed $(SEED)
thorough-simulation:
	$(BIN)/python -m tests.simulation --seed $(SEED)
thorough-damage:
	$(BIN)/python -m tests.service.damage --seed $(SEED)
	$(BIN)/python -m tests.service.damage --draws 60 --served --seed $(SEED)
thorough-fuzz:
	$(BIN)/python -m tests.fuzz --inputs 3000 --seed $(SEED)
thorough-spark:
	$(BIN)/python -m tests.spark.spark_pairs --pairs 60 --seed $(SEED)
	$(BIN)/python -m tests.spark.spark_cases
thorough-kills:
	$(BIN)/python -m tests.spark.kills --kills 12 --seed $(SEED)
thorough-loaded:
	$(MAKE) --no-print-directory test-loaded PYTEST="-m 'not hypothesis and not thorough and not slow' $(WAITING)"

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
