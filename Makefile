# `make demo` and `make test` are the two commands; each sets up what it needs in .venv.

PYTHON ?= python3
BIN := .venv/bin
DEMO := demo
# Tests of a file share what they make, so files go side by side, one for each core.
SIDE := -n logical --dist loadfile
# An even shorter training, to try the demo itself: make demo STEPS=20
STEPS :=
RUNS := $(DEMO)/runs$(STEPS:%=-%)
# The demo's page shows its own run beside the results of all tasks and models, without ablations.
OTHERS := $(filter-out results/ablations/%, $(wildcard results/*/*.json))

.PHONY: demo test check quick fuzz perf readme pictures docs clean

# Datasets of each kind, the default task trained with a short schedule, and a page that shows all of
# it. One thread gives the same weights on any number of cores, and a model this small gains little
# by more. Repeated, it goes on where it was. DOTA and ICDAR join where IVL_DATA has their folders dota and icdar13.
demo: .venv/installed-bench
	mkdir -p $(DEMO)/data
	$(BIN)/shapes-gen coloured --counts 3-10 --n 200 $(DEMO)/data/coloured-shapes-test.h5
	$(BIN)/shapes-gen toy --lines 1-10,15,20 --n 200 $(DEMO)/data/toy-shapes-test.h5
	$(BIN)/textblocks-gen --lines 1-10 --n 12 $(DEMO)/data/text.h5
	@if [ -d "$(IVL_DATA)/dota" ]; then \
	  $(BIN)/dota-crops --counts 3-10 --n 12 --images 20 --root "$(IVL_DATA)/dota" --quiet \
	    $(DEMO)/data/planes.h5; fi
	@if [ -d "$(IVL_DATA)/icdar13" ]; then \
	  $(BIN)/icdar-blocks --root "$(IVL_DATA)/icdar13" --quiet $(DEMO)/data/icdar.h5; fi
	@for name in coloured-shapes-test toy-shapes-test text planes icdar; do \
	  test -e $(DEMO)/data/$$name.h5 || continue; \
	  $(BIN)/ivl-shards verify $(DEMO)/data/$$name.h5 && \
	  $(BIN)/ivl-shards preview $(DEMO)/data/$$name.h5 --out $(DEMO)/$$name.png && \
	  $(BIN)/ivl-shards preview $(DEMO)/data/$$name.h5 --out $(DEMO)/$$name.html || exit 1; \
	done
	$(BIN)/ivl-bench run --model inductive --preset demo --threads 1 --data $(DEMO)/data --out $(RUNS) \
	  $(STEPS:%=--set steps=%)
	$(BIN)/ivl-bench report $(RUNS) $(OTHERS) --data $(DEMO)/data --out $(DEMO)/report.html
	@echo "Datasets to leaf through: $(DEMO)/*.html; contact sheets: $(DEMO)/*.png"
	@echo "The report: $(DEMO)/report.html"
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
	  $(BIN)/python -m webbrowser -t "file://$(CURDIR)/$(DEMO)/report.html"; fi

test: check quick
	$(BIN)/pytest $(SIDE) -m slow

# Seconds: style, types, then the quick tests.
check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

quick: check
	$(BIN)/pytest $(SIDE) -m "not slow"

# Minutes: the fuzzers of `make test` with many more cases, as docs/SECURITY.md states.
fuzz: .venv/installed-dev
	IVL_FUZZ=long $(BIN)/pytest $(SIDE) -m fuzz --timeout 3600

# Every script prints ratios; docs/PERFORMANCE.md is what they printed.
perf: .venv/installed-dev
	$(BIN)/python perf/report.py

# The tables of README and docs: results and model cards from results/ and the weights, options
# from the recipes.
readme: .venv/installed-bench
	$(BIN)/ivl-bench results
	$(BIN)/ivl-bench models --out docs/MODELS.md
	$(BIN)/python tools/readme_results.py
	$(BIN)/python tools/option_tables.py

# Those of the README, from our own generators and the weights that come along.
pictures: .venv/installed-bench
	$(BIN)/python tools/pictures/make.py

# The documentation as a site that works offline: open site/index.html.
docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site: site/index.html"

# torch goes first and pinned: unpinned it brings gigabytes of CUDA.
.venv/installed-bench: pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[bench]'
	touch $@

.venv/installed-dev: pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[bench,dask,dev,docs,ocr,remote]'
	touch $@ .venv/installed-bench .venv/installed-docs

# The API reference is read from the source, so torch is not needed.
.venv/installed-docs: pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(DEMO) site build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
