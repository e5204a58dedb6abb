// Command evenkeel balances Kubernetes nodes by real usage. Each file defines one group
// of commands: those that only inspect, those that read files, and those that keep
// running, which internal/app implements.
package main

import (
	"os"

	build "github.com/prometheus/common/version"
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run()) }

func run() int {
	build.Version = version // for the metric evenkeel_build_info
	return program().Run(os.Args[0], process.WithGoFlags(os.Args[1:]))
}

// lasting holds the commands that finish their current work before they stop.
var lasting = []string{"run", "serve", "extender", "nodesync"}

func program() cli.Program {
	return cli.Program{
		Short:   "Balances Kubernetes nodes by real usage: moves pods off hot nodes and steers new pods to cool ones",
		Version: version,
		Commands: []*cobra.Command{
			newRunCommand(), newExtenderCommand(), newServeCommand(), newPlanCommand(), newTopCommand(), newRequestsCommand(), newUICommand(),
			newNodeSyncCommand(), newCleanupCommand(), newDoctorCommand(), newExplainCommand(), newHistoryCommand(),
			newSimulateCommand(), newRecordCommand(), newConvertCommand(), newLintCommand(), newCertificatesCommand(),
		},
		Quiet:   []string{"plan", "explain"},
		Lasting: lasting,
	}
}

func newRoot() *cobra.Command { return program().Root("evenkeel") }
