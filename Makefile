# make crawl                                       crawl the example site, which needs no network; PAIR=eng-eus or PAIR=eng-eus,eng-spa as well
# make crawl PAIR=eng-mlt SEEDS=https://… CONTACT=https://…   crawl websites; POLICY=… and OPTIONS="--max-pages 500" as well
# make test                                        check style and types, run the tests; CI=1 runs the slow ones as well

PYTHON ?= python3
VENV ?= .venv
PAIR ?= eng-spa
SEEDS ?=
CONTACT ?=
POLICY ?=
OPTIONS ?=

RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install -qq --disable-pip-version-check -c constraints.txt
TEST_EXTRAS := dev,train,align,discovery,languages,redis,playwright,scrapyd,pdf,mine,docs
CRAWL_OPTIONS := $(if $(POLICY),-a policy=$(POLICY)) $(OPTIONS)

.PHONY: crawl test types suite

ifeq ($(strip $(SEEDS)),)
crawl: $(VENV)/installed
	@$(RUN) examples/crawl.py --pair '$(PAIR)' $(CRAWL_OPTIONS)
else
crawl: $(VENV)/installed
	@$(RUN) -m bilingual_crawler crawl --pair '$(PAIR)' --seeds '$(SEEDS)' \
		$(if $(CONTACT),--contact '$(CONTACT)') $(CRAWL_OPTIONS)
endif

test: $(VENV)/installed-for-tests
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(VENV)/bin/lint-imports
	@$(MAKE) --no-print-directory -j 2 types suite

# mypy has one process, and crawls wait for servers: all of it together fills two cores
types:
	$(RUN) -m mypy

suite:
	$(RUN) -m pytest -q -rs -n 6 --dist loadfile --no-loadscope-reorder --durations 15

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.11 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing into $(VENV) …"
	@$(PIP) -e .
	@touch $@

$(VENV)/installed-for-tests: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing the extras $(TEST_EXTRAS) into $(VENV): 3 GB, torch among it …"
	@$(PIP) --no-compile -e '.[$(TEST_EXTRAS)]'
# pip would compile one file after the other, tests of libraries too; some are templates, or for another Python
	@$(RUN) -m compileall -q -j 0 -x '/(tests?|models|phonenumbers)/' $(VENV)/lib >/dev/null 2>&1 || true
	@touch $@ $(VENV)/installed
