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
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	modulePath           = "github.com/evenkeel/evenkeel/test/cluster"
	controlPlanePackage  = modulePath + "/controlplane"
	kwokPackage          = "sigs.k8s.io/kwok/cmd/kwok"
	metricsServerPackage = "sigs.k8s.io/metrics-server/cmd/metrics-server"
	deschedulerPackage   = "sigs.k8s.io/descheduler/cmd/descheduler"

	// progressEvery is longer than a warm build, so that a warm build prints nothing.
	progressEvery = 5 * time.Second
)

// ModuleDir returns the folder with this module's sources. The working directory must be
// inside the module, as it is for its tests and for `go run -C`.
func ModuleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath).Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s (is the working directory inside it?): %w", modulePath, withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// DefaultBinDir returns the folder with the binaries that tests and the cluster command
// share.
func DefaultBinDir(ctx context.Context) (string, error) { return DefaultRelease.BinDir(ctx) }

// Build compiles the parts of a cluster of the default release into binDir.
func Build(ctx context.Context, binDir string, progress io.Writer) error {
	return DefaultRelease.Build(ctx, binDir, progress)
}

// Build compiles the control plane, kwok and metrics-server into binDir, and prints a
// line of progress every few seconds. It takes minutes the first time, and about a second
// if nothing has changed.
func (r Release) Build(ctx context.Context, binDir string, progress io.Writer) (err error) {
	return compileAll(ctx, binDir, progress, func(moduleDir, binDir string) ([]compilation, map[string]string, error) {
		links := map[string]string{}
		for _, part := range controlPlaneParts() {
			links[string(part)] = "controlplane"
		}
		runs, err := r.compilations(ctx, moduleDir, binDir)
		return runs, links, err
	})
}

// BuildDescheduler compiles upstream's descheduler, in the version that Evenkeel hosts,
// into binDir and returns its path.
func BuildDescheduler(ctx context.Context, binDir string, progress io.Writer) (path string, err error) {
	err = compileAll(ctx, binDir, progress, func(moduleDir, binDir string) ([]compilation, map[string]string, error) {
		packages := []string{deschedulerPackage}
		return []compilation{{
			what: "descheduler", dir: moduleDir, binDir: binDir, packages: packages,
			arguments: append([]string{"-o", binDir + string(filepath.Separator), "-ldflags", "-s -w"}, packages...),
		}}, nil, nil
	})
	return filepath.Join(binDir, "descheduler"), err
}

// compileAll runs compilations and makes links in the folder of binaries. Meanwhile, no
// other process can build into that folder.
func compileAll(ctx context.Context, binDir string, progress io.Writer, plan func(moduleDir, binDir string) ([]compilation, map[string]string, error)) (err error) {
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
	runs, links, err := plan(moduleDir, binDir)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := run.compile(ctx, progress); err != nil {
			return err
		}
	}
	for name, target := range links {
		if err := link(target, filepath.Join(binDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// compilation is one run of `go build`.
type compilation struct {
	// what names what is compiled, for progress messages.
	what string
	// dir is the folder in which the go command runs.
	dir       string
	binDir    string
	arguments []string
	packages  []string
	// static builds binaries that need no shared libraries.
	static bool
}

// command returns a call of the go command. The command ends with the context.
func (c *compilation) command(ctx context.Context, flags ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags, c.arguments)...)
	command.Dir = c.dir
	if c.static {
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	return command
}

// compilations returns the compilations of the parts. kwok and metrics-server do not
// belong to a release and use the module's own requirements, as the default release does.
// These are compiled in a single run, so that packages that several parts need are
// compiled only once.
func (r Release) compilations(ctx context.Context, moduleDir, binDir string) ([]compilation, error) {
	run := func(of Release, packages ...string) (compilation, error) {
		version, err := of.version(ctx, moduleDir)
		arguments := append(of.modfile(), "-o", binDir+string(filepath.Separator), "-ldflags", "-s -w "+stamp(version))
		return compilation{what: "Kubernetes " + version, dir: moduleDir, binDir: binDir, arguments: append(arguments, packages...), packages: packages}, err
	}
	if r == DefaultRelease {
		all, err := run(r, controlPlanePackage, kwokPackage, metricsServerPackage)
		return []compilation{all}, err
	}
	own, err := run(r, controlPlanePackage)
	if err != nil {
		return nil, err
	}
	others, err := run(DefaultRelease, kwokPackage, metricsServerPackage)
	others.what = "kwok and metrics-server"
	return []compilation{own, others}, err
}

// stamp returns the linker flags that set the version reported by the API server. Clients
// cannot parse the version of an unstamped build.
func stamp(version string) string {
	const variables = "k8s.io/component-base/version"
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", variables, version, major, minor)
}

func (c *compilation) compile(ctx context.Context, progress io.Writer) error {
	stale, err := c.countStale(ctx)
	if err != nil || stale == 0 && c.built() {
		return err
	}
	if err := c.unlink(); err != nil {
		return err
	}
	meter := newBuildMeter(progress, c.what, stale)
	stop := meter.report()
	defer stop()
	// -v prints each package when its compilation begins; the meter counts these lines.
	command := c.command(ctx, "-v")
	command.Stdout, command.Stderr = meter, meter
	if err := command.Run(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", c.what, err, meter.tail())
	}
	return nil
}

// binaries returns the paths of the binaries that the go command writes.
func (c *compilation) binaries() []string {
	paths := make([]string, len(c.packages))
	for i, name := range c.packages {
		paths[i] = filepath.Join(c.binDir, path.Base(name))
	}
	return paths
}

// built reports whether the binaries exist. If not, they must be built even if the build
// cache is up to date.
func (c *compilation) built() bool {
	for _, binary := range c.binaries() {
		if info, err := os.Lstat(binary); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// unlink removes links at the paths of the binaries. metrics-server used to be a link to
// the control plane's binary, which the go command would overwrite.
func (c *compilation) unlink() error {
	for _, binary := range c.binaries() {
		if _, err := os.Readlink(binary); err != nil {
			continue
		}
		if err := os.Remove(binary); err != nil {
			return fmt.Errorf("replacing link %q: %w", binary, err)
		}
	}
	return nil
}

// countStale returns the number of packages that are missing from the build cache. It
// uses a build that only prints its commands.
func (c *compilation) countStale(ctx context.Context) (int, error) {
	// The go command writes both commands and errors to standard error.
	out, err := c.command(ctx, "-n").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("counting the packages to build: %w: %s", err, out[max(0, len(out)-tailBytes):])
	}
	stale := 0
	for line := range bytes.Lines(out) {
		// A package's commands follow a line such as "# its/import/path".
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

// withStderr adds a failed command's standard error, which is more informative than its
// exit code.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
