package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// displayNames maps the names of binaries to the program names that help shows. kubectl
// runs its plugins under different names.
var displayNames = map[string]string{"kubectl-evenkeel": "kubectl evenkeel", "evenkeel-sim": "evenkeel-sim"}

// nameAfter makes the commands' help use the name by which the program was
// called.
func nameAfter(root *cobra.Command, binary string) {
	const before = "evenkeel"
	after := displayNames[strings.TrimSuffix(filepath.Base(binary), ".exe")]
	if after == "" {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: after}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, before+" "+c.Name(), after+" "+c.Name())
	}
	replace := strings.NewReplacer(names...).Replace
	for _, c := range root.Commands() {
		c.Short, c.Long, c.Example = replace(c.Short), replace(c.Long), replace(c.Example)
	}
}

// ofAll is appended to the help of each command.
const ofAll = `
Use "{{.Root.CommandPath}} options" for the logging flags, which all commands have.
`

// newVersionCommand returns the version command that users of kubectl and the descheduler
// expect.
func newVersionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s version %s\n", c.Root().DisplayName(), c.Root().Version)
		return err
	}}
}

func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that all commands have",
		Args:  NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			shown := pflag.NewFlagSet("options", pflag.ContinueOnError)
			c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
				flag := *f
				flag.Hidden = false
				shown.AddFlag(&flag)
			})
			fmt.Fprintf(c.OutOrStdout(), "These flags may be given to any command:\n\n%s", shown.FlagUsages())
			return nil
		},
	}
}
