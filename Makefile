# Tools run by version through `go run`, so that go.mod lists only what ships.
STATICCHECK   = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT       = go run mvdan.cc/gofumpt@v0.12.0

FUZZTIME ?= 30s
BENCH    ?=
CLUSTER  ?=

.PHONY: build test check lint race oracle fleet-engines inspector fuzz browser lab lab-full bench golden cluster fleet guest cluster-down

build: ## the program, as ./plegdiag
	go build -o plegdiag ./cmd/plegdiag

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

race: ## needs a C compiler
	CGO_ENABLED=1 go test -race -timeout 30m ./...

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
	@set -e; log=$$(mktemp); for pkg in $$(go list ./...); do \
		listed=$$(go test -list '^Fuzz' $$pkg); \
		for target in $$(echo "$$listed" | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; \
			if ! go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg >$$log 2>&1; then \
				cat $$log; \
				grep -q '^    context deadline exceeded' $$log || exit 1; \
				if grep -q 'ailing input' $$log; then exit 1; fi; \
			fi; \
			tail -n 1 $$log; \
		done; \
	done; rm $$log

bench: ## analyze against gzip -dc on bundles of all shapes, and how each grows (docs/performance.md); flags in BENCH, as BENCH="-mb 30"
	go run ./bench $(BENCH)

golden: ## rewrite what the tests expect; then read the diff
	@set -e; for dir in $$(grep -rlE --include='*_test.go' 'flag.Bool\("update"|plegdiag/internal/[a-z]+/(parse|observe)test"' . | xargs -n1 dirname | sort -u); do \
		go test $$dir -update; \
	done
