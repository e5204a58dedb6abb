package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// workplace holds the folders that are used.
type workplace struct {
	release cluster.Release
	// module is the folder of this module, binDir the folder for the binaries, temp the
	// folder for temporary files.
	module, binDir, temp string
}

// build compiles everything before the first case, so that no case waits for a compiler
// or runs at the same time as one.
func build(ctx context.Context, module string, release cluster.Release, tasks []tiers.Case, progress io.Writer) (w workplace, err error) {
	w.release, w.module = release, module
	if w.binDir, err = release.BinDir(ctx); err != nil {
		return w, err
	}
	if err := release.Build(ctx, w.binDir, progress); err != nil {
		return w, err
	}
	if _, err := evenkeel.Build(ctx, w.binDir); err != nil {
		return w, err
	}
	if err := evenkeel.BuildSimulator(ctx, w.binDir); err != nil {
		return w, err
	}
	if needsKubelets(release, tasks) {
		if err := kubelets.Unable(); err != nil {
			fmt.Fprintf(progress, "%v; its cases are skipped\n", err)
		} else if err := cluster.BuildNodes(ctx, w.binDir, progress); err != nil {
			return w, err
		}
	}
	// The plugin is compiled only into the default release's kube-scheduler.
	if release == cluster.DefaultRelease {
		if _, err := evenkeel.BuildScheduler(ctx, w.binDir); err != nil {
			return w, err
		}
	}
	if err := w.compile(ctx, tasks, progress); err != nil {
		return w, err
	}
	if w.temp, err = os.MkdirTemp(scratch(), "evenkeel-e2e-"); err != nil {
		return w, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	return w, nil
}

// needsKubelets reports whether any case needs real kubelets, which exist only for the
// default release.
func needsKubelets(release cluster.Release, tasks []tiers.Case) bool {
	return release == cluster.DefaultRelease && slices.ContainsFunc(tasks, func(c tiers.Case) bool { return c.Package == "e2e/realkubelets" })
}

// Temporary files are kept in memory if there is enough of it.
const (
	inMemory    = "/dev/shm"
	minInMemory = 8 << 30 // in bytes; the lanes write about 2 GiB
)

// scratch returns the folder for temporary files; "" means the default. A disk is slow
// for minutes after a build, and every API server waits for its etcd to write.
func scratch() string {
	var room syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(inMemory, &room) != nil {
		return ""
	}
	if room.Bavail*uint64(room.Bsize) < minInMemory {
		return ""
	}
	return inMemory
}

// compile compiles the test binary of each package.
func (w *workplace) compile(ctx context.Context, tasks []tiers.Case, progress io.Writer) error {
	if err := os.MkdirAll(w.tests(), 0o755); err != nil {
		return fmt.Errorf("making the folder for test binaries: %w", err)
	}
	arguments := []string{"test", "-c", "-o", w.tests() + string(filepath.Separator)}
	for _, task := range tasks {
		if name := "./" + task.Package; !slices.Contains(arguments, name) {
			arguments = append(arguments, name)
		}
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Stdout, command.Stderr = w.module, progress, progress
	if err := command.Run(); err != nil {
		return fmt.Errorf("compiling the tests: %w", err)
	}
	return nil
}

func (w *workplace) tests() string { return filepath.Join(w.module, "_build", "e2e") }

// summary returns the path of the file with the results of the cases.
func (w *workplace) summary() string {
	name := "summary.json"
	if w.release != cluster.DefaultRelease {
		name = "summary-" + string(w.release) + ".json"
	}
	return filepath.Join(w.tests(), name)
}

func (w *workplace) folder(task tiers.Case) string { return filepath.Join(w.module, task.Package) }

// binary returns the path of a package's test binary, which go names after the package's
// folder.
func (w *workplace) binary(task tiers.Case) string {
	return filepath.Join(w.tests(), path.Base(task.Package)+".test")
}
