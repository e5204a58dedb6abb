package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// StartAs is like Start, but runs any program, under a name by which the audit log
// distinguishes its requests from those of other processes.
func (f *Fixture) StartAs(name, binary, command string, args ...string) *evenkeel.Process {
	f.T.Helper()
	dir := f.T.TempDir()
	link := filepath.Join(dir, name)
	if err := os.Symlink(binary, link); err != nil {
		f.T.Fatal(err)
	}
	kubeconfig := f.Access.Evenkeel
	if command == "extender" {
		kubeconfig = f.Access.Extender
	}
	args = append([]string{command, "--kubeconfig", kubeconfig, "--namespace", evenkeel.Namespace, "--v", "2"}, args...)
	p, err := evenkeel.Start(link, filepath.Join(dir, "log"), args...)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		_ = p.Thaw() // a frozen process cannot be stopped; Thaw fails if the process has ended
		if err := p.Stop(); err != nil {
			f.T.Error(err)
		}
		if f.T.Failed() {
			f.T.Logf("log of %s:\n%s", name, p.Log())
		}
	})
	return p
}

// clockOff is internal/servertime/local.go for a clock with an offset.
const clockOff = `package servertime

import "time"

func Local() time.Time { return time.Now().Add(%d) }
`

// WithClockOff compiles the program with a clock that is off by offset, and returns its
// path.
func WithClockOff(ctx context.Context, offset time.Duration) (path string, err error) {
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
	path = filepath.Join(binDir, "evenkeel-off-by-"+offset.String())
	overlay, err := overlaid(binDir, filepath.Join(root, "internal", "servertime", "local.go"), fmt.Sprintf(clockOff, offset))
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", path, "./cmd/evenkeel")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building evenkeel with its clock off by %v: %w\n%s", offset, err, out)
	}
	return path, nil
}

// overlaid writes an overlay for the go command that replaces the content of a file, and
// returns the overlay's path.
func overlaid(dir, file, content string) (overlay string, err error) {
	other := filepath.Join(dir, "overlaid.go")
	if err := os.WriteFile(other, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("overlaying a file: %w", err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: other}})
	if err != nil {
		return "", fmt.Errorf("overlaying a file: %w", err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", fmt.Errorf("overlaying a file: %w", err)
	}
	return overlay, nil
}

// Leads reports whether a process holds the Lease or, if it has ended, held it at the
// end.
func Leads(p *evenkeel.Process) bool {
	leads := false
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, `"Leader" identity=`) {
			leads = strings.Contains(line, "isThisProcess=true")
		}
	}
	return leads
}
