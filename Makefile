# Everything works from a fresh clone: the targets make their own virtual environments below this directory.

PYTHON ?= python3
VENV := .venv
PURE := .venv-pure
SOURCES := $(shell find src dropin/src -name '*.py' -o -path '*/data/*' -type f -o -path '*/assets/*' -type f) pyproject.toml setup.py dropin/pyproject.toml
PYTEST_ARGS ?=
FRAMES ?= 2000000
STEPS ?= 50000
SEED ?= $(shell date +%s)

# A test run that fails behind a pipe has failed.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help demo test lint test-compiled test-pure test-lab test-programs test-spark search stress fuzz bench clean install

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## Set up .venv with ostler compiled

demo: $(VENV)/.installed ## Kill a queue manager and restart it; measure one, and make a report of it with Spark
	@$(VENV)/bin/ostler demo
	@$(VENV)/bin/ostler lab run client-rr-np --quick --output demo-data/runs
	@$(VENV)/bin/ostler pipeline run demo-data/runs --lake demo-data/lake
	@$(VENV)/bin/ostler pipeline report --lake demo-data/lake --output demo-data/report

# Three at once, for two processors: tests wait for disks and clocks more than they compute. The longest come first. All
# of them run, so that one run shows all failures.
test: $(VENV)/.installed $(PURE)/.installed ## Run all checks and tests, compiled and interpreted
	$(call need_etcd)
	$(call need_postgresql)
	$(call need_redis)
	@$(MAKE) --no-print-directory -j3 --keep-going LABELLED=1 test-compiled test-pure test-lab test-spark test-programs lint

lint: $(VENV)/.installed ## Style, types, import contracts
	$(VENV)/bin/ruff check src tests dropin setup.py
	$(VENV)/bin/ruff format --check src tests dropin setup.py
	$(VENV)/bin/mypy
	MYPYPATH=src $(VENV)/bin/mypy --explicit-package-bases tests/world
	PYTHONPATH=src $(VENV)/bin/lint-imports --no-cache

# What has tests in targets of its own.
PROGRAMS := tests/cli tests/docs tests/dropin tests/testing
APART := tests/lab tests/pipeline $(PROGRAMS)

test-compiled: $(VENV)/.installed ## Tests against the compiled package, without those that have targets of their own
	$(VENV)/bin/python -m pytest -m "not stress" $(APART:%=--ignore=%) $(PYTEST_ARGS) $(call labelled,compiled)

test-programs: $(VENV)/.installed ## Tests of commands, pages, foreign packages and the plugin, with the compiled package
	$(VENV)/bin/python -m pytest -m "not stress" $(PROGRAMS) $(PYTEST_ARGS) $(call labelled,programs)

test-lab: $(VENV)/.installed ## Tests of the laboratory, with the compiled package
	$(VENV)/bin/python -m pytest -m "not stress" tests/lab $(PYTEST_ARGS) $(call labelled,laboratory)

test-spark: $(VENV)/.installed ## Tests of the pipeline, with a real Spark
	$(VENV)/bin/python -m pytest -m "not stress" tests/pipeline $(PYTEST_ARGS) $(call labelled,spark)

# What is not compiled need not be tested a second time.
NOT_COMPILED := tests/cli tests/docs tests/pipeline tests/testing tests/lab/common tests/lab/families \
	tests/lab/peers tests/lab/runner tests/lab/sampling tests/lab/scenarios

test-pure: $(PURE)/.installed ## Tests of the packages that are compiled, interpreted (without the slow ones), in memory
	$(IN_MEMORY) $(PURE)/bin/python -m pytest -m "not stress and not slow" $(NOT_COMPILED:%=--ignore=%) -o tmp_path_retention_policy=failed $(PYTEST_ARGS) $(call labelled,interpreted)

search: $(VENV)/.installed ## Look for failing examples where the tests have not looked yet
	HYPOTHESIS_PROFILE=search $(VENV)/bin/python -m pytest -m "hypothesis and not stress" $(PYTEST_ARGS)

stress: $(VENV)/.installed ## Long runs: fifty rounds of kill -9 under load, and more
	$(VENV)/bin/python -m pytest -m stress $(PYTEST_ARGS)

fuzz: $(VENV)/.installed ## Two million hostile frames, fifty thousand wild steps; FRAMES, STEPS and SEED say how many and which
	OSTLER_FUZZ_FRAMES=$(FRAMES) OSTLER_WILD_STEPS=$(STEPS) OSTLER_FUZZ_SEED=$(SEED) $(VENV)/bin/python -m pytest \
		--timeout 3600 tests/server/net/test_hostile_frames.py tests/server/net/test_wild_conversations.py \
		tests/server/channels/test_hostile_channels.py tests/server/channels/test_hostile_partners.py $(PYTEST_ARGS)

# What the runs of `make bench` are like. Empty: all points, which takes hours.
BENCH ?= --quick

bench: $(VENV)/.installed ## Measure this installation, in runs below results/
	$(VENV)/bin/ostler lab run @bench $(BENCH) --output results

clean: ## Remove what was built
	rm -rf $(VENV) $(PURE) build results .mypy_cache .ruff_cache .pytest_cache src/*.egg-info

# The compiled package is tested on a real disk. For the other one memory will do, if there are four gigabytes of it and
# programs in it may run: half of the time would go by with waiting for the disk.
IN_MEMORY := $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/' /proc/mounts 2>/dev/null | grep -q . \
	&& df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 {print "TMPDIR=/dev/shm"}')

# Which of several test runs a line is of, when they write at the same time.
labelled = $(if $(LABELLED),2>&1 | sed -u 's/^/$(1): /')

# Spark runs on Java: of whatever maker, but not of any age.
define need_java
	@java -version >/dev/null 2>&1 || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y openjdk-17-jre-headless; } \
		|| { echo "The pipeline needs Java 17 or newer; on Debian: apt-get install openjdk-17-jre-headless"; exit 1; }
endef

# The arbiter is tested with a real etcd, unpacked into the cache of the peers: installed, it would run as a service.
fetch_etcd = $(VENV)/bin/python -c 'from ostler.lab.peers import etcd; etcd.fetch()'
define need_etcd
	@$(fetch_etcd) 2>/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && $(fetch_etcd); } \
		|| echo "Tests of the arbiter in etcd will be skipped; on Debian: apt-get update, then make test again"
endef

# The shared repository is tested with a real PostgreSQL, in the same way.
fetch_postgresql = $(VENV)/bin/python -c 'from ostler.lab.peers import postgresql; postgresql.fetch()'
define need_postgresql
	@$(fetch_postgresql) 2>/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && $(fetch_postgresql); } \
		|| echo "Tests of the repository in PostgreSQL will be skipped; on Debian: apt-get update, then make test again"
endef

# And Redis as coupling facility.
fetch_redis = $(VENV)/bin/python -c 'from ostler.lab.peers import redis_facility; redis_facility.fetch()'
define need_redis
	@$(fetch_redis) 2>/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && $(fetch_redis); } \
		|| echo "Tests of shared queues in Redis will be skipped; on Debian: apt-get update, then make test again"
endef

define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Ostler needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1) || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	$(1)/bin/python -m pip install --quiet --upgrade pip
endef

$(VENV)/.installed: $(SOURCES)
	$(call need_java)
	$(call make_venv,$(VENV))
	@echo "Installing ostler into $(VENV); the hot packages are compiled, which takes a few minutes."
	@rm -rf build
	$(VENV)/bin/python -m pip install --quiet ".[dev,lab,pipeline]"
	$(VENV)/bin/python -m pip install --quiet --no-deps ./dropin
	@rm -rf build src/*.egg-info
	@touch $@

$(PURE)/.installed: $(SOURCES)
	$(call make_venv,$(PURE))
	@rm -rf build
	OSTLER_PURE=1 $(PURE)/bin/python -m pip install --quiet ".[dev,lab]"
	$(PURE)/bin/python -m pip install --quiet --no-deps ./dropin
	@rm -rf build src/*.egg-info
	@touch $@
