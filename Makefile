# The same commands that CI runs, by hand. `make test` is the one to know.

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GREMLINS    ?= github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
GOLANGCI    ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
MODULES     := $(sort $(dir $(shell git ls-files '*go.mod')))
FUZZTIME    ?= 20000x
FAULTTIME   ?= 5m
MUTATE      ?= ./op ./internal/convert ./analyze ./internal/sink
SAMPLE      ?= 200
SEED        ?= 1

.DEFAULT_GOAL := precommit
.PHONY: precommit test race concurrent-safe fmt vet lint golangci fuzz bench faults tidy browser examples mutation release generate

precommit: fmt vet lint test ## what to run before a commit

test: ## all tests of all modules
	@set -e; for m in $(MODULES); do echo "== test $$m"; (cd $$m && $(GO) test -timeout=20m ./...); done

race: ## all tests, with fewer cases, under the race detector; bench, which measures, runs them without
	@set -e; for m in $(filter-out bench/,$(MODULES)); do echo "== race $$m"; (cd $$m && $(GO) test -race -short -timeout=20m ./...); done

concurrent-safe: ## the concurrency tests of the plugin, many times, under the race detector
	$(GO) test -race -run 'ConcurrentSafe' -count=20 -timeout=20m $$(git grep -l 'func Test.*ConcurrentSafe' -- '*_test.go' ':!contrib' ':!examples' | xargs -n1 dirname | sort -u | sed 's,^,./,')

fmt: ## fail where gofmt would change something
	@out=$$(git ls-files -z '*.go' | xargs -0 gofmt -l); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet, of what depends on the system for the three that users have; the root for 32 bits too
	@set -e; for m in $(MODULES); do systems=linux; case $$m in ./|examples/) systems="linux darwin windows";; esac; \
		for os in $$systems; do echo "== vet $$m ($$os)"; (cd $$m && GOOS=$$os CGO_ENABLED=0 $(GO) vet ./...); done; done
	@echo "== vet ./ (linux, 32 bits)"; GOOS=linux GOARCH=386 CGO_ENABLED=0 $(GO) vet ./...

lint: ## staticcheck
	@set -e; for m in $(MODULES); do echo "== staticcheck $$m"; (cd $$m && $(GO) run $(STATICCHECK) ./...); done

golangci: ## the wider set of linters, import rules included
	@set -e; for m in $(MODULES); do echo "== golangci-lint $$m"; (cd $$m && $(GO) run $(GOLANGCI) run -c $(CURDIR)/.golangci.yml ./...); done

fuzz: ## every fuzz target for FUZZTIME runs; a duration, as 10s, is ended by Go within a run now and then, and fails
	@set -e; for m in $(MODULES); do (cd $$m && for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "== fuzz $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$p; done; done); done

mutation: ## mutants of the packages MUTATE that their own tests do not notice, a random SAMPLE of each, or all with SAMPLE=0
	@set -e; ulimit -v 16000000; for p in $(MUTATE); do echo "== mutation $$p"; \
		nice -n 19 $(GO) run $(GREMLINS) unleash --dry-run $$p | \
		nice -n 19 $(GO) run ./internal/mutation -package $$p -sample $(SAMPLE) -seed $(SEED); done

bench: ## every benchmark, long enough to see that it runs
	@set -e; for m in $(MODULES); do (cd $$m && $(GO) test -run '^$$' -bench . -benchtime 1ms ./...); done

faults: ## a campaign of faults for FAULTTIME: kills, moved files, full disks, damage, bombs
	$(GO) run -C bench ./faults -for $(FAULTTIME)

release: ## the command for linux, darwin and windows on amd64 and arm64, with its version and SHA-256 sums, in dist/
	GO="$(GO)" .ci/release

generate: ## what is generated: constants and tables from docs/registry, listings of the API
	$(GO) generate ./tensorconv
	$(GO) test -tags tree ./internal/tree -run TestAPI -update

tidy: ## go mod tidy in every module
	@set -e; for m in $(MODULES); do (cd $$m && $(GO) mod tidy); done

browser: ## the tests of the page, in Node.js and in chromium
	.ci/browser

examples: ## run the example that the README shows
	$(GO) run -C examples ./quickstart
