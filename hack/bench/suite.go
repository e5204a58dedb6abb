package main

// entry is something to run that prints lines in Go's benchmark format: the
// benchmarks of a package, or a command.
type entry struct {
	// name is what --only selects by.
	name string
	// pkg is the package that is measured, or the command's, relative to the
	// module.
	pkg string
	// pattern selects benchmarks of the package, quick those of a quick run;
	// without quick the entry is left out of it.
	pattern, quick string

	// build and command are the command lines of a measurement of whole
	// processes, in the folder dir.
	dir     string
	build   []string
	command string
	// rounds is the command's flag for making all rounds by itself; without it,
	// it is run once, because it takes long and its figures hardly differ.
	rounds string
}

// suite is all that is measured, whole processes last.
var suite = []entry{
	{
		name: "extender", pkg: steering,
		pattern: "^(BenchmarkLoopback|BenchmarkWholeNodes)$/^(filter|prioritize)$/^(names|nodes)=(500|5000)$",
		quick:   "^BenchmarkLoopback$/^(filter|prioritize)$/^names=500$",
	},
	{
		name: "observation", pkg: observing,
		pattern: "^BenchmarkSample$/^nodes=(100|5000)$",
		quick:   "^BenchmarkSample$/^nodes=100$",
	},
	{
		name: "pure-plan", pkg: purePlanning,
		pattern: "^BenchmarkPlan$/^(room|crowded|full)$/^nodes=5000$",
		quick:   "^BenchmarkPlan$/^room$/^nodes=100$",
	},
	{
		name: "plan", pkg: planning,
		pattern: "^BenchmarkPlan$/^plain$/^nodes=(100|5000)$|^BenchmarkPlan$/^mixed$/^nodes=5000$/^(evenkeel|incremental)$",
		quick:   "^BenchmarkPlan$/^plain$/^nodes=100$",
	},
	{
		name: "footprint", pkg: memory,
		build:   []string{"go build -o bin/ ./cmd/evenkeel ./hack/footprint"},
		command: "bin/footprint --bench",
	},
	{
		name: "throughput", pkg: throughput, dir: "test/cluster",
		build:   []string{"go build -o ../../bin/throughput ./cmd/throughput"},
		command: "../../bin/throughput --bench", rounds: "--rounds",
	},
}
