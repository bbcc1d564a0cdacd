# Every target installs what it needs: a virtual environment with the versions of requirements.lock.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := experiments service logs cluster test check docs
# The other Pythons on which some tests of every layer run, where they are installed.
OTHERS ?= 3.12 3.13 3.14
QUICK := $(addprefix tests/,$(addsuffix .py,test_rankings test_checks test_refusals test_links test_parts \
  test_packing test_public test_disk contracts/test_files logs/test_history logs/test_recording service/test_catalog \
  service/test_settle service/test_store))
# Two workers; the tests of a file share what its fixtures start.
TOGETHER := -n 2 --dist loadfile --no-loadscope-reorder
# make test COVERAGE=1 measures the branches that the tests reach, and requires most of them.
COVERAGE ?=
COV := $(if $(COVERAGE),--cov --cov-append --cov-report= --cov-fail-under=0)

.PHONY: help setup demo play test test-all test-long test-pythons setup-pythons quick quick-setup check format bench docs lock wheel release clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/ready  ## a virtual environment in .venv with locked versions

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# What demo and play need, which is about half of what the tests need.
$(VENV)/try: requirements.lock pyproject.toml
	@echo "Installing 0.9 GB into $(VENV), once; this takes a few minutes ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock -e '.[experiments,service]'
	touch $@

demo: $(VENV)/try  ## a payment desk in money, then the paper's policies on handwritten digits
	$(BIN)/longrank demo

play: $(VENV)/try  ## a payment desk in your browser: take a provider down, raise a fee, watch it react
	$(BIN)/longrank play

test: setup  ## the tests, but those that are long: see test-all
	rm -f .coverage
	$(BIN)/python -m pytest $(TOGETHER) -m "not long" $(COV)
	$(if $(COVERAGE),$(BIN)/coverage report)

test-all: test-long test-pythons  ## what is long and rarely breaks: wheels, clusters, many kills, other Pythons

test-long: setup
	$(BIN)/python -m pytest $(TOGETHER) -m long tests

# A name on the path may be a stand-in that runs nothing (pyenv makes them for versions that are not active).
test-pythons setup-pythons:
	@set -e; for version in $(OTHERS); do \
	  for python in python$$version $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python; do \
	    if "$$python" -c '' 2>/dev/null; then \
	      $(MAKE) --no-print-directory $(if $(filter test-%,$@),quick,quick-setup) PYTHON=$$python VENV=.venv-$$version; break; \
	    fi; \
	  done; \
	done

quick: $(VENV)/quick  ## some tests on another Python: make quick PYTHON=python3.13 VENV=.venv-3.13
	$(BIN)/python -m pytest $(TOGETHER) -q -m "not long and not postgres" $(QUICK)

quick-setup: $(VENV)/quick

$(VENV)/quick: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint requirements.lock \
	  -e '.[experiments,service,logs,test]'
	touch $@

check: setup docs  ## format, lint, types, import layers, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup  ## rewrite the files in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv-bench/ready  ## speed, as ratios measured in one run; with MNIST=folder against other libraries too
	.venv-bench/bin/longrank bench
	.venv-bench/bin/python benchmarks/targets.py
	$(if $(MNIST),.venv-bench/bin/python benchmarks/peers.py --mnist $(MNIST))

.venv-bench/ready: benchmarks/requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

docs: setup  ## the documentation as a website, in docs/_build/html
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html

lock: setup  ## renew requirements.lock
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade $(EXTRAS:%=--extra %) --strip-extras --no-header --no-annotate --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --no-emit-options --output-file requirements.lock pyproject.toml

wheel: .venv-build/ready  ## dist/longrank-*.whl, to install elsewhere
	.venv-build/bin/hatchling build -t wheel

release: .venv-build/ready  ## build, check and sum up what would be uploaded; SIGN=KEY signs it; uploads nothing
	.venv-build/bin/python .ci/release.py $(if $(SIGN),--sign $(SIGN))

.venv-build/ready:
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/python -m pip install --quiet --disable-pip-version-check hatchling
	touch $@

clean:  ## remove what was built
	rm -rf .venv .venv-* build dist docs/_build demo .coverage .mypy_cache .ruff_cache .pytest_cache
