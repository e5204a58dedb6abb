// Command evenkeel-sim replays recorded usage in virtual time and compares policies, and
// records clusters for replays. `evenkeel simulate` and `evenkeel record` run it.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/cli"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/sim/commands"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(program().Run(os.Args[0], os.Args[1:])) }

func program() cli.Program {
	return cli.Program{
		Short:    "Records what pods use, and replays it to compare policies",
		Version:  version,
		Commands: []*cobra.Command{newSimulateCommand(), newRecordCommand()},
		Lasting:  []string{"record"},
	}
}

func newSimulateCommand() *cobra.Command {
	options := commands.NewSimulateOptions()
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Replay recorded usage and compare policies offline",
		Args:  cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options.Notes = c.ErrOrStderr()
			return commands.Simulate(c.Context(), options, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	options.Version = version
	options.AddTo(c.Flags())
	return c
}

func newRecordCommand() *cobra.Command {
	options := flags.Options{Converters: []policy.Converter{compat.Convert}}
	var record commands.RecordOptions
	c := &cobra.Command{
		Use:   "record",
		Short: "Record node, pod and usage activity for `simulate --recording` (read-only)",
		Args:  cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			record.Progress = c.ErrOrStderr()
			return commands.Record(c.Context(), options, record, c.OutOrStdout())
		},
	}
	options.AddLooking(c.Flags())
	record.AddTo(c.Flags())
	return c
}
