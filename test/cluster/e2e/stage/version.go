package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// PreviousVersion is the commit of the version before this one: the ledger of
// each is read by the other. A release moves it on.
const PreviousVersion = "78247526286ef1a630e4debaacbd195f3d194fbd"

// Previous compiles the version before this one out of the repository's history
// and returns the program's path.
func Previous(ctx context.Context) (path string, err error) {
	root, err := evenkeel.Root(ctx)
	if err != nil {
		return "", err
	}
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return "", err
	}
	release, err := cluster.Lock(binDir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	path = filepath.Join(binDir, "evenkeel-"+PreviousVersion[:12])
	sources := path + "-sources"
	if err := os.MkdirAll(sources, 0o755); err != nil {
		return "", fmt.Errorf("building the version before: %w", err)
	}
	for _, command := range []struct{ dir, script string }{
		{root, `git archive "$0" | tar -x -C "$1"`},
		{sources, `go build -o "$2" ./cmd/evenkeel`},
	} {
		run := exec.CommandContext(ctx, "sh", "-e", "-c", command.script, PreviousVersion, sources, path)
		run.Dir = command.dir
		if out, err := run.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building the version before, %s (is it in the repository's history?): %w\n%s", PreviousVersion, err, out)
		}
	}
	return path, nil
}
