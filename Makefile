# The commands of this repository. Each target first installs the Debian packages that it needs and that are missing
# (tools/install-deps.sh), so it works on a bare Debian 12 or 13. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
# Empty: as the build folder was configured before, at first OFF.
WERROR ?=
FILTER ?= .
# An interpreter for `make wheel`; empty: python3.
PYTHON ?=
BASE ?=
PROGRAMS ?= 5000
ROUNDS ?= 100
SECONDS_EACH ?= 60
# The program that `make quickstart` runs, with its arguments, such as "iris_session --report", and its CMake target.
QUICKSTART ?= quickstart
QUICKSTART_TARGET ?= $(firstword $(QUICKSTART))
bin := build/release/bin

# Appends the time of a command to build/step_times; tools/slowest.py prints those since BEGIN.
timed = tools/timed.sh "$(1)"
export BEGIN := $(shell date +%s)

# $(call configure,PRESET), $(call compile,PRESET) and $(call run_tests,CTEST OPTIONS).
configure = { $(call timed,configure $(1)) cmake --preset $(1) $(addprefix -DSYSTOLE_WERROR=,$(WERROR)) >build/$(1).configure.log 2>&1 || { cat build/$(1).configure.log; exit 1; }; }
compile = $(call timed,build $(1)) cmake --build --preset $(1) --parallel $(JOBS)
run_tests = tools/run-tests.sh $(1) --parallel $(JOBS)

.PHONY: quickstart build deb wheel release test quick-test client-tests python-tests jax-tests library-tests libtpu-tests sanitize stress kill-test crash-states out-of-memory mutants damage mnist-accuracy hostile fuzz bench bench-jax bench-peers bench-python lint tidy format docs clean help deps test-deps

quickstart: deps ## train a real model on real data and show the result
	@$(call configure,release)
	@$(call compile,release) --target $(QUICKSTART_TARGET)
	@$(bin)/$(QUICKSTART)

build: deps ## the release build: programs and libraries, in build/release
	@$(call configure,release)
	@$(call compile,release) --target programs

deb: deps ## Debian packages of the programs and the libraries, in build/release/packages
	@tools/install-deps.sh deb
	@$(call configure,release)
	@$(call compile,release) --target programs
	@cd build/release && cpack -G DEB -B packages >packages.log 2>&1 || { tail -20 packages.log; exit 1; }
	@ls build/release/packages/*.deb

wheel: deps ## the Python package systole-tpu with all libraries that it needs, in build/wheel; PYTHON=python3.13 for another Python than python3
	@tools/install-deps.sh clients
	@tools/install-clients.sh python $(addprefix python@,$(PYTHON))
	@$(call configure,release)
	@$(call compile,release) --target systole_pjrt systole_app systole_python_stubs
	@tools/make-wheel.sh build/release build/wheel $(PYTHON)

release: deb wheel ## what a version publishes, in build/dist: source archive, Debian packages, wheel, notes, checksums
	@tools/make-release.sh build/release build/wheel build/dist

test: test-deps ## all tests in the release build, and the core tests under the address, undefined-behaviour and thread sanitizers
	@for preset in release asan tsan; do $(call configure,$$preset) && $(call compile,$$preset) || exit 1; done
	@$(call run_tests,-C sanitize)

sanitize: deps ## all tests that sanitizer builds run; about an hour on two cores
	@for preset in release asan tsan; do $(call configure,$$preset) || exit 1; done
	@for preset in asan tsan; do $(call compile,$$preset) --target sanitized_tests || exit 1; done
	@$(call run_tests,-C sanitize_all -R '^[at]san:')

quick-test: test-deps ## all tests of the release build, without sanitizers
	@$(call configure,release)
	@$(call compile,release)
	@$(call run_tests)

client-tests: deps ## compare with Keras 2.15, Keras 3, JAX, XProf and XLA's headers; installs them; writes the tables of docs/keras_files.md
	@tools/install-deps.sh clients
	@$(call configure,release)
	@$(call compile,release) --target keras_client systole_app systole_pjrt
	@tools/install-clients.sh
	@tests/clients/run.sh keras3 pjrt_headers.py
	@tests/clients/run.sh jax jax_plugin.py build/release/lib/libsystole_pjrt.so
	@tests/clients/run.sh xprof xprof_profile.py $(bin)/systole
	@for client in keras2 keras3; do tests/clients/run.sh $$client keras_files.py $(bin)/keras_client --table docs/keras_files.md || failed=1; done; exit $${failed-0}

python-tests: deps ## all tests of TensorFlow 1 in Python, with TensorFlow 2.15 beside it; installs both; writes docs/python_api.md
	@tools/install-deps.sh clients
	@tools/install-clients.sh python keras2
	@$(call configure,release)
	@$(call compile,release) --target systole_app systole_python
	@tests/clients/run.sh python python_tests.py --table docs/python_api.md

JAX_TESTS ?=
LIMIT ?= 30
jax-tests: deps ## run JAX's own tests of JAX_TESTS=the folder `tests` of its repository, LIMIT of a file, on one device and on eight; writes docs/jax_tests.md
	@tools/install-deps.sh clients
	@$(call configure,release)
	@$(call compile,release) --target systole_pjrt
	@tools/install-clients.sh jax
	@for cores in 1 8; do tests/clients/run.sh jax jax_tests.py build/release/lib/libsystole_pjrt.so '$(JAX_TESTS)' --cores $$cores --limit $(LIMIT) --table docs/jax_tests.md || exit 1; done

KERAS ?=
OPTAX ?=
FLAX ?=
library-tests: deps ## run the tests of Keras 3, Optax and Flax of KERAS=, OPTAX=, FLAX=their repositories, LIMIT of a folder; writes docs/jax_tests.md
	@tools/install-deps.sh clients
	@$(call configure,release)
	@$(call compile,release) --target systole_pjrt
	@tools/install-clients.sh jax_libraries
	@tests/clients/run.sh jax_libraries library_tests.py build/release/lib/libsystole_pjrt.so $(if $(KERAS),'keras=$(KERAS)') $(if $(OPTAX),'optax=$(OPTAX)') \
	  $(if $(FLAX),'flax=$(FLAX)') --limit $(LIMIT) --table docs/jax_tests.md

stress: deps ## compare random programs, layers and attentions on the cpu and reference backends; PROGRAMS=number
	@$(call configure,release)
	@$(call compile,release) --target backend_cpu_test
	@SYSTOLE_RANDOM_PROGRAMS=$(PROGRAMS) $(bin)/backend_cpu_test --gtest_filter='RandomProgram.*:RandomLayer.*:Attention.OfRandomSizes'

kill-test: deps ## kill a training run at random times, resume it and compare its last checkpoint; ROUNDS=number
	@$(call configure,release)
	@$(call compile,release) --target iris_tpuestimator
	@tools/kill_resume.sh $(ROUNDS)

STATES ?= 100000
crash-states: deps ## power failures at every operation of every writer; STATES=number of disks of each
	@$(call configure,release)
	@$(call compile,release) --target crash_states_test
	@SYSTOLE_CRASH_STATES=$(STATES) $(bin)/crash_states_test

MUTANTS ?= 100
mutants: deps ## faults of the PJRT plugin that systole conform finds; MUTANTS=number
	@$(call configure,release)
	@$(call compile,release) --target systole_app systole_pjrt
	@tools/mutants.py --count $(MUTANTS)

ALLOCATIONS ?= 1000000
out-of-memory: deps ## let the n-th allocation fail in every parser, in saves and in the plugin; ALLOCATIONS=most n
	@$(call configure,release)
	@$(call compile,release) --target allocation_failure_test fuzzers
	@SYSTOLE_FAILING_ALLOCATIONS=$(ALLOCATIONS) $(bin)/allocation_failure_test
	@SYSTOLE_FAILING_ALLOCATIONS=$(ALLOCATIONS) tools/fail-allocations.sh

damage: deps ## flip each bit of the files of a small model: found, or harmless
	@$(call configure,release)
	@$(call compile,release) --target damage_test
	@SYSTOLE_DAMAGED_BITS=all $(bin)/damage_test

DATA ?= ../shared/data
mnist-accuracy: deps ## train the MNIST example on DATA=/mnist/*.gz and require 99 % accuracy on the test images
	@$(call configure,release)
	@$(call compile,release) --target mnist_tpuestimator
	@tools/mnist_accuracy.sh $(DATA)

libtpu-tests: deps ## compare recorded verdicts of Google's compiler for TPUs with the libtpu that is installed; ONLY=text of names
	@$(call configure,release)
	@$(call compile,release) --target systole_app
	@tests/libtpu/measure.py $(bin)/systole --only '$(ONLY)'

hostile: deps ## attack a worker and the board with the programs of tests/hostile and hold them to their bounds
	@$(call configure,release)
	@$(call compile,release) --target hostile
	@$(bin)/worker_attack --filter '$(filter-out .,$(FILTER))'
	@$(bin)/board_attack

fuzz: ## run every parser under libFuzzer and the address sanitizer with clang; SECONDS_EACH=number
	@tools/install-deps.sh build fuzz
	@mkdir -p build
	@$(call configure,fuzz)
	@$(call compile,fuzz)
	@tools/run-fuzzers.sh $(SECONDS_EACH)

bench: deps ## benchmarks against the limits of this machine; FILTER=regex selects rows
	@$(call configure,release)
	@$(call compile,release) --target systole_bench
	@$(bin)/systole_bench --benchmark_filter='$(FILTER)' --json=build/release/bench.json

bench-jax: deps ## JAX on the plugin beside JAX on its own CPU; FILTER=regex
	@tools/install-deps.sh clients
	@$(call configure,release)
	@$(call compile,release) --target systole_pjrt
	@tools/install-clients.sh jax
	@PYTHONPATH=python SYSTOLE_PJRT_LIBRARY=build/release/lib/libsystole_pjrt.so JAX_PLATFORMS=systole,cpu \
	  build/clients/jax/bin/python bench/jax_rows.py --filter '$(FILTER)' --json build/release/bench_jax.json

bench-peers: deps ## training steps and forward passes beside JAX, PyTorch, TensorFlow, ONNX Runtime and OpenVINO; FILTER=regex
	@tools/install-deps.sh clients
	@$(call configure,release)
	@$(call compile,release) --target systole_app systole_pjrt
	@tools/install-clients.sh jax torch tensorflow
	@build/clients/jax/bin/python bench/peers/compare.py --filter '$(FILTER)' --json build/release/bench_peers.json \
	  --table build/release/bench_peers.md --plot build/release/bench_peers.svg

bench-python: deps ## programs of TensorFlow 1 in Python beside TensorFlow 2.15 running the same files; FILTER=regex
	@tools/install-deps.sh clients
	@tools/install-clients.sh python keras2
	@$(call configure,release)
	@$(call compile,release) --target systole_python
	@build/clients/python/bin/python bench/python_rows.py --filter '$(FILTER)' --json build/release/bench_python.json

lint: ## check format, layers, sizes, names and docs, and compile headers and run clang-tidy on files changed since BASE
	@tools/install-deps.sh build lint
	@$(call timed,lint) tools/lint.sh $(BASE)

tidy: ## lint with headers and clang-tidy on all files
	@tools/install-deps.sh build lint
	@tools/lint.sh --all

format: ## rewrite the sources with clang-format
	@tools/install-deps.sh lint
	@tools/check_format.py --fix

docs: ## the API pages, in build/docs/html
	@tools/install-deps.sh docs
	@tools/build-docs.sh

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps:
	@tools/install-deps.sh build
	@mkdir -p build

# Tools that some tests run. Without them these tests are reported as skipped.
test-deps: deps
	@tools/install-deps.sh test || echo "make: some tests will be skipped"
	@tools/install-npm.sh || true
	@tools/install-clients.sh python || true
