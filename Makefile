# Tools run by version through `go run`, so that go.mod lists only what ships.
STATICCHECK   = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT       = go run mvdan.cc/gofumpt@v0.12.0
GORELEASER    = go run github.com/goreleaser/goreleaser/v2@v2.15.1

# What is stamped into the program. The date is the commit's, so that two builds of a commit are the same
# bytes. Outside of git nothing is known, and nothing is stamped.
COMMIT  = $(shell git rev-parse -q --verify HEAD 2>/dev/null)
DATE    = $(shell TZ=UTC git show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
VERSION = $(shell git describe --tags --exact-match --match 'v*' 2>/dev/null || echo v0.0.0-g$$(git rev-parse --short=8 HEAD))$(shell git diff --quiet HEAD || echo +dirty)
STAMP   = -s -w$(if $(COMMIT), -X main.stampedVersion=$(VERSION) -X main.stampedCommit=$(COMMIT) -X main.stampedDate=$(DATE))

FUZZTIME ?= 30s
BENCH    ?=
CLUSTER  ?=

.PHONY: build alone elsewhere dist dist-files dist-test release test check lint race oracle fleet-engines inspector fuzz browser profile lab lab-full bench golden cluster fleet guest cluster-down

build: ## the program, as ./plegdiag: static, and the same bytes wherever it is built
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(STAMP)" -o plegdiag ./cmd/plegdiag

alone: build ## that program in an empty root and on old kernels, as root
	go vet -tags alone ./packaging
	go test -tags alone -count 1 ./packaging

elsewhere: ## the program compiles where much of it is not there: for Windows; releases are also made for macOS
	GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/plegdiag

dist-files: build
	rm -rf build && mkdir -p build/completions build/man-gz
	./plegdiag man --dir build/man
	set -e; for page in build/man/*; do gzip -9nc $$page >build/man-gz/$${page##*/}.gz; done
	./plegdiag completion bash >build/completions/plegdiag.bash
	./plegdiag completion zsh >build/completions/_plegdiag
	./plegdiag completion fish >build/completions/plegdiag.fish

DIST = STAMP="$(STAMP)" VERSION="$(VERSION)" $(GORELEASER)

dist: dist-files ## what a release consists of, in dist/: archives, packages, checksums; builds goreleaser
	$(DIST) check
	INDEX_TOKEN= $(DIST) release --snapshot --clean --skip=sbom,sign,docker

dist-test: ## what make dist made, as root: the same bytes in another directory, the package in a Debian without network (Debian: apt-get install debootstrap rpm)
	go vet -tags dist ./packaging
	STAMP="$(STAMP)" go test -tags dist -count 1 -timeout 30m ./packaging

release: dist-files ## publish the tag that is checked out; for .github/workflows/release.yml
	$(DIST) release --clean

test: ## what a change must pass
	go test ./...

check: lint race fuzz ## what a commit must pass

lint:
	go vet ./...
	@out=$$($(GOFUMPT) -l .); test -z "$$out" || { echo "gofumpt -w these files:"; echo "$$out"; exit 1; }
	@out=$$(go fix -diff ./...); test -z "$$out" || { echo "$$out"; exit 1; }
	$(STATICCHECK) ./...
	$(GOLANGCI_LINT) run --allow-parallel-runners
	$(GOLANGCI_LINT) run --allow-parallel-runners --build-tags lab ./lab/...
	cd lab/cnid && go vet .

# What starts no goroutine, or only what other tests run, too: with the race detector that takes a
# fifth of the time of all.
UNRACED_PACKAGES = internal/archtest$$|internal/schema$$
UNRACED_TESTS    = ^(TestSkippedMembers|TestZipBomb|TestNestedBombs|TestHostileLines)$$

# Each program with the race detector sleeps a second before it exits, and tests start thousands.
race: ## needs a C compiler
	GORACE=atexit_sleep_ms=50 CGO_ENABLED=1 go test -pgo=off -race -timeout 30m -skip '$(UNRACED_TESTS)' \
		$$(go list ./... | grep -vE '$(UNRACED_PACKAGES)')

oracle: ## redact against the examples of gitleaks, in a module of its own
	cd internal/redact/oracle && go vet . && go test -count 1 .

fleet-engines: ## the questions of plegdiag fleet asked of DuckDB, and a bundle through an object store, in a module of its own; needs a C compiler
	cd fleet/engines && go vet . && CGO_ENABLED=1 go test -count 1 .

browser: ## the HTML report in Chromium (Debian: apt-get install chromium)
	go vet -tags browser ./internal/report
	go test -tags browser -run Browser ./internal/report

inspector: ## the tools for agents, asked by the protocol's own inspector (Debian: apt-get install npm)
	go vet -tags inspector ./cmd/plegdiag
	go test -tags inspector -count 1 -run Inspector ./cmd/plegdiag

LAB = nice go test -tags lab -count 1

lab: ## real incidents on real nodes, as root (Debian: apt-get install debootstrap systemd-container strace busybox-static)
	$(LAB) -timeout 20m ./lab

lab-full: ## the same in real lengths, and a stall beyond the threshold of PLEG
	$(LAB) -timeout 40m ./lab -full

cluster: ## a control plane and nodes with today's kubelet and containerd, built from source; real stalls until the API says NotReady
	$(LAB) -timeout 60m ./lab -run TestScenarios -cluster $(CLUSTER)

fleet: ## the Job of fleet/kubernetes on two nodes of that cluster: 300 bundles, three of them bad, a pod killed, a node drained
	$(LAB) -v -timeout 60m ./lab -run TestFleet -cluster

guest: ## nodes as machines of qemu with Debian's kernel: cgroup version 2, device-mapper, NFS (also needs qemu-system-x86 and openssh-client)
	$(LAB) -timeout 60m ./lab -run 'TestScenarios|TestNothingIsLeft' -guest

cluster-down: ## remove what runs of the lab left, and all that is kept for the next one
	$(LAB) ./lab -down

# Go before 1.27 now and then reports the end of FUZZTIME as a failure, "context deadline exceeded", and
# names no input (golang/go#75804). Without a bound on minimizing, inputs of some kilobytes take all of
# FUZZTIME to be made smaller.
fuzz: ## every fuzz target for FUZZTIME
	@set -e; log=$$(mktemp); \
	targets=$$(grep -roE --include='*_test.go' '^func Fuzz\w+' . | sed 's,/[^/]*:func ,:,' | sort); test -n "$$targets"; \
	for target in $$targets; do \
		pkg=$${target%:*} name=$${target#*:}; \
		echo "fuzz $$pkg $$name"; \
		if ! go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg >$$log 2>&1; then \
			cat $$log; \
			grep -q '^    context deadline exceeded' $$log || exit 1; \
			if grep -q 'ailing input' $$log; then exit 1; fi; \
		fi; \
		tail -n 1 $$log; \
	done; rm $$log

bench: ## analyze against gzip -dc on bundles of all shapes, and how each grows (docs/performance.md); flags in BENCH, as BENCH="-mb 30"
	go run ./bench $(BENCH)

# The compiler inlines and arranges by cmd/plegdiag/default.pgo. One that is out of date costs only speed.
PROFILED = node flapping mixed busy many long dumps samples traces rules wide

profile: ## record where analyze spends its time on the shapes of make bench, by which the compiler arranges the program
	mkdir -p build/profile
	set -e; for shape in $(PROFILED); do go run ./bench -shape $$shape -mb 60 -keep build/profile/$$shape.tgz; done
	go vet -tags profile ./cmd/plegdiag
	go test -trimpath -tags profile -run TestProfile -count 1 ./cmd/plegdiag -args $(CURDIR)/cmd/plegdiag/default.pgo $(PROFILED:%=$(CURDIR)/build/profile/%.tgz)

# Tests of collect and mcp run for minutes and write nothing; so do those that -short passes over.
golden: ## rewrite what the tests expect; then read the diff
	@go test ./internal/rules/catalog -update # first: all others load the rules from what it writes
	@go test ./internal/schema -update # others compare with the schemas
	@set -e; for dir in $$(grep -rlE --include='*_test.go' 'flag.Bool\("update"|plegdiag/internal/[a-z]+/(parse|observe)test"' . | xargs -n1 dirname | sort -u); do \
		go test $$dir -short -skip '^Test(Collect|MCP)' -update; \
	done
