package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	modulePath  = "github.com/evenkeel/evenkeel/test/cluster"
	kwokPackage = "sigs.k8s.io/kwok/cmd/kwok"

	// progressEvery is long enough for a warm build (seconds) to stay silent.
	progressEvery = 5 * time.Second
)

// ModuleDir returns the folder of this module's sources. The working directory
// must be inside the module, as it is for its tests and for `go run -C`.
func ModuleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath).Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s (is the working directory inside it?): %w", modulePath, withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// DefaultBinDir returns the folder of the binaries that tests and the cluster
// command share.
func DefaultBinDir(ctx context.Context) (string, error) { return DefaultRelease.BinDir(ctx) }

// Build compiles the control plane of the default release, and kwok, into
// binDir.
func Build(ctx context.Context, binDir string, progress io.Writer) error {
	return DefaultRelease.Build(ctx, binDir, progress)
}

// Build compiles the control plane and kwok into binDir, with a line of
// progress every few seconds. It takes minutes the first time and under a
// second if the go command finds nothing changed.
func (r Release) Build(ctx context.Context, binDir string, progress io.Writer) (err error) {
	moduleDir, err := ModuleDir(ctx)
	if err != nil {
		return err
	}
	binDir, err = filepath.Abs(binDir)
	if err != nil {
		return fmt.Errorf("resolving the folder for binaries: %w", err)
	}
	release, err := Lock(binDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	runs, err := r.compilations(ctx, moduleDir, binDir)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := run.compile(ctx, moduleDir, binDir, progress); err != nil {
			return err
		}
	}
	for _, part := range controlPlaneParts() {
		if err := link("controlplane", filepath.Join(binDir, string(part))); err != nil {
			return err
		}
	}
	return nil
}

// compilation is one run of `go build`.
type compilation struct {
	// what is compiled, in lines of progress.
	what      string
	binaries  []string
	arguments []string
}

// compilations returns how the binaries are compiled. The default release
// shares kwok's modules, so that one run compiles what both need once.
func (r Release) compilations(ctx context.Context, moduleDir, binDir string) ([]compilation, error) {
	version, err := r.version(ctx, moduleDir)
	if err != nil {
		return nil, err
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	// Clients fail to parse the version of an unstamped build.
	const stamped = "k8s.io/component-base/version"
	ldflags := fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", stamped, version, major, minor)
	into := []string{"-o", binDir + string(filepath.Separator), "-ldflags", ldflags}
	const controlPlane = modulePath + "/controlplane"
	kubernetes := compilation{"Kubernetes " + version, []string{"controlplane"}, slices.Concat(r.modfile(), into, []string{controlPlane})}
	if r == DefaultRelease {
		kubernetes.binaries = append(kubernetes.binaries, "kwok")
		kubernetes.arguments = append(kubernetes.arguments, kwokPackage)
		return []compilation{kubernetes}, nil
	}
	return []compilation{kubernetes, {"kwok", []string{"kwok"}, append(into, kwokPackage)}}, nil
}

func (c *compilation) compile(ctx context.Context, moduleDir, binDir string, progress io.Writer) error {
	stale, err := countStale(ctx, moduleDir, c.arguments)
	if err != nil || stale == 0 && built(binDir, c.binaries) {
		return err
	}
	meter := newBuildMeter(progress, c.what, stale)
	stop := meter.report()
	defer stop()
	// -v names each package as its compilation begins, which is what the meter
	// counts.
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-v"}, c.arguments...)...)
	command.Dir, command.Stdout, command.Stderr = moduleDir, meter, meter
	if err := command.Run(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", c.what, err, meter.tail())
	}
	return nil
}

// built reports whether the binaries exist: the go command may have them only
// in its cache.
func built(binDir string, names []string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(binDir, name)); err != nil {
			return false
		}
	}
	return true
}

// countStale counts the packages that the build cache lacks, using a build that
// only prints its commands.
func countStale(ctx context.Context, moduleDir string, arguments []string) (int, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-n"}, arguments...)...)
	command.Dir = moduleDir
	// Commands and errors both come on standard error.
	out, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("counting the packages to build: %w: %s", err, out[max(0, len(out)-tailBytes):])
	}
	stale := 0
	for line := range bytes.Lines(out) {
		// A package's commands follow the headline "# its/import/path".
		if bytes.HasPrefix(line, []byte("# ")) && !bytes.HasPrefix(line, []byte("# import config")) {
			stale++
		}
	}
	return stale, nil
}

func link(target, name string) error {
	if current, err := os.Readlink(name); err == nil && current == target {
		return nil
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing link %q: %w", name, err)
	}
	if err := os.Symlink(target, name); err != nil {
		return fmt.Errorf("linking %q: %w", name, err)
	}
	return nil
}

// withStderr adds a failed command's standard error, which says more than its
// exit code.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
