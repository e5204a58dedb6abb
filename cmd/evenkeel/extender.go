package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
)

func newExtenderCommand() *cobra.Command {
	var options app.Options
	c := &cobra.Command{
		Use:   "extender",
		Short: "Answer kube-scheduler's filter and prioritize requests; never evict",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return app.Extender(c.Context(), options) },
	}
	options.AddCommon(c.Flags())
	options.AddMetrics(c.Flags())
	options.AddExtender(c.Flags())
	c.Flags().BoolVar(&options.Observe, "observe", false, "Change nothing: answer neutrally, and compare where kube-scheduler puts pods with what it would have been told.")
	return c
}
