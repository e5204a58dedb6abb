package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/commands"
)

func newRecordCommand() *cobra.Command {
	var options app.Options
	var record commands.RecordOptions
	c := &cobra.Command{
		Use:   "record",
		Short: "Write what nodes, pods and usage of a cluster do into a file that simulate replays; changes nothing",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Record(c.Context(), options, record, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	record.AddTo(c.Flags())
	return c
}
