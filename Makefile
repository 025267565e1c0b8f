# Everything runs from here: `make` lists the targets. Needs Python 3.11 or later with venv, and make.

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help install dev test test-values quick everything lowest newest frameworks readers reach reallife scale exhaustive fuzz soak configs check format docs docs-check docs-site pictures bench bench-peers dist clean

# Without compiled modules kept, every process of the tests compiles them anew: 20 s where collection takes 5.
unexport PYTHONDONTWRITEBYTECODE

PYTHONS := python3 python3.14 python3.13 python3.12 python3.11 python
VENV_PYTHON := .venv/bin/python
REACH := $(addprefix tests/formats/test_,exports.py zarr.py remote.py dask.py zarr_bombs.py remote_secrets.py)
# Each candidate is run rather than looked up: a version manager's shim exists for pythons that do not.
FIND_PYTHON = for p in $(PYTHONS); do \
	if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; exit 0; fi; \
	done; \
	echo "pecli needs Python 3.11 or later with venv (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.venv/.made:
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv .venv
	@$(VENV_PYTHON) -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

.venv/.installed: .venv/.made pyproject.toml
	@$(VENV_PYTHON) -m pip install --quiet --editable '.[plot]'
	@$(VENV_PYTHON) -m compileall -q pecli
	@touch $@

.venv/.dev: .venv/.installed
	@$(VENV_PYTHON) -m pip install --quiet --group dev
	@$(VENV_PYTHON) -m pip install --quiet --editable '.[plot,zarr,gguf,onnx]' || echo "zarr, gguf or onnx is absent: its tests are skipped"
	@touch $@

install: .venv/.installed ## Set up .venv with pecli and what it needs

dev: .venv/.dev ## Set up .venv with what the tests need too

# The environment is an order-only prerequisite: reinstalling it does not make data anew.
pe.h5: | .venv/.installed ## Write the main job's table: sinusoidal, 2048 x 512
	@$(VENV_PYTHON) -m pecli generate sinusoidal --len 2048 --dim 512 -o $@

test: .venv/.dev ## Run the tests, a process for each core
	$(VENV_PYTHON) -m pytest -n auto --maxprocesses 4 --dist worksteal

test-values: .venv/.dev ## Run the tests of the values: what to run after touching the engine
	$(VENV_PYTHON) -m pytest -n auto --maxprocesses 4 --dist worksteal tests/values

quick: .venv/.dev ## Run the tests that take seconds: those without child processes or long tables
	$(VENV_PYTHON) -m pytest --quick

readers: .venv/.dev ## Install other programs' readers and read every format with them
	@$(VENV_PYTHON) -m pip install --quiet --group readers
	$(VENV_PYTHON) -m pytest tests/formats/test_readers.py -rs

reach: ## Run, in an environment of its own, the tests of what needs extras
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/reach
	@build/reach/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/reach/bin/python -m pip install --quiet --editable '.[gguf,onnx,plot,zarr,remote,dask]' mpmath pytest --group reach
	build/reach/bin/python -m pytest -rs -W ignore $(REACH)

MIB ?= 512

scale: ## Write one table by every way, to a disk and to a store; verify it, and measure (MIB=512)
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/reach
	@build/reach/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/reach/bin/python -m pip install --quiet --editable '.[zarr,remote,dask]' --group scale
	build/reach/bin/python -m tests.support.scale --mib $(MIB)

lowest: ## Run the quick tests with Python 3.11 and the lowest versions that pyproject.toml admits
	@for p in python3.11 $(PYTHONS); do \
	if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1; then \
	exec $$p -m venv build/lowest; fi; done; echo "make lowest needs Python 3.11 with venv" >&2; exit 1
	@build/lowest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/lowest/bin/python tests/support/lowest.py > build/lowest/requirements.txt
	@build/lowest/bin/python -m pip install --quiet --only-binary :all: -r build/lowest/requirements.txt
	@build/lowest/bin/python -m pip install --quiet --no-deps --editable .
	build/lowest/bin/python -m pytest --quick -n auto --maxprocesses 4 --dist worksteal

# pyenv keeps its pythons in folders and puts only some of them on the path.
newest: ## Run the quick tests with the newest Python installed and the newest versions that pip finds
	@python=$$(for p in $(PYTHONS) "$$HOME"/.pyenv/versions/*/bin/python3; do \
	$$p -c 'import sys, venv, ensurepip; print("%d.%03d.%03d" % sys.version_info[:3], sys.executable)' 2>/dev/null; \
	done | sort | tail -n 1 | cut -d ' ' -f 2-) && "$$python" -m venv --clear build/newest
	@build/newest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/newest/bin/python -m pip install --quiet --editable '.[plot]' --group dev
	build/newest/bin/python -m pytest --quick -n auto --maxprocesses 4 --dist worksteal

TORCH ?= torch==2.13.0

# pecli goes first: what the frameworks bring then keeps to its bounds. timm goes last: its torchvision brings the torch
# that it was built for.
frameworks: ## Run the tests of pecli.torch, .keras and .jax in an environment of their own, with what pip finds
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/frameworks
	@build/frameworks/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/frameworks/bin/python -m pip install --quiet --editable '.[plot,dask,zarr]' pytest mpmath mypy
	@for names in '$(TORCH)' transformers diffusers 'onnx onnxscript onnxruntime' jax keras tensorflow rotary-embedding-torch timm; do \
	build/frameworks/bin/python -m pip install --quiet $$names || echo "$$names: absent, and its tests are skipped"; done
	build/frameworks/bin/python -m pytest -rs -W ignore \
	tests/frameworks tests/docs/test_code.py \
	tests/docs/test_notebook.py tests/docs/test_docs.py::test_the_python_of_a_page_runs

LIBRARIES := transformers diffusers timm x-transformers rotary-embedding-torch positional-encodings torchtune keras-hub \
	tensorflow jax performer-pytorch local-attention

# Each library alone: one that pip cannot get keeps its stored tables.
reallife: .venv/.dev ## Take the tables that libraries make anew, and score what is said of every case of real life
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/reallife
	@build/reallife/bin/python -m pip install --quiet --editable .
	@for name in '$(TORCH)' $(LIBRARIES); do \
	build/reallife/bin/python -m pip install --quiet "$$name" || echo "$$name: absent, and its tables stay as they are"; done
	HF_HUB_OFFLINE=1 build/reallife/bin/python -m tests.reallife.make_tables
	$(VENV_PYTHON) -m tests.reallife.score

exhaustive: .venv/.dev ## Run the slow checks that `make test` samples
	$(VENV_PYTHON) -m pytest -m exhaustive -n auto --maxprocesses 4 --dist worksteal

SEED ?= 1
MINUTES ?= 30

fuzz: .venv/.dev ## Try hostile command lines, damaged files, configs, stores, plug-ins; check answers (MINUTES=30 SEED=1)
	$(VENV_PYTHON) -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

COUNT ?= 2000

configs: ## Compare random configs with the rotary modules of the newest transformers (COUNT=2000 SEED=1)
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/frameworks
	@build/frameworks/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/frameworks/bin/python -m pip install --quiet --editable . $(TORCH) transformers
	HF_HUB_OFFLINE=1 build/frameworks/bin/python -m tests.support.random_configs --count $(COUNT) --seed $(SEED)

soak: ## Write, read, verify and kill on one folder and one store at the same time (MINUTES=10)
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/reach
	@build/reach/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/reach/bin/python -m pip install --quiet --editable '.[gguf,onnx,plot,zarr,remote,dask]' mpmath pytest --group reach
	build/reach/bin/python -m tests.fuzz.soak --minutes $(if $(filter 30,$(MINUTES)),10,$(MINUTES))

EVERYTHING ?= check test exhaustive frameworks lowest newest readers reach docs-site dist bench

everything: .venv/.dev ## Run every check, going on after a failure; what passed on this commit is left out (FORCE=1)
	@$(VENV_PYTHON) -m tests.support.everything $(EVERYTHING) $(if $(FORCE),--force)

check: .venv/.dev ## Lint, types, and whether generated files are current
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m mypy
	$(VENV_PYTHON) -m pytest -q -m exhaustive -k generated_files tests/docs/test_docs.py

format: .venv/.dev ## Format the code
	$(VENV_PYTHON) -m ruff check --fix .
	$(VENV_PYTHON) -m ruff format .

docs: .venv/.dev ## Write the man pages, and what README and docs show of commands
	$(VENV_PYTHON) docs/generate.py --write --pages

docs-check: .venv/.dev ## Fail if the man pages, the README or docs are out of date
	$(VENV_PYTHON) docs/generate.py --check --pages

docs-site: .venv/.dev ## Build the documentation as static pages in build/site, and check its links
	@$(VENV_PYTHON) -m pip install --quiet --group docs
	$(VENV_PYTHON) -m sphinx -q -W -b html docs build/site
	$(VENV_PYTHON) docs/pages.py build/site

pictures: .venv/.dev ## Draw the pictures of the README and of docs anew
	$(VENV_PYTHON) docs/generate.py --write --pictures

bench: .venv/.dev ## Measure speed, memory and start-up, write docs/speed.md and draw docs/bench.svg
	$(VENV_PYTHON) -m tests.bench --chart docs/bench.svg --page docs/speed.md

bench-peers: ## Measure other libraries beside pecli in an environment of its own, with what pip finds
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv build/peers
	@build/peers/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@build/peers/bin/python -m pip install --quiet --editable .
	@for name in '$(TORCH)' transformers diffusers positional-encodings; do \
	build/peers/bin/python -m pip install --quiet $$name || echo "$$name is absent: it is skipped"; done
	build/peers/bin/python -m tests.bench peers

# The second build is of a copy with other times and modes.
dist: .venv/.dev ## Build the wheel, the same bytes twice, and try it in a fresh environment
	rm -rf dist build/wheel build/again
	umask 077 && mkdir -p build/again && cp -R pyproject.toml hatch_build.py README.md LICENSE man pecli build/again
	export SOURCE_DATE_EPOCH="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 1580601600)}" && \
	$(VENV_PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist . && \
	$(VENV_PYTHON) -m pip wheel --quiet --no-deps --wheel-dir build/again ./build/again
	cmp dist/*.whl build/again/*.whl
	$(VENV_PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet dist/*.whl
	build/wheel/bin/pecli --version
	test -s build/wheel/lib/python3*/site-packages/pecli-*.dist-info/sboms/pecli.cdx.json

clean: ## Remove the environment and everything made
	rm -rf .venv build dist pe.h5 .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
