// Package evenkeel runs Evenkeel on a local cluster as users do: the binary of this
// checkout as a separate process, with the token of a ServiceAccount from the shipped
// manifests and no other permissions.
package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Build compiles the evenkeel binary of this checkout into binDir and returns
// its path.
func Build(ctx context.Context, binDir string) (path string, err error) {
	return build(ctx, "", "./cmd/evenkeel", Binary(binDir))
}

// BuildSimulator compiles evenkeel-sim into binDir, next to Build's binary, which runs
// it.
func BuildSimulator(ctx context.Context, binDir string) error {
	_, err := build(ctx, "sim", "./cmd/evenkeel-sim", filepath.Join(binDir, "evenkeel-sim"))
	return err
}

// Binary returns the path of Build's binary.
func Binary(binDir string) string { return filepath.Join(binDir, "evenkeel") }

// BuildScheduler compiles kube-scheduler with Evenkeel's plugin into binDir and returns
// its path. Its name differs from that of the control plane's kube-scheduler. It takes
// minutes the first time.
func BuildScheduler(ctx context.Context, binDir string) (path string, err error) {
	return build(ctx, "", "./cmd/kube-scheduler", filepath.Join(binDir, "evenkeel-scheduler"))
}

// build compiles a command from a module in this checkout. Processes that share the
// folder compile one at a time.
func build(ctx context.Context, module, command, path string) (_ string, err error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	release, err := cluster.Lock(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	build := exec.CommandContext(ctx, "go", "build", "-o", path, command)
	build.Dir = filepath.Join(root, module)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", command, err, out)
	}
	return path, nil
}

// Root returns the folder of Evenkeel's own module.
func Root(ctx context.Context) (string, error) {
	module, err := cluster.ModuleDir(ctx)
	if err != nil {
		return "", fmt.Errorf("finding the checkout: %w", err)
	}
	return filepath.Join(module, "..", ".."), nil
}

// Process is a running evenkeel.
type Process struct {
	// LogPath is the file of standard output and error.
	LogPath string
	command *exec.Cmd
	done    chan struct{}
	err     error
}

// Start runs the binary with arguments.
func Start(binary, logPath string, args ...string) (*Process, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("starting evenkeel: %w", err)
	}
	defer log.Close() // the child process has its own descriptor
	p := &Process{LogPath: logPath, command: exec.Command(binary, withReports(args)...), done: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = attributes()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting evenkeel: %w", err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	return p, nil
}

// Wait waits until the process ends and returns its exit code.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return -1, fmt.Errorf("waiting for evenkeel: %w", ctx.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok || p.err == nil {
		if p.err == nil {
			return 0, nil
		}
		return exit.ExitCode(), nil
	}
	return -1, p.err
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// PeakMemory returns the maximum memory that the process has used, in bytes. The process
// must be running.
func (p *Process) PeakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of evenkeel: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("reading the memory of evenkeel: the kernel does not tell it")
}

// Freeze suspends the process; Thaw resumes it.
func (p *Process) Freeze() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Thaw resumes a frozen process.
func (p *Process) Thaw() error { return p.command.Process.Signal(syscall.SIGCONT) }

// Kill ends the process immediately.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // an error means that it has already ended
	<-p.done
}

// Stop asks the process to end, waits for it, and kills it after a timeout.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // an error means that it has already ended
	select {
	case <-p.done:
		return nil
	case <-time.After(20 * time.Second):
		p.Kill()
		return errors.New("stopping evenkeel: it did not end within 20 s")
	}
}

// Log returns what the process has written so far.
func (p *Process) Log() string {
	content, err := os.ReadFile(p.LogPath)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// FreeAddress returns an unused loopback address.
func FreeAddress() (string, error) {
	port, err := cluster.FreePort()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

// Get fetches a page of a process within two seconds.
func Get(ctx context.Context, url string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", fmt.Errorf("fetching %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("fetching %s: %w", url, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	return response.StatusCode, string(content), err
}

// WaitServing waits until a URL responds with 200.
func (p *Process) WaitServing(ctx context.Context, url string) error {
	for {
		if status, _, err := Get(ctx, url); err == nil && status == http.StatusOK {
			return nil
		}
		if p.Ended() {
			return fmt.Errorf("waiting for %s: evenkeel ended:\n%s", url, p.Log())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", url, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
