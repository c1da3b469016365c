# Needs Python 3.11 to 3.13 and make; everything else goes into .venv.

VENV ?= .venv
BUDGET ?= 200
SEED ?= 1

bin := $(VENV)/bin
pip := $(bin)/python -m pip --disable-pip-version-check
install := $(pip) install -qq --no-deps --no-compile
sources := ahd operators problems evaluators benchmarks tests docs
pytorch_cpu := https://download.pytorch.org/whl/cpu
torch := $(shell sed -n '/^torch==/p' requirements/cpu.txt)

# What the commands without an engine import, compiled at once so that even the first starts in a second.
quick := ahd operators problems evaluators numba llvmlite numpy rich typer multiprocess dill
locate := import sys, importlib.util as u; print(*(u.find_spec(n).submodule_search_locations[0] for n in sys.argv[1:]))

.DEFAULT_GOAL := help
.PHONY: help setup run test check format docs clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## Create .venv with the CPU engine and the command ahd

run: $(VENV)/.ready ## Search for a TSP heuristic: BUDGET=200 SEED=1
	$(bin)/ahd run tsp --budget $(BUDGET) --seed $(SEED)

# The tests start the engine often: its modules are compiled once, whatever the environment says about that.
test: check ## Check lint, format and types, then run every test, the live model's included
	env -u PYTHONDONTWRITEBYTECODE $(bin)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

check: $(VENV)/.ready-dev ## Check lint, format and types only
	$(bin)/ruff check $(sources)
	$(bin)/ruff format --check $(sources)
	$(bin)/mypy

format: $(VENV)/.ready-dev ## Sort imports and format the code
	$(bin)/ruff check --fix --select I $(sources)
	$(bin)/ruff format $(sources)

docs: $(VENV)/.ready-dev ## Build the documentation into build/docs
	$(bin)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Open build/docs/index.html"

clean: ## Remove .venv and caches, keep results
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@for python in python3.11 python3.12 python3.13 python3; do \
		if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then \
			echo "Creating $(VENV) with $$($$python --version)"; \
			$$python -m venv $(VENV) && touch $@ && exit 0; \
			echo "make: $$python cannot create an environment: install its venv package (Debian: $$python-venv)" >&2; \
			exit 1; \
		fi; \
	done; \
	echo "make: no Python 3.11, 3.12 or 3.13 found: install one of them" >&2; exit 1

# torch==...+cpu comes from pip's own configuration where that knows it; only otherwise is PyTorch's
# index asked, and for this one package. The CUDA build on PyPI has no +cpu and is never taken.
$(VENV)/.ready: requirements/cpu.txt pyproject.toml | $(VENV)/.created
	@echo "Installing the engine and its libraries: about 0.6 GB to fetch, a minute or two on a fast line, silently"
	@if ! $(pip) install -qq --no-deps --dry-run $(torch) >/dev/null 2>&1; then \
		$(install) --index-url $(pytorch_cpu) $(torch); \
	fi
	@$(install) -r requirements/cpu.txt
	@$(install) --no-build-isolation --editable .
	@$(bin)/python -c '$(locate)' $(quick) | xargs $(bin)/python -m compileall -q -j 0
	@touch $@
	@echo "Ready: \`source $(bin)/activate\`, then \`ahd doctor\` or \`ahd run tsp --budget 40\`"

$(VENV)/.ready-dev: requirements/dev.txt $(VENV)/.ready
	@echo "Installing the test tools"
	@$(install) -r requirements/dev.txt
	@touch $@
