package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const pollEvery = 100 * time.Millisecond

// instance is the one cluster that a home folder can hold.
type instance struct{ home string }

func (i instance) state() string   { return filepath.Join(i.home, "state") }
func (i instance) pidFile() string { return filepath.Join(i.home, "pid") }
func (i instance) log() string     { return filepath.Join(i.home, "log") }

// upFile returns the file that describes how to use the cluster, once it is up.
func (i instance) upFile() string { return filepath.Join(i.home, "up") }

// running returns the ID of the cluster's process; 0 if it does not run. The lock on the
// ID's file shows whether the process runs. The ID alone does not: the kernel releases
// the lock when the process ends, but may reuse the ID.
func (i instance) running() int {
	file, err := os.Open(i.pidFile())
	if err != nil {
		return 0
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0
	}
	return pid
}

// claim reserves the home folder for this process, until release is called or the process
// ends.
func (i instance) claim() (release func(), err error) {
	if err := os.MkdirAll(i.home, 0o755); err != nil {
		return nil, fmt.Errorf("making the cluster's home: %w", err)
	}
	file, err := os.OpenFile(i.pidFile(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the process id file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(i.alreadyRunning(), file.Close())
	}
	release = func() {
		_ = os.Remove(i.upFile())
		_ = file.Close()
	}
	if err := errors.Join(file.Truncate(0), os.RemoveAll(i.upFile())); err != nil {
		release()
		return nil, fmt.Errorf("removing the files of an earlier cluster: %w", err)
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		release()
		return nil, fmt.Errorf("writing the process id: %w", err)
	}
	return release, nil
}

func (i instance) alreadyRunning() error {
	return fmt.Errorf("a cluster is already running (process %d); stop it by `make cluster-down`", i.running())
}

// announce writes how to use the cluster. detach waits for it and prints it.
func (i instance) announce(usage string) error {
	if err := os.WriteFile(i.upFile(), []byte(usage), 0o644); err != nil {
		return fmt.Errorf("announcing the cluster: %w", err)
	}
	return nil
}

// detach runs the same command line without --detach in a new session, and waits until
// the cluster is up.
func (i instance) detach(ctx context.Context, out io.Writer) error {
	if i.running() != 0 {
		return i.alreadyRunning()
	}
	if err := os.MkdirAll(i.home, 0o755); err != nil {
		return fmt.Errorf("making the cluster's home: %w", err)
	}
	_ = os.Remove(i.upFile())
	log, err := os.Create(i.log())
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the command's own binary: %w", err)
	}
	arguments := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "--detach") })
	child := exec.Command(self, append(arguments, "--home="+i.home)...)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return fmt.Errorf("starting the cluster in the background: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	return i.await(ctx, out, ended)
}

func (i instance) await(ctx context.Context, out io.Writer, ended <-chan error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), i.stop(context.WithoutCancel(ctx), out))
		case err := <-ended:
			content, _ := os.ReadFile(i.log())
			return fmt.Errorf("the cluster did not come up (%w):\n%s", err, content)
		case <-ticker.C:
			usage, err := os.ReadFile(i.upFile())
			if errors.Is(err, fs.ErrNotExist) || len(usage) == 0 {
				continue
			}
			if err != nil {
				return fmt.Errorf("waiting for the cluster: %w", err)
			}
			fmt.Fprintf(out, "%sStop it by `make cluster-down`; it logs to %s.\n", usage, i.state())
			return nil
		}
	}
}

// stop asks the cluster's process to end, and waits for it.
func (i instance) stop(ctx context.Context, out io.Writer) error {
	pid := i.running()
	if pid == 0 {
		fmt.Fprintln(out, "No cluster is running.")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping process %d: %w", pid, err)
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for i.running() != 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for process %d to end: %w", pid, ctx.Err())
		case <-ticker.C:
		}
	}
	fmt.Fprintln(out, "The cluster has stopped.")
	return nil
}
