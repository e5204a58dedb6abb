package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/commands"
	"github.com/evenkeel/evenkeel/internal/migration"
)

func newConvertCommand() *cobra.Command {
	var options commands.ConvertOptions
	c := &cobra.Command{
		Use:   "convert",
		Short: "Bring a file of an earlier system into today's form, with a comment at each change",
		Long: "Reads " + migration.Help + ", also inside of ConfigMaps, and writes what takes its place.\n" +
			"In Jobs and Deployments that run an earlier system comments say what to change. Everything else stays as it is.",
		Example: "  evenkeel convert -f policy-v1alpha1.yaml -o policy.yaml\n" +
			"  kubectl get configmap descheduler-policy-configmap -n kube-system -o yaml | evenkeel convert",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Convert(options, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVarP(&options.From, "filename", "f", commands.Standard, "File to convert; - is the standard input.")
	c.Flags().StringVarP(&options.To, "output", "o", commands.Standard, "File to write; - is the standard output.")
	return c
}
