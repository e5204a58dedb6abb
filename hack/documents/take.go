package documents

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stand maps placeholders that Evenkeel would not accept to valid values.
var stand = map[string]string{"COMMAND": "plan", "D": "1h", "N": "1", "TAB": ""}

// Take parses a command line up to the point where it would run, and returns
// its command with the flags set. Commands mentioned in running text need not
// be complete.
func Take(root *cobra.Command, args []string, mention bool) (*cobra.Command, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		if value, is := stand[arg]; is {
			args[i] = value
		}
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "" })
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(args)
	if err != nil {
		return root, err
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := c.ParseFlags(rest); err != nil {
		if _, missing := errors.AsType[*pflag.ValueRequiredError](err); missing && mention {
			return c, nil
		}
		return c, c.FlagErrorFunc()(c, err)
	}
	if mention && c.HasParent() { // arguments that remain for the root command are not the name of a command
		return c, nil
	}
	return c, errors.Join(c.ValidateArgs(c.Flags().Args()), c.ValidateRequiredFlags(), c.ValidateFlagGroups())
}
