// Package workshop is shared by commands that start a cluster on this machine and run
// something on it. It determines how they end and where they build and log, and ensures
// that nothing is left running.
package workshop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster"
)

const (
	// NodeCores is the number of cores of each node of AddNodes.
	NodeCores = 32
	// NodeGiB is the memory of each of them.
	NodeGiB = 256
)

// Main runs a command until it ends or is interrupted, prints its error on
// standard error, and returns the exit code.
func Main(name string, run func(context.Context) error) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, name+": "+err.Error())
		return 1
	}
	return 0
}

// Command returns a command that has no arguments or flags yet. run writes its result to
// out and its progress to progress.
func Command(name, short string, run func(ctx context.Context, out, progress io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use:           name,
		Short:         short,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
}

// Workshop is a folder with logs, and the processes that write them.
type Workshop struct {
	// BinDir is the folder of the binaries.
	BinDir string
	// Dir is the folder with logs. Start sets Dir and Cluster.
	Dir     string
	Cluster *cluster.Cluster

	name     string
	progress io.Writer
	stops    []func() error
}

// Open builds the cluster's binaries.
func Open(ctx context.Context, name string, progress io.Writer) (*Workshop, error) {
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return nil, err
	}
	return &Workshop{BinDir: binDir, name: name, progress: progress}, cluster.Build(ctx, binDir, progress)
}

// Start makes the folder for logs and starts the cluster, with binaries and state in the
// workshop. The processes run until the context ends.
func (w *Workshop) Start(ctx context.Context, options cluster.Options) (err error) {
	if err := w.makeDir(); err != nil {
		return err
	}
	w.Tell("Starting a cluster; logs are in %s.", w.Dir)
	options.BinDir, options.StateDir = w.BinDir, filepath.Join(w.Dir, "cluster")
	if w.Cluster, err = cluster.Start(ctx, options); err == nil {
		w.OnClose(w.Cluster.Stop)
	}
	return err
}

func (w *Workshop) makeDir() (err error) {
	if w.Dir, err = os.MkdirTemp("", "evenkeel-"+w.name+"-"); err != nil {
		return fmt.Errorf("making a folder for logs: %w", err)
	}
	return nil
}

// AddNodes adds identical nodes and returns their names.
func (w *Workshop) AddNodes(ctx context.Context, count int) ([]string, error) {
	return w.Cluster.AddNodes(ctx, count, cluster.NodeTemplate{CPU: fmt.Sprint(NodeCores), Memory: fmt.Sprintf("%dGi", NodeGiB)})
}

// Tell prints a line about progress.
func (w *Workshop) Tell(format string, args ...any) { fmt.Fprintf(w.progress, format+"\n", args...) }

// OnClose registers a function for Close to call.
func (w *Workshop) OnClose(stop func() error) { w.stops = append(w.stops, stop) }

// Close calls all functions of OnClose in reverse order, even if some of them fail.
func (w *Workshop) Close() error {
	var errs []error
	for _, stop := range slices.Backward(w.stops) {
		errs = append(errs, stop())
	}
	w.stops = nil
	return errors.Join(errs...)
}

// CleanUp removes the logs unless keep is set or there was an error. It adds the location
// of the logs to the error.
func (w *Workshop) CleanUp(err error, keep bool) error {
	switch {
	case w.Dir == "":
		return err
	case err != nil:
		return fmt.Errorf("%w; logs are in %s", err, w.Dir)
	case keep:
		w.Tell("Logs are in %s.", w.Dir)
		return nil
	}
	return os.RemoveAll(w.Dir)
}
