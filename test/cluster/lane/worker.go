package lane

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Worker is a test binary that runs one case after another.
type Worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	pipe    *os.File
}

// Start runs a test binary in the folder of its package. binDir is the folder with the
// binaries, temp the folder for its temporary files.
func Start(ctx context.Context, binary, dir, binDir, temp string, flags ...string) (*Worker, error) {
	command := exec.CommandContext(ctx, binary, flags...)
	command.Dir = dir
	command.Env = append(os.Environ(), variable+"="+binDir, "TMPDIR="+temp)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	defer write.Close() // the child process has its own descriptor
	command.Stdout, command.Stderr = write, write
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", binary, err), read.Close())
	}
	return &Worker{command: command, in: in, out: bufio.NewReader(read), pipe: read}, nil
}

// Run makes the binary run a case and returns the case's output. An error means that the
// binary ended before the case did.
func (w *Worker) Run(next Case) (output []byte, code int, err error) {
	if err := json.NewEncoder(w.in).Encode(next); err != nil {
		remaining, _ := io.ReadAll(w.out)
		return remaining, 1, fmt.Errorf("handing out a case: %w", err)
	}
	var all bytes.Buffer
	for {
		line, err := w.out.ReadString('\n')
		if ended, ok := strings.CutPrefix(line, done); ok {
			code, err := strconv.Atoi(strings.TrimSpace(ended))
			return all.Bytes(), code, err
		}
		all.WriteString(line)
		if err != nil {
			return all.Bytes(), 1, fmt.Errorf("the test binary ended during the case: %w", err)
		}
	}
}

// Close tells the binary that there are no more cases, and waits until it has stopped its
// control plane.
func (w *Worker) Close() error {
	_ = w.in.Close() // an error means that it has already ended
	remaining, _ := io.ReadAll(w.out)
	err := errors.Join(w.command.Wait(), w.pipe.Close())
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return fmt.Errorf("%w\n%s", err, remaining)
	}
	return err
}
