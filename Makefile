# Everything a checkout needs: `make demo` and `make test` set themselves up in .venv; with another Python,
# `make test PYTHON=python3.12`, in an environment of its own beside it.
ifdef PYTHON
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("{}.{}".format(*sys.version_info))')
else
PYTHON := $(shell command -v python3.11 || command -v python3)
VENV := .venv
endif
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INPUTS := pyproject.toml deploy/constraints.txt
WORKERS ?= 2

# The tests start hundreds of programs: without compiled files each would compile our packages again.
export PYTHONDONTWRITEBYTECODE :=

SOAKED := tests/properties/test_evidence.py tests/collector/test_evidence_live.py \
  tests/properties/test_agreement.py tests/properties/test_agreement_policies.py \
  tests/properties/test_agreement_planning.py tests/properties/test_language_deciders.py \
  tests/properties/test_language_roundtrip.py tests/synth/formal/test_automata.py \
  tests/synth/plans/test_verify.py tests/collector/otlp/test_otlp_fuzz.py \
  tests/properties/test_conditions_by_tools.py tests/properties/test_rules_by_worlds.py \
  tests/properties/test_guard_agreement.py tests/properties/test_guard_of_cases.py \
  tests/pdoctor_trace/test_guarding.py \
  tests/real_data/test_guard_on_mutants.py \
  tests/collector/store/test_drills_under_load.py tests/synth/experiments/test_causes.py \
  tests/synth/experiments/test_gate.py tests/synth/judge/test_replanning.py tests/synth/games/test_games.py \
  tests/synth/language/test_drawn_words.py tests/synth/language/test_readings.py \
  tests/synth/policies/test_policy_sums.py tests/end_to_end/test_crash.py tests/collector/store/test_postgresql.py

.PHONY: demo serve setup quick test lint system test-heavy soak test-frameworks test-frameworks-previous test-frameworks-planners bench docs picture screenshots release clean
.NOTPARALLEL:

demo: $(VENV)/.installed
	$(BIN)/pdoctor demo --no-serve

serve: $(VENV)/.installed
	$(BIN)/pdoctor serve

# Before a commit, in about two minutes: what needs no browser, no database and no other program.
quick: lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --quick

# What fails is run once more alone, and is named if it passes then.
test: system lint
	$(BIN)/python -m tests.again -q -n $(WORKERS) --dist worksteal -m "not heavy"

setup: system $(VENV)/.installed-dev

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy

# The web pages are tested in a real browser, the store on a real PostgreSQL, which each test worker starts
# for itself and stops again. What is missing is named before anything is installed.
system:
	@missing=; \
	for program in chromium chromium-browser google-chrome; do command -v $$program && break; done >/dev/null \
	  || missing="$$missing chromium"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || missing="$$missing postgresql"; \
	for program in $(DRILLS); do \
	  command -v $$program >/dev/null || ls /usr/sbin/$$program >/dev/null 2>&1 || missing="$$missing $$program"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then root=; else root="sudo -n"; fi; \
	if command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
	  echo "make: installing$$missing (Debian packages): the tests open the pages in Chromium and store in PostgreSQL"; \
	  $$root apt-get update -qq && $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null && exit 0; \
	fi; \
	echo "make: the tests open the web pages in Chromium and store in PostgreSQL; install what is missing and run this again:" >&2; \
	echo "    sudo apt-get install$$missing" >&2; exit 1

# Drills of deploy/ start its services as they are: Debian's nginx, and Prometheus for the alert rules. npm fetches
# axe, which looks at every page.
test-heavy: DRILLS := nginx prometheus npm

# Much of their time they wait for what they started.
test test-heavy: WORKERS := 4

# Long property tests, kills and outages; the frameworks' own are run by `test-frameworks`.
test-heavy: system $(VENV)/.installed-dev
	$(BIN)/python -m tests.again -q -n $(WORKERS) --dist worksteal -m heavy --durations 15 --ignore tests/frameworks

# Properties that other runs try a fiftieth as often; their figures are printed, the last are in docs/benchmarks.md.
soak: system $(VENV)/.installed-dev
	mkdir -p build && rm -f build/soak.jsonl
	PDOCTOR_SOAK=build/soak.jsonl $(BIN)/python -m pytest -n $(WORKERS) $(SOAKED)
	@sort build/soak.jsonl

# Every adapter in an environment of its own, at its framework's newest release; and at the one before,
# whose results are kept for docs/frameworks.md (`make docs` afterwards).
test-frameworks: $(VENV)/.installed-dev
	$(BIN)/python -m tests.frameworks.environments --parallel $(WORKERS)

test-frameworks-previous: $(VENV)/.installed-dev
	$(BIN)/python -m tests.frameworks.environments --previous --record --parallel $(WORKERS)

# Fifty of each simulated planner under a guard in every framework, for docs/guard.md (`make docs` afterwards).
test-frameworks-planners: $(VENV)/.installed-dev
	$(BIN)/python -m tests.frameworks.environments --planners

# Everything of a release, in dist/; nothing is uploaded.
release:
	deploy/release $(PYTHON)

docs: $(VENV)/.installed-dev
	$(BIN)/python -m tests.docs

# The picture in the README, of the page that the browser tests open.
picture: system $(VENV)/.installed-dev
	PDOCTOR_PICTURE=1 $(BIN)/python -m pytest -q tests/browser/test_picture.py

# Pictures of every page, wide, on a phone and dark, in build/screenshots: to be looked at.
screenshots: system $(VENV)/.installed-dev
	$(BIN)/python -m tests.browser.screenshots

# Those that take many minutes, or install other products, are run by name.
LONG_BENCHES := $(wildcard tests/benchmarks/bench_attacks.py tests/benchmarks/bench_peers.py tests/benchmarks/bench_soak.py tests/benchmarks/bench_million.py tests/benchmarks/bench_scale.py)

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
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
