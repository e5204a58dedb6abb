# Everything a developer types. CI calls `make test` and nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
CLUSTER := test/cluster
# The program that makes nodes with real kubelets, and what they run.
NODE := $(CLUSTER)/evenkeel-node
# What makes images and releases is a module of its own.
RELEASE := hack/release
# The simulator, which drives the product's packages and is none of them.
SIM := sim

# Run at a version of its own, so that its dependencies stay out of ours.
GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

GOVULNCHECK_VERSION := v1.9.0
BENCHSTAT := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# What runs concurrently is tested with the race detector, which needs a C
# compiler, and nothing is tested both with it and without, but packages with
# files that the race detector leaves out. The rest has no goroutines of ours, or
# costs minutes to instrument because it compiles kube-scheduler in.
RACE_PACKAGES := ./cluster/... ./evictor/... ./observe/observer/... ./observe/usage/... ./ledger/... ./scorer/...
RACE := $(if $(shell command -v gcc),-race)
# Relative to test/cluster: what needs a cluster is left to test-e2e, and what
# needs a browser that is not kept waiting to test-browser.
NEEDS_CLUSTER := /test/cluster/(e2e.*|cmd/demo|cmd/throughput|browser|rig)$$

# What go test vets by itself, dependencies included, vet has vetted. Parallel tests
# wait for usage or for the network more than for a processor.
TEST_FLAGS ?= -shuffle=on -vet=off -parallel=8
# Which end-to-end cases are run, and how; see `go run ./cmd/e2e --help`.
E2E_TIER ?= test
E2E_FLAGS ?=
# The releases that the core cases run on: those of test/cluster/versions, and
# that of test/cluster/go.mod.
MATRIX ?= 1.34 1.35 1.36 1.37
FUZZ_TIME ?= 30s
BENCH ?= .
BENCH_FLAGS ?=
NEW ?= bin/bench.txt
FOOTPRINT_FLAGS ?=
IMAGE_FLAGS ?=
RELEASE_FLAGS ?=
SOAK_FLAGS ?=
STEERING ?= extender
THROUGHPUT_FLAGS ?=
TRANSCRIPT_FLAGS ?=

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Compile bin/evenkeel and bin/evenkeel-sim, which it runs for simulate and record.
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/evenkeel ./cmd/evenkeel
	cd $(SIM) && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(CURDIR)/bin/evenkeel-sim ./cmd/evenkeel-sim

.PHONY: build-scheduler
build-scheduler: ## Compile bin/kube-scheduler, the stock one with Evenkeel's plugin.
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" \
	  -o bin/kube-scheduler ./cmd/kube-scheduler

.PHONY: image
image: ## Write the container image to bin/image, an OCI layout; docs/release.md says how to push it.
	cd $(RELEASE) && go run ./cmd/image --version '$(VERSION)' --source $(CURDIR) --out $(CURDIR)/bin/image $(IMAGE_FLAGS)

.PHONY: image-scheduler
image-scheduler: ## Write the second scheduler's image to bin/image-scheduler.
	cd $(RELEASE) && go run ./cmd/image --program kube-scheduler --version '$(VERSION)' --source $(CURDIR) --out $(CURDIR)/bin/image-scheduler $(IMAGE_FLAGS)

# The chart, where there is one, with the version as Helm wants it.
CHART = $(if $(wildcard charts/evenkeel/Chart.yaml),bin/evenkeel-$(VERSION:v%=%).tgz)

.PHONY: release
release: ## Write the release VERSION=v1.2.3 to bin/release; docs/release.md says how to sign and publish it.
	@[[ '$(origin VERSION)' != file ]] || { echo 'VERSION=v1.2.3: the version to release'; exit 2; }
	$(if $(CHART),$(MAKE) chart)
	cd $(RELEASE) && go run ./cmd/release --version '$(VERSION)' --source $(CURDIR) --out '$(CURDIR)/bin/release/$(VERSION)' \
	  $(if $(CHART),--chart '$(CURDIR)/$(CHART)') $(RELEASE_FLAGS)

.PHONY: demo
demo: ## Watch Evenkeel cool two hot nodes on a local cluster; STEERING=admission or webhook: without an extender; UI=1: keep its page; DASHBOARD=1: list panels without data.
	cd $(CLUSTER) && go run ./cmd/demo --steering $(STEERING) $(if $(UI),--ui) $(if $(DASHBOARD),--dashboard)

.PHONY: transcript
transcript: ## Write docs/transcript.md: what a new user types and sees on a local cluster, with times.
	cd $(CLUSTER) && go run ./cmd/transcript $(TRANSCRIPT_FLAGS)

.PHONY: cluster-up
cluster-up: ## Start a local cluster that stays until cluster-down.
	cd $(CLUSTER) && go run ./cmd/cluster up --detach

.PHONY: cluster-up-real
cluster-up-real: ## Start one whose three nodes have real kubelets and containers, as root.
	cd $(CLUSTER) && go run ./cmd/cluster up --kubelets real --detach

.PHONY: cluster-down
cluster-down: ## Stop the local cluster.
	cd $(CLUSTER) && go run ./cmd/cluster down

.PHONY: check
check: vet lint test-unit ## Run what needs no cluster: vet, lint and unit tests, in some minutes.

.PHONY: test
test: vet lint test-unit chart-test test-e2e ## Run all checks and tests; the first time builds a control plane.

.PHONY: test-all
test-all: vet lint test-unit chart-test ## Run the cases that test leaves out too, and each fuzz target for ten seconds.
	$(MAKE) test-e2e E2E_TIER=all
	$(MAKE) test-matrix
	$(MAKE) test-browser
	$(MAKE) fuzz FUZZ_TIME=10s

.PHONY: vet
vet: ## Run go vet on all modules.
	go vet ./...
	cd $(SIM) && go vet ./...
	cd $(CLUSTER) && go vet ./...
	cd $(NODE) && go vet ./...
	cd $(RELEASE) && go vet ./...

.PHONY: lint
lint: ## Run golangci-lint on all modules.
	$(GOLANGCI_LINT) run ./...
	cd $(SIM) && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...
	cd $(CLUSTER) && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...
	cd $(NODE) && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...
	cd $(RELEASE) && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...

.PHONY: lint-package
lint-package: ## Run golangci-lint on PACKAGE of the main module, such as ./ledger/...
	$(GOLANGCI_LINT) run $(PACKAGE)

.PHONY: test-unit
test-unit: ## Run unit and property tests, with the race detector where it matters.
ifdef RACE
	go test $(TEST_FLAGS) $$(go list ./... | grep -vxF "$$(go list $(RACE_PACKAGES))")
	go test $(TEST_FLAGS) $(RACE) $(RACE_PACKAGES)
	go test $(TEST_FLAGS) $$(grep -rl --include='*_test.go' --exclude-dir=_build '^//go:build !race' . | xargs -n1 dirname | sort -u)
else
	@echo 'no gcc: the race detector is left out'
	go test $(TEST_FLAGS) ./...
endif
	cd $(SIM) && go test $(TEST_FLAGS) ./...
	cd $(CLUSTER) && go test $(TEST_FLAGS) $$(go list ./... | grep -vE '$(NEEDS_CLUSTER)')
	cd $(NODE) && go test $(TEST_FLAGS) ./...
	cd $(RELEASE) && go test $(TEST_FLAGS) ./...

.PHONY: test-e2e
test-e2e: chart-tools ## Run the end-to-end cases of E2E_TIER (test) on real local control planes.
	cd $(CLUSTER) && go run ./cmd/e2e --tier $(E2E_TIER) $(E2E_FLAGS)

.PHONY: test-browser
test-browser: ## Test the page of the report listener in Chromium.
	cd $(CLUSTER) && go test $(TEST_FLAGS) ./browser

.PHONY: test-matrix
test-matrix: chart-tools ## Run the core cases on each Kubernetes of MATRIX; the first time builds each control plane.
	@failed=; for release in $(MATRIX); do \
	  (cd $(CLUSTER) && go run ./cmd/e2e --tier matrix --kubernetes $$release $(E2E_FLAGS)) || failed+=" $$release"; \
	done; test -z "$$failed" || { echo "core cases failed on Kubernetes$$failed"; exit 1; }

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZ_TIME (30s).
	@failed=; while read -r dir name; do \
	  (cd "$$dir" && go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime 10x . </dev/null) || failed+=" $$dir:$$name"; \
	done < <(grep -r --include='*_test.go' '^func Fuzz' . | sed 's|/[^/]*:func | |; s|(.*||' | sort); \
	test -z "$$failed" || { echo "fuzz targets failed:$$failed"; exit 1; }

.PHONY: bench
bench: ## Print each figure beside its floor or rival, and fail if a goal is missed; see docs/benchmarks.md.
	go build -o bin/benchtable ./hack/bench
	bin/benchtable $(BENCH_FLAGS)

.PHONY: bench-compare
bench-compare: ## Compare the runs OLD and NEW (bin/bench.txt) with benchstat.
	@test -n '$(OLD)' || { echo 'OLD=file: a saved copy of an earlier bin/bench.txt'; exit 2; }
	$(BENCHSTAT) $(OLD) $(NEW)

.PHONY: bench-go
bench-go: ## Run all Go benchmarks that match BENCH (all).
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...
	cd $(SIM) && go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: footprint
footprint: ## Measure the memory of extender and serve at 5,000 nodes against bare informers (Linux).
	go build -o bin/ ./cmd/evenkeel ./hack/footprint
	bin/footprint $(FOOTPRINT_FLAGS)

.PHONY: throughput
throughput: ## Measure kube-scheduler's pods per second with and without Evenkeel at 1,000 nodes.
	cd $(CLUSTER) && go run ./cmd/throughput $(THROUGHPUT_FLAGS)

.PHONY: soak
soak: ## Run Evenkeel for an hour under changing usage and measure it; see docs/soak.md.
	cd $(CLUSTER) && go run ./cmd/soak $(SOAK_FLAGS)

.PHONY: fmt
fmt: ## Format the sources of all modules.
	$(GOLANGCI_LINT) fmt ./...
	cd $(SIM) && $(GOLANGCI_LINT) fmt --config $(CURDIR)/.golangci.yml ./...
	cd $(CLUSTER) && $(GOLANGCI_LINT) fmt --config $(CURDIR)/.golangci.yml ./...
	cd $(NODE) && $(GOLANGCI_LINT) fmt --config $(CURDIR)/.golangci.yml ./...
	cd $(RELEASE) && $(GOLANGCI_LINT) fmt --config $(CURDIR)/.golangci.yml ./...

.PHONY: update
update: update-docs update-deploy update-chart ## Write all files that are made from the sources.

.PHONY: update-docs
update-docs: ## Write the references in docs and the schemas: the policy, flags, reasons, metrics. Needs no helm.
	go run ./hack/policyref
	go run ./hack/chartref
	go test ./cmd/evenkeel -run TestFlagsReference -update
	go test -C $(SIM) ./cmd/evenkeel-sim -run TestFlagsReference -update
	go test ./reasons -run TestReasonsReference -update
	go test ./internal/app -run TestMetricsReference -update

.PHONY: update-deploy
update-deploy: ## Bring deploy/'s ConfigMap to policy.yaml.
	hack/update-deploy.sh

.PHONY: chart-tools
chart-tools: bin/helm bin/helm-unittest

# At the versions of hack/charttools, which keeps what they depend on out of ours.
bin/helm bin/helm-unittest &: hack/charttools/go.mod hack/charttools/go.sum
	go build -C hack/charttools -trimpath -o $(CURDIR)/bin/ helm.sh/helm/v3/cmd/helm github.com/helm-unittest/helm-unittest/cmd/helm-unittest

.PHONY: update-chart
update-chart: chart-tools ## Bring the Helm chart to deploy/ and to the comments of its values.yaml.
	go run ./hack/chartref
	hack/render-chart.sh charts/evenkeel/testdata
	bin/helm-unittest --update-snapshot charts/evenkeel

.PHONY: chart-test
chart-test: chart-tools ## Lint the Helm chart with each of its ci values, and run its unit tests.
	for values in charts/evenkeel/ci/*-values.yaml; do bin/helm lint --strict --quiet --kube-version 1.36.0 charts/evenkeel --values "$$values"; done
	bin/helm-unittest --strict charts/evenkeel
	go test $(TEST_FLAGS) ./hack/chartref

# The version as Helm wants it: v1.2.3 is 1.2.3, and what has no tag is 0.0.0.
CHART_VERSION ?= $(shell echo '$(VERSION)' | sed -E 's/^v//; /^[0-9]+\.[0-9]+\.[0-9]+/! s/^/0.0.0-g/')

.PHONY: chart
chart: chart-tools ## Package the Helm chart into bin, with the version of the binary.
	bin/helm package charts/evenkeel --destination bin --version '$(CHART_VERSION)' --app-version '$(VERSION)'

.PHONY: update-releases
update-releases: ## Bring test/cluster/versions to what each release's control plane requires.
	hack/update-releases.sh

.PHONY: verify-fmt
verify-fmt:
	$(GOLANGCI_LINT) fmt --diff ./...
	cd $(SIM) && $(GOLANGCI_LINT) fmt --diff --config $(CURDIR)/.golangci.yml ./...
	cd $(CLUSTER) && $(GOLANGCI_LINT) fmt --diff --config $(CURDIR)/.golangci.yml ./...
	cd $(NODE) && $(GOLANGCI_LINT) fmt --diff --config $(CURDIR)/.golangci.yml ./...
	cd $(RELEASE) && $(GOLANGCI_LINT) fmt --diff --config $(CURDIR)/.golangci.yml ./...

.PHONY: verify-tidy
verify-tidy:
	go mod tidy -diff
	cd $(SIM) && go mod tidy -diff
	cd $(CLUSTER) && go mod tidy -diff
	cd $(NODE) && go mod tidy -diff
	cd hack/charttools && go mod tidy -diff
	cd $(RELEASE) && go mod tidy -diff

.PHONY: verify-vuln
verify-vuln:
	hack/govulncheck.sh $(GOVULNCHECK_VERSION)

.PHONY: verify
verify: verify-fmt verify-tidy verify-vuln vet lint ## Check everything that needs no test run.
