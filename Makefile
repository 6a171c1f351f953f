# infbench: make demo shows all of it, make test runs all that CI runs.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BUILD  := $(CURDIR)/.build
BIN    := $(BUILD)/bin
GO     ?= go
JOBS   ?= 2
export GOFLAGS += -p=$(JOBS)

GOLANGCI := v2.15.0
GOFUMPT  := v0.12.0
TOKENIZERS := v1.24.0
TOKLIB   := $(BUILD)/lib/$(TOKENIZERS)
VERSION  := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X infbench/cmd/infbench/internal/app.Commit=$(VERSION)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

build: $(BIN)/infbench ## the binary, into .build/bin
.PHONY: $(BIN)/infbench
$(BIN)/infbench:
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/infbench

demo: build ## all five stages on the embedded engine: a record, the matrix
	$(BIN)/infbench demo

test: ## install what the tests need, then run all that CI runs
	@.ci/test

check: fmt vet lint race ## the quick part of make test: no engine, no native library

fmt: $(BIN)/gofumpt ## formatting, as a check
	@out=$$($(BIN)/gofumpt -l $$(git ls-files '*.go' | grep -v testdata)); test -z "$$out" || { echo "gofumpt would change:"; echo "$$out"; exit 1; }

vet: ## go vet
	$(GO) vet ./...

lint: $(BIN)/golangci-lint ## golangci-lint, pinned
	$(BIN)/golangci-lint run --concurrency $(JOBS) ./...

race: ## the tests, with the race detector and in random order
	$(GO) test -race -shuffle=on -timeout 30m ./...

nocgo: ## the tests of what has a native twin, without cgo
	CGO_ENABLED=0 $(GO) test -timeout 20m ./internal/tokens/ ./cmd/...

native: ## the tokenizer library (needs cargo and cc) and its tests
	native/tokenizers/build.sh $(BUILD)
	CGO_LDFLAGS=-L$(TOKLIB) $(GO) test -tags hftokenizers ./internal/tokens/

engine: ## a real llama.cpp server with a small real model (needs python3) and its tests
	internal/realengine/install.sh $(BUILD)/engines
	INFBENCH_ENGINES=$(BUILD)/engines $(GO) test -tags engine -count=1 -timeout 40m ./cmd/infbench/ -run RealEngine -v

flake: ## the flake, offline (needs nix)
	nix/check.sh

fuzz: ## every fuzz target, FUZZTIME each (5s; a minute for the readers of checkpoints)
	@GO='$(GO)' .ci/fuzz

docs: build ## write the pages that are printed from the code
	$(BIN)/infbench checks --markdown > docs/CHECKS.md
	$(BIN)/infbench checks --schemes > docs/SCHEMES.md
	$(BIN)/infbench checks --taxonomy > docs/FAILURE-TAXONOMY.md

prove: build ## the self-test: every fault has a catcher, a healthy engine trips none
	$(BIN)/infbench selftest --quiet | tail -4

selftest: build ## the same as a page: every fault against the checks of stages 1 to 3, on the embedded engine; rewrites docs/FAULTS.md
	$(BIN)/infbench selftest --quiet --markdown > $(BUILD)/FAULTS.md && mv $(BUILD)/FAULTS.md docs/FAULTS.md

golden: ## rewrite golden files; read the diff
	$(GO) test ./... -update

bench: ## the client's cost beside a bare loop; see bench/README.md
	bench/run.sh

dist: ## binaries for the usual platforms, with sums
	@mkdir -p $(BUILD)/dist
	for p in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BUILD)/dist/infbench_$${p%/*}_$${p#*/} ./cmd/infbench; done
	cd $(BUILD)/dist && sha256sum infbench_* > SHA256SUMS

clean: ## remove .build
	rm -rf $(BUILD)

$(BIN)/golangci-lint:
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)

$(BIN)/gofumpt:
	GOBIN=$(BIN) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT)

.PHONY: help build demo test check fmt vet lint race nocgo native engine flake fuzz docs prove selftest golden bench dist clean
