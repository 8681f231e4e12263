# Two commands matter: `make run` serves on port 8000, `make test` runs every test. Both install
# what is missing and configure the build first, in whichever order they are used. `make help` lists
# the rest.
BUILD := build
MESON_OPTIONS :=
PREFIX ?= /usr/local

.PHONY: help build run cluster demo pages docs clients release test unit lint format asan tsan soak fuzz bench fresh package doors install clean python configure

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make run      build, and serve on 127.0.0.1:8000 with the data in ./data (ARGS="..." adds options)
run: build
	./$(BUILD)/gramme serve $(ARGS)

## make cluster  three servers on a PostgreSQL primary with a synchronous standby, behind HAProxy; prints the endpoint
cluster: build
	@tools/setup cluster
	@tools/cluster $(ARGS)

## make demo     five applications with pages and sample data, on a server of their own; prints the link
demo: build pages
	@tools/demo $(ARGS)

## make pages    build the pages of the applications into build/pages
pages: configure
	@tools/setup demo
	@tools/pages

## make docs     the manual: a static site in build/manual/site, from docs/ and the program's own tables
docs: build
	@tools/setup docs unit
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@ninja -C $(BUILD) --quiet tests/manual/operation_shapes
	@tools/docs $(BUILD)

## make clients  try boto3, the AWS CLI, the SDK for JavaScript and the libraries built on it; writes docs/reference/clients.md
clients: build
	@tools/setup clients
	@tests/clients/run.py $(ARGS)

## make release  check that version, CHANGELOG, formats and docs agree, then build all packages with checksums and an SBOM
release: docs
	@tools/release $(ARGS)

## make build    leave the programs at build/gramme, gramme-bench and gramme-client beside it, build/apps/gramme-apps
build: configure
	@ninja -C $(BUILD) --quiet gramme gramme-bench gramme-client apps/gramme-apps

# The tools that are written in Python install the rest themselves.
python:
	@tools/setup build

configure: python
	@tools/configure $(BUILD) $(MESON_OPTIONS)

## make test     every test: lint, unit, store, black box; tools/test runs one suite or one test
test: python
	@tools/test

## make unit     the quick ones: unit tests and the store's contract
unit: python
	@tools/test unit

## make lint     layout, bug finders, include order, paths named in docs
lint: configure
	@tools/setup lint
	@tools/lint

## make format   rewrite the sources in our layout
format:
	@tools/setup lint
	@clang-format -i $$(git ls-files '*.c' '*.h')

## make asan     all tests under AddressSanitizer and UBSan
asan: python
	@tools/test asan

## make tsan     all tests under ThreadSanitizer
tsan: python
	@tools/test tsan

## make soak     the long tests, for hours: crash states, damaged files, kills, histories, expensive clients
soak: configure
	@tools/setup test
	@tools/configure $(BUILD) $(MESON_OPTIONS)
	@ninja -C $(BUILD) --quiet
	@tools/soak

## make fuzz     fuzz signatures and policies, ten minutes each (ARGS="--seconds 1800 policy" for others)
fuzz:
	@tools/fuzz $(ARGS)

## make bench    measure beside other servers and the machine's limits (ARGS="--quick" for a short run)
bench: build
	@tools/setup bench
	@ninja -C $(BUILD) --quiet src/store/pg_baseline
	@tools/bench $(ARGS)

## make fresh    test set-up, build and tests in fresh Debian systems; needs root, takes an hour
fresh: python
	@tools/setup fresh
	@tools/fresh $(ARGS)

## make package  tarball, npm package, Python wheel and Debian packages, in build/packages (ARGS="tar" for one of them)
package: python
	@tools/package $(ARGS)

## make doors    test every way to install Gramme up to the first answered request, with times; needs root
doors: python
	@tools/doors $(ARGS)

## make install  copy programs, library, header, man pages and completions to PREFIX (default /usr/local)
install: configure
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX)) >/dev/null
	@ninja -C $(BUILD) --quiet
	@meson install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf build build-*
