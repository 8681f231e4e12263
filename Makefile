# Two commands matter: `make run` serves on port 8000, `make test` runs every test. Both install
# what is missing first. `make help` lists the rest.
BUILD := build
MESON_OPTIONS :=
PREFIX ?= /usr/local

.PHONY: help build run demo pages test unit lint format asan tsan bench install clean setup setup-demo setup-test setup-lint

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make run      build, and serve on 127.0.0.1:8000 with the data in ./data (ARGS="..." adds options)
run: build
	./$(BUILD)/gramme serve $(ARGS)

## make demo     five applications with pages and sample data, on a server of their own; prints the link
demo: build pages
	@tools/demo $(ARGS)

## make pages    build the pages of the applications into build/pages
pages: setup-demo
	@tools/pages

## make build    leave the programs at build/gramme and build/apps/gramme-apps
build: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet gramme apps/gramme-apps

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_OPTIONS) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@mv $(BUILD).log $(BUILD)/setup.log

setup:
	@tools/setup build
setup-demo:
	@tools/setup build demo
setup-test:
	@tools/setup build test
setup-lint:
	@tools/setup build test lint

## make test     every test: lint, unit, store, black box
test: setup-test lint
	@tools/test

## make unit     the quick ones: unit tests and the store's contract
unit: setup-test $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs

## make lint     layout, bug finders, include order, paths named in docs
lint: setup-lint $(BUILD)/build.ninja
	@tools/lint

## make format   rewrite the sources in our layout
format: setup-lint
	@clang-format -i $$(git ls-files '*.c' '*.h')

## make asan     the whole of the tests under AddressSanitizer and UBSan
asan: setup-test
	@tools/test asan

## make tsan     the whole of the tests under ThreadSanitizer
tsan: setup-test
	@tools/test tsan

## make bench    measure beside other servers and the machine's limits (ARGS="--quick" for a rough look)
bench: build
	@tools/setup bench
	@tools/bench $(ARGS)

## make install  copy program, library, header and gramme.pc to PREFIX (default /usr/local)
install: setup $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX)) >/dev/null
	@ninja -C $(BUILD) --quiet
	@meson install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf build build-*
