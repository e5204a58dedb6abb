package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/commands"
)

func newDoctorCommand() *cobra.Command {
	var options app.Options
	var wanted commands.DoctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check policy, permissions, usage sources and kube-scheduler's wiring, and say how to mend what is wrong",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Doctor(c.Context(), options, wanted, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+commands.Formats+".")
	c.Flags().StringVar(&wanted.Mode, "mode", "serve", "Command whose process is checked: run, serve, extender or nodesync.")
	c.Flags().StringVar(&wanted.Prometheus, "prom", "", "With --mode nodesync: URL of Prometheus, in place of the address in the policy.")
	c.Flags().StringVar(&wanted.As, "as", "", "Whose permissions to check, such as system:serviceaccount:evenkeel:evenkeel; without it those of the caller.")
	c.Flags().StringVar(&wanted.ExtenderURL, "extender-url", "", "URL of the extender, to ask whether kube-scheduler asks it.")
	c.Flags().StringVar(&wanted.SchedulerConfig, "scheduler-config", "", "File with kube-scheduler's configuration, to check its extenders entry.")
	return c
}
