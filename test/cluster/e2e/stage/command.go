package stage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// commandTime bounds the duration of a command that is expected to end.
const commandTime = 2 * time.Minute

// Result is the result of a command that ended.
type Result struct {
	Code           int
	Stdout, Stderr string
	Took           time.Duration
}

// Run runs the binary in dir until it ends, isolated from the machine's
// configuration.
func Run(ctx context.Context, t *testing.T, dir string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	command := exec.CommandContext(ctx, Binary(), args...)
	command.Dir = dir
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	started := time.Now()
	err := command.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("running evenkeel %s: %v", strings.Join(args, " "), err)
	}
	return Result{command.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(started)}
}
