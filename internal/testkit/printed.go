package testkit

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// Printed runs a command and returns what it prints.
func Printed(ctx context.Context, command *cobra.Command, args ...string) ([]byte, error) {
	var out, notes bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&notes)
	command.SetArgs(args)
	command.SilenceUsage = true // as the root command does
	if err := command.ExecuteContext(ctx); err != nil {
		return out.Bytes(), fmt.Errorf("%q: %w\n%s%s", args, err, out.String(), notes.String())
	}
	return out.Bytes(), nil
}
