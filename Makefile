PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Pinned, and installed on its own and first, so that pip does not choose a newer one
# later. On Linux the ordinary index's wheel brings gigabytes of CUDA with it; for
# another one name its file, or an index: make test TORCH="torch==2.13.0 --index-url …"
TORCH ?= torch==2.13.0
KERAS_BACKEND ?= tensorflow
# The pages of the Chinese edition; its other pages are in English.
TRANSLATED := $(wildcard docs/index.md docs/map.md docs/glossary.md docs/lessons.md \
    docs/lessons/*.md docs/papers.md docs/papers/*.md)

.DELETE_ON_ERROR:
.PHONY: help demo test test-all lint docs translations explorer clean

help:  ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime  ## translate a few sentences and show an alignment
	@KERAS_BACKEND=$(KERAS_BACKEND) $(BIN)/zoo translate luong_local --alignments \
	    "A man is riding a bicycle down the street." \
	    "Two children are playing with a ball in the park." \
	    "A black dog runs through the snow."

test: lint  ## lint, then the test suite under TensorFlow, JAX and PyTorch
	@$(BIN)/python tools/run_tests.py

test-all: lint  ## that, with all that takes long: whole recipes, variants everywhere
	@$(BIN)/python tools/run_tests.py --all

lint: $(VENV)/.tests  ## ruff check, ruff format --check, mypy, the documents' style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m tools.site.style

docs: $(VENV)/.tests  ## run the lessons and build the site into build/docs, offline
	@$(BIN)/zoo explore luong_local --export build/docs/live
	@KERAS_BACKEND=$(KERAS_BACKEND) $(BIN)/sphinx-build -q -W --keep-going \
	    -d build/doctrees docs build/docs
	@KERAS_BACKEND=$(KERAS_BACKEND) $(BIN)/sphinx-build -q -W --keep-going \
	    -D language=zh_CN -D nb_code_prompt_show=显示代码 -D nb_code_prompt_hide=隐藏代码 \
	    -d build/doctrees_zh docs build/docs/zh
	@echo "build/docs/index.html"

translations: $(VENV)/.tests  ## bring the Chinese catalogues up to the English, and count
	@KERAS_BACKEND=$(KERAS_BACKEND) $(BIN)/sphinx-build -q -b gettext \
	    -D nb_execution_mode=off -d build/doctrees_pot docs build/pot $(TRANSLATED)
	@$(BIN)/sphinx-intl update -p build/pot -d docs -l zh_CN
	@$(BIN)/sphinx-intl stat -d docs || true  # 1 where code stays English

explorer:  ## build the explorer's page into zoo/explorer/static; needs Node
	@cd explorer && npm ci --no-audit --no-fund && npm run build

clean:  ## remove the virtual environment, caches and build output
	rm -rf $(VENV) build dist docs/generated explorer/node_modules *.egg-info \
	    .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp file per step, so that an interrupted step is done again and a
# finished one is not.
$(VENV)/.created:
	@echo "making $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: pyproject.toml | $(VENV)/.created
	@echo "installing zoo and TensorFlow (some minutes, once)" >&2
	@$(PIP) --editable .
	@touch $@

$(VENV)/.tests: $(VENV)/.runtime
	@echo "installing JAX, PyTorch, Ray, Sphinx and the test tools (some minutes, once)" >&2
	@$(PIP) $(TORCH)
	@$(PIP) --editable ".[test,train,plot,ray,serving,onnx,ctranslate2,explore,docs,jax,torch]"
	@touch $@
