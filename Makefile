# Everything that this repository can do, by name; "make help" explains it.

GO        ?= go
STATE     := .state
# Arguments of the demo, e.g. make run DEMOFLAGS='--speed 5 --listen 127.0.0.1:8760'
DEMOFLAGS ?=
# Extra arguments for go test, e.g. make test TESTFLAGS='-run Fence ./internal/loop'
TESTFLAGS ?= ./...
# RACE=require fails without the race detector (CI); RACE=off leaves it out.
RACE      ?= auto

.DEFAULT_GOAL := help
.PHONY: help run test lint generate check-generated bench vulnerabilities clean

help: ## explain every target
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the demo: database, broker, a simulated plant, Surehand
	@mkdir -p $(STATE)
	@echo "building; the first time takes minutes"
	$(GO) build -o $(STATE)/bin/ ./cmd/surehand-lab ./cmd/surehand
	@exec $(STATE)/bin/surehand-lab demo $(DEMOFLAGS)

test: ## run all tests with real PostgreSQL and a real broker
	@mkdir -p $(STATE)
	@case '$(RACE)' in auto|require|off) ;; *) echo "RACE is auto, require or off, not '$(RACE)'" >&2; exit 2 ;; esac; \
	race=-race; why=; \
	if [ '$(RACE)' = off ]; then why='RACE=off was asked for'; \
	elif ! command -v "$$($(GO) env CC | cut -d' ' -f1)" >/dev/null 2>&1; then why="there is no C compiler ($$($(GO) env CC)): install gcc and libc6-dev"; \
	elif [ "$$($(GO) env CGO_ENABLED)" != 1 ]; then why='cgo is off (CGO_ENABLED is not 1)'; fi; \
	if [ -n "$$why" ]; then \
		if [ '$(RACE)' = require ]; then echo "RACE=require, but $$why" >&2; exit 1; fi; \
		echo "************************************************************************"; \
		echo "*** NO RACE DETECTOR in this run: $$why"; \
		echo "************************************************************************"; \
		race=; \
	fi; \
	for program in node npm chromium; do \
		if command -v $$program >/dev/null 2>&1; then continue; fi; \
		if [ $$program = chromium ] && [ "$$(id -u)" = 0 ]; then continue; fi; \
		echo "************************************************************************"; \
		echo "*** $$program is not installed: tests that need it are LEFT OUT of this run (with CI=true they fail)"; \
		echo "************************************************************************"; \
	done; \
	set -x; $(GO) test $$race -count=1 -timeout 20m $(TESTFLAGS)

lint: ## check format, vet, staticcheck and our own bans
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" >&2; echo "$$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	cd tools && $(GO) vet ./... && $(GO) test -count=1 ./...
	cd bench && $(GO) vet ./...
	@mkdir -p $(STATE)/bin
	cd tools && $(GO) build -o ../$(STATE)/bin/ honnef.co/go/tools/cmd/staticcheck ./cmd/bans
	$(STATE)/bin/staticcheck ./...
	$(STATE)/bin/bans ./...

generate: ## write generated files anew
	$(GO) generate ./...

check-generated: generate ## fail if a generated file is not what its source says
	@changed=$$(git status --porcelain); \
	if [ -n "$$changed" ]; then echo "generated files differ from what is committed (or the tree was not clean):" >&2; \
		echo "$$changed" >&2; git --no-pager diff --stat; exit 1; fi

bench: ## measure against yardsticks, results in bench/results.json
	cd bench && $(GO) run .

vulnerabilities: ## check linked modules with govulncheck (needs its database)
	cd tools && $(GO) build -o ../$(STATE)/bin/ golang.org/x/vuln/cmd/govulncheck
	$(STATE)/bin/govulncheck $(VULNFLAGS) ./...

clean: ## delete built programs; the demo's database stays
	rm -rf $(STATE)/bin bin dist
