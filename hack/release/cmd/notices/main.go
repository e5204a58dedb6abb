// Command notices prints the licenses of the modules that are linked into a program of
// this checkout, compiled for the current platform. The output of `make release` and
// `make image` already contains them; this command is for deploy/Dockerfile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/evenkeel/evenkeel/hack/release/build"
	"github.com/evenkeel/evenkeel/hack/release/notices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, output io.Writer) error {
	flags := flag.NewFlagSet("notices", flag.ContinueOnError)
	flags.SetOutput(output)
	name := flags.String("program", "evenkeel", "Program: evenkeel or kube-scheduler.")
	source := flags.String("source", "../..", "Folder of the checkout.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("arguments %q: there are only flags", flags.Args())
	}
	program, err := build.Named(*name)
	if err != nil {
		return err
	}
	linked, err := build.Source{Dir: *source}.Linked(ctx, program, build.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH})
	if err != nil {
		return err
	}
	text, err := notices.Of(linked)
	if err != nil {
		return err
	}
	_, err = output.Write(text)
	return err
}
