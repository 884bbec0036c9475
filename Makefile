# inertica: `make demo` sets everything up and shows it, `make test` checks it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# small factorisations are many times slower with more than one BLAS thread
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1

.PHONY: demo test test-all fuzz bench docs pictures report tour clean

demo: $(VENV)/.installed
	$(BIN)/inertica demo

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2 -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/pytest -q -n 2

# damaged files for every reader and folder, with limits of time and memory; what ends in anything but a result or a sentence is listed
fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz.long --inputs 100000 --workers 2

bench: $(VENV)/.bench
	for script in benchmarks/*.py; do case $$script in */bench.py|*/figaroh_fit.py|*/make_*|*/trust*.py|*/card*.py|*/real*.py) ;; *) $(BIN)/python $$script || exit 1;; esac; done

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

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install -q -e ".[bench]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install -q -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
