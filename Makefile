# Targets are thin; .venv holds everything they need. Only Python >= 3.11, make and pip are expected.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: check test bench demo gallery docs texts clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

check: .venv/installed  ## format, lint, types, layers
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

test: .venv/installed  ## all tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto  # a process a core: threads of BLAS in each would only be in the way

bench: .venv/installed  ## side by side with scikit-learn, in one run
	$(BIN)/python -m benchmarks

demo: .venv/installed  ## every method on the wines, and the report opened in the browser
	mkdir -p demo
	$(BIN)/lowland sample wine --label-column --to demo/wine.csv --force
	$(BIN)/lowland compare demo/wine.csv --label label --scale auto --to demo/report.html --open --force

gallery: .venv/installed  ## run every script of examples/: pictures and the facts they show, on one page
	$(BIN)/python examples

docs: .venv/installed  ## write the generated pages and pictures anew
	$(BIN)/python docs/generate.py

texts: .venv/installed  ## the same without the pictures: the index of methods, the reference, the tables
	$(BIN)/python docs/generate.py --texts

clean:
	rm -rf .venv demo gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
