package documented

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// watched is how long a command that keeps running is allowed to run.
const watched = 5 * time.Second

// Execute runs a pipeline in a furnished folder. The shell has the program on its PATH
// and the kubeconfig in its environment, but nothing else from the machine. Execute
// returns the output, and an error if the exit code is not among the documented ones.
func (p *Pipeline) Execute(ctx context.Context, dir string, place Place) (printed string, err error) {
	typed := p.Fill(place)
	shell := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", typed)
	shell.Dir = dir
	shell.Env = []string{
		"HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "KUBECONFIG=" + place.Kubeconfig,
	}
	// It is in a separate process group, so that the processes started by the shell are
	// interrupted, too.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.WaitDelay = time.Second
	var output bytes.Buffer
	shell.Stdout, shell.Stderr = &output, &output
	if err := shell.Start(); err != nil {
		return "", fmt.Errorf("running %q: %w", typed, err)
	}
	if p.Lasts() {
		interrupt := time.AfterFunc(watched, func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGINT) })
		defer interrupt.Stop()
	}
	err = shell.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return output.String(), fmt.Errorf("running %q: %w", typed, err)
	}
	if code := shell.ProcessState.ExitCode(); !slices.Contains(p.Codes(), code) {
		return output.String(), fmt.Errorf("running %q: exit code %d, want one of %v", typed, code, p.Codes())
	}
	return output.String(), nil
}
