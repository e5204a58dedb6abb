package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// simulator is the program that simulates and records. It is a separate module, so that
// the program that runs in a cluster does not contain its code.
const simulator = "evenkeel-sim"

func newSimulateCommand() *cobra.Command {
	return simulatorCommand("simulate", "Replay recorded usage and compare policies offline")
}

func newRecordCommand() *cobra.Command {
	return simulatorCommand("record", "Record node, pod and usage activity for `simulate --recording` (read-only)")
}

// simulatorCommand returns a placeholder for a command of the simulator, which itself
// handles flags, help and completion.
func simulatorCommand(name, short string) *cobra.Command {
	c := &cobra.Command{
		Use:                name,
		Short:              short,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return becomeSimulator(name) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cobra.CompErrorln(becomeSimulator(name).Error())
			return nil, cobra.ShellCompDirectiveError
		},
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		c.PrintErrln("evenkeel: " + becomeSimulator(name).Error())
		os.Exit(exit.Misuse)
	})
	return c
}

// becomeSimulator replaces this process with the simulator and passes it the same command
// line, for example `simulate --trace a.csv`, `help simulate` or the shell's request for
// a completion. It returns only if that fails.
func becomeSimulator(command string) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%s: looking for %s: %w", command, simulator, err)
	}
	path, err := findSimulator(own)
	if err != nil {
		return exit.Usagef("%s: %w", command, err)
	}
	if err := syscall.Exec(path, os.Args, os.Environ()); err != nil {
		return fmt.Errorf("%s: running %s: %w", command, path, err)
	}
	return nil
}

// findSimulator looks for the simulator next to this program, where archives and images
// have it, and then in PATH. It follows links to this program, such as krew's.
func findSimulator(own string) (string, error) {
	if followed, err := filepath.EvalSymlinks(own); err == nil {
		own = followed
	}
	folder := filepath.Dir(own)
	if path, err := exec.LookPath(filepath.Join(folder, simulator)); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(simulator)
	if err != nil {
		return "", fmt.Errorf("the program %s is neither in %s nor in PATH; every archive and image of evenkeel includes it, and `make build` compiles it", simulator, folder)
	}
	return path, nil
}
