package main

// entry is a benchmark package or a command that prints lines in Go's benchmark format. A
// command can also run another module's benchmarks.
type entry struct {
	// name is matched by --only.
	name string
	// pkg is the measured package, or the package of the command, relative to the module.
	pkg string
	// pattern selects benchmarks of the package, quick those of a quick run. A quick run
	// skips entries without quick.
	pattern, quick string

	// build and command are the command lines for measuring whole processes in the folder
	// dir.
	dir     string
	build   []string
	command string
	// rounds is the command's flag for the number of rounds. Commands without such a flag
	// run once, because they take long and their figures hardly vary.
	rounds string
}

// suite lists all measurements, with whole processes last.
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
		pattern: "^BenchmarkPlan$/^plain$/^nodes=(100|5000)$|^BenchmarkPlan$/^mixed$/^nodes=5000$/^(evenkeel|incremental)$|^BenchmarkPlan$/^demanding$/^nodes=15000$",
		quick:   "^BenchmarkPlan$/^plain$/^nodes=100$",
	},
	{
		name: "replays", pkg: replaying, dir: "sim",
		command: "go test -run ^$ -bench . -benchtime 1x -timeout 0 ./commands",
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
