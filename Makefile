# The front door. Everything below is CMake, CTest and a few scripts; nothing is hidden here.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

help:
	@echo "make demo       install what is missing, build, run 64 ranks of the examples on this machine"
	@echo "make test       install what is missing, build, run the tests (about 15 minutes on 2 cores)"

build: build/release/build.ninja
	cmake --build build/release -j $(JOBS)

build/release/build.ninja:
	cmake --preset release

test: build
	ctest --preset release -j $(JOBS) -LE slow

.PHONY: help build test
