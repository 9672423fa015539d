# Every target sets up its own environment in .venv; nothing is installed twice.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
PIP    := -m pip install --quiet --disable-pip-version-check -c constraints.txt
TEST_JOBS ?= 2
FUZZ_SECONDS ?= 3600

.PHONY: demo test fuzz lint docs oldest package bench untuned clean

demo: $(VENV)/.installed-demo
	$(BIN)/oddatom demo --output demo_output

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python docs/draw_layers.py --check

# Broken tables and model files, any rows and any settings, for an hour unless FUZZ_SECONDS says otherwise.
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.fuzz --seconds $$(( $(FUZZ_SECONDS) / 2 ))
	ODDATOM_FUZZ_SECONDS=$$(( $(FUZZ_SECONDS) / 2 )) $(BIN)/python -m pytest tests/hardening/test_any_rows.py \
	  tests/model_io/test_model_fuzz.py tests/estimators/test_untuned_properties.py $(PYTEST_ARGS)

# The pages with their gallery, every warning an error: docs/_build/html/index.html
docs: $(VENV)/.installed-docs
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html $(SPHINX_ARGS)
	@! grep -rlE '<(script|link|img)[^>]+="https?:' docs/_build/html --include='*.html' \
	  || { echo "These pages load something from elsewhere; they must not need a network."; exit 1; }

# scikit-learn's contract once more, on the oldest versions pyproject.toml allows.
oldest: $(OLDEST)/.installed
	NUMBA_CACHE_DIR=$(OLDEST)/numba-cache $(OLDEST)/bin/python -m pytest tests/estimators -m contract $(PYTEST_ARGS)

# Wheel and sdist: built, looked into, installed into an empty environment and tried. `make test` does it too.
package: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/packaging $(PYTEST_ARGS)

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

# Ranking without labels, beside other detectors; UNTUNED_ARGS="--only NAME" and so on.
untuned: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.untuned $(UNTUNED_ARGS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oddatom needs Python 3.11 or newer; $(PYTHON) is older. Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(PIP) -e '.[cli]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-bench: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(PIP) -e '.[bench]'
	@touch $@

$(OLDEST)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' \
	  || { echo "The oldest versions need Python 3.11 or 3.12. Try: make oldest PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python $(PIP) -e . \
	  'numpy==1.26.*' 'scipy==1.12.*' 'scikit-learn==1.6.0' 'numba==0.60.*' 'safetensors==0.4.3' \
	  'hypothesis==6.100.*' 'pytest>=8' 'pandas==2.2.*' 'polars==1.0.*' 'pyarrow==15.*'
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache docs/_build docs/auto_examples docs/generated
