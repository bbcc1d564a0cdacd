# Every target sets up what it needs: a .venv with the versions of requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
EXTRAS := experiments service logs cluster test check docs

.PHONY: help setup demo test check format bench docs lock clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/ready  ## a virtual environment in .venv with locked versions

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: setup  ## a payment world and real digits: table, picture, one ranking explained
	$(BIN)/longrank demo

test: setup  ## every test, with branch coverage; the kernels once more as plain Python
	$(BIN)/python -m pytest -n 2 --cov --cov-report= --cov-fail-under=0
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels --cov --cov-append --cov-report= --cov-fail-under=0
	$(BIN)/coverage report

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
	$(if $(MNIST),.venv-bench/bin/python benchmarks/peers.py --mnist $(MNIST))
	.venv-bench/bin/python benchmarks/payments.py

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

clean:  ## remove what was built
	rm -rf .venv build dist docs/_build demo .coverage .mypy_cache .ruff_cache .pytest_cache
