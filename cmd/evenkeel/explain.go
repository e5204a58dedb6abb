package main

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/commands"
)

func newExplainCommand() *cobra.Command {
	var options app.Options
	var wanted commands.ExplainOptions
	c := &cobra.Command{
		Use:   "explain {node NAME | pod NAMESPACE/NAME}",
		Short: "Say why a node is hot or not and why a pod would be moved, where to, or not",
		Example: "  evenkeel explain node worker-3 --policy-config-file policy.yaml\n" +
			"  evenkeel explain pod shop/web-7d9f-abcde --extender-url http://127.0.0.1:8888",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, words []string) error {
			wanted.Progress = c.ErrOrStderr()
			return commands.Explain(c.Context(), options, wanted, words, c.OutOrStdout())
		},
	}
	options.AddCommon(c.Flags())
	c.Flags().StringVarP(&wanted.Format, "output", "o", "table", "Output format: "+commands.Formats+".")
	c.Flags().StringVar(&wanted.ExtenderURL, "extender-url", "", "URL of a running extender or serve process to ask; without it this command observes and plans itself.")
	return c
}
