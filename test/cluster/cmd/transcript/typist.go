package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// typist types commands in a folder, with a kubeconfig in the environment.
type typist struct {
	dir, kubeconfig string
	// echo receives the input and the output.
	echo io.Writer
}

// shell returns a shell that will run the typed command in a separate process group.
func (y *typist) shell(ctx context.Context, typed string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", typed)
	c.Dir = y.dir
	// Users do not run commands under make, which would set these variables.
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") })
	c.Env = append(inherited, "KUBECONFIG="+y.kubeconfig)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	return c
}

// run runs a command until it ends, and returns what it printed.
func (y *typist) run(ctx context.Context, typed string) (output string, err error) {
	fmt.Fprintf(y.echo, "\n$ %s\n", typed)
	var printed bytes.Buffer
	c := y.shell(ctx, typed)
	c.Stdout = io.MultiWriter(&printed, y.echo)
	c.Stderr = c.Stdout
	if err := c.Run(); err != nil {
		return printed.String(), fmt.Errorf("running %q: %w", typed, err)
	}
	return printed.String(), nil
}

// process is a command in the background.
type process struct {
	typed string
	shell *exec.Cmd
	ended chan struct{}
	err   error // set once the command has ended
}

// start runs a command in the background until it is stopped, with its output in a file.
func (y *typist) start(ctx context.Context, typed, log string) (*process, error) {
	fmt.Fprintf(y.echo, "\n$ %s\n", typed)
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("starting %q: %w", typed, err)
	}
	defer file.Close() // the child process has its own descriptor
	p := &process{typed: typed, shell: y.shell(ctx, typed), ended: make(chan struct{})}
	p.shell.Stdout, p.shell.Stderr = file, file
	if err := p.shell.Start(); err != nil {
		return nil, fmt.Errorf("starting %q: %w", typed, err)
	}
	go func() {
		p.err = p.shell.Wait()
		close(p.ended)
	}()
	return p, nil
}

// failure returns an error if the command has ended without being stopped.
func (p *process) failure() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%q ended by itself: %w", p.typed, cmp.Or(p.err, errors.New("with exit code 0")))
	default:
		return nil
	}
}

// patience is how long a process may take to end.
const patience = 20 * time.Second

// stop asks the command to end, and waits for it.
func (p *process) stop() error {
	_ = syscall.Kill(-p.shell.Process.Pid, syscall.SIGTERM) // an error means that it has already ended
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%q did not end within %v", p.typed, patience), p.shell.Cancel())
	}
}
