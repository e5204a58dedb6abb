package evenkeel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// ErrNoHistory means that the checkout does not contain an earlier commit, for example
// because it is a shallow clone.
var ErrNoHistory = errors.New("this checkout's history does not reach back that far")

// Earlier is Evenkeel as of an earlier commit.
type Earlier struct {
	// Dir contains its sources and manifests. Binary is built from them.
	Dir, Binary string
}

// At returns Evenkeel as of a commit in this checkout's history, or ErrNoHistory if the
// commit is missing. It keeps what it builds, because a commit does not change.
func At(ctx context.Context, commit string) (_ Earlier, err error) {
	module, err := cluster.ModuleDir(ctx)
	if err != nil {
		return Earlier{}, err
	}
	if err := run(ctx, module, "git", "cat-file", "-e", commit+"^{commit}"); err != nil {
		return Earlier{}, fmt.Errorf("looking for commit %s: %w: %w", commit, ErrNoHistory, err)
	}
	home := filepath.Join(module, "_build", "earlier", commit)
	release, err := cluster.Lock(home)
	if err != nil {
		return Earlier{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	e := Earlier{Dir: filepath.Join(home, "source"), Binary: filepath.Join(home, "evenkeel")}
	if _, err := os.Stat(e.Binary); !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	if err := errors.Join(os.RemoveAll(e.Dir), os.MkdirAll(e.Dir, 0o755)); err != nil {
		return e, fmt.Errorf("making a folder for the sources of commit %s: %w", commit, err)
	}
	archive := filepath.Join(home, "source.tar")
	defer func() { err = errors.Join(err, os.Remove(archive)) }()
	if err := run(ctx, filepath.Join(module, "..", ".."), "git", "archive", "--output", archive, commit); err != nil {
		return e, err
	}
	if err := run(ctx, e.Dir, "tar", "-xf", archive); err != nil {
		return e, err
	}
	return e, run(ctx, e.Dir, "go", "build", "-buildvcs=false", "-o", e.Binary, "./cmd/evenkeel")
}

// run runs a command in a folder.
func run(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, args, err, bytes.TrimSpace(out))
	}
	return nil
}
