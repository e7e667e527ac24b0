# Everything a checkout needs: `make demo` and `make test` set themselves up in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INPUTS := pyproject.toml deploy/constraints.txt
WORKERS ?= 2

.PHONY: demo serve test lint chromium postgresql test-heavy test-frameworks test-frameworks-previous bench docs clean

demo: $(VENV)/.installed
	$(BIN)/pdoctor demo --no-serve

serve: $(VENV)/.installed
	$(BIN)/pdoctor serve

test: lint chromium postgresql $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not heavy"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy

# The web pages are tested in a real browser.
chromium:
	@command -v chromium >/dev/null \
	  || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	  || { echo "make: the browser tests need Chromium; install it and run this again" >&2; exit 1; }

# The store is tested on a real PostgreSQL, which each test worker starts for itself and stops again.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; } \
	  || { echo "make: the store tests need PostgreSQL; install it and run this again" >&2; exit 1; }

# Long property tests, kills and outages; the frameworks' own are run by `test-frameworks`.
test-heavy: chromium postgresql $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) -m heavy --durations 15 --ignore tests/frameworks

# Every adapter in an environment of its own, at its framework's newest release; and at the one before,
# whose results are kept for the README (`make docs` afterwards).
test-frameworks: $(VENV)/.installed-dev
	$(BIN)/python tests/frameworks/environments.py --parallel $(WORKERS)

test-frameworks-previous: $(VENV)/.installed-dev
	$(BIN)/python tests/frameworks/environments.py --previous --record --parallel $(WORKERS)

docs: $(VENV)/.installed-dev
	$(BIN)/python -m tests.docs

# Those that take many minutes, or install other products, are run by name.
LONG_BENCHES := $(wildcard tests/benchmarks/bench_peers.py tests/benchmarks/bench_soak.py tests/benchmarks/bench_million.py)

bench: $(VENV)/.installed-dev
	@for file in $(filter-out $(LONG_BENCHES),$(wildcard tests/benchmarks/bench_*.py)); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

$(VENV)/.installed: $(INPUTS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q -c deploy/constraints.txt -e '.[all]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install -q --upgrade 'pip>=25.1'
	$(PIP) install -q -c deploy/constraints.txt --group dev
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
