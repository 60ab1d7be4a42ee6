# `make demo` and `make test` are the two commands; each sets up what it needs in .venv.

PYTHON ?= python3
BIN := .venv/bin
DEMO := demo

.PHONY: demo test check quick perf clean

demo: .venv/installed
	mkdir -p $(DEMO)
	$(BIN)/shapes-gen coloured --counts 3-10 --n 50 $(DEMO)/coloured.h5
	$(BIN)/shapes-gen toy --lines 1-10,15,20 --n 20 $(DEMO)/toy.h5
	$(BIN)/textblocks-gen --lines 1-10 --n 12 $(DEMO)/text.h5
	for name in coloured toy text; do \
	  $(BIN)/ivl-shards info $(DEMO)/$$name.h5 && \
	  $(BIN)/ivl-shards verify $(DEMO)/$$name.h5 && \
	  $(BIN)/ivl-shards preview $(DEMO)/$$name.h5 --out $(DEMO)/$$name.png && \
	  $(BIN)/ivl-shards preview $(DEMO)/$$name.h5 --out $(DEMO)/$$name.html || exit 1; \
	done
	@echo "Contact sheets: $(DEMO)/coloured.png, $(DEMO)/toy.png, $(DEMO)/text.png"
	@echo "Pages to leaf through: $(DEMO)/coloured.html, $(DEMO)/toy.html, $(DEMO)/text.html"

test: check quick
	$(BIN)/pytest -m slow

# Seconds: style, types, then the quick tests.
check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

quick: check
	$(BIN)/pytest -m "not slow"

# Every script prints ratios; docs/PERFORMANCE.md is what they printed.
perf: .venv/installed-dev
	$(BIN)/python perf/report.py

.venv/installed: pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

# torch goes first and pinned: unpinned it brings gigabytes of CUDA.
.venv/installed-dev: pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[bench,dask,dev]'
	touch $@ .venv/installed

clean:
	rm -rf $(DEMO) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
