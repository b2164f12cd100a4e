# Every target does its own set-up in .venv; nothing but Python 3.11+, make and a C library is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-all check bench eval eval-small format clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Silmari needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e ".[openai,fast,milvus,elastic,postgres,llamaindex]"
	@touch $@

demo: $(STAMP)
	$(BIN)/silmari demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -m "not slow"

# The fast tests, then crash loops and large inputs.
test-all: test
	$(BIN)/python -m pytest -q -m slow

check: $(STAMP)
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/codespell src tests benchmarks examples deploy docs *.md

format: $(STAMP)
	$(BIN)/ruff check --fix src tests benchmarks examples
	$(BIN)/ruff format src tests benchmarks examples

bench: $(STAMP)
	$(BIN)/python -m benchmarks

eval: $(STAMP)
	$(BIN)/python -m benchmarks.evaluate_all

eval-small: $(STAMP)
	$(BIN)/python -m benchmarks.evaluate_all --small

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
