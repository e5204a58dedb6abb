package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/commands"
)

func newLintCommand() *cobra.Command {
	var options commands.LintOptions
	c := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check policies of today's or an earlier form, and say in words what they do",
		Long: "Needs no cluster. Mistakes end with exit code 2, with --strict warnings too.\n" +
			"Whether priority classes exist is not checked; `evenkeel doctor` checks a policy against a cluster.",
		Example: "  evenkeel lint policy.yaml\n  evenkeel lint --strict -o json deploy/*.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, files []string) error {
			options.Files = append(options.Files, files...)
			return commands.Lint(options, c.InOrStdin(), c.OutOrStdout(), time.Now())
		},
	}
	c.Flags().StringArrayVarP(&options.Files, "filename", "f", nil, "File to check, beside those named without a flag; - is the standard input.")
	c.Flags().StringVarP(&options.Format, "output", "o", "text", "Output format: "+commands.LintFormats+".")
	c.Flags().BoolVar(&options.Strict, "strict", false, "Take warnings for errors.")
	return c
}
