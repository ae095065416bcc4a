# The commands that CI runs. Start with `make test`.

GO          ?= go
GOTESTSUM   ?= gotest.tools/gotestsum@v1.13.0
GREMLINS    ?= github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
GOLANGCI    ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
MODULES     := $(sort $(dir $(shell git ls-files '*go.mod')))
FUZZTIME    ?= 20000x
ROUNDS      ?= 1
MUTATE      ?= ./op ./internal/model/attrmap ./internal/record/convert ./internal/record/sink
SEED        ?= 1
OTHERS      ?= darwin/arm64 windows/amd64 linux/386

# The modules that depend on the Collector and on ClickHouse compile for minutes.
SLOW        := contrib/clickhouse/ contrib/otelcol/

.DEFAULT_GOAL := precommit
.PHONY: precommit test test-all race concurrent-safe campaign slowest fmt vet lint golangci tree fuzz bench memory bounds faults \
	tidy browser examples mutation release generate

# go_test runs the tests of the modules $(1) with the flags $(2), in one run of the Go command with go.work. It then prints how
# many of all cases ran. vet is a command of its own.
define go_test
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; set -e; \
	export OPTRACE=$$dir/optrace OPTRACE_CASES_LOG=$$dir/cases; : >"$$OPTRACE_CASES_LOG"; \
	$(GO) build $(2) -o "$$OPTRACE" ./cmd/optrace; \
	$(GO) test -count=1 -vet=off -timeout=60m $(if $(SKIP),-skip '$(SKIP)') $(2) $(addsuffix ...,$(addprefix ./,$(1))); \
	awk '{n += $$1; total += $$2} END {printf "%d of %d cases, repetitions and sizes in %d places; make campaign runs all\n", \
		n, total, NR}' "$$OPTRACE_CASES_LOG"
endef

precommit: lint test ## run this before a commit

test: ## the tests of all modules but the SLOW ones, each with a part of its cases: two minutes
	$(call go_test,$(filter-out $(SLOW),$(MODULES)))

test-all: ## the tests of all modules
	$(call go_test,$(MODULES))

race: ## the tests of all modules but bench, which measures, under the race detector
	$(call go_test,$(filter-out bench/,$(MODULES)),-race)

concurrent-safe: ## the concurrency tests of the plugin, many times, under the race detector
	$(GO) test -race -run 'ConcurrentSafe' -count=20 -timeout=20m $$(git grep -l 'func Test.*ConcurrentSafe' -- '*_test.go' \
		':!contrib' ':!examples' | xargs -n1 dirname | sort -u | sed 's,^,./,')

campaign: ## every case and the searches for faults: five hours; PART=cases|memory|bounds|faults|fuzz|mutation runs one part
	.ci/campaign $(PART)

slowest: ## the ten slowest tests of each module
	@set -e; for m in $(MODULES); do echo "== slowest $$m"; \
		(cd $$m && $(GO) test -count=1 -json ./... | $(GO) run $(GOTESTSUM) tool slowest --num 10 --threshold 100ms); done

fmt: ## fail if gofmt would change a file
	@out=$$(git ls-files -z '*.go' | xargs -0 gofmt -l); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet of system-dependent packages for other systems; golangci covers the rest
	@set -e; for system in $(OTHERS); do echo "== vet $$system"; \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 \
		$(GO) vet -trimpath . ./internal/testing/fulldisk ./internal/record/rotate ./examples/cuda; done

lint: fmt vet golangci tree ## checks that run no code of the tree

golangci: ## the linters, staticcheck among them
	@set -e; for m in $(MODULES); do echo "== golangci-lint $$m"; \
		(cd $$m && $(GO) run $(GOLANGCI) run -c $(CURDIR)/.golangci.yml ./...); done

tree: ## import rules, listings of the API, links, releases
	$(GO) test -count=1 -tags tree ./internal/testing/tree

fuzz: ## every fuzz target for FUZZTIME runs; SLICE=TEXT chooses a fifth of them by the text
	@# FUZZTIME is a number of runs: with a duration, Go sometimes stops within a run and fails.
	@set -e; for m in $(MODULES); do (cd $$m && for p in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...); do \
		for f in $$(cd $$p && cat *_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			[ -z "$(SLICE)" ] || [ $$(($$(echo "$(SLICE)$$f" | cksum | cut -d' ' -f1) % 5)) = 0 ] || continue; \
			echo "== fuzz $$p $$f"; \
			$(GO) test -C $$p -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x; done; done); done

mutation: ## mutants of the packages MUTATE that their tests do not detect
	@# A mutant may take many times as long as the tests, which must not come from the cache: it has to be compiled.
	@set -e; ulimit -v 16000000; ulimit -t 300; export GOWORK=off GOFLAGS="$(GOFLAGS) -count=1"; for p in $(MUTATE); do echo "== mutation $$p"; \
		nice -n 19 $(GO) run $(GREMLINS) unleash --timeout-coefficient 20 $$p; done

bench: ## every benchmark, long enough to show that it runs; CONTRIBUTING.md says how to compare
	@set -e; for m in $(MODULES); do (cd $$m && $(GO) test -run '^$$' -bench . -benchtime 1ms ./...); done

memory: ## every command on every input that grows, at two bounds of memory: an hour
	OPTRACE_CASES=all $(GO) test -run '^TestMemoryStaysBounded$$' -count=1 -parallel=2 -timeout=0 ./cmd/optrace

bounds: ## every command on twice as much of everything: an hour
	OPTRACE_CASES=all $(GO) test -run '^TestDoubling' -count=1 -timeout=0 ./cmd/optrace

faults: ## kills, files that are taken away and files without room, ROUNDS times: a minute each
	OPTRACE_CASES=all $(GO) test -run '^TestRecordingSurvivesFaults$$' -count=$(ROUNDS) -parallel=8 -timeout=0 .

release: ## the command for linux, darwin and windows on amd64 and arm64, with its version, SBOMs and SHA-256 sums, in dist/
	GO="$(GO)" .ci/release

generate: ## generated files: constants and tables from docs/registry, listings of the API
	$(GO) generate ./tensorconv
	$(GO) test -tags tree ./internal/testing/tree -run TestAPI -update

tidy: ## go mod tidy in every module, and one version of each dependency
	.ci/modules tidy

browser: ## the tests of the page, in Node.js and in chromium
	.ci/browser

examples: ## run the example that the README shows
	$(GO) run -C examples ./quickstart
