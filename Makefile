# inertica: `make demo` sets everything up and shows it, `make test` checks it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# small factorisations are many times slower with more than one BLAS thread
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1

.PHONY: demo test test-lowest test-all release fuzz bench docs pictures report tour clean

demo: $(VENV)/.installed
	$(BIN)/inertica demo

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2 -m "not slow"

# each minimum in pyproject.toml is a version that passed here; PYTHON=python3.11 where python3 is newer, as the oldest have no wheels for those
test-lowest: $(LOWEST)/.dev
	$(LOWEST)/bin/pytest -q -n 2 -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/pytest -q -n 2

# wheel and sdist in dist/, installed into empty environments and used there
release: $(VENV)/.dev
	$(BIN)/python -m build
	$(BIN)/pytest -q -m "slow or not slow" tests/test_release.py

# damaged files for every reader and folder, with limits of time and memory; what ends in anything but a result or a sentence is listed
fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz.long --inputs 100000 --workers 2

bench: $(VENV)/.bench
	for script in benchmarks/*.py; do case $$script in */bench.py|*/make_*|*/trust*.py|*/card*.py|*/real*.py|*/strange*.py|*/all_defaults.py) ;; *) $(BIN)/python $$script || exit 1;; esac; done

# the site in build/site; strict: a link that leads nowhere is an error
docs: $(VENV)/.docs pictures report tour
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# pictures that the tables shipped with the package do not give: by the commands that docs/make/pictures.py names
pictures: $(VENV)/.docs
	$(BIN)/python docs/make/pictures.py

# pictures of docs/report.md, from a report in Chromium
report: $(VENV)/.dev
	$(BIN)/python docs/make/report.py

# pictures of docs/studio.md, from the studio in Chromium
tour: $(VENV)/.dev
	$(BIN)/python docs/make/studio.py

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -e .
	touch $@

$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -e ".[dev]"
	touch $@ $(VENV)/.installed

# uv resolves to the oldest versions, pip cannot; it gets an environment of its own, out of the way of what is resolved
$(LOWEST)/.dev: pyproject.toml
	test -x .venv-uv/bin/uv || { $(PYTHON) -m venv .venv-uv && .venv-uv/bin/python -m pip install -q uv; }
	.venv-uv/bin/uv venv -q --clear --python $(PYTHON) $(LOWEST)
	.venv-uv/bin/uv pip install -q --python $(LOWEST) --resolution lowest-direct -e ".[dev]"
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install -q -e ".[bench]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) .venv-uv build dist .pytest_cache .mypy_cache .ruff_cache
